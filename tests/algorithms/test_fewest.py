"""The search never gets worse, counts exactly, and is optimal in the plane."""

import gc
import itertools
import math
from fractions import Fraction

import lecture
import numpy as np
import pytest
import scipy.sparse as sp
import strategies as its
from case_counts import count_cases, n_cases
from ctrl_c import ctrl_c_after
from facts import refuses
from hypothesis import given, settings
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt.algorithms.fewest import (
    Board,
    Gap,
    Search,
    descend,
    new_line,
    run_anneal,
    run_step,
    sprint,
    try_starts,
)
from rosenblatt.algorithms.pocket import Judge
from rosenblatt.examples import Costs, Examples


def whole_rows(X, y, intercept=True):
    """Return signed augmented rows as integers, padded with zeros to three numbers."""
    rows = []
    for x, sign in zip(np.asarray(X, dtype=float).tolist(), y, strict=True):
        tall = [Fraction(1)] * intercept + [Fraction(v) for v in x]
        common = math.lcm(*(v.denominator for v in tall))
        rows.append([0] * (3 - len(tall)) + [int(sign) * int(v * common) for v in tall])
    return rows


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def signs(w, Z):
    products = (sum(p * q for p, q in zip(w, z, strict=True)) for z in Z)
    return [(v > 0) - (v < 0) for v in products]


def brute_force(Z, costs):
    """Find the optimum by trying each line through points, turned and shifted a little.

    Turning decides the points on the line but for the one it turns about, pushing that one.
    """
    lines = [cross(a, b) for a, b in itertools.combinations(Z, 2)]
    lines += [cross(e, z) for z in Z for e in ([1, 0, 0], [0, 1, 0], [0, 0, 1])]
    best = sum(costs)
    for w in [w for w in lines if any(w)]:
        on = signs(w, Z)
        for z in [z for z, sign in zip(Z, on, strict=True) if sign == 0]:
            turned, pushed = signs(cross(w, z), Z), signs(z, Z)
            for a, b, c in itertools.product((1, -1), repeat=3):
                each = zip(costs, on, turned, pushed, strict=True)
                best = min(best, sum(k for k, p, q, r in each if (a * p or b * q or c * r) <= 0))
    return best


@pytest.mark.slow_without_jit
def test_two_thousand_points_in_the_plane_are_solved():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, size=(2000, 2)) / 10
    y = np.where(X[:, 0] + rng.normal(size=2000) > 1.5, "yes", "no")
    result = rb.fewest_mistakes(X, y, time_limit=1e6, random_state=0)
    assert result.optimal
    assert result.mistakes == result.lower_bound == len(result.wrong)


