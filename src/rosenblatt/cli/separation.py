"""`rosenblatt separation`: which estimates of a regression are infinite, and why."""

from __future__ import annotations

import math
from typing import Any

import click

from rosenblatt.cli.console import Voice, bare_table
from rosenblatt.cli.options import (
    Reading,
    json_option,
    proof_option,
    regression_options,
    verb,
    write_proof,
)
from rosenblatt.errors import DataError, RowError
from rosenblatt.evidence.cone import FINITE, SHORT
from rosenblatt.evidence.families import FAMILIES
from rosenblatt.evidence.separation import Separation, advice, spelled, summary, which_rows
from rosenblatt.evidence.separation import separation as ask
from rosenblatt.files import keep_apart
from rosenblatt.messages import Message
from rosenblatt.read import Source
from rosenblatt.read.regression import Regression, read_regression
from rosenblatt.words import counted, listed

EXIT = {"none": 0, "quasi-complete": 1, "complete": 1, "undecided": 2}
SHOWN = 40


@verb(
    "rosenblatt separation credit.csv --target approved",
    "rosenblatt separation clicks.csv --target clicked --proof separated.json",
)
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("--family", type=click.Choice(FAMILIES), default="binomial", show_default=True)
@click.option("--intercept/--no-intercept", default=True, help="Whether there is an intercept.")
@click.option("--weights", metavar="COLUMN", help="Rows of weight 0 are not part of it.")
@proof_option
@regression_options
@json_option
def separation(data: str, reading: Reading, as_json: bool, **given: Any) -> int:
    """Say which estimates of a regression on DATA are infinite, and which rows are to blame.

    Columns of text become a dummy for each value but the first in sort order. Ends with exit code
    0 if every estimate is finite, 1 if some are not, 2 if that could not be decided.
    """
    voice = Voice(as_json)
    proof = given["proof"]
    keep_apart(reading.files(data), {"--proof": proof})
    source = Source.find(data)
    found = read_regression(source, reading.layout, reading.wishes, given["weights"])
    voice.step("read", f"{source.name}: {found.plan}")
    for note in found.notes:
        voice.note(Message(note, "."))
    try:
        s = ask(
            found.frame,
            found.answers,
            family=given["family"],
            fit_intercept=given["intercept"],
            sample_weight=found.weights,
        )
    except RowError as error:
        raise DataError(f"{source.name}: {error.worded(found.row_names)}") from None
    except ValueError as error:
        raise DataError(f"{source.name}: ", *error.args) from None
    _show(voice, s, found)
    written = write_proof(voice, proof, data, found.plan, s.proof)
    voice.result({"data": source.name, **to_json(s, found), "proof": written})
    return EXIT[s.kind]


def _show(voice: Voice, s: Separation, found: Regression) -> None:
    voice.step("verdict", summary(s) + (", proved in exact arithmetic" if s.proof else ""))
    if s.kind == "undecided":
        return
    table = bare_table("coefficient", "estimate", "why")
    shown = sorted(s.names, key=lambda name: s.reasons[name] == FINITE)
    for name in shown[:SHOWN]:
        table.add_row(spelled(name), SHORT[s.reasons[name]], s.reasons[name])
    voice.show(table)
    if len(shown) > SHOWN:
        voice.show(f"… and {counted(len(shown) - SHOWN, 'coefficient')} more, all in --json.")
    if s:
        rows = [found.row_names.called(n) for n in s.rows.tolist()]
        voice.show(f"{which_rows(s)}, counted from 1: {listed(rows, most=12)}.")
    for line in advice(s):
        voice.show(line)


def to_json(s: Separation, found: Regression) -> dict[str, Any]:
    """The result as JSON; rows are counted from 1, as in messages."""
    estimates = {0.0: 0.0, math.inf: "inf", -math.inf: "-inf"}
    return {
        "rows": s.n_rows,
        "target": found.plan.target,
        "family": s.family,
        "kind": s.kind,
        "reason": s.reason or None,
        "coefficients": [
            {
                "name": spelled(name),
                "estimate": estimates.get(estimate),
                "why": s.reasons[name],
            }
            for name, estimate in s.coefficients.items()
        ],
        "separated": [found.row_names.number(n) for n in s.rows.tolist()],
        "overlapping": s.n_overlapping if s.reasons else None,
        "drop": list(s.drop),
    }
