"""Chunks of a stream, and the readers of their rows, labels and bad lines."""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rosenblatt.errors import (
    BadCellError,
    Message,
    Parameter,
    UsageError,
    error_line,
    quote,
    with_column,
)
from rosenblatt.read import csv
from rosenblatt.read.columns import (
    MISSING,
    NUMBER,
    STOP_WORDS,
    as_numbers,
    flatten,
    null_where,
    read_numbers,
    split_entries,
)
from rosenblatt.read.encoding import interleave_columns
from rosenblatt.read.lines import ENTRIES, LABEL, parse_json, parse_object, split_libsvm
from rosenblatt.rowformats import LONGEST_SQUARED
from rosenblatt.tables import LARGE, PROMISED, is_changed, is_changed_text, is_missing
from rosenblatt.text import join_words, plural, quote_column, shorten

Kinds = Mapping[str, str]  # column -> "number", "flag", "category" or "text"
T = TypeVar("T")

NEWLINE = ord("\n")
TOO_LARGE = "its numbers are too large; scale them first"
NOT_UTF8 = "it is not UTF-8 text"
LETTERS = 200  # maximum length of the reason why a line is bad
LONG = 4  # words: a first value with as many makes a text column, with fewer a category
FLAGS = {"true": 1.0, "false": 0.0}
IS_NUMBER = re.compile(NUMBER)
# Lines of JSON.
FEW_LINES = 32  # fewer lines are parsed one by one
MANY_LINES = 1024  # if there are more, the first and the last lines are tried before all are parsed
JSON_LABELS = (pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.null())
KIND_WORDS = {"category": "a category", "text": "words", "flag": "true or false"}


