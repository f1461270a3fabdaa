"""Sparse designs with many columns: rows, signs and proofs are those of the exact engine."""

import random
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from case_counts import count_cases, n_cases
from ctrl_c import ctrl_c_after
from rays import rank

import rosenblatt as rb
from rosenblatt.evidence.modular import Pivots, integer_products, null_basis, proved_rank
from rosenblatt.evidence.reasons import UNDECIDED, UNSIGNED


def effects(rng):
    """Dummies of three crossed factors and a few columns of small integers."""
    n = int(rng.integers(4, 30))
    levels = [int(rng.integers(2, 5)) for _ in range(3)]
    X = np.hstack([np.eye(k)[rng.integers(0, k, n)][:, rng.integers(0, 2) :] for k in levels])
    X = np.hstack([X, rng.integers(-2, 3, (n, int(rng.integers(0, 3))))])
    return X[:, rng.permutation(X.shape[1])]


def wide(X):
    """The same design as CSR, with columns of zeros: as wide as those with many effects."""
    return scipy.sparse.csr_array(np.hstack([X, np.zeros((len(X), 110))]))


@pytest.mark.parametrize("family", ["poisson", "binomial"])
def test_sparse_designs_are_decided_like_dense_ones(family):
    rng = np.random.default_rng(0)
    kinds = set()
    for _ in range(n_cases(40)):
        X = effects(rng)
        y = rng.choice([0, 0, 1, 3] if family == "poisson" else [0, 1, 1, 0.5], len(X))
        how = {"family": family, "fit_intercept": bool(rng.integers(0, 2))}
        dense, sparse = rb.separation(X, y, **how), rb.separation(wide(X), y, **how)
        assert (sparse.kind, sparse.rows.tolist()) == (dense.kind, dense.rows.tolist())
        assert {name: sparse.reasons[name] for name in dense.names} == dense.reasons
        assert sparse.n_overlapping == dense.n_overlapping
        assert sparse.proof.check(wide(X), y)
        assert rb.SeparationProof.from_json(sparse.proof.to_json()) == sparse.proof
        if sparse.drop:
            left = [j for j in range(X.shape[1]) if f"x{j + 1}" not in sparse.drop]
            intercept = how["fit_intercept"] and "(intercept)" not in sparse.drop
            table = X[:, left] if left else np.zeros((len(X), 1))
            assert not rb.separation(table, y, family=family, fit_intercept=intercept)
        kinds.add(sparse.kind)
        count_cases(f"separations of sparse designs, {family}")
    assert {"none", "quasi-complete"} <= kinds


def test_null_spaces_are_exact_and_complete():
    rng = np.random.default_rng(1)
    for _ in range(n_cases(40)):
        X = effects(rng)
        pivots, basis = null_basis(scipy.sparse.csr_array(X))
        assert not (X @ basis.toarray()).any()
        assert pivots.rank == rank(X.astype(int).tolist()) == X.shape[1] - basis.shape[1]
        assert proved_rank(scipy.sparse.csr_array(X), pivots) == pivots.rank
        assert integer_products(scipy.sparse.csr_array(X), basis).nnz == 0


def test_a_rank_is_proved_without_pivots():
    none, last = np.array([], dtype=np.int64), np.array([1])
    X = scipy.sparse.csr_array([[0.0, 0.0], [1.0, 2.0]])
    assert proved_rank(X, Pivots(none, none, none)) == 0
    assert proved_rank(X, Pivots(none, none, last)) == 1


def test_a_changed_null_space_is_not_accepted():
    rng, random_ = np.random.default_rng(2), random.Random(2)
    refused = 0
    while refused < n_cases(60):
        X = effects(rng)
        y = rng.choice([0, 0, 1, 3], len(X))
        proof = rb.separation(wide(X), y, family="poisson").proof
        space = proof.space
        if space is None:  # no row is pinned
            continue
        columns, values = list(map(list, space.columns)), list(map(list, space.values))
        rows, places, extra = map(list, space.pivots)
        what = random_.randrange(6)
        if what == 0:
            values[random_.randrange(len(values))][0] += random_.choice([-1, 1, 10**12])
        elif what == 1:
            del columns[0], values[0]
        elif what == 2 and len(rows) > 1:
            rows[0], rows[-1] = rows[-1], rows[0]
        elif what == 3:
            rows, places = [*rows, *rows[:1]], [*places, *places[:1]]
        elif what == 4:
            columns[-1], values[-1] = columns[0], values[0]
        else:
            extra = [*extra, len(y) + 5]
        pivots = tuple(rows), tuple(places), tuple(extra)
        forged = replace(
            proof,
            space=replace(
                space,
                pivots=pivots,
                columns=tuple(map(tuple, columns)),
                values=tuple(map(tuple, values)),
            ),
        )
        try:
            forged.check(wide(X), y)
        except rb.ProofError:
            refused += 1
        else:  # another order of pivots, or another basis, may prove the same
            assert what in (0, 2)


