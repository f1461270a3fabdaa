"""Separation: rows and coefficients are those of an oracle that tries every extreme ray."""

import csv
import json
import math
import random
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from case_counts import count_cases, n_cases
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st
from rays import product
from rays import separation as oracle
from strategies import whole

import rosenblatt as rb
from rosenblatt.evidence.certificate import ABOUT
from rosenblatt.evidence.reasons import UNKNOWN


def signed(X, y, family, fit_intercept):
    """The signed rows and which are pinned, written down from the definitions."""
    X = np.column_stack([np.ones(len(X)), X]) if fit_intercept else X
    if family == "poisson":
        return np.where(y[:, None] > 0, X, -X), y > 0
    return np.where(y[:, None] > 0, X, -X), (y > 0) & (y < 1)


@st.composite
def regressions(draw):
    n, d = draw(st.integers(2, 7)), draw(st.integers(1, 3))
    X = draw(whole(-2, 2, (n, d)))
    if draw(st.booleans()):
        X = np.column_stack([X, X[:, 0] * draw(st.integers(-2, 2))])[:, : max(2, d)]
    if draw(st.booleans()):
        X = np.vstack([X, X[:2]])
    family = draw(st.sampled_from(["binomial", "shares", "poisson"]))
    values = {"binomial": [0.0, 1.0], "shares": [0.0, 0.5, 1.0], "poisson": [0.0, 0.0, 3.0]}[family]
    y = np.array(draw(st.lists(st.sampled_from(values), min_size=len(X), max_size=len(X))))
    return X, y, "poisson" if family == "poisson" else "binomial", draw(st.booleans())


def agrees(s, X, y, family, fit_intercept):
    Z, pinned = signed(X, y, family, fit_intercept)
    separated, estimates = oracle(Z, pinned)
    assert s.kind != "undecided", s.reason
    assert s.rows.tolist() == np.flatnonzero(separated).tolist()
    np.testing.assert_array_equal(list(s.coefficients.values()), estimates)
    gamma = [int(v) for v in s.direction]
    products = [product(gamma, [int(a) for a in z]) for z in Z]
    assert [p > 0 for p in products] == separated
    assert all(p >= 0 for p in products)
    count_cases("separations, row by row and coefficient by coefficient")


@given(regressions())
def test_rows_and_coefficients_match_the_oracle(regression):
    X, y, family, fit_intercept = regression
    s = rb.separation(X, y, family=family, fit_intercept=fit_intercept)
    agrees(s, X, y, family, fit_intercept)
    assert s.proof.check(X, y)
    assert rb.SeparationProof.from_json(s.proof.to_json()) == s.proof


@given(regressions(), st.integers(-6, 6), st.integers(-6, 6))
def test_units_of_columns_change_nothing(regression, a, b):
    X, y, family, fit_intercept = regression
    powers = 10.0 ** np.resize([a, b], X.shape[1])
    powers = np.where(powers < 1, 2.0 ** np.round(np.log2(powers)), powers)  # exact products
    s = rb.separation(X, y, family=family, fit_intercept=fit_intercept)
    scaled = rb.separation(X * powers, y, family=family, fit_intercept=fit_intercept)
    assert scaled.rows.tolist() == s.rows.tolist()
    assert list(scaled.reasons.values()) == list(s.reasons.values())
    assert scaled.proof.check(X * powers, y)


@given(regressions())
def test_dense_sparse_and_repeated_rows_agree(regression):
    X, y, family, fit_intercept = regression
    how = {"family": family, "fit_intercept": fit_intercept}
    s = rb.separation(X, y, **how)
    sparse = rb.separation(scipy.sparse.csr_array(X), y, **how)
    assert sparse.rows.tolist() == s.rows.tolist()
    assert sparse.reasons == s.reasons
    assert s.proof.check(scipy.sparse.csr_array(X), y)
    twice = rb.separation(np.vstack([X, X]), np.append(y, y), **how)
    assert twice.rows.tolist() == [*s.rows.tolist(), *(s.rows + len(X)).tolist()]
    assert twice.reasons == s.reasons


