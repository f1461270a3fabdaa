"""The perceptron learning algorithm: correct mistakes, cycle after cycle, until one has none.

A `Walk` is a run under way over blocks of examples: in memory there is one block, and a file
has many. It makes calls of bounded work, and keeps what each did.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

import rosenblatt.clock as clock
import rosenblatt.engine as engine
from rosenblatt.blocks import Blocks, Work, first_of
from rosenblatt.clock import Deadline
from rosenblatt.errors import RowError
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.replay import run_lag, run_replay
from rosenblatt.tables import place
from rosenblatt.trace import Origin, Trace
from rosenblatt.words import counted

T = TypeVar("T")
Floats = NDArray[np.float64]
Ints = NDArray[Any]
Order = range | Ints

# A call of a kernel is kept to about this many multiplications, a few hundredths of a second, so
# that Ctrl-C is answered and progress can be shown; few rows are visited many times in one.
WORK_PER_CALL = 2**26
VISITS_PER_CALL = 2**20
FIRST_CYCLES = 16  # in the first call
CHANCES = 2**11  # random numbers are drawn at least so many at a time
NO_ENDS = np.empty(0, dtype=np.int64)

Reason = Literal[
    "no mistakes", "max_iter", "max_updates", "time_limit", "interrupted", "end of stream"
]


@dataclass(frozen=True)
class Rule:
    """How examples are visited, what sign(0) means, how long a correction is; chance; a mean?"""

    order: str = "cycle"
    zero: int = 0
    eta: float = 1.0
    rng: np.random.Generator | None = None
    average: bool = False  # whether the mean of w over all visits is wanted, of rows in memory


@dataclass(frozen=True)
class Budget:
    """When to give up: after so many cycles begun, so many corrections or so many seconds.

    Seconds end what takes long: work that a machine does in no time is done in any case.
    """

    cycles: int = 1000
    corrections: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean of the weights over so many visits, each time after the visit."""

    hypothesis: Hypothesis
    visits: int

    def after(self, before: Mean | None) -> Mean:
        """The mean over these visits and others before them."""
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
    """What happened: the last hypothesis, the corrections, and why it stopped."""

    hypothesis: Hypothesis
    record: Trace | None  # every correction; of rows in memory only
    corrections: int
    cycles: int  # begun
    rows: int
    mistakes: int | None  # left; None where a person did not wait for the count
    reason: Reason
    mean: Mean | None = field(default=None, kw_only=True)  # where it was wanted

    @property
    def separated(self) -> bool:
        """Whether a whole look at the examples found no mistake."""
        return self.mistakes == 0

    @property
    def trace(self) -> Trace:
        """Every correction of a run in memory."""
        if self.record is None:
            raise ValueError("corrections by rows of a file are not recorded; watch the run.")
        return self.record


class WeightsOverflowError(RowError):
    """The weights grew past the largest float, or met something that is no number."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; `run` is what it had reached."""

    def __init__(self, run: Run) -> None:
        left = "" if run.mistakes is None else f"; {counted(run.mistakes, 'mistake')} left"
        super().__init__(f"interrupted after {counted(run.corrections, 'correction')}{left}")
        self.run = run


class Progress(NamedTuple):
    """A run so far; w is in the examples' unit and has its w0 slot."""

    w: Floats
    calls: int = 0
    corrections: int = 0
    whole_cycles: int = 0
    within_cycle: bool = False
    corrected: Ints = NO_ENDS  # the rows of the last call
    visits: int = 0  # counted where their mean is wanted

    @property
    def cycles(self) -> int:
        """The number of cycles begun."""
        return self.whole_cycles + self.within_cycle


class Call(NamedTuple):
    """What one call of a kernel did."""

    w: Floats
    corrected: Ints  # rows
    ends: Ints  # how many of them had been corrected when each cycle ended
    within_cycle: bool
    # The visits of this call before each correction, and last before its end; not always wanted.
    visits: Ints = NO_ENDS

    def cut(self, t: int) -> Call:
        """Its first t corrections, whose w is still to be made."""
        visits = self.visits[: t + 1]
        if t and len(visits):
            visits = np.append(visits[:t], visits[t - 1] + 1)
        return Call(self.w, self.corrected[:t], self.ends[self.ends < t], True, visits)


Watch = Callable[[Progress], None]


