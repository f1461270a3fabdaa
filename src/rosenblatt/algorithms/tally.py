"""Mistakes counted over blocks: of one line, or of many lines in one pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rosenblatt import engine
from rosenblatt.algorithms.judge import Judge
from rosenblatt.blocks import Blocks
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis


@dataclass(frozen=True, eq=False)
class Wrong:
    """The work of counting the mistakes of a hypothesis."""

    hypothesis: Hypothesis

    def __call__(self, block: Examples, first: int) -> int:
        """Those in a block, in exact arithmetic wherever rounding could decide."""
        return len(self.hypothesis.mistakes(block))


def count_mistakes(blocks: Blocks, hypothesis: Hypothesis) -> int:
    """The mistakes of a hypothesis on all rows, in one pass.

    Parameters
    ----------
    blocks : Blocks
        The rows and their answers.
    hypothesis : Hypothesis
        The line.

    Examples
    --------
    >>> from rosenblatt.blocks import InOrder
    >>> halves = [Examples.from_arrays([[x]], [1], labels=np.array([0, 1])) for x in (2.0, -3.0)]
    >>> count_mistakes(InOrder(lambda: halves), Hypothesis(np.array([0.0, 1.0])))
    1
    """
    return sum(blocks.each(Wrong(hypothesis)))


class Judging:
    """Many weights judged in one pass; those that cannot beat a bound are dropped on the way.

    Parameters
    ----------
    W : array of shape (k, d + 1)
        The weights, each with its w0 slot.
    best : float
        Weights with at least so many mistakes are of no interest.
    zero : int
        The meaning of sign(0).
    """

    def __init__(self, W: NDArray[np.float64], best: float, zero: int = 0) -> None:
        self.W, self.best, self.zero = W, best, zero
        self.mistakes = np.zeros(len(W), dtype=np.int64)
        self.alive = np.arange(len(W))
        self.rows = 0

    def over(self, blocks: Blocks) -> NDArray[np.int64]:
        """The mistakes of each; of one that was dropped, those met until then."""
        for counts in blocks.each(self._count):
            self.mistakes[self.alive] += counts
            self.alive = self.alive[self.mistakes[self.alive] < self.best]
        return self.mistakes

    def _count(self, block: Examples, first: int) -> NDArray[np.int64]:
        self.rows += block.n
        if len(self.alive) == 0:
            return np.empty(0, dtype=np.int64)
        counts = Judge(block, self.zero, engine.cores()).counts(self.W[self.alive])
        return counts.astype(np.int64)
