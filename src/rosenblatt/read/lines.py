"""Readers of JSON lines and LIBSVM, for files and for streams."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow.json import ReadOptions, read_json

from rosenblatt.errors import (
    BadCellError,
    DataError,
    FileRowError,
    UsageError,
    error_line,
    quote,
    with_column,
)
from rosenblatt.read.columns import convert, find_types, null_where, split_entries
from rosenblatt.read.encoding import interleave_columns
from rosenblatt.read.feed import Batch, Chunk, parse_by_halves, read_labels
from rosenblatt.read.source import Layout, Source, whole_lines
from rosenblatt.tables import DIGITS, LARGE, find_large, first_changed
from rosenblatt.text import join_words, quote_column

BLOCK = 4 << 20  # bytes that are parsed together
BLANKS = b" \t\r\n"
OPENING, CLOSING = np.frombuffer(b"[{", np.uint8), np.frombuffer(b"]}", np.uint8)
AS_TEXT = {"numbers": "as text"}  # metadata of columns whose numbers float64 cannot represent
MAX_DEPTH = 64  # of nested objects and arrays; parsers recurse, and the stack is limited
TOO_DEEP = f"it is nested more than {MAX_DEPTH} deep"
ONE_OBJECT = "Each line must be one JSON object."
JSON_STRING = re.compile(rb'"(?:[^"\\\n]|\\[^\n])*"?')  # ends with its line at the latest

# Lines of a stream.
FEW_LINES = 32  # fewer lines are parsed one by one
MANY_LINES = 1024  # if there are more, the first and the last lines are tried before all are parsed
JSON_LABELS = (pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.null())

LABEL, ENTRIES = "label", "entries"  # the columns of a LIBSVM file; entries stay text
LIBSVM_LINE = r"^(?:\+?(?P<label>[^\s:]+)(?:\s+|$))?(?:qid:\d+(?:\s+|$))?(?P<entries>.*)$"


def read_json_batches(source: Source, layout: Layout) -> Iterator[Any]:
    """Yield the rows of a JSON lines file in batches."""
    done = 0
    for lines in whole_lines(source.text(BLOCK)):
        # An end of a line is a blank between values, and an error inside a string.
        lines = lines.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not lines.strip(BLANKS):
            continue
        try:
            if is_too_deep(lines):
                raise pa.ArrowInvalid("a line is nested too deep")
            lines.decode()
            table = _keep_exact(_parse_json(lines), lines)
        except (UnicodeDecodeError, pa.ArrowException) as error:
            raise _bad_line_error(source.name, lines, done, error) from None
        yield table.combine_chunks().to_batches()[0]
        done += table.num_rows


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


def unify_json(source: Source, batches: Iterable[Any]) -> Any:
    """Return a schema that fits all batches of JSON lines."""
    schemas = list(dict.fromkeys(batch.schema for batch in batches))
    if not any(schema.names for schema in schemas):
        raise DataError(f"{source.name}: all objects are empty, so there are no columns.")
    as_text = {field.name for schema in schemas for field in schema if field.metadata}
    with _explain_types(source):
        return pa.unify_schemas(
            [_with_text(schema, as_text) for schema in schemas], promote_options="permissive"
        )


def conform_json(source: Source, batch: Any, schema: Any) -> Any:
    """Convert a batch of JSON lines to the schema of the file."""
    as_text = {field.name for field in schema if field.type == pa.string()}
    if batch.schema.names:  # casting no columns would lose the rows
        batch = batch.cast(_with_text(batch.schema, as_text))
    empty = pa.Table.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)
    with _explain_types(source):
        tables = [empty, pa.Table.from_batches([batch])]
        table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
        return table.to_batches()[0]


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


def _parse_json(lines: bytes) -> Any:
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
    options = ReadOptions(use_threads=False, block_size=len(lines) + 1)
    table = read_json(pa.BufferReader(lines), read_options=options)
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
    """Yield the labels and entries of a LIBSVM file in batches, as text."""
    done = 0
    for lines in whole_lines(source.text(BLOCK)):
        lines = lines.replace(b"\r", b"\n")
        try:
            batch = split_libsvm(lines)[0]
        except UnicodeDecodeError as bad:
            before = lines[: lines.rfind(b"\n", 0, bad.start) + 1]
            row = done + split_libsvm(before)[0].num_rows + 1
            raise FileRowError(source.name, row, ": not UTF-8 text.") from None
        if batch.num_rows:
            yield batch
            done += batch.num_rows


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


def unify_libsvm(source: Source, batches: Iterable[Any]) -> Any:
    """Return the schema of a LIBSVM file, whose labels are numeric if all of them are numbers."""
    labels = find_types(batches, [LABEL], kinds=(pa.int64(), pa.float64(), pa.string()))
    return pa.schema({**labels, ENTRIES: pa.string()})


def conform_libsvm(source: Source, batch: Any, schema: Any) -> Any:
    """Convert the labels of a LIBSVM batch to the type in the schema."""
    labels = convert(batch.column(LABEL), schema.field(LABEL).type)
    return pa.RecordBatch.from_arrays([labels, batch.column(ENTRIES)], schema=schema)


@dataclass(frozen=True)
class JsonFeed:
    """Reader of the rows of a stream of JSON lines; a null is a missing value."""

    target: str
    ignore: tuple[str, ...] = ()

    def read(self, chunk: Chunk) -> list[Batch]:
        """Return the rows of a chunk in batches; a batch that has only numbers is one array.

        A chunk with other values is split into halves, down to lines that are read one by one. All
        lines of a large chunk are read one by one if its first and last lines have other values.
        """
        n = chunk.count
        if n >= MANY_LINES:
            ends = chunk.split(FEW_LINES)[0], chunk.split(n - FEW_LINES)[1]
            if all(self._read_table(end) is None for end in ends):
                return [self.read_rows(chunk)]
        batch = self._read_table(chunk) if n >= FEW_LINES else None
        if batch is not None or n < 2 * FEW_LINES:
            return [batch or self.read_rows(chunk)]
        return [batch for half in chunk.split(n // 2) for batch in self.read(half)]

    def _read_table(self, chunk: Chunk) -> Batch | None:
        """Read lines as one array of numbers; return None if a value would be lost or changed."""
        # Every line is one flat object if exactly one object begins and ends in each line.
        data, ends = chunk.data, chunk.ends
        marks = np.frombuffer(data, dtype=np.uint8)
        for at in (np.flatnonzero(marks == mark) for mark in b"{}"):
            if len(at) != len(ends) or (at >= ends).any() or (at[1:] < ends[:-1]).any():
                return None
        if b"[" in data:
            return None
        try:
            data.decode()
            found = _parse_json(data)
        except (UnicodeDecodeError, pa.ArrowException):
            return None
        columns = {name: found.column(name).combine_chunks() for name in found.column_names}
        y = columns.pop(self.target, pa.nulls(chunk.count))
        # The first value decides the kind of a column, which is unknown until there is one.
        used = {n: v for n, v in columns.items() if n not in self.ignore and v.null_count < len(v)}
        if not used or y.type not in JSON_LABELS:
            return None
        if any(v.type not in (pa.int64(), pa.float64()) for v in used.values()):
            return None
        if y.type == pa.float64():  # as labels, the integer 1 and the float 1.0 differ
            keys = {json.dumps(self.target, ensure_ascii=how) for how in (False, True)}
            integer = rf"(?:{'|'.join(map(re.escape, keys))})\s*:\s*-?\d+\s*[,}}]"
            if re.search(integer.encode(), data):
                return None
        X, squares = interleave_columns([v.fill_null(0).to_numpy() for v in used.values()])
        if not squares < LARGE**2:  # a number may be too large, or rounded
            return None
        lines, names = np.arange(len(X)), tuple(used)
        return Batch(chunk, X, read_labels(y, str), lines, names, raw=True)

    def read_rows(self, chunk: Chunk) -> Batch:
        """Return the rows of a chunk, parsed line by line, and the reasons for bad lines."""
        rows, reasons = [], {}
        for at, line in enumerate(chunk.lines):
            if not line.strip():
                continue
            try:
                x = parse_object(line)
                y = x.pop(self.target, None)
                if isinstance(y, list | dict):
                    raise ValueError(f"{quote(y)} is not a label")
                row: dict[Hashable, Any] = {
                    name: v for name, v in x.items() if v is not None and name not in self.ignore
                }
                rows.append((at, row, y))
            except (ValueError, OverflowError) as error:
                reasons[at] = str(error)
        return Batch(chunk, raw=True).with_bad_lines(reasons, rows=rows)

    def check_target(self, some_lines: Iterable[bytes]) -> None:
        """Raise UsageError if no line has the target column."""
        keys: dict[str, None] = {}
        for line in some_lines:
            with suppress(ValueError):
                x = parse_object(line)
                if self.target in x:
                    return
                keys.update(dict.fromkeys(x))
        if keys:
            raise UsageError(
                with_column("target", self.target),
                f": there is no {quote_column(self.target)}; the columns are "
                f"{join_words(list(keys), most=8)}.",
            )


@dataclass(frozen=True)
class LibsvmFeed:
    """Reader of a LIBSVM stream; rows without a label are predicted but not trained on."""

    def read(self, chunk: Chunk) -> list[Batch]:
        """Read the rows of a chunk, with indices as the names of features."""
        reasons: dict[int, str] = {}
        parts = parse_by_halves(chunk, self._parse, reasons)
        rows = [(first + at, x, y) for first, part in parts for at, x, y in part]
        return [Batch(chunk).with_bad_lines(reasons, rows=rows)]

    def _parse(self, chunk: Chunk) -> list[tuple[int, dict[Hashable, Any], Any]]:
        batch, positions = split_libsvm(chunk.data)
        try:
            index, value, row, n = split_entries(batch.column(ENTRIES), ENTRIES)
        except BadCellError as error:
            raise ValueError(error.what) from None
        ends = np.cumsum(np.bincount(row, minlength=n)).tolist() if n else []
        labels = read_labels(batch.column(LABEL)).tolist() if n else []
        index, value = index.tolist(), value.tolist()
        return [
            (int(at), dict(zip(index[begin:end], value[begin:end], strict=True)), label)
            for at, begin, end, label in zip(positions, [0, *ends], ends, labels, strict=False)
        ]
