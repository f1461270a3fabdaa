"""Checks of what a person gives, at the edge and once, each with one clear sentence."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.engine as engine
from rosenblatt.errors import RowError, quoted
from rosenblatt.tables import refuse_masked
from rosenblatt.words import counted


def column_or_1d(y: Any) -> Any:
    """Take a column of answers as one dimension, with scikit-learn's warning."""
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
    """scikit-learn's random_state as NumPy's generator; the same int gives the same numbers."""
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
        "give None, a whole number from 0 up, a RandomState or a Generator."
    )


def one_of(name: str, value: Any, choices: Iterable[str]) -> str:
    """Refuse a word that is not among the choices."""
    choices = tuple(choices)
    if value not in choices:
        shown = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} is {quoted(value)}; give one of {shown}.")
    return str(value)


def flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {quoted(value)}; give True or False.")


def class_weights(
    given: Any, labels: list[Any], counts: NDArray[np.intp] | None
) -> NDArray[np.float64]:
    """The weights of the classes in their order; of a stream nobody knows how often each comes."""
    if given == "balanced" and counts is not None:
        return np.asarray(counts.sum() / (float(len(labels)) * counts))
    if not isinstance(given, dict):
        hint = "'balanced' needs all the data; " if given == "balanced" else ""
        raise ValueError(
            f"class_weight is {quoted(given)}; {hint}give weights as {{label: weight}}."
        )
    strange = [key for key in given if key not in labels]
    if strange:
        raise ValueError(f"class_weight names {quoted(strange[0])}; the classes are {labels}.")
    each = np.array([_number(given.get(label, 1.0)) for label in labels])
    for label, weight in zip(labels, each, strict=True):
        if not 0 <= weight < math.inf:
            raise ValueError(
                f"class_weight of {quoted(label)} is {quoted(given[label])}; give a number from 0 "
                "up."
            )
    return each


def row_weights(weights: Any, n: int) -> NDArray[np.float64]:
    """Check one weight for each row, or one for all."""
    refuse_masked(weights, "sample_weight")
    try:
        s = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight is not a list of numbers: {error}.") from None
    if s.ndim == 0:
        s = np.full(n, float(s))
    if s.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {s.shape}; give one weight for each of the {n} rows."
        )
    bad = np.flatnonzero(~(np.isfinite(s) & (s >= 0)))
    if len(bad):
        told = f" is {s[bad[0]]}; weights are numbers from 0 up."
        raise RowError("sample_weight of ", int(bad[0]), told)
    return np.ascontiguousarray(s)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, numbers.Real) else math.nan


def positive_number(name: str, value: Any) -> float:
    """Refuse what is not a number above 0."""
    # Python's own floats first: to ask an abstract class takes twenty times as long.
    number = type(value) is float or (
        isinstance(value, numbers.Real) and not isinstance(value, bool)
    )
    if not number or not 0 < float(value) < math.inf:
        raise ValueError(f"{name} is {quoted(value)}; give a number above 0.")
    return float(value)


def whole_number(name: str, value: Any, least: int) -> int:
    """Refuse what is not a whole number from `least` up."""
    whole = type(value) is int or (
        isinstance(value, numbers.Integral) and not isinstance(value, bool)
    )
    if not whole or int(value) < least:
        raise ValueError(f"{name} is {quoted(value)}; give a whole number from {least} up.")
    return int(value)


def finite(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Refuse numbers that are not finite or not as many as they should be."""
    try:
        array = np.asarray(value, dtype=np.float64).ravel()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not a list of numbers: {error}.") from None
    if len(array) != math.prod(shape):
        wanted = " × ".join(map(str, shape)) or "1"
        raise ValueError(f"{name} has {counted(len(array), 'number')}; give {wanted}.")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ValueError(f"{name}, position {bad[0]}: {array[bad[0]]} is not a finite number.")
    return array.reshape(shape)


def threads(n_jobs: Any) -> int:
    """n_jobs as a number of threads; None and -1 mean one a core."""
    if n_jobs is None:
        return engine.cores()
    if not isinstance(n_jobs, numbers.Integral) or int(n_jobs) == 0:
        raise ValueError(f"n_jobs is {n_jobs!r}; give None or a whole number of threads.")
    jobs = int(n_jobs)
    return jobs if jobs > 0 else max(1, engine.cores() + 1 + jobs)
