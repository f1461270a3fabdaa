"""Search for the separated rows of a regression, and for a proof of the result.

A direction γ of the coefficients is allowed if γ·z ≥ 0 for each signed row z, and γ·z = 0 for each
*pinned* row. A row is *separated* if an allowed γ has γ·z > 0 there; otherwise it *overlaps*. The
proof has two parts: one γ that is positive on each separated row and zero on the others, and
multipliers λ with Σ λ z = 0 that are positive on each overlapping row (of any sign on pinned rows).

Dense designs are decided by facial reduction in exact arithmetic. Sparse designs with many
columns, such as fixed effects with 100,000 levels, are decided in these steps:

1. A basis N of the directions that are zero on the pinned rows turns γ into N·g, and the condition
   on the other rows into W·g ≥ 0 with W = Z·N. Rows of W that are zero overlap.
2. If all entries of a column of W have the same sign, the rows with such an entry are separated.
   They are removed, and the step is repeated.
3. A linear program in floats proposes which of the remaining rows are separated. An integer
   direction and integer multipliers, computed exactly, have to confirm each of its proposals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import flint
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from rosenblatt.clock import NEVER, Deadline, OutOfTimeError
from rosenblatt.engine import one_blas_thread
from rosenblatt.evidence.certificate import Conflict, Vector
from rosenblatt.evidence.decision import (
    add_remaining_rows,
    divide_out,
    join_multipliers,
    make_conflict,
    reduce_faces,
)
from rosenblatt.evidence.families import Ints, Mask
from rosenblatt.evidence.integers import sum_of_rows
from rosenblatt.evidence.likelihood import Gram
from rosenblatt.evidence.minnorm import SolverProgress
from rosenblatt.evidence.modular import combine_rows, exact_products, integer_products, null_basis
from rosenblatt.evidence.separationproof import NullSpace
from rosenblatt.evidence.signedrows import (
    FEW_NUMBERS,
    Alternative,
    SignedRows,
    independent_columns,
)
from rosenblatt.examples import Examples

SPARE = 8  # rows tried in addition to the number needed to span a space
NO_PART = Conflict((), ())
WIDE = 20  # minimum columns of a sparse design that is decided here
FILLED = 0.2  # dense designs with at most this share of nonzero entries are decided here
NEWTON_STEPS = 16
CG_STEPS = 200  # maximum steps of conjugate gradients in each step of Newton's method
FAR = 40.0  # an estimate this large counts as infinite, for columns of size at most 1
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Watch:
    """Deadline of a search for separated rows, and the status line that shows its progress."""

    progress: SolverProgress | None = None
    deadline: Deadline = NEVER


@dataclass(frozen=True, eq=False)
class Partition:
    """Separated rows of a regression, with a proof: a direction γ and multipliers of the rows."""

    separated: Mask  # whether each row is separated
    direction: Vector = ()  # γ: positive on separated rows, zero on the others
    part: Conflict = NO_PART  # multipliers; `rest` is that of unlisted overlapping rows
    spanning: tuple[int, ...] | None = None  # independent rows that span the overlapping ones
    reason: str = ""  # why some rows are undecided; empty if none is
    space: NullSpace | None = None  # null space of the pinned rows, if the proof needs it
    basis: Any = None  # basis of all γ that are zero on every overlapping row, if known


def deadline_of(examples: Examples, watch: Watch) -> Deadline:
    """Return the deadline of a search for separated rows; small regressions have none."""
    return watch.deadline if examples.X.size > FEW_NUMBERS else NEVER


def partition(examples: Examples, pinned: Mask, watch: Watch = Watch()) -> Partition:
    """Find which signed rows ±x of a regression are separated, with a proof in exact arithmetic.

    `pinned` is a mask of the rows z with γ·z = 0 for every allowed γ. If time runs out, `reason`
    says so, and the result has the rows that are known by then.

    Examples
    --------
    >>> from rosenblatt.examples import Examples
    >>> rows = Examples.from_arrays([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1, 1, 1],
    ...                             x0=0.0, one_class=True)
    >>> found = partition(rows, np.zeros(3, dtype=bool))
    >>> found.separated.tolist(), found.direction, found.part.rows
    ([False, False, True], (0, 1), (0, 1))
    """
    X = examples.X
    if X.shape[1] >= WIDE and not (
        isinstance(X, np.ndarray) and np.count_nonzero(X) > FILLED * X.size
    ):
        decided = _partition_sparse(examples, pinned, watch)
        if decided is not None:
            return decided
    signed, carried = _without_pinned(examples, pinned, watch)
    left, free = reduce_faces(signed, carried), len(carried[0].rows)
    separated = np.zeros(signed.examples.n, dtype=bool)
    if left.weights is None:
        return Partition(separated, reason=left.reason)
    if left.weights:
        assert left.signed.alive is not None
        separated = left.signed.alive
    found = join_multipliers(left.signed, carried, free)
    listed = separated | pinned
    listed[found.rows] = True
    if listed.all():
        part = make_conflict(left.signed, found)
    else:
        rest = sum_of_rows(signed.examples, without=np.flatnonzero(listed))
        part = add_remaining_rows(left.signed, found, rest, free)
    columns = independent_columns(left.signed.exact_whole(found.rows).transpose())
    spanning = tuple(found.rows[i] for i in columns)
    return Partition(separated, left.weights or (0,) * signed.examples.d, part, spanning)


def direction_of(
    examples: Examples, pinned: Mask, watch: Watch, row: int | None = None
) -> Vector | None:
    """Find γ with γ·z > 0 on all separated rows z and γ·z = 0 on all others; None if undecided.

    It is all zeros if no row is separated; if `row` is given, also if that row is not separated.
    """
    signed, carried = _without_pinned(examples, pinned, watch)
    weights = reduce_faces(signed, carried, row=row).weights
    return weights if weights is None or weights else (0,) * signed.examples.d


def _without_pinned(
    examples: Examples, pinned: Mask, watch: Watch
) -> tuple[SignedRows, list[Alternative]]:
    """Project the span of the pinned rows out of the signed rows ±x of a regression.

    What is left are the conditions on directions γ with γ·z = 0 on every pinned row z. Also returns
    pinned rows that span all pinned rows, with multipliers of 0.
    """
    signed = SignedRows.of(examples, even=True, deadline=watch.deadline, progress=watch.progress)
    free, signed = extend_span(divide_out(signed, []), np.flatnonzero(pinned), [])
    return signed, [Alternative(rows=free, multipliers=[flint.fmpq(0)] * len(free))]


def extend_span(
    signed: SignedRows, among: Ints, spanning: list[int]
) -> tuple[list[int], SignedRows]:
    """Add rows to a list of independent rows until their span contains all rows in `among`.

    The list is `spanning`, whose span has been projected out of `signed`. Returns the longer list,
    and the signed rows after its span is projected out.
    """
    while signed.alive is not None and len(left := among[signed.alive[among]]):
        few = left[:: max(1, len(left) // (signed.dimension + SPARE))].tolist()
        keep = independent_columns(signed.exact(few).transpose())
        spanning = [*spanning, *(few[i] for i in keep)]
        signed = divide_out(signed, [Alternative(rows=spanning)])
    return spanning, signed


def explain_end(end: BaseException) -> str:
    """Describe why a computation ended early: interrupted, or out of time."""
    return "interrupted" if isinstance(end, KeyboardInterrupt) else "the time limit was reached"


def _partition_sparse(examples: Examples, pinned: Mask, watch: Watch) -> Partition | None:
    """Find the separated rows of a sparse design; return None if exact integers get too large."""
    deadline = deadline_of(examples, watch)
    Z = sparse.csr_array(examples.X, dtype=np.float64, copy=True)
    Z.data *= np.repeat(examples.y, np.diff(Z.indptr))
    Z.sum_duplicates()
    Z.eliminate_zeros()
    space, W, left = None, Z, pinned
    if pinned.any():
        found = null_basis(Z[np.flatnonzero(pinned)], deadline)
        products = None if found is None else integer_products(Z, found[1], deadline)
        if products is not None:  # zero for the pinned rows, and for most of the others
            space, W, left = found, products, np.zeros(examples.n, dtype=bool)
    decided = _decide(W, left, deadline)
    if decided is None:
        return None
    separated, g, listed, reason = decided
    rest = 0
    if space is None:
        # The most frequent multiplier becomes that of all unlisted rows. Rows of zeros overlap with
        # any multiplier.
        usual = Counter(m for n, m in listed.items() if not pinned[n]).most_common(1)
        rest = usual[0][0] if usual else int(not (separated | pinned).all())
    order = sorted(n for n, m in listed.items() if m != rest or pinned[n])
    return Partition(
        separated,
        tuple(map(int, g) if space is None else exact_products(space[1], g)),
        Conflict(tuple(order), tuple(listed[n] for n in order), rest),
        reason=reason,
        space=None if space is None else NullSpace.of(*space),
        basis=None if space is None or listed else space[1],
    )


class _Decided(NamedTuple):
    separated: Mask
    direction: NDArray[Any]
    multipliers: dict[int, int]  # multipliers of the other rows, except for rows of zeros
    reason: str = ""  # why the other rows are undecided


def _decide(W: Any, pinned: Mask, deadline: Deadline) -> _Decided | None:
    """Find all rows z of a sparse matrix W with z·g > 0 for some g that has W·g ≥ 0.

    These rows are separated. On a pinned row, z·g has to be 0. Returns None if exact integers get
    too large or a linear program has no solution.
    """
    alive = (np.diff(W.indptr) > 0) & ~pinned
    g: NDArray[Any] = np.zeros(W.shape[1], dtype=object)
    separated = np.zeros(W.shape[0], dtype=bool)
    try:
        for step, hit in _one_sign_directions(W, alive, pinned):
            g = _add_direction(W, np.flatnonzero(separated), g, step)
            separated |= hit
            deadline.check()
        rows = np.flatnonzero((alive & ~separated) | pinned)
        if not (alive & ~separated).any():
            return _Decided(separated, g, {})
        left = _decide_remaining(W[rows], pinned[rows], deadline)
    except (KeyboardInterrupt, OutOfTimeError) as end:
        return _Decided(separated, g, {}, explain_end(end))
    if left is None:
        return None
    if left.separated.any():
        g = _add_direction(W, np.flatnonzero(separated), g, left.direction)
        separated[rows[left.separated]] = True
    return _Decided(separated, g, {int(rows[n]): m for n, m in left.multipliers.items()})


def _decide_remaining(W: Any, pinned: Mask, deadline: Deadline) -> _Decided | None:
    """Find separated rows among those that the signs in single columns do not decide.

    Returns None if exact integers get too large or a linear program has no solution.
    """
    deadline.check()
    scale = sparse.diags_array(1 / np.maximum(abs(W).max(axis=0).toarray().ravel(), 1e-300))
    scaled = (W @ scale).tocsr()
    none, zeros = np.zeros(W.shape[0], dtype=bool), np.zeros(W.shape[1], dtype=object)
    residuals = None if pinned.any() else _fit_logistic(scaled, deadline)
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
        if space is None:
            return None
        found = _find_positive(W[np.flatnonzero(above)], space[1], deadline)
        if found is None:
            return None
        direction = found
    listed = _exact_multipliers(W[others], multipliers[~above], pinned[~above], deadline)
    if listed is None:
        return None
    return _Decided(above, direction, dict(zip(others.tolist(), listed, strict=True)))


def _one_sign_directions(W: Any, alive: Mask, pinned: Mask) -> Iterator[tuple[NDArray[Any], Mask]]:
    """Find columns with entries of one sign; yield a direction and the rows that it separates.

    These rows are removed and the search is repeated, because the entries that are left in other
    columns may then have one sign.
    """
    alive = alive.copy()
    fixed = np.bincount(W[np.flatnonzero(pinned)].indices, minlength=W.shape[1]) > 0
    while alive.any():
        left = W[np.flatnonzero(alive)]
        positive, negative = (
            np.bincount(left.indices[some], minlength=W.shape[1]) > 0
            for some in (left.data > 0, left.data < 0)
        )
        step = np.where(fixed, 0, positive.astype(np.int64) - negative)
        if not step.any():
            return
        hit = alive & (W @ step > 0)
        alive &= ~hit
        yield step.astype(object), hit


@one_blas_thread()
def _fit_logistic(W: Any, deadline: Deadline) -> Floats | None:
    """Fit a logistic regression to signed rows ±x; return residuals, or None if it diverges.

    At finite estimates the gradient Σ λ z is zero, where λ = 1 / (1 + exp(z·β)). So the residuals λ
    are multipliers, and they show that every row overlaps.
    """
    beta, system = np.zeros(W.shape[1]), Gram(W)
    for step in range(NEWTON_STEPS):
        deadline.check()
        residuals = expit(-(W @ beta))
        score = system.T @ residuals
        if np.abs(score).max() <= 1e-4 * residuals.min():
            return np.asarray(residuals)
        weights, accuracy = residuals * (1 - residuals), max(1e-4, 0.1 ** (step + 1))
        with np.errstate(all="ignore"):
            beta += system.solve(weights, score, accuracy, CG_STEPS)
        if not np.abs(beta).max() < FAR:
            return None
    return None


def _solve_program(W: Any, pinned: Mask, deadline: Deadline) -> tuple[Mask, Floats] | None:
    """Solve a linear program that proposes separated rows, and multipliers of all other rows.

    It maximizes Σ min(λ, 1) subject to Σ λ z = 0, with λ ≥ 0 unless a row is pinned. At the
    maximum λ is 0 if a row is separated, and at least 1 if it overlaps.
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
    """Minimize cost·x with bounds on x and on A·x; return None if there is no solution.

    HiGHS runs in a separate thread, so that Ctrl-C stops it.
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
    """Round multipliers to integers with which the rows of W sum to exactly zero, or return None.

    The integers are positive, except those of pinned rows.
    """
    least = -int(np.floor(np.log2(floats[~pinned].min(initial=1.0))))
    for bits in (least, least + 12, least + 24):
        near = [round(v) for v in np.ldexp(floats, bits).tolist()]
        combined = combine_rows(W, near, deadline)
        if combined is None:
            return None
        # Subtracting the same sum, written as a combination of independent rows, leaves zero.
        rows, coefficients, divisor = combined
        exact = [v * divisor for v in near]
        for n, v in zip(rows.tolist(), coefficients, strict=True):
            exact[n] -= v
        if all(m > 0 or is_pinned for m, is_pinned in zip(exact, pinned.tolist(), strict=True)):
            return exact
    return None


def _find_positive(W: Any, basis: Any, deadline: Deadline) -> NDArray[Any] | None:
    """Find an integer combination v of basis vectors with z·v > 0 on every row z of W, or None."""
    V = integer_products(W, basis, deadline)
    if V is None:
        return None
    none = np.zeros(V.shape[0], dtype=bool)
    g: NDArray[Any] = np.zeros(V.shape[1], dtype=object)
    done = none.copy()
    for step, hit in _one_sign_directions(V, ~done, none):
        g = _add_direction(V, np.flatnonzero(done), g, step)
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
            if all(v > 0 for v in exact_products(left, step)):
                break
        else:
            return None
        g = _add_direction(V, np.flatnonzero(done), g, step)
    return np.array(exact_products(basis, g), dtype=object)


def _add_direction(W: Any, rows: Ints, g: NDArray[Any], step: NDArray[Any]) -> NDArray[Any]:
    """Return k·g + step, with an integer k so large that z·(k·g + step) > 0 on the given rows z.

    The rows are those of W with the indices `rows`; they have z·g > 0.
    """
    if len(rows) == 0:
        return np.asarray(g + step)
    have, change = exact_products(W[rows], g), exact_products(W[rows], step)
    short = [-c // h for h, c in zip(have, change, strict=True)]
    return np.asarray(g * (1 + max(0, *short)) + step)
