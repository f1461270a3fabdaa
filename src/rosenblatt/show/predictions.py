"""Predictions: rows with predicted labels and reasons, counted and written in batches."""

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
from pyarrow.parquet import ParquetWriter

from rosenblatt.accuracy import Accuracy
from rosenblatt.clock import Reporter
from rosenblatt.errors import BadCellError, Message, Parameter, UsageError
from rosenblatt.files import replacing
from rosenblatt.hypothesis import JointHypothesis
from rosenblatt.model import Model
from rosenblatt.read.columns import Number, is_bytes
from rosenblatt.read.data import locate_errors, read_uniform_batches
from rosenblatt.read.encoding import Encoding, UnseenCategories
from rosenblatt.read.source import Layout, Source, format_of, number_columns
from rosenblatt.text import (
    cell_to_text,
    dump_json,
    join_words,
    plural,
    quote_column,
    sanitize_lines,
)

BATCH_ROWS = 1 << 14  # rows predicted at a time
REASONS = 3  # number of reasons per row
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
    """Open a file or standard output, and yield a function that writes tables to it.

    A file is replaced once it is complete; without a path, rows go to standard output. Without
    `to`, the suffix of the path decides the format.
    """
    is_file = path is not None and path != "-"
    kind = to or (ENDS.get(Path(path).suffix.lower()) if is_file and path else "csv")
    if kind is None:
        raise UsageError(
            f"{path}: the file name has no known suffix; give ",
            Parameter("to", "csv"),
            ", for example.",
        )
    if is_file and path is not None:
        with replacing(path) as beside, open(beside, "wb") as file, _writing(kind, file) as write:
            yield write
        return
    if kind == "parquet" and sys.stdout.isatty():
        raise UsageError(
            "Parquet cannot be written to a terminal; give ",
            Parameter("output", example="FILE"),
            ".",
        )
    with _writing(kind, _Terminal() if sys.stdout.isatty() else sys.stdout.buffer) as write:
        yield write


class _Terminal:
    """Standard output of a terminal, written with control characters escaped."""

    def write(self, rows: Any) -> None:
        sys.stdout.buffer.write(sanitize_lines(bytes(rows)))

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
            with suppress(Exception):  # the incomplete file is discarded
                writer.close()
        raise
    if writer is not None:
        writer.close()
    file.flush()


class JsonTables:
    """Writer of JSON lines, one object per row."""

    def __init__(self, file: IO[bytes], schema: Any) -> None:
        self.file, self.schema = file, schema

    def write(self, table: Any) -> None:
        """Write each row of a table as a line of JSON."""
        lines = (dump_json(row) + "\n" for row in table.to_pylist())
        self.file.write("".join(lines).encode())

    def close(self) -> None:
        """Do nothing, because `write` has already written all rows."""


class CsvTables(JsonTables):
    """Writer of CSV by PyArrow, which keeps all bits of floats."""

    def __init__(self, file: IO[bytes], schema: Any) -> None:
        super().__init__(file, schema)
        line = io.StringIO()
        cells.writer(line, lineterminator="\n").writerow(schema.names)
        file.write(line.getvalue().encode())

    def write(self, table: Any) -> None:
        """Write the rows of a table, with quotes only if some cell needs them."""
        table = pa.table({name: _flat(table.column(name)) for name in table.column_names})
        sink = pa.BufferOutputStream()
        try:
            csv.write_csv(table, sink, csv.WriteOptions(include_header=False, quoting_style="none"))
        except pa.ArrowInvalid:
            sink = pa.BufferOutputStream()
            csv.write_csv(table, sink, csv.WriteOptions(include_header=False))
        self.file.write(sink.getvalue())


def _flat(column: Any) -> Any:
    """Convert a column of lists, objects or bytes to text; return other columns unchanged."""
    write = dump_json if pa.types.is_nested(column.type) else cell_to_text
    if write is cell_to_text and not is_bytes(column.type):
        return column
    texts = [None if cell is None else write(cell) for cell in column.to_pylist()]
    return pa.array(texts, pa.string())


WRITERS: dict[str, Any] = {"csv": CsvTables, "parquet": ParquetWriter, "jsonl": JsonTables}


