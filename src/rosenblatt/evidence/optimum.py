"""The fewest mistakes of any line: engines search from above and prove from below.

An engine is a function that takes the gap and narrows it. It looks itself whether it suits the
examples, and ends by the gap's deadline, or at once where what it does takes no time. To add one,
write it in a file of its own and put it into `ENGINES`.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.cells import cells_bounds, cells_optimum, few_cells
from rosenblatt.algorithms.descent import descend, sprint
from rosenblatt.algorithms.fewest import Engine, Gap, Search, starts
from rosenblatt.clock import NEVER, Deadline, Stopwatch
from rosenblatt.evidence.checker import WALK
from rosenblatt.evidence.covers import cover, coverable, offer_right
from rosenblatt.evidence.integers import exact_products, merged, soon_done
from rosenblatt.evidence.lowerbound import lower_bound
from rosenblatt.evidence.parts import Part
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import FEW_NUMBERS, separability_of
from rosenblatt.examples import Examples
from rosenblatt.rownames import FROM_ZERO, RowNames
from rosenblatt.words import card, counted, is_near, no_fewer

Floats = NDArray[np.float64]

BOUND_SHARE = 0.3  # of the time that is left after the sprint goes to disjoint sets
WALK_SHARE = 0.5  # of it goes to a walk through all cells, where it may end in time
COVER_SHARE = 0.3  # of it goes to covers at first, where others have to wait for them
TINY, FREE_NODES = 2**9, 2**6  # so few numbers have so many nodes settled whatever the time
LONG_WALK = 4  # features, from which on bounds come first
SHORT_WALK = 500  # rows of fewer features: gone through before a search has found what to beat
FEW_POINTS = 200  # in the plane, whose optimum is found whatever the time
NOW = Deadline(-math.inf)


@dataclass(frozen=True, eq=False)
class FewestMistakesResult:
    """Weights with few mistakes, and how few any weights could make.

    Parameters
    ----------
    weights : array
        Tall w, w0 first; without intercept there is no w0.
    mistakes : int or float
        The rows that `weights` get wrong by their exact scores or by the rounded scores that
        predictions are made of; with sample weights, the weight of those rows.
    lower_bound : int or float
        No weights make fewer.
    optimal : bool
        Whether the two are the same: shown exactly, never by rounded arithmetic.
    proof : Proof or None
        Sets of rows that block one another, and a tree over them; None where there is nothing
        to prove. `proof.check(X, y)` confirms it, with sample weights
        `proof.check(X, y, sample_weight)`. Where only going through all lines showed the
        optimum, the proof says so, and `proof.check(X, y, again=True)` goes through them again.
    wrong : array of int
        The rows answered wrongly, counted from 0.
    stop_reason : str
        "no mistakes", "optimal", "time_limit" or "interrupted"; "floats" where lines that
        make fewer exist, and none was found whose scores are right when floats add them up.
    history : tuple of (seconds, mistakes, lower bound)
        How the gap between the two became narrower, and last, when all was done. Compiling is
        not counted. `OptimumDisplay` draws it.
    row_names : RowNames
        What the rows are called in sentences.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> result = rb.fewest_mistakes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> print(result)
    1 mistake; no line makes fewer (proved: 1 blocking set)
    >>> result.proof.check([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    True
    """

    weights: Floats
    mistakes: float
    lower_bound: float
    optimal: bool
    proof: Proof | None
    wrong: NDArray[np.intp]
    stop_reason: str
    history: tuple[tuple[float, float, float], ...] = ()
    row_names: RowNames = FROM_ZERO

    def __str__(self) -> str:
        made = counted(_said(self.mistakes), "mistake")
        if self.mistakes == 0:
            return "no mistakes: a line answers every example"
        proved = "" if self.proof is None else self.proof.size
        if self.optimal:
            return f"{made}; {no_fewer(proved=proved)}"
        if self.stop_reason == "floats":
            fewest = _said(self.lower_bound)
            return f"{made}; a line can make {fewest}, but no floats were found that do"
        if self.lower_bound == 0:
            return f"{made}; whether a line can make none is not known"
        if not is_near(self.lower_bound, self.mistakes):
            return f"{made}; whether a line can make fewer is not known"
        return f"{made}; {no_fewer(_said(self.lower_bound), proved)}"

    def _repr_html_(self) -> str:
        first = str(self)
        facts = [("wrong", self.row_names.listed(self.wrong.tolist()))] if len(self.wrong) else []
        if self.proof is not None:
            facts.append(("to check it", self.proof.how))
        return card(first[0].upper() + first[1:], facts)


def _said(cost: float) -> str:
    return f"{int(cost):,}" if cost == int(cost) else repr(cost)


def fewest_of(examples: Examples, search: Search) -> FewestMistakesResult:
    """Search and bound the mistakes on examples.

    Where exact answers take no time, they are given whatever the time: few points in the plane,
    few rows that few questions settle, rows that contradict one another.
    """
    gap = Gap(examples, search)
    for engine in ENGINES:
        try:
            if gap.hopeful:
                engine(gap)
        except KeyboardInterrupt:
            gap.interrupted = True
    try:
        return _result(gap)
    except KeyboardInterrupt:
        gap.interrupted = True
        return _result(gap)


def few_rows(gap: Gap) -> None:
    """Ask of few rows whether some line answers them all."""
    examples = gap.examples
    if not _few(examples):
        return
    answer = offer_right(gap, examples.kept, 0)
    if answer is True:
        gap.know(0, lambda: None, exhausted=True)  # there is nothing to prove
    if isinstance(answer, Part):
        cheapest = int(gap.costs.each[list(answer.rows)].min())
        gap.know(cheapest, lambda: Proof.of_mistakes(examples, cheapest, (answer,)))


def few_points(gap: Gap) -> None:
    """Go through all lines in the plane, where these are few."""
    examples = gap.examples
    in_plane = examples.d + bool(examples.x0) <= 3
    if in_plane and len(examples.kept) <= FEW_POINTS and _few(examples):
        _all_lines(gap, NEVER)


def few_numbers(gap: Gap) -> None:
    """Cover the blocking sets of very few rows."""
    if soon_done(gap.examples, TINY):
        cover(gap, NEVER, FREE_NODES)


def first_questions(gap: Gap) -> None:
    """Ask what takes no time to know: above all of rows that contradict one another."""
    _disjoint(gap, NOW)


def cells(gap: Gap) -> None:
    """Go through all cells, where w has few dimensions."""
    if few_cells(gap.examples) and gap.goes_on:
        if gap.examples.d >= LONG_WALK or len(gap.examples.kept) > SHORT_WALK:
            sprint(gap)
        if gap.examples.d >= LONG_WALK and coverable(gap.examples):
            cover(gap, gap.deadline.share(COVER_SHARE))
        if gap.goes_on:
            deadline = gap.deadline.share(WALK_SHARE)
            if gap.examples.d >= LONG_WALK:
                _cheap_cells(gap, deadline)
            _all_lines(gap, deadline)


def covers(gap: Gap) -> None:
    """Cover blocking sets, where rows are few enough; meanwhile others search."""
    if not coverable(gap.examples) or not gap.goes_on:
        return
    if gap.search.threads == 1:
        sprint(gap)
        cover(gap, gap.deadline.share(COVER_SHARE))
        descend(gap, until=gap.deadline.share(WALK_SHARE))
        cover(gap, gap.deadline)
        return
    with ThreadPoolExecutor(1) as pool:
        search = pool.submit(_search, gap, gap.search.threads - 1)
        try:
            cover(gap, gap.deadline)
            search.result()
        except BaseException:
            gap.interrupted = True
            raise


def _search(gap: Gap, threads: int) -> None:
    sprint(gap, threads)
    descend(gap, threads)


def disjoint_sets(gap: Gap) -> None:
    """Look for disjoint sets of rows that block one another, where rows are many."""
    if not coverable(gap.examples) and gap.goes_on:
        _disjoint(gap, gap.deadline.share(BOUND_SHARE))


ENGINES: tuple[Engine, ...] = (
    starts,
    few_rows,
    few_points,
    few_numbers,
    first_questions,
    cells,
    covers,
    sprint,
    disjoint_sets,
    descend,
)


def _disjoint(gap: Gap, deadline: Deadline) -> None:
    bound = lower_bound(gap.examples, gap.w, deadline)
    gap.interrupted = gap.interrupted or bound.interrupted
    if bound.cost > gap.bound:
        gap.know(bound.cost, lambda: bound.proof(gap.examples), bound.cost >= gap.cost)


def _over(gap: Gap, deadline: Deadline) -> bool:
    """Whether the time is over; who waits is told how far it is."""
    gap.tell(0)
    return deadline.over


def _cheap_cells(gap: Gap, deadline: Deadline) -> None:
    """Bounds by walks through the cells that cost little, for the walk through all may not end."""
    examples, threads = gap.examples, gap.search.threads
    for bound in cells_bounds(examples, gap.cost, partial(_over, gap, deadline), threads):
        if bound > gap.bound:
            gap.know(bound, partial(Proof.of_mistakes, examples, bound, walk=WALK))


def _all_lines(gap: Gap, deadline: Deadline) -> None:
    """The optimum in few dimensions; blocking sets are for those who want a proof to check.

    They are looked for as long as the walk took, or until the deadline.
    """
    examples, optimum, watch = gap.examples, None, Stopwatch()
    over = partial(_over, gap, deadline)
    # Which of several best lines threads find first is chance: where there is time, one will do.
    threads = 1 if deadline is NEVER else gap.search.threads
    try:
        optimum = cells_optimum(examples, gap.w, over, threads, gap.offer)
    except KeyboardInterrupt:
        gap.interrupted = True
    if optimum is None:
        return
    gap.done = True
    gap.offer(optimum.w)
    if optimum.cost < gap.cost:
        offer_right(gap, _right(examples, optimum.exact), optimum.cost)
    cost = min(optimum.cost, gap.cost)
    gap.know(cost, lambda: Proof.of_mistakes(examples, cost, walk=WALK), exhausted=True)
    if gap.cost == cost and cost > 0:
        as_long = deadline if deadline is NEVER else Deadline.after(watch.seconds)
        cover(gap, as_long, FREE_NODES)


def _right(examples: Examples, w: list[Fraction]) -> NDArray[np.intp]:
    """The rows that count and that exact weights, with a w0 slot, answer rightly."""
    common = math.lcm(*(v.denominator for v in w))
    whole = [int(v * common) for v in (w if examples.x0 else w[1:])]
    rows = examples.kept.astype(np.intp)
    products = exact_products(whole, merged(examples), rows.tolist())
    return rows[[product > 0 for product in products]]


def _few(examples: Examples) -> bool:
    return soon_done(examples, FEW_NUMBERS)


def _widen(gap: Gap) -> None:
    """Of the lines that are right about the same rows, take the one in their middle.

    Its margins are widest in proportion to what the rows cost: a dear row is the farther from it.
    """
    examples = gap.examples
    rows = np.setdiff1d(examples.kept, gap.judge.wrong(gap.w)).astype(np.intp)
    tall = examples.tall_rows(rows)
    with np.errstate(over="ignore"):
        if examples.weights is not None:
            tall = (
                tall / examples.weights[rows, None] * float(examples.weights[rows].max(initial=0))
            )
    if len(rows) == 0 or not np.isfinite(tall).all():
        return
    answer = separability_of(Examples(tall, examples.y[rows], examples.labels, None, 0.0))
    if answer.weights is not None:
        gap.replace(examples.slotted(answer.weights))


def _result(gap: Gap) -> FewestMistakesResult:
    """What came out."""
    examples, optimal = gap.examples, gap.closed
    if optimal and _few(examples) and not gap.interrupted:
        _widen(gap)
    reason = "interrupted" if gap.interrupted else "time_limit"
    if gap.cost == 0:
        reason = "no mistakes"
    elif not gap.interrupted and (optimal or gap.exhausted):
        reason = "optimal" if optimal else "floats"
    bound = gap.mistakes if optimal else gap.costs.number_below(gap.bound)
    proof = gap.proof() if gap.bound > 0 else None
    return FewestMistakesResult(
        examples.tall(gap.w),
        gap.mistakes,
        bound,
        optimal,
        proof,
        gap.judge.wrong(gap.w),
        reason,
        (*gap.history, (gap.seconds, gap.mistakes, bound)),
    )
