"""Unseen: values of categories that were never learnt from, counted as rows go by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.errors import column_called, listed
from rosenblatt.read.columns import Category, as_text
from rosenblatt.read.encoding import Encoding
from rosenblatt.words import counted

MOST = 1000  # values of a column that are told apart; more are no categories


class Unseen:
    """Counts the rows whose value of a category has no weight.

    Parameters
    ----------
    encoding : Encoding
        What was learnt from.

    Examples
    --------
    >>> unseen = Unseen(Encoding((Category("colour", ("blue", "red")),)))
    >>> unseen.take(pa.table({"colour": ["teal", "red", "mauve", "teal"]}))
    >>> print(*unseen.sentences())
    3 rows have a value of column "colour" that was never learnt from: "teal" (2) and "mauve" (1).
    """

    def __init__(self, encoding: Encoding) -> None:
        self.columns = [column for column in encoding.columns if isinstance(column, Category)]
        self.rows = dict.fromkeys((column.name for column in self.columns), 0)
        self.values: dict[str, Counter[str]] = {name: Counter() for name in self.rows}

    def take(self, table: Any) -> None:
        """Count the rows of a table or record batch that was encoded without fault."""
        for column in self.columns:
            cells = table.column(column.name)
            strange = column.codes(cells) < 0
            if not strange.any():
                continue
            self.rows[column.name] += int(np.count_nonzero(strange))
            known = self.values[column.name]
            for pair in as_text(cells).filter(pa.array(strange)).value_counts().to_pylist():
                if pair["values"] in known or len(known) < MOST:
                    known[pair["values"]] += pair["counts"]

    def sentences(self) -> Iterator[str]:
        """What a person should know, a sentence for each column."""
        for name, rows in self.rows.items():
            if rows:
                values = self.values[name].most_common()
                told = listed([f"{_called(value)} ({count:,})" for value, count in values])
                have = "has" if rows == 1 else "have"
                yield (
                    f"{counted(rows, 'row')} {have} a value of {column_called(name)} that was "
                    f"never learnt from: {told}."
                )

    def to_json(self) -> dict[str, Any]:
        """Column -> rows, and how often each value came."""
        return {
            name: {"rows": rows, "values": dict(self.values[name].most_common())}
            for name, rows in self.rows.items()
            if rows
        }


def _called(value: str) -> str:
    return f'"{value}"' if value else "(missing)"
