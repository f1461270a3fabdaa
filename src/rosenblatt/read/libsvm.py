"""LIBSVM (SVMlight) lines: a label, then index:value for what is not zero.

A row is kept as two columns, the label and the text of its entries; the encoding turns the
text into numbers, so that what is read can be written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from rosenblatt.errors import DataError, one_line
from rosenblatt.read.csv import BLOCK, Types
from rosenblatt.read.source import UNREADABLE, Layout, Source

LABEL, ENTRIES = "label", "entries"


def read_batches(source: Source, layout: Layout) -> Iterator[Any]:
    """Record batches of labels and entries, both as text."""
    try:
        with source.open() as stream:
            lines = csv.open_csv(
                stream,
                csv.ReadOptions(column_names=["line"], block_size=BLOCK, use_threads=False),
                csv.ParseOptions(delimiter="\x01", quote_char=False),
                csv.ConvertOptions(column_types={"line": pa.string()}),
            )
            for batch in lines:
                yield _split(batch.column(0))
    except UNREADABLE as trouble:
        raise DataError(f"{source.name} cannot be read: {one_line(trouble)}") from None


def _split(lines: Any) -> Any:
    lines = pc.utf8_trim_whitespace(pc.replace_substring_regex(lines, r"#.*$", ""))
    lines = lines.filter(pc.not_equal(lines, ""))
    label = pc.replace_substring_regex(lines, r"(?s)^\+?(\S*).*$", r"\1")
    entries = pc.replace_substring_regex(lines, r"^\S+\s*(qid:\d+\s*)?", "")
    return pa.RecordBatch.from_arrays([label, entries], [LABEL, ENTRIES])


def unify(source: Source, batches: Iterable[Any]) -> Any:
    """The schema of all rows: labels are numbers where all of them are."""
    types = Types([LABEL], {"null_values": []}, (pa.int64(), pa.float64(), pa.string()))
    empty = True
    for batch in batches:
        types.add(batch)
        empty = False
    if empty:
        raise DataError(f"{source.name} is empty.")
    return pa.schema({**types.found(), ENTRIES: pa.string()})


def conform(source: Source, batch: Any, schema: Any) -> Any:
    """A batch with its labels in the type that fits all of them."""
    return batch.cast(schema)
