"""Accuracy on rows that were not learnt from, and how sure that figure is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.words import accuracy_sentence, confusion_table, worth_sentence

Z95 = 1.959963984540054

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Accuracy:
    """How rows were answered, class by class.

    Parameters
    ----------
    confusion : tuple of tuples of int
        A line for each class, its rows by the class they were answered with, both in the order
        of the labels: for two, ((no as no, no as yes), (yes as no, yes as yes)).

    Examples
    --------
    >>> found = Accuracy(((12, 3), (2, 33)))
    >>> found.right, found.total, found.share, found.baseline
    (45, 50, 0.9, 0.7)
    >>> round(found.balanced, 3), [round(end, 3) for end in found.interval]
    (0.871, [0.786, 0.957])
    """

    confusion: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, hypothesis: Hypothesis, examples: Examples) -> Accuracy:
        """The accuracy of a hypothesis on some examples."""
        return cls.of_signs(examples.y, hypothesis.answers(examples.X))

    @classmethod
    def of_signs(cls, y: NDArray[np.int8], answers: NDArray[np.int8]) -> Accuracy:
        """The accuracy of answers of -1 and +1."""
        lines = ((y == k) & (answers == answer) for k in (-1, 1) for answer in (-1, 1))
        no_no, no_yes, yes_no, yes_yes = (int(np.count_nonzero(rows)) for rows in lines)
        return cls(((no_no, no_yes), (yes_no, yes_yes)))

    def __add__(self, other: Accuracy) -> Accuracy:
        pairs = zip(self.confusion, other.confusion, strict=True)
        return Accuracy(tuple(tuple(map(sum, zip(*pair, strict=True))) for pair in pairs))

    @property
    def right(self) -> int:
        """Rows answered rightly."""
        return sum(line[k] for k, line in enumerate(self.confusion))

    @property
    def total(self) -> int:
        """Rows answered."""
        return sum(self.sizes)

    @property
    def sizes(self) -> list[int]:
        """The rows of each class."""
        return [sum(line) for line in self.confusion]

    @property
    def share(self) -> float:
        """The share of rows answered rightly."""
        return self.right / self.total

    @property
    def baseline(self) -> float:
        """The share of the larger class: what one answer for all rows would reach."""
        return max(self.sizes) / self.total

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval for the share among all rows like these."""
        n, p = self.total, self.share
        middle = (p + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
        half = Z95 * math.sqrt(p * (1 - p) / n + Z95**2 / (4 * n**2)) / (1 + Z95**2 / n)
        return max(0.0, middle - half), min(1.0, middle + half)

    @property
    def balanced(self) -> float | None:
        """The mean of the shares right in each class, or None where one has no rows."""
        if not all(self.sizes):
            return None
        pairs = zip(self.confusion, self.sizes, strict=True)
        shares = [line[k] / size for k, (line, size) in enumerate(pairs)]
        return sum(shares) / len(shares)

    def sentence(self, where: str) -> str:
        """The share and how sure it is."""
        return accuracy_sentence(self.share, self.interval, where)

    def worth(self, labels: Sequence[str]) -> list[str]:
        """What it is worth: the baseline and the balanced accuracy, then the table by class."""
        larger = labels[max(range(len(labels)), key=self.sizes.__getitem__)]
        first = worth_sentence(self.baseline, larger, self.balanced)
        return [first, *confusion_table(self.confusion, labels)]

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON."""
        return {
            "rows": self.total,
            "right": self.right,
            "accuracy": self.share,
            "interval": list(self.interval),
            "baseline": self.baseline,
            "balanced": self.balanced,
            "confusion": [list(line) for line in self.confusion],
        }


def folds(y: NDArray[np.int8], count: int, rng: np.random.Generator) -> list[Rows]:
    """Rows dealt into so many folds, both answers as evenly as they go.

    Examples
    --------
    >>> y = np.array([1, 1, 1, 1, -1, -1], dtype=np.int8)
    >>> [sorted(y[fold].tolist()) for fold in folds(y, 2, np.random.default_rng(0))]
    [[-1, 1, 1], [-1, 1, 1]]
    """
    dealt = np.concatenate([rng.permutation(np.flatnonzero(y == sign)) for sign in (-1, 1)])
    return [np.sort(dealt[k::count]) for k in range(count)]


def held_out(y: NDArray[np.int8], share: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Rows to learn from and rows to test on: a share of each answer, at least one row of it."""
    test = []
    for sign in (-1, 1):
        rows = rng.permutation(np.flatnonzero(y == sign))
        test.append(rows[: max(1, round(share * len(rows)))])
    tested = np.sort(np.concatenate(test))
    return np.setdiff1d(np.arange(len(y)), tested), tested
