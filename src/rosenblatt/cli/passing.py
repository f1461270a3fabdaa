"""`rosenblatt learn --stream`: PLA over a file larger than memory, pass after pass."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.cli.options import Reading
from rosenblatt.cli.say import Voice, counted
from rosenblatt.errors import BadCellError, DataError
from rosenblatt.examples import Examples
from rosenblatt.learn import Budget, Rule
from rosenblatt.learn.passes import Passed, passes
from rosenblatt.model import Model
from rosenblatt.read import CSV, Layout, Source, read_stream, read_whole, reader_of
from rosenblatt.read.data import told_where
from rosenblatt.read.guess import Plan, plan
from rosenblatt.read.layout import numbered

HEAD_BYTES = 8 << 20
HEAD_ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class Passing:
    """A file and what its columns are, to be gone through as often as needed."""

    source: Source
    layout: Layout
    made: Plan

    def batches(self) -> Iterator[Examples]:
        """The rows as examples, a batch at a time."""
        types = self.made.encoding.types(strict=self.layout.decimal != ".")
        start = 0
        with told_where(self.source, self.layout):  # reading counts rows from the first
            for batch in read_stream(self.source, replace(self.layout, types=types)):
                with told_where(self.source, self.layout, start):
                    examples = self._examples(batch) if batch.num_rows else None
                start += batch.num_rows
                if examples is not None and examples.n:
                    yield examples

    def _examples(self, batch: Any) -> Examples:
        encoding, answers = self.made.encoding, self.made.answers
        found = encoding.encode(batch, self.source.name)
        signs = answers.encode(batch.column(answers.column))[found.rows]
        X, kept = found.X, signs != 0
        if not kept.all():
            if encoding.missing != "drop":
                row = int(found.rows[np.flatnonzero(~kept)[0]])
                raise BadCellError(row, answers.column, "", "an answer")
            X, signs = X[kept], signs[kept]
        return Examples(X, signs, answers.labels, encoding.features)


def learn_in_passes(voice: Voice, data: str, reading: Reading, cycles: int, output: str) -> Passed:
    """Learn from a file a batch at a time and write the model.

    Parameters
    ----------
    voice : Voice
        What tells a person about it.
    data : str
        The file, or "-" for standard input, which is kept in a file of its own.
    reading : Reading
        How to read it.
    cycles : int
        The most passes.
    output : str
        Where the model goes.
    """
    source = Source.find(data)
    with told_where(source, reading.layout):
        head, whole = _head(source, reading.layout)
        made = plan(head, reading.wishes, source.name)
    if not whole:
        voice.note(f"what the columns are was found out from the first {head.num_rows:,} rows.")
    passing = Passing(source, reading.layout, made)
    with voice.patience(f"learning from {source.name}"):
        try:
            done = passes(passing.batches, Rule(), Budget(cycles))
        except ValueError as trouble:
            raise DataError(f"{source.name}: {trouble}") from None
    voice.step("learnt", f"PLA, {counted(done.corrections, 'correction')} in {_cycles(done)}")
    voice.step("found", _found(done))
    width = len(head.column_names) if head.column_names == numbered(head.num_columns) else None
    Model(made.encoding, done.hypothesis, made.answers, _learnt(done), width).save(output)
    voice.step("wrote", f"{output}: answer new rows with rosenblatt predict {output} FILE")
    voice.result({"data": source.name, **_learnt(done), "model": output})
    return done


def _head(source: Source, layout: Layout) -> tuple[Any, bool]:
    """The first rows as a table with types, and whether they are all there are."""
    if reader_of(source, layout) is CSV:
        with source.open() as stream:
            data = stream.read(HEAD_BYTES)
            whole = not stream.read(1)
        if not whole:
            data = data[: data.rfind(b"\n") + 1]
        first = Source._kept(source.name, io.BytesIO(data))
        return read_whole(first, layout), whole
    batches: list[Any] = []
    rows = 0
    for batch in read_stream(source, layout):
        if rows >= HEAD_ROWS:
            return pa.Table.from_batches(batches), False
        batches.append(batch)
        rows += batch.num_rows
    if rows == 0:
        raise DataError(f"{source.name} has no rows.")
    return pa.Table.from_batches(batches), True


def _cycles(done: Passed) -> str:
    return f"{counted(done.cycles, 'pass', 'passes')} over {counted(done.rows, 'row')}"


def _found(done: Passed) -> str:
    if done.mistakes == 0:
        return f"a line that answers all {done.rows:,} rows"
    if done.mistakes is None:
        return "interrupted: kept the weights so far"
    return (
        f"a line with {counted(done.mistakes, 'mistake')} on {done.rows:,} rows; give --cycles "
        "more of them, or try rosenblatt stream --predict-with average"
    )


def _learnt(done: Passed) -> dict[str, Any]:
    return {
        "algorithm": "pla",
        "order": "cycle",
        "scaled for learning": False,
        "examples": done.rows,
        "corrections": done.corrections,
        "cycles": done.cycles,
        "mistakes": done.mistakes,
        "stopped": done.reason,
    }
