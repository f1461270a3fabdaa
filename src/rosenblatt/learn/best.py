"""The best weights of a search, shared by its threads; every count in it is exact."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rosenblatt.examples import Examples
from rosenblatt.learn.judge import Judge
from rosenblatt.learn.run import Reason

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
        self.judge = Judge(examples)
        self.w = np.zeros(examples.d + 1)
        self.mistakes = self.judge.alone(self.w)
        self.deadline = time.monotonic() + search.seconds
        self.watch, self.steps = search.watch, 0
        self.lock = threading.Lock()
        self.interrupted = False

    @property
    def goes_on(self) -> bool:
        """Whether there is time left and something to gain."""
        return self.mistakes > 0 and not self.interrupted and self.seconds_left > 0

    @property
    def seconds_left(self) -> float:
        """The time until the deadline."""
        return max(0.0, self.deadline - time.monotonic())

    @property
    def found(self) -> Found:
        """The result as it stands."""
        reason: Reason = "interrupted" if self.interrupted else "time_limit"
        return Found(self.w, self.mistakes, "no mistakes" if self.mistakes == 0 else reason)

    def offer(self, w: Floats) -> bool:
        """Judge weights exactly; keep them if they are better."""
        if not np.isfinite(w).all():
            return False
        mistakes = self.judge.alone(w)
        with self.lock:
            better = mistakes < self.mistakes
            if better:
                self.w, self.mistakes = w.copy(), mistakes
        return better

    def tell(self, steps: int) -> None:
        """Count steps, and tell the watcher."""
        with self.lock:
            self.steps += steps
        if self.watch is not None:
            self.watch(self.mistakes, self.steps)
