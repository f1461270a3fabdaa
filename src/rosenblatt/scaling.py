"""Scaling: how columns are spread, rows on a common scale, and the strength of each feature."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.blocks import Blocks
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Floats, Hypothesis
from rosenblatt.tables import places_named

GRID = 2**32  # centres are multiples of this part of the width
ENTRIES = 1 << 20  # looked at at a time


@dataclass(frozen=True, eq=False)
class Scaling:
    """x becomes (x - centre) / width, column by column.

    Sparse columns are left where they are, for zeros must stay zeros. Widths are powers of
    two, so that dividing by them, and folding them back, rounds nothing.

    Examples
    --------
    >>> examples = Examples.from_arrays([[2000.0, 1.0], [2016.0, 6.0]], ["no", "yes"])
    >>> scaling = Scaling.of(examples)
    >>> scaling.apply(examples).X
    array([[-1.  , -1.25],
           [ 1.  ,  1.25]])
    """

    centre: Floats  # what is taken from each column
    width: Floats  # what it is then divided by

    @classmethod
    def of(cls, blocks: Blocks) -> Scaling:
        """The scaling that suits some rows, found in one pass: centred, spread about 1."""
        return cls.suiting(Spread.of(blocks))

    @classmethod
    def suiting(cls, spread: Spread) -> Scaling:
        """The scaling that suits columns so spread; centred only where a w0 can make up for it."""
        zeros = np.zeros(len(spread.largest))
        if spread.is_sparse:
            return cls(zeros, _power_of_two(spread.typical))
        if not spread.has_x0:
            return cls(zeros, _power_of_two(spread.largest))
        flat = spread.flat
        width = _power_of_two(np.where(flat, spread.largest, spread.deviation))
        # Rounded to a grid, so that it does not depend on the order in which rows are added up.
        centre = np.rint(spread.mean / width * GRID) / GRID * width
        return cls(np.where(flat, 0.0, centre), width)

    def apply(self, examples: Examples) -> Examples:
        """The examples to learn from instead."""
        return replace(examples, X=self.scaled(examples.X), assumed_plain=False)

    def scaled(self, X: Any) -> Any:
        """Rows of a checked table, scaled."""
        if isinstance(X, np.ndarray):
            result = np.subtract(X, self.centre, dtype=np.float64, order="C")
            result /= self.width
            return result
        result = X.copy()
        result.data = result.data / self.width[result.indices]
        return result

    def fold(self, hypothesis: Hypothesis) -> Hypothesis:
        """The hypothesis on the values as they are, from one on scaled values."""
        w = hypothesis.w.copy()
        w[..., 1:] /= self.width
        if hypothesis.x0 != 0:
            w[..., 0] -= w[..., 1:] @ self.centre / hypothesis.x0
        return replace(hypothesis, w=w)

    def unfold(self, hypothesis: Hypothesis) -> Hypothesis:
        """The way back."""
        w = hypothesis.w.copy()
        w[..., 1:] *= self.width
        if hypothesis.x0 != 0:
            w[..., 0] += hypothesis.w[..., 1:] @ self.centre / hypothesis.x0
        return replace(hypothesis, w=w)


@dataclass(frozen=True, eq=False)
class Spread:
    """How the entries of each column are spread: counts, and sums in a unit of each column."""

    rows: int
    count: Floats  # of entries, those stored where the rows are sparse
    unit: Floats  # powers of two that no entry of the column exceeds by much
    largest: Floats  # absolute entry
    sums: Floats  # of entries about `shift`, in units
    squares: Floats  # of the same
    shift: Floats  # what is taken from entries, in units, before they are squared
    is_sparse: bool
    has_x0: bool
    names: tuple[str, ...] | None

    @classmethod
    def of(cls, blocks: Blocks) -> Spread:
        """That of some rows, in one pass."""
        return functools.reduce(cls.joined, blocks.each(_spread_of))

    @property
    def flat(self) -> NDArray[np.bool_]:
        """Which columns are constant, up to rounding."""
        return self.deviation <= 1e-12 * self.largest

    @property
    def mean(self) -> Floats:
        """The mean of each column."""
        return (self.shift + self.sums / np.maximum(self.count, 1)) * self.unit

    @property
    def deviation(self) -> Floats:
        """The standard deviation of each column, zeros that are not stored among its entries."""
        n = max(self.rows, 1)
        variance = self.squares / n - (self.sums / n) ** 2
        return np.sqrt(np.maximum(variance, 0.0)) * self.unit

    @property
    def typical(self) -> Floats:
        """The root mean square of each column's entries: 1 for words that come once a text."""
        n = np.maximum(self.count, 1)
        return np.sqrt(self.squares / n) * self.unit

    def joined(self, other: Spread) -> Spread:
        """The spread of both blocks' rows."""
        unit = np.maximum(self.unit, other.unit)
        a, b = self._about(unit, self.shift * self.unit), other._about(unit, self.shift * self.unit)
        return replace(
            a,
            rows=a.rows + b.rows,
            count=a.count + b.count,
            largest=np.maximum(a.largest, b.largest),
            sums=a.sums + b.sums,
            squares=a.squares + b.squares,
        )

    def _about(self, unit: Floats, centre: Floats) -> Spread:
        """The same in another unit, about another centre."""
        ratio, shift = self.unit / unit, centre / unit
        move = self.shift * ratio - shift
        sums = self.sums * ratio
        squares = self.squares * ratio**2 + 2 * move * sums + self.count * move**2
        return replace(self, unit=unit, shift=shift, sums=sums + self.count * move, squares=squares)


