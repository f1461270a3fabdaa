"""Coefficients: which way each estimate runs, and which columns to drop so that none does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rosenblatt.evidence.cone import (
    Constraints,
    Partition,
    determined,
    direction,
    null_space,
    spanning_rows,
)
from rosenblatt.evidence.families import Question
from rosenblatt.evidence.nearest import Watch
from rosenblatt.evidence.proof import Vector
from rosenblatt.evidence.reasons import DOWN, EITHER, FINITE, INFINITE, UNKNOWN, UNSIGNED, UP
from rosenblatt.examples import Examples

ALONE = 100  # columns of which each is tried alone
FEW = 24  # more columns to drop than so many are no advice
MANY = 400  # of so many columns those to drop are not looked for: it would take minutes


@dataclass(frozen=True)
class Blame:
    """Why each estimate is what it is, and columns without which none is infinite.

    Parameters
    ----------
    why : tuple of str
        A reason for each coefficient.
    drop : tuple of str
        Columns; none where it would take many, or is not known.
    reason : str
        Why something is not known; empty where all is.
    """

    why: tuple[str, ...]
    drop: tuple[str, ...] = ()
    reason: str = ""


def blame(asked: Question, found: Partition, watch: Watch) -> Blame:
    """Find out which way the estimates run; what is known by then if interrupted.

    Parameters
    ----------
    asked : Question
        The regression.
    found : Partition
        Which of its rows are separated.
    watch : callable
        Told how far the solver is.
    """
    constraints, reason = asked.constraints, ""
    why, alone = _known(constraints, found)
    drop: Sequence[str] = ()
    ask = Asking(constraints, found, [found.direction], watch)
    try:
        for j in np.flatnonzero(np.array(why) == UNSIGNED).tolist():
            why[j] = ask.sign(j, alone=alone)
        if found.separated.any():
            drop = _droppable(ask, asked, why)
    except KeyboardInterrupt:
        reason = "interrupted before all was known about the coefficients"
    return Blame(tuple(why), tuple(drop), reason)


def _known(constraints: Constraints, found: Partition) -> tuple[list[str], bool]:
    """What the ranks tell of each coefficient, and whether there is one direction alone."""
    examples = constraints.examples
    over = null_space(examples, found.spanning)
    finite = determined(over, examples.d)
    rows = np.flatnonzero(found.separated)
    spanning = [*found.spanning, *spanning_rows(examples, rows)] if len(rows) else found.spanning
    every = null_space(examples, _independent(examples, spanning))
    known = determined(every, examples.d)
    why = [FINITE if f else UNSIGNED if k else UNKNOWN for f, k in zip(finite, known, strict=True)]
    return why, len(over.others) - len(every.others) == 1


def _independent(examples: Examples, rows: Sequence[int]) -> list[int]:
    return spanning_rows(examples, np.array(rows, dtype=np.intp))


@dataclass(frozen=True, eq=False)
class Asking:
    """Asks whether some direction of the cone has a coefficient of some sign."""

    constraints: Constraints
    found: Partition
    directions: list[Vector]  # that are known to be in the cone
    watch: Watch

    def sign(self, j: int, *, alone: bool) -> str:
        """Whether coefficient j is positive, negative or either along the cone's directions."""
        signs = {(v[j] > 0) - (v[j] < 0) for v in self.directions} - {0}
        for side in (1, -1):
            if side not in signs and not alone:
                possible = self.possible(j, side)
                if possible is None:
                    return UNSIGNED
                signs |= {side} if possible else set()
        return EITHER if len(signs) == 2 else UP if signs == {1} else DOWN

    def possible(self, j: int, side: int) -> bool | None:
        """Whether some direction of the cone has this sign at j; None where undecided."""
        small = self._small(extra=1)
        small.examples.X[-1, j] = side * _size(small.examples.X[:, j])
        found = direction(small, self.watch, row=len(small.pinned) - 1)
        if found is None:
            return None
        self.directions.append(found)
        return side * found[j] > 0

    def without(self, columns: Sequence[int]) -> Vector | None:
        """A direction that is left once columns are dropped, zeros if none; None if undecided."""
        small = self._small(extra=len(columns))
        for row, j in enumerate(columns, len(small.pinned) - len(columns)):
            small.examples.X[row, j] = _size(small.examples.X[:, j])
            small.pinned[row] = True
        return direction(small, self.watch)

    def finite_without(self, columns: Sequence[int]) -> bool:
        """Whether nothing is separated once these columns are dropped."""
        left = self.without(columns)
        return left is not None and not any(left)

    def _small(self, extra: int) -> Constraints:
        """The separated rows, rows that span the others, pinned, and some rows of zeros."""
        examples = self.constraints.examples
        rows = np.flatnonzero(self.found.separated)
        span = np.array(self.found.spanning, dtype=np.intp)
        index = np.concatenate((rows, span)).astype(np.intp)
        X = examples.X[index]
        X = X.toarray() if examples.is_sparse else X
        X = np.vstack((X.astype(np.float64), np.zeros((extra, examples.d))))
        y = np.concatenate((examples.y[index], np.ones(extra, dtype=np.int8)))
        pinned = np.zeros(len(y), dtype=bool)
        pinned[len(rows) : len(index)] = True
        return Constraints(replace(examples, X=X, y=y), pinned)


def _size(column: NDArray[np.float64]) -> float:
    """A number as large as those of a column, so that a row of its own stands out in no way."""
    return float(np.abs(column).max()) or 1.0


def _droppable(ask: Asking, asked: Question, why: Sequence[str]) -> list[str]:
    """Few columns to drop so that nothing is separated: one if one will do."""
    places = asked.columns
    infinite = [name for name, js in places.items() if any(why[j] in INFINITE for j in js)]
    unknown = [name for name, js in places.items() if any(why[j] == UNKNOWN for j in js)]
    # Those that are infinite are to blame before those that no row identifies; the last first,
    # for before them stand the intercept and what a person put in first.
    order = list(dict.fromkeys([*reversed(infinite), *reversed(unknown)]))
    if len(order) > MANY:
        return []
    if len(order) <= ALONE:
        for name in order:
            if ask.finite_without(places[name]):
                return [name]
    chosen: list[str] = []
    left: Vector | None = ask.found.direction
    while left is not None and any(left):
        if len(chosen) == FEW:
            return []
        chosen.append(next(n for n in order if any(left[j] for j in places[n])))
        left = ask.without([j for name in chosen for j in places[name]])
    if left is None:
        return []
    chosen.sort(key=list(places).index)
    for name in list(chosen):
        fewer = [k for k in chosen if k != name]
        if fewer and ask.finite_without([j for k in fewer for j in places[k]]):
            chosen = fewer
    return chosen
