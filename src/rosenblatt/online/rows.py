"""Checks and conversion of the rows and labels given to an online perceptron."""

from __future__ import annotations

import contextlib
import math
import numbers
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.rowformats as rowformats
from rosenblatt.errors import RowError, quote
from rosenblatt.examples import as_table, sum_of_squares
from rosenblatt.online.memory import Names, StreamMemory
from rosenblatt.rowformats import LONGEST_SQUARED, kernel_rows
from rosenblatt.tables import (
    LARGE,
    PROMISED,
    as_column,
    is_changed,
    is_missing,
    numbers_in,
    refuse_masked,
    sum_duplicates,
    to_floats,
)
from rosenblatt.text import plural

NUMBERS = numbers.Real | np.bool_ | Decimal
NOT_A_LABEL = "is not one of the labels"


def plain_row(x: Any, memory: StreamMemory | None = None) -> dict[Hashable, float]:
    """Return an example as a dict of floats, or raise ValueError.

    Examples
    --------
    >>> plain_row(np.array([1, 2], dtype=np.int8))
    {0: 1.0, 1: 2.0}
    """
    if type(x) is dict and {*map(type, x.values())} <= {float, int}:
        with contextlib.suppress(OverflowError):
            if math.hypot(*x.values()) < LARGE:  # smaller integers are exact as floats
                return {name: float(value) for name, value in x.items()}
    if isinstance(x, Mapping) or type(x).__name__ == "Series":
        items = list(x.items())
    else:
        refuse_masked(x, "x")
        array = x if isinstance(x, np.ndarray) else np.asarray(x, dtype=object)  # exact values
        if array.ndim != 1:
            raise ValueError(
                f"x has {plural(array.ndim, 'dimension')}; give a dict of features or a 1-d "
                "array. Pass blocks of rows to learn_many or predict_many."
            )
        if memory is not None:
            memory.refuse_unnamed()
        items = list(enumerate(array.tolist()))
    row = {}
    for name, value in items:
        if not isinstance(value, NUMBERS) or isinstance(value, np.timedelta64):
            raise ValueError(f"x, feature {quote(name)}: {quote(value)} is not a number.")
        row[name] = _finite(value, name)
    if not sum(v * v for v in row.values()) < LONGEST_SQUARED:
        raise ValueError("x has a norm of 1e100 or more; scale the features first.")
    return row


def _finite(value: Any, name: Hashable) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        what = "NaN" if math.isnan(number) else "infinite"
        raise ValueError(
            f"x, feature {quote(name)} is {what}. Leave the feature out or fill in a value."
        )
    if abs(number) >= LARGE and is_changed(value, number):
        plain = value.item() if isinstance(value, np.generic) else value
        raise ValueError(
            f"x, feature {quote(name)}: {quote(plain)} is not {PROMISED}. Subtract the same number "
            "from the feature in every example first, or leave it out."
        )
    if not number * number < LONGEST_SQUARED:
        raise ValueError(
            f"x, feature {quote(name)}: {number:g} is too large; scale the features first."
        )
    return number


