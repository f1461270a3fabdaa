"""Exact integer arithmetic on the rows of the data, and the search for equal rows.

A float is an integer times a power of two, so rows are exact in a common unit. A hash code of each
row, made of the bits of its numbers, ties a proof to the data and finds equal rows. Floats decide
the sign of a product only where its rounding error is provably too small to matter.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine import Kernel, in_threads, one_pass
from rosenblatt.examples import Examples
from rosenblatt.tables import list_entries, numbers_in, score_rows

PRIMES = (2**31 - 1, 2**31 - 19, 2**31 - 61)  # the square of a remainder fits into 64 bits
MANY = 64  # from this many undecided rows of a batch on, primes are tried first
EXACT = 2.0**53  # all integers below this are exact as floats
USUAL_BITS = 64  # exponents of the numbers in a table seldom differ by more
HALF = np.uint64(32)

Total = tuple[list[int], int]  # one number per column, and their unit
Codes = NDArray[np.uint64]
Rows = NDArray[np.intp]


def integer_entries(
    examples: Examples, rows: Sequence[int], unit: int | None = None
) -> Iterator[tuple[int, int, int]]:
    """Yield the nonzero entries of signed rows as (index in `rows`, column, integer).

    The integers count multiples of 2^(unit - 53), by default of the smallest unit that they need.
    """
    index = np.asarray(rows, dtype=np.intp)
    X, y, x0 = examples.X[index], examples.y[index], examples.x0
    at, columns, numbers = list_entries(X)
    if x0:
        at = np.concatenate((np.arange(len(index)), at))
        columns = np.concatenate((np.zeros(len(index), dtype=np.intp), columns + 1))
        numbers = np.concatenate((np.full(len(index), x0), numbers))
    signed = numbers.astype(np.float64) * y[at]
    whole = as_integers(signed, smallest_exponent(signed) if unit is None else unit)
    return zip(at.tolist(), columns.tolist(), whole, strict=True)


def integer_rows(
    examples: Examples, rows: Sequence[int], unit: int | None = None
) -> list[list[int]]:
    """Return signed rows y·x as lists of integers: multiples of one common power of two."""
    table = [[0] * examples.dimension for _ in rows]
    for i, j, a in integer_entries(examples, rows, unit):
        table[i][j] = a
    return table


def as_integers(numbers: NDArray[np.float64], unit: int) -> list[int]:
    """Divide floats by 2^(unit - 53), and return the quotients, which must be integers."""
    if not np.isfinite(numbers).all():  # a cast would make an integer of infinity, too
        raise ValueError("all numbers must be finite: nothing can be proved about NaN or infinity.")
    whole, exponents = mantissas(numbers)
    shifts = (exponents - unit).tolist()
    pairs = zip(whole.tolist(), shifts, strict=True)
    return [(m << s if s >= 0 else m >> -s) if m else 0 for m, s in pairs]


def mantissas(numbers: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Split floats into 53-bit integers m and exponents e: each float is m·2^(e - 53)."""
    fractions, exponents = np.frexp(numbers)
    return np.ldexp(fractions, 53).astype(np.int64), exponents


def smallest_exponent(numbers: NDArray[np.float64]) -> int:
    """Return an exponent e such that all entries of an array are multiples of 2^(e - 53)."""
    return int(np.frexp(numbers[numbers != 0])[1].min(initial=2000))


def unit_of(examples: Examples) -> int:
    """Return an exponent e such that x0 and all features are multiples of 2^(e - 53)."""
    numbers = (numbers_in(X) for _, X, _ in examples.batches())
    constant = smallest_exponent(np.array([examples.x0]))
    return min([constant, *map(smallest_exponent, numbers)])


