"""The product in one function: from examples to a verdict, a line, and what it is worth.

`learn` takes what a person has and `solve` what `read/` made of it, in memory or in passes over a
file. Nothing is printed here: a `Watcher` is told what is done, and the `Result` tells it again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt import checks, clock
from rosenblatt.algorithms import ORDERS
from rosenblatt.clock import NEVER, Deadline, Silent, Stopwatch, Watcher
from rosenblatt.errors import (
    BadCellError,
    DataError,
    UsageError,
    UserError,
    as_option,
)
from rosenblatt.evidence.accuracy import Accuracy, Tester, Testing, Trial
from rosenblatt.evidence.guarantee import whole
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import (
    TIME_OVER,
    Separability,
    contradicted,
    separability_of,
)
from rosenblatt.examples import Examples, JointExamples
from rosenblatt.hypothesis import (
    Hypothesis,
    Strength,
    mistakes_of,
    strengths,
    strengths_of_labels,
)
from rosenblatt.model import Model
from rosenblatt.read import Layout, Source
from rosenblatt.read.columns import Number
from rosenblatt.read.convert import opened
from rosenblatt.read.data import (
    Data,
    Footprint,
    of_table,
    read_data,
)
from rosenblatt.read.encoding import POLICIES, Answers, Encoding, ManyAnswers, spelled
from rosenblatt.read.plan import Plan, Wishes, check_labels
from rosenblatt.read.source import numbered
from rosenblatt.strategy import (
    ALGORITHMS,
    How,
    Outcome,
    learn_line,
)
from rosenblatt.words import (
    cannot_be_right,
    card,
    column_called,
    counted,
    line_called,
    listed,
    no_fewer,
    rows_named,
    verdict_sentence,
)

SECONDS = 5.0
# Of the time: for the verdict; of what is left then, for the line where there is a trial too.
VERDICT_SHARE, LINE_SHARE = 0.3, 0.5
AS_LONG_AGAIN = 5.0  # seconds that PLA gets in passes at least where the answer is known already
WORTH_SAYING = 1.0  # seconds
FEW_NUMBERS = 2**20  # in so few it is soon known which columns make a regression infinite
NOT_IN_PASSES = (
    "in passes over a file there is PLA or the pocket, in file order, and no --cv or --report; "
    "give --test FILE to measure accuracy."
)


@dataclass(frozen=True, eq=False)
class Verdict:
    """The answer to: can a line answer every row?"""

    answer: Separability
    rows: Any  # the row of the file, from 0, of each example: an array, or indexed like one
    separator: Hypothesis | None = None  # a line without mistakes, where one is known
    more: str = ""  # what it means for a regression
    first: int = 1  # what the first row is called

    @property
    def name(self) -> str:
        """One of the verdicts."""
        return self.answer.verdict

    @property
    def cut_short(self) -> bool:
        """Whether more would have been known with more time."""
        return self.answer.reason == TIME_OVER

    @property
    def fewest(self) -> int:
        """No line makes fewer mistakes than this."""
        if not self.answer.blocking:
            return 0
        # Of more than two labels, sets may have an example in common, against other rivals.
        if self.answer.proof is None or self.answer.rivals is not None:
            return 1
        return len(self.answer.proof.parts)

    @property
    def sentence(self) -> str:
        """The verdict and its reason."""
        many = self.answer.rivals is not None
        told = verdict_sentence(self.name, reason=self.answer.reason, many=many)
        if not self.answer.blocking or self.name == "undecided":
            return told
        part = self.answer.blocking[0]
        return f"{told}; {cannot_be_right(self._called(part.rows), part.rest)}"

    def explained(self) -> Iterator[str]:
        """More about it, a line each: margin and bound, or nothing beyond the sentence."""
        a = self.answer
        if not a or a.margin is None:
            return
        width = "widest margin" if a.gap is not None and a.gap <= 1e-9 else "margin"
        yield f"the {width} is rho = {a.margin:.6g}, the longest row has R = {a.radius:.6g}"
        if a.bound is not None and a.bound < float("inf"):
            yield f"PLA needs at most R²/rho² = {counted(whole(a.bound), 'correction')}"
        if len(a.support):
            yield f"on the margin: {rows_named(self._on_margin())}"
        if a.scaled is not None and a.scaled.bound and a.bound and a.scaled.bound < a.bound / 10:
            yield (
                "with each column divided by its largest value this line's bound would be "
                f"{whole(a.scaled.bound):,}"
            )

    def blocking(self) -> list[tuple[int, float]]:
        """Examples that cannot all be right and their shares of the sum that is zero.

        Of more than two labels they are examples against rivals, which `pair` tells apart.
        """
        if not self.answer.blocking:
            return []
        part = self.answer.blocking[0]
        # Integers of any size: divided as such, so that no float overflows.
        total = sum(part.multipliers) + part.rest
        pairs = zip(part.rows, part.multipliers, strict=True)
        shares = [(n, float(Fraction(m, total))) for n, m in pairs]
        return sorted(shares, key=lambda pair: -pair[1])

    def pair(self, row: int) -> tuple[int, str | None]:
        """An example, and where it stands against one of more than two labels, that label."""
        if self.answer.rivals is None:
            return row, None
        n, r = self.answer.rivals.pair(row)
        return n, self._label(r)

    def to_json(self) -> dict[str, Any]:
        """The verdict as JSON."""
        a = self.answer
        return {
            "verdict": self.name,
            "margin": a.margin,
            "radius": a.radius,
            "bound": a.bound if a.bound is not None and np.isfinite(a.bound) else None,
            "on_margin": self._on_margin_json(),
        }

    def _on_margin_json(self) -> list[Any]:
        support = self.answer.support
        if self.answer.rivals is None:
            rows: list[int] = (self.rows[support] + self.first).tolist()
            return rows
        return [{"row": self._number(n), "against": self._label(r)} for n, r in support.tolist()]

    def _on_margin(self) -> list[Any]:
        support = self.answer.support
        if self.answer.rivals is None:
            return self._called(support)
        return [f"{self._number(n)} against {self._label(r)}" for n, r in support.tolist()]

    def _called(self, examples: Any) -> list[Any]:
        """Rows as a person counts them, of more than two labels against which of them."""
        if self.answer.rivals is None:
            return [row + self.first for row in sorted(self.rows[list(examples)].tolist())]
        pairs = (self.pair(row) for row in sorted(examples))
        return [f"{self._number(n)} against {rival}" for n, rival in pairs]

    def _number(self, n: int) -> int:
        return int(self.rows[n]) + self.first

    def _label(self, place: int) -> str:
        assert self.answer.rivals is not None
        return spelled(self.answer.rivals.examples.labels[place].item())


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
    def mistakes(self) -> int | None:
        """Of the line on the rows learnt from; None in passes that Ctrl-C ended."""
        return self.outcome.mistakes

    @property
    def lower_bound(self) -> int:
        """No line makes fewer mistakes than this."""
        return self.outcome.lower_bound

    @property
    def optimal(self) -> bool:
        """Whether it is known that no line makes fewer mistakes than this one."""
        return self.mistakes == self.lower_bound

    @property
    def proof(self) -> Proof | None:
        """What shows the lower bound, or where that is 0, the verdict; None if nothing does."""
        return self.outcome.proof or self.separability.proof

    @property
    def _proved(self) -> str:
        """How much evidence shows the lower bound, in words; weights are of the verdict alone."""
        bound = self.outcome.proof
        return "" if bound is None else replace(bound, weights=()).size

    @property
    def accuracy(self) -> Accuracy | None:
        """On rows not learnt from: share, interval, baseline, balanced, confusion."""
        return None if self.trial is None else self.trial.total

    @property
    def labels(self) -> list[str]:
        """What no and yes are called, or all of more labels."""
        return self.data.plan.answers.spellings

    @property
    def many(self) -> bool:
        """Whether there are more than two labels, with weights for each."""
        return len(self.labels) > 2

    @property
    def held(self) -> bool:
        """Whether all rows were in memory, not read in passes."""
        return isinstance(self.data.blocks, Examples)

    @property
    def model(self) -> Model:
        """The line with the columns it needs: it predicts, and can be saved."""
        made, names = self.data.plan, self.data.names
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
        if not self.held:
            raise UsageError(NOT_IN_PASSES)
        from rosenblatt.show.report import Report

        Report.of(self).save(path)

    def strengths(self) -> list[Strength]:
        """The features, strongest first, by what a typical change moves the score.

        Of more than two labels those of label after label, each with its `label`.
        """
        if not self.many:
            return strengths(self.hypothesis, self.data.blocks)
        each = strengths_of_labels(self.hypothesis, self.data.blocks, self.labels)
        return [one for label in each for one in label]

    def found(self) -> str:
        """What was found, in words."""
        rows = counted(self.outcome.run.rows, "row")
        if self.mistakes is None:
            return "interrupted: kept the weights so far"
        line = line_called(self.many)
        if self.mistakes == 0:
            return f"{line} that answer{'' if self.many else 's'} all {rows}"
        told = f"{line} with {counted(self.mistakes, 'mistake')} on {rows}"
        if not self.lower_bound:
            return told
        than = "" if self.optimal else f"{self.lower_bound:,}"
        return f"{told}; {no_fewer(than, self._proved, many=self.many)}"

    def facts(self) -> list[tuple[str, str]]:
        """What a report tells, in order."""
        facts = self._story()
        if self.trial is not None:
            facts.append(("tested", self.trial.sentence()))
            facts.append(("worth", self.trial.total.worth(self.labels)[0]))
        return facts

    def _story(self) -> list[tuple[str, str]]:
        facts = [("verdict", self.decided.sentence)]
        facts += [("", self.decided.more)] if self.decided.more else []
        facts += [("learnt", step) for step in self.outcome.steps]
        return [*facts, ("found", self.found())]

    def to_json(self) -> dict[str, Any]:
        """The result as JSON."""
        o, answers = self.outcome, self.data.plan.answers
        pair = zip(("negative", "positive"), answers.names, strict=False)
        return {
            "data": self.data.name,
            "rows": o.run.rows,
            "features": len(self.data.plan.encoding.features),
            "target": answers.column,
            "target_guessed": self.data.plan.guessed,
            **({"labels": list(answers.names)} if self.many else dict(pair)),
            "verdict": self.decided.to_json(),
            "algorithm": o.algorithm,
            "corrections": o.run.corrections,
            "bound": o.bound,
            "mistakes": o.mistakes,
            "lower_bound": o.lower_bound,
            "optimal": self.optimal,
            "proved_by": self._proved or None,
            "interrupted": o.interrupted,
            "cut_short": self.cut_short,
            "accuracy": None if self.trial is None else self.trial.to_json(),
            "threshold": (0.0 - o.hypothesis.w[..., 0] * o.hypothesis.x0).tolist(),
            "weights": [asdict(strength) for strength in self.strengths()],
            **({} if self.held else {"examples": o.run.rows, **self._passed()}),
        }

    def _learnt(self) -> dict[str, Any]:
        """How it was learnt, as a model tells it."""
        o = self.outcome
        return {
            "algorithm": o.algorithm,
            "order": self.how.order,
            "scaled for learning": self.how.scale,
            "seed": self.how.seed,
            "examples": o.run.rows,
            "verdict": self.verdict,
            "corrections": o.run.corrections,
            "bound on corrections": o.bound,
            "mistakes": o.mistakes,
            "no line makes fewer mistakes than": o.lower_bound,
            "interrupted": o.interrupted,
            "accuracy": None if self.trial is None else self.trial.to_json(),
            **({} if self.held else self._passed()),
        }

    def _passed(self) -> dict[str, Any]:
        """What there is to tell of passes over a file."""
        return {
            "order": "cycle",
            "scaled for learning": self.how.scale,
            "in passes": True,
            "cycles": self.outcome.run.cycles,
            "stopped": self.outcome.reason,
        }

    def __str__(self) -> str:
        notes = [("", note) for note in self.data.notes]
        facts = [("read", str(self.data)), *notes, *self._story()]
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
    ignore: str | Sequence[str] = (),
    number: str | Sequence[str] = (),
    category: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    algorithm: str = "auto",
    order: str = "cycle",
    scale: bool = True,
    time_limit: float | None = None,
    test_size: float = 0.2,
    test: str | os.PathLike[str] | None = None,
    cv: int | None = None,
    random_state: int = 0,
) -> Result:
    """Learn to answer rows: whether a line answers every one, that line, and what it is worth.

    What `rosenblatt learn` does, with the same options. Nothing is printed or written. More than
    two labels are learnt together, with weights for each: the highest score is the answer.

    Parameters
    ----------
    X : array, CSR matrix, frame, or path
        The rows. A frame may hold text: it becomes categories or words, as in a file. A path is
        a file of any format that the command line reads.
    y : sequence of answers, or str
        An answer for each row, one of two labels or more; of a frame, also the name of the column
        that has them.
    target : str, optional
        The column of answers of a frame or a file; found where only one has two values, or else
        where only one has a few words.
    positive : optional
        The answer that counts as yes; of three or more, it is learnt against the rest.
    missing : {"error", "drop", "mean"}
        Where a number is missing in a frame or a file: refuse, drop the row, take the mean.
    ignore, number, category, text : str or sequences of str
        Columns to leave out, to take as numbers, as categories, as words.
    algorithm : {"auto", "pla", "pocket", "fewest", "average"}
        "auto": PLA if a line is right everywhere, else the pocket, then of two labels a search.
        "average": the mean of PLA's weights over all visits of 100 cycles.
    order : str
        In which PLA visits the examples.
    scale : bool
        Whether to bring columns to one scale to learn; weights are for the values as given.
    time_limit : float, optional
        Seconds for all that comes after reading; the best so far is kept. Five if not given, and
        no limit for a file larger than memory, which is read in passes.
    test_size : float
        The share of rows held out to measure accuracy; 0 for none.
    test : path, optional
        A file to measure it on instead.
    cv : int, optional
        Measure it in so many folds instead.
    random_state : int
        Makes it repeatable.

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
    read      X: 4 rows, 2 numbers; answers no or yes
    verdict   inseparable: no line answers every row, proved in exact arithmetic; rows 0, 1, 2 and
              3 cannot all be right
    learnt    the pocket kept 1 mistake after 1,000 corrections
    learnt    the search found 1 mistake
    found     a line with 1 mistake on 4 rows; no line makes fewer (proved: 1 blocking set)
    >>> rb.learn(X, ["no", "no", "no", "yes"]).model.predict([[1, 1], [0, 1]]).tolist()
    ['yes', 'no']
    >>> rb.learn(X, ["none", "one", "one", "two"])
    <Result: separable; weights that answer all 4 rows>
    """
    checks.one_of("algorithm", algorithm, ALGORITHMS)
    checks.one_of("order", order, ORDERS)
    checks.one_of("missing", missing, POLICIES)
    checks.flag("scale", scale)
    checks.whole_number("random_state", random_state, 0)
    if time_limit is not None:
        checks.positive_number("time_limit", time_limit)
    if cv is not None:
        checks.whole_number("cv", cv, 2)
    if not 0 <= test_size < 1:
        raise ValueError(f"test_size is {test_size!r}; give a share from 0 to below 1.")
    wishes = Wishes(
        target=y if isinstance(y, str) else target,
        positive=None if positive is None else spelled(positive),
        ignore=_several(ignore),
        numbers=_several(number),
        categories=_several(category),
        texts=_several(text),
        missing=missing,
    )
    how = How(algorithm, order, scale, time_limit, random_state)
    testing = Testing(test_size, None if test is None else os.fspath(test), cv)
    try:
        data = _given(X, y, wishes, (how, testing))
        return solve(data, (Layout(), wishes), how, testing)
    except UserError as trouble:
        raise type(trouble)(_in_python(str(trouble))) from None


def _several(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _in_python(sentence: str) -> str:
    """A sentence for the command line with its options as keywords.

    Examples
    --------
    >>> _in_python('Give --missing drop, --category "years in job", or --target for another.')
    'Give missing="drop", category="years in job", or target= for another.'
    """
    value = r'(?!(?:and|or|for) )(?:"([^"]*)"|([^\s",;]*[^\s",;.]))'
    sentence = re.sub(rf"--([a-z]+) {value}", r'\1="\2\3"', sentence)
    return re.sub(r"--([a-z]+)\b", r"\1=", sentence)


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
    held = isinstance(data.blocks, Examples)
    limit = SECONDS if how.time_limit is None and held else how.time_limit
    deadline, watch = Deadline.after(limit), Stopwatch()
    refuse_labels(data, how)
    with about(data):
        result = _learnt(data, how, (deadline, held and testing.learns), watcher)
        if not result.outcome.interrupted:
            trial = _tried(result, reading, testing, deadline, watcher)
            result = replace(result, trial=trial)
    if limit is not None and watch.seconds > limit and watch.not_counted >= WORTH_SAYING:
        took = f"compiling and loading took {watch.not_counted:.1f} s"
        watcher.note(f"{took}, which the time limit does not count.")
    if result.outcome.interrupted and result.mistakes is not None:
        watcher.note(f"interrupted: kept the best so far, {counted(result.mistakes, 'mistake')}.")
    return result


@contextmanager
def about(data: Data) -> Iterator[None]:
    """Turn what cannot be learnt from into a sentence with the name of the data."""
    try:
        yield
    except UserError:
        raise
    except ValueError as trouble:  # of numbers too large to learn from
        raise DataError(f"{data.name}: {trouble}") from None


def _learnt(data: Data, how: How, time: tuple[Deadline, bool], watcher: Watcher) -> Result:
    """The verdict and the line; a trial needs as much time as the line."""
    (deadline, has_trial), begun = time, clock.now()
    decided = quick_verdict(data, deadline.share(VERDICT_SHARE))
    watcher.step("verdict", decided.sentence)
    if decided.name == "quasi-separable" and isinstance(data.blocks, Examples):
        decided = replace(decided, more=_infinite(data.blocks))
        if decided.more:
            watcher.step("", decided.more)
    share = deadline.share(LINE_SHARE if has_trial else 1.0)
    if deadline is NEVER and decided.separator is not None and how.algorithm == "auto":
        share = Deadline.after(max(AS_LONG_AGAIN, clock.now() - begun))
    outcome = learn_line(data.blocks, how, decided.separator, watcher, share)
    if decided.fewest > outcome.lower_bound:
        outcome = replace(outcome, lower_bound=decided.fewest, proof=decided.answer.proof)
    for step in outcome.steps:
        watcher.step("learnt", step)
    result = Result(data, how, decided, outcome)
    watcher.step("found", result.found())
    return result


def _infinite(examples: Examples) -> str:
    """Which estimates of a regression are infinite, where that is soon known."""
    if examples.numbers.size > FEW_NUMBERS or isinstance(examples, JointExamples):
        return ""
    from rosenblatt.evidence.separation import infinite_columns

    columns = [column_called(name) for name in infinite_columns(examples)]
    are = "estimate is" if len(columns) == 1 else "estimates are"
    return f"as a regression, {len(columns):,} {are} infinite: {listed(columns)}"


def _tried(
    result: Result,
    reading: tuple[Layout, Wishes],
    testing: Testing,
    deadline: Deadline,
    watcher: Watcher,
) -> Trial | None:
    """The accuracy on rows not learnt from; Ctrl-C leaves it out."""
    how = replace(result.how, bounded=False)
    if how.algorithm == "auto" and result.decided.separator is not None:
        how = replace(how, algorithm="pla")

    def learner(examples: Examples, share: Deadline) -> tuple[Hypothesis, bool]:
        outcome = learn_line(examples, how, None, watcher, share)
        if outcome.interrupted:
            raise KeyboardInterrupt
        return outcome.hypothesis, outcome.cut_short

    tester = Tester(result.data, reading, learner, result.how.rng, deadline)
    try:
        trial = tester.run(testing, result.hypothesis, result.outcome.run.rows)
    except KeyboardInterrupt:
        watcher.note("interrupted: the model is kept, its accuracy was not measured.")
        return None
    if trial is not None:
        for what, text in trial.told(result.data.plan.answers):
            watcher.step(what, text)
        for sentence in () if trial.unseen is None else trial.unseen.sentences():
            watcher.note(sentence)
    return trial


def quick_verdict(data: Data, deadline: Deadline) -> Verdict:
    """Ask in a hurry: rows that contradict one another settle it, and time may end it.

    Where a line is right everywhere, it is part of the answer.
    """
    two = isinstance(data.blocks, Examples) and not isinstance(data.blocks, JointExamples)
    answer = contradicted(data.examples) if two else None
    if answer is not None:
        return Verdict(answer, data.rows, first=data.first)
    decided = verdict_of(data, widest=False, deadline=deadline)
    if not decided.answer or decided.answer.weights is None:
        return decided
    line = Hypothesis.of(np.asarray(decided.answer.weights))
    spoilt = mistakes_of(data.blocks, line)  # by rounding
    return decided if spoilt else replace(decided, separator=line)


def verdict_of(data: Data, *, widest: bool = True, deadline: Deadline = NEVER) -> Verdict:
    """Ask whether a line can answer every row, in the values of the data."""
    answer = separability_of(data.blocks, widest=widest, deadline=deadline)
    if data.rows is not None:
        return Verdict(answer, data.rows, first=data.first)
    support = answer.support if answer.support.ndim == 1 else answer.support[:, 0]
    blocking = answer.blocking[0].rows if answer.blocking else ()
    if answer.rivals is not None:
        blocking = tuple(answer.rivals.pair(row)[0] for row in blocking)
    return Verdict(answer, data.places([*support.tolist(), *blocking]))


# What a person gives, as data


def _given(X: Any, y: Any, wishes: Wishes, asked: tuple[How, Testing]) -> Data:
    if isinstance(X, str | os.PathLike):
        if y is not None and not isinstance(y, str):
            raise UsageError("X is a file: name the column of its answers with target=.")
        source = Source.find(os.fspath(X))
        if not Footprint.of(source, Layout()).too_large:
            return read_data(source, Layout(), wishes)
        refuse_passes(*asked)
        return opened(source, Layout(), wishes, convert=False)
    if not hasattr(X, "column_names") and not hasattr(X, "columns"):
        return _of_arrays(X, y, wishes)
    table = _arrow(X)
    if y is not None and not isinstance(y, str):
        name = str(getattr(y, "name", None) or "answer")
        while name in table.column_names:
            name += "_"
        answers = pa.array(y if isinstance(y, list | tuple) else np.asarray(y))
        table, wishes = table.append_column(name, answers), replace(wishes, target=name)
    try:
        return replace(of_table(table, wishes, "X"), first=0)
    except BadCellError as bad:
        where = f"X, row {bad.row}, {column_called(bad.column)}"
        advice = 'Give missing="drop", missing="mean", or ignore or category with that column.'
        raise DataError(f"{where}: {bad.text or 'there'} is not {bad.promised}. {advice}") from None


def _arrow(frame: Any) -> Any:
    if hasattr(frame, "iloc"):  # pandas, without the names of its rows
        return pa.Table.from_pandas(frame, preserve_index=False)
    return frame.to_arrow() if hasattr(frame, "to_arrow") else pa.table(frame)


def _of_arrays(X: Any, y: Any, wishes: Wishes) -> Data:
    """Arrays of numbers, taken as they are."""
    examples = JointExamples.from_arrays(X, y)
    columns = tuple(Number(f"x{i}") for i in range(1, examples.d + 1))
    if isinstance(examples, JointExamples) and wishes.positive is not None:
        examples = _against_the_rest(examples, wishes.positive)
    if isinstance(examples, JointExamples):
        labels = examples.labels.tolist()
        check_labels(labels, examples.n, "y", "the answers as text")
        made = Plan(Encoding(columns), ManyAnswers("", tuple(labels)))
        return Data("X", examples, np.arange(examples.n), made, None, first=0)
    negative, positive = examples.labels.tolist()
    if wishes.positive == spelled(negative):
        examples = replace(examples, y=-examples.y, labels=examples.labels[::-1])
        negative, positive = positive, negative
    elif wishes.positive not in (None, spelled(positive)):
        raise UsageError(f"positive is {wishes.positive}; the answers are {negative}, {positive}.")
    made = Plan(Encoding(columns), Answers("", negative, positive))
    return Data("X", examples, np.arange(examples.n), made, None, first=0)


def _against_the_rest(examples: JointExamples, positive: str) -> Examples:
    """One of more than two labels as yes, all others as no."""
    names = [spelled(label) for label in examples.labels.tolist()]
    if positive not in names:
        raise UsageError(f"positive is {positive}; the answers are {listed(names)}.")
    y = np.where(examples.y == names.index(positive), 1, -1).astype(np.int8)
    return Examples(examples.X, y, np.array([f"not {positive}", positive]), examples.names)


def refuse_passes(how: How, testing: Testing, report: bool = False) -> None:
    """Refuse what cannot be done in passes over a file."""
    needs_all = how.order != "cycle" or how.algorithm in ("fewest", "average")
    if needs_all or testing.folds or report:
        raise UsageError(NOT_IN_PASSES)


def refuse_labels(data: Data, how: How) -> None:
    """Refuse what is for two labels where there are more."""
    answers = data.plan.answers
    if not isinstance(answers, ManyAnswers):
        return
    there = f"{column_called(answers.column) if answers.column else 'y'} has {len(answers.names):,}"
    against = f"--positive {as_option(answers.spellings[-1])}, say, to learn it against the rest"
    if how.algorithm == "fewest":
        raise UsageError(
            f"--algorithm fewest is for two labels, and {there}. Give {against}, or --algorithm "
            "pocket."
        )
