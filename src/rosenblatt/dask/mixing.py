"""Iterative parameter mixing: every shard runs one cycle, the driver averages, until all is right.

A round's bits do not depend on where or how often its shards were computed: chance comes from
(seed, round, shard), and the average is taken in the order of the shards.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import EfficiencyWarning

from rosenblatt.algorithms.run import Budget, Reason, Rule
from rosenblatt.dask.crew import ClusterError, Crew
from rosenblatt.dask.tasks import Learnt, Turn, one_cycle

Floats = NDArray[np.float64]

SHORT_CYCLE = 0.05  # seconds: below this Dask costs more than the work
ROUNDS = 32  # a pocket's corrections are spread over at least so many rounds, to judge w as often


class Round(NamedTuple):
    """One round: mistakes of the w it began with, corrections made from it, seconds it took."""

    mistakes: float
    corrections: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Judged:
    """Weights and their mistakes on all shards."""

    w: Floats
    mistakes: float


@dataclass(frozen=True, eq=False)
class State:
    """A run between two rounds; with the plan and the data, it decides everything after."""

    w: Floats
    rounds: int = 0
    corrections: int = 0
    clean: int = 0
    history: tuple[Round, ...] = ()
    last: Judged | None = None  # the w that the last round began with
    pocket: Judged | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Plan:
    """How to mix.

    Parameters
    ----------
    rule : Rule
        The order of visits, the meaning of sign(0), eta.
    budget : Budget
        The most rounds, corrections and seconds.
    by_mistakes : bool
        Whether a shard weighs as much as it made corrections; else all weigh the same.
    seed : int
        Where chance comes from, with the numbers of the round and the shard.
    pocket : bool
        Whether the best w is wanted: corrections are then spread over many rounds.
    """

    rule: Rule
    budget: Budget
    by_mistakes: bool = False
    seed: int = 0
    pocket: bool = False


@dataclass(frozen=True, eq=False)
class Mixed:
    """What came of it: the state at the end, w's mistakes, and why it stopped."""

    state: State
    end: Judged
    reason: Reason


class Pace:
    """Warns once where a shard's cycle is too short to be worth a cluster."""

    def __init__(self, shards: int) -> None:
        self.rounds = 0
        self.fastest = np.full(shards, np.inf)

    def take(self, learnt: Sequence[Learnt]) -> None:
        """Take the seconds of a round; the first includes loading compiled kernels."""
        self.rounds += 1
        self.fastest = np.minimum(self.fastest, [part.seconds for part in learnt])
        if self.rounds == 2 and self.fastest.max() < SHORT_CYCLE:
            warnings.warn(
                f"a shard's cycle takes {1000 * self.fastest.max():.1f} ms, less than "
                f"{1000 * SHORT_CYCLE:.0f} ms: Dask costs more than the work. Use fewer and larger "
                "shards, or the plain estimator.",
                EfficiencyWarning,
                stacklevel=2,
            )


Watch = Callable[[State, Sequence[Learnt]], None]


def mix(crew: Crew, plan: Plan, state: State, watch: Watch) -> Mixed:
    """Go round after round until a whole one has no mistake or the budget ends.

    Parameters
    ----------
    crew : Crew
        The shards.
    plan : Plan
        How to mix.
    state : State
        Where to begin: new, or as a checkpoint kept it.
    watch : callable
        Told the state after each round, and what the shards answered.
    """
    while True:
        reason = _budget_ended(plan, state)
        try:
            if reason is None and state.history:
                crew.place()
            after, learnt = one_round(crew, plan, state, only_look=reason is not None)
        except KeyboardInterrupt:
            if state.last is None:
                raise
            return Mixed(state, state.last, "interrupted")
        now = Judged(state.w, after.history[-1].mistakes)
        if reason is not None:
            ended = replace(state, pocket=_better(state.pocket, now))
            return Mixed(ended, now, reason if now.mistakes else "no mistakes")
        state = after
        watch(state, learnt)
        if now.mistakes == 0 and state.history[-1].corrections == 0:
            return Mixed(state, now, "no mistakes")
        crew.seen_at([part.worker for part in learnt])


