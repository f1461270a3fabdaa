"""The paper all Displays draw on: colours that differ in grey too, axes without junk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.words import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, PALE = "#222222", "#8a8a8a"
YES, NO = "#0072b2", "#d55e00"  # Okabe and Ito's blue and vermilion
YES_SIDE, NO_SIDE = "#d9e8f3", "#fdf1e7"  # differ in grey as well
POCKET = "#117a55"


def plotting() -> Any:
    """Matplotlib's pyplot, or a sentence saying how to get it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "Displays need Matplotlib; install it with: pip install 'rosenblatt[plot]'"
        ) from error
    return pyplot


def sheet(columns: int = 1, rows: int = 1, size: tuple[float, float] = (4.6, 4.6)) -> Any:
    """A new figure of this size and its axes, as an array.

    Parameters
    ----------
    columns, rows : int
        How many axes.
    size : two floats
        Inches of the whole.
    """
    pyplot = plotting()
    figure = pyplot.figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def given_axes(axes: Any, count: int) -> tuple[Figure, list[Axes]]:
    """The axes a person gave, once there are enough of them.

    Parameters
    ----------
    axes : Axes or sequence of Axes
        As many as are to be drawn.
    count : int
        How many that is.
    """
    plotting()
    found = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(found) != count:
        raise ValueError(f"{count} axes are drawn here, but {len(found)} were given.")
    figure = found[0].get_figure()
    return figure, found


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


def legend(figure: Figure, marks: Sequence[Any], columns: int = 4) -> None:
    """A legend below all axes, without a frame."""
    figure.legend(
        handles=list(marks),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=8,
        handletextpad=0.5,
        columnspacing=1.2,
    )


def legend_inside(ax: Axes) -> None:
    """A legend within the axes, where the rest of the figure is somebody else's."""
    ax.legend(fontsize=8, framealpha=0.85, edgecolor="none", handletextpad=0.5)
