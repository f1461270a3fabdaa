"""The data as the integers that floats are, and rows that are equal in all of them.

A float is an integer times a power of two, so rows can be taken exactly in a common unit. A code
of each row, made of the bits of its numbers, ties a proof to the data and finds equal rows.
Floats settle the signs of products whose rounding error is provably too small to matter, and no
others.
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
from rosenblatt.tables import numbers_in, refuse_non_finite

BATCH = 2**16  # numbers in a batch of rows: they stay in the cache
PRIMES = (2**31 - 1, 2**31 - 19, 2**31 - 61)  # a remainder's square fits in 64 bits
MANY = 64  # rows of a block that are settled faster modulo primes than one by one
EXACT = 2.0**53  # whole numbers below it are floats
MANY_ROWS = 2**18
KIND = 0.05  # of the rows that are left: so many equal ones are taken out at once
AT_ONCE = 2**18  # rows whose kinds are looked for: arrays of so many are not made anew each time
FEW_PAIRS = 8  # of alike rows with different answers that are told
MOST_PAIRS = 2**15  # of alike rows with different answers in a proof: to check more takes long
USUAL_BITS = 64  # by which exponents of numbers differ at most as a rule
HALF = np.uint64(32)

Total = tuple[list[int], int]  # a number for each column, and their unit
Codes = NDArray[np.uint64]
Rows = NDArray[np.intp]


def dimension_of(examples: Examples) -> int:
    """The length of a tall row."""
    return examples.d + bool(examples.x0)


def merged(examples: Examples) -> Examples:
    """The examples with entries of a CSR matrix that are stored twice added up."""
    if not examples.is_sparse or examples.X.has_canonical_format:
        return examples
    X = examples.X.copy()
    X.sum_duplicates()
    refuse_non_finite(X, examples.names)
    return replace(examples, X=X)


def batches(examples: Examples) -> Iterator[tuple[int, Any, NDArray[np.int8]]]:
    """All rows as float64, some at a time, with the number of the first and their answers."""
    for rows in parted(examples, range(examples.n)):
        some = slice(rows[0], rows[-1] + 1)
        yield rows[0], examples.X[some].astype(np.float64, copy=False), examples.y[some]


def parted(examples: Examples, rows: Any) -> Iterator[Any]:
    """Some rows by their numbers, so many at a time that they stay in the cache."""
    step = max(1, BATCH // max(1, examples.entries_per_row))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


def integer_entries(
    examples: Examples, rows: Sequence[int], unit: int | None = None
) -> Iterator[tuple[int, int, int]]:
    """The numbers of rows z_n that are not zero: place of the row, column, and the integer.

    All are in one unit: 2^(unit - 53), or one that suits them.
    """
    index = np.asarray(rows, dtype=np.intp)
    X, y, x0 = examples.X[index], examples.y[index], examples.x0
    if isinstance(X, np.ndarray):
        at, columns = np.nonzero(X)
        numbers = X[at, columns]
    else:
        at, columns = np.repeat(np.arange(len(index)), np.diff(X.indptr)), X.indices
        numbers = X.data
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
    """Rows z_n as integers, all in one unit."""
    table = [[0] * dimension_of(examples) for _ in rows]
    for i, j, a in integer_entries(examples, rows, unit):
        table[i][j] = a
    return table


def as_integers(numbers: NDArray[np.float64], unit: int) -> list[int]:
    """Floats as integers in the unit 2^(unit - 53), in which they must be integers."""
    if not np.isfinite(numbers).all():  # a cast would make an integer of infinity, too
        raise ValueError("NaN and infinity are no fractions: nothing is proved about them.")
    whole, exponents = mantissas(numbers)
    shifts = (exponents - unit).tolist()
    return [m << s if m else 0 for m, s in zip(whole.tolist(), shifts, strict=True)]


def mantissas(numbers: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Floats as integers m of 53 bits and exponents e, which m·2^(e - 53) gives back."""
    fractions, exponents = np.frexp(numbers)
    return np.ldexp(fractions, 53).astype(np.int64), exponents


def smallest_exponent(numbers: NDArray[np.float64]) -> int:
    """The largest unit in which all of these numbers are integers."""
    return int(np.frexp(numbers[numbers != 0])[1].min(initial=2000))


