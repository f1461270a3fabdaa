"""Outlets: files that lines are added to and that can be taken back to an earlier length."""

from __future__ import annotations

import os
import stat
import sys

from rosenblatt.errors import DataError, WriteError
from rosenblatt.files import cannot_write
from rosenblatt.words import shown_bytes


class Outlet:
    """A file, or standard output, that a stream writes lines to.

    Parameters
    ----------
    path : str, optional
        The file; standard output if not given.
    """

    def __init__(self, path: str | None) -> None:
        self.name = path or "standard output"
        self.path = path
        try:
            flags = os.O_WRONLY | os.O_CREAT
            self.fd = sys.stdout.fileno() if path is None else os.open(path, flags, 0o666)
            self.is_file = stat.S_ISREG(os.fstat(self.fd).st_mode)
            self.is_terminal = os.isatty(self.fd)
        except OSError as trouble:
            raise cannot_write(self.name, trouble) from None

    def begin(self) -> None:
        """Start: a named file anew, standard output after what it holds already."""
        if not self.is_file:
            return
        if self.path is not None:
            os.ftruncate(self.fd, 0)
        os.lseek(self.fd, 0, os.SEEK_END)

    def take_back(self, length: int | None) -> None:
        """Forget what was written after a checkpoint, when the file had this length."""
        if not self.is_file or length is None:
            return
        has = os.fstat(self.fd).st_size
        if has < length:
            raise DataError(
                f"{self.name} has {has} bytes and had {length} when the checkpoint was made; "
                "give the same file with -o, or append to it with >>."
            )
        os.ftruncate(self.fd, length)
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
            raise WriteError(f"cannot write {self.name}: {trouble.strerror}.") from None

    def settle(self) -> int | None:
        """Make sure that what was written is on the disk; the length of a file."""
        if not self.is_file:
            return None
        os.fsync(self.fd)
        return os.fstat(self.fd).st_size