@given(regressions())
def test_rows_of_weight_zero_are_ignored(regression):
    X, y, family, fit_intercept = regression
    weights = np.arange(len(X)) % 3 > 0
    if not weights.any():
        return
    how = {"family": family, "fit_intercept": fit_intercept}
    s = rb.separation(X, y, sample_weight=weights.astype(float), **how)
    alone = rb.separation(X[weights], y[weights], **how)
    assert s.rows.tolist() == np.flatnonzero(weights)[alone.rows].tolist()
    assert s.reasons == alone.reasons


@given(regressions())
def test_poisson_and_binomial_agree_if_all_counts_are_zero(regression):
    X, y, _, fit_intercept = regression
    if not (y == 0).all():
        return
    poisson = rb.separation(X, y, family="poisson", fit_intercept=fit_intercept)
    binomial = rb.separation(X, y, family="binomial", fit_intercept=fit_intercept)
    assert poisson.rows.tolist() == binomial.rows.tolist()
    assert poisson.reasons == binomial.reasons


@given(regressions(), st.integers(0, 2**32 - 1))
def test_a_multinomial_with_two_labels_is_a_binomial(regression, seed):
    X, _, _, fit_intercept = regression
    y = np.random.default_rng(seed).integers(0, 2, len(X))
    if len(set(y.tolist())) < 2:
        return
    two = rb.separation(X, y, family="multinomial", fit_intercept=fit_intercept)
    one = rb.separation(X, y, fit_intercept=fit_intercept)
    assert two.rows.tolist() == one.rows.tolist()
    assert list(two.reasons.values()) == list(one.reasons.values())
    assert two.names == tuple((1, name) for name in one.names)


@st.composite
def labelled(draw):
    """Rows with three labels or four, each of which comes; and whether there is an intercept."""
    (K, d), intercept = draw(st.sampled_from([(3, 1), (3, 2), (4, 1)])), draw(st.booleans())
    n = draw(st.integers(K, 7))
    more = draw(st.lists(st.integers(0, K - 1), min_size=n - K, max_size=n - K))
    return (
        draw(whole(-2, 2, (n, d))),
        np.array(draw(st.permutations([*range(K), *more]))),
        intercept,
    )


@given(labelled())
def test_a_multinomial_matches_its_expanded_rows(regression):
    X, y, fit_intercept = regression
    how = {"family": "multinomial", "fit_intercept": fit_intercept}
    s = rb.separation(X, y, **how)
    tall, K = np.column_stack([np.ones(len(X)), X])[:, 1 - fit_intercept :], max(y) + 1
    Z, owners = [], []
    for n, label in enumerate(y):
        for rival in {*range(K)} - {label}:
            z = np.zeros((K, tall.shape[1]))
            z[label], z[rival] = tall[n], -tall[n]
            Z.append(z[1:].ravel())
            owners.append(n)
    separated, estimates = oracle(Z, [False] * len(Z))
    assert s.rows.tolist() == sorted({o for o, yes in zip(owners, separated, strict=True) if yes})
    np.testing.assert_array_equal(list(s.coefficients.values()), estimates)
    columns = ["(intercept)", *(f"x{j}" for j in range(1, X.shape[1] + 1))][1 - fit_intercept :]
    assert s.names == tuple((k, name) for k in range(1, K) for name in columns)
    assert s.kind == {0: "none", len(Z): "complete"}.get(sum(separated), "quasi-complete")
    assert s.proof.check(X, y)
    assert rb.separation(scipy.sparse.csr_array(X), y, **how).proof == s.proof


@given(labelled())
def test_the_reference_label_does_not_change_the_separated_rows(regression):
    X, y, fit_intercept = regression
    one, two = (
        rb.separation(X, labels, family="multinomial", fit_intercept=fit_intercept)
        for labels in (y, max(y) - y)
    )
    assert (one.kind, one.rows.tolist()) == (two.kind, two.rows.tolist())


