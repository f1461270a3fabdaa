"""Train by iterative parameter mixing: average the weights of all partitions after each epoch.

The result of a round is the same, bit for bit, wherever and however often its partitions are
computed: random numbers come from (seed, round, partition), and the average is summed in the order
of the partitions.
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
from rosenblatt.algorithms.pla import CYCLES, WALKS, Budget, Reason, Rule, Walk, retry_scaled
from rosenblatt.dask.partitions import Partitions
from rosenblatt.errors import DataError, UsageError, quote
from rosenblatt.examples import Examples
from rosenblatt.files import read_checksummed, write_checksummed

Floats = NDArray[np.float64]

KIND = "dask checkpoint"  # identifies these checkpoint files
SHORT_EPOCH = 0.05  # seconds: in shorter epochs, Dask costs more than the work
ROUNDS = 32  # minimum number of rounds over which the pocket spreads its updates


class Round(NamedTuple):
    """One round of training: mistakes counted at its start, updates made, and seconds."""

    mistakes: float
    updates: int
    seconds: float


class Candidate(NamedTuple):
    """Weights w and the number of mistakes that w makes on all partitions."""

    w: Floats
    mistakes: float


@dataclass(frozen=True, eq=False)
class State:
    """State of training between two rounds, from which it can be continued."""

    w: Floats
    rounds: int = 0
    updates: int = 0
    history: tuple[Round, ...] = ()
    last: Candidate | None = None  # the w that the last round began with
    pocket: Candidate | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class MixingPlan:
    """Settings of training: update rule, limits, and how weights are averaged."""

    rule: Rule
    budget: Budget
    by_mistakes: bool = False  # weight partitions by their updates, not equally
    seed: int = 0
    pocket: bool = False  # spread updates over many rounds, so that more w are compared


class Epoch(NamedTuple):
    """Result of one epoch on one partition."""

    w: Floats | None  # after the epoch; None if there was no update
    updates: int
    mistakes: float  # of the w before the epoch
    seconds: float


def mix(
    partitions: Partitions, plan: MixingPlan, state: State, watch: Callable[[State], None]
) -> tuple[State, Reason]:
    """Train in rounds until w has no mistakes or a limit of `plan` is reached.

    `watch` is called with the state after each round. Returns the final state, whose `last` is the
    final w, and why the run stopped.
    """
    fastest = np.inf  # seconds; the first epoch is slow because it loads compiled kernels
    budget = plan.budget
    while True:
        reason: Reason | None = None
        if state.rounds >= budget.epochs:
            reason = "max_iter"
        elif budget.updates is not None and state.updates >= budget.updates:
            reason = "max_updates"
        elif budget.seconds is not None and state.seconds >= budget.seconds:
            reason = "time_limit"
        try:
            after, epochs = run_round(partitions, plan, state, count_only=reason is not None)
        except KeyboardInterrupt:
            if state.last is None:
                raise
            return state, "interrupted"
        made = after.history[-1]
        if reason is not None:
            ended = replace(state, last=after.last, pocket=after.pocket)
            return ended, reason if made.mistakes else "no mistakes"
        state = after
        watch(state)
        if made.mistakes == 0 and made.updates == 0:
            return state, "no mistakes"
        fastest = min(fastest, max(epoch.seconds for epoch in epochs))
        if state.rounds == 2 and fastest < SHORT_EPOCH:
            warnings.warn(
                f"an epoch of a partition takes {1000 * fastest:.1f} ms, less than "
                f"{1000 * SHORT_EPOCH:.0f} ms: Dask costs more than the work. Use fewer and larger "
                "partitions, or an estimator that needs no Dask, such as rosenblatt.Perceptron.",
                EfficiencyWarning,
                stacklevel=5,
            )


def run_round(
    partitions: Partitions, plan: MixingPlan, state: State, count_only: bool = False
) -> tuple[State, list[Epoch]]:
    """Run one epoch on every partition and average the weights, or only count mistakes."""
    begin = time.perf_counter()
    tasks = plan_epochs(plan, state, len(partitions.names), count_only)
    epochs = partitions.map(run_epoch, *tasks)
    seconds = time.perf_counter() - begin
    mistakes = math.fsum(epoch.mistakes for epoch in epochs)
    mistakes = int(mistakes) if mistakes.is_integer() else mistakes
    updates = sum(epoch.updates for epoch in epochs)
    now = Candidate(state.w, mistakes)
    pocket = now if state.pocket is None or mistakes < state.pocket.mistakes else state.pocket
    after = State(
        w=average_weights(state.w, epochs, plan.by_mistakes),
        rounds=state.rounds + 1,
        updates=state.updates + updates,
        history=(*state.history, Round(mistakes, updates, seconds)),
        last=now,
        pocket=pocket,
        seconds=state.seconds + seconds,
    )
    return after, epochs


def plan_epochs(
    plan: MixingPlan, state: State, count: int, count_only: bool = False
) -> tuple[list[Any], ...]:
    """Return the arguments of `run_epoch`, each as a list with one value per partition.

    The updates of all partitions together never exceed the updates left in the budget. If fewer
    updates are left than partitions, the partitions take turns, because perhaps only some of them
    have mistakes.

    Examples
    --------
    >>> plan = MixingPlan(Rule(), Budget(updates=10))
    >>> plan_epochs(plan, State(np.zeros(2), updates=3), 4)[-1]
    [2, 2, 2, 1]
    >>> plan_epochs(plan, State(np.zeros(2), rounds=6, updates=9), 4)[-1]
    [0, 0, 1, 0]
    """
    max_updates = plan.budget.updates
    shares: list[int | None] = [0 if count_only else None] * count
    if max_updates is not None and not count_only:
        left = max_updates - state.updates
        if plan.pocket:
            left = min(left, max(count, -(-max_updates // ROUNDS)))
        shares = [left // count + ((i - state.rounds) % count < left % count) for i in range(count)]
    seeds = [(plan.seed, state.rounds, i) for i in range(count)]
    rounds_left = plan.budget.epochs - state.rounds
    return [plan.rule] * count, [state.w] * count, seeds, [rounds_left] * count, shares


def run_epoch(
    examples: Examples,
    rule: Rule,
    w: Floats,
    seed: tuple[int, int, int],
    rounds_left: int,
    max_updates: int | None,
) -> Epoch:
    """Count the mistakes of w on a partition, then run one epoch that starts from w.

    `seed` is (seed, round, partition), so that a retry draws the same numbers. `rounds_left`
    includes this round. With `max_updates` of 0, mistakes are only counted.
    """
    begin, order = time.perf_counter(), rule.order
    if order not in CYCLES:
        examples = examples.look()
    if order == "first":
        max_updates = 1 if max_updates is None else min(1, max_updates)
    w = examples.flat(w)
    mistakes = Judge(examples, rule.zero).alone(w)

    def run(examples: Examples) -> Walk:
        first, number, partition = seed
        rng = np.random.default_rng((first, 0 if order == "random-cycle" else number, partition))
        walk = Walk(examples, replace(rule, rng=rng), Budget(1, max_updates), w)
        if order not in CYCLES:
            WALKS[order](walk)
        elif walk.goes_on:
            walk.run_epochs(None if order == "cycle" else walk.permute_rows())
        missed = mistakes > 0 and walk.so_far.updates == 0
        if missed and max_updates != 0 and rounds_left > 1:
            # Rounding hid every mistake: update on one that exact arithmetic finds.
            walk.budget = Budget(rounds_left, max_updates)
            walk.confirm()
        return walk

    walk = retry_scaled(examples, run)
    updates = walk.so_far.updates
    after = examples.shaped(walk.so_far.w * walk.unit) if updates else None
    return Epoch(after, updates, mistakes, time.perf_counter() - begin)


def average_weights(w: Floats, epochs: Sequence[Epoch], by_mistakes: bool) -> Floats:
    """Average the weights of the partitions, equally or in proportion to their updates.

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
    weights = [w if epoch.w is None else epoch.w for epoch in epochs]
    if len(weights) == 1:
        return weights[0]
    if not by_mistakes:
        return functools.reduce(np.add, weights) / len(weights)
    terms = (v * (epoch.updates / total) for v, epoch in zip(weights, epochs, strict=True))
    return functools.reduce(np.add, terms)


