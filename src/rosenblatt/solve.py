"""The function `learn`: decide separability, train, and measure accuracy.

The command line calls `solve` with rows that it has read, in memory or in passes over a file.
`solve` prints nothing: a `Reporter` gets each step when it is done, and the `Result` has them all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import rosenblatt.checks as checks
import rosenblatt.clock as clock
from rosenblatt.accuracy import (
    NO_TIME,
    NOT_REQUESTED,
    TEST_SIZE,
    Accuracy,
    Evaluation,
    EvaluationOptions,
    evaluate,
)
from rosenblatt.algorithms import ORDERS
from rosenblatt.clock import NEVER, Deadline, Reporter
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
from rosenblatt.read.encoding import POLICIES, spell_label
from rosenblatt.read.inputs import explain_parameters, read_input
from rosenblatt.read.plan import ColumnOptions
from rosenblatt.read.source import number_columns
from rosenblatt.scaling import Strength, rank_features
from rosenblatt.strategy import ALGORITHMS, Outcome, TrainingOptions, train_model
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
    "a file that is read in passes is trained on by PLA or the pocket, in file order, without ",
    *(Parameter("test_size"), ", ", Parameter("cv"), " or a report; give "),
    *(Parameter("test", example="FILE"), " to measure accuracy."),
)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Result of `learn`: the verdict, the model and its accuracy.

    Printed or shown in a notebook, it is the report of `rosenblatt learn`.
    """

    data: Data  # training data
    options: TrainingOptions
    decided: Separability  # verdict with its numbers and its proof
    outcome: Outcome  # trained model, and how it was trained
    evaluation: Evaluation | None = None  # accuracy on rows that were not trained on
    not_tested: str | Message = ""  # why there is no evaluation
    steps: tuple[tuple[str, str], ...] = ()  # lines of the report, except those on the accuracy

    @property
    def verdict(self) -> str:
        """Verdict on linear separability, such as "separable" or "inseparable".

        The others are "quasi-separable", "not separable" (quasi-separable or inseparable) and
        "undecided"; see `Separability`.
        """
        return self.decided.verdict

    @property
    def separability(self) -> Separability:
        """Verdict with its margin, bound and `proof`, in the units of the data.

        Rows are numbered as in the data, even if some were dropped; the proof numbers only the
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
        """Number of mistakes on the training rows; None after an early Ctrl-C."""
        return self.outcome.mistakes

    @property
    def lower_bound(self) -> int:
        """Lower bound on the number of mistakes of any linear classifier."""
        return self.outcome.lower_bound

    @property
    def optimal(self) -> bool:
        """Whether a proof shows that no linear classifier makes fewer mistakes."""
        return self.outcome.mistakes == self.outcome.lower_bound

    @property
    def proof(self) -> Proof | None:
        """Proof of the lower bound or, if the bound is 0, of the verdict."""
        return self.outcome.proof or self.decided.proof

    @property
    def accuracy(self) -> Accuracy | None:
        """Accuracy on rows that were not trained on, if it was measured."""
        return None if self.evaluation is None else self.evaluation.accuracy

    @property
    def labels(self) -> list[str]:
        """Labels as text; if there are two, the negative label comes first."""
        return self.data.plan.target.spellings

    @property
    def in_memory(self) -> bool:
        """Whether all rows were in memory, not read in passes."""
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
            "verdict": self.decided.verdict,
            "updates": outcome.run.updates,
            "bound on updates": outcome.bound,
            "mistakes": outcome.mistakes,
            "no line makes fewer mistakes than": outcome.lower_bound,
            "interrupted": outcome.reason == "interrupted",
            "accuracy": None if self.evaluation is None else self.evaluation.to_json(),
        }
        if not self.data.blocks.in_memory:
            training |= self._passes_json()
        return Model(plan.encoding, outcome.hypothesis, plan.target, training, width)

    @property
    def cut_short(self) -> list[str]:
        """Steps that the time limit ended early: "verdict", "learning", "test"."""
        tested = self.evaluation
        stages = {
            "verdict": self.decided.reason == TIME_OVER,
            "learning": self.outcome.reason == "time_limit",
            "test": self.not_tested == NO_TIME or (tested is not None and tested.cut_short > 0),
        }
        return [stage for stage, ended in stages.items() if ended]

    @property
    def worse_than_baseline(self) -> list[str]:
        """Data on which this classifier is worse than always predicting the most frequent label.

        The list contains "learning" if this is so on the training rows, and "test" if it is so on
        the rows that accuracy was measured on.
        """
        return list(self._warnings())

    def _warnings(self) -> dict[str, str]:
        """Return a warning for each entry of `worse_than_baseline`."""
        warnings = {}
        mistakes, baseline = self.outcome.mistakes, self.outcome.baseline
        if mistakes is not None and baseline is not None and mistakes > baseline.mistakes:
            label, rows = self.labels[baseline.place], self.outcome.run.rows
            made = plural(mistakes, "mistake")
            warnings["learning"] = (
                f"worse than always predicting {label}: {made} on the {rows:,} training rows, "
                f"not {baseline.mistakes:,}; the algorithms pocket and auto are never worse"
            )
        accuracy = None if self.evaluation is None else self.evaluation.accuracy
        if accuracy is not None and accuracy.share < accuracy.baseline:
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
        """Write an HTML report of the verdict, the training and the mistakes.

        In the report, the run can be replayed update by update.

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

        With more than two labels, the ranking for the first label comes first, and so on.
        """
        rankings = rank_features(self.outcome.hypothesis, self.data.blocks, self.labels)
        return [strength for ranking in rankings for strength in ranking]

    def found(self) -> str:
        """Describe the number of mistakes, and its lower bound if it is at least half as large."""
        mistakes, bound = self.outcome.mistakes, self.outcome.lower_bound
        rows = plural(self.outcome.run.rows, "row")
        if mistakes is None:
            return "interrupted; the weights so far are kept"
        many = self.data.plan.target.many
        line = "weights" if many else "a line"
        if mistakes == 0:
            return f"{line} that {'classify' if many else 'classifies'} all {rows} correctly"
        text = f"{line} with {plural(mistakes, 'mistake')} on {rows}"
        if not bound or not is_close(bound, mistakes):
            return text
        fewer = "" if bound == mistakes else f"{bound:,}"
        return f"{text}; {describe_lower_bound(fewer, self._proof_size, many=many)}"

    @property
    def _proof_size(self) -> str:
        proof = self.outcome.proof  # may also hold the weights of the verdict
        return "" if proof is None else replace(proof, weights=()).size

    def facts(self, table: bool = False) -> list[tuple[str, str]]:
        """Return the lines of the report, warnings first, each as a heading and a sentence.

        With `table`, they include the confusion matrix.
        """
        facts = sorted(self.steps, key=lambda step: step[0] != "warning")
        if self.evaluation is not None:
            sentence = self.evaluation.sentence()
            facts += self.evaluation.accuracy.lines(sentence, self.labels, table)
        elif self.not_tested not in ("", NOT_REQUESTED):
            facts.append(("tested", f"skipped: {self.not_tested!s}"))
        return facts

    def to_json(self) -> dict[str, Any]:
        """Return the verdict, the model and the accuracy as JSON values."""
        outcome, target = self.outcome, self.data.plan.target
        two_labels = zip(("negative", "positive"), target.names, strict=False)
        return {
            "data": self.data.name,
            "rows": outcome.run.rows,
            "features": len(self.data.plan.encoding.features),
            "target": target.column,
            "target_guessed": bool(self.data.plan.guessed),
            **({"labels": list(target.names)} if target.many else dict(two_labels)),
            "verdict": self.decided.to_json(),
            "algorithm": outcome.algorithm,
            "updates": outcome.run.updates,
            "bound": outcome.bound,
            "mistakes": outcome.mistakes,
            "baseline_mistakes": None if outcome.baseline is None else outcome.baseline.mistakes,
            "worse_than_baseline": self.worse_than_baseline,
            "lower_bound": outcome.lower_bound,
            "optimal": self.optimal,
            "proved_by": self._proof_size or None,
            "interrupted": outcome.reason == "interrupted",
            "cut_short": self.cut_short,
            "accuracy": None if self.evaluation is None else self.evaluation.to_json(),
            **({"not_tested": str(self.not_tested)} if self.not_tested else {}),
            "threshold": (0.0 - outcome.hypothesis.w[..., 0] * outcome.hypothesis.x0).tolist(),
            "weights": [asdict(strength) for strength in self.strengths()],
            **({} if self.in_memory else self._passes_json()),
        }

    def _passes_json(self) -> dict[str, Any]:
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
        lines = [("read", str(self.data)), *notes, *self.facts(table=True)]
        return "\n".join(f"{heading:<9} {text}" for heading, text in lines)

    def __repr__(self) -> str:
        return f"<Result: {self.verdict}; {self.found()}>"

    def _repr_html_(self) -> str:
        facts = [fact for fact in self.facts() if fact[0] != "verdict"]
        return render_card(self.decided.sentence, facts)


def learn(
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    positive: Any = None,
    missing: str = "error",
    ignore: str | Sequence[str] = (),
    number: str | Sequence[str] = (),
    category: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    algorithm: str = "auto",
    order: str = "cycle",
    scale: bool = True,
    time_limit: float | None = None,
    max_iter: int | None = None,
    test_size: float = TEST_SIZE,
    test: str | os.PathLike[str] | None = None,
    cv: int | None = None,
    random_state: int = 0,
) -> Result:
    """Decide separability, train a linear classifier and measure its accuracy.

    The command `rosenblatt learn` does the same, with the same options. Nothing is printed or
    written. With more than two labels there are weights for each label, and the label with the
    highest score is predicted.

    Parameters
    ----------
    X : array, CSR matrix, frame, or path
        Training rows. Text in a frame is converted to categories or words, as in a file. A path
        is a file in any format that the command line reads.
    y : sequence of labels, or str
        Label of each row, with two or more different labels; for a frame, also the name of the
        target column.
    target : str, optional
        Target column of a frame or a file. By default, the only column with two values, or else
        the only one with a few words.
    positive : optional
        Positive label; with three or more labels, it is learned against the rest.
    missing : {"error", "drop", "mean"}
        What to do about missing numbers in a frame or a file: raise an error, drop the row, or
        use the mean.
    ignore, number, category, text : str or sequence of str
        Columns to leave out, or to treat as numbers, as categories, or as text.
    algorithm : {"auto", "pla", "pocket", "fewest", "average"}
        "auto": PLA if the rows are separable; otherwise, with two labels, the pocket and then a
        search, and with more, the pocket or the average, whichever makes fewer mistakes. Never
        worse on the training rows than always predicting the most frequent label.
        "average": the mean of PLA's weights over all visits of 100 epochs.
    order : str
        Order in which PLA visits the rows.
    scale : bool
        Whether to scale the columns for training; the weights apply to the values as given.
    time_limit : float, optional
        Time budget in seconds, excluding reading; the best result so far is kept. Five seconds
        by default, and no limit for a file larger than memory, which is read in passes.
    max_iter : int, optional
        Maximum number of epochs: 1000 by default, and 100 for "average". The pocket also stops
        after 1000 updates.
    test_size : float
        Share of rows held out to measure accuracy; 0 for none.
    test : path, optional
        File of rows to measure accuracy on, instead of held-out rows.
    cv : int, optional
        Number of folds for cross-validation, instead of held-out rows.
    random_state : int
        Seed of the random numbers.

    Returns
    -------
    Result
        `verdict`, `model`, `mistakes`, `lower_bound`, `proof`, `accuracy`, `report(path)`,
        `save(path)`.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> r = rb.learn(X, ["no", "yes", "yes", "no"])
    >>> print(r)
    read      X: 4 rows, 2 numeric columns; labels no or yes
    verdict   not separable: no line classifies rows 0, 1, 2 and 3 all correctly (proved in exact
              arithmetic)
    trained   the pocket algorithm found weights with 1 mistake after 1,000 updates
    trained   the search for fewer mistakes found a line with 1 mistake
    found     a line with 1 mistake on 4 rows; no line makes fewer (proof: 1 conflict)
    tested    skipped: 4 rows are too few for a held-out test (at least 10)
    >>> rb.learn(X, ["no", "no", "no", "yes"]).model.predict([[1, 1], [0, 1]]).tolist()
    ['yes', 'no']
    >>> rb.learn(X, ["none", "one", "one", "two"])
    <Result: separable; weights that classify all 4 rows correctly>
    """
    checks.one_of("algorithm", algorithm, ALGORITHMS)
    checks.one_of("order", order, ORDERS)
    checks.one_of("missing", missing, POLICIES)
    checks.flag("scale", scale)
    checks.whole_number("random_state", random_state, 0)
    if time_limit is not None:
        checks.positive_number("time_limit", time_limit)
    if max_iter is not None:
        checks.whole_number("max_iter", max_iter, 1)
    if cv is not None:
        checks.whole_number("cv", cv, 2)
    if not 0 <= test_size < 1:
        raise ValueError(f"test_size is {test_size!r}; give a share of at least 0 and less than 1.")

    names = [(n,) if isinstance(n, str) else tuple(n) for n in (ignore, number, category, text)]
    columns = ColumnOptions(
        target=target,
        positive=None if positive is None else spell_label(positive),
        ignore=names[0],
        numbers=names[1],
        categories=names[2],
        texts=names[3],
        missing=missing,
    )
    training = TrainingOptions(algorithm, order, scale, time_limit, random_state, max_iter)
    with explain_parameters(learn):
        share = None if test_size == TEST_SIZE else test_size
        testing = EvaluationOptions(share, None if test is None else os.fspath(test), cv)
        data = read_input(X, y, columns, lambda: check_passes(training, testing))
        return solve(data, (Layout(), columns), training, testing)


def solve(
    data: Data,
    reading: tuple[Layout, ColumnOptions],
    options: TrainingOptions = TrainingOptions(),
    evaluation: EvaluationOptions = EvaluationOptions(),
    reporter: Reporter = Reporter(),
) -> Result:
    """Decide separability, train and test within one time limit.

    `reading` has the options with which the data were read; a test file and parts of the data are
    read with the same ones. Each step is reported as soon as it is done.
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
    deadline, begun = Deadline.after(limit), (time.monotonic(), clock.now())
    steps: list[tuple[str, str]] = []

    def report(heading: str, text: str) -> None:
        steps.append((heading, text))
        reporter.step(heading, text)

    with data_name_in_errors(data):
        begin = clock.now()
        decided, separator = _decide_quickly(data, deadline.share(VERDICT_SHARE, PROOF_SHARE))
        report("verdict", decided.sentence)
        if decided.reason.startswith("interrupted"):
            raise KeyboardInterrupt
        if decided.verdict == "quasi-separable" and (sentence := _describe_infinite(data)):
            report("", sentence)
        if deadline is NEVER and separator is not None and options.algorithm == "auto":
            deadline = Deadline.after(max(MIN_PLA_SECONDS, clock.now() - begin))
        share = TRAINING_SHARE if in_memory and evaluation.trains else 1.0
        outcome = train_model(data.blocks, options, separator, reporter, deadline, share)
        if decided.lower_bound > outcome.lower_bound:
            outcome = replace(outcome, lower_bound=decided.lower_bound, proof=decided.proof)
        for step in outcome.steps:
            report("trained", step)
        result = Result(data, options, decided, outcome)
        report("found", result.found())
        for sentence in result._warnings().values():
            report("warning", sentence)
        if outcome.reason != "interrupted":
            result = _evaluate(result, separator, reading[1], evaluation, deadline, reporter)
        if "test" in (warnings := result._warnings()):
            report("warning", warnings["test"])
    seconds, counted = time.monotonic() - begun[0], clock.now() - begun[1]
    if limit is not None and seconds > limit and seconds - counted >= MIN_SECONDS_REPORTED:
        took = f"compiling and loading took {seconds - counted:.1f} s"
        reporter.note(f"{took}, which does not count toward the time limit.")
    if outcome.reason == "interrupted" and outcome.mistakes is not None:
        best = plural(outcome.mistakes, "mistake")
        reporter.note(f"interrupted; the best line so far is kept, with {best}.")
    return replace(result, steps=tuple(steps))


