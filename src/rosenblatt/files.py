"""Write files completely or not at all; read JSON files that anyone may have written.

A JSON file is read in bounded memory: the nesting depth and the number of values are counted in the
bytes before any object is built. Its checksum, under the key "checksum", is the SHA-256 of all its
other values. Floats are written with `repr`, which reads back to the same bits.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import select
import stat
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, NoReturn, Self

import numpy as np

from rosenblatt.errors import (
    DataError,
    OpenError,
    Parameter,
    UsageError,
    WriteError,
    make_open_error,
    make_write_error,
    quote,
)
from rosenblatt.text import shorten

STANDARD = "-"  # standard input as a source, standard output as a destination
HALF_WRITTEN = ".rosenblatt-tmp"  # suffix of a file that is not complete yet
HEAD = 4096  # bytes that are searched for the mark of this program
LARGEST = 1 << 30  # maximum size of a file in bytes
FROM_A_PIPE = 1 << 25  # maximum number of bytes from a pipe, whose size is unknown
UNPACKED = 1 << 22  # bytes that any compressed file may unpack to, …
RATIO = 32  # … and larger files up to this multiple of their size
MANY_VALUES = 1 << 18  # values allowed in any text; larger files may have one per byte on disk
MANY_NESTED = 1 << 17  # lists and objects allowed in any text; larger texts may have …
NESTED_BYTES = 8  # … one per this number of bytes
DEEPEST = 64
DIGITS = 1000  # maximum length of an integer
PIECE = 1 << 20
STEPS = np.zeros(256, dtype=np.int8)
STEPS[list(b"[{")] = 1
STEPS[list(b"]}")] = -1
MOST = 10**9  # maximum number of rows or columns
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
PIPE_SECONDS = 2.0  # maximum wait for the first byte of a pipe

Where = str | PathLike[str]


def keep_apart(reads: Mapping[str, str | None], writes: Mapping[str, str | None]) -> None:
    """Raise UsageError if an output is also an input or another output.

    Files are compared, not names, so that links, other spellings and redirections are found. The
    keys of `reads` are nouns, those of `writes` options; "-" is standard input. Standard output is
    always among the outputs.
    """
    used = {_identity(path, 0): what for what, path in reads.items() if path is not None}
    for option, path in {"standard output": STANDARD, **writes}.items():
        if path is None or (path == STANDARD and option != "standard output"):
            continue
        place = _identity(path, 1)
        called = option if path == STANDARD else f"{option} {path}"
        if place is not None and place in used:
            raise UsageError(f"{called} is {used[place]}; give another name.")
        if path != STANDARD:
            _resolve_output(path)
        used[place] = f"the output of {called}"


def check_overwrite(path: str, mark: bytes, what: str, advice: str) -> None:
    """Raise UsageError if a file exists and is not from rosenblatt."""
    if not os.path.isfile(path):
        return
    try:
        with open(path, "rb") as file:
            ours = mark in file.read(HEAD)
    except OSError:
        ours = False
    if not ours:
        raise UsageError(f"{path} exists and is not {what} that rosenblatt wrote; {advice}.")


def _identity(path: str, standard: int) -> Hashable:
    """Return a key that is the same for all paths of one file.

    Pipes and devices have the key None.
    """
    try:
        found = os.fstat(standard) if path == STANDARD else os.stat(path)
    except (OSError, ValueError):
        if path == STANDARD:
            return None
    else:
        return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None
    # The file does not exist yet: its folder and its name. On some systems, names that differ in
    # case or in the encoding of an accent are the same.
    where, missing = os.path.realpath(path), []
    while not os.path.exists(where) and os.path.dirname(where) != where:
        where, name = os.path.split(where)
        missing.append(unicodedata.normalize("NFC", name).casefold())
    folder = os.stat(where)
    return (folder.st_dev, folder.st_ino, *missing)


def write_text(path: Where, text: str) -> None:
    """Write a text file completely or not at all."""
    with replacing(path) as beside, open(beside, "w", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def replacing(path: Where) -> Iterator[str]:
    """Yield the path of a temporary file that replaces `path` at the end."""
    place = _resolve_output(path)
    beside = ""
    try:
        if place.exists() and not place.is_file():
            # A pipe or /dev/null cannot be replaced by renaming.
            yield str(place)
            return
        handle, beside = tempfile.mkstemp(
            # Shortened because a name of the maximum length leaves no space for a suffix.
            dir=place.parent,
            prefix=f".{place.name[:40]}.",
            suffix=HALF_WRITTEN,
        )
        os.close(handle)
        yield beside
        _sync_and_rename(beside, place)
    except OSError as trouble:
        if isinstance(trouble, WriteError | BrokenPipeError):
            raise  # a pipe that broke is another output
        raise make_write_error(path, trouble) from None
    finally:
        if beside:
            with suppress(OSError):
                os.unlink(beside)


def _resolve_output(path: Where) -> Path:
    """Follow symbolic links; raise WriteError if the path cannot hold a file."""
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise WriteError(f"cannot write {path}: it is a directory.")
    if place.is_symlink():
        raise make_write_error(path, OSError(errno.ELOOP, "its symbolic links form a loop"))
    if not place.parent.is_dir():
        missing = NotADirectoryError if place.parent.exists() else FileNotFoundError
        raise make_write_error(path, missing())
    return place


def _sync_and_rename(beside: str, place: Path) -> None:
    """Flush a temporary file to disk, then let it replace `place`."""
    with open(beside, "rb+") as file:
        os.fsync(file.fileno())
    mask = os.umask(0)
    os.umask(mask)
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~mask
    os.chmod(beside, mode)
    os.replace(beside, place)
    with suppress(OSError):  # some file systems do not sync directories
        folder = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


# JSON files of rosenblatt.


class FileKind(NamedTuple):
    """Kind of file that rosenblatt writes."""

    format: int
    description: str  # what the file is and what reads it
    remedy: str  # what to do with a file of an older format


KINDS = {
    "model": FileKind(
        2,
        "a model; rb.load and rosenblatt predict read it",
        "Create it again with rosenblatt learn or rosenblatt stream, or with save in Python",
    ),
    "proof": FileKind(
        3,
        "a proof; rosenblatt verify reads it",
        "Create it again with rosenblatt separable, or with rosenblatt.separability in Python",
    ),
    "separation": FileKind(
        2,
        "a proof of a separation; rosenblatt verify reads it",
        "Create it again with rosenblatt separation, or with rosenblatt.separation in Python",
    ),
    "stream checkpoint": FileKind(
        2,
        "a checkpoint of rosenblatt stream, which resumes from it",
        "Start again in another folder",
    ),
    "dask checkpoint": FileKind(
        2, "a checkpoint of a fit on Dask, which resumes from it", "Call fit without resume"
    ),
}
EARLIER = {"online perceptron": "model", "rounds of mixing": "dask checkpoint"}


class NotJsonError(ValueError):
    """Error about invalid JSON; its message does not name the file."""


def read_json(path: Where, remedy: str = "") -> Any:
    """Read a JSON file, which may be compressed; "-" is standard input."""
    path = os.fspath(path)
    name = "standard input" if path == STANDARD else path
    try:
        data = _read_bytes(path, name)
    except (OSError, ValueError) as trouble:  # ValueError: a name with a null byte
        raise make_open_error(path, trouble) from None
    size = len(data)
    kind = next((name for magic, name in COMPRESSIONS.items() if data.startswith(magic)), None)
    try:
        return parse_json(data if kind is None else _unpack(data, kind, name), size)
    except NotJsonError as wrong:
        raise DataError(f"{name} {wrong}{remedy}.") from None


def parse_json(text: str | bytes, size: int | None = None) -> Any:
    """Parse a JSON text; raise NotJsonError if it is invalid or too complex.

    `size` is the number of bytes on disk, which limits the number of values.
    """
    try:
        data = text.encode() if isinstance(text, str) else text
        _check_shape(data, len(data) if size is None else size)
        value = json.loads(
            data.decode("utf-8-sig"),
            parse_int=_parse_int,
            parse_float=_parse_float,
            parse_constant=_reject_constant,
            object_pairs_hook=_parse_object,
        )
        if b"\\ud" in data.lower():  # a lone surrogate can be escaped, but not encoded
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except NotJsonError:
        raise
    except UnicodeError:
        raise NotJsonError("is not UTF-8 text") from None
    except (ValueError, RecursionError, MemoryError):
        raise NotJsonError("is not JSON" if data.strip() else "is empty") from None


def _unpack(packed: bytes, kind: str, name: str) -> bytes:
    """Decompress a file; raise DataError if it is damaged or becomes too large."""
    import pyarrow as pa

    most = min(LARGEST, max(UNPACKED, RATIO * len(packed)))

    def blocks() -> Iterator[bytes]:
        with pa.CompressedInputStream(pa.BufferReader(packed), kind) as stream:
            done = 0
            while done <= most and (block := stream.read(PIECE)):
                yield block
                done += len(block)

    try:
        # Count the bytes before keeping any: a small file can unpack to gigabytes.
        if sum(map(len, blocks())) <= most:
            return b"".join(blocks())
    except (OSError, ValueError):
        raise DataError(f"{name} is damaged: it cannot be unpacked.") from None
    raise DataError(
        f"{name} unpacks to more than {most:,} bytes, the maximum for a compressed file of this "
        "size."
    )


def _read_bytes(path: str, name: str) -> bytes:
    if path == STANDARD:
        return _at_most(name, sys.stdin.buffer)
    status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError
    if stat.S_ISREG(status.st_mode) and status.st_size > LARGEST:
        raise DataError(f"{path} is larger than {LARGEST:,} bytes, the maximum.")
    if stat.S_ISFIFO(status.st_mode):
        pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        if not select.select([pipe], [], [], PIPE_SECONDS)[0]:
            os.close(pipe)
            raise OpenError(f"{path} is a pipe to which nothing is written; give a file.")
        os.set_blocking(pipe, True)
        with os.fdopen(pipe, "rb") as opened:
            return _at_most(path, opened)
    with open(path, "rb") as file:
        return file.read() if stat.S_ISREG(status.st_mode) else _at_most(path, file)


def _at_most(name: str, file: BinaryIO) -> bytes:
    data = bytearray()
    while block := file.read(PIECE):
        data += block
        if len(data) > FROM_A_PIPE:
            raise DataError(
                f"{name} is larger than {FROM_A_PIPE:,} bytes, the maximum for input that is not "
                "a file; save it as a file first."
            )
    return bytes(data)


def _check_shape(data: bytes, size: int) -> None:
    """Raise NotJsonError if JSON nests too deeply or has too many values.

    Counts brackets and commas, rightly up to the first byte that is not JSON, where the parser
    stops.
    """
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    quotes = depth = nested = values = 0
    for begin in range(0, len(plain), PIECE):
        piece = np.frombuffer(plain, np.uint8, min(PIECE, len(plain) - begin), begin)
        parity = (np.cumsum(piece == ord('"'), dtype=np.int64) + quotes) % 2
        outside = piece[parity == 0]
        quotes = int(parity[-1])
        steps = STEPS[outside]
        heights = np.cumsum(steps, dtype=np.int64) + depth
        if heights.max(initial=0) > DEEPEST:
            raise NotJsonError(f"nests lists and objects more than {DEEPEST} levels deep")
        depth = int(heights[-1]) if len(heights) else depth
        nested += int(np.count_nonzero(steps > 0))
        values += int(np.count_nonzero(outside == ord(",")))
        if nested > max(MANY_NESTED, size // NESTED_BYTES) or values > max(MANY_VALUES, size):
            raise NotJsonError(
                "has more lists, objects or values than are accepted for its number of bytes"
            )


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise NotJsonError(f'has the key "{shorten(twice)}" twice in one object')
    return value


def _parse_int(text: str) -> int:
    if len(text) > DIGITS:
        raise NotJsonError(f"has an integer of {len(text):,} digits, more than {DIGITS:,}")
    return int(text)


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotJsonError(f"has a number that is not finite: {shorten(text)}")
    return number


def _reject_constant(text: str) -> NoReturn:
    raise NotJsonError(f"has {text}, which is not a JSON number")


def compute_checksum(value: dict[str, Any]) -> str:
    """Return the SHA-256 of a JSON object without its checksum."""
    content = {key: part for key, part in value.items() if key != "checksum"}
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def dump_with_checksum(
    value: dict[str, Any], ensure_ascii: bool = True, indent: int | None = 1
) -> str:
    """Return the JSON text of an object with a checksum added."""
    value = {**value, "checksum": compute_checksum(value)}
    return json.dumps(value, indent=indent, ensure_ascii=ensure_ascii, allow_nan=False)


def kind_of_file(value: Any) -> str:
    """Return the kind of a JSON file, or "" if it is unknown."""
    if not isinstance(value, dict):
        return ""
    kind = value.get("rosenblatt")
    if value.get("program") == "rosenblatt":  # as version 0.1 wrote checkpoints and streams
        kind = value.get("kind")
        kind = EARLIER.get(kind, kind) if isinstance(kind, str) else ""
    return kind if isinstance(kind, str) and kind in KINDS else ""


class Parts:
    """Checks of values from a file, which raise DataError on an invalid value."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind

    def wrong(self, where: str, what: str) -> NoReturn:
        """Raise DataError about an invalid value in the file."""
        where = shorten(where, most=120)
        raise DataError(f"{self.name} is not a valid {self.kind}: {where} {what}.")

    def of_format(self, value: Any) -> dict[str, Any]:
        """Return the content of a file; raise DataError if its kind or format number is wrong."""
        found = kind_of_file(value)
        if found != self.kind:
            what = KINDS[found].description if found else f"not a {self.kind} of rosenblatt"
            raise DataError(f"{self.name} is {what}.")
        expected, _, remedy = KINDS[self.kind]
        if value.get("format") != expected:
            older = value.get("format", value.get("version"))
            raise DataError(
                f"{self.name} has format {quote(older)}; this version of rosenblatt reads format "
                f"{expected}. {remedy}."
            )
        return dict(value)

    def check_checksum(self, value: dict[str, Any]) -> None:
        """Raise DataError if the checksum of an object does not match its content."""
        if value.get("checksum") != compute_checksum(value):
            raise DataError(
                f"{self.name} was changed after it was written: its checksum does not match. "
                "Give the file as it was written, or create it again."
            )

    def number(self, value: Any, where: str) -> float:
        """Return the value if it is a finite number; else raise DataError."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.wrong(where, "is not a number")
        try:
            result = float(value)
        except OverflowError:
            result = math.inf
        if not math.isfinite(result):
            self.wrong(where, "is not a finite number")
        return result

    def text(self, value: Any, where: str) -> str:
        """Return the value if it is text; else raise DataError."""
        if not isinstance(value, str):
            self.wrong(where, "is not text")
        return value

    def one_of(self, value: Any, choices: Any, where: str) -> str:
        """Return the value if it is one of the choices; else raise DataError."""
        if not isinstance(value, str) or value not in choices:
            self.wrong(where, f"is not one of {', '.join(choices)}")
        return value

    def whole(self, value: Any, where: str, least: int, most: int = MOST) -> int:
        """Return the value if it is an integer in a range; else raise DataError."""
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.wrong(where, f"is not an integer from {least} to {most}")
        return value

    def object(self, value: Any, where: str) -> dict[str, Any]:
        """Return the value if it is an object; else raise DataError."""
        if not isinstance(value, dict):
            self.wrong(where, "is not an object")
        return value


def write_checksummed(path: Where, kind: str, content: Any) -> None:
    """Write JSON values and a checksum to a file, completely or not at all."""
    value = {"rosenblatt": kind, "format": KINDS[kind].format, "content": content}
    write_text(path, dump_with_checksum(value, indent=None) + "\n")


def read_checksummed(path: Where, kind: str) -> Any:
    """Read the content of a file that `write_checksummed` wrote.

    Raises DataError if the file is of another kind or format, damaged or changed.
    """
    parts = Parts(os.fspath(path), kind)
    value = read_json(path, ": it is incomplete or damaged. Use an older copy")
    parts.check_checksum(parts.of_format(value))
    return value.get("content")


class CheckpointFolder:
    """Folder with the checkpoint of a stream, locked against other processes."""

    KIND = "stream checkpoint"

    def __init__(self, path: Where) -> None:
        self.path = Path(path)
        self.file = self.path / "checkpoint.json"
        self.lock = self.path / "lock"
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = open(self.lock, "ab")  # held until __exit__
        except OSError as error:
            raise OpenError(
                f"the checkpoint folder {self.path} cannot be opened: {error.strerror}."
            ) from None
        try:
            import fcntl
        except ImportError:  # Windows has no flock; its open files cannot be replaced anyway
            pass
        else:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._lock.close()
                raise OpenError(
                    f"the checkpoint folder {self.path} is in use by another process; "
                    "wait for it to end or give another folder."
                ) from None
        # Incomplete checkpoints that a killed process left.
        ours = re.compile(rf"\.{re.escape(self.file.name)}\.[a-z0-9_]{{8}}{HALF_WRITTEN}")
        for left in self.path.iterdir():
            if ours.fullmatch(left.name) and left.is_file() and not left.is_symlink():
                left.unlink(missing_ok=True)
        return self

    def __exit__(self, *error: object) -> None:
        if self._lock is not None:
            self._lock.close()  # which also unlocks

    def write(self, content: Any) -> None:
        """Write a checkpoint, replacing the previous one."""
        write_checksummed(self.file, self.KIND, content)

    def read(self, resume: bool) -> Any | None:
        """Return the checkpoint to resume from, or None if there is none."""
        if not self.file.exists():
            return None
        if not resume:
            raise UsageError(
                f"{self.path} has the checkpoint of an earlier stream; give ",
                Parameter("resume", True),
                " to continue it, or another folder.",
            )
        return read_checksummed(self.file, self.KIND)
