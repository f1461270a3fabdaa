"""A stream as chunks of whole lines, each knowing its place, so that reading can go on there."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rosenblatt.errors import DataError, OpenError, UsageError, cannot_open
from rosenblatt.messages import Parameter
from rosenblatt.read.columnar import damaged, parquet_file
from rosenblatt.read.columns import usual
from rosenblatt.read.source import (
    UNREADABLE,
    Layout,
    Source,
    TextCheck,
    WholeLines,
    format_of,
    is_binary,
)

CHUNK = 1 << 22  # read at a time, if there is as much: with less, handing on costs more
ROWS = 1 << 16  # learnt at a time: with fewer, handing them on costs more than learning
BATCH = 1 << 18  # rows of Parquet decoded at a time, if they are not wide
BATCH_BYTES = 1 << 26
PIPE = 1 << 20  # bytes that a pipe may hold
NEWLINE = ord("\n")
POLL_SECONDS = 0.1
SEAL = 1 << 16  # bytes before a place by which it is recognised


Some = TypeVar("Some", "Chunk", "RowChunk")


@dataclass(frozen=True)
class Place:
    """Where in a stream reading goes on: after so many bytes, which are so many lines."""

    bytes: int = 0
    lines: int = 0


@dataclass(frozen=True)
class Chunk:
    """Some whole lines of a stream and the place where they begin."""

    data: bytes
    begin: Place

    @functools.cached_property
    def count(self) -> int:
        """The number of lines; the last one of a stream may lack its newline."""
        newlines = np.count_nonzero(np.frombuffer(self.data, dtype=np.uint8) == NEWLINE)
        return int(newlines) + (not self.data.endswith(b"\n"))

    @property
    def end(self) -> Place:
        """Where the next chunk begins."""
        return Place(self.begin.bytes + len(self.data), self.begin.lines + self.count)

    @functools.cached_property
    def lines(self) -> list[bytes]:
        """The lines without their ends."""
        return self.data.split(b"\n")

    def line(self, at: int) -> bytes:
        """One of the lines, counted from 0, with its newline."""
        begin = self.ends[at - 1] if at else 0
        return self.data[begin : self.ends[at]].removesuffix(b"\n") + b"\n"

    @functools.cached_property
    def ends(self) -> NDArray[np.intp]:
        """Where each line ends, after its newline."""
        newlines = np.flatnonzero(np.frombuffer(self.data, dtype=np.uint8) == NEWLINE)
        last = () if self.data.endswith(b"\n") else (len(self.data),)
        return np.append(newlines + 1, last).astype(np.intp)

    def split(self, lines: int) -> tuple[Chunk, Chunk]:
        """The first so many lines, and the rest."""
        at = int(self.ends[lines - 1])
        first = Chunk(self.data[:at], self.begin)
        return first, Chunk(self.data[at:], first.end)


@dataclass(frozen=True, eq=False)
class RowChunk:
    """Some rows of a Parquet file and the place where they begin, rows counted as lines."""

    batch: Any
    begin: Place

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.batch.num_rows)

    @property
    def end(self) -> Place:
        """Where the next rows begin."""
        return Place(0, self.begin.lines + self.count)

    def line(self, at: int) -> bytes:
        """One of the rows, counted from 0, as a line of JSON."""
        row = self.batch.slice(at, 1).to_pylist()[0]
        return json.dumps(row, default=str).encode() + b"\n"

    def split(self, rows: int) -> tuple[RowChunk, RowChunk]:
        """The first so many rows, and the rest."""
        first = RowChunk(self.batch.slice(0, rows), self.begin)
        return first, RowChunk(self.batch.slice(rows), first.end)


class RowStream:
    """A Parquet file, read as batches of rows."""

    waits: Place | None = None  # a row is whole or not there

    def __init__(self, path: str) -> None:
        self.name = path
        try:
            self.file = parquet_file(path)
            self.schema = usual(self.file.schema_arrow.empty_table()).schema
            with open(path, "rb") as file:
                file.seek(max(0, os.path.getsize(path) - SEAL))
                self.sealed = hashlib.sha256(file.read()).hexdigest()
        except UNREADABLE as trouble:
            raise damaged(path, "Parquet", trouble) from None

    def first_values(self, name: str, count: int) -> list[Any]:
        """What the first rows have in a column."""
        batch = next(self.file.iter_batches(count, columns=[name]), None)
        return [] if batch is None else list(batch.column(0).to_pylist())

    def go_to(self, place: Place, seal: str) -> None:
        """Refuse a file that is not the one the place was in."""
        if seal != self.sealed:
            raise DataError(f"{self.name} is not the file that the checkpoint was made on.")

    def seal(self) -> str:
        """By which the file is recognised: its end, which tells where everything is."""
        return self.sealed

    def passed(self, rows: RowChunk) -> None:
        """Nothing needs to be noted."""

    def chunks(self, begin: Place, every: int | None) -> Iterator[RowChunk]:
        """Batches of rows from here on, cut also where their number is a multiple of `every`."""
        groups, skipped = self._groups_after(begin.lines)
        skip, place = begin.lines - skipped, begin
        most = max(1, BATCH_BYTES // (8 * max(1, self.file.metadata.num_columns)))
        try:
            # Reading is what a stream of Parquet waits for: columns are decoded side by side.
            for batch in self.file.iter_batches(min(BATCH, most), groups, use_threads=True):
                for at in range(skip, batch.num_rows, ROWS):
                    for rows in _cut(RowChunk(usual(batch.slice(at, ROWS)), place), every):
                        yield rows
                        place = rows.end
                skip = max(0, skip - batch.num_rows)
        except UNREADABLE as trouble:
            raise damaged(self.name, "Parquet", trouble) from None

    def _groups_after(self, rows: int) -> tuple[list[int], int]:
        metadata, skipped = self.file.metadata, 0
        for group in range(metadata.num_row_groups):
            size = metadata.row_group(group).num_rows
            if skipped + size > rows:
                return list(range(group, metadata.num_row_groups)), skipped
            skipped += size
        return [], skipped


class LineStream:
    """A file, compressed or growing or neither, or standard input ("-"), as chunks of whole lines.

    With `follow` it waits for more at its end. With `growing` more may come in another run, and a
    last line without its end is left to it.
    """

    def __init__(self, path: str, follow: bool = False, growing: bool = False) -> None:
        self.name = "standard input" if path == "-" else path
        self.follow, self.growing = follow, growing
        self.place, self.lines = Place(), WholeLines(())
        try:
            if path != "-" and os.path.isdir(path):
                raise IsADirectoryError
            self.fd = sys.stdin.fileno() if path == "-" else os.open(path, os.O_RDONLY)
        except OSError as trouble:
            raise cannot_open(path, trouble) from None
        self.regular = stat.S_ISREG(os.fstat(self.fd).st_mode)
        _widen(self.fd)
        self.packed: Source | None = None
        if self.regular and path != "-" and (source := Source.find(path)).compression is not None:
            self.packed, self.blocks = source, source.blocks(CHUNK)
        self.check = TextCheck(self.name)
        self.first = b""
        self.tail = b""
        self.returns: bool | None = None  # whether lines end with \r alone; None: not known yet

    @property
    def suffix(self) -> str:
        """The end of the name, which may tell the format."""
        return Path(self.name).suffix.lower() if self.packed is None else self.packed.suffix

    def head(self) -> bytes:
        """The first whole lines, which are read again by `chunks`."""
        while b"\n" not in self.first and not is_binary(self.first) and self.more():
            pass
        if self.growing and self.first and b"\n" not in self.first:
            raise DataError(f"{self.name} ends within its first line; nothing can be read yet.")
        return self.first[: self.first.rfind(b"\n") + 1] or self.first

    def more(self) -> bool:
        """Let the head grow; whether there was more."""
        block = self._read()
        self.first += block
        return bool(block)

    def skip_lines(self, count: int) -> Place:
        """Leave out the first lines, of which the last has the names of the columns."""
        place = Place()
        for _ in range(count):
            self.head()
            line, newline, self.first = self.first.partition(b"\n")
            self._remember(line + newline)
            place = Place(place.bytes + len(line + newline), place.lines + 1)
        return place

    def go_to(self, place: Place, seal: str) -> None:
        """Skip what has been read before; refuse a stream that is not the same up to there."""
        left = place.bytes
        while left > 0:
            block = self.first or self._read(now=True)
            if not block:
                raise DataError(
                    f"{self.name} ends before the place where the checkpoint was made; "
                    "give the same stream from its beginning."
                )
            self.first = block[left:]
            self._remember(block[:left])
            left -= len(block[:left])
        if self.seal() != seal:
            raise DataError(
                f"{self.name} is not the stream that the checkpoint was made on; "
                "give the same stream from its beginning."
            )

    def seal(self) -> str:
        """By which the bytes just before the place reached are recognised."""
        return hashlib.sha256(self.tail).hexdigest()

    def chunks(self, begin: Place, every: int | None) -> Iterator[Chunk]:
        """Whole lines from here on, cut also where the number of lines is a multiple of `every`."""
        self.place, self.lines = begin, WholeLines(self._blocks())
        for data in self.lines:
            if self.growing and not data.endswith(b"\n"):
                self.lines.rest = [data]
                return
            for chunk in _cut(Chunk(data, self.place), every):
                yield chunk
                self.place = chunk.end

    @property
    def waits(self) -> Place | None:
        """Where a line begins that has no end yet."""
        return self.place if any(self.lines.rest) else None

    def _blocks(self) -> Iterator[bytes]:
        block, self.first = self.first, b""
        while block or (block := self._read()):
            yield block
            block = b""

    def passed(self, chunk: Chunk) -> None:
        """Note that a chunk has been dealt with, so that the place after it can be sealed."""
        self._remember(chunk.data)

    def _remember(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-SEAL:] if len(data) < SEAL else data[-SEAL:]

    def _read(self, now: bool = False) -> bytes:
        """The next bytes; where lines end with a carriage return alone, they get a newline."""
        block = self.check(self._bytes(now) if self.packed is None else next(self.blocks, b""))
        if self.returns is None and (end := re.search(rb"\r(?=[^\n])|\n", block)):
            self.returns = end[0] == b"\r"
        return block.replace(b"\r", b"\n") if self.returns else block

    def _bytes(self, now: bool) -> bytes:
        while True:
            try:
                block = os.read(self.fd, CHUNK)
            except OSError as trouble:
                raise OpenError(f"cannot read {self.name}: {trouble.strerror}.") from None
            if block or now or not (self.follow and self.regular):
                return block
            if os.fstat(self.fd).st_size < os.lseek(self.fd, 0, os.SEEK_CUR):
                raise DataError(f"{self.name} has become shorter while it was followed.")
            time.sleep(POLL_SECONDS)


def open_stream(data: str, layout: Layout, follow: bool, growing: bool) -> LineStream | RowStream:
    """The stream as lines, or as rows of a Parquet file."""
    source = LineStream(data, follow, growing)
    if follow and source.packed is not None:
        raise UsageError(
            Parameter("follow", True), f" is for a file that grows, and {data} is compressed."
        )
    if format_of(source, layout) != "Parquet":
        return source
    if source.packed is not None:
        raise UsageError(f"{data} holds compressed Parquet, which a stream cannot read; unpack it.")
    if not source.regular or data == "-":
        raise UsageError("Parquet cannot be read from a pipe; give the file.")
    return RowStream(data)


def _cut(chunk: Some, every: int | None) -> Iterator[Some]:
    while every is not None and chunk.count > (left := every - chunk.begin.lines % every):
        first, chunk = chunk.split(left)
        yield first
    yield chunk


def _widen(fd: int) -> None:
    """Let a pipe hold more, where it is one and the system can: it is read in fewer, larger blocks.

    Whatever is in it is still read at once.
    """
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE)
