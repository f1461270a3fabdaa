"""Tally: what a model answered, how much of it was right, and what it had never seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.cli.console import Voice
from rosenblatt.errors import column_called
from rosenblatt.evidence.accuracy import Accuracy
from rosenblatt.model import Model
from rosenblatt.read.encoding import Unseen, refused, spelled
from rosenblatt.trial import told_accuracy
from rosenblatt.words import counted


class Tally:
    """Counts answers as they go by, and those that were right where the rows say so.

    Parameters
    ----------
    model : Model
        Whose answers they are.
    """

    def __init__(self, model: Model) -> None:
        self.answers = model.answers
        self.labels = [spelled(label) for label in model.classes_.tolist()]
        self.counts, self.rows, self.empty, self.strange = [0, 0], 0, 0, 0
        self.accuracy = Accuracy(((0, 0), (0, 0)))
        self.unseen = Unseen(model.encoding)

    def of(self, batches: Iterator[tuple[Any, NDArray[np.int8]]]) -> Iterator[Any]:
        """The tables, each counted as it passes."""
        for batch, signs in batches:
            self.rows += len(signs)
            self.counts[0] += int((signs < 0).sum())
            self.counts[1] += int((signs > 0).sum())
            self.empty += int((signs == 0).sum())
            self.unseen.take(batch)
            self._test(batch, signs)
            yield batch

    def _test(self, batch: Any, signs: NDArray[np.int8]) -> None:
        column = self.answers.column
        if column not in batch.schema.names or refused(batch.schema.field(column).type):
            return
        y, strange = self.answers.read(batch.column(column))
        self.accuracy += Accuracy.of_signs(y, signs)
        self.strange += int(np.count_nonzero(strange))

    def tell(self, voice: Voice) -> None:
        """What a person should know beside the answers."""
        if self.empty:
            voice.note(f"{counted(self.empty, 'row')} without an answer: a number is missing.")
        for sentence in self.unseen.sentences():
            voice.note(sentence)
        if self.strange:
            neither = 'neither "{}" nor "{}"'.format(*self.labels)
            where = column_called(self.answers.column)
            voice.note(f"{counted(self.strange, 'row')} with {neither} in {where}: not tested.")
        if self.accuracy.total:
            where = f"{counted(self.accuracy.total, 'row')} with an answer in the file"
            told = self.accuracy.sentence(where)
            for what, text in told_accuracy(told, self.accuracy, self.answers):
                voice.step(what, text)

    def summary(self) -> dict[str, Any]:
        """The counts as JSON."""
        return {
            "rows_read": self.rows,
            "answers": dict(zip(self.labels, self.counts, strict=True)),
            "without_answer": self.empty,
            "accuracy": self.accuracy.to_json() if self.accuracy.total else None,
            "unseen": self.unseen.to_json(),
        }

    def sentence(self) -> str:
        """The counts in words."""
        parts = [f"{n:,} {label}" for label, n in zip(self.labels, self.counts, strict=True)]
        return f"{counted(self.rows, 'row')}, {' and '.join(parts)}"
