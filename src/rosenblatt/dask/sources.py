"""Where shards come from: blocks of Dask collections and row groups of Parquet files.

A source is a load that any worker can do, and do again when the worker that did it is lost.
Parquet files are read in pieces of about one size, which do not depend on the cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

import dask
import dask.array as da
import numpy as np
from numpy.typing import NDArray

from rosenblatt.tables import as_column, column_names, floats, refuse_masked
from rosenblatt.words import counted, listed

PIECE_BYTES = 2**28  # row groups of a file are joined up to about this size


@dataclass(frozen=True, eq=False)
class Raw:
    """A part of the data as it was loaded: a checked table, and answers as they were given."""

    X: Any
    y: Any
    weights: Any
    names: tuple[str, ...] | None

    @property
    def n(self) -> int:
        """The number of rows; an empty part has none."""
        return 0 if self.X is None else int(self.X.shape[0])

    @property
    def answers(self) -> NDArray[Any]:
        """The answers as an array."""
        return as_column(self.y)


@dataclass(frozen=True, eq=False)
class Load:
    """A part of the data that a worker can load: what it is called, and a Delayed `Raw`."""

    name: str
    load: Any


@dataclass(frozen=True, eq=False)
class Piece:
    """Some row groups of a file, which any worker can read; its columns as the file has them."""

    name: str
    file: str
    rows: int
    columns: tuple[str, ...]
    fragment: Any

    def read(self, columns: Sequence[str]) -> Any:
        """The rows as an Arrow table with these columns, by their names and in this order."""
        there = set(self.columns)
        for name in columns:
            if name not in there:
                raise ValueError(f"{self.file}: there is no column {name!r}, which is needed.")
        return self.fragment.to_table(columns=list(columns))


def loads_of(X: Any, y: Any, sample_weight: Any = None) -> list[Load]:
    """The parts of a Dask array, a Dask dataframe or Parquet files, in the order of their rows.

    Answers and weights are Dask arrays or series, sequences, or names of columns.
    """
    if are_paths(X):
        return _of_parquet(X, y, sample_weight)
    if isinstance(X, da.Array):
        return _of_array(X, y, sample_weight)
    if is_frame(X):
        return _of_frame(X, y, sample_weight)
    raise ValueError(
        f"X is a {type(X).__name__}; give a Dask array, a Dask dataframe or the path of Parquet "
        "files, or use the plain estimator of rosenblatt."
    )


def is_frame(X: Any) -> bool:
    """Whether X is a Dask dataframe."""
    return dask.is_dask_collection(X) and hasattr(X, "columns") and hasattr(X, "to_delayed")


def are_paths(X: Any) -> bool:
    """Whether X is a path or a list of paths."""
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(x, str | PathLike) for x in X)
    return isinstance(X, str | PathLike)


def _of_array(X: Any, y: Any, weights: Any) -> list[Load]:
    if X.ndim != 2:
        raise ValueError(
            f"X has {counted(X.ndim, 'dimension')}; give an array with rows and columns."
        )
    if X.numblocks[1] != 1:
        X = X.rechunk({1: -1})
    rows = X.chunks[0]
    ends = np.cumsum([0, *rows])
    names = [
        f"shard {i} (rows {ends[i]:.0f} to {ends[i + 1] - 1:.0f})"
        if np.isfinite(ends[i + 1])
        else f"shard {i} (block {i} of X)"
        for i in range(len(rows))
    ]
    columns = [column_of(y, "y", rows), column_of(weights, "sample_weight", rows)]
    return _joined(names, X.to_delayed()[:, 0].tolist(), columns)


def _of_frame(X: Any, y: Any, weights: Any) -> list[Load]:
    _check_inside([name for name in (y, weights) if isinstance(name, str)], list(X.columns))
    names, parts = partitions_of(X)
    rows = (np.nan,) * len(parts)
    columns = [
        [given] * len(parts) if isinstance(given, str) else column_of(given, what, rows)
        for what, given in (("y", y), ("sample_weight", weights))
    ]
    return _joined(names, parts, columns)


def partitions_of(X: Any) -> tuple[list[str], list[Any]]:
    """The partitions of a Dask dataframe, with its columns in their order, and their names."""
    columns = list(X.columns)
    refuse_twice("X", columns)
    parts = X.to_delayed()
    names = [f"shard {i} (partition {i} of X)" for i in range(len(parts))]
    take = dask.delayed(by_name, pure=False)
    return names, [take(part, name, columns) for part, name in zip(parts, names, strict=True)]


def by_name(part: Any, name: str, columns: list[Any]) -> Any:
    """A partition with these columns in this order, whatever its own order is."""
    refuse_other_columns(name, list(part.columns), columns, "X")
    return part if list(part.columns) == columns else part[columns]


def _joined(names: list[str], parts: list[Any], columns: list[list[Any] | None]) -> list[Load]:
    """A load for each part, with its answers and weights or the names of their columns."""
    load = dask.delayed(raw_of, pure=False)
    for what, column in zip(("y", "sample_weight"), columns, strict=True):
        if column is not None and len(column) != len(parts):
            raise ValueError(
                f"X comes in {counted(len(parts), 'part')} but {what} in {len(column)}; "
                "give both the same partitions."
            )
    y, weights = ([None] * len(parts) if column is None else column for column in columns)
    each = zip(names, parts, y, weights, strict=True)
    return [Load(name, load(name, *part)) for name, *part in each]


def column_of(values: Any, what: str, rows: Sequence[float]) -> list[Any] | None:
    """A column in as many parts as X, as delayed arrays; None where there is none."""
    if values is None and what == "sample_weight":
        return None
    if isinstance(values, da.Array):
        return _blocks(values, what, rows)
    if dask.is_dask_collection(values) and hasattr(values, "to_delayed"):
        return list(values.to_delayed())
    refuse_masked(values, what)
    array = np.asarray(values)
    if not np.isfinite(rows).all() or array.ndim == 0:
        kind = type(values).__name__
        raise ValueError(f"{what} is a {kind}; give a Dask array or series parted as X is.")
    if len(array) != sum(rows):
        raise _inconsistent(int(sum(rows)), what, len(array))
    ends = np.cumsum(rows, dtype=int)
    return [array[end - int(n) : end] for n, end in zip(rows, ends, strict=True)]


def _blocks(values: Any, what: str, rows: Sequence[float]) -> list[Any]:
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{what} should be a 1d array, got an array of shape {values.shape}.")
    known = np.isfinite(rows).all() and np.isfinite(values.chunks[0]).all()
    if known and sum(rows) != values.shape[0]:
        raise _inconsistent(int(sum(rows)), what, values.shape[0])
    if known and values.chunks[0] != tuple(rows):
        values = values.rechunk((tuple(rows),))
    return list(values.to_delayed())


def _inconsistent(rows: int, what: str, given: int) -> ValueError:
    return ValueError(
        f"X has {counted(rows, 'row')} but {what} has {given}; inconsistent numbers of samples: "
        "give one for each row."
    )


def raw_of(name: str, part: Any, y: Any, weights: Any) -> Raw:
    """Check a part of the data where it is loaded; says which part has something wrong."""
    if isinstance(y, str):
        part, y = _without(part, y)
    if isinstance(weights, str):
        part, weights = _without(part, weights)
    if part.shape[0] == 0:
        return Raw(None, None, None, column_names(part))
    try:
        refuse_masked(y, "y")
        raw = Raw(floats(part), y, weights, column_names(part))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: {error}") from None
    if len(y) != raw.n:
        raise ValueError(f"{name}: X has {counted(raw.n, 'row')} there but y has {len(y)}.")
    return raw


def _without(part: Any, name: str) -> tuple[Any, Any]:
    if hasattr(part, "column_names"):  # an Arrow table
        return part.drop_columns([name]), part.column(name)
    return part.drop(columns=[name]), part[name]


def _check_inside(wanted: list[str], columns: Sequence[Any]) -> None:
    there = set(columns)
    for name in wanted:
        if name not in there:
            shown = listed([str(column) for column in columns])
            raise ValueError(f"there is no column {name!r}; the columns are {shown}.")


def _of_parquet(paths: Any, y: Any, weights: Any) -> list[Load]:
    if not isinstance(y, str) or not (weights is None or isinstance(weights, str)):
        raise ValueError(
            f"y is a {type(y).__name__}; with Parquet files, y and sample_weight are names of "
            "columns."
        )
    pieces = pieces_of(paths)
    columns = with_one_set_of_columns(pieces)
    _check_inside([y] if weights is None else [y, weights], columns)
    read = dask.delayed(_read, pure=False)
    names = [f"shard {i} ({piece.name})" for i, piece in enumerate(pieces)]
    return [
        Load(name, read(name, piece, columns, y, weights))
        for name, piece in zip(names, pieces, strict=True)
    ]


def _read(name: str, piece: Piece, columns: tuple[str, ...], y: str, weights: str | None) -> Raw:
    return raw_of(name, piece.read(columns), y, weights)


def pieces_of(paths: Any) -> list[Piece]:
    """The pieces of what Arrow can open: a file, a folder, an address, or several, in order."""
    from pyarrow import ArrowException
    from pyarrow import dataset as arrow

    given = [fspath(p) for p in paths] if isinstance(paths, list | tuple) else fspath(paths)
    try:
        files = arrow.dataset(given, format="parquet")
        pieces = [piece for fragment in files.get_fragments() for piece in _pieces(fragment)]
    except (OSError, ArrowException) as error:
        raise ValueError(f"{paths} cannot be read as Parquet: {error}") from None
    if not pieces:
        raise ValueError(f"{paths}: there are no rows.")
    return pieces


def _pieces(fragment: Any) -> Iterator[Piece]:
    schema = fragment.physical_schema
    # As Dask's own reader has it, the index that pandas stored is no column.
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    columns = tuple(name for name in schema.names if name not in index)
    pieces: list[list[Any]] = []
    for group in fragment.row_groups:
        size = group.total_byte_size + sum(one.total_byte_size for one in (pieces or [[]])[-1])
        if not pieces or size > PIECE_BYTES:
            pieces.append([])
        pieces[-1].append(group)
    for groups in pieces:
        name = f"{fragment.path}, row groups {groups[0].id} to {groups[-1].id}"
        part = fragment.subset(row_group_ids=[group.id for group in groups])
        rows = sum(group.num_rows for group in groups)
        yield Piece(name, fragment.path, rows, columns, part)


def with_one_set_of_columns(pieces: list[Piece]) -> tuple[str, ...]:
    """The columns that all files have, in the order of the first; others are refused.

    A file may have them in another order: columns are taken by their names.
    """
    first = pieces[0]
    refuse_twice(first.file, first.columns)
    for piece in pieces:
        refuse_other_columns(piece.file, piece.columns, first.columns, first.file)
    return first.columns


def refuse_twice(where: str, columns: Sequence[Any]) -> None:
    """Refuse columns that cannot be told apart by their names."""
    count = Counter(columns)
    again = next((name for name in columns if count[name] > 1), None)
    if again is not None:
        raise ValueError(f"{where}: the column {again!r} comes twice; give each its own name.")


def refuse_other_columns(
    where: str, columns: Sequence[Any], wanted: Sequence[Any], owner: str
) -> None:
    """Refuse a part of the data that lacks a column of the others, or has one more."""
    if tuple(columns) == tuple(wanted):
        return
    refuse_twice(where, columns)
    here, there = set(columns), set(wanted)
    lacks = next((name for name in wanted if name not in here), None)
    if lacks is not None:
        raise ValueError(f"{where}: there is no column {lacks!r}, which {owner} has.")
    more = next((name for name in columns if name not in there), None)
    if more is not None:
        raise ValueError(f"{where}: there is a column {more!r}, which {owner} does not have.")