def pla(
    blocks: Blocks,
    rule: Rule = Rule(),
    budget: Budget = Budget(),
    start: Floats | None = None,
    watch: Watch | None = None,
) -> Run:
    """Learn from examples until a whole cycle has no mistake or the budget ends.

    Parameters
    ----------
    blocks : Examples or other Blocks
        The rows and their answers; those of many blocks are visited in their order.
    rule : Rule
        The order of visits, the meaning of sign(0), eta, the source of chance.
    budget : Budget
        The most cycles, corrections and seconds.
    start : array, optional
        w(0) with its w0 slot; zeros if not given.
    watch : callable, optional
        Called with the progress after each call of a kernel.

    Examples
    --------
    >>> run = pla(Examples.from_arrays([[2.0], [-1.0]], ["yes", "no"]))
    >>> run.reason, run.trace.examples.tolist()
    ('no mistakes', [0])
    >>> from rosenblatt.blocks import InOrder
    >>> halves = [Examples.from_arrays([[x]], [x > 0], labels=np.array([False, True]))
    ...           for x in (2.0, -1.0)]
    >>> pla(InOrder(lambda: halves)).corrections
    1
    """

    def go(blocks: Blocks) -> Run:
        walk = Walk(blocks, rule, budget, start, watch)
        try:
            WALKS[rule.order](walk)
            return walk.run()
        except KeyboardInterrupt:
            raise Interrupted(walk.run("interrupted")) from None

    return looked_into(blocks, go)


def looked_into(blocks: Blocks, work: Callable[[Any], T]) -> T:
    """Do work on examples that nobody has looked at; again in their unit if weights overflow.

    A cycle comes upon a NaN or infinity by itself: a score that is no number is a mistake, and w
    then is none either. What it does not meet, the exact look at the end does. That saves a look.
    """
    try:
        return work(blocks)
    except WeightsOverflowError:
        if not isinstance(blocks, Examples):
            raise
        looked_at = blocks.look()
        if looked_at.unit == 1.0:
            raise
    return work(looked_at)


def online(examples: Examples, rule: Rule, start: NDArray[np.float64] | None = None) -> Run:
    """Pass over a block of a stream once, in file order, correcting each mistake as it is met.

    The `mistakes` of the run are those made as it went, each before its correction.

    Examples
    --------
    >>> run = online(Examples.from_arrays([[2.0], [-1.0], [3.0]], [1, 0, 1]), Rule())
    >>> run.mistakes, run.trace.examples.tolist()
    (1, [0])
    """
    walk = Walk(examples, rule, Budget(cycles=1), start)
    try:
        walk.cycle()
    except KeyboardInterrupt:
        raise Interrupted(walk.run("interrupted")) from None
    run = walk.run("end of stream", look=False)
    return replace(run, mistakes=run.corrections)


def naive_cycle(walk: Walk) -> None:
    """Visit in file order, cycle after cycle; go on with the next example after a correction."""
    _cycle(walk, None)


def random_cycle(walk: Walk) -> None:
    """Visit in one random order, drawn once."""
    _cycle(walk, walk.permutation())


def _cycle(walk: Walk, order: Order | None) -> None:
    while walk.goes_on:
        # As many cycles in a call as there were before it: a short run needs little room.
        most = max(FIRST_CYCLES, walk.so_far.whole_cycles)
        if walk.cycle(order, min(most, walk.cycles_left)):
            walk.confirm()


def shuffled_cycles(walk: Walk) -> None:
    """Visit in a new random order each cycle."""
    while walk.goes_on:
        if walk.cycle(walk.permutation()):
            walk.confirm()


