"""Row formats: how kernels score a row of the data set D and add it to the weights w.

``D`` holds the rows, with x0 implied, and ``D.step[n]`` = eta·s·y, the signed length of an update
by row n. ``w`` is the augmented weight vector, w0 first. `Dense` and `Sparse` rows differ in two
primitives, `score` and `add`. With more than two labels, `Joint` rows wrap either format: ``w``
has a block of weights for each label, and a mistake is a row against a competing label.

`engine` binds each primitive to the format when it compiles a kernel. In plain Python the
primitives choose by the type of D.
"""

from typing import NamedTuple

import numpy as np

SMALLEST = 2.0**-1000  # far above what underflow can lose, far below any ordinary score
NONE = -1  # no mistake


class Dense(NamedTuple):
    """Examples as rows of an array."""

    X: np.ndarray
    x0: float
    step: np.ndarray


class Plane(Dense):
    """Rows of at most two numbers, summed in order: the same bits on every processor."""


class Sparse(NamedTuple):
    """Examples as rows of a CSR matrix; unsigned indices need no check for wrap-around."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    x0: float
    step: np.ndarray


class Joint(NamedTuple):
    """Rows of either format with one of K labels each; their steps have no sign.

    Row n against the label r has the number n·K + r: x in the block of its own label, -x in the
    block of r (Kesler's construction). These long rows are never stored.
    """

    rows: Dense | Sparse
    label: np.ndarray
    K: int
    scores: np.ndarray  # workspace: the scores of one row


def score_dense(D, n, w):
    """Return w·x of row n."""
    x = D.X[n]
    s = w[0] * D.x0
    for i in range(len(x)):
        s += w[i + 1] * x[i]
    return s


def score_sparse(D, n, w):
    """Return w·x of row n, summed over its stored entries."""
    s = w[0] * D.x0
    for j in range(D.indptr[n], D.indptr[n + 1]):
        s += w[1 + D.indices[j]] * D.data[j]
    return s


def add_dense(D, n, w, a):
    """Add a·x of row n to w."""
    x = D.X[n]
    w[0] += a * D.x0
    for i in range(len(x)):
        w[i + 1] += a * x[i]


def add_sparse(D, n, w, a):
    """Add a·x of row n to w, over its stored entries."""
    w[0] += a * D.x0
    for j in range(D.indptr[n], D.indptr[n + 1]):
        w[1 + D.indices[j]] += a * D.data[j]


def score(D, n, w):
    """Return w·x of row n in either format."""
    return score_sparse(D, n, w) if isinstance(D, Sparse) else score_dense(D, n, w)


def add(D, n, w, a):
    """Add a·x of row n to w in any format."""
    if isinstance(D, Joint):
        return add_joint(D, n, w, a)
    if isinstance(D, Sparse):
        return add_sparse(D, n, w, a)
    return add_dense(D, n, w, a) if isinstance(D, Dense) else D.add(w, a)  # a dict


def step(D, n):
    """Return eta·s·y, the signed length of an update by row n."""
    return D.rows.step[n // D.K] if isinstance(D, Joint) else D.step[n]


def size(D):
    """Return the number of rows."""
    return len(D.label) if isinstance(D, Joint) else len(D.step)


def ahead(D, n, w):
    """Return by how much w classifies row n correctly; negative for a mistake."""
    return ahead_joint(D, n, w) if isinstance(D, Joint) else ahead_of_two(D, n, w)


def ahead_of_two(D, n, w):
    """Return y·(w·x) of row n."""
    s = score(D, n, w)
    return s if D.step[n] > 0 else -s


def ahead_joint(D, n, w):
    """Return the score of row n for its own label minus the best competing score."""
    score_all(D, n, w)
    return D.scores[D.label[n]] - D.scores[best_competitor(D.scores, D.label[n], 0)]


def sign(s, zero):
    """Return +1 or -1, and at exactly 0 the chosen convention: 0 (a mistake), -1 or +1."""
    if s > 0:
        return 1
    if s < 0:
        return -1
    return zero


def mistaken(D, n, w, zero):
    """Return whether w misclassifies row n."""
    return wrong(score(D, n, w), D.step[n] >= 0, zero)


def wrong(s, positive, zero):
    """Return whether a score is a mistake on a row whose label is +1, or is -1.

    The first test has no branch on the label: processors cannot predict labels.
    """
    if (s > 0) & positive | (s < 0) & (not positive):
        return False
    return s != 0 or (zero if positive else -zero) <= 0


def mistake(D, n, w, zero):
    """Return what to update w by if it misclassifies row n, else NONE.

    That is n itself, or with more than two labels n against its best competing label.
    """
    if isinstance(D, Joint):
        return mistake_joint(D, n, w, zero)
    return mistake_of_two(D, n, w, zero)


def mistake_of_two(D, n, w, zero):
    """Return n if w misclassifies row n, else NONE."""
    return np.int64(n) if mistaken(D, n, w, zero) else NONE


def mistake_joint(D, n, w, zero):
    """Return row n against its best competing label if that one scores as high, else NONE.

    Equal scores are a mistake, or belong to the earlier or the later label, as `zero` says.
    """
    y, s = D.label[n], D.scores
    score_all(D, n, w)
    r = best_competitor(s, y, zero)
    if s[y] > s[r] or (s[y] == s[r] and (y - r) * zero > 0):
        return NONE
    return np.int64(n) * D.K + r


def best_competitor(s, y, zero):
    """Return the best competing label: the first, or for zero > 0 the last, of equal scores."""
    r = 1 if y == 0 else 0
    for k in range(r + 1, len(s)):
        if k != y and (s[k] > s[r] or (s[k] == s[r] and zero > 0)):
            r = k
    return r


def score_all(D, n, w):
    """Compute the scores of row n for all labels into D.scores."""
    if isinstance(D.rows, Sparse):
        return score_all_sparse(D, n, w)
    return score_all_dense(D, n, w)


def score_all_dense(D, n, w):
    """Compute w·x of row n for one label after another; in order for two features."""
    x, size = D.rows.X[n], len(w) // D.K
    for k in range(D.K):
        v = w[k * size : (k + 1) * size]
        s = v[0] * D.rows.x0
        for i in range(len(x)):
            s += v[i + 1] * x[i]
        D.scores[k] = s


def score_all_sparse(D, n, w):
    """Compute w·x of row n for all labels at once, over its stored entries."""
    rows, K = D.rows, D.K
    for k in range(K):
        D.scores[k] = w[k] * rows.x0
    for j in range(rows.indptr[n], rows.indptr[n + 1]):
        at, v = np.int64(1 + rows.indices[j]) * K, rows.data[j]
        for k in range(K):
            D.scores[k] += w[at + k] * v


def block(D, w, k):
    """Return the weights of label k in any format."""
    if isinstance(w, list):  # dicts
        return w[k]
    return block_sparse(D, w, k) if isinstance(D.rows, Sparse) else block_dense(D, w, k)


def block_dense(D, w, k):
    """Return the weights of label k, which are contiguous."""
    size = len(w) // D.K
    return w[k * size : (k + 1) * size]


def block_sparse(D, w, k):
    """Return the weights of label k; those of one feature are contiguous, as a row needs all."""
    return w[k :: D.K]


def add_joint(D, n, w, a):
    """Add a·x to the weights of a row's label, and subtract it from the competing label's."""
    row, r = np.int64(n) // D.K, np.int64(n) % D.K
    add(D.rows, row, block(D, w, D.label[row]), a)
    add(D.rows, row, block(D, w, r), -a)


def largest(w):
    """Return the largest absolute entry of w."""
    v = 0.0
    for i in range(len(w)):
        v = max(v, abs(w[i]))
    return v
