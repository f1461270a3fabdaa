"""The clock that time limits go by, and telling a person how a long run gets on.

Limits count seconds of work. Compiling, once per environment, is no work.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, Self

from rosenblatt.interrupts import held
from rosenblatt.messages import Message
from rosenblatt.words import counted, is_near, no_fewer

CHEAP = 2**20  # multiplications: a millisecond. What so few of them tell is told in any case.
SILENT_SECONDS = 2.0  # before a terminal hears of a run
PRINTED_SECONDS = 1.0  # between two printed lines


class OutOfTimeError(Exception):
    """The time for an answer is over."""


class _Stopped:
    """How long the clock stood still so far, and how many threads hold it now."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seconds = self.since = 0.0
        self.holders = 0


_stopped = _Stopped()


@contextmanager
def standing_still() -> Iterator[None]:
    """Let no limit count what is done here; threads that do so at once are counted once."""
    with _stopped.lock:
        if _stopped.holders == 0:
            _stopped.since = time.monotonic()
        _stopped.holders += 1
    try:
        yield
    finally:
        with _stopped.lock:
            _stopped.holders -= 1
            if _stopped.holders == 0:
                _stopped.seconds += time.monotonic() - _stopped.since


@contextmanager
def loading() -> Iterator[None]:
    """Import or compile here: no limit counts it, and Ctrl-C waits for its end."""
    with held(), standing_still():
        yield


class Stopwatch:
    """What has passed since it was made: seconds, and those of them that limits do not count."""

    def __init__(self) -> None:
        self.begun, self.stood = time.monotonic(), _stopped.seconds

    @property
    def seconds(self) -> float:
        """All of them."""
        return time.monotonic() - self.begun

    @property
    def not_counted(self) -> float:
        """Those for which the clock stood still."""
        return _stopped.seconds - self.stood


def now() -> float:
    """Seconds of work since some moment in the past."""
    with _stopped.lock:
        at = _stopped.since if _stopped.holders else time.monotonic()
        return at - _stopped.seconds


@dataclass(frozen=True)
class Deadline:
    """When to be content with what there is; never, if not said otherwise.

    Examples
    --------
    >>> Deadline().over, Deadline.after(0.0).over
    (False, True)
    >>> 0 < Deadline.after(60.0).share(0.5).left <= 30
    True
    """

    end: float = math.inf
    late: float = -math.inf  # until when a last step may go on that began before the end

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """So many seconds from now; None for no limit."""
        return NEVER if seconds is None else cls(now() + seconds)

    @property
    def left(self) -> float:
        """The seconds until then, never below 0."""
        return max(0.0, self.end - now())

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return self.end <= now()

    def over_for(self, numbers: int) -> bool:
        """Return whether it is too late to work on many numbers; for few it never is."""
        return numbers > CHEAP and self.over

    def share(self, part: float, late: float = 0.0) -> Deadline:
        """A deadline after a part of the time that is left; a last step may take a larger part."""
        if self.end == math.inf:
            return self
        at, left = now(), self.left
        return Deadline(at + part * left, at + max(part, late) * left)

    def check(self) -> None:
        """Raise OutOfTimeError if the time is over."""
        if self.over:
            raise OutOfTimeError

    def check_step(self, seconds: float) -> None:
        """Raise OutOfTimeError if a step of so many seconds, not to be interrupted, is too long."""
        self.check()
        if max(self.end, self.late) < now() + seconds:
            raise OutOfTimeError


NEVER = Deadline()


class StatusLine:
    """One line that tells how work gets on; a terminal has it after two seconds, while it lasts.

    Elsewhere, with `verbose`, it is printed to stderr every second or so; otherwise nothing is.
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

    def say(self, line: Callable[[], str]) -> None:
        """Put a line in place of the last, if it is time to; else it is not even written."""
        if not (self.terminal or self.verbose):
            return
        with self.lock:
            now = time.monotonic()
            if self.terminal:
                if now - self.begun >= SILENT_SECONDS:
                    self._show(line())
            elif now - self.last >= PRINTED_SECONDS:
                self.last = now
                print(f"rosenblatt: {line()}", file=sys.stderr)

    def _show(self, line: str) -> None:
        if self._status is None:
            from rich.console import Console
            from rich.status import Status

            self._status = Status(line, console=Console(stderr=True))
            self._status.start()
        self._status.update(line)


class Teller(StatusLine):
    """Says the mistakes so far, corrections (or other steps) a second, and the time left.

    Examples
    --------
    >>> with Teller(0, seconds=5.0) as teller:
    ...     teller.tell(mistakes=12, steps=1000)
    """

    def __init__(self, verbose: int, seconds: float | None, unit: str = "corrections") -> None:
        super().__init__(verbose)
        self.unit, self.seconds, self.work = unit, seconds, now()

    def tell(self, mistakes: float, steps: int, bound: float = 0) -> None:
        """Take the state of the run; say it if it is time to."""
        self.say(lambda: self._line(mistakes, steps, bound))

    def _line(self, mistakes: float, steps: int, bound: float) -> str:
        elapsed = max(now() - self.work, 1e-9)
        line = counted(mistakes, "mistake")
        if bound >= mistakes > 0:
            line += f", {no_fewer()}, "
        else:
            than = f"{no_fewer(f'{bound:,.10g}')}, " if bound and is_near(bound, mistakes) else ""
            line += f" so far, {than}"
        line += f"{steps / elapsed:,.0f} {self.unit} a second"
        if self.seconds is None:
            return f"{line}, {elapsed:.0f} s"
        return f"{line}, {max(0.0, self.seconds - elapsed):.0f} s left"


class Watcher(Protocol):
    """Told what is done while it is done; a face has one that speaks."""

    def step(self, what: str, text: str | Message) -> None:
        """Take a line about a step that is done."""
        return

    def note(self, text: str | Message) -> None:
        """Take something a person should know that is not a result."""
        return

    def patience(self, doing: str) -> AbstractContextManager[Any]:
        """While something is done that may take long."""
        return nullcontext()

    def counting(
        self, seconds: float | None, unit: str = "corrections"
    ) -> AbstractContextManager[Callable[..., None]]:
        """While mistakes go down: yields a function of them, the steps so far, and a bound."""
        return nullcontext(lambda mistakes, steps, bound=0: None)


class Silent(Watcher):
    """Says nothing."""
