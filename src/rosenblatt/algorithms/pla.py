"""The perceptron learning algorithm: correct a mistake, until there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import engine, orders
from rosenblatt.algorithms.run import Budget, Interrupted, Rule, Run
from rosenblatt.algorithms.walk import Walk, Watch
from rosenblatt.examples import Examples

# Random numbers are drawn at least so many at a time.
CHANCES = 2**11


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
        The most cycles, corrections and seconds.
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
        return walk.run()
    except KeyboardInterrupt:
        raise Interrupted(walk.run("interrupted")) from None


def naive_cycle(walk: Walk) -> None:
    """Visit in file order, cycle after cycle; go on with the next example after a correction."""
    _cycle(walk, walk.examples.in_order)


def random_cycle(walk: Walk) -> None:
    """Visit in one random order, drawn once."""
    _cycle(walk, orders.permuted(walk.examples.kept, walk.rng))


def _cycle(walk: Walk, order: orders.Order) -> None:
    k = clean = 0
    while walk.goes_on:
        k, clean, _ = visit(walk, order, (k, clean), walk.cycles_left)
        if clean == orders.visits(order):
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
    """Correct a random mistake each time, every mistake as likely as any other.

    The first mistake met in a random order is such a choice. The order is shuffled as it is
    visited, so that finding a mistake costs no more than the visits it takes; visits are
    counted in cycles of N.
    """
    order = walk.examples.kept.copy()
    i = visits = 0
    while walk.goes_on:
        w, trace, most = walk.room(walk.corrections_left)
        most = min(most, max(len(order), CHANCES), walk.cycles_left * len(order) - visits)
        ends = np.empty(most // len(order) + 1, dtype=np.int64)
        i, visits, t, c = engine.pla_random(
            walk.rows, order, walk.rng.random(most), walk.rule.zero, w, (i, visits), trace, ends
        )
        walk.record(w, trace[:t], ends[:c], within_cycle=visits > 0)
        if i == len(order):
            walk.confirm()
            i = 0


def first_mistakes(walk: Walk) -> None:
    """Start over from the first example after each correction, as the Octave program does."""
    order = walk.examples.kept
    k = 0
    while walk.goes_on:
        w, trace, visits = walk.room(min(walk.cycles_left, walk.corrections_left))
        k, t = engine.pla_first(walk.rows, order, walk.rule.zero, w, (k, visits), trace)
        walk.record(w, trace[:t], np.arange(1, t + 1), within_cycle=k > 0)
        if k == len(order):
            walk.confirm(ends_cycle=True)
            k = 0


def visit(
    walk: Walk, order: orders.Order, position: tuple[int, int], cycles: int
) -> tuple[int, int, int]:
    """Go on through an order for a block of work: the new position, and cycles ended."""
    w, trace, visits = walk.room(walk.corrections_left)
    ends = np.empty(min(cycles, visits // orders.visits(order) + 1), dtype=np.int64)
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
