"""The minimum-norm point of the convex hull of the signed rows, in floats.

A small working set of rows is solved; then one pass over all rows finds rows that would bring the
point nearer to the origin, one per part of the rows, and they join the working set.

Solving is a least-squares problem with multipliers u ≥ 0: bring Σu as near to 1 and Σ u z as near
to 0 as possible. The residual says everything: w = Σ u z and height = 1 - Σu. Rows of the active
set, those with u > 0, have w·z = height; if no row has less, w has the widest margin; if the
residual is zero, the hull contains the origin. The steps are those of Lawson and Hanson, with the
Cholesky factor L of the products of the active rows (1, z), row i for member i, updated in k² steps
when a member enters or leaves. The compiled loops at the end of this file take rows as the slides
do, with x0 = 1: the residual is v = (-height, w), and v·(1, z) is how far a row is above it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.blocks import stack_tables
from rosenblatt.clock import StatusLine
from rosenblatt.engine import REORDER, Kernel, helpers, one_pass
from rosenblatt.evidence.signedrows import GAP, Floats, Rows, SignedRows, relative_gap
from rosenblatt.rowformats import Dense, Sparse, add, score, squared_length
from rosenblatt.text import plural

PATIENCE = 16  # consecutive passes without progress, after which rounding must be the cause
SAMPLE = 512  # rows whose mean gives the first direction
STEPS = 2**8  # rows admitted in one compiled call: between calls, Ctrl-C takes effect
EPSILON = 2.0**-52
NEAREST, ORIGIN, FULL, STUCK, MORE = range(5)  # ways in which the compiled loop ends
DRIFT = 1e-10  # if the last refinement of the multipliers is larger, L is inaccurate
ADMISSIONS = 64  # consecutive rows admitted without progress: rounding must be the cause


@dataclass(frozen=True, eq=False)
class Point:
    """Best solution of the minimum-norm solver: weights, bounds on the margin, active set."""

    w: Floats  # weights; zeros if the convex hull seems to contain the origin
    lower: float  # the margin of w, in the unit of the scaled rows
    upper: float  # upper bound on the margin of any w
    rows: Rows  # rows of the active set
    multipliers: Floats  # multipliers of these rows, positive, with sum 1
    plain: bool = True  # whether all columns and rows have the same unit, without projection


class SolverProgress(StatusLine):
    """Status line of the minimum-norm solver in a long run, with its latest solution."""

    point: Point | None = None
    passes = 0  # over all rows
    whole = True  # whether the solver has all rows, so that its passes count

    def count(self, passes: int) -> None:
        """Count passes of the solver, unless its rows are a working set."""
        if self.whole:
            self.passes += passes

    def tell(self, point: Point) -> None:
        """Store the latest solution, and update the status line if it is due."""
        self.point = point
        known = "no separating weights yet"
        if point.lower > 0:
            gap = relative_gap(point.lower, point.upper)
            known = f"separating weights with a margin within {gap:.1e} of the widest"
        self.update(lambda: f"{plural(self.passes, 'pass', 'passes')}; {known}")


@np.errstate(all="ignore")  # an overflow proves nothing; the exact steps decide
def nearest_point(signed: SignedRows, gap: float) -> Point:
    """Find the minimum-norm point of the rows' convex hull, to a relative accuracy of `gap`.

    With a gap of 1.0, any w that separates will do.
    """
    working = WorkingSet(signed)
    zero, waits = np.zeros(signed.dimension), 0
    plain = signed.factors is None and signed.quotient is None
    plain = plain and bool((signed.columns == signed.columns[0]).all())
    best = Point(zero, -np.inf, np.inf, *working.active_rows(), plain)
    rows = np.arange(signed.examples.n) if signed.alive is None else np.flatnonzero(signed.alive)
    # The sum of a sample of rows is the first direction.
    w = signed.take(rows[:: max(1, signed.examples.n // SAMPLE)]).sum(axis=0)
    w = w if w.any() else np.ones(signed.dimension)
    while waits < PATIENCE:
        s, _ = signed.scores(w)
        worst = find_lowest_by_part(s, working.parts)
        length, last = float(np.sqrt(w @ w)), best
        lower = float(s[worst].min()) / length if length > 0 else -np.inf
        upper = length / float(working.active.u[: working.k].sum()) if working.k else np.inf
        kept = w.copy()
        if lower <= last.lower and last.lower > 0:
            kept, lower = last.w, last.lower
        best = Point(kept, lower, min(last.upper, upper), *working.active_rows(), plain)
        nearer = best.upper < last.upper * (1 - 1e-12) or best.lower > last.lower
        waits = 0 if nearer else waits + 1
        if signed.progress is not None:
            signed.progress.tell(best)
        if best.lower > 0 and (gap >= 1.0 or relative_gap(best.lower, best.upper) <= gap):
            return best
        if not working.join(s, worst) or not working.solve():
            break
        w = working.active.v[1:]
    rows, multipliers = working.active_rows()
    return replace(best, rows=rows, multipliers=multipliers)


class ActiveSet(NamedTuple):
    """Active set of the minimum-norm solver: its rows, multipliers and Cholesky factor.

    The arrays have space for more members.
    """

    members: Rows  # positions in the working set
    u: Floats  # multipliers of the members
    L: Floats  # the Cholesky factor of their products
    v: Floats  # the residual: Σu - 1 followed by Σ u z


class WorkingSet:
    """Rows that the solver works on, and the active set among them."""

    def __init__(self, signed: SignedRows) -> None:
        self.signed = signed
        self.rows: Rows = np.empty(0, dtype=np.intp)
        self.Z: Any = None
        self.lengths: Floats = np.empty(0)
        residual = -np.eye(1, 1 + signed.dimension)[0]
        self.active = ActiveSet(np.zeros(8, dtype=np.intp), np.zeros(8), np.zeros((8, 8)), residual)
        self.k = 0  # number of members
        features = min(signed.dimension, 400)
        self.most, self.parts = max(256, 12 * features), max(16, features)

    def active_rows(self) -> tuple[Rows, Floats]:
        """Return the rows of the active set and their multipliers, which sum to 1."""
        u = self.active.u[: self.k]
        return self.rows[self.active.members[: self.k]], u / (float(u.sum()) or 1.0)

    def join(self, s: Floats, worst: Rows) -> bool:
        """Add the rows in `worst` that would move the minimum-norm point nearer to the origin.

        Return whether there are any. `s` has the scores of all rows.
        """
        level = -self.active.v[0] * (1.0 - GAP / 8) if self.k else np.inf
        new = np.setdiff1d(worst[s[worst] < level], self.rows)
        if len(new) == 0:
            return False
        if len(self.rows) + len(new) > self.most + self.k:
            # Drop the rows with the highest scores, but no members of the active set.
            near = np.zeros(len(self.rows), dtype=bool)
            near[np.argsort(s[self.rows])[: self.most // 2]] = True
            members = self.active.members[: self.k]
            near[members] = True
            stay = np.flatnonzero(near)
            members[:] = np.searchsorted(stay, members)
            self.rows, self.lengths, self.Z = self.rows[stay], self.lengths[stay], self.Z[stay]
        Z = self.signed.take(new)
        self.Z = Z if self.Z is None else stack_tables((self.Z, Z))
        self.rows = np.concatenate((self.rows, new))
        self.lengths = np.concatenate((self.lengths, np.sqrt((Z * Z).sum(axis=1))))
        return True

    def solve(self) -> bool:
        """Find the minimum-norm point of the working set; return False if it is the origin.

        Return False as well where rounding ends the search.
        """
        Z, none = self.Z, np.empty(0)
        table: Dense | Sparse = Dense(Z, 1.0, none)
        if self.signed.examples.is_sparse:
            indices, indptr = Z.indices.astype(np.uint32), Z.indptr.astype(np.uint32)
            table = Sparse(Z.data, indices, indptr, 1.0, none)
        while True:
            self.signed.deadline.check()
            self.k, end = run_nearest(table, self.lengths, self.active, self.k, GAP / 16, STEPS)
            if end == FULL:
                old, more = self.active, (0, self.k + 8)
                members, u, L = np.pad(old.members, more), np.pad(old.u, more), np.pad(old.L, more)
                self.active = ActiveSet(members, u, L, old.v)
            elif end != MORE:
                return bool(end == NEAREST)


def find_lowest_by_part(s: Floats, parts: int) -> Rows:
    """Divide the rows into parts; return the row of lowest score in each."""
    width = -(-len(s) // parts)
    whole = len(s) // width
    least: Rows = s[: whole * width].reshape(whole, width).argmin(axis=1) + np.arange(whole) * width
    if whole * width < len(s):
        return np.append(least, whole * width + s[whole * width :].argmin())
    return least


# The compiled loops. `c` is an active set of k members.


def find_nearest(Z, lengths, c, k, tolerance, steps):
    """Run up to `steps` steps of Wolfe's algorithm towards the minimum-norm point."""
    size = 0.0
    for n in range(len(lengths)):
        size = max(size, lengths[n])
    inside = np.zeros(len(lengths), dtype=np.bool_)
    for i in range(k):
        inside[c.members[i]] = True
    waits = 0
    lowest = height = -c.v[0]
    for _ in range(steps):
        length = np.sqrt(squared_length(c.v[1:]))
        if k > 0 and (height <= 0 or length <= 4 * EPSILON * size * np.sqrt(k)):
            return k, ORIGIN
        j, least = 0, np.inf  # the row of lowest score outside the active set
        for n in range(len(inside)):
            if not inside[n]:
                s = score(Z, n, c.v)
                if s < least:
                    least = s
                    j = n
        if least >= -tolerance * height - 8 * EPSILON * length * lengths[j]:
            return k, NEAREST
        if k == len(c.u):
            return k, FULL
        if waits > ADMISSIONS or not admit(Z, j, c, k):
            return k, STUCK
        inside[j] = True
        k = adjust(Z, c, k + 1, inside)
        height = -c.v[0]
        # Rounding can make the height go up and down forever: only new lows are progress.
        waits = 0 if height < lowest * (1 - 1e-14) else waits + 1
        lowest = min(lowest, height)
    return k, MORE


