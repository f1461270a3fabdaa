"""What is known of the fewest mistakes of any line: engines narrow the gap, from both sides."""

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

POCKET_CORRECTIONS = 400
POCKET_SHARE = 0.15  # of the time
EXTREME = 300  # powers of two


@dataclass(frozen=True)
class Search:
    """How to search: seconds, threads, chance, and whom to tell (mistakes, steps, bound)."""

    seconds: float = 5.0
    threads: int = 1
    rng: np.random.Generator | None = None
    watch: Callable[[float, int, float], None] | None = None


class Gap:
    """The best weights so far and what they cost, and what any weights cost at least.

    Costs are whole numbers of a unit (`Costs`), so both sides are exact. Threads share it.

    Examples
    --------
    >>> xor = Examples.from_arrays([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    >>> gap = Gap(xor, Search())
    >>> gap.offer(np.array([-0.5, 1.0, 1.0])), gap.mistakes
    (True, 1)
    >>> gap.know(1, lambda: None)
    >>> gap.closed
    True
    """

    def __init__(self, examples: Examples, search: Search) -> None:
        self.examples, self.search = examples, search
        self.rng = search.rng or np.random.default_rng()
        self.deadline = Deadline.after(search.seconds)
        self.begun = now()
        self.history: list[tuple[float, float, float]] = []  # seconds, mistakes, bound
        self.judge, self.costs = Judge(examples), Costs.of(examples)
        self.w = np.zeros(examples.d + 1)
        self.cost = self.cost_of(self.w)
        self.bound = 0
        self.proof: Callable[[], Any] = lambda: None  # what shows the bound, made when asked for
        self.exhausted = False  # all lines were gone through
        self.done = self.interrupted = False  # nothing is left to try; somebody wants it to end
        self.steps = 0
        self.kept: dict[str, Any] = {}  # what an engine keeps for its next turn
        self.lock = threading.RLock()  # Ctrl-C may come while it is held, and is told then

    @property
    def closed(self) -> bool:
        """Whether nothing better is possible."""
        return self.cost <= self.bound

    @property
    def hopeful(self) -> bool:
        """Whether there is something to gain, and something left to try."""
        return not (self.closed or self.done or self.interrupted)

    @property
    def goes_on(self) -> bool:
        """Whether there is time left, too."""
        return self.hopeful and not self.deadline.over

    @property
    def seconds(self) -> float:
        """Of work so far."""
        return now() - self.begun

    @property
    def mistakes(self) -> float:
        """What the mistakes of the best weights cost, as a person reads it."""
        return self.costs.number(self.cost)

    def cost_of(self, w: Floats) -> int:
        """What the mistakes of weights cost, exactly."""
        return self.costs.total(self.judge.wrong(w))

    def offer(self, w: Floats) -> bool:
        """Judge weights exactly; keep them if they are better."""
        if not np.isfinite(w).all():
            return False
        cost = self.cost_of(w)
        with self.lock:
            better = cost < self.cost
            if better:
                self.w, self.cost = w.copy(), cost
                self._note()
        return better

    def replace(self, w: Floats) -> None:
        """Take weights that cost no more."""
        if np.isfinite(w).all() and (cost := self.cost_of(w)) <= self.cost:
            self.w, self.cost = w.copy(), cost

    def know(self, bound: int, proof: Callable[[], Any], exhausted: bool = False) -> None:
        """Take a bound, and what makes its proof, unless the one before says more."""
        with self.lock:
            if (bound, exhausted) >= (self.bound, self.exhausted):
                self.bound, self.proof, self.exhausted = bound, proof, exhausted
                self._note()

    def _note(self) -> None:
        """Note when the gap became narrower."""
        state = self.mistakes, self.costs.number_below(self.bound)
        if not self.history or self.history[-1][1:] != state:
            self.history.append((self.seconds, *state))

    def tell(self, steps: int) -> None:
        """Count steps, and tell the watcher."""
        with self.lock:
            self.steps += steps
        if self.search.watch is not None:
            self.search.watch(self.mistakes, self.steps, self.costs.number_below(self.bound))


Engine = Callable[[Gap], None]


def starts(gap: Gap) -> None:
    """Try the same answer for all, and a pocket; of few examples, whatever the time."""
    examples = gap.examples
    try:
        if examples.x0:
            for answer in (1.0, -1.0):
                gap.offer(np.concatenate(([answer], np.zeros(examples.d))))
        budget = Budget(FOREVER, POCKET_CORRECTIONS, POCKET_SHARE * gap.deadline.left)
        if examples.weights is not None:
            # Steps of a pocket are as long as the weights, which are brought to usual size.
            exponent = int(np.frexp(examples.weights.max())[1])
            if abs(exponent) >= EXTREME:
                examples = replace(examples, weights=np.ldexp(examples.weights, -exponent))
        run = pocket(examples, Rule("random", rng=gap.rng), budget)
        gap.offer(run.hypothesis.w)
        gap.interrupted = run.reason == "interrupted"
    except WeightsOverflowError:
        pass  # a start the less: what follows does not add rows up
