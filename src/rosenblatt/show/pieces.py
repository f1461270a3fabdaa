"""The pieces of a report, each a heading and what is under it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html import escape

import numpy as np

from rosenblatt.algorithms.scaling import strengths
from rosenblatt.evidence.guarantee import squeeze as squeeze_of
from rosenblatt.show import svg
from rosenblatt.show.excerpt import excerpt
from rosenblatt.show.findings import PROVES, Findings
from rosenblatt.show.play import embedded
from rosenblatt.show.scene import distances, scene_of
from rosenblatt.words import counted

MOST_FEATURES = 40
MOST_MISTAKES = 50
SOME_FEATURES = 6
MOST_SQUEEZED = 1_000_000  # corrections
LONGEST_PROOF = 200_000  # letters


def facts(found: Findings) -> str:
    """What was found, a line each."""
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>'
        for name, text in found.facts
    )
    return f"<table>{rows}</table>"


def tested(found: Findings) -> Iterator[str]:
    """The rows that were not learnt from: right and wrong by class."""
    if found.accuracy is None:
        return
    head = "".join(
        f'<th scope="col" class="n">answered {escape(name)}</th>' for name in found.labels
    )
    lines = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f'<td class="n">{count:,}</td>' for count in counts)
        + "</tr>"
        for name, counts in zip(found.labels, found.accuracy.confusion, strict=True)
    )
    yield "<h2>Rows not learnt from, right and wrong by class</h2>"
    yield f"<table><tr><td></td>{head}</tr>{lines}</table>"


def proof(found: Findings) -> Iterator[str]:
    """What the verdict proves, and the proof itself."""
    if found.verdict is None:
        return
    yield f"<p>{escape(PROVES[found.verdict.verdict])}</p>"
    if found.verdict.proof is None:
        return
    text = found.verdict.proof.to_json()
    if len(text) > LONGEST_PROOF:
        yield f'<p class="note">The proof has {len(text):,} letters and is left out here.</p>'
        return
    yield (
        "<details><summary>The proof, for anyone to check</summary>"
        "<p>In Python: <code>rosenblatt.Proof.from_json(text).check(X, y)</code>. Whole numbers "
        f"are hexadecimal, so nothing is rounded.</p><pre>{escape(text)}</pre></details>"
    )


def run(found: Findings) -> Iterator[str]:
    """The player, with as much of the run as there is room for."""
    if found.story is None or not _drawable(found):
        return
    yield "<h2>The run, correction by correction</h2>"
    story, cuts = excerpt(found.story, numbers=found.rows)
    if found.story.examples.X is not found.examples.X and _values_differ(found):
        cuts.insert(0, "Columns are shown as they were learnt from, brought to one scale.")
    if found.story.plane is not None and found.examples.d > 1:
        cuts.append(
            f"The picture is a projection of {found.examples.d:,} features: on the w that was "
            "kept, against the first remaining principal direction. Its line is exact there; other "
            "lines are drawn where they cut this plane, and rings tell mistakes by all features."
        )
    if cuts:
        yield f'<p class="note">{escape(" ".join(cuts))}</p>'
    yield embedded(story)


def line(found: Findings) -> Iterator[str]:
    """The examples and the line."""
    try:
        scene = scene_of(found.examples, found.hypothesis)
    except ValueError as why:
        yield f'<p class="note">The examples are not drawn: {escape(str(why))}</p>'
        return
    drawn = len(scene.points)
    part = "" if drawn == found.examples.n else f" {drawn:,} of {found.examples.n:,} are drawn."
    no, yes = (escape(label) for label in found.labels)
    caption = f"○ is {yes}, × is {no}; mistakes are ringed.{part}"
    yield "<h2>The line</h2>"
    yield _figure(svg.plane(scene), caption)


def squeeze(found: Findings) -> Iterator[str]:
    """The two inequalities of the convergence proof along the run."""
    story = found.story
    if story is None or not _drawable(found):
        return
    if not story.verdict or story.verdict.weights is None:
        return
    trace = story.run.trace
    if len(trace) == 0 or trace.known_origin().start.any():
        return
    few = replace(trace, examples=trace.examples[:MOST_SQUEEZED])
    followed = squeeze_of(few, story.verdict.weights)
    ends = followed.inner_least[1] ** 2, followed.squared_most[-1]
    if not (ends[0] > 0 and np.isfinite(ends).all() and (followed.squared[1:] > 0).all()):
        return  # numbers too extreme to be drawn
    made, bound = len(trace), story.verdict.bound
    most = f"{bound:,.0f}" if bound is not None and np.isfinite(bound) else "beyond all numbers"
    yield "<h2>The squeeze</h2>"
    yield _figure(
        svg.squeezed(followed, bound),
        f"‖w(t)‖² lies between t²·ρ² and t·R², which meet at R²/ρ² = {most}: no run can make more "
        f"corrections. This one made {made:,}"
        + (f", of which the first {len(few):,} are drawn." if len(few) < made else "."),
    )


def margins(found: Findings) -> Iterator[str]:
    """How far the examples are on their right side."""
    no, yes = (escape(label) for label in found.labels)
    yield "<h2>Margins</h2>"
    yield _figure(
        svg.margins(found.hypothesis, found.examples),
        "How far examples are from the line, on their right side; left of 0 are mistakes. "
        f'<span class="bar yes" style="width:.7em"></span> {yes} '
        f'<span class="bar no" style="width:.7em"></span> {no}',
    )


def weights(found: Findings) -> Iterator[str]:
    """The features, strongest first, and the rule."""
    ranked = strengths(found.hypothesis, found.examples)
    largest = max((abs(s.strength) for s in ranked), default=0.0) or 1.0
    labels = [escape(label) for label in found.labels]
    rows = [
        '<tr><th scope="col">feature</th><th scope="col" class="n">weight</th><th scope="col">for'
        '</th><th scope="col">a typical change moves the score by</th></tr>'
    ]
    for s in ranked[:MOST_FEATURES]:
        side = "yes" if s.weight > 0 else "no"
        width = 100 * abs(s.strength) / largest
        rows.append(
            f'<tr><td>{escape(s.feature)}</td><td class="n">{s.weight:.6g}</td>'
            f"<td>{labels[int(s.weight > 0)] if s.weight else ''}</td>"
            f'<td><span class="bar {side}" style="width:{width:.1f}px"></span> '
            f"{s.strength:+.3g}</td></tr>"
        )
    yield "<h2>Weights</h2>"
    yield f'<div class="wide"><table>{"".join(rows)}</table></div>'
    if len(ranked) > MOST_FEATURES:
        yield f'<p class="note">… and {len(ranked) - MOST_FEATURES:,} more.</p>'
    threshold = np.format_float_positional(found.hypothesis.threshold + 0.0, precision=6, trim="-")
    yield f"<p>The answer is {labels[1]} if the sum of weight × value is above {threshold}.</p>"


def mistakes(found: Findings) -> Iterator[str]:
    """The examples answered wrongly, the farthest first."""
    examples, h = found.examples, found.hypothesis
    wrong = h.mistakes(examples)
    yield "<h2>Mistakes</h2>"
    if len(wrong) == 0:
        yield f"<p>None: the line answers all {counted(examples.n, 'example')} rightly.</p>"
        return
    off = np.abs(distances(h, examples.X[wrong]))
    farthest = np.argsort(-off, kind="stable")[:MOST_MISTAKES]
    told = f"{len(wrong):,} of {examples.n:,} examples"
    if len(wrong) > len(farthest):
        told += f"; the {len(farthest)} farthest on the wrong side are shown"
    yield f'<p class="note">{told}. Examples are counted from 1.</p>'
    rows = "".join(_mistaken(found, wrong[farthest].tolist(), off[farthest].tolist()))
    yield f'<div class="wide"><table>{rows}</table></div>'


def _mistaken(found: Findings, rows: list[int], off: list[float]) -> Iterator[str]:
    """A line for each example: what it is, how it is answered, and its strongest features."""
    examples = found.examples
    ranked = strengths(found.hypothesis, examples)[:SOME_FEATURES]
    names = examples.names or tuple(f"x{i}" for i in range(1, examples.d + 1))
    columns = [names.index(s.feature) for s in ranked]
    head = "".join(f'<th scope="col" class="n">{escape(s.feature)}</th>' for s in ranked)
    yield (
        '<tr><th scope="col" class="n">example</th><th scope="col">is</th><th scope="col">answered'
        f'</th><th scope="col" class="n">off by</th>{head}</tr>'
    )
    for n, far in zip(rows, off, strict=True):
        x = examples.tall_row(n)[1:]
        label = found.labels[int(examples.y[n] > 0)]
        cells = "".join(f'<td class="n">{x[k]:.6g}</td>' for k in columns)
        yield (
            f'<tr><td class="n">{found.number(n):,}</td><td>{escape(label)}</td>'
            f'<td>{escape(_answered(found, n))}</td><td class="n">{far:.3g}</td>{cells}</tr>'
        )


def _answered(found: Findings, n: int) -> str:
    """What the line says of an example; on the line it says nothing where that is a mistake."""
    h = found.hypothesis
    if h.zero == 0 and not h.sides(found.examples.X[[n]])[0]:
        return "on the line"
    return found.labels[int(h.answers(found.examples.X[[n]])[0] > 0)]


def _figure(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


def _drawable(found: Findings) -> bool:
    story = found.story
    return story is not None and 1e-150 < story.examples.largest < 1e150


def _values_differ(found: Findings) -> bool:
    """Whether the run learnt from other values than those of the data."""
    assert found.story is not None
    one, other = found.story.examples, found.examples
    if one.is_sparse:
        return bool((one.X != other.X).nnz)
    return not np.array_equal(one.X, other.X)
