"""What a stream is given: one row, a block of rows, labels and answers, checked before learning."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.kernels as kernels
from rosenblatt.algorithms.memory import Names, StreamMemory
from rosenblatt.errors import RowError, quoted
from rosenblatt.examples import as_table, kernel_rows, sum_of_squares
from rosenblatt.scoring import LONGEST_SQUARED
from rosenblatt.tables import (
    LARGE,
    PROMISED,
    as_column,
    floats,
    is_changed,
    missing,
    numbers_in,
    refuse_masked,
)
from rosenblatt.words import counted

NUMBERS = numbers.Real | np.bool_ | Decimal
NOT_A_LABEL = "is not one of the labels"


def plain_row(x: Any, memory: StreamMemory | None = None) -> dict[Hashable, float]:
    """One example as a dict of Python's floats; refuses what is no number, saying which.

    Examples
    --------
    >>> plain_row(np.array([1, 2], dtype=np.int8))
    {0: 1.0, 1: 2.0}
    """
    if type(x) is dict and _surely_numbers(x.values()):
        return {name: float(value) for name, value in x.items()}
    if isinstance(x, Mapping) or type(x).__name__ == "Series":
        items = list(x.items())
    else:
        items = list(enumerate(_one_dimension(x, memory)))
    row = {}
    for name, value in items:
        if not isinstance(value, NUMBERS) or isinstance(value, np.timedelta64):
            raise ValueError(f"x, feature {quoted(name)}: {quoted(value)} is not a number.")
        row[name] = _finite(value, name)
    if not sum(v * v for v in row.values()) < LONGEST_SQUARED:
        raise ValueError("x is longer than 1e100; scale the features first.")
    return row


def _surely_numbers(values: Collection[Any]) -> bool:
    """Whether these are Python's own numbers, none of them too large or rounded as a float."""
    try:
        return {*map(type, values)} <= {float, int} and math.hypot(*values) < LARGE
    except OverflowError:
        return False


def _finite(value: Any, name: Hashable) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        what = "NaN" if math.isnan(number) else "infinity"
        raise ValueError(
            f"x, feature {quoted(name)}: {what} is not a number that can be learnt from. "
            "Leave the feature out or fill in a value."
        )
    if abs(number) >= LARGE and is_changed(value, number):
        plain = value.item() if isinstance(value, np.generic) else value
        raise ValueError(
            f"x, feature {quoted(name)}: {quoted(plain)} is not {PROMISED}. Subtract a number from "
            "the feature in every example first, or leave it out."
        )
    if not number * number < LONGEST_SQUARED:
        raise ValueError(
            f"x, feature {quoted(name)}: {number:g} is too large; scale the features first."
        )
    return number


def _one_dimension(x: Any, memory: StreamMemory | None) -> list[Any]:
    refuse_masked(x, "x")
    array = x if isinstance(x, np.ndarray) else np.asarray(x, dtype=object)  # nothing is rounded
    if array.ndim != 1:
        raise ValueError(
            f"x has {counted(array.ndim, 'dimension')}; give a dict of features or a 1-d array, "
            "and blocks of rows to learn_many and predict_many."
        )
    if memory is not None:
        _check_places(memory)
    values: list[Any] = array.tolist()
    return values


def _check_places(memory: StreamMemory) -> None:
    if memory.has_names():
        raise ValueError(
            "this model has learnt named features, and an array has none; "
            "give a dict, a frame or an Arrow batch."
        )


@dataclass(frozen=True, eq=False)
class Named:
    """An array of floats with names for its columns."""

    X: NDArray[Any]
    names: tuple[Hashable, ...]


