"""Judging weights by their mistakes on all rows: one w alone, or a batch of candidates at once.

Rows come as blocks. In memory they are one block, and what a batch costs there can be told from a
look at some of its rows; of many blocks each is gone through once.
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
from rosenblatt.algorithms.sieve import Sieve, Survivor, double_slack, slip, worth_sifting
from rosenblatt.blocks import Blocks
from rosenblatt.examples import Examples, JointExamples
from rosenblatt.hypothesis import Hypothesis, Wrong, count_mistakes
from rosenblatt.kernels import SMALLEST

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Scores are made for so many pairs of a row and a candidate at a time: they stay in the cache.
SCORES_AT_ONCE = 2**17
CANDIDATES_AT_ONCE = 256
CANDIDATES_TO_SIFT = 2048
FIRST_CANDIDATES = 32
FEW_PAIRS = 2**20  # of a row and a candidate: not worth a second thread
FEW_CANDIDATES, FEW_ROWS = 16, 4096  # not worth ordering the rows for
# The weights of a batch, and the multiplications to judge it, are kept to about these numbers.
BATCH_ENTRIES = 2**22
BATCH_WORK = 2**34
RANKS = 256
# Whether the rows of many blocks have weights is known once they are gone through: two sums of up
# to 2**31 weights differ by less than this factor if only rounding makes them differ.
SLIP_OF_BLOCKS = 1 + 2**-20


@dataclass(eq=False)
class Judge:
    """Counts mistakes on blocks; in memory, a row of weight s counts s.

    The count of a w is that of `Hypothesis.mistakes`, whether it is judged alone or in a batch:
    scores that rounding could decide are settled the same way in both.

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

    def alone(self, w: Floats) -> float:
        """The mistakes of one w, by weight if the examples have weights."""
        return count_mistakes(self.blocks, w, self.zero)

    def wrong(self, w: Floats) -> Rows:
        """The rows that one w answers wrongly, but for those of weight 0."""
        return np.concatenate(list(self.blocks.each(Wrong(w, self.zero))))

    def improvements(self, W: Floats, best: float) -> list[tuple[int, float]]:
        """The candidates, in turn, with fewer mistakes than `best` and all before them."""
        found: list[tuple[int, float]] = []
        for one in self._survivors(W, best * self._slip):
            if one.wrong < best * self._slip:
                count = self._count(W, one)
                if count < best:
                    best = count
                    found.append((one.b, count))
        return found

    def counts(self, W: Floats) -> Floats:
        """The mistakes of every candidate."""
        counts = np.empty(len(W))
        step = min(self.batch(W.shape[1]), CANDIDATES_AT_ONCE)
        for begin in range(0, len(W), step):
            part = W[begin : begin + step]
            for one in self._survivors(part, math.inf, sift=False):
                counts[begin + one.b] = self._count(part, one)
        return counts

    def batch(self, dimension: int, judged: int = sys.maxsize) -> int:
        """How many candidates of so many numbers to judge at once, after so many."""
        most = BATCH_ENTRIES // dimension
        if not isinstance(self.blocks, Examples):
            return max(1, min(most, CANDIDATES_AT_ONCE))
        most = min(most, BATCH_WORK // (self.blocks.n * self.blocks.entries_per_row))
        if self.sieve is not None:
            return max(1, min(most, CANDIDATES_TO_SIFT))
        # Small batches first: a pocket with few mistakes lets more of the next be dropped.
        return max(1, min(most, CANDIDATES_AT_ONCE, max(FIRST_CANDIDATES, judged)))

    @functools.cached_property
    def sieve(self) -> Sieve | None:
        """What drops most candidates after a look at some rows, where there are rows enough."""
        examples = self.blocks
        joint = isinstance(examples, JointExamples)
        if isinstance(examples, Examples) and not joint and worth_sifting(examples):
            return Sieve(examples, self.threads)
        return None

    def rest(self) -> None:
        """Let go of the rows that the sieve holds."""
        with contextlib.suppress(AttributeError):  # where there was none yet
            del self.sieve

    @property
    def _slip(self) -> float:
        return slip(self.blocks) if isinstance(self.blocks, Examples) else SLIP_OF_BLOCKS

    def _count(self, W: Floats, one: Survivor) -> float:
        """The mistakes of a survivor; sums of weights are made anew, exactly."""
        weighted = isinstance(self.blocks, Examples) and self.blocks.weights is not None
        exact = one.complete and not weighted
        return int(one.wrong) if exact else self.alone(W[one.b])

    def _survivors(self, W: Floats, best: float, sift: bool = True) -> list[Survivor]:
        """The candidates that may make fewer mistakes than `best`."""
        if isinstance(self.blocks, Examples):
            if sift and self.sieve is not None:
                return self.sieve.survivors(W, best)
            return _looked(self.blocks, W, best, self.threads)
        # Many blocks are gone through once, leaving out on the way what has `best` mistakes.
        work = Counts(W, self.zero, self.threads, np.arange(len(W)))
        mistakes, whole = np.zeros(len(W)), True
        for which, counts in self.blocks.each(work):
            mistakes[which] += counts
            whole = whole and counts.dtype.kind == "i"
            work.alive = work.alive[mistakes[work.alive] < best]
        return [Survivor(int(b), float(mistakes[b]), whole) for b in work.alive]


@dataclass(eq=False)
class Counts:
    """The work of counting the mistakes of the candidates that are still of interest."""

    W: Floats
    zero: int
    threads: int
    alive: Rows

    def __call__(self, block: Examples, first: int) -> tuple[Rows, Floats | Rows]:
        """Which they are, and what each gets wrong in a block; without weights, as integers."""
        counts = Judge(block, self.zero, self.threads).counts(self.W[self.alive])
        return self.alive, counts.astype(np.intp) if block.weights is None else counts


@dataclass(frozen=True, eq=False)
class Tally:
    """For each thread and each candidate: what its mistakes weigh so far, and scores in doubt."""

    wrong: Floats
    doubtful: Floats


def _looked(examples: Examples, W: Floats, best: float, threads: int) -> list[Survivor]:
    """The candidates that may make fewer mistakes than `best`, by matrix products."""
    threads = min(threads, max(1, examples.n * len(W) // FEW_PAIRS))
    tally = Tally(np.zeros((threads, len(W))), np.zeros((threads, len(W))))
    few = examples.n < FEW_ROWS or len(W) < FEW_CANDIDATES or best == math.inf
    order = None if few else _hardest_first(examples, W.mean(axis=0))

    def look(k: int) -> None:
        _look(examples, W, (best, order), (k, tally))

    with engine.one_blas_thread():
        if threads == 1:
            look(0)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(look, range(threads)))
    wrong, doubtful = tally.wrong.sum(axis=0), tally.doubtful.sum(axis=0)
    left = np.flatnonzero(wrong < best)
    return [Survivor(int(b), float(wrong[b]), bool(doubtful[b] == 0)) for b in left]


def _look(
    examples: Examples, W: Floats, way: tuple[float, Rows | None], share: tuple[int, Tally]
) -> None:
    """Judge W on one thread's share of the rows, dropping what cannot win.

    The counts of other threads may be old: they are still counts of mistakes made.
    """
    (best, order), (k, tally) = way, share
    kind = JointCandidates if isinstance(examples, JointExamples) else CandidateWeights
    some = kind.of(examples, W)
    alive = np.arange(len(W))
    C = max(1, SCORES_AT_ONCE // len(W))
    ones = np.ones(C)
    for start in range(k * C, examples.n, len(tally.wrong) * C):
        rows: Any = slice(start, min(start + C, examples.n))
        rows = rows if order is None else order[rows]
        wrong, doubtful = np.zeros(len(alive)), np.zeros(len(alive))
        sizes = ones if examples.weights is None else examples.weights[rows]
        some.judge(examples, rows, sizes, wrong, doubtful)
        tally.wrong[k, alive] += wrong
        tally.doubtful[k, alive] += doubtful
        left = tally.wrong[:, alive].sum(axis=0) < best
        if np.count_nonzero(left) < 0.9 * len(left):
            alive, some = alive[left], some.only(left)
            if len(alive) == 0:
                return


@dataclass(frozen=True, eq=False)
class CandidateWeights:
    """Weights that are judged together, and how near to 0 the scores of each are in doubt."""

    W: Floats
    w0: Floats
    slack: Floats

    @classmethod
    def of(cls, examples: Examples, W: Floats) -> CandidateWeights:
        """Candidates as kernels have them."""
        with np.errstate(over="ignore"):  # such scores are in doubt
            return cls(W, W[:, 0] * examples.x0, double_slack(examples, W))

    def only(self, left: NDArray[np.bool_]) -> CandidateWeights:
        """Those that are left."""
        return CandidateWeights(self.W[left], self.w0[left], self.slack[left])

    def judge(
        self, examples: Examples, rows: Any, sizes: Floats, wrong: Floats, doubtful: Floats
    ) -> None:
        """Add the mistakes of each on a few rows."""
        S = _product(examples.X, rows, self.W)
        run_judge(S, self.w0, examples.y[rows], sizes, self.slack, wrong, doubtful)


@dataclass(frozen=True, eq=False)
class JointCandidates(CandidateWeights):
    """The same of K labels: W is every label's weights in any candidate, each once.

    One correction changes the weights of two labels, so that most are those of the last candidate.
    """

    which: Rows  # of W, for each candidate and label

    @classmethod
    def of(cls, examples: Examples, W: Floats) -> CandidateWeights:
        """Candidates as kernels have them."""
        blocks = np.array([examples.shaped(w) for w in W])
        new = np.ones(blocks.shape[:2], dtype=bool)
        new[1:] = (blocks[1:] != blocks[:-1]).any(axis=2)
        place = np.cumsum(new).reshape(new.shape) - 1
        which = np.maximum.accumulate(np.where(new, place, 0), axis=0)
        V = blocks[new]
        with np.errstate(over="ignore"):
            return cls(V, V[:, 0] * examples.x0, 2 * double_slack(examples, W), which)

    def only(self, left: NDArray[np.bool_]) -> CandidateWeights:
        """Those that are left, and the weights that they need."""
        used, which = np.unique(self.which[left], return_inverse=True)
        which = which.reshape(-1, self.which.shape[1])
        return JointCandidates(self.W[used], self.w0[used], self.slack[left], which)

    def judge(
        self, examples: Examples, rows: Any, sizes: Floats, wrong: Floats, doubtful: Floats
    ) -> None:
        """Add the mistakes of each on a few rows."""
        S, y = _product(examples.X, rows, self.W), examples.y[rows]
        run_judge_joint(S, self.w0, self.which, y, sizes, self.slack, wrong, doubtful)


def _product(X: Any, rows: Any, W: Floats) -> Floats:
    """The scores of a few rows by many w, x0 left out; the sums are those of doubles."""
    if not isinstance(X, np.ndarray):
        return np.ascontiguousarray(X[rows].astype(np.float64, copy=False) @ W[:, 1:].T)
    some = X[rows] if isinstance(rows, slice) else X.take(rows, axis=0)
    with np.errstate(over="ignore", invalid="ignore"):  # such scores are in doubt
        return np.asarray(some.astype(np.float64, copy=False) @ W[:, 1:].T)


def _hardest_first(examples: Examples, w: Floats) -> Rows:
    """The rows in about the order of how likely a vector like w is to be wrong on them.

    Candidates that cannot win are then dropped early. Ranks are coarse, to be found by counting.
    """
    v = Hypothesis.of(examples.shaped(w), examples.x0).ahead(examples)
    with np.errstate(over="ignore", invalid="ignore"):
        rank = (np.nan_to_num(v / (np.abs(v).mean() + SMALLEST)) + 4) * RANKS / 8
    return np.argsort(np.clip(rank, 0, RANKS - 1).astype(np.uint8), kind="stable")


# The compiled loops.


def judge(S, w0, y, s, slack, wrong, doubtful):
    """Weigh the mistakes of many w on a few rows, leaving aside scores that rounding may decide.

    S[n, b] + w0[b] is the score of row n by the b-th w; between -slack[b] and slack[b] its sign
    is in doubt.
    """
    for n in range(len(y)):
        for b in range(len(w0)):
            v = y[n] * (S[n, b] + w0[b])
            wrong[b] += s[n] * (v < -slack[b])
            doubtful[b] += 1 - (v < -slack[b]) - (v > slack[b])


def judge_joint(S, w0, which, y, s, slack, wrong, doubtful):
    """Weigh the mistakes of many w of K labels on a few rows, as `judge` does.

    S[n, j] + w0[j] is the score of row n by one label's weights; which[b, k] is the j of label k
    in the b-th w.
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
            wrong[b] += s[n] * (v < -slack[b])
            doubtful[b] += 1 - (v < -slack[b]) - (v > slack[b])


run_judge = engine.Kernel(judge)
run_judge_joint = engine.Kernel(judge_joint)
