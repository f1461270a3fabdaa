"""The region of each label in the plane and the lines between regions, clipped to a picture."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

Polygon = list[tuple[float, float]]  # corners, in order around the polygon


def clip(polygon: Polygon, w: Iterable[float]) -> Polygon:
    """Return the part of a convex polygon where w·x ≥ 0, for augmented weights w.

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
    """Return the area of a polygon by the shoelace formula.

    Examples
    --------
    >>> area([(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0)])
    2.0
    """
    corners = zip(polygon[-1:] + polygon[:-1], polygon, strict=True)
    return abs(sum(a * d - c * b for (a, b), (c, d) in corners)) / 2


@dataclass(frozen=True)
class Boundary:
    """The line where a score a·x1 + b·x2 + c is zero; label +1 is on its positive side."""

    a: float
    b: float
    c: float

    @property
    def size(self) -> float:
        """Length of (a, b), which is 0 if the score is the same everywhere."""
        return float(np.hypot(self.a, self.b))

    @property
    def is_nonzero(self) -> bool:
        """Whether any coefficient is not zero."""
        return bool(self.size or self.c)

    def moved(self, distance: float) -> Boundary:
        """Return the line moved by a distance toward its positive side."""
        return Boundary(self.a, self.b, self.c - distance * self.size)

    def side(self, box: Polygon, distance: float) -> Polygon:
        """Return the part of a box on the positive side, at least a distance from the line."""
        return clip(box, (self.c - distance * self.size, self.a, self.b))

    def ends(self, box: Polygon) -> Polygon:
        """Return the two points where the line crosses the edge of a box, or an empty list."""
        if not self.size or not box:
            return []
        corners = self.side(box, 0.0)
        nearest = 1e-9 * (self.size * max(abs(x) + abs(y) for x, y in box) + abs(self.c))
        on = [(x, y) for x, y in corners if abs(self.a * x + self.b * y + self.c) <= nearest]
        return [min(on), max(on)] if len(on) > 1 else []


@dataclass(frozen=True)
class Regions:
    """The convex parts of the plane in which each of K labels has the highest score.

    With two labels, the score of the first is 0.

    Examples
    --------
    >>> box = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
    >>> three = Regions((Boundary(1, 0, 0), Boundary(-1, 0, 0), Boundary(0, 0, -5)))
    >>> [len(part) for part in three.parts(box)]
    [4, 4, 0]
    >>> three.edges(box)
    [[(0.0, -1.0), (0.0, 1.0)]]
    """

    planes: tuple[Boundary, ...]  # the score of each label, up to a common term
    last: bool = False  # whether the last label wins a tie, not the first

    @property
    def is_nonzero(self) -> bool:
        """Whether any two scores differ."""
        return any(plane != self.planes[0] for plane in self.planes)

    def between(self, k: int, r: int) -> Boundary:
        """Return the line between two labels; the first scores higher on its positive side."""
        one, other = self.planes[k], self.planes[r]
        return Boundary(one.a - other.a, one.b - other.b, one.c - other.c)

    def parts(self, box: Polygon, distance: float = 0.0) -> list[Polygon]:
        """Return each label's region in a box, at least `distance` away from all other regions."""
        if not self.is_nonzero:
            return []
        labels, parts = range(len(self.planes)), []
        for k in labels:
            part = box
            for r in labels:
                if r == k:
                    continue
                line = self.between(k, r)
                loses_ties = not line.is_nonzero and (r > k) == self.last
                part = [] if loses_ties else line.side(part, distance)
            parts.append(part)
        return parts

    def edges(self, box: Polygon, distance: float = 0.0) -> list[Polygon]:
        """Return the line segments that bound the regions in a box."""
        parts = self.parts(box, distance)
        pairs = itertools.permutations if distance else itertools.combinations
        lines = ((parts[k], self.between(k, r)) for k, r in pairs(range(len(parts)), 2))
        return [ends for part, line in lines if (ends := line.moved(distance).ends(part))]
