"""Predictions: tables of rows with answers and reasons, counted and written batch by batch."""

from __future__ import annotations

import csv as cells
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from rosenblatt.accuracy import Accuracy, told_accuracy
from rosenblatt.clock import Watcher
from rosenblatt.errors import BadCellError, UsageError
from rosenblatt.files import replacing
from rosenblatt.hypothesis import JointHypothesis
from rosenblatt.messages import Message, Parameter
from rosenblatt.model import Model
from rosenblatt.read.columns import Number, is_bytes
from rosenblatt.read.data import read_alike, told_where
from rosenblatt.read.encoding import Unseen
from rosenblatt.read.source import Layout, Source, format_of, numbered
from rosenblatt.words import as_written, column_called, counted, json_text, listed, shown_bytes

FEW = 1 << 14  # rows that are answered at a time
MOST = 3  # reasons
ADVICE = Message("Give ", Parameter("missing", "empty"), ", or ", Parameter("missing", "mean"), ".")
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
        raise UsageError(
            f"{path}: the name does not tell the format; give ",
            Parameter("to", "csv"),
            ", for example.",
        )
    if is_file and path is not None:
        with replacing(path) as beside, open(beside, "wb") as file, _writing(kind, file) as write:
            yield write
        return
    if kind == "parquet" and sys.stdout.isatty():
        raise UsageError(
            "Parquet is not for a terminal; give ", Parameter("output", example="FILE"), "."
        )
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
        writer.write(table)

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
        lines = (json_text(row) + "\n" for row in table.to_pylist())
        self.file.write("".join(lines).encode())

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
        table = pa.table({name: _flat(table.column(name)) for name in table.column_names})
        sink = pa.BufferOutputStream()
        try:
            csv.write_csv(table, sink, csv.WriteOptions(include_header=False, quoting_style="none"))
        except pa.ArrowInvalid:
            sink = pa.BufferOutputStream()
            csv.write_csv(table, sink, csv.WriteOptions(include_header=False))
        self.file.write(sink.getvalue())


def _flat(column: Any) -> Any:
    """A column as text where CSV has no other way: lists and objects as JSON, bytes as text."""
    write = json_text if pa.types.is_nested(column.type) else as_written
    if write is as_written and not is_bytes(column.type):
        return column
    texts = [None if cell is None else write(cell) for cell in column.to_pylist()]
    return pa.array(texts, pa.string())


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
            with np.errstate(all="ignore"):
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
        with np.errstate(all="ignore"):
            push = (x - self.centre) * weights
        return self._told(x, push, at[np.argsort(-np.abs(push[at]), kind="stable")][:MOST])

    def _told(self, x: Any, push: Any, top: Any) -> str:
        return "; ".join(
            f"{self.names[i]}{f' {x[i]:g}' if self.is_number[i] else ''} ({push[i]:+.3g})"
            for i in top
            if push[i]
        )


