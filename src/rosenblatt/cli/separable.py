"""`rosenblatt separable`: decide whether a file is linearly separable."""

from __future__ import annotations

from typing import Any

import click
from rich.table import Table
from rich.text import Text

from rosenblatt.cli.shared import (
    Console,
    Reading,
    command,
    convert_option,
    make_table,
    needs_passes,
    proof_option,
    reading_options,
    report_plan,
    write_proof,
)
from rosenblatt.evidence.verdicts import Separability, describe_verdict
from rosenblatt.files import keep_apart
from rosenblatt.read import Source
from rosenblatt.read.data import Data, open_data, read_data
from rosenblatt.solve import data_name_in_errors, decide
from rosenblatt.text import plural, sanitize

EXIT = {"separable": 0, "quasi-separable": 1, "inseparable": 1, "undecided": 2}
SHOWN = 10


@command(
    "rosenblatt separable credit.csv --target approved",
    "rosenblatt separable credit.csv --proof proof.json",
)
@click.argument("data", type=click.Path(allow_dash=True))
@proof_option
@convert_option
@reading_options
def separable(data: str, proof: str | None, convert: bool, as_json: bool, **given: Any) -> int:
    """Decide whether a linear classifier can classify every row of DATA correctly.

    DATA is a file, or - for standard input. The verdict is proved in exact arithmetic; --proof
    writes the proof. The exit code is 0 for separable, 1 for not separable and 2 for undecided.
    """
    console, reading = Console(as_json), Reading.pop(given)
    keep_apart(reading.files(data), {"--proof": proof})
    source = Source.find(data)
    if needs_passes(console, source, reading.layout, "deciding"):
        found = open_data(source, reading.layout, reading.columns, console, convert=convert)
    else:
        found = read_data(source, reading.layout, reading.columns)
    report_plan(console, found.plan)
    with data_name_in_errors(found):
        s = decide(found)
    conflict = conflict_rows(s, found)
    first, *more = describe_verdict(s)
    console.step("verdict", first)
    for line in () if conflict else more:  # a table shows the conflict instead
        console.step("", line)
    if s.verdict == "quasi-separable" and not s.labels:
        console.note(
            "a logistic regression on these data has infinite estimates; "
            "see rosenblatt separation --help."
        )
    if conflict:
        console.show(_table(conflict, found.plan.target.column, console.out.width - 40))
        if len(conflict) > SHOWN:
            console.show(f"… and {plural(len(conflict) - SHOWN, 'more row')}; --json has them all.")
    written = write_proof(console, proof, data, found.plan, s.proof)
    console.result(
        {
            "data": source.name,
            "rows": len(s.row_names.positions),
            **s.to_json(),
            "conflict": conflict,
            "proof": written,
        }
    )
    return EXIT[s.verdict]


def conflict_rows(s: Separability, found: Data) -> list[dict[str, Any]]:
    """Return the rows of a conflict as dicts for JSON, or an empty list if there is none.

    The row with the largest multiplier comes first.
    """
    shares = s.shares(s.conflicts[0]) if s.conflicts else []
    names = s.row_names
    places = names.positions if found.rows is None else found.places(n for n, *_ in shares)
    return [
        {
            "row": names.number(n),
            "line": found.line_number(n),
            **({} if rival is None else {"against": rival}),
            "share": share,
            "values": places.cells(n),
        }
        for n, rival, share in shares
    ]


def _table(conflict: list[dict[str, Any]], target: str, width: int) -> Table:
    """Create a table of rows that cannot all be classified correctly."""
    has_lines, has_rivals = conflict[0]["line"] is not None, "against" in conflict[0]
    names = ["row", *["line"] * has_lines, "share", "label", *["against"] * has_rivals]
    table = make_table(*names, "values", widest=16)
    for row in conflict[:SHOWN]:
        cells = [f"{row['row']:,}", f"{row['line']:,}"] if has_lines else [f"{row['row']:,}"]
        features = {name: value for name, value in row["values"].items() if name != target}
        values = sanitize(", ".join(f"{name} {value}" for name, value in features.items()))
        values = values if len(values) <= width else values[: width - 1] + "…"
        label = Text(sanitize(str(row["values"][target])))
        rival = [Text(sanitize(row["against"]))] if has_rivals else []
        table.add_row(*cells, f"{row['share']:.3f}", label, *rival, Text(values))
    return table
