"""The loop of `rosenblatt stream`, which predicts, learns, and writes checkpoints."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.interrupts as interrupts
from rosenblatt.cli.console import BadLines, print_note
from rosenblatt.cli.outlet import Outlet
from rosenblatt.errors import DataError, UsageError
from rosenblatt.files import CheckpointFolder
from rosenblatt.online import OnlinePerceptron
from rosenblatt.online.inputs import BlockLabels, Labels, Named, plain_row
from rosenblatt.online.raw import RawColumns
from rosenblatt.read.columns import Category, Column, Flag, Number, Words, Written
from rosenblatt.read.csv import CsvFeed
from rosenblatt.read.encoding import Encoding
from rosenblatt.read.feed import VOCABULARY, Batch, Kinds, Place, describe_kinds, encode_values
from rosenblatt.read.lines import LABEL, JsonFeed, LibsvmFeed
from rosenblatt.read.source import number_columns, read_in_background
from rosenblatt.read.stream import FIRST_LINES, Feed, LineStream, RowStream, feed_to_json

READERS = min(4, os.cpu_count() or 1)  # threads that parse chunks
IDLE_SECONDS = 0.2  # interval of status updates while no chunk arrives


@dataclass(frozen=True)
class Reached:
    """Position in a stream, and the numbers of rows and bad lines up to it."""

    place: Place
    predicted: int = 0
    bad: int = 0


@dataclass(eq=False)
class Streamer:
    """The loop over a stream, from a position to the end or to a signal to stop."""

    model: OnlinePerceptron
    stream: LineStream | RowStream
    feed: Any
    kinds: Kinds
    tally: Reached
    status: Any
    options: dict[str, Any]  # options that --resume has to repeat
    outlets: dict[str, Outlet | None]  # for predictions ("output") and bad lines ("rejects")
    folder: CheckpointFolder | None
    every: int | None
    strict: bool
    save_to: str | None = None  # the model file, which is replaced at every checkpoint
    stopped_by: int | None = None

    def __post_init__(self) -> None:
        self.complaints = BadLines(self.stream.name)

    def run(self) -> None:
        """Process the stream, then write the last checkpoint."""
        self.checkpoint()
        for batch in self._batches():
            sifted, kinds = sift(self.feed, batch, self.model, self.kinds)
            if self.strict and sifted.bad:
                self._stop_at(sifted)
            self._process(sifted, kinds)
            if not self.model.n_seen and self.tally.place.lines >= FIRST_LINES:
                self._check_target(batch)
            if self.every and self.tally.place.lines % self.every == 0:
                self.checkpoint()
        self.checkpoint(ended=True)
        self.complaints.end()
        if self.stream.waits == self.tally.place:
            line = self.tally.place.lines + 1
            print_note(
                f"{self.stream.name}, line {line} is incomplete; it is left for the next run."
            )

    def stop(self, signum: int, frame: Any) -> None:
        """Request a stop after the current chunk; this is a signal handler."""
        self.stopped_by = signum

    def checkpoint(self, ended: bool = False) -> None:
        """Write the model file, flush the outputs, and write state and position together."""
        if self.save_to is not None and self.model.n_seen and not ended:
            self.save()
        if self.folder is None:
            return
        outlets = {name: out and out.sync() for name, out in self.outlets.items()}
        content = {
            "model": self.model.state(),
            "tally": asdict(self.tally),
            "feed": feed_to_json(self.feed),
            "kinds": dict(self.kinds),
            "options": self.options,
            "input": self.stream.checksum(),
            "ended": ended,
        }
        self.folder.write(content | outlets)

    def save(self) -> None:
        """Write the model file, if one was requested."""
        if self.save_to is not None:
            self.model.to_model(columns_of(self.feed, self.kinds)).save(self.save_to)

    def _batches(self) -> Iterator[Batch]:
        chunks = self.stream.chunks(self.tally.place, self.every)
        for batch in read_ahead(chunks, self.feed.read):
            if batch is not None:
                yield batch
            self.status(self.tally.predicted, self.tally.bad)
            if self.stopped_by is not None:
                return

    def _process(self, batch: Batch, kinds: Kinds) -> None:
        """Predict and learn the rows of a batch, write the outputs, and advance the position."""
        predictions = answer(self.model, batch)
        new = {name: kind for name, kind in kinds.items() if name not in self.kinds}
        for sentence in describe_kinds(new):
            print_note(sentence)
        self.kinds = kinds
        self.complaints.add(batch.bad)
        bad = b"".join(line.text for line in batch.bad)
        for name, data in (("rejects", bad), ("output", predictions)):
            outlet = self.outlets[name]
            if outlet is not None and data:
                outlet.write(data)
        self.stream.passed(batch.chunk)  # type: ignore[arg-type]
        rows = len(batch.rows) + (0 if batch.table is None else len(batch.table.X))
        old = self.tally
        self.tally = Reached(batch.chunk.end, old.predicted + rows, old.bad + len(batch.bad))

    def _check_target(self, batch: Batch) -> None:
        """Raise UsageError if the first lines of a pipe have no target column."""
        if isinstance(self.feed, JsonFeed) and batch.chunk.begin.lines < FIRST_LINES:
            try:
                self.feed.check_target(batch.chunk.lines)  # type: ignore[union-attr]
            except UsageError:
                if self.folder is not None:  # its checkpoint has nothing to resume
                    self.folder.file.unlink(missing_ok=True)
                raise

    def _stop_at(self, batch: Batch) -> None:
        """Learn from the lines before a bad line, write a checkpoint, and raise DataError."""
        first = min(batch.bad, key=lambda line: line.number)
        before = first.number - 1 - batch.chunk.begin.lines
        if before > 0:
            for part in self.feed.read(batch.chunk.split(before)[0]):
                self._process(*sift(self.feed, part, self.model, self.kinds))
        self.checkpoint(ended=True)
        raise DataError(f"{self.stream.name}, line {first.number}: {first.why}.")


def columns_of(feed: Feed, kinds: Kinds) -> RawColumns:
    """Return the columns of a stream, as a model file records them."""
    if isinstance(feed, LibsvmFeed):
        return RawColumns(Encoding((), "zero"), LABEL)
    width, missing = None, "zero"
    if not isinstance(feed, JsonFeed):
        kinds = {name: feed.kinds.get(name, "number") for name in feed.features}
        missing = "drop"  # a line with a missing number is a bad line
    if isinstance(feed, CsvFeed) and list(feed.names) == number_columns(len(feed.names)):
        width = len(feed.names)
    columns: list[Column] = []
    for name, kind in kinds.items():
        if kind == "number" and isinstance(feed, CsvFeed) and feed.decimal != ".":
            columns.append(Written(name, decimal=feed.decimal))
        elif kind in ("category", "text"):
            columns.append((Category if kind == "category" else Words)(name, ()))
        else:
            columns.append((Flag if kind == "flag" else Number)(name))
    stop_words = tuple(sorted(VOCABULARY.stop_words))
    return RawColumns(Encoding(tuple(columns), missing, stop_words), feed.target, width)


def sift(feed: Any, batch: Batch, model: OnlinePerceptron, kinds: Kinds) -> tuple[Batch, Kinds]:
    """Reject the rows of a batch that the model cannot learn; return the rest.

    Return also the kinds of all columns seen so far. No row is learned here.
    """
    labels = Labels(model.labels)
    if batch.table is not None and batch.raw:
        found = {str(name): kinds.get(str(name), "number") for name in batch.names}
        if set(found.values()) == {"number"}:
            kinds = kinds if found.keys() <= kinds.keys() else {**kinds, **found}
        else:  # a column of numbers here is a category in earlier lines
            batch = feed.read_rows(batch.chunk)
    if batch.table is not None:
        return _sift_table(batch, labels), kinds
    if not batch.raw:
        return _sift_rows(batch, labels, plain_row), kinds

    def encode(x: dict[str, Any]) -> dict[Hashable, Any]:
        nonlocal kinds
        if {*map(kinds.get, x)} == {"number"}:
            try:
                return plain_row(x)
            except ValueError:
                pass  # a number may be written as text
        row, kinds = encode_values(x, kinds)
        return plain_row(row)

    return _sift_rows(batch, labels, encode), kinds


def _sift_rows(batch: Batch, labels: Labels, encode: Callable[[Any], dict[Hashable, Any]]) -> Batch:
    rows: list[tuple[int, dict[Hashable, Any], Any]] = []
    why: dict[int, str] = {}
    for at, x, y in batch.rows:
        try:
            row = encode(x)
            labels = labels if y is None else labels.learn(y)
            rows.append((at, row, y))
        except ValueError as error:
            why[at] = str(error).removeprefix("x, ")
    return batch.without(why, rows=rows)


def _sift_table(batch: Batch, labels: Labels) -> Batch:
    table = batch.table
    assert table is not None
    why = BlockLabels.of(table.y, len(table.X), every=False).refused(labels)
    if not why:
        return batch
    fine = np.ones(len(table.X), dtype=bool)
    fine[list(why)] = False
    lines = {int(table.lines[row]): text for row, text in why.items()}
    return batch.without(lines, table=table.select(fine))


def answer(model: OnlinePerceptron, batch: Batch) -> bytes:
    """Predict each row of a batch, then learn it; return the predictions as lines."""
    if batch.table is not None:
        if len(batch.table.X) == 0:
            return b""
        table = Named(batch.table.X, batch.names)
        return in_lines(model.predict_then_learn(table, batch.table.y), model.labels)
    lines = []
    for _, x, y in batch.rows:
        lines.append(as_line(model.predict_one(x)))
        if y is not None:
            model.learn_one(x, y)
    return b"".join(lines)


def in_lines(predictions: NDArray[Any], labels: tuple[Any, ...]) -> bytes:
    """Format an array of predictions as lines."""
    if not labels:
        return as_line(None) * len(predictions)
    lines = np.array([*map(as_line, labels), as_line(None)])  # NumPy pads them with zeros
    which = (predictions == labels[-1]).astype(np.intp) * (len(labels) - 1)
    for index, label in enumerate(labels[1:-1], start=1):
        which[predictions == label] = index
    if predictions.dtype.kind == "O":
        which[[label is None for label in predictions]] = len(labels)
    padded: bytes = lines[which].tobytes()
    return padded.replace(b"\0", b"")


def as_line(label: Any) -> bytes:
    """Format a prediction as a line; None, if no label is known yet, is an empty line."""
    if label is None:
        return b"\n"
    text = label if isinstance(label, str) else json.dumps(label)
    return (json.dumps(text) if "\n" in text or "\0" in text else text).encode() + b"\n"


def read_ahead(chunks: Iterator[Any], read: Callable[[Any], list[Batch]]) -> Iterator[Batch | None]:
    """Yield the batches of chunks, parsed by other threads; None while no chunk arrives."""
    readers = ThreadPoolExecutor(READERS)
    try:
        futures = (readers.submit(read, chunk) for chunk in chunks)
        for batches in read_in_background(futures, 2 * READERS, IDLE_SECONDS):
            yield from (None,) if batches is None else batches.result()
    finally:
        readers.shutdown(wait=False)


@contextmanager
def stop_on_signals(streamer: Streamer) -> Iterator[None]:
    """Let SIGTERM and Ctrl-C stop the stream after the current chunk."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in handlers:
        signal.signal(number, streamer.stop)
    if interrupts.requested():
        streamer.stopped_by = signal.SIGINT
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
