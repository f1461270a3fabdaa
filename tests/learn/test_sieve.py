"""The sieve drops only what cannot win: its answers are those of judging each vector alone."""

import numpy as np
import pytest
import strategies as its
from hypothesis import given
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt.examples import Examples
from rosenblatt.learn import judge as judging
from rosenblatt.learn import sieve as sieving
from rosenblatt.learn.judge import Judge

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
def test_a_crowd_is_judged_as_each_vector_alone(xy, seed, zero, weighted, x0):
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
    """A noisy plane, and vectors that come nearer to it in small steps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    w = rng.normal(size=d + 1)
    y = np.where(w[0] + X @ w[1:] + rng.normal(size=n) > 0, 1, -1)
    return X, y, np.cumsum(0.3 * rng.normal(size=(steps, d + 1)) + 0.05 * w, axis=0)


@pytest.mark.parametrize("kept", [0, 2**23], ids=["as they are", "in singles"])
@pytest.mark.parametrize("kind", ["float64", "float32", "weighted"])
def test_flights_and_scouts_change_nothing(kept, kind, monkeypatch):
    monkeypatch.setattr(sieving, "KEPT_ENTRIES", kept)
    X, y, W = walk(1500, 6, seed=4)
    examples = Examples.from_arrays(X.astype("float32") if kind == "float32" else X, y)
    if kind == "weighted":
        examples = examples.weighted(np.random.default_rng(1).integers(0, 3, size=len(X)) / 10)
    agrees(examples, W)


def test_most_vectors_are_dropped_before_they_have_seen_every_row(monkeypatch):
    X, y, W = walk(1500, 6, seed=4)
    counted, real = [], sieving.Sieve._counted

    def watched(self, field, crowd, which):
        counted.extend(which)
        return real(self, field, crowd, which)

    monkeypatch.setattr(sieving.Sieve, "_counted", watched)
    Judge(Examples.from_arrays(X, y)).improvements(W, len(X))
    assert len(counted) < len(W) / 2


def test_all_counts_are_given_where_they_are_asked_for():
    X, y, W = walk(1500, 6, seed=4)
    judge = Judge(Examples.from_arrays(X, y))
    assert judge.counts(W).tolist() == [judge.alone(w) for w in W]


@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e-6, 1e-4])
def test_scores_that_single_precision_cannot_tell_are_settled(size):
    X, y, W = walk(1500, 3, seed=0, steps=40)
    # Every row lies within `size` of the last plane, on a side that only more digits can tell.
    w = W[-1]
    X -= np.outer((w[0] + X @ w[1:]) / (w[1:] @ w[1:]), w[1:])
    X += size * np.outer(np.random.default_rng(2).normal(size=len(X)), w[1:])
    agrees(Examples.from_arrays(X, y), W)


def test_rows_of_extreme_length_are_never_sure_but_counted():
    X, y, W = walk(1500, 3, seed=1, steps=40)
    X[:300] *= 1e-40
    X[300:600] *= 1e40
    X[600:700] = 0
    examples = Examples.from_arrays(X, y, x0=0)
    W[:, 0] = 0
    agrees(examples, W)


def test_vectors_of_extreme_length_are_judged_as_any():
    X, y, W = walk(700, 3, seed=1, steps=30)
    W *= np.repeat([1e-300, 1e-30, 1.0, 1e30, 1e150], 6)[:, None]
    agrees(Examples.from_arrays(X, y), W)


def test_doubts_beyond_what_is_noted_are_no_harm(monkeypatch):
    monkeypatch.setattr(sieving, "NOTES", 8)
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, size=(1500, 3)).astype(float)
    y = np.where(X @ [1, 1, 1] + rng.normal(size=1500) > 0, 1, -1)
    agrees(Examples.from_arrays(X, y), np.cumsum(rng.integers(-1, 2, size=(60, 4)), axis=0) * 1.0)


def test_a_fit_with_the_sieve_keeps_the_pocket_of_the_lecture():
    X, y, _ = walk(3000, 5, seed=7)
    clf = rb.PocketPerceptron(300, random_state=0).fit(X, y)
    judge = Judge(Examples.from_arrays(X, y))
    W = np.array([clf.trace_.weights(t) for t in range(301)])
    expected = improvements_one_by_one(judge, W, np.inf)
    assert clf.history_ == expected
    assert (clf.weights_ == W[expected[-1][0]]).all()
