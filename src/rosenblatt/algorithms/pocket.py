"""The pocket: PLA on examples that no line may answer, keeping the best weights met."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rosenblatt import engine, orders
from rosenblatt.algorithms.judge import Judge
from rosenblatt.algorithms.pla import WALKS
from rosenblatt.algorithms.run import Budget, Reason, Rule, Run
from rosenblatt.algorithms.walk import Ints, Progress, Walk
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis

FOREVER = 2**62
LONG_RUN = 64  # cycles: nobody is right by chance for so long


@dataclass(frozen=True, eq=False)
class Pocket:
    """The best weights so far, and (t, mistakes) each time they were replaced."""

    w: NDArray[np.float64]
    history: tuple[tuple[int, float], ...]

    @property
    def mistakes(self) -> float:
        """The mistakes of the pocket on all examples, by weight if they have weights."""
        return self.history[-1][1]


@dataclass(frozen=True, eq=False)
class PocketRun(Run):
    """A run of the pocket: `hypothesis` and `mistakes` are the pocket's, `last` is w(T)."""

    last: Hypothesis
    pocket: Pocket


Watch = Callable[[int, Progress, Pocket], None]


@dataclass(frozen=True)
class Plan:
    """How to run the pocket: Gallant's ratchet, restarts and threads for them, a watcher."""

    ratchet: bool = False
    restarts: int = 1
    threads: int = 1
    watch: Watch | None = None


