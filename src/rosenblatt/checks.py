"""Checks of parameters, labels and weights, each with an error message of one sentence."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.engine as engine
from rosenblatt.errors import RowError, quote
from rosenblatt.tables import as_column, find_large, is_missing, refuse_masked
from rosenblatt.text import join_words, plural

SAMPLE = 64  # labels that are compared first


def column_or_1d(y: Any) -> Any:
    """Return labels in one dimension; warn about a column vector, as scikit-learn does."""
    if isinstance(y, list) and y and isinstance(y[0], list | tuple):
        y = np.asarray(y)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; y.ravel() is used.",
            DataConversionWarning,
            stacklevel=4,
        )
        return np.ma.ravel(y) if np.ma.isMaskedArray(y) else np.asarray(y).ravel()
    return y


def generator(random_state: Any) -> np.random.Generator:
    """Convert `random_state`, as scikit-learn takes it, to a NumPy generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is np.random:
        random_state = np.random.mtrand._rand
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    if random_state is None or (
        isinstance(random_state, numbers.Integral) and int(random_state) >= 0
    ):
        return np.random.default_rng(None if random_state is None else int(random_state))
    raise ValueError(
        f"random_state is {random_state!r}; "
        "give None, an integer >= 0, a RandomState or a Generator."
    )


def one_of(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return a parameter as str; raise ValueError unless it is one of the choices."""
    choices = tuple(choices)
    if value not in choices:
        shown = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} is {quote(value)}; give one of {shown}.")
    return str(value)


def flag(name: str, value: Any) -> None:
    """Raise ValueError unless a parameter is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {quote(value)}; give True or False.")


def class_weights(
    given: Any, labels: list[Any], counts: NDArray[np.intp] | None
) -> NDArray[np.float64]:
    """Convert `class_weight` (a dict or "balanced") to an array with one weight per class.

    `counts` holds the number of rows of each class; it is None in a stream.
    """
    if given == "balanced" and counts is not None:
        return np.asarray(counts.sum() / (float(len(labels)) * counts))
    if not isinstance(given, dict):
        hint = "'balanced' needs all the data; " if given == "balanced" else ""
        raise ValueError(
            f"class_weight is {quote(given)}; {hint}give weights as {{label: weight}}."
        )
    unknown = [key for key in given if key not in labels]
    if unknown:
        raise ValueError(f"class_weight names {quote(unknown[0])}; the classes are {labels}.")
    values = [given.get(label, 1.0) for label in labels]
    each = np.array([float(v) if isinstance(v, numbers.Real) else math.nan for v in values])
    for label, weight in zip(labels, each, strict=True):
        if not 0 <= weight < math.inf:
            raise ValueError(
                f"class_weight of {quote(label)} is {quote(given[label])}; give a number >= 0."
            )
    return each


def row_weights(weights: Any, n: int) -> NDArray[np.float64]:
    """Check sample weights and return an array; a single number applies to all rows."""
    refuse_masked(weights, "sample_weight")
    try:
        s = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight is not a list of numbers: {error}; give one number >= 0 per row."
        ) from None
    if s.ndim == 0:
        s = np.full(n, float(s))
    if s.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {s.shape}; give one weight for each of the {n} rows."
        )
    bad = np.flatnonzero(~(np.isfinite(s) & (s >= 0)))
    if len(bad):
        raise RowError("sample_weight of ", int(bad[0]), f" is {s[bad[0]]}; give a number >= 0.")
    return np.ascontiguousarray(s)


def positive_number(name: str, value: Any) -> float:
    """Return a parameter as float; raise ValueError unless it is a finite number above 0."""
    # Python's own floats first: isinstance with an abstract class takes twenty times as long.
    number = type(value) is float or (
        isinstance(value, numbers.Real) and not isinstance(value, bool)
    )
    if not number or not 0 < float(value) < math.inf:
        raise ValueError(f"{name} is {quote(value)}; give a number above 0.")
    return float(value)


def whole_number(name: str, value: Any, least: int) -> int:
    """Return a parameter as int; raise ValueError unless it is an integer >= `least`."""
    whole = type(value) is int or (
        isinstance(value, numbers.Integral) and not isinstance(value, bool)
    )
    if not whole or int(value) < least:
        raise ValueError(f"{name} is {quote(value)}; give an integer >= {least}.")
    return int(value)


