"""From a collection to shards of examples on the workers, checked as one data set."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import checks
from rosenblatt.dask.crew import Crew
from rosenblatt.dask.sources import sources_of
from rosenblatt.dask.tasks import MANY_LABELS, Reading, Survey, survey
from rosenblatt.examples import Examples, one_or_two_labels, signs


@dataclass(frozen=True, eq=False)
class Sheet:
    """What the driver knows of the data: their labels, columns, x0, and the rows of each shard."""

    labels: NDArray[Any]
    columns: int
    names: tuple[str, ...] | None
    x0: float
    rows: tuple[int, ...]

    def stand_in(self) -> Examples:
        """One row of zeros with these columns and labels, for what only asks about those."""
        X, y = np.zeros((1, self.columns)), np.ones(1, dtype=np.int8)
        return Examples(X, y, self.labels, self.names, self.x0)


@dataclass(frozen=True, eq=False)
class Given:
    """What a person gave: a collection, its answers and weights."""

    X: Any
    y: Any
    sample_weight: Any = None
    class_weight: Any = None


def gather(crew: Crew, given: Given, x0: float, *, one_class: bool = False) -> Sheet:
    """Let the workers load the data, look at every part, and take it as examples."""
    sources = sources_of(given.X, given.y, given.sample_weight)
    crew.load(sources)
    surveys: list[Survey] = crew.ask(survey, [MANY_LABELS] * len(sources), None)
    some = [i for i, part in enumerate(surveys) if part.counts.sum() > 0]
    if not some:
        raise ValueError("there are no rows to learn from.")
    crew.keep(some)
    parts = [surveys[i] for i in some]
    columns = sorted({part.columns for part in parts})
    if len(columns) > 1:
        raise ValueError(f"parts of X have {columns[0]} and {columns[-1]} columns; give them one.")
    labels, counts = _labels(parts, one_class)
    each = None if given.class_weight is None else _each(given.class_weight, labels, counts)
    crew.take_as(Reading(labels, x0, each))
    rows = tuple(part.rows for part in parts)
    return Sheet(labels, columns[0], parts[0].names, x0, rows)


def _labels(parts: list[Survey], one_class: bool) -> tuple[NDArray[Any], list[int]]:
    """The two labels of all parts and how many rows have each."""
    count: Counter[Any] = Counter()
    for part in parts:
        count.update(dict(zip(part.labels.tolist(), part.counts.tolist(), strict=True)))
    met = np.array(list(count)) if _alike(count) else np.array(list(count), dtype=object)
    if len(met) > 2:
        shown = ", ".join(repr(label) for label in np.unique(met)[:4].tolist())
        raise ValueError(
            "Only binary classification is supported. y has more than two classes "
            f"({shown}, …); give two kinds of answer."
        )
    _, labels = signs(met, one_or_two_labels(met) if one_class else None)
    labels = labels.astype(parts[0].labels.dtype) if labels.dtype.kind != "U" else labels
    return labels, [count[label] for label in labels.tolist()]


def _alike(count: Counter[Any]) -> bool:
    return len({type(label) for label in count}) == 1


def _each(class_weight: Any, labels: NDArray[Any], counts: list[int]) -> NDArray[np.float64]:
    """The weights of the two classes, the negative first."""
    if class_weight == "balanced":
        return np.asarray(sum(counts) / (2.0 * np.array(counts)))
    return checks.class_weights(class_weight, labels.tolist(), np.ones(1, np.int8), stream=True)
