"""The compiled loops of the sieve: rows as whole numbers, hardest first, dropped from as they come.

A row or a vector is a direction times SCALE, or less where its numbers would not fit 16 bits,
rounded to whole numbers. Two lie in each entry of an array of 32 bits. Rows stand 64 side by side,
the first pair of each next to that of the others, then the second: so a processor multiplies most
of them at once (`instructions`).
"""

import functools
from typing import NamedTuple

import numpy as np

from rosenblatt import engine, instructions, kernels
from rosenblatt.engine import Kernel
from rosenblatt.instructions import LANES

SCALE = 46_000.0  # what two vectors of this length make is just held by a sum of 32 bits
MOST = np.int32(32_767)  # that 16 bits hold
AHEAD = 8  # rows that are asked for before they are needed
LINE = 8  # doubles that memory brings at once
BLOCKS = 8  # of 64 rows, looked at between two counts
SPAN = 64  # blocks whose doubtful rows are settled together
RANKS = 12  # few, so that the places rows are put in, one for each rank, stay in the cache
RANK_SAMPLE = 1024
PLAIN = (2.0**-900, 2.0**900)  # squares of lengths that do not overflow, nor vanish


class Field(NamedTuple):
    """Rows that stand, 64 in a block: which they are, and what they cost if that is not 1."""

    blocks: np.ndarray
    costs: np.ndarray
    rows: np.ndarray


