"""Cells of an arrangement of hyperplanes and their faces, in exact integer arithmetic.

The hyperplanes w·z = 0 of the rows cut the space of w into cells, open cones in which the mistakes
are the same. The rows span the space, so every cell has a two-dimensional face: its w are
orthogonal to D - 2 independent rows, the pivots, where D is the dimension. In the plane of such w
each other row changes its sign at one angle, and between two such angles lies a face. A tiny move
off the face decides the rows that are 0 on it, and each pivot can be given either sign.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import flint
import numpy as np
from numpy.typing import NDArray

from rosenblatt.examples import Costs, Examples
from rosenblatt.tables import to_dense

Floats = NDArray[np.float64]
Vector = tuple[int, ...]
Weights = list[Fraction]

PLAIN = 2**26  # quotients of integers below this that differ also differ as floats


class Arrangement:
    """Arrangement of hyperplanes through 0, whose integer normal vectors span the space.

    No two of the vectors are parallel.

    Examples
    --------
    >>> rows = Arrangement([(1, 0), (-1, 1), (-1, -1)], np.ones(3, dtype=np.int64))
    >>> cost, w = rows.cheapest((), below=3)
    >>> cost, [dot(w, z) > 0 for z in rows.rows]
    (1, [True, True, False])
    """

    def __init__(self, rows: Sequence[Vector], costs: NDArray[Any]) -> None:
        self.rows, self.costs = list(rows), costs
        self.dimension = len(self.rows[0]) if self.rows else 0
        largest = max((abs(v) for z in self.rows for v in z), default=0)
        p = max(0, self.dimension - 2)
        self.n_faces = math.comb(len(self.rows), p)  # number of sets that `pivots` yields
        # Entries of `complement` are minors of p pivots; a product with a row sums D of them.
        self.plain = math.factorial(p) * largest ** (p + 1) * self.dimension < PLAIN
        self.table = np.array(self.rows, dtype=np.int64 if self.plain else object)

    def pivots(self) -> Iterator[tuple[int, ...]]:
        """Yield all sets of d - 2 rows; fixing their scores at 0 leaves a plane of weights.

        d is the number of dimensions of the weights.
        """
        yield from combinations(range(len(self.rows)), max(0, self.dimension - 2))

    def cheapest(self, pivots: tuple[int, ...], below: int) -> tuple[int, Weights] | None:
        """Find the cheapest mistakes in cells that touch the plane where all pivots score 0.

        Return the cost of these mistakes and weights that make them, inside the cell. None if no
        such mistakes cost less than `below`.
        """
        if self.dimension < 2:
            alone = [Fraction(v) for v in self.rows[0]] if self.rows else []
            return (0, alone) if below > 0 else None
        chosen = [self.rows[n] for n in pivots]
        across = complement(chosen, self.dimension)
        if across is None:
            return None
        a, b = (self.table @ np.array(v, dtype=self.table.dtype) for v in across)
        off = (a != 0) | (b != 0)
        length_u, length_v = (1 + math.isqrt(dot(w, w)) for w in across)
        unit = Fraction(length_v, length_u)
        place = Circle(a[off], b[off], self.costs[off], unit).best(below, self.plain)
        if place is None:
            return None
        on = [n for n in np.flatnonzero(~off).tolist() if n not in pivots]
        beside, values = 0, [Fraction(1)] * len(pivots)
        if on:
            # A little off the face, the rows that are 0 on it are a smaller problem of the same
            # kind, in the span of the pivots: find its least cost, and the pivots' products there.
            # Each row becomes its coefficients as a combination of pivots, as integers.
            p, rows = len(pivots), [self.rows[n] for n in (*pivots, *on)]
            table, over, _ = flint.fmpz_mat([*chosen, *rows]).transpose().rref()
            sign = 1 if over > 0 else -1
            combined = [
                _divide_by_gcd([sign * int(table[i, p + k]) for i in range(p)])
                for k in range(len(rows))
            ]
            small = Arrangement(combined, self.costs[[*pivots, *on]])
            found = fewest(small, int(small.costs.sum()) + 1)
            assert found is not None
            beside, values = found
        if place.cost + beside >= below:
            return None
        along = [place.side * (v - place.at * u) for u, v in zip(*across, strict=True)]
        if pivots:  # the combination of pivots whose products with them are `values`
            P = flint.fmpq_mat(flint.fmpz_mat(chosen))
            wanted = [flint.fmpq(v.numerator, v.denominator) for v in values]
            shares = (P * P.transpose()).solve(flint.fmpq_mat(len(wanted), 1, wanted))
            aside = [Fraction(int(v.p), int(v.q)) for v in (shares.transpose() * P).entries()]
            along = nudge(along, aside, self.rows)
        return place.cost + beside, along


def fewest(arrangement: Arrangement, below: int) -> tuple[int, Weights] | None:
    """Find the weights whose mistakes cost least; return this cost and the weights.

    None if no mistakes cost less than `below`.
    """
    best = None
    for pivots in arrangement.pivots():
        found = arrangement.cheapest(pivots, below)
        if found is not None:
            best, below = found, found[0]
    return best


class Arc(NamedTuple):
    """Range of directions of w in a plane for which the mistakes stay the same."""

    cost: int
    at: Fraction
    side: int  # 1 or -1: w = side·(v - at·u) lies inside


@dataclass(frozen=True, eq=False)
class Circle:
    """Plane of weights spanned by vectors u and v, with each row's dot products with both.

    As w = v - q·u turns from u to -u, q grows from -∞. A row changes its sign at q = b/a, from
    correct to wrong if a > 0; a row with a = 0 changes at u itself. The other half is opposite.
    """

    a: NDArray[Any]
    b: NDArray[Any]
    costs: NDArray[Any]
    unit: Fraction  # of q: the length of v divided by that of u

    def best(self, below: int, plain: bool) -> Arc | None:
        """Return a range of directions of w (`Arc`) where mistakes cost least, or None.

        The result is None if they cost at least `below` everywhere. The rows are sorted by the
        quotients b/a in floats. Each is rounded once, so different floats are in their true order;
        if `plain`, different quotients are also different floats.
        """
        crossing = np.flatnonzero(self.a != 0)
        p, q = self.b[crossing], self.a[crossing]
        try:
            quotients = np.asarray(p / q, dtype=np.float64)
        except OverflowError:
            quotients = np.array([_quotient(*pair) for pair in zip(p, q, strict=True)])
        sorting = np.argsort(quotients, kind="stable")
        order, quotients = crossing[sorting], quotients[sorting]
        wrong = (self.a < 0) | ((self.a == 0) & (self.b < 0))
        changes = np.where(self.a[order] > 0, self.costs[order], -self.costs[order])
        after = np.append(self.costs[wrong].sum(), changes).cumsum()
        sure = np.ones(len(after), dtype=bool)
        sure[1:-1] = quotients[:-1] < quotients[1:]
        ends = np.flatnonzero(sure)
        best = None
        for side, costs in ((1, after[ends]), (-1, self.costs.sum() - after[ends])):
            if (least := int(costs.min())) < below:
                at = self._widest(order, ends[costs == least])
                best, below = Arc(least, at, side), least
        for k in np.flatnonzero(np.diff(ends) > 1).tolist() if not plain else ():
            found = self._among(order[ends[k] : ends[k + 1]], int(after[ends[k]]), below)
            if found is not None:
                best, below = found, found.cost
        return best

    def _crossing(self, n: int) -> Fraction:
        return Fraction(int(self.b[n]), int(self.a[n]))

    def _widest(self, order: NDArray[np.intp], pieces: NDArray[np.intp]) -> Fraction:
        """Return a q for which w = v - q·u lies inside the widest of several arcs of such w.

        Weights in a wide arc are more likely to stay in the arc after rounding.
        """
        places = (self._crossing(n) / self.unit for n in order.tolist())
        angles = (math.atan(_quotient(q.numerator, q.denominator)) for q in places)
        ends = np.array([-math.pi / 2, *angles, math.pi / 2])
        k = int(pieces[(ends[pieces + 1] - ends[pieces]).argmax()])
        at = Fraction(math.tan((ends[k] + ends[k + 1]) / 2)) * self.unit
        if len(order) == 0:
            return at
        low = self._crossing(order[k - 1]) if k else min(at, self._crossing(order[0])) - 1
        high = self._crossing(order[k]) if k < len(order) else max(at, low) + 1
        return at if low < at < high else (low + high) / 2

    def _among(self, rows: NDArray[np.intp], cost: int, below: int) -> Arc | None:
        """Find the cheapest mistakes between sign changes that floats cannot tell apart.

        The sign changes are compared as exact fractions. None if no mistakes between them cost less
        than `below`.
        """
        total = int(self.costs.sum())
        falls = int(self.costs[rows][self.a[rows] < 0].sum())
        rises = int(self.costs[rows].sum()) - falls
        if min(cost - falls, total - cost - rises) >= below:
            return None
        best, exact = None, sorted((self._crossing(n), n) for n in rows.tolist())
        for (low, n), (high, _) in pairwise(exact):
            cost += int(self.costs[n]) if self.a[n] > 0 else -int(self.costs[n])
            for side, here in ((1, cost), (-1, total - cost)):
                if low < high and here < below:
                    best, below = Arc(here, (low + high) / 2, side), here
        return best


class Directions:
    """Normal vectors, in integers, of the hyperplanes where scores of rows change sign.

    Columns are centered and scaled, so that rows differ clearly, and linearly dependent columns
    are left out. Parallel rows are merged: of those that contradict one another the cheaper are
    mistakes of every w, as are rows of zeros; their cost is `always`.
    """

    def __init__(self, examples: Examples) -> None:
        self.examples = examples
        kept = examples.kept.astype(np.intp)
        X = to_dense(examples.X[kept]).astype(np.float64)
        self.columns = [_make_column(x, centered=bool(examples.x0)) for x in X.T]
        if examples.x0:
            self.columns.insert(0, _make_column(np.full(len(kept), examples.x0), centered=False))
        costs = Costs.of(examples).each[kept]
        finest = max(column.places for column in self.columns)
        shifts = [finest - column.places for column in self.columns]
        each: dict[Vector, int] = {}  # cost of each signed row y·x, in integers
        table = zip(*(column.values for column in self.columns), strict=True)
        for row, y, cost in zip(table, examples.y[kept].tolist(), costs.tolist(), strict=True):
            z = _divide_by_gcd([y * v << shift for v, shift in zip(row, shifts, strict=True)])
            each[z] = each.get(z, 0) + cost
        # Every w misclassifies each row of zeros, and at least one of two opposite rows.
        self.always = each.pop((0,) * len(self.columns), 0)
        merged: dict[Vector, int] = {}
        for z, cost in each.items():
            opposite = tuple(-v for v in z)
            against = each.get(opposite, 0)
            if cost > against or (cost == against and z > opposite):
                merged[z] = cost - against
                self.always += against
        self.rows = [z for z, cost in merged.items() if cost]
        self.cancelled = [z for z, cost in merged.items() if not cost]
        self.independent = independent_columns(self.rows)
        rows = [tuple(z[j] for j in self.independent) for z in self.rows]
        worth = np.array([merged[z] for z in self.rows], dtype=costs.dtype)
        self.arrangement = Arrangement(rows, worth)

    def weights(self, w: Weights) -> Weights:
        """Convert w to augmented weights for the examples before centering and scaling.

        They are moved slightly if needed, so that no row except zeros has the score 0.
        """
        full = [Fraction(0)] * len(self.columns)
        for j, v in zip(self.independent, w, strict=True):
            full[j] = v
        for j in range(len(full)):
            if any(dot(full, z) == 0 for z in self.cancelled):
                aside = [Fraction(i == j) for i in range(len(full))]
                full = nudge(full, aside, self.rows + self.cancelled)
        raw = [v / c.unit for v, c in zip(full, self.columns, strict=True)]
        if not self.examples.x0:
            return [Fraction(0), *raw]
        middles = (v * c.middle for v, c in zip(raw[1:], self.columns[1:], strict=True))
        return [raw[0] - sum(middles, Fraction(0)) / Fraction(self.examples.x0), *raw[1:]]


class _Column(NamedTuple):
    """Feature column, perhaps minus its median, as exact integer multiples of a unit."""

    values: list[int]
    places: int  # binary places of the unit
    middle: Fraction  # the median; 0 if the column is not centered
    unit: Fraction  # close to the spread of the column


def _make_column(x: Floats, centered: bool) -> _Column:
    middle = Fraction(0)
    if centered:  # the median, as a fraction because the sum of two floats may overflow
        ends = (len(x) - 1) // 2, len(x) // 2
        low, high = np.partition(x, ends)[list(ends)].tolist()
        middle = (Fraction(low) + Fraction(high)) / 2
    ratios = [v.as_integer_ratio() for v in x.tolist()]
    places = max(q.bit_length() for _, q in (*ratios, middle.as_integer_ratio())) - 1
    center = int(middle * 2**places)
    values = [(p << places - q.bit_length() + 1) - center for p, q in ratios]
    exponent = max((abs(v).bit_length() for v in values), default=0) - places
    return _Column(values, places + exponent, middle, Fraction(2) ** exponent)


def dot(a: Iterable[Any], b: Iterable[Any]) -> Any:
    """Return the dot product a·b."""
    return sum(p * q for p, q in zip(a, b, strict=True))


def clear_denominators(w: Sequence[Fraction]) -> Vector:
    """Scale a vector of fractions to integers without a common divisor."""
    common = math.lcm(*(v.denominator for v in w))
    return _divide_by_gcd([int(v * common) for v in w])


def _divide_by_gcd(numbers: Sequence[int]) -> Vector:
    divisor = math.gcd(*numbers) or 1
    return tuple(v // divisor for v in numbers)


def independent_columns(rows: Sequence[Vector]) -> list[int]:
    """Return the indices of the leftmost linearly independent columns of the rows."""
    if not rows:
        return []
    table, _, rank = flint.fmpz_mat(rows).rref()
    return [next(j for j, v in enumerate(row) if v != 0) for row in table.tolist()[:rank]]


def complement(pivots: Sequence[Vector], dimension: int) -> tuple[Vector, Vector] | None:
    """Return two integer vectors that span the plane orthogonal to all pivots.

    None if the orthogonal complement has more than two dimensions.
    """
    entries = [v for z in pivots for v in z]
    spans, count = flint.fmpz_mat(len(pivots), dimension, entries).nullspace()
    if count > 2:
        return None
    u, v = (_divide_by_gcd([int(spans[i, j]) for i in range(dimension)]) for j in range(2))
    return u, v


def nudge(along: Weights, aside: Weights, rows: Iterable[Vector]) -> Weights:
    """Move weights towards `aside` so little that no nonzero score changes sign."""
    p, q = clear_denominators(along), clear_denominators(aside)
    least = Fraction(max(1, math.isqrt(dot(p, p))), 1 + math.isqrt(dot(q, q)))
    for z in rows:
        product, change = dot(p, z), dot(q, z)
        if product and change:
            least = min(least, abs(Fraction(product, change)) / 2)
    return [a + least * b for a, b in zip(p, q, strict=True)]


def round_to_floats(w: Sequence[Fraction]) -> Floats:
    """Scale fractions to a largest absolute value of 1, and round them to floats."""
    largest = max(abs(v) for v in w) or Fraction(1)
    return np.array([float(v / largest) for v in w])


def to_unit_length(z: Vector) -> Floats:
    """Scale an integer vector, however large, to a float vector of length 1."""
    scale = 1 << max(abs(v).bit_length() for v in z)
    x = np.array([v / scale for v in z])
    result: Floats = x / np.sqrt((x * x).sum())
    return result


def _quotient(above: int, below: int) -> float:
    """Divide integers into a correctly rounded float, infinite on overflow."""
    try:
        return above / below
    except OverflowError:
        return math.inf if (above > 0) == (below > 0) else -math.inf