def test_minimal_overlap_is_overlap_and_distant_numbers_are_separated():
    X = np.array([[1.0], [2.0], [3.0], [3.0 - 1e-8], [4.0]])
    assert rb.separation(X, [0, 0, 0, 1, 1]).kind == "none"
    X = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]) * 1e5
    s = rb.separation(X, [0, 0, 0, 1, 1, 1])
    assert s.kind == "complete"
    assert s.coefficients == {"(intercept)": -math.inf, "x1": math.inf}


def test_the_summary_can_be_pasted_into_a_report():
    s = rb.separation([[1.0], [2.0], [3.0], [3.0], [4.0]], [0, 0, 0, 1, 1])
    assert str(s).splitlines()[0] == (
        "quasi-complete separation: the estimates of (intercept) and x1 are infinite."
    )
    line = next(line for line in str(s).splitlines() if line.startswith("x1 "))
    assert "+inf" in line
    assert s.reasons["x1"] in line
    assert "quasi-complete" in repr(s)
    assert "<table" in s._repr_html_()
    assert s.drop == ("x1",)


def dropped(X, names, fit_intercept):
    """The regressors without columns, and whether there still is an intercept."""
    left = [j for j in range(X.shape[1]) if f"x{j + 1}" not in names]
    table = X[:, left] if left else np.zeros((len(X), 1))
    return table, fit_intercept and "(intercept)" not in names


@given(regressions())
def test_without_the_columns_to_drop_nothing_is_separated(regression):
    X, y, family, fit_intercept = regression
    s = rb.separation(X, y, family=family, fit_intercept=fit_intercept)
    assert bool(s.drop) == bool(s)
    for fewer in [s.drop, *(set(s.drop) - {name} for name in s.drop)]:
        left, intercept = dropped(X, fewer, fit_intercept)
        again = rb.separation(left, y, family=family, fit_intercept=intercept)
        assert bool(again) == (len(fewer) < len(s.drop))
    if s and s.n_overlapping:
        kept = np.setdiff1d(np.arange(len(X)), s.rows)
        assert not rb.separation(X[kept], y[kept], family=family, fit_intercept=fit_intercept)


def test_dependent_columns_are_reported_and_dropped_too():
    levels, flows = np.eye(3)[[0, 0, 1, 1, 2, 2]], [0, 0, 5, 2, 0, 7]
    s = rb.separation(levels, flows, family="poisson")
    assert (s.kind, s.rows.tolist(), s.n_overlapping) == ("quasi-complete", [0, 1], 4)
    assert set(s.reasons.values()) == {UNKNOWN}
    assert s.drop == ("x1", "x3")
    assert all(name in str(s) for name in s.drop)


def test_with_very_many_columns_to_drop_only_the_rows_are_reported():
    levels = np.eye(31)[[*range(31), 0]]
    s = rb.separation(levels, [*[1] * 31, 0], fit_intercept=False)
    assert s.rows.tolist() == list(range(1, 31))
    assert (s.drop, s.coefficients["x1"], s.coefficients["x31"]) == ((), 0.0, math.inf)
    assert (s.n_rows, s.n_overlapping) == (32, 2)
    assert "Without" not in str(s)


def test_the_one_column_that_reveals_the_label_is_found():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (200, 30)).astype(float), np.arange(200) % 2
    X[:, 12] = y
    s = rb.separation(X, y)
    assert (s.kind, s.drop) == ("complete", ("x13",))


def test_one_separated_row_is_reported_in_the_singular():
    s = rb.separation([[0.0], [0.0], [1.0]], [0, 1, 1])
    assert (s.rows.tolist(), s.n_overlapping, s.drop) == ([2], 2, ("x1",))
    assert "Separated row: 2." in str(s)


