"""The fewest mistakes of any line: a search from above, a proof from below."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rosenblatt.evidence.lowerbound import LowerBound, lower_bound
from rosenblatt.evidence.proof import Proof
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.learn.best import Search
from rosenblatt.learn.fewest import Hunt
from rosenblatt.learn.plane import in_the_plane, plane_optimum

Floats = NDArray[np.float64]

BOUND_SHARE = 0.3  # of the time that is left after the sprint goes to the lower bound
PLANE_SECONDS = 2.0  # for the sets of a proof, where the optimum is known already


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
        "no mistakes", "optimal", "time_limit" or "interrupted".

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
        made = f"{self.mistakes:g} mistake{'' if self.mistakes == 1 else 's'}"
        if self.mistakes == 0:
            return "no mistakes: a line answers every example"
        if self.optimal:
            return f"{made}; no line makes fewer"
        if self.lower_bound == 0:
            return f"{made}; whether a line can make none is not known"
        return f"{made}; no line makes fewer than {self.lower_bound:g}"


def fewest_of(examples: Examples, search: Search) -> FewestMistakesResult:
    """Search and bound the mistakes on examples.

    Parameters
    ----------
    examples : Examples
        The rows and their answers, perhaps with weights.
    search : Search
        Seconds, threads, chance, a watcher.
    """
    _warm_up()
    hunt = Hunt(examples, search)
    hunt.sprint()
    if hunt.best.mistakes == 0 or hunt.best.interrupted:
        return _result(examples, hunt, LowerBound(0, (), hunt.best.w))
    if in_the_plane(examples):
        return _in_the_plane(examples, hunt)
    bound = lower_bound(examples, hunt.best.w, BOUND_SHARE * hunt.best.seconds_left)
    hunt.best.offer(bound.w)
    hunt.best.interrupted = bound.interrupted
    if bound.mistakes < hunt.best.mistakes:
        hunt.go_on()
    return _result(examples, hunt, bound)


@functools.cache
def _warm_up() -> None:
    """Compile what the lower bound needs, so that a time limit is spent on bounding."""
    two = Examples.from_arrays([[0.0], [0.0]], [0, 1])
    lower_bound(two, np.ones(2), 1.0)


def _in_the_plane(examples: Examples, hunt: Hunt) -> FewestMistakesResult:
    """Go through all lines; the disjoint sets are for those who want a proof to check."""
    best = hunt.best
    optimum = None
    try:
        optimum = plane_optimum(examples, best.w, lambda: not best.goes_on)
    except KeyboardInterrupt:
        best.interrupted = True
    if optimum is None:
        bound = lower_bound(examples, best.w, 0.0)
        return _result(examples, hunt, bound)
    best.offer(optimum.w)
    seconds = min(PLANE_SECONDS, max(0.5, BOUND_SHARE * best.seconds_left))
    bound = lower_bound(examples, best.w, seconds, branch=False)
    fewest = min(optimum.mistakes, best.mistakes)
    return _result(examples, hunt, LowerBound(fewest, bound.parts, bound.w))


def _result(examples: Examples, hunt: Hunt, bound: LowerBound) -> FewestMistakesResult:
    best = hunt.best
    # Weights are sums of floats; what rounding hides is no mistake.
    same = 0.0 if examples.weights is None else 1e-12 * float(examples.weights.sum())
    optimal = best.mistakes <= bound.mistakes + same
    reason: str = best.found.reason
    if optimal and reason == "time_limit":
        reason = "optimal"
    return FewestMistakesResult(
        examples.tall(best.w),
        best.mistakes,
        best.mistakes if optimal else bound.mistakes,
        optimal,
        bound.proof(examples),
        Hypothesis(best.w, examples.x0).mistakes(examples),
        reason,
    )
