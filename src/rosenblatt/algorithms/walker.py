"""Walkers: threads that search for few mistakes on a board, from hot to cold, again and again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from rosenblatt import engine
from rosenblatt.algorithms import descent
from rosenblatt.algorithms.best import Best, Floats
from rosenblatt.algorithms.board import Scaling, board_of, scaling_of
from rosenblatt.algorithms.descent import Board
from rosenblatt.clock import NEVER, Deadline
from rosenblatt.examples import Examples

BOARD_ENTRIES = 2**21  # a board is kept in memory twice
FEWEST_ROWS = 256  # data too wide for so many rows have no board
# Temperatures, hot to cold, in mistakes: low ones search near the best, high ones go elsewhere.
SCHEDULES = ((0.3, 0.2), (0.7, 0.3), (0.3, 0.2), (1.2, 0.2))
STEPS = 20_000  # of a walk
FRESH = 4  # every fourth walk begins at the start again, not at the best so far
WORK_PER_CALL = 5e7  # multiplications between two looks at the clock
PLAIN_WORK_PER_CALL = 2e5  # the same where nothing is compiled
CENTRE_STEPS = 50


def has_board(examples: Examples) -> bool:
    """Whether a board of these examples has enough rows to be worth walking on."""
    return (examples.d + 1) * FEWEST_ROWS <= BOARD_ENTRIES


@dataclass(frozen=True, eq=False)
class Ground:
    """Where walkers walk: the rows on a board, all of them or a sample, and a start on it."""

    board: Board
    scaling: Scaling
    start: Floats
    whole: bool

    @classmethod
    def of(cls, examples: Examples, rng: np.random.Generator, until: Deadline) -> Ground:
        """As many rows as a board should have."""
        kept = examples.kept.astype(np.intp)
        most = BOARD_ENTRIES // (examples.d + 1)
        whole = len(kept) <= most
        rows = kept if whole else np.sort(rng.choice(kept, most, replace=False))
        scaling = scaling_of(examples)
        board = board_of(examples, scaling, rows)
        return cls(board, scaling, logistic(board, until=until), whole)


class Walker:
    """One thread of the search: walk after walk, from its best so far or from the start."""

    def __init__(self, ground: Ground, rng: np.random.Generator) -> None:
        self.ground, self.rng = ground, rng
        N, D = ground.board.rows.shape
        self.few = 40 + N // 64
        self.line = descent.new_line(N, D, 512 + 8 * (N // 64))
        self.reaches = np.full(D + 2, 0.05)
        self.w, self.cost = ground.start.copy(), math.inf
        self.walks = 0
        work = WORK_PER_CALL if engine.compiles() else PLAIN_WORK_PER_CALL
        self.portion = int(min(STEPS, max(50, work // (N * (D + 4)))))

    def go(self, best: Best, until: Deadline) -> None:
        """Walk again and again, handing in what is better."""
        while best.goes_on and not until.over:
            if self.walk(best, until):
                self.hand_in(best)

    def walk(self, best: Best, until: Deadline) -> bool:
        """Walk once from hot to cold, a portion at a time; true if it found better weights."""
        fresh = self.walks % FRESH == FRESH - 1
        w, before = (self.ground.start if fresh else self.w).copy(), self.cost
        hot, cold = SCHEDULES[self.walks % len(SCHEDULES)]
        self.walks += 1
        portions = max(1, STEPS // self.portion)
        ratio = (cold / hot) ** (1 / portions)
        for i in range(portions):
            if not best.goes_on or until.over:
                break
            self._portion(w, (hot * ratio**i, hot * ratio ** (i + 1)))
            best.tell(self.portion)
        return self.cost < before

    def hand_in(self, best: Best) -> None:
        """Offer the best weights met; the middle of their cell where rounding spoils them."""
        w = self.w.copy()
        if not best.offer(self.ground.scaling.tall(w)):
            descent.run_centre(self.ground.board, self.line, w, CENTRE_STEPS, self.rng)
            best.offer(self.ground.scaling.tall(w))

    def _portion(self, w: Floats, temperatures: tuple[float, float]) -> None:
        improved = np.zeros_like(w)
        schedule = (self.cost, *temperatures, self.portion, self.few)
        cost = descent.run_anneal(
            self.ground.board, self.line, w, improved, schedule, self.reaches, self.rng
        )
        if cost < self.cost:
            self.cost, self.w = cost, improved


def logistic(board: Board, ridge: float = 1e-3, until: Deadline = NEVER) -> Floats:
    """Logistic regression on a board, as far as it gets in time: a convex start."""

    def loss(w: Floats) -> tuple[float, Floats]:
        s = board.rows @ w
        value = float(board.costs @ np.logaddexp(0.0, -s)) + 0.5 * ridge * float(w @ w)
        return value, ridge * w - board.rows.T @ (board.costs * expit(-s))

    def stop(w: Floats) -> None:
        if until.over:
            raise StopIteration

    zero, most = np.zeros(board.rows.shape[1]), {"maxiter": 200}
    result = minimize(loss, zero, jac=True, method="L-BFGS-B", options=most, callback=stop)
    w: Floats = result.x
    return w if w.any() else np.ones_like(w)
