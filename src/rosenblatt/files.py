"""Write files completely or not at all, and protect files of other programs.

A file with a checksum is JSON with its kind, its format and its content. Floats are written with
`repr`, which reads back to the same bits.
"""

from __future__ import annotations

import errno
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
from rosenblatt.errors import (
    DataError,
    OpenError,
    Parameter,
    UsageError,
    WriteError,
    make_write_error,
)

STANDARD = "-"  # standard input as a source, standard output as a destination
HALF_WRITTEN = ".rosenblatt-tmp"  # suffix of a file that is not complete yet
HEAD = 4096  # bytes that are searched for the mark of this program

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


def write_text(path: str | Path, text: str) -> None:
    """Write a text file completely or not at all."""
    with replacing(path) as beside, open(beside, "w", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def replacing(path: str | Path) -> Iterator[str]:
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


def _resolve_output(path: str | Path) -> Path:
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


def write_checksummed(path: Where, kind: str, content: Any) -> None:
    """Write JSON values and a checksum to a file, completely or not at all."""
    value = {"rosenblatt": kind, "format": strictjson.KINDS[kind].format, "content": content}
    write_text(fspath(path), strictjson.dump_with_checksum(value, indent=None) + "\n")


def read_checksummed(path: Where, kind: str) -> Any:
    """Read the content of a file that `write_checksummed` wrote.

    Raises DataError if the file is of another kind or format, damaged or changed.
    """
    parts = strictjson.Parts(fspath(path), kind)
    try:
        value = parts.of_format(strictjson.parse(*strictjson.read_text(parts.name)))
    except strictjson.NotJsonError as wrong:
        raise DataError(
            f"{path} {wrong}: it is incomplete or damaged. Use an older copy."
        ) from None
    parts.check_checksum(value)
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
