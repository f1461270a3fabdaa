"""The search for the fewest mistakes: anytime, from good starts, on the mistake count itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from rosenblatt import engine
from rosenblatt.examples import Examples
from rosenblatt.learn import descent
from rosenblatt.learn.best import Best, Floats, Found, Search
from rosenblatt.learn.lines import along_lines
from rosenblatt.learn.pocket import FOREVER, pocket
from rosenblatt.learn.run import Budget, Rule
from rosenblatt.learn.walker import Ground, Walker, has_board

__all__ = ["Found", "Hunt", "Search", "fewest"]

POCKET_CORRECTIONS = 400
SPRINTERS = 2


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
    hunt.sprint()
    hunt.go_on()
    return hunt.best.found


class Hunt:
    """A search under way: a sprint that chance alone decides, then walks until time is over."""

    def __init__(self, examples: Examples, search: Search) -> None:
        # A time limit is for searching: compiling, once on a machine, is not part of it.
        descent.warm_up()
        self.examples, self.search = examples, search
        self.rng = search.rng or np.random.default_rng()
        self.best = Best(examples, search)
        self.ground: Ground | None = None
        self.walkers: list[Walker] = []

    def sprint(self) -> None:
        """Try the starts, and one walk by each of two walkers."""
        try:
            self._starts()
            if self.ground is not None and self.best.goes_on:
                self.walkers = [Walker(self.ground, seed) for seed in self.rng.spawn(SPRINTERS)]
                until = time.monotonic() + 0.25 * self.best.seconds_left
                self._all(lambda walker: walker.walk(self.best, until))
                for walker in self.walkers:
                    walker.hand_in(self.best)
        except KeyboardInterrupt:
            self.best.interrupted = True

    def go_on(self) -> None:
        """Walk until the time is over."""
        try:
            if self.ground is not None and self.best.goes_on:
                share = 1.0 if self.ground.whole else 0.6
                until = time.monotonic() + share * self.best.seconds_left
                more = max(0, self.search.threads - len(self.walkers))
                self.walkers += [Walker(self.ground, seed) for seed in self.rng.spawn(more)]
                self._all(lambda walker: walker.go(self.best, until))
            if self.best.goes_on:
                along_lines(self.best, self.examples, self.rng)
        except KeyboardInterrupt:
            self.best.interrupted = True

    def _starts(self) -> None:
        best, examples = self.best, self.examples
        if examples.x0:
            for answer in (1.0, -1.0):
                best.offer(np.concatenate(([answer], np.zeros(examples.d))))
        budget = Budget(FOREVER, POCKET_CORRECTIONS, 0.15 * best.seconds_left)
        run = pocket(examples, Rule("random", rng=self.rng), budget)
        best.offer(run.hypothesis.w)
        best.interrupted = run.reason == "interrupted"
        if best.goes_on and has_board(examples):
            self.ground = Ground.of(examples, self.rng)
            best.offer(self.ground.scaling.tall(self.ground.start))

    def _all(self, work: Callable[[Walker], object]) -> None:
        with ThreadPoolExecutor(self.search.threads) as pool:
            try:
                engine.wait_for([pool.submit(work, walker) for walker in self.walkers])
            except KeyboardInterrupt:
                self.best.interrupted = True
