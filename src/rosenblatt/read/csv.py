"""Reader of delimited text, such as CSV, which detects separator, header and encoding."""

from __future__ import annotations

import codecs
import csv as standard
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

import rosenblatt.engine as engine
from rosenblatt.errors import (
    BadCellError,
    DataError,
    FileRowError,
    Message,
    Parameter,
    UsageError,
    error_line,
)
from rosenblatt.read.columns import (
    MISSING,
    TYPES,
    convert_column,
    convert_to_fitting_types,
    find_types,
)
from rosenblatt.read.source import (
    HEAD,
    LONGEST_LINE,
    MOST_COLUMNS,
    Layout,
    Source,
    batch_bytes,
    check_names,
    number_columns,
    read_in_background,
    whole_lines,
)
from rosenblatt.text import plural

BLOCK = 4 << 20  # bytes of text per record batch
LINES = 64  # minimum number of lines per block, because each block costs time per column

SEPARATORS = (",", "\t", ";", "|")
BLANKS = " "
LIKE_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+|\d+,\d+)([eE][+-]?\d+)?\s*$"  # or a comma

AS_ASCII = bytes(min(byte, 127) for byte in range(256))  # to count cells in any encoding


@dataclass(frozen=True)
class Dialect:
    """Format of a delimited file; the separator " " means any number of blanks."""

    separator: str
    quote: str | None
    header: bool
    names: tuple[str, ...]
    encoding: str = "utf-8"
    decimal: str = "."
    line: int = 0  # length of the longest of the first lines, in bytes
    above: int = 0  # empty lines at the beginning

    @property
    def begin(self) -> int:
        """Number of lines before the first row of data."""
        return self.above + 1 if self.header else 0


def find_dialect(source: Any, layout: Layout) -> Dialect:
    """Return the dialect of a file or stream; detect the properties that `layout` does not give."""
    head = source.head()
    request = (layout.encoding, layout.separator, layout.header, layout.decimal, layout.names)
    # The result is cached, unless lines are very long.
    return (_detect_dialect if len(head) <= HEAD else _detect_dialect.__wrapped__)(
        source.name, head, request
    )


@functools.lru_cache(maxsize=1)
def _detect_dialect(name: str, head: bytes, request: tuple[Any, ...]) -> Dialect:
    encoding, separator, header, decimal, names = request
    encoding = encoding_of(head, encoding)
    text = head if encoding == "utf-8" else head.decode(encoding, "replace").encode()
    if not text.strip():
        raise DataError(f"{name} is empty.")
    cut = _detect_separator(text) if separator is None else SplitLines(text, separator)
    cells = cut.cells
    if cells is None:  # lines have different numbers of cells: use the first one alone
        check_names(name, number_columns(_count_cells(text, cut.separator, cut.quote)))
        line = next(part for part in text.splitlines() if part.strip())
        cells = split_cells(line + b"\n", cut.separator, cut.quote)
    if cells is None:
        cells = pa.table({"column 1": [line]})
    header = _has_header(cells) if header is None else header
    if header:
        names = _read_header(name, cells)
    elif names is None or len(names) != cells.num_columns:
        names = tuple(number_columns(cells.num_columns))
    # else the names are those of the training file; the target column may be absent
    longest = max(map(len, head.splitlines()))
    decimal = decimal or "."  # in columns of a known numeric type
    above = next(i for i, line in enumerate(text.splitlines()) if line.strip())
    return Dialect(cut.separator, cut.quote, header, names, encoding, decimal, longest, above)


def encoding_of(head: bytes, request: str | None) -> str:
    """Return the requested text encoding, or that of the byte-order mark.

    Examples
    --------
    >>> encoding_of(b"a,b", None), encoding_of(codecs.BOM_UTF16_LE, None), encoding_of(b"", "UTF8")
    ('utf-8', 'utf-16', 'utf-8')
    """
    if request is None:
        orders = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
        orders |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
        return next((name for mark, name in orders.items() if head.startswith(mark)), "utf-8")
    try:
        return codecs.lookup(request).name
    except LookupError:
        raise UsageError(
            Parameter("encoding", request),
            " is not a known text encoding; give a name such as utf-8 or latin-1.",
        ) from None


