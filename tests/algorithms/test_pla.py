"""PLA compared with the lecture: its updates, when it halts, and its bound."""

from itertools import repeat

import lecture
import numpy as np
import pytest
import strategies as make
from facts import warns
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb

quietly = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def perceptron(x0=1.0, **parameters):
    """Create a perceptron whose budget never stops it on these small examples."""
    return rb.Perceptron(**{"max_iter": 10**7, "fit_intercept": x0 is not None, **parameters})


def corrections(clf):
    return clf.trace_.examples.tolist()


def assert_same_run(clf, run):
    assert corrections(clf) == run.rows
    assert clf.trace_.cycles.tolist() == run.cycles
    assert clf.n_updates_ == len(run.rows)
    assert clf.n_iter_ == run.begun
    assert clf.separated_ == run.halted
    assert clf.weights_.tolist() == run.weights[-1].tolist()


@st.composite
def rules(draw):
    """Draw separable examples with a rule for zero, η, w(0) and sample weights."""
    examples = draw(make.separable())
    s = draw(st.none() | make.whole(0, 3, len(examples.y)))
    if s is not None:
        assume(len(set(examples.y[s > 0])) == 2)
    eta = draw(make.powers_of_two)
    w = draw(st.none() | make.whole(-9, 9, len(examples.w_f)).map(lambda w: eta * w))
    return examples, {"zero": draw(make.zeros), "eta": eta, "w": w, "s": s}


def fit(order, examples, rule):
    X, y, _, x0 = examples
    w = {}
    if rule["w"] is not None:
        coef, intercept = (rule["w"], None) if x0 is None else (rule["w"][1:], rule["w"][0])
        w = {"coef_init": coef, "intercept_init": intercept}
    clf = perceptron(x0, order=order, zero=rule["zero"], eta0=rule["eta"], random_state=0)
    return clf.fit(X, y, sample_weight=rule["s"], **w)


# The slides, order by order.


@given(rules())
def test_naive_cycle_makes_the_updates_of_the_slide(example):
    examples, rule = example
    run = lecture.cyclic(lecture.tall(examples.X, examples.x0), examples.y, **rule)
    assert_same_run(fit("cycle", examples, rule), run)


@given(rules())
def test_starting_over_makes_the_updates_of_the_octave_program(example):
    examples, rule = example
    run = lecture.starting_over(lecture.tall(examples.X, examples.x0), examples.y, **rule)
    assert_same_run(fit("first", examples, rule), run)


@given(rules())
def test_random_updates_only_on_mistakes_until_none_is_left(example):
    examples, rule = example
    clf = fit("random", examples, rule)
    run = lecture.chosen(
        lecture.tall(examples.X, examples.x0), examples.y, corrections(clf), **rule
    )
    assert run.halted
    assert clf.separated_
    assert clf.weights_.tolist() == run.weights[-1].tolist()


@given(make.separable(), make.zeros, make.seeds)
def test_shuffle_visits_every_row_once_per_epoch(examples, zero, seed):
    X, y, _, x0 = examples
    clf = perceptron(x0, order="shuffle", zero=zero, random_state=seed).fit(X, y)
    run = lecture.check_shuffled(
        lecture.tall(X, x0), y, corrections(clf), clf.trace_.cycles.tolist(), zero=zero
    )
    assert run.halted
    assert clf.n_iter_ == clf.trace_.cycles.max(initial=-1) + 2
    assert clf.weights_.tolist() == run.weights[-1].tolist()


def far_side(examples, cycles=1):
    """Return a w(0) so wrong that every row is a mistake in the first epochs."""
    X = lecture.tall(examples.X, examples.x0)
    return -(cycles * np.abs(X @ X.T).sum(axis=1).max() + 1) * examples.w_f


def fit_from(w, clf, examples):
    coef, intercept = (w, None) if examples.x0 is None else (w[1:], w[0])
    return clf.fit(examples.X, examples.y, coef_init=coef, intercept_init=intercept)


