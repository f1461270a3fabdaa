"""Files that are whole or not there: sealed JSON, written beside, synced, then renamed.

A sealed file is JSON with what it is, its version, its content and the SHA-256 of the
content as it is written there. Floats are written with `repr`, which reads back to the same bits.
"""

from __future__ import annotations

import hashlib
import json
import re
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from rosenblatt import strictjson
from rosenblatt.errors import DataError, OpenError, UsageError, shortened
from rosenblatt.files import HALF_WRITTEN, write_text

VERSION = 1
PROGRAM = "rosenblatt"
BEFORE_CONTENT = ', "content": '
Where = str | PathLike[str]


def write_sealed(path: Where, kind: str, content: Any) -> None:
    """Write content to a sealed file; whatever happens, the file is the old one or the new one.

    Parameters
    ----------
    path : path
        The file.
    kind : str
        What it is.
    content : JSON values
        What it holds; finite numbers only.
    """
    text = _canonical(content)
    head = {"program": PROGRAM, "kind": kind, "version": VERSION, "sha256": _digest(text)}
    write_text(fspath(path), f"{json.dumps(head)[:-1]}{BEFORE_CONTENT}{text}}}\n")


def read_sealed(path: Where, kind: str) -> Any:
    """The content of a sealed file; refuses one that is of another kind, broken or changed.

    Parameters
    ----------
    path : path
        The file.
    kind : str
        What it must be.
    """
    data = strictjson.read_text(fspath(path))
    try:
        whole = strictjson.parse(*data)
    except strictjson.NotJsonError as wrong:
        raise DataError(
            f"{path} {wrong}: it is not whole, or was damaged. Use an older copy."
        ) from None
    if not isinstance(whole, dict) or whole.get("program") != PROGRAM:
        raise DataError(f"{path} is not a file of rosenblatt.")
    if whole.get("kind") != kind:
        raise DataError(f"{path} holds a {shortened(repr(whole.get('kind')))}, not a {kind!r}.")
    if whole.get("version") != VERSION:
        raise DataError(
            f"{path} has version {shortened(repr(whole.get('version')))} and this program reads "
            f"version {VERSION}; use the program that wrote it."
        )
    sealed = data.data.decode().partition(BEFORE_CONTENT)[2].rstrip().removesuffix("}")
    if "content" not in whole or _digest(sealed) != whole.get("sha256"):
        raise DataError(f"{path} was changed after it was written: its digest does not fit.")
    return whole["content"]


class CheckpointFolder:
    """A folder that one process at a time keeps its state and position in.

    Parameters
    ----------
    path : path
        The folder; it is made if it is not there.
    """

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
        _lock_or_refuse(self._lock, self.path)
        self._clear()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._lock is not None:
            self._lock.close()  # which also unlocks

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
                f"{self.path} holds the checkpoint of an earlier stream; give --resume to go on "
                "with it, or another folder."
            )
        return read_sealed(self.file, self.KIND)


def _lock_or_refuse(file: IO[bytes], path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no flock; its open files cannot be replaced anyway
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise OpenError(
            f"the checkpoint folder {path} is in use by another process; "
            "wait for it to end or give another folder."
        ) from None


def _canonical(content: Any) -> str:
    return json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
