"""`rosenblatt verify`: check a proof against a file, with the exact checker and nothing else."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import click

from rosenblatt.cli import VERBS
from rosenblatt.cli.about import About
from rosenblatt.cli.console import Voice
from rosenblatt.cli.options import (
    Reading,
    examples,
    json_option,
    reading_options,
    too_large,
)
from rosenblatt.errors import UsageError, column_called
from rosenblatt.evidence.proof import Proof, ProofError
from rosenblatt.evidence.separationproof import SeparationProof
from rosenblatt.files import keep_apart
from rosenblatt.model import plan_and_proof
from rosenblatt.read import Source
from rosenblatt.read.agree import DisagreeError, agreed, wishes_of
from rosenblatt.read.data import names_in, read_data, read_in_passes
from rosenblatt.read.plan import Plan, Wishes, find_column
from rosenblatt.read.regression import read_regression_as
from rosenblatt.words import claim_words, counted, listed


@click.command(
    short_help=VERBS["verify"],
    epilog=examples(
        "rosenblatt verify proof.json credit.csv",
        "rosenblatt verify proof.json credit.csv --json",
    ),
)
@click.argument("proof", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@reading_options
@json_option
def verify(proof: str, data: str, reading: Reading, as_json: bool) -> int:
    """Check PROOF, a file that `separable --proof` wrote, against DATA in exact arithmetic.

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
            what = _check_examples(voice, source, reading, plan, claimed, said)
    except (ProofError, DisagreeError) as wrong:
        voice.step("refuted", f"the proof of “{claim}” does not hold: {wrong}")
        voice.result({**said, "holds": False, "reason": str(wrong), "sentence": None})
        return 1
    sentence = f"“{claim}” holds for {what}, in exact arithmetic"
    voice.step("verified", sentence)
    voice.result({**said, "holds": True, "reason": None, "sentence": sentence})
    return 0


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
    about.tell(voice)
    said |= about.to_json()
    with voice.patience("checking the proof"):
        claimed.check_examples(found.blocks)
    return f"{about.sentence}: {claim_words(claimed.claim)}"


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
    except ValueError as wrong:
        raise ProofError(str(wrong)) from None
    return source.name


def _asked(voice: Voice, reading: Reading, plan: Plan | None, source: Source) -> Reading:
    """How to read the data: as the plan that is with the proof says, else as the person says."""
    if plan is None:
        return reading
    names, target = names_in(source, reading.layout), reading.wishes.target
    if target is not None and find_column(names, target, "--target") != plan.answers.column:
        raise UsageError(
            f"--target {target}: the proof is about the answers in "
            f"{column_called(plan.answers.column)}."
        )
    if replace(reading.wishes, target=None) != Wishes():
        voice.note("the columns are taken as the proof says, whatever the options say.")
    return replace(reading, wishes=wishes_of(plan, names, source))
