"""Whole numbers as doubles: each one exactly, or it is known which would be changed.

Doubles hold every whole number up to 2^53, and above it only some. An id or a time in
nanoseconds that is rounded becomes another one, so it is refused instead.
"""

from __future__ import annotations

import math
import numbers
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

FIRST = 2.0**53  # from here on whole numbers may be rounded
PROMISED = "a number that a double holds exactly"
WRITTEN = re.compile(r"\s*[+-]?(\d+)(?:[.,]0*)?\s*")
DIGITS = 400  # longer ones are not finite as doubles


def large(numbers: NDArray[Any]) -> NDArray[np.intp]:
    """Where doubles are so large that they may be rounded whole numbers."""
    if len(numbers) == 0:
        return np.empty(0, dtype=np.intp)
    with np.errstate(invalid="ignore"):
        high, low = np.fmax.reduce(numbers), np.fmin.reduce(numbers)
        if not (high >= FIRST or low <= -FIRST):
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(np.abs(numbers) >= FIRST)


def first_changed(values: NDArray[Any], floats: NDArray[np.float64]) -> int | None:
    """The flat place of the first whole number that is not what it was, None if there is none.

    Parameters
    ----------
    values : array of integers, long doubles or objects
        The numbers as they were given.
    floats : array of float64
        The same as doubles.

    Examples
    --------
    >>> values = np.array([1, 2**53, 2**53 + 1, 2**63 - 1])
    >>> first_changed(values, values.astype(np.float64))
    2
    """
    flat = floats.reshape(-1)
    at = large(flat)
    if len(at) == 0:
        return None
    before, after = values.reshape(-1)[at], flat[at]
    if before.dtype.kind in "iu":
        top = 2.0 ** (63 + (before.dtype.kind == "u"))
        fits = after < top  # the least one is a power of two
        changed = ~fits | (np.where(fits, after, 0.0).astype(before.dtype) != before)
    elif before.dtype.kind == "f":
        changed = (before != after) & (before == np.rint(before))
    else:
        pairs = zip(before.tolist(), after.tolist(), strict=True)
        changed = np.array([is_changed(cell, number) for cell, number in pairs], dtype=bool)
    found = np.flatnonzero(changed)
    return int(at[found[0]]) if len(found) else None


def is_changed(cell: Any, number: float) -> bool:
    """Whether a cell is a whole number and not the double it was taken as.

    Examples
    --------
    >>> is_changed(2**53 + 1, 2.0**53), is_changed(Decimal("0.1"), 0.1), is_changed(7, 7.0)
    (True, False, False)
    """
    if isinstance(cell, str):
        return is_changed_text(cell)
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, Decimal) and cell.is_finite() and cell.adjusted() < DIGITS:
        cell = Fraction(cell)
    if not isinstance(cell, numbers.Rational) or cell.denominator != 1:
        return False
    return not math.isfinite(number) or Fraction(number) != cell


def is_changed_text(text: str) -> bool:
    """Whether a whole number as it is written is not the double it stands for.

    Examples
    --------
    >>> is_changed_text("9007199254740993"), is_changed_text("1e300"), is_changed_text("0.1")
    (True, False, False)
    """
    whole = WRITTEN.fullmatch(text)
    if whole is None or len(whole[1]) > DIGITS:
        return False
    number = float(whole[1])
    return math.isfinite(number) and int(whole[1]) != number
