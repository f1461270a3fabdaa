"""A table as a regression: its answers as they are, every other column a number or a category."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rosenblatt.errors import BadCellError, DataError, UsageError, as_option, column_called
from rosenblatt.read.columns import as_numbers, as_text, plain
from rosenblatt.read.guess import Wishes, find_column
from rosenblatt.read.survey import is_text

KINDS = ("number", "category")


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
    kinds : dict of str to {"number", "category"}
        What each regressor is.
    """

    frame: Any
    answers: NDArray[Any]
    rows: NDArray[np.intp]
    target: str
    kinds: dict[str, str]


def regression_of(table: Any, wishes: Wishes, name: str) -> Regression:
    """Take a table as a regression, as far as was said; text is a category, the rest numbers.

    Parameters
    ----------
    table : Arrow table
        All rows.
    wishes : Wishes
        The answers, the columns to leave out, numbers and categories, missing cells.
    name : str
        What messages call the table.
    """
    if wishes.target is None:
        raise UsageError("give --target, the column of answers.")
    if wishes.texts or wishes.missing == "mean":
        raise UsageError("a regression has no --text columns and no --missing mean.")
    names = table.column_names
    target = find_column(names, wishes.target, "--target")
    ignored = {find_column(names, given, "--ignore") for given in wishes.ignore} | {target}
    kinds = {n: _kind(table.column(n), n, name) for n in names if n not in ignored}
    for given, kind in ((wishes.numbers, "number"), (wishes.categories, "category")):
        for one in given:
            kinds[find_column(names, one, f"--{kind}")] = kind
    kinds.pop(target, None)
    return as_kinds(table, (target, kinds), wishes.missing == "drop", name)


def as_kinds(table: Any, known: tuple[str, dict[str, str]], drop: bool, name: str) -> Regression:
    """Take a table whose columns are known; rows with gaps are left out or refused."""
    target, kinds = known
    for n in (target, *kinds):
        if n not in table.column_names:
            raise DataError(f"{name} has no {column_called(n)}, which is needed.")
    columns = {n: _cells(table.column(n), kind) for n, kind in kinds.items()}
    answers = _answers(table.column(target))
    missing = {n: pc.is_null(c).to_numpy(zero_copy_only=False) for n, c in columns.items()}
    missing[target] = pc.is_null(answers).to_numpy(zero_copy_only=False)
    gaps = np.logical_or.reduce(list(missing.values()))
    if gaps.any() and not drop:
        row = int(gaps.argmax())
        column = next(n for n, where in missing.items() if where[row])
        promised = "an answer" if column == target else f"a {kinds[column]}"
        raise BadCellError(row, column, None if column in columns else "", promised)
    kept = np.flatnonzero(~gaps)
    if len(kept) == 0:
        raise DataError(f"{name}: no row is left once rows with missing values are out.")
    if not columns:
        raise DataError(f"{name}: there is no column besides the answers.")
    frame = pa.table(columns).take(kept)
    values = answers.take(pa.array(kept)).to_numpy(zero_copy_only=False)
    return Regression(frame, values, kept, target, dict(kinds))


def _kind(column: Any, name: str, file: str) -> str:
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_temporal(kind) or pa.types.is_binary(kind):
        raise DataError(
            f"{file}, {column_called(name)} is neither numbers nor categories. "
            f"Give --ignore {as_option(name)}, or --category {as_option(name)}."
        )
    return "category" if is_text(kind) or pa.types.is_dictionary(kind) else "number"


def _cells(column: Any, kind: str) -> Any:
    if kind == "number":
        return as_numbers(column)
    text = as_text(column)
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _answers(column: Any) -> Any:
    cells = plain(column)
    if pa.types.is_boolean(cells.type) or not is_text(cells.type):
        return cells
    return _cells(cells, "category")


def told(kinds: dict[str, str]) -> Iterable[str]:
    """What the columns are, for a sentence."""
    for kind, many in zip(KINDS, ("numbers", "categories"), strict=True):
        count = sum(1 for k in kinds.values() if k == kind)
        if count:
            yield f"{count:,} {kind if count == 1 else many}"
