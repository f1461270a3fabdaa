"""The search for the fewest mistakes: anytime, from good starts, on the mistake count itself."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from rosenblatt import engine
from rosenblatt.algorithms.best import Best, Floats, Found, Search
from rosenblatt.algorithms.lines import along_lines
from rosenblatt.algorithms.pla import Budget, Rule, WeightsOverflowError
from rosenblatt.algorithms.pocket import FOREVER, pocket
from rosenblatt.algorithms.walker import Ground, Walker, has_board
from rosenblatt.examples import Examples

__all__ = ["Found", "Hunt", "Search", "fewest"]

POCKET_CORRECTIONS = 400
SPRINTERS = 2
EXTREME = 300  # powers of two
SPRINT_SHARE = 0.25  # of the time that is left


def fewest(examples: Examples, search: Search = Search(), start: Floats | None = None) -> Found:
    """Search for weights with few mistakes until the time is over or there are none.

    The pocket and logistic regression give starts; then threads walk along lines, knowing the
    mistakes on every piece of a line. Never worse than `start`. On Ctrl-C the best so far is
    returned.

    Parameters
    ----------
    examples : Examples
        The rows and their answers; with weights, a mistake costs its row's weight.
    search : Search
        Seconds, threads, chance, a watcher.
    start : array, optional
        Weights with a w0 slot to begin with.

    Examples
    --------
    >>> xor = Examples.from_arrays([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    >>> fewest(xor, Search(seconds=0.5)).mistakes
    1
    """
    hunt = Hunt(examples, search)
    if start is not None:
        hunt.best.offer(start)
    hunt.begin()
    hunt.sprint()
    hunt.go_on()
    return hunt.best.found


class Hunt:
    """A search under way: a beginning, a sprint, then walks until time is over.

    Of few examples the beginning does not depend on the time.
    """

    def __init__(self, examples: Examples, search: Search) -> None:
        self.examples, self.search = examples, search
        self.rng = search.rng or np.random.default_rng()
        self.best = Best(examples, search)
        self.ground: Ground | None = None
        self.walkers: list[Walker] = []

    def begin(self) -> None:
        """Try the same answer for all, and a pocket."""
        best, examples = self.best, self.examples
        try:
            if examples.x0:
                for answer in (1.0, -1.0):
                    best.offer(np.concatenate(([answer], np.zeros(examples.d))))
            budget = Budget(FOREVER, POCKET_CORRECTIONS, 0.15 * best.deadline.left)
            run = pocket(_usual(examples), Rule("random", rng=self.rng), budget)
            best.offer(run.hypothesis.w)
            best.interrupted = run.reason == "interrupted"
        except WeightsOverflowError:
            pass  # a start the less: what follows does not add rows up
        except KeyboardInterrupt:
            best.interrupted = True

    def sprint(self) -> None:
        """Try logistic regression, and one walk by each of two walkers."""
        best = self.best
        try:
            if not (best.goes_on and has_board(self.examples)):
                return
            until = best.deadline.share(SPRINT_SHARE)
            self.ground = Ground.of(self.examples, self.rng, until)
            best.offer(self.ground.scaling.tall(self.ground.start))
            self.walkers = [Walker(self.ground, seed) for seed in self.rng.spawn(SPRINTERS)]
            self._all(lambda walker: walker.walk(best, until))
            for walker in self.walkers:
                walker.hand_in(best)
        except KeyboardInterrupt:
            best.interrupted = True

    def go_on(self) -> None:
        """Walk until the time is over."""
        try:
            if self.ground is not None and self.best.goes_on:
                until = self.best.deadline.share(1.0 if self.ground.whole else 0.6)
                more = max(0, self.search.threads - len(self.walkers))
                self.walkers += [Walker(self.ground, seed) for seed in self.rng.spawn(more)]
                self._all(lambda walker: walker.go(self.best, until))
            if self.best.goes_on:
                along_lines(self.best, self.examples, self.rng)
        except KeyboardInterrupt:
            self.best.interrupted = True

    def _all(self, work: Callable[[Walker], object]) -> None:
        with ThreadPoolExecutor(self.search.threads) as pool:
            try:
                engine.wait_for([pool.submit(work, walker) for walker in self.walkers])
            except KeyboardInterrupt:
                self.best.interrupted = True


def _usual(examples: Examples) -> Examples:
    """The examples with weights of usual size: a pocket takes steps as long as they are."""
    if examples.weights is None:
        return examples
    exponent = int(np.frexp(examples.weights.max())[1])
    if abs(exponent) < EXTREME:
        return examples
    return replace(examples, weights=np.ldexp(examples.weights, -exponent))
