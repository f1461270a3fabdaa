"""Compiled loops for enumerating cells, sets of weights with equal mistakes.

They drop cells that certainly cost too much. Rows are floats with an error of at most `error`: a
sign or an order that this could decide is taken to be whichever costs less. So a cell that is
cheaper than the limit is never dropped. Loops get their workspace as arguments: those that create
no arrays compile in half the time.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from rosenblatt.engine import REORDER, UNCOUNTED, Kernel, helpers

ROUNDED = 2.0**-46  # bound on the rounding error of unit vectors after one projection
SMALL = 2.0**-12  # rows that are shorter after projection onto two dimensions are left out
HALVINGS = 12  # maximum number of times that each side of a simplex is halved
SAMPLE = 32  # approximate number of rows by which the side to halve is chosen
LEAF = 12  # a simplex with at most this many undecided rows is not cut further
STEPS = 5  # maximum number of steps to improve a bound
SHARPNESS = 2.0
LARGEST_TERM = 1024.0
# Gaps for a Shell sort of some thousand crossings: Ciura's, continued in the same ratio.
GAPS = (19930, 8858, 3937, 1750, 701, 301, 132, 57, 23, 10, 4, 1)
KNOWN, FOUND = 1, 2  # marks of rows that cannot be the next pivot, and of rows that may be


class Scratch(NamedTuple):
    """Work arrays for one simplex of weights, most of them with an entry per undecided row.

    A row is undecided if some w in the simplex misclassify it and others do not.
    """

    low: np.ndarray  # lowest score in the simplex
    high: np.ndarray  # highest score in the simplex
    slope: np.ndarray  # slope of a linear bound on the cost
    chosen: np.ndarray  # the slope, for rows that are wrong at one point
    spots: np.ndarray  # position in the larger simplex
    gains: np.ndarray  # bound on the cost at each corner
    share: np.ndarray  # coordinates of a point: its share of each corner


class Levels(NamedTuple):
    """Stack of simplices in weight space, each one half of the one before it.

    The search halves the last one, or drops it and continues with the other half.
    """

    scores: np.ndarray  # of the rows at the corners
    which: np.ndarray  # undecided rows
    corners: np.ndarray
    sides: np.ndarray  # the edge that is halved, as two corners
    known: np.ndarray  # number of undecided rows, certain cost, number of halves done


def new_levels(m: int, n: int) -> tuple[Levels, Scratch]:
    """Allocate the arrays that `mark` writes to, for n rows with m coordinates."""
    depth = HALVINGS * (m - 1) + 1
    levels = Levels(
        np.empty((depth, m, n)),
        np.empty((depth, n), dtype=np.int32),
        np.empty((depth, m, m)),
        np.empty((depth, 2), dtype=np.int64),
        np.empty((depth, 3), dtype=np.int64),
    )
    low, high, slope, chosen = np.empty((4, n))
    return levels, Scratch(
        low, high, slope, chosen, np.empty(n, dtype=np.int32), np.empty(m), np.empty(m)
    )


class Crossings(NamedTuple):
    """Points on a half circle in weight space where the scores of rows change sign."""

    keys: np.ndarray  # positions from -1 to 1
    changes: np.ndarray  # changes of cost
    bins: np.ndarray  # sums of the changes over parts of the half circle


def new_crossings(n: int) -> Crossings:
    """Allocate the arrays that `turn` writes to, for n rows."""
    changes, bins = np.empty(n, dtype=np.int64), np.empty((2 * n + 9, 2), dtype=np.int64)
    return Crossings(np.empty(n), changes, bins)


def halve(old, new, size, sides, scratch):
    """Halve a simplex of weights at the middle of an edge; compute the scores for one half.

    The half is the one that keeps the first corner of the edge. The middle of the edge replaces
    the second corner; its scores are the means of both.
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


def sort_out(old, new, place, rows, costs, marks, error, scratch):
    """Keep the undecided rows: those that only some of the weights in a simplex misclassify.

    Return their number, the cost of the rows that all these weights misclassify, and whether an
    undecided row has no mark yet.
    """
    (size, b), (which, left) = place, rows
    low, high, spots = scratch.low, scratch.high, scratch.spots
    k = wrong = 0
    news = False
    for i in range(size):
        n = which[i]
        if high[i] < -error:
            wrong += costs[n]
        elif low[i] <= error:
            steep = low[i] < -error and high[i] < LARGEST_TERM * -low[i]
            scratch.slope[k] = costs[n] / (low[i] - error) if steep else 0.0
            left[k], spots[k] = n, i
            news = news or marks[n] == 0
            k += 1
    for v in range(old.shape[0]):
        source = new if v == b else old
        for i in range(k):
            new[v, i] = source[v, spots[i]]
    return k, wrong, news


