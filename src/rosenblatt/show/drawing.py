"""Draw the parts that several plots share: axes, legends, points, lines and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from rosenblatt.show.scene import Polygon, Regions, Scene
from rosenblatt.text import sanitize

Axes: TypeAlias = Any  # Matplotlib's classes, which are imported only when something is drawn
Figure: TypeAlias = Any
INK, PALE = "#222222", "#8a8a8a"
YES, NO = "#0072b2", "#d55e00"  # Okabe and Ito's blue and vermilion
YES_SIDE, NO_SIDE = "#d9e8f3", "#fdf1e7"  # can be told apart in grayscale as well
# The mark, color and region color of each label. Marks tell labels apart without color.
MARKS = (
    ("x", NO, NO_SIDE),
    ("o", YES, YES_SIDE),
    ("^", "#b8609a", "#f3e1ee"),
    ("s", "#555555", "#e2e2e2"),
    ("D", "#00866a", "#e3f5ee"),
)
ARROW = 0.13  # length of an arrow, as a fraction of the picture
COMPASS = (0.84, 0.16)  # start of the arrows of several labels, as fractions of the picture


def make_axes(axes: Any, count: int, size: tuple[float, float], columns: int = 3) -> Any:
    """Return a figure and its axes: those given by the caller, or new ones."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "Displays need Matplotlib; install it with: pip install 'rosenblatt[plot]'"
        ) from error
    if axes is not None:
        given = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(given) != count:
            raise ValueError(f"this plot needs {count} axes, one per panel; {len(given)} given.")
        return given[0].get_figure(), given
    figure = pyplot.figure(figsize=size, layout="constrained")
    columns = min(columns, count)
    grid = list(figure.subplots(-(-count // columns), columns, squeeze=False).ravel())
    for spare in grid[count:]:
        spare.remove()
    return figure, grid[:count]


def escape_text(text: str) -> str:
    """Escape a name so that Matplotlib prints it as it is, not as a formula."""
    text = sanitize(text).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text  # labels with "_" are not in the legend


def style_axes(ax: Axes, labels: tuple[str, str] = ("", ""), title: str = "") -> None:
    """Set the title and axis labels; hide the top and right edges."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(PALE)
    ax.tick_params(colors="#555555", labelsize=8, length=3, color=PALE)
    ax.set_xlabel(labels[0], fontsize=9, color=INK)
    ax.set_ylabel(labels[1], fontsize=9, color=INK)
    if title:
        ax.set_title(title, fontsize=10, color=INK, loc="left")


def draw_legend(figure: Figure, marks: Sequence[Any], most: int = 6) -> None:
    """Draw one legend below all axes, with at most `most` entries per row."""
    columns = -(-len(marks) // -(-len(marks) // most)) if marks else 1
    look: dict[str, Any] = {"frameon": False, "fontsize": 8, "handletextpad": 0.5}
    place = "outside lower center"
    figure.legend(handles=list(marks), loc=place, ncols=columns, columnspacing=1.2, **look)


def draw_own_legend(ax: Axes, given: bool) -> None:
    """Draw the legend inside the axes if the caller gave the axes, else below all axes."""
    if given:
        ax.legend(fontsize=8, framealpha=0.85, edgecolor="none", handletextpad=0.5)
    else:
        draw_legend(ax.get_figure(), ax.get_legend_handles_labels()[0])


def fit_axes(ax: Axes, scene: Scene, title: str) -> None:
    """Set up axes for a scene: limits, labels, title and aspect ratio."""
    (left, bottom), _, (right, top), _ = scene.box
    across, up = scene.names
    style_axes(ax, (escape_text(across), escape_text(up)), title)
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    ax.set_box_aspect(0.3 if scene.flat else 1.0)
    if scene.flat:
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)


def draw_points(ax: Axes, scene: Scene) -> None:
    """Draw the examples, with one marker per label and a ring around each mistake."""
    size = float(np.clip(40 * np.sqrt(150 / max(len(scene.points), 1)), 7, 40))
    names = list(enumerate(scene.labels))
    width = float(np.clip(size / 26, 0.7, 1.5))
    look: dict[str, Any] = {"s": size, "linewidths": width, "zorder": 3}
    for place, name in names if len(names) > 2 else names[::-1]:
        spots = scene.points[scene.places == place]
        mark, color, _ = MARKS[place]
        colors = {"edgecolors": color, "facecolors": color if mark == "D" else "none"}
        colors = {"color": color} if mark == "x" else colors
        ax.scatter(*spots.T, label=escape_text(name), marker=mark, **colors, **look)
    if scene.wrong.any():
        look = {"s": 4.2 * size, "linewidths": 0.8, "zorder": 4}
        look |= {"marker": "o", "facecolors": "none", "edgecolors": INK}
        ax.scatter(*scene.points[scene.wrong].T, label="mistake", **look)


def draw_sides(ax: Axes, regions: Regions, box: Polygon, distance: float = 0.0) -> None:
    """Fill each label's region with a pale color, except within `distance` of the boundary."""
    for part, (_, _, color) in zip(regions.parts(box, distance), MARKS, strict=False):
        if len(part) > 2:
            ax.fill(*zip(*part, strict=True), color=color, linewidth=0, zorder=0)


def draw_band(ax: Axes, regions: Regions, box: Polygon, margin: float) -> None:
    """Draw the margin around the decision boundary as a band with dotted edges."""
    ax.fill(*zip(*box, strict=True), color="white", alpha=0.65, linewidth=0, zorder=0)
    draw_sides(ax, regions, box, margin)
    for ends in regions.edges(box, margin):
        ax.plot(*zip(*ends, strict=True), color=INK, lw=0.9, ls=(0, (1, 2)), zorder=2)


def draw_line(ax: Axes, regions: Regions, box: Polygon, **look: Any) -> None:
    """Draw the part of the decision boundary (the lines between regions) that is inside `box`."""
    look = {"color": INK, "linewidth": 1.6, "zorder": 2, "solid_capstyle": "round", **look}
    for ends in regions.edges(box):
        ax.plot(*zip(*ends, strict=True), **look)
        look["label"] = "_"  # one entry in the legend


def draw_weights(ax: Axes, now: Regions, box: Polygon, before: Regions | None = None) -> None:
    """Draw w as an arrow, or as one arrow per label, with earlier weights in gray."""
    from matplotlib.patheffects import withStroke

    def draw_arrow(foot: Any, tip: Any, color: str, **look: Any) -> None:
        size = ",head_width=.2,head_length=.3" if many else ",head_width=.25"
        arrow = {"arrowstyle": f"-|>{size}", "color": color, "shrinkA": 0, "shrinkB": 0, **look}
        ax.annotate("", tip, foot, space, space, arrowprops=arrow, zorder=5)

    many = len(now.scores) > 2
    space = "axes fraction" if many else "data"
    if many and now.differ:
        # All arrows begin at one point in the corner.
        foot, old = np.array(COMPASS), now.scores if before is None else before.scores
        longest = max(score.size for score in (*now.scores, *old)) or 1.0
        halo = [withStroke(linewidth=4, foreground="white")]
        for was, score, (_, color, _) in zip(old, now.scores, MARKS, strict=False):
            for w, shade in [(was, PALE)] * (was != score) + [(score, color)]:
                tip = foot + ARROW * np.array([w.a, w.b]) / longest
                draw_arrow(foot, tip, shade, linewidth=1.6, path_effects=halo)
    if many:
        return
    # With two labels, w begins at the middle of the line.
    (left, bottom), _, (right, top), _ = box
    span = np.array([right - left, top - bottom])
    for regions, color, width in ((before, PALE, 1.2), (now, INK, 1.6)):
        line = None if regions is None else regions.scores[1]
        ends = [] if line is None else line.ends(box)
        if line is None or not ends:
            continue
        across = np.array([line.a, line.b]) * span
        arrow, foot = ARROW * span * across / np.hypot(*across), np.mean(ends, axis=0)
        draw_arrow(foot, foot + arrow, color, linewidth=width)
        if regions is now:
            halo = [withStroke(linewidth=3, foreground="white")]
            look: dict[str, Any] = {"fontsize": 10, "fontweight": "bold", "color": color}
            look |= {"ha": "center", "va": "center", "path_effects": halo, "zorder": 5}
            ax.annotate("w", foot + 1.28 * arrow, **look)
