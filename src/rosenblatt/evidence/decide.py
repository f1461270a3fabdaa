"""The decision about rows in memory: separable, quasi-separable or inseparable, exactly.

Ask for weights that are positive on every row. If instead some rows S carry multipliers
with Σ λ z = 0, any w that is nowhere negative is zero on S: divide the span of S away, leave
out the rows that vanish, and ask again of the others. Weights that separate are measured, made
as wide as they can be, and rounded to floats that separate as well.
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
from rosenblatt.evidence.integers import (
    Total,
    exact_products,
    merged,
    root,
    sum_of_rows,
    unit_of,
)
from rosenblatt.evidence.nearest import Point, Watch, nearest_point
from rosenblatt.evidence.parts import Part, Vector
from rosenblatt.evidence.signed import (
    EXACT_STEPS,
    GAP,
    Alternative,
    ExactWalk,
    Floats,
    Fractions,
    Look,
    Quotient,
    Rows,
    Scale,
    Signed,
    below,
    columns_of,
    fractions_of,
    gap_of,
    independent_columns,
    least_margin,
    look_at,
    near_one,
    power,
    round_fraction,
    rounding,
    solved,
    vanishing,
    whole_of,
    without_denominators,
    zero_sum,
)
from rosenblatt.examples import Examples

BITS = (53, 106, 212, 424)  # digits to which exact weights are cut, the fewest that will do
ANY = 1.0  # the gap that is content with any separator
QUICK_CYCLES = 100  # what PLA is given for a quick try
MANY_FEATURES = 1000
SMALL = 2**19  # entries of data that exact passes may go through
FEW = 32  # members of an active set that fractions can carry
ON_THE_MARGIN = 1e-7  # rows this near to it, relative to its width, are said to be on it
EXACT_ENTRIES = 2**16  # an active set with more entries is summed in floats, rounding bounded
MULTIPLES = 64  # of some weights, of which one may be floats that separate


@dataclass(frozen=True, eq=False)
class Decision:
    """What was decided, and the integers that prove it."""

    verdict: str  # one of Separability's; "not separable" where time ended the search for which
    weights: Vector = ()  # a positive multiple of the tall w
    part: Part | None = None  # the rows with multipliers
    blocking: Part | None = None  # the first rows found that cannot all be right; fewer, perhaps
    point: Point | None = None  # where the float solver stood when it was first asked
    reason: str = ""  # why it is undecided
    measured: Measured | None = None  # what weights that separate measure
    floats: Floats | None = None  # weights that separate, as floats; None where none were found


def decide(plain: Signed, look: Look, widest: bool, watch: Watch, known: Vector = ()) -> Decision:
    """Decide about rows in one unit; the widest margin, if asked, where some w separates.

    The passes of `plain` are those over its rows so far, and are counted on. Where weights
    are known to separate, nothing is left to decide but the margin.
    """
    signed = plain
    if look.uneven:
        scale = Scale.even(plain.examples, look)
        signed = replace(plain, scale=scale, passes=plain.passes + 1)
    gap = GAP if widest and signed is plain else ANY
    known = known or _quick_try(signed)
    decision = Decision("separable", known) if known else _by_reduction(signed, gap, watch)
    plain.passes = signed.passes
    if decision.verdict != "separable":
        return decision
    patient = replace(plain, deadline=NEVER)
    point = decision.point if signed is plain else None
    best = measured(patient, decision.weights, point)
    if widest:
        # From here on it is proved: an impatient person still gets the separator and its gap.
        with contextlib.suppress(KeyboardInterrupt, OutOfTimeError):
            best = widest_from(plain, best, point, watch)
    floats = best.floats if best.sure else separating_floats(patient, best.weights)
    return replace(decision, weights=best.weights, measured=best, floats=floats)


def _quick_try(signed: Signed) -> Vector:
    """A short run of PLA, where features are many and a separator is likely."""
    examples = replace(signed.examples, weights=None)  # PLA leaves out rows of weight 0
    if not (examples.is_sparse or examples.d >= MANY_FEATURES):
        return ()
    try:
        budget = algorithms.Budget(QUICK_CYCLES, seconds=signed.deadline.left)
        run = algorithms.pla(examples, budget=budget)
    except algorithms.WeightsOverflowError:
        return ()
    signed.passes += run.cycles + 1
    return whole_of(examples.tall(run.hypothesis.w)) if run.separated else ()


@dataclass(frozen=True, eq=False)
class Reduced:
    """What is left when the span of rows that carry multipliers is divided away."""

    signed: Signed
    first: Point | None  # where the float solver stood when it was first asked
    weights: Vector | None  # positive on all rows left, empty where none are; None if undecided
    reason: str = ""  # why it is undecided


def reduced(
    signed: Signed,
    carried: list[Alternative],
    watch: Watch,
    gap: float = ANY,
    row: int | None = None,
) -> Reduced:
    """Ask, divide away the rows that carry multipliers, and ask again of those that are left.

    `carried` holds what is divided away already, and gets what is found. With a row, it is asked
    only until that row is divided away.
    """
    first: Point | None = None
    while signed.alive is None or (signed.alive.any() if row is None else signed.alive[row]):
        point = nearest_point(signed, ANY if carried else gap, watch)
        first = first or point
        found = resolve(signed, point)
        if found is None:
            tried = f"in {EXACT_STEPS} exact steps"
            reason = f"neither weights nor multipliers could be made exact {tried}"
            return Reduced(signed, first, None, reason)
        if found.weights:
            return Reduced(signed, first, short_weights(signed, found))
        if signed.quotient and not any(signed.exact(found.rows).entries()):
            # They vanish already: dividing by their span would go on for ever.
            reason = "the rows that carry multipliers do not span more than those before them"
            return Reduced(signed, first, None, reason)
        carried.append(found)
        signed = divide(signed, carried)
    return Reduced(signed, first, ())


def _by_reduction(signed: Signed, gap: float, watch: Watch) -> Decision:
    carried = _zero_rows(signed)
    try:
        left = reduced(divide(signed, carried) if carried else signed, carried, watch, gap)
        if left.weights is None:
            return Decision("undecided", point=left.first, reason=left.reason)
        if left.weights and not carried:
            return Decision("separable", left.weights, point=left.first)
        blocking = part_of(signed, carried[0])
        if left.weights:
            return Decision("quasi-separable", left.weights, blocking, blocking, left.first)
        return Decision("inseparable", (), _all_of(left.signed, carried), blocking, left.first)
    except OutOfTimeError:
        if not carried:
            raise
        blocking = part_of(signed, carried[0])
        return Decision("not separable", (), blocking, blocking)


def part_or_weights(
    examples: Examples, rows: Any = None, deadline: Deadline = NEVER
) -> Part | Floats | None:
    """Some of these rows that no w can all answer rightly, with multipliers; or a w that does.

    The w has its slot. None where no floats separate that some exact w does, or nothing was found;
    once the deadline is over, OutOfTimeError.

    Examples
    --------
    >>> examples = Examples.from_arrays([[0.0], [1.0], [2.0], [9.0]], [0, 1, 0, 1])
    >>> part_or_weights(examples)
    Part(rows=(0, 1, 2), multipliers=(1, 2, 1), rest=0)
    >>> examples.signed_scores(part_or_weights(examples, [0, 1, 3]))[[0, 1, 3]] > 0
    array([ True,  True,  True])
    """
    examples = merged(examples)
    index = np.arange(examples.n) if rows is None else np.sort(np.asarray(rows, dtype=np.intp))
    if rows is not None:
        examples = examples.some(index)
    look = look_at(examples)
    plain = signed = Signed(examples, Scale.plain(look), deadline=deadline)
    if look.far_apart:
        signed = replace(plain, scale=Scale.even(examples, look))
    found: Alternative | None = next(iter(_zero_rows(signed)), None)
    if found is None:
        found = resolve(signed, nearest_point(signed, ANY, lambda point, passes: None))
    if found is None:
        return None
    if not found.weights:
        part = part_of(signed, found)
        return replace(part, rows=tuple(index[list(part.rows)].tolist()))
    w = separating_floats(plain, short_weights(signed, found))
    return None if w is None else examples.slotted(w)


def resolve(signed: Signed, point: Point) -> Alternative | None:
    """Make exact what the float solver found, or walk on exactly from there."""
    found = separator(signed, point)
    if found is not None:
        return found
    rows, multipliers = point.rows.tolist(), point.multipliers
    if not rows:  # floats saw nothing but zeros, where there are rows that are not
        rows, multipliers = [0 if signed.alive is None else int(signed.alive.argmax())], np.ones(1)
    return zero_sum(signed, rows) or ExactWalk(signed, rows, multipliers).run()


def separator(signed: Signed, point: Point) -> Alternative | None:
    """The solver's weights as they stand, of unit length, if they separate exactly."""
    if not point.lower > 0:
        return None
    w = fractions_of(point.w / np.linalg.norm(point.w))
    return Alternative(weights=w, rounded=True) if separates(signed, w) else None


