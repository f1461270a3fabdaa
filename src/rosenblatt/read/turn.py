"""From columns to rows: numbers stored column by column, as rows that kernels take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine import Kernel

ROWS = 1 << 12  # turned at a time: few enough to stay in a cache
TILE = 16  # rows of a cache line or so
FEW = 1 << 16  # numbers that are not worth compiling for


def in_rows(columns: Sequence[NDArray[Any]], dtype: Any = np.float64) -> NDArray[Any]:
    """Columns of equal length as the rows of a new array.

    Examples
    --------
    >>> in_rows([np.array([1.0, 2.0]), np.array([3.0, 4.0])])
    array([[1., 3.],
           [2., 4.]])
    """
    n, d = len(columns[0]), len(columns)
    X = np.empty((n, d), dtype=dtype)
    if n * d < FEW:
        return np.stack(columns, axis=1, out=X, casting="unsafe")
    together = np.empty((d, min(n, ROWS)), dtype=dtype)
    for begin in range(0, n, ROWS):
        part = together[:, : min(ROWS, n - begin)]
        for j, column in enumerate(columns):
            part[j] = column[begin : begin + ROWS]
        turned(part, X[begin : begin + ROWS].reshape(-1))
    return X


def turn(C, x):  # type: ignore[no-untyped-def]
    """x[n·d + j] = C[j, n], a tile of rows at a time; one index is faster than two."""
    d, N = C.shape
    for begin in range(0, N, TILE):
        end = min(begin + TILE, N)
        for j in range(d):
            i = begin * d + j
            for n in range(begin, end):
                x[i] = C[j, n]
                i += d


turned = Kernel(turn)
