"""Predictions: tables of answers written batch by batch, and the reasons for each answer."""

from __future__ import annotations

import csv as cells
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from rosenblatt.errors import UsageError
from rosenblatt.files import replacing
from rosenblatt.hypothesis import JointHypothesis
from rosenblatt.model import Model
from rosenblatt.read.columns import Number
from rosenblatt.words import shown_bytes

MOST = 3  # reasons
ENDS = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}


@contextmanager
def open_writer(path: str | None, to: str | None) -> Iterator[Callable[[Any], None]]:
    """A function that writes tables of one schema, one after the other.

    A file is replaced once it is complete; without a path it is standard output. The end of the
    path tells the format where `to` does not.
    """
    is_file = path is not None and path != "-"
    kind = to or (ENDS.get(Path(path).suffix.lower()) if is_file and path else "csv")
    if kind is None:
        raise UsageError(f"--output {path}: the name does not tell the format; give --to csv, say.")
    if is_file and path is not None:
        with replacing(path) as beside, open(beside, "wb") as file, _writing(kind, file) as write:
            yield write
        return
    if kind == "parquet" and sys.stdout.isatty():
        raise UsageError("Parquet is not for a terminal; give -o FILE.")
    with _writing(kind, _Terminal() if sys.stdout.isatty() else sys.stdout.buffer) as write:
        yield write


class _Terminal:
    """Standard output where a person reads it: no cell of a table moves the cursor."""

    def write(self, rows: Any) -> None:
        sys.stdout.buffer.write(shown_bytes(bytes(rows)))

    def flush(self) -> None:
        sys.stdout.buffer.flush()


@contextmanager
def _writing(kind: str, file: Any) -> Iterator[Callable[[Any], None]]:
    writer: Any = None

    def write(table: Any) -> None:
        nonlocal writer
        if writer is None:
            writer = WRITERS[kind](file, table.schema)
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


class CsvTables(JsonTables):
    """CSV through PyArrow; floats are written so that they read back to the last bit."""

    def __init__(self, file: IO[bytes], schema: Any) -> None:
        super().__init__(file, schema)
        line = io.StringIO()
        cells.writer(line, lineterminator="\n").writerow(schema.names)
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


WRITERS: dict[str, Any] = {"csv": CsvTables, "parquet": ParquetTables, "jsonl": JsonTables}


class Reasons:
    """Says the three strongest reasons for a model's answers.

    A number pushes by weight × (value - mean of the rows learnt from); a category or a word
    by its weight, times how often it comes. Of more than two labels, weights are those of the
    answer less those of the label with the next score.
    """

    def __init__(self, model: Model) -> None:
        self.hypothesis, self.labels = model.hypothesis, model.answers.spellings
        self.names = model.feature_names_
        kinds = [
            (c.mean, True, 1) if isinstance(c, Number) else (0.0, False, len(c.features))
            for c in model.encoding.columns
        ]
        means, numbers, widths = zip(*kinds, strict=True)
        self.centre, self.is_number = np.repeat(means, widths), np.repeat(numbers, widths)

    def of(self, X: Any) -> list[str]:
        """The reasons of each row of numbers, as text."""
        h, n = self.hypothesis, X.shape[0]
        pairs, over = (
            self._pairs(h, X) if isinstance(h, JointHypothesis) else ([None] * n, [""] * n)
        )
        if not isinstance(X, np.ndarray):
            told = [self._sparse(X[[row]], self._weights(pairs[row])) for row in range(n)]
        else:
            weights = np.reshape([self._weights(pair) for pair in pairs], X.shape)
            pushes = (X - self.centre) * weights
            strongest = np.argsort(-np.abs(pushes), axis=1, kind="stable")[:, :MOST]
            told = [self._told(*row) for row in zip(X, pushes, strongest, strict=True)]
        return [first + reasons for first, reasons in zip(over, told, strict=True)]

    def _pairs(self, h: JointHypothesis, X: Any) -> tuple[list[Any], list[str]]:
        """The answer and the next label of each row, of more than two labels, and that in words."""
        answers = h.answers(X)
        rivals = h.lead(h.scores(X), answers)[1]
        over = [f"over {self.labels[r]}: " for r in rivals]
        return list(zip(answers, rivals, strict=True)), over

    def _weights(self, pair: tuple[int, int] | None) -> NDArray[np.float64]:
        """The weights that decided about a row."""
        w = self.hypothesis.w
        return np.asarray(w[1:] if pair is None else w[pair[0], 1:] - w[pair[1], 1:])

    def _sparse(self, row: Any, weights: NDArray[np.float64]) -> str:
        """Only what is in the row can push, numbers that are zero aside."""
        at = np.union1d(row.indices, np.flatnonzero(self.is_number))
        x = np.zeros(len(self.names))
        x[row.indices] = row.data
        push = (x - self.centre) * weights
        return self._told(x, push, at[np.argsort(-np.abs(push[at]), kind="stable")][:MOST])

    def _told(self, x: Any, push: Any, top: Any) -> str:
        return "; ".join(
            f"{self.names[i]}{f' {x[i]:g}' if self.is_number[i] else ''} ({push[i]:+.3g})"
            for i in top
            if push[i]
        )
