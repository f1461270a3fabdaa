"""The decision: separable, quasi-separable or inseparable, with integers that prove it.

Ask for weights that are positive on every row. If instead some rows S carry multipliers
with Σ λ z = 0, any w that is nowhere negative is zero on S: divide the span of S away, leave
out the rows that vanish, and ask again of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import flint
import numpy as np

from rosenblatt.clock import OutOfTimeError
from rosenblatt.evidence.exact import (
    ExactWalk,
    Found,
    Fractions,
    below,
    independent_columns,
    solved,
    vanishing,
    without_denominators,
    zero_sum,
)
from rosenblatt.evidence.integers import Total, column_sums, integer_rows, sum_of_rows, unit_of
from rosenblatt.evidence.nearest import Point, Watch, nearest_point
from rosenblatt.evidence.proof import Part, Vector
from rosenblatt.evidence.signed import Quotient, Signed, columns_of, power

BITS = (53, 106, 212, 424)  # digits to which exact weights are cut, the fewest that will do
ANY = 1.0  # the gap that is content with any separator


@dataclass(frozen=True, eq=False)
class Decision:
    """What was decided, and the integers that prove it.

    Parameters
    ----------
    verdict : str
        "separable", "quasi-separable", "inseparable", "undecided", or "not separable" where the
        time was over before it was known which of the two.
    weights : tuple of int
        A positive multiple of the tall w, or empty.
    part : Part, optional
        The rows with multipliers.
    blocking : Part, optional
        The first rows found that cannot all be right; fewer than in `part`, perhaps.
    point : Point, optional
        Where the float solver stood when it was first asked.
    reason : str
        Why it is undecided.
    """

    verdict: str
    weights: Vector = ()
    part: Part | None = None
    blocking: Part | None = None
    point: Point | None = None
    reason: str = ""


def decide(signed: Signed, gap: float, watch: Watch) -> Decision:
    """Decide about the rows, and the margin to a relative gap if there is one."""
    carried = _zero_rows(signed)
    try:
        return _decide(signed, carried, gap, watch)
    except OutOfTimeError:
        if not carried:
            raise
        blocking = part_of(signed, carried[0])
        return Decision("not separable", (), blocking, blocking)


def _decide(signed: Signed, carried: list[Found], gap: float, watch: Watch) -> Decision:
    first: Point | None = None
    if carried:
        signed, carried_all = divide(signed, carried)
        if carried_all:
            return _inseparable(signed, carried, first)
    while True:
        point = nearest_point(signed, ANY if carried else gap, watch)
        first = first or point
        found = resolve(signed, point)
        if found is None:
            reason = "neither weights nor multipliers could be made exact in 500 exact steps"
            return Decision("undecided", point=first, reason=reason)
        if found.weights:
            weights = short_weights(signed, found)
            if not carried:
                return Decision("separable", weights, point=first)
            blocking = part_of(signed, carried[0])
            return Decision("quasi-separable", weights, blocking, blocking, first)
        if signed.quotient and _nothing_new(signed, found):
            reason = "the rows that carry multipliers do not span more than those before them"
            return Decision("undecided", point=first, reason=reason)
        carried.append(found)
        signed, carried_all = divide(signed, carried)
        if carried_all:
            return _inseparable(signed, carried, first)


def first_part(signed: Signed) -> Part | None:
    """The first rows found that cannot all be right; None if some w separates, or undecided."""
    found: Found | None = next(iter(_zero_rows(signed)), None)
    if found is None:
        found = resolve(signed, nearest_point(signed, ANY, lambda point, passes: None))
    return None if found is None or found.weights else part_of(signed, found)


def resolve(signed: Signed, point: Point) -> Found | None:
    """Make exact what the float solver found, or walk on exactly from there."""
    found = separator(signed, point)
    if found is not None:
        return found
    rows, multipliers = point.rows.tolist(), point.multipliers
    if not rows:  # floats saw nothing but zeros, where there are rows that are not
        rows, multipliers = [0 if signed.alive is None else int(signed.alive.argmax())], np.ones(1)
    return zero_sum(signed, rows) or ExactWalk(signed, rows, multipliers).run()


def separator(signed: Signed, point: Point) -> Found | None:
    """The solver's weights as they stand, of unit length, if they separate exactly."""
    if not point.lower > 0:
        return None
    w = [flint.fmpq(*v.as_integer_ratio()) for v in (point.w / np.linalg.norm(point.w)).tolist()]
    return Found(weights=w, rounded=True) if separates(signed, w) else None


