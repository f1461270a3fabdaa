"""Disjoint conflicts give a true lower bound on mistakes, with a proof that holds."""

import numpy as np
import scipy.sparse as sp
import strategies as its
from case_counts import n_cases
from hypothesis import given, settings
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt.algorithms.fewest import Gap, Search
from rosenblatt.clock import NEVER, Deadline
from rosenblatt.evidence.optimum import bound_by_disjoint
from rosenblatt.evidence.proof import Proof
from rosenblatt.examples import Costs, Examples

OVER = Deadline(-np.inf)


def lower_bound(examples, w, deadline=NEVER):
    """Return the bound by disjoint conflicts, from known weights, and its proof."""
    gap = Gap(examples, Search())
    gap.w = w
    bound_by_disjoint(gap, deadline)
    return gap.bound, gap.proof()


@given(its.labelled(max_rows=10) | its.contradictory(), st.booleans(), st.data())
@settings(max_examples=n_cases(30))
def test_the_conflicts_are_disjoint_and_the_proof_holds(xy, intercept, data):
    X, y = xy
    examples = Examples.from_arrays(X, y, x0=1.0 if intercept else 0.0)
    if data.draw(st.booleans()):
        s = data.draw(st.lists(its.unlike_weights, min_size=len(X), max_size=len(X)))
        examples = examples.weighted(s)
    start = np.zeros(X.shape[1] + 1)
    start[-1] = 1.0
    bound, proof = lower_bound(examples, start)
    if not bound:
        assert proof is None
        return
    rows = [n for conflict in proof.conflicts for n in conflict.rows]
    assert len(rows) == len(set(rows))
    assert proof.claim == Proof.of_mistakes(examples, bound, proof.conflicts).claim
    assert proof.check(X, y, examples.weights)
    assert Proof.from_json(proof.to_json()).check(X, y, examples.weights)


def test_each_row_of_zeros_costs_a_mistake():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    result = rb.fewest_mistakes(X, [1, 0, 1, 0], fit_intercept=False)
    assert (result.mistakes, result.lower_bound, result.optimal) == (2, 2, True)
    assert result.proof.check(X, [1, 0, 1, 0])


def test_contradicting_rows_are_counted_without_time():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 4)), rng.integers(0, 2, 2000)
    assert lower_bound(Examples.from_arrays(X, y), np.ones(5), OVER) == (0, None)
    again = [0, 0, 0, 7, 8]
    X, y = np.vstack([X, X[again]]), np.append(y, 1 - y[again])
    bound, proof = lower_bound(Examples.from_arrays(X, y), np.ones(5), OVER)
    assert (bound, len(proof.conflicts)) == (3, 3)
    assert proof.check(X, y)


def test_contradicting_rows_are_in_one_conflict_only():
    X, y = np.array([[0.0]] * 4 + [[1.0], [-1.0]]), np.array([1, 1, -1, -1, -1, -1])
    examples = Examples.from_arrays(X, y).weighted([5, 1, 3, 1, 1, 1])
    bound, proof = lower_bound(examples, np.ones(2))
    assert proof.check(X, y, examples.weights)
    assert bound == 5  # 4 of the equal rows, and the row left over conflicts with the other two


def test_contradicting_rows_cost_their_cheaper_label():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 4)), rng.integers(0, 2, 2000)
    X, y = np.vstack([X, X[0], X[0]]), np.append(y, [1 - y[0], 1 - y[0]])
    s = np.ones(2002)
    s[[0, 2000, 2001]] = 5, 2, 4
    examples = Examples.from_arrays(X, y).weighted(s)
    bound, proof = lower_bound(examples, np.ones(5), OVER)
    assert Costs.of(examples).number(bound) == 5
    assert (proof.conflicts[0].rows, proof.duplicates) == ((0, 2000), ((2000, 2001),))
    assert proof.check(X, y, examples.weights)


def test_rows_left_over_by_a_contradiction_can_join_another_conflict():
    X, y = np.array([[0.0]] * 3 + [[1.0], [-1.0]]), np.array([1, 1, -1, -1, -1])
    bound, proof = lower_bound(Examples.from_arrays(X, y), np.array([-1.0, 0.0]))
    assert bound == 2
    assert proof.check(X, y)


def test_entries_stored_twice_do_not_lose_the_weights():
    X = sp.csr_array(([1.0, 1.0, 1.0, 1.0], [0, 0, 0, 0], [0, 2, 4]), shape=(2, 1))
    examples = Examples.from_arrays(X, [0, 1]).weighted([0.25, 0.5])
    assert Costs.of(examples).number(lower_bound(examples, np.ones(2))[0]) == 0.25
