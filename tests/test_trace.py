"""The weights of a run at any time are recomputed from its trace."""

import lecture
import numpy as np
import pytest
import strategies as make
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import rosenblatt as rb

quietly = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@st.composite
def any_fit(draw):
    X, y = draw(make.real_numbers())
    clf = rb.Perceptron(
        order=draw(make.orders),
        max_iter=draw(st.integers(1, 30)),
        eta0=draw(st.sampled_from([1.0, 0.1, 3.7e-5])),
        fit_intercept=draw(st.booleans()),
        intercept_scaling=draw(st.sampled_from([1.0, 0.3])),
        random_state=0,
    )
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    weights = draw(st.none() | st.just(np.linspace(0.1, 2, len(y))))
    start = draw(st.none() | st.just(np.full(X.shape[1], 0.7)))
    return clf, X.astype(dtype), y, weights, start


@quietly
@given(any_fit())
def test_replaying_gives_the_weights_bit_for_bit(example):
    clf, X, y, s, start = example
    clf.fit(X, y, sample_weight=s, coef_init=start)
    assert clf.trace_.weights(clf.n_updates_).tobytes() == clf.weights_.tobytes()


@quietly
@given(any_fit())
def test_replaying_sparse_gives_the_weights(example):
    clf, X, y, s, start = example
    clf.fit(sparse.csr_array(X), y, sample_weight=s, coef_init=start)
    np.testing.assert_allclose(clf.trace_.weights(clf.n_updates_), clf.weights_, rtol=1e-9)


def some_of(T):
    """Return all t from 0 to T, or about forty of them, because each w(t) takes a replay."""
    return {*range(0, T + 1, 1 + T // 40), T}


@given(make.separable())
def test_weights_at_each_t_are_those_of_the_lecture(examples):
    X, y, _, x0 = examples
    clf = rb.Perceptron(fit_intercept=x0 is not None, max_iter=10**6).fit(X, y)
    run = lecture.cyclic(lecture.tall(X, x0), y)
    assert clf.n_updates_ == len(run.rows)
    for t in some_of(clf.n_updates_):
        assert clf.trace_.weights(t).tolist() == run.weights[t].tolist()


@given(make.separable(), make.orders)
def test_the_squeeze_of_the_proof_holds_at_every_t(examples, order):
    """Check T²ρ² ≤ ‖w(T)‖² ≤ T R² on integers, where nothing is rounded."""
    X, y, w_f, x0 = examples
    clf = rb.Perceptron(order=order, fit_intercept=x0 is not None, max_iter=10**6, random_state=0)
    clf.fit(X, y)
    tall = lecture.tall(X, x0)
    margin, radius = (y * (tall @ w_f)).min(), (tall**2).sum(axis=1).max()
    for t in some_of(clf.n_updates_):
        w = clf.trace_.weights(t)
        assert t**2 * margin**2 <= (w @ w) * (w_f @ w_f)
        assert w @ w <= t * radius


@quietly
@given(make.labelled(), make.orders)
def test_epochs_count_from_0_and_never_decrease(examples, order):
    clf = rb.Perceptron(order=order, max_iter=10, random_state=0).fit(*examples)
    cycles = clf.trace_.cycles
    assert len(cycles) == len(clf.trace_.examples) == clf.n_updates_
    assert (np.diff(cycles.astype(int)) >= 0).all()
    assert cycles.min(initial=0) >= 0
    assert cycles.max(initial=0) < clf.n_iter_


def test_weights_start_from_where_the_fit_started():
    clf = rb.Perceptron().fit([[1.0], [-1]], [1, 0], coef_init=[-5.0], intercept_init=[2.0])
    assert clf.trace_.weights(0).tolist() == [2.0, -5.0]


@pytest.mark.parametrize("t", [-1, 2, 10**12])
def test_weights_outside_the_run_are_refused(t):
    clf = rb.Perceptron().fit([[1.0, 1], [-1, -1]], [1, 0])
    assert clf.n_updates_ == 1
    with refuses(ValueError, t, 0, 1):
        clf.trace_.weights(t)


@quietly
def test_memory_is_at_most_eight_bytes_per_update_plus_epoch_ends():
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.where(np.arange(200) % 2, 1, -1)
    trace = rb.Perceptron(max_iter=50).fit(X, y).trace_
    stored = sum(v.nbytes for v in vars(trace).values() if isinstance(v, np.ndarray))
    assert trace.examples.itemsize in (4, 8)
    assert stored <= 8 * len(trace.examples) + 8 * 50


def test_reading_weights_does_not_change_the_estimator():
    clf = rb.Perceptron().fit([[1.0, 1], [-1, -1]], [1, 0])
    clf.trace_.weights(0)[:] = 99
    clf.trace_.weights(1)[:] = 99
    assert clf.trace_.weights(0).tolist() == [0, 0, 0]
    assert clf.weights_.tolist() == [1, 1, 1]
