"""Compressed files: recognised by their first bytes, unpacked as they are read."""

from __future__ import annotations

import bz2
import io
import lzma
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa

from rosenblatt.errors import DataError, listed
from rosenblatt.read.foreign import office_document

MAGIC = {
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
SUFFIXES = (".gz", ".gzip", ".zst", ".zstd", ".bz2", ".xz", ".zip")
TROUBLE = (EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, NotImplementedError)
BUFFER = 1 << 18


def compression_of(first: bytes) -> str | None:
    """How a file is compressed, by its first ten bytes."""
    if first.startswith(b"BZh") and first[4:10] in BZ2:
        return "bz2"
    return next((name for magic, name in MAGIC.items() if first.startswith(magic)), None)


def unpacked(path: str, compression: str | None, member: str | None) -> Any:
    """The bytes of a file as PyArrow reads them, a little of them in memory at a time."""
    if compression in (None, "gzip", "zstd"):
        return pa.input_stream(path, compression=compression)
    return pa.PythonFile(io.BufferedReader(Unpacked(path, member, compression), BUFFER), "r")


class Unpacked(io.RawIOBase):
    """The bytes of a bz2, xz or zip file; whatever is wrong with them is an OSError.

    Parameters
    ----------
    path : str
        The file.
    member : str, optional
        The file in a zip.
    compression : str
        "bz2", "xz" or "zip".
    """

    def __init__(self, path: str, member: str | None, compression: str | None) -> None:
        self.file = open(path, "rb")  # noqa: SIM115 (closed with this stream)
        try:
            self.stream = self._opened(member, compression)
        except BaseException as trouble:
            self.file.close()
            if isinstance(trouble, TROUBLE):
                raise OSError(str(trouble)) from None
            raise

    def _opened(self, member: str | None, compression: str | None) -> Any:
        if compression == "zip":
            return zipfile.ZipFile(self.file).open(member or "")
        return bz2.BZ2File(self.file) if compression == "bz2" else lzma.LZMAFile(self.file)

    def readable(self) -> bool:
        """PyArrow asks."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer."""
        try:
            data = self.stream.read(len(buffer))
        except TROUBLE as trouble:
            raise OSError(str(trouble) or "it ends too early") from None
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file too."""
        if not self.closed:
            self.stream.close()
            self.file.close()
        super().close()


def table_in(path: str, name: str) -> str:
    """The file of a zip that holds its one table; refuses what has none or several."""
    try:
        with zipfile.ZipFile(path) as archive:
            inside = [one for one in archive.infolist() if not _is_beside(one.filename)]
            office = office_document(archive)
    except (*TROUBLE, OSError, ValueError) as trouble:
        raise DataError(f"{name} is not a whole zip file: {str(trouble).rstrip('.')}.") from None
    if office is not None:
        raise DataError(f"{name} is {office}.")
    tables = inside if len(inside) == 1 else [one for one in inside if _is_table(one.filename)]
    if len(tables) != 1:
        files = listed([one.filename for one in inside]) or "no file"
        raise DataError(f"{name} holds {files}, not one table; extract the one that is meant.")
    if tables[0].flag_bits & 1:
        raise DataError(f"{name} is a zip file with a password; extract {tables[0].filename}.")
    return tables[0].filename


def size_in(path: str, member: str) -> int:
    """How many bytes a file of a zip says it has once it is unpacked."""
    with zipfile.ZipFile(path) as archive:
        return archive.getinfo(member).file_size


def without_compression(suffixes: list[str]) -> list[str]:
    """The suffixes of a name without that of its compression."""
    return suffixes[:-1] if suffixes and suffixes[-1] in SUFFIXES else suffixes


def _is_beside(name: str) -> bool:
    """Whether it is a folder, or what systems put beside the files that are meant."""
    parts = PurePosixPath(name).parts
    hidden = not parts or parts[-1].startswith(".") or parts[-1] == "Thumbs.db"
    return name.endswith("/") or hidden or parts[0] == "__MACOSX"


def _is_table(name: str) -> bool:
    from rosenblatt.read import READERS

    return PurePosixPath(name).suffix.lower() in READERS
