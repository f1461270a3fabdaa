"""Cells and their faces in whole numbers: nothing here is rounded.

The planes w·z = 0 of the rows cut all w into cells, open cones within which the mistakes are the
same. Rows span the whole space, so every cell has a face of two dimensions: w on it is orthogonal
to some independent rows, the pivots, all but two of as many as there are dimensions. On the plane
of such w the other rows change their answer at one angle each; between two of these angles lies a
face. A tiny move off the face decides the rows that vanish on it, each pivot as one likes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from rosenblatt.costs import Costs
from rosenblatt.examples import Examples

Floats = NDArray[np.float64]
Vector = tuple[int, ...]
Weights = list[Fraction]

PLAIN = 2**26  # quotients of integers below it differ as floats where they differ at all


class Arrangement:
    """Planes through 0 by their rows: whole numbers that span the space, no two on one line.

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
        # Entries of `complement` are minors of p pivots; products of `spread` sum up to D of them.
        self.plain = math.factorial(p) * largest ** (p + 1) * self.dimension < PLAIN
        self.table = np.array(self.rows, dtype=np.int64 if self.plain else object)

    @property
    def n_faces(self) -> int:
        """How many sets of pivots there are."""
        return math.comb(len(self.rows), max(0, self.dimension - 2))

    def pivots(self) -> Iterator[tuple[int, ...]]:
        """All sets of pivots."""
        yield from combinations(range(len(self.rows)), max(0, self.dimension - 2))

    def cheapest(self, pivots: tuple[int, ...], below: int) -> tuple[int, Weights] | None:
        """Find the cheapest cell at the faces of these pivots, and w in it, if it costs less."""
        if self.dimension < 2:
            alone = [Fraction(v) for v in self.rows[0]] if self.rows else []
            return (0, alone) if below > 0 else None
        chosen = [self.rows[n] for n in pivots]
        across = complement(chosen, self.dimension)
        if across is None:
            return None
        circle = self._circle(across)
        place = circle.best(below, self.plain)
        if place is None:
            return None
        on = [n for n in circle.on.tolist() if n not in pivots]
        beside, values = self._beside(pivots, on) if on else (0, [Fraction(1)] * len(pivots))
        if place.cost + beside >= below:
            return None
        along = [place.side * (v - place.at * u) for u, v in zip(*across, strict=True)]
        if pivots:
            along = nudged(along, _with_products(chosen, values), self.rows)
        return place.cost + beside, along

    def _circle(self, across: tuple[Vector, Vector]) -> Circle:
        kind = self.table.dtype
        a, b = (self.table @ np.array(v, dtype=kind) for v in across)
        off = (a != 0) | (b != 0)
        u, v = (1 + math.isqrt(dot(w, w)) for w in across)
        return Circle(a[off], b[off], self.costs[off], np.flatnonzero(~off), Fraction(v, u))

    def _beside(self, pivots: tuple[int, ...], on: list[int]) -> tuple[int, Weights]:
        """The cost of rows that vanish with the pivots, and products of the pivots to have it.

        Off the face these rows are a smaller problem of their own, in the span of the pivots.
        """
        chosen, rows = ([self.rows[n] for n in some] for some in (pivots, (*pivots, *on)))
        small = Arrangement(in_terms_of(chosen, rows), self.costs[[*pivots, *on]])
        found = fewest(small, int(small.costs.sum()) + 1)
        assert found is not None
        return found


def fewest(arrangement: Arrangement, below: int) -> tuple[int, Weights] | None:
    """The cheapest cell of all, if it costs less, and w in it."""
    best = None
    for pivots in arrangement.pivots():
        found = arrangement.cheapest(pivots, below)
        if found is not None:
            best, below = found, found[0]
    return best


@dataclass(frozen=True)
class Arc:
    """A piece of the circle: what it costs, w = side·(v - at·u) in its middle."""

    cost: int
    at: Fraction
    side: int


