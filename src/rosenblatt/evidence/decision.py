"""The exact decision about rows in memory: separable, quasi-separable or inseparable.

Look for weights with a positive score on every signed row. If instead some rows S have multipliers
λ > 0 with Σ λ z = 0, any w without negative scores has score 0 on S: project out the span of S,
drop the rows that vanish, and decide about the others (facial reduction). For weights that
separate, compute the margin, widen it as far as possible, and round them to floats that separate.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any

import flint
import numpy as np

import rosenblatt.algorithms as algorithms
from rosenblatt.clock import NEVER, Deadline, OutOfTimeError
from rosenblatt.evidence.certificate import Conflict, Vector
from rosenblatt.evidence.integers import (
    Total,
    exact_products,
    root,
    sum_of_rows,
    unit_of,
)
from rosenblatt.evidence.minnorm import Point, nearest_point
from rosenblatt.evidence.signedrows import (
    EXACT_STEPS,
    FAR_APART,
    GAP,
    UNEVEN,
    Alternative,
    DataSummary,
    Floats,
    Fractions,
    Quotient,
    Rows,
    SignedRows,
    clear_denominators,
    independent_columns,
    least_margin,
    relative_gap,
    round_fraction,
    scale_near_one,
    solve_exactly,
    solve_multipliers,
    solve_system,
    summarize,
    take_columns,
    times_power,
    to_fractions,
    to_integers,
)
from rosenblatt.examples import Examples

BITS = (53, 106, 212, 424)  # binary digits of rounded weights: the fewest that still separate
ANY = 1.0  # a gap that any separating weights meet, whatever their margin
QUICK_EPOCHS = 100  # maximum number of epochs of PLA, which is tried first
MANY_FEATURES = 1000
SMALL = 2**19  # with more entries of data, exact passes would take too long
FEW = 32  # with more rows in the active set, fractions would take too long
ON_THE_MARGIN = 1e-7  # rows within this share of the margin beyond it count as on the margin
EXACT_ENTRIES = 2**16  # larger active sets are summed in floats with a rounding error bound
MULTIPLES = 64  # multiples of weights to round: chance decides which floats separate


@dataclass(frozen=True, eq=False)
class Decision:
    """Verdict on separability, and the integers that prove it."""

    verdict: str  # as in Separability, or "not separable" if time ended before it was known which
    weights: Vector = ()  # a positive multiple of the augmented weights
    conflict: Conflict | None = None  # the rows with multipliers that prove the verdict
    first: Conflict | None = None  # the first conflict found, perhaps of fewer rows
    point: Point | None = None  # the result of the first call of the float solver
    reason: str = ""  # why the verdict is unknown
    measured: Measured | None = None  # margin and support of weights that separate


def decide(plain: SignedRows, look: DataSummary, widest: bool, known: Vector = ()) -> Decision:
    """Decide whether rows are separable; with `widest`, also find the widest margin.

    The rows of `plain` have one unit. If `known` weights separate, only their margin is computed.
    """
    signed, examples = plain, plain.examples
    if look.differs_by(UNEVEN):
        signed = SignedRows.of(
            examples, look, even=True, deadline=plain.deadline, progress=plain.progress
        )
    gap = GAP if widest and signed is plain else ANY
    if not known and (examples.is_sparse or examples.d >= MANY_FEATURES):
        known = _try_pla(signed)
    decision = Decision("separable", known) if known else _decide_by_reduction(signed, gap)
    if decision.verdict != "separable":
        return decision
    patient = replace(plain, deadline=NEVER)
    point = decision.point if signed is plain else None
    best = measure(patient, decision.weights, point)
    if widest:
        # Separability is proved by now, so an interruption loses only a wider margin.
        with contextlib.suppress(KeyboardInterrupt, OutOfTimeError):
            best = widen_margin(plain, best, point)
    if not best.sure:
        best = replace(best, floats=separating_floats(patient, best.weights))
    return replace(decision, weights=best.weights, measured=best)


def _try_pla(signed: SignedRows) -> Vector:
    """Run PLA for a few epochs; return separating weights, or () if there are none yet."""
    examples = replace(signed.examples, weights=None)  # PLA leaves out rows of weight 0
    try:
        budget = algorithms.Budget(QUICK_EPOCHS, seconds=signed.deadline.left)
        run = algorithms.pla(examples, budget=budget)
    except algorithms.WeightsOverflowError:
        return ()
    signed.count_passes(run.epochs + 1)
    return to_integers(examples.to_augmented(run.hypothesis.w)) if run.separated else ()


@dataclass(frozen=True, eq=False)
class Reduced:
    """Result of facial reduction: the rows left over, and weights that separate them."""

    signed: SignedRows
    first: Point | None  # the result of the first call of the float solver
    weights: Vector | None  # positive on all rows left, empty if no row is; None if undecided
    reason: str = ""  # why the verdict is unknown


def reduce_faces(
    signed: SignedRows,
    steps: list[Alternative],
    gap: float = ANY,
    row: int | None = None,
) -> Reduced:
    """Project out rows that sum to zero with positive multipliers, until there are none.

    Each round is one step of facial reduction. `steps` lists the rows and multipliers of the steps
    so far; new ones are appended. With `row`, stop once that row is projected out.
    """
    first: Point | None = None
    while signed.alive is None or (signed.alive.any() if row is None else signed.alive[row]):
        point = nearest_point(signed, ANY if steps else gap)
        first = first or point
        found = resolve(signed, point)
        if found is None:
            reason = f"no exact weights or multipliers were found in {EXACT_STEPS} exact steps"
            return Reduced(signed, first, None, reason)
        if found.weights:
            return Reduced(signed, first, signed.to_integer_weights(found.weights))
        if signed.quotient and not any(signed.exact(found.rows).entries()):
            # These rows are zero already: projecting them out would never change anything.
            reason = "the rows with multipliers span no more than those before them"
            return Reduced(signed, first, None, reason)
        steps.append(found)
        signed = divide_out(signed, steps)
    return Reduced(signed, first, ())


def _decide_by_reduction(signed: SignedRows, gap: float) -> Decision:
    steps = _find_zero_row(signed)
    try:
        left = reduce_faces(divide_out(signed, steps) if steps else signed, steps, gap)
        if left.weights is None:
            return Decision("undecided", point=left.first, reason=left.reason)
        if left.weights and not steps:
            return Decision("separable", left.weights, point=left.first)
        first = make_conflict(signed, steps[0])
        if left.weights:
            return Decision("quasi-separable", left.weights, first, first, left.first)
        signed, found = left.signed, join_multipliers(left.signed, steps)
        Z = signed.exact_whole(found.rows)
        if len(found.rows) == signed.examples.n or len(independent_columns(Z)) == Z.ncols():
            whole = make_conflict(signed, found)
        else:  # the other rows lie in the span of these rows
            rest = sum_of_rows(signed.examples, without=found.rows)
            whole = add_remaining_rows(signed, found, rest)
        return Decision("inseparable", (), whole, first, left.first)
    except OutOfTimeError:
        if not steps:
            raise
        first = make_conflict(signed, steps[0])
        return Decision("not separable", (), first, first)


def find_conflict_or_weights(
    examples: Examples, rows: Any = None, deadline: Deadline = NEVER
) -> Conflict | Floats | None:
    """Find a conflict among the given rows, or weights that classify them all correctly.

    The weights begin with w0, also without an intercept. The result is None if an exact w separates
    but no floats do, or if nothing was found. Raises OutOfTimeError once the deadline is over.

    Examples
    --------
    >>> examples = Examples.from_arrays([[0.0], [1.0], [2.0], [9.0]], [0, 1, 0, 1])
    >>> find_conflict_or_weights(examples)
    Conflict(rows=(0, 1, 2), multipliers=(1, 2, 1), rest=0)
    >>> examples.signed_scores(find_conflict_or_weights(examples, [0, 1, 3]))[[0, 1, 3]] > 0
    array([ True,  True,  True])
    """
    examples = examples.merged()
    index = np.arange(examples.n) if rows is None else np.sort(np.asarray(rows, dtype=np.intp))
    if rows is not None:
        examples = examples.some(index)
    look = summarize(examples)
    plain = signed = SignedRows.of(examples, look, deadline=deadline)
    if look.differs_by(FAR_APART):
        signed = SignedRows.of(examples, look, even=True, deadline=deadline)
    zero = _find_zero_row(signed)
    found = zero[0] if zero else resolve(signed, nearest_point(signed, ANY))
    if found is None:
        return None
    if not found.weights:
        part = make_conflict(signed, found)
        return replace(part, rows=tuple(index[list(part.rows)].tolist()))
    w = separating_floats(plain, signed.to_integer_weights(found.weights))
    return None if w is None else examples.add_slot(w)


def resolve(signed: SignedRows, point: Point) -> Alternative | None:
    """Turn the float solver's result into exact separating weights or exact multipliers.

    With the multipliers, which are positive, rows sum to zero. The result is None if exact
    arithmetic would take too many steps.
    """
    w = find_separator(signed, point)
    if w is not None:
        return Alternative(weights=w)
    rows, multipliers = point.rows.tolist(), point.multipliers
    if not rows:  # floats saw only zeros, but some rows are not zero
        rows, multipliers = [0 if signed.alive is None else int(signed.alive.argmax())], np.ones(1)
    found = solve_multipliers(signed, rows) or solve_exactly(signed, rows, multipliers)
    if found is not None and found.weights:  # round them to the fewest digits that still separate
        shorter = (round_to_bits(found.weights, bits) for bits in BITS)
        found = replace(found, weights=next(filter(signed.separated_by, shorter), found.weights))
    return found


def find_separator(signed: SignedRows, point: Point) -> Fractions | None:
    """Return the float solver's weights if they separate exactly, or None."""
    w = to_fractions(point.w / np.linalg.norm(point.w)) if point.lower > 0 else []
    return w if w and signed.separated_by(w) else None


