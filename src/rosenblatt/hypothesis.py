"""Hypothesis: h(x) = sign(w·x), the tall weight vector and what it says of rows."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import engine, kernels
from rosenblatt.blocks import Blocks
from rosenblatt.engine import in_threads
from rosenblatt.examples import NO_STEPS, Examples, check_width, kernel_rows, products
from rosenblatt.kernels import SMALLEST
from rosenblatt.tables import refuse_non_finite, sum_of_squares

ZEROS = {"mistake": 0, "negative": -1, "positive": 1}  # what sign(0) is
ROWS = 2**12  # rows looked at more closely are taken so many at a time
UNIT_ROUNDOFF = 2.0**-53

Polygon = list[tuple[float, float]]  # its corners, in order around it


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A line, plane or hyperplane that answers yes on its positive side.

    Parameters
    ----------
    w : float64 array of shape (d + 1,)
        The weights with a slot for w0, which is 0 where x0 is 0.
    x0 : float
        The constant feature, 0.0 for none.
    zero : {0, -1, +1}
        The meaning of sign(0): always a mistake, -1 or +1.

    Examples
    --------
    >>> h = Hypothesis(np.array([-1.0, 2.0, 0.0]))
    >>> h.scores(np.array([[1.0, 5.0], [0.25, 5.0]]))
    array([ 1. , -0.5])
    >>> h.threshold
    1.0
    """

    w: NDArray[np.float64]
    x0: float = 1.0
    zero: int = 0

    @property
    def threshold(self) -> float:
        """The score of the features above which the answer is yes."""
        return -float(self.w[0]) * self.x0

    def scores(self, X: Any) -> NDArray[np.float64]:
        """w·x for each row of a checked table."""
        return products(X, self.w, self.x0)

    def sides(self, X: Any) -> NDArray[np.float64]:
        """Scores up to a common factor, which neither vanish nor overflow with tiny or huge w.

        Those that do so with tiny or huge rows are found exactly, and rounded once.
        """
        s = products(X, self._plain, self.x0)
        lost = np.flatnonzero(~(np.abs(s) > SMALLEST) | np.isinf(s))
        for i in range(0, len(lost), ROWS):
            rows = lost[i : i + ROWS]
            s[rows] = self._found_again(X[rows], s[rows])
        return s

    def answers(self, X: Any) -> NDArray[np.int8]:
        """-1 or +1 for each row; at exactly 0, -1 unless `zero` says +1."""
        s = self.sides(X)
        yes = s >= 0 if self.zero > 0 else s > 0
        return yes.astype(np.int8) * np.int8(2) - np.int8(1)

    def mistakes(self, examples: Examples) -> NDArray[np.intp]:
        """The rows answered wrongly, in exact arithmetic wherever rounding could decide.

        A row counts when its computed score is on the wrong side or when its exact score is:
        no mistakes means that both the numbers a person sees and the real ones are right.
        """
        if not np.isfinite(self.w).all():
            return np.arange(examples.n)
        share = 4 * (examples.longest + 1) * UNIT_ROUNDOFF
        seen = self._look(examples, share)
        rows = np.flatnonzero(seen != kernels.RIGHT)
        doubtful = np.flatnonzero(seen[rows] == kernels.DOUBTFUL)
        if len(doubtful):
            wrong = np.ones(len(rows), dtype=bool)
            for i in range(0, len(doubtful), ROWS):
                some = doubtful[i : i + ROWS]
                wrong[some] = self._settled(examples, rows[some], share)
            rows = rows[wrong]
        return rows if examples.weights is None else rows[examples.weights[rows] > 0]

    def count(self, blocks: Blocks) -> int:
        """How many rows of blocks are answered wrongly, in exact arithmetic."""
        return sum(blocks.each(lambda block, first: len(self.mistakes(block))))

    def line(self) -> tuple[float, float, float]:
        """a, b, c of the line a·x1 + b·x2 + c = 0 in the plane."""
        if len(self.w) != 3:
            raise ValueError(f"a line needs two features; this hypothesis has {len(self.w) - 1}.")
        return float(self.w[1]), float(self.w[2]), float(self.w[0]) * self.x0

    @functools.cached_property
    def _plain(self) -> NDArray[np.float64]:
        """w, times a power of two that brings its largest entry near 1 where that is extreme."""
        largest = float(np.abs(self.w).max())
        if largest == 0 or 1e-100 < largest < 1e100:
            return self.w
        return np.ldexp(self.w, -math.frexp(largest)[1])

    def _look(self, examples: Examples, share: float) -> NDArray[np.uint8]:
        """Each row right, wrong, or so near to 0 that rounding might have changed its sign.

        A sum of k products is off by at most k·u·Σ|w·x| in any order of summation; 4 (k + 1)
        also covers the rounding of this bound. A NaN or infinity in a row leaves it in doubt.
        """
        check_width(examples.X, self.w)
        seen = np.empty(examples.n, dtype=np.uint8)

        def part(rows: slice) -> None:
            D, y = kernel_rows(examples.X, self.x0, NO_STEPS, rows), examples.y[rows]
            engine.look(D, self._plain, y, self.zero, share, SMALLEST, seen[rows])

        in_threads(part, examples.n, examples.numbers.size)
        return seen

    def _found_again(self, X: Any, s: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores of a few rows, exactly where they vanished or overflowed."""
        numbers = X if isinstance(X, np.ndarray) else X.data
        if not np.isfinite(self.w).all() or not np.isfinite(numbers).all():
            return s
        for k in np.flatnonzero(self._unsure(X, np.where(np.isfinite(s), s, 0.0), 0.0)):
            row = X[k] if isinstance(X, np.ndarray) else X[[k]].toarray()[0]
            s[k] = _exact_score(self.w, np.append(self.x0, row))
        return s

    def _settled(
        self, examples: Examples, rows: NDArray[np.intp], share: float
    ) -> NDArray[np.bool_]:
        """Which of a few rows near to 0 are mistakes; refuses numbers that are none."""
        X, y = examples.X[rows], examples.y[rows]
        if not math.isfinite(sum_of_squares(X if isinstance(X, np.ndarray) else X.data)):
            refuse_non_finite(examples.X, examples.names)
        s = self.sides(X)
        wrong = np.where(s == 0, self.zero, s) * y <= 0
        for k in np.flatnonzero(~wrong & self._unsure(X, s, share)):
            places, values = examples.entries(rows[k])
            wrong[k] = (_exact_sign(self.w[places], values) or self.zero) * y[k] <= 0
        return np.asarray(wrong)

    def _unsure(self, X: Any, s: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
        """Which of a few rows need exact arithmetic."""
        w, sizes = self._plain, abs(X)
        touched: NDArray[Any] = (sizes != 0) @ (w[1:] != 0) | bool(w[0] * self.x0)
        with np.errstate(all="ignore"):
            sizes = sizes @ np.abs(w[1:]) + abs(w[0] * self.x0)
            doubt = ~(np.abs(s) > share * sizes + SMALLEST) & touched
        whole = (w == np.rint(w)).all() and self.x0 == np.rint(self.x0)
        if whole and doubt.any():  # sums of whole numbers below 2^53 are exact
            parts = (np.rint(X) if isinstance(X, np.ndarray) else X.rint()) != X
            doubt &= (np.asarray(parts.sum(axis=1)).ravel() > 0) | ~(sizes < 2.0**53)
        return np.asarray(doubt)


def _exact_sign(w: NDArray[np.float64], x: NDArray[np.float64]) -> float:
    """The sign of Σ w·x."""
    total, _ = _exact_total(w, x)
    return float((total > 0) - (total < 0))


def _exact_score(w: NDArray[np.float64], x: NDArray[np.float64]) -> float:
    """Σ w·x as a float that keeps its sign: never 0 by rounding, never infinite."""
    total, exponent = _exact_total(w, x)
    more = max(0, abs(total).bit_length() - 64)
    try:
        size = math.ldexp(abs(total) >> more, exponent + more)
    except OverflowError:
        size = sys.float_info.max
    return max(size, 5e-324) * ((total > 0) - (total < 0))


def _exact_total(w: NDArray[np.float64], x: NDArray[np.float64]) -> tuple[int, int]:
    """Σ w·x as a whole number and a power of two: a float is a whole number times one."""
    (a, i), (b, j) = np.frexp(w), np.frexp(x)
    wholes, exponents = (np.ldexp(a, 53), np.ldexp(b, 53)), (i + j).tolist()
    lowest = min(exponents)
    total = 0
    for u, v, exponent in zip(wholes[0].tolist(), wholes[1].tolist(), exponents, strict=True):
        total += (int(u) * int(v)) << (exponent - lowest)
    return total, lowest - 106


def clip(polygon: Polygon, w: Iterable[float]) -> Polygon:
    """The part of a convex polygon where w·x ≥ 0, for tall weights w of the plane.

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
    """The shoelace formula.

    Examples
    --------
    >>> area([(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0)])
    2.0
    """
    corners = zip(polygon[-1:] + polygon[:-1], polygon, strict=True)
    return abs(sum(a * d - c * b for (a, b), (c, d) in corners)) / 2
