"""Turn lines of a stream into rows and labels; lines that cannot be used are set aside."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rosenblatt.errors import BadCellError, UsageError, error_line, quote
from rosenblatt.messages import Message, Parameter, with_column
from rosenblatt.read import csv, lines
from rosenblatt.read.chunks import Chunk, LineStream, Place, RowChunk, RowStream
from rosenblatt.read.columns import (
    NUMBER,
    Vocabulary,
    as_numbers,
    flatten,
    is_moment,
    is_text,
    null_where,
    split_entries,
)
from rosenblatt.read.csv import Dialect
from rosenblatt.read.encoding import interleave_columns
from rosenblatt.read.plan import (
    USUAL_TARGETS,
    ColumnOptions,
    check_readable,
    find_column,
    find_columns,
    requested_kinds,
)
from rosenblatt.read.source import Layout, format_of
from rosenblatt.read.types import MISSING, read_numbers
from rosenblatt.scoring import LONGEST_SQUARED
from rosenblatt.tables import LARGE, PROMISED, is_changed, is_changed_text, is_missing
from rosenblatt.text import join_words, plural, quote_column, shorten

Kinds = Mapping[str, str]  # column -> "number", "flag", "category" or "text"
T = TypeVar("T")

TOO_LARGE = "its numbers are too large; scale them first"
NOT_UTF8 = "it is not UTF-8 text"
LETTERS = 200  # maximum length of a reason
FIRST_LINES = 1000  # searched for a first value of each column
FEW_LINES = 32  # fewer lines are parsed one by one
MANY_LINES = 1024  # of more lines the first and the last are tried before all are parsed
JSON_LABELS = (pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.null())
LONG = 4  # words: a first value with as many makes a text column, with fewer a category
FLAGS = {"true": 1.0, "false": 0.0}
IS_NUMBER = re.compile(NUMBER)
VOCABULARY = Vocabulary()
KIND_WORDS = {"category": "a category", "text": "words", "flag": "true or false"}


# What the columns of a stream are, decided from their first values.


def kind_of(value: Any) -> str | None:
    """Return the kind of a column that has this first value; None for a missing value.

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
    """Encode a row of values as features; return the kinds with those of new columns, too.

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
        elif kind is not None:  # else there has been no value so far
            row.update(encode_value(name, kind, value))
    return row, kinds


def encode_value(name: str, kind: str, value: Any) -> Iterator[tuple[str, float]]:
    """Yield the features of a value in a column that is not numeric; none if it is missing.

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
            if len(word) > 1 and word not in VOCABULARY.stop_words:
                yield f"{name}={word}", float(count)


def describe_kinds(kinds: Kinds) -> list[str | Message]:
    """Return a sentence that names the columns that are not numeric, if there are any."""
    parts = []
    for kind, words in KIND_WORDS.items():
        names = [quote_column(name) for name, k in kinds.items() if k == kind]
        if names:
            parts.append(f"{join_words(names)} as {words}")
    if not parts:
        return []
    parameters = Parameter("number"), ", ", Parameter("category"), " and ", Parameter("text")
    judged = f"judged by the first value: {'; '.join(parts)}; "
    return [Message(judged, *parameters, " choose otherwise.")]


# Rows, labels and bad lines of a chunk.


@dataclass(frozen=True)
class BadLine:
    """A line that cannot be used, and the reason."""

    number: int
    text: bytes
    why: str


@dataclass(frozen=True, eq=False)
class Table:
    """Numeric rows with their labels (None where missing) and their lines, counted from 0."""

    X: NDArray[np.float64]
    y: Any
    lines: NDArray[np.intp]

    def select(self, rows: NDArray[np.bool_]) -> Table:
        """Return some of the rows."""
        return Table(self.X[rows], self.y[rows], self.lines[rows])


