"""`rosenblatt predict`: answer the rows of a file with a model, however many there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import click
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rosenblatt.cli import VERBS
from rosenblatt.cli.console import Voice
from rosenblatt.cli.options import examples, json_option, layout_options
from rosenblatt.errors import UsageError
from rosenblatt.evidence.accuracy import Accuracy, told_accuracy
from rosenblatt.files import keep_apart
from rosenblatt.hypothesis import JointHypothesis
from rosenblatt.model import Model, load
from rosenblatt.read.data import read_batches, told_where
from rosenblatt.read.encoding import Unseen, spelled
from rosenblatt.read.source import Layout, Source, format_of, numbered
from rosenblatt.show.predictions import WRITERS, Reasons, open_writer
from rosenblatt.words import column_called, counted, listed

FEW = 1 << 14
ADVICE = "Give --missing empty, or --missing mean."


@click.command(
    short_help=VERBS["predict"],
    epilog=examples(
        "rosenblatt predict model.json new.csv -o answers.csv",
        "rosenblatt predict model.json new.csv --explain",
    ),
)
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("-o", "--output", type=click.Path(), help="A .csv, .parquet or .jsonl file.")
@click.option("--to", type=click.Choice(sorted(WRITERS)), help="The format to write.")
@click.option("--explain", is_flag=True, help="Add the three strongest reasons of each row.")
@click.option("--scores", is_flag=True, help="Of more than two labels, add the score of each.")
@click.option(
    "--missing",
    type=click.Choice(["error", "empty", "mean"]),
    help="Where a number is missing: stop, leave the answer empty, or take the mean.",
)
@layout_options
@json_option
def predict(
    model: str, data: str, output: str | None, to: str | None, layout: Layout, **rest: Any
) -> int:
    """Answer the rows of DATA (- for standard input) with MODEL, a file that learn wrote.

    Every row keeps its columns and gets two more: the answer, and its score, which is
    positive for yes; of more than two labels it is how far the answer is ahead of the next, which
    --explain gives reasons for. Rows are read, answered and written a batch at a time. Where DATA
    has the column of answers that was learnt, it is said how many were right.
    """
    voice = Voice(rest["as_json"], taken=output in (None, "-"))
    keep_apart({"the data": data, "the model": model}, {"--output": output})
    machine = load(model)
    if rest["missing"] is not None:
        policy = "drop" if rest["missing"] == "empty" else rest["missing"]
        machine = replace(machine, encoding=replace(machine.encoding, missing=policy))
    source = Source.find(data)
    layout = _known_layout(machine, source, layout)
    batches = answered(machine, source, layout, (rest["explain"], rest["scores"]))
    tally = AnswerCounts(machine)
    if output is None and to is None and voice.as_json:
        rows = [row for batch in tally.of(batches) for row in batch.to_pylist()]
        tally.tell(voice)
        voice.result({**tally.summary(), "rows": rows})
        return 0
    if output is None and voice.as_json:
        raise UsageError("--json prints one object; give -o FILE for the rows as well as --to.")
    with (
        voice.patience(f"answering {source.name}") as progress,
        open_writer(output, to) as write,
    ):
        for batch in tally.of(batches):
            write(batch)
            progress(tally.rows)
    if output is not None:
        voice.step("wrote", f"{output}: {tally.sentence()}")
    tally.tell(voice)
    voice.result({**tally.summary(), "output": output})
    return 0


def answered(
    model: Model, source: Source, layout: Layout, more: tuple[bool, bool]
) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Each batch with its answer and score columns, and the answers as y has them.

    More columns are the reasons of each row and the scores of all labels.
    """
    explain, scores = more
    reasons = Reasons(model) if explain else None
    done = 0
    with told_where(source, layout, 0, ADVICE):
        for batch in read_batches(source, layout):
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
        told = reasons.of(found.X)
        columns[_free("reasons", columns)] = _placed(told, found.rows, n)
    return pa.table(columns), y


def _labels(model: Model, y: NDArray[np.intp]) -> Any:
    values = pa.array(model.classes_.tolist())
    at = np.maximum(y, 0)  # of two labels -1 and +1, of more a place
    return values.take(pa.array(at, mask=y == model.answers.none))


def _placed(told: list[str], rows: NDArray[np.intp], n: int) -> Any:
    cells: list[str | None] = [None] * n
    for row, text in zip(rows, told, strict=True):
        cells[row] = text
    return pa.array(cells, pa.string())


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
        self.labels = [spelled(label) for label in model.classes_.tolist()]
        self.rows, self.empty, self.strange = 0, 0, 0
        self.counts = np.zeros(len(self.labels), dtype=np.intp)
        self.accuracy = Accuracy.none(len(self.labels))
        self.unseen = Unseen(model.encoding)

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
        if column not in batch.schema.names or pa.types.is_nested(batch.column(column).type):
            return
        y, strange = self.answers.read(batch.column(column))
        if len(self.labels) == 2:
            self.accuracy += Accuracy.of_signs(y, answers)
        else:
            self.accuracy += Accuracy.of_places(y, answers, len(self.labels))
        self.strange += int(np.count_nonzero(strange))

    def tell(self, voice: Voice) -> None:
        """What a person should know beside the answers."""
        if self.empty:
            voice.note(f"{counted(self.empty, 'row')} without an answer: a number is missing.")
        for sentence in self.unseen.sentences():
            voice.note(sentence)
        if self.strange:
            neither = "none of the labels"
            if len(self.labels) == 2:
                neither = 'neither "{}" nor "{}"'.format(*self.labels)
            where = column_called(self.answers.column)
            voice.note(f"{counted(self.strange, 'row')} with {neither} in {where}: not tested.")
        if self.accuracy.total:
            where = f"{counted(self.accuracy.total, 'row')} with an answer in the file"
            told = self.accuracy.sentence(where)
            for what, text in told_accuracy(told, self.accuracy, self.answers):
                voice.step(what, text)

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