def round_to_bits(w: Fractions, bits: int) -> Fractions:
    """Scale weights to a largest entry of ±1 and round to `bits` binary digits."""
    largest = max(abs(v) for v in w)
    return [flint.fmpq((v / largest * (1 << bits)).round(), 1 << bits) for v in w]


def _find_zero_row(signed: SignedRows) -> list[Alternative]:
    """Find a row of zeros, which is a conflict by itself; return a list of at most one."""
    if signed.examples.x0:
        return []
    zero = np.flatnonzero(np.asarray((signed.examples.X != 0).sum(axis=1)).ravel() == 0)
    return [Alternative(rows=[int(zero[0])], multipliers=[flint.fmpq(1)])] if len(zero) else []


def divide_out(signed: SignedRows, steps: Sequence[Alternative]) -> SignedRows:
    """Project the linear span of some rows out of all rows; drop the rows that vanish.

    Rows that do not vanish are alive. A random direction is orthogonal to vanishing rows only; if
    chance calls a row vanished that is not, the proof does not hold, and proofs are checked.
    """
    rows = [n for found in steps for n in found.rows]
    Z = signed.exact_whole(rows)
    d, rank = Z.ncols(), len(independent_columns(Z))
    alive = np.full(signed.examples.n, rank < d)
    if rank == d:  # nothing is left
        nothing = Quotient(np.arange(d), np.arange(0), flint.fmpq_mat(d, 0))
        return replace(signed, quotient=nothing, alive=alive)
    signed.check_time(rows[:rank], sides=d - rank)
    reduced, rank = Z.rref()
    table = reduced.tolist()[:rank]
    pivots = np.array([next(j for j, v in enumerate(row) if v != 0) for row in table], np.intp)
    others = np.setdiff1d(np.arange(d), pivots)
    fill = take_columns(flint.fmpq_mat(table), others) if table else flint.fmpq_mat(0, len(others))
    left = replace(signed, quotient=Quotient(pivots, others, fill), alive=None)
    chance = np.random.default_rng(0).integers(1, 2**31, size=left.dimension)
    alive[left.find_vanishing([flint.fmpq(int(v)) for v in chance])] = False
    return replace(left, alive=alive)