@contextmanager
def data_name_in_errors(data: Data) -> Iterator[None]:
    """Add the name of the data to the errors raised in a `with` block."""
    try:
        yield
    except UserError:
        raise
    except RowError as error:
        raise DataError(f"{data.name}: {error.describe(data.row_names(error.rows))}") from None
    except ValueError as error:  # for example, numbers too large to train on
        raise DataError(f"{data.name}: {error}") from None


def _evaluate(
    result: Result,
    separator: Hypothesis | None,
    columns: ColumnOptions,
    evaluation: EvaluationOptions,
    deadline: Deadline,
    reporter: Reporter,
) -> Result:
    """Measure the accuracy of the model, and add it to the result.

    `separator` is a w without mistakes on the training rows, if one is known.
    """
    separable = separator is not None
    options = replace(result.options, bounded=False)
    if options.algorithm == "auto" and separable:
        options = replace(options, algorithm="pla")

    def train(examples: Examples, share: Deadline) -> tuple[Hypothesis, bool]:
        outcome = train_model(examples, options, None, reporter, share)
        if outcome.reason == "interrupted":
            raise KeyboardInterrupt
        if outcome.algorithm == "PLA" and outcome.mistakes and separable:
            # If the budget of PLA ends first, use the w of the proof, as for all rows.
            separability = separability_of(examples, widest=False, deadline=share)
            if separability and separability.weights is not None:
                return Hypothesis.of(np.asarray(separability.weights)), False
            return outcome.hypothesis, separability.reason == TIME_OVER
        return outcome.hypothesis, outcome.reason == "time_limit"

    model = result.outcome.hypothesis, result.outcome.run.rows
    try:
        found = evaluate(evaluation, result.data, columns, model, train, deadline)
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
    return replace(result, evaluation=found)


