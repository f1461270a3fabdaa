"""The signed examples z_n = y_n·(x0, x_n), as the solvers see them: floats and exact fractions.

Columns and rows are scaled by powers of two, which rounds nothing, so that floats of any size
can be worked with. Some rows may be left out, and some directions divided away.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from rosenblatt.clock import NEVER, Deadline
from rosenblatt.evidence import loops
from rosenblatt.evidence.integers import batches, not_below
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Columns or rows further apart than this are scaled before the question is asked.
FAR_APART = 2.0**20


@dataclass(frozen=True, eq=False)
class Look:
    """What one look at the data tells: the radius R, the largest entries, how far apart."""

    radius: float
    columns: Floats
    far_apart: bool


def look_at(examples: Examples) -> Look:
    """Look once at all examples."""
    unit, x0 = examples.unit, abs(examples.x0)
    squares, columns = _look(examples, np.full(examples.d, 1.0 / unit))
    least, most = float(squares.min()) + (x0 / unit) * (x0 / unit), float(squares.max())
    radius = not_below(math.hypot(math.sqrt(most), x0 / unit), unit)
    tall = np.concatenate(([x0], columns)) if x0 else columns
    used = tall[tall > 0]
    apart = least * FAR_APART**2 < most or bool(
        used.max(initial=0.0) / FAR_APART > used.min(initial=math.inf)
    )
    return Look(radius, tall, apart)


def scaled_radius(examples: Examples, look: Look) -> float:
    """R if each column of X were divided by its largest entry."""
    columns = look.columns[1:] if examples.x0 else look.columns
    with np.errstate(over="ignore"):
        scales = 1.0 / np.where(columns > 0, columns, 1.0)
    if not np.isfinite(scales).all():
        return math.inf  # the largest entry of a column is too small to divide by in floats
    squares, _ = _look(examples, scales)
    return math.hypot(math.sqrt(squares.max()), examples.x0)


@dataclass(frozen=True, eq=False)
class ScaledRadius:
    """The work of finding the scaled radius of a block."""

    look: Look

    def __call__(self, block: Examples, first: int) -> float:
        """R of the block."""
        return scaled_radius(block, self.look)


def _look(examples: Examples, scales: Floats) -> tuple[Floats, Floats]:
    squares, columns = np.zeros(examples.n), np.zeros(examples.d)
    X = examples.X
    if examples.is_sparse:
        loops.look_at_sparse(X.data, X.indices, X.indptr, scales, squares, columns)
    else:
        loops.look_at_dense(X, scales, squares, columns)
    return squares, columns


@dataclass(frozen=True, eq=False)
class Scale:
    """Powers of two: what each column is multiplied by, and each row."""

    columns: Floats
    rows: Floats | None = None

    @classmethod
    def plain(cls, look: Look) -> Scale:
        """One unit for all numbers: lengths and margins keep their meaning."""
        return cls(np.full(len(look.columns), _inverse(look.columns.max(initial=0.0))))

    @classmethod
    def even(cls, examples: Examples, look: Look) -> Scale:
        """Each column in its own unit, and each row if rows differ much even so."""
        columns = np.array([_inverse(a) for a in look.columns])
        rows = _largest_of_rows(examples, columns)
        live = rows[rows > 0]
        if len(live) == 0 or live.max() <= FAR_APART * live.min():
            return cls(columns)
        return cls(columns, np.array([_inverse(a) for a in rows]))

    @property
    def is_plain(self) -> bool:
        """Whether lengths keep their meaning."""
        return self.rows is None and bool((self.columns == self.columns[0]).all())


def _inverse(a: float) -> float:
    # Numbers below 2^-1000 lose nothing but nearness to 1. None may be above it: see `rounding`.
    return math.ldexp(1.0, -max(math.frexp(a)[1], -1000)) if a else 1.0


def _largest_of_rows(examples: Examples, columns: Floats) -> Floats:
    largest = np.full(examples.n, abs(examples.x0) * columns[0] if examples.x0 else 0.0)
    units = columns[1:] if examples.x0 else columns
    for start, X, _ in batches(examples):
        if not isinstance(X, np.ndarray):
            X = X.copy()
            X.data = np.abs(X.data) * units[X.indices]
            top = X.max(axis=1).toarray().ravel()
        else:
            top = (np.abs(X) * units).max(axis=1)
        np.maximum(largest[start : start + len(top)], top, out=largest[start : start + len(top)])
    return largest


@dataclass(frozen=True, eq=False)
class Quotient:
    """Directions divided away: w is 0 on them when w at the pivots is -fill · w elsewhere."""

    pivots: Rows
    others: Rows
    fill: flint.fmpq_mat  # len(pivots) × len(others)

    @functools.cached_property
    def floats(self) -> Floats:
        """fill, rounded."""
        return np.array([[round_fraction(v) for v in row] for row in self.fill.tolist()]).reshape(
            len(self.pivots), len(self.others)
        )


@dataclass(eq=False)
class Signed:
    """Rows to be separated from the origin; `passes` counts the looks at all of them.

    Once the deadline is over, a look raises OutOfTimeError.
    """

    examples: Examples
    scale: Scale
    quotient: Quotient | None = None
    alive: NDArray[np.bool_] | None = None
    passes: int = 0
    deadline: Deadline = NEVER

    def __post_init__(self) -> None:
        self.signs = self.examples.y.astype(np.float64)
        if self.scale.rows is not None:
            self.signs *= self.scale.rows

    @property
    def dimension(self) -> int:
        """The number of coordinates of a row."""
        return len(self.scale.columns if self.quotient is None else self.quotient.others)

    def scores(self, w: Floats) -> Floats:
        """w·z for every row, infinite for those left out; one pass over the data."""
        return self.scores_whole(self._whole(w))

    def scores_whole(self, w: Floats) -> Floats:
        """The same for w with nothing divided away."""
        self.deadline.check()
        self.passes += 1
        w = w * self.scale.columns
        slot = w if self.examples.x0 else np.concatenate(([0.0], w))
        s = Hypothesis(slot, self.examples.x0).scores(self.examples.X)
        s *= self.signs
        if self.alive is not None:
            s[~self.alive] = np.inf
        return s

    def take(self, rows: Rows) -> Any:
        """Some rows as an array, or as a CSR matrix where the data are one."""
        X, signs = self.examples.X[rows], self.signs[rows]
        if self.examples.is_sparse:
            return self._take_sparse(X, signs)
        Z = X.astype(np.float64)
        if self.examples.x0:
            Z = np.column_stack((np.full(len(rows), self.examples.x0), Z))
        Z *= self.scale.columns
        Z *= signs[:, None]
        if self.quotient is None:
            return Z
        return Z[:, self.quotient.others] - Z[:, self.quotient.pivots] @ self.quotient.floats

    def _take_sparse(self, X: Any, signs: Floats) -> Any:
        from scipy import sparse

        Z = sparse.csr_array(X, dtype=np.float64)
        if self.examples.x0:
            ones = np.full((len(signs), 1), self.examples.x0)
            Z = sparse.hstack((sparse.csr_array(ones), Z), format="csr")
        Z.data *= self.scale.columns[Z.indices]
        Z.data *= np.repeat(signs, np.diff(Z.indptr))
        if self.quotient is None:
            return Z
        fill = sparse.csr_array(self.quotient.floats)
        return (Z[:, self.quotient.others] - Z[:, self.quotient.pivots] @ fill).tocsr()

    def _whole(self, w: Floats) -> Floats:
        if self.quotient is None:
            return w
        whole = np.empty(len(self.scale.columns))
        whole[self.quotient.others] = w
        whole[self.quotient.pivots] = -self.quotient.floats @ w
        return whole

    def exact(self, rows: Sequence[int]) -> flint.fmpq_mat:
        """Some rows as the fractions that they are."""
        Z = self.exact_whole(rows)
        if self.quotient is None:
            return Z
        others, pivots = columns_of(Z, self.quotient.others), columns_of(Z, self.quotient.pivots)
        return others - pivots * self.quotient.fill if len(self.quotient.pivots) else others

    def exact_whole(self, rows: Sequence[int]) -> flint.fmpq_mat:
        """Some rows as fractions, nothing divided away."""
        self.deadline.check()
        index = np.asarray(rows, dtype=np.intp)
        X = self.examples.X[index]
        X = (X.toarray() if self.examples.is_sparse else X).astype(np.float64)
        if self.examples.x0:
            X = np.column_stack((np.full(len(index), self.examples.x0), X))
        fractions, exponents = np.frexp(X)
        mantissas = np.ldexp(fractions * self.examples.y[index, None], 53).astype(np.int64)
        exponents += np.frexp(self.scale.columns)[1] - 54
        if self.scale.rows is not None:
            exponents += (np.frexp(self.scale.rows[index])[1] - 1)[:, None]
        n, d = X.shape
        entries = [flint.fmpq(0)] * (n * d)
        at = np.flatnonzero(mantissas)  # of dummies, few are not zero
        some = (at, mantissas.ravel()[at], exponents.ravel()[at])
        for i, m, e in zip(*(values.tolist() for values in some), strict=True):
            entries[i] = power(m, e)
        return flint.fmpq_mat(int(n), int(d), entries)

    def scaled_whole(self, w: Sequence[flint.fmpq]) -> list[flint.fmpq]:
        """Exact weights with nothing divided away, for the scaled rows."""
        if self.quotient is None:
            return list(w)
        pivots, others = self.quotient.pivots.tolist(), self.quotient.others.tolist()
        whole = [flint.fmpq(0)] * len(self.scale.columns)
        for j, v in zip(others, w, strict=True):
            whole[j] = v
        if pivots:
            filled = self.quotient.fill * flint.fmpq_mat(len(w), 1, list(w))
            for j, v in zip(pivots, filled.entries(), strict=True):
                whole[j] = -v
        return whole

    def unscaled(self, whole: Sequence[flint.fmpq]) -> list[flint.fmpq]:
        """Exact tall weights for the data as they were given, from those for scaled rows."""
        powers = (np.frexp(self.scale.columns)[1] - 1).tolist()
        return [v * power(1, e) for v, e in zip(whole, powers, strict=True)]

    def row_power(self, n: int) -> flint.fmpq:
        """What row n was multiplied by."""
        if self.scale.rows is None:
            return flint.fmpq(1)
        return power(1, int(np.frexp(self.scale.rows[n])[1]) - 1)


def columns_of(Z: flint.fmpq_mat, columns: Rows) -> flint.fmpq_mat:
    """Some columns of a matrix."""
    table = Z.tolist()
    return flint.fmpq_mat(
        Z.nrows(), len(columns), [row[j] for row in table for j in columns.tolist()]
    )


def power(m: int, e: int) -> flint.fmpq:
    """m·2^e."""
    return flint.fmpq(m << e) if e >= 0 else flint.fmpq(m, 1 << -e)


def round_fraction(v: flint.fmpq) -> float:
    """The nearest float."""
    return int(v.p) / int(v.q)
