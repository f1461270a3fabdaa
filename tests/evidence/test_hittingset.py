"""The cheapest hitting set of conflicts is found exactly and proved, despite rounding."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as its
from case_counts import count_cases, n_cases
from hypothesis import given, settings
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt.algorithms.fewest import Gap, Search
from rosenblatt.clock import NEVER, Deadline
from rosenblatt.evidence.hittingset import (
    DistinctRows,
    HittingSetSearch,
    narrow_by_hitting_sets,
)
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import separability_of
from rosenblatt.examples import Costs, Examples

OVER = Deadline(-np.inf)


def fewest_by_leaving_out(X, y, s=None, fit_intercept=True):
    """Find the least cost of rows whose removal makes the rest separable, by trying all."""
    s = [1] * len(X) if s is None else s
    rows = range(len(X))
    subsets = itertools.chain.from_iterable(
        itertools.combinations(rows, k) for k in range(len(X) + 1)
    )
    for gone in sorted(subsets, key=lambda gone: sum(s[n] for n in gone)):
        left = [n for n in rows if n not in gone]
        if not left or separable(X[left], y[left], fit_intercept):
            return sum(s[n] for n in gone)
    raise AssertionError("no rows are separable")


def separable(X, y, fit_intercept):
    examples = Examples.from_arrays(X, y, x0=float(fit_intercept), one_class=True)
    return bool(separability_of(examples, widest=False))


def gap_of(X, y, s=None, x0=1.0):
    examples = Examples.from_arrays(X, y, x0=x0, one_class=True)
    if s is not None:
        examples = examples.weighted(s)
    return Gap(examples, Search(60.0, 1, np.random.default_rng(0)))


def solved(X, y, s=None, x0=1.0):
    """Return the gap after hitting sets alone, with its proof checked after saving."""
    gap = gap_of(X, y, s, x0)
    narrow_by_hitting_sets(gap, NEVER)
    assert gap.closed
    if gap.bound > 0:
        proof = Proof.from_json(gap.proof().to_json())
        assert proof.check(X, y, s)
        claimed = Fraction(proof.claim.split()[5 if s is not None else 2])
        assert claimed == gap.costs.plain(gap.bound)
    return gap


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("seed", range(6))
def test_hitting_sets_match_brute_force(seed):
    rng = np.random.default_rng(seed)
    for _ in range(n_cases(25)):
        n, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
        X = (
            rng.integers(-1, 3, (n, d)).astype(float)
            if rng.random() < 0.7
            else rng.normal(size=(n, d))
        )
        X, y = X[rng.integers(0, n, n)], rng.integers(0, 2, n)
        x0 = float(rng.random() < 0.7)
        gap = solved(X, y, x0=x0)
        assert gap.bound == fewest_by_leaving_out(X, y, fit_intercept=bool(x0))
        count_cases("fewest mistakes by hitting sets, beside brute force")


@pytest.mark.slow_without_jit
@given(its.labelled(min_rows=4, max_rows=6, max_columns=2), st.data())
@settings(max_examples=n_cases(25))
def test_sample_weights_are_the_costs_of_mistakes(xy, data):
    X, y = xy
    s = data.draw(st.lists(its.unlike_weights, min_size=len(X), max_size=len(X)))
    gap = solved(X, y, s)
    fewest = fewest_by_leaving_out(X, y, [Fraction(v) for v in s])
    assert gap.costs.plain(gap.bound) == fewest


@pytest.mark.slow_without_jit
@given(its.labelled(min_rows=5, max_rows=9, max_columns=2))
@settings(max_examples=n_cases(25))
def test_thirds_of_a_weight_are_solved_exactly(xy):
    """Floats cannot add these weights: the last leaf closes only without rounding."""
    X, y = xy
    s = [0.1 + n / 3 for n in range(len(X))]
    gap = solved(X, y, s)
    assert gap.costs.plain(gap.bound) == fewest_by_leaving_out(X, y, [Fraction(v) for v in s])


def test_equal_rows_are_merged_and_cost_their_sum():
    X = np.array([[0.0], [1.0], [2.0], [0.0], [1.0], [-0.0], [2.0]])
    y = np.array([0, 1, 0, 0, 1, 0, 0])
    distinct = DistinctRows(Examples.from_arrays(X, y))
    assert distinct.groups == ((0, 3, 5), (1, 4), (2, 6))
    assert distinct.costs == [3, 2, 2]
    gap = solved(X, y)
    assert gap.bound == 2
    assert gap.proof().duplicates == distinct.groups


def test_opposite_rows_and_rows_of_zeros_are_conflicts():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0], [3.0, 1.0]])
    distinct = DistinctRows(Examples.from_arrays(X, [0, 1, 1, 0], x0=0.0))
    assert sorted(distinct.find_opposites()) == [(0, 1), (2,)]


def test_dense_and_sparse_rows_have_the_same_distinct_rows():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (40, 4)).astype(float), rng.integers(0, 2, 40)
    dense, sparse = (DistinctRows(Examples.from_arrays(A, y)) for A in (X, sp.csr_array(X)))
    assert (dense.groups, dense.costs) == (sparse.groups, sparse.costs)
    assert list(dense.find_opposites()) == list(sparse.find_opposites())


@pytest.mark.slow_without_jit
def test_a_conflict_only_in_floating_point_is_refused():
    """The optimum is found and proved although the finder invents conflicts."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(14, 2)), rng.integers(0, 2, 14)
    gap = gap_of(X, y)
    search = HittingSetSearch(gap)
    finder = search.finder

    class Inventor:
        def search(self, costs):
            sets, w = finder.search(costs)
            return [tuple(sorted(rng.choice(14, 4, replace=False).tolist())), *sets], w

    search.finder = Inventor()
    search.run()
    assert search.master.refused
    assert (gap.bound, gap.closed) == (rb.fewest_mistakes(X, y).mistakes, True)
    assert gap.proof().check(X, y)


@pytest.mark.slow_without_jit
def test_hitting_sets_need_no_finder():
    """Conflicts are found exactly where floats cannot hold the rows."""
    X = np.array([[1.7e308], [-1.7e308], [1.0e308], [-1.5e308], [1.6e308]])
    y = np.array([0, 1, 1, 0, 0])
    assert not HittingSetSearch(gap_of(X, y)).finder.able
    assert solved(X, y).bound == fewest_by_leaving_out(X, y)


@pytest.mark.slow_without_jit
def test_the_bound_holds_and_is_proved_whenever_the_search_stops():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    bounds = []
    for nodes in (0, 1, 2, 5, np.inf):
        gap = gap_of(X, y)
        narrow_by_hitting_sets(gap, NEVER, nodes)
        bounds.append(gap.bound)
        assert gap.bound <= gap.cost
        if gap.bound:
            assert gap.proof().check(X, y)
    assert bounds == sorted(bounds)
    assert gap.closed


def test_without_time_there_is_no_bound_and_no_error():
    rng = np.random.default_rng(0)
    gap = gap_of(rng.normal(size=(50, 3)), rng.integers(0, 2, 50))
    narrow_by_hitting_sets(gap, OVER)
    assert gap.bound == 0


def test_a_sum_of_weights_too_large_for_floats_is_bounded():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])
    s = [1e308, 1e308, 1e308, 1e-300]
    gap = solved(X, y, s)
    assert gap.costs.plain(gap.bound) == min(Fraction(1e308), Fraction(1e308))
    assert gap.costs.number(gap.bound) == Costs.of(gap.examples).number(gap.cost)
