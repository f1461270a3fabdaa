"""Own: a person's own data, to be shown by two of its columns or by their projection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import numpy as np

from rosenblatt.examples import Examples
from rosenblatt.read.data import Data
from rosenblatt.show.page.limits import AskError, Limits
from rosenblatt.show.page.presets import Plane
from rosenblatt.words import counted

MOST_ENTRIES = 2**21  # of a table that is drawn


@dataclass(frozen=True, eq=False)
class Own:
    """The rows of a file, as many as the page shows.

    Parameters
    ----------
    name : str
        The file's.
    examples : Examples
        Its rows, dense.
    rows : int
        How many the file has.
    """

    name: str
    examples: Examples
    rows: int

    @classmethod
    def of(cls, data: Data, limits: Limits = Limits()) -> Own:
        """What the page shows of a file: all rows, or some drawn at random where they are many."""
        examples, rows = data.examples, data.examples.n
        if rows > limits.points:
            drawn = np.random.default_rng(0).choice(rows, limits.points, replace=False)
            kept = np.sort(drawn)
            examples = replace(examples, X=examples.X[kept], y=examples.y[kept])
        if examples.n * examples.d > MOST_ENTRIES:
            raise AskError(
                f"{data.name} has {counted(examples.d, 'feature')} in "
                f"{counted(examples.n, 'row')}, which is more than the page can draw; "
                "leave out columns with --ignore."
            )
        X = examples.X if isinstance(examples.X, np.ndarray) else examples.X.toarray()
        X = np.ascontiguousarray(X, dtype=np.float64)
        if not (np.abs(X) <= 1e100).all():
            raise AskError(f"{data.name} has numbers past 1e100, which cannot be drawn.")
        return cls(PurePath(data.name).name, replace(examples, X=X), rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the features."""
        d = self.examples.d
        return self.examples.names or tuple(f"x{i + 1}" for i in range(d))

    def plane(self, x: str, y: str) -> Plane:
        """The rows by two of their features."""
        chosen = [self.columns.index(x), self.columns.index(y)]
        no, yes = (str(label) for label in self.examples.labels.tolist())
        return Plane(self.examples.X[:, chosen], self.examples.y, (x, y), (no, yes))

    def to_json(self) -> dict[str, Any]:
        """What the page needs to know of the file."""
        return {
            "name": self.name,
            "columns": list(self.columns),
            "rows": self.rows,
            "shown": self.examples.n,
        }
