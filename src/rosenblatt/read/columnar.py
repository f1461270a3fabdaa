"""Parquet, Arrow and NumPy files: batches as they are stored."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from rosenblatt.errors import BadCellError, DataError, one_line
from rosenblatt.read.columns import usual
from rosenblatt.read.source import UNREADABLE, Layout, Source, batch_bytes, numbered
from rosenblatt.tables import PROMISED, first_changed

ROWS = 1 << 16  # in a batch at the most; fewer where they are wide
PAGE_BYTES = 1 << 16  # read at a time
BATCHES = 4  # a row group of so many, and no more, is read as a part of its own


class RowGroup(NamedTuple):
    """A row group of a Parquet file: its place, the number of its first row, and of its rows."""

    group: int
    start: int
    rows: int
    metadata: Any


def parquet_batches(source: Source, layout: Layout) -> Iterator[Any]:
    """Record batches of a Parquet file, a few pages in memory at a time."""
    with _parquet(source) as parquet:
        yield _sound(_nothing(parquet.schema_arrow))
        yield from map(_sound, parquet.iter_batches(_rows(_width_of(parquet))))


def parquet_parts(source: Source) -> list[RowGroup]:
    """The row groups of a Parquet file, if they are several and small enough to hold a few.

    A compressed file has none: each would have all of it unpacked again.
    """
    if source.compression is not None:
        return []
    with _parquet(source) as parquet:
        metadata = parquet.metadata
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        if len(sizes) < 2 or max(sizes) * _width_of(parquet) > BATCHES * batch_bytes():
            return []
        return [RowGroup(i, sum(sizes[:i]), sizes[i], metadata) for i in range(len(sizes))]


def parquet_part(source: Source, part: RowGroup) -> Iterator[Any]:
    """The rows of a row group in one batch, decoded by one thread: others decode other groups."""
    with _parquet(source, part.metadata) as parquet:
        batches = parquet.iter_batches(max(1, part.rows), [part.group], use_threads=False)
        yield from map(_sound, batches)


def _parquet_size(source: Source) -> int:
    """About how many bytes the rows of a Parquet file are once they are read."""
    with _parquet(source) as parquet:
        size: float = parquet.metadata.num_rows * _width_of(parquet)
        return int(size)


def parquet_file(file: Any, known: Any = None) -> Any:
    """A Parquet file of which a few pages are held in memory at a time, not a row group."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(file, metadata=known, buffer_size=PAGE_BYTES, pre_buffer=False)


@contextmanager
def _parquet(source: Source, known: Any = None) -> Iterator[Any]:
    try:
        with source.open_anywhere() as file, parquet_file(file, known) as parquet:
            yield parquet
    except UNREADABLE as trouble:
        raise damaged(source.name, "Parquet", trouble) from None


def _width_of(parquet: Any) -> float:
    """About how many bytes a row is: as stored, or as its types say where that is more."""
    metadata = parquet.metadata
    groups = range(metadata.num_row_groups)
    stored = sum(metadata.row_group(i).total_byte_size for i in groups)
    widths = [_width(kind) for kind in parquet.schema_arrow.types]
    width: float = max(stored / max(1, metadata.num_rows), sum(widths))
    return width


def _width(kind: Any) -> int:
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:  # of no fixed width
        return 16


