"""Paper: what all Displays draw with: colours that differ in grey too, axes, points, lines, w."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from rosenblatt.show.regions import Boundary, Polygon, Regions
from rosenblatt.show.scene import Scene
from rosenblatt.words import shown

Axes: TypeAlias = Any  # of Matplotlib, which is imported where something is drawn
Figure: TypeAlias = Any
Line: TypeAlias = Boundary | Regions
INK, PALE = "#222222", "#8a8a8a"
YES, NO = "#0072b2", "#d55e00"  # Okabe and Ito's blue and vermilion
YES_SIDE, NO_SIDE = "#d9e8f3", "#fdf1e7"  # differ in grey as well
# Of each label: its mark, its colour, that of its region. Marks tell labels apart without colour.
MARKS = (
    ("x", NO, NO_SIDE),
    ("o", YES, YES_SIDE),
    ("^", "#b8609a", "#f3e1ee"),
    ("s", "#555555", "#e2e2e2"),
    ("D", "#00866a", "#e3f5ee"),
)
POCKET = "#117a55"
ARROW = 0.13  # of the width of the picture
COMPASS = (0.84, 0.16)  # where the arrows of several labels begin, in shares of the picture


def plotting() -> Any:
    """Matplotlib's pyplot, or a sentence saying how to get it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "Displays need Matplotlib; install it with: pip install 'rosenblatt[plot]'"
        ) from error
    return pyplot


