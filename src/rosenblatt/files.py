"""Files: written whole or not at all, never over what is read, nor over what is not ours."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import unicodedata
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from rosenblatt.errors import UsageError, WriteError

STANDARD = "-"  # standard input among what is read, standard output among what is written
HALF_WRITTEN = ".rosenblatt-tmp"  # the end of the name of a file that is not whole yet
HEAD = 4096  # bytes in which a file of this program says so


def keep_apart(reads: Mapping[str, str | None], writes: Mapping[str, str | None]) -> None:
    """Refuse to write over what is read, or two things to one file, before any is touched.

    Files are compared, not names: links, other spellings and redirections do not help.
    Standard output is always among what is written.

    Parameters
    ----------
    reads : mapping of str to path
        What is read, as a sentence calls it, and where; "-" is standard input.
    writes : mapping of str to path
        The option that names a file to write, and the file.
    """
    taken = {_identity(path, 0): what for what, path in reads.items() if path is not None}
    for option, path in {"standard output": STANDARD, **writes}.items():
        if path is None or (path == STANDARD and option != "standard output"):
            continue
        place = _identity(path, 1)
        called = option if path == STANDARD else f"{option} {path}"
        if place is not None and place in taken:
            raise UsageError(f"{called} is {taken[place]}; give another name.")
        if path != STANDARD:
            _followed(path)
        taken[place] = f"what {called} writes to"


def keep_others(path: str, mark: bytes, what: str, advice: str) -> None:
    """Refuse to replace a file under a name that nobody gave, unless this program wrote it.

    Parameters
    ----------
    path : str
        The file.
    mark : bytes
        What is at the beginning of such a file of this program.
    what : str
        What it would be: "a model".
    advice : str
        What to do instead.
    """
    if not os.path.isfile(path):
        return
    try:
        with open(path, "rb") as file:
            ours = mark in file.read(HEAD)
    except OSError:
        ours = False
    if not ours:
        raise UsageError(f"{path} is there and is not {what} that rosenblatt wrote; {advice}.")


def _identity(path: str, standard: int) -> Hashable:
    """What two names of one file have in common; None for a pipe, a terminal or a device."""
    try:
        found = os.fstat(standard) if path == STANDARD else os.stat(path)
    except (OSError, ValueError):
        return None if path == STANDARD else _place(path)
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _place(path: str) -> Hashable:
    """Where a file will be that is not there yet.

    Some systems take names for the same that differ in case, or in how an accent is written.
    """
    where, missing = os.path.realpath(path), []
    while not os.path.exists(where) and os.path.dirname(where) != where:
        where, name = os.path.split(where)
        missing.append(unicodedata.normalize("NFC", name).casefold())
    folder = os.stat(where)
    return (folder.st_dev, folder.st_ino, *missing)


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
    place = _followed(path)
    if place.exists() and not place.is_file():
        # A pipe or /dev/null has no place to rename into.
        yield str(place)
        return
    beside = ""
    try:
        handle, beside = tempfile.mkstemp(
            # A name of the greatest length would be too long with more added to it.
            dir=place.parent,
            prefix=f".{place.name[:40]}.",
            suffix=HALF_WRITTEN,
        )
        os.close(handle)
        yield beside
        _settle(beside, place)
    except OSError as trouble:
        if isinstance(trouble, WriteError | BrokenPipeError):
            raise  # a pipe is not this file: what is told beside it has lost its reader
        raise cannot_write(path, trouble) from None
    finally:
        if beside:
            with suppress(OSError):
                os.unlink(beside)


def _followed(path: str | Path) -> Path:
    """The file that a path leads to, through symbolic links; refuses one that cannot be written."""
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise WriteError(f"cannot write {path}: it is a directory.")
    if place.is_symlink():
        raise cannot_write(path, OSError(errno.ELOOP, "its symbolic links lead to one another"))
    if not place.parent.is_dir():
        missing = NotADirectoryError if place.parent.exists() else FileNotFoundError
        raise cannot_write(path, missing())
    return place


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
