"""Kinds of columns, such as numbers and categories, and the conversion of their cells."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rosenblatt.errors import FINITE, UTF8, BadCellError
from rosenblatt.tables import PROMISED, find_large, first_changed, is_changed_text

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
ENTRY = r"^\d{1,9}:" + NUMBER[1:].replace(r"\s*", "")
OWN = "the only entry of its row with this index"
# PyArrow's words for missing values, and the question mark of the UCI collection.
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
    *("1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "?"),
)


BYTES = (pa.binary(), pa.large_binary())  # types of bytes, which may be text


class Column:
    """Base class for kinds of columns, which differ in how they are encoded."""

    kind: ClassVar[str]
    noun: ClassVar[str] = "numeric column"  # under which columns or features are counted
    type: ClassVar[Any] = pa.string()  # to read the column as, if the file format has no types
    name: str  # in the file

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that encode the column."""
        raise NotImplementedError

    def encode(self, cells: Any) -> Any:
        """Encode cells as an array or CSR matrix, with NaN for missing numbers."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the column as a model file stores them."""
        fields = vars(self).items()
        return {"kind": self.kind} | {n: list(v) if type(v) is tuple else v for n, v in fields}


@dataclass(frozen=True)
class Number(Column):
    """A numeric column.

    `mean` and `spread` are the mean and the standard deviation of the training rows. The mean
    replaces missing values if that is requested, and explanations are relative to it.
    """

    kind: ClassVar[str] = "number"
    type: ClassVar[Any] = pa.float64()
    name: str
    mean: float = 0.0
    spread: float = 1.0  # standard deviation, which makes weights comparable

    @property
    def features(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def promised(self) -> str:
        """Description of a valid cell, for messages."""
        return "a number"

    def encode(self, cells: Any) -> NDArray[np.float64]:
        cells = flatten(cells)
        numbers: NDArray[np.float64] = as_numbers(cells).to_numpy(zero_copy_only=False)
        kind, large = cells.type, find_large(numbers)
        if len(large) and not (pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            some = cells.take(pa.array(large))
            if pa.types.is_integer(kind):
                values = some.to_numpy()
            else:
                values = np.array([*some.to_pylist(), None], dtype=object)[:-1]
            found = first_changed(values, numbers[large])
            if found is not None:
                text = str(some[found].as_py()).strip()
                raise BadCellError(int(large[found]), self.name, text, PROMISED)
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            row = int(infinite[0])
            raise BadCellError(
                row, self.name, cell_as_text(cells, row) or f"{numbers[row]}", FINITE
            )
        return numbers.reshape(-1, 1)


@dataclass(frozen=True)
class Flag(Number):
    """A column of true and false values, encoded as 1 and 0."""

    kind: ClassVar[str] = "flag"
    noun: ClassVar[str] = "true/false column"
    type: ClassVar[Any] = pa.bool_()

    def encode(self, cells: Any) -> NDArray[np.float64]:
        if is_text(flatten(cells).type):
            words = pc.utf8_lower(as_text(cells))
            false = pc.is_in(words, pa.array(["false", "0"]))
            cells = pc.if_else(pc.is_in(words, pa.array(["true", "1"])), 1.0, math.nan)
            cells = pc.if_else(false, 0.0, cells)
        return super().encode(cells)


@dataclass(frozen=True)
class FormattedNumber(Number):
    """A column of formatted numbers such as "1.234,5", "3%" or "$12.50".

    Thousands separators and the unit are removed: 3% becomes 3. If there is a unit, every cell must
    have it.
    """

    kind: ClassVar[str] = "written number"
    type: ClassVar[Any] = pa.string()
    decimal: str = "."
    mark: str = ""

    @property
    def promised(self) -> str:
        comma = "a decimal comma" if self.decimal == "," else ""
        marks = [mark for mark in (comma, self.mark) if mark]
        return f"a number with {' and '.join(marks)}" if marks else "a number"

    def encode(self, cells: Any) -> NDArray[np.float64]:
        if is_text(flatten(cells).type):
            cells = Parsed(as_text(cells), self.decimal).plain(self.mark)
        return super().encode(cells)


@dataclass(frozen=True)
class Category(Column):
    """A categorical column, encoded as one 0/1 feature per value.

    A missing value is the category "". A value without a weight is encoded as zeros.
    """

    kind: ClassVar[str] = "category"
    noun: ClassVar[str] = "categorical column"
    name: str
    values: tuple[str, ...]

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={value or '(missing)'}" for value in self.values)

    def codes(self, cells: Any) -> NDArray[np.int64]:
        """Return each cell's index in `values`, or -1 if the value of the cell is unknown."""
        found = pc.index_in(as_text(cells), pa.array(self.values, pa.string()))
        codes: NDArray[np.int64] = pc.fill_null(found.cast(pa.int64()), -1).to_numpy()
        return codes

    def encode(self, cells: Any) -> NDArray[np.float64]:
        codes = self.codes(cells)
        numbers = np.zeros((len(codes), len(self.values)))
        seen = np.flatnonzero(codes >= 0)
        numbers[seen, codes[seen]] = 1.0
        return numbers


@dataclass(frozen=True)
class Words(Column):
    """A text column, encoded as the count of each known word."""

    kind: ClassVar[str] = "words"
    noun: ClassVar[str] = "word"
    name: str
    values: tuple[str, ...]

    @property
    def features(self) -> tuple[str, ...]:
        return self.values

    def encode(self, cells: Any) -> Any:
        words, offsets = split_words(cells)
        codes = pc.index_in(words, pa.array(self.values, pa.string()))
        known = codes.is_valid().to_numpy(zero_copy_only=False)
        rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[known]
        columns = codes.drop_null().to_numpy()
        return make_csr(np.ones(len(rows)), rows, columns, (len(offsets) - 1, len(self.values)))


@dataclass(frozen=True)
class Entries(Column):
    """A column of LIBSVM entries, index:value; an absent index has the value zero.

    A stream may know only some of the indices, which are then listed.
    """

    kind: ClassVar[str] = "entries"
    noun: ClassVar[str] = "feature"
    name: str
    first: int
    size: int
    listed: tuple[int, ...] | None = None

    @property
    def indices(self) -> Sequence[int]:
        """Indices of the entries that are used as features, in ascending order."""
        return self.listed or range(self.first, self.first + self.size)

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(map(str, self.indices))

    def encode(self, cells: Any) -> Any:
        index, value, rows, n = split_entries(cells, self.name)
        place = index - self.first
        known = (place >= 0) & (place < self.size)
        if self.listed:
            place = np.minimum(np.searchsorted(self.listed, index), self.size - 1)
            known = np.asarray(self.listed)[place] == index
        return make_csr(value[known], rows[known], place[known], (n, self.size))

    @classmethod
    def of(cls, name: str, indices: Sequence[int]) -> Entries:
        """Create a LIBSVM column whose features are these indices, which must be ascending."""
        first, size = (indices[0] if indices else 1), len(indices)
        if first in (0, 1) and (not indices or indices[-1] == first + size - 1):
            return cls(name, first, size)
        return cls(name, first, size, tuple(indices))

    def select(self, table: Any) -> Any:
        """Select the feature columns of an array or CSR matrix; absent columns become zeros."""
        beyond = max(self.indices, default=0) + 1 - table.shape[1]
        if beyond > 0 and isinstance(table, np.ndarray):
            table = np.pad(table, ((0, 0), (0, beyond)))
        elif beyond > 0:
            table = table.copy()
            table.resize(table.shape[0], table.shape[1] + beyond)
        return table[:, list(self.indices)]

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "first": self.first, "size": self.size}


KINDS: dict[str, type[Number | Category | Words | Entries]] = {
    kind.kind: kind for kind in (Number, Flag, FormattedNumber, Category, Words, Entries)
}


def as_numbers(cells: Any) -> Any:
    """Convert cells to floats; null where a cell is not a number."""
    cells = flatten(cells)
    if is_text(cells.type):
        numeric = pc.match_substring_regex(cells, NUMBER)
        trimmed = pc.utf8_ltrim(pc.utf8_trim_whitespace(cells), "+")
        cells = pc.if_else(numeric, trimmed, pa.scalar(None, cells.type))
    return cells.cast(pa.float64(), safe=False)


def as_text(cells: Any) -> Any:
    """Convert cells to trimmed text, "" where a cell is missing."""
    cells = flatten(cells)
    return pc.utf8_trim_whitespace(pc.fill_null(cells.cast(pa.string()), ""))


def cell_as_text(cells: Any, row: int) -> str | None:
    """Return a cell of a text column, or None if it is empty or a number."""
    return as_text(cells.slice(row, 1))[0].as_py() or None if is_text(cells.type) else None


def null_where(texts: Any, words: tuple[str, ...] = ("",)) -> Any:
    """Replace texts that are in `words` by null."""
    return pc.if_else(pc.is_in(texts, pa.array(words)), pa.scalar(None, pa.string()), texts)


# English words that are left out of text columns.
ENGLISH = """
    a about after all also am an and any are as at be because been before being but by can could
    did didn do does doesn doing don down for from had has have having he her here hers him his
    how i if in into is isn it its just ll me more most my no nor not of off on once only or
    other our out over own re same she should so some such than that the their them then there
    these they this those through to too under until up ve very was wasn we were what when where
    which while who whom why will with would you your yours
"""
STOP_WORDS = frozenset(ENGLISH.split())


def split_words(cells: Any) -> tuple[Any, NDArray[np.int32]]:
    """Split cells into lowercase words; also return the index of each cell's first word.

    The indices end with the number of words.
    """
    texts = as_text(cells)
    lower = pc.utf8_lower(texts)
    if pc.any(pc.match_substring_regex(texts, "[İΣ]")).as_py():  # these change length
        lower = pa.array([text.lower() for text in texts.to_pylist()], pa.string())
    words = pc.split_pattern_regex(lower, r"[^\pL\pN_]+")
    return words.flatten(), words.offsets.to_numpy() - words.offsets[0].as_py()


def split_entries(
    cells: Any, name: str
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.intp], int]:
    """Parse LIBSVM entries; return the index, value and row of each, and the number of rows.

    Raises BadCellError if a row has an index twice.
    """
    cells = flatten(cells)
    if pa.types.is_map(cells.type):  # as `convert` stores them
        counts = np.diff(cells.offsets.to_numpy())
        rows = np.repeat(np.arange(len(cells)), counts)
        begin, end = cells.offsets[0].as_py(), cells.offsets[-1].as_py()
        index = cells.keys.to_numpy()[begin:end].astype(np.int64)
        value = cells.items.to_numpy()[begin:end]
    else:
        cells = as_text(cells)
        tokens = pc.utf8_split_whitespace(cells)
        counts = pc.if_else(pc.equal(cells, ""), 0, pc.list_value_length(tokens)).to_numpy()
        rows = np.repeat(np.arange(len(cells)), counts)
        flat = tokens.flatten()
        flat = flat.filter(pc.not_equal(flat, ""))
        good = pc.match_substring_regex(flat, ENTRY)
        if not pc.all(good, min_count=0).as_py():
            at = good.index(False).as_py()
            raise BadCellError(
                int(rows[at]), name, flat[at].as_py(), "an entry of the form index:value"
            )
        index = pc.replace_substring_regex(flat, r":.*$", "").cast(pa.int64()).to_numpy()
        value = pc.replace_substring_regex(flat, r"^\d+:\+?", "").cast(pa.float64()).to_numpy()
        if not np.isfinite(value).all():
            at = int(np.flatnonzero(~np.isfinite(value))[0])
            raise BadCellError(
                int(rows[at]), name, flat[at].as_py(), "index:value with a finite value"
            )
        for at in find_large(value).tolist():
            text = flat[at].as_py().partition(":")[2]
            if is_changed_text(text):
                raise BadCellError(int(rows[at]), name, text, PROMISED)
    if ((np.diff(index) <= 0) & (np.diff(rows) == 0)).any():  # usually they increase
        order = np.lexsort((index, rows))
        again = (np.diff(index[order]) == 0) & (np.diff(rows[order]) == 0)
        if again.any():
            at = int(order[1:][again][0])
            raise BadCellError(int(rows[at]), name, f"{index[at]}:{value[at]:g}", OWN)
    return index, value, rows, len(cells)


