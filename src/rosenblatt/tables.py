"""Tables: whatever X is given as, checked and taken as a float array or a CSR matrix.

Doubles hold every whole number up to 2^53, and above it only some. An id or a time in nanoseconds
that is rounded becomes another one, so it is refused instead.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.errors import RowError, quoted, with_index_labels
from rosenblatt.words import counted, shortened

BUILD_ANEW = "build the matrix anew, for example from rows, columns and values with coo_array."
LARGE = 2.0**53  # from here on whole numbers may be rounded
PROMISED = "a number that a double holds exactly"
WRITTEN = re.compile(r"\s*[+-]?(\d+)(?:[.,]0*)?\s*")
MOMENT = (
    "a date or a time is not a number. Convert it first (to days since some date, for example), or "
    "leave the column out."
)
MOMENTS = date | time | timedelta | np.datetime64 | np.timedelta64
DIGITS = 400  # longer ones are not finite as doubles


Names = tuple[str, ...] | None  # of columns, where they have any


def places_named(count: int) -> tuple[str, ...]:
    """The names of columns that have none: x1, x2, …"""
    return tuple(f"x{i}" for i in range(1, count + 1))


def column_names(X: Any) -> tuple[str, ...] | None:
    """The column names of a frame whose names are all text, else None."""
    names = getattr(X, "column_names", None)
    if names is None:
        names = getattr(X, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names)


def floats(X: Any) -> Any:
    """X as a float array or a CSR matrix, its shape and types checked but not its values."""
    if hasattr(X, "tocsr"):
        return _as_csr(X)
    refuse_masked(X, "X")
    array = X if isinstance(X, np.ndarray) else _as_array(X)
    _check_shape(array.shape, array.ndim)
    names = column_names(X)
    with with_index_labels(X):
        if array is not X and array.dtype.kind == "f":
            _refuse_rounded(X, array, names)
        if array.dtype.char not in "fd" or not array.dtype.isnative:
            array = _asfloats(array, names)
    return np.ascontiguousarray(array)


def _refuse_rounded(X: Any, array: NDArray[Any], names: Names) -> None:
    """Refuse whole numbers that were rounded when they came into one array with others."""
    for column in np.unique(large(array.reshape(-1)) % array.shape[1]).tolist():
        cells = _column_of(X, column)
        row = first_changed(cells, array[:, column].astype(np.float64))
        if row is not None:
            raise _rounded(cells[row], (row, column), names)


def _column_of(X: Any, column: int) -> NDArray[Any]:
    """The cells of a column as they were given."""
    if hasattr(X, "column_names"):
        cells = X.column(column).to_pylist()
    elif hasattr(X, "iloc"):
        cells = X.iloc[:, column].tolist()
    elif hasattr(X, "get_columns"):  # polars
        cells = X[:, column].to_list()
    else:
        cells = np.asarray(X, dtype=object)[:, column].tolist()
    return np.fromiter(cells, dtype=object, count=len(cells))


def _unrounded(given: Any, table: Any, names: Names) -> Any:
    """The table, in which no whole number is another than in what was given."""
    before, after = numbers_in(given), numbers_in(table)
    at = None if before.dtype.kind == "b" else first_changed(before, after)
    if at is not None:
        raise _rounded(before[at], place(table, at), names)
    return table


def _rounded(cell: Any, at: tuple[int, int], names: Names) -> RowError:
    shown = shortened(str(cell))
    return _bad_cell(
        at,
        names,
        f"{shown} is not {PROMISED}. Subtract the least of the column from all of it first, or "
        "leave the column out.",
    )


def as_column(y: Any) -> NDArray[Any]:
    """A column of whatever kind as an array, its values as they are."""
    # Arrow's own `to_numpy` refuses text and gaps unless told to copy; np.asarray copies.
    arrow = type(y).__module__.startswith("pyarrow")
    return np.asarray(y.to_numpy() if hasattr(y, "to_numpy") and not arrow else y)


def refuse_masked(values: Any, what: str) -> None:
    """Refuse masked values: as an array they would turn into whatever lies under the mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{what} is masked: rows with masked values cannot be learnt from; fill them."
        )


