"""Examples to draw."""

import numpy as np


def cloud(n=60, d=2, noise=0, gap=0.1):
    """Examples around a line, their answers as words; `noise` of them turned around."""
    rng = np.random.default_rng(5)
    w, X = rng.normal(size=d), rng.uniform(-1, 1, (4 * n, d))
    score = X @ w / np.linalg.norm(w) + 0.1
    far = np.abs(score) > gap
    X, y = X[far][:n], score[far][:n] > 0
    y[:noise] = ~y[:noise]
    return X, np.where(y, "good", "bad")
