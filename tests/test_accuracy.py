import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.accuracy import Accuracy, stratified_folds, stratified_split

answers = st.lists(st.sampled_from([-1, 1]), min_size=8, max_size=80).filter(
    lambda y: min(y.count(-1), y.count(1)) >= 3
)


@given(answers, st.integers(2, 3), st.integers(0, 9))
def test_folds_hold_every_row_once_and_answers_evenly(y, count, seed):
    y = np.array(y, dtype=np.int8)
    parts = stratified_folds(y, count, np.random.default_rng(seed))
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(y)))
    for sign in (-1, 1):
        sizes = [int((y[part] == sign).sum()) for part in parts]
        assert max(sizes) - min(sizes) <= 1


@given(answers, st.floats(0.05, 0.9), st.integers(0, 9))
def test_held_out_rows_are_not_learnt_from(y, share, seed):
    y = np.array(y, dtype=np.int8)
    learnt, tested = stratified_split(y, share, np.random.default_rng(seed))
    assert sorted([*learnt.tolist(), *tested.tolist()]) == list(range(len(y)))
    assert set(y[tested]) == {-1, 1}


def test_the_interval_is_wilson_s():
    # Newcombe (1998), table I: 81 of 263 and 15 of 148.
    assert of(81, 263).interval == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert of(15, 148).interval == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert of(20, 20).interval[1] == 1.0


def of(right, total):
    """An accuracy of which only the share matters."""
    return Accuracy(((right, total - right), (0, 0)))


signs = st.lists(st.tuples(st.sampled_from([-1, 1]), st.sampled_from([-1, 1])), min_size=1)


@given(signs)
def test_baseline_balanced_and_confusion_are_scikit_learn_s(pairs):
    from sklearn.metrics import balanced_accuracy_score, confusion_matrix

    y, answers = np.array(pairs, dtype=np.int8).T
    found = Accuracy.of_predictions(y, answers, 2)
    assert found.confusion == tuple(
        map(tuple, confusion_matrix(y, answers, labels=[-1, 1]).tolist())
    )
    assert found.share == np.mean(y == answers)
    assert found.baseline == max(np.mean(y < 0), np.mean(y > 0))
    if len(set(y)) == 2:
        assert found.balanced == pytest.approx(balanced_accuracy_score(y, answers))
    else:
        assert found.balanced is None


@given(signs, st.integers(0, 20))
def test_accuracies_of_parts_add_up(pairs, cut):
    y, answers = np.array(pairs, dtype=np.int8).T
    parts = Accuracy.of_predictions(y[:cut], answers[:cut], 2) + Accuracy.of_predictions(
        y[cut:], answers[cut:], 2
    )
    assert parts == Accuracy.of_predictions(y, answers, 2)
