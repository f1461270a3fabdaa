"""The kinds of column and the numbers they become; each is a frozen value, stored in models."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rosenblatt.errors import FINITE, UTF8, BadCellError
from rosenblatt.tables import PROMISED, first_changed, is_changed_text, large

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
ENTRY = r"^\d{1,9}:" + NUMBER[1:].replace(r"\s*", "")
OWN = "an index of its own with a value"


class Column:
    """What every kind of column can do; a column that is not numbers is read as text."""

    kind: ClassVar[str]
    name: str  # in the file

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the numbers it becomes."""
        raise NotImplementedError

    @property
    def type(self) -> Any:
        """The Arrow type to read it as where a format has none."""
        return pa.string()

    def encode(self, cells: Any) -> Any:
        """One row of numbers a cell, as an array or a CSR matrix; NaN where one is missing."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """The value as JSON holds it."""
        fields = vars(self).items()
        return {"kind": self.kind} | {n: list(v) if type(v) is tuple else v for n, v in fields}


@dataclass(frozen=True)
class Number(Column):
    """A column of numbers, as they are.

    The mean is that of the rows learnt from; it stands in for what is missing where that was
    asked for, and reasons are told as distances from it.
    """

    kind: ClassVar[str] = "number"
    name: str
    mean: float = 0.0
    spread: float = 1.0  # the standard deviation, so that weights can be compared

    @property
    def features(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def promised(self) -> str:
        """What each cell must be."""
        return "a number"

    @property
    def type(self) -> Any:
        return pa.float64()

    def encode(self, cells: Any) -> NDArray[np.float64]:
        cells = plain(cells)
        numbers: NDArray[np.float64] = as_numbers(cells).to_numpy(zero_copy_only=False)
        rounded = first_rounded(cells, numbers)
        if rounded is not None:
            raise BadCellError(rounded, self.name, str(cells[rounded].as_py()).strip(), PROMISED)
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            row = int(infinite[0])
            raise BadCellError(row, self.name, text_in(cells, row) or f"{numbers[row]}", FINITE)
        return numbers.reshape(-1, 1)


@dataclass(frozen=True)
class Flag(Number):
    """A column of true and false, as 1 and 0."""

    kind: ClassVar[str] = "flag"

    @property
    def type(self) -> Any:
        return pa.bool_()

    def encode(self, cells: Any) -> NDArray[np.float64]:
        if is_text(plain(cells).type):
            words = pc.utf8_lower(as_text(cells))
            false = pc.is_in(words, pa.array(["false", "0"]))
            cells = pc.if_else(pc.is_in(words, pa.array(["true", "1"])), 1.0, math.nan)
            cells = pc.if_else(false, 0.0, cells)
        return super().encode(cells)


@dataclass(frozen=True)
class Written(Number):
    """A column of numbers as people write them, where it is text: "1.234,5", "3%", "$12.50".

    What stands between thousands is left out, and so is the mark: 3% is 3. Every cell must have
    the mark, if there is one.
    """

    kind: ClassVar[str] = "written number"
    decimal: str = "."
    mark: str = ""

    @property
    def type(self) -> Any:
        return pa.string()

    @property
    def promised(self) -> str:
        comma = "a decimal comma" if self.decimal == "," else ""
        marks = [mark for mark in (comma, self.mark) if mark]
        return f"a number with {' and '.join(marks)}" if marks else "a number"

    def encode(self, cells: Any) -> NDArray[np.float64]:
        if is_text(plain(cells).type):
            cells = Parsed(as_text(cells), self.decimal).plain(self.mark)
        return super().encode(cells)


@dataclass(frozen=True)
class Category(Column):
    """A column of a few values: a 1 for the value that is there, 0 for the others.

    A missing cell is the value "". A value never seen before is all zeros.
    """

    kind: ClassVar[str] = "category"
    name: str
    values: tuple[str, ...]

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={value or '(missing)'}" for value in self.values)

    def codes(self, cells: Any) -> NDArray[np.int64]:
        """The position of each cell among the values, -1 for one never seen."""
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
    """A column of text: how often each known word comes in it."""

    kind: ClassVar[str] = "words"
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
        return csr(np.ones(len(rows)), rows, columns, (len(offsets) - 1, len(self.values)))


@dataclass(frozen=True)
class Entries(Column):
    """The index:value entries of a LIBSVM line; what is not there is zero."""

    kind: ClassVar[str] = "entries"
    name: str
    first: int
    size: int

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(str(i) for i in range(self.first, self.first + self.size))

    def encode(self, cells: Any) -> Any:
        index, value, rows, n = split_entries(cells, self.name)
        index = index - self.first
        known = (index >= 0) & (index < self.size)
        return csr(value[known], rows[known], index[known], (n, self.size))


KINDS: dict[str, type[Number | Category | Words | Entries]] = {
    kind.kind: kind for kind in (Number, Flag, Written, Category, Words, Entries)
}


def as_numbers(cells: Any) -> Any:
    """Cells as doubles; null where there is none, and where text is not a number."""
    cells = plain(cells)
    if is_text(cells.type):
        numeric = pc.match_substring_regex(cells, NUMBER)
        trimmed = pc.utf8_ltrim(pc.utf8_trim_whitespace(cells), "+")
        cells = pc.if_else(numeric, trimmed, pa.scalar(None, cells.type))
    return cells.cast(pa.float64(), safe=False)


def first_rounded(cells: Any, numbers: NDArray[np.float64]) -> int | None:
    """The first cell that is a whole number and became another as a double, None if none did."""
    if pa.types.is_floating(cells.type) or pa.types.is_boolean(cells.type):
        return None
    at = large(numbers)
    if len(at) == 0:
        return None
    some = cells.take(pa.array(at))
    whole = pa.types.is_integer(some.type)
    values = some.to_numpy() if whole else np.array([*some.to_pylist(), None], dtype=object)[:-1]
    found = first_changed(values, numbers[at])
    return None if found is None else int(at[found])


def as_text(cells: Any) -> Any:
    """Cells as text without blanks around it; "" where there is none."""
    cells = plain(cells)
    return pc.utf8_trim_whitespace(pc.fill_null(cells.cast(pa.string()), ""))


def text_in(cells: Any, row: int) -> str | None:
    """What a cell of text says; None where there is nothing, or no number among numbers."""
    return as_text(cells.slice(row, 1))[0].as_py() or None if is_text(cells.type) else None


def nulled(texts: Any, words: tuple[str, ...] = ("",)) -> Any:
    """Texts, with null for those that are one of these words."""
    return pc.if_else(pc.is_in(texts, pa.array(words)), pa.scalar(None, pa.string()), texts)


def split_words(cells: Any) -> tuple[Any, NDArray[np.int32]]:
    """The words of all cells in lower case, and where each cell's words begin."""
    words = pc.split_pattern_regex(pc.utf8_lower(as_text(cells)), r"[^\pL\pN_]+")
    return words.flatten(), words.offsets.to_numpy() - words.offsets[0].as_py()


