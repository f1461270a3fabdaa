"""Kernels that compute all scores, and mark those with a sign that rounding could change."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from rosenblatt.engine import REORDERING, Kernel, bind_by_format, helpers, is_sparse, one_pass
from rosenblatt.rowformats import Sparse, ahead, label_weights, score, score_all

# Whether a row is classified correctly; UNDECIDED if this takes exact arithmetic.
RIGHT, WRONG, UNDECIDED = range(3)
# Largest ‖x‖² in a stream; longer rows raise an error, so that no sum over a stream overflows.
LONGEST_SQUARED = 1e200


def scores(D, w, s):
    """Compute s[n] = w·x for every row n."""
    for n in range(len(s)):
        s[n] = score(D, n, w)


def scores_joint(D, w, S):
    """Compute S[n, k], the score of row n for label k, for all rows and labels."""
    for n in range(len(S)):
        score_all(D, n, w)
        for k in range(D.K):
            S[n, k] = D.scores[k]


def look(D, w, y, zero, share, least, seen):
    """For two labels, mark rows in `seen` as RIGHT, WRONG or, if rounding could matter, UNDECIDED.

    A row is UNDECIDED if its squared score is at most share²·‖w‖²·‖x‖² + least, because rounding
    errors could then decide its sign.
    """
    size = squared_length(w)
    # The scores of w = 0 are exactly 0, so none is undecided unless it is NaN.
    least, zero = (least, 0.0) if size > 0 else (-1.0, float(zero))
    for n in range(len(y)):
        s, q = measure(D, n, w)
        # No branches: processors cannot predict which row is wrong, and a wrong guess costs time.
        sure = s * s > share * share * size * q + least
        seen[n] = sure * ((s + zero) * y[n] <= 0) + (1 - sure) * UNDECIDED


def look_joint(D, w, y, zero, share, least, seen):
    """For K > 2 labels, mark rows in `seen` as RIGHT, WRONG or, if rounding matters, UNDECIDED."""
    size = 0.0
    for k in range(D.K):
        size = max(size, squared_length(label_weights(D, w, k)))
    for n in range(len(seen)):
        s, q = ahead(D, n, w), measure(D.rows, n, label_weights(D, w, 0))[1]
        sure = s * s > 4 * share * share * size * q + least
        seen[n] = sure * (s <= 0) + (1 - sure) * UNDECIDED


def measure_dense(D, n, w):
    """Return w·x and ‖x‖² of dense row n, x0 included."""
    x = D.X[n]
    s, q = w[0] * D.x0, D.x0 * D.x0
    for i in range(len(x)):
        v = np.float64(x[i])
        s += w[i + 1] * v
        q += v * v
    return s, q


def measure_sparse(D, n, w):
    """Return w·x and ‖x‖² of sparse row n, x0 included.

    Each is the sum of two partial sums, which is faster.
    """
    s, t, q, r = w[0] * D.x0, 0.0, D.x0 * D.x0, 0.0
    for j in range(D.indptr[n], D.indptr[n + 1]):
        v = np.float64(D.data[j])
        s, t = t, s + w[1 + D.indices[j]] * v
        q, r = r, q + v * v
    return s + t, q + r


def measure(D, n, w):
    """Return w·x and ‖x‖² of row n, dense or sparse, x0 included."""
    return measure_sparse(D, n, w) if isinstance(D, Sparse) else measure_dense(D, n, w)


def squared_length(w):
    """Return ‖w‖²."""
    q = 0.0
    for i in range(len(w)):
        q += w[i] * w[i]
    return q


@functools.cache
def bind() -> None:
    """Register the helper functions of the scoring kernels with Numba."""
    bind_by_format(measure, lambda D: None if is_sparse(D) else measure_dense, **REORDERING)
    bind_by_format(measure, lambda D: measure_sparse if is_sparse(D) else None)
    helpers(squared_length, **REORDERING)


def measuring_pass(D: Any, *others: Any) -> int:
    """Estimate the number of multiplications that w·x and ‖x‖² of all rows take."""
    return 4 * one_pass(D)


run_scores = Kernel(scores, work=one_pass)
run_scores_joint = Kernel(scores_joint, work=one_pass)
run_look = Kernel(look, bind, measuring_pass)
run_look_joint = Kernel(look_joint, bind, measuring_pass)