@dataclass(frozen=True)
class Place:
    """Position in a stream, as the number of bytes and lines before it."""

    bytes: int = 0
    lines: int = 0


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a stream and the place where they begin."""

    data: bytes
    begin: Place

    @functools.cached_property
    def count(self) -> int:
        """Number of lines; the last line of a stream may lack its newline."""
        newlines = np.count_nonzero(np.frombuffer(self.data, dtype=np.uint8) == NEWLINE)
        return int(newlines) + (not self.data.endswith(b"\n"))

    @property
    def end(self) -> Place:
        """Place where the next chunk begins."""
        return Place(self.begin.bytes + len(self.data), self.begin.lines + self.count)

    @functools.cached_property
    def lines(self) -> list[bytes]:
        """Lines without their newlines."""
        return self.data.split(b"\n")

    def line(self, at: int) -> bytes:
        """Return the line with index `at` in the chunk, including a newline."""
        return self.lines[at] + b"\n"

    @functools.cached_property
    def ends(self) -> NDArray[np.intp]:
        """Byte offset in the chunk of the end of each line, after its newline."""
        newlines = np.flatnonzero(np.frombuffer(self.data, dtype=np.uint8) == NEWLINE)
        last = () if self.data.endswith(b"\n") else (len(self.data),)
        return np.append(newlines + 1, last).astype(np.intp)

    def split(self, lines: int) -> tuple[Chunk, Chunk]:
        """Split the chunk into its first `lines` lines and the rest."""
        at = int(self.ends[lines - 1])
        first = Chunk(self.data[:at], self.begin)
        return first, Chunk(self.data[at:], first.end)


@dataclass(frozen=True, eq=False)
class RowChunk:
    """Rows of a Parquet file and the place where they begin."""

    batch: Any
    begin: Place

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self.batch.num_rows)

    @property
    def end(self) -> Place:
        """Place where the next rows begin."""
        return Place(0, self.begin.lines + self.count)

    def line(self, at: int) -> bytes:
        """Return the row with index `at` in the chunk, as a line of JSON."""
        row = self.batch.slice(at, 1).to_pylist()[0]
        return json.dumps(row, default=str).encode() + b"\n"

    def split(self, rows: int) -> tuple[RowChunk, RowChunk]:
        """Split the chunk into its first `rows` rows and the rest."""
        first = RowChunk(self.batch.slice(0, rows), self.begin)
        return first, RowChunk(self.batch.slice(rows), first.end)


# Kinds of the columns of a stream, decided from their first values.


def kind_of(value: Any) -> str | None:
    """Decide the kind of a column by its first value; return None if that is missing.

    Examples
    --------
    >>> kind_of(3), kind_of("3"), kind_of("red"), kind_of("see you at the station"), kind_of("")
    ('number', 'number', 'category', 'text', None)
    """
    if not isinstance(value, str):
        return None if value is None else "number"
    if value.strip() in MISSING:
        return None
    if IS_NUMBER.match(value):
        return "number"
    return "text" if len(value.split()) >= LONG else "category"


def encode_values(x: Mapping[Any, Any], kinds: Kinds) -> tuple[dict[str, Any], Kinds]:
    """Encode a row as features; also return the kinds of all columns so far.

    Examples
    --------
    >>> encode_values({"age": 30, "color": "red", "note": None}, {})
    ({'age': 30, 'color=red': 1.0}, {'age': 'number', 'color': 'category'})
    """
    if not x.keys() <= kinds.keys():
        new = {name: kind for name, v in x.items() if (kind := kind_of(v)) and name not in kinds}
        kinds = {**kinds, **new} if new else kinds
    row: dict[str, Any] = {}
    for name, value in x.items():
        kind = kinds.get(name)
        if kind == "number" and isinstance(value, str):
            if is_changed_text(value):
                raise ValueError(f"feature {quote(name)}: {shorten(value)} is not {PROMISED}")
            row[name] = float(value) if IS_NUMBER.match(value) else value  # other text is refused
        elif kind == "number":
            row[name] = value
        elif kind is not None:  # None: all values so far are missing
            row.update(encode_value(name, kind, value))
    return row, kinds


def encode_value(
    name: str, kind: str, value: Any, stop_words: Collection[str] = STOP_WORDS
) -> Iterator[tuple[str, float]]:
    """Yield the names and values of the features of a non-numeric value.

    Examples
    --------
    >>> dict(encode_value("color", "category", "red")), dict(encode_value("up", "flag", "True"))
    ({'color=red': 1.0}, {'up': 1.0})
    >>> dict(encode_value("note", "text", "Tea, and more tea"))
    {'note=tea': 2.0}
    """
    if isinstance(value, list | dict):
        raise ValueError(f"{quote(value)} is neither text nor a number")
    if isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, float) and value.is_integer():
        text = str(int(value))
    else:
        text = "" if value is None else str(value).strip()
    if not text:
        return
    if kind == "flag":
        if text.lower() not in FLAGS:
            raise ValueError(f'{quote_column(name)}: "{shorten(text)}" is neither true nor false')
        yield name, FLAGS[text.lower()]
    elif kind == "category":
        yield f"{name}={text}", 1.0
    else:
        for word, count in Counter(re.findall(r"\w+", text.lower())).items():
            if len(word) > 1 and word not in stop_words:
                yield f"{name}={word}", float(count)


def describe_kinds(kinds: Kinds) -> list[str | Message]:
    """Return notes for the user about the columns that are not numeric."""
    parts = []
    for kind, words in KIND_WORDS.items():
        names = [quote_column(name) for name, k in kinds.items() if k == kind]
        if names:
            parts.append(f"{join_words(names)} as {words}")
    if not parts:
        return []
    parameters = Parameter("number"), ", ", Parameter("category"), " and ", Parameter("text")
    guesses = f"guessed from the first value: {'; '.join(parts)}; "
    return [Message(guesses, *parameters, " override this.")]


# Rows, labels and bad lines of a chunk.


@dataclass(frozen=True)
class BadLine:
    """A line that cannot be used, and the reason."""

    number: int
    text: bytes
    why: str


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of a chunk, as an array or as dicts, and its bad lines."""

    chunk: Chunk | RowChunk
    X: Any = None  # None if the rows are not all numeric
    y: Any = None  # labels of X; None where missing
    lines: Any = None  # line of each row of X in the chunk, from 0
    names: tuple[Hashable, ...] = ()  # of the columns of X
    rows: list[tuple[int, dict[Hashable, Any], Any]] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)

    def with_bad_lines(self, reasons: Mapping[int, str], **changes: Any) -> Batch:
        """Return a copy with additional bad lines and changes to other fields."""
        begin = self.chunk.begin.lines
        bad = [
            BadLine(begin + at + 1, self.chunk.line(at), shorten(why.rstrip("."), LETTERS))
            for at, why in reasons.items()
        ]
        bad = sorted([*self.bad, *bad], key=lambda line: line.number)
        return replace(self, bad=bad, **changes)


