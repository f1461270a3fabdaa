"""The fewest mistakes of any line: a search from above, a proof from below."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rosenblatt.clock import NEVER, Deadline
from rosenblatt.evidence.lowerbound import LowerBound, lower_bound
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import FEW_NUMBERS
from rosenblatt.examples import Examples
from rosenblatt.learn.best import Search
from rosenblatt.learn.fewest import Hunt
from rosenblatt.learn.plane import in_the_plane, plane_optimum
from rosenblatt.words import counted

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
        all lines or branches exactly, `lower_bound` may be more than the proof's sets show.
    wrong : array of int
        The rows answered wrongly.
    stop_reason : str
        "no mistakes", "optimal", "time_limit" or "interrupted"; "floats" where all was gone
        through, and the lines that make fewer lie between two floats.

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
            return f"{made}; no line makes fewer"
        if self.lower_bound == 0:
            return f"{made}; whether a line can make none is not known"
        return f"{made}; no line makes fewer than {_said(self.lower_bound)}"


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
    if plane and len(examples.kept) <= FEW_POINTS:
        return _in_the_plane(examples, hunt, NEVER)
    bound = LowerBound(0, (), best.w)
    if best.hopeful and examples.n * (examples.d + 1) <= FEW_NUMBERS:
        bound = _bounded(examples, hunt, Deadline.after(0.0))
        if bound.exhausted:
            return _result(examples, hunt, bound)
    hunt.sprint()
    if not best.hopeful:
        return _result(examples, hunt, bound)
    if plane:
        return _in_the_plane(examples, hunt, best.deadline)
    more = _bounded(examples, hunt, best.deadline.share(BOUND_SHARE))
    bound = max(bound, more, key=lambda known: (known.cost, len(known.parts)))
    if bound.cost < best.cost:
        hunt.go_on()
    return _result(examples, hunt, bound)


def _bounded(examples: Examples, hunt: Hunt, deadline: Deadline) -> LowerBound:
    bound = lower_bound(examples, hunt.best.w, deadline)
    hunt.best.offer(bound.w)
    hunt.best.interrupted = hunt.best.interrupted or bound.interrupted
    return bound


def _in_the_plane(examples: Examples, hunt: Hunt, deadline: Deadline) -> FewestMistakesResult:
    """Go through all lines; the disjoint sets are for those who want a proof to check."""
    best = hunt.best
    if not best.hopeful:
        return _result(examples, hunt, LowerBound(0, (), best.w))
    optimum = None
    try:
        optimum = plane_optimum(examples, best.w, lambda: deadline.over)
    except KeyboardInterrupt:
        best.interrupted = True
    if optimum is None:
        return _result(examples, hunt, _bounded(examples, hunt, Deadline.after(0.0)))
    best.offer(optimum.w)
    bound = lower_bound(examples, best.w, deadline.share(PROOF_SHARE), branch=False)
    fewest = min(optimum.cost, best.cost)
    best.interrupted = bound.interrupted
    return _result(examples, hunt, LowerBound(fewest, bound.parts, bound.w), done=True)


def _result(
    examples: Examples, hunt: Hunt, bound: LowerBound, *, done: bool = False
) -> FewestMistakesResult:
    """What came out; done: all lines were gone through."""
    best = hunt.best
    optimal = best.cost <= bound.cost
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