class SplitLines:
    """Lines of text, split into cells at a separator."""

    quote: str | None  # None if quotation marks are part of the text
    cells: Any  # a table of bytes; None if the lines have different numbers of cells

    def __init__(self, text: bytes, separator: str) -> None:
        self.separator, self.quote = separator, None if separator == BLANKS else '"'
        if separator == "\t" and b'"' in text:
            # Marks are quotes only if each cell that begins with a mark also ends with one.
            cells = split_cells(text, separator, None)
            for column in () if cells is None else cells.columns:
                begins = pc.match_substring_regex(column, '^"')
                ends = pc.match_substring_regex(column, '^".*"$')
                if pc.any(pc.and_not(begins, ends)).as_py():
                    self.quote = None
        self.cells = split_cells(text, separator, self.quote)
        self.columns = 0 if self.cells is None else int(self.cells.num_columns)


def _detect_separator(text: bytes) -> SplitLines:
    """Split lines at the separator that gives the most cells per line."""
    found = {s: SplitLines(text, s) for s in (*SEPARATORS, BLANKS)}
    decimals = [cut for cut in found.values() if cut.columns > 1 and _has_decimal_commas(cut)]
    if decimals:  # commas may split lines into as many cells
        return max(decimals, key=lambda cut: cut.columns)
    blanks = found.pop(BLANKS)
    best = max(found.values(), key=lambda cut: cut.columns)
    few = max(1, best.columns)
    if blanks.columns > few:
        below = [column[1:] for column in blanks.cells.columns]
        if few == 1 or (blanks.cells.num_rows > 1 and all(map(_all_numbers, below))):
            return blanks
    if best.columns > 1:
        return best
    # No separator fits every line: choose the most frequent one, for the error message.
    first = text[:4096]
    return found[max(SEPARATORS, key=lambda s: first.count(s.encode()))]


def _has_decimal_commas(cut: SplitLines) -> bool:
    """Check whether cells contain commas, and only within numbers."""
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


def split_cells(text: bytes, separator: str, quote: str | None) -> Any:
    """Split lines into a table of bytes, or return None if their cell counts differ."""
    names = number_columns(_count_cells(text, separator, quote))
    if len(names) > MOST_COLUMNS:
        return None
    try:
        dialect = Dialect(separator, quote, False, tuple(names))
        return parse(dialect, text, names, pa.binary(), newlines=True)
    except pa.ArrowInvalid:
        return None


def _count_cells(text: bytes, separator: str, quote: str | None) -> int:
    line = next(part for part in text.splitlines() if part.strip()).translate(AS_ASCII)
    line = squeeze_blanks(line) if separator == BLANKS else line
    delimiter = "\t" if separator == BLANKS else separator
    quoting: Any = standard.QUOTE_NONE if quote is None else standard.QUOTE_MINIMAL
    # Not with PyArrow, whose older versions crash when they count cells without reading them.
    cells = standard.reader([line.decode()], delimiter=delimiter, quotechar=quote, quoting=quoting)
    try:
        return len(next(cells))
    except standard.Error:  # a cell is too long for that module
        return line.count(delimiter.encode()) + 1


def _all_numbers(column: Any) -> bool:
    numbers = pc.match_substring_regex(column, LIKE_NUMBER)
    missing = pc.is_in(column, pa.array([m.encode() for m in MISSING]))
    return bool(pc.all(pc.or_(numbers, missing), min_count=0).as_py())


def _has_header(cells: Any) -> bool:
    """Check whether the first row holds column names.

    It does if it has text above a column of numbers, or words that do not recur below.
    """
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


def _read_header(source: str, cells: Any) -> tuple[str, ...]:
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
    check_names(f"{source}, header", names)
    return names


