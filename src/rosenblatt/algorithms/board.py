"""The examples as a search sees them: scaled, signed, each different row once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.descent import Board
from rosenblatt.examples import Examples

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scaling:
    """How weights on scaled columns become weights on the columns as they are."""

    middle: Floats
    width: Floats
    x0: float

    def tall(self, v: Floats) -> Floats:
        """Weights on x0 = 1 and scaled columns, as weights with a w0 slot on the raw ones."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            w = np.where(self.width > 0, v[1:] / np.where(self.width > 0, self.width, 1), 0.0)
            w0 = (v[0] - w @ self.middle) / self.x0 if self.x0 else 0.0
        return np.concatenate(([w0], w))

    def scaled(self, w: Floats) -> Floats:
        """The way back."""
        v = w[1:] * self.width
        return np.concatenate(([w[0] * self.x0 + w[1:] @ self.middle], v))

    def rows(self, X: Any) -> Floats:
        """Tall rows with x0 = 1 (0 without intercept) and scaled columns, dense."""
        dense = X.toarray() if hasattr(X, "toarray") else X
        A = np.empty((dense.shape[0], dense.shape[1] + 1))
        A[:, 0] = 1.0 if self.x0 else 0.0
        np.subtract(dense, self.middle, out=A[:, 1:])
        A[:, 1:] /= np.where(self.width > 0, self.width, 1)
        return A


def scaling_of(examples: Examples) -> Scaling:
    """Centre and scale the columns; without intercept, or when sparse, scale them only."""
    X, d = examples.X, examples.d
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if examples.is_sparse:
            squares = np.asarray(X.multiply(X).mean(axis=0), dtype=np.float64).ravel()
            middle = np.zeros(d)
        else:
            middle = X.mean(axis=0, dtype=np.float64) if examples.x0 else np.zeros(d)
            squares = np.empty(d)
            for j in range(d):
                away = X[:, j] - middle[j]
                squares[j] = np.dot(away, away) / len(away)
    width = np.sqrt(squares)
    # Columns that never change, or that overflow when squared, are left out of the search.
    width[~np.isfinite(width) | (width < 1e-14 * np.abs(middle)) | (width < 1e-150)] = 0.0
    return Scaling(np.where(np.isfinite(middle), middle, 0.0), width, examples.x0)


def board_of(examples: Examples, scaling: Scaling, rows: NDArray[Any]) -> Board:
    """These rows as a board; rows that are alike are put together."""
    A = scaling.rows(examples.X[rows]) * examples.y[rows, None]
    A[:, 1:][:, scaling.width == 0] = 0.0
    costs = np.ones(len(rows)) if examples.weights is None else examples.weights[rows]
    kept = costs > 0
    costs = costs / costs.max()  # or sums of them could overflow
    A, where = np.unique(A[kept], axis=0, return_inverse=True)
    costs = np.bincount(where.ravel(), weights=costs[kept])
    A = np.ascontiguousarray(A)
    return Board(A, np.ascontiguousarray(A.T), costs / costs.mean())
