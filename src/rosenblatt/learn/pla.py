"""The perceptron learning algorithm: correct a mistake, until there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import engine, orders
from rosenblatt.examples import Examples
from rosenblatt.learn.run import Budget, Interrupted, Rule, Run
from rosenblatt.learn.walk import Walk, Watch


def pla(
    examples: Examples,
    rule: Rule = Rule(),
    budget: Budget = Budget(),
    start: NDArray[np.float64] | None = None,
    watch: Watch | None = None,
) -> Run:
    """Learn from examples until a whole cycle has no mistake or the budget ends.

    Parameters
    ----------
    examples : Examples
        The rows and their answers.
    rule : Rule
        The order of visits, the meaning of sign(0), eta, the source of chance.
    budget : Budget
        The most cycles and corrections.
    start : array, optional
        w(0) with its w0 slot; zeros if not given.
    watch : callable, optional
        Called with the progress after each block of work.

    Examples
    --------
    >>> run = pla(Examples.from_arrays([[2.0], [-1.0]], ["yes", "no"]))
    >>> run.reason, run.trace.examples.tolist()
    ('no mistakes', [0])
    """
    walk = Walk(examples, rule, budget, start, watch)
    try:
        WALKS[rule.order](walk)
    except KeyboardInterrupt:
        raise Interrupted(walk.run("interrupted")) from None
    return walk.run()


def naive_cycle(walk: Walk) -> None:
    """Visit in file order, cycle after cycle; go on with the next example after a correction."""
    _cycle(walk, orders.naive(walk.examples.kept, walk.rng))


def random_cycle(walk: Walk) -> None:
    """Visit in one random order, drawn once."""
    _cycle(walk, orders.permuted(walk.examples.kept, walk.rng))


def _cycle(walk: Walk, order: orders.Rows) -> None:
    k = clean = 0
    while walk.goes_on:
        k, clean, _ = visit(walk, order, (k, clean), walk.cycles_left)
        if clean == len(order):
            walk.confirm()
            clean = 0


def shuffled_cycles(walk: Walk) -> None:
    """Visit in a new random order each cycle; only a whole clean cycle ends it."""
    while walk.goes_on:
        order = orders.permuted(walk.examples.kept, walk.rng)
        k = clean = ended = 0
        while walk.goes_on and not ended:
            k, clean, ended = visit(walk, order, (k, clean), 1)
        if clean == len(order):
            walk.confirm()


def random_mistakes(walk: Walk) -> None:
    """Draw examples until one is wrong: each mistake is as likely as any other.

    When N draws in a row were right, look at all examples and choose among the mistakes.
    """
    rows = walk.examples.kept
    clean = 0
    while walk.goes_on:
        order, k, ended = orders.drawn(rows, walk.rng), 0, 0
        while walk.goes_on and not ended:
            k, clean, ended = visit(walk, order, (k, clean), 1)
            if clean == len(order):
                walk.confirm(choose=walk.rng.choice)
                clean = 0


def first_mistakes(walk: Walk) -> None:
    """Start over from the first example after each correction, as the Octave program does."""
    order = orders.naive(walk.examples.kept, walk.rng)
    k = 0
    while walk.goes_on:
        w, trace, visits = walk.room(min(walk.cycles_left, walk.corrections_left))
        k, t = engine.pla_first(walk.rows, order, walk.rule.zero, w, (k, visits), trace)
        walk.record(w, trace[:t], np.arange(1, t + 1), within_cycle=k > 0)
        if k == len(order):
            walk.confirm()
            k = 0


def visit(
    walk: Walk, order: orders.Rows, position: tuple[int, int], cycles: int
) -> tuple[int, int, int]:
    """Go on through an order for a block of work: the new position, and cycles ended."""
    w, trace, visits = walk.room(walk.corrections_left)
    ends = np.empty(min(cycles, visits // len(order) + 1), dtype=np.int64)
    k, clean, t, c = engine.pla(
        walk.rows, order, walk.rule.zero, w, (*position, visits), trace, ends
    )
    walk.record(w, trace[:t], ends[:c], within_cycle=k > 0)
    return k, clean, c


WALKS: dict[str, Callable[[Walk], Any]] = {
    "cycle": naive_cycle,
    "random-cycle": random_cycle,
    "shuffle": shuffled_cycles,
    "first": first_mistakes,
    "random": random_mistakes,
}
