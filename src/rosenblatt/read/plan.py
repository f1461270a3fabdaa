"""Decisions on how each column of a table is encoded as numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rosenblatt.errors import (
    BadCellError,
    DataError,
    Message,
    Parameter,
    UsageError,
    with_column,
)
from rosenblatt.read.columns import (
    BYTES,
    DECIMALS,
    MAYBE_NUMBER,
    MISSING,
    STOP_WORDS,
    Category,
    Column,
    Entries,
    Flag,
    FormattedNumber,
    Number,
    Parsed,
    Words,
    as_numbers,
    as_text,
    decode_text,
    is_date_or_time,
    is_text,
    split_entries,
    split_words,
    unusable_content,
)
from rosenblatt.read.encoding import (
    FEW,
    Encoding,
    Plan,
    TargetColumn,
    check_columns_present,
    check_labels,
    find_label,
    plain_labels,
    spell_label,
)
from rosenblatt.read.lines import ENTRIES, LABEL
from rosenblatt.read.source import Source, read_in_background
from rosenblatt.tables import LARGE
from rosenblatt.text import join_words, plural, quote_column, shorten

USUAL_TARGETS = ("label", "y", "target", "class", "outcome")  # usual names of the target
MOST_WORDS = 1 << 24  # maximum number of words, each of which has a weight
MOST_COMPARED = 1000  # maximum number of names that a mistyped name is compared with
RUN = 1 << 16  # numbers are added in runs of this length, from the first row on
PART = 1 << 13  # and within a run in parts, which fit in the cache
MAX_KEPT = 1 << 18  # cells that are kept to detect duplicates
MAX_LABELS = 1000  # distinct labels that are kept
ALL = 1 << 60  # more than any number of distinct texts
MOSTLY = 0.9  # minimum share of numbers in a text column that counts as numeric

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
    min_count: int = 1  # minimum number of cells with a word that is counted
    stop_words: frozenset[str] = STOP_WORDS
    decimal: str | None = None
    known: tuple[Column, ...] | None = None  # columns decided on a larger table


def options_from_plan(options: ColumnOptions, plan: Plan) -> ColumnOptions:
    """Return reading options that give another table the columns and the target of a plan."""
    columns, target = plan.encoding.columns, plan.target
    return ColumnOptions(
        target.column,
        spell_label(target.names[1]) if target.others else None,
        missing=options.missing,
        min_count=options.min_count,
        stop_words=options.stop_words,
        numbers=tuple(c.name for c in columns if isinstance(c, Number)),
        categories=tuple(c.name for c in columns if isinstance(c, Category)),
        texts=tuple(c.name for c in columns if isinstance(c, Words)),
        known=columns,
    )


def options_to_verify(claimed: Plan, names: Sequence[str], source: Source) -> ColumnOptions:
    """Return options to read the columns that a proof records, for `check_plan`."""
    needed = [claimed.target.column, *(column.name for column in claimed.encoding.columns)]
    check_columns_present(names, needed, source.name)
    options = ColumnOptions(missing=claimed.encoding.missing, stop_words=frozenset())
    return options_from_plan(options, claimed)


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
    stop_words = tuple(sorted(options.stop_words))
    return Plan(Encoding(columns, options.missing, stop_words), target, guessed, notes)


def decide_columns(
    table: Any, features: dict[str, ColumnStatistics], options: ColumnOptions, name: str
) -> tuple[tuple[Column, ...], tuple[str | Message, ...]]:
    """Decide how columns are encoded as features; also return notes for the user."""
    empty = [quote_column(n) for n, stats in features.items() if stats.is_empty]
    used = {n: stats for n, stats in features.items() if not stats.is_empty}
    notes: list[str | Message] = []
    if empty:
        notes.append(f"{join_words(empty)} left out: no values")
    kinds, styles = _decide_kinds(used, options, name)
    read_as = {"category": "categories", "text": "words", "id": "ids"}
    for n, stats in used.items():
        if not stats.requested and kinds[n] in read_as and stats.looks_like_numbers:
            example = shorten(stats.example)
            note = f'{quote_column(n)} looks like numbers ("{example}") but is read as '
            number = with_column("number", n)
            notes.append(Message(f"{note}{read_as[kinds[n]]}; ", number, " reads it as numbers"))
    ids = [n for n, kind in kinds.items() if kind == "id"]
    if ids:
        which = f"{join_words([quote_column(n) for n in ids])} left out: different in every row"
        category, them = with_column("category", ids[0]), "it" if len(ids) == 1 else "the first"
        notes.append(Message(f"{which}, as names and ids are; ", category, f" keeps {them}"))
    texts = [n for n, kind in kinds.items() if kind == "text"]
    words = _select_words(table, texts, options, name) if texts else {}
    wordless = [n for n in words if not words[n] and options.known is None]
    columns = list[Column]()
    for n, kind in kinds.items():
        stats, style = used[n], styles.get(n)
        if kind == "id" or n in wordless:
            continue
        if kind == "text":
            columns.append(Words(n, words[n]))
        elif kind == "entries":
            low, high = stats.indices or (1, 0)
            first = 0 if low == 0 else 1
            columns.append(Entries(n, first, high - first + 1))
        elif kind == "category":
            columns.append(Category(n, tuple(sorted(stats.values))))
        elif style is not None:
            moments = stats.styled[style[0]] if is_text(stats.type) else stats.moments
            columns.append(FormattedNumber(n, *moments.mean_and_spread(), *style))
        else:
            number_or_flag = Flag if pa.types.is_boolean(stats.type) else Number
            columns.append(number_or_flag(n, *stats.moments.mean_and_spread()))
    if not any(column.features for column in columns):
        why = Message("; ", notes[-1]) if ids else ""
        raise DataError(f"{name}: no column is left besides the labels", why, ".")
    if wordless:
        left_out = join_words([quote_column(n) for n in wordless])
        notes.append(f"{left_out} left out: no words to count")
    return tuple(columns), tuple(notes)


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
        if kind in BYTES or (request == "category" and is_date_or_time(kind)):
            kind = pa.string()
        most = FEW if not request and is_text(kind) else 0
        if request == "category" or (most and pa.types.is_dictionary(kind)):
            most = ALL
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
    meant = find_label(positive, labels, column)
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
    certain = any(s.certain_commas and s.has_commas for s in all_stats.values() if not s.requested)
    decimal = options.decimal or ("," if certain else None)
    styles: dict[str, Style] = {}
    for n, stats in all_stats.items():
        if decimal == "," and not stats.requested and stats.has_commas:
            kinds[n] = "number"
        is_number, text = kinds[n] == "number", is_text(stats.type)
        if is_number and text and stats.requested:
            fits, mark = stats.fits, decimal
            if options.decimal is None and fits["."] != fits[","]:
                mark = max(DECIMALS, key=fits.__getitem__)
            if mark == "," or stats.marks:
                unit = stats.marks.most_common(1)[0][0] if stats.marks else ""
                styles[n] = mark or ".", unit
        elif is_number and decimal == ",":  # later rows may have decimal commas
            floats = options.decimal is not None and pa.types.is_floating(stats.type)
            if stats.has_commas if text else pa.types.is_integer(stats.type) or floats:
                styles[n] = ",", ""
    return kinds, styles


def _select_words(
    table: Any, columns: list[str], options: ColumnOptions, name: str
) -> dict[str, tuple[str, ...]]:
    """Return the words of each text column that become features, sorted.

    They have two characters or more, are in enough cells, and are not stop words.
    """
    counts: dict[str, Counter[str]] = {n: Counter() for n in columns}
    for part in split_rows(table):
        for n, count in counts.items():
            words, offsets = split_words(part.column(n))
            coded = words.dictionary_encode()
            size = len(coded.dictionary)
            cells = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
            # A word counts once per cell, however often it occurs in it.
            once = np.unique(cells * max(size, 1) + coded.indices.to_numpy())
            cells_with = np.bincount(once % max(size, 1), minlength=size)
            count.update(dict(zip(coded.dictionary.to_pylist(), cells_with.tolist(), strict=True)))
            if len(count) > MOST_WORDS:
                raise DataError(
                    f"{name}, {quote_column(n)}: more than {MOST_WORDS:,} different words, too "
                    "many to keep a weight for each. Give ",
                    with_column("ignore", n),
                    ".",
                )
    stop_words, least = options.stop_words, options.min_count
    return {
        n: tuple(
            sorted(w for w, k in count.items() if k >= least and len(w) > 1 and w not in stop_words)
        )
        for n, count in counts.items()
    }


def check_readable(kind: Any, name: str, column: str) -> None:
    """Raise DataError if the type of a column cannot be encoded as features."""
    if unknown := unusable_content(kind):
        also = (", or ", with_column("category", column)) if is_date_or_time(kind) else ()
        raise DataError(
            f"{name}, {quote_column(column)}: {unknown}, which are neither numbers nor words. ",
            *("Give ", with_column("ignore", column), *also, "."),
        )


def split_rows(table: Any) -> Iterator[Any]:
    """Yield the rows of a table in order, in record batches with a limited number of rows."""
    in_memory = isinstance(table, pa.Table | pa.RecordBatch)
    for batch in (table,) if in_memory else read_in_background(table.batches()):
        for start in range(0, batch.num_rows, RUN):
            yield batch.slice(start, RUN)


@dataclass
class Moments:
    """Mean and standard deviation of numbers, the same however they are split into batches."""

    rest: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    runs: list[tuple[int, float, float, int]] = field(default_factory=list)
    low: float = math.inf
    high: float = -math.inf

    def add(self, numbers: NDArray[np.float64]) -> None:
        """Include finite numbers in the mean and the standard deviation."""
        if len(numbers) == 0:
            return
        self.low = min(self.low, float(numbers.min()))
        self.high = max(self.high, float(numbers.max()))
        numbers = np.concatenate((self.rest, numbers)) if len(self.rest) else numbers
        whole = len(numbers) // RUN * RUN
        self.runs += [_summarize(numbers[i : i + RUN]) for i in range(0, whole, RUN)]
        self.rest = numbers[whole:].copy()

    def mean_and_spread(self) -> tuple[float, float]:
        """Return the mean and the standard deviation (1 if all numbers are equal)."""
        if not self.low < self.high:
            return (self.low if math.isfinite(self.low) else 0.0), 1.0
        runs = [*self.runs, _summarize(self.rest)] if len(self.rest) else self.runs
        unit, count = max(e for *_, e in runs), sum(n for n, *_ in runs)
        means = [math.ldexp(mean, e - unit) for _, mean, _, e in runs]
        mean = math.fsum(run[0] * m for run, m in zip(runs, means, strict=True)) / count
        squares = [math.ldexp(square, 2 * (e - unit)) for _, _, square, e in runs]
        apart = [run[0] * (m - mean) ** 2 for run, m in zip(runs, means, strict=True)]
        spread = math.ldexp(math.sqrt(math.fsum((*squares, *apart)) / count), unit)
        return math.ldexp(mean, unit), spread if spread > 0 else 1.0


def _summarize(numbers: NDArray[np.float64]) -> tuple[int, float, float, int]:
    """Divide numbers by 2^e; return their count, mean, sum of squared deviations, and e."""
    n, e = len(numbers), int(np.frexp(max(numbers.max(), -numbers.min()))[1])
    numbers = numbers * 2.0**-e if abs(e) < 1000 else np.ldexp(numbers, -e)  # which is slower
    parts = [numbers[i : i + PART] for i in range(0, n, PART)]
    mean = math.fsum(float(part.sum()) for part in parts) / n
    return n, mean, math.fsum(float(np.square(part - mean).sum()) for part in parts), e


@dataclass
class ColumnStatistics:
    """Statistics of a column, which decide whether it is numeric, categorical or text."""

    type: Any
    most: int  # maximum number of distinct texts to keep
    may_be_target: bool
    entries: bool  # whether the cells are LIBSVM entries
    requested: str  # kind that the user requests, or ""
    labels: dict[Any, None] = field(default_factory=dict)
    values: dict[Any, None] = field(default_factory=dict)
    moments: Moments = field(default_factory=Moments)
    styled: dict[str, Moments] = field(default_factory=lambda: {d: Moments() for d in DECIMALS})
    rows: int = 0
    valid: int = 0
    unique: bool = True  # whether all texts are different, such as names and ids, so far
    kept: Any = field(default_factory=lambda: pa.array([], pa.string()))  # the first of them
    # Counts of text cells: not empty, not missing, plain numbers, and blanks between words.
    nonempty: int = 0
    present: int = 0
    numeric: int = 0
    blanks: int = 0
    # Counts of cells that are numbers, possibly with a unit or separators: all, those whose comma
    # may be and must be a decimal mark, those that fit each decimal mark, and units.
    number_like: int = 0
    commas: int = 0
    certain_commas: int = 0
    fits: dict[str, int] = field(default_factory=lambda: dict.fromkeys(DECIMALS, 0))
    marks: Counter[str] = field(default_factory=Counter)
    example: str = ""  # a number that is not plain
    indices: tuple[int, int] | None = None  # least and greatest of LIBSVM entries

    @property
    def is_empty(self) -> bool:
        """Whether all cells are missing."""
        if self.valid == 0:
            return True
        return is_text(self.type) and not self.entries and self.present == 0

    @property
    def looks_like_numbers(self) -> bool:
        """Whether most texts are numbers, possibly with units or separators."""
        return self.number_like >= MOSTLY * max(1, self.present)

    @property
    def has_commas(self) -> bool:
        """Whether most cells are numbers with a comma, which were read as text."""
        if not is_text(self.type) or self.numeric >= MOSTLY * self.present:
            return False
        return self.commas >= MOSTLY * self.present

    @property
    def kind(self) -> str:
        """Kind: number, category, text, id (all different) or entries (LIBSVM index:value)."""
        if self.requested or self.entries:
            return self.requested or "entries"
        if not is_text(self.type):
            return "number"
        coded = pa.types.is_dictionary(self.type)
        if not coded and self.numeric >= MOSTLY * self.present:
            return "number"
        words = self.blanks / self.nonempty + 1  # per cell
        if self.unique and len(self.kept) > 1 and (words < 2 or self.looks_like_numbers):
            return "id"
        rarely_repeated = 2 * len(self.values) > self.rows and words >= 2
        is_prose = len(self.values) > self.most or rarely_repeated
        return "text" if not coded and is_prose else "category"

    def add(self, cells: Any, name: str) -> None:
        """Include the next cells of the column; calls must follow the order of the rows."""
        try:
            cells = decode_text(cells, name)
            if self.entries:
                self._add_entries(cells, name)
        except BadCellError as bad:
            bad.row += self.rows
            raise
        if not self.entries and not unusable_content(self.type):
            if self.may_be_target and len(self.labels) <= MAX_LABELS:
                labels = pc.unique(plain_labels(cells)).drop_null().slice(0, MAX_LABELS + 1)
                self.labels.update(dict.fromkeys(labels.to_pylist()))
            is_number = not is_text(self.type)
            if not is_number or self.most != 0:
                is_number |= self._add_texts(as_text(cells))
            if is_number:
                numbers = as_numbers(cells).to_numpy(zero_copy_only=False)
                finite = np.isfinite(numbers)
                self.moments.add(numbers if finite.all() else numbers[finite])
        self.rows += len(cells)
        self.valid += len(cells) - cells.null_count

    def _add_texts(self, cells: Any) -> bool:
        """Include cells of text; return whether any cell is a plain number."""
        counted = pc.value_counts(cells)
        texts, counts = counted.field("values"), counted.field("counts").to_numpy()
        if len(self.values) <= self.most:
            self.values.update(dict.fromkeys(texts.slice(0, self.most + 1).to_pylist()))
        written = pc.not_equal(texts, "").to_numpy(zero_copy_only=False)
        missing = pc.is_in(texts, pa.array(MISSING)).to_numpy(zero_copy_only=False)
        numeric: NDArray[np.bool_] = as_numbers(texts).is_valid().to_numpy(zero_copy_only=False)
        blanks = pc.count_substring_regex(texts, r"\s+").to_numpy()
        self.nonempty += int(counts[written].sum())
        self.present += int(counts[~missing].sum())
        self.numeric += int(counts[numeric].sum())
        self.blanks += int((counts * blanks).sum())
        if self.unique and len(self.kept) < MAX_KEPT:
            new = cells.filter(pc.invert(pc.is_in(cells, pa.array(MISSING))))
            new = new.slice(0, MAX_KEPT - len(self.kept))
            again = pc.any(pc.is_in(new, self.kept), min_count=0).as_py()
            self.unique = not again and pc.count_distinct(new).as_py() == len(new)
            self.kept = pa.concat_arrays([self.kept, new]) if self.unique else new.slice(0, 0)
        if pc.any(pc.match_substring_regex(texts, MAYBE_NUMBER)).as_py():
            self._add_formats(cells, texts, counts, numeric)
        return bool(numeric.any())

    def _add_formats(
        self, cells: Any, texts: Any, counts: NDArray[Any], numeric: NDArray[np.bool_]
    ) -> None:
        """Include how the numbers among cells, whose distinct texts are counted, are written."""
        parsed = {decimal: Parsed(texts, decimal) for decimal in DECIMALS}
        dot, comma = parsed["."].fits, parsed[","].fits
        looks = dot | comma
        if not looks.any():
            return
        marks = pc.coalesce(parsed["."].marks, parsed[","].marks)
        bare = pc.fill_null(pc.equal(marks, ""), False).to_numpy(zero_copy_only=False)
        self.number_like += int(counts[looks].sum())
        self.commas += int(counts[comma & bare].sum())
        self.certain_commas += int(counts[comma & ~dot & bare].sum())
        odd = np.flatnonzero(looks & ~numeric).tolist()
        for at in odd:
            self.marks[marks[at].as_py()] += int(counts[at])
        if odd and not self.example:
            self.example = texts[odd[0]].as_py()
        for decimal, moments in self.styled.items():
            self.fits[decimal] += int(counts[parsed[decimal].fits].sum())
            numbers = as_numbers(Parsed(cells, decimal).numbers).to_numpy(zero_copy_only=False)
            moments.add(numbers[np.isfinite(numbers)])

    def _add_entries(self, cells: Any, name: str) -> None:
        try:
            index = split_entries(cells, name)[0]
        except BadCellError as bad:
            self._add_entries(cells.slice(0, bad.row), name)  # there may be an earlier error
            raise
        if len(index):
            low, high = int(index.min()), int(index.max())  # Python integers, for JSON
            least, most = self.indices or (low, high)
            self.indices = (min(least, low), max(most, high))
