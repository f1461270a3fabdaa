"""The types of columns of text that PyArrow finds in all rows at once, found batch by batch.

PyArrow takes the first type of a list that every cell fits. Which types of the list all cells
so far fit can be told batch by batch; each batch is asked by PyArrow's own conversion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from rosenblatt.wholes import is_changed_text

# In the order in which PyArrow tries them; what fits none of them is bytes.
CHAIN = (
    *(pa.null(), pa.int64(), pa.bool_(), pa.date32(), pa.time32("s")),
    *(pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("s", "UTC"), pa.timestamp("ns", "UTC")),
    *(pa.float64(), pa.string()),
)


LONG = r"\d{16}"  # whole numbers that may be rounded have so many digits at least


def rounds(texts: Any) -> bool:
    """Whether, as doubles, cells would be other whole numbers than are written there."""
    long = texts.filter(pc.match_substring_regex(texts, LONG))
    return any(map(is_changed_text, pc.unique(long).to_pylist()))


class Types:
    """Which types fit all cells so far of each column.

    Parameters
    ----------
    names : sequence of str
        The columns.
    convert : dict
        How PyArrow is told to convert: what is missing, the decimal point.
    chain : sequence of Arrow types
        The types to choose from, the first that fits is taken.
    """

    def __init__(
        self, names: Sequence[str], convert: dict[str, Any], chain: Sequence[Any] = CHAIN
    ) -> None:
        self.convert = convert
        self.fitting = {name: list(chain) for name in names}

    def add(self, batch: Any) -> None:
        """Look at a batch of bytes."""
        texts = {}
        for name, fitting in self.fitting.items():
            if fitting:
                try:
                    texts[name] = batch.column(name).cast(pa.string())
                except pa.ArrowInvalid:
                    self.fitting[name] = []
        for name, cells in texts.items():
            if pa.float64() in self.fitting[name] and rounds(cells):
                self.fitting[name].remove(pa.float64())
        for kind in CHAIN[:-1]:  # text is text
            asked = {n: cells for n, cells in texts.items() if kind in self.fitting[n]}
            if asked and not self._fit(asked, kind):
                for name in [n for n in asked if not self._fit({n: asked[n]}, kind)]:
                    self.fitting[name].remove(kind)

    def found(self) -> dict[str, Any]:
        """The type of each column."""
        return {
            name: fitting[0] if fitting else pa.binary() for name, fitting in self.fitting.items()
        }

    def _fit(self, texts: dict[str, Any], kind: Any) -> bool:
        lines = pa.BufferOutputStream()
        names = [str(i) for i in range(len(texts))]
        table = pa.Table.from_arrays(list(texts.values()), names)
        csv.write_csv(
            table, lines, csv.WriteOptions(include_header=False, quoting_style="all_valid")
        )
        data = lines.getvalue()
        try:
            csv.read_csv(
                pa.BufferReader(data),
                csv.ReadOptions(column_names=names, block_size=len(data) + 1),
                csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
                csv.ConvertOptions(column_types=dict.fromkeys(names, kind), **self.convert),
            )
        except pa.ArrowInvalid:
            return False
        return True
