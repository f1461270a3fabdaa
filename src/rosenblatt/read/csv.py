"""Delimited text (CSV, TSV, blanks): how it is written, and its rows, which PyArrow reads."""

from __future__ import annotations

import codecs
import csv as standard
import functools
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from rosenblatt.errors import BadCellError, DataError, FileRowError, UsageError, one_line
from rosenblatt.messages import Message, Parameter
from rosenblatt.read.ahead import ahead, side_by_side
from rosenblatt.read.source import (
    HEAD,
    LONGEST_LINE,
    MOST_COLUMNS,
    UNREADABLE,
    Begun,
    Layout,
    Source,
    WholeLines,
    batch_bytes,
    numbered,
    too_wide,
    twice,
)
from rosenblatt.read.types import MISSING, Types, convert_promised, typed
from rosenblatt.words import counted

BLOCK = 4 << 20  # bytes of text in a record batch
WHOLE_BLOCK = 1 << 20  # where threads parse blocks side by side
LONGEST_BLOCK = (1 << 31) - 1  # that PyArrow takes
LINES = 64  # in a block at the least: each one costs a little for every column

SEPARATORS = (",", "\t", ";", "|")
BLANKS = " "
LIKE_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+|\d+,\d+)([eE][+-]?\d+)?\s*$"  # commas too

QUOTES = "Look for a quotation mark that is not closed."
AS_ASCII = bytes(min(byte, 127) for byte in range(256))  # for counting cells in any text


@dataclass(frozen=True)
class Dialect:
    """How a delimited file is written; `separator` " " stands for any blanks."""

    separator: str
    quote: str | None
    header: bool
    names: tuple[str, ...]
    encoding: str = "utf-8"
    decimal: str = "."
    line: int = 0  # bytes of the longest of the first lines
    above: int = 0  # empty lines before the first that is not

    @property
    def begin(self) -> int:
        """How many lines come before the rows."""
        return self.above + 1 if self.header else 0

    def parse_options(self, **more: Any) -> Any:
        """The dialect as PyArrow takes it."""
        return csv.ParseOptions(
            delimiter="\t" if self.separator == BLANKS else self.separator,
            quote_char=self.quote or False,
            **{"newlines_in_values": True, **more},
        )

    def read_options(self, **more: Any) -> Any:
        """Names are always given, so that none is guessed twice."""
        return csv.ReadOptions(
            column_names=list(self.names),
            skip_rows_after_names=self.begin,
            encoding=self.encoding,
            **more,
        )

    def convert_options(self, types: Mapping[str, Any], **more: Any) -> Any:
        """The types of columns, of those that there are."""
        names = set(self.names)
        known = {name: kind for name, kind in types.items() if name in names}
        return csv.ConvertOptions(
            column_types=known, null_values=list(MISSING), decimal_point=self.decimal, **more
        )


def find_dialect(source: Begun, layout: Layout) -> Dialect:
    """Say how a file is written, from what a person said and from its first megabyte."""
    head = source.head()
    said = (layout.encoding, layout.separator, layout.header, layout.decimal, layout.names)
    # What is asked again and again of one file is kept, unless its lines are very long.
    return (_dialect if len(head) <= HEAD else _dialect.__wrapped__)(source.name, head, said)


