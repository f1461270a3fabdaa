"""Ordinal, Cox and conditional models beside linear programs on all their rows written out."""

import math
import random
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from case_counts import count_cases, n_cases
from facts import refuses
from rays import separation as by_rays
from scipy.optimize import linprog

import rosenblatt as rb

FAMILIES = ("ordinal", "cox", "conditional")


def written_out(X, y, family, groups=None):
    """Every comparison of the definition as (row, about which data row, with which)."""
    n = len(X)
    if family == "ordinal":
        K = int(max(y)) + 1
        for i, k in product(range(n), range(K - 1)):
            threshold = np.eye(K - 1)[k]
            if y[i] == k:
                yield np.append(threshold, -X[i]), i, i
            if y[i] == k + 1:
                yield np.append(-threshold, X[i]), i, i
    for i, j in product(range(n), repeat=2):
        same = i != j and (groups is None or groups[i] == groups[j])
        if family == "cox" and same and y[i, 1] and y[j, 0] >= y[i, 0]:
            yield X[i] - X[j], i, i
        if family == "conditional" and same and y[i] == 1 and y[j] == 0:
            yield X[i] - X[j], i, j


def by_programs(Z):
    """Which rows are separated and which way each coefficient goes, by a linear program each."""
    d = Z.shape[1]

    def best(objective):
        solved = linprog(-objective, A_ub=-Z, b_ub=np.zeros(len(Z)), bounds=(-1, 1))
        return -solved.fun > 1e-7

    estimates = []
    for unit in np.eye(d):
        signs = [side for side in (1, -1) if best(side * unit)]
        known = np.linalg.matrix_rank(np.vstack([Z, unit])) == np.linalg.matrix_rank(Z)
        estimates.append(math.inf * signs[0] if known and len(signs) == 1 else math.nan)
        if known and not signs:
            estimates[-1] = 0.0
    return [best(z) for z in Z], estimates


def random_regression(rng, family, values):
    """A small data set of the family: X, y and groups, with ties and repeated rows."""
    n, d = int(rng.integers(3, 9)), int(rng.integers(1, 4))
    X = rng.choice(values, (n, d)).astype(float)
    groups = rng.integers(0, 2, n) if family == "conditional" or rng.random() < 0.3 else None
    if family == "ordinal":
        groups, y = None, rng.integers(0, int(rng.integers(2, 5)), n)
        y = np.unique(y, return_inverse=True)[1]
    elif family == "cox":
        y = np.column_stack([rng.integers(1, 6, n), rng.random(n) < 0.6])
        y[0, 1] = 1
    else:
        y = rng.integers(0, 2, n)
        y[:2], groups[:2] = (0, 1), 0
    return X, y, groups


def compare(s, rows, oracle):
    """Assert that rows, signs and kind are those of an oracle about all rows written out."""
    Z = np.array([z for z, _, _ in rows])
    separated, estimates = oracle(Z)
    assert s.kind != "undecided", s.reason
    np.testing.assert_array_equal(list(s.coefficients.values()), estimates)
    about = {n for (_, i, j), yes in zip(rows, separated, strict=True) if yes for n in (i, j)}
    assert s.rows.tolist() == sorted(about)
    overlap = {n for (_, i, j), yes in zip(rows, separated, strict=True) if not yes for n in (i, j)}
    assert s.n_overlapping == len(overlap)
    assert s.kind == {0: "none", len(Z): "complete"}.get(sum(separated), "quasi-complete")
    return Z, separated


@pytest.mark.parametrize("family", FAMILIES)
def test_signs_match_linear_programs_on_all_expanded_rows(family):
    rng = np.random.default_rng(0)
    done = 0
    while done < n_cases(40):
        X, y, groups = random_regression(rng, family, range(-2, 3))
        rows = list(written_out(X, y, family, groups))
        if not rows or (family == "ordinal" and len(set(y.tolist())) < 2):
            continue
        s = rb.separation(X, y, family=family, groups=groups)
        Z, separated = compare(s, rows, by_programs)
        products = Z.astype(int).astype(object) @ np.array([int(v) for v in s.direction])
        assert [p > 0 for p in products] == separated
        assert min(products) >= 0
        assert s.proof.check(X, y, groups=groups)
        sparse = rb.separation(scipy.sparse.csr_array(X), y, family=family, groups=groups)
        assert (sparse.rows.tolist(), sparse.reasons) == (s.rows.tolist(), s.reasons)
        assert sparse.proof.check(X, y, groups=groups)
        count_cases(f"separations, {family}")
        done += 1


