"""The loops of the evidence room that are compiled: one look at the data, and a walk.

The walk goes to the nearest point to the origin in the convex hull of some rows Z. That is a
least-squares question with multipliers u ≥ 0: make Σu as near to 1 and Σ u z as near to 0 as
can be. What is left over tells everything: w = Σ u z and height = 1 - Σu. Members have
w·z = height; if no row has less, w is the widest w; if nothing is left, the hull holds the
origin. Lawson and Hanson's steps, with L, the Cholesky factor of the members' products
P Pᵀ + 1 1ᵀ, row i for member i, brought up to date in k² steps when a member comes or goes.

`rosenblatt.kernels` has the two row formats; the loops share nothing else with it.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.engine import REORDER, Kernel, overload
from rosenblatt.kernels import Sparse

EPSILON = 2.0**-52
NEAREST, ORIGIN, FULL, STUCK, MORE = range(5)  # how a walk ends
DRIFT = 1e-10  # a second correction of the multipliers larger than this: L is worn
PATIENCE = 64  # admissions in a row that bring nothing, before rounding is to blame


class Corral(NamedTuple):
    """The members of the corral among the rows of Z, with room for some more."""

    members: np.ndarray
    u: np.ndarray
    L: np.ndarray
    w: np.ndarray


def look_dense(X, scales, squares, columns):
    """The squared length of every row, its entries scaled, and the largest |entry| of columns."""
    for n in range(X.shape[0]):
        squares[n] = square(X[n], scales)
        widen(X[n], columns)


def look_sparse(data, indices, indptr, scales, squares, columns):
    """The same over the stored entries of a CSR matrix."""
    for n in range(len(indptr) - 1):
        for k in range(indptr[n], indptr[n + 1]):
            a = abs(np.float64(data[k]))
            j = indices[k]
            columns[j] = max(columns[j], a)
            squares[n] += (a * scales[j]) * (a * scales[j])


def square(x, scales):
    """The squared length of a row, its entries scaled."""
    s = 0.0
    for j in range(len(x)):
        s += (x[j] * scales[j]) * (x[j] * scales[j])
    return s


def widen(x, columns):
    """Let every column's largest |entry| take in a row."""
    for j in range(len(x)):
        a = abs(np.float64(x[j]))
        if a > columns[j]:
            columns[j] = a


def walk(Z, lengths, c, k, height, tolerance, steps):
    """Admit the row that is farthest below height, dismiss others, until no row is below."""
    size = lengths.max()
    inside = np.zeros(len(lengths), dtype=np.bool_)
    for i in range(k):
        inside[c.members[i]] = True
    waits = 0
    lowest = height
    for _ in range(steps):
        length = norm(c.w)
        if k > 0 and (height <= 0 or length <= 4 * EPSILON * size * np.sqrt(k)):
            return k, height, ORIGIN
        j, short = worst(Z, c.w, height, inside)
        if short >= -tolerance * height - 8 * EPSILON * length * lengths[j]:
            return k, height, NEAREST
        if k == len(c.u):
            return k, height, FULL
        if waits > PATIENCE or not admit(Z, j, c, k):
            return k, height, STUCK
        inside[j] = True
        k, height = settle(Z, c, k + 1, inside)
        # Rounding can let the height go up and down for ever: only new lows count.
        waits = 0 if height < lowest * (1 - 1e-14) else waits + 1
        lowest = min(lowest, height)
    return k, height, MORE


def worst(Z, w, height, inside):
    """The row outside the corral with the least w·z, and how far it is above height."""
    least = np.inf
    j = 0
    for n in range(len(inside)):
        if not inside[n]:
            s = product(Z, n, w)
            if s < least:
                least = s
                j = n
    return j, least - height


def admit(Z, j, c, k):
    """Give row j a row in the triangle; not if it depends on the members."""
    z = np.zeros(len(c.w))
    add(Z, j, z, 1.0)
    square = 1.0 + norm(z) ** 2
    new = c.L[k]
    for i in range(k):
        new[i] = 1.0 + product(Z, c.members[i], z)
    lower(c.L, k, new)
    t = new[:k].copy()
    upper(c.L, k, t)
    # The length of what is new in z, from itself and not as a difference of squares.
    one = 1.0
    for i in range(k):
        add(Z, c.members[i], z, -t[i])
        one -= t[i]
    left = one * one + norm(z) ** 2
    if left <= 16 * EPSILON * EPSILON * square:
        return False
    new[k] = np.sqrt(left)
    c.members[k] = j
    c.u[k] = 0.0
    return True


def settle(Z, c, k, inside):
    """Move to the best multipliers of the members, dismissing those that reach zero."""
    while True:
        p, height, drift = best(Z, c, k)
        if drift > DRIFT:
            k = rebuild(Z, c, k, inside)
            p, height, drift = best(Z, c, k)
        step = 1.0
        first = -1
        for i in range(k):
            if p[i] <= 0 and (first < 0 or c.u[i] < step * (c.u[i] - p[i])):
                step = c.u[i] / (c.u[i] - p[i]) if c.u[i] > 0 else 0.0
                first = i
        for i in range(k):
            c.u[i] += step * (p[i] - c.u[i])
        if first < 0:
            return k, height
        c.u[first] = 0.0
        for i in range(k - 1, -1, -1):
            if c.u[i] <= 0 and (i < k - 1 or p[i] <= 0):
                inside[c.members[i]] = False
                dismiss(c, k, i)
                k -= 1


