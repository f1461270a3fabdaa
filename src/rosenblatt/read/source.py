"""Open files, detect their formats, measure free memory, and read in other threads."""

from __future__ import annotations

import bz2
import codecs
import lzma
import os
import queue
import re
import shutil
import stat
import sys
import tempfile
import threading
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeVar

import numpy as np
import pyarrow as pa

import rosenblatt.engine as engine
from rosenblatt.errors import DataError, Parameter, UsageError, error_line, make_open_error
from rosenblatt.text import join_words

HEAD = 1 << 20  # bytes that are read to detect a format
FIRST = 1000  # bytes in which a null byte shows that a file is not text
# Limits, documented in docs/limits.md: bytes per line of text, columns per table.
LONGEST_LINE, MOST_COLUMNS = 1 << 24, 250_000
UNPACKED = 4  # usual ratio of text to compressed text
# PyArrow has its own errors besides the built-in ones.
PACKING = (EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, NotImplementedError)
UNREADABLE = (OSError, pa.ArrowException, UnicodeError, *PACKING)


@dataclass(frozen=True)
class Layout:
    """Format of a file as the user describes it; fields that are None are detected."""

    format: str | None = None  # one of FORMATS, with or without its dot
    separator: str | None = None  # between cells; " " means any blanks
    header: bool | None = None  # whether the first line holds column names
    decimal: str | None = None
    encoding: str | None = None
    names: tuple[str, ...] | None = None  # column names of a file without header
    types: Mapping[str, Any] = field(default_factory=dict)  # known Arrow types of columns


@dataclass(frozen=True)
class Source:
    """A readable file and its name in messages."""

    name: str  # in messages: the given path, or "standard input"
    path: str  # can be opened several times; a temporary file for standard input
    compression: str | None = None  # gzip, zstd, bz2, xz or zip, by the first bytes
    kept: IO[bytes] | None = None  # temporary file, deleted with this object
    member: str | None = None  # name of the table in a zip file

    @classmethod
    def find(cls, given: str) -> Source:
        """Create a source from a path; "-" is standard input."""
        name, path, kept = "standard input" if given == "-" else given, given, None
        try:
            kind = 0 if given == "-" else os.stat(given).st_mode
            if stat.S_ISDIR(kind):
                raise IsADirectoryError
            if not stat.S_ISREG(kind):  # a pipe can be read only once: keep a copy
                kept = tempfile.NamedTemporaryFile(prefix="rosenblatt-")  # noqa: SIM115
                with nullcontext(sys.stdin.buffer) if given == "-" else open(given, "rb") as pipe:
                    shutil.copyfileobj(pipe, kept, HEAD)
                kept.flush()
                path = kept.name
            with open(path, "rb") as file:
                compression = compression_of(file.read(10))
            member = find_table_in_zip(path, name) if compression == "zip" else None
        except (*UNREADABLE, ValueError) as error:  # ValueError: a name with a null byte
            raise make_open_error(name, error) from None
        return cls(name, path, compression, kept, member)

    @property
    def suffix(self) -> str:
        """Suffix of the name that indicates the format, such as ".csv" for credit.csv.gz."""
        suffixes = [suffix.lower() for suffix in Path(self.member or self.name).suffixes]
        suffixes = suffixes[:-1] if suffixes and suffixes[-1] in PACKED_SUFFIXES else suffixes
        return "".join(suffixes[-1:])

    @property
    def size(self) -> int:
        """Approximate number of bytes after decompression."""
        if self.member is not None:
            with zipfile.ZipFile(self.path) as archive:
                return archive.getinfo(self.member).file_size
        size = os.path.getsize(self.path)
        return size if self.compression is None else UNPACKED * size

    def open_seekable(self) -> Any:
        """Open the decompressed bytes as a seekable file, which Parquet and Arrow need."""
        if self.compression is not None:
            return pa.BufferReader(b"".join(self.blocks()))
        try:
            return pa.OSFile(self.path, "rb")
        except UNREADABLE as error:
            raise make_open_error(self.name, error) from None

    def blocks(self, size: int = HEAD) -> Iterator[bytes]:
        """Yield blocks of the decompressed bytes; raise DataError if the file is damaged."""
        stream: Any
        try:
            if self.compression in (None, "gzip", "zstd"):  # in PyArrow, with little memory
                stream = pa.input_stream(self.path, compression=self.compression)
            elif self.compression == "zip":
                stream = zipfile.ZipFile(self.path).open(self.member or "")  # noqa: SIM115
            else:
                stream = (bz2 if self.compression == "bz2" else lzma).open(self.path)
        except UNREADABLE as error:
            raise make_open_error(self.name, error) from None
        with stream:
            try:
                while block := stream.read(size):
                    yield block
            except UNREADABLE as error:
                raise DataError(f"{self.name} is damaged: {error_line(error)}") from None

    def text(self, size: int = HEAD, encoding: str = "utf-8") -> Iterator[bytes]:
        """Yield blocks of a text file as UTF-8, without its byte-order mark.

        Raises DataError if a line is very long, or if the text is not in the encoding.
        """
        blocks = self.blocks(size)
        if encoding != "utf-8":
            blocks = (part.encode() for part in codecs.iterdecode(blocks, encoding))
        try:
            yield from check_text(self.name, blocks)
        except UnicodeError:
            raise DataError(f"{self.name} is not text in the encoding {encoding}.") from None

    def count_lines(self) -> int:
        """Count the lines; the last line may lack its newline."""
        count, last = 0, b"\n"
        for block in self.blocks():
            count += block.count(b"\n")
            last = block[-1:]
        return count + (last != b"\n")

    def head(self) -> bytes:
        """Return the beginning of the file, as whole lines if possible.

        If lines are long, more bytes are read, until there are three lines.
        """
        blocks = self.blocks()
        first = next(blocks, b"")
        if is_binary(first):
            return first
        parts, lines = list[bytes](), 0
        for block in check_text(self.name, chain((first,), blocks)):
            parts.append(block)
            lines += block.count(b"\n")
            if lines >= 3 and len(first) == HEAD:
                data = b"".join(parts)
                return data[: data.rfind(b"\n") + 1]
        return b"".join(parts)


