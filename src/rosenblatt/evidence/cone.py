"""Directions in which a likelihood never falls, the rows they separate, and the estimates.

A row z requires γ·z ≥ 0, a *pinned* row γ·z = 0. A row is *separated* if some such γ has γ·z > 0
there, and *overlaps* otherwise. One γ is positive on every separated row and zero on the others,
and one set of multipliers, positive on every overlapping row and of any sign on pinned ones, has
Σ λ z = 0: a strictly complementary pair, and each side proves the other's rows. An estimate is
infinite if some γ of this cone moves its coefficient. `partition` and `blame` find all that for any
rows in exact arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from rosenblatt.clock import NEVER, Deadline, OutOfTimeError
from rosenblatt.evidence.certificate import Conflict, Vector
from rosenblatt.evidence.decision import (
    add_remaining_rows,
    compute_quotient,
    divide_out,
    join_multipliers,
    make_conflict,
    reduce_faces,
)
from rosenblatt.evidence.families import Constraints, Mask, Question
from rosenblatt.evidence.integers import sum_of_rows
from rosenblatt.evidence.minnorm import Point, ProgressCallback
from rosenblatt.evidence.signedrows import (
    Alternative,
    Quotient,
    SignedRows,
    independent_columns,
)
from rosenblatt.examples import Examples

Ints = NDArray[np.intp]

SPARE = 8  # rows tried in addition to the number needed to span a space
ALONE = 100  # with at most this many columns, dropping each one alone is tried
FEW = 24  # advice to drop more columns than this is not given
MANY = 400  # with more columns, none to drop are searched for: it would take minutes

NO_PART = Conflict((), ())

# Words for why an estimate is finite, infinite or unknown.
FINITE, UP, DOWN = "finite", "grows without bound", "falls without bound"
EITHER, UNKNOWN = "infinite, of either sign", "not identified by any row"
UNSIGNED = "infinite, its sign not known"  # if the run ended before the sign was found
UNDECIDED = "not decided in the time given"
BEFORE = "before all was known about the coefficients"
INFINITE = (UP, DOWN, EITHER, UNSIGNED)
ESTIMATES = {FINITE: 0.0, UP: math.inf, DOWN: -math.inf} | dict.fromkeys(
    (EITHER, UNKNOWN, UNSIGNED, UNDECIDED), math.nan
)
SHORT = {
    FINITE: "finite",
    UP: "+inf",
    DOWN: "-inf",
    EITHER: "±inf",
    UNKNOWN: "—",
    UNSIGNED: "infinite",
    UNDECIDED: "?",
}


@dataclass(frozen=True)
class Watch:
    """The deadline of a decision, and a callback that reports progress after each pass."""

    tell: ProgressCallback = lambda point, passes: None
    deadline: Deadline = NEVER

    def __call__(self, point: Point, passes: int) -> None:
        self.deadline.check()
        self.tell(point, passes)


@dataclass(frozen=True, eq=False)
class Partition:
    """Which rows are separated, with a direction γ and multipliers that prove it."""

    separated: Mask  # whether each row is separated
    direction: Vector = ()  # γ: positive on separated rows, zero on the others
    part: Conflict = NO_PART  # its rest: rows that overlap and are neither listed nor pinned
    spanning: tuple[int, ...] = ()  # independent rows that span the overlapping ones
    reason: str = ""  # why the decision is undecided


@dataclass(frozen=True)
class Blame:
    """Why each estimate is finite or not, and columns to drop so that none is infinite."""

    why: tuple[str, ...]  # one reason per coefficient
    drop: tuple[str, ...] = ()  # empty if many would have to be dropped, or if unknown
    reason: str = ""  # why some results are missing


def partition(constraints: Constraints, watch: Watch = Watch()) -> Partition:
    """Find the separated rows in exact arithmetic.

    Examples
    --------
    >>> from rosenblatt.examples import Examples
    >>> rows = Examples.from_arrays([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1, 1, 1],
    ...                             x0=0.0, one_class=True)
    >>> found = partition(Constraints(rows, np.zeros(3, dtype=bool)))
    >>> found.separated.tolist(), found.direction, found.part.rows
    ([False, False, True], (0, 1), (0, 1))
    """
    signed, carried = _without_pinned(constraints, watch.deadline)
    left, free = reduce_faces(signed, carried, watch), len(carried[0].rows)
    separated = np.zeros(signed.examples.n, dtype=bool)
    if left.weights is None:
        return Partition(separated, reason=left.reason)
    if left.weights:
        assert left.signed.alive is not None
        separated = left.signed.alive
    found = join_multipliers(left.signed, carried, free)
    listed = separated | constraints.pinned
    listed[found.rows] = True
    if listed.all():
        part = make_conflict(left.signed, found)
    else:
        rest = sum_of_rows(signed.examples, without=listed)
        part = add_remaining_rows(left.signed, found, rest, free)
    columns = independent_columns(left.signed.exact_whole(found.rows).transpose())
    spanning = tuple(found.rows[i] for i in columns)
    return Partition(separated, left.weights or (0,) * signed.examples.d, part, spanning)


def direction_of(constraints: Constraints, watch: Watch, row: int | None = None) -> Vector | None:
    """Return a direction that is positive on every separated row, or None if undecided.

    It is all zeros if no direction is positive anywhere; with `row`, also as soon as it is known
    that none is positive in that row.
    """
    signed, carried = _without_pinned(constraints, watch.deadline)
    weights = reduce_faces(signed, carried, watch, row=row).weights
    return weights if weights is None or weights else (0,) * signed.examples.d


def _without_pinned(
    constraints: Constraints, deadline: Deadline
) -> tuple[SignedRows, list[Alternative]]:
    """Project out the span of the pinned rows; return all rows, and pinned rows that span it.

    A pinned row z requires γ·z = 0. The rows that span are returned with multipliers of 0.
    """
    examples = constraints.examples
    signed = SignedRows.even(examples, deadline=deadline)
    free, signed = _span(signed, np.flatnonzero(constraints.pinned))
    return signed, [Alternative(rows=free, multipliers=[flint.fmpq(0)] * len(free))]


def _span(signed: SignedRows, among: NDArray[np.intp]) -> tuple[list[int], SignedRows]:
    """Return independent rows with the span of `among`, and all rows with that span divided out."""
    spanning: list[int] = []
    signed = divide_out(signed, [])
    while signed.alive is not None and len(left := among[signed.alive[among]]):
        few = left[:: max(1, len(left) // (signed.dimension + SPARE))].tolist()
        keep = independent_columns(signed.exact(few).transpose())
        spanning += [few[i] for i in keep]
        signed = divide_out(signed, [Alternative(rows=spanning)])
    return spanning, signed


def _spanning_rows(examples: Examples, among: Any, deadline: Deadline) -> list[int]:
    """Return linearly independent rows that have the same span as `among`."""
    signed = SignedRows.even(examples, deadline=deadline)
    return _span(signed, np.asarray(among, dtype=np.intp))[0]


def blame(asked: Question, found: Partition, watch: Watch) -> Blame:
    """Decide whether each estimate is finite; if interrupted, return the results so far."""
    constraints, reason = asked.constraints, ""
    why = [UNDECIDED] * len(asked.names)
    drop: Sequence[str] = ()
    cone = Cone(constraints, found, [found.direction], watch)
    try:
        known, alone = _known(constraints.examples, found, watch.deadline)
        why = known[: len(asked.names)]
        for j in np.flatnonzero(np.array(why) == UNSIGNED).tolist():
            why[j] = cone.sign(j, alone=alone)
        if found.separated.any():
            drop = find_droppable(cone.without, found.direction, asked, why)
    except (KeyboardInterrupt, OutOfTimeError) as end:
        reason = f"{explain_end(end)} {BEFORE}"
    return Blame(tuple(why), tuple(drop), reason)


def explain_end(end: BaseException) -> str:
    """Describe why a decision ended early: interrupted, or out of time."""
    return "interrupted" if isinstance(end, KeyboardInterrupt) else "the time limit was reached"


def _known(examples: Examples, found: Partition, deadline: Deadline) -> tuple[list[str], bool]:
    """Classify coefficients by matrix ranks; also return whether only one direction is possible."""
    over = _null_space(examples, found.spanning, deadline)
    rows, spanning = np.flatnonzero(found.separated), list(found.spanning)
    spanning += _spanning_rows(examples, rows, deadline) if len(rows) else []
    every = _null_space(examples, _spanning_rows(examples, spanning, deadline), deadline)
    known = zip(_determined(over, examples.d), _determined(every, examples.d), strict=True)
    why = [FINITE if finite else UNSIGNED if is_known else UNKNOWN for finite, is_known in known]
    return why, len(over.others) - len(every.others) == 1


def _null_space(examples: Examples, spanning: Sequence[int], deadline: Deadline) -> Quotient:
    """Compute all γ with γ·z = 0 for some rows z: pivot coordinates in terms of the others."""
    signed = SignedRows(examples, np.ones(examples.d), deadline=deadline)
    return compute_quotient(signed, spanning)


def _determined(quotient: Quotient, dimension: int) -> Mask:
    """Return which coordinates are zero in every vector of a null space."""
    result = np.zeros(dimension, dtype=bool)
    table: list[list[Any]] = quotient.fill.tolist()
    if quotient.fill.ncols() == 0:
        table = [[] for _ in quotient.pivots]
    for j, row in zip(quotient.pivots.tolist(), table, strict=True):
        result[j] = all(v == 0 for v in row)
    return result


@dataclass(frozen=True, eq=False)
class Cone:
    """The cone of all directions γ, to find the possible signs of each coefficient."""

    constraints: Constraints
    found: Partition
    directions: list[Vector]  # known members of the cone
    watch: Watch

    def sign(self, j: int, *, alone: bool) -> str:
        """Return whether the estimate of coefficient j goes to +inf, to -inf, or to either."""
        signs = {(v[j] > 0) - (v[j] < 0) for v in self.directions} - {0}
        for side in (1, -1):
            if side not in signs and not alone:
                possible = self.possible(j, side)
                if possible is None:
                    return UNSIGNED
                signs |= {side} if possible else set()
        return EITHER if len(signs) == 2 else UP if signs == {1} else DOWN

    def possible(self, j: int, side: int) -> bool | None:
        """Check whether coefficient j has this sign in some direction; return None if undecided."""
        small = self._small([j], side)
        small.pinned[-1] = False
        found = direction_of(small, self.watch, row=len(small.pinned) - 1)
        if found is None:
            return None
        self.directions.append(found)
        return side * found[j] > 0

    def without(self, columns: Sequence[int]) -> Vector | None:
        """Return a direction that remains after columns are dropped, or None if undecided.

        The direction is all zeros if none remains.
        """
        return direction_of(self._small(columns), self.watch)

    def _small(self, columns: Sequence[int], side: int = 1) -> Constraints:
        """Return constraints from the separated rows, rows that span the others, and given columns.

        All but the separated rows are pinned. A given column's row has one nonzero entry, as large
        as the largest number of that column, so that all rows have a similar scale.
        """
        examples = self.constraints.examples
        rows = np.flatnonzero(self.found.separated)
        index = np.concatenate((rows, np.array(self.found.spanning, dtype=np.intp)))
        X = examples.augmented_rows(index)
        extra = np.zeros((len(columns), examples.d))
        for row, j in enumerate(columns):
            extra[row, j] = side * (float(np.abs(X[:, j]).max(initial=0.0)) or 1.0)
        y = np.concatenate((examples.y[index], np.ones(len(columns), dtype=np.int8)))
        pinned = np.arange(len(y)) >= len(rows)
        return Constraints(replace(examples, X=np.vstack((X, extra)), y=y), pinned)


def find_droppable(
    without: Callable[[Sequence[int]], Vector | None],
    direction: Vector,
    asked: Question,
    why: Sequence[str],
) -> list[str]:
    """Find few columns to drop so that no row is separated, a single one if possible.

    `without` returns a direction that is left once coefficients are dropped, zeros if there is
    none, None if that is unknown.
    """

    def is_enough(names: Sequence[str]) -> bool:
        left = without([j for name in names for j in places[name]])
        return left is not None and not any(left)

    places = asked.columns
    infinite = [name for name, js in places.items() if any(why[j] in INFINITE for j in js)]
    unknown = [name for name, js in places.items() if any(why[j] == UNKNOWN for j in js)]
    # Try infinite estimates before those that no row identifies, and the last column first,
    # because the intercept and the columns that the user listed first come before it.
    order = list(dict.fromkeys([*reversed(infinite), *reversed(unknown)]))
    if len(order) > MANY:
        return []
    if len(order) <= ALONE:
        for name in order:
            if is_enough([name]):
                return [name]
    chosen: list[str] = []
    left: Vector | None = direction
    while left is not None and any(left):
        moved = [n for n in order if n not in chosen and any(left[j] for j in places[n])]
        if len(chosen) == FEW or not moved:
            return []
        chosen.append(moved[0])
        left = without([j for name in chosen for j in places[name]])
    if left is None:
        return []
    chosen.sort(key=list(places).index)
    for name in list(chosen):
        fewer = [k for k in chosen if k != name]
        if fewer and is_enough(fewer):
            chosen = fewer
    return chosen
