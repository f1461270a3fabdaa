"""Decisions on how each column of a table is encoded as numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.errors import (
    BadCellError,
    DataError,
    Message,
    Parameter,
    UsageError,
    with_column,
    with_label,
)
from rosenblatt.read.columns import (
    DECIMALS,
    Category,
    Column,
    Entries,
    Flag,
    FormattedNumber,
    Number,
    Vocabulary,
    Words,
    count_cells_with,
    is_bytes,
    is_date_or_time,
    is_text,
    split_words,
    unusable_content,
)
from rosenblatt.read.encoding import (
    Encoding,
    TargetColumn,
    check_columns_present,
    spell_label,
)
from rosenblatt.read.lines import ENTRIES, LABEL
from rosenblatt.read.source import Source
from rosenblatt.read.types import MAX_LABELS, ColumnStatistics, split_rows
from rosenblatt.tables import LARGE
from rosenblatt.text import join_words, plural, quote_column, shorten

HANDFUL = 5  # up to this number of labels, all may be rare
USUAL_TARGETS = ("label", "y", "target", "class", "outcome")  # usual names of the target
FEW = 50  # a text column with at most this many distinct values is a category
MOST_WORDS = 1 << 24  # maximum number of words, each of which has a weight
MOST_COMPARED = 1000  # maximum number of names that a mistyped name is compared with
CLOSE = 1e-9  # relative tolerance of a mean, which depends on the order of summation

Style = tuple[str, str]  # decimal mark and unit of formatted numbers


@dataclass(frozen=True)
class ColumnOptions:
    """User options for the columns; what they leave open is decided from the data."""

    target: str | None = None
    positive: str | None = None
    ignore: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    missing: str = "error"
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    decimal: str | None = None
    known: tuple[Column, ...] | None = None  # columns decided on a larger table


@dataclass(frozen=True)
class Plan:
    """How the features and the target are encoded, with notes for the user."""

    encoding: Encoding
    target: TargetColumn
    guessed: str = ""  # why the target was chosen, if it was guessed
    notes: tuple[str | Message, ...] = ()


def options_from_plan(options: ColumnOptions, plan: Plan) -> ColumnOptions:
    """Return reading options that give another table the columns and the target of a plan."""
    columns, target = plan.encoding.columns, plan.target
    return ColumnOptions(
        target.column,
        spell_label(target.names[1]) if target.others else None,
        missing=options.missing,
        vocabulary=options.vocabulary,
        numbers=tuple(c.name for c in columns if isinstance(c, Number)),
        categories=tuple(c.name for c in columns if isinstance(c, Category)),
        texts=tuple(c.name for c in columns if isinstance(c, Words)),
        known=columns,
    )


def make_plan(table: Any, options: ColumnOptions, name: str) -> Plan:
    """Decide how each column is encoded, from all rows of a table.

    The table is an Arrow table or a FileTable, which is read once, and once more if words are
    counted. Messages call it `name`.
    """
    all_stats, names = collect_statistics(table, options, name), table.schema.names
    column, guessed = _find_target(names, all_stats, options, name)
    any_values = all_stats[column].requested == "category" or options.known is not None
    target = _decide_labels(all_stats[column], column, (options.positive, any_values), name)
    features = {n: stats for n, stats in all_stats.items() if n != column}
    columns, notes = decide_columns(table, features, options, name)
    stop_words = tuple(sorted(options.vocabulary.stop_words))
    return Plan(Encoding(columns, options.missing, stop_words), target, guessed, notes)


def decide_columns(
    table: Any, features: dict[str, ColumnStatistics], options: ColumnOptions, name: str
) -> tuple[tuple[Column, ...], tuple[str | Message, ...]]:
    """Decide how columns are encoded as features; also return notes for the user."""
    empty = {n: stats for n, stats in features.items() if stats.is_empty}
    notes: list[str | Message] = []
    if empty:
        notes.append(f"{join_words([quote_column(n) for n in empty])} left out: no values")
    used = {n: stats for n, stats in features.items() if n not in empty}
    kinds, styles = _decide_kinds(used, options, name)
    read_as = {"category": "categories", "text": "words", "id": "ids"}
    for n, stats in used.items():
        if not stats.requested and kinds[n] in read_as and stats.looks_like_numbers:
            example = shorten(stats.styles.example or "")
            note = f'{quote_column(n)} looks like numbers ("{example}") but is read as '
            number = with_column("number", n)
            notes.append(Message(f"{note}{read_as[kinds[n]]}; ", number, " reads it as numbers"))
    ids = [n for n, kind in kinds.items() if kind == "id"]
    if ids:
        which = f"{join_words([quote_column(n) for n in ids])} left out: different in every row"
        keeps = f" keeps {'it' if len(ids) == 1 else 'the first'}"
        notes.append(
            note_ids := Message(
                f"{which}, as names and ids are; ", with_column("category", ids[0]), keeps
            )
        )
    words = _select_words(table, [n for n, kind in kinds.items() if kind == "text"], options, name)
    wordless = [n for n in words if not words[n] and options.known is None]
    if wordless:
        left_out = join_words([quote_column(n) for n in wordless])
        notes.append(f"{left_out} left out: no words to count")
    columns = tuple(
        Words(n, words[n]) if n in words else _make_column(used[n], n, kind, styles.get(n))
        for n, kind in kinds.items()
        if kind != "id" and n not in wordless
    )
    if not any(c.features for c in columns):
        why = Message("; ", note_ids) if ids else ""
        raise DataError(f"{name}: no column is left besides the labels", why, ".")
    return columns, tuple(notes)


def collect_statistics(
    table: Any, options: ColumnOptions, name: str
) -> dict[str, ColumnStatistics]:
    """Return the statistics of all columns that are not ignored."""
    schema, names = table.schema, table.schema.names
    ignored, target, forced = resolve_columns(names, options)
    if options.known is not None:
        ignored |= set(names).difference(column.name for column in options.known)
    entries = None
    if names == [LABEL, ENTRIES]:  # a LIBSVM file
        kind = schema.types[-1]
        entries = ENTRIES if is_text(kind) or pa.types.is_map(kind) else None
    all_stats = {}
    for n, kind in zip(names, schema.types, strict=True):
        if n in ignored and n != target:
            continue
        request = forced.get(n, "")
        # Bytes are text, and so are dates that are categories.
        if is_bytes(kind) or (is_date_or_time(kind) and request == "category"):
            kind = pa.string()
        most: int | None = FEW if not request and is_text(kind) else 0  # values to keep
        if request == "category" or (most and pa.types.is_dictionary(kind)):
            most = None  # all
        may_be_target = n == target if target else n != entries
        all_stats[n] = ColumnStatistics(
            kind, most, may_be_target, n == entries and not request, request
        )
    for part in split_rows(table):
        bad = []
        for n, stats in all_stats.items():
            try:
                stats.add(part.column(n), n)
            except BadCellError as error:
                bad.append(error)
        if bad:
            raise min(bad, key=lambda cell: cell.row)
    if not any(stats.rows for stats in all_stats.values()):
        raise DataError(f"{name} has no rows, only the names of columns.")
    return all_stats


def resolve_columns(
    names: Sequence[str], options: ColumnOptions
) -> tuple[set[str], str | None, dict[str, str]]:
    """Return the ignored columns, the target and the requested kinds of columns.

    Raises UsageError if the options name a column that does not exist.
    """
    ignored = set(find_columns(names, options.ignore, "ignore"))
    target = None if options.target is None else find_column(names, options.target, "target")
    return ignored, target, requested_kinds(names, options)


def find_column(names: Sequence[str], given: str, parameter: str) -> str:
    """Return the name of the column that the user gives by name or by position.

    The first column has the position 1, and the last one -1.
    """
    if given in names:
        return given
    try:
        number = int(given)
    except ValueError:
        raise UsageError(
            with_column(parameter, given),
            f": there is no {quote_column(given)}; {list_columns(names, given)}.",
        ) from None
    if not 1 <= abs(number) <= len(names):
        there = f"there {'is' if len(names) == 1 else 'are'} {plural(len(names), 'column')}"
        raise UsageError(Parameter(parameter, str(number)), f": {there}, counted from 1.")
    return names[number - 1 if number > 0 else number]


def list_columns(names: Sequence[str], given: str) -> str:
    """List the columns for a message about a wrong name, similar names first.

    Examples
    --------
    >>> list_columns(["dose", "ward"], "dsoe"), list_columns(["dose", "ward"], "x")
    ('the columns are dose and ward', 'the columns are dose and ward')
    >>> list_columns([f"x{j}" for j in range(20)], "x_19")
    'the columns are x19, x9, x1, x0, x2, x3, x4, x5 and 12 more'
    """
    short = [name for name in names[:MOST_COMPARED] if len(name) < 100]
    close = get_close_matches(given[:100], short, 3) if len(names) > 8 else []
    ordered = [*close, *(name for name in names if name not in close)]
    return f"the columns are {join_words([shorten(one) for one in ordered], most=8)}"


def find_columns(names: Sequence[str], given: Sequence[str], parameter: str) -> list[str]:
    """Return the names of the columns that the user lists by name or by position."""
    there = set(names)
    return [one if one in there else find_column(names, one, parameter) for one in given]


def _find_target(
    names: list[str], all_stats: dict[str, ColumnStatistics], options: ColumnOptions, name: str
) -> tuple[str, str]:
    """Return the target column and, if it was guessed, the reason."""
    if options.target is not None:
        return find_column(names, options.target, "target"), ""
    if any(stats.entries for stats in all_stats.values()):
        return LABEL, ""
    two = [n for n, s in all_stats.items() if len(s.labels) == 2]
    few = two or [
        n
        for n, s in all_stats.items()
        if not s.requested and is_text(s.type) and not s.is_empty
        if 2 < len(s.labels) <= FEW and s.kind == "category"
    ]
    if len(few) == 1:
        return few[0], "two values" if two else "a few text values"
    if len(names) == 1:
        raise DataError(
            f"{name} has only one column, {quote_column(names[0])}. If another character "
            "separates the cells, give ",
            Parameter("separator"),
            ".",
        )
    # Columns with a usual name come first, then the last and the first column of the table, if
    # their values could be labels, then columns with few values.
    ends = list(all_stats)[-1:] + list(all_stats)[:1]
    usual = [n for n in all_stats if n.strip().casefold() in USUAL_TARGETS]
    likely = [n for n in (*usual, *ends) if _could_be_labels(all_stats[n])]
    likely = list(dict.fromkeys((*likely, *few)))
    if not likely:
        raise DataError(
            f"{name}: no column has exactly two values. Give ",
            Parameter("target"),
            ", the column of labels.",
        )
    why = "several columns have" if few else "no column has exactly"
    raise DataError(
        f"{name}: {why} {'two values' if two or not few else 'a few values'}. The labels may be "
        f"in {join_words([quote_column(n) for n in likely], joint='or')}: give ",
        with_column("target", likely[0]),
        ", for example.",
    )


def _could_be_labels(stats: ColumnStatistics) -> bool:
    """Check whether the different values of a column are few and look like labels."""
    labels = _sort_labels(stats)
    if not 2 <= len(labels) <= FEW:
        return False
    try:
        check_labels(labels, stats.rows, "", "")
    except DataError:
        return len(labels) == 2
    return True


def _decide_labels(
    stats: ColumnStatistics, column: str, request: tuple[str | None, bool], name: str
) -> TargetColumn:
    """Return the target with its labels; raise DataError if they do not look like labels.

    If a positive label is given, all other values together are the negative label.
    """
    check_readable(stats.type, name, column)
    positive, any_values = request
    labels = _sort_labels(stats)
    many = len(stats.labels) > MAX_LABELS
    where = f"{name}, {quote_column(column)}"
    if many or len(labels) < 2:
        if many:
            what = f"more than {MAX_LABELS:,} different labels, too many to learn."
        elif labels:
            only = shorten(spell_label(labels[0]))
            what = f"1 different label ({only}); there must be two or more."
        else:
            what = "no labels; there must be two or more."
        raise DataError(f"{where}: {what} Give ", Parameter("target"), " for another column.")
    if positive is None:
        if len(labels) > 2 and not any_values:
            check_labels(labels, stats.rows, where, with_column("category", column))
        return TargetColumn(column, tuple(labels))
    meant = _find_label(positive, labels, column)
    if len(labels) > 2:
        return TargetColumn(column, (f"not {spell_label(meant)}", meant), others=True)
    return TargetColumn(column, (next(label for label in labels if label != meant), meant))


def _sort_labels(stats: ColumnStatistics) -> list[Any]:
    """Return the sorted labels; decimals become floats if no two of them become equal."""
    labels = list(stats.labels)
    if not pa.types.is_decimal(stats.type):
        return sorted(labels)
    numbers = {float(label) for label in labels}
    if len(numbers) == len(labels) and all(abs(number) < LARGE for number in numbers):
        return sorted(numbers)
    return sorted(labels, key=Decimal)


def check_labels(labels: list[Any], rows: int, where: str, otherwise: str | Parameter) -> None:
    """Raise DataError if values look like measurements or names, not class labels."""
    shown = join_words([shorten(spell_label(label)) for label in labels], most=4)
    text = f"{where}: {plural(len(labels), 'different label')} ({shown})"
    spelled: dict[str, list[Any]] = {}
    for label in labels:
        spelled.setdefault(" ".join(spell_label(label).casefold().split()), []).append(label)
    alike = next((same for same in spelled.values() if len(same) > 1), [])
    if alike:
        pair = join_words([f'"{shorten(label)}"' for label in alike])
        raise DataError(
            f"{text}. {pair} differ only in case or blanks: write them alike, or give ",
            otherwise,
            " to keep them as different labels.",
        )
    number = int | float | np.integer | np.floating
    numbers = isinstance(labels[0], number) and not isinstance(labels[0], bool)
    parts = numbers and any(math.isinf(label) or label != round(label) for label in labels)
    rare = len(labels) > HANDFUL and 2 * len(labels) > rows  # most of them occur once
    if parts or rare or (numbers and len(labels) > FEW):
        what = "measurements" if numbers else "names"
        raise DataError(
            f"{text} in {plural(rows, 'row')}, which look like {what}, not labels. Give ",
            *(Parameter("target"), " for another column, "),
            *(
                with_label("positive", spell_label(labels[-1])),
                ", for example, to learn it against ",
            ),
            *("the rest, or ", otherwise, f" to learn all {len(labels):,} labels."),
        )


def _find_label(given: str, labels: list[Any], column: str) -> Any:
    """Return the label that the user means, ignoring case if necessary."""
    text, number = given.strip(), math.nan
    with suppress(ValueError):
        number = float(given)
    matching = [label for label in labels if spell_label(label) == text] or [
        label
        for label in labels
        if str(label).lower() == text.lower()
        or (not isinstance(label, str | bool) and label == number)
    ]
    if len(matching) != 1:
        raise UsageError(
            with_label("positive", given),
            f" is not a label in {quote_column(column)}; the labels are "
            f"{join_words([shorten(spell_label(label)) for label in labels])}.",
        )
    return matching[0]


def requested_kinds(names: Sequence[str], options: ColumnOptions) -> dict[str, str]:
    """Return the kind (number, category or text) that the user requests for columns."""
    forced: dict[str, str] = {}
    for kind, given in (
        ("number", options.numbers),
        ("category", options.categories),
        ("text", options.texts),
    ):
        for column in find_columns(names, given, kind):
            if forced.setdefault(column, kind) != kind:
                raise UsageError(
                    Parameter(forced[column]),
                    " and ",
                    Parameter(kind),
                    f" both name {quote_column(column)}; give one of them.",
                )
    return forced


def _decide_kinds(
    all_stats: dict[str, ColumnStatistics], options: ColumnOptions, name: str
) -> tuple[dict[str, str], dict[str, Style]]:
    """Decide the kind of each column; also return decimal mark and unit of formatted numbers."""
    for n, stats in all_stats.items():
        if not stats.entries:
            check_readable(stats.type, name, n)
    kinds = {n: stats.kind for n, stats in all_stats.items()}
    if options.known is not None:
        return kinds, {
            c.name: (c.decimal, c.mark) for c in options.known if isinstance(c, FormattedNumber)
        }
    # One column shows how all numbers of the file are written.
    certain = any(
        s.styles.certain_commas and s.has_commas for s in all_stats.values() if not s.requested
    )
    decimal = options.decimal or ("," if certain else None)
    styles: dict[str, Style] = {}
    for n, stats in all_stats.items():
        if decimal == "," and not stats.requested and stats.has_commas:
            kinds[n] = "number"
        is_number, text = kinds[n] == "number", is_text(stats.type)
        if is_number and text and stats.requested:
            fits, mark = stats.styles.fits, decimal
            if options.decimal is None and fits["."] != fits[","]:
                mark = max(DECIMALS, key=fits.__getitem__)
            if mark == "," or stats.styles.marks:
                styles[n] = mark or ".", stats.styles.mark
        elif is_number and decimal == ",":  # later rows may have decimal commas
            floats = options.decimal is not None and pa.types.is_floating(stats.type)
            if stats.has_commas if text else pa.types.is_integer(stats.type) or floats:
                styles[n] = ",", ""
    return kinds, styles


def _make_column(stats: ColumnStatistics, name: str, kind: str, style: Style | None) -> Column:
    if kind == "entries":
        low, high = stats.indices or (1, 0)
        first = 0 if low == 0 else 1
        return Entries(name, first, high - first + 1)
    if kind == "category":
        return Category(name, tuple(sorted(stats.values)))
    if style is not None:
        moments = stats.styled[style[0]] if is_text(stats.type) else stats.moments
        return FormattedNumber(name, *moments.mean_and_spread(), *style)
    return (Flag if pa.types.is_boolean(stats.type) else Number)(
        name, *stats.moments.mean_and_spread()
    )


def _select_words(
    table: Any, columns: list[str], options: ColumnOptions, name: str
) -> dict[str, tuple[str, ...]]:
    counts: dict[str, Counter[str]] = {n: Counter() for n in columns}
    for part in split_rows(table) if columns else ():
        for n, count in counts.items():
            count.update(count_cells_with(*split_words(part.column(n))))
            if len(count) > MOST_WORDS:
                raise DataError(
                    f"{name}, {quote_column(n)}: more than {MOST_WORDS:,} different words, too "
                    "many to keep a weight for each. Give ",
                    with_column("ignore", n),
                    ".",
                )
    return {n: options.vocabulary.of(count) for n, count in counts.items()}


def check_readable(kind: Any, name: str, column: str) -> None:
    """Raise DataError if the type of a column cannot be encoded as features."""
    if unknown := unusable_content(kind):
        also = (", or ", with_column("category", column)) if is_date_or_time(kind) else ()
        raise DataError(
            f"{name}, {quote_column(column)}: {unknown}, which are neither numbers nor words. ",
            *("Give ", with_column("ignore", column), *also, "."),
        )


# Comparison of the columns of the data with those that a proof records.


class PlanMismatchError(DataError):
    """Error about columns of the data that differ from those in a proof."""


def options_to_verify(claimed: Plan, names: Sequence[str], source: Source) -> ColumnOptions:
    """Return options to read the columns that a proof records, for `check_plan`."""
    needed = [claimed.target.column, *(column.name for column in claimed.encoding.columns)]
    check_columns_present(names, needed, source.name)
    every_word = Vocabulary(1, frozenset())
    options = ColumnOptions(missing=claimed.encoding.missing, vocabulary=every_word)
    return options_from_plan(options, claimed)


def check_plan(claimed: Plan, found: Plan) -> Plan:
    """Check that data have the columns of a proof; return the plan of the data in that order.

    Raises PlanMismatchError if the columns or labels differ. The data must have been read with the
    options of `options_to_verify`, which keep all words.
    """
    by_name = {column.name: column for column in found.encoding.columns}
    columns, notes = [], list(found.notes)
    for column in claimed.encoding.columns:
        where = quote_column(column.name)
        if column.name not in by_name:
            raise PlanMismatchError(f"{where} has no values.")
        ours = by_name[column.name]
        columns.append(_check_column(column, ours, claimed.encoding.missing == "mean"))
        if isinstance(column, Words):
            every = len(ours.features)
            shown = join_words([shorten(one) for one in column.values], most=12)
            some = "" if len(column.values) == every else f": {shown}"
            of_all = f"{len(column.values):,} of its {plural(every, 'word')}"
            notes.append(f"{where}: {of_all} counted{some}")
    encoding, target = replace(found.encoding, columns=tuple(columns)), found.target
    if not claimed.target.others:  # else one label against the rest: it was read with that label
        labels = {spell_label(label): label for label in target.names}
        if set(claimed.target.spellings) != set(labels):
            there, said = (
                join_words([shorten(one) for one in some])
                for some in (labels, claimed.target.spellings)
            )
            raise PlanMismatchError(
                f"{quote_column(target.column)} has the labels {there}, not {said} as the proof "
                "says."
            )
        target = replace(target, names=tuple(labels[one] for one in claimed.target.spellings))
    return Plan(encoding, target, notes=tuple(notes))


def _check_column(claimed: Column, found: Column, filled: bool) -> Column:
    where = quote_column(found.name)
    if isinstance(found, Number) and isinstance(claimed, Number):
        if not filled:
            return found
        near = CLOSE * max(abs(found.mean), found.spread)
        if not math.isclose(claimed.mean, found.mean, rel_tol=0.0, abs_tol=near):
            raise PlanMismatchError(
                f"{where}: the proof replaces missing numbers by {claimed.mean:g}, but the mean of "
                f"the column is {found.mean:g}."
            )
        return replace(found, mean=claimed.mean)
    if isinstance(found, Words) and isinstance(claimed, Words):
        _check_known(claimed.values, found.values, f"{where}: the proof counts", "occurs in no row")
        return claimed
    if isinstance(found, Category) and isinstance(claimed, Category):
        _check_known(claimed.values, found.values, f"{where}: the proof has", "occurs in no row")
        _check_known(found.values, claimed.values, f"{where}: the rows have", "is not in the proof")
        return claimed
    if isinstance(found, Entries) and found == claimed:
        return found
    if type(found) is type(claimed):
        raise PlanMismatchError(f"{where}: the feature indices differ from those in the proof.")
    raise PlanMismatchError(f"{where} holds {found.kind}, not {claimed.kind} as the proof says.")


def _check_known(values: Sequence[str], known: Sequence[str], who: str, otherwise: str) -> None:
    unknown = sorted(set(values) - set(known))
    if unknown:
        shown = join_words([f'"{shorten(value)}"' for value in unknown], most=3)
        raise PlanMismatchError(f"{who} {shown}, which {otherwise}.")
