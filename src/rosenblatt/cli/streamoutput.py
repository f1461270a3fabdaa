"""Output of a stream: predictions, rejected lines, notes on bad lines and a status line."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.cli.shared import print_note
from rosenblatt.errors import DataError, UsageError, make_write_error
from rosenblatt.online import OnlinePerceptron
from rosenblatt.read.feed import BadLine
from rosenblatt.text import plural, sanitize_lines

BLOCK = 1 << 20
MISSING = -1  # used as the descriptor of a file that does not exist
REPORTED = 100  # maximum number of different reasons for bad lines that are printed
STATUS_SECONDS = 0.5  # minimum interval between two status lines


@dataclass(frozen=True)
class Fingerprint:
    """Name, length and checksum by which a checkpoint recognizes an output file."""

    name: str | None  # without its folder, so that output and checkpoint may be moved together
    begun: int = 0  # bytes that were there before the stream began
    length: int | None = None  # None unless it is a regular file
    sha256: str | None = None  # of the bytes written; None if they cannot be read back


class Outlet:
    """Output file of a stream that can be truncated to its length at a checkpoint.

    Nothing is created or truncated before `create` and `start`, so that all outputs can be checked
    first.
    """

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
        self.known: Fingerprint | None = None  # the file at the checkpoint
        self.ended = False  # whether the stream had ended, so that nothing was written later

    @property
    def length(self) -> int:
        """The current length of the file in bytes."""
        return 0 if self.fd == MISSING else os.fstat(self.fd).st_size

    def require_empty(self) -> None:
        """Raise UsageError if the file, whose length no checkpoint records, is not empty."""
        if self.is_file and self.path is not None and self.length:
            raise UsageError(
                f"{self.option} {self.path} is not empty, and there is no checkpoint for it; "
                "give the folder of its checkpoint, or leave out --resume to overwrite it."
            )

    def check(self, kept: dict[str, Any], ended: bool) -> None:
        """Raise an error if the file has changed since the checkpoint.

        `kept` is the fingerprint in the checkpoint; `ended` means that the stream had ended.
        """
        known = self.known = Fingerprint(**kept)
        self.ended = ended
        if known.name != self.short_name or (known.length is not None and not self.is_file):
            before = f"{self.option} {known.name}" if known.name else "standard output"
            raise UsageError(
                f"the checkpoint was made for {before}, not for {self.name}; "
                "give the same file to resume."
            )
        if known.length is None:
            self.require_empty()
            return
        if self.length < known.length:
            raise DataError(
                f"{self.name} has {plural(self.length, 'byte')}, but had {known.length:,} when the "
                "checkpoint was made; give the same file with -o, or append to it with >>."
            )
        self.begun = known.begun
        self.hash = self._hash_written(known.length)
        if self.hash is not None and known.sha256 not in (None, self.hash.hexdigest()):
            raise DataError(
                f"{self.name} was changed since the checkpoint was made, or is another file; "
                "restore the file, or start again with another checkpoint folder."
            )
        if ended and self.path is not None and self.length > known.length:
            raise DataError(
                f"{self.name} was changed since the checkpoint was made: it has "
                f"{plural(self.length - known.length, 'byte')} more at the end; move these bytes "
                "to another file, then resume."
            )

    def create(self) -> None:
        """Create the file if it does not exist."""
        if self.fd == MISSING:
            self._open(os.O_WRONLY | os.O_CREAT)

    def start(self, folder: Path | None) -> None:
        """Truncate the file to its length at the checkpoint, or to length 0.

        Redirected standard output is appended to. Bytes that another program may have written are
        saved in `folder`, the checkpoint's folder.
        """
        if not self.is_file:
            return
        if self.known is None or self.known.length is None:
            if self.path is not None:
                os.ftruncate(self.fd, 0)
            self.begun = os.lseek(self.fd, 0, os.SEEK_END)
            self.hash = None if folder is None else hashlib.sha256()
            return
        length = self.known.length
        if folder is not None and self.length > length and (self.ended or length == self.begun):
            with suppress(OSError), open(self.path or f"/dev/fd/{self.fd}", "rb") as file:
                file.seek(length)
                rest = file.read()
                place = folder / f"{self.short_name or 'output'}.removed"
                with open(place, "ab") as kept:
                    kept.write(rest)
                    os.fsync(kept.fileno())
                print_note(
                    f"{plural(len(rest), 'byte')} at the end of {self.name} are in no checkpoint; "
                    f"moved to {place}."
                )
        os.ftruncate(self.fd, length)
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

    def _hash_written(self, length: int) -> Any:
        """Hash the bytes that the stream wrote, up to `length`; return None if unreadable."""
        hashed, left = hashlib.sha256(), length - self.begun
        if self.fd == MISSING:
            return hashed  # the file was empty
        with suppress(OSError), open(self.path or f"/dev/fd/{self.fd}", "rb") as file:
            file.seek(self.begun)
            while left > 0 and (block := file.read(min(left, BLOCK))):
                hashed.update(block)
                left -= len(block)
            return hashed
        return None


def format_predictions(predictions: NDArray[Any], labels: tuple[Any, ...]) -> bytes:
    r"""Format predicted labels as lines of bytes; None becomes an empty line.

    Examples
    --------
    >>> format_predictions(np.array([None, "ham", "spam"]), ("ham", "spam"))
    b'\nham\nspam\n'
    """
    lines = []
    for label in labels:
        text = label if isinstance(label, str) else json.dumps(label)
        text = json.dumps(text) if "\n" in text or "\0" in text else text
        lines.append(text.encode() + b"\n")
    which = np.full(len(predictions), len(labels))
    for place, label in enumerate(labels):
        which[np.asarray(predictions == label, dtype=bool)] = place
    padded: bytes = np.array([*lines, b"\n"])[which].tobytes()  # NumPy pads them with zeros
    return padded.replace(b"\0", b"")


class BadLines:
    """Reporter of bad lines: prints each reason once, and at the end how often it occurred."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.later: Counter[str] = Counter()  # reason -> number of later lines
        self.first: dict[str, int] = {}  # reason -> number of its first line
        self.others = 0

    def add(self, bad: list[BadLine]) -> None:
        """Print the first bad line for each new reason, and count the others."""
        new: dict[str, list[int]] = {}
        for line in bad:
            if line.why in self.first:
                self.later[line.why] += 1
            elif line.why in new or len(self.first) + len(new) < REPORTED:
                new.setdefault(line.why, []).append(line.number)
            else:
                self.others += 1
        for why, numbers in new.items():
            self.first[why] = numbers[0]
            more = len(numbers) - 1
            like = f" (and {plural(more, 'more line', 'more lines')} like it)" if more else ""
            print_note(f"{self.name}, line {numbers[0]}: {why}{like}; skipped.")

    def end(self) -> None:
        """Print how many more lines were skipped for each reason already printed."""
        for why, count in self.later.items():
            more = plural(count, "later line")
            print_note(f"{self.name}: skipped {more} like line {self.first[why]}: {why}.")
        if self.others:
            more = plural(self.others, "more bad line")
            print_note(f"{self.name}: skipped {more} for other reasons.")


