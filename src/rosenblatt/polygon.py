"""Convex polygons in the plane: the part on one side of a line, and the area."""

from __future__ import annotations

from collections.abc import Iterable

Polygon = list[tuple[float, float]]  # its corners, in order around it


def clip(polygon: Polygon, line: Iterable[float]) -> Polygon:
    """The part of a convex polygon where c + a·x1 + b·x2 ≥ 0, for a line (c, a, b).

    Examples
    --------
    >>> clip([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)], (-0.5, 1.0, 0.0))
    [(0.5, 0.0), (1.0, 0.0), (1.0, 1.0), (0.5, 1.0)]
    """
    kept: Polygon = []
    c, a, b = line
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
