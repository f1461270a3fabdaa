"""Files written whole or not at all: beside their place first, then renamed into it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rosenblatt.errors import WriteError


def write_text(path: str | Path, text: str) -> None:
    """Write a text file so that a full disk or a crash leaves the old one whole.

    Parameters
    ----------
    path : path
        Where to.
    text : str
        What to write, as UTF-8.
    """
    with replacing(path) as beside, open(beside, "w", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def replacing(path: str | Path) -> Iterator[str]:
    """A path beside the given one to write to; it takes its place when all went well."""
    place = Path(path)
    if place.exists() and not place.is_file():
        # A pipe or /dev/null has no place to rename into.
        if place.is_dir():
            raise WriteError(f"cannot write {path}: it is a directory.")
        yield str(place)
        return
    beside = ""
    try:
        handle, beside = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
        os.close(handle)
        yield beside
        _settle(beside, place)
    except OSError as trouble:
        if isinstance(trouble, WriteError):
            raise
        raise cannot_write(path, trouble) from None
    finally:
        if beside:
            with suppress(OSError):
                os.unlink(beside)


def _settle(beside: str, place: Path) -> None:
    """Make sure the bytes are on the disk, then rename, then make sure of the name."""
    with open(beside, "rb+") as file:
        os.fsync(file.fileno())
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask()
    os.chmod(beside, mode)
    os.replace(beside, place)
    with suppress(OSError):  # some file systems do not sync directories
        folder = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def cannot_write(path: str | Path, trouble: OSError) -> WriteError:
    """Say why a file cannot be written."""
    why = {
        FileNotFoundError: "there is no such folder",
        PermissionError: "there is no permission to write there",
        NotADirectoryError: "its folder is a file",
    }.get(type(trouble), trouble.strerror or str(trouble))
    return WriteError(f"cannot write {path}: {why}.")
