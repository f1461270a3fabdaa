"""What runs on a worker: looking at a shard, taking it as examples, one cycle of learning."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

import rosenblatt.engine as engine
from rosenblatt.algorithms.judge import Judge
from rosenblatt.algorithms.pla import CYCLES, WALKS, Budget, Rule, Walk, looked_into
from rosenblatt.checks import row_weights
from rosenblatt.dask.sources import Raw
from rosenblatt.examples import Examples, signs

MANY_LABELS = 4


@dataclass(frozen=True, eq=False)
class Seen:
    """What a first look at a part tells the driver."""

    rows: int
    columns: int
    names: tuple[str, ...] | None
    labels: NDArray[Any]
    counts: NDArray[np.int64]  # rows of each label with a weight above 0
    worker: str  # where it is


@dataclass(frozen=True, eq=False)
class AsExamples:
    """How raw rows are taken as examples: the labels of all the data, x0, weights of classes."""

    labels: NDArray[Any]
    x0: float
    each: NDArray[np.float64] | None = None  # of the negative class, and of the positive
    key: str = field(default_factory=lambda: uuid4().hex)

    def take(self, name: str, raw: Raw) -> Examples:
        """The examples that a part is; says which part has something wrong.

        Numbers are not looked at yet: a cycle comes upon those that are none by itself.
        """
        try:
            examples = Examples.from_arrays(
                raw.X, raw.answers, x0=self.x0, labels=self.labels, looked_at=False
            )
            if raw.weights is None and self.each is None:
                return examples
            return examples.weighted(raw.weights, self.each, stream=True)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None

    def taken(self, name: str, raw: Raw) -> Examples:
        """The same, made once for as long as the part is here."""
        key, examples = _made.get(raw, ("", None))
        if examples is None or key != self.key:
            examples = self.take(name, raw)
            _made[raw] = (self.key, examples)
        return examples


_made: WeakKeyDictionary[Raw, tuple[str, Examples]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Share:
    """What a shard is asked to do in a round."""

    rule: Rule  # chance comes from the seed instead
    seed: tuple[int, int, int]  # (seed, round, shard): a retry draws the same numbers
    cycles: int  # the rounds left, this one included
    corrections: int | None = None  # the most that this shard may make; 0 only counts mistakes


@dataclass(frozen=True, eq=False)
class Learnt:
    """What a shard made of the incoming w: its mistakes here, and the w after one cycle."""

    w: NDArray[np.float64] | None  # None where nothing was corrected
    corrections: int
    mistakes: float
    seconds: float
    worker: str


@dataclass(frozen=True, eq=False)
class ShardTask:
    """A question to some shards, which one thread answers one after another."""

    function: Callable[..., Any]  # takes a shard, what is for it alone, and w
    reading: AsExamples | None  # not given before that is known
    names: list[str]  # what messages call the shards
    each: list[Any]  # what is for each alone

    def run(self, shards: Sequence[Raw], w: Any) -> list[Any]:
        """What the shards answer."""
        answers = []
        with engine.at_most(1):
            for name, shard, own in zip(self.names, shards, self.each, strict=True):
                part = shard if self.reading is None else self.reading.taken(name, shard)
                answers.append(self.function(part, own, w))
        return answers


def look_at(raw: Raw, most: int, _: None) -> Seen:
    """Look at a part: its size, its labels, how many rows count."""
    if raw.n == 0:
        return Seen(0, 0, raw.names, np.empty(0), np.empty(0, dtype=np.int64), here())
    answers = raw.answers
    if raw.weights is not None:
        answers = answers[row_weights(raw.weights, raw.n) > 0]
    try:
        labels, counts = _counted(answers)
    except TypeError:  # labels of several kinds: `signs` says so
        signs(answers, None)
        raise
    return Seen(raw.n, raw.X.shape[1], raw.names, labels[:most], counts[:most], here())


def _counted(answers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The labels and how many rows have each, without sorting where they are two numbers."""
    if answers.dtype.kind in "biu" and len(answers):
        labels = np.array([answers.min(), answers.max()])
        counts = np.array([np.count_nonzero(answers == label) for label in labels])
        if counts.sum() == len(answers) and labels[0] < labels[1]:
            return labels, counts
    return np.unique(answers, return_counts=True)


def one_cycle(examples: Examples, share: Share, w: NDArray[np.float64]) -> Learnt:
    """Count the mistakes of the incoming w, then run one cycle from it."""
    begin = time.perf_counter()
    if share.rule.order not in CYCLES:
        examples.look()
    mistakes = Judge(examples, share.rule.zero).alone(w)
    walk = looked_into(examples, lambda: _walked(examples, share, w, mistakes > 0))
    made = walk.so_far.corrections
    after = walk.so_far.w * walk.unit if made else None
    return Learnt(after, made, mistakes, time.perf_counter() - begin, here())


def _walked(examples: Examples, share: Share, w: NDArray[np.float64], wrong: bool) -> Walk:
    """One cycle; where rounding hid every mistake, one that exact arithmetic sees is corrected."""
    (seed, number, shard), order = share.seed, share.rule.order
    rng = np.random.default_rng((seed, 0 if order == "random-cycle" else number, shard))
    most = share.corrections
    if order == "first":
        most = 1 if most is None else min(1, most)
    walk = Walk(examples, replace(share.rule, rng=rng), Budget(1, most), w)
    if order not in CYCLES:
        WALKS[order](walk)
    elif walk.goes_on:
        walk.cycle(None if order == "cycle" else walk.permutation())
    if wrong and walk.so_far.corrections == 0 and most != 0 and share.cycles > 1:
        walk.budget = Budget(share.cycles, most)
        walk.confirm()
    return walk


def as_it_is(value: Any) -> Any:
    """The value itself: where this runs, a copy is kept."""
    return value


def here() -> str:
    """The address of the worker that this runs on; empty where there is none."""
    from dask.distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return ""
