"""The guarantee: R, rho, R²/rho², and both inequalities along every trace."""

import numpy as np
import pytest
import scipy.sparse
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt import algorithms
from rosenblatt.evidence.verdicts import guarantee_of
from rosenblatt.examples import Examples

ORDERS = ["cycle", "random-cycle", "shuffle", "first", "random"]


def planted(seed, n=40, d=3, margin=0.1):
    """Draw weights w_f, and examples that they separate by at least a margin."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(d + 1)
    w /= np.linalg.norm(w)
    X = rng.uniform(-1, 1, (60 * n, d))
    s = X @ w[1:] + w[0]
    keep = np.abs(s) >= margin
    X, y = X[keep][:n], np.sign(s[keep][:n])
    y[:2] = (1, -1) if len(set(y)) < 2 else y[:2]
    return X, y, w


seeds = st.integers(0, 10_000)


def by_hand(X, y, w):
    tall = np.column_stack((np.ones(len(X)), X))
    return np.linalg.norm(tall, axis=1).max(), (y * (tall @ w)).min() / np.linalg.norm(w)


@given(seeds)
def test_r_and_rho_are_those_of_the_augmented_examples(seed):
    X, y, w = planted(seed)
    radius, margin = by_hand(X, y, w)
    found = rb.guarantee(X, y, w)
    assert found.radius == pytest.approx(radius, rel=1e-12)
    assert found.margin == pytest.approx(margin, rel=1e-9)
    if margin > 0:
        assert found.bound == pytest.approx((radius / margin) ** 2, rel=1e-8)
    else:
        assert found.bound is None


@given(seeds, st.sampled_from([1e-3, 7.0, 1e5]))
def test_only_the_direction_of_w_matters(seed, c):
    X, y, w = planted(seed)
    assert rb.guarantee(X, y, c * w).margin == pytest.approx(rb.guarantee(X, y, w).margin)


@given(seeds)
def test_sparse_and_dense_have_the_same_guarantee(seed):
    X, y, w = planted(seed)
    dense, sparse = rb.guarantee(X, y, w), rb.guarantee(scipy.sparse.csr_array(X), y, w)
    assert sparse.radius == pytest.approx(dense.radius)
    assert sparse.margin == pytest.approx(dense.margin)


@given(seeds, st.sampled_from(ORDERS), st.sampled_from([0.5, 1.0, 3.0]))
def test_both_inequalities_hold_at_every_t(seed, order, eta):
    X, y, w = planted(seed)
    if rb.guarantee(X, y, w).bound is None:
        return
    clf = rb.Perceptron(order=order, eta0=eta, random_state=0, max_iter=10**6).fit(X, y)
    squeezed = rb.squeeze(clf.trace_, w)
    assert squeezed.holds
    for t in (0, len(clf.trace_) // 2, len(clf.trace_)):
        w_t = clf.trace_.weights(t)
        assert squeezed.inner[t] == pytest.approx(w @ w_t, abs=1e-9)
        assert squeezed.squared[t] == pytest.approx(w_t @ w_t, abs=1e-9)
        if w_t.any():
            cosine = w @ w_t / np.linalg.norm(w) / np.linalg.norm(w_t)
            assert squeezed.cosine[t] == pytest.approx(cosine)


@given(seeds)
def test_with_sample_weights_the_theorem_holds_for_the_scaled_examples(seed):
    X, y, w = planted(seed)
    s = np.random.default_rng(seed).uniform(0.5, 3, len(y))
    examples = Examples.from_arrays(X, y).weighted(s)
    promise = guarantee_of(examples, w)
    if promise.bound is None:
        return
    run = algorithms.pla(examples, budget=algorithms.Budget(10**6))
    assert run.separated
    assert len(run.trace) <= promise.bound
    scaled = np.column_stack((s, X * s[:, None]))
    assert promise.radius == pytest.approx(np.linalg.norm(scaled, axis=1).max())
    assert promise.margin == pytest.approx((y * (scaled @ w)).min() / np.linalg.norm(w))


def test_an_inequality_that_fails_is_detected():
    X, y, _ = planted(0)
    clf = rb.Perceptron(max_iter=10**6).fit(X, y)
    squeezed = rb.squeeze(clf.trace_, clf.weights_)
    assert squeezed.holds
    too_fast = type(squeezed)(
        squeezed.inner,
        2 * squeezed.squared_most + 1,
        squeezed.cosine,
        squeezed.inner_least,
        squeezed.squared_most,
    )
    assert not too_fast.holds


def test_weights_that_misclassify_give_no_guarantee():
    X, y, w = planted(3)
    promise = rb.guarantee(X, y, -w)
    assert promise.bound is None
    assert "no guarantee" in str(promise)


def test_very_different_feature_scales_are_reported_with_both_bounds():
    X, y, w = planted(1, margin=0.2)
    before = rb.guarantee(X * [1, 1e4, 1], y, w / [1, 1, 1e4, 1])
    assert before.bound >= 10 * before.scaled.bound
    assert f"{before.bound:,.0f} to {before.scaled.bound:,.0f}" in str(before)
    scales = np.abs(X).max(axis=0)
    after = rb.guarantee(X / scales, y, w * np.concatenate(([1], scales)))
    assert before.scaled.bound == pytest.approx(after.bound)


def test_features_on_one_scale_cause_no_hint():
    X, y, w = planted(1, margin=0.2)
    assert rb.guarantee(X, y, w).advice is None


@pytest.mark.parametrize("c", [1e-170, 1e170])
def test_norms_of_extreme_rows_are_correct(c):
    X, y, _ = planted(2)
    examples = Examples.from_arrays(c * X, y, x0=0.0)
    lengths = [guarantee_of(examples.some([n]), np.ones(4)).radius for n in range(len(X))]
    assert lengths == pytest.approx(c * np.linalg.norm(X, axis=1))


@pytest.mark.parametrize("weights", [[0.0] * 4, [1.0, 2.0], [np.nan, 1.0, 1.0, 1.0]])
def test_invalid_weights_are_refused(weights):
    X, y, _ = planted(0)
    with refuses(ValueError, "weights", 4):
        rb.guarantee(X, y, weights)


def test_squared_lengths_that_overflow_are_refused():
    clf = rb.Perceptron().fit([[3e300], [-4e300]], [1, -1])
    with refuses(ValueError, "4e+300"):
        rb.squeeze(clf.trace_, [0.0, 1.0])


def test_a_trace_without_its_examples_is_an_error():
    import pickle

    X, y, _ = planted(0)
    clf = pickle.loads(pickle.dumps(rb.Perceptron(max_iter=10**6).fit(X, y)))
    with refuses(ValueError, "trace"):
        rb.squeeze(clf.trace_, clf.weights_)


def test_the_nearest_of_very_many_rows_is_found_despite_rounding():
    rng = np.random.default_rng(0)
    p, q = rng.integers(-(2**49), 2**49, (2, 6000)).astype(float)
    w = np.array([1.0, 3.0, 5.0, 7.0])  # on the other columns, rows sum to 0
    X = np.column_stack((0 * p, 7 * p, 7 * q, -(3 * p + 5 * q))) * 2.0**100
    X[:, 0] = 2.0
    X[np.argmax(X @ w), 0] = 1.0
    found = rb.guarantee(X, np.ones(6000), w, fit_intercept=False)
    assert found.margin == pytest.approx(1 / np.linalg.norm(w))
