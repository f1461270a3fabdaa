"""Our pocket, which judges weight vectors in blocks, compared with loops that judge each alone."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np

import rosenblatt as rb
from bench.line import Line
from bench.measure import at_most, faster, figure, interleaved, peer, rounds
from rosenblatt import engine
from rosenblatt.algorithms import sieve as sieving
from rosenblatt.algorithms.sieve import Sieve
from rosenblatt.examples import Examples

NOISE = 0.05


def examples(n, d, seed=0):
    """Label normal points by a random plane, with 5 % of the labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    w = rng.normal(size=d + 1)
    y = np.sign(w[0] + X @ w[1:])
    y[rng.random(n) < NOISE] *= -1
    return X, y


def compiled():
    """Return a compiled pocket loop that updates on given rows and judges each w(t)."""
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
    """Run the pocket loop in NumPy, which counts the mistakes of each w(t) on all rows."""
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


def beside_loops(quick: bool) -> Iterator[Line]:
    """Compare with loops that make the same updates and judge each vector on its own.

    All of them must have the same pocket after the same updates.
    """
    n, T = (20_000, 500) if quick else (50_000, 2000)
    X, y = examples(n, 50)
    clf = rb.PocketPerceptron(T, random_state=0).fit(X, y)
    trace, loop = clf.trace_.examples, compiled()
    few = trace[: T // 20]
    loop(X[:100], y[:100], trace[:0])
    assert [tuple(pair) for pair in loop(X, y, trace)] == clf.history_
    assert by_numpy(X, y, few) == [pair for pair in clf.history_ if pair[0] <= len(few)]
    works = {
        "ours": lambda: rb.PocketPerceptron(T, random_state=0).fit(X, y),
        "compiled": lambda: loop(X, y, trace),
        "numpy": lambda: by_numpy(X, y, few),
    }
    times = rounds(works, 11, pause=0.2)
    note = f"the same pocket at the same updates; {times['ours'].median:.2f} s"
    yield faster("pocket.compiled-50000x50", times["compiled"], times["ours"], note)
    note = f"NumPy from its first {len(few)} updates, times {T // len(few)}; the same pocket"
    yield faster("pocket.numpy-50000x50", times["numpy"].scaled(T / len(few)), times["ours"], note)


def limit(quick: bool) -> Iterator[Line]:
    """Compare a run with a pass of only the products that any pocket needs.

    To reject a w, at least as many rows must be scored as the pocket has mistakes; to accept a w,
    all rows. The pass takes these numbers from a finished run. It scores rows in file order, which
    are already rounded to integers: it makes no updates and reads no doubles.
    """
    n, T = (20_000, 500) if quick else (50_000, 2000)
    X, y = examples(n, 50)
    clf = rb.PocketPerceptron(T, random_state=0).fit(X, y)
    fewest, entered = np.zeros(T + 1, dtype=np.int64), [t for t, _ in clf.history_]
    fewest[entered] = np.diff([wrong for _, wrong in clf.history_], prepend=0)
    need = np.concatenate([[n], np.cumsum(fewest)[:-1]])
    need[entered] = n
    work = flat_pass(X, y, np.array([clf.trace_.weights(t) for t in range(1, T + 1)]), need[1:])
    works = {"ours": lambda: rb.PocketPerceptron(T, random_state=0).fit(X, y), "flat": work}
    work()
    times = rounds(works, 11, pause=0.2)
    note = (
        f"{1e3 * times['ours'].median:.1f} ms against {1e3 * times['flat'].median:.1f} ms, "
        f"{need[1:].mean():,.0f} of {n:,} rows for each of {T:,} vectors"
    )
    yield at_most("pocket.limit-50000x50", times["ours"], times["flat"], note)


def flat_pass(X: Any, y: Any, W: Any, need: Any) -> Any:
    """Return a function that computes the needed products of each w with the sieve's code.

    It uses all cores.
    """
    sieve = Sieve(Examples.from_arrays(X, y))
    batch = sieve.batch(W, np.zeros(len(W)))
    _, packed = sieve.pack(batch)
    # Vectors that need the most rows first, in pairs as the products need them, and in batches
    # that fit into the cache.
    order = np.argsort(-need, kind="stable").reshape(-1, 2)
    shares = [some.ravel() for some in np.array_split(order, len(W) // sieving.BATCH)]
    parts = [(packed.tiles, batch.units[some], need[some], batch.error) for some in shares]
    kernel = engine.Kernel(products, sieving.bind)

    def take(some: slice) -> None:
        for part in parts[some]:
            kernel(*part)

    def flat() -> None:
        engine.in_threads(take, len(parts), X.size * len(W))

    return flat


def products(tiles, units, need, slack):
    """Count the surely misclassified rows among the needed rows of all candidates."""
    total = 0
    for j in range(len(tiles)):
        for b in range(0, len(units), 2):
            if need[b] <= j * sieving.TILE:
                break
            wrong, _, wrong_too, _ = sieving.sides(tiles[j], units[b], units[b + 1], slack)
            total += sieving.ones(wrong) + sieving.ones(wrong_too)
    return total


def large(quick: bool) -> Iterator[Line]:
    """Measure a run in units of matrix products with a block of vectors, and its memory."""
    n, T, block = (100_000, 500, 256) if quick else (1_000_000, 1000, 256)
    X, y = examples(n, 30)
    W = np.random.default_rng(0).normal(size=(30, block))
    works = {
        "ours": lambda: rb.PocketPerceptron(T, random_state=0).fit(X, y),
        "product": lambda: product(X, W),
    }
    times = interleaved(works, 3)
    each = times["product"].scaled(T / block)
    values = tuple(a / b for a, b in zip(times["ours"].seconds, each.seconds, strict=True))
    note = f"blocks of {block}, products of 4,096 rows at a time; {times['ours'].median:.1f} s"
    yield figure(
        "pocket.products-1000000x30", times["ours"].median / each.median, values, note, **times
    )
    tracemalloc.start()
    works["ours"]()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    yield figure("pocket.memory-1000000x30", 1 + peak / X.nbytes, note="by tracemalloc")


def product(X: Any, W: Any) -> None:
    for start in range(0, len(X), 4096):
        X[start : start + 4096] @ W


def by_fukuml(quick: bool) -> Iterator[Line]:
    for id, n, d, T in (
        ("pocket.fukuml", 50_000, 50, 300),
        ("pocket.fukuml-homework", 500, 4, 50),
    ):
        yield beside_fukuml(id, *examples(min(n, 1000) if quick else n, d), T)


def beside_fukuml(id: str, X: Any, y: Any, T: int) -> Line:
    """Compare with FukuML's pocket, after checking that both find the same weights.

    FukuML's naive cycle starts over after each update, as order="first" does.
    """
    fukuml = peer("FukuML.PocketPLA", "FukuML")

    def loaded(loop_mode: str) -> Any:
        pla = fukuml.BinaryClassifier()
        pla.load_train_data(file.name)
        pla.set_param(loop_mode=loop_mode, step_alpha=1, updates=T)
        return pla

    def trained(pla: Any) -> Any:
        pla.init_W()
        pla.train()
        return pla

    with tempfile.NamedTemporaryFile("w", suffix=".dat") as file:
        np.savetxt(file.name, np.column_stack([X, y]), fmt="%.17g")
        ours, peers = rb.PocketPerceptron(T, "first").fit(X, y), trained(loaded("naive_cycle"))
        assert np.allclose(ours.weights_, peers.W, rtol=1e-9), "FukuML has another pocket"
        assert ours.n_mistakes_ == round(peers.temp_avg_error * len(X))
        random, pla = rb.PocketPerceptron(T, random_state=0), loaded("random")
        random.fit(X, y)
        works = {"ours": lambda: random.fit(X, y), "peer": lambda: trained(pla)}
        times = rounds(works, 1 if T > 100 else 3)
    note = (
        "the same pocket where both start over after each update; timed with random mistakes, "
        "its reading of the file left out: "
        f"{times['peer'].median:.2f} s against {times['ours'].median:.4f} s"
    )
    return faster(id, times["peer"], times["ours"], note)


WORKS = {
    beside_loops: ("pocket.compiled", "pocket.numpy"),
    limit: ("pocket.limit",),
    large: ("pocket.products", "pocket.memory"),
    by_fukuml: ("pocket.fukuml",),
}
