"""The rows of a plane as points seen from the origin of three dimensions: floats and integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.judge import Costs
from rosenblatt.examples import Examples

Floats = NDArray[np.float64]
Vector = tuple[int, int, int]

NARROW = 2.0**-20  # an angle between rows below which it is computed from integers


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
        by at most 2^-50 / NARROW, far less than `SURE` in `plane`.
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
