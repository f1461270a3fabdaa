"""From a file to examples: one file a format, and the encoding of columns as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from rosenblatt.errors import DataError, UsageError
from rosenblatt.read import columnar, csv, jsonlines, libsvm
from rosenblatt.read.source import UNPACKS, Layout, Source, compression_of, twice, what_is

__all__ = [
    "READERS",
    "Layout",
    "Reader",
    "Source",
    "check_names",
    "read_schema",
    "read_stream",
    "read_whole",
    "reader_of",
]


class Reader(NamedTuple):
    """Two ways to read a format: all of it with types found out, or batch after batch.

    Formats of text do not say of which types their columns are: `schema` looks at all rows.
    """

    name: str
    whole: Callable[[Source, Layout], Any]
    stream: Callable[[Source, Layout], Iterator[Any]]
    schema: Callable[[Source, Layout], Any] | None = None


CSV = Reader("CSV", csv.read_whole, csv.read_stream, csv.read_schema)
PARQUET = Reader("Parquet", columnar.parquet_whole, columnar.parquet_stream)
ARROW = Reader("Arrow", columnar.arrow_whole, columnar.arrow_stream)
JSON_LINES = Reader(
    "JSON lines", jsonlines.read_whole, jsonlines.read_stream, jsonlines.read_schema
)
LIBSVM = Reader("LIBSVM", libsvm.read_whole, libsvm.read_stream, libsvm.read_schema)
NPY = Reader("NumPy", columnar.npy_whole, columnar.npy_stream)

READERS = {
    ".csv": CSV,
    ".tsv": CSV,
    ".tab": CSV,
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".arrow": ARROW,
    ".feather": ARROW,
    ".ipc": ARROW,
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".libsvm": LIBSVM,
    ".svmlight": LIBSVM,
    ".svm": LIBSVM,
    ".npy": NPY,
}
MAGIC = {
    b"PAR1": PARQUET,
    b"ARROW1": ARROW,
    b"FEA1": ARROW,
    b"\xff\xff\xff\xff": ARROW,
    b"\x93NUMPY": NPY,
}


def read_whole(source: Source, layout: Layout = Layout()) -> Any:
    """All rows of a file as an Arrow table.

    Parameters
    ----------
    source : Source
        The file.
    layout : Layout
        What is known of it; the rest is detected.
    """
    table = reader_of(source, layout).whole(source, layout)
    check_names(source, table.schema)
    if table.num_rows == 0:
        raise DataError(f"{source.name} has no rows, only the names of columns.")
    return table.combine_chunks()


def read_stream(source: Source, layout: Layout = Layout()) -> Iterator[Any]:
    """The rows of a file as Arrow record batches, in order and in little memory."""
    for batch in reader_of(source, layout).stream(source, layout):
        check_names(source, batch.schema)
        yield batch


def read_schema(source: Source, layout: Layout = Layout()) -> Any:
    """The schema of the table that `read_whole` gives, found in little memory."""
    reader = reader_of(source, layout)
    if reader.schema is not None:
        schema = reader.schema(source, layout)
    else:
        schema = next(reader.stream(source, layout)).schema
    check_names(source, schema)
    return schema


def reader_of(source: Source, layout: Layout = Layout()) -> Reader:
    """The reader for a file: as asked, or by its first bytes, its name, its first line."""
    if layout.format is not None:
        return _named(layout.format)
    head = source.head()
    for magic, reader in MAGIC.items():
        if head.startswith(magic):
            return reader
    foreign = what_is(head)
    if foreign is None and (packed := compression_of(head)) is not None:
        how = f"unpack them first, as {UNPACKS[packed]} does"
        raise DataError(f"{source.name} holds {packed} data; {how}.")
    if foreign is not None:
        raise DataError(f"{source.name} is {foreign}.")
    if source.suffix in READERS:
        return READERS[source.suffix]
    first = next((line for line in head.splitlines() if line.strip()), b"").strip()
    if first.startswith(b"{"):
        return JSON_LINES
    return LIBSVM if libsvm.LINE.match(first) else CSV


def _named(name: str) -> Reader:
    suffix = "." + name.lower().lstrip(".")
    if suffix not in READERS:
        names = ", ".join(suffix.lstrip(".") for suffix in READERS)
        raise UsageError(f"--format {name} is not known; give one of {names}.")
    return READERS[suffix]


def check_names(source: Source, schema: Any) -> None:
    """Refuse columns that cannot be told apart."""
    try:
        names = schema.names
    except UnicodeError:
        raise DataError(f"{source.name}: a column name is not UTF-8 text.") from None
    again = twice(names)
    if again is not None:
        raise DataError(f'{source.name}: the column name "{again}" comes twice.')
