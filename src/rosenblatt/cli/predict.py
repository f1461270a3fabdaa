"""`rosenblatt predict`: predict the labels of a file of any size with a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

import rosenblatt.clock as clock
from rosenblatt.cli.shared import Console, command, layout_options, pop_layout
from rosenblatt.errors import UsageError
from rosenblatt.files import keep_apart
from rosenblatt.model import load
from rosenblatt.read.source import Source
from rosenblatt.show.predictions import FORMATS, PredictionCounts, open_writer, predict_batches


@command(
    "rosenblatt predict model.json new.csv -o predicted.csv",
    "rosenblatt predict model.json new.csv --explain",
)
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE",
    help="File to write: .csv, .parquet or .jsonl (default: standard output).",
)
@click.option("--to", type=click.Choice(sorted({*FORMATS.values()})), help="Output format.")
@click.option(
    "--explain",
    is_flag=True,
    help="Add the three features that contributed most to each prediction.",
)
@click.option(
    "--scores", is_flag=True, help="Add the score of every label, for three or more labels."
)
@click.option(
    "--missing",
    type=click.Choice(["error", "empty", "mean"]),
    help="What to do if a number is missing: stop, leave the prediction empty, or use the "
    "column's mean (default: as in training).",
)
@layout_options
def predict(model: str, data: str, output: str | None, to: str | None, **rest: Any) -> int:
    """Predict the label of each row of DATA with MODEL, a file that `learn` wrote.

    DATA is a file, or - for standard input. Every row keeps its columns and gets two more: the
    predicted label and the score. For two labels, a positive score means the positive label; for
    more, the score is the lead over the label with the second-highest score. Rows are processed
    in batches, so DATA may be larger than memory. If DATA has the target column, the accuracy is
    printed.
    """
    layout = pop_layout(rest)
    console = Console(rest["as_json"], rows_on_stdout=output in (None, "-"))
    keep_apart({"the data": data, "the model": model}, {"--output": output})
    machine = load(model)
    if rest["missing"] is not None:
        policy = "drop" if rest["missing"] == "empty" else rest["missing"]
        machine = replace(machine, encoding=replace(machine.encoding, missing=policy))
    source = Source.find(data)
    batches = predict_batches(machine, source, layout, (rest["explain"], rest["scores"]))
    tally = PredictionCounts(machine)
    if output is None and to is None and console.as_json:
        rows = [row for batch in tally.count(batches) for row in batch.to_pylist()]
        tally.report(console)
        console.result({**tally.summary(), "rows": rows})
        return 0
    if output is None and console.as_json:
        raise UsageError(
            "--json and --to cannot both print to standard output; give -o FILE for the rows."
        )
    with (
        console.progress(f"predicting {source.name}") as progress,
        open_writer(output, to) as write,
    ):
        for batch in tally.count(batches):
            write(batch)
            progress(tally.rows)
        clock.ignore_interrupts()
    if output is not None:
        console.step("wrote", f"{output}: {tally.sentence()}")
    tally.report(console)
    console.result({**tally.summary(), "output": output})
    return 0
