"""Tables and bars for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from rosenblatt.algorithms.scaling import Strength
from rosenblatt.words import shown

EIGHTHS = " ▏▎▍▌▋▊▉█"
BAR = 24


def bar(share: float, width: int = BAR) -> str:
    """A bar of a share of the width, to an eighth of a character where the terminal can.

    Examples
    --------
    >>> len(bar(0.5, width=4))
    2
    """
    share = min(max(share, 0.0), 1.0)
    if not _draws_blocks():
        return "#" * round(share * width)
    eighths = round(share * width * 8)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def weights_table(strengths: Sequence[Strength], labels: Sequence[Any], most: int) -> Table:
    """The strongest features with their weights, the strongest first; labels are no and yes."""
    largest = max((abs(s.strength) for s in strengths), default=0.0) or 1.0
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("feature", overflow="ellipsis", no_wrap=True, max_width=36)
    table.add_column("weight", justify="right", no_wrap=True)
    table.add_column("for", no_wrap=True)
    table.add_column("a typical change moves the score by", no_wrap=True)
    for s in strengths[:most]:
        towards = str(labels[int(s.weight > 0)]) if s.weight else ""
        colour = "green" if s.weight > 0 else "red"
        drawn = Text(bar(abs(s.strength) / largest), style=colour)
        drawn.append(f" {s.strength:+.3g}", style="dim")
        table.add_row(Text(shown(s.feature)), f"{s.weight:.6g}", Text(shown(towards)), drawn)
    return table


def histogram(values: NDArray[Any], bins: int = 12) -> Table:
    """How often values fall in about so many ranges, as bars."""
    counts, edges = np.histogram(values, bins=whole_edges(values, bins))
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True):
        last = int(high) - 1
        name = f"{int(low):,}" if last <= low else f"{int(low):,}–{last:,}"
        drawn = Text(bar(count / max(counts.max(), 1), 40), style="cyan")
        drawn.append(f" {count}", style="dim")
        table.add_row(name, drawn)
    return table


def whole_edges(values: NDArray[Any], bins: int) -> NDArray[np.float64]:
    """Edges of ranges of whole numbers, from the least to the 90th percentile, and the rest.

    Examples
    --------
    >>> whole_edges(np.array([1, 2, 3, 4]), 2)
    array([1., 3., 5.])
    """
    low, high = int(np.min(values)), int(np.max(values)) + 1
    top = int(np.percentile(values, 90)) + 1
    step = max(1, -(-(top - low) // bins))
    edges = np.arange(low, top + step, step, dtype=np.float64)
    edges[-1] = max(edges[-1], low + 1)
    if edges[-1] < high:
        edges = np.append(edges, high)
    return edges


def _draws_blocks() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"  # none: text kept in memory
    try:
        EIGHTHS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
