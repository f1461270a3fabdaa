"""The compiled part of a walk through cells: what costs too much is left out, for certain.

Rows are floats, off by `slack` at most: a sign or an order that this could decide is taken to be
whatever costs less. So a cell that is cheaper than the limit is never left out.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from rosenblatt.engine import REORDER, Kernel, helpers

ROUNDED = 2.0**-46  # what floats of length 1 are off by after one projection, and more
SMALL = 2.0**-12  # a row projected onto two dimensions that is smaller is left out there
HALVINGS = 12  # of each side of a simplex
SAMPLE = 32  # rows, about, by which a side is chosen
LEAF = 12  # rows that may be right in a simplex: so few it is not cut further
STEPS = 5  # of a bound
SHARPNESS = 2.0
LARGEST_TERM = 1024.0
KNOWN, FOUND = 1, 2  # marks: a row that need not be a pivot, and one that may be


class Scratch(NamedTuple):
    """Room to work on one simplex: a row's lowest and highest score, its slope, its place."""

    low: np.ndarray
    high: np.ndarray
    slope: np.ndarray
    chosen: np.ndarray
    spots: np.ndarray


def halve(old, new, size, sides, scratch):
    """Go over to the half of a simplex at the first corner of a side; returns nothing.

    The middle of the side replaces the second corner; scores of it are halves of sums.
    """
    a, b = sides
    low, high = scratch.low, scratch.high
    for i in range(size):
        new[b, i] = 0.5 * (old[a, i] + old[b, i])
        low[i] = high[i] = new[b, i]
    for v in range(old.shape[0]):
        if v != b:
            for i in range(size):
                s = old[v, i]
                low[i] = s if s < low[i] else low[i]
                high[i] = s if s > high[i] else high[i]


def sort_out(old, new, place, rows, costs, marks, slack, scratch):
    """Keep the rows that are neither right nor wrong throughout.

    Returns how many, what those cost that are wrong, and whether one that is left has no mark.
    """
    (size, b), (which, left) = place, rows
    low, high, spots = scratch.low, scratch.high, scratch.spots
    k = wrong = 0
    news = False
    for i in range(size):
        n = which[i]
        if high[i] < -slack:
            wrong += costs[n]
        elif low[i] <= slack:
            steep = low[i] < -slack and high[i] < LARGEST_TERM * -low[i]
            scratch.slope[k] = costs[n] / (low[i] - slack) if steep else 0.0
            left[k], spots[k] = n, i
            news = news or marks[n] == 0
            k += 1
    for v in range(old.shape[0]):
        source = new if v == b else old
        for i in range(k):
            new[v, i] = source[v, spots[i]]
    return k, wrong, news


def relax(scores, size, scratch, slack, margin, wanted):
    """What rows cost at least in a simplex though none is wrong throughout.

    A row of scores s at the corners, the lowest below 0, costs no less than -s/|lowest|, linear in
    w: at most 1 where it is wrong, at most 0 where it is right. The sum of this over some rows is
    least at a corner. Those are taken that are wrong at one place, then, while the bound may still
    reach what is wanted, at another nearer to the corners that are cheapest so far; the mean of
    such bounds is one, too.
    """
    m = scores.shape[0]
    gains, share = np.zeros(m), np.zeros(m)
    for v in range(m):
        share[v] = 1.0 / m
    bound = 0.0
    for step in range(1, STEPS + 1):
        take(scores, size, share, slack, scratch, gains)
        least, most = gains[0], gains[0]
        for v in range(1, m):
            least, most = min(least, gains[v]), max(most, gains[v])
        least, most = least / step, most / step
        bound = max(bound, least)
        if least - margin > wanted - 1 or most < wanted:
            break
        total = 0.0
        for v in range(m):
            share[v] = np.exp(SHARPNESS * (least - gains[v] / step) / max(most - least, margin))
            total += share[v]
        for v in range(m):
            share[v] /= total
    return int(np.ceil(bound - margin))


def take(scores, size, share, slack, scratch, gains):
    """Add up what rows that are wrong at one place cost at each corner."""
    m, chosen = scores.shape[0], scratch.chosen
    for i in range(size):
        chosen[i] = 0.0
    for v in range(m):
        for i in range(size):
            chosen[i] += share[v] * scores[v, i]
    slopes = 0.0
    for i in range(size):
        chosen[i] = scratch.slope[i] if chosen[i] < 0 else 0.0
        slopes += chosen[i]
    for v in range(m):
        gain = 0.0
        for i in range(size):
            gain += chosen[i] * scores[v, i]
        gains[v] += gain + slopes * slack