def check_text(name: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield blocks of text without byte-order mark; raise DataError on a very long line."""
    begun, unfinished, lines = False, 0, 0  # length of the unfinished line, number of others
    for block in blocks:
        if not begun:
            block, begun = block.removeprefix(codecs.BOM_UTF8), bool(block)
        for at in range(0, len(block), LONGEST_LINE):
            part = block[at : at + LONGEST_LINE]  # not longer than the longest line
            mark = b"\n" if b"\n" in part else b"\r"
            first, last = part.find(mark), part.rfind(mark)
            if unfinished + (len(part) if first < 0 else first) > LONGEST_LINE:
                raise DataError(
                    f"{name}, line {lines + 1}: it is longer than {LONGEST_LINE >> 20} "
                    "MB. Check how the lines end, or save the table as Parquet."
                )
            unfinished = len(part) - last - 1 + (unfinished if last < 0 else 0)
            lines += int(np.count_nonzero(np.frombuffer(part, np.uint8) == ord(mark)))
        if block:
            yield block


def last_newline(data: bytes) -> int:
    """Return how many bytes of `data` are whole lines."""
    return data.rfind(b"\n") + 1


def whole_lines(
    blocks: Iterable[bytes],
    cut: Callable[[bytes], int] = last_newline,
    rest: list[bytes] | None = None,
) -> Iterator[bytes]:
    """Regroup blocks of bytes so that each block consists of whole lines.

    `cut` returns how many bytes are whole lines. The list `rest`, if given, always holds the bytes
    after the last whole line.
    """
    rest = [] if rest is None else rest
    for block in blocks:
        rest.append(block)
        if b"\n" in block or b"\r" in block:  # else joining would copy a long line each time
            data = b"".join(rest)
            end = cut(data)
            rest[:] = [data[end:]]
            if end:
                yield data[:end]
    last = b"".join(rest)
    rest.clear()
    if last:
        yield last


def check_names(name: str, columns: Sequence[str]) -> None:
    """Raise DataError if a table has too many columns, or two with the same name."""
    if len(columns) > MOST_COLUMNS:
        advice = "Check how its rows end, or write the nonzero values as LIBSVM"
        raise DataError(
            f"{name} has {len(columns):,} columns, more than {MOST_COLUMNS:,}. {advice}."
        )
    again = [column for column, count in Counter(columns).items() if count > 1]
    if again:
        raise DataError(
            f'{name}: two columns have the name "{min(again)}". Give each column its own name.'
        )


def number_columns(count: int) -> list[str]:
    """Return names for the columns of a file without a header.

    Examples
    --------
    >>> number_columns(2)
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
    b"\xff\xff\xff\xff": "Arrow",
    b"\x93NUMPY": "NumPy",
}
# Byte-order marks: a file that begins with one is text, even with null bytes.
MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
# A first line that can only be LIBSVM.
ENTRIES = re.compile(rb"^\s*[+-]?[\w.,+-]*(\s+qid:\d+)?(\s+\d+:[-+.\deE]+)+\s*(#.*)?$")


