"""Conversion of scikit-learn pipelines that end in an estimator of rosenblatt.

Scikit-learn is not imported here: whoever passes a pipeline has imported it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.hypothesis import Hypothesis
from rosenblatt.read.columns import Category, Column, Number, as_text
from rosenblatt.read.encoding import Encoding
from rosenblatt.tables import column_names, default_names, is_missing, numbers_in
from rosenblatt.text import quote_column

# Scalers that compute (x - center) / scale_: the attribute with the center, and the parameter that
# tells whether the center is subtracted.
CENTERS = {
    "StandardScaler": ("mean_", "with_mean"),
    "RobustScaler": ("center_", "with_centering"),
    "MaxAbsScaler": ("", ""),
}


class FoldingError(ValueError):
    """Error raised if a pipeline cannot be saved in a model file."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}; save the whole pipeline with joblib.dump instead.")
        self.reason = reason


def final(clf: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    while _is_pipeline(clf):
        clf = clf.steps[-1][1]
    return clf


def is_ours(clf: Any) -> bool:
    """Return whether an estimator, or a pipeline's last step, is from rosenblatt."""
    return hasattr(type(final(clf)), "_hypothesis")


def transform_before_last(clf: Any, X: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Transform X by all steps of a pipeline but the last.

    Also returns the column names of the transformed X, or None if they are not known.
    """
    names: Sequence[str] | None = column_names(X)
    for step in _steps_before_last(clf):
        shape = getattr(X, "shape", None) or np.shape(X)
        if names is None and len(shape) == 2:
            names = default_names(shape[1])
        try:
            names = tuple(map(str, step.get_feature_names_out(names)))
        except (AttributeError, TypeError, ValueError):
            names = None  # the step does not know the names of its output
        X = step.transform(X)
        names = column_names(X) or names
    return X, None if names is None else tuple(names)


@dataclass(frozen=True)
class Feature:
    """Input feature of a pipeline's last step, as a function of one original column.

    It is slope·x + offset for a number x, and offset + values[x] for a category x; an unknown
    category has the value 0. `fill` replaces a missing x.
    """

    column: int
    slope: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)
    fill: Fraction | str | None = None
    values: Mapping[str, Fraction] = field(default_factory=dict)

    def scale(self, slope: Fraction, offset: Fraction) -> Feature:
        """Return the feature multiplied by `slope`, plus `offset`."""
        values = {value: slope * number for value, number in self.values.items()}
        moved = slope * self.offset + offset
        return replace(self, slope=slope * self.slope, offset=moved, values=values)


Term = tuple[list[Fraction], Feature]  # weights of a feature, one per label


def fold(clf: Any) -> tuple[Encoding, Hypothesis]:
    """Convert a fitted estimator or pipeline to weights for its input columns.

    Preprocessing is folded into the weights in exact arithmetic and rounded once. Raises
    FoldingError if that could change the prediction of a training row, or if a step does more
    than impute, scale and encode single columns.
    """
    last, steps = final(clf), list(_steps_before_last(clf))
    line: Hypothesis = last._hypothesis()
    first = steps[0] if steps else last
    given = getattr(first, "feature_names_in_", None)
    count = getattr(first, "n_features_in_", line.w.shape[-1] - 1)
    names = default_names(count) if given is None else [str(name) for name in given]
    if not steps:
        return Encoding(tuple(map(Number, names))), line
    features = [Feature(i) for i in range(count)]
    for step in steps:
        features = _transform(step, features)
    _check_rounding(line, last, features)

    threshold, *exact = [[Fraction(v) for v in each] for each in np.atleast_2d(line.w).T]
    terms: list[list[Term]] = [[] for _ in names]
    for w, feature in zip(exact, features, strict=True):
        threshold = _add(threshold, w, feature.offset)
        terms[feature.column].append((w, feature))
    columns, weights, imputed = list[Column](), [threshold], dict[str, bool]()
    for name, mine in zip(names, terms, strict=True):
        if any(f.values for _, f in mine):
            by_value = _weights_by_value(name, mine)
            columns.append(Category(name, tuple(by_value)))
            weights += by_value.values()
        elif mine or given is None:  # without names, unused columns are kept
            fills = {f.fill for _, f in mine}
            if len(fills) > 1:
                raise FoldingError(f"{quote_column(name)} is imputed in more than one way")
            fill = fills.pop() if fills else None
            imputed[name] = fill is not None or not mine
            columns.append(Number(name, _round(Fraction(fill or 0))))
            total = [Fraction(0)] * len(threshold)
            for w, f in mine:
                total = _add(total, w, f.slope)
            weights.append(total)
    is_imputed = any(f.fill is not None for f in features if not f.values)
    if is_imputed and not all(imputed.values()):
        raise FoldingError(
            f"{quote_column(next(name for name in imputed if not imputed[name]))} is not imputed, "
            "but other numeric columns are; a model file imputes all numeric columns or none"
        )
    rounded = np.array([[_round(number) for number in each] for each in weights]).T
    folded = np.ascontiguousarray(rounded if line.w.ndim == 2 else rounded[0])
    encoding = Encoding(tuple(columns), "mean" if is_imputed else "error")
    return encoding, Hypothesis.of(folded, 1.0, line.zero)


def _add(total: list[Fraction], w: list[Fraction], factor: Fraction) -> list[Fraction]:
    """Return total + factor·w, where `total` and `w` have one weight per label."""
    return [t + factor * v for t, v in zip(total, w, strict=True)]


def _weights_by_value(name: str, terms: list[Term]) -> dict[str, list[Fraction]]:
    """Map each category of a column to its weights, one per label, sorted by category."""
    if not all(f.values for _, f in terms):
        raise FoldingError(f"{quote_column(name)} is used as a number and as a category")
    weights: dict[str, list[Fraction]] = {}
    for w, feature in terms:
        for value, number in feature.values.items():
            weights[value] = _add(weights.get(value, [Fraction(0)] * len(w)), w, number)
    return dict(sorted(weights.items()))


def _transform(step: Any, features: list[Feature]) -> list[Feature]:
    """Return the features that a fitted step of a pipeline outputs."""
    kind = type(step).__name__
    if _is_pipeline(step):
        for _, one in step.steps:
            features = _transform(one, features)
        return features
    if step in (None, "passthrough") or (kind == "FunctionTransformer" and step.func is None):
        return features
    if kind == "ColumnTransformer":
        result, shares = list[Feature](), step.transformer_weights or {}
        for name, one, _ in step.transformers_:
            if not isinstance(one, str) or one != "drop":
                chosen = [features[i] for i in step._transformer_to_input_indices[name]]
                share = Fraction(shares.get(name, 1))
                result += [f.scale(share, Fraction(0)) for f in _transform(one, chosen)]
        return result
    if not type(step).__module__.startswith("sklearn."):
        kind = ""
    if kind == "SimpleImputer":
        return _impute(step, features)
    if kind == "OneHotEncoder":
        return _encode(step, features)
    if kind != "MinMaxScaler" and kind not in CENTERS:
        raise FoldingError(
            f"{type(step).__name__} cannot be saved in a model file, because it does more than "
            "impute, scale and encode single columns"
        )
    if getattr(step, "clip", False):
        raise FoldingError(f"{kind} clips values, which no linear classifier can do")
    count = len(features)
    scale = [Fraction(float(s)) for s in ([1] * count if step.scale_ is None else step.scale_)]
    if kind == "MinMaxScaler":
        moves = [(s, Fraction(float(c))) for s, c in zip(scale, step.min_, strict=True)]
    else:
        center, used = CENTERS[kind]
        found = getattr(step, center) if getattr(step, used, False) else None
        centers = [Fraction(float(c)) for c in ([0] * count if found is None else found)]
        moves = [(1 / s, -c / s) for s, c in zip(scale, centers, strict=True)]
    return [f.scale(*move) for f, move in zip(features, moves, strict=True)]


def _impute(step: Any, features: list[Feature]) -> list[Feature]:
    if step.add_indicator or not is_missing(step.missing_values):
        raise FoldingError(
            "SimpleImputer cannot be saved in a model file with add_indicator or with other "
            "missing_values than NaN"
        )
    result = []
    for feature, value in zip(features, step.statistics_, strict=True):
        if is_missing(value):  # the column had no values and is dropped
            continue
        if feature.values or feature.fill is not None:
            result.append(feature)
        elif isinstance(value, str):
            result.append(replace(feature, fill=value))
        else:
            fill = (Fraction(float(value)) - feature.offset) / feature.slope
            result.append(replace(feature, fill=fill))
    return result


def _encode(step: Any, features: list[Feature]) -> list[Feature]:
    """Return the features that a fitted OneHotEncoder outputs, one per category."""
    if getattr(step, "_infrequent_enabled", False):
        raise FoldingError(
            "OneHotEncoder cannot be saved in a model file with min_frequency or max_categories"
        )
    drops = [None] * len(features) if step.drop_idx_ is None else step.drop_idx_
    result = []
    for feature, categories, drop in zip(features, step.categories_, drops, strict=True):
        values = [None if is_missing(value) else value for value in categories.tolist()]
        texts: list[str] = as_text(pa.array(values)).to_pylist()
        fill = float(feature.fill) if isinstance(feature.fill, Fraction) else feature.fill
        filled = None if fill is None else as_text(pa.array([fill]))[0].as_py()
        blank = any(isinstance(v, str) and v != t for v, t in zip(values, texts, strict=True))
        changed = feature.values or feature.slope != 1 or feature.offset != 0
        twice = len(set(texts)) < len(texts) or (fill is not None and "" in texts)
        if blank or changed or twice:
            raise FoldingError(
                "OneHotEncoder cannot be saved in a model file if an earlier step changed the "
                "numbers that it encodes, if categories begin or end with blanks, or if missing "
                "values have one category and empty ones another"
            )
        spelled = []  # all spellings of each category in files, such as 1 and 1.0
        for value, text in zip(values, texts, strict=True):
            other = text
            if isinstance(value, bool):
                other = str(value)
            elif isinstance(value, int | float) and abs(value) < 2**53:
                other = str(float(value))
            spelled.append(list(dict.fromkeys([text, other])))
        zeros = dict.fromkeys(() if drop is None else spelled[drop], Fraction(0))
        for k, text in enumerate(texts):
            if k != drop:
                names = [*spelled[k], *([""] if text == filled else [])]
                ones = dict.fromkeys(names, Fraction(1))
                result.append(replace(feature, values={**zeros, **ones}))
    return result


def _check_rounding(line: Hypothesis, last: Any, features: list[Feature]) -> None:
    """Raise FoldingError if rounding could change the prediction of a training row.

    It could if the row is nearer to the boundary than a bound on the rounding errors of its score,
    before and after folding.
    """
    origin = getattr(getattr(last, "trace_", None), "origin", None)
    if origin is None:
        return
    rows, w = origin.examples.X, np.abs(np.atleast_2d(line.w)).max(axis=0)
    offsets = np.array([abs(_round(f.offset)) for f in features])
    size = abs(rows) @ w[1:] + offsets @ w[1:] + w[0]
    if not offsets.any() and all(f.values or f.slope == 1 for f in features):
        whole = all((n == np.rint(n)).all() for n in (line.w, numbers_in(rows)))
        if whole and (size < 2.0**53).all():  # sums of integers are exact in any order
            return
    s = line.scores(rows)
    rounding = 32 * s.ndim * np.finfo(np.float64).eps * size
    if s.ndim == 2:  # the prediction changes if the best two labels swap
        s = np.diff(np.partition(s, -2, axis=1)[:, -2:], axis=1)[:, 0]
    near = np.count_nonzero((np.abs(s) <= rounding) & (size > 0))
    if near:
        raise FoldingError(
            f"folding the scaling into the weights could change {near:,} of {origin.examples.n:,} "
            "predictions by rounding"
        )


def _round(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        raise FoldingError(
            "a weight overflows float64 when the scaling steps of the pipeline are merged into it"
        ) from None


def _is_pipeline(clf: Any) -> bool:
    return hasattr(clf, "steps") and hasattr(clf, "named_steps")


def _steps_before_last(clf: Any) -> Iterator[Any]:
    """Yield the steps of a pipeline before the last one, except passthroughs."""
    while _is_pipeline(clf):
        yield from (step for _, step in clf.steps[:-1] if step not in (None, "passthrough"))
        clf = clf.steps[-1][1]
