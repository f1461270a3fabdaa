"""Parquet and Arrow files: batches as they are stored."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import pyarrow as pa

from rosenblatt.errors import DataError
from rosenblatt.read.free import batch_bytes, free_memory
from rosenblatt.read.layout import Layout
from rosenblatt.read.source import UNREADABLE, Source, one_line

ROWS = 1 << 16  # in a batch at the most; fewer where they are wide
PAGE_BYTES = 1 << 16  # read at a time
KEPT_MS = 1000  # that Arrow keeps memory it has freed
PLENTY = 1 << 32  # bytes free for this process, with which it may
BATCHES = 4  # a row group of so many, and no more, is read as a part of its own


class Part(NamedTuple):
    """A row group of a Parquet file: its place, the number of its first row, and of its rows."""

    group: int
    start: int
    rows: int
    metadata: Any


def parquet_stream(source: Source, layout: Layout) -> Iterator[Any]:
    """Record batches of a Parquet file, a few pages in memory at a time."""
    with _parquet(source) as parquet:
        yield _nothing(parquet.schema_arrow)
        yield from map(_sound, parquet.iter_batches(_rows(_width_of(parquet))))


def parquet_parts(source: Source) -> list[Part]:
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
        return [Part(i, sum(sizes[:i]), sizes[i], metadata) for i in range(len(sizes))]


def parquet_part(source: Source, part: Part) -> Iterator[Any]:
    """The rows of a row group in one batch, decoded by one thread: others decode other groups."""
    with _parquet(source, part.metadata) as parquet:
        batches = parquet.iter_batches(max(1, part.rows), [part.group], use_threads=False)
        yield from map(_sound, batches)


def decoded_size(source: Source) -> int:
    """About how many bytes the rows of a Parquet file are once they are read."""
    with _parquet(source) as parquet:
        size: float = parquet.metadata.num_rows * _width_of(parquet)
        return int(size)


def parquet_file(file: Any, known: Any = None) -> Any:
    """A Parquet file of which a few pages are held in memory at a time, not a row group."""
    import pyarrow.parquet as pq

    _keep_what_is_freed()
    return pq.ParquetFile(file, metadata=known, buffer_size=PAGE_BYTES, pre_buffer=False)


@functools.cache
def _keep_what_is_freed() -> None:
    """Let Arrow use memory again: what is new is cleared as it is touched, a fifth of the time."""
    free = free_memory()
    plenty = free is None or free > PLENTY
    if plenty and pa.default_memory_pool().backend_name == "jemalloc":
        pa.jemalloc_set_decay_ms(KEPT_MS)


@contextmanager
def _parquet(source: Source, known: Any = None) -> Iterator[Any]:
    try:
        with source.open_anywhere() as file, parquet_file(file, known) as parquet:
            yield parquet
    except UNREADABLE as trouble:
        raise _damaged(source, "Parquet", trouble) from None


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


def arrow_stream(source: Source, layout: Layout) -> Iterator[Any]:
    """Record batches of an Arrow (Feather) file or stream."""
    try:
        with _mapped(source) as file:
            yield from map(_sound, _feather_one(file) or _ipc(file))
    except UNREADABLE as trouble:
        raise _damaged(source, "Arrow", trouble) from None


def parquet_whole(source: Source, layout: Layout) -> Any:
    """All rows of a Parquet file."""
    return pa.Table.from_batches(parquet_stream(source, layout))


def arrow_whole(source: Source, layout: Layout) -> Any:
    """All rows of an Arrow file or stream."""
    return pa.Table.from_batches(arrow_stream(source, layout))


def _ipc(file: Any) -> Iterator[Any]:
    if file.read(6) == b"ARROW1":
        file.seek(0)
        reader = pa.ipc.open_file(file)
        yield _nothing(reader.schema)
        for i in range(reader.num_record_batches):
            yield from _small(reader.get_batch(i))
        return
    file.seek(0)
    reader = pa.ipc.open_stream(file)
    yield _nothing(reader.schema)
    for batch in reader:
        yield from _small(batch)


def _feather_one(file: Any) -> Iterator[Any] | None:
    """The first Feather format, which has magic bytes of its own."""
    first = file.read(4)
    file.seek(0)
    if first != b"FEA1":
        return None
    import pyarrow.feather as feather

    batches: list[Any] = feather.read_table(file).to_batches(ROWS)
    return iter(batches)


def _mapped(source: Source) -> Any:
    """The file as part of memory, so that a batch of any size is read as it is used."""
    if source.compression is None:
        with suppress(*UNREADABLE):  # where addresses are limited, or the file is empty
            return pa.memory_map(source.path)
    return source.open_anywhere()


def _small(batch: Any) -> Iterator[Any]:
    rows = _rows(batch.nbytes / max(1, batch.num_rows))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _sound(batch: Any) -> Any:
    """The batch, once its offsets and its text are checked: a damaged file must not crash."""
    batch.validate(full=True)
    return batch


def _nothing(schema: Any) -> Any:
    # So that a file without rows still has its columns.
    return pa.RecordBatch.from_pylist([], schema=schema)


def _damaged(source: Source, kind: str, trouble: BaseException) -> DataError:
    if isinstance(trouble, MemoryError):  # a damaged file may ask for any amount
        why = one_line(trouble).rstrip(".")
        return DataError(f"{source.name}: not memory enough for what it says it holds ({why}).")
    return DataError(f"{source.name} is not a whole {kind} file: {one_line(trouble)}")