def format_of(source: Any, layout: Layout = Layout()) -> str:
    """Return the format that `layout` names, or detect it from a file or stream."""
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
        program = {"bz2": "bzip2 -dc", "zip": "unzip -p"}.get(packed, f"{packed} -dc")
        how = f"unpack them first, as {program} does"
        raise DataError(f"{source.name} holds {packed} data; {how}.")
    if layout.encoding is None and is_binary(head):
        kinds = "a text table (CSV, JSON lines, LIBSVM), Parquet, Arrow or NumPy file"
        raise DataError(f"{source.name} is not {kinds}. Save the table as CSV and give that file.")
    if source.suffix in FORMATS:
        return FORMATS[source.suffix]
    first = next((line for line in head.splitlines() if line.strip()), b"").strip()
    if re.match(rb"\s*(\[\s*)?\{", head):  # the reader explains that an array is wrong
        return "JSON lines"
    return "LIBSVM" if ENTRIES.match(first) else "CSV"


PACKED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",  # an empty zip file
}
BZ2 = (b"1AY&SY", b"\x17rE8P\x90")  # after BZh and a digit: with data, or empty
PACKED_SUFFIXES = (".gz", ".gzip", ".zst", ".zstd", ".bz2", ".xz", ".zip")


def compression_of(first: bytes) -> str | None:
    """Detect the compression from the first ten bytes."""
    if first.startswith(b"BZh") and first[4:10] in BZ2:
        return "bz2"
    return next((name for magic, name in PACKED.items() if first.startswith(magic)), None)


def is_binary(head: bytes) -> bool:
    """Check from its first bytes whether a file is binary rather than text.

    Examples
    --------
    >>> is_binary(b"PAR1"), is_binary(b"GIF89a" + bytes(1)), is_binary(b"age,approved")
    (True, True, False)
    """
    is_known = head.startswith(tuple(MAGIC)) or compression_of(head) is not None
    return is_known or (b"\0" in head[:FIRST] and not head.startswith((b"{", *MARKS)))


def find_table_in_zip(path: str, name: str) -> str:
    """Return the name of the table in a zip file; raise DataError unless there is exactly one."""
    inside = []
    try:
        with zipfile.ZipFile(path) as archive:
            for one in archive.infolist():
                parts = PurePosixPath(one.filename).parts
                hidden = not parts or parts[-1].startswith(".") or parts[-1] == "Thumbs.db"
                if not (one.filename.endswith("/") or hidden or parts[0] == "__MACOSX"):
                    inside.append(one)
    except (*UNREADABLE, ValueError) as error:
        raise DataError(f"{name} is not a whole zip file: {str(error).rstrip('.')}.") from None
    tables = inside
    if len(inside) != 1:
        tables = [one for one in inside if PurePosixPath(one.filename).suffix.lower() in FORMATS]
    if len(tables) != 1:
        files = join_words([one.filename for one in inside]) or "no file"
        raise DataError(f"{name} holds {files}, not one table; extract the table and give it.")
    if tables[0].flag_bits & 1:
        raise DataError(f"{name} is a zip file with a password; extract {tables[0].filename}.")
    return tables[0].filename


CGROUP, OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
LEAST, MOST = 1 << 18, 1 << 23  # bytes per batch; larger batches exceed the cache
SHARE = 256  # a batch gets 1/256 of the free memory; several are in memory at once


