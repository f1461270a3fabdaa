"""The gap between the best weights found and the proved lower bound on mistakes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.judge import Judge
from rosenblatt.algorithms.pla import Budget, Rule, WeightsOverflowError
from rosenblatt.algorithms.pocket import FOREVER, pocket
from rosenblatt.clock import Deadline, now
from rosenblatt.costs import Costs
from rosenblatt.examples import Examples

Floats = NDArray[np.float64]

POCKET_UPDATES = 400
POCKET_SHARE = 0.15  # share of the time for the pocket algorithm
EXTREME = 300  # exponent of two beyond which sample weights are rescaled


@dataclass(frozen=True)
class Search:
    """Options of a search for the fewest mistakes.

    `watch` reports progress: it is called with the mistakes, the steps and the lower bound.
    """

    seconds: float = 5.0
    threads: int = 1
    rng: np.random.Generator | None = None
    watch: Callable[[float, int, float], None] | None = None


class Gap:
    """State of a search for the fewest mistakes: the best weights so far, and a lower bound.

    The cost of the mistakes of these weights and the lower bound on it are integer multiples of a
    unit (`Costs`), so they are exact. Threads share this state.

    Examples
    --------
    >>> xor = Examples.from_arrays([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    >>> gap = Gap(xor, Search())
    >>> gap.offer(np.array([-0.5, 1.0, 1.0])), gap.mistakes
    (True, 1)
    >>> gap.raise_bound(1, lambda: None)
    >>> gap.closed
    True
    """

    def __init__(self, examples: Examples, search: Search) -> None:
        self.examples, self.search = examples, search
        self.rng = search.rng or np.random.default_rng()
        self.deadline = Deadline.after(search.seconds)
        self.begun = now()
        self.history: list[tuple[float, float, float]] = []  # seconds, mistakes, lower bound
        self.judge, self.costs = Judge(examples), Costs.of(examples)
        self.w = np.zeros(examples.d + 1)
        self.cost = self.cost_of(self.w)
        self.bound = 0
        self.proof: Callable[[], Any] = lambda: None  # returns the proof of the bound
        self.exhausted = False  # no search can raise the bound further
        self.done = self.interrupted = False  # nothing is left to try; Ctrl-C
        self.steps = 0
        self.kept: dict[str, Any] = {}  # state of an engine between its turns
        self.lock = threading.RLock()  # Ctrl-C may come while it is held

    @property
    def closed(self) -> bool:
        """Whether the best weights are proved optimal."""
        return self.cost <= self.bound

    @property
    def hopeful(self) -> bool:
        """Whether more searching may improve the best weights or the lower bound on mistakes."""
        return not (self.closed or self.done or self.interrupted)

    @property
    def goes_on(self) -> bool:
        """Whether time is left, and more searching may improve the weights or the lower bound."""
        return self.hopeful and not self.deadline.over

    @property
    def seconds(self) -> float:
        """Seconds since the search began."""
        return now() - self.begun

    @property
    def mistakes(self) -> float:
        """Number of mistakes of the best weights so far, or total sample weight of these rows."""
        return self.costs.number(self.cost)

    def cost_of(self, w: Floats) -> int:
        """Return the exact total cost of the mistakes of w."""
        return self.costs.total(self.judge.wrong(w))

    def offer(self, w: Floats) -> bool:
        """Keep w if its mistakes cost less than those of the best weights so far.

        Return whether w is kept. Both costs are exact.
        """
        if not np.isfinite(w).all():
            return False
        cost = self.cost_of(w)
        with self.lock:
            better = cost < self.cost
            if better:
                self.w, self.cost = w.copy(), cost
                self._record()
        return better

    def replace(self, w: Floats) -> None:
        """Replace the best weights by w if the mistakes of w cost the same or less."""
        if np.isfinite(w).all() and (cost := self.cost_of(w)) <= self.cost:
            self.w, self.cost = w.copy(), cost

    def raise_bound(self, bound: int, proof: Callable[[], Any], exhausted: bool = False) -> None:
        """Raise the lower bound on mistakes to `bound`, unless it is already higher.

        The function `proof` returns the proof of `bound`. If `exhausted`, no search can raise the
        bound further.
        """
        with self.lock:
            if (bound, exhausted) >= (self.bound, self.exhausted):
                self.bound, self.proof, self.exhausted = bound, proof, exhausted
                self._record()

    def _record(self) -> None:
        """Append time, mistakes and lower bound to the history if mistakes or bound changed."""
        state = self.mistakes, self.costs.number_below(self.bound)
        if not self.history or self.history[-1][1:] != state:
            self.history.append((self.seconds, *state))

    def report(self, steps: int) -> None:
        """Add `steps` to the number of steps of the search, and report progress to `watch`."""
        with self.lock:
            self.steps += steps
        if self.search.watch is not None:
            self.search.watch(self.mistakes, self.steps, self.costs.number_below(self.bound))


Engine = Callable[[Gap], None]


def try_starts(gap: Gap) -> None:
    """Find first weights for a search: try both constant predictions and a short pocket run."""
    examples = gap.examples
    try:
        if examples.x0:
            for sign in (1.0, -1.0):
                gap.offer(np.concatenate(([sign], np.zeros(examples.d))))
        budget = Budget(FOREVER, POCKET_UPDATES, POCKET_SHARE * gap.deadline.left)
        if examples.weights is not None:
            # Updates are multiplied by sample weights: scale extreme ones, or w would overflow.
            exponent = int(np.frexp(examples.weights.max())[1])
            if abs(exponent) >= EXTREME:
                examples = replace(examples, weights=np.ldexp(examples.weights, -exponent))
        run = pocket(examples, Rule("random", rng=gap.rng), budget)
        gap.offer(run.hypothesis.w)
        gap.interrupted = run.reason == "interrupted"
    except WeightsOverflowError:
        pass  # the other searches do not add up rows
