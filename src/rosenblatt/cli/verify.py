"""`rosenblatt verify`: check a proof against a file, with the exact checker and nothing else."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable

import click

from rosenblatt.blocks import InOrder
from rosenblatt.cli import VERBS
from rosenblatt.cli.options import Reading, examples, json_option, reading_options
from rosenblatt.cli.passing import too_large
from rosenblatt.cli.say import Voice
from rosenblatt.errors import DataError
from rosenblatt.evidence.checking import check_blocks
from rosenblatt.evidence.proof import Proof, ProofError
from rosenblatt.examples import Examples
from rosenblatt.files import keep_apart
from rosenblatt.modelfile import plan_and_proof
from rosenblatt.read import Source
from rosenblatt.read.batches import FileBatches
from rosenblatt.read.data import read_as, read_data
from rosenblatt.read.guess import Plan


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

    Ends with exit code 0 if the proof holds and 1 if it does not.
    """
    voice = Voice(as_json)
    keep_apart({"the proof": proof, "the data": data}, {})
    plan, content = plan_and_proof(proof)
    try:
        claimed = Proof.from_json(json.dumps(content))
    except ProofError as wrong:
        raise DataError(f"{proof} is not a proof: {str(wrong).rstrip('.')}.") from None
    source = Source.find(data)
    check: Callable[[], bool]
    if too_large(voice, source, reading, "verify"):
        batches = FileBatches.of(source, reading.layout, reading.wishes, plan)
        check = functools.partial(check_blocks, claimed, InOrder(batches))
    else:
        check = functools.partial(claimed.check_examples, _read(source, reading, plan))
    try:
        with voice.patience("checking the proof"):
            check()
    except ProofError as wrong:
        voice.step("refuted", f"the proof of “{claimed.claim}” does not hold: {wrong}")
        voice.result(
            {
                "proof": proof,
                "data": data,
                "claim": claimed.claim,
                "holds": False,
                "reason": str(wrong),
            }
        )
        return 1
    voice.step("verified", f"“{claimed.claim}” holds for {source.name}, in exact arithmetic")
    voice.result(
        {"proof": proof, "data": data, "claim": claimed.claim, "holds": True, "reason": None}
    )
    return 0


def _read(source: Source, reading: Reading, plan: Plan | None) -> Examples:
    if plan is None:
        return read_data(source, reading.layout, reading.wishes).examples
    return read_as(source, reading.layout, plan).examples
