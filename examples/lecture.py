"""Draw the pictures of the lecture from random points.

Run it as `python examples/lecture.py [FOLDER]`; it needs matplotlib (the extra `plot`). It writes
what the four steps of the lecture need: the hypothesis, the updates one by one and as an
animation, the guarantee, and the pocket on noisy labels. For the live page: `rosenblatt watch`.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

import rosenblatt as rb

mpl.use("Agg")


def points(noise=0.0, n=40):
    """Return points on both sides of a line, with a gap between; some labels are flipped."""
    rng = np.random.default_rng(6)
    X = rng.uniform(-1, 1, (n, 2))
    score = X @ [1.0, -1.5] - 0.1
    X, score = X[np.abs(score) > 0.15], score[np.abs(score) > 0.15]
    return X, np.where((score > 0) ^ (rng.random(len(X)) < noise), "yes", "no")


def main(folder="lecture"):
    place = Path(folder)
    place.mkdir(exist_ok=True)
    X, y = points()
    pla = rb.Perceptron().fit(X, y)
    trace = rb.TraceDisplay.from_estimator(pla, X, y)
    rb.BoundaryDisplay.from_estimator(pla, X, y).figure_.savefig(place / "1-hypothesis.png")
    trace.figure_.savefig(place / "2-updates.png")
    trace.animate(place / "2-updates.gif")
    rb.GuaranteeDisplay.from_estimator(pla, X, y).figure_.savefig(place / "3-guarantee.png")
    X, y = points(noise=0.15, n=100)
    pocket = rb.PocketPerceptron(max_updates=300, random_state=0).fit(X, y)
    rb.PocketDisplay.from_estimator(pocket, X, y).figure_.savefig(place / "4-pocket.png")
    for file in sorted(place.iterdir()):
        print(file)


if __name__ == "__main__":
    main(*sys.argv[1:2])
