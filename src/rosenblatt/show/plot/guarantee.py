"""GuaranteeDisplay: the squeeze of the convergence proof, and the cosine rising."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rosenblatt.evidence.guarantee import Guarantee, Squeeze, guarantee_of, squeeze, with_slot
from rosenblatt.evidence.separability import separability_of
from rosenblatt.show.fitted import trace_of
from rosenblatt.show.plot.paper import INK, NO, PALE, YES, given_axes, sheet, tidy
from rosenblatt.words import counted

MOST = 2000  # moments of a long run that are drawn


class GuaranteeDisplay:
    """T²ρ² ≤ ‖w(T)‖² ≤ T·R² with the run between, and the cosine of w(t) and w_f rising.

    On logarithmic axes both bounds are straight lines; they meet at R²/ρ², beyond which no run
    can go. The trace is the dark line between them.

    Parameters
    ----------
    squeezed : Squeeze
        Both inequalities along a run, for a w_f of length 1.
    promise : Guarantee
        R, ρ and R²/ρ² of the same w_f.

    Attributes
    ----------
    axes_ : list of two Axes
        The squeeze and the cosine.
    figure_ : Figure
        The figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]
    >>> display = rb.GuaranteeDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y)
    >>> display.axes_[0].get_title(loc="left")
    '18 corrections; at most R²/ρ² = 51'
    """

    axes_: list[Any]
    figure_: Any

    def __init__(self, squeezed: Squeeze, promise: Guarantee) -> None:
        self.squeezed = squeezed
        self.promise = promise

    @classmethod
    def from_estimator(cls, clf: Any, X: Any, y: Any, *, axes: Any = None) -> Self:
        """Draw the run of a fitted estimator on examples that a line can answer.

        Parameters
        ----------
        clf : Perceptron, PocketPerceptron, or a Pipeline that ends in one
            Fitted, and not loaded from a file: its trace must know its examples.
        X, y : arrays, sparse matrix or frame, and answers
            What it was fitted on; they must be separable.
        axes : two Axes, optional
            Where to draw; a new figure if not given.
        """
        trace = trace_of(clf, X, y)
        examples = trace.known_origin().examples
        found = separability_of(examples)
        if not found or found.weights is None:
            raise ValueError(
                f"these examples are {found.verdict}: without a line that answers them all there "
                "is no ρ and no guarantee to draw; PocketDisplay shows such a run."
            )
        w = np.asarray(found.weights)
        promise = guarantee_of(examples, with_slot(examples, w))
        return cls(squeeze(trace, w), promise).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        axes : two Axes, optional
            Where to; a new figure if not given.
        """
        if axes is None:
            figure, grid = sheet(2, size=(8.4, 3.6))
            left, right = grid[0]
        else:
            figure, (left, right) = given_axes(axes, 2)
        self.figure_, self.axes_ = figure, [left, right]
        self._draw_squeeze(left)
        self._draw_cosine(right)
        return self

    def _draw_squeeze(self, ax: Any) -> None:
        s, last = self.squeezed, len(self.squeezed.squared) - 1
        bound = self.promise.bound
        t = _moments(last)
        least, most = np.maximum(s.inner_least, 0) ** 2, s.squared_most
        title = counted(last, "correction")
        if bound is not None and not s.squared[0]:
            title += f"; at most R²/ρ² = {bound:,.0f}"
            t, least, most = self._until(bound)
            ax.axvline(bound, color=PALE, linewidth=0.9, linestyle=(0, (1, 2)))
        else:
            least, most = least[t], most[t]
        tidy(ax, ("corrections t", "‖w(t)‖²"), title)
        ax.set(xscale="log", yscale="log")
        ax.fill_between(t, np.minimum(least, most), most, color="#f1f1f1", linewidth=0)
        ax.plot(t, most, color=NO, linewidth=1.4)
        ax.plot(t, least, color=YES, linewidth=1.4, linestyle="--")
        shown = _moments(last)
        dots = "o" if last <= 40 else None
        ax.plot(shown, s.squared[shown], color=INK, linewidth=1.8, marker=dots, markersize=3)
        _name(ax, "t·R²", (t, most), NO, (-4, 6))
        _name(ax, "t²·ρ²", (t, least), YES, (4, -10))
        _name(ax, "‖w(t)‖²", (shown[-1:], s.squared[shown[-1:]]), INK, (-5, 5))

    def _until(self, bound: float) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Both bounds from the first correction to where they meet, and a little beyond."""
        s, last = self.squeezed, len(self.squeezed.squared) - 1
        end = max(last, 1.25 * bound if np.isfinite(bound) else last, 2.0)
        t = np.geomspace(1.0, end, 200)
        first = min(last, 1)
        return t, (t * s.inner_least[first]) ** 2, t * s.squared_most[first]

    def _draw_cosine(self, ax: Any) -> None:
        s, last = self.squeezed, len(self.squeezed.cosine) - 1
        shown = _moments(last)
        tidy(ax, ("corrections t", "cosine of w(t) and w_f"), "w(t) turns towards w_f")
        ax.axhline(1.0, color=PALE, linewidth=0.9, linestyle=(0, (1, 2)))
        dots = "o" if last <= 40 else None
        ax.plot(shown, s.cosine[shown], color=INK, linewidth=1.8, marker=dots, markersize=3)
        with np.errstate(invalid="ignore", divide="ignore"):
            floor = s.inner_least[shown] / np.sqrt(s.squared_most[shown])
        ax.plot(shown, floor, color=YES, linewidth=1.4, linestyle="--")
        _name(ax, "√t·ρ/R", (shown, floor), YES, (-6, -12), "right")
        low = float(np.nanmin(np.append(s.cosine[shown], floor), initial=0.0))
        ax.set_ylim(min(-0.02, 1.1 * low), 1.06)
        ax.xaxis.get_major_locator().set_params(integer=True)


def _moments(last: int) -> NDArray[np.intp]:
    """t = 1 … T, or many of them evenly on a logarithmic axis."""
    if last <= MOST:
        return np.arange(1, last + 1)
    return np.unique(np.rint(np.geomspace(1, last, MOST)).astype(np.intp))


def _name(
    ax: Any, name: str, curve: Any, colour: str, offset: tuple[float, float], side: str = ""
) -> None:
    """The name of a curve beside it, in its colour: no legend to look up."""
    t, value = curve
    good = np.flatnonzero(np.isfinite(value) & (value > 0))
    if len(good) == 0:
        return
    at = good[-1] if side else good[len(good) // 2]
    ax.annotate(
        name,
        (t[at], value[at]),
        offset,
        textcoords="offset points",
        color=colour,
        fontsize=9,
        ha=side or ("left" if offset[0] > 0 else "right"),
    )
