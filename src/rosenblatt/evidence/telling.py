"""Telling a person how far the decision is: Rich on a terminal from two seconds on."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

from rosenblatt.evidence.nearest import Point

SILENT_SECONDS = 2.0


class Telling:
    """Remembers where the solver is, and says so when it takes long."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.point: Point | None = None
        self.passes = 0
        self.status: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.status is not None:
            self.status.stop()

    def tell(self, point: Point, passes: int) -> None:
        """Take where the solver is; say it if it is time to."""
        self.point, self.passes = point, passes
        if time.monotonic() - self.begun < SILENT_SECONDS:
            return
        if sys.stderr is not None and sys.stderr.isatty():
            self._show(f"{passes} passes; {_known(point)}")

    def _show(self, line: str) -> None:
        if self.status is None:
            from rich.console import Console
            from rich.status import Status

            self.status = Status(line, console=Console(stderr=True))
            self.status.start()
        self.status.update(line)


def _known(point: Point) -> str:
    if point.lower > 0:
        return f"a separator is found; its margin is within {point.gap:.1e} of the widest"
    return "no separator yet"
