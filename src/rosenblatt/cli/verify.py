"""`rosenblatt verify`: check a proof against a file, with the exact checker and nothing else."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import click
import numpy as np

from rosenblatt.cli.console import Voice
from rosenblatt.cli.options import (
    Reading,
    json_option,
    reading_options,
    too_large,
    verb,
)
from rosenblatt.cli.spelling import with_options
from rosenblatt.errors import UsageError
from rosenblatt.evidence.parts import ProofError
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separationproof import SeparationProof
from rosenblatt.files import keep_apart
from rosenblatt.messages import with_column
from rosenblatt.model import plan_and_proof
from rosenblatt.read import Source
from rosenblatt.read.agree import DisagreeError, agreed, wishes_of
from rosenblatt.read.columns import Category, Column, Entries, Flag, Number, Words
from rosenblatt.read.data import Data, names_in, read_data, read_in_passes
from rosenblatt.read.plan import Plan, Wishes, find_column
from rosenblatt.read.regression import read_regression_as
from rosenblatt.words import claim_words, column_called, counted, listed, shortened

NAMED = 10  # rows that are left out, by their numbers
FEW = 6  # columns that a sentence names one by one
MOST = 100  # columns that a line names; --json has all


@verb(
    "rosenblatt verify proof.json credit.csv",
    "rosenblatt verify proof.json credit.csv --again --json",
)
@click.argument("proof", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@click.option(
    "--again",
    is_flag=True,
    help="Where a walk through all cells showed the claim, walk through them again.",
)
@reading_options
@json_option
def verify(proof: str, data: str, again: bool, reading: Reading, as_json: bool) -> int:
    """Check PROOF, which `learn`, `separable` or `separation --proof` wrote, against DATA, exactly.

    Also the text of `proof.to_json()` alone.

    The columns are taken as the file with the proof says, once that is found to be true of the
    data, and it is said which columns and rows the claim is about. Ends with exit code 0 if the
    proof holds and 1 if it does not.
    """
    voice = Voice(as_json)
    keep_apart({"the proof": proof, "the data": data}, {})
    plan, claimed = plan_and_proof(proof)
    source, claim = Source.find(data), claimed.claim
    said: dict[str, Any] = {"proof": proof, "data": data, "claim": claim}
    try:
        if isinstance(claimed, SeparationProof):
            what = _check_regression(voice, source, reading, plan, claimed, said)
        else:
            _refuse_what_no_file_settles(proof, claimed, again)
            what = _check_examples(voice, source, reading, plan, claimed, said)
    except (ProofError, DisagreeError) as wrong:
        voice.step("refuted", f"the proof of “{claim}” does not hold: {wrong}")
        voice.result({**said, "holds": False, "reason": str(wrong), "sentence": None})
        return 1
    sentence = f"“{claim}” holds for {what}, in exact arithmetic"
    voice.step("verified", sentence)
    voice.result({**said, "holds": True, "reason": None, "sentence": sentence})
    return 0


def _refuse_what_no_file_settles(name: str, claimed: Proof, again: bool) -> None:
    """A proof that is not looked at is not refuted."""
    if claimed.prices:
        raise UsageError(
            f"{name} is about sample weights, which no column is taken as. Check it in Python with "
            "proof.check(X, y, sample_weight)."
        )
    if claimed.walk and not again:
        raise UsageError(
            f"{name} says that a walk through all cells showed “{claimed.claim}”: only another "
            "walk confirms it. Give --again."
        )


def _check_examples(
    voice: Voice, source: Source, reading: Reading, plan: Any, claimed: Proof, said: dict[str, Any]
) -> str:
    """Check a proof about examples; what it is said to hold for."""
    reading = _asked(voice, reading, plan, source)
    settle = None if plan is None else functools.partial(agreed, plan)
    in_passes = too_large(voice, source, reading.layout, "checking")
    read = read_in_passes if in_passes else read_data
    found = read(source, reading.layout, reading.wishes, settle)
    about = About.of(found)
    for what, text in about.lines():
        voice.step(what, text)
    voice.step("proof", claimed.size)
    said |= {**about.to_json(), "size": claimed.size}
    with voice.patience("checking the proof"):
        try:
            claimed.check_examples(found.blocks, again=True)
        except ProofError as wrong:
            raise ProofError(wrong.worded(found.row_names(wrong.rows))) from None
    return f"{about.sentence}: {claim_words(claimed.claim, many=bool(claimed.labels))}"


def _check_regression(
    voice: Voice,
    source: Source,
    reading: Reading,
    plan: Any,
    claimed: SeparationProof,
    said: dict[str, Any],
) -> str:
    """Check a proof about a regression; what it is said to hold for."""
    found = read_regression_as(source, reading.layout, plan)
    about = str(found.plan)
    about += f"; {listed(list(found.others))} left out" if found.others else ""
    about += f"; {counted(found.gaps, 'row')} with gaps left out" if found.gaps else ""
    voice.step("about", about)
    said |= {"data": source.name, "about": about}
    if found.plan != plan:
        raise ProofError(f"it is about {counted(plan.rows, 'row')}.")
    try:
        claimed.check(found.frame, found.answers, found.weights)
    except ProofError as wrong:
        raise ProofError(wrong.worded(found.row_names)) from None
    return source.name


def _asked(voice: Voice, reading: Reading, plan: Plan | None, source: Source) -> Reading:
    """How to read the data: as the plan that is with the proof says, else as the person says."""
    if plan is None:
        return reading
    names, target = names_in(source, reading.layout), reading.wishes.target
    if target is not None and find_column(names, target, "target") != plan.answers.column:
        raise UsageError(
            with_column("target", target),
            f": the proof is about the labels in {column_called(plan.answers.column)}.",
        )
    if replace(reading.wishes, target=None) != Wishes():
        voice.note("the columns are taken as the proof says, whatever the options say.")
    return replace(reading, wishes=wishes_of(plan, names, source))


class Filled(NamedTuple):
    """A column, how many of its numbers are missing, and what is taken for them."""

    name: str
    cells: int
    mean: float


@dataclass(frozen=True)
class About:
    """The part of a file that a claim is about: which columns, taken as what, and which rows."""

    name: str
    plan: Plan
    names: tuple[str, ...]  # of all columns
    rows: int  # taken, of …
    all_rows: int
    without: tuple[int, ...] = ()  # the first rows that are left out, counted from 1
    filled: tuple[Filled, ...] = ()  # columns in which the mean stands for missing numbers

    @classmethod
    def of(cls, data: Data) -> About:
        """The part of a file that was taken; one that is read in passes is gone through once."""
        plan = data.plan
        numbers = [c for c in plan.encoding.columns if isinstance(c, Number)]
        numbers = numbers if plan.encoding.missing == "mean" else []
        counts = dict.fromkeys(numbers, 0)
        rows, start, without = 0, 0, np.empty(0, dtype=np.intp)
        for table, kept in data.taken():
            left = np.setdiff1d(np.arange(table.num_rows), kept)
            without = np.append(without, start + left[:NAMED] + 1)[:NAMED]
            for c in numbers:
                counts[c] += int(np.isnan(c.encode(table.column(c.name))).sum())
            rows, start = rows + len(kept), start + table.num_rows
        filled = tuple(Filled(c.name, count, c.mean) for c, count in counts.items() if count)
        for column in filled:
            if column.cells == start:
                raise DisagreeError(f"{column_called(column.name)} has no numbers.")
        return cls(data.name, plan, tuple(data.names), rows, start, tuple(without.tolist()), filled)

    @property
    def columns_left_out(self) -> list[str]:
        """The columns that are neither features nor the answers."""
        used = {column.name for column in self.plan.encoding.columns}
        return [n for n in self.names if n not in used and n != self.plan.answers.column]

    @property
    def columns(self) -> str:
        """The columns and what they are taken as, in a sentence: counted where they are many."""
        kinds = _by_kind(self.plan.encoding.columns)
        if len(self.plan.encoding.columns) > FEW:
            return listed(
                [f"{counted(len(some), 'column')} ({kind})" for kind, some in kinds.items()]
            )
        return listed([f"{_listed(some)} ({kind})" for kind, some in kinds.items()])

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        parts = [f"{self.which_rows} of {self.name} with {self.columns}"]
        if self.columns_left_out:
            parts.append(f"without {counted(len(self.columns_left_out), 'other column')}")
        if self.filled:
            cells = counted(sum(column.cells for column in self.filled), "missing number")
            parts.append(f"the mean of its column for {cells}")
        return ", ".join(parts)

    @property
    def which_rows(self) -> str:
        """The rows in a sentence."""
        if self.rows == self.all_rows:
            return f"all {counted(self.rows, 'row')}" if self.rows > 1 else "its one row"
        return f"{self.rows:,} of {counted(self.all_rows, 'row')}"

    def lines(self) -> Iterator[tuple[str, str]]:
        """All of it, a line each."""
        answers = self.plan.answers
        first = "columns"
        for kind, some in _by_kind(self.plan.encoding.columns).items():
            yield first, f"{kind}: {_listed(some)}"
            first = ""
        for note in self.plan.notes:
            yield "", with_options(note)
        for column in self.filled:
            missing = counted(column.cells, "missing number")
            yield "", f"{column_called(column.name)}: {column.mean:g}, its mean, for {missing}"
        if self.columns_left_out:
            yield "left out", _listed(self.columns_left_out)
        names = answers.spellings
        told = f"{names[1]} against {names[0]}" if len(names) == 2 else listed(names)
        yield "answers", f"{column_called(answers.column)}: {told}"
        why = ""
        if self.rows < self.all_rows:
            numbers = [f"{row:,}" for row in self.without]
            more = self.all_rows - self.rows - len(numbers)
            numbers += [f"{more:,} more"] if more else []
            without = listed(numbers, most=NAMED + 1)
            why = f"; left out because a number or the answer is missing: {without}"
        yield "rows", f"{self.which_rows}{why}"

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON."""
        answers = self.plan.answers.to_json()
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
            "answers": {key: value for key, value in answers.items() if key != "others"},
            "notes": [with_options(note) for note in self.plan.notes],
        }


def _by_kind(columns: Sequence[Column]) -> dict[str, list[str]]:
    """The names of columns that are taken as the same, each kind where it comes first."""
    kinds: dict[str, list[str]] = {}
    for column in columns:
        kinds.setdefault(_taken_as(column), []).append(column.name)
    return kinds


def _taken_as(column: Column) -> str:
    count = len(column.features)
    if isinstance(column, Category):
        return f"category of {counted(count, 'value')}"
    if isinstance(column, Words):
        return f"counts of {counted(count, 'word')}"
    if isinstance(column, Entries):
        return f"{counted(count, 'number')} by index"
    return "true or false" if isinstance(column, Flag) else "numbers"


def _listed(names: list[str]) -> str:
    return listed([n if n.startswith("column ") else f'"{shortened(n)}"' for n in names], most=MOST)