def best(Z, c, k):
    """The multipliers that leave least over, what they leave, and how far off L is.

    w is set in place; the height is returned.
    What is left over is corrected twice by what its products with the members are off, so
    that it is right to its own size even where Σ u z nearly cancels.
    """
    p = np.zeros(k)
    off = np.ones(k)
    c.w[:] = 0.0
    height = 1.0
    for again in range(3):
        if again:
            for i in range(k):
                off[i] = height - product(Z, c.members[i], c.w)
        drift = 0.0
        lower(c.L, k, off)
        upper(c.L, k, off)
        for i in range(k):
            p[i] += off[i]
            height -= off[i]
            drift = max(drift, abs(off[i]))
            add(Z, c.members[i], c.w, off[i])
    return p, height, drift


def rebuild(Z, c, k, inside):
    """Make the triangle afresh from the members; those that depend on others go."""
    members, u = c.members[:k].copy(), c.u[:k].copy()
    new = 0
    for i in range(k):
        if admit(Z, members[i], c, new):
            c.u[new] = u[i]
            new += 1
        else:
            inside[members[i]] = False
    return new


def dismiss(c, k, gone):
    """Take a member out of k: move the others up and make L a triangle again."""
    for i in range(gone, k - 1):
        c.members[i] = c.members[i + 1]
        c.u[i] = c.u[i + 1]
        for j in range(i + 2):
            c.L[i, j] = c.L[i + 1, j]
    for i in range(gone, k - 1):
        r = np.hypot(c.L[i, i], c.L[i, i + 1])
        cos, sin = c.L[i, i] / r, c.L[i, i + 1] / r
        for m in range(i, k - 1):
            a, b = c.L[m, i], c.L[m, i + 1]
            c.L[m, i] = cos * a + sin * b
            c.L[m, i + 1] = cos * b - sin * a


def lower(L, k, b):
    """Solve L x = b for the first k members, in place of b."""
    for i in range(k):
        s = b[i]
        for j in range(i):
            s -= L[i, j] * b[j]
        b[i] = s / L[i, i]


def upper(L, k, b):
    """Solve Lᵀ x = b for the first k members, in place of b."""
    for i in range(k - 1, -1, -1):
        b[i] /= L[i, i]
        for j in range(i):
            b[j] -= L[i, j] * b[i]


def norm(v):
    """The length of a vector."""
    s = 0.0
    for i in range(len(v)):
        s += v[i] * v[i]
    return np.sqrt(s)


def product_dense(Z, n, w):
    """w·z of row n."""
    z = Z.X[n]
    s = 0.0
    for i in range(len(z)):
        s += w[i] * z[i]
    return s


def product_sparse(Z, n, w):
    """w·z of row n, over its stored entries."""
    s = 0.0
    for j in range(Z.indptr[n], Z.indptr[n + 1]):
        s += w[Z.indices[j]] * Z.data[j]
    return s


def add_dense(Z, n, w, a):
    """w ← w + a·z of row n."""
    z = Z.X[n]
    for i in range(len(z)):
        w[i] += a * z[i]


def add_sparse(Z, n, w, a):
    """w ← w + a·z of row n, over its stored entries."""
    for j in range(Z.indptr[n], Z.indptr[n + 1]):
        w[Z.indices[j]] += a * Z.data[j]


def product(Z, n, w):
    """w·z of row n in either format."""
    return product_sparse(Z, n, w) if isinstance(Z, Sparse) else product_dense(Z, n, w)


def add(Z, n, w, a):
    """w ← w + a·z of row n in either format."""
    return add_sparse(Z, n, w, a) if isinstance(Z, Sparse) else add_dense(Z, n, w, a)


@functools.cache
def bind() -> None:
    """Tell Numba which primitive serves which row format, and to compile the helpers."""

    def sparse(Z: Any) -> bool:
        return Z.instance_class is Sparse

    overload(product, jit_options={"fastmath": REORDER})(
        lambda Z, n, w: product_sparse if sparse(Z) else product_dense
    )
    overload(add, jit_options={"fastmath": REORDER})(
        lambda Z, n, w, a: add_sparse if sparse(Z) else add_dense
    )
    overload(square, jit_options={"fastmath": REORDER})(lambda x, scales: square)
    overload(widen)(lambda x, columns: widen)
    overload(norm, jit_options={"fastmath": REORDER})(lambda v: norm)
    overload(lower, jit_options={"fastmath": REORDER})(lambda L, k, b: lower)
    overload(upper, jit_options={"fastmath": REORDER})(lambda L, k, b: upper)
    overload(dismiss)(lambda c, k, gone: dismiss)
    overload(best)(lambda Z, c, k: best)
    overload(rebuild)(lambda Z, c, k, inside: rebuild)
    overload(settle)(lambda Z, c, k, inside: settle)
    overload(admit)(lambda Z, j, c, k: admit)
    overload(worst)(lambda Z, w, height, inside: worst)


look_at_dense = Kernel(look_dense, bind)
look_at_sparse = Kernel(look_sparse)
walk_on = Kernel(walk, bind)
