"""Decide separability, train a model and measure its accuracy, in one function.

`solve` takes rows from `read/`, in memory or in passes over a file. It prints nothing: a `Reporter`
gets each step as it is done, and the `Result` holds them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import rosenblatt.clock as clock
from rosenblatt.accuracy import (
    NO_TIME,
    NOT_REQUESTED,
    Accuracy,
    Evaluation,
    EvaluationOptions,
    evaluate,
)
from rosenblatt.clock import NEVER, Deadline, Reporter, Stopwatch
from rosenblatt.errors import (
    DataError,
    Message,
    Parameter,
    RowError,
    UsageError,
    UserError,
    with_label,
)
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import find_contradictions, separability_of
from rosenblatt.evidence.verdicts import TIME_OVER, Separability
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis, count_misclassified
from rosenblatt.model import Model
from rosenblatt.read import Layout
from rosenblatt.read.data import Data
from rosenblatt.read.plan import ColumnOptions
from rosenblatt.read.source import number_columns
from rosenblatt.scaling import Strength, strengths
from rosenblatt.strategy import Outcome, TrainingOptions, train_model
from rosenblatt.text import (
    describe_lower_bound,
    is_close,
    join_words,
    percent,
    plural,
    quote_column,
    render_card,
)

TIME_LIMIT = 5.0  # seconds
VERDICT_SHARE = 0.3  # of the time limit
PROOF_SHARE = 0.8  # of the time limit; solving for a proof cannot be stopped and may end later
TRAINING_SHARE = 0.5  # of the time left after the verdict, if models are also trained for a test
MIN_PLA_SECONDS = 5.0  # for PLA in passes over a file, if the verdict found a separating w
MIN_SECONDS_REPORTED = 1.0  # shorter times for compiling and loading are not reported
SMALL = 2**20  # numbers; in data this small, infinite estimates of a regression are found quickly
NOT_IN_PASSES = Message(
    "passes over a file run PLA or the pocket, in file order, without ",
    *(Parameter("test_size"), ", ", Parameter("cv"), " or a report; give "),
    *(Parameter("test", example="FILE"), " to measure accuracy."),
)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Result of `learn`: the verdict, the model and its accuracy.

    `print` shows the report of `rosenblatt learn`, and so does a notebook.

    Parameters
    ----------
    data : Data
        Training data.
    options : TrainingOptions
        Algorithm, order, budgets and seed.
    decided : Separability
        Verdict with its numbers and its proof; rows are named as in the data.
    outcome : Outcome
        Trained model and how it was trained.
    evaluation : Evaluation, optional
        Accuracy on rows that were not trained on.
    not_tested : str or Message
        Why there is no evaluation.
    separator : Hypothesis, optional
        A linear classifier without mistakes, if the verdict found one.
    infinite : str
        Sentence on the infinite estimates of a logistic regression, if there are any.
    """

    data: Data
    options: TrainingOptions
    decided: Separability
    outcome: Outcome
    evaluation: Evaluation | None = None
    not_tested: str | Message = ""
    separator: Hypothesis | None = None
    infinite: str = ""

    @property
    def verdict(self) -> str:
        """Verdict: "separable", "quasi-separable", "inseparable", "not separable" or "undecided".

        "not separable" means either quasi-separable or inseparable; see `Separability`.
        """
        return self.decided.verdict

    @property
    def separability(self) -> Separability:
        """Verdict with its `proof`, in the units of the data.

        Rows are numbered as in the data, also if some were dropped; the proof numbers only the
        rows that were kept. Margin and bound are those of the w that proves the verdict; `widest`
        says whether that margin is the maximum, which `rosenblatt.separability` finds.
        """
        return self.decided.with_data_rows()

    @property
    def hypothesis(self) -> Hypothesis:
        """Trained linear classifier, with weights in the units of the data."""
        return self.outcome.hypothesis

    @property
    def mistakes(self) -> int | None:
        """Number of mistakes on the training rows; None if Ctrl-C came before they were counted."""
        return self.outcome.mistakes

    @property
    def lower_bound(self) -> int:
        """Lower bound on the number of mistakes of any linear classifier."""
        return self.outcome.lower_bound

    @property
    def optimal(self) -> bool:
        """Whether it is proved that no linear classifier makes fewer mistakes."""
        return self.mistakes == self.lower_bound

    @property
    def proof(self) -> Proof | None:
        """Proof of the lower bound or, if that is 0, of the verdict."""
        return self.outcome.proof or self.decided.proof

    @property
    def accuracy(self) -> Accuracy | None:
        """Accuracy on rows that were not trained on; None if it was not measured."""
        return None if self.evaluation is None else self.evaluation.accuracy

    @property
    def labels(self) -> list[str]:
        """Labels as text: the negative and the positive, or all if more than two."""
        return self.data.plan.target.spellings

    @property
    def many(self) -> bool:
        """Whether there are more than two labels."""
        return len(self.labels) > 2

    @property
    def in_memory(self) -> bool:
        """Whether all rows were in memory, not read from a file in several passes."""
        return self.data.blocks.in_memory

    @property
    def model(self) -> Model:
        """Model that predicts from the columns of the data and can be saved."""
        plan, names, outcome = self.data.plan, self.data.names, self.outcome
        width = len(names) if names and names == number_columns(len(names)) else None
        training = {
            "algorithm": outcome.algorithm,
            "order": self.options.order,
            "scaled for learning": self.options.scale,
            "seed": self.options.seed,
            "examples": outcome.run.rows,
            "verdict": self.verdict,
            "updates": outcome.run.updates,
            "bound on updates": outcome.bound,
            "mistakes": outcome.mistakes,
            "no line makes fewer mistakes than": outcome.lower_bound,
            "interrupted": outcome.interrupted,
            "accuracy": None if self.evaluation is None else self.evaluation.to_json(),
            **self._passes_json(),
        }
        return Model(plan.encoding, self.hypothesis, plan.target, training, width)

    @property
    def cut_short(self) -> list[str]:
        """Steps that the time limit ended early: "verdict", "learning", "test"."""
        tested = self.evaluation
        stages = {
            "verdict": self.decided.reason == TIME_OVER,
            "learning": self.outcome.cut_short,
            "test": self.not_tested == NO_TIME or (tested is not None and tested.cut_short > 0),
        }
        return [stage for stage, ended in stages.items() if ended]

    @property
    def worse_than_baseline(self) -> list[str]:
        """Sets of rows on which always predicting the most frequent label beats the model.

        "learning" stands for the training rows, "test" for the test rows.
        """
        return list(self._warnings())

    def _warnings(self) -> dict[str, str]:
        """Describe on which rows the model is worse than the baseline, and by how much."""
        warnings = {}
        mistakes, baseline = self.outcome.mistakes, self.outcome.baseline
        if mistakes is not None and baseline is not None and mistakes > baseline.mistakes:
            label, rows = self.labels[baseline.place], self.outcome.run.rows
            made = plural(mistakes, "mistake")
            warnings["learning"] = (
                f"worse than always predicting {label}: {made} on the {rows:,} training rows, "
                f"not {baseline.mistakes:,}; the algorithms pocket and auto are never worse"
            )
        if (accuracy := self.accuracy) is not None and accuracy.share < accuracy.baseline:
            label = self.labels[accuracy.sizes.index(max(accuracy.sizes))]
            warnings["test"] = (
                f"worse than always predicting {label}: accuracy {percent(accuracy.share)} on "
                f"{plural(accuracy.rows, 'test row')}, not {percent(accuracy.baseline)}"
            )
        return warnings

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file, which `rosenblatt.load` reads.

        The file is written completely or not at all.

        Parameters
        ----------
        path : path
            File to write.
        """
        self.model.save(path)

    def report(self, path: str | Path) -> None:
        """Write an HTML report with the verdict, the run, the weights and the mistakes.

        The run can be replayed update by update.

        Parameters
        ----------
        path : path
            File to write; any browser opens it, without a network.
        """
        if not self.in_memory:
            raise UsageError(NOT_IN_PASSES)
        from rosenblatt.show.report import Report

        Report.of(self).save(path)

    def strengths(self) -> list[Strength]:
        """Rank the features by the change in score per standard deviation.

        With more than two labels, each label has a ranking of its own, one after another.
        """
        rankings = strengths(self.hypothesis, self.data.blocks, self.labels)
        return [strength for ranking in rankings for strength in ranking]

    def found(self) -> str:
        """Describe the mistakes of the model and, if the lower bound is close, also the bound."""
        rows = plural(self.outcome.run.rows, "row")
        if self.mistakes is None:
            return "interrupted; the weights so far are kept"
        line = "weights" if self.many else "a line"
        if self.mistakes == 0:
            return f"{line} that {'classify' if self.many else 'classifies'} all {rows} correctly"
        text = f"{line} with {plural(self.mistakes, 'mistake')} on {rows}"
        if not self.lower_bound or not is_close(self.lower_bound, self.mistakes):
            return text
        bound = "" if self.optimal else f"{self.lower_bound:,}"
        return f"{text}; {describe_lower_bound(bound, self._bound_size(), many=self.many)}"

    def _bound_size(self) -> str:
        """Describe the size of the proof of the lower bound."""
        proof = self.outcome.proof  # may also hold the weights of the verdict
        return "" if proof is None else replace(proof, weights=()).size

    def facts(self) -> list[tuple[str, str]]:
        """Return the lines of the report, as pairs of heading and sentence."""
        facts = self._lines()
        if self.evaluation is not None:
            facts.append(("tested", self.evaluation.sentence()))
            facts += [("", line) for line in self.evaluation.accuracy.comparison(self.labels)]
        return facts

    def _lines(self) -> list[tuple[str, str]]:
        """Return the lines of the report that come before the accuracy."""
        lines = [("warning", sentence) for sentence in self._warnings().values()]
        lines.append(("verdict", self.decided.sentence))
        lines += [("", self.infinite)] if self.infinite else []
        lines += [("trained", step) for step in self.outcome.steps]
        return [*lines, ("found", self.found())]

    def to_json(self) -> dict[str, Any]:
        """Return the verdict, the model and its accuracy as JSON values."""
        outcome, target = self.outcome, self.data.plan.target
        two_labels = zip(("negative", "positive"), target.names, strict=False)
        return {
            "data": self.data.name,
            "rows": outcome.run.rows,
            "features": len(self.data.plan.encoding.features),
            "target": target.column,
            "target_guessed": bool(self.data.plan.guessed),
            **({"labels": list(target.names)} if self.many else dict(two_labels)),
            "verdict": self.decided.to_json(),
            "algorithm": outcome.algorithm,
            "updates": outcome.run.updates,
            "bound": outcome.bound,
            "mistakes": outcome.mistakes,
            "baseline_mistakes": None if outcome.baseline is None else outcome.baseline.mistakes,
            "worse_than_baseline": self.worse_than_baseline,
            "lower_bound": outcome.lower_bound,
            "optimal": self.optimal,
            "proved_by": self._bound_size() or None,
            "interrupted": outcome.interrupted,
            "cut_short": self.cut_short,
            "accuracy": None if self.evaluation is None else self.evaluation.to_json(),
            **({"not_tested": str(self.not_tested)} if self.not_tested else {}),
            "threshold": (0.0 - outcome.hypothesis.w[..., 0] * outcome.hypothesis.x0).tolist(),
            "weights": [asdict(strength) for strength in self.strengths()],
            **self._passes_json(),
        }

    def _passes_json(self) -> dict[str, Any]:
        if self.in_memory:
            return {}
        return {
            "examples": self.outcome.run.rows,
            "order": "cycle",
            "scaled for learning": self.options.scale,
            "in passes": True,
            "epochs": self.outcome.run.epochs,
            "stopped": self.outcome.reason,
        }

    def __str__(self) -> str:
        notes = [("", str(note)) for note in self.data.notes]
        facts = [("read", str(self.data)), *notes, *self._lines()]
        if self.evaluation is not None:
            facts += self.evaluation.accuracy.lines(self.evaluation.sentence(), self.labels)
        elif self.not_tested not in ("", NOT_REQUESTED):
            facts.append(("tested", f"skipped: {self.not_tested!s}"))
        return "\n".join(f"{heading:<9} {text}" for heading, text in facts)

    def __repr__(self) -> str:
        return f"<Result: {self.verdict}; {self.found()}>"

    def _repr_html_(self) -> str:
        facts = [fact for fact in self.facts() if fact[0] != "verdict"]
        return render_card(self.decided.sentence, facts)


def solve(
    data: Data,
    reading: tuple[Layout, ColumnOptions],
    options: TrainingOptions = TrainingOptions(),
    evaluation: EvaluationOptions = EvaluationOptions(),
    reporter: Reporter = Reporter(),
) -> Result:
    """Decide separability, train and test within one time limit.

    `reading` holds the options that the data were read with: a test file and parts of the data
    are read with the same ones. Each step is reported as it is done.
    """
    target, in_memory = data.plan.target, data.blocks.in_memory
    if target.many and options.algorithm == "fewest":
        where = quote_column(target.column) if target.column else "y"
        raise UsageError(
            *(Parameter("algorithm", "fewest"), f" is for two labels, and {where} has "),
            f"{len(target.names):,}. Give ",
            with_label("positive", target.spellings[-1]),
            ", for example, to learn it against the rest, or ",
            *(Parameter("algorithm", "pocket"), "."),
        )
    evaluation = evaluation.prepare(data, reading[0], options.seed)
    limit = TIME_LIMIT if options.time_limit is None and in_memory else options.time_limit
    deadline, watch = Deadline.after(limit), Stopwatch()
    with naming(data):
        share = TRAINING_SHARE if in_memory and evaluation.trains else 1.0
        result = _decide_and_train(data, options, deadline, share, reporter)
        if not result.outcome.interrupted:
            result = _evaluate(result, reading[1], evaluation, deadline, reporter)
    if limit is not None and watch.seconds > limit and watch.not_counted >= MIN_SECONDS_REPORTED:
        took = f"compiling and loading took {watch.not_counted:.1f} s"
        reporter.note(f"{took}, which does not count toward the time limit.")
    if result.outcome.interrupted and result.mistakes is not None:
        best = plural(result.mistakes, "mistake")
        reporter.note(f"interrupted; the best line so far is kept, with {best}.")
    return result


@contextmanager
def naming(data: Data) -> Iterator[None]:
    """Prefix the messages of errors in a `with` block with the name of the data."""
    try:
        yield
    except UserError:
        raise
    except RowError as error:
        raise DataError(f"{data.name}: {error.describe(data.row_names(error.rows))}") from None
    except ValueError as error:  # for example, numbers too large to train on
        raise DataError(f"{data.name}: {error}") from None


def _decide_and_train(
    data: Data, options: TrainingOptions, deadline: Deadline, share: float, reporter: Reporter
) -> Result:
    """Decide separability, then train in a share of the time that is left."""
    begin = clock.now()
    decided, separator = _decide_quickly(data, deadline.share(VERDICT_SHARE, PROOF_SHARE))
    reporter.step("verdict", decided.sentence)
    if decided.reason.startswith("interrupted"):
        raise KeyboardInterrupt
    infinite, two_in_memory = "", data.blocks.in_memory and not data.blocks.multiclass
    quasi_separable = decided.verdict == "quasi-separable"
    if quasi_separable and two_in_memory and data.examples.numbers.size <= SMALL:
        from rosenblatt.evidence.separation import infinite_columns

        columns = [quote_column(name) for name in infinite_columns(data.examples)]
        are = "estimate is" if len(columns) == 1 else "estimates are"
        names = join_words(columns)
        infinite = f"in a logistic regression, {len(columns):,} {are} infinite: {names}"
        reporter.step("", infinite)
    if deadline is NEVER and separator is not None and options.algorithm == "auto":
        deadline = Deadline.after(max(MIN_PLA_SECONDS, clock.now() - begin))
    outcome = train_model(data.blocks, options, separator, reporter, deadline, share)
    if decided.lower_bound > outcome.lower_bound:
        outcome = replace(outcome, lower_bound=decided.lower_bound, proof=decided.proof)
    for step in outcome.steps:
        reporter.step("trained", step)
    result = Result(data, options, decided, outcome, separator=separator, infinite=infinite)
    reporter.step("found", result.found())
    for sentence in result._warnings().values():
        reporter.step("warning", sentence)
    return result


def _evaluate(
    result: Result,
    column_options: ColumnOptions,
    evaluation: EvaluationOptions,
    deadline: Deadline,
    reporter: Reporter,
) -> Result:
    """Measure the accuracy and add it to a result, unless Ctrl-C interrupts."""
    separable = result.separator is not None
    options = replace(result.options, bounded=False)
    if options.algorithm == "auto" and separable:
        options = replace(options, algorithm="pla")

    def train(examples: Examples, share: Deadline) -> tuple[Hypothesis, bool]:
        outcome = train_model(examples, options, None, reporter, share)
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.algorithm == "PLA" and outcome.mistakes and separable:
            # If the budget of PLA ends first, use the w of the proof, as for all rows.
            separability = separability_of(examples, widest=False, deadline=share)
            if separability and separability.weights is not None:
                return Hypothesis.of(np.asarray(separability.weights)), False
            return outcome.hypothesis, separability.reason == TIME_OVER
        return outcome.hypothesis, outcome.cut_short

    model = result.hypothesis, result.outcome.run.rows
    try:
        found = evaluate(evaluation, result.data, column_options, model, train, deadline)
    except KeyboardInterrupt:
        reporter.note("interrupted; the model is kept, but its accuracy was not measured.")
        return replace(result, not_tested="interrupted")
    if isinstance(found, str | Message):
        if found != NOT_REQUESTED:
            reporter.step("tested", Message("skipped: ", found))
        return replace(result, not_tested=found)
    for heading, text in found.accuracy.lines(found.sentence(), result.labels):
        reporter.step(heading, text)
    for sentence in () if found.unseen is None else found.unseen.sentences():
        reporter.note(sentence)
    result = replace(result, evaluation=found)
    if "test" in (warnings := result._warnings()):
        reporter.step("warning", warnings["test"])
    return result


def _decide_quickly(data: Data, deadline: Deadline) -> tuple[Separability, Hypothesis | None]:
    """Decide separability before a deadline, without maximizing the margin.

    Two rows with the same features and different labels decide it at once. Also return a
    hypothesis that makes no mistake even after rounding, if one is known.
    """
    if data.blocks.in_memory and not data.blocks.multiclass:
        contradictions = find_contradictions(data.examples)
        if contradictions is not None:
            return replace(contradictions, row_names=data.row_names()), None
    decided = decide(data, widest=False, deadline=deadline)
    if not decided or decided.weights is None:
        return decided, None
    separator = Hypothesis.of(np.asarray(decided.weights))
    return decided, None if count_misclassified(data.blocks, separator) else separator


def decide(data: Data, *, widest: bool = True, deadline: Deadline = NEVER) -> Separability:
    """Decide whether data are linearly separable; name rows in the result as in the data."""
    found = separability_of(data.blocks, widest=widest, deadline=deadline)
    support = found.support if found.support.ndim == 1 else found.support[:, 0]
    conflicts = (row for conflict in found.conflicts for row in conflict.rows)
    return replace(found, row_names=data.row_names([*support.tolist(), *conflicts]))


def check_passes(
    options: TrainingOptions, evaluation: EvaluationOptions, report: bool = False
) -> None:
    """Raise UsageError on options that do not work when a file is read in several passes."""
    needs_all = options.order != "cycle" or options.algorithm in ("fewest", "average")
    if needs_all or evaluation.cv or evaluation.test_size or report:
        raise UsageError(NOT_IN_PASSES)
