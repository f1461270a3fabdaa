"""Telling a person how far the decision is: Rich on a terminal from two seconds on."""

from __future__ import annotations

from rosenblatt.clock import StatusLine
from rosenblatt.evidence.nearest import Point


class Telling(StatusLine):
    """Remembers where the solver is, and says so when it takes long."""

    def __init__(self) -> None:
        super().__init__()
        self.point: Point | None = None
        self.passes = 0

    def tell(self, point: Point, passes: int) -> None:
        """Take where the solver is; say it if it is time to."""
        self.point, self.passes = point, passes
        self.say(lambda: f"{passes} passes; {_known(point)}")


def _known(point: Point) -> str:
    if point.lower > 0:
        return f"a separator is found; its margin is within {point.gap:.1e} of the widest"
    return "no separator yet"