def admit(Z, j, c, k):
    """Add row j to the active set; return False if it is a linear combination of its rows."""
    z = np.zeros(len(c.v))
    add(Z, j, z, 1.0)
    square = squared_length(z)
    new = c.L[k]
    for i in range(k):
        new[i] = score(Z, c.members[i], z)
    lower(c.L, k, new)
    t = new[:k].copy()
    upper(c.L, k, t)
    # Compute the part of z that the members do not span, whose length is then accurate.
    for i in range(k):
        add(Z, c.members[i], z, -t[i])
    left = squared_length(z)
    if left <= 16 * EPSILON * EPSILON * square:
        return False
    new[k] = np.sqrt(left)
    c.members[k] = j
    c.u[k] = 0.0
    return True


def adjust(Z, c, k, inside):
    """Find the minimum-norm point of the active rows; return how many of them are left.

    Rows whose multiplier reaches 0 are dropped.
    """
    while True:
        p, drift = best(Z, c, k)
        if drift > DRIFT:
            k = rebuild(Z, c, k, inside)
            p, drift = best(Z, c, k)
        step = 1.0
        first = -1
        for i in range(k):
            if p[i] <= 0 and (first < 0 or c.u[i] < step * (c.u[i] - p[i])):
                step = c.u[i] / (c.u[i] - p[i]) if c.u[i] > 0 else 0.0
                first = i
        for i in range(k):
            c.u[i] += step * (p[i] - c.u[i])
        if first < 0:
            return k
        c.u[first] = 0.0
        for i in range(k - 1, -1, -1):
            if c.u[i] <= 0 and (i < k - 1 or p[i] <= 0):
                inside[c.members[i]] = False
                dismiss(c, k, i)
                k -= 1


