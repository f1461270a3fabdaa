"""From lines of a stream to rows and answers, bad lines set aside."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rosenblatt.errors import UsageError, one_line, quoted
from rosenblatt.messages import Message, Parameter, with_column
from rosenblatt.read import csv, jsonlines
from rosenblatt.read.chunks import Chunk, LineStream, Place, RowChunk, RowStream
from rosenblatt.read.columns import ENTRY, OWN, as_numbers, is_moment, is_text
from rosenblatt.read.csv import Dialect
from rosenblatt.read.encoding import in_rows
from rosenblatt.read.kinds import FLAGS, Kinds, features, kind_of, kinds_told
from rosenblatt.read.libsvm import LABEL
from rosenblatt.read.plan import (
    USUAL_TARGETS,
    Wishes,
    check_readable,
    find_column,
    find_columns,
    forced_kinds,
)
from rosenblatt.read.source import Layout, format_of
from rosenblatt.read.types import MISSING
from rosenblatt.scoring import LONGEST_SQUARED
from rosenblatt.tables import LARGE, PROMISED, is_changed, is_changed_text, missing
from rosenblatt.words import column_called, counted, listed, shortened

TOO_LARGE = "its numbers are too large; scale them first"
LETTERS = 200  # of a complaint
FIRST_LINES = 1000  # in which a first value of each column is looked for
FEW_LINES = 32  # are parsed one by one
MANY_LINES = 1024  # are looked at before they are parsed
LABELS = (pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.null())  # in JSON


@dataclass(frozen=True)
class BadLine:
    """A line that cannot be used, and why."""

    number: int
    text: bytes
    why: str


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers with the lines they were, and their answers (None where there is none)."""

    X: NDArray[np.float64]
    y: Any
    lines: NDArray[np.intp]

    def kept(self, fine: NDArray[np.bool_]) -> Table:
        """Some of its rows."""
        return Table(self.X[fine], self.y[fine], self.lines[fine])


@dataclass(frozen=True, eq=False)
class Batch:
    """What a chunk of lines holds: a table, or rows of named features; and bad lines."""

    chunk: Chunk | RowChunk
    table: Table | None = None
    rows: list[tuple[int, dict[Hashable, Any], Any]] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)
    names: tuple[Hashable, ...] = ()
    raw: bool = False  # whether what the columns are is not known yet

    def without(self, why: Mapping[int, str], **kept: Any) -> Batch:
        """The batch with some lines of its chunk set aside, and what is kept of the others."""
        begin = self.chunk.begin.lines
        bad = [
            BadLine(begin + at + 1, self.chunk.line(at), shortened(text.rstrip("."), LETTERS))
            for at, text in why.items()
        ]
        bad = sorted([*self.bad, *bad], key=lambda line: line.number)
        return replace(self, bad=bad, **kept)


def _read_rows(chunk: Chunk, parse: Callable[[bytes], Any]) -> Batch:
    rows, why = [], {}
    for at, line in enumerate(chunk.lines):
        if line.strip():
            try:
                rows.append((at, *parse(line)))
            except (ValueError, OverflowError) as trouble:
                why[at] = str(trouble)
    return Batch(chunk).without(why, rows=rows)