@dataclass(frozen=True, eq=False)
class Batch:
    """Content of a chunk of lines: a table or rows of named features, and bad lines."""

    chunk: Chunk | RowChunk
    table: Table | None = None
    rows: list[tuple[int, dict[Hashable, Any], Any]] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)
    names: tuple[Hashable, ...] = ()
    raw: bool = False  # whether the kinds of the columns are still to be decided

    def without(self, reasons: Mapping[int, str], **changes: Any) -> Batch:
        """Set lines of the chunk aside, by their number from 0; replace other fields."""
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
    """Parse lines together, or each half of them where that fails, until bad lines are alone.

    Yields the first line of each part and what was parsed; `reasons` collects the bad lines.
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


# Each format of a stream; the fields are what a checkpoint stores.


@dataclass(frozen=True)
class JsonFeed:
    """JSON lines: one object per line; a null is a missing value."""

    target: str
    ignore: tuple[str, ...] = ()

    def read(self, chunk: Chunk) -> list[Batch]:
        """Read uniform lines together, found by halves, and the others one by one.

        Many lines are read one by one if neither the first nor the last are uniform.
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
        """Read lines as a table of numbers and labels; return None if they may be anything else."""
        found = lines.parse_uniform(chunk.data, chunk.ends)
        if found is None:
            return None
        columns = {name: found.column(name).combine_chunks() for name in found.column_names}
        y = columns.pop(self.target, pa.nulls(chunk.count))
        # The first value decides what a column is: one without any value is not known yet.
        used = {n: v for n, v in columns.items() if n not in self.ignore and v.null_count < len(v)}
        if not used or y.type not in JSON_LABELS:
            return None
        if any(v.type not in (pa.int64(), pa.float64()) for v in used.values()):
            return None
        if y.type == pa.float64():  # integers among them are other labels: 1 is not 1.0
            keys = {json.dumps(self.target, ensure_ascii=how) for how in (False, True)}
            integer = rf"(?:{'|'.join(map(re.escape, keys))})\s*:\s*-?\d+\s*[,}}]"
            if re.search(integer.encode(), chunk.data):
                return None
        X, squares = interleave_columns([v.fill_null(0).to_numpy() for v in used.values()])
        if not squares < LARGE**2:  # a number may be too large, or rounded
            return None
        if y.null_count:
            labels = np.array(y.to_pylist(), dtype=object)
        elif pa.types.is_string(y.type):
            coded = y.dictionary_encode()
            labels = np.array(coded.dictionary.to_pylist())[coded.indices.to_numpy()]
        else:
            labels = y.to_numpy(zero_copy_only=False)
        table = Table(X, labels, np.arange(len(X)))
        return Batch(chunk, table, names=tuple(used), raw=True)

    def read_rows(self, chunk: Chunk) -> Batch:
        """Read the rows of a chunk one by one."""
        rows, reasons = [], {}
        for at, line in enumerate(chunk.lines):
            if not line.strip():
                continue
            try:
                x = lines.parse_object(line)
                y = x.pop(self.target, None)
                if isinstance(y, list | dict):
                    raise ValueError(f"{quote(y)} is not a label")
                row: dict[Hashable, Any] = {
                    name: v for name, v in x.items() if v is not None and name not in self.ignore
                }
                rows.append((at, row, y))
            except (ValueError, OverflowError) as error:
                reasons[at] = str(error)
        return Batch(chunk, raw=True).without(reasons, rows=rows)

    def check_target(self, some_lines: Iterable[bytes]) -> None:
        """Raise UsageError, which names the keys, if no line has the target."""
        keys: dict[str, None] = {}
        for line in some_lines:
            with suppress(ValueError):
                x = lines.parse_object(line)
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
    """LIBSVM lines: a label, then index:value; a missing label or ? only asks for a prediction."""

    def read(self, chunk: Chunk) -> list[Batch]:
        """Read the rows of a chunk, features named by their index."""
        rows: list[tuple[int, dict[Hashable, Any], Any]] = []
        reasons: dict[int, str] = {}
        for _, part in parse_by_halves(chunk, self._parse, reasons):
            rows += part
        first = chunk.begin.lines
        rows = [(at - first, x, y) for at, x, y in rows]
        return [Batch(chunk).without(reasons, rows=rows)]

    def _parse(self, chunk: Chunk) -> list[tuple[int, dict[Hashable, Any], Any]]:
        batch, positions = lines.split_libsvm(chunk.data)
        try:
            index, value, row, n = split_entries(batch.column(lines.ENTRIES), lines.ENTRIES)
        except BadCellError as error:
            raise ValueError(error.what) from None
        ends = np.cumsum(np.bincount(row, minlength=n)).tolist() if n else []
        labels = labels_of(batch.column(lines.LABEL)).tolist() if n else []
        index, value = index.tolist(), value.tolist()
        return [
            (
                chunk.begin.lines + int(at),
                dict(zip(index[begin:end], value[begin:end], strict=True)),
                label,
            )
            for at, begin, end, label in zip(positions, [0, *ends], ends, labels, strict=False)
        ]


