"""Forest plot of a separation: intervals, arrows that begin at bounds, and names."""

import numpy as np
import pytest

import rosenblatt as rb

pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")


@pytest.fixture
def separated():
    rng = np.random.default_rng(0)
    X = np.column_stack((np.round(rng.normal(size=60), 2), np.arange(60) < 12))
    return rb.separation(X, (rng.random(60) < 0.5) & (np.arange(60) >= 12))


def test_an_infinite_estimate_is_an_arrow_from_its_bound(separated):
    display = rb.SeparationDisplay.from_separation(separated)
    (arrow,) = [text for text in display.ax_.texts if text.arrow_patch is not None]
    assert arrow.xyann == (separated.bounds["x2"], 2)  # where it begins
    assert arrow.xy[0] == display.ax_.get_xlim()[0]
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == ["(intercept)", "x1", "x2"]


def test_intercepts_can_be_left_out(separated):
    display = rb.SeparationDisplay.from_separation(separated, intercept=False)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["x1", "x2"]


def test_among_many_coefficients_the_infinite_ones_are_shown():
    estimates = {f"x{j}": 0.1 * j for j in range(100)} | {"last": -np.inf}
    errors = dict.fromkeys(estimates, 1.0)
    display = rb.SeparationDisplay(estimates, errors, {"last": -1.0}).plot()
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert len(names) == 40
    assert names[-1] == "last"


def test_the_plot_is_drawn_on_the_given_axes(separated):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert rb.SeparationDisplay.from_separation(separated, ax=ax).ax_ is ax
