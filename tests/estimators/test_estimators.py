"""All exported estimators pass the checks of scikit-learn."""

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import rosenblatt as rb

ROW_ORDER = "PLA depends on the order of rows, so repeating and shuffling them changes its result"
NARROW = "PLA leaves a class alone once all its rows are right, however narrowly"

# A search that takes all the time it is given need not be given much here.
QUICK = {"FewestMistakes": {"time_limit": 0.1}}


def exported_estimators():
    names = (getattr(rb, name) for name in rb.__all__)
    return [
        c(**QUICK.get(c.__name__, {}))
        for c in names
        if inspect.isclass(c) and issubclass(c, BaseEstimator)
    ]


def expected_failed_checks(estimator):
    reasons = {
        "check_sample_weight_equivalence_on_dense_data": ROW_ORDER,
        "check_sample_weight_equivalence_on_sparse_data": ROW_ORDER,
    }
    if isinstance(estimator, rb.Perceptron):  # 19 rows of a heavy class in noise are soon right
        reasons["check_class_weight_classifiers"] = NARROW
    return reasons


def test_estimators_are_discovered():
    assert rb.Perceptron in map(type, exported_estimators())


@pytest.mark.slow_without_jit
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(exported_estimators(), expected_failed_checks=expected_failed_checks)
def test_estimators_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)
