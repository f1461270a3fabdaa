"""The fewest mistakes of any line in the plane, exactly.

The tall rows z are vectors of at most three numbers. All w with the same mistakes form a cell,
cut out by the planes w·z_n = 0. Every cell has an edge: some pivot row with w·z = 0, and two rows
between whose planes w lies. So for each pivot the others are sorted by where their planes cross
that of the pivot, and the mistakes are counted from crossing to crossing, O(N² log N) in all.

Floats sort; an order that rounding could decide is settled in integers, if it matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.judge import Judge
from rosenblatt.costs import Costs
from rosenblatt.examples import Examples

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Vector = tuple[int, int, int]

MOST_ROWS = 2000
NARROW = 2.0**-20  # an angle between rows below which it is computed from integers
SURE = 2.0**-28  # radians; angles are known far better, see `Points.crossings`


@dataclass(frozen=True, eq=False)
class Optimum:
    """The fewest mistakes of any w, exactly, and weights with a w0 slot that make them.

    `w` makes more mistakes only where the best cell is too small for floats; `exact`, which is
    not rounded, never does. There is none where `start` was as good.
    """

    cost: int  # in the unit of `Costs`
    mistakes: float
    w: Floats
    exact: list[Fraction]


@dataclass(frozen=True, eq=False)
class Cell:
    """A cell by its edge: the pivot, the crossings the edge lies between, the pivot's side."""

    pivot: int
    low: Vector | None
    high: Vector | None
    side: int


@dataclass(frozen=True, eq=False)
class Sweep:
    """The crossings with one pivot's plane, half way round: rows in order, angles, directions.

    Going on, every row is met again on the other side, with the opposite change.
    """

    pivot: int
    rows: Ints
    angles: Floats
    signs: Ints
    beside: int
    side: int


def in_the_plane(examples: Examples) -> bool:
    """Whether the fewest mistakes can be found exactly here."""
    return examples.d + bool(examples.x0) <= 3 and len(examples.kept) <= MOST_ROWS


def plane_optimum(
    examples: Examples, start: Floats, stopped: Callable[[], bool] = lambda: False
) -> Optimum | None:
    """Find the fewest mistakes of any w; None if stopped before it is known.

    What is not better than `start`, weights with a w0 slot, need not be looked at. Rows have at
    most two features with an intercept, or three without.

    Examples
    --------
    >>> xor = Examples.from_arrays([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    >>> plane_optimum(xor, np.zeros(3)).mistakes
    1
    """
    points, judge, costs = Points(examples), Judge(examples), Costs.of(examples)
    w, fewest = start, costs.total(judge.wrong(start))
    best, exact = fewest, list[Fraction]()
    for pivot in range(len(points.exact)):
        if pivot % 16 == 0 and stopped():
            return None
        for cost, cell in better_cells(points, pivot, fewest):
            fewest, exact = cost, points.weights(*_directions(points, cell))
            inside = rounded(exact)
            if (count := costs.total(judge.wrong(inside))) < best:
                best, w = count, inside
    return Optimum(fewest, costs.number(fewest), w, exact)


def better_cells(points: Points, pivot: int, fewest: int) -> Iterator[tuple[int, Cell]]:
    """Cells with an edge on the plane of the pivot that cost less than `fewest`, less each."""
    sweep = _sweep(points, pivot)
    M = len(sweep.rows)
    beside = sweep.beside + points.always
    if M == 0:
        if beside < fewest:
            yield beside, Cell(pivot, None, None, sweep.side)
        return
    half = sweep.signs * points.costs[sweep.rows]
    costs = np.cumsum(np.concatenate((half, -half))) - half[sweep.signs < 0].sum() + beside
    sure = np.tile(np.append(np.diff(sweep.angles) > SURE, True), 2)
    k = int(np.flatnonzero(sure)[costs[sure].argmin()])
    if costs[k] < fewest:
        fewest = int(costs[k])
        low, high = (_crossing(points, sweep, m % (2 * M)) for m in (k, k + 1))
        yield fewest, Cell(pivot, low, high, sweep.side)
    yield from _unsure_cells(points, sweep, (costs, sure), fewest)


def _sweep(points: Points, pivot: int) -> Sweep:
    rows, angles, same, opposite = points.crossings(pivot)
    beside, side = (opposite, 1) if opposite <= same else (same, -1)
    if len(rows) == 0:
        return Sweep(pivot, rows, angles, rows, beside, side)
    # Begin in the middle of the widest gap, far from any crossing.
    once = angles % np.pi
    order = np.argsort(once)
    gaps = np.diff(once[order], append=once[order[0]] + np.pi)
    widest = int(gaps.argmax())
    order = np.roll(order, -widest - 1)
    turned = (angles - once[order[-1]] - gaps[widest] / 2) % (2 * np.pi)
    signs = np.where(turned < np.pi, 1, -1)
    turned = np.where(turned < np.pi, turned, turned - np.pi)
    return Sweep(pivot, rows[order], turned[order], signs[order], beside, side)