@dataclass(frozen=True, eq=False)
class Block:
    """Block of rows with the names of its columns."""

    table: Any  # array or CSR matrix
    layout: Names  # the feature of each column

    @classmethod
    def of(cls, X: Any, memory: StreamMemory) -> Block:
        """Convert an array or a frame to a block, without checking for NaN and infinity."""
        if isinstance(X, Block):
            return X
        names = getattr(X, "column_names", None)  # Arrow
        names = getattr(X, "columns", None) if names is None else names
        if names is not None:
            names = tuple(int(n) if isinstance(n, np.integer) else n for n in names)
        try:
            table = to_floats(X)
        except TypeError as error:  # a cell holds an object; `plain_row` raises ValueError too
            raise ValueError(str(error)) from None
        if names is None:
            memory.refuse_unnamed()
        elif len(set(names)) < len(names):
            raise ValueError("X has two columns with the same name; give each column its own.")
        table = sum_duplicates(table)
        return cls(table, range(table.shape[1]) if names is None else names)

    def check(self) -> None:
        """Raise an error about the first row with NaN, infinity or too large numbers."""
        table = self.table
        if sum_of_squares(numbers_in(table)) < LONGEST_SQUARED:
            return
        as_table(table)  # raises on NaN and infinity
        for n in range(self.n):
            row = numbers_in(table[[n]])
            if not sum_of_squares(row.astype(np.float64)) < LONGEST_SQUARED:
                raise RowError("X, ", n, " has a norm of 1e100 or more; scale the features first.")

    @property
    def n(self) -> int:
        return int(self.table.shape[0])

    def rows(
        self, x0: float, step: NDArray[np.float64], begin: int = 0
    ) -> rowformats.Dense | rowformats.Sparse:
        """Return the rows from `begin` on for compiled kernels, one for each entry of `step`.

        `step` has the factor by which an update multiplies each row.
        """
        return kernel_rows(self.table, x0, step, slice(begin, begin + len(step)))


@dataclass(frozen=True)
class Labels:
    """Labels known so far, in sort order.

    Two labels become known as they are seen. While there is only one, its sign is unknown, and it
    counts as +1. More than two labels are all known from the start.

    Examples
    --------
    >>> labels = Labels().learn("spam").learn("ham")
    >>> labels.met, labels.sign("spam")
    (('ham', 'spam'), 1)
    """

    met: tuple[Any, ...] = ()

    @classmethod
    def of(cls, given: Any) -> Labels:
        """Check and sort the labels that a user lists; None means not yet known."""
        if given is None:
            return cls()
        try:
            plain = [_plain_label(label) for label in given]
            different = set(plain)
        except TypeError:
            different = set()
        if isinstance(given, str) or len(different) < 2 or len(different) < len(plain):
            raise ValueError(
                f"labels is {quote(given)}; give at least two different labels, or None."
            )
        for label in plain[1:]:
            cls(tuple(plain[:1])).learn(label)  # raises if they have no order
        return cls(tuple(sorted(plain)))

    @property
    def both(self) -> bool:
        """Whether at least two labels are known."""
        return len(self.met) >= 2

    def sign(self, label: Any) -> int | None:
        """Return +1 for the positive label, -1 for the negative, None for any other."""
        if label not in self.met:
            return None
        return 1 if label == self.met[-1] else -1

    def learn(self, label: Any) -> Labels:
        """Add a label, or raise ValueError if it is new and two are known already."""
        label = _plain_label(label)
        if label in self.met:
            return self
        if self.both:
            *first, last = map(quote, self.met)
            raise ValueError(f"{quote(label)} {NOT_A_LABEL} {', '.join(first)} and {last}.")
        if not self.met:
            return Labels((label,))
        try:
            return Labels(tuple(sorted((*self.met, label))))
        except TypeError:
            raise ValueError(
                f"the labels {quote(self.met[0])} and {quote(label)} have different types and "
                "cannot be sorted; make them both text or both numbers."
            ) from None

    def from_predictions(self, predictions: NDArray[Any]) -> NDArray[Any]:
        """Convert predicted signs or label indices to labels; to None before a label is known."""
        if not self.met:
            return np.full(len(predictions), None)
        if len(self.met) > 2:
            return np.asarray(np.array(self.met)[predictions])
        names = np.array((self.met[0], self.met[-1]))
        return names[(predictions > 0).astype(np.intp)]


def _plain_label(label: Any) -> Any:
    """Return a label as a Python value, or raise ValueError if it cannot be one."""
    if isinstance(label, np.generic):
        label = label.item()
    try:
        hash(label)
    except TypeError:
        raise ValueError(f"{quote(label)} is not a label; give text, a number or a bool.") from None
    if is_missing(label) or (isinstance(label, float) and math.isinf(label)):
        raise ValueError(f"{quote(label)} is not a label; an example to learn from needs one.")
    return label


