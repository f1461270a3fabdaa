"""Separability in passes over blocks, compared with all rows in memory."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest
import strategies
from case_counts import n_cases
from facts import refuses
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import rosenblatt as rb
from rosenblatt.blocks import InOrder
from rosenblatt.evidence import minnorm
from rosenblatt.evidence.certificate import ABOUT
from rosenblatt.evidence.checker import Evidence
from rosenblatt.evidence.separability import MOST_NEAR, separability_of
from rosenblatt.examples import Examples

LABELS = np.array([-1, 1])


def cut(X, y, size, x0=1.0):
    return InOrder(
        lambda: (
            Examples.from_arrays(X[i : i + size], y[i : i + size], labels=LABELS, x0=x0)
            for i in range(0, X.shape[0], size)
        )
    )


class Travelling(InOrder):
    """Blocks on which work is pickled, as for another machine."""

    def each(self, work):
        return super().each(pickle.loads(pickle.dumps(work)))


def agree(X, y, size, intercept=True):
    """Check that blocks give the same verdict, margin and proof as all rows at once."""
    whole = rb.separability(X, y, fit_intercept=intercept)
    blocks = cut(X, y, size, float(intercept))
    parts = separability_of(blocks)
    assert parts.verdict == whole.verdict
    assert parts.radius == whole.radius
    assert parts.proof.data == whole.proof.data
    assert parts.proof.check(X, y)
    assert parts.proof.check_examples(blocks)
    assert whole.proof.check_examples(blocks)
    if whole:
        assert parts.margin == pytest.approx(whole.margin, rel=1e-8)
        assert parts.scaled.radius == pytest.approx(whole.scaled.radius)
    return parts


@settings(max_examples=n_cases(25))
@given(strategies.labelled(max_rows=20), st.integers(1, 20), st.booleans())
def test_a_verdict_in_passes_matches_all_rows_at_once(examples, size, intercept):
    agree(*examples, size, intercept)


@pytest.mark.slow_without_jit
def test_the_margin_is_exact_although_rounding_hides_the_nearest_row():
    rng = np.random.default_rng(0)
    large = (
        rng.choice([-1, 1], 900) * 2.0 ** rng.integers(100, 200, 900) * rng.integers(1, 999, 900)
    )
    near = rng.integers(1000, 2000, 900) / 1000  # what (1, 3, 7) makes of these rows
    few = [[-2.0, 1.0, 0.0], [4.0, -1.0, 0.0], [-6.0, 0.0, 1.0], [8.0, 0.0, -1.0]]
    X = np.vstack((few, np.column_stack((near, 7 * large, -3 * large))))
    parts = agree(X, np.ones(len(X)), 300, intercept=False)
    w = [Fraction(v) for v in parts.proof.weights]
    products = [sum(a * Fraction(b) for a, b in zip(w, x, strict=True)) for x in X.tolist()]
    square = min(products) ** 2 / sum(v * v for v in w)
    assert Fraction(parts.margin) ** 2 <= square <= Fraction(parts.margin * 1.0000001) ** 2


def test_each_block_reports_only_a_few_rows_on_the_margin():
    n = 32 * MOST_NEAR
    rng = np.random.default_rng(0)
    b = rng.integers(0, 2, n)
    X = np.column_stack((1e8 + b, rng.normal(size=(n, 2))))
    parts = agree(X, 2 * b - 1, n // 4)
    assert parts
    assert MOST_NEAR <= len(parts.support) <= 12 * MOST_NEAR


def planted(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) > 0.1, 1, -1), rng


def test_the_margin_in_passes_is_as_wide():
    X, y, _ = planted(6000, 6)
    parts = agree(X, y, 700)
    assert parts.gap < 1e-8
    assert set(rb.separability(X, y).support) == set(parts.support)


def test_a_few_wrong_labels_are_proved_by_a_conflict():
    X, y, rng = planted(6000, 6)
    wrong = rng.choice(6000, 5, replace=False)
    y[wrong] *= -1
    parts = agree(X, y, 700)
    assert parts.verdict == "inseparable"
    assert set(parts.conflicts[0].rows) & set(wrong.tolist())


@pytest.mark.parametrize("intercept", [True, False])
def test_rows_on_the_hyperplane_are_quasi_separable(intercept):
    rng = np.random.default_rng(1)
    X = rng.integers(-2, 3, size=(3000, 4)).astype(float)
    s = X @ np.array([1.0, -1.0, 0.0, 2.0])
    y = np.where(s == 0, rng.choice([-1, 1], 3000), np.sign(s)).astype(int)
    assert agree(X, y, 450, intercept).verdict == "quasi-separable"


def test_linearly_dependent_columns_are_supported():
    rng = np.random.default_rng(2)
    X = np.eye(4)[rng.integers(0, 4, 800)]  # the columns sum to x0
    y = rng.choice([-1, 1], 800)
    parts = agree(X, y, 130)
    assert (parts.verdict, parts.proof.conflicts[0].rest > 0) == ("inseparable", True)


def test_csr_and_extreme_numbers_are_supported():
    X, y, _ = planted(300, 4)
    agree(sparse.csr_array(np.where(np.abs(X) < 0.5, 0.0, X)), y, 70)
    agree(X * 1e200, y, 70)
    agree(X * np.array([1e12, 1.0, 1e-12, 1.0]), y, 70)


def test_work_can_be_pickled():
    X, y, _ = planted(500, 3)
    y[::50] *= -1
    blocks = Travelling(cut(X, y, 90).batches)
    assert separability_of(blocks).verdict == "inseparable"
    assert blocks.take([499, 3, 91]).row_numbers.tolist() == [3, 91, 499]


def test_a_proof_about_other_rows_is_refused_in_passes():
    X, y, _ = planted(500, 3)
    proof = separability_of(cut(X, y, 90)).proof
    worse = y.copy()
    worse[7] *= -1
    with pytest.raises(rb.ProofError) as error:
        Evidence.of(proof, cut(X, worse, 90)).check()
    assert error.value.rows == (7,)
    with refuses(rb.ProofError, ABOUT):
        proof.check_examples(cut(X, worse, 90))
    other = X.copy()
    other[7] *= 2.0
    with refuses(rb.ProofError, ABOUT):
        proof.check_examples(cut(other, y, 90))
    with refuses(rb.ProofError, "x0"):
        proof.check_examples(cut(X, y, 90, 0.0))


def test_after_ctrl_c_the_verdict_is_undecided():
    X, y, _ = planted(500, 3)
    calls = 0

    def batches():
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        yield from cut(X, y, 90).batches()

    s = separability_of(InOrder(batches))
    assert (s.verdict, s.proof) == ("undecided", None)
    assert "interrupted after 2 passes" in s.reason
    assert s.weights is None  # they are known for some rows only
    assert s.upper >= rb.separability(X, y).margin  # what bounds some rows bounds all


def test_ctrl_c_within_the_solver_keeps_the_upper_bound_of_some_rows(monkeypatch):
    X, y, _ = planted(4000, 10)
    calls = itertools.count()

    def join(rows, *others):
        if next(calls) == 3:
            raise KeyboardInterrupt
        return real(rows, *others)

    real = minnorm.WorkingSet.join
    monkeypatch.setattr(minnorm.WorkingSet, "join", join)
    s = separability_of(InOrder(lambda: cut(X, y, 90).batches()))
    assert s.verdict == "undecided"
    monkeypatch.undo()
    assert s.upper >= rb.separability(X, y).margin


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_terminal_shows_one_line_with_the_passes(in_memory, monkeypatch):
    lines = []

    class Shown:
        def __init__(self, line, console):
            lines.append("new")

        def start(self):
            return

        update = lines.append

        def stop(self):
            lines.append("stopped")

    monkeypatch.setattr("rich.status.Status", Shown)
    monkeypatch.setattr("rosenblatt.clock.SILENT_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    X, y, _ = planted(500, 3)
    separability_of(Examples.from_arrays(X, y) if in_memory else cut(X, y, 90))
    assert (lines.count("new"), lines[0], lines[-1]) == (1, "new", "stopped")
    assert in_memory or lines[1].startswith("1 pass; ")
    assert "pass" in lines[1]
