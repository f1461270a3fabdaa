"""Telling a person how a long run gets on: Rich on a terminal, plain lines where asked for."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any, Self

from rosenblatt import clock
from rosenblatt.words import counted

SILENT_SECONDS = 2.0


class Line:
    """One line on the terminal that changes while work goes on, and goes away at its end."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.terminal = sys.stderr is not None and sys.stderr.isatty()
        self._status: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()

    @property
    def due(self) -> bool:
        """Whether there is a terminal and the work has taken long enough to say so."""
        return self.terminal and time.monotonic() - self.begun >= SILENT_SECONDS

    def show(self, line: str) -> None:
        """Put a line in place of the last."""
        if self._status is None:
            from rich.console import Console
            from rich.status import Status

            self._status = Status(line, console=Console(stderr=True))
            self._status.start()
        self._status.update(line)


class Teller(Line):
    """Shows mistakes so far, corrections (or other steps) a second, and the time left.

    On a terminal a line appears after two seconds and goes away at the end; elsewhere, with
    `verbose`, a line is printed to stderr every second or so; otherwise nothing is said.

    Examples
    --------
    >>> with Teller(0, seconds=5.0) as teller:
    ...     teller.tell(mistakes=12, steps=1000)
    """

    def __init__(self, verbose: int, seconds: float | None, unit: str = "corrections") -> None:
        super().__init__()
        self.unit, self.seconds = unit, seconds
        self.last, self.work = self.begun, clock.now()
        self.verbose = bool(verbose)
        self.lock = threading.Lock()

    def tell(self, mistakes: float, steps: int) -> None:
        """Take the state of the run; say it if it is time to."""
        if not (self.terminal or self.verbose):
            return
        with self.lock:
            now = time.monotonic()
            if self.due:
                self.show(self._line(mistakes, steps))
            elif not self.terminal and now - self.last >= 1.0:
                self.last = now
                print(f"rosenblatt: {self._line(mistakes, steps)}", file=sys.stderr)

    def _line(self, mistakes: float, steps: int) -> str:
        elapsed = max(clock.now() - self.work, 1e-9)
        line = f"{counted(mistakes, 'mistake')} so far, {steps / elapsed:,.0f} {self.unit} a second"
        if self.seconds is None:
            return f"{line}, {elapsed:.0f} s"
        return f"{line}, {max(0.0, self.seconds - elapsed):.0f} s left"
