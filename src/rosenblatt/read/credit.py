"""A simulation of credit approvals, the example of the lecture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

COLUMNS = ("age", "annual salary", "years in job", "current debt")
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
    table = {name: people[:, i] for i, name in enumerate(COLUMNS)}
    table["age"] = table["age"].astype(np.int64)
    labels = np.where(approved ^ flipped, "yes", "no")
    return pa.table({**table, "approved": labels.tolist()})