def _as_array(X: Any) -> NDArray[Any]:
    if hasattr(X, "collect") and not hasattr(X, "to_numpy"):
        raise ValueError("X is a lazy frame; call X.collect() first.")
    if isinstance(X, list) and X and isinstance(X[0], dict):
        raise ValueError(
            "X is a list of dicts; give a table, pyarrow.Table.from_pylist(X) say. A stream takes "
            "one dict at a time with learn_one and predict_one."
        )
    if hasattr(X, "column_names") and hasattr(X, "column"):
        columns = [_arrow_column(X.column(i)) for i in range(X.num_columns)]
        _refuse_moments([column.dtype for column in columns], column_names(X))
        return np.column_stack(columns)
    if hasattr(X, "to_numpy"):
        _refuse_moments(getattr(X, "dtypes", ()), column_names(X))
        return np.asarray(X.to_numpy())
    try:
        return np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X is not a table: {error}") from None


def _refuse_moments(types: Iterable[Any], names: Names) -> None:
    """Refuse columns of dates and times, which polars would turn into a number of days."""
    for column, kind in enumerate(types):
        temporal = getattr(kind, "is_temporal", None)  # polars
        if temporal() if temporal else getattr(kind, "kind", "") in ("m", "M"):
            raise ValueError(f"X, column {_column_called(column, names)}: {MOMENT}")


def _arrow_column(column: Any) -> NDArray[Any]:
    """An Arrow column as numbers, or where Arrow has none (decimals), as cells."""
    try:
        return np.asarray(column)
    except (ValueError, TypeError, NotImplementedError):
        return np.array(column.to_pylist(), dtype=object)


def _as_csr(X: Any) -> Any:
    csr = _csr_inside(X)
    _check_shape(csr.shape, csr.ndim)
    if csr.dtype not in (np.float32, np.float64):
        if csr.dtype.kind not in "iubf":
            raise ValueError(f"X holds {csr.dtype}: Complex data not supported, nor other types.")
        return _unrounded(csr, csr.astype(np.float64), None)
    return csr


def _check_shape(shape: tuple[int, ...], ndim: int) -> None:
    if ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {ndim}D array instead: X has shape {shape}. Reshape your data "
            "with X.reshape(-1, 1) if it is one feature or X.reshape(1, -1) if it is one example."
        )
    for size, what in zip(shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            )


def _asfloats(array: NDArray[Any], names: Names) -> Any:
    if array.dtype.kind in "iubf":
        return _unrounded(array, array.astype(np.float64), names)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X has complex numbers; give real ones.")
    if array.dtype.kind == "O":
        return _cells_as_floats(array, names)
    if array.dtype.kind in "mM":
        raise ValueError(f"X: {MOMENT}")
    at = next((i for i, cell in enumerate(array.flat) if not _looks_like_a_number(cell)), 0)
    raise _text(array.flat[at], place(array, at), names)


def _cells_as_floats(array: NDArray[Any], names: Names) -> Any:
    if not any(isinstance(cell, str | bytes | complex | MOMENTS) for cell in array.flat):
        try:
            return _unrounded(array, array.astype(np.float64), names)
        except (TypeError, ValueError, OverflowError):
            pass  # some cell is not a number, or one too large: find it
    result = np.empty(array.shape)
    for at, cell in enumerate(array.flat):
        result.flat[at] = _cell_as_float(array, at, cell, names)
    return _unrounded(array, result, names)


def _cell_as_float(array: NDArray[Any], at: int, cell: Any, names: Names) -> float:
    row, column = place(array, at)
    if isinstance(cell, str | bytes):
        cells = array[:, column]
        bad = next((r for r, c in enumerate(cells) if not _looks_like_a_number(c)), row)
        raise _text(cells[bad], (bad, column), names)
    if isinstance(cell, complex | np.complexfloating):
        raise _bad_cell(
            (row, column), names, f"{quoted(cell)} is complex. Complex data not supported."
        )
    if isinstance(cell, MOMENTS):
        raise _bad_cell((row, column), names, MOMENT)
    try:
        return math.nan if missing(cell) else float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf
    except (TypeError, ValueError) as error:
        told = _bad_cell((row, column), names, f"{error}; argument must be a string or number.")
        raise TypeError(str(told)) from None


def missing(cell: Any) -> bool:
    """Whether a cell stands for no value: None, NaN, or pandas' NA and NaT."""
    try:
        return cell is None or bool(cell != cell)
    except TypeError:  # pandas' NA is neither equal nor different
        return True
    except ValueError:  # an array in a cell is something, though not a number
        return False


def _looks_like_a_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _text(cell: Any, at: tuple[int, int], names: Names) -> RowError:
    shown = cell.item() if isinstance(cell, np.generic) else cell
    what = "is text" if _looks_like_a_number(cell) else "is not a number"
    advice = "Turn text into numbers first (one-hot or word counts)."
    return _bad_cell(at, names, f"{shown!r} {what}. {advice}")