@dataclass(frozen=True)
class Checkpoint:
    """File with the state of training, rewritten every few rounds."""

    path: str | PathLike[str]
    every: int  # number of rounds between two writes
    data: dict[str, Any]  # labels, columns and rows, which must match to resume
    shape: tuple[int, ...]  # of the weights

    def write(self, plan: MixingPlan, state: State) -> None:
        """Write the state to the file, replacing the previous state."""
        candidates = {
            name: None if kept is None else {"w": kept.w.tolist(), "mistakes": kept.mistakes}
            for name, kept in (("last", state.last), ("pocket", state.pocket))
        }
        history = [list(entry) for entry in state.history]
        values = {**vars(state), **candidates, "w": state.w.tolist(), "history": history}
        content = {
            "data": self.data,
            "rule": _rule_to_json(plan),
            "seed": plan.seed,
            "state": values,
        }
        write_checksummed(self.path, KIND, content)

    def read(self, plan: MixingPlan) -> tuple[int, State]:
        """Read the saved seed and state, after checking that the data have not changed."""
        content = read_checksummed(self.path, KIND)
        try:
            for name, now in (("data", self.data), ("rule", _rule_to_json(plan))):
                for what, value in now.items():
                    before = content[name].get(what)
                    if before != value:
                        raise UsageError(
                            f"{self.path} is from a run with {what} {quote(before)}, but this run "
                            f"has {quote(value)}; resume with the first value, or call fit."
                        )
            values = content["state"]
            last, pocket = (
                kept and Candidate(np.array(kept["w"], dtype=np.float64), kept["mistakes"])
                for kept in (values["last"], values["pocket"])
            )
            history = tuple(Round(*entry) for entry in values["history"])
            w, seconds = np.array(values["w"], dtype=np.float64), float(values["seconds"])
            rounds, updates = int(values["rounds"]), int(values["updates"])
            state = State(w, rounds, updates, history, last, pocket, seconds)
            if w.shape != self.shape or not np.isfinite(w).all():
                raise ValueError("w has a wrong shape, or contains NaN or infinity")
            return int(content["seed"]), state
        except UsageError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DataError(f"{self.path} is not a complete checkpoint: {quote(error)}.") from None


def _rule_to_json(plan: MixingPlan) -> dict[str, Any]:
    mixing = "mistakes" if plan.by_mistakes else "uniform"
    rule = plan.rule
    return {"order": rule.order, "zero": rule.zero, "eta": rule.eta, "mixing": mixing}
