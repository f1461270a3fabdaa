"""Projection: rows of many features in a plane, w against the first remaining direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

FEW_FEATURES = 400  # up to here all directions are found at once, above only the first


@dataclass(frozen=True, eq=False)
class Projection:
    """A plane through the middle of the rows, to draw them in.

    Parameters
    ----------
    middle : array of shape (d,)
        The mean of the rows, where the plane's two axes cross at (along·middle, 0).
    along : array of shape (d,)
        The direction of w, of unit length: the first axis.
    across : array of shape (d,)
        The direction in which the rows differ most once w's is taken out: the second axis.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [0.0, 3.0, 1.0], [2.0, 3.0, 1.0]])
    >>> plane = Projection.of(X, np.array([1.0, 0.0, 0.0]))
    >>> plane.points(X).tolist()
    [[0.0, -1.5], [2.0, -1.5], [0.0, 1.5], [2.0, 1.5]]
    """

    middle: NDArray[np.float64]
    along: NDArray[np.float64]
    across: NDArray[np.float64]

    @classmethod
    def of(cls, X: Any, w: NDArray[np.float64]) -> Self:
        """The plane for rows and the weights of their features, w0 left out.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            The rows.
        w : array of shape (d,)
            The first axis; where it is all zeros, the direction of most difference.
        """
        middle = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        largest = float(np.abs(w).max(initial=0.0))
        along = w / largest if largest else _most_different(X, middle, np.zeros(len(middle)))
        along = along / np.linalg.norm(along)
        return cls(middle, along, _most_different(X, middle, along))

    def points(self, X: Any) -> NDArray[np.float64]:
        """Where the rows are in the plane."""
        along = np.asarray(X @ self.along).ravel()
        across = np.asarray(X @ self.across).ravel() - self.middle @ self.across
        return np.column_stack((along, across))

    def lines(self, W: NDArray[np.float64], x0: float) -> NDArray[np.float64]:
        """Where hyperplanes cut the plane: c, a, b of each line c + a·u + b·v = 0.

        Parameters
        ----------
        W : array of shape (k, d + 1)
            Weights with their w0 slot.
        x0 : float
            The constant feature.
        """
        # The point of the plane with u = 0 is the middle moved back along the first axis.
        foot = self.middle - (self.middle @ self.along) * self.along
        w = W[:, 1:]
        return np.column_stack((W[:, 0] * x0 + w @ foot, w @ self.along, w @ self.across))


def _most_different(
    X: Any, middle: NDArray[np.float64], without: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The first principal direction of the rows with one direction taken out."""
    d = len(middle)
    if d <= FEW_FEATURES:
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        rest = dense - middle
        rest = rest - np.outer(rest @ without, without)
        found = np.linalg.eigh(rest.T @ rest)[1][:, -1]
    else:
        found = _first_by_steps(X, middle, without)
    found = found - (found @ without) * without
    length = float(np.linalg.norm(found))
    if length < 1e-9:  # no direction is left: the second axis is flat
        return np.zeros(d)
    found = found / length
    return found * (1.0 if found[int(np.abs(found).argmax())] > 0 else -1.0)


def _first_by_steps(
    X: Any, middle: NDArray[np.float64], without: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The same without a table of all pairs of features: many features, stored as they are."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    def times(v: NDArray[np.float64]) -> NDArray[np.float64]:
        v = v.ravel() - (without @ v.ravel()) * without
        scores = np.asarray(X @ v).ravel() - middle @ v
        back = np.asarray(X.T @ scores).ravel() - middle * scores.sum()
        return np.asarray(back - (without @ back) * without)

    d = len(middle)
    start = np.random.default_rng(0).standard_normal(d)
    operator = LinearOperator((d, d), matvec=times, dtype=np.float64)
    return np.asarray(eigsh(operator, k=1, v0=start, tol=1e-6)[1][:, 0])