def squeeze_blanks(text: bytes) -> bytes:
    """Replace each run of blanks by a tab; remove blanks around lines."""
    text = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", text)
    return re.sub(rb"[ \t]+", b"\t", text)


def read_whole(source: Source, layout: Layout) -> Any:
    """Read a CSV file as a table; find the column types that `layout` does not give."""
    dialect = find_dialect(source, layout)
    table = pa.Table.from_batches(_parse_file(source, dialect, dialect.names))
    types = {name: layout.types[name] for name in dialect.names if name in layout.types}
    columns = _convert(table, types, dialect)
    unknown = [name for name in dialect.names if name not in types]

    def convert(some: slice) -> None:
        for name in unknown[some]:
            cells = table.column(name)
            columns[name] = next(convert_to_fitting_types(cells, TYPES, dialect.decimal))[1]

    engine.in_threads(convert, len(unknown), table.nbytes)
    return pa.Table.from_arrays([columns[name] for name in dialect.names], list(dialect.names))


def read_batches(source: Source, layout: Layout) -> Iterator[Any]:
    """Yield the rows of a CSV file in batches; columns without a type in `layout` are text."""
    dialect = find_dialect(source, layout)
    types = {name: layout.types.get(name, pa.string()) for name in dialect.names}
    done = 0
    for batch in _parse_file(source, dialect, dialect.names):
        columns = _convert(batch, types, dialect, done)
        yield pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
        done += batch.num_rows


def _convert(
    rows: Any, types: Mapping[str, Any], dialect: Dialect, start: int = 0
) -> dict[str, Any]:
    """Convert columns of text to `types`; raise BadCellError on the first row that does not fit."""
    columns, bad = {}, []
    for name, kind in types.items():
        try:
            columns[name] = convert_column(rows.column(name), kind, dialect.decimal, name)
        except BadCellError as error:
            error.row += start
            bad.append(error)
    if bad:
        raise min(bad, key=lambda cell: cell.row)
    return columns


def read_schema(source: Source, layout: Layout) -> Any:
    """Find the column names and types of a CSV file without keeping its rows."""
    dialect = find_dialect(source, layout)
    known = {name: layout.types[name] for name in dialect.names if name in layout.types}
    names = [name for name in dialect.names if name not in known]
    unconverted = replace(layout, types={**dict.fromkeys(names, pa.binary()), **known})
    batches = read_in_background(read_batches(source, unconverted))
    found = {**find_types(batches, names, dialect.decimal), **known}
    return pa.schema([(name, found[name]) for name in dialect.names])


def cell_text(source: Source, layout: Layout, row: int, column: str) -> str | None:
    """Return the text of a cell in a CSV file; rows are counted from 0."""
    for batch in _parse_file(source, find_dialect(source, layout), [column]):
        if row < batch.num_rows:
            return str(batch.column(0)[row].as_py().decode(errors="replace"))
        row -= batch.num_rows
    return None


def parse(
    dialect: Dialect,
    data: bytes,
    columns: Sequence[str],
    kind: Any,
    *,
    skip: int = 0,
    newlines: bool = False,
    **more: Any,
) -> Any:
    """Parse rows of text as a table of strings or bytes.

    Without `newlines`, each line is one row, even if a quoted cell continues on the next line.
    """
    data = squeeze_blanks(data) if dialect.separator == BLANKS else data
    return csv.read_csv(
        pa.BufferReader(data),
        csv.ReadOptions(
            column_names=list(dialect.names),
            skip_rows_after_names=skip,
            block_size=len(data) + 1,
            use_threads=False,
        ),
        csv.ParseOptions(
            delimiter="\t" if dialect.separator == BLANKS else dialect.separator,
            quote_char=dialect.quote or False,
            newlines_in_values=newlines,
            **more,
        ),
        csv.ConvertOptions(
            column_types=dict.fromkeys(columns, kind), include_columns=list(columns)
        ),
    )


