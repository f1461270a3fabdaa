"""Plan: what each column is, from wishes and from a survey of all cells."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.errors import BadCellError, DataError, UsageError
from rosenblatt.messages import Message, Parameter, with_column, with_label
from rosenblatt.read.columns import (
    DECIMALS,
    Category,
    Column,
    Entries,
    Flag,
    Number,
    Vocabulary,
    Words,
    Written,
    cells_with,
    is_bytes,
    is_moment,
    is_text,
    refused,
    split_words,
)
from rosenblatt.read.encoding import Answers, Encoding, spelled
from rosenblatt.read.libsvm import ENTRIES, LABEL
from rosenblatt.read.survey import MANY, Rows, Survey
from rosenblatt.tables import LARGE
from rosenblatt.words import column_called, counted, listed, shortened

HANDFUL = 5  # so few labels may all be rare
USUAL_TARGETS = ("label", "y", "target", "class", "outcome")  # names of the column of answers
FEW = 50  # text with at most this many different values is a category
MOSTLY = 0.9  # text of which this share are numbers is a column of numbers with mistakes in it
MOST_WORDS = 1 << 24  # a model holds a weight for each

Style = tuple[str, str]  # the decimal point and the mark of written numbers


@dataclass(frozen=True)
class Wishes:
    """What a person said of the columns; empty means: find out."""

    target: str | None = None
    positive: str | None = None
    ignore: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    missing: str = "error"
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    decimal: str | None = None
    known: tuple[Column, ...] | None = None  # what the columns are in all rows, of which some come


@dataclass(frozen=True)
class Plan:
    """What was decided, and what else to tell a person."""

    encoding: Encoding
    answers: Answers
    guessed: str = ""  # what only the column of answers has, where nobody said which it is
    notes: tuple[str | Message, ...] = ()


def as_planned(wishes: Wishes, made: Plan) -> Wishes:
    """What to ask of some of the rows, so that their columns are what they are in all of them."""
    columns, answers = made.encoding.columns, made.answers
    return Wishes(
        answers.column,
        spelled(answers.names[1]) if answers.others else None,
        missing=wishes.missing,
        vocabulary=wishes.vocabulary,
        numbers=tuple(c.name for c in columns if isinstance(c, Number)),
        categories=tuple(c.name for c in columns if isinstance(c, Category)),
        texts=tuple(c.name for c in columns if isinstance(c, Words)),
        known=columns,
    )


def plan_table(table: Any, wishes: Wishes, name: str) -> Plan:
    """Decide what each column of an Arrow table is; messages call it by its name."""
    return plan_of(Rows.of(table), wishes, name)


def plan_of(rows: Rows, wishes: Wishes, name: str) -> Plan:
    """The same for rows that come in batches: one look at all of them, a second for words."""
    seen = surveyed(rows, wishes, name)
    column, guessed = _target(rows.names, seen, wishes, name)
    said = forced_kinds(rows.names, wishes).get(column) == "category"
    wished = wishes.positive, said or wishes.known is not None
    answers = _answers(seen[column], column, wished, name)
    features = {n: survey for n, survey in seen.items() if n != column}
    columns, notes = columns_of(rows, features, wishes, name)
    return Plan(Encoding(columns, wishes.missing), answers, guessed, notes)


def encoding_of(table: Any, wishes: Wishes, name: str) -> Encoding:
    """What the columns of some rows of a table are, whichever answers these rows have."""
    rows = Rows.of(table)
    seen = surveyed(rows, wishes, name)
    features = {n: survey for n, survey in seen.items() if n != wishes.target}
    return Encoding(columns_of(rows, features, wishes, name)[0], wishes.missing)


def columns_of(
    rows: Rows, features: dict[str, Survey], wishes: Wishes, name: str
) -> tuple[tuple[Column, ...], tuple[str | Message, ...]]:
    """What the columns besides the answers are, and what else to tell a person."""
    empty = {n: survey for n, survey in features.items() if survey.is_empty}
    notes: tuple[str | Message, ...] = tuple(_without(empty, "nothing in it"))
    used = {n: survey for n, survey in features.items() if n not in empty}
    forced = forced_kinds(rows.names, wishes)
    kinds, styles = _kinds(used, forced, wishes, name)
    notes += tuple(_looks(used, kinds, forced))
    ids = [n for n, kind in kinds.items() if kind == "id"]
    if ids:
        notes += (_left_out(ids),)
    words = _words(rows, [n for n, kind in kinds.items() if kind == "text"], wishes, name)
    wordless = [n for n in words if not words[n] and wishes.known is None]
    notes += tuple(_without(wordless, "no words in it to count"))
    columns = tuple(
        Words(n, words[n]) if n in words else _column(used[n], n, kind, styles.get(n))
        for n, kind in kinds.items()
        if kind != "id" and n not in wordless
    )
    if not any(c.features for c in columns):
        why = Message("; ", _left_out(ids)) if ids else ""
        raise DataError(f"{name}: no column is left besides the labels", why, ".")
    return columns, notes


def _without(columns: Collection[str], why: str) -> Iterator[str]:
    """That columns are left out, if there are any such."""
    if columns:
        yield f"{listed([column_called(n) for n in columns])} left out: {why}"


def surveyed(rows: Rows, wishes: Wishes, name: str) -> dict[str, Survey]:
    """What is in each column that is not ignored."""
    ignored = set(find_columns(rows.names, wishes.ignore, "ignore"))
    if wishes.known is not None:
        ignored |= set(rows.names).difference(column.name for column in wishes.known)
    target = wishes.target and find_column(rows.names, wishes.target, "target")
    forced, entries = forced_kinds(rows.names, wishes), None
    if rows.names == [LABEL, ENTRIES]:  # the lines of a LIBSVM file
        kind = rows.schema.types[-1]
        entries = ENTRIES if is_text(kind) or pa.types.is_map(kind) else None
    ignored -= {target}
    seen = {
        n: Survey(
            kind,
            _told_apart(kind, forced.get(n)),
            n == target if target else n != entries,
            n == entries and n not in forced,
        )
        for n, kind in _taken_as(rows.schema, forced).items()
        if n not in ignored
    }
    for part in rows.parts():
        bad = []
        for n, survey in seen.items():
            try:
                survey.add(part.column(n), n)
            except BadCellError as trouble:
                bad.append(trouble)
        if bad:
            raise min(bad, key=lambda cell: cell.row)
    if not any(survey.rows for survey in seen.values()):
        raise DataError(f"{name} has no rows, only the names of columns.")
    return seen


def _taken_as(schema: Any, forced: dict[str, str]) -> dict[str, Any]:
    """The types of columns; bytes are text, if they can be, and so are dates as categories."""
    text = {
        field.name
        for field in schema
        if is_bytes(field.type) or (is_moment(field.type) and forced.get(field.name) == "category")
    }
    return {field.name: pa.string() if field.name in text else field.type for field in schema}


def _told_apart(kind: Any, forced: str | None) -> int | None:
    """How many values of a column to tell apart: all of a category, else enough to know one."""
    if forced == "category" or (forced is None and is_text(kind) and pa.types.is_dictionary(kind)):
        return None
    return FEW if forced is None and is_text(kind) else 0


def check_named(names: Sequence[str], wishes: Wishes) -> None:
    """Refuse wishes for columns that are not there."""
    find_columns(names, wishes.ignore, "ignore")
    if wishes.target is not None:
        find_column(names, wishes.target, "target")
    forced_kinds(names, wishes)


def find_column(names: Sequence[str], given: str, parameter: str) -> str:
    """Find the column that a parameter names, or numbers from 1, or from the end with -1."""
    if given in names:
        return given
    try:
        number = int(given)
    except ValueError:
        raise UsageError(
            with_column(parameter, given),
            f": there is no {column_called(given)}; the columns are "
            f"{listed([shortened(one) for one in names], most=8)}.",
        ) from None
    if not 1 <= abs(number) <= len(names):
        there = f"there {'is' if len(names) == 1 else 'are'} {counted(len(names), 'column')}"
        raise UsageError(Parameter(parameter, str(number)), f": {there}, counted from 1.")
    return names[number - 1 if number > 0 else number]


def find_columns(names: Sequence[str], given: Sequence[str], parameter: str) -> list[str]:
    """Find the columns that a parameter names, of which there may be very many."""
    there = set(names)
    return [one if one in there else find_column(names, one, parameter) for one in given]


def _target(
    names: list[str], seen: dict[str, Survey], wishes: Wishes, name: str
) -> tuple[str, str]:
    """The column of answers, and what only it has where it was guessed."""
    if wishes.target is not None:
        return find_column(names, wishes.target, "target"), ""
    if any(survey.entries for survey in seen.values()):
        return LABEL, ""
    two = [n for n, s in seen.items() if s.labels is not None and len(s.labels.values) == 2]
    few = two or _of_few_words(names, seen, wishes)
    if len(few) == 1:
        return few[0], "two values" if two else "a few words"
    if len(names) == 1:
        raise DataError(
            f"{name} has only one column, {column_called(names[0])}. If another character "
            "separates the cells, give ",
            Parameter("separator"),
            ".",
        )
    likely = _likely_targets(seen, few)
    if not likely:
        raise DataError(
            f"{name}: no column has exactly two values. Give ",
            Parameter("target"),
            ", the column of labels.",
        )
    why = "several columns have" if few else "no column has exactly"
    raise DataError(
        f"{name}: {why} {'two values' if two or not few else 'a few values'}. The labels may be "
        f"in {listed([column_called(n) for n in likely], joint='or')}: give ",
        with_column("target", likely[0]),
        ", for example.",
    )


def _likely_targets(seen: dict[str, Survey], few: list[str]) -> list[str]:
    """Return the columns that may hold the answers, the likeliest first.

    A column with a usual name comes first, then the last and the first column of the table, where
    their values could be labels, then those with few values.
    """
    ends = list(seen)[-1:] + list(seen)[:1]
    usual = [n for n in seen if n.strip().casefold() in USUAL_TARGETS]
    likely = [n for n in (*usual, *ends) if _could_be_labels(seen[n])]
    return list(dict.fromkeys((*likely, *few)))


def _could_be_labels(survey: Survey) -> bool:
    """Check whether a column would be accepted as answers, and has few of them."""
    labels = _in_order(survey)
    if not 2 <= len(labels) <= FEW:
        return False
    try:
        check_labels(labels, survey.rows, "", "")
    except DataError:
        return len(labels) == 2
    return True


def _of_few_words(names: list[str], seen: dict[str, Survey], wishes: Wishes) -> list[str]:
    """The columns of text with a few values, of which nobody said what they are."""
    forced = forced_kinds(names, wishes)
    texts = {
        n: s for n, s in seen.items() if n not in forced and is_text(s.type) and not s.is_empty
    }
    return [
        n
        for n, s in texts.items()
        if s.labels is not None and 2 < len(s.labels.values) <= FEW and _kind(s) == "category"
    ]


def _answers(survey: Survey, column: str, wished: tuple[str | None, bool], name: str) -> Answers:
    """The labels; with a positive one, that against the rest. As they are, or refused if odd."""
    check_readable(survey.type, name, column)
    positive, as_they_are = wished
    labels = _in_order(survey)
    many = survey.labels is not None and survey.labels.many
    where = f"{name}, {column_called(column)}"
    if many or len(labels) < 2:
        raise _not_learnable(labels, many, where)
    if positive is None:
        if len(labels) > 2 and not as_they_are:
            check_labels(labels, survey.rows, where, with_column("category", column))
        return Answers(column, tuple(labels))
    meant = _meant(positive, labels, column)
    if len(labels) > 2:
        return Answers(column, (f"not {spelled(meant)}", meant), others=True)
    return Answers(column, (next(label for label in labels if label != meant), meant))


def _in_order(survey: Survey) -> list[Any]:
    """The labels by size; decimals are numbers only where doubles tell them apart."""
    labels = [] if survey.labels is None else list(survey.labels.values)
    if not pa.types.is_decimal(survey.type):
        return sorted(labels)
    numbers = {float(label) for label in labels}
    if len(numbers) == len(labels) and all(abs(number) < LARGE for number in numbers):
        return sorted(numbers)
    return sorted(labels, key=Decimal)


def _not_learnable(labels: list[Any], many: bool, where: str) -> DataError:
    """Say how many different answers there are."""
    if many:
        told = f"{where}: more than {MANY:,} different labels, too many to learn."
    elif labels:
        only = shortened(spelled(labels[0]))
        told = f"{where}: 1 different label ({only}); there must be two or more."
    else:
        told = f"{where}: no labels; there must be two or more."
    return DataError(f"{told} Give ", Parameter("target"), " for another column.")


def check_labels(labels: list[Any], rows: int, where: str, otherwise: str | Parameter) -> None:
    """Refuse three or more values that do not look like labels; `otherwise` accepts them."""
    shown = listed([shortened(spelled(label)) for label in labels], most=4)
    told = f"{where}: {counted(len(labels), 'different label')} ({shown})"
    alike = _alike(labels)
    if alike:
        pair = listed([f'"{shortened(label)}"' for label in alike])
        raise DataError(
            f"{told}. {pair} differ only in case or blanks: write them alike, or give ",
            otherwise,
            " to keep them as different labels.",
        )
    number = int | float | np.integer | np.floating
    numbers = isinstance(labels[0], number) and not isinstance(labels[0], bool)
    parts = numbers and any(math.isinf(label) or label != round(label) for label in labels)
    rare = len(labels) > HANDFUL and 2 * len(labels) > rows  # most of them come once
    if parts or rare or (numbers and len(labels) > FEW):
        what = "measured rather than named" if numbers else "names rather than labels"
        raise DataError(
            f"{told} in {counted(rows, 'row')}, which look {what}. Give ",
            *(Parameter("target"), " for another column, "),
            *(with_label("positive", spelled(labels[-1])), ", for example, to learn it against "),
            *("the rest, or ", otherwise, f" to learn all {len(labels):,} labels."),
        )


def _alike(labels: list[Any]) -> list[Any]:
    """The first answers that are the same but for case and blanks."""
    met: dict[str, list[Any]] = {}
    for label in labels:
        met.setdefault(" ".join(spelled(label).casefold().split()), []).append(label)
    return next((same for same in met.values() if len(same) > 1), [])


def _meant(given: str, labels: list[Any], column: str) -> Any:
    """Find the label that a person means: as it is written, or else but for its case."""
    exact = [label for label in labels if spelled(label) == given.strip()]
    matching = exact or [label for label in labels if _means(given, label)]
    if len(matching) != 1:
        raise UsageError(
            with_label("positive", given),
            f" is not a label in {column_called(column)}; the labels are "
            f"{listed([shortened(spelled(label)) for label in labels])}.",
        )
    return matching[0]


def _means(given: str, label: Any) -> bool:
    if str(label).lower() == given.strip().lower():
        return True
    try:
        return not isinstance(label, str | bool) and float(given) == label
    except ValueError:
        return False


def forced_kinds(names: Sequence[str], wishes: Wishes) -> dict[str, str]:
    """What some columns were said to be, by their names."""
    forced: dict[str, str] = {}
    for kind, given in (
        ("number", wishes.numbers),
        ("category", wishes.categories),
        ("text", wishes.texts),
    ):
        for column in find_columns(names, given, kind):
            if forced.setdefault(column, kind) != kind:
                raise UsageError(
                    Parameter(forced[column]),
                    " and ",
                    Parameter(kind),
                    f" both name {column_called(column)}; give one of them.",
                )
    return forced


def _kinds(
    seen: dict[str, Survey], forced: dict[str, str], wishes: Wishes, name: str
) -> tuple[dict[str, str], dict[str, Style]]:
    """What each column is, and how it is written if it is not of numbers as they are."""
    for n, survey in seen.items():
        if not survey.entries:
            check_readable(survey.type, name, n)
    kinds = {n: forced.get(n) or _kind(survey) for n, survey in seen.items()}
    if wishes.known is not None:
        return kinds, {c.name: (c.decimal, c.mark) for c in wishes.known if isinstance(c, Written)}
    # One column is enough to know how a file writes its decimals.
    certain = any(
        s.styles.certain and _may_be_commas(s) for n, s in seen.items() if n not in forced
    )
    decimal = wishes.decimal or ("," if certain else None)
    styles: dict[str, Style] = {}
    for n, survey in seen.items():
        if decimal == "," and n not in forced and _may_be_commas(survey):
            kinds[n] = "number"
        style = None
        if kinds[n] == "number" and n in forced and is_text(survey.type):
            style = _style(survey, decimal, wishes.decimal is not None)
        elif kinds[n] == "number" and decimal == "," and _takes_commas(survey, wishes.decimal):
            style = (",", "")
        if style is not None:
            styles[n] = style
    return kinds, styles


def _style(survey: Survey, decimal: str | None, said: bool) -> Style | None:
    """The decimal and the mark of text that is said to be numbers; None for numbers as they are."""
    dots, commas = (survey.styles.fits[mark] for mark in DECIMALS)
    if not said and dots != commas:
        decimal = "." if dots > commas else ","
    if decimal != "," and not survey.styles.marks:
        return None
    return decimal or ".", survey.styles.mark


def _takes_commas(survey: Survey, said: str | None) -> bool:
    """Whether numbers of a file with decimal commas may have them, in rows to come too."""
    if is_text(survey.type):
        return _may_be_commas(survey)
    return bool(pa.types.is_integer(survey.type) or (said and pa.types.is_floating(survey.type)))


def _may_be_commas(survey: Survey) -> bool:
    """Whether cells are numbers with decimal commas, or with commas between thousands."""
    if not is_text(survey.type) or survey.numeric >= MOSTLY * survey.meant:
        return False
    return survey.styles.commas >= MOSTLY * survey.meant


def _looks(
    seen: dict[str, Survey], kinds: dict[str, str], forced: dict[str, str]
) -> Iterator[Message]:
    """Note the columns that look like numbers and are not taken as numbers."""
    told = {"category": "categories", "text": "words", "id": "ids"}
    for n, survey in seen.items():
        if n not in forced and kinds[n] in told and _looks_like_numbers(survey):
            example = shortened(survey.styles.example or "")
            taken = f'{column_called(n)} looks like numbers ("{example}") but is taken as '
            number = with_column("number", n)
            yield Message(f"{taken}{told[kinds[n]]}; ", number, " reads it as numbers")


def _looks_like_numbers(survey: Survey) -> bool:
    return survey.styles.looks >= MOSTLY * max(1, survey.meant)


def _left_out(ids: list[str]) -> Message:
    return Message(
        f"{listed([column_called(n) for n in ids])} left out: different in every row, as names "
        "and ids are; ",
        with_column("category", ids[0]),
        f" keeps {'it' if len(ids) == 1 else 'the first'}",
    )


def _column(survey: Survey, name: str, kind: str, style: Style | None) -> Column:
    if kind == "entries":
        low, high = survey.indices or (1, 0)
        first = 0 if low == 0 else 1
        return Entries(name, first, high - first + 1)
    if kind == "category":
        return Category(name, tuple(sorted(survey.values.values)))
    if style is not None:
        moments = survey.styled[style[0]] if is_text(survey.type) else survey.moments
        return Written(name, *moments.found(), *style)
    return (Flag if pa.types.is_boolean(survey.type) else Number)(name, *survey.moments.found())


def _kind(survey: Survey) -> str:
    if survey.entries:
        return "entries"
    if not is_text(survey.type):
        return "number"
    if not pa.types.is_dictionary(survey.type) and survey.numeric >= MOSTLY * survey.meant:
        return "number"
    different = len(survey.values.values)
    words = survey.blanks / survey.written + 1
    text = words >= 2 and not _looks_like_numbers(survey)
    if survey.different.yes and survey.different.count > 1 and not text:
        return "id"
    if pa.types.is_dictionary(survey.type):
        return "category"
    if survey.values.many or (2 * different > survey.rows and words >= 2):
        return "text"
    return "category"


def _words(rows: Rows, columns: list[str], wishes: Wishes, name: str) -> dict[str, tuple[str, ...]]:
    """The words to count in each of some columns of text."""
    counts: dict[str, Counter[str]] = {n: Counter() for n in columns}
    for part in rows.parts() if columns else ():
        for n, count in counts.items():
            count.update(cells_with(*split_words(part.column(n))))
            if len(count) > MOST_WORDS:
                raise DataError(
                    f"{name}, {column_called(n)}: more than {MOST_WORDS:,} different words, too "
                    "many to keep a weight for each. Give ",
                    with_column("ignore", n),
                    ".",
                )
    return {n: wishes.vocabulary.of(count) for n, count in counts.items()}


def check_readable(kind: Any, name: str, column: str) -> None:
    """Refuse a column that holds nothing to learn from."""
    if strange := refused(kind):
        also = (", or ", with_column("category", column)) if is_moment(kind) else ()
        raise DataError(
            f"{name}, {column_called(column)}: {strange}, which are neither numbers nor words. ",
            *("Give ", with_column("ignore", column), *also, "."),
        )
