"""Files: written whole or not at all, never over what is read, nor over what is not ours.

A sealed file is JSON with what it is, its version, its content and the SHA-256 of the content as
it is written there. Floats are written with `repr`, which reads back to the same bits.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import tempfile
import unicodedata
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, Self

import rosenblatt.strictjson as strictjson
from rosenblatt.errors import DataError, OpenError, UsageError, WriteError, cannot_write, quoted
from rosenblatt.messages import Parameter

STANDARD = "-"  # standard input among what is read, standard output among what is written
HALF_WRITTEN = ".rosenblatt-tmp"  # the end of the name of a file that is not whole yet
HEAD = 4096  # bytes in which a file of this program says so
VERSION = 1  # of sealed files
PROGRAM = "rosenblatt"
BEFORE_CONTENT = ', "content": '

Where = str | PathLike[str]


def keep_apart(reads: Mapping[str, str | None], writes: Mapping[str, str | None]) -> None:
    """Refuse to write over what is read, or two things to one file, before any is touched.

    Files are compared, not names: links, other spellings and redirections do not help. What is
    read is given as a sentence calls it, what is written by its option; "-" is standard input,
    and standard output is always among what is written.
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
    """Refuse to replace a file that this program did not write.

    Such a file of this program has the mark at its beginning.
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
    """Write a text file so that a full disk or a crash leaves the old one whole."""
    with replacing(path) as beside, open(beside, "w", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def replacing(path: str | Path) -> Iterator[str]:
    """A path beside the given one to write to; it takes its place when all went well."""
    place = _followed(path)
    beside = ""
    try:
        if place.exists() and not place.is_file():
            # A pipe or /dev/null has no place to rename into.
            yield str(place)
            return
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


def write_sealed(path: Where, kind: str, content: Any) -> None:
    """Write JSON values to a sealed file; whatever happens, it is the old one or the new one."""
    text = json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    head = {"program": PROGRAM, "kind": kind, "version": VERSION, "sha256": digest}
    write_text(fspath(path), f"{json.dumps(head)[:-1]}{BEFORE_CONTENT}{text}}}\n")


def read_sealed(path: Where, kind: str) -> Any:
    """The content of a sealed file; refuses one that is of another kind, broken or changed."""
    data = strictjson.read_text(fspath(path))
    try:
        whole = strictjson.parse(*data)
    except strictjson.NotJsonError as wrong:
        raise DataError(
            f"{path} {wrong}: it is not whole, or was damaged. Use an older copy."
        ) from None
    if not isinstance(whole, dict) or whole.get("program") != PROGRAM:
        what = strictjson.file_called(whole) or "not a file of rosenblatt"
        raise DataError(f"{path} is {what}.")
    if whole.get("kind") != kind:
        if what := strictjson.file_called(whole):
            raise DataError(f"{path} is {what}.")
        raise DataError(f"{path} holds a {quoted(whole.get('kind'))}, not a {kind!r}.")
    if whole.get("version") != VERSION:
        raise DataError(
            f"{path} has version {quoted(whole.get('version'))} and this program reads "
            f"version {VERSION}; use the program that wrote it."
        )
    text = data.data.decode().partition(BEFORE_CONTENT)[2].rstrip().removesuffix("}")
    digest = hashlib.sha256(text.encode()).hexdigest()
    if "content" not in whole or digest != whole.get("sha256"):
        raise DataError(f"{path} was changed after it was written: its digest does not fit.")
    return whole["content"]


class CheckpointFolder:
    """A folder that one process at a time keeps its state and position in; made if need be."""

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
        self._hold(self._lock)
        self._clear()
        return self

    def __exit__(self, *error: object) -> None:
        if self._lock is not None:
            self._lock.close()  # which also unlocks

    def _hold(self, lock: IO[bytes]) -> None:
        try:
            import fcntl
        except ImportError:  # Windows has no flock; its open files cannot be replaced anyway
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise OpenError(
                f"the checkpoint folder {self.path} is in use by another process; "
                "wait for it to end or give another folder."
            ) from None

    def _clear(self) -> None:
        """Remove what a killed process left half-written; other files are not ours to touch."""
        ours = re.compile(rf"\.{re.escape(self.file.name)}\.[a-z0-9_]{{8}}{HALF_WRITTEN}")
        for left in self.path.iterdir():
            if ours.fullmatch(left.name) and left.is_file() and not left.is_symlink():
                left.unlink(missing_ok=True)

    def write(self, content: Any) -> None:
        """Keep a new checkpoint in place of the last."""
        write_sealed(self.file, self.KIND, content)

    def read(self, resume: bool) -> Any | None:
        """The last checkpoint, or None where there is none; it is read only to resume."""
        if not self.file.exists():
            return None
        if not resume:
            raise UsageError(
                f"{self.path} holds the checkpoint of an earlier stream; give ",
                Parameter("resume", True),
                " to continue it, or another folder.",
            )
        return read_sealed(self.file, self.KIND)
