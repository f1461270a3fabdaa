"""Directions in which a likelihood never falls: the rows they separate, the estimates they move.

Rows z ask for γ·z ≥ 0, pinned rows for γ·z = 0. A row is *separated* if some such γ has γ·z > 0
there, and *overlaps* otherwise. One γ is positive on every separated row and zero on the others,
and one set of multipliers, positive on every overlapping row and of any sign on pinned ones, has
Σ λ z = 0: a strictly complementary pair, and each side proves the other's rows. An estimate is
infinite if some γ of this cone moves its coefficient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from rosenblatt.evidence.decide import (
    divide,
    joined,
    part_of,
    quotient_by,
    reduced,
    with_the_rest,
)
from rosenblatt.evidence.families import Constraints, Mask, Question
from rosenblatt.evidence.integers import sum_of_rows
from rosenblatt.evidence.nearest import Watch
from rosenblatt.evidence.parts import Part, Vector
from rosenblatt.evidence.signed import (
    Alternative,
    Quotient,
    Scale,
    Signed,
    independent_columns,
    look_at,
)
from rosenblatt.examples import Examples

SPARE = 8  # rows looked at beyond those that are needed to span a space
ALONE = 100  # columns of which each is tried alone
FEW = 24  # more columns to drop than so many are no advice
MANY = 400  # of so many columns those to drop are not looked for: it would take minutes

NO_PART = Part((), ())

# Why an estimate is what it is, in words.
FINITE, UP, DOWN = "finite", "grows without bound", "falls without bound"
EITHER, UNKNOWN = "infinite, of either sign", "not identified by any row"
UNSIGNED = "infinite, its sign not known"  # where the run ended before it was
INFINITE = (UP, DOWN, EITHER, UNSIGNED)
ESTIMATES = {FINITE: 0.0, UP: math.inf, DOWN: -math.inf} | dict.fromkeys(
    (EITHER, UNKNOWN, UNSIGNED), math.nan
)
SHORT = {
    FINITE: "finite",
    UP: "+inf",
    DOWN: "-inf",
    EITHER: "±inf",
    UNKNOWN: "—",
    UNSIGNED: "infinite",
}


@dataclass(frozen=True, eq=False)
class Partition:
    """Which rows are separated, γ and multipliers that show it, and the span of the others."""

    separated: Mask  # one for each row
    direction: Vector = ()  # γ: positive on separated rows, zero on the others
    part: Part = NO_PART  # its rest is of rows that overlap, neither listed nor pinned
    spanning: tuple[int, ...] = ()  # independent rows that span the overlapping ones
    reason: str = ""  # why it is undecided


@dataclass(frozen=True)
class Blame:
    """Why each estimate is what it is, and columns without which none is infinite."""

    why: tuple[str, ...]  # for each coefficient
    drop: tuple[str, ...] = ()  # none where it would take many, or is not known
    reason: str = ""  # why something is not known


def partition(constraints: Constraints, watch: Watch = lambda point, passes: None) -> Partition:
    """Find out which rows are separated, exactly.

    Examples
    --------
    >>> from rosenblatt.examples import Examples
    >>> rows = Examples.from_arrays([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1, 1, 1],
    ...                             x0=0.0, one_class=True)
    >>> found = partition(Constraints(rows, np.zeros(3, dtype=bool)))
    >>> found.separated.tolist(), found.direction, found.part.rows
    ([False, False, True], (0, 1), (0, 1))
    """
    signed, carried = _without_pinned(constraints)
    left, free = reduced(signed, carried, watch), len(carried[0].rows)
    separated = np.zeros(signed.examples.n, dtype=bool)
    if left.weights is None:
        return Partition(separated, reason=left.reason)
    if left.weights:
        assert left.signed.alive is not None
        separated = left.signed.alive
    found = joined(left.signed, carried, free)
    listed = separated | constraints.pinned
    listed[found.rows] = True
    if listed.all():
        part = part_of(left.signed, found)
    else:
        rest = sum_of_rows(signed.examples, without=listed)
        part = with_the_rest(left.signed, found, rest, free)
    columns = independent_columns(left.signed.exact_whole(found.rows).transpose())
    spanning = tuple(found.rows[i] for i in columns)
    return Partition(separated, left.weights or (0,) * signed.examples.d, part, spanning)


def _direction(constraints: Constraints, watch: Watch, row: int | None = None) -> Vector | None:
    """A direction that is positive wherever one can be, zeros if nowhere; None if undecided.

    With a row, zeros also as soon as it is known that none is positive there.
    """
    signed, carried = _without_pinned(constraints)
    weights = reduced(signed, carried, watch, row=row).weights
    return weights if weights is None or weights else (0,) * signed.examples.d


def _without_pinned(constraints: Constraints) -> tuple[Signed, list[Alternative]]:
    """The rows with the span of those pinned divided away, and what spans these."""
    examples = constraints.examples
    signed = Signed(examples, Scale.even(examples, look_at(examples)))
    free, signed = _span(signed, np.flatnonzero(constraints.pinned))
    return signed, [Alternative(rows=free, multipliers=[flint.fmpq(0)] * len(free))]


def _span(signed: Signed, among: NDArray[np.intp]) -> tuple[list[int], Signed]:
    """Independent rows that span some rows, and all rows with that span divided away."""
    spanning: list[int] = []
    signed = divide(signed, [])
    while signed.alive is not None and len(left := among[signed.alive[among]]):
        few = left[:: max(1, len(left) // (signed.dimension + SPARE))].tolist()
        keep = independent_columns(signed.exact(few).transpose())
        spanning += [few[i] for i in keep]
        signed = divide(signed, [Alternative(rows=spanning)])
    return spanning, signed


def _spanning_rows(examples: Examples, among: Any) -> list[int]:
    """Independent rows that span some of the examples."""
    signed = Signed(examples, Scale.even(examples, look_at(examples)))
    return _span(signed, np.asarray(among, dtype=np.intp))[0]


def blame(asked: Question, found: Partition, watch: Watch) -> Blame:
    """Find out which way the estimates run; what is known by then if interrupted."""
    constraints, reason = asked.constraints, ""
    why, alone = _known(constraints.examples, found)
    drop: Sequence[str] = ()
    cone = Cone(constraints, found, [found.direction], watch)
    try:
        for j in np.flatnonzero(np.array(why) == UNSIGNED).tolist():
            why[j] = cone.sign(j, alone=alone)
        if found.separated.any():
            drop = _droppable(cone, asked, why)
    except KeyboardInterrupt:
        reason = "interrupted before all was known about the coefficients"
    return Blame(tuple(why), tuple(drop), reason)


def _known(examples: Examples, found: Partition) -> tuple[list[str], bool]:
    """What the ranks tell of each coefficient, and whether there is one direction alone."""
    over = _null_space(examples, found.spanning)
    rows = np.flatnonzero(found.separated)
    spanning = [*found.spanning, *_spanning_rows(examples, rows)] if len(rows) else found.spanning
    every = _null_space(examples, _spanning_rows(examples, spanning))
    known = zip(_determined(over, examples.d), _determined(every, examples.d), strict=True)
    why = [FINITE if finite else UNSIGNED if is_known else UNKNOWN for finite, is_known in known]
    return why, len(over.others) - len(every.others) == 1


def _null_space(examples: Examples, spanning: Sequence[int]) -> Quotient:
    """The γ that are zero on some rows: what is at the pivots follows from the others."""
    return quotient_by(Signed(examples, Scale(np.ones(examples.d))), spanning)


def _determined(quotient: Quotient, dimension: int) -> Mask:
    """Which coordinates are zero for every γ of a null space."""
    result = np.zeros(dimension, dtype=bool)
    table: list[list[Any]] = quotient.fill.tolist()
    if quotient.fill.ncols() == 0:
        table = [[] for _ in quotient.pivots]
    for j, row in zip(quotient.pivots.tolist(), table, strict=True):
        result[j] = all(v == 0 for v in row)
    return result


@dataclass(frozen=True, eq=False)
class Cone:
    """The directions, asked which signs the coefficients have along them."""

    constraints: Constraints
    found: Partition
    directions: list[Vector]  # that are known to be in it
    watch: Watch

    def sign(self, j: int, *, alone: bool) -> str:
        """Whether coefficient j is positive, negative or either along the cone's directions."""
        signs = {(v[j] > 0) - (v[j] < 0) for v in self.directions} - {0}
        for side in (1, -1):
            if side not in signs and not alone:
                possible = self.possible(j, side)
                if possible is None:
                    return UNSIGNED
                signs |= {side} if possible else set()
        return EITHER if len(signs) == 2 else UP if signs == {1} else DOWN

    def possible(self, j: int, side: int) -> bool | None:
        """Whether some direction of the cone has this sign at j; None where undecided."""
        small = self._small([j], side)
        small.pinned[-1] = False
        found = _direction(small, self.watch, row=len(small.pinned) - 1)
        if found is None:
            return None
        self.directions.append(found)
        return side * found[j] > 0

    def without(self, columns: Sequence[int]) -> Vector | None:
        """A direction that is left once columns are dropped, zeros if none; None if undecided."""
        return _direction(self._small(columns), self.watch)

    def finite_without(self, columns: Sequence[int]) -> bool:
        """Whether nothing is separated once these columns are dropped."""
        left = self.without(columns)
        return left is not None and not any(left)

    def _small(self, columns: Sequence[int], side: int = 1) -> Constraints:
        """The separated rows, rows that span the others, and a row for each of some columns.

        All but the separated rows are pinned. What stands in a row of a column alone is as large
        as the numbers of the column, so that it stands out in no way.
        """
        examples = self.constraints.examples
        rows = np.flatnonzero(self.found.separated)
        index = np.concatenate((rows, np.array(self.found.spanning, dtype=np.intp)))
        X = examples.tall_rows(index)
        extra = np.zeros((len(columns), examples.d))
        for row, j in enumerate(columns):
            extra[row, j] = side * (float(np.abs(X[:, j]).max(initial=0.0)) or 1.0)
        y = np.concatenate((examples.y[index], np.ones(len(columns), dtype=np.int8)))
        pinned = np.arange(len(y)) >= len(rows)
        return Constraints(replace(examples, X=np.vstack((X, extra)), y=y), pinned)


def _droppable(cone: Cone, asked: Question, why: Sequence[str]) -> list[str]:
    """Few columns to drop so that nothing is separated: one if one will do."""
    places = asked.columns
    infinite = [name for name, js in places.items() if any(why[j] in INFINITE for j in js)]
    unknown = [name for name, js in places.items() if any(why[j] == UNKNOWN for j in js)]
    # Those that are infinite are to blame before those that no row identifies; the last first,
    # for before them stand the intercept and what a person put in first.
    order = list(dict.fromkeys([*reversed(infinite), *reversed(unknown)]))
    if len(order) > MANY:
        return []
    if len(order) <= ALONE:
        for name in order:
            if cone.finite_without(places[name]):
                return [name]
    chosen: list[str] = []
    left: Vector | None = cone.found.direction
    while left is not None and any(left):
        if len(chosen) == FEW:
            return []
        chosen.append(next(n for n in order if any(left[j] for j in places[n])))
        left = cone.without([j for name in chosen for j in places[name]])
    if left is None:
        return []
    chosen.sort(key=list(places).index)
    for name in list(chosen):
        fewer = [k for k in chosen if k != name]
        if fewer and cone.finite_without([j for k in fewer for j in places[k]]):
            chosen = fewer
    return chosen
