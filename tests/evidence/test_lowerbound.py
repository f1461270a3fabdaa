"""No line makes fewer mistakes than the bound says, and the proof can be checked."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import strategies as its
from hypothesis import given, settings
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt.evidence.lowerbound import lower_bound
from rosenblatt.evidence.proof import Part, Proof, ProofError
from rosenblatt.examples import Examples
from rosenblatt.learn.judge import Judge


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
    bound = lower_bound(examples, np.eye(X.shape[1] + 1)[0], seconds=60)
    assert bound.exhausted
    assert bound.mistakes == fewest_by_leaving_out(X, y)
    assert Judge(examples).alone(bound.w) == bound.mistakes
    assert len(bound.parts) <= bound.mistakes


@pytest.mark.slow_without_jit
@given(its.labelled(min_rows=4, max_rows=6, max_columns=2), st.data())
@settings(max_examples=15)
def test_weights_are_what_mistakes_cost(xy, data):
    X, y = xy
    s = data.draw(st.lists(st.integers(1, 5), min_size=len(X), max_size=len(X)))
    examples = Examples.from_arrays(X, y).weighted(s)
    bound = lower_bound(examples, np.eye(X.shape[1] + 1)[0], seconds=60)
    assert bound.exhausted
    assert bound.mistakes == fewest_by_leaving_out(X, y, s)


@given(its.labelled(max_rows=10), st.booleans())
@settings(max_examples=30)
def test_the_parts_are_disjoint_and_the_proof_holds(xy, intercept):
    X, y = xy
    examples = Examples.from_arrays(X, y, x0=1.0 if intercept else 0.0)
    start = np.zeros(X.shape[1] + 1)
    start[-1] = 1.0
    bound = lower_bound(examples, start, seconds=20)
    rows = [n for part in bound.parts for n in part.rows]
    assert len(rows) == len(set(rows))
    proof = bound.proof(examples)
    if bound.parts:
        assert proof.check(X, y)
        assert Proof.from_json(proof.to_json()).check(X, y)
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


def test_no_time_gives_no_bound_and_no_trouble():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.integers(0, 2, 50)
    bound = lower_bound(Examples.from_arrays(X, y), np.ones(5), seconds=0.0)
    assert (bound.mistakes, bound.parts, bound.exhausted) == (0, (), False)