@functools.lru_cache(maxsize=1)
def _dialect(name: str, head: bytes, said: tuple[Any, ...]) -> Dialect:
    encoding, separator, header, decimal, names = said
    encoding = encoding_of(head, encoding)
    text = head if encoding == "utf-8" else head.decode(encoding, "replace").encode()
    if not text.strip():
        raise DataError(f"{name} is empty.")
    cut = _cut(text) if separator is None else _cut_by(text, separator)
    cells = cut.cells
    if cells is None and (width := _width(text, cut.separator, cut.quote)) > MOST_COLUMNS:
        raise too_wide(name, width)
    if cells is None:  # lines differ: the first one alone
        line = next(part for part in text.splitlines() if part.strip())
        cells = cells_of(line + b"\n", cut.separator, cut.quote)
    if cells is None:
        cells = pa.table({"column 1": [line]})
    header = _has_header(cells) if header is None else header
    if header:
        names = _names(name, cells)
    elif names is None or len(names) != cells.num_columns:
        names = tuple(numbered(cells.num_columns))
    # else a file to be predicted, which may lack the column of answers
    longest = max(map(len, head.splitlines()))
    decimal = decimal or "."  # of columns that are promised to be numbers
    above = next(i for i, line in enumerate(text.splitlines()) if line.strip())
    return Dialect(cut.separator, cut.quote, header, names, encoding, decimal, longest, above)


def encoding_of(head: bytes, said: str | None) -> str:
    """How text is encoded: as was said, or by its first bytes.

    Examples
    --------
    >>> encoding_of(b"a,b", None), encoding_of(codecs.BOM_UTF16_LE, None), encoding_of(b"", "UTF8")
    ('utf-8', 'utf-16', 'utf-8')
    """
    if said is None:
        orders = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
        orders |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}  # as one begins
        return next((name for mark, name in orders.items() if head.startswith(mark)), "utf-8")
    try:
        return codecs.lookup(said).name
    except LookupError:
        raise UsageError(Parameter("encoding", said), " is not a known text encoding.") from None


class Cut(NamedTuple):
    """Lines cut at a separator: their cells, or None where lines differ in length."""

    separator: str
    quote: str | None
    cells: Any

    @property
    def columns(self) -> int:
        """How many cells every line has."""
        return 0 if self.cells is None else int(self.cells.num_columns)


def _cut_by(text: bytes, separator: str) -> Cut:
    quote = _quote(text, separator)
    return Cut(separator, quote, cells_of(text, separator, quote))


def _cut(text: bytes) -> Cut:
    """The lines cut at the separator that gives most cells, the same number in each."""
    found = {s: _cut_by(text, s) for s in (*SEPARATORS, BLANKS)}
    decimals = [cut for cut in found.values() if cut.columns > 1 and _has_decimal_commas(cut)]
    if decimals:  # between which there may be as many cells as commas cut
        return max(decimals, key=lambda cut: cut.columns)
    blanks = found.pop(BLANKS)
    best = max(found.values(), key=lambda cut: cut.columns)
    few = max(1, best.columns)
    if blanks.columns > few and (few == 1 or _numeric(blanks.cells)):
        return blanks
    if best.columns > 1:
        return best
    # Nothing fits every line: the separator that the first lines have most of, for the message.
    first = text[:4096]
    return found[max(SEPARATORS, key=lambda s: first.count(s.encode()))]


def _has_decimal_commas(cut: Cut) -> bool:
    """Whether there are commas in cells, and each of them is part of a number."""
    if cut.separator == ",":
        return False
    found = False
    for column in cut.cells.columns:
        commas = pc.match_substring(column, ",")
        if pc.any(commas).as_py():
            numbers = pc.match_substring_regex(column, LIKE_NUMBER)
            if not pc.all(pc.or_(pc.invert(commas), numbers)).as_py():
                return False
            found = True
    return found


def _quote(text: bytes, separator: str) -> str | None:
    """Quotation marks are part of the text in many tab-separated files.

    They are quotes there only if each cell that begins with one also ends with one.
    """
    if separator == BLANKS or b'"' not in text:
        return None if separator == BLANKS else '"'
    if separator != "\t":
        return '"'
    cells = cells_of(text, separator, None)
    if cells is None:
        return '"'
    for column in cells.columns:
        begins = pc.match_substring_regex(column, '^"')
        ends = pc.match_substring_regex(column, '^".*"$')
        if pc.any(pc.and_not(begins, ends)).as_py():
            return None
    return '"'