def _budget_ended(plan: Plan, state: State) -> Reason | None:
    budget = plan.budget
    if state.rounds >= budget.cycles:
        return "max_iter"
    if budget.corrections is not None and state.corrections >= budget.corrections:
        return "max_updates"
    if budget.seconds is not None and state.seconds >= budget.seconds:
        return "time_limit"
    return None


def turns_of(plan: Plan, state: State, shards: int, only_look: bool = False) -> list[Turn]:
    """What each shard is asked in the next round."""
    shares = [0] * shards if only_look else shares_of(plan, state, shards)
    left = plan.budget.cycles - state.rounds
    return [
        Turn(plan.rule, (plan.seed, state.rounds, shard), left, share, state.clean)
        for shard, share in enumerate(shares)
    ]


def one_round(
    crew: Crew, plan: Plan, state: State, only_look: bool = False
) -> tuple[State, list[Learnt]]:
    """Every shard runs one cycle, or only counts mistakes; the state after, and their answers."""
    begin = time.perf_counter()
    turns = turns_of(plan, state, len(crew.shards), only_look)
    try:
        learnt: list[Learnt] = crew.ask(one_cycle, turns, state.w)
    except ClusterError as error:
        raise ClusterError(f"round {state.rounds}: {error}") from error.__cause__
    seconds = time.perf_counter() - begin
    mistakes = _whole(math.fsum(part.mistakes for part in learnt))
    corrections = sum(part.corrections for part in learnt)
    now = Judged(state.w, mistakes)
    after = State(
        w=average(state.w, learnt, plan.by_mistakes),
        rounds=state.rounds + 1,
        corrections=state.corrections + corrections,
        clean=learnt[0].clean if len(learnt) == 1 else 0,
        history=(*state.history, Round(mistakes, corrections, seconds)),
        last=now,
        pocket=_better(state.pocket, now),
        seconds=state.seconds + seconds,
    )
    return after, learnt


def shares_of(plan: Plan, state: State, shards: int) -> list[Any]:
    """How many corrections each shard may make in the next round; None for any number.

    Together never more than are left. A pocket's are spread, so that w is judged on the way.

    Examples
    --------
    >>> plan = Plan(Rule(), Budget(corrections=10))
    >>> shares_of(plan, State(np.zeros(2), corrections=3), 4)
    [2, 2, 2, 1]
    """
    most = plan.budget.corrections
    if most is None:
        return [None] * shards
    left = most - state.corrections
    if plan.pocket:
        left = min(left, max(shards, -(-most // ROUNDS)))
    return [left // shards + (shard < left % shards) for shard in range(shards)]


def average(w: Floats, learnt: Sequence[Learnt], by_mistakes: bool) -> Floats:
    """The mean of what the shards learnt, in their order, each as heavy as it should be.

    Examples
    --------
    >>> parts = [Learnt(np.array([3.0]), 2, 2, 0, 0.0, ""), Learnt(None, 0, 0, 9, 0.0, "")]
    >>> average(np.array([1.0]), parts, False), average(np.array([1.0]), parts, True)
    (array([2.]), array([3.]))
    """
    total = sum(part.corrections for part in learnt)
    if total == 0:
        return w
    ws = [w if part.w is None else part.w for part in learnt]
    if len(ws) == 1:
        return ws[0]
    if not by_mistakes:
        return _sum(ws) / len(ws)
    return _sum([v * (part.corrections / total) for v, part in zip(ws, learnt, strict=True)])


def _sum(ws: Sequence[Floats]) -> Floats:
    total = ws[0].copy()
    for w in ws[1:]:
        total += w
    return total


def _better(pocket: Judged | None, now: Judged) -> Judged:
    return now if pocket is None or now.mistakes < pocket.mistakes else pocket


def _whole(mistakes: float) -> float:
    """A count of mistakes as a whole number; the weight of mistakes as it is."""
    return int(mistakes) if float(mistakes).is_integer() else mistakes
