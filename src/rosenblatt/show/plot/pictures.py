"""Pictures of the plane: the examples and the line, and a run as the line turns."""

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
from rosenblatt.show.fitted import examples_of, hypothesis_of, trace_of
from rosenblatt.show.plot.paper import (
    INK,
    MARKS,
    PALE,
    POCKET,
    as_it_is,
    draw_band,
    draw_line,
    draw_points,
    draw_sides,
    draw_weights,
    legend,
    legend_of,
    plotting,
    prepare,
    sheet,
)
from rosenblatt.show.regions import Boundary, Regions
from rosenblatt.show.scene import Floats, Scene, scene_of, view_of
from rosenblatt.trace import Trace
from rosenblatt.words import counted

PANELS, COLUMNS = 6, 3
FRAMES = 60
HELD = 3  # frames that the last one stays, to be looked at
SPOT = "#f0e442"


class BoundaryDisplay:
    """Points, the line, both half-planes, w as an arrow, the margin band, mistakes ringed.

    ○ are examples of the second class, × of the first. With more than two features the picture
    is their projection on w against the first remaining principal direction: every example is
    on its true side of the line, at its true distance. Of more than 2,000 examples a sample is
    drawn, and said so.

    Of three to five classes there is a region for each, with the exact lines between them, a mark
    for each class (× ○ △ □ ◆) and the w of each as an arrow in the corner. With more than two
    features three classes are seen in the plane of the differences of their w: again every example
    is in its true region, at its true distance from the lines around it.

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
    >>> X, y = [[2, 0], [0, 2], [-2, -2], [-1, 2]], ["east", "north", "south", "north"]
    >>> display = rb.BoundaryDisplay.from_estimator(rb.Perceptron().fit(X, y), X, y)
    >>> len(display.scene.line.parts(display.scene.box))
    3
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
            Fitted on two to five classes; of a pipeline the last step, on what the others make
            of X.
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
        scene = self.scene
        line, box, margin = scene.line, scene.box, scene.facts.margin
        self.figure_, (self.ax_,) = sheet(ax, 1, (4.8, 2.3 if scene.facts.flat else 5.2))
        if title is None:
            title, drawn = scene.facts.sentence(), len(scene.points)
            title += "" if drawn == scene.facts.n else f" ({drawn:,} drawn)"
        prepare(self.ax_, scene, title)
        draw_sides(self.ax_, line, box)
        if margin is not None:
            draw_band(self.ax_, line, box, margin)
        draw_line(self.ax_, line, box)
        draw_points(self.ax_, scene)
        draw_weights(self.ax_, line, box)
        legend_of(self.ax_, given=ax is not None)
        return self


@dataclass(frozen=True, eq=False)
class Replay:
    """A run to be seen again."""

    trace: Trace  # with the examples it was made on
    zero: int = 0  # what sign(0) meant
    pocketed: tuple[int, ...] = ()  # the t at which a pocket was replaced, ascending

    def __len__(self) -> int:
        return len(self.trace)

    def chosen(self, at: Sequence[int]) -> list[int]:
        """The t asked for, in order, once they are all in the run."""
        last = len(self)
        for t in at:
            if not 0 <= t <= last:
                raise ValueError(f"t is {t}; this trace has pictures for t from 0 to {last}.")
        return sorted({int(t) for t in at})

    def frames(self, at: Sequence[int]) -> Iterator[Frame]:
        """A frame for each t, in order."""
        at = self.chosen(at)
        kept = {t: max((p for p in self.pocketed if p <= t), default=None) for t in at}
        wanted = {*at, *(t - 1 for t in at if t), *(p for p in kept.values() if p is not None)}
        weights: dict[int, Floats] = {}
        for t, w in zip(sorted(wanted), self.trace.walk(sorted(wanted)), strict=True):
            weights[t] = w
            if t in kept:
                held = kept[t]
                yield self._frame(t, w, weights.get(t - 1), None if held is None else weights[held])
                # Others are not looked at again, and with many features they are large.
                weights = {t: w} if held is None else {t: w, held: weights[held]}

    def _frame(self, t: int, w: Floats, last: Floats | None, held: Floats | None) -> Frame:
        examples = self.trace.known_origin().examples
        row = int(self.trace.examples[t - 1]) if t else None
        h = Hypothesis.of(examples.shaped(w), examples.x0, self.zero)
        beside = None if row is None else examples.tall_row(row)[1:]
        view = view_of(examples, h, beside)
        scene = scene_of(examples, h, view, () if row is None else (row,))

        def line(v: Floats | None, seen: bool) -> Boundary | Regions | None:
            if v is None or not seen:
                return None
            return view.line(Hypothesis.of(examples.shaped(v), examples.x0, self.zero))

        # Beside the plane of w(t-1) and w(t) the pocket would not be seen where it is; that of
        # several labels holds w(t) alone.
        flat, rivals = examples.d <= 2, self.trace.rivals
        rival = None if rivals is None or not t else str(examples.labels[rivals[t - 1]])
        before, pocket = line(last, flat or rivals is None), line(held, flat)
        return Frame(t, scene, before, row, pocket, rival)


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture of a run."""

    t: int
    scene: Scene  # the examples and the line of w(t)
    before: Boundary | Regions | None  # the line of w(t - 1)
    row: int | None  # whose correction led from w(t - 1) to w(t)
    pocket: Boundary | Regions | None = None  # the best line so far, where one is kept
    rival: str | None = None  # of more than two labels, the one that the row was corrected against

    @property
    def title(self) -> str:
        """What happened, in a few words."""
        corrected = "" if self.row is None else f", row {self.row} corrected"
        rival = "" if self.rival is None else f"against {as_it_is(self.rival)}; "
        left = f"{counted(self.scene.facts.mistakes, 'mistake')} left"
        return f"t = {self.t}{corrected}\n{rival}{left}"


