"""Draw the animation of the README: `python docs/animation.py` writes docs/images/pla.gif.

`make screenshots` runs this too.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

import rosenblatt as rb

mpl.use("Agg")

PLACE = Path(__file__).parent / "images" / "pla.gif"


def main() -> None:
    """Draw PLA on forty points, one frame per update."""
    rng = np.random.default_rng(14)
    X = rng.uniform(-1, 1, (60, 2))
    score = X @ [1.0, 1.4] - 0.25
    X, score = X[np.abs(score) > 0.12][:40], score[np.abs(score) > 0.12][:40]
    clf = rb.Perceptron().fit(X, np.where(score > 0, "yes", "no"))
    PLACE.parent.mkdir(exist_ok=True)
    rb.TraceDisplay(clf.trace_).animate(PLACE, fps=1.25, dpi=80)
    size = PLACE.stat().st_size
    print(f"{PLACE}: {clf.n_updates_} updates, {size:,} bytes")


if __name__ == "__main__":
    main()