def refuse_non_finite(table: Any, names: Names) -> None:
    """Name the first NaN or infinity, if there is one: squares also overflow without."""
    numbers = numbers_in(table)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad) == 0:
        return
    what = "NaN" if math.isnan(numbers[bad[0]]) else "infinity (inf)"
    advice = "Drop the row or fill in a value."
    at = place(table, int(bad[0]))
    raise _bad_cell(at, names, f"{what} is not a number that can be learnt from. {advice}")


def numbers_in(table: Any) -> NDArray[Any]:
    """The entries of a table, those stored where it is sparse, one after another."""
    numbers: NDArray[Any] = table.reshape(-1) if isinstance(table, np.ndarray) else table.data
    return numbers


def place(table: Any, at: int) -> tuple[int, int]:
    """The row and column of the entry at a flat position."""
    if isinstance(table, np.ndarray):
        row, column = divmod(at, table.shape[1])
        return int(row), int(column)
    row = int(np.searchsorted(table.indptr, at, side="right")) - 1
    return row, int(table.indices[at])


def _bad_cell(at: tuple[int, int], names: Names, what: str) -> RowError:
    row, column = at
    return RowError("X, ", row, f", column {_column_called(column, names)}: {what}")


def _column_called(column: int, names: Names) -> str:
    return str(column) if names is None else f'"{names[column]}"'


# Sparse matrices as they were built, by hand too. Compiled code follows their indices without
# looking, SciPy's own conversions as much as the kernels: one index outside the shape would read
# or write memory that is not theirs.


def _csr_inside(X: Any) -> Any:
    """A sparse matrix in CSR, its indices known to be inside its shape; its values as they are."""
    if X.ndim != 2:
        raise ValueError(
            f"X has {counted(X.ndim, 'dimension')}; give a sparse matrix with rows and columns."
        )
    kind = getattr(X, "format", "")
    if kind == "coo":
        _check_places(X)
    elif kind in ("csr", "csc", "bsr"):
        _check_compressed(X, kind)
    csr = X.tocsr()
    if kind not in ("coo", "csr", "csc", "bsr"):  # lists and keys, which Python has walked
        _check_compressed(csr, "csr")
    return _tight(csr)


def _check_places(X: Any) -> None:
    """The rows and columns of a COO matrix, one of each for every value."""
    if not len(X.row) == len(X.col) == len(X.data):
        raise ValueError(
            f"X has {len(X.data)} values, but {len(X.row)} row and {len(X.col)} column indices; "
            + BUILD_ANEW
        )
    for places, size, what in ((X.row, X.shape[0], "rows"), (X.col, X.shape[1], "columns")):
        _whole_numbers(places, f"the {what} of its values")
        outside = _first_outside(places, size)
        if outside is not None:
            raise ValueError(
                f"X, value {outside}: its place {places[outside]} is outside the {size} {what}; "
                + BUILD_ANEW
            )


def _check_compressed(X: Any, kind: str) -> None:
    """The pointers and indices of a CSR, CSC or BSR matrix."""
    lines, size = X.shape if kind != "csc" else X.shape[::-1]
    line, what = ("column", "rows") if kind == "csc" else ("row", "columns")
    if kind == "bsr":
        lines, size = lines // X.blocksize[0], size // X.blocksize[1]
        line, what = f"{line} of blocks", f"{what} of blocks"
    indptr, indices = X.indptr, X.indices
    _whole_numbers(indptr, "indptr")
    _whole_numbers(indices, "indices")
    if X.data.ndim != (3 if kind == "bsr" else 1):
        raise ValueError(f"X: its values have {counted(X.data.ndim, 'dimension')}; {BUILD_ANEW}")
    stored = min(len(indices), len(X.data))
    rising = len(indptr) == lines + 1 and indptr[0] == 0 and bool((indptr[1:] >= indptr[:-1]).all())
    if not rising or indptr[-1] > stored:
        raise ValueError(
            f"X is no {kind.upper()} matrix of shape {X.shape}: indptr must have {lines + 1} "
            f"entries that rise from 0 to at most {stored}, the number of values; " + BUILD_ANEW
        )
    outside = _first_outside(indices[: indptr[-1]], size)
    if outside is not None:
        at = int(np.searchsorted(indptr, outside, side="right")) - 1
        told = f": its index {indices[outside]} is outside the {size} {what}; {BUILD_ANEW}"
        raise RowError("X, ", at, told) if line == "row" else ValueError(f"X, {line} {at}{told}")


