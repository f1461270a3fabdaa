"""Where bytes come from: a file or standard input, packed or not; how much memory they may take."""

from __future__ import annotations

import bz2
import codecs
import lzma
import os
import re
import shutil
import stat
import sys
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol

import numpy as np
import pyarrow as pa

from rosenblatt.errors import DataError, UsageError, cannot_open, one_line
from rosenblatt.messages import Parameter
from rosenblatt.words import listed

HEAD = 1 << 20  # bytes looked at to recognise a format
FIRST = 1000  # bytes in which a null byte tells that a file is not text
# What is refused beyond, as docs/limits.md says: bytes of a line of text, columns of a table.
LONGEST_LINE, MOST_COLUMNS = 1 << 24, 250_000
UNPACKED = 4  # how much larger compressed text is, about
# PyArrow raises its own kinds next to the usual ones.
PACKING = (EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, NotImplementedError)
UNREADABLE = (OSError, pa.ArrowException, UnicodeError, *PACKING)


@dataclass(frozen=True)
class Layout:
    """What a person said about a file; None means: find out."""

    format: str | None = None  # one of FORMATS, with or without its dot
    separator: str | None = None  # between the cells of a line; " " stands for any blanks
    header: bool | None = None  # whether the first line has the names of the columns
    decimal: str | None = None
    encoding: str | None = None
    names: tuple[str, ...] | None = None  # of the columns in a file without header
    types: Mapping[str, Any] = field(default_factory=dict)  # Arrow's, of columns where it is known


@dataclass(frozen=True)
class Source:
    """A readable file, and what a person calls it."""

    name: str  # as messages say it: the path as given, or "standard input"
    path: str  # can be opened again and again; standard input is kept in a file
    compression: str | None = None  # gzip, zstd, bz2, xz or zip, by the first bytes
    kept: IO[bytes] | None = None  # the temporary file that ends with this value
    member: str | None = None  # the file in a zip that holds the table

    @classmethod
    def find(cls, given: str) -> Source:
        """Look at a path, or at standard input for "-"."""
        if given == "-":
            return cls.keep("standard input", sys.stdin.buffer)
        try:
            kind = os.stat(given).st_mode
            if stat.S_ISDIR(kind):
                raise IsADirectoryError
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
        suffixes = suffixes[:-1] if suffixes and suffixes[-1] in PACKED_SUFFIXES else suffixes
        return "".join(suffixes[-1:])

    @property
    def size(self) -> int:
        """About how many bytes there are once they are unpacked."""
        if self.member is not None:
            with zipfile.ZipFile(self.path) as archive:
                return archive.getinfo(self.member).file_size
        size = os.path.getsize(self.path)
        return size if self.compression is None else UNPACKED * size

    def open(self) -> Any:
        """The bytes, no longer compressed, as PyArrow reads them, a few in memory at a time."""
        try:
            if self.compression in (None, "gzip", "zstd"):
                return pa.input_stream(self.path, compression=self.compression)
            if self.compression == "zip":
                return pa.PythonFile(zipfile.ZipFile(self.path).open(self.member or ""), "r")
            return pa.PythonFile((bz2 if self.compression == "bz2" else lzma).open(self.path), "r")
        except UNREADABLE as trouble:
            raise cannot_open(self.name, trouble) from None

    def open_anywhere(self) -> Any:
        """The bytes with seeking, as formats with a footer need them."""
        if self.compression is None:
            try:
                return pa.OSFile(self.path, "rb")
            except UNREADABLE as trouble:
                raise cannot_open(self.name, trouble) from None
        return pa.BufferReader(b"".join(self.blocks()))

    def blocks(self, size: int = HEAD) -> Iterator[bytes]:
        """The bytes, no longer compressed, so many at a time; refuses a file that is damaged."""
        with self.open() as stream:
            try:
                while block := stream.read(size):
                    yield block
            except UNREADABLE as trouble:
                raise DataError(f"{self.name} is damaged: {one_line(trouble)}") from None

    def text(self, size: int = HEAD) -> Iterator[bytes]:
        """Yield the blocks of a text file, checked as they are read."""
        return map(TextCheck(self.name), self.blocks(size))

    def count_lines(self) -> int:
        """How many lines there are, the last one with or without its end."""
        count, last = 0, b"\n"
        for block in self.blocks():
            count += block.count(b"\n")
            last = block[-1:]
        return count + (last != b"\n")

    def head(self) -> bytes:
        """Return the first bytes, cut at the end of a line where the file goes on.

        More are read where lines are so long that they would be fewer than three.
        """
        check, parts, lines, size = TextCheck(self.name), list[bytes](), 0, 0
        for block in self.blocks():
            binary = not parts and is_binary(block)
            parts.append(block if binary else check(block))
            lines, size = lines + block.count(b"\n"), len(block)
            if binary or size < HEAD or lines >= 3:
                break
        data = b"".join(parts)
        end = data.rfind(b"\n")
        return data[: end + 1] if size == HEAD and end >= 0 else data