def make_csr(
    data: NDArray[Any], rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]
) -> Any:
    """Build a CSR matrix from its entries; add up duplicates."""
    from scipy.sparse import coo_array

    # Sorted, with 32-bit indices, so that a single compiled kernel is enough.
    matrix = coo_array((data, (rows, columns)), shape=shape).tocsr()
    matrix.sum_duplicates()
    matrix.indices = matrix.indices.astype(np.int32, copy=False)
    matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
    return matrix


def to_arrow(frame: Any) -> Any:
    """Convert a data frame to an Arrow table without its index."""
    if hasattr(frame, "iloc"):  # pandas
        return pa.Table.from_pandas(frame, preserve_index=False)
    # Early versions of polars lack the Arrow PyCapsule interface.
    return frame.to_arrow() if hasattr(frame, "to_arrow") else pa.table(frame)


def normalize_types(rows: Any) -> Any:
    """Convert columns of a table to basic Arrow types, such as text and numbers."""
    for i, field in enumerate(rows.schema):
        kind = _normal_type(field.type)
        if kind != field.type:
            cells, runs = rows.column(i), pa.types.is_run_end_encoded(field.type)
            cells = pc.run_end_decode(cells) if runs else cells
            rows = rows.set_column(i, field.name, cells.cast(kind))
    return rows


