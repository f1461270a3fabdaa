"""Iterative parameter mixing: every partition runs one epoch, the driver averages the weights.

The bits of a round do not depend on where or how often its partitions were computed: random
numbers come from (seed, round, partition), and the average is taken in the order of the partitions.
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

from rosenblatt.algorithms.judge import Judge
from rosenblatt.algorithms.pla import CYCLES, WALKS, Budget, Reason, Rule, Walk, looked_into
from rosenblatt.dask.partitions import ClusterError, Partitions
from rosenblatt.errors import DataError, UsageError, quoted
from rosenblatt.examples import Examples
from rosenblatt.files import read_sealed, write_sealed

Floats = NDArray[np.float64]

KIND = "rounds of mixing"  # the kind of checkpoint
SHORT_EPOCH = 0.05  # seconds: below this, Dask costs more than the work
ROUNDS = 32  # the updates of a pocket are spread over at least this number of rounds


class Round(NamedTuple):
    """Mistakes of the w that a round began with, updates made from it, and seconds it took."""

    mistakes: float
    updates: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Candidate:
    """Weights and their mistakes on all partitions."""

    w: Floats
    mistakes: float


@dataclass(frozen=True, eq=False)
class State:
    """A run between two rounds; with the plan and the data, it determines all later rounds."""

    w: Floats
    rounds: int = 0
    updates: int = 0
    history: tuple[Round, ...] = ()
    last: Candidate | None = None  # the w that the last round began with
    pocket: Candidate | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Plan:
    """Rule of an epoch, budget of rounds, updates and seconds, and how weights are averaged."""

    rule: Rule
    budget: Budget
    by_mistakes: bool = False  # weight partitions by their updates, not equally
    seed: int = 0
    pocket: bool = False  # spread updates over many rounds, so that w is judged more often


@dataclass(frozen=True, eq=False)
class Mixed:
    """The final state, the last w with its mistakes, and why the run stopped."""

    state: State
    end: Candidate
    reason: Reason


@dataclass(frozen=True)
class Turn:
    """What one partition does in one round."""

    rule: Rule  # without a random generator: the seed makes one
    seed: tuple[int, int, int]  # (seed, round, partition): a retry draws the same numbers
    rounds_left: int  # this one included
    updates: int | None = None  # maximum for this partition; 0 only counts mistakes


@dataclass(frozen=True, eq=False)
class Epoch:
    """Mistakes of the incoming w on one partition, and the w after one epoch from it."""

    w: Floats | None  # None if no row was updated on
    updates: int
    mistakes: float
    seconds: float


def mix(partitions: Partitions, plan: Plan, state: State, watch: Callable[[State], None]) -> Mixed:
    """Run rounds until a whole one has no mistake or the budget ends.

    `watch` is called with the state after each round.
    """
    fastest = np.inf  # the first epoch includes loading compiled kernels
    while True:
        reason = _ended_budget(plan, state)
        try:
            after, epochs = run_round(partitions, plan, state, count_only=reason is not None)
        except KeyboardInterrupt:
            if state.last is None:
                raise
            return Mixed(state, state.last, "interrupted")
        now = Candidate(state.w, after.history[-1].mistakes)
        if reason is not None:
            ended = replace(state, pocket=_better(state.pocket, now))
            return Mixed(ended, now, reason if now.mistakes else "no mistakes")
        state = after
        watch(state)
        if now.mistakes == 0 and state.history[-1].updates == 0:
            return Mixed(state, now, "no mistakes")
        fastest = min(fastest, max(epoch.seconds for epoch in epochs))
        if state.rounds == 2 and fastest < SHORT_EPOCH:
            warnings.warn(
                f"an epoch of a partition takes {1000 * fastest:.1f} ms, less than "
                f"{1000 * SHORT_EPOCH:.0f} ms: Dask costs more than the work. Use fewer and larger "
                "partitions, or the estimator of rosenblatt that is not in rosenblatt.dask.",
                EfficiencyWarning,
                stacklevel=5,
            )


def _ended_budget(plan: Plan, state: State) -> Reason | None:
    budget = plan.budget
    if state.rounds >= budget.cycles:
        return "max_iter"
    if budget.corrections is not None and state.updates >= budget.corrections:
        return "max_updates"
    if budget.seconds is not None and state.seconds >= budget.seconds:
        return "time_limit"
    return None


def run_round(
    partitions: Partitions, plan: Plan, state: State, count_only: bool = False
) -> tuple[State, list[Epoch]]:
    """Run one epoch on every partition, or only count mistakes, and return the state after it."""
    begin = time.perf_counter()
    turns = plan_turns(plan, state, len(partitions.names), count_only)
    try:
        epochs = partitions.map(run_epoch, turns, [state.w] * len(turns))
    except ClusterError as error:
        raise ClusterError(f"round {state.rounds}: {error}") from error.__cause__
    seconds = time.perf_counter() - begin
    mistakes = math.fsum(epoch.mistakes for epoch in epochs)
    mistakes = int(mistakes) if mistakes.is_integer() else mistakes
    updates = sum(epoch.updates for epoch in epochs)
    now = Candidate(state.w, mistakes)
    after = State(
        w=average_weights(state.w, epochs, plan.by_mistakes),
        rounds=state.rounds + 1,
        updates=state.updates + updates,
        history=(*state.history, Round(mistakes, updates, seconds)),
        last=now,
        pocket=_better(state.pocket, now),
        seconds=state.seconds + seconds,
    )
    return after, epochs


def plan_turns(plan: Plan, state: State, count: int, count_only: bool = False) -> list[Turn]:
    """Return what each partition does in the next round.

    The updates of all partitions together never exceed those left in the budget.

    Examples
    --------
    >>> plan = Plan(Rule(), Budget(corrections=10))
    >>> [turn.updates for turn in plan_turns(plan, State(np.zeros(2), updates=3), 4)]
    [2, 2, 2, 1]
    """
    most = plan.budget.corrections
    shares: list[int | None] = [0 if count_only else None] * count
    if most is not None and not count_only:
        left = most - state.updates
        if plan.pocket:
            left = min(left, max(count, -(-most // ROUNDS)))
        shares = [left // count + (i < left % count) for i in range(count)]
    rounds_left = plan.budget.cycles - state.rounds
    return [
        Turn(plan.rule, (plan.seed, state.rounds, i), rounds_left, share)
        for i, share in enumerate(shares)
    ]


def run_epoch(examples: Examples, turn: Turn, w: Floats) -> Epoch:
    """Count the mistakes of the incoming w on a partition, then run one epoch from it."""
    begin = time.perf_counter()
    order, most = turn.rule.order, turn.updates
    if order not in CYCLES:
        examples = examples.look()
    if order == "first":
        most = 1 if most is None else min(1, most)
    mistakes = Judge(examples, turn.rule.zero).alone(w)

    def run(examples: Examples) -> Walk:
        seed, number, partition = turn.seed
        rng = np.random.default_rng((seed, 0 if order == "random-cycle" else number, partition))
        walk = Walk(examples, replace(turn.rule, rng=rng), Budget(1, most), w)
        if order not in CYCLES:
            WALKS[order](walk)
        elif walk.goes_on:
            walk.cycle(None if order == "cycle" else walk.permutation())
        hidden = mistakes > 0 and walk.so_far.corrections == 0
        if hidden and most != 0 and turn.rounds_left > 1:
            # Rounding hid every mistake: update on one that exact arithmetic finds.
            walk.budget = Budget(turn.rounds_left, most)
            walk.confirm()
        return walk

    walk = looked_into(examples, run)
    updates = walk.so_far.corrections
    after = walk.so_far.w * walk.unit if updates else None
    return Epoch(after, updates, mistakes, time.perf_counter() - begin)


def average_weights(w: Floats, epochs: Sequence[Epoch], by_mistakes: bool) -> Floats:
    """Return the mean of the weights after an epoch, weighted equally or by updates.

    Examples
    --------
    >>> epochs = [Epoch(np.array([3.0]), 2, 2, 0.0), Epoch(None, 0, 0, 0.0)]
    >>> average_weights(np.array([1.0]), epochs, False)
    array([2.])
    >>> average_weights(np.array([1.0]), epochs, True)
    array([3.])
    """
    total = sum(epoch.updates for epoch in epochs)
    if total == 0:
        return w
    ws = [w if epoch.w is None else epoch.w for epoch in epochs]
    if len(ws) == 1:
        return ws[0]
    if not by_mistakes:
        return functools.reduce(np.add, ws) / len(ws)
    weighted = (v * (epoch.updates / total) for v, epoch in zip(ws, epochs, strict=True))
    return functools.reduce(np.add, weighted)


def _better(pocket: Candidate | None, now: Candidate) -> Candidate:
    return now if pocket is None or now.mistakes < pocket.mistakes else pocket


@dataclass(frozen=True)
class Checkpoint:
    """A file with the state of a run, rewritten every few rounds."""

    path: str | PathLike[str]
    every: int  # rounds
    data: dict[str, Any]  # labels, columns and rows, which must be the same to resume

    def write(self, plan: Plan, state: State) -> None:
        """Replace the file by this state."""
        candidates = {
            name: None if one is None else {"w": one.w.tolist(), "mistakes": one.mistakes}
            for name, one in (("last", state.last), ("pocket", state.pocket))
        }
        history = [list(step) for step in state.history]
        plain = {**vars(state), **candidates, "w": state.w.tolist(), "history": history}
        content = {"data": self.data, "rule": _rule(plan), "seed": plan.seed, "state": plain}
        write_sealed(self.path, KIND, content)

    def read(self, plan: Plan) -> tuple[int, State]:
        """Return the seed and the state; raise if they are of other data or another rule."""
        content = read_sealed(self.path, KIND)
        try:
            for name, now in (("data", self.data), ("rule", _rule(plan))):
                for what, value in now.items():
                    before = content[name].get(what)
                    if before != value:
                        raise UsageError(
                            f"{self.path} is from a run with {what} {quoted(before)}, this run has "
                            f"{quoted(value)}; resume with the same, or call fit."
                        )
            plain = content["state"]
            last, pocket = (
                one and Candidate(np.array(one["w"], dtype=np.float64), one["mistakes"])
                for one in (plain["last"], plain["pocket"])
            )
            history = tuple(Round(*step) for step in plain["history"])
            w, seconds = np.array(plain["w"], dtype=np.float64), float(plain["seconds"])
            rounds, updates = int(plain["rounds"]), int(plain["updates"])
            state = State(w, rounds, updates, history, last, pocket, seconds)
            if w.shape != (self.data["columns"] + 1,) or not np.isfinite(w).all():
                raise ValueError("w is not a finite number for each column")
            return int(content["seed"]), state
        except UsageError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DataError(f"{self.path} is not a complete checkpoint: {quoted(error)}.") from None


def _rule(plan: Plan) -> dict[str, Any]:
    mixing = "mistakes" if plan.by_mistakes else "uniform"
    rule = plan.rule
    return {"order": rule.order, "zero": rule.zero, "eta": rule.eta, "mixing": mixing}
