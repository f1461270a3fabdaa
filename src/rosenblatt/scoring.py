"""Scores of all rows at once, and which of them rounding could decide."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from rosenblatt.engine import REORDERING, Kernel, chosen, helpers, is_sparse, one_pass
from rosenblatt.kernels import Sparse, ahead, block, score, score_all

# What a look finds of a row.
RIGHT, WRONG, DOUBTFUL = range(3)
# Rows of a stream longer than this are refused: no sum along it can then overflow.
LONGEST_SQUARED = 1e200


def scores(D, w, s):
    """s[n] = w·x for every row."""
    for n in range(len(s)):
        s[n] = score(D, n, w)


def scores_joint(D, w, S):
    """S[n, k] = the score of row n by the weights of label k."""
    for n in range(len(S)):
        score_all(D, n, w)
        for k in range(D.K):
            S[n, k] = D.scores[k]


def look(D, w, y, zero, share, least, seen):
    """seen[n] = whether w answers row n right or wrong, or is within a share of ‖w‖·‖x‖ of 0."""
    size = squared_length(w)
    # Scores by w = 0 are exactly 0, so that none is in doubt unless it is no number.
    least, zero = (least, 0.0) if size > 0 else (-1.0, float(zero))
    for n in range(len(y)):
        s, q = measure(D, n, w)
        # No branches: which row is wrong cannot be foreseen, and a wrong guess costs a row's time.
        sure = s * s > share * share * size * q + least
        seen[n] = sure * ((s + zero) * y[n] <= 0) + (1 - sure) * DOUBTFUL


def look_joint(D, w, zero, share, least, seen):
    """seen[n] = whether row n is answered right or wrong, or so that rounding may decide it."""
    size = 0.0
    for k in range(D.K):
        size = max(size, squared_length(block(D, w, k)))
    for n in range(len(seen)):
        s, q = ahead(D, n, w), measure(D.rows, n, block(D, w, 0))[1]
        sure = s * s > 4 * share * share * size * q + least
        seen[n] = sure * (s <= 0) + (1 - sure) * DOUBTFUL


def measure_dense(D, n, w):
    """w·x and ‖x‖² of row n, x0 included."""
    x = D.X[n]
    s, q = w[0] * D.x0, D.x0 * D.x0
    for i in range(len(x)):
        v = np.float64(x[i])
        s += w[i + 1] * v
        q += v * v
    return s, q


def measure_sparse(D, n, w):
    """w·x and ‖x‖² of row n, x0 included, over its stored entries."""
    s, q = w[0] * D.x0, D.x0 * D.x0
    for j in range(D.indptr[n], D.indptr[n + 1]):
        v = np.float64(D.data[j])
        s += w[1 + D.indices[j]] * v
        q += v * v
    return s, q


def measure(D, n, w):
    """w·x and ‖x‖² of row n in either format, summed in whatever order is fastest."""
    return measure_sparse(D, n, w) if isinstance(D, Sparse) else measure_dense(D, n, w)


def squared_length(w):
    """‖w‖²."""
    q = 0.0
    for i in range(len(w)):
        q += w[i] * w[i]
    return q


def measure_in_two_sums(D, n, w):
    """w·x and ‖x‖² of row n, in sums that take turns: no sum waits for itself at every entry."""
    s, t, q, r = w[0] * D.x0, 0.0, D.x0 * D.x0, 0.0
    for j in range(D.indptr[n], D.indptr[n + 1]):
        v = np.float64(D.data[j])
        s, t = t, s + w[1 + D.indices[j]] * v
        q, r = r, q + v * v
    return s + t, q + r


@functools.cache
def bind() -> None:
    """Tell Numba to compile the helpers of this file, wherever kernels call them."""
    chosen(measure, lambda D: None if is_sparse(D) else measure_dense, **REORDERING)
    chosen(measure, lambda D: measure_in_two_sums if is_sparse(D) else None)
    helpers(squared_length, **REORDERING)


def measuring_pass(D: Any, *others: Any) -> int:
    """Return the work of a pass where rows are measured too, number by number as floats."""
    return 4 * one_pass(D)


run_scores = Kernel(scores, work=one_pass)
run_scores_joint = Kernel(scores_joint, work=one_pass)
run_look = Kernel(look, bind, measuring_pass)
run_look_joint = Kernel(look_joint, bind, measuring_pass)
