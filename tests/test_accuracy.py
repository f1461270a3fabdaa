import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    balanced_accuracy_score,
    confusion_matrix,
    precision_recall_fscore_support,
    roc_auc_score,
)

from rosenblatt.accuracy import Accuracy, stratified_split
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis

answers = st.lists(st.sampled_from([-1, 1]), min_size=8, max_size=80).filter(
    lambda y: min(y.count(-1), y.count(1)) >= 3
)


@given(answers, st.floats(0.05, 0.9), st.integers(0, 9))
def test_held_out_rows_are_not_trained_on(y, share, seed):
    y = np.array(y, dtype=np.int8)
    trained, tested = stratified_split(y, share, np.random.default_rng(seed))
    assert sorted([*trained.tolist(), *tested.tolist()]) == list(range(len(y)))
    assert set(y[tested]) == {-1, 1}


def test_the_interval_is_wilsons():
    # Newcombe (1998), table I: 81 of 263 and 15 of 148.
    assert of(81, 263).interval == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert of(15, 148).interval == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert of(20, 20).interval[1] == 1.0


def of(right, total):
    """An accuracy of which only the share matters."""
    return Accuracy(((right, total - right), (0, 0)))


signs = st.lists(st.tuples(st.sampled_from([-1, 1]), st.sampled_from([-1, 1])), min_size=1)


@given(signs)
def test_baseline_balanced_accuracy_and_confusion_match_scikit_learn(pairs):
    y, answers = np.array(pairs, dtype=np.int8).T
    found = Accuracy.of_predictions(y, answers, 2)
    assert found.confusion == tuple(
        map(tuple, confusion_matrix(y, answers, labels=[-1, 1]).tolist())
    )
    assert found.share == np.mean(y == answers)
    assert found.baseline == max(np.mean(y < 0), np.mean(y > 0))
    if len(set(y)) == 2:
        assert found.balanced == pytest.approx(balanced_accuracy_score(y, answers))
        theirs = precision_recall_fscore_support(y, answers, average="binary", zero_division=0)
        assert (found.precision, found.recall, found.f1) == pytest.approx(theirs[:3])
    else:
        assert found.balanced is found.precision is found.recall is found.f1 is None


@given(signs, st.integers(0, 20))
def test_accuracies_of_parts_add_up(pairs, cut):
    y, answers = np.array(pairs, dtype=np.int8).T
    parts = Accuracy.of_predictions(y[:cut], answers[:cut], 2) + Accuracy.of_predictions(
        y[cut:], answers[cut:], 2
    )
    assert parts == Accuracy.of_predictions(y, answers, 2)


points = st.lists(st.tuples(*[st.integers(-3, 3)] * 2, st.integers(0, 3)), min_size=4, max_size=30)


@given(points, st.lists(st.integers(-2, 2), min_size=12, max_size=12), st.integers(2, 4))
def test_measures_of_scores_match_scikit_learn(rows, w, k):
    X, y = np.array(rows, dtype=np.float64)[:, :2], np.array([row[2] % k for row in rows])
    if len(set(y.tolist())) < k:
        return
    examples = Examples.from_arrays(X, y)
    weights = np.array(w, dtype=np.float64).reshape(4, 3)
    h = Hypothesis.of(weights[0] if k == 2 else weights[:k])
    found, predicted = Accuracy.of(h, examples), h.predict(X, np.arange(k))
    average = "binary" if k == 2 else "macro"
    theirs = precision_recall_fscore_support(y, predicted, average=average, zero_division=0)
    assert (found.precision, found.recall, found.f1) == pytest.approx(theirs[:3])
    if k == 2:
        assert found.roc_auc == pytest.approx(roc_auc_score(y, h.scores(X)))
        return
    leads = [h.lead(h.scores(X), np.full(len(y), label))[0] for label in range(k)]
    areas = [roc_auc_score(y == label, lead) for label, lead in enumerate(leads)]
    assert found.roc_auc == pytest.approx(np.mean(areas))
    shifted = Hypothesis.of(weights[:k] + weights[0])  # predicts the same everywhere
    assert Accuracy.of(shifted, examples).roc_auc == pytest.approx(found.roc_auc)


def test_roc_auc_needs_two_labels_and_finite_scores():
    h = Hypothesis(np.array([0.0, 1e308]))
    two = Examples.from_arrays([[2.0], [-2.0], [0.5]], [1, 0, 1])
    assert Accuracy.of(h, two).roc_auc is None
    one = two.some(np.array([0, 2]))
    assert Accuracy.of(Hypothesis(np.array([0.0, 1.0])), one).roc_auc is None
    assert Accuracy.of(Hypothesis(np.array([0.0, 1.0])), two).roc_auc == 1.0
