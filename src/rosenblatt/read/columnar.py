"""Readers of Parquet, Arrow and NumPy files, and conversion of text files to Parquet."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from rosenblatt.errors import BadCellError, DataError, WriteError, error_line
from rosenblatt.files import replacing
from rosenblatt.read.columns import normalize_types, split_entries
from rosenblatt.read.lines import ENTRIES
from rosenblatt.read.source import (
    UNREADABLE,
    Layout,
    Source,
    batch_bytes,
    format_of,
    number_columns,
)
from rosenblatt.tables import PROMISED, first_changed

if TYPE_CHECKING:
    from rosenblatt.read.data import FileTable

KEY = b"rosenblatt converted from"  # marks Parquet files that rosenblatt wrote
SUFFIX = ".rosenblatt.parquet"
GROUP_ROWS = 1 << 17  # rows per row group of such a file

ROWS = 1 << 16  # maximum number of rows per batch; fewer if rows are wide
PAGE_BYTES = 1 << 16  # bytes per read


def parquet_batches(source: Source, layout: Layout, begin: int = 0) -> Iterator[Any]:
    """Yield an empty batch with the columns of a Parquet file, then rows from `begin` on."""
    with _parquet(source) as parquet:
        metadata = parquet.metadata
        yield _validate(_empty_batch(parquet.schema_arrow))
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        ends = np.cumsum(sizes)
        first = int(np.searchsorted(ends, begin, side="right"))  # row group with that row
        groups, skip = list(range(first, len(sizes))), begin - sum(sizes[:first])
        for batch in parquet.iter_batches(_rows_per_batch(_row_bytes(parquet)), groups):
            yield _validate(batch.slice(skip))
            skip = max(0, skip - batch.num_rows)


@contextmanager
def _parquet(source: Source) -> Iterator[Any]:
    import pyarrow.parquet as pq

    how = {"buffer_size": PAGE_BYTES, "pre_buffer": False}  # pages in memory, not row groups
    try:
        with source.open_seekable() as file, pq.ParquetFile(file, **how) as parquet:
            yield parquet
    except UNREADABLE as error:
        raise damaged_file_error(source.name, "Parquet", error) from None


def _row_bytes(parquet: Any) -> float:
    """Estimate the number of bytes per row of a Parquet file."""
    metadata = parquet.metadata
    groups = range(metadata.num_row_groups)
    stored = sum(metadata.row_group(i).total_byte_size for i in groups)
    widths = 0
    for kind in parquet.schema_arrow.types:
        try:
            widths += max(1, int(kind.bit_width) // 8)
        except ValueError:  # no fixed width
            widths += 16
    width: float = max(stored / max(1, metadata.num_rows), widths)
    return width


def _rows_per_batch(width: float) -> int:
    return min(ROWS, max(256, int(batch_bytes() // max(1.0, width))))


def parquet_size(source: Source) -> int:
    """Estimate how many bytes the rows of a Parquet file need in memory."""
    with _parquet(source) as parquet:
        return int(parquet.metadata.num_rows * _row_bytes(parquet))


def arrow_batches(source: Source, layout: Layout) -> Iterator[Any]:
    """Yield an empty batch with the columns of an Arrow (Feather) file, then batches of rows."""
    try:
        with _map_file(source) as file:
            is_file = file.read(6) == b"ARROW1"
            file.seek(0)
            reader = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file)
            yield _validate(_empty_batch(reader.schema))
            places = range(reader.num_record_batches if is_file else 0)
            for batch in map(reader.get_batch, places) if is_file else reader:
                rows = _rows_per_batch(batch.get_total_buffer_size() / max(1, batch.num_rows))
                for start in range(0, batch.num_rows, rows):
                    yield _validate(batch.slice(start, rows))
    except UNREADABLE as error:
        raise damaged_file_error(source.name, "Arrow", error) from None


def _map_file(source: Source) -> Any:
    """Map a file into memory, so that batches are read when they are used."""
    if source.compression is None:
        with suppress(*UNREADABLE):  # address space is limited, or the file is empty
            return pa.memory_map(source.path)
    return source.open_seekable()


def _validate(batch: Any) -> Any:
    """Validate a batch, so that a damaged file cannot crash the process."""
    batch.validate(full=True)
    return normalize_types(batch)


def _empty_batch(schema: Any) -> Any:
    # A file without rows still has columns.
    return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)


def damaged_file_error(name: str, kind: str, error: BaseException) -> DataError:
    """Create the error about a file that cannot be read."""
    if isinstance(error, MemoryError):  # a damaged file may request any amount
        why = error_line(error).rstrip(".")
        return DataError(f"{name}: not enough memory for its declared size ({why}).")
    if isinstance(error, pa.ArrowNotImplementedError):
        why = error_line(error).rstrip(".")
        return DataError(f"{name}: this PyArrow cannot read it ({why}). A newer version may.")
    return DataError(f"{name} is not a whole {kind} file: {error_line(error)}")


def npy_batches(source: Source, layout: Layout) -> Iterator[Any]:
    """Yield an empty batch with the columns of a .npy file, then batches of rows."""
    shape, fortran, dtype, begin = read_npy_header(source)
    n, d = shape
    step = max(1, batch_bytes() // max(1, d * dtype.itemsize))
    yield _to_batch(np.empty((0, d), dtype), 0)
    with _map_file(source) if fortran else source.open_seekable() as file:
        file.seek(begin)
        if fortran:
            columns = np.frombuffer(file.read_buffer(), dtype, n * d).reshape(d, n)
            yield from (_to_batch(columns[:, i : i + step].T, i) for i in range(0, n, step))
            return
        # The file is not mapped, so that memory is released even if address space is limited.
        for i in range(0, n, step):
            data = file.read(min(step, n - i) * d * dtype.itemsize)
            yield _to_batch(np.frombuffer(data, dtype).reshape(-1, d), i)


def read_npy_header(source: Source) -> tuple[tuple[int, int], bool, np.dtype[Any], int]:
    """Read the header of a .npy file; raise DataError unless it is a numeric table.

    Return the shape, whether columns are stored one after the other, the type, and the position of
    the first number.
    """
    with source.open_seekable() as file:
        try:
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(file)
        except Exception as error:  # the header is a Python literal; its parser may raise anything
            raise damaged_file_error(source.name, ".npy", error) from None
        begin, end = file.tell(), file.seek(0, 2)
    if len(shape) != 2 or min(shape) < 1 or dtype.kind not in "fiub" or not dtype.itemsize:
        raise DataError(
            f"{source.name} holds {dtype} of shape {shape}; give a 2-d array of numbers, with one "
            "row per example."
        )
    if end - begin < math.prod(shape) * dtype.itemsize:
        raise damaged_file_error(source.name, ".npy", EOFError("it ends too early"))
    return shape, fortran, dtype, begin


def _to_batch(rows: NDArray[Any], start: int) -> Any:
    """Convert rows of an array to Arrow; raise BadCellError if float64 would round a number."""
    kind, names = rows.dtype.newbyteorder("="), number_columns(rows.shape[1])
    kind = np.dtype(np.float32) if kind == np.float16 else kind
    if kind.kind == "f" and kind.itemsize > 8:
        kind = np.dtype(np.float64)
        at = first_changed(rows, rows.astype(kind))
        if at is not None:
            row, column = divmod(at, rows.shape[1])
            raise BadCellError(start + row, names[column], str(rows[row, column]), PROMISED)
    columns = [pa.array(np.ascontiguousarray(column, dtype=kind)) for column in rows.T]
    return pa.RecordBatch.from_arrays(columns, names)


def npy_size(source: Source) -> int:
    """Return how many bytes the rows of a .npy file need in memory."""
    shape, _, dtype, _ = read_npy_header(source)
    return math.prod(shape) * dtype.itemsize


# Conversion of text files to Parquet.


def converted_path(source: Source) -> Path:
    """Return the path of the Parquet file to which a text file is converted."""
    return Path(source.path + SUFFIX)


def find_converted(source: Source, layout: Layout) -> Source | None:
    """Return the Parquet file to which an unchanged text file was converted, or None.

    The checksum of all bytes decides, because times can be set back; the requested separator,
    header, encoding and column types must also be the same.
    """
    path = converted_path(source)
    mark = _metadata(path).get(KEY)
    found = mark is not None and mark == _fingerprint(source, layout)
    return Source.find(str(path)) if found else None


def convert_file(table: FileTable) -> FileTable:
    """Convert a text file to Parquet, atomically; return a table that reads the Parquet file."""
    import pyarrow.parquet as pq

    source, path = table.source, converted_path(table.source)
    if path.exists() and KEY not in _metadata(path):
        raise WriteError(
            f"cannot write {path}: a file of that name exists that rosenblatt did not write; "
            "rename or move it."
        )
    before = _file_state(source)
    marks = {KEY: _fingerprint(source, table.layout)}
    schema = table.schema
    if format_of(source, table.layout) == "LIBSVM":  # entries are stored as numbers
        at = schema.get_field_index(ENTRIES)
        schema = schema.set(at, pa.field(ENTRIES, pa.map_(pa.int32(), pa.float64())))
    schema = schema.with_metadata(marks)
    repeated = [field.name for field in schema if field.type == "string"]  # floats rarely repeat

    def with_schema(batch: Any) -> Any:
        columns = []
        for name, kind in zip(schema.names, schema.types, strict=True):
            cells = batch.column(name)
            if pa.types.is_map(kind):
                index, value, rows, n = split_entries(cells, name)
                offsets = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n))))
                keys = index.astype(np.int32)
                cells = pa.MapArray.from_arrays(offsets.astype(np.int32), keys, value)
            columns.append(cells)
        return pa.Table.from_arrays(columns, schema=schema)

    try:
        with replacing(path) as name:
            with pq.ParquetWriter(name, schema, use_dictionary=repeated) as writer:
                group: list[Any] = []
                for rows in chain(table.each(with_schema), (None,)):
                    if rows is not None:
                        group.append(rows)
                    if group and (rows is None or sum(map(len, group)) >= ROWS):
                        writer.write_table(pa.concat_tables(group), row_group_size=GROUP_ROWS)
                        group = []
            if _file_state(source) != before:
                raise WriteError(f"cannot write {path}: {source.name} changed while it was read.")
    except pa.ArrowNotImplementedError as error:  # for example, objects without fields
        raise WriteError(f"cannot write {path}: {error_line(error)}") from None
    return replace(table, schema=schema, stored=Source.find(str(path)))


def _fingerprint(source: Source, layout: Layout) -> bytes:
    """Return a file's checksum together with its requested format and column types.

    The file was already converted to Parquet if the Parquet file stores the same bytes.
    """
    types = {name: str(kind) for name, kind in sorted(layout.types.items())}
    with open(source.path, "rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    return json.dumps([checksum, repr(replace(layout, types={})), types]).encode()


def _file_state(source: Source) -> tuple[int, ...]:
    """Return the size, times and inode of a file, to detect whether it changes."""
    status = os.stat(source.path)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _metadata(path: Path) -> dict[bytes, bytes]:
    """Return the metadata of a Parquet file; empty for any other file."""
    import pyarrow.parquet as pq

    with suppress(*UNREADABLE):
        if path.is_file():
            return dict(pq.read_schema(path).metadata or {})
    return {}
