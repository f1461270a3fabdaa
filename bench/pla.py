"""PLA: passes against BLAS, cycles against scikit-learn, memory, and the cost of importing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as Peer
from threadpoolctl import threadpool_limits

import rosenblatt as rb
from bench.measure import Times, at_most, faster, in_new_process, interleaved, row
from rosenblatt.examples import Examples

CYCLES = 5


def planted(n: int, d: int, dtype: type = np.float64) -> tuple[Any, Any, Any]:
    """Rows with answers by a random w, each row moved away from the line by a margin."""
    rng = np.random.default_rng(n + d)
    w = rng.standard_normal(d)
    w /= np.linalg.norm(w)
    X = rng.standard_normal((n, d))
    s = X @ w
    X += np.outer(0.3 * np.sign(s), w)
    return X.astype(dtype), np.sign(s).astype(np.int64), w.astype(dtype)


def noisy(X: Any, y: Any) -> Any:
    """The same answers, one in a hundred flipped, so that every cycle has corrections to make."""
    rng = np.random.default_rng(0)
    return np.where(rng.random(len(y)) < 0.01, -y, y)


def one_clean_cycle(n: int, d: int, dtype: type) -> dict[str, Any]:
    X, y, w = planted(n, d, dtype)
    examples, start = Examples.from_arrays(X, y), np.concatenate(([0.0], w))
    rows, order = examples.rows(), examples.kept

    from rosenblatt import engine

    trace, ends = np.empty(2**16, dtype=np.uint32), np.empty(1, dtype=np.int64)
    corrections = engine.pla(rows, order, 0, start.copy(), (0, 0, n), trace, ends)[2]
    assert corrections <= n // 1000, "the cycle is meant to be clean or nearly so"
    with threadpool_limits(1):
        times = interleaved(
            {
                "ours": lambda: engine.pla(rows, order, 0, start.copy(), (0, 0, n), trace, ends),
                "blas": lambda: X @ w,
            }
        )
    name = f"one clean cycle, {n:,} × {d} {np.dtype(dtype).name}, against X @ w"
    return at_most(name, times["ours"], times["blas"], 1.3)


def against_peer(X: Any, y: Any, least: float, name: str, repeats: int = 5) -> dict[str, Any]:
    ours = rb.Perceptron(max_iter=CYCLES)
    peer = Peer(max_iter=CYCLES, tol=None, shuffle=False)
    with threadpool_limits(1):
        times = interleaved(
            {"ours": lambda: ours.fit(X, y), "peer": lambda: peer.fit(X, y)}, repeats
        )
    right, theirs = ours.score(X, y), peer.score(X, y)
    assert right > theirs - 0.05, (
        f"ours is right on {right:.3f} of the rows, the peer on {theirs:.3f}"
    )
    return faster(name, times["peer"], times["ours"], least)


def heavy_tailed(n: int, d: int) -> tuple[Any, Any]:
    """Rows of about 67 entries whose columns are as unevenly used as words are."""
    rng = np.random.default_rng(1)
    counts = np.maximum(1, rng.lognormal(4.25, 0.6, n).astype(int))
    popularity = 1.0 / np.arange(1, d + 1)
    columns = rng.choice(d, size=counts.sum(), p=popularity / popularity.sum())
    rows = np.repeat(np.arange(n), counts)
    X = scipy.sparse.coo_matrix((rng.random(len(rows)), (rows, columns)), (n, d)).tocsr()
    return X, np.where(X @ rng.standard_normal(d) > 0, 1, -1)


def extra_memory(n: int, d: int) -> dict[str, Any]:
    code = f"""
import json, tracemalloc, warnings, numpy as np, rosenblatt as rb
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, w = rng.standard_normal(({n}, {d})), rng.standard_normal({d})
y = np.sign(X @ w)
rb.Perceptron(max_iter=2).fit(X[:100], y[:100])
tracemalloc.start()
rb.Perceptron(max_iter=5).fit(X, y)
print(json.dumps([tracemalloc.get_traced_memory()[1], X.nbytes]))
"""
    peak, size = in_new_process(code)
    figure, most = peak / n, (0.1 * size + 16 * n) / n
    work = f"extra memory while fitting {n:,} × {d} float64, bytes a row"
    return row(work, f"≤ {most:g}", figure, figure <= most)


def importing() -> dict[str, Any]:
    code = "import subprocess, sys, json, time\n" + (
        "def once(name):\n"
        "    begin = time.perf_counter()\n"
        "    subprocess.run([sys.executable, '-c', 'import ' + name], check=True)\n"
        "    return time.perf_counter() - begin\n"
        "once('numpy'); once('rosenblatt')\n"
        "print(json.dumps([[once('rosenblatt'), once('numpy')] for _ in range(9)]))"
    )
    pairs = np.array(in_new_process(code))
    ours, peer = Times(tuple(pairs[:, 0])), Times(tuple(pairs[:, 1]))
    return at_most("a process that imports rosenblatt, against numpy", ours, peer, 1.2)


def separated_sets() -> dict[str, Any]:
    ours = peers = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        w = rng.standard_normal(11)
        w /= np.linalg.norm(w)
        X = rng.standard_normal((3000, 10))
        s = X @ w[1:] + w[0]
        X, y = X[np.abs(s) >= 0.02][:300], np.sign(s[np.abs(s) >= 0.02])[:300]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ours += bool(np.all(rb.Perceptron().fit(X, y).predict(X) == y))
            peers += bool(np.all(Peer().fit(X, y).predict(X) == y))
    work = "separable sets separated of 200 (N=300, d=10, margin 0.02) by default"
    return row(work, "200", ours, ours == 200, f"scikit-learn's default: {peers}")


def experiments() -> dict[str, Any]:
    times = interleaved({"ours": lambda: rb.experiment(100, 1000, random_state=0)}, 3)
    seconds = times["ours"].median
    return row("1,000 experiments of N = 100, seconds", "well under 2", seconds, seconds < 1)


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Every line of speed and memory promised for PLA."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    small = 10 if quick else 1
    rows = [
        one_clean_cycle(1_000_000 // small, 30, np.float64),
        one_clean_cycle(50_000 // small, 784, np.float32),
    ]
    for n, d, least in ((100_000, 10, 5), (1_000_000, 30, 3), (200_000, 100, 2.5)):
        X, y, _ = planted(n // small, d)
        name = f"5 cycles, {n // small:,} × {d} float64, against scikit-learn"
        rows.append(against_peer(X, noisy(X, y), least, name))
    X, y = heavy_tailed(100_000 // small, 47_000)
    name = f"5 cycles, CSR {X.shape[0]:,} × {X.shape[1]:,}, {X.nnz / X.shape[0]:.0f} entries a row"
    rows.append(against_peer(X, y, 1.7, name))
    X, y, _ = planted(1000, 10)
    rows.append(against_peer(X, y, 3, "fit of 1,000 × 10, against scikit-learn", repeats=200))
    return [
        *rows,
        extra_memory(1_000_000 // small, 30),
        importing(),
        separated_sets(),
        experiments(),
    ]