def answered(
    model: Model, source: Source, layout: Layout, more: tuple[bool, bool]
) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Each batch with its answer and score columns, and the answers as y has them.

    More columns are the reasons of each row and the scores of all labels.
    """
    explain, scores = more
    reasons = Reasons(model) if explain else None
    layout, done = _known_layout(model, source, layout), 0
    with told_where(source, layout, 0, ADVICE):
        for batch in read_alike(source, layout):
            for start in range(0, max(batch.num_rows, 1), FEW):
                part = batch.slice(start, FEW)
                with told_where(source, layout, done, ADVICE):
                    yield _answer(model, part, source.name, (reasons, scores))
                done += part.num_rows


def _answer(
    model: Model, batch: Any, name: str, more: tuple[Reasons | None, bool]
) -> tuple[Any, NDArray[Any]]:
    found, (reasons, every), h = model.encoding.encode(batch, name), more, model.hypothesis
    n, none = batch.num_rows, model.answers.none
    y, scores = np.full(n, none, dtype=np.intp), np.full((n, *model.weights_.shape[:-1]), np.nan)
    if len(found.rows):
        scores[found.rows] = h.scores(found.X)
        y[found.rows] = h.answers(found.X)
    columns = {column: batch.column(column) for column in batch.schema.names}
    gaps = y == none
    columns[_free("answer", columns)] = _labels(model, y)
    ahead = h.lead(scores, y)[0] if isinstance(h, JointHypothesis) else scores
    columns[_free("score", columns)] = pa.array(ahead, mask=gaps)
    if every and scores.ndim > 1:
        for label, each in zip(model.answers.spellings, scores.T, strict=True):
            columns[_free(f"score of {label}", columns)] = pa.array(each, mask=gaps)
    if reasons is not None:
        told = pa.array(reasons.of(found.X), pa.string())
        at = np.cumsum(~gaps) - 1
        columns[_free("reasons", columns)] = told.take(pa.array(at, mask=gaps))
    return pa.table(columns), y


def _labels(model: Model, y: NDArray[np.intp]) -> Any:
    values = pa.array(model.classes_.tolist())
    at = np.maximum(y, 0)  # of two labels -1 and +1, of more a place
    return values.take(pa.array(at, mask=y == model.answers.none))


def _free(name: str, taken: dict[str, Any]) -> str:
    """A column name that the file does not have yet."""
    while name in taken:
        name = f"predicted {name}" if not name.startswith("predicted ") else name + "_"
    return name


def _known_layout(model: Model, source: Source, layout: Layout) -> Layout:
    """What the model knows of the file: the types of its columns, and names if it has none."""
    types = model.encoding.types(strict=layout.decimal == ",")
    names = None
    if model.width is not None and format_of(source, layout) == "CSV":
        names = numbered(model.width)
        layout = replace(layout, header=False if layout.header is None else layout.header)
        names.remove(model.answers.column)
    return replace(layout, types=types, names=None if names is None else tuple(names))


class AnswerCounts:
    """Counts answers as they go by, and those that were right where the rows say so."""

    def __init__(self, model: Model) -> None:
        self.answers = model.answers
        self.labels = model.answers.spellings
        self.rows, self.empty, self.strange = 0, 0, 0
        self.counts = np.zeros(len(self.labels), dtype=np.intp)
        self.accuracy = Accuracy.none(len(self.labels))
        self.unseen, self.tested = Unseen(model.encoding), True

    def of(self, batches: Iterator[tuple[Any, NDArray[Any]]]) -> Iterator[Any]:
        """The tables, each counted as it passes."""
        for batch, y in batches:
            there = y[y != self.answers.none]
            self.rows += len(y)
            self.counts += np.bincount(np.maximum(there, 0), minlength=len(self.labels))
            self.empty += len(y) - len(there)
            self.unseen.take(batch)
            self._test(batch, y)
            yield batch

    def _test(self, batch: Any, answers: NDArray[Any]) -> None:
        column = self.answers.column
        if not self.tested or column not in batch.schema.names:
            return
        if pa.types.is_nested(batch.column(column).type):
            return
        try:
            y, strange = self.answers.read(batch.column(column))
        except (BadCellError, pa.ArrowException):  # then none is: the model does not need them
            self.tested, self.strange, self.accuracy = False, 0, Accuracy.none(len(self.labels))
            return
        self.accuracy += Accuracy.of_answers(y, answers, len(self.labels))
        self.strange += int(np.count_nonzero(strange))

    def tell(self, watcher: Watcher) -> None:
        """Say what a person should know beside the answers."""
        if self.empty:
            watcher.note(f"{counted(self.empty, 'row')} without an answer: a number is missing.")
        for sentence in self.unseen.sentences():
            watcher.note(sentence)
        if self.strange:
            neither = "none of the labels"
            if len(self.labels) == 2:
                neither = 'neither "{}" nor "{}"'.format(*self.labels)
            where = column_called(self.answers.column)
            watcher.note(f"{counted(self.strange, 'row')} with {neither} in {where}: not tested.")
        if self.accuracy.total:
            where = f"{counted(self.accuracy.total, 'row')} with an answer in the file"
            told = self.accuracy.sentence(where)
            for what, text in told_accuracy(told, self.accuracy, self.answers):
                watcher.step(what, text)

    def summary(self) -> dict[str, Any]:
        """The counts as JSON."""
        return {
            "rows_read": self.rows,
            "answers": dict(zip(self.labels, self.counts.tolist(), strict=True)),
            "without_answer": self.empty,
            "accuracy": self.accuracy.to_json() if self.accuracy.total else None,
            "unseen": self.unseen.to_json(),
        }

    def sentence(self) -> str:
        """The counts in words."""
        parts = [f"{n:,} {label}" for label, n in zip(self.labels, self.counts, strict=True)]
        return f"{counted(self.rows, 'row')}, {listed(parts)}"
