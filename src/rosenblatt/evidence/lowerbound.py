"""How few mistakes any line must make: disjoint blocking rows, and exact branch and bound.

Rows that no w can all answer rightly cost every w at least one mistake. Disjoint such sets add
up, and are a proof that `Proof.check` confirms. Branching on the rows of one set (one of them
must be a mistake) decides whether fewer mistakes are possible; every step of it is exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rosenblatt.clock import NEVER, Deadline, OutOfTimeError
from rosenblatt.costs import Costs
from rosenblatt.evidence.decide import part_or_weights
from rosenblatt.evidence.integers import (
    MOST_PAIRS,
    contradictions,
    dimension_of,
    merged,
    paired,
    row_codes,
)
from rosenblatt.evidence.proof import Part, Proof
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

NEAREST = 4096  # right rows to choose among; more would only take longer
MOST_FEATURES = 150  # beyond them exact multipliers take too long to be worth waiting for
MOST_ROWS = 4 * NEAREST  # for branch and bound, which looks at all of them again and again
DEEPEST = 400  # branches below one another; so deep nothing is exhausted in any time
FREE = 2**13  # numbers in all that are asked about before anybody looks at the clock
TINY, FREE_STEPS = 2**9, 2**11  # so few numbers have so many steps, which take a tenth of a second


@dataclass(frozen=True, eq=False)
class LowerBound:
    """No w makes mistakes that cost less."""

    cost: int  # in the unit of `Costs`: a count where the examples have no weights
    parts: tuple[Part, ...]  # disjoint blocking rows, each at least one mistake
    w: Floats  # the best weights known, perhaps better than those that were given
    exhausted: bool = False  # whether branch and bound showed that nothing is better than w
    interrupted: bool = False  # whether Ctrl-C ended it

    def proof(self, examples: Examples) -> Proof | None:
        """The parts as a proof that can be checked and saved; None where there is no part."""
        if not self.parts:
            return None
        each = Costs.of(examples).each
        sure = sum(int(each[list(part.rows)].min()) for part in self.parts)
        return Proof.of_mistakes(examples, sure, self.parts)


def lower_bound(
    examples: Examples, w: Floats, deadline: Deadline = NEVER, *, branch: bool = True
) -> LowerBound:
    """Bound the fewest mistakes from below, starting from good weights with their w0 slot.

    Rows that are alike and have different answers are counted whatever the time, and the first
    questions about few rows are asked. Branch and bound comes after the disjoint sets.

    Examples
    --------
    >>> xor = Examples.from_arrays([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    >>> bound = lower_bound(xor, np.array([-0.5, 1.0, 1.0]))
    >>> bound.cost, bound.parts[0].rows, bound.exhausted
    (1, (0, 1, 2, 3), True)
    """
    ledger = Ledger(merged(examples), w, deadline)
    parts: list[Part] = []
    exhausted = interrupted = False
    try:
        for part in ledger.disjoint():
            parts.append(part)
        exhausted = ledger.sure >= ledger.cost
        small = examples.n <= MOST_ROWS and examples.d <= MOST_FEATURES
        if branch and not exhausted and small:
            for part in parts:
                ledger.know(part)
            exhausted = ledger.nothing_better()
    except OutOfTimeError:
        exhausted = ledger.sure >= ledger.cost
    except KeyboardInterrupt:
        interrupted = True
    bound = ledger.cost if exhausted else ledger.sure
    return LowerBound(bound, tuple(parts), ledger.w, exhausted, interrupted)


class Ledger:
    """The best weights, what they cost, and the blocking rows that were found."""

    def __init__(self, examples: Examples, w: Floats, deadline: Deadline) -> None:
        self.examples, self.deadline = examples, deadline
        self.costs = Costs.of(examples)
        self.prices = self.costs.each
        self.sets: list[frozenset[int]] = []
        self.frequency: Counter[int] = Counter()
        self.sure = 0  # what disjoint parts cost every w
        numbers = examples.n * dimension_of(examples)
        self.free = FREE_STEPS if numbers <= TINY else FREE // numbers  # steps of no time
        self.take(w)

    def take(self, w: Floats) -> None:
        """Take these weights as the best."""
        self.w = w
        self.wrong = Hypothesis(w, self.examples.x0).mistakes(self.examples)
        self.cost = self.costs.total(self.wrong)

    def know(self, part: Part) -> None:
        """Keep the rows of a part to branch on and to bound with."""
        self.sets.append(frozenset(part.rows))
        self.frequency.update(part.rows)

    def price(self, rows: Iterable[int]) -> int:
        """What rows that block one another cost every w: the cheapest of them."""
        return int(self.prices[list(rows)].min())

    def disjoint(self) -> Iterator[Part]:
        """Blocking rows, each with one mistake of the best weights where that can be."""
        free = self.prices > 0
        yield from self._contradictions(free)
        if self.examples.d > MOST_FEATURES or self.sure >= self.cost:
            return
        near, worst = self._near_and_worst()
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

    def _count(self, part: Part, free: NDArray[np.bool_]) -> Part:
        """Count a part to what is sure; its rows are then not free for another."""
        free[list(part.rows)] = False
        self.sure += self.price(part.rows)
        return part

    def _contradictions(self, free: NDArray[np.bool_]) -> Iterator[Part]:
        """Pairs of rows that are alike and have different answers: the smallest parts.

        All those of one answer are wrong, or all those of the other: whichever costs less is
        sure, and takes as many of the dearest rows of either answer as it needs.
        """
        codes, rows = row_codes(self.examples), np.flatnonzero(free)
        told = 0
        for yes, no in contradictions(self.examples, codes, rows):
            sides = [side[np.argsort(-self.prices[side], kind="stable")] for side in (yes, no)]
            sure = min(self.costs.total(side) for side in sides)
            self.sure += sure
            pairs = min(map(len, sides))
            for side in sides:
                prices = self.prices[side]
                free[side] = (np.cumsum(prices) - prices >= sure) & (np.arange(len(side)) >= pairs)
            for pair in paired(sides[0], sides[1], MOST_PAIRS - told):
                told += 1
                yield Part(pair, (1, 1))

    def _near_and_worst(self) -> tuple[Rows, Rows]:
        """The rows answered rightly that are nearest to the line; the wrong ones, worst first."""
        s = self.examples.signed_scores(self.examples.tall(self.w))
        worst = self.wrong[np.argsort(s[self.wrong])]
        s = np.abs(s)
        s[self.wrong] = s[self.prices == 0] = np.inf
        count = min(NEAREST, int(np.isfinite(s).sum()))
        return np.sort(np.argpartition(s, max(count - 1, 0))[:count]), worst

    def ask(self, rows: Rows) -> Part | Floats | None:
        """Some of these rows that block one another, or weights that answer them all."""
        deadline = self._step()
        if len(rows) == 0:
            return np.zeros(self.examples.d + 1)
        return part_or_weights(self.examples, rows, deadline)

    def _step(self) -> Deadline:
        """The deadline of one more step; the first ones have none."""
        self.free -= 1
        if self.free >= 0:
            return NEVER
        self.deadline.check()
        return self.deadline

    def nothing_better(self) -> bool:
        """Whether branch and bound shows that no w costs less than the best.

        When it meets better weights it takes them and begins again.
        """
        while True:
            before = self.cost
            done = self._no_less(frozenset(), frozenset())
            if self.cost == before:
                return done

    def _no_less(self, gone: frozenset[int], kept: frozenset[int]) -> bool:
        """Nothing is better if `gone` are mistakes and `kept` are right; False: not known."""
        self._step()
        if len(gone) > DEEPEST:
            raise OutOfTimeError
        so_far = self.costs.total(list(gone))
        if so_far + self._packing(gone, kept) >= self.cost:
            return True
        known = [rows for rows in self.sets if not gone & rows]
        if not known:
            mask = self.prices > 0
            mask[list(gone)] = False
            answer = self.ask(np.flatnonzero(mask))
            if not isinstance(answer, Part):
                self._offer(answer)
                return False
            self.know(answer)
            known = self.sets[-1:]
        part = min(known, key=lambda rows: len(rows - kept))
        # Rows of many parts first: once they are tried, the others are known to be right.
        choices = sorted(part - kept, key=self.frequency.__getitem__, reverse=True)
        for i, n in enumerate(choices):
            if not self._no_less(gone | {n}, kept | set(choices[:i])):
                return False
        return True

    def _packing(self, gone: frozenset[int], kept: frozenset[int]) -> int:
        """What the parts in the pool still cost; too much if one of them must be all right."""
        used: set[int] = set()
        cost = 0
        for open_rows in sorted((rows - kept for rows in self.sets if not rows & gone), key=len):
            if not open_rows:
                return self.cost
            if not open_rows & used:
                used |= open_rows
                cost += self.price(open_rows)
        return cost

    def _offer(self, w: Floats | None) -> None:
        """Take weights as the best if they are better, as floats hold them."""
        old, before = self.w, self.cost
        if w is not None:
            self.take(w)
            if self.cost >= before:
                self.take(old)
