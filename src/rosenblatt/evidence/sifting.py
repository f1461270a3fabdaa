"""What one pass over blocks looks for: the rows that an answer about others is wrong about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rosenblatt.blocks import Picked, picked
from rosenblatt.evidence.integers import exact_products, merged
from rosenblatt.evidence.margin import ON_THE_MARGIN, unit_length
from rosenblatt.evidence.nearest import worst_of_parts
from rosenblatt.evidence.signed import Floats
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis

SAMPLE = 64  # rows of a block to begin with
NEAR = 256  # rows on the margin that a block tells
MOST_OFF = 64


@dataclass(frozen=True, eq=False)
class Sifted:
    """The rows that a pass found, lowest scores first among them, and the least score.

    Parameters
    ----------
    low : Picked
        Rows that may join the working set.
    scores : array
        Their scores.
    near : Picked
        Rows on the margin, or nearly.
    least : float
        The least score of all.
    """

    low: Picked
    scores: Floats
    near: Picked
    least: float

    @classmethod
    def joined(cls, parts: Sequence[Sifted]) -> Sifted:
        """What all blocks found."""
        least = min(part.least for part in parts)
        low = parts[0].low.joined([part.low for part in parts[1:]])
        near = [part.near for part in parts if part.least <= least + ON_THE_MARGIN * abs(least)]
        scores = np.concatenate([part.scores for part in parts])
        return cls(low, scores, near[0].joined(near[1:]), least)


def slack_of(dimension: int) -> float:
    """How far off the score of a row up to length 1 can be, by weights of length up to 1."""
    return 4 * (dimension + 3) * 2.0**-53 + 2.0**-900


@dataclass(frozen=True)
class Sample:
    """The work of taking a few rows of a block, evenly."""

    def __call__(self, block: Examples, first: int) -> Picked:
        """The rows."""
        return picked(merged(block), first, np.arange(0, block.n, -(-block.n // SAMPLE)))


@dataclass(frozen=True, eq=False)
class Lowest:
    """The work of finding the rows with the least w·z of a block: one in each part of it.

    Parameters
    ----------
    w : array
        Tall weights of length 1.
    unit : float
        What scores are divided by.
    share : float
        How many rows of the block to tell, as a share of its rows.
    """

    w: Floats
    unit: float
    share: float

    def __call__(self, block: Examples, first: int) -> Sifted:
        """Those rows, and the rows next to the lowest of all."""
        block = merged(block)
        s = _scores(block, self.w, self.unit)
        low = worst_of_parts(s, max(1, math.ceil(self.share * block.n)))
        least = float(s.min())
        near = np.flatnonzero(s <= least + ON_THE_MARGIN * abs(least) + 2 * slack_of(len(self.w)))
        near = np.sort(near[np.argsort(s[near], kind="stable")[:NEAR]])
        return Sifted(picked(block, first, low), s[low], picked(block, first, near), least)


@dataclass(frozen=True, eq=False)
class Off:
    """The work of finding rows with w·z ≠ 0, exactly: those that are not in some span.

    Parameters
    ----------
    weights : tuple of int
        A direction orthogonal to the span.
    unit : float
        What scores are divided by.
    """

    weights: tuple[int, ...]
    unit: float

    def __call__(self, block: Examples, first: int) -> Sifted:
        """A few of them; the others are looked at exactly only where none is plainly off."""
        block = merged(block)
        s = np.abs(_scores(block, unit_length(self.weights), self.unit))
        off = np.flatnonzero(s > slack_of(len(self.weights)))
        off = np.sort(off[np.argsort(-s[off], kind="stable")[:MOST_OFF]])
        if len(off) == 0:
            products = exact_products(self.weights, block, range(block.n))
            off = np.array([n for n, product in enumerate(products) if product][:MOST_OFF], int)
        none = picked(block, first, off[:0])
        return Sifted(picked(block, first, off), s[off], none, float(s.min()))


def _scores(block: Examples, w: Floats, unit: float) -> Floats:
    slot = w if block.x0 else np.concatenate(([0.0], w))
    s = Hypothesis(slot / unit, block.x0).scores(block.X)
    s *= block.y
    return s
