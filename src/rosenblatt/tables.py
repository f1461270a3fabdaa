"""Conversion of tables of any type (arrays, frames, sparse matrices) to float arrays or CSR.

Doubles hold every integer up to 2^53, but only some larger ones. Rounding would change an id or a
time in nanoseconds into a different one, so integers that a double cannot hold raise an error.
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

from rosenblatt.errors import RowError, quote, with_index_labels
from rosenblatt.text import plural, shorten

BUILD_ANEW = "build the matrix anew, for example from rows, columns and values with coo_array."
LARGE = 2.0**53  # integers of at least this size may be rounded
PROMISED = "a number that a double holds exactly"
WRITTEN = re.compile(r"\s*[+-]?(\d+)(?:[.,]0*)?\s*")
MOMENT = (
    "a date or a time is not a number. Convert it first (to days since some date, for example), or "
    "leave out the column."
)
MOMENTS = date | time | timedelta | np.datetime64 | np.timedelta64
DIGITS = 400  # longer integers overflow float64


Names = tuple[str, ...] | None  # of columns, if they have any


def default_names(count: int) -> tuple[str, ...]:
    """Return the default names of columns: x1, x2, …"""
    return tuple(f"x{i}" for i in range(1, count + 1))


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the column names of a frame if all of them are text, else None."""
    names = getattr(X, "column_names", None)
    if names is None:
        names = getattr(X, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names)


def to_floats(X: Any) -> Any:
    """Convert a table to a float array or a CSR matrix; raise an error on anything but numbers.

    NaN and infinity are allowed here.
    """
    if hasattr(X, "tocsr"):
        return _to_csr(X)
    refuse_masked(X, "X")
    array = X if isinstance(X, np.ndarray) else _as_array(X)
    _check_shape(array.shape, array.ndim)
    names = column_names(X)
    with with_index_labels(X):
        if array is not X and array.dtype.kind == "f":
            _refuse_rounded(X, array, names)
        if array.dtype.kind in "mM":
            raise ValueError(f"X: {MOMENT}")
        if array.dtype.kind not in "iubf":
            array = _cells_as_floats(array.astype(object, copy=False), names)
        elif array.dtype.char not in "fd" or not array.dtype.isnative:
            array = _check_unrounded(array, array.astype(np.float64), names)
    return np.ascontiguousarray(array)


def _refuse_rounded(X: Any, array: NDArray[Any], names: Names) -> None:
    """Raise RowError if an integer of X was rounded when it was converted to a float array."""
    for column in np.unique(find_large(array.reshape(-1)) % array.shape[1]).tolist():
        if hasattr(X, "column_names"):
            cells = X.column(column).to_pylist()
        elif hasattr(X, "iloc"):
            cells = X.iloc[:, column].tolist()
        elif hasattr(X, "get_columns"):  # polars
            cells = X[:, column].to_list()
        else:
            cells = np.asarray(X, dtype=object)[:, column].tolist()
        before = np.fromiter(cells, dtype=object, count=len(cells))
        row = first_changed(before, array[:, column].astype(np.float64))
        if row is not None:
            raise _rounding_error(cells[row], (row, column), names)


def _check_unrounded(given: Any, table: Any, names: Names) -> Any:
    """Return the table; raise RowError if conversion to floats changed an integer."""
    before, after = numbers_in(given), numbers_in(table)
    at = None if before.dtype.kind == "b" else first_changed(before, after)
    if at is not None:
        raise _rounding_error(before[at], locate_entry(table, at), names)
    return table


def _rounding_error(cell: Any, at: tuple[int, int], names: Names) -> RowError:
    return _cell_error(
        at,
        names,
        f"{shorten(str(cell))} is not {PROMISED}. Subtract the minimum of the column from it "
        "first, or leave out the column.",
    )


def as_column(y: Any) -> NDArray[Any]:
    """Convert a column of any type to an array without changing its values."""
    # Arrow's own `to_numpy` fails on text and missing values unless it may copy.
    arrow = type(y).__module__.startswith("pyarrow")
    return np.asarray(y.to_numpy() if hasattr(y, "to_numpy") and not arrow else y)