def separates(signed: Signed, w: Fractions) -> bool:
    """Whether w·z > 0 for every row, exactly."""
    return all(excess > 0 for _, excess in below(signed, w, flint.fmpq(0)))


def short_weights(signed: Signed, found: Alternative) -> Vector:
    """Tall weights as integers, cut to the fewest digits that still separate."""
    w = found.weights
    if not found.rounded:
        w = next((cut for bits in BITS if separates(signed, cut := cut_to(w, bits))), w)
    return signed.tall_integers(w)


def cut_to(w: Fractions, bits: int) -> Fractions:
    """Weights up to 1 with so many binary places."""
    largest = max(abs(v) for v in w)
    return [flint.fmpq((v / largest * (1 << bits)).round(), 1 << bits) for v in w]


def _zero_rows(signed: Signed) -> list[Alternative]:
    """A row of zeros is never right: one multiplier, and the sum is zero."""
    if signed.examples.x0:
        return []
    zero = np.flatnonzero(np.asarray((signed.examples.X != 0).sum(axis=1)).ravel() == 0)
    return [Alternative(rows=[int(zero[0])], multipliers=[flint.fmpq(1)])] if len(zero) else []


def divide(signed: Signed, carried: Sequence[Alternative]) -> Signed:
    """Divide away what the carrying rows span.

    Rows that do not vanish are alive: a direction drawn at random is orthogonal to the others
    only. Chance can err by calling a row vanished that is not; the proof would then not hold,
    and proofs are checked.
    """
    quotient = quotient_by(signed, [n for found in carried for n in found.rows])
    alive = np.zeros(signed.examples.n, dtype=np.bool_)
    if len(quotient.others) == 0:
        return replace(signed, alive=alive)
    left = replace(signed, quotient=quotient, alive=None)
    chance = np.random.default_rng(0).integers(1, 2**31, size=left.dimension)
    alive[:] = True
    alive[vanishing(left, [flint.fmpq(int(v)) for v in chance])] = False
    return replace(left, alive=alive, passes=signed.passes + 2)


