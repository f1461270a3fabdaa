"""`rosenblatt verify`: check a proof against a file, with the exact checker and nothing else."""

from __future__ import annotations

import functools
from dataclasses import replace

import click

from rosenblatt.blocks import Blocks
from rosenblatt.cli import VERBS
from rosenblatt.cli.about import About
from rosenblatt.cli.console import Voice
from rosenblatt.cli.options import Reading, examples, json_option, reading_options
from rosenblatt.cli.passing import too_large
from rosenblatt.cli.separation import begins_as_separation, verify_separation
from rosenblatt.errors import UsageError, column_called
from rosenblatt.evidence.proof import ProofError
from rosenblatt.files import keep_apart
from rosenblatt.model import plan_and_proof
from rosenblatt.read import Source
from rosenblatt.read.agree import DisagreeError, agreed, wishes_of
from rosenblatt.read.data import names_in, read_data, read_in_passes
from rosenblatt.read.plan import Plan, Wishes, find_column
from rosenblatt.words import claim_words


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
    if begins_as_separation(proof):
        return verify_separation(voice, proof, Source.find(data), reading)
    plan, claimed = plan_and_proof(proof)
    source = Source.find(data)
    said = {"proof": proof, "data": data, "claim": claimed.claim}
    try:
        about, rows = _opened(voice, source, _asked(voice, reading, plan, source), plan)
        about.tell(voice)
        said = {**said, **about.to_json()}
        with voice.patience("checking the proof"):
            claimed.check_examples(rows)
    except (ProofError, DisagreeError) as wrong:
        voice.step("refuted", f"the proof of “{claimed.claim}” does not hold: {wrong}")
        voice.result({**said, "holds": False, "reason": str(wrong), "sentence": None})
        return 1
    sentence = (
        f"“{claimed.claim}” holds for {about.sentence}: "
        f"{claim_words(claimed.claim)}, in exact arithmetic"
    )
    voice.step("verified", sentence)
    voice.result({**said, "holds": True, "reason": None, "sentence": sentence})
    return 0


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


def _opened(
    voice: Voice, source: Source, reading: Reading, plan: Plan | None
) -> tuple[About, Blocks]:
    """What the proof is checked on."""
    settle = None if plan is None else functools.partial(agreed, plan)
    if too_large(voice, source, reading, "verify"):
        found = read_in_passes(source, reading.layout, reading.wishes, settle)
    else:
        found = read_data(source, reading.layout, reading.wishes, settle)
    return About.of(found), found.blocks