def sheet(axes: Any, count: int, size: tuple[float, float], columns: int = 3) -> Any:
    """A figure and as many of its axes as are drawn: those a person gave, or new ones."""
    pyplot = plotting()
    if axes is not None:
        given = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(given) != count:
            raise ValueError(f"{count} axes are drawn here, but {len(given)} were given.")
        return given[0].get_figure(), given
    figure = pyplot.figure(figsize=size, layout="constrained")
    columns = min(columns, count)
    grid = list(figure.subplots(-(-count // columns), columns, squeeze=False).ravel())
    for spare in grid[count:]:
        spare.remove()
    return figure, grid[:count]


def as_it_is(text: str) -> str:
    """A name or a label as it is spelled: no formula between dollars, no mark that hides it."""
    text = shown(text).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def tidy(ax: Axes, labels: tuple[str, str] = ("", ""), title: str = "") -> None:
    """Two thin spines, small grey ticks, the title at the left."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(PALE)
    ax.tick_params(colors="#555555", labelsize=8, length=3, color=PALE)
    ax.set_xlabel(labels[0], fontsize=9, color=INK)
    ax.set_ylabel(labels[1], fontsize=9, color=INK)
    if title:
        ax.set_title(title, fontsize=10, color=INK, loc="left")


def legend(figure: Figure, marks: Sequence[Any], most: int = 6) -> None:
    """A legend below all axes, without a frame, in even rows of so many at the most."""
    columns = -(-len(marks) // -(-len(marks) // most)) if marks else 1
    look: dict[str, Any] = {"frameon": False, "fontsize": 8, "handletextpad": 0.5}
    place = "outside lower center"
    figure.legend(handles=list(marks), loc=place, ncols=columns, columnspacing=1.2, **look)


def legend_of(ax: Axes, given: bool) -> None:
    """What these axes name; within them where the rest of the figure is somebody else's."""
    if given:
        ax.legend(fontsize=8, framealpha=0.85, edgecolor="none", handletextpad=0.5)
    else:
        legend(ax.get_figure(), ax.get_legend_handles_labels()[0])


def prepare(ax: Axes, scene: Scene, title: str) -> None:
    """Axes as large as the scene, square, and with its names."""
    (left, bottom), _, (right, top), _ = scene.box
    across, up = scene.facts.names
    tidy(ax, (as_it_is(across), as_it_is(up)), title)
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    ax.set_box_aspect(0.3 if scene.facts.flat else 1.0)
    if scene.facts.flat:
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)


def mark_of(place: int) -> dict[str, Any]:
    """How the examples of a label are marked: no ×, yes ○, and three more."""
    mark, colour, _ = MARKS[place]
    if mark == "x":
        return {"marker": mark, "color": colour}
    return {"marker": mark, "edgecolors": colour, "facecolors": colour if mark == "D" else "none"}


def draw_points(ax: Axes, scene: Scene) -> None:
    """A mark for each example, that of its label; a ring around each mistake."""
    size = float(np.clip(40 * np.sqrt(150 / max(len(scene.points), 1)), 7, 40))
    names = list(enumerate(scene.facts.labels))
    width = float(np.clip(size / 26, 0.7, 1.5))
    look: dict[str, Any] = {"s": size, "linewidths": width, "zorder": 3}
    for place, name in names if len(names) > 2 else names[::-1]:
        spots = scene.points[scene.places == place]
        ax.scatter(*spots.T, label=as_it_is(name), **mark_of(place), **look)
    if scene.wrong.any():
        look = {"s": 4.2 * size, "linewidths": 0.8, "zorder": 4}
        look |= {"marker": "o", "facecolors": "none", "edgecolors": INK}
        ax.scatter(*scene.points[scene.wrong].T, label="mistake", **look)


def draw_sides(ax: Axes, line: Line, box: Polygon, above: float = 0.0) -> None:
    """Each label's part of the box in its pale colour; nothing where all scores are equal."""
    for part, (_, _, colour) in zip(line.parts(box, above), MARKS, strict=False):
        if len(part) > 2:
            ax.fill(*zip(*part, strict=True), color=colour, linewidth=0, zorder=0)


def draw_band(ax: Axes, line: Line, box: Polygon, margin: float) -> None:
    """The band around the line that no example is in: paler, with dotted edges."""
    ax.fill(*zip(*box, strict=True), color="white", alpha=0.65, linewidth=0, zorder=0)
    draw_sides(ax, line, box, margin)
    for ends in line.edges(box, margin):
        ax.plot(*zip(*ends, strict=True), color=INK, lw=0.9, ls=(0, (1, 2)), zorder=2)


def draw_line(ax: Axes, line: Line, box: Polygon, **look: Any) -> None:
    """The line, or those between regions, as far as the box goes; nothing where none is in it."""
    look = {"color": INK, "linewidth": 1.6, "zorder": 2, "solid_capstyle": "round", **look}
    for ends in line.edges(box):
        ax.plot(*zip(*ends, strict=True), **look)
        look["label"] = "_"  # named once


def draw_weights(ax: Axes, now: Line, box: Polygon, before: Line | None = None) -> None:
    """w as an arrow across the line, or that of each label in a corner; pale what it was before."""
    if isinstance(now, Boundary):
        if isinstance(before, Boundary):
            draw_arrow(ax, before, box, "", color=PALE, linewidth=1.2)
        draw_arrow(ax, now, box)
    elif now.says:
        _draw_compass(ax, now.planes, before.planes if isinstance(before, Regions) else now.planes)


def _draw_compass(ax: Axes, now: Sequence[Boundary], old: Sequence[Boundary]) -> None:
    """The w of each label as an arrow in its colour; pale what it was before."""
    from matplotlib.patheffects import withStroke

    longest = max(plane.size for plane in (*now, *old)) or 1.0
    halo = [withStroke(linewidth=4, foreground="white")]
    look: dict[str, Any] = {"linewidth": 1.6, "shrinkA": 0, "shrinkB": 0, "path_effects": halo}
    foot = np.array(COMPASS)
    for was, plane, (_, colour, _) in zip(old, now, MARKS, strict=False):
        for w, shade in [(was, PALE)] * (was != plane) + [(plane, colour)]:
            tip = foot + ARROW * np.array([w.a, w.b]) / longest
            arrow = {"arrowstyle": "-|>,head_width=.2,head_length=.3", "color": shade, **look}
            ax.annotate("", tip, foot, "axes fraction", "axes fraction", arrowprops=arrow, zorder=5)


def draw_arrow(ax: Axes, line: Boundary, box: Polygon, name: str = "w", **look: Any) -> None:
    """w as an arrow across the line, to where the score grows fastest in the picture."""
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
