"""When a run must stop: time limits and Ctrl-C; and reports of the progress of long runs.

Time limits count seconds of work. Compilation, once per environment, does not count.

Ctrl-C is handled at any time, but stops a run only where this does no harm: a KeyboardInterrupt in
the middle of an import breaks that module for the rest of the process. `delay_interrupts` delays
it, in Python and on the command line. The command line has its own handler, which also waits for
the end of any import, by inspecting the stack. This module is imported before the handler is
installed, so it imports little.
"""

from __future__ import annotations

import atexit
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rosenblatt.errors import Message

CHEAP = 2**20  # multiplications, a millisecond: jobs this small finish whatever the time limit
SILENT_SECONDS = 2.0  # before a terminal shows progress
PRINTED_SECONDS = 1.0  # between two printed lines
INTERRUPTED = 130  # exit code, as a shell reports SIGINT
AGAIN = 0  # used as a signal number: a delayed interrupt, not a new one
RETRY_SECONDS = 0.02  # until the handler checks again whether an import has ended
SAME_SECONDS = 0.5  # two signals this close are one Ctrl-C: a terminal and a wrapper both send it
SHOW_CURSOR = b"\x1b[?25h"


@contextmanager
def delay_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the end of a `with` block."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield  # ignored, fatal, or not delivered to this thread
        return
    came = []

    def remember(number: int, frame: FrameType | None) -> None:
        try:
            before(number, frame)
        except KeyboardInterrupt:
            came.append(number)

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(AGAIN, None)


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


def now() -> float:
    """Return the seconds since an arbitrary moment, not counting pauses."""
    with _paused.lock:
        at = _paused.since if _paused.holders else time.monotonic()
        return at - _paused.seconds


class Deadline(NamedTuple):
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
        at = now()
        left = max(0.0, self.end - at)
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


class _Program:
    """Signal handlers for Ctrl-C on the command line, and their state."""

    def __init__(self) -> None:
        self.requested_at: float | None = None
        self.phase = "starting"  # then "working", which Ctrl-C can stop, and "finishing"

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt, but not during an import.

        A second Ctrl-C ends the process.
        """
        if number == signal.SIGINT:
            now = time.monotonic()
            if self.requested_at is not None:
                if now - self.requested_at > SAME_SECONDS:
                    if os.isatty(2):
                        os.write(2, SHOW_CURSOR)  # a progress bar hides it
                    os.write(2, b"rosenblatt: interrupted again; ended at once.\n")
                    os._exit(INTERRUPTED)
                return
            self.requested_at = now
        if self.phase != "working":
            return
        while frame is not None and hasattr(signal, "setitimer"):
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                signal.setitimer(signal.ITIMER_REAL, RETRY_SECONDS)
                return
            frame = frame.f_back
        raise KeyboardInterrupt

    def retry(self, number: int, frame: FrameType | None) -> None:
        """Handle again a Ctrl-C that came during an import or that a callback swallowed."""
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            handler(AGAIN, frame)

    def handle_unraisable(self, lost: Any) -> None:
        """Raise KeyboardInterrupt again if a callback or finalizer swallowed it."""
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(lost)
        elif hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, RETRY_SECONDS)


_program = _Program()


def install_handler() -> None:
    """Handle Ctrl-C in this process, unless it was started to ignore Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    signal.signal(signal.SIGINT, _program.handle)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _program.retry)
        atexit.register(signal.signal, signal.SIGALRM, signal.SIG_IGN)
    sys.unraisablehook = _program.handle_unraisable
    # While Python shuts down, either signal would end the process with another exit code.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C stop a `with` block.

    An error after Ctrl-C becomes a KeyboardInterrupt.
    """
    _program.phase = "working"
    try:
        if _program.requested_at is not None:
            raise KeyboardInterrupt
        yield
    except Exception as error:
        if _program.requested_at is not None and _program.phase == "working":
            raise KeyboardInterrupt from error
        raise
    finally:
        _program.phase = "finishing"


def ignore_interrupts() -> None:
    """Ignore Ctrl-C from now on, because results are being written."""
    _program.phase = "finishing"


def interrupt_requested() -> bool:
    """Return whether the user has pressed Ctrl-C."""
    return _program.requested_at is not None


def exit_with(code: int) -> None:
    """End the process with this exit code, even if Ctrl-C comes."""
    if signal.getsignal(signal.SIGINT) == _program.handle:
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(code))
    sys.exit(code)


class StatusLine(ExitStack):
    """Line of progress, shown on a terminal after two seconds.

    The line is removed at the end. Without a terminal, it is printed to stderr about once per
    second if `verbose` is set.
    """

    def __init__(self, verbose: int = 0) -> None:
        super().__init__()
        self.begun = self.last = time.monotonic()
        self.verbose = bool(verbose)
        self.terminal = sys.stderr is not None and sys.stderr.isatty()
        self.lock = threading.Lock()
        self.status: Any = None

    def update(self, line: Callable[[], str]) -> None:
        """Show the text that `line()` returns; without a terminal, at most once per second."""
        if not (self.terminal or self.verbose):
            return
        with self.lock:
            now = time.monotonic()
            if self.terminal:
                if now - self.begun < SILENT_SECONDS:
                    return
                if self.status is None:
                    from rich.console import Console
                    from rich.status import Status

                    self.status = Status(line(), console=Console(stderr=True))
                    self.callback(self.status.stop)  # first: Ctrl-C may interrupt the start
                    self.status.start()
                self.status.update(line())
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
        from rosenblatt.text import describe_lower_bound, is_close, plural

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