def batch_bytes() -> int:
    """Return the maximum number of bytes per batch, a small part of the free memory."""
    free = free_memory()
    return MOST if free is None else max(LEAST, min(MOST, free // SHARE))


def free_memory() -> int | None:
    """Return the free memory in bytes, within container and process limits; None if unknown."""
    left = []
    available = _number("/proc/meminfo", "MemAvailable:")
    if available is not None:
        left.append(1024 * available)
    else:
        with suppress(AttributeError, ValueError, OSError):
            left.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    groups = ""
    with suppress(OSError, UnicodeError):
        groups = OWN_CGROUPS.read_text()
    for line in groups.splitlines():  # limits of the control groups
        _, kinds, name = [*line.split(":", 2), "", ""][:3]
        if kinds and "memory" not in kinds.split(","):
            continue
        top, limit, usage = CGROUP, "memory.max", "memory.current"
        if kinds:  # version 1
            top, limit, usage = top / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        folder = top / name.lstrip("/")
        for place in (folder, *folder.parents):
            most, used = _number(place / limit), _number(place / usage)
            if most is not None and used is not None:
                files = _number(place / "memory.stat", "inactive_file")
                left.append(most - used + (files or 0))  # cached files count as free
            if place == top:
                break
    with suppress(ImportError):  # not available on all systems
        import resource

        for kind, name in ((resource.RLIMIT_AS, "VmSize:"), (resource.RLIMIT_DATA, "VmData:")):
            if (bound := resource.getrlimit(kind)[0]) != resource.RLIM_INFINITY:
                left.append(bound - 1024 * (_number("/proc/self/status", name) or 0))
    return max(0, min(left)) if left else None


def _number(path: str | Path, name: str = "") -> int | None:
    """Read the integer at the beginning of a file, or after `name`; None if there is none."""
    with suppress(OSError, UnicodeError):
        found = re.search(rf"^{name}\s*(\d+)", Path(path).read_text(), re.MULTILINE)
        return None if found is None else int(found[1])
    return None


# Reading in other threads.

T = TypeVar("T")
Item = TypeVar("Item")

READY = 2  # maximum number of items made in advance


def read_in_background(
    items: Iterable[T], ready: int = READY, idle: float | None = None
) -> Generator[T]:
    """Yield items in order while another thread produces them.

    Errors of that thread are raised here. With `idle`, None is yielded after that many seconds
    without an item, and closing early does not wait for the thread, which may be waiting for a line
    of a stream.

    Examples
    --------
    >>> list(read_in_background(x * x for x in range(4)))
    [0, 1, 4, 9]
    """
    made: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(ready)
    enough = threading.Event()

    def make() -> None:
        end: BaseException = StopIteration()
        try:
            for item in items:
                made.put((item, None))
                if enough.is_set():
                    break
        except BaseException as error:
            end = error
        finally:
            if isinstance(items, Generator):
                items.close()  # in the thread that runs it
            if not enough.is_set():
                made.put((None, end))

    maker = threading.Thread(target=make, daemon=True)
    maker.start()
    try:
        while True:
            try:
                item, error = made.get(timeout=idle or 1.0)
            except queue.Empty:
                if not maker.is_alive() and made.empty():
                    raise MemoryError("the thread that reads the data ended unexpectedly") from None
                if idle is not None:
                    yield None  # type: ignore[misc]
                continue
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]
    finally:
        enough.set()
        while not made.empty():  # the thread may be waiting for a free place
            made.get_nowait()
        # The cleanup may run in that thread.
        if idle is None and maker is not threading.current_thread():
            maker.join()


def map_in_threads(
    work: Callable[[Item], T],
    items: Iterable[Item],
    threads: int | None = None,
    idle: float | None = None,
) -> Iterator[T]:
    """Apply `work` to items in several threads; yield the results in order.

    The work is done by one thread per core, or by `threads` threads. With `idle`, None is yielded
    after that many seconds without an item, and closing early does not wait.

    Examples
    --------
    >>> list(map_in_threads(lambda x: x * x, range(4)))
    [0, 1, 4, 9]
    """
    threads = threads or engine.cores()
    pool = ThreadPoolExecutor(threads)
    futures = read_in_background((pool.submit(work, item) for item in items), threads, idle)
    try:
        for future in futures:
            if future is None:
                yield None
            else:
                engine.wait_for((future,))
                yield future.result()
    finally:
        futures.close()
        pool.shutdown(wait=idle is None, cancel_futures=True)
