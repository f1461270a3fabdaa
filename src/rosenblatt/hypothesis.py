"""Hypothesis: h(x) = sign(w·x), the tall weight vector and what it says of rows."""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.kernels as kernels
import rosenblatt.scoring as scoring
from rosenblatt.blocks import Blocks
from rosenblatt.engine import in_threads
from rosenblatt.examples import (
    NO_LABELS,
    NO_STEPS,
    Examples,
    JointExamples,
    check_width,
    entries,
    joint_rows,
    kernel_rows,
    products,
    sum_of_squares,
)
from rosenblatt.kernels import SMALLEST
from rosenblatt.tables import numbers_in, refuse_non_finite

ZEROS = {"mistake": 0, "negative": -1, "positive": 1}  # what sign(0) is
ROWS = 2**12  # rows looked at more closely are taken so many at a time
UNIT_ROUNDOFF = 2.0**-53

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A line, plane or hyperplane that answers yes on its positive side.

    Examples
    --------
    >>> h = Hypothesis(np.array([-1.0, 2.0, 0.0]))
    >>> h.scores(np.array([[1.0, 5.0], [0.25, 5.0]]))
    array([ 1. , -0.5])
    >>> h.threshold
    1.0
    """

    w: NDArray[np.float64]  # with a slot for w0, which is 0 where x0 is 0
    x0: float = 1.0  # the constant feature, 0.0 for none
    zero: int = 0  # the meaning of sign(0): always a mistake, -1 or +1

    @property
    def threshold(self) -> float:
        """The score of the features above which the answer is yes."""
        return 0.0 - float(self.w[0]) * self.x0  # without a w0 it is 0, not -0

    @property
    def tall(self) -> Floats:
        """The weights that a person sees: w0 first, or no w0 where there is no intercept."""
        return self.w[..., 0 if self.x0 else 1 :]

    @staticmethod
    def of(w: Floats, x0: float = 1.0, zero: int = 0) -> Hypothesis:
        """The hypothesis of weights with their w0 slot, or of a row of them for each label."""
        return (Hypothesis if w.ndim == 1 else JointHypothesis)(w, x0, zero)

    @staticmethod
    def with_intercept(coef: Any, intercept: Any, zero: int) -> Hypothesis:
        """The hypothesis of scikit-learn's weights: a row of features for each label, or one."""
        w = np.column_stack((np.ravel(intercept), np.atleast_2d(coef)))
        return Hypothesis.of(w[0] if len(w) == 1 else w, 1.0, zero)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """w·x for each row of a checked table."""
        return products(X, self.w, self.x0)

    def named(self, X: Any, labels: NDArray[Any]) -> NDArray[Any]:
        """The answers, each as one of the labels."""
        return labels[(self.answers(X) > 0).astype(np.intp)]

    def sides(self, X: Any) -> NDArray[np.float64]:
        """Scores up to a common factor, which neither vanish nor overflow with tiny or huge w.

        Those that do so with tiny or huge rows are found exactly, and rounded once.
        """
        s = products(X, self._plain, self.x0)
        lost = np.flatnonzero(~(np.abs(s) > SMALLEST) | np.isinf(s))
        for i in range(0, len(lost), ROWS):
            rows = lost[i : i + ROWS]
            some, near = X[rows], np.where(np.isfinite(s[rows]), s[rows], 0.0)
            if np.isfinite(self.w).all() and np.isfinite(numbers_in(some)).all():
                for k in np.flatnonzero(self._unsure(some, near, 0.0)):
                    row = some[k] if isinstance(some, np.ndarray) else some[[k]].toarray()[0]
                    s[rows[k]] = _exact_score(self.w, np.append(self.x0, row))
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
        rows = np.flatnonzero(seen != scoring.RIGHT)
        doubtful = np.flatnonzero(seen[rows] == scoring.DOUBTFUL)
        if len(doubtful):
            wrong = np.ones(len(rows), dtype=bool)
            for i in range(0, len(doubtful), ROWS):
                some = doubtful[i : i + ROWS]
                wrong[some] = self._settled(examples, rows[some], share)
            rows = rows[wrong]
        return rows if examples.weights is None else rows[examples.weights[rows] > 0]

    def correction(self, examples: Examples, n: int) -> int:
        """What to correct by where row n is a mistake, as kernels write it."""
        return n

    def ahead(self, examples: Examples) -> NDArray[np.float64]:
        """How far the score of each row is on the right side of 0."""
        return np.asarray(examples.y * self.scores(examples.X))

    def line(self) -> tuple[float, float, float]:
        """a, b, c of the line a·x1 + b·x2 + c = 0 in the plane."""
        if len(self.w) != 3:
            raise ValueError(f"a line needs two features; this hypothesis has {len(self.w) - 1}.")
        return float(self.w[1]), float(self.w[2]), float(self.w[0]) * self.x0

    @functools.cached_property
    def _plain(self) -> NDArray[np.float64]:
        """w, times a power of two that brings its largest entry near 1 where that is extreme."""
        largest = max(float(self.w.max()), -float(self.w.min()))
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
            scoring.run_look(D, self._plain, y, self.zero, share, SMALLEST, seen[rows])

        in_threads(part, examples.n, examples.numbers.size)
        return seen

    def _settled(
        self, examples: Examples, rows: NDArray[np.intp], share: float
    ) -> NDArray[np.bool_]:
        """Which of a few rows near to 0 are mistakes; refuses numbers that are none."""
        X, y = _few_rows(examples, rows)
        s = self.sides(X)
        wrong = np.where(s == 0, self.zero, s) * y <= 0
        for k in np.flatnonzero(~wrong & self._unsure(X, s, share)):
            places, values = entries(examples.X, rows[k], examples.x0)
            wrong[k] = (_exact_sign(self.w[places], values) or self.zero) * y[k] <= 0
        return np.asarray(wrong)

    def _unsure(self, X: Any, s: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
        """Which of a few rows need exact arithmetic."""
        w, sizes = np.abs(self._plain).reshape(-1, X.shape[1] + 1).max(axis=0), abs(X)
        touched: NDArray[Any] = (sizes != 0) @ (w[1:] != 0) | bool(w[0] * self.x0)
        with np.errstate(all="ignore"):
            sizes = sizes @ w[1:] + w[0] * abs(self.x0)
            doubt = ~(np.abs(s) > share * sizes + SMALLEST) & touched
        whole = (self._plain == np.rint(self._plain)).all() and self.x0 == np.rint(self.x0)
        if whole and doubt.any():  # sums of whole numbers below 2^53 are exact
            parts = (np.rint(X) if isinstance(X, np.ndarray) else X.rint()) != X
            doubt &= (np.asarray(parts.sum(axis=1)).ravel() > 0) | ~(sizes < 2.0**53)
        return np.asarray(doubt)


class JointHypothesis(Hypothesis):
    """A row of weights for each of K labels; the answer is the label with the highest score.

    Of labels with equal scores it is the first, or with `zero` = +1 the last. Answers, and y of
    examples, are places among the labels.

    Examples
    --------
    >>> h = Hypothesis.of(np.array([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0]]))
    >>> h.scores(np.array([[3.0], [0.5]]))
    array([[ 3. ,  1. , -3. ],
           [ 0.5,  1. , -0.5]])
    >>> h.named(np.array([[3.0], [0.5]]), np.array(["a", "b", "c"])).tolist()
    ['a', 'b']
    """

    def scores(self, X: Any) -> NDArray[np.float64]:
        """A score by each label's weights for each row of a checked table."""
        return self._products(X, self.w)

    def answers(self, X: Any) -> NDArray[Any]:
        """The place of the label with the highest score, for each row."""
        s = self._products(X, self._plain)
        places, distinct = self._highest(s), s[:, self._distinct]
        if distinct.shape[1] > 1:
            second, first = np.partition(distinct, -2, axis=1)[:, -2:].T
            with np.errstate(invalid="ignore"):
                ahead = first - second
            near = np.flatnonzero(~(ahead > SMALLEST) | ~np.isfinite(s).all(axis=1))
            for rows in np.split(near, range(ROWS, len(near), ROWS)):
                some = X[rows]
                for k in np.flatnonzero(self._unsure(some, np.zeros(len(rows)), 0.0)):
                    places[rows[k]] = self._highest(self._exact_scores(some, k))[0]
        return places

    def named(self, X: Any, labels: NDArray[Any]) -> NDArray[Any]:
        """The answers, each as one of the labels."""
        return np.asarray(labels[self.answers(X)])

    def correction(self, examples: Examples, n: int) -> int:
        """What to correct by where row n is a mistake: n against its best rival."""
        rivals = self.lead(self._exact_scores(examples.X, n), examples.y[[n]])[1]
        return n * len(self.w) + int(rivals[0])

    def ahead(self, examples: Examples) -> NDArray[np.float64]:
        """How far the right label's score of each row is above the best of the others."""
        return self.lead(self.scores(examples.X), examples.y)[0]

    @functools.cached_property
    def _distinct(self) -> NDArray[np.intp]:
        """Labels with different weights: the scores of others are equal without a doubt."""
        return np.unique(self.w, axis=0, return_index=True)[1]

    def _joint(self, X: Any, rows: slice, y: NDArray[np.int32] = NO_LABELS) -> kernels.Joint:
        return joint_rows(kernel_rows(X, self.x0, NO_STEPS, rows), y, len(self.w))

    def _products(self, X: Any, w: Floats) -> NDArray[np.float64]:
        check_width(X, w[0])
        result = np.empty((X.shape[0], len(w)))
        flat = (w if isinstance(X, np.ndarray) else w.T).flatten()

        def part(rows: slice) -> None:
            scoring.run_scores_joint(self._joint(X, rows), flat, result[rows])

        in_threads(part, X.shape[0], X.size * len(w))
        return result

    def _highest(self, s: NDArray[Any]) -> NDArray[np.intp]:
        """The label with the highest score in each row, the first or last of equals."""
        if self.zero > 0:
            return np.asarray(s.shape[1] - 1 - s[:, ::-1].argmax(axis=1))
        return np.asarray(s.argmax(axis=1))

    @functools.cached_property
    def _kinds(self) -> NDArray[np.intp]:
        """The first label with the same weights, for each label."""
        rows = [(w + 0.0).tobytes() for w in self.w]  # −0 becomes 0
        return np.array([rows.index(row) for row in rows])

    def lead(self, s: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """How far a label is ahead of its best rival in each row of scores, and who that is."""
        others, rows = s.copy(), np.arange(len(y))
        others[rows, y] = -np.inf
        r = self._highest(others)
        with np.errstate(over="ignore", invalid="ignore"):
            return s[rows, y] - s[rows, r], r

    def _wrong(self, s: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[np.bool_], Any, Any]:
        """Which rows of scores are mistakes, how far the right label is ahead, and of which."""
        ahead, r = self.lead(s, y)
        return ~((ahead > 0) | ((ahead == 0) & ((y - r) * self.zero > 0))), ahead, r

    def _look(self, examples: Examples, share: float) -> NDArray[np.uint8]:
        """Each row right, wrong, or so near to being the other that rounding might decide it."""
        check_width(examples.X, self.w[0])
        seen, w = np.empty(examples.n, dtype=np.uint8), examples.flat(self._plain)

        def part(rows: slice) -> None:
            D = self._joint(examples.X, rows, examples.y[rows])
            scoring.run_look_joint(D, w, self.zero, share, SMALLEST, seen[rows])

        in_threads(part, examples.n, examples.numbers.size * len(self.w))
        return seen

    def _settled(
        self, examples: Examples, rows: NDArray[np.intp], share: float
    ) -> NDArray[np.bool_]:
        """Which of a few rows with close scores are mistakes; refuses numbers that are none."""
        X, y = _few_rows(examples, rows)
        wrong, ahead, r = self._wrong(self._products(X, self._plain), y)
        lost = (ahead == 0) | ~np.isfinite(ahead)
        if self.zero == 0:  # the same weights score the same, which is a mistake
            lost &= self._kinds[y] != self._kinds[r]
        unsure = self._unsure(X, np.where(lost, 0.0, ahead), 2 * share)
        for k in np.flatnonzero((~wrong | lost) & unsure):
            wrong[k] = self._wrong(self._exact_scores(X, k), y[[k]])[0][0]
        return wrong

    def _exact_scores(self, X: Any, n: Any) -> NDArray[Any]:
        """The scores of a row, not rounded, as a row of fractions."""
        places, values = entries(X, n, self.x0)
        totals = [_exact_total(w[places], values) for w in self.w]
        return np.array([[Fraction(total) * Fraction(2) ** power for total, power in totals]])


def _few_rows(examples: Examples, rows: NDArray[np.intp]) -> tuple[Any, NDArray[Any]]:
    """Some rows and their answers; refuses numbers that are none."""
    X = examples.X[rows]
    if not math.isfinite(sum_of_squares(numbers_in(X))):
        refuse_non_finite(examples.X, examples.names)
    return X, examples.y[rows]


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


@dataclass(frozen=True, eq=False)
class Wrong:
    """The work of finding the rows that w, as kernels have it, answers wrongly."""

    w: Floats
    zero: int

    def __call__(self, block: Examples, first: int) -> NDArray[np.intp]:
        """Their numbers among all rows."""
        return first + self.rows(block)

    def rows(self, block: Examples) -> NDArray[np.intp]:
        """Their numbers in one block."""
        if not self.scores_are_0(block):
            return Hypothesis.of(block.shaped(self.w), block.x0, self.zero).mistakes(block)
        rows = block.kept.astype(np.intp)
        return rows[self.zero * block.y[rows] <= 0] if self.zero else rows

    def scores_are_0(self, block: Examples) -> bool:
        """Whether they are without a look: of the w that a run begins with."""
        return not (self.w.any() or isinstance(block, JointExamples))


class Costly(Wrong):
    """The work of counting them: how many, or the weights of those rows."""

    def __call__(self, block: Examples, first: int) -> Any:
        """Of one block."""
        if block.weights is not None:
            return block.weights[self.rows(block)]
        if self.zero == 0 and self.scores_are_0(block):
            return block.n  # each is a mistake, and no list of them is needed
        return len(self.rows(block))


def count_mistakes(blocks: Blocks, w: Floats, zero: int = 0) -> float:
    """The mistakes of w on blocks in exact arithmetic, by weight if the examples have weights."""
    costs = list(blocks.each(Costly(w, zero)))
    if all(isinstance(cost, int) for cost in costs):
        return int(sum(costs))
    # The exact sum, rounded once, does not depend on the order of the rows.
    try:
        return math.fsum(np.concatenate(costs))
    except OverflowError:
        return math.inf


def mistakes_of(blocks: Blocks, hypothesis: Hypothesis) -> int:
    """How many rows of blocks a hypothesis answers wrongly, in exact arithmetic."""
    return sum(blocks.each(lambda block, first: len(hypothesis.mistakes(block))))