@dataclass(frozen=True, eq=False)
class Block:
    """A block of rows, and the names of its columns."""

    table: Any  # array or CSR matrix
    layout: Names  # the features that the columns are

    @classmethod
    def of(cls, X: Any, memory: StreamMemory) -> Block:
        """Take a block; its values are not looked at yet, the kernel will."""
        names = X.names if isinstance(X, Named) else _columns(X)
        if isinstance(X, Named):
            X = X.X
        try:
            table = floats(X)
        except TypeError as error:  # of a cell that holds an object; one row of it is refused alike
            raise ValueError(str(error)) from None
        if names is None:
            _check_places(memory)
        elif len(set(names)) < len(names):
            raise ValueError("X has two columns of the same name; give each its own.")
        if not isinstance(table, np.ndarray) and not table.has_canonical_format:
            table = table.copy()
            table.sum_duplicates()
        return cls(table, range(table.shape[1]) if names is None else names)

    def check(self) -> None:
        """Refuse the block if any number is bad, saying which."""
        table = self.table
        if sum_of_squares(numbers_in(table)) < LONGEST_SQUARED:
            return
        as_table(table)  # which refuses what is not finite
        for n in range(self.n):
            row = table[n] if isinstance(table, np.ndarray) else table[[n]].data
            if not sum_of_squares(row.astype(np.float64)) < LONGEST_SQUARED:
                raise RowError("X, ", n, " is longer than 1e100; scale the features first.")

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.table.shape[0])

    def rows(
        self, x0: float, step: NDArray[np.float64], begin: int = 0
    ) -> kernels.Dense | kernels.Sparse:
        """As many rows as there are steps, as the kernels take them."""
        return kernel_rows(self.table, x0, step, slice(begin, begin + len(step)))


def _columns(X: Any) -> tuple[Hashable, ...] | None:
    names = getattr(X, "column_names", None)  # Arrow
    if names is None:
        names = getattr(X, "columns", None)
    if names is None:
        return None
    return tuple(int(name) if isinstance(name, np.integer) else name for name in names)


@dataclass(frozen=True)
class Labels:
    """The labels met so far: none, one, or both, the smaller in sort order first.

    While there is only one, its sign is not known; it is taken as +1. More than two are all
    known from the start.

    Examples
    --------
    >>> labels = Labels().learn("spam").learn("ham")
    >>> labels.met, labels.sign("spam")
    (('ham', 'spam'), 1)
    """

    met: tuple[Any, ...] = ()

    @classmethod
    def of(cls, given: Any) -> Labels:
        """The labels as a person gives them: none, or two, or more."""
        if given is None:
            return cls()
        try:
            plain = [_plain_label(label) for label in given]
            different = set(plain)
        except TypeError:
            different = set()
        if isinstance(given, str) or len(different) < 2 or len(different) < len(plain):
            raise ValueError(
                f"labels is {quoted(given)}; give two different labels or more, or None."
            )
        for label in plain[1:]:
            cls(tuple(plain[:1])).learn(label)  # refuses what has no order
        return cls(tuple(sorted(plain)))

    @property
    def both(self) -> bool:
        """Whether both labels, or all of more, are known."""
        return len(self.met) >= 2

    def sign(self, label: Any) -> int | None:
        """+1 or -1, or None for a label not met."""
        if label not in self.met:
            return None
        return 1 if label == self.met[-1] else -1

    def learn(self, label: Any) -> Labels:
        """The labels with this one among them; refuses a third, and what is no label."""
        label = _plain_label(label)
        if label in self.met:
            return self
        if self.both:
            *first, last = map(quoted, self.met)
            raise ValueError(f"{quoted(label)} {NOT_A_LABEL} {', '.join(first)} and {last}.")
        if not self.met:
            return Labels((label,))
        try:
            return Labels(tuple(sorted((*self.met, label))))
        except TypeError:
            raise ValueError(
                f"the labels {quoted(self.met[0])} and {quoted(label)} are of different kinds and "
                "have no order; make them both text or both numbers."
            ) from None

    def named(self, answers: NDArray[np.int8]) -> NDArray[Any]:
        """Answers -1, 0 and +1, or places, as labels; None where no label is known."""
        if not self.met:
            return np.full(len(answers), None)
        if len(self.met) > 2:
            return np.asarray(np.array(self.met)[answers])
        names = np.array((self.met[0], self.met[-1]))
        return names[(answers > 0).astype(np.intp)]