@quietly
@given(make.separable(), make.seeds)
def test_random_cycle_repeats_one_permutation(examples, seed):
    X, y, _, x0 = examples
    w = far_side(examples)
    clf = perceptron(x0, order="random-cycle", random_state=seed, max_iter=6)
    fit_from(w, clf, examples)
    visits = corrections(clf)[: len(y)]
    assert sorted(visits) == list(range(len(y)))
    assert corrections(clf) == lecture.cyclic(lecture.tall(X, x0), y, [visits] * 6, w=w).rows
    # From w(0) = 0 the same seed draws the same permutation.
    clf = perceptron(x0, order="random-cycle", random_state=seed).fit(X, y)
    assert_same_run(clf, lecture.cyclic(lecture.tall(X, x0), y, repeat(visits)))


@quietly
@given(make.separable(), make.seeds)
def test_shuffle_draws_whole_permutations(examples, seed):
    clf = perceptron(examples.x0, order="shuffle", random_state=seed, max_iter=3)
    clf = fit_from(far_side(examples, cycles=3), clf, examples)
    for visits in np.reshape(corrections(clf), (3, -1)):
        assert sorted(visits) == list(range(len(examples.y)))


@quietly
@pytest.mark.parametrize(
    ("order", "different"), [("cycle", 1), ("random-cycle", 1), ("shuffle", 4)]
)
def test_only_shuffle_draws_a_new_order_each_epoch(order, different):
    X = np.arange(1.0, 41.0).reshape(-1, 1)
    y = np.where(X[:, 0] % 2, 1, -1)
    clf = rb.Perceptron(order=order, random_state=0, max_iter=4)
    # Alternate answers from w(0) = (0, 1e9) with w unable to move far: all even rows are wrong.
    clf.fit(X, y, coef_init=[1e9])
    cycles = corrections(clf), clf.trace_.cycles
    visits = {tuple(np.array(cycles[0])[cycles[1] == k]) for k in range(4)}
    assert len(visits) == different
    assert all(sorted(v) == list(range(1, 40, 2)) for v in visits)


@quietly
def test_random_is_uniform_over_the_mistakes():
    """A next mistake after a random row would prefer row 7; a fair choice does not."""
    X = np.ones((12, 1))
    y = np.where(np.isin(np.arange(12), [0, 1, 2, 7]), -1, 1)
    picks = [
        corrections(
            rb.Perceptron(order="random", max_updates=1, random_state=seed).fit(
                X, y, coef_init=[1.0]
            )
        )[0]
        for seed in range(800)
    ]
    rows, counts = np.unique(picks, return_counts=True)
    assert rows.tolist() == [0, 1, 2, 7]
    assert stats.chisquare(counts).pvalue > 1e-3


# Halting.


@given(make.separable(), make.orders, make.zeros, make.seeds)
def test_every_order_halts_on_separable_examples_without_a_mistake(examples, order, zero, seed):
    X, y, _, x0 = examples
    clf = perceptron(x0, order=order, zero=zero, random_state=seed).fit(X, y)
    assert clf.separated_
    assert clf.n_mistakes_ == 0
    assert lecture.mistakes(clf.weights_, lecture.tall(X, x0), y, zero) == []
    assert clf.predict(X).tolist() == y.tolist()


@quietly
@given(make.real_numbers(), make.orders, st.booleans(), make.seeds)
def test_halting_implies_no_mistake_in_exact_arithmetic(examples, order, intercept, seed):
    X, y = examples
    x0 = 1.0 if intercept else None
    clf = perceptron(x0, order=order, random_state=seed, max_iter=60).fit(X, y)
    if clf.separated_:
        assert lecture.exact_mistakes(clf.weights_, lecture.tall(X, x0), y) == []
        assert clf.n_mistakes_ == 0
    else:
        assert clf.n_updates_ > 0


