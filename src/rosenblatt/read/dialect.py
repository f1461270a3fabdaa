"""Dialect: separator, quoting and header of a delimited file, found by trying PyArrow on it."""

from __future__ import annotations

import codecs
import csv as standard
import io
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from rosenblatt.errors import DataError, UsageError
from rosenblatt.read.layout import Layout, numbered, twice
from rosenblatt.read.source import Source

SEPARATORS = (",", "\t", ";", "|")
BLANKS = " "
# What PyArrow takes as missing, and the question mark of the UCI collection.
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
    *("1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "?"),
)
LIKE_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+|\d+,\d+)([eE][+-]?\d+)?\s*$"  # commas too
NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"

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

    def parse_options(self, **more: Any) -> Any:
        """The dialect as PyArrow takes it."""
        separator = "\t" if self.separator == BLANKS else self.separator
        return csv.ParseOptions(
            delimiter=separator, quote_char=self.quote or False, newlines_in_values=True, **more
        )

    def read_options(self, **more: Any) -> Any:
        """Names are always given, so that none is guessed twice."""
        return csv.ReadOptions(
            column_names=list(self.names),
            skip_rows_after_names=int(self.header),
            encoding=self.encoding,
            **more,
        )


def find_dialect(source: Source, layout: Layout) -> Dialect:
    """Say how a file is written, from what a person said and from its first megabyte."""
    head = source.head()
    encoding = layout.encoding or _byte_order(head)
    text = _as_utf8(source, head, encoding)
    if not text.strip():
        raise DataError(f"{source.name} is empty.")
    cut = _cut(text) if layout.separator is None else _cut_by(text, layout.separator)
    cells = cut.cells
    if cells is None:
        cells = first_line(text, cut.separator, cut.quote)
    header = _has_header(cells) if layout.header is None else layout.header
    names = _names(source, cells, header, layout)
    longest = max(map(len, head.splitlines()))
    decimal = layout.decimal or "."  # of columns that are promised to be numbers
    return Dialect(cut.separator, cut.quote, header, names, encoding, decimal, longest)


def _byte_order(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8"


def _as_utf8(source: Source, head: bytes, encoding: str) -> bytes:
    try:
        codec = codecs.lookup(encoding)
    except LookupError:
        raise UsageError(f"--encoding {encoding} is not an encoding that is known.") from None
    head = head.removeprefix(codecs.BOM_UTF8)
    return head if codec.name == "utf-8" else head.decode(encoding, "replace").encode()


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
    options = {
        "parse_options": csv.ParseOptions(
            delimiter="\t" if separator == BLANKS else separator,
            quote_char=quote or False,
            newlines_in_values=True,
        )
    }
    try:
        names = numbered(_width(text, separator, quote))
        return csv.read_csv(
            pa.BufferReader(text),
            read_options=csv.ReadOptions(column_names=names, block_size=max(len(text), 1) + 1),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.binary())),
            **options,
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


def first_line(text: bytes, separator: str, quote: str | None) -> Any:
    """The cells of the first line that is not blank."""
    line = next(part for part in text.splitlines() if part.strip())
    if separator == BLANKS:
        line = squeezed(line)
    parse = csv.ParseOptions(
        delimiter="\t" if separator == BLANKS else separator, quote_char=quote or False
    )
    try:
        table = csv.read_csv(
            pa.BufferReader(line + b"\n"),
            read_options=csv.ReadOptions(autogenerate_column_names=True),
            parse_options=parse,
        )
    except pa.ArrowInvalid:
        return pa.table({"column 1": [line]})
    names = numbered(table.num_columns)
    return csv.read_csv(
        pa.BufferReader(line + b"\n"),
        read_options=csv.ReadOptions(column_names=names),
        parse_options=parse,
        convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.binary())),
    )


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


def _names(source: Source, cells: Any, header: bool, layout: Layout) -> tuple[str, ...]:
    count = cells.num_columns
    if not header:
        names = tuple(numbered(count))
        wished = layout.names
        # A file to be predicted may lack the column of answers.
        return wished if wished is not None and len(wished) == count else names
    firsts = [column[0].as_py() for column in cells.columns]
    try:
        names = tuple(first.decode().strip() for first in firsts)
    except UnicodeDecodeError:
        raise DataError(
            f"{source.name}, header: the names are not UTF-8 text. Give --encoding latin-1, say."
        ) from None
    names = tuple(name or f"column {i}" for i, name in enumerate(names, 1))
    again = twice(names)
    if again is not None:
        raise DataError(
            f'{source.name}, header: the name "{again}" comes twice. '
            "Give each column a name of its own."
        )
    return names


def squeezed(text: bytes) -> bytes:
    """Lines with one tab for each run of blanks, and none at their ends."""
    text = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", text)
    return re.sub(rb"[ \t]+", b"\t", text)


class Squeezed(io.RawIOBase):
    """A stream of bytes with its blanks squeezed, whole lines at a time."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.rest, self.ready = stream, b"", b""

    def readable(self) -> bool:
        """PyArrow asks."""
        return True

    def close(self) -> None:
        """Close the stream too."""
        if not self.closed:
            self.stream.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with squeezed bytes."""
        while not self.ready:
            block = self.stream.read(1 << 20)
            if not block:
                self.ready, self.rest = squeezed(self.rest), b""
                break
            lines, newline, self.rest = (self.rest + block).rpartition(b"\n")
            self.ready = squeezed(lines) + newline
        size = min(len(buffer), len(self.ready))
        buffer[:size], self.ready = self.ready[:size], self.ready[size:]
        return size
