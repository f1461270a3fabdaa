"""Regions: the parts of a picture in which a label is answered, and the lines between them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

Polygon = list[tuple[float, float]]  # its corners, in order around it


def clip(polygon: Polygon, w: Iterable[float]) -> Polygon:
    """The part of a convex polygon where w·x ≥ 0, for tall weights w of the plane.

    Examples
    --------
    >>> clip([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)], (-0.5, 1.0, 0.0))
    [(0.5, 0.0), (1.0, 0.0), (1.0, 1.0), (0.5, 1.0)]
    """
    kept: Polygon = []
    c, a, b = w
    sides = [float(c + a * x + b * y) for x, y in polygon]
    for i, (x, y) in enumerate(polygon):
        (before_x, before_y), side, before = polygon[i - 1], sides[i], sides[i - 1]
        if (side >= 0) != (before >= 0):
            share = before / (before - side)
            kept.append((before_x + share * (x - before_x), before_y + share * (y - before_y)))
        if side >= 0:
            kept.append((x, y))
    return kept


def area(polygon: Polygon) -> float:
    """The shoelace formula.

    Examples
    --------
    >>> area([(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0)])
    2.0
    """
    corners = zip(polygon[-1:] + polygon[:-1], polygon, strict=True)
    return abs(sum(a * d - c * b for (a, b), (c, d) in corners)) / 2


@dataclass(frozen=True)
class Boundary:
    """Where a score a·x1 + b·x2 + c is zero; its positive side answers yes."""

    a: float
    b: float
    c: float

    @property
    def size(self) -> float:
        """The length of (a, b); 0 where the score is the same everywhere."""
        return float(np.hypot(self.a, self.b))

    @property
    def says(self) -> bool:
        """Whether any score is not zero."""
        return bool(self.size or self.c)

    def side(self, box: Polygon, above: float, sign: int = 1) -> Polygon:
        """The part of a box at least `above` from the line, on its positive or negative side."""
        line = self.moved(above, sign)
        return clip(box, (line.c, line.a, line.b))

    def ends(self, box: Polygon) -> Polygon:
        """Where the line enters and leaves a box; nothing where it passes by."""
        if not self.size or not box:
            return []
        corners = self.side(box, 0.0)
        nearest = 1e-9 * (self.size * max(abs(x) + abs(y) for x, y in box) + abs(self.c))
        on = [(x, y) for x, y in corners if abs(self.a * x + self.b * y + self.c) <= nearest]
        return [min(on), max(on)] if len(on) > 1 else []

    def moved(self, above: float, sign: int = 1) -> Boundary:
        """The line so far on its positive or negative side, with that side as its positive one."""
        return Boundary(sign * self.a, sign * self.b, sign * self.c - above * self.size)

    def parts(self, box: Polygon, above: float = 0.0) -> list[Polygon]:
        """The parts of a box that are no and yes, at least `above` from the line."""
        return [self.side(box, above, sign) for sign in (-1, 1)] if self.says else []

    def edges(self, box: Polygon, above: float = 0.0) -> list[Polygon]:
        """Where these parts end within the box."""
        lines = (self.moved(above), self.moved(above, -1)) if above else (self,)
        return [ends for line in lines if (ends := line.ends(box))]


@dataclass(frozen=True)
class Regions:
    """Where each of K labels has the highest score: convex parts of the plane.

    Examples
    --------
    >>> box = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
    >>> three = Regions((Boundary(1, 0, 0), Boundary(-1, 0, 0), Boundary(0, 0, -5)))
    >>> [len(part) for part in three.parts(box)]
    [4, 4, 0]
    >>> three.edges(box)
    [[(0.0, -1.0), (0.0, 1.0)]]
    """

    planes: tuple[Boundary, ...]  # the score of each label, but for what all have in common
    last: bool = False  # whether equal scores are the last label's, not the first's

    @property
    def says(self) -> bool:
        """Whether any two scores differ."""
        return any(plane != self.planes[0] for plane in self.planes)

    def parts(self, box: Polygon, above: float = 0.0) -> list[Polygon]:
        """The region of each label within a box, at least `above` from all others."""
        return [self._part(k, box, above) for k in range(len(self.planes))] if self.says else []

    def edges(self, box: Polygon, above: float = 0.0) -> list[Polygon]:
        """Where these regions end within the box."""
        parts = self.parts(box, above)
        pairs = itertools.permutations if above else itertools.combinations
        lines = ((parts[k], self.between(k, r)) for k, r in pairs(range(len(parts)), 2))
        return [ends for part, line in lines if (ends := line.moved(above).ends(part))]

    def between(self, k: int, r: int) -> Boundary:
        """The line between two labels, on whose positive side the first has the higher score."""
        one, other = self.planes[k], self.planes[r]
        return Boundary(one.a - other.a, one.b - other.b, one.c - other.c)

    def _part(self, k: int, box: Polygon, above: float) -> Polygon:
        for r, line in self._lines(k):
            if not line.says and (r > k) == self.last:
                return []
            box = line.side(box, above)
        return box

    def _lines(self, k: int) -> Iterator[tuple[int, Boundary]]:
        return ((r, self.between(k, r)) for r in range(len(self.planes)) if r != k)
