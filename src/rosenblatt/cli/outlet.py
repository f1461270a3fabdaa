"""Output files of a stream, which can be truncated to their length at a checkpoint."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rosenblatt.cli.console import print_note
from rosenblatt.errors import DataError, UsageError, make_write_error
from rosenblatt.text import plural, sanitize_lines

BLOCK = 1 << 20
MISSING = -1  # used as the descriptor of a file that does not exist


@dataclass(frozen=True)
class Fingerprint:
    """Name, length and checksum by which a checkpoint recognizes an output file."""

    name: str | None  # without its folder, so that output and checkpoint may be moved together
    begun: int = 0  # bytes that were there before the stream began
    length: int | None = None  # None unless it is a regular file
    sha256: str | None = None  # of the bytes written; None if they cannot be read back


class Outlet:
    """A file or standard output, to which a stream is written."""

    def __init__(self, option: str, path: str | None) -> None:
        # option names the file, for example "--output"; path is None for standard output.
        self.name = path or "standard output"
        self.option, self.path = option, path
        self.short_name = None if path is None else os.path.basename(path)
        self.fd = MISSING
        self.is_file, self.is_terminal = True, False
        self._open(os.O_WRONLY)
        self.begun = 0
        self.hash: Any = None

    @property
    def length(self) -> int:
        """The current length of the file in bytes."""
        return 0 if self.fd == MISSING else os.fstat(self.fd).st_size

    def create(self) -> None:
        """Create the file if it does not exist."""
        if self.fd == MISSING:
            self._open(os.O_WRONLY | os.O_CREAT)

    def begin(self, hashed: bool) -> None:
        """Begin to write: truncate a named file, or append to redirected standard output.

        With `hashed`, a checksum of the written bytes is computed.
        """
        if not self.is_file:
            return
        if self.path is not None:
            os.ftruncate(self.fd, 0)
        self.begun = os.lseek(self.fd, 0, os.SEEK_END)
        self.hash = hashlib.sha256() if hashed else None

    def require_empty(self) -> None:
        """Raise UsageError if the file is not empty, since its checkpoint is missing."""
        if self.is_file and self.path is not None and self.length:
            raise UsageError(
                f"{self.option} {self.path} is not empty, and there is no checkpoint for it; "
                "give the folder of its checkpoint, or leave out --resume to overwrite it."
            )

    def check(self, kept: dict[str, Any], ended: bool) -> Fingerprint:
        """Raise an error unless the file is the one that the checkpoint records, still unchanged.

        `kept` is the fingerprint in the checkpoint. `ended` means that the stream had ended, so
        that nothing was written after the checkpoint.
        """
        known = Fingerprint(**kept)
        if known.name != self.short_name or (known.length is not None and not self.is_file):
            before = f"{self.option} {known.name}" if known.name else "standard output"
            raise UsageError(
                f"the checkpoint was made for {before}, not for {self.name}; "
                "give the same file to resume."
            )
        if known.length is None:
            self.require_empty()
            return known
        if self.length < known.length:
            raise DataError(
                f"{self.name} has {plural(self.length, 'byte')}, but had {known.length:,} when the "
                "checkpoint was made; give the same file with -o, or append to it with >>."
            )
        self.begun, self.hash = known.begun, self._hash_written(known)
        if self.hash is not None and known.sha256 not in (None, self.hash.hexdigest()):
            raise DataError(
                f"{self.name} was changed since the checkpoint was made, or is another file; "
                "restore the file, or start again with another checkpoint folder."
            )
        if ended and self.path is not None and self.length > known.length:
            raise DataError(
                f"{self.name} was changed since the checkpoint was made: it has "
                f"{plural(self.length - known.length, 'byte')} more; move these bytes to another "
                "file first."
            )
        return known

    def truncate(self, known: Fingerprint, ended: bool, folder: Path) -> None:
        """Remove the bytes that were written after a checkpoint.

        Bytes that another program may have written are saved in the checkpoint's folder.
        """
        if known.length is None:
            self.begin(hashed=True)
            return
        if self.length > known.length and (ended or known.length == known.begun):
            self._save_rest(known.length, folder / f"{known.name or 'output'}.removed")
        os.ftruncate(self.fd, known.length)
        os.lseek(self.fd, 0, os.SEEK_END)

    def write(self, data: bytes) -> None:
        """Write all bytes, without a buffer."""
        view = memoryview(sanitize_lines(data) if self.is_terminal else data)
        try:
            while view:
                view = view[os.write(self.fd, view) :]
        except BrokenPipeError:
            raise
        except OSError as trouble:
            raise make_write_error(self.name, trouble) from None
        if self.hash is not None:
            self.hash.update(data)

    def sync(self) -> dict[str, Any]:
        """Flush the file to disk and return its fingerprint."""
        if not self.is_file:
            return asdict(Fingerprint(self.short_name))
        os.fsync(self.fd)
        sha256 = None if self.hash is None else self.hash.hexdigest()
        return asdict(Fingerprint(self.short_name, self.begun, self.length, sha256))

    def _open(self, flags: int) -> None:
        path = self.path
        try:
            self.fd = sys.stdout.fileno() if path is None else os.open(path, flags, 0o666)
        except OSError as trouble:
            if isinstance(trouble, FileNotFoundError) and not flags & os.O_CREAT:
                return
            raise make_write_error(self.name, trouble) from None
        self.is_file = stat.S_ISREG(os.fstat(self.fd).st_mode)
        self.is_terminal = os.isatty(self.fd)

    def _hash_written(self, known: Fingerprint) -> Any:
        """Hash the bytes written before a checkpoint; return None if they cannot be read."""
        assert known.length is not None
        hashed, left = hashlib.sha256(), known.length - known.begun
        if self.fd == MISSING:
            return hashed  # the file was empty
        with suppress(OSError), open(self.path or f"/dev/fd/{self.fd}", "rb") as file:
            file.seek(known.begun)
            while left > 0 and (block := file.read(min(left, BLOCK))):
                hashed.update(block)
                left -= len(block)
            return hashed
        return None

    def _save_rest(self, length: int, place: Path) -> None:
        with suppress(OSError), open(self.path or f"/dev/fd/{self.fd}", "rb") as file:
            file.seek(length)
            rest = file.read()
            with open(place, "ab") as kept:
                kept.write(rest)
                os.fsync(kept.fileno())
            print_note(
                f"{plural(len(rest), 'byte')} at the end of {self.name} are in no checkpoint; "
                f"moved to {place}."
            )
