"""Names of rows in messages, in Python and on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rosenblatt.text import join_words, sanitize

LONGEST = 40  # maximum length of an index label


@dataclass(frozen=True, eq=False)
class RowNames:
    """Names of rows: the position of each row in the data, and its label in a frame's index.

    Each interface creates one for all of its messages: positions are counted from 0 in Python
    and from 1 on the command line. Rows that were dropped are counted in both.

    Parameters
    ----------
    first : int
        Number of the first row: 0 in Python, 1 on the command line.
    index : pandas index, optional
        Labels of the rows, if a frame has an index of its own.
    positions : sequence of int, optional
        Row of the data, counted from 0, of each example; None if no row was dropped.

    Examples
    --------
    >>> RowNames().join([0, 3]), RowNames(first=1).join([0])
    ('rows 0 and 3', 'row 1')
    >>> RowNames(index=["a17", "a18", "b01", "b02"]).join([0, 3])
    'rows 0 ("a17") and 3 ("b02")'
    """

    first: int = 0
    index: Any = None
    positions: Any = None

    @classmethod
    def of(cls, X: Any) -> RowNames:
        """Return the names of the rows of X, which may be a frame with an index."""
        return cls.of_index(getattr(X, "index", None) if hasattr(X, "iloc") else None)

    @classmethod
    def of_index(cls, index: Any) -> RowNames:
        """Return the names of the rows of an index, which may be None or a default index."""
        if index is None or (getattr(index, "start", None), getattr(index, "step", None)) == (0, 1):
            return cls()
        is_default = index.dtype.kind in "iu" and index.tolist() == list(range(len(index)))
        return cls(index=None if is_default else index)

    def number(self, n: int) -> int:
        """Return the row number of example n, as printed in messages."""
        return self.first + (int(n) if self.positions is None else int(self.positions[n]))

    def name(self, n: int) -> str:
        """Return the number of example n, followed by its index label if it has one."""
        number = self.number(n)
        if self.index is None:
            return str(number)
        return f"{number} ({_spelled(self.index[number - self.first])})"

    def join(self, rows: Iterable[int], most: int = 6) -> str:
        """Return a phrase that names up to `most` examples and counts the remaining ones."""
        names = list(rows)
        shown = [self.name(n) for n in names[:most]] + [""] * (len(names) - most)
        return f"row{'' if len(names) == 1 else 's'} {join_words(shown, most=most)}"


FROM_ZERO = RowNames()  # in Python
FROM_ONE = RowNames(first=1)  # on the command line


def _spelled(label: Any) -> str:
    if isinstance(label, tuple):  # of an index with several levels
        return ", ".join(map(_spelled, label))
    text = sanitize(str(label))
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
    return f'"{text}"' if isinstance(label, str) else text