def cells_of(text: bytes, separator: str, quote: str | None) -> Any:
    """The cells of some lines as bytes, or None where lines differ in length."""
    if separator == BLANKS:
        text = squeezed(text)
    names = numbered(_width(text, separator, quote))
    if len(names) > MOST_COLUMNS:
        return None
    try:
        return csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(column_names=names, block_size=max(len(text), 1) + 1),
            Dialect(separator, quote, False, tuple(names)).parse_options(),
            csv.ConvertOptions(column_types=dict.fromkeys(names, pa.binary())),
        )
    except pa.ArrowInvalid:
        return None


def _width(text: bytes, separator: str, quote: str | None) -> int:
    """The number of cells of the first line that is not blank."""
    line = next(part for part in text.splitlines() if part.strip()).translate(AS_ASCII)
    line = squeezed(line) if separator == BLANKS else line
    delimiter = "\t" if separator == BLANKS else separator
    quoting: Any = standard.QUOTE_NONE if quote is None else standard.QUOTE_MINIMAL
    # Not by PyArrow, whose way to count cells without making them crashed on its older versions.
    cells = standard.reader([line.decode()], delimiter=delimiter, quotechar=quote, quoting=quoting)
    try:
        return len(next(cells))
    except standard.Error:  # a cell longer than that module takes
        return line.count(delimiter.encode()) + 1


def _numeric(cells: Any) -> bool:
    """Whether all cells after the first line are numbers, or missing."""
    return all(_all_numbers(column[1:]) for column in cells.columns) and cells.num_rows > 1


def _all_numbers(column: Any) -> bool:
    numbers = pc.match_substring_regex(column, LIKE_NUMBER)
    missing = pc.is_in(column, pa.array([m.encode() for m in MISSING]))
    return bool(pc.all(pc.or_(numbers, missing), min_count=0).as_py())


def _has_header(cells: Any) -> bool:
    """Names over numbers are a header; so are words that never come again in their column."""
    firsts = [column[0].as_py() for column in cells.columns]
    if any(re.match(LIKE_NUMBER.encode(), first) or first == b"?" for first in firsts):
        return False
    if cells.num_rows < 2:
        return True
    rest = [column[1:] for column in cells.columns]
    if any(_all_numbers(column) for column in rest):
        return True
    again = [pc.any(pc.equal(c, f)).as_py() for c, f in zip(rest, firsts, strict=True)]
    short = all(len(first) <= 64 for first in firsts)
    return short and not any(again) and len(set(firsts)) == len(firsts)


def _names(source: str, cells: Any) -> tuple[str, ...]:
    firsts = [column[0].as_py() for column in cells.columns]
    try:
        names = tuple(first.decode().strip() for first in firsts)
    except UnicodeDecodeError:
        raise DataError(
            f"{source}, header: the column names are not UTF-8 text. Give ",
            Parameter("encoding", "latin-1"),
            ", for example.",
        ) from None
    names = tuple(name or f"column {i}" for i, name in enumerate(names, 1))
    again = twice(names)
    if again is not None:
        raise DataError(
            f'{source}, header: the name "{again}" comes twice. Give each column a name of its own.'
        )
    return names


def squeezed(text: bytes) -> bytes:
    """Lines with one tab for each run of blanks, and none at their ends."""
    text = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", text)
    return re.sub(rb"[ \t]+", b"\t", text)


class BlockFile(io.RawIOBase):
    """Blocks of bytes as a file that PyArrow reads."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self.blocks, self.ready = filter(None, blocks), memoryview(b"")

    def readable(self) -> bool:
        """PyArrow asks."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, all of it while there are bytes: what PyArrow gets at once is a block."""
        done = 0
        while done < len(buffer) and (self.ready or self._take()):
            size = min(len(buffer) - done, len(self.ready))
            buffer[done : done + size], self.ready = self.ready[:size], self.ready[size:]
            done += size
        return done

    def _take(self) -> bool:
        self.ready = memoryview(next(self.blocks, b""))
        return bool(self.ready)


