"""Layout: how a file is laid out, as far as a person said so; the rest is detected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Layout:
    """What a person said about a file; None means: find out.

    Parameters
    ----------
    format : str, optional
        A suffix of the table of readers: ".csv", ".parquet", …
    separator : str, optional
        Between the cells of a line; " " stands for any blanks.
    header : bool, optional
        Whether the first line has the names of the columns.
    decimal : str, optional
        The decimal point.
    encoding : str, optional
        The encoding of the text.
    names : tuple of str, optional
        The names of columns in a file without header.
    types : mapping of str to Arrow type
        The columns whose type is known and not to be guessed.
    """

    format: str | None = None
    separator: str | None = None
    header: bool | None = None
    decimal: str | None = None
    encoding: str | None = None
    names: tuple[str, ...] | None = None
    types: Mapping[str, Any] = field(default_factory=dict)


def twice(names: Iterable[str]) -> str | None:
    """The first name, in alphabetical order, that comes more than once.

    Examples
    --------
    >>> twice(["b", "c", "b", "a", "a"]), twice(["a", "b"])
    ('a', None)
    """
    return min((name for name, count in Counter(names).items() if count > 1), default=None)


def numbered(count: int) -> list[str]:
    """The names of the columns of a file without header.

    Examples
    --------
    >>> numbered(2)
    ['column 1', 'column 2']
    """
    return [f"column {i}" for i in range(1, count + 1)]
