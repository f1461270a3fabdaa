"""The compiled loops of the sieve: rows as whole numbers, hardest first, dropped from as they come.

A row or a vector is a direction times SCALE, rounded to whole numbers that fit 16 bits. Two lie in
each entry of an array of 32 bits. Rows stand 64 side by side, the first pair of each next to that
of the others, then the second: so a processor multiplies most of them at once (`instructions`).
"""

import functools
from typing import NamedTuple

import numpy as np

from rosenblatt import engine, instructions, kernels
from rosenblatt.engine import REORDER, Kernel
from rosenblatt.instructions import LANES

SCALE = 32_000.0  # squared, a sum of 32 bits holds it twice
BLOCKS = 8  # of 64 rows, looked at between two counts
RANKS = 32
RANK_SAMPLE = 1024
PLAIN = (2.0**-900, 2.0**900)  # squares of lengths that do not overflow, nor vanish


class Field(NamedTuple):
    """Rows that stand, 64 in a block: which they are, and what they cost if that is not 1."""

    blocks: np.ndarray
    rows: np.ndarray
    costs: np.ndarray
    off: float  # by how much rounding has moved the row that it moved most


class Flight(NamedTuple):
    """Vectors on their way through the rows: who they are, and what is known of them."""

    units: np.ndarray
    bars: np.ndarray  # with so much wrong a vector is dropped
    wrong: np.ndarray  # what the sure mistakes weigh
    slack: np.int32  # between this and its negative a product tells nothing
    slip: float  # a sum of weights that is so much larger than another is so not by rounding


def survey(D, w, rows, stretch, cosines):
    """stretch[n] = y·SCALE/‖x‖, and how row n stands to w; both 0 where ‖x‖ is extreme."""
    for n in rows:
        s, q = kernels.measure(D, n, w)
        plain = PLAIN[0] < q < PLAIN[1]
        stretch[n] = D.step[n] * SCALE / np.sqrt(q) if plain else 0.0
        cosines[n] = s * stretch[n] if plain else 0.0


