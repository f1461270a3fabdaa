"""The slides: each algorithm as a plain loop over the examples, in the lecture's letters.

Everything here is Python that can be stepped through with ``NUMBA_DISABLE_JIT=1``; `engine`
compiles it. ``D`` is the data set: its rows with x0 implied, and ``D.step[n]`` = eta·s·y, the
signed length of a correction by row n. ``w`` is tall, w0 first. Two row formats, `Dense` and
`Sparse`, differ in two primitives, `score` and `add`; the loops are written once over them. With
more than two labels `Joint` rows are made of either: ``w`` has a block for each label, and a
mistake is a row against a rival.
An edit to this file recompiles every kernel: see `engine`.
"""

from typing import NamedTuple

import numpy as np


def pla(D, order, zero, w, trace, ends):
    """Correct w by each mistake met, cycle after cycle, until a cycle has none."""
    t = 0
    for c in range(len(ends)):
        begun = t
        k, n = next_mistake(D, order, zero, w, 0)
        while k < len(order):
            add(D, n, w, step(D, n))
            trace[t] = n
            t += 1
            k, n = next_mistake(D, order, zero, w, k + 1)
        ends[c] = t
        if t == begun:
            break
    return c + 1


def pocket(D, trace, w, fewest, doubt):
    """Correct w as PLA did, until it makes fewer mistakes than the pocket; after which t?"""
    for t in range(len(trace)):
        n = trace[t]
        add(D, n, w, step(D, n))
        if mistakes(D, w, doubt) < fewest:
            return t + 1
    return 0


def next_mistake(D, order, zero, w, k):
    """The first mistake of w from the k-th visit on: at which visit, and what it is."""
    for i in range(k, len(order)):
        n = mistake(D, order[i], w, zero)
        if n >= 0:
            return i, n
    return len(order), NONE


def mistakes(D, w, doubt):
    """How many rows w answers wrongly; a score that rounding may have turned counts as right."""
    near = doubt * largest(w) + SMALLEST
    count = 0
    for n in range(size(D)):
        count += ahead(D, n, w) < -near
    return count


def pla_random(D, order, chance, zero, w, walk, trace, when, ends):
    """Correct w by a random mistake, the first met in a new random order, until there is none."""
    i, visits = walk
    N = len(order)
    k = t = c = 0
    while i < N and k < len(chance) and t < len(trace):
        j = i + int(chance[k] * (N - i))
        order[i], order[j] = order[j], order[i]
        n = mistake(D, order[i], w, zero)
        if n >= 0:
            add(D, n, w, step(D, n))
            trace[t] = n
            when[t] = k
            t += 1
            i = 0
        else:
            i += 1
        k += 1
        visits += 1
        if visits == N:
            ends[c] = t
            c += 1
            visits = 0
    return i, visits, t, c


def pla_first(D, order, zero, w, walk, trace):
    """Correct w by its first mistake and start over, until there is none."""
    k, visits = walk
    t = 0
    while k < len(order) and visits > 0 and t < len(trace):
        n = mistake(D, order[k], w, zero)
        if n >= 0:
            add(D, n, w, step(D, n))
            trace[t] = n
            t += 1
            k = 0
        else:
            k += 1
        visits -= 1
    return k, t


def ratchet(D, order, zero, w, run, longest, trace):
    """Correct w by each mistake met, until it has been right for longer than the pocket was."""
    k = t = 0
    while k < len(order) and t < len(trace) and run <= longest:
        n = mistake(D, order[k], w, zero)
        if n >= 0:
            add(D, n, w, step(D, n))
            trace[t] = n
            t += 1
            run = 0
        else:
            run += 1
        k += 1
    return k, run, t


SMALLEST = 2.0**-1000  # far above what underflow can take away, far below any plain score
NONE = -1  # no mistake


class Dense(NamedTuple):
    """The examples as rows of an array."""

    X: np.ndarray
    x0: float
    step: np.ndarray


class Plane(Dense):
    """Rows of at most two numbers: scores are summed in order, the same bits on all processors."""


