"""Separability: the verdict is right, the proof holds, the margin is the widest."""

import csv
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import rays
import strategies as make
import zoo
from case_counts import count_cases
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import load_iris, load_svmlight_file

import rosenblatt as rb
from rosenblatt.evidence.decision import find_conflict_or_weights
from rosenblatt.evidence.separability import separability_of
from rosenblatt.examples import Examples

SHAPES = [(30, 2), (60, 5), (200, 8)]


def decided(X, y, **how):
    """Return the verdict after checking its proof."""
    s = rb.separability(X, y, **how)
    assert s.verdict != "undecided", s.reason
    assert s.proof.claim == s.verdict
    assert s.proof.check(X, y)
    assert rb.Proof.from_json(s.proof.to_json()).check(X, y)
    count_cases("verdicts, each with its proof checked")
    return s


def tight(rng, n, d, margin):
    """Draw rows of length about 1, all within twice `margin` of a random plane."""
    w = rng.normal(size=d + 1)
    w[0] *= 0.1  # so that both classes are large
    w /= np.linalg.norm(w)
    X = rng.normal(size=(n, d))
    score = X @ w[1:] + w[0]
    y = np.where(score > 0, 1, -1)
    wanted = y * margin * (1 + rng.random(n))
    return X + np.outer(wanted - score, w[1:] / (w[1:] @ w[1:])), y


def signed_rows(X, y, fit_intercept):
    Z = np.column_stack((np.ones(len(X)), X)) if fit_intercept else X
    return [[int(a) * int(s) for a in z] for z, s in zip(Z, np.where(y > 0, 1, -1), strict=True)]


# The verdict


@pytest.mark.parametrize("power", range(1, 14))
@pytest.mark.parametrize("shape", SHAPES)
def test_planted_margins_down_to_1e_13_are_found(power, shape):
    rng = np.random.default_rng([power, *shape])
    X, y = tight(rng, *shape, 10.0**-power)
    s = decided(X, y)
    assert s.verdict == "separable"
    assert 0.99 < s.margin / 10.0**-power < 2  # the planted w is off by rounding, not by more
    assert s.gap <= 1e-9


@pytest.mark.parametrize("power", range(1, 14))
@pytest.mark.parametrize("shape", SHAPES)
def test_one_contradiction_in_general_position_is_found(power, shape):
    rng = np.random.default_rng([power, *shape])
    n, d = shape
    X, y = tight(rng, n, d, 10.0**-power)
    yes = rng.choice(np.flatnonzero(y == 1), d + 1, replace=False)
    among = rng.dirichlet(np.full(d + 1, 5.0)) @ X[yes]  # well inside a simplex of yes
    assert decided(np.vstack((X, among)), np.append(y, -1)).verdict == "inseparable"


@given(make.labelled(max_rows=8, max_columns=3), st.booleans())
def test_integers_are_decided_as_by_every_ray(labelled, fit_intercept):
    X, y = labelled
    want = rays.verdict(signed_rows(X, y, fit_intercept))
    assert decided(X, y, fit_intercept=fit_intercept).verdict == want