def hardest_first(cosines, order, places):
    """Order the rows by cosine, coarsely, by counting how many there are of each rank."""
    step, reach = 1 + len(cosines) // RANK_SAMPLE, 1e-30
    for n in range(0, len(cosines), step):
        reach += abs(cosines[n])
    scale = RANKS / 4 * (1 + len(cosines) // step) / reach
    rank = np.empty(len(cosines), dtype=np.uint8)
    for n in range(len(cosines)):
        place = cosines[n] * scale + RANKS / 2
        rank[n] = max(place, 0.0) if place < RANKS else RANKS - 1
    ends = np.zeros(RANKS + 1, dtype=np.int64)
    for n in range(len(rank)):
        ends[rank[n] + 1] += 1
    for r in range(RANKS):
        ends[r + 1] += ends[r]
    for n in range(len(rank)):
        order[ends[rank[n]]], places[n] = n, ends[rank[n]]
        ends[rank[n]] += 1


def stand(D, stretch, rows, places, blocks):
    """Put some rows, in whole numbers, into their places; return how far rounding moved one."""
    numbers = np.zeros(2 * blocks.shape[1], dtype=np.int16)
    pairs, most = numbers.view(np.int32), 0.0
    for n in rows:
        a = stretch[n]
        numbers[0] = np.rint(a * D.x0)
        for i in range(D.X.shape[1]):
            numbers[i + 1] = np.rint(a * D.X[n, i])
        most = max(most, moved(D, n, a, numbers))
        j, k = places[n] // LANES, places[n] % LANES
        for i in range(len(pairs)):
            blocks[j, i, k] = pairs[i]
    return np.sqrt(most)


def moved(D, n, a, numbers):
    """The square of how far some numbers are from row n times a."""
    q = (a * D.x0 - numbers[0]) ** 2
    for i in range(D.X.shape[1]):
        q += (a * D.X[n, i] - numbers[i + 1]) ** 2
    return q


def sides(block, v, u, slack):
    """Bits of 64 rows: which v surely gets wrong, and on which it is in doubt; the same for u."""
    rows, bits = block.view(np.int16).astype(np.int64), [0, 0, 0, 0]
    for i, w in ((0, v.view(np.int16)), (2, u.view(np.int16))):
        s = rows[:, ::2].T @ w[::2] + rows[:, 1::2].T @ w[1::2]
        for k in range(LANES):
            bits[i] |= int(s[k] < -slack) << k
            bits[i + 1] |= int(abs(s[k]) <= slack) << k
    return bits


def ones(bits):
    """How many bits are set; LLVM knows this loop, and has one instruction for it."""
    count = 0
    while bits != 0:
        bits &= bits - 1
        count += 1
    return count


def weigh(bits, s):
    """What the rows of some bits weigh."""
    total = 0.0
    for k in range(len(s)):
        total += s[k] * ((bits >> k) & 1)
    return total


def cost(bits, s):
    """What the rows of some bits cost: their weights, or 1 each where costs are whole numbers."""
    return ones(bits) if s.dtype == np.int64 else weigh(bits, s)


def part(field, j):
    """The j-th 64 rows, who they are, what they cost, and a bit for each that there is."""
    rows = field.rows[j * LANES : (j + 1) * LANES]
    there = -1 if len(rows) == LANES else (1 << len(rows)) - 1
    return field.blocks[j], rows, field.costs[j * LANES : (j + 1) * LANES], there


def sift(field, flight):
    """Drop vectors as soon as they reach their bars; return those that have seen all rows."""
    W, bars, wrong = flight.units.copy(), flight.bars.copy(), flight.wrong.copy()
    left = np.arange(len(W))
    for j in range(len(field.blocks)):
        block, _, costs, there = part(field, j)
        for b in range(0, len(left), 2):
            c = min(b + 1, len(left) - 1)
            bad, _, bad_too, _ = sides(block, W[b], W[c], flight.slack)
            wrong[b] += cost(bad & there, costs)
            if c > b:
                wrong[c] += cost(bad_too & there, costs)
        if (j + 1) % BLOCKS == 0 or j + 1 == len(field.blocks):
            kept = 0
            for b in range(len(left)):
                if wrong[b] < bars[b]:
                    left[kept], bars[kept], wrong[kept], W[kept] = left[b], bars[b], wrong[b], W[b]
                    kept += 1
            left = left[:kept]
    for b in range(len(left)):
        flight.wrong[left[b]] = wrong[b]
    return left


def tell(D, rows, doubts, w, slack):
    """Bits of the doubtful rows that w gets wrong, by doubles, and whether all could be told."""
    bad, sure = 0, True
    while doubts != 0:
        k = ones((doubts & -doubts) - 1)
        doubts &= doubts - 1
        s = D.step[rows[k]] * kernels.score(D, rows[k], w)
        if s < -slack:
            bad |= 1 << k
        elif not s > slack:
            sure = False
    return bad, sure


def settle(D, field, flight, W, slack, sure):
    """Add the mistakes among doubtful rows, for vectors that are left while below their bars.

    What one vector makes in all is a bar for those after it.
    """
    left, wrong, bars, best = np.flatnonzero(sure), flight.wrong, flight.bars, np.inf
    for i in range(0, len(left), 2):
        pair = left[i], left[min(i + 1, len(left) - 1)]
        for b in pair:
            bars[b] = min(bars[b], best)
        v, u = flight.units[pair[0]], flight.units[pair[1]]
        for j in range(len(field.blocks)):
            if wrong[pair[0]] >= bars[pair[0]] and wrong[pair[1]] >= bars[pair[1]]:
                break
            block, rows, costs, there = part(field, j)
            _, first, _, second = sides(block, v, u, flight.slack)
            second = second & there if pair[0] != pair[1] else 0
            for b, doubts in ((pair[0], first & there), (pair[1], second)):
                if wrong[b] < bars[b]:
                    bad, told = tell(D, rows, doubts, W[b], slack[b])
                    wrong[b] += cost(bad, costs)
                    sure[b] = sure[b] and told
        for b in pair:
            if sure[b] and wrong[b] < bars[b]:
                best = min(best, wrong[b] * flight.slip)


@functools.cache
def bind() -> None:
    """Tell Numba to compile the helpers of this file."""
    at_once = instructions.sides()
    engine.overload(sides)(
        lambda block, v, u, slack: lambda block, v, u, slack: at_once(block, v, u, slack)
    )
    engine.overload(moved, jit_options={"fastmath": REORDER})(lambda D, n, a, numbers: moved)
    engine.overload(ones)(lambda bits: ones)
    engine.overload(weigh)(lambda bits, s: weigh)

    @engine.overload(cost)
    def cost_by_kind(bits, s):
        return (lambda bits, s: ones(bits)) if str(s.dtype) == "int64" else weigh

    engine.overload(part)(lambda field, j: part)
    engine.overload(tell)(lambda D, rows, doubts, w, slack: tell)


run_survey = Kernel(survey)
run_hardest_first = Kernel(hardest_first)
run_stand = Kernel(stand, bind)
run_sift = Kernel(sift, bind)
run_settle = Kernel(settle, bind)