@pytest.mark.parametrize("family", ["cox", "conditional"])
def test_differences_are_computed_exactly(family):
    rng = np.random.default_rng(1)
    values = [2.0**53, 2.0**53 + 2, 2.0**54 + 4, 1.0, 3.0, -1.0]
    done = 0
    while done < n_cases(25):
        X, y, groups = random_regression(rng, family, values)
        X = X[:, :2]
        whole = [[int(v) for v in x] for x in X.tolist()]
        exact = np.array([[*map(int, x)] for x in whole], dtype=object)
        rows = list(written_out(exact, y, family, groups))
        if not rows:
            continue
        s = rb.separation(X, y, family=family, groups=groups)
        compare(s, rows, lambda Z: by_rays(Z.tolist(), [False] * len(Z)))
        assert len(s.direction) == X.shape[1]
        assert s.proof.check(X, y, groups=groups)
        done += 1


@pytest.mark.parametrize("family", FAMILIES)
def test_no_changed_proof_is_accepted_unless_it_proves_the_same(family):
    rng, random_ = np.random.default_rng(2), random.Random(2)
    refused = 0
    while refused < n_cases(60):
        X, y, groups = random_regression(rng, family, range(-2, 3))
        if not list(written_out(X, y, family, groups)):
            continue
        s = rb.separation(X, y, family=family, groups=groups)
        gamma, part = list(s.proof.direction), s.proof.part
        gamma[random_.randrange(len(gamma))] += random_.choice([-3, -1, 1, 10**20])
        for forged in (
            replace(s.proof, direction=tuple(gamma)),
            replace(s.proof, part=replace(part, multipliers=tuple(-m for m in part.multipliers))),
            replace(s.proof, part=replace(part, rest=part.rest - 1)),
            replace(s.proof, kind="none" if s else "complete"),
            replace(s.proof, family="binomial"),
        ):
            try:
                forged.check(X, y, groups=groups if forged.family == family else None)
            except rb.ProofError:
                refused += 1
                continue
            assert (forged.kind, forged.family) == (s.kind, family)


def test_a_proof_is_about_its_times_events_and_groups():
    X, y = np.array([[0.0], [1.0], [2.0], [1.0]]), np.array([[1, 1], [2, 0], [3, 1], [4, 1]])
    proof = rb.separation(X, y, family="cox").proof
    assert proof.check(X, y * [10, 1])  # only the order of times counts
    for other in (y[::-1], y * [1, 0] + [0, 1], np.array([[1, 1], [2, 1], [3, 1], [4, 1]])):
        with pytest.raises(rb.ProofError):
            proof.check(X, other)
    with pytest.raises(rb.ProofError):
        proof.check(X, y, groups=[0, 0, 1, 1])


def test_thresholds_come_first_and_declared_levels_keep_their_order():
    X = pd.DataFrame({"dose": [1.0, 2, 3, 4, 5, 6], "town": list("abcabc")})
    y = pd.Categorical(["low", "low", "mid", "mid", "high", "high"], ["low", "mid", "high"], True)
    s = rb.separation(X, y, family="ordinal")
    assert s.names == ("low|mid", "mid|high", "dose", "town[b]", "town[c]")
    assert s.coefficients["dose"] == math.inf
    assert s.kind == "complete"
    enum = pl.Series(list(y), dtype=pl.Enum(["low", "mid", "high"]))
    assert rb.separation(X, enum, family="ordinal").names == s.names
    assert rb.separation(X, list(y), family="ordinal").names[0] == "high|low"


def test_levels_that_are_whole_numbers_are_named_without_a_point(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2, 3, 2, 4, 1, 5], "h": [1, 1, 2, 2, 3, 3, math.nan]})
    frame.to_csv(tmp_path / "h.csv", index=False)
    for data in (frame, tmp_path / "h.csv"):
        assert rb.separation("h ~ x", data, family="ordinal").names == ("1|2", "2|3", "x")
        names = rb.separation("h ~ x", data, family="multinomial").names
        assert str(names[1]) == "(2, 'x')"


def test_two_levels_match_a_binomial():
    rng = np.random.default_rng(3)
    for _ in range(n_cases(20)):
        X, y = rng.integers(-2, 3, (7, 2)), rng.integers(0, 2, 7)
        y[:2] = 0, 1
        two, one = rb.separation(X, y, family="ordinal"), rb.separation(X, y)
        assert two.rows.tolist() == one.rows.tolist()
        assert [two.reasons[name] for name in ("x1", "x2")] == [
            one.reasons[name] for name in ("x1", "x2")
        ]


