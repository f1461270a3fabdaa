"""A corral: the rows that carry the nearest point to the origin, and their multipliers."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt import kernels
from rosenblatt.clock import Deadline
from rosenblatt.evidence import loops
from rosenblatt.evidence.signed import Floats, Rows

STEPS = 2**8  # admissions in one compiled call, so that Ctrl-C and deadlines are answered


class Corral:
    """Members among the rows of a working set; see `loops` for how it walks."""

    def __init__(self, dimension: int) -> None:
        self.k = 0
        self.height = 1.0
        self.room = _room(8, np.zeros(dimension))

    @property
    def members(self) -> Rows:
        """The members, as places in the working set."""
        return self.room.members[: self.k]

    @property
    def u(self) -> Floats:
        """Their multipliers; Σ u z = w."""
        return self.room.u[: self.k]

    @property
    def w(self) -> Floats:
        """The point they carry, times Σu."""
        return self.room.w

    @property
    def total(self) -> float:
        """Σu, by which w must be divided to be a point of the hull."""
        return float(self.u.sum())

    def renumber(self, members: Rows) -> None:
        """Say where the members are after the working set was changed."""
        self.room.members[: self.k] = members

    def walk(self, Z: Any, lengths: Floats, tolerance: float, deadline: Deadline) -> bool:
        """Walk to the nearest point of the working set; False at the origin or stuck there."""
        table = working_rows(Z)
        while True:
            deadline.check()
            self.k, self.height, end = loops.walk_on(
                table, lengths, self.room, self.k, self.height, tolerance, STEPS
            )
            if end == loops.FULL:
                self._grow()
            elif end != loops.MORE:
                return bool(end == loops.NEAREST)

    def _grow(self) -> None:
        old, self.room = self.room, _room(2 * self.k + 8, self.room.w)
        self.room.members[: self.k] = old.members[: self.k]
        self.room.u[: self.k] = old.u[: self.k]
        self.room.L[: self.k, : self.k] = old.L[: self.k, : self.k]


def working_rows(Z: Any) -> kernels.Dense | kernels.Sparse:
    """A working set as the loops take it: signed rows, no x0, no steps."""
    none = np.empty(0)
    if isinstance(Z, np.ndarray):
        return kernels.Dense(Z, 0.0, none)
    return kernels.Sparse(
        Z.data, Z.indices.astype(np.uint32), Z.indptr.astype(np.uint32), 0.0, none
    )


def _room(size: int, w: Floats) -> loops.Corral:
    return loops.Corral(np.zeros(size, dtype=np.intp), np.zeros(size), np.zeros((size, size)), w)
