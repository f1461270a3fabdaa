"""The enumeration of all cells finds the optimum, even with many ties."""

import itertools
import signal
from fractions import Fraction

import numpy as np
import pytest
from brute_force import fewest_by_rays

from rosenblatt.algorithms import cells
from rosenblatt.algorithms.cells import cells_bounds, cells_optimum, few_cells, none_cheaper
from rosenblatt.algorithms.faces import Directions, fewest
from rosenblatt.algorithms.pocket import Judge
from rosenblatt.examples import Costs, Examples


@pytest.fixture
def all_by_floats(monkeypatch):
    """Enumerate few cells in the same way as many."""
    monkeypatch.setattr(cells, "FEW_FACES", 0)


def small_set(seed):
    """Draw a few points in one to four dimensions, with ties and contradictions."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 8)), int(rng.integers(1, 5))
    X = rng.integers(-2, 3, size=(n, d)) / rng.choice([1, 3, 10])
    if rng.random() < 0.2:
        X = rng.standard_normal((n, d))
    X = np.vstack([X, X[rng.integers(n, size=2)]]) * 10.0 ** rng.integers(-6, 7, size=d)
    y = rng.choice([-1, 1], size=len(X))
    y[:2] = [-1, 1]
    examples = Examples.from_arrays(X, y, x0=1.0 if rng.random() < 0.7 else 0.0)
    if rng.random() < 0.5:
        return examples
    return examples.weighted(rng.integers(1, 4, size=len(X)) * rng.choice([0.5, 1.0, 1e30]))


def signed_rows(examples):
    """Return augmented rows times their labels, in fractions."""
    tall = [
        [Fraction(examples.x0)] * bool(examples.x0) + [Fraction(v) for v in x]
        for x in examples.X.tolist()
    ]
    return [tuple(int(y) * v for v in x) for x, y in zip(tall, examples.y, strict=True)]


def cost_of(examples, w):
    """Compute the cost of the mistakes of exact weights, w0 first."""
    w = w if examples.x0 else w[1:]
    scores = [sum(a * b for a, b in zip(w, z, strict=True)) for z in signed_rows(examples)]
    return sum(int(c) for c, s in zip(Costs.of(examples).each, scores, strict=True) if s <= 0)


def agrees(seed):
    examples = small_set(seed)
    costs = [int(c) for c in Costs.of(examples).each]
    least = fewest_by_rays(signed_rows(examples), costs)
    optimum = cells_optimum(examples, np.zeros(examples.d + 1))
    assert optimum.cost == least, seed
    assert cost_of(examples, optimum.exact or [Fraction(0)] * (examples.d + 1)) == least, seed
    assert cells_optimum(examples, optimum.w).cost == least, seed


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("seeds", np.array_split(np.arange(400), 8), ids=lambda s: f"from {s[0]}")
def test_the_optimum_matches_brute_force(seeds):
    for seed in seeds:
        agrees(seed)


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(
    "seeds", np.array_split(np.arange(400, 700), 6), ids=lambda s: f"from {s[0]}"
)
def test_the_optimum_matches_brute_force_with_floating_point_pruning(seeds, all_by_floats):
    for seed in seeds:
        agrees(seed)


def noisy(seed, n, d, kind):
    """Draw overlapping points of two labels, on a grid or anywhere."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if kind != "anywhere":
        X = rng.integers(0, 5, size=(n, d)) / (1 if kind == "grid" else 10)
    y = np.where(X[:, 0] - X[:, 0].mean() + X.std() * rng.standard_normal(n) > 0, 1, -1)
    return Examples.from_arrays(X, y)


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("kind", ["grid", "tenths", "anywhere"])
@pytest.mark.parametrize(("n", "d"), [(60, 2), (25, 3), (14, 4)])
def test_all_faces_in_integer_arithmetic_give_the_same_optimum(n, d, kind):
    for seed in range(3):
        examples = noisy(seed, n, d, kind)
        directions = Directions(examples)
        found = fewest(directions.arrangement, examples.n + 1)
        optimum = cells_optimum(examples, np.zeros(d + 1), threads=2)
        assert optimum.cost == found[0] + directions.always


@pytest.mark.slow_without_jit
def test_good_initial_weights_do_not_change_the_optimum():
    for seed, (n, d) in itertools.product(range(2), [(300, 2), (80, 3), (60, 4)]):
        examples = noisy(seed, n, d, "anywhere")
        optimum = cells_optimum(examples, np.zeros(d + 1), threads=2)
        assert Judge(examples).alone(optimum.w) == optimum.mistakes
        again = cells_optimum(examples, optimum.w)
        assert (again.cost, again.exact) == (optimum.cost, [])
        assert again.w is optimum.w


@pytest.mark.slow_without_jit
def test_a_degenerate_grid_is_enumerated():
    examples = noisy(0, 200, 3, "grid")
    optimum = cells_optimum(examples, np.zeros(4), threads=2)
    repeated = Examples.from_arrays(np.repeat(examples.X, 2, axis=0), np.repeat(examples.y, 2))
    assert cells_optimum(repeated, optimum.w).cost == 2 * optimum.cost


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e12])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_shifted_and_rescaled_columns_change_nothing(offset, scale):
    rng = np.random.default_rng(5)
    grid = rng.integers(0, 5, size=(40, 2))
    y = np.where(grid.sum(axis=1) + rng.normal(scale=2, size=40) > 4, 1, -1)
    plain = Examples.from_arrays(grid.astype(float), y)
    moved = Examples.from_arrays(grid * np.array([2.0**20 * scale, 1.0]) + offset, y)
    expected = cells_optimum(plain, np.zeros(3)).mistakes
    assert cells_optimum(moved, np.zeros(3)).mistakes in (
        (expected,) if scale * 2**20 % 1 == 0 else range(expected + 1)
    )