@dataclass(frozen=True)
class CsvFeed:
    """Delimited lines with a label in each, parsed by PyArrow a chunk at a time."""

    names: tuple[str, ...]  # of all columns
    target: str
    features: tuple[str, ...]
    separator: str = ","
    quote: str | None = '"'
    decimal: str = "."
    kinds: Kinds = field(default_factory=dict)  # of the features that are not numeric

    def read(self, chunk: Chunk) -> list[Batch]:
        """Read the rows of a chunk; bad lines are found by halves."""
        reasons: dict[int, str] = {}
        tables = list(parse_by_halves(chunk, self.parse, reasons))
        batch = Batch(chunk).without(reasons)
        if not tables:
            return [batch]
        positions = np.concatenate([at + np.arange(table.num_rows) for at, table in tables])
        table = pa.concat_tables([table for _, table in tables])
        y = null_where(pc.utf8_trim_whitespace(flatten(table.column(self.target))), MISSING)
        table = table.set_column(table.num_columns - 1, self.target, y)
        return [_read_columns(self, batch, table, positions)]

    def parse(self, chunk: Chunk) -> Any:
        """Parse lines as a table of text; raise ValueError unless each line is one row."""
        columns = list(dict.fromkeys([*self.features, self.target]))
        try:
            dialect = Dialect(self.separator, self.quote, False, self.names)
            table = csv.parse(dialect, chunk.data, columns, pa.string())
        except pa.ArrowInvalid as error:
            text = str(error)
            if "UTF8" in text:
                raise ValueError(NOT_UTF8) from None
            length = re.search(r"Expected (\d+) columns, got (\d+)", text)
            if length is None:
                raise
            cells = plural(int(length[2]), "cell")
            raise ValueError(f"it has {cells}, not {length[1]}") from None
        if table.num_rows != chunk.count:
            raise ValueError("it is not one row")
        return table

    def to_numbers(self, cells: Any) -> Any:
        """Convert a column of text to doubles; null where a cell is not a number."""
        return read_numbers(cells, self.decimal)


@dataclass(frozen=True)
class ArrowFeed:
    """Rows of a Parquet file."""

    target: str
    features: tuple[str, ...]
    kinds: Kinds = field(default_factory=dict)  # of the features that are not numeric

    def read(self, chunk: RowChunk) -> list[Batch]:
        """Read the rows of a batch."""
        return [_read_columns(self, Batch(chunk), chunk.batch, np.arange(chunk.count))]

    def to_numbers(self, cells: Any) -> Any:
        """Convert a column to doubles; null where a cell is not a number."""
        return as_numbers(cells)


Feed = JsonFeed | LibsvmFeed | CsvFeed | ArrowFeed
FEEDS: dict[str, Any] = {feed.__name__: feed for feed in (ArrowFeed, CsvFeed, JsonFeed, LibsvmFeed)}


def feed_to_json(feed: Feed) -> dict[str, Any]:
    """Return how a stream is read, as a checkpoint stores it."""
    fields = {"kind": type(feed).__name__, **asdict(feed)}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in fields.items()}


