"""Accuracy on rows that were not learnt from, and how sure that figure is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis

Z95 = 1.959963984540054

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Accuracy:
    """How many rows were answered rightly, of how many.

    Parameters
    ----------
    right : int
        Rows answered rightly.
    total : int
        Rows answered.
    yes_right, yes_total : int
        The same among the rows whose answer is yes.

    Examples
    --------
    >>> Accuracy(97, 100).share
    0.97
    >>> low, high = Accuracy(97, 100).interval
    >>> round(low, 3), round(high, 3)
    (0.915, 0.99)
    """

    right: int
    total: int
    yes_right: int = 0
    yes_total: int = 0

    @classmethod
    def of(cls, hypothesis: Hypothesis, examples: Examples) -> Accuracy:
        """The accuracy of a hypothesis on some examples."""
        right = hypothesis.answers(examples.X) == examples.y
        yes = examples.y > 0
        return cls(int(right.sum()), len(right), int((right & yes).sum()), int(yes.sum()))

    @property
    def share(self) -> float:
        """The share of rows answered rightly."""
        return self.right / self.total

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval for the share among all rows like these."""
        n, p = self.total, self.share
        middle = (p + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
        half = Z95 * math.sqrt(p * (1 - p) / n + Z95**2 / (4 * n**2)) / (1 + Z95**2 / n)
        return max(0.0, middle - half), min(1.0, middle + half)

    @property
    def balanced(self) -> float | None:
        """The mean of the shares among yes rows and no rows, or None where one has no rows."""
        no_total = self.total - self.yes_total
        if not self.yes_total or not no_total:
            return None
        return (self.yes_right / self.yes_total + (self.right - self.yes_right) / no_total) / 2


def folds(y: NDArray[np.int8], count: int, rng: np.random.Generator) -> list[Rows]:
    """Rows dealt into folds, both answers as evenly as they go.

    Parameters
    ----------
    y : int8 array
        The answers.
    count : int
        How many folds.
    rng : Generator
        The source of chance.

    Examples
    --------
    >>> y = np.array([1, 1, 1, 1, -1, -1], dtype=np.int8)
    >>> [sorted(y[fold].tolist()) for fold in folds(y, 2, np.random.default_rng(0))]
    [[-1, 1, 1], [-1, 1, 1]]
    """
    dealt = np.concatenate([rng.permutation(np.flatnonzero(y == sign)) for sign in (-1, 1)])
    return [np.sort(dealt[k::count]) for k in range(count)]


def held_out(y: NDArray[np.int8], share: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Rows to learn from and rows to test on, both answers in the same proportion.

    Parameters
    ----------
    y : int8 array
        The answers.
    share : float
        The share of each answer that is held out, at least one row of it.
    rng : Generator
        The source of chance.
    """
    test = []
    for sign in (-1, 1):
        rows = rng.permutation(np.flatnonzero(y == sign))
        test.append(rows[: max(1, round(share * len(rows)))])
    tested = np.sort(np.concatenate(test))
    return np.setdiff1d(np.arange(len(y)), tested), tested
