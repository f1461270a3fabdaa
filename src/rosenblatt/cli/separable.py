"""`rosenblatt separable`: can a line answer every row, and what stands in its way."""

from __future__ import annotations

from typing import Any

import click
from rich.table import Table
from rich.text import Text

from rosenblatt.cli.console import Voice, bare_table
from rosenblatt.cli.options import (
    Reading,
    convert_option,
    json_option,
    proof_option,
    reading_options,
    tell_plan,
    too_large,
    verb,
    write_proof,
)
from rosenblatt.evidence.verdicts import Verdict, verdict_lines
from rosenblatt.files import keep_apart
from rosenblatt.read import Source
from rosenblatt.read.convert import opened
from rosenblatt.read.data import Data, read_data
from rosenblatt.solve import about, verdict_of
from rosenblatt.words import counted, shown

EXIT = {"separable": 0, "quasi-separable": 1, "inseparable": 1, "undecided": 2}
SHOWN = 10


@verb(
    "rosenblatt separable credit.csv --target approved",
    "rosenblatt separable credit.csv --proof proof.json",
)
@click.argument("data", type=click.Path(allow_dash=True))
@proof_option
@convert_option
@reading_options
@json_option
def separable(data: str, proof: str | None, convert: bool, reading: Reading, as_json: bool) -> int:
    """Say whether a line can answer every row of DATA (- for standard input), with a proof.

    Ends with exit code 0 if it can, 1 if not, 2 if that could not be decided.
    """
    voice = Voice(as_json)
    keep_apart(reading.files(data), {"--proof": proof})
    source = Source.find(data)
    if too_large(voice, source, reading.layout, "deciding"):
        found = opened(source, reading.layout, reading.wishes, voice, convert=convert)
    else:
        found = read_data(source, reading.layout, reading.wishes)
    tell_plan(voice, found.plan)
    with about(found):
        verdict = verdict_of(found)
    blocking = blocking_rows(verdict, found)
    first, *more = verdict_lines(verdict.answer)
    voice.step("verdict", first)
    for line in () if blocking else more:  # or a table tells it
        voice.step("", line)
    if verdict.name == "quasi-separable" and verdict.answer.rivals is None:
        voice.note("a regression of these answers has infinite estimates; see separation --help.")
    if blocking:
        voice.show(_table(blocking, found.plan.answers.column, voice.out.width - 40))
        if len(blocking) > SHOWN:
            voice.show(f"… and {counted(len(blocking) - SHOWN, 'more row')}; --json has them all.")
    written = write_proof(voice, proof, data, found.plan, verdict.answer.proof)
    voice.result(
        {
            "data": source.name,
            "rows": len(verdict.answer.row_names.positions),
            **verdict.answer.to_json(),
            "blocking": blocking,
            "proof": written,
        }
    )
    return EXIT[verdict.name]


def blocking_rows(verdict: Verdict, found: Data) -> list[dict[str, Any]]:
    """The rows that cannot all be right, largest share first, with their places in the file."""
    answer = verdict.answer
    shares = answer.shares(answer.blocking[0]) if answer.blocking else []
    names = answer.row_names
    places = names.positions if found.rows is None else found.places(n for n, *_ in shares)
    return [
        {
            "row": names.number(n),
            "line": found.line(n),
            **({} if rival is None else {"against": rival}),
            "share": share,
            "values": places.cells(n),
        }
        for n, rival, share in shares
    ]


def _table(blocking: list[dict[str, Any]], answer: str, room: int) -> Table:
    """The rows that block, with the answer and as many of their values as fit the line."""
    has_lines, has_rivals = blocking[0]["line"] is not None, "against" in blocking[0]
    names = ["row", *["line"] * has_lines, "share", "answer", *["against"] * has_rivals]
    table = bare_table(*names, "values", widest=16)
    for one in blocking[:SHOWN]:
        cells = [f"{one['row']:,}", f"{one['line']:,}"] if has_lines else [f"{one['row']:,}"]
        values = {name: value for name, value in one["values"].items() if name != answer}
        told = ", ".join(f"{name} {value}" for name, value in values.items())
        told, answered = shown(told), shown(str(one["values"][answer]))
        told = told if len(told) <= room else told[: room - 1] + "…"
        rival = [Text(shown(one["against"]))] if has_rivals else []
        table.add_row(*cells, f"{one['share']:.3f}", Text(answered), *rival, Text(told))
    return table
