"""`rosenblatt learn`: train a classifier on a file, test it, and write a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.text import Text

import rosenblatt.clock as clock
from rosenblatt.accuracy import EvaluationOptions
from rosenblatt.cli import INTERRUPTED, as_argument
from rosenblatt.cli.shared import (
    Console,
    NumberRange,
    Reading,
    bar,
    command,
    convert_option,
    make_table,
    needs_passes,
    order_option,
    proof_option,
    reading_options,
    with_options,
    write_proof,
)
from rosenblatt.errors import Message, UsageError
from rosenblatt.files import check_overwrite, keep_apart
from rosenblatt.model import MARK
from rosenblatt.read import Source
from rosenblatt.read.data import data_from_table, open_data, read_data
from rosenblatt.scaling import center_thresholds, rank_features
from rosenblatt.solve import TIME_LIMIT, Result, check_passes, solve
from rosenblatt.strategy import ALGORITHMS, TrainingOptions
from rosenblatt.text import describe_rule, join_words, plural, sanitize

BUILT_IN = "the built-in credit approval"
BAR_WIDTH = 24  # characters of the longest bar


@command(
    "rosenblatt learn credit.csv --target approved",
    "rosenblatt learn credit.csv --cv 5 --report",
)
@click.argument("data", required=False, type=click.Path(allow_dash=True))
@click.option(
    "--algorithm",
    type=click.Choice(ALGORITHMS),
    default="auto",
    help="Training algorithm. pla: the perceptron learning algorithm; pocket: PLA that keeps its "
    "best weights; fewest: a search for the fewest mistakes; average: the mean of PLA's weights; "
    "auto: pla if the data are separable, otherwise pocket and then fewest, or with more than two "
    "labels the better of pocket and average.",
)
@order_option("cycle")
@click.option(
    "--scale/--no-scale",
    default=True,
    show_default=False,
    help="Whether to scale the columns for training.",
)
@click.option(
    "--time-limit",
    type=NumberRange(min=0, min_open=True),
    default=TIME_LIMIT,
    metavar="SECONDS",
    help="Time budget in seconds, excluding reading and compilation. The best result so far is "
    "kept.",
)
@click.option(
    "--test-size",
    type=NumberRange(0, 1, max_open=True),
    default=0.2,
    metavar="SHARE",
    help="Share of the rows held out to measure accuracy; 0 skips the test.",
)
@click.option("--test", type=click.Path(), metavar="FILE", help="Measure accuracy on this file.")
@click.option(
    "--cv",
    type=click.IntRange(2),
    metavar="K",
    help="Measure accuracy by K-fold cross-validation.",
)
@click.option(
    "--noise",
    type=NumberRange(0, 1),
    metavar="P",
    help="Flip each label of the built-in data set with probability P.",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="Random seed.")
@click.option(
    "--top",
    type=click.IntRange(0),
    default=20,
    metavar="N",
    help="Number of weights to print.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    default="model.json",
    metavar="FILE",
    help="Model file to write. Without this option, a model.json that rosenblatt did not write is "
    "never replaced.",
)
@click.option("--report", is_flag=True, help="Also write report.html in the model's folder.")
@proof_option
@click.option(
    "--stream", is_flag=True, help="Train in passes over the file even if it fits in memory."
)
@click.option(
    "--max-iter",
    type=click.IntRange(1),
    metavar="N",
    help="Maximum number of epochs (default: 1000; average: 100). The pocket also stops after "
    "1000 updates.",
)
@convert_option
@reading_options
def learn(data: str | None, as_json: bool, **given: Any) -> int:
    """Train a linear classifier on DATA and write it to a model file.

    Also decides whether DATA is linearly separable, and measures accuracy.

    DATA is a CSV, Parquet, Arrow, JSON lines, LIBSVM or .npy file, compressed or not, or - for
    standard input. Without DATA, a built-in data set of credit approvals is used. A file that
    needs more than half of the free memory is read in passes. Messages count rows from 1 and do
    not count the header.

    Three or more labels are trained jointly, with one weight vector per label. With --positive,
    one label is trained against all others.

    The model is trained on all rows. Accuracy is measured on held-out rows, with a second model
    trained in the same way on the other rows. The time limit covers verdict, training and test;
    the output names any step that it cut short. --proof writes a proof that the data are
    separable, or else that no linear classifier makes fewer mistakes than the lower bound.
    """
    reading = Reading.pop(given)
    in_passes, convert, noise = (given.pop(key) for key in ("stream", "convert", "noise"))
    is_default = {
        name: click.get_current_context().get_parameter_source(name) is ParameterSource.DEFAULT
        for name in ("time_limit", "test_size", "output")
    }
    keys = ("algorithm", "order", "scale", "time_limit", "seed", "max_iter")
    how = TrainingOptions(*(given.pop(key) for key in keys))
    if is_default["time_limit"]:
        how = replace(how, time_limit=None)
    share, file, folds = (given.pop(key) for key in ("test_size", "test", "cv"))
    testing = EvaluationOptions(None if is_default["test_size"] else share, file, folds)
    model, proof = given["output"], given["proof"]
    report = str(Path(model).parent / "report.html") if given["report"] else None
    console = Console(as_json)
    inputs = {**reading.files(data), "the file to test on": testing.test}
    keep_apart(inputs, {"--output": model, "--report": report, "--proof": proof})
    if is_default["output"]:
        check_overwrite(model, MARK, "a model", "give -o FILE for another name")
    if report is not None:
        from rosenblatt.show.report import GENERATOR

        advice = "move it, or give -o FOLDER/model.json to have both in another folder"
        check_overwrite(report, GENERATOR.encode(), "a report", advice)
    if data is None and (in_passes or proof):
        raise UsageError(f"{'--stream' if in_passes else '--proof'} needs a data file; give DATA.")
    if data is not None and noise is not None:
        raise UsageError("--noise works only with the built-in data set; leave out DATA.")
    options = (reading.layout, reading.columns)
    source = None if data is None else Source.find(data)
    if source is None:
        from rosenblatt.experiments import credit

        columns = replace(reading.columns, target=reading.columns.target or "approved")
        found = data_from_table(credit(noise=noise or 0.0, seed=how.seed), columns, BUILT_IN)
    elif in_passes or needs_passes(console, source, reading.layout, "learning"):
        check_passes(how, testing, given["report"])
        found = open_data(source, *options, console, convert=convert)
    else:
        with console.progress(f"reading {data}"):
            found = read_data(source, *options)
    console.step("read", str(found))
    for note in found.notes:
        console.note(Message(note, "."))
    result = solve(found, options, how, testing, console)
    clock.ignore_interrupts()
    result.save(model)
    use = f"predict new rows with rosenblatt predict {as_argument(model)} FILE"
    console.step("wrote", f"{model}: {use}")
    if report is not None:
        result.report(report)
        console.step("wrote", report)
    proof = write_proof(console, proof, str(data), found.plan, result.proof)
    if as_json:
        not_tested = {"not_tested": with_options(result.not_tested)} if result.not_tested else {}
        written = {"model": model, "report": report, "proof": proof}
        if not result.in_memory:
            del written["report"]
        console.result({**result.to_json(), **not_tested, **written})
    elif given["top"]:
        _show_weights(console, result, given["top"])
    return INTERRUPTED if "interrupted" in (result.outcome.reason, result.not_tested) else 0


def _show_weights(console: Console, result: Result, top: int) -> None:
    """Print the weights with the largest effect on the score, and the decision rule.

    The effect of a weight is the change in score per standard deviation of its feature. With three
    or more labels, the weights are grouped by label.
    """
    hypothesis, labels = result.outcome.hypothesis, result.labels
    many = len(labels) > 2
    rankings = rank_features(hypothesis, result.data.blocks, labels)
    size = len(rankings[0])
    shown = min(size, max(1, top // len(labels)) if many else top)
    largest = max((abs(s.strength) for ranking in rankings for s in ranking), default=0.0) or 1.0
    headings = ("label", "feature", "weight") if many else ("feature", "weight", "for")
    table = make_table(*headings, "change in score per standard deviation", widest=36)
    for label, ranking in zip(labels[:top], rankings, strict=False):
        for k, s in enumerate(ranking[:shown]):
            cells = [Text(sanitize(s.feature)), Text(f"{s.weight:.6g}")]
            if many:
                cells.insert(0, Text("" if k else sanitize(label)))
            else:
                cells.append(Text(sanitize(labels[int(s.weight > 0)]) if s.weight else ""))
            color = "green" if s.weight > 0 else "red"
            drawn = Text(bar(abs(s.strength) / largest, BAR_WIDTH), color)
            table.add_row(*cells, drawn.append(f" {s.strength:+.3g}", style="dim"))
    console.show()
    console.show(table)
    if many and len(labels) > top:
        console.show(f"… and {plural(len(labels) - top, 'label')} more in the model.")
    elif shown < size:
        each = " per label" if many else ""
        console.show(f"… and {plural(size - shown, 'feature')} more{each} in the model.")
    if not many:
        console.show(describe_rule(labels[1], hypothesis.threshold))
        return
    thresholds = zip(labels, center_thresholds(hypothesis), strict=True)
    listed = join_words([f"{label} {threshold:.6g}" for label, threshold in thresholds], most=12)
    rule = "Predicts the label whose sum of weight × value is farthest above its threshold."
    console.show(f"{rule} Thresholds: {listed}.")