def _rows(width: float) -> int:
    """How many rows to read at a time."""
    return min(ROWS, max(256, int(batch_bytes() // max(1.0, width))))


def arrow_batches(source: Source, layout: Layout) -> Iterator[Any]:
    """Record batches of an Arrow (Feather) file or stream."""
    try:
        with _mapped(source) as file:
            first = file.read(6)
            file.seek(0)
            if first.startswith(b"FEA1"):  # the first Feather format has nothing of the others
                import pyarrow.feather as feather

                yield from map(_sound, feather.read_table(file).to_batches(ROWS))
                return
            is_file = first == b"ARROW1"
            reader = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file)
            yield _sound(_nothing(reader.schema))
            places = range(reader.num_record_batches if is_file else 0)
            for batch in map(reader.get_batch, places) if is_file else reader:
                yield from map(_sound, _small(batch))
    except UNREADABLE as trouble:
        raise damaged(source.name, "Arrow", trouble) from None


def _mapped(source: Source) -> Any:
    """The file as part of memory, so that a batch of any size is read as it is used."""
    if source.compression is None:
        with suppress(*UNREADABLE):  # where addresses are limited, or the file is empty
            return pa.memory_map(source.path)
    return source.open_anywhere()


def _small(batch: Any) -> Iterator[Any]:
    rows = _rows(batch.get_total_buffer_size() / max(1, batch.num_rows))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _sound(batch: Any) -> Any:
    """The batch, once its offsets and its text are checked: a damaged file must not crash."""
    batch.validate(full=True)
    return usual(batch)


def _nothing(schema: Any) -> Any:
    # So that a file without rows still has its columns.
    return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)


def damaged(name: str, kind: str, trouble: BaseException) -> DataError:
    """Say what is wrong with a file of this kind."""
    if isinstance(trouble, MemoryError):  # a damaged file may ask for any amount
        why = one_line(trouble).rstrip(".")
        return DataError(f"{name}: not memory enough for what it says it holds ({why}).")
    if isinstance(trouble, pa.ArrowNotImplementedError):
        why = one_line(trouble).rstrip(".")
        return DataError(f"{name}: this PyArrow cannot read it ({why}). A newer one may.")
    return DataError(f"{name} is not a whole {kind} file: {one_line(trouble)}")


class Header(NamedTuple):
    """The shape of the table, whether columns come one after another, its type, where it begins."""

    shape: tuple[int, int]
    fortran: bool
    dtype: np.dtype[Any]
    begin: int


def npy_batches(source: Source, layout: Layout) -> Iterator[Any]:
    """Record batches of a table, its columns numbered as in a file without header."""
    shape, fortran, dtype, begin = header_of(source)
    n, d = shape
    step = max(1, batch_bytes() // max(1, d * dtype.itemsize))
    yield _batch(np.empty((0, d), dtype), 0)
    with _mapped(source) if fortran else source.open_anywhere() as file:
        file.seek(begin)
        if fortran:
            columns = np.frombuffer(file.read_buffer(), dtype, n * d).reshape(d, n)
            yield from (_batch(columns[:, i : i + step].T, i) for i in range(0, n, step))
            return
        # Not mapped: what is read is let go again, whatever the limit on addresses.
        for i in range(0, n, step):
            data = file.read(min(step, n - i) * d * dtype.itemsize)
            yield _batch(np.frombuffer(data, dtype).reshape(-1, d), i)


def header_of(source: Source) -> Header:
    """What the file says of its table; refuses what is no table of numbers."""
    with source.open_anywhere() as file:
        try:
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(file)
        except Exception as trouble:  # the header is Python: whatever its parser raises
            raise damaged(source.name, ".npy", trouble) from None
        begin, end = file.tell(), file.seek(0, 2)
    if len(shape) != 2 or min(shape) < 1 or dtype.kind not in "fiub" or not dtype.itemsize:
        raise DataError(
            f"{source.name} holds {dtype} of shape {shape}; give a table of numbers, rows first."
        )
    if end - begin < math.prod(shape) * dtype.itemsize:
        raise damaged(source.name, ".npy", EOFError("it ends too early"))
    return Header(shape, fortran, dtype, begin)


def _batch(rows: NDArray[Any], start: int) -> Any:
    """Rows as Arrow has them; of long doubles, which hold more whole numbers, none is rounded."""
    kind, names = rows.dtype.newbyteorder("="), numbered(rows.shape[1])
    kind = np.dtype(np.float32) if kind == np.float16 else kind
    if kind.kind == "f" and kind.itemsize > 8:
        kind = np.dtype(np.float64)
        at = first_changed(rows, rows.astype(kind))
        if at is not None:
            row, column = divmod(at, rows.shape[1])
            raise BadCellError(start + row, names[column], str(rows[row, column]), PROMISED)
    columns = [pa.array(np.ascontiguousarray(column, dtype=kind)) for column in rows.T]
    return pa.RecordBatch.from_arrays(columns, names)


def _npy_size(source: Source) -> int:
    header = header_of(source)
    return header.shape[0] * header.shape[1] * header.dtype.itemsize


# Formats that tell about how many bytes their rows are once they are read.
SIZES = {"Parquet": _parquet_size, "NumPy": _npy_size}
