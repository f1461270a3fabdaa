"""The point nearest to the origin in the convex hull of the signed examples, in floats.

A small working set of rows is solved to the end; then one pass over all rows finds those that
would bring the point nearer, one for each block of rows, and they join the working set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.evidence.corral import Corral
from rosenblatt.evidence.signed import Floats, Rows, Signed

GAP = 1e-9  # how near to the widest margin is near enough
PATIENCE = 16  # passes in a row that bring nothing, before rounding is to blame
SAMPLE = 512  # rows whose mean gives the first direction


@dataclass(frozen=True, eq=False)
class Point:
    """Where the solver is: w, bounds on the margin that it proves, and the rows that carry it.

    Parameters
    ----------
    w : array
        The direction; zeros where the hull seems to hold the origin.
    lower, upper : float
        w has margin `lower`; no w has more than `upper`. In the unit of the scaled rows.
    rows, multipliers : arrays
        The corral, and positive multipliers that sum to 1.
    plain : bool
        Whether lengths keep their meaning in that unit.
    """

    w: Floats
    lower: float
    upper: float
    rows: Rows
    multipliers: Floats
    plain: bool = True

    @property
    def gap(self) -> float:
        """How much wider, relative to `upper`, another w could be; 1 where nothing is known."""
        return 1.0 - self.lower / self.upper if self.lower > 0 and self.upper > 0 else 1.0


Watch = Callable[[Point, int], None]


def nearest_point(signed: Signed, gap: float, watch: Watch) -> Point:
    """Walk to the nearest point until the margin is known to a relative gap.

    Parameters
    ----------
    signed : Signed
        The rows.
    gap : float
        1.0 is content with any w that separates.
    watch : callable
        Told where the solver is after each pass, with the number of passes.
    """
    work = _Work(signed)
    plain = signed.scale.is_plain and signed.quotient is None
    best = Point(np.zeros(signed.dimension), -np.inf, np.inf, *work.carrying(), plain)
    w = _first_direction(signed)
    waits = 0
    while waits < PATIENCE:
        s = signed.scores(w)
        last, best = best, work.better(best, w, float(s.min()))
        nearer = best.upper < last.upper * (1 - 1e-12) or best.lower > last.lower
        waits = 0 if nearer else waits + 1
        watch(best, signed.passes)
        if best.lower > 0 and (gap >= 1.0 or best.gap <= gap):
            return best
        if not work.join(s, GAP / 8) or not work.solve():
            break
        w = work.corral.w
    return work.now(best)


class _Work:
    """The working set: some rows of the data, and the corral among them."""

    def __init__(self, signed: Signed) -> None:
        self.signed = signed
        self.rows: Rows = np.empty(0, dtype=np.intp)
        self.Z: Any = None
        self.lengths: Floats = np.empty(0)
        self.corral = Corral(signed.dimension)
        self.room = max(256, 12 * min(signed.dimension, 400))
        self.blocks = max(16, min(signed.dimension, 400))

    def carrying(self) -> tuple[Rows, Floats]:
        """The rows of the corral and their multipliers, summing to 1."""
        corral = self.corral
        return self.rows[corral.members], corral.u / (corral.total or 1.0)

    def better(self, best: Point, w: Floats, least: float) -> Point:
        """The better of two bounds below, and the better of two above."""
        length = float(np.sqrt(w @ w))
        lower = least / length if length > 0 else -np.inf
        upper = best.upper
        if len(self.corral.u):
            upper = min(upper, length / self.corral.total)
        if lower > best.lower or best.lower <= 0:
            best = replace(best, w=w.copy(), lower=lower)
        return self.now(replace(best, upper=upper))

    def now(self, best: Point) -> Point:
        """The best bounds, and the corral as it is now."""
        rows, multipliers = self.carrying()
        return replace(best, rows=rows, multipliers=multipliers)

    def join(self, s: Floats, tolerance: float) -> bool:
        """Take in the worst row of each block, where it would bring the point nearer."""
        corral = self.corral
        level = np.inf if not len(corral.u) else corral.height * (1.0 - tolerance)
        worst = worst_of_parts(s, self.blocks)
        new = np.setdiff1d(worst[s[worst] < level], self.rows)
        if len(new) == 0:
            return False
        self._make_room(s, len(new))
        Z = self.signed.take(new)
        self.Z = Z if self.Z is None else _stack(self.Z, Z)
        self.rows = np.concatenate((self.rows, new))
        self.lengths = np.concatenate((self.lengths, _lengths(Z)))
        return True

    def _make_room(self, s: Floats, newcomers: int) -> None:
        """Leave out the rows that are farthest from mattering, never members."""
        if len(self.rows) + newcomers <= self.room + len(self.corral.members):
            return
        order = np.argsort(s[self.rows])
        near = np.zeros(len(order), dtype=bool)
        near[order[: self.room // 2]] = True
        near[self.corral.members] = True
        stay = np.flatnonzero(near)
        self.corral.renumber(np.searchsorted(stay, self.corral.members))
        self.rows, self.lengths, self.Z = self.rows[stay], self.lengths[stay], self.Z[stay]

    def solve(self) -> bool:
        """Walk to the nearest point of the working set; False where floats end."""
        return self.corral.walk(self.Z, self.lengths, GAP / 16, self.signed.deadline)


def _first_direction(signed: Signed) -> Floats:
    step = max(1, signed.examples.n // SAMPLE)
    rows = np.arange(0, signed.examples.n, step)
    if signed.alive is not None:
        rows = np.flatnonzero(signed.alive)[::step]
    w = np.asarray(signed.take(rows).sum(axis=0), dtype=np.float64).ravel()
    return w if w.any() else np.ones(signed.dimension)


def worst_of_parts(s: Floats, parts: int) -> Rows:
    """The row with the least score in each of so many parts of the rows."""
    width = -(-len(s) // parts)
    whole = len(s) // width
    least: Rows = s[: whole * width].reshape(whole, width).argmin(axis=1) + np.arange(whole) * width
    if whole * width < len(s):
        rest: NDArray[np.intp] = np.array([whole * width + int(s[whole * width :].argmin())])
        return np.concatenate((least, rest))
    return least


def _stack(top: Any, bottom: Any) -> Any:
    if isinstance(top, np.ndarray):
        return np.concatenate((top, bottom))
    from scipy import sparse

    return sparse.vstack((top, bottom), format="csr")


def _lengths(Z: Any) -> Floats:
    if isinstance(Z, np.ndarray):
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", Z, Z)))
    squares = np.asarray(Z.multiply(Z).sum(axis=1), dtype=np.float64)
    return np.asarray(np.sqrt(squares.ravel()))
