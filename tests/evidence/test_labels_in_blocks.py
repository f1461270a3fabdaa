"""More than two labels in blocks give the same run, verdict and proof as in memory."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from case_counts import n_cases
from facts import refuses
from hypothesis import given, settings
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt import algorithms
from rosenblatt.blocks import InOrder
from rosenblatt.evidence import separability
from rosenblatt.evidence.certificate import ABOUT, Conflict, ProofError, claim_mistakes
from rosenblatt.evidence.separability import separability_of
from rosenblatt.examples import Examples
from rosenblatt.read import Layout, Source
from rosenblatt.read.data import read_in_passes
from rosenblatt.read.plan import ColumnOptions


def cut(examples, *ends):
    """Cut rows into blocks."""
    edges = [0, *ends, examples.n]
    parts = [slice(a, b) for a, b in pairwise(edges) if a < b]
    blocks = [replace(examples, X=examples.X[part], y=examples.y[part]) for part in parts]
    return InOrder(lambda: blocks, multiclass=True)


@st.composite
def points(draw):
    """Draw points of integers with three or four labels, and where to cut them."""
    k = draw(st.integers(3, 4))
    n = draw(st.integers(k + 1, 14))
    y = [*range(k), *(draw(st.integers(0, k - 1)) for _ in range(n - k))]
    X = draw(st.lists(st.tuples(*[st.integers(-4, 4)] * 2), min_size=n, max_size=n))
    ends = sorted(draw(st.lists(st.integers(1, n - 1), max_size=3)))
    return Examples.from_arrays(np.array(X, float), np.array(y)), ends


@pytest.mark.slow_without_jit
@settings(max_examples=n_cases(30), deadline=None)
@given(points())
def test_runs_verdicts_and_proofs_match_those_in_memory(drawn):
    examples, ends = drawn
    blocks = cut(examples, *ends)
    budget = algorithms.Budget(20, 50)
    for learn in (algorithms.pla, algorithms.pocket):
        here, there = (learn(rows, algorithms.Rule("cycle"), budget) for rows in (examples, blocks))
        assert (here.updates, here.mistakes) == (there.updates, there.mistakes)
        assert np.array_equal(here.hypothesis.w, there.hypothesis.w)
    here, there = separability_of(examples), separability_of(blocks)
    assert here.verdict == there.verdict
    assert there.radius == pytest.approx(here.radius)
    for found in (here, there):
        assert found.proof.check_examples(blocks)
        assert found.proof.check(examples.X, examples.y)
    if there:
        assert there.margin == pytest.approx(here.margin)
        assert there.weights.shape == (examples.k, examples.d + 1)
    for part in there.conflicts:
        assert {n for n, *_ in part.pairs} == set(part.rows)
        assert all(examples.y[n] != r for n, r, _ in part.pairs)


def test_a_proof_about_other_rows_fails_in_blocks_too():
    X, y = [[0.0], [1.0], [2.0], [5.0]], ["a", "b", "c", "c"]
    proof = rb.separability(X, y).proof
    rows = Examples.from_arrays(X, y)
    assert proof.check_examples(cut(rows, 1, 3))
    with refuses(ProofError, ABOUT):
        proof.check_examples(cut(replace(rows, X=rows.X + 1.0), 2))
    forged = replace(proof, weights=(0,) * len(proof.weights))
    with pytest.raises(ProofError):
        forged.check_examples(cut(rows, 2))
    four = Examples.from_arrays(X, ["a", "b", "c", "d"])
    with refuses(ProofError, 3, 4):
        proof.check_examples(cut(four, 2))


def test_a_proof_about_labels_uses_the_x0_of_the_data():
    X, y = [[1.0], [2.0], [4.0], [5.0]], ["a", "b", "c", "c"]
    proof, rows = rb.separability(X, y).proof, Examples.from_arrays(X, y)
    for data in (rows, cut(rows, 2)):
        with refuses(ProofError, "x0 = 0.0", "x0 = 1.0"):
            replace(proof, x0=0.0).check_examples(data)  # without an intercept, nothing separates
    assert not rb.separability(X, y, fit_intercept=False)


def test_a_file_read_in_passes_gives_the_run_in_memory(tmp_path):
    x = np.arange(40)
    lines = [f"{i},{i * i},{'abcd'[i // 10]}" for i in x]
    (tmp_path / "d.csv").write_text("x,square,y\n" + "\n".join(lines) + "\n")
    data = read_in_passes(Source.find(str(tmp_path / "d.csv")), Layout(), ColumnOptions(target="y"))
    examples = Examples.from_arrays(np.column_stack((x, x * x)), [line[-1] for line in lines])
    assert rb.separability(examples.X, examples.labels[examples.y]).proof.check_examples(
        data.blocks
    )
    assert algorithms.pla(data.blocks).updates == algorithms.pla(examples).updates


def test_conflicts_that_share_an_example_do_not_add_up():
    X, y = [[0.0], [0.0], [0.0]], ["a", "b", "c"]
    proof = rb.separability(X, y).proof
    parts = tuple(Conflict(rows, (1, 1)) for rows in ((0, 2), (1, 4), (3, 5)))
    for n in (1, 2, 3):  # two mistakes are the truth
        claim = claim_mistakes(n)
        forged = replace(proof, claim=claim, weights=(), conflicts=parts[:n])
        if n == 1:
            assert forged.check(X, y)
        else:
            with pytest.raises(ProofError):
                forged.check(X, y)


def test_a_proof_about_two_labels_fails_for_more_in_blocks_too():
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 2, 2])
    examples = Examples.from_arrays(X, y)
    two = rb.separability(X, y > 0).proof
    for data in (examples, cut(examples, 2)):
        with pytest.raises(ProofError):
            two.check_examples(data)


def test_a_proof_about_labels_refuses_sample_weights():
    X, y = [[0.0], [1.0], [3.0]], ["a", "b", "c"]
    with pytest.raises(ProofError):
        rb.separability(X, y).proof.check(X, y, [1.0, 2.0, 3.0])


def test_an_undecided_verdict_has_no_false_upper_bound(monkeypatch):
    X, y = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]]), ["a", "b", "c"]
    widest = rb.separability(X, y).margin
    monkeypatch.setattr(separability, "try_pla", lambda examples, deadline: ((), 0))
    monkeypatch.setattr(separability._Search, "_extend", interrupt)
    undecided = rb.separability(X, y)
    assert undecided.verdict == "undecided"
    assert undecided.upper is None or undecided.upper >= widest


def interrupt(*given):
    raise KeyboardInterrupt
