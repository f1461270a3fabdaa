"""Linear classifiers h(x) = sign(w·x): weights, scores, predictions and exact mistakes."""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.engine as engine
from rosenblatt.blocks import Blocks
from rosenblatt.examples import Examples, check_width, entries, products, sum_of_squares
from rosenblatt.rowformats import NO_STEPS, RIGHT, SMALLEST, UNDECIDED, joint_rows, kernel_rows
from rosenblatt.tables import find_fractions, numbers_in, refuse_non_finite

ZEROS = {"mistake": 0, "negative": -1, "positive": 1}  # values of sign(0)
ROWS = 2**12  # rows that are decided exactly at a time
UNIT_ROUNDOFF = 2.0**-53

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """Linear classifier for two labels, with an augmented weight vector w.

    Examples
    --------
    >>> h = Hypothesis(np.array([-1.0, 2.0, 0.0]))
    >>> h.scores(np.array([[1.0, 5.0], [0.25, 5.0]]))
    array([ 1. , -0.5])
    >>> h.threshold
    1.0
    """

    w: NDArray[np.float64]  # with a slot for w0, which is 0 if x0 is 0
    x0: float = 1.0  # the constant feature; 0.0 without an intercept
    zero: int = 0  # meaning of sign(0): always a mistake, -1 or +1

    @property
    def threshold(self) -> float:
        """Number that the weighted sum of features must exceed for the positive label."""
        return 0.0 - float(self.w[0]) * self.x0  # 0.0 - 0.0 is 0.0; a negation would give -0.0

    @property
    def augmented(self) -> Floats:
        """Augmented weights: w0 first, or no w0 if there is no intercept."""
        return self.w[..., 0 if self.x0 else 1 :]

    @staticmethod
    def of(w: Floats, x0: float = 1.0, zero: int = 0) -> Hypothesis:
        """Create a linear classifier for two labels or, if w has a row per label, for K labels.

        w includes w0, even if x0 is 0.
        """
        return (Hypothesis if w.ndim == 1 else JointHypothesis)(w, x0, zero)

    @staticmethod
    def with_intercept(coef: Any, intercept: Any, zero: int) -> Hypothesis:
        """Create a linear classifier from scikit-learn's `coef_` and `intercept_`."""
        w = np.column_stack((np.ravel(intercept), np.atleast_2d(coef)))
        return Hypothesis.of(w[0] if len(w) == 1 else w, 1.0, zero)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return w·x for each row of a checked table; with K labels, a score per label."""
        return products(X, self.w, self.x0)

    def predict(self, X: Any, labels: NDArray[Any]) -> NDArray[Any]:
        """Return the predicted label of each row."""
        return np.asarray(labels[np.maximum(self.predict_codes(X), 0)])

    def safe_scores(self, X: Any) -> NDArray[np.float64]:
        """Return the scores, all scaled by one power of two, without underflow or overflow.

        Scores of tiny or huge rows that would do so are computed exactly and rounded once.
        """
        s = products(X, self._plain, self.x0)
        lost = np.flatnonzero(~(np.abs(s) > SMALLEST) | np.isinf(s))
        for i in range(0, len(lost), ROWS):
            rows = lost[i : i + ROWS]
            some, near = X[rows], np.where(np.isfinite(s[rows]), s[rows], 0.0)
            if np.isfinite(self.w).all() and np.isfinite(numbers_in(some)).all():
                for k in np.flatnonzero(self._needs_exact(some, near, 0.0)):
                    places, values = entries(some, int(k), self.x0)
                    s[rows[k]] = _exact_score(self.w[places], values)
        return s

    def predict_codes(self, X: Any) -> NDArray[np.int8]:
        """Predict -1 or +1 for each row; a score of 0 gives -1, or +1 if `self.zero` is +1."""
        s = self.safe_scores(X)
        positive = s >= 0 if self.zero > 0 else s > 0
        return positive.astype(np.int8) * np.int8(2) - np.int8(1)

    def mistakes(self, examples: Examples) -> NDArray[np.intp]:
        """Return the misclassified rows, decided exactly where rounding could matter.

        A row is a mistake if its computed score or its exact score is on the wrong side: without
        mistakes, both the printed numbers and the exact ones classify every row correctly. Raise
        RowError on NaN or infinity.
        """
        if not np.isfinite(self.w).all():
            return np.arange(examples.n)
        # The rounding error of a sum of k products is at most k·u·Σ|w·x| in any order of summation;
        # 4 (k + 1) also accounts for the rounding of this bound. A row with NaN is UNDECIDED.
        share = 4 * (examples.longest + 1) * UNIT_ROUNDOFF
        seen, w = np.empty(examples.n, dtype=np.uint8), examples.flat(self._plain)

        def look(part: slice) -> None:
            D, y = kernel_rows(examples.X, self.x0, NO_STEPS, part), examples.y[part]
            if examples.multiclass:
                joint = joint_rows(D, y, len(self.w))
                engine.look_joint(joint, w, y, self.zero, share, SMALLEST, seen[part])
            else:
                engine.look(D, w, y, self.zero, share, SMALLEST, seen[part])

        check_width(examples.X, self.w)
        engine.in_threads(look, examples.n, examples.numbers.size * examples.vectors)
        rows = np.flatnonzero(seen != RIGHT)
        undecided = np.flatnonzero(seen[rows] == UNDECIDED)
        if len(undecided):
            wrong = np.ones(len(rows), dtype=bool)
            for i in range(0, len(undecided), ROWS):
                some = undecided[i : i + ROWS]
                X, y = examples.X[rows[some]], examples.y[rows[some]]
                if not math.isfinite(sum_of_squares(numbers_in(X))):
                    refuse_non_finite(examples.X, examples.names)
                wrong[some] = self._decide_exactly(X, y, share)
            rows = rows[wrong]
        return rows if examples.weights is None else rows[examples.weights[rows] > 0]

    def encode_update(self, examples: Examples, n: int) -> int:
        """Return the integer that stands for an update by row n in a trace; for two labels, n."""
        return n

    def signed_scores(self, examples: Examples) -> NDArray[np.float64]:
        """Return y·(w·x) of each row: positive if it is classified correctly."""
        return np.asarray(examples.y * self.scores(examples.X))

    def predicting(self, place: int) -> Hypothesis:
        """Return a classifier that predicts the label at position `place` for every row."""
        w = np.zeros_like(self.w)
        if w.ndim == 1:
            w[0] = 1.0 if place else -1.0
        else:
            w[place, 0] = 1.0
        return replace(self, w=w)

    @functools.cached_property
    def _plain(self) -> NDArray[np.float64]:
        """Weights, scaled by a power of two if the largest one is extreme."""
        largest = max(float(self.w.max()), -float(self.w.min()))
        if largest == 0 or 1e-100 < largest < 1e100:
            return self.w
        return np.ldexp(self.w, -math.frexp(largest)[1])

    def _decide_exactly(self, X: Any, y: NDArray[Any], share: float) -> NDArray[np.bool_]:
        """Return a mask of the rows that are misclassified, by exact arithmetic."""
        s = self.safe_scores(X)
        wrong = np.where(s == 0, self.zero, s) * y <= 0
        for k in np.flatnonzero(~wrong & self._needs_exact(X, s, share)):
            places, values = entries(X, int(k), self.x0)
            total, _ = _exact_total(self.w[places], values)
            sign = (total > 0) - (total < 0)
            wrong[k] = (sign or self.zero) * y[k] <= 0
        return np.asarray(wrong)

    def _needs_exact(self, X: Any, s: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
        """Return a mask of the rows whose score s may have the wrong sign due to rounding."""
        w, sizes = np.abs(self._plain).reshape(-1, X.shape[1] + 1).max(axis=0), abs(X)
        touched: NDArray[Any] = (sizes != 0) @ (w[1:] != 0) | bool(w[0] * self.x0)
        with np.errstate(all="ignore"):
            sizes = sizes @ w[1:] + w[0] * abs(self.x0)
            undecided = ~(np.abs(s) > share * sizes + SMALLEST) & touched
        whole = (self._plain == np.rint(self._plain)).all() and self.x0 == np.rint(self.x0)
        if whole and undecided.any():  # sums of integers below 2^53 are exact
            undecided &= find_fractions(X) | ~(sizes < 2.0**53)
        return np.asarray(undecided)


class JointHypothesis(Hypothesis):
    """Linear classifier for K labels, with a row of weights per label.

    It predicts the label with the highest score: of labels with equal scores the first, or with
    `zero` = +1 the last. Codes, and y of the examples, are positions among the labels.

    Examples
    --------
    >>> h = Hypothesis.of(np.array([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0]]))
    >>> h.scores(np.array([[3.0], [0.5]]))
    array([[ 3. ,  1. , -3. ],
           [ 0.5,  1. , -0.5]])
    >>> h.predict(np.array([[3.0], [0.5]]), np.array(["a", "b", "c"])).tolist()
    ['a', 'b']
    """

    def predict_codes(self, X: Any) -> NDArray[Any]:
        """Return the position of the label with the highest score for each row."""
        s = products(X, self._plain, self.x0)
        places, distinct = self._highest(s), s[:, np.unique(self._kinds)]
        if distinct.shape[1] > 1:
            second, first = np.partition(distinct, -2, axis=1)[:, -2:].T
            with np.errstate(invalid="ignore"):
                ahead = first - second
            near = np.flatnonzero(~(ahead > SMALLEST) | ~np.isfinite(s).all(axis=1))
            for rows in np.split(near, range(ROWS, len(near), ROWS)):
                some = X[rows]
                for k in np.flatnonzero(self._needs_exact(some, np.zeros(len(rows)), 0.0)):
                    places[rows[k]] = self._highest(self._exact_scores(some, k))[0]
        return places

    def encode_update(self, examples: Examples, n: int) -> int:
        """Return n·K + r, the integer for an update by row n and its best competing class r."""
        competitors = self.lead(self._exact_scores(examples.X, n), examples.y[[n]])[1]
        return n * len(self.w) + int(competitors[0])

    def signed_scores(self, examples: Examples) -> NDArray[np.float64]:
        """Return the score of each row's own label minus the best competing score."""
        return self.lead(self.scores(examples.X), examples.y)[0]

    def _highest(self, s: NDArray[Any]) -> NDArray[np.intp]:
        """Return the position of the highest score in each row; `self.zero` breaks ties."""
        if self.zero > 0:
            return np.asarray(s.shape[1] - 1 - s[:, ::-1].argmax(axis=1))
        return np.asarray(s.argmax(axis=1))

    @functools.cached_property
    def _kinds(self) -> NDArray[np.intp]:
        """For each label, the position of the first label whose weights equal its own."""
        rows = [(w + 0.0).tobytes() for w in self.w]  # −0 becomes 0
        return np.array([rows.index(row) for row in rows])

    def lead(self, s: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Return each row's own score minus its best competing score, and the competing class.

        The own score is that for the row's label; the competing class is given by its position.
        `s` holds the scores of all labels, and y the position of each row's own label.
        """
        others, rows = s.copy(), np.arange(len(y))
        others[rows, y] = -np.inf
        r = self._highest(others)
        with np.errstate(over="ignore", invalid="ignore"):
            return s[rows, y] - s[rows, r], r

    def _wrong(self, s: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[np.bool_], Any, Any]:
        """Return a mask of the misclassified rows, and the score differences that decide them.

        These are what `lead` returns: the score of each row's own label minus that of its best
        competing class, and the position of that class.
        """
        ahead, r = self.lead(s, y)
        return ~((ahead > 0) | ((ahead == 0) & ((y - r) * self.zero > 0))), ahead, r

    def _decide_exactly(self, X: Any, y: NDArray[Any], share: float) -> NDArray[np.bool_]:
        wrong, ahead, r = self._wrong(products(X, self._plain, self.x0), y)
        lost = (ahead == 0) | ~np.isfinite(ahead)
        if self.zero == 0:  # labels with the same weights always tie, which is a mistake
            lost &= self._kinds[y] != self._kinds[r]
        undecided = self._needs_exact(X, np.where(lost, 0.0, ahead), 2 * share)
        for k in np.flatnonzero((~wrong | lost) & undecided):
            wrong[k] = self._wrong(self._exact_scores(X, k), y[[k]])[0][0]
        return wrong

    def _exact_scores(self, X: Any, n: Any) -> NDArray[Any]:
        """Return the exact scores of row n as fractions, in an array of shape (1, K)."""
        places, values = entries(X, n, self.x0)
        totals = [_exact_total(w[places], values) for w in self.w]
        return np.array([[Fraction(total) * Fraction(2) ** power for total, power in totals]])


def _exact_score(w: NDArray[np.float64], x: NDArray[np.float64]) -> float:
    """Return Σ w·x as a float that keeps its sign: never rounded to 0, never infinite."""
    total, exponent = _exact_total(w, x)
    more = max(0, abs(total).bit_length() - 64)
    try:
        size = math.ldexp(abs(total) >> more, exponent + more)
    except OverflowError:
        size = sys.float_info.max
    return max(size, 5e-324) * ((total > 0) - (total < 0))


def _exact_total(w: NDArray[np.float64], x: NDArray[np.float64]) -> tuple[int, int]:
    """Return Σ w·x exactly, as an integer and the exponent of a power of two."""
    (a, i), (b, j) = np.frexp(w), np.frexp(x)
    wholes, exponents = (np.ldexp(a, 53), np.ldexp(b, 53)), (i + j).tolist()
    lowest = min(exponents)
    total = 0
    for u, v, exponent in zip(wholes[0].tolist(), wholes[1].tolist(), exponents, strict=True):
        total += (int(u) * int(v)) << (exponent - lowest)
    return total, lowest - 106


def count_misclassified(blocks: Blocks, hypothesis: Hypothesis) -> int:
    """Count the rows that a linear classifier misclassifies, in exact arithmetic."""
    return sum(blocks.each(lambda block, first: len(hypothesis.mistakes(block))))
