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

from rosenblatt.cli.console import Complaints, tell
from rosenblatt.cli.outlet import Outlet
from rosenblatt.errors import DataError
from rosenblatt.files import CheckpointFolder
from rosenblatt.kernels import LONGEST_SQUARED
from rosenblatt.online import OnlinePerceptron
from rosenblatt.read.ahead import ahead
from rosenblatt.read.chunks import LineStream, Place, RowStream
from rosenblatt.read.feed import TOO_LARGE, Batch, feed_to_json
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


@dataclass(frozen=True, eq=False)
class Job:
    """All that a stream needs."""

    model: OnlinePerceptron
    stream: LineStream | RowStream
    feed: Any
    output: Outlet | None
    rejects: Outlet | None
    folder: CheckpointFolder | None
    every: int | None
    strict: bool
    options: dict[str, Any]  # what a person said; another run must say the same
    kinds: Kinds


class Streamer:
    """Runs a job from where it stands to its end, or until a signal asks it to stop."""

    def __init__(self, job: Job, tally: Reached, status: Any) -> None:
        self.job, self.tally, self.status = job, tally, status
        self.kinds = job.kinds
        self.complaints = Complaints(job.stream.name)
        self.stopped_by: int | None = None

    def run(self) -> Reached:
        """Go through the stream; the last checkpoint is written at its end."""
        job = self.job
        self.checkpoint()
        for batch in self._batches():
            sifted, kinds = sift(job.feed, batch, job.model, self.kinds)
            if job.strict and sifted.bad:
                self._stop_at(sifted)
            self._take(sifted, kinds)
            if job.every and self.tally.place.lines % job.every == 0:
                self.checkpoint()
        self.checkpoint(ended=True)
        self.complaints.end()
        if job.stream.waits == self.tally.place:
            line = self.tally.place.lines + 1
            tell(f"{job.stream.name}, line {line} has no end yet; it waits for the next run.")
        return self.tally

    def stop(self, signum: int, frame: Any) -> None:
        """Ask to stop after the chunk that is being learnt."""
        self.stopped_by = signum

    def checkpoint(self, ended: bool = False) -> None:
        """Write state and position together, once what was said so far is on the disk."""
        job = self.job
        if job.folder is None:
            return
        content = {
            "model": job.model.state(),
            "tally": asdict(self.tally),
            "feed": feed_to_json(job.feed),
            "kinds": dict(self.kinds),
            "options": job.options,
            "input": job.stream.seal(),
            "ended": ended,
            "output": None if job.output is None else job.output.settle(),
            "rejects": None if job.rejects is None else job.rejects.settle(),
        }
        job.folder.write(content)

    def _batches(self) -> Iterator[Batch]:
        job = self.job
        chunks = job.stream.chunks(self.tally.place, job.every)
        for batch in read_ahead(chunks, job.feed.read):
            if batch is not None:
                yield batch
            self.status(self.tally.predicted, self.tally.bad)
            if self.stopped_by is not None:
                return

    def _take(self, batch: Batch, kinds: Kinds) -> None:
        job = self.job
        said = answer(job.model, batch)
        if kinds is not self.kinds:
            new = {name: kind for name, kind in kinds.items() if name not in self.kinds}
            for sentence in kinds_told(new):
                tell(sentence)
            self.kinds = kinds
        self.complaints.take(batch.bad)
        if job.rejects is not None and batch.bad:
            job.rejects.write(b"".join(line.text for line in batch.bad))
        if job.output is not None:
            job.output.write(said)
        job.stream.passed(batch.chunk)  # type: ignore[arg-type]
        rows = len(batch.rows) + (0 if batch.table is None else len(batch.table.X))
        old = self.tally
        self.tally = Reached(batch.chunk.end, old.predicted + rows, old.bad + len(batch.bad))

    def _stop_at(self, batch: Batch) -> None:
        """Learn what comes before a bad line, keep it, and stop."""
        first = min(batch.bad, key=lambda line: line.number)
        before = first.number - 1 - batch.chunk.begin.lines
        if before > 0:
            for part in self.job.feed.read(batch.chunk.split(before)[0]):
                self._take(*sift(self.job.feed, part, self.job.model, self.kinds))
        self.checkpoint(ended=True)
        raise DataError(f"{self.job.stream.name}, line {first.number}: {first.why}.")


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
    encoder = Encoder(kinds)
    return _sift_rows(batch, labels, encoder.row), encoder.kinds


def _sift_rows(batch: Batch, labels: Labels, encode: Callable[[Any], dict[Hashable, Any]]) -> Batch:
    rows: list[tuple[int, dict[Hashable, Any], Any]] = []
    why: dict[int, str] = {}
    for at, x, y in batch.rows:
        try:
            row = encode(x)
            if not sum(v * v for v in row.values()) < LONGEST_SQUARED:
                raise ValueError(TOO_LARGE)
            labels = labels if y is None else labels.learn(y)
            rows.append((at, row, y))
        except ValueError as error:
            why[at] = str(error).removeprefix("x, ")
    return batch.without(why, rows=rows)


class Encoder:
    """Makes rows of named values into rows of features, and learns on the way what columns are."""

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.others: set[str] = set()
        self._look()

    def row(self, x: dict[str, Any]) -> dict[Hashable, Any]:
        """The features of a row; refuses what is no number in a column of numbers."""
        known = x.keys() <= self.kinds.keys()
        if known and not (self.others and self.others.intersection(x)):
            try:
                return plain_row(x)
            except ValueError:
                pass  # a number may be written as text
        row, kinds = encoded(x, self.kinds)
        if kinds is not self.kinds:
            self.kinds = kinds
            self._look()
        return plain_row(row)

    def _look(self) -> None:
        self.others = {name for name, kind in self.kinds.items() if kind != "number"}


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
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
