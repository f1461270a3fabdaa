"""Streams of lines or rows, read in chunks, and detection of their format."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from rosenblatt.errors import DataError, Message, OpenError, Parameter, UsageError, make_open_error
from rosenblatt.read import csv
from rosenblatt.read.columnar import parquet_batches
from rosenblatt.read.columns import is_date_or_time, is_text
from rosenblatt.read.feed import (
    FLAGS,
    ArrowFeed,
    Chunk,
    CsvFeed,
    JsonFeed,
    Kinds,
    LibsvmFeed,
    Place,
    RowChunk,
    describe_kinds,
    kind_of,
    parse_by_halves,
)
from rosenblatt.read.lines import LABEL, parse_object
from rosenblatt.read.plan import (
    USUAL_TARGETS,
    ColumnOptions,
    check_readable,
    find_column,
    find_columns,
    requested_kinds,
)
from rosenblatt.read.source import (
    Layout,
    Source,
    check_text,
    format_of,
    is_binary,
    whole_lines,
)
from rosenblatt.text import join_words, plural, quote_column

CHUNK = 1 << 22  # maximum number of bytes per read; smaller chunks cost more to pass on
PIPE = 1 << 20  # size of the buffer of a pipe
POLL_SECONDS = 0.1
TAIL = 1 << 16  # number of bytes before a place that its checksum covers
FIRST_LINES = 1000  # number of lines that are searched for a first value of each column

Some = TypeVar("Some", Chunk, RowChunk)


class RowStream:
    """Stream of the rows of a Parquet file."""

    unfinished: Place | None = None  # there are no unfinished rows

    def __init__(self, path: str) -> None:
        self.name = path
        self.source = Source.find(path)
        batches = parquet_batches(self.source, Layout())
        self.schema = next(batches).schema
        self.first = next(batches, None)  # of some rows
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - TAIL))
            self.checksum_of_end = hashlib.sha256(file.read()).hexdigest()

    def go_to(self, place: Place, expected: str) -> None:
        """Check that a checkpoint belongs to this file; raise DataError if it does not."""
        if expected != self.checksum_of_end:
            raise DataError(
                f"{self.name} is not the file that the checkpoint belongs to. Give that file, or "
                "use another checkpoint."
            )

    def checksum(self) -> str:
        """Return the checksum of the end of the file, where Parquet has its metadata."""
        return self.checksum_of_end

    def update_checksum(self, rows: RowChunk) -> None:
        """Do nothing: the checksum of a Parquet file does not depend on the rows read so far."""

    def chunks(self, begin: Place, every: int | None) -> Iterator[RowChunk]:
        """Yield the rows from `begin` on in chunks, split at multiples of `every` rows."""
        place = begin
        for batch in filter(len, parquet_batches(self.source, Layout(), begin.lines)):
            for rows in _cut_at_multiples(RowChunk(batch, place), every):
                yield rows
                place = rows.end


class LineStream:
    """Stream of the lines of a file or of standard input ("-").

    The file may be compressed, or still grow: with `follow`, the stream waits for more lines at its
    end; with `growing`, an unfinished last line is left for the next run.
    """

    def __init__(self, path: str, follow: bool = False, growing: bool = False) -> None:
        self.name = "standard input" if path == "-" else path
        self.follow, self.growing = follow, growing
        self.place, self.rest = Place(), list[bytes]()
        try:
            if path != "-" and os.path.isdir(path):
                raise IsADirectoryError
            self.fd = sys.stdin.fileno() if path == "-" else os.open(path, os.O_RDONLY)
        except OSError as error:
            raise make_open_error(path, error) from None
        self.regular = stat.S_ISREG(os.fstat(self.fd).st_mode)
        with suppress(ImportError, AttributeError, OSError):  # reads are then fewer and larger
            import fcntl

            fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, PIPE)
        self.packed: Source | None = None
        blocks = iter(self._bytes, b"")
        if self.regular and path != "-" and (source := Source.find(path)).compression is not None:
            self.packed, blocks = source, source.blocks(CHUNK)
        self.blocks = check_text(self.name, blocks)
        self.first = b""
        self.tail = b""
        self.returns: bool | None = None  # whether lines end with \r alone; None: unknown

    @property
    def suffix(self) -> str:
        """Suffix of the name, which may indicate the format."""
        return Path(self.name).suffix.lower() if self.packed is None else self.packed.suffix

    def head(self) -> bytes:
        """Return the first complete lines; `chunks` still yields them."""
        while b"\n" not in self.first and not is_binary(self.first) and self.more():
            pass
        if self.growing and self.first and b"\n" not in self.first:
            raise DataError(
                f"{self.name} ends within its first line; run again when that line is complete."
            )
        return self.first[: self.first.rfind(b"\n") + 1] or self.first

    def more(self) -> bool:
        """Read more bytes for `head` to return; return False at the end of the stream."""
        block = self._read()
        self.first += block
        return bool(block)

    def skip_lines(self, count: int) -> Place:
        """Skip the first `count` lines; return the position of the next line."""
        head = self.head()
        rest = b"".join(head.split(b"\n", count)[count:])
        skipped = head[: len(head) - len(rest)]
        self.first = self.first[len(skipped) :]
        self._remember(skipped)
        return Place(len(skipped), count)

    def go_to(self, place: Place, expected: str) -> None:
        """Skip to the place of a checkpoint; raise DataError if bytes before it have changed."""
        left, follow, self.follow = place.bytes, self.follow, False
        while left > 0:
            block = self.first or self._read()
            if not block:
                raise DataError(
                    f"{self.name} ends before the place where the checkpoint was made; "
                    "give the same stream from its beginning."
                )
            self.first = block[left:]
            self._remember(block[:left])
            left -= len(block[:left])
        self.follow = follow
        if self.checksum() != expected:
            raise DataError(
                f"{self.name} is not the stream that the checkpoint was made on; "
                "give the same stream from its beginning."
            )

    def checksum(self) -> str:
        """Return the checksum of the last bytes before the current place."""
        return hashlib.sha256(self.tail).hexdigest()

    def chunks(self, begin: Place, every: int | None) -> Iterator[Chunk]:
        """Yield the lines from `begin` on in chunks, split at multiples of `every` lines."""
        first, self.first = self.first, b""
        self.place, blocks = begin, chain((first,), iter(self._read, b""))
        for data in whole_lines(blocks, rest=self.rest):
            if self.growing and not data.endswith(b"\n"):
                self.rest.append(data)
                return
            for chunk in _cut_at_multiples(Chunk(data, self.place), every):
                yield chunk
                self.place = chunk.end

    @property
    def unfinished(self) -> Place | None:
        """Place where an unfinished last line begins; None if all lines are complete."""
        return self.place if any(self.rest) else None

    def update_checksum(self, chunk: Chunk) -> None:
        """Include a processed chunk in the checksum."""
        self._remember(chunk.data)

    def _remember(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-TAIL:] if len(data) < TAIL else data[-TAIL:]

    def _read(self) -> bytes:
        """Return the next bytes; replace lone carriage returns by newlines."""
        block = next(self.blocks, b"")
        if self.returns is None and (end := re.search(rb"\r(?=[^\n])|\n", block)):
            self.returns = end[0] == b"\r"
        return block.replace(b"\r", b"\n") if self.returns else block

    def _bytes(self) -> bytes:
        while True:
            try:
                block = os.read(self.fd, CHUNK)
            except OSError as error:
                raise OpenError(f"cannot read {self.name}: {error.strerror}.") from None
            if block or not (self.follow and self.regular):
                return block
            if os.fstat(self.fd).st_size < os.lseek(self.fd, 0, os.SEEK_CUR):
                raise DataError(f"{self.name} became shorter while it was being followed.")
            time.sleep(POLL_SECONDS)


def open_stream(data: str, layout: Layout, follow: bool, growing: bool) -> LineStream | RowStream:
    """Open a file as a stream of lines, or a Parquet file as a stream of rows."""
    source = LineStream(data, follow, growing)
    if follow and source.packed is not None:
        raise UsageError(
            Parameter("follow", True), f" needs a file that can grow, but {data} is compressed."
        )
    if format_of(source, layout) != "Parquet":
        return source
    if source.packed is not None:
        raise UsageError(f"{data} holds compressed Parquet, which a stream cannot read; unpack it.")
    if not source.regular or data == "-":
        raise UsageError("Parquet cannot be read from a pipe; give the path of the file.")
    return RowStream(data)


def _cut_at_multiples(chunk: Some, every: int | None) -> Iterator[Some]:
    while every is not None and chunk.count > (left := every - chunk.begin.lines % every):
        first, chunk = chunk.split(left)
        yield first
    yield chunk


# How a stream is read: reader, known kinds of columns, place of the first row, and notes.
Detected = tuple[Any, Kinds, Place, list[str | Message]]


def detect_feed(source: LineStream | RowStream, layout: Layout, options: ColumnOptions) -> Detected:
    """Decide how to read a stream, from the options and the first lines of the stream."""
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
            find_column([LABEL], options.target, "target")
        return LibsvmFeed(), {}, Place(), []
    if kind == "JSON lines":
        head, keys = source.head().splitlines(), list[str]()
        for line in head:
            with suppress(ValueError):
                keys = list(parse_object(line))
                break
        feed = JsonFeed(options.target or _find_target(keys, None, source.name), options.ignore)
        # The first chunk of a pipe, or of a file that is followed, may be a line or two.
        if (source.regular and not source.follow) or len(head) >= FIRST_LINES:
            feed.check_target(head)
        return feed, requested_kinds(requested, options), Place(), []
    if kind != "CSV":
        usable = "give JSON lines, CSV, LIBSVM or Parquet"
        raise UsageError(f"a stream of {kind} cannot be read; {usable}.")
    return _detect_csv(source, layout, options)


def _detect_csv(source: LineStream, layout: Layout, options: ColumnOptions) -> Detected:
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
    return feed, {}, source.skip_lines(dialect.begin), notes


def _first_kinds(
    source: LineStream, feed: CsvFeed, header: int, requested: Kinds
) -> tuple[Kinds, int]:
    """Decide the kind of each column by its first value; also return the number of lines read.

    Lines are read until each column has a value, but not more than FIRST_LINES lines.
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


