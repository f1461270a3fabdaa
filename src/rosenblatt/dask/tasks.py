"""What runs on a worker: looking at a shard, taking it as examples, one cycle of learning."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import orders
from rosenblatt.answers import signs
from rosenblatt.dask.sources import Raw, answers_of
from rosenblatt.examples import Examples, row_weights
from rosenblatt.learn.judge import Judge
from rosenblatt.learn.pla import WALKS, visit
from rosenblatt.learn.run import Budget, Rule
from rosenblatt.learn.walk import Walk

MANY_LABELS = 4


@dataclass(frozen=True, eq=False)
class Survey:
    """What a first look at a part tells the driver."""

    rows: int
    columns: int
    names: tuple[str, ...] | None
    labels: NDArray[Any]
    counts: NDArray[np.int64]  # rows of each label with a weight above 0


@dataclass(frozen=True, eq=False)
class Reading:
    """How raw rows are to be taken: the labels of all the data, x0, the weights of classes."""

    labels: NDArray[Any]
    x0: float
    each: NDArray[np.float64] | None = None  # of the negative class, and of the positive


@dataclass(frozen=True)
class Turn:
    """What a shard is asked to do in a round.

    Parameters
    ----------
    rule : Rule
        The order of visits, the meaning of sign(0), eta; chance comes from `seed`.
    seed : tuple of int
        (seed, round, shard): a retry draws the same numbers.
    cycles : int
        The rounds left, this one included.
    corrections : int, optional
        The most corrections that this shard may make; 0 only counts mistakes.
    clean : int
        How many examples in a row the very same w had right when the last round ended.
    """

    rule: Rule
    seed: tuple[int, int, int]
    cycles: int
    corrections: int | None = None
    clean: int = 0


@dataclass(frozen=True, eq=False)
class Learnt:
    """What a shard made of the incoming w: its mistakes here, and the w after one cycle."""

    w: NDArray[np.float64] | None  # None where nothing was corrected
    corrections: int
    mistakes: float
    clean: int
    seconds: float
    worker: str


def survey(raw: Raw) -> Survey:
    """Look at a part: its size, its labels, how many rows count."""
    if raw.n == 0:
        return Survey(0, 0, raw.names, np.empty(0), np.empty(0, dtype=np.int64))
    answers = answers_of(raw)
    if raw.weights is not None:
        answers = answers[row_weights(raw.weights, raw.n) > 0]
    try:
        labels, counts = np.unique(answers, return_counts=True)
    except TypeError:  # labels of several kinds: `signs` says so
        signs(answers, None)
        raise
    some = slice(MANY_LABELS)
    return Survey(raw.n, raw.X.shape[1], raw.names, labels[some], counts[some])


def examples_of(name: str, raw: Raw, reading: Reading) -> Examples:
    """Take a part as examples; says which part has something wrong."""
    try:
        examples = Examples.from_arrays(
            raw.X, answers_of(raw), x0=reading.x0, labels=reading.labels
        )
        if raw.weights is None and reading.each is None:
            return examples
        weights = row_weights(1.0 if raw.weights is None else raw.weights, examples.n)
        if reading.each is not None:
            weights = weights * np.where(examples.y > 0, reading.each[1], reading.each[0])
        return examples.weighted(weights, stream=True)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def one_cycle(examples: Examples, turn: Turn, w: NDArray[np.float64]) -> Learnt:
    """Count the mistakes of the incoming w, then run one cycle from it."""
    begin = time.perf_counter()
    mistakes = Judge(examples, turn.rule.zero).alone(w)
    walk, clean = _walked(examples, turn, w, mistakes)
    if walk.so_far.corrections == 0 and mistakes and turn.corrections != 0 and turn.cycles > 1:
        # Rounding hid every mistake from the cycle: correct one that exact arithmetic sees.
        walk = Walk(examples, _rule(turn), Budget(turn.cycles, turn.corrections), w)
        walk.confirm()
    after = walk.so_far.w * examples.unit if walk.so_far.corrections else None
    seconds = time.perf_counter() - begin
    return Learnt(after, walk.so_far.corrections, mistakes, clean, seconds, here())


def _walked(
    examples: Examples, turn: Turn, w: NDArray[np.float64], mistakes: float
) -> tuple[Walk, int]:
    order = turn.rule.order
    corrections = turn.corrections
    if order == "first":
        corrections = 1 if corrections is None else min(1, corrections)
    if order in ("first", "random"):
        walk = Walk(examples, _rule(turn), Budget(1, corrections), w)
        WALKS[order](walk)
        return walk, 0
    walk = Walk(examples, _rule(turn), Budget(turn.cycles, corrections), w)
    rows = examples.in_order if order == "cycle" else orders.permuted(examples.kept, walk.rng)
    return walk, _cycle(walk, rows, turn.clean, mistakes)


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


def _rule(turn: Turn) -> Rule:
    seed, number, shard = turn.seed
    drawn_once = turn.rule.order == "random-cycle"
    rng = np.random.default_rng((seed, 0 if drawn_once else number, shard))
    return Rule(turn.rule.order, turn.rule.zero, turn.rule.eta, rng)


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
