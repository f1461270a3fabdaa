"""Time limits: seconds that a call takes, compared with twice its limit plus half a second."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import rosenblatt as rb
from bench.line import Line
from bench.measure import figure
from rosenblatt.clock import now

# Function that is timed, rows, columns, labels, and the time limit in seconds.
SHAPES = {
    "limits.learn-3000x400": (rb.learn, 3_000, 400, 2, 1.0),
    "limits.learn-3000x600": (rb.learn, 3_000, 600, 2, 3.0),
    "limits.learn-200000x50": (rb.learn, 200_000, 50, 2, 1.0),
    "limits.learn-labels-2000x200": (rb.learn, 2_000, 200, 3, 1.0),
    "limits.learn-labels-200000x50": (rb.learn, 200_000, 50, 3, 1.0),
    "limits.fewest-3000x400": (rb.fewest_mistakes, 3_000, 400, 2, 1.0),
}


def overrun(quick: bool) -> Iterator[Line]:
    for name, (call, n, d, labels, limit) in SHAPES.items():
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n // 10 if quick else n, d))
        y = rng.integers(0, labels, size=len(X))
        _seconds(call, X, y, limit)  # the first call compiles and loads
        seconds = [_seconds(call, X, y, limit) for _ in range(1 if quick else 3)]
        shares = tuple(one / (2 * limit + 0.5) for one in seconds)
        yield figure(name, max(shares), shares, f"limit {limit:g} s")


def _seconds(call: Any, X: Any, y: Any, limit: float) -> float:
    begun = now()
    call(X, y, time_limit=limit)
    return now() - begun


WORKS = {overrun: ("limits.",)}
