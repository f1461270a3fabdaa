"""Create examples and results for plots."""

from dataclasses import replace

import numpy as np

import rosenblatt as rb


def cloud(n=60, d=2, noise=0, gap=0.1):
    """Return examples on both sides of a line, with `noise` labels flipped."""
    rng = np.random.default_rng(5)
    w, X = rng.normal(size=d), rng.uniform(-1, 1, (4 * n, d))
    score = X @ w / np.linalg.norm(w) + 0.1
    far = np.abs(score) > gap
    X, y = X[far][:n], score[far][:n] > 0
    y[:noise] = ~y[:noise]
    return X, np.where(y, "good", "bad")


def searched():
    """Return the result of a search that its time limit ended."""
    found = rb.fewest_mistakes([[0.0], [1.0], [2.0]], [0, 1, 0])
    history = ((0.1, 40, 0), (0.4, 19, 2), (1.0, 16, 8), (1.5, 14, 9), (2.5, 14, 11), (3.0, 14, 11))
    return replace(found, mistakes=14, lower_bound=11, optimal=False, history=history)