def test_a_row_separated_from_one_class_still_counts_for_another():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [2.0], [9.0]])
    y = np.array(["a", "b", "a", "b", "a", "c"])
    s = rb.separation(X, y, family="multinomial")
    finite = [name for name, why in s.reasons.items() if why == "finite"]
    assert finite == [("b", "(intercept)"), ("b", "x1")]
    assert s.rows.tolist() == list(range(6))  # c is out of reach for each of them
    assert s.n_overlapping == 5
    assert "based on the 5 rows that overlap and do not change if the other row is removed." in str(
        s
    )
    assert s.drop == ("x1",)


def test_ctrl_c_returns_the_results_so_far(monkeypatch):
    def interrupted(self, function):
        raise KeyboardInterrupt

    monkeypatch.setattr("rosenblatt.evidence.reasons.Cone.signs", interrupted)
    X, y = np.array([[1.0, 0.0], [2.0, 5.0], [3.0, 1.0], [4.0, 1.0]]), [0, 0, 1, 1]
    s = rb.separation(X, y)
    assert (s.kind, s.rows.tolist(), s.proof.check(X, y)) == ("complete", [0, 1, 2, 3], True)
    assert set(s.reasons.values()) == {"infinite, its sign not known"}
    assert all(math.isnan(v) for v in s.coefficients.values())
    assert "interrupted" in s.reason
    assert "Interrupted" in str(s)


# Frames


FRAME = {
    "dose": [1.0, 2.0, 3.0, 3.0, 4.0, 2.5],
    "town": ["Kiel", "Bonn", "Kiel", "Bonn", "Kiel", "Ulm"],
    "old": [True, False, True, True, False, False],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda d: pl.DataFrame(d).to_arrow()])
def test_categories_of_a_frame_are_dummies_with_a_reference_level(make):
    s = rb.separation(make(FRAME), [0, 0, 0, 1, 1, 1])
    assert s.names == ("(intercept)", "dose", "town[Kiel]", "town[Ulm]", "old")
    assert s.proof.check(make(FRAME), [0, 0, 0, 1, 1, 1])
    all_levels = rb.separation(make(FRAME), [0, 0, 0, 1, 1, 1], fit_intercept=False)
    assert all_levels.names == ("dose", "town[Bonn]", "town[Kiel]", "town[Ulm]", "old")


def test_declared_categories_keep_their_order_and_a_missing_one_is_named():
    town = pd.Categorical(["b", "a", "b", "c"], categories=["c", "z", "b", "a"])
    s = rb.separation(pd.DataFrame({"town": town}), [0, 1, 1, 1])
    assert s.names == ("(intercept)", "town[b]", "town[a]")
    with refuses(ValueError, row=1, column="town"):
        rb.separation(pd.DataFrame({"town": ["b", None]}), [0, 1])


def test_a_column_of_numbers_and_text_is_refused_by_name():
    with refuses(ValueError, column="t"):
        rb.separation(pd.DataFrame({"t": ["a", 1]}), [0, 1])


def test_a_long_table_begins_with_the_infinite_coefficients():
    X = np.vstack([np.eye(80), np.eye(80)])
    s = rb.separation(X, [*[0] * 80, *[1] * 79, 0], fit_intercept=False)
    lines = str(s).splitlines()
    assert lines[3].split()[:2] == ["x80", "-inf"]
    assert lines[4].split()[0] == "x1"
    assert "… and 20 coefficients more, all in .reasons" in lines
    assert "20 coefficients more" in s._repr_html_()


def test_a_long_table_ends_with_the_coefficients_that_no_row_identifies():
    levels = np.vstack([np.eye(61), np.eye(61)])
    y = [*[0] * 61, *[1] * 61]
    s = rb.separation(np.hstack([levels[:, :1], levels]), y, fit_intercept=False)
    listed = [line.split()[0] for line in str(s).splitlines()[3:63]]
    assert listed == [f"x{j}" for j in range(3, 63)]
    assert (s.reasons["x1"], s.reasons["x2"]) == (UNKNOWN, UNKNOWN)


