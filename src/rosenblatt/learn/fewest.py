"""The search for the fewest mistakes: anytime, from good starts, on the mistake count itself."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from rosenblatt.examples import Examples
from rosenblatt.learn import descent
from rosenblatt.learn.board import Floats, Scaling, board_of, scaling_of
from rosenblatt.learn.descent import Board
from rosenblatt.learn.judge import Judge
from rosenblatt.learn.pocket import FOREVER, pocket
from rosenblatt.learn.run import Budget, Reason, Rule

BOARD_ENTRIES = 2**21  # a board is kept in memory twice
POCKET_CORRECTIONS = 400
# Temperatures, hot to cold, in mistakes: low ones search near the best, high ones go elsewhere.
SCHEDULES = ((0.3, 0.2), (0.7, 0.3), (0.3, 0.2), (1.2, 0.2))
STEPS = 20_000
FRESH = 4  # every fourth walk begins at a start again, not at the best so far
ROW_STEPS = 3e8  # multiplications between two looks at the clock


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
    """The best weights so far, shared by threads; every count in it is exact."""

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
        return self.mistakes > 0 and not self.interrupted and time.monotonic() < self.deadline

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

    def found(self) -> Found:
        """The result as it stands."""
        reason: Reason = "interrupted" if self.interrupted else "time_limit"
        return Found(self.w, self.mistakes, "no mistakes" if self.mistakes == 0 else reason)


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
    descent.warm_up()
    best = Best(examples, search)
    rng = search.rng or np.random.default_rng()
    try:
        if start is not None:
            best.offer(start)
        _constant_answers(best, examples)
        _pocket_start(best, examples, rng)
        if best.goes_on:
            _search(best, examples, search, rng)
    except KeyboardInterrupt:
        best.interrupted = True
    return best.found()


def _constant_answers(best: Best, examples: Examples) -> None:
    if examples.x0:
        for answer in (1.0, -1.0):
            best.offer(np.concatenate(([answer], np.zeros(examples.d))))


def _pocket_start(best: Best, examples: Examples, rng: np.random.Generator) -> None:
    budget = Budget(FOREVER, POCKET_CORRECTIONS, 0.15 * (best.deadline - time.monotonic()))
    rule = Rule("random", rng=rng)
    best.offer(pocket(examples, rule, budget).hypothesis.w)


def _search(best: Best, examples: Examples, search: Search, rng: np.random.Generator) -> None:
    kept = examples.kept.astype(np.intp)
    scaling = scaling_of(examples)
    most = max(256, BOARD_ENTRIES // (examples.d + 1))
    if examples.d + 1 > BOARD_ENTRIES // 256:
        # Too wide for a board: lines through all examples, which need nothing but products.
        _along_lines(best, examples, scaling, rng, best.deadline)
        return
    whole = len(kept) <= most
    rows = kept if whole else np.sort(rng.choice(kept, most, replace=False))
    board = board_of(examples, scaling, rows)
    start = logistic(board)
    best.offer(scaling.tall(start))
    seconds = best.deadline - time.monotonic()
    until = best.deadline if whole else time.monotonic() + 0.6 * seconds
    workers = [_Walker(best, board, scaling, start, seed) for seed in rng.spawn(search.threads)]
    with ThreadPoolExecutor(search.threads) as pool:
        try:
            for done in [pool.submit(worker.go, until) for worker in workers]:
                done.result()
        except KeyboardInterrupt:
            best.interrupted = True
    if not whole:
        _along_lines(best, examples, scaling, rng, best.deadline)


class _Walker:
    """One thread of the search: walk after walk, from the best so far or from the start."""

    def __init__(
        self, best: Best, board: Board, scaling: Scaling, start: Floats, rng: np.random.Generator
    ) -> None:
        self.best, self.board, self.scaling, self.start, self.rng = best, board, scaling, start, rng
        N, D = board.rows.shape
        self.few = 40 + N // 64
        self.line = descent.new_line(N, D, 512 + 8 * (N // 64))
        self.reaches = np.full(D + 2, 0.05)
        self.w, self.cost = start.copy(), math.inf
        work = N * (D + 4)
        self.portion = int(min(STEPS, max(50, ROW_STEPS // work)))

    def go(self, until: float) -> None:
        """Walk until it is time to stop."""
        for walk in itertools.count():
            w = self.start if walk % FRESH == FRESH - 1 else self.w
            hot, cold = SCHEDULES[walk % len(SCHEDULES)]
            w = w.copy()
            portions = max(1, STEPS // self.portion)
            ratio = (cold / hot) ** (1 / portions)
            for i in range(portions):
                if not self.best.goes_on or time.monotonic() >= until:
                    return
                self._portion(w, hot * ratio**i, hot * ratio ** (i + 1))

    def _portion(self, w: Floats, hot: float, cold: float) -> None:
        improved = np.zeros_like(w)
        schedule = (self.cost, hot, cold, self.portion, self.few)
        cost = descent.run_anneal(
            self.board, self.line, w, improved, schedule, self.reaches, self.rng
        )
        if cost < self.cost:
            self.cost, self.w = cost, improved
            if not self.best.offer(self.scaling.tall(improved)):
                # Rounding may spoil weights at the edge of their cell; its middle is safer.
                descent.run_centre(self.board, self.line, improved, 50, self.rng)
                self.best.offer(self.scaling.tall(improved))
        self.best.tell(self.portion)


def logistic(board: Board, ridge: float = 1e-3) -> Floats:
    """Logistic regression on a board: a convex start."""

    def loss(w: Floats) -> tuple[float, Floats]:
        s = board.rows @ w
        value = float(board.costs @ np.logaddexp(0.0, -s)) + 0.5 * ridge * float(w @ w)
        return value, ridge * w - board.rows.T @ (board.costs * expit(-s))

    result = minimize(
        loss, np.zeros(board.rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 200}
    )
    w: Floats = result.x
    return w if w.any() else np.ones_like(w)


def _along_lines(
    best: Best, examples: Examples, scaling: Scaling, rng: np.random.Generator, until: float
) -> None:
    """Line searches over all examples, for data too large to be copied."""
    v = scaling.scaled(best.w)
    v = v / (np.linalg.norm(v) or 1.0)
    costs = np.ones(examples.n) if examples.weights is None else examples.weights
    line = descent.new_line(examples.n, 0, 512 + examples.n // 8)
    line.s[:] = _signed_scores(best, examples, scaling.tall(v))
    cost, reach = best.mistakes, 0.05
    while best.goes_on and time.monotonic() < until:
        direction = _direction(examples, scaling, line.s, rng)
        line.g[:] = _signed_scores(best, examples, scaling.tall(direction))
        a, cost, met = descent.run_step(line, costs, reach, cost, 1e-3, rng)
        reach *= 0.5 if met < 0 else (1.1 if met < examples.n // 16 + 64 else 0.9)
        v += a * direction
        if cost < best.mistakes:
            best.offer(scaling.tall(v))
        best.tell(1)


def _signed_scores(best: Best, examples: Examples, w: Floats) -> Floats:
    return examples.y * best.judge.hypothesis(w).scores(examples.X)


def _direction(
    examples: Examples, scaling: Scaling, s: Floats, rng: np.random.Generator
) -> NDArray[np.float64]:
    """A coordinate, an example, or the way that examples near the line would push it."""
    D = examples.d + 1
    chance = rng.random()
    if chance < 0.4 and D <= 1000:
        v = np.zeros(D)
        v[rng.integers(D)] = 1.0
        return v
    near = np.argsort(np.abs(s[:: max(1, len(s) // 10_000)]))[:64] * max(1, len(s) // 10_000)
    chosen = rng.choice(near, 1 if chance < 0.6 else len(near) // 2, replace=False)
    rows = scaling.rows(examples.X[chosen]) * examples.y[chosen, None]
    v = rows.sum(axis=0) + 0.1 * rng.standard_normal(D) * (chance > 0.8)
    v[1:][scaling.width == 0] = 0.0
    return v / (np.linalg.norm(v) or 1.0)