def _plain_label(label: Any) -> Any:
    """A label as Python's own type; refuses what is no label."""
    if isinstance(label, np.generic):
        label = label.item()
    try:
        hash(label)
    except TypeError:
        raise ValueError(
            f"{quoted(label)} is not a label; give text, a number or a bool."
        ) from None
    if missing(label) or (isinstance(label, float) and math.isinf(label)):
        raise ValueError(f"{quoted(label)} is not a label; an example to learn needs its answer.")
    return label


@dataclass(frozen=True, eq=False)
class BlockAnswers:
    """The answers of a block, some of which may be missing."""

    values: NDArray[Any]  # the labels
    missing: NDArray[np.bool_] | None  # where there is none; None where each row has its answer

    @classmethod
    def of(cls, y: Any, n: int, every: bool) -> BlockAnswers:
        """Check answers; with `every`, each row needs one."""
        refuse_masked(y, "y")
        values = as_column(y)
        if values.dtype.kind == "T":
            values = values.astype(object)
        if values.ndim != 1 or len(values) != n:
            raise ValueError(
                f"X has {counted(n, 'row')} and y has shape {values.shape}; give one answer each."
            )
        missing = _missing(values)
        if every and missing is not None:
            row = int(np.flatnonzero(missing)[0])
            raise RowError("y, ", row, ": there is no answer; each row needs one.")
        return cls(values, missing)

    def plan(self, labels: Labels) -> list[tuple[int, int, Labels]]:
        """Cut the block where a label is met for the first time; refuses a third before it begins.

        Says where a part begins and ends and the labels known once its first row is learnt.
        """
        cuts = [(0, labels)]
        while (row := self._strange(labels)) is not None:
            try:
                labels = labels.learn(self.values[row])
            except ValueError as error:
                raise RowError("y, ", row, f": {error}") from None
            cuts.append((row, labels))
        ends = [row for row, _ in cuts[1:]] + [len(self.values)]
        return [(at, end, known) for (at, known), end in zip(cuts, ends, strict=True) if at < end]

    def refused(self, labels: Labels) -> dict[int, str]:
        """The rows whose answers cannot be learnt after those before them, and why."""
        skipped = np.zeros(len(self.values), dtype=bool) if self.missing is None else self.missing
        result: dict[int, str] = {}
        while (row := BlockAnswers(self.values, skipped)._strange(labels)) is not None:
            try:
                labels = labels.learn(self.values[row])
            except ValueError as error:
                same = np.asarray(self.values == self.values[row], dtype=bool)
                same[row] = True
                result.update(dict.fromkeys(np.flatnonzero(same & ~skipped).tolist(), str(error)))
                skipped = skipped | same
        return result

    def steps(self, labels: Labels, eta: float, begin: int, end: int) -> NDArray[np.float64]:
        """eta·y for a part of the answers, all of them known; 0 where there is none."""
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
        """The place among more than two labels of a part of the answers; NONE where none is."""
        places = np.full(end - begin, kernels.NONE, dtype=np.int32)
        for place, label in enumerate(labels.met):
            places[np.asarray(self.values[begin:end] == label, dtype=bool)] = place
        return places

    def _strange(self, labels: Labels) -> int | None:
        """The first row whose answer is not among the labels."""
        values, met = self.values, labels.met
        if values.dtype == bool and met == (False, True):
            return None
        fine = np.zeros(len(values), dtype=bool) if self.missing is None else self.missing.copy()
        for label in met:
            fine |= np.asarray(values == label, dtype=bool)
        return None if fine.all() else int(fine.argmin())


def _missing(values: NDArray[Any]) -> NDArray[np.bool_] | None:
    if values.dtype.kind == "f":
        gaps = np.isnan(values)
    elif values.dtype.kind == "O":
        gaps = np.array([missing(value) for value in values], dtype=bool)
    else:
        return None
    return gaps if gaps.any() else None