@given(st.data())
def test_tiny_grids_with_ties_and_doubles_are_decided_as_by_every_ray(draw):
    n, d = draw.draw(st.integers(1, 9)), draw.draw(st.integers(1, 3))
    X = draw.draw(make.whole(-1, 1, (n, d)))
    y = np.array(draw.draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    fit_intercept = draw.draw(st.booleans())
    want = rays.verdict(signed_rows(X, y, fit_intercept))
    assert decided(X, y, fit_intercept=fit_intercept).verdict == want


@given(make.labelled(max_rows=8, max_columns=3), st.data())
def test_scaling_columns_and_rows_changes_no_verdict(labelled, draw):
    X, y = labelled
    fit_intercept = draw.draw(st.booleans())
    powers = st.integers(-498, 498)
    columns = np.array([2.0 ** draw.draw(powers) for _ in X[0]])
    rows = np.ones(len(X))
    if not fit_intercept:
        rows = np.array([2.0 ** draw.draw(st.integers(-400, 400)) for _ in X])
    want = rays.verdict(signed_rows(X, y, fit_intercept))
    s = decided(X * columns * rows[:, None], y, fit_intercept=fit_intercept)
    assert s.verdict == want


@given(make.labelled(max_rows=8, max_columns=3), st.data())
def test_slightly_different_column_scales_change_no_verdict(labelled, draw):
    X, y = labelled
    columns = np.array([2.0 ** draw.draw(st.integers(-12, 12)) for _ in X[0]])
    want = rays.verdict(signed_rows(X, y, True))
    assert decided(X * columns, y).verdict == want


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("d", [8, 16, 24])
def test_the_integers_of_a_proof_do_not_grow_with_the_rounds(d, seed):
    rng = np.random.default_rng(seed)
    X = np.round(np.exp(rng.normal(size=(30 * d, d))), 2) * (rng.random((30 * d, d)) < 0.1)
    uneven = X * np.round(10.0 ** rng.uniform(0, 4, d))
    s = decided(uneven, rng.random(30 * d) < 0.5)
    assert s.verdict == "inseparable"
    assert s.passes > 10  # a few for each round
    # As in one system of equations: the digits of a float for each unknown.
    longest = max(m.bit_length() for part in s.proof.conflicts for m in part.multipliers)
    assert longest < 60 * (d + 2)


@pytest.mark.parametrize("shape", SHAPES)
def test_columns_of_different_scales_have_their_maximum_margin(shape):
    rng = np.random.default_rng(shape)
    X, y = make.with_margin(rng, *shape, 0.01)
    X = X * 10.0 ** rng.uniform(-3, 3, shape[1])
    s = decided(X, y)
    assert s.verdict == "separable"
    assert s.gap <= 1e-9
    Z = np.column_stack((np.ones(len(X)), X)) * np.where(y > 0, 1, -1)[:, None]
    for _ in range(20):
        other = s.weights + rng.normal(size=len(s.weights)) * np.abs(s.weights) / 100
        assert (Z @ other).min() / np.linalg.norm(other) <= s.margin * (1 + 1e-9)


@given(make.real_numbers())
def test_real_numbers_on_many_scales_are_decided(labelled):
    decided(*labelled)


@given(make.separable())
def test_planted_separators_are_found_and_pla_keeps_the_bound(planted):
    s = decided(planted.X, planted.y, fit_intercept=planted.x0 is not None)
    assert s.verdict == "separable"
    clf = rb.Perceptron(fit_intercept=planted.x0 is not None, max_iter=10**6)
    assert clf.fit(planted.X, planted.y).n_updates_ <= s.bound * (1 + 1e-9)


@given(make.separable(fit_intercept=True), st.data())
def test_boundary_points_with_both_labels_are_quasi_separable(planted, draw):
    X, y, w, _ = planted
    weights = np.array(w[1:])
    at = draw.draw(make.whole(-5, 5, X.shape[1]))
    on = at * (weights @ weights) - weights * (weights @ at + w[0])  # w·(1, on/(w·w)) = 0
    scale = weights @ weights
    X = np.vstack((X * scale, on, on))
    assert decided(X, np.append(y, [1, -1])).verdict == "quasi-separable"


def test_three_points_on_a_line_are_quasi_separable():
    X = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [5.0, 1.0], [4.0, -1.0]]
    s = decided(X, [1, 0, 1, 1, 0])
    assert s.verdict == "quasi-separable"
    assert [part.rows for part in s.conflicts] == [(0, 1, 2)]
    assert s.bound is None
    assert s.margin is None


def test_xor_is_inseparable():
    s = decided([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1])
    assert s.verdict == "inseparable"
    assert not s
    assert s.conflicts[0].multipliers == (1, 1, 1, 1)


@pytest.mark.parametrize("d", range(3, 7))
def test_parity_is_inseparable(d):
    X = np.array(np.meshgrid(*[[0.0, 1.0]] * d)).reshape(d, -1).T
    assert decided(X, X.sum(axis=1) % 2).verdict == "inseparable"


@given(make.contradictory())
def test_contradictory_doubles_are_named_first(labelled):
    X, y = labelled
    s = decided(X, y)
    assert s.verdict in ("quasi-separable", "inseparable")
    a, b = s.conflicts[0].rows
    assert (X[a] == X[b]).all()
    assert y[a] != y[b]


@given(make.with_zero_rows())
def test_rows_of_zeros_are_always_misclassified(labelled):
    s = decided(*labelled, fit_intercept=False)
    assert s.verdict == "quasi-separable"
    assert len(s.conflicts[0].rows) == 1


