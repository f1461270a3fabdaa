"""Exact null spaces of sparse matrices, by arithmetic modulo a prime.

A null vector of a matrix is found modulo a prime and then converted to integers. If all entries of
the vector in a row's columns but one are known, the row determines that entry: the row and the
column are a pivot. Where no row does, the entry of one more column is taken as known: that column
is free. Thus most columns of a design with fixed effects become pivots in linear time, without
fill-in. The rows that are left over become equations on the few free columns, a small dense
matrix. Dense columns are free from the start, so a dense matrix is eliminated in the usual way.

Pivots prove a rank, because in their order the matrix is triangular. The rank modulo a prime is
never above the true rank, and each integer vector that the matrix maps to zero shows that the true
rank is not higher.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rosenblatt.clock import NEVER, Deadline
from rosenblatt.engine import Kernel

PRIME = 2**31 - 1  # of all residues in this module
SMALL = 2**15  # largest entry of a null vector that is found modulo one prime
BATCH = 64  # rows in the first batch of equations on the free columns
AT_ONCE = 2**16  # rows that are multiplied at a time
DIGITS = 400  # maximum digits of an exact solution, to the base of the prime

Ints = NDArray[np.int64]


class Pivots(NamedTuple):
    """Linearly independent rows of a matrix, with the pivot columns found by elimination.

    The pairs of row and column are sorted: every other column of a row is free, or it is the pivot
    column of an earlier pair. The rows in `extra` have no pivot column.
    """

    rows: Ints
    columns: Ints
    extra: Ints  # independent rows without a column, found by dense elimination

    @property
    def rank(self) -> int:
        return len(self.rows) + len(self.extra)


class Elimination(NamedTuple):
    """Result of eliminating the rows of a matrix modulo the prime 2^31 - 1."""

    M: Any  # the matrix modulo the prime, as CSR
    powers: Ints  # exponents of the powers of two by which its columns were multiplied
    pivots: Pivots
    inverses: Ints  # inverses of the entries at the pivots
    free: Ints  # columns without a pivot
    equations: Ints  # equations of null vectors in the free columns, in reduced echelon form
    leads: Ints  # for each equation, the place of its leading unknown among the free columns


def residues(X: Any) -> tuple[Any, Ints]:
    """Convert a CSR matrix of floats to integers modulo the prime 2^31 - 1.

    Columns with fractions or large numbers are first multiplied by a power of two; the exponents
    are returned too.
    """
    is_whole = (X.data == np.rint(X.data)) & (np.abs(X.data) < 2**31)
    powers = np.zeros(X.shape[1], dtype=np.int64)
    odd = np.unique(X.indices[~is_whole])
    data = np.where(is_whole, X.data, 0).astype(np.int64) % PRIME
    if len(odd):
        fractions, exponents = np.frexp(X.data)
        whole, exponents = np.ldexp(fractions, 53).astype(np.int64), exponents.astype(np.int64) - 53
        least = np.full(X.shape[1], 2000, dtype=np.int64)
        np.minimum.at(least, X.indices, np.where(whole == 0, 2000, exponents))
        inside = np.isin(X.indices, odd)
        shifts = np.where(whole == 0, 0, exponents - least[X.indices])[inside]
        table = np.array([pow(2, e, PRIME) for e in range(int(shifts.max(initial=0)) + 1)])
        data[inside] = whole[inside] % PRIME * table[shifts] % PRIME
        powers[odd] = -least[odd]
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape), powers


def find_pivots(X: Any, deadline: Deadline = NEVER) -> Elimination:
    """Find as many linearly independent rows of a CSR matrix as possible, and their pivots."""
    M, powers = residues(X)
    by_column, (n, d) = M.tocsc(), M.shape
    known = np.zeros(d, dtype=np.bool_)
    known[X.indices[np.abs(X.data) != 1]] = True
    rows, columns = (np.zeros(min(n, d), dtype=np.int64) for _ in range(2))
    pointers = by_column.indptr, by_column.indices
    count = determine(M.indptr, M.indices, *pointers, known, rows, columns)
    pivots = Pivots(rows[:count], columns[:count], np.zeros(0, dtype=np.int64))
    free = np.setdiff1d(np.arange(d), pivots.columns)
    inverses = inverses_of(M, pivots)
    rng = np.random.default_rng(0)
    equations: Any = np.zeros((0, len(free)), dtype=np.int64)
    extra: list[int] = []
    batch = BATCH
    while True:
        # A random vector that satisfies the known equations shows which rows are not yet spanned.
        deadline.check()
        leads = (equations != 0).argmax(axis=1) if len(equations) else np.zeros(0, dtype=np.int64)
        values = rng.integers(0, PRIME, len(free))
        values[leads] = 0
        totals = [int(row.astype(object) @ values) for row in equations]
        values[leads] = np.array([-t % PRIME for t in totals], dtype=np.int64)
        vector = np.zeros(d, dtype=np.int64)
        vector[free] = values
        extend(M.indptr, M.indices, M.data, *pivots[:2], inverses, vector)
        bad = np.zeros(n, dtype=np.int64)
        bad = bad[: residuals(M.indptr, M.indices, M.data, vector, bad)]
        if len(bad) == 0:
            pivots = pivots._replace(extra=np.array(extra, dtype=np.int64))
            return Elimination(M, powers, pivots, inverses, free, equations, leads)
        few = rng.permutation(bad)[:batch]
        equations, added = eliminate(equations, reduced_rows(M, pivots, inverses, few, free))
        extra += few[added].tolist()
        batch = min(2 * batch, 1024)


def null_basis(X: Any, deadline: Deadline = NEVER) -> tuple[Pivots, Any] | None:
    """Find a basis of the null space of a CSR matrix, with small integers as entries.

    Returns pivots, which prove the rank of X, and the basis as columns of a CSR matrix; None if
    the integers would be too large. That X maps the basis to zero is not checked here.

    Examples
    --------
    >>> X = sparse.csr_array(np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]))
    >>> pivots, basis = null_basis(X)
    >>> pivots.rank, (X @ basis).toarray().any()
    (2, np.False_)
    """
    M, powers, pivots, inverses, free, equations, leads = find_pivots(X, deadline)
    empty = np.bincount(M.indices, minlength=X.shape[1])[free] == 0
    places, values = [], []
    for at in np.setdiff1d(np.arange(len(free)), leads).tolist():
        deadline.check()
        if empty[at]:
            places.append(free[at : at + 1])
            values.append(np.ones(1, dtype=np.int64))
            continue
        vector = np.zeros(X.shape[1], dtype=np.int64)
        vector[free[at]] = 1
        vector[free[leads]] = -equations[:, at] % PRIME
        extend(M.indptr, M.indices, M.data, *pivots[:2], inverses, vector)
        place = np.flatnonzero(vector)
        whole = np.where(vector > PRIME // 2, vector - PRIME, vector)[place]
        if np.abs(whole).max() > SMALL:
            lifted = find_fractions(vector[place], PRIME)
            if lifted is None or max(map(abs, lifted[0])) > SMALL:
                return None
            whole = np.array(lifted[0], dtype=np.int64)
        if powers[place].any():
            return None
        places.append(place)
        values.append(whole)
    ends = np.cumsum([0, *map(len, places)])
    entries = np.concatenate([*values, np.zeros(0)]), np.concatenate([*places, np.zeros(0, int)])
    shape = (X.shape[1], len(places))
    return pivots, sparse.csc_array((*entries, ends), shape=shape).tocsr()


def independent(X: Any) -> Ints:
    """Return the indices of linearly independent columns that span all columns of a CSR matrix.

    That they are independent is exact; that they span all columns is shown only modulo a prime.
    """
    found = find_pivots(X)
    return np.sort(np.concatenate((found.pivots.columns, found.free[found.leads])))


def proved_rank(X: Any, pivots: Pivots) -> int:
    """Return the lower bound on the rank of X that the given pivots prove; 0 if they are invalid.

    Examples
    --------
    >>> X = sparse.csr_array(np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [2.0, 1.0, 2.0]]))
    >>> whole = [np.array(some, dtype=np.int64) for some in ([0, 1], [0, 1], [])]
    >>> proved_rank(X, Pivots(*whole)), proved_rank(X, Pivots(whole[0], whole[1][::-1], whole[2]))
    (2, 0)
    """
    rows, columns, extra = pivots
    M, _ = residues(X)
    position = np.full(X.shape[1], -1, dtype=np.int64)
    position[columns] = np.arange(len(columns))
    some = X[rows]
    later = position[some.indices] > np.repeat(np.arange(len(rows)), np.diff(some.indptr))
    is_triangular = len(np.unique(columns)) == len(columns) and not later[some.data != 0].any()
    inverses = inverses_of(M, pivots)
    if not is_triangular or not inverses.all():
        return 0
    if len(extra) == 0:
        return len(rows)
    table = reduced_rows(M, pivots, inverses, extra, np.flatnonzero(position < 0))
    return len(rows) + len(eliminate(table[:0], table)[1])


def integer_products(X: Any, basis: Any, deadline: Deadline = NEVER) -> Any:
    """Multiply a CSR matrix by a matrix of integers; return None if float64 may round the result.

    Zeros are not stored.
    """
    used = np.diff(basis.indptr) > 0
    numbers = X.data[used[X.indices]]
    most = float(np.abs(basis.data).max(initial=0.0)) * float(np.abs(numbers).max(initial=0.0))
    longest = int(np.diff(X.indptr).max(initial=0))
    if most * longest >= 2**53 or (numbers != np.rint(numbers)).any():
        return None
    parts = [sparse.csr_array((0, basis.shape[1]))]
    for start in range(0, X.shape[0], AT_ONCE):
        deadline.check()
        part = X[start : start + AT_ONCE] @ basis
        part.eliminate_zeros()
        parts.append(part)
    return sparse.vstack(parts, format="csr")


def exact_products(X: Any, g: NDArray[Any]) -> list[int]:
    """Multiply a CSR matrix by a vector of arbitrarily large integers, in exact arithmetic."""
    factors = g[X.indices]
    data = np.where(factors != 0, X.data, 0.0)
    if (data == np.rint(data)).all() and np.abs(data).max(initial=0.0) < 2**53:
        terms = data.astype(np.int64).astype(object) * factors
    else:
        terms = np.array([Fraction(v) for v in data.tolist()], dtype=object) * factors
    products = np.zeros(X.shape[0], dtype=object)
    filled = np.flatnonzero(np.diff(X.indptr))
    if len(filled):
        products[filled] = np.add.reduceat(terms, X.indptr[filled])
    return list(products)


def inverses_of(M: Any, pivots: Pivots) -> Ints:
    """Return the inverses of the entries of a matrix at its pivots, modulo the prime.

    The result is 0 where the entry is 0.
    """
    if len(pivots.rows) == 0:  # SciPy would return a sparse array
        return np.empty(0, dtype=np.int64)
    simple = {0: 0, 1: 1, PRIME - 1: PRIME - 1}
    entries = np.asarray(M[pivots.rows, pivots.columns]).tolist()
    return np.array([simple[v] if v in simple else pow(v, -1, PRIME) for v in entries])


def reduced_rows(M: Any, pivots: Pivots, inverses: Ints, rows: Ints, free: Ints) -> Ints:
    """Eliminate the pivot columns from some rows, and return the free columns of the result.

    All numbers are residues modulo the prime.
    """
    table = np.zeros((len(rows), len(free)), dtype=np.int64)
    unused = np.zeros(len(pivots.rows), dtype=np.int64)
    for at, row in enumerate(rows.tolist()):
        some = slice(M.indptr[row], M.indptr[row + 1])
        vector = np.zeros(M.shape[1], dtype=np.int64)
        vector[M.indices[some]] = M.data[some]
        reduce(M.indptr, M.indices, M.data, *pivots[:2], inverses, vector, unused)
        table[at] = vector[free]
    return table


def combine_rows(
    X: Any, target: Any, deadline: Deadline = NEVER
) -> tuple[Ints, list[int], int] | None:
    """Rewrite a linear combination of all rows of X as one of linearly independent rows, exactly.

    The target has the integer coefficient of each row of X. Returns independent rows, their
    integer coefficients, and a divisor for these coefficients; None if the numbers become too
    long. The system is solved digit by digit to the base of the prime (Dixon's method).

    Examples
    --------
    >>> X = sparse.csr_array(np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 0.5]]))
    >>> rows, coefficients, divisor = combine_rows(X, [0, 0, 1])
    >>> (X[rows].toarray().T @ coefficients / divisor).tolist()
    [0.0, 0.5]
    """
    import flint

    M, powers, pivots, inverses, free, _, places = find_pivots(X, deadline)
    matrix, leads = (M.indptr, M.indices, M.data), free[places]
    rows = np.concatenate((pivots.rows, pivots.extra))
    factors = np.zeros(len(pivots.rows), dtype=np.int64)
    table = reduced_rows(M, pivots, inverses, pivots.extra, leads).T
    size = len(leads)
    inverse = flint.nmod_mat(size, size, table.ravel().tolist(), PRIME).inv() if size else None
    fractions, exponents = np.frexp(X.data)
    mantissas = np.ldexp(fractions, 53).astype(np.int64).tolist()
    shifts = (exponents - 53 + powers[X.indices]).tolist()
    entries = zip(mantissas, shifts, strict=True)
    whole = np.array([m << e if e >= 0 else m >> -e for m, e in entries], dtype=object)
    owners = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    rest = np.zeros(X.shape[1], dtype=object)
    np.add.at(rest, X.indices, whole * np.array(target, dtype=object)[owners])
    place = np.full(X.shape[0], -1)
    place[rows] = np.arange(len(rows))
    used = place[owners] >= 0
    some, at, columns = whole[used], place[owners][used], X.indices[used]
    right = rest.copy()
    solution, power = np.zeros(len(rows), dtype=object), 1
    for digit in range(DIGITS):
        deadline.check()
        vector = (rest % PRIME).astype(np.int64)
        first = vector.copy()
        reduce(*matrix, *pivots[:2], inverses, first, factors)
        digits = np.zeros(len(rows), dtype=np.int64)
        if inverse is not None:
            found = inverse * flint.nmod_mat(size, 1, first[leads].tolist(), PRIME)
            digits[len(factors) :] = [int(v) for v in found.entries()]
            for k, row in zip(digits[len(factors) :].tolist(), pivots.extra.tolist(), strict=True):
                own = slice(M.indptr[row], M.indptr[row + 1])
                vector[M.indices[own]] = (vector[M.indices[own]] - k * M.data[own]) % PRIME
            reduce(*matrix, *pivots[:2], inverses, vector, factors)
        digits[: len(factors)] = (PRIME - factors) % PRIME
        exact = digits.astype(object)
        np.subtract.at(rest, columns, some * exact[at])
        rest //= PRIME
        solution += exact * power
        power *= PRIME
        if digit % 4 == 3 or not rest.any():
            lifted = find_fractions(solution, power)
            if lifted is not None:
                check = lifted[1] * right
                np.subtract.at(check, columns, some * np.array(lifted[0], dtype=object)[at])
                if not check.any():
                    return rows, lifted[0], lifted[1]
    return None


def find_fractions(values: Any, modulus: int) -> tuple[list[int], int] | None:
    """Find small fractions that are congruent to the given integers modulo `modulus`.

    Returns the numerators and a common denominator, or None if these would be too large.
    """
    bound, divisor = isqrt(modulus // 2), 1
    result: list[int] = []
    for value in values.tolist():
        a, b, s, t = modulus, value * divisor % modulus, 0, 1
        if modulus - b <= bound:
            b, t = b - modulus, 1
        while b > bound:
            a, b, s, t = b, a % b, t, s - a // b * t
        if t < 0:
            b, t = -b, -t
        if t > 1:
            divisor *= t
            if divisor > bound:
                return None
            result = [v * t for v in result]
        result.append(b)
    return result, divisor


def eliminate(equations: Ints, more: Ints) -> tuple[Ints, list[int]]:
    """Add equations to a linear system modulo a prime, and bring it to reduced echelon form.

    Also returns which of the new equations are linearly independent of the others.
    """
    import flint

    old, width = len(equations), more.shape[1]
    entries = np.vstack((equations, more)).ravel().tolist()
    table = flint.nmod_mat(old + len(more), width, entries, PRIME)
    reduced, rank = table.rref()
    values = np.array([int(v) for v in reduced.entries()], dtype=np.int64).reshape(-1, width)[:rank]
    if rank == old + len(more):
        return values, list(range(len(more)))
    columns, _ = table.transpose().rref()
    first = np.array([int(v) for v in columns.entries()]).reshape(width, -1)[:rank]
    at = (first != 0).argmax(axis=1) - old
    return values, at[at >= 0].tolist()


def determine_loop(indptr, indices, colptr, colrows, known, rows, columns):  # type: ignore[no-untyped-def]
    """Find rows that fix the entries of null vectors one after another, each from known entries.

    A row fixes an entry if the entries in all its other columns are known. Each such row and its
    column are a pivot: they are stored in `rows` and `columns`, and their number is returned. If no
    row has exactly one unknown column, one more column is treated as known.
    """
    n, d = len(indptr) - 1, len(colptr) - 1
    # For each row, the number of its unknown columns and the sum of their indices.
    count, total = np.zeros(n, np.int64), np.zeros(n, np.int64)
    score = np.zeros(d, np.int64)  # for each column, rows in which one other is unknown
    stack, top, found = np.zeros(n, np.int64), 0, 0
    for r in range(n):
        for i in range(indptr[r], indptr[r + 1]):
            if not known[indices[i]]:
                count[r] += 1
                total[r] += indices[i]
        if count[r] == 1:
            stack[top] = r
            top += 1
        if count[r] == 2:
            for i in range(indptr[r], indptr[r + 1]):
                score[indices[i]] += 1
    while True:
        c = -1
        while top > 0 and c < 0:
            top -= 1
            r = stack[top]
            if count[r] == 1:
                c = total[r]
                rows[found], columns[found] = r, c
                found += 1
        if c < 0:
            most, longest = -1, 0
            for j in range(d):
                length = colptr[j + 1] - colptr[j]
                if known[j] or length == 0 or score[j] < most:
                    continue
                if score[j] > most or length > longest:
                    c, most, longest = j, score[j], length
        if c < 0:
            return found
        known[c] = True
        for k in range(colptr[c], colptr[c + 1]):
            r = colrows[k]
            count[r] -= 1
            total[r] -= c
            if count[r] == 1:
                stack[top] = r
                top += 1
                score[total[r]] -= 1
            elif count[r] == 2:
                for i in range(indptr[r], indptr[r + 1]):
                    if not known[indices[i]]:
                        score[indices[i]] += 1


def extend_loop(indptr, indices, data, rows, columns, inverses, vector):  # type: ignore[no-untyped-def]
    """Fill in the entries of a null vector in the pivot columns, given all its other entries.

    Changes `vector` in place; all numbers are residues modulo the prime.
    """
    for i in range(len(rows)):
        total, c = 0, columns[i]
        for k in range(indptr[rows[i]], indptr[rows[i] + 1]):
            if indices[k] != c and vector[indices[k]] != 0:
                total = (total + data[k] * vector[indices[k]]) % PRIME
        vector[c] = (PRIME - total) * inverses[i] % PRIME


def residuals_loop(indptr, indices, data, vector, bad):  # type: ignore[no-untyped-def]
    """Find the rows of a sparse matrix whose product with a vector is not 0 modulo a prime.

    Stores the indices of these rows in `bad`, and returns how many there are.
    """
    found = 0
    for r in range(len(indptr) - 1):
        total = 0
        for k in range(indptr[r], indptr[r + 1]):
            total = (total + data[k] * vector[indices[k]]) % PRIME
        if total != 0:
            bad[found] = r
            found += 1
    return found


def reduce_loop(indptr, indices, data, rows, columns, inverses, vector, factors):  # type: ignore[no-untyped-def]
    """Eliminate the pivot columns from a vector by adding multiples of the pivot rows.

    Changes `vector` in place, and writes the multiples to `factors`.
    """
    for i in range(len(rows) - 1, -1, -1):
        f = vector[columns[i]]
        if f != 0:
            f = (PRIME - f) * inverses[i] % PRIME
            for k in range(indptr[rows[i]], indptr[rows[i] + 1]):
                j = indices[k]
                vector[j] = (vector[j] + f * data[k]) % PRIME
        factors[i] = f


determine = Kernel(determine_loop)
extend = Kernel(extend_loop)
residuals = Kernel(residuals_loop)
reduce = Kernel(reduce_loop)
