"""Blocking sets that cost least at given prices, or a line: one linear program, many times.

Rows a block one another if some λ ≥ 0 with Σ λ = 1 has Σ λ a = 0. Over these λ the least
Σ λ·price is found by the simplex method: its vertices have at most as many rows as a row has
numbers, and one. The dual solution is a line: w·a ≥ t - price for all rows, where t is that least
price, so all rows that cost less than t are right. What is wanted is the set whose rows cost
least together, each counted whole: from the vertex, rows are exchanged as long as that helps.

Floats throughout: whoever believes a set makes its multipliers exact first.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.descent import scaling_of, signed, tall
from rosenblatt.engine import UNCOUNTED, Kernel, helpers
from rosenblatt.examples import Examples

Floats = NDArray[np.float64]
Set = tuple[int, ...]

ARTIFICIAL = 1e4  # the price of a column that no row has: it leaves, if any rows block one another
SMALL = 1e-9
DEPENDENT = 1e-9  # of the longest column: what is left of one that depends on others
ROUNDS, WORK = (8, 40), 2**18  # of one search: fewer, the more numbers there are
PIVOTS = 2000  # of one linear program
EXCHANGES = 50  # of one set
PATIENCE = 50  # pivots without gain, after which the first row that helps is taken
USED = 0.3  # what a row in a set costs more in the rounds after it
MOST_SETS = 64  # of one search
FOUND, STUCK, NONE = range(3)


class Vertex(NamedTuple):
    """A vertex: its rows (-1 an artificial one), the inverse of their matrix, the dual.

    The last column of the inverse holds the multipliers.
    """

    rows: np.ndarray
    inverse: np.ndarray
    dual: np.ndarray


class Room(NamedTuple):
    """Room for a search: loops that make no arrays are compiled in half the time."""

    inside: np.ndarray  # whether a row is one of the vertex
    change: np.ndarray  # of each multiplier
    best: np.ndarray  # the change that gains most
    rows: np.ndarray  # of the vertex


class Finder:
    """The rows of examples as the linear program takes them, and the vertex it stands at.

    Rows are scaled, made orthonormal by columns and of length 1: that changes neither which of
    them block one another, nor which a line answers rightly.

    Examples
    --------
    >>> xor = Examples.from_arrays([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    >>> finder = Finder(xor, np.arange(4), np.random.default_rng(0))
    >>> finder.search(np.zeros(4)).sets
    [(0, 1, 2, 3)]
    >>> found = finder.search(np.array([0.0, 0.0, 0.0, 1.0]))
    >>> found.sets, xor.signed_scores(found.w) > 0
    ([], array([ True,  True,  True, False]))
    """

    def __init__(
        self, examples: Examples, rows: NDArray[np.intp], rng: np.random.Generator
    ) -> None:
        from scipy.linalg import qr

        self.examples, self.rng = examples, rng
        self.scaling = scaling_of(examples)
        with np.errstate(all="ignore"):
            Z = signed(examples, self.scaling, rows)
        self.able = bool(np.isfinite(Z).all() and Z.any())
        Q, R, order = qr(Z if self.able else np.zeros_like(Z), mode="economic", pivoting=True)
        sizes = np.abs(np.diag(R))
        rank = int(np.count_nonzero(sizes > DEPENDENT * sizes.max(initial=0.0)))
        self.columns, self.triangle = order[:rank], R[:rank, :rank]
        self.width = Z.shape[1]
        lengths = np.linalg.norm(Q[:, :rank], axis=1)
        self.there = np.flatnonzero(lengths > 0)  # the others are rows of zeros
        unit = Q[self.there, :rank] / lengths[self.there, None]
        self.A = np.ascontiguousarray(np.column_stack((unit, np.ones(len(unit)))))
        inside, m = np.zeros(len(self.A), dtype=np.bool_), rank + 1
        self.room = Room(inside, np.zeros(m), np.zeros(m), np.zeros(m, dtype=np.intp))
        self.start()

    def start(self) -> None:
        """Stand at the artificial vertex."""
        m = self.A.shape[1]
        self.vertex = Vertex(np.full(m, -1), np.eye(m), np.zeros(m))

    def search(self, prices: Floats, limit: float = 0.98) -> Found:
        """Different sets whose rows cost less than `limit` together, and a line.

        Each round begins at prices changed by chance; rows of sets that were found cost more in
        those that follow.
        """
        from scipy.linalg import solve_triangular

        m = self.A.shape[1]
        rounds = int(np.clip(WORK // self.A.size, *ROUNDS))
        found, sizes = np.empty((MOST_SETS, m), dtype=np.intp), np.zeros(MOST_SETS, dtype=np.intp)
        given = np.ascontiguousarray(prices[self.there], dtype=np.float64)
        line, chances = np.zeros(m), self.rng.exponential(size=(rounds, len(given)))
        plan = (given, given + 1e-6, np.zeros(len(given)), chances, limit)
        vertices = (self.vertex, Vertex(*(part.copy() for part in self.vertex)))
        count, end = search_on(self.A, vertices, self.room, plan, found, sizes, line)
        sets = {
            tuple(sorted(self.there[found[i, : sizes[i]]].tolist())): None for i in range(count)
        }
        if end != FOUND:
            self.start()
            return Found(list(sets), None)
        v = np.zeros(self.width)  # the dual, which tall gives a w0 slot
        if len(self.columns):
            v[self.columns] = solve_triangular(self.triangle, line[:-1])
        return Found(list(sets), tall(self.examples, self.scaling, v))


@dataclass(frozen=True, eq=False)
class Found:
    """Sets of rows that seem to block one another, and a line right about the cheap rows."""

    sets: list[Set] = field(default_factory=list)
    w: Floats | None = None


# The compiled loops. The rows of A are the columns of the program; v is a vertex.


def search_rounds(A, vertices, room, plan, found, sizes, line):
    """Minimise at prices changed by chance, exchange at the prices given; keep cheap sets."""
    v, at = vertices
    given, prices, used, chances, limit = plan
    m = A.shape[1]
    count = 0
    for r in range(len(chances)):
        end = minimise(A, prices, v, room)
        if end != FOUND:
            return count, end
        for k in range(m):
            if r == 0:
                line[k] = -v.dual[k]
            at.rows[k] = v.rows[k]
            for j in range(m):
                at.inverse[k, j] = v.inverse[k, j]
        if exchange(A, given, at, room) < limit:
            size = 0
            for k in range(m):
                if at.rows[k] >= 0 and at.inverse[k, m - 1] > SMALL:
                    found[count, size] = at.rows[k]
                    size += 1
            sizes[count] = size
            count += 1
            if count == len(sizes):
                break
        for k in range(m):
            if at.rows[k] >= 0:
                used[at.rows[k]] += USED
        for i in range(len(given)):
            prices[i] = (given[i] + 0.02 + used[i]) * chances[r, i]
    return count, FOUND


def minimise(A, prices, v, room):
    """The simplex method from the vertex v, which moves: the least Σ λ·price."""
    n, m = A.shape
    inside, change = room.inside, room.change
    mark(v, inside)
    if not invert(A, v, room):
        return STUCK
    waits = 0
    for _ in range(PIVOTS):
        dual_of(prices, v)
        gain = -SMALL
        new = -1
        for i in range(n):
            if not inside[i]:
                s = prices[i]
                for j in range(m):
                    s -= v.dual[j] * A[i, j]
                if s < gain:
                    gain = s
                    new = i
                    if waits > PATIENCE:
                        break
        if new < 0:
            for k in range(m):
                if v.rows[k] < 0 and v.inverse[k, m - 1] > SMALL:
                    return NONE
            return FOUND
        find_change(A, v, new, change)
        old, length = leaving(v, change)
        if old < 0:
            return STUCK
        waits = waits + 1 if length < SMALL * SMALL else 0
        if v.rows[old] >= 0:
            inside[v.rows[old]] = False
        inside[new] = True
        replace_row(v, old, new, change)
    return STUCK


def exchange(A, prices, v, room):
    """Exchange rows of the vertex while its rows, counted whole, cost less; returns what."""
    n, m = A.shape
    inside, change, best = room.inside, room.change, room.best
    mark(v, inside)
    total = 0.0
    for k in range(m):
        if v.rows[k] >= 0:
            total += prices[v.rows[k]]
    for _ in range(EXCHANGES):
        dearest = 0.0
        for k in range(m):
            if v.rows[k] >= 0:
                dearest = max(dearest, prices[v.rows[k]])
        gain = SMALL
        new = out = -1
        for i in range(n):
            if inside[i] or prices[i] >= dearest - gain:
                continue
            find_change(A, v, i, change)
            old, _ = leaving(v, change)
            if old >= 0 and v.rows[old] >= 0 and prices[v.rows[old]] - prices[i] > gain:
                gain = prices[v.rows[old]] - prices[i]
                new, out = i, old
                for k in range(m):
                    best[k] = change[k]
        if new < 0:
            break
        inside[v.rows[out]] = False
        inside[new] = True
        replace_row(v, out, new, best)
        total -= gain
    return total


def mark(v, inside):
    """Mark the rows of the vertex, and no others."""
    for i in range(len(inside)):
        inside[i] = False
    for k in range(len(v.rows)):
        if v.rows[k] >= 0:
            inside[v.rows[k]] = True


def dual_of(prices, v):
    """The dual solution at the vertex."""
    m = len(v.rows)
    for j in range(m):
        s = 0.0
        for k in range(m):
            s += (prices[v.rows[k]] if v.rows[k] >= 0 else ARTIFICIAL) * v.inverse[k, j]
        v.dual[j] = s


def find_change(A, v, new, change):
    """How the multipliers change, each, as that of a new row grows."""
    m = len(v.rows)
    for k in range(m):
        s = 0.0
        for j in range(m):
            s += v.inverse[k, j] * A[new, j]
        change[k] = s


def leaving(v, change):
    """Which multiplier reaches zero first, and how far the new one has grown by then.

    Of several the artificial one goes, or the one that falls fastest.
    """
    m = len(change)
    length = np.inf
    old = -1
    for k in range(m):
        if change[k] > SMALL:
            r = max(v.inverse[k, m - 1], 0.0) / change[k]
            near = abs(r - length) < SMALL * SMALL
            if near:
                near = v.rows[old] >= 0 and (v.rows[k] < 0 or change[k] > change[old])
            if near or r < length - SMALL * SMALL:
                old = k
                length = min(r, length)
    return old, length


def replace_row(v, old, new, change):
    """Put a new row in the place of an old one."""
    m = len(change)
    for j in range(m):
        v.inverse[old, j] /= change[old]
    for k in range(m):
        if k != old and change[k] != 0:
            for j in range(m):
                v.inverse[k, j] -= change[k] * v.inverse[old, j]
    v.rows[old] = new


def invert(A, v, room):
    """Make the inverse afresh, one row after another in the best place; False if they depend."""
    m = len(v.rows)
    rows, change = room.rows, room.change
    for k in range(m):
        rows[k] = v.rows[k]
        v.rows[k] = -1
        for j in range(m):
            v.inverse[k, j] = 1.0 if j == k else 0.0
    for k in range(m):
        if rows[k] < 0:
            continue
        find_change(A, v, rows[k], change)
        old, most = -1, SMALL * SMALL
        for j in range(m):
            if rows[j] >= 0 and v.rows[j] < 0 and abs(change[j]) > most:
                old, most = j, abs(change[j])
        if old < 0:
            return False
        replace_row(v, old, rows[k], change)
    return True


@functools.cache
def bind() -> None:
    """Tell Numba to compile the helpers of this file."""
    loops = mark, minimise, exchange, dual_of, find_change, leaving, replace_row, invert
    helpers(*loops, **UNCOUNTED)


search_on: Any = Kernel(search_rounds, bind)