def _decide_quickly(data: Data, deadline: Deadline) -> tuple[Separability, Hypothesis | None]:
    """Decide separability before a deadline, without maximizing the margin.

    Two rows with the same features and different labels decide it at once. Also returns a
    hypothesis without mistakes in float64, if one is known.
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


def _describe_infinite(data: Data) -> str:
    """Say which estimates of a logistic regression are infinite; return "" on large data."""
    if data.blocks.multiclass or not data.blocks.in_memory or data.examples.numbers.size > SMALL:
        return ""
    from rosenblatt.evidence.separation import infinite_columns

    columns = [quote_column(name) for name in infinite_columns(data.examples)]
    are = "estimate is" if len(columns) == 1 else "estimates are"
    return f"in a logistic regression, {len(columns):,} {are} infinite: {join_words(columns)}"


def decide(data: Data, *, widest: bool = True, deadline: Deadline = NEVER) -> Separability:
    """Decide whether data are linearly separable; rows in the result get the data's row names."""
    found = separability_of(data.blocks, widest=widest, deadline=deadline)
    support = found.support if found.support.ndim == 1 else found.support[:, 0]
    conflicts = (row for conflict in found.conflicts for row in conflict.rows)
    return replace(found, row_names=data.row_names([*support.tolist(), *conflicts]))


def check_passes(
    options: TrainingOptions, evaluation: EvaluationOptions, report: bool = False
) -> None:
    """Raise UsageError on options that need all rows in memory."""
    needs_all = options.order != "cycle" or options.algorithm in ("fewest", "average")
    if needs_all or evaluation.cv or evaluation.test_size or report:
        raise UsageError(NOT_IN_PASSES)
