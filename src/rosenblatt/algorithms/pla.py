"""The perceptron learning algorithm (PLA): update w on mistakes until an epoch has none.

A `Walk` is a run in progress. Each kernel call does a bounded amount of work on one block of rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

import rosenblatt.clock as clock
import rosenblatt.engine as engine
from rosenblatt.blocks import Blocks
from rosenblatt.clock import Deadline
from rosenblatt.errors import RowError
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis, count_misclassified
from rosenblatt.tables import locate_entry
from rosenblatt.text import plural
from rosenblatt.trace import Origin, Trace, run_lag, run_replay

T = TypeVar("T")
Floats = NDArray[np.float64]
Ints = NDArray[Any]
Order = range | Ints

# A kernel call is limited to about this many multiplications, a few hundredths of a second, so
# that Ctrl-C works and progress can be shown; a few rows are visited many times in one call.
WORK_PER_CALL = 2**26
VISITS_PER_CALL = 2**20
FIRST_EPOCHS = 16  # maximum number of epochs in the first call
CHANCES = 2**11  # minimum number of random numbers drawn at a time
NO_ENDS = np.empty(0, dtype=np.int64)

Reason = Literal[
    "no mistakes", "max_iter", "max_updates", "time_limit", "interrupted", "end of stream"
]


@dataclass(frozen=True)
class Rule:
    """Options of PLA: order of visits, meaning of sign(0), learning rate, averaging."""

    order: str = "cycle"
    zero: int = 0
    eta: float = 1.0
    rng: np.random.Generator | None = None
    average: bool = False  # whether to compute the mean of w over all visits; rows in memory only


@dataclass(frozen=True)
class Budget:
    """Limits on the epochs, updates and seconds of a run.

    Small jobs always finish, whatever the time limit.
    """

    epochs: int = 1000
    updates: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, eq=False)
class Mean:
    """Mean of the weights over all visits to examples, with the number of visits."""

    hypothesis: Hypothesis
    visits: int

    def after(self, before: Mean | None) -> Mean:
        """Combine the mean with the mean `before` of earlier training, weighted by visits."""
        if before is None or before.visits == 0:
            return self
        visits = before.visits + self.visits
        share, x0 = self.visits / visits, self.hypothesis.x0
        old = before.hypothesis.w.copy()
        old[..., 0] *= before.hypothesis.x0 / x0 if x0 else 0.0
        w = (1 - share) * old + share * self.hypothesis.w
        return Mean(replace(self.hypothesis, w=w), visits)


@dataclass(frozen=True, eq=False)
class Run:
    """Result of a training run: the final weights, its updates, and why it stopped."""

    hypothesis: Hypothesis
    record: Trace | None  # every update; for rows in memory only
    updates: int
    epochs: int  # epochs begun
    rows: int
    mistakes: int | None  # mistakes left; None if Ctrl-C came before they were counted
    reason: Reason
    mean: Mean | None = field(default=None, kw_only=True)  # None unless the rule averages

    @property
    def separated(self) -> bool:
        """Whether a pass over all examples found no mistake."""
        return self.mistakes == 0

    @property
    def trace(self) -> Trace:
        """Trace of every update, recorded only if the rows are in memory."""
        if self.record is None:
            raise ValueError(
                "the updates of a run over a file are not recorded; give a watch function."
            )
        return self.record


class WeightsOverflowError(RowError):
    """Error raised when the weights overflow float64 or become NaN."""


class Interrupted(KeyboardInterrupt):
    """Exception on Ctrl-C during a run; its attribute `run` is the result so far."""

    def __init__(self, run: Run) -> None:
        left = "" if run.mistakes is None else f"; {plural(run.mistakes, 'mistake')} left"
        super().__init__(f"interrupted after {plural(run.updates, 'update')}{left}")
        self.run = run


class Progress(NamedTuple):
    """Weights and counts of a run so far, as passed to a watch function.

    w is divided by the `unit` of the examples.
    """

    w: Floats
    calls: int = 0
    updates: int = 0
    epochs: int = 0  # begun, complete or not
    complete_epochs: int = 0
    updated: Ints = NO_ENDS  # rows that the last call updated w on
    visits: int = 0  # counted only if the rule averages


Watch = Callable[[Progress], None]


def pla(
    blocks: Blocks,
    rule: Rule = Rule(),
    budget: Budget = Budget(),
    start: Floats | None = None,
    watch: Watch | None = None,
) -> Run:
    """Run PLA until an epoch has no mistake or the budget is used up.

    Many blocks are visited in order. `start` is the augmented w(0), by default zeros; `watch` is
    called with the progress after each kernel call.

    Examples
    --------
    >>> run = pla(Examples.from_arrays([[2.0], [-1.0]], ["yes", "no"]))
    >>> run.reason, run.trace.examples.tolist()
    ('no mistakes', [0])
    >>> from rosenblatt.blocks import InOrder
    >>> halves = [Examples.from_arrays([[x]], [x > 0], labels=np.array([False, True]))
    ...           for x in (2.0, -1.0)]
    >>> pla(InOrder(lambda: halves)).updates
    1
    """

    def go(blocks: Blocks) -> Run:
        walk = Walk(blocks, rule, budget, start, watch)
        try:
            WALKS[rule.order](walk)
            return walk.run()
        except KeyboardInterrupt:
            raise Interrupted(walk.run("interrupted")) from None

    return retry_scaled(blocks, go)


def retry_scaled(blocks: Blocks, work: Callable[[Any], T]) -> T:
    """Train by calling `work`; retry on rescaled examples if the weights overflow.

    Training first saves a pass that looks for extreme numbers, NaN and infinity. An epoch finds
    NaN by itself: a NaN score is a mistake, so w becomes NaN. The exact check at the end finds the
    rest.
    """
    try:
        return work(blocks)
    except WeightsOverflowError:
        if not blocks.in_memory:
            raise
        looked_at = blocks.first().look()
        if looked_at.unit == 1.0:
            raise
    return work(looked_at)


def online(examples: Examples, rule: Rule, start: NDArray[np.float64] | None = None) -> Run:
    """Run one epoch of PLA, in row order, as online learning.

    The `mistakes` of the run are those it made on the way, each counted before its update.

    Examples
    --------
    >>> run = online(Examples.from_arrays([[2.0], [-1.0], [3.0]], [1, 0, 1]), Rule())
    >>> run.mistakes, run.trace.examples.tolist()
    (1, [0])
    """
    walk = Walk(examples, rule, Budget(epochs=1), start)
    try:
        walk.run_epochs()
    except KeyboardInterrupt:
        raise Interrupted(walk.run("interrupted")) from None
    run = walk.run("end of stream", look=False)
    return replace(run, mistakes=run.updates)


def visit_all_rows(walk: Walk) -> None:
    """Run PLA epoch by epoch, in file order or in a random order.

    The random order is drawn once for "random-cycle", and before each epoch for "shuffle".
    """
    order = walk.permute_rows() if walk.rule.order == "random-cycle" else None
    while walk.goes_on:
        # Run as many epochs in a call as were run before it: a short run then needs little memory.
        most = min(max(FIRST_EPOCHS, walk.so_far.complete_epochs), walk.epochs_left)
        if walk.rule.order == "shuffle":
            order, most = walk.permute_rows(), 1
        if walk.run_epochs(order, most):
            walk.confirm()


def update_on_random_mistakes(walk: Walk) -> None:
    """Update w on mistakes drawn uniformly at random until the run ends.

    The first mistake in a random order is such a choice. The order is shuffled while it is
    visited, so finding a mistake costs no more than the visits it takes. N visits are an epoch.
    """
    order = walk.examples.kept.copy()
    chance, i, visits = np.empty(0), 0, 0
    while walk.goes_on:
        w, trace, most = walk.allocate(walk.updates_left)
        most = min(most, walk.epochs_left * len(order) - visits)
        if len(chance) == 0:
            chance = walk.rng.random(max(len(order), CHANCES))
        ends = np.empty(min(most, len(chance)) // len(order) + 1, dtype=np.int64)
        when, begun = np.empty(len(trace) + 1, dtype=np.int64), (i, visits)
        i, visits, t, c = engine.pla_random(
            walk.rows, order, chance[:most], walk.rule.zero, w, begun, trace, when, ends
        )
        when[t] = c * len(order) + visits - begun[1]
        # The next call uses the random numbers left: the run depends on the seed only, not on the
        # size of calls.
        chance = chance[when[t] :]
        walk.record(w, trace[:t], ends[:c], visits > 0, when[: t + 1])
        if i == len(order):
            walk.confirm()
            i = 0


def update_on_first_mistakes(walk: Walk) -> None:
    """Run PLA, returning to the first row after each update."""
    order = walk.examples.kept
    k = 0
    while walk.goes_on:
        w, trace, visits = walk.allocate(min(walk.epochs_left, walk.updates_left))
        begun = k
        k, t = engine.pla_first(walk.rows, order, walk.rule.zero, w, (k, visits), trace)
        when = NO_ENDS
        if walk.rule.average:
            rows, _ = walk.examples.decode_updates(trace[:t])
            when = np.append(_find_positions(order, rows), k).cumsum() + np.arange(t + 1) - begun
        walk.record(w, trace[:t], np.arange(1, t + 1), k > 0, when)
        if k == len(order):
            walk.confirm(ends_epoch=True)
            k = 0


def _find_positions(order: Order, rows: Ints) -> Ints:
    if isinstance(order, range):
        return rows - order.start if order.start else rows
    places = np.empty(int(order.max(initial=0)) + 1, dtype=order.dtype)
    places[order] = np.arange(len(order), dtype=order.dtype)
    return places[rows]


class Walk:
    """Run of PLA in progress: its weights, its updates, and the remaining budget.

    `record` appends to lists and then assigns `so_far` once, so that Ctrl-C at any moment leaves
    a run that is correct up to its last counted call.
    """

    evaluates = False  # whether every w is evaluated on all rows
    stop: Reason | None = None  # set to end the run after the current call

    def __init__(
        self,
        blocks: Blocks,
        rule: Rule,
        budget: Budget,
        start: Floats | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.blocks, self.rule, self.budget, self.watch = blocks, rule, budget, watch
        self.in_memory = blocks.in_memory
        if not self.in_memory and rule.order != "cycle":
            raise ValueError(
                f"order={rule.order!r} needs all rows in memory; rows of a file are visited in "
                'file order: give order="cycle".'
            )
        first = blocks.first()
        self.unit, self.entries = first.unit, first.entries_per_row
        self.rows = first.rows(rule.eta) if self.in_memory else None
        self.start = np.zeros(first.size) if start is None else start
        if len(self.start) != first.size:  # kernels do not check the bounds of arrays
            raise ValueError(
                f"the initial weights have {plural(len(self.start), 'entry', 'entries')}; "
                f"give {first.size} in total: w0 and one weight per feature, "
                "repeated for each label if there are more than two."
            )
        self.updated: list[Ints] = [np.empty(0, dtype=first.row_type)]
        self.ends: list[Ints] = [NO_ENDS]
        self.visits: list[Ints] = [NO_ENDS]  # visits before each update, if the rule averages
        self.so_far = Progress(self.start / self.unit)
        if not self.in_memory:  # keep no block in memory
            first = replace(first, X=first.X[:0].copy(), y=first.y[:0], weights=None)
        self.examples = first
        self.confirmed = False  # whether an exact check found no mistake
        self.deadline = Deadline.after(budget.seconds)

    @functools.cached_property
    def rng(self) -> np.random.Generator:
        """Random generator, created when first used."""
        return self.rule.rng or np.random.default_rng()

    def permute_rows(self) -> Ints:
        """Draw a random order of the rows whose sample weight is not 0."""
        return self.rng.permutation(self.examples.kept)

    @property
    def epochs_left(self) -> int:
        """Number of epochs left in the budget."""
        return self.budget.epochs - self.so_far.complete_epochs

    @property
    def updates_left(self) -> int:
        """Number of updates left in the budget."""
        most = self.budget.updates
        return 2**62 if most is None else most - self.so_far.updates

    @property
    def goes_on(self) -> bool:
        """Whether mistakes may remain, the budget allows another update, and nothing stops it."""
        if self.confirmed or self.stop or self.epochs_left <= 0 or self.updates_left <= 0:
            return False
        passes = self.so_far.epochs + self.evaluates * self.so_far.updates
        return passes * self.blocks.n * self.entries < clock.CHEAP or not self.deadline.over

    def run_epochs(self, order: Order | None = None, most: int = 1) -> bool:
        """Run up to `most` epochs; return whether the last one made no mistake."""
        updates, whole = self.so_far.updates, self.so_far.complete_epochs
        self.clean = False
        for through in self.blocks.each(functools.partial(self._visit_block, order, most)):
            if not through:
                return False
        if self.so_far.complete_epochs == whole:  # an epoch of many calls is counted here
            self.clean = self.so_far.updates == updates
            self.record(self.so_far.w, NO_ENDS, np.zeros(1, dtype=np.int64), False)
        return self.clean

    def _visit_block(self, order: Order | None, most: int, block: Examples, first: int) -> bool:
        """Run PLA on a block of rows; return False if the budget is used up."""
        rows = block.rows(self.rule.eta) if self.rows is None else self.rows
        if not self.in_memory and block.unit != 1.0:
            raise ValueError(
                "entries are too large or small for training in passes; scale the columns first."
            )
        if block.d != self.examples.d:
            d = self.examples.d
            raise ValueError(
                f"a batch has {block.d} columns, but the first batch had {d}; "
                "give the same columns in every batch."
            )
        if order is None:
            order = range(block.n) if block.weights is None else block.kept
        visits = max(1, WORK_PER_CALL // block.entries_per_row)
        whole = self.in_memory and 0 < len(order) <= visits  # one call visits all rows
        # With few updates left in the budget, most of a longer call would be discarded.
        wanted = min(VISITS_PER_CALL, 8 * self.updates_left)
        epochs = max(1, min(most, wanted // len(order))) if whole else 1
        for k in range(0, len(order), visits):
            if not self.goes_on:
                return False
            part = order[k : k + visits]
            trace = np.empty(epochs * len(part), dtype=block.row_type)
            ends = np.empty(epochs, dtype=np.int64)
            w = self.so_far.w.copy()
            c = engine.pla(rows, part, self.rule.zero, w, trace, ends)
            t = ends.item(c - 1)
            self.clean = t == (ends.item(c - 2) if c > 1 else 0)
            when = NO_ENDS
            if self.rule.average:
                places = _find_positions(part, block.decode_updates(trace[:t])[0])
                epoch = np.repeat(np.arange(c), np.diff(ends[:c], prepend=0))
                when = np.append(places.astype(np.int64) + epoch * len(part), c * len(part))
            ended = ends[:c] if whole else NO_ENDS
            self.record(w, trace[:t], ended, not whole, when, (block, first))
        return self.updates_left > 0

    def allocate(self, updates: int) -> tuple[Floats, Ints, int]:
        """Return a copy of w, an empty trace and the maximum number of visits of a kernel call."""
        visits = max(1, WORK_PER_CALL // self.examples.entries_per_row)
        size = min(visits, updates, 2**16)
        trace = np.empty(size, dtype=self.examples.row_type)
        return self.so_far.w.copy(), trace, visits

    def record(
        self,
        w: Floats,
        updated: Ints,
        ends: Ints,
        within_epoch: bool,
        visits: Ints = NO_ENDS,
        at: tuple[Examples, int] | None = None,
    ) -> None:
        """Add the updates made by a compiled loop to the run, as far as the budget allows.

        Updates beyond the budget are dropped, and w is replayed without them. `updated` holds the
        row of each update, and `ends` the number of updates by the end of each epoch. If the rule
        averages, `visits` holds the number of visits before each update, then that of all visits.
        `at` is the block of the updated rows, with the number of its first row.
        """
        block, first = at or (self.examples, 0)
        old = self.so_far
        t, made = self.accept(updated, block), len(updated)
        if t < made or t == self.updates_left:  # the budget ends within this call
            updated, ends, within_epoch, visits = updated[:t], ends[ends < t], True, visits[: t + 1]
            if t and len(visits):
                visits[t] = visits[t - 1] + 1
        if t < made:
            w = old.w.copy()
            run_replay(block.rows(self.rule.eta), updated, w)
        if not np.isfinite(self._in_data_units(w)).all():
            raise self._make_overflow_error(block, first)
        if self.in_memory:
            updated = updated.copy()  # the call may have used a small part of its array
            self.updated.append(updated)
        else:
            updated = block.decode_updates(updated)[0].astype(np.int64) + first
        if self.rule.average:
            self.visits.append(visits[:-1] + old.visits)
        self.ends.append(ends + old.updates)
        self.so_far = Progress(
            w,
            old.calls + 1,
            old.updates + len(updated),
            old.complete_epochs + len(ends) + within_epoch,
            old.complete_epochs + len(ends),
            updated,
            old.visits + (int(visits[-1]) if len(visits) else 0),
        )
        if self.watch is not None:
            self.watch(self.so_far)

    def _make_overflow_error(self, block: Examples, first: int) -> WeightsOverflowError:
        """Return the error for weights that overflowed, naming the largest entry of the block."""
        flat, weights = block.numbers, block.weights
        at = int(max(flat.argmax(), flat.argmin(), key=lambda i: abs(flat[i])))
        row, column = locate_entry(block.X, at)
        longest = self.rule.eta * (1.0 if weights is None else float(weights.max()))
        scaled = "" if longest == 1 else f", and an update adds up to {longest:.3g} times a row"
        return WeightsOverflowError(
            "the weights overflowed float64. X, ",
            first + row,
            f", column {column} is {flat[at]:.3g}{scaled}; scale the columns first.",
        )

    def accept(self, updated: Ints, block: Examples) -> int:
        """Return how many of the updates made by a compiled loop are within the budget."""
        return min(len(updated), self.updates_left)

    def confirm(self, ends_epoch: bool = False) -> None:
        """Check all examples exactly: end the run, or update w on a mistake that rounding hid."""
        hypothesis, count, some = self.hypothesis(), 0, None
        for block, first, wrong in self.blocks.each(
            lambda block, first: (block, first, hypothesis.mistakes(block))
        ):
            if len(wrong) and some is None:
                some = block, first, wrong
            count += len(wrong)
        if some is None:
            self.confirmed = True
        elif self.updates_left > 0 and self.epochs_left > 0:
            block, first, wrong = some  # the first block with a mistake
            row = wrong[self.rng.integers(count) if self.rule.order == "random" else 0]
            made = hypothesis.encode_update(block, int(row))
            trace, w = np.array([made], dtype=block.row_type), self.so_far.w.copy()
            run_replay(block.rows(self.rule.eta), trace, w)
            ends = np.ones(int(ends_epoch), dtype=np.int64)
            self.record(w, trace, ends, not ends_epoch, np.arange(2), (block, first))

    def run(self, reason: Reason | None = None, look: bool = True) -> Run:
        """Return the result of the run; count the mistakes of its weights if `look` is true.

        After Ctrl-C, mistakes in a file are not counted, because this takes a pass.
        """
        so_far, mistakes, trace = self.so_far, 0 if self.confirmed else None, None
        if mistakes is None and look and (self.in_memory or reason is None):
            mistakes = count_misclassified(self.blocks, self.hypothesis())
        if self.in_memory:
            made = np.concatenate(self.updated[: so_far.calls + 1])
            ends = np.concatenate(self.ends[: so_far.calls + 1])
            rows, rivals = self.examples.decode_updates(made)
            trace = Trace(rows, ends, Origin(self.examples, self.start, self.rule.eta), rivals)
        why = reason or self.reason(mistakes)
        counts = so_far.updates, so_far.epochs, self.blocks.n
        mean = self._mean() if self.in_memory and self.rule.average else None
        return Run(self.hypothesis(), trace, *counts, mistakes, why, mean=mean)

    def _mean(self) -> Mean:
        """Return the mean of w over all visits to examples.

        An update after v of V visits is not yet part of the first v of the V vectors w, so the
        mean is the last w minus v/V of each update.
        """
        so_far, late = self.so_far, np.zeros_like(self.start)
        if so_far.visits:
            made = np.concatenate(self.updated[: so_far.calls + 1])
            missed = np.concatenate(self.visits[: so_far.calls + 1])
            if made.max(initial=0) <= max(self.examples.numbers.size, len(made)):
                missed = np.bincount(made, missed)  # add a row of many updates only once
                made = np.flatnonzero(missed).astype(made.dtype)
                missed = missed[made]
            run_lag(self.rows, made, missed / so_far.visits, late)
        return Mean(self.hypothesis(self._in_data_units(so_far.w - late)), so_far.visits)

    def reason(self, mistakes: float | None) -> Reason:
        """Return why the run has stopped, given the number of mistakes left."""
        if mistakes == 0:
            return "no mistakes"
        if self.epochs_left <= 0:
            return "max_iter"
        return "max_updates" if self.updates_left <= 0 else "time_limit"

    def hypothesis(self, w: Floats | None = None) -> Hypothesis:
        """Return the linear classifier with the weights w (default: the current weights)."""
        w = self._in_data_units(self.so_far.w) if w is None else w
        return Hypothesis.of(self.examples.shaped(w), self.examples.x0, self.rule.zero)

    def _in_data_units(self, w: Floats) -> Floats:
        if self.unit == 1.0:
            return w
        with np.errstate(over="ignore"):  # overflowed weights misclassify every row
            return w * self.unit


WALKS: dict[str, Callable[[Walk], None]] = {
    "cycle": visit_all_rows,
    "random-cycle": visit_all_rows,
    "shuffle": visit_all_rows,
    "first": update_on_first_mistakes,
    "random": update_on_random_mistakes,
}
ORDERS = tuple(WALKS)
FIXED = ("cycle", "first")  # orders without randomness
CYCLES = ("cycle", "random-cycle", "shuffle")  # orders that visit each row once per epoch
