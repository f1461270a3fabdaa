"""Scaling of columns for training, their spread, and a ranking of features."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rosenblatt.blocks import Blocks
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Floats, Hypothesis
from rosenblatt.tables import default_names

GRID = 2**32  # centers are multiples of width / GRID
ENTRIES = 1 << 20  # number of entries processed at a time


@dataclass(frozen=True, eq=False)
class Scaling:
    """Transformation of each column to (x - center) / width.

    Sparse columns are not centered because zeros must stay zeros. Widths are powers of two, so
    that dividing by them, and folding them into weights, causes no rounding.

    Examples
    --------
    >>> examples = Examples.from_arrays([[2000.0, 1.0], [2016.0, 6.0]], ["no", "yes"])
    >>> scaling = Scaling.of(examples)
    >>> scaling.apply(examples).X
    array([[-1.  , -1.25],
           [ 1.  ,  1.25]])
    """

    center: Floats
    width: Floats

    @classmethod
    def of(cls, blocks: Blocks, spread: Spread | None = None) -> Scaling:
        """Choose the scaling that gives each column a spread of about 1.

        Columns are centered only if there is an intercept. `spread` is that of the blocks, if it
        is known.
        """
        spread = Spread.of(blocks) if spread is None else spread
        filled = np.maximum(spread.count, 1)
        centered = spread.has_x0 and not spread.is_sparse
        if spread.is_sparse:  # root mean square of the stored entries of each column
            typical = np.sqrt(spread.squares / filled) * spread.unit
        elif centered:
            typical = np.where(spread.flat, spread.largest, spread.deviation)
        else:
            typical = spread.largest
        exponent = np.round(np.log2(np.where(typical > 0, typical, 1.0)))
        width = np.exp2(np.clip(exponent, -1000, 1000))
        center = np.zeros(len(width))
        if centered:
            mean = (spread.shift + spread.sums / filled) * spread.unit
            # Rounded to a grid, so that it does not depend on the order of summation.
            center = np.where(spread.flat, 0.0, np.rint(mean / width * GRID) / GRID * width)
        return cls(center, width)

    def apply(self, examples: Examples) -> Examples:
        """Scale the columns of examples."""
        X = examples.X
        if examples.is_sparse:
            scaled = X.copy()
            scaled.data = scaled.data / self.width[scaled.indices]
        else:
            scaled = np.subtract(X, self.center, dtype=np.float64, order="C")
            scaled /= self.width
        return replace(examples, X=scaled, assumed_plain=False)

    def fold(self, hypothesis: Hypothesis) -> Hypothesis:
        """Convert a linear classifier of scaled columns to one of the original columns."""
        w = hypothesis.w.copy()
        w[..., 1:] /= self.width
        if hypothesis.x0 != 0:
            w[..., 0] -= w[..., 1:] @ self.center / hypothesis.x0
        return replace(hypothesis, w=w)

    def unfold(self, hypothesis: Hypothesis) -> Hypothesis:
        """Convert a linear classifier of the original columns to one of scaled columns."""
        w = hypothesis.w.copy()
        w[..., 1:] *= self.width
        if hypothesis.x0 != 0:
            w[..., 0] += hypothesis.w[..., 1:] @ self.center / hypothesis.x0
        return replace(hypothesis, w=w)


@dataclass(frozen=True, eq=False)
class Spread:
    """Statistics of each column: largest absolute value, sum and sum of squares.

    Sums are in a unit per column, so that they neither overflow nor underflow.
    """

    rows: int
    count: Floats  # number of entries; only those stored if the rows are sparse
    unit: Floats  # power of two near the largest absolute entry
    largest: Floats  # largest absolute entry
    sums: Floats  # sum of entries minus `shift`, in units
    squares: Floats  # sum of their squares
    shift: Floats  # subtracted from entries before they are squared, in units
    is_sparse: bool
    has_x0: bool
    names: tuple[str, ...] | None

    @classmethod
    def of(cls, blocks: Blocks) -> Spread:
        """Compute the spread of each column in one pass over the rows."""
        return functools.reduce(cls._combine, blocks.each(_measure))

    @property
    def flat(self) -> NDArray[np.bool_]:
        """Whether each column is constant, except for rounding errors."""
        return self.deviation <= 1e-12 * self.largest

    @property
    def deviation(self) -> Floats:
        """Standard deviation of each column, counting zeros that are not stored."""
        n = max(self.rows, 1)
        variance = self.squares / n - (self.sums / n) ** 2
        return np.sqrt(np.maximum(variance, 0.0)) * self.unit

    def _combine(self, other: Spread) -> Spread:
        unit, center = np.maximum(self.unit, other.unit), self.shift * self.unit
        a, b = self._convert(unit, center), other._convert(unit, center)
        return replace(
            a,
            rows=a.rows + b.rows,
            count=a.count + b.count,
            largest=np.maximum(a.largest, b.largest),
            sums=a.sums + b.sums,
            squares=a.squares + b.squares,
        )

    def _convert(self, unit: Floats, center: Floats) -> Spread:
        """Return the statistics with each column's sums recomputed for (x - center) / unit."""
        ratio, shift = self.unit / unit, center / unit
        move = self.shift * ratio - shift
        sums = self.sums * ratio
        squares = self.squares * ratio**2 + 2 * move * sums + self.count * move**2
        return replace(self, unit=unit, shift=shift, sums=sums + self.count * move, squares=squares)