def gravity(countries, years, seed=0):
    """A panel of flows with effects of exporter and year, importer and year, and pair."""
    rng = np.random.default_rng(seed)
    i, j, t = (a.ravel() for a in np.indices((countries, countries, years)))
    i, j, t = (a[i != j] for a in (i, j, t))
    n, pairs = len(i), np.unique(i * countries + j, return_inverse=True)[1]
    x = rng.normal(size=(n, 2))
    size = countries * years
    score = x @ [0.3, -0.2] + 1.5 * rng.normal(size=pairs.max() + 1)[pairs] - 0.5
    score += 0.5 * rng.normal(size=size)[i * years + t] + 0.5 * rng.normal(size=size)[j * years + t]
    columns = np.column_stack([i * years + t, size + j * years + t, 2 * size + pairs])
    ends = np.arange(0, 3 * n + 1, 3)
    dummies = scipy.sparse.csr_array((np.ones(3 * n), columns.ravel(), ends))
    X = scipy.sparse.hstack([scipy.sparse.csr_array(x), dummies], format="csr")
    return X, rng.poisson(np.exp(score)), pairs


@pytest.mark.slow_without_jit
def test_a_gravity_panel_is_separated_by_pairs_that_never_trade():
    X, y, pairs = gravity(30, 10)
    assert X.shape == (8700, 1472)
    s = rb.separation(X, y, family="poisson", fit_intercept=False)
    never = np.bincount(pairs, weights=y) == 0
    assert set(np.flatnonzero(never[pairs]).tolist()) <= set(s.rows.tolist())
    assert (s.coefficients["x1"], s.coefficients["x2"]) == (0.0, 0.0)
    assert s.proof.check(X, y)


def panel_with_signs(rng):
    """Two effects, coded with reference levels, in which some levels are separated."""
    X = np.hstack([np.eye(30)[rng.integers(0, 30, 200)][:, 1:] for _ in range(2)])
    return scipy.sparse.csr_array(np.hstack([X, rng.normal(size=(200, 1))])), rng.integers(
        0, 2, 200
    )


def test_a_time_limit_keeps_the_proved_rows():
    X, y = panel_with_signs(np.random.default_rng(4))
    whole, short = rb.separation(X, y), rb.separation(X, y, time_limit=1e-9)
    assert whole
    assert (short.kind, short.rows.tolist()) == (whole.kind, whole.rows.tolist())
    assert short.proof.check(X, y)
    for name, why in short.reasons.items():
        assert why in (whole.reasons[name], UNSIGNED)
    assert rb.separation(X[:, :5].toarray(), y, time_limit=1e-9).kind == "undecided"


@pytest.mark.slow_without_jit
def test_rows_found_before_the_time_limit_are_kept():
    X, y, _ = gravity(12, 6)
    whole = rb.separation(X, y > 0, fit_intercept=False)
    copies, labels = sparse_copies(X, 8), np.tile(y > 0, 8)
    short = rb.separation(copies, labels, fit_intercept=False, time_limit=1e-9)
    assert (short.kind, short.proof, bool(short)) == ("undecided", None, True)
    assert 0 < len(short.rows) < 8 * len(whole.rows)
    assert set((short.rows % len(y)).tolist()) <= set(whole.rows.tolist())
    products = np.where(labels, 1, -1) * (copies @ short.direction)
    assert (np.flatnonzero(products).tolist(), products.min()) == (short.rows.tolist(), 0)


def sparse_copies(X, times):
    """Enough equal rows that the time limit counts."""
    return scipy.sparse.vstack([X] * times, format="csr")


def hidden_separation(n=20_000, levels=1_000, columns=30, seed=0):
    """A panel in which a combination of columns, and no column alone, separates rows."""
    rng = np.random.default_rng(seed)
    effects = np.column_stack([rng.integers(0, levels, n), levels + rng.integers(0, levels, n)])
    ends = np.arange(0, 2 * n + 1, 2)
    dummies = scipy.sparse.csr_array((np.ones(2 * n), effects.ravel(), ends))
    X, y = rng.integers(-5, 6, (n, columns)).astype(float), rng.integers(0, 2, n)
    some = np.where(rng.random(n) < 0.1, rng.integers(1, 4, n), 0)
    X[:, 0] = np.where(y == 1, some, -some) - X[:, 1] - 2 * X[:, 2]
    return scipy.sparse.hstack([scipy.sparse.csr_array(X), dummies], format="csr"), y


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("end", ["time limit", "interrupt"])
def test_a_long_linear_program_can_be_ended(end):
    X, y = hidden_separation()
    if end == "time limit":
        s = rb.separation(X, y, fit_intercept=False, time_limit=1.0)
    else:
        with ctrl_c_after(1.0):
            s = rb.separation(X, y, fit_intercept=False)
    assert s.kind == "undecided"
    assert end in s.reason


def test_an_interrupt_keeps_the_proved_rows(monkeypatch):
    X, y = panel_with_signs(np.random.default_rng(4))
    whole = rb.separation(X, y)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("rosenblatt.evidence.reasons.null_basis", interrupted)
    short = rb.separation(X, y)
    assert short.rows.tolist() == whole.rows.tolist()
    assert short.proof.check(X, y)
    assert set(short.reasons.values()) == {UNDECIDED}
    assert "undecided" in repr(short)
    assert "No estimate is finite" not in str(short)
