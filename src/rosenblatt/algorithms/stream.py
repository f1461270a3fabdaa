"""The online pass: predict each row as it comes, then learn its answer.

The rule is written once. Blocks of rows are compiled; one dict at a time calls `learn` and its
helpers as the Python that stands here, with the vectors of `memory`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

import rosenblatt.scoring as scoring
from rosenblatt.engine import INSIDE, Kernel, chosen, helpers, is_joint, is_sparse, one_pass
from rosenblatt.kernels import (
    NONE,
    Dense,
    Joint,
    Sparse,
    add,
    block,
    score_dense,
    score_sparse,
    sign,
    step,
)
from rosenblatt.scoring import LONGEST_SQUARED, measure, squared_length

# What an online perceptron counts, by place in Memory.counts; AT is the place in its window.
SEEN, MISTAKES, RECENT, RUN, LONGEST, RIVAL, POCKET, HELD, AT = range(9)
# What it keeps beside w, and the weights it predicts with.
AVERAGED, POCKETED = 1, 2
LAST, AVERAGE, BEST = range(3)
# A row this much shorter than the longest cannot be the longest, in whatever order it is summed.
SURELY_SHORTER = 1 - 1e-9
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


@functools.cache
def bind() -> None:
    """Tell Numba to compile the helpers of this file, wherever kernels call them."""
    scoring.bind()
    # A stream gives the same bits one dict or one block at a time: no reordering here.
    chosen(in_order, lambda D: score_sparse if is_sparse(D) else score_dense)
    chosen(squares, lambda D: squares_sparse if is_sparse(D) else squares_dense)
    chosen(errs, lambda D: errs_joint if is_joint(D) else errs_of_two)
    # With more labels parts of vectors are taken, whose references are counted.
    chosen(learn, lambda D: None if is_joint(D) else learn, **INSIDE)
    chosen(learn, lambda D: learn if is_joint(D) else None)
    chosen(watch_row, lambda D: None if is_joint(D) else watch_row, **INSIDE)
    chosen(watch_row, lambda D: watch_row if is_joint(D) else None)
    helpers(beaten, highest, end_window)
    helpers(asked, **INSIDE)
    chosen(put, lambda w: put_array)


run_online = Kernel(online, bind, scoring.measuring_pass)
run_online_joint = Kernel(online_joint, bind, scoring.measuring_pass)
run_predict = Kernel(predict, bind, one_pass)
run_predict_joint = Kernel(predict_joint, bind, one_pass)
