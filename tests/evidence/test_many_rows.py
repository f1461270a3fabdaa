"""Sums, zeros and equal rows of many rows are computed exactly in arrays."""

from fractions import Fraction

import numpy as np
import pytest
import zoo
from scipy import sparse

import rosenblatt as rb
from rosenblatt.evidence import integers
from rosenblatt.evidence.checker import product_signs
from rosenblatt.evidence.integers import contradictions, group_equal_rows
from rosenblatt.evidence.separability import find_contradictions
from rosenblatt.evidence.signedrows import SignedRows
from rosenblatt.examples import Examples

FORMATS = (np.asarray, sparse.csr_array)


def rows_of(seed, form):
    animal = zoo.animal(seed)
    return Examples.from_arrays(form(animal.X), animal.y, x0=animal.x0, one_class=True)


@pytest.mark.parametrize("form", FORMATS)
def test_columns_are_summed_exactly(form):
    for seed in range(52):
        examples = rows_of(seed, form)
        sums, unit = integers.sum_of_rows(examples)
        table = integers.integer_rows(examples, range(examples.n), unit)
        assert sums == [sum(column) for column in zip(*table, strict=True)]


@pytest.mark.parametrize("form", [*FORMATS, np.asfortranarray])
@pytest.mark.parametrize("zeros", [False, True])
def test_sums_of_columns_are_those_of_fractions(form, zeros):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)) * 2.0 ** rng.integers(-30, 30, (40, 3))
    X[3:30, 1] *= not zeros
    y = rng.choice([-1, 1], 40)
    sums, unit = integers.sum_of_rows(Examples.from_arrays(form(X), y, x0=0.0))
    signed = (X * y[:, None]).T.tolist()
    exact = [sum(map(Fraction, column), Fraction(0)) for column in signed]
    assert [v * Fraction(2) ** (unit - 53) for v in sums] == exact


@pytest.mark.parametrize("form", FORMATS)
def test_zero_modulo_enough_primes_is_zero(form):
    rng = np.random.default_rng(0)
    zeros = 0
    for seed in range(52):
        examples = rows_of(seed, form)
        rows = np.arange(examples.n)
        z = integers.integer_rows(examples, [0])[0]
        w = rng.integers(-3, 4, len(z)).tolist()
        if len(z) > 1:  # orthogonal to the first row, by numbers of any size
            w = [z[1], -z[0], *[0] * (len(z) - 2)]
        found = integers.zero_products(
            w, examples, rows, integers.choose_primes(w or [1], examples, rows)
        )
        exact = [p == 0 for p in integers.exact_products(w, examples, rows.tolist())]
        assert found.tolist() == exact
        zeros += sum(exact)
    assert zeros > 52


@pytest.mark.parametrize("form", FORMATS)
def test_one_row_of_each_kind_is_examined(form):
    X = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0], [1.0, 0.0], [2.0, 0.0]])
    examples = Examples.from_arrays(form(X), [1, 0, 1, 0, 0])
    firsts, places = group_equal_rows(examples, np.arange(5))
    assert firsts[places].tolist() == [0, 1, 0, 3, 1]
    firsts, places = group_equal_rows(examples, np.array([2, 4]))
    assert firsts[places].tolist() == [2, 4]
    by_chance = np.zeros(5, dtype=np.uint64)
    firsts, places = group_equal_rows(examples, np.arange(5), by_chance)
    assert firsts[places].tolist() == [0, 1, 0, 3, 1]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("different", [1, 3, 40])
def test_rows_of_a_kind_have_equal_features_and_labels(form, different):
    rng = np.random.default_rng(different)
    table, n = np.round(rng.standard_normal((different, 2)), 1), 500
    X, y = table[rng.integers(0, different, n)], rng.integers(0, 2, n)
    examples = Examples.from_arrays(form(X), y)
    rows = np.sort(rng.choice(n, 400, replace=False))
    firsts, places = group_equal_rows(examples, rows)
    assert (X[firsts[places]] == X[rows]).all()
    assert (y[firsts[places]] == y[rows]).all()
    alike = {(*x, a): n for n, (x, a) in reversed(list(enumerate(zip(X.tolist(), y, strict=True))))}
    every, _ = group_equal_rows(examples, np.arange(n))
    assert sorted(every.tolist()) == sorted(alike.values())


