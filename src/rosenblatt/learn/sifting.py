"""The compiled loops of the sieve: rows as directions, hardest first, dropped from as they come."""

import functools
from typing import NamedTuple

import numpy as np

from rosenblatt import engine, kernels
from rosenblatt.engine import REORDER, Kernel

ROWS = 512  # looked at between two counts: their cosines stay in the cache
RANKS = 128
RANK_SAMPLE = 1024
PLAIN = (2.0**-120, 2.0**120)  # squares of lengths that single precision can do with


class Flight(NamedTuple):
    """Vectors on their way through the rows: who they are, and what is known of them."""

    units: np.ndarray
    bars: np.ndarray  # with so much wrong a vector is dropped
    wrong: np.ndarray  # what the sure mistakes weigh
    notes: np.ndarray  # pairs of a row and a vector in doubt; notes[0, 0] is how many there are
    slack: np.float32


def lengths(D, y, rows, step):
    """step[n] = y/‖x‖; not a number, so that nothing is ever sure, where ‖x‖ is extreme."""
    for n in rows:
        q = kernels.roughly_squares(D, n)
        step[n] = y[n] / np.sqrt(q) if PLAIN[0] < q < PLAIN[1] else np.nan


def directions(D, rows, out):
    """out[k] = y·x/‖x‖ of the k-th of some rows."""
    for k in range(len(rows)):
        n = rows[k]
        a = D.step[n]
        out[k, 0] = a * D.x0
        for i in range(D.X.shape[1]):
            out[k, i + 1] = a * D.X[n, i]


def survey(D, rows, means, cosines):
    """cosines[m, n] = how row n stands to the m-th mean."""
    A = np.empty((ROWS, means.shape[1]), dtype=np.float32)
    for start in range(0, len(rows), ROWS):
        some = rows[start : start + ROWS]
        directions(D, some, A[: len(some)])
        cosines[:, start : start + ROWS] = np.dot(means, A[: len(some)].T)


def hardest_first(cosines, order):
    """Order the rows by cosine, coarsely, by counting how many there are of each rank."""
    step, reach = 1 + len(cosines) // RANK_SAMPLE, 1e-30
    for n in range(0, len(cosines), step):
        if abs(cosines[n]) <= 1:
            reach += abs(cosines[n])
    scale = np.float32(RANKS / 4 * (1 + len(cosines) // step) / reach)
    rank = np.empty(len(cosines), dtype=np.uint8)
    for n in range(len(cosines)):
        place = cosines[n] * scale + np.float32(RANKS / 2)
        rank[n] = max(place, np.float32(0)) if place < RANKS else RANKS - 1
    ends = np.zeros(RANKS + 1, dtype=np.int64)
    for n in range(len(rank)):
        ends[rank[n] + 1] += 1
    for r in range(RANKS):
        ends[r + 1] += ends[r]
    for n in range(len(rank)):
        order[ends[rank[n]]] = n
        ends[rank[n]] += 1


def tell(cosines, slack, s):
    """What the sure mistakes of one vector on some rows weigh, and on how many it is in doubt."""
    wrong = doubts = 0
    for k in range(len(cosines)):
        wrong += s[k] * (cosines[k] < -slack)
        doubts += not (cosines[k] < -slack or cosines[k] > slack)
    return wrong, doubts


def note(cosines, slack, rows, b, notes):
    """Note on which rows the b-th vector is in doubt, as far as there is room."""
    for k in range(len(cosines)):
        if not (cosines[k] < -slack or cosines[k] > slack):
            notes[0, 0] += 1
            if notes[0, 0] < len(notes):
                notes[notes[0, 0], 0], notes[notes[0, 0], 1] = rows[k], b


def sift(D, order, costs, flight, few):
    """Look at the rows in order until only a few vectors are below their bars; return these."""
    W, bars, wrong = flight.units.copy(), flight.bars.copy(), flight.wrong.copy()
    left = np.arange(len(W))
    A = np.empty((ROWS, W.shape[1]), dtype=np.float32)
    room = np.empty(ROWS * len(W), dtype=np.float32)
    for start in range(0, len(order), ROWS):
        rows = order[start : start + ROWS]
        directions(D, rows, A[: len(rows)])
        cosines = room[: len(left) * len(rows)].reshape(len(left), len(rows))
        np.dot(W[: len(left)], A[: len(rows)].T, cosines)
        s, kept = costs[rows], 0
        for b in range(len(left)):
            more, doubts = tell(cosines[b], flight.slack, s)
            if doubts > 0:
                note(cosines[b], flight.slack, rows, left[b], flight.notes)
            wrong[b] += more
            if wrong[b] < bars[b]:
                left[kept], bars[kept], wrong[kept], W[kept] = left[b], bars[b], wrong[b], W[b]
                kept += 1
        left = left[:kept]
        if kept <= few:
            break
    for b in range(len(left)):
        flight.wrong[left[b]] = wrong[b]
    return left


@functools.cache
def bind() -> None:
    """Tell Numba to compile the helpers of this file."""
    engine.overload(directions)(lambda D, rows, out: directions)
    engine.overload(tell, jit_options={"fastmath": REORDER})(lambda cosines, slack, s: tell)
    engine.overload(note)(lambda cosines, slack, rows, b, notes: note)


run_lengths = Kernel(lengths)
run_survey = Kernel(survey, bind)
run_hardest_first = Kernel(hardest_first)
run_sift = Kernel(sift, bind)
