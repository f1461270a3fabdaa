"""The online rule, which predicts each row and then updates the weights on a mistake.

The rule is written once. Compiled code applies it to blocks of rows; for a single dict, `learn` and
its helpers run as plain Python, with the vectors of `memory`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from rosenblatt.engine import (
    INSIDE,
    Kernel,
    bind_by_format,
    helpers,
    is_joint,
    is_sparse,
    measuring_pass,
    one_pass,
)
from rosenblatt.rowformats import (
    LONGEST_SQUARED,
    NONE,
    Dense,
    Joint,
    Sparse,
    add,
    label_weights,
    measure,
    score_dense,
    score_sparse,
    sign,
    squared_length,
    step,
)

# Indices of Memory.counts; AT is the position in the window.
SEEN, MISTAKES, RECENT, RUN, LONGEST, CANDIDATE, POCKET, HELD, AT = range(9)
# Flags of the vectors that are kept besides w; choices of the weights used to predict.
AVERAGED, POCKETED = 1, 2
LAST, AVERAGE, BEST = range(3)
# A row shorter than the longest by this factor is shorter in every order of summation.
SURELY_SHORTER = 1 - 1e-9
# Scores in two orders of summation differ by less than this share of ‖w‖·‖x‖ for each feature.
# Below the least square, numbers are so small that relative errors mean nothing.
ORDER_SHARE, ORDER_LEAST = 2.0**-50, 1e-280


class Memory(NamedTuple):
    """Weights and counts of an online perceptron, as arrays for compiled code.

    The vectors are w; with a pocket, the pocket (best on the last window), the candidate that is
    judged beside it on this window, and the runner (longest run of correct predictions in this
    window); with an average u, where w - u / seen is the average of the weights.
    """

    vectors: np.ndarray
    kept: int
    window: np.ndarray  # ring buffer: whether each of the last examples was a mistake
    counts: np.ndarray
    squared_radius: np.ndarray


def online(D, zero, predictor, m, predictions):
    """Predict each row, then learn it if it has a label.

    The step of a row without a label is 0. Returns the number of rows processed: it stops before a
    row that contains NaN or infinity, or whose norm is too large. `size` is an upper bound on ‖w‖²:
    an update after a mistake adds at most ‖a·x‖² to it.
    """
    V, counts, window, radius = m.vectors, m.counts, m.window, m.squared_radius
    w = V[0]
    size, share = squared_length(w), ORDER_SHARE * (len(w) + 1)
    for n in range(len(D.step)):
        s, q = measure(D, n, w)
        if not q < LONGEST_SQUARED:
            return n
        # An average needs the score itself; a prediction and an update need only its sign.
        if s * s <= share * share * size * q + ORDER_LEAST or predictor == AVERAGE:
            s = score_in_order(D, n, w)
        predictions[n] = sign(predicting_score(D, n, predictor, V, counts, s), zero)
        if D.step[n] != 0:
            if q > SURELY_SHORTER * radius[0]:
                radius[0] = max(radius[0], squared_norm(D, n))
            mistake = n if sign(s, zero) * D.step[n] <= 0 else NONE
            if learn(D, n, zero, mistake, V, m.kept, counts, window):
                size += D.step[n] * D.step[n] * q
    return len(D.step)


def online_joint(D, zero, predictor, m, predictions):
    """Predict one of K labels for each row, then learn the row unless its label is NONE."""
    V, counts, radius = m.vectors, m.counts, m.squared_radius
    for n in range(len(D.label)):
        q = squared_norm(D.rows, n)
        if not q < LONGEST_SQUARED:
            return n
        predictions[n] = best_label(D, n, zero, predictor, V, counts, NONE)[0]
        if D.label[n] != NONE:
            radius[0] = max(radius[0], q)
            mistake = joint_mistake(D, n, zero, V, counts)
            learn(D, n, zero, mistake, V, m.kept, counts, m.window)
    return len(D.label)


def learn(D, n, zero, mistake, V, kept, counts, window):
    """Count row n as learned, and update the weights if it was misclassified.

    `mistake` is an integer that identifies the update, or NONE if row n was classified correctly.
    """
    wrong = mistake >= 0
    at = counts[AT]
    if window[at] != wrong:
        window[at] = wrong
        counts[RECENT] += 1 if wrong else -1
    if kept & POCKETED:
        judge_pocket(D, n, zero, V, counts, wrong)
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


def predicting_score(D, n, predictor, V, counts, s):
    """Compute the score of row n with the last, the average or the pocket weights.

    `predictor` selects these weights: LAST, AVERAGE or BEST.
    `s` is the score of row n with the last weights.
    """
    if predictor == AVERAGE and counts[SEEN] > 0:
        return s - score_in_order(D, n, V[-1]) / counts[SEEN]
    if predictor == BEST and counts[HELD]:
        return score_in_order(D, n, V[1])
    return s


def judge_pocket(D, n, zero, V, counts, wrong):
    """Count the mistakes of the pocket, and of the candidate to replace it, on row n.

    If a mistake on row n ends the longest run of correct predictions in this window, save w.
    """
    counts[POCKET] += misclassifies(D, n, zero, V[1:], counts)
    counts[CANDIDATE] += misclassifies(D, n, zero, V[2:], counts)
    if not wrong:
        counts[RUN] += 1
        return
    if counts[RUN] > counts[LONGEST]:
        copy_weights(V[0], V[3])
        counts[LONGEST] = counts[RUN]
    counts[RUN] = 0


def end_window(V, counts):
    """At the end of a window of rows, pocket the candidate weights if they made fewer mistakes.

    The weights with the longest run of correct predictions in the window become the next candidate,
    and after the first window also the pocket.
    """
    w, pocket, candidate, runner = V[0], V[1], V[2], V[3]
    if counts[RUN] > counts[LONGEST]:
        copy_weights(w, runner)
    if not counts[HELD]:
        copy_weights(runner, pocket)
    elif counts[CANDIDATE] < counts[POCKET]:
        copy_weights(candidate, pocket)
    copy_weights(runner, candidate)
    counts[HELD] = 1
    counts[RUN] = counts[CANDIDATE] = counts[POCKET] = 0
    counts[LONGEST] = -1


def copy_weights(w, into):
    """Copy weights from one vector into another, by position or by name."""
    if isinstance(w, list):
        for k in range(len(w)):
            into[k].update(w[k])
        return
    return into.update(w) if isinstance(w, dict) else copy_array(w, into)


def copy_array(w, into):
    """Copy an array in a loop, which compiles ten times faster than a slice."""
    for i in range(len(w)):
        into[i] = w[i]


def predict(D, zero, predictor, m, predictions):
    """Predict -1 or +1 for every row by the last, the average or the pocket weights.

    `predictor` selects these weights: LAST, AVERAGE or BEST.
    """
    V = m.vectors
    for n in range(len(predictions)):
        predictions[n] = sign(
            predicting_score(D, n, predictor, V, m.counts, score_in_order(D, n, V[0])), zero
        )


def predict_joint(D, zero, predictor, m, predictions):
    """Predict one of K labels for every row by the last, the average or the pocket weights.

    `predictor` selects these weights: LAST, AVERAGE or BEST.
    """
    for n in range(len(predictions)):
        predictions[n] = best_label(D, n, zero, predictor, m.vectors, m.counts, NONE)[0]


def best_label(D, n, zero, predictor, V, counts, but):
    """Return the index of the label, except `but`, that scores highest on row n, and its score.

    Of equal scores the first label wins, or with zero > 0 the last.
    """
    k, best = NONE, -np.inf
    for i in range(D.K):
        if i != but:
            s = score_in_order(D.rows, n, label_weights(D, V[0], i))
            if predictor == AVERAGE and counts[SEEN] > 0:
                s -= score_in_order(D.rows, n, label_weights(D, V[-1], i)) / counts[SEEN]
            if predictor == BEST and counts[HELD]:
                s = score_in_order(D.rows, n, label_weights(D, V[1], i))
            if k == NONE or s > best or (s == best and zero > 0):
                k, best = i, s
    return k, best


def joint_mistake(D, n, zero, V, counts):
    """Return an integer that identifies the update if V[0] misclassifies row n, else NONE.

    The integer n·K + r means: add row n to the weights of its own label, and subtract it from the
    weights of label r.
    """
    y = D.label[n]
    r, best = best_label(D, n, zero, LAST, V, counts, y)
    right = score_in_order(D.rows, n, label_weights(D, V[0], y))
    if right > best or (right == best and (y - r) * zero > 0):
        return NONE
    return n * D.K + r


def misclassifies(D, n, zero, V, counts):
    """Return whether V[0], the first weight vector in V, misclassifies row n."""
    if isinstance(D, Joint):
        return misclassifies_joint(D, n, zero, V, counts)
    return misclassifies_of_two(D, n, zero, V, counts)


def misclassifies_of_two(D, n, zero, V, counts):
    """Return whether V[0], a weight vector for two labels, misclassifies row n."""
    return sign(score_in_order(D, n, V[0]), zero) * D.step[n] <= 0


def misclassifies_joint(D, n, zero, V, counts):
    """Return whether V[0], which holds the weights of K > 2 labels, misclassifies row n."""
    return joint_mistake(D, n, zero, V, counts) >= 0


def score_in_order(D, n, w):
    """Compute the score w·x of row n, summed in the order of its entries."""
    if isinstance(D, Sparse):
        return score_sparse(D, n, w)
    return score_dense(D, n, w) if isinstance(D, Dense) else D.score(w)  # a dict


def squared_norm_dense(D, n):
    """Compute the squared norm of dense row n, including x0."""
    x = D.X[n]
    q = D.x0 * D.x0
    for i in range(len(x)):
        q += np.float64(x[i]) * x[i]
    return q


def squared_norm_sparse(D, n):
    """Compute the squared norm of sparse row n, including x0."""
    q = D.x0 * D.x0
    for j in range(D.indptr[n], D.indptr[n + 1]):
        q += np.float64(D.data[j]) * D.data[j]
    return q


def squared_norm(D, n):
    """Compute the squared norm of row n, including x0."""
    return squared_norm_sparse(D, n) if isinstance(D, Sparse) else squared_norm_dense(D, n)


@functools.cache
def bind() -> None:
    """Register the helper functions of the online kernels with Numba."""
    # A stream gives the same bits row by row and in blocks: sums are not reordered here.
    bind_by_format(score_in_order, lambda D: score_sparse if is_sparse(D) else score_dense)
    bind_by_format(
        squared_norm, lambda D: squared_norm_sparse if is_sparse(D) else squared_norm_dense
    )
    bind_by_format(
        misclassifies, lambda D: misclassifies_joint if is_joint(D) else misclassifies_of_two
    )
    # With more than two labels, slices of vectors are taken, which need reference counts.
    bind_by_format(learn, lambda D: None if is_joint(D) else learn, **INSIDE)
    bind_by_format(learn, lambda D: learn if is_joint(D) else None)
    bind_by_format(judge_pocket, lambda D: None if is_joint(D) else judge_pocket, **INSIDE)
    bind_by_format(judge_pocket, lambda D: judge_pocket if is_joint(D) else None)
    helpers(joint_mistake, best_label, end_window)
    helpers(predicting_score, **INSIDE)
    bind_by_format(copy_weights, lambda w: copy_array)


run_online = Kernel(online, bind, measuring_pass)
run_online_joint = Kernel(online_joint, bind, measuring_pass)
run_predict = Kernel(predict, bind, one_pass)
run_predict_joint = Kernel(predict_joint, bind, one_pass)
