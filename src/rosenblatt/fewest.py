"""The fewest mistakes of any line: a search from above, a proof from below."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.best import Best, Search
from rosenblatt.algorithms.fewest import Hunt
from rosenblatt.algorithms.plane import in_the_plane, plane_optimum
from rosenblatt.clock import NEVER, Deadline
from rosenblatt.evidence.decide import multiples
from rosenblatt.evidence.integers import exact_products, merged
from rosenblatt.evidence.lowerbound import LowerBound, lower_bound
from rosenblatt.evidence.proof import Part, Proof
from rosenblatt.evidence.separability import FEW_NUMBERS, separability_of
from rosenblatt.examples import Examples
from rosenblatt.words import counted, no_fewer

Floats = NDArray[np.float64]

BOUND_SHARE = 0.3  # of the time that is left after the sprint goes to the lower bound
PROOF_SHARE = 0.5  # of it, where the optimum is known already, goes to the sets of a proof
FEW_POINTS = 200  # in the plane, whose optimum is found whatever the time


@dataclass(frozen=True, eq=False)
class FewestMistakesResult:
    """Weights with few mistakes, and how few any weights could make.

    Parameters
    ----------
    weights : array
        Tall w, w0 first; without intercept there is no w0.
    mistakes : int or float
        Exactly what `weights` get wrong; with sample weights, the weight of those rows.
    lower_bound : int or float
        No weights make fewer.
    optimal : bool
        Whether the two are the same: shown exactly, never by rounded arithmetic.
    proof : Proof or None
        Disjoint sets of rows, each of which costs every w at least one mistake; None if there
        are none. `proof.check(X, y)` confirms it. Where the optimum was found by going through
        all lines or branches exactly, or more than 32,768 pairs of equal rows contradict one
        another, `lower_bound` may be more than the proof's sets show.
    wrong : array of int
        The rows answered wrongly.
    stop_reason : str
        "no mistakes", "optimal", "time_limit" or "interrupted"; "floats" where lines that
        make fewer exist, and none was found whose scores are right when floats add them up.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> result = rb.fewest_mistakes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> print(result)
    1 mistake; no line makes fewer
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

    def __str__(self) -> str:
        made = counted(_said(self.mistakes), "mistake")
        if self.mistakes == 0:
            return "no mistakes: a line answers every example"
        if self.optimal:
            return f"{made}; {no_fewer()}"
        if self.stop_reason == "floats":
            fewest = _said(self.lower_bound)
            return f"{made}; a line can make {fewest}, but no floats were found that do"
        if self.lower_bound == 0:
            return f"{made}; whether a line can make none is not known"
        return f"{made}; {no_fewer(_said(self.lower_bound))}"


def _said(cost: float) -> str:
    return f"{int(cost):,}" if cost == int(cost) else repr(cost)


def fewest_of(examples: Examples, search: Search) -> FewestMistakesResult:
    """Search and bound the mistakes on examples.

    Where exact answers take no time, they are given whatever the time: few points in the plane,
    few rows that few questions settle, rows that contradict one another.

    Parameters
    ----------
    examples : Examples
        The rows and their answers, perhaps with weights.
    search : Search
        Seconds, threads, chance, a watcher.
    """
    hunt = Hunt(examples, search)
    hunt.begin()
    plane, best = in_the_plane(examples), hunt.best
    asked = _few(examples) and best.hopeful
    bound = _offer_right(examples, hunt, examples.kept) if asked else LowerBound(0, (), best.w)
    if plane and len(examples.kept) <= FEW_POINTS:
        return _in_the_plane(examples, hunt, bound, NEVER)
    if bound.parts and best.hopeful:
        bound = _more(bound, _bounded(examples, hunt, Deadline.after(0.0)))
        if bound.exhausted:
            return _result(examples, hunt, bound)
    hunt.sprint()
    if not best.hopeful:
        return _result(examples, hunt, bound)
    if plane:
        return _in_the_plane(examples, hunt, bound, best.deadline)
    if not bound.exhausted:
        bound = _more(bound, _bounded(examples, hunt, best.deadline.share(BOUND_SHARE)))
    if bound.cost < best.cost:
        hunt.go_on()
    return _result(examples, hunt, bound, done=bound.exhausted)


def _bounded(examples: Examples, hunt: Hunt, deadline: Deadline) -> LowerBound:
    bound = lower_bound(examples, hunt.best.w, deadline)
    hunt.best.offer(bound.w)
    hunt.best.interrupted = hunt.best.interrupted or bound.interrupted
    return bound


def _more(one: LowerBound, other: LowerBound) -> LowerBound:
    """The better of two bounds."""
    return max(one, other, key=lambda known: (known.cost, known.exhausted, len(known.parts)))


