"""The pocket curve: the mistakes of w(t), and of the pocket, along a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.judge import Judge
from rosenblatt.trace import Trace
from rosenblatt.words import counted

MOST = 2000  # moments that are judged, for each is a look at all examples


@dataclass(frozen=True, eq=False)
class PocketCurve:
    """Mistakes along a run; with weights, what they weigh.

    Parameters
    ----------
    t : int array
        The moments looked at, ascending: all, or many where there are more than 2,000.
    mistakes : array
        Of w(t) on all examples.
    pocket : array
        Of the best weights kept so far.
    """

    t: NDArray[np.intp]
    mistakes: NDArray[np.float64]
    pocket: NDArray[np.float64]

    def sentence(self) -> str:
        """How it ended."""
        count, last = self.pocket[-1], int(self.t[-1])
        mistakes = counted(float(count), "mistake")
        corrections = counted(last, "correction")
        return f"{mistakes} in the pocket after {corrections}"


def pocket_curve(trace: Trace, history: Sequence[tuple[int, float]], zero: int = 0) -> PocketCurve:
    """Judge the weights of a run on all its examples.

    Parameters
    ----------
    trace : Trace
        The corrections, with the examples they were made on.
    history : sequence of (t, mistakes)
        When the pocket was replaced and what it then cost, beginning with t = 0.
    zero : {0, -1, +1}
        What sign(0) means.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> clf = rb.PocketPerceptron(max_updates=3, order="cycle")
    >>> clf = clf.fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    >>> curve = pocket_curve(clf.trace_, clf.history_)
    >>> curve.mistakes.tolist(), curve.pocket.tolist()
    ([3.0, 1.0, 2.0, 1.0], [3.0, 1.0, 1.0, 1.0])
    """
    last = len(trace)
    changes = np.array([t for t, _ in history], dtype=np.intp)
    costs = np.array([cost for _, cost in history], dtype=np.float64)
    t = np.arange(last + 1)
    if last >= MOST:
        even = np.linspace(0, last, MOST).astype(np.intp)
        t = np.union1d(even, changes)
    judge = Judge(trace.known_origin().examples, zero)
    mistakes = np.array([judge.alone(w) for w in trace.walk(t.tolist())], dtype=np.float64)
    return PocketCurve(t, mistakes, costs[np.searchsorted(changes, t, side="right") - 1])
