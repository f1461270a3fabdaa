"""The point nearest to the origin in the convex hull of the signed examples, in floats.

A small working set of rows is solved to the end; then one pass over all rows finds those that
would bring the point nearer, one for each part of the rows, and they join the working set.

To solve it is a least-squares question with multipliers u ≥ 0: make Σu as near to 1 and Σ u z as
near to 0 as can be. What is left over tells everything: w = Σ u z and height = 1 - Σu. Members
of the active set, those with u > 0, have w·z = height; if no row has less, w is the widest w; if
nothing is left, the hull holds the origin. Lawson and Hanson's steps, with L, the Cholesky factor
of the products of the members (1, z), row i for member i, brought up to date in k² steps when a
member comes or goes. The compiled loops at the end of this file take rows as the slides do, with
x0 = 1: what is left over is the tall v = (-height, w), and v·(1, z) is how far a row is above it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

import rosenblatt.kernels as kernels
import rosenblatt.scoring as scoring
from rosenblatt.clock import StatusLine
from rosenblatt.engine import REORDER, Kernel, helpers, one_pass
from rosenblatt.evidence.signed import GAP, Floats, Rows, Signed, gap_of
from rosenblatt.examples import stack_tables
from rosenblatt.kernels import add, score
from rosenblatt.scoring import squared_length
from rosenblatt.words import counted

PATIENCE = 16  # passes in a row that bring nothing, before rounding is to blame
SAMPLE = 512  # rows whose mean gives the first direction
STEPS = 2**8  # admissions in one compiled call, so that Ctrl-C and deadlines are answered
EPSILON = 2.0**-52
NEAREST, ORIGIN, FULL, STUCK, MORE = range(5)  # how a walk ends
DRIFT = 1e-10  # a second correction of the multipliers larger than this: L is worn
ADMISSIONS = 64  # in a row that bring nothing, before rounding is to blame


@dataclass(frozen=True, eq=False)
class Point:
    """Where the solver is: w, bounds on the margin that it proves, and the rows that carry it."""

    w: Floats  # the direction; zeros where the hull seems to hold the origin
    lower: float  # w has this margin, in the unit of the scaled rows
    upper: float  # no w has more
    rows: Rows  # the active set
    multipliers: Floats  # theirs, positive, with sum 1
    plain: bool = True  # whether lengths keep their meaning in that unit

    @property
    def gap(self) -> float:
        """How much wider, relative to `upper`, another w could be."""
        return gap_of(self.lower, self.upper)


Watch = Callable[[Point, int], None]


class Telling(StatusLine):
    """Remembers where the solver is, and says so when it takes long."""

    def __init__(self) -> None:
        super().__init__()
        self.point: Point | None = None
        self.passes = 0

    def tell(self, point: Point, passes: int) -> None:
        """Take where the solver is; say it if it is time to."""
        self.point, self.passes = point, passes
        known = "no separator yet"
        if point.lower > 0:
            known = f"a separator is found; its margin is within {point.gap:.1e} of the widest"
        self.say(lambda: f"{counted(passes, 'pass', 'passes')}; {known}")


@np.errstate(all="ignore")  # what overflows proves nothing, and is found out exactly
def nearest_point(signed: Signed, gap: float, watch: Watch) -> Point:
    """Walk to the nearest point until the margin is known to a relative gap.

    A gap of 1.0 is content with any w that separates. `watch` is told where the solver is after
    each pass, with the number of passes.
    """
    working = WorkingSet(signed)
    plain = signed.scale.is_plain and signed.quotient is None
    best = Point(np.zeros(signed.dimension), -np.inf, np.inf, *working.carrying(), plain)
    w = _first_direction(signed)
    waits = 0
    while waits < PATIENCE:
        s = signed.scores(w)
        worst = worst_of_parts(s, working.parts)
        last, best = best, working.better(best, w, float(s[worst].min()))
        nearer = best.upper < last.upper * (1 - 1e-12) or best.lower > last.lower
        waits = 0 if nearer else waits + 1
        watch(best, signed.passes)
        if best.lower > 0 and (gap >= 1.0 or best.gap <= gap):
            return best
        if not working.join(s, worst) or not working.solve():
            break
        w = working.active.v[1:]
    rows, multipliers = working.carrying()
    return replace(best, rows=rows, multipliers=multipliers)


class ActiveSet(NamedTuple):
    """The members among the rows of a working set, with place for some more."""

    members: Rows
    u: Floats  # their multipliers
    L: Floats
    v: Floats  # Σu - 1, then Σ u z

    @classmethod
    def of_size(cls, size: int, v: Floats) -> ActiveSet:
        """An active set without members."""
        return cls(np.zeros(size, dtype=np.intp), np.zeros(size), np.zeros((size, size)), v)


class WorkingSet:
    """Some rows of the data, and the active set among them."""

    def __init__(self, signed: Signed) -> None:
        self.signed = signed
        self.rows: Rows = np.empty(0, dtype=np.intp)
        self.Z: Any = None
        self.lengths: Floats = np.empty(0)
        self.active = ActiveSet.of_size(8, -np.eye(1, 1 + signed.dimension)[0])
        self.k = 0  # members
        features = min(signed.dimension, 400)
        self.most, self.parts = max(256, 12 * features), max(16, features)

    @property
    def members(self) -> Rows:
        """The members, as places among the rows."""
        return self.active.members[: self.k]

    def carrying(self) -> tuple[Rows, Floats]:
        """The rows of the members and their multipliers, summing to 1."""
        u = self.active.u[: self.k]
        return self.rows[self.members], u / (float(u.sum()) or 1.0)

    def better(self, best: Point, w: Floats, least: float) -> Point:
        """The better of two bounds below, and the better of two above."""
        length = float(np.sqrt(w @ w))
        lower = least / length if length > 0 else -np.inf
        upper = best.upper
        if self.k:
            upper = min(upper, length / float(self.active.u[: self.k].sum()))
        if lower <= best.lower and best.lower > 0:
            w, lower = best.w, best.lower
        return Point(w.copy(), lower, upper, *self.carrying(), best.plain)

    def join(self, s: Floats, worst: Rows) -> bool:
        """Take in the worst rows, where they would bring the point nearer."""
        level = -self.active.v[0] * (1.0 - GAP / 8) if self.k else np.inf
        new = np.setdiff1d(worst[s[worst] < level], self.rows)
        if len(new) == 0:
            return False
        if len(self.rows) + len(new) > self.most + self.k:
            self._leave_out(s)
        Z = self.signed.take(new)
        self.Z = Z if self.Z is None else stack_tables((self.Z, Z))
        self.rows = np.concatenate((self.rows, new))
        self.lengths = np.concatenate((self.lengths, np.sqrt((Z * Z).sum(axis=1))))
        return True

    def _leave_out(self, s: Floats) -> None:
        """Leave out the rows that are farthest from mattering, never members."""
        order = np.argsort(s[self.rows])
        near = np.zeros(len(order), dtype=bool)
        near[order[: self.most // 2]] = True
        near[self.members] = True
        stay = np.flatnonzero(near)
        self.members[:] = np.searchsorted(stay, self.members)
        self.rows, self.lengths, self.Z = self.rows[stay], self.lengths[stay], self.Z[stay]

    def solve(self) -> bool:
        """Walk to the nearest point of the working set; False at the origin or stuck there."""
        table = working_rows(self.Z)
        while True:
            self.signed.deadline.check()
            self.k, end = walk_on(table, self.lengths, self.active, self.k, GAP / 16, STEPS)
            if end == FULL:
                old, k = self.active, self.k
                self.active = ActiveSet.of_size(2 * k + 8, old.v)
                self.active.members[:k] = old.members
                self.active.u[:k] = old.u
                self.active.L[:k, :k] = old.L
            elif end != MORE:
                return bool(end == NEAREST)


def working_rows(Z: Any) -> kernels.Dense | kernels.Sparse:
    """A working set as the loops take it: signed rows, no steps."""
    none = np.empty(0)
    if isinstance(Z, np.ndarray):
        return kernels.Dense(Z, 1.0, none)
    return kernels.Sparse(
        Z.data, Z.indices.astype(np.uint32), Z.indptr.astype(np.uint32), 1.0, none
    )


def _first_direction(signed: Signed) -> Floats:
    step = max(1, signed.examples.n // SAMPLE)
    rows = np.arange(0, signed.examples.n, step)
    if signed.alive is not None:
        rows = np.flatnonzero(signed.alive)[::step]
    w: Floats = signed.take(rows).sum(axis=0)
    return w if w.any() else np.ones(signed.dimension)


def worst_of_parts(s: Floats, parts: int) -> Rows:
    """The row with the least score in each of so many parts of the rows."""
    width = -(-len(s) // parts)
    whole = len(s) // width
    least: Rows = s[: whole * width].reshape(whole, width).argmin(axis=1) + np.arange(whole) * width
    if whole * width < len(s):
        return np.append(least, whole * width + s[whole * width :].argmin())
    return least


# The compiled loops. `c` is an active set of k members.


def walk(Z, lengths, c, k, tolerance, steps):
    """Admit the row that is farthest below height, dismiss others, until no row is below."""
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
        j, short = worst(Z, c.v, inside)
        if short >= -tolerance * height - 8 * EPSILON * length * lengths[j]:
            return k, NEAREST
        if k == len(c.u):
            return k, FULL
        if waits > ADMISSIONS or not admit(Z, j, c, k):
            return k, STUCK
        inside[j] = True
        k = adjust(Z, c, k + 1, inside)
        height = -c.v[0]
        # Rounding can let the height go up and down for ever: only new lows count.
        waits = 0 if height < lowest * (1 - 1e-14) else waits + 1
        lowest = min(lowest, height)
    return k, MORE


def worst(Z, v, inside):
    """The row outside the active set with the least w·z, and how far it is above height."""
    least = np.inf
    j = 0
    for n in range(len(inside)):
        if not inside[n]:
            s = score(Z, n, v)
            if s < least:
                least = s
                j = n
    return j, least


def admit(Z, j, c, k):
    """Give row j a row in the triangle; not if it depends on the members."""
    z = np.zeros(len(c.v))
    add(Z, j, z, 1.0)
    square = squared_length(z)
    new = c.L[k]
    for i in range(k):
        new[i] = score(Z, c.members[i], z)
    lower(c.L, k, new)
    t = new[:k].copy()
    upper(c.L, k, t)
    # The length of what is new in z, from itself and not as a difference of squares.
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
    """Move to the best multipliers of the members, dismissing those that reach zero."""
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
    """The multipliers that leave least over, v in place, and how far off L is.

    What is left over is corrected twice by what its products with the members are off, so
    that it is right to its own size even where Σ u z nearly cancels.
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
    """Make the triangle afresh from the members; those that depend on others go."""
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
    """Take a member out of k: move the others up and make L a triangle again."""
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
    """Solve L x = b for the first k members, in place of b."""
    for i in range(k):
        s = b[i]
        for j in range(i):
            s -= L[i, j] * b[j]
        b[i] = s / L[i, i]


def upper(L, k, b):
    """Solve Lᵀ x = b for the first k members, in place of b."""
    for i in range(k - 1, -1, -1):
        b[i] /= L[i, i]
        for j in range(i):
            b[j] -= L[i, j] * b[i]


@functools.cache
def bind() -> None:
    """Tell Numba to compile the helpers of this file."""
    scoring.bind()
    helpers(lower, upper, fastmath=REORDER)
    helpers(dismiss, best, rebuild, adjust, admit, worst)


def _work(Z: kernels.Dense | kernels.Sparse, lengths: Floats, c: ActiveSet, *others: Any) -> int:
    """Each row that is admitted is found in a pass; some go, and more come than there are features.

    Four times as many, say; but half of that, for this takes longer to compile than other loops.
    """
    return 2 * len(c.v) * one_pass(Z)


walk_on = Kernel(walk, bind, _work)
