"""PocketDisplay: the mistakes of w(t) and of the pocket against t."""

from __future__ import annotations

from typing import Any, Self

from rosenblatt.evidence.curve import PocketCurve, pocket_curve
from rosenblatt.pipelines import final
from rosenblatt.show.fitted import hypothesis_of, trace_of
from rosenblatt.show.plot.paper import INK, PALE, given_axes, legend, legend_inside, sheet, tidy


class PocketDisplay:
    """How w(t) jumps about while the pocket only gets better.

    Parameters
    ----------
    curve : PocketCurve
        What there is to draw; `from_estimator` makes it.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn.
    figure_ : Figure
        The figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]
    >>> clf = rb.PocketPerceptron(max_updates=50, random_state=0).fit(X, y)
    >>> rb.PocketDisplay.from_estimator(clf, X, y).ax_.get_title(loc="left")
    '2 mistakes in the pocket after 50 corrections'
    """

    ax_: Any
    figure_: Any

    def __init__(self, curve: PocketCurve) -> None:
        self.curve = curve

    @classmethod
    def from_estimator(cls, clf: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw the run of a fitted pocket.

        Parameters
        ----------
        clf : PocketPerceptron, or a Pipeline that ends in one
            Fitted, and not loaded from a file: its trace must know its examples.
        X, y : arrays, sparse matrix or frame, and answers
            What it was fitted on.
        ax : Axes, optional
            Where to draw; a new figure if not given.
        """
        hypothesis_of(clf)  # says what is wrong with what is not fitted, or has no line
        last = final(clf)
        if not hasattr(last, "history_"):
            raise ValueError(
                f"{type(last).__name__} keeps no pocket; fit a PocketPerceptron to see one."
            )
        trace = trace_of(clf, X, y)
        return cls(pocket_curve(trace, last.history_, last._zero)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to; a new figure if not given.
        """
        own, curve = ax is None, self.curve
        if own:
            figure, grid = sheet(size=(6.4, 3.6))
            ax = grid[0, 0]
        else:
            figure, (ax,) = given_axes(ax, 1)
        self.figure_, self.ax_ = figure, ax
        tidy(ax, ("corrections t", "mistakes"), curve.sentence())
        ax.plot(curve.t, curve.mistakes, color=PALE, linewidth=0.8, label="w(t)")
        ax.step(curve.t, curve.pocket, where="post", color=INK, linewidth=2.2, label="pocket")
        # w(0) = 0 is wrong everywhere: it would press all the rest together.
        ax.set_ylim(0, 1.05 * max(curve.mistakes[1:].max(initial=1), 1))
        ax.set_xlim(0, max(int(curve.t[-1]), 1))
        if own:
            legend(figure, ax.get_legend_handles_labels()[0])
        else:
            legend_inside(ax)
        return self
