"""Create a report: one HTML file with verdict, training, weights and mistakes.

The template is ``report.html.j2``; the pictures are drawn by the player's JavaScript.
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

from rosenblatt.errors import FROM_ZERO, RowNames
from rosenblatt.evidence.separability import separability_of
from rosenblatt.evidence.verdicts import Separability, describe_verdict
from rosenblatt.examples import Examples
from rosenblatt.files import write_text
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.pipelines import final
from rosenblatt.scaling import center_thresholds, rank_features
from rosenblatt.show.browser import bundle, player_style, text_of
from rosenblatt.show.scene import DRAWABLE, clearances, scene_of
from rosenblatt.show.story import Story, examples_of, excerpt, hypothesis_of, story_of
from rosenblatt.text import (
    PROVES,
    PROVES_OF_LABELS,
    describe_confusion,
    describe_rule,
    floor_bound,
    join_words,
    plural,
    sanitize,
)
from rosenblatt.trace import Trace

if TYPE_CHECKING:
    from rosenblatt.accuracy import Accuracy
    from rosenblatt.solve import Result

GENERATOR = '<meta name="generator" content="rosenblatt">'  # marks files that may be overwritten
MOST_FEATURES = 40
MARKS = "×○△□◆"  # marks of the labels in a picture
MOST_LABELS = 30  # labels that get a table of weights
MOST_MISTAKES = 50
SOME_FEATURES = 6
LONGEST_PROOF = 200_000  # characters
BARS = 40  # even, so that no bar contains both sides of 0


@dataclass(frozen=True)
class Report:
    """HTML page about a model and its training data, in one self-contained file.

    Parameters
    ----------
    html : str
        The whole page.

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
        """Write the page to a file.

        Parameters
        ----------
        path : path
            File to write. An existing file is replaced once the new one is complete.
        """
        write_text(path, self.html)

    def __repr__(self) -> str:
        return f"<Report: {len(self.html) // 1000:,} kB of HTML; write it with save(path)>"

    def _repr_html_(self) -> str:
        inside = escape(self.html, quote=True)
        return (
            f'<iframe title="rosenblatt report" srcdoc="{inside}" width="100%" height="900" '
            'style="border:0"></iframe>'
        )

    @classmethod
    def of(cls, result: Result) -> Report:
        """Create a report from a result of `rosenblatt.learn`.

        Parameters
        ----------
        result : Result
            Result to show.
        """
        data, o, decided = result.data, result.outcome, result.decided
        assert o.trained_on is not None
        # Multipliers of a conflict also hold for scaled columns; weights do not.
        blocked = None if decided or decided.proof is None else replace(decided, weights=None)
        story = Story(o.trained_on, o.run, o.widest or blocked, *o.played)
        labels = join_words(result.labels, joint="or")
        title = f"Predicting {data.plan.target.column or 'labels'}: {labels}"
        known = decided, story, data.row_names(), result.accuracy
        return _page(Findings(title, result.facts(), data.examples, o.hypothesis, *known))


def report(clf: Any, X: Any, y: Any) -> Report:
    """Create a self-contained HTML page about a fitted estimator and its data.

    The page shows the verdict and its proof, an animation of the training, the bounds of the
    convergence proof, the margins, the weights and the mistakes. If there are very many examples
    or updates, it shows some of them and says so.

    Parameters
    ----------
    clf : Perceptron, PocketPerceptron, FewestMistakes, any linear classifier, or a Pipeline
        Fitted estimator. For a pipeline, the last step is shown on the transformed X.
    X : array, sparse matrix or frame of shape (n, d)
        Training data. With other data, the page has no animation.
    y : sequence of n labels
        Target labels.

    Returns
    -------
    Report
        The page, which notebooks display; `save(path)` writes it to a file.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]
    >>> rb.report(rb.PocketPerceptron(random_state=0).fit(X, y), X, y)  # doctest: +ELLIPSIS
    <Report: ... kB of HTML; write it with save(path)>
    """
    examples, h = examples_of(clf, X, y), hypothesis_of(clf)
    names = RowNames.of(X)
    verdict = replace(separability_of(examples), row_names=names)
    mistakes = plural(len(h.mistakes(examples)), "mistake")
    first, *more = describe_verdict(verdict)
    proved = [("verdict", first), *(("", line) for line in more)]
    facts = [*proved, ("found", f"{mistakes} on {plural(examples.n, 'example')}")]
    last, story = final(clf), None
    if hasattr(last, "result_"):
        facts.append(("searched", str(last.result_)))
    if isinstance(getattr(last, "trace_", None), Trace):
        try:
            story = story_of(clf, X, y, verdict)
            made = plural(len(last.trace_), "update")
            facts.insert(len(proved), ("trained", f"{made} by {type(last).__name__}"))
        except ValueError as why:
            facts.append(("training", f"not shown: {why}"))
    labels = join_words(examples.label_names, joint="or")
    return _page(Findings(f"Predicting {labels}", facts, examples, h, verdict, story, names))


@dataclass(frozen=True, eq=False)
class Findings:
    """Content of a report: sentences, examples, model, verdict and training."""

    title: str
    facts: Sequence[tuple[str, str]]  # names and sentences, in order
    examples: Examples  # unscaled
    hypothesis: Hypothesis
    verdict: Separability | None = None
    story: Story | None = None  # the training, on the scaled values
    names: RowNames = FROM_ZERO
    accuracy: Accuracy | None = None  # on held-out rows


