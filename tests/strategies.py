"""Data for property tests: integers unless stated otherwise, so that every sum is exact."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rosenblatt import algorithms

ORDERS = algorithms.ORDERS

orders = st.sampled_from(ORDERS)
zeros = st.sampled_from(["mistake", "negative", "positive"])
seeds = st.integers(0, 2**32 - 1)
powers_of_two = st.integers(-20, 20).map(lambda k: 2.0**k)
scales = st.integers(-480, 480).map(lambda k: 2.0**k)
unlike_weights = st.integers(0, 13).map(lambda k: 10.0**-k) | st.floats(1e-13, 1.0)
extreme_scales = (st.integers(500, 900) | st.integers(-900, -500)).map(lambda k: 2.0**k)


class Planted(NamedTuple):
    """Examples, an augmented w_f that classifies all correctly, and x0 (None without intercept)."""

    X: np.ndarray
    y: np.ndarray
    w_f: np.ndarray
    x0: float | None


def whole(low, high, shape):
    return arrays(np.float64, shape, elements=st.integers(low, high).map(float))


def rows(min_rows=2, max_rows=10, max_columns=4):
    """Tables of whole numbers, among them zero rows and constant columns."""
    shape = st.tuples(st.integers(min_rows, max_rows), st.integers(1, max_columns))
    return shape.flatmap(lambda s: whole(-9, 9, s))


@st.composite
def labelled(draw, **shape):
    """Any rows with any labels of two classes."""
    X = draw(rows(**shape))
    y = draw(arrays(np.int64, len(X), elements=st.sampled_from([-1, 1])))
    y[draw(st.permutations(range(len(X))))[:2]] = [-1, 1]
    return X, y


@st.composite
def separable(draw, fit_intercept=None):
    """Rows answered by a planted w_f, at least two, of both classes; margin ≥ 1/‖w_f‖."""
    if fit_intercept is None:
        fit_intercept = draw(st.booleans())
    X = draw(rows(min_rows=0))
    v = draw(whole(-3, 3, X.shape[1]).filter(np.any))
    w0 = float(draw(st.integers(-3, 3))) if fit_intercept else 0.0
    X = np.vstack([X, (abs(w0) + 1) * v, -(abs(w0) + 1) * v])  # one row of each class
    score = w0 + X @ v
    X, score = X[score != 0], score[score != 0]
    shuffled = draw(st.permutations(range(len(X))))
    w_f = np.concatenate(([w0], v)) if fit_intercept else v
    y = np.sign(score).astype(np.int64)
    return Planted(X[shuffled], y[shuffled], w_f, 1.0 if fit_intercept else None)


@st.composite
def contradictory(draw):
    """Examples in which one row has both labels, so that no line classifies all correctly."""
    X, y = draw(labelled())
    n = draw(st.integers(0, len(X) - 1))
    return np.vstack([X, X[n]]), np.append(y, -y[n])


@st.composite
def with_zero_rows(draw):
    """Separable examples without intercept, and rows of zeros, which w·x = 0 always."""
    X, y, _, _ = draw(separable(fit_intercept=False))
    answers = draw(st.lists(st.sampled_from([-1, 1]), min_size=1, max_size=3))
    return np.vstack([X, np.zeros((len(answers), X.shape[1]))]), np.append(y, answers)


@st.composite
def with_constant_column(draw):
    """Separable examples with a column that never changes."""
    X, y, w_f, x0 = draw(separable())
    c = float(draw(st.integers(-9, 9)))
    return Planted(np.column_stack([X, np.full(len(X), c)]), y, np.append(w_f, 0.0), x0)


@st.composite
def real_numbers(draw):
    """Rows of floats, with columns on scales from 1e-30 to 1e30, and labels of two classes."""
    X, y = draw(labelled())
    noise = arrays(np.float64, X.shape, elements=st.floats(-1, 1, width=32))
    scale = arrays(np.float64, X.shape[1], elements=st.integers(-30, 30).map(lambda k: 10.0**k))
    return (X + draw(noise)) * draw(scale), y


def with_margin(rng, n, d, margin):
    """n real rows in d dimensions, at least `margin` from a random plane (tall, as in ρ)."""
    w_f = rng.normal(size=d + 1)
    w_f /= np.linalg.norm(w_f)
    X = np.empty((0, d))
    while len(X) < n:
        more = rng.normal(size=(n, d))
        X = np.vstack([X, more[np.abs(w_f[0] + more @ w_f[1:]) >= margin]])[:n]
    return X, np.where(w_f[0] + X @ w_f[1:] > 0, 1, -1)