def separates(signed: Signed, w: Fractions) -> bool:
    """Whether w·z > 0 for every row, exactly."""
    return all(excess > 0 for _, excess in below(signed, w, flint.fmpq(0)))


def short_weights(signed: Signed, found: Found) -> Vector:
    """Tall weights as integers, cut to the fewest digits that still separate."""
    w = found.weights
    if not found.rounded:
        w = next((cut for bits in BITS if separates(signed, cut := cut_to(w, bits))), w)
    return tall_integers(signed, w)


def tall_integers(signed: Signed, w: Fractions) -> Vector:
    """Weights for scaled rows as integer weights for the data as they were given."""
    return without_denominators(signed.unscaled(signed.scaled_whole(w)))


def cut_to(w: Fractions, bits: int) -> Fractions:
    """Weights up to 1 with so many binary places."""
    largest = max(abs(v) for v in w)
    return [flint.fmpq((v / largest * (1 << bits)).round(), 1 << bits) for v in w]


def _zero_rows(signed: Signed) -> list[Found]:
    """A row of zeros is never right: one multiplier, and the sum is zero."""
    if signed.examples.x0:
        return []
    zero = np.flatnonzero(np.asarray((signed.examples.X != 0).sum(axis=1)).ravel() == 0)
    return [Found(rows=[int(zero[0])], multipliers=[flint.fmpq(1)])] if len(zero) else []


def divide(signed: Signed, carried: list[Found]) -> tuple[Signed, bool]:
    """Divide away what the carrying rows span; True if no row is left then."""
    quotient = quotient_by(signed, [n for found in carried for n in found.rows])
    if len(quotient.others) == 0:
        return signed, True
    left = replace(signed, quotient=quotient, alive=None)
    left = replace(left, alive=_alive(left), passes=signed.passes + 2)
    assert left.alive is not None
    return left, not left.alive.any()


def quotient_by(signed: Signed, rows: Sequence[int]) -> Quotient:
    """What is left of the weights that are zero on some rows."""
    Z = signed.exact_whole(rows)
    reduced, rank = Z.rref()
    table = reduced.tolist()[:rank]
    pivots = [next(j for j, v in enumerate(row) if v != 0) for row in table]
    others = np.setdiff1d(np.arange(Z.ncols()), pivots)
    fill = columns_of(flint.fmpq_mat(table), others) if table else flint.fmpq_mat(0, len(others))
    return Quotient(np.array(pivots, dtype=np.intp), others, fill)


def _nothing_new(signed: Signed, found: Found) -> bool:
    """Whether the rows vanish already: dividing by their span would go on for ever."""
    return not any(signed.exact(found.rows).entries())


def _alive(signed: Signed) -> Any:
    """Rows that do not vanish: a direction drawn at random is orthogonal to the others only.

    Chance can err by calling a row vanished that is not; the proof would then not hold, and
    proofs are checked.
    """
    rng = np.random.default_rng(0)
    w = [flint.fmpq(int(v)) for v in rng.integers(1, 2**31, size=signed.dimension)]
    alive = np.ones(signed.examples.n, dtype=np.bool_)
    alive[vanishing(signed, w)] = False
    return alive


