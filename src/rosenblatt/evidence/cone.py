"""Which rows can be separated: the directions in which a likelihood never falls.

Rows z ask for γ·z ≥ 0, pinned rows for γ·z = 0. A row is *separated* if some such γ has γ·z > 0
there, and *overlaps* otherwise. One γ is positive on every separated row and zero on the others,
and one set of multipliers, positive on every overlapping row and of any sign on pinned ones, has
Σ λ z = 0: a strictly complementary pair, and each side proves the other's rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from rosenblatt.evidence.decide import (
    ANY,
    divide,
    lifted,
    part_of,
    quotient_by,
    resolve,
    short_weights,
    sum_of,
    total_of,
)
from rosenblatt.evidence.exact import Found, independent_columns
from rosenblatt.evidence.nearest import Watch, nearest_point
from rosenblatt.evidence.proof import Part, Vector
from rosenblatt.evidence.signed import Quotient, Scale, Signed, look_at
from rosenblatt.examples import Examples

Mask = NDArray[np.bool_]

SPARE = 8  # rows looked at beyond those that are needed to span a space


@dataclass(frozen=True, eq=False)
class Constraints:
    """Rows z = y·x that ask for γ·z ≥ 0, and which of them are pinned to γ·z = 0.

    The examples have no x0 of their own: where there is an intercept it is a column.
    """

    examples: Examples
    pinned: Mask


@dataclass(frozen=True, eq=False)
class Partition:
    """Which rows are separated, γ and multipliers that show it, and the span of the others.

    Parameters
    ----------
    separated : bool array
        One for each row.
    direction : tuple of int
        γ: positive on separated rows, zero on the others; all zeros where there are none.
    part : Part
        Multipliers of overlapping rows; `rest` is that of each that is neither listed nor pinned.
    spanning : tuple of int
        Independent rows that span the overlapping ones.
    reason : str
        Why it is undecided; empty where it is not.
    """

    separated: Mask
    direction: Vector = ()
    part: Part = field(default_factory=lambda: Part((), ()))
    spanning: tuple[int, ...] = ()
    reason: str = ""


def partition(constraints: Constraints, watch: Watch = lambda point, passes: None) -> Partition:
    """Find out which rows are separated, exactly.

    Parameters
    ----------
    constraints : Constraints
        The rows.
    watch : callable, optional
        Told how far the solver is.

    Examples
    --------
    >>> from rosenblatt.examples import Examples
    >>> rows = Examples.from_arrays([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1, 1, 1],
    ...                             x0=0.0, one_class=True)
    >>> found = partition(Constraints(rows, np.zeros(3, dtype=bool)))
    >>> found.separated.tolist(), found.direction, found.part.rows
    ([False, False, True], (0, 1), (0, 1))
    """
    left = _reduced(constraints, watch)
    if left.direction is None:
        reason = "neither a direction nor multipliers could be made exact"
        return Partition(np.zeros(constraints.examples.n, dtype=bool), reason=reason)
    return _partition(constraints, left)


def direction(
    constraints: Constraints, watch: Watch, row: int | None = None
) -> tuple[int, ...] | None:
    """A direction that is positive wherever one can be, zeros if nowhere; None if undecided.

    With a row, zeros also as soon as it is known that none is positive there.
    """
    return _reduced(constraints, watch, row).direction


@dataclass(frozen=True, eq=False)
class Reduced:
    """What is left when the span of all overlapping rows is divided away.

    Parameters
    ----------
    signed : Signed
        The rows that are left.
    free : list of int
        Rows that span the pinned ones.
    carried : list of Found
        Multipliers found on the way.
    direction : tuple of int, optional
        Positive on the rows left, zeros if there are none; None if undecided.
    """

    signed: Signed
    free: list[int]
    carried: list[Found]
    direction: Vector | None


def _reduced(constraints: Constraints, watch: Watch, row: int | None = None) -> Reduced:
    examples = constraints.examples
    signed = Signed(examples, Scale.even(examples, look_at(examples)))
    free, signed = _span(signed, np.flatnonzero(constraints.pinned))
    carried: list[Found] = []
    while _alive(signed).any() if row is None else _alive(signed)[row]:
        found = resolve(signed, nearest_point(signed, ANY, watch))
        if found is None:
            return Reduced(signed, free, carried, None)
        if found.weights:
            return Reduced(signed, free, carried, short_weights(signed, found))
        carried.append(found)
        signed = _divided(signed, [*free, *(n for one in carried for n in one.rows)])
    return Reduced(signed, free, carried, (0,) * examples.d)


def _alive(signed: Signed) -> Mask:
    assert signed.alive is not None
    return signed.alive


def _divided(signed: Signed, rows: Sequence[int]) -> Signed:
    """The rows with the span of some of them divided away."""
    left, nothing = divide(signed, [Found(rows=list(rows))])
    if not nothing:
        return left
    return replace(left, alive=np.zeros(signed.examples.n, dtype=bool))


def _span(signed: Signed, among: NDArray[np.intp]) -> tuple[list[int], Signed]:
    """Independent rows that span some rows, and all rows with that span divided away."""
    spanning: list[int] = []
    signed = _divided(signed, spanning)
    while len(left := among[_alive(signed)[among]]):
        few = left[:: max(1, len(left) // (signed.dimension + SPARE))].tolist()
        keep = independent_columns(signed.exact(few).transpose())
        spanning += [few[i] for i in keep]
        signed = _divided(signed, spanning)
    return spanning, signed


def spanning_rows(examples: Examples, among: NDArray[np.intp]) -> list[int]:
    """Independent rows that span some of the examples."""
    return _span(Signed(examples, Scale.even(examples, look_at(examples))), among)[0]


def _partition(constraints: Constraints, left: Reduced) -> Partition:
    signed, free, carried, gamma = left.signed, left.free, left.carried, left.direction or ()
    separated = _alive(signed) if any(gamma) else np.zeros(constraints.examples.n, dtype=bool)
    rows, multipliers = list(free), [flint.fmpq(0)] * len(free)
    for one in carried:
        multipliers = lifted(signed, rows, multipliers, sum_of(signed, one), free=len(free))
        rows, multipliers = [*rows, *one.rows], [*multipliers, *one.multipliers]
    rest = np.setdiff1d(np.flatnonzero(~separated & ~constraints.pinned), rows)
    if len(rest):
        total = total_of(signed, rest.tolist())
        multipliers = lifted(signed, rows, multipliers, total, free=len(free))
    part = part_of(signed, Found(rows=rows, multipliers=multipliers), int(len(rest) > 0))
    spanning = [rows[i] for i in independent_columns(signed.exact_whole(rows).transpose())]
    return Partition(separated, gamma, part, tuple(spanning))


def null_space(examples: Examples, spanning: Sequence[int]) -> Quotient:
    """The γ that are zero on some rows: what is at the pivots follows from the others."""
    return quotient_by(Signed(examples, Scale(np.ones(examples.d))), spanning)


def determined(quotient: Quotient, dimension: int) -> Mask:
    """Which coordinates are zero for every γ of a null space."""
    result = np.zeros(dimension, dtype=bool)
    table: list[list[Any]] = quotient.fill.tolist()
    if quotient.fill.ncols() == 0:
        table = [[] for _ in quotient.pivots]
    for j, row in zip(quotient.pivots.tolist(), table, strict=True):
        result[j] = all(v == 0 for v in row)
    return result