@dataclass(frozen=True)
class JsonFeed:
    """JSON lines: an object a line; a feature that is null is not there."""

    target: str
    ignore: tuple[str, ...] = ()

    def read(self, chunk: Chunk) -> list[Batch]:
        """The rows of a chunk: lines that are alike in one go, found by halves, others one by one.

        Of many lines all are read one by one where neither the first nor the last are alike.
        """
        n = chunk.count
        if n >= MANY_LINES:
            ends = chunk.split(FEW_LINES)[0], chunk.split(n - FEW_LINES)[1]
            if all(self._table(end) is None for end in ends):
                return [self.read_rows(chunk)]
        batch = self._table(chunk) if n >= FEW_LINES else None
        if batch is not None or n < 2 * FEW_LINES:
            return [batch or self.read_rows(chunk)]
        return [batch for half in chunk.split(n // 2) for batch in self.read(half)]

    def _table(self, chunk: Chunk) -> Batch | None:
        """Lines as a table of numbers and answers; None where they are not such, for certain."""
        found = jsonlines.parse_alike(chunk.data, chunk.ends)
        if found is None:
            return None
        columns = {name: found.column(name).combine_chunks() for name in found.column_names}
        y = columns.pop(self.target, pa.nulls(chunk.count))
        # What a column is its first value says: one without any is not met yet.
        met = {n: v for n, v in columns.items() if n not in self.ignore and v.null_count < len(v)}
        plain = y.type in LABELS and all(v.type in (pa.int64(), pa.float64()) for v in met.values())
        if not met or not plain or self._is_mixed(chunk, y):
            return None
        X, squares = in_rows([v.fill_null(0).to_numpy() for v in met.values()])
        if not squares < LARGE**2:  # where a number may be too large, or rounded
            return None
        if y.null_count:
            answers = np.array(y.to_pylist(), dtype=object)
        elif pa.types.is_string(y.type):
            coded = y.dictionary_encode()
            answers = np.array(coded.dictionary.to_pylist())[coded.indices.to_numpy()]
        else:
            answers = y.to_numpy(zero_copy_only=False)
        table = Table(X, answers, np.arange(len(X)))
        return Batch(chunk, table, names=tuple(met), raw=True)

    def _is_mixed(self, chunk: Chunk, answers: Any) -> bool:
        """Whether some answers are whole numbers among others: 1 is a label as it is written."""
        names = {json.dumps(self.target, ensure_ascii=how) for how in (False, True)}
        whole = rf"(?:{'|'.join(map(re.escape, names))})\s*:\s*-?\d+\s*[,}}]"
        return bool(answers.type == pa.float64() and re.search(whole.encode(), chunk.data))

    def read_rows(self, chunk: Chunk) -> Batch:
        """The rows of a chunk, one by one."""
        return replace(_read_rows(chunk, self._row), raw=True)

    def check_target(self, lines: Iterable[bytes]) -> None:
        """Refuse a target that none of these lines has, and name the keys that there are."""
        keys: dict[str, None] = {}
        for line in lines:
            with suppress(ValueError):
                x = jsonlines.parse_object(line)
                if self.target in x:
                    return
                keys.update(dict.fromkeys(x))
        if keys:
            there = listed(list(keys), most=8)
            raise UsageError(
                with_column("target", self.target),
                f": there is no {column_called(self.target)}; the columns are {there}.",
            )

    def _row(self, line: bytes) -> tuple[dict[Hashable, Any], Any]:
        x = jsonlines.parse_object(line)
        y = x.pop(self.target, None)
        if isinstance(y, list | dict):
            raise ValueError(f"{quoted(y)} is not a label")
        left: dict[Hashable, Any] = {name: v for name, v in x.items() if v is not None}
        for name in self.ignore:
            left.pop(name, None)
        return left, y


@dataclass(frozen=True)
class LibsvmFeed:
    """LIBSVM lines: a label, then index:value; a line without label, or with ?, is unlabelled."""

    def read(self, chunk: Chunk) -> list[Batch]:
        """The rows of a chunk, features named by their index."""
        return [_read_rows(chunk, self._row)]

    def _row(self, line: bytes) -> tuple[dict[Hashable, Any], Any]:
        words = line.partition(b"#")[0].decode().split()
        y = None
        if words and ":" not in words[0]:
            first = words.pop(0)
            y = None if first == "?" else label_of(first.removeprefix("+"))
        x: dict[Hashable, Any] = {}
        for word in words:
            index, _, value = word.partition(":")
            if index == "qid":
                continue
            if not re.match(ENTRY, word) or int(index) in x:
                raise ValueError(f'"{shortened(word)}" is not {OWN}')
            x[int(index)] = float(value)
            if math.isinf(x[int(index)]):
                raise ValueError(f'"{shortened(word)}" is not a finite number')
            if is_changed_text(value):
                raise ValueError(f"{shortened(value)} is not {PROMISED}")
        return x, y


@dataclass(frozen=True)
class CsvFeed:
    """Delimited lines and a label in each, parsed by PyArrow a chunk at a time."""

    names: tuple[str, ...]  # of all columns
    target: str
    features: tuple[str, ...]
    separator: str = ","
    quote: str | None = '"'
    decimal: str = "."
    kinds: Kinds = field(default_factory=dict)  # of the features that are no numbers

    @property
    def numbers(self) -> tuple[str, ...]:
        """The features that are numbers."""
        return tuple(name for name in self.features if name not in self.kinds)

    def read(self, chunk: Chunk) -> list[Batch]:
        """The rows of a chunk; where PyArrow refuses it, the bad lines are found by halving."""
        bad: list[BadLine] = []
        tables = list(self.tables(chunk, 0, bad))
        if not tables:
            return [Batch(chunk, bad=bad)]
        lines = np.concatenate([at + np.arange(table.num_rows) for at, table in tables])
        table = pa.concat_tables([table for _, table in tables])
        if self.kinds:
            answers = table.column(self.target)
            missing = pc.is_in(pc.utf8_trim_whitespace(answers), pa.array(MISSING))
            answers = pc.if_else(missing, pa.scalar(None, pa.string()), answers)
            table = table.set_column(table.num_columns - 1, self.target, answers)
        return [_batch(self, Batch(chunk, bad=bad), table, lines)]

    def written(self, chunk: Any, lines: NDArray[np.intp]) -> Any:
        """Some lines of a chunk as a table of text."""
        return self._parsed(b"".join(chunk.line(at) for at in lines.tolist()), pa.string())

    def _parsed(self, data: bytes, number: Any = pa.float64()) -> Any:
        text = dict.fromkeys(self.names, pa.string())
        return csv.parse_lines(
            Dialect(self.separator, self.quote, False, self.names, "utf-8", self.decimal),
            data,
            {**text, **dict.fromkeys(self.numbers, number)},
            include_columns=[*self.features, self.target],
            # NA may be a category.
            strings_can_be_null=number != pa.string() and not self.kinds,
        )

    def tables(
        self, chunk: Chunk, at: int, bad: list[BadLine], number: Any = pa.float64()
    ) -> Iterator[tuple[int, Any]]:
        """Tables of the lines that can be parsed, and where each begins; `bad` takes the others."""
        count = chunk.count
        try:
            table = self._parsed(chunk.data, number)
            if table.num_rows == count:
                yield at, table
                return
            why = "it is not one row"
        except (pa.ArrowException, UnicodeDecodeError) as trouble:
            why = self._why(one_line(trouble))
        if count > 1:
            first, second = chunk.split(count // 2)
            yield from self.tables(first, at, bad, number)
            yield from self.tables(second, at + count // 2, bad, number)
        elif chunk.data.strip():
            bad.append(BadLine(chunk.begin.lines + 1, chunk.data, why.rstrip(".")))

    def _why(self, said: str) -> str:
        """PyArrow's complaint about one line, with the name of the column."""
        said = re.sub(r"Row #\d+: |CSV (conversion|parse) error[^:]*: ", "", said)
        length = re.match(r"Expected (\d+) columns, got (\d+)", said)
        if length is not None:
            return f"it has {counted(int(length[2]), 'cell')}, not {length[1]}"
        column = re.match(r"In CSV column #(\d+): ", said)
        if column is None:
            return said
        said = re.sub(r"^invalid value '(.*)'\.?$", r'"\1" is not a number', said[column.end() :])
        return f"{column_called(self.names[int(column[1])])}: {said}"


@dataclass(frozen=True)
class ArrowFeed:
    """Rows of a Parquet file."""

    target: str
    features: tuple[str, ...]
    kinds: Kinds = field(default_factory=dict)  # of the features that are no numbers

    @property
    def numbers(self) -> tuple[str, ...]:
        """The features that are numbers."""
        return tuple(name for name in self.features if name not in self.kinds)

    def read(self, chunk: RowChunk) -> list[Batch]:
        """The rows of a batch."""
        return [_batch(self, Batch(chunk), chunk.batch, np.arange(chunk.count))]

    def written(self, chunk: Any, rows: NDArray[np.intp]) -> Any:
        """Some rows of a batch as they are stored."""
        return chunk.batch.take(pa.array(rows))


Feed = JsonFeed | LibsvmFeed | CsvFeed | ArrowFeed
FEEDS: dict[str, Any] = {feed.__name__: feed for feed in (ArrowFeed, CsvFeed, JsonFeed, LibsvmFeed)}


def feed_to_json(feed: Feed) -> dict[str, Any]:
    """How a stream is read, as a checkpoint keeps it."""
    fields = {"kind": type(feed).__name__, **asdict(feed)}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in fields.items()}


def feed_from_json(kept: dict[str, Any]) -> Any:
    """The same again; refuses what is none."""
    fields = {name: tuple(v) if isinstance(v, list) else v for name, v in kept.items()}
    for value in fields.values():
        words = value.values() if isinstance(value, dict) else value
        words = (value,) if isinstance(value, str) or value is None else words
        if not all(word is None or isinstance(word, str) for word in words):
            raise TypeError("how the stream is read is not told")
    return FEEDS[str(fields.pop("kind"))](**fields)


def _batch(feed: CsvFeed | ArrowFeed, batch: Batch, table: Any, lines: NDArray[np.intp]) -> Batch:
    """The rows of an Arrow table: as an array where all are numbers, else one by one."""
    names = feed.numbers
    columns = [as_numbers(table.column(n)).to_numpy(zero_copy_only=False) for n in names]
    X, squares = in_rows(columns) if names else (np.empty((table.num_rows, 0)), 0.0)
    y = labels_of(table.column(feed.target))
    batch = replace(batch, table=Table(X, y, lines), names=names)
    batch = batch if squares < LARGE**2 else _usable(feed, batch, Table(X, y, lines))
    return _named(feed, batch, table, lines) if feed.kinds else batch


def _named(feed: CsvFeed | ArrowFeed, batch: Batch, table: Any, lines: NDArray[np.intp]) -> Batch:
    """The usable rows by the names of their features, in the order of the columns."""
    kept = batch.table
    assert kept is not None
    where = np.searchsorted(lines, kept.lines)
    others = {name: table.column(name).to_pylist() for name in feed.kinds}
    X, rows, why = kept.X.tolist(), [], {}
    for row, at, y in zip(range(len(X)), where.tolist(), kept.y.tolist(), strict=True):
        numbered = dict(zip(feed.numbers, X[row], strict=True))
        try:
            x: dict[Hashable, Any] = {}
            for name in feed.features:
                kind = feed.kinds.get(name)
                if kind is None:
                    x[name] = numbered[name]
                else:
                    x.update(features(name, kind, others[name][at]))
            rows.append((int(kept.lines[row]), x, None if missing(y) else y))
        except ValueError as trouble:
            why[int(kept.lines[row])] = str(trouble)
    return batch.without(why, table=None, rows=rows)


def _usable(feed: CsvFeed | ArrowFeed, batch: Batch, table: Table) -> Batch:
    """Set aside the rows in which a number is missing, infinite, too large or rounded."""
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.einsum("ij,ij->i", table.X, table.X) < LONGEST_SQUARED
    why = _rounded(feed, batch, table.kept(fine))
    fine[np.isin(table.lines, list(why))] = False
    for row in np.flatnonzero(~fine):
        odd, at = np.flatnonzero(~np.isfinite(table.X[row])), int(table.lines[row])
        if len(odd) == 0:
            why.setdefault(at, TOO_LARGE)
            continue
        name = str(batch.names[int(odd[0])])
        cell = feed.written(batch.chunk, np.array([at])).column(name)[0].as_py()
        text = "" if cell is None else str(cell).strip()
        what = f'"{shortened(text)}" is not a finite number' if text else "there is nothing"
        why[at] = f"{column_called(name)}: {what}"
    return batch.without(why, table=table.kept(fine))


def _rounded(feed: CsvFeed | ArrowFeed, batch: Batch, table: Table) -> dict[int, str]:
    """The lines with a whole number that became another as a double, and which it is."""
    rows, columns = np.nonzero(np.abs(table.X) >= LARGE)
    if len(rows) == 0:
        return {}
    some = np.unique(rows)
    given, why = feed.written(batch.chunk, table.lines[some]), {}
    for row, j in zip(rows.tolist(), columns.tolist(), strict=True):
        name = str(batch.names[j])
        cell = given.column(name)[int(np.searchsorted(some, row))].as_py()
        if is_changed(cell, float(table.X[row, j])):
            why[int(table.lines[row])] = (
                f"{column_called(name)}: {shortened(str(cell))} is not {PROMISED}"
            )
    return why


def labels_of(column: Any) -> NDArray[Any]:
    """A column of answers as labels; None (or NaN among numbers) where there is none."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_signed_integer(column.type) and column.null_count == 0:
        return np.asarray(column.to_numpy(), dtype=np.int64)
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    kinds = [label_of(value) if isinstance(value, str) else value for value in values]
    codes = encoded.indices
    if codes.null_count or not kinds:
        every = np.array([*kinds, None], dtype=object)
        return np.asarray(every[codes.fill_null(len(kinds)).to_numpy()])
    # NumPy would make text of numbers that come together with text, and round large ones.
    alike = len({isinstance(kind, str) for kind in kinds}) == 1
    large = any(isinstance(kind, int) and abs(kind) >= LARGE for kind in kinds)
    labels = np.array(kinds) if alike and not large else np.array(kinds, dtype=object)
    return np.asarray(labels[codes.to_numpy(zero_copy_only=False)])


def label_of(text: str) -> Any:
    """A label as it is meant: a whole number, a number, or text.

    Examples
    --------
    >>> label_of("-1"), label_of("0.5"), label_of("spam")
    (-1, 0.5, 'spam')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


# How a stream is read.


class HowRead(NamedTuple):
    """How to read a stream, the kinds known of its keys, where its rows begin, what to tell."""

    feed: Any
    kinds: Kinds
    begin: Place
    notes: list[str | Message]


def feed_of(source: LineStream | RowStream, layout: Layout, wishes: Wishes) -> HowRead:
    """Find out how to read a stream."""
    if isinstance(source, RowStream):
        return _arrow(source, wishes)
    kind = format_of(source, layout)
    if csv.encoding_of(source.head(), layout.encoding) != "utf-8":
        raise UsageError("a stream must be UTF-8 text; convert it with iconv.")
    forced = (*wishes.numbers, *wishes.categories, *wishes.texts)
    if kind == "LIBSVM":
        if forced:
            raise UsageError(
                *(Parameter("number"), ", ", Parameter("category"), " and ", Parameter("text")),
                " are for columns with names, which a LIBSVM file does not have.",
            )
        if wishes.target is not None:
            find_column([LABEL], wishes.target, "target")
        return HowRead(LibsvmFeed(), {}, Place(), [])
    if kind == "JSON lines":
        target = wishes.target or _target(_first_keys(source.head()), None, source.name)
        feed, lines = JsonFeed(target, wishes.ignore), source.head().splitlines()
        # Of a pipe, or a file that is followed, the first chunk may be a line or two.
        if (source.regular and not source.follow) or len(lines) >= FIRST_LINES:
            feed.check_target(lines)
        return HowRead(feed, forced_kinds(forced, wishes), Place(), [])
    if kind != "CSV":
        usable = "give JSON lines, CSV, LIBSVM or Parquet"
        raise UsageError(f"a stream of {kind} cannot be read; {usable}.")
    return _csv(source, layout, wishes)


def _csv(source: LineStream, layout: Layout, wishes: Wishes) -> HowRead:
    dialect = csv.find_dialect(source, layout)
    names, target = list(dialect.names), wishes.target
    notes: list[str | Message] = []
    if target is None and not set(USUAL_TARGETS) & set(names):
        target = names[-1]
        taken = f'the labels are taken from the last column, "{target}"; '
        notes = [Message(taken, Parameter("target"), " chooses another.")]
    target = _target(names, target, source.name)
    columns = _features(names, target, wishes.ignore)
    how = (dialect.separator, dialect.quote, dialect.decimal)
    feed = CsvFeed(dialect.names, target, columns, *how)
    forced = {n: kind for n, kind in forced_kinds(names, wishes).items() if n in set(columns)}
    kinds, looked_at = _first_kinds(source, feed, int(dialect.header), forced)
    notes += kinds_told({name: kind for name, kind in kinds.items() if name not in forced})
    empty = [name for name in columns if name not in kinds]
    enough = looked_at >= FIRST_LINES or (looked_at and not source.growing)
    if enough and 0 < len(empty) < len(columns):
        told = listed([column_called(name) for name in empty])
        notes.append(f"{told} left out: nothing in the first {counted(looked_at, 'line')}.")
        columns = tuple(name for name in columns if name in kinds)
    others = {name: kinds[name] for name in columns if kinds.get(name, "number") != "number"}
    feed = replace(feed, features=columns, kinds=others)
    return HowRead(feed, {}, source.skip_lines(dialect.begin), notes)


def _first_kinds(
    source: LineStream, feed: CsvFeed, header: int, forced: Kinds
) -> tuple[Kinds, int]:
    """What the columns are by their first values, and how many lines were looked at.

    Waits for a value in each column, but not for many lines.
    """
    ended = False
    while True:
        found, head = dict(forced), source.head()
        whole = source.first if ended and not source.growing else head
        lines = [line for line in whole.split(b"\n") if line.strip()][header : header + FIRST_LINES]
        text = b"\n".join(lines).decode(errors="replace").encode()
        for _, cells in feed.tables(Chunk(text, Place()), 0, [], pa.string()) if lines else ():
            for name in [name for name in feed.features if name not in found]:
                kinds = (_kind_of_cell(c, feed.decimal) for c in cells.column(name).to_pylist())
                if (kind := next(filter(None, kinds), None)) is not None:
                    found[name] = kind
        if len(found) == len(feed.features) or ended or len(lines) == FIRST_LINES:
            return found, len(lines)
        ended = not source.more()


def _kind_of_cell(cell: str, decimal: str) -> str | None:
    """Of delimited text, in which true and false are numbers, as 1 and 0."""
    if cell.strip().lower() in FLAGS:
        return "flag"
    return kind_of(cell.replace(decimal, "."))


def _arrow(source: RowStream, wishes: Wishes) -> HowRead:
    schema = source.schema
    names, forced = schema.names, forced_kinds(schema.names, wishes)
    target = _target(names, wishes.target, source.name)
    columns = _features(names, target, wishes.ignore)
    for name in (target, *columns):
        kind = schema.field(name).type
        if not (forced.get(name) == "category" and is_moment(kind)):
            check_readable(kind, source.name, name)
    guessed = {}
    for name in columns:
        if is_text(schema.field(name).type) and name not in forced:
            kinds = map(kind_of, source.first_values(name, FIRST_LINES))
            guessed[name] = next(filter(None, kinds), "category")
    others = {name: k for name, k in {**guessed, **forced}.items() if k != "number"}
    others = {name: others[name] for name in columns if name in others}
    return HowRead(ArrowFeed(target, columns, others), {}, Place(), kinds_told(guessed))


def _target(names: list[str], wished: str | None, where: str) -> str:
    """The column of answers: as wished, or one with a usual name."""
    if wished is not None:
        return find_column(names, wished, "target")
    usual = [name for name in USUAL_TARGETS if name in names]
    if not usual:
        raise UsageError(
            f"it is not known which column of {where} has the labels; give ",
            Parameter("target", example="COLUMN"),
            ".",
        )
    return usual[0]


def _features(names: list[str], target: str, ignore: Sequence[str]) -> tuple[str, ...]:
    left_out = set(find_columns(names, ignore, "ignore"))
    features = tuple(name for name in names if name != target and name not in left_out)
    if not features:
        raise UsageError("no column is left to learn from.")
    return features


def _first_keys(head: bytes) -> list[str]:
    """The keys of the first line that is a JSON object."""
    for line in head.splitlines():
        with suppress(ValueError):
            return list(jsonlines.parse_object(line))
    return []
