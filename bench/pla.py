"""PLA: passes compared with BLAS, epochs with scikit-learn, memory, and time to import."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.linear_model import Perceptron as Peer
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import rosenblatt as rb
from bench.line import Line
from bench.measure import Times, at_most, faster, figure, in_new_process, interleaved, peer
from rosenblatt import engine
from rosenblatt.examples import Examples

EPOCHS = 5
ROUNDS = 7
SAME_EPOCHS = {"max_iter": EPOCHS, "tol": None, "shuffle": False}


def planted(n: int, d: int, dtype: type = np.float64) -> tuple[Any, Any, Any]:
    """Return rows with labels by a random w, each row moved away from the line by a margin."""
    rng = np.random.default_rng(n + d)
    w = rng.standard_normal(d)
    w /= np.linalg.norm(w)
    X = rng.standard_normal((n, d))
    s = X @ w
    X += np.outer(0.3 * np.sign(s), w)
    return X.astype(dtype), np.sign(s).astype(np.int64), w.astype(dtype)


def noisy(X: Any, y: Any) -> Any:
    """Flip one label in a hundred, so that every epoch has updates."""
    rng = np.random.default_rng(0)
    return np.where(rng.random(len(y)) < 0.01, -y, y)


def clean(quick: bool) -> Iterator[Line]:
    """Compare an epoch without mistakes with one X @ w, both in one thread."""
    for n, d, dtype in ((1_000_000, 30, np.float64), (50_000, 784, np.float32)):
        X, y, w = planted(n // 10 if quick else n, d, dtype)
        examples, start = Examples.from_arrays(X, y), np.concatenate(([0.0], w))
        rows, order, N = examples.rows(), examples.kept, len(X)
        trace, ends = np.empty(N, dtype=np.uint32), np.empty(1, dtype=np.int64)

        def epoch(rows=rows, order=order, start=start, trace=trace, ends=ends) -> int:
            engine.pla(rows, order, 0, start.copy(), trace, ends)
            return int(ends[0])

        updates = epoch()
        assert updates <= N // 1000, "the epoch is meant to be clean or nearly so"
        with threadpool_limits(1):
            times = interleaved({"ours": epoch, "blas": lambda X=X, w=w: X @ w}, 2 * ROUNDS)
        note = f"{updates} updates in the epoch"
        yield at_most(f"pla.clean-{n}x{d}", times["ours"], times["blas"], note)


def dense(quick: bool) -> Iterator[Line]:
    for n, d in ((100_000, 10), (1_000_000, 30), (200_000, 100)):
        X, y, _ = planted(n // 10 if quick else n, d)
        yield beside_sklearn(f"pla.dense-{n}x{d}", X, noisy(X, y))


def sparse(quick: bool) -> Iterator[Line]:
    X, y = heavy_tailed(10_000 if quick else 100_000, 47_000)
    same_weights(rb.Perceptron(max_iter=EPOCHS, fit_intercept=False).fit(X, y),
                 Peer(**SAME_EPOCHS, fit_intercept=False).fit(X, y))  # fmt: skip
    ours, theirs = rb.Perceptron(max_iter=EPOCHS), Peer(**SAME_EPOCHS)
    times = side_by_side(ours, theirs, X, y)
    note = (
        f"{X.nnz / X.shape[0]:.0f} entries per row; without an intercept the weights are the same "
        f"bits; with one scikit-learn shrinks its steps a hundredfold on sparse rows "
        f"({ours.score(X, y):.4f} of the rows right, scikit-learn {theirs.score(X, y):.4f})"
    )
    yield faster("pla.csr-100000x47000", times["peer"], times["ours"], note)


def limits(quick: bool) -> Iterator[Line]:
    """Compare an epoch with passes that learn nothing, which memory and processor limit."""
    flat, streamed, read = flat_passes()
    X, y = heavy_tailed(10_000 if quick else 100_000, 47_000)
    w, columns = np.ones(X.shape[1] + 1), X.indices.view(np.uint32)
    works = {
        "ours": one_epoch(X, y),
        "flat": lambda: flat(X.data, columns, w),
        "stream": lambda: streamed(X.data, columns),
        "product": lambda: X @ w[1:],
    }
    times = interleaved(works, 2 * ROUNDS)
    for limit in ("flat", "stream", "product"):
        note = f"{1e3 * times['ours'].median:.1f} ms against {1e3 * times[limit].median:.1f} ms"
        yield at_most(f"pla.limit-csr-{limit}", times["ours"], times[limit], note)
    X, y, _ = planted(100_000 if quick else 1_000_000, 30)
    works = {"ours": one_epoch(X, noisy(X, y)), "stream": lambda: read(X.ravel())}
    times = interleaved(works, 2 * ROUNDS)
    note = f"{1e3 * times['ours'].median:.1f} ms against {1e3 * times['stream'].median:.1f} ms"
    yield at_most("pla.limit-dense-stream", times["ours"], times["stream"], note)


def one_epoch(X: Any, y: Any) -> Any:
    """Return a function that runs only the kernel of the first epoch of PLA."""
    examples = Examples.from_arrays(X, y)
    rows, order, start = examples.rows(), range(X.shape[0]), np.zeros(examples.size)
    trace, ends = np.empty(len(y), dtype=np.uint32), np.empty(1, dtype=np.int64)
    return lambda: engine.pla(rows, order, 0, start.copy(), trace, ends)


def flat_passes() -> tuple[Any, Any, Any]:
    """Return three compiled passes: sum entries times weights, entries and columns, or numbers."""
    import numba

    passes = numba.njit(fastmath={"reassoc", "contract", "nsz"})

    @passes
    def flat(data, columns, w):  # type: ignore[no-untyped-def]
        s = 0.0
        for j in range(len(data)):
            s += w[1 + columns[j]] * data[j]
        return s

    @passes
    def streamed(data, columns):  # type: ignore[no-untyped-def]
        s, c = 0.0, 0
        for j in range(len(data)):
            s += data[j]
            c += columns[j]
        return s, c

    @passes
    def read(data):  # type: ignore[no-untyped-def]
        s = 0.0
        for j in range(len(data)):
            s += data[j]
        return s

    return flat, streamed, read


def small(quick: bool) -> Iterator[Line]:
    X, y, _ = planted(1000, 10)
    yield beside_sklearn("pla.fit-1000x10", X, y, 20 if quick else 200)


def beside_sklearn(id: str, X: Any, y: Any, rounds: int = ROUNDS) -> Line:
    """Check that the peer gets the same weights in the same epochs, then compare times."""
    ours, theirs = rb.Perceptron(max_iter=EPOCHS), Peer(**SAME_EPOCHS)
    same_weights(ours.fit(X, y), theirs.fit(X, y))
    times = side_by_side(ours, theirs, X, y, rounds)
    note = f"the same weights after {ours.n_updates_:,} updates, compared bit for bit"
    return faster(id, times["peer"], times["ours"], note)


def same_weights(ours: Any, theirs: Any) -> None:
    assert np.array_equal(ours.coef_, theirs.coef_), "the peer has other weights"
    assert np.array_equal(ours.intercept_, theirs.intercept_), "the peer has another intercept"


def side_by_side(ours: Any, theirs: Any, X: Any, y: Any, rounds: int = ROUNDS) -> dict[str, Times]:
    with threadpool_limits(1):
        works = {"ours": lambda: ours.fit(X, y), "peer": lambda: theirs.fit(X, y)}
        return interleaved(works, rounds)


def by_sgd(quick: bool) -> Iterator[Line]:
    X, y, _ = planted(10_000 if quick else 100_000, 10)
    y = noisy(X, y)
    ours = rb.Perceptron(max_iter=EPOCHS)
    step = {"learning_rate": "constant", "eta0": 1.0, "penalty": None}
    theirs = SGDClassifier(loss="perceptron", **step, **SAME_EPOCHS)
    same_weights(ours.fit(X, y), theirs.fit(X, y))
    times = side_by_side(ours, theirs, X, y)
    note = "constant steps of 1, no penalty: the same weights, compared bit for bit"
    yield faster("pla.peer-sgd", times["peer"], times["ours"], note)


def by_linearsvc(quick: bool) -> Iterator[Line]:
    X, y, _ = planted(10_000 if quick else 100_000, 10)
    ours, theirs = rb.Perceptron(), LinearSVC()
    times = side_by_side(ours, theirs, X, y, 3)
    assert ours.separated_
    wrong = np.count_nonzero(theirs.predict(X) != y)
    note = f"another algorithm: ours stops at 0 mistakes, LinearSVC by default with {wrong}"
    yield faster("pla.peer-linearsvc", times["peer"], times["ours"], note)


def by_mlxtend(quick: bool) -> Iterator[Line]:
    mlxtend = peer("mlxtend.classifier", "mlxtend")
    X, y, _ = planted(500 if quick else 5_000, 10)
    y = (noisy(X, y) > 0).astype(int)
    ours = rb.Perceptron("shuffle", max_iter=EPOCHS, random_state=0)
    theirs = mlxtend.Perceptron(eta=1.0, epochs=EPOCHS, random_seed=0)
    times = side_by_side(ours, theirs, X, y, 3)
    right = [float(np.mean(model.predict(X) == y)) for model in (ours, theirs)]
    assert right[0] > right[1] - 0.1, f"right on {right[0]:.3f}, the peer on {right[1]:.3f}"
    note = (
        f"both shuffle, from other seeds: {right[0]:.3f} of the rows right, mlxtend {right[1]:.3f}"
    )
    yield faster("pla.peer-mlxtend", times["peer"], times["ours"], note)


def heavy_tailed(n: int, d: int) -> tuple[Any, Any]:
    """Return rows of about 67 entries, with columns used as unevenly as words are."""
    rng = np.random.default_rng(1)
    counts = np.maximum(1, rng.lognormal(4.25, 0.6, n).astype(int))
    popularity = 1.0 / np.arange(1, d + 1)
    columns = rng.choice(d, size=counts.sum(), p=popularity / popularity.sum())
    rows = np.repeat(np.arange(n), counts)
    X = scipy.sparse.coo_matrix((rng.random(len(rows)), (rows, columns)), (n, d)).tocsr()
    return X, np.where(X @ rng.standard_normal(d) > 0, 1, -1)


def memory(quick: bool) -> Iterator[Line]:
    n = 100_000 if quick else 1_000_000
    code = f"""
