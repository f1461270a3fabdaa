"""LIBSVM (SVMlight) lines: a label, then index:value for what is not zero.

A row is kept as two columns, the label (none where it is ? or not there) and the text of its
entries; the encoding turns the text into numbers, so that what is read can be written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.errors import FileRowError
from rosenblatt.read.columns import nulled
from rosenblatt.read.csv import BLOCK
from rosenblatt.read.source import Layout, Source, WholeLines
from rosenblatt.read.types import Types, convert

LABEL, ENTRIES = "label", "entries"
LINE = r"^(?:\+?(?P<label>[^\s:]+)(?:\s+|$))?(?:qid:\d+(?:\s+|$))?(?P<entries>.*)$"


def read_batches(source: Source, layout: Layout) -> Iterator[Any]:
    """Record batches of labels and entries, both as text."""
    done = 0
    for lines in WholeLines(source.text(BLOCK)):
        try:
            batch = _split(lines.decode())
        except UnicodeDecodeError as bad:
            end = max(lines.rfind(mark, 0, bad.start) for mark in (b"\n", b"\r"))
            before = lines[: end + 1].decode()
            row = done + _split(before).num_rows + 1
            raise FileRowError(source.name, row, ": not UTF-8 text.") from None
        if batch.num_rows:
            yield batch
            done += batch.num_rows


def _split(text: str) -> Any:
    lines = pa.array(text.replace("\r", "\n").split("\n"))  # empty ones are none
    if "#" in text:
        lines = pc.replace_substring_regex(lines, r"#.*$", "")
    lines = pc.utf8_trim_whitespace(lines)
    found = pc.extract_regex(lines.filter(pc.not_equal(lines, "")), LINE)
    label = nulled(found.field("label"), ("", "?", "+"))
    return pa.RecordBatch.from_arrays([label, found.field("entries")], [LABEL, ENTRIES])


def unify(source: Source, batches: Iterable[Any]) -> Any:
    """The schema of all rows: labels are numbers where all of them are."""
    types = Types([LABEL], kinds=(pa.int64(), pa.float64(), pa.string()))
    for batch in batches:
        types.add(batch)
    return pa.schema({**types.found(), ENTRIES: pa.string()})


def conform(source: Source, batch: Any, schema: Any) -> Any:
    """Return a batch with labels of the type that all rows have."""
    labels = convert(batch.column(LABEL), schema.field(LABEL).type)
    return pa.RecordBatch.from_arrays([labels, batch.column(ENTRIES)], schema=schema)
