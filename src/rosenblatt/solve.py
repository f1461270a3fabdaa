"""The product in one function: from examples to a verdict, a line, and what it is worth.

`learn` takes what a person has and `solve` what `read/` made of it. Nothing is printed here: a
`Watcher` is told what is done, and the `Result` tells it all again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rosenblatt import algorithms, checks, clock, engine
from rosenblatt.algorithms.pocket import Plan as PocketPlan
from rosenblatt.algorithms.pocket import Pocket
from rosenblatt.algorithms.scaling import Scaling, Strength, strengths
from rosenblatt.algorithms.walk import Progress
from rosenblatt.clock import Deadline, Stopwatch
from rosenblatt.errors import DataError, UsageError, UserError, column_called
from rosenblatt.evidence.accuracy import Accuracy
from rosenblatt.evidence.guarantee import guarantee_of
from rosenblatt.evidence.separability import Separability, separability_of
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.model import Model
from rosenblatt.read import Layout, Source
from rosenblatt.read.data import Data, of_table, read_data
from rosenblatt.read.encoding import Answers, Encoding, spelled
from rosenblatt.read.plan import Plan, Wishes
from rosenblatt.read.source import numbered
from rosenblatt.trial import Tester, Testing, Trial
from rosenblatt.verdict import Verdict, quick_verdict
from rosenblatt.words import card, counted, listed, no_fewer

if TYPE_CHECKING:
    from rosenblatt.fewest import FewestMistakesResult

ALGORITHMS = ("auto", "pla", "pocket", "fewest")
SECONDS = 5.0
FOREVER = 2**62
MANY_FEATURES = 1000
POCKET_CORRECTIONS = 1000
# Of the time: for the verdict; of what is left then, for the line where there is a trial too;
# of that, for the pocket before a search, for PLA before the widest margin.
VERDICT_SHARE, LINE_SHARE, POCKET_SHARE, PLA_SHARE = 0.3, 0.5, 0.3, 0.7
WORTH_SAYING = 1.0  # seconds
FEW_NUMBERS = 2**20  # in so few it is soon known which columns make a regression infinite
ENDED = " when the time limit ended it"
# What a kind of column is called where that is not its own name, one and many.
KINDS = {
    "category": ("category", "categories"),
    "words": ("word", "words"),
    "entries": ("entry", "entries"),
}


class Watcher(Protocol):
    """Told what is done while it is done; a face has one that speaks."""

    def step(self, what: str, text: str) -> None:
        """Take a line about a step that is done."""
        return

    def note(self, text: str) -> None:
        """Take something a person should know that is not a result."""
        return

    def patience(self, doing: str) -> AbstractContextManager[Any]:
        """While something is done that may take long."""
        return nullcontext()

    def counting(
        self, seconds: float | None, unit: str = "corrections"
    ) -> AbstractContextManager[Callable[[float, int], None]]:
        """While mistakes go down: yields a function of the mistakes and the steps so far."""
        return nullcontext(lambda mistakes, steps: None)


class Silent(Watcher):
    """Says nothing."""


@dataclass(frozen=True)
class How:
    """What a person asked for: the algorithm, its order and budgets, scaling, the seed."""

    algorithm: str = "auto"
    order: str = "cycle"
    scale: bool = True
    time_limit: float = SECONDS
    seed: int = 0

    @property
    def rng(self) -> np.random.Generator:
        """A new source of chance, the same every time."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was learnt, in the values of the file, and what is known of it."""

    hypothesis: Hypothesis
    algorithm: str  # what found it
    mistakes: int  # on the rows learnt from, in exact arithmetic
    corrections: int  # made by PLA or the pocket
    lower_bound: int = 0  # no line makes fewer mistakes than this
    bound: float | None = None  # the most corrections PLA could need on what it learnt from
    interrupted: bool = False
    cut_short: bool = False  # by the time limit
    steps: tuple[str, ...] = ()  # what happened, a line each
    run: algorithms.Run | None = None  # the run to be played …
    learnt_from: Examples | None = None  # … on these values …
    widest: Separability | None = None  # … of which this is known
    played: tuple[str, str] = ("pla", "cycle")  # the algorithm and the order of that run


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What `learn` found: the verdict, the line, and what it is worth.

    `print` tells it in the sentences of `rosenblatt learn`, and a notebook shows it.

    Parameters
    ----------
    data : Data
        What it was learnt from.
    how : How
        What was asked for.
    decided : Verdict
        The verdict with its numbers and its proof.
    outcome : Outcome
        The line and how it was learnt.
    trial : Trial, optional
        How well lines learnt in the same way answered rows that they had not seen.
    """

    data: Data
    how: How
    decided: Verdict
    outcome: Outcome
    trial: Trial | None = None

    @property
    def verdict(self) -> str:
        """Can a line answer every row: "separable", "quasi-separable", "inseparable", …"""
        return self.decided.name

    @property
    def separability(self) -> Separability:
        """What the verdict is known by, with its `proof`, in the values of the data."""
        return self.decided.answer

    @property
    def hypothesis(self) -> Hypothesis:
        """The line, in the values of the data."""
        return self.outcome.hypothesis

    @property
    def mistakes(self) -> int:
        """Of the line on the rows learnt from, in exact arithmetic."""
        return self.outcome.mistakes

    @property
    def lower_bound(self) -> int:
        """No line makes fewer mistakes than this."""
        return self.outcome.lower_bound

    @property
    def accuracy(self) -> Accuracy | None:
        """On rows not learnt from: share, interval, baseline, balanced, confusion."""
        return None if self.trial is None else self.trial.total

    @property
    def labels(self) -> list[str]:
        """What no and yes are called."""
        answers = self.data.plan.answers
        return [spelled(answers.negative), spelled(answers.positive)]

    @property
    def model(self) -> Model:
        """The line with the columns it needs: it predicts, and can be saved."""
        made, table = self.data.plan, self.data.table
        names = [] if table is None else table.column_names
        width = len(names) if names and names == numbered(len(names)) else None
        return Model(made.encoding, self.hypothesis, made.answers, self._learnt(), width)

    @property
    def cut_short(self) -> list[str]:
        """What the time limit ended: "verdict", "learning", "test"."""
        stages = {
            "verdict": self.decided.cut_short,
            "learning": self.outcome.cut_short,
            "test": self.trial is not None and self.trial.cut_short > 0,
        }
        return [stage for stage, ended in stages.items() if ended]

    def save(self, path: str | Path) -> None:
        """Write the model as JSON, whole or not at all; `rosenblatt.load` reads it.

        Parameters
        ----------
        path : path
            Where to.
        """
        self.model.save(path)

    def report(self, path: str | Path) -> None:
        """Write a page with the verdict, the run to play, the weights and the mistakes.

        Parameters
        ----------
        path : path
            Where to; any browser opens it, without a network.
        """
        from rosenblatt.show.findings import findings_of_result
        from rosenblatt.show.report import Report

        Report.of(findings_of_result(self)).save(path)

    def strengths(self) -> list[Strength]:
        """The features, strongest first, by what a typical change moves the score."""
        return strengths(self.hypothesis, self.data.examples)

    def found(self) -> str:
        """What was found, in words."""
        n = self.data.examples.n
        if self.mistakes == 0:
            return f"a line that answers all {counted(n, 'row')}"
        told = f"a line with {counted(self.mistakes, 'mistake')} on {counted(n, 'row')}"
        if self.lower_bound >= self.mistakes:
            return f"{told}; {no_fewer()}"
        if self.lower_bound:
            told += f"; {no_fewer(f'{self.lower_bound:,}')}"
        return told

    def facts(self) -> list[tuple[str, str]]:
        """What a report tells, in order."""
        facts = [("verdict", self.decided.sentence)]
        facts += [("learnt", step) for step in self.outcome.steps]
        facts.append(("found", self.found()))
        if self.trial is not None:
            facts.append(("tested", self.trial.sentence()))
            facts.append(("worth", self.trial.total.worth(self.labels)[0]))
        return facts

    def to_json(self) -> dict[str, Any]:
        """The result as JSON."""
        o, answers = self.outcome, self.data.plan.answers
        return {
            "data": self.data.name,
            "rows": self.data.examples.n,
            "features": self.data.examples.d,
            "target": answers.column,
            "target_guessed": self.data.plan.guessed,
            "negative": answers.negative,
            "positive": answers.positive,
            "verdict": self.decided.to_json(),
            "algorithm": o.algorithm,
            "corrections": o.corrections,
            "bound": o.bound,
            "mistakes": o.mistakes,
            "lower_bound": o.lower_bound,
            "interrupted": o.interrupted,
            "cut_short": self.cut_short,
            "accuracy": None if self.trial is None else self.trial.to_json(),
            "threshold": o.hypothesis.threshold,
            "weights": [asdict(strength) for strength in self.strengths()],
        }

    def _learnt(self) -> dict[str, Any]:
        """How it was learnt, as a model tells it."""
        o = self.outcome
        return {
            "algorithm": o.algorithm,
            "order": self.how.order,
            "scaled for learning": self.how.scale,
            "seed": self.how.seed,
            "examples": self.data.examples.n,
            "verdict": self.verdict,
            "corrections": o.corrections,
            "bound on corrections": o.bound,
            "mistakes": o.mistakes,
            "no line makes fewer mistakes than": o.lower_bound,
            "interrupted": o.interrupted,
            "accuracy": None if self.trial is None else self.trial.to_json(),
        }

    def __str__(self) -> str:
        facts = [("read", read_sentence(self.data)), *self.facts()[: 2 + len(self.outcome.steps)]]
        if self.trial is not None:
            facts += self.trial.told(self.data.plan.answers)
        return "\n".join(f"{what:<9} {text}" for what, text in facts)

    def __repr__(self) -> str:
        return f"<Result: {self.verdict}; {self.found()}>"

    def _repr_html_(self) -> str:
        first, *rest = self.facts()
        return card(first[1], rest)


def learn(
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    positive: Any = None,
    missing: str = "error",
    ignore: Sequence[str] = (),
    category: Sequence[str] = (),
    text: Sequence[str] = (),
    algorithm: str = "auto",
    order: str = "cycle",
    scale: bool = True,
    time_limit: float = SECONDS,
    test_size: float = 0.2,
    cv: int | None = None,
    random_state: int = 0,
) -> Result:
    """Learn to answer yes or no: whether a line answers every row, that line, its worth.

    What `rosenblatt learn` does, with the same options. Nothing is printed or written.

    Parameters
    ----------
    X : array, CSR matrix, frame, or path
        The rows. A frame may hold text: it becomes categories or words, as in a file. A path is
        a file of any format that the command line reads.
    y : sequence of answers, or str
        One of two answers for each row; of a frame, also the name of the column that has them.
    target : str, optional
        The column of answers of a frame or a file; found where only one has two values.
    positive : optional
        The answer that counts as yes; of three or more, it is learnt against the rest.
    missing : {"error", "drop", "mean"}
        Where a number is missing in a frame or a file: refuse, drop the row, take the mean.
    ignore, category, text : sequences of str
        Columns to leave out, to take as categories, to take as words.
    algorithm : {"auto", "pla", "pocket", "fewest"}
        "auto": PLA if a line is right everywhere, else the pocket, then a search.
    order : str
        In which PLA visits the examples.
    scale : bool
        Whether to bring columns to one scale to learn; weights are for the values as given.
    time_limit : float
        Seconds for all that comes after reading; the best so far is kept.
    test_size : float
        The share of rows held out to measure accuracy; 0 for none.
    cv : int, optional
        Measure it in so many folds instead.
    random_state : int
        Makes it repeatable.

    Returns
    -------
    Result
        `verdict`, `model`, `mistakes`, `lower_bound`, `accuracy`, `report(path)`, `save(path)`.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> r = rb.learn(X, ["no", "yes", "yes", "no"])
    >>> print(r)
    read      X: 4 rows, 2 numbers; answers no or yes
    verdict   inseparable: no line answers every row, proved in exact arithmetic; rows 1, 2, 3 and
              4 cannot all be right
    learnt    the pocket kept 1 mistake after 1,000 corrections
    learnt    the search found 1 mistake
    found     a line with 1 mistake on 4 rows; no line makes fewer
    >>> rb.learn(X, ["no", "no", "no", "yes"]).model.predict([[1, 1], [0, 1]]).tolist()
    ['yes', 'no']
    """
    checks.one_of("algorithm", algorithm, ALGORITHMS)
    wishes = Wishes(
        target=y if isinstance(y, str) else target,
        positive=None if positive is None else spelled(positive),
        ignore=tuple(ignore),
        categories=tuple(category),
        texts=tuple(text),
        missing=missing,
    )
    how = How(algorithm, order, scale, time_limit, random_state)
    return solve(_given(X, y, wishes), (Layout(), wishes), how, Testing(test_size, None, cv))


def solve(
    data: Data,
    reading: tuple[Layout, Wishes],
    how: How = How(),
    testing: Testing = Testing(),
    watcher: Watcher = Silent(),
) -> Result:
    """Decide, learn and test in one time limit, telling each step as it is done.

    Parameters
    ----------
    data : Data
        What to learn from.
    reading : (Layout, Wishes)
        How it was read, to read a file to test on and parts of it alike.
    how : How
        What was asked for.
    testing : Testing
        How to measure accuracy.
    watcher : Watcher
        Is told of each step.
    """
    deadline, watch = Deadline.after(how.time_limit), Stopwatch()
    try:
        result = _learnt(data, how, (deadline, testing.learns), watcher)
        if not result.outcome.interrupted:
            trial = _tried(result, reading, testing, deadline, watcher)
            result = replace(result, trial=trial)
    except UserError:
        raise
    except ValueError as trouble:  # of numbers too large to learn from
        raise DataError(f"{data.name}: {trouble}") from None
    tell_compiling(watcher, watch, how.time_limit)
    if result.outcome.interrupted:
        watcher.note(f"interrupted: kept the best so far, {counted(result.mistakes, 'mistake')}.")
    return result


def _learnt(data: Data, how: How, time: tuple[Deadline, bool], watcher: Watcher) -> Result:
    """The verdict and the line; a trial needs as much time as the line."""
    deadline, has_trial = time
    verdict = quick_verdict(data.examples, data.rows, deadline.share(VERDICT_SHARE))
    watcher.step("verdict", verdict.sentence)
    if verdict.name == "quasi-separable" and data.examples.numbers.size <= FEW_NUMBERS:
        from rosenblatt.evidence.separation import infinite_columns

        columns = [column_called(name) for name in infinite_columns(data.examples)]
        are = "estimate is" if len(columns) == 1 else "estimates are"
        watcher.step("", f"as a regression, {len(columns):,} {are} infinite: {listed(columns)}")
    share = deadline.share(LINE_SHARE if has_trial else 1.0)
    outcome = learn_line(data.examples, how, verdict.separator, watcher, share)
    outcome = replace(outcome, lower_bound=max(verdict.fewest, outcome.lower_bound))
    for step in outcome.steps:
        watcher.step("learnt", step)
    result = Result(data, how, verdict, outcome)
    watcher.step("found", result.found())
    return result


def _tried(
    result: Result,
    reading: tuple[Layout, Wishes],
    testing: Testing,
    deadline: Deadline,
    watcher: Watcher,
) -> Trial | None:
    """The accuracy on rows not learnt from; Ctrl-C leaves it out."""
    how = result.how
    if how.algorithm == "auto" and result.decided.separator is not None:
        how = replace(how, algorithm="pla")

    def learner(examples: Examples, share: Deadline) -> tuple[Hypothesis, bool]:
        outcome = learn_line(examples, how, None, watcher, share)
        if outcome.interrupted:
            raise KeyboardInterrupt
        return outcome.hypothesis, outcome.cut_short

    tester = Tester(result.data, reading, learner, result.how.rng, deadline)
    try:
        trial = tester.run(testing, result.hypothesis)
    except KeyboardInterrupt:
        watcher.note("interrupted: the model is kept, its accuracy was not measured.")
        return None
    if trial is not None:
        tell_trial(watcher, trial, result.data.plan.answers)
    return trial


def tell_trial(watcher: Watcher, trial: Trial, answers: Answers) -> None:
    """What a trial showed."""
    for what, text in trial.told(answers):
        watcher.step(what, text)
    for sentence in () if trial.unseen is None else trial.unseen.sentences():
        watcher.note(sentence)


def tell_compiling(watcher: Watcher, watch: Stopwatch, limit: float | None) -> None:
    """Say why it took longer than the limit, where that is so."""
    if limit is not None and watch.seconds > limit and watch.not_counted >= WORTH_SAYING:
        took = f"compiling and loading took {watch.not_counted:.1f} s"
        watcher.note(f"{took}, which the time limit does not count.")


# What a person gives, as data


def _given(X: Any, y: Any, wishes: Wishes) -> Data:
    if isinstance(X, str | os.PathLike):
        if y is not None and not isinstance(y, str):
            raise UsageError("X is a file: name the column of its answers with target=.")
        return read_data(Source.find(os.fspath(X)), Layout(), wishes)
    if _is_frame(X):
        table = _arrow(X)
        if y is not None and not isinstance(y, str):
            name = str(getattr(y, "name", None) or "answer")
            while name in table.column_names:
                name += "_"
            wishes = replace(wishes, target=name)
            table = table.append_column(name, _arrow_column(y))
        return of_table(table, wishes, "X")
    return _of_arrays(X, y, wishes)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "column_names") or hasattr(X, "columns")


def _arrow(frame: Any) -> Any:
    import pyarrow as pa

    if hasattr(frame, "iloc"):  # pandas, without the names of its rows
        return pa.Table.from_pandas(frame, preserve_index=False)
    return frame.to_arrow() if hasattr(frame, "to_arrow") else pa.table(frame)


def _arrow_column(y: Any) -> Any:
    import pyarrow as pa

    return pa.array(y if isinstance(y, list | tuple) else np.asarray(y))


def _of_arrays(X: Any, y: Any, wishes: Wishes) -> Data:
    """Arrays of numbers, taken as they are."""
    from rosenblatt.read.columns import Number

    examples = Examples.from_arrays(X, y)
    negative, positive = examples.labels.tolist()
    if wishes.positive == spelled(negative):
        examples = replace(examples, y=-examples.y, labels=examples.labels[::-1])
        negative, positive = positive, negative
    columns = tuple(Number(f"x{i}") for i in range(1, examples.d + 1))
    made = Plan(Encoding(columns), Answers("", negative, positive))
    return Data("X", examples, np.arange(examples.n), made, None)


def read_sentence(data: Data) -> str:
    """What was read, in words."""
    return f"{data.name}: {counted(data.examples.n, 'row')}, {columns_told(data.plan)}"


def columns_told(plan: Plan) -> str:
    """The columns and the answers, in words."""
    kinds: dict[str, int] = {}
    for column in plan.encoding.columns:
        count = 1 if column.kind == "category" else len(column.features)
        kinds[column.kind] = kinds.get(column.kind, 0) + count
    parts = ", ".join(counted(n, *KINDS.get(kind, (kind,))) for kind, n in kinds.items())
    answers = plan.answers
    pair = f"{spelled(answers.negative)} or {spelled(answers.positive)}"
    if not answers.column:
        return f"{parts}; answers {pair}"
    guessed = ", the only one with two values" if plan.guessed else ""
    return f"{parts}; answers in {column_called(answers.column)} ({pair}){guessed}"


# Which algorithm learns: PLA where a line is right everywhere, else pocket and search


def learn_line(
    examples: Examples,
    how: How,
    separator: Hypothesis | None,
    watcher: Watcher,
    deadline: Deadline,
) -> Outcome:
    """Learn by the algorithm asked for, or by the one that suits.

    A separator is a line without mistakes, where one is known.
    """
    if how.scale:
        scaling = Scaling.of(examples)
        scaled = scaling.apply(examples)
    else:
        scaling, scaled = Scaling(np.zeros(examples.d), np.ones(examples.d)), examples
    task = Task(examples, scaled, scaling, how, watcher, deadline)
    algorithm = how.algorithm
    if algorithm == "auto":
        algorithm = "fewest" if separator is None else "pla"
    return LEARNERS[algorithm](task, separator)


@dataclass(frozen=True, eq=False)
class Task:
    """Examples as they are and as they are learnt from."""

    examples: Examples
    scaled: Examples
    scaling: Scaling
    how: How
    watcher: Watcher
    deadline: Deadline

    def folded(self, hypothesis: Hypothesis) -> Hypothesis:
        """A hypothesis in the values of the file."""
        folded = self.scaling.fold(hypothesis)
        if not np.isfinite(folded.w).all():
            raise ValueError("the weights are larger than any float; scale the columns first")
        return folded

    def count(self, hypothesis: Hypothesis) -> int:
        """The mistakes of a hypothesis in the values of the file."""
        return len(hypothesis.mistakes(self.examples))


def _by_pla(task: Task, separator: Hypothesis | None) -> Outcome:
    with task.watcher.patience("running PLA"):
        run, stopped = _pla(task, task.deadline.share(1.0 if separator is None else PLA_SHARE))
    cut_short = run.reason == "time_limit"
    hypothesis = task.folded(run.hypothesis)
    if run.separated:
        hypothesis = _mended(task, hypothesis)
    corrections, mistakes = len(run.trace), task.count(hypothesis)
    told = f"PLA made {counted(corrections, 'correction')} in {counted(run.cycles, 'cycle')}"
    told += ENDED if cut_short else ""
    answer = _widest(task, separator, run)
    separator, bound = _folded_line(task, separator, answer)
    if bound is None:
        bound = _bound(task, (separator, None if mistakes else hypothesis))
    steps: tuple[str, ...] = (told + (f"; the bound allows {bound:,.0f}" if bound else ""),)
    algorithm = "PLA"
    if mistakes and separator is not None and not stopped:
        steps += (f"PLA had {counted(mistakes, 'mistake')} left; took the proof's line instead",)
        hypothesis, mistakes, algorithm = separator, task.count(separator), "widest margin"
    return Outcome(
        hypothesis,
        algorithm,
        mistakes,
        corrections,
        bound=bound,
        interrupted=stopped,
        cut_short=cut_short,
        steps=steps,
        run=run,
        learnt_from=task.scaled,
        widest=answer,
        played=("pla", task.how.order),
    )


def _pla(task: Task, deadline: Deadline) -> tuple[algorithms.Run, bool]:
    """A run of PLA that ends in time, and whether a person ended it."""
    rule = algorithms.Rule(task.how.order, rng=task.how.rng)
    budget = algorithms.Budget(FOREVER, seconds=deadline.left)
    try:
        return algorithms.pla(task.scaled, rule, budget), False
    except algorithms.Interrupted as stop:
        return stop.run, True


def _mended(task: Task, hypothesis: Hypothesis) -> Hypothesis:
    """The hypothesis, corrected further where folding the scale back rounded a row over."""
    if task.count(hypothesis) == 0:
        return hypothesis
    budget = algorithms.Budget(FOREVER, 1000, task.deadline.left)
    size = float(np.abs(hypothesis.w).max()) / task.scaled.n
    run = algorithms.pla(task.examples, algorithms.Rule(eta=size), budget, hypothesis.w.copy())
    return run.hypothesis if run.separated else hypothesis


def _widest(task: Task, separator: Hypothesis | None, run: algorithms.Run) -> Separability | None:
    """The widest line on the values learnt from, where one is right there; not of many features.

    It is decided already that there is one: that of PLA, or of the proof once it is scaled.
    """
    if separator is None or task.scaled.d > MANY_FEATURES:
        return None
    known = run.hypothesis if run.separated else replace(separator, w=_forth(task, separator))
    if len(known.mistakes(task.scaled)):
        return None
    answer = separability_of(task.scaled, deadline=task.deadline, known=known.w)
    return answer if answer and answer.weights is not None else None


def _folded_line(
    task: Task, separator: Hypothesis | None, answer: Separability | None
) -> tuple[Hypothesis | None, float | None]:
    """The widest line in the values of the file, and R²/rho² where it was found."""
    if answer is None:
        return separator, None
    line = task.folded(Hypothesis(np.asarray(answer.weights), task.scaled.x0))
    return (line if task.count(line) == 0 else separator), _finite(answer.bound)


def _bound(task: Task, known: Iterable[Hypothesis | None]) -> float | None:
    """R²/rho² on the values learnt from, by the widest of some lines without mistakes."""
    bounds = [guarantee_of(task.scaled, _forth(task, h)).bound for h in known if h is not None]
    return _finite(min((b for b in bounds if b is not None), default=None))


def _finite(bound: float | None) -> float | None:
    return bound if bound is not None and np.isfinite(bound) else None


def _forth(task: Task, hypothesis: Hypothesis) -> Any:
    """The weights on scaled values: the inverse of folding."""
    w = hypothesis.w.copy()
    if hypothesis.x0:
        w[0] += float(w[1:] @ task.scaling.centre) / hypothesis.x0
    w[1:] *= task.scaling.width
    return w


def _by_pocket(task: Task, separator: Hypothesis | None) -> Outcome:
    rule, seconds = algorithms.Rule("random", rng=task.how.rng), task.deadline.left
    budget = algorithms.Budget(FOREVER, POCKET_CORRECTIONS, seconds)
    with task.watcher.counting(seconds) as tell:

        def watch(number: int, so_far: Progress, pocket: Pocket) -> None:
            tell(pocket.mistakes, so_far.corrections)

        plan = PocketPlan(threads=engine.cores(), watch=watch)
        run = algorithms.pocket(task.scaled, rule, budget, plan=plan)
    hypothesis = min(task.folded(run.hypothesis), _constant(task.examples), key=task.count)
    mistakes, corrections = task.count(hypothesis), len(run.trace)
    cut_short = run.reason == "time_limit"
    told = (
        f"the pocket kept {counted(mistakes, 'mistake')} after {counted(corrections, 'correction')}"
        + (ENDED if cut_short else "")
    )
    return Outcome(
        hypothesis,
        "pocket",
        mistakes,
        corrections,
        interrupted=run.reason == "interrupted",
        cut_short=cut_short,
        steps=(told,),
        run=run,
        learnt_from=task.scaled,
        played=("pocket", rule.order),
    )


def _constant(examples: Examples) -> Hypothesis:
    """The line that gives every row the more frequent answer: what a pocket must beat."""
    w = np.zeros(examples.d + 1)
    w[0] = 1.0 if 2 * np.count_nonzero(examples.y > 0) > examples.n else -1.0
    return Hypothesis(w, examples.x0)


def _by_search(task: Task, separator: Hypothesis | None) -> Outcome:
    """The pocket first, then the search for the rest of the time; Ctrl-C keeps the better."""
    first = _by_pocket(replace(task, deadline=task.deadline.share(POCKET_SHARE)), separator)
    if first.interrupted or first.mistakes == 0:
        return first
    try:
        found = _searched(task)
    except KeyboardInterrupt:
        return replace(first, interrupted=True)
    cut_short = found.stop_reason == "time_limit"
    told = f"the search found {counted(int(found.mistakes), 'mistake')}"
    told += ENDED if cut_short else ""
    better = found.mistakes < first.mistakes
    x0 = task.examples.x0
    w = found.weights if x0 else np.concatenate(([0.0], found.weights))
    return replace(
        first,
        hypothesis=Hypothesis(w, x0) if better else first.hypothesis,
        algorithm="search for the fewest mistakes" if better else first.algorithm,
        mistakes=int(found.mistakes) if better else first.mistakes,
        lower_bound=int(found.lower_bound),
        interrupted=found.stop_reason == "interrupted",
        cut_short=cut_short,
        steps=(*first.steps, told),
    )


def _searched(task: Task) -> FewestMistakesResult:
    # Here, for it brings SciPy's optimisers with it, which PLA has no use for.
    with clock.standing_still():
        from rosenblatt.algorithms.best import Search
        from rosenblatt.fewest import fewest_of

    seconds = task.deadline.left
    with task.watcher.counting(seconds, "steps") as tell:
        search = Search(seconds, os.cpu_count() or 1, task.how.rng, tell)
        return fewest_of(task.examples, search)


LEARNERS: dict[str, Callable[[Task, Hypothesis | None], Outcome]] = {
    "pla": _by_pla,
    "pocket": _by_pocket,
    "fewest": _by_search,
}
