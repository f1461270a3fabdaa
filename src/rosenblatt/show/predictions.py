"""Predict the labels of a file in batches, explain them, and write them to a file."""

from __future__ import annotations

import csv as cells
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from rosenblatt.read.columns import BYTES, Number
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
REASONS = 3  # number of features given as reasons for a prediction
ADVICE = Message("Give ", Parameter("missing", "empty"), ", or ", Parameter("missing", "mean"), ".")
FORMATS = {  # by suffix of the file name
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
    path = None if path == "-" else path
    kind = to or (FORMATS.get(Path(path).suffix.lower()) if path else "csv")
    if kind is None:
        raise UsageError(
            f"{path}: the file name has no known suffix; give ",
            Parameter("to", "csv"),
            ", for example.",
        )
    is_terminal = path is None and sys.stdout.isatty()
    if kind == "parquet" and is_terminal:
        raise UsageError(
            "Parquet cannot be written to a terminal; give ",
            Parameter("output", example="FILE"),
            ".",
        )
    is_first, parquet = True, None

    def write(table: Any) -> None:
        nonlocal is_first, parquet
        if kind == "parquet":
            parquet = parquet or ParquetWriter(file, table.schema)
            parquet.write(table)
            return
        if kind == "jsonl":
            rows = "".join(dump_json(row) + "\n" for row in table.to_pylist()).encode()
        else:
            rows = _csv_of(table, is_first)
        file.write(sanitize_lines(rows) if is_terminal else rows)
        is_first = False

    with ExitStack() as stack:
        file: Any = sys.stdout.buffer
        if path is not None:
            file = stack.enter_context(open(stack.enter_context(replacing(path)), "wb"))
        try:
            yield write
        except BaseException:
            if parquet is not None:
                with suppress(Exception):  # the incomplete file is discarded
                    parquet.close()
            raise
        if parquet is not None:
            parquet.close()
        file.flush()


def _csv_of(table: Any, header: bool) -> bytes:
    """Return a table as CSV with exact floats, and quotes only where needed."""
    columns, names = {}, io.StringIO()
    if header:
        cells.writer(names, lineterminator="\n").writerow(table.column_names)
    for name, column in zip(table.column_names, table.columns, strict=True):
        nested = pa.types.is_nested(column.type)
        if nested or column.type in BYTES:  # become text
            to_text = dump_json if nested else cell_to_text
            texts = [None if cell is None else to_text(cell) for cell in column.to_pylist()]
            column = pa.array(texts, pa.string())
        columns[name] = column
    table, sink = pa.table(columns), pa.BufferOutputStream()
    try:
        csv.write_csv(table, sink, csv.WriteOptions(include_header=False, quoting_style="none"))
    except pa.ArrowInvalid:  # some cell needs quotes
        sink = pa.BufferOutputStream()
        csv.write_csv(table, sink, csv.WriteOptions(include_header=False))
    return names.getvalue().encode() + bytes(sink.getvalue())


class Reasons:
    """Explanation of predictions by the features that contributed most to them.

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

    @np.errstate(all="ignore")
    def of(self, X: Any) -> list[str]:
        """Describe, for each row, the features that contributed most to its prediction."""
        h, over = self.hypothesis, [""] * X.shape[0]

        def weights(rows: Any) -> Any:
            return h.w[1:] if h.w.ndim == 1 else h.w[first[rows], 1:] - h.w[second[rows], 1:]

        if isinstance(h, JointHypothesis):
            first = h.predict_codes(X)
            second = h.lead(h.scores(X), first)[1]
            over = [f"over {self.labels[r]}: " for r in second]
        if isinstance(X, np.ndarray):
            parts = (X - self.centre) * weights(slice(None))
            strongest = np.argsort(-np.abs(parts), axis=1, kind="stable")[:, :REASONS]
            rows: Iterator[Any] = zip(X, parts, strongest, strict=True)
        else:
            rows = (self._sparse(X[[n]], weights(n)) for n in range(X.shape[0]))
        reasons = []
        for start, (x, part, top) in zip(over, rows, strict=True):
            texts = [
                f"{self.names[i]}{f' {x[i]:g}' if self.is_number[i] else ''} ({part[i]:+.3g})"
                for i in top
                if part[i]
            ]
            reasons.append(start + "; ".join(texts))
        return reasons

    def _sparse(self, row: Any, weights: Any) -> tuple[Any, Any, Any]:
        """Return a sparse row's values, contributions, and the features that contribute most."""
        at = np.union1d(row.indices, np.flatnonzero(self.is_number))
        x = np.zeros(len(self.names))
        x[row.indices] = row.data
        parts = (x - self.centre) * weights
        return x, parts, at[np.argsort(-np.abs(parts[at]), kind="stable")][:REASONS]


def predict_batches(
    model: Model, source: Source, layout: Layout, more: tuple[bool, bool]
) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield each batch with columns for predictions added, and the codes of the predicted labels.

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
    columns[_free_name("prediction", columns)] = labels.take(places)
    ahead = h.lead(scores, y)[0] if isinstance(h, JointHypothesis) else scores
    columns[_free_name("score", columns)] = pa.array(ahead, mask=gaps)
    if every and scores.ndim > 1:
        for label, each in zip(model.target.spellings, scores.T, strict=True):
            columns[_free_name(f"score of {label}", columns)] = pa.array(each, mask=gaps)
    if reasons is not None:
        texts = pa.array(reasons.of(X), pa.string())
        at = np.cumsum(~gaps) - 1
        columns[_free_name("reasons", columns)] = texts.take(pa.array(at, mask=gaps))
    return pa.table(columns), y


def _free_name(name: str, taken: dict[str, Any]) -> str:
    """Add underscores to a column name until no other column has it."""
    while name in taken:
        name += "_"
    return name


class PredictionCounts:
    """Counts of predictions and, if the rows have labels, of correct predictions."""

    def __init__(self, model: Model) -> None:
        self.target = model.target
        self.labels = model.target.spellings
        self.rows, self.empty, self.strange = 0, 0, 0
        self.counts = np.zeros(len(self.labels), dtype=np.intp)
        self.accuracy = Accuracy.empty(len(self.labels))
        # The model of a stream does not record categories that caused no update, so it cannot say
        # which categories are new.
        known = model.encoding if model.stream is None else Encoding(())
        self.unseen, self.compared = UnseenCategories(known), True

    def count(self, batches: Iterator[tuple[Any, NDArray[Any]]]) -> Iterator[Any]:
        """Count the predictions of each table, and yield the table."""
        for batch, codes in batches:
            predicted = codes[codes != self.target.none]
            self.rows += len(codes)
            self.counts += np.bincount(np.maximum(predicted, 0), minlength=len(self.labels))
            self.empty += len(codes) - len(predicted)
            self.unseen.add(batch)
            column, classes = self.target.column, len(self.labels)
            has_labels = self.compared and column in batch.schema.names
            if has_labels and not pa.types.is_nested(batch.column(column).type):
                try:
                    y, strange = self.target.read(batch.column(column))
                    self.accuracy += Accuracy.of_predictions(y, codes, classes)
                    self.strange += int(np.count_nonzero(strange))
                except (BadCellError, pa.ArrowException):  # no accuracy is reported at all
                    self.compared, self.strange = False, 0
                    self.accuracy = Accuracy.empty(classes)
            yield batch

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
        """Return the counts and the accuracy as JSON values."""
        return {
            "rows_read": self.rows,
            "predictions": dict(zip(self.labels, self.counts.tolist(), strict=True)),
            "without_prediction": self.empty,
            "accuracy": self.accuracy.to_json() if self.accuracy.rows else None,
            "unseen": self.unseen.to_json(),
        }

    def sentence(self) -> str:
        """Return the number of rows, and how often each label was predicted, as a phrase."""
        parts = [f"{n:,} {label}" for label, n in zip(self.labels, self.counts, strict=True)]
        return f"{plural(self.rows, 'row')}, {join_words(parts)}"