def test_a_structured_array_and_two_columns_are_the_same_survival_times():
    X, time, event = np.array([[0.0], [0], [1], [0]]), [2.0, 3, 4, 5], [True, True, False, True]
    found = np.array(list(zip(event, time, strict=True)), dtype=[("cens", bool), ("time", float)])
    frame = pd.DataFrame({"time": time, "event": event})
    expected = {"x1": -math.inf}
    for y in (found, frame, pl.DataFrame(frame), np.column_stack([time, event])):
        s = rb.separation(X, y, family="cox")
        assert s.coefficients == expected
        assert s.rows.tolist() == [0, 1]  # the last event is alone in its risk set


def test_groups_without_variation_are_left_out_and_reported():
    X = np.array([[0.0], [1], [1], [0], [5], [6]])
    s = rb.separation(X, [0, 1, 0, 1, 1, 1], family="conditional", groups=list("aabbcc"))
    assert (s.kind, s.n_rows, s.coefficients) == ("none", 4, {"x1": 0.0})
    assert any("1 group " in str(note) for note in s.notes)


def test_rows_of_weight_zero_are_not_in_risk_sets():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([[1, 1], [2, 1], [3, 0]])
    s = rb.separation(X, y, family="cox", sample_weight=[1, 0, 1])
    assert (s.rows.tolist(), s.coefficients) == ([0], {"x1": -math.inf})
    assert s.proof.check(X, y, sample_weight=[1, 0, 1])


@pytest.mark.parametrize(
    ("y", "how", "facts"),
    [
        ([[1, 1], [-2, 1]], {"family": "cox"}, ("row 1", -2)),
        ([[1, 1], [math.nan, 1]], {"family": "cox"}, ("row 1", "nan")),
        ([[1, 1], [2, 2]], {"family": "cox"}, ("row 1", "event", 2)),
        ([[1, 0], [2, 0]], {"family": "cox"}, ("event",)),
        ([1, 2], {"family": "cox"}, ("cox",)),
        ([["a", 1], ["b", 0]], {"family": "cox"}, ("cox",)),
        ([1, 1], {"family": "ordinal"}, ("ordinal", 1)),
        (["a", "a"], {"family": "ordinal"}, ("ordinal", "'a'")),
        (["a", "a"], {"family": "multinomial"}, ("multinomial", "'a'")),
        ([0, 1], {"family": "conditional"}, ("groups",)),
        ([0, 1], {"family": "conditional", "groups": ["a", "b"]}, ("group",)),
        ([0, 1], {"family": "conditional", "groups": ["a", None]}, ("row 1",)),
        ([0, 1], {"family": "conditional", "groups": ["a"]}, ("groups", "(1,)")),
        ([0, 0.5], {"family": "conditional", "groups": ["a", "a"]}, ("row 1",)),
        ([0, 1], {"groups": ["a", "b"]}, ("groups", "binomial")),
    ],
)
def test_bad_input_is_refused_in_one_sentence(y, how, facts):
    with refuses(ValueError, *facts) as refused:
        rb.separation(np.eye(2), y, **how)
    assert str(refused.value).count(". ") == 0


@pytest.mark.slow_without_jit
def test_ten_thousand_survival_times_are_not_expanded_into_pairs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 10))
    y = np.column_stack([rng.exponential(size=10_000), rng.random(10_000) < 0.3])
    X[:, -1] = (rng.random(10_000) < 0.1) & (y[:, 1] == 0)
    s = rb.separation(X, y, family="cox")
    assert (s.coefficients["x10"], s.drop) == (-math.inf, ("x10",))
    assert sum(v != 0 for v in s.coefficients.values()) == 1
    assert s.proof.check(X, y)
    assert len(s.proof.part.rows) < 10_000


def test_relative_risks_are_infinite_where_probabilities_of_zero_fit_best():
    """Decide a log-binomial by linear programs: X γ = 0 where y is 1, X γ ≤ 0 where it is 0."""
    rng = np.random.default_rng(5)
    kinds = set()
    for _ in range(n_cases(40)):
        X = rng.integers(-2, 3, (int(rng.integers(4, 9)), 2)).astype(float)
        y = rng.choice(["no", "yes"], len(X))
        y[:2] = "no", "yes"
        s = rb.separation(X, y, family="log-binomial")
        A = np.column_stack([np.ones(len(X)), X])
        no, yes = A[y == "no"], A[y == "yes"]
        zeros = np.zeros(len(no)), np.zeros(len(yes))
        separated = [
            linprog(row, A_ub=no, b_ub=zeros[0], A_eq=yes, b_eq=zeros[1], bounds=(-1, 1)).fun
            < -1e-9
            for row in no
        ]
        assert s.rows.tolist() == np.flatnonzero(y == "no")[separated].tolist()
        assert s.proof.check(X, y)
        assert str(s)
        kinds.add(s.kind)
    assert kinds == {"none", "quasi-complete"}
