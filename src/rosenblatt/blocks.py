"""Data sets as blocks of rows, in memory, in a file or on other machines.

A pass applies a function to each block and combines the results in the order of the rows. The
function is a small picklable value, so that it can be sent to where a block is.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rosenblatt.examples import Examples

T = TypeVar("T")
Work = Callable[["Examples", int], T]


class Blocks:
    """Data set of one or more blocks of rows, in memory or elsewhere (base class)."""

    multiclass = False  # whether there are more than two labels
    in_memory = False  # whether all rows are in memory, as one block

    def each(self, work: Work[T]) -> Iterator[T]:
        """Apply work(block, first row number) to each block in order; yield the results."""
        raise NotImplementedError

    @property
    def loaded(self) -> Examples | None:
        """The examples if all rows are in memory, else None."""
        return None

    @property
    def n(self) -> int:
        """Number of rows; for blocks read in several passes, the number of rows read so far."""
        raise NotImplementedError

    def first(self) -> Examples:
        """Return the first block; all blocks have the same labels, x0 and columns."""
        for block in self.each(return_block):
            return block
        raise ValueError("there are no rows to learn from; give at least one.")

    def transform(self, function: Callable[[Examples], Examples]) -> Blocks:
        """Return blocks to which a function is applied when they are read."""
        return InOrder(
            lambda: self.each(lambda block, first: function(block)), multiclass=self.multiclass
        )

    def take(self, numbers: Sequence[int]) -> Examples:
        """Return the rows with the given row numbers, in ascending order."""
        ascending = np.unique(np.asarray(numbers, dtype=np.intp))
        return merge_rows(list(self.each(functools.partial(pick_rows, ascending))))


def return_block(block: Examples, first: int) -> Examples:
    """Return a block unchanged; `blocks.each(return_block)` yields all blocks."""
    return block


def pick_rows(numbers: NDArray[np.intp], block: Examples, first: int) -> Examples:
    """Return the rows of a block whose row numbers are in the ascending array `numbers`."""
    here = numbers[(numbers >= first) & (numbers < first + block.n)]
    return block.some(here - first, first)


@dataclass(eq=False)
class InOrder(Blocks):
    """Blocks that are read one after another from a file or a list.

    Examples
    --------
    >>> from rosenblatt.examples import Examples
    >>> halves = [Examples.from_arrays([[x]], [1], labels=np.array([0, 1])) for x in (2.0, 3.0)]
    >>> list(InOrder(lambda: halves).each(lambda block, first: (first, block.X.sum())))
    [(0, np.float64(2.0)), (1, np.float64(3.0))]
    """

    batches: Callable[[], Iterable[Examples]]  # returns the same blocks in every pass
    multiclass: bool = False
    n: int = field(default=0, init=False)
    _begun: Iterable[Examples] | None = field(default=None, init=False, repr=False)

    def each(self, work: Work[T]) -> Iterator[T]:
        """Apply work(block, first row number) to each block in order; yield the results."""
        blocks, self._begun, first = self._begun or self.batches(), None, 0
        for block in blocks:
            self.n = max(self.n, first + block.n)
            yield work(block, first)
            first += block.n

    def first(self) -> Examples:
        """Return the first block, and keep it so that the next pass need not read it again."""
        self._begun = blocks = iter(self._begun or self.batches())
        first = super().first()
        self._begun = itertools.chain((first,), blocks)
        return first


def merge_rows(parts: Sequence[Examples]) -> Examples:
    """Merge rows from several blocks, sorted by row number and without duplicates."""
    if len(parts) == 1:
        return parts[0]
    numbers, at = np.unique(np.concatenate([p.row_numbers for p in parts]), return_index=True)
    X, y = stack_tables([p.X for p in parts]), np.concatenate([p.y for p in parts])
    weights = [p.weights for p in parts if p.weights is not None]
    costs = np.concatenate(weights)[at] if weights else None
    return replace(parts[0], X=X[at], y=y[at], weights=costs, picked=numbers)


def stack_tables(tables: Sequence[Any]) -> Any:
    """Stack tables vertically; either all are dense or all are sparse."""
    if isinstance(tables[0], np.ndarray):
        return np.concatenate(tables)
    from scipy import sparse

    return sparse.vstack(tables, format="csr")
