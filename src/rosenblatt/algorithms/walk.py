"""A walk: a run of corrections under way, recorded block by block."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import engine
from rosenblatt.algorithms.run import Budget, Reason, Rule, Run, WeightsOverflowError
from rosenblatt.clock import CHEAP, Deadline
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.tables import place
from rosenblatt.trace import Origin, Trace
from rosenblatt.words import counted

# Kernel calls are kept to about this many multiplications, a few hundredths of a second, so
# that Ctrl-C is answered and progress can be shown.
WORK_PER_CALL = 2**26
CORRECTIONS_PER_CALL = 2**16

Ints = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Progress:
    """A run so far; w is in the examples' unit and has its w0 slot."""

    w: NDArray[np.float64]
    blocks: int = 0
    corrections: int = 0
    whole_cycles: int = 0
    within_cycle: bool = False

    @property
    def cycles(self) -> int:
        """The number of cycles begun."""
        return self.whole_cycles + self.within_cycle


Watch = Callable[[Progress], None]


class Walk:
    """The state of a run under way.

    `record` adds a block to the lists and then counts it in one assignment of `so_far`, so
    that Ctrl-C at any moment leaves a run that is true up to its last counted block.
    """

    def __init__(
        self,
        examples: Examples,
        rule: Rule,
        budget: Budget,
        start: NDArray[np.float64] | None,
        watch: Watch | None = None,
    ) -> None:
        self.examples, self.rule, self.budget, self.watch = examples, rule, budget, watch
        self.rows = examples.rows(rule.eta)
        self.start = np.zeros(examples.d + 1) if start is None else start
        if len(self.start) != examples.d + 1:  # kernels do not look where an array ends
            raise ValueError(
                f"{counted(len(self.start) - 1, 'weight')} cannot fit "
                f"{counted(examples.d, 'feature')}."
            )
        self.corrected: list[Ints] = [np.empty(0, dtype=examples.row_type)]
        self.ends: list[Ints] = [np.empty(0, dtype=np.int64)]
        self.so_far = Progress(self.start / examples.unit)
        self.confirmed = False
        self.deadline = Deadline.after(budget.seconds)

    @functools.cached_property
    def rng(self) -> np.random.Generator:
        """The source of chance; made only if it is asked for."""
        return self.rule.rng or np.random.default_rng()

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
        left = not self.confirmed and self.cycles_left > 0 and self.corrections_left > 0
        return left and (self.work < CHEAP or not self.deadline.over)

    @property
    def work(self) -> int:
        """About how many multiplications were made so far."""
        return self.so_far.cycles * self.examples.n * self.examples.entries_per_row

    def room(self, corrections: int) -> tuple[NDArray[np.float64], Ints, int]:
        """A copy of w to work on, space for a block of corrections, and its visits."""
        visits = max(1, WORK_PER_CALL // self.examples.entries_per_row)
        size = min(visits, corrections, CORRECTIONS_PER_CALL)
        trace = np.empty(size, dtype=self.examples.row_type)
        return self.so_far.w.copy(), trace, visits

    def record(
        self, w: NDArray[np.float64], corrected: Ints, ends: Ints, within_cycle: bool
    ) -> None:
        """Keep what a block of work did."""
        if not np.isfinite(self._in_data_units(w)).all():
            raise _overflow(self.examples, self.rule.eta)
        old = self.so_far
        # A block may be a small part of the space it was given: keep only that part.
        self.corrected.append(corrected.copy())
        self.ends.append(ends + old.corrections)
        self.so_far = Progress(
            w,
            old.blocks + 1,
            old.corrections + len(corrected),
            old.whole_cycles + len(ends),
            within_cycle,
        )
        if self.watch is not None:
            self.watch(self.so_far)

    def confirm(self, ends_cycle: bool = False) -> None:
        """Look at all examples, exactly: end the walk, or correct a mistake it missed."""
        mistakes = self._hypothesis().mistakes(self.examples)
        if len(mistakes) == 0:
            self.confirmed = True
        elif self.corrections_left > 0 and self.cycles_left > 0:
            w, trace, _ = self.room(1)
            chance = self.rule.order == "random"
            trace[0] = mistakes[self.rng.integers(len(mistakes)) if chance else 0]
            engine.replay(self.rows, trace, w)
            ends = np.ones(int(ends_cycle), dtype=np.int64)
            self.record(w, trace, ends, within_cycle=not ends_cycle)

    def run(self, reason: Reason | None = None, look: bool = True) -> Run:
        """What happened, once the walk is over, after a last look for mistakes."""
        so_far, hypothesis = self.so_far, self._hypothesis()
        mistakes = np.empty(0, dtype=np.intp)
        if look and not self.confirmed:
            mistakes = hypothesis.mistakes(self.examples)
        trace = Trace(
            np.concatenate(self.corrected[: so_far.blocks + 1]),
            np.concatenate(self.ends[: so_far.blocks + 1]),
            Origin(self.examples, self.start, self.rule.eta),
        )
        return Run(hypothesis, trace, mistakes, so_far.cycles, reason or self._reason(mistakes))

    def _reason(self, mistakes: Ints) -> Reason:
        if len(mistakes) == 0:
            return "no mistakes"
        if self.cycles_left <= 0:
            return "max_iter"
        return "max_updates" if self.corrections_left <= 0 else "time_limit"

    def _hypothesis(self) -> Hypothesis:
        examples = self.examples
        return Hypothesis(self._in_data_units(self.so_far.w), examples.x0, self.rule.zero)

    def _in_data_units(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.examples.unit == 1.0:
            return w
        with np.errstate(over="ignore"):
            return w * self.examples.unit


def _overflow(examples: Examples, eta: float) -> WeightsOverflowError:
    flat = examples.numbers.reshape(-1)
    at = int(max(flat.argmax(), flat.argmin(), key=lambda i: abs(flat[i])))
    row, column = place(examples.X, at)
    longest = eta * (1.0 if examples.weights is None else float(examples.weights.max()))
    steps = "" if longest == 1 else f", and a correction adds up to {longest:.3g} times a row"
    return WeightsOverflowError(
        "learning overflowed: the weights grew past the largest float. "
        f"X, row {row}, column {column} is {flat[at]:.3g}{steps}; scale the columns first."
    )
