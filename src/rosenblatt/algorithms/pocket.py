"""The pocket algorithm: run PLA on any examples and keep the weights with the fewest mistakes.

A `Judge` counts the mistakes that one weight vector, or each of many, makes on all rows. Weight
vectors that are compared are called candidates. In memory, candidates that cannot be the best are
dropped after some of the rows; many blocks are passed through once.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.engine as engine
from rosenblatt.algorithms.pla import (
    FIXED,
    WALKS,
    Budget,
    Floats,
    Ints,
    Progress,
    Rule,
    Run,
    Walk,
)
from rosenblatt.algorithms.sieve import Sieve, Survivor, score_error, sum_error, worth_sifting
from rosenblatt.blocks import Blocks
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import UNIT_ROUNDOFF, Hypothesis
from rosenblatt.rowformats import SMALLEST
from rosenblatt.trace import run_keep

Rows = NDArray[np.intp]

FOREVER = 2**62
LONG_RUN = 64  # epochs without a mistake that are not due to chance
FIRST_IF_TIMED = 8  # weights in the first batch of a run with a time limit
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
SMALL = 2**12  # entries of X up to which a loop counts mistakes faster than matrix products


@dataclass(frozen=True, eq=False)
class Pocket:
    """Best weights so far; `history` has t and the mistakes of each w(t) that was the best."""

    w: Floats
    history: tuple[tuple[int, float], ...]

    @property
    def mistakes(self) -> float:
        """Mistakes of the pocket weights on all examples, weighted by sample weights."""
        return self.history[-1][1] if self.history else math.inf


@dataclass(frozen=True, eq=False)
class PocketRun(Run):
    """Result of the pocket algorithm, with the best weights and the last ones.

    `hypothesis` has the pocket weights, `last` has w(T).
    """

    last: Hypothesis
    pocket: Pocket


Watch = Callable[[int, Progress, Pocket], None]


@dataclass(frozen=True)
class PocketPlan:
    """Options of the pocket algorithm: Gallant's ratchet, restarts, threads, progress function."""

    ratchet: bool = False
    restarts: int = 1
    threads: int = 1
    watch: Watch | None = None


