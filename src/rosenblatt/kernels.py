"""The slides: each algorithm as a plain loop over the examples, in the lecture's letters.

Everything here is Python that can be stepped through with ``NUMBA_DISABLE_JIT=1``; `engine`
compiles it. ``D`` is the data set: its rows with x0 implied, and ``D.step[n]`` = eta·s·y, the
signed length of a correction by row n. ``w`` is tall, w0 first. Two row formats, `Dense` and
`Sparse`, differ in two primitives, `score` and `add`; the loops are written once over them. With
more than two labels `Joint` rows are made of either: ``w`` has a block for each label, and a
mistake is a row against a rival.
Kernels and primitives share this file: an edit to it is seen by whatever was compiled from it.
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


def scores_joint(D, w, S):
    """S[n, k] = the score of row n by the weights of label k."""
    for n in range(len(S)):
        score_all(D, n, w)
        for k in range(D.K):
            S[n, k] = D.scores[k]


def look_joint(D, w, zero, share, least, seen):
    """seen[n] = whether row n is answered right or wrong, or so that rounding may decide it."""
    size = 0.0
    for k in range(D.K):
        size = max(size, squared_length(block(D, w, k)))
    for n in range(len(seen)):
        s, q = ahead(D, n, w), measure(D.rows, n, block(D, w, 0))[1]
        sure = s * s > 4 * share * share * size * q + least
        seen[n] = sure * (s <= 0) + (1 - sure) * DOUBTFUL


def scores(D, w, s):
    """s[n] = w·x for every row."""
    for n in range(len(s)):
        s[n] = score(D, n, w)


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


def largest(w):
    """The largest absolute entry of w."""
    v = 0.0
    for i in range(len(w)):
        v = max(v, abs(w[i]))
    return v


def squared_length(w):
    """‖w‖²."""
    q = 0.0
    for i in range(len(w)):
        q += w[i] * w[i]
    return q


# What a look finds of a row.
RIGHT, WRONG, DOUBTFUL = range(3)


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


def replay(D, trace, w):
    """Make the corrections of a trace again."""
    for n in trace:
        add(D, n, w, step(D, n))


def lag(D, rows, missed, u):
    """u ← u + Σ m·(the correction by a row), where m is how many visits missed it.

    If V visits were made in all, w - u/V is the mean of w over them.
    """
    for i in range(len(rows)):
        add(D, rows[i], u, step(D, rows[i]) * missed[i])


def along(D, trace, w, w_f, inner, squared):
    """Make the corrections again, noting w_f·w(t) and ‖w(t)‖² for t = 0 … T."""
    for t in range(len(trace) + 1):
        for i in range(len(w)):
            inner[t] += w_f[i] * w[i]
            squared[t] += w[i] * w[i]
        if t < len(trace):
            add(D, trace[t], w, step(D, trace[t]))


def keep(D, trace, w, W):
    """W[t] = w(t + 1): make the corrections of a trace again, keeping every w on the way."""
    for t in range(len(trace)):
        add(D, trace[t], w, step(D, trace[t]))
        for i in range(len(w)):
            W[t, i] = w[i]


def judge(S, w0, y, s, slack, wrong, doubtful):
    """Weigh the mistakes of many w on a few rows, leaving aside scores that rounding may decide.

    S[n, b] + w0[b] is the score of row n by the b-th w; between -slack[b] and slack[b] its sign
    is in doubt.
    """
    for n in range(len(y)):
        for b in range(len(w0)):
            v = y[n] * (S[n, b] + w0[b])
            wrong[b] += s[n] * (v < -slack[b])
            doubtful[b] += 1 - (v < -slack[b]) - (v > slack[b])


def judge_joint(S, w0, which, y, s, slack, wrong, doubtful):
    """Weigh the mistakes of many w of K labels on a few rows, as `judge` does.

    S[n, j] + w0[j] is the score of row n by one label's weights; which[b, k] is the j of label k
    in the b-th w.
    """
    for n in range(len(y)):
        for b in range(len(which)):
            best = -np.inf
            for k in range(which.shape[1]):
                if k != y[n]:
                    j = which[b, k]
                    best = max(best, S[n, j] + w0[j])
            j = which[b, y[n]]
            v = S[n, j] + w0[j] - best
            wrong[b] += s[n] * (v < -slack[b])
            doubtful[b] += 1 - (v < -slack[b]) - (v > slack[b])


# What an online perceptron counts, by place in Memory.counts; AT is the place in its window.
SEEN, MISTAKES, RECENT, RUN, LONGEST, RIVAL, POCKET, HELD, AT = range(9)
# What it keeps beside w, and the weights it predicts with.
AVERAGED, POCKETED = 1, 2
LAST, AVERAGE, BEST = range(3)
# A row this much shorter than the longest cannot be the longest, in whatever order it is summed.
SURELY_SHORTER = 1 - 1e-9
# Rows longer than this are refused: no sum along a stream can then overflow.
LONGEST_SQUARED = 1e200
# Scores in two orders of summation differ by less than this share of ‖w‖·‖x‖ for each feature;
# squares below the least are of numbers so small that shares mean nothing.
ORDER_SHARE, ORDER_LEAST = 2.0**-50, 1e-280


class Memory(NamedTuple):
    """What an online perceptron remembers.

    Its vectors are w; with a pocket that pocket, which did best on the last window, the rival that
    is judged beside it on this one, and the runner, which had the longest run of right answers in
    it; with an average u, where w - u / seen is the average of the weights.
    """

    vectors: np.ndarray
    kept: int
    window: np.ndarray  # was the example a mistake? a ring of the last ones
    counts: np.ndarray
    squared_radius: np.ndarray


def online(D, zero, ask, m, answers):
    """Predict each row as it comes, then learn its answer if it has one (a step that is not 0).

    Ends before a row that is too long or holds something that is no number. ‖w‖² is at most
    `size`: a correction adds ‖a·x‖² and, because w·x was wrong, nothing else.
    """
    V, counts, window, radius = m.vectors, m.counts, m.window, m.squared_radius
    w = V[0]
    size, share = squared_length(w), ORDER_SHARE * (len(w) + 1)
    for n in range(len(D.step)):
        s, q = measure(D, n, w)
        if not q < LONGEST_SQUARED:
            return n
        # An average needs the score itself, a prediction and a correction only its sign.
        if s * s <= share * share * size * q + ORDER_LEAST or ask == AVERAGE:
            s = in_order(D, n, w)
        answers[n] = sign(asked(D, n, ask, V, counts, s), zero)
        if D.step[n] != 0:
            if q > SURELY_SHORTER * radius[0]:
                radius[0] = max(radius[0], squares(D, n))
            mistake = n if sign(s, zero) * D.step[n] <= 0 else NONE
            if learn(D, n, zero, mistake, V, m.kept, counts, window):
                size += D.step[n] * D.step[n] * q
    return len(D.step)


def online_joint(D, zero, ask, m, answers):
    """The same of K labels: a row without an answer has the label NONE."""
    V, counts, radius = m.vectors, m.counts, m.squared_radius
    for n in range(len(D.label)):
        q = squares(D.rows, n)
        if not q < LONGEST_SQUARED:
            return n
        answers[n] = highest(D, n, zero, ask, V, counts, NONE)[0]
        if D.label[n] != NONE:
            radius[0] = max(radius[0], q)
            mistake = beaten(D, n, zero, V, counts)
            learn(D, n, zero, mistake, V, m.kept, counts, m.window)
    return len(D.label)


def learn(D, n, zero, mistake, V, kept, counts, window):
    """Count row n, and correct w by its mistake unless that is NONE; was it one?"""
    wrong = mistake >= 0
    at = counts[AT]
    if window[at] != wrong:
        window[at] = wrong
        counts[RECENT] += 1 if wrong else -1
    if kept & POCKETED:
        watch_row(D, n, zero, V, counts, wrong)
    if wrong:
        if kept & AVERAGED:
            add(D, mistake, V[-1], step(D, mistake) * counts[SEEN])
        add(D, mistake, V[0], step(D, mistake))
        counts[MISTAKES] += 1
    counts[SEEN] += 1
    counts[AT] += 1
    if counts[AT] == len(window):
        counts[AT] = 0
        if kept & POCKETED:
            end_window(V, counts)
    return wrong


def asked(D, n, ask, V, counts, s):
    """The score that predicts row n, where s is that of w."""
    if ask == AVERAGE and counts[SEEN] > 0:
        return s - in_order(D, n, V[-1]) / counts[SEEN]
    if ask == BEST and counts[HELD]:
        return in_order(D, n, V[1])
    return s


def watch_row(D, n, zero, V, counts, wrong):
    """Count the mistakes of pocket and rival, and keep the w with the longest run."""
    counts[POCKET] += errs(D, n, zero, V[1:], counts)
    counts[RIVAL] += errs(D, n, zero, V[2:], counts)
    if not wrong:
        counts[RUN] += 1
        return
    if counts[RUN] > counts[LONGEST]:
        put(V[0], V[3])
        counts[LONGEST] = counts[RUN]
    counts[RUN] = 0


def end_window(V, counts):
    """Keep the better of pocket and rival on this window; its longest run is the next rival."""
    w, pocket, rival, runner = V[0], V[1], V[2], V[3]
    if counts[RUN] > counts[LONGEST]:
        put(w, runner)
    if not counts[HELD]:
        put(runner, pocket)
    elif counts[RIVAL] < counts[POCKET]:
        put(rival, pocket)
    put(runner, rival)
    counts[HELD] = 1
    counts[RUN] = counts[RIVAL] = counts[POCKET] = 0
    counts[LONGEST] = -1


def put(w, into):
    """Copy weights, by place or, later ones that lack no name, by name."""
    if isinstance(w, list):
        for k in range(len(w)):
            into[k].update(w[k])
        return
    return into.update(w) if isinstance(w, dict) else put_array(w, into)


def put_array(w, into):
    """Copy weights: a plain loop compiles in a tenth of the time of a slice."""
    for i in range(len(w)):
        into[i] = w[i]


def predict(D, zero, ask, m, answers):
    """answers[n] = what the chosen weights say of row n."""
    V = m.vectors
    for n in range(len(answers)):
        answers[n] = sign(asked(D, n, ask, V, m.counts, in_order(D, n, V[0])), zero)


def predict_joint(D, zero, ask, m, answers):
    """answers[n] = the label that the chosen weights give row n."""
    for n in range(len(answers)):
        answers[n] = highest(D, n, zero, ask, m.vectors, m.counts, NONE)[0]


def highest(D, n, zero, ask, V, counts, but):
    """The label with the highest score of row n by the chosen weights, but for one label.

    Of equals it is the first, or with zero > 0 the last.
    """
    k, best = NONE, -np.inf
    for i in range(D.K):
        if i != but:
            s = in_order(D.rows, n, block(D, V[0], i))
            if ask == AVERAGE and counts[SEEN] > 0:
                s -= in_order(D.rows, n, block(D, V[-1], i)) / counts[SEEN]
            if ask == BEST and counts[HELD]:
                s = in_order(D.rows, n, block(D, V[1], i))
            if k == NONE or s > best or (s == best and zero > 0):
                k, best = i, s
    return k, best


def beaten(D, n, zero, V, counts):
    """Row n against the rival that beats its own label by the first of the weights, or NONE."""
    y = D.label[n]
    r, best = highest(D, n, zero, LAST, V, counts, y)
    right = in_order(D.rows, n, block(D, V[0], y))
    if right > best or (right == best and (y - r) * zero > 0):
        return NONE
    return n * D.K + r


def errs(D, n, zero, V, counts):
    """Do the first of the weights answer row n wrongly?"""
    if isinstance(D, Joint):
        return errs_joint(D, n, zero, V, counts)
    return errs_of_two(D, n, zero, V, counts)


def errs_of_two(D, n, zero, V, counts):
    """Of two labels, by the sign of the score."""
    return sign(in_order(D, n, V[0]), zero) * D.step[n] <= 0


def errs_joint(D, n, zero, V, counts):
    """Of more labels, by their scores."""
    return beaten(D, n, zero, V, counts) >= 0


def in_order(D, n, w):
    """w·x of row n, summed in the order of its entries: the same bits as one dict at a time."""
    if isinstance(D, Sparse):
        return score_sparse(D, n, w)
    return score_dense(D, n, w) if isinstance(D, Dense) else D.score(w)  # one dict


def squares_dense(D, n):
    """‖x‖² of row n, x0 included."""
    x = D.X[n]
    q = D.x0 * D.x0
    for i in range(len(x)):
        q += np.float64(x[i]) * x[i]
    return q


def squares_sparse(D, n):
    """‖x‖² of row n, x0 included, over its stored entries."""
    q = D.x0 * D.x0
    for j in range(D.indptr[n], D.indptr[n + 1]):
        q += np.float64(D.data[j]) * D.data[j]
    return q


def squares(D, n):
    """‖x‖² of row n in either format; `engine` binds it when compiling."""
    return squares_sparse(D, n) if isinstance(D, Sparse) else squares_dense(D, n)
