"""Streams as chunks of whole lines with their place, where a later run can resume."""

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

from rosenblatt.errors import DataError, OpenError, UsageError, make_open_error
from rosenblatt.messages import Parameter
from rosenblatt.read.columnar import damaged_file_error, parquet_file
from rosenblatt.read.columns import normalize_types
from rosenblatt.read.source import (
    UNREADABLE,
    Layout,
    Source,
    TextCheck,
    WholeLines,
    format_of,
    is_binary,
)

CHUNK = 1 << 22  # bytes per read at most; smaller chunks cost more to pass on
ROWS = 1 << 16  # rows per chunk; with fewer, passing them on costs more than training
BATCH = 1 << 18  # rows of Parquet decoded at a time, fewer if they are wide
BATCH_BYTES = 1 << 26
PIPE = 1 << 20  # size of the buffer of a pipe
NEWLINE = ord("\n")
POLL_SECONDS = 0.1
TAIL = 1 << 16  # bytes before a place that its checksum covers


Some = TypeVar("Some", "Chunk", "RowChunk")


@dataclass(frozen=True)
class Place:
    """Position in a stream: the number of bytes and of lines before it."""

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
        """Return a line, counted from 0, with its newline."""
        begin = self.ends[at - 1] if at else 0
        return self.data[begin : self.ends[at]].removesuffix(b"\n") + b"\n"

    @functools.cached_property
    def ends(self) -> NDArray[np.intp]:
        """End of each line, after its newline."""
        newlines = np.flatnonzero(np.frombuffer(self.data, dtype=np.uint8) == NEWLINE)
        last = () if self.data.endswith(b"\n") else (len(self.data),)
        return np.append(newlines + 1, last).astype(np.intp)

    def split(self, lines: int) -> tuple[Chunk, Chunk]:
        """Split into the first `lines` lines and the rest."""
        at = int(self.ends[lines - 1])
        first = Chunk(self.data[:at], self.begin)
        return first, Chunk(self.data[at:], first.end)


@dataclass(frozen=True, eq=False)
class RowChunk:
    """Rows of a Parquet file and the place where they begin, counted as lines."""

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
        """Return a row, counted from 0, as a line of JSON."""
        row = self.batch.slice(at, 1).to_pylist()[0]
        return json.dumps(row, default=str).encode() + b"\n"

    def split(self, rows: int) -> tuple[RowChunk, RowChunk]:
        """Split into the first `rows` rows and the rest."""
        first = RowChunk(self.batch.slice(0, rows), self.begin)
        return first, RowChunk(self.batch.slice(rows), first.end)


