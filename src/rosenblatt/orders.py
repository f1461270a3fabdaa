"""The orders in which examples are visited."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.unsignedinteger[Any]]

NAMES = ("cycle", "random-cycle", "shuffle", "first", "random")


def naive(rows: Rows, rng: np.random.Generator) -> Rows:
    """The rows as they come."""
    return rows


def permuted(rows: Rows, rng: np.random.Generator) -> Rows:
    """The rows in a random order, each once."""
    return rng.permutation(rows)


def drawn(rows: Rows, rng: np.random.Generator) -> Rows:
    """As many rows, each drawn at random from all of them."""
    return rows[rng.integers(len(rows), size=len(rows))]
