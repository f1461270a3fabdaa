"""What a fitted estimator knows: its hypothesis, its examples, its trace and its run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rosenblatt.algorithms import PocketRun, Run
from rosenblatt.algorithms.pocket import Pocket
from rosenblatt.evidence.guarantee import with_slot
from rosenblatt.evidence.separability import separability_of
from rosenblatt.evidence.verdicts import Separability
from rosenblatt.examples import Examples, JointExamples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.pipelines import final, is_ours, rows_before
from rosenblatt.show.story import Story
from rosenblatt.trace import Trace
from rosenblatt.words import counted

CLOSE = 1e-9  # by which the rows of a pipeline may differ from those of its fit


def hypothesis_of(clf: Any) -> Hypothesis:
    """The weights of any fitted linear classifier, or of a pipeline that ends in one."""
    clf = final(clf)
    if not hasattr(clf, "coef_"):
        name = type(clf).__name__
        if is_ours(clf) or _is_linear(clf):
            raise ValueError(f"this {name} is not fitted yet; call fit first.")
        raise TypeError(
            f"{name} is not a linear classifier, and has no line to show; give an estimator of "
            "rosenblatt, another with coef_, or a pipeline that ends in one."
        )
    coef = np.atleast_2d(np.asarray(clf.coef_, dtype=np.float64))
    labels = len(getattr(clf, "classes_", ()))
    if len(coef) > 1 and (len(coef) != labels or hasattr(clf, "decision_function_shape")):
        raise ValueError(
            f"{type(clf).__name__} has {len(coef)} lines for {counted(labels, 'label')}; one can "
            "be drawn, or weights for each label whose highest score is the answer."
        )
    intercept = np.ravel(np.asarray(getattr(clf, "intercept_", 0.0), dtype=np.float64))
    each = np.broadcast_to(intercept, len(coef))
    return Hypothesis.with_intercept(coef, each, getattr(clf, "_zero", -1))


def examples_of(clf: Any, X: Any, y: Any) -> Examples:
    """X and y as examples with the labels and the names that an estimator knows.

    Any rows with its features; a pipeline's other steps are applied to them.
    """
    h = hypothesis_of(clf)
    X, names = rows_before(clf, X)
    clf = final(clf)
    kind = Examples if h.w.ndim == 1 else JointExamples
    examples = kind.from_arrays(X, y, labels=clf.classes_)
    d = h.w.shape[-1] - 1
    if examples.d != d:
        raise ValueError(
            f"X has {counted(examples.d, 'feature')}, but this {type(clf).__name__} was fitted on "
            f"{d}; give rows with the same columns."
        )
    if names is None:
        names = getattr(clf, "feature_names_in_", None)
    return examples if names is None else replace(examples, names=tuple(map(str, names)))


def trace_of(clf: Any, X: Any, y: Any) -> Trace:
    """The trace of an estimator, once it is sure that X and y are what it corrected."""
    given = examples_of(clf, X, y)
    exactly = final(clf) is clf
    clf = final(clf)
    trace = getattr(clf, "trace_", None)
    if not isinstance(trace, Trace):
        raise ValueError(
            f"{type(clf).__name__} has no trace of corrections; "
            "fit a Perceptron or a PocketPerceptron to see one."
        )
    origin = trace.known_origin()
    if not _same(origin.examples, given, exactly):
        raise ValueError(
            "these X and y are not what the trace was made on; give those that were fitted last."
        )
    if given.names == origin.examples.names:
        return trace
    return replace(
        trace, origin=replace(origin, examples=replace(origin.examples, names=given.names))
    )


def story_of(clf: Any, X: Any, y: Any, verdict: Separability | None = None) -> Story:
    """The run of an estimator as if it had just happened, with what is proved of its examples."""
    trace, clf = trace_of(clf, X, y), final(clf)
    examples = trace.known_origin().examples
    if verdict is None or examples.x0 != 1.0:
        verdict = separability_of(examples)

    def line(weights: Any) -> Hypothesis:
        w = np.asarray(weights, dtype=np.float64)
        w = with_slot(examples, w) if w.any() else examples.shaped(np.zeros(examples.size))
        return Hypothesis.of(w, examples.x0, clf._zero)

    h = line(clf.weights_)
    counts = len(trace), clf.n_iter_, examples.n, len(h.mistakes(examples))
    if not hasattr(clf, "history_"):
        run = Run(h, trace, *counts, _reason(clf))
        return Story(examples, run, verdict, "pla", clf.order)
    last, pocket = line(clf.last_weights_), Pocket(h.w, tuple(clf.history_))
    run = PocketRun(h, trace, *counts, clf.stop_reason_, last, pocket)
    return Story(examples, run, verdict, "ratchet" if clf.ratchet else "pocket", clf.order)


def _reason(clf: Any) -> Any:
    if clf.separated_:
        return "no mistakes"
    if clf.max_updates is not None and len(clf.trace_) >= clf.max_updates:
        return "max_updates"
    return "max_iter" if clf.n_iter_ >= clf.max_iter else "end of stream"


def _same(one: Examples, other: Examples, exactly: bool) -> bool:
    """Whether examples are the same; what a pipeline made twice may differ in its last digits."""
    if one.X.shape != other.X.shape or one.is_sparse != other.is_sparse:
        return False
    if not np.array_equal(one.y, other.y):
        return False
    if one.is_sparse:
        apart = float(abs(one.X - other.X).max())
        return apart == 0 or (not exactly and apart <= CLOSE * float(abs(one.X).max()))
    return bool(
        np.array_equal(one.X, other.X)
        or (not exactly and np.allclose(one.X, other.X, CLOSE, CLOSE * np.abs(one.X).max()))
    )


def _is_linear(clf: Any) -> bool:
    """Whether a classifier will have a line once it is fitted."""
    return any(kind.__name__ == "LinearClassifierMixin" for kind in type(clf).__mro__)
