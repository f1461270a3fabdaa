"""Parquet files in pieces of about one size, which do not depend on the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

PIECE_BYTES = 2**28  # row groups of a file are joined up to about this size


@dataclass(frozen=True, eq=False)
class Piece:
    """Some row groups of a file, which any worker can read; its columns as the file has them."""

    name: str
    file: str
    rows: int
    columns: tuple[str, ...]
    fragment: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows, len(self.columns)

    def read(self, columns: Sequence[str]) -> Any:
        """The rows as an Arrow table with these columns, by their names and in this order."""
        there = set(self.columns)
        for name in columns:
            if name not in there:
                raise ValueError(f"{self.file}: there is no column {name!r}, which is needed.")
        return self.fragment.to_table(columns=list(columns))


def are_paths(X: Any) -> bool:
    """Whether X is a path or a list of paths."""
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(x, str | PathLike) for x in X)
    return isinstance(X, str | PathLike)


def pieces_of(paths: Any) -> list[Piece]:
    """The pieces of a file, of the files in a folder, or of several files, in their order.

    Parameters
    ----------
    paths : path or list of paths
        What Arrow can open: files, a folder, an address such as s3://bucket/folder.
    """
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


def _pieces(fragment: Any) -> Iterator[Piece]:
    groups: list[Any] = []
    for group in fragment.row_groups:
        size = sum(other.total_byte_size for other in groups)
        if groups and size + group.total_byte_size > PIECE_BYTES:
            yield _piece(fragment, groups)
            groups = []
        groups.append(group)
    if groups:
        yield _piece(fragment, groups)


def _piece(fragment: Any, groups: list[Any]) -> Piece:
    schema = fragment.physical_schema
    # As Dask's own reader has it, the index that pandas stored is no column.
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    columns = tuple(name for name in schema.names if name not in index)
    name = f"{fragment.path}, row groups {groups[0].id} to {groups[-1].id}"
    part = fragment.subset(row_group_ids=[group.id for group in groups])
    rows = sum(group.num_rows for group in groups)
    return Piece(name, fragment.path, rows, columns, part)
