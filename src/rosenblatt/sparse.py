"""Sparse matrices as they were built, by hand too: checked once, then taken as CSR.

Compiled code follows their indices without looking, SciPy's own conversions as much as the
kernels: one index outside the shape would read or write memory that is not theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.words import counted

BUILD_ANEW = "build the matrix anew, for example from rows, columns and values with coo_array."


def as_csr(X: Any) -> Any:
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
    return _plain(csr)


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
        raise ValueError(
            f"X, {line} {at}: its index {indices[outside]} is outside the {size} {what}; "
            + BUILD_ANEW
        )


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


def _plain(csr: Any) -> Any:
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