def split_entries(
    cells: Any, name: str
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.intp], int]:
    """Index, value and row of each entry, and the number of rows; no row has an index twice."""
    index, value, rows, n = _entries(plain(cells), name)
    if ((np.diff(index) <= 0) & (np.diff(rows) == 0)).any():  # mostly they go up
        order = np.lexsort((index, rows))
        again = (np.diff(index[order]) == 0) & (np.diff(rows[order]) == 0)
        if again.any():
            at = int(order[1:][again][0])
            raise BadCellError(int(rows[at]), name, f"{index[at]}:{value[at]:g}", OWN)
    return index, value, rows, n


def _entries(
    cells: Any, name: str
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.intp], int]:
    if pa.types.is_map(cells.type):  # as `convert` keeps them
        counts = np.diff(cells.offsets.to_numpy())
        begin, end = cells.offsets[0].as_py(), cells.offsets[-1].as_py()
        index = cells.keys.to_numpy()[begin:end].astype(np.int64)
        value = cells.items.to_numpy()[begin:end]
        return index, value, np.repeat(np.arange(len(cells)), counts), len(cells)
    cells = as_text(cells)
    tokens = pc.utf8_split_whitespace(cells)
    counts = pc.if_else(pc.equal(cells, ""), 0, pc.list_value_length(tokens)).to_numpy()
    rows = np.repeat(np.arange(len(cells)), counts)
    flat = tokens.flatten()
    flat = flat.filter(pc.not_equal(flat, ""))
    good = pc.match_substring_regex(flat, ENTRY)
    if not pc.all(good, min_count=0).as_py():
        at = good.index(False).as_py()
        raise BadCellError(int(rows[at]), name, flat[at].as_py(), "index:value")
    index = pc.replace_substring_regex(flat, r":.*$", "").cast(pa.int64()).to_numpy()
    value = pc.replace_substring_regex(flat, r"^\d+:\+?", "").cast(pa.float64()).to_numpy()
    if not np.isfinite(value).all():
        at = int(np.flatnonzero(~np.isfinite(value))[0])
        raise BadCellError(int(rows[at]), name, flat[at].as_py(), "index:value")
    for at in large(value).tolist():
        text = flat[at].as_py().partition(":")[2]
        if is_changed_text(text):
            raise BadCellError(int(rows[at]), name, text, PROMISED)
    return index, value, rows, len(cells)


