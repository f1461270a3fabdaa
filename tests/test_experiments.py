"""Exercise 1.4: random targets, corrections, and how far g is from f."""

import numpy as np
import pytest
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt.experiments import draw_target, measure_disagreement


@given(st.integers(0, 10_000), st.sampled_from([1, 2]))
def test_the_exact_disagreement_matches_a_fine_grid(seed, dim):
    rng = np.random.default_rng(seed)
    f, g = draw_target(dim, rng), draw_target(dim, rng)
    ticks = (np.arange(400) + 0.5) / 200 - 1
    grid = np.stack(np.meshgrid(*[ticks] * dim), axis=-1).reshape(-1, dim)
    measured = np.mean((grid @ f[1:] + f[0] > 0) != (grid @ g[1:] + g[0] > 0))
    assert measure_disagreement(f, g, rng) == pytest.approx(measured, abs=0.01)


@given(st.integers(0, 10_000), st.integers(1, 5))
def test_a_target_agrees_with_itself_and_never_with_its_opposite(seed, dim):
    rng = np.random.default_rng(seed)
    f = draw_target(dim, rng)
    assert measure_disagreement(f, 3 * f, rng) == pytest.approx(0, abs=1e-12)
    assert measure_disagreement(f, -f, rng) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("order", ["cycle", "random-cycle", "shuffle", "first", "random"])
def test_without_noise_every_run_halts(order):
    result = rb.experiment(20, 30, order=order, random_state=0)
    assert result.separated.all()
    assert (result.updates >= 1).all()
    assert ((result.disagreement >= 0) & (result.disagreement <= 1)).all()
    assert result.target.shape == result.g.shape == (3,)


@pytest.mark.slow_without_jit
def test_with_noise_a_run_may_exhaust_its_budget():
    result = rb.experiment(100, 5, noise=0.2, random_state=0)
    assert not result.separated.all()


def test_the_same_seed_gives_the_same_runs():
    one, two = (rb.experiment(15, 10, dim=3, random_state=7) for _ in range(2))
    assert one.updates.tolist() == two.updates.tolist()
    assert one.disagreement.tolist() == two.disagreement.tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_examples", 0), ("runs", 1.5), ("dim", 0), ("order", "spiral"), ("noise", 2)],
)
def test_invalid_arguments_are_refused_by_name(name, value):
    with refuses(ValueError, name, repr(value)):
        rb.experiment(**{"n_examples": 5, "runs": 2, name: value})