def spread(last: int, most: int) -> list[int]:
    """At most so many t from 1 to T, closer together where lines still turn a lot.

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


class TraceDisplay:
    """The line turning, correction by correction.

    Each picture shows the example that was corrected, the line before it (dashed) and after it,
    and the mistakes left, ringed; with a pocket, its line too. With more than two features each
    picture is taken in the plane of w(t) and the corrected example, where both lines are seen
    edge on and every example is on its true side of both.

    Of three to five classes each picture shows all regions. A correction moves two w, that of the
    right class and that of its best rival: the arrows in the corner, pale what they were before.

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
        columns = min(len(at), COLUMNS)
        rows = -(-len(at) // columns)
        figure, found = sheet(axes, len(at), (3.3 * columns, 3.5 * rows + 0.4), columns)
        for ax, frame in zip(found, self.replay.frames(at), strict=True):
            draw_frame(ax, frame)
        self.figure_, self.axes_ = figure, found
        if axes is None:
            legend(figure, self._marks(), most=7)
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
        writer = _writer(Path(path), fps)
        figure, (ax,) = sheet(None, 1, (4.6, 5.0))
        legend(figure, self._marks(), most=3)
        try:
            with tempfile.TemporaryDirectory() as folder:
                made = Path(folder) / f"frames{Path(path).suffix.lower()}"
                with writer.saving(figure, str(made), dpi):
                    for frame in self.replay.frames(at):
                        ax.clear()
                        draw_frame(ax, frame)
                        figure.draw_without_rendering()
                        figure.set_layout_engine("none")  # laid out once: no frame jumps
                        writer.grab_frame()
                    for _ in range(HELD):
                        writer.grab_frame()
                with replacing(path) as beside:
                    shutil.copyfile(made, beside)
        finally:
            plotting().close(figure)
        return self

    def _marks(self) -> list[Any]:
        """What is drawn, named once for all frames, so that none of them moves."""
        from matplotlib.lines import Line2D

        labels = self.replay.trace.known_origin().examples.labels.tolist()

        def point(label: str, size: float, colour: str, **look: Any) -> Any:
            look = {"marker": "o", "markerfacecolor": "none", **look}
            return Line2D([], [], ls="none", label=label, ms=size, markeredgecolor=colour, **look)

        def named(place: int) -> Any:
            mark, colour, _ = MARKS[place]
            look = {"marker": mark, "markerfacecolor": colour if mark == "D" else "none"}
            return point(as_it_is(str(labels[place])), 6, colour, markeredgewidth=1.5, **look)

        places = range(len(labels)) if len(labels) > 2 else (1, 0)
        marks = [
            *map(named, places),
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
    draw_weights(ax, scene.line, box, frame.before)


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