def side(corners, scores, size):
    """The two corners between which most rows change their answer and that are far apart."""
    m = scores.shape[0]
    a, b, most = 0, 1, -1.0
    step = 1 + size // SAMPLE
    for i in range(m):
        for j in range(i):
            square = 0.0
            for v in range(m):
                square += (corners[i, v] - corners[j, v]) ** 2
            changes = 1
            for k in range(0, size, step):
                changes += (scores[i, k] > 0) != (scores[j, k] > 0)
            if changes * np.sqrt(square) > most:
                a, b, most = j, i, changes * np.sqrt(square)
    return a, b


def mark(rows, costs, marks, bound, parts, nodes, halt):
    """Mark each row without a mark whose plane meets a simplex where w may cost less.

    Simplices begin with those of the axes and are halved again and again. A part is one of the
    first, and which half of it to take how often at first. After so many `nodes` no more are cut.
    """
    (m, N), (limit, slack), (first, last, path) = rows.shape, bound, parts
    deepest = HALVINGS * (m - 1)
    scores = np.empty((deepest + 1, m, N))
    which = np.empty((deepest + 1, N), dtype=np.int32)
    corners = np.zeros((deepest + 1, m, m))
    sides = np.zeros((deepest + 1, 2), dtype=np.int64)
    known = np.zeros((deepest + 1, 3), dtype=np.int64)  # rows left, cost for certain, halves seen
    scratch = Scratch(
        np.empty(N), np.empty(N), np.empty(N), np.empty(N), np.empty(N, dtype=np.int32)
    )
    total = used = 0
    for n in range(N):
        total += costs[n]
    margin = LARGEST_TERM * 2.0**-50 * N * total  # of sums of floats
    for part in range(first, last):
        begin_with(rows, part, scores[0], which[0], corners[0])
        known[0, 0], known[0, 1], known[0, 2] = N, 0, 0
        level = 0
        while level >= 0 and not halt[0]:
            seen = known[level, 2]
            if seen == 2:
                level -= 1
                continue
            old, new, size = scores[level], scores[level + 1], known[level, 0]
            if seen == 0:
                sides[level, 0], sides[level, 1] = side(corners[level], old, size)
            known[level, 2] += 1
            if level < path:
                seen = (part >> (m + level)) & 1
                known[level, 2] = 2  # the other half is another part
            a, b = sides[level, seen], sides[level, 1 - seen]
            used += 1
            nodes[0] -= 1
            halve(old, new, size, (a, b), scratch)
            left = which[level], which[level + 1]
            size, wrong, news = sort_out(old, new, (size, b), left, costs, marks, slack, scratch)
            wrong += known[level, 1]
            if wrong >= limit or not news:
                continue
            more = relax(new, size, scratch, slack, margin, limit - wrong) if size > LEAF else 0
            if wrong + more >= limit:
                continue
            if size <= LEAF or level + 1 == deepest or nodes[0] <= 0:
                for i in range(size):
                    if marks[which[level + 1, i]] == 0:
                        marks[which[level + 1, i]] = FOUND
                continue
            level += 1
            for i in range(m):
                for v in range(m):
                    corners[level, i, v] = corners[level - 1, i, v]
            for v in range(m):
                corners[level, b, v] = 0.5 * (corners[level, a, v] + corners[level, b, v])
            known[level, 0], known[level, 1], known[level, 2] = size, wrong, 0
    return used


def begin_with(rows, part, scores, which, corners):
    """The simplex of all axes, each in one of its two directions, and the scores at its corners."""
    m, N = rows.shape
    for n in range(N):
        which[n] = n
    for v in range(m):
        for i in range(m):
            corners[v, i] = 0.0
        corners[v, v] = 1.0 - 2.0 * ((part >> v) & 1)
        for n in range(N):
            scores[v, n] = corners[v, v] * rows[v, n]


def frame(rows, n):
    """Two orthonormal directions that are orthogonal to row n of three numbers, its length."""
    x, y, z = rows[0, n], rows[1, n], rows[2, n]
    length = np.sqrt(x * x + y * y + z * z)
    x, y, z = x / length, y / length, z / length
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        p, q, r = 0.0, -z, y
    elif abs(y) <= abs(z):
        p, q, r = z, 0.0, -x
    else:
        p, q, r = -y, x, 0.0
    size = np.sqrt(p * p + q * q + r * r)
    p, q, r = p / size, q / size, r / size
    s, t, u = y * r - z * q, z * p - x * r, x * q - y * p
    # Turned by some angle, so that rows on a grid do not all cross at the first axis.
    c, d = np.cos(1.0), np.sin(1.0)
    first = (c * p + d * s, c * q + d * t, c * r + d * u)
    second = (c * s - d * p, c * t - d * q, c * u - d * r)
    return first, second, length


