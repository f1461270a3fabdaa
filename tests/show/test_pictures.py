"""Displays look as they did: small pictures compared with tolerance, whatever the fonts.

`ROSENBLATT_DRAW_AGAIN=1 pytest tests/show/test_pictures.py` draws the kept pictures anew; look
at each one before it is committed.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from clouds import cloud, searched
from facts import warns

import rosenblatt as rb

pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")

from PIL import Image

KEPT = Path(__file__).parent / "pictures"
SMALL = 40  # squares wide: lines and colours are left, letters are not
FAR = 10.0  # of 255, root mean square: Matplotlib 3.9 is up to 7 from 3.11, another line 17


def boundary():
    X, y = cloud()
    return rb.BoundaryDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y)


def mistakes():
    X, y = cloud(noise=6)
    clf = rb.PocketPerceptron(max_updates=60, random_state=0).fit(X, y)
    return rb.BoundaryDisplay.from_estimator(clf, X, y)


def projection():
    X, y = cloud(n=80, d=6)
    return rb.BoundaryDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y)


def one_feature():
    X, y = cloud(d=1)
    return rb.BoundaryDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y)


def trace():
    X, y = cloud()
    return rb.TraceDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y, t=[1, 2, 3])


def guarantee():
    X, y = cloud()
    return rb.GuaranteeDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y)


def pocket():
    X, y = cloud(noise=6)
    clf = rb.PocketPerceptron(max_updates=60, random_state=0).fit(X, y)
    return rb.PocketDisplay.from_estimator(clf, X, y)


def optimum():
    return rb.OptimumDisplay.from_result(searched())


def experiment():
    return rb.ExperimentDisplay.from_experiment(rb.experiment(15, 300, random_state=0))


def separation():
    estimates = {"age": 0.5, "dose": np.inf, "ward": -np.inf, "town": np.nan}
    bounds = {"dose": 1.0, "ward": -0.5}
    return rb.SeparationDisplay(estimates, {"age": 0.4}, bounds).plot()


def small(display, path):
    """Return the inside of all axes as the mean colors of small squares."""
    figure = display.figure_
    figure.set_dpi(80)
    figure.canvas.draw()
    figure.savefig(path, dpi=80)
    strip = Image.new("RGB", (SMALL * len(figure.axes), SMALL))
    with Image.open(path) as picture:
        for k, ax in enumerate(figure.axes):
            # Letters, and so the places of axes, differ between versions of Matplotlib.
            x0, y0, x1, y1 = ax.get_window_extent().extents
            inside = picture.crop(
                (x0 + 1, picture.height - y1 + 1, x1 - 1, picture.height - y0 - 1)
            )
            square = inside.convert("RGB").resize((SMALL, SMALL), Image.Resampling.BOX)
            strip.paste(square, (SMALL * k, 0))
    return strip


def distance(one, other):
    if one.size != other.size:
        return np.inf
    difference = np.asarray(one, dtype=float) - np.asarray(other, dtype=float)
    return float(np.sqrt((difference**2).mean()))


PICTURES = [
    boundary,
    mistakes,
    projection,
    one_feature,
    trace,
    guarantee,
    pocket,
    optimum,
    experiment,
    separation,
]


@pytest.mark.parametrize("draw", PICTURES, ids=lambda draw: draw.__name__)
def test_a_display_matches_its_stored_picture(draw, tmp_path):
    kept = KEPT / f"{draw.__name__}.png"
    got = small(draw(), tmp_path / "drawn.png")
    if os.environ.get("ROSENBLATT_DRAW_AGAIN"):
        got.save(kept, optimize=True)
    with Image.open(kept) as before:
        far = distance(got, before.convert("RGB"))
    assert far < FAR, f"look at {tmp_path / 'drawn.png'}; if it is right, draw the kept one anew"


def test_the_comparison_detects_another_line(tmp_path):
    X, y = cloud()
    turned = rb.Perceptron(max_updates=1)
    with warns(UserWarning, "24 mistakes"):
        turned.fit(X, y)
    got = small(rb.BoundaryDisplay.from_estimator(turned, X, y), tmp_path / "drawn.png")
    with Image.open(KEPT / "boundary.png") as before:
        assert distance(got, before.convert("RGB")) > FAR
