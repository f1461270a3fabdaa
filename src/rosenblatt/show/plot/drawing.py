"""Draw with Matplotlib what all Displays share: axes, legends, points, lines and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from rosenblatt.show.regions import Boundary, Polygon, Regions
from rosenblatt.show.scene import Scene
from rosenblatt.text import sanitize

Axes: TypeAlias = Any  # of Matplotlib, which is imported where something is drawn
Figure: TypeAlias = Any
INK, PALE = "#222222", "#8a8a8a"
YES, NO = "#0072b2", "#d55e00"  # Okabe and Ito's blue and vermilion
YES_SIDE, NO_SIDE = "#d9e8f3", "#fdf1e7"  # differ in grayscale as well
# The mark, color and region color of each label. Marks tell labels apart without color.
MARKS = (
    ("x", NO, NO_SIDE),
    ("o", YES, YES_SIDE),
    ("^", "#b8609a", "#f3e1ee"),
    ("s", "#555555", "#e2e2e2"),
    ("D", "#00866a", "#e3f5ee"),
)
POCKET = "#117a55"
ARROW = 0.13  # length of an arrow, as a fraction of the picture
COMPASS = (0.84, 0.16)  # start of the arrows of several labels, as fractions of the picture


def import_pyplot() -> Any:
    """Import Matplotlib's pyplot; raise ImportError with the name of the extra."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "Displays need Matplotlib; install it with: pip install 'rosenblatt[plot]'"
        ) from error
    return pyplot


def make_axes(axes: Any, count: int, size: tuple[float, float], columns: int = 3) -> Any:
    """Return a figure and its axes: those given by the caller, or new ones."""
    pyplot = import_pyplot()
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
    """Escape a name so that Matplotlib prints it literally, not as a formula or hidden label."""
    text = sanitize(text).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def style_axes(ax: Axes, labels: tuple[str, str] = ("", ""), title: str = "") -> None:
    """Style axes with two thin spines, small gray ticks and a title at the left."""
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
    """Draw one legend below all axes, with at most `most` entries in a row."""
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
    """Set the limits, labels and shape of axes so that they show a scene."""
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
    """Draw each example with the marker of its label, and a ring around each mistake."""
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


def draw_sides(ax: Axes, regions: Regions, box: Polygon, above: float = 0.0) -> None:
    """Fill the region of each label in a pale color, unless all scores are equal."""
    for part, (_, _, color) in zip(regions.parts(box, above), MARKS, strict=False):
        if len(part) > 2:
            ax.fill(*zip(*part, strict=True), color=color, linewidth=0, zorder=0)


def draw_band(ax: Axes, regions: Regions, box: Polygon, margin: float) -> None:
    """Draw the margin around the decision boundary as a pale band with dotted edges."""
    ax.fill(*zip(*box, strict=True), color="white", alpha=0.65, linewidth=0, zorder=0)
    draw_sides(ax, regions, box, margin)
    for ends in regions.edges(box, margin):
        ax.plot(*zip(*ends, strict=True), color=INK, lw=0.9, ls=(0, (1, 2)), zorder=2)


def draw_line(ax: Axes, regions: Regions, box: Polygon, **look: Any) -> None:
    """Draw the decision boundary (the lines between regions) inside the box."""
    look = {"color": INK, "linewidth": 1.6, "zorder": 2, "solid_capstyle": "round", **look}
    for ends in regions.edges(box):
        ax.plot(*zip(*ends, strict=True), **look)
        look["label"] = "_"  # one entry in the legend


def draw_weights(ax: Axes, now: Regions, box: Polygon, before: Regions | None = None) -> None:
    """Draw w as an arrow, or as one arrow per label, and earlier weights as gray arrows."""
    from matplotlib.patheffects import withStroke

    if len(now.planes) == 2:
        if before is not None:
            draw_arrow(ax, before.planes[1], box, "", color=PALE, linewidth=1.2)
        draw_arrow(ax, now.planes[1], box)
        return
    if not now.is_nonzero:
        return
    # With several labels all arrows begin at one point in the corner.
    old = now.planes if before is None else before.planes
    longest = max(plane.size for plane in (*now.planes, *old)) or 1.0
    halo = [withStroke(linewidth=4, foreground="white")]
    look: dict[str, Any] = {"linewidth": 1.6, "shrinkA": 0, "shrinkB": 0, "path_effects": halo}
    foot = np.array(COMPASS)
    for was, plane, (_, color, _) in zip(old, now.planes, MARKS, strict=False):
        for w, shade in [(was, PALE)] * (was != plane) + [(plane, color)]:
            tip = foot + ARROW * np.array([w.a, w.b]) / longest
            arrow = {"arrowstyle": "-|>,head_width=.2,head_length=.3", "color": shade, **look}
            ax.annotate("", tip, foot, "axes fraction", "axes fraction", arrowprops=arrow, zorder=5)


def draw_arrow(ax: Axes, line: Boundary, box: Polygon, name: str = "w", **look: Any) -> None:
    """Draw w as an arrow across the decision boundary, toward higher scores."""
    ends = line.ends(box)
    if not ends:
        return
    (left, bottom), _, (right, top), _ = box
    span = np.array([right - left, top - bottom])
    across = np.array([line.a, line.b]) * span
    tip = ARROW * span * across / np.hypot(*across)
    foot = np.mean(ends, axis=0)
    look = {"color": INK, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0, **look}
    ax.annotate(
        "", foot + tip, foot, arrowprops={"arrowstyle": "-|>,head_width=.25", **look}, zorder=5
    )
    if name:
        from matplotlib.patheffects import withStroke

        halo = [withStroke(linewidth=3, foreground="white")]
        bold: dict[str, Any] = {"fontsize": 10, "fontweight": "bold", "color": look["color"]}
        middle = {"ha": "center", "va": "center"}
        ax.annotate(name, foot + 1.28 * tip, path_effects=halo, zorder=5, **bold, **middle)
