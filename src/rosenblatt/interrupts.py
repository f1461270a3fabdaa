"""Handle Ctrl-C at any time, but stop only where it does no harm.

A KeyboardInterrupt in the middle of an import breaks that module for the rest of the process.
`delay_interrupts` delays it, in Python and on the command line. The command line has its own
handler, which also waits for the end of any import, by inspecting the stack.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

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


def ignore() -> None:
    """Ignore Ctrl-C from now on, because results are being written."""
    _program.phase = "finishing"


def requested() -> bool:
    """Return whether the user has pressed Ctrl-C."""
    return _program.requested_at is not None


def exit_with(code: int) -> None:
    """End the process with this exit code, even if Ctrl-C comes."""
    if signal.getsignal(signal.SIGINT) == _program.handle:
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(code))
    sys.exit(code)