def test_two_columns_with_one_name_are_refused():
    with refuses(ValueError, "'t[b]'"):
        rb.separation(pd.DataFrame({"t": ["a", "b"], "t[b]": [1.0, 2.0]}), [0, 1])
    with refuses(ValueError, "'(intercept)'"):
        rb.separation(pd.DataFrame({"(intercept)": [1.0, 2.0]}), [0, 1])


@pytest.mark.parametrize(
    "y",
    [
        ["u", "v", "v"],
        pa.array(["u", "v", "v"]),
        pa.chunked_array([["u"], ["v", "v"]]),
        pd.Series(["u", "v", "v"], dtype="category"),
        pl.Series([False, True, True]),
        np.array([0, 0.5, 1], dtype=object),
        pd.DataFrame({"y": [0, 1, 1]}),
    ],
)
def test_labels_of_every_type_are_supported(y):
    assert rb.separation([[1.0], [2.0], [3.0]], y).rows.tolist()[0] == 0


# Published data


@pytest.mark.parametrize("number", [1, 3, 5, 7, 9, 11, 13, 15, 17])
def test_the_rows_of_ppmlhdfe_are_separated(data, number):
    frame = pd.read_csv(data / "separation" / f"ppml-{number:02}.csv")
    y, truth = frame.pop("y"), frame.pop("separated")
    for name in frame.columns:
        if name.startswith("id"):
            frame[name] = frame[name].astype(str)
    s = rb.separation(frame, y, family="poisson")
    assert s.rows.tolist() == np.flatnonzero(truth).tolist()
    assert s.proof.check(frame, y)


def test_in_endometrial_only_nv_is_infinite(data):
    with open(data / "separation" / "endometrial.csv") as file:
        rows = list(csv.DictReader(file))
    frame = pd.DataFrame({c: [float(r[c]) for r in rows] for c in ("NV", "PI", "EH")})
    s = rb.separation(frame, [int(r["HG"]) for r in rows])
    assert s.coefficients == {"(intercept)": 0.0, "NV": math.inf, "PI": 0.0, "EH": 0.0}
    assert s.drop == ("NV",)


# Proofs


def proofs():
    X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0], [3.0, 1.0], [4.0, 0.0], [0.5, 1.0]])
    yield "binomial", X, np.array([0, 0, 0, 1, 1, 0])
    yield "poisson", X, np.array([0, 0, 3, 0, 1, 0])
    yield "binomial", X, np.array([0, 1, 0, 1, 1, 0])
    yield "multinomial", X, np.array([0, 0, 1, 2, 2, 0])


def changed(proof, rng):
    """The same proof with one number of it other than it was."""
    rows, multipliers = list(proof.part.rows), list(proof.part.multipliers)
    gamma = list(proof.direction)
    what = rng.randrange(6)
    if what == 0:
        gamma[rng.randrange(len(gamma))] += rng.choice([-2, -1, 1, 2, 10**30])
    elif what == 1 and multipliers:
        multipliers[rng.randrange(len(multipliers))] += rng.choice([-3, -1, 1, 10**20])
    elif what == 2 and rows:
        rows[rng.randrange(len(rows))] = rng.randrange(-1, 9)
    elif what == 3:
        rest = proof.part.rest + rng.choice([-1, 1, 5])
        return replace(proof, part=replace(proof.part, rest=rest))
    elif what == 4:
        kinds = {"none", "quasi-complete", "complete", "undecided"} - {proof.kind}
        return replace(proof, kind=rng.choice(sorted(kinds)))
    else:
        gamma = [-v for v in gamma] if any(gamma) else [1, *gamma[1:]]
    part = replace(proof.part, rows=tuple(rows), multipliers=tuple(multipliers))
    return replace(proof, direction=tuple(gamma), part=part)


@pytest.mark.parametrize("number", range(4))
def test_no_changed_proof_is_accepted_unless_it_proves_the_same(number):
    family, X, y = list(proofs())[number]
    s = rb.separation(X, y, family=family)
    rng = random.Random(number)
    for _ in range(n_cases(100)):
        forged = changed(s.proof, rng)
        count_cases("changed proofs of separation")
        try:
            forged.check(X, y)
        except rb.ProofError:
            continue
        asked_rows = rb.separation(X, y, family=family).rows.tolist()
        assert forged.kind == s.kind  # other whole numbers that prove the same are no lie
        assert asked_rows == s.rows.tolist()


