"""Separation in sparse designs with many columns, such as fixed effects of 100,000 levels.

The rows that are pinned leave the directions of a null space, γ = N·g, and the others ask for
W·g ≥ 0 with W = Z·N. Most rows of W are zero: these overlap. A column of W whose entries have one
sign separates all rows that it occurs in; these are removed, and the next such column is looked
for. About the rows that are left a linear program in floats proposes which are separated. Exact
arithmetic confirms it: a direction in the null space of the others, and multipliers of the others,
of which those of independent rows are solved for. Nothing that the floats propose is believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit

from rosenblatt.clock import NEVER, Deadline, OutOfTimeError
from rosenblatt.engine import one_blas_thread
from rosenblatt.evidence.certificate import Conflict, Vector
from rosenblatt.evidence.cone import (
    BEFORE,
    DOWN,
    EITHER,
    FINITE,
    UNKNOWN,
    UNSIGNED,
    UP,
    Blame,
    Partition,
    Watch,
    direction_of,
    explain_end,
    find_droppable,
)
from rosenblatt.evidence.families import SIGNS, Constraints, Mask, Question
from rosenblatt.evidence.modular import (
    combine_rows,
    find_pivots,
    independent,
    null_basis,
    residues,
    whole_products,
)
from rosenblatt.evidence.separationproof import NullSpace
from rosenblatt.evidence.signedrows import FEW_NUMBERS
from rosenblatt.examples import Examples

WIDE = 20  # minimum columns of a sparse design that is decided here
MOST = 400  # with more columns, a part takes the exact engine too long
FILLED = 0.2  # dense designs with at most this share of nonzero entries are decided here
FEW_DIMENSIONS = 60  # with more dimensions of directions, no columns to drop are searched for
NEWTON_STEPS = 16
CG_STEPS = 200  # maximum steps of conjugate gradients in each step of Newton's method
FAR = 40.0  # an estimate this large counts as infinite, for columns of size at most 1
Ints = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SparsePartition:
    """Which rows are separated, with the evidence, and the null space of the pinned rows."""

    partition: Partition
    space: NullSpace | None  # null space of the pinned rows, or None if it was not used
    basis: Any  # basis of that null space, or None
    unpinned_overlap: bool  # whether some rows overlap that the pinned rows do not span


def mostly_zeros(X: NDArray[np.float64]) -> bool:
    """Return whether a dense table has so many zeros that it is treated as sparse."""
    return bool(np.count_nonzero(X) <= FILLED * X.size)


def spanning_rows(constraints: Constraints, separated: Mask, deadline: Deadline) -> tuple[int, ...]:
    """Return independent rows that span all rows that overlap."""
    rows = np.flatnonzero(~separated)
    X = sparse.csr_array(constraints.examples.X)[rows]
    pivots, _, _ = find_pivots(X, residues(X)[0], deadline)
    return tuple(rows[np.concatenate((pivots.rows, pivots.extra))].tolist())


def partition_sparse(constraints: Constraints, watch: Watch) -> SparsePartition | None:
    """Find the separated rows, or return None if another engine has to do so.

    If time runs out, the partition has a reason and the rows that are known by then.
    """
    examples, pinned = constraints.examples, constraints.pinned
    deadline = _deadline(constraints, watch)
    Z = sparse.csr_array(examples.X, dtype=np.float64, copy=True)
    Z.data *= np.repeat(examples.y, np.diff(Z.indptr))
    Z.sum_duplicates()
    Z.eliminate_zeros()
    if pinned.any():
        found = null_basis(Z[np.flatnonzero(pinned)], deadline)
        W = None if found is None else whole_products(Z, found[1], deadline)
        if found is not None and W is not None:
            # The pinned rows are zero along their null space, and so are most of the others.
            decided = _decide(W, np.zeros(examples.n, dtype=bool), deadline)
            if decided is None:
                return None
            separated, g, listed, reason = decided
            order = sorted(listed)
            part = Conflict(tuple(order), tuple(listed[n] for n in order))
            split = Partition(separated, _times(found[1], g), part, reason=reason)
            return SparsePartition(split, NullSpace.of(*found), found[1], bool(listed))
    decided = _decide(Z, pinned, deadline)
    if decided is None:
        return None
    separated, g, listed, reason = decided
    # Rows of zeros overlap with any multiplier; the multiplier that most rows have is that of all
    # rows that are not listed.
    usual = Counter(m for n, m in listed.items() if not pinned[n]).most_common(1)
    rest = usual[0][0] if usual else int(not (separated | pinned).all())
    order = sorted(n for n, m in listed.items() if m != rest or pinned[n])
    part = Conflict(tuple(order), tuple(listed[n] for n in order), rest)
    split = Partition(separated, tuple(map(int, g)), part, reason=reason)
    return SparsePartition(split, None, None, True)


def _deadline(constraints: Constraints, watch: Watch) -> Deadline:
    return watch.deadline if constraints.examples.X.size > FEW_NUMBERS else NEVER


class _Decided(NamedTuple):
    separated: Mask
    direction: NDArray[Any]
    multipliers: dict[int, int]  # multipliers of the other rows, except for rows of zeros
    reason: str = ""  # why the other rows are undecided


def _decide(W: Any, pinned: Mask, deadline: Deadline) -> _Decided | None:
    """Decide which rows are separated, or return None if the numbers become too long."""
    alive = (np.diff(W.indptr) > 0) & ~pinned
    g: NDArray[Any] = np.zeros(W.shape[1], dtype=object)
    separated = np.zeros(W.shape[0], dtype=bool)
    try:
        for step, hit in _peel(W, alive, pinned):
            g = _before(W, np.flatnonzero(separated), g, step)
            separated |= hit
            deadline.check()
        rows = np.flatnonzero((alive & ~separated) | pinned)
        if not (alive & ~separated).any():
            return _Decided(separated, g, {})
        left = _decide_unpeeled(W[rows], pinned[rows], deadline)
    except (KeyboardInterrupt, OutOfTimeError) as end:
        return _Decided(separated, g, {}, explain_end(end))
    if left is None:
        return None
    if left.separated.any():
        g = _before(W, np.flatnonzero(separated), g, left.direction)
        separated[rows[left.separated]] = True
    return _Decided(separated, g, {int(rows[n]): m for n, m in left.multipliers.items()})


def _decide_unpeeled(W: Any, pinned: Mask, deadline: Deadline) -> _Decided | None:
    """Decide which rows are separated if no column has entries of one sign only."""
    deadline.check()
    scale = sparse.diags_array(1 / np.maximum(abs(W).max(axis=0).toarray().ravel(), 1e-300))
    scaled = (W @ scale).tocsr()
    none, zeros = np.zeros(W.shape[0], dtype=bool), np.zeros(W.shape[1], dtype=object)
    residuals = None if pinned.any() else _fit(scaled, deadline)
    if residuals is not None:
        listed = _exact_multipliers(W, residuals, pinned, deadline)
        if listed is not None:
            return _Decided(none, zeros, dict(enumerate(listed)))
    proposed = _solve_program(scaled, pinned, deadline)
    if proposed is None:
        return None
    above, multipliers = proposed
    others, direction = np.flatnonzero(~above), zeros
    if above.any():
        space = null_basis(W[others], deadline)
        found = None if space is None else _positive(W[np.flatnonzero(above)], space[1], deadline)
        if found is None:
            return None
        direction = found
    listed = _exact_multipliers(W[others], multipliers[~above], pinned[~above], deadline)
    if listed is None:
        return None
    return _Decided(above, direction, dict(zip(others.tolist(), listed, strict=True)))


def _peel(W: Any, alive: Mask, pinned: Mask) -> Iterator[tuple[NDArray[Any], Mask]]:
    """Yield directions along columns with entries of one sign, each with its separated rows."""
    alive = alive.copy()
    fixed = np.bincount(W[np.flatnonzero(pinned)].indices, minlength=W.shape[1]) > 0
    while alive.any():
        step = np.where(fixed, 0.0, _one_signed(W[np.flatnonzero(alive)]))
        if not step.any():
            return
        hit = alive & (W @ step > 0)
        alive &= ~hit
        yield step.astype(np.int64).astype(object), hit


@one_blas_thread()
def _fit(W: Any, deadline: Deadline) -> Floats | None:
    """Return the residuals of a logistic regression, or None if it does not converge.

    Where the estimates are finite the score is zero: Σ λ z = 0 with λ = 1 / (1 + exp(z·β)), so the
    residuals are multipliers that show that every row overlaps. Newton's method finds them.
    """
    T, squares = W.T.tocsr(), (W * W).T.tocsr()
    beta = np.zeros(W.shape[1])
    shape = (len(beta), len(beta))
    for step in range(NEWTON_STEPS):
        deadline.check()
        residuals = expit(-(W @ beta))
        score = T @ residuals
        if np.abs(score).max() <= 1e-4 * residuals.min():
            return np.asarray(residuals)
        weights = residuals * (1 - residuals)
        diagonal = np.maximum(squares @ weights, 1e-12)
        matrix = LinearOperator(shape, matvec=lambda v, w=weights: T @ (w * (W @ v)))
        inverse = LinearOperator(shape, matvec=lambda v, d=diagonal: v / d)
        accuracy = max(1e-4, 0.1 ** (step + 1))
        with np.errstate(all="ignore"):
            change, _ = cg(matrix, score, rtol=accuracy, maxiter=CG_STEPS, M=inverse)
        beta += change
        if not np.abs(beta).max() < FAR:
            return None
    return None


def _solve_program(W: Any, pinned: Mask, deadline: Deadline) -> tuple[Mask, Floats] | None:
    """Find separated rows, and multipliers of the others, by a linear program in floats.

    It maximizes Σ min(λ, 1) subject to Σ λ z = 0 and λ ≥ 0 on rows that are not pinned. At the
    maximum λ is 0 where a row is separated and at least 1 where it overlaps.
    """
    count = int((~pinned).sum())
    A = W.T.tocsc()
    A = sparse.hstack([A[:, ~pinned], A[:, ~pinned], A[:, pinned]], format="csc")
    low = np.repeat([0.0, -np.inf], [2 * count, len(pinned) - count])
    high = np.repeat([1.0, np.inf], [count, len(pinned)])
    cost = np.repeat([-1.0, 0.0], [count, len(pinned)])
    zeros = np.zeros(A.shape[0])
    found = _minimize(cost, (low, high), A, (zeros, zeros), deadline)
    if found is None:
        return None
    multipliers = np.zeros(len(pinned))
    multipliers[~pinned] = found[:count] + found[count : 2 * count]
    multipliers[pinned] = found[2 * count :]
    return ~pinned & (multipliers < 0.5), multipliers


def _minimize(
    cost: Floats, bounds: tuple[Any, Any], A: Any, sides: tuple[Any, Any], deadline: Deadline
) -> Floats | None:
    """Minimize cost·x with x and A·x within bounds, or return None if there is no solution.

    HiGHS runs in a thread of its own, so that Ctrl-C stops it.
    """
    import highspy

    program, infinite = highspy.HighsLp(), highspy.kHighsInf
    program.num_row_, program.num_col_ = A.shape
    program.col_cost_ = cost
    program.col_lower_, program.col_upper_ = (np.clip(v, -infinite, infinite) for v in bounds)
    program.row_lower_, program.row_upper_ = (np.clip(v, -infinite, infinite) for v in sides)
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = A.indptr, A.indices
    program.a_matrix_.value_ = A.data
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in (("output_flag", False), ("threads", 1), ("solver", "simplex")):
        highs.setOptionValue(option, value)
    highs.passModel(program)
    deadline.check()
    highs.setOptionValue("time_limit", deadline.left)
    highs.HandleUserInterrupt = True
    thread = highs.startSolve()
    try:
        while not highs.wait(0.1)[0]:
            pass
    except KeyboardInterrupt:
        highs.cancelSolve()  # type: ignore[no-untyped-call]
        thread.join()
        raise
    ended = highs.getModelStatus()
    if ended == highspy.HighsModelStatus.kTimeLimit:
        raise OutOfTimeError
    if ended != highspy.HighsModelStatus.kOptimal:
        return None
    return np.array(highs.getSolution().col_value)


def _exact_multipliers(
    W: Any, floats: Floats, pinned: Mask, deadline: Deadline
) -> list[int] | None:
    """Return integer multipliers λ near multiples of floats, with Σ λ z = 0, or None.

    Those of rows that are not pinned are positive.
    """
    least = -int(np.floor(np.log2(floats[~pinned].min(initial=1.0))))
    for bits in (least, least + 12, least + 24):
        near = [round(v) for v in np.ldexp(floats, bits).tolist()]
        combined = combine_rows(W, near, deadline)
        if combined is None:
            return None
        # Σ near·z equals a combination of independent rows, so subtracting that makes it zero.
        rows, coefficients, divisor = combined
        exact = [v * divisor for v in near]
        for n, v in zip(rows.tolist(), coefficients, strict=True):
            exact[n] -= v
        if all(m > 0 or is_pinned for m, is_pinned in zip(exact, pinned.tolist(), strict=True)):
            return exact
    return None


def _positive(W: Any, basis: Any, deadline: Deadline) -> NDArray[Any] | None:
    """Return an integer direction in the span of a basis that is positive on every row of W.

    None if no such direction is found.
    """
    V = whole_products(W, basis, deadline)
    if V is None:
        return None
    none = np.zeros(V.shape[0], dtype=bool)
    g: NDArray[Any] = np.zeros(V.shape[1], dtype=object)
    done = none.copy()
    for step, hit in _peel(V, ~done, none):
        g = _before(V, np.flatnonzero(done), g, step)
        done |= hit
    if not done.all():
        left = V[np.flatnonzero(~done)]
        free = np.full(V.shape[1], np.inf)
        sides = np.ones(left.shape[0]), np.full(left.shape[0], np.inf)
        found = _minimize(left.sum(axis=0), (-free, free), left.tocsc(), sides, deadline)
        if found is None:
            return None
        for bits in (0, 10, 20, 40):
            step = np.array([round(v) for v in np.ldexp(found, bits).tolist()], dtype=object)
            if all(v > 0 for v in _rows_times(left, step)):
                break
        else:
            return None
        g = _before(V, np.flatnonzero(done), g, step)
    return np.array(_times(basis, g), dtype=object)


def _one_signed(W: Any) -> NDArray[np.float64]:
    """Return the sign of each column whose entries all have the same sign, 0 for other columns."""
    positive = np.bincount(W.indices[W.data > 0], minlength=W.shape[1]) > 0
    negative = np.bincount(W.indices[W.data < 0], minlength=W.shape[1]) > 0
    return np.where(positive & ~negative, 1.0, np.where(negative & ~positive, -1.0, 0.0))


def _before(W: Any, rows: Ints, g: NDArray[Any], step: NDArray[Any]) -> NDArray[Any]:
    """Return step + c·g, with c so large that the sum is positive on the rows g separates."""
    if len(rows) == 0:
        return np.asarray(g + step)
    have, change = _rows_times(W[rows], g), _rows_times(W[rows], step)
    short = [-c // h for h, c in zip(have, change, strict=True)]
    return np.asarray(g * (1 + max(0, *short)) + step)


def _rows_times(W: Any, g: NDArray[Any]) -> list[int]:
    """Return the exact product of each row with an integer vector; no row may be empty."""
    factors = g[W.indices]
    data = np.where(factors != 0, W.data, 0.0)
    if (data == np.rint(data)).all() and np.abs(data).max(initial=0.0) < 2**53:
        terms = data.astype(np.int64).astype(object) * factors
    else:
        terms = np.array([Fraction(v) for v in data.tolist()], dtype=object) * factors
    return list(np.add.reduceat(terms, W.indptr[:-1]))


def _times(basis: Any, g: NDArray[Any]) -> Vector:
    """Return the exact product of each row with an integer vector; rows may be empty."""
    result = [0] * basis.shape[0]
    filled = np.flatnonzero(np.diff(basis.indptr))
    if len(filled):
        for j, v in zip(filled.tolist(), _rows_times(basis[filled], g), strict=True):
            result[j] = int(v)
    return tuple(result)


def _parts(W: Any, rows: Ints) -> list[tuple[Ints, Ints]]:
    """Keep only independent columns, and split the rows into parts that share no column."""
    if len(rows) == 0:
        return []
    some = W[rows]
    columns = independent(some)
    some = some[:, columns].tocsr()
    graph = sparse.csr_array((some.data != 0, some.indices, some.indptr), shape=some.shape)
    _, label = csgraph.connected_components((graph.T @ graph).tocsr(), directed=False)
    # Every row has an entry in an independent column, otherwise the row would be zero.
    own = label[some.indices[some.indptr[:-1]]]
    by_row, by_column = np.argsort(own, kind="stable"), np.argsort(label, kind="stable")
    parts = int(label.max(initial=-1)) + 1
    row_ends = np.searchsorted(own[by_row], np.arange(1, parts))
    column_ends = np.searchsorted(label[by_column], np.arange(1, parts))
    return list(
        zip(
            np.split(rows[by_row], row_ends),
            np.split(columns[by_column], column_ends),
            strict=True,
        )
    )


def blame_sparse(asked: Question, found: SparsePartition, watch: Watch) -> Blame | None:
    """Decide whether each estimate is finite, or return None if another engine has to do so."""
    examples, separated = asked.constraints.examples, found.partition.separated
    deadline = _deadline(asked.constraints, watch)
    X = sparse.csr_array(examples.X)
    basis = found.basis
    if found.unpinned_overlap:
        again = null_basis(X[np.flatnonzero(~separated)], deadline)
        if again is None:
            return None
        basis = again[1]
    rows = np.flatnonzero(separated)
    W = whole_products(X[rows], basis, deadline)
    left = None if W is None else null_basis(W, deadline)
    if W is None or left is None:
        return None
    W = (sparse.diags_array(examples.y[rows].astype(np.float64)) @ W).tocsr()
    count = len(asked.names)
    functionals = basis[:count]
    moved = np.diff(functionals.indptr) > 0
    loose = (functionals @ left[1]).tocsr()
    loose.eliminate_zeros()
    unknown = np.diff(loose.indptr) > 0
    why = np.where(unknown, UNKNOWN, np.where(moved, UNSIGNED, FINITE)).tolist()
    infinite = np.flatnonzero(moved & ~unknown)
    signs: list[set[int]] = [set() for _ in range(count)]
    reason = ""
    drop: tuple[str, ...] = ()
    try:
        for some, columns in _parts(W, np.arange(len(rows))) if len(infinite) else []:
            some_functionals = functionals[infinite][:, columns].toarray()
            touched = np.flatnonzero(some_functionals.any(axis=1))
            part = _Part(W[some][:, columns], len(columns), watch)
            for at in touched.tolist():
                for side in (1, -1):
                    possible = part.possible(some_functionals[at], side)
                    if possible is None:
                        reason = "the signs of some coefficients take too long to find"
                        signs[infinite[at]] |= {0}
                    elif possible:
                        signs[infinite[at]] |= {side}
        for j in infinite.tolist():
            if 0 not in signs[j]:
                why[j] = EITHER if len(signs[j]) == 2 else UP if signs[j] == {1} else DOWN
        drop = _drop(asked, W, functionals, why, watch) if len(rows) else ()
    except (KeyboardInterrupt, OutOfTimeError) as end:
        reason = f"{explain_end(end)} {BEFORE}"
    return Blame(tuple(why), drop, reason)


class _Part:
    """Directions of one part, with the signs that linear functions take on these directions."""

    def __init__(self, W: Any, width: int, watch: Watch) -> None:
        self.watch = watch
        self.one = width == 1
        self.width = width
        self.rows = np.unique(W.toarray(), axis=0) if width <= MOST else None
        self.known: dict[bytes, bool | None] = {}

    def possible(self, functional: NDArray[np.float64], side: int) -> bool | None:
        """Return whether a linear function has a given sign in some direction, None if unknown."""
        if self.rows is None:
            return None
        if self.one:
            return bool(side * functional[0] * self.rows[0, 0] > 0)
        asked = side * functional
        asked = asked / np.gcd.reduce(asked.astype(np.int64))
        key = asked.tobytes()
        if key not in self.known:
            table = np.vstack((self.rows, asked))
            found = _direction(table, len(table), self.watch, row=len(self.rows))
            self.known[key] = None if found is None else _dot(found, asked) > 0
        return self.known[key]


def _dot(a: Vector, b: NDArray[np.float64]) -> int:
    return sum(v * int(w) for v, w in zip(a, b.tolist(), strict=True))


def _drop(
    asked: Question, W: Any, functionals: Any, why: list[str], watch: Watch
) -> tuple[str, ...]:
    """Find few columns to drop so that no row is separated, if there are few dimensions.

    W has the separated rows and `functionals` the coefficients along a basis. Directions that move
    no row are left out: only coefficients that no row identifies differ along them, and dropping
    such a one is counted as if it changed nothing, so no advice is wrong.
    """
    columns = independent(W)
    if len(columns) > FEW_DIMENSIONS:
        return ()
    rows = np.unique(W[:, columns].toarray(), axis=0)
    table = functionals[:, columns].toarray()
    known = np.array([reason != UNKNOWN for reason in why])

    def without(dropped: Sequence[int]) -> Vector | None:
        pins = table[[j for j in dropped if known[j]]]
        found = _direction(np.vstack((rows, pins)), len(rows), watch)
        return None if found is None else tuple(_dot(found, row) for row in table)

    every = without(())
    return () if every is None else tuple(find_droppable(without, every, asked, why))


def _direction(
    table: NDArray[np.float64], free: int, watch: Watch, row: int | None = None
) -> Vector | None:
    """Return a direction that is positive wherever possible, and zero on rows from `free` on."""
    ones = np.ones(len(table), dtype=np.int8)
    constraints = Constraints(
        Examples(table, ones, SIGNS, None, 0.0), np.arange(len(table)) >= free
    )
    return direction_of(constraints, watch, row=row)
