"""Survey: what the cells of a column are, added up over all rows, however they come."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rosenblatt.errors import BadCellError
from rosenblatt.read.columns import (
    DECIMALS,
    Parsed,
    Styles,
    as_numbers,
    as_text,
    decoded,
    is_text,
    refused,
    split_entries,
)
from rosenblatt.read.encoding import plain_labels
from rosenblatt.read.types import MISSING

RUN = 1 << 16  # numbers are added up so many at a time, counted from the first row
CACHED = 1 << 13  # and of these so many, for which memory is at hand
LOOKED_AT = 1 << 18  # cells by which a column of ids is known: they are kept meanwhile
MANY = 1000  # different answers are told apart up to so many


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one schema, as often as they are asked for."""

    schema: Any
    batches: Callable[[], Iterable[Any]]

    @classmethod
    def of(cls, table: Any) -> Rows:
        """All rows of a table that is held."""
        return cls(table.schema, lambda: (table,))

    @property
    def names(self) -> list[str]:
        """The columns."""
        names: list[str] = self.schema.names
        return names

    def parts(self) -> Iterator[Any]:
        """All rows in order, not too many at a time."""
        for batch in self.batches():
            for start in range(0, batch.num_rows, RUN):
                yield batch.slice(start, RUN)


class Distinct:
    """The different values met, up to so many; None for all."""

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.values: dict[Any, None] = {}

    @property
    def many(self) -> bool:
        """Whether there are more than were to be told apart."""
        return self.most is not None and len(self.values) > self.most

    def add(self, values: Any) -> None:
        """Look at an Arrow array of values that differ."""
        if not self.many:
            most = len(values) if self.most is None else self.most + 1
            new = values if len(values) <= most else values.slice(0, most)
            self.values.update(dict.fromkeys(new.to_pylist()))


class Different:
    """Whether no value comes twice, as of names and ids, among the first ones."""

    def __init__(self) -> None:
        self.met, self.count, self.yes = pa.array([], pa.string()), 0, True

    def add(self, texts: Any) -> None:
        """Look at the texts of more cells; what is missing is no value."""
        if not self.yes or self.count == LOOKED_AT:
            return
        texts = texts.filter(pc.invert(pc.is_in(texts, pa.array(MISSING))))
        texts = texts.slice(0, LOOKED_AT - self.count)
        self.count += len(texts)
        again = pc.any(pc.is_in(texts, self.met), min_count=0).as_py()
        self.yes = not again and pc.count_distinct(texts).as_py() == len(texts)
        self.met = pa.concat_arrays([self.met, texts]) if self.yes else self.met.slice(0, 0)


class Moments:
    """The mean and the standard deviation of numbers, in runs that do not depend on batches."""

    def __init__(self) -> None:
        self.rest: NDArray[np.float64] = np.empty(0)
        self.runs: list[tuple[int, float, float, int]] = []
        self.low, self.high = math.inf, -math.inf

    def add(self, numbers: NDArray[np.float64]) -> None:
        """Look at numbers, all of them finite."""
        if len(numbers) == 0:
            return
        self.low = min(self.low, float(numbers.min()))
        self.high = max(self.high, float(numbers.max()))
        numbers = np.concatenate((self.rest, numbers)) if len(self.rest) else numbers
        whole = len(numbers) // RUN * RUN
        self.runs += [_run(numbers[i : i + RUN]) for i in range(0, whole, RUN)]
        self.rest = numbers[whole:].copy()

    def found(self) -> tuple[float, float]:
        """Mean and standard deviation: 0 and 1 of no numbers, a spread of 1 of equal ones."""
        if not self.low < self.high:
            return (self.low if math.isfinite(self.low) else 0.0), 1.0
        runs = [*self.runs, _run(self.rest)] if len(self.rest) else self.runs
        unit, count = max(e for *_, e in runs), sum(n for n, *_ in runs)
        means = [math.ldexp(mean, e - unit) for _, mean, _, e in runs]
        mean = math.fsum(run[0] * m for run, m in zip(runs, means, strict=True)) / count
        squares = [math.ldexp(square, 2 * (e - unit)) for _, _, square, e in runs]
        apart = [run[0] * (m - mean) ** 2 for run, m in zip(runs, means, strict=True)]
        spread = math.ldexp(math.sqrt(math.fsum((*squares, *apart)) / count), unit)
        return math.ldexp(mean, unit), spread if spread > 0 else 1.0