@dataclass(frozen=True, eq=False)
class BlockLabels:
    """Labels of a block of rows, some of which may be missing."""

    values: NDArray[Any]
    missing: NDArray[np.bool_] | None  # None if every row has a label

    @classmethod
    def of(cls, y: Any, n: int, every: bool) -> BlockLabels:
        """Check the labels of n rows and, if `every` is true, that none is missing."""
        refuse_masked(y, "y")
        values = as_column(y)
        if values.dtype.kind == "T":
            values = values.astype(object)
        if values.ndim != 1 or len(values) != n:
            raise ValueError(
                f"X has {plural(n, 'row')} and y has shape {values.shape}; give one label per row."
            )
        missing: NDArray[np.bool_] | None = None
        if values.dtype.kind == "f":
            missing = np.isnan(values)
        elif values.dtype.kind == "O":
            missing = np.array([is_missing(value) for value in values], dtype=bool)
        if missing is not None and not missing.any():
            missing = None
        if every and missing is not None:
            row = int(np.flatnonzero(missing)[0])
            raise RowError("y, ", row, ": the label is missing; each row needs one.")
        return cls(values, missing)

    def plan(self, labels: Labels) -> list[tuple[int, int, Labels]]:
        """Split the rows into parts, each beginning where a new label appears.

        Returns begin, end and known labels of each part. A third label raises ValueError before any
        row is learned.
        """
        cuts = [(0, labels)]
        while (row := self._first_unknown(labels)) is not None:
            try:
                labels = labels.learn(self.values[row])
            except ValueError as error:
                raise RowError("y, ", row, f": {error}") from None
            cuts.append((row, labels))
        ends = [row for row, _ in cuts[1:]] + [len(self.values)]
        return [(at, end, known) for (at, known), end in zip(cuts, ends, strict=True) if at < end]

    def refused(self, labels: Labels) -> dict[int, str]:
        """Return the reason for each row whose label cannot be learned, by row number."""
        skipped = np.zeros(len(self.values), dtype=bool) if self.missing is None else self.missing
        result: dict[int, str] = {}
        while (row := BlockLabels(self.values, skipped)._first_unknown(labels)) is not None:
            try:
                labels = labels.learn(self.values[row])
            except ValueError as error:
                same = np.asarray(self.values == self.values[row], dtype=bool)
                same[row] = True
                result.update(dict.fromkeys(np.flatnonzero(same & ~skipped).tolist(), str(error)))
                skipped = skipped | same
        return result

    def steps(self, labels: Labels, eta: float, begin: int, end: int) -> NDArray[np.float64]:
        """Return eta·y of the rows from `begin` to `end`, or 0 where a label is missing."""
        if not labels.met:
            return np.zeros(end - begin)
        values = self.values[begin:end]
        plain = values.dtype == bool and labels.met[-1] is True
        yes = values if plain else values == labels.met[-1]
        steps = np.where(yes, eta, -eta)
        if self.missing is not None:
            steps[self.missing[begin:end]] = 0.0
        return steps

    def places(self, labels: Labels, begin: int, end: int) -> NDArray[np.int32]:
        """Return the label indices of the rows from `begin` to `end`, NONE where missing."""
        places = np.full(end - begin, rowformats.NONE, dtype=np.int32)
        for place, label in enumerate(labels.met):
            places[np.asarray(self.values[begin:end] == label, dtype=bool)] = place
        return places

    def _first_unknown(self, labels: Labels) -> int | None:
        """Return the first row whose label is not in `labels`, or None."""
        values, met = self.values, labels.met
        if values.dtype == bool and met == (False, True):
            return None
        known = np.zeros(len(values), dtype=bool) if self.missing is None else self.missing.copy()
        for label in met:
            known |= np.asarray(values == label, dtype=bool)
        return None if known.all() else int(known.argmin())
