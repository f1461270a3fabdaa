"""Signed rows z = y·(x0, x) for the solvers, as floats and as exact fractions.

Columns and rows are scaled by powers of two, which rounds nothing, so that floats of any size can
be handled. Some rows may be left out, and the span of some rows projected out. The float solver
finds the active set of the minimum-norm point; here its multipliers are found as fractions, and
where rounding misled the solver, the same steps continue in exact arithmetic.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import flint
import numpy as np
from numpy.typing import NDArray

from rosenblatt.clock import NEVER, Deadline, now
from rosenblatt.engine import REORDER, Kernel, helpers, in_threads, one_pass
from rosenblatt.evidence.certificate import Vector
from rosenblatt.evidence.integers import (
    PRIMES,
    as_integers,
    exact_products,
    group_equal_rows,
    mantissas,
    root,
    round_up_length,
    smallest_exponent,
    unit_of,
    zero_products,
)
from rosenblatt.examples import Examples
from rosenblatt.tables import largest_by_row

if TYPE_CHECKING:
    from rosenblatt.evidence.minnorm import SolverProgress

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Fractions = list[Any]  # list of flint.fmpq

GAP = 1e-9  # relative gap at which a margin counts as the widest
FAR_APART = 2.0**20  # columns or rows that differ by a larger factor are always scaled
UNEVEN = 2.0**6  # columns that differ by a larger factor make the float solver inaccurate
PRIME = 2**61 - 1
MANY = 1024  # with more rows, equal ones are found first and computed only once
BATCH = 64  # rows that are computed exactly at a time
EXACT_STEPS = 500  # maximum number of steps in fractions
FEW_NUMBERS = 2**13  # data of at most this size are decided whatever the time limit
QUICK = 32  # maximum rows of a system that is solved without an estimate of its time
LIFTING = 1.0  # time of one lifting step / time of one product with the matrix
HANDLING = 4  # time of all other work on rows / time of converting them to fractions


@dataclass(frozen=True, eq=False)
class DataSummary:
    """Radius R of the data, and the largest absolute value of each column."""

    radius: float  # the length of the longest row, x0 included
    columns: Floats  # the largest entry of each column, x0 included
    x0: bool  # whether the first column is x0
    rows_differ: bool = False  # whether the lengths of rows differ by more than FAR_APART

    def differs_by(self, factor: float) -> bool:
        """Return whether columns differ by more than a factor, or rows by more than FAR_APART."""
        used = self.columns[self.columns > 0]
        least, most = used.min(initial=math.inf), used.max(initial=0.0)
        return self.rows_differ or bool(most / factor > least)

    @property
    def scales(self) -> Floats:
        """Largest absolute value of each column; 1 for x0 and for columns of zeros."""
        scales = np.where(self.columns > 0, self.columns, 1.0)
        scales[: int(self.x0)] = 1.0
        return scales

    def scaled_margin(self, margin: float, w: Floats) -> float:
        """Compute the margin of w after dividing each column by its largest entry.

        The scores of w stay the same, and its weights grow as the columns shrink.
        """
        largest = self.scales.max()
        with np.errstate(all="ignore"):
            grown = float(np.linalg.norm(w * (self.scales / largest)) / np.linalg.norm(w))
            return float(margin / largest / grown) if grown > 0 else 0.0


def summarize(examples: Examples, first: int = 0) -> DataSummary:
    """Compute the radius R and the largest entry of each column of a block in one pass."""
    examples = examples.merged()
    unit, x0 = examples.unit, abs(examples.x0)
    squares, columns = lengths_and_columns(examples, np.full(examples.d, 1.0 / unit))
    least, most = float(squares.min()) + (x0 / unit) * (x0 / unit), float(squares.max())
    radius = round_up_length(math.hypot(math.sqrt(most), x0 / unit), unit)
    augmented = np.concatenate(([x0], columns)) if x0 else columns
    return DataSummary(radius, augmented, bool(x0), least * FAR_APART**2 < most)


def scaled_radius(
    look: DataSummary, examples: Examples, first: int = 0, weights: Floats | None = None
) -> float:
    """Compute the radius R after dividing each column by its largest entry.

    With `weights`, the length of each row is multiplied by its weight.
    """
    with np.errstate(over="ignore"):
        scales = 1.0 / look.scales[int(look.x0) :]
    if not np.isfinite(scales).all():
        return math.inf  # a column is too small to divide by in floats
    squares, _ = lengths_and_columns(examples, scales)
    if weights is None:
        return math.hypot(math.sqrt(squares.max()), examples.x0)
    return float((np.sqrt(squares + examples.x0**2) * weights).max())


def lengths_and_columns(examples: Examples, scales: Floats) -> tuple[Floats, Floats]:
    """Compute squared lengths of scaled rows, and the largest entry of each column."""
    squares, X = np.zeros(examples.n), examples.X
    largest: list[Floats] = []

    def part(rows: slice) -> None:
        columns = np.zeros(examples.d)
        with np.errstate(over="ignore"):
            if examples.is_sparse:
                _look_at_sparse(X.data, X.indices, X.indptr, scales, squares, columns)
            else:
                _look_at_dense(X[rows], scales, squares[rows], columns)
        largest.append(columns)

    in_threads(part, examples.n, 0 if examples.is_sparse else X.size)
    return squares, np.max(largest, axis=0)


def look_dense(X, scales, squares, columns):  # type: ignore[no-untyped-def]
    """Compute squared row lengths and largest column entries of a dense table."""
    for n in range(X.shape[0]):
        squares[n] = square(X[n], scales)  # type: ignore[no-untyped-call]
        x = X[n]
        for j in range(len(x)):
            columns[j] = max(columns[j], abs(np.float64(x[j])))


def look_sparse(data, indices, indptr, scales, squares, columns):  # type: ignore[no-untyped-def]
    """Compute squared row lengths and largest column entries of a CSR matrix."""
    for n in range(len(indptr) - 1):
        for k in range(indptr[n], indptr[n + 1]):
            a = abs(np.float64(data[k]))
            j = indices[k]
            columns[j] = max(columns[j], a)
            squares[n] += (a * scales[j]) * (a * scales[j])


def square(x, scales):  # type: ignore[no-untyped-def]
    """Compute the squared length of a row after scaling its columns."""
    s = 0.0
    for j in range(len(x)):
        s += (x[j] * scales[j]) * (x[j] * scales[j])
    return s


_bind = functools.cache(functools.partial(helpers, square, fastmath=REORDER))
_look_at_dense = Kernel(look_dense, _bind, one_pass)
_look_at_sparse = Kernel(look_sparse, work=lambda data, *others: 2 * len(data))


def _scale_below_one(largest: Any) -> Any:
    """Return the powers of two that scale numbers to less than 1, but not less than 1/2.

    Numbers below 2^-1000 stay small, which loses nothing. For a zero the power is 1.
    """
    return np.ldexp(1.0, -np.maximum(np.frexp(largest)[1], -1000))


@dataclass(frozen=True, eq=False)
class Quotient:
    """Subspace of the weight vectors with score 0 on the rows that were projected out.

    Its weights are those with w[pivots] = -fill · w[others].
    """

    pivots: Rows
    others: Rows
    fill: flint.fmpq_mat  # len(pivots) × len(others)

    @functools.cached_property
    def floats(self) -> Floats:
        """Matrix `fill` as floats: each w of the subspace has w[pivots] = -fill · w[others]."""
        return np.array([[round_fraction(v) for v in row] for row in self.fill.tolist()]).reshape(
            len(self.pivots), len(self.others)
        )


@dataclass(eq=False)
class SignedRows:
    """Signed rows y·x for the solvers, scaled by powers of two.

    A pass over them raises OutOfTimeError once the deadline is over.
    """

    examples: Examples
    columns: Floats  # powers of two that columns are multiplied by
    factors: Floats | None = None  # powers of two that rows are multiplied by
    quotient: Quotient | None = None  # the weights that are left after rows were projected out
    alive: NDArray[np.bool_] | None = None  # the rows that are not left out
    deadline: Deadline = NEVER
    progress: SolverProgress | None = None  # counts the passes

    @classmethod
    def of(
        cls,
        examples: Examples,
        look: DataSummary | None = None,
        *,
        even: bool = False,
        deadline: Deadline = NEVER,
        progress: SolverProgress | None = None,
    ) -> SignedRows:
        """Create signed rows that are all scaled by one factor, or to similar magnitudes.

        With one factor, the weights of widest margin stay the same. With `even`, each column has a
        factor of its own and, if needed, each row.
        """
        columns, factors = (look or summarize(examples)).columns, None
        if even:
            if progress is not None:
                progress.count(1)
            columns, x0 = _scale_below_one(columns), abs(examples.x0)
            units = columns[bool(x0) :]
            rows = np.concatenate([largest_by_row(X, units) for _, X, _ in examples.batches()])
            rows = np.maximum(rows, x0 * columns[0] if x0 else 0.0)
            live = rows[rows > 0]
            if len(live) and live.max() > FAR_APART * live.min():
                factors = _scale_below_one(rows)
        else:
            columns = np.full(len(columns), _scale_below_one(columns.max(initial=0.0)))
        return cls(examples, columns, factors, deadline=deadline, progress=progress)

    @property
    def dimension(self) -> int:
        """Number of entries of each signed row, after any projection."""
        return len(self.columns if self.quotient is None else self.quotient.others)

    def count_passes(self, count: int) -> None:
        """Count passes over the rows, if they are counted."""
        if self.progress is not None:
            self.progress.count(count)

    @np.errstate(all="ignore")
    def scores(self, w: Floats) -> tuple[Floats, float]:
        """Compute all signed scores, and an upper bound on their rounding errors.

        The weights are those of the projected rows, or those of all columns, pivots included; each
        is rounded once. Rows that are left out get infinity. Entries of scaled rows are at most 1,
        so √D bounds their length. Underflow is multiplied by the factors of the rows.
        """
        self.deadline.check()
        self.count_passes(1)
        if self.quotient is not None and len(w) < len(self.columns):
            free, w = w, np.empty(len(self.columns))
            w[self.quotient.others] = free
            w[self.quotient.pivots] = -self.quotient.floats @ free
        s, largest = self.examples.signed_scores(w * self.columns), 1.0
        if self.factors is not None:
            s *= self.factors
            largest = self.factors.max()
        if self.alive is not None:
            s[~self.alive] = np.inf
        size = np.sqrt(len(w)) * np.sqrt(w @ w)
        lost = max(2.0**-900, len(w) * 2.0**-1070 * largest)
        return s, float(4 * (len(w) + 3) * 2.0**-53 * size + lost)

    def _scores_of_fractions(self, w: Fractions) -> tuple[Floats, float, Any]:
        """Return float scores of exact weights, a bound on their rounding errors, their unit.

        The exact score of a row is about its float score times the unit.
        """
        whole = self.scaled_whole(w)
        unit = max(abs(v) for v in whole)
        return *self.scores(np.array([round_fraction(v / unit) for v in whole])), unit

    def find_below(self, w: Fractions, level: Any) -> Iterator[tuple[int, Any]]:
        """Yield rows whose score may be below `level`, with the exact score minus `level`.

        Rows whose score, in floats, is certainly above the level are left out.
        """
        s, bound, unit = self._scores_of_fractions(w)
        at = round_fraction(level / unit)
        near = np.flatnonzero(s <= at + bound + abs(at) * 2.0**-50)
        near = near[np.argsort(s[near])]
        column = flint.fmpq_mat(len(w), 1, w)
        for start in range(0, len(near), BATCH):
            rows = near[start : start + BATCH].tolist()
            for n, product in zip(rows, (self.exact(rows) * column).entries(), strict=True):
                yield n, product - level

    def find_vanishing(self, w: Fractions) -> Rows:
        """Return the rows whose score is 0 modulo three primes, so almost certainly 0."""
        s, bound, _ = self._scores_of_fractions(w)
        self.count_passes(1)
        near, whole = np.flatnonzero(np.abs(s) <= bound), self.to_integer_weights(w)
        if len(near) <= MANY:
            return near[zero_products(whole, self.examples, near, PRIMES)]
        firsts, places = group_equal_rows(self.examples, near)
        return near[zero_products(whole, self.examples, firsts, PRIMES)[places]]

    def separated_by(self, w: Fractions) -> bool:
        """Return whether w classifies every row correctly in exact arithmetic."""
        return all(excess > 0 for _, excess in self.find_below(w, flint.fmpq(0)))

    def take(self, rows: Rows) -> Any:
        """Return the listed rows as floats, after scaling and any projection; CSR if sparse."""
        signs = self.examples.y[rows].astype(np.float64)
        if self.factors is not None:
            signs *= self.factors[rows]
        Z, sparse = self.examples.augmented(rows), self.examples.is_sparse
        if sparse:
            Z.data *= self.columns[Z.indices]
            Z.data *= np.repeat(signs, np.diff(Z.indptr))
        else:
            Z *= self.columns
            Z *= signs[:, None]
        if self.quotient is None:
            return Z
        fill: Any = type(Z)(self.quotient.floats) if sparse else self.quotient.floats
        return Z[:, self.quotient.others] - Z[:, self.quotient.pivots] @ fill

    def exact(self, rows: Sequence[int]) -> flint.fmpq_mat:
        """Return the listed rows as exact fractions, after scaling and any projection."""
        Z, quotient = self.exact_whole(rows), self.quotient
        if quotient is None:
            return Z
        others, pivots = take_columns(Z, quotient.others), take_columns(Z, quotient.pivots)
        return others - pivots * quotient.fill if len(quotient.pivots) else others

    def exact_whole(self, rows: Sequence[int]) -> flint.fmpq_mat:
        """Return the listed rows as exact fractions, after scaling but before any projection."""
        self.deadline.check()
        index = np.asarray(rows, dtype=np.intp)
        X = self.examples.augmented_rows(index)
        whole, exponents = mantissas(X * self.examples.y[index, None])
        exponents += np.frexp(self.columns)[1] - 54
        if self.factors is not None:
            exponents += (np.frexp(self.factors[index])[1] - 1)[:, None]
        n, d = X.shape
        entries = [flint.fmpq(0)] * (n * d)
        at = np.flatnonzero(whole)  # dummy columns are mostly zero
        some = (at, whole.ravel()[at], exponents.ravel()[at])
        for i, m, e in zip(*(values.tolist() for values in some), strict=True):
            entries[i] = times_power(m, e)
        return flint.fmpq_mat(int(n), int(d), entries)

    def check_time(self, rows: Sequence[int], *, sides: int = 1, width: int = 1) -> None:
        """Raise OutOfTimeError if solving a linear system of these rows would pass the deadline.

        Solving cannot be interrupted, so its time is estimated from a few of the rows. Dixon's
        lifting finds 61 bits of the solution with each product of the k × k matrix and a vector:
        that product is timed. `sides` is the number of right-hand sides, and entries of the matrix
        are `width` times as long as those of the rows.
        """
        k = len(rows)
        if self.deadline.end == math.inf or k <= QUICK:
            return
        begun = now()
        Z, _ = self.exact(rows[:QUICK]).numer_denom()
        made = now() - begun
        vector = flint.fmpz_mat(Z.ncols(), 1, [PRIME] * Z.ncols())
        times = []
        for _ in range(3):
            begun = now()
            Z * vector
            times.append(now() - begun)
        product = min(times) * k / QUICK
        bits = width * (max(abs(v) for v in Z.entries()).bit_length() + math.log2(k) / 2)
        lifting = LIFTING * product * width * sides * (2 * k * bits / 61)
        self.deadline.check_step(HANDLING * made * k / QUICK + lifting)

    def scaled_whole(self, w: Sequence[flint.fmpq]) -> list[flint.fmpq]:
        """Convert weights for the projected rows to weights for the rows before the projection."""
        if self.quotient is None:
            return list(w)
        pivots, others = self.quotient.pivots.tolist(), self.quotient.others.tolist()
        whole = [flint.fmpq(0)] * len(self.columns)
        for j, v in zip(others, w, strict=True):
            whole[j] = v
        if pivots:
            filled = self.quotient.fill * flint.fmpq_mat(len(w), 1, list(w))
            for j, v in zip(pivots, filled.entries(), strict=True):
                whole[j] = -v
        return whole

    def to_integer_weights(self, w: Sequence[flint.fmpq]) -> Vector:
        """Convert weights for the scaled rows to integer weights for the data."""
        powers = (np.frexp(self.columns)[1] - 1).tolist()
        whole = self.scaled_whole(w)
        return clear_denominators(
            [v * times_power(1, e) for v, e in zip(whole, powers, strict=True)]
        )


def take_columns(Z: flint.fmpq_mat, columns: Rows) -> flint.fmpq_mat:
    """Return the columns of an exact matrix that are listed in `columns`."""
    entries = [row[j] for row in Z.tolist() for j in columns.tolist()]
    return flint.fmpq_mat(Z.nrows(), len(columns), entries)


def times_power(m: int, e: int) -> flint.fmpq:
    """Return the exact fraction m·2^e."""
    return flint.fmpq(m << e) if e >= 0 else flint.fmpq(m, 1 << -e)


def round_fraction(v: flint.fmpq) -> float:
    """Round a fraction to the nearest finite float."""
    try:
        return int(v.p) / int(v.q)
    except OverflowError:
        return sys.float_info.max if v > 0 else -sys.float_info.max


def to_integers(w: Floats) -> Vector:
    """Convert floats to integers, all multiplied by the same power of two."""
    return tuple(as_integers(w, smallest_exponent(w)))


def scale_near_one(w: Floats) -> Floats:
    """Scale weights by a power of two: the largest absolute value is then from 1/2 to 1."""
    return np.ldexp(w, -int(np.frexp(np.abs(w).max())[1]))


def least_margin(
    examples: Examples, weights: Vector, rows: Rows, shares: Floats | None = None
) -> float:
    """Compute the least signed distance of rows from a hyperplane, rounded down.

    The distance of each row is multiplied by its share, 1 by default.
    """
    if shares is None and len(rows) > MANY:
        rows = group_equal_rows(examples, rows)[0]
    unit = unit_of(examples.some(rows))
    products = exact_products(weights, examples, rows.tolist(), unit)
    if shares is None:
        p, q = min(products), 1
    else:
        least = min(a * Fraction(b) for a, b in zip(products, shares[rows].tolist(), strict=True))
        p, q = least.numerator, least.denominator
    width = root(p * p, q * q * sum(v * v for v in weights), unit - 53, up=p < 0)
    return width if p > 0 else -width


def relative_gap(margin: float, upper: float) -> float:
    """Return the relative gap between a margin and its upper bound, or 1 if unknown."""
    known = margin > 0 and 0 < upper < math.inf
    return max(0.0, 1.0 - margin / upper) if known else 1.0


@dataclass(frozen=True, eq=False)
class Alternative:
    """Either weights that separate all rows, or multipliers with which rows sum to zero."""

    weights: Fractions = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    multipliers: Fractions = field(default_factory=list)


def solve_multipliers(signed: SignedRows, rows: Sequence[int]) -> Alternative | None:
    """Find positive multipliers with which the rows sum to zero, or return None."""
    if len(rows) > signed.dimension + 1:
        return None
    signed.check_time(rows)
    Z = signed.exact(rows)
    with_ones = _prepend_ones(Z)
    equations = independent_columns(with_ones)
    if len(equations) < len(rows):
        return None
    table = with_ones.tolist()
    square = flint.fmpq_mat([[row[j] for row in table] for j in equations])
    wanted = flint.fmpq_mat(len(rows), 1, [int(j == 0) for j in equations])
    multipliers = solve_system(square, wanted)
    if any(m.p < 0 for m in multipliers.entries()):
        return None
    if (multipliers.transpose() * Z) != flint.fmpq_mat(1, Z.ncols()):
        return None
    pairs = [(int(n), m) for n, m in zip(rows, multipliers.entries(), strict=True) if m != 0]
    return Alternative(rows=[n for n, _ in pairs], multipliers=[m for _, m in pairs])


def solve_exactly(
    signed: SignedRows, rows: Sequence[int], multipliers: Floats, *, widest: bool = False
) -> Alternative | None:
    """Find weights that separate, or multipliers with which rows sum to zero, in exact fractions.

    This is Wolfe's algorithm for the minimum-norm point, which starts from the rows and multipliers
    of the float solver. In exact arithmetic the distance falls with each row that joins the active
    set, so no active set comes twice, and the algorithm ends. With `widest`, the weights have the
    widest margin. The result is None after too many steps.
    """
    signed.check_time(rows, width=2)
    keep = independent_columns(_prepend_ones(signed.exact(rows)).transpose())
    active = [int(rows[i]) for i in keep]
    Z, u = signed.exact(active).tolist(), to_fractions(multipliers[keep])
    for _ in range(EXACT_STEPS):
        u = _adjust_exactly(signed, active, Z, u)
        height = 1 - sum(u, flint.fmpq(0))
        if height == 0:
            return Alternative(rows=active, multipliers=u)
        w = (flint.fmpq_mat(1, len(u), u) * flint.fmpq_mat(Z)).entries()
        # Take the first row, by score in floats, that is too low exactly. Without `widest`, a score
        # of 0 is too low.
        excesses = signed.find_below(w, height if widest else flint.fmpq(0))
        low = ((n, e) for n, e in excesses if n not in active)
        n = next((n for n, e in low if e < 0 or (e == 0 and not widest)), None)
        if n is None:
            return Alternative(weights=w, rows=active, multipliers=u)
        active.append(n)
        Z.extend(signed.exact([n]).tolist())
        u.append(flint.fmpq(0))
    return None


def _adjust_exactly(
    signed: SignedRows, active: list[int], Z: list[Fractions], u: Fractions
) -> Fractions:
    """Return the multipliers of the minimum-norm point of the active rows Z.

    Rows whose multiplier reaches 0 are removed from both lists.
    """
    while True:
        signed.deadline.check()
        signed.check_time(active, width=2)
        with_ones, k = _prepend_ones(flint.fmpq_mat(Z)), len(active)
        ones = flint.fmpq_mat(k, 1, [1] * k)
        best = list(solve_system(with_ones * with_ones.transpose(), ones).entries())
        falling = [i for i, p in enumerate(best) if p <= 0]
        if not falling:
            return best
        steps = {i: u[i] / (u[i] - best[i]) if u[i] != 0 else 0 for i in falling}
        step = min(steps.values())
        u = [v + step * (p - v) for v, p in zip(u, best, strict=True)]
        for i in reversed(falling):
            if steps[i] == step:
                del u[i], active[i], Z[i]


def to_fractions(floats: Floats) -> Fractions:
    """Convert floats to exact fractions."""
    return [flint.fmpq(*v.as_integer_ratio()) for v in floats.tolist()]


def clear_denominators(fractions: Sequence[Any]) -> Vector:
    """Scale fractions to integers without a common factor."""
    common = math.lcm(*(int(v.q) for v in fractions))
    whole = [int(v.p) * (common // int(v.q)) for v in fractions]
    divisor = math.gcd(*whole) or 1
    return tuple(v // divisor for v in whole)


def solve_system(A: flint.fmpq_mat, b: flint.fmpq_mat) -> flint.fmpq_mat:
    """Solve A x = b exactly by Dixon's lifting, which is fast for 53-bit entries."""
    return A.solve(b, algorithm="dixon")  # type: ignore[call-arg]


def _prepend_ones(Z: flint.fmpq_mat) -> flint.fmpq_mat:
    return flint.fmpq_mat([[flint.fmpq(1), *row] for row in Z.tolist()])


def independent_columns(A: flint.fmpq_mat) -> list[int]:
    """Return the indices of the leftmost columns of A that are independent modulo a prime."""
    numerators, _ = A.numer_denom()
    reduced, rank = flint.nmod_mat(numerators, PRIME).rref()
    table = reduced.tolist()
    return [next(j for j, v in enumerate(table[i]) if int(v)) for i in range(rank)]