class Reasons:
    """Reasons for predictions: the features that contributed most to each prediction.

    A number contributes weight × (value - training mean); a category or a word contributes its
    weight times its count. With more than two labels, the weights are those of the predicted label
    minus those of the label with the second-highest score.
    """

    def __init__(self, model: Model) -> None:
        self.hypothesis, self.labels = model.hypothesis, model.target.spellings
        self.names = model.feature_names_
        kinds = [
            (c.mean, True, 1) if isinstance(c, Number) else (0.0, False, len(c.features))
            for c in model.encoding.columns
        ]
        means, numbers, widths = zip(*kinds, strict=True)
        self.centre, self.is_number = np.repeat(means, widths), np.repeat(numbers, widths)

    def of(self, X: Any) -> list[str]:
        """Return, as text, the features that contributed most to the prediction for each row."""
        h, n = self.hypothesis, X.shape[0]
        pairs: list[Any]
        pairs, over = [None] * n, [""] * n
        if isinstance(h, JointHypothesis):  # pairs of the predicted and the second-best label
            answers = h.predict_codes(X)
            rivals = h.lead(h.scores(X), answers)[1]
            pairs = list(zip(answers, rivals, strict=True))
            over = [f"over {self.labels[r]}: " for r in rivals]
        if not isinstance(X, np.ndarray):
            reasons = [self._sparse(X[[row]], self._weights(pairs[row])) for row in range(n)]
        else:
            weights = np.reshape([self._weights(pair) for pair in pairs], X.shape)
            with np.errstate(all="ignore"):
                pushes = (X - self.centre) * weights
            strongest = np.argsort(-np.abs(pushes), axis=1, kind="stable")[:, :REASONS]
            reasons = [self._join(*row) for row in zip(X, pushes, strongest, strict=True)]
        return [first + text for first, text in zip(over, reasons, strict=True)]

    def _weights(self, pair: tuple[int, int] | None) -> NDArray[np.float64]:
        """Return the model's weights or, for a pair of labels, the difference of their weights."""
        w = self.hypothesis.w
        return np.asarray(w[1:] if pair is None else w[pair[0], 1:] - w[pair[1], 1:])

    def _sparse(self, row: Any, weights: NDArray[np.float64]) -> str:
        """Describe the features that contribute most to the score of a sparse row."""
        at = np.union1d(row.indices, np.flatnonzero(self.is_number))
        x = np.zeros(len(self.names))
        x[row.indices] = row.data
        with np.errstate(all="ignore"):
            push = (x - self.centre) * weights
        return self._join(x, push, at[np.argsort(-np.abs(push[at]), kind="stable")][:REASONS])

    def _join(self, x: Any, push: Any, top: Any) -> str:
        return "; ".join(
            f"{self.names[i]}{f' {x[i]:g}' if self.is_number[i] else ''} ({push[i]:+.3g})"
            for i in top
            if push[i]
        )


