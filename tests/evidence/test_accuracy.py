import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.evidence.accuracy import Accuracy, folds, held_out

answers = st.lists(st.sampled_from([-1, 1]), min_size=8, max_size=80).filter(
    lambda y: min(y.count(-1), y.count(1)) >= 3
)


@given(answers, st.integers(2, 3), st.integers(0, 9))
def test_folds_hold_every_row_once_and_answers_evenly(y, count, seed):
    y = np.array(y, dtype=np.int8)
    parts = folds(y, count, np.random.default_rng(seed))
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(y)))
    for sign in (-1, 1):
        sizes = [int((y[part] == sign).sum()) for part in parts]
        assert max(sizes) - min(sizes) <= 1


@given(answers, st.floats(0.05, 0.9), st.integers(0, 9))
def test_held_out_rows_are_not_learnt_from(y, share, seed):
    y = np.array(y, dtype=np.int8)
    learnt, tested = held_out(y, share, np.random.default_rng(seed))
    assert sorted([*learnt.tolist(), *tested.tolist()]) == list(range(len(y)))
    assert set(y[tested]) == {-1, 1}


def test_the_interval_is_wilson_s():
    # Newcombe (1998), table I: 81 of 263 and 15 of 148.
    assert Accuracy(81, 263).interval == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert Accuracy(15, 148).interval == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert Accuracy(20, 20).interval[1] == 1.0


def test_balanced_accuracy():
    assert Accuracy(8, 10, yes_right=1, yes_total=2).balanced == pytest.approx((1 / 2 + 7 / 8) / 2)
    assert Accuracy(8, 10).balanced is None