class RowStream:
    """A Parquet file, read as batches of rows."""

    waits: Place | None = None  # there are no unfinished rows

    def __init__(self, path: str) -> None:
        self.name = path
        try:
            self.file = parquet_file(path)
            self.schema = normalize_types(self.file.schema_arrow.empty_table()).schema
            with open(path, "rb") as file:
                file.seek(max(0, os.path.getsize(path) - TAIL))
                self.checksum_of_end = hashlib.sha256(file.read()).hexdigest()
        except UNREADABLE as error:
            raise damaged_file_error(path, "Parquet", error) from None

    def first_values(self, name: str, count: int) -> list[Any]:
        """Return the values of a column in the first rows."""
        batch = next(self.file.iter_batches(count, columns=[name]), None)
        return [] if batch is None else list(batch.column(0).to_pylist())

    def go_to(self, place: Place, expected: str) -> None:
        """Raise DataError if this is not the file of the checkpoint."""
        if expected != self.checksum_of_end:
            raise DataError(f"{self.name} is not the file that the checkpoint was made on.")

    def checksum(self) -> str:
        """Return the checksum of the end of the file, which lists all its parts."""
        return self.checksum_of_end

    def passed(self, rows: RowChunk) -> None:
        """Do nothing: the checksum does not depend on the place."""

    def chunks(self, begin: Place, every: int | None) -> Iterator[RowChunk]:
        """Yield batches of rows starting at `begin`, also cut at multiples of `every` rows."""
        groups, skipped = self._groups_from(begin.lines)
        skip, place = begin.lines - skipped, begin
        most = max(1, BATCH_BYTES // (8 * max(1, self.file.metadata.num_columns)))
        try:
            # Decoding is the bottleneck of a Parquet stream: let columns be decoded in parallel.
            for batch in self.file.iter_batches(min(BATCH, most), groups, use_threads=True):
                for at in range(skip, batch.num_rows, ROWS):
                    for rows in _cut_at_multiples(
                        RowChunk(normalize_types(batch.slice(at, ROWS)), place), every
                    ):
                        yield rows
                        place = rows.end
                skip = max(0, skip - batch.num_rows)
        except UNREADABLE as error:
            raise damaged_file_error(self.name, "Parquet", error) from None

    def _groups_from(self, rows: int) -> tuple[list[int], int]:
        metadata, skipped = self.file.metadata, 0
        for group in range(metadata.num_row_groups):
            size = metadata.row_group(group).num_rows
            if skipped + size > rows:
                return list(range(group, metadata.num_row_groups)), skipped
            skipped += size
        return [], skipped


class LineStream:
    """A file or standard input ("-") as chunks of whole lines.

    The file may be compressed, or still be growing: with `follow` the stream waits for more at its
    end; with `growing` more may come in another run, to which an unfinished last line is left.
    """

    def __init__(self, path: str, follow: bool = False, growing: bool = False) -> None:
        self.name = "standard input" if path == "-" else path
        self.follow, self.growing = follow, growing
        self.place, self.lines = Place(), WholeLines(())
        try:
            if path != "-" and os.path.isdir(path):
                raise IsADirectoryError
            self.fd = sys.stdin.fileno() if path == "-" else os.open(path, os.O_RDONLY)
        except OSError as error:
            raise make_open_error(path, error) from None
        self.regular = stat.S_ISREG(os.fstat(self.fd).st_mode)
        _enlarge_pipe(self.fd)
        self.packed: Source | None = None
        if self.regular and path != "-" and (source := Source.find(path)).compression is not None:
            self.packed, self.blocks = source, source.blocks(CHUNK)
        self.check = TextCheck(self.name)
        self.first = b""
        self.tail = b""
        self.returns: bool | None = None  # whether lines end with \r alone; None: unknown

    @property
    def suffix(self) -> str:
        """Suffix of the name, which may indicate the format."""
        return Path(self.name).suffix.lower() if self.packed is None else self.packed.suffix

    def head(self) -> bytes:
        """Return the first whole lines, which `chunks` yields again."""
        while b"\n" not in self.first and not is_binary(self.first) and self.more():
            pass
        if self.growing and self.first and b"\n" not in self.first:
            raise DataError(
                f"{self.name} ends within its first line; run again when that line is complete."
            )
        return self.first[: self.first.rfind(b"\n") + 1] or self.first

    def more(self) -> bool:
        """Extend the head; return whether there was more to read."""
        block = self._read()
        self.first += block
        return bool(block)

    def skip_lines(self, count: int) -> Place:
        """Skip the lines up to the header; return the place after them."""
        place = Place()
        for _ in range(count):
            self.head()
            line, newline, self.first = self.first.partition(b"\n")
            self._remember(line + newline)
            place = Place(place.bytes + len(line + newline), place.lines + 1)
        return place

    def go_to(self, place: Place, expected: str) -> None:
        """Skip to a place; raise DataError if the bytes before it differ."""
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
        if self.checksum() != expected:
            raise DataError(
                f"{self.name} is not the stream that the checkpoint was made on; "
                "give the same stream from its beginning."
            )

    def checksum(self) -> str:
        """Return the checksum of the last bytes before the current place."""
        return hashlib.sha256(self.tail).hexdigest()

    def chunks(self, begin: Place, every: int | None) -> Iterator[Chunk]:
        """Yield whole lines starting at `begin`, also cut at multiples of `every` lines."""
        self.place, self.lines = begin, WholeLines(self._blocks())
        for data in self.lines:
            if self.growing and not data.endswith(b"\n"):
                self.lines.rest = [data]
                return
            for chunk in _cut_at_multiples(Chunk(data, self.place), every):
                yield chunk
                self.place = chunk.end

    @property
    def waits(self) -> Place | None:
        """Place where an unfinished line begins, if there is one."""
        return self.place if any(self.lines.rest) else None

    def _blocks(self) -> Iterator[bytes]:
        block, self.first = self.first, b""
        while block or (block := self._read()):
            yield block
            block = b""

    def passed(self, chunk: Chunk) -> None:
        """Include a processed chunk in the checksum."""
        self._remember(chunk.data)

    def _remember(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-TAIL:] if len(data) < TAIL else data[-TAIL:]

    def _read(self, now: bool = False) -> bytes:
        """Return the next bytes, with newlines in place of lone carriage returns."""
        block = self.check(self._bytes(now) if self.packed is None else next(self.blocks, b""))
        if self.returns is None and (end := re.search(rb"\r(?=[^\n])|\n", block)):
            self.returns = end[0] == b"\r"
        return block.replace(b"\r", b"\n") if self.returns else block

    def _bytes(self, now: bool) -> bytes:
        while True:
            try:
                block = os.read(self.fd, CHUNK)
            except OSError as error:
                raise OpenError(f"cannot read {self.name}: {error.strerror}.") from None
            if block or now or not (self.follow and self.regular):
                return block
            if os.fstat(self.fd).st_size < os.lseek(self.fd, 0, os.SEEK_CUR):
                raise DataError(f"{self.name} has become shorter while it was followed.")
            time.sleep(POLL_SECONDS)


def open_stream(data: str, layout: Layout, follow: bool, growing: bool) -> LineStream | RowStream:
    """Open a stream of lines, or of rows if it is a Parquet file."""
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


def _cut_at_multiples(chunk: Some, every: int | None) -> Iterator[Some]:
    while every is not None and chunk.count > (left := every - chunk.begin.lines % every):
        first, chunk = chunk.split(left)
        yield first
    yield chunk


def _enlarge_pipe(fd: int) -> None:
    """Enlarge the buffer of a pipe where the system can, for fewer and larger reads."""
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE)