def test_a_changed_text_is_not_accepted():
    rng = random.Random(0)
    refused = 0
    for family, X, y in proofs():
        proof = rb.separation(X, y, family=family).proof
        text = proof.to_json()
        for _ in range(n_cases(60)):
            at = rng.randrange(len(text))
            new = rng.choice(["", rng.choice("0123456789abcdef-"), text[at] + "1"])
            other = text[:at] + new + text[at + 1 :]
            try:
                if json.loads(other) == json.loads(text):
                    continue
            except ValueError:
                pass
            with pytest.raises(rb.ProofError):
                rb.SeparationProof.from_json(other).check(X, y)
            refused += 1
    assert refused >= 200


def test_a_proof_is_about_its_data():
    X, y = np.array([[1.0], [2.0], [3.0], [3.0], [4.0]]), np.array([0, 0, 0, 1, 1])
    proof = rb.separation(X, y).proof
    for i in range(5):
        other = X.copy()
        other[i, 0] = np.nextafter(other[i, 0], 9)
        with refuses(rb.ProofError, ABOUT):
            proof.check(other, y)
        with refuses(rb.ProofError, ABOUT):
            proof.check(X, np.where(np.arange(5) == i, 1 - y, y))


# Invalid requests


@pytest.mark.parametrize(
    ("y", "how", "facts"),
    [
        ([0, -1], {"family": "poisson"}, ("row 1", -1)),
        (["a", "b"], {"family": "poisson"}, ("y", "'poisson'")),
        ([0, math.nan], {"family": "poisson"}, ("row 1", "nan")),
        ([0, 1], {"family": "gamma"}, ("family", "'gamma'")),
        ([1, 1], {"family": "multinomial"}, ("multinomial", 1)),
        ([1, math.nan], {"family": "multinomial"}, ("row 1", "NaN")),
        (["a", None], {"family": "multinomial"}, ("row 1", "NaN")),
        ([2.0, 0.5, 1.0], {}, (3, 'family="poisson"')),
        ([0], {}, (2, "(1,)")),
        ([0, 1], {"sample_weight": [0, 0]}, ("sample_weight",)),
        ([[1, 1], [2, math.nan]], {}, ("row 1", "nan")),
        ([[1, 1], [math.inf, 2]], {"family": "log-binomial"}, ("row 1", "inf")),
    ],
)
def test_invalid_requests_are_refused_in_one_sentence(y, how, facts):
    with refuses(ValueError, *facts):
        rb.separation(np.eye(max(2, len(y))), y, **how)


# Many dummies


