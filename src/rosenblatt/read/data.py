"""Data: a file read, planned and encoded; where rows are, so that they can be shown again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rosenblatt.errors import FINITE, BadCellError, DataError, as_option, column_called
from rosenblatt.examples import Examples
from rosenblatt.read import Layout, Source, csv, read_whole, reader_of
from rosenblatt.read.dialect import find_dialect
from rosenblatt.read.guess import Plan, Wishes, as_planned, check_named, find_columns, plan
from rosenblatt.wholes import PROMISED

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Data:
    """Examples and where they came from.

    Parameters
    ----------
    name : str
        What messages call the file.
    examples : Examples
        Its rows as numbers, with their answers.
    rows : array of int
        The row of the file, counted from 0, that each example was.
    plan : Plan
        How the columns were taken.
    table : Arrow table
        The rows as they were read.
    header : bool, optional
        Whether the file has a line of names; None where rows are not lines one by one.
    """

    name: str
    examples: Examples
    rows: NDArray[np.intp]
    plan: Plan
    table: Any
    header: bool | None = None

    def line(self, n: int) -> int | None:
        """The line of the file, counted from 1, of example n."""
        return None if self.header is None else int(self.rows[n]) + 1 + self.header


def read_data(
    source: Source, layout: Layout, wishes: Wishes, settle: Callable[[Plan], Plan] | None = None
) -> Data:
    """Read a file and decide what its columns are.

    Parameters
    ----------
    source : Source
        The file.
    layout : Layout
        How it is laid out, as far as that is known.
    wishes : Wishes
        Which column is what, as far as that was said.
    settle : callable, optional
        Takes the plan that was found and gives the one to go by.
    """
    with told_where(source, layout):
        wishes = wishes_for(source, layout, wishes)
        table = read_whole(source, with_types(source, layout, wishes))
        made = plan(table, wishes, source.name)
        return encoded(source, layout, table, made if settle is None else settle(made))


def wishes_for(source: Source, layout: Layout, wishes: Wishes) -> Wishes:
    """What was said of the columns; a NumPy table has the answers in its last one."""
    if wishes.target is None and reader_of(source, layout).name == "NumPy":
        return replace(wishes, target="-1")
    return wishes


def of_table(table: Any, wishes: Wishes, name: str) -> Data:
    """Take a table that was not read from a file."""
    made = plan(table, wishes, name)
    examples, rows = taken(made, table, name)
    return Data(name, examples, rows, made, table)


def split(data: Data, wishes: Wishes, learnt: Rows, tested: Rows) -> tuple[Examples, Examples]:
    """Examples to learn from and to test on, encoded by what the first alone show.

    Words, categories and means are those of the rows learnt from, so that nothing of the
    rows tested on leaks into learning.
    """
    answers = data.plan.answers
    table = data.table.take(data.rows[learnt])
    made = plan(table, as_planned(wishes, data.plan), data.name)
    parts = []
    for part in (table, data.table.take(data.rows[tested])):
        found = made.encoding.encode(part, data.name)
        signs = answers.encode(part.column(answers.column))[found.rows]
        parts.append(Examples(found.X, signs, answers.labels, made.encoding.features))
    return parts[0], parts[1]


def read_as(source: Source, layout: Layout, made: Plan) -> Data:
    """Read a file whose columns are known already, from a plan made on another file."""
    types = made.encoding.types(strict=layout.decimal == ",")
    with told_where(source, layout):
        table = read_whole(source, replace(layout, types=types))
        return encoded(source, layout, table, made)


def encoded(source: Source, layout: Layout, table: Any, made: Plan) -> Data:
    """The rows of a table that can be learnt from."""
    examples, rows = taken(made, table, source.name)
    if len(rows) == 0:
        raise no_row_left(source)
    return Data(source.name, examples, rows, made, table, _header(source, layout, table.num_rows))


def no_row_left(source: Source) -> DataError:
    """Say that there is nothing to learn from."""
    return DataError(
        f"{source.name}: no row is left once rows with missing values are out. "
        "Give --missing mean, or --ignore for the columns that are mostly missing."
    )


def taken(made: Plan, table: Any, name: str) -> tuple[Examples, Rows]:
    """The rows of a table or batch that can be learnt from, as examples, and which they are.

    Of several bad cells the one in the first row is told, so that it does not matter how many
    rows are looked at together.
    """
    answers, bad = made.answers, []
    if answers.column not in table.schema.names:
        raise DataError(f"{name} has no {column_called(answers.column)} with the answers.")
    try:
        found = made.encoding.encode(table, name)
    except BadCellError as trouble:
        bad.append(trouble)
    try:
        signs = _signs(made, table)
    except BadCellError as trouble:
        bad.append(trouble)
    if bad:
        raise min(bad, key=lambda cell: cell.row)
    X, rows = found.X, found.rows
    signs = signs if len(rows) == len(signs) else signs[rows]
    if not signs.all():
        kept = np.flatnonzero(signs)
        X, rows, signs = X[kept], rows[kept], signs[kept]
    examples = Examples(X, signs, answers.labels, made.encoding.features)
    if found.squares is not None and X is found.X:
        examples.remember(found.squares)
    return examples, rows


def _signs(made: Plan, table: Any) -> NDArray[np.int8]:
    try:
        signs = made.answers.encode(table.column(made.answers.column))
    except BadCellError as bad:
        _signs(made, table.slice(0, bad.row))  # where an answer may be missing before
        raise
    if made.encoding.missing != "drop" and not signs.all():
        row = int(np.flatnonzero(signs == 0)[0])
        raise BadCellError(row, made.answers.column, "", "an answer")
    return signs


@contextmanager
def told_where(
    source: Source, layout: Layout, start: int = 0, advice: str | None = None
) -> Iterator[None]:
    """Turn a bad cell into a sentence with the file, the row and what is written there."""
    try:
        yield
    except BadCellError as bad:
        sentence = bad_cell(source, layout, bad, start)
        if bad.promised == PROMISED:
            advice = _advice(bad) if advice is None else ""
        elif advice is None or bad.promised == FINITE:
            advice = _advice(bad)
        raise DataError(f"{sentence} {advice}".rstrip()) from None


def bad_cell(source: Source, layout: Layout, bad: BadCellError, start: int) -> str:
    """The sentence for a bad cell, in rows counted from 1."""
    row = start + bad.row
    where = f"{source.name}, row {row + 1}, {column_called(bad.column)}"
    text = bad.text
    if text is None and reader_of(source, layout).name == "CSV":
        text = csv.cell_text(source, layout, row, bad.column)
    if text:
        what = f'"{text}" is not {bad.promised}'
    else:
        what = "there is nothing" if text == "" else f"there is not {bad.promised}"
    return f"{where}: {what}."


def _advice(bad: BadCellError) -> str:
    column = as_option(bad.column)
    if bad.promised == PROMISED:
        return (
            f"Give --ignore {column}, or --category {column}, or subtract the least of the column "
            "from all of it first."
        )
    if bad.promised == FINITE:  # which is not missing, so that no --missing helps
        return f"Mend it, or give --ignore {column}."
    if bad.promised == "an answer":
        return "Give --missing drop."
    if bad.promised.startswith("a number"):
        return f"Give --missing drop, --missing mean, or --category {column}."
    return ""


def with_types(source: Source, layout: Layout, wishes: Wishes) -> Layout:
    """Columns that were said to be categories or text are read as they are written.

    A column that is not there is refused at once, before all rows are read.
    """
    if reader_of(source, layout).name != "CSV":
        return layout
    names = find_dialect(source, layout).names
    check_named(names, wishes)
    wished = find_columns(names, wishes.categories, "--category")
    wished += find_columns(names, wishes.texts, "--text")
    return replace(layout, types=dict.fromkeys(wished, pa.string()))


def _header(source: Source, layout: Layout, rows: int) -> bool | None:
    """Whether there is a header, where every other line of the file is a row."""
    name = reader_of(source, layout).name
    if name not in ("CSV", "LIBSVM", "JSON lines"):
        return None
    header = name == "CSV" and find_dialect(source, layout).header
    return header if source.count_lines() == rows + header else None
