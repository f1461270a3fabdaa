"""Text converted once to a Parquet file beside it, which every further pass reads instead."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.clock import Silent, Watcher
from rosenblatt.errors import WriteError, one_line
from rosenblatt.files import replacing
from rosenblatt.read.ahead import ahead
from rosenblatt.read.columns import split_entries
from rosenblatt.read.data import Data, FileTable, planned, read_schema, told_where, with_types
from rosenblatt.read.libsvm import ENTRIES
from rosenblatt.read.plan import Wishes
from rosenblatt.read.source import UNREADABLE, Layout, Source, format_of

KEY = b"rosenblatt converted from"  # the mark of our files
DIGEST = b"rosenblatt converted from sha256"
SUFFIX = ".rosenblatt.parquet"
ROWS = 1 << 17  # in a row group
TEXT = ("CSV", "JSON lines", "LIBSVM")  # is parsed anew in every pass


def beside(source: Source) -> Path:
    """Where the converted file is."""
    return Path(source.path + SUFFIX)


def kept(source: Source, layout: Layout) -> FileTable | None:
    """The table of a text file as it was converted before, if that is still the same text.

    The digest of all its bytes tells, for a time can be set back; and it must have been read in
    the same way.
    """
    path = beside(source)
    ours = _marks(path)
    if ours.get(KEY) != _said(source, layout) or ours.get(DIGEST) != _digest(source):
        return None
    stored = Source.find(str(path))
    return FileTable(source, layout, read_schema(stored, Layout(".parquet")), stored)


def converted(table: FileTable) -> FileTable:
    """The rows of a text file read from a Parquet file, which is written whole or not at all."""
    import pyarrow.parquet as pq

    source, path = table.source, beside(table.source)
    if path.exists() and KEY not in _marks(path):
        raise WriteError(
            f"cannot write {path}: a file that rosenblatt did not write has that name."
        )
    before = _moment(source)
    marks = {KEY: _said(source, table.layout), DIGEST: _digest(source)}
    schema = _schema(table).with_metadata(marks)
    repeated = [field.name for field in schema if field.type == "string"]  # as floats are not
    try:
        with replacing(path) as name:
            with pq.ParquetWriter(name, schema, use_dictionary=repeated) as writer:
                for rows in _grouped(_typed(table, schema)):
                    writer.write_table(rows, row_group_size=ROWS)
            if _moment(source) != before:
                raise WriteError(f"cannot write {path}: {source.name} changed while it was read.")
    except pa.ArrowNotImplementedError as trouble:  # objects without fields, say
        raise WriteError(f"cannot write {path}: {one_line(trouble)}") from None
    return replace(table, schema=schema, stored=Source.find(str(path)))


def _said(source: Source, layout: Layout) -> bytes:
    """How long a text is, and how it is read."""
    types = {name: str(kind) for name, kind in sorted(layout.types.items())}
    return json.dumps(
        [os.path.getsize(source.path), repr(replace(layout, types={})), types]
    ).encode()


def _digest(source: Source) -> bytes:
    with open(source.path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest().encode()


def _moment(source: Source) -> tuple[int, ...]:
    """What changes when a file is written to; the third of these nobody can set back."""
    status = os.stat(source.path)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _marks(path: Path) -> dict[bytes, bytes]:
    """What a Parquet file says of itself; nothing if it is none."""
    import pyarrow.parquet as pq

    with suppress(*UNREADABLE):
        if path.is_file():
            return dict(pq.read_schema(path).metadata or {})
    return {}


def _schema(table: FileTable) -> Any:
    """The columns of the text in their types; entries as numbers, parsed once and for all."""
    if format_of(table.source, table.layout) != "LIBSVM":
        return table.schema
    at = table.schema.get_field_index(ENTRIES)
    return table.schema.set(at, pa.field(ENTRIES, pa.map_(pa.int32(), pa.float64())))


def _typed(table: FileTable, schema: Any) -> Iterator[Any]:
    source, layout, start = table.source, table.layout, 0
    with told_where(source, layout):
        for batch in ahead(table.batches()):
            with told_where(source, layout, start):
                cells = [_cells(batch.column(field.name), field) for field in schema]
            start += batch.num_rows
            yield pa.Table.from_arrays(cells, schema=schema)


def _cells(cells: Any, field: Any) -> Any:
    if not pa.types.is_map(field.type):
        return cells
    index, value, rows, n = split_entries(cells, field.name)
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


def opened(
    source: Source,
    layout: Layout,
    wishes: Wishes,
    watcher: Watcher = Silent(),
    *,
    convert: bool = True,
) -> Data:
    """A file to be gone through in passes; text is converted once, if it may be, which is said."""
    layout = with_types(source, layout, wishes)
    text = convert and format_of(source, layout) in TEXT and source.kept is None
    name = beside(source)
    with watcher.patience(f"reading {source.name}"):
        before = kept(source, layout) if text else None
        table = before or FileTable.of(source, layout)
    if before is not None:
        watcher.note(f"{name} holds the rows of {source.name}, which is unchanged: it is read.")
    elif text:
        try:
            with watcher.patience(f"converting {source.name}"):
                table = converted(table)
            watcher.note(f"{source.name} was converted to {name}, which every pass reads.")
        except WriteError as trouble:
            watcher.note(f"{str(trouble).rstrip('.')}; the text is parsed anew in every pass.")
    with watcher.patience(f"reading {source.name}"):
        return planned(table, wishes)
