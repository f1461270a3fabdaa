"""Examples: X and y as the lecture means them, checked once, never copied without need.

This is the only room that knows labels and the intercept. x0 is implied, never stored in X.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import kernels, orders
from rosenblatt.answers import one_or_two_labels, signs
from rosenblatt.tables import (
    column_names,
    floats,
    refuse_masked,
    refuse_non_finite,
    sum_of_squares,
)
from rosenblatt.words import counted

# Between these the square of a typical entry neither overflows nor vanishes.
_PLAIN_SQUARES = (1e-200, 1e200)
SAMPLE = 64


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows with their yes/no answers.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The features, float32 or float64, as given.
    y : int8 array of shape (n,)
        The answers as -1 and +1.
    labels : array of shape (2,)
        What -1 and +1 are called in the data.
    names : tuple of str, optional
        The feature names, where the data had them.
    x0 : float
        The constant feature; 0.0 means that there is no intercept.
    weights : float64 array of shape (n,), optional
        A weight s makes row n count as s·x when it is corrected; weight 0 leaves it out.

    Examples
    --------
    >>> examples = Examples.from_arrays([[0.0, 1.0], [2.0, 0.0]], ["no", "yes"])
    >>> examples.y, examples.labels.tolist()
    (array([-1,  1], dtype=int8), ['no', 'yes'])
    """

    X: Any
    y: NDArray[np.int8]
    labels: NDArray[Any]
    names: tuple[str, ...] | None = None
    x0: float = 1.0
    weights: NDArray[np.float64] | None = None

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        x0: float = 1.0,
        labels: NDArray[Any] | None = None,
        one_class: bool = False,
        looked_at: bool = True,
    ) -> Examples:
        """Check arrays, frames or sparse matrices and take them as examples.

        Parameters
        ----------
        X : array, CSR/CSC/COO matrix, or frame
            A C-contiguous float array or a CSR matrix is taken as it is, not copied.
        y : sequence
            Two kinds of answer; the larger in sort order is +1.
        x0 : float
            The constant feature, 0.0 for none.
        labels : array, optional
            The two labels where they are known already; otherwise y tells.
        one_class : bool
            Whether answers of one class only are allowed; they are taken as yes, except
            0, -1 and False, which are no.
        looked_at : bool
            Whether to look for NaN and infinity now; else whoever learns will come upon them.
        """
        if not math.isfinite(x0):
            raise ValueError(f"x0, the intercept_scaling, is {x0}; give a finite number.")
        table, names = floats(X), column_names(X)
        if one_class and labels is None:
            labels = one_or_two_labels(y)
        answers, labels = signs(y, labels)
        if len(answers) != table.shape[0]:
            raise ValueError(
                f"X has {counted(table.shape[0], 'row')} but y has "
                f"{counted(len(answers), 'answer')}; "
                "inconsistent numbers of samples: give one answer for each row."
            )
        examples = cls(table, answers, labels, names, float(x0))
        if looked_at or not examples._seem_plain():
            examples.look()
        return examples

    def look(self) -> None:
        """Refuse NaN and infinity anywhere, and have the unit fit all numbers, not only a few."""
        self.__dict__.pop("unit", None)
        if not math.isfinite(self.squares):
            refuse_non_finite(self.X, self.names)

    def _seem_plain(self) -> bool:
        """Take the unit to be 1 where a few of the numbers are of usual size."""
        numbers = self.numbers.reshape(-1)
        some = numbers[:: max(1, len(numbers) // SAMPLE)].astype(np.float64)
        with np.errstate(all="ignore"):
            plain = self._plain(float(some @ some) / max(1, len(some)))
        if plain:
            self.__dict__["unit"] = 1.0
        return plain

    def _plain(self, square: float) -> bool:
        low, high = _PLAIN_SQUARES
        return low < square + self.x0 * self.x0 < high

    def weighted(self, weights: Any, *, stream: bool = False) -> Examples:
        """Take the same examples with a weight for each row.

        Parameters
        ----------
        weights : sequence of n numbers, or one number
            From 0 up; 0 leaves the row out.
        stream : bool
            Whether these rows are a block of a stream, which may lack a class or have no weight.
        """
        s = row_weights(weights, self.n)
        if stream:
            return replace(self, weights=s)
        if not s.any():
            raise ValueError("every sample_weight is zero; give a positive weight to some rows.")
        left = np.unique(self.y[s > 0])
        if len(left) < 2:
            raise ValueError(
                "the rows with a positive sample_weight have answers of only "
                "one class; both classes are needed."
            )
        return replace(self, weights=s)

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """The number of features, x0 not counted."""
        return int(self.X.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether X is a CSR matrix."""
        return not isinstance(self.X, np.ndarray)

    @property
    def entries_per_row(self) -> int:
        """How many numbers a score multiplies, on average."""
        stored = self.X.nnz if self.is_sparse else self.X.size
        return 1 + int(stored) // self.n

    @property
    def kept(self) -> NDArray[np.unsignedinteger[Any]]:
        """The numbers of the rows that count: all but those of weight 0."""
        if self.weights is None:
            return np.arange(self.n, dtype=self.row_type)
        return np.flatnonzero(self.weights > 0).astype(self.row_type)

    @property
    def in_order(self) -> orders.Order:
        """The same in the order of the file, as kernels visit them fastest."""
        return kernels.FileOrder(0, self.n) if self.weights is None else self.kept

    @property
    def row_type(self) -> type[np.unsignedinteger[Any]]:
        """The smallest type that holds a row number."""
        return np.uint32 if self.n < 2**32 else np.uint64

    @property
    def numbers(self) -> NDArray[Any]:
        """The entries of X, those stored where it is sparse."""
        entries: NDArray[Any] = self.X.data if self.is_sparse else self.X
        return entries

    @functools.cached_property
    def squares(self) -> float:
        """The sum of the squares of all entries."""
        return sum_of_squares(self.numbers)

    def remember(self, squares: float) -> None:
        """Take the sum of squares from where it was added up already."""
        self.__dict__["squares"] = squares

    @functools.cached_property
    def length(self) -> float:
        """No tall row is longer than this."""
        low, high = _PLAIN_SQUARES
        size = max(self.numbers.size, 1)
        if low < self.squares / size < high:
            return math.sqrt(1.01 * self.squares) + abs(self.x0)
        return self.largest * math.sqrt(1.01 * size) + abs(self.x0)

    @property
    def largest(self) -> float:
        """The largest absolute entry of X."""
        numbers = self.numbers
        return max(float(numbers.max()), -float(numbers.min())) if numbers.size else 0.0

    @functools.cached_property
    def longest(self) -> int:
        """How many products a score adds up at the most."""
        if not self.is_sparse:
            return self.d + 1
        return 1 + int(np.diff(self.X.indptr).max(initial=0))

    @functools.cached_property
    def unit(self) -> float:
        """A power of two near the largest entry where entries are extreme, else 1.

        Learning in this unit gives the same corrections, and scores that neither overflow
        nor vanish when the features are around 1e200 or 1e-200.
        """
        numbers = self.numbers
        if numbers.size == 0 or self._plain(self.squares / numbers.size):
            return 1.0
        exponent = math.frexp(max(self.largest, abs(self.x0)))[1]
        # Twenty bits of room above for sums; none below, where precision is what is short.
        return math.ldexp(1.0, min(exponent + 20, 1020) if exponent > 0 else max(exponent, -1000))

    def rows(self, eta: float = 1.0) -> kernels.Dense | kernels.Sparse:
        """The examples as the kernels take them, corrections of length eta in `unit`."""
        length = eta / self.unit
        if length == 1 and self.weights is None:
            return kernel_rows(self.X, self.x0, self.y)
        step = np.multiply(self.y, length, dtype=np.float64)
        if self.weights is not None:
            step *= self.weights
        return kernel_rows(self.X, self.x0, step)

    def tall(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weights that a person sees: w0 first, or no w0 where there is no intercept."""
        return weights if self.x0 else weights[1:]

    def entries(self, n: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Row n as it is stored: places in a w with its slot, and values; places may repeat."""
        if self.is_sparse:
            part = slice(self.X.indptr[n], self.X.indptr[n + 1])
            places, values = self.X.indices[part].astype(np.intp), self.X.data[part]
        else:
            places, values = np.arange(self.d), self.X[n]
        return np.append(places + 1, 0), np.append(values.astype(np.float64), self.x0)

    def tall_row(self, n: int) -> NDArray[np.float64]:
        """Row n as a tall vector, with the w0 slot that kernels use."""
        row = self.X[[n]].toarray()[0] if self.is_sparse else self.X[n]
        return np.concatenate(([self.x0], row.astype(np.float64)))


def row_weights(weights: Any, n: int) -> NDArray[np.float64]:
    """Check one weight for each row, or one for all."""
    refuse_masked(weights, "sample_weight")
    try:
        s = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight is not a list of numbers: {error}.") from None
    if s.ndim == 0:
        s = np.full(n, float(s))
    if s.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {s.shape}; give one weight for each of the {n} rows."
        )
    bad = np.flatnonzero(~(np.isfinite(s) & (s >= 0)))
    if len(bad):
        raise ValueError(
            f"sample_weight of row {bad[0]} is {s[bad[0]]}; weights are numbers from 0 up."
        )
    return np.ascontiguousarray(s)


def kernel_rows(
    X: Any, x0: float, step: NDArray[Any], part: slice = slice(None)
) -> kernels.Dense | kernels.Sparse:
    """Wrap rows of a checked table for the kernels, read-only: one compilation serves all."""
    if isinstance(X, np.ndarray):
        rows = X[part]
        rows.flags.writeable = False
        return kernels.Dense(rows, x0, _read_only(step))
    unsigned = np.uint32 if X.indices.dtype.itemsize == 4 else np.uint64
    indptr = X.indptr.astype(X.indices.dtype, copy=False)
    begin, end, _ = part.indices(X.shape[0])
    return kernels.Sparse(
        _read_only(X.data),
        _read_only(X.indices.view(unsigned)),
        _read_only(indptr[begin : end + 1].view(unsigned)),
        x0,
        _read_only(step),
    )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
