"""Streams of more than two labels: the same rule, one row or one block at a time."""

import itertools

import lecture
import numpy as np
import pytest
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import rosenblatt as rb

zeros = st.sampled_from(["mistake", "negative", "positive"])
kinds = st.sampled_from([{}, {"average": True}, {"pocket": True, "average": True}])
LABELS = ("a", "b", "c", "d")


@st.composite
def streams(draw):
    n, d = draw(st.integers(1, 25)), draw(st.integers(1, 3))
    numbers = st.lists(st.integers(-4, 4), min_size=n * d, max_size=n * d)
    X = np.array(draw(numbers), dtype=float).reshape(n, d)
    return X, np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))


def weights_of(model, d):
    return [
        [model.intercept[label], *(model.weights[label].get(i, 0.0) for i in range(d))]
        for label in LABELS
    ]


@given(streams(), zeros, st.sampled_from([0.5, 1.0]))
def test_a_stream_makes_the_updates_of_the_rule(stream, zero, eta):
    X, y = stream
    model = rb.OnlinePerceptron(labels=LABELS, zero=zero, eta0=eta)
    mean = rb.OnlinePerceptron(labels=LABELS, zero=zero, eta0=eta, predict_with="average")
    W = np.zeros((4, X.shape[1] + 1))
    after, mistakes = [], 0
    for x, k in zip(X, y, strict=True):
        scores = W @ [1, *x]
        best = np.flatnonzero(scores == scores.max())[-1 if zero == "positive" else 0]
        assert model.predict_one(x) == LABELS[best]
        r = lecture.beaten_by(W, np.array([1, *x]), k, zero)
        if r is not None:
            W, mistakes = W.copy(), mistakes + 1
            W[k] += eta * np.array([1, *x])
            W[r] -= eta * np.array([1, *x])
        after.append(W)
        model.learn_one(x, LABELS[k])
        mean.learn_one(x, LABELS[k])
    assert weights_of(model, X.shape[1]) == W.tolist()
    assert (model.n_seen, model.n_mistakes) == (len(y), mistakes)
    assert np.allclose(weights_of(mean, X.shape[1]), np.mean(after, axis=0), atol=1e-12)


@given(streams(), zeros, kinds, st.sampled_from(["last", "average", "pocket"]), st.data())
def test_rows_and_blocks_dense_and_sparse_give_the_same_bits(stream, zero, kept, ask, data):
    X, y = stream
    X = X / 3
    answers = np.array(LABELS, dtype=object)[y]
    answers[data.draw(st.integers(0, len(y) - 1))] = None
    how = {"labels": LABELS, "zero": zero, "window": 4, "predict_with": ask, **kept}
    cuts = sorted(data.draw(st.sets(st.integers(1, len(y)), max_size=3)) | {0, len(y)})
    predictions, states = [], []
    one = rb.OnlinePerceptron(**how)
    predictions.append([])
    for x, label in zip(X, answers, strict=True):
        predictions[-1].append(one.predict_one(x))
        if label is not None:
            one.learn_one(x, label)
    states.append(one.state())
    for kind in (np.array, csr_array):
        many = rb.OnlinePerceptron(**how)
        parts = [
            many.predict_then_learn(kind(X[i:j]), answers[i:j]) for i, j in itertools.pairwise(cuts)
        ]
        predictions.append(np.concatenate(parts).tolist())
        assert many.predict_many(kind(X)).tolist() == [one.predict_one(x) for x in X]
        states.append(many.state())
    assert predictions[0] == predictions[1] == predictions[2]
    assert states[0] == states[1] == states[2]


def test_a_saved_stream_continues_identically(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), np.array(LABELS)[rng.integers(0, 4, 80)]
    model = rb.OnlinePerceptron(labels=LABELS, average=True, pocket=True, window=10)
    model.learn_many(X[:50], y[:50])
    model.save(tmp_path / "model.json")
    again = rb.OnlinePerceptron.load(tmp_path / "model.json")
    assert again.labels == LABELS
    for one in (model, again):
        one.learn_many(X[50:], y[50:])
    assert again.state() == model.state()
    assert again.predict_many(X).tolist() == model.predict_many(X).tolist()


def test_mistakes_stay_within_the_bound():
    rng = np.random.default_rng(1)
    W, X = rng.normal(size=(4, 3)), rng.normal(size=(3000, 2))
    s = lecture.tall(X) @ W.T
    ahead = np.diff(np.sort(s, axis=1)[:, -2:], axis=1)[:, 0]
    X, s = X[ahead > 0.1], s[ahead > 0.1]
    model = rb.OnlinePerceptron(labels=LABELS)
    model.learn_many(X, np.array(LABELS)[s.argmax(axis=1)])
    margin = ahead[ahead > 0.1].min() / np.linalg.norm(W)
    assert 0 < model.n_mistakes <= model.bound(margin)


@pytest.mark.parametrize("labels", ["abc", ["a"], ["a", "a", "b"], 3])
def test_at_least_two_different_labels_are_needed(labels):
    with refuses(ValueError, "labels"):
        rb.OnlinePerceptron(labels=labels)


def test_an_unknown_label_is_refused_and_changes_nothing():
    model = rb.OnlinePerceptron(labels=LABELS)
    model.learn_one([1.0], "b")
    before = model.state()
    with refuses(ValueError, "'e'", *map(repr, LABELS)):
        model.learn_one([1.0], "e")
    with refuses(ValueError, "'e'", row=1):
        model.learn_many([[1.0], [2.0]], ["a", "e"])
    assert model.state() == before
