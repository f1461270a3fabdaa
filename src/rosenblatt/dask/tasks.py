"""What runs on a worker: looking at a shard, taking it as examples, one cycle of learning."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rosenblatt import engine, orders
from rosenblatt.algorithms.judge import Judge
from rosenblatt.algorithms.pla import WALKS, visit
from rosenblatt.algorithms.run import Budget, Rule, WeightsOverflowError
from rosenblatt.algorithms.walk import Walk
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
            weights = row_weights(1.0 if raw.weights is None else raw.weights, examples.n)
            if self.each is not None:
                weights = weights * np.where(examples.y > 0, self.each[1], self.each[0])
            return examples.weighted(weights, stream=True)
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
    clean: int = 0  # examples in a row that the very same w had right when the last round ended


@dataclass(frozen=True, eq=False)
class Learnt:
    """What a shard made of the incoming w: its mistakes here, and the w after one cycle."""

    w: NDArray[np.float64] | None  # None where nothing was corrected
    corrections: int
    mistakes: float
    clean: int
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
        return Seen(0, 0, raw.names, np.empty(0), np.empty(0, dtype=np.int64))
    answers = raw.answers
    if raw.weights is not None:
        answers = answers[row_weights(raw.weights, raw.n) > 0]
    try:
        labels, counts = _counted(answers)
    except TypeError:  # labels of several kinds: `signs` says so
        signs(answers, None)
        raise
    return Seen(raw.n, raw.X.shape[1], raw.names, labels[:most], counts[:most])


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
    if share.rule.order not in orders.CYCLES or share.corrections or examples.weights is not None:
        examples.look()
    mistakes = Judge(examples, share.rule.zero).alone(w)
    try:
        walk, clean = _walked(examples, share, w, mistakes)
    except WeightsOverflowError:
        examples.look()
        walk, clean = _walked(examples, share, w, mistakes)
    if walk.so_far.corrections == 0 and mistakes and share.corrections != 0 and share.cycles > 1:
        # Rounding hid every mistake from the cycle: correct one that exact arithmetic sees.
        walk = Walk(examples, _rule(share), Budget(share.cycles, share.corrections), w)
        walk.confirm()
    after = walk.so_far.w * examples.unit if walk.so_far.corrections else None
    seconds = time.perf_counter() - begin
    return Learnt(after, walk.so_far.corrections, mistakes, clean, seconds, here())


def _walked(
    examples: Examples, share: Share, w: NDArray[np.float64], mistakes: float
) -> tuple[Walk, int]:
    order = share.rule.order
    corrections = share.corrections
    if order == "first":
        corrections = 1 if corrections is None else min(1, corrections)
    if order in ("first", "random"):
        walk = Walk(examples, _rule(share), Budget(1, corrections), w)
        WALKS[order](walk)
        return walk, 0
    walk = Walk(examples, _rule(share), Budget(share.cycles, corrections), w)
    rows = examples.in_order if order == "cycle" else orders.permuted(examples.kept, walk.rng)
    return walk, _cycle(walk, rows, share.clean, mistakes)


def _cycle(walk: Walk, rows: orders.Order, clean: int, mistakes: float) -> int:
    """Visit every row once, ending early where as many as all in a row were right."""
    k = ended = 0
    while walk.goes_on and not ended:
        k, clean, ended = visit(walk, rows, (k, clean), 1)
        if clean == orders.visits(rows):
            if mistakes or walk.so_far.corrections:
                walk.confirm()
            else:  # the incoming w was looked at already
                walk.confirmed = True
            clean = 0
    return clean


def _rule(share: Share) -> Rule:
    seed, number, shard = share.seed
    drawn_once = share.rule.order == "random-cycle"
    rng = np.random.default_rng((seed, 0 if drawn_once else number, shard))
    return Rule(share.rule.order, share.rule.zero, share.rule.eta, rng)


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
