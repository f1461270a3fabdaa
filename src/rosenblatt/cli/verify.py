"""`rosenblatt verify`: check a proof against a file in exact arithmetic."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click
import numpy as np

from rosenblatt.cli.shared import (
    Console,
    Reading,
    command,
    needs_passes,
    reading_options,
    with_options,
)
from rosenblatt.errors import UsageError, with_column
from rosenblatt.evidence.certificate import ProofError
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separationproof import SeparationProof
from rosenblatt.files import keep_apart
from rosenblatt.model import read_proof
from rosenblatt.read import Source
from rosenblatt.read.columns import Category, Column, Entries, Flag, Number, Words
from rosenblatt.read.data import Data, read_column_names, read_data, read_in_passes
from rosenblatt.read.encoding import PlanMismatchError, check_plan
from rosenblatt.read.plan import ColumnOptions, find_column, options_to_verify
from rosenblatt.read.regression import read_regression_as
from rosenblatt.text import describe_claim, join_words, plural, quote_column, shorten

LISTED_ROWS = 10  # rows left out whose numbers are printed
SENTENCE_COLUMNS = 6  # more columns than these are counted, not named, in a sentence
LISTED_COLUMNS = 100  # columns named in a line; --json has all


@command(
    "rosenblatt verify proof.json credit.csv",
    "rosenblatt verify proof.json credit.csv --again --json",
)
@click.argument("proof", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@click.option(
    "--again",
    is_flag=True,
    help="Repeat an exhaustive search through all classifiers if PROOF rests on one.",
)
@reading_options
def verify(proof: str, data: str, again: bool, as_json: bool, **given: Any) -> int:
    """Check PROOF against DATA in exact arithmetic.

    PROOF is a file that --proof of `learn`, `separable` or `separation` wrote, or one with the
    text of `proof.to_json()`. The types of the columns are those recorded in PROOF, which are
    first compared with DATA. The output names the rows and columns that the claim is about. The
    exit code is 0 if the proof holds and 1 if it does not.
    """
    console, reading = Console(as_json), Reading.pop(given)
    keep_apart({"the proof": proof, "the data": data}, {})
    plan, claimed = read_proof(proof)
    source, claim = Source.find(data), claimed.claim
    result: dict[str, Any] = {"proof": proof, "data": data, "claim": claim}
    try:
        if isinstance(claimed, SeparationProof):
            what = _check_regression(console, source, reading, plan, claimed, result)
        else:
            if claimed.sample_weight_digest:
                raise UsageError(
                    f"{proof} is about sample weights, which the command line cannot read. Check "
                    "it in Python with proof.check(X, y, sample_weight)."
                )
            if claimed.enumeration and not again:
                raise UsageError(
                    f"{proof}: “{claim}” rests on an exhaustive search through all classifiers, "
                    "which has to be repeated to check it. Give --again."
                )
            what = _check_examples(console, source, reading, plan, claimed, result)
    except (ProofError, PlanMismatchError) as wrong:
        console.step("refuted", f"the proof of “{claim}” does not hold: {wrong}")
        console.result({**result, "holds": False, "reason": str(wrong), "sentence": None})
        return 1
    sentence = f"“{claim}” holds for {what}, in exact arithmetic"
    console.step("verified", sentence)
    console.result({**result, "holds": True, "reason": None, "sentence": sentence})
    return 0


def _check_examples(
    console: Console,
    source: Source,
    reading: Reading,
    plan: Any,
    claimed: Proof,
    result: dict[str, Any],
) -> str:
    """Check a proof about a classifier and return a description of the data."""
    layout, columns, settle = reading.layout, reading.columns, None
    if plan is not None:
        names, target = read_column_names(source, layout), columns.target
        if target is not None and find_column(names, target, "target") != plan.target.column:
            raise UsageError(
                with_column("target", target),
                f": the proof is about the labels in {quote_column(plan.target.column)}.",
            )
        if replace(columns, target=None) != ColumnOptions():
            console.note(
                "options for columns are ignored: the proof records the types of its columns."
            )
        columns = options_to_verify(plan, names, source)
        settle = functools.partial(check_plan, plan)
    in_passes = needs_passes(console, source, layout, "checking")
    found = (read_in_passes if in_passes else read_data)(source, layout, columns, settle)
    phrase, lines, about = _describe_data(found)
    for heading, text in lines:
        console.step(heading, text)
    console.step("proof", claimed.size)
    result |= {**about, "size": claimed.size}
    with console.progress("checking the proof"):
        try:
            claimed.check_examples(found.blocks, again=True)
        except ProofError as wrong:
            raise ProofError(wrong.describe(found.row_names(wrong.rows))) from None
    return f"{phrase}: {describe_claim(claimed.claim, many=bool(claimed.labels))}"


def _check_regression(
    console: Console,
    source: Source,
    reading: Reading,
    plan: Any,
    claimed: SeparationProof,
    result: dict[str, Any],
) -> str:
    """Check a proof about a regression and return the name of the data."""
    found = read_regression_as(source, reading.layout, plan)
    about = str(found.plan)
    about += f"; {join_words(list(found.others))} left out" if found.others else ""
    about += f"; {plural(found.gaps, 'row')} with missing values left out" if found.gaps else ""
    console.step("about", about)
    result |= {"data": source.name, "about": about}
    if found.plan != plan:
        raise ProofError(f"the proof is about other data, namely {plan}.")
    try:
        claimed.check(*found.given, found.weights, found.groups)
    except ProofError as wrong:
        raise ProofError(wrong.describe(found.row_names)) from None
    return source.name


def _describe_data(data: Data) -> tuple[str, list[tuple[str, str]], dict[str, Any]]:
    """Describe the rows and columns that a proof is about.

    Returns a phrase, the lines to print (each with a heading), and the same facts as JSON.
    """
    plan, target = data.plan, data.plan.target
    columns = plan.encoding.columns
    rows, total, without, filled = _count_rows(data)
    used = {target.column, *(column.name for column in columns)}
    others = [name for name in data.names if name not in used]
    which = f"{rows:,} of {plural(total, 'row')}"
    if rows == total:
        which = f"all {plural(rows, 'row')}" if rows > 1 else "its one row"
    types, many = _group_by_type(columns), len(columns) > SENTENCE_COLUMNS
    phrase = f"{which} of {data.name} with " + join_words(
        [
            f"{plural(len(names), 'column') if many else _list_columns(names)} ({kind})"
            for kind, names in types.items()
        ]
    )
    if others:
        phrase += f", without {plural(len(others), 'other column')}"
    if filled:
        cells = plural(sum(count for _, count in filled), "missing number")
        phrase += f", with {cells} replaced by the mean of the column"
    headings = ("columns", *[""] * len(types))
    lines = [
        (heading, f"{kind}: {_list_columns(names)}")
        for heading, (kind, names) in zip(headings, types.items(), strict=False)
    ]
    lines += [("", with_options(note)) for note in plan.notes]
    for column, count in filled:
        cells = f"{quote_column(column.name)}: {plural(count, 'missing number')}"
        lines.append(("", f"{cells} replaced by the column's mean, {column.mean:g}"))
    if others:
        lines.append(("left out", _list_columns(others)))
    labels = target.spellings
    listed = f"{labels[1]} against {labels[0]}" if len(labels) == 2 else join_words(labels)
    lines.append(("labels", f"{quote_column(target.column)}: {listed}"))
    why = ""
    if rows < total:
        numbers = [f"{row:,}" for row in without]
        more = total - rows - len(numbers)
        numbers += [f"{more:,} more"] if more else []
        listed = join_words(numbers, most=LISTED_ROWS + 1)
        why = f"; left out because a number or the label is missing: {listed}"
    lines.append(("rows", which + why))
    about = {
        "rows": rows,
        "rows_left_out": total - rows,
        "first_rows_left_out": without,
        "missing": plan.encoding.missing,
        "filled": [{"name": c.name, "cells": count, "mean": c.mean} for c, count in filled],
        "columns": [
            {"name": c.name, "kind": c.kind, "features": len(c.features)}
            | ({"values": list(c.values)} if isinstance(c, Category | Words) else {})
            for c in columns
        ],
        "columns_left_out": others,
        "target": {key: value for key, value in target.to_json().items() if key != "others"},
        "notes": [with_options(note) for note in plan.notes],
    }
    return phrase, lines, about


def _count_rows(data: Data) -> tuple[int, int, list[int], list[tuple[Number, int]]]:
    """Count the rows of a file, and the missing values replaced by column means.

    Returns the number of rows that a proof is about, the number of all rows, the first rows that
    are left out (counted from 1), and the columns with replaced numbers.
    """
    encoding = data.plan.encoding
    counts = {
        c: 0 for c in encoding.columns if isinstance(c, Number) and encoding.missing == "mean"
    }
    rows, total, without = 0, 0, list[int]()
    for table, kept in data.row_batches():
        left = np.setdiff1d(np.arange(table.num_rows), kept)
        without += (total + 1 + left[: LISTED_ROWS - len(without)]).tolist()
        for column in counts:
            counts[column] += int(np.isnan(column.encode(table.column(column.name))).sum())
        rows, total = rows + len(kept), total + table.num_rows
    filled = [(column, count) for column, count in counts.items() if count]
    for column, count in filled:
        if count == total:
            raise PlanMismatchError(f"{quote_column(column.name)} has no numbers.")
    return rows, total, without, filled


def _group_by_type(columns: Sequence[Column]) -> dict[str, list[str]]:
    """Group column names by a phrase for their type, such as "numbers"."""
    types: dict[str, list[str]] = {}
    for column in columns:
        count = len(column.features)
        kind = {
            Category: f"category of {plural(count, 'value')}",
            Words: f"counts of {plural(count, 'word')}",
            Entries: f"{plural(count, 'number')} by index",
            Flag: "true or false",
        }.get(type(column), "numbers")
        types.setdefault(kind, []).append(column.name)
    return types


def _list_columns(names: list[str]) -> str:
    return join_words(
        [n if n.startswith("column ") else f'"{shorten(n)}"' for n in names], most=LISTED_COLUMNS
    )