def parse_by_halves(
    chunk: Chunk, parse: Callable[[Chunk], T], reasons: dict[int, str], at: int = 0
) -> Iterator[tuple[int, T]]:
    """Parse the lines of a chunk, except the lines that cannot be parsed.

    The chunk is halved repeatedly to find these. Yields the index of the first line of each parsed
    part, and the result; `reasons` maps the index of each bad line to the error.
    """
    try:
        yield at, parse(chunk)
        return
    except (ValueError, pa.ArrowException) as error:
        why = NOT_UTF8 if isinstance(error, UnicodeDecodeError) else error_line(error)
    if chunk.count > 1:
        half = chunk.count // 2
        first, second = chunk.split(half)
        yield from parse_by_halves(first, parse, reasons, at)
        yield from parse_by_halves(second, parse, reasons, at + half)
    elif chunk.data.strip():
        reasons[at] = why


def read_columns(
    feed: Any,
    batch: Batch,
    table: Any,
    positions: NDArray[np.intp],
    to_numbers: Callable[[Any], Any],
) -> Batch:
    """Add the rows of a table to a batch; rows with invalid cells become bad lines.

    Rows become an array if all features are numeric, else dicts. `to_numbers` converts a column to
    floats, with null where a cell is not a number.
    """
    names = tuple(name for name in feed.features if name not in feed.kinds)
    cells = {name: flatten(table.column(name)) for name in names}
    columns = [to_numbers(c).to_numpy(zero_copy_only=False) for c in cells.values()]
    X, squares = interleave_columns(columns) if names else (np.empty((table.num_rows, 0)), 0.0)
    y = read_labels(table.column(feed.target))
    reasons: dict[int, str] = {}
    good = np.ones(len(X), dtype=bool)
    if not squares < LARGE**2:  # a number is missing, infinite, too large or rounded
        with np.errstate(over="ignore", invalid="ignore"):
            good = np.einsum("ij,ij->i", X, X) < LONGEST_SQUARED
        for row, j in np.argwhere((np.abs(X) >= LARGE) & good[:, None]).tolist():
            cell = cells[names[j]][row].as_py()
            if is_changed(cell, float(X[row, j])):
                why = f"{quote_column(names[j])}: {shorten(str(cell))} is not {PROMISED}"
                reasons[int(positions[row])] = why
                good[row] = False
        for row in np.flatnonzero(~good).tolist():
            infinite = np.flatnonzero(~np.isfinite(X[row]))
            if len(infinite):
                name = names[int(infinite[0])]
                cell = cells[name][row].as_py()
                text = "" if cell is None else str(cell).strip()
                finite = np.isinf(X[row, infinite[0]]) or text in MISSING
                number = "a finite number" if finite else "a number"
                what = f'"{shorten(text)}" is not {number}' if text else "the value is missing"
                reasons[int(positions[row])] = f"{quote_column(name)}: {what}"
            else:
                reasons.setdefault(int(positions[row]), TOO_LARGE)
    if not feed.kinds:
        if not good.all():
            X, y, positions = X[good], y[good], positions[good]
        return batch.with_bad_lines(reasons, X=X, y=y, lines=positions, names=names)
    others = {name: table.column(name).to_pylist() for name in feed.kinds}
    labels, rows = y.tolist(), []
    for row in np.flatnonzero(good).tolist():
        numbers, at = dict(zip(names, X[row].tolist(), strict=True)), int(positions[row])
        try:
            x: dict[Hashable, Any] = {}
            for name in feed.features:
                if name in numbers:
                    x[name] = numbers[name]
                else:
                    x.update(encode_value(name, feed.kinds[name], others[name][row]))
            rows.append((at, x, None if is_missing(labels[row]) else labels[row]))
        except ValueError as error:
            reasons[at] = str(error)
    return batch.with_bad_lines(reasons, rows=rows)


