"""The design of a regression: columns of numbers with their names, categories as dummies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.errors import column_called
from rosenblatt.tables import as_table, column_names

INTERCEPT = "(intercept)"
MANY_DUMMIES = 64  # from so many on they are kept sparse


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of a regression, the intercept first where there is one.

    Parameters
    ----------
    X : array or CSR matrix
        The numbers.
    names : tuple of str
        One for each column.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31.0, 45.0, 52.0], "town": ["Bonn", "Kiel", "Bonn"]})
    >>> design_of(frame).names
    ('(intercept)', 'age', 'town[Kiel]')
    """

    X: Any
    names: tuple[str, ...]


def design_of(X: Any, fit_intercept: bool = True) -> Design:
    """Take an array, a CSR matrix or a frame as a design.

    Columns of text or categories become a dummy for each level but the first, which is the
    reference; without intercept the first such column keeps all its levels.

    Parameters
    ----------
    X : array, CSR matrix or frame of shape (n, d)
        The regressors; columns without names are called x1, x2, …
    fit_intercept : bool, default=True
        Whether there is a column of ones before them.
    """
    if column_names(X) is not None and not hasattr(X, "tocsr"):
        blocks = list(_of_frame(X, keep_all=not fit_intercept))
    else:
        table = as_table(X)
        blocks = [(table, [f"x{j}" for j in range(1, table.shape[1] + 1)])]
    names = tuple(name for _, some in blocks for name in some)
    return as_design(_joined([table for table, _ in blocks]), names, fit_intercept)


def as_design(X: Any, names: tuple[str, ...], fit_intercept: bool) -> Design:
    """Numbers with their names as a design, with a column of ones if asked for."""
    if not fit_intercept:
        return Design(X, names)
    return Design(_joined([np.ones((X.shape[0], 1)), X]), (INTERCEPT, *names))


def _joined(tables: list[Any]) -> Any:
    if all(isinstance(table, np.ndarray) for table in tables):
        return np.ascontiguousarray(np.hstack(tables), dtype=np.float64)
    from scipy import sparse

    joined = sparse.hstack([sparse.csr_array(table) for table in tables], format="csr")
    return as_table(joined.astype(np.float64))


def _of_frame(X: Any, *, keep_all: bool) -> Iterator[tuple[Any, list[str]]]:
    import pyarrow as pa

    for name, column in _arrow_columns(X):
        kind = column.type
        if pa.types.is_dictionary(kind) or _is_text(kind):
            codes, levels = _levels(name, column)
            yield (
                _dummies(codes, levels, keep_all),
                [f"{name}[{level}]" for level in levels[0 if keep_all else 1 :]],
            )
            keep_all = False
        else:
            yield as_table(pa.table({name: column})), [name]


def _arrow_columns(X: Any) -> Iterator[tuple[str, Any]]:
    """The columns of a frame of any kind, as Arrow has them."""
    import pyarrow as pa

    if hasattr(X, "to_arrow"):
        X = X.to_arrow()
    elif not hasattr(X, "column_names"):
        try:
            X = pa.Table.from_pandas(X, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as trouble:
            raise ValueError(
                f"X: {trouble.args[-1]}; make every cell of it a number, or every cell text."
            ) from None
    for i, name in enumerate(X.column_names):
        column = X.column(i)
        yield name, column.combine_chunks() if hasattr(column, "combine_chunks") else column


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return any(
        test(kind)
        for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )


def _levels(name: str, column: Any) -> tuple[NDArray[np.intp], list[str]]:
    """The level of each cell, and the levels that occur: as declared, or in sort order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        row = int(np.flatnonzero(pc.is_null(column).to_numpy(zero_copy_only=False))[0])
        raise ValueError(
            f"X, row {row}, {column_called(name)}: there is nothing; drop the row or fill it in."
        )
    declared = pa.types.is_dictionary(column.type)
    coded = column if declared else column.dictionary_encode()
    if hasattr(coded, "combine_chunks") and not hasattr(coded, "indices"):
        coded = coded.combine_chunks()
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.intp)
    levels = [str(level) for level in coded.dictionary.to_pylist()]
    order = np.unique(codes).tolist()
    if not declared:
        order.sort(key=levels.__getitem__)
    places = np.zeros(len(levels), dtype=np.intp)
    places[order] = np.arange(len(order))
    return places[codes], [levels[k] for k in order]


def _dummies(codes: NDArray[np.intp], levels: list[str], keep_all: bool) -> Any:
    from scipy import sparse

    ones = np.ones(len(codes))
    table = sparse.csr_array(
        (ones, codes.astype(np.int32), np.arange(len(codes) + 1, dtype=np.int32)),
        shape=(len(codes), len(levels)),
    )
    table = table if keep_all else table[:, 1:]
    return table if len(levels) > MANY_DUMMIES else table.toarray()
