"""Judging weights by their mistakes on all examples: one vector alone, or a block at once."""

from __future__ import annotations

import functools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import engine
from rosenblatt.algorithms.sieve import Sieve, Survivor, double_slack, slip, worth_sifting
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import SMALLEST, Hypothesis

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Scores are made for so many pairs of a row and a vector at a time: they stay in the cache.
SCORES_AT_ONCE = 2**17
VECTORS_AT_ONCE = 256
VECTORS_TO_SIFT = 2048
FEW_PAIRS = 2**20  # of a row and a vector: not worth a second thread
FEW_VECTORS = 16  # not worth ordering the rows for
# The weights of a block, and the multiplications to judge it, are kept to about these numbers.
BLOCK_ENTRIES = 2**22
BLOCK_WORK = 2**34
RANKS = 256


@dataclass(frozen=True, eq=False)
class Tally:
    """For each thread and each vector: what its mistakes weigh so far, and scores in doubt."""

    wrong: Floats
    doubtful: Floats


@dataclass(frozen=True, eq=False)
class Judge:
    """Counts mistakes on the examples; a row of weight s counts s.

    The count of a vector is that of `Hypothesis.mistakes`, whether it is judged alone or in a
    block: scores that rounding could decide are settled the same way in both.

    Examples
    --------
    >>> judge = Judge(Examples.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 1]))
    >>> judge.alone(np.array([-1.0, 1.0])), judge.alone(np.array([-1.5, 1.0]))
    (1, 0)
    >>> W = np.array([[0.0, 0.0], [-1.0, 1.0], [-1.5, 1.0]])
    >>> judge.improvements(W, 3), judge.counts(W).tolist()
    ([(1, 1), (2, 0)], [3.0, 1.0, 0.0])
    """

    examples: Examples
    zero: int = 0
    threads: int = 1

    def alone(self, w: Floats) -> float:
        """The mistakes of one vector, by weight if the examples have weights."""
        rows = self.wrong(w)
        if self.examples.weights is None:
            return len(rows)
        # The exact sum, rounded once, does not depend on the order of the rows.
        try:
            return math.fsum(self.examples.weights[rows])
        except OverflowError:
            return math.inf

    def wrong(self, w: Floats) -> Rows:
        """The rows that one vector answers wrongly, but for those of weight 0."""
        if w.any():
            return self.hypothesis(w).mistakes(self.examples)
        rows = self.examples.kept.astype(np.intp)  # all scores are 0
        return rows[self.zero * self.examples.y[rows] <= 0]

    def hypothesis(self, w: Floats) -> Hypothesis:
        """The vector as a hypothesis on these examples."""
        return Hypothesis(w, self.examples.x0, self.zero)

    def hardest_first(self, w: Floats) -> Rows:
        """The rows in about the order of how likely a vector like w is to be wrong on them.

        Vectors that cannot win are then dropped early. Ranks are coarse, to be found by counting.
        """
        v = self.examples.y * self.hypothesis(w).scores(self.examples.X)
        with np.errstate(over="ignore", invalid="ignore"):
            rank = (np.nan_to_num(v / (np.abs(v).mean() + SMALLEST)) + 4) * RANKS / 8
        return np.argsort(np.clip(rank, 0, RANKS - 1).astype(np.uint8), kind="stable")

    def improvements(
        self, W: Floats, best: float, order: Rows | None = None
    ) -> list[tuple[int, float]]:
        """The vectors of W, in turn, with fewer mistakes than `best` and all before them.

        `order` says in which order to look at the examples; it changes the time, not the answer.
        """
        found: list[tuple[int, float]] = []
        sieve, factor = self.sieve, slip(self.examples)
        bar = best * factor
        survivors = sieve.survivors(W, bar) if sieve else self._survivors(W, bar, order)
        for one in survivors:
            if one.wrong < best * factor:
                count = self._count(W, one)
                if count < best:
                    best = count
                    found.append((one.b, count))
        return found

    def _count(self, W: Floats, one: Survivor) -> float:
        """The mistakes of a survivor; sums of weights are made anew, exactly."""
        exact = one.complete and self.examples.weights is None
        return int(one.wrong) if exact else self.alone(W[one.b])

    def counts(self, W: Floats) -> Floats:
        """The mistakes of every vector of W."""
        counts = np.empty(len(W))
        step = min(self.block, VECTORS_AT_ONCE)
        for begin in range(0, len(W), step):
            part = W[begin : begin + step]
            for one in self._survivors(part, math.inf, None):
                counts[begin + one.b] = self._count(part, one)
        return counts

    @functools.cached_property
    def sieve(self) -> Sieve | None:
        """What drops most vectors after a look at some rows, where there are rows enough."""
        return Sieve(self.examples, self.threads) if worth_sifting(self.examples) else None

    def rest(self) -> None:
        """Let go of the rows that the sieve holds."""
        self.__dict__.pop("sieve", None)

    @property
    def block(self) -> int:
        """How many vectors to judge at once."""
        work = self.examples.n * self.examples.entries_per_row
        most = VECTORS_AT_ONCE if self.sieve is None else VECTORS_TO_SIFT
        return max(1, min(BLOCK_ENTRIES // (self.examples.d + 1), BLOCK_WORK // work, most))

    def _survivors(self, W: Floats, best: float, order: Rows | None) -> list[Survivor]:
        """The vectors that may make fewer mistakes than `best`."""
        pairs = self.examples.n * len(W)
        threads = min(self.threads, max(1, pairs // FEW_PAIRS))
        tally = Tally(np.zeros((threads, len(W))), np.zeros((threads, len(W))))
        with engine.one_blas_thread():
            if threads == 1:
                self._look(0, tally, W, (best, order))
            else:
                with ThreadPoolExecutor(threads) as pool:
                    looks = range(threads)
                    list(pool.map(lambda k: self._look(k, tally, W, (best, order)), looks))
        wrong, doubtful = tally.wrong.sum(axis=0), tally.doubtful.sum(axis=0)
        left = np.flatnonzero(wrong < best)
        return [Survivor(int(b), float(wrong[b]), bool(doubtful[b] == 0)) for b in left]

    def _look(self, k: int, tally: Tally, W: Floats, way: tuple[float, Rows | None]) -> None:
        """Judge W on the k-th thread's share of the rows, dropping what cannot win.

        The counts of other threads may be old: they are still counts of mistakes made.
        """
        best, order = way
        examples, threads = self.examples, len(tally.wrong)
        with np.errstate(over="ignore"):  # such scores are in doubt
            slack, w0 = double_slack(examples, W), W[:, 0] * examples.x0
        alive = np.arange(len(W))
        C = max(1, SCORES_AT_ONCE // len(W))
        for start in range(k * C, examples.n, threads * C):
            rows: Any = slice(start, min(start + C, examples.n))
            rows = rows if order is None else order[rows]
            wrong, doubtful = np.zeros(len(alive)), np.zeros(len(alive))
            S, y, s = _product(examples.X, rows, W), examples.y[rows], self._sizes(rows, C)
            engine.judge(S, w0, y, s, slack, wrong, doubtful)
            tally.wrong[k, alive] += wrong
            tally.doubtful[k, alive] += doubtful
            left = tally.wrong[:, alive].sum(axis=0) < best
            if np.count_nonzero(left) < 0.9 * len(left):
                alive, W, slack, w0 = alive[left], W[left], slack[left], w0[left]
                if len(alive) == 0:
                    return

    def _sizes(self, rows: Any, most: int) -> Floats:
        return np.ones(most) if self.examples.weights is None else self.examples.weights[rows]


def _product(X: Any, rows: Any, W: Floats) -> Floats:
    """The scores of a few rows by many w, x0 left out; the sums are those of doubles."""
    if not isinstance(X, np.ndarray):
        return np.ascontiguousarray(X[rows].astype(np.float64, copy=False) @ W[:, 1:].T)
    some = X[rows] if isinstance(rows, slice) else X.take(rows, axis=0)
    with np.errstate(over="ignore", invalid="ignore"):  # such scores are in doubt
        return np.asarray(some.astype(np.float64, copy=False) @ W[:, 1:].T)