def feed_from_json(stored: dict[str, Any]) -> Any:
    """Restore what `feed_to_json` returned; raise TypeError for anything else."""
    fields = {name: tuple(v) if isinstance(v, list) else v for name, v in stored.items()}
    for value in fields.values():
        words = value.values() if isinstance(value, dict) else value
        words = (value,) if isinstance(value, str) or value is None else words
        if not all(word is None or isinstance(word, str) for word in words):
            raise TypeError("it does not say how the stream is read")
    return FEEDS[str(fields.pop("kind"))](**fields)


def _read_columns(
    feed: CsvFeed | ArrowFeed, batch: Batch, table: Any, positions: NDArray[np.intp]
) -> Batch:
    """Read an Arrow table: as an array if all features are numeric, else row by row."""
    names = tuple(name for name in feed.features if name not in feed.kinds)
    cells = {name: flatten(table.column(name)) for name in names}
    columns = [feed.to_numbers(c).to_numpy(zero_copy_only=False) for c in cells.values()]
    X, squares = interleave_columns(columns) if names else (np.empty((table.num_rows, 0)), 0.0)
    found = Table(X, labels_of(table.column(feed.target)), positions)
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
        found = found if good.all() else found.select(good)
        return batch.without(reasons, table=found, names=names)
    others = {name: table.column(name).to_pylist() for name in feed.kinds}
    labels, rows = found.y.tolist(), []
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
    return batch.without(reasons, rows=rows)


