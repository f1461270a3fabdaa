"""What mistakes cost, exactly: weights are fractions, and are added and compared as such."""

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


@dataclass(frozen=True, eq=False)
class Costs:
    """The cost of a mistake on each row, in whole numbers of one unit.

    Parameters
    ----------
    each : array
        Of 64-bit integers where every sum of them fits, else of Python's.
    exponent : int, optional
        The unit is 2 to the power of this; None where rows have no weights, and cost 1.

    Examples
    --------
    >>> examples = Examples.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 1])
    >>> costs = Costs.of(examples.weighted([0.5, 0.25, 2.0]))
    >>> costs.each.tolist(), costs.exponent, costs.number(costs.total([0, 1]))
    ([2, 1, 8], -2, 0.75)
    """

    each: NDArray[Any]
    exponent: int | None = None

    @classmethod
    def of(cls, examples: Examples) -> Costs:
        """The costs of examples: their weights, or 1 each."""
        if examples.weights is None:
            return cls(np.ones(examples.n, dtype=np.int64))
        fractions, exponents = np.frexp(examples.weights)
        odd = np.ldexp(fractions, 53).astype(np.int64)
        some = odd != 0
        zeros = np.frexp((odd & -odd)[some].astype(np.float64))[1] - 1  # at the end, in binary
        odd[some] >>= zeros
        powers = exponents[some] - 53 + zeros
        unit = int(powers.min())
        whole = np.zeros(examples.n, dtype=object)
        pairs = zip(odd[some].tolist(), (powers - unit).tolist(), strict=True)
        whole[some] = [m << k for m, k in pairs]
        return cls(whole.astype(np.int64) if whole.sum() < FITS else whole, unit)

    def total(self, rows: Any) -> int:
        """What mistakes on these rows cost together."""
        return int(self.each[rows].sum()) if len(rows) else 0

    def number(self, cost: int) -> float:
        """A cost as a person reads it: a count, or the nearest float."""
        if self.exponent is None:
            return cost
        try:
            return cost / (1 << -self.exponent) if self.exponent < 0 else float(self._plain(cost))
        except OverflowError:
            return math.inf

    def number_below(self, cost: int) -> float:
        """A cost as a count, or the largest float that is not above it."""
        if self.exponent is None:
            return cost
        near = min(self.number(cost), sys.float_info.max)
        return math.nextafter(near, -math.inf) if Fraction(near) > self._plain(cost) else near

    def _plain(self, cost: int) -> Fraction:
        assert self.exponent is not None
        return cost * Fraction(2) ** self.exponent
