"""A file as batches of examples, gone through again and again in little memory."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rosenblatt.errors import BadCellError, DataError
from rosenblatt.examples import Examples
from rosenblatt.read import (
    CSV,
    JSON_LINES,
    LIBSVM,
    PARQUET,
    Layout,
    Source,
    check_names,
    read_stream,
    reader_of,
)
from rosenblatt.read import read_whole as whole_table
from rosenblatt.read.ahead import ahead, side_by_side
from rosenblatt.read.columnar import Part, parquet_part, parquet_parts
from rosenblatt.read.data import told_where, wishes_for, with_types
from rosenblatt.read.free import batch_bytes
from rosenblatt.read.guess import Plan, Wishes, plan

HEAD_ROWS = 1 << 16
PIECES = 64  # of a file, to find out what comes later in it
LINES = (CSV, JSON_LINES, LIBSVM)

Numbers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Head:
    """Some rows by which it is found out what the columns are.

    Parameters
    ----------
    table : Arrow table
        The rows.
    whole : bool
        Whether they are all there are.
    """

    table: Any
    whole: bool


@dataclass(frozen=True, eq=False)
class FileBatches:
    """A file whose columns are known.

    Parameters
    ----------
    source : Source
        The file that a person gave; messages are about it.
    layout : Layout
        How it is laid out.
    plan : Plan
        What its columns are.
    head : Head
        What that was found out from.
    stored : Source, optional
        The same rows in a Parquet file that is read instead.
    """

    source: Source
    layout: Layout
    plan: Plan
    head: Head
    stored: Source | None = None

    @classmethod
    def of(
        cls, source: Source, layout: Layout, wishes: Wishes, known: Plan | None = None
    ) -> FileBatches:
        """Find out from its first rows what the columns of a file are, if that is not known."""
        if known is not None:
            return cls(source, layout, known, Head(None, True))
        wishes = wishes_for(source, layout, wishes)
        with told_where(source, layout):
            typed = with_types(source, layout, wishes)
            head = _head(source, typed)
            try:
                made = plan(head.table, wishes, source.name)
            except DataError:
                if head.whole:
                    raise
                # Answers may come sorted, or a column may be empty at first.
                head = _from_all_over(source, typed)
                made = plan(head.table, wishes, source.name)
        return cls(source, layout, made, head)

    def __call__(self) -> Iterator[Examples]:
        """The rows that can be learnt from, a batch at a time, read ahead by another thread."""
        for examples, _ in self._numbered():
            yield examples

    def raw(self) -> Iterator[Any]:
        """The rows as they are stored, in Arrow batches."""
        if self.stored is not None:
            yield from read_stream(self.stored, Layout(".parquet"))
            return
        types = self.plan.encoding.types(strict=self.layout.decimal != ".")
        yield from read_stream(self.source, replace(self.layout, types=types))

    def places(self, numbers: Numbers) -> tuple[dict[int, tuple[int, dict[str, Any]]], int]:
        """For some examples, the rows of the file they were, from 0, and their cells.

        Also how many examples there are.
        """
        found, first, start = {}, 0, 0
        for batch in self.raw():
            rows = self._examples(batch)[1] if batch.num_rows else np.empty(0, dtype=np.intp)
            for n in numbers[(numbers >= first) & (numbers < first + len(rows))].tolist():
                row = int(rows[n - first])
                found[n] = (start + row, batch.slice(row, 1).to_pylist()[0])
            first, start = first + len(rows), start + batch.num_rows
        return found, first

    def _numbered(self) -> Iterator[tuple[Examples, Numbers]]:
        """The examples of each batch, and the rows of the file they are."""
        with told_where(self.source, self.layout):  # reading counts rows from the first
            parts = self._parts()
            if parts:
                for found in side_by_side(self._read_part, parts):
                    yield from found
            else:
                yield from self._taken(ahead(self.raw()), 0)

    def _taken(self, batches: Iterable[Any], start: int) -> Iterator[tuple[Examples, Numbers]]:
        for batch in batches:
            if batch.num_rows:
                with told_where(self.source, self.layout, start):
                    examples, rows = self._examples(batch)
                if examples.n:
                    yield examples, start + rows
            start += batch.num_rows

    def _parts(self) -> list[Part]:
        """Parts of a Parquet file that threads can read and encode side by side, if it has such."""
        if self.stored is None and reader_of(self.source, self.layout) is not PARQUET:
            return []
        parts = parquet_parts(self.stored or self.source)
        if parts:
            check_names(self.source, parts[0].metadata.schema.to_arrow_schema())
        return parts

    def _read_part(self, part: Part) -> list[tuple[Examples, Numbers]]:
        return list(self._taken(parquet_part(self.stored or self.source, part), part.start))

    def _examples(self, batch: Any) -> tuple[Examples, Numbers]:
        encoding, answers = self.plan.encoding, self.plan.answers
        found = encoding.encode(batch, self.source.name)
        signs = answers.encode(batch.column(answers.column))
        X, rows = found.X, found.rows
        signs = signs if len(rows) == len(signs) else signs[rows]
        if not signs.all():
            kept = np.flatnonzero(signs)
            if encoding.missing != "drop":
                row = int(rows[np.flatnonzero(signs == 0)[0]])
                raise BadCellError(row, answers.column, "", "an answer")
            X, rows, signs = X[kept], rows[kept], signs[kept]
        examples = Examples(X, signs, answers.labels, encoding.features)
        if found.squares is not None and X is found.X:
            examples.remember(found.squares)
        return examples, rows


def _head(source: Source, layout: Layout) -> Head:
    reader = reader_of(source, layout)
    if reader in LINES:
        return _first_lines(source, layout)
    batches: list[Any] = []
    rows = size = 0
    for batch in read_stream(source, layout):
        if rows >= HEAD_ROWS or size >= batch_bytes():
            return Head(_joined(batches), False)
        batches.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
    if rows == 0:
        raise DataError(f"{source.name} has no rows.")
    return Head(_joined(batches), True)


def _first_lines(source: Source, layout: Layout) -> Head:
    with source.open() as stream:
        data = stream.read(batch_bytes())
        whole = not stream.read(1)
    if not whole:
        data = data[: data.rfind(b"\n") + 1]
    first = Source.keep(source.name, io.BytesIO(data))
    return Head(whole_table(first, layout), whole)


def _from_all_over(source: Source, layout: Layout) -> Head:
    """A few rows from everywhere in a file, its beginning first."""
    if reader_of(source, layout) in LINES:
        return _some_lines(source, layout)
    parts = [batch.slice(0, PIECES) for batch in read_stream(source, layout)]
    return Head(_joined(parts), False)


def _some_lines(source: Source, layout: Layout) -> Head:
    pieces, size = [], batch_bytes() // PIECES
    with source.open() as stream:
        pieces.append(stream.read(size).rpartition(b"\n")[0])
        step = max(size, os.path.getsize(source.path) // PIECES)
        while block := stream.read(step):  # the end of a line, whole ones, the start of one
            pieces.append(block[:size].partition(b"\n")[2].rpartition(b"\n")[0])
    data = b"\n".join(piece for piece in pieces if piece) + b"\n"
    return Head(whole_table(Source.keep(source.name, io.BytesIO(data)), layout), False)


def _joined(batches: list[Any]) -> Any:
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()
