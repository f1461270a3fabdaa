"""A search for the cheapest conflicts, or for weights without mistakes, by linear programs.

Signed rows a are a conflict if some λ ≥ 0 with Σ λ = 1 has Σ λ a = 0. Over these λ the simplex
method minimizes Σ λ·cost: a vertex has at most one row more than a row has numbers. The dual
solution is a line, w·a ≥ t - cost for all rows, where t is the minimum; so it classifies all rows
that cost less than t correctly. The search is for the conflict whose rows cost least together, each
counted in full: from the vertex, rows are exchanged for as long as that lowers the cost.

All numbers are floats: make the multipliers exact before you trust a conflict.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.fewest import augmented_weights, scaling_of, signed_rows
from rosenblatt.engine import UNCOUNTED, Kernel, helpers
from rosenblatt.examples import Examples

Floats = NDArray[np.float64]
Set = tuple[int, ...]

ARTIFICIAL = 1e4  # cost of an artificial column: it leaves the basis if there is any conflict
SMALL = 1e-9
DEPENDENT = 1e-9  # a column whose remainder is a smaller share of the longest is dependent
ROUNDS, WORK = (8, 40), 2**18  # rounds of one search, fewer for more numbers
PIVOTS = 2000  # maximum number of pivots of one linear program
EXCHANGES = 50  # maximum number of exchanges of rows in one conflict
PATIENCE = 50  # pivots without gain, after which the first row that helps enters
USED = 0.3  # a row of a conflict costs this much more in the rounds that follow
LIMIT = 0.98  # a conflict that costs at least this counts as hit
MOST_SETS = 64  # maximum number of conflicts that one search finds
FOUND, STUCK, NONE = range(3)


class Vertex(NamedTuple):
    """Basis of the linear program: its rows, their inverse matrix, and the dual solution.

    A basis stands for a vertex of the feasible set: a conflict, unless the multiplier of an
    artificial row is positive. Artificial rows have the number -1. The last column of the inverse
    holds the multipliers.
    """

    rows: np.ndarray
    inverse: np.ndarray
    dual: np.ndarray

    @classmethod
    def artificial(cls, m: int) -> Vertex:
        """Create a basis of m artificial rows, from which the simplex method starts."""
        return cls(np.full(m, -1), np.eye(m), np.zeros(m))


class Workspace(NamedTuple):
    """Arrays that are allocated once, for the compiled loops to write to."""

    inside: np.ndarray  # whether each row is in the basis
    change: np.ndarray  # change of each multiplier
    best: np.ndarray  # change of each multiplier for the exchange that gains most
    rows: np.ndarray  # rows of the basis


class Finder:
    """Search for conflicts whose rows cost little together, by linear programs.

    Columns are made orthonormal and rows of length 1, which changes neither the conflicts nor
    which rows a line classifies correctly.

    Examples
    --------
    >>> xor = Examples.from_arrays([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    >>> finder = Finder(xor, np.arange(4), np.random.default_rng(0))
    >>> finder.search(np.zeros(4))[0]
    [(0, 1, 2, 3)]
    >>> sets, w = finder.search(np.array([0.0, 0.0, 0.0, 1.0]))
    >>> sets, xor.signed_scores(w) > 0
    ([], array([ True,  True,  True, False]))
    """

    def __init__(
        self, examples: Examples, rows: NDArray[np.intp], rng: np.random.Generator
    ) -> None:
        from scipy.linalg import qr

        self.examples, self.rng = examples, rng
        self.scaling = scaling_of(examples)
        with np.errstate(all="ignore"):
            Z = signed_rows(examples, self.scaling, rows)
        self.able = bool(np.isfinite(Z).all() and Z.any())
        Q, R, order = qr(Z if self.able else np.zeros_like(Z), mode="economic", pivoting=True)
        sizes = np.abs(np.diag(R))
        rank = int(np.count_nonzero(sizes > DEPENDENT * sizes.max(initial=0.0)))
        self.columns, self.triangle = order[:rank], R[:rank, :rank]
        self.width = Z.shape[1]
        lengths = np.linalg.norm(Q[:, :rank], axis=1)
        self.nonzero = np.flatnonzero(lengths > 0)
        unit = Q[self.nonzero, :rank] / lengths[self.nonzero, None]
        self.A = np.ascontiguousarray(np.column_stack((unit, np.ones(len(unit)))))
        inside, m = np.zeros(len(self.A), dtype=np.bool_), rank + 1
        self.workspace = Workspace(inside, np.zeros(m), np.zeros(m), np.zeros(m, dtype=np.intp))
        self.vertex = Vertex.artificial(m)

    def search(self, costs: Floats) -> tuple[list[Set], Floats | None]:
        """Search for conflicts whose rows together cost less than 1, and for weights.

        Conflicts are found in floats, so they may be wrong. The weights classify cheap rows
        correctly. Each round draws other costs at random; rows of conflicts that were found cost
        more in the rounds that follow.
        """
        if not self.able:
            return [], None
        from scipy.linalg import solve_triangular

        m = self.A.shape[1]
        rounds = int(np.clip(WORK // self.A.size, *ROUNDS))
        found, sizes = np.empty((MOST_SETS, m), dtype=np.intp), np.zeros(MOST_SETS, dtype=np.intp)
        given = np.ascontiguousarray(costs[self.nonzero], dtype=np.float64)
        line, chances = np.zeros(m), self.rng.exponential(size=(rounds, len(given)))
        plan = (given, given + 1e-6, np.zeros(len(given)), chances, LIMIT)
        vertices = (self.vertex, Vertex(*(part.copy() for part in self.vertex)))
        count, end = search_on(self.A, vertices, self.workspace, plan, found, sizes, line)
        sets = {
            tuple(sorted(self.nonzero[found[i, : sizes[i]]].tolist())): None for i in range(count)
        }
        if end != FOUND:
            self.vertex = Vertex.artificial(m)
            return list(sets), None
        v = np.zeros(self.width)  # the dual solution
        if len(self.columns):
            v[self.columns] = solve_triangular(self.triangle, line[:-1])
        return list(sets), augmented_weights(self.examples, self.scaling, v)


# The compiled loops. The rows of A are the columns of the program; v is a basis (`Vertex`).


def search_rounds(A, vertices, workspace, plan, found, sizes, line):
    """Search for conflicts whose rows cost little, several times from random costs.

    Each round solves a linear program with random costs, then exchanges rows to lower the given
    costs.
    """
    v, at = vertices
    given, costs, used, chances, limit = plan
    m = A.shape[1]
    count = 0
    for r in range(len(chances)):
        end = minimize(A, costs, v, workspace)
        if end != FOUND:
            return count, end
        for k in range(m):
            if r == 0:
                line[k] = -v.dual[k]
            at.rows[k] = v.rows[k]
            for j in range(m):
                at.inverse[k, j] = v.inverse[k, j]
        if exchange(A, given, at, workspace) < limit:
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
            costs[i] = (given[i] + 0.02 + used[i]) * chances[r, i]
    return count, FOUND


def minimize(A, costs, v, workspace):
    """Solve the linear program by the simplex method, starting from the basis v."""
    n, m = A.shape
    inside, change = workspace.inside, workspace.change
    mark(v, inside)
    if not invert(A, v, workspace):
        return STUCK
    waits = 0
    for _ in range(PIVOTS):
        compute_dual(costs, v)
        gain = -SMALL
        new = -1
        for i in range(n):
            if not inside[i]:
                s = costs[i]
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
        old, length = find_leaving(v, change)
        if old < 0:
            return STUCK
        waits = waits + 1 if length < SMALL * SMALL else 0
        if v.rows[old] >= 0:
            inside[v.rows[old]] = False
        inside[new] = True
        replace_row(v, old, new, change)
    return STUCK


def exchange(A, costs, v, workspace):
    """Exchange rows of a conflict for cheaper ones; return the total cost of the new conflict.

    The conflict is given by the basis v.
    """
    n, m = A.shape
    inside, change, best = workspace.inside, workspace.change, workspace.best
    mark(v, inside)
    total = 0.0
    for k in range(m):
        if v.rows[k] >= 0:
            total += costs[v.rows[k]]
    for _ in range(EXCHANGES):
        highest = 0.0
        for k in range(m):
            if v.rows[k] >= 0:
                highest = max(highest, costs[v.rows[k]])
        gain = SMALL
        new = out = -1
        for i in range(n):
            if inside[i] or costs[i] >= highest - gain:
                continue
            find_change(A, v, i, change)
            old, _ = find_leaving(v, change)
            if old >= 0 and v.rows[old] >= 0 and costs[v.rows[old]] - costs[i] > gain:
                gain = costs[v.rows[old]] - costs[i]
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
    """Mark in `inside` which rows are in the basis v of the linear program."""
    for i in range(len(inside)):
        inside[i] = False
    for k in range(len(v.rows)):
        if v.rows[k] >= 0:
            inside[v.rows[k]] = True


def compute_dual(costs, v):
    """Compute the dual solution of the linear program for its basis v."""
    m = len(v.rows)
    for j in range(m):
        s = 0.0
        for k in range(m):
            s += (costs[v.rows[k]] if v.rows[k] >= 0 else ARTIFICIAL) * v.inverse[k, j]
        v.dual[j] = s


def find_change(A, v, new, change):
    """Compute how fast each multiplier in the basis falls as that of a new row grows."""
    m = len(v.rows)
    for k in range(m):
        s = 0.0
        for j in range(m):
            s += v.inverse[k, j] * A[new, j]
        change[k] = s


def find_leaving(v, change):
    """Find the row that leaves the basis of the linear program when a new row enters it.

    It is the row whose multiplier reaches zero first. Return its position in the basis, and the
    multiplier of the new row then. Of several, choose an artificial row, or else the one whose
    multiplier falls fastest.
    """
    m = len(change)
    length = np.inf
    old = -1
    for k in range(m):
        if change[k] > SMALL:
            r = max(v.inverse[k, m - 1], 0.0) / change[k]
            tied = abs(r - length) < SMALL * SMALL
            if tied:
                tied = v.rows[old] >= 0 and (v.rows[k] < 0 or change[k] > change[old])
            if tied or r < length - SMALL * SMALL:
                old = k
                length = min(r, length)
    return old, length


def replace_row(v, old, new, change):
    """Replace one row of the basis v, and update the inverse matrix of its rows."""
    m = len(change)
    for j in range(m):
        v.inverse[old, j] /= change[old]
    for k in range(m):
        if k != old and change[k] != 0:
            for j in range(m):
                v.inverse[k, j] -= change[k] * v.inverse[old, j]
    v.rows[old] = new


def invert(A, v, workspace):
    """Recompute the inverse matrix of the rows of a basis; return whether they are independent."""
    m = len(v.rows)
    rows, change = workspace.rows, workspace.change
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


LOOPS = mark, minimize, exchange, compute_dual, find_change, find_leaving, replace_row, invert
bind = functools.cache(functools.partial(helpers, *LOOPS, **UNCOUNTED))
search_on: Any = Kernel(search_rounds, bind)
