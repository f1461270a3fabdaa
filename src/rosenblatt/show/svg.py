"""Small pictures as SVG text: margins, the squeeze, and the line in the plane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import numpy as np

from rosenblatt.evidence.guarantee import Squeeze
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.show.scene import Scene, distances

WIDTH, HEIGHT, EDGE = 640, 240, 30
YES, NO = "var(--yes)", "var(--no)"
BARS = 40  # an even number: none reaches over 0, where mistakes begin
MOST = 400  # moments of a run that are drawn


def margins(h: Hypothesis, examples: Examples) -> str:
    """A histogram of how far rows are on their right side, the two answers in two colours.

    Parameters
    ----------
    h : Hypothesis
        What answers the rows.
    examples : Examples
        The rows.
    """
    away = np.nan_to_num(examples.y * distances(h, examples.X))
    far = float(np.percentile(np.abs(away), 99.5, method="higher")) or 1.0
    share = np.clip(away / far, -1, 1)
    edges = np.linspace(-1, 1, BARS + 1)
    counts = {sign: np.histogram(share[examples.y == sign], edges)[0] for sign in (-1, 1)}
    middle = WIDTH / 2
    axis = _stroke([(middle, EDGE / 2), (middle, HEIGHT - EDGE)], dash="4 3")
    marks = _text(middle, HEIGHT - 8, "0") + _text(EDGE, HEIGHT - 8, f"−{far:.3g}")
    marks += _text(WIDTH - EDGE, HEIGHT - 8, f"{far:.3g}")
    return _picture(HEIGHT, "Margins of all examples", "".join(_bars(counts)) + axis + marks)


def _bars(counts: dict[int, Any]) -> Iterator[str]:
    """Bars of both answers, one on the other."""
    highest = max(1, int((counts[-1] + counts[1]).max()))
    step = (WIDTH - 2 * EDGE) / BARS
    for k in range(BARS):
        floor = float(HEIGHT - EDGE)
        for sign, colour in ((-1, NO), (1, YES)):
            height = (HEIGHT - 2 * EDGE) * counts[sign][k] / highest
            floor -= height
            if height:
                yield (
                    f'<rect x="{EDGE + k * step:.1f}" y="{floor:.1f}" width="{step - 1:.1f}" '
                    f'height="{height:.1f}" fill="{colour}"/>'
                )


def squeezed(squeeze: Squeeze, bound: float | None) -> str:
    """‖w(t)‖² between its two bounds, on logarithmic axes, where both are straight.

    Parameters
    ----------
    squeeze : Squeeze
        Along a run that began at 0, for a w_f of length 1.
    bound : float, optional
        Where the two meet.
    """
    last = len(squeeze.squared) - 1
    end = max(last, 2.0, 1.2 * bound if bound is not None and np.isfinite(bound) else 0.0)
    t = np.unique(np.rint(np.geomspace(1, last, MOST)).astype(int)) if last > MOST else None
    t = np.arange(1, last + 1) if t is None else t
    ends = np.array([1.0, end])
    least, most = (ends * squeeze.inner_least[1]) ** 2, ends * squeeze.squared_most[1]
    low = np.log(min(least[0], squeeze.squared[t].min()))
    high = np.log(max(most[1], least[1]))

    def place(times: Any, values: Any) -> list[tuple[float, float]]:
        x = EDGE + (WIDTH - 2 * EDGE) * np.log(times) / np.log(end)
        y = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (np.log(values) - low) / (high - low)
        return list(zip(x.tolist(), y.tolist(), strict=True))

    parts = [
        _stroke(place(ends, most), colour=NO),
        _stroke(place(ends, least), colour=YES, dash="7 4"),
        _stroke(place(t, squeeze.squared[t]), width=2.5),
        _text(EDGE, HEIGHT - 8, "t = 1"),
    ]
    if bound is not None and 1 < bound < end:
        (x, _), *_ = place(np.array([bound]), most[:1])
        parts.append(_stroke([(x, EDGE / 2), (x, HEIGHT - EDGE)], dash="2 3"))
        parts.append(_text(min(x, WIDTH - 2 * EDGE), HEIGHT - 8, f"R²/ρ² = {bound:,.0f}"))
    middle = np.sqrt(ends[:1] * end)
    for name, colour, values, lift in (
        ("t·R²", NO, middle * squeeze.squared_most[1], -10),
        ("t²·ρ²", YES, (middle * squeeze.inner_least[1]) ** 2, 20),
    ):
        ((x, y),) = place(middle, values)
        parts.append(_text(x, y + lift, name, colour))
    return _picture(HEIGHT, "The squeeze of the convergence proof", "".join(parts))


def plane(scene: Scene) -> str:
    """The rows as ○ and ×, the line between the answers, and a ring around each mistake.

    Parameters
    ----------
    scene : Scene
        What there is to draw.
    """
    height = WIDTH * 0.3 if scene.facts.flat else WIDTH * 0.75
    (left, bottom), _, (right, top), _ = scene.box

    def place(points: Any) -> list[tuple[float, float]]:
        xy = np.asarray(points, dtype=np.float64)
        x = EDGE + (WIDTH - 2 * EDGE) * (xy[:, 0] - left) / (right - left)
        y = height - EDGE - (height - 2 * EDGE) * (xy[:, 1] - bottom) / (top - bottom)
        return list(zip(x.tolist(), y.tolist(), strict=True))

    ends = scene.line.ends(scene.box)
    line = _stroke(place(ends), width=2) if ends else ""
    areas = "".join(
        f'<polygon points="{_way(place(part))}" fill="var(--{name}-area)"/>'
        for sign, name in ((1, "yes"), (-1, "no"))
        if ends and (part := scene.line.side(scene.box, 0.0, sign))
    )
    names = _text(WIDTH / 2, height - 8, scene.facts.names[0])
    if not scene.facts.flat:
        names += _text(EDGE, 18, scene.facts.names[1], anchor="start")
    marks = "".join(_marks(scene, place(scene.points)))
    content = f'{areas}<g stroke-width="1.5">{marks}</g>{line}{names}'
    return _picture(height, "The examples and the line", content)


def _marks(scene: Scene, places: Sequence[tuple[float, float]]) -> Iterator[str]:
    """○ and ×, with a ring around mistakes."""
    r = 4 if len(places) <= 300 else 2.5
    for (x, y), sign, wrong in zip(places, scene.answers, scene.wrong, strict=True):
        at = f'cx="{x:.1f}" cy="{y:.1f}" fill="none"'
        if sign > 0:
            yield f'<circle {at} r="{r}" stroke="{YES}"/>'
        else:
            cross = f"M{x - r:.1f} {y - r:.1f}l{2 * r} {2 * r}m0-{2 * r}l-{2 * r} {2 * r}"
            yield f'<path d="{cross}" fill="none" stroke="{NO}"/>'
        if wrong:
            yield f'<circle {at} r="{r + 4.5}" stroke="currentColor"/>'


def _stroke(
    points: Sequence[tuple[float, float]],
    *,
    colour: str = "currentColor",
    width: float = 1.5,
    dash: str = "",
) -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    look = f'fill="none" stroke="{colour}" stroke-width="{width}"{dashes}'
    return f'<polyline points="{_way(points)}" {look}/>'


def _way(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _text(
    x: float, y: float, text: str, colour: str = "currentColor", *, anchor: str = "middle"
) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="13" text-anchor="{anchor}" '
        f'fill="{colour}">{escape(text)}</text>'
    )


def _picture(height: float, title: str, content: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{title}">'
        f"<title>{title}</title>{content}</svg>"
    )
