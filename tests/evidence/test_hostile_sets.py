"""Hostile data get a verdict with a proof, and floats that really separate."""

import math

import numpy as np
import pytest
import zoo
from case_counts import count_cases, n_cases
from facts import refuses
from scipy import sparse

import rosenblatt as rb
from rosenblatt import algorithms
from rosenblatt.blocks import InOrder
from rosenblatt.evidence.integers import root
from rosenblatt.evidence.separability import separability_of
from rosenblatt.examples import Examples

FORMATS = (np.asarray, sparse.csr_array)


def decide(animal, **how):
    """Decide separability, check the proof and render the verdict in every form."""
    x0 = {"fit_intercept": bool(animal.x0), "intercept_scaling": animal.x0 or 1.0}
    s = rb.separability(animal.X, animal.y, **x0, **how)
    assert s.verdict != "undecided", animal
    assert s.proof.check(animal.X, animal.y)
    assert all(map(isinstance, (repr(s), s.explain(), s._repr_html_()), (str,) * 3))
    if s:
        assert s.bound >= 1 - 1e-9
        weights = zoo.near_one(s.weights)  # the smallest of them may be rounded to 0
        guarantee = rb.guarantee(animal.X, animal.y, weights, **x0)
        texts = str(guarantee), guarantee._repr_html_()
        assert all(isinstance(text, str) for text in texts)
        assert guarantee.margin >= 0 or not zoo.separates(weights.tolist(), animal)
    count_cases("hostile sets")
    return s


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_separating_floats_separate_in_exact_arithmetic(kind):
    first = list(zoo.KINDS).index(kind)
    for seed in range(first, n_cases(12) * len(zoo.KINDS), len(zoo.KINDS)):
        animal = zoo.animal(seed)
        animal = animal._replace(X=FORMATS[seed % 2](animal.X))
        s = decide(animal, widest=seed % 3 > 0)
        if s and s.weights is not None:
            assert zoo.separates(s.weights.tolist(), animal), seed
        elif s:
            assert "proof.weights" in s.explain()


@pytest.mark.parametrize("seed", range(0, n_cases(26)))
def test_blocks_give_the_same_verdict(seed):
    animal = zoo.animal(seed)
    rows = Examples.from_arrays(animal.X, animal.y, x0=animal.x0, one_class=True)
    halves = [
        Examples(rows.X[part], rows.y[part], rows.labels, x0=rows.x0)
        for part in (slice(0, 2), slice(2, None))
        if len(rows.y[part])
    ]
    s = separability_of(InOrder(lambda: halves))
    assert s.verdict == decide(animal).verdict
    assert s.proof.check_examples(InOrder(lambda: halves))
    assert not s or s.weights is None or zoo.separates(s.weights.tolist(), animal)


LEARNERS = (
    lambda **x0: rb.Perceptron(max_iter=30, **x0),
    lambda **x0: rb.PocketPerceptron(max_updates=20, random_state=0, **x0),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(n_cases(52)))
def test_mistakes_are_those_of_an_exact_recount(seed):
    animal = zoo.animal(seed)
    if animal.x0 < 0:
        return
    x0 = {"fit_intercept": bool(animal.x0), "intercept_scaling": animal.x0 or 1.0}
    for learner in LEARNERS:
        try:
            clf = learner(**x0).fit(animal.X, animal.y)
        except algorithms.WeightsOverflowError:
            continue  # 1.8e308 added up
        assert clf.n_mistakes_ == zoo.mistakes(clf.weights_.tolist(), animal)


def test_fewest_mistakes_are_counted_exactly_on_subnormal_rows():
    for seed in range(0, n_cases(3) * len(zoo.KINDS), len(zoo.KINDS)):
        animal = zoo.animal(seed)._replace(x0=0.0)
        found = rb.fewest_mistakes(animal.X, animal.y, time_limit=0.1, fit_intercept=False)
        assert found.mistakes == zoo.mistakes(found.weights.tolist(), animal)


@pytest.mark.parametrize("seed", [*range(n_cases(39)), 84, 99, 124, 156, 180])
def test_the_fewest_mistakes_of_few_rows_are_found(seed):
    animal = zoo.animal(seed)
    if animal.x0 < 0:
        return
    x0 = {"fit_intercept": bool(animal.x0), "intercept_scaling": animal.x0 or 1.0}
    clf = rb.FewestMistakes(time_limit=60, random_state=0, **x0).fit(animal.X, animal.y)
    found, s = clf.result_, rb.separability(animal.X, animal.y, **x0)
    assert found.mistakes >= zoo.mistakes(found.weights.tolist(), animal)
    assert (found.lower_bound == 0) == bool(s)
    assert found.optimal or found.stop_reason == "floats"


