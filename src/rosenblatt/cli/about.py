"""What a statement on a file is about: which columns, taken as what, and which of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.cli.console import Voice
from rosenblatt.errors import column_called
from rosenblatt.read.agree import DisagreeError
from rosenblatt.read.columns import Category, Column, Entries, Flag, Number, Words
from rosenblatt.read.data import Data
from rosenblatt.read.encoding import spelled
from rosenblatt.read.plan import Plan
from rosenblatt.words import counted, listed

NAMED = 10  # rows that are left out, by their numbers
FEW = 6  # columns that a sentence names one by one
MOST = 100  # columns that a line names; --json has all


class Filled(NamedTuple):
    """A column, how many of its numbers are missing, and what is taken for them."""

    name: str
    cells: int
    mean: float


@dataclass(frozen=True)
class About:
    """The part of a file that a statement is about.

    Parameters
    ----------
    name : str
        The file.
    plan : Plan
        What its columns are.
    names : tuple of str
        All of its columns.
    rows, all_rows : int
        How many rows are taken, and how many there are.
    without : tuple of int
        The first rows that are left out, counted from 1.
    filled : tuple of Filled
        The columns in which the mean stands for numbers that are missing.
    """

    name: str
    plan: Plan
    names: tuple[str, ...]
    rows: int
    all_rows: int
    without: tuple[int, ...] = ()
    filled: tuple[Filled, ...] = ()

    @classmethod
    def of(cls, data: Data) -> About:
        """The part of a file that was taken; one that is read in passes is gone through once."""
        plan = data.plan
        numbers = [c for c in plan.encoding.columns if isinstance(c, Number)]
        numbers = numbers if plan.encoding.missing == "mean" else []
        counts = dict.fromkeys(numbers, 0)
        rows, start, without = 0, 0, np.empty(0, dtype=np.intp)
        for table, kept in data.taken():
            left = np.setdiff1d(np.arange(table.num_rows), kept)
            without = np.append(without, start + left[:NAMED] + 1)[:NAMED]
            for c in numbers:
                counts[c] += int(np.isnan(c.encode(table.column(c.name))).sum())
            rows, start = rows + len(kept), start + table.num_rows
        filled = tuple(Filled(c.name, count, c.mean) for c, count in counts.items() if count)
        for column in filled:
            if column.cells == start:
                raise DisagreeError(f"{column_called(column.name)} has no numbers.")
        return cls(data.name, plan, tuple(data.names), rows, start, tuple(without.tolist()), filled)

    @property
    def columns_left_out(self) -> list[str]:
        """The columns that are neither features nor the answers."""
        used = {column.name for column in self.plan.encoding.columns}
        return [n for n in self.names if n not in used and n != self.plan.answers.column]

    @property
    def columns(self) -> str:
        """The columns and what they are taken as, in a sentence: counted where they are many."""
        kinds = _by_kind(self.plan.encoding.columns)
        if len(self.plan.encoding.columns) > FEW:
            return listed([_counted(kind, some) for kind, some in kinds.items()])
        return listed([f"{_listed(some)} ({kind})" for kind, some in kinds.items()])

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        parts = [f"{self.which_rows} of {self.name} with {self.columns}"]
        if self.columns_left_out:
            parts.append(f"without {counted(len(self.columns_left_out), 'other column')}")
        if self.filled:
            cells = counted(sum(column.cells for column in self.filled), "missing number")
            parts.append(f"the mean of its column for {cells}")
        return ", ".join(parts)

    @property
    def which_rows(self) -> str:
        """The rows in a sentence."""
        if self.rows == self.all_rows:
            return f"all {counted(self.rows, 'row')}" if self.rows > 1 else "its one row"
        return f"{self.rows:,} of {counted(self.all_rows, 'row')}"

    def tell(self, voice: Voice) -> None:
        """Say it, a line each."""
        for what, text in self._lines():
            voice.step(what, text)

    def _lines(self) -> Iterator[tuple[str, str]]:
        answers = self.plan.answers
        first = "columns"
        for kind, some in _by_kind(self.plan.encoding.columns).items():
            yield first, f"{kind}: {_listed(some)}"
            first = ""
        for note in self.plan.notes:
            yield "", note
        for column in self.filled:
            missing = counted(column.cells, "missing number")
            yield "", f"{column_called(column.name)}: {column.mean:g}, its mean, for {missing}"
        if self.columns_left_out:
            yield "left out", _listed(self.columns_left_out)
        pair = f"{spelled(answers.positive)} against {spelled(answers.negative)}"
        yield "answers", f"{column_called(answers.column)}: {pair}"
        why = ""
        if self.rows < self.all_rows:
            numbers = [f"{row:,}" for row in self.without]
            more = self.all_rows - self.rows - len(numbers)
            numbers += [f"{more:,} more"] if more else []
            without = listed(numbers, most=NAMED + 1)
            why = f"; left out because a number or the answer is missing: {without}"
        yield "rows", f"{self.which_rows}{why}"

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON."""
        answers = self.plan.answers
        return {
            "rows": self.rows,
            "rows_left_out": self.all_rows - self.rows,
            "first_rows_left_out": list(self.without),
            "missing": self.plan.encoding.missing,
            "filled": [column._asdict() for column in self.filled],
            "columns": [_told(column) for column in self.plan.encoding.columns],
            "columns_left_out": self.columns_left_out,
            "answers": {
                "column": answers.column,
                "negative": answers.negative,
                "positive": answers.positive,
            },
            "notes": list(self.plan.notes),
        }


def _by_kind(columns: Sequence[Column]) -> dict[str, list[str]]:
    """The names of columns that are taken as the same, each kind where it comes first."""
    kinds: dict[str, list[str]] = {}
    for column in columns:
        kinds.setdefault(_taken_as(column), []).append(column.name)
    return kinds


def _told(column: Column) -> dict[str, Any]:
    told = {"name": column.name, "kind": column.kind, "features": len(column.features)}
    if isinstance(column, Category | Words):
        return {**told, "values": list(column.values)}
    return told


def _taken_as(column: Column) -> str:
    count = len(column.features)
    if isinstance(column, Category):
        return f"category of {counted(count, 'value')}"
    if isinstance(column, Words):
        return f"counts of {counted(count, 'word')}"
    if isinstance(column, Entries):
        return f"{counted(count, 'number')} by index"
    return "true or false" if isinstance(column, Flag) else "numbers"


def _counted(kind: str, names: list[str]) -> str:
    return f"{counted(len(names), 'column')} ({kind})"


def _listed(names: list[str]) -> str:
    return listed([n if n.startswith("column ") else f'"{n}"' for n in names], most=MOST)
