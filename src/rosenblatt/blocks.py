"""Blocks: examples that are gone through a block of rows at a time, as often as needed.

What is asked of all rows is asked of each block, and the answers are put together in the order
of the rows. It does not matter where blocks are: in a file, or on other machines. Work is a
small picklable value, so that it can travel to them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rosenblatt.examples import Examples, JointExamples, Pick, Picked

T = TypeVar("T")
ENTRIES = 2**20  # of rows against rivals that are written at a time
FEW_ENTRIES = 2**23  # of all of them: these are kept for the next pass
Work = Callable[[Examples, int], T]


class Blocks(Protocol):
    """Rows in blocks, all with the same columns and labels."""

    def each(self, work: Work[T]) -> Iterator[T]:
        """One pass: work(block, number of its first row), in the order of the rows."""


@dataclass(eq=False)
class InOrder:
    """Blocks that come one after another, from a file or a list, the same each time.

    Examples
    --------
    >>> halves = [Examples.from_arrays([[x]], [1], labels=np.array([0, 1])) for x in (2.0, 3.0)]
    >>> list(InOrder(lambda: halves).each(lambda block, first: (first, block.X.sum())))
    [(0, np.float64(2.0)), (1, np.float64(3.0))]
    """

    batches: Callable[[], Iterable[Examples]]  # gives the blocks from the first one on
    joint: bool = False  # whether they are of more than two labels
    _begun: Iterable[Examples] | None = field(default=None, init=False, repr=False)

    def each(self, work: Work[T]) -> Iterator[T]:
        """One pass, in order; it goes on with what `begin` has read already."""
        blocks, self._begun, first = self._begun or self.batches(), None, 0
        for block in blocks:
            yield work(block, first)
            first += block.n

    def begin(self) -> Examples | None:
        """The first block, where there is one, for whoever makes a pass next."""
        blocks = iter(self._begun or self.batches())
        first = next(blocks, None)
        self._begun = None if first is None else itertools.chain((first,), blocks)
        return first


@dataclass(frozen=True, eq=False)
class AgainstRivals:
    """Examples of K labels as rows that are all to be on one side: each against each rival.

    Such a row has x in the place of its label and -x in that of the rival (Kesler's construction),
    so that w·z > 0 says that the right score is above the rival's. Row m is example m // (K - 1)
    against one of its rivals in their order. Where there are many, a few are written at a time.

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
    # Whether to leave out the place of the first label, as if its weights were 0: to add the same
    # to all labels' weights changes no product.
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
        rivals = len(first_of(self.blocks).labels) - 1
        found = take(self.blocks, [int(row) // rivals for row in rows])
        assert isinstance(found.examples, JointExamples)
        return SomeAgainstRivals(found.examples, self.reduced, numbers=found.numbers)


def against_rivals(blocks: Blocks, *, reduced: bool = False) -> AgainstRivals | BlocksAgainstRivals:
    """Examples of K labels as rows against rivals, wherever they are."""
    if isinstance(blocks, JointExamples):
        return AgainstRivals(blocks, reduced)
    return BlocksAgainstRivals(blocks, reduced)


def itself(block: Examples, first: int) -> Examples:
    """The work of taking a block as it is."""
    return block


def first_of(blocks: Blocks) -> Examples:
    """The first block, which has the labels, the x0 and the columns of all."""
    begun = blocks.begin() if isinstance(blocks, InOrder) else None
    first = begun or next(iter(blocks.each(itself)), None)
    if first is None:
        raise ValueError("there are no rows to learn from.")
    return first


def take(blocks: Blocks, numbers: Sequence[int]) -> Picked:
    """Rows by their numbers, in one pass; in the order of the rows."""
    parts = list(blocks.each(Pick(np.unique(np.asarray(numbers, dtype=np.intp)))))
    return parts[0].joined(parts[1:])
