"""A stream under way: predict each line, learn it, write, keep checkpoints, say how it goes."""

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
from rosenblatt.cli.console import Complaints, tell
from rosenblatt.cli.outlet import Outlet
from rosenblatt.errors import DataError, UsageError
from rosenblatt.files import CheckpointFolder
from rosenblatt.online import OnlinePerceptron
from rosenblatt.read.ahead import ahead
from rosenblatt.read.chunks import LineStream, Place, RowStream
from rosenblatt.read.feed import FIRST_LINES, Batch, JsonFeed, feed_to_json
from rosenblatt.read.kinds import Kinds, encoded, kinds_told
from rosenblatt.rows import BlockAnswers, Labels, Named, plain_row

READERS = min(4, os.cpu_count() or 1)  # threads that parse chunks
IDLE_SECONDS = 0.2  # after which the status is looked after, though no chunk came


@dataclass(frozen=True)
class Reached:
    """What has come of a stream so far."""

    place: Place
    predicted: int = 0
    bad: int = 0


@dataclass(eq=False)
class Streamer:
    """A stream under way: it goes on from what was reached to its end, or until it is stopped."""

    model: OnlinePerceptron
    stream: LineStream | RowStream
    feed: Any
    kinds: Kinds
    tally: Reached
    status: Any
    options: dict[str, Any]  # what a person said; another run must say the same
    outlets: dict[str, Outlet | None]  # of predictions, "output", and bad lines, "rejects"
    folder: CheckpointFolder | None
    every: int | None
    strict: bool
    stopped_by: int | None = None

    def __post_init__(self) -> None:
        self.complaints = Complaints(self.stream.name)

    def run(self) -> None:
        """Go through the stream; the last checkpoint is written at its end."""
        self.checkpoint()
        for batch in self._batches():
            sifted, kinds = sift(self.feed, batch, self.model, self.kinds)
            if self.strict and sifted.bad:
                self._stop_at(sifted)
            self._take(sifted, kinds)
            if not self.model.n_seen and self.tally.place.lines >= FIRST_LINES:
                self._check_target(batch)
            if self.every and self.tally.place.lines % self.every == 0:
                self.checkpoint()
        self.checkpoint(ended=True)
        self.complaints.end()
        if self.stream.waits == self.tally.place:
            line = self.tally.place.lines + 1
            tell(f"{self.stream.name}, line {line} has no end yet; it waits for the next run.")

    def stop(self, signum: int, frame: Any) -> None:
        """Ask to stop after the chunk that is being learnt."""
        self.stopped_by = signum

    def checkpoint(self, ended: bool = False) -> None:
        """Write state and position together, once what was said so far is on the disk."""
        if self.folder is None:
            return
        outlets = {name: out and out.settle() for name, out in self.outlets.items()}
        content = {
            "model": self.model.state(),
            "tally": asdict(self.tally),
            "feed": feed_to_json(self.feed),
            "kinds": dict(self.kinds),
            "options": self.options,
            "input": self.stream.seal(),
            "ended": ended,
        }
        self.folder.write(content | outlets)

    def _batches(self) -> Iterator[Batch]:
        chunks = self.stream.chunks(self.tally.place, self.every)
        for batch in read_ahead(chunks, self.feed.read):
            if batch is not None:
                yield batch
            self.status(self.tally.predicted, self.tally.bad)
            if self.stopped_by is not None:
                return

    def _take(self, batch: Batch, kinds: Kinds) -> None:
        said = answer(self.model, batch)
        new = {name: kind for name, kind in kinds.items() if name not in self.kinds}
        for sentence in kinds_told(new):
            tell(sentence)
        self.kinds = kinds
        self.complaints.take(batch.bad)
        bad = b"".join(line.text for line in batch.bad)
        for name, data in (("rejects", bad), ("output", said)):
            outlet = self.outlets[name]
            if outlet is not None and data:
                outlet.write(data)
        self.stream.passed(batch.chunk)  # type: ignore[arg-type]
        rows = len(batch.rows) + (0 if batch.table is None else len(batch.table.X))
        old = self.tally
        self.tally = Reached(batch.chunk.end, old.predicted + rows, old.bad + len(batch.bad))

    def _check_target(self, batch: Batch) -> None:
        """Refuse a misspelt target of a pipe, whose first lines were too few to tell."""
        if isinstance(self.feed, JsonFeed) and batch.chunk.begin.lines < FIRST_LINES:
            try:
                self.feed.check_target(batch.chunk.lines)  # type: ignore[union-attr]
            except UsageError:
                if self.folder is not None:  # there is nothing in it to go on from
                    self.folder.file.unlink(missing_ok=True)
                raise

    def _stop_at(self, batch: Batch) -> None:
        """Learn what comes before a bad line, keep it, and stop."""
        first = min(batch.bad, key=lambda line: line.number)
        before = first.number - 1 - batch.chunk.begin.lines
        if before > 0:
            for part in self.feed.read(batch.chunk.split(before)[0]):
                self._take(*sift(self.feed, part, self.model, self.kinds))
        self.checkpoint(ended=True)
        raise DataError(f"{self.stream.name}, line {first.number}: {first.why}.")


