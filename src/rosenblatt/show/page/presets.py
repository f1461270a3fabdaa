"""Presets: examples to begin with, each made from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.read.credit import credit

Floats = NDArray[np.float64]
TARGET = np.array([0.5, 1.2, -1.0])  # a line that crosses the picture


@dataclass(frozen=True, eq=False)
class Plane:
    """Examples with two features, as the page shows them."""

    X: Floats
    y: NDArray[Any]  # -1 and +1
    names: tuple[str, str] = ("x1", "x2")
    labels: tuple[str, str] = ("×", "○")  # what -1 and +1 are called

    def to_json(self) -> dict[str, Any]:
        """The examples as the page takes them."""
        return {
            "points": self.X.tolist(),
            "answers": self.y.tolist(),
            "names": list(self.names),
            "labels": list(self.labels),
        }


def separable(rng: np.random.Generator) -> Plane:
    """A few examples with room between the answers."""
    return _answered(rng, 24, least=0.08)


def narrow(rng: np.random.Generator) -> Plane:
    """Examples that a line answers with hardly any room."""
    wide = _answered(rng, 30, least=0.08)
    # Three examples close to the line decide how long it takes.
    across = TARGET[1:] / np.linalg.norm(TARGET[1:])
    along = np.array([-across[1], across[0]])
    foot = -TARGET[0] / np.linalg.norm(TARGET[1:]) * across
    near = foot + np.outer([-0.6, 0.1, 0.7], along) + np.outer([0.02, -0.02, 0.02], across)
    X = np.vstack((wide.X, np.round(near, 3)))
    return Plane(X, _signs(X))


def noisy(rng: np.random.Generator) -> Plane:
    """Examples of a line with some answers turned around."""
    plane = _answered(rng, 40, least=0.05)
    turned = rng.choice(40, 4, replace=False)
    y = plane.y.copy()
    y[turned] *= -1
    return Plane(plane.X, y)


def xor(rng: np.random.Generator) -> Plane:
    """The four examples that no line can answer."""
    X = np.array([[-0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [0.5, -0.5]])
    return Plane(X, np.array([-1, -1, 1, 1]))


def ring(rng: np.random.Generator) -> Plane:
    """One answer in the middle, the other around it."""
    angles = np.concatenate((rng.uniform(0, 2 * np.pi, 16), np.linspace(0, 2 * np.pi, 25)[:-1]))
    radii = np.concatenate((0.42 * np.sqrt(rng.random(16)), rng.uniform(0.72, 0.95, 24)))
    X: Floats = np.column_stack((radii * np.cos(angles), radii * np.sin(angles))).round(2)
    return Plane(X, np.where(np.arange(40) < 16, 1, -1))


def credit_in_two(rng: np.random.Generator) -> Plane:
    """Applicants for credit by salary and debt, both in thousands; age and job are not seen."""
    table = credit(60, seed=int(rng.integers(2**31)))
    columns = [table.column(name).to_numpy() / 1000 for name in ("annual salary", "current debt")]
    y = np.where(np.array(table.column("approved").to_pylist()) == "yes", 1, -1)
    X = np.round(np.column_stack(columns), 2)
    return Plane(X, y, ("salary, thousands", "debt, thousands"), ("refused", "approved"))


PRESETS: dict[str, Callable[[np.random.Generator], Plane]] = {
    "separable": separable,
    "narrow": narrow,
    "noisy": noisy,
    "xor": xor,
    "ring": ring,
    "credit": credit_in_two,
}


def preset(name: str, seed: int) -> Plane:
    """The examples of a preset; the same seed makes the same ones.

    Examples
    --------
    >>> preset("xor", 0).y.tolist()
    [-1, -1, 1, 1]
    """
    return PRESETS[name](np.random.default_rng(seed))


def _answered(rng: np.random.Generator, n: int, *, least: float) -> Plane:
    """n examples of the target that are not nearer to it than a number."""
    X = np.round(rng.uniform(-0.95, 0.95, (40 * n, 2)), 2)
    away = np.abs(TARGET[0] + X @ TARGET[1:]) / np.linalg.norm(TARGET[1:])
    X = X[away >= least][:n]
    return Plane(X, _signs(X))


def _signs(X: Floats) -> NDArray[Any]:
    return np.where(TARGET[0] + X @ TARGET[1:] > 0, 1, -1)