def relax(scores, size, scratch, error, margin, wanted):
    """Compute a lower bound on the cost of the rows that only some w in a simplex misclassify.

    A row with scores s at the corners, the lowest below 0, costs at least -s/|lowest|, which is
    linear in w: at most 1 where it is wrong, at most 0 where it is correct. The sum over some rows
    is least at a corner. The rows are first those that are wrong at one point, then, while the
    bound may still reach the wanted value, at a point nearer to the corners that are cheapest so
    far; the mean of such bounds is a bound, too.
    """
    m, gains, share = scores.shape[0], scratch.gains, scratch.share
    for v in range(m):
        gains[v], share[v] = 0.0, 1.0 / m
    bound = 0.0
    for step in range(1, STEPS + 1):
        add_gains(scores, size, error, scratch)
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


def add_gains(scores, size, error, scratch):
    """Compute a lower bound on the cost of mistakes, linear in w, at each corner of a simplex.

    It is a sum over the rows that are wrong at one point of the simplex, the mean of its corners
    weighted by `scratch.share`, and is added to `scratch.gains`.
    """
    m, chosen, share = scores.shape[0], scratch.chosen, scratch.share
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
        scratch.gains[v] += gain + slopes * error


def choose_edge(corners, scores, size):
    """Choose the edge at which to halve a simplex: a long one where many scores change sign.

    Return its two corners.
    """
    m = scores.shape[0]
    a, b, most = 0, 1, -1.0
    step = 1 + size // SAMPLE
    for i in range(m):
        for j in range(i):
            square = 0.0
            for v in range(m):
                length = corners[i, v] - corners[j, v]
                square += length * length
            changes = 1
            for k in range(0, size, step):
                changes += (scores[i, k] > 0) != (scores[j, k] > 0)
            if changes * np.sqrt(square) > most:
                a, b, most = j, i, changes * np.sqrt(square)
    return a, b


def mark(rows, costs, marks, bound, parts, halt, workspace):
    """Mark rows whose hyperplane may border a cell where mistakes cost less than a limit.

    It meets a simplex of weights that may contain such a cell. Simplices begin with those of the
    axes and are halved repeatedly. A part is one of the first simplices with a path of halves to
    begin with.
    """
    (m, N), (limit, error), (first, last, path) = rows.shape, bound, parts
    (scores, which, corners, sides, known), scratch = workspace
    deepest = len(known) - 1
    total = 0
    for n in range(N):
        total += costs[n]
    margin = LARGEST_TERM * 2.0**-50 * N * total  # rounding error of sums
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
                sides[level, 0], sides[level, 1] = choose_edge(corners[level], old, size)
            known[level, 2] += 1
            if level < path:
                seen = (part >> (m + level)) & 1
                known[level, 2] = 2  # the other half belongs to another part
            a, b = sides[level, seen], sides[level, 1 - seen]
            halve(old, new, size, (a, b), scratch)
            left = which[level], which[level + 1]
            size, wrong, news = sort_out(old, new, (size, b), left, costs, marks, error, scratch)
            wrong += known[level, 1]
            if wrong >= limit or not news:
                continue
            more = relax(new, size, scratch, error, margin, limit - wrong) if size > LEAF else 0
            if wrong + more >= limit:
                continue
            if size <= LEAF or level + 1 == deepest:
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


def begin_with(rows, part, scores, which, corners):
    """Set up an initial simplex in weight space, with one corner on each coordinate axis.

    Bit v of `part` says whether corner v lies on the negative half of axis v.
    """
    m, N = rows.shape
    for n in range(N):
        which[n] = n
    for v in range(m):
        for i in range(m):
            corners[v, i] = 0.0
        corners[v, v] = 1.0 - 2.0 * ((part >> v) & 1)
        for n in range(N):
            scores[v, n] = corners[v, v] * rows[v, n]


def find_basis(rows, n):
    """Compute an orthonormal basis of the plane orthogonal to row n.

    Return it and the length of the row.
    """
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
    # Rotate by some angle, so that rows on a grid do not all change sign at the first axis.
    c, d = np.cos(1.0), np.sin(1.0)
    first = (c * p + d * s, c * q + d * t, c * r + d * u)
    second = (c * s - d * p, c * t - d * q, c * u - d * r)
    return first, second, length


