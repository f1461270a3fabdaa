"""Answers: whatever two labels y is given in, taken as -1 and +1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.tables import missing, refuse_masked
from rosenblatt.wholes import large

FIRST = 64  # answers


def signs(y: Any, known: NDArray[Any] | None) -> tuple[NDArray[np.int8], NDArray[Any]]:
    """The answers as -1 and +1, and the two labels they stand for."""
    answers = _one_dimension(y)
    labels = _two_labels(answers) if known is None else known
    is_yes = np.asarray(answers == labels[1], dtype=bool)
    is_either = np.asarray(answers == labels[0], dtype=bool)
    is_either |= is_yes
    if not is_either.all():
        if known is None:
            raise _too_many_labels(answers)
        row = int(is_either.argmin())
        raise ValueError(
            f"y, row {row}: {answers[row]!r} is not one of the classes "
            f"{labels[0]!r} and {labels[1]!r}."
        )
    result = is_yes.view(np.int8) * np.int8(2)
    result -= np.int8(1)
    return result, labels


def _one_dimension(y: Any) -> NDArray[Any]:
    if y is None:
        raise ValueError(
            "learning requires y to be passed, but the target y is None: "
            "give an answer for each row."
        )
    refuse_masked(y, "y")
    answers = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") and not _is_arrow(y) else y)
    if isinstance(y, list | tuple) and answers.dtype.kind == "f" and len(large(answers.ravel())):
        answers = np.array(y, dtype=object)  # as doubles, long whole numbers could become one
    if answers.ndim != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {answers.shape} instead: "
            "give one answer for each row."
        )
    if answers.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(answers))
    elif answers.dtype.kind == "O":
        bad = np.flatnonzero([missing(cell) for cell in answers])
    else:
        bad = np.array([], dtype=np.intp)
    if len(bad):
        what = "NaN" if missing(answers[bad[0]]) else "infinity"
        raise ValueError(f"Input y contains {what} in row {bad[0]}; each row needs an answer.")
    return answers


def _is_arrow(y: Any) -> bool:
    # Arrow's own `to_numpy` refuses text and gaps unless told to copy; np.asarray copies.
    return type(y).__module__.startswith("pyarrow")


def _two_labels(answers: NDArray[Any]) -> NDArray[Any]:
    if len(answers) == 0:
        raise ValueError("y is empty; give one answer for each row of X.")
    for some in (answers[:FIRST], answers):  # both labels come soon, as a rule
        other = int(np.asarray(some != some[0], dtype=bool).argmax())
        if other:
            pair = some[[0, other]]
            return _distinct(pair) if pair.dtype.kind == "O" else np.sort(pair)
    raise ValueError(
        f"y has only one class, {answers[:1].tolist()[0]!r}; "
        "learning needs examples of two classes."
    )


def one_or_two_labels(y: Any) -> NDArray[Any] | None:
    """The one label twice, or in its place beside a label that y does not have; None for two."""
    answers = _one_dimension(y)
    if len(answers) == 0 or (answers != answers[0]).any():
        return None
    only = answers[0]
    if answers.dtype.kind in "biuf" and only in (0, -1):
        return np.array([only, 1])
    return np.array([only, only], dtype=answers.dtype)


def labels_of(y: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The different answers in order, however many, and the place of each row's among them."""
    answers = _one_dimension(y)
    labels = _distinct(answers)
    return labels, np.searchsorted(labels, answers)


def _distinct(answers: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.unique(answers)
    except TypeError:
        kinds = sorted({type(answer).__name__ for answer in answers})
        raise ValueError(
            f"y mixes answers of kinds {' and '.join(kinds)}; make them all of one kind "
            "(classes must be uniformly strings or numbers)."
        ) from None


def _too_many_labels(answers: NDArray[Any]) -> ValueError:
    labels = _distinct(answers)
    shown = ", ".join(repr(label) for label in labels[:4].tolist()) + (
        ", …" if len(labels) > 4 else ""
    )
    if answers.dtype.kind == "f" and (labels != np.round(labels)).any():
        return ValueError(
            f"Unknown label type: y has {len(labels)} different numbers ({shown}), continuous "
            "values; give two kinds of answer."
        )
    return ValueError(
        "Only binary classification is supported. "
        f"y has {len(labels)} classes ({shown}); give two kinds of answer."
    )