@pytest.mark.slow_without_jit
def test_numbers_of_any_size_are_used_exactly(all_by_floats):
    sizes = [0.0, 1.0, -1.0, 5e-324, 1e-300, -1e300, 1.7e308, -1e16, 1e16 + 2, 1e-5]
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.choice(sizes, (7, rng.integers(1, 4))), rng.permutation([1, 1, 1, -1, -1, -1, 1])
        examples = Examples.from_arrays(X, y)
        least = fewest_by_rays(signed_rows(examples), [1] * 7)
        assert cells_optimum(examples, np.zeros(X.shape[1] + 1)).cost == least, seed


def test_linearly_dependent_columns_change_nothing():
    examples = noisy(0, 20, 2, "tenths")
    X = np.column_stack([examples.X, np.ones(20), examples.X[:, 0], np.zeros(20)])
    wide = Examples.from_arrays(X, examples.y)
    assert cells_optimum(wide, np.zeros(6)).cost == cells_optimum(examples, np.zeros(3)).cost


def test_only_contradictory_rows_leave_nothing_to_enumerate():
    X = [[1.0, 2.0], [1.0, 2.0], [0.0, 3.0], [0.0, 3.0]]
    optimum = cells_optimum(Examples.from_arrays(X, [0, 1, 0, 1]), np.zeros(3))
    assert optimum.mistakes == 2
    nothing = Examples.from_arrays(np.zeros((3, 2)), [0, 1, 1], x0=0.0)
    assert cells_optimum(nothing, np.zeros(3)).mistakes == 3


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("scale", [1.0, 0.1, 1e25])
def test_sample_weights_of_any_size_are_the_costs_of_mistakes(scale, all_by_floats):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        spread = 10 * (seed % 2)
        s = scale * rng.integers(1, 4, 40) * 2.0 ** rng.integers(-spread, spread + 1, 40)
        examples = noisy(seed, 40, 2, "tenths").weighted(s)
        directions = Directions(examples)
        least = fewest(directions.arrangement, 2**200)[0] + directions.always
        assert cells_optimum(examples, np.zeros(3)).cost == least
        assert none_cheaper(examples, least)
        assert none_cheaper(examples, least + 1) is False


@pytest.mark.slow_without_jit
def test_the_row_with_the_least_weight_is_misclassified(all_by_floats):
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = np.where(X[:, 0] > 0.1, 1, -1)
    lightest = int(X[:, 0].argmax())
    y[lightest] = -1
    s = np.full(60, 2.0**53)
    s[lightest] = 1.0
    examples = Examples.from_arrays(X, y).weighted(s)
    assert none_cheaper(examples, 1)
    assert none_cheaper(examples, 2) is False


def test_a_stopped_enumeration_returns_nothing():
    assert cells_optimum(noisy(0, 100, 3, "anywhere"), np.zeros(4), lambda: True) is None


def test_an_interrupt_ends_the_threads():
    def interrupt():
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        cells_optimum(noisy(0, 100, 3, "anywhere"), np.zeros(4), interrupt, threads=2)


def test_low_dimensions_and_moderately_many_rows_have_few_cells():
    assert few_cells(noisy(0, 300, 3, "anywhere"))
    assert few_cells(noisy(0, 500, 4, "anywhere"))
    assert not few_cells(noisy(0, 20, 7, "anywhere"))


@pytest.mark.slow_without_jit
def test_bounds_rise_to_the_optimum_and_never_exceed_it(all_by_floats):
    for seed, (n, d) in itertools.product(range(2), [(80, 2), (50, 3), (40, 4), (30, 5)]):
        examples = noisy(seed, n, d, "anywhere").weighted(1 + np.arange(n) % 3)
        least = cells_optimum(examples, np.zeros(d + 1)).cost
        assert none_cheaper(examples, least, threads=2)
        assert none_cheaper(examples, least + 1, threads=2) is False
        bounds = list(cells_bounds(examples, least, lambda: False))
        assert bounds == sorted(bounds)
        assert bounds[-1] == int(Fraction(cells.SHARES[-1]) * least)
        beyond = list(cells_bounds(examples, 2 * least, lambda: False))
        assert all(bound <= least for bound in beyond)
    assert none_cheaper(examples, least, lambda: True) is None


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(("n", "d"), [(40, 2), (30, 3)])
def test_few_faces_give_the_same_optimum_without_cuts(n, d, monkeypatch):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    examples = Examples.from_arrays(X, X.sum(axis=1) + rng.normal(size=n) > 0)
    turned = cells_optimum(examples, np.zeros(d + 1))
    monkeypatch.setattr(cells, "FEW_CROSSINGS", 0)
    cut = cells_optimum(examples, np.zeros(d + 1))
    assert turned.cost == cut.cost
    assert turned.exact == cut.exact
