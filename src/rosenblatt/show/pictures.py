"""Plot examples with the decision boundary, at the end of training or after each update."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from rosenblatt.files import replacing
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.pipelines import final
from rosenblatt.show.drawing import (
    INK,
    MARKS,
    PALE,
    draw_band,
    draw_legend,
    draw_line,
    draw_own_legend,
    draw_points,
    draw_sides,
    draw_weights,
    escape_text,
    fit_axes,
    make_axes,
)
from rosenblatt.show.scene import Floats, Regions, Scene, scene_of, view_of
from rosenblatt.show.story import examples_of, hypothesis_of, trace_of
from rosenblatt.text import plural
from rosenblatt.trace import Trace

PANELS, COLUMNS = 6, 3  # default number of panels, and how many are side by side
FRAMES = 60  # default maximum number of frames of an animation
HELD = 3  # times that the last frame is repeated
POCKET_LINE: dict[str, Any] = {"color": "#117a55", "linewidth": 3.0, "alpha": 0.55}
SPOT = "#f0e442"  # color of the example that caused an update


@dataclass(eq=False, repr=False)
class BoundaryDisplay:
    """Decision boundary of a linear classifier with its examples, margin and mistakes.

    Examples of the second class are ○, of the first ×; mistakes have a ring, and w is an arrow.
    More than two features are projected onto w and the first remaining principal direction: every
    example is on its true side of the line, at its true distance. Of more than 2,000 examples a
    sample is drawn, which the title says.

    Three to five classes have one region each, with the exact lines between them, a mark for each
    class (× ○ △ □ ◆) and its weights as an arrow in the corner. With more than two features, three
    classes are projected onto the plane of the differences of their weights, in which every
    example is in its true region, at its true distance from the lines around it.

    Parameters
    ----------
    scene : Scene
        Projected examples and boundary, as `from_estimator` computes them.

    Attributes
    ----------
    ax_ : Axes
        Axes of the plot.
    figure_ : Figure
        Figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]
    >>> display = rb.BoundaryDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y)
    >>> display.ax_.get_title(loc="left")
    'no mistakes on 4 examples; nearest at distance 0.277'
    >>> X, y = [[2, 0], [0, 2], [-2, -2], [-1, 2]], ["east", "north", "south", "north"]
    >>> display = rb.BoundaryDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y)
    >>> len(display.scene.regions.parts(display.scene.box))
    3
    """

    scene: Scene

    @classmethod
    def from_estimator(cls, clf: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Plot examples and the decision boundary of a fitted estimator.

        Parameters
        ----------
        clf : Perceptron, PocketPerceptron, FewestMistakes, any linear classifier, or a Pipeline
            Fitted estimator of two to five classes. The other steps of a pipeline are applied
            to X.
        X : array, sparse matrix or frame of shape (n, d)
            Examples to plot: the training examples or others.
        y : sequence of n labels
            Their labels.
        ax : Axes, optional
            Axes to plot on (default: a new figure).
        """
        return cls(scene_of(examples_of(clf, X, y), hypothesis_of(clf))).plot(ax=ax)

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Plot the examples and the decision boundary.

        Parameters
        ----------
        ax : Axes, optional
            Axes to plot on (default: a new figure).
        title : str, optional
            Title (default: the number of mistakes, or the margin).
        """
        scene = self.scene
        regions, box, margin = scene.regions, scene.box, scene.margin
        self.figure_, (self.ax_,) = make_axes(ax, 1, (4.8, 2.3 if scene.flat else 5.2))
        if title is None:
            title, drawn = scene.summary(), len(scene.points)
            title += "" if drawn == scene.n else f" ({drawn:,} drawn)"
        fit_axes(self.ax_, scene, title)
        draw_sides(self.ax_, regions, box)
        if margin is not None:
            draw_band(self.ax_, regions, box, margin)
        draw_line(self.ax_, regions, box)
        draw_points(self.ax_, scene)
        draw_weights(self.ax_, regions, box)
        draw_own_legend(self.ax_, given=ax is not None)
        return self


@dataclass(frozen=True, eq=False)
class Frame:
    """Picture of an update: the examples, and the boundary before and after it."""

    t: int
    scene: Scene  # the examples and the boundary of w(t)
    before: Regions | None  # the regions of w(t - 1)
    row: int | None  # row of the update from w(t - 1) to w(t)
    pocket: Regions | None = None  # the regions of the pocket weights
    rival: str | None = None  # competing class of the update, with more than two labels

    @property
    def title(self) -> str:
        """Title: the number of updates t, the row that caused the last one, and the mistakes."""
        update = "" if self.row is None else f", update on row {self.row}"
        rival = "" if self.rival is None else f"against {escape_text(self.rival)}; "
        return f"t = {self.t}{update}\n{rival}{plural(self.scene.mistakes, 'mistake')}"


def spread(last: int, most: int) -> list[int]:
    """Choose at most `most` update counts from 0 to `last`, closer together early in the run.

    Examples
    --------
    >>> spread(3, 6), spread(1000, 6), spread(0, 6)
    ([0, 1, 2, 3], [1, 4, 16, 63, 251, 1000], [0])
    >>> spread(7, 6)
    [1, 2, 3, 4, 5, 7]
    """
    if last < most:
        return list(range(last + 1))
    steps = np.unique(np.rint(np.geomspace(1, last, most)).astype(int)).tolist()
    spare = [t for t in range(1, last) if t not in steps]
    return sorted([*steps, *spare[: most - len(steps)]])


@dataclass(eq=False, repr=False)
class TraceDisplay:
    """Decision boundary before and after each update of a run.

    Each panel shows the example of the update, the line before it (dashed) and after it, and the
    remaining mistakes, ringed; for a pocket, its line too. With more than two features each panel
    is the plane of w(t) and the example of the update, in which every example is on its true side
    of both lines.

    With three to five classes each panel shows all regions. An update changes two weight vectors,
    that of the correct class and that of the best competing class: the arrows in the corner, with
    the previous ones in gray.

    Parameters
    ----------
    trace : Trace
        Recorded run, with its training examples.
    zero : int, default=0
        Value of sign(0): -1, 1, or 0, which is always a mistake.
    pocketed : sequence of int, optional
        Values of t at which the pocket changed, ascending.

    Attributes
    ----------
    axes_ : list of Axes
        One for each t.
    figure_ : Figure
        Figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]
    >>> display = rb.TraceDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y, t=[1, 18])
    >>> print(display.axes_[1].get_title(loc="left"))
    t = 18, update on row 1
    0 mistakes
    """

    trace: Trace
    zero: int = 0
    pocketed: Sequence[int] = ()

    @classmethod
    def from_estimator(
        cls, clf: Any, X: Any, y: Any, *, t: Sequence[int] | None = None, axes: Any = None
    ) -> Self:
        """Plot the decision boundary of a fitted estimator after some of its updates.

        Parameters
        ----------
        clf : Perceptron, PocketPerceptron, or a Pipeline that ends in one
            Fitted estimator. A model loaded from a file has no trace.
        X, y : arrays, sparse matrix or frame, and labels
            The training examples.
        t : sequence of int, optional
            Values of t to plot, from 0 to the number of updates (default: at most six).
        axes : sequence of Axes, optional
            Axes for each t (default: a new figure).
        """
        last = final(clf)
        pocketed = tuple(moment for moment, _ in getattr(last, "history_", ()))
        display = cls(trace_of(clf, X, y), getattr(last, "_zero", 0), pocketed)
        return display.plot(t=t, axes=axes)

    def plot(self, *, t: Sequence[int] | None = None, axes: Any = None) -> Self:
        """Plot one panel per value of t: the decision boundary after t updates.

        Parameters
        ----------
        t : sequence of int, optional
            Values of t to plot (default: at most six).
        axes : sequence of Axes, optional
            Axes for each t (default: a new figure).
        """
        at = self._select(spread(len(self.trace), PANELS) if t is None else t)
        if not at:
            raise ValueError("t is empty; give at least one number of updates, 0 or larger.")
        columns = min(len(at), COLUMNS)
        rows = -(-len(at) // columns)
        figure, found = make_axes(axes, len(at), (3.3 * columns, 3.5 * rows + 0.4), columns)
        for ax, frame in zip(found, self.frames(at), strict=True):
            draw_frame(ax, frame)
        self.figure_, self.axes_ = figure, found
        if axes is None:
            draw_legend(figure, self._marks(), most=7)
        return self

    def animate(
        self, path: str | Path, *, t: Sequence[int] | None = None, fps: float = 2.0, dpi: int = 100
    ) -> Self:
        """Write an animation with one frame per update.

        Parameters
        ----------
        path : path
            File to write: a .gif, or an .mp4 if the program ffmpeg is installed.
        t : sequence of int, optional
            Values of t to show (default: all, or sixty of them if there are more).
        fps : float, default=2.0
            Frames per second.
        dpi : int, default=100
            Resolution in dots per inch. A frame is 4.6 by 5 inches.
        """
        from matplotlib import pyplot
        from matplotlib.animation import FFMpegWriter, PillowWriter

        at = self._select([0, *spread(len(self.trace), FRAMES)] if t is None else t)
        kind = Path(path).suffix.lower()
        if kind not in (".gif", ".mp4"):
            raise ValueError(f"cannot animate {path}: the name must end in .gif or .mp4.")
        if kind == ".mp4" and not FFMpegWriter.isAvailable():
            raise ValueError(
                f"cannot animate {path}: .mp4 needs the program ffmpeg, which is not installed; "
                "install it, or give a .gif."
            )
        writer: Any = FFMpegWriter(fps=fps) if kind == ".mp4" else PillowWriter(fps=fps)  # type: ignore[arg-type]
        figure, (ax,) = make_axes(None, 1, (4.6, 5.0))
        draw_legend(figure, self._marks(), most=3)
        try:
            with tempfile.TemporaryDirectory() as folder:
                made = Path(folder) / f"frames{kind}"
                with writer.saving(figure, str(made), dpi):
                    for frame in self.frames(at):
                        ax.clear()
                        draw_frame(ax, frame)
                        figure.draw_without_rendering()
                        figure.set_layout_engine("none")  # keep the layout of the first frame
                        writer.grab_frame()
                    for _ in range(HELD):
                        writer.grab_frame()
                with replacing(path) as beside:
                    shutil.copyfile(made, beside)
        finally:
            pyplot.close(figure)
        return self

    def frames(self, at: Sequence[int]) -> Iterator[Frame]:
        """Yield a picture after t updates for each t in `at`.

        Parameters
        ----------
        at : sequence of int
            Values of t, ascending.
        """
        at = self._select(at)
        examples, rivals = self.trace.known_origin().examples, self.trace.rivals

        def hypothesis(v: Floats) -> Hypothesis:
            return Hypothesis.of(examples.shaped(v), examples.x0, self.zero)

        kept = {t: max((p for p in self.pocketed if p <= t), default=None) for t in at}
        wanted = {*at, *(t - 1 for t in at if t), *(p for p in kept.values() if p is not None)}
        weights: dict[int, Floats] = {}
        for t, w in zip(sorted(wanted), self.trace.walk(sorted(wanted)), strict=True):
            weights[t] = w
            if t not in kept:
                continue
            row = int(self.trace.examples[t - 1]) if t else None
            rival = None if rivals is None or not t else str(examples.labels[rivals[t - 1]])
            beside = None if row is None else examples.augmented_rows([row])[0, -examples.d :]
            view = view_of(examples, hypothesis(w), beside)
            scene = scene_of(examples, hypothesis(w), view, () if row is None else (row,))
            # With more than two features the plane contains w(t) and w(t-1), but not the pocket;
            # with more than two labels as well it contains w(t) alone.
            flat, held = examples.d <= 2, kept[t]
            before = pocket = None
            if t and (flat or rivals is None):
                before = view.regions(hypothesis(weights[t - 1]))
            if held is not None and flat:
                pocket = view.regions(hypothesis(weights[held]))
            yield Frame(t, scene, before, row, pocket, rival)
            # The others are not needed again, and with many features they are large.
            weights = {t: w} if held is None else {t: w, held: weights[held]}

    def _select(self, at: Sequence[int]) -> list[int]:
        """Return the requested update counts t, sorted; raise ValueError if one is out of range."""
        last = len(self.trace)
        for t in at:
            if not 0 <= t <= last:
                raise ValueError(
                    f"t is {t}, but this run has {plural(last, 'update')}; give t from 0 to {last}."
                )
        return sorted({int(t) for t in at})

    def _marks(self) -> list[Any]:
        """Return the entries of the legend, which is the same for all frames."""
        from matplotlib.lines import Line2D

        labels = self.trace.known_origin().examples.labels.tolist()

        def point(label: str, mark: str, size: float, edge: str, **look: Any) -> Any:
            look = {"ls": "none", "ms": size, "mfc": edge if mark == "D" else "none", **look}
            return Line2D([], [], label=label, marker=mark, markeredgecolor=edge, **look)

        named = [
            point(escape_text(str(label)), mark, 6, color, mew=1.5)
            for label, (mark, color, _) in zip(labels, MARKS, strict=False)
        ]
        return [
            *(named if len(labels) > 2 else named[::-1]),
            point("mistake", "o", 11, INK, mew=0.8),
            point("update", "o", 11, INK, mfc=SPOT),
            Line2D([], [], color=PALE, linestyle="--", label="line before"),
            Line2D([], [], color=INK, linewidth=1.6, label="line after"),
            *([Line2D([], [], label="pocket", **POCKET_LINE)] if self.pocketed else []),
        ]


def draw_frame(ax: Any, frame: Frame) -> None:
    """Draw examples and decision boundary before and after an update."""
    scene, box = frame.scene, frame.scene.box
    fit_axes(ax, scene, frame.title)
    draw_sides(ax, scene.regions, box)
    if frame.before is not None:
        draw_line(ax, frame.before, box, color=PALE, linestyle="--", label="line before")
    if frame.pocket is not None:
        draw_line(ax, frame.pocket, box, label="pocket", **POCKET_LINE)
    draw_line(ax, scene.regions, box, label="line after" if frame.row is not None else "line")
    if frame.row is not None:
        spot = scene.points[scene.rows == frame.row]
        look = {"s": 190, "color": SPOT, "edgecolors": INK, "linewidths": 1.2, "zorder": 2.5}
        ax.scatter(*spot.T, label="update", **look)
    draw_points(ax, scene)
    draw_weights(ax, scene.regions, box, frame.before)