def join_multipliers(
    signed: SignedRows, steps: Sequence[Alternative], free: int = 0
) -> Alternative:
    """Combine the multipliers of all steps of facial reduction so that the rows sum to zero.

    All are positive, except that the first `free` rows may have multipliers of any sign. The rows
    of a step of facial reduction sum to zero up to the span of the rows before them. So each step
    is multiplied by a power of two that makes up for what all later steps take from it. One system
    is solved for all steps: solved one by one, multipliers would grow longer with each.
    """
    steps = [found for found in steps if found.rows]
    if len(steps) == 1:
        return steps[0]
    rows = [n for found in steps for n in found.rows]
    signed.check_time(rows, sides=len(steps))
    given = [m for found in steps for m in found.multipliers]
    keep = independent_columns(signed.exact_whole(rows).transpose())
    others = sorted(set(range(len(rows))) - set(keep))
    basis, more = ([rows[i] for i in some] for some in (keep, others))
    shares = _express_in(signed.exact_whole(basis), signed.exact_whole(more))
    taken = dict.fromkeys(range(len(rows)), flint.fmpq(0))
    end = len(rows)
    for found in reversed(steps):
        begin = end - len(found.rows)
        over = [k for k, i in enumerate(others) if begin <= i < end]
        if over:
            unit = given[others[over[-1]]]
            held = [taken[i] * unit / given[i] for i in keep if max(begin, free) <= i < end]
            most = max(held, default=flint.fmpq(0))
            above = int(most.p).bit_length() - int(most.q).bit_length() + 1
            times = times_power(1, max(0, above) if most > 0 else 0) / unit
            for k in over:
                taken[others[k]] = -times * given[others[k]]
                for i, share in zip(keep, shares[k], strict=True):
                    taken[i] -= taken[others[k]] * share
        end = begin
    return Alternative(rows=rows, multipliers=[-taken[i] for i in range(len(rows))])