def _detect_parquet(source: RowStream, options: ColumnOptions) -> Detected:
    schema = source.schema
    names, requested = schema.names, requested_kinds(schema.names, options)
    target = _find_target(names, options.target, source.name)
    columns = _find_features(names, target, options.ignore)
    for name in (target, *columns):
        kind = schema.field(name).type
        if not (requested.get(name) == "category" and is_date_or_time(kind)):
            check_readable(kind, source.name, name)
    guessed = {}
    for name in columns:
        if is_text(schema.field(name).type) and name not in requested:
            first = [] if source.first is None else source.first.column(name)[:FIRST_LINES]
            kinds = (kind_of(cell.as_py()) for cell in first)
            guessed[name] = next(filter(None, kinds), "category")
    kinds_by_name = {**guessed, **requested}
    others = {n: kinds_by_name[n] for n in columns if kinds_by_name.get(n, "number") != "number"}
    return ArrowFeed(target, columns, others), {}, Place(), describe_kinds(guessed)


def _find_target(names: list[str], requested: str | None, where: str) -> str:
    if requested is not None:
        return find_column(names, requested, "target")
    usual = [name for name in USUAL_TARGETS if name in names]
    if not usual:
        raise UsageError(
            f"it is not known which column of {where} has the labels; give ",
            Parameter("target", example="COLUMN"),
            ".",
        )
    return usual[0]


