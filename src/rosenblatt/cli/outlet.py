"""Outlets: files that lines are added to and that can be taken back to an earlier length."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rosenblatt.cli.console import tell
from rosenblatt.errors import DataError, UsageError, cannot_write
from rosenblatt.words import counted, shown_bytes

BLOCK = 1 << 20
MISSING = -1  # in place of a descriptor


@dataclass(frozen=True)
class Seal:
    """By which an output is known again: its name, and what was written to it, if it is a file."""

    name: str | None  # without its folder, so that all may be moved together
    begun: int = 0  # bytes that were there before
    length: int | None = None
    sha256: str | None = None  # of what was written; None where that cannot be read back


class Outlet:
    """A file, or standard output, that a stream writes lines to; it is made only by `create`."""

    def __init__(self, option: str, path: str | None) -> None:
        # The option that names it, "--output" say, and the file; None for standard output.
        self.name = path or "standard output"
        self.option, self.path = option, path
        self.fd = MISSING
        self.is_file, self.is_terminal = True, False
        self._open(os.O_WRONLY)
        self.begun = 0
        self.hash: Any = None

    @property
    def length(self) -> int:
        """How long the file is."""
        return 0 if self.fd == MISSING else os.fstat(self.fd).st_size

    def create(self) -> None:
        """Make a file that is not there yet."""
        if self.fd == MISSING:
            self._open(os.O_WRONLY | os.O_CREAT)

    def begin(self, sealed: bool) -> None:
        """Start: a named file anew, standard output after what it holds already.

        Sealed, what is written can be known again.
        """
        if not self.is_file:
            return
        if self.path is not None:
            os.ftruncate(self.fd, 0)
        self.begun = os.lseek(self.fd, 0, os.SEEK_END)
        self.hash = hashlib.sha256() if sealed else None

    def refuse_unless_empty(self) -> None:
        """Without its checkpoint, what a stream is to go on with would be lost."""
        if self.is_file and self.path is not None and self.length:
            raise UsageError(
                f"{self.option} {self.path} is not empty and there is no checkpoint that it goes "
                "with; give the folder of its checkpoint, or leave out --resume to write it anew."
            )

    def check(self, kept: dict[str, Any], ended: bool) -> Seal:
        """Refuse a file that is not the one of a checkpoint, or was changed since.

        `kept` is its seal; `ended` says that the stream ended in order then, so that nothing was
        written afterwards.
        """
        seal = Seal(**kept)
        if seal.name != self._short_name or (seal.length is not None and not self.is_file):
            raise UsageError(
                f"the checkpoint was made with {self.option} {seal.name or 'to standard output'}, "
                f"not {self.name}; give the same file to go on."
            )
        if seal.length is None:
            self.refuse_unless_empty()
            return seal
        if self.length < seal.length:
            raise DataError(
                f"{self.name} has {counted(self.length, 'byte')} and had {seal.length:,} when the "
                "checkpoint was made; give the same file with -o, or append to it with >>."
            )
        self.begun, self.hash = seal.begun, self._written(seal)
        if self.hash is not None and seal.sha256 not in (None, self.hash.hexdigest()):
            raise DataError(
                f"{self.name} was changed since the checkpoint was made, or is another file; "
                "give the file as it was, or start anew in another checkpoint folder."
            )
        if ended and self.path is not None and self.length > seal.length:
            raise DataError(
                f"{self.name} was changed since the checkpoint was made: it has "
                f"{counted(self.length - seal.length, 'byte')} more; move them elsewhere first."
            )
        return seal

    def take_back(self, seal: Seal, ended: bool, folder: Path) -> None:
        """Forget what was written after a checkpoint.

        What may have been written by others is kept in the folder of the checkpoint.
        """
        if seal.length is None:
            self.begin(sealed=True)
            return
        if self.length > seal.length and (ended or seal.length == seal.begun):
            self._keep_rest(seal.length, folder / f"{seal.name or 'output'}.taken-back")
        os.ftruncate(self.fd, seal.length)
        os.lseek(self.fd, 0, os.SEEK_END)

    def write(self, data: bytes) -> None:
        """Write all of it now."""
        view = memoryview(shown_bytes(data) if self.is_terminal else data)
        try:
            while view:
                view = view[os.write(self.fd, view) :]
        except BrokenPipeError:
            raise
        except OSError as trouble:
            raise cannot_write(self.name, trouble) from None
        if self.hash is not None:
            self.hash.update(data)

    def settle(self) -> dict[str, Any]:
        """Make sure that what was written is on the disk; by what it is known again."""
        if not self.is_file:
            return asdict(Seal(self._short_name))
        os.fsync(self.fd)
        sha256 = None if self.hash is None else self.hash.hexdigest()
        return asdict(Seal(self._short_name, self.begun, self.length, sha256))

    @property
    def _short_name(self) -> str | None:
        return None if self.path is None else os.path.basename(self.path)

    def _open(self, flags: int) -> None:
        path = self.path
        try:
            self.fd = sys.stdout.fileno() if path is None else os.open(path, flags, 0o666)
        except OSError as trouble:
            if isinstance(trouble, FileNotFoundError) and not flags & os.O_CREAT:
                return
            raise cannot_write(self.name, trouble) from None
        self.is_file = stat.S_ISREG(os.fstat(self.fd).st_mode)
        self.is_terminal = os.isatty(self.fd)

    def _written(self, seal: Seal) -> Any:
        """The hash of what was written before, where a system lets it be read back."""
        assert seal.length is not None
        hashed, left = hashlib.sha256(), seal.length - seal.begun
        if self.fd == MISSING:
            return hashed  # as it was: of no length
        with suppress(OSError), open(self.path or f"/dev/fd/{self.fd}", "rb") as file:
            file.seek(seal.begun)
            while left > 0 and (block := file.read(min(left, BLOCK))):
                hashed.update(block)
                left -= len(block)
            return hashed
        return None

    def _keep_rest(self, length: int, place: Path) -> None:
        with suppress(OSError), open(self.path or f"/dev/fd/{self.fd}", "rb") as file:
            file.seek(length)
            rest = file.read()
            with open(place, "ab") as kept:
                kept.write(rest)
                os.fsync(kept.fileno())
            tell(
                f"{counted(len(rest), 'byte')} that no checkpoint knows, from the end of "
                f"{self.name}, are now in {place}."
            )
