"""Tables written batch by batch: CSV, Parquet or JSON lines, to a file or standard output."""

from __future__ import annotations

import csv as names
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
from pyarrow import csv

from rosenblatt.errors import UsageError
from rosenblatt.files import replacing
from rosenblatt.words import shown_bytes

Write = Callable[[Any], None]


@contextmanager
def open_writer(path: str | None, to: str | None) -> Iterator[Write]:
    """A function that writes tables of one schema, one after the other.

    Parameters
    ----------
    path : str, optional
        A file, replaced once it is complete; standard output if not given.
    to : {"csv", "jsonl", "parquet"}, optional
        The format; the end of the path tells otherwise.
    """
    format_ = to or _by_name(path)
    if path is None or path == "-":
        if format_ == "parquet" and sys.stdout.isatty():
            raise UsageError("Parquet is not for a terminal; give -o FILE.")
        with _writer(format_, _Terminal() if sys.stdout.isatty() else sys.stdout.buffer) as write:
            yield write
        return
    with replacing(path) as beside, open(beside, "wb") as file, _writer(format_, file) as write:
        yield write


class _Terminal:
    """Standard output where a person reads it: no cell of a table moves the cursor."""

    def write(self, rows: Any) -> None:
        sys.stdout.buffer.write(shown_bytes(bytes(rows)))

    def flush(self) -> None:
        sys.stdout.buffer.flush()


def _by_name(path: str | None) -> str:
    if path is None or path == "-":
        return "csv"
    suffix = Path(path).suffix.lower()
    found = {
        ".csv": "csv",
        ".parquet": "parquet",
        ".pq": "parquet",
        ".jsonl": "jsonl",
        ".ndjson": "jsonl",
        ".json": "jsonl",
    }.get(suffix)
    if found is None:
        raise UsageError(f"--output {path}: the name does not tell the format; give --to csv, say.")
    return found


@contextmanager
def _writer(format_: str, file: Any) -> Iterator[Write]:
    writer: Any = None

    def write(table: Any) -> None:
        nonlocal writer
        if writer is None:
            writer = WRITERS[format_](file, table.schema)
        writer.write(table.cast(writer.schema) if table.schema != writer.schema else table)

    try:
        yield write
    except BaseException:
        if writer is not None:
            with suppress(Exception):  # what was written so far is thrown away
                writer.close()
        raise
    if writer is not None:
        writer.close()
    file.flush()


class CsvTables:
    """CSV through PyArrow; floats are written so that they read back to the last bit."""

    def __init__(self, file: IO[bytes], schema: Any) -> None:
        self.file, self.schema = file, schema
        line = io.StringIO()
        names.writer(line, lineterminator="\n").writerow(schema.names)
        file.write(line.getvalue().encode())

    def write(self, table: Any) -> None:
        """Write the rows of a table, with quotes only where some cell needs them."""
        sink = pa.BufferOutputStream()
        try:
            csv.write_csv(table, sink, csv.WriteOptions(include_header=False, quoting_style="none"))
        except pa.ArrowInvalid:
            sink = pa.BufferOutputStream()
            csv.write_csv(table, sink, csv.WriteOptions(include_header=False))
        self.file.write(sink.getvalue())

    def close(self) -> None:
        """Nothing is left."""


class ParquetTables:
    """Parquet through PyArrow, a row group a few batches."""

    def __init__(self, file: IO[bytes], schema: Any) -> None:
        import pyarrow.parquet as pq

        self.schema = schema
        self.waiting: list[Any] = []
        self.writer = pq.ParquetWriter(file, schema)

    def write(self, table: Any) -> None:
        """Keep the rows of a table until there are enough for a row group."""
        self.waiting.append(table)
        if sum(t.num_rows for t in self.waiting) >= 1 << 16:
            self._flush()

    def close(self) -> None:
        """Write what is left."""
        self._flush()
        self.writer.close()

    def _flush(self) -> None:
        if self.waiting:
            self.writer.write_table(pa.concat_tables(self.waiting))
            self.waiting = []


class JsonTables:
    """JSON lines, one object a row."""

    def __init__(self, file: IO[bytes], schema: Any) -> None:
        self.file, self.schema = file, schema

    def write(self, table: Any) -> None:
        """Write the rows of a table."""
        lines = (json.dumps(row, ensure_ascii=False, default=str) for row in table.to_pylist())
        self.file.write("".join(line + "\n" for line in lines).encode())

    def close(self) -> None:
        """Nothing is left."""


WRITERS: dict[str, Any] = {"csv": CsvTables, "parquet": ParquetTables, "jsonl": JsonTables}
