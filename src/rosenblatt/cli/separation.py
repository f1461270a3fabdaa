"""`rosenblatt separation`: find the infinite estimates of a regression and their causes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import click

from rosenblatt.cli import option
from rosenblatt.cli.shared import (
    Console,
    NumberRange,
    Reading,
    command,
    make_table,
    proof_option,
    regression_options,
    with_options,
    write_proof,
)
from rosenblatt.errors import DataError, Message, RowError, UserError
from rosenblatt.evidence.families import FAMILIES
from rosenblatt.evidence.separation import (
    Separation,
    advice,
    coefficient_table,
    infinite_first,
    list_rows,
    next_steps,
    spelled,
    summary,
)
from rosenblatt.evidence.separation import separation as ask
from rosenblatt.files import keep_apart
from rosenblatt.read import Source
from rosenblatt.read.regression import Regression, read_regression
from rosenblatt.text import plural

EXIT = {"none": 0, "quasi-complete": 1, "complete": 1, "undecided": 2}
SHOWN = 40


@command(
    "rosenblatt separation credit.csv --target approved",
    "rosenblatt separation clicks.csv --target clicked --proof separated.json",
    "rosenblatt separation lizards.csv --target grahami,opalinus",
    'rosenblatt separation trade.csv --formula "flow ~ tariff | exporter + year" --family poisson',
    "rosenblatt separation trial.csv --target months,died --family cox --groups center",
)
@click.argument("data", type=click.Path(allow_dash=True))
@click.option(
    "--formula",
    metavar="TEXT",
    help="Model formula, as in R: the target, ~ and the terms; fixed effects after a bar. Rows "
    "with missing values are dropped.",
)
@click.option(
    "--family",
    type=click.Choice(FAMILIES),
    default="binomial",
    help="Kind of regression. poisson: any count model with a log link; ordinal: cumulative "
    "logit or probit; cox: --target TIME,EVENT; conditional: matched sets in --groups.",
)
@click.option(
    "--groups",
    metavar="COLUMN",
    help="Matched sets (family conditional) or strata (family cox).",
)
@click.option(
    "--intercept/--no-intercept",
    default=True,
    show_default=False,
    help="Whether to include an intercept.",
)
@click.option("--weights", metavar="COLUMN", help="Sample weights. Rows of weight 0 are left out.")
@click.option(
    "--time-limit",
    type=NumberRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time budget in seconds, excluding reading and compilation. What is proved by then is "
    "kept (default: no limit).",
)
@proof_option
@regression_options
def separation(data: str, as_json: bool, **given: Any) -> int:
    """Say which estimates of a regression on DATA are infinite, and which rows cause it.

    Without --formula every column but the target is a regressor, and text columns become a dummy
    for each value but the first in sort order. --target takes two columns for successes and
    failures (YES,NO) or for survival times (TIME,EVENT). Exits with 0 if every estimate is finite,
    1 if some are infinite, and 2 if that could not be decided.
    """
    console, reading = Console(as_json), Reading.pop(given)
    proof = given["proof"]
    keep_apart(reading.files(data), {"--proof": proof})
    source = Source.find(data)
    columns = given["weights"], given["groups"], given["formula"]
    found = read_regression(source, reading.layout, reading.columns, *columns)
    console.step("read", f"{source.name}: {found.plan}")
    for note in found.notes:
        console.note(Message(note, "."))
    try:
        s = ask(
            *found.given,
            family=given["family"],
            fit_intercept=given["intercept"],
            sample_weight=found.weights,
            groups=found.groups,
            time_limit=given["time_limit"],
        )
    except RowError as error:
        raise DataError(f"{source.name}: {error.describe(found.row_names)}") from None
    except UserError:
        raise
    except ValueError as error:
        raise DataError(f"{source.name}: ", *error.args) from None
    s = replace(s, row_names=found.row_names)
    console.step("verdict", summary(s) + (", proved in exact arithmetic" if s.proof else ""))
    lines = list_rows(s, ", counted from 1")
    if s.kind != "undecided":
        shown = infinite_first(s)
        heading, *cells = coefficient_table(s, shown[:SHOWN])
        table = make_table(*heading)
        for row in cells:
            table.add_row(*row)
        console.show(table)
        if len(shown) > SHOWN:
            console.show(f"… and {plural(len(shown) - SHOWN, 'coefficient')} more, all in --json.")
        lines += advice(s, option)
    lines += [f"Next, in Python: {code}  # {what}" for code, what in next_steps(s)]
    for line in lines:
        console.show(line)
    written = write_proof(console, proof, data, found.plan, s.proof)
    console.result({"data": source.name, **to_json(s, found), "proof": written})
    return EXIT[s.kind]


def to_json(s: Separation, found: Regression) -> dict[str, Any]:
    """Return the result as a dict for JSON, with rows counted from 1."""
    target = found.plan.target[0] if found.plan.target else None
    table = s.limit.table if s.limit is not None else None
    estimates = table.estimates if table else dict.fromkeys(s.names, math.nan)
    infinite = {math.inf: "inf", -math.inf: "-inf"}
    return {
        "rows": s.n_rows,
        "target": list(found.plan.target) if len(found.plan.target) > 1 else target,
        "formula": found.plan.formula,
        "family": s.family,
        "kind": s.kind,
        "reason": s.reason or None,
        "coefficients": [
            {
                "name": spelled(name),
                "estimate": infinite.get(value, _number(estimates[name])),
                "standard_error": _number(table.errors[name]) if table else None,
                "bound": _number(table.bounds.get(name, math.nan)) if table else None,
                "why": s.reasons[name],
            }
            for name, value in s.coefficients.items()
        ],
        "rows_left_out": found.gaps + len(s.left_out),
        "notes": [with_options(note) for note in s.notes],
        "separated": [found.row_names.number(n) for n in s.rows.tolist()],
        "overlapping": s.n_overlapping if s.reasons else None,
        "drop": list(s.drop),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
