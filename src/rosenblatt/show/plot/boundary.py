"""BoundaryDisplay: the examples and the line that answers them."""

from __future__ import annotations

from typing import Any, Self

from rosenblatt.show.fitted import examples_of, hypothesis_of
from rosenblatt.show.plot.paper import given_axes, legend, legend_inside, sheet
from rosenblatt.show.plot.plane import (
    draw_arrow,
    draw_band,
    draw_line,
    draw_points,
    draw_sides,
    prepare,
)
from rosenblatt.show.scene import Scene, scene_of


class BoundaryDisplay:
    """Points, the line, both half-planes, w as an arrow, the margin band, mistakes ringed.

    ○ are examples of the second class, × of the first. With more than two features the picture
    is their projection on w against the first remaining principal direction: every example is
    on its true side of the line, at its true distance. Of more than 2,000 examples a sample is
    drawn, and said so.

    Parameters
    ----------
    scene : Scene
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
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]
    >>> display = rb.BoundaryDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y)
    >>> display.ax_.get_title(loc="left")
    'no mistakes on 4 examples; the nearest is 0.277 away'
    """

    ax_: Any
    figure_: Any

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    @classmethod
    def from_estimator(cls, clf: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw a fitted estimator and examples, those of the fit or others.

        Parameters
        ----------
        clf : Perceptron, PocketPerceptron, FewestMistakes, any linear classifier, or a Pipeline
            Fitted on two classes; of a pipeline the last step, on what the others make of X.
        X : array, sparse matrix or frame of shape (n, d)
            The examples to draw.
        y : sequence of n answers
            Their answers.
        ax : Axes, optional
            Where to draw; a new figure if not given.
        """
        return cls(scene_of(examples_of(clf, X, y), hypothesis_of(clf))).plot(ax=ax)

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to; a new figure if not given.
        title : str, optional
            In place of the sentence about mistakes and margin.
        """
        scene, own = self.scene, ax is None
        if own:
            size = (4.8, 2.3) if scene.facts.flat else (4.8, 5.2)
            figure, grid = sheet(size=size)
            ax = grid[0, 0]
        else:
            figure, (ax,) = given_axes(ax, 1)
        self.figure_, self.ax_ = figure, ax
        line, box, margin = scene.line, scene.box, scene.facts.margin
        prepare(ax, scene, self._title() if title is None else title)
        draw_sides(ax, line, box)
        if margin is not None:
            draw_band(ax, line, box, margin)
        draw_line(ax, line, box)
        draw_points(ax, scene)
        draw_arrow(ax, line, box)
        if own:
            legend(figure, ax.get_legend_handles_labels()[0])
        else:
            legend_inside(ax)
        return self

    def _title(self) -> str:
        told, drawn = self.scene.facts.sentence(), len(self.scene.points)
        return told if drawn == self.scene.facts.n else f"{told} ({drawn:,} drawn)"