def quotient_by(signed: Signed, rows: Sequence[int]) -> Quotient:
    """What is left of the weights that are zero on some rows."""
    Z = signed.exact_whole(rows)
    independent = independent_columns(Z)
    if len(independent) == Z.ncols():  # nothing is left
        everything = np.arange(Z.ncols())
        return Quotient(everything, everything[:0], flint.fmpq_mat(Z.ncols(), 0))
    signed.check_time(rows[: len(independent)], sides=Z.ncols() - len(independent))
    reduced, rank = Z.rref()
    table = reduced.tolist()[:rank]
    pivots = [next(j for j, v in enumerate(row) if v != 0) for row in table]
    others = np.setdiff1d(np.arange(Z.ncols()), pivots)
    fill = columns_of(flint.fmpq_mat(table), others) if table else flint.fmpq_mat(0, len(others))
    return Quotient(np.array(pivots, dtype=np.intp), others, fill)


def _all_of(signed: Signed, carried: Sequence[Alternative]) -> Part:
    """The multipliers of all rounds; if their rows do not span everything, all rows have one."""
    found = joined(signed, carried)
    Z = signed.exact_whole(found.rows)
    if len(independent_columns(Z)) < Z.ncols() and len(found.rows) < signed.examples.n:
        return with_the_rest(signed, found, sum_of_rows(signed.examples, without=found.rows))
    return part_of(signed, found)


def joined(signed: Signed, carried: Sequence[Alternative], free: int = 0) -> Alternative:
    """The multipliers of all rounds in one; the first rows are free to have any.

    The rows of a round sum to zero but for what rows before them span. So each round counts as
    often, a power of two, as makes up for what all rounds after it take. One system is solved for
    all of them: solved round by round, multipliers would grow longer with each.
    """
    if len(carried) == 1:
        return carried[0]
    rows = [n for found in carried for n in found.rows]
    signed.check_time(rows, sides=len(carried))
    given = [m for found in carried for m in found.multipliers]
    keep = independent_columns(signed.exact_whole(rows).transpose())
    others = sorted(set(range(len(rows))) - set(keep))
    basis, more = ([rows[i] for i in some] for some in (keep, others))
    shares = _in_terms_of(signed.exact_whole(basis), signed.exact_whole(more))
    taken = dict.fromkeys(range(len(rows)), flint.fmpq(0))
    end = len(rows)
    for found in reversed(carried):
        begin = end - len(found.rows)
        over = [k for k, i in enumerate(others) if begin <= i < end]
        if over:
            unit = given[others[over[-1]]]
            held = [taken[i] * unit / given[i] for i in keep if max(begin, free) <= i < end]
            times = _power_above(max(held, default=flint.fmpq(0))) / unit
            for k in over:
                taken[others[k]] = -times * given[others[k]]
                for i, share in zip(keep, shares[k], strict=True):
                    taken[i] -= taken[others[k]] * share
        end = begin
    return Alternative(rows=rows, multipliers=[-taken[i] for i in range(len(rows))])