@pytest.mark.slow_without_jit
def test_xor_and_contradictions_are_explained_in_a_sentence():
    xor = [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert str(rb.fewest_mistakes(xor, [0, 1, 1, 0])) == (
        "1 mistake; no line makes fewer (proof: 1 conflict)"
    )
    separable = rb.fewest_mistakes(xor, [0, 0, 0, 1])
    assert str(separable) == "no mistakes: a line classifies every example correctly"
    assert separable.optimal
    assert separable.proof is None
    both = rb.fewest_mistakes([[1, 2, 3]] * 4 + [[0, 0, 1]] * 2, [0, 1, 0, 1, 0, 1])
    assert (both.mistakes, both.lower_bound, both.optimal) == (3, 3, True)
    assert str(both) == "3 mistakes; no line makes fewer (proof: 2 conflicts)"


def noisy(n=300, d=5, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sign(X @ np.arange(1, d + 1) + noise * d * rng.normal(size=n))


@pytest.mark.slow_without_jit
def test_the_sentence_names_both_bounds(ticking):
    X, y = noisy()
    result = rb.fewest_mistakes(X, y, time_limit=3.0, random_state=0, n_jobs=1)
    assert str(result) == (
        f"{result.mistakes} mistakes; no line makes fewer than {result.lower_bound} "
        f"(proof: {result.proof.size})"
    )
    assert 0 < result.lower_bound <= result.mistakes
    assert result.proof.check(X, y, again=True)
    assert result.proof.claim == f"at least {result.lower_bound} mistakes"


@pytest.mark.slow_without_jit
@given(its.labelled(max_rows=9, max_columns=4), st.booleans())
@settings(max_examples=n_cases(20))
def test_the_mistakes_are_exactly_those_of_the_weights(xy, intercept):
    X, y = xy
    result = rb.fewest_mistakes(X, y, time_limit=0.3, fit_intercept=intercept, random_state=0)
    tall = lecture.tall(X, 1.0 if intercept else None)
    wrong = lecture.exact_mistakes(result.weights, tall, y)
    assert result.wrong.tolist() == wrong
    assert result.lower_bound <= result.mistakes == len(wrong)
    if result.proof is not None:
        assert result.proof.check(X, y)


@given(its.separable())
@settings(max_examples=n_cases(20))
def test_separable_examples_cost_zero(planted):
    result = rb.fewest_mistakes(
        planted.X, planted.y, time_limit=1e-9, fit_intercept=planted.x0 is not None, random_state=0
    )
    assert result.mistakes == 0
    assert result.stop_reason == "no mistakes"


@pytest.mark.slow_without_jit
@given(its.labelled(), its.seeds)
@settings(max_examples=n_cases(20))
def test_the_search_is_never_worse_than_its_start(xy, seed):
    X, y = xy
    examples = Examples.from_arrays(X, y)
    start = np.random.default_rng(seed).integers(-3, 4, X.shape[1] + 1).astype(float)
    gap = Gap(examples, Search(0.05, rng=np.random.default_rng(seed)))
    gap.offer(start)
    for engine in (try_starts, sprint, descend):
        engine(gap)
    assert gap.mistakes <= Judge(examples).alone(start)
    assert gap.mistakes == Judge(examples).alone(gap.w)


def test_a_line_search_counts_the_mistakes_of_every_interval():
    rng = np.random.default_rng(1)
    for _ in range(50):
        s, g, costs = rng.normal(size=30), rng.normal(size=30), rng.integers(1, 4, 30) * 1.0
        line = new_line(30, 0, 64)
        line.s[:], line.g[:] = s, g
        f = costs[s <= 0].sum()
        a, cost, met = run_step(line, costs, 5.0, f, 1e-9, rng)
        assert met == (np.abs(s) <= 5 * np.abs(g)).sum()
        assert cost == costs[s + a * g <= 0].sum()
        ends = np.sort(np.concatenate(([-5.0, 5.0], (-s / g)[np.abs(s / g) < 5])))
        middles = (ends[1:] + ends[:-1]) / 2
        assert cost == min(costs[s + m * g <= 0].sum() for m in middles)


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
def test_large_data_improve_without_a_table_of_all_rows(kind, monkeypatch, ticking):
    monkeypatch.setattr("rosenblatt.algorithms.fewest.BOARD_ENTRIES", 256 * 7)
    X, y = noisy(5000, 6, noise=0.3)
    start = (X[:, 0] > 0) != (y > 0)
    X = {"dense": X, "sparse": sp.csr_array(X), "float32": X.astype(np.float32)}[kind]
    result = rb.fewest_mistakes(X, y, time_limit=2, random_state=0)
    assert result.mistakes < 0.6 * start.sum()
    monkeypatch.setattr("rosenblatt.algorithms.fewest.BOARD_ENTRIES", 1)
    wide = rb.fewest_mistakes(X, y, time_limit=2, random_state=0)
    assert wide.mistakes < 0.6 * start.sum()


@pytest.mark.slow_without_jit
def test_sample_weights_count_and_zero_excludes_a_row():
    X, y = noisy(60, 3)
    s = np.random.default_rng(0).integers(0, 4, 60)
    result = rb.fewest_mistakes(X, y, sample_weight=s, time_limit=0.5, random_state=0)
    assert result.mistakes == s[result.wrong].sum()
    assert (s[result.wrong] > 0).all()
    clf = rb.FewestMistakes(0.5, class_weight={-1.0: 1, 1.0: 5}, random_state=0).fit(X, y)
    wrong = clf.predict(X) != y
    assert clf.n_mistakes_ == (wrong & (y < 0)).sum() + 5 * (wrong & (y > 0)).sum()


@pytest.fixture
def no_callbacks():
    """Remove callbacks of the garbage collector: in Dask's, a Ctrl-C would be lost."""
    others = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks.extend(others)


@pytest.mark.slow_without_jit
def test_ctrl_c_returns_the_best_so_far(no_callbacks):
    X, y = noisy()
    rb.fewest_mistakes(X, y, time_limit=0.1)
    with ctrl_c_after(0.5):
        result = rb.fewest_mistakes(X, y, time_limit=1e6)
    assert result.stop_reason == "interrupted"
    assert result.mistakes == len(result.wrong)
    assert result.lower_bound == 0 or result.proof.check(X, y, again=True)
    clf = rb.FewestMistakes(1e6)
    with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.5):
        clf.fit(X, y)
    assert clf.n_mistakes_ == (clf.predict(X) != y).sum()


@pytest.mark.parametrize(
    ("name", "value"),
    [("time_limit", 0), ("n_jobs", "two")],
)
def test_wrong_parameters_are_refused(name, value):
    with refuses(ValueError, name, repr(value)):
        rb.fewest_mistakes(*noisy(20), **{name: value})
    with refuses(ValueError, name, repr(value)):
        rb.FewestMistakes(**{name: value}).fit(*noisy(20))


def published(data, name):
    """Load data as in the published results, with standardized features."""
    if name == "breast":
        lines = (data / "breast-cancer-wisconsin.data").read_text().split()
        table = np.array([line.split(",") for line in lines if "?" not in line], dtype=float)
        X, y = table[:, :-1], table[:, -1]
    elif name == "heart":
        X, y = np.zeros((270, 13)), np.zeros(270)
        for n, line in enumerate((data / "heart_scale").read_text().splitlines()):
            y[n], *cells = line.split()
            for cell in cells:
                j, v = cell.split(":")
                X[n, int(j) - 1] = float(v)
    else:
        table = np.loadtxt(data / "pima-indians-diabetes.csv", delimiter=",")
        X, y = table[:, :-1], table[:, -1]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(("name", "most"), [("breast", 10), ("heart", 25), ("pima", 148)])
def test_fewer_mistakes_than_published(data, name, most, ticking):
    X, y = published(data, name)
    result = rb.fewest_mistakes(X, y, time_limit=6, random_state=0, n_jobs=1)
    assert result.mistakes <= most
    assert result.proof.check(X, y)
    assert 0 < result.lower_bound <= result.mistakes
    assert not math.isinf(result.mistakes)


def with_duplicates(draw, labelled):
    """Draw rows of one or two columns, some of them repeated with any label."""
    X, y = draw(labelled)
    again = draw(st.lists(st.integers(0, len(X) - 1), max_size=3))
    answers = draw(st.lists(st.sampled_from([-1, 1]), min_size=len(again), max_size=len(again)))
    return np.vstack([X, X[again]]), np.append(y, answers).astype(int)


few_points = st.composite(with_duplicates)(its.labelled(max_rows=9, max_columns=2))


def facts_of(result):
    parts = () if result.proof is None else result.proof.conflicts
    bounds = (result.mistakes, result.lower_bound, result.optimal, result.stop_reason)
    return bounds, parts, result.weights.tolist()


@given(few_points, st.booleans(), its.seeds)
@settings(max_examples=n_cases(40))
def test_small_data_have_an_exact_optimum_however_slow_the_machine(xy, intercept, seed):
    X, y = xy
    given_ = {"fit_intercept": intercept, "random_state": seed}
    calm = rb.fewest_mistakes(X, y, time_limit=1e6, **given_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.monotonic", itertools.count(0.0, 1.0).__next__)
        hurried = rb.fewest_mistakes(X, y, time_limit=1e-9, **given_)
    assert facts_of(hurried) == facts_of(calm)
    fewest = brute_force(whole_rows(X, y, intercept), [1] * len(X))
    assert (hurried.mistakes, hurried.lower_bound, hurried.optimal) == (fewest, fewest, True)
    assert (hurried.proof is None) == (fewest == 0)
    count_cases("fewest mistakes, beside brute force")


def test_well_known_examples_are_solved_without_time(hurried):
    for X, y in (([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]), ([[1], [2], [3], [4]], "nyny")):
        clf = rb.FewestMistakes(time_limit=1e-9).fit(X, list(y))
        assert (clf.n_mistakes_, clf.lower_bound_, clf.optimal_) == (1, 1, True)
        assert clf.proof_.check(X, list(y))
        assert str(clf.result_) == "1 mistake; no line makes fewer (proof: 1 conflict)"


def test_lines_between_two_floats_do_not_depend_on_time(hurried):
    """In binary, (0.2, 0), (0.1, 0.3) and (0.3, -0.3) are almost on one line."""
    X = [[0.2, 0.3], [0.2, 0.0], [0.3, -0.2], [0.1, 0.3], [0.3, -0.3], [0.0, 0.0], [0.1, 0.3]]
    y, s = [-1, 1, 1, -1, -1, -1, 1], [3e-12, 3e-8, 0.08, 0.48, 1e-7, 3e-12, 3e-7]
    result = rb.fewest_mistakes(X, y, sample_weight=s, time_limit=1e-9, random_state=0)
    fewest = brute_force(whole_rows(X, y), [Fraction(v) for v in s])
    assert result.lower_bound == pytest.approx(float(fewest), rel=1e-15)
    assert result.stop_reason == ("optimal" if result.optimal else "floats")


@pytest.mark.slow_without_jit
def test_two_hundred_points_in_the_plane_have_an_exact_optimum(hurried):
    X, y = noisy(200, 2)
    assert rb.fewest_mistakes(X, y, time_limit=1e-9).optimal


def weighted_sets(count):
    """Draw weighted rows of one to three columns, half of the sets separable."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(4, 9)), int(rng.integers(1, 4))
        X = rng.integers(-4, 5, size=(n, d)).astype(float)
        y = np.where(X[:, 0] + 0.5 > 0, 1, -1) if seed % 2 else rng.choice([-1, 1], n)
        X, y = np.vstack([X, [[5.0] * d], [[-5.0] * d]]), np.append(y, [1, -1])
        yield seed, X, y, 10.0 ** -rng.uniform(0, 13, n + 2)


def test_separability_of_small_data_is_always_decided(hurried):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((190, 40)), rng.integers(0, 2, 190)
    s = rng.integers(0, 3, 190)
    result = rb.fewest_mistakes(X, y, sample_weight=s, time_limit=1e-9, random_state=0)
    assert result.lower_bound >= 1
    assert result.proof.check(X, y, s)
    assert all(s[list(part.rows)].min() > 0 for part in result.proof.conflicts)


@pytest.mark.slow_without_jit
def test_sample_weights_are_added_and_compared_exactly():
    for seed, X, y, s in weighted_sets(112):
        result = rb.fewest_mistakes(X, y, sample_weight=s, time_limit=1e-9, random_state=0)
        assert result.optimal, seed
        assert result.lower_bound == result.mistakes == math.fsum(s[result.wrong])
        count_cases("fewest mistakes, beside brute force")
        if seed % 2:
            assert (result.mistakes, len(result.wrong)) == (0, 0), seed
        elif X.shape[1] < 3:
            fewest = brute_force(whole_rows(X, y), [Fraction(v) for v in s])
            assert sum(Fraction(v) for v in s[result.wrong]) == fewest, seed


def test_sample_weights_of_any_size_are_supported():
    X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    y = [0, 1, 0, 1, 0, 1]
    s = [1e300, 1e-300, 1.0, 1e308, 5e-324, 1e308]
    result = rb.fewest_mistakes(X, y, sample_weight=s, random_state=0)
    assert (result.optimal, result.mistakes, result.wrong.tolist()) == (True, 1e-300, [1, 4])
    assert "no line makes fewer (proof: " in str(result)
    three = np.random.default_rng(0).normal(size=(60, 3))
    sizes = 10.0 ** np.linspace(-300, 300, 60)
    far = rb.fewest_mistakes(three, np.arange(60) % 2, sample_weight=sizes, time_limit=0.1)
    assert far.lower_bound <= far.mistakes == math.fsum(sizes[far.wrong])


@given(st.lists(its.unlike_weights | st.sampled_from([0.0, 5e-324, 1e308]), min_size=2))
def test_costs_are_exact_and_rounded_honestly(s):
    X, y = np.arange(len(s) + 2.0)[:, None], np.arange(len(s) + 2) % 2
    costs = Costs.of(Examples.from_arrays(X, y).weighted([*s, 1.0, 1.0]))
    for k in range(len(s) + 1):
        exact = sum(map(Fraction, s[:k]))
        total = costs.total(np.arange(k))
        assert total * Fraction(2) ** costs.exponent == exact
        below = costs.number_below(total)
        assert Fraction(below) <= exact
        if exact < Fraction(2) ** 1023:
            assert costs.number(total) == float(exact)
            assert exact < Fraction(math.nextafter(below, math.inf))


@pytest.mark.slow_without_jit
def test_a_long_search_on_few_rows_keeps_its_weights_finite():
    """With few sign changes, the search once looked farther until weights overflowed."""
    rows = np.array([[1.0, 0.5], [1.0, -0.5], [-1.0, 0.2]])
    board = Board(rows, np.ascontiguousarray(rows.T), np.ones(3))
    line, w, best = new_line(3, 2, 512), np.array([1.0, 0.0]), np.zeros(2)
    reaches, rng = np.full(4, 0.05), np.random.default_rng(0)
    for _ in range(10):
        run_anneal(board, line, w, best, (0.0, 0.3, 0.2, 20_000, 40), reaches, rng)
    assert np.isfinite(w).all()
    assert w.any()
