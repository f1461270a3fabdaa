"""A table as a regression: its answers as they are, every other column a number or a category."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rosenblatt.errors import BadCellError, DataError, UsageError
from rosenblatt.messages import Message, Parameter, with_column
from rosenblatt.read.columns import (
    Category,
    Column,
    Entries,
    Number,
    Words,
    as_text,
    decoded,
    is_text,
    nulled,
    plain,
    split_entries,
    text_in,
)
from rosenblatt.read.data import NO_ROW_LEFT, read_whole, told_where, with_types
from rosenblatt.read.encoding import check_there
from rosenblatt.read.libsvm import ENTRIES, LABEL
from rosenblatt.read.plan import Wishes, columns_of, find_column, surveyed
from rosenblatt.read.source import Layout, Source
from rosenblatt.read.survey import Rows
from rosenblatt.rownames import RowNames
from rosenblatt.words import column_called, counted, listed

WIDEST = 4096  # columns that the lines of a LIBSVM file are written out to


@dataclass(frozen=True)
class RegressionPlan:
    """What the columns of a regression are."""

    target: str  # the column of answers
    columns: tuple[Column, ...]  # the regressors
    weights: str | None = None  # the column of weights
    rows: int = 0  # how many are taken

    def __str__(self) -> str:
        categories = sum(isinstance(column, Category) for column in self.columns)
        numbers = len(self.columns) - categories
        parts = [counted(self.rows, "row")]
        parts += [counted(numbers, "number")] if numbers else []
        parts += [counted(categories, "category", "categories")] if categories else []
        also = "" if self.weights is None else f", weights in {column_called(self.weights)}"
        return f"{', '.join(parts)}; answers in {column_called(self.target)}{also}"


@dataclass(frozen=True, eq=False)
class Regression:
    """The rows of a table that can be asked about."""

    plan: RegressionPlan
    frame: Any  # the regressors as Arrow has them: doubles, and text for categories
    answers: NDArray[Any]
    weights: NDArray[Any] | None
    rows: NDArray[np.intp]  # the row of the file, from 0, that each of them was
    others: tuple[str, ...]  # columns that are not used
    gaps: int  # rows that are left out, for something is missing
    notes: tuple[str | Message, ...] = ()

    @property
    def row_names(self) -> RowNames:
        """What the rows are called: by their places in the file, counted from 1."""
        return RowNames(1, positions=self.rows)


def read_regression(
    source: Source, layout: Layout, wishes: Wishes, weights: str | None
) -> Regression:
    """Read a file as a regression; what its columns are is found out as for learning."""
    name = source.name
    with told_where(source, layout, advice=Message("Give ", Parameter("missing", "drop"), ".")):
        table = read_whole(source, with_types(source, layout, wishes))
        if wishes.target is None and table.column_names == [LABEL, ENTRIES]:
            wishes = replace(wishes, target=LABEL)
        if wishes.target is None:
            raise UsageError("give ", Parameter("target"), ", the column of labels.")
        table = _written_out(table, name)
        rows = Rows.of(table)
        seen = surveyed(rows, wishes, name)
        target = find_column(table.column_names, wishes.target, "target")
        features = {n: survey for n, survey in seen.items() if n != target}
        columns, notes = columns_of(rows, features, wishes, name)
        for column in columns:
            if isinstance(column, Words):
                raise DataError(
                    f"{name}, {column_called(column.name)} is neither numbers nor categories. ",
                    *("Give ", with_column("ignore", column.name), ", or "),
                    *(with_column("category", column.name), "."),
                )
        weighing = None if weights is None else _weighing(columns, target, weights, name)
        left = tuple(column for column in columns if column is not weighing)
        plan = RegressionPlan(target, left, weights)
        return replace(_taken(table, plan, weighing, wishes.missing == "drop", name), notes=notes)


def read_regression_as(source: Source, layout: Layout, plan: RegressionPlan) -> Regression:
    """Read a file as a regression whose columns are known; rows with gaps are left out."""
    text = tuple(column.name for column in plan.columns if isinstance(column, Category))
    with told_where(source, layout, advice=""):
        table = read_whole(source, with_types(source, layout, Wishes(categories=text)))
        weighing = None if plan.weights is None else Number(plan.weights)
        return _taken(_written_out(table, source.name), plan, weighing, True, source.name)


def _weighing(columns: tuple[Column, ...], target: str, weights: str, name: str) -> Column:
    """The column of weights, which must be numbers."""
    names = [column.name for column in columns]
    if weights not in (target, *names):
        there = listed([column_called(n) for n in names], most=8)
        raise UsageError(
            with_column("sample_weight", weights),
            f": there is no {column_called(weights)}; the columns are {there}.",
        )
    for column in columns:
        if column.name == weights and isinstance(column, Number):
            return column
    raise DataError(
        f"{name}: ", with_column("sample_weight", weights), " is not a column of numbers."
    )


def _written_out(table: Any, name: str) -> Any:
    """The lines of a LIBSVM file with a column for each index; other tables as they are."""
    if table.column_names != [LABEL, ENTRIES]:
        return table
    cells = plain(table.column(ENTRIES))
    index = split_entries(cells, ENTRIES)[0]
    first, last = int(min(1, index.min(initial=1))), int(index.max(initial=1))
    entries = Entries(ENTRIES, first, last + 1 - first)
    if entries.size > WIDEST:
        raise DataError(
            f"{name} has {entries.size:,} features, too many for a table of numbers; "
            "give them to rosenblatt.separation in Python, as a CSR matrix."
        )
    numbers = entries.encode(cells).toarray()
    columns = dict(zip(entries.features, numbers.T, strict=True))
    return pa.table({LABEL: table.column(LABEL), **columns})


def _taken(
    table: Any, plan: RegressionPlan, weighing: Column | None, drop: bool, name: str
) -> Regression:
    """Take a table whose columns are known; rows with gaps are left out or refused."""
    columns = plan.columns if weighing is None else (*plan.columns, weighing)
    used = [plan.target, *(column.name for column in columns)]
    check_there(table.column_names, used, name)
    cells, gaps = {}, np.zeros(table.num_rows, dtype=bool)
    for column in columns:
        written = decoded(table.column(column.name), column.name)
        if isinstance(column, Number):
            found = pa.array(column.encode(written)[:, 0], from_pandas=True)
            gaps |= _gaps(found, drop, column.name, written)
        else:
            found = nulled(as_text(written))
            gaps |= _gaps(found, drop, column.name, None, "a category")
        cells[column.name] = found
    answers = plain(decoded(table.column(plan.target), plan.target))
    answers = nulled(as_text(answers)) if is_text(answers.type) else answers
    gaps |= _gaps(answers, drop, plan.target, None, "an answer")
    kept = np.flatnonzero(~gaps)
    if len(kept) == 0:
        raise DataError(f"{name}: {NO_ROW_LEFT}.")
    weights = None if weighing is None else cells.pop(weighing.name).take(pa.array(kept))
    return Regression(
        replace(plan, rows=len(kept)),
        pa.table(cells).take(kept),
        answers.take(pa.array(kept)).to_numpy(zero_copy_only=False),
        None if weights is None else weights.to_numpy(zero_copy_only=False),
        kept,
        tuple(n for n in table.column_names if n not in used),
        int(gaps.sum()),
    )


def _gaps(
    cells: Any, drop: bool, name: str, texts: Any, promised: str = "a number"
) -> NDArray[np.bool_]:
    """Where something is missing, which is refused unless such rows are dropped.

    The texts are what is written where cells are no numbers.
    """
    missing: NDArray[np.bool_] = pc.is_null(cells).to_numpy(zero_copy_only=False)
    if missing.any() and not drop:
        row = int(missing.argmax())
        raise BadCellError(row, name, "" if texts is None else text_in(texts, row), promised)
    return missing
