"""The compiled loops of the search for few mistakes: exact line searches, with chance.

Along a line w + a·v the mistakes change only where a row's score is 0, at a = -s/g. Sorting
these crossings gives the mistakes on every piece of the line exactly. A step moves into a piece,
the more likely the fewer mistakes it has: certainly to the fewest when the temperature is low.

Rows are signed: a score s > 0 is right, s ≤ 0 a mistake.
"""

import functools
from typing import NamedTuple

import numpy as np

from rosenblatt.engine import REORDER, Kernel

REFRESH = 200  # steps after which scores are computed afresh, so that rounding does not add up
TINY = 1e-12  # a piece shorter than this share of the reach is no place to be
GAPS = (701, 301, 132, 57, 23, 10, 4, 1)  # Ciura's, for sorting a few hundred crossings


class Board(NamedTuple):
    """The signed rows, the same by columns, and what a mistake on each row costs."""

    rows: np.ndarray
    columns: np.ndarray
    costs: np.ndarray


class Line(NamedTuple):
    """A line: scores, their gains along it, its direction; crossings ahead and behind."""

    s: np.ndarray
    g: np.ndarray
    v: np.ndarray
    ahead: np.ndarray
    behind: np.ndarray


def new_line(n: int, dimension: int, room: int) -> Line:
    """An empty line with room for so many crossings on either side."""
    return Line(
        np.zeros(n), np.zeros(n), np.zeros(dimension), np.empty((2, room)), np.empty((2, room))
    )


def products(A, v, g):
    """g = A v."""
    for n in range(A.shape[0]):
        x = 0.0
        for i in range(A.shape[1]):
            x += A[n, i] * v[i]
        g[n] = x


def cost_of(s, costs):
    """What the mistakes cost together."""
    f = 0.0
    for n in range(len(s)):
        if s[n] <= 0:
            f += costs[n]
    return f


def sort(crossings, k):
    """Sort the first k crossings by where they are, their changes with them."""
    for gap in GAPS:
        for i in range(gap, k):
            a, change, j = crossings[0, i], crossings[1, i], i
            while j >= gap and crossings[0, j - gap] > a:
                crossings[0, j] = crossings[0, j - gap]
                crossings[1, j] = crossings[1, j - gap]
                j -= gap
            crossings[0, j] = a
            crossings[1, j] = change


def cross(line, costs, reach):
    """Find and sort the crossings within reach; -1 when there is no room for them."""
    s, g, ahead, behind = line.s, line.g, line.ahead, line.behind
    k = m = 0
    for n in range(len(s)):
        if abs(s[n]) <= reach * abs(g[n]) and g[n] != 0:
            if k == ahead.shape[1] or m == behind.shape[1]:
                return -1, -1
            a = -s[n] / g[n]
            change = costs[n] if s[n] > 0 else -costs[n]
            if a > 0 or (a == 0 and g[n] > 0):
                ahead[0, k], ahead[1, k] = a, change
                k += 1
            else:
                behind[0, m], behind[1, m] = -a, change
                m += 1
    sort(ahead, k)
    sort(behind, m)
    return k, m


def least(crossings, k, reach, f):
    """The lowest cost on half a line."""
    low, lowest = 0.0, f
    for i in range(k):
        if crossings[0, i] - low > TINY * reach:
            lowest = min(lowest, f)
        f += crossings[1, i]
        low = crossings[0, i]
    return min(lowest, f) if reach - low > TINY * reach else lowest


def choose(crossings, k, reach, f, temperature, rng):
    """Choose a piece of half a line; returns the weight of all, a point in it, its cost.

    `temperature` is a pair: the lowest cost on the line, and how much more is still likely.
    """
    lowest, heat = temperature
    total = a = low = 0.0
    chosen = f
    for i in range(k + 1):
        high = crossings[0, i] if i < k else reach
        length = high - low
        if length > TINY * reach:
            # The root lets small cells be found: the best one seldom is large.
            weight = np.sqrt(length) * np.exp((lowest - f) / heat)
            total += weight
            if rng.random() * total < weight:
                a, chosen = low + length * rng.random(), f
        if i < k:
            f += crossings[1, i]
            low = high
    return total, a, chosen


