"""No line makes fewer mistakes than the bound says, and the proof can be checked."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as its
from hypothesis import given, settings
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt.algorithms.judge import Judge
from rosenblatt.clock import NEVER, Deadline
from rosenblatt.costs import Costs
from rosenblatt.evidence.lowerbound import lower_bound
from rosenblatt.evidence.proof import Part, Proof, ProofError
from rosenblatt.examples import Examples

OVER = Deadline(-np.inf)


def fewest_by_leaving_out(X, y, s=None):
    """The cheapest rows to leave out so that the rest is separable: all subsets, exactly."""
    s = [1] * len(X) if s is None else s
    rows = range(len(X))
    subsets = itertools.chain.from_iterable(itertools.combinations(rows, k) for k in range(len(X)))
    for gone in sorted(subsets, key=lambda gone: sum(s[n] for n in gone)):
        left = [n for n in rows if n not in gone]
        if rb.separability(X[left], y[left], widest=False):
            return sum(s[n] for n in gone)
    raise AssertionError("one row alone is separable")


@pytest.mark.slow_without_jit
@given(its.labelled(min_rows=4, max_rows=7, max_columns=3))
@settings(max_examples=25)
def test_branch_and_bound_finds_the_fewest_mistakes(xy):
    X, y = xy
    examples = Examples.from_arrays(X, y)
    bound = lower_bound(examples, np.eye(X.shape[1] + 1)[0])
    assert bound.exhausted
    assert bound.cost == fewest_by_leaving_out(X, y)
    assert Judge(examples).alone(bound.w) == bound.cost
    assert len(bound.parts) <= bound.cost


@pytest.mark.slow_without_jit
@given(its.labelled(min_rows=4, max_rows=6, max_columns=2), st.data())
@settings(max_examples=15)
def test_weights_are_what_mistakes_cost(xy, data):
    X, y = xy
    s = data.draw(st.lists(its.unlike_weights, min_size=len(X), max_size=len(X)))
    examples = Examples.from_arrays(X, y).weighted(s)
    bound = lower_bound(examples, np.eye(X.shape[1] + 1)[0])
    assert bound.exhausted
    fewest = fewest_by_leaving_out(X, y, [Fraction(v) for v in s])
    assert Costs.of(examples).number(bound.cost) == float(fewest)


@given(its.labelled(max_rows=10) | its.contradictory(), st.booleans(), st.data())
@settings(max_examples=30)
def test_the_parts_are_disjoint_and_the_proof_holds(xy, intercept, data):
    X, y = xy
    examples = Examples.from_arrays(X, y, x0=1.0 if intercept else 0.0)
    if data.draw(st.booleans()):
        s = data.draw(st.lists(its.unlike_weights, min_size=len(X), max_size=len(X)))
        examples = examples.weighted(s)
    start = np.zeros(X.shape[1] + 1)
    start[-1] = 1.0
    bound = lower_bound(examples, start)
    rows = [n for part in bound.parts for n in part.rows]
    assert len(rows) == len(set(rows))
    proof = bound.proof(examples)
    if bound.parts:
        assert proof.check(X, y, examples.weights)
        assert Proof.from_json(proof.to_json()).check(X, y, examples.weights)
    else:
        assert proof is None


def test_a_changed_proof_is_refused():
    X = np.array([[0.0], [1.0], [2.0], [0.0], [1.0], [2.0]])
    y = np.array([0, 1, 0, 0, 1, 0])
    result = rb.fewest_mistakes(X, y)
    assert (result.mistakes, result.lower_bound) == (2, 2)
    proof = result.proof
    first, second = proof.parts
    grown = Part(first.rows, tuple(m + 1 for m in first.multipliers))
    for forged in (
        replace(proof, claim="at least 3 mistakes"),
        replace(proof, parts=(first,)),
        replace(proof, parts=(first, first)),
        replace(proof, parts=(grown, second)),
        replace(proof, parts=(Part(first.rows[:-1], first.multipliers[:-1]), second)),
    ):
        with pytest.raises(ProofError):
            forged.check(X, y)


def test_rows_of_zeros_cost_each_a_mistake():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    result = rb.fewest_mistakes(X, [1, 0, 1, 0], fit_intercept=False)
    assert (result.mistakes, result.lower_bound, result.optimal) == (2, 2, True)
    assert result.proof.check(X, [1, 0, 1, 0])


def test_no_time_gives_no_trouble_and_what_contradicts_itself_is_counted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 4)), rng.integers(0, 2, 2000)
    bound = lower_bound(Examples.from_arrays(X, y), np.ones(5), OVER)
    assert (bound.cost, bound.parts, bound.exhausted) == (0, (), False)
    again = [0, 0, 0, 7, 8]
    X, y = np.vstack([X, X[again]]), np.append(y, 1 - y[again])
    bound = lower_bound(Examples.from_arrays(X, y), np.ones(5), OVER)
    assert (bound.cost, len(bound.parts)) == (3, 3)
    assert bound.proof(Examples.from_arrays(X, y)).check(X, y)


def test_rows_that_contradict_are_in_one_part_only():
    X, y = np.array([[0.0]] * 4 + [[1.0], [-1.0]]), np.array([1, 1, -1, -1, -1, -1])
    examples = Examples.from_arrays(X, y).weighted([5, 1, 3, 1, 1, 1])
    bound = lower_bound(examples, np.ones(2), branch=False)
    assert bound.proof(examples).check(X, y, examples.weights)
    assert bound.cost == 4


def test_of_contradicting_rows_the_cheaper_answer_is_sure():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 4)), rng.integers(0, 2, 2000)
    X, y = np.vstack([X, X[0], X[0]]), np.append(y, [1 - y[0], 1 - y[0]])
    s = np.ones(2002)
    s[[0, 2000, 2001]] = 5, 2, 4
    examples = Examples.from_arrays(X, y).weighted(s)
    bound = lower_bound(examples, np.ones(5), OVER)
    assert Costs.of(examples).number(bound.cost) == 5


def test_few_rows_are_settled_whatever_the_time():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(9, 3)), rng.integers(0, 2, 9)
        examples = Examples.from_arrays(X, y, one_class=True)
        hurried, calm = (lower_bound(examples, np.ones(4), when) for when in (OVER, NEVER))
        assert hurried.exhausted
        assert (hurried.cost, hurried.parts) == (calm.cost, calm.parts)


def test_a_search_that_would_go_too_deep_is_given_up(monkeypatch):
    monkeypatch.setattr("rosenblatt.evidence.lowerbound.DEEPEST", 0)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
    bound = lower_bound(Examples.from_arrays(X, y), np.ones(3))
    assert not bound.exhausted
    assert bound.cost == len(bound.parts) > 0


def test_entries_stored_twice_do_not_lose_the_weights():
    X = sp.csr_array(([1.0, 1.0, 1.0, 1.0], [0, 0, 0, 0], [0, 2, 4]), shape=(2, 1))
    examples = Examples.from_arrays(X, [0, 1]).weighted([0.25, 0.5])
    assert Costs.of(examples).number(lower_bound(examples, np.ones(2)).cost) == 0.25