@quietly
@given(make.labelled(), make.orders, make.zeros, st.integers(1, 5), make.seeds)
def test_mistakes_left_are_counted_on_all_examples(examples, order, zero, max_iter, seed):
    X, y = examples
    clf = rb.Perceptron(order=order, zero=zero, max_iter=max_iter, random_state=seed).fit(X, y)
    wrong = lecture.mistakes(clf.weights_, lecture.tall(X), y, zero)
    assert clf.n_mistakes_ == len(wrong)
    assert not (clf.separated_ and wrong)


@given(make.contradictory(), make.orders, make.zeros)
def test_contradictory_rows_are_never_separated(examples, order, zero):
    X, y = examples
    with warns(ConvergenceWarning, "max_iter"):
        clf = rb.Perceptron(order=order, zero=zero, max_iter=20, random_state=0).fit(X, y)
    assert not clf.separated_
    assert clf.n_mistakes_ >= 1


@quietly
@given(make.with_zero_rows(), make.orders, make.zeros)
def test_zero_rows_without_intercept_are_correct_only_if_sign_0_is_their_label(
    examples, order, zero
):
    X, y = examples
    clf = perceptron(None, order=order, zero=zero, max_iter=2000, random_state=0).fit(X, y)
    answers = set(y[~X.any(axis=1)])
    assert clf.separated_ == (answers == {lecture.SIGN_OF_ZERO[zero]})


@given(make.with_constant_column(), make.orders)
def test_constant_columns_are_harmless(examples, order):
    X, y, _, x0 = examples
    clf = perceptron(x0, order=order, random_state=0).fit(X, y)
    assert clf.separated_
    assert lecture.mistakes(clf.weights_, lecture.tall(X, x0), y) == []


@pytest.mark.parametrize("order", make.ORDERS)
def test_two_rows_in_one_dimension_are_enough(order):
    clf = rb.Perceptron(order=order, random_state=0).fit([[3.0], [5.0]], [1, 0])
    assert clf.separated_
    assert clf.predict([[3.0], [5.0]]).tolist() == [1, 0]


@pytest.mark.slow_without_jit
def test_default_separates_200_of_200_random_sets():
    rng = np.random.default_rng(2)
    runs = [rb.Perceptron().fit(*make.with_margin(rng, 300, 10, 0.02)) for _ in range(200)]
    assert sum(clf.separated_ for clf in runs) == 200


# The theorem. Whole numbers: T (min y w_f·x)² ≤ R² ‖w_f‖² leaves nothing to rounding.


def bound_is_kept(T, X, y, w_f):
    margin, radius = (y * (X @ w_f)).min(), (X**2).sum(axis=1).max()
    return T * margin**2 <= radius * (w_f @ w_f)


@given(make.separable(), make.orders, make.zeros, make.seeds)
def test_pla_never_exceeds_its_bound(examples, order, zero, seed):
    X, y, w_f, x0 = examples
    clf = perceptron(x0, order=order, zero=zero, random_state=seed).fit(X, y)
    assert bound_is_kept(clf.n_updates_, lecture.tall(X, x0), y, w_f)


@given(make.separable(), make.orders, st.data())
def test_weighted_pla_never_exceeds_the_bound_of_the_scaled_examples(examples, order, data):
    X, y, w_f, x0 = examples
    s = data.draw(make.whole(1, 5, len(y)))
    clf = perceptron(x0, order=order, random_state=0).fit(X, y, sample_weight=s)
    assert bound_is_kept(clf.n_updates_, s[:, None] * lecture.tall(X, x0), y, w_f)


@given(make.separable(), st.data())
def test_a_stream_never_exceeds_the_bound(examples, data):
    X, y, w_f, x0 = examples
    clf = perceptron(x0)
    for _ in range(5):
        n = data.draw(st.lists(st.integers(0, len(y) - 1), min_size=1, max_size=20))
        clf.partial_fit(X[n], y[n], classes=[-1, 1])
    assert bound_is_kept(clf.n_updates_, lecture.tall(X, x0), y, w_f)


