"""Compare online perceptrons on a stream whose target reverses once.

It draws the share of mistakes along the stream. Run it as
`python examples/drift.py [picture.png]`; it needs matplotlib (pip install 'rosenblatt[plot]').
"""

import sys

import matplotlib
import numpy as np

import rosenblatt as rb

matplotlib.use("Agg")
import matplotlib.pyplot as plt

N, D, NOISE, WINDOW, TURN = 30_000, 10, 0.1, 500, 15_000
KINDS = {"last": "#999999", "average": "#d95f02", "pocket": "#1b6ca8"}
SAYS = {
    "last": "last weights",
    "average": "average of all weights",
    "pocket": f"pocket of the last window ({WINDOW} examples)",
}


def drifting(rng):
    """Return examples of a target, then of its opposite; one label in ten is flipped."""
    X = rng.standard_normal((N, D))
    target = rng.standard_normal(D)
    right = (X @ target > 0) ^ (np.arange(N) >= TURN)
    return X, right, right ^ (rng.random(N) < NOISE)


def mistakes(kind, X, right, y):
    """Return for each row whether the prediction before training differs from the true label."""
    model = rb.OnlinePerceptron(predict_with=kind, window=WINDOW, labels=(False, True))
    return model.predict_then_learn(X, y) != right


def draw(path):
    X, right, y = drifting(np.random.default_rng(3))
    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    for kind, colour in KINDS.items():
        wrong = mistakes(kind, X, right, y)
        share = np.convolve(wrong, np.full(WINDOW, 1 / WINDOW), mode="valid")
        axes.plot(np.arange(WINDOW, N + 1), 100 * share, color=colour, label=SAYS[kind])
    axes.axvline(TURN, color="black", linewidth=0.8, linestyle=":")
    axes.annotate(
        "the target turns", (TURN, 96), xytext=(-6, 0), textcoords="offset points", ha="right"
    )
    axes.set_xlabel("examples seen")
    axes.set_ylabel(f"mistakes about the target in the last {WINDOW}, %")
    axes.set_title(
        "After a turn the pocket recovers in a few windows; the average takes as long again",
        loc="left",
        fontsize=11,
    )
    axes.set_ylim(0, 102)
    axes.margins(x=0.01)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", frameon=False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "drift.png")