def _crossing(points: Points, sweep: Sweep, k: int) -> Vector:
    """The direction of the k-th crossing on the way round, exactly."""
    M = len(sweep.rows)
    sign = int(sweep.signs[k % M]) * (1 if k < M else -1)
    x, y, z = cross(points.exact[sweep.pivot], points.exact[sweep.rows[k % M]])
    return sign * x, sign * y, sign * z


def _unsure_cells(
    points: Points, sweep: Sweep, counted: tuple[NDArray[Any], NDArray[np.bool_]], fewest: int
) -> Iterator[tuple[int, Cell]]:
    """Look exactly among crossings that are nearly the same, where a better cell may hide."""
    costs, sure = counted
    ends = np.flatnonzero(sure)
    starts = np.concatenate(([0], ends[:-1] + 1))
    changes = np.diff(costs, prepend=costs[-1:])
    gain = np.add.reduceat(np.minimum(changes, 0), starts)
    hopeful = (ends > starts) & (costs[starts] - changes[starts] + gain < fewest)
    for start, end in zip(starts[hopeful], ends[hopeful], strict=True):
        cost = int(costs[start] - changes[start])
        groups = _in_exact_order(points, sweep, range(int(start), int(end) + 1))
        for group, following in pairwise(groups):
            cost += int(changes[group].sum())
            if cost < fewest:
                fewest = cost
                low, high = (_crossing(points, sweep, g[0]) for g in (group, following))
                yield cost, Cell(sweep.pivot, low, high, sweep.side)


def _in_exact_order(points: Points, sweep: Sweep, events: range) -> list[list[int]]:
    """Crossings in their true order; those that are the same are put together."""
    pivot = points.exact[sweep.pivot]
    directions = {k: _crossing(points, sweep, k) for k in events}

    def compare(j: int, k: int) -> int:
        turn = dot(pivot, cross(directions[j], directions[k]))
        return (turn < 0) - (turn > 0)

    groups: list[list[int]] = []
    for k in sorted(events, key=cmp_to_key(compare)):
        if groups and compare(groups[-1][0], k) == 0:
            groups[-1].append(k)
        else:
            groups.append([k])
    return groups


def _directions(points: Points, cell: Cell) -> tuple[Vector | None, Vector]:
    """A direction along the edge, and the way from it into the cell."""
    x, y, z = points.exact[cell.pivot]
    aside = cell.side * x, cell.side * y, cell.side * z
    if cell.low is None or cell.high is None:
        return None, aside
    if not any(cross(cell.low, cell.high)):  # half the way round: the middle is at right angles
        return cross((x, y, z), cell.low), aside
    return between(cell.low, cell.high), aside


