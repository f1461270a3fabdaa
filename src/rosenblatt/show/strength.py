"""Strength: what a typical change of each feature does to the score, so weights compare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis


@dataclass(frozen=True)
class Strength:
    """A feature, its weight, and weight × standard deviation of the feature."""

    feature: str
    weight: float
    strength: float


def strengths(hypothesis: Hypothesis, examples: Examples) -> list[Strength]:
    """The features, strongest first.

    A weight applies to the values in the file, so weights of columns on different scales do
    not compare; weight × standard deviation does.

    Parameters
    ----------
    hypothesis : Hypothesis
        The weights.
    examples : Examples
        The rows to take the standard deviations from.
    """
    weights = hypothesis.w[1:]
    with np.errstate(over="ignore"):
        strength = np.nan_to_num(weights * spreads(examples))
    names = examples.names or tuple(f"x{i}" for i in range(1, examples.d + 1))
    order = np.argsort(-np.abs(strength), kind="stable")
    return [Strength(names[i], float(weights[i]), float(strength[i])) for i in order]


def spreads(examples: Examples) -> NDArray[np.float64]:
    """The standard deviation of each feature."""
    X = examples.X
    if examples.is_sparse:
        mean = np.asarray(X.mean(axis=0)).ravel()
        squares = np.asarray(X.power(2).mean(axis=0)).ravel()
        result: NDArray[np.float64] = np.sqrt(np.maximum(squares - mean**2, 0.0))
        return result
    unit = np.abs(X).max(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    return np.asarray((X / unit).std(axis=0) * unit)