@pytest.mark.parametrize("form", FORMATS)
def test_many_equal_rows_are_counted_and_proved_together(form):
    n, most = 6000, 100
    X, y = form(np.ones((n, 2))), np.repeat([1, 0, 1], n // 3)
    found = rb.fewest_mistakes(X, y, time_limit=0.01)
    assert (found.mistakes, found.lower_bound, found.optimal) == (n // 3, n // 3, True)
    assert (found.proof.claim, len(found.proof.conflicts)) == (f"at least {n // 3} mistakes", 1)
    assert found.proof.check(X, y)
    blocked = find_contradictions(Examples.from_arrays(X, y), most)
    assert len(blocked.conflicts) == most
    assert blocked.proof.check(X, y)


@pytest.mark.parametrize("form", FORMATS)
def test_hash_collisions_do_not_merge_rows(form):
    X = form([[1.0, 0.0], [2.0, 5.0], [1.0, -0.0], [2.0, 5.0], [1.0, 0.0]])
    examples = Examples.from_arrays(X, [1, 0, 0, 0, 1])
    (alike,) = contradictions(examples, codes=np.zeros(5, dtype=np.uint64))
    assert [side.tolist() for side in alike] == [[0, 4], [2]]


def dependent(n):
    """Yield each verdict with rows of a repeated column, and labels near the border."""
    rng = np.random.default_rng(1)
    X = np.round(rng.standard_normal((n, 4)), 1)
    X[:, 3] = X[:, 0]
    s = X[:, 0] + X[:, 1]
    chance = rng.integers(0, 2, n)
    yield "inseparable", X, np.where(np.abs(s) < 1, chance, s > 0)
    yield "quasi-separable", X, np.where(s == 0, chance, s > 0)
    yield "separable", X[s != 0], s[s != 0] > 0
    yield "separable", np.tile([[0.5, 1.0], [-0.5, 1.0]], (n // 2, 1)), np.tile([1, 0], n // 2)


def test_few_rows_become_integers_whatever_the_dependencies(monkeypatch):
    taken = []
    plain = integers.as_integers
    monkeypatch.setattr(
        integers,
        "as_integers",
        lambda numbers, unit: taken.append(len(numbers)) or plain(numbers, unit),
    )
    for verdict, X, y in dependent(4000):
        taken.clear()
        s = rb.separability(X, y)
        assert s.verdict == verdict
        assert s.proof.check(X, y)
        assert sum(taken) < X.size / 2


def heavy_tails(n, d):
    """Create word counts: many zeros, and some columns far larger than others."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n, d)) < 0.15, np.round(np.exp(rng.standard_normal((n, d))), 2), 0)
    X[:, -2] = np.round(np.exp(2 * rng.standard_normal(n) + 3))
    X[:, -1] = np.round(X[:, -2] * np.exp(np.abs(rng.standard_normal(n))))
    s = (X / X.std(axis=0)) @ rng.standard_normal(d)
    y = (s > np.quantile(s, 0.6)).astype(int)
    y[0] = 1 - y[0]
    return X, y


@pytest.mark.parametrize("widest", [True, False])
def test_unscaled_columns_are_decided_with_few_exact_rows(monkeypatch, widest):
    taken = []
    plain = SignedRows.exact_whole
    monkeypatch.setattr(
        SignedRows, "exact_whole", lambda self, rows: taken.append(len(rows)) or plain(self, rows)
    )
    X, y = heavy_tails(1500, 20)
    s = rb.separability(X, y, widest=widest)
    assert s.verdict in ("inseparable", "quasi-separable")
    assert s.proof.check(X, y)
    assert sum(taken) < 20 * 21


@pytest.mark.parametrize("form", FORMATS)
def test_the_sign_of_every_product_is_exact(form):
    rng = np.random.default_rng(0)
    met = set()
    for seed in range(104):
        examples = rows_of(seed, form)
        if seed % 2:  # whole numbers, which floats may settle alone
            X = rng.integers(-3, 4, (100, 3)).astype(float)
            examples = Examples.from_arrays(form(X), rng.integers(0, 2, 100), one_class=True)
        width = examples.dimension
        size = (4, 2**30, 2**62)[seed % 3]
        w = tuple(int(v) * 2 ** (seed % 5 * 40) for v in rng.integers(-size, size, width))
        signs = np.concatenate([some for _, some in product_signs(w, examples)])
        table = integers.integer_rows(examples, range(examples.n))
        products = [sum(v * a for v, a in zip(w, z, strict=True)) for z in table]
        assert signs.tolist() == [(p > 0) - (p < 0) for p in products]
        met |= set(signs.tolist())
    assert met == {-1, 0, 1}


@pytest.mark.parametrize("form", FORMATS)
def test_sums_of_rows_exclude_the_given_rows(form):
    for seed in range(26):
        examples = rows_of(seed, form)
        sums, unit = integers.sum_of_rows(examples, without=[0])
        table = integers.integer_rows(examples, range(examples.n), unit)
        assert sums == [sum(column[1:]) for column in zip(*table, strict=True)]
        listed = integers.sum_multiples([1] * examples.n, examples, np.arange(examples.n), unit)
        assert listed == [sum(column) for column in zip(*table, strict=True)]
