"""TraceDisplay: a run as small multiples, or as an animation."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from rosenblatt.files import replacing
from rosenblatt.pipelines import final
from rosenblatt.show.fitted import trace_of
from rosenblatt.show.frames import Frame, Replay, spread
from rosenblatt.show.plot.paper import (
    INK,
    NO,
    PALE,
    POCKET,
    YES,
    as_it_is,
    given_axes,
    legend,
    plotting,
    sheet,
)
from rosenblatt.show.plot.plane import draw_arrow, draw_line, draw_points, draw_sides, prepare

PANELS, COLUMNS = 6, 3
FRAMES = 60
HELD = 3  # frames that the last one stays, to be looked at
SPOT = "#f0e442"


class TraceDisplay:
    """The line turning, correction by correction.

    Each picture shows the example that was corrected, the line before it (dashed) and after it,
    and the mistakes left, ringed; with a pocket, its line too. With more than two features each
    picture is taken in the plane of w(t) and the corrected example, where both lines are seen
    edge on and every example is on its true side of both.

    Parameters
    ----------
    replay : Replay
        The run; `from_estimator` makes it.

    Attributes
    ----------
    axes_ : list of Axes
        Where it was drawn.
    figure_ : Figure
        The figure of these axes.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]
    >>> display = rb.TraceDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y, t=[1, 18])
    >>> print(display.axes_[1].get_title(loc="left"))
    t = 18, row 1 corrected
    0 mistakes left
    """

    axes_: list[Any]
    figure_: Any

    def __init__(self, replay: Replay) -> None:
        self.replay = replay

    @classmethod
    def from_estimator(
        cls, clf: Any, X: Any, y: Any, *, t: Sequence[int] | None = None, axes: Any = None
    ) -> Self:
        """Draw the run of a fitted estimator.

        Parameters
        ----------
        clf : Perceptron, PocketPerceptron, or a Pipeline that ends in one
            Fitted, and not loaded from a file: its trace must know its examples.
        X, y : arrays, sparse matrix or frame, and answers
            What it was fitted on.
        t : sequence of int, optional
            Which moments, from 0 to the number of corrections; up to six of them by default.
        axes : sequence of Axes, optional
            One for each t; a new figure if not given.
        """
        last = final(clf)
        pocketed = tuple(moment for moment, _ in getattr(last, "history_", ()))
        replay = Replay(trace_of(clf, X, y), getattr(last, "_zero", 0), pocketed)
        return cls(replay).plot(t=t, axes=axes)

    def plot(self, *, t: Sequence[int] | None = None, axes: Any = None) -> Self:
        """Draw small multiples.

        Parameters
        ----------
        t : sequence of int, optional
            Which moments; up to six by default.
        axes : sequence of Axes, optional
            One for each t; a new figure if not given.
        """
        at = self.replay.chosen(spread(len(self.replay), PANELS) if t is None else t)
        if not at:
            raise ValueError("t is empty; give at least one moment from 0 up.")
        if axes is None:
            columns = min(len(at), COLUMNS)
            rows = -(-len(at) // columns)
            figure, grid = sheet(columns, rows, size=(3.3 * columns, 3.5 * rows + 0.4))
            found = list(grid.ravel())
            for spare in found[len(at) :]:
                spare.remove()
            found = found[: len(at)]
        else:
            figure, found = given_axes(axes, len(at))
        for ax, frame in zip(found, self.replay.frames(at), strict=True):
            draw_frame(ax, frame)
        self.figure_, self.axes_ = figure, found
        if axes is None:
            legend(figure, self._marks(), columns=7)
        return self

    def animate(
        self, path: str | Path, *, t: Sequence[int] | None = None, fps: float = 2.0, dpi: int = 100
    ) -> Self:
        """Write an animation, a frame a correction.

        Parameters
        ----------
        path : path
            Where to: a .gif, or an .mp4 where the program ffmpeg is installed.
        t : sequence of int, optional
            Which moments; by default all, or sixty of them where there are more.
        fps : float, default=2.0
            Frames a second.
        dpi : int, default=100
            Dots an inch; a frame is 4.6 by 5 inches.
        """
        last = len(self.replay)
        moments = [0, *spread(last, FRAMES)] if t is None else t
        at = self.replay.chosen(moments)
        pyplot, writer = plotting(), _writer(Path(path), fps)
        figure, grid = sheet(size=(4.6, 5.0))
        legend(figure, self._marks(), columns=3)
        try:
            with tempfile.TemporaryDirectory() as folder:
                made = Path(folder) / f"frames{Path(path).suffix.lower()}"
                with writer.saving(figure, str(made), dpi):
                    for frame in self.replay.frames(at):
                        grid[0, 0].clear()
                        draw_frame(grid[0, 0], frame)
                        figure.draw_without_rendering()
                        figure.set_layout_engine("none")  # laid out once: no frame jumps
                        writer.grab_frame()
                    for _ in range(HELD):
                        writer.grab_frame()
                with replacing(path) as beside:
                    shutil.copyfile(made, beside)
        finally:
            pyplot.close(figure)
        return self

    def _marks(self) -> list[Any]:
        """What is drawn, named once for all frames, so that none of them moves."""
        from matplotlib.lines import Line2D

        no, yes = self.replay.trace.known_origin().examples.labels.tolist()

        def point(label: str, size: float, colour: str, **look: Any) -> Any:
            look = {"marker": "o", "markerfacecolor": "none", **look}
            return Line2D([], [], ls="none", label=label, ms=size, markeredgecolor=colour, **look)

        marks = [
            point(as_it_is(str(yes)), 6, YES, markeredgewidth=1.5),
            point(as_it_is(str(no)), 6, NO, marker="x", markeredgewidth=1.5),
            point("mistake", 11, INK, markeredgewidth=0.8),
            point("corrected", 11, INK, markerfacecolor=SPOT),
            Line2D([], [], color=PALE, linestyle="--", label="line before"),
            Line2D([], [], color=INK, linewidth=1.6, label="line after"),
        ]
        if self.replay.pocketed:
            marks.append(Line2D([], [], color=POCKET, linewidth=3, alpha=0.55, label="pocket"))
        return marks


def draw_frame(ax: Any, frame: Frame) -> None:
    """One picture of a run, on axes."""
    scene, box = frame.scene, frame.scene.box
    prepare(ax, scene, frame.title)
    draw_sides(ax, scene.line, box)
    if frame.before is not None:
        draw_line(ax, frame.before, box, color=PALE, linestyle="--", label="line before")
        draw_arrow(ax, frame.before, box, "", color=PALE, linewidth=1.2)
    if frame.pocket is not None:
        look = {"color": POCKET, "linewidth": 3.0, "alpha": 0.55}
        draw_line(ax, frame.pocket, box, label="pocket", **look)
    draw_line(ax, scene.line, box, label="line after" if frame.row is not None else "line")
    if frame.row is not None:
        spot = scene.points[scene.rows == frame.row]
        ax.scatter(
            *spot.T,
            s=190,
            color=SPOT,
            edgecolors=INK,
            linewidths=1.2,
            zorder=2.5,
            label="corrected",
        )
    draw_points(ax, scene)
    draw_arrow(ax, scene.line, box)


def _writer(path: Path, fps: float) -> Any:
    from matplotlib.animation import FFMpegWriter, PillowWriter

    kind = path.suffix.lower()
    if kind == ".gif":
        return PillowWriter(fps=fps)  # type: ignore[arg-type]
    if kind != ".mp4":
        raise ValueError(f"cannot animate {path}: the name must end in .gif or .mp4.")
    if not FFMpegWriter.isAvailable():
        raise ValueError(
            f"cannot animate {path}: .mp4 needs the program ffmpeg, which is not installed; "
            "install it, or give a .gif."
        )
    return FFMpegWriter(fps=fps)  # type: ignore[arg-type]