def _parse_file(source: Source, dialect: Dialect, columns: Sequence[str]) -> Iterator[Any]:
    """Yield the given columns of a file in batches, as bytes."""
    size = LINES * dialect.line
    if size > BLOCK:  # larger than usual, if memory allows it
        size = min(size, 16 * batch_bytes())
    size = max(size, BLOCK)
    blocks, skip, done = source.text(size, dialect.encoding), dialect.begin, 0

    def cut(data: bytes) -> int:
        end = find_last_row(dialect, data)
        if not end and len(data) > 2 * LONGEST_LINE:  # a quoted cell over many lines
            longest = f"a row is longer than {LONGEST_LINE >> 20} MB"
            raise DataError(f"{source.name}: {longest}. Look for an unclosed quotation mark.")
        return end

    for data in whole_lines(blocks, cut):
        if not data.strip(b"\r\n"):
            continue
        try:
            table = parse(dialect, data, columns, pa.binary(), skip=skip, newlines=True)
        except pa.ArrowInvalid as error:
            if "columns, got" in str(error):
                raise _ragged_row_error(source, dialect, data, skip, done) from None
            raise DataError(f"{source.name} cannot be read: {error_line(error)}") from None
        cells = [column.combine_chunks() for column in table.columns]
        yield pa.RecordBatch.from_arrays(cells, table.column_names)
        done, skip = done + table.num_rows, 0


def find_last_row(dialect: Dialect, data: bytes) -> int:
    r"""Return how many bytes of `data` are complete rows; 0 if no row is complete.

    Examples
    --------
    >>> dialect = Dialect(",", '"', False, ("a", "b"))
    >>> find_last_row(dialect, b'1,2\n3,"4'), find_last_row(dialect, b'1,"\n')
    (4, 0)
    """
    newline = b"\n" if b"\n" in data else b"\r"
    end = data.rfind(newline)
    if dialect.quote and data.find(b'"', 0, max(end, 0)) >= 0:
        marks = find_quotes(data, dialect.separator)
        while end >= 0 and np.searchsorted(marks, end) % 2:
            end = data.rfind(newline, 0, end)
    return end + 1


def find_quotes(data: bytes, separator: str) -> Any:
    """Return the positions where quoted cells begin and end, alternately.

    An escaped mark counts as an end and a beginning. As in PyArrow, a mark opens a quoted cell only
    where a cell begins.
    """
    text = np.frombuffer(b"\n" + data, np.uint8)
    quotes = np.flatnonzero(text == ord('"'))
    opening = np.zeros(256, dtype=bool)
    opening[[ord(one) for one in ('"', separator, "\n", "\r")]] = True
    if opening[text[quotes[::2] - 1]].all():
        return quotes - 1
    # The mark comes first, which lets the search skip to it.
    cell = rb'"(?<![^%s\r\n]")[^"]*(?:""[^"]*)*(?:"|\Z)' % re.escape(separator).encode()
    return [place for found in re.finditer(cell, data) for place in found.span()]


def _ragged_row_error(
    source: Source, dialect: Dialect, data: bytes, skip: int, done: int
) -> DataError:
    """Return the error about the first row with too few or too many cells."""
    found: list[Any] = []

    def remember(row: Any) -> str:
        found.append(row)
        return "skip"

    # Bad rows come as text, and any bytes are text in latin-1.
    text, names = data.decode("latin-1").encode(), dialect.names
    how = {"newlines": True, "invalid_row_handler": remember}
    parse(dialect, text, names, pa.binary(), skip=skip, **how)  # type: ignore[arg-type]
    row = found[0]
    rest = Message(
        f": {plural(row.actual_columns, 'cell')} where the other rows have "
        f"{row.expected_columns}. Fix the row, or give ",
        Parameter("separator"),
        " if another character separates the cells.",
    )
    try:
        row.text.encode("latin-1").decode()
    except UnicodeDecodeError:
        advice = Parameter("encoding", "latin-1")
        rest = Message(rest, " It is not UTF-8 text: give ", advice, ", for example.")
    return FileRowError(source.name, done + row.number - skip, rest)