def pocket(
    blocks: Blocks,
    rule: Rule = Rule(order="random"),
    budget: Budget = Budget(FOREVER, 1000),
    start: Floats | None = None,
    plan: PocketPlan = PocketPlan(),
) -> PocketRun:
    """Run the pocket algorithm until the budget is used up; return the best weights.

    Every w(t) is evaluated on all examples and replaces the pocket if it makes strictly fewer
    mistakes. Updates do not depend on the pocket, so many weights are evaluated together. On
    Ctrl-C the best so far is returned, with the reason "interrupted".

    The budget limits the updates of each restart, and the seconds of all together. `start` is the
    augmented w(0), by default zeros.

    Examples
    --------
    >>> xor = Examples.from_arrays([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    >>> run = pocket(xor, Rule("random", rng=np.random.default_rng(0)))
    >>> run.pocket.history[0], run.mistakes, run.reason
    ((0, 4), 1, 'max_updates')
    """
    restarts = 1 if rule.order in FIXED else plan.restarts
    if restarts == 1:
        return _one(PocketWalk(blocks, rule, budget, start, plan))
    seeds = (rule.rng or np.random.default_rng()).spawn(restarts)
    share = replace(plan, threads=max(1, plan.threads // restarts))
    walks = [
        PocketWalk(blocks, replace(rule, rng=seed), budget, start, share, number)
        for number, seed in enumerate(seeds)
    ]

    def finish(walk: PocketWalk) -> None:
        with engine.at_most(walk.plan.threads):
            _one(walk)
        walk.judge.__dict__.pop("sieve", None)  # frees its copy of the rows
        if walk.confirmed:
            # Earlier restarts continue: one of them may be the first without mistakes.
            for later in walks[walk.number + 1 :]:
                later.stop = "no mistakes"

    with ThreadPoolExecutor(plan.threads) as pool:
        try:
            engine.wait_for([pool.submit(finish, walk) for walk in walks])
        except KeyboardInterrupt:
            for walk in walks:
                walk.stop = "interrupted"
    # Of equally good restarts choose the first, so that the timing of threads does not matter.
    best = min(walks, key=lambda walk: walk.pocket.mistakes)
    return best.pocket_run()


def _one(walk: PocketWalk) -> PocketRun:
    try:
        if walk.plan.ratchet:
            _ratchet(walk)
        else:
            WALKS[walk.rule.order](walk)
        if walk.stop is None:
            walk.flush()
    except KeyboardInterrupt:
        walk.stop = "interrupted"
    if not walk.pocket.history:
        raise KeyboardInterrupt
    return walk.pocket_run()


class PocketWalk(Walk):
    """Run of the pocket algorithm in progress: it evaluates every w(t) and keeps the best.

    In memory, weights are evaluated after each call. Over a file this takes a pass, so weights are
    collected until there are enough.
    """

    evaluates = True

    def __init__(
        self,
        blocks: Blocks,
        rule: Rule,
        budget: Budget,
        start: Floats | None,
        plan: PocketPlan,
        number: int = 0,
    ) -> None:
        report = plan.watch
        super().__init__(
            blocks,
            rule,
            budget,
            start,
            None if report is None else lambda so_far: report(number, so_far, self.pocket),
        )
        # If there was time to begin, the first updates are evaluated, however long that takes.
        too_late = self.deadline.over_for(blocks.n * self.entries)
        self.plan, self.number = plan, number
        self.pocket = Pocket(self.start, ())
        self.kept = [self.start[None]]  # weights not evaluated yet
        self.t = 0  # the t of the first weights not evaluated yet
        self.small = False
        self.judge = Judge(blocks, rule.zero, plan.threads if self.in_memory else engine.cores())
        if self.in_memory:
            self.pocket = Pocket(self.start, ((0, self.judge.alone(self.start)),))
            self.kept, self.t = [], 1
            self.confirmed = self.pocket.mistakes == 0
            if too_late:
                self.stop = "time_limit"
            # Bound on rounding errors in any order of summation, relative to the largest weight.
            small = self.examples.weights is None and self.examples.numbers.size <= SMALL
            self.small = small and not engine.inside_plain_at_first()
            share = 8 * (self.examples.longest + 1) * UNIT_ROUNDOFF
            self.tolerance = share * self.examples.length * math.sqrt(self.examples.d + 1)

    @property
    def at_once(self) -> int:
        """Number of weight vectors still to collect before the next evaluation."""
        most = self.judge.batch(len(self.start), self.t - 1)
        if self.in_memory and self.budget.seconds is not None:
            # A batch is not interrupted: begin with a few, and look at the clock after each batch.
            most = min(most, max(FIRST_IF_TIMED, self.t - 1))
        return most - sum(map(len, self.kept))

    def allocate(self, updates: int) -> tuple[Floats, Ints, int]:
        """Return a copy of w, an empty trace and the maximum number of visits of a kernel call."""
        most = updates if self.plan.ratchet else min(updates, self.at_once)
        return super().allocate(most)

    def accept(self, updated: Ints, block: Examples) -> int:
        """Evaluate w after each update of a compiled loop; return how many the run includes.

        These are all updates, unless the run ends before the last one: because the budget is used
        up, w makes no mistake, or Ctrl-C was pressed.

        With Gallant's ratchet, `_ratchet` evaluates w.
        """
        updated = updated[: self.updates_left]
        if self.plan.ratchet or len(updated) == 0:
            return len(updated)
        rows, w, done = block.rows(self.rule.eta), self.so_far.w.copy(), 0
        try:
            while done < len(updated) and (done == 0 or self.goes_on):
                some = updated[done : done + self.at_once]
                if self.small:  # evaluate each w by itself
                    t = engine.pocket(rows, some, w, self.pocket.mistakes, self.tolerance)
                    some = some[: t or len(some)]
                    self.t += len(some)
                    if t:
                        self.consider(self._in_data_units(w), self.t - 1)
                else:
                    W = np.empty((len(some), len(w)))
                    run_keep(rows, some, w, W)
                    self.kept.append(self._in_data_units(W))
                    if self.in_memory or self.at_once <= 0:
                        self.flush()
                done += len(some)
        except KeyboardInterrupt:
            self.stop = "interrupted"
        return self.t + sum(map(len, self.kept)) - 1 - self.so_far.updates

    def consider(self, w: Floats, t: int) -> bool:
        """Store w(t) as the best weights if it makes fewer mistakes, and return whether it does."""
        mistakes = self.judge.alone(w)
        better = mistakes < self.pocket.mistakes
        if better:
            self.pocket = Pocket(w.copy(), (*self.pocket.history, (t, mistakes)))
        # Weights without mistakes end the run, even if floating point would still update them:
        # a score that rounds to 0 may be correct.
        self.confirmed = self.confirmed or mistakes == 0
        return better

    def flush(self) -> None:
        """Evaluate the collected weights in one pass over all rows."""
        if not self.kept:
            return
        W, best = np.concatenate(self.kept), self.pocket.mistakes
        found = self.judge.improvements(W, best)
        if found:
            news = tuple((self.t + b, mistakes) for b, mistakes in found)
            self.pocket = Pocket(W[found[-1][0]].copy(), self.pocket.history + news)
        self.confirmed = self.confirmed or self.pocket.mistakes == 0
        last = found[-1][0] + 1 if found and self.confirmed and self.in_memory else len(W)
        self.kept, self.t = [], self.t + last

    def pocket_run(self) -> PocketRun:
        """Return the result of the run, with the number of mistakes of the best weights."""
        best, mistakes = self.hypothesis(self.pocket.w), self.pocket.mistakes
        if self.in_memory and self.examples.weights is not None:
            mistakes = len(best.mistakes(self.examples))
        why = "no mistakes" if mistakes == 0 else self.stop or self.reason(mistakes)
        run = self.run(why, look=False)
        counts = run.updates, run.epochs, run.rows, int(mistakes)
        return PocketRun(best, run.record, *counts, why, run.hypothesis, self.pocket)


def _ratchet(walk: PocketWalk) -> None:
    """Run the pocket algorithm with Gallant's ratchet.

    It evaluates w only after w classified more rows in a row correctly than the pocket weights did.
    """
    rows = _next_order(walk)
    k = run = longest = 0
    evaluated = False  # whether this w was evaluated; once is enough until its next update
    while walk.goes_on:
        w, trace, visits = walk.allocate(1 if walk.rule.order == "first" else walk.updates_left)
        part, zero = rows[k : k + visits], walk.rule.zero
        went, run, evaluated, t = engine.ratchet(
            walk.rows, part, zero, w, run, evaluated, longest, trace
        )
        k += went
        ended = k == len(rows)
        ends = np.full(int(ended), t, dtype=np.int64)
        walk.record(w, trace[:t], ends, 0 < k < len(rows))
        if run > longest and not evaluated:
            now = walk.so_far
            longest = run if walk.consider(now.w * walk.unit, now.updates) else longest
            evaluated = True
        if run > LONG_RUN * len(rows) and not walk.confirmed:
            # Floating point sees no mistake, but there is one: find it in exact arithmetic.
            walk.confirm()
            run, evaluated = 0, False
        if ended and walk.rule.order in ("shuffle", "random"):
            rows = _next_order(walk)
        if ended or (t and walk.rule.order == "first"):
            k = 0


def _next_order(walk: PocketWalk) -> Ints:
    """Return the rows of the next epoch, drawn with replacement if the order is "random"."""
    rows = walk.examples.kept
    if walk.rule.order == "random":
        return rows[walk.rng.integers(len(rows), size=len(rows))]
    return rows if walk.rule.order in FIXED else walk.permute_rows()


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
        plain = isinstance(rows, slice) or examples.is_sparse
        X = examples.X[rows] if plain else examples.X.take(rows, axis=0)  # faster than indexing
        with np.errstate(over="ignore", invalid="ignore"):
            S = np.ascontiguousarray(X.astype(np.float64, copy=False) @ self.W[:, 1:].T)
        y = examples.y[rows]
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
