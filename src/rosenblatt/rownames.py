"""Row names: what a person calls a row of the data, in Python and on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rosenblatt.words import listed, shown

LONGEST = 40  # letters of an index label


@dataclass(frozen=True, eq=False)
class RowNames:
    """Name rows by their position in the data, with the label of a frame's own index beside it.

    An interface makes one, and whatever names rows uses it: positions are counted from 0 in
    Python and from 1 on the command line, and rows that were dropped are counted in both.

    Parameters
    ----------
    first : int
        What the first row is called: 0 in Python, 1 on the command line.
    index : pandas index, optional
        The labels of the rows, where a frame has an index of its own.
    positions : sequence of int, optional
        The row of the data, counted from 0, that each example was; None if no row was dropped.

    Examples
    --------
    >>> RowNames().listed([0, 3]), RowNames(first=1).listed([0])
    ('rows 0 and 3', 'row 1')
    >>> RowNames(index=["a17", "a18", "b01", "b02"]).listed([0, 3])
    'rows 0 ("a17") and 3 ("b02")'
    """

    first: int = 0
    index: Any = None
    positions: Any = None

    @classmethod
    def of(cls, X: Any) -> RowNames:
        """Name the rows of whatever a person gives in Python: a frame may have an index."""
        index = getattr(X, "index", None) if hasattr(X, "iloc") else None
        return cls(index=None if index is None or _is_default(index) else index)

    def number(self, n: int) -> int:
        """Return the number that a person calls example n by."""
        return self.first + (int(n) if self.positions is None else int(self.positions[n]))

    def called(self, n: int) -> str:
        """Return the number of example n, with its index label where there is one."""
        number = self.number(n)
        if self.index is None:
            return str(number)
        return f"{number} ({_spelled(self.index[number - self.first])})"

    def listed(self, rows: Iterable[int], most: int = 6) -> str:
        """Name examples in a sentence, the first of them where they are many."""
        names = list(rows)
        told = [self.called(n) for n in names[:most]] + [""] * (len(names) - most)
        return f"row{'' if len(names) == 1 else 's'} {listed(told, most=most)}"


FROM_ZERO = RowNames()  # in Python
FROM_ONE = RowNames(first=1)  # on the command line


def _is_default(index: Any) -> bool:
    """Return whether the labels of an index are the positions of its rows."""
    if getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1:
        return True
    return index.dtype.kind in "iu" and index.tolist() == list(range(len(index)))


def _spelled(label: Any) -> str:
    if isinstance(label, tuple):  # of several levels
        return ", ".join(map(_spelled, label))
    text = shown(str(label))
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
    return f'"{text}"' if isinstance(label, str) else text
