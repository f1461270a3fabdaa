"""A file as examples: read, planned and encoded, in memory or in passes; where its rows are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rosenblatt.errors import FINITE, BadCellError, DataError, as_option, column_called
from rosenblatt.examples import Examples
from rosenblatt.read import (
    JSON_LINES,
    LIBSVM,
    NPY,
    PARQUET,
    Layout,
    Source,
    check_names,
    csv,
    jsonlines,
    read_schema,
    read_stream,
    read_whole,
    reader_of,
)
from rosenblatt.read.ahead import ahead, side_by_side
from rosenblatt.read.columnar import Part, decoded_size, header_of, parquet_part, parquet_parts
from rosenblatt.read.csv import find_dialect
from rosenblatt.read.plan import (
    Plan,
    Rows,
    Wishes,
    as_planned,
    check_named,
    find_columns,
    plan_of,
    plan_table,
)
from rosenblatt.read.source import free_memory
from rosenblatt.wholes import PROMISED

Numbers = NDArray[np.intp]


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
        made = plan_table(table, wishes, source.name)
        return encoded(source, layout, table, made if settle is None else settle(made))


def wishes_for(source: Source, layout: Layout, wishes: Wishes) -> Wishes:
    """What was said of the columns; a NumPy table has the answers in its last one."""
    if wishes.target is None and reader_of(source, layout).name == "NumPy":
        return replace(wishes, target="-1")
    return wishes


def of_table(table: Any, wishes: Wishes, name: str) -> Data:
    """Take a table that was not read from a file."""
    made = plan_table(table, wishes, name)
    examples, rows = taken(made, table, name)
    return Data(name, examples, rows, made, table)


def split(
    data: Data, wishes: Wishes, learnt: Numbers, tested: Numbers
) -> tuple[Examples, Examples]:
    """Examples to learn from and to test on, encoded by what the first alone show.

    Words, categories and means are those of the rows learnt from, so that nothing of the
    rows tested on leaks into learning.
    """
    answers = data.plan.answers
    table = data.table.take(data.rows[learnt])
    made = plan_table(table, as_planned(wishes, data.plan), data.name)
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


def taken(made: Plan, table: Any, name: str) -> tuple[Examples, Numbers]:
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


@dataclass(frozen=True, eq=False)
class FileTable:
    """The table that a file is, batch after batch: the one that reading all of it gives.

    Parameters
    ----------
    source : Source
        The file that a person gave; messages are about it.
    layout : Layout
        How it is laid out, with the types that were said.
    schema : Arrow schema
        Its columns and their types, which fit all rows.
    stored : Source, optional
        The same rows in a Parquet file that is read instead.
    """

    source: Source
    layout: Layout
    schema: Any
    stored: Source | None = None

    @classmethod
    def of(cls, source: Source, layout: Layout) -> FileTable:
        """Find out of which types the columns of a file are, from all of its rows."""
        with told_where(source, layout):
            return cls(source, layout, read_schema(source, layout))

    def batches(self) -> Iterator[Any]:
        """The rows as they are stored, in Arrow batches."""
        if self.stored is not None:
            yield from read_stream(self.stored, Layout(".parquet"))
            return
        types = dict(zip(self.schema.names, self.schema.types, strict=True))
        reader = reader_of(self.source, self.layout)
        for batch in read_stream(self.source, replace(self.layout, types=types)):
            if reader is JSON_LINES:
                yield jsonlines.conform(self.source, batch, self.schema)
            else:
                yield batch.cast(self.schema) if reader is LIBSVM else batch

    def parts(self) -> list[Part]:
        """Parts of a Parquet file that threads can read and encode side by side, if it has such."""
        if self.stored is None and reader_of(self.source, self.layout) is not PARQUET:
            return []
        parts = parquet_parts(self.stored or self.source)
        if parts:
            check_names(self.source, parts[0].metadata.schema.to_arrow_schema())
        return parts

    def part(self, part: Part) -> Iterator[Any]:
        """The rows of such a part, in Arrow batches."""
        return parquet_part(self.stored or self.source, part)


@dataclass(frozen=True, eq=False)
class FileBatches:
    """A file whose columns are known: its table, and what each column is."""

    table: FileTable
    plan: Plan

    @classmethod
    def of(
        cls, source: Source, layout: Layout, wishes: Wishes, known: Plan | None = None
    ) -> FileBatches:
        """Find out from all rows what the columns of a file are, if that is not known."""
        if known is not None:
            types = known.encoding.types(strict=layout.decimal == ",")
            return cls(FileTable.of(source, replace(layout, types=types)), known)
        with told_where(source, layout):
            typed = with_types(source, layout, wishes)
        return cls.planned(FileTable.of(source, typed), wishes)

    @classmethod
    def planned(cls, table: FileTable, wishes: Wishes) -> FileBatches:
        """The same for a table whose types are known."""
        source, layout = table.source, table.layout
        rows = Rows(table.schema, lambda: ahead(table.batches()))
        with told_where(source, layout):
            return cls(table, plan_of(rows, wishes_for(source, layout, wishes), source.name))

    @property
    def source(self) -> Source:
        """The file that a person gave."""
        return self.table.source

    def __call__(self) -> Iterator[Examples]:
        """The rows that can be learnt from, a batch at a time, read ahead by another thread."""
        for examples, _ in self._numbered():
            yield examples

    def places(self, numbers: Numbers) -> tuple[dict[int, tuple[int, dict[str, Any]]], int]:
        """For some examples, the rows of the file they were, from 0, and their cells.

        Also how many examples there are.
        """
        found, first, start = {}, 0, 0
        for batch in self.table.batches():
            rows = taken(self.plan, batch, self.source.name)[1] if batch.num_rows else numbers[:0]
            for n in numbers[(numbers >= first) & (numbers < first + len(rows))].tolist():
                row = int(rows[n - first])
                found[n] = (start + row, batch.slice(row, 1).to_pylist()[0])
            first, start = first + len(rows), start + batch.num_rows
        return found, first

    def _numbered(self) -> Iterator[tuple[Examples, Numbers]]:
        """The examples of each batch, and the rows of the file they are."""
        source, found = self.source, False
        with told_where(source, self.table.layout):  # reading counts rows from the first
            for one in self._read():
                found = True
                yield one
        if not found:
            raise no_row_left(source)

    def _read(self) -> Iterator[tuple[Examples, Numbers]]:
        parts = self.table.parts()
        if parts:
            for found in side_by_side(self._read_part, parts):
                yield from found
        else:
            yield from self._taken(ahead(self.table.batches()), 0)

    def _read_part(self, part: Part) -> list[tuple[Examples, Numbers]]:
        return list(self._taken(self.table.part(part), part.start))

    def _taken(self, batches: Iterable[Any], start: int) -> Iterator[tuple[Examples, Numbers]]:
        for batch in batches:
            if batch.num_rows:
                with told_where(self.source, self.table.layout, start):
                    examples, rows = taken(self.plan, batch, self.source.name)
                if examples.n:
                    yield examples, start + rows
            start += batch.num_rows


COPIES = 3  # of the numbers: as they are read, as rows, and scaled


@dataclass(frozen=True)
class Room:
    """The bytes that data need and those that are free (None where that is not known).

    Examples
    --------
    >>> Room(3_000_000_000, 4_000_000_000).too_small, Room(1000, None).too_small
    (True, False)
    """

    needed: int
    free: int | None

    @classmethod
    def of(cls, source: Source, layout: Layout) -> Room:
        """The room that a file has."""
        return cls(COPIES * _size(source, layout), free_memory())

    @property
    def too_small(self) -> bool:
        """Whether the data do not fit in half of the free memory."""
        return self.free is not None and 2 * self.needed > self.free

    def __str__(self) -> str:
        free = "unknown" if self.free is None else in_words(self.free)
        return f"about {in_words(self.needed)} in memory, more than half of the {free} that is free"


def in_words(size: int) -> str:
    """Bytes as a person says them.

    Examples
    --------
    >>> in_words(3_840_000_000), in_words(12_345_678), in_words(0)
    ('3.8 GB', '12.3 MB', '0.0 MB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _size(source: Source, layout: Layout) -> int:
    reader = reader_of(source, layout)
    if reader is NPY and source.compression is None:
        header = header_of(source)
        return header.shape[0] * header.shape[1] * header.dtype.itemsize
    if reader is PARQUET and source.compression is None:
        return decoded_size(source)
    return source.size
