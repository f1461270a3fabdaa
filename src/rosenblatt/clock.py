"""The clock that time limits go by: seconds of work. Compiling, once on a machine, is no work."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

CHEAP = 2**20  # multiplications: a millisecond. What so few of them tell is told in any case.


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

    def share(self, part: float) -> Deadline:
        """A deadline after a part of the time that is left."""
        return self if self.end == math.inf else Deadline.after(part * self.left)

    def check(self) -> None:
        """Raise OutOfTimeError if the time is over."""
        if self.over:
            raise OutOfTimeError


NEVER = Deadline()
