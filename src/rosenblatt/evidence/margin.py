"""The margin of given weights, and how wide any margin can be, without rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import flint
import numpy as np

from rosenblatt.evidence.exact import MANY, Fractions, rounding
from rosenblatt.evidence.guarantee import Guarantee
from rosenblatt.evidence.integers import distinct, exact_products, root, smallest_exponent
from rosenblatt.evidence.nearest import Point
from rosenblatt.evidence.signed import (
    Floats,
    Look,
    Rows,
    Signed,
    round_fraction,
    scaled_radius,
)
from rosenblatt.examples import Examples

ON_THE_MARGIN = 1e-7  # rows this near to it, relative to its width, are said to be on it
EXACT_ENTRIES = 2**16  # a corral with more entries is summed in floats, with a bound on rounding


@dataclass(frozen=True, eq=False)
class Measured:
    """Weights of unit length, their margin, a bound on any margin, the rows on the margin.

    The margin is rounded down and the bound up; `sure` says that the weights, which are rounded
    themselves, are positive on every row whatever rounding did to the scores.
    """

    weights: Floats
    margin: float
    upper: float
    support: Rows
    sure: bool = False

    @property
    def gap(self) -> float:
        """How much wider another w could be, relative to `upper`."""
        return 1.0 - self.margin / self.upper if 0 < self.upper < math.inf else 1.0


def measured(signed: Signed, weights: Sequence[int], hull: Hull | None) -> Measured:
    """Measure integer weights that separate the rows, which are in one plain unit.

    Parameters
    ----------
    signed : Signed
        The rows, in one unit.
    weights : sequence of int
        A positive multiple of the tall w.
    hull : Hull, optional
        A point of the hull, which bounds the margin from above.
    """
    examples, w = signed.examples, unit_length(weights)
    s, slack = signed.scores_whole(w), rounding(signed, w)
    least = float(s.min())
    near = np.flatnonzero(s <= least + 2 * slack)
    if len(near) > MANY:
        near = distinct(examples, near)
    unit = min(smallest_exponent(examples.tall_row(n)) for n in near.tolist())
    product = min(exact_products(weights, examples, near.tolist(), unit))
    width = root(product * product, sum(v * v for v in weights), unit - 53)
    return Measured(
        w,
        width if product > 0 else -width,
        math.inf if hull is None else hull.length(signed),
        np.flatnonzero(s <= least + ON_THE_MARGIN * abs(least) + 2 * slack),
        least > slack,
    )


@dataclass(frozen=True, eq=False)
class Hull:
    """A point of the convex hull: rows and positive multipliers. No margin exceeds its length."""

    rows: list[int]
    multipliers: Fractions

    @classmethod
    def of(cls, point: Point) -> Hull | None:
        """Where the float solver stood, if it had a corral."""
        if len(point.rows) == 0:
            return None
        return cls(point.rows.tolist(), as_fractions(point.multipliers))

    def length(self, signed: Signed) -> float:
        """Its distance from the origin, in the unit of the data."""
        if len(self.rows) * signed.dimension > EXACT_ENTRIES:
            return self._length_in_floats(signed)
        x = flint.fmpq_mat(1, len(self.rows), self.multipliers) * signed.exact(self.rows)
        total = sum(self.multipliers, flint.fmpq(0))
        squares = sum((v * v for v in x.entries()), flint.fmpq(0))
        squares /= total * total
        exponent = 1 - math.frexp(signed.scale.columns[0])[1]
        return root(int(squares.p), int(squares.q), exponent, up=True)

    def _length_in_floats(self, signed: Signed) -> float:
        """The same; k products summed are off by at most k·u of the sum of their sizes."""
        Z = signed.take(np.array(self.rows))
        u = np.array([round_fraction(v) for v in self.multipliers])
        x, off = u @ Z, 2 * (len(u) + 2) * 2.0**-53 * (u @ abs(Z))
        length = math.sqrt(float(x @ x)) + math.sqrt(float(off @ off))
        length *= (1 + (len(x) + len(u)) * 2.0**-51) / float(u.sum())
        return math.nextafter(length / float(signed.scale.columns[0]), math.inf)


def as_fractions(floats: Floats) -> Fractions:
    """Floats as the fractions that they are."""
    return [flint.fmpq(*v.as_integer_ratio()) for v in floats.tolist()]


def scaled_guarantee(examples: Examples, look: Look, result: Measured) -> Guarantee:
    """What the same line is worth if each column of X were divided by its largest entry.

    Its products stay what they are, and its weights grow by what the columns shrink by.
    """
    return scaled_guarantee_of(look, result, bool(examples.x0), scaled_radius(examples, look))


def scaled_guarantee_of(
    look: Look, result: Measured, has_x0: bool, scaled_radius: float
) -> Guarantee:
    """The same where the radius of the scaled examples is known."""
    scales = np.where(look.columns > 0, look.columns, 1.0)
    if has_x0:
        scales[0] = 1.0
    with np.errstate(over="ignore", under="ignore"):
        grown = float(np.linalg.norm(result.weights * (scales / scales.max())))
        margin = float(result.margin / scales.max() / grown) if grown > 0 else 0.0
    return Guarantee(scaled_radius, margin)


def unit_length(weights: Sequence[int]) -> Floats:
    """Integers of any size as floats of length 1."""
    largest = max(abs(v) for v in weights)
    w = np.array([v / largest for v in weights])
    return np.asarray(w / np.sqrt(w @ w))
