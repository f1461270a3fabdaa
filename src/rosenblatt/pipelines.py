"""Scikit-learn pipelines that end in an estimator of this package.

Scikit-learn is not imported here: whoever passes a pipeline has imported it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.hypothesis import Hypothesis
from rosenblatt.tables import column_names, default_names

Exact = list[Fraction]
# Scalers that compute (x - center) / scale_: attributes of the center, and of whether it is used.
CENTRES = {
    "StandardScaler": ("mean_", "with_mean"),
    "RobustScaler": ("center_", "with_centering"),
    "MaxAbsScaler": ("", ""),
}
JOBLIB = "save the whole pipeline with joblib.dump instead."


def final(clf: Any) -> Any:
    """Return the estimator itself, or the last step of a pipeline."""
    while _is_pipeline(clf):
        clf = clf.steps[-1][1]
    return clf


def is_ours(clf: Any) -> bool:
    """Check whether an estimator, or the last step of a pipeline, is from this package."""
    return hasattr(type(final(clf)), "_hypothesis")


def names_before(clf: Any) -> Sequence[str] | None:
    """Return the names of the columns that an estimator or pipeline was fitted on."""
    first = next(iter(_before(clf)), final(clf))
    names: Sequence[str] | None = getattr(first, "feature_names_in_", None)
    return names


def rows_before(clf: Any, X: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Transform X by all steps but the last; return it with its column names, if any."""
    names = column_names(X)
    for step in _before(clf):
        names = _named(step, X, names)
        X = step.transform(X)
        names = column_names(X) or names
    return X, names


def line_before(clf: Any) -> Hypothesis:
    """Return the hypothesis of an estimator, in the unscaled values of its pipeline.

    Scaling is folded into the weights in exact arithmetic and rounded once. Raises ValueError if
    that could change the prediction of a training row, or if a step does more than shift and
    scale columns.
    """
    last = final(clf)
    line: Hypothesis = last._hypothesis()
    steps = list(_flat(_before(clf)))
    if not steps:
        return line
    w = np.array([_folded(one, steps) for one in np.atleast_2d(line.w)])
    folded = Hypothesis.of(w.reshape(line.w.shape), 1.0, line.zero)
    _check(folded, last, steps)
    return folded


def _folded(w: NDArray[np.float64], steps: list[Any]) -> list[float]:
    """Convert augmented weights for transformed rows to weights for the original rows."""
    weights, threshold = [Fraction(v) for v in w[1:]], Fraction(w[0])
    for step in reversed(steps):
        slope, offset = _affine(step, len(weights))
        threshold += sum(v * b for v, b in zip(weights, offset, strict=True))
        weights = [v * a for v, a in zip(weights, slope, strict=True)]
    return [_double(v) for v in (threshold, *weights)]


def _check(folded: Hypothesis, last: Any, steps: list[Any]) -> None:
    """Raise ValueError if rounding could change the prediction of a training row.

    The training rows are recovered by inverse transforms, which round again. A row counts if it
    is nearer to the boundary than the bound on all these rounding errors.
    """
    origin = getattr(getattr(last, "trace_", None), "origin", None)
    if origin is None:
        return
    rows = origin.examples.X
    for step in reversed(steps):
        rows = step.inverse_transform(rows)
    largest = np.abs(np.atleast_2d(folded.w)).max(axis=0)
    size = abs(rows) @ largest[1:] + largest[0]
    s = folded.scores(rows)
    rounding = 8 * s.ndim * (len(steps) + 1) * np.finfo(np.float64).eps * size
    if s.ndim == 2:  # the prediction changes if the best two labels swap
        s = np.diff(np.partition(s, -2, axis=1)[:, -2:], axis=1)[:, 0]
    near = np.count_nonzero((np.abs(s) <= rounding) & (size > 0))
    if near:
        raise ValueError(
            f"folding the scaling into the weights could change {near:,} of {origin.examples.n:,} "
            f"predictions by rounding; {JOBLIB}"
        )


def _affine(step: Any, count: int) -> tuple[Exact, Exact]:
    """Return the factor and the offset that a step applies to each column."""
    name = type(step).__name__
    known = name == "MinMaxScaler" or name in CENTRES
    if not known or not type(step).__module__.startswith("sklearn.preprocessing"):
        raise ValueError(
            f"{name} cannot be saved in a model file, because it does more than shift and scale "
            f"columns; {JOBLIB}"
        )
    if getattr(step, "clip", False):
        raise ValueError(f"{name} clips values, which no linear classifier can; {JOBLIB}")
    scale = _exact(step.scale_, count, 1)
    if name == "MinMaxScaler":
        return scale, _exact(step.min_, count, 0)
    centre, used = CENTRES[name]
    taken = getattr(step, centre) if getattr(step, used, False) else None
    moved = zip(_exact(taken, count, 0), scale, strict=True)
    return [1 / s for s in scale], [-centre / s for centre, s in moved]


def _exact(numbers: NDArray[Any] | None, count: int, otherwise: int) -> Exact:
    if numbers is None:
        return [Fraction(otherwise)] * count
    return [Fraction(float(number)) for number in numbers]


def _double(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        raise ValueError(f"a folded weight overflows float64; {JOBLIB}") from None


def _is_pipeline(clf: Any) -> bool:
    return hasattr(clf, "steps") and hasattr(clf, "named_steps")


def _before(clf: Any) -> Iterator[Any]:
    """Yield the steps before the last, without passthroughs."""
    while _is_pipeline(clf):
        yield from (step for _, step in clf.steps[:-1] if step not in (None, "passthrough"))
        clf = clf.steps[-1][1]


def _flat(steps: Iterator[Any]) -> Iterator[Any]:
    """Yield the steps, with nested pipelines expanded."""
    for step in steps:
        if _is_pipeline(step):
            inside = (one for _, one in step.steps if one not in (None, "passthrough"))
            yield from _flat(inside)
        else:
            yield step


def _named(step: Any, X: Any, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the output names of a step; unnamed input columns are called x1, x2, …"""
    shape = getattr(X, "shape", None) or np.shape(X)
    if names is None and len(shape) == 2:
        names = default_names(shape[1])
    tell = getattr(step, "get_feature_names_out", None)
    try:
        return None if tell is None else tuple(map(str, tell(names)))
    except (AttributeError, TypeError, ValueError):
        return None