def project(rows, first, second, keys, rising):
    """Where on half a turn from `first` each row changes its answer, from -1 to 1.

    Keys of rows that are too short to tell are 2. A row rises in cost if it is right at first.
    """
    for n in range(rows.shape[1]):
        x, y, z = rows[0, n], rows[1, n], rows[2, n]
        a = first[0] * x + first[1] * y + first[2] * z
        b = second[0] * x + second[1] * y + second[2] * z
        size = abs(a) + abs(b)
        key = (b if a > 0 else -b) / max(size, SMALL)
        keys[n] = key if size >= SMALL else 2.0
        rising[n] = a > 0


def count(keys, rising, costs, bins):
    """What no w on the circle costs less than, from the changes counted in bins of angles.

    An event may be in the next bin but for rounding, so two bins at a time are passed in the order
    that costs least; at both ends of the half turn, what is there may be at the other end.
    """
    size = bins.shape[0] - 1
    bins[:] = 0
    start = total = 0
    for n in range(len(keys)):
        if keys[n] < 1.5:
            k = min(int((keys[n] + 1.0) * (0.5 * size)), size - 1)
            total += costs[n]
            if rising[n]:
                bins[k, 0] += costs[n]
            else:
                bins[k, 1] += costs[n]
                start += costs[n]
    ends = bins[0, 0] + bins[0, 1] + bins[size - 1, 0] + bins[size - 1, 1]
    lowest = total
    f = start
    for k in range(size):
        falls = bins[k, 1] + bins[k + 1, 1]
        rises = bins[k, 0] + bins[k + 1, 0]
        least = min(f - falls, total - f - rises)
        if k == 0 or k >= size - 2:
            least -= ends
        lowest = min(lowest, least)
        f += bins[k, 0] - bins[k, 1]
    return lowest


def sweep(keys, rising, costs, near):
    """The same from the changes in order; those nearer than `near` are in no order."""
    order = np.argsort(keys)
    start = total = ends = 0
    for n in range(len(keys)):
        if keys[n] < 1.5:
            total += costs[n]
            start += 0 if rising[n] else costs[n]
            ends += costs[n] if abs(keys[n]) > 1.0 - near else 0
    lowest = min(start, total - start) - ends
    f, last = start, -1.0
    before, falls, rises = start, 0, 0
    for i in range(len(order)):
        n = order[i]
        if keys[n] > 1.5:
            break
        if keys[n] - last > near:
            here = 0 if abs(last) < 1.0 - near else ends
            lowest = min(lowest, min(f, total - f) - here)
            before, falls, rises = f, 0, 0
        if rising[n]:
            f += costs[n]
            rises += costs[n]
        else:
            f -= costs[n]
            falls += costs[n]
        last = keys[n]
        here = 0 if abs(last) < 1.0 - near else ends
        if falls + rises > costs[n]:
            lowest = min(lowest, min(before - falls, total - before - rises) - here)
    return min(lowest, min(f, total - f) - ends)


def turn(rows, costs, pivots, bounds, limit, slack):
    """Bound from below what w on the plane of each pivot cost, closely where it may be little."""
    N = rows.shape[1]
    keys, rising = np.empty(N), np.empty(N, dtype=np.bool_)
    bins = np.zeros((2 * N + 9, 2), dtype=np.int64)
    for i in range(len(pivots)):
        first, second, length = frame(rows, pivots[i])
        project(rows, first, second, keys, rising)
        near = 16 * (slack * (1 + 1.1 / length) + ROUNDED) / SMALL
        bounds[i] = count(keys, rising, costs, bins) if near * len(bins) < 1.0 else 0
        if bounds[i] < limit:
            bounds[i] = sweep(keys, rising, costs, near)


@functools.cache
def bind() -> None:
    """Tell Numba to compile the helpers of this file."""
    helpers(halve, take, fastmath=REORDER)
    helpers(sort_out, relax, side, begin_with, frame, project, count, sweep)


run_mark = Kernel(mark, bind)
run_turn = Kernel(turn, bind)
