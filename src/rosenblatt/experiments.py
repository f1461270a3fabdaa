"""Simulations of the lecture: credit approvals, and PLA on data from many random targets."""

from __future__ import annotations

import numbers
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.algorithms as algorithms
import rosenblatt.checks as checks
from rosenblatt.examples import Examples
from rosenblatt.show.scene import area, clip
from rosenblatt.text import plural, render_bars, render_card

FRESH_EXAMPLES = 10_000


@dataclass(frozen=True, eq=False)
class Experiment:
    """Result of `experiment`: the updates and the error of each run of PLA.

    In each run f is a random target, and g is the hypothesis that PLA finds.

    Parameters
    ----------
    updates : int array of shape (runs,)
        Number of updates that PLA made in each run.
    disagreement : float array of shape (runs,)
        P[f(x) ≠ g(x)] for a new x in each run: exact in one and two dimensions, estimated from
        10,000 new examples in more.
    separated : bool array of shape (runs,)
        Whether PLA halted without mistakes, as it always does without noise.
    target, g : arrays of shape (dim + 1,)
        Augmented weights of f and g in the last run.
    """

    updates: NDArray[np.int64]
    disagreement: NDArray[np.float64]
    separated: NDArray[np.bool_]
    target: NDArray[np.float64]
    g: NDArray[np.float64]

    def __str__(self) -> str:
        u, p = self.updates, self.disagreement
        return (
            f"{plural(len(u), 'run')}: median {plural(float(np.median(u)), 'update')} "
            f"(mean {u.mean():.1f}), "
            f"P[f≠g] {p.mean():.4f} on average, {self.separated.sum():,} halted without mistakes"
        )

    def _repr_html_(self) -> str:
        counts = np.histogram(self.updates, bins=60)[0].tolist()
        title, rest = str(self).split(": ", 1)
        return render_card(title, [("", rest)], render_bars(counts, "runs by number of updates"))


def experiment(
    n_examples: int,
    runs: int,
    *,
    dim: int = 2,
    order: str = "random",
    noise: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> Experiment:
    """Run PLA on many data sets labeled by random lines; measure updates and final errors.

    Each run draws a target f, a line through random points of [-1, 1]^dim (a point in one
    dimension, a hyperplane in more than two), draws `n_examples` examples, and runs PLA from
    w(0) = 0. The error of its hypothesis g is P[f(x) ≠ g(x)].

    Parameters
    ----------
    n_examples : int
        Number of examples in each run.
    runs : int
        Number of runs.
    dim : int, default=2
        Number of features.
    order : str, default="random"
        Order in which PLA visits the examples, as in `Perceptron`.
    noise : float, default=0.0
        Probability that a label is flipped. PLA then stops after 1000 epochs at the latest.
    random_state : int or Generator, optional
        Seed or generator of the random numbers. The same int gives the same runs.

    Returns
    -------
    Experiment
        The updates and the disagreement of each run.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> result = rb.experiment(10, 200, random_state=0)
    >>> len(result.updates), bool(result.separated.all())
    (200, True)
    """
    for name, value in (("n_examples", n_examples), ("runs", runs), ("dim", dim)):
        checks.whole_number(name, value, least=1)
    checks.one_of("order", order, algorithms.ORDERS)
    if not isinstance(noise, numbers.Real) or not 0 <= float(noise) <= 1:
        raise ValueError(f"noise is {noise!r}; give a probability from 0 to 1.")
    rng = np.random.default_rng(random_state)
    rule = algorithms.Rule(order, rng=rng)
    # Without noise PLA always halts, so the number of epochs is not limited.
    budget = algorithms.Budget() if noise else algorithms.Budget(epochs=sys.maxsize)
    updates = np.empty(runs, dtype=np.int64)
    disagreement, separated = np.empty(runs), np.empty(runs, dtype=np.bool_)
    target = g = np.zeros(dim + 1)
    for i in range(runs):
        target = draw_target(dim, rng)
        X = rng.uniform(-1, 1, (n_examples, dim))
        y = np.where(X @ target[1:] + target[0] > 0, 1, -1).astype(np.int8)
        if noise:
            y[rng.random(n_examples) < noise] *= -1
        run = algorithms.pla(Examples(X, y, np.array([-1, 1])), rule, budget)
        g = run.hypothesis.w
        updates[i], separated[i] = run.updates, run.separated
        disagreement[i] = measure_disagreement(target, g, rng)
    return Experiment(updates, disagreement, separated, target, g)


def draw_target(dim: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a random hyperplane, and return its augmented weights."""
    points = np.column_stack((np.ones(dim), rng.uniform(-1, 1, (dim, dim))))
    # The only direction orthogonal to all augmented points: the last right singular vector.
    normal = np.linalg.svd(points)[2][-1]
    return np.asarray(normal * rng.choice([-1.0, 1.0]))


def measure_disagreement(
    f: NDArray[np.float64], g: NDArray[np.float64], rng: np.random.Generator
) -> float:
    """Return P[f(x) ≠ g(x)] for the target f, the learned g and x uniform in [-1, 1]^dim.

    It is exact in one and two dimensions, and estimated from new examples in more.
    """
    dim = len(f) - 1
    if dim > 2:
        X = rng.uniform(-1, 1, (FRESH_EXAMPLES, dim))
        return float(np.mean((X @ f[1:] + f[0] > 0) != (X @ g[1:] + g[0] > 0)))
    if dim == 1:  # add a second feature of weight 0, to compute areas in the square
        f, g = np.append(f, 0.0), np.append(g, 0.0)
    square = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
    f_only = area(clip(clip(square, f), -g))
    g_only = area(clip(clip(square, -f), g))
    return (f_only + g_only) / 4


CREDIT_COLUMNS = ("age", "annual salary", "years in job", "current debt")
# The bank's rule: points per year of age, thousand of salary, year in job and thousand of debt,
# and the points needed for approval.
POINTS = np.array([1.0, 2.0, 3.0, -4.0])
NEEDED = 60.0


def credit(n: int = 1000, noise: float = 0.0, seed: int = 0) -> Any:
    """Simulate applicants for credit and the decisions of a bank.

    A linear rule decides. Applicants within two points of the threshold are left out, so that the
    rule can be found quickly.

    Parameters
    ----------
    n : int
        Number of applicants.
    noise : float
        Share of flipped labels; above 0 the labels are not separable.
    seed : int
        Random seed.

    Examples
    --------
    >>> credit(3).column_names
    ['age', 'annual salary', 'years in job', 'current debt', 'approved']
    """
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    drawn = 4 * n + 100
    age = rng.integers(18, 71, drawn).astype(np.float64)
    salary = np.round(np.exp(rng.normal(3.6, 0.45, drawn)), 1)
    years = np.round(np.minimum(rng.exponential(6.0, drawn), age - 17), 1)
    debt = np.round(rng.exponential(18.0, drawn), 1)
    people = np.column_stack([age, salary, years, debt])
    points = people @ POINTS - NEEDED
    clear = np.flatnonzero(np.abs(points) >= 2.0)[:n]
    people, approved = people[clear], points[clear] > 0
    flipped = rng.random(len(clear)) < noise
    people[:, [1, 3]] *= 1000.0  # salary and debt in units, not in thousands
    table = {name: people[:, i] for i, name in enumerate(CREDIT_COLUMNS)}
    table["age"] = table["age"].astype(np.int64)
    labels = np.where(approved ^ flipped, "yes", "no")
    return pa.table({**table, "approved": labels.tolist()})
