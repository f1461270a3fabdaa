"""Score a row of the data set D, or add it to the weights w, for each format of rows.

``D`` holds the rows, with x0 implied. ``D.step[n]`` = eta·s·y is the factor of row n in an update:
eta is the learning rate, s the sample weight, y the label -1 or +1. ``w`` is the augmented
weight vector, w0 first. `Dense` and `Sparse` rows differ in two functions, `score` and `add`. With
more than two labels, `Joint` rows wrap either format: ``w`` has a block of weights for each label,
and a mistake is a row together with a competing class.

In compiled kernels, `engine` selects the function for the format of D. In plain Python, functions
such as `score` select it by the type of D.
"""

from typing import NamedTuple

import numpy as np

SMALLEST = 2.0**-1000  # far above what underflow can lose, far below any ordinary score
NONE = -1  # no mistake


class Dense(NamedTuple):
    """Rows of an array, the constant feature x0, and the factor of each row in an update."""

    X: np.ndarray
    x0: float
    step: np.ndarray


class Plane(Dense):
    """Rows of an array with at most two features; their scores are summed in a fixed order.

    Runs are therefore the same on every processor.
    """


class Sparse(NamedTuple):
    """Rows of a CSR matrix, the constant feature x0, and the factor of each row in an update.

    Indices are unsigned, so that compiled code need not check for negative ones.
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    x0: float
    step: np.ndarray


class Joint(NamedTuple):
    """Dense or sparse rows, each with one of K > 2 labels.

    Their steps have no sign. An update by row n against label r has the code n·K + r. It adds x
    in the weights of the row's own label and -x in those of r (Kesler's construction). These long
    rows are never stored.
    """

    rows: Dense | Sparse
    label: np.ndarray
    K: int
    scores: np.ndarray  # workspace: the scores of one row


def score_dense(D, n, w):
    """Return the score w·x of dense row n."""
    x = D.X[n]
    s = w[0] * D.x0
    for i in range(len(x)):
        s += w[i + 1] * x[i]
    return s


def score_sparse(D, n, w):
    """Return the score w·x of sparse row n."""
    s = w[0] * D.x0
    for j in range(D.indptr[n], D.indptr[n + 1]):
        s += w[1 + D.indices[j]] * D.data[j]
    return s


def add_dense(D, n, w, a):
    """Add dense row n, multiplied by a, to w."""
    x = D.X[n]
    w[0] += a * D.x0
    for i in range(len(x)):
        w[i + 1] += a * x[i]


def add_sparse(D, n, w, a):
    """Add sparse row n, multiplied by a, to w."""
    w[0] += a * D.x0
    for j in range(D.indptr[n], D.indptr[n + 1]):
        w[1 + D.indices[j]] += a * D.data[j]


def score(D, n, w):
    """Return the score w·x of row n, dense or sparse."""
    return score_sparse(D, n, w) if isinstance(D, Sparse) else score_dense(D, n, w)


def add(D, n, w, a):
    """Add row n, multiplied by a, to w, in any format of rows."""
    if isinstance(D, Joint):
        return add_joint(D, n, w, a)
    if isinstance(D, Sparse):
        return add_sparse(D, n, w, a)
    # Rows that are dicts have their own method.
    return add_dense(D, n, w, a) if isinstance(D, Dense) else D.add(w, a)


def step(D, n):
    """Return the factor of row n in an update: learning rate times sample weight times label."""
    return D.rows.step[n // D.K] if isinstance(D, Joint) else D.step[n]


def size(D):
    """Return the number of rows of the data set D."""
    return len(D.label) if isinstance(D, Joint) else len(D.step)


def ahead(D, n, w):
    """Return the score of row n for its own label minus the best competing score.

    For two labels it is y·(w·x).
    """
    return ahead_joint(D, n, w) if isinstance(D, Joint) else ahead_of_two(D, n, w)


def ahead_of_two(D, n, w):
    """Return y·(w·x) of row n with label y = -1 or +1."""
    s = score(D, n, w)
    return s if D.step[n] > 0 else -s


def ahead_joint(D, n, w):
    """Return the score of row n for its own label minus the best competing score."""
    score_all(D, n, w)
    return D.scores[D.label[n]] - D.scores[best_competitor(D.scores, D.label[n], 0)]


def sign(s, zero):
    """Return the sign of s: +1, -1, or `zero` if s is exactly 0.

    `zero` is 0 (always a mistake), -1 or +1.
    """
    if s > 0:
        return 1
    if s < 0:
        return -1
    return zero


def mistaken(D, n, w, zero):
    """Return whether w misclassifies row n."""
    return wrong(score(D, n, w), D.step[n] >= 0, zero)


def wrong(s, positive, zero):
    """Return whether the score s misclassifies a row labeled +1 (if `positive`) or -1.

    The first test has no branch on the label, because processors cannot predict labels.
    """
    if (s > 0) & positive | (s < 0) & (not positive):
        return False
    return s != 0 or (zero if positive else -zero) <= 0


def mistake(D, n, w, zero):
    """Return an integer that identifies the update if w misclassifies row n, else NONE.

    The integer is n itself or, with K > 2 labels, n·K + r for the best competing class r.
    """
    if isinstance(D, Joint):
        return mistake_joint(D, n, w, zero)
    return mistake_of_two(D, n, w, zero)


def mistake_of_two(D, n, w, zero):
    """Return n if w misclassifies row n, else NONE."""
    return np.int64(n) if mistaken(D, n, w, zero) else NONE


def mistake_joint(D, n, w, zero):
    """Return n·K + r if w misclassifies row n, with r its best competing class, else NONE.

    If r and the row's own label have equal scores, `zero` decides: at 0 it is a mistake, at -1
    the earlier label is predicted, at +1 the later one.
    """
    y, s = D.label[n], D.scores
    score_all(D, n, w)
    r = best_competitor(s, y, zero)
    if s[y] > s[r] or (s[y] == s[r] and (y - r) * zero > 0):
        return NONE
    return np.int64(n) * D.K + r


def best_competitor(s, y, zero):
    """Return the label with the highest score s among the labels other than y.

    Of labels with equal scores it is the first, or for zero > 0 the last.
    """
    r = 1 if y == 0 else 0
    for k in range(r + 1, len(s)):
        if k != y and (s[k] > s[r] or (s[k] == s[r] and zero > 0)):
            r = k
    return r


def score_all(D, n, w):
    """Store the score of row n for each label in D.scores."""
    if isinstance(D.rows, Sparse):
        return score_all_sparse(D, n, w)
    return score_all_dense(D, n, w)


def score_all_dense(D, n, w):
    """Store the score of dense row n for each label in D.scores."""
    x, size = D.rows.X[n], len(w) // D.K
    for k in range(D.K):
        v = w[k * size : (k + 1) * size]
        s = v[0] * D.rows.x0
        for i in range(len(x)):
            s += v[i + 1] * x[i]
        D.scores[k] = s


def score_all_sparse(D, n, w):
    """Store the score of sparse row n for each label in D.scores."""
    rows, K = D.rows, D.K
    for k in range(K):
        D.scores[k] = w[k] * rows.x0
    for j in range(rows.indptr[n], rows.indptr[n + 1]):
        at, v = np.int64(1 + rows.indices[j]) * K, rows.data[j]
        for k in range(K):
            D.scores[k] += w[at + k] * v


def label_weights(D, w, k):
    """Return the weights of label k, in any format of rows."""
    if isinstance(w, list):  # one dict of weights per label
        return w[k]
    if isinstance(D.rows, Sparse):
        return label_weights_sparse(D, w, k)
    return label_weights_dense(D, w, k)


def label_weights_dense(D, w, k):
    """Return the weights of label k if rows are dense: a contiguous part of w."""
    size = len(w) // D.K
    return w[k * size : (k + 1) * size]


def label_weights_sparse(D, w, k):
    """Return the weights of label k if rows are sparse: every K-th entry of w.

    The weights of one feature are contiguous, because scoring a row needs them for all labels.
    """
    return w[k :: D.K]


def add_joint(D, n, w, a):
    """Add a row to the weights of its label and subtract it from those of a competing class.

    n encodes both: n // K is the row, and n % K is the competing class.
    """
    row, r = np.int64(n) // D.K, np.int64(n) % D.K
    add(D.rows, row, label_weights(D, w, D.label[row]), a)
    add(D.rows, row, label_weights(D, w, r), -a)


def largest(w):
    """Return the largest absolute entry of w."""
    v = 0.0
    for i in range(len(w)):
        v = max(v, abs(w[i]))
    return v
