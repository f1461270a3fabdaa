"""The lecture's pocket in blocks, against the same loop with every vector judged on its own."""

from __future__ import annotations

import statistics
import time
import tracemalloc

import numpy as np

import rosenblatt as rb
from bench.measure import row

NOISE = 0.05


def examples(n, d, seed=0):
    """A random plane through normal points, with 5 % of the answers flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    w = rng.normal(size=d + 1)
    y = np.sign(w[0] + X @ w[1:])
    y[rng.random(n) < NOISE] *= -1
    return X, y


def compiled():
    """The same loop, compiled: correct the given mistakes, judge each w(t) on all examples."""
    import numba

    @numba.njit(fastmath={"reassoc", "contract", "nsz"})
    def pocket(X, y, rows):
        w = np.zeros(X.shape[1] + 1)
        best, history = len(X), [(0, len(X))]
        for t in range(len(rows)):
            w[0] += y[rows[t]]
            w[1:] += y[rows[t]] * X[rows[t]]
            wrong = 0
            for n in range(len(X)):
                s = w[0]
                for i in range(X.shape[1]):
                    s += w[i + 1] * X[n, i]
                wrong += y[n] * s <= 0
            if wrong < best:
                best = wrong
                history.append((t + 1, wrong))
        return history

    return pocket


def by_numpy(X, y, rows):
    """The same loop in NumPy, a vector at a time: find the mistakes, correct one, count again."""
    tall = np.column_stack([np.ones(len(X)), X])
    w = np.zeros(tall.shape[1])
    history = [(0, len(X))]
    for t, n in enumerate(rows, start=1):
        assert n in np.flatnonzero(y * (tall @ w) <= 0)
        w = w + y[n] * tall[n]
        wrong = np.count_nonzero(y * (tall @ w) <= 0)
        if wrong < history[-1][1]:
            history.append((t, int(wrong)))
    return history


def timed(work):
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


def against_loops(quick):
    n, d, T = (20_000, 50, 500) if quick else (50_000, 50, 2000)
    X, y = examples(n, d)
    fit = lambda: rb.PocketPerceptron(T, random_state=0).fit(X, y)  # noqa: E731
    loop = compiled()
    trace = fit().trace_.examples
    loop(X[:100], y[:100], trace[:0])
    few = trace[: T // 10]
    ours, theirs, numpys = [], [], []
    for _ in range(3):
        seconds, clf = timed(fit)
        ours.append(seconds)
        seconds, history = timed(lambda: loop(X, y, trace))
        theirs.append(seconds)
        assert [tuple(pair) for pair in history] == clf.history_
        seconds, history = timed(lambda: by_numpy(X, y, few))
        numpys.append(seconds * T / len(few))
        assert history == [pair for pair in clf.history_ if pair[0] <= len(few)]
    mine = statistics.median(ours)
    ratios = [statistics.median(other) / mine for other in (theirs, numpys)]
    size = f"pocket, {n:,} × {d}, {T:,} corrections"
    return [
        row(f"{size}, against one vector at a time, compiled", "≥ 10 ×",
            f"{ratios[0]:.1f} × ({mine:.2f} s)", ratios[0] >= 10),
        row(f"{size}, against NumPy a vector at a time", "≥ 100 ×",
            f"{ratios[1]:.1f} × (from {len(few)} corrections)", ratios[1] >= 100),
    ]  # fmt: skip


def large(quick):
    n, d, T, block = (200_000, 30, 500, 256) if quick else (1_000_000, 30, 1000, 256)
    X, y = examples(n, d)
    W = np.random.default_rng(0).normal(size=(d, block))
    rb.PocketPerceptron(10, random_state=0).fit(X[:1000], y[:1000])
    product = statistics.median(timed(lambda: _product(X, W))[0] for _ in range(3))
    tracemalloc.start()
    seconds, _ = timed(lambda: rb.PocketPerceptron(T, random_state=0).fit(X, y))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    products = seconds / product / (T / block)
    share = 1 + peak / X.nbytes
    size = f"pocket, {n:,} × {d}, {T:,} corrections"
    return [
        row(f"{size}: matrix products of {block} vectors", "≤ 3 a block",
            f"{products:.2f} a block ({seconds:.1f} s)", products <= 3),
        row(f"{size}: memory", "≤ 1.5 × the data", f"{share:.2f} ×", share <= 1.5),
    ]  # fmt: skip


def _product(X, W):
    for start in range(0, len(X), 4096):
        X[start : start + 4096] @ W


def against_fukuml(quick):
    try:
        from FukuML import PocketPLA
    except ImportError:
        return [row("pocket against FukuML", "≥ 500 ×", "FukuML is not installed here", False)]
    import tempfile

    n, d, T = (500, 10, 50) if quick else (5000, 10, 200)
    X, y = examples(n, d)
    with tempfile.NamedTemporaryFile("w", suffix=".dat") as file:
        np.savetxt(file.name, np.column_stack([X, y]), fmt="%.17g")

        def theirs():
            pla = PocketPLA.BinaryClassifier()
            pla.load_train_data(file.name)
            pla.set_param(loop_mode="random", step_alpha=1, updates=T)
            pla.init_W()
            return pla.train()

        rb.PocketPerceptron(T, random_state=0).fit(X, y)
        other = statistics.median(timed(theirs)[0] for _ in range(3))
    mine = statistics.median(
        timed(lambda: rb.PocketPerceptron(T, random_state=0).fit(X, y))[0] for _ in range(9)
    )
    ratio = other / mine
    return [row(f"pocket against FukuML, {n:,} × {d}, {T} corrections", "≥ 500 ×",
                f"{ratio:.0f} × ({other:.2f} s against {mine:.4f} s)", ratio >= 500)]  # fmt: skip


def run(quick: bool) -> list[dict]:
    return [*against_loops(quick), *large(quick), *against_fukuml(quick)]
