"""Counting the mistakes that one weight vector, or each of many, makes on all rows.

Weight vectors that are compared are called candidates. Rows come as blocks. In memory they are one
block, where candidates that cannot be the best are dropped after some of the rows; many blocks are
passed through once.
"""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.engine as engine
from rosenblatt.algorithms.sieve import Sieve, Survivor, score_error, sum_error, worth_sifting
from rosenblatt.blocks import Blocks
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.rowformats import SMALLEST

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Pairs of a row and a candidate that are scored at a time: their scores stay in the cache.
SCORES_AT_ONCE = 2**17
CANDIDATES_AT_ONCE = 256
CANDIDATES_TO_SIFT = 2048
FIRST_CANDIDATES = 32
FEW_PAIRS = 2**20  # fewer pairs of a row and a candidate are not worth a second thread
FEW_CANDIDATES, FEW_ROWS = 16, 4096  # with fewer, ordering the rows takes longer than it saves
# Approximate limits for the weights of a batch and for its multiplications.
BATCH_ENTRIES = 2**22
BATCH_WORK = 2**34
RANKS = 256
# Rounding changes a sum of up to 2**31 weights by less than this factor. Whether the rows of many
# blocks have weights is known only after a pass.
SUM_ERROR_OF_BLOCKS = 1 + 2**-20