def _find_features(names: list[str], target: str, ignore: Sequence[str]) -> tuple[str, ...]:
    left_out = set(find_columns(names, ignore, "ignore"))
    features = tuple(name for name in names if name != target and name not in left_out)
    if not features:
        raise UsageError(
            f"only {quote_column(target)}, the target, is left; a stream needs at least one other "
            "column that is not ignored."
        )
    return features


# How a stream is read, as a checkpoint stores it.

Feed = JsonFeed | LibsvmFeed | CsvFeed | ArrowFeed
FEEDS: dict[str, Any] = {feed.__name__: feed for feed in (ArrowFeed, CsvFeed, JsonFeed, LibsvmFeed)}


def feed_to_json(feed: Feed) -> dict[str, Any]:
    """Return the settings of a stream's reader as a JSON object, for a checkpoint."""
    fields = {"kind": type(feed).__name__, **asdict(feed)}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in fields.items()}


def feed_from_json(stored: dict[str, Any]) -> Any:
    """Create the reader of a stream from JSON settings; raise TypeError if they are invalid."""
    fields = {name: tuple(v) if isinstance(v, list) else v for name, v in stored.items()}
    for value in fields.values():
        words = value.values() if isinstance(value, dict) else value
        words = (value,) if isinstance(value, str) or value is None else words
        if not all(word is None or isinstance(word, str) for word in words):
            raise TypeError("the settings for reading the stream are invalid")
    return FEEDS[str(fields.pop("kind"))](**fields)