def read_whole(source: Source, layout: Layout) -> Any:
    """All rows, each column with the type that fits all of its cells, or the one that is known."""
    dialect = find_dialect(source, layout)

    def read(size: int) -> Iterator[Any]:
        with _text(source, dialect) as stream:
            yield csv.read_csv(
                stream,
                # By one thread: PyArrow 20 can wait forever for a file of Python if a line is bad.
                dialect.read_options(block_size=size, use_threads=False),
                dialect.parse_options(),
                dialect.convert_options(dict.fromkeys(dialect.names, pa.binary())),
            )

    try:
        table = next(_in_blocks(read, _block(dialect, WHOLE_BLOCK)))
    except UNREADABLE as trouble:
        raise _explained(source, dialect, trouble) from None
    names = set(dialect.names)
    known = _convert(table, {n: k for n, k in layout.types.items() if n in names}, dialect)

    def convert(name: str) -> Any:
        return known[name] if name in known else typed(table.column(name), dialect.decimal)

    columns = side_by_side(convert, dialect.names)
    return pa.Table.from_arrays(list(columns), list(dialect.names))


def read_batches(source: Source, layout: Layout) -> Iterator[Any]:
    """Record batches; columns without a known type stay text."""
    dialect = find_dialect(source, layout)
    types = {name: layout.types.get(name, pa.string()) for name in dialect.names}
    done = 0
    try:
        for batch in _batches(source, dialect, dialect.names):
            columns = _convert(batch, types, dialect, done)
            yield pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
            done += batch.num_rows
    except UNREADABLE as trouble:
        raise _explained(source, dialect, trouble) from None


def _convert(
    rows: Any, types: Mapping[str, Any], dialect: Dialect, start: int = 0
) -> dict[str, Any]:
    """Convert columns of text; raise BadCellError for the first row that is not as promised."""
    columns, bad = {}, []
    for name, kind in types.items():
        try:
            columns[name] = convert_promised(rows.column(name), kind, dialect.decimal, name)
        except BadCellError as trouble:
            trouble.row += start
            bad.append(trouble)
    if bad:
        raise min(bad, key=lambda cell: cell.row)
    return columns


def read_schema(source: Source, layout: Layout) -> Any:
    """The columns and types of all rows, as `read_whole` has them, in little memory."""
    dialect = find_dialect(source, layout)
    known = {name: kind for name, kind in layout.types.items() if name in set(dialect.names)}
    types = Types([name for name in dialect.names if name not in known], dialect.decimal)
    as_bytes = dict.fromkeys(types.fitting, pa.binary())
    for batch in ahead(read_batches(source, replace(layout, types={**as_bytes, **known}))):
        types.add(batch)
    found = {**types.found(), **known}
    return pa.schema([(name, found[name]) for name in dialect.names])


def parse_lines(dialect: Dialect, data: bytes, types: Any, **convert: Any) -> Any:
    """Lines as a table, a row each; by one thread, for other lines are parsed beside them."""
    return csv.read_csv(
        pa.BufferReader(squeezed(data) if dialect.separator == BLANKS else data),
        dialect.read_options(block_size=len(data) + 1, use_threads=False),
        dialect.parse_options(newlines_in_values=False),
        dialect.convert_options(types, **convert),
    )


def cell_text(source: Source, layout: Layout, row: int, column: str) -> str | None:
    """A cell as it is written, row counted from 0."""
    for batch in _batches(source, find_dialect(source, layout), [column]):
        if row < batch.num_rows:
            return str(batch.column(0)[row].as_py().decode(errors="replace"))
        row -= batch.num_rows
    return None