def _inseparable(signed: Signed, carried: list[Found], first: Point | None) -> Decision:
    """Join the multipliers of all rounds; if they do not span everything, give all rows one."""
    rows, multipliers = list(carried[0].rows), list(carried[0].multipliers)
    for found in carried[1:]:
        multipliers = lifted(signed, rows, multipliers, sum_of(signed, found))
        rows, multipliers = [*rows, *found.rows], [*multipliers, *found.multipliers]
    whole = Found(rows=rows, multipliers=multipliers)
    Z = signed.exact_whole(rows)
    if Z.rank() < Z.ncols() and len(rows) < signed.examples.n:
        part = with_the_rest(signed, whole, sum_of_rows(signed.examples))
    else:
        part = part_of(signed, whole)
    return Decision("inseparable", (), part, part_of(signed, carried[0]), first)


def with_the_rest(signed: Signed, found: Found, total: Total) -> Part:
    """All rows are in the span of some: those that are not listed get the multiplier 1.

    The total is the sum of all rows as they were given.
    """
    every, unit = total
    listed = integer_rows(signed.examples, found.rows, unit)
    others = [a - sum(column) for a, *column in zip(every, *listed, strict=True)]
    powers = (np.frexp(signed.scale.columns)[1] - 1 + unit - 53).tolist()
    two = flint.fmpq(2)
    left = [flint.fmpq(v) * two**e for v, e in zip(others, powers, strict=True)]
    multipliers = lifted(signed, found.rows, found.multipliers, left)
    return part_of(signed, Found(rows=found.rows, multipliers=multipliers), 1)


def lifted(
    signed: Signed, rows: list[int], multipliers: Fractions, total: Fractions, free: int = 0
) -> Fractions:
    """Multipliers for rows whose sum is zero, so that with a total in their span it is zero again.

    The total is -Σ c z over these rows; enough of the multipliers make all of them positive, but
    for the first ones, which are free to have any sign.
    """
    Z = signed.exact_whole(rows)
    keep = independent_columns(Z.transpose())
    kept = [rows[i] for i in keep]
    K = signed.exact_whole(kept)
    at = independent_columns(K)
    square = columns_of(K, np.array(at)).transpose()
    right = flint.fmpq_mat(len(at), 1, [total[j] for j in at])
    c = dict(zip(keep, solved(square, right).entries(), strict=True))
    held = [c[i] / multipliers[i] for i in keep if i >= free]
    enough = 1 + max(held, default=flint.fmpq(0))
    enough = max(enough, flint.fmpq(1))
    return [enough * m - c.get(i, flint.fmpq(0)) for i, m in enumerate(multipliers)]


def sum_of(signed: Signed, found: Found) -> Fractions:
    """Σ λ z of some rows, nothing divided away."""
    total = flint.fmpq_mat(1, len(signed.scale.columns))
    for start in range(0, len(found.rows), 1024):
        rows = found.rows[start : start + 1024]
        m = flint.fmpq_mat(1, len(rows), found.multipliers[start : start + 1024])
        total = total + m * signed.exact_whole(rows)
    return list(total.entries())


def total_of(signed: Signed, rows: Sequence[int]) -> Fractions:
    """Σ z of rows as they were given, in the scale of the columns."""
    examples = signed.examples
    some = replace(examples, X=examples.X[rows], y=examples.y[rows], weights=None)
    unit = unit_of(some)
    sums = [flint.fmpq(v) * power(1, unit - 53) for v in column_sums(some, unit)]
    scales = (np.frexp(signed.scale.columns)[1] - 1).tolist()
    return [v * power(1, e) for v, e in zip(sums, scales, strict=True)]


def part_of(signed: Signed, found: Found, rest: int = 0) -> Part:
    """Multipliers of the rows as they were given, in integers; the last is that of the rest."""
    true = [m * signed.row_power(n) for n, m in zip(found.rows, found.multipliers, strict=True)]
    whole = without_denominators([*true, flint.fmpq(rest)])
    order = sorted(range(len(found.rows)), key=found.rows.__getitem__)
    rows, multipliers = ([values[i] for i in order] for values in (found.rows, whole))
    return Part(tuple(rows), tuple(multipliers), whole[-1])
