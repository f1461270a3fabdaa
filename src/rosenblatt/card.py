"""A card: a few facts as a small piece of HTML that suits light and dark notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

BOX = (
    "display:inline-block;max-width:44em;padding:.5em .9em;border-radius:6px;"
    "border:1px solid rgba(128,128,128,.45);font-family:system-ui,sans-serif;line-height:1.45"
)
CELL = "padding:.05em 1em .05em 0;text-align:left;vertical-align:top;background:none"
MOST_BARS = 60


def card(title: str, facts: Iterable[tuple[str, str]], below: str = "") -> str:
    """A title and facts in two columns, all text escaped, above a piece of HTML.

    A fact without a name takes the whole line.

    Examples
    --------
    >>> "&lt;b&gt;" in card("Trace", [("corrections", "<b>")])
    True
    """
    rows = "".join(f'<tr style="background:none">{_cells(*fact)}</tr>' for fact in facts)
    table = f'<table style="border-collapse:collapse;border:0;margin:.2em 0 0">{rows}</table>'
    return f'<div style="{BOX}"><strong>{escape(title)}</strong>{table}{below}</div>'


def _cells(name: str, text: str) -> str:
    if not name:
        return f'<td colspan="2" style="{CELL}">{escape(text)}</td>'
    head = f'<th style="{CELL};font-weight:500;opacity:.75">{escape(name)}</th>'
    return f'{head}<td style="{CELL};overflow-wrap:anywhere">{escape(text)}</td>'


def bars(counts: Sequence[int], name: str) -> str:
    """A small bar for each number; neighbours are added up where there are more than sixty."""
    step = -(-len(counts) // MOST_BARS) or 1
    sums = [sum(counts[i : i + step]) for i in range(0, len(counts), step)]
    highest = max([*sums, 1])
    drawn = "".join(
        f'<rect x="{4 * k}" y="{24 - 24 * s / highest:.1f}" width="3" '
        f'height="{24 * s / highest:.1f}"/>'
        for k, s in enumerate(sums)
    )
    width = 4 * len(sums)
    return (
        f'<svg viewBox="0 0 {width} 24" width="{width}" height="24" role="img" '
        f'aria-label="{escape(name)}" fill="currentColor" style="opacity:.75;display:block">'
        f"<title>{escape(name)}</title>{drawn}</svg>"
    )
