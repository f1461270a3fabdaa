"""`rosenblatt learn`: from a file to a verdict, a line, and a model that can be read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.table import Table
from rich.text import Text

import rosenblatt.interrupts as interrupts
from rosenblatt.accuracy import Testing
from rosenblatt.algorithms import ORDERS
from rosenblatt.cli import INTERRUPTED
from rosenblatt.cli.console import Voice, bar, bare_table
from rosenblatt.cli.options import (
    NumberRange,
    Reading,
    convert_option,
    json_option,
    proof_option,
    reading_options,
    too_large,
    verb,
    write_proof,
)
from rosenblatt.cli.spelling import as_argument, with_options
from rosenblatt.errors import UsageError
from rosenblatt.files import keep_apart, keep_others
from rosenblatt.messages import Message
from rosenblatt.model import MARK
from rosenblatt.read import Source
from rosenblatt.read.convert import opened
from rosenblatt.read.credit import credit
from rosenblatt.read.data import Data, of_table, read_data
from rosenblatt.scaling import Strength, thresholds_of
from rosenblatt.solve import (
    SECONDS,
    Result,
    refuse_passes,
    solve,
)
from rosenblatt.strategy import ALGORITHMS, How
from rosenblatt.words import counted, listed, rule_sentence, shown

BUILT_IN = "the built-in credit approval"
BAR = 24  # characters of the longest bar


@verb(
    "rosenblatt learn credit.csv --target approved",
    "rosenblatt learn credit.csv --cv 5 --report",
)
@click.argument("data", required=False, type=click.Path(allow_dash=True))
@click.option(
    "--algorithm",
    type=click.Choice(ALGORITHMS),
    default="auto",
    show_default=True,
    help="auto: PLA if a line is right everywhere; else, for two labels, the pocket and a search, "
    "for more, the better of pocket and average. average: the mean of PLA's weights.",
)
@click.option(
    "--order",
    type=click.Choice(ORDERS),
    default="cycle",
    show_default=True,
    help="In which PLA visits the examples.",
)
@click.option("--scale/--no-scale", default=True, help="Bring columns to one scale to learn.")
@click.option(
    "--time-limit",
    type=NumberRange(min=0, min_open=True),
    default=SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="For all that comes after reading, but not compiling; the best so far is kept.",
)
@click.option(
    "--test-size",
    type=NumberRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="The share of rows held out to measure accuracy; 0 for none.",
)
@click.option("--test", type=click.Path(), metavar="FILE", help="Measure it on this file.")
@click.option("--cv", type=click.IntRange(min=2), metavar="K", help="Measure it in K folds.")
@click.option("--noise", type=NumberRange(0, 1), help="Turn built-in answers around.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--top",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="How many weights to show.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    default="model.json",
    show_default=True,
    help="Where the model goes; without it, only a model.json of this program is replaced.",
)
@click.option("--report", is_flag=True, help="Write report.html too, beside the model.")
@proof_option
@click.option("--stream", is_flag=True, help="In passes over the file, even if it fits in memory.")
@click.option(
    "--cycles",
    type=click.IntRange(min=1),
    metavar="N",
    help="Maximum number of epochs, in memory as in passes over a file (default: 1000, average "
    "100). The pocket makes at most 1000 corrections, whichever ends first.",
)
@convert_option
@reading_options
@json_option
def learn(data: str | None, reading: Reading, as_json: bool, **given: Any) -> int:
    """Learn from DATA: say whether a line answers every row, find it, write a model.

    Three or more labels are learnt together, with weights for each; --positive learns one of them
    against the rest.

    DATA is CSV, Parquet, Arrow, JSON lines, LIBSVM or .npy, also compressed; - is standard
    input. What does not fit in half of the free memory is learnt from in passes, in file order.
    Without DATA, built-in examples of credit approval are used. In messages rows are counted
    from 1, a header not counted.

    The model is learnt from all rows; accuracy is measured on rows held out from a second
    model that is learnt in the same way from the others. The verdict, the model and the test
    share the time limit, and what it cut short is said. The proof is that no line makes fewer
    mistakes than the bound, or where a line answers every row, of that.
    """
    in_passes, convert, noise = (given.pop(key) for key in ("stream", "convert", "noise"))
    keys = ("algorithm", "order", "scale", "time_limit", "seed", "cycles")
    how = How(*(given.pop(key) for key in keys))
    if _is_default("time_limit"):
        how = replace(how, time_limit=None)
    share, file, folds = (given.pop(key) for key in ("test_size", "test", "cv"))
    testing = Testing(None if _is_default("test_size") else share, file, folds)
    page = str(Path(given["output"]).parent / "report.html") if given["report"] else None
    written = {"model": given["output"], "report": page, "proof": given["proof"]}
    voice = Voice(as_json)
    _check_files({**reading.files(data), "the file to test on": file}, written)
    if data is None and (in_passes or given["proof"]):
        raise UsageError(f"{'--stream' if in_passes else '--proof'} is for a file; give DATA.")
    source = None if data is None else Source.find(data)
    wishes = (reading.layout, reading.wishes)
    if source is not None and (in_passes or too_large(voice, source, reading.layout, "learning")):
        refuse_passes(how, testing, given["report"])
        found = opened(source, *wishes, voice, convert=convert)
    else:
        with voice.patience(f"reading {data or BUILT_IN}"):
            found = _read(source, noise, reading, how.seed)
    voice.step("read", str(found))
    for note in found.notes:
        voice.note(Message(note, "."))
    result = solve(found, wishes, how, testing, voice)
    written["proof"] = _write(voice, result, written, str(data))
    _show(voice, result, given["top"])
    if not result.held:
        del written["report"]
    not_tested = {"not_tested": with_options(result.untested)} if result.untested else {}
    voice.result({**result.to_json(), **not_tested, **written})
    return INTERRUPTED if result.outcome.interrupted or result.untested == "interrupted" else 0


def _is_default(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is ParameterSource.DEFAULT


def _check_files(reads: dict[str, str | None], written: dict[str, str | None]) -> None:
    """Refuse to write over what is read, and under names nobody gave over what is not ours."""
    model, page, proof = written.values()
    keep_apart(reads, {"--output": model, "--report": page, "--proof": proof})
    if model is not None and _is_default("output"):
        keep_others(model, MARK, "a model", "give -o FILE for another name")
    if page is not None:
        from rosenblatt.show.report import GENERATOR

        advice = "move it, or give -o FOLDER/model.json to have both in another folder"
        keep_others(page, GENERATOR.encode(), "a report", advice)


def _write(voice: Voice, result: Result, to: dict[str, Any], data: str) -> str | None:
    """Write the model, the report, the proof; the file of the proof, if there is one."""
    model, page, proof = to.values()
    interrupts.finish()
    result.save(model)
    voice.step(
        "wrote", f"{model}: answer new rows with rosenblatt predict {as_argument(model)} FILE"
    )
    if page is not None:
        result.report(page)
        voice.step("wrote", page)
    return write_proof(voice, proof, data, result.data.plan, result.proof)


def _read(source: Source | None, noise: float | None, reading: Reading, seed: int) -> Data:
    if source is not None:
        if noise is not None:
            raise UsageError("--noise is for the built-in examples; DATA was given.")
        return read_data(source, reading.layout, reading.wishes)
    wishes = replace(reading.wishes, target=reading.wishes.target or "approved")
    return of_table(credit(noise=noise or 0.0, seed=seed), wishes, BUILT_IN)


def _show(voice: Voice, result: Result, most: int) -> None:
    """The strongest weights, about as many in all as were asked for, and what they answer."""
    if not most:
        return
    ranked, labels, many = result.strengths(), result.labels, result.many
    size = len(ranked) // len(labels) if many else len(ranked)
    few = min(size, max(1, most // len(labels)) if many else most)
    firsts = range(0, size * min(most, len(labels)) if many else 1, max(size, 1))
    largest = max((abs(s.strength) for s in ranked), default=0.0) or 1.0
    voice.show()
    voice.show(weights_table([ranked[first : first + few] for first in firsts], labels, largest))
    if many and len(labels) > most:
        voice.show(f"… and {counted(len(labels) - most, 'label')} more in the model.")
    elif few < size:
        each = " of each label" if many else ""
        voice.show(f"… and {counted(size - few, 'feature')} more{each} in the model.")
    voice.show(_rule(result))


def _rule(result: Result) -> str:
    if not result.many:
        return rule_sentence(result.labels[1], result.hypothesis.threshold)
    thresholds = zip(result.labels, thresholds_of(result.hypothesis), strict=True)
    told = listed([f"{label} {threshold:.6g}" for label, threshold in thresholds], most=12)
    sums = "The answer is the label whose sum of weight × value is farthest above its threshold"
    return f"{sums}: {told}."


def weights_table(groups: list[list[Strength]], labels: list[str], largest: float) -> Table:
    """Features with their weights, those of no and yes or of each label, and a bar for each."""
    many = len(labels) > 2
    headings = ("label", "feature", "weight") if many else ("feature", "weight", "for")
    moves = f"a typical change moves {'its' if many else 'the'} score by"
    table = bare_table(*headings, moves, widest=36)
    for label, group in zip(labels, groups, strict=False):
        for k, s in enumerate(group):
            cells = [Text(shown(s.feature)), Text(f"{s.weight:.6g}")]
            if many:
                cells.insert(0, Text("" if k else shown(label)))
            else:
                cells.append(Text(shown(labels[int(s.weight > 0)]) if s.weight else ""))
            drawn = Text(bar(abs(s.strength) / largest, BAR), "green" if s.weight > 0 else "red")
            table.add_row(*cells, drawn.append(f" {s.strength:+.3g}", style="dim"))
    return table