def _express_in(basis: flint.fmpq_mat, rows: flint.fmpq_mat) -> list[Fractions]:
    """Return the coefficients of rows as linear combinations of the independent `basis`."""
    at = np.array(independent_columns(basis))
    right = take_columns(rows, at).transpose()
    table: list[Fractions] = (
        solve_system(take_columns(basis, at).transpose(), right).transpose().tolist()
    )
    return table


def add_remaining_rows(
    signed: SignedRows, found: Alternative, rest: Total, free: int = 0
) -> Conflict:
    """Extend a conflict by all other rows, each with the multiplier 1.

    `rest` is the sum of those rows; they must lie in the span of the conflict. Its multipliers are
    scaled up until all of them stay positive, except for the first `free` rows.
    """
    sums, unit = rest
    powers = (np.frexp(signed.columns)[1] - 1 + unit - 53).tolist()
    total = [times_power(v, e) for v, e in zip(sums, powers, strict=True)]
    signed.check_time(found.rows)
    keep = independent_columns(signed.exact_whole(found.rows).transpose())
    basis = signed.exact_whole([found.rows[i] for i in keep])
    (shares,) = _express_in(basis, flint.fmpq_mat(1, len(total), total))
    c = dict(zip(keep, shares, strict=True))
    held = [c[i] / found.multipliers[i] for i in keep if i >= free]
    enough = max(1 + max(held, default=flint.fmpq(0)), flint.fmpq(1))
    zero = flint.fmpq(0)
    multipliers = [enough * m - c.get(i, zero) for i, m in enumerate(found.multipliers)]
    return make_conflict(signed, Alternative(rows=found.rows, multipliers=multipliers), 1)


def make_conflict(signed: SignedRows, found: Alternative, rest: int = 0) -> Conflict:
    """Create a conflict of rows of the data from the multipliers of the scaled rows."""
    true = found.multipliers
    if signed.factors is not None:
        powers = (np.frexp(signed.factors[found.rows])[1] - 1).tolist()
        true = [m * times_power(1, e) for m, e in zip(true, powers, strict=True)]
    whole = clear_denominators([*true, flint.fmpq(rest)])
    order = sorted(range(len(found.rows)), key=found.rows.__getitem__)
    rows, multipliers = ([values[i] for i in order] for values in (found.rows, whole))
    return Conflict(tuple(rows), tuple(multipliers), whole[-1])


@dataclass(frozen=True, eq=False)
class Measured:
    """Margin and support vectors of integer weights that separate."""

    weights: Vector
    floats: Floats | None  # rounded, of unit length; in a Decision, floats that separate or None
    margin: float  # margin of the integer weights, rounded down
    upper: float  # upper bound on the margin of any weights, rounded up
    support: Rows  # the rows on the margin
    sure: bool = False  # whether the floats separate despite any rounding


Hull = tuple[Sequence[int], Fractions]  # a point of the convex hull: rows, multipliers


def measure(plain: SignedRows, weights: Vector, at: Point | Hull | None) -> Measured:
    """Compute the margin and support vectors of weights that separate.

    The rows of `plain` have one unit. An upper bound on any margin is the distance from the origin
    of `at`, a point of their convex hull.
    """
    examples, w = plain.examples, to_unit_length(weights)
    s, bound = plain.scores(w)
    least = float(s.min())
    near = np.flatnonzero(s <= least + 2 * bound)
    wide = ON_THE_MARGIN * abs(least)
    support = np.flatnonzero(s <= least + wide + 2 * bound)
    if bound > wide:  # rounding could add rows: decide exactly
        unit = unit_of(examples.some(support))
        products = list(exact_products(weights, examples, support.tolist(), unit))
        most = min(products) * (1 + Fraction(ON_THE_MARGIN))
        support = support[[product <= most for product in products]]
    if isinstance(at, Point):
        at = (at.rows.tolist(), to_fractions(at.multipliers))
    return Measured(
        weights,
        w,
        least_margin(examples, weights, near),
        _distance(plain, *at) if at and at[0] else math.inf,
        support,
        least > bound,
    )


