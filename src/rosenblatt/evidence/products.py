"""The sign of w·z for every row: floats settle most rows, integers the rest.

Floats settle rows whose rounding error is provably too small to matter, and no others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.evidence.integers import batches, exact_products, primes_enough, zero_products
from rosenblatt.examples import Examples

MANY = 64  # rows of a block that are settled faster modulo primes than one by one
EXACT = 2.0**53  # whole numbers below it are floats


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
    numbers = (X if isinstance(X, np.ndarray) else X.data).ravel()
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
