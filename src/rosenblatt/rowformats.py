"""Score rows of the data set D, or add one to the weights w, for each format of rows.

``D`` holds the rows, with x0 implied. ``D.step[n]`` = eta·s·y is the factor of row n in an update:
eta is the learning rate, s the sample weight, y the label -1 or +1. ``w`` is the augmented
weight vector, w0 first. `Dense` and `Sparse` rows differ in two functions, `score` and `add`. With
more than two labels, `Joint` rows wrap either format: ``w`` has a block of weights for each label,
and a mistake is a row together with a competing class.

In compiled kernels, `engine` selects the function for the format of D. In plain Python, functions
such as `score` select it by the type of D.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SMALLEST = 2.0**-1000  # far above what underflow can lose, far below any ordinary score
NONE = -1  # no mistake
NO_STEPS = np.empty(0)
# Whether a row is classified correctly; UNDECIDED if this takes exact arithmetic.
RIGHT, WRONG, UNDECIDED = range(3)
# Largest ‖x‖² in a stream; longer rows raise an error, so that no sum over a stream overflows.
LONGEST_SQUARED = 1e200


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


def kernel_rows(X: Any, x0: float, step: NDArray[Any], part: slice = slice(None)) -> Dense | Sparse:
    """Convert rows of a checked table (default: all) to read-only arrays for compiled kernels."""
    if isinstance(X, np.ndarray):
        rows = _read_only(X[part])
        return (Plane if rows.shape[1] <= 2 else Dense)(rows, x0, _read_only(step))
    unsigned = np.uint32 if X.indices.dtype.itemsize == 4 else np.uint64
    indptr = X.indptr.astype(X.indices.dtype, copy=False)
    begin, end, _ = part.indices(X.shape[0])
    return Sparse(
        _read_only(X.data),
        _read_only(X.indices.view(unsigned)),
        _read_only(indptr[begin : end + 1].view(unsigned)),
        x0,
        _read_only(step),
    )


def joint_rows(rows: Dense | Sparse, label: NDArray[np.int32], K: int) -> Joint:
    """Return labeled rows for compiled kernels, with a workspace for the scores of K labels.

    Each thread needs its own result, because kernels overwrite the workspace.
    """
    return Joint(rows, _read_only(label), K, np.empty(K))


def joint_weights(X: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Flatten weights with one row per label to the 1-d array that compiled kernels take."""
    return (weights if isinstance(X, np.ndarray) else weights.T).flatten()


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


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


# Kernels that score all rows.


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
