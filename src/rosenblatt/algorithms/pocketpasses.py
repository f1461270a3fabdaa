"""The pocket over data larger than memory: corrections in file order, judged many at a time.

Corrections do not depend on the pocket, so weights are gathered as they are passed and judged
together in one pass over all rows. The pocket is that of `order="cycle"` on all rows at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import engine
from rosenblatt.algorithms.judge import Judge
from rosenblatt.algorithms.passes import Passed, Passes, Record
from rosenblatt.algorithms.pocket import Pocket
from rosenblatt.algorithms.run import Budget, Reason, Rule
from rosenblatt.blocks import Batches, InOrder
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis


@dataclass(frozen=True, eq=False)
class PocketPassed(Passed):
    """What came of the pocket over batches: `hypothesis` is the pocket's, `last` is w(T)."""

    last: Hypothesis
    pocket: Pocket


def pocket_passes(
    batches: Batches,
    rule: Rule = Rule(),
    budget: Budget = Budget(2**62, 1000),
    record: Record | None = None,
) -> PocketPassed:
    """Correct mistakes in file order until the budget ends, keeping the best weights met.

    Parameters
    ----------
    batches : callable
        Gives the same batches each time it is called, all with the same labels and columns.
    rule : Rule
        The meaning of sign(0) and eta; the order is the naive cycle.
    budget : Budget
        The most cycles, corrections and seconds; what was passed is judged in any case.
    record : callable, optional
        Takes the numbers of the rows corrected, some at a time.

    Examples
    --------
    >>> xor = [((0, 0), 0), ((0, 1), 1), ((1, 0), 1), ((1, 1), 0)]
    >>> rows = [Examples.from_arrays([x], [y], labels=np.array([0, 1])) for x, y in xor]
    >>> done = pocket_passes(lambda: rows, budget=Budget(1000, 50))
    >>> done.pocket.history[0], done.mistakes, done.reason
    ((0, 4), 2, 'max_updates')
    """
    walk = _PocketPasses(batches, rule, budget, record)
    interrupted = False
    try:
        while walk.goes_on:
            walk.cycle()
        walk.judge()
    except KeyboardInterrupt:
        interrupted = True
        if walk.pocket is None:
            raise
    assert walk.pocket is not None
    best = Hypothesis(walk.pocket.w, walk.x0, rule.zero)
    mistakes = int(walk.pocket.mistakes)
    reason: Reason = "interrupted" if interrupted else walk.reason(mistakes)
    return PocketPassed(
        best,
        walk.corrections,
        walk.cycles,
        walk.rows,
        mistakes,
        reason,
        walk.hypothesis(),
        walk.pocket,
    )


class _PocketPasses(Passes):
    """PLA over batches that keeps the weights it passes until they are judged."""

    def __init__(self, batches: Batches, rule: Rule, budget: Budget, record: Record | None) -> None:
        super().__init__(batches, rule, budget, record)
        self.pocket: Pocket | None = None
        self.kept: list[NDArray[np.float64]] = []
        self.first = 0  # the t of the first of them
        self.judge_of = Judge(InOrder(self._counted), rule.zero, engine.cores())

    def _counted(self) -> Iterator[Examples]:
        rows = 0
        for block in self.batches():
            rows += block.n
            yield block
        self.rows = rows

    @property
    def room(self) -> int:
        """How many corrections to make before they are judged."""
        most = self.judge_of.batch(max(len(self.w), 1))
        return min(self.left, most - sum(map(len, self.kept)) % most)

    def take(
        self, w: NDArray[np.float64], corrected: NDArray[Any], examples: Examples, done: int
    ) -> None:
        """Keep every w on the way; judge them once there are enough."""
        if not self.kept and self.pocket is None:
            self.kept.append(self.w[None, :].copy())
        W = np.empty((len(corrected), len(w)))
        engine.keep(examples.rows(self.rule.eta), corrected, self.w.copy(), W)
        super().take(w, corrected, examples, done)
        self.kept.append(W)
        if sum(map(len, self.kept)) >= self.judge_of.batch(len(w)):
            self.judge()

    def judge(self) -> None:
        """Judge what was kept, in one pass over all rows."""
        if len(self.w) == 0:
            self.begin(next(iter(self.batches())))
        if self.pocket is None and not self.kept:
            self.kept.append(self.w[None, :].copy())
        if not self.kept:
            return
        W = np.concatenate(self.kept)
        history = () if self.pocket is None else self.pocket.history
        best = math.inf if self.pocket is None else self.pocket.mistakes
        for b, count in self.judge_of.improvements(W, best):
            best, history = count, (*history, (self.first + b, count))
            self.pocket = Pocket(W[b].copy(), history)
        self.first += len(W)
        self.work += W.size * self.rows
        self.kept.clear()
        self.confirmed = self.confirmed or best == 0
