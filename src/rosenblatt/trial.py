"""Trial: how well lines learnt in the same way answer rows they did not see."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.clock import Deadline
from rosenblatt.errors import UsageError
from rosenblatt.evidence.accuracy import Accuracy, folds, held_out
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.read import Layout, Source
from rosenblatt.read.data import Data, read_as, split
from rosenblatt.read.encoding import Answers, Unseen, spelled
from rosenblatt.read.plan import Wishes
from rosenblatt.words import counted, percent

ENOUGH = 10  # fewer rows than this are not worth holding some out

Learner = Callable[[Examples, Deadline], tuple[Hypothesis, bool]]  # the line, was it cut short?


@dataclass(frozen=True)
class Testing:
    """Where the rows come from that were not learnt from: one of these, or none."""

    share: float = 0.2  # of the rows held out
    file: str | None = None
    folds: int | None = None

    @property
    def learns(self) -> bool:
        """Whether other lines are learnt to measure accuracy."""
        return self.file is None and (self.folds is not None or self.share > 0)


@dataclass(frozen=True)
class Trial:
    """One accuracy, or one for each fold."""

    kind: str  # where the rows came from: "held out", "file" or "folds"
    accuracies: tuple[Accuracy, ...]  # of each line tried
    learnt_from: int  # how many rows the lines tried had learnt from
    unseen: Unseen | None = None  # values in a test file that were never learnt from
    cut_short: int = 0  # how many of the lines the time limit ended the learning of

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
        told = total.sentence(where)
        if self.kind == "held out":
            told += f", by a line learnt from the other {self.learnt_from:,}"
            told += " until the time limit" if self.cut_short else ""
        return told

    def told(self, answers: Answers) -> list[tuple[str, str]]:
        """The result and, under it, what it is worth."""
        return told_accuracy(self.sentence(), self.total, answers)

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


def told_accuracy(sentence: str, accuracy: Accuracy, answers: Answers) -> list[tuple[str, str]]:
    """An accuracy and, under it, what it is worth: lines with their names."""
    beside = accuracy.worth([spelled(answers.negative), spelled(answers.positive)])
    return [("tested", sentence), *(("", line) for line in beside)]


@dataclass(frozen=True, eq=False)
class Tester:
    """Tries lines on rows they were not learnt from, each in its share of the time."""

    data: Data
    reading: tuple[Layout, Wishes]
    learner: Learner
    rng: np.random.Generator
    deadline: Deadline

    def run(self, asked: Testing, line: Hypothesis, rows: int) -> Trial | None:
        """The trial asked for: on a file, in folds, or on rows held out; None for none.

        The line was learnt from so many rows; of rows in passes none are held out.
        """
        if asked.file is not None:
            return self._on_file(asked.file, line, rows)
        if not isinstance(self.data.blocks, Examples):
            return None
        y = self.data.examples.y
        rarest = int(min((y > 0).sum(), (y < 0).sum()))
        if asked.folds is not None:
            if asked.folds > rarest:
                raise UsageError(
                    f"--cv {asked.folds}: the rarer answer has {counted(rarest, 'row')}; "
                    "give at most so many folds."
                )
            parts, every = folds(y, asked.folds, self.rng), np.arange(len(y))
            return self._trial("folds", [(np.setdiff1d(every, fold), fold) for fold in parts])
        if asked.share == 0 or len(y) < ENOUGH or rarest < 2:
            return None
        learnt, tested = held_out(y, asked.share, self.rng)
        if len(np.unique(y[learnt])) < 2:
            return None
        return self._trial("held out", [(learnt, tested)])

    def _on_file(self, file: str, line: Hypothesis, rows: int) -> Trial:
        plan, held = self.data.plan, isinstance(self.data.blocks, Examples)
        other = read_as(Source.find(file), self.reading[0], plan, held)
        each = other.blocks.each(lambda block, first: Accuracy.of(line, block))
        total = functools.reduce(operator.add, each)
        unseen = Unseen(plan.encoding)
        for batch, _ in other.taken() if unseen.columns else ():
            unseen.take(batch)
        return Trial("file", (total,), rows, unseen)

    def _trial(self, kind: str, splits: list[tuple[Any, Any]]) -> Trial:
        """Learn and test on each split; what one leaves of its share is there for the others."""
        accuracies, cut_short = [], 0
        for k, (learnt, tested) in enumerate(splits):
            share = self.deadline.share(1 / (len(splits) - k))
            train, test = self._split(learnt, tested)
            line, ended = self.learner(train, share)
            accuracies.append(Accuracy.of(line, test))
            cut_short += ended
        most = max(len(learnt) for learnt, _ in splits)
        return Trial(kind, tuple(accuracies), most, cut_short=cut_short)

    def _split(
        self, learnt: NDArray[np.intp], tested: NDArray[np.intp]
    ) -> tuple[Examples, Examples]:
        if self.data.table is not None:
            return split(self.data, self.reading[1], learnt, tested)
        whole = self.data.examples  # arrays of numbers: there is nothing to learn of columns
        train, test = (replace(whole, X=whole.X[at], y=whole.y[at]) for at in (learnt, tested))
        return train, test
