"""Own data: the rows of a person's file as the page carries them, with what is proved of them."""

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
from rosenblatt.words import counted

MOST_ROWS = 5_000  # the picture holds no more
MOST_NUMBERS = 2**17  # of the table: a file that can still be mailed
PATIENCE = 10.0  # seconds for the verdict about all features
LARGEST = 1e100  # of a number that can be drawn


@dataclass(frozen=True, eq=False)
class OwnData:
    """The rows of a person's file, as many as the page shows: by two columns, or projected."""

    name: str
    examples: Examples  # dense
    rows: int  # that the file has
    row_names: RowNames  # what the examples are called in the file

    @classmethod
    def of(cls, data: Data, most: int = MOST_NUMBERS) -> OwnData:
        """All rows of a file, or some drawn at random where they are too many."""
        examples, rows, labels = data.examples, data.examples.n, len(data.examples.labels)
        names = data.row_names()
        if labels > MOST_DRAWN or (labels > 2 and examples.d < 2):
            raise DataError(
                f"{data.name} has {counted(labels, 'label')} and {counted(examples.d, 'feature')}, "
                f"and the page draws up to {MOST_DRAWN} labels by two features; give ",
                with_label("positive", data.plan.answers.spellings[-1]),
                ", for example, to see it against the rest.",
            )
        room = min(MOST_ROWS, most // max(1, examples.d))
        if room < min(rows, 10):
            raise DataError(
                f"{data.name} has {counted(examples.d, 'feature')}, which is more than the page "
                "can show; leave out columns with ",
                Parameter("ignore"),
                ".",
            )
        if rows > room:
            kept = np.sort(np.random.default_rng(0).choice(rows, room, replace=False))
            examples, names = examples.some(kept), replace(names, positions=data.rows[kept])
        X = examples.X if isinstance(examples.X, np.ndarray) else examples.X.toarray()
        X = np.ascontiguousarray(X, dtype=np.float64)
        if not (np.abs(X) <= LARGEST).all():
            raise DataError(f"{data.name} has numbers past 1e100, which cannot be drawn.")
        return cls(PurePath(data.name).name, replace(examples, X=X), rows, names)

    def to_json(self) -> dict[str, Any]:
        """What the page needs: names, numbers, answers, and the verdict about all features."""
        examples = self.examples
        verdict = self._verdict()
        return {
            "name": self.name,
            "columns": list(examples.feature_names),
            "labels": examples.label_names,
            "rows": self.rows,
            "X": examples.X.tolist(),
            "answers": examples.y.tolist(),
            "verdict": verdict,
        }

    def _verdict(self) -> dict[str, Any] | None:
        """What is proved of all features; of several labels the page shows two features alone."""
        if len(self.examples.labels) > 2:
            return None
        found = separability_of(self.examples, deadline=Deadline.after(PATIENCE))
        return verdict_json(replace(found, row_names=self.row_names), self.examples)
