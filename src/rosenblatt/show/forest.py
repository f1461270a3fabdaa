"""Plot the coefficients of a regression, with arrows for the infinite ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rosenblatt.evidence.separation import Separation, spelled
from rosenblatt.show.drawing import (
    INK,
    NO,
    PALE,
    YES,
    draw_own_legend,
    escape_text,
    make_axes,
    style_axes,
)
from rosenblatt.text import plural, shorten

MOST = 40  # coefficients that a figure has room for
NORMAL = 1.959963984540054  # half the width of a 95 % interval, in standard errors


@dataclass(eq=False, repr=False)
class SeparationDisplay:
    """Forest plot of coefficients: intervals of the finite ones, arrows for the infinite ones.

    A finite estimate is a dot with its 95 % Wald interval. An infinite estimate is an arrow that
    begins at its one-sided 95 % profile-likelihood bound. A dotted line stands for a coefficient
    that no row identifies, or whose estimate is infinite with either sign.

    Parameters
    ----------
    estimates : mapping
        Estimate of each coefficient by name: a number, inf, -inf or nan.
    standard_errors : mapping
        Standard error of each finite estimate.
    bounds : mapping
        One-sided bound of each estimate that is inf or -inf.

    Attributes
    ----------
    ax_ : Axes
        Axes of the plot.
    figure_ : Figure
        Figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> s = rb.separation([[1.0], [2.0], [3.0], [3.0], [4.0]], [0, 0, 0, 1, 1])
    >>> rb.SeparationDisplay.from_separation(s).ax_.get_title(loc="left")
    '2 of 2 estimates are infinite'
    """

    estimates: Mapping[Any, float]
    standard_errors: Mapping[Any, float]
    bounds: Mapping[Any, float]

    @classmethod
    def from_separation(cls, s: Separation, *, ax: Any = None, intercept: bool = True) -> Self:
        """Plot the coefficients of a result of `rb.separation`.

        Parameters
        ----------
        s : Separation
            Result of `rb.separation`.
        ax : Axes, optional
            Axes to plot on (default: a new figure).
        intercept : bool, default=True
            Whether to plot intercepts; they are often far from the other coefficients.
        """
        return cls(s.estimates, s.standard_errors, s.bounds).plot(ax=ax, intercept=intercept)

    def plot(self, *, ax: Any = None, intercept: bool = True) -> Self:
        """Plot the coefficients, the first one on top.

        If there are more than 40, those that are not finite are plotted first, up to 40.

        Parameters
        ----------
        ax : Axes, optional
            Axes to plot on (default: a new figure).
        intercept : bool, default=True
            Whether to plot intercepts.
        """
        names = list(self.estimates)  # with several labels, pairs of a label and a column
        if not intercept:
            columns = [name[1] if isinstance(name, tuple) else name for name in names]
            names = [n for n, c in zip(names, columns, strict=True) if c != "(intercept)"]
        shown = names
        if len(names) > MOST:
            first = sorted(names, key=lambda name: np.isfinite(self.estimates[name]))[:MOST]
            shown = [name for name in names if name in set(first)]
        size = (6.4, 1.3 + 0.26 * max(len(shown), 3))
        self.figure_, (self.ax_,) = make_axes(None if ax is None else [ax], 1, size)
        infinite = sum(bool(np.isinf(self.estimates[name])) for name in names)
        title = f"{infinite} of {plural(len(names), 'estimate')} "
        title += "is infinite" if infinite == 1 else "are infinite"
        if len(shown) < len(names):
            title += f" ({len(shown)} shown)"
        style_axes(self.ax_, ("coefficient, with 95 % interval or one-sided 95 % bound", ""), title)
        self._draw(shown)
        draw_own_legend(self.ax_, ax is not None)
        return self

    def _draw(self, names: list[Any]) -> None:
        value_of = {name: self.estimates[name] for name in names}
        intervals = {}
        for name, value in value_of.items():
            if np.isfinite(value):
                reach = NORMAL * self.standard_errors[name]
                intervals[name] = value - reach, value + reach
        # A twentieth of the width is left free at each end, and a quarter at an end with arrows.
        ends = [0.0, *(end for interval in intervals.values() for end in interval)]
        ends += [self.bounds[name] for name in names if name in self.bounds]
        left, right = min(ends), max(ends)
        width = (right - left) or 1.0
        left -= width * (0.25 if -np.inf in value_of.values() else 0.05)
        right += width * (0.25 if np.inf in value_of.values() else 0.05)
        ax = self.ax_
        ax.axvline(0.0, color=PALE, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
        labeled: set[str] = set()

        def label(text: str) -> str:
            """Return `text` the first time, then a hidden label; the legend lists a text once."""
            new = text not in labeled
            labeled.add(text)
            return text if new else "_hidden"

        for y, (name, value) in enumerate(value_of.items()):
            if np.isfinite(value):
                ax.plot(intervals[name], [y, y], color=INK, linewidth=1.3, solid_capstyle="butt")
                text = label("finite estimate")
                ax.plot([value], [y], "o", color=INK, markersize=4.5, label=text, linestyle="none")
            elif np.isinf(value):
                color, end = (YES, right) if value > 0 else (NO, left)
                begin = self.bounds.get(name, 0.0)
                arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 1.6, "shrinkA": 0}
                arrow |= {"shrinkB": 0, "mutation_scale": 11}
                ax.annotate("", (end, y), (begin, y), arrowprops=arrow)
                text = label(
                    "+∞, from its lower bound" if value > 0 else "−∞, from its upper bound"
                )
                ax.plot([begin], [y], "|", color=color, markersize=9, markeredgewidth=1.6,
                        label=text)  # fmt: skip
            else:
                look = {"color": PALE, "linewidth": 1.1, "linestyle": (0, (1, 2))}
                ax.plot(
                    [left, right], [y, y], label=label("either sign, or not identified"), **look
                )
        texts = [escape_text(shorten(spelled(name), 28)) for name in names]
        ax.set_yticks(range(len(names)), texts)
        ax.tick_params(axis="y", length=0, labelcolor=INK)
        ax.set(xlim=(left, right), ylim=(len(names) - 0.4, -0.6))