def _in_terms_of(basis: flint.fmpq_mat, rows: flint.fmpq_mat) -> list[Fractions]:
    """Rows in the span of independent ones: for each, how much of those sums to it."""
    at = np.array(independent_columns(basis))
    right = columns_of(rows, at).transpose()
    table: list[Fractions] = solved(columns_of(basis, at).transpose(), right).transpose().tolist()
    return table


def _power_above(v: Any) -> Any:
    """A power of two above a fraction, and not below 1."""
    return power(1, max(0, int(v.p).bit_length() - int(v.q).bit_length() + 1) if v > 0 else 0)


def with_the_rest(signed: Signed, found: Alternative, rest: Total, free: int = 0) -> Part:
    """All rows are in the span of some: those that are not listed get the multiplier 1.

    The rest is the sum of these rows as they were given, so many times those listed. Enough of the
    multipliers makes all of them positive even so, but for the first ones, which are free.
    """
    sums, unit = rest
    powers = (np.frexp(signed.scale.columns)[1] - 1 + unit - 53).tolist()
    total = [power(v, e) for v, e in zip(sums, powers, strict=True)]
    signed.check_time(found.rows)
    keep = independent_columns(signed.exact_whole(found.rows).transpose())
    basis = signed.exact_whole([found.rows[i] for i in keep])
    (shares,) = _in_terms_of(basis, flint.fmpq_mat(1, len(total), total))
    c = dict(zip(keep, shares, strict=True))
    held = [c[i] / found.multipliers[i] for i in keep if i >= free]
    enough = max(1 + max(held, default=flint.fmpq(0)), flint.fmpq(1))
    zero = flint.fmpq(0)
    multipliers = [enough * m - c.get(i, zero) for i, m in enumerate(found.multipliers)]
    return part_of(signed, Alternative(rows=found.rows, multipliers=multipliers), 1)


def part_of(signed: Signed, found: Alternative, rest: int = 0) -> Part:
    """Multipliers of the rows as they were given, in integers; the last is that of the rest."""
    true = [m * signed.row_power(n) for n, m in zip(found.rows, found.multipliers, strict=True)]
    whole = without_denominators([*true, flint.fmpq(rest)])
    order = sorted(range(len(found.rows)), key=found.rows.__getitem__)
    rows, multipliers = ([values[i] for i in order] for values in (found.rows, whole))
    return Part(tuple(rows), tuple(multipliers), whole[-1])


@dataclass(frozen=True, eq=False)
class Measured:
    """Integer weights that separate, and what they measure."""

    weights: Vector
    floats: Floats  # rounded to unit length
    margin: float  # of the integers, rounded down
    upper: float  # no margin is wider; rounded up
    support: Rows  # the rows on the margin
    sure: bool = False  # whether the floats are positive on every row whatever rounding did

    @property
    def gap(self) -> float:
        """How much wider another w could be, relative to `upper`."""
        return gap_of(self.margin, self.upper)


Hull = tuple[Sequence[int], Fractions]  # a point of it: rows and positive multipliers


def measured(signed: Signed, weights: Vector, at: Point | Hull | None) -> Measured:
    """Measure integer weights that separate rows in one unit, against a point of their hull."""
    examples, w = signed.examples, unit_length(weights)
    s, slack = signed.scores_whole(w), rounding(signed, w)
    least = float(s.min())
    near = np.flatnonzero(s <= least + 2 * slack)
    if isinstance(at, Point):
        at = (at.rows.tolist(), fractions_of(at.multipliers))
    return Measured(
        weights,
        w,
        least_margin(examples, weights, near),
        _length(signed, *at) if at and at[0] else math.inf,
        _on_the_margin(signed, weights, s, slack),
        least > slack,
    )


def _on_the_margin(signed: Signed, weights: Vector, s: Floats, slack: float) -> Rows:
    """The rows on the margin; where rounding could put others there, exactly."""
    least = float(s.min())
    wide = ON_THE_MARGIN * abs(least)
    rows = np.flatnonzero(s <= least + wide + 2 * slack)
    if slack <= wide:
        return rows
    unit = unit_of(signed.examples.some(rows))
    products = list(exact_products(weights, signed.examples, rows.tolist(), unit))
    most = min(products) * (1 + Fraction(ON_THE_MARGIN))
    return rows[[product <= most for product in products]]