class TextCheck:
    """Checks blocks of text as they are read: no byte-order mark of UTF-8, no endless line."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.begun = False
        self.open = 0  # bytes of the line whose end has not been read
        self.lines = 0  # that have ended

    def __call__(self, block: bytes) -> bytes:
        """Return the block; refuse a line that is too long as soon as that is known."""
        if not self.begun:
            block, self.begun = block.removeprefix(codecs.BOM_UTF8), bool(block)
        for at in range(0, len(block), LONGEST_LINE):  # in a part there is no such line
            self._check(block[at : at + LONGEST_LINE])
        return block

    def _check(self, part: bytes) -> None:
        mark = b"\n" if b"\n" in part else b"\r"
        first, last = part.find(mark), part.rfind(mark)
        if self.open + (len(part) if first < 0 else first) > LONGEST_LINE:
            raise DataError(
                f"{self.name}, line {self.lines + 1}: it is longer than {LONGEST_LINE >> 20} MB. "
                "Check how the lines end, or save the table as Parquet."
            )
        self.open = len(part) - last - 1 + (self.open if last < 0 else 0)
        self.lines += int(np.count_nonzero(np.frombuffer(part, np.uint8) == ord(mark)))


class WholeLines:
    """Blocks of bytes cut again where lines end; `rest` is what there is of a line without end."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self.blocks = blocks
        self.rest: list[bytes] = []

    def __iter__(self) -> Iterator[bytes]:
        for block in self.blocks:
            at = block.rfind(b"\n") + 1
            lines = b"".join((*self.rest, memoryview(block)[:at])) if at else b""  # copied once
            self.rest = [block[at:]] if at else [*self.rest, block]
            if lines:
                yield lines
        last, self.rest = b"".join(self.rest), []
        if last:
            yield last


def too_wide(name: str, columns: int) -> DataError:
    """Return the refusal of a table that has too many columns."""
    advice = "Look at how its rows end, or write what is not zero as LIBSVM"
    return DataError(f"{name} has {columns:,} columns, more than {MOST_COLUMNS:,}. {advice}.")


def twice(names: Iterable[str]) -> str | None:
    """The first name, in alphabetical order, that comes more than once.

    Examples
    --------
    >>> twice(["b", "c", "b", "a", "a"]), twice(["a", "b"])
    ('a', None)
    """
    return min((name for name, count in Counter(names).items() if count > 1), default=None)


def numbered(count: int) -> list[str]:
    """The names of the columns of a file without header.

    Examples
    --------
    >>> numbered(2)
    ['column 1', 'column 2']
    """
    return [f"column {i}" for i in range(1, count + 1)]


FORMATS = {
    ".csv": "CSV",
    ".tsv": "CSV",
    ".tab": "CSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".libsvm": "LIBSVM",
    ".svmlight": "LIBSVM",
    ".svm": "LIBSVM",
    ".npy": "NumPy",
}
MAGIC = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"FEA1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow",
    b"\x93NUMPY": "NumPy",
}
# Byte-order marks: a file that begins with one is text, though it may hold null bytes.
MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
# A first line that can be nothing but LIBSVM.
ENTRIES = re.compile(rb"^\s*[+-]?[\w.,+-]*(\s+qid:\d+)?(\s+\d+:[-+.\deE]+)+\s*(#.*)?$")


