"""How the gap became narrower: the best line so far above, the proved bound below, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rosenblatt.pipelines import final
from rosenblatt.show.fitted import hypothesis_of
from rosenblatt.show.plot.paper import INK, YES, YES_SIDE, legend_of, sheet, tidy

if TYPE_CHECKING:
    from rosenblatt.evidence.optimum import FewestMistakesResult

ROOM = 2  # times the fewest mistakes are in sight: the first lines make many more


class OptimumDisplay:
    """The mistakes of the best line so far, and the proved bound that no line is below.

    Two steps that close in on each other. The blue region is proved: no line is there. Where the
    steps meet, the optimum is known; what is left white between them is open.

    Parameters
    ----------
    result : FewestMistakesResult
        What `fewest_mistakes` returned.

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
    >>> rb.OptimumDisplay.from_result(rb.fewest_mistakes(X, y)).ax_.get_title(loc="left")
    '1 mistake; no line makes fewer (proved: 1 blocking set)'
    """

    ax_: Any
    figure_: Any

    def __init__(self, result: FewestMistakesResult) -> None:
        self.result = result

    @classmethod
    def from_estimator(cls, clf: Any, *, ax: Any = None) -> Self:
        """Draw the search of a fitted estimator.

        Parameters
        ----------
        clf : FewestMistakes, or a Pipeline that ends in one
            Fitted.
        ax : Axes, optional
            Where to draw; a new figure if not given.
        """
        hypothesis_of(clf)  # says what is wrong with what is not fitted, or has no line
        last = final(clf)
        if not hasattr(last, "result_"):
            raise ValueError(
                f"{type(last).__name__} bounds no mistakes; fit a FewestMistakes to see that."
            )
        return cls.from_result(last.result_, ax=ax)

    @classmethod
    def from_result(cls, result: FewestMistakesResult, *, ax: Any = None) -> Self:
        """Draw what `fewest_mistakes` returned.

        Parameters
        ----------
        result : FewestMistakesResult
            The search, with its history.
        ax : Axes, optional
            Where to draw; a new figure if not given.
        """
        return cls(result).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to; a new figure if not given.
        """
        self.figure_, (self.ax_,) = sheet(ax, 1, (6.4, 3.6))
        seconds, best, bound = np.array(self.result.history, dtype=np.float64).T
        tidy(self.ax_, ("seconds", "mistakes"), str(self.result))
        look: dict[str, Any] = {"where": "post", "linewidth": 2.2}
        self.ax_.step(seconds, best, color=INK, label="best line so far", **look)
        self.ax_.step(seconds, bound, color=YES, label="no line makes fewer", **look)
        self.ax_.fill_between(seconds, bound, step="post", color=YES_SIDE, linewidth=0)
        self.ax_.set_xlim(0, seconds[-1])
        self.ax_.set_ylim(0, ROOM * max(best[-1], 1))
        for height, colour in {bound[-1]: YES, best[-1]: INK}.items():
            self._number(height, colour)
        legend_of(self.ax_, given=ax is not None)
        return self

    def _number(self, height: float, colour: str) -> None:
        """What a step ends at, beside its end."""
        look: dict[str, Any] = {"color": colour, "fontsize": 9, "va": "center"}
        at = {"xycoords": self.ax_.get_yaxis_transform(), "textcoords": "offset points"}
        self.ax_.annotate(f"{height:,g}", (1.0, height), (4, 0), **at, **look)
