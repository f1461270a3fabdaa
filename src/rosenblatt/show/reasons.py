"""Reasons: which features pushed the score of a row most, and which way."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.model import Model
from rosenblatt.read.columns import Number

MOST = 3


class Reasons:
    """Says the three strongest reasons for a model's answers.

    A number pushes by weight × (value - mean of the rows learnt from); a category or a word
    by its weight, times how often it comes.

    Parameters
    ----------
    model : Model
        Whose answers to explain.
    """

    def __init__(self, model: Model) -> None:
        self.weights = model.hypothesis.w[1:]
        self.names = model.feature_names_
        self.centre = np.concatenate(
            [
                [c.mean] if isinstance(c, Number) else np.zeros(len(c.features))
                for c in model.encoding.columns
            ]
        )
        self.is_number = np.concatenate(
            [np.full(len(c.features), isinstance(c, Number)) for c in model.encoding.columns]
        )

    def of(self, X: Any, rows: Any) -> list[str]:
        """The reasons of each row of numbers, as text."""
        if isinstance(X, np.ndarray):
            pushes = (X - self.centre) * self.weights
            strongest = np.argsort(-np.abs(pushes), axis=1, kind="stable")[:, :MOST]
            return [
                self._told(x, push, top) for x, push, top in zip(X, pushes, strongest, strict=True)
            ]
        return [self._sparse(X[[n]]) for n in range(X.shape[0])]

    def _sparse(self, row: Any) -> str:
        """Only what is in the row can push, numbers that are zero aside."""
        at = np.union1d(row.indices, np.flatnonzero(self.is_number))
        x = np.zeros(len(self.names))
        x[row.indices] = row.data
        push = (x - self.centre) * self.weights
        return self._told(x, push, at[np.argsort(-np.abs(push[at]), kind="stable")][:MOST])

    def _told(self, x: Any, push: Any, top: Any) -> str:
        return "; ".join(
            f"{self.names[i]}{f' {x[i]:g}' if self.is_number[i] else ''} ({push[i]:+.3g})"
            for i in top
            if push[i]
        )
