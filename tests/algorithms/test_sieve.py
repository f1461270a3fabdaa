"""The sieve drops only weights that cannot win, as if each were counted alone."""

import importlib

import numpy as np
import pytest
import strategies as its
from hypothesis import given
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt.algorithms import sieve as sieving
from rosenblatt.algorithms.pocket import Judge
from rosenblatt.algorithms.sieve import Sieve
from rosenblatt.engine import Kernel
from rosenblatt.examples import Examples

judging = importlib.import_module("rosenblatt.algorithms.pocket")

pytestmark = pytest.mark.slow_without_jit


@pytest.fixture(autouse=True)
def always_sift(monkeypatch):
    monkeypatch.setattr(judging, "worth_sifting", lambda examples: not examples.is_sparse)


def improvements_one_by_one(judge, W, best):
    found = []
    for b, w in enumerate(W):
        if (count := judge.alone(w)) < best:
            best = count
            found.append((b, count))
    return found


def agrees(examples, W, zero=0):
    best = Judge(examples, zero).alone(np.zeros(W.shape[1])) + 1
    expected = improvements_one_by_one(Judge(examples, zero), W, best)
    for threads in (1, 2):
        judge = Judge(examples, zero, threads)
        half = len(W) // 2
        first = judge.improvements(W[:half], best)
        lower = first[-1][1] if first else best
        second = judge.improvements(W[half:], lower)
        assert first + [(half + b, count) for b, count in second] == expected


@given(
    its.labelled(), its.seeds, st.sampled_from([-1, 0, 1]), st.booleans(), st.sampled_from([0, 1])
)
def test_a_batch_is_judged_as_each_vector_alone(xy, seed, zero, weighted, x0):
    X, y = xy
    rng = np.random.default_rng(seed)
    # Small whole numbers: many ties, many scores that are exactly 0, and a vector that is.
    W = rng.integers(-2, 3, size=(20, X.shape[1] + 1)).astype(float)
    W[:, 0] *= x0
    examples = Examples.from_arrays(X, y, x0=x0)
    if weighted:
        examples = examples.weighted(rng.choice([0.1, 0.2, 0.3], size=len(X)))
    agrees(examples, W, zero)