def finite(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Convert a value to an array of the given shape; raise ValueError on NaN or infinity."""
    try:
        array = np.asarray(value, dtype=np.float64).ravel()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not a list of numbers: {error}.") from None
    if len(array) != math.prod(shape):
        wanted = " × ".join(map(str, shape)) or "1"
        raise ValueError(f"{name} has {plural(len(array), 'number')}; give {wanted}.")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ValueError(f"{name}, position {bad[0]}: {array[bad[0]]} is not a finite number.")
    return array.reshape(shape)


def threads(n_jobs: Any) -> int:
    """Return the number of threads for `n_jobs`; None and -1 mean one per core."""
    if n_jobs is None:
        return engine.cores()
    if not isinstance(n_jobs, numbers.Integral) or int(n_jobs) == 0:
        raise ValueError(f"n_jobs is {n_jobs!r}; give None or an integer other than 0.")
    jobs = int(n_jobs)
    return jobs if jobs > 0 else max(1, engine.cores() + 1 + jobs)


def encode_labels(
    y: Any, known: NDArray[Any] | None
) -> tuple[NDArray[np.signedinteger[Any]], NDArray[Any]]:
    """Encode labels as -1 and +1 or, if there are more than two, as positions in sort order.

    Also return the sorted labels. Raise ValueError on continuous values.
    """
    y = check_labels(y)
    if known is not None:
        labels = known
    elif len(y) == 0:
        raise ValueError("y is empty; give one label for each row of X.")
    else:  # the first two different labels, usually in the first rows
        others = (int(np.asarray(some != some[0], dtype=bool).argmax()) for some in (y[:SAMPLE], y))
        other = next((n for n in others if n), 0)
        if not other:
            only = quote(y[:1].tolist()[0])
            raise ValueError(
                f"y has only one class, {only}; learning needs examples of two classes."
            )
        pair = y[[0, other]]
        labels = sort_labels(pair) if pair.dtype.kind == "O" else np.sort(pair)
    if len(labels) == 2:
        is_positive = np.asarray(y == labels[1], dtype=bool)
        is_either = np.asarray(y == labels[0], dtype=bool)
        is_either |= is_positive
        if is_either.all():
            signs = is_positive.view(np.int8) * np.int8(2)
            signs -= np.int8(1)
            return signs, labels
        if known is not None:
            raise make_class_error(y, int(is_either.argmin()), known)
    if known is None:
        known = sort_labels(y)
        if is_continuous(y, known):
            raise make_too_many_error(y, known)
    places = np.minimum(np.searchsorted(known, y), len(known) - 1)
    unknown = np.flatnonzero(known[places] != y)
    if len(unknown):
        raise make_class_error(y, int(unknown[0]), known)
    return places.astype(np.int32), known


def check_labels(y: Any) -> NDArray[Any]:
    """Return y as a 1-d array; raise ValueError on missing or infinite labels."""
    if y is None:
        raise ValueError(
            "learning requires y to be passed, but the target y is None: give a label for each row."
        )
    refuse_masked(y, "y")
    labels = as_column(y)
    if isinstance(y, list | tuple) and labels.dtype.kind == "f" and len(find_large(labels.ravel())):
        labels = np.array(y, dtype=object)  # two long integers could be equal as doubles
    if labels.ndim != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {labels.shape} instead: "
            "give one label for each row."
        )
    if labels.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(labels))
    elif labels.dtype.kind == "O":
        bad = np.flatnonzero([is_missing(cell) for cell in labels])
    else:
        bad = np.array([], dtype=np.intp)
    if len(bad):
        what = "NaN" if is_missing(labels[bad[0]]) else "infinity"
        raise RowError(f"Input y contains {what} in ", int(bad[0]), "; each row needs a label.")
    return labels


def one_class_labels(y: Any) -> NDArray[Any] | None:
    """Return the two labels to use if y has a single class, or None if it has several.

    A class 0, -1 or False is the negative label, with 1 as the positive one. Any other class is
    both labels of the pair.
    """
    y = check_labels(y)
    if len(y) == 0 or (y != y[0]).any():
        return None
    only = y[0]
    if y.dtype.kind in "biuf" and only in (0, -1):
        return np.array([only, 1])
    return np.array([only, only], dtype=y.dtype)


def index_labels(y: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted distinct labels, and the position of each row's label among them."""
    y = check_labels(y)
    labels = sort_labels(y)
    return labels, np.searchsorted(labels, y)


def sort_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted distinct labels; raise ValueError if they cannot be compared."""
    try:
        return np.unique(y)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in y})
        raise ValueError(
            f"y mixes labels of types {' and '.join(kinds)}; give all the same type "
            "(classes must be uniformly strings or numbers)."
        ) from None


def is_continuous(y: NDArray[Any], labels: NDArray[Any]) -> bool:
    """Return whether y holds continuous values (numbers with a fraction), not labels."""
    return y.dtype.kind == "f" and bool((labels != np.round(labels)).any())


def make_too_many_error(y: NDArray[Any], labels: NDArray[Any]) -> ValueError:
    """Return the error for more than two labels, or for continuous values."""
    first = [repr(label) for label in labels[:4].tolist()]
    shown = ", ".join(first + ["…"] * (len(labels) > 4))
    if is_continuous(y, labels):
        return ValueError(
            f"Unknown label type: y has {len(labels)} different numbers ({shown}), continuous "
            "values; give two labels."
        )
    return ValueError(
        "Only binary classification is supported. "
        f"y has {len(labels)} classes ({shown}); give two labels."
    )


def make_class_error(y: NDArray[Any], row: int, labels: NDArray[Any]) -> RowError:
    """Return the error for a row whose label is not one of the known classes."""
    shown = join_words([quote(label) for label in labels.tolist()])
    (label,) = y[[row]].tolist()
    return RowError("y, ", row, f": {quote(label)} is not one of the classes {shown}.")


def check_lengths(rows: int, labels: int) -> None:
    """Raise ValueError unless there is one label for each row."""
    if rows != labels:
        raise ValueError(
            f"X has {plural(rows, 'row')} but y has {plural(labels, 'label')}; "
            "inconsistent numbers of samples: give one label for each row."
        )