def random_mistakes(walk: Walk) -> None:
    """Correct a random mistake each time, every mistake as likely as any other.

    The first mistake met in a random order is such a choice. The order is shuffled as it is
    visited, so that finding a mistake costs no more than the visits it takes; visits are
    counted in cycles of N.
    """
    order = walk.examples.kept.copy()
    chance, i, visits = np.empty(0), 0, 0
    while walk.goes_on:
        w, trace, most = walk.room(walk.corrections_left)
        most = min(most, walk.cycles_left * len(order) - visits)
        if len(chance) == 0:
            chance = walk.rng.random(max(len(order), CHANCES))
        ends = np.empty(min(most, len(chance)) // len(order) + 1, dtype=np.int64)
        when, begun = np.empty(len(trace) + 1, dtype=np.int64), (i, visits)
        i, visits, t, c = engine.pla_random(
            walk.rows, order, chance[:most], walk.rule.zero, w, begun, trace, when, ends
        )
        when[t] = c * len(order) + visits - begun[1]
        # What was not used comes next: a seed is one run, however many visits a call makes.
        chance = chance[when[t] :]
        walk.record(Call(w, trace[:t], ends[:c], visits > 0, when[: t + 1]))
        if i == len(order):
            walk.confirm()
            i = 0


def first_mistakes(walk: Walk) -> None:
    """Start over from the first example after each correction, as the Octave program does."""
    order = walk.examples.kept
    k = 0
    while walk.goes_on:
        w, trace, visits = walk.room(min(walk.cycles_left, walk.corrections_left))
        begun = k
        k, t = engine.pla_first(walk.rows, order, walk.rule.zero, w, (k, visits), trace)
        when = NO_ENDS
        if walk.rule.average:
            rows, _ = walk.examples.corrected(trace[:t])
            when = np.append(_places(order, rows), k).cumsum() + np.arange(t + 1) - begun
        walk.record(Call(w, trace[:t], np.arange(1, t + 1), k > 0, when))
        if k == len(order):
            walk.confirm(ends_cycle=True)
            k = 0


def _visits(order: Order, corrected: Ints, ends: Ints) -> Ints:
    """The visits before each correction, and in all, of cycles that ended after so many of them."""
    visits = np.empty(len(corrected) + 1, dtype=np.int64)
    begun = np.arange(len(ends)) * len(order)
    np.add(_places(order, corrected), np.repeat(begun, np.diff(ends, prepend=0)), out=visits[:-1])
    visits[-1] = len(ends) * len(order)
    return visits


def _places(order: Order, rows: Ints) -> Ints:
    """Where in an order rows are visited."""
    if isinstance(order, range):
        return rows - order.start if order.start else rows
    places = np.empty(int(order.max(initial=0)) + 1, dtype=order.dtype)
    places[order] = np.arange(len(order), dtype=order.dtype)
    return places[rows]


class Walk:
    """The state of a run under way.

    `record` adds to the lists and then counts it in one assignment of `so_far`, so that Ctrl-C at
    any moment leaves a run that is true up to its last counted call.
    """

    def __init__(
        self,
        blocks: Blocks,
        rule: Rule,
        budget: Budget,
        start: Floats | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.blocks, self.rule, self.budget, self.watch = blocks, rule, budget, watch
        self.in_memory = isinstance(blocks, Examples)
        if not self.in_memory and rule.order != "cycle":
            raise ValueError(
                f"order is {rule.order!r}, which needs all rows in memory; rows of a file are "
                'visited as they come, order "cycle".'
            )
        first = blocks if isinstance(blocks, Examples) else first_of(blocks)
        self.d, self.x0, self.unit = first.d, first.x0, first.unit
        none = first if self.in_memory else replace(first, X=first.X[:0].copy(), y=first.y[:0])
        self.shaped = none.shaped  # which of a block in a file keeps no rows
        self.rows = first.rows(rule.eta) if self.in_memory else None
        self.start = np.zeros(first.size) if start is None else start
        if len(self.start) != first.size:  # kernels do not look where an array ends
            raise ValueError(
                f"{counted(len(self.start) - 1, 'weight')} cannot fit {counted(self.d, 'feature')}."
            )
        self.corrected: list[Ints] = [np.empty(0, dtype=first.row_type)]
        self.ends: list[Ints] = [NO_ENDS]
        self.visits: list[Ints] = [NO_ENDS]  # before each correction, where their mean is wanted
        self.so_far = Progress(self.start / self.unit)
        self.n = first.n if self.in_memory else 0  # of many blocks, known after the first pass
        self.entries = first.entries_per_row
        self.confirmed = False
        self.deadline = Deadline.after(budget.seconds)

    @property
    def examples(self) -> Examples:
        """The examples of a walk in memory."""
        assert isinstance(self.blocks, Examples)
        return self.blocks

    @functools.cached_property
    def rng(self) -> np.random.Generator:
        """The source of chance; made only if it is asked for."""
        return self.rule.rng or np.random.default_rng()

    def permutation(self) -> Ints:
        """The rows in a random order, each once."""
        return self.rng.permutation(self.examples.kept)

    @property
    def cycles_left(self) -> int:
        """How many more cycles may end."""
        return self.budget.cycles - self.so_far.whole_cycles

    @property
    def corrections_left(self) -> int:
        """How many more corrections may be made."""
        most = self.budget.corrections
        return 2**62 if most is None else most - self.so_far.corrections

    @property
    def goes_on(self) -> bool:
        """Whether there may be a mistake left and there is budget to correct it."""
        left = not self.confirmed and self.cycles_left > 0 and self.corrections_left > 0
        return left and (self.work < clock.CHEAP or not self.deadline.over)

    @property
    def work(self) -> int:
        """About how many multiplications were made so far."""
        return self.so_far.cycles * self.n * self.entries

    def each(self, work: Work[T]) -> Iterator[T]:
        """One pass over the blocks, whose rows are counted on the way."""

        def counted_work(block: Examples, first: int) -> T:
            self.n = max(self.n, first + block.n)
            return work(block, first)

        return self.blocks.each(work if self.in_memory else counted_work)

    def cycle(self, order: Order | None = None, most: int = 1) -> bool:
        """Visit every row once, and a few rows up to `most` times; true if a cycle was clean."""
        corrections, whole = self.so_far.corrections, self.so_far.whole_cycles
        self.clean = False
        for through in self.each(functools.partial(self._visit, order, most)):
            if not through:
                return False
        if self.so_far.whole_cycles == whole:  # it took many calls
            self.clean = self.so_far.corrections == corrections
            self._count(Call(self.so_far.w, NO_ENDS, np.zeros(1, dtype=np.int64), False))
        return self.clean

    def _visit(self, order: Order | None, most: int, block: Examples, first: int) -> bool:
        """Go through the rows of a block, some at a time; false where the budget ended before."""
        rows = block.rows(self.rule.eta) if self.rows is None else self.rows
        if not self.in_memory and block.unit != 1.0:
            raise ValueError("the numbers are extreme; scale the columns to learn in batches.")
        if block.d != self.d:
            raise ValueError(f"a batch has {block.d} columns where the first had {self.d}.")
        order = block.in_order if order is None else order
        visits = max(1, WORK_PER_CALL // block.entries_per_row)
        whole = self.in_memory and 0 < len(order) <= visits  # a call goes through all rows
        # With few corrections left, most of what comes after them would be cut off.
        wanted = min(VISITS_PER_CALL, 8 * self.corrections_left)
        cycles = max(1, min(most, wanted // len(order))) if whole else 1
        for k in range(0, len(order), visits):
            if not self.goes_on:
                return False
            part = order[k : k + visits]
            trace = np.empty(cycles * len(part), dtype=block.row_type)
            ends = np.empty(cycles, dtype=np.int64)
            w = self.so_far.w.copy()
            c = engine.pla(rows, part, self.rule.zero, w, trace, ends)
            t = ends.item(c - 1)
            self.clean = t == (ends.item(c - 2) if c > 1 else 0)
            when = NO_ENDS
            if self.rule.average:
                when = _visits(part, block.corrected(trace[:t])[0], ends[:c])
            call = Call(w, trace[:t], ends[:c] if whole else NO_ENDS, not whole, when)
            self.record(call, block, first)
        return self.corrections_left > 0

    def room(self, corrections: int) -> tuple[Floats, Ints, int]:
        """A copy of w to work on, space for the corrections of a call, and its visits."""
        visits = max(1, WORK_PER_CALL // self.examples.entries_per_row)
        size = min(visits, corrections, 2**16)
        trace = np.empty(size, dtype=self.examples.row_type)
        return self.so_far.w.copy(), trace, visits

    def record(self, call: Call, block: Examples | None = None, first: int = 0) -> None:
        """Keep what a call did on a block: corrections by its rows, and when cycles ended.

        A run is its mistakes: past the budget they are cut off, and w is made again.
        """
        block = self.examples if block is None else block
        made = len(call.corrected)
        t = self.accepted(call.corrected, block)
        if t < made or t == self.corrections_left:
            call = call.cut(t)
        if t < made:
            call = call._replace(w=self.so_far.w.copy())
            run_replay(block.rows(self.rule.eta), call.corrected, call.w)
        if not np.isfinite(self._in_data_units(call.w)).all():
            raise _overflow(block, first, self.rule.eta)
        # A call may use a small part of the space it was given: keep only that part.
        rows = call.corrected.copy()
        if not self.in_memory:
            rows = block.corrected(rows)[0].astype(np.int64) + first
        self._count(call._replace(corrected=rows))

    def _count(self, call: Call) -> None:
        old = self.so_far
        if self.in_memory:
            self.corrected.append(call.corrected)
        if self.rule.average:
            self.visits.append(call.visits[:-1] + old.visits)
        self.ends.append(call.ends + old.corrections)
        self.so_far = Progress(
            call.w,
            old.calls + 1,
            old.corrections + len(call.corrected),
            old.whole_cycles + len(call.ends),
            call.within_cycle,
            call.corrected,
            old.visits + (int(call.visits[-1]) if len(call.visits) else 0),
        )
        if self.watch is not None:
            self.watch(self.so_far)

    def accepted(self, corrected: Ints, block: Examples) -> int:
        """How many of the corrections of a call are within the budget."""
        return min(len(corrected), self.corrections_left)

    def look(self) -> tuple[int, tuple[Examples, int, Ints] | None]:
        """The mistakes left, exactly: how many, and the first block with some, and its rows."""
        hypothesis, count, some = self.hypothesis(), 0, None
        for block, first, wrong in self.each(
            lambda block, first: (block, first, hypothesis.mistakes(block))
        ):
            if len(wrong) and some is None:
                some = block, first, wrong
            count += len(wrong)
        return count, some

    def confirm(self, ends_cycle: bool = False) -> None:
        """Look at all examples, exactly: end the walk, or correct a mistake it missed."""
        count, some = self.look()
        if some is None:
            self.confirmed = True
        elif self.corrections_left > 0 and self.cycles_left > 0:
            block, first, wrong = some
            chance = self.rule.order == "random"
            row = wrong[self.rng.integers(count) if chance else 0]
            made = self.hypothesis().correction(block, int(row))
            trace, w = np.array([made], dtype=block.row_type), self.so_far.w.copy()
            run_replay(block.rows(self.rule.eta), trace, w)
            ends = np.ones(int(ends_cycle), dtype=np.int64)
            self.record(Call(w, trace, ends, not ends_cycle, np.arange(2)), block, first)

    def run(self, reason: Reason | None = None, look: bool = True) -> Run:
        """What happened, once the walk is over, after a last look for mistakes.

        After Ctrl-C nobody waits for another pass over a file.
        """
        so_far, mistakes, trace = self.so_far, 0 if self.confirmed else None, None
        if mistakes is None and look and (self.in_memory or reason is None):
            mistakes = self.look()[0]
        if self.in_memory:
            made = np.concatenate(self.corrected[: so_far.calls + 1])
            ends = np.concatenate(self.ends[: so_far.calls + 1])
            rows, rivals = self.examples.corrected(made)
            trace = Trace(rows, ends, Origin(self.examples, self.start, self.rule.eta), rivals)
        why = reason or self.reason(mistakes)
        counts = so_far.corrections, so_far.cycles, self.n
        mean = self._mean() if self.in_memory and self.rule.average else None
        return Run(self.hypothesis(), trace, *counts, mistakes, why, mean=mean)

    def _mean(self) -> Mean:
        """The mean of w over all visits: a correction after v of V is missing in v/V of it."""
        so_far, late = self.so_far, np.zeros_like(self.start)
        if so_far.visits:
            made = np.concatenate(self.corrected[: so_far.calls + 1])
            missed = np.concatenate(self.visits[: so_far.calls + 1])
            if made.max(initial=0) <= max(self.examples.numbers.size, len(made)):
                missed = np.bincount(made, missed)  # what was corrected often is added once
                made = np.flatnonzero(missed).astype(made.dtype)
                missed = missed[made]
            run_lag(self.rows, made, missed / so_far.visits, late)
        return Mean(self.hypothesis(self._in_data_units(so_far.w - late)), so_far.visits)

    def reason(self, mistakes: float | None) -> Reason:
        """Why a walk with so many mistakes left has stopped."""
        if mistakes == 0:
            return "no mistakes"
        if self.cycles_left <= 0:
            return "max_iter"
        return "max_updates" if self.corrections_left <= 0 else "time_limit"

    def hypothesis(self, w: Floats | None = None) -> Hypothesis:
        """The weights so far, or others in the unit of the data."""
        w = self._in_data_units(self.so_far.w) if w is None else w
        return Hypothesis.of(self.shaped(w), self.x0, self.rule.zero)

    def _in_data_units(self, w: Floats) -> Floats:
        if self.unit == 1.0:
            return w
        with np.errstate(over="ignore"):
            return w * self.unit


def _overflow(block: Examples, first: int, eta: float) -> WeightsOverflowError:
    flat = block.numbers.reshape(-1)
    at = int(max(flat.argmax(), flat.argmin(), key=lambda i: abs(flat[i])))
    row, column = place(block.X, at)
    longest = eta * (1.0 if block.weights is None else float(block.weights.max()))
    steps = "" if longest == 1 else f", and a correction adds up to {longest:.3g} times a row"
    return WeightsOverflowError(
        "learning overflowed: the weights grew past the largest float. X, ",
        first + row,
        f", column {column} is {flat[at]:.3g}{steps}; scale the columns first.",
    )


WALKS: dict[str, Callable[[Walk], None]] = {
    "cycle": naive_cycle,
    "random-cycle": random_cycle,
    "shuffle": shuffled_cycles,
    "first": first_mistakes,
    "random": random_mistakes,
}
ORDERS = tuple(WALKS)
FIXED = ("cycle", "first")  # without chance
CYCLES = ("cycle", "random-cycle", "shuffle")  # every row once before any a second time
