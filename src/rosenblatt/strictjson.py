"""Read untrusted JSON files in bounded memory, and check the values in them.

The nesting depth and the number of values are counted in the bytes before any object is built. The
checksum of a file, under the key "checksum", is the SHA-256 of all its other values.
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

from rosenblatt.errors import DataError, OpenError, make_open_error, quote
from rosenblatt.text import shorten

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
MOST = 10**9  # maximum number of rows or columns
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
PIPE_SECONDS = 2.0  # maximum wait for the first byte of a pipe


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

STEPS = np.zeros(256, dtype=np.int8)
STEPS[list(b"[{")] = 1
STEPS[list(b"]}")] = -1


class NotJsonError(ValueError):
    """Error about invalid JSON; its message does not name the file."""


def read(path: str) -> Any:
    """Read a JSON file, which may be compressed; "-" is standard input."""
    text = read_text(path)
    try:
        return parse(*text)
    except NotJsonError as wrong:
        raise DataError(f"{_name(path)} {wrong}.") from None


def parse(text: str | bytes, size: int | None = None) -> Any:
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


def read_text(path: str) -> tuple[bytes, int]:
    """Read and decompress a JSON file; also return its size on disk.

    Raises DataError if the file is too large.
    """
    try:
        packed = _read_bytes(path)
    except (OSError, ValueError) as trouble:  # ValueError: a name with a null byte
        raise make_open_error(path, trouble) from None
    kind = next((name for magic, name in COMPRESSIONS.items() if packed.startswith(magic)), None)
    if kind is None:
        return packed, len(packed)
    most = min(LARGEST, max(UNPACKED, RATIO * len(packed)))
    try:
        # Count the bytes before keeping any: a small file can unpack to gigabytes.
        size = sum(map(len, _blocks(packed, kind, most)))
        if size <= most:
            return b"".join(_blocks(packed, kind, most)), len(packed)
    except (OSError, ValueError):
        raise DataError(f"{_name(path)} is damaged: it cannot be unpacked.") from None
    raise DataError(
        f"{_name(path)} unpacks to more than {most:,} bytes, the maximum for a compressed file of "
        "this size."
    )


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


def _name(path: str) -> str:
    return "standard input" if path == "-" else path


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