def _offer_right(examples: Examples, hunt: Hunt, rows: NDArray[Any], cost: int = 0) -> LowerBound:
    """Offer floats that answer some rows rightly, at this cost, or tell why no line does so.

    Which of them also score rightly when floats are added up is a matter of rounding: several
    multiples of several lines are tried. The bound is exhausted where some line is right.
    """
    best = hunt.best
    some = replace(examples, X=examples.X[rows], y=examples.y[rows], weights=None)
    for widest in (False, True):
        answer = separability_of(some, widest=widest)
        best.interrupted = best.interrupted or answer.reason.startswith("interrupted")
        if not answer or answer.proof is None:
            return _blocked(best, rows, answer.blocking)
        for w in multiples(answer.proof.weights):
            if best.cost > cost:
                best.offer(w if examples.x0 else np.concatenate(([0.0], w)))
        if best.cost <= cost:
            break
    return LowerBound(cost, (), best.w, exhausted=True)


def _blocked(best: Best, rows: NDArray[Any], blocking: tuple[Part, ...]) -> LowerBound:
    """What the first of some sets of rows that block one another costs every line."""
    if not blocking:
        return LowerBound(0, (), best.w)
    numbers = [int(n) for n in rows[list(blocking[0].rows)]]
    part = Part(tuple(numbers), blocking[0].multipliers)
    return LowerBound(int(best.costs.each[numbers].min()), (part,), best.w)


def _in_the_plane(
    examples: Examples, hunt: Hunt, known: LowerBound, deadline: Deadline
) -> FewestMistakesResult:
    """Go through all lines; the disjoint sets are for those who want a proof to check."""
    best = hunt.best
    if not best.hopeful:
        return _result(examples, hunt, known)
    optimum = None
    try:
        optimum = plane_optimum(examples, best.w, lambda: deadline.over)
    except KeyboardInterrupt:
        best.interrupted = True
    if optimum is None:
        bound = _more(known, _bounded(examples, hunt, Deadline.after(0.0)))
        return _result(examples, hunt, bound, done=bound.exhausted)
    best.offer(optimum.w)
    if optimum.cost < best.cost:
        _offer_right(examples, hunt, _right(examples, optimum.exact), optimum.cost)
    bound = lower_bound(examples, best.w, deadline.share(PROOF_SHARE), branch=False)
    fewest = min(optimum.cost, best.cost)
    best.interrupted = best.interrupted or bound.interrupted
    return _result(examples, hunt, LowerBound(fewest, bound.parts, bound.w), done=True)


def _right(examples: Examples, w: list[Fraction]) -> NDArray[np.intp]:
    """The rows that count and that exact weights, with a w0 slot, answer rightly."""
    common = math.lcm(*(v.denominator for v in w))
    whole = [int(v * common) for v in (w if examples.x0 else w[1:])]
    rows = examples.kept.astype(np.intp)
    products = exact_products(whole, merged(examples), rows.tolist())
    return rows[[product > 0 for product in products]]


def _few(examples: Examples) -> bool:
    return len(examples.kept) * (examples.d + 1) <= FEW_NUMBERS


def _widen(examples: Examples, best: Best) -> None:
    """Of the lines that are right about the same rows, take the one in their middle.

    Its margins are widest in proportion to what the rows cost: a dear row is the farther from it.
    """
    rows = np.setdiff1d(examples.kept, best.judge.wrong(best.w)).astype(np.intp)
    X = examples.X[rows]
    tall = np.asarray(X.toarray() if examples.is_sparse else X, dtype=np.float64)
    if examples.x0:
        tall = np.column_stack((np.full(len(rows), examples.x0), tall))
    with np.errstate(over="ignore"):
        if examples.weights is not None:
            tall = (
                tall / examples.weights[rows, None] * float(examples.weights[rows].max(initial=0))
            )
    if len(rows) == 0 or not np.isfinite(tall).all():
        return
    answer = separability_of(Examples(tall, examples.y[rows], examples.labels, None, 0.0))
    if answer.weights is not None:
        w = answer.weights if examples.x0 else np.concatenate(([0.0], answer.weights))
        best.replace(w)


def _result(
    examples: Examples, hunt: Hunt, bound: LowerBound, *, done: bool = False
) -> FewestMistakesResult:
    """What came out; done: all lines were gone through."""
    best = hunt.best
    optimal = best.cost <= bound.cost
    if optimal and _few(examples):
        _widen(examples, best)
    reason: str = best.found.reason
    if reason == "time_limit" and (optimal or done):
        reason = "optimal" if optimal else "floats"
    return FewestMistakesResult(
        examples.tall(best.w),
        best.mistakes,
        best.mistakes if optimal else best.costs.number_below(bound.cost),
        optimal,
        bound.proof(examples),
        best.judge.wrong(best.w),
        reason,
    )
