"""Why each estimate is finite or infinite, once it is known which rows are separated.

Only directions that are zero on every overlapping row matter. These are γ = F·g, where the columns
of F are a basis, and the separated rows require W·g ≥ 0. The row of F of a coefficient decides:

* if the row is zero, the estimate is finite;
* if it is not zero along some g with W·g = 0, no row of the data identifies the coefficient;
* otherwise the estimate is infinite. It has the sign that the row of F times g has for all g with
  W·g ≥ 0, or either sign if both occur. Parts of W that share no column are decided separately.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from rosenblatt.clock import OutOfTimeError
from rosenblatt.evidence.certificate import Vector
from rosenblatt.evidence.cone import (
    Partition,
    Watch,
    deadline_of,
    direction_of,
    explain_end,
    extend_span,
)
from rosenblatt.evidence.decision import divide_out
from rosenblatt.evidence.families import SIGNS, Ints, Mask, SignedRegression
from rosenblatt.evidence.modular import (
    exact_products,
    find_pivots,
    independent,
    integer_products,
    null_basis,
)
from rosenblatt.evidence.signedrows import Alternative, Quotient, SignedRows
from rosenblatt.examples import Examples

MOST_EXACT = 400  # maximum columns of a part whose signs are decided exactly
FEW_DIMENSIONS = 60  # maximum size of a basis of directions for which columns to drop are searched
MOST_SINGLE = 100  # maximum number of columns that are each tried as the only one to drop
MOST_DROPPED = 24  # maximum number of columns in the advice on what to drop
MOST_CANDIDATES = 400  # maximum columns among which those to drop are searched, to save minutes

# Words for why an estimate is finite, infinite or unknown.
FINITE, UP, DOWN = "finite", "grows without bound", "falls without bound"
EITHER, UNKNOWN = "infinite, of either sign", "not identified by any row"
UNSIGNED = "infinite, its sign not known"  # if the run ended before the sign was found
UNDECIDED = "not decided in the time given"
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


@dataclass(frozen=True, eq=False)
class Cone:
    """Polyhedral cone: all vectors g with rows·g ≥ 0 and pinned·g = 0 for two given matrices."""

    rows: NDArray[np.float64]
    pinned: NDArray[np.float64]
    watch: Watch
    directions: list[Vector]  # known members of the cone
    is_ray: bool  # whether all members are multiples of the first direction
    known: dict[bytes, set[int]] = field(default_factory=dict)  # signs of each function so far

    @classmethod
    def from_matrix(cls, W: Any, watch: Watch) -> Cone:
        """Create the cone of all vectors g with W·g ≥ 0, for a sparse matrix W."""
        rows = np.unique(W.toarray(), axis=0)
        ray = rows.shape[1] == 1
        direction: Vector = (int(np.sign(rows[0, 0])),)
        return cls(rows, rows[:0], watch, [direction] if ray else [], ray)

    def signs(self, function: NDArray[np.float64]) -> set[int] | None:
        """Return the signs, from 1 and -1, that a linear function takes on the cone, or None.

        The set is empty if the function is 0 on the whole cone. None means undecided.
        """
        key = function.tobytes()
        if key in self.known:
            return self.known[key]
        places = [(k, int(function[k])) for k in np.flatnonzero(function).tolist()]

        def sign(g: Vector) -> int:
            total = sum(g[k] * v for k, v in places)
            return (total > 0) - (total < 0)

        signs = {sign(g) for g in self.directions}
        for side in () if self.is_ray else (1, -1):
            if side not in signs:
                found = self.direction(side * function[None], free=True)
                if found is None:
                    return None
                self.directions.append(found)
                signs.add(sign(found))
        self.known[key] = signs - {0}
        return self.known[key]

    def direction(self, extra: NDArray[np.float64], *, free: bool = False) -> Vector | None:
        """Find a vector g of the cone for which as many entries of rows·g as possible are positive.

        Its product with each extra row is 0 or, if `free`, at least 0. It is all zeros if `free`
        and no g has a positive product with the last extra row. Returns None if undecided.
        """
        # Powers of two make an extra row about as large as the numbers in its columns.
        size = np.abs(np.vstack((self.rows, self.pinned))).max(axis=0, initial=0.0)
        sizes = np.where(extra != 0, size, 0.0).max(axis=1, initial=0.0)
        powers = np.ldexp(1.0, np.where(sizes > 0, np.frexp(sizes)[1] - 1, 0))
        table = np.vstack((self.rows, self.pinned, powers[:, None] * extra))
        pinned = np.arange(len(table)) >= len(self.rows)
        pinned[len(self.rows) + len(self.pinned) :] = not free
        examples = Examples(table, np.ones(len(table), dtype=np.int8), SIGNS, None, 0.0)
        row = len(table) - 1 if free else None
        return direction_of(examples, pinned, self.watch, row=row)


class Space(NamedTuple):
    """Directions γ that change the scores of separated rows only, as γ = F·g with a matrix F."""

    functions: Any  # F as CSR: a row per coefficient
    why: list[str]  # finite, infinite of a sign not yet known, or not identified
    parts: list[tuple[Ints, Cone | None]]  # indices in g, and a cone unless these are too many
    whole: Cone | None  # cone of the entries of g that determine γ·z of every row, if these are few
    moved: Any  # columns of F for these entries, with zeros for coefficients not identified


def find_reasons(
    regression: SignedRegression, found: Partition, watch: Watch
) -> tuple[list[str], list[str], str]:
    """Decide why each estimate is finite or infinite, and which columns to drop.

    Returns a reason per coefficient, the columns to drop so that no estimate is infinite, and why
    some of these results are missing, if the search was interrupted or takes too long.
    """
    why, drop, reason = [UNDECIDED] * len(regression.names), list[str](), ""
    try:
        space = None if found.spanning is not None else _sparse_space(regression, found, watch)
        space = space or _dense_space(regression, found, watch)
        why, F = space.why, space.functions
        part_of, place = (np.full(F.shape[1], -1) for _ in range(2))
        for p, (columns, _) in enumerate(space.parts):
            part_of[columns], place[columns] = p, np.arange(len(columns))
        for j in np.flatnonzero(np.array(why) == UNSIGNED).tolist():
            span = slice(F.indptr[j], F.indptr[j + 1])
            signs: set[int] | None = set()
            for p in np.unique(part_of[F.indices[span]]).tolist():
                if p < 0 or signs is None:
                    continue
                columns, cone = space.parts[p]
                own = part_of[F.indices[span]] == p
                function = np.zeros(len(columns))
                function[place[F.indices[span][own]]] = F.data[span][own]
                more = None if cone is None else cone.signs(function)
                signs = None if more is None else signs | more
            if signs is None:
                reason = "the signs of some coefficients take too long to find"
            else:
                why[j] = EITHER if len(signs) == 2 else UP if signs == {1} else DOWN
        if found.separated.any() and space.whole is not None:
            drop = find_droppable(space, regression)
    except (KeyboardInterrupt, OutOfTimeError) as end:
        reason = f"{explain_end(end)} before all was known about the coefficients"
    return why, drop, reason


def _sparse_space(regression: SignedRegression, found: Partition, watch: Watch) -> Space | None:
    """Find how coefficients can change while overlapping rows keep their scores (sparse design).

    Returns None if exact integers grow too large.
    """
    examples, separated = regression.examples, found.separated
    deadline = deadline_of(examples, watch)
    X = sparse.csr_array(examples.X)
    basis = found.basis
    if basis is None:
        again = null_basis(X[np.flatnonzero(~separated)], deadline)
        if again is None:
            return None
        basis = again[1]
    rows = np.flatnonzero(separated)
    W = integer_products(X[rows], basis, deadline)
    left = None if W is None else null_basis(W, deadline)
    if W is None or left is None:
        return None
    W = (sparse.diags_array(examples.y[rows].astype(np.float64)) @ W).tocsr()
    functions = basis[: len(regression.names)]
    moved = np.diff(functions.indptr) > 0
    loose = (functions @ left[1]).tocsr()
    loose.eliminate_zeros()
    unknown = np.diff(loose.indptr) > 0
    why = np.where(unknown, UNKNOWN, np.where(moved, UNSIGNED, FINITE)).tolist()
    parts = _split(W) if (moved & ~unknown).any() else []
    cones = [
        (
            columns,
            Cone.from_matrix(W[some][:, columns], watch) if len(columns) <= MOST_EXACT else None,
        )
        for some, columns in parts
    ]
    # Directions that are zero on every row are left out: along them, only coefficients that no row
    # identifies change. Dropping such a column counts as no change, so that the advice is right.
    columns = independent(W) if len(rows) else rows
    few = 0 < len(columns) <= FEW_DIMENSIONS
    whole = Cone.from_matrix(W[:, columns], watch) if few else None
    known = sparse.diags_array((~unknown).astype(np.float64)) @ functions[:, columns]
    return Space(functions, why, cones, whole, known.tocsr())


def _split(W: Any) -> list[tuple[Ints, Ints]]:
    """Split a sparse matrix into connected components, which share neither rows nor columns.

    Only linearly independent columns are kept. Returns the rows and the columns of each component.
    """
    columns = independent(W)
    some = W[:, columns].tocsr()
    graph = sparse.csr_array((some.data != 0, some.indices, some.indptr), shape=some.shape)
    _, label = csgraph.connected_components((graph.T @ graph).tocsr(), directed=False)
    # Every row has an entry in an independent column, otherwise the row would be zero.
    own = label[some.indices[some.indptr[:-1]]]
    by_row, by_column = np.argsort(own, kind="stable"), np.argsort(label, kind="stable")
    parts = int(label.max(initial=-1)) + 1
    row_ends = np.searchsorted(own[by_row], np.arange(1, parts))
    column_ends = np.searchsorted(label[by_column], np.arange(1, parts))
    columns_of_parts = np.split(columns[by_column], column_ends)
    return list(zip(np.split(by_row, row_ends), columns_of_parts, strict=True))


def _dense_space(regression: SignedRegression, found: Partition, watch: Watch) -> Space:
    """Find how coefficients can change while overlapping rows keep their scores (dense design).

    F is the identity, so that g is γ.
    """
    examples, deadline = regression.examples, watch.deadline
    rows, count = np.flatnonzero(found.separated), len(regression.names)
    spanning = found.spanning
    if spanning is None:
        overlap = np.flatnonzero(~found.separated)
        X = sparse.csr_array(examples.X)[overlap]
        pivots = find_pivots(X, deadline).pivots
        spanning = tuple(overlap[np.concatenate((pivots.rows, pivots.extra))].tolist())
    overlap_span = [Alternative(rows=list(spanning))]
    left = divide_out(SignedRows.of(examples, even=True, deadline=deadline), overlap_span)
    over = left.quotient
    all_zero = extend_span(left, rows, list(spanning))[1].quotient
    assert over is not None
    assert all_zero is not None
    known = zip(_find_zeros(over, examples.d), _find_zeros(all_zero, examples.d), strict=True)
    why = [FINITE if finite else UNSIGNED if is_known else UNKNOWN for finite, is_known in known]
    cone = Cone(
        examples.y[rows, None] * examples.augmented_rows(rows),
        examples.augmented_rows(np.array(spanning, dtype=np.intp)),
        watch,
        [found.direction],
        len(over.others) - len(all_zero.others) == 1,
    )
    functions = sparse.eye_array(count, examples.d, format="csr")
    return Space(functions, why[:count], [(np.arange(examples.d), cone)], cone, functions)


def _find_zeros(quotient: Quotient, dimension: int) -> Mask:
    """Return a mask of the coordinates that are zero in every vector of a subspace."""
    result = np.zeros(dimension, dtype=bool)
    table = quotient.fill.tolist() if quotient.fill.ncols() else [[] for _ in quotient.pivots]
    result[quotient.pivots] = [all(v == 0 for v in row) for row in table]
    return result


def find_droppable(space: Space, regression: SignedRegression) -> list[str]:
    """Find a small set of columns, one if possible, without which no row is separated."""
    whole, F, why = space.whole, space.moved, space.why
    assert whole is not None
    places: dict[str, list[int]] = {}  # indices of the coefficients of each column
    for j, name in enumerate(regression.names):
        places.setdefault(name if isinstance(name, str) else name[1], []).append(j)

    def without(names: Sequence[str]) -> Vector | None:
        functions = F[[j for name in names for j in places[name]]]
        return whole.direction(functions.toarray())

    def is_enough(names: Sequence[str]) -> bool:
        left = without(names)
        return left is not None and not any(left)

    infinite = [name for name, js in places.items() if any(why[j] in INFINITE for j in js)]
    unknown = [name for name, js in places.items() if any(why[j] == UNKNOWN for j in js)]
    # Try infinite estimates before those that no row identifies, and the last column first,
    # because the intercept and the columns that the user listed first come before it.
    order = list(dict.fromkeys([*reversed(infinite), *reversed(unknown)]))
    if len(order) > MOST_CANDIDATES:
        return []
    if len(order) <= MOST_SINGLE:
        for name in order:
            if is_enough([name]):
                return [name]
    chosen: list[str] = []
    left = whole.directions[0] if whole.directions else without(())
    while left is not None and any(left):
        gamma = exact_products(F, np.array(left, dtype=object))
        moved = [n for n in order if n not in chosen and any(gamma[j] for j in places[n])]
        if len(chosen) == MOST_DROPPED or not moved:
            return []
        chosen.append(moved[0])
        left = without(chosen)
    if left is None:
        return []
    chosen.sort(key=list(places).index)
    for name in list(chosen):
        fewer = [k for k in chosen if k != name]
        if fewer and is_enough(fewer):
            chosen = fewer
    return chosen