@given(make.labelled(max_rows=8, max_columns=3), st.integers(-9, 9))
def test_constant_and_collinear_columns_change_nothing(labelled, c):
    X, y = labelled
    wider = np.column_stack((X, np.full(len(X), float(c)), X[:, 0] - 3 * X[:, -1]))
    assert decided(wider, y).verdict == decided(X, y).verdict


@pytest.mark.parametrize("seed", range(5))
def test_rank_deficient_real_numbers_are_decided(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-50, 50, size=(40, 3)) @ rng.integers(-3, 4, size=(3, 7)) / 8.0
    assert decided(X, rng.integers(0, 2, 40)).verdict == "inseparable"
    w = rng.normal(size=7)
    assert decided(X, X @ w > 0.1).verdict == "separable"


def test_more_features_than_rows_are_decided():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 50))
    assert decided(X, np.arange(20) % 2).verdict == "separable"
    double = decided(np.vstack((X, X[:1])), np.append(np.arange(20) % 2, 1))
    assert double.verdict == "quasi-separable"


def test_more_features_than_rows_can_be_inseparable():
    X = np.outer([0.0, 1.0, 2.0, 3.0], np.arange(1.0, 30.0))
    assert decided(X, [0, 1, 0, 1]).verdict == "inseparable"


def test_one_class_alone_is_decided():
    s = decided([[1.0, 2.0], [-3.0, 4.0]], ["yes", "yes"])
    assert s.verdict == "separable"
    assert decided([[1.0], [-1.0]], [0, 0], fit_intercept=False).verdict == "inseparable"
    assert decided([[1.0], [2.0]], [0, 0], fit_intercept=False).weights.tolist() == [-1.0]


def test_integers_up_to_2_53_are_not_rounded():
    a = 2.0**53
    line = [[a - 4, a - 4], [a - 3, a - 3], [a - 2, a - 2]]
    assert decided(line, [0, 1, 0]).verdict == "inseparable"
    bent = [[a - 4, a - 4], [a - 3, a - 2], [a - 2, a - 2]]
    assert decided(bent, [0, 1, 0]).verdict == "separable"


def test_float32_values_are_used_exactly():
    X = np.array([[0.1], [0.2], [0.3]], dtype=np.float32)
    s = decided(X, [0, 1, 1])
    assert s.proof.check(X.astype(np.float64), [0, 1, 1])
    # In float64 0.1 + 0.2 > 0.3; in float32 0.1 + 0.2 = 0.3 to the last bit or not, as it is.
    tall = np.array([[0.1, 0.2], [0.3, 0.0]], dtype=np.float32)
    assert decided(tall, [1, 0]).verdict == decided(tall.astype(np.float64), [1, 0]).verdict


# Formats and faces


@pytest.mark.parametrize("table", [np.array, sparse.csr_array])
def test_rows_on_the_margin_are_found_however_large_the_others(table):
    X = [[-1e-97, 1e-97], [-2e-81, 1e-81], [-2e7, -1e7], [0.0, -2e81], [-2e147, 1e147], [-2e54] * 2]
    y = [-1, -1, 1, 1, 1, 1]
    s = rb.separability(table(X), y)
    products = [a * zoo.score(s.proof.weights, [1.0, *x]) for x, a in zip(X, y, strict=True)]
    near = [n for n, product in enumerate(products) if product <= min(products) * Fraction("1.001")]
    assert s.support.tolist() == near  # rows 3 and 5 are farther off by many powers of ten
    assert {3, 5}.isdisjoint(near)


@given(make.labelled(), st.booleans())
def test_dense_csr_and_frames_agree(labelled, fit_intercept):
    X, y = labelled
    s = decided(X, y, fit_intercept=fit_intercept)
    for other in (sparse.csr_array(X), sparse.csr_matrix(X), pd.DataFrame(X), pl.DataFrame(X)):
        same = rb.separability(other, y, fit_intercept=fit_intercept)
        assert same.verdict == s.verdict
        assert s.proof.check(other, y)
        assert same.proof.check(X, y)


def test_entries_stored_twice_are_added_up():
    twice = sparse.csr_array(([1.0, 1.0, 5.0], [0, 0, 0], [0, 2, 3]), shape=(2, 1))
    s = decided(twice, [0, 1])
    assert s.proof.check([[2.0], [5.0]], [0, 1])


