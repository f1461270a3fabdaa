"""Conversion of a text file to a Parquet file beside it, which is faster to read in passes."""

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

from rosenblatt.clock import Reporter
from rosenblatt.errors import WriteError, error_line
from rosenblatt.files import replacing
from rosenblatt.read.columns import split_entries
from rosenblatt.read.data import Data, FileTable, plan_file, read_schema, with_types
from rosenblatt.read.lines import ENTRIES
from rosenblatt.read.plan import ColumnOptions
from rosenblatt.read.source import UNREADABLE, Layout, Source, format_of

KEY = b"rosenblatt converted from"  # marks Parquet files that rosenblatt wrote
SUFFIX = ".rosenblatt.parquet"
ROWS = 1 << 17  # rows per row group
TEXT = ("CSV", "JSON lines", "LIBSVM")  # formats that are slow to parse in every pass


def converted_path(source: Source) -> Path:
    """Return the path of the Parquet file to which a text file is converted."""
    return Path(source.path + SUFFIX)


def find_converted(source: Source, layout: Layout) -> FileTable | None:
    """Return the table of an earlier conversion, or None if the text file has changed since.

    The checksum of all bytes decides, because times can be set back; the layout must also be the
    same.
    """
    path = converted_path(source)
    if (ours := _metadata(path).get(KEY)) is None or ours != _fingerprint(source, layout):
        return None
    stored = Source.find(str(path))
    return FileTable(source, layout, read_schema(stored, Layout(".parquet")), stored)


def convert_file(table: FileTable) -> FileTable:
    """Convert a text file to Parquet, atomically; return the table that reads the new file."""
    import pyarrow.parquet as pq

    source, path = table.source, converted_path(table.source)
    if path.exists() and KEY not in _metadata(path):
        raise WriteError(
            f"cannot write {path}: a file that rosenblatt did not write has that name."
        )
    before = _file_state(source)
    marks = {KEY: _fingerprint(source, table.layout)}
    schema = table.schema
    if format_of(source, table.layout) == "LIBSVM":  # entries are stored as numbers
        at = schema.get_field_index(ENTRIES)
        schema = schema.set(at, pa.field(ENTRIES, pa.map_(pa.int32(), pa.float64())))
    schema = schema.with_metadata(marks)
    repeated = [field.name for field in schema if field.type == "string"]  # floats rarely repeat
    try:
        with replacing(path) as name:
            with pq.ParquetWriter(name, schema, use_dictionary=repeated) as writer:
                for rows in _group_rows(_read_tables(table, schema)):
                    writer.write_table(rows, row_group_size=ROWS)
            if _file_state(source) != before:
                raise WriteError(f"cannot write {path}: {source.name} changed while it was read.")
    except pa.ArrowNotImplementedError as error:  # for example, objects without fields
        raise WriteError(f"cannot write {path}: {error_line(error)}") from None
    return replace(table, schema=schema, stored=Source.find(str(path)))


def _fingerprint(source: Source, layout: Layout) -> bytes:
    """Return the checksum of a text file and its layout."""
    types = {name: str(kind) for name, kind in sorted(layout.types.items())}
    with open(source.path, "rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    return json.dumps([checksum, repr(replace(layout, types={})), types]).encode()


def _file_state(source: Source) -> tuple[int, ...]:
    """Return size, times and inode of a file, one of which changes when the file is written."""
    status = os.stat(source.path)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _metadata(path: Path) -> dict[bytes, bytes]:
    """Return the metadata of a Parquet file; empty for any other file."""
    import pyarrow.parquet as pq

    with suppress(*UNREADABLE):
        if path.is_file():
            return dict(pq.read_schema(path).metadata or {})
    return {}


def _read_tables(table: FileTable, schema: Any) -> Iterator[Any]:
    """Yield the rows of a text file as tables with the schema of the Parquet file."""

    def convert(batch: Any) -> Any:
        columns = []
        for field in schema:
            cells = batch.column(field.name)
            if pa.types.is_map(field.type):
                index, value, rows, n = split_entries(cells, field.name)
                offsets = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n))))
                keys = index.astype(np.int32)
                cells = pa.MapArray.from_arrays(offsets.astype(np.int32), keys, value)
            columns.append(cells)
        return pa.Table.from_arrays(columns, schema=schema)

    return table.each(convert)


def _group_rows(tables: Iterator[Any]) -> Iterator[Any]:
    waiting: list[Any] = []
    for table in tables:
        waiting.append(table)
        if sum(t.num_rows for t in waiting) >= ROWS:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def open_data(
    source: Source,
    layout: Layout,
    options: ColumnOptions,
    reporter: Reporter = Reporter(),
    *,
    convert: bool = True,
) -> Data:
    """Open a file to read it in several passes; if `convert`, convert text to Parquet once."""
    layout = with_types(source, layout, options)
    text = convert and format_of(source, layout) in TEXT and source.kept is None
    name = converted_path(source)
    with reporter.progress(f"reading {source.name}"):
        before = find_converted(source, layout) if text else None
        table = before or FileTable.of(source, layout)
    if before is not None:
        reporter.note(f"reading {name} with the rows of {source.name}, which is unchanged.")
    elif text:
        try:
            with reporter.progress(f"converting {source.name}"):
                table = convert_file(table)
            reporter.note(f"{source.name} was converted to {name}, which every pass reads.")
        except WriteError as error:
            reporter.note(f"{str(error).rstrip('.')}; the text is parsed again in every pass.")
    with reporter.progress(f"reading {source.name}"):
        return plan_file(table, options)