def _spread_of(examples: Examples, first: int) -> Spread:
    if examples.is_sparse:
        return _sparse_spread(examples)
    X, like = examples.X, (False, bool(examples.x0), examples.names)
    largest = np.maximum(X.max(axis=0), -X.min(axis=0)).astype(np.float64)
    unit = np.ldexp(1.0, np.minimum(np.frexp(largest)[1], 1000))
    shift = X[0] / unit
    count = np.full(examples.d, float(examples.n))
    sums, squares = np.zeros(examples.d), np.zeros(examples.d)
    step = max(1, ENTRIES // examples.d)
    for begin in range(0, examples.n, step):
        part = X[begin : begin + step] / unit - shift
        sums += part.sum(axis=0)
        squares += np.einsum("ij,ij->j", part, part)
    return Spread(examples.n, count, unit, largest, sums, squares, shift, *like)


def _sparse_spread(examples: Examples) -> Spread:
    X, d, like = examples.X, examples.d, (True, bool(examples.x0), examples.names)
    largest = np.zeros(d)
    np.maximum.at(largest, X.indices, np.abs(X.data))
    unit = np.ldexp(1.0, np.minimum(np.frexp(largest)[1], 1000))
    count = np.bincount(X.indices, minlength=d).astype(np.float64)
    entries = X.data / unit[X.indices]
    sums = np.bincount(X.indices, entries, minlength=d).astype(np.float64)
    squares = np.bincount(X.indices, entries**2, minlength=d).astype(np.float64)
    return Spread(examples.n, count, unit, largest, sums, squares, np.zeros(d), *like)


def _power_of_two(widths: NDArray[np.float64]) -> NDArray[np.float64]:
    exponent = np.round(np.log2(np.where(widths > 0, widths, 1.0)))
    return np.exp2(np.clip(exponent, -1000, 1000))


@dataclass(frozen=True)
class Strength:
    """A feature, its weight, and weight × standard deviation of the feature."""

    feature: str
    weight: float
    strength: float


@dataclass(frozen=True)
class LabelStrength(Strength):
    """The same of one of more than two labels: weights as they differ from the mean label's."""

    label: str


def strengths(
    hypothesis: Hypothesis, blocks: Blocks, labels: Sequence[str]
) -> Sequence[Sequence[Strength]]:
    """The features, strongest first, by what a typical change moves the score; for each label.

    A weight applies to the values in the file, so weights of columns on different scales do
    not compare; weight × standard deviation does. Two labels have one score; weights that more
    have in common change no answer, and are left out.
    """
    spread = Spread.of(blocks)
    if hypothesis.w.ndim == 1:
        return [[Strength(*found) for found in _ranked(hypothesis.w[1:], spread)]]
    weights = hypothesis.w[:, 1:] - hypothesis.w[:, 1:].mean(axis=0)
    return [
        [LabelStrength(*found, label) for found in _ranked(w, spread)]
        for w, label in zip(weights, labels, strict=True)
    ]


def thresholds_of(hypothesis: Hypothesis) -> list[float]:
    """What is taken from the score of each label, as it differs from the mean label's."""
    thresholds = -hypothesis.w[:, 0] * hypothesis.x0
    centred: list[float] = (thresholds - thresholds.mean()).tolist()
    return centred


def _ranked(weights: Floats, spread: Spread) -> Iterator[tuple[str, float, float]]:
    names = spread.names or places_named(len(weights))
    with np.errstate(over="ignore"):
        strength = np.nan_to_num(weights * spread.deviation)
    for i in np.argsort(-np.abs(strength), kind="stable"):
        yield names[i], float(weights[i]), float(strength[i])
