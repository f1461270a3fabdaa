"""Delimited text (CSV, TSV, blanks): PyArrow reads it, this says how and what went wrong."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyarrow import csv

from rosenblatt.errors import BadCellError, DataError
from rosenblatt.read.ahead import ahead
from rosenblatt.read.dialect import BLANKS, MISSING, Dialect, Squeezed, find_dialect
from rosenblatt.read.free import batch_bytes
from rosenblatt.read.layout import Layout
from rosenblatt.read.source import UNREADABLE, Source, one_line
from rosenblatt.read.types import Types, rounds
from rosenblatt.wholes import large
from rosenblatt.words import counted

BLOCK = 4 << 20  # bytes of text in a record batch
WHOLE_BLOCK = 1 << 20  # where threads parse blocks side by side
LONGEST_BLOCK = (1 << 31) - 1  # that PyArrow takes
LINES = 64  # in a block at the least: each one costs a little for every column


def read_whole(source: Source, layout: Layout) -> Any:
    """All rows, each column with the type that fits all of its cells.

    Parameters
    ----------
    source : Source
        The file.
    layout : Layout
        What is known of it; `types` are kept, the other types are detected.
    """
    dialect = find_dialect(source, layout)
    try:
        with _text(source, dialect) as stream:
            table = csv.read_csv(
                stream,
                dialect.read_options(block_size=_block(dialect, WHOLE_BLOCK)),
                dialect.parse_options(),
                _convert(dialect, layout.types),
            )
        return _unrounded(table, lambda name: _column_as_text(source, dialect, name))
    except UNREADABLE as trouble:
        _find_bad_cell(source, dialect, layout.types, 0)
        raise _explained(source, dialect, trouble) from None


def read_stream(source: Source, layout: Layout) -> Iterator[Any]:
    """Record batches; columns without a known type stay text."""
    dialect = find_dialect(source, layout)
    types = {name: layout.types.get(name, pa.string()) for name in dialect.names}
    done = 0
    try:
        with _text(source, dialect) as stream:
            reader = csv.open_csv(
                stream,
                dialect.read_options(block_size=_block(dialect, BLOCK), use_threads=False),
                dialect.parse_options(),
                _convert(dialect, types),
            )
            written = _Written(source, dialect)
            for number, batch in enumerate(reader):
                yield _unrounded(batch, functools.partial(written.column, number))
                done += batch.num_rows
    except UNREADABLE as trouble:
        _find_bad_cell(source, dialect, types, done)
        raise _explained(source, dialect, trouble) from None


def read_schema(source: Source, layout: Layout) -> Any:
    """The columns and types of all rows, as `read_whole` has them, in little memory."""
    dialect = find_dialect(source, layout)
    known = _there(dialect, layout.types)
    types = Types([name for name in dialect.names if name not in known], _cells(dialect))
    as_bytes = dict.fromkeys(types.fitting, pa.binary())
    for batch in ahead(read_stream(source, replace(layout, types={**as_bytes, **known}))):
        types.add(batch)
    found = {**types.found(), **known}
    return pa.schema([(name, found[name]) for name in dialect.names])


def _unrounded(rows: Any, written: Callable[[str], Any]) -> Any:
    """Rows in which doubles stand for no other whole numbers than were written.

    Where some would, the column is as it is written, and whoever takes it as numbers can tell
    which cell it is; `written` gives the text of a column.
    """
    for i, (name, kind) in enumerate(zip(rows.schema.names, rows.schema.types, strict=True)):
        if pa.types.is_float64(kind):
            parts = rows.column(i).chunks if isinstance(rows, pa.Table) else [rows.column(i)]
            if any(len(large(part.to_numpy(zero_copy_only=False))) for part in parts):
                texts = written(name)
                if rounds(texts):
                    rows = rows.set_column(i, pa.field(name, pa.string()), texts)
    return rows


class _Written:
    """The text of columns, batch by batch, beside a reader of the same blocks."""

    def __init__(self, source: Source, dialect: Dialect) -> None:
        self.source, self.dialect = source, dialect
        self.readers: dict[str, Iterator[tuple[int, Any]]] = {}

    def column(self, number: int, name: str) -> Any:
        """The text of a column in the batch of that number; numbers only go up."""
        if name not in self.readers:
            self.readers[name] = enumerate(_as_text(self.source, self.dialect, (name,)))
        return next(batch.column(0) for at, batch in self.readers[name] if at == number)


def _column_as_text(source: Source, dialect: Dialect, name: str) -> Any:
    batches = _as_text(source, dialect, (name,))
    return pa.chunked_array([batch.column(0) for batch in batches], pa.string())


def cell_text(source: Source, layout: Layout, row: int, column: str) -> str | None:
    """A cell as it is written, row counted from 0."""
    dialect = find_dialect(source, layout)
    for batch in _as_text(source, dialect, (column,)):
        if row < batch.num_rows:
            return str(batch.column(0)[row].as_py())
        row -= batch.num_rows
    return None


def _block(dialect: Dialect, usual: int) -> int:
    """The bytes of a block: more than usual where lines are long, as far as memory allows."""
    many = min(LINES * dialect.line, 16 * batch_bytes())
    return min(max(usual, many, 2 * dialect.line), LONGEST_BLOCK)


def _text(source: Source, dialect: Dialect) -> Any:
    stream = source.open()
    return pa.PythonFile(Squeezed(stream), "r") if dialect.separator == BLANKS else stream


def _convert(dialect: Dialect, types: Any, **more: Any) -> Any:
    return csv.ConvertOptions(
        column_types=_there(dialect, types),
        **_cells(dialect),
        **more,
    )


def _there(dialect: Dialect, types: Any) -> dict[str, Any]:
    """The types of columns that a file has."""
    names = set(dialect.names)
    return {name: kind for name, kind in types.items() if name in names}


def _cells(dialect: Dialect) -> dict[str, Any]:
    """How cells are converted, whatever the type."""
    return {
        "null_values": list(MISSING),
        "strings_can_be_null": False,
        "decimal_point": dialect.decimal,
    }


def _as_text(source: Source, dialect: Dialect, columns: tuple[str, ...]) -> Iterator[Any]:
    types = dict.fromkeys(columns, pa.string())
    with _text(source, dialect) as stream:
        yield from csv.open_csv(
            stream,
            dialect.read_options(block_size=_block(dialect, BLOCK), use_threads=False),
            dialect.parse_options(),
            _convert(dialect, types, include_columns=list(columns)),
        )


def _find_bad_cell(source: Source, dialect: Dialect, types: Any, done: int) -> None:
    """Raise BadCellError for the first cell after `done` rows that is not of its promised type."""
    as_they_are = (pa.string(), pa.binary())
    promised = [n for n in dialect.names if n in types and types[n] not in as_they_are]
    if not promised:
        return
    try:
        start = 0
        for batch in _as_text(source, dialect, tuple(promised)):
            if start + batch.num_rows > done:
                bad = [_bad_cell(batch.column(n), types[n], n, start) for n in promised]
                first = min(filter(None, bad), key=lambda cell: cell.row, default=None)
                if first is not None:
                    raise first
            start += batch.num_rows
    except UNREADABLE:
        return


def _bad_cell(cells: Any, kind: Any, name: str, start: int) -> BadCellError | None:
    try:
        cells.cast(kind)
    except pa.ArrowInvalid:
        for n, cell in enumerate(cells):
            text = cell.as_py().strip()
            try:
                text in MISSING or pa.scalar(text).cast(kind)
            except pa.ArrowInvalid:
                return BadCellError(start + n, name, text)
    return None


def _explained(source: Source, dialect: Dialect, trouble: BaseException) -> DataError:
    """Turn PyArrow's complaint into a sentence with the row, found by reading again."""
    if isinstance(trouble, MemoryError):  # PyArrow's own is both
        raise trouble
    text = str(trouble)
    if dialect.encoding == "utf-8":
        line = source.first_undecodable()
        if line is not None:
            return not_utf8(source.name, line - dialect.header)
    if "Expected" in text and "columns, got" in text:
        return _ragged(source, dialect)
    if isinstance(trouble, UnicodeError):
        return DataError(f"{source.name} is not text in the encoding {dialect.encoding}.")
    if "straddling" in text:
        return DataError(f"{source.name}: a line is longer than can be read.")
    return DataError(f"{source.name} cannot be read: {one_line(trouble)}")


def _ragged(source: Source, dialect: Dialect) -> DataError:
    found: list[Any] = []

    def remember(row: Any) -> str:
        found.append(row)
        return "skip"

    options = dialect.parse_options(invalid_row_handler=remember)
    try:
        with _text(source, dialect) as stream:
            csv.read_csv(stream, dialect.read_options(use_threads=False), options)
    except UNREADABLE:
        pass
    if not found:
        return DataError(f"{source.name}: not all rows have the same number of cells.")
    number = found[0].number
    where = f", row {number - dialect.header}" if number else ""
    return DataError(
        f"{source.name}{where}: {counted(found[0].actual_columns, 'cell')} where the other rows "
        f"have {found[0].expected_columns}. Mend the row, or give --separator if another is meant."
    )


def not_utf8(name: str, row: int | None = None, column: str | None = None) -> DataError:
    """Say that a file has bytes that are not UTF-8 text, rows counted from 0."""
    where = "" if row is None or row < 0 else f", row {row + 1}"
    where += "" if column is None else f", {column}"
    return DataError(f"{name}{where}: not UTF-8 text. Give --encoding latin-1, say.")
