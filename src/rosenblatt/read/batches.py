"""A file as batches of examples, gone through again and again in little memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.examples import Examples
from rosenblatt.read import (
    JSON_LINES,
    LIBSVM,
    PARQUET,
    Layout,
    Source,
    check_names,
    jsonlines,
    read_schema,
    read_stream,
    reader_of,
)
from rosenblatt.read.ahead import ahead, side_by_side
from rosenblatt.read.columnar import Part, parquet_part, parquet_parts
from rosenblatt.read.data import no_row_left, taken, told_where, wishes_for, with_types
from rosenblatt.read.guess import Plan, Wishes, plan_of
from rosenblatt.read.survey import Rows

Numbers = NDArray[np.intp]


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
