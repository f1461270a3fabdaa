"""From columns to rows: numbers stored column by column, as rows that kernels take."""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt import kernels
from rosenblatt.engine import Kernel
from rosenblatt.tables import SINGLE_SQUARES, sum_of_squares

ENTRIES = 1 << 18  # turned at a time: few enough to stay in a cache
FEWEST = 1 << 10  # rows
APART = 8  # columns begin so many numbers off a round distance, at which caches hold only a few
FEW = 1 << 16  # numbers that are not worth compiling for
KEPT = 4  # pieces of memory to use again


class Turned(NamedTuple):
    """Numbers as rows, and the sum of their squares, which is not finite if one of them is not."""

    X: NDArray[Any]
    squares: float


def in_rows(columns: Sequence[NDArray[Any]], dtype: Any = np.float64) -> Turned:
    """Columns of equal length as the rows of an array.

    Examples
    --------
    >>> in_rows([np.array([1.0, 2.0]), np.array([3.0, 4.0])])
    Turned(X=array([[1., 3.],
           [2., 4.]]), squares=30.0)
    """
    n, d = len(columns[0]), len(columns)
    if n * d < FEW:
        X = np.stack(columns, axis=1, dtype=dtype, casting="unsafe")
        return Turned(X, sum_of_squares(X))
    X, squares = room((n, d), dtype), 0.0
    rows = max(FEWEST, ENTRIES // d // FEWEST * FEWEST)
    together = room((d, rows + APART), dtype)
    for begin in range(0, n, rows):
        part = together[:, : min(rows, n - begin)]
        for j, column in enumerate(columns):
            part[j] = column[begin : begin + rows]
        x = X[begin : begin + rows].reshape(-1)
        with np.errstate(all="ignore"):  # which compiled code does anyway
            squares += turned(together.reshape(-1), x, d, part.shape[1])
    low, high = SINGLE_SQUARES
    plain = dtype == np.float64 or low < squares / X.size < high
    return Turned(X, squares if plain else sum_of_squares(X))


def turn(c, x, d, N):  # type: ignore[no-untyped-def]
    """x[n·d + j] = c[j·S + n], where columns begin S apart; returns the sum of all squares.

    Unsigned places need no wrap-around.
    """
    one, S = np.uint64(1), np.uint64(len(c) // d)
    i, q = np.uint64(0), 0.0
    for n in range(N):
        k = np.uint64(n)
        for _ in range(d):
            x[i] = c[k]
            i += one
            k += S
    for j in range(d):
        q += kernels.squared_length(c[j * S : j * S + np.uint64(N)])  # type: ignore[no-untyped-call]
    return q


turned = Kernel(turn)


def room(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """An array of anything, in memory that earlier ones have left, if some of that size is there.

    Memory that is new is cleared by the system as it is touched, which takes as long as turning.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = _left_over(size) or np.empty(size, dtype=np.uint8).data
    lent = np.frombuffer(memory, dtype, math.prod(shape))
    # Whatever is cut or shaped from an array holds on to it: memory is left when all is gone.
    weakref.finalize(lent, _left.append, memory).atexit = False
    return lent.reshape(shape)


_left: deque[memoryview] = deque(maxlen=KEPT)


def _left_over(size: int) -> memoryview | None:
    """Memory of about that size, taken out before it is looked at: no other thread can have it."""
    for _ in range(len(_left)):
        try:
            memory = _left.popleft()
        except IndexError:  # another thread was faster
            return None
        if size <= len(memory) <= 2 * size:
            return memory
        _left.append(memory)
    return None
