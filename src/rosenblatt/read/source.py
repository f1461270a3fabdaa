"""Where bytes come from: a file, standard input, either of them compressed."""

from __future__ import annotations

import codecs
import os
import shutil
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from rosenblatt.errors import DataError, OpenError, UserError
from rosenblatt.read.unpack import (
    compression_of,
    size_in,
    table_in,
    unpacked,
    without_compression,
)

HEAD = 1 << 20  # bytes looked at to recognise a format
LONGEST_HEAD = 1 << 28
UNPACKED = 4  # how much larger compressed text is, about
# PyArrow raises its own kinds next to the usual ones.
UNREADABLE = (OSError, pa.ArrowException, UnicodeError)


@dataclass(frozen=True)
class Source:
    """A readable file, and what a person calls it.

    Parameters
    ----------
    name : str
        As messages say it: the path as given, or "standard input".
    path : str
        A file that can be opened again and again; standard input is kept in one.
    compression : {"gzip", "zstd", "bz2", "xz", "zip"}, optional
        Recognised by the first bytes, not by the name.
    kept : file, optional
        The temporary file that ends with this value.
    member : str, optional
        The file in a zip that holds the table.
    """

    name: str
    path: str
    compression: str | None = None
    kept: IO[bytes] | None = None
    member: str | None = None

    @classmethod
    def find(cls, given: str) -> Source:
        """Look at a path, or at standard input for "-"."""
        if given == "-":
            return cls.keep("standard input", sys.stdin.buffer)
        try:
            kind = os.stat(given).st_mode
            if stat.S_ISDIR(kind):
                raise OpenError(f"{given} is a directory; give a file.")
            if not stat.S_ISREG(kind):
                with open(given, "rb") as pipe:
                    return cls.keep(given, pipe)
            return cls._at(given, given)
        except (*UNREADABLE, ValueError) as trouble:  # ValueError: a name with a null byte
            raise cannot_open(given, trouble) from None

    @classmethod
    def keep(cls, name: str, stream: IO[bytes]) -> Source:
        """What a stream holds, in a temporary file."""
        kept = tempfile.NamedTemporaryFile(prefix="rosenblatt-")  # noqa: SIM115 (lives on)
        shutil.copyfileobj(stream, kept, HEAD)
        kept.flush()
        return cls._at(name, kept.name, kept)

    @classmethod
    def _at(cls, name: str, path: str, kept: IO[bytes] | None = None) -> Source:
        with open(path, "rb") as file:
            compression = compression_of(file.read(10))
        member = table_in(path, name) if compression == "zip" else None
        return cls(name, path, compression, kept, member)

    @property
    def suffix(self) -> str:
        """The end of the name that tells the format: .csv of credit.csv.gz."""
        suffixes = [suffix.lower() for suffix in Path(self.member or self.name).suffixes]
        return "".join(without_compression(suffixes)[-1:])

    @property
    def size(self) -> int:
        """About how many bytes there are once they are unpacked."""
        if self.member is not None:
            return size_in(self.path, self.member)
        size = os.path.getsize(self.path)
        return size if self.compression is None else UNPACKED * size

    def open(self) -> Any:
        """The bytes, no longer compressed, as PyArrow reads them."""
        try:
            return unpacked(self.path, self.compression, self.member)
        except UNREADABLE as trouble:
            raise cannot_open(self.name, trouble) from None

    def open_anywhere(self) -> Any:
        """The bytes with seeking, as formats with a footer need them."""
        if self.compression is None:
            try:
                return pa.OSFile(self.path, "rb")
            except UNREADABLE as trouble:
                raise cannot_open(self.name, trouble) from None
        with self.open() as stream:
            return pa.BufferReader(b"".join(iter(lambda: read_some(self, stream, HEAD), b"")))

    def count_lines(self) -> int:
        """How many lines there are, the last one with or without its end."""
        count, last = 0, b"\n"
        with self.open() as stream:
            while block := read_some(self, stream, HEAD):
                count += block.count(b"\n")
                last = block[-1:]
        return count + (last != b"\n")

    def first_undecodable(self) -> int | None:
        """The line, counted from 0, with the first bytes that are not UTF-8 text."""
        decoder, line = codecs.getincrementaldecoder("utf-8")(), 0
        with self.open() as stream:
            while block := read_some(self, stream, HEAD):
                try:
                    line += decoder.decode(block).count("\n")
                except UnicodeDecodeError as bad:
                    return line + bad.object[: bad.start].count(b"\n")
        return line if decoder.getstate()[0] else None  # half a character is left over

    def head(self) -> bytes:
        """The first bytes, cut at the end of a line where the file goes on.

        More are read where lines are so long that they would be fewer than three.
        """
        with self.open() as stream:
            data = more = read_some(self, stream, HEAD)
            while len(more) == HEAD and len(data) < LONGEST_HEAD and data.count(b"\n") < 3:
                more = read_some(self, stream, HEAD)
                data += more
        end = data.rfind(b"\n")
        return data[: end + 1] if len(more) == HEAD and end >= 0 else data


def read_some(source: Source, stream: Any, size: int) -> bytes:
    """Bytes of an open source; refuses one that is damaged."""
    try:
        data: bytes = stream.read(size)
    except UNREADABLE as trouble:
        raise DataError(f"{source.name} is damaged: {one_line(trouble)}") from None
    return data


def cannot_open(name: str, trouble: BaseException) -> UserError:
    """Say why a file cannot be opened."""
    if isinstance(trouble, UserError):
        return trouble
    why = getattr(trouble, "strerror", None) or one_line(trouble).rstrip(".")
    if isinstance(trouble, FileNotFoundError):
        why = "there is no such file"
    elif isinstance(trouble, PermissionError):
        why = "there is no permission to read it"
    return OpenError(f"cannot open {name}: {why}.")


def one_line(trouble: BaseException) -> str:
    """A library's complaint as one line without its own location."""
    text = " ".join(str(trouble).split())
    return (text[:200] + " …" if len(text) > 200 else text).rstrip(".") + "."