# What must not change the corrections.


def assert_scaling_changes_no_correction(examples, c, **parameters):
    X, y = examples
    clf = rb.Perceptron(max_iter=30, **parameters)
    plain, w = corrections(clf.fit(X, y)), clf.weights_
    clf.set_params(intercept_scaling=c).fit(c * X, y)
    assert corrections(clf) == plain
    assert clf.weights_.tolist() == (c * w).tolist()


@quietly
@given(make.labelled(), make.orders, make.zeros, make.scales, make.seeds, st.booleans())
def test_scaling_x_and_x0_changes_no_update(examples, order, zero, c, seed, intercept):
    rule = {"order": order, "zero": zero, "random_state": seed, "fit_intercept": intercept}
    assert_scaling_changes_no_correction(examples, c, **rule)


@quietly
@given(make.labelled(), make.orders, make.extreme_scales, st.booleans())
def test_scaling_changes_nothing_even_if_products_overflow(examples, order, c, intercept):
    rule = {"order": order, "random_state": 0, "fit_intercept": intercept}
    assert_scaling_changes_no_correction(examples, c, **rule)


@quietly
@given(make.labelled(), make.orders, make.zeros, make.powers_of_two, make.seeds)
def test_eta_changes_no_update_when_starting_from_zero(examples, order, zero, eta, seed):
    X, y = examples
    clf = rb.Perceptron(order=order, zero=zero, random_state=seed, max_iter=30)
    plain, w = corrections(clf.fit(X, y)), clf.weights_
    clf.set_params(eta0=eta).fit(X, y)
    assert corrections(clf) == plain
    assert clf.weights_.tolist() == (eta * w).tolist()


@quietly
@given(make.labelled(), make.orders, make.zeros, make.seeds)
def test_sparse_and_dense_make_the_same_updates(examples, order, zero, seed):
    X, y = examples
    clf = rb.Perceptron(order=order, zero=zero, random_state=seed, max_iter=30)
    dense, w = corrections(clf.fit(X, y)), clf.weights_
    assert corrections(clf.fit(sparse.csr_array(X), y)) == dense
    assert clf.weights_.tolist() == w.tolist()


# The budget.


@quietly
@given(make.labelled(), st.integers(1, 6), make.zeros)
def test_max_iter_ends_the_naive_cycle_where_the_oracle_ends(examples, max_iter, zero):
    X, y = examples
    clf = rb.Perceptron(max_iter=max_iter, zero=zero).fit(X, y)
    run = lecture.cyclic(lecture.tall(X), y, zero=zero, max_cycles=max_iter)
    assert corrections(clf) == run.rows
    assert clf.n_iter_ == run.begun
    assert clf.weights_.tolist() == run.weights[-1].tolist()


@quietly
@given(make.contradictory(), make.orders, st.integers(0, 7))
def test_max_updates_limits_the_updates(examples, order, most):
    X, y = examples
    clf = rb.Perceptron(order=order, max_updates=most, random_state=0).fit(X, y)
    assert clf.n_updates_ == len(clf.trace_.examples) == most


@quietly
@given(make.contradictory(), make.orders, st.integers(1, 7))
def test_max_iter_limits_the_epochs(examples, order, most):
    X, y = examples
    clf = rb.Perceptron(order=order, max_iter=most, random_state=0).fit(X, y)
    assert clf.n_iter_ == most
    assert clf.trace_.cycles.max(initial=0) < most


def test_an_exhausted_budget_reports_the_mistakes_left_and_a_remedy():
    X, y = [[0.0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    with pytest.warns(ConvergenceWarning) as warned:
        clf = rb.Perceptron(max_iter=7).fit(X, y)
    message = str(warned[0].message)
    assert len(warned) == 1
    assert f"{clf.n_mistakes_} mistake" in message
    assert "separability" in message
    assert "pocket" in message.lower()
