"""Published results: the lecture's homework, Iris, Learning From Data."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import rosenblatt as rb


@pytest.fixture(scope="module")
def homework(data):
    """Load homework 1, question 15: 400 separable rows of 4 numbers, label last."""
    table = np.loadtxt(data / "hw1_15_train.dat")
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(int)


def homework_pla(**parameters):
    return rb.Perceptron(zero="negative", **parameters)


def test_question_15_naive_cycle_makes_45_updates(homework):
    clf = homework_pla().fit(*homework)
    assert clf.n_updates_ == 45
    np.testing.assert_allclose(
        clf.weights_, [-3, 3.0841436, -1.583081, 2.391305, 4.5287635], rtol=1e-6
    )


@pytest.mark.slow_without_jit
def test_question_16_random_cycles_make_40_updates_on_average(homework):
    """40.1 with standard error 0.26, over 2000 runs."""
    runs = [
        homework_pla(order="random-cycle", random_state=seed).fit(*homework).n_updates_
        for seed in range(2000)
    ]
    assert abs(np.mean(runs) - 40.1) < 3 * 0.26
    assert len(set(runs)) > 20


@pytest.mark.parametrize("eta0", [0.5, 0.25, 0.1, 1e-3, 7.3])
@pytest.mark.parametrize("order", ["cycle", "random-cycle"])
def test_question_17_eta_changes_no_update(homework, order, eta0):
    clf = homework_pla(order=order, random_state=0).fit(*homework)
    other = homework_pla(order=order, random_state=0, eta0=eta0).fit(*homework)
    assert other.trace_.examples.tolist() == clf.trace_.examples.tolist()
    np.testing.assert_allclose(other.weights_, eta0 * clf.weights_, rtol=1e-9)


def test_starting_over_makes_60_updates(homework):
    assert homework_pla(order="first").fit(*homework).n_updates_ == 60


def test_starting_from_all_ones_makes_21_updates(homework):
    clf = homework_pla().fit(*homework, coef_init=np.ones(4), intercept_init=1)
    assert clf.n_updates_ == 21


def test_iris_mistakes_per_epoch_and_weights():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100, [0, 2]], y[:100]
    clf = rb.Perceptron(eta0=0.2, zero="positive", max_iter=10).fit(X, y)
    assert np.bincount(clf.trace_.cycles, minlength=10).tolist() == [2, 2, 3, 2, 1, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(clf.weights_, [-0.4, -0.68, 1.82])
    assert clf.separated_


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(
    ("n_examples", "median", "within", "disagreement"),
    [(10, 5, 1, 0.109), (100, 60, 7, 0.0134)],
)
def test_learning_from_data_homework_1(n_examples, median, within, disagreement):
    result = rb.experiment(n_examples, 2000, random_state=1)
    assert len(result.updates) == len(result.disagreement) == 2000
    assert abs(np.median(result.updates) - median) <= within
    error = np.std(result.disagreement) / np.sqrt(2000)
    assert abs(np.mean(result.disagreement) - disagreement) < 4 * error