class Begun(Protocol):
    """What has a name and a beginning: a file, or a stream whose end is not there yet."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def suffix(self) -> str:
        """The end of the name that tells the format."""

    def head(self) -> bytes:
        """The first bytes, whole lines if there are any."""


def format_of(source: Begun, layout: Layout = Layout()) -> str:
    """The format of a file: as asked, or by its first bytes, its name, its first line."""
    if layout.format is not None:
        suffix = "." + layout.format.lower().lstrip(".")
        if suffix not in FORMATS:
            names = ", ".join(suffix.lstrip(".") for suffix in FORMATS)
            raise UsageError(
                Parameter("format", layout.format), f" is not a known format; give one of {names}."
            )
        return FORMATS[suffix]
    head = source.head()
    for magic, name in MAGIC.items():
        if head.startswith(magic):
            return name
    if (packed := compression_of(head)) is not None:
        how = f"unpack them first, as {UNPACKS[packed]} does"
        raise DataError(f"{source.name} holds {packed} data; {how}.")
    if layout.encoding is None and is_binary(head):
        kinds = "a text table (CSV, JSON lines, LIBSVM), Parquet, Arrow or NumPy file"
        raise DataError(f"{source.name} is not {kinds}. Save the table as CSV and give that file.")
    if source.suffix in FORMATS:
        return FORMATS[source.suffix]
    first = next((line for line in head.splitlines() if line.strip()), b"").strip()
    if re.match(rb"\s*(\[\s*)?\{", head):  # one JSON array, too: its reader says what is wrong
        return "JSON lines"
    return "LIBSVM" if ENTRIES.match(first) else "CSV"


PACKED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",  # of nothing
}
BZ2 = (b"1AY&SY", b"\x17rE8P\x90")  # after BZh and a digit: data, or none
UNPACKS = {
    "gzip": "gzip -dc",
    "zstd": "zstd -dc",
    "xz": "xz -dc",
    "bz2": "bzip2 -dc",
    "zip": "unzip -p",
}
PACKED_SUFFIXES = (".gz", ".gzip", ".zst", ".zstd", ".bz2", ".xz", ".zip")


def compression_of(first: bytes) -> str | None:
    """How a file is compressed, by its first ten bytes."""
    if first.startswith(b"BZh") and first[4:10] in BZ2:
        return "bz2"
    return next((name for magic, name in PACKED.items() if first.startswith(magic)), None)


def is_binary(head: bytes) -> bool:
    """Return whether a file that begins so is not a table written as text.

    Examples
    --------
    >>> is_binary(b"PAR1"), is_binary(b"GIF89a" + bytes(1)), is_binary(b"age,approved")
    (True, True, False)
    """
    is_known = head.startswith(tuple(MAGIC)) or compression_of(head) is not None
    return is_known or (b"\0" in head[:FIRST] and not head.startswith((b"{", *MARKS)))


def table_in(path: str, name: str) -> str:
    """The file of a zip that holds its one table; refuses what has none or several."""
    try:
        with zipfile.ZipFile(path) as archive:
            inside = [one for one in archive.infolist() if not _is_beside(one.filename)]
    except (*UNREADABLE, ValueError) as trouble:
        raise DataError(f"{name} is not a whole zip file: {str(trouble).rstrip('.')}.") from None
    tables = inside
    if len(inside) != 1:
        tables = [one for one in inside if PurePosixPath(one.filename).suffix.lower() in FORMATS]
    if len(tables) != 1:
        files = listed([one.filename for one in inside]) or "no file"
        raise DataError(f"{name} holds {files}, not one table; extract the one that is meant.")
    if tables[0].flag_bits & 1:
        raise DataError(f"{name} is a zip file with a password; extract {tables[0].filename}.")
    return tables[0].filename


def _is_beside(name: str) -> bool:
    """Whether it is a folder, or what systems put beside the files that are meant."""
    parts = PurePosixPath(name).parts
    hidden = not parts or parts[-1].startswith(".") or parts[-1] == "Thumbs.db"
    return name.endswith("/") or hidden or parts[0] == "__MACOSX"


CGROUP = Path("/sys/fs/cgroup")
LEAST, MOST = 1 << 18, 1 << 23  # bytes of a batch; larger ones leave the cache
SHARE = 256  # a batch takes at most this part: several are held at once, and kernels compiled


def batch_bytes() -> int:
    """How large a batch may be: a small part of what is free."""
    free = free_memory()
    return MOST if free is None else max(LEAST, min(MOST, free // SHARE))


def free_memory() -> int | None:
    """The bytes this process may still take: of the machine, its control group, its limits."""
    known = [room for room in (_machine(), _group(), *_limits()) if room is not None]
    return max(0, min(known)) if known else None


def _machine() -> int | None:
    available = _fields("/proc/meminfo").get("MemAvailable")
    if available is not None:
        return 1024 * available
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _group() -> int | None:
    """What the control groups of this process allow; pages of files are given back on demand."""
    rooms = []
    for line in _lines("/proc/self/cgroup"):
        _, kinds, name = [*line.split(":", 2), "", ""][:3]
        if kinds and "memory" not in kinds.split(","):
            continue
        top = CGROUP / "memory" if kinds else CGROUP
        limit, usage = (
            ("memory.limit_in_bytes", "memory.usage_in_bytes")
            if kinds
            else ("memory.max", "memory.current")
        )
        folder = top / name.lstrip("/")
        for place in (folder, *folder.parents):
            most, used = _number(place / limit), _number(place / usage)
            if most is not None and used is not None:
                files = _fields(place / "memory.stat").get("inactive_file", 0)
                rooms.append(most - used + files)
            if place == top:
                break
    return min(rooms, default=None)


def _limits() -> list[int]:
    """What the limits on addresses and on data leave."""
    try:
        import resource
    except ImportError:  # not on this system
        return []
    status = _fields("/proc/self/status")
    pairs = ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData"))
    limits = [(resource.getrlimit(kind)[0], 1024 * status.get(name, 0)) for kind, name in pairs]
    return [most - used for most, used in limits if most != resource.RLIM_INFINITY]


def _lines(path: str | Path) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except (OSError, UnicodeError):
        return []


def _fields(path: str | Path) -> dict[str, int]:
    words = (line.replace(":", " ").split() for line in _lines(path))
    return {w[0]: int(w[1]) for w in words if len(w) > 1 and w[1].isdigit()}


def _number(path: Path) -> int | None:
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].isdigit() else None
