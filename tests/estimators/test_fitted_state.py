"""A fitted estimator predicts by its weights, whatever parameters are set afterwards."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from facts import refuses
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb
from rosenblatt import algorithms


@pytest.fixture
def examples():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60, 3))
    s = X @ [1.0, -2.0, 0.5] + 0.2
    keep = np.abs(s) > 0.1
    return X[keep], np.where(s[keep] > 0, "yes", "no")


@pytest.mark.parametrize(
    "changed",
    [{"fit_intercept": False}, {"intercept_scaling": 100.0}, {"zero": "positive"}, {"zero": "?"}],
)
def test_parameters_set_after_fit_change_no_prediction(examples, changed):
    X, y = examples
    clf = rb.Perceptron().fit(X, y)
    scores = clf.decision_function(X)
    clf.set_params(**changed)
    assert (clf.predict(X) == y).all()
    assert clf.decision_function(X).tolist() == scores.tolist()


@pytest.mark.parametrize("before", [True, False])
def test_partial_fit_continues_from_a_changed_intercept(examples, before):
    X, y = examples
    clf = rb.Perceptron(fit_intercept=before, max_iter=10**5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf.fit(X, y)
    clf.set_params(fit_intercept=not before)
    for _ in range(20):
        clf.partial_fit(X, y)
    assert clf.coef_.shape == (1, 3)
    assert clf.weights_.shape == (4 - before,)


def test_a_warm_start_with_another_x0_continues_from_the_same_hyperplane(examples):
    X, y = examples
    clf = rb.Perceptron(warm_start=True).fit(X, y)
    assert clf.set_params(intercept_scaling=100.0).fit(X, y).n_updates_ == 0
    assert clf.separated_


def test_coef_can_be_changed_by_hand(examples):
    X, y = examples
    clf = rb.Perceptron().fit(X, y)
    clf.coef_ *= -1
    clf.intercept_ *= -1
    assert not (clf.predict(X) == y).any()


def test_a_warning_raised_as_an_error_loses_no_work(examples):
    X, y = examples
    clf = rb.Perceptron(max_updates=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with refuses(ConvergenceWarning, "max_updates"):
            clf.fit(X, y)
    assert clf.n_updates_ == 1


@pytest.mark.parametrize("class_weight", [None, {"yes": 2.0}])
def test_a_block_of_one_class_may_have_weights(examples, class_weight):
    X, y = examples
    yes = y == "yes"
    clf = rb.Perceptron(class_weight=class_weight)
    clf.partial_fit(X[yes], y[yes], classes=["no", "yes"], sample_weight=np.ones(yes.sum()))
    clf.partial_fit(X, y, sample_weight=np.zeros(len(y)))
    assert clf.n_mistakes_ == 0


def test_balanced_weights_need_all_the_data(examples):
    X, y = examples
    with refuses(ValueError, "class_weight", "'balanced'"):
        rb.Perceptron(class_weight="balanced").partial_fit(X, y, classes=["no", "yes"])


def test_an_interrupted_block_keeps_the_counts_of_those_before(examples, monkeypatch):
    X, y = examples
    clf = rb.Perceptron().partial_fit(X, y, classes=["no", "yes"])
    made, passes = clf.n_updates_, clf.n_iter_

    def interrupted(examples, rule, start):
        raise algorithms.Interrupted(algorithms.pla(examples, rule, algorithms.Budget(1, 2), start))

    monkeypatch.setattr(algorithms, "online", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clf.partial_fit(X, y)
    assert made <= clf.n_updates_ <= made + 2
    assert clf.n_iter_ == passes + 1


def test_nullable_lazy_and_masked_data_are_named(examples):
    X, y = examples
    gap = pd.DataFrame(X, columns=list("abc")).astype("Float64")
    assert rb.Perceptron().fit(gap, y).separated_
    gap.iloc[5, 1] = pd.NA
    with refuses(ValueError, row=5, column="b"):
        rb.Perceptron().fit(gap, y)
    answers = pd.Series(y, dtype="string")
    answers[3] = pd.NA
    with refuses(ValueError, "y", row=3):
        rb.Perceptron().fit(X, answers)
    with refuses(ValueError, "X.collect()"):
        rb.Perceptron().fit(pl.DataFrame(X).lazy(), y)
    with refuses(ValueError, "X"):
        rb.Perceptron().fit(np.ma.masked_greater(X, 0.5), y)


def test_arrow_tables_with_decimals_are_numbers():
    column = pa.array([1, -1, 2, -2]).cast(pa.decimal128(21, 2))
    clf = rb.Perceptron().fit(pa.table({"a": column}), [1, 0, 1, 0])
    assert clf.separated_


@pytest.mark.parametrize(
    ("parameters", "arguments", "facts"),
    [
        ({"class_weight": {0: 1.0}}, {"sample_weight": [1.0] * 5}, ("sample_weight",)),
        ({"class_weight": {0: -1.0}}, {}, ("class_weight", 0, -1.0)),
        ({"class_weight": {7: 1.0}}, {}, ("class_weight", 7)),
        ({"class_weight": "odd"}, {}, ("class_weight", "'odd'")),
        ({"order": "random", "random_state": -1}, {}, ("random_state", -1)),
        ({"fit_intercept": "no"}, {}, ("fit_intercept", "'no'")),
        ({"eta0": True}, {}, ("eta0", True)),
        ({"max_iter": True}, {}, ("max_iter", True)),
        ({}, {"intercept_init": np.nan}, ("intercept_init", 0)),
    ],
)
def test_each_wrong_argument_is_named(parameters, arguments, facts):
    X, y = [[1.0], [-1.0], [2.0]], [1, 0, 1]
    with refuses(ValueError, *facts):
        rb.Perceptron(**parameters).fit(X, y, **arguments)


def test_one_sample_weight_applies_to_all_rows(examples):
    X, y = examples
    one, all_ = rb.Perceptron().fit(X, y, sample_weight=2.0), rb.Perceptron(eta0=2.0).fit(X, y)
    assert one.weights_.tolist() == all_.weights_.tolist()


def test_the_guarantee_accounts_for_x0_and_weights(examples):
    X, y = examples
    s = np.random.default_rng(1).uniform(0.5, 2, len(y))
    clf = rb.Perceptron(intercept_scaling=0.1, max_iter=10**6).fit(X, y, sample_weight=s)
    promise = rb.guarantee(X, y, clf.weights_, intercept_scaling=0.1, sample_weight=s)
    assert clf.n_updates_ <= promise.bound