def refuse_masked(values: Any, what: str) -> None:
    """Raise ValueError on masked values, because conversion to an array would unmask them."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{what} has masked values; fill them or leave out those rows.")


def _as_array(X: Any) -> NDArray[Any]:
    if hasattr(X, "collect") and not hasattr(X, "to_numpy"):
        raise ValueError("X is a lazy frame; call X.collect() first.")
    if isinstance(X, list) and X and isinstance(X[0], dict):
        raise ValueError(
            "X is a list of dicts; give a table, for example pyarrow.Table.from_pylist(X). A "
            "stream takes one dict at a time with learn_one and predict_one."
        )
    if hasattr(X, "column_names") and hasattr(X, "column"):
        columns = []
        for i in range(X.num_columns):
            column = X.column(i)
            try:
                columns.append(np.asarray(column))
            except (ValueError, TypeError, NotImplementedError):  # NumPy has no such type: decimals
                columns.append(np.array(column.to_pylist(), dtype=object))
        _refuse_moments([column.dtype for column in columns], column_names(X))
        return np.column_stack(columns)
    if hasattr(X, "to_numpy"):
        # A series has one dtype under this name; that it is no table is found by its shape.
        types = getattr(X, "dtypes", ()) if hasattr(X, "columns") else ()
        _refuse_moments(types, column_names(X))
        return np.asarray(X.to_numpy())
    try:
        return np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X is not a table: {error}") from None


def _refuse_moments(types: Iterable[Any], names: Names) -> None:
    """Raise ValueError on columns of dates or times, which are not numbers."""
    for column, kind in enumerate(types):
        temporal = getattr(kind, "is_temporal", None)  # polars
        if temporal() if temporal else getattr(kind, "kind", "") in ("m", "M"):
            raise ValueError(f"X, column {_name_column(column, names)}: {MOMENT}")


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


def _cells_as_floats(array: NDArray[Any], names: Names) -> Any:
    if not any(isinstance(cell, str | bytes | complex | MOMENTS) for cell in array.flat):
        try:
            return _check_unrounded(array, array.astype(np.float64), names)
        except (TypeError, ValueError, OverflowError):
            pass  # some cell is not a number, or too large: the loop finds it
    result = np.empty(array.shape)
    for (row, column), cell in np.ndenumerate(array):
        if isinstance(cell, str | bytes):
            texts = ((at, c) for at, c in np.ndenumerate(array) if isinstance(c, str | bytes))
            bad = (text for text in texts if not _looks_like_a_number(text[1]))
            at, text = next(bad, ((row, column), cell))
            what = "is text" if _looks_like_a_number(text) else "is not a number"
            advice = "Convert text to numbers first (one-hot or word counts)."
            shown = text.item() if isinstance(text, np.generic) else text
            raise _cell_error(at, names, f"{shown!r} {what}. {advice}")
        if isinstance(cell, complex | np.complexfloating):
            what = f"{quote(cell)} is complex. Complex data not supported: give real numbers."
            raise _cell_error((row, column), names, what)
        if isinstance(cell, MOMENTS):
            raise _cell_error((row, column), names, MOMENT)
        try:
            result[row, column] = math.nan if is_missing(cell) else float(cell)
        except OverflowError:
            result[row, column] = math.inf if cell > 0 else -math.inf
        except (TypeError, ValueError) as error:
            what = f"{error}; argument must be a string or number."
            raise TypeError(str(_cell_error((row, column), names, what))) from None
    return _check_unrounded(array, result, names)


def is_missing(cell: Any) -> bool:
    """Return whether a table entry is a missing value: None, NaN, or pandas' NA and NaT."""
    try:
        return cell is None or bool(cell != cell)
    except TypeError:  # pandas' NA is neither equal nor different
        return True
    except ValueError:  # an array in a cell is not missing, though not a number
        return False


def _looks_like_a_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def refuse_non_finite(table: Any, names: Names) -> None:
    """Raise RowError on the first NaN or infinity, if there is one."""
    numbers = numbers_in(table)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad) == 0:
        return
    what = "NaN" if math.isnan(numbers[bad[0]]) else "infinity (inf)"
    at = locate_entry(table, int(bad[0]))
    raise _cell_error(at, names, f"{what} is not a finite number. Drop the row or fill in a value.")


def numbers_in(table: Any) -> NDArray[Any]:
    """Return the entries of a table as a 1-d array; if it is sparse, only its stored entries."""
    numbers: NDArray[Any] = table.reshape(-1) if isinstance(table, np.ndarray) else table.data
    return numbers


def to_dense(table: Any) -> NDArray[Any]:
    """Convert a sparse table to an array; return a dense one unchanged."""
    array: NDArray[Any] = table if isinstance(table, np.ndarray) else table.toarray()
    return array


def sum_duplicates(table: Any) -> Any:
    """Sum entries of a CSR matrix with equal row and column; return other tables unchanged."""
    if isinstance(table, np.ndarray) or table.has_canonical_format:
        return table
    copy = table.copy()
    copy.sum_duplicates()
    return copy