def _whole_numbers(places: Any, what: str) -> None:
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise ValueError(
            f"X: {what} must be whole numbers in one dimension, not {places.dtype} in "
            f"{places.ndim}; {BUILD_ANEW}"
        )


def _first_outside(places: NDArray[Any], size: int) -> int | None:
    """The first place that is not from 0 to size - 1, found in one pass where there is none."""
    places = np.ascontiguousarray(places)
    native = places.astype(places.dtype.newbyteorder("="), copy=False)
    unsigned = native.view(np.dtype(f"u{native.dtype.itemsize}"))  # what is negative is large
    if len(places) == 0 or int(unsigned.max()) < size:
        return None
    return int(np.flatnonzero((native < 0) | (native >= size))[0])


def _tight(csr: Any) -> Any:
    """The matrix without spare room, its indices all of 32 or all of 64 bits, as kernels take it.

    SciPy builds matrices so; by hand they may be built otherwise.
    """
    kinds, end = {csr.indices.dtype, csr.indptr.dtype}, int(csr.indptr[-1])
    tight = len(csr.data) == len(csr.indices) == end
    if tight and len(kinds) == 1 and kinds <= {np.dtype(np.int32), np.dtype(np.int64)}:
        return csr
    wide = np.int64 if max(csr.shape[1], end) > np.iinfo(np.int32).max else np.int32
    parts = csr.data[:end], csr.indices[:end].astype(wide), csr.indptr.astype(wide)
    return type(csr)(parts, shape=csr.shape)


def large(numbers: NDArray[Any]) -> NDArray[np.intp]:
    """Where doubles are so large that they may be rounded whole numbers."""
    if len(numbers) == 0:
        return np.empty(0, dtype=np.intp)
    with np.errstate(invalid="ignore"):
        high, low = np.fmax.reduce(numbers), np.fmin.reduce(numbers)
        if not (high >= LARGE or low <= -LARGE):
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(np.abs(numbers) >= LARGE)


def first_changed(values: NDArray[Any], floats: NDArray[np.float64]) -> int | None:
    """The flat place of the first whole number that is not what it was, None if there is none.

    Parameters
    ----------
    values : array of integers, long doubles or objects
        The numbers as they were given.
    floats : array of float64
        The same as doubles.

    Examples
    --------
    >>> values = np.array([1, 2**53, 2**53 + 1, 2**63 - 1])
    >>> first_changed(values, values.astype(np.float64))
    2
    """
    flat = floats.reshape(-1)
    at = large(flat)
    if len(at) == 0:
        return None
    before, after = values.reshape(-1)[at], flat[at]
    if before.dtype.kind in "iu":
        top = 2.0 ** (63 + (before.dtype.kind == "u"))
        fits = after < top  # the least one is a power of two
        changed = ~fits | (np.where(fits, after, 0.0).astype(before.dtype) != before)
    elif before.dtype.kind == "f":
        changed = (before != after) & (before == np.rint(before))
    else:
        pairs = zip(before.tolist(), after.tolist(), strict=True)
        changed = np.array([is_changed(cell, number) for cell, number in pairs], dtype=bool)
    found = np.flatnonzero(changed)
    return int(at[found[0]]) if len(found) else None


def is_changed(cell: Any, number: float) -> bool:
    """Whether a cell is a whole number and not the double it was taken as.

    Examples
    --------
    >>> is_changed(2**53 + 1, 2.0**53), is_changed(Decimal("0.1"), 0.1), is_changed(7, 7.0)
    (True, False, False)
    """
    if isinstance(cell, str):
        return is_changed_text(cell)
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, Decimal) and cell.is_finite() and cell.adjusted() < DIGITS:
        cell = Fraction(cell)
    if not isinstance(cell, numbers.Rational) or cell.denominator != 1:
        return False
    return not math.isfinite(number) or Fraction(number) != cell


def is_changed_text(text: str) -> bool:
    """Whether a whole number as it is written is not the double it stands for.

    Examples
    --------
    >>> is_changed_text("9007199254740993"), is_changed_text("1e300"), is_changed_text("0.1")
    (True, False, False)
    """
    whole = WRITTEN.fullmatch(text)
    if whole is None or len(whole[1]) > DIGITS:
        return False
    number = float(whole[1])
    return math.isfinite(number) and int(whole[1]) != number