def csr(
    data: NDArray[Any], rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]
) -> Any:
    """A CSR matrix from entries; entries of the same place are added."""
    from scipy.sparse import coo_array

    # Sorted and with 32-bit indices, so that one compiled kernel serves all.
    matrix = coo_array((data, (rows, columns)), shape=shape).tocsr()
    matrix.sum_duplicates()
    matrix.indices = matrix.indices.astype(np.int32, copy=False)
    matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
    return matrix


def arrow_table(frame: Any) -> Any:
    """A frame of any kind as Arrow has it, without the names of its rows."""
    if hasattr(frame, "iloc"):  # pandas
        return pa.Table.from_pandas(frame, preserve_index=False)
    # Early versions of polars have their own way to Arrow and not yet the common one.
    return frame.to_arrow() if hasattr(frame, "to_arrow") else pa.table(frame)


def usual(rows: Any) -> Any:
    """A table or batch in the types that are known here: no views, runs or types of others."""
    for i, field in enumerate(rows.schema):
        kind = _usual_type(field.type)
        if kind != field.type:
            cells, runs = rows.column(i), pa.types.is_run_end_encoded(field.type)
            cells = pc.run_end_decode(cells) if runs else cells
            rows = rows.set_column(i, field.name, cells.cast(kind))
    return rows


def _usual_type(kind: Any) -> Any:
    if isinstance(kind, pa.BaseExtensionType):
        return _usual_type(kind.storage_type)
    if pa.types.is_run_end_encoded(kind):
        return _usual_type(kind.value_type)
    if pa.types.is_dictionary(kind):
        value = _usual_type(kind.value_type)
        return value if is_bytes(value) else pa.dictionary(kind.index_type, value, kind.ordered)
    if pa.types.is_string_view(kind):
        return pa.string()
    bare = pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind)
    return pa.binary() if bare else kind


def decoded(cells: Any, name: str) -> Any:
    """Bytes as the text they are, other cells as they are."""
    if not is_bytes(cells.type):
        return cells
    try:
        return cells.cast(pa.string())
    except pa.ArrowInvalid:
        for row, cell in enumerate(cells.to_pylist()):
            text = (cell or b"").decode(errors="replace")
            if text.encode() != (cell or b""):
                raise BadCellError(row, name, text, UTF8) from None
        raise


def is_bytes(kind: Any) -> bool:
    """Whether cells are bytes that nothing says are text."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def is_moment(kind: Any) -> bool:
    """Whether cells are dates or times, which may be categories as they are written."""
    return bool(pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind))


def refused(kind: Any) -> str:
    """What a column of this type holds, if that is nothing to learn from."""
    if pa.types.is_nested(kind):
        return "lists or objects"
    if pa.types.is_temporal(kind):
        return "dates or times" if is_moment(kind) else "lengths of time"
    return "bytes" if is_bytes(kind) else ""


def plain(cells: Any) -> Any:
    """Cells as one array of their values."""
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.chunk(0) if cells.num_chunks == 1 else cells.combine_chunks()
        cells = pa.concat_arrays(cells.chunks) if isinstance(cells, pa.ChunkedArray) else cells
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    return cells.cast(pa.string()) if pa.types.is_null(cells.type) else cells


def is_text(kind: Any) -> bool:
    """Whether cells are text, each by itself or as one of a dictionary."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


GROUP = "[\u00a0\u2009\u202f '’]"  # between thousands, besides the one that is no decimal mark
MARK = r"%|‰|\p{Sc}|USD|EUR|GBP|CHF|JPY"
DECIMALS = (".", ",")


