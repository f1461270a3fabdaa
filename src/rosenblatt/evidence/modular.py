"""Exact null spaces of sparse matrices, by arithmetic modulo a prime.

A null space is found modulo a prime, lifted to integers, and proved by two ranks. Columns of fixed
effects are found one from another: if all columns of a row but one are known, the
row determines that one. Where no row does, one more column is made a parameter. Thus nearly all
columns of a large design are determined in linear time, without any fill-in, and its rows as an
equation in the few parameters are a small dense matrix. Dense columns are parameters from the
start, so a dense matrix is eliminated in the usual way.

The pivots, in this order, are a triangular matrix: that is a proof of their rank. A rank modulo a
prime is never above the rank over the rationals, and integer vectors that the matrix maps to zero
show that it is not above the number of the other columns.
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

PRIME = 2**31 - 1
SMALL = 2**15  # largest entry of a null vector that is found modulo one prime
BATCH = 64  # rows in the first batch of equations of the parameters
AT_ONCE = 2**16  # rows that are multiplied at a time
DIGITS = 400  # maximum digits of an exact solution, to the base of the prime

Ints = NDArray[np.int64]


class Residues(NamedTuple):
    """A sparse matrix modulo a prime, with columns multiplied by powers of two."""

    indptr: Ints
    indices: Ints
    data: Ints
    width: int
    prime: int


class Pivots(NamedTuple):
    """Rows that each determine one column, sorted so that their other columns come earlier."""

    rows: Ints
    columns: Ints
    extra: Ints  # rows that determine parameters, found by dense elimination

    @property
    def rank(self) -> int:
        return len(self.rows) + len(self.extra)


def residues(X: Any, prime: int = PRIME) -> tuple[Residues, Ints]:
    """Return a CSR matrix modulo a prime, and the power of two that multiplies each column."""
    is_whole = (X.data == np.rint(X.data)) & (np.abs(X.data) < 2**31)
    powers = np.zeros(X.shape[1], dtype=np.int64)
    odd = np.unique(X.indices[~is_whole])
    data = np.where(is_whole, X.data, 0).astype(np.int64) % prime
    if len(odd):
        fractions, exponents = np.frexp(X.data)
        whole, exponents = np.ldexp(fractions, 53).astype(np.int64), exponents.astype(np.int64) - 53
        least = np.full(X.shape[1], 2000, dtype=np.int64)
        np.minimum.at(least, X.indices, np.where(whole == 0, 2000, exponents))
        inside = np.isin(X.indices, odd)
        shifts = np.where(whole == 0, 0, exponents - least[X.indices])[inside]
        table = np.array([pow(2, e, prime) for e in range(int(shifts.max(initial=0)) + 1)])
        data[inside] = whole[inside] % prime * table[shifts] % prime
        powers[odd] = -least[odd]
    parts = (X.indptr.astype(np.int64), X.indices.astype(np.int64), data)
    return Residues(*parts, X.shape[1], prime), powers


def find_pivots(X: Any, M: Residues, deadline: Deadline = NEVER) -> tuple[Pivots, Ints, Any]:
    """Find pivots of X modulo the prime; also return the free columns, and equations on them."""
    transposed = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape).tocsc()
    known = np.zeros(M.width, dtype=np.bool_)
    known[X.indices[np.abs(X.data) != 1]] = True
    rows, columns = (np.zeros(min(X.shape), dtype=np.int64) for _ in range(2))
    pointers = transposed.indptr.astype(np.int64), transposed.indices.astype(np.int64)
    count = determine(M.indptr, M.indices, *pointers, known, rows, columns)
    pivots = Pivots(rows[:count], columns[:count], np.zeros(0, dtype=np.int64))
    is_parameter = np.ones(M.width, dtype=bool)
    is_parameter[pivots.columns] = False
    parameters = np.flatnonzero(is_parameter)
    rng = np.random.default_rng(0)
    equations: Any = np.zeros((0, len(parameters)), dtype=np.int64)
    extra: list[int] = []
    batch = BATCH
    while True:
        deadline.check()
        vector = np.zeros(M.width, dtype=np.int64)
        vector[parameters] = solve(equations, rng.integers(0, M.prime, len(parameters)), M.prime)
        inverses = inverses_of(M, pivots)
        extend(M.indptr, M.indices, M.data, pivots.rows, pivots.columns, inverses, vector, M.prime)
        bad = np.zeros(X.shape[0], dtype=np.int64)
        bad = bad[: residuals(M.indptr, M.indices, M.data, vector, bad, M.prime)]
        if len(bad) == 0:
            return pivots._replace(extra=np.array(extra, dtype=np.int64)), parameters, equations
        few = rng.permutation(bad)[:batch]
        equations, added = eliminate(equations, reduced_rows(M, pivots, few, parameters), M.prime)
        extra += few[added].tolist()
        batch = min(2 * batch, 1024)


def null_basis(X: Any, deadline: Deadline = NEVER) -> tuple[Pivots, Any] | None:
    """Return pivots of a CSR matrix, and a basis of its null space as columns.

    The basis has small integers; the result is None if it would not. That X maps it to zero is not
    checked here.

    Examples
    --------
    >>> X = sparse.csr_array(np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]))
    >>> pivots, basis = null_basis(X)
    >>> pivots.rank, (X @ basis).toarray().any()
    (2, np.False_)
    """
    M, powers = residues(X)
    pivots, parameters, equations = find_pivots(X, M, deadline)
    leads = leading_places(equations)
    free = np.setdiff1d(np.arange(len(parameters)), leads)
    empty = np.bincount(M.indices, minlength=M.width)[parameters] == 0
    inverses = inverses_of(M, pivots)
    places, values = [], []
    for at in free.tolist():
        deadline.check()
        if empty[at]:
            places.append(parameters[at : at + 1])
            values.append(np.ones(1, dtype=np.int64))
            continue
        vector = np.zeros(M.width, dtype=np.int64)
        vector[parameters[at]] = 1
        vector[parameters[leads]] = -equations[:, at] % M.prime
        extend(M.indptr, M.indices, M.data, pivots.rows, pivots.columns, inverses, vector, M.prime)
        places.append(np.flatnonzero(vector))
        lifted = lift(vector[places[-1]], M.prime)
        if lifted is None or powers[places[-1]].any():
            return None
        values.append(lifted)
    ends = np.cumsum([0, *map(len, places)])
    entries = np.concatenate([*values, np.zeros(0)]), np.concatenate([*places, np.zeros(0, int)])
    shape = (M.width, len(places))
    return pivots, sparse.csc_array((*entries, ends), shape=shape).tocsr()


def lift(values: Ints, prime: int) -> Ints | None:
    """Find small integers proportional to the given values modulo a prime, or return None."""
    whole = np.where(values > prime // 2, values - prime, values)
    if np.abs(whole).max() <= SMALL:
        return whole
    lifted = _lift_long(values, prime)
    if lifted is None or max(map(abs, lifted[0])) > SMALL:
        return None
    return np.array(lifted[0], dtype=np.int64)


def leading_places(equations: Ints) -> Ints:
    """Return the position of the first nonzero coefficient of each equation."""
    return (equations != 0).argmax(axis=1) if len(equations) else np.zeros(0, dtype=np.int64)


def independent(X: Any) -> Ints:
    """Return columns of a CSR matrix that form a basis of all columns modulo a prime."""
    pivots, parameters, equations = find_pivots(X, residues(X)[0])
    leads = parameters[leading_places(equations)]
    return np.sort(np.concatenate((pivots.columns, leads)))


def proved_rank(X: Any, pivots: Pivots) -> int:
    """Return the lower bound on the rank that pivots prove; 0 if they are not triangular.

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
    values = np.zeros(len(rows), dtype=np.int64)
    pick(M.indptr, M.indices, M.data, rows, columns, values)
    some = X[rows]
    later = position[some.indices] > np.repeat(np.arange(len(rows)), np.diff(some.indptr))
    if len(np.unique(columns)) < len(columns) or (values == 0).any() or later[some.data != 0].any():
        return 0
    if len(extra) == 0:
        return len(rows)
    parameters = np.flatnonzero(position < 0)
    table = reduced_rows(M, pivots, extra, parameters)
    _, independent = eliminate(table[:0], table, M.prime)
    return len(rows) + len(independent)


