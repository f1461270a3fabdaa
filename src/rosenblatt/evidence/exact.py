"""From a float answer to one in fractions: the same walk, in exact arithmetic.

The float solver says which rows carry the nearest point. Here their multipliers are found
as fractions, and where rounding had misled it, rows are dismissed and admitted exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import flint
import numpy as np

from rosenblatt.evidence.integers import AT_ONCE, PRIMES, kinds, zero_products
from rosenblatt.evidence.signed import Floats, Rows, Signed, round_fraction

PRIME = 2**61 - 1
MANY = 1024  # rows among which equal ones are looked for, to look at each kind once
BATCH = 64  # rows looked at exactly at a time

Fractions = list[Any]  # of flint.fmpq


@dataclass(frozen=True, eq=False)
class Found:
    """Either weights that are positive on every row, or multipliers whose sum is zero."""

    weights: Fractions = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    multipliers: Fractions = field(default_factory=list)
    rounded: bool = False  # whether the weights are floats as they stand


def zero_sum(signed: Signed, rows: Sequence[int]) -> Found | None:
    """Positive multipliers on these very rows with Σ λ z = 0, if they are there to be had."""
    Z = signed.exact(rows)
    if len(rows) > Z.ncols() + 1:
        return None
    taller = _with_ones(Z)
    equations = independent_columns(taller)
    if len(equations) < len(rows):
        return None
    table = taller.tolist()
    square = flint.fmpq_mat([[row[j] for row in table] for j in equations])
    wanted = flint.fmpq_mat(len(rows), 1, [int(j == 0) for j in equations])
    multipliers = solved(square, wanted)
    if (multipliers.transpose() * Z) != flint.fmpq_mat(1, Z.ncols()):
        return None
    if min(multipliers.entries()) <= 0:
        return None
    return Found(rows=[int(n) for n in rows], multipliers=multipliers.entries())


class ExactWalk:
    """Wolfe's walk to the nearest point, in fractions, from where the float solver stood.

    In exact arithmetic the distance falls with every admission, so no corral comes twice and
    the walk ends.
    """

    def __init__(self, signed: Signed, rows: Sequence[int], multipliers: Floats) -> None:
        self.signed = signed
        keep = independent_columns(_with_ones(signed.exact(rows)).transpose())
        self.rows = [int(rows[i]) for i in keep]
        self.Z = signed.exact(self.rows).tolist()
        self.u = fractions_of(multipliers[keep])

    def run(self, *, widest: bool = False, most: int = 500) -> Found | None:
        """Walk until a separator (the widest, if asked) or the origin is found; None: too far."""
        for _ in range(most):
            self._settle()
            w, height = self._left_over()
            if height == 0:
                return Found(rows=self.rows, multipliers=self.u)
            n = self._first_below(w, height if widest else flint.fmpq(0), widest)
            if n is None:
                return Found(weights=w, rows=self.rows, multipliers=self.u)
            self.rows.append(n)
            self.Z.extend(self.signed.exact([n]).tolist())
            self.u.append(flint.fmpq(0))
        return None

    def _settle(self) -> None:
        while True:
            best = self._best()
            falling = [i for i, p in enumerate(best) if p <= 0]
            if not falling:
                self.u = best
                return
            steps = {i: self.u[i] / (self.u[i] - best[i]) if self.u[i] != 0 else 0 for i in falling}
            step = min(steps.values())
            self.u = [u + step * (p - u) for u, p in zip(self.u, best, strict=True)]
            for i in reversed(falling):
                if steps[i] == step:
                    del self.u[i], self.rows[i], self.Z[i]

    def _best(self) -> Fractions:
        """The multipliers, members only, that leave least over."""
        self.signed.deadline.check()
        k = len(self.rows)
        taller = _with_ones(flint.fmpq_mat(self.Z))
        products = taller * taller.transpose()
        return list(solved(products, flint.fmpq_mat(k, 1, [1] * k)).entries())

    def _left_over(self) -> tuple[Fractions, Any]:
        u = flint.fmpq_mat(1, len(self.u), self.u)
        return (u * flint.fmpq_mat(self.Z)).entries(), 1 - sum(self.u, flint.fmpq(0))

    def _first_below(self, w: Fractions, level: Any, strictly: bool) -> int | None:
        """A row with w·z below the level (or at it, unless strictly), the worst by floats first."""
        for n, excess in below(self.signed, w, level):
            if n not in self.rows and (excess < 0 or (excess == 0 and not strictly)):
                return n
        return None


def below(signed: Signed, w: Fractions, level: Any) -> Iterator[tuple[int, Any]]:
    """Every row whose w·z may be at or below the level, with w·z - level exactly, worst first."""
    s, slack, unit = rigorous_scores(signed, w)
    at = round_fraction(level / unit)
    near = np.flatnonzero(s <= at + slack + abs(at) * 2.0**-50)
    near = near[np.argsort(s[near])]
    for n, product in exact_scores(signed, w, near.tolist()):
        yield n, product - level


def vanishing(signed: Signed, w: Fractions) -> Rows:
    """The rows with w·z = 0; that it is so modulo three primes is taken for it."""
    s, slack, _ = rigorous_scores(signed, w)
    near = np.flatnonzero(np.abs(s) <= slack)
    whole = without_denominators(signed.unscaled(signed.scaled_whole(w)))
    if len(near) <= MANY:
        return near[zero_products(whole, signed.examples, near, PRIMES)]
    zero = np.empty(len(near), dtype=bool)
    for start in range(0, len(near), AT_ONCE):
        firsts, places = kinds(signed.examples, near[start : start + AT_ONCE])
        found = zero_products(whole, signed.examples, firsts, PRIMES)
        zero[start : start + AT_ONCE] = found[places]
    return near[zero]


def fractions_of(floats: Floats) -> Fractions:
    """Floats as the fractions that they are."""
    return [flint.fmpq(*v.as_integer_ratio()) for v in floats.tolist()]


def without_denominators(fractions: Sequence[Any]) -> tuple[int, ...]:
    """A positive multiple of some fractions, in integers without a common factor."""
    common = math.lcm(*(int(v.q) for v in fractions))
    whole = [int(v.p) * (common // int(v.q)) for v in fractions]
    divisor = math.gcd(*whole) or 1
    return tuple(v // divisor for v in whole)


def rigorous_scores(signed: Signed, w: Fractions) -> tuple[Floats, float, Any]:
    """w·z in floats, how far off they can be, and the unit they are in."""
    whole = signed.scaled_whole(w)
    unit = max(abs(v) for v in whole)
    floats = np.array([round_fraction(v / unit) for v in whole])
    return signed.scores_whole(floats), rounding(signed, floats), unit


def rounding(signed: Signed, w: Floats) -> float:
    """How far off scores can be if each of these weights was rounded once.

    Entries of scaled rows are at most 1, so √D bounds their length. What is lost below the
    smallest float counts as much as rows were multiplied by.
    """
    size = np.sqrt(len(w)) * np.sqrt(w @ w)
    lost = max(2.0**-900, len(w) * 2.0**-1070 * np.abs(signed.signs).max())
    return float(4 * (len(w) + 3) * 2.0**-53 * size + lost)


def exact_scores(signed: Signed, w: Fractions, rows: list[int]) -> Iterator[tuple[int, Any]]:
    """w·z of some rows, exactly."""
    column = flint.fmpq_mat(len(w), 1, w)
    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        yield from zip(batch, (signed.exact(batch) * column).entries(), strict=True)


def solved(A: flint.fmpq_mat, b: flint.fmpq_mat) -> flint.fmpq_mat:
    """The x with A x = b; Dixon's lifting is the faster way for floats of 53 bits."""
    return A.solve(b, algorithm="dixon")  # type: ignore[call-arg]


def _with_ones(Z: flint.fmpq_mat) -> flint.fmpq_mat:
    return flint.fmpq_mat([[flint.fmpq(1), *row] for row in Z.tolist()])


def independent_columns(A: flint.fmpq_mat) -> list[int]:
    """Columns of A that are independent modulo a prime, and so over the fractions; leftmost."""
    numerators, _ = A.numer_denom()
    reduced, rank = flint.nmod_mat(numerators, PRIME).rref()
    table = reduced.tolist()
    return [next(j for j, v in enumerate(table[i]) if int(v)) for i in range(rank)]
