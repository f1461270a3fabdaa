"""A table as a regression: its answers as they are, every other column a number or a category."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rosenblatt.errors import BadCellError, DataError, UsageError, as_option, column_called
from rosenblatt.read.columns import (
    Category,
    Column,
    Entries,
    Number,
    Words,
    as_text,
    plain,
    split_entries,
)
from rosenblatt.read.libsvm import ENTRIES, LABEL
from rosenblatt.read.plan import Rows, Wishes, columns_of, find_column, is_text, surveyed
from rosenblatt.words import counted

WIDEST = 4096  # columns that the lines of a LIBSVM file are written out to


@dataclass(frozen=True, eq=False)
class Regression:
    """The rows of a table that can be asked about.

    Parameters
    ----------
    frame : Arrow table
        The regressors: doubles, and text for categories.
    answers : array
        One for each row.
    rows : array of int
        The row of the file, from 0, that each of them was.
    target : str
        The column of answers.
    columns : tuple of Column
        What each regressor is.
    notes : tuple of str
        What else to tell a person.
    """

    frame: Any
    answers: NDArray[Any]
    rows: NDArray[np.intp]
    target: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()


def regression_of(table: Any, wishes: Wishes, name: str) -> Regression:
    """Take a table as a regression; what its columns are is found out as for learning.

    Parameters
    ----------
    table : Arrow table
        All rows.
    wishes : Wishes
        The answers, the columns to leave out, numbers and categories, missing cells.
    name : str
        What messages call the table.
    """
    if wishes.target is None and _is_libsvm(table):
        wishes = replace(wishes, target=LABEL)
    if wishes.target is None:
        raise UsageError("give --target, the column of answers.")
    if wishes.texts or wishes.missing == "mean":
        raise UsageError("a regression has no --text columns and no --missing mean.")
    table = written_out(table, name)
    rows = Rows(table.schema, lambda: (table,))
    seen = surveyed(rows, wishes, name)
    target = find_column(table.column_names, wishes.target, "--target")
    features = {n: survey for n, survey in seen.items() if n != target}
    columns, notes = columns_of(rows, features, wishes, name)
    _check(columns, name)
    return taken(table, (target, columns, notes), wishes.missing == "drop", name)


def _is_libsvm(table: Any) -> bool:
    return bool(table.column_names == [LABEL, ENTRIES])


def written_out(table: Any, name: str) -> Any:
    """The lines of a LIBSVM file with a column for each index; other tables as they are."""
    if not _is_libsvm(table):
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


def _check(columns: Iterable[Column], name: str) -> None:
    for column in columns:
        if isinstance(column, Words):
            option = as_option(column.name)
            raise DataError(
                f"{name}, {column_called(column.name)} is neither numbers nor categories. "
                f"Give --ignore {option}, or --category {option}."
            )


def taken(
    table: Any, known: tuple[str, tuple[Column, ...], tuple[str, ...]], drop: bool, name: str
) -> Regression:
    """Take a table whose columns are known; rows with gaps are left out or refused."""
    target, columns, notes = known
    for n in (target, *(column.name for column in columns)):
        if n not in table.column_names:
            raise DataError(f"{name} has no {column_called(n)}, which is needed.")
    cells = {column.name: _cells(column, table.column(column.name)) for column in columns}
    answers = _answers(table.column(target))
    gaps = np.zeros(table.num_rows, dtype=bool)
    for n, column in {**cells, target: answers}.items():
        missing = pc.is_null(column).to_numpy(zero_copy_only=False)
        if missing.any() and not drop:
            raise _gap(int(missing.argmax()), n, target, columns)
        gaps |= missing
    kept = np.flatnonzero(~gaps)
    if len(kept) == 0:
        raise DataError(f"{name}: no row is left once rows with missing values are out.")
    values = answers.take(pa.array(kept)).to_numpy(zero_copy_only=False)
    return Regression(pa.table(cells).take(kept), values, kept, target, columns, notes)


def _gap(row: int, name: str, target: str, columns: Iterable[Column]) -> BadCellError:
    if name == target:
        return BadCellError(row, name, "", "an answer")
    if any(isinstance(column, Number) and column.name == name for column in columns):
        return BadCellError(row, name, None)
    return BadCellError(row, name, "", "a category")


def _cells(column: Column, cells: Any) -> Any:
    if isinstance(column, Number):
        return pa.array(column.encode(cells)[:, 0], from_pandas=True)
    return _text(cells)


def _text(cells: Any) -> Any:
    text = as_text(cells)
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _answers(column: Any) -> Any:
    cells = plain(column)
    return _text(cells) if is_text(cells.type) else cells


def told(columns: Iterable[Column]) -> str:
    """What the columns are, for a sentence."""
    columns = tuple(columns)
    categories = sum(isinstance(column, Category) for column in columns)
    kinds = {"number": len(columns) - categories, "category": categories}
    many = {"number": "numbers", "category": "categories"}
    return ", ".join(counted(count, kind, many[kind]) for kind, count in kinds.items() if count)
