"""`rosenblatt separation`: which estimates of a regression are infinite, and why."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import click
from rich.table import Table

from rosenblatt import __version__, strictjson
from rosenblatt.cli import VERBS
from rosenblatt.cli.console import Voice
from rosenblatt.cli.options import Reading, examples, json_option, reading_options
from rosenblatt.errors import DataError, UsageError, column_called
from rosenblatt.evidence.cone import FINITE, SHORT
from rosenblatt.evidence.families import FAMILIES
from rosenblatt.evidence.proof import ProofError
from rosenblatt.evidence.separation import Separation, advice, spelled, summary, which_rows
from rosenblatt.evidence.separation import separation as ask
from rosenblatt.evidence.separationproof import SeparationProof
from rosenblatt.files import keep_apart, write_text
from rosenblatt.model import ColumnParts
from rosenblatt.read import Source
from rosenblatt.read.columns import Category, Column, Number
from rosenblatt.read.data import read_whole, told_where, with_types
from rosenblatt.read.plan import Wishes
from rosenblatt.read.regression import Regression, regression_of, taken, told, written_out
from rosenblatt.words import counted, listed

FORMAT = 1
MARK = b'{\n "rosenblatt": "separation",'  # how such a proof begins
EXIT = {"none": 0, "quasi-complete": 1, "complete": 1, "undecided": 2}
SHOWN = 40


@click.command(
    short_help=VERBS["separation"],
    epilog=examples(
        "rosenblatt separation credit.csv --target approved",
        "rosenblatt separation clicks.csv --target clicked --proof separated.json",
    ),
)
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("--family", type=click.Choice(FAMILIES), default="binomial", show_default=True)
@click.option("--intercept/--no-intercept", default=True, help="Whether there is an intercept.")
@click.option("--weights", metavar="COLUMN", help="Rows of weight 0 are not part of it.")
@click.option("--proof", type=click.Path(), metavar="FILE", help="Write the proof as JSON.")
@reading_options
@json_option
def separation(data: str, reading: Reading, as_json: bool, **given: Any) -> int:
    """Say which estimates of a regression on DATA are infinite, and which rows are to blame.

    Columns of text become a dummy for each value but the first in sort order. Ends with exit code
    0 if every estimate is finite, 1 if some are not, 2 if that could not be decided.
    """
    voice = Voice(as_json)
    proof = given["proof"]
    keep_apart({"the data": data, "the file of stop words": reading.stop_words}, {"--proof": proof})
    source = Source.find(data)
    found, weights = _weighed(_read(source, reading), given["weights"], source.name)
    voice.step("read", f"{source.name}: {_told(found, given['weights'])}")
    for note in found.notes:
        voice.note(f"{note}.")
    try:
        s = ask(
            found.frame,
            found.answers,
            family=given["family"],
            fit_intercept=given["intercept"],
            sample_weight=weights,
        )
    except ValueError as trouble:
        raise DataError(f"{source.name}: {trouble}") from None
    _show(voice, s, found)
    if proof is not None and s.proof is not None:
        write_text(proof, proof_text(found, s.proof, given["weights"]))
        voice.step("wrote", f"{proof}: check it with rosenblatt verify {proof} {data}")
    voice.result({"data": source.name, **to_json(s, found), "proof": proof if s.proof else None})
    return EXIT[s.kind]


def _read(source: Source, reading: Reading) -> Regression:
    layout = with_types(source, reading.layout, reading.wishes)
    with told_where(source, reading.layout, advice="Give --missing drop."):
        table = read_whole(source, layout)
        return regression_of(table, reading.wishes, source.name)


def _weighed(found: Regression, column: str | None, name: str) -> tuple[Regression, Any]:
    """The regression without its column of weights, and the weights."""
    if column is None:
        return found, None
    names = [c.name for c in found.columns]
    if column not in (found.target, *names):
        there = listed([column_called(n) for n in names], most=8)
        raise UsageError(f"--weights: there is no {column_called(column)} among {there}.")
    if not any(c.name == column and isinstance(c, Number) for c in found.columns):
        raise DataError(f"{name}: --weights {column} is not a column of numbers.")
    weights = found.frame.column(column).to_numpy()
    left = tuple(c for c in found.columns if c.name != column)
    return replace(found, frame=found.frame.drop_columns([column]), columns=left), weights


def _told(found: Regression, weights: str | None) -> str:
    rows = counted(len(found.rows), "row")
    also = "" if weights is None else f", weights in {column_called(weights)}"
    return f"{rows}, {told(found.columns)}; answers in {column_called(found.target)}{also}"


def _show(voice: Voice, s: Separation, found: Regression) -> None:
    voice.step("verdict", summary(s) + (", proved in exact arithmetic" if s.proof else ""))
    if s.kind == "undecided":
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("coefficient", "estimate", "why"):
        table.add_column(heading, no_wrap=True)
    shown = sorted(s.names, key=lambda name: s.reasons[name] == FINITE)
    for name in shown[:SHOWN]:
        table.add_row(spelled(name), SHORT[s.reasons[name]], s.reasons[name])
    voice.show(table)
    if len(shown) > SHOWN:
        voice.show(f"… and {counted(len(shown) - SHOWN, 'coefficient')} more, all in --json.")
    if s:
        rows = [str(found.rows[n] + 1) for n in s.rows.tolist()]
        voice.show(f"{which_rows(s)}, counted from 1: {listed(rows, most=12)}.")
    for line in advice(s):
        voice.show(line)


def to_json(s: Separation, found: Regression) -> dict[str, Any]:
    """The result as JSON; rows are counted from 1, as in messages."""
    estimates = {0.0: 0.0, math.inf: "inf", -math.inf: "-inf"}
    return {
        "rows": s.n_rows,
        "target": found.target,
        "family": s.family,
        "kind": s.kind,
        "reason": s.reason or None,
        "coefficients": [
            {
                "name": spelled(name),
                "estimate": estimates.get(s.coefficients[name]),
                "why": s.reasons[name],
            }
            for name in (s.names if s.reasons else ())
        ],
        "separated": [int(found.rows[n]) + 1 for n in s.rows.tolist()],
        "overlapping": s.n_overlapping if s.reasons else None,
        "drop": list(s.drop),
    }


def proof_text(found: Regression, proof: SeparationProof, weights: str | None) -> str:
    """A proof with the columns it is about, all under one seal."""
    content = {
        "target": found.target,
        "columns": [column.to_json() for column in found.columns],
        "missing": "drop",
        "weights": weights,
        "rows": len(found.rows),
        "proof": json.loads(proof.to_json()),
    }
    value = {
        "rosenblatt": "separation",
        "format": FORMAT,
        "made by": f"rosenblatt {__version__}",
        "content": content,
    }
    return strictjson.sealed(value, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Sealed:
    """What a file of proof is about, and the proof."""

    target: str
    columns: tuple[Column, ...]
    weights: str | None
    rows: int
    proof: SeparationProof

    @classmethod
    def of(cls, value: dict[str, Any], name: str) -> Sealed:
        """The parts of a file; refuses one that was changed or does not fit."""
        content = value.get("content")
        if value.get("format") != FORMAT or not isinstance(content, dict):
            raise DataError(f"{name} is not a proof of separation that this version reads.")
        if value.get("seal") != strictjson.seal_of(value):
            raise DataError(f"{name} was changed after it was written: its seal does not fit.")
        check = ColumnParts(name, "proof")
        columns = check.regressors(content)
        target, weights = check.text(content.get("target"), '"target"'), content.get("weights")
        names = [column.name for column in columns]
        if weights is not None:
            weights = check.text(weights, '"weights"')
        if target in names or weights in (target, *names):
            check.wrong('"columns"', "have the answers or the weights among them")
        try:
            proof = SeparationProof.from_json(json.dumps(content.get("proof")))
        except ProofError as wrong:
            raise DataError(f"{name} is not a proof of separation: {wrong}") from None
        rows = check.whole(content.get("rows"), '"rows"', 1)
        return cls(target, columns, weights, rows, proof)


def begins_as_separation(path: str) -> bool:
    """Whether a file is one that `separation --proof` wrote."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MARK)) == MARK
    except OSError:
        return False  # which is told by who reads it