def _distance(plain: SignedRows, rows: Sequence[int], multipliers: Fractions) -> float:
    """Compute the norm of a convex combination of rows, rounded up."""
    if len(rows) * plain.dimension <= EXACT_ENTRIES:
        x = flint.fmpq_mat(1, len(rows), multipliers) * plain.exact_whole(rows)
        total = sum(multipliers, flint.fmpq(0))
        squares = sum((v * v for v in x.entries()), flint.fmpq(0)) / (total * total)
        exponent = 1 - math.frexp(plain.columns[0])[1]
        return root(int(squares.p), int(squares.q), exponent, up=True)
    # A sum of k products in floats is off by at most k·u times the sum of their sizes.
    Z = plain.take(np.array(rows))
    u = np.array([round_fraction(v) for v in multipliers])
    x, off = u @ Z, 2 * (len(u) + 2) * 2.0**-53 * (u @ abs(Z))
    length = math.sqrt(float(x @ x)) + math.sqrt(float(off @ off))
    length *= (1 + (len(x) + len(u)) * 2.0**-51) / float(u.sum())
    return math.nextafter(length / float(plain.columns[0]), math.inf)


def widen_margin(plain: SignedRows, best: Measured, point: Point | None) -> Measured:
    """Find the weights of widest margin, in floats first and then in fractions.

    `point` is the result of the float solver if it already looked for the widest on these rows.
    """

    def better(other: Measured) -> Measured:
        wider = best if best.margin > other.margin else other
        return replace(wider, upper=min(best.upper, other.upper))

    if relative_gap(best.margin, best.upper) <= GAP:
        return best
    if point is None:
        point = nearest_point(plain, GAP)
        w = find_separator(plain, point)
        nearer = best.weights if w is None else plain.to_integer_weights(w)
        best = better(measure(plain, nearer, point))
        if relative_gap(best.margin, best.upper) <= GAP:
            return best
    if plain.examples.n * plain.dimension > SMALL or not 0 < len(point.rows) <= FEW:
        return best
    found = solve_exactly(plain, point.rows.tolist(), point.multipliers, widest=True)
    if found is None or not found.weights:
        return best
    w, hull = found.weights, (found.rows, found.multipliers)
    for shorter in (*(round_to_bits(w, bits) for bits in BITS), w):
        result = measure(plain, plain.to_integer_weights(shorter), hull)
        if result.margin > 0 and relative_gap(result.margin, result.upper) <= GAP:
            break
    return better(result)


def to_unit_length(weights: Sequence[int]) -> Floats:
    """Scale integer weights, however large, to a float vector of length 1."""
    largest = max(abs(v) for v in weights)
    w = np.array([v / largest for v in weights])
    return np.asarray(w / np.sqrt(w @ w))


def separating_floats(plain: SignedRows, weights: Vector) -> Floats | None:
    """Round separating weights to floats that still separate, or return None.

    Rounding can change the sign of a score that is nearly zero. Multiples of the weights are
    rounded in different ways, so that nearly always one separates.
    """
    critical: list[int] = []
    for w in multiples(weights):
        whole, near = to_integers(w), scale_near_one(w)
        if critical and min(exact_products(whole, plain.examples, critical)) <= 0:
            continue
        s, bound = plain.scores(near)
        low = np.flatnonzero(s <= bound)
        low = low[np.argsort(s[low], kind="stable")].tolist()
        products = zip(low, exact_products(whole, plain.examples, low), strict=True)
        wrong = list(islice((n for n, product in products if product <= 0), 8))
        if not wrong:
            return w
        critical += wrong
    return None


def multiples(weights: Vector) -> Iterator[Floats]:
    """Yield float versions of integer weights, each scaled differently before rounding.

    The first multiple has length 1. The next are near it, unrounded if 53 digits suffice; the last
    are far larger.
    """
    yield to_unit_length(weights)
    largest = max(map(abs, weights)).bit_length()
    for far in (0, 1000):  # a large factor keeps entries that would underflow
        for k in range(MULTIPLES):
            share = 2 * MULTIPLES - k
            whole = 1 << (largest + (2 * MULTIPLES).bit_length() - 1)
            yield np.array([(v * share << far) / whole for v in weights])
