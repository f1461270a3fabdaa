"""Small pictures as SVG text: the scores of rows, and the line in the plane."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from rosenblatt.examples import Examples
from rosenblatt.model import Model

WIDTH, HEIGHT, EDGE = 640, 240, 28
YES, NO = "#1b7f5c", "#c2452d"
DOTS = 2000  # more rows than this are drawn from a sample


def scores(model: Model, examples: Examples) -> str:
    """A histogram of the scores, rows of the two answers in two colours.

    Parameters
    ----------
    model : Model
        What scores the rows.
    examples : Examples
        The rows.
    """
    s = model.hypothesis.scores(examples.X)
    top = float(np.percentile(np.abs(s), 99.5)) or 1.0
    s = np.clip(s, -top, top)
    edges = np.linspace(-top, top, 41)
    counts = {sign: np.histogram(s[examples.y == sign], edges)[0] for sign in (-1, 1)}
    highest = max(1, int((counts[-1] + counts[1]).max()))
    bars, step = [], (WIDTH - 2 * EDGE) / 40
    for k in range(40):
        floor = HEIGHT - EDGE
        for sign, colour in ((-1, NO), (1, YES)):
            height = (HEIGHT - 2 * EDGE) * counts[sign][k] / highest
            floor -= height
            if height:
                bars.append(
                    f'<rect x="{EDGE + k * step:.1f}" y="{floor:.1f}" width="{step - 1:.1f}" '
                    f'height="{height:.1f}" fill="{colour}"/>'
                )
    middle = WIDTH / 2
    axis = (
        f'<line x1="{middle}" x2="{middle}" y1="{EDGE / 2}" y2="{HEIGHT - EDGE}" '
        'stroke="currentColor" stroke-dasharray="4 3"/>'
    )
    marks = _text(middle, HEIGHT - 8, "0") + _text(EDGE, HEIGHT - 8, f"{-top:.3g}")
    marks += _text(WIDTH - EDGE, HEIGHT - 8, f"{top:.3g}")
    return _picture(HEIGHT, "Scores of all rows", "".join(bars) + axis + marks)


def plane(model: Model, examples: Examples) -> str:
    """The rows as dots in the plane of two features, and the line between the answers.

    Parameters
    ----------
    model : Model
        With two features.
    examples : Examples
        The rows.
    """
    X, y = examples.X, examples.y
    if len(X) > DOTS:
        chosen = np.random.default_rng(0).choice(len(X), DOTS, replace=False)
        X, y = X[chosen], y[chosen]
    low, high = X.min(axis=0), X.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    size = WIDTH - 2 * EDGE
    at = EDGE + size * (X - low) / span
    dots = "".join(
        f'<circle cx="{a:.1f}" cy="{WIDTH - b:.1f}" r="3.5" fill="{YES if sign > 0 else NO}" '
        'fill-opacity="0.7"/>'
        for (a, b), sign in zip(at, y, strict=True)
    )
    names = model.feature_names_
    labels = _text(WIDTH / 2, WIDTH - 6, names[0]) + _text(EDGE, 16, names[1])
    return _picture(WIDTH, "The rows and the line", dots + _line(model, low, span, size) + labels)


def _line(model: Model, low: NDArray[np.float64], span: NDArray[np.float64], size: float) -> str:
    """The part of a·x1 + b·x2 + c = 0 inside the picture, in units of the picture."""
    a, b, c = model.hypothesis.line()
    c, a, b = c + a * low[0] + b * low[1], a * span[0], b * span[1]
    ends = []
    if b:
        ends += [(u, -(c + a * u) / b) for u in (0.0, 1.0)]
    if a:
        ends += [(-(c + b * v) / a, v) for v in (0.0, 1.0)]
    inside = sorted({(u, v) for u, v in ends if -1e-9 <= u <= 1 + 1e-9 and -1e-9 <= v <= 1 + 1e-9})
    if len(inside) < 2:
        return ""
    (u1, v1), (u2, v2) = inside[0], inside[-1]
    return (
        f'<line x1="{EDGE + size * u1:.1f}" y1="{WIDTH - EDGE - size * v1:.1f}" '
        f'x2="{EDGE + size * u2:.1f}" y2="{WIDTH - EDGE - size * v2:.1f}" '
        'stroke="currentColor" stroke-width="2"/>'
    )


def _text(x: float, y: float, text: str) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="13" text-anchor="middle" '
        f'fill="currentColor">{escape(text)}</text>'
    )


def _picture(height: float, title: str, content: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}">'
        f"<title>{title}</title>{content}</svg>"
    )
