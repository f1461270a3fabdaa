"""Generate random data sets in the plane and settings to train on them."""

import numpy as np

from rosenblatt import algorithms
from rosenblatt.algorithms.pocket import PocketPlan
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import ZEROS

EXTREMES = [0.0, -0.0, 5e-324, -1e-320, 1e-160, 1.0, 1e9, -1e9, 0.1, 1 / 3]
KINDS = {
    "two decimals": lambda rng, n: rng.uniform(-1, 1, (n, 2)).round(2),
    "a coarse grid": lambda rng, n: rng.integers(-2, 3, (n, 2)).astype(float),
    "tenths, which no double is": lambda rng, n: rng.integers(-3, 4, (n, 2)) * 0.1,
    "all scales": lambda rng, n: rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-8, 9, (n, 2)),
    "one line": lambda rng, n: np.outer(rng.integers(-3, 4, n), [1, 2]) * 0.1,
    "far away": lambda rng, n: 1e8 + rng.integers(0, 3, (n, 2)) * 2.0**-20,
    "extremes": lambda rng, n: rng.choice(EXTREMES, (n, 2)),
    "all digits": lambda rng, n: rng.uniform(-1, 1, (n, 2)),
}


def plane(rng, kind):
    """Return points and labels of a line, half of the time with some labels flipped."""
    n = int(rng.integers(2, 40))
    X, w = KINDS[kind](rng, n), rng.normal(size=3)
    y = np.where(0.3 * w[0] + X @ w[1:] > 0, 1, -1)
    if rng.random() < 0.5:
        y = np.where(rng.random(n) < rng.choice([0.05, 0.3, 0.5]), -y, y)
    y[:2] = 1, -1
    return Examples.from_arrays(X, y, labels=np.array([-1, 1]))


def labelled_plane(rng, kind):
    """Return points with three to five labels, by the highest score, some flipped."""
    k = int(rng.integers(3, 6))
    n = int(rng.integers(k, 40))
    X, w = KINDS[kind](rng, n), rng.normal(size=(k, 3)) * [0.3, 1, 1]
    y = (w[:, 0] + X @ w[:, 1:].T).argmax(axis=1)
    if rng.random() < 0.5:
        y = np.where(rng.random(n) < rng.choice([0.05, 0.3]), rng.integers(k, size=n), y)
    y[:k] = np.arange(k)
    return Examples.from_arrays(X, y)


def settings(rng, blocks=1):
    """Return settings of the page; with more than two labels, w has a block per label."""
    algorithm = str(rng.choice(["pla", "pocket", "ratchet", "online"]))
    order = "cycle" if algorithm == "online" else str(rng.choice(algorithms.ORDERS))
    start = np.zeros(3 * blocks) if rng.random() < 0.6 else rng.normal(size=3 * blocks).round(2)
    return {
        "algorithm": algorithm,
        "order": order,
        "zero": str(rng.choice(list(ZEROS))),
        "eta": float(rng.choice([1, 1, 0.1, 0.3, 3e-5])),
        "start": start.tolist(),
        "random_state": int(rng.integers(2**31)),
        "max_updates": int(rng.choice([30, 200, 1000])),
    }


def train_in_python(examples, chosen):
    """Train in Python with the settings of the page."""
    rng = np.random.default_rng(chosen["random_state"])
    rule = algorithms.Rule(chosen["order"], ZEROS[chosen["zero"]], chosen["eta"], rng)
    start = np.array(chosen["start"], dtype=float)
    if chosen["algorithm"] == "online":
        return algorithms.online(examples, rule, start)
    budget = algorithms.Budget(10**9, chosen["max_updates"])
    if chosen["algorithm"] == "pla":
        return algorithms.pla(examples, rule, budget, start)
    plan = PocketPlan(ratchet=chosen["algorithm"] == "ratchet")
    return algorithms.pocket(examples, rule, budget, start, plan)