@st.composite
def crossed(draw):
    """Dummies of two factors, with and without reference, in any order; some may be missing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, reference = int(rng.integers(2, 14)), int(rng.integers(0, 2))
    X = np.hstack([np.eye(5)[rng.integers(0, k, n)][:, reference:k] for k in (4, 3)])
    if draw(st.booleans()):
        X = X[:, rng.permutation(X.shape[1])]
    if draw(st.booleans()):
        X *= rng.random(X.shape) < 0.8
    if draw(st.booleans()):
        X = np.insert(X, int(rng.integers(0, X.shape[1])), 1.0, axis=1)
    again = np.append(np.arange(n), np.repeat(rng.integers(n), draw(st.sampled_from([0, 127]))))
    if draw(st.booleans()):
        return "poisson", X[again], rng.integers(0, 3, n)[again]
    return "binomial", X[again], rng.choice([0.0, 0.5, 1.0], n, p=[0.4, 0.2, 0.4])[again]


@given(crossed(), st.booleans())
def test_for_crossed_effects_the_sparse_engine_matches_the_exact_one(effects, fit_intercept):
    family, X, y = effects
    how = {"family": family, "fit_intercept": fit_intercept}
    exact = rb.separation(X, y, **how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rosenblatt.evidence.cone.WIDE", 0)
        quick = rb.separation(scipy.sparse.csr_array(X), y, **how)
    assert quick.rows.tolist() == exact.rows.tolist()
    assert quick.reasons == exact.reasons
    assert quick.proof.check(X, y)
    if quick.drop or UNKNOWN not in quick.reasons.values():
        assert bool(quick.drop) == bool(exact.drop)
        left, intercept = dropped(X, quick.drop, fit_intercept)
        assert not rb.separation(left, y, family=family, fit_intercept=intercept)


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("family", ["poisson", "binomial"])
def test_twenty_thousand_dummies_are_decided(family):
    rng = np.random.default_rng(0)
    n, levels = 100_000, 10_000
    columns = rng.integers(0, levels, (n, 2)) + np.array([0, levels])
    indptr = np.arange(0, 2 * n + 1, 2)
    X = scipy.sparse.csr_array((np.ones(2 * n), columns.ravel(), indptr), shape=(n, 2 * levels))
    y = rng.integers(0, 2, n) * (1 + 7 * (family == "poisson"))
    s = rb.separation(X, y, family=family)
    assert s.kind == "quasi-complete"
    assert s.proof.check(X, y)
    alone = np.flatnonzero(np.bincount(columns[:, 0], minlength=levels) == 1)
    lone = np.flatnonzero(np.isin(columns[:, 0], alone) & (y == 0))
    assert set(lone.tolist()) <= set(s.rows.tolist())


# statsmodels


class Stand:
    """What a model of statsmodels shows of itself."""

    def __init__(self, **shown):
        vars(self).update(shown)


def test_a_model_provides_its_regressors_names_and_family():
    X, y = np.array([[1.0, 1], [1, 2], [1, 3], [1, 3], [1, 4]]), np.array([0, 0, 0, 1, 1])
    family = type("Binomial", (), {"link": type("Logit", (), {})()})()
    model = Stand(exog=X, endog=y, exog_names=["const", "dose"], family=family)
    s = rb.separation(Stand(model=model))
    assert s.coefficients == {"const": -math.inf, "dose": math.inf}
    assert s.proof.check(X, y)
    with refuses(TypeError, "object", "statsmodels"):
        rb.separation(object())
    with refuses(ValueError, "Gaussian"):
        rb.separation(Stand(exog=X, endog=y, family=type("Gaussian", (), {})()))


def test_models_of_statsmodels_are_supported():
    api = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    X = api.add_constant(pd.DataFrame({"dose": [1.0, 2, 3, 3, 4]}))
    y = np.array([0, 0, 0, 1, 1])
    for model in (api.Logit(y, X), api.Probit(y, X), api.GLM(y, X, api.families.Binomial())):
        assert rb.separation(model).coefficients == {"const": -math.inf, "dose": math.inf}
    X.loc[4, "dose"] = 3.0
    for model in (api.Poisson(y, X), api.GLM(y, X, api.families.Poisson())):
        assert rb.separation(model).rows.tolist() == [0, 1]
    three = api.MNLogit(np.array([0, 0, 1, 1, 2]), X)
    assert [name for _, name in rb.separation(three).names] == ["const", "dose"] * 2


@pytest.mark.parametrize(
    ("name", "link", "family"),
    [
        ("Binomial", "Logit", "binomial"),
        ("Binomial", "cloglog", "binomial"),
        ("Binomial", "Log", "log-binomial"),
        ("Poisson", "Log", "poisson"),
        ("Gamma", "log", "poisson"),
        ("Binomial", "Identity", None),
        ("Poisson", "Sqrt", None),
        ("NegativeBinomial", "Identity", None),
        ("Gaussian", "Log", None),
        ("InverseGaussian", "Log", None),
    ],
)
def test_the_link_of_a_model_counts(name, link, family):
    own = type(name, (), {"link": type(link, (), {})()})()
    model = Stand(exog=np.eye(2), endog=np.array([0, 1]), family=own)
    if family is None:
        with refuses(ValueError, name, link, advice=["family"]):
            rb.separation(model)
    else:
        assert rb.separation(model).family == family


def test_a_proof_is_checked_against_a_model_with_its_weights():
    own = type("Binomial", (), {"link": type("Logit", (), {})()})()
    X, y = np.array([[1.0, 1], [1, 2], [1, 3], [1, 3], [1, 4]]), np.array([0, 0, 0, 1, 1])
    model = Stand(exog=X, endog=y, family=own)
    model.freq_weights, model.var_weights = np.array([1, 1, 0, 1, 1]), np.array([1.0, 1, 1, 1, 0])
    s = rb.separation(model)
    assert (s.kind, s.n_rows) == ("complete", 3)
    assert s.proof.check(model)
    assert s.proof.check(X, y, [1, 1, 0, 1, 0])


HOSTILE = {
    "subnormal": lambda X, rng: X * 5e-324,
    "huge": lambda X, rng: X * 8e307,
    "columns far apart": lambda X, rng: X * 10.0 ** rng.integers(-300, 300, (1, X.shape[1])),
    "rows far apart": lambda X, rng: X * 10.0 ** rng.integers(-150, 150, (len(X), 1)),
    "a last digit apart": lambda X, rng: X + rng.integers(-2, 3, X.shape) * np.spacing(1.0),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_numbers_of_any_size_are_decided(kind):
    rng = np.random.default_rng(0)
    for _ in range(n_cases(25)):
        X = rng.integers(-2, 3, (int(rng.integers(1, 9)), int(rng.integers(1, 4)))).astype(float)
        X = HOSTILE[kind](X, rng)
        family = str(rng.choice(["binomial", "poisson", "multinomial"]))
        y = rng.integers(0, 2, len(X))
        if family == "multinomial" and len(set(y.tolist())) < 2:
            continue
        s = rb.separation(X, y, family=family, fit_intercept=bool(rng.integers(0, 2)))
        assert s.kind != "undecided", s.reason
        assert s.proof.check(X, y)
        assert str(s)
        count_cases("separations of hostile numbers")


@pytest.mark.parametrize(
    ("y", "advised", "not_advised"),
    [
        ([20, 8, 4, 13, 1, 5], ("share of successes", "poisson"), ("multinomial",)),
        ([2.5, 0.5, 1.0, 7.0, 3.0, 0.0], ("share of successes", "poisson"), ("multinomial",)),
        ([0, 1, 2, 0, 1, 2], ("share of successes", "poisson", "multinomial"), ()),
        (["a", "b", "c", "a", "b", "c"], ("multinomial",), ("poisson", "share of")),
        ([-1, 0, 1, -1, 0, 1], ("multinomial",), ("poisson", "share of")),
        ([-1.5, 0.2, 1.1, -1.4, 0.6, 1.2], (), ("poisson", "share of", "multinomial")),
        (np.ones((6, 3)), ("one label or number per row",), ("multinomial",)),
    ],
)
def test_targets_that_are_not_binomial_are_refused_with_a_remedy(y, advised, not_advised):
    X = np.arange(6.0).reshape(-1, 1)
    with refuses(ValueError, "y") as refused:
        rb.separation(X, y)
    message = str(refused.value)
    assert all(word in message for word in advised), message
    assert not any(word in message for word in not_advised), message
    for family in ("poisson", "multinomial"):
        if family in advised:
            rb.separation(X, y, family=family)


def test_shares_of_successes_are_separated_like_individual_rows():
    successes, failures = np.array([3, 0, 2, 4]), np.array([0, 2, 1, 0])
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    shares = rb.separation(X, successes / (successes + failures))
    rows = np.repeat(np.arange(4), successes + failures)
    y = np.concatenate([[1] * a + [0] * b for a, b in zip(successes, failures, strict=True)])
    assert dict(shares.coefficients) == dict(rb.separation(X[rows], y).coefficients)
    assert shares.kind == "quasi-complete"