@pytest.mark.parametrize(
    ("X", "y", "fewest"),
    [
        ([[zoo.TINY], [2 * zoo.TINY]], [0, 1], 0),
        ([[1.5e308, 1.5e308], [1.5e308, 1.5e308]], [0, 1], 1),
        ([[1.7e308, -1.7e308], [-1.7e308, 1.7e308], [1.7e308, 1.7e308]], [0, 0, 1], 0),
        ([[zoo.HUGE] * 4, [-zoo.HUGE] * 4, [0.0] * 4], [0, 0, 1], 1),
    ],
)
def test_a_separator_is_found_among_the_smallest_and_largest_floats(X, y, fewest):
    found = rb.fewest_mistakes(X, y, time_limit=0.01)
    assert (found.mistakes, found.lower_bound, found.optimal) == (fewest, fewest, True)


def test_a_separator_that_floats_cannot_represent_is_the_stop_reason():
    animal = zoo.animal(765)
    found = rb.fewest_mistakes(animal.X, animal.y, time_limit=0.01, random_state=0)
    if not found.optimal:
        assert (found.mistakes, found.lower_bound, found.stop_reason) == (1, 0, "floats")


LEARNERS_AND_MORE = (*LEARNERS, lambda **x0: rb.FewestMistakes(time_limit=0.01, **x0))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [3, 16, 29, 42, 55, 68, 81, 120, 146, 263, 290, 419])
def test_numbers_at_the_limits_of_floats_are_trained_on_or_refused(seed):
    animal = zoo.animal(seed)
    x0 = {"fit_intercept": bool(animal.x0), "intercept_scaling": abs(animal.x0) or 1.0}
    refused = []
    for learner in LEARNERS_AND_MORE:
        try:
            learner(**x0).fit(animal.X, animal.y)
        except algorithms.WeightsOverflowError as error:
            refused.append(str(error))
    assert all(sentence.endswith("scale the columns first.") for sentence in refused)


BIG = [[1.5e308, 1.5e308], [-1.5e308, -1.5e308]]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("widest", [True, False])
def test_norms_that_overflow_are_reported(form, widest):
    s = decide(zoo.Animal(form(BIG), np.array([1, -1]), 1.0, ""), widest=widest)
    assert s.verdict == "separable"
    assert s.radius == math.inf
    assert s.bound == math.inf
    assert "overflows float64" in s.explain()
    assert s.margin == zoo.HUGE  # the largest float that it is not below


@pytest.mark.parametrize("x0", [1e155, -1e155, zoo.HUGE, zoo.TINY])
def test_any_finite_intercept_scaling_works(x0):
    for y in ([1, -1, -1], [1, -1, 1]):
        decide(zoo.Animal(np.array([[0.0], [1.0], [2.0]]), np.array(y), x0, ""))


def test_a_margin_below_the_smallest_float_is_supported():
    s = decide(zoo.Animal(np.array([[zoo.TINY], [2 * zoo.TINY]]), np.array([-1, 1]), 1.0, ""))
    assert s.verdict == "separable"
    assert (s.margin, s.bound) == (0.0, math.inf)
    assert "overflows float64" in repr(s)


def test_entries_stored_twice_that_add_up_to_infinity_are_refused():
    twice = sparse.csr_array(([9e307] * 2 + [1.0], [0, 0, 0], [0, 2, 3]), (2, 1))
    twice.data *= 1.9
    with refuses(ValueError, "inf", row=0, column=0):
        rb.separability(twice, [0, 1])


def test_roots_are_rounded_in_the_given_direction():
    for p, q, exponent in ((1, 2, 0), (4, 9, -1074), (3, 1, -1075), (5, 1, 1023), (1, 1, 0)):
        low, high = root(p, q, exponent), root(p, q, exponent, up=True)
        exact = math.sqrt(p / q) * 2.0 ** min(exponent, 1023) if exponent > -1000 else None
        assert low <= high <= max(math.nextafter(low, math.inf), low)
        assert exact is None or low <= exact <= high
    assert root(1, 1, 0) == root(1, 1, 0, up=True) == 1.0