def whole_products(X: Any, basis: Any, deadline: Deadline = NEVER) -> Any:
    """Return X times an integer matrix as CSR without zeros, or None if floats may round it."""
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
    """Return the exact product of each row of a CSR matrix with an integer vector."""
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


def inverses_of(M: Residues, pivots: Pivots) -> Ints:
    """Return the inverse of each pivot modulo the prime."""
    values = np.zeros(len(pivots.rows), dtype=np.int64)
    pick(M.indptr, M.indices, M.data, pivots.rows, pivots.columns, values)
    ones = {1: 1, M.prime - 1: M.prime - 1}
    return np.array([ones.get(v) or pow(v, -1, M.prime) for v in values.tolist()], dtype=np.int64)


def reduced_rows(M: Residues, pivots: Pivots, rows: Ints, parameters: Ints) -> Ints:
    """Eliminate the pivot columns from rows, which leaves equations on the free columns."""
    table = np.zeros((len(rows), len(parameters)), dtype=np.int64)
    inverses, unused = inverses_of(M, pivots), np.zeros(len(pivots.rows), dtype=np.int64)
    for at, row in enumerate(rows.tolist()):
        some = slice(M.indptr[row], M.indptr[row + 1])
        vector = np.zeros(M.width, dtype=np.int64)
        vector[M.indices[some]] = M.data[some]
        reduce(*M[:3], *pivots[:2], inverses, vector, unused, M.prime)
        table[at] = vector[parameters]
    return table