class Points:
    """The different signed tall rows, centred and scaled so that they do not look alike.

    `exact` are integers, each row in its own unit: only directions matter. `Z` are the same
    directions as floats of length 1. Rows of zeros are always mistakes, and cost `always`; all
    costs are whole numbers.
    """

    def __init__(self, examples: Examples) -> None:
        self.examples = examples
        kept = examples.kept.astype(np.intp)
        X = examples.X[kept]
        X = (X.toarray() if examples.is_sparse else X).astype(np.float64)
        self.middle = [_middle(x) if examples.x0 else Fraction(0) for x in X.T]
        self.units = [_unit(x, m) for x, m in zip(X.T, self.middle, strict=True)]
        self.pad = 3 - X.shape[1] - bool(examples.x0)
        costs = Costs.of(examples).each[kept]
        merged: dict[Vector, int] = {}
        for x, y, cost in zip(X.tolist(), examples.y[kept].tolist(), costs.tolist(), strict=True):
            z = self._tall(x, y)
            merged[z] = merged.get(z, 0) + cost
        self.always = merged.pop((0, 0, 0), 0)
        self.exact = list(merged)
        self.costs = np.array(list(merged.values()), dtype=costs.dtype)
        self.Z = np.array([unit_floats(z) for z in self.exact]).reshape(-1, 3)

    def _tall(self, x: list[float], y: int) -> Vector:
        """y·(x0, x centred and scaled), as the shortest integers of that direction."""
        row = [Fraction(0)] * self.pad
        if self.examples.x0:
            row.append(Fraction(self.examples.x0) / self._x0_unit())
        for value, middle, unit in zip(x, self.middle, self.units, strict=True):
            row.append((Fraction(value) - middle) / unit)
        common = math.lcm(*(v.denominator for v in row))
        whole = [int(v * common) * y for v in row]
        divisor = math.gcd(*whole) or 1
        a, b, c = (v // divisor for v in whole)
        return a, b, c

    def _x0_unit(self) -> Fraction:
        return Fraction(2) ** math.frexp(self.examples.x0)[1]

    def crossings(self, pivot: int) -> tuple[NDArray[np.intp], Floats, int, int]:
        """The rows whose planes cross the pivot's, at which angle each becomes a mistake.

        Also the costs of rows that point the pivot's way, and the opposite way. An angle is off
        by at most 2^-50 / NARROW, far less than `SURE`.
        """
        z = self.Z[pivot]
        u = np.cross(z, np.eye(3)[np.abs(z).argmin()])
        u /= np.linalg.norm(u)
        v = np.cross(z, u)
        px, py = self.Z @ u, self.Z @ v
        angles = np.arctan2(px, -py)
        keep = np.ones(len(px), dtype=bool)
        same = opposite = 0
        for j in np.flatnonzero(np.hypot(px, py) < NARROW):
            turned = cross(self.exact[pivot], self.exact[j])
            if any(turned):
                c = unit_floats(turned)
                angles[j] = math.atan2(float(c @ v), float(c @ u))
                continue
            keep[j] = False
            if dot(self.exact[pivot], self.exact[j]) > 0:
                same += int(self.costs[j])
            else:
                opposite += int(self.costs[j])
        rows = np.flatnonzero(keep)
        return rows, angles[rows], same, opposite

    def weights(self, along: Vector | None, aside: Vector) -> list[Fraction]:
        """Weights a little aside of a direction: no row not orthogonal to it changes its sign.

        They are for the data as they were given, with a w0 slot.
        """
        if along is None:
            return self._raw([Fraction(b) for b in aside])
        share = self._little(along, aside)
        return self._raw([a + share * b for a, b in zip(along, aside, strict=True)])

    def _little(self, along: Vector, aside: Vector) -> Fraction:
        least = Fraction(math.isqrt(dot(along, along)), 1 + math.isqrt(dot(aside, aside)))
        for z in self.exact:
            product, change = dot(along, z), dot(aside, z)
            if product and change:
                least = min(least, abs(Fraction(product, change)) / 2)
        return least

    def _raw(self, w: list[Fraction]) -> list[Fraction]:
        features = w[3 - len(self.units) :]
        raw = [v / unit for v, unit in zip(features, self.units, strict=True)]
        w0 = Fraction(0)
        if self.examples.x0:
            x0 = Fraction(self.examples.x0)
            centred = sum((v * m for v, m in zip(raw, self.middle, strict=True)), Fraction(0))
            w0 = w[self.pad] / self._x0_unit() - centred / x0
        return [w0, *raw]


def cross(a: Vector, b: Vector) -> Vector:
    """a × b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def dot(a: Vector, b: Vector) -> int:
    """a·b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def rounded(w: Sequence[Fraction]) -> Floats:
    """Fractions as floats up to 1, each rounded once."""
    largest = max(abs(v) for v in w) or Fraction(1)
    return np.array([float(v / largest) for v in w])


def unit_floats(z: Vector) -> Floats:
    """The direction of integers of any size as floats of length 1."""
    scale = 1 << max(abs(v).bit_length() for v in z)
    x = np.array([v / scale for v in z])
    result: Floats = x / np.sqrt((x * x).sum())
    return result


def between(low: Vector, high: Vector) -> Vector:
    """A direction about half way between two, orthogonal to all that both are orthogonal to."""
    p, q = math.isqrt(dot(high, high)), math.isqrt(dot(low, low))
    return low[0] * p + high[0] * q, low[1] * p + high[1] * q, low[2] * p + high[2] * q


def _middle(x: Floats) -> Fraction:
    """The median; halves are added as fractions, for floats may end before their sum does."""
    ends = (len(x) - 1) // 2, len(x) // 2
    low, high = np.partition(x, ends)[list(ends)].tolist()
    return (Fraction(low) + Fraction(high)) / 2


def _unit(x: Floats, middle: Fraction) -> Fraction:
    """A power of two near the spread of a column."""
    largest = max((abs(Fraction(v) - middle) for v in x.tolist()), default=Fraction(0))
    if not largest:
        return Fraction(1)
    exponent = largest.numerator.bit_length() - largest.denominator.bit_length()
    return Fraction(2) ** exponent
