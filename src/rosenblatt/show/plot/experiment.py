"""ExperimentDisplay: what many runs on random targets came to, as histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.show.plot.paper import INK, NO, YES, given_axes, sheet, tidy
from rosenblatt.words import counted

if TYPE_CHECKING:
    from rosenblatt.experiments import Experiment

BINS = 30


class ExperimentDisplay:
    """Corrections and P[f≠g] of many runs.

    Parameters
    ----------
    updates : array, one entry a run
        How many corrections each made.
    disagreement : array, one entry a run
        How often g differs from f.

    Attributes
    ----------
    axes_ : list of two Axes
        Corrections and P[f≠g].
    figure_ : Figure
        The figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> done = rb.experiment(10, 200, random_state=0)
    >>> len(rb.ExperimentDisplay.from_experiment(done).axes_)
    2
    """

    axes_: list[Any]
    figure_: Any

    def __init__(self, updates: NDArray[Any], disagreement: NDArray[Any]) -> None:
        self.updates = np.asarray(updates)
        self.disagreement = np.asarray(disagreement)

    @classmethod
    def from_experiment(cls, result: Experiment, *, axes: Any = None) -> Self:
        """Draw what `experiment` returned.

        Parameters
        ----------
        result : Experiment
            Many runs.
        axes : two Axes, optional
            Where to draw; a new figure if not given.
        """
        return cls(result.updates, result.disagreement).plot(axes=axes)

    def plot(self, *, axes: Any = None, title: str | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        axes : two Axes, optional
            Where to; a new figure if not given.
        title : str, optional
            Above the left one, in place of the number of runs.
        """
        if axes is None:
            figure, grid = sheet(2, size=(8.4, 3.4))
            left, right = grid[0]
        else:
            figure, (left, right) = given_axes(axes, 2)
        self.figure_, self.axes_ = figure, [left, right]
        told = counted(len(self.updates), "run") if title is None else title
        tidy(left, ("corrections", "runs"), told)
        tidy(right, ("P[f ≠ g]", ""))
        _bars(left, self.updates, YES, f"median {np.median(self.updates):,g}")
        _bars(right, self.disagreement, NO, f"mean {self.disagreement.mean():.3g}")
        left.axvline(np.median(self.updates), color=INK, linewidth=1.2)
        right.axvline(self.disagreement.mean(), color=INK, linewidth=1.2)
        return self


def _bars(ax: Any, values: NDArray[Any], colour: str, told: str) -> None:
    """Bars up to the 99th percentile; what lies beyond is told, not drawn."""
    edges = _edges(values)
    ax.hist(values, bins=edges, color=colour, edgecolor="white", linewidth=0.5)
    beyond = int((values > edges[-1]).sum())
    if beyond:
        told += f"\n{beyond:,} more, up to {values.max():,.3g}"
    ax.annotate(told, (0.98, 0.95), xycoords="axes fraction", ha="right", va="top", fontsize=9)


def _edges(values: NDArray[Any]) -> NDArray[np.float64]:
    """About thirty ranges; whole numbers get ranges of as many whole numbers each."""
    low, high = float(values.min()), float(np.percentile(values, 99, method="higher"))
    if np.issubdtype(values.dtype, np.integer):
        step = max(1, -(-int(high + 1 - low) // BINS))
        return np.arange(low, high + 1 + step, step) - 0.5
    return np.histogram_bin_edges(values, BINS, (low, high))
