"""average=True: coef_ and intercept_ are the mean of w over all visits."""

import itertools
import pickle

import lecture
import numpy as np
import pytest
import sklearn.linear_model
import strategies as make
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score

import rosenblatt as rb

quietly = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SEED = 3


def mean_of(clf):
    return np.append(clf.intercept_, clf.coef_)


def near(clf, after):
    """Return whether the classifier has the mean of the given weights, up to rounding."""
    size = np.abs(after).max(initial=1.0)
    return np.abs(mean_of(clf) - np.mean(after, axis=0)).max() <= 1e-12 * size


@quietly
@given(
    make.labelled(),
    st.sampled_from(["cycle", "random-cycle", "shuffle"]),
    st.sampled_from([0.5, 1.0, 4.0]),
    st.integers(0, 12) | st.none(),
)
def test_the_mean_is_over_w_after_each_visit(examples, order, eta, most):
    X, y = examples
    clf = rb.Perceptron(order, 7, most, eta, random_state=SEED, average=True).fit(X, y)
    epochs = itertools.islice(lecture.cycles_of(order, len(y), SEED), clf.n_iter_)
    after = lecture.visited(lecture.tall(X), y, itertools.chain(*epochs), eta=eta, most=most)
    assert near(clf, after or [np.zeros(X.shape[1] + 1)])


@quietly
@given(make.labelled(), st.integers(1, 30))
def test_starting_over_counts_visits_from_the_first_row_again(examples, most):
    X, y = examples
    tall = lecture.tall(X)
    clf = rb.Perceptron("first", max_updates=most, average=True).fit(X, y)
    after, w, n = [], np.zeros(tall.shape[1]), 0
    while n < len(y) and most:
        wrong = lecture.mistaken(w, tall[n], y[n])
        w, n = (w + y[n] * tall[n], 0) if wrong else (w, n + 1)
        after.append(w)
        most -= wrong
    assert near(clf, after)


@quietly
@given(make.labelled())
def test_random_order_counts_the_visits_of_each_search(examples):
    X, y = examples
    tall, N = lecture.tall(X), len(y)
    clf = rb.Perceptron("random", max_iter=4, random_state=SEED, average=True).fit(X, y)
    chance, order = np.random.default_rng(SEED).random(4 * N), list(range(N))
    after, w, i = [], np.zeros(tall.shape[1]), 0
    for c in chance:
        j = i + int(c * (N - i))
        order[i], order[j] = order[j], order[i]
        n = order[i]
        wrong = lecture.mistaken(w, tall[n], y[n])
        w, i = (w + y[n] * tall[n], 0) if wrong else (w, i + 1)
        after.append(w)
        if i == N:
            break
    assert near(clf, after)


@quietly
@given(make.labelled(), make.orders)
def test_the_run_is_the_same_with_and_without_a_mean(examples, order):
    X, y = examples
    plain, mean = (
        rb.Perceptron(order, 5, random_state=SEED, average=average).fit(X, y)
        for average in (False, True)
    )
    assert mean.weights_.tolist() == plain.weights_.tolist()
    assert mean.trace_.examples.tolist() == plain.trace_.examples.tolist()
    assert mean.n_mistakes_ == plain.n_mistakes_
    assert mean.separated_ == plain.separated_
    sparse = rb.Perceptron(order, 5, random_state=SEED, average=True).fit(csr_array(X), y)
    assert np.allclose(mean_of(sparse), mean_of(mean), rtol=1e-12, atol=1e-12)


@given(make.labelled(), st.integers(1, 5))
def test_a_stream_in_parts_has_the_mean_of_the_stream(examples, size):
    X, y = examples
    clf, online = rb.Perceptron(average=True), rb.OnlinePerceptron(predict_with="average")
    for k in range(0, len(y), size):
        clf.partial_fit(X[k : k + size], y[k : k + size], classes=[-1, 1])
    assert near(clf, lecture.visited(lecture.tall(X), y, range(len(y))))
    online.learn_many(X, y)
    if online.labels == (-1, 1) and y[0] == 1:  # a first label alone counts as +1
        weights = [online.weights.get(i, 0.0) for i in range(X.shape[1])]
        assert np.allclose(mean_of(clf), [online.intercept, *weights], rtol=1e-12, atol=1e-12)


@quietly
def test_a_warm_start_continues_from_the_last_w_not_the_mean():
    X, y = make.with_margin(np.random.default_rng(5), 80, 3, 0.01)
    first = rb.Perceptron(max_iter=1, average=True, warm_start=True, intercept_scaling=2.0)
    first.fit(X, y)
    w = first.weights_.copy()
    assert mean_of(first).tolist() != w.tolist()
    first = pickle.loads(pickle.dumps(first))
    first.fit(X, y)
    assert first.trace_.weights(0).tolist() == w.tolist()


@pytest.mark.parametrize("x0", [0.0, 1.0])
def test_weights_and_intercept_scale_as_in_any_fit(x0):
    X, y = [[1.0], [2.0], [-1.0]], [1, 1, 0]
    clf = rb.Perceptron(fit_intercept=bool(x0), average=True).fit(X, y, sample_weight=[2, 1, 1])
    tall = lecture.tall(X, x0 or None)
    s = np.array([2.0, 1.0, 1.0])
    w = np.zeros(tall.shape[1])
    after = []
    for _ in range(clf.n_iter_):
        for n in range(3):
            sign = 2 * y[n] - 1
            if lecture.mistaken(w, tall[n], sign):
                w = w + s[n] * sign * tall[n]
            after.append(w)
    mean = np.mean(after, axis=0)
    assert np.allclose(mean_of(clf)[-len(mean) :], mean)
    assert clf.decision_function(X).tolist() == (X @ clf.coef_[0] + clf.intercept_[0]).tolist()


def test_the_saved_model_is_the_mean(tmp_path):
    X, y = make.with_margin(np.random.default_rng(7), 60, 2, 0.01)
    clf = rb.Perceptron(average=True).fit(X, y)
    rb.save(clf, tmp_path / "model.json")
    model = rb.load(tmp_path / "model.json")
    assert model.weights_.tolist() == mean_of(clf).tolist()
    assert model.predict(X).tolist() == clf.predict(X).tolist()
    assert "mistakes" not in model.training  # those counted are not the mean's


def test_average_must_be_a_boolean():
    with refuses(ValueError, "average", 3):
        rb.Perceptron(average=3).fit([[1.0], [2.0]], [0, 1])


@quietly
@pytest.mark.slow_without_jit
def test_in_5_folds_the_mean_beats_the_last_w_and_one_against_the_rest():
    rng = np.random.default_rng(0)
    rows, flipped = rng.normal(size=(2000, 20)), rng.random(2000) < 0.1
    noisy = rows, (rows @ rng.normal(size=20) > 0) ^ flipped
    for X, y in (load_digits(return_X_y=True), noisy):
        how = {"order": "shuffle", "max_iter": 20, "random_state": 0}
        last, mean, peer = (
            cross_val_score(clf, X, y, cv=5).mean()
            for clf in (
                rb.Perceptron(**how),
                rb.Perceptron(average=True, **how),
                sklearn.linear_model.Perceptron(random_state=0),
            )
        )
        assert mean > max(last, peer) + 0.02
