"""More than two labels: epochs compared with scikit-learn, the average of w, and the verdict."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from scipy.optimize import linprog
from sklearn.linear_model import Perceptron as Peer

import rosenblatt as rb
from bench.line import Line
from bench.measure import Times, at_most, faster, figure
from bench.pla import EPOCHS, ROUNDS, SAME_EPOCHS, interleaved, side_by_side
from rosenblatt.examples import Examples, KeslerRows

HELD_OUT = 10_000
PATIENCE = 300.0  # seconds for a linear program


def digits(n: int, d: int = 784, K: int = 10) -> tuple[Any, Any]:
    """Return noisy images of K kinds, in which a fifth of the pixels are always dark."""
    rng = np.random.default_rng(n)
    kinds, y = rng.standard_normal((K, d), dtype=np.float32), rng.integers(0, K, n)
    X = np.float32(0.12) * kinds[y] + rng.standard_normal((n, d), dtype=np.float32)
    X[:, rng.random(d) < 0.2] = 0
    return X, y


def texts(n: int, d: int = 50_000, K: int = 20, words: int = 80) -> tuple[Any, Any]:
    """Return word counts of texts in which one word in ten is typical of the text's label."""
    rng = np.random.default_rng(n)
    y = rng.integers(0, K, n)
    common = (rng.pareto(1.1, (n, words)) * 50).astype(np.int64) % d
    own = (y[:, None] * 500 + (rng.pareto(1.5, (n, words)) * 20).astype(np.int64)) % d
    word = np.where(rng.random((n, words)) < 0.1, own, common)
    places = np.repeat(np.arange(n), words), word.ravel()
    return scipy.sparse.csr_matrix((np.ones(n * words), places), shape=(n, d)), y


def dense(quick: bool) -> Iterator[Line]:
    n = 5_000 if quick else 50_000
    X, y = digits(n + HELD_OUT)
    X, new, y, answers = X[:n], X[n:], y[:n], y[n:]
    ours, theirs = rb.Perceptron(max_iter=EPOCHS), Peer(**SAME_EPOCHS)
    times = side_by_side(ours, theirs, X, y)
    note = f"{ours.n_updates_:,} updates in {EPOCHS} epochs"
    yield faster("family.dense-50000x784", times["peer"], times["ours"], note)
    right = ours.score(new, answers), theirs.score(new, answers)
    note = f"{right[0]:.3f} of {HELD_OUT:,} held-out rows, scikit-learn {right[1]:.3f}"
    yield figure("family.accuracy", 100 * (right[0] - right[1]), note=note)
    mean = rb.Perceptron(max_iter=EPOCHS, average=True)
    works = {"mean": lambda: mean.fit(X, y), "last": lambda: ours.fit(X, y)}
    times = interleaved(works, ROUNDS)
    note = f"the mean is right on {mean.score(new, answers):.3f} of the held-out rows"
    yield at_most("family.average", times["mean"], times["last"], note)


def sparse(quick: bool) -> Iterator[Line]:
    X, y = texts(2_000 if quick else 20_000)
    ours, theirs = rb.Perceptron(max_iter=EPOCHS), Peer(**SAME_EPOCHS)
    times = side_by_side(ours, theirs, X, y)
    note = f"{X.nnz / X.shape[0]:.0f} entries per row; {ours.n_updates_:,} updates"
    yield faster("family.csr-20000x50000", times["peer"], times["ours"], note)


def separated(n: int, d: int, K: int) -> tuple[Any, Any]:
    """Return rows labeled by a random W, with a gap between the two highest scores."""
    rng = np.random.default_rng(n)
    W, X = rng.standard_normal((K, d + 1)), rng.standard_normal((2 * n, d))
    s = X @ W[:, 1:].T + W[:, 0]
    ahead = np.diff(np.sort(s, axis=1)[:, -2:], axis=1)[:, 0]
    kept = np.flatnonzero(ahead > 0.3)[:n]
    return X[kept], s[kept].argmax(axis=1)


def verdict(quick: bool) -> Iterator[Line]:
    """Time our verdict with a checked proof, and a linear program on all Kesler rows."""
    X, y = separated(1_000 if quick else 10_000, 50, 5)
    rb.separability(X[:100], y[:100], widest=False)
    begin = time.perf_counter()
    found = rb.separability(X, y, widest=False)
    ours = Times((time.perf_counter() - begin,))
    assert found.proof is not None
    assert found.proof.check(X, y)
    rows = KeslerRows(Examples.from_arrays(X, y))
    Z = rows.take(range(4 * len(y))).X
    begin = time.perf_counter()
    done = linprog(
        np.zeros(Z.shape[1]), A_ub=-Z, b_ub=-np.ones(Z.shape[0]), bounds=(None, None),
        method="highs", options={"time_limit": PATIENCE},
    )  # fmt: skip
    theirs = Times((time.perf_counter() - begin,))
    ended = "" if done.status != 1 else f", which was stopped after {PATIENCE:.0f} s"
    note = f"{found.verdict}, with a proof that was checked; HiGHS on {Z.shape[0]:,} rows{ended}"
    yield faster("family.verdict-10000x50", theirs, ours, note)


WORKS = {
    dense: ("family.dense", "family.accuracy", "family.average"),
    sparse: ("family.csr",),
    verdict: ("family.verdict",),
}