def combine_rows(
    X: Any, target: Any, deadline: Deadline = NEVER
) -> tuple[Ints, list[int], int] | None:
    """Express a combination of rows of X exactly by independent rows.

    The target is a combination with integer coefficients, an integer for each row of X. Returns
    the independent rows, their integer coefficients, and a divisor for these coefficients; None
    if the numbers become too long. Solves digit by digit to the base of the prime (Dixon).

    Examples
    --------
    >>> X = sparse.csr_array(np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 0.5]]))
    >>> rows, coefficients, divisor = combine_rows(X, [0, 0, 1])
    >>> (X[rows].toarray().T @ coefficients / divisor).tolist()
    [0.0, 0.5]
    """
    import flint

    M, powers = residues(X)
    prime = M.prime
    pivots, parameters, equations = find_pivots(X, M, deadline)
    rows = np.concatenate((pivots.rows, pivots.extra))
    leads = parameters[leading_places(equations)]
    inverses, factors = inverses_of(M, pivots), np.zeros(len(pivots.rows), dtype=np.int64)
    table = reduced_rows(M, pivots, pivots.extra, leads).T
    size = len(leads)
    inverse = flint.nmod_mat(size, size, table.ravel().tolist(), prime).inv() if size else None
    fractions, exponents = np.frexp(X.data)
    mantissas = np.ldexp(fractions, 53).astype(np.int64).tolist()
    shifts = (exponents - 53 + powers[X.indices]).tolist()
    entries = zip(mantissas, shifts, strict=True)
    whole = np.array([m << e if e >= 0 else m >> -e for m, e in entries], dtype=object)
    owners = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    rest = np.zeros(M.width, dtype=object)
    np.add.at(rest, X.indices, whole * np.array(target, dtype=object)[owners])
    place = np.full(X.shape[0], -1)
    place[rows] = np.arange(len(rows))
    used = place[owners] >= 0
    some, at, columns = whole[used], place[owners][used], X.indices[used]
    right = rest.copy()
    solution, power = np.zeros(len(rows), dtype=object), 1
    for digit in range(DIGITS):
        deadline.check()
        vector = (rest % prime).astype(np.int64)
        first = vector.copy()
        reduce(*M[:3], *pivots[:2], inverses, first, factors, prime)
        digits = np.zeros(len(rows), dtype=np.int64)
        if inverse is not None:
            found = inverse * flint.nmod_mat(size, 1, first[leads].tolist(), prime)
            digits[len(factors) :] = [int(v) for v in found.entries()]
            for k, row in zip(digits[len(factors) :].tolist(), pivots.extra.tolist(), strict=True):
                own = slice(M.indptr[row], M.indptr[row + 1])
                vector[M.indices[own]] = (vector[M.indices[own]] - k * M.data[own]) % prime
            reduce(*M[:3], *pivots[:2], inverses, vector, factors, prime)
        digits[: len(factors)] = (prime - factors) % prime
        exact = digits.astype(object)
        np.subtract.at(rest, columns, some * exact[at])
        rest //= prime
        solution += exact * power
        power *= prime
        if digit % 4 == 3 or not rest.any():
            lifted = _lift_long(solution, power)
            if lifted is not None:
                check = lifted[1] * right
                np.subtract.at(check, columns, some * np.array(lifted[0], dtype=object)[at])
                if not check.any():
                    return rows, lifted[0], lifted[1]
    return None