def _normal_type(kind: Any) -> Any:
    if isinstance(kind, pa.BaseExtensionType):
        return _normal_type(kind.storage_type)
    if pa.types.is_run_end_encoded(kind):
        return _normal_type(kind.value_type)
    if pa.types.is_dictionary(kind):
        value = _normal_type(kind.value_type)
        return value if value in BYTES else pa.dictionary(kind.index_type, value, kind.ordered)
    if pa.types.is_string_view(kind):
        return pa.string()
    bare = pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind)
    return pa.binary() if bare else kind


def decode_text(cells: Any, name: str) -> Any:
    """Decode bytes as UTF-8 text; return other cells unchanged."""
    if cells.type not in BYTES:
        return cells
    try:
        return cells.cast(pa.string())
    except pa.ArrowInvalid:
        for row, cell in enumerate(cells.to_pylist()):
            text = (cell or b"").decode(errors="replace")
            if text.encode() != (cell or b""):
                raise BadCellError(row, name, text, UTF8) from None
        raise


def is_date_or_time(kind: Any) -> bool:
    """Check whether an Arrow type is that of dates or times."""
    return bool(pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind))


def unusable_content(kind: Any) -> str:
    """Return what an Arrow type holds if it cannot be encoded, such as "bytes", else ""."""
    if pa.types.is_nested(kind):
        return "lists or objects"
    if pa.types.is_temporal(kind):
        return "dates or times" if is_date_or_time(kind) else "lengths of time"
    return "bytes" if kind in BYTES else ""