@dataclass(frozen=True, eq=False)
class Circle:
    """The plane of w = v - q·u: products a with u and b with v of the rows that do not vanish.

    As w turns from u to -u, q grows from minus infinity. A row changes its answer at q = b/a, from
    right to wrong if a > 0; a row with a = 0 at u itself. On the other half all is opposite.
    """

    a: NDArray[Any]
    b: NDArray[Any]
    costs: NDArray[Any]
    on: NDArray[np.intp]  # the rows that vanish
    unit: Fraction  # of q: the length of v by that of u

    def best(self, below: int, plain: bool) -> Arc | None:
        """The cheapest piece, if it costs less.

        A quotient of integers is rounded once, so floats that differ are in their true order;
        where `plain`, quotients that differ are different floats, too.
        """
        crossing = np.flatnonzero(self.a != 0)
        quotients = _quotients(self.b[crossing], self.a[crossing])
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
        """A place in the widest of some pieces, if floats can tell: they fit in the more easily."""
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
        """Look exactly among crossings that are one float, if a cheaper piece may be there."""
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
    """The signed tall rows of examples as an arrangement.

    Columns are centred and scaled, so that rows do not look alike, and left out where they are
    sums of others. Rows on one line are put together: of those that contradict one another the
    cheaper are mistakes of every w, as are rows of zeros, and what they cost is `always`.
    """

    def __init__(self, examples: Examples) -> None:
        self.examples = examples
        kept = examples.kept.astype(np.intp)
        X = examples.X[kept]
        X = (X.toarray() if examples.is_sparse else X).astype(np.float64)
        self.columns = [_Column.centred(x, examples.x0) for x in X.T]
        if examples.x0:
            self.columns.insert(0, _Column.constant(examples.x0, len(kept)))
        costs = Costs.of(examples).each[kept]
        merged, self.always = _on_lines(self._signed(examples.y[kept].tolist()), costs.tolist())
        left = [z for z, cost in merged.items() if cost]
        self.cancelled = [z for z, cost in merged.items() if not cost]
        self.rows = left
        self.independent = independent(left)
        rows = [tuple(z[j] for j in self.independent) for z in left]
        worth = np.array([merged[z] for z in left], dtype=costs.dtype)
        self.arrangement = Arrangement(rows, worth)

    def _signed(self, signs: list[int]) -> Iterator[Vector]:
        """The rows in whole numbers without a common divisor."""
        finest = max(column.places for column in self.columns)
        shifts = [finest - column.places for column in self.columns]
        for row, sign in zip(
            zip(*(c.values for c in self.columns), strict=True), signs, strict=True
        ):
            yield _plain([sign * v << shift for v, shift in zip(row, shifts, strict=True)])

    def weights(self, w: Weights) -> Weights:
        """Weights with a w0 slot for the data as they were given, off the plane of every row."""
        tall = [Fraction(0)] * len(self.columns)
        for j, v in zip(self.independent, w, strict=True):
            tall[j] = v
        for j in range(len(tall)):
            if any(dot(tall, z) == 0 for z in self.cancelled):
                aside = [Fraction(i == j) for i in range(len(tall))]
                tall = nudged(tall, aside, self.rows + self.cancelled)
        raw = [v / c.unit for v, c in zip(tall, self.columns, strict=True)]
        if not self.examples.x0:
            return [Fraction(0), *raw]
        middles = (v * c.middle for v, c in zip(raw[1:], self.columns[1:], strict=True))
        return [raw[0] - sum(middles, Fraction(0)) / Fraction(self.examples.x0), *raw[1:]]


@dataclass(frozen=True, eq=False)
class _Column:
    """Numbers less their middle, in a unit near their spread: values · 2^-places units."""

    values: list[int]
    places: int
    middle: Fraction
    unit: Fraction

    @classmethod
    def constant(cls, x0: float, n: int) -> _Column:
        unit = Fraction(2) ** math.frexp(x0)[1]
        value = Fraction(x0) / unit
        return cls([value.numerator] * n, value.denominator.bit_length() - 1, Fraction(0), unit)

    @classmethod
    def centred(cls, x: Floats, x0: float) -> _Column:
        middle = _median(x) if x0 else Fraction(0)
        ratios = [v.as_integer_ratio() for v in x.tolist()]
        places = (
            max((q.bit_length() for _, q in (*ratios, middle.as_integer_ratio())), default=1) - 1
        )
        centre = int(middle * 2**places)
        values = [(p << places - q.bit_length() + 1) - centre for p, q in ratios]
        exponent = max((abs(v).bit_length() for v in values), default=0) - places
        return cls(values, places + exponent, middle, Fraction(2) ** exponent)


def _on_lines(rows: Iterable[Vector], costs: list[int]) -> tuple[dict[Vector, int], int]:
    """The dearer direction on each line by its cost above the other's; what every w pays."""
    each: dict[Vector, int] = {}
    for z, cost in zip(rows, costs, strict=True):
        each[z] = each.get(z, 0) + cost
    always = each.pop((0,) * len(next(iter(each), ())), 0)
    merged: dict[Vector, int] = {}
    for z, cost in each.items():
        opposite = tuple(-v for v in z)
        against = each.get(opposite, 0)
        if cost > against or (cost == against and z > opposite):
            merged[z] = cost - against
            always += against
    return merged, always


