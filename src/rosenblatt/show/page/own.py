"""The user's data on the page: rows of a file and the verdict about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import numpy as np

from rosenblatt.clock import Deadline
from rosenblatt.errors import DataError
from rosenblatt.evidence.separability import separability_of
from rosenblatt.examples import Examples
from rosenblatt.messages import Parameter, with_label
from rosenblatt.read.data import Data
from rosenblatt.rownames import RowNames
from rosenblatt.show.scene import MOST_DRAWN
from rosenblatt.show.story import verdict_json
from rosenblatt.tables import to_dense
from rosenblatt.text import plural

MOST_ROWS = 5_000  # maximum number of rows that are drawn
MOST_NUMBERS = 2**17  # maximum size of the table, so that the file is small enough to mail
PATIENCE = 10.0  # seconds for the verdict on all features
LARGEST = 1e100  # largest absolute number that can be drawn


@dataclass(frozen=True, eq=False)
class OwnData:
    """Rows of the user's file for the page, which draws two columns or a projection."""

    name: str
    examples: Examples  # dense
    rows: int  # in the file
    row_names: RowNames  # names of the examples in the file

    @classmethod
    def of(cls, data: Data, most: int = MOST_NUMBERS) -> OwnData:
        """Take all rows of a file, or a random sample if there are too many."""
        examples, rows, labels = data.examples, data.examples.n, len(data.examples.labels)
        names = data.row_names()
        if labels > MOST_DRAWN or (labels > 2 and examples.d < 2):
            raise DataError(
                f"{data.name} has {plural(labels, 'label')} and {plural(examples.d, 'feature')}, "
                f"but the page can draw at most {MOST_DRAWN} labels and needs two features; give ",
                with_label("positive", data.plan.target.spellings[-1]),
                ", for example, to show it against all others.",
            )
        limit = min(MOST_ROWS, most // max(1, examples.d))
        if limit < min(rows, 10):
            raise DataError(
                f"{data.name} has {plural(examples.d, 'feature')}, more than the page can "
                "show; leave out columns with ",
                Parameter("ignore"),
                ".",
            )
        if rows > limit:
            kept = np.sort(np.random.default_rng(0).choice(rows, limit, replace=False))
            examples, names = examples.some(kept), replace(names, positions=data.rows[kept])
        X = np.ascontiguousarray(to_dense(examples.X), dtype=np.float64)
        if not (np.abs(X) <= LARGEST).all():
            raise DataError(
                f"{data.name} has numbers beyond 1e100, which cannot be drawn; scale the columns."
            )
        return cls(PurePath(data.name).name, replace(examples, X=X), rows, names)

    def to_json(self) -> dict[str, Any]:
        """Return the column names, the rows with their labels, and the verdict as JSON."""
        examples = self.examples
        verdict = self._verdict()
        return {
            "name": self.name,
            "columns": list(examples.feature_names),
            "labels": examples.label_names,
            "rows": self.rows,
            "X": examples.X.tolist(),
            "targets": examples.y.tolist(),
            "verdict": verdict,
        }

    def _verdict(self) -> dict[str, Any] | None:
        """Return the verdict on all features as JSON, or None for more than two labels."""
        if self.examples.multiclass:
            return None
        found = separability_of(self.examples, deadline=Deadline.after(PATIENCE))
        return verdict_json(replace(found, row_names=self.row_names), self.examples)
