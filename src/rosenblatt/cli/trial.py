"""Trial: how well lines learnt in the same way answer rows they did not see."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.cli.options import Reading
from rosenblatt.cli.say import Voice
from rosenblatt.cli.strategy import Outcome
from rosenblatt.clock import Deadline
from rosenblatt.errors import UsageError
from rosenblatt.evidence.accuracy import Accuracy, folds, held_out
from rosenblatt.examples import Examples
from rosenblatt.model import Model
from rosenblatt.read import Source
from rosenblatt.read.data import Data, read_as, split
from rosenblatt.read.encoding import Answers, Unseen, spelled
from rosenblatt.words import accuracy_sentence, beside_accuracy, counted, percent

ENOUGH = 10  # fewer rows than this are not worth holding some out


@dataclass(frozen=True)
class Trial:
    """One accuracy, or one for each fold.

    Parameters
    ----------
    kind : {"held out", "file", "folds"}
        Where the rows came from.
    accuracies : tuple of Accuracy
        Of each model tried.
    learnt_from : int
        How many rows the model tried had learnt from.
    unseen : Unseen, optional
        Values in a test file that were never learnt from.
    cut_short : int
        How many of the models tried the time limit ended the learning of.
    """

    kind: str
    accuracies: tuple[Accuracy, ...]
    learnt_from: int
    unseen: Unseen | None = None
    cut_short: int = 0

    @property
    def total(self) -> Accuracy:
        """All rows answered together."""
        return functools.reduce(operator.add, self.accuracies)

    def sentence(self) -> str:
        """The result in words."""
        total = self.total
        if self.kind == "folds":
            shares = np.array([one.share for one in self.accuracies])
            told = (
                f"{percent(float(shares.mean()))} right on average in {len(shares)} folds "
                f"(standard deviation {100 * shares.std(ddof=1):.1f})"
            )
            many = f"{self.cut_short} of them" if self.cut_short < len(shares) else "each"
            return f"{told}; the time limit ended learning in {many}" if self.cut_short else told
        rows = counted(total.total, "row")
        where = f"{rows} of the test file" if self.kind == "file" else f"{rows} held out"
        told = accuracy_sentence(total, where)
        if self.kind == "held out":
            told += f", by a line learnt from the other {self.learnt_from:,}"
            told += " until the time limit" if self.cut_short else ""
        return told

    def to_json(self) -> dict[str, Any]:
        """The result as JSON."""
        value = {
            "measured on": self.kind,
            **self.total.to_json(),
            "learnt_from": self.learnt_from,
        }
        if self.unseen is not None:
            value["unseen"] = self.unseen.to_json()
        if self.kind == "folds":
            value["folds"] = [one.share for one in self.accuracies]
        return value


def tell_accuracy(voice: Voice, sentence: str, accuracy: Accuracy, answers: Answers) -> None:
    """An accuracy and, under it, what it is worth."""
    voice.step("tested", sentence)
    for line in beside_accuracy(accuracy, [spelled(answers.negative), spelled(answers.positive)]):
        voice.step("", line)


def tell_trial(voice: Voice, trial: Trial, answers: Answers) -> None:
    """What a trial showed."""
    tell_accuracy(voice, trial.sentence(), trial.total, answers)
    for sentence in () if trial.unseen is None else trial.unseen.sentences():
        voice.note(sentence)


@dataclass(frozen=True, eq=False)
class Tester:
    """Tries lines on rows they were not learnt from, each in its share of the time."""

    data: Data
    reading: Reading
    learner: Callable[[Examples, Deadline], Outcome]
    rng: np.random.Generator
    deadline: Deadline

    def run(self, file: str | None, count: int | None, share: float, model: Model) -> Trial | None:
        """The trial asked for: on a file, in folds, or on rows held out; None for none."""
        if file is not None:
            return self._on_file(file, model)
        rarest = int(min((self.data.examples.y > 0).sum(), (self.data.examples.y < 0).sum()))
        if count is not None:
            if count > rarest:
                raise UsageError(
                    f"--cv {count}: the rarer answer has {counted(rarest, 'row')}; "
                    "give at most so many folds."
                )
            return self._in_folds(count)
        if share == 0 or self.data.examples.n < ENOUGH or rarest < 2:
            return None
        learnt, tested = held_out(self.data.examples.y, share, self.rng)
        if len(np.unique(self.data.examples.y[learnt])) < 2:
            return None
        return self._trial("held out", [(learnt, tested)])

    def _on_file(self, file: str, model: Model) -> Trial:
        other = read_as(Source.find(file), self.reading.layout, self.data.plan)
        accuracy = Accuracy.of(model.hypothesis, other.examples)
        unseen = Unseen(self.data.plan.encoding)
        unseen.take(other.table)
        return Trial("file", (accuracy,), self.data.examples.n, unseen)

    def _in_folds(self, count: int) -> Trial:
        every = np.arange(self.data.examples.n)
        parts = folds(self.data.examples.y, count, self.rng)
        return self._trial("folds", [(np.setdiff1d(every, fold), fold) for fold in parts])

    def _trial(self, kind: str, splits: list[tuple[Any, Any]]) -> Trial:
        """Learn and test on each split; what one leaves of its share is there for the others."""
        accuracies, cut_short = [], 0
        for k, (learnt, tested) in enumerate(splits):
            share = self.deadline.share(1 / (len(splits) - k))
            train, test = split(self.data, self.reading.wishes, learnt, tested)
            outcome = self.learner(train, share)
            accuracies.append(Accuracy.of(outcome.hypothesis, test))
            cut_short += outcome.cut_short
        most = max(len(learnt) for learnt, _ in splits)
        return Trial(kind, tuple(accuracies), most, cut_short=cut_short)
