"""How few mistakes any line must make, where rows are many: disjoint blocking rows add up.

Rows that no w can all answer rightly cost every w at least one mistake. `covers.py` weighs sets
that overlap and branches on their rows; here a set takes all its rows, and every step is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rosenblatt.clock import NEVER, Deadline, OutOfTimeError
from rosenblatt.costs import Costs
from rosenblatt.evidence.decide import part_or_weights
from rosenblatt.evidence.integers import (
    contradictions,
    dimension_of,
    merged,
    row_codes,
    soon_done,
)
from rosenblatt.evidence.parts import Part
from rosenblatt.evidence.proof import Proof
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

NEAREST = 4096  # right rows to choose among; more would only take longer
MOST_FEATURES = 150  # beyond them exact multipliers take too long to be worth waiting for
FREE = 2**13  # numbers in all that are asked about before anybody looks at the clock


@dataclass(frozen=True)
class Sure:
    """Blocking rows, what they cost every w, and the rows that each of them stands for."""

    part: Part
    cost: int  # in the unit of `Costs`: a count where the examples have no weights
    alike: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class LowerBound:
    """No w makes mistakes that cost less than disjoint blocking rows do together."""

    sets: tuple[Sure, ...]
    interrupted: bool = False  # whether Ctrl-C ended it

    @property
    def cost(self) -> int:
        """What all of them cost."""
        return sum(one.cost for one in self.sets)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The rows and their multipliers."""
        return tuple(one.part for one in self.sets)

    def proof(self, examples: Examples) -> Proof | None:
        """The parts as a proof that can be checked and saved; None where there is no part."""
        if not self.sets:
            return None
        alike = tuple(group for one in self.sets for group in one.alike)
        return Proof.of_mistakes(examples, self.cost, self.parts, alike=alike)


def lower_bound(examples: Examples, w: Floats, deadline: Deadline = NEVER) -> LowerBound:
    """Bound the fewest mistakes from below, starting from good weights with their w0 slot.

    Rows that are alike and have different answers are counted whatever the time, and the first
    questions about few rows are asked.

    Examples
    --------
    >>> xor = Examples.from_arrays([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    >>> bound = lower_bound(xor, np.array([-0.5, 1.0, 1.0]))
    >>> bound.cost, bound.parts[0].rows
    (1, (0, 1, 2, 3))
    """
    ledger = Ledger(merged(examples), w, deadline)
    sets: list[Sure] = []
    interrupted = False
    try:
        for one in ledger.disjoint():
            sets.append(one)
    except OutOfTimeError:
        pass
    except KeyboardInterrupt:
        interrupted = True
    return LowerBound(tuple(sets), interrupted)


class Ledger:
    """The mistakes of good weights, what they cost, and what disjoint sets cost every w."""

    def __init__(self, examples: Examples, w: Floats, deadline: Deadline) -> None:
        self.examples, self.deadline = examples, deadline
        self.costs = Costs.of(examples)
        self.prices = self.costs.each
        self.sure = 0  # what disjoint parts cost every w
        self.free = 0  # questions that take no time
        if soon_done(examples, FREE):
            self.free = FREE // (examples.n * dimension_of(examples))
        self.w = w
        self.wrong = Hypothesis(w, examples.x0).mistakes(examples)
        self.cost = self.costs.total(self.wrong)

    def disjoint(self) -> Iterator[Sure]:
        """Blocking rows, each with one mistake of the best weights where that can be."""
        free = self.prices > 0
        yield from self._contradictions(free)
        if self.examples.d > MOST_FEATURES or self.sure >= self.cost:
            return
        s = self.examples.signed_scores(self.examples.tall(self.w))
        worst = self.wrong[np.argsort(s[self.wrong])]
        s = np.abs(s)
        s[self.wrong] = s[self.prices == 0] = np.inf  # of the others, those nearest to the line
        count = min(NEAREST, int(np.isfinite(s).sum()))
        near = np.sort(np.argpartition(s, max(count - 1, 0))[:count])
        for m in worst[free[worst]].tolist():
            if not free[m]:
                continue
            rows = near[free[near]]
            answer = self.ask(np.append(rows[rows != m], m))
            if isinstance(answer, Part):
                yield self._count(answer, free)
        left: Rows = np.union1d(near, self.wrong).astype(np.intp)
        while isinstance(answer := self.ask(left[free[left]]), Part):
            yield self._count(answer, free)

    def _count(self, part: Part, free: NDArray[np.bool_]) -> Sure:
        """Count a part to what is sure, the cheapest of its rows; they are no longer free."""
        rows = list(part.rows)
        free[rows] = False
        one = Sure(part, int(self.prices[rows].min()))
        self.sure += one.cost
        return one

    def _contradictions(self, free: NDArray[np.bool_]) -> Iterator[Sure]:
        """Rows that are alike and have different answers: a part of two rows that stand for more.

        All those of one answer are wrong, or all those of the other: whichever costs less is
        sure, and takes as many of the dearest rows of either answer as it needs.
        """
        codes, rows = row_codes(self.examples), np.flatnonzero(free)
        for sides in contradictions(self.examples, codes, rows):
            sure = min(self.costs.total(side) for side in sides)
            self.sure += sure
            groups = []
            for side in sides:
                side = side[np.argsort(-self.prices[side], kind="stable")]
                prices = self.prices[side]
                taken = np.sort(side[np.cumsum(prices) - prices < sure])
                free[taken] = False
                groups.append(tuple(taken.tolist()))
            part = Part(tuple(sorted(group[0] for group in groups)), (1, 1))
            yield Sure(part, sure, tuple(group for group in groups if len(group) > 1))

    def ask(self, rows: Rows) -> Part | Floats | None:
        """Some of these rows that block one another, or weights that answer them all."""
        self.free -= 1
        deadline = NEVER if self.free >= 0 else self.deadline
        deadline.check()
        if len(rows) == 0:
            return None
        return part_or_weights(self.examples, rows, deadline)