def _pattern(decimal: str, thousands: str) -> str:
    whole = rf"[1-9]\d{{0,2}}(?:(?:{thousands}|{GROUP})\d{{3}})+|\d+"
    number = rf"(?:{whole})(?:{decimal}\d*)?(?:[eE][+-]?\d+)?|{decimal}\d+"
    return (
        rf"^(?P<sign>[+-]?)\s*(?P<before>{MARK})?\s*(?P<inner>[+-]?)"
        rf"(?P<number>{number})\s*(?P<after>{MARK})?$"
    )


# How any number begins. PyArrow compiles a pattern in every call: those below cost each column as
# much as some thousand cells do.
MAYBE_NUMBER = r"^(?:[^0-9A-Za-z]|USD|EUR|GBP|CHF|JPY)*[0-9]"
PATTERNS = {".": _pattern(r"\.", ","), ",": _pattern(",", r"\.")}


class Parsed:
    """Texts without blanks around them taken apart, as numbers with one of the decimal marks.

    The other mark stands between thousands.

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
        """The numbers with this mark as programs write them, null elsewhere."""
        return pc.if_else(pc.equal(self.marks, mark), self.numbers, pa.scalar(None, pa.string()))


class Styles:
    """How the numbers of a column of text are written, added up over its cells."""

    def __init__(self) -> None:
        self.looks = self.certain = self.commas = 0  # without marks but for `looks`
        self.fits = dict.fromkeys(DECIMALS, 0)
        self.marks: Counter[str] = Counter()
        self.example: str | None = None

    def add(self, texts: Any, counts: NDArray[Any], numeric: NDArray[np.bool_]) -> bool:
        """Look at different texts, how often they come, and which are numbers as they are.

        Says whether any of them is a number in some way.
        """
        if not pc.any(pc.match_substring_regex(texts, MAYBE_NUMBER)).as_py():
            return False
        parsed = {decimal: Parsed(texts, decimal) for decimal in DECIMALS}
        dot, comma = parsed["."].fits, parsed[","].fits
        looks = dot | comma
        marks = pc.coalesce(parsed["."].marks, parsed[","].marks)
        bare = pc.fill_null(pc.equal(marks, ""), False).to_numpy(zero_copy_only=False)
        self.looks += int(counts[looks].sum())
        self.commas += int(counts[comma & bare].sum())
        self.certain += int(counts[comma & ~dot & bare].sum())
        for decimal, one in parsed.items():
            self.fits[decimal] += int(counts[one.fits].sum())
        odd = np.flatnonzero(looks & ~numeric)
        for at in odd:
            self.marks[marks[int(at)].as_py()] += int(counts[at])
        if len(odd) and self.example is None:
            self.example = texts[int(odd[0])].as_py()
        return bool(looks.any())

    @property
    def mark(self) -> str:
        """The mark that most of the numbers have, which are not numbers as they are."""
        return self.marks.most_common(1)[0][0] if self.marks else ""


# The words of English that say least about what a text is about.
ENGLISH = """
    a about after all also am an and any are as at be because been before being but by can could
    did didn do does doesn doing don down for from had has have having he her here hers him his
    how i if in into is isn it its just ll me more most my no nor not of off on once only or
    other our out over own re same she should so some such than that the their them then there
    these they this those through to too under until up ve very was wasn we were what when where
    which while who whom why will with would you your yours
"""


@dataclass(frozen=True)
class Vocabulary:
    """Words of two characters or more, in enough cells, and not among the stop words."""

    min_count: int = 1
    stop_words: frozenset[str] = frozenset(ENGLISH.split())

    @classmethod
    def without(cls, stop_words: str, min_count: int) -> Vocabulary:
        """The vocabulary without the words of a text."""
        return cls(min_count, frozenset(stop_words.lower().split()))

    def of(self, count: Mapping[str, int]) -> tuple[str, ...]:
        """The words to count, in alphabetical order, by the number of cells that have each."""
        return tuple(
            sorted(
                word
                for word, cells in count.items()
                if cells >= self.min_count and len(word) >= 2 and word not in self.stop_words
            )
        )


def cells_with(words: Any, offsets: NDArray[np.int32]) -> dict[str, int]:
    """In how many cells each word comes, from the words of all cells and where a cell's begin."""
    coded = words.dictionary_encode()
    size = len(coded.dictionary) or 1
    cells = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    # A word counts once in a cell: twenty times in one message is still one message.
    once = np.unique(cells.astype(np.int64) * size + coded.indices.to_numpy())
    count = np.bincount(once % size, minlength=len(coded.dictionary))
    return dict(zip(coded.dictionary.to_pylist(), count.tolist(), strict=True))
