"""Parquet files in pieces of about one size, which do not depend on the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

PIECE_BYTES = 2**28  # row groups of a file are joined up to about this size


@dataclass(frozen=True, eq=False)
class Piece:
    """Some row groups of a file, which any worker can read."""

    name: str
    rows: int
    columns: tuple[str, ...]
    fragment: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows, len(self.columns)

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """The rows as an Arrow table, with these columns or all."""
        return self.fragment.to_table(columns=None if columns is None else list(columns))


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
        fragments = list(files.get_fragments())
        columns = tuple(files.schema.names)
        return [piece for fragment in fragments for piece in _pieces(fragment, columns)]
    except (OSError, ArrowException) as error:
        raise ValueError(f"{paths} cannot be read as Parquet: {error}") from None


def _pieces(fragment: Any, columns: tuple[str, ...]) -> Iterator[Piece]:
    groups: list[Any] = []
    for group in fragment.row_groups:
        size = sum(other.total_byte_size for other in groups)
        if groups and size + group.total_byte_size > PIECE_BYTES:
            yield _piece(fragment, groups, columns)
            groups = []
        groups.append(group)
    if groups:
        yield _piece(fragment, groups, columns)


def _piece(fragment: Any, groups: list[Any], columns: tuple[str, ...]) -> Piece:
    name = f"{fragment.path}, row groups {groups[0].id} to {groups[-1].id}"
    part = fragment.subset(row_group_ids=[group.id for group in groups])
    return Piece(name, sum(group.num_rows for group in groups), columns, part)