def step(line, costs, reach, f, temperature, rng):
    """Move along the line; returns how far, the new cost, and how many crossings there were."""
    k, m = cross(line, costs, reach)
    if k < 0:
        return 0.0, f, -1
    lowest = min(least(line.ahead, k, reach, f), least(line.behind, m, reach, f))
    forth, a, f_a = choose(line.ahead, k, reach, f, (lowest, temperature), rng)
    back, b, f_b = choose(line.behind, m, reach, f, (lowest, temperature), rng)
    if rng.random() * (forth + back) >= forth:
        a, f_a = -b, f_b
    for n in range(len(line.s)):
        line.s[n] += a * line.g[n]
    return a, f_a, k + m


def aim(board, line, rng):
    """Draw a direction: a coordinate, one at random, or an example; returns its kind."""
    N, D = board.rows.shape
    chance = rng.random()
    if chance < 0.5:
        i = min(int(rng.random() * D), D - 1)
        line.v[:] = 0.0
        line.v[i] = 1.0
        line.g[:] = board.columns[i]
        return i
    if chance < 0.8:
        for i in range(D):
            line.v[i] = rng.standard_normal()
    else:
        line.v[:] = board.rows[min(int(rng.random() * N), N - 1)]
    products(board.rows, line.v, line.g)
    return D if chance < 0.8 else D + 1


def anneal(board, line, w, best, schedule, reaches, rng):
    """Walk from w while it cools; keep the best weights met; returns their cost.

    `reaches` holds, for each kind of direction, how far to look; it learns to see a few dozen
    crossings.
    """
    lowest, hot, cold, steps, few = schedule
    f = 0.0
    for t in range(steps):
        if t % REFRESH == 0:
            w /= np.sqrt((w * w).sum())
            products(board.rows, w, line.s)
            f = cost_of(line.s, board.costs)
        kind = aim(board, line, rng)
        reach = reaches[kind] * 2.0 ** (3 * rng.random() - 2)
        temperature = hot * (cold / hot) ** (t / steps)
        a, f, met = step(line, board.costs, reach, f, temperature, rng)
        reaches[kind] *= 0.7 if met < 0 else (1.02 if met < few else 0.98)
        w += a * line.v
        if f < lowest:
            f = cost_of(line.s, board.costs)
            if f < lowest:
                lowest = f
                best[:] = w
    return lowest


def centre(board, line, w, turns, rng):
    """Move to the middle of the piece w is on, line after line: the mistakes stay, doubts go."""
    products(board.rows, w, line.s)
    for _ in range(turns):
        aim(board, line, rng)
        low, high = -1e300, 1e300
        for n in range(len(line.s)):
            if line.g[n] != 0:
                a = -line.s[n] / line.g[n]
                if a > 0:
                    high = min(high, a)
                else:
                    low = max(low, a)
        if low > -1e300 and high < 1e300:
            a = 0.5 * (low + high)
            w += a * line.v
            for n in range(len(line.s)):
                line.s[n] += a * line.g[n]


@functools.cache
def bind() -> None:
    """Tell Numba to compile the helpers of this file."""
    from numba.extending import overload

    overload(products, jit_options={"fastmath": REORDER})(lambda A, v, g: products)
    overload(cost_of)(lambda s, costs: cost_of)
    overload(sort)(lambda crossings, k: sort)
    overload(cross)(lambda line, costs, reach: cross)
    overload(least)(lambda crossings, k, reach, f: least)
    overload(choose)(lambda crossings, k, reach, f, temperature, rng: choose)
    overload(step)(lambda line, costs, reach, f, temperature, rng: step)
    overload(aim)(lambda board, line, rng: aim)


run_anneal = Kernel(anneal, bind)
run_centre = Kernel(centre, bind)
run_step = Kernel(step, bind)