def flatten(cells: Any) -> Any:
    """Return a column as one array without chunks and dictionary encoding."""
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.chunk(0) if cells.num_chunks == 1 else cells.combine_chunks()
        cells = pa.concat_arrays(cells.chunks) if isinstance(cells, pa.ChunkedArray) else cells
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    return cells.cast(pa.string()) if pa.types.is_null(cells.type) else cells


def is_text(kind: Any) -> bool:
    """Check whether an Arrow type is that of text, possibly dictionary-encoded."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


GROUP = "[\u00a0\u2009\u202f '’]"  # thousands separators besides the other decimal mark
MARK = r"%|‰|\p{Sc}|USD|EUR|GBP|CHF|JPY"
DECIMALS = (".", ",")


def _pattern(decimal: str, thousands: str) -> str:
    whole = rf"[1-9]\d{{0,2}}(?:(?:{thousands}|{GROUP})\d{{3}})+|\d+"
    number = rf"(?:{whole})(?:{decimal}\d*)?(?:[eE][+-]?\d+)?|{decimal}\d+"
    return (
        rf"^(?P<sign>[+-]?)\s*(?P<before>{MARK})?\s*(?P<inner>[+-]?)"
        rf"(?P<number>{number})\s*(?P<after>{MARK})?$"
    )


# The beginning of any number. PyArrow compiles patterns in every call, which for the patterns below
# takes as long as thousands of cells: this quick pattern tells whether they are needed.
MAYBE_NUMBER = r"^(?:[^0-9A-Za-z]|USD|EUR|GBP|CHF|JPY)*[0-9]"
PATTERNS = {".": _pattern(r"\.", ","), ",": _pattern(",", r"\.")}


class Parsed:
    """Numbers parsed from trimmed texts, with a decimal point or a decimal comma.

    With a decimal comma, points may separate thousands, and the other way round.

    Examples
    --------
    >>> parsed = Parsed(pa.array(["-1,234.5", "$12", "3%", "1,5"]), ".")
    >>> parsed.fits.tolist(), parsed.marks.to_pylist()
    ([True, True, True, False], ['', '$', '%', None])
    >>> parsed.plain("").to_pylist()
    ['-1234.5', None, None, None]
    """

    def __init__(self, texts: Any, decimal: str) -> None:
        found = pc.extract_regex(texts, PATTERNS[decimal])
        sign, inner = found.field("sign"), found.field("inner")
        before, after = found.field("before"), found.field("after")
        once = pc.or_(pc.equal(before, ""), pc.equal(after, ""))
        once = pc.and_(once, pc.or_(pc.equal(sign, ""), pc.equal(inner, "")))
        good = pc.fill_null(pc.and_(found.is_valid(), once), False)
        nothing = pa.scalar(None, pa.string())
        self.fits: NDArray[np.bool_] = good.to_numpy(zero_copy_only=False)
        self.marks = pc.if_else(good, pc.binary_join_element_wise(before, after, ""), nothing)
        digits = pc.replace_substring_regex(
            found.field("number"), rf"{GROUP}|{',' if decimal == '.' else '[.]'}", ""
        )
        digits = digits if decimal == "." else pc.replace_substring(digits, ",", ".")
        minus = pc.replace_substring(pc.binary_join_element_wise(sign, inner, ""), "+", "")
        self.numbers = pc.if_else(good, pc.binary_join_element_wise(minus, digits, ""), nothing)

    def plain(self, mark: str) -> Any:
        """Return the numbers that have the unit `mark`, as text without it.

        Other cells become null. With the mark "", the numbers without a unit are returned.
        """
        return pc.if_else(pc.equal(self.marks, mark), self.numbers, pa.scalar(None, pa.string()))


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
        texts = null_where(pc.utf8_trim(cells.cast(pa.string()), " \t"), MISSING)
        if texts.null_count < len(texts):
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