class Flight(NamedTuple):
    """Vectors on their way through the rows: who they are, and what is known of them."""

    W: np.ndarray
    units: np.ndarray  # their directions
    near: np.ndarray  # scores by W that are no farther than this from 0 tell nothing
    slack: np.int32  # nor do products of directions
    bars: np.ndarray  # with so much wrong a vector is dropped
    wrong: np.ndarray  # what the mistakes weigh that have been found
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
    scale = RANKS / 3 * (1 + len(cosines) // step) / reach
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


def rounded(D, n, a, numbers):
    """numbers = row n times a, in whole numbers, cut where they do not fit; return the largest."""
    v = np.int32(np.rint(a * D.x0))
    numbers[0], most = min(max(v, -MOST), MOST), abs(v)
    for i in range(D.X.shape[1]):
        v = np.int32(np.rint(a * D.X[n, i]))
        numbers[i + 1] = min(max(v, -MOST), MOST)
        most = max(most, abs(v))
    return most


def stand(D, stretch, rows, places, blocks):
    """Put some rows, in whole numbers, into their places: 64 of them side by side in a block."""
    numbers = np.zeros(2 * blocks.shape[1], dtype=np.int16)
    pairs = numbers.view(np.int32)
    for n in rows:
        most = rounded(D, n, stretch[n], numbers)
        if most > MOST:
            rounded(D, n, stretch[n] * (MOST - 1) / most, numbers)
        j, k = places[n] // LANES, places[n] % LANES
        for i in range(len(pairs)):
            blocks[j, i, k] = pairs[i]


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
    """The j-th 64 rows, what they cost, and a bit for each that there is."""
    count = min(LANES, len(field.rows) - j * LANES)
    there = -1 if count == LANES else (1 << count) - 1
    return field.blocks[j], field.costs[j * LANES : (j + 1) * LANES], there


def sift(field, flight):
    """Drop vectors as soon as they reach their bars; return those that have seen all rows."""
    W, bars, wrong = flight.units.copy(), flight.bars.copy(), flight.wrong.copy()
    left = np.arange(len(W))
    for j in range(len(field.blocks)):
        block, costs, there = part(field, j)
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
                    if kept < b:
                        left[kept], bars[kept], wrong[kept] = left[b], bars[b], wrong[b]
                        W[kept] = W[b]
                    kept += 1
            left = left[:kept]
    for b in range(len(left)):
        flight.wrong[left[b]] = wrong[b]
    return left


def judged(field, start, v, u, slack, places):
    """What the sure mistakes of v and of u weigh in some blocks, and on how many they are in doubt.

    These are listed in places[0] and places[1].
    """
    wrong_v = wrong_u = 0.0
    count_v = count_u = 0
    for j in range(start, min(start + SPAN, len(field.blocks))):
        block, costs, there = part(field, j)
        bad, doubts, bad_too, doubts_too = sides(block, v, u, slack)
        wrong_v += cost(bad & there, costs)
        wrong_u += cost(bad_too & there, costs)
        count_v = put(doubts & there, j * LANES, places[0], count_v)
        count_u = put(doubts_too & there, j * LANES, places[1], count_u)
    return (wrong_v, wrong_u), (count_v, count_u)


def put(bits, start, places, count):
    """Add the places of some bits to a list."""
    while bits != 0:
        places[count] = start + ones((bits & -bits) - 1)
        bits &= bits - 1
        count += 1
    return count


def fetch(D, n):
    """`bind` has memory bring row n."""


def tell(D, field, places, w, near):
    """What the rows in some places weigh that w gets wrong, and whether all could be told."""
    wrong, sure = 0.0, True
    for i in range(len(places)):
        fetch(D, field.rows[places[min(i + AHEAD, len(places) - 1)]])
        n = field.rows[places[i]]
        s = D.step[n] * kernels.score(D, n, w)
        if s < -near:
            wrong += cost(1, field.costs[places[i] : places[i] + 1])
        elif not s > near:
            sure = False
    return wrong, sure


def settle(D, field, flight, sure, sifted):
    """Count the mistakes of vectors, doubtful rows too, for as long as they are below their bars.

    Of those that were sifted the sure mistakes have been counted. What one vector makes in all is
    a bar for those after it.
    """
    left, wrong, bars, best = np.flatnonzero(sure), flight.wrong, flight.bars, np.inf
    places = np.empty((2, SPAN * LANES), dtype=np.int64)
    for i in range(0, len(left), 2):
        pair = left[i], left[min(i + 1, len(left) - 1)]
        v, u = flight.units[pair[0]], flight.units[pair[1]]
        for b in pair:
            bars[b] = min(bars[b], best)
        for start in range(0, len(field.blocks), SPAN):
            if wrong[pair[0]] >= bars[pair[0]] and wrong[pair[1]] >= bars[pair[1]]:
                break
            surely, counts = judged(field, start, v, u, flight.slack, places)
            for k in range(len(left[i : i + 2])):
                b = pair[k]
                if wrong[b] >= bars[b]:
                    continue
                more, told = tell(D, field, places[k, : counts[k]], flight.W[b], flight.near[b])
                wrong[b] += more if sifted else surely[k] + more
                sure[b] = sure[b] and told
        for b in pair:
            if sure[b] and wrong[b] < bars[b]:
                best = min(best, wrong[b] * flight.slip)


@functools.cache
def bind() -> None:
    """Tell Numba to compile the helpers of this file."""
    at_once = instructions.sides()
    engine.overload(rounded)(lambda D, n, a, numbers: rounded)
    engine.overload(sides)(
        lambda block, v, u, slack: lambda block, v, u, slack: at_once(block, v, u, slack)
    )
    engine.overload(ones)(lambda bits: ones)
    engine.overload(weigh)(lambda bits, s: weigh)

    @engine.overload(cost)
    def cost_by_kind(bits, s):
        return (lambda bits, s: ones(bits)) if str(s.dtype) == "int64" else weigh

    engine.overload(part)(lambda field, j: part)
    bring = instructions.bring()

    def fetched(D, n):
        for i in range(0, D.X.shape[1], LINE):
            bring(D.X, n * D.X.shape[1] + i)

    engine.overload(fetch)(lambda D, n: fetched)
    engine.overload(put)(lambda bits, start, places, count: put)
    engine.overload(judged)(lambda field, start, v, u, slack, places: judged)
    engine.overload(tell)(lambda D, field, places, w, near: tell)


run_survey = Kernel(survey)
run_hardest_first = Kernel(hardest_first)
run_stand = Kernel(stand, bind)
run_sift = Kernel(sift, bind)
run_settle = Kernel(settle, bind)
