"""Line searches over all examples, for data too large or too wide to be put on a board."""

from __future__ import annotations

import numpy as np

from rosenblatt.algorithms import descent
from rosenblatt.algorithms.best import Best, Floats
from rosenblatt.algorithms.board import Scaling, scaling_of
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis

COLD = 1e-3  # a temperature at which only the fewest mistakes are chosen
SAMPLE = 10_000  # rows among which those near the line are looked for
NEAR = 64
WIDE = 1000  # columns, beyond which one of them changes too little


def along_lines(best: Best, examples: Examples, rng: np.random.Generator) -> None:
    """Move along line after line to the fewest mistakes on it, until the time is over."""
    scaling = scaling_of(examples)
    v = scaling.scaled(best.w)
    v = v / (np.linalg.norm(v) or 1.0)
    costs = np.ones(examples.n) if examples.weights is None else examples.weights
    line = descent.new_line(examples.n, 0, 512 + examples.n // 8)
    line.s[:] = _signed_scores(examples, scaling.tall(v))
    cost, reach = best.mistakes, 0.05
    while best.goes_on:
        direction = _direction(examples, scaling, line.s, rng)
        line.g[:] = _signed_scores(examples, scaling.tall(direction))
        a, cost, met = descent.run_step(line, costs, reach, cost, COLD, rng)
        reach *= 0.5 if met < 0 else (1.1 if met < examples.n // 16 + 64 else 0.9)
        v += a * direction
        if cost < best.mistakes:
            best.offer(scaling.tall(v))
        best.tell(1)


def _signed_scores(examples: Examples, w: Floats) -> Floats:
    return np.asarray(examples.y * Hypothesis(w, examples.x0).scores(examples.X))


def _direction(examples: Examples, scaling: Scaling, s: Floats, rng: np.random.Generator) -> Floats:
    """A coordinate, an example, or the way that examples near the line would push it."""
    D = examples.d + 1
    chance = rng.random()
    v = np.zeros(D)
    if chance < 0.4 and D <= WIDE:
        v[rng.integers(D)] = 1.0
        return v
    step = max(1, len(s) // SAMPLE)
    near = np.argsort(np.abs(s[::step]))[:NEAR] * step
    chosen = rng.choice(near, 1 if chance < 0.6 else (len(near) + 1) // 2, replace=False)
    rows = scaling.rows(examples.X[chosen]) * examples.y[chosen, None]
    v = rows.sum(axis=0)
    if chance > 0.8:
        v += 0.1 * rng.standard_normal(D)
    v[1:][scaling.width == 0] = 0.0
    return np.asarray(v / (float(np.linalg.norm(v)) or 1.0))