def test_the_intercept_can_be_scaled():
    X, y = [[10.0], [11.0]], [0, 1]
    assert decided(X, y, intercept_scaling=10.0).bound < decided(X, y).bound


@pytest.mark.parametrize("seed", range(8))
def test_highs_agrees_where_it_is_reliable(seed):
    rng = np.random.default_rng(seed)
    X, y = make.with_margin(rng, 80, 4, 1e-3)
    if seed % 2:
        y[rng.choice(80, 2, replace=False)] *= -1
    Z = y[:, None] * np.column_stack((np.ones(80), X))
    solution = linprog(np.zeros(5), A_ub=-Z, b_ub=-np.ones(80), bounds=(None, None), method="highs")
    assert bool(decided(X, y)) == (solution.status == 0)


# The margin


@given(make.separable())
def test_no_other_w_has_a_wider_margin(planted):
    s = decided(planted.X, planted.y, fit_intercept=planted.x0 is not None)
    tall = (
        planted.X if planted.x0 is None else np.column_stack((np.ones(len(planted.X)), planted.X))
    )
    products = planted.y * (tall @ s.weights)
    assert np.linalg.norm(s.weights) == pytest.approx(1.0)
    assert products.min() == pytest.approx(s.margin, rel=1e-6)
    assert s.gap <= 1e-9
    w = planted.w_f / np.linalg.norm(planted.w_f)
    assert (planted.y * (tall @ w)).min() <= s.upper * (1 + 1e-12)
    assert s.radius == pytest.approx(np.linalg.norm(tall, axis=1).max())
    assert s.bound == pytest.approx((s.radius / s.margin) ** 2)
    assert set(s.support) >= set(np.flatnonzero(products <= s.margin * (1 + 1e-10)))


def test_without_widest_any_separator_is_enough():
    rng = np.random.default_rng(1)
    X, y = make.with_margin(rng, 200, 3, 0.05)
    any_w, widest = decided(X, y, widest=False), decided(X, y)
    assert any_w.verdict == "separable"
    assert 0 < any_w.margin <= widest.margin * (1 + 1e-9)
    assert widest.widest
    assert "\nThe widest margin is rho" in widest.explain()
    far = decided(X * [1.0, 1e12, 1e-12], y, widest=False)
    assert not far.widest
    assert "\nThe widest margin is at least rho" in far.explain()
    assert "margin is at least " in repr(far)
    assert math.isinf(far.upper)
    assert "inf" not in far.explain()  # an infinite bound is not mentioned


def test_with_many_features_pla_is_tried_first():
    rng = np.random.default_rng(2)
    X = sparse.random_array((60, 200), density=0.1, rng=rng, format="csr")
    s = decided(X, np.arange(60) % 2, widest=False)
    assert s.verdict == "separable"


def test_the_margin_on_scaled_rows_is_in_the_unit_of_the_data():
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 0.0], [4.0, 2.0]]), [0, 0, 1, 1]
    plain = decided(X, y)
    small = decided(X * [1.0, 2.0**-60], y)
    assert small.gap <= 1e-9
    assert small.margin < plain.margin


# What it says


def test_separable_data_are_explained():
    text = decided([[0.0, 0.0], [1.0, 900.0], [3.0, 0.0], [4.0, 900.0]], [0, 0, 1, 1]).explain()
    assert "R²/rho²" in text
    assert "On the margin: rows" in text
    assert "Dividing each column by its largest entry would lower the bound" in text


def test_the_explanation_of_inseparable_data_names_rows_and_coefficients():
    s = decided([[0.0], [1.0], [2.0], [2.0]], [0, 1, 0, 1])
    assert "rows 2 and 3 both correctly" in s.explain()
    assert "\n0.5 of row 2 and 0.5 of row 3, each times" in s.explain()
    assert [len(part.rows) for part in s.conflicts] == sorted(len(p.rows) for p in s.conflicts)
    assert "rows 2 and 3" in repr(s)
    assert "rows 2 and 3 both correctly" in s._repr_html_()


