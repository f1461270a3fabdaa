"""Accuracy on rows that were not learnt from: how it is measured, and how sure it is."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.clock import Deadline
from rosenblatt.errors import UsageError
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.messages import Message, Parameter
from rosenblatt.read import Layout, Source
from rosenblatt.read.data import Data, read_as, split
from rosenblatt.read.encoding import Answers, Unseen, check_there
from rosenblatt.read.plan import Wishes
from rosenblatt.words import (
    accuracy_sentence,
    confusion_table,
    counted,
    line_called,
    percent,
    worth_sentence,
)

Z95 = 1.959963984540054
SHARE = 0.2  # of the rows held out where nobody said another
ENOUGH = 10  # fewer rows than this are not worth holding some out

NOT_ASKED_FOR = "no rows were to be held out"
NO_TIME = "the time limit left no time for a test"
IN_PASSES = Message(
    "in passes over a file no rows are held out; give ", Parameter("test", example="FILE")
)

Rows = NDArray[np.intp]
Learner = Callable[[Examples, Deadline], tuple[Hypothesis, bool]]  # the line, was it cut short?


@dataclass(frozen=True)
class Accuracy:
    """How rows were answered, class by class.

    Parameters
    ----------
    confusion : tuple of tuples of int
        A line for each class, its rows by the class they were answered with, both in the order
        of the labels: for two, ((no as no, no as yes), (yes as no, yes as yes)).

    Examples
    --------
    >>> found = Accuracy(((12, 3), (2, 33)))
    >>> found.right, found.total, found.share, found.baseline
    (45, 50, 0.9, 0.7)
    >>> round(found.balanced, 3), [round(end, 3) for end in found.interval]
    (0.871, [0.786, 0.957])
    """

    confusion: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, hypothesis: Hypothesis, examples: Examples) -> Accuracy:
        """The accuracy of a hypothesis on some examples."""
        return cls.of_answers(examples.y, hypothesis.answers(examples.X), len(examples.labels))

    @classmethod
    def of_answers(cls, y: NDArray[Any], answers: NDArray[Any], k: int) -> Accuracy:
        """The accuracy of answers: of two labels -1 and +1, of k places among them.

        A row without an answer, 0 of two labels and -1 of more, is not counted.
        """
        none = 0 if k == 2 else -1
        there = (y != none) & (answers != none)
        pairs = np.maximum(y[there], 0).astype(np.intp) * k + np.maximum(answers[there], 0)
        counts = np.bincount(pairs, minlength=k * k).reshape(k, k)
        return cls(tuple(map(tuple, counts.tolist())))

    @classmethod
    def none(cls, k: int) -> Accuracy:
        """No rows of k labels."""
        return cls(((0,) * k,) * k)

    def __add__(self, other: Accuracy) -> Accuracy:
        pairs = zip(self.confusion, other.confusion, strict=True)
        return Accuracy(tuple(tuple(map(sum, zip(*pair, strict=True))) for pair in pairs))

    @property
    def right(self) -> int:
        """Rows answered rightly."""
        return sum(line[k] for k, line in enumerate(self.confusion))

    @property
    def total(self) -> int:
        """Rows answered."""
        return sum(self.sizes)

    @property
    def sizes(self) -> list[int]:
        """The rows of each class."""
        return [sum(line) for line in self.confusion]

    @property
    def share(self) -> float:
        """The share of rows answered rightly."""
        return self.right / self.total

    @property
    def baseline(self) -> float:
        """The share of the larger class: what one answer for all rows would reach."""
        return max(self.sizes) / self.total

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval for the share among all rows like these."""
        n, p = self.total, self.share
        middle = (p + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
        half = Z95 * math.sqrt(p * (1 - p) / n + Z95**2 / (4 * n**2)) / (1 + Z95**2 / n)
        return max(0.0, middle - half), min(1.0, middle + half)

    @property
    def balanced(self) -> float | None:
        """The mean of the shares right in each class, or None where one of two has no rows.

        Of more than two, those without rows are left out.
        """
        if len(self.sizes) == 2 and not all(self.sizes):
            return None
        pairs = zip(self.confusion, self.sizes, strict=True)
        shares = [line[k] / size for k, (line, size) in enumerate(pairs) if size]
        return sum(shares) / len(shares)

    @property
    def untested(self) -> int:
        """How many classes have no rows."""
        return self.sizes.count(0)

    def sentence(self, where: str) -> str:
        """The share and how sure it is."""
        return accuracy_sentence(self.share, self.interval, where)

    def worth(self, labels: Sequence[str]) -> list[str]:
        """What it is worth: the baseline and the balanced accuracy, then the table by class."""
        larger = labels[max(range(len(labels)), key=self.sizes.__getitem__)]
        first = worth_sentence(self.baseline, larger, self.balanced, self.untested)
        return [first, *confusion_table(self.confusion, labels)]

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON."""
        return {
            "rows": self.total,
            "right": self.right,
            "accuracy": self.share,
            "interval": list(self.interval),
            "baseline": self.baseline,
            "balanced": self.balanced,
            "confusion": [list(line) for line in self.confusion],
        }


def folds(y: NDArray[Any], count: int, rng: np.random.Generator) -> list[Rows]:
    """Rows dealt into so many folds, all answers as evenly as they go.

    Examples
    --------
    >>> y = np.array([1, 1, 1, 1, -1, -1], dtype=np.int8)
    >>> [sorted(y[fold].tolist()) for fold in folds(y, 2, np.random.default_rng(0))]
    [[-1, 1, 1], [-1, 1, 1]]
    """
    dealt = np.concatenate(
        [rng.permutation(np.flatnonzero(y == answer)) for answer in np.unique(y)]
    )
    return [np.sort(dealt[k::count]) for k in range(count)]


def held_out(y: NDArray[Any], share: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Rows to learn from and rows to test on: a share of each answer, at least one row of it.

    Of more than two answers, one row of each is learnt from in any case.
    """
    test, answers = [], np.unique(y)
    for answer in answers:
        rows = rng.permutation(np.flatnonzero(y == answer))
        most = len(rows) if len(answers) == 2 else len(rows) - 1
        test.append(rows[: min(most, max(1, round(share * len(rows))))])
    tested = np.sort(np.concatenate(test))
    return np.setdiff1d(np.arange(len(y)), tested), tested


@dataclass(frozen=True)
class Testing:
    """Where the rows come from that were not learnt from: one of these, or none."""

    said: float | None = None  # the share of the rows held out, where a person gave one
    file: str | None = None
    folds: int | None = None
    rows: Data | None = None  # of the file, once it is read

    def __post_init__(self) -> None:
        if bool(self.said) + (self.file is not None) + (self.folds is not None) > 1:
            raise UsageError(
                *("give only one of ", Parameter("test_size"), ", ", Parameter("test"), " and "),
                *(Parameter("cv"), ": each is a different way to measure accuracy."),
            )

    @property
    def share(self) -> float:
        """Of the rows, how many are held out."""
        return SHARE if self.said is None else self.said

    @property
    def learns(self) -> bool:
        """Whether other lines are learnt to measure accuracy."""
        return self.file is None and (self.folds is not None or self.share > 0)

    def ready(self, data: Data, layout: Layout) -> Testing:
        """The same with its file read; what cannot be done is refused before a line is learnt."""
        held = isinstance(data.blocks, Examples)
        if self.folds is not None and held:
            self._check_folds(self.folds, data.examples)
        if self.file is None:
            return self
        rows = read_as(Source.find(self.file), layout, data.plan, held)
        needed = [column.name for column in data.plan.encoding.columns]
        check_there(rows.names, [*needed, data.plan.answers.column], rows.name)
        return replace(self, rows=rows)

    def _check_folds(self, folds: int, examples: Examples) -> None:
        if folds <= (fewest := _second(examples)):
            return
        rarer = "rarer" if len(examples.labels) == 2 else "second most frequent"
        raise UsageError(
            f"{folds:,} folds need {folds:,} rows of the {rarer} label, which has {fewest:,}; "
            f"{'give a smaller' if fewest > 1 else 'leave out'} ",
            Parameter("cv"),
            ".",
        )


def _second(examples: Examples) -> int:
    """The rows of the second most frequent answer.

    With more than two labels one may be rare: two that are not are enough.
    """
    counts = np.bincount(examples.places, minlength=len(examples.labels))
    return int(np.sort(counts)[-2])


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
            line = line_called(len(total.confusion) > 2)
            told += f", by {line} learnt from the other {self.learnt_from:,}"
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
    beside = accuracy.worth(answers.spellings)
    return [("tested", sentence), *(("", line) for line in beside)]


@dataclass(frozen=True, eq=False)
class Tester:
    """Tries lines on rows they were not learnt from, each in its share of the time."""

    data: Data
    wishes: Wishes
    learner: Learner
    rng: np.random.Generator
    deadline: Deadline

    def run(self, asked: Testing, line: Hypothesis, rows: int) -> Trial | str | Message:
        """The trial asked for: on a file, in folds, or on rows held out; or why there is none.

        The line was learnt from so many rows; of rows in passes none are held out.
        """
        if asked.rows is not None:
            each = asked.rows.blocks.each(lambda block, first: Accuracy.of(line, block))
            total = functools.reduce(operator.add, each)
            unseen = Unseen(self.data.plan.encoding)
            for batch, _ in asked.rows.taken() if unseen.columns else ():
                unseen.take(batch)
            return Trial("file", (total,), rows, unseen)
        if asked.folds is None and asked.share == 0:
            return NOT_ASKED_FOR
        if not isinstance(self.data.blocks, Examples):
            return IN_PASSES
        if self._too_late:
            return NO_TIME
        y = self.data.examples.y
        if asked.folds is not None:
            parts, every = folds(y, asked.folds, self.rng), np.arange(len(y))
            return self._trial("folds", [(np.setdiff1d(every, fold), fold) for fold in parts])
        if len(y) < ENOUGH:
            return f"of fewer than {ENOUGH} rows none are held out"
        learnt, tested = held_out(y, asked.share, self.rng)
        if _second(self.data.examples) < 2 or len(np.unique(y[learnt])) < 2:
            return "with rows held out, only one answer would be left to learn from"
        return self._trial("held out", [(learnt, tested)])

    @property
    def _too_late(self) -> bool:
        """Whether the time is over; few rows are learnt from whatever the time."""
        return self.deadline.over_for(self.data.examples.numbers.size)

    def _trial(self, kind: str, splits: list[tuple[Any, Any]]) -> Trial | str:
        """Learn and test on each split; what one leaves of its share is there for the others."""
        accuracies, cut_short = [], 0
        for k, (learnt, tested) in enumerate(splits):
            if self._too_late:
                return NO_TIME
            share = self.deadline.share(1 / (len(splits) - k))
            if self.data.table is not None:
                train, test = split(self.data, self.wishes, learnt, tested)
            else:  # arrays of numbers: there is nothing to learn of columns
                train, test = self.data.examples.some(learnt), self.data.examples.some(tested)
            line, ended = self.learner(train, share)
            accuracies.append(Accuracy.of(line, test))
            cut_short += ended
        most = max(len(learnt) for learnt, _ in splits)
        return Trial(kind, tuple(accuracies), most, cut_short=cut_short)
