"""JSON lines: one object a line, read by PyArrow in blocks of whole lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.json import ReadOptions, read_json

from rosenblatt.errors import DataError, FileRowError, one_line
from rosenblatt.read.source import Layout, Source, WholeLines
from rosenblatt.tables import DIGITS, first_changed, large
from rosenblatt.words import column_called

BLOCK = 4 << 20
BLANKS = b" \t\r\n"
NEWLINE = ord("\n")
WRITTEN = {"numbers": "as they are written"}
DEEPEST = 64  # objects and arrays in one another: parsers go down by calls, until a stack is full
TOO_DEEP = f"it is nested more than {DEEPEST} deep"
ONE_OBJECT = "Each line must be one JSON object."
TEXT = re.compile(rb'"(?:[^"\\\n]|\\[^\n])*"?')  # as far as its line goes


def unify(source: Source, batches: Iterable[Any]) -> Any:
    """The fields and types of all rows; fields that a line lacks are missing there."""
    schemas = list(dict.fromkeys(batch.schema for batch in batches))
    if not any(schema.names for schema in schemas):
        raise DataError(f"{source.name}: its objects are empty, so that there is no column.")
    written = {field.name for schema in schemas for field in schema if field.metadata}
    try:
        return pa.unify_schemas(
            [_written(schema, written) for schema in schemas], promote_options="permissive"
        )
    except pa.ArrowException as trouble:
        raise _disagreeing(source, trouble) from None


def conform(source: Source, batch: Any, schema: Any) -> Any:
    """A batch with all fields of all rows, in the types that they have there."""
    written = {field.name for field in schema if field.type == pa.string()}
    if batch.schema.names:  # casting no columns would lose the rows
        batch = batch.cast(_written(batch.schema, written))
    nothing = [pa.nulls(0, kind) for kind in schema.types]
    tables = [pa.Table.from_arrays(nothing, schema=schema), pa.Table.from_batches([batch])]
    try:
        table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    except pa.ArrowException as trouble:
        raise _disagreeing(source, trouble) from None
    return table.to_batches()[0]


def _written(schema: Any, names: set[str]) -> Any:
    """A schema with numbers as they are written in some columns: other lines have them so."""
    for i, field in enumerate(schema):
        if field.name in names and field.type in (pa.int64(), pa.float64()):
            schema = schema.set(i, pa.field(field.name, pa.string(), metadata=WRITTEN))
    return schema


def _disagreeing(source: Source, trouble: BaseException) -> DataError:
    return DataError(f"{source.name}: the lines do not agree: {one_line(trouble)}")


def read_batches(source: Source, layout: Layout) -> Iterator[Any]:
    """Record batches, each of a few megabytes of lines."""
    done = 0
    for lines in WholeLines(source.text(BLOCK)):
        lines = lines.replace(b"\r", b"\n")  # blank where an object is read, not allowed in a text
        if lines.strip(BLANKS):
            batch = _parsed(source, lines, done)
            yield batch
            done += batch.num_rows


def parse_alike(data: bytes, ends: NDArray[np.intp]) -> Any:
    """Lines as a table, a row each; None where they are not flat objects that agree.

    It is told where the lines end: in each an object begins and ends, and no other.
    """
    marks = np.frombuffer(data, dtype=np.uint8)
    for at in (np.flatnonzero(marks == mark) for mark in b"{}"):
        if len(at) != len(ends) or (at >= ends).any() or (at[1:] < ends[:-1]).any():
            return None
    if b"[" in data:
        return None
    try:
        data.decode()
        return _read(data)
    except (UnicodeDecodeError, pa.ArrowException):
        return None


def parse_object(line: bytes, parse_int: Callable[[str], Any] = int) -> dict[str, Any]:
    """Parse a line that is one JSON object; raise ValueError, which says why, where it is not.

    Examples
    --------
    >>> parse_object(b'{"a": 1}')
    {'a': 1}
    >>> parse_object(b"null")
    Traceback (most recent call last):
    ValueError: it is not a JSON object
    """
    if too_deep(line):
        raise ValueError(TOO_DEEP)
    try:
        found = json.loads(line.decode(), parse_int=parse_int)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except ValueError as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else one_line(error)[:-1]
        raise ValueError(f"it is not JSON ({why})") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return found


def _read(lines: bytes) -> Any:
    """Parse lines as a table with a row for each that is not blank; raise ArrowInvalid otherwise.

    PyArrow crashes on a null before the first object, takes other nulls as rows of missing values,
    and does not care where lines end. Where every line begins and ends with a brace no object goes
    on over the end of a line, and as many rows as lines are one in each.
    """
    rows = _count_braced(lines)
    if rows is None:
        raise pa.ArrowInvalid("a line is not an object")
    # One block and one thread, so that the row in a complaint is the row in these lines.
    options = ReadOptions(use_threads=False, block_size=len(lines) + 1)
    table = read_json(pa.BufferReader(lines), read_options=options)
    if table.num_rows != rows:
        raise pa.ArrowInvalid("a line holds several objects")
    return table


def _count_braced(lines: bytes) -> int | None:
    """Count the lines that are not blank; None where one does not begin with { and end with }."""
    text = lines.strip(BLANKS)
    ends = text.count(b"\n")
    if text[:1] + text[-1:] == b"{}" and text.count(b"}\n{") == ends:  # mostly, and soon known
        return ends + 1
    rows = _rows(lines)
    return len(rows) if all(row[:1] + row[-1:] == b"{}" for row in rows) else None


def too_deep(line: bytes) -> bool:
    """Whether the values of a line are nested deeper than can be parsed safely.

    Examples
    --------
    >>> too_deep(b"[" * 65), too_deep(b"[]" * 65), too_deep(b'{"a": "[[[[[[[["}')
    (True, False, False)
    """
    return line.count(b"[") + line.count(b"{") > DEEPEST and _is_too_deep(line)


def _is_too_deep(lines: bytes) -> bool:
    # Each text becomes one mark, so that brackets in it do not count.
    down, up = _brackets(np.frombuffer(TEXT.sub(b'"', lines), dtype=np.uint8))
    return bool((np.cumsum(down.astype(np.int32) - up) > DEEPEST).any())


def _brackets(marks: NDArray[np.uint8]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    opened = (marks == ord("[")) | (marks == ord("{"))
    return opened, (marks == ord("]")) | (marks == ord("}"))


def _surely_flat(lines: bytes) -> bool:
    """Whether brackets are too few for any depth, wherever in the lines they stand.

    A value may go on over many lines: nothing is deeper than the brackets of one line and those
    that other lines leave open.
    """
    marks = np.frombuffer(lines, dtype=np.uint8)
    ends = np.flatnonzero(marks == NEWLINE)
    opened, closed = (
        np.bincount(np.searchsorted(ends, np.flatnonzero(which)), minlength=len(ends) + 1)
        for which in _brackets(marks)
    )
    return bool(opened.max() + np.maximum(opened - closed, 0).sum() <= DEEPEST)


def _parsed(source: Source, lines: bytes, done: int) -> Any:
    try:
        if not _surely_flat(lines) and _is_too_deep(lines):
            raise pa.ArrowInvalid("a line is nested too deep")
        lines.decode()
        table = _unrounded(_read(lines), lines)
    except (UnicodeDecodeError, pa.ArrowException) as trouble:
        for row, line in enumerate(_rows(lines), done + 1):
            try:
                parse_object(line, _whole)
            except ValueError as bad:
                raise FileRowError(source.name, row, f": {bad}. {ONE_OBJECT}") from None
        raise _explained(source, trouble, done) from None
    return table.combine_chunks().to_batches()[0]


def _rows(lines: bytes) -> list[bytes]:
    return [line for part in lines.split(b"\n") if (line := part.strip(BLANKS))]


def _unrounded(table: Any, lines: bytes) -> Any:
    """The table, with a column as text where it would stand for other whole numbers."""
    for i, (name, kind) in enumerate(zip(table.column_names, table.schema.types, strict=True)):
        if not pa.types.is_float64(kind):
            continue
        numbers = table.column(i).to_numpy(zero_copy_only=False)
        if len(large(numbers)):
            cells = [parse_object(line, _whole).get(name) for line in _rows(lines)]
            if first_changed(np.array([*cells, None], dtype=object)[:-1], numbers) is not None:
                texts = [None if cell is None else str(cell) for cell in cells]
                field = pa.field(name, pa.string(), metadata=WRITTEN)
                table = table.set_column(i, field, pa.array(texts, pa.string()))
    return table


def _whole(text: str) -> int | float:
    return int(text) if len(text) <= DIGITS else float(text)  # which is not finite


def _explained(source: Source, trouble: BaseException, done: int) -> DataError:
    text = one_line(trouble).removeprefix("JSON parse error: ")
    row = re.search(r" in row (\d+)", text)
    field = re.search(r"Column\(/([^)]*)\) ", text)
    where = f", {column_called(field[1])}" if field else ""
    what = re.sub(r" in row \d+|Column\([^)]*\) ", "", text).rstrip(".")
    rest = f"{where}: {what}. {ONE_OBJECT}"
    if row is None:
        return DataError(f"{source.name}{rest}")
    return FileRowError(source.name, done + int(row[1]) + 1, rest)