class StreamStatus:
    """Status line of a stream: rows, mistakes and speed so far."""

    def __init__(
        self, model: OnlinePerceptron, before: int, margin: float | None, quiet: bool
    ) -> None:
        self.model, self.margin, self.quiet = model, margin, quiet
        self.begun = self.last = time.monotonic()
        self.before = before
        self.terminal = sys.stderr.isatty()

    def show(self, predicted: int, bad: int, final: bool = False) -> None:
        """Print the status line at the end, and on a terminal twice a second."""
        soon = time.monotonic() - self.last <= STATUS_SECONDS
        if self.quiet or (not final and (soon or not self.terminal)):
            return
        self.last = time.monotonic()
        clear = "\r\033[K" if self.terminal else ""
        end = "\n" if final else ""
        print(clear + self.line(predicted, bad), end=end, file=sys.stderr, flush=True)

    def rate(self, predicted: int) -> float:
        """Return the number of rows processed per second."""
        elapsed = time.monotonic() - self.begun
        return (predicted - self.before) / max(elapsed, 1e-9)

    def line(self, predicted: int, bad: int) -> str:
        """Summarize rows, mistakes, bound and speed in one line."""
        model = self.model
        parts = [f"{plural(predicted, 'row')} predicted", f"{model.n_seen:,} trained on"]
        if model.n_seen:
            share = model.n_mistakes / model.n_seen
            parts.append(f"{plural(model.n_mistakes, 'mistake')} ({100 * share:.2f} %)")
            recent = min(model.n_seen, model.window)
            parts.append(f"{100 * model.mistake_rate:.2f} % of the last {recent:,}")
            if self.margin is not None:
                bound = f"{model.bound(self.margin):,.0f} for margin {self.margin:g}"
                parts.append(f"mistake bound {bound}")
            elif model.n_mistakes == 0:
                parts.append(f"R {model.radius:.4g}")
            else:  # mistakes ≤ bound(margin), solved for the margin
                margin = (model.bound(1.0) / model.n_mistakes) ** 0.5
                parts.append(f"margin of any separator at most {margin:.3g}")
        if bad:
            parts.append(plural(bad, "bad line"))
        rate = plural(round(self.rate(predicted)), "row")
        return "rosenblatt: " + ", ".join([*parts, f"{rate} per second"])
