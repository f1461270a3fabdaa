"""Hostile data: numbers at the limits of floats, and labels that depend on the last bit.

`animal(seed)` is one set, the same for the same seed; `KINDS` names what is kept.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

TINY, HUGE = 5e-324, 1.7976931348623157e308


class Animal(NamedTuple):
    """Rows, labels, and x0 (0.0 without intercept)."""

    X: np.ndarray
    y: np.ndarray
    x0: float
    kind: str


def animal(seed):
    """Draw two to eight rows of one to four columns, of a kind chosen by the seed."""
    rng = np.random.default_rng(seed)
    kind = list(KINDS)[seed % len(KINDS)]
    n, d = int(rng.integers(2, 9)), int(rng.integers(1, 5))
    X = np.clip(np.atleast_2d(KINDS[kind](rng, n, d)), -HUGE, HUGE)
    x0 = float(rng.choice([0.0, 1.0, 1.0, *X0.get(kind, ())]))
    return Animal(X, answers(rng, X, x0), x0, kind)


def answers(rng, X, x0):
    """Label rows by a random line, exactly; sometimes one label is wrong."""
    w = rng.integers(-9, 10, size=X.shape[1] + 1).tolist()
    if rng.random() < 0.5:  # near to where the data are
        w[0] = 0
    s = [score(w, [x0, *x]) for x in X.tolist()]
    middle = sorted(s)[len(s) // 2] if rng.random() < 0.5 and x0 else 0
    y = np.array([1 if v >= middle else -1 for v in s])
    if rng.random() < 0.25:
        y[rng.integers(len(y))] *= -1
    y[:2] = y[:2] if len(set(y.tolist())) == 2 else (1, -1)
    return y


def score(w, x):
    """Compute w·x as a fraction."""
    return sum((Fraction(a) * Fraction(b) for a, b in zip(w, x, strict=True)), Fraction(0))


def separates(w, animal):
    """Return whether y·(w·x) > 0 on every row, in fractions."""
    return mistakes(w, animal) == 0


def mistakes(w, animal):
    """Count the rows with y·(w·x) ≤ 0, in fractions."""
    w = [0.0, *w] if not animal.x0 else w
    X = animal.X if isinstance(animal.X, np.ndarray) else animal.X.toarray()
    rows = zip(X.tolist(), animal.y.tolist(), strict=True)
    return sum(y * score(w, [animal.x0, *x]) <= 0 for x, y in rows)


def _subnormal(rng, n, d):
    return rng.integers(-12, 13, (n, d)) * TINY


def _near_subnormal(rng, n, d):
    return rng.standard_normal((n, d)) * 10.0 ** rng.integers(-323, -306)


def _subnormal_beside_plain(rng, n, d):
    X = rng.standard_normal((n, d))
    some = rng.random((n, d)) < 0.5
    return np.where(some, rng.integers(-3, 4, (n, d)) * TINY, X)


def _huge(rng, n, d):
    return rng.choice([-1.5e308, 1.5e308, HUGE, -HUGE, 1e307, 0.0], (n, d))


def _tiny_and_huge(rng, n, d):
    return rng.standard_normal((n, d)) * rng.choice([1e-300, 1.0, 1e300], (n, d))


def _wide_columns(rng, n, d):
    return rng.standard_normal((n, d)) * 10.0 ** rng.integers(-160, 160, d)


def _wide_rows(rng, n, d):
    return rng.standard_normal((n, d)) * 10.0 ** rng.integers(-160, 160, (n, 1))


def _ulps_apart(rng, n, d):
    base = rng.choice([1.0, 0.1, 1e-300, 1e300, 3.0])
    return base * (1 + rng.integers(-3, 4, (n, d)) * 2.0**-52)


def _nearly_parallel(rng, n, d):
    base = rng.standard_normal(d)
    return base * rng.uniform(0.5, 2, (n, 1)) * (1 + rng.integers(-2, 3, (n, d)) * 2.0**-50)


def _at_2_53(rng, n, d):
    return 2.0**53 + rng.integers(-4, 5, (n, d)) * 2.0


def _twice(rng, n, d):
    X = np.round(rng.standard_normal((n, d)), 1)
    return X[rng.integers(0, max(1, n // 2), n)]


def _far_from_the_origin(rng, n, d):
    return 1e8 + rng.integers(-5, 6, (n, d)) * 2.0**-26


def _whole(rng, n, d):
    return rng.integers(-2, 3, (n, d)).astype(float)


KINDS = {
    "subnormal": _subnormal,
    "near subnormal": _near_subnormal,
    "subnormal beside plain": _subnormal_beside_plain,
    "huge": _huge,
    "tiny and huge": _tiny_and_huge,
    "wide columns": _wide_columns,
    "wide rows": _wide_rows,
    "ulps apart": _ulps_apart,
    "nearly parallel": _nearly_parallel,
    "at 2^53": _at_2_53,
    "rows twice": _twice,
    "far from the origin": _far_from_the_origin,
    "whole": _whole,
}
X0 = {  # besides none and 1
    "subnormal": (TINY, 1e-310),
    "near subnormal": (TINY, 1e155),
    "huge": (1e155, HUGE, -1.5e308),
    "tiny and huge": (1e-300, 1e300, 1e155),
    "wide columns": (1e155, 1e-155),
    "ulps apart": (1 + 2.0**-52, -1.0),
}


def near_one(w):
    """Scale a vector to a largest entry near 1."""
    return np.ldexp(w, -int(np.frexp(np.abs(w).max())[1]))
