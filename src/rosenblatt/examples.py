"""Examples: X and y as the lecture means them, checked once, never copied without need.

This is the only room that knows labels and the intercept. x0 is implied, never stored in X.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import kernels
from rosenblatt.engine import in_threads

# Between these the square of a typical entry neither overflows nor vanishes.
_PLAIN_SQUARES = (1e-200, 1e200)


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
        """
        table, names = _floats(X), column_names(X)
        if one_class and labels is None:
            labels = _one_or_two_labels(y)
        answers, labels = _signs(y, labels)
        if len(answers) != table.shape[0]:
            raise ValueError(
                f"X has {table.shape[0]} rows but y has {len(answers)} answers; "
                "inconsistent numbers of samples: give one answer for each row."
            )
        examples = cls(table, answers, labels, names, float(x0))
        if not math.isfinite(examples.squares):
            _refuse_non_finite(table, names)
        return examples

    def weighted(self, weights: Any) -> Examples:
        """Take the same examples with a weight for each row."""
        try:
            s = np.ascontiguousarray(weights, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"sample_weight is not a list of numbers: {error}.") from None
        if s.shape != self.y.shape:
            raise ValueError(
                f"sample_weight has shape {s.shape}; give one weight for each of the {self.n} rows."
            )
        bad = np.flatnonzero(~(np.isfinite(s) & (s >= 0)))
        if len(bad):
            raise ValueError(
                f"sample_weight of row {bad[0]} is {s[bad[0]]}; weights are numbers from 0 up."
            )
        if not s.any():
            raise ValueError("every sample_weight is zero; give a positive weight to some rows.")
        left = np.unique(self.y[s > 0])
        if len(left) < 2:
            raise ValueError(
                "the rows with a positive sample_weight have answers of only "
                f"{len(left)} class(es); both classes are needed."
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

    @functools.cached_property
    def unit(self) -> float:
        """A power of two near the largest entry where entries are extreme, else 1.

        Learning in this unit gives the same corrections, and scores that neither overflow
        nor vanish when the features are around 1e200 or 1e-200.
        """
        numbers = self.numbers
        typical = self.squares / max(numbers.size, 1) + self.x0 * self.x0
        if _PLAIN_SQUARES[0] < typical < _PLAIN_SQUARES[1] or numbers.size == 0:
            return 1.0
        largest = max(float(numbers.max()), -float(numbers.min()), abs(self.x0))
        exponent = math.frexp(largest)[1]
        # Twenty bits of room above for sums; none below, where precision is what is short.
        return math.ldexp(1.0, min(exponent + 20, 1020) if exponent > 0 else max(exponent, -1000))

    def rows(self, eta: float = 1.0) -> kernels.Dense | kernels.Sparse:
        """The examples as the kernels take them, corrections of length eta in `unit`."""
        step = np.multiply(self.y, eta / self.unit, dtype=np.float64)
        if self.weights is not None:
            step *= self.weights
        return kernel_rows(self.X, self.x0, step)

    def tall(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weights that a person sees: w0 first, or no w0 where there is no intercept."""
        return weights if self.x0 else weights[1:]

    def tall_row(self, n: int) -> NDArray[np.float64]:
        """Row n as a tall vector, with the w0 slot that kernels use."""
        row = self.X[[n]].toarray()[0] if self.is_sparse else self.X[n]
        return np.concatenate(([self.x0], row.astype(np.float64)))


def kernel_rows(
    X: Any, x0: float, step: NDArray[np.float64], part: slice = slice(None)
) -> kernels.Dense | kernels.Sparse:
    """Wrap rows of a checked table for the kernels, read-only: one compilation serves all."""
    if isinstance(X, np.ndarray):
        return kernels.Dense(_read_only(X[part]), x0, _read_only(step))
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


def as_table(X: Any) -> Any:
    """Check X and return it as a C-contiguous float array or a CSR matrix."""
    table = _floats(X)
    numbers = table if isinstance(table, np.ndarray) else table.data
    if not math.isfinite(sum_of_squares(numbers)):
        _refuse_non_finite(table, column_names(X))
    return table


def column_names(X: Any) -> tuple[str, ...] | None:
    """The column names of a frame whose names are all text, else None."""
    names = getattr(X, "column_names", None)
    if names is None:
        names = getattr(X, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names)


def sum_of_squares(numbers: NDArray[Any]) -> float:
    """One fast pass; not finite if any number is not (or where squares overflow)."""
    flat = numbers.reshape(-1)
    sums = [0.0]

    def add(part: slice) -> None:
        # Not np.dot: its threads go on spinning for a while and slow down what comes next.
        with np.errstate(over="ignore", invalid="ignore"):
            sums.append(float(np.einsum("i,i->", flat[part], flat[part])))

    in_threads(add, len(flat), len(flat))
    return sum(sums)


def _floats(X: Any) -> Any:
    """X as a float array or a CSR matrix, its shape and types checked but not its values."""
    if hasattr(X, "tocsr"):
        return _as_csr(X)
    array = X if isinstance(X, np.ndarray) else _as_array(X)
    _check_shape(array.shape, array.ndim)
    if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        array = _as_floats(array, column_names(X))
    return np.ascontiguousarray(array)


def _as_array(X: Any) -> NDArray[Any]:
    if hasattr(X, "column_names") and hasattr(X, "column"):
        return np.column_stack([X.column(i).to_numpy() for i in range(X.num_columns)])
    if hasattr(X, "to_numpy"):
        return np.asarray(X.to_numpy())
    try:
        return np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X is not a table: {error}") from None


def _as_csr(X: Any) -> Any:
    if X.ndim != 2:
        raise ValueError(
            f"X has {X.ndim} dimension(s); give a sparse matrix with rows and columns."
        )
    csr = X.tocsr()
    _check_shape(csr.shape, csr.ndim)
    if csr.dtype not in (np.float32, np.float64):
        if csr.dtype.kind not in "iub":
            raise ValueError(f"X holds {csr.dtype}: Complex data not supported, nor other types.")
        csr = csr.astype(np.float64)
    return csr


def _check_shape(shape: tuple[int, ...], ndim: int) -> None:
    if ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {ndim}D array instead: X has shape {shape}. Reshape your data "
            "with X.reshape(-1, 1) if it is one feature or X.reshape(1, -1) if it is one example."
        )
    if shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required."
        )
    if shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )


def _as_floats(array: NDArray[Any], names: tuple[str, ...] | None) -> NDArray[np.float64]:
    if array.dtype.kind in "iubf":
        return array.astype(np.float64)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X has complex numbers; give real ones.")
    if array.dtype.kind == "O":
        return _cells_as_floats(array, names)
    at = next((i for i, cell in enumerate(array.flat) if not _looks_like_a_number(cell)), 0)
    row, column = place(array, at)
    raise _text(array.flat[at], row, column, names)


def _cells_as_floats(array: NDArray[Any], names: tuple[str, ...] | None) -> NDArray[np.float64]:
    result = np.empty(array.shape)
    for (row, column), cell in np.ndenumerate(array):
        where = f"X, row {row}, {_column(column, names)}"
        if isinstance(cell, str | bytes):
            bad = next(
                (r for r, c in enumerate(array[:, column]) if not _looks_like_a_number(c)), row
            )
            raise _text(array[bad, column], bad, column, names)
        if isinstance(cell, complex | np.complexfloating):
            raise ValueError(f"{where}: {cell!r} is complex. Complex data not supported.")
        try:
            result[row, column] = np.nan if cell is None else cell
        except (TypeError, ValueError) as error:
            raise TypeError(f"{where}: {error}; argument must be a string or number.") from None
    return result


def _looks_like_a_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _text(cell: Any, row: int, column: int, names: tuple[str, ...] | None) -> ValueError:
    shown = cell.item() if isinstance(cell, np.generic) else cell
    what = "is text" if _looks_like_a_number(cell) else "is not a number"
    return ValueError(
        f"X, row {row}, {_column(column, names)}: {shown!r} {what}. "
        "Turn text into numbers first (one-hot or word counts)."
    )


def _refuse_non_finite(table: Any, names: tuple[str, ...] | None) -> None:
    """Name the first NaN or infinity, if there is one: squares also overflow without."""
    dense = isinstance(table, np.ndarray)
    numbers = table.reshape(-1) if dense else table.data
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad) == 0:
        return
    row, column = place(table, int(bad[0]))
    what = "NaN" if math.isnan(numbers[bad[0]]) else "infinity (inf)"
    raise ValueError(
        f"X, row {row}, {_column(column, names)}: {what} is not a number that can be learnt from. "
        "Drop the row or fill in a value."
    )


def place(table: Any, at: int) -> tuple[int, int]:
    """The row and column of the entry at a flat position."""
    if isinstance(table, np.ndarray):
        row, column = divmod(at, table.shape[1])
        return int(row), int(column)
    row = int(np.searchsorted(table.indptr, at, side="right")) - 1
    return row, int(table.indices[at])


def _column(column: int, names: Sequence[str] | None) -> str:
    return f"column {column}" if names is None else f'column "{names[column]}"'


def _signs(y: Any, known: NDArray[Any] | None) -> tuple[NDArray[np.int8], NDArray[Any]]:
    answers = _one_dimension(y)
    labels = _two_labels(answers) if known is None else known
    is_yes = np.asarray(answers == labels[1], dtype=bool)
    is_no = np.asarray(answers == labels[0], dtype=bool)
    strange = np.flatnonzero(~(is_yes | is_no))
    if len(strange):
        if known is None:
            raise _too_many_labels(answers)
        row = strange[0]
        raise ValueError(
            f"y, row {row}: {answers[row]!r} is not one of the classes "
            f"{labels[0]!r} and {labels[1]!r}."
        )
    return is_yes.astype(np.int8) * np.int8(2) - np.int8(1), labels


def _one_dimension(y: Any) -> NDArray[Any]:
    if y is None:
        raise ValueError(
            "learning requires y to be passed, but the target y is None: "
            "give an answer for each row."
        )
    answers = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if answers.ndim != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {answers.shape} instead: "
            "give one answer for each row."
        )
    if answers.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(answers))
    elif answers.dtype.kind == "O":
        bad = np.flatnonzero([cell is None or cell != cell for cell in answers])
    else:
        bad = np.array([], dtype=np.intp)
    if len(bad):
        what = (
            "NaN" if answers[bad[0]] is None or answers[bad[0]] != answers[bad[0]] else "infinity"
        )
        raise ValueError(f"Input y contains {what} in row {bad[0]}; each row needs an answer.")
    return answers


def _two_labels(answers: NDArray[Any]) -> NDArray[Any]:
    if len(answers) == 0:
        raise ValueError("y is empty; give one answer for each row of X.")
    if answers.dtype.kind in "biuf":
        labels = np.array([answers.min(), answers.max()], dtype=answers.dtype)
    else:
        labels = _distinct(answers)
        if len(labels) > 2:
            raise _too_many_labels(answers)
    if labels[0] == labels[-1]:
        raise ValueError(
            f"y has only one class, {labels[:1].tolist()[0]!r}; "
            "learning needs examples of two classes."
        )
    return labels


def _one_or_two_labels(y: Any) -> NDArray[Any] | None:
    """The one label twice, or in its place beside a label that y does not have; None for two."""
    answers = _one_dimension(y)
    if len(answers) == 0 or (answers != answers[0]).any():
        return None
    only = answers[0]
    if answers.dtype.kind in "biuf" and only in (0, -1):
        return np.array([only, 1])
    return np.array([only, only], dtype=answers.dtype)


def _distinct(answers: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.unique(answers)
    except TypeError:
        kinds = sorted({type(answer).__name__ for answer in answers})
        raise ValueError(
            f"y mixes answers of kinds {' and '.join(kinds)}; make them all of one kind "
            "(classes must be uniformly strings or numbers)."
        ) from None


def _too_many_labels(answers: NDArray[Any]) -> ValueError:
    labels = _distinct(answers)
    shown = ", ".join(repr(label) for label in labels[:4].tolist()) + (
        ", …" if len(labels) > 4 else ""
    )
    if answers.dtype.kind == "f" and (labels != np.round(labels)).any():
        return ValueError(
            f"Unknown label type: y has {len(labels)} different numbers ({shown}), continuous "
            "values; give two kinds of answer."
        )
    return ValueError(
        "Only binary classification is supported. "
        f"y has {len(labels)} classes ({shown}); give two kinds of answer."
    )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
