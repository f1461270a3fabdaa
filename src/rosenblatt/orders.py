"""The orders in which examples are visited."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.unsignedinteger[Any]]

FIXED = ("cycle", "first")
CYCLES = ("cycle", "random-cycle", "shuffle")
NAMES = ("cycle", "random-cycle", "shuffle", "first", "random")


def permuted(rows: Rows, rng: np.random.Generator) -> Rows:
    """The rows in a random order, each once."""
    return rng.permutation(rows)
