"""Findings: what is known of a line and its examples, ready to be told in a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.pocket import Pocket, PocketRun
from rosenblatt.algorithms.run import Run
from rosenblatt.evidence.accuracy import Accuracy
from rosenblatt.evidence.guarantee import corrections, with_slot
from rosenblatt.evidence.separability import Separability, separability_of
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.pipelines import final
from rosenblatt.show.fitted import examples_of, hypothesis_of, trace_of
from rosenblatt.show.story import Story
from rosenblatt.trace import Trace
from rosenblatt.words import counted, verdict_sentence

if TYPE_CHECKING:
    from rosenblatt.solve import Result

PROVES = {
    "separable": "The proof is a w whose product with every signed example is above zero, in "
    "whole numbers without rounding: a line that is right everywhere exists, and PLA halts.",
    "quasi-separable": "The proof is a w whose product with no signed example is below zero, and "
    "positive multiples of some signed examples that sum to exactly zero: a line can be wrong "
    "nowhere, but never right everywhere.",
    "inseparable": "The proof is positive multiples of some signed examples that sum to exactly "
    "zero: were a w right on all of them, the sum of its products would be above zero, and it is "
    "zero. So no line is right everywhere, and PLA alone would never halt.",
    "not separable": "The proof is positive multiples of some signed examples that sum to exactly "
    "zero: were a w right on all of them, the sum of its products would be above zero, and it is "
    "zero. So no line is right everywhere; whether one is wrong nowhere was not looked for.",
    "undecided": "Nothing is proved.",
}


@dataclass(frozen=True, eq=False)
class Findings:
    """All that a report tells.

    Parameters
    ----------
    title : str
        Its first line.
    facts : sequence of (name, sentence)
        What was found, in order.
    examples : Examples
        The rows, in the values of the data.
    hypothesis : Hypothesis
        The line that answers them.
    verdict : Separability, optional
        What is proved of them.
    story : Story, optional
        The run, on the values it learnt from.
    rows : int array, optional
        What the examples are called in the data, counted from 0.
    accuracy : Accuracy, optional
        On rows that were not learnt from.
    """

    title: str
    facts: Sequence[tuple[str, str]]
    examples: Examples
    hypothesis: Hypothesis
    verdict: Separability | None = None
    story: Story | None = None
    rows: NDArray[np.intp] | None = None
    accuracy: Accuracy | None = None

    @property
    def labels(self) -> tuple[str, str]:
        """What no and yes are called."""
        return str(self.examples.labels[0]), str(self.examples.labels[1])

    def number(self, n: int) -> int:
        """What an example is called, counted from 1."""
        return 1 + (n if self.rows is None else int(self.rows[n]))


def findings_of(clf: Any, X: Any, y: Any) -> Findings:
    """What is known of a fitted estimator and the examples it was fitted on.

    Parameters
    ----------
    clf : Perceptron, PocketPerceptron, FewestMistakes, any linear classifier, or a Pipeline
        Fitted on two classes; of a pipeline the last step, on what the others make of X.
    X, y : arrays, sparse matrix or frame, and answers
        What it was fitted on, or other examples; a run is told of the former only.
    """
    examples, h = examples_of(clf, X, y), hypothesis_of(clf)
    verdict = separability_of(examples)
    count = len(h.mistakes(examples))
    found = f"{counted(count, 'mistake')} on {counted(examples.n, 'example')}"
    facts = [("verdict", _sentence(verdict)), ("found", found)]
    last = final(clf)
    if hasattr(last, "result_"):
        facts.append(("searched", str(last.result_)))
    story = None
    if isinstance(getattr(last, "trace_", None), Trace):
        try:
            story = _story(last, trace_of(clf, X, y), verdict)
            facts.insert(1, ("learnt", f"{_corrections(last)} by {type(last).__name__}"))
        except ValueError as why:
            facts.append(("the run", f"is not shown: {why}"))
    labels = " or ".join(str(label) for label in examples.labels.tolist())
    return Findings(f"Answering {labels}", facts, examples, h, verdict, story)


def findings_of_result(result: Result) -> Findings:
    """What is known of what `rosenblatt.learn` found."""
    data, o, answer = result.data, result.outcome, result.separability
    story = None
    if o.run is not None and o.learnt_from is not None:
        # Multipliers that sum to zero do so on scaled columns too; a line does not stay the same.
        blocked = None if answer or answer.proof is None else replace(answer, weights=None)
        story = Story(o.learnt_from, o.run, o.widest or blocked, *o.played)
    title = f"Answering {data.plan.answers.column or 'rows'}: {' or '.join(result.labels)}"
    return Findings(
        title,
        result.facts(),
        data.examples,
        result.hypothesis,
        answer,
        story,
        data.rows,
        result.accuracy,
    )


def story_of(clf: Any, X: Any, y: Any) -> Story:
    """The run of a fitted estimator, with what is proved of its examples.

    Parameters
    ----------
    clf : Perceptron, PocketPerceptron, or a Pipeline that ends in one
        Fitted.
    X, y : arrays, sparse matrix or frame, and answers
        What it was fitted on.
    """
    trace = trace_of(clf, X, y)
    return _story(final(clf), trace, separability_of(trace.known_origin().examples))


def _corrections(clf: Any) -> str:
    many = len(clf.trace_)
    return counted(many, "correction")


def _sentence(verdict: Separability) -> str:
    told = verdict_sentence(verdict.verdict, "example", verdict.reason)
    if not verdict or verdict.bound is None or not np.isfinite(verdict.bound):
        return told
    return f"{told}; PLA needs {corrections(verdict.bound)}"


def _story(clf: Any, trace: Trace, verdict: Separability) -> Story:
    """The run of an estimator, as if it had just happened."""
    examples = trace.known_origin().examples
    if examples.x0 != 1.0:
        verdict = separability_of(examples)
    h = Hypothesis(_slotted(examples, clf.weights_), examples.x0, clf._zero)
    run = Run(h, trace, h.mistakes(examples), clf.n_iter_, _reason(clf))
    if not hasattr(clf, "history_"):
        return Story(examples, run, verdict, "pla", clf.order)
    last = Hypothesis(_slotted(examples, clf.last_weights_), examples.x0, clf._zero)
    pocket = Pocket(h.w, tuple(clf.history_))
    run = PocketRun(h, trace, run.mistakes, clf.n_iter_, clf.stop_reason_, last, pocket)
    return Story(examples, run, verdict, "ratchet" if clf.ratchet else "pocket", clf.order)


def _slotted(examples: Examples, weights: Any) -> NDArray[np.float64]:
    w = np.asarray(weights, dtype=np.float64)
    return with_slot(examples, w) if w.any() else np.zeros(examples.d + 1)


def _reason(clf: Any) -> Any:
    if clf.separated_:
        return "no mistakes"
    if clf.max_updates is not None and len(clf.trace_) >= clf.max_updates:
        return "max_updates"
    return "max_iter" if clf.n_iter_ >= clf.max_iter else "end of stream"
