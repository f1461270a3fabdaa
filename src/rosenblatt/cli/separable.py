"""`rosenblatt separable`: can a line answer every row, and what stands in its way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from rosenblatt.cli import VERBS
from rosenblatt.cli.console import Voice
from rosenblatt.cli.options import Reading, convert_option, examples, json_option, reading_options
from rosenblatt.cli.passing import AboutFile, opened, too_large, verdict_in_passes
from rosenblatt.errors import column_called
from rosenblatt.files import keep_apart, write_text
from rosenblatt.model import proof_to_json
from rosenblatt.read import Source
from rosenblatt.read.convert import SUFFIX
from rosenblatt.read.data import Data, Places, read_data
from rosenblatt.read.plan import Plan
from rosenblatt.verdict import Verdict, verdict_of
from rosenblatt.words import counted, shown

EXIT = {"separable": 0, "quasi-separable": 1, "inseparable": 1, "undecided": 2}
SHOWN = 10


@click.command(
    short_help=VERBS["separable"],
    epilog=examples(
        "rosenblatt separable credit.csv --target approved",
        "rosenblatt separable credit.csv --proof proof.json",
    ),
)
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("--proof", type=click.Path(), metavar="FILE", help="Write the proof as JSON.")
@convert_option
@reading_options
@json_option
def separable(data: str, proof: str | None, convert: bool, reading: Reading, as_json: bool) -> int:
    """Say whether a line can answer every row of DATA (- for standard input), with a proof.

    Ends with exit code 0 if it can, 1 if not, 2 if that could not be decided.
    """
    voice = Voice(as_json)
    reads = {
        "the data": data,
        "the converted data": None if data == "-" else f"{data}{SUFFIX}",
        "the file of stop words": reading.stop_words,
    }
    keep_apart(reads, {"--proof": proof})
    source = Source.find(data)
    in_passes = too_large(voice, source, reading, "separable")
    question = _in_passes if in_passes else _in_memory
    asked = question(voice, source, reading, convert)
    verdict, plan, blocking = asked.verdict, asked.plan, asked.blocking
    voice.step("verdict", verdict.sentence)
    for line in verdict.explained():
        voice.step("", line)
    if verdict.name == "quasi-separable":
        voice.note("a regression of these answers has infinite estimates; see separation --help.")
    if blocking:
        voice.show(_table(blocking, plan.answers.column, voice.out.width - 40))
        if len(blocking) > SHOWN:
            voice.show(f"… and {counted(len(blocking) - SHOWN, 'more row')}; --json has them all.")
    if proof is not None and verdict.answer.proof is not None:
        write_text(proof, proof_to_json(plan, verdict.answer.proof))
        voice.step("wrote", f"{proof}: check it with rosenblatt verify {proof} {data}")
    elif proof is not None:
        voice.note("undecided: there is no proof to write.")
    voice.result(
        {
            "data": source.name,
            "rows": asked.rows,
            **verdict.to_json(),
            "blocking": blocking,
            "proof": proof if verdict.answer.proof is not None else None,
        }
    )
    return EXIT[verdict.name]


@dataclass(frozen=True, eq=False)
class Asked:
    """The verdict, what it is about, and the rows that block."""

    verdict: Verdict
    plan: Plan
    rows: int
    blocking: list[dict[str, Any]]


def _in_memory(voice: Voice, source: Source, reading: Reading, convert: bool) -> Asked:
    found = read_data(source, reading.layout, reading.wishes)
    _tell(voice, found.plan)
    verdict = verdict_of(found.examples, found.rows)
    return Asked(verdict, found.plan, found.examples.n, blocking_rows(verdict, found))


def _in_passes(voice: Voice, source: Source, reading: Reading, convert: bool) -> Asked:
    batches = opened(voice, source, reading, convert)
    _tell(voice, batches.plan)
    with AboutFile(source):
        verdict = verdict_in_passes(batches, widest=True)
    return Asked(
        verdict, batches.plan, verdict.rows.count, blocking_rows(verdict, batches, verdict.rows)
    )


def _tell(voice: Voice, plan: Plan) -> None:
    if plan.guessed:
        where = column_called(plan.answers.column)
        voice.note(f"{where} taken as the answers: only it has two values.")
    for note in plan.notes:
        voice.note(f"{note}.")


def blocking_rows(
    verdict: Verdict, found: Data, places: Places | None = None
) -> list[dict[str, Any]]:
    """The rows that cannot all be right, largest share first, with their places in the file."""
    shares = verdict.blocking()
    places = places or found.places(n for n, _ in shares)
    return [
        {
            "row": places[n] + 1,
            "line": found.line(n),
            "share": share,
            "values": places.cells(n),
        }
        for n, share in shares
    ]


def _table(blocking: list[dict[str, Any]], answer: str, room: int) -> Table:
    """The rows that block, with the answer and as many of their values as fit the line."""
    has_lines = blocking[0]["line"] is not None
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("row", "line", "share", "answer") if has_lines else ("row", "share", "answer"):
        table.add_column(name, no_wrap=True, max_width=16)
    table.add_column("values", no_wrap=True)
    for one in blocking[:SHOWN]:
        cells = [f"{one['row']:,}", f"{one['line']:,}"] if has_lines else [f"{one['row']:,}"]
        values = {name: value for name, value in one["values"].items() if name != answer}
        told = ", ".join(f"{name} {value}" for name, value in values.items())
        told, answered = shown(told), shown(str(one["values"][answer]))
        told = told if len(told) <= room else told[: room - 1] + "…"
        table.add_row(*cells, f"{one['share']:.3f}", Text(answered), Text(told))
    return table