@dataclass(eq=False)
class Judge:
    """Counter of the mistakes that weight vectors make on blocks of rows.

    A mistake on a row of sample weight s counts s. For one w and in a batch, the count is that of
    `Hypothesis.mistakes`: scores whose sign rounding could change are decided exactly in both.

    Examples
    --------
    >>> judge = Judge(Examples.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 1]))
    >>> judge.alone(np.array([-1.0, 1.0])), judge.alone(np.array([-1.5, 1.0]))
    (1, 0)
    >>> W = np.array([[0.0, 0.0], [-1.0, 1.0], [-1.5, 1.0]])
    >>> judge.improvements(W, 3), judge.counts(W).tolist()
    ([(1, 1), (2, 0)], [3.0, 1.0, 0.0])
    """

    blocks: Blocks
    zero: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        self.examples = self.blocks.loaded  # None if the rows are read in passes

    def alone(self, w: Floats) -> float:
        """Count the mistakes of w; with sample weights, return the total weight of these rows."""

        def cost(block: Examples, first: int) -> int | Floats:
            wrong = self._mistakes(w, block)
            return len(wrong) if block.weights is None else block.weights[wrong]

        costs: list[Any] = list(self.blocks.each(cost))
        if all(isinstance(cost, int) for cost in costs):
            return int(sum(costs))
        # The exact sum, rounded once, does not depend on the order of rows.
        try:
            return math.fsum(np.concatenate(costs))
        except OverflowError:
            return math.inf

    def wrong(self, w: Floats) -> Rows:
        """Return the rows of nonzero sample weight that w misclassifies."""
        each = self.blocks.each(lambda block, first: first + self._mistakes(w, block))
        return np.concatenate(list(each))

    def _mistakes(self, w: Floats, block: Examples) -> Rows:
        return Hypothesis.of(block.shaped(w), block.x0, self.zero).mistakes(block)

    def improvements(self, W: Floats, best: float) -> list[tuple[int, float]]:
        """Return the candidates with fewer mistakes than `best` and than all earlier candidates.

        The candidates are the rows of W. Each is returned as a pair: its index and its mistakes.
        """
        found: list[tuple[int, float]] = []
        error = SUM_ERROR_OF_BLOCKS if self.examples is None else sum_error(self.examples)
        for one in self._survivors(W, best * error):
            if one.wrong < best * error:
                count = self._count(W, one)
                if count < best:
                    best = count
                    found.append((one.b, count))
        return found

    def counts(self, W: Floats) -> Floats:
        """Count the mistakes of each weight vector (row of W)."""
        counts = np.empty(len(W))
        step = min(self.batch(W.shape[1]), CANDIDATES_AT_ONCE)
        for begin in range(0, len(W), step):
            part = W[begin : begin + step]
            for one in self._survivors(part, math.inf, sift=False):
                counts[begin + one.b] = self._count(part, one)
        return counts

    def batch(self, dimension: int, judged: int = sys.maxsize) -> int:
        """Return how many weight vectors to compare at once, after comparing `judged` of them."""
        most = BATCH_ENTRIES // dimension
        if self.examples is None:
            return max(1, min(most, CANDIDATES_AT_ONCE))
        most = min(most, BATCH_WORK // (self.examples.n * self.examples.entries_per_row))
        if self.sieve is not None:
            return max(1, min(most, CANDIDATES_TO_SIFT))
        # Begin with small batches: the best of one lets more candidates of the next be dropped.
        return max(1, min(most, CANDIDATES_AT_ONCE, max(FIRST_CANDIDATES, judged)))

    @functools.cached_property
    def sieve(self) -> Sieve | None:
        """Filter that rejects most weight vectors after a few rows; None if it saves no time."""
        if self.blocks.multiclass or self.examples is None or not worth_sifting(self.examples):
            return None
        return Sieve(self.examples, self.threads)

    def release(self) -> None:
        """Free the memory of the filter `sieve`, which holds a copy of the rows."""
        with contextlib.suppress(AttributeError):  # no sieve was made yet
            del self.sieve

    def _count(self, W: Floats, one: Survivor) -> float:
        """Return the exact number or weight of the mistakes of one of the weight vectors W.

        They are counted again if the first count was incomplete or a rounded sum.
        """
        exact = one.complete and (self.examples is None or self.examples.weights is None)
        return int(one.wrong) if exact else self.alone(W[one.b])

    def _survivors(self, W: Floats, best: float, sift: bool = True) -> list[Survivor]:
        """Return the weight vectors (rows of W) that may make fewer mistakes than `best`."""
        if self.examples is not None:
            if sift and self.sieve is not None:
                return self.sieve.survivors(W, best)
            return _survivors_in_memory(self.examples, W, best, self.threads)
        # One pass over many blocks, dropping candidates once they have `best` mistakes.
        alive, mistakes, weighted = np.arange(len(W)), np.zeros(len(W)), False

        def count(block: Examples, first: int) -> tuple[Rows, Floats, bool]:
            counts = Judge(block, self.zero, self.threads).counts(W[alive])
            return alive, counts, block.weights is not None

        for which, counts, block_is_weighted in self.blocks.each(count):
            mistakes[which] += counts
            weighted = weighted or block_is_weighted
            alive = alive[mistakes[alive] < best]
        return [Survivor(int(b), float(mistakes[b]), not weighted) for b in alive]


def _survivors_in_memory(
    examples: Examples, W: Floats, best: float, threads: int
) -> list[Survivor]:
    """Return the weight vectors (rows of W) that may make fewer mistakes than `best`.

    The examples are in memory.
    """
    threads = min(threads, max(1, examples.n * len(W) // FEW_PAIRS))
    # For each thread and candidate: the weight of mistakes so far, and undecided scores.
    all_wrong, all_undecided = np.zeros((2, threads, len(W)))
    few = examples.n < FEW_ROWS or len(W) < FEW_CANDIDATES or best == math.inf
    order = None if few else _hardest_first(examples, W.mean(axis=0))
    candidates = CandidateWeights.of(examples, W)
    size = max(1, SCORES_AT_ONCE // len(W))

    def look(k: int) -> None:
        """Count mistakes on the rows of thread k, dropping vectors that cannot be the best.

        The counts of other threads may be outdated, but they are lower bounds.
        """
        some, alive = candidates, np.arange(len(W))
        for start in range(k * size, examples.n, threads * size):
            rows: Any = slice(start, min(start + size, examples.n))
            rows = rows if order is None else order[rows]
            wrong, undecided = np.zeros((2, len(alive)))
            costs = np.ones(size) if examples.weights is None else examples.weights[rows]
            some.judge(examples, rows, costs, wrong, undecided)
            all_wrong[k, alive] += wrong
            all_undecided[k, alive] += undecided
            left = all_wrong[:, alive].sum(axis=0) < best
            if np.count_nonzero(left) < 0.9 * len(left):
                alive, some = alive[left], some.only(left)
                if len(alive) == 0:
                    return

    with engine.one_blas_thread():
        if threads == 1:
            look(0)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(look, range(threads)))
    wrong, undecided = all_wrong.sum(axis=0), all_undecided.sum(axis=0)
    left = np.flatnonzero(wrong < best)
    return [Survivor(int(b), float(wrong[b]), bool(undecided[b] == 0)) for b in left]


@dataclass(frozen=True, eq=False)
class CandidateWeights:
    """Weight vectors whose mistakes are counted together.

    With more than two labels, equal vectors are stored once: an update changes the vectors of two
    labels, so most are those of the previous candidate.
    """

    W: Floats
    w0: Floats
    tolerance: Floats  # bounds on the rounding errors of scores
    which: Rows | None = None  # with more than two labels: row of W for each candidate and label

    @classmethod
    def of(cls, examples: Examples, W: Floats) -> CandidateWeights:
        """Create candidates from augmented weights, one per row of W."""
        V, which = W, None
        if examples.multiclass:
            blocks = np.array([examples.shaped(w) for w in W])
            new = np.ones(blocks.shape[:2], dtype=bool)
            new[1:] = (blocks[1:] != blocks[:-1]).any(axis=2)
            place = np.cumsum(new).reshape(new.shape) - 1
            V, which = blocks[new], np.maximum.accumulate(np.where(new, place, 0), axis=0)
        with np.errstate(over="ignore"):  # such scores are undecided
            tolerance = score_error(examples, W) * (1 if which is None else 2)
            return cls(V, V[:, 0] * examples.x0, tolerance, which)

    def only(self, left: NDArray[np.bool_]) -> CandidateWeights:
        """Select the candidates for which the mask `left` is True."""
        if self.which is None:
            return CandidateWeights(self.W[left], self.w0[left], self.tolerance[left])
        used, which = np.unique(self.which[left], return_inverse=True)
        which = which.reshape(-1, self.which.shape[1])
        return CandidateWeights(self.W[used], self.w0[used], self.tolerance[left], which)

    def judge(
        self, examples: Examples, rows: Any, sizes: Floats, wrong: Floats, undecided: Floats
    ) -> None:
        """Count each candidate's mistakes in `wrong`, and scores of uncertain sign in `undecided`.

        Only the examples in `rows` are counted; a mistake on one counts as its entry of `sizes`.
        """
        S, y = examples.product(rows, self.W), examples.y[rows]
        if self.which is None:
            run_judge(S, self.w0, y, sizes, self.tolerance, wrong, undecided)
        else:
            run_judge_joint(S, self.w0, self.which, y, sizes, self.tolerance, wrong, undecided)


def _hardest_first(examples: Examples, w: Floats) -> Rows:
    """Order the rows roughly, so that those that w most likely misclassifies come first.

    Candidates that cannot win are then dropped early. Coarse ranks make sorting fast.
    """
    v = Hypothesis.of(examples.shaped(w), examples.x0).signed_scores(examples)
    with np.errstate(over="ignore", invalid="ignore"):
        rank = (np.nan_to_num(v / (np.abs(v).mean() + SMALLEST)) + 4) * RANKS / 8
    return np.argsort(np.clip(rank, 0, RANKS - 1).astype(np.uint8), kind="stable")


# The compiled loops.


def judge(S, w0, y, s, tolerance, wrong, undecided):
    """Count the mistakes of many weight vectors, and the scores whose sign rounding may change.

    S[n, b] + w0[b] is the score of row n by the b-th w; between -tolerance[b] and tolerance[b]
    its sign is undecided.
    """
    for n in range(len(y)):
        for b in range(len(w0)):
            v = y[n] * (S[n, b] + w0[b])
            wrong[b] += s[n] * (v < -tolerance[b])
            undecided[b] += 1 - (v < -tolerance[b]) - (v > tolerance[b])


def judge_joint(S, w0, which, y, s, tolerance, wrong, undecided):
    """Count mistakes, and predictions that rounding may change, with more than two labels.

    S[n, j] + w0[j] is the score of row n for one label; which[b, k] is the j of label k in the
    b-th w.
    """
    for n in range(len(y)):
        for b in range(len(which)):
            best = -np.inf
            for k in range(which.shape[1]):
                if k != y[n]:
                    j = which[b, k]
                    best = max(best, S[n, j] + w0[j])
            j = which[b, y[n]]
            v = S[n, j] + w0[j] - best
            wrong[b] += s[n] * (v < -tolerance[b])
            undecided[b] += 1 - (v < -tolerance[b]) - (v > tolerance[b])


run_judge = engine.Kernel(judge)
run_judge_joint = engine.Kernel(judge_joint)