def test_either_some_rows_conflict_or_some_weights_classify_all():
    examples = Examples.from_arrays([[0.0], [1.0], [2.0], [9.0], [1.0]], [0, 1, 0, 1, 0])
    assert find_conflict_or_weights(examples, [2, 0, 1]).rows == (0, 1, 2)
    assert (
        examples.signed_scores(find_conflict_or_weights(examples, [3, 1, 0]))[[0, 1, 3]] > 0
    ).all()
    assert set(find_conflict_or_weights(examples).rows) <= set(range(5))


# Long runs


class Interrupted(Examples):
    """Rows that are interrupted by Ctrl-C in one of the passes over them."""

    passes = 0

    def signed_scores(self, w):
        Interrupted.passes -= 1
        if Interrupted.passes == 0:
            raise KeyboardInterrupt
        return super().signed_scores(w)


def interrupted(X, y, passes):
    Interrupted.passes = passes
    examples = Examples.from_arrays(X, y)
    return separability_of(Interrupted(examples.X, examples.y, examples.labels))


def test_ctrl_c_returns_undecided_with_bounds():
    rng = np.random.default_rng(0)
    X, y = make.with_margin(rng, 500, 10, 1e-3)
    s = interrupted(X, y, 5)
    assert s.verdict == "undecided"
    assert not s
    assert s.proof is None
    assert 0 < s.upper < s.radius
    assert "interrupted" in s.explain()
    assert "interrupted" in repr(s)


def test_ctrl_c_after_the_verdict_keeps_it():
    rng = np.random.default_rng(0)
    X, y = make.with_margin(rng, 500, 10, 1e-3)
    X[:, 0] *= 1e6  # a separator is found in other units, and then the widest in one unit
    X, y = X[np.argsort(y)], np.sort(y)
    found = [interrupted(X, y, passes) for passes in range(1, 60)]
    kept = [s for s in found if s and not s.widest]
    assert kept
    assert all(s.proof.check(X, y) for s in kept)
    assert all(s.verdict in ("separable", "undecided") for s in found)


# Published data


def test_iris_has_its_known_verdicts():
    X, y = load_iris(return_X_y=True)
    assert decided(X, y == 0).verdict == "separable"
    assert decided(X[50:], y[50:]).verdict == "inseparable"


def test_homework_data_have_their_known_verdicts(data):
    train = np.loadtxt(data / "hw1_15_train.dat")
    s = decided(train[:, :-1], train[:, -1])
    assert s.verdict == "separable"
    assert s.bound >= 45
    noisy = np.loadtxt(data / "hw1_18_train.dat")
    assert decided(noisy[:, :-1], noisy[:, -1]).verdict == "inseparable"


@pytest.mark.slow_without_jit
def test_medicine_and_credit_are_not_separable(data):
    with open(data / "breast-cancer-wisconsin.data", newline="") as file:
        breast = np.array([r for r in csv.reader(file) if r and "?" not in r], dtype=float)
    assert decided(breast[:, 1:-1], breast[:, -1]).verdict == "inseparable"
    assert not decided(*load_svmlight_file(str(data / "heart_scale")))
    pima = np.loadtxt(data / "pima-indians-diabetes.csv", delimiter=",")
    assert not decided(pima[:, :-1], pima[:, -1])
    german = pd.read_csv(data / "german.csv", header=None)
    assert not decided(pd.get_dummies(german.iloc[:, :-1]).astype(float), german.iloc[:, -1])


@pytest.mark.slow_without_jit
def test_messages_are_separable(data):
    from sklearn.feature_extraction.text import CountVectorizer

    lines = (data / "SMSSpamCollection").read_text(encoding="utf-8").splitlines()
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    s = decided(CountVectorizer().fit_transform(texts), labels, widest=False)
    assert s.verdict == "separable"


def test_contradicting_rows_are_reported_once():
    found = rb.separability([[0.0], [1.0], [1.0], [3.0]], ["no", "no", "yes", "yes"])
    assert found.verdict == "quasi-separable"
    assert [part.rows for part in found.conflicts] == [(1, 2)]
    assert found.explain().lower().count("rows 1 and 2") == 1


def test_numbers_whose_ratios_overflow_are_decided():
    X = [[1e308, 5e-324, -1.7e308], [-5e-324, 5e-324, 5e-324], [5e-324, -5e-324, -5e-324]]
    s = rb.separability(X, [1, 1, 1], fit_intercept=False)
    assert s.verdict == "quasi-separable"
    assert s.proof.check(X, [1, 1, 1])