def project(rows, costs, first, second, crossings):
    """Compute where the score of each row changes sign on a half circle of weights.

    The half circle goes from `first` through `second`; a position on it is from -1 to 1. The
    change of cost is positive for a row that is correct at `first`. Rows too short to decide come
    last and change nothing.
    """
    for n in range(rows.shape[1]):
        x, y, z = rows[0, n], rows[1, n], rows[2, n]
        a = first[0] * x + first[1] * y + first[2] * z
        b = second[0] * x + second[1] * y + second[2] * z
        size = abs(a) + abs(b)
        key = (b if a > 0 else -b) / (size if size > SMALL else SMALL)
        change = costs[n] if a > 0 else -costs[n]
        crossings.keys[n] = key if size >= SMALL else 2.0
        crossings.changes[n] = change if size >= SMALL else 0


def count(crossings):
    """Compute a lower bound on the mistakes of any w on a circle, by counting sign changes.

    A mistake counts as its cost. The sign changes of scores on the circle of weights are counted in
    bins, which is faster than sorting them as `sweep` does, but less precise. Rounding may put a
    sign change into the next bin, so two bins at a time are passed in the order that costs least;
    those at one end of the half circle may belong to the other end.
    """
    keys, changes, bins = crossings
    size = bins.shape[0] - 1
    for k in range(size + 1):
        bins[k, 0] = bins[k, 1] = 0
    start = total = 0
    for n in range(len(keys)):
        k = min(int((keys[n] + 1.0) * (0.5 * size)), size - 1)
        if changes[n] > 0:
            bins[k, 0] += changes[n]
            total += changes[n]
        else:
            bins[k, 1] -= changes[n]
            start -= changes[n]
    total += start
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


def sort(crossings):
    """Sort by angle the weights on a half circle at which the cost changes, with the changes."""
    keys, changes, _ = crossings
    for gap in GAPS:
        for i in range(gap, len(keys)):
            key, change, j = keys[i], changes[i], i
            while j >= gap and keys[j - gap] > key:
                keys[j], changes[j] = keys[j - gap], changes[j - gap]
                j -= gap
            keys[j], changes[j] = key, change


def sweep(crossings, near):
    """Compute a lower bound on the mistakes of any w on a circle, by sorting sign changes.

    A mistake counts as its cost. The order of sign changes closer than `near` is unknown.
    """
    sort(crossings)
    keys, changes, _ = crossings
    start = total = ends = 0
    for n in range(len(keys)):
        total += abs(changes[n])
        start -= min(changes[n], 0)
        ends += abs(changes[n]) if abs(keys[n]) > 1.0 - near else 0
    lowest = min(start, total - start) - ends
    f, last = start, -1.0
    before, falls, rises = start, 0, 0
    for n in range(len(keys)):
        if keys[n] > 1.5:
            break
        if keys[n] - last > near:
            here = 0 if abs(last) < 1.0 - near else ends
            lowest = min(lowest, min(f, total - f) - here)
            before, falls, rises = f, 0, 0
        f += changes[n]
        rises += max(changes[n], 0)
        falls -= min(changes[n], 0)
        last = keys[n]
        here = 0 if abs(last) < 1.0 - near else ends
        if falls + rises > abs(changes[n]):
            lowest = min(lowest, min(before - falls, total - before - rises) - here)
    return min(lowest, min(f, total - f) - ends)


def turn(rows, costs, pivots, bounds, limit, error, crossings):
    """For each pivot, compute a lower bound on the mistakes of any w orthogonal to it.

    A mistake counts as its cost.
    """
    for i in range(len(pivots)):
        first, second, length = find_basis(rows, pivots[i])
        project(rows, costs, first, second, crossings)
        near = 16 * (error * (1 + 1.1 / length) + ROUNDED) / SMALL
        bounds[i] = count(crossings) if near * len(crossings.bins) < 1.0 else 0
        if bounds[i] < limit:
            bounds[i] = sweep(crossings, near)


@functools.cache
def bind() -> None:
    """Register the helper functions of the compiled loops with Numba."""
    helpers(halve, add_gains, fastmath=REORDER, **UNCOUNTED)
    loops = sort_out, relax, choose_edge, begin_with, find_basis, project, count, sort, sweep
    helpers(*loops, **UNCOUNTED)


run_mark = Kernel(mark, bind)
run_turn = Kernel(turn, bind)
