"""Chunks of a stream, and their rows, labels and bad lines."""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rosenblatt.errors import Message, Parameter, error_line, quote
from rosenblatt.read.columns import MISSING, NUMBER, STOP_WORDS, flatten
from rosenblatt.read.encoding import interleave_columns
from rosenblatt.rowformats import LONGEST_SQUARED
from rosenblatt.tables import LARGE, PROMISED, is_changed, is_changed_text, is_missing
from rosenblatt.text import join_words, quote_column, shorten

Kinds = Mapping[str, str]  # column -> "number", "flag", "category" or "text"
T = TypeVar("T")

NEWLINE = ord("\n")
TOO_LARGE = "its numbers are too large; scale them first"
NOT_UTF8 = "it is not UTF-8 text"
LETTERS = 200  # maximum length of the reason why a line is bad
LONG = 4  # words: a first value with as many makes a text column, with fewer a category
FLAGS = {"true": 1.0, "false": 0.0}
IS_NUMBER = re.compile(NUMBER)
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


def encode_values(x: Mapping[str, Any], kinds: Kinds) -> tuple[dict[str, Any], Kinds]:
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
    raw: bool = False  # whether the kinds of the columns are still to be decided

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
