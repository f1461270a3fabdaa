"""Blocks: examples that are gone through a block of rows at a time, as often as needed.

What is asked of all rows is asked of each block, and the answers are put together in the order
of the rows. It does not matter where blocks are: in a file, or on other machines. Work is a
small picklable value, so that it can travel to them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rosenblatt.examples import Examples, JointExamples

T = TypeVar("T")
ENTRIES = 2**20  # of rows against rivals that are written at a time
FEW_ENTRIES = 2**23  # of all of them: these are kept for the next pass
Batches = Callable[[], Iterable[Examples]]
Work = Callable[[Examples, int], T]


class Blocks(Protocol):
    """Rows in blocks, all with the same columns and labels."""

    def each(self, work: Work[T]) -> Iterator[T]:
        """One pass: work(block, number of its first row), in the order of the rows."""


@dataclass(frozen=True, eq=False)
class InOrder:
    """Blocks that come one after another, from a file or a list, the same each time.

    Parameters
    ----------
    batches : callable
        Gives the blocks from the first one on.
    joint : bool, default=False
        Whether they are of more than two labels.

    Examples
    --------
    >>> halves = [Examples.from_arrays([[x]], [1], labels=np.array([0, 1])) for x in (2.0, 3.0)]
    >>> list(InOrder(lambda: halves).each(lambda block, first: (first, block.X.sum())))
    [(0, np.float64(2.0)), (1, np.float64(3.0))]
    """

    batches: Batches
    joint: bool = False

    def each(self, work: Work[T]) -> Iterator[T]:
        """One pass, in order."""
        first = 0
        for block in self.batches():
            yield work(block, first)
            first += block.n


@dataclass(frozen=True, eq=False)
class AgainstRivals:
    """Examples of K labels as rows that are all to be on one side: each against each rival.

    Such a row has x in the place of its label and -x in that of the rival (Kesler's construction),
    so that w·z > 0 says that the right score is above the rival's. Row m is example m // (K - 1)
    against one of its rivals in their order. Where there are many, a few are written at a time.

    Parameters
    ----------
    examples : JointExamples
        The rows.
    reduced : bool, default=False
        Whether to leave out the place of the first label, as if its weights were 0: to add the
        same to all labels' weights changes no product.

    Examples
    --------
    >>> three = JointExamples.from_arrays([[2.0], [3.0], [5.0]], ["a", "b", "c"])
    >>> rows = AgainstRivals(three)
    >>> rows.pair(2), rows.pair(3)
    ((1, 0), (1, 2))
    >>> print(take(rows, [2, 3]).examples.X.toarray())
    [[-1. -3.  1.  3.  0.  0.]
     [ 0.  0.  1.  3. -1. -3.]]
    """

    examples: JointExamples
    reduced: bool = False

    def called(self, m: int) -> str:
        """What a row is called: "17 against b"."""
        n, r = self.pair(m)
        return f"{n} against {self.examples.labels[r]}"

    def pair(self, m: int) -> tuple[int, int]:
        """The example that a row is, and the place of the rival."""
        n, r = divmod(int(m), self.examples.k - 1)
        return n, r + (r >= int(self.examples.y[n]))

    def each(self, work: Work[T]) -> Iterator[T]:
        """One pass, a few rows at a time."""
        few = 2 * self.examples.n * self.examples.entries_per_row <= FEW_ENTRIES
        first = 0
        for block in self._kept if few else self.parts():
            yield work(block, first)
            first += block.n

    def named(self, rows: Iterable[int]) -> AgainstRivals:
        """Who tells which pairs some rows are."""
        return self

    def parts(self) -> Iterator[Examples]:
        """The rows, written a few at a time."""
        step = max(1, ENTRIES // (2 * self.examples.entries_per_row))
        for begin in range(0, self.examples.n, step):
            yield self.written(slice(begin, begin + step))

    @functools.cached_property
    def _kept(self) -> list[Examples]:
        return list(self.parts())

    def written(self, part: slice = slice(None)) -> Examples:
        """The rows of some examples, in memory."""
        from scipy import sparse

        examples, rivals = self.examples, self.examples.k - 1
        X = sparse.csr_array(examples.X[part])
        if examples.x0:
            x0 = sparse.csr_array(np.full((X.shape[0], 1), examples.x0))
            X = sparse.hstack((x0, X), format="csr")
        X.sort_indices()
        size, y = X.shape[1], examples.y[part].astype(np.intp)
        others = np.arange(rivals) + (np.arange(rivals) >= y[:, None])
        own = np.repeat(y, rivals).reshape(-1, rivals)
        # Each row twice, in the places of two labels, the smaller first.
        place = np.stack((np.minimum(own, others), np.maximum(own, others)), axis=2).ravel()
        row, kept = np.repeat(np.arange(len(y)), 2 * rivals), place >= self.reduced
        counts = np.where(kept, np.diff(X.indptr)[row], 0)
        row, place = row[kept], place[kept]
        twice, count = X[row], counts[kept]
        sign = np.where(place == y[row], 1, -1).astype(twice.data.dtype)
        shape = (len(y) * rivals, (examples.k - self.reduced) * size)
        index = np.int32 if max(shape[1], counts.sum()) < 2**31 else np.int64
        places = twice.indices + np.repeat(((place - self.reduced) * size).astype(index), count)
        begins = np.append(0, counts.reshape(-1, 2).sum(axis=1).cumsum())
        entries = twice.data * np.repeat(sign, count), places.astype(index), begins.astype(index)
        Z = sparse.csr_array(entries, shape=shape)
        s = None if examples.weights is None else np.repeat(examples.weights[part], rivals)
        return Examples(Z, np.ones(Z.shape[0], dtype=np.int8), ONE_SIDE, None, 0.0, s)


ONE_SIDE = np.array([False, True])


@dataclass(frozen=True, eq=False)
class SomeAgainstRivals(AgainstRivals):
    """Some of them, from blocks that are not in memory, by their numbers among all rows."""

    numbers: NDArray[np.intp] = field(kw_only=True)  # of the examples

    def pair(self, m: int) -> tuple[int, int]:
        """The example that a row is, and the place of the rival."""
        n, r = divmod(int(m), self.examples.k - 1)
        return n, r + (r >= int(self.examples.y[np.searchsorted(self.numbers, n)]))


@dataclass(frozen=True, eq=False)
class BlocksAgainstRivals:
    """Rows against rivals of examples in blocks that are gone through in every pass."""

    blocks: Blocks
    reduced: bool = False

    def each(self, work: Work[T]) -> Iterator[T]:
        """One pass, a few rows at a time."""
        first = 0
        for block in self.blocks.each(itself):
            assert isinstance(block, JointExamples)
            for rows in AgainstRivals(block, self.reduced).parts():
                yield work(rows, first)
                first += rows.n

    def named(self, rows: Iterable[int]) -> AgainstRivals:
        """Who tells which pairs some rows are, found in one pass."""
        k = labels_in(self.blocks)
        found = take(self.blocks, [int(row) // (k - 1) for row in rows])
        assert isinstance(found.examples, JointExamples)
        return SomeAgainstRivals(found.examples, self.reduced, numbers=found.numbers)


def against_rivals(blocks: Blocks, *, reduced: bool = False) -> AgainstRivals | BlocksAgainstRivals:
    """Examples of K labels as rows against rivals, wherever they are."""
    if isinstance(blocks, JointExamples):
        return AgainstRivals(blocks, reduced)
    return BlocksAgainstRivals(blocks, reduced)


def of_labels(blocks: Blocks) -> bool:
    """Whether blocks are of more than two labels."""
    return isinstance(blocks, JointExamples) or (isinstance(blocks, InOrder) and blocks.joint)


def itself(block: Examples, first: int) -> Examples:
    """The work of taking a block as it is."""
    return block


def labels_in(blocks: Blocks) -> int:
    """How many labels there are, as the first block says."""
    return next(iter(blocks.each(lambda block, first: len(block.labels))))


@dataclass(frozen=True, eq=False)
class Picked:
    """Some rows as examples, and their numbers among all rows."""

    numbers: NDArray[np.intp]
    examples: Examples

    def joined(self, others: Sequence[Picked]) -> Picked:
        """These rows and others, in the order of their numbers, each once."""
        if not others:
            return self
        parts = [self, *others]
        numbers, at = np.unique(np.concatenate([p.numbers for p in parts]), return_index=True)
        return Picked(numbers, _taken(_stacked([p.examples for p in parts]), at))

    def some(self, at: Any) -> Picked:
        """Some of them, by their places here or by a mask."""
        at = np.flatnonzero(at) if np.asarray(at).dtype == bool else np.asarray(at, dtype=np.intp)
        return Picked(self.numbers[at], _taken(self.examples, at))


def picked(block: Examples, first: int, at: Any) -> Picked:
    """Some rows of a block, by their places in it."""
    at = np.asarray(at, dtype=np.intp)
    return Picked(at + first, _taken(block, at))


@dataclass(frozen=True, eq=False)
class Pick:
    """The work of taking rows by their numbers."""

    numbers: NDArray[np.intp]

    def __call__(self, block: Examples, first: int) -> Picked:
        """Those of them that are in a block."""
        here = (self.numbers >= first) & (self.numbers < first + block.n)
        return picked(block, first, self.numbers[here] - first)


def take(blocks: Blocks, numbers: Sequence[int]) -> Picked:
    """Rows by their numbers, in one pass; in the order of the rows."""
    parts = list(blocks.each(Pick(np.unique(np.asarray(numbers, dtype=np.intp)))))
    return parts[0].joined(parts[1:])


@dataclass(frozen=True, eq=False)
class Together:
    """Several works in one pass."""

    works: tuple[Work[Any], ...]

    def __call__(self, block: Examples, first: int) -> tuple[Any, ...]:
        """What each of them gives."""
        return tuple(work(block, first) for work in self.works)


def _taken(examples: Examples, at: NDArray[np.intp]) -> Examples:
    weights = None if examples.weights is None else examples.weights[at]
    return replace(examples, X=examples.X[at], y=examples.y[at], weights=weights)


def _stacked(parts: Sequence[Examples]) -> Examples:
    if len(parts) == 1:
        return parts[0]
    y = np.concatenate([part.y for part in parts])
    weights = [part.weights for part in parts if part.weights is not None]
    if parts[0].is_sparse:
        from scipy import sparse

        X = sparse.vstack([part.X for part in parts], format="csr")
    else:
        X = np.concatenate([part.X for part in parts])
    return replace(parts[0], X=X, y=y, weights=np.concatenate(weights) if weights else None)