def walk(n, d, seed, steps=400):
    """Draw a noisy plane, and weights that come nearer to it in small steps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    w = rng.normal(size=d + 1)
    y = np.where(w[0] + X @ w[1:] + rng.normal(size=n) > 0, 1, -1)
    return X, y, np.cumsum(0.3 * rng.normal(size=(steps, d + 1)) + 0.05 * w, axis=0)


@pytest.mark.parametrize("kind", ["float64", "float32", "weighted"])
def test_batches_and_leaders_change_nothing(kind):
    X, y, W = walk(1500, 6, seed=4)
    examples = Examples.from_arrays(X.astype("float32") if kind == "float32" else X, y)
    if kind == "weighted":
        examples = examples.weighted(np.random.default_rng(1).integers(0, 3, size=len(X)) / 10)
    agrees(examples, W)


def looks(sieve, W, limits, monkeypatch):
    """Count the tiles of 64 rows that are read with given limits."""
    seen = 0

    def counted(tile, v, u, slack):
        nonlocal seen
        seen += 1
        return real(tile, v, u, slack)

    real = sieving.sides
    monkeypatch.setattr(sieving, "sides", counted)
    batch = sieve.batch(W, limits)
    _, rows = sieve.pack(batch)
    left = sieving.sift(rows, batch)
    return seen, left


def test_vectors_are_dropped_as_soon_as_they_reach_their_limits(monkeypatch):
    X, y, W = walk(6000, 6, seed=4, steps=40)
    judge = Judge(Examples.from_arrays(X, y))
    fewest = min(judge.alone(w) for w in W)
    sieve, all_looks = Sieve(judge.blocks), len(W) / 2 * np.ceil(len(X) / 64)
    seen, left = looks(sieve, W, np.full(len(W), np.inf), monkeypatch)
    assert (seen, len(left)) == (all_looks, len(W))
    seen, left = looks(sieve, W, np.full(len(W), fewest / 2), monkeypatch)
    assert (seen < all_looks / 2, len(left)) == (True, 0)


def test_with_sample_weights_few_vectors_are_judged_alone(monkeypatch):
    X, y, W = walk(1500, 6, seed=4)
    examples = Examples.from_arrays(X, y).weighted(np.random.default_rng(1).random(len(X)))
    alone, real = [], Judge.alone

    def watched(self, w):
        alone.append(w)
        return real(self, w)

    monkeypatch.setattr(Judge, "alone", watched)
    found = Judge(examples).improvements(W, np.inf)
    assert len(found) <= len(alone) < len(W) / 4


@given(st.integers(1, 40), its.seeds, st.sampled_from([1, 100, 4000]))
def test_each_bit_is_the_side_of_a_row(pairs, seed, size):
    rng = np.random.default_rng(seed)
    block = rng.integers(-size, size + 1, size=(pairs, 128)).astype(np.int16)
    vectors = rng.integers(-size, size + 1, size=(2, 2 * pairs)).astype(np.int16)
    rows = block.reshape(pairs, 64, 2).transpose(1, 0, 2).reshape(64, -1).astype(int)
    products = rows @ vectors.T.astype(int)
    slack = int(rng.choice(np.abs(products).ravel()))
    v, u = vectors.view(np.int32)
    found = Kernel(only_sides, sieving.bind)(block.view(np.int32), v, u, np.int32(slack))
    for k, tests in enumerate((products < -slack, np.abs(products) <= slack)):
        for i in range(2):
            bits = [bool(found[2 * i + k] >> n & 1) for n in range(64)]
            assert bits == tests[:, i].tolist()


def only_sides(block, v, u, slack):
    return sieving.sides(block, v, u, slack)


@given(st.integers(1, 60), its.seeds)
def test_the_tolerance_covers_the_rounding_error(d, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(100, d)) ** 3, rng.choice([-1, 1], size=100)
    W = rng.normal(size=(30, d + 1)) ** 3
    sieve = Sieve(Examples.from_arrays(X, y))
    batch = sieve.batch(W, np.full(len(W), np.inf))
    _, packed = sieve.pack(batch)
    rows = packed.tiles.view(np.int16).reshape(2, -1, 64, 2).transpose(0, 2, 1, 3).reshape(128, -1)
    products = rows[:100].astype(int) @ batch.units.view(np.int16).T.astype(int)
    tall = y[:, None] * np.column_stack([np.ones(100), X])
    cosines = (tall @ W.T) / np.linalg.norm(tall, axis=1)[:, None] / np.linalg.norm(W, axis=1)
    long = np.linalg.norm(rows[:100], axis=1), np.linalg.norm(batch.units.view(np.int16), axis=1)
    assert max(map(np.max, long)) <= sieving.SCALE + np.sqrt(d + 2) / 2
    off = np.abs(products - np.outer(*long) * cosines[packed.rows])
    assert batch.error / 100 < off.max() <= batch.error


def test_all_counts_are_returned_on_request():
    X, y, W = walk(1500, 6, seed=4)
    judge = Judge(Examples.from_arrays(X, y))
    assert judge.counts(W).tolist() == [judge.alone(w) for w in W]


@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e-6, 1e-4])
def test_scores_undecided_in_single_precision_are_resolved_exactly(size):
    X, y, W = walk(1500, 3, seed=0, steps=40)
    # Every row lies within `size` of the last plane, on a side that only more digits can tell.
    w = W[-1]
    X -= np.outer((w[0] + X @ w[1:]) / (w[1:] @ w[1:]), w[1:])
    X += size * np.outer(np.random.default_rng(2).normal(size=len(X)), w[1:])
    agrees(Examples.from_arrays(X, y), W)


def test_rows_of_extreme_norm_are_always_undecided_but_counted():
    X, y, W = walk(1500, 3, seed=1, steps=40)
    X[:300] *= 1e-140
    X[300:600] *= 1e140
    X[600:700] = 0
    examples = Examples.from_arrays(X, y, x0=0)
    W[:, 0] = 0
    agrees(examples, W)


@pytest.mark.parametrize("sifted", [True, False])
@pytest.mark.parametrize("size", [1e-280, 1e-200, 1e-165, 1.0, 1e150])
def test_rows_on_the_hyperplane_of_a_tiny_vector_are_decided_exactly(size, sifted, monkeypatch):
    monkeypatch.setattr(judging, "worth_sifting", lambda examples: sifted)
    rng = np.random.default_rng(3)
    w = rng.normal(size=4)
    X = rng.normal(size=(300, 3))
    X -= np.outer((w[0] + X @ w[1:]) / (w[1:] @ w[1:]), w[1:])
    agrees(Examples.from_arrays(X, rng.choice([-1, 1], size=300)), size * np.array([w, w, -w]))


@pytest.mark.parametrize("eta", [1.0, 1e-100, 1e-200])
def test_tiny_steps_are_judged_as_each_vector_alone(eta, monkeypatch):
    monkeypatch.setattr(judging, "worth_sifting", lambda examples: False)
    rng = np.random.default_rng(32)
    X = np.round(rng.random((300, 2)), 1)  # many rows on the planes of small whole numbers
    y = np.where(X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=300) > 0, 1, -1)
    clf = rb.PocketPerceptron(100, random_state=0, eta0=eta).fit(X, y)
    W = np.array([clf.trace_.weights(t) for t in range(101)])
    assert clf.history_ == improvements_one_by_one(Judge(Examples.from_arrays(X, y)), W, np.inf)


@pytest.mark.parametrize("n", [2, 63, 64, 65, 128, 700])
@pytest.mark.parametrize("kind", ["one-hot", "one large", "large x0", "wide", "spread weights"])
def test_rows_of_all_shapes_are_judged_correctly(kind, n):
    rng = np.random.default_rng(n)
    d = 2048 if kind == "wide" else 5
    X = rng.normal(size=(n, d))
    if kind == "one-hot":
        X = np.eye(d)[rng.integers(d, size=n)] * rng.choice([-1, 1], size=(n, 1))
    if kind == "one large":
        X[:, 0] *= 1000
    y = np.where(X.sum(axis=1) + rng.normal(size=n) > 0, 1, -1)
    y[0] = -y[-1]
    examples = Examples.from_arrays(X, y, x0=1e6 if kind == "large x0" else 1.0)
    if kind == "spread weights":
        examples = examples.weighted(10.0 ** rng.uniform(-6, 6, size=n))
    W = np.cumsum(rng.normal(size=(20 if kind == "wide" else 600, d + 1)), axis=0)
    if kind == "large x0":
        W[:, 0] /= 1e6
    agrees(examples, W)


def test_sums_fit_where_rows_and_vectors_are_parallel():
    for d in (1, 50, 2047, 2048):
        X = np.repeat(np.ones((1, d)), 64, axis=0) * np.resize([1, -1], 64)[:, None]
        sieve = Sieve(Examples.from_arrays(X, np.ones(64), labels=np.array([-1, 1])))
        W = np.array([np.ones(d + 1), -np.ones(d + 1)])
        batch = sieve.batch(W, np.full(2, np.inf))
        sieving.run_sift(sieve.pack(batch)[1], batch)
        expected = [np.count_nonzero(X @ w[1:] + w[0] < 0) for w in W]
        assert batch.wrong.tolist() == (expected if d > 1 else [0, 32])


def test_vectors_of_extreme_norm_are_judged_like_others():
    X, y, W = walk(700, 3, seed=1, steps=30)
    W *= np.repeat([1e-300, 1e-30, 1.0, 1e30, 1e150], 6)[:, None]
    agrees(Examples.from_arrays(X, y), W)


def test_rows_on_the_hyperplane_are_judged_alone():
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, size=(1500, 3)).astype(float)
    y = np.where(X @ [1, 1, 1] + rng.normal(size=1500) > 0, 1, -1)
    agrees(Examples.from_arrays(X, y), np.cumsum(rng.integers(-1, 2, size=(60, 4)), axis=0) * 1.0)


def test_rows_are_repacked_for_later_candidates(monkeypatch):
    monkeypatch.setattr(sieving, "LASTS", 50)
    X, y, W = walk(1500, 6, seed=4, steps=200)
    judge, packed = Judge(Examples.from_arrays(X, y)), []
    real = Sieve.pack
    monkeypatch.setattr(Sieve, "pack", lambda self, batch: packed.append(0) or real(self, batch))
    best, found = len(X), []
    for start in range(0, 200, 25):
        found += [
            (start + b, count) for b, count in judge.improvements(W[start : start + 25], best)
        ]
        best = found[-1][1]
    assert found == improvements_one_by_one(judge, W, len(X))
    assert len(packed) == 4


def test_a_fit_with_the_sieve_keeps_the_pocket_of_the_lecture():
    X, y, _ = walk(3000, 5, seed=7)
    clf = rb.PocketPerceptron(300, random_state=0).fit(X, y)
    judge = Judge(Examples.from_arrays(X, y))
    W = np.array([clf.trace_.weights(t) for t in range(301)])
    expected = improvements_one_by_one(judge, W, np.inf)
    assert clf.history_ == expected
    assert (clf.weights_ == W[expected[-1][0]]).all()