def labels_of(column: Any) -> NDArray[Any]:
    """Convert a target column to labels; None (or NaN among numbers) where one is missing."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_signed_integer(column.type) and column.null_count == 0:
        return np.asarray(column.to_numpy(), dtype=np.int64)
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    labels = [parse_label(value) if isinstance(value, str) else value for value in values]
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
    """Convert a label to an integer or a float if it is one.

    Examples
    --------
    >>> parse_label("-1"), parse_label("0.5"), parse_label("spam")
    (-1, 0.5, 'spam')
    """
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


# How a stream is read: its format, target and columns.


class StreamFormat(NamedTuple):
    """How to read a stream, the known kinds of its keys, where its rows begin, and notes."""

    feed: Any
    kinds: Kinds
    begin: Place
    notes: list[str | Message]


def detect_feed(
    source: LineStream | RowStream, layout: Layout, options: ColumnOptions
) -> StreamFormat:
    """Decide how to read a stream, from the options and its first lines."""
    if isinstance(source, RowStream):
        return _detect_parquet(source, options)
    kind = format_of(source, layout)
    if csv.encoding_of(source.head(), layout.encoding) != "utf-8":
        raise UsageError("a stream must be UTF-8 text; convert it with iconv.")
    requested = (*options.numbers, *options.categories, *options.texts)
    if kind == "LIBSVM":
        if requested:
            raise UsageError(
                *(Parameter("number"), ", ", Parameter("category"), " and ", Parameter("text")),
                " are for columns with names, which a LIBSVM file does not have.",
            )
        if options.target is not None:
            find_column([lines.LABEL], options.target, "target")
        return StreamFormat(LibsvmFeed(), {}, Place(), [])
    if kind == "JSON lines":
        head, keys = source.head().splitlines(), list[str]()
        for line in head:
            with suppress(ValueError):
                keys = list(lines.parse_object(line))
                break
        target = options.target or _find_target(keys, None, source.name)
        feed = JsonFeed(target, options.ignore)
        # The first chunk of a pipe, or of a file that is followed, may be a line or two.
        if (source.regular and not source.follow) or len(head) >= FIRST_LINES:
            feed.check_target(head)
        return StreamFormat(feed, requested_kinds(requested, options), Place(), [])
    if kind != "CSV":
        usable = "give JSON lines, CSV, LIBSVM or Parquet"
        raise UsageError(f"a stream of {kind} cannot be read; {usable}.")
    return _detect_csv(source, layout, options)


def _detect_csv(source: LineStream, layout: Layout, options: ColumnOptions) -> StreamFormat:
    dialect = csv.find_dialect(source, layout)
    names, target = list(dialect.names), options.target
    notes: list[str | Message] = []
    if target is None and not set(USUAL_TARGETS) & set(names):
        target = names[-1]
        last = f'the labels are taken from the last column, "{target}"; '
        notes = [Message(last, Parameter("target"), " chooses another.")]
    target = _find_target(names, target, source.name)
    columns = _find_features(names, target, options.ignore)
    how = (dialect.separator, dialect.quote, dialect.decimal)
    feed = CsvFeed(dialect.names, target, columns, *how)
    requested = requested_kinds(names, options)
    requested = {n: kind for n, kind in requested.items() if n in set(columns)}
    kinds, looked_at = _first_kinds(source, feed, int(dialect.header), requested)
    notes += describe_kinds({n: kind for n, kind in kinds.items() if n not in requested})
    empty = [name for name in columns if name not in kinds]
    enough = looked_at >= FIRST_LINES or (looked_at and not source.growing)
    if enough and 0 < len(empty) < len(columns):
        left_out = join_words([quote_column(name) for name in empty])
        first = plural(looked_at, "line")
        notes.append(f"{left_out} left out: no values in the first {first}.")
        columns = tuple(name for name in columns if name in kinds)
    others = {name: kinds[name] for name in columns if kinds.get(name, "number") != "number"}
    feed = replace(feed, features=columns, kinds=others)
    return StreamFormat(feed, {}, source.skip_lines(dialect.begin), notes)


def _first_kinds(
    source: LineStream, feed: CsvFeed, header: int, requested: Kinds
) -> tuple[Kinds, int]:
    """Decide the kinds of columns from their first values; return also the number of lines read.

    Waits for a value in each column, but not for more than FIRST_LINES lines.
    """
    ended = False
    while True:
        found, head = dict(requested), source.head()
        whole = source.first if ended and not source.growing else head
        first = [line for line in whole.split(b"\n") if line.strip()][header : header + FIRST_LINES]
        text = b"\n".join(first).decode(errors="replace").encode()
        tables = parse_by_halves(Chunk(text, Place()), feed.parse, {}) if first else ()
        for _, table in tables:
            for name in [name for name in feed.features if name not in found]:
                cells = table.column(name).to_pylist()
                kinds = (
                    # In delimited text, true and false are numbers, 1 and 0.
                    "flag" if c.strip().lower() in FLAGS else kind_of(c.replace(feed.decimal, "."))
                    for c in cells
                )
                if (kind := next(filter(None, kinds), None)) is not None:
                    found[name] = kind
        if len(found) == len(feed.features) or ended or len(first) == FIRST_LINES:
            return found, len(first)
        ended = not source.more()


def _detect_parquet(source: RowStream, options: ColumnOptions) -> StreamFormat:
    schema = source.schema
    names, requested = schema.names, requested_kinds(schema.names, options)
    target = _find_target(names, options.target, source.name)
    columns = _find_features(names, target, options.ignore)
    for name in (target, *columns):
        kind = schema.field(name).type
        if not (requested.get(name) == "category" and is_moment(kind)):
            check_readable(kind, source.name, name)
    guessed = {}
    for name in columns:
        if is_text(schema.field(name).type) and name not in requested:
            kinds = map(kind_of, source.first_values(name, FIRST_LINES))
            guessed[name] = next(filter(None, kinds), "category")
    kinds_by_name = {**guessed, **requested}
    others = {n: kinds_by_name[n] for n in columns if kinds_by_name.get(n, "number") != "number"}
    return StreamFormat(ArrowFeed(target, columns, others), {}, Place(), describe_kinds(guessed))


def _find_target(names: list[str], requested: str | None, where: str) -> str:
    if requested is not None:
        return find_column(names, requested, "target")
    normalize_types = [name for name in USUAL_TARGETS if name in names]
    if not normalize_types:
        raise UsageError(
            f"it is not known which column of {where} has the labels; give ",
            Parameter("target", example="COLUMN"),
            ".",
        )
    return normalize_types[0]


def _find_features(names: list[str], target: str, ignore: Sequence[str]) -> tuple[str, ...]:
    left_out = set(find_columns(names, ignore, "ignore"))
    features = tuple(name for name in names if name != target and name not in left_out)
    if not features:
        raise UsageError("no column is left to learn from.")
    return features