def read_labels(column: Any, parse: Callable[[str], Any] | None = None) -> NDArray[Any]:
    """Convert a target column to an array of labels, None where one is missing.

    A missing label among numbers may be NaN. Text is converted by `parse`, by default to a number
    if it is one.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_signed_integer(column.type) and column.null_count == 0:
        return np.asarray(column.to_numpy(), dtype=np.int64)
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    parse = parse or parse_label
    labels = [parse(value) if isinstance(value, str) else value for value in values]
    codes = encoded.indices
    if codes.null_count or not labels:
        every = np.array([*labels, None], dtype=object)
        return np.asarray(every[codes.fill_null(len(labels)).to_numpy()])
    # NumPy would turn numbers that come together with text into text, and round large integers.
    uniform = len({isinstance(label, str) for label in labels}) == 1
    large = any(isinstance(label, int) and abs(label) >= LARGE for label in labels)
    array = np.array(labels) if uniform and not large else np.array(labels, dtype=object)
    return np.asarray(array[codes.to_numpy(zero_copy_only=False)])


def parse_label(text: str) -> Any:
    """Convert the text of a label to a number if it is one.

    Examples
    --------
    >>> parse_label("-1"), parse_label("0.5"), parse_label("spam")
    (-1, 0.5, 'spam')
    """
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


# Readers of a stream, one for each format.


@dataclass(frozen=True)
class CsvFeed:
    """Reader of the rows of a CSV stream."""

    names: tuple[str, ...]  # of all columns
    target: str
    features: tuple[str, ...]
    separator: str = ","
    quote: str | None = '"'
    decimal: str = "."
    kinds: Kinds = field(default_factory=dict)  # of the features that are not numeric

    def read(self, chunk: Chunk) -> list[Batch]:
        """Read the rows of a chunk, and find the lines that cannot be parsed."""
        reasons: dict[int, str] = {}
        tables = list(parse_by_halves(chunk, self.parse, reasons))
        batch = Batch(chunk).with_bad_lines(reasons)
        if not tables:
            return [batch]
        positions = np.concatenate([at + np.arange(table.num_rows) for at, table in tables])
        table = pa.concat_tables([table for _, table in tables])
        y = null_where(pc.utf8_trim_whitespace(flatten(table.column(self.target))), MISSING)
        table = table.set_column(table.num_columns - 1, self.target, y)
        to_numbers = functools.partial(read_numbers, decimal=self.decimal)
        return [read_columns(self, batch, table, positions, to_numbers)]

    def parse(self, chunk: Chunk) -> Any:
        """Parse lines as a table; raise ValueError unless each line is one row."""
        columns = list(dict.fromkeys([*self.features, self.target]))
        try:
            dialect = csv.Dialect(self.separator, self.quote, False, self.names)
            table = csv.parse(dialect, chunk.data, columns, pa.string())
        except pa.ArrowInvalid as error:
            text = str(error)
            if "UTF8" in text:
                raise ValueError(NOT_UTF8) from None
            length = re.search(r"Expected (\d+) columns, got (\d+)", text)
            if length is None:
                raise
            cells = plural(int(length[2]), "cell")
            raise ValueError(f"{cells} instead of {length[1]}") from None
        if table.num_rows != chunk.count:
            raise ValueError("it is not one row")
        return table


@dataclass(frozen=True)
class ArrowFeed:
    """Reader of a Parquet file that is processed as a stream of rows."""

    target: str
    features: tuple[str, ...]
    kinds: Kinds = field(default_factory=dict)  # of the features that are not numeric

    def read(self, chunk: RowChunk) -> list[Batch]:
        """Read the rows of a chunk as a single batch."""
        lines = np.arange(chunk.count)
        return [read_columns(self, Batch(chunk), chunk.batch, lines, as_numbers)]


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
            found = parse_json(data)
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
        return Batch(chunk, X, read_labels(y, str), lines, names)

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
        return Batch(chunk).with_bad_lines(reasons, rows=rows)

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
