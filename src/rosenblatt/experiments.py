"""Exercise 1.4 many times: a random target line, PLA, and how far g is from f."""

from __future__ import annotations

import numbers
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import rosenblatt.algorithms as algorithms
import rosenblatt.checks as checks
from rosenblatt.examples import Examples
from rosenblatt.show.regions import area, clip
from rosenblatt.words import bars, card, counted

FRESH_EXAMPLES = 10_000


@dataclass(frozen=True, eq=False)
class Experiment:
    """What came out of many runs of PLA on random targets.

    Parameters
    ----------
    updates : int array of shape (runs,)
        The corrections PLA made in each run.
    disagreement : float array of shape (runs,)
        P[f(x) ≠ g(x)] for a fresh x in each run: exact in one and two dimensions, from
        10,000 fresh examples in more.
    separated : bool array of shape (runs,)
        Whether PLA halted with no mistakes; always, without noise.
    target, g : arrays of shape (dim + 1,)
        The tall weights of f and g in the last run.
    """

    updates: NDArray[np.int64]
    disagreement: NDArray[np.float64]
    separated: NDArray[np.bool_]
    target: NDArray[np.float64]
    g: NDArray[np.float64]

    def __str__(self) -> str:
        u, p = self.updates, self.disagreement
        return (
            f"{counted(len(u), 'run')}: median {counted(float(np.median(u)), 'correction')} "
            f"(mean {u.mean():.1f}), "
            f"P[f≠g] {p.mean():.4f} on average, {self.separated.sum():,} halted with no mistakes"
        )

    def _repr_html_(self) -> str:
        counts = np.histogram(self.updates, bins=60)[0].tolist()
        told, rest = str(self).split(": ", 1)
        return card(told, [("", rest)], bars(counts, "runs by their corrections"))


def experiment(
    n_examples: int,
    runs: int,
    *,
    dim: int = 2,
    order: str = "random",
    noise: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> Experiment:
    """Learn many random targets in [-1, 1]^dim and count corrections and disagreement.

    Each run draws a target line through random points (a point in one dimension, a hyperplane
    in more than two), `n_examples` examples, and runs PLA from w(0) = 0.

    Parameters
    ----------
    n_examples : int
        Examples in each run.
    runs : int
        How many runs.
    dim : int, default=2
        The number of features.
    order : str, default="random"
        As in `Perceptron`.
    noise : float, default=0.0
        The chance that an answer is flipped; then PLA may end by its budget of 1000 cycles.
    random_state : int or Generator, optional
        The same int gives the same runs.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> result = rb.experiment(10, 200, random_state=0)
    >>> len(result.updates), bool(result.separated.all())
    (200, True)
    """
    _check(n_examples, runs, dim, order, noise)
    rng = np.random.default_rng(random_state)
    rule = algorithms.Rule(order, rng=rng)
    # Without noise PLA always halts, so it is given all the time it may need.
    budget = algorithms.Budget() if noise else algorithms.Budget(cycles=sys.maxsize)
    updates = np.empty(runs, dtype=np.int64)
    disagreement, separated = np.empty(runs), np.empty(runs, dtype=np.bool_)
    target = g = np.zeros(dim + 1)
    for i in range(runs):
        target = random_target(dim, rng)
        run = algorithms.pla(random_examples(target, n_examples, noise, rng), rule, budget)
        g = run.hypothesis.w
        updates[i], separated[i] = run.corrections, run.separated
        disagreement[i] = disagree(target, g, rng)
    return Experiment(updates, disagreement, separated, target, g)


def random_target(dim: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """The tall weights of the hyperplane through `dim` random points, with a random side."""
    points = np.column_stack((np.ones(dim), rng.uniform(-1, 1, (dim, dim))))
    # The only direction orthogonal to all the tall points: the last right singular vector.
    normal = np.linalg.svd(points)[2][-1]
    return np.asarray(normal * rng.choice([-1.0, 1.0]))


def random_examples(
    target: NDArray[np.float64], n: int, noise: float, rng: np.random.Generator
) -> Examples:
    """n random examples answered by a tall target, each answer flipped with chance `noise`."""
    X = rng.uniform(-1, 1, (n, len(target) - 1))
    y = np.where(X @ target[1:] + target[0] > 0, 1, -1).astype(np.int8)
    if noise:
        y[rng.random(n) < noise] *= -1
    return Examples(X, y, np.array([-1, 1]))


def disagree(f: NDArray[np.float64], g: NDArray[np.float64], rng: np.random.Generator) -> float:
    """P[f(x) ≠ g(x)] for tall weights and x uniform in [-1, 1]^dim; by chance beyond the plane."""
    dim = len(f) - 1
    if dim > 2:
        X = rng.uniform(-1, 1, (FRESH_EXAMPLES, dim))
        return float(np.mean((X @ f[1:] + f[0] > 0) != (X @ g[1:] + g[0] > 0)))
    if dim == 1:  # the same square, with a feature that no weight looks at
        f, g = np.append(f, 0.0), np.append(g, 0.0)
    square = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
    f_only = area(clip(clip(square, f), -g))
    g_only = area(clip(clip(square, -f), g))
    return (f_only + g_only) / 4


def _check(n_examples: int, runs: int, dim: int, order: str, noise: float) -> None:
    for name, value in (("n_examples", n_examples), ("runs", runs), ("dim", dim)):
        checks.whole_number(name, value, least=1)
    checks.one_of("order", order, algorithms.ORDERS)
    if not isinstance(noise, numbers.Real) or not 0 <= float(noise) <= 1:
        raise ValueError(f"noise is {noise!r}; give a chance from 0 to 1.")
