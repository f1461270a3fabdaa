"""A walk: a run of corrections under way, recorded block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import engine
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.learn.run import Budget, Reason, Rule, Run
from rosenblatt.trace import Origin, Trace

# Kernel calls are kept to about this many multiplications, a few hundredths of a second, so
# that Ctrl-C is answered and progress can be shown.
WORK_PER_CALL = 2**26
CORRECTIONS_PER_CALL = 2**16

Ints = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Progress:
    """A run so far; w is in the examples' unit and has its w0 slot."""

    w: NDArray[np.float64]
    corrected: tuple[Ints, ...] = ()
    ends: tuple[Ints, ...] = ()
    corrections: int = 0
    whole_cycles: int = 0
    within_cycle: bool = False

    @property
    def cycles(self) -> int:
        """The number of cycles begun."""
        return self.whole_cycles + self.within_cycle


Watch = Callable[[Progress], None]


class Walk:
    """The state of a run: changed only by `record`, in one assignment, so Ctrl-C is safe."""

    def __init__(
        self,
        examples: Examples,
        rule: Rule,
        budget: Budget,
        start: NDArray[np.float64] | None,
        watch: Watch | None = None,
    ) -> None:
        self.examples, self.rule, self.budget, self.watch = examples, rule, budget, watch
        self.rng = rule.rng or np.random.default_rng()
        self.rows = examples.rows(rule.eta)
        self.start = np.zeros(examples.d + 1) if start is None else start
        self.so_far = Progress(self.start / examples.unit)
        self.confirmed = False

    @property
    def cycles_left(self) -> int:
        """How many more cycles may end."""
        return self.budget.cycles - self.so_far.whole_cycles

    @property
    def corrections_left(self) -> int:
        """How many more corrections the next block may make."""
        if self.budget.corrections is None:
            return CORRECTIONS_PER_CALL
        return min(CORRECTIONS_PER_CALL, self.budget.corrections - self.so_far.corrections)

    @property
    def goes_on(self) -> bool:
        """Whether there may be a mistake left and there is budget to correct it."""
        return not self.confirmed and self.cycles_left > 0 and self.corrections_left > 0

    def room(self, corrections: int) -> tuple[NDArray[np.float64], Ints, int]:
        """A copy of w to work on, space for a block of corrections, and its visits."""
        visits = max(1, WORK_PER_CALL // self.examples.entries_per_row)
        size = np.uint32 if self.examples.n < 2**32 else np.uint64
        trace = np.empty(min(visits, corrections, CORRECTIONS_PER_CALL), dtype=size)
        return self.so_far.w.copy(), trace, visits

    def record(
        self, w: NDArray[np.float64], corrected: Ints, ends: Ints, within_cycle: bool
    ) -> None:
        """Keep what a block of work did."""
        if not np.isfinite(w * self.examples.unit).all():
            raise _overflow(self.examples)
        old = self.so_far
        self.so_far = Progress(
            w,
            (*old.corrected, corrected),
            (*old.ends, ends + old.corrections),
            old.corrections + len(corrected),
            old.whole_cycles + len(ends),
            within_cycle,
        )
        if self.watch is not None:
            self.watch(self.so_far)

    def confirm(self, choose: Callable[[Ints], int] = lambda mistakes: mistakes[0]) -> None:
        """Look at all examples, exactly: end the walk, or correct a mistake it missed."""
        mistakes = self._hypothesis().mistakes(self.examples)
        if len(mistakes) == 0:
            self.confirmed = True
        elif self.corrections_left > 0:
            w, trace, _ = self.room(1)
            trace[0] = choose(mistakes)
            engine.replay(self.rows, trace, w)
            self.record(w, trace, np.empty(0, dtype=np.int64), self.so_far.within_cycle)

    def run(self, reason: Reason | None = None, look: bool = True) -> Run:
        """What happened, once the walk is over, after a last look for mistakes."""
        so_far, hypothesis = self.so_far, self._hypothesis()
        mistakes = np.empty(0, dtype=np.intp)
        if look and not self.confirmed:
            mistakes = hypothesis.mistakes(self.examples)
        trace = Trace(
            np.concatenate((np.empty(0, dtype=np.uint32), *so_far.corrected)),
            np.concatenate((np.empty(0, dtype=np.int64), *so_far.ends)),
            Origin(self.examples, self.start, self.rule.eta),
        )
        return Run(hypothesis, trace, mistakes, so_far.cycles, reason or self._reason(mistakes))

    def _reason(self, mistakes: Ints) -> Reason:
        if len(mistakes) == 0:
            return "no mistakes"
        return "max_iter" if self.cycles_left <= 0 else "max_updates"

    def _hypothesis(self) -> Hypothesis:
        examples = self.examples
        return Hypothesis(self.so_far.w * examples.unit, examples.x0, self.rule.zero)


def _overflow(examples: Examples) -> ValueError:
    numbers = examples.X.data if examples.is_sparse else examples.X
    at = int(max(numbers.argmax(), numbers.argmin(), key=lambda i: abs(numbers.flat[i])))
    if examples.is_sparse:
        row = int(np.searchsorted(examples.X.indptr, at, side="right")) - 1
        column = int(examples.X.indices[at])
    else:
        row, column = divmod(at, examples.d)
    return ValueError(
        f"learning overflowed: the weights grew past the largest float. "
        f"X, row {row}, column {column} is {numbers.flat[at]:.3g}; scale the columns first."
    )
