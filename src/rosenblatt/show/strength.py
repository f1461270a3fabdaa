"""Strength: what a typical change of each feature does to the score, so weights compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.blocks import Blocks
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis


@dataclass(frozen=True)
class Strength:
    """A feature, its weight, and weight × standard deviation of the feature."""

    feature: str
    weight: float
    strength: float


def strengths(hypothesis: Hypothesis, blocks: Blocks) -> list[Strength]:
    """The features, strongest first.

    A weight applies to the values in the file, so weights of columns on different scales do
    not compare; weight × standard deviation does.

    Parameters
    ----------
    hypothesis : Hypothesis
        The weights.
    blocks : Blocks
        The rows to take the standard deviations from.
    """
    weights = hypothesis.w[1:]
    parts = list(blocks.each(_moments))
    names = parts[0].names or tuple(f"x{i}" for i in range(1, len(weights) + 1))
    with np.errstate(over="ignore"):
        strength = np.nan_to_num(weights * _spread(parts))
    order = np.argsort(-np.abs(strength), kind="stable")
    return [Strength(names[i], float(weights[i]), float(strength[i])) for i in order]


class Moments(NamedTuple):
    """The number of some rows, and the mean and standard deviation of each feature in them."""

    names: tuple[str, ...] | None
    rows: int
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]


def _moments(examples: Examples, first: int) -> Moments:
    X = examples.X
    if examples.is_sparse:
        mean = np.asarray(X.mean(axis=0)).ravel()
        squares = np.asarray(X.power(2).mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(squares - mean**2, 0.0))
    else:
        unit = np.abs(X).max(axis=0)
        unit = np.where(unit > 0, unit, 1.0)
        mean, spread = (X / unit).mean(axis=0) * unit, (X / unit).std(axis=0) * unit
    return Moments(examples.names, examples.n, mean, spread)


def _spread(parts: list[Moments]) -> NDArray[np.float64]:
    """The standard deviation of each feature in all rows."""
    if len(parts) == 1:
        return parts[0].spread
    unit = np.max([np.maximum(np.abs(part.mean), part.spread) for part in parts], axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    share = np.array([[part.rows] for part in parts]) / sum(part.rows for part in parts)
    means = np.array([part.mean / unit for part in parts])
    apart = means - (share * means).sum(axis=0)
    squares = np.array([part.spread / unit for part in parts]) ** 2 + apart**2
    return np.asarray(np.sqrt((share * squares).sum(axis=0)) * unit)
