"""Read weights, examples and updates from a fitted estimator, for reports and plots."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rosenblatt.algorithms import PocketRun, Run
from rosenblatt.algorithms.pla import Reason
from rosenblatt.algorithms.pocket import Pocket
from rosenblatt.evidence.guarantee import add_bias_slot
from rosenblatt.evidence.separability import separability_of
from rosenblatt.evidence.verdicts import Separability
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.pipelines import final, is_ours, transform_before_last
from rosenblatt.show.story import Story
from rosenblatt.text import plural
from rosenblatt.trace import Trace

CLOSE = 1e-9  # tolerance for rows that a pipeline transforms a second time


def hypothesis_of(clf: Any) -> Hypothesis:
    """Return the weights of a fitted linear classifier, or of a pipeline that ends in one."""
    clf = final(clf)
    if not hasattr(clf, "coef_"):
        name = type(clf).__name__
        bases = [kind.__name__ for kind in type(clf).__mro__]
        if is_ours(clf) or "LinearClassifierMixin" in bases:
            raise ValueError(f"this {name} is not fitted yet; call fit first.")
        raise TypeError(
            f"{name} is not a linear classifier; give a rosenblatt estimator, another classifier "
            "with coef_, or a pipeline that ends in one."
        )
    coef = np.atleast_2d(np.asarray(clf.coef_, dtype=np.float64))
    labels = len(getattr(clf, "classes_", ()))
    if len(coef) > 1 and (len(coef) != labels or hasattr(clf, "decision_function_shape")):
        raise ValueError(
            f"{type(clf).__name__} has {len(coef)} weight vectors for {plural(labels, 'label')}; "
            "give a classifier with one weight vector, or with one per label."
        )
    intercept = np.ravel(np.asarray(getattr(clf, "intercept_", 0.0), dtype=np.float64))
    each = np.broadcast_to(intercept, len(coef))
    return Hypothesis.with_intercept(coef, each, getattr(clf, "_zero", -1))


def examples_of(clf: Any, X: Any, y: Any) -> Examples:
    """Convert X and y to Examples, with the labels and feature names of an estimator.

    For a pipeline, X is first transformed by all steps but the last.
    """
    h = hypothesis_of(clf)
    X, names = transform_before_last(clf, X)
    clf = final(clf)
    examples = Examples.from_arrays(X, y, labels=clf.classes_)
    d = h.w.shape[-1] - 1
    if examples.d != d:
        raise ValueError(
            f"X has {plural(examples.d, 'feature')}, but this {type(clf).__name__} was fitted on "
            f"{d}; give rows with the same columns."
        )
    if names is None:
        names = getattr(clf, "feature_names_in_", None)
    return examples if names is None else replace(examples, names=tuple(map(str, names)))


def trace_of(clf: Any, X: Any, y: Any) -> Trace:
    """Return the recorded updates of an estimator, if X and y are its training data."""
    given = examples_of(clf, X, y)
    exactly = final(clf) is clf
    clf = final(clf)
    trace = getattr(clf, "trace_", None)
    if not isinstance(trace, Trace):
        raise ValueError(
            f"{type(clf).__name__} records no updates; fit a Perceptron or a PocketPerceptron."
        )
    origin = trace.known_origin()
    same_labels = np.array_equal(origin.examples.y, given.y)
    if not (same_labels and origin.examples.has_rows_of(given, 0.0 if exactly else CLOSE)):
        raise ValueError(
            "these X and y are not the training data of this estimator; give those of its last fit."
        )
    if given.names == origin.examples.names:
        return trace
    return replace(
        trace, origin=replace(origin, examples=replace(origin.examples, names=given.names))
    )


def story_of(clf: Any, X: Any, y: Any, verdict: Separability | None = None) -> Story:
    """Return what plots need: the training run of an estimator and the verdict on its data."""
    trace, clf = trace_of(clf, X, y), final(clf)
    examples = trace.known_origin().examples
    if verdict is None or examples.x0 != 1.0:
        verdict = separability_of(examples)

    def line(weights: Any) -> Hypothesis:
        w = np.asarray(weights, dtype=np.float64)
        w = add_bias_slot(examples, w) if w.any() else examples.shaped(np.zeros(examples.size))
        return Hypothesis.of(w, examples.x0, clf._zero)

    h = line(clf.weights_)
    counts = len(trace), clf.n_iter_, examples.n, len(h.mistakes(examples))
    if not hasattr(clf, "history_"):
        reason: Reason = "max_iter" if clf.n_iter_ >= clf.max_iter else "end of stream"
        if clf.separated_:
            reason = "no mistakes"
        elif clf.max_updates is not None and len(clf.trace_) >= clf.max_updates:
            reason = "max_updates"
        run = Run(h, trace, *counts, reason)
        return Story(examples, run, verdict, "pla", clf.order)
    last, pocket = line(clf.last_weights_), Pocket(h.w, tuple(clf.history_))
    run = PocketRun(h, trace, *counts, clf.stop_reason_, last, pocket)
    return Story(examples, run, verdict, "ratchet" if clf.ratchet else "pocket", clf.order)
