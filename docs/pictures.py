"""Draw the pictures of the manual with the library itself: `python docs/pictures.py`.

`make docs` runs this first. Pictures of the page come from `make screenshots`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import rosenblatt as rb

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
INK, BLUE, ORANGE, GREY = "#222222", "#1b6ca8", "#c05a00", "#8a8a8a"


def separable() -> tuple[Any, Any]:
    """Return the thirty points of the lecture pages, on both sides of 2a + 3b = 0.4."""
    X = np.random.default_rng(7).uniform(-1, 1, (30, 2))
    return X, np.where(X @ [2, 3] > 0.4, 1, -1)


def noisy() -> tuple[Any, Any]:
    """Return the 200 points of the page on the pocket, about one label in ten flipped."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2))
    y = np.where(X @ [1, -2] + 0.5 > 0, 1, -1)
    y[rng.random(200) < 0.1] *= -1
    return X, y


def hypothesis() -> Any:
    X, y = separable()
    return rb.BoundaryDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y).figure_


def trace() -> Any:
    X, y = separable()
    return rb.TraceDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y).figure_


def guarantee() -> Any:
    X, y = separable()
    return rb.GuaranteeDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y).figure_


def pocket() -> Any:
    X, y = noisy()
    clf = rb.PocketPerceptron(max_updates=500, random_state=0).fit(X, y)
    return rb.PocketDisplay.from_estimator(clf, X, y).figure_


def proof() -> Any:
    """Draw signed examples without x0, so that they lie in the plane, and their hulls."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    sets = {
        "separable: the nearest point of the hull is w": (
            [[2.0, 0.6], [1.2, 2.0], [-1.4, 1.0], [-2.2, -1.8]],
            [1, 1, 1, -1],
        ),
        "inseparable: the hull contains the origin": (
            [[2.0, 0.4], [-0.4, 1.8], [1.6, 1.8], [1.3, 0.2]],
            [1, 1, -1, -1],
        ),
    }
    for ax, (title, (X, y)) in zip(axes, sets.items(), strict=True):
        draw_hull(ax, np.array(X), np.array(y))
        ax.set_title(title, loc="left", fontsize=10, color=INK)
    return figure


def draw_hull(ax: Any, X: Any, y: Any) -> None:
    from scipy.spatial import ConvexHull

    found = rb.separability(X, y, fit_intercept=False)
    Z = y[:, None] * X
    corners = Z[ConvexHull(Z).vertices]
    ax.fill(*corners.T, color=BLUE, alpha=0.15, linewidth=0)
    ax.plot(*np.vstack((corners, corners[:1])).T, color=BLUE, linewidth=1)
    for sign, marker in ((1, "o"), (-1, "X")):
        ax.scatter(*Z[y == sign].T, marker=marker, s=60, color=BLUE if sign > 0 else ORANGE)
    ax.plot(0, 0, "+", color=INK, markersize=12)
    ax.annotate("0", (0, 0), xytext=(-12, -12), textcoords="offset points", color=INK)
    if found:
        nearest = found.weights * found.margin
        ax.annotate("", nearest, (0, 0), arrowprops={"arrowstyle": "-|>", "color": INK})
        ax.annotate(
            f"ρ = {found.margin:.2f}", nearest / 2, xytext=(8, -4), textcoords="offset points"
        )
    else:
        part = found.conflicts[0]
        share = np.array(part.multipliers) / sum(part.multipliers)
        for row, part_of in zip(part.rows, share, strict=True):
            ax.plot(*np.vstack(((0, 0), Z[row])).T, color=GREY, linewidth=1, linestyle=":")
            ax.annotate(
                f"λ = {part_of:.2f}", Z[row], xytext=(8, 6), textcoords="offset points", fontsize=9
            )
    ax.set(aspect="equal", xlim=(-2.7, 2.9), ylim=(-2.2, 2.4))
    ax.set_axis_off()


def fewest() -> Any:
    """Draw the best line and the proved bound of noisy examples until they meet."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 7))
    y = np.where(X.sum(axis=1) > -0.3, 1, -1)
    y[rng.random(100) < 0.15] *= -1
    return rb.OptimumDisplay.from_result(rb.fewest_mistakes(X, y, random_state=0)).figure_


def drift() -> None:
    sys.path.insert(0, str(HERE.parent / "examples"))
    import drift as example

    example.draw(HERE / "images" / "drift.png")


def run() -> None:
    """Save the run of the lecture pages as a report that plays it."""
    X, y = separable()
    rb.report(rb.Perceptron().fit(X, y), X, y).save(HERE / "images" / "run.html")


PICTURES: dict[str, Callable[[], Any]] = {
    "hypothesis.svg": hypothesis,
    "trace.svg": trace,
    "guarantee.svg": guarantee,
    "pocket.svg": pocket,
    "proof.svg": proof,
    "fewest.svg": fewest,
    "drift.png": drift,
    "run.html": run,
}


def main() -> None:
    (HERE / "images").mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        figure = draw()
        if figure is not None:
            figure.savefig(HERE / "images" / name, bbox_inches="tight", dpi=150)
        plt.close("all")


if __name__ == "__main__":
    main()
