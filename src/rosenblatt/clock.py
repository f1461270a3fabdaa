"""Time limits, and reports of the progress of long runs.

Time limits count seconds of work. Compilation, once per environment, does not count.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from rosenblatt.interrupts import delay_interrupts
from rosenblatt.text import describe_lower_bound, is_close, plural

if TYPE_CHECKING:
    from rosenblatt.errors import Message

CHEAP = 2**20  # multiplications, a millisecond: jobs this small finish whatever the time limit
SILENT_SECONDS = 2.0  # before a terminal shows progress
PRINTED_SECONDS = 1.0  # between two printed lines


class OutOfTimeError(Exception):
    """Error that ends a job when the time limit has been reached."""


class _Paused:
    """Time for which the clock was paused, and the number of threads that pause it now."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seconds = self.since = 0.0
        self.holders = 0


_paused = _Paused()


@contextmanager
def pause_clock() -> Iterator[None]:
    """Exclude a `with` block from time limits.

    Overlapping pauses of several threads count once.
    """
    with _paused.lock:
        if _paused.holders == 0:
            _paused.since = time.monotonic()
        _paused.holders += 1
    try:
        yield
    finally:
        with _paused.lock:
            _paused.holders -= 1
            if _paused.holders == 0:
                _paused.seconds += time.monotonic() - _paused.since


@contextmanager
def loading() -> Iterator[None]:
    """Exclude a block of imports or compilation from time limits; delay Ctrl-C until its end."""
    with delay_interrupts(), pause_clock():
        yield


class Stopwatch:
    """Stopwatch that starts when it is created."""

    def __init__(self) -> None:
        self.begun, self.paused = time.monotonic(), _paused.seconds

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.begun

    @property
    def not_counted(self) -> float:
        """Seconds of pauses since the start, which do not count toward time limits."""
        return _paused.seconds - self.paused


def now() -> float:
    """Return the seconds since an arbitrary moment, not counting pauses."""
    with _paused.lock:
        at = _paused.since if _paused.holders else time.monotonic()
        return at - _paused.seconds


@dataclass(frozen=True)
class Deadline:
    """Time at which a job must end; by default, never.

    Examples
    --------
    >>> Deadline().over, Deadline.after(0.0).over
    (False, True)
    >>> 0 < Deadline.after(60.0).share(0.5).left <= 30
    True
    """

    end: float = math.inf
    late: float = -math.inf  # a last step that began before `end` may continue until then

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return a deadline some seconds from now; None means no deadline."""
        return NEVER if seconds is None else cls(now() + seconds)

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self.end - now())

    @property
    def over(self) -> bool:
        """Whether the deadline has passed."""
        return self.end <= now()

    def over_for(self, numbers: int) -> bool:
        """Return whether the deadline ends a job that processes `numbers` values.

        Small jobs finish even after the deadline.
        """
        return numbers > CHEAP and self.over

    def share(self, part: float, late: float = 0.0) -> Deadline:
        """Return an earlier deadline, after a share of the remaining time.

        A last step that begins before it may continue until the share `late`.
        """
        if self.end == math.inf:
            return self
        at, left = now(), self.left
        return Deadline(at + part * left, at + max(part, late) * left)

    def check(self) -> None:
        """Raise OutOfTimeError if the deadline has passed."""
        if self.over:
            raise OutOfTimeError

    def check_step(self, seconds: float) -> None:
        """Raise OutOfTimeError if a step of `seconds` would end after the deadline."""
        self.check()
        if max(self.end, self.late) < now() + seconds:
            raise OutOfTimeError


NEVER = Deadline()


class StatusLine:
    """Line of progress, shown on a terminal after two seconds.

    The line is removed at the end. Without a terminal, it is printed to stderr about once per
    second if `verbose` is set.
    """

    def __init__(self, verbose: int = 0) -> None:
        self.begun = self.last = time.monotonic()
        self.verbose = bool(verbose)
        self.terminal = sys.stderr is not None and sys.stderr.isatty()
        self.lock = threading.Lock()
        self._status: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._status is not None:
            self._status.stop()

    def update(self, line: Callable[[], str]) -> None:
        """Show the text that `line()` returns; without a terminal, at most once per second."""
        if not (self.terminal or self.verbose):
            return
        with self.lock:
            now = time.monotonic()
            if self.terminal:
                if now - self.begun < SILENT_SECONDS:
                    return
                if self._status is None:
                    from rich.console import Console
                    from rich.status import Status

                    self._status = Status(line(), console=Console(stderr=True))
                    self._status.start()
                self._status.update(line())
            elif now - self.last >= PRINTED_SECONDS:
                self.last = now
                print(f"rosenblatt: {line()}", file=sys.stderr)


class MistakeProgress(StatusLine):
    """Line of progress with the mistakes so far, the speed and the time left.

    Examples
    --------
    >>> with MistakeProgress(0, seconds=5.0) as progress:
    ...     progress.report(mistakes=12, steps=1000)
    """

    def __init__(self, verbose: int, seconds: float | None, unit: str = "updates") -> None:
        super().__init__(verbose)
        self.unit, self.seconds, self.work = unit, seconds, now()

    def report(self, mistakes: float, steps: int, bound: float = 0) -> None:
        """Show the number of mistakes, a lower bound on this number, and the speed."""

        def line() -> str:
            elapsed = max(now() - self.work, 1e-9)
            text = plural(mistakes, "mistake")
            if bound >= mistakes > 0:
                text += f", {describe_lower_bound()}"
            else:
                text += " so far"
                if bound and is_close(bound, mistakes):
                    text += f", {describe_lower_bound(f'{bound:,.10g}')}"
            text += f", {steps / elapsed:,.0f} {self.unit} per second"
            if self.seconds is None:
                return f"{text}, {elapsed:.0f} s"
            return f"{text}, {max(0.0, self.seconds - elapsed):.0f} s left"

        self.update(line)


class Reporter:
    """Base class for reports of results and progress, which prints nothing."""

    def step(self, name: str, text: str | Message) -> None:
        """Report a finished step."""

    def note(self, text: str | Message) -> None:
        """Report a remark, which is not a result."""

    def progress(self, activity: str) -> AbstractContextManager[Any]:
        """Return a context manager that reports an activity while it runs."""
        return nullcontext()

    def mistake_progress(
        self, seconds: float | None, unit: str = "updates"
    ) -> AbstractContextManager[Callable[..., None]]:
        """Return a context manager that yields a function to report the mistakes so far."""
        return nullcontext(lambda mistakes, steps, bound=0: None)
