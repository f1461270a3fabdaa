"""The orders in which examples are visited."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import kernels
from rosenblatt.kernels import FileOrder

Rows = NDArray[np.unsignedinteger[Any]]
Order = Rows | FileOrder

FIXED = ("cycle", "first")
CYCLES = ("cycle", "random-cycle", "shuffle")
NAMES = ("cycle", "random-cycle", "shuffle", "first", "random")


def permuted(rows: Rows, rng: np.random.Generator) -> Rows:
    """The rows in a random order, each once."""
    return rng.permutation(rows)


def visits(order: Order) -> int:
    """How many visits an order has."""
    return int(kernels.size(order))  # type: ignore[no-untyped-call]


def part(order: Order, begin: int, visits: int) -> Order:
    """So many visits of an order, from one of them on."""
    if isinstance(order, FileOrder):
        return FileOrder(order.first + begin, visits)
    return order[begin : begin + visits]


def position(order: Order, row: int) -> int:
    """When an order that goes forward through the file visits a row."""
    if isinstance(order, FileOrder):
        return row - order.first
    return int(np.searchsorted(order, row))