def _run(numbers: NDArray[np.float64]) -> tuple[int, float, float, int]:
    """Count, mean and squares about it, in units of 2^e so that none overflows or vanishes."""
    n, e = len(numbers), int(np.frexp(max(numbers.max(), -numbers.min()))[1])
    parts = [numbers[i : i + CACHED] for i in range(0, n, CACHED)]
    mean = math.fsum(float(_scaled(part, e).sum()) for part in parts) / n
    squares = math.fsum(float(np.square(_scaled(part, e) - mean).sum()) for part in parts)
    return n, mean, squares, e


def _scaled(numbers: NDArray[np.float64], e: int) -> NDArray[np.float64]:
    """Numbers in units of 2^e; multiplied where that power is a double, for it is quicker."""
    return numbers * 2.0**-e if abs(e) < 1000 else np.ldexp(numbers, -e)


class Survey:
    """What the cells of a column are, which has an Arrow type and may hold the answers.

    So many different texts are told apart (None for all); `entries` are index:value.
    """

    def __init__(self, kind: Any, values: int | None, answers: bool, entries: bool = False) -> None:
        self.type, self.entries = kind, entries
        self.labels = Distinct(MANY) if answers and not refused(kind) else None
        self.values = Distinct(values)
        self.moments = Moments()
        self.styles, self.styled = Styles(), {decimal: Moments() for decimal in DECIMALS}
        self.different = Different()
        self.rows = self.valid = 0
        self.written = self.meant = self.numeric = self.blanks = 0  # cells of text
        self.indices: tuple[int, int] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no cell holds anything but a word for what is missing."""
        if self.valid == 0:
            return True
        return is_text(self.type) and not self.entries and self.meant == 0

    def add(self, cells: Any, name: str) -> None:
        """Look at more cells of the column, in the order of the rows."""
        try:
            cells = decoded(cells, name)
            if self.entries:
                self._read_entries(cells, name)
        except BadCellError as bad:
            bad.row += self.rows
            raise
        if not self.entries and not refused(self.type):
            if self.labels is not None and not self.labels.many:
                self.labels.add(pc.unique(plain_labels(cells)).drop_null())
            self._look(cells)
        self.rows += len(cells)
        self.valid += len(cells) - cells.null_count

    def _look(self, cells: Any) -> None:
        numeric = self.numeric
        if is_text(self.type) or self.values.most != 0:
            self._read_texts(cells)
            self.different.add(as_text(cells))
        if is_text(self.type) and self.numeric == numeric:
            return
        numbers = as_numbers(cells).to_numpy(zero_copy_only=False)
        finite = np.isfinite(numbers)
        self.moments.add(numbers if finite.all() else numbers[finite])

    def _read_texts(self, cells: Any) -> None:
        counted = pc.value_counts(as_text(cells))
        texts, counts = counted.field("values"), counted.field("counts").to_numpy()
        self.values.add(texts)
        written = pc.not_equal(texts, "").to_numpy(zero_copy_only=False)
        marks = pc.is_in(texts, pa.array(MISSING)).to_numpy(zero_copy_only=False)
        numeric = as_numbers(texts).is_valid().to_numpy(zero_copy_only=False)
        blanks = pc.count_substring_regex(texts, r"\s+").to_numpy()
        if self.styles.add(texts, counts, numeric):
            for decimal, moments in self.styled.items():
                numbers = as_numbers(Parsed(as_text(cells), decimal).numbers)
                numbers = numbers.to_numpy(zero_copy_only=False)
                moments.add(numbers[np.isfinite(numbers)])
        self.written += int(counts[written].sum())
        self.meant += int(counts[~marks].sum())
        self.numeric += int(counts[numeric].sum())
        self.blanks += int((counts * blanks).sum())

    def _read_entries(self, cells: Any, name: str) -> None:
        try:
            index = split_entries(cells, name)[0]
        except BadCellError as bad:
            self._read_entries(cells.slice(0, bad.row), name)  # another kind may come before
            raise
        if len(index):
            low, high = int(index.min()), int(index.max())  # a model is written with Python's own
            least, most = self.indices or (low, high)
            self.indices = (min(least, low), max(most, high))
