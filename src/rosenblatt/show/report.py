"""The report: one self-contained page with the verdict, the weights and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from rosenblatt.examples import Examples
from rosenblatt.model import Model
from rosenblatt.show import svg
from rosenblatt.show.strength import Strength

MOST = 40
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;
color:#1a1a1a;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.2rem .6rem .2rem 0;
vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums}
.bar{display:inline-block;height:.8em;border-radius:2px}.yes{background:#1b7f5c}
.no{background:#c2452d}svg{width:100%;height:auto}figcaption{color:#555;font-size:.9rem}
@media (prefers-color-scheme:dark){body{background:#16181c;color:#e6e6e6}figcaption{color:#aaa}}
"""


def report(
    model: Model, examples: Examples, ranked: Sequence[Strength], facts: Sequence[tuple[str, str]]
) -> str:
    """A page that needs no network: what was found, the weights, the scores of all rows.

    Parameters
    ----------
    model : Model
        What was learnt.
    examples : Examples
        The rows it was learnt from.
    ranked : sequence of Strength
        The features, strongest first.
    facts : sequence of (name, sentence)
        What was found, in order.
    """
    no, yes = (escape(str(label)) for label in model.classes_.tolist())
    parts = [
        f"<h1>Answering {escape(model.answers.column or 'rows')}: {no} or {yes}</h1>",
        _facts(facts),
        "<h2>How far rows are from the line</h2>",
        _figure(svg.scores(model, examples), f"Scores of all rows: left of 0 {no}, right {yes}."),
    ]
    if examples.d == 2 and not examples.is_sparse:
        parts += ["<h2>The line</h2>", _figure(svg.plane(model, examples), "Each dot is a row.")]
    parts += ["<h2>Weights</h2>", _weights(ranked, (no, yes)), _rule(model, yes)]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>rosenblatt report</title><style>{STYLE}</style></head>\n<body>\n{body}\n"
        "</body></html>\n"
    )


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in facts
    )
    return f"<table>{rows}</table>"


def _figure(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


def _weights(ranked: Sequence[Strength], labels: tuple[str, str]) -> str:
    largest = max((abs(s.strength) for s in ranked), default=0.0) or 1.0
    rows = [
        "<tr><th>feature</th><th>weight</th><th>for</th>"
        "<th>a typical change moves the score by</th></tr>"
    ]
    for s in ranked[:MOST]:
        side = "yes" if s.weight > 0 else "no"
        width = 100 * abs(s.strength) / largest
        rows.append(
            f'<tr><td>{escape(s.feature)}</td><td class="n">{s.weight:.6g}</td>'
            f"<td>{labels[int(s.weight > 0)] if s.weight else ''}</td>"
            f'<td><span class="bar {side}" style="width:{width:.1f}px"></span> '
            f"{s.strength:+.3g}</td></tr>"
        )
    left = len(ranked) - MOST
    more = f"<p>… and {left:,} more in the model file.</p>" if left > 0 else ""
    return f"<table>{''.join(rows)}</table>{more}"


def _rule(model: Model, yes: str) -> str:
    threshold = np.format_float_positional(model.hypothesis.threshold, precision=6, trim="-")
    return f"<p>The answer is {yes} if the sum of weight × value is above {threshold}.</p>"
