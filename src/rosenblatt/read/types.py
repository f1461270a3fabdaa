"""Types of columns, decided from the text of their cells, and statistics of columns."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rosenblatt.errors import BadCellError
from rosenblatt.read.columns import (
    DECIMALS,
    MISSING,
    Parsed,
    Styles,
    as_numbers,
    as_text,
    decode_text,
    flatten,
    is_text,
    null_where,
    split_entries,
    unusable_content,
)
from rosenblatt.read.encoding import plain_labels
from rosenblatt.read.source import read_in_background
from rosenblatt.tables import find_large, is_changed_text

# The type of a column is the first that fits all cells; bytes are not UTF-8 text.
MOMENTS = (
    *(pa.date32(), pa.time32("s"), pa.timestamp("s"), pa.timestamp("ns")),
    *(pa.timestamp("s", "UTC"), pa.timestamp("ns", "UTC")),
)
TYPES = (pa.null(), pa.int64(), pa.bool_(), *MOMENTS, pa.float64(), pa.string(), pa.binary())
FIRST = 100  # number of cells that are searched for a value before all others
# The first cell limits a column to these types, and text.
SHAPES = {
    r"[01]": (pa.int64(), pa.bool_(), pa.float64()),
    r"true|false": (pa.bool_(),),
    r"-?\d+": (pa.int64(), pa.float64()),
    r"\d+[-:].+": MOMENTS,
    r"[+-]?([\d.,]|inf|nan).*": (pa.float64(),),
}
SHAPES_OF_CELLS = [(re.compile(shape, re.IGNORECASE), kinds) for shape, kinds in SHAPES.items()]
LONG = r"\d{16}"  # integers with fewer digits are exact in float64


def find_types(
    batches: Iterable[Any], names: Sequence[str], decimal: str = ".", kinds: Sequence[Any] = TYPES
) -> dict[str, Any]:
    """Return the type of each column, the first of `kinds` that fits all of its cells."""
    fitting = {name: tuple(kinds) for name in names}
    for batch in batches:
        for name, known in fitting.items():
            found = convert_to_fitting_types(batch.column(name), known, decimal)
            fitting[name] = tuple(kind for kind, _ in found)
    return {name: known[0] for name, known in fitting.items()}


def convert_to_fitting_types(
    cells: Any, kinds: Sequence[Any] = TYPES, decimal: str = "."
) -> Iterator[tuple[Any, Any]]:
    """Yield each type that fits all cells, together with the converted cells.

    Examples
    --------
    >>> [str(kind) for kind, _ in convert_to_fitting_types(pa.array(["12", "-3"]))]
    ['int64', 'double', 'string', 'binary']
    >>> [str(kind) for kind, _ in convert_to_fitting_types(pa.array(["12", "red"]))]
    ['string', 'binary']
    """
    first = _first_value(cells)
    if first is None:
        yield from ((kind, pa.nulls(len(cells))) for kind in kinds)
        return
    shapes = (possible for shape, possible in SHAPES_OF_CELLS if shape.fullmatch(first))
    possible = (*next(shapes, ()), pa.string(), pa.binary())
    for kind in kinds:
        if kind in possible:
            try:
                found = convert(cells, kind, decimal)
            except pa.ArrowInvalid:
                continue
            if found.type == kind:
                yield kind, found


def convert(cells: Any, kind: Any, decimal: str = ".") -> Any:
    """Convert a column of text to an Arrow type; raise ArrowInvalid if a cell does not fit.

    Missing cells become null. If doubles cannot represent the integers that are written, the cells
    stay text, so that a later error can quote the cell.
    """
    if pa.types.is_binary(kind) or pa.types.is_string(kind):
        return cells.cast(kind)
    if pa.types.is_null(kind):
        if _first_value(cells) is not None:
            raise pa.ArrowInvalid("not all cells are missing")
        return pa.nulls(len(cells))
    try:  # usually no cell is missing or has blanks
        found = _cast(cells, kind, decimal)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        found = None
    is_number = pa.types.is_float64(kind)
    if found is None or (is_number and pc.any(pc.is_nan(found)).as_py()):
        texts = pc.utf8_trim(cells.cast(pa.string()), " \t")
        found = _cast(null_where(texts, MISSING), kind, decimal)
    parts = found.chunks if isinstance(found, pa.ChunkedArray) else [found]
    if is_number and any(len(find_large(part.to_numpy(zero_copy_only=False))) for part in parts):
        texts = cells.cast(pa.string())
        long = texts.filter(pc.match_substring_regex(texts, LONG))
        if any(map(is_changed_text, pc.unique(long).to_pylist())):
            return texts
    return found


def read_numbers(cells: Any, decimal: str) -> Any:
    """Convert text to floats; null where a cell is not a number."""
    kind = pa.float64()
    with suppress(pa.ArrowInvalid):  # usually no cell is missing or has blanks
        return _cast(cells, kind, decimal)
    with suppress(pa.ArrowInvalid):
        return _cast(null_where(pc.utf8_trim(cells, " \t"), MISSING), kind, decimal)
    return as_numbers(_with_points(cells, decimal))


def convert_column(cells: Any, kind: Any, decimal: str, name: str) -> Any:
    """Convert a column of text; raise BadCellError on the first cell that does not fit."""
    try:
        return convert(cells, kind, decimal)
    except pa.ArrowInvalid:
        cells = flatten(decode_text(cells, name))
        fine, end = 0, len(cells)  # the rows before `fine` fit, and one before `end` does not
        while end - fine > 1:
            half = (fine + end) // 2
            try:
                convert(cells.slice(fine, half - fine), kind, decimal)
                fine = half
            except pa.ArrowInvalid:
                end = half
        raise BadCellError(fine, name, cells[fine].as_py().strip(" \t")) from None


def _cast(cells: Any, kind: Any, decimal: str) -> Any:
    if pa.types.is_time(kind):  # text cannot be cast to a time of day alone
        if not pc.all(pc.match_substring(cells, ":"), min_count=0).as_py():
            raise pa.ArrowInvalid("not a time")
        day = pa.scalar("1970-01-01T", cells.type)
        cells = pc.binary_join_element_wise(day, cells, pa.scalar("", cells.type))
        return cells.cast(pa.timestamp("s")).cast(kind)
    return (_with_points(cells, decimal) if pa.types.is_float64(kind) else cells).cast(kind)


def _with_points(cells: Any, decimal: str) -> Any:
    """Replace decimal marks by points; cells that already contain a point become invalid."""
    if decimal == ".":
        return cells
    cells = pc.replace_substring(cells.cast(pa.string()), ".", " ")
    return pc.replace_substring(cells, decimal, ".")


def _first_value(cells: Any) -> str | None:
    """Return the first cell that is not missing, without surrounding blanks."""
    for part in (cells.slice(0, FIRST), cells.slice(FIRST)):
        if len(part) > FIRST:
            part = part.filter(pc.invert(pc.is_in(part, pa.array(MISSING).cast(part.type))))
        for cell in part:
            value = cell.as_py()
            text = value.decode(errors="replace") if isinstance(value, bytes) else value or ""
            if (text := text.strip(" \t")) not in MISSING:
                return text
    return None


# Statistics of all cells of a column.

RUN = 1 << 16  # numbers are added in runs of this length, from the first row on
PART = 1 << 13  # and within a run in parts, which fit in the cache
MAX_KEPT = 1 << 18  # cells that are kept to detect duplicates
MAX_LABELS = 1000  # distinct labels that are kept
MOSTLY = 0.9  # minimum share of numbers in a text column that counts as numeric


def split_rows(table: Any) -> Iterator[Any]:
    """Yield the rows of a table in order, in record batches with a limited number of rows."""
    in_memory = isinstance(table, pa.Table | pa.RecordBatch)
    for batch in (table,) if in_memory else read_in_background(table.batches()):
        for start in range(0, batch.num_rows, RUN):
            yield batch.slice(start, RUN)


def add_distinct(values: dict[Any, None], new: Any, most: int | None) -> None:
    """Add distinct values to `values`, but none once it has more than `most` of them."""
    if most is None:
        values.update(dict.fromkeys(new.to_pylist()))
    elif len(values) <= most:
        values.update(dict.fromkeys(new.slice(0, most + 1).to_pylist()))


class Moments:
    """Mean and standard deviation of numbers, the same however they are split into batches."""

    def __init__(self) -> None:
        self.rest: NDArray[np.float64] = np.empty(0)
        self.runs: list[tuple[int, float, float, int]] = []
        self.low, self.high = math.inf, -math.inf

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
    parts = [numbers[i : i + PART] for i in range(0, n, PART)]
    mean = math.fsum(float(_scaled(part, e).sum()) for part in parts) / n
    squares = math.fsum(float(np.square(_scaled(part, e) - mean).sum()) for part in parts)
    return n, mean, squares, e


def _scaled(numbers: NDArray[np.float64], e: int) -> NDArray[np.float64]:
    """Divide numbers by 2^e."""
    return numbers * 2.0**-e if abs(e) < 1000 else np.ldexp(numbers, -e)  # which is slower


class ColumnStatistics:
    """Statistics of a column, which decide whether it is numeric, categorical or text.

    `values` is the maximum number of distinct texts to keep (None: all), `may_be_target` whether
    the column may be the target, `entries` whether its cells are LIBSVM entries, and `requested`
    the kind that the user requests.
    """

    def __init__(
        self, kind: Any, values: int | None, may_be_target: bool, entries: bool, requested: str
    ) -> None:
        self.type, self.entries, self.requested = kind, entries, requested
        self.may_be_target, self.labels = may_be_target, dict[Any, None]()
        self.most, self.values = values, dict[Any, None]()
        self.moments = Moments()
        self.styles, self.styled = Styles(), {decimal: Moments() for decimal in DECIMALS}
        self.unique = True  # whether all texts are different, such as names and ids, so far
        self.kept = pa.array([], pa.string())  # the first of these texts
        self.rows = self.valid = 0
        self.nonempty = self.present = self.numeric = self.blanks = 0  # counts of text cells
        self.indices: tuple[int, int] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether all cells are missing."""
        if self.valid == 0:
            return True
        return is_text(self.type) and not self.entries and self.present == 0

    @property
    def looks_like_numbers(self) -> bool:
        """Whether most texts are numbers, possibly with units or separators."""
        return self.styles.number_like >= MOSTLY * max(1, self.present)

    @property
    def has_commas(self) -> bool:
        """Whether most cells are numbers with a comma, which were read as text."""
        if not is_text(self.type) or self.numeric >= MOSTLY * self.present:
            return False
        return self.styles.commas >= MOSTLY * self.present

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
        many = self.most is not None and len(self.values) > self.most
        rarely_repeated = 2 * len(self.values) > self.rows and words >= 2
        return "text" if not coded and (many or rarely_repeated) else "category"

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
                add_distinct(self.labels, pc.unique(plain_labels(cells)).drop_null(), MAX_LABELS)
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
        add_distinct(self.values, texts, self.most)
        written = pc.not_equal(texts, "").to_numpy(zero_copy_only=False)
        marks = pc.is_in(texts, pa.array(MISSING)).to_numpy(zero_copy_only=False)
        numeric = as_numbers(texts).is_valid().to_numpy(zero_copy_only=False)
        blanks = pc.count_substring_regex(texts, r"\s+").to_numpy()
        if self.styles.add(texts, counts, numeric):
            for decimal, moments in self.styled.items():
                numbers = as_numbers(Parsed(cells, decimal).numbers)
                numbers = numbers.to_numpy(zero_copy_only=False)
                moments.add(numbers[np.isfinite(numbers)])
        if self.unique and len(self.kept) < MAX_KEPT:
            new = cells.filter(pc.invert(pc.is_in(cells, pa.array(MISSING))))
            new = new.slice(0, MAX_KEPT - len(self.kept))
            again = pc.any(pc.is_in(new, self.kept), min_count=0).as_py()
            self.unique = not again and pc.count_distinct(new).as_py() == len(new)
            self.kept = pa.concat_arrays([self.kept, new]) if self.unique else new.slice(0, 0)
        self.nonempty += int(counts[written].sum())
        self.present += int(counts[~marks].sum())
        self.numeric += int(counts[numeric].sum())
        self.blanks += int((counts * blanks).sum())
        return bool(numeric.any())

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
