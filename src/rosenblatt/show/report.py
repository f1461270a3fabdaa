"""The report: one self-contained page with the verdict, the run to play, weights and mistakes.

What it looks like is in ``report.html.j2``; its pictures are drawn by the player's modules.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
from numpy.typing import NDArray

from rosenblatt.evidence.separability import separability_of
from rosenblatt.evidence.verdicts import Separability, verdict_lines
from rosenblatt.examples import Examples, JointExamples
from rosenblatt.files import write_text
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.pipelines import final
from rosenblatt.rownames import FROM_ZERO, RowNames
from rosenblatt.scaling import Strength, strengths, thresholds_of
from rosenblatt.show.fitted import examples_of, hypothesis_of, story_of
from rosenblatt.show.page.assets import player_script, player_style
from rosenblatt.show.scene import DRAWABLE, Scene, clearances, scene_of
from rosenblatt.show.story import Story, excerpt
from rosenblatt.trace import Trace
from rosenblatt.words import (
    PROVES,
    PROVES_OF_LABELS,
    confused,
    counted,
    listed,
    rule_sentence,
    shown,
    whole,
)

if TYPE_CHECKING:
    from rosenblatt.accuracy import Accuracy
    from rosenblatt.solve import Result

GENERATOR = '<meta name="generator" content="rosenblatt">'  # by which it is known as ours
MOST_FEATURES = 40
MARKS = "×○△□◆"  # of labels in a picture
MOST_TOLD = 30  # labels one by one
MOST_MISTAKES = 50
SOME_FEATURES = 6
LONGEST_PROOF = 200_000  # letters
BARS = 40  # an even number: none reaches over 0, where mistakes begin


@dataclass(frozen=True)
class Report:
    """A page that needs no server and no network.

    Parameters
    ----------
    html : str
        All of it.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]
    >>> page = rb.report(rb.Perceptron().fit(X, y), X, y)
    >>> page.html.startswith("<!doctype html>"), "separable" in page.html
    (True, True)
    """

    html: str

    def save(self, path: str | Path) -> None:
        """Write the page, whole or not at all.

        Parameters
        ----------
        path : path
            Where to; any browser opens it.
        """
        write_text(path, self.html)

    def __repr__(self) -> str:
        return f"<Report: {len(self.html) // 1000:,} kB of HTML; save(path) writes it>"

    def _repr_html_(self) -> str:
        inside = escape(self.html, quote=True)
        return (
            f'<iframe title="rosenblatt report" srcdoc="{inside}" width="100%" height="900" '
            'style="border:0"></iframe>'
        )

    @classmethod
    def of(cls, result: Result) -> Report:
        """The report of what `rosenblatt.learn` found.

        Parameters
        ----------
        result : Result
            All that it tells.
        """
        data, o, answer = result.data, result.outcome, result.decided.answer
        assert o.learnt_from is not None
        # Multipliers that sum to 0 do so on scaled columns too; a line does not stay the same.
        blocked = None if answer or answer.proof is None else replace(answer, weights=None)
        story = Story(o.learnt_from, o.run, o.widest or blocked, *o.played)
        labels = listed(result.labels, joint="or")
        title = f"Answering {data.plan.answers.column or 'rows'}: {labels}"
        known = answer, story, data.row_names(), result.accuracy
        return _page(Findings(title, result.facts(), data.examples, result.hypothesis, *known))


def report(clf: Any, X: Any, y: Any) -> Report:
    """One self-contained page about a fitted estimator and its examples.

    It has the verdict and what it proves, the run to be played correction by correction, the
    squeeze of the convergence proof, the margins, the weights and the mistakes. Of very many
    examples or corrections it carries a part, and says so.

    Parameters
    ----------
    clf : Perceptron, PocketPerceptron, FewestMistakes, any linear classifier, or a Pipeline
        Fitted; of a pipeline the last step, on what the others make of X.
    X : array, sparse matrix or frame of shape (n, d)
        What it was fitted on; the run is left out where X is something else.
    y : sequence of n answers
        The answers.

    Returns
    -------
    Report
        With `save(path)`; a notebook shows it in place.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]
    >>> rb.report(rb.PocketPerceptron(random_state=0).fit(X, y), X, y)  # doctest: +ELLIPSIS
    <Report: ... kB of HTML; save(path) writes it>
    """
    examples, h = examples_of(clf, X, y), hypothesis_of(clf)
    names = RowNames.of(X)
    verdict = replace(separability_of(examples), row_names=names)
    mistakes = counted(len(h.mistakes(examples)), "mistake")
    first, *more = verdict_lines(verdict)
    proved = [("verdict", first), *(("", line) for line in more)]
    facts = [*proved, ("found", f"{mistakes} on {counted(examples.n, 'example')}")]
    last, story = final(clf), None
    if hasattr(last, "result_"):
        facts.append(("searched", str(last.result_)))
    if isinstance(getattr(last, "trace_", None), Trace):
        try:
            story = story_of(clf, X, y, verdict)
            made = counted(len(last.trace_), "correction")
            facts.insert(len(proved), ("learnt", f"{made} by {type(last).__name__}"))
        except ValueError as why:
            facts.append(("the run", f"is not shown: {why}"))
    labels = listed(examples.label_names, joint="or")
    return _page(Findings(f"Answering {labels}", facts, examples, h, verdict, story, names))


@dataclass(frozen=True, eq=False)
class Findings:
    """What is known of a line and its examples."""

    title: str
    facts: Sequence[tuple[str, str]]  # what was found, in order: a name and a sentence
    examples: Examples  # in the values of the data
    hypothesis: Hypothesis
    verdict: Separability | None = None
    story: Story | None = None  # the run, on the values it learnt from
    names: RowNames = FROM_ZERO  # what the examples are called
    accuracy: Accuracy | None = None  # on rows that were not learnt from


def _page(found: Findings) -> Report:
    """The page, from the template."""
    examples, h = found.examples, found.hypothesis
    many = isinstance(examples, JointExamples)
    labels = examples.label_names
    proof = None if found.verdict is None else found.verdict.proof
    story, cuts = _played(found)
    scene, undrawn = _drawn(examples, h)
    wrong, wide = h.mistakes(examples), len(labels) if many else 1
    ranked = strengths(h, examples, labels)
    strongest = _strongest(ranked)
    features = list(strongest)[:SOME_FEATURES]
    page = _template().render(
        found=found,
        labels=labels,
        many=many,
        generator=GENERATOR,
        style=player_style(),
        script=player_script("report.js"),
        proves=PROVES_OF_LABELS if many else PROVES,
        proof=proof.to_json() if proof is not None else "",
        longest_proof=LONGEST_PROOF,
        most_told=MOST_TOLD,
        confused=confused(found.accuracy.confusion, labels) if found.accuracy else "",
        story=story,
        cuts=cuts,
        **_squeezed(found, story),
        scene=scene,
        undrawn=undrawn,
        marks=[f"{mark} {label}" for mark, label in zip(MARKS, labels, strict=False)],
        margins=_margins(clearances(h, examples), np.ones(examples.n) if many else examples.y),
        strengths=ranked,
        largest=max(strongest.values(), default=0.0) or 1.0,
        most_features=max(SOME_FEATURES, MOST_FEATURES // wide),
        thresholds=thresholds_of(h) if many else [],
        rule="" if many else rule_sentence(labels[1], h.threshold),
        wrong=len(wrong),
        columns=features,
        mistakes=list(_mistakes(found, wrong, features, labels)),
    )
    # Names may hold anything: what turns text around is shown, as on a terminal.
    return Report(shown(page, "\n\t"))


def _squeezed(found: Findings, story: dict[str, Any] | None) -> dict[str, Any]:
    """How many corrections were made, and the most that can be where a squeeze shows it."""
    made = 0 if found.story is None else len(found.story.run.trace)
    squeeze = None if story is None or any(story["start"]) else story["squeeze"]
    known = made and squeeze is not None and squeeze["bound"] is not None
    return {"made": made, "most": whole(squeeze["bound"]) if squeeze and known else None}


def _drawn(examples: Examples, h: Hypothesis) -> tuple[Scene | None, str]:
    """The examples with the line or the regions, or why they are in no picture."""
    try:
        return scene_of(examples, h), ""
    except ValueError as why:
        return None, str(why)


def _strongest(ranked: Sequence[Sequence[Strength]]) -> dict[str, float]:
    """What a typical change of each feature moves a score by at the most, the largest first."""
    best: dict[str, float] = {}
    for s in (s for each in ranked for s in each):
        best[s.feature] = max(best.get(s.feature, 0.0), abs(s.strength))
    return dict(sorted(best.items(), key=lambda pair: -pair[1]))


def _played(found: Findings) -> tuple[dict[str, Any] | None, list[str]]:
    """The run as the player takes it and what is left out, where there is a plane to see it in."""
    if found.story is None or not DRAWABLE[0] < found.story.examples.largest < DRAWABLE[1]:
        return None, []
    try:
        story, cuts = excerpt(found.story, names=found.names)
    except ValueError:  # labels that are too many, or in no plane
        return None, []
    return story, [*_changed(found.story, found.examples), *cuts, *_projected(found.story)]


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    environment.filters |= {"grouped": "{:,}".format, "counted": counted}
    return environment.from_string(files(__package__).joinpath("report.html.j2").read_text("utf-8"))


def _changed(story: Story, examples: Examples) -> Iterator[str]:
    """Whether the run learnt from other values than those of the data."""
    one, other = story.examples.X, examples.X
    sparse = story.examples.is_sparse
    if one is not other and (
        bool((one != other).nnz) if sparse else not np.array_equal(one, other)
    ):
        yield "Columns are shown as they were learnt from, brought to one scale."


def _projected(story: Story) -> Iterator[str]:
    if story.examples.d > 2 and isinstance(story.examples, JointExamples):
        yield (
            f"The picture is a projection of {story.examples.d:,} features on the plane in which "
            "the weights that were kept differ. Their regions are exact; others are drawn where "
            "they cut this plane, and rings tell mistakes by all features."
        )
    elif story.examples.d > 2:
        yield (
            f"The picture is a projection of {story.examples.d:,} features: on the w that was "
            "kept, against the first remaining principal direction. Its line is exact there; other "
            "lines are drawn where they cut this plane, and rings tell mistakes by all features."
        )


def _margins(away: NDArray[np.float64], y: NDArray[Any]) -> dict[str, Any]:
    """How many examples of either answer are how far on their right side, in shares of `far`."""
    away = np.nan_to_num(away, posinf=0.0)  # where no rival is ever ahead
    far = float(np.percentile(np.abs(away), 99.5, method="higher")) or 1.0
    share, edges = np.clip(away / far, -1, 1), np.linspace(-1, 1, BARS + 1)
    no, yes = (np.histogram(share[y == sign], edges)[0].tolist() for sign in (-1, 1))
    return {"no": no, "yes": yes, "far": f"{far:.3g}"}


def _mistakes(
    found: Findings, wrong: NDArray[np.intp], features: list[str], labels: list[str]
) -> Iterator[dict[str, Any]]:
    """The examples answered wrongly, the farthest first: how, and their strongest features."""
    examples, h = found.examples, found.hypothesis
    names = examples.feature_names
    columns = [1 + names.index(name) for name in features]
    off = np.abs(clearances(h, examples.some(wrong)))
    for k in np.argsort(-off, kind="stable")[:MOST_MISTAKES].tolist():
        n = int(wrong[k])
        row, tall = examples.X[[n]], examples.tall_row(n)
        yield {
            "number": found.names.called(n),
            "label": labels[int(examples.places[n])],
            "answered": _answered(h, row, examples.places[n], labels),
            "off": float(off[k]),
            "cells": [float(tall[i]) for i in columns],
        }


def _answered(h: Hypothesis, row: Any, place: Any, labels: list[str]) -> str:
    """What a row is answered with; a mistake without an answer is so called."""
    answer = int(h.answers(row)[0])
    if h.w.ndim > 1:
        return labels[answer] if answer != place else "a tie"
    return "on the line" if h.zero == 0 and not h.sides(row)[0] else labels[int(answer > 0)]
