"""Drawing in the plane: points as ○ and ×, half-planes, lines and the arrow of w."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.polygon import Polygon
from rosenblatt.show.plot.paper import INK, NO, NO_SIDE, YES, YES_SIDE, as_it_is, tidy
from rosenblatt.show.scene import Line, Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ARROW = 0.13  # of the width of the picture


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


def draw_points(ax: Axes, scene: Scene, rings: bool = True) -> list[Any]:
    """○ for yes, × for no; a ring around each mistake."""
    size = float(np.clip(40 * np.sqrt(150 / max(len(scene.points), 1)), 7, 40))
    yes, (no_name, yes_name) = scene.answers > 0, scene.facts.labels
    width = float(np.clip(size / 26, 0.7, 1.5))
    look: dict[str, Any] = {"s": size, "linewidths": width, "zorder": 3}
    marks = [
        ax.scatter(
            *scene.points[yes].T,
            marker="o",
            facecolors="none",
            edgecolors=YES,
            label=as_it_is(yes_name),
            **look,
        ),
        ax.scatter(*scene.points[~yes].T, marker="x", color=NO, label=as_it_is(no_name), **look),
    ]
    if rings and scene.wrong.any():
        ring = {**look, "s": 4.2 * size, "linewidths": 0.8, "zorder": 4}
        marks.append(
            ax.scatter(
                *scene.points[scene.wrong].T,
                facecolors="none",
                edgecolors=INK,
                label="mistake",
                **ring,
            )
        )
    return marks


def draw_sides(ax: Axes, line: Line, box: Polygon) -> None:
    """Both half-planes in pale colours; nothing where every score is zero."""
    if not (line.size or line.c):
        return
    for sign, colour in ((1, YES_SIDE), (-1, NO_SIDE)):
        part = line.side(box, 0.0, sign)
        if len(part) > 2:
            ax.fill(*zip(*part, strict=True), color=colour, linewidth=0, zorder=0)


def draw_band(ax: Axes, line: Line, box: Polygon, margin: float) -> None:
    """The band around the line that no example is in: white, with dotted edges."""
    for sign in (1, -1):
        edge = Line(sign * line.a, sign * line.b, sign * line.c - margin * line.size)
        part = line.side(Line(-edge.a, -edge.b, -edge.c).side(box, 0.0), 0.0, sign)
        if len(part) > 2:
            ax.fill(*zip(*part, strict=True), color="white", alpha=0.65, linewidth=0, zorder=0.5)
        draw_line(ax, edge, box, linewidth=0.9, linestyle=(0, (1, 2)))


def draw_line(ax: Axes, line: Line, box: Polygon, **look: Any) -> Any:
    """The line as far as the box goes; nothing where it passes by."""
    ends = line.ends(box)
    if not ends:
        return None
    look = {"color": INK, "linewidth": 1.6, "zorder": 2, "solid_capstyle": "butt", **look}
    return ax.plot(*zip(*ends, strict=True), **look)[0]


def draw_arrow(ax: Axes, line: Line, box: Polygon, name: str = "w", **look: Any) -> None:
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

        ax.annotate(
            name,
            foot + 1.28 * tip,
            ha="center",
            va="center",
            fontsize=10,
            fontweight="bold",
            color=look["color"],
            path_effects=[withStroke(linewidth=3, foreground="white")],
            zorder=5,
        )
