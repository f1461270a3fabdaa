"""`rosenblatt predict`: answer the rows of a file with a model, however many there are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

import rosenblatt.interrupts as interrupts
from rosenblatt.cli.console import Voice
from rosenblatt.cli.options import json_option, layout_options, verb
from rosenblatt.errors import UsageError
from rosenblatt.files import keep_apart
from rosenblatt.model import load
from rosenblatt.read.source import Layout, Source
from rosenblatt.show.predictions import WRITERS, AnswerCounts, answered, open_writer


@verb(
    "rosenblatt predict model.json new.csv -o answers.csv",
    "rosenblatt predict model.json new.csv --explain",
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

    Every row keeps its columns, as they are written where the model does not use them, and gets
    two more: the answer, and its score, which is positive for yes; of more than two labels it is
    how far the answer is ahead of the next, which --explain gives reasons for. Rows are read,
    answered and written a batch at a time. Where DATA has the column of answers that was learnt,
    it is said how many were right.
    """
    voice = Voice(rest["as_json"], taken=output in (None, "-"))
    keep_apart({"the data": data, "the model": model}, {"--output": output})
    machine = load(model)
    if rest["missing"] is not None:
        policy = "drop" if rest["missing"] == "empty" else rest["missing"]
        machine = replace(machine, encoding=replace(machine.encoding, missing=policy))
    source = Source.find(data)
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
        interrupts.finish()
    if output is not None:
        voice.step("wrote", f"{output}: {tally.sentence()}")
    tally.tell(voice)
    voice.result({**tally.summary(), "output": output})
    return 0
