"""Text converted once to a Parquet file beside it, which every further pass reads instead."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.errors import WriteError
from rosenblatt.files import replacing
from rosenblatt.read import CSV, JSON_LINES, LIBSVM, Source, reader_of
from rosenblatt.read.ahead import ahead
from rosenblatt.read.batches import FileBatches
from rosenblatt.read.columns import Entries, Flag, Number, as_numbers, as_text, split_entries
from rosenblatt.read.data import told_where
from rosenblatt.read.encoding import Answers, plain_labels
from rosenblatt.read.source import UNREADABLE

KEY = b"rosenblatt converted from"
NOT_OURS = b""
SUFFIX = ".rosenblatt.parquet"
ROWS = 1 << 17  # in a row group
TEXT = (CSV, JSON_LINES, LIBSVM)


def is_text(batches: FileBatches) -> bool:
    """Whether rows are parsed anew in every pass."""
    return reader_of(batches.source, batches.layout) in TEXT


def beside(source: Source) -> Path:
    """Where the converted file is."""
    return Path(source.path + SUFFIX)


def converted(batches: FileBatches) -> tuple[FileBatches, bool]:
    """The same batches read from a Parquet file, and whether it was there already.

    The file is written whole or not at all. It is used again while the text is unchanged, as
    its size and time tell, and while its columns are taken as they were.

    Parameters
    ----------
    batches : FileBatches
        A text file.
    """
    path, seal = beside(batches.source), _seal(batches)
    found = _sealed(path)
    again = found == seal
    if found == NOT_OURS:
        raise WriteError(f"cannot write {path}: another Parquet file has that name.")
    if not again:
        _write(batches, path, seal)
    return replace(batches, stored=Source.find(str(path))), again


def _seal(batches: FileBatches) -> bytes:
    """By which it is known whether a converted file is still that of its text."""
    status = os.stat(batches.source.path)
    kinds = {column.name: column.kind for column in batches.plan.encoding.columns}
    layout = replace(batches.layout, types={})
    taken = [kinds, batches.plan.answers.column, repr(layout), batches.plan.encoding.missing]
    return json.dumps([status.st_size, status.st_mtime_ns, *taken]).encode()


def _sealed(path: Path) -> bytes | None:
    import pyarrow.parquet as pq

    with suppress(*UNREADABLE):
        metadata = pq.read_schema(path).metadata or {}
        found: bytes = metadata.get(KEY, NOT_OURS)
        return found
    return None


def _write(batches: FileBatches, path: Path, seal: bytes) -> None:
    import pyarrow.parquet as pq

    schema = _schema(batches).with_metadata({KEY: seal})
    with (
        replacing(path) as name,
        pq.ParquetWriter(name, schema, use_dictionary=_repeated(schema)) as writer,
    ):
        for table in _grouped(_typed(batches, schema)):
            writer.write_table(table, row_group_size=ROWS)


def _schema(batches: FileBatches) -> Any:
    """All columns of the text: numbers as numbers, the answers as they are, others as text."""
    kinds = {column.name: _kind(column) for column in batches.plan.encoding.columns}
    answers = batches.plan.answers.column
    head = batches.head.table.schema
    kinds[answers] = head.field(answers).type
    names = [n for n in head.names if n in kinds]
    others = [
        (n, pa.string())
        for n, kind in zip(head.names, head.types, strict=True)
        if n not in kinds and not pa.types.is_nested(kind)
    ]
    return pa.schema([*((n, kinds[n]) for n in names), *others])


def _kind(column: Any) -> Any:
    if isinstance(column, Entries):
        return pa.map_(pa.int32(), pa.float64())
    return pa.float64() if isinstance(column, Number) else pa.string()


def _repeated(schema: Any) -> Any:
    """Text comes again and again; floats do not."""
    return [name for name, kind in zip(schema.names, schema.types, strict=True) if kind == "string"]


def _typed(batches: FileBatches, schema: Any) -> Iterator[Any]:
    source, layout, start = batches.source, batches.layout, 0
    columns = {column.name: column for column in batches.plan.encoding.columns}
    answers = schema.get_field_index(batches.plan.answers.column)
    with told_where(source, layout):
        for batch in ahead(batches.raw()):
            with told_where(source, layout, start):
                cells = [_cells(batch, field, columns.get(field.name)) for field in schema]
                cells[answers] = _labels(batch, schema.field(answers), batches.plan.answers)
            start += batch.num_rows
            yield pa.Table.from_arrays(cells, schema=schema)


def _cells(batch: Any, field: Any, column: Any) -> Any:
    if field.name not in batch.schema.names:
        return pa.nulls(batch.num_rows, field.type)
    cells = batch.column(field.name)
    if isinstance(column, Entries):
        return _entries(cells, field.name)
    if isinstance(column, Flag):
        return pa.array(column.encode(cells)[:, 0], from_pandas=True)
    if isinstance(column, Number):
        return as_numbers(cells)
    return as_text(cells)


def _labels(batch: Any, field: Any, answers: Answers) -> Any:
    """The answers, of the type they have in the head."""
    if field.name not in batch.schema.names:
        return pa.nulls(batch.num_rows, field.type)
    labels = plain_labels(batch.column(field.name))
    try:
        return labels.cast(field.type)
    except pa.ArrowInvalid:
        answers.encode(batch.column(field.name))  # says which one is no answer
        raise


def _entries(cells: Any, name: str) -> Any:
    index, value, rows, n = split_entries(cells, name)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n)))).astype(np.int32)
    return pa.MapArray.from_arrays(offsets, index.astype(np.int32), value)


def _grouped(tables: Iterator[Any]) -> Iterator[Any]:
    """Tables of about a row group's size."""
    waiting: list[Any] = []
    for table in tables:
        waiting.append(table)
        if sum(t.num_rows for t in waiting) >= ROWS:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)
