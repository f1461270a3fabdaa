"""`rosenblatt separable`: can a line answer every row, and what stands in its way."""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np
from rich.table import Table
from rich.text import Text

from rosenblatt.cli import VERBS
from rosenblatt.cli.options import Reading, json_option, reading_options
from rosenblatt.cli.say import Voice
from rosenblatt.cli.verdict import Verdict, verdict_of
from rosenblatt.errors import column_called
from rosenblatt.modelfile import proof_to_json
from rosenblatt.read import Source
from rosenblatt.read.data import Data, read_data
from rosenblatt.write import write_text

EXIT = {"separable": 0, "quasi-separable": 1, "inseparable": 1, "undecided": 2}
SHOWN = 10


@click.command(short_help=VERBS["separable"])
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("--proof", type=click.Path(), metavar="FILE", help="Write the proof as JSON.")
@reading_options
@json_option
def separable(data: str, proof: str | None, reading: Reading, as_json: bool) -> int:
    """Say whether a line can answer every row of DATA (- for standard input), with a proof.

    Ends with exit code 0 if it can, 1 if not, 2 if that could not be decided.
    """
    voice = Voice(as_json)
    found = read_data(Source.find(data), reading.layout, reading.wishes)
    if found.plan.guessed:
        where = column_called(found.plan.answers.column)
        voice.note(f"{where} taken as the answers: only it has two values.")
    for note in found.plan.notes:
        voice.note(f"{note}.")
    verdict = verdict_of(found.examples)
    voice.step("verdict", verdict.sentence)
    voice.show(Text(verdict.answer.explain()))
    blocking = blocking_rows(verdict, found)
    if blocking:
        voice.show(_table(blocking, found))
    if proof is not None and verdict.answer.proof is not None:
        write_text(proof, proof_to_json(found.plan, json.loads(verdict.answer.proof.to_json())))
        voice.step("wrote", f"{proof}: check it with rosenblatt verify {proof} {data}")
    elif proof is not None:
        voice.note("undecided: there is no proof to write.")
    voice.result(
        {
            "data": found.name,
            "rows": found.examples.n,
            **verdict.to_json(),
            "blocking": blocking,
            "proof": proof if verdict.answer.proof is not None else None,
        }
    )
    return EXIT[verdict.name]


def blocking_rows(verdict: Verdict, found: Data) -> list[dict[str, Any]]:
    """The rows that cannot all be right, largest share first, with their places in the file."""
    rows, shares = verdict.blocking()
    order = np.argsort(-shares, kind="stable")
    return [
        {
            "row": int(found.rows[rows[k]]) + 1,
            "line": found.line(int(rows[k])),
            "share": float(shares[k]),
            "values": {
                name: found.table.column(name)[int(found.rows[rows[k]])].as_py()
                for name in found.table.column_names
            },
        }
        for k in order
    ]


def _table(blocking: list[dict[str, Any]], found: Data) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    names = found.table.column_names[:8]
    has_lines = blocking[0]["line"] is not None
    for name in ["row", *(["line"] if has_lines else []), "share", *names]:
        table.add_column(name, overflow="ellipsis", no_wrap=True, max_width=24)
    for one in blocking[:SHOWN]:
        cells = [str(one["row"]), *([str(one["line"])] if has_lines else []), f"{one['share']:.3g}"]
        table.add_row(*cells, *(Text(str(one["values"][name])) for name in names))
    if len(blocking) > SHOWN:
        table.add_row(f"… {len(blocking) - SHOWN} more")
    return table
