"""JSON that anyone may have written: read in bounded memory, or refused in one sentence.

How deep it nests and how much it holds are counted in its bytes before anything is built. A seal
is the digest of all else that a file says.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import select
import stat
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np

from rosenblatt.errors import DataError, OpenError, cannot_open, quoted
from rosenblatt.words import shortened

LARGEST = 1 << 30  # bytes of a file
FROM_A_PIPE = 1 << 25  # bytes of what has no size that could be asked for
UNPACKED = 1 << 22  # bytes that any compressed file may hold, and more by
RATIO = 32  # times its own size
MANY_VALUES = 1 << 18  # in any text; in a longer one, one for each byte on disk
MANY_NESTED = 1 << 17  # lists and objects in any text; in a longer one,
NESTED_BYTES = 8  # one for every so many bytes
DEEPEST = 64
DIGITS = 1000  # of a whole number
PIECE = 1 << 20
MOST = 10**9  # that a number of rows or columns can be
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
PIPE_SECONDS = 2.0  # for somebody to begin writing to a pipe
FILES = (  # of this program, by what they say they are
    ("rosenblatt", "model", "a model of rosenblatt learn; rb.load and rosenblatt predict read it"),
    ("rosenblatt", "proof", "a proof; rosenblatt verify reads it"),
    ("rosenblatt", "separation", "a proof of a separation; rosenblatt verify reads it"),
    ("kind", "online perceptron", "a model of a stream; rb.OnlinePerceptron.load reads it"),
    ("kind", "stream checkpoint", "a checkpoint of rosenblatt stream, which resumes from it"),
)

STEPS = np.zeros(256, dtype=np.int8)
STEPS[list(b"[{")] = 1
STEPS[list(b"]}")] = -1


class NotJsonError(ValueError):
    """Why a text is not taken: the rest of a sentence that begins with what it is called."""


class Text(NamedTuple):
    """The bytes of a JSON text, and how many it has on disk."""

    data: bytes
    size: int


def read(path: str) -> Any:
    """The value in a file, which may be compressed; "-" is standard input."""
    text = read_text(path)
    try:
        return parse(*text)
    except NotJsonError as wrong:
        raise DataError(f"{_name(path)} {wrong}.") from None


def parse(text: str | bytes, size: int | None = None) -> Any:
    """The value of a JSON text, which may hold as much as its size on disk warrants.

    Raises NotJsonError.
    """
    try:
        data = text.encode() if isinstance(text, str) else text
        _check_shape(data, len(data) if size is None else size)
        value = json.loads(
            data.decode("utf-8-sig"),
            parse_int=_whole,
            parse_float=_finite,
            parse_constant=_no_constant,
            object_pairs_hook=_once,
        )
        if b"\\ud" in data.lower():  # half a character can be escaped, and written nowhere
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except NotJsonError:
        raise
    except UnicodeError:
        raise NotJsonError("is not UTF-8 text") from None
    except (ValueError, RecursionError, MemoryError):
        raise NotJsonError("is not JSON" if data.strip() else "is empty") from None


def read_text(path: str) -> Text:
    """The bytes of a file that is to hold JSON, unpacked; refuses what is too large."""
    try:
        packed = _read_bytes(path)
    except (OSError, ValueError) as trouble:  # ValueError: a name with a null byte
        raise cannot_open(path, trouble) from None
    kind = next((name for magic, name in COMPRESSIONS.items() if packed.startswith(magic)), None)
    if kind is None:
        return Text(packed, len(packed))
    most = min(LARGEST, max(UNPACKED, RATIO * len(packed)))
    try:
        # Counted before any of it is kept: a small file can hold gigabytes of nothing.
        size = sum(map(len, _blocks(packed, kind, most)))
        if size <= most:
            return Text(b"".join(_blocks(packed, kind, most)), len(packed))
    except (OSError, ValueError):
        raise DataError(f"{_name(path)} is damaged: it cannot be unpacked.") from None
    raise DataError(f"{_name(path)} unpacks to more than {most:,} bytes, too many for its size.")


def _blocks(packed: bytes, kind: str, most: int) -> Iterator[bytes]:
    import pyarrow as pa

    with pa.CompressedInputStream(pa.BufferReader(packed), kind) as stream:
        done = 0
        while done <= most and (block := stream.read(PIECE)):
            yield block
            done += len(block)


def _read_bytes(path: str) -> bytes:
    if path == "-":
        return _at_most("standard input", sys.stdin.buffer)
    status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError
    if stat.S_ISREG(status.st_mode) and status.st_size > LARGEST:
        raise DataError(f"{path} is larger than {LARGEST:,} bytes, more than is read.")
    if stat.S_ISFIFO(status.st_mode):
        with os.fdopen(_begun(path), "rb") as pipe:
            return _at_most(path, pipe)
    with open(path, "rb") as file:
        return file.read() if stat.S_ISREG(status.st_mode) else _at_most(path, file)


def _begun(path: str) -> int:
    """A pipe once something is written to it; opening it would wait for that for ever."""
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not select.select([pipe], [], [], PIPE_SECONDS)[0]:
        os.close(pipe)
        raise OpenError(f"{path} is a pipe that nothing is written to; give a file.")
    os.set_blocking(pipe, True)
    return pipe


def _at_most(name: str, file: BinaryIO) -> bytes:
    data = bytearray()
    while block := file.read(PIECE):
        data += block
        if len(data) > FROM_A_PIPE:
            raise DataError(f"{name} is larger than {FROM_A_PIPE:,} bytes, more than is read.")
    return bytes(data)


def _name(path: str) -> str:
    return "standard input" if path == "-" else path


def _check_shape(data: bytes, size: int) -> None:
    """Refuse what nests too deep or holds too much, as its brackets and commas tell.

    They are right up to the first byte that is not JSON, and no parser gets further.
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
            raise NotJsonError(f"nests lists and objects deeper than {DEEPEST}")
        depth = int(heights[-1]) if len(heights) else depth
        nested += int(np.count_nonzero(steps > 0))
        values += int(np.count_nonzero(outside == ord(",")))
        if nested > max(MANY_NESTED, size // NESTED_BYTES) or values > max(MANY_VALUES, size):
            raise NotJsonError("holds more lists, objects or values than its size warrants")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise NotJsonError(f'has "{shortened(twice)}" twice in one object')
    return value


def _whole(text: str) -> int:
    if len(text) > DIGITS:
        raise NotJsonError(f"has a whole number of {len(text):,} digits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotJsonError(f"has a number that is not finite: {shortened(text)}")
    return number


def _no_constant(text: str) -> NoReturn:
    raise NotJsonError(f"has {text} where JSON has a number")


def seal_of(value: dict[str, Any]) -> str:
    """The digest of what a value says, but for its seal, however it is written."""
    content = {key: part for key, part in value.items() if key != "seal"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def sealed(value: dict[str, Any], ensure_ascii: bool = True, indent: int | None = 1) -> str:
    """The text of a value with its seal."""
    value = {**value, "seal": seal_of(value)}
    return json.dumps(value, indent=indent, ensure_ascii=ensure_ascii, allow_nan=False)


def file_called(value: Any) -> str:
    """What a file of this program is and what reads it; nothing of any other file."""
    for key, kind, what in FILES if isinstance(value, dict) else ():
        if value.get(key) == kind and (key != "kind" or value.get("program") == "rosenblatt"):
            return what
    return ""


class Parts:
    """Reads the parts of a file one by one and says in a sentence which does not fit."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind

    def wrong(self, where: str, what: str) -> NoReturn:
        """Refuse the file."""
        where = shortened(where, most=120)
        raise DataError(f"{self.name} is not a {self.kind} that fits: {where} {what}.")

    def of_format(self, value: Any, expected: int) -> dict[str, Any]:
        """An object of the kind and the format that are read here."""
        if not isinstance(value, dict) or value.get("rosenblatt") != self.kind:
            what = file_called(value) or f"not a {self.kind} of rosenblatt"
            raise DataError(f"{self.name} is {what}.")
        if value.get("format") != expected:
            raise DataError(
                f"{self.name} has format {quoted(value.get('format'))}; "
                f"this version of rosenblatt reads format {expected}."
            )
        return value

    def number(self, value: Any, where: str) -> float:
        """A finite number."""
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
        """A text."""
        if not isinstance(value, str):
            self.wrong(where, "is not a text")
        return value

    def one_of(self, value: Any, choices: Any, where: str) -> str:
        """One of some words."""
        if not isinstance(value, str) or value not in choices:
            self.wrong(where, f"is not one of {', '.join(choices)}")
        return value

    def whole(self, value: Any, where: str, least: int, most: int = MOST) -> int:
        """A whole number in a range."""
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.wrong(where, f"is not a whole number from {least} to {most}")
        return value

    def object(self, value: Any, where: str) -> dict[str, Any]:
        """An object."""
        if not isinstance(value, dict):
            self.wrong(where, "is not an object")
        return value
