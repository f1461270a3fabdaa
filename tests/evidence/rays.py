"""A slow, obvious oracle: verdict and separation of small whole numbers, by every extreme ray.

The w with w·z ≥ 0 for all z form a cone. Its extreme rays are orthogonal to all but one
dimension's worth of rows, so they are found by trying every choice of rows. Their sum is
positive wherever any of the cone is.
"""

import math
from fractions import Fraction
from itertools import combinations


def verdict(Z):
    """The verdict on signed rows of whole numbers, in exact arithmetic."""
    Z = [[int(a) for a in z] for z in Z]
    columns = independent_columns(Z)
    Z = [tuple(z[j] for j in columns) for z in Z]
    distinct = {z for z in Z if any(z)}
    total = [0] * len(columns)
    for chosen in combinations(sorted(distinct), max(len(columns) - 1, 0)):
        ray = orthogonal(chosen, len(columns))
        for sign in (1, -1):
            w = [sign * v for v in ray]
            if all(product(w, z) >= 0 for z in distinct):
                total = [a + b for a, b in zip(total, w, strict=True)]
    products = [product(total, z) for z in Z]
    if all(s > 0 for s in products):
        return "separable"
    return "quasi-separable" if any(s > 0 for s in products) else "inseparable"


def separation(Z, pinned):
    """Which signed rows are separated, and the signs of each coordinate over the cone's rays."""
    Z = [[int(a) for a in z] for z in Z]
    columns = independent_columns(Z)
    short = [tuple(z[j] for j in columns) for z in Z]
    both = {z for z in short if any(z)} | {
        tuple(-a for a in z) for z, p in zip(short, pinned, strict=True) if p and any(z)
    }
    rays = []
    for chosen in combinations(sorted(both), max(len(columns) - 1, 0)):
        ray = orthogonal(chosen, len(columns))
        for side in (1, -1):
            w = [side * v for v in ray]
            if any(w) and all(product(w, z) >= 0 for z in both):
                rays.append(w)
    total = [sum(w[i] for w in rays) for i in range(len(columns))]
    separated = [product(total, z) > 0 for z in short]
    signs = [set() for _ in Z[0]]
    for w in rays:
        for j, v in zip(columns, w, strict=True):
            signs[j].add((v > 0) - (v < 0))
    return separated, [estimate(Z, j, signs[j] - {0}) for j in range(len(Z[0]))]


def estimate(Z, j, signs):
    unit = [[int(i == j) for i in range(len(Z[0]))]]
    if rank(Z + unit) > rank(Z):
        return math.nan
    if len(signs) == 2:
        return math.nan
    return math.inf if signs == {1} else -math.inf if signs == {-1} else 0.0


def rank(Z):
    return len(independent_columns(Z))


def product(w, z):
    return sum(a * b for a, b in zip(w, z, strict=True))


def orthogonal(rows, dimension):
    """A vector orthogonal to dimension - 1 rows: the cross product, zero if they depend."""
    return [
        (-1) ** i * determinant([[row[j] for j in range(dimension) if j != i] for row in rows])
        for i in range(dimension)
    ]


def determinant(M):
    if not M:
        return 1
    return sum(
        (-1) ** j * a * determinant([row[:j] + row[j + 1 :] for row in M[1:]])
        for j, a in enumerate(M[0])
        if a
    )


def independent_columns(Z):
    """Columns that span all columns, leftmost first."""
    columns, basis = [], []
    for j in range(len(Z[0])):
        v = [Fraction(z[j]) for z in Z]
        for pivot, b in basis:
            v = [a - v[pivot] / b[pivot] * c for a, c in zip(v, b, strict=True)]
        if any(v):
            basis.append((next(i for i, a in enumerate(v) if a), v))
            columns.append(j)
    return columns
