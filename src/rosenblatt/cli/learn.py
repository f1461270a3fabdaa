"""`rosenblatt learn`: from a file to a verdict, a line, and a model that can be read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from rosenblatt import orders
from rosenblatt.algorithms import Budget
from rosenblatt.cli import INTERRUPTED, VERBS
from rosenblatt.cli.learnpasses import learn_in_passes, tried_in_passes
from rosenblatt.cli.options import Reading, convert_option, examples, json_option, reading_options
from rosenblatt.cli.passing import opened, too_large
from rosenblatt.cli.result import Result
from rosenblatt.cli.say import Voice
from rosenblatt.cli.strategy import ALGORITHMS, How, Outcome, learn_line
from rosenblatt.cli.trial import Tester, Trial, tell_trial
from rosenblatt.cli.verdict import quick_verdict
from rosenblatt.clock import Deadline, Stopwatch
from rosenblatt.errors import DataError, UsageError, UserError, column_called, listed
from rosenblatt.examples import Examples
from rosenblatt.files import keep_apart, keep_others
from rosenblatt.model import MARK, Model
from rosenblatt.read import Source
from rosenblatt.read.convert import SUFFIX
from rosenblatt.read.credit import credit
from rosenblatt.read.data import Data, of_table, read_data
from rosenblatt.read.encoding import spelled
from rosenblatt.read.plan import Plan
from rosenblatt.show.report import GENERATOR, Report
from rosenblatt.show.strength import Strength
from rosenblatt.show.text import weights_table
from rosenblatt.words import counted

VERDICT_SHARE = 0.3  # of the time; the line has half of the rest where there is a trial too
WORTH_SAYING = 1.0  # seconds
FEW_NUMBERS = 2**20  # in so few it is soon known which columns make a regression infinite
BUILT_IN = "the built-in credit approval"
# What a kind of column is called where that is not its own name, one and many.
KINDS = {
    "category": ("category", "categories"),
    "words": ("word", "words"),
    "entries": ("entry", "entries"),
}


@dataclass(frozen=True)
class Wanted:
    """Where to write, how to test, how much to show."""

    output: str
    report: bool
    test_size: float
    test: str | None
    cv: int | None
    top: int

    @property
    def has_trial(self) -> bool:
        """Whether other lines are learnt to measure accuracy."""
        return self.test is None and (self.cv is not None or self.test_size > 0)

    @property
    def page(self) -> str | None:
        """Where the report goes."""
        return str(Path(self.output).parent / "report.html") if self.report else None


@dataclass(frozen=True)
class Passing:
    """How to go over a file in passes: whether that was asked for, cycles, conversion."""

    asked: bool
    cycles: int
    convert: bool

    def budget(self, seconds: float) -> Budget:
        """The cycles, and the seconds if a person gave them: a pass may take longer than 5."""
        source = click.get_current_context().get_parameter_source("time_limit")
        given = source is not ParameterSource.DEFAULT
        return Budget(self.cycles, seconds=seconds if given else None)


@click.command(
    short_help=VERBS["learn"],
    epilog=examples(
        "rosenblatt learn credit.csv --target approved",
        "rosenblatt learn credit.csv --cv 5 --report",
    ),
)
@click.argument("data", required=False, type=click.Path(allow_dash=True))
@click.option(
    "--algorithm",
    type=click.Choice(ALGORITHMS),
    default="auto",
    show_default=True,
    help="auto: PLA if a line is right everywhere, else the pocket, then a search.",
)
@click.option(
    "--order",
    type=click.Choice(orders.NAMES),
    default="cycle",
    show_default=True,
    help="In which PLA visits the examples.",
)
@click.option("--scale/--no-scale", default=True, help="Bring columns to one scale to learn.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="For all that comes after reading, but not compiling; the best so far is kept.",
)
@click.option(
    "--test-size",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="The share of rows held out to measure accuracy; 0 for none.",
)
@click.option("--test", type=click.Path(), metavar="FILE", help="Measure it on this file.")
@click.option("--cv", type=click.IntRange(min=2), metavar="K", help="Measure it in K folds.")
@click.option("--noise", type=click.FloatRange(0, 0.5), help="Turn built-in answers around.")
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
@click.option("--stream", is_flag=True, help="In passes over the file, even if it fits in memory.")
@click.option(
    "--cycles",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="The most passes of learning over a file larger than memory.",
)
@convert_option
@reading_options
@json_option
def learn(data: str | None, reading: Reading, as_json: bool, **given: Any) -> int:
    """Learn from DATA: say whether a line answers every row, find it, write a model.

    DATA is CSV, Parquet, Arrow, JSON lines, LIBSVM or .npy, also compressed; - is standard
    input. What does not fit in half of the free memory is learnt from in passes, in file order.
    Without DATA, built-in examples of credit approval are used. In messages rows are counted
    from 1, a header not counted.

    The model is learnt from all rows; accuracy is measured on rows held out from a second
    model that is learnt in the same way from the others. The verdict, the model and the test
    share the time limit, and what it cut short is said.
    """
    passing = Passing(*(given.pop(key) for key in ("stream", "cycles", "convert")))
    noise = given.pop("noise")
    how = How(*(given.pop(key) for key in ("algorithm", "order", "scale", "time_limit", "seed")))
    wanted = Wanted(**given)
    voice = Voice(as_json)
    _check_files(data, reading, wanted)
    if passing.asked and data is None:
        raise UsageError("--stream is for a file; give DATA.")
    source = None if data is None else Source.find(data)
    if source is not None and (passing.asked or too_large(voice, source, reading, "learn")):
        return _in_passes(voice, (source, reading), passing, how, wanted)
    with voice.patience(f"reading {data or BUILT_IN}"):
        found = _read(source, noise, reading, how.seed)
    _tell_reading(voice, found)
    deadline, watch = Deadline.after(how.time_limit), Stopwatch()
    try:
        result = _learnt(voice, found, how, (deadline, wanted.has_trial))
        if not result.outcome.interrupted:
            result = replace(result, trial=_tried(voice, result, (reading, wanted), deadline))
    except UserError:
        raise
    except ValueError as trouble:  # of numbers too large to learn from
        raise DataError(f"{found.name}: {trouble}") from None
    _tell_compiling(voice, watch, how.time_limit)
    _write(voice, result, wanted)
    return INTERRUPTED if result.outcome.interrupted else 0


def _learnt(voice: Voice, found: Data, how: How, time: tuple[Deadline, bool]) -> Result:
    """The verdict and the line, told step by step; a trial needs as much time as the line."""
    deadline, has_trial = time
    verdict = quick_verdict(found.examples, found.rows, deadline.share(VERDICT_SHARE))
    voice.step("verdict", verdict.sentence)
    if verdict.name == "quasi-separable" and found.examples.numbers.size <= FEW_NUMBERS:
        from rosenblatt.evidence.separation import infinite_columns

        columns = [column_called(name) for name in infinite_columns(found.examples)]
        are = "estimate is" if len(columns) == 1 else "estimates are"
        voice.step("", f"as a regression, {len(columns):,} {are} infinite: {listed(columns)}")
    share = deadline.share(0.5 if has_trial else 1.0)
    outcome = learn_line(found.examples, how, verdict.separator, voice.patience, share)
    outcome = replace(outcome, lower_bound=max(verdict.fewest, outcome.lower_bound))
    for step in outcome.steps:
        voice.step("learnt", step)
    result = Result(found, how, verdict, outcome)
    voice.step("found", result.mistakes())
    return result


def _tell_compiling(voice: Voice, watch: Stopwatch, limit: float | None) -> None:
    """Say why it took longer than the limit, where that is so."""
    if limit is not None and watch.seconds > limit and watch.not_counted >= WORTH_SAYING:
        took = f"compiling and loading took {watch.not_counted:.1f} s"
        voice.note(f"{took}, which the time limit does not count.")


def _check_files(data: str | None, reading: Reading, wanted: Wanted) -> None:
    """Refuse to write over what is read, and under names nobody gave over what is not ours."""
    reads = {
        "the data": data,
        "the converted data": None if data in (None, "-") else f"{data}{SUFFIX}",
        "the file to test on": wanted.test,
        "the file of stop words": reading.stop_words,
    }
    keep_apart(reads, {"--output": wanted.output, "--report": wanted.page})
    source = click.get_current_context().get_parameter_source("output")
    if source is ParameterSource.DEFAULT:
        keep_others(wanted.output, MARK, "a model", "give -o FILE for another name")
    if wanted.page is not None:
        advice = "move it, or give -o FOLDER/model.json to have both in another folder"
        keep_others(wanted.page, GENERATOR.encode(), "a report", advice)


def _in_passes(
    voice: Voice, file: tuple[Source, Reading], passing: Passing, how: How, wanted: Wanted
) -> int:
    if how.order != "cycle" or how.algorithm == "fewest" or wanted.cv or wanted.report:
        raise UsageError(
            "in passes over a file there is PLA or the pocket, in file order, and no --cv or "
            "--report; give --test FILE to measure accuracy."
        )
    batches = opened(voice, *file, passing.convert)
    columns = _columns_told(batches.plan)
    voice.step("read", f"{batches.source.name}, in passes: {columns}")
    for note in batches.plan.notes:
        voice.note(f"{note}.")
    budget, watch = passing.budget(how.time_limit), Stopwatch()
    found = learn_in_passes(voice, batches, how, budget)
    _tell_compiling(voice, watch, budget.seconds)
    if wanted.test is not None:
        trial = tried_in_passes(found, wanted.test)
        tell_trial(voice, trial, batches.plan.answers)
        found = replace(found, trial=trial)
    _save(voice, found.model, wanted)
    _show(voice, found.model, found.strengths(), wanted)
    voice.result({**found.to_json(), "model": wanted.output})
    return INTERRUPTED if found.passed.reason == "interrupted" else 0


def _read(source: Source | None, noise: float | None, reading: Reading, seed: int) -> Data:
    if source is not None:
        if noise is not None:
            raise UsageError("--noise is for the built-in examples; DATA was given.")
        return read_data(source, reading.layout, reading.wishes)
    wishes = replace(reading.wishes, target=reading.wishes.target or "approved")
    return of_table(credit(noise=noise or 0.0, seed=seed), wishes, BUILT_IN)


def _tell_reading(voice: Voice, found: Data) -> None:
    rows = counted(found.examples.n, "row")
    voice.step("read", f"{found.name}: {rows}, {_columns_told(found.plan)}")
    left_out = found.table.num_rows - found.examples.n
    if left_out:
        voice.note(f"{counted(left_out, 'row')} left out: something is missing there.")
    for note in found.plan.notes:
        voice.note(f"{note}.")


def _columns_told(plan: Plan) -> str:
    kinds: dict[str, int] = {}
    for column in plan.encoding.columns:
        count = 1 if column.kind == "category" else len(column.features)
        kinds[column.kind] = kinds.get(column.kind, 0) + count
    parts = ", ".join(counted(n, *KINDS.get(kind, (kind,))) for kind, n in kinds.items())
    answers = plan.answers
    no, yes = spelled(answers.negative), spelled(answers.positive)
    return f"{parts}; answers in {column_called(answers.column)} ({no} or {yes})" + (
        ", the only one with two values" if plan.guessed else ""
    )


def _tried(
    voice: Voice, result: Result, asked: tuple[Reading, Wanted], deadline: Deadline
) -> Trial | None:
    """The accuracy on rows not learnt from; Ctrl-C leaves it out."""
    how, (reading, wanted) = result.how, asked
    if how.algorithm == "auto" and result.verdict.separator is not None:
        how = replace(how, algorithm="pla")

    def learner(examples: Examples, share: Deadline) -> Outcome:
        outcome = learn_line(examples, how, None, voice.patience, share)
        if outcome.interrupted:
            raise KeyboardInterrupt
        return outcome

    tester = Tester(result.data, reading, learner, result.how.rng, deadline)
    try:
        trial = tester.run(wanted.test, wanted.cv, wanted.test_size, result.model)
    except KeyboardInterrupt:
        voice.note("interrupted: the model is kept, its accuracy was not measured.")
        return None
    if trial is not None:
        tell_trial(voice, trial, result.data.plan.answers)
    return trial


def _write(voice: Voice, result: Result, wanted: Wanted) -> None:
    if result.outcome.interrupted:
        voice.note(
            f"interrupted: kept the best so far, {counted(result.outcome.mistakes, 'mistake')}."
        )
    model = result.model
    _save(voice, model, wanted)
    ranked = result.strengths()
    if wanted.page is not None:
        Report.of(result.findings()).save(wanted.page)
        voice.step("wrote", wanted.page)
    _show(voice, model, ranked, wanted)
    voice.result({**result.to_json(), "model": wanted.output, "report": wanted.page})


def _save(voice: Voice, model: Model, wanted: Wanted) -> None:
    model.save(wanted.output)
    voice.step(
        "wrote", f"{wanted.output}: answer new rows with rosenblatt predict {wanted.output} FILE"
    )


def _show(voice: Voice, model: Model, ranked: list[Strength], wanted: Wanted) -> None:
    if wanted.top:
        labels = [spelled(label) for label in model.classes_.tolist()]
        voice.show()
        voice.show(weights_table(ranked, labels, wanted.top))
        if len(ranked) > wanted.top:
            voice.show(f"… and {counted(len(ranked) - wanted.top, 'feature')} more in the model.")
        voice.show(
            f"The answer is {labels[1]} if the sum of weight × value is above "
            f"{model.hypothesis.threshold:.6g}."
        )