def predict_batches(
    model: Model, source: Source, layout: Layout, more: tuple[bool, bool]
) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield each batch of rows with columns of predictions added, and the predicted codes.

    `more` says whether to add the reasons of each row, and the scores of all labels.
    """
    explain, scores = more
    reasons = Reasons(model) if explain else None
    # The layout gets the model's column types and, if there is no header, its column names.
    types = model.encoding.types(strict=layout.decimal == ",")
    names = None
    if model.width is not None and format_of(source, layout) == "CSV":
        columns = number_columns(model.width)
        names = tuple(name for name in columns if name != model.target.column)
        layout = replace(layout, header=False if layout.header is None else layout.header)
    layout, done = replace(layout, types=types, names=names), 0
    with locate_errors(source, layout, 0, ADVICE):
        for batch in read_uniform_batches(source, layout):
            for start in range(0, max(batch.num_rows, 1), BATCH_ROWS):
                part = batch.slice(start, BATCH_ROWS)
                with locate_errors(source, layout, done, ADVICE):
                    yield _predict(model, part, source.name, (reasons, scores))
                done += part.num_rows


def _predict(
    model: Model, batch: Any, name: str, more: tuple[Reasons | None, bool]
) -> tuple[Any, NDArray[Any]]:
    (X, rows), (reasons, every) = model.encoding.encode(batch, name), more
    h = model.hypothesis
    n, none = batch.num_rows, model.target.none
    y, scores = np.full(n, none, dtype=np.intp), np.full((n, *model.weights_.shape[:-1]), np.nan)
    if len(rows):
        scores[rows] = h.scores(X)
        y[rows] = h.predict_codes(X)
    columns = {column: batch.column(column) for column in batch.schema.names}
    gaps = y == none
    labels = pa.array(model.classes_.tolist())
    places = pa.array(np.maximum(y, 0), mask=gaps)  # y is -1 or +1, or a position
    columns[_free("prediction", columns)] = labels.take(places)
    ahead = h.lead(scores, y)[0] if isinstance(h, JointHypothesis) else scores
    columns[_free("score", columns)] = pa.array(ahead, mask=gaps)
    if every and scores.ndim > 1:
        for label, each in zip(model.target.spellings, scores.T, strict=True):
            columns[_free(f"score of {label}", columns)] = pa.array(each, mask=gaps)
    if reasons is not None:
        told = pa.array(reasons.of(X), pa.string())
        at = np.cumsum(~gaps) - 1
        columns[_free("reasons", columns)] = told.take(pa.array(at, mask=gaps))
    return pa.table(columns), y


def _free(name: str, taken: dict[str, Any]) -> str:
    """Return `name`, with underscores added until it is not in `taken`."""
    while name in taken:
        name += "_"
    return name


class PredictionCounts:
    """Number of predictions and, if the rows have labels, number of correct predictions."""

    def __init__(self, model: Model) -> None:
        self.target = model.target
        self.labels = model.target.spellings
        self.rows, self.empty, self.strange = 0, 0, 0
        self.counts = np.zeros(len(self.labels), dtype=np.intp)
        self.accuracy = Accuracy.empty(len(self.labels))
        # The model of a stream does not record categories that caused no update, so it cannot say
        # which categories are new.
        known = model.encoding if model.stream is None else Encoding(())
        self.unseen, self.tested = UnseenCategories(known), True

    def count(self, batches: Iterator[tuple[Any, NDArray[Any]]]) -> Iterator[Any]:
        """Yield each table after counting its predictions."""
        for batch, y in batches:
            there = y[y != self.target.none]
            self.rows += len(y)
            self.counts += np.bincount(np.maximum(there, 0), minlength=len(self.labels))
            self.empty += len(y) - len(there)
            self.unseen.take(batch)
            self._test(batch, y)
            yield batch

    def _test(self, batch: Any, answers: NDArray[Any]) -> None:
        column = self.target.column
        if not self.tested or column not in batch.schema.names:
            return
        if pa.types.is_nested(batch.column(column).type):
            return
        try:
            y, strange = self.target.read(batch.column(column))
        except (BadCellError, pa.ArrowException):
            # Predictions do not need labels, so accuracy is not measured.
            self.tested, self.strange, self.accuracy = False, 0, Accuracy.empty(len(self.labels))
            return
        self.accuracy += Accuracy.of_predictions(y, answers, len(self.labels))
        self.strange += int(np.count_nonzero(strange))

    def report(self, reporter: Reporter) -> None:
        """Report missing values, unseen categories and the accuracy."""
        if self.empty:
            reporter.note(f"{plural(self.empty, 'row')} without a prediction: a number is missing.")
        for sentence in self.unseen.sentences():
            reporter.note(sentence)
        if self.strange:
            neither = "none of the labels"
            if len(self.labels) == 2:
                neither = 'neither "{}" nor "{}"'.format(*self.labels)
            where = quote_column(self.target.column)
            rows = plural(self.strange, "row")
            reporter.note(f"{rows} with {neither} in {where}; left out of the accuracy.")
        if self.accuracy.rows:
            where = f"{plural(self.accuracy.rows, 'row')} with a label in the file"
            for what, text in self.accuracy.lines(self.accuracy.sentence(where), self.labels):
                reporter.step(what, text)

    def summary(self) -> dict[str, Any]:
        """Return the numbers of predictions as JSON values."""
        return {
            "rows_read": self.rows,
            "predictions": dict(zip(self.labels, self.counts.tolist(), strict=True)),
            "without_prediction": self.empty,
            "accuracy": self.accuracy.to_json() if self.accuracy.rows else None,
            "unseen": self.unseen.to_json(),
        }

    def sentence(self) -> str:
        """Describe the numbers of predictions in a sentence."""
        parts = [f"{n:,} {label}" for label, n in zip(self.labels, self.counts, strict=True)]
        return f"{plural(self.rows, 'row')}, {join_words(parts)}"
