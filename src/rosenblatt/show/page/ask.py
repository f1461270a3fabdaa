"""Ask: what the page asks for, checked once, here."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import orders
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import ZEROS
from rosenblatt.show.page.limits import AskError, Limits
from rosenblatt.show.page.own import Own
from rosenblatt.show.page.presets import PRESETS, Plane
from rosenblatt.words import counted

ALGORITHMS = ("pla", "pocket", "ratchet", "online")
LARGEST = 1e9  # of a coordinate or a weight; the picture could not show more


@dataclass(frozen=True, eq=False)
class Ask:
    """A run that is asked for.

    Parameters
    ----------
    examples : Examples
        What to learn from.
    algorithm, order, zero : str
        One of `ALGORITHMS`, of `orders.NAMES`, of `ZEROS`.
    eta : float
        The length of a correction.
    start : array of shape (d + 1,)
        w(0).
    seed : int
        For the random orders.
    corrections : int
        The most that are made.
    """

    examples: Examples
    algorithm: str
    order: str
    zero: str
    eta: float
    start: NDArray[np.float64]
    seed: int
    corrections: int


def parsed(body: bytes) -> dict[str, Any]:
    """A request's body, which must be one JSON object."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise AskError("the request is not JSON.", 400) from None
    if not isinstance(found, dict):
        raise AskError("the request is not a JSON object.", 400)
    return found


def run_asked(given: dict[str, Any], limits: Limits, own: Own | None) -> Ask:
    """A run, from the object that the page sends."""
    whole = given.get("source") == "file"
    examples = _own(own).examples if whole else _plane(given, limits)
    return Ask(
        examples,
        _one_of(given, "algorithm", ALGORITHMS),
        _one_of(given, "order", orders.NAMES),
        _one_of(given, "zero", tuple(ZEROS)),
        _number(given, "eta", 1e-6, 1e6),
        _start(given, examples.d + 1),
        _whole(given, "seed", 0, 2**31 - 1),
        _whole(given, "corrections", 1, limits.corrections),
    )


def preset_asked(given: dict[str, Any]) -> tuple[str, int]:
    """A preset's name and seed."""
    return _one_of(given, "name", tuple(PRESETS)), _whole(given, "seed", 0, 2**31 - 1)


def columns_asked(given: dict[str, Any], own: Own | None) -> Plane:
    """Two columns of the file."""
    data = _own(own)
    return data.plane(*(_one_of(given, key, data.columns) for key in ("x", "y")))


def _own(own: Own | None) -> Own:
    if own is None:
        raise AskError("there is no file; start with `rosenblatt watch FILE` to show one.")
    return own


def _plane(given: dict[str, Any], limits: Limits) -> Examples:
    points, answers = given.get("points"), given.get("answers")
    if not isinstance(points, list) or not isinstance(answers, list) or not points:
        raise AskError("points and answers must be lists with at least one entry.")
    if len(points) > limits.points:
        raise AskError(
            f"{len(points):,} points are more than this page takes; "
            f"give at most {limits.points:,}.",
            413,
        )
    if len(points) != len(answers):
        raise AskError(
            f"{counted(len(points), 'point')} but {counted(len(answers), 'answer')} given."
        )
    for n, (point, answer) in enumerate(zip(points, answers, strict=True), start=1):
        if not isinstance(point, list) or len(point) != 2 or not all(map(_plain, point)):
            raise AskError(f"point {n} is not a pair of numbers between -1e9 and 1e9.")
        if isinstance(answer, bool) or answer not in (-1, 1):
            raise AskError(f"answer {n} is not -1 or 1.")
    labels = np.array([-1, 1])
    X = np.array(points, dtype=np.float64)
    return Examples.from_arrays(X, np.array(answers), labels=labels)


def _start(given: dict[str, Any], size: int) -> NDArray[np.float64]:
    start = given.get("start", [])
    if not isinstance(start, list) or not all(map(_plain, start)):
        raise AskError("the start must be a list of numbers between -1e9 and 1e9.")
    if not any(start):
        return np.zeros(size)
    if len(start) != size:
        raise AskError(
            f"the start has {counted(len(start), 'weight')}; these examples need {size}."
        )
    return np.array(start, dtype=np.float64)


def _plain(value: Any) -> bool:
    """Whether it is a number that fits the picture."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -LARGEST <= value <= LARGEST and math.isfinite(value)


def _one_of(given: dict[str, Any], key: str, choices: tuple[str, ...]) -> str:
    value = given.get(key)
    if not isinstance(value, str) or value not in choices:
        shown = ", ".join(choices[:8])
        raise AskError(f"{key} is not one of {shown}.")
    return value


def _number(given: dict[str, Any], key: str, least: float, most: float) -> float:
    value = given.get(key)
    if not _plain(value) or not least <= float(value) <= most:  # type: ignore[arg-type]
        raise AskError(f"{key} is not a number from {least:g} to {most:g}.")
    return float(value)  # type: ignore[arg-type]


def _whole(given: dict[str, Any], key: str, least: int, most: int) -> int:
    value = given.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise AskError(f"{key} is not a whole number from {least:,} to {most:,}.")
    return value
