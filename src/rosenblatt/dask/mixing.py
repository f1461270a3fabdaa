"""Iterative parameter mixing: every shard runs one cycle, the driver averages, until all is right.

A round's bits do not depend on where or how often its shards were computed: chance comes from
(seed, round, shard), and the average is taken in the order of the shards.
"""

from __future__ import annotations

import functools
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import EfficiencyWarning

from rosenblatt.algorithms.pla import Budget, Reason, Rule
from rosenblatt.dask.cluster import Cluster, ClusterError
from rosenblatt.dask.tasks import Learnt, Share, one_cycle
from rosenblatt.errors import DataError, UsageError, quoted
from rosenblatt.files import read_sealed, write_sealed

Floats = NDArray[np.float64]

KIND = "rounds of mixing"  # what a checkpoint holds
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
    history: tuple[Round, ...] = ()
    last: Judged | None = None  # the w that the last round began with
    pocket: Judged | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Mixing:
    """How to mix: the rule of a cycle, the most rounds, corrections and seconds."""

    rule: Rule
    budget: Budget
    by_mistakes: bool = False  # a shard weighs as much as it made corrections; else all the same
    seed: int = 0  # where chance comes from, with the numbers of the round and the shard
    pocket: bool = False  # the best w is wanted: corrections are spread over many rounds


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


def mix(cluster: Cluster, plan: Mixing, state: State, watch: Watch) -> Mixed:
    """Go round after round until a whole one has no mistake or the budget ends.

    The state is new, or as a checkpoint kept it; `watch` is told each one, and what the shards
    answered.
    """
    while True:
        reason = _budget_ended(plan, state)
        try:
            if reason is None and state.history:
                cluster.place()
            after, learnt = one_round(cluster, plan, state, only_look=reason is not None)
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
        cluster.seen_at([part.worker for part in learnt])


def _budget_ended(plan: Mixing, state: State) -> Reason | None:
    budget = plan.budget
    if state.rounds >= budget.cycles:
        return "max_iter"
    if budget.corrections is not None and state.corrections >= budget.corrections:
        return "max_updates"
    if budget.seconds is not None and state.seconds >= budget.seconds:
        return "time_limit"
    return None


def shares_of(plan: Mixing, state: State, shards: int, only_look: bool = False) -> list[Share]:
    """What each shard is asked in the next round."""
    most = [0] * shards if only_look else corrections_of(plan, state, shards)
    left = plan.budget.cycles - state.rounds
    return [
        Share(plan.rule, (plan.seed, state.rounds, shard), left, corrections)
        for shard, corrections in enumerate(most)
    ]


def one_round(
    cluster: Cluster, plan: Mixing, state: State, only_look: bool = False
) -> tuple[State, list[Learnt]]:
    """Every shard runs one cycle, or only counts mistakes; the state after, and their answers."""
    begin = time.perf_counter()
    shares = shares_of(plan, state, len(cluster.shards), only_look)
    try:
        learnt: list[Learnt] = cluster.ask(one_cycle, shares, state.w)
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
        history=(*state.history, Round(mistakes, corrections, seconds)),
        last=now,
        pocket=_better(state.pocket, now),
        seconds=state.seconds + seconds,
    )
    return after, learnt


def corrections_of(plan: Mixing, state: State, shards: int) -> list[int | None]:
    """How many corrections each shard may make in the next round; None for any number.

    Together never more than are left. A pocket's are spread, so that w is judged on the way.

    Examples
    --------
    >>> plan = Mixing(Rule(), Budget(corrections=10))
    >>> corrections_of(plan, State(np.zeros(2), corrections=3), 4)
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
    >>> parts = [Learnt(np.array([3.0]), 2, 2, 0.0, ""), Learnt(None, 0, 0, 0.0, "")]
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
        return functools.reduce(np.add, ws) / len(ws)
    heavy = (v * (part.corrections / total) for v, part in zip(ws, learnt, strict=True))
    return functools.reduce(np.add, heavy)


def _better(pocket: Judged | None, now: Judged) -> Judged:
    return now if pocket is None or now.mistakes < pocket.mistakes else pocket


def _whole(mistakes: float) -> float:
    """A count of mistakes as a whole number; the weight of mistakes as it is."""
    return int(mistakes) if float(mistakes).is_integer() else mistakes


@dataclass(frozen=True)
class Checkpoint:
    """A file that holds the state of a run every few rounds: a lost scheduler ends the job."""

    path: str | PathLike[str]
    every: int  # rounds
    data: dict[str, Any]  # what they are: a run goes on with the same only

    def write(self, plan: Mixing, state: State) -> None:
        """Put a state in place of the last."""
        content = {"data": self.data, "rule": _rule(plan), "seed": plan.seed}
        write_sealed(self.path, KIND, {**content, "state": _plain(state)})

    def after_round(self, plan: Mixing, state: State) -> None:
        """Write the state if it is time to, and the run is not over."""
        over = state.history[-1].mistakes == 0 and state.history[-1].corrections == 0
        if state.rounds % self.every == 0 and not over:
            self.write(plan, state)

    def read(self, plan: Mixing) -> tuple[int, State]:
        """The seed and the state to go on from; refuses those of other data or another rule."""
        content = read_sealed(self.path, KIND)
        try:
            self._check_same(content, plan)
            seed, state = int(content["seed"]), _state(content["state"])
            if state.w.shape != (self.data["columns"] + 1,) or not np.isfinite(state.w).all():
                raise ValueError("w is not a finite number for each column")
            return seed, state
        except UsageError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            why = quoted(error)
            raise DataError(f"{self.path} does not hold a whole state: {why}.") from None

    def _check_same(self, content: Any, plan: Mixing) -> None:
        for name, now in (("data", self.data), ("rule", _rule(plan))):
            for what, value in now.items():
                before = content[name].get(what)
                if before != value:
                    raise UsageError(
                        f"{self.path} is of a run with {what} {quoted(before)}, this one has "
                        f"{quoted(value)}; resume with the same, or fit anew."
                    )


def _rule(plan: Mixing) -> dict[str, Any]:
    rule = plan.rule
    mixing = "mistakes" if plan.by_mistakes else "uniform"
    return {"order": rule.order, "zero": rule.zero, "eta": rule.eta, "mixing": mixing}


def _plain(state: State) -> dict[str, Any]:
    """A state as JSON has it."""
    arrays = {
        name: None if judged is None else {"w": judged.w.tolist(), "mistakes": judged.mistakes}
        for name, judged in (("last", state.last), ("pocket", state.pocket))
    }
    history = [list(step) for step in state.history]
    return {**vars(state), **arrays, "w": state.w.tolist(), "history": history}


def _state(content: dict[str, Any]) -> State:
    return State(
        np.array(content["w"], dtype=np.float64),
        int(content["rounds"]),
        int(content["corrections"]),
        tuple(Round(*step) for step in content["history"]),
        _judged(content["last"]),
        _judged(content["pocket"]),
        float(content["seconds"]),
    )


def _judged(content: dict[str, Any] | None) -> Judged | None:
    if content is None:
        return None
    return Judged(np.array(content["w"], dtype=np.float64), content["mistakes"])
