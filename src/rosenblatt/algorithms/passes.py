"""PLA over data larger than memory: the naive cycle, one batch of rows at a time.

The corrections are those of `order="cycle"` on all rows at once: the same kernel visits the
same rows in the same order, and a clean cycle is confirmed in exact arithmetic before it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import engine, orders
from rosenblatt.algorithms.run import Budget, Reason, Rule
from rosenblatt.blocks import Batches
from rosenblatt.clock import CHEAP, Deadline
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis

Record = Callable[[NDArray[Any]], None]


@dataclass(frozen=True, eq=False)
class Passed:
    """What came of PLA over batches.

    Parameters
    ----------
    hypothesis : Hypothesis
        The last weights.
    corrections : int
        How many were made.
    cycles : int
        Cycles begun.
    rows : int
        The number of examples.
    mistakes : int, optional
        Those left, counted in exact arithmetic; not known after Ctrl-C.
    reason : str
        Why it stopped.
    """

    hypothesis: Hypothesis
    corrections: int
    cycles: int
    rows: int
    mistakes: int | None
    reason: Reason


def passes(
    batches: Batches,
    rule: Rule = Rule(),
    budget: Budget = Budget(),
    record: Record | None = None,
) -> Passed:
    """Learn from batches of examples, again and again, until a whole cycle has no mistake.

    Parameters
    ----------
    batches : callable
        Gives the same batches each time it is called, all with the same labels and columns.
    rule : Rule
        The meaning of sign(0) and eta; the order is the naive cycle.
    budget : Budget
        The most cycles, corrections and seconds.
    record : callable, optional
        Takes the numbers of the rows corrected, some at a time.

    Examples
    --------
    >>> halves = [Examples.from_arrays([[x]], [x > 0], labels=np.array([False, True]))
    ...           for x in (2.0, -1.0)]
    >>> passes(lambda: halves).corrections
    1
    """
    walk = Passes(batches, rule, budget, record)
    mistakes = walk.through()
    return Passed(
        walk.hypothesis(), walk.corrections, walk.cycles, walk.rows, mistakes, walk.reason(mistakes)
    )


class Passes:
    """The state of PLA between batches: w, and how many examples in a row were right."""

    def __init__(self, batches: Batches, rule: Rule, budget: Budget, record: Record | None) -> None:
        self.batches, self.rule, self.budget, self.record = batches, rule, budget, record
        self.w: NDArray[np.float64] = np.empty(0)
        self.x0 = 1.0
        self.corrections = self.cycles = self.whole = self.clean = 0
        self.rows = 0  # known after the first cycle
        self.work = 0  # multiplications so far, about
        self.confirmed = False
        self.deadline = Deadline.after(budget.seconds)

    def through(self) -> int | None:
        """Go through the batches until the end; the mistakes left, or None after Ctrl-C."""
        try:
            while self.goes_on:
                self.cycle()
            return 0 if self.confirmed else self.look()[0]
        except KeyboardInterrupt:
            if len(self.w) == 0:
                raise
            return None

    @property
    def goes_on(self) -> bool:
        """Whether there may be a mistake left and budget to correct it."""
        return not self.confirmed and self.cycles < self.budget.cycles and self.left > 0

    @property
    def left(self) -> int:
        """How many more corrections may be made; none once the time is over."""
        if self.work >= CHEAP and self.deadline.over:
            return 0
        most = self.budget.corrections
        return 2**62 if most is None else most - self.corrections

    def cycle(self) -> None:
        """Visit every row once, in order, ending early where a whole cycle was clean."""
        self.cycles += 1
        done = 0
        for examples in self.batches():
            self.begin(examples)
            if self.left <= 0 or not self._visit(examples, done):
                return
            done += examples.n
        if done == 0:
            raise ValueError("there are no rows to learn from.")
        self.rows = done
        self.whole += 1
        if self.clean >= self.rows:
            self._confirm()

    def look(self) -> tuple[int, tuple[Examples, int, int] | None]:
        """The mistakes left, and the first of them: its batch, its row there, its number."""
        count, first, done = 0, None, 0
        for examples in self.batches():
            self.begin(examples)
            wrong = self.hypothesis().mistakes(examples)
            if len(wrong) and first is None:
                first = (examples, int(wrong[0]), done + int(wrong[0]))
            count += len(wrong)
            done += examples.n
        self.rows = done
        return count, first

    def hypothesis(self) -> Hypothesis:
        """The weights so far."""
        return Hypothesis(self.w, self.x0, self.rule.zero)

    def reason(self, mistakes: int | None) -> Reason:
        """Why it stopped."""
        if mistakes is None:
            return "interrupted"
        if mistakes == 0:
            return "no mistakes"
        if self.whole >= self.budget.cycles:
            return "max_iter"
        most = self.budget.corrections
        return "time_limit" if most is None or self.corrections < most else "max_updates"

    def begin(self, examples: Examples) -> None:
        """Make room for the weights of the first batch; refuse a batch that does not fit."""
        if examples.unit != 1.0:
            raise ValueError("the numbers are extreme; scale the columns to learn in batches.")
        if len(self.w) == 0:
            self.w, self.x0 = np.zeros(examples.d + 1), examples.x0
        if len(self.w) != examples.d + 1:
            raise ValueError(
                f"a batch has {examples.d} columns where the first had {len(self.w) - 1}."
            )

    def _visit(self, examples: Examples, done: int) -> bool:
        """Go through the rows of a batch to its end, or until as many as all were right."""
        rows, order = examples.rows(self.rule.eta), examples.in_order
        N = orders.visits(order)
        k = 0
        while k < N and self.left > 0 and not self.confirmed:
            visits = N - k
            if self.rows:
                visits = min(visits, self.rows - self.clean)
            part = orders.part(order, k, visits)
            trace = np.empty(min(visits, self.room), dtype=examples.row_type)
            ends = np.empty(1, dtype=np.int64)
            w = self.w.copy()
            at, _, t, ended = engine.pla(rows, part, self.rule.zero, w, (0, 0, visits), trace, ends)
            self.take(w, trace[:t], examples, done)
            went = visits if ended else int(at)
            last = orders.position(part, int(trace[t - 1])) if t else -1
            self.clean = went - 1 - last if t else self.clean + went
            k += went
            self.work += went * examples.entries_per_row
            if self.rows and self.clean >= self.rows:
                self._confirm()
        return k == N and not self.confirmed

    @property
    def room(self) -> int:
        """How many corrections to make before they are taken note of."""
        return self.left

    def take(
        self, w: NDArray[np.float64], corrected: NDArray[Any], examples: Examples, done: int
    ) -> None:
        """Take note of corrections by rows of a batch that begins after so many rows."""
        if not np.isfinite(w).all():
            raise ValueError("learning overflowed; scale the columns first.")
        self.w = w
        self.corrections += len(corrected)
        if self.record is not None and len(corrected):
            self.record(corrected.astype(np.int64) + done)

    def _confirm(self) -> None:
        """Look at all rows, exactly: end, or correct the first mistake that was missed."""
        _, first = self.look()
        self.clean = 0
        if first is None:
            self.confirmed = True
        elif self.left > 0:
            examples, row, number = first
            w = self.w.copy()
            engine.replay(examples.rows(self.rule.eta), np.array([row], dtype=np.uint32), w)
            self.take(w, np.array([row], dtype=np.uint32), examples, number - row)