class Sparse(NamedTuple):
    """The examples as rows of a CSR matrix, with unsigned indices (they need no wrap-around)."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    x0: float
    step: np.ndarray


class Joint(NamedTuple):
    """Rows of either format with one of K labels each; their steps have no sign.

    Row n against the label r is called n·K + r: x in the block of its own label, -x in that of r
    (Kesler's construction), which is never written out.
    """

    rows: Dense | Sparse
    label: np.ndarray
    K: int
    scores: np.ndarray  # room for those of one row


def score_dense(D, n, w):
    """w·x of row n."""
    x = D.X[n]
    s = w[0] * D.x0
    for i in range(len(x)):
        s += w[i + 1] * x[i]
    return s


def score_sparse(D, n, w):
    """w·x of row n, over its stored entries."""
    s = w[0] * D.x0
    for j in range(D.indptr[n], D.indptr[n + 1]):
        s += w[1 + D.indices[j]] * D.data[j]
    return s


def add_dense(D, n, w, a):
    """w ← w + a·x of row n."""
    x = D.X[n]
    w[0] += a * D.x0
    for i in range(len(x)):
        w[i + 1] += a * x[i]


def add_sparse(D, n, w, a):
    """w ← w + a·x of row n, over its stored entries."""
    w[0] += a * D.x0
    for j in range(D.indptr[n], D.indptr[n + 1]):
        w[1 + D.indices[j]] += a * D.data[j]


def score(D, n, w):
    """w·x of row n in either format; `engine` binds it when compiling."""
    return score_sparse(D, n, w) if isinstance(D, Sparse) else score_dense(D, n, w)


def add(D, n, w, a):
    """w ← w + a·x of row n in either format; `engine` binds it when compiling."""
    if isinstance(D, Joint):
        return add_joint(D, n, w, a)
    if isinstance(D, Sparse):
        return add_sparse(D, n, w, a)
    return add_dense(D, n, w, a) if isinstance(D, Dense) else D.add(w, a)  # one dict


def step(D, n):
    """eta·s·y, the length of a correction by row n."""
    return D.rows.step[n // D.K] if isinstance(D, Joint) else D.step[n]


def size(D):
    """The number of rows."""
    return len(D.label) if isinstance(D, Joint) else len(D.step)


def ahead(D, n, w):
    """How far the score of row n is on the right side of 0, or above its best rival's."""
    return ahead_joint(D, n, w) if isinstance(D, Joint) else ahead_of_two(D, n, w)


def ahead_of_two(D, n, w):
    """y·(w·x) of row n."""
    s = score(D, n, w)
    return s if D.step[n] > 0 else -s


def ahead_joint(D, n, w):
    """The score of row n by its own label's weights less the best of the others."""
    score_all(D, n, w)
    return D.scores[D.label[n]] - D.scores[rival(D.scores, D.label[n], 0)]


def sign(s, zero):
    """+1, -1, or at exactly 0 what the course says: 0 (always a mistake), -1 or +1."""
    if s > 0:
        return 1
    if s < 0:
        return -1
    return zero


def mistaken(D, n, w, zero):
    """Does w answer row n wrongly?"""
    return wrong(score(D, n, w), D.step[n] >= 0, zero)


def wrong(s, positive, zero):
    """Is this score wrong of a row whose answer is positive, or is not?

    No branch before it is: what the next answer is cannot be foreseen.
    """
    if (s > 0) & positive | (s < 0) & (not positive):
        return False
    return s != 0 or (zero if positive else -zero) <= 0


def mistake(D, n, w, zero):
    """What to correct w by if it answers row n wrongly: n, or n against a rival; else NONE."""
    if isinstance(D, Joint):
        return mistake_joint(D, n, w, zero)
    return mistake_of_two(D, n, w, zero)


def mistake_of_two(D, n, w, zero):
    """Row n if w answers it wrongly, else NONE."""
    return np.int64(n) if mistaken(D, n, w, zero) else NONE


def mistake_joint(D, n, w, zero):
    """Row n against its best rival if its own label's score is not above that, else NONE.

    Equal scores are a mistake, or as in sign(0) the earlier or the later label has them.
    """
    y, s = D.label[n], D.scores
    score_all(D, n, w)
    r = rival(s, y, zero)
    if s[y] > s[r] or (s[y] == s[r] and (y - r) * zero > 0):
        return NONE
    return np.int64(n) * D.K + r


def rival(s, y, zero):
    """The label with the highest score but one: the first, or for zero > 0 the last, of equals."""
    r = 1 if y == 0 else 0
    for k in range(r + 1, len(s)):
        if k != y and (s[k] > s[r] or (s[k] == s[r] and zero > 0)):
            r = k
    return r


def score_all(D, n, w):
    """The scores of row n by all labels; `engine` binds it when compiling."""
    if isinstance(D.rows, Sparse):
        return score_all_sparse(D, n, w)
    return score_all_dense(D, n, w)


def score_all_dense(D, n, w):
    """w·x of row n for one label after another, in order where there are two features."""
    x, size = D.rows.X[n], len(w) // D.K
    for k in range(D.K):
        v = w[k * size : (k + 1) * size]
        s = v[0] * D.rows.x0
        for i in range(len(x)):
            s += v[i + 1] * x[i]
        D.scores[k] = s


def score_all_sparse(D, n, w):
    """w·x of row n for all labels at once, over its stored entries."""
    rows, K = D.rows, D.K
    for k in range(K):
        D.scores[k] = w[k] * rows.x0
    for j in range(rows.indptr[n], rows.indptr[n + 1]):
        at, v = np.int64(1 + rows.indices[j]) * K, rows.data[j]
        for k in range(K):
            D.scores[k] += w[at + k] * v


def block(D, w, k):
    """The weights of label k in either format; `engine` binds it when compiling."""
    if isinstance(w, list):  # of dicts
        return w[k]
    return block_sparse(D, w, k) if isinstance(D.rows, Sparse) else block_dense(D, w, k)


def block_dense(D, w, k):
    """The weights of label k, which stand together."""
    size = len(w) // D.K
    return w[k * size : (k + 1) * size]


def block_sparse(D, w, k):
    """The weights of label k, where those of a feature stand together: a row needs them all."""
    return w[k :: D.K]


def add_joint(D, n, w, a):
    """w ← w + a·x for the label of a row, and w - a·x for its rival."""
    row, r = np.int64(n) // D.K, np.int64(n) % D.K
    add(D.rows, row, block(D, w, D.label[row]), a)
    add(D.rows, row, block(D, w, r), -a)


def largest(w):
    """The largest absolute entry of w."""
    v = 0.0
    for i in range(len(w)):
        v = max(v, abs(w[i]))
    return v
