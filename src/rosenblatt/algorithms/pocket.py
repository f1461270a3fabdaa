"""The pocket: PLA on examples that no line may answer, keeping the best weights met."""

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
    Call,
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
from rosenblatt.replay import run_keep

FOREVER = 2**62
LONG_RUN = 64  # cycles: nobody is right by chance for so long
SMALL = 2**12  # numbers in X: so few are gone through faster than they are multiplied


@dataclass(frozen=True, eq=False)
class Pocket:
    """The best weights so far, and (t, mistakes) each time they were replaced."""

    w: Floats
    history: tuple[tuple[int, float], ...]

    @property
    def mistakes(self) -> float:
        """The mistakes of the pocket on all examples, by weight if they have weights."""
        return self.history[-1][1] if self.history else math.inf


@dataclass(frozen=True, eq=False)
class PocketRun(Run):
    """A run of the pocket: `hypothesis` and `mistakes` are the pocket's, `last` is w(T)."""

    last: Hypothesis
    pocket: Pocket


Watch = Callable[[int, Progress, Pocket], None]


@dataclass(frozen=True)
class PocketPlan:
    """How to run the pocket: Gallant's ratchet, restarts and threads for them, a watcher."""

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
    """Correct mistakes for as long as the budget lasts; return the best weights met.

    Every w(t) is judged on all examples and replaces the pocket if it makes strictly fewer
    mistakes. Corrections do not depend on the pocket, so many are made before they are judged
    together. On Ctrl-C the best so far is returned, with the reason "interrupted".

    Parameters
    ----------
    blocks : Examples or other Blocks
        The rows and their answers; those of many blocks are visited in their order.
    rule : Rule
        The order of visits, the meaning of sign(0), eta, the source of chance.
    budget : Budget
        The most corrections, of each restart, and the most seconds, of all together.
    start : array, optional
        w(0) with its w0 slot; zeros if not given.
    plan : PocketPlan
        Gallant's ratchet, restarts, threads, a watcher called with the restart's number.

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
    return _best_of(walks, plan.threads)


def _best_of(walks: list[PocketWalk], threads: int) -> PocketRun:
    """The restart with the fewest mistakes, the first of them, whatever the threads do."""

    def finish(walk: PocketWalk) -> None:
        with engine.at_most(walk.plan.threads):
            _one(walk)
        walk.judge.rest()
        if walk.confirmed:
            # Earlier restarts must go on: one of them may be the first without mistakes.
            for later in walks[walk.number + 1 :]:
                later.stop = "no mistakes"

    with ThreadPoolExecutor(threads) as pool:
        try:
            engine.wait_for([pool.submit(finish, walk) for walk in walks])
        except KeyboardInterrupt:
            for walk in walks:
                walk.stop = "interrupted"
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
    """A walk that judges the weights it passes and keeps the best of them.

    In memory they are judged after each call. Over a file that takes a pass, so that they are
    kept until there are enough.
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
        told = plan.watch
        super().__init__(
            blocks,
            rule,
            budget,
            start,
            None if told is None else lambda so_far: told(number, so_far, self.pocket),
        )
        # Where there was time to begin, the first corrections are judged, however long that takes.
        too_late = self.deadline.over_for(self.n * self.entries)
        self.plan, self.number = plan, number
        self.stop: Reason | None = None
        self.pocket = Pocket(self.start, ())
        self.kept = [self.start[None]]  # weights not judged yet
        self.t = 0  # of the first of them
        self.small = False
        self.judge = Judge(self, rule.zero, engine.cores())
        if self.in_memory:
            self.judge = Judge(blocks, rule.zero, plan.threads)
            self.pocket = Pocket(self.start, ((0, self.judge.alone(self.start)),))
            self.kept, self.t = [], 1
            self.confirmed = self.pocket.mistakes == 0
            if too_late:
                self.stop = "time_limit"
            # All ways of summing two scores in doubles differ by less, times the largest w.
            small = self.examples.weights is None and self.examples.numbers.size <= SMALL
            self.small = small and not engine.for_one_job()
            share = 8 * (self.examples.longest + 1) * UNIT_ROUNDOFF
            self.doubt = share * self.examples.length * math.sqrt(self.d + 1)

    @property
    def goes_on(self) -> bool:
        """Whether there may be a mistake left, and budget and leave to correct it."""
        return super().goes_on and self.stop is None

    @property
    def work(self) -> int:
        """About how many multiplications were made so far: every w is judged on all examples."""
        return super().work + self.so_far.corrections * self.n * self.entries

    @property
    def at_once(self) -> int:
        """How many weights to judge together next."""
        return self.judge.batch(len(self.start), self.t - 1) - sum(map(len, self.kept))

    def room(self, corrections: int) -> tuple[Floats, Ints, int]:
        """Space for as many corrections as are judged together."""
        return super().room(corrections if self.plan.ratchet else min(corrections, self.at_once))

    def accepted(self, corrected: Ints, block: Examples) -> int:
        """Judge the weights that these corrections lead to, as long as the budget lasts."""
        corrected = corrected[: self.corrections_left]
        if self.plan.ratchet or len(corrected) == 0:
            return len(corrected)
        rows, w, done = block.rows(self.rule.eta), self.so_far.w.copy(), 0
        try:
            while done < len(corrected) and (done == 0 or self.goes_on):
                some = corrected[done : done + self.at_once]
                if self.small:
                    self._go_along(some, w)
                else:
                    self._keep(rows, some, w)
                done += len(some)
        except KeyboardInterrupt:
            self.stop = "interrupted"
        return self.t + sum(map(len, self.kept)) - 1 - self.so_far.corrections

    def _go_along(self, corrected: Ints, w: Floats) -> None:
        """The pocket as the lecture has it: each w is judged by itself, and kept if better."""
        while len(corrected) and not self.confirmed:
            t = engine.pocket(self.rows, corrected, w, self.pocket.mistakes, self.doubt)
            if t:
                with np.errstate(over="ignore"):  # weights past all floats are wrong on every row
                    now = w * self.unit
                self.consider(now, self.t + t - 1)
            went = t or len(corrected)
            self.t, corrected = self.t + went, corrected[went:]

    def _keep(self, rows: Any, corrected: Ints, w: Floats) -> None:
        """Keep the weights that corrections lead to, until there are enough to judge together."""
        W = np.empty((len(corrected), len(w)))
        run_keep(rows, corrected, w, W)
        with np.errstate(over="ignore"):  # weights past all floats are wrong on every row
            self.kept.append(W * self.unit)
        if self.in_memory or self.at_once <= 0:
            self.flush()

    def consider(self, w: Floats, t: int) -> bool:
        """Judge w(t) alone; true if it went into the pocket."""
        mistakes = self.judge.alone(w)
        better = mistakes < self.pocket.mistakes
        if better:
            self.pocket = Pocket(w.copy(), (*self.pocket.history, (t, mistakes)))
        # Weights without mistakes are the last, whatever floats would correct: a score that they
        # make 0 may be right.
        self.confirmed = self.confirmed or mistakes == 0
        return better

    def flush(self) -> None:
        """Judge what was kept, in one pass over all rows."""
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
        """What happened, once the walk is over."""
        best, mistakes = self.hypothesis(self.pocket.w), self.pocket.mistakes
        if self.in_memory and self.examples.weights is not None:
            mistakes = len(best.mistakes(self.examples))
        why = "no mistakes" if mistakes == 0 else self.stop or self.reason(mistakes)
        run = self.run(why, look=False)
        counts = run.corrections, run.cycles, run.rows, int(mistakes)
        return PocketRun(best, run.record, *counts, why, run.hypothesis, self.pocket)