def sift(feed: Any, batch: Batch, model: OnlinePerceptron, kinds: Kinds) -> tuple[Batch, Kinds]:
    """Set aside the rows that the model could not learn, before any of them is learnt.

    Also the kinds of columns, with those that were seen for the first time.
    """
    labels = Labels(model.labels)
    if batch.table is not None and batch.raw:
        found = {str(name): kinds.get(str(name), "number") for name in batch.names}
        if set(found.values()) == {"number"}:
            kinds = kinds if found.keys() <= kinds.keys() else {**kinds, **found}
        else:  # numbers are categories here
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
        row, kinds = encoded(x, kinds)
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
    why = BlockAnswers.of(table.y, len(table.X), every=False).refused(labels)
    if not why:
        return batch
    fine = np.ones(len(table.X), dtype=bool)
    fine[list(why)] = False
    lines = {int(table.lines[row]): text for row, text in why.items()}
    return batch.without(lines, table=table.kept(fine))


def answer(model: OnlinePerceptron, batch: Batch) -> bytes:
    """Predict each row, then learn it; the predictions as lines."""
    if batch.table is not None:
        if len(batch.table.X) == 0:
            return b""
        said = model.predict_then_learn(Named(batch.table.X, batch.names), batch.table.y)
        return in_lines(said, model.labels)
    lines = []
    for _, x, y in batch.rows:
        lines.append(as_line(model.predict_one(x)))
        if y is not None:
            model.learn_one(x, y)
    return b"".join(lines)


def in_lines(said: NDArray[Any], labels: tuple[Any, ...]) -> bytes:
    """Many predictions as lines: a few kinds of line, of which short ones are padded and cut."""
    if not labels:
        return as_line(None) * len(said)
    kinds = np.array([*map(as_line, labels), as_line(None)])
    which = (said == labels[-1]).astype(np.intp) * (len(labels) - 1)
    for place, label in enumerate(labels[1:-1], start=1):
        which[said == label] = place
    if said.dtype.kind == "O":
        which[[label is None for label in said]] = len(labels)
    padded: bytes = kinds[which].tobytes()
    return padded.replace(b"\0", b"")


def as_line(label: Any) -> bytes:
    """A prediction as a line; an empty one before any label is known."""
    if label is None:
        return b"\n"
    text = label if isinstance(label, str) else json.dumps(label)
    return (json.dumps(text) if "\n" in text or "\0" in text else text).encode() + b"\n"


def read_ahead(chunks: Iterator[Any], read: Callable[[Any], list[Batch]]) -> Iterator[Batch | None]:
    """Chunks as batches, read by other threads while one is learnt; None while waiting for one."""
    readers = ThreadPoolExecutor(READERS)
    try:
        made = (readers.submit(read, chunk) for chunk in chunks)
        for batches in ahead(made, 2 * READERS, IDLE_SECONDS):
            yield from (None,) if batches is None else batches.result()
    finally:
        readers.shutdown(wait=False)


@contextmanager
def stopping_gently(streamer: Streamer) -> Iterator[None]:
    """Let SIGTERM and Ctrl-C stop the stream after the chunk that is being learnt."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:
        signal.signal(number, streamer.stop)
    if interrupts.asked():
        streamer.stopped_by = signal.SIGINT
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
