"""NumPy's .npy files: a table of numbers, one of its columns the answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from rosenblatt.errors import BadCellError, DataError
from rosenblatt.read.free import batch_bytes
from rosenblatt.read.layout import Layout, numbered
from rosenblatt.read.source import Source, cannot_open, one_line
from rosenblatt.wholes import PROMISED, first_changed


class Header(NamedTuple):
    """The shape of the table, whether columns come one after another, its type, where it begins."""

    shape: tuple[int, int]
    fortran: bool
    dtype: np.dtype[Any]
    begin: int


def read_stream(source: Source, layout: Layout) -> Iterator[Any]:
    """Record batches of a table, its columns numbered as in a file without header."""
    header = header_of(source)
    names = numbered(header.shape[1])
    step = max(1, batch_bytes() // max(1, header.shape[1] * header.dtype.itemsize))
    yield _batch(np.empty((0, header.shape[1]), header.dtype), names)
    for number, rows in enumerate(_tables(source, header, step)):
        _refuse_rounded(rows, names, number * step)
        yield _batch(rows, names)


def read_whole(source: Source, layout: Layout) -> Any:
    """All rows of a table."""
    return pa.Table.from_batches(read_stream(source, layout))


def header_of(source: Source) -> Header:
    """What the file says of its table; refuses what is no table of numbers."""
    with _open(source) as file:
        try:
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(file)
        except Exception as trouble:  # the header is Python: whatever its parser raises
            why = one_line(trouble)
            raise DataError(f"{source.name} is not a whole .npy file: {why}") from None
        begin, end = file.tell(), file.seek(0, 2)
    if len(shape) != 2 or min(shape) < 1 or dtype.kind not in "fiub" or not dtype.itemsize:
        raise DataError(
            f"{source.name} holds {dtype} of shape {shape}; give a table of numbers, rows first."
        )
    if end - begin < math.prod(shape) * dtype.itemsize:
        raise DataError(f"{source.name} is not a whole .npy file: it ends too early.")
    return Header(shape, fortran, dtype, begin)


def _tables(source: Source, header: Header, step: int) -> Iterator[NDArray[Any]]:
    n, d = header.shape
    if header.fortran and source.compression is None:
        table = np.load(source.path, mmap_mode="r", allow_pickle=False)
        yield from (table[i : i + step] for i in range(0, n, step))
        return
    with _open(source) as file:
        file.seek(header.begin)
        if header.fortran:
            columns = np.frombuffer(file.read(), header.dtype, n * d).reshape(d, n)
            yield from (columns[:, i : i + step].T for i in range(0, n, step))
            return
        # Not mapped: what is read is let go again, whatever the limit on addresses.
        for i in range(0, n, step):
            rows = min(step, n - i)
            data = file.read(rows * d * header.dtype.itemsize)
            yield np.frombuffer(data, header.dtype, rows * d).reshape(rows, d)


def _batch(rows: NDArray[Any], names: list[str]) -> Any:
    kind = rows.dtype.newbyteorder("=")
    kind = np.dtype(np.float32) if kind == np.float16 else kind
    kind = np.dtype(np.float64) if kind.kind == "f" and kind.itemsize > 8 else kind
    columns = [pa.array(np.ascontiguousarray(column, dtype=kind)) for column in rows.T]
    return pa.RecordBatch.from_arrays(columns, names)


def _refuse_rounded(rows: NDArray[Any], names: list[str], start: int) -> None:
    """Long doubles hold whole numbers that doubles do not."""
    if rows.dtype.kind != "f" or rows.dtype.itemsize <= 8:
        return
    at = first_changed(rows, rows.astype(np.float64))
    if at is not None:
        row, column = divmod(at, rows.shape[1])
        raise BadCellError(start + row, names[column], str(rows[row, column]), PROMISED)


def _open(source: Source) -> IO[bytes]:
    if source.compression is not None:
        return pa.PythonFile(source.open_anywhere(), "r")  # type: ignore[no-any-return]
    try:
        return open(source.path, "rb")
    except OSError as trouble:
        raise cannot_open(source.name, trouble) from None
