"""Exact costs of mistakes: 1 per row, or sample weights."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.examples import Examples

FITS = 2**60  # sums below this, and their differences, are exact in 64 bits
NO_POWER = 2**11  # larger than the exponent of any float


@dataclass(frozen=True, eq=False)
class Costs:
    """Cost of a mistake on each row, as integers with a common unit.

    Examples
    --------
    >>> examples = Examples.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 1])
    >>> costs = Costs.of(examples.weighted([0.5, 0.25, 2.0]))
    >>> costs.each.tolist(), costs.exponent, costs.number(costs.total([0, 1]))
    ([2, 1, 8], -2, 0.75)
    """

    each: NDArray[Any]  # cost per row: int64 if every sum of costs fits, else Python integers
    exponent: int | None = None  # the unit is 2**exponent; None if rows cost 1

    @classmethod
    def of(cls, examples: Examples, exponent: int | None = None) -> Costs:
        """Return the costs of examples: 1 each, or their sample weights.

        Weights are multiples of 2**exponent, by default of the largest that divides them all.
        """
        if examples.weights is None:
            return cls(np.ones(examples.n, dtype=np.int64))
        odd, powers = _factor(examples.weights)
        unit = power_of(examples.weights) if exponent is None else exponent
        whole = np.zeros(examples.n, dtype=object)
        pairs = zip(odd.tolist(), (powers - unit).tolist(), strict=True)
        whole[examples.weights > 0] = [m << k for m, k in pairs]
        return cls(whole.astype(np.int64) if whole.sum() < FITS else whole, unit)

    def total(self, rows: Any) -> int:
        """Return the total cost of mistakes on the given rows."""
        return int(self.each[rows].sum()) if len(rows) else 0

    def number(self, cost: int) -> float:
        """Return a cost as a number to display, rounded if necessary."""
        if self.exponent is None:
            return cost
        try:
            return float(self.plain(cost))
        except OverflowError:
            return math.inf

    def number_below(self, cost: int) -> float:
        """Return a cost as a number, rounded down if necessary."""
        if self.exponent is None:
            return cost
        near = min(self.number(cost), sys.float_info.max)
        return math.nextafter(near, -math.inf) if Fraction(near) > self.plain(cost) else near

    def plain(self, cost: int) -> Fraction:
        """Return a cost as an exact fraction, in the units of the sample weights."""
        return cost * Fraction(2) ** (self.exponent or 0)


def power_of(weights: NDArray[np.float64]) -> int:
    """Return the exponent of the largest power of two that divides all weights."""
    return int(_factor(weights)[1].min(initial=NO_POWER))


def _factor(weights: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Factor the nonzero weights into odd integers and exponents of powers of two."""
    fractions, exponents = np.frexp(weights[weights > 0])
    odd = np.ldexp(fractions, 53).astype(np.int64)
    zeros = np.frexp((odd & -odd).astype(np.float64))[1] - 1  # trailing zeros in binary
    return odd >> zeros, exponents - 53 + zeros