def _batches(source: Source, dialect: Dialect, columns: Sequence[str]) -> Iterator[Any]:
    """Yield some columns of a file as bytes."""
    types = dict.fromkeys(columns, pa.binary())

    def read(size: int) -> Iterator[Any]:
        with _text(source, dialect) as stream:
            yield from csv.open_csv(
                stream,
                dialect.read_options(block_size=size, use_threads=False),
                dialect.parse_options(),
                dialect.convert_options(types, include_columns=list(columns)),
            )

    return _in_blocks(read, _block(dialect, BLOCK))


def _in_blocks(read: Callable[[int], Iterator[Any]], usual: int) -> Iterator[Any]:
    """Yield what is read in blocks of the usual size, or from a line on that is longer, in larger.

    PyArrow refuses a line that does not end in the block after the one that it begins in.
    """
    done = 0
    try:
        for rows in read(usual):
            yield rows
            done += rows.num_rows
    except pa.ArrowInvalid as trouble:
        if "straddling" not in str(trouble):
            raise
        for rows in read(max(usual, 2 * LONGEST_LINE)):
            skipped = min(done, rows.num_rows)
            done -= skipped
            if skipped < rows.num_rows:
                yield rows.slice(skipped)


def _text(source: Source, dialect: Dialect) -> Any:
    blocks: Iterable[bytes] = source.text()
    if dialect.separator == BLANKS:
        blocks = map(squeezed, WholeLines(blocks))
    return pa.PythonFile(BlockFile(blocks), "r")


def _block(dialect: Dialect, usual: int) -> int:
    """The bytes of a block: more than usual where lines are long, as far as memory allows."""
    many = min(LINES * dialect.line, 16 * batch_bytes())
    return min(max(usual, many, 2 * dialect.line), LONGEST_BLOCK)


def _explained(source: Source, dialect: Dialect, trouble: BaseException) -> DataError:
    """Turn PyArrow's complaint into a sentence with the row, found by reading again."""
    if isinstance(trouble, MemoryError):  # PyArrow's own is both
        raise trouble
    text = str(trouble)
    if "Expected" in text and "columns, got" in text:
        return _ragged(source, dialect)
    if isinstance(trouble, UnicodeError):
        return DataError(f"{source.name} is not text in the encoding {dialect.encoding}.")
    if "straddling" in text:  # lines within quotes
        return DataError(f"{source.name}: a row is longer than {LONGEST_LINE >> 20} MB. {QUOTES}")
    return DataError(f"{source.name} cannot be read: {one_line(trouble)}")


def _ragged(source: Source, dialect: Dialect) -> DataError:
    found: list[Any] = []

    def remember(row: Any) -> str:
        found.append(row)
        return "skip"

    utf8 = dialect.encoding == "utf-8"
    if utf8:  # rows are handed over as text, which any bytes are in latin-1
        dialect = replace(dialect, encoding="latin-1")
    options = dialect.parse_options(invalid_row_handler=remember)
    try:
        with _text(source, dialect) as stream:
            size = max(_block(dialect, WHOLE_BLOCK), 2 * LONGEST_LINE)
            csv.read_csv(stream, dialect.read_options(block_size=size, use_threads=False), options)
    except UNREADABLE:
        pass
    if not found:
        return DataError(f"{source.name}: not all rows have the same number of cells.")
    number = found[0].number
    odd = utf8 and _is_odd(found[0])
    rest = Message(
        f": {counted(found[0].actual_columns, 'cell')} where the other rows have "
        f"{found[0].expected_columns}. Fix the row, or give ",
        Parameter("separator"),
        " if another character separates the cells.",
    )
    if odd:
        advice = Parameter("encoding", "latin-1")
        rest = Message(rest, " It is not UTF-8 text: give ", advice, ", for example.")
    if not number:
        return DataError(source.name, rest)
    return FileRowError(source.name, number - dialect.begin, rest)


def _is_odd(row: Any) -> bool:
    """Whether the bytes of a row that was read as latin-1 are no UTF-8 text."""
    try:
        row.text.encode("latin-1").decode()
    except UnicodeDecodeError:
        return True
    return False
