"""Scaling: columns brought to one scale for learning, and folded back into the weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis


@dataclass(frozen=True, eq=False)
class Scaling:
    """x becomes (x - centre) / width, column by column.

    Sparse columns are left where they are, for zeros must stay zeros. Widths are powers of
    two, so that dividing by them, and folding them back, rounds nothing.

    Parameters
    ----------
    centre : float64 array of shape (d,)
        What is taken from each column.
    width : float64 array of shape (d,)
        What it is then divided by.

    Examples
    --------
    >>> examples = Examples.from_arrays([[2000.0, 1.0], [2016.0, 6.0]], ["no", "yes"])
    >>> scaling = Scaling.of(examples)
    >>> scaling.apply(examples).X
    array([[-1.  , -1.25],
           [ 1.  ,  1.25]])
    """

    centre: NDArray[np.float64]
    width: NDArray[np.float64]

    @classmethod
    def of(cls, examples: Examples) -> Scaling:
        """The scaling that suits some examples: centred, spread about 1."""
        if examples.is_sparse:
            return cls(np.zeros(examples.d), _power_of_two(_typical_entries(examples.X)))
        if examples.x0 == 0:  # without w0 nothing could make up for a shift
            return cls(np.zeros(examples.d), _power_of_two(np.abs(examples.X).max(axis=0)))
        largest = np.abs(examples.X).max(axis=0)
        unit = np.where(largest > 0, largest, 1.0)
        X = examples.X / unit
        centre, spread = X.mean(axis=0) * unit, X.std(axis=0) * unit
        flat = spread <= 1e-12 * largest  # a constant column, up to rounding
        return cls(np.where(flat, 0.0, centre), _power_of_two(np.where(flat, largest, spread)))

    def apply(self, examples: Examples) -> Examples:
        """The examples to learn from instead."""
        if examples.is_sparse:
            scaled = examples.X.copy()
            scaled.data = scaled.data / self.width[scaled.indices]
            return replace(examples, X=scaled)
        return replace(examples, X=np.ascontiguousarray((examples.X - self.centre) / self.width))

    def fold(self, hypothesis: Hypothesis) -> Hypothesis:
        """The hypothesis on the values as they are, from one on scaled values."""
        w = np.empty_like(hypothesis.w)
        w[1:] = hypothesis.w[1:] / self.width
        w[0] = hypothesis.w[0]
        if hypothesis.x0 != 0:
            w[0] -= float(w[1:] @ self.centre) / hypothesis.x0
        return replace(hypothesis, w=w)


def _typical_entries(X: Any) -> NDArray[np.float64]:
    """The root mean square of each column's entries: 1 for words that come once a text."""
    unit = float(np.abs(X.data).max(initial=0.0)) or 1.0
    count = np.bincount(X.indices, minlength=X.shape[1])
    squares = np.bincount(X.indices, (X.data / unit) ** 2, minlength=X.shape[1])
    return np.asarray(np.sqrt(squares / np.maximum(count, 1)) * unit)


def _power_of_two(widths: NDArray[np.float64]) -> NDArray[np.float64]:
    exponent = np.round(np.log2(np.where(widths > 0, widths, 1.0)))
    return np.exp2(np.clip(exponent, -1000, 1000))
