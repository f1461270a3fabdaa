"""Readers of JSON lines and LIBSVM."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import json as arrow_json

from rosenblatt.errors import DataError, FileRowError, error_line
from rosenblatt.read.columns import convert, find_types, null_where
from rosenblatt.read.source import Layout, Source, check_names, read_in_background, whole_lines
from rosenblatt.tables import DIGITS, find_large, first_changed
from rosenblatt.text import quote_column

BLOCK = 4 << 20  # bytes that are parsed together
BLANKS = b" \t\r\n"
OPENING, CLOSING = np.frombuffer(b"[{", np.uint8), np.frombuffer(b"]}", np.uint8)
AS_TEXT = {"numbers": "as text"}  # metadata of columns whose numbers float64 cannot represent
MAX_DEPTH = 64  # of nested objects and arrays; parsers recurse, and the stack is limited
TOO_DEEP = f"it is nested more than {MAX_DEPTH} deep"
ONE_OBJECT = "Each line must be one JSON object."
JSON_STRING = re.compile(rb'"(?:[^"\\\n]|\\[^\n])*"?')  # ends with its line at the latest

LABEL, ENTRIES = "label", "entries"  # the columns of a LIBSVM file; entries stay text
LIBSVM_LINE = r"^(?:\+?(?P<label>[^\s:]+)(?:\s+|$))?(?:qid:\d+(?:\s+|$))?(?P<entries>.*)$"


def _batches_of_lines(source: Source, parse: Callable[[bytes, int], Any]) -> Iterator[Any]:
    """Yield the rows of a text file in batches.

    `parse` makes a batch of whole lines; it also gets the number of rows before them.
    """
    done = 0
    for lines in whole_lines(source.text(BLOCK)):
        if not lines.strip(BLANKS):
            continue
        # An end of a line is a blank between values, and an error inside a string.
        batch = parse(lines.replace(b"\r\n", b"\n").replace(b"\r", b"\n"), done)
        if batch.num_rows:
            yield batch
            done += batch.num_rows
    if not done:
        raise DataError(f"{source.name} is empty.")


def read_json_batches(source: Source, layout: Layout) -> Iterator[Any]:
    """Yield the rows of a JSON lines file in batches; those in `layout` are types of all columns.

    Without types, each batch has the types of its own values.
    """

    def parse(lines: bytes, done: int) -> Any:
        try:
            if is_too_deep(lines):
                raise pa.ArrowInvalid("a line is nested too deep")
            lines.decode()
            table = _keep_exact(parse_json(lines), lines)
        except (UnicodeDecodeError, pa.ArrowException) as error:
            raise _bad_line_error(source.name, lines, done, error) from None
        return table.combine_chunks().to_batches()[0]

    schema = pa.schema(list(layout.types.items()))
    for batch in _batches_of_lines(source, parse):
        yield batch if not layout.types else _convert(source, [batch], schema).to_batches()[0]


def _bad_line_error(name: str, lines: bytes, done: int, error: Exception) -> DataError:
    """Return the error for lines that cannot be parsed, with the first bad row if known."""
    for row, line in enumerate(_non_blank(lines), done + 1):
        try:
            parse_object(line, _parse_int)
        except ValueError as bad:
            return FileRowError(name, row, f": {bad}. {ONE_OBJECT}")
    # Every line is a valid object, so PyArrow's message says which column differs.
    text = error_line(error).removeprefix("JSON parse error: ")
    number = re.search(r" in row (\d+)", text)
    field = re.search(r"Column\(/([^)]*)\) ", text)
    where = f", {quote_column(field[1])}" if field else ""
    what = re.sub(r" in row \d+|Column\([^)]*\) ", "", text).rstrip(".")
    rest = f"{where}: {what}. {ONE_OBJECT}"
    if number is None:
        return DataError(f"{name}{rest}")
    return FileRowError(name, done + int(number[1]) + 1, rest)


def read_json(source: Source, layout: Layout) -> Any:
    """Read a JSON lines file as a table."""
    batches = list(read_json_batches(source, Layout()))
    return _convert(source, batches, _unify(source, batches))


def read_json_schema(source: Source, layout: Layout) -> Any:
    """Find the column names and types of a JSON lines file without keeping its rows."""
    return _unify(source, read_in_background(read_json_batches(source, Layout())))


def _unify(source: Source, batches: Iterable[Any]) -> Any:
    """Return a schema that fits all batches."""
    schemas = list(dict.fromkeys(batch.schema for batch in batches))
    if not any(schema.names for schema in schemas):
        raise DataError(f"{source.name}: all objects are empty, so there are no columns.")
    as_text = {field.name for schema in schemas for field in schema if field.metadata}
    with _explain_types(source):
        found = pa.unify_schemas(
            [_with_text(schema, as_text) for schema in schemas], promote_options="permissive"
        )
    check_names(source.name, found.names)
    return found


def _convert(source: Source, batches: list[Any], schema: Any) -> Any:
    """Convert batches to a table with the given schema."""
    as_text, tables = {f.name for f in schema if f.type == pa.string()}, [schema.empty_table()]
    for batch in batches:
        if batch.schema.names:  # casting no columns would lose the rows
            batch = batch.cast(_with_text(batch.schema, as_text))
        tables.append(pa.Table.from_batches([batch]))
    with _explain_types(source):
        return pa.concat_tables(tables, promote_options="permissive").combine_chunks()


def _with_text(schema: Any, names: set[str]) -> Any:
    """Return the schema with the numeric columns in `names` changed to text."""
    for i, field in enumerate(schema):
        if field.name in names and field.type in (pa.int64(), pa.float64()):
            schema = schema.set(i, pa.field(field.name, pa.string(), metadata=AS_TEXT))
    return schema


@contextmanager
def _explain_types(source: Source) -> Iterator[None]:
    try:
        yield
    except pa.ArrowException as error:
        text = f"{source.name}: the lines have different types: {error_line(error)}"
        raise DataError(text) from None


def parse_object(line: bytes, parse_int: Callable[[str], Any] = int) -> dict[str, Any]:
    """Parse a line as one JSON object; raise ValueError if it is anything else.

    Examples
    --------
    >>> parse_object(b'{"a": 1}')
    {'a': 1}
    >>> parse_object(b"null")
    Traceback (most recent call last):
    ValueError: it is not a JSON object
    """
    if is_too_deep(line):
        raise ValueError(TOO_DEEP)
    try:
        found = json.loads(line.decode(), parse_int=parse_int)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except ValueError as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else error_line(error)[:-1]
        raise ValueError(f"it is not JSON ({why})") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return found


def parse_json(lines: bytes) -> Any:
    """Parse lines as a table; raise ArrowInvalid unless each is one object.

    PyArrow crashes on a null before the first object, reads other nulls as rows of missing values,
    and ignores the ends of lines. If every line begins and ends with a brace, no object extends
    over several lines; if there are also as many rows as lines, each line is one row.
    """
    text = lines.strip(BLANKS)
    rows = text.count(b"\n") + 1
    if text[:1] + text[-1:] != b"{}" or text.count(b"}\n{") != rows - 1:  # the quick test failed
        every = _non_blank(lines)
        if not all(row[:1] + row[-1:] == b"{}" for row in every):
            raise pa.ArrowInvalid("a line is not an object")
        rows = len(every)
    # One block and one thread, so that the row in an error is the row in these lines.
    options = arrow_json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
    table = arrow_json.read_json(pa.BufferReader(lines), read_options=options)
    if table.num_rows != rows:
        raise pa.ArrowInvalid("a line holds several objects")
    return table


def is_too_deep(lines: bytes) -> bool:
    """Check whether any line nests values too deeply to be parsed safely.

    Examples
    --------
    >>> is_too_deep(b"[" * 65), is_too_deep(b"[]" * 65), is_too_deep(b'{"a": "[[[[[[[["}')
    (True, False, False)
    """
    opened = lines.count(b"[") + lines.count(b"{")
    if opened - lines.count(b"}\n{") <= MAX_DEPTH:  # an object that follows another is no deeper
        return False
    # Each string becomes one character, so that brackets in it do not count.
    marks = np.frombuffer(JSON_STRING.sub(b'"', lines), dtype=np.uint8)
    depth = np.isin(marks, OPENING).astype(np.int32) - np.isin(marks, CLOSING)
    return bool((np.cumsum(depth) > MAX_DEPTH).any())


def _non_blank(lines: bytes) -> list[bytes]:
    return [line for part in lines.split(b"\n") if (line := part.strip(BLANKS))]


def _keep_exact(table: Any, lines: bytes) -> Any:
    """Read columns as text if float64 would round their integers."""
    for i, (name, kind) in enumerate(zip(table.column_names, table.schema.types, strict=True)):
        if not pa.types.is_float64(kind):
            continue
        numbers = table.column(i).to_numpy(zero_copy_only=False)
        if len(find_large(numbers)):
            cells = [parse_object(line, _parse_int).get(name) for line in _non_blank(lines)]
            if first_changed(np.array([*cells, None], dtype=object)[:-1], numbers) is not None:
                texts = [None if cell is None else str(cell) for cell in cells]
                field = pa.field(name, pa.string(), metadata=AS_TEXT)
                table = table.set_column(i, field, pa.array(texts, pa.string()))
    return table


def _parse_int(text: str) -> int | float:
    return int(text) if len(text) <= DIGITS else float(text)  # which is infinite


def read_libsvm_batches(source: Source, layout: Layout) -> Iterator[Any]:
    """Yield the labels and entries of a LIBSVM file in batches, as text.

    Labels get the type that `layout` gives for them.
    """

    def parse(lines: bytes, done: int) -> Any:
        try:
            return split_libsvm(lines)[0]
        except UnicodeDecodeError as bad:
            before = lines[: lines.rfind(b"\n", 0, bad.start) + 1]
            row = done + split_libsvm(before)[0].num_rows + 1
            raise FileRowError(source.name, row, ": not UTF-8 text.") from None

    kind = layout.types.get(LABEL, pa.string())
    for batch in _batches_of_lines(source, parse):
        yield batch.set_column(0, LABEL, convert(batch.column(LABEL), kind))


def split_libsvm(data: bytes) -> tuple[Any, NDArray[np.intp]]:
    """Split LIBSVM lines into labels and entries; also return the line number of each row.

    Lines are counted from 0. The label is null where it is missing or a question mark. Comments and
    blank lines are not rows.
    """
    text = data.decode()
    lines = pa.array(text.split("\n"))
    if "#" in text:
        lines = pc.replace_substring_regex(lines, r"#.*$", "")
    lines = pc.utf8_trim_whitespace(lines)
    rows = np.flatnonzero(pc.not_equal(lines, "").to_numpy(zero_copy_only=False))
    found = pc.extract_regex(lines.take(pa.array(rows)), LIBSVM_LINE)
    label = null_where(found.field("label"), ("", "?", "+"))
    return pa.RecordBatch.from_arrays([label, found.field("entries")], [LABEL, ENTRIES]), rows


def read_libsvm_schema(source: Source, layout: Layout) -> Any:
    """Find the type of the labels of a LIBSVM file, numeric if all of them are numbers."""
    batches = read_in_background(read_libsvm_batches(source, Layout()))
    labels = find_types(batches, [LABEL], kinds=(pa.int64(), pa.float64(), pa.string()))
    return pa.schema({**labels, ENTRIES: pa.string()})


def read_libsvm(source: Source, layout: Layout) -> Any:
    """Read a LIBSVM file as a table of labels and entries, which stay text."""
    table = pa.Table.from_batches(read_libsvm_batches(source, Layout()))
    labels = find_types([table], [LABEL], kinds=(pa.int64(), pa.float64(), pa.string()))
    return table.set_column(0, LABEL, convert(table.column(LABEL), labels[LABEL]))