import json, tracemalloc, warnings, numpy as np, rosenblatt as rb
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, w = rng.standard_normal(({n}, 30)), rng.standard_normal(30)
y = np.sign(X @ w)
rb.Perceptron(max_iter=2).fit(X[:100], y[:100])
tracemalloc.start()
rb.Perceptron(max_iter=5).fit(X, y)
print(json.dumps(tracemalloc.get_traced_memory()[1]))
"""
    yield figure("pla.memory-1000000x30", in_new_process(code) / n, note="by tracemalloc")


def trace_memory(quick: bool) -> Iterator[Line]:
    X, y, _ = planted(10_000, 10)
    clf = rb.Perceptron(max_iter=100).fit(X, noisy(X, y))
    note = f"{clf.n_updates_:,} updates in {len(clf.trace_.ends)} epochs of 8 bytes each"
    yield figure("pla.trace-memory", clf.trace_.examples.nbytes / clf.n_updates_, note=note)


IMPORTING = """
import subprocess, sys, json, time
def once(name):
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import " + name], check=True)
    return time.perf_counter() - begin
once("numpy"); once("rosenblatt")
print(json.dumps([[once("rosenblatt"), once("numpy")] for _ in range(15)]))
"""
LOADED = """
import json, sys, rosenblatt
print(json.dumps([m for m in sys.modules if m.split(".")[0] in ("numba", "sklearn", "pyarrow")]))
"""
FIRST = """
import sys, numpy as np, rosenblatt as rb
X = np.random.default_rng(0).standard_normal((1000, 10))
y = np.sign(X @ np.arange(1.0, 11.0))
clf = rb.Perceptron()
print("begin", file=sys.stderr, flush=True)
clf.fit(X, y)
print("end", file=sys.stderr, flush=True)
"""


def importing(quick: bool) -> Iterator[Line]:
    pairs = np.array(in_new_process(IMPORTING))
    ours, theirs = Times(tuple(pairs[:, 0])), Times(tuple(pairs[:, 1]))
    yield at_most("pla.import", ours, theirs, "whole processes, Python's own start included")
    loaded = in_new_process(LOADED)
    yield figure("pla.import-heavy", len(loaded), note=", ".join(loaded))


def first_call(quick: bool) -> Iterator[Line]:
    """Measure seconds until the first message on a terminal or the end, whichever is first."""
    with tempfile.TemporaryDirectory() as empty:
        silences = tuple(silence(f"{empty}/{n}") for n in range(1 if quick else 3))
    note = "1,000 × 10, nothing compiled before; with kernels from the cache "
    note += f"{silence(None):.2f} s until it says so or is done"
    yield figure("pla.first-call", np.median(silences), silences, note, ours=Times(silences))


def silence(cache: str | None) -> float:
    terminal, other_end = os.openpty()
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    process = subprocess.Popen([sys.executable, "-c", FIRST], stderr=other_end, env=environment)
    try:
        while not os.read(terminal, 100).endswith(b"\n"):
            pass
        begin = time.perf_counter()
        os.read(terminal, 100)
        return time.perf_counter() - begin
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
        os.close(other_end)


def experiments(quick: bool) -> Iterator[Line]:
    times = interleaved({"ours": lambda: rb.experiment(100, 1000, random_state=0)}, 3)["ours"]
    yield figure("pla.experiment-1000", times.median, times.seconds, ours=times)


def separated(quick: bool) -> Iterator[Line]:
    ours = peers = 0
    sets = 20 if quick else 200
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        w = rng.standard_normal(11)
        w /= np.linalg.norm(w)
        X = rng.standard_normal((3000, 10))
        s = X @ w[1:] + w[0]
        X, y = X[np.abs(s) >= 0.02][:300], np.sign(s[np.abs(s) >= 0.02])[:300]
        ours += bool(np.all(rb.Perceptron().fit(X, y).predict(X) == y))
        peers += bool(np.all(Peer().fit(X, y).predict(X) == y))
    yield figure("pla.separated-200", ours, note=f"scikit-learn's default: {peers} of {sets}")


WORKS = {
    clean: ("pla.clean",),
    dense: ("pla.dense",),
    sparse: ("pla.csr",),
    limits: ("pla.limit",),
    small: ("pla.fit",),
    memory: ("pla.memory",),
    trace_memory: ("pla.trace-memory",),
    importing: ("pla.import",),
    first_call: ("pla.first-call",),
    experiments: ("pla.experiment",),
    separated: ("pla.separated",),
    by_sgd: ("pla.peer-sgd",),
    by_linearsvc: ("pla.peer-linearsvc",),
    by_mlxtend: ("pla.peer-mlxtend",),
}