def verify_separation(voice: Voice, name: str, source: Source, reading: Reading) -> int:
    """Check a file that `separation --proof` wrote against a file of data."""
    sealed = Sealed.of(strictjson.read(name), name)
    needed = sealed.columns
    if sealed.weights is not None:
        needed = (*needed, Number(sealed.weights))
    text = tuple(column.name for column in needed if isinstance(column, Category))
    with told_where(source, reading.layout, advice=""):
        table = read_whole(source, with_types(source, reading.layout, Wishes(categories=text)))
        table = written_out(table, source.name)
        found = taken(table, (sealed.target, needed, ()), True, source.name)
    found, weights = _weighed(found, sealed.weights, source.name)
    used = {sealed.target, *(column.name for column in needed)}
    left = [n for n in table.column_names if n not in used]
    about = _told(found, sealed.weights) + (f"; {listed(left)} left out" if left else "")
    gaps = table.num_rows - len(found.rows)
    if gaps:
        about += f"; {counted(gaps, 'row')} with gaps left out"
    voice.step("about", about)
    claim = f"{sealed.proof.kind} separation, family {sealed.proof.family}"
    try:
        if sealed.rows != len(found.rows):
            raise ProofError(f"it is about {counted(sealed.rows, 'row')}.")
        sealed.proof.check(found.frame, found.answers, weights)
        reason = None
        voice.step("verified", f"“{claim}” holds for {source.name}, in exact arithmetic")
    except (ProofError, ValueError) as wrong:
        reason = str(wrong)
        voice.step("refuted", f"the proof of “{claim}” does not hold: {wrong}")
    voice.result(
        {
            "proof": name,
            "data": source.name,
            "claim": claim,
            "about": about,
            "holds": reason is None,
            "reason": reason,
        }
    )
    return int(reason is not None)