def unit_of(examples: Examples) -> int:
    """The largest unit in which every number of the data is an integer."""
    numbers = (numbers_in(X) for _, X, _ in batches(examples))
    constant = smallest_exponent(np.array([examples.x0]))
    return min([constant, *map(smallest_exponent, numbers)])


def soon_done(examples: Examples, most: int) -> bool:
    """Return whether exact work on so few numbers takes no time.

    Where exponents are far apart the integers are long, and the time grows with their square.
    """
    numbers = len(examples.kept) * dimension_of(examples)
    if not 0 < numbers <= most:
        return False
    largest = max(examples.largest, abs(examples.x0))
    spread = math.frexp(largest)[1] - unit_of(examples)
    return numbers * max(1, spread // USUAL_BITS) ** 2 <= most


def exact_products(
    weights: Sequence[int], examples: Examples, rows: Sequence[int], unit: int | None = None
) -> Iterator[int]:
    """w·z_n of some rows in a unit, or each times some positive number."""
    for some in parted(examples, rows):
        products = [0] * len(some)
        for i, j, a in integer_entries(examples, some, unit):
            products[i] += weights[j] * a
        yield from products


def product_signs(
    weights: Sequence[int], examples: Examples
) -> Iterator[tuple[int, NDArray[np.int8]]]:
    """The sign of every w·z_n, for some rows after others, each time with the first's number.

    Floats settle most rows, integers the rest.
    """
    most = max(map(abs, weights))
    w = np.array([v / (1 << most.bit_length()) for v in weights])  # up to 1, each rounded once
    for start, X, y in batches(examples):
        s, settled = _settled(X, y, w, examples.x0, most)
        if settled.all():
            yield start, np.sign(s).astype(np.int8)
            continue
        signs = np.sign(np.where(settled, s, 0.0)).astype(np.int8)
        doubtful = np.flatnonzero(~settled)
        if len(doubtful) >= MANY:  # most of them are zero, then
            primes = primes_enough(weights, examples, start + doubtful)
            doubtful = doubtful[~zero_products(weights, examples, start + doubtful, primes)]
        products = exact_products(weights, examples, (start + doubtful).tolist())
        signs[doubtful] = [(v > 0) - (v < 0) for v in products]
        yield start, signs


def _settled(
    X: Any, y: NDArray[np.int8], w: NDArray[np.float64], x0: float, most: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """w·z of rows in floats, and of which of them the sign is right whatever rounding did.

    D products of weights that were rounded once, summed in any order, are off by at most
    (D + 2)·u·Σ|w||x|, which (D + 2)·u·‖w‖·‖block‖ bounds; four times that covers the rounding
    of the bound. 2^-900 is far above what products, and 2^-1022 what weights, lose below the
    smallest float. Where a number overflows the comparison is false, and integers decide.
    """
    share = 4 * (len(w) + 2) * 2.0**-53
    numbers = numbers_in(X)
    with np.errstate(all="ignore"):
        s = y * _scores(X, w, x0)
        if _never_rounded(numbers, x0, most * len(w)):
            return s, np.ones(len(s), dtype=bool)
        square = float(np.einsum("i,i->", numbers, numbers))
        length = math.sqrt(np.einsum("i,i->", w, w)) * math.sqrt(square + x0 * x0)
        least = share * length + 2.0**-900
        settled: NDArray[np.bool_] = s > least
        if not settled.all():
            settled |= s < -least
            near = np.flatnonzero(~settled & (s != 0))
            sizes = _scores(abs(X[near]), np.abs(w) + 2.0**-1022, abs(x0))
            settled[near] = np.abs(s[near]) > share * sizes + 2.0**-900
    return s, settled


def _never_rounded(numbers: NDArray[np.float64], x0: float, most: int) -> bool:
    """Whether all numbers are whole, and so small that floats hold every sum of products."""
    if most >= EXACT:
        return False
    largest = max(float(np.abs(numbers).max(initial=0.0)), abs(x0))
    whole = x0 == np.rint(x0) and most * largest < EXACT
    return bool(whole and (numbers == np.rint(numbers)).all())


def _scores(X: Any, w: NDArray[np.float64], x0: float) -> NDArray[np.float64]:
    features = w[1:] if x0 else w
    # einsum, unlike @, starts no threads: blocks are too small for them.
    s = np.einsum("ij,j->i", X, features) if isinstance(X, np.ndarray) else X @ features
    return np.asarray(s + w[0] * x0 if x0 else s)


def combined(multipliers: Sequence[int], examples: Examples, rows: Any, unit: int) -> list[int]:
    """Σ λ z of some rows, in a unit."""
    import flint

    # Multipliers are long where columns are many, and flint's integers are the faster ones.
    long, sums, done = [*map(flint.fmpz, multipliers)], [flint.fmpz(0)] * dimension_of(examples), 0
    for some in parted(examples, rows):
        for i, j, a in integer_entries(examples, some, unit):
            sums[j] += long[done + i] * a
        done += len(some)
    return [int(s) for s in sums]


def sum_of_rows(examples: Examples, without: Any = ()) -> Total:
    """The sum of every column of Z but for some rows, and the unit it is in.

    Whole digits of equal weight are added at once.
    """
    if len(without):
        y = examples.y.copy()
        y[without] = 0
        examples = replace(examples, y=y)
    sums, x0, unit = [0] * dimension_of(examples), examples.x0, unit_of(examples)
    for _, X, y in batches(examples):
        if isinstance(X, np.ndarray):
            numbers = np.asarray(X * y[:, None], dtype=np.float64).ravel()
            columns = np.tile(np.arange(X.shape[1]), len(X))
        else:
            numbers, columns = X.data * np.repeat(y, np.diff(X.indptr)), X.indices
        for j, total in _sums_by_column(numbers, columns, unit):
            sums[j + bool(x0)] += total
        if x0:
            sums[0] += as_integers(np.array([x0]), unit)[0] * int(y.sum(dtype=np.int64))
    return sums, unit


def added(totals: Sequence[Total]) -> Total:
    """Sums in units of their own, added up in the smallest unit."""
    unit = min(total[1] for total in totals)
    columns = zip(*([v << (u - unit) for v in sums] for sums, u in totals), strict=True)
    return [sum(column) for column in columns], unit


def _sums_by_column(
    numbers: NDArray[np.float64], columns: NDArray[Any], unit: int
) -> Iterator[tuple[int, int]]:
    """The sum of the numbers of each column: halves of 53 digits never add up past 2^53."""
    whole, exponents = mantissas(numbers)
    keys = columns.astype(np.int64) * 4096 + (exponents + 2048)
    found, places = _numbered(keys)
    high = np.bincount(places, weights=whole >> 26, minlength=len(found))
    low = np.bincount(places, weights=whole & (2**26 - 1), minlength=len(found))
    for key, a, b in zip(found.tolist(), high.tolist(), low.tolist(), strict=True):
        total = (int(a) << 26) + int(b)
        yield key >> 12, total << (key % 4096 - 2048 - unit) if total else 0


def _numbered(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different keys, and the place of each among them; those near one another are counted."""
    least = int(keys.min()) if len(keys) else 0
    if int(keys.max(initial=least)) - least > len(keys):
        found, places = np.unique(keys, return_inverse=True)
        return found, places
    found = np.flatnonzero(np.bincount(keys - least))
    numbers = np.zeros(int(found.max(initial=0)) + 1, dtype=np.int64)
    numbers[found] = np.arange(len(found))
    return found + least, numbers[keys - least]


def zero_products(
    weights: Sequence[int], examples: Examples, rows: Rows, primes: Sequence[int]
) -> NDArray[np.bool_]:
    """Which of some rows have w·z = 0 modulo every one of some primes below 2^31."""
    some = [_zero_modulo(weights, examples, part, primes) for part in parted(examples, rows)]
    return np.concatenate(some) if some else np.zeros(0, dtype=bool)


def _zero_modulo(
    weights: Sequence[int], examples: Examples, rows: Rows, primes: Sequence[int]
) -> NDArray[np.bool_]:
    X, x0 = examples.X[rows], examples.x0
    numbers = (X if isinstance(X, np.ndarray) else X.data).astype(np.float64)
    columns = np.arange(X.shape[1]) if isinstance(X, np.ndarray) else X.indices
    whole, exponents = mantissas(numbers)
    unit = min(smallest_exponent(numbers), smallest_exponent(np.array([x0])))
    shifts = np.maximum(exponents - unit, 0)  # a zero has no exponent of its own
    constant = as_integers(np.array([x0]), unit)[0] * weights[0] if x0 else 0
    zero = np.ones(len(rows), dtype=bool)
    for p in primes:
        powers = np.array([pow(2, e, p) for e in range(int(shifts.max(initial=0)) + 1)])
        w = np.array([v % p for v in (weights[1:] if x0 else weights)])
        terms = whole % p * powers[shifts] % p * w[columns] % p
        if not isinstance(X, np.ndarray):
            terms = type(X)((terms, X.indices, X.indptr), X.shape)
        zero &= (np.asarray(terms.sum(axis=1)).ravel() + constant % p) % p == 0
    return zero


def primes_enough(weights: Sequence[int], examples: Examples, rows: Rows) -> tuple[int, ...]:
    """Primes whose product is above any |w·z| of some rows: zero modulo all of them is zero."""
    numbers = np.append(numbers_in(examples.X[rows]), examples.x0)
    spread = int(np.frexp(np.abs(numbers).max())[1]) - smallest_exponent(numbers)
    size = max(map(abs, weights)).bit_length() + len(weights).bit_length()
    return _primes((54 + max(spread, 0) + size) // 30 + 1)


@functools.cache
def _primes(count: int) -> tuple[int, ...]:
    """The largest primes below 2^31."""
    import flint

    odd = range(2**31 - 1, 0, -2)
    return tuple(islice((p for p in odd if flint.fmpz(p).is_prime()), count))


def not_below(length: float, unit: float) -> float:
    """A length in some unit as a plain float; where floats are few or end, the next one above."""
    plain = float(length) * unit
    return plain if plain / unit >= length else math.nextafter(plain, math.inf)


def root(p: int, q: int, exponent: int, *, up: bool = False) -> float:
    """√(p/q)·2^exponent as the next float that is not above it, or not below."""
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
    """A lower bound on the rank over the rationals, nearly always exact: ranks modulo primes."""
    import flint

    table = flint.fmpz_mat(rows)
    return max(flint.nmod_mat(table, prime).rank() for prime in PRIMES)


def row_codes(examples: Examples) -> Codes:
    """A 64-bit code of each row: the bits of its numbers times odd constants, summed.

    Zeros add nothing, so dense and CSR agree; a change of one number always changes the code.
    They are made once for the same examples.
    """
    known = _codes.get(examples)
    if known is None:
        known = _codes[examples] = _row_codes(examples)
    return known


_codes: WeakKeyDictionary[Examples, Codes] = WeakKeyDictionary()


def _row_codes(examples: Examples) -> Codes:
    codes = np.zeros(examples.n, dtype=np.uint64)
    odd = _odd_constants(examples.d)
    if examples.is_sparse:
        for start, X, _ in batches(examples):
            stored = np.flatnonzero(np.diff(X.indptr))
            bits = (X.data + 0.0).view(np.uint64)  # adding 0.0 turns -0.0 into 0.0
            terms = (bits ^ (bits >> HALF)) * odd[X.indices]
            if len(stored):
                codes[start + stored] = np.add.reduceat(terms, X.indptr[stored])
        return codes

    X = examples.X.view()
    X.flags.writeable = False  # one compilation serves all

    def part(rows: slice) -> None:
        with np.errstate(over="ignore"):  # codes are taken modulo 2^64
            add_up_bits(X[rows], odd, codes[rows])

    in_threads(part, examples.n, X.size)
    return codes


def codes_of_bits(X, odd, codes):  # type: ignore[no-untyped-def]
    """codes[n] = the bits of row n, folded, times odd constants; adding 0.0 turns -0.0 into 0."""
    for n in range(len(codes)):
        for j in range(len(odd)):
            b = np.float64(X[n, j] + 0.0).view(np.uint64)
            codes[n] += (b ^ (b >> HALF)) * odd[j]


add_up_bits = Kernel(codes_of_bits, work=one_pass)


def contradictions_of(examples: Examples) -> list[tuple[int, int]]:
    """A few pairs of rows that are alike in every number and have different answers.

    Not looked for among very many rows, where sorting codes takes longer than deciding.
    """
    if examples.n > MANY_ROWS:
        return []
    codes = row_codes(examples)
    ordered = np.sort(codes)
    if not (ordered[1:] == ordered[:-1]).any():
        return []
    firsts = ((int(yes[0]), int(no[0])) for yes, no in contradictions(examples, codes))
    return sorted((min(pair), max(pair)) for pair in firsts)[:FEW_PAIRS]


def contradictions(
    examples: Examples, codes: Codes, rows: Rows | None = None
) -> Iterator[tuple[Rows, Rows]]:
    """Rows that are alike in every number and have both answers: those of yes, those of no.

    All rows are looked at, or those that are given. Codes may be the same by chance: the rows
    themselves are compared.
    """
    rows = np.arange(examples.n) if rows is None else rows
    rows = rows[np.argsort(codes[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(codes[rows], prepend=~codes[rows[:1]]))
    yes = np.add.reduceat(examples.y[rows] > 0, starts, dtype=np.intp)
    sizes = np.diff(starts, append=len(rows))
    for k in np.flatnonzero((yes > 0) & (yes < sizes)).tolist():
        group = rows[starts[k] : starts[k] + sizes[k]]
        alike = group[same_numbers(examples, group, np.broadcast_to(group[:1], len(group)))]
        positive = examples.y[alike] > 0
        yeses, noes = alike[positive], alike[~positive]
        if len(yeses) and len(noes):
            yield yeses, noes


def paired(yes: Rows, no: Rows, most: int) -> Iterator[tuple[int, int]]:
    """Pairs of a row of either side, in turn, the lower number first; no more than so many."""
    for a, b in zip(yes[:most].tolist(), no[:most].tolist(), strict=False):
        yield min(a, b), max(a, b)


def same_numbers(examples: Examples, rows: Rows, models: Rows) -> NDArray[np.bool_]:
    """Which of some rows have every number of another row each."""
    X = examples.X
    pairs = zip(parted(examples, rows), parted(examples, models), strict=True)
    some = [np.asarray((X[a] != X[b]).sum(axis=1)).ravel() == 0 for a, b in pairs]
    return np.concatenate(some)


def distinct(examples: Examples, rows: Rows) -> Rows:
    """Some rows without those that others are equal to, in every number and in the answer."""
    if len(rows) > AT_ONCE:
        parts = [rows[i : i + AT_ONCE] for i in range(0, len(rows), AT_ONCE)]
        rows = np.concatenate([kinds(examples, part)[0] for part in parts])
        rows.sort()
    firsts, places = kinds(examples, rows)
    lone = np.bincount(places, minlength=len(firsts)) == 1
    return np.sort(np.concatenate((firsts[~lone], _sorted_out(examples, firsts[lone]))))


def kinds(examples: Examples, rows: Rows) -> tuple[Rows, Rows]:
    """One row of each kind that very many of some rows are of, and which of these each row is.

    Rows of a kind are equal in every number and in the answer. Rows that few are equal to are
    kinds of their own: nothing is sorted.
    """
    codes = _signed_codes(examples, rows)
    places, left = np.zeros(len(rows), dtype=np.intp), np.arange(len(rows))
    firsts: list[int] = []
    while len(left):
        first = rows[left[:1]]
        same = codes[left] == codes[left[0]]
        group = rows[left[same]]
        alike = same_numbers(examples, group, np.broadcast_to(first, len(group)))
        same[same] = alike & (examples.y[group] == examples.y[first])
        if np.count_nonzero(same) < KIND * len(left):
            break
        places[left[same]] = len(firsts)
        firsts.append(int(first[0]))
        left = left[~same]
    places[left] = len(firsts) + np.arange(len(left))
    return np.concatenate((np.array(firsts, dtype=np.intp), rows[left])), places


def _signed_codes(examples: Examples, rows: Rows) -> Codes:
    """Codes of some rows that tell answers apart, too."""
    X, y = examples.X[rows], examples.y[rows]
    codes = row_codes(replace(examples, X=X, y=y, weights=None))
    return codes ^ (y > 0).astype(np.uint64)


def _sorted_out(examples: Examples, rows: Rows) -> Rows:
    """Some rows without those that others are equal to, by sorting their codes."""
    if len(rows) == 0:
        return rows
    codes = _signed_codes(examples, rows)
    _, firsts, places = np.unique(codes, return_index=True, return_inverse=True)
    models = rows[firsts[places]]
    same = same_numbers(examples, rows, models) & (examples.y[rows] == examples.y[models])
    return np.concatenate((rows[firsts], rows[~same]))  # codes may be the same by chance


@functools.lru_cache(maxsize=8)
def _odd_constants(count: int) -> Codes:
    """The steps of splitmix64, made odd so that multiplication loses nothing."""
    z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) | np.uint64(1)