def best(Z, c, k):
    """Compute the optimal multipliers of the k active rows, and estimate their error.

    They minimize the norm of the residual, which is stored in c.v. It is refined twice by its
    products with the members, so that it is accurate relative to its own size even where Σ u z
    nearly cancels.
    """
    p, off = np.zeros(k), np.zeros(k)
    c.v[:] = 0.0
    c.v[0] = -1.0
    drift = 0.0
    for _ in range(3):
        for i in range(k):
            off[i] = -score(Z, c.members[i], c.v)
        lower(c.L, k, off)
        upper(c.L, k, off)
        drift = 0.0
        for i in range(k):
            p[i] += off[i]
            drift = max(drift, abs(off[i]))
            add(Z, c.members[i], c.v, off[i])
    return p, drift


def rebuild(Z, c, k, inside):
    """Recompute the Cholesky factor L of the active rows; drop linearly dependent rows.

    Return the number of rows left.
    """
    new = 0
    for i in range(k):
        j, u = c.members[i], c.u[i]
        if admit(Z, j, c, new):
            c.u[new] = u
            new += 1
        else:
            inside[j] = False
    return new


def dismiss(c, k, gone):
    """Remove the active row at position `gone`, and update the Cholesky factor L."""
    for i in range(gone, k - 1):
        c.members[i] = c.members[i + 1]
        c.u[i] = c.u[i + 1]
        for j in range(i + 2):
            c.L[i, j] = c.L[i + 1, j]
    for i in range(gone, k - 1):
        r = np.hypot(c.L[i, i], c.L[i, i + 1])
        cos, sin = c.L[i, i] / r, c.L[i, i + 1] / r
        for m in range(i, k - 1):
            a, b = c.L[m, i], c.L[m, i + 1]
            c.L[m, i] = cos * a + sin * b
            c.L[m, i + 1] = cos * b - sin * a


def lower(L, k, b):
    """Solve L x = b for the leading k-by-k part of L; x overwrites b."""
    for i in range(k):
        s = b[i]
        for j in range(i):
            s -= L[i, j] * b[j]
        b[i] = s / L[i, i]


def upper(L, k, b):
    """Solve Lᵀ x = b for the leading k-by-k part of L; x overwrites b."""
    for i in range(k - 1, -1, -1):
        b[i] /= L[i, i]
        for j in range(i):
            b[j] -= L[i, j] * b[i]


@functools.cache
def bind() -> None:
    """Register the helper functions of the compiled loops with Numba."""
    helpers(lower, upper, fastmath=REORDER)
    helpers(dismiss, best, rebuild, adjust, admit)


def _work(Z: Dense | Sparse, lengths: Floats, c: ActiveSet, *others: Any) -> int:
    """Estimate the number of multiplications of one `find_nearest` call.

    Assume one pass over the rows per row that is added, and four times as many of these as
    features. Take half of that, because this loop takes longer to compile than others.
    """
    return 2 * len(c.v) * one_pass(Z)


run_nearest = Kernel(find_nearest, bind, _work)