def _measure(examples: Examples, first: int) -> Spread:
    X, n, d = examples.X, examples.n, examples.d
    like = examples.is_sparse, bool(examples.x0), examples.names
    if examples.is_sparse:
        largest = np.zeros(d)
        np.maximum.at(largest, X.indices, np.abs(X.data))
        unit = np.ldexp(1.0, np.minimum(np.frexp(largest)[1], 1000))
        count = np.bincount(X.indices, minlength=d).astype(np.float64)
        entries = X.data / unit[X.indices]
        sums = np.bincount(X.indices, entries, minlength=d).astype(np.float64)
        squares = np.bincount(X.indices, entries**2, minlength=d).astype(np.float64)
        return Spread(n, count, unit, largest, sums, squares, np.zeros(d), *like)
    largest = np.maximum(X.max(axis=0), -X.min(axis=0)).astype(np.float64)
    unit = np.ldexp(1.0, np.minimum(np.frexp(largest)[1], 1000))
    shift, count = X[0] / unit, np.full(d, float(n))
    sums, squares = np.zeros(d), np.zeros(d)
    step = max(1, ENTRIES // d)
    for begin in range(0, n, step):
        part = X[begin : begin + step] / unit - shift
        sums += part.sum(axis=0)
        squares += np.einsum("ij,ij->j", part, part)
    return Spread(n, count, unit, largest, sums, squares, shift, *like)


@dataclass(frozen=True)
class Strength:
    """Weight of a feature, and the change in score per standard deviation."""

    feature: str
    weight: float
    strength: float  # weight × standard deviation of the feature


@dataclass(frozen=True)
class LabelStrength(Strength):
    """Weight of a feature for one of several labels."""

    label: str


def rank_features(
    hypothesis: Hypothesis, blocks: Blocks, labels: Sequence[str]
) -> Sequence[Sequence[Strength]]:
    """Rank the features of each label by change in score per standard deviation.

    A weight applies to the values in the file, so weights of columns on different scales cannot
    be compared; weight × standard deviation can. Two labels have one score. With more labels, the
    mean weight over the labels is subtracted because it changes no prediction.
    """
    spread, many = Spread.of(blocks), hypothesis.w.ndim > 1
    weights = np.atleast_2d(hypothesis.w)[:, 1:]
    weights = weights - weights.mean(axis=0) if many else weights
    names = spread.names or default_names(weights.shape[1])
    with np.errstate(over="ignore"):
        changes = np.nan_to_num(weights * spread.deviation)
    rankings = []
    for k, (w, change) in enumerate(zip(weights, changes, strict=True)):
        order = np.argsort(-np.abs(change), kind="stable").tolist()
        found = [(names[i], float(w[i]), float(change[i])) for i in order]
        rankings.append([LabelStrength(*f, labels[k]) if many else Strength(*f) for f in found])
    return rankings


def center_thresholds(hypothesis: Hypothesis) -> list[float]:
    """Return the threshold of each label minus the mean threshold of all labels."""
    thresholds = -hypothesis.w[:, 0] * hypothesis.x0
    centered: list[float] = (thresholds - thresholds.mean()).tolist()
    return centered