def find_fractions(table: Any) -> NDArray[np.bool_]:
    """Return a mask of the rows with an entry that is not an integer."""
    rounded = np.rint(table) if isinstance(table, np.ndarray) else table.rint()
    return np.asarray((rounded != table).sum(axis=1)).ravel() > 0


def list_entries(table: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return rows, columns and values of nonzero entries; if sparse, of all stored entries."""
    if isinstance(table, np.ndarray):
        if table.all():  # all entries are listed much faster than they are searched for zeros
            n, d = table.shape
            return np.repeat(np.arange(n), d), np.tile(np.arange(d), n), table.ravel()
        rows, columns = np.nonzero(table)
        return rows, columns, table[rows, columns]
    return (
        np.repeat(np.arange(table.shape[0]), np.diff(table.indptr)),
        table.indices,
        table.data,
    )


def score_rows(table: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the product of each row with the weights, without starting threads."""
    if isinstance(table, np.ndarray):
        return np.asarray(np.einsum("ij,j->i", table, weights))  # unlike @, starts no threads
    return np.asarray(table @ weights)


def largest_by_row(table: Any, units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each row's largest absolute entry after multiplying column j by units[j]."""
    if isinstance(table, np.ndarray):
        return np.asarray((np.abs(table) * units).max(axis=1))
    return np.asarray(abs(table).multiply(units).max(axis=1).toarray().ravel())


def locate_entry(table: Any, at: int) -> tuple[int, int]:
    """Return the row and column of an entry, given its position in `numbers_in(table)`."""
    if isinstance(table, np.ndarray):
        row, column = divmod(at, table.shape[1])
        return int(row), int(column)
    row = int(np.searchsorted(table.indptr, at, side="right")) - 1
    return row, int(table.indices[at])


def _cell_error(at: tuple[int, int], names: Names, what: str) -> RowError:
    row, column = at
    return RowError("X, ", row, f", column {_name_column(column, names)}: {what}")


def _name_column(column: int, names: Names) -> str:
    return str(column) if names is None else f'"{names[column]}"'


# Sparse matrices may have been built by hand. Compiled code, SciPy's conversions as much as the
# kernels, follows their indices without checks: an index outside the shape would read or write
# memory outside the arrays.


def _to_csr(X: Any) -> Any:
    """Convert a sparse matrix to CSR with floats; raise ValueError on indices outside its shape."""
    if X.ndim != 2:
        raise ValueError(
            f"X has {plural(X.ndim, 'dimension')}; give a sparse matrix with rows and columns."
        )
    kind = getattr(X, "format", "")
    if kind == "coo":
        _check_coordinates(X)
    elif kind in ("csr", "csc", "bsr"):
        _check_compressed(X, kind)
    csr = X.tocsr()
    if kind not in ("coo", "csr", "csc", "bsr"):  # such as lil and dok, which Python code converts
        _check_compressed(csr, "csr")
    csr = _compact(csr)
    _check_shape(csr.shape, csr.ndim)
    if csr.dtype in (np.float32, np.float64):
        return csr
    if csr.dtype.kind not in "iubf":
        raise ValueError(f"X has type {csr.dtype}: Complex data not supported; give real numbers.")
    return _check_unrounded(csr, csr.astype(np.float64), None)


def _check_coordinates(X: Any) -> None:
    """Raise ValueError on row or column indices of a COO matrix outside its shape."""
    if not len(X.row) == len(X.col) == len(X.data):
        raise ValueError(
            f"X has {len(X.data)} values, but {len(X.row)} row and {len(X.col)} column indices; "
            + BUILD_ANEW
        )
    for places, size, what in ((X.row, X.shape[0], "rows"), (X.col, X.shape[1], "columns")):
        _check_integers(places, f"the index array of the {what}")
        outside = _first_outside(places, size)
        if outside is not None:
            raise ValueError(
                f"X, stored value {outside}: index {places[outside]} is outside the {size} {what}; "
                + BUILD_ANEW
            )


def _check_compressed(X: Any, kind: str) -> None:
    """Raise an error on invalid row pointers or indices of a CSR, CSC or BSR matrix."""
    lines, size = X.shape if kind != "csc" else X.shape[::-1]
    line, what = ("column", "rows") if kind == "csc" else ("row", "columns")
    if kind == "bsr":
        lines, size = lines // X.blocksize[0], size // X.blocksize[1]
        line, what = f"{line} of blocks", f"{what} of blocks"
    indptr, indices = X.indptr, X.indices
    _check_integers(indptr, "indptr")
    _check_integers(indices, "indices")
    if X.data.ndim != (3 if kind == "bsr" else 1):
        raise ValueError(
            f"X: its array of values has {plural(X.data.ndim, 'dimension')}, which a "
            f"{kind.upper()} matrix cannot have; {BUILD_ANEW}"
        )
    stored = min(len(indices), len(X.data))
    rising = len(indptr) == lines + 1 and indptr[0] == 0 and bool((indptr[1:] >= indptr[:-1]).all())
    if not rising or indptr[-1] > stored:
        raise ValueError(
            f"X is not a valid {kind.upper()} matrix of shape {X.shape}: indptr must have "
            f"{lines + 1} entries, from 0 up to at most {stored}, the number of values; "
            + BUILD_ANEW
        )
    outside = _first_outside(indices[: indptr[-1]], size)
    if outside is not None:
        at = int(np.searchsorted(indptr, outside, side="right")) - 1
        wrong = f": an entry has index {indices[outside]}, outside the {size} {what}; {BUILD_ANEW}"
        raise RowError("X, ", at, wrong) if line == "row" else ValueError(f"X, {line} {at}{wrong}")


def _check_integers(places: Any, what: str) -> None:
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise ValueError(
            f"X: {what} must be a 1-d array of integers, not {places.ndim}-d of {places.dtype}; "
            f"{BUILD_ANEW}"
        )


def _first_outside(places: NDArray[Any], size: int) -> int | None:
    """Return the position of the first index outside 0 … size - 1, or None."""
    places = np.ascontiguousarray(places)
    native = places.astype(places.dtype.newbyteorder("="), copy=False)
    unsigned = native.view(np.dtype(f"u{native.dtype.itemsize}"))  # negative indices become large
    if len(places) == 0 or int(unsigned.max()) < size:
        return None
    return int(np.flatnonzero((native < 0) | (native >= size))[0])


def _compact(csr: Any) -> Any:
    """Return a CSR matrix without unused entries, and with indices of a single type.

    All its indices are int32, or all are int64, as SciPy's constructors make them.
    """
    kinds, end = {csr.indices.dtype, csr.indptr.dtype}, int(csr.indptr[-1])
    tight = len(csr.data) == len(csr.indices) == end
    if tight and len(kinds) == 1 and kinds <= {np.dtype(np.int32), np.dtype(np.int64)}:
        return csr
    wide = np.int64 if max(csr.shape[1], end) > np.iinfo(np.int32).max else np.int32
    parts = csr.data[:end], csr.indices[:end].astype(wide), csr.indptr.astype(wide)
    return type(csr)(parts, shape=csr.shape)


def find_large(numbers: NDArray[Any]) -> NDArray[np.intp]:
    """Return the positions of numbers so large that they may be rounded integers."""
    if len(numbers) == 0:
        return np.empty(0, dtype=np.intp)
    with np.errstate(invalid="ignore"):
        high, low = np.fmax.reduce(numbers), np.fmin.reduce(numbers)
        if not (high >= LARGE or low <= -LARGE):
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(np.abs(numbers) >= LARGE)


def first_changed(values: NDArray[Any], floats: NDArray[np.float64]) -> int | None:
    """Return the flat position of the first integer that conversion to doubles changed.

    Parameters
    ----------
    values : array of integers, long doubles or objects
        Original numbers.
    floats : array of float64
        The numbers as doubles.

    Examples
    --------
    >>> values = np.array([1, 2**53, 2**53 + 1, 2**63 - 1])
    >>> first_changed(values, values.astype(np.float64))
    2
    """
    flat = floats.reshape(-1)
    at = find_large(flat)
    if len(at) == 0:
        return None
    before, after = values.reshape(-1)[at], flat[at]
    if before.dtype.kind in "iu":
        top = 2.0 ** (63 + (before.dtype.kind == "u"))
        fits = after < top  # the most negative integer is a power of two, which is exact
        changed = ~fits | (np.where(fits, after, 0.0).astype(before.dtype) != before)
    elif before.dtype.kind == "f":
        changed = (before != after) & (before == np.rint(before))
    else:
        pairs = zip(before.tolist(), after.tolist(), strict=True)
        changed = np.array([is_changed(cell, number) for cell, number in pairs], dtype=bool)
    found = np.flatnonzero(changed)
    return int(at[found[0]]) if len(found) else None


def is_changed(cell: Any, number: float) -> bool:
    """Return whether a table entry is an integer that its conversion to `number` has changed.

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
    """Return whether a text is an integer that a double cannot hold exactly.

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