def _lift_long(values: Any, modulus: int) -> tuple[list[int], int] | None:
    """Find fractions with a common denominator that equal the values modulo `modulus`."""
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


def eliminate(equations: Ints, more: Ints, prime: int) -> tuple[Ints, list[int]]:
    """Add equations to a reduced echelon form; also return which new equations were independent."""
    import flint

    old, width = len(equations), more.shape[1]
    table = flint.nmod_mat(
        old + len(more), width, np.vstack((equations, more)).ravel().tolist(), prime
    )
    reduced, rank = table.rref()
    values = np.array([int(v) for v in reduced.entries()], dtype=np.int64).reshape(-1, width)[:rank]
    if rank == old + len(more):
        return values, list(range(len(more)))
    columns, _ = table.transpose().rref()
    first = np.array([int(v) for v in columns.entries()]).reshape(width, -1)[:rank]
    at = (first != 0).argmax(axis=1) - old
    return values, at[at >= 0].tolist()


def solve(equations: Ints, values: Ints, prime: int) -> Ints:
    """Set each equation's leading value so that all equations hold modulo the prime."""
    values = values.copy()
    if len(equations):
        leads = leading_places(equations)
        values[leads] = 0
        totals = [int(row.astype(object) @ values) for row in equations]
        values[leads] = np.array([-t % prime for t in totals])
    return values


def determine_loop(indptr, indices, colptr, colrows, known, rows, columns):  # type: ignore[no-untyped-def]
    """Pair rows with the one column that each determines from earlier ones; return the count."""
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


def pick_loop(indptr, indices, data, rows, columns, values):  # type: ignore[no-untyped-def]
    """Write to `values` the matrix entry at each pair of a row and a column."""
    for i in range(len(rows)):
        for k in range(indptr[rows[i]], indptr[rows[i] + 1]):
            if indices[k] == columns[i]:
                values[i] = data[k]


def extend_loop(indptr, indices, data, rows, columns, inverses, vector, prime):  # type: ignore[no-untyped-def]
    """Compute a null vector's pivot entries from its other entries, modulo the prime."""
    for i in range(len(rows)):
        total, c = 0, columns[i]
        for k in range(indptr[rows[i]], indptr[rows[i] + 1]):
            if indices[k] != c and vector[indices[k]] != 0:
                total = (total + data[k] * vector[indices[k]]) % prime
        vector[c] = (prime - total) * inverses[i] % prime


def residuals_loop(indptr, indices, data, vector, bad, prime):  # type: ignore[no-untyped-def]
    """List in `bad` the rows whose product with a vector is not 0; return their number."""
    found = 0
    for r in range(len(indptr) - 1):
        total = 0
        for k in range(indptr[r], indptr[r + 1]):
            total = (total + data[k] * vector[indices[k]]) % prime
        if total != 0:
            bad[found] = r
            found += 1
    return found


def reduce_loop(indptr, indices, data, rows, columns, inverses, vector, factors, prime):  # type: ignore[no-untyped-def]
    """Eliminate all pivot columns from a vector; write each row's multiplier to `factors`."""
    for i in range(len(rows) - 1, -1, -1):
        f = vector[columns[i]]
        if f != 0:
            f = (prime - f) * inverses[i] % prime
            for k in range(indptr[rows[i]], indptr[rows[i] + 1]):
                j = indices[k]
                vector[j] = (vector[j] + f * data[k]) % prime
        factors[i] = f


determine = Kernel(determine_loop)
pick = Kernel(pick_loop)
extend = Kernel(extend_loop)
residuals = Kernel(residuals_loop)
reduce = Kernel(reduce_loop)