def is_quick(examples: Examples, most: int) -> bool:
    """Return whether exact arithmetic on the data is fast: few numbers of similar magnitude.

    Integers are long where exponents differ much, and the time grows with the square of the length.
    """
    numbers = len(examples.kept) * examples.dimension
    if not 0 < numbers <= most:
        return False
    largest = max(examples.largest, abs(examples.x0))
    spread = math.frexp(largest)[1] - unit_of(examples)
    return numbers * max(1, spread // USUAL_BITS) ** 2 <= most


def exact_products(
    weights: Sequence[int], examples: Examples, rows: Sequence[int], unit: int | None = None
) -> Iterator[int]:
    """Yield the exact signed scores y·(w·x) of the rows listed in `rows`, as integers.

    They are in the given unit; without one, only their signs can be compared.
    """
    for some in examples.split(rows):
        products = [0] * len(some)
        for i, j, a in integer_entries(examples, some, unit):
            products[i] += weights[j] * a
        yield from products


def product_signs(
    weights: Sequence[int], examples: Examples
) -> Iterator[tuple[int, NDArray[np.int8]]]:
    """Yield the exact signs of all signed scores y·(w·x), batch by batch.

    Each batch comes with the number of its first row. Floats decide most rows, integers the rest.
    """
    weights, examples = _drop_zero_weights(weights, examples)
    most = max(map(abs, weights))
    w = np.array([v / (1 << most.bit_length()) for v in weights])  # up to 1, each rounded once
    for start, X, y in examples.batches():
        s, certain = _filter_signs(X, y, w, examples.x0, most)
        if certain.all():
            yield start, np.sign(s).astype(np.int8)
            continue
        signs = np.sign(np.where(certain, s, 0.0)).astype(np.int8)
        undecided = np.flatnonzero(~certain)
        if len(undecided) >= MANY:  # where many are undecided, most products are zero
            primes = choose_primes(weights, examples, start + undecided)
            undecided = undecided[~zero_products(weights, examples, start + undecided, primes)]
        products = exact_products(weights, examples, (start + undecided).tolist())
        signs[undecided] = [(v > 0) - (v < 0) for v in products]
        yield start, signs


def _drop_zero_weights(
    weights: Sequence[int], examples: Examples
) -> tuple[Sequence[int], Examples]:
    """Drop the columns of weight 0 from a dense table if half or more of the weights are 0."""
    first = int(bool(examples.x0))
    used = [j for j, v in enumerate(weights[first:]) if v]
    X = examples.X
    if examples.is_sparse or not 0 < 2 * len(used) <= examples.d:
        return weights, examples
    some = replace(examples, X=np.ascontiguousarray(X[:, used]), names=None)
    return [*weights[:first], *(weights[first + j] for j in used)], some


def _filter_signs(
    X: Any, y: NDArray[np.int8], w: NDArray[np.float64], x0: float, most: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Compute signed scores in floats, and a mask of those whose sign is safe from rounding.

    D products of weights that were rounded once, summed in any order, are off by at most
    (D + 2)·u·Σ|w||x|, which (D + 2)·u·‖w‖·‖block‖ bounds; four times that covers the rounding
    of the bound. 2^-900 is far above the underflow of products, and 2^-1022 that of weights. Where
    a number overflows, the comparison is false, and integers decide.
    """
    share = 4 * (len(w) + 2) * 2.0**-53
    numbers, first = numbers_in(X), int(bool(x0))
    with np.errstate(all="ignore"):
        s = y * (score_rows(X, w[first:]) + w[0] * x0)  # without threads: blocks are small
        if most * len(w) < EXACT:  # float sums of products of small integers are exact
            largest = max(float(np.abs(numbers).max(initial=0.0)), abs(x0))
            whole = x0 == np.rint(x0) and most * len(w) * largest < EXACT
            if whole and (numbers == np.rint(numbers)).all():
                return s, np.ones(len(s), dtype=bool)
        square = float(np.einsum("i,i->", numbers, numbers))
        length = math.sqrt(np.einsum("i,i->", w, w)) * math.sqrt(square + x0 * x0)
        least = share * length + 2.0**-900
        certain: NDArray[np.bool_] = s > least
        if not certain.all():
            certain |= s < -least
            near = np.flatnonzero(~certain & (s != 0))
            sizes = np.abs(w) + 2.0**-1022
            sizes = score_rows(abs(X[near]), sizes[first:]) + sizes[0] * abs(x0)
            certain[near] = np.abs(s[near]) > share * sizes + 2.0**-900
    return s, certain


def sum_multiples(
    multipliers: Sequence[int], examples: Examples, rows: Any, unit: int
) -> list[int]:
    """Sum multiples of signed rows y·x exactly, as integers in units of 2^(unit - 53)."""
    import flint

    # With many columns, multipliers are long, and flint's integers are faster than Python's.
    long, sums, done = [*map(flint.fmpz, multipliers)], [flint.fmpz(0)] * examples.dimension, 0
    for some in examples.split(rows):
        for i, j, a in integer_entries(examples, some, unit):
            sums[j] += long[done + i] * a
        done += len(some)
    return [int(s) for s in sums]


def sum_of_rows(examples: Examples, first: int = 0, *, without: Any = ()) -> Total:
    """Sum all signed rows y·x of a block exactly, leaving out the row numbers `without`.

    `first` is the number of the first row.
    """
    examples = examples.merged()
    if len(without):
        y, numbers = examples.y.copy(), np.asarray(without, dtype=np.intp)
        y[numbers[(numbers >= first) & (numbers < first + examples.n)] - first] = 0
        examples = replace(examples, y=y)
    sums, x0, unit = [0] * examples.dimension, examples.x0, unit_of(examples)
    for _, X, y in examples.batches():
        whole = _sum_columns(X, y, unit)
        constant = [as_integers(np.array([x0]), unit)[0] * int(y.sum(dtype=np.int64))] if x0 else []
        sums = [s + v for s, v in zip(sums, constant + whole, strict=True)]
    return sums, unit


def add_totals(totals: Sequence[Total]) -> Total:
    """Add up column sums in different units (powers of two); convert to the smallest unit."""
    unit = min(total[1] for total in totals)
    columns = zip(*([v << (u - unit) for v in sums] for sums, u in totals), strict=True)
    return [sum(column) for column in columns], unit


def _sum_columns(X: Any, y: NDArray[np.int8], unit: int) -> list[int]:
    """Sum the columns of signed rows y·x exactly, as integers in units of 2^(unit - 53).

    Adding and subtracting a large power of two splits off the leading bits of every number, so
    few that float sums of them are exact. The rest is split again.
    """
    dense = isinstance(X, np.ndarray)
    numbers = X * y[:, None] if dense else X.data * np.repeat(y, np.diff(X.indptr))
    sums, groups = [0] * X.shape[1], [(numbers, 0)]
    if np.abs(numbers).max(initial=0.0) >= 2.0**900:  # the power of two might overflow
        large = np.abs(numbers) >= 1.0
        groups = [(np.where(large, numbers, 0.0) * 2.0**-200, 200), (numbers * ~large, 0)]
    for numbers, halvings in groups:
        while numbers.any():
            largest = max(numbers.max(), -numbers.min())
            power = math.ldexp(1.0, int(np.frexp(largest)[1]) + len(y).bit_length())
            leading = (numbers + power) - power
            numbers = numbers - leading
            if dense:
                totals = leading.sum(axis=0)
            else:
                totals = np.bincount(X.indices, weights=leading, minlength=len(sums))
            whole = as_integers(totals, unit - halvings)
            sums = [s + v for s, v in zip(sums, whole, strict=True)]
    return sums


def zero_products(
    weights: Sequence[int], examples: Examples, rows: Rows, primes: Sequence[int]
) -> NDArray[np.bool_]:
    """Return a mask of the rows whose score w·x is 0 modulo every prime in `primes`.

    The primes are below 2^31.
    """
    weights, examples = _drop_zero_weights(weights, examples)
    x0, zero = examples.x0, np.ones(len(rows), dtype=bool)
    features, done = weights[1:] if x0 else weights, 0
    for some in examples.split(rows):
        at, columns, numbers = list_entries(examples.X[some])
        numbers = numbers.astype(np.float64)
        whole, exponents = mantissas(numbers)
        unit = min(smallest_exponent(numbers), smallest_exponent(np.array([x0])))
        shifts = np.maximum(exponents - unit, 0)  # the exponent of a zero does not count
        constant = as_integers(np.array([x0]), unit)[0] * weights[0] if x0 else 0
        for p in primes:
            powers = np.array([pow(2, e, p) for e in range(int(shifts.max(initial=0)) + 1)])
            w = np.array([v % p for v in features])
            sums = np.full(len(some), constant % p, dtype=np.int64)
            np.add.at(sums, at, whole % p * powers[shifts] % p * w[columns] % p)
            zero[done : done + len(some)] &= sums % p == 0
        done += len(some)
    return zero


def choose_primes(weights: Sequence[int], examples: Examples, rows: Rows) -> tuple[int, ...]:
    """Choose primes whose product exceeds the absolute value of every integer score w·x.

    A score that is 0 modulo all of them is 0.
    """
    numbers = np.append(numbers_in(examples.X[rows]), examples.x0)
    spread = int(np.frexp(np.abs(numbers).max())[1]) - smallest_exponent(numbers)
    size = max(map(abs, weights)).bit_length() + len(weights).bit_length()
    return _primes((54 + max(spread, 0) + size) // 30 + 1)


@functools.cache
def _primes(count: int) -> tuple[int, ...]:
    import flint

    odd = range(2**31 - 1, 0, -2)
    return tuple(islice((p for p in odd if flint.fmpz(p).is_prime()), count))


def round_up_length(length: float, unit: float) -> float:
    """Multiply a row length by a power of two; round up if float64 underflows or overflows."""
    plain = float(length) * unit
    return plain if plain / unit >= length else math.nextafter(plain, math.inf)


def root(p: int, q: int, exponent: int, *, up: bool = False) -> float:
    """Return √(p/q)·2^exponent as a float, rounded down, or up if `up` is true."""
    shift = (q.bit_length() - p.bit_length() + 192) // 2 * 2
    whole, rest = divmod(p << max(shift, 0), q << max(-shift, 0))
    m = math.isqrt(whole)
    m += up and (rest > 0 or m * m < whole)
    e = exponent - shift // 2
    dropped = max(m.bit_length() - 53, -1074 - e, 0)
    kept = m >> dropped
    kept += up and kept << dropped < m
    try:
        return math.ldexp(kept, e + dropped)
    except OverflowError:
        return math.inf if up else sys.float_info.max


def rank_at_least(rows: Sequence[Sequence[int]]) -> int:
    """Return a lower bound on the rank of the rows: their rank modulo a few primes."""
    import flint

    table = flint.fmpz_mat(rows)
    return max(flint.nmod_mat(table, prime).rank() for prime in PRIMES)


def row_codes(examples: Examples) -> Codes:
    """Return a 64-bit hash code for each row, the same for equal rows.

    A code is the sum of the bits of all numbers times odd constants. Zeros add nothing, so dense
    and CSR rows agree; a change of one number always changes the code. The codes of the same
    examples are cached.
    """
    known = _codes.get(examples)
    if known is not None:
        return known
    codes, odd = np.zeros(examples.n, dtype=np.uint64), _odd_constants(examples.d)
    if examples.is_sparse:
        for start, X, _ in examples.batches():
            stored = np.flatnonzero(np.diff(X.indptr))
            bits = (X.data + 0.0).view(np.uint64)  # adding 0.0 turns -0.0 into 0.0
            terms = (bits ^ (bits >> HALF)) * odd[X.indices]
            if len(stored):
                codes[start + stored] = np.add.reduceat(terms, X.indptr[stored])
    else:
        table = examples.X.view()
        table.flags.writeable = False  # so that one compilation is enough for all arrays

        def part(rows: slice) -> None:
            with np.errstate(over="ignore"):  # codes are taken modulo 2^64
                add_up_bits(table[rows], odd, codes[rows])

        in_threads(part, examples.n, table.size)
    _codes[examples] = codes
    return codes


_codes: WeakKeyDictionary[Examples, Codes] = WeakKeyDictionary()


def codes_of_bits(X, odd, codes):  # type: ignore[no-untyped-def]
    """Add a hash code of each row n to codes[n], taking -0.0 as 0.0."""
    for n in range(len(codes)):
        for j in range(len(odd)):
            b = np.float64(X[n, j] + 0.0).view(np.uint64)
            codes[n] += (b ^ (b >> HALF)) * odd[j]


add_up_bits = Kernel(codes_of_bits, work=one_pass)


def contradictions(
    examples: Examples, rows: Rows | None = None, codes: Codes | None = None
) -> Iterator[tuple[Rows, Rows]]:
    """Yield (positive rows, negative rows) of each group of equal rows with both labels.

    All rows are searched, or those that are given. Hash codes may be the same by chance, so the
    rows themselves are compared.
    """
    rows = np.arange(examples.n) if rows is None else rows
    codes = (row_codes(examples) if codes is None else codes)[rows]
    order = np.argsort(codes, kind="stable")
    rows, codes = rows[order], codes[order]
    starts = np.flatnonzero(np.diff(codes, prepend=~codes[:1]))
    yes = np.add.reduceat(examples.y[rows] > 0, starts, dtype=np.intp)
    sizes = np.diff(starts, append=len(rows))
    for k in np.flatnonzero((yes > 0) & (yes < sizes)).tolist():
        group = rows[starts[k] : starts[k] + sizes[k]]
        alike = group[same_numbers(examples, group, np.broadcast_to(group[:1], len(group)))]
        positive = examples.y[alike] > 0
        if positive.any() and not positive.all():
            yield alike[positive], alike[~positive]


def same_numbers(examples: Examples, rows: Rows, models: Rows) -> NDArray[np.bool_]:
    """Return a mask: True at i if rows number rows[i] and models[i] have equal features."""
    X = examples.X
    pairs = zip(examples.split(rows), examples.split(models), strict=True)
    some = [np.asarray((X[a] != X[b]).sum(axis=1)).ravel() == 0 for a, b in pairs]
    return np.concatenate(some) if some else np.empty(0, dtype=np.bool_)


def group_equal_rows(
    examples: Examples, rows: Rows, codes: Codes | None = None
) -> tuple[Rows, NDArray[np.intp]]:
    """Group the rows that are equal in every number and in the label.

    Return the first row of each group, and the number of the group of each row.
    """
    codes = (row_codes(examples) if codes is None else codes)[rows]
    _, at, places, sizes = np.unique(
        codes ^ (examples.y[rows] > 0).astype(np.uint64),  # equal numbers have one code
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    others = np.flatnonzero(sizes[places] > 1)
    same = same_numbers(examples, rows[others], rows[at[places[others]]])
    same &= examples.y[rows[others]] == examples.y[rows[at[places[others]]]]
    lone = others[~same]  # codes may be the same by chance
    places[lone] = len(at) + np.arange(len(lone))
    return rows[np.append(at, lone)], places


@functools.lru_cache(maxsize=8)
def _odd_constants(count: int) -> Codes:
    """Return a pseudorandom odd 64-bit factor for each column, used in the hash codes."""
    z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) | np.uint64(1)