def _page(found: Findings) -> Report:
    """Fill in the HTML template of the report."""
    examples, h = found.examples, found.hypothesis
    many = examples.multiclass
    labels = examples.label_names
    proof = None if found.verdict is None else found.verdict.proof
    story, cuts = _training_json(found)
    squeeze = None if story is None or any(story["start"]) else story["squeeze"]
    made = 0 if found.story is None else len(found.story.run.trace)
    known = made and squeeze is not None and squeeze["bound"] is not None
    try:
        scene, undrawn = scene_of(examples, h), ""
    except ValueError as why:
        scene, undrawn = None, str(why)
    wrong, wide = h.mistakes(examples), len(labels) if many else 1
    ranked = rank_features(h, examples, labels)
    strongest: dict[str, float] = {}  # over all labels
    for s in (s for each in ranked for s in each):
        strongest[s.feature] = max(strongest.get(s.feature, 0.0), abs(s.strength))
    features = sorted(strongest, key=lambda name: -strongest[name])[:SOME_FEATURES]
    page = _template().render(
        found=found,
        labels=labels,
        many=many,
        generator=GENERATOR,
        style=player_style(),
        script=bundle(text_of("embedded.js")),
        proves=PROVES_OF_LABELS if many else PROVES,
        proof=proof.to_json() if proof is not None else "",
        longest_proof=LONGEST_PROOF,
        most_labels=MOST_LABELS,
        confused=describe_confusion(found.accuracy.confusion, labels) if found.accuracy else "",
        story=story,
        cuts=cuts,
        made=made,
        most=floor_bound(squeeze["bound"]) if squeeze and known else None,
        scene=scene,
        undrawn=undrawn,
        marks=[f"{mark} {label}" for mark, label in zip(MARKS, labels, strict=False)],
        margins=_histograms(clearances(h, examples), np.ones(examples.n) if many else examples.y),
        strengths=ranked,
        largest=max(strongest.values(), default=0.0) or 1.0,
        most_features=max(SOME_FEATURES, MOST_FEATURES // wide),
        thresholds=center_thresholds(h) if many else [],
        rule="" if many else describe_rule(labels[1], h.threshold),
        wrong=len(wrong),
        columns=features,
        mistakes=list(_mistake_rows(found, wrong, features, labels)),
    )
    # Names may contain control characters, such as those that reverse the direction of text.
    return Report(sanitize(page, "\n\t"))


def _training_json(found: Findings) -> tuple[dict[str, Any] | None, list[str]]:
    """Return JSON for the animation, or None if it cannot be drawn, and notes for its viewer."""
    if found.story is None or not DRAWABLE[0] < found.story.examples.largest < DRAWABLE[1]:
        return None, []
    try:
        story, cuts = excerpt(found.story, names=found.names)
    except ValueError:  # too many labels, or no plane shows their regions
        return None, []
    if not found.story.examples.has_rows_of(found.examples):
        cuts.insert(0, "Columns are shown scaled, as they were during training.")
    d, many = found.story.examples.d, found.story.examples.multiclass
    if d > 2 and many:
        cuts.append(
            f"The picture is a projection of {d:,} features onto the plane spanned by the "
            "differences of the final weights, whose regions are exact. Earlier regions are drawn "
            "where they intersect this plane. Rings mark mistakes in all features."
        )
    elif d > 2:
        cuts.append(
            f"The picture is a projection of {d:,} features onto the final w and the first "
            "remaining principal direction. The final line is exact; earlier lines are drawn where "
            "they intersect this plane. Rings mark mistakes in all features."
        )
    return story, cuts


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    environment.filters |= {"grouped": "{:,}".format, "plural": plural}
    return environment.from_string(files(__package__).joinpath("report.html.j2").read_text("utf-8"))


def _histograms(away: NDArray[np.float64], y: NDArray[Any]) -> dict[str, Any]:
    """Return histograms of the examples' distances from the boundary, one per label.

    `far` is the distance at the ends of the histograms; larger ones are counted in the last bars.
    """
    away = np.nan_to_num(away, posinf=0.0)  # infinite if no competing class ever scores higher
    far = float(np.percentile(np.abs(away), 99.5, method="higher")) or 1.0
    share, edges = np.clip(away / far, -1, 1), np.linspace(-1, 1, BARS + 1)
    no, yes = (np.histogram(share[y == sign], edges)[0].tolist() for sign in (-1, 1))
    return {"no": no, "yes": yes, "far": f"{far:.3g}"}


def _mistake_rows(
    found: Findings, wrong: NDArray[np.intp], features: list[str], labels: list[str]
) -> Iterator[dict[str, Any]]:
    """Yield the table rows of misclassified examples, farthest from the boundary first."""
    examples, h = found.examples, found.hypothesis
    names = examples.feature_names
    columns = [names.index(name) for name in features]
    off = np.abs(clearances(h, examples.some(wrong)))
    for k in np.argsort(-off, kind="stable")[:MOST_MISTAKES].tolist():
        n = int(wrong[k])
        row, x = examples.X[[n]], examples.augmented_rows([n])[0, -examples.d :]
        code, place = int(h.predict_codes(row)[0]), int(examples.places[n])
        if h.w.ndim > 1:
            predicted = labels[code] if code != place else "tie"
        elif h.zero == 0 and not h.safe_scores(row)[0]:
            predicted = "on the boundary"
        else:
            predicted = labels[int(code > 0)]
        yield {
            "number": found.names.name(n),
            "label": labels[place],
            "predicted": predicted,
            "off": float(off[k]),
            "cells": [float(x[i]) for i in columns],
        }
