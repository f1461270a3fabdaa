"""`rosenblatt verify`: check a proof against a file in exact arithmetic."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import click
import numpy as np

from rosenblatt.cli.console import Console, with_options
from rosenblatt.cli.options import (
    Reading,
    command,
    json_option,
    needs_passes,
    reading_options,
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
from rosenblatt.read.plan import (
    ColumnOptions,
    Plan,
    PlanMismatchError,
    check_plan,
    find_column,
    options_to_verify,
)
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
    help="Repeat the enumeration of all cells if the proof rests on one.",
)
@reading_options
@json_option
def verify(proof: str, data: str, again: bool, reading: Reading, as_json: bool) -> int:
    """Check PROOF against DATA in exact arithmetic.

    PROOF is a file that --proof of `learn`, `separable` or `separation` wrote, or one with the
    text of `proof.to_json()`. The types of the columns are those recorded in PROOF, which are
    first compared with DATA. The output names the rows and columns that the claim is about. The
    exit code is 0 if the proof holds and 1 if it does not.
    """
    console = Console(as_json)
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
                    f"{proof}: “{claim}” rests on an enumeration of all cells, which has to be "
                    "repeated to check it. Give --again."
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
    """Check a proof about a classifier; return a description of the data."""
    reading = _read_as_planned(console, reading, plan, source)
    settle = None if plan is None else functools.partial(check_plan, plan)
    in_passes = needs_passes(console, source, reading.layout, "checking")
    read = read_in_passes if in_passes else read_data
    found = read(source, reading.layout, reading.columns, settle)
    about = About.of(found)
    for what, text in about.lines():
        console.step(what, text)
    console.step("proof", claimed.size)
    result |= {**about.to_json(), "size": claimed.size}
    with console.progress("checking the proof"):
        try:
            claimed.check_examples(found.blocks, again=True)
        except ProofError as wrong:
            raise ProofError(wrong.describe(found.row_names(wrong.rows))) from None
    return f"{about.sentence}: {describe_claim(claimed.claim, many=bool(claimed.labels))}"


def _check_regression(
    console: Console,
    source: Source,
    reading: Reading,
    plan: Any,
    claimed: SeparationProof,
    result: dict[str, Any],
) -> str:
    """Check a proof about a regression; return the name of the data."""
    found = read_regression_as(source, reading.layout, plan)
    about = str(found.plan)
    about += f"; {join_words(list(found.others))} left out" if found.others else ""
    about += f"; {plural(found.gaps, 'row')} with missing values left out" if found.gaps else ""
    console.step("about", about)
    result |= {"data": source.name, "about": about}
    if found.plan != plan:
        raise ProofError(f"it is about other data: {plan}.")
    try:
        claimed.check(*found.given, found.weights, found.groups)
    except ProofError as wrong:
        raise ProofError(wrong.describe(found.row_names)) from None
    return source.name


def _read_as_planned(
    console: Console, reading: Reading, plan: Plan | None, source: Source
) -> Reading:
    """Replace the column options by those recorded in a proof, if it records any."""
    if plan is None:
        return reading
    names, target = read_column_names(source, reading.layout), reading.columns.target
    if target is not None and find_column(names, target, "target") != plan.target.column:
        raise UsageError(
            with_column("target", target),
            f": the proof is about the labels in {quote_column(plan.target.column)}.",
        )
    if replace(reading.columns, target=None) != ColumnOptions():
        console.note("options for columns are ignored: the proof records the types of its columns.")
    return replace(reading, columns=options_to_verify(plan, names, source))


class Filled(NamedTuple):
    """A column whose missing numbers are replaced by the mean of the column."""

    name: str
    cells: int
    mean: float


@dataclass(frozen=True)
class About:
    """The part of a file that a claim is about: its rows, columns and column types."""

    name: str
    plan: Plan
    names: tuple[str, ...]  # of all columns
    rows: int  # rows that the claim is about
    all_rows: int
    without: tuple[int, ...] = ()  # the first rows that are left out, counted from 1
    filled: tuple[Filled, ...] = ()

    @classmethod
    def of(cls, data: Data) -> About:
        """Describe the rows and columns of data, in one pass over the rows."""
        plan = data.plan
        numbers = [c for c in plan.encoding.columns if isinstance(c, Number)]
        numbers = numbers if plan.encoding.missing == "mean" else []
        counts = dict.fromkeys(numbers, 0)
        rows, start, without = 0, 0, np.empty(0, dtype=np.intp)
        for table, kept in data.row_batches():
            left = np.setdiff1d(np.arange(table.num_rows), kept)
            without = np.append(without, start + left[:LISTED_ROWS] + 1)[:LISTED_ROWS]
            for c in numbers:
                counts[c] += int(np.isnan(c.encode(table.column(c.name))).sum())
            rows, start = rows + len(kept), start + table.num_rows
        filled = tuple(Filled(c.name, count, c.mean) for c, count in counts.items() if count)
        for column in filled:
            if column.cells == start:
                raise PlanMismatchError(f"{quote_column(column.name)} has no numbers.")
        return cls(data.name, plan, tuple(data.names), rows, start, tuple(without.tolist()), filled)

    @property
    def columns_left_out(self) -> list[str]:
        """The columns that are neither features nor the target."""
        used = {column.name for column in self.plan.encoding.columns}
        return [n for n in self.names if n not in used and n != self.plan.target.column]

    @property
    def sentence(self) -> str:
        """A phrase that describes the rows and columns."""
        columns = self.plan.encoding.columns
        many = len(columns) > SENTENCE_COLUMNS
        types = [
            f"{plural(len(names), 'column') if many else _list_columns(names)} ({kind})"
            for kind, names in _group_by_type(columns).items()
        ]
        parts = [f"{self.which_rows} of {self.name} with {join_words(types)}"]
        if self.columns_left_out:
            parts.append(f"without {plural(len(self.columns_left_out), 'other column')}")
        if self.filled:
            cells = plural(sum(column.cells for column in self.filled), "missing number")
            parts.append(f"with {cells} replaced by the mean of the column")
        return ", ".join(parts)

    @property
    def which_rows(self) -> str:
        """A phrase with the number of rows, such as "9 of 10 rows"."""
        if self.rows == self.all_rows:
            return f"all {plural(self.rows, 'row')}" if self.rows > 1 else "its one row"
        return f"{self.rows:,} of {plural(self.all_rows, 'row')}"

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the text of each line to print."""
        target = self.plan.target
        first = "columns"
        for kind, names in _group_by_type(self.plan.encoding.columns).items():
            yield first, f"{kind}: {_list_columns(names)}"
            first = ""
        for note in self.plan.notes:
            yield "", with_options(note)
        for column in self.filled:
            cells = plural(column.cells, "missing number")
            mean = f"the column's mean, {column.mean:g}"
            yield "", f"{quote_column(column.name)}: {cells} replaced by {mean}"
        if self.columns_left_out:
            yield "left out", _list_columns(self.columns_left_out)
        labels = target.spellings
        listed = f"{labels[1]} against {labels[0]}" if len(labels) == 2 else join_words(labels)
        yield "labels", f"{quote_column(target.column)}: {listed}"
        why = ""
        if self.rows < self.all_rows:
            numbers = [f"{row:,}" for row in self.without]
            more = self.all_rows - self.rows - len(numbers)
            numbers += [f"{more:,} more"] if more else []
            without = join_words(numbers, most=LISTED_ROWS + 1)
            why = f"; left out because a number or the label is missing: {without}"
        yield "rows", f"{self.which_rows}{why}"

    def to_json(self) -> dict[str, Any]:
        """Return rows, columns and labels as JSON."""
        target = self.plan.target.to_json()
        return {
            "rows": self.rows,
            "rows_left_out": self.all_rows - self.rows,
            "first_rows_left_out": list(self.without),
            "missing": self.plan.encoding.missing,
            "filled": [column._asdict() for column in self.filled],
            "columns": [
                {"name": c.name, "kind": c.kind, "features": len(c.features)}
                | ({"values": list(c.values)} if isinstance(c, Category | Words) else {})
                for c in self.plan.encoding.columns
            ],
            "columns_left_out": self.columns_left_out,
            "target": {key: value for key, value in target.items() if key != "others"},
            "notes": [with_options(note) for note in self.plan.notes],
        }


def _group_by_type(columns: Sequence[Column]) -> dict[str, list[str]]:
    """Group the names of columns by a description of their type."""
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