def dot(a: Iterable[Any], b: Iterable[Any]) -> Any:
    """a·b."""
    return sum(p * q for p, q in zip(a, b, strict=True))


def whole(w: Sequence[Fraction]) -> Vector:
    """The same direction in whole numbers without a common divisor."""
    common = math.lcm(*(v.denominator for v in w))
    return _plain([int(v * common) for v in w])


def _plain(numbers: Sequence[int]) -> Vector:
    """Whole numbers without their common divisor."""
    divisor = math.gcd(*numbers) or 1
    return tuple(v // divisor for v in numbers)


def independent(rows: Sequence[Vector]) -> list[int]:
    """Columns of which all others are sums: the leftmost."""
    if not rows:
        return []
    table, _, rank = flint.fmpz_mat(rows).rref()
    return [next(j for j, v in enumerate(row) if v != 0) for row in table.tolist()[:rank]]


def complement(pivots: Sequence[Vector], dimension: int) -> tuple[Vector, Vector] | None:
    """Two directions that span what is orthogonal to pivots, if these leave no more than two."""
    entries = [v for z in pivots for v in z]
    spans, count = flint.fmpz_mat(len(pivots), dimension, entries).nullspace()
    if count > 2:
        return None
    u, v = (_plain([int(spans[i, j]) for i in range(dimension)]) for j in range(2))
    return u, v


def in_terms_of(pivots: Sequence[Vector], rows: Sequence[Vector]) -> list[Vector]:
    """For each of some rows the coefficients by which it is a sum of independent pivots.

    They are times something positive, so that they are whole.
    """
    p = len(pivots)
    table, over, _ = flint.fmpz_mat([*pivots, *rows]).transpose().rref()
    sign = 1 if over > 0 else -1
    return [_plain([sign * int(table[i, p + k]) for i in range(p)]) for k in range(len(rows))]


def _with_products(pivots: Sequence[Vector], values: Weights) -> Weights:
    """A sum of pivots that has given products with them."""
    P = flint.fmpq_mat(flint.fmpz_mat(pivots))
    wanted = [flint.fmpq(v.numerator, v.denominator) for v in values]
    shares = (P * P.transpose()).solve(flint.fmpq_mat(len(wanted), 1, wanted))
    return [Fraction(int(v.p), int(v.q)) for v in (shares.transpose() * P).entries()]


def nudged(along: Weights, aside: Weights, rows: Iterable[Vector]) -> Weights:
    """Weights a little aside of others: no row that is not on their plane changes its sign."""
    p, q = whole(along), whole(aside)
    least = Fraction(max(1, math.isqrt(dot(p, p))), 1 + math.isqrt(dot(q, q)))
    for z in rows:
        product, change = dot(p, z), dot(q, z)
        if product and change:
            least = min(least, abs(Fraction(product, change)) / 2)
    return [a + least * b for a, b in zip(p, q, strict=True)]


def rounded(w: Sequence[Fraction]) -> Floats:
    """Fractions as floats up to 1, each rounded once."""
    largest = max(abs(v) for v in w) or Fraction(1)
    return np.array([float(v / largest) for v in w])


def unit_floats(z: Vector) -> Floats:
    """The direction of integers of any size as floats of length 1."""
    scale = 1 << max(abs(v).bit_length() for v in z)
    x = np.array([v / scale for v in z])
    result: Floats = x / np.sqrt((x * x).sum())
    return result


def _quotients(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """Quotients of integers, each rounded once; those too large are infinite."""
    try:
        return np.asarray(above / below, dtype=np.float64)
    except OverflowError:
        return np.array([_quotient(p, q) for p, q in zip(above, below, strict=True)])


def _quotient(above: int, below: int) -> float:
    try:
        return above / below
    except OverflowError:
        return math.inf if (above > 0) == (below > 0) else -math.inf


def _median(x: Floats) -> Fraction:
    """The median; halves are added as fractions, for floats may end before their sum does."""
    ends = (len(x) - 1) // 2, len(x) // 2
    low, high = np.partition(x, ends)[list(ends)].tolist()
    return (Fraction(low) + Fraction(high)) / 2