def _length(signed: Signed, rows: Sequence[int], multipliers: Fractions) -> float:
    """The distance of a point of the hull from the origin, in the unit of the data."""
    if len(rows) * signed.dimension > EXACT_ENTRIES:
        return _length_in_floats(signed, rows, multipliers)
    x = flint.fmpq_mat(1, len(rows), multipliers) * signed.exact(rows)
    total = sum(multipliers, flint.fmpq(0))
    squares = sum((v * v for v in x.entries()), flint.fmpq(0))
    squares /= total * total
    exponent = 1 - math.frexp(signed.scale.columns[0])[1]
    return root(int(squares.p), int(squares.q), exponent, up=True)


def _length_in_floats(signed: Signed, rows: Sequence[int], multipliers: Fractions) -> float:
    """The same; k products summed are off by at most k·u of the sum of their sizes."""
    Z = signed.take(np.array(rows))
    u = np.array([round_fraction(v) for v in multipliers])
    x, off = u @ Z, 2 * (len(u) + 2) * 2.0**-53 * (u @ abs(Z))
    length = math.sqrt(float(x @ x)) + math.sqrt(float(off @ off))
    length *= (1 + (len(x) + len(u)) * 2.0**-51) / float(u.sum())
    return math.nextafter(length / float(signed.scale.columns[0]), math.inf)


def widest_from(plain: Signed, best: Measured, point: Point | None, watch: Watch) -> Measured:
    """The widest separator that can be had: floats first, fractions where they fall short.

    The point is where the solver stood if it was asked about these very rows for the widest.
    """
    if best.gap > GAP and point is None:
        point = nearest_point(plain, GAP, watch)
        found = separator(plain, point)
        nearer = best.weights if found is None else plain.tall_integers(found.weights)
        best = _better(best, measured(plain, nearer, point))
    small = plain.examples.n * plain.dimension <= SMALL
    if best.gap > GAP and point is not None and small and 0 < len(point.rows) <= FEW:
        best = _better(best, _exactly(plain, point) or best)
    return best


def _better(one: Measured, other: Measured) -> Measured:
    """The wider of two; what either shows of all others holds for both."""
    wider = one if one.margin > other.margin else other
    return replace(wider, upper=min(one.upper, other.upper))


def _exactly(plain: Signed, point: Point) -> Measured | None:
    """Walk to the widest in fractions, and cut its weights to digits enough for the gap."""
    found = ExactWalk(plain, point.rows.tolist(), point.multipliers).run(widest=True)
    if found is None or not found.weights:
        return None
    hull = (found.rows, found.multipliers)
    for bits in BITS:
        result = measured(plain, plain.tall_integers(cut_to(found.weights, bits)), hull)
        if result.margin > 0 and result.gap <= GAP:
            return result
    return measured(plain, plain.tall_integers(found.weights), hull)


def unit_length(weights: Sequence[int]) -> Floats:
    """Integers of any size as floats of length 1."""
    largest = max(abs(v) for v in weights)
    w = np.array([v / largest for v in weights])
    return np.asarray(w / np.sqrt(w @ w))


def separating_floats(plain: Signed, weights: Vector) -> Floats | None:
    """A multiple of weights that separate, rounded to floats that do; None where none was found.

    Rounding can cost a row that hangs by less than a bit. Another multiple is rounded another
    way, so that some multiple nearly always will do.
    """
    critical: list[int] = []
    for w in multiples(weights):
        if critical and min(exact_products(whole_of(w), plain.examples, critical)) <= 0:
            continue
        fallen = _fallen(plain, w)
        if not fallen:
            return w
        critical += fallen
    return None


def multiples(weights: Vector) -> Iterator[Floats]:
    """Multiples of some weights as floats, each rounded another way.

    Of length 1 first; then near it, as they are where 53 digits suffice; then far above.
    """
    yield unit_length(weights)
    largest = max(map(abs, weights)).bit_length()
    for far in (0, 1000):  # entries that vanish beside the largest may be floats far above it
        for k in range(MULTIPLES):
            share = 2 * MULTIPLES - k
            whole = 1 << (largest + (2 * MULTIPLES).bit_length() - 1)
            yield np.array([(v * share << far) / whole for v in weights])


def _fallen(plain: Signed, w: Floats) -> list[int]:
    """Rows on which w is not positive, exactly; a few of them."""
    near = near_one(w)
    s, slack = plain.scores_whole(near), rounding(plain, near)
    low = np.flatnonzero(s <= slack)
    low = low[np.argsort(s[low], kind="stable")].tolist()
    products = zip(low, exact_products(whole_of(w), plain.examples, low), strict=True)
    return list(islice((n for n, product in products if product <= 0), 8))
