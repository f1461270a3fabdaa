"""What a fitted estimator knows: its hypothesis, its examples and its trace."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.tables import column_names
from rosenblatt.trace import Trace


def hypothesis_of(clf: Any) -> Hypothesis:
    """The line of any fitted linear classifier of two classes.

    Parameters
    ----------
    clf : estimator
        With `coef_`, `intercept_` and `classes_`.
    """
    if not hasattr(clf, "coef_"):
        raise ValueError(f"this {type(clf).__name__} is not fitted yet; call fit first.")
    coef = np.asarray(clf.coef_, dtype=np.float64)
    if coef.ndim == 2 and coef.shape[0] != 1:
        raise ValueError(f"{type(clf).__name__} has {coef.shape[0]} lines; one can be drawn.")
    intercept = np.ravel(np.asarray(getattr(clf, "intercept_", 0.0), dtype=np.float64))
    return Hypothesis(np.concatenate((intercept, coef.ravel())), 1.0, getattr(clf, "_zero", -1))


def examples_of(clf: Any, X: Any, y: Any) -> Examples:
    """X and y as examples with the labels and the names that an estimator knows.

    Parameters
    ----------
    clf : estimator
        Fitted.
    X, y : arrays, sparse matrix or frame, and answers
        Any rows with its features.
    """
    h = hypothesis_of(clf)
    examples = Examples.from_arrays(X, y, labels=clf.classes_)
    if examples.d != len(h.w) - 1:
        raise ValueError(
            f"X has {examples.d} features, but this {type(clf).__name__} was fitted on "
            f"{len(h.w) - 1}; give rows with the same columns."
        )
    names = column_names(X) or getattr(clf, "feature_names_in_", None)
    return examples if names is None else replace(examples, names=tuple(map(str, names)))


def trace_of(clf: Any, X: Any, y: Any) -> Trace:
    """The trace of an estimator, once it is sure that X and y are what it corrected.

    Parameters
    ----------
    clf : Perceptron, PocketPerceptron
        Fitted.
    X, y : arrays, sparse matrix or frame, and answers
        What it was fitted on.
    """
    given = examples_of(clf, X, y)
    trace = getattr(clf, "trace_", None)
    if not isinstance(trace, Trace):
        raise ValueError(
            f"{type(clf).__name__} has no trace of corrections; "
            "fit a Perceptron or a PocketPerceptron to see one."
        )
    origin = trace.known_origin()
    if not _same(origin.examples, given):
        raise ValueError(
            "these X and y are not what the trace was made on; give those that were fitted last."
        )
    if given.names == origin.examples.names:
        return trace
    return replace(
        trace, origin=replace(origin, examples=replace(origin.examples, names=given.names))
    )


def _same(one: Examples, other: Examples) -> bool:
    if one.X.shape != other.X.shape or one.is_sparse != other.is_sparse:
        return False
    if not np.array_equal(one.y, other.y):
        return False
    if one.is_sparse:
        return int(abs(one.X - other.X).max()) == 0
    return bool(np.array_equal(one.X, other.X))
