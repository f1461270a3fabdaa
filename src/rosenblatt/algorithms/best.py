"""The best weights of a search, shared by its threads; every count in it is exact."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.judge import Costs, Judge
from rosenblatt.algorithms.pla import Reason
from rosenblatt.clock import Deadline
from rosenblatt.examples import Examples

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Found:
    """The best weights found, with a w0 slot; what their mistakes cost; why the search ended."""

    w: Floats
    mistakes: float
    reason: Reason


@dataclass(frozen=True)
class Search:
    """How to search: seconds, threads, chance, and whom to tell (mistakes, steps)."""

    seconds: float = 5.0
    threads: int = 1
    rng: np.random.Generator | None = None
    watch: Callable[[float, int], None] | None = None


class Best:
    """The best weights so far, and the time left to better them."""

    def __init__(self, examples: Examples, search: Search) -> None:
        self.judge, self.costs = Judge(examples), Costs.of(examples)
        self.w = np.zeros(examples.d + 1)
        self.cost = self.cost_of(self.w)
        self.deadline = Deadline.after(search.seconds)
        self.watch, self.steps = search.watch, 0
        self.lock = threading.Lock()
        self.interrupted = False

    @property
    def goes_on(self) -> bool:
        """Whether there is time left and something to gain."""
        return self.hopeful and not self.deadline.over

    @property
    def hopeful(self) -> bool:
        """Whether there is something to gain, and nobody wants it to end."""
        return self.cost > 0 and not self.interrupted

    @property
    def mistakes(self) -> float:
        """What the mistakes of the best weights cost, as a person reads it."""
        return self.costs.number(self.cost)

    def cost_of(self, w: Floats) -> int:
        """What the mistakes of weights cost, exactly."""
        return self.costs.total(self.judge.wrong(w))

    @property
    def found(self) -> Found:
        """The result as it stands."""
        reason: Reason = "interrupted" if self.interrupted else "time_limit"
        return Found(self.w, self.mistakes, "no mistakes" if self.cost == 0 else reason)

    def offer(self, w: Floats) -> bool:
        """Judge weights exactly; keep them if they are better."""
        if not np.isfinite(w).all():
            return False
        cost = self.cost_of(w)
        with self.lock:
            better = cost < self.cost
            if better:
                self.w, self.cost = w.copy(), cost
        return better

    def replace(self, w: Floats) -> None:
        """Take weights that cost no more."""
        if np.isfinite(w).all() and self.cost_of(w) <= self.cost:
            self.w, self.cost = w.copy(), self.cost_of(w)

    def tell(self, steps: int) -> None:
        """Count steps, and tell the watcher."""
        with self.lock:
            self.steps += steps
        if self.watch is not None:
            self.watch(self.mistakes, self.steps)
