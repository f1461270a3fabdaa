"""The pocket algorithm: run PLA on any examples and keep the weights with the fewest mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import rosenblatt.engine as engine
from rosenblatt.algorithms.judge import Judge
from rosenblatt.algorithms.pla import (
    FIXED,
    WALKS,
    Budget,
    Floats,
    Ints,
    Progress,
    Reason,
    Rule,
    Run,
    Walk,
)
from rosenblatt.blocks import Blocks
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import UNIT_ROUNDOFF, Hypothesis
from rosenblatt.trace import run_keep

FOREVER = 2**62
LONG_RUN = 64  # epochs without a mistake that are not due to chance
FIRST_IF_TIMED = 8  # weights in the first batch of a run with a time limit
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

    Parameters
    ----------
    blocks : Examples or other Blocks
        Rows and labels; many blocks are visited in order.
    rule : Rule
        Order of visits, meaning of sign(0), learning rate, random generator.
    budget : Budget
        Maximum number of updates per restart, and of seconds for all together.
    start : array, optional
        Augmented w(0); zeros by default.
    plan : PocketPlan
        Ratchet, restarts, threads, and a watch function, called with the restart's number.

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
        walk.judge.release()
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
        self.stop: Reason | None = None
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
    def goes_on(self) -> bool:
        """Whether mistakes may remain, the budget allows an update, and no stop is requested."""
        return super().goes_on and self.stop is None

    @property
    def work(self) -> int:
        """Estimated number of multiplications so far, including the evaluation of every w."""
        return super().work + self.so_far.updates * self.blocks.n * self.entries

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
                if self.small:
                    self._evaluate_each(some, w)
                else:
                    self._collect(rows, some, w)
                done += len(some)
        except KeyboardInterrupt:
            self.stop = "interrupted"
        return self.t + sum(map(len, self.kept)) - 1 - self.so_far.updates

    def _evaluate_each(self, updated: Ints, w: Floats) -> None:
        """Update w row by row, count mistakes after each update, and keep the best w."""
        while len(updated) and not self.confirmed:
            t = engine.pocket(self.rows, updated, w, self.pocket.mistakes, self.tolerance)
            if t:
                self.consider(self._in_data_units(w), self.t + t - 1)
            went = t or len(updated)
            self.t, updated = self.t + went, updated[went:]

    def _collect(self, rows: Any, updated: Ints, w: Floats) -> None:
        """Collect the weights after each update, and evaluate them once there are enough."""
        W = np.empty((len(updated), len(w)))
        run_keep(rows, updated, w, W)
        self.kept.append(self._in_data_units(W))
        if self.in_memory or self.at_once <= 0:
            self.flush()

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