def _ratchet(walk: PocketWalk) -> None:
    """Gallant's rule: judge w only when it was right for longer in a row than the pocket was."""
    rows = _next_order(walk)
    k = run = longest = 0
    judged = False  # once is enough before its next correction
    while walk.goes_on:
        w, trace, visits = walk.room(1 if walk.rule.order == "first" else walk.corrections_left)
        before = run - FOREVER if judged else run
        part = rows[k : k + visits]
        went, run, t = engine.ratchet(walk.rows, part, walk.rule.zero, w, before, longest, trace)
        run, judged, k = (run + FOREVER, True, k + went) if run < 0 else (run, False, k + went)
        ended = k == len(rows)
        ends = np.full(int(ended), t, dtype=np.int64)
        walk.record(Call(w, trace[:t], ends, 0 < k < len(rows)))
        if run > longest and not judged:
            now = walk.so_far
            longest = run if walk.consider(now.w * walk.unit, now.corrections) else longest
            judged = True
        if run > LONG_RUN * len(rows) and not walk.confirmed:
            # Floats see no mistake, and there is one: it is corrected by exact arithmetic.
            walk.confirm()
            run, judged = 0, False
        if ended and walk.rule.order in ("shuffle", "random"):
            rows = _next_order(walk)
        if ended or (t and walk.rule.order == "first"):
            k = 0


def _next_order(walk: PocketWalk) -> Ints:
    """The order of the next cycle; "random" draws with replacement, as Gallant does."""
    rows = walk.examples.kept
    if walk.rule.order == "random":
        return rows[walk.rng.integers(len(rows), size=len(rows))]
    return rows if walk.rule.order in FIXED else walk.permutation()