def pocket(
    examples: Examples,
    rule: Rule = Rule(order="random"),
    budget: Budget = Budget(FOREVER, 1000),
    start: NDArray[np.float64] | None = None,
    plan: Plan = Plan(),
) -> PocketRun:
    """Correct mistakes for as long as the budget lasts; return the best weights met.

    Every w(t) is judged on all examples and replaces the pocket if it makes strictly fewer
    mistakes. Corrections do not depend on the pocket, so they are made a block at a time and
    judged together. On Ctrl-C the best so far is returned, with the reason "interrupted".

    Parameters
    ----------
    examples : Examples
        The rows and their answers.
    rule : Rule
        The order of visits, the meaning of sign(0), eta, the source of chance.
    budget : Budget
        The most corrections, of each restart, and the most seconds, of all together.
    start : array, optional
        w(0) with its w0 slot; zeros if not given.
    plan : Plan
        Gallant's ratchet, restarts, threads, a watcher called with the restart's number.

    Examples
    --------
    >>> xor = Examples.from_arrays([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    >>> run = pocket(xor, Rule("random", rng=np.random.default_rng(0)))
    >>> run.pocket.history[0], len(run.mistakes), run.reason
    ((0, 4), 1, 'max_updates')
    """
    restarts = 1 if rule.order in orders.FIXED else plan.restarts
    if restarts == 1:
        return _one(PocketWalk(examples, rule, budget, start, plan))
    seeds = (rule.rng or np.random.default_rng()).spawn(restarts)
    share = replace(plan, threads=max(1, plan.threads // restarts))
    walks = [
        PocketWalk(examples, replace(rule, rng=seed), budget, start, share, number)
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
    except KeyboardInterrupt:
        walk.stop = "interrupted"
    return walk.pocket_run()


class PocketWalk(Walk):
    """A walk that judges the weights it passes and keeps the best of them."""

    def __init__(
        self,
        examples: Examples,
        rule: Rule,
        budget: Budget,
        start: NDArray[np.float64] | None,
        plan: Plan,
        number: int = 0,
    ) -> None:
        super().__init__(examples, rule, budget, start)
        self.plan, self.number = plan, number
        self.stop: Reason | None = None
        self.judge = Judge(examples, rule.zero, plan.threads)
        self.pocket = Pocket(self.start, ((0, self.judge.alone(self.start)),))
        self.confirmed = self.pocket.mistakes == 0

    @property
    def corrections_left(self) -> int:
        """How many more corrections the next block may make."""
        if self.plan.ratchet:
            return super().corrections_left
        return min(
            super().corrections_left, self.judge.batch(len(self.start), self.so_far.corrections)
        )

    @property
    def goes_on(self) -> bool:
        """Whether there may be a mistake left, and budget and leave to correct it."""
        return super().goes_on and self.stop is None

    @property
    def work(self) -> int:
        """About how many multiplications were made so far: every w is judged on all examples."""
        judged = self.so_far.corrections * self.examples.n * self.examples.entries_per_row
        return super().work + judged

    def record(
        self, w: NDArray[np.float64], corrected: Ints, ends: Ints, within_cycle: bool
    ) -> None:
        """Keep what a block of work did, and the best of the weights it passed."""
        before = self.so_far
        improved = self.pocket
        if not self.plan.ratchet and len(corrected):
            improved = self._judged(before, corrected)
        super().record(w, corrected, ends, within_cycle)
        self.pocket = improved
        # No weights without mistakes are ever corrected, so these are the last of the block.
        self.confirmed = self.confirmed or improved.mistakes == 0
        if self.plan.watch is not None:
            self.plan.watch(self.number, self.so_far, self.pocket)

    def consider(self) -> bool:
        """Judge the weights as they are now; true if they went into the pocket."""
        w = self.so_far.w * self.examples.unit
        mistakes = self.judge.alone(w)
        better = mistakes < self.pocket.mistakes
        if better:
            self.pocket = Pocket(w, (*self.pocket.history, (self.so_far.corrections, mistakes)))
        self.confirmed = self.confirmed or mistakes == 0
        return better

    def pocket_run(self) -> PocketRun:
        """What happened, once the walk is over."""
        best = Hypothesis(self.pocket.w, self.examples.x0, self.rule.zero)
        mistakes = best.mistakes(self.examples)
        run = self.run(self._why(mistakes), look=False)
        return PocketRun(
            best, run.trace, mistakes, run.cycles, run.reason, run.hypothesis, self.pocket
        )

    def _judged(self, before: Progress, corrected: Ints) -> Pocket:
        W = np.empty((len(corrected), len(before.w)))
        engine.keep(self.rows, corrected, before.w.copy(), W)
        with np.errstate(over="ignore"):  # weights past all floats are wrong on every row
            W *= self.examples.unit
        found = self.judge.improvements(W, self.pocket.mistakes)
        if not found:
            return self.pocket
        news = tuple((before.corrections + 1 + b, mistakes) for b, mistakes in found)
        return Pocket(W[found[-1][0]].copy(), self.pocket.history + news)

    def _why(self, mistakes: Ints) -> Reason:
        if len(mistakes) == 0:
            return "no mistakes"
        if self.stop is not None:
            return self.stop
        return self._reason(mistakes)


def _ratchet(walk: PocketWalk) -> None:
    """Gallant's rule: judge w only when it was right for longer in a row than the pocket was."""
    rows = _visits(walk)
    k = run = longest = 0
    judged = False
    while walk.goes_on:
        most = 1 if walk.rule.order == "first" else walk.corrections_left
        w, trace, visits = walk.room(most)
        state = (k, run, longest, judged, visits)
        k, run, judged, t = engine.ratchet(walk.rows, rows, walk.rule.zero, w, state, trace)
        ended = k == len(rows)
        ends = np.full(int(ended), t, dtype=np.int64)
        walk.record(w, trace[:t], ends, within_cycle=0 < k < len(rows))
        if run > longest and not judged:
            longest = run if walk.consider() else longest
            judged = True
        if run > LONG_RUN * len(rows) and not walk.confirmed:
            # Floats see no mistake, and there is one: it is corrected by exact arithmetic.
            walk.confirm()
            run, judged = 0, False
        if ended and walk.rule.order in ("shuffle", "random"):
            rows = _visits(walk)
        if ended or (t and walk.rule.order == "first"):
            k = 0


def _visits(walk: PocketWalk) -> Ints:
    """The order of the next cycle; "random" draws with replacement, as Gallant does."""
    rows = walk.examples.kept
    if walk.rule.order == "random":
        return rows[walk.rng.integers(len(rows), size=len(rows))]
    if walk.rule.order in ("random-cycle", "shuffle"):
        return walk.rng.permutation(rows)
    return rows
