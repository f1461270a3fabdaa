"""The product in one function: from examples to a verdict, a line, and what it is worth.

`solve` takes what `read/` made of a file, in memory or in passes over it. Nothing is printed here:
a `Watcher` is told what is done, and the `Result` tells it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import rosenblatt.clock as clock
from rosenblatt.accuracy import NO_TIME, NOT_ASKED_FOR, Accuracy, Tester, Testing, Trial
from rosenblatt.clock import NEVER, Deadline, Silent, Stopwatch, Watcher
from rosenblatt.errors import DataError, RowError, UsageError, UserError
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import contradicted, separability_of
from rosenblatt.evidence.verdicts import TIME_OVER, Separability, Verdict
from rosenblatt.examples import Examples, JointExamples
from rosenblatt.hypothesis import Hypothesis, mistakes_of
from rosenblatt.messages import Message, Parameter, with_label
from rosenblatt.model import Model
from rosenblatt.read import Layout
from rosenblatt.read.data import Data
from rosenblatt.read.plan import Wishes
from rosenblatt.read.source import numbered
from rosenblatt.scaling import Strength, strengths
from rosenblatt.strategy import How, Outcome, learn_line
from rosenblatt.words import (
    card,
    column_called,
    counted,
    is_near,
    line_called,
    listed,
    no_fewer,
    percent,
)

SECONDS = 5.0
# Of the time: for the verdict, and until when its proof may be solved for, which cannot be
# interrupted; of what is left then, for the line where there is a trial too.
VERDICT_SHARE, PROOF_SHARE, LINE_SHARE = 0.3, 0.8, 0.5
AS_LONG_AGAIN = 5.0  # seconds that PLA gets in passes at least where the answer is known already
WORTH_SAYING = 1.0  # seconds
FEW_NUMBERS = 2**20  # in so few it is soon known which columns make a regression infinite
NOT_IN_PASSES = Message(
    "passes over a file run PLA or the pocket, in file order, without ",
    *(Parameter("test_size"), ", ", Parameter("cv"), " or a report; give "),
    *(Parameter("test", example="FILE"), " to measure accuracy."),
)


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
    untested : str or Message
        Why there is no trial.
    """

    data: Data
    how: How
    decided: Verdict
    outcome: Outcome
    trial: Trial | None = None
    untested: str | Message = ""

    @property
    def verdict(self) -> str:
        """Can a line answer every row: "separable", "quasi-separable", "inseparable", …"""
        return self.decided.name

    @property
    def separability(self) -> Separability:
        """What the verdict is known by, with its `proof`, in the values of the data.

        Rows are those of the data, also where some were dropped; the proof is about those that
        are left, and numbers them alone. Its margin and bound are those of the line that proves
        it. Whether that margin is the widest, as `rosenblatt.separability` finds it, its `widest`
        says.
        """
        return self.decided.answer.of_data()

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
        return self.outcome.proof or self.decided.answer.proof

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
            "test": self.untested == NO_TIME
            or (self.trial is not None and self.trial.cut_short > 0),
        }
        return [stage for stage, ended in stages.items() if ended]

    @property
    def worse_than_baseline(self) -> list[str]:
        """Where always predicting the most frequent label is right more often.

        "learning": on the training rows; "test": on the rows of the held-out test.
        """
        return list(self._warnings())

    def _warnings(self) -> dict[str, str]:
        """Return a sentence for each comparison with the baseline that the model loses."""
        o, found = self.outcome, {}
        if o.mistakes is not None and o.baseline is not None and o.mistakes > o.baseline.mistakes:
            label, rows = self.labels[o.baseline.place], o.run.rows
            made = counted(o.mistakes, "mistake")
            found["learning"] = (
                f"worse than always predicting {label}: {made} on the {rows:,} training rows, the "
                f"constant makes {o.baseline.mistakes:,}; the pocket and auto are never worse"
            )
        if self.trial is not None and (total := self.trial.total).share < total.baseline:
            label = self.labels[total.sizes.index(max(total.sizes))]
            found["test"] = (
                f"worse than always predicting {label}: {percent(total.share)} right on "
                f"{counted(total.total, 'test row')}, the constant {percent(total.baseline)}"
            )
        return found

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
        each = strengths(self.hypothesis, self.data.blocks, self.labels)
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
        if not self.lower_bound or not is_near(self.lower_bound, self.mistakes):
            return told
        than = "" if self.optimal else f"{self.lower_bound:,}"
        return f"{told}; {no_fewer(than, self._proved, many=self.many)}"

    def facts(self) -> list[tuple[str, str]]:
        """What a report tells, in order."""
        return [*self._warned(), *self._story(), *self._tested()]

    def _tested(self) -> list[tuple[str, str]]:
        if self.trial is None:
            return []
        worth = self.trial.total.worth(self.labels)[0]
        return [("tested", self.trial.sentence()), ("worth", worth)]

    def _warned(self) -> list[tuple[str, str]]:
        return [("warning", sentence) for sentence in self._warnings().values()]

    def _story(self) -> list[tuple[str, str]]:
        facts = [("verdict", self.decided.answer.sentence)]
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
            "target_guessed": bool(self.data.plan.guessed),
            **({"labels": list(answers.names)} if self.many else dict(pair)),
            "verdict": self.decided.answer.to_json(),
            "algorithm": o.algorithm,
            "corrections": o.run.corrections,
            "bound": o.bound,
            "mistakes": o.mistakes,
            "baseline_mistakes": None if o.baseline is None else o.baseline.mistakes,
            "worse_than_baseline": self.worse_than_baseline,
            "lower_bound": o.lower_bound,
            "optimal": self.optimal,
            "proved_by": self._proved or None,
            "interrupted": o.interrupted,
            "cut_short": self.cut_short,
            "accuracy": None if self.trial is None else self.trial.to_json(),
            **({"not_tested": str(self.untested)} if self.untested else {}),
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
        notes = [("", str(note)) for note in self.data.notes]
        facts = [("read", str(self.data)), *notes, *self._warned(), *self._story()]
        if self.trial is not None:
            facts += self.trial.told(self.data.plan.answers)
        elif self.untested not in ("", NOT_ASKED_FOR):
            facts.append(("tested", f"not: {self.untested!s}"))
        return "\n".join(f"{what:<9} {text}" for what, text in facts)

    def __repr__(self) -> str:
        return f"<Result: {self.verdict}; {self.found()}>"

    def _repr_html_(self) -> str:
        (_, verdict), *rest = self._story()
        return card(verdict, [*self._warned(), *rest, *self._tested()])


def solve(
    data: Data,
    reading: tuple[Layout, Wishes],
    how: How = How(),
    testing: Testing = Testing(),
    watcher: Watcher = Silent(),
) -> Result:
    """Decide, learn and test in one time limit, telling a watcher of each step as it is done.

    How the data were read is needed to read a file to test on, and parts of them, alike.
    """
    held = isinstance(data.blocks, Examples)
    refuse_labels(data, how)
    testing = testing.ready(data, reading[0])
    limit = SECONDS if how.time_limit is None and held else how.time_limit
    deadline, watch = Deadline.after(limit), Stopwatch()
    with about(data):
        result = _learnt(data, how, (deadline, held and testing.learns), watcher)
        if not result.outcome.interrupted:
            result = _tried(result, reading[1], testing, deadline, watcher)
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
    except RowError as trouble:
        told = trouble.worded(data.row_names(trouble.rows))
        raise DataError(f"{data.name}: {told}") from None
    except ValueError as trouble:  # of numbers too large to learn from
        raise DataError(f"{data.name}: {trouble}") from None


def _learnt(data: Data, how: How, time: tuple[Deadline, bool], watcher: Watcher) -> Result:
    """The verdict and the line; a trial needs as much time as the line."""
    (deadline, has_trial), begun = time, clock.now()
    decided = quick_verdict(data, deadline.share(VERDICT_SHARE, PROOF_SHARE))
    watcher.step("verdict", decided.answer.sentence)
    if decided.answer.reason.startswith("interrupted"):
        raise KeyboardInterrupt
    if decided.name == "quasi-separable" and isinstance(data.blocks, Examples):
        decided = replace(decided, more=_infinite(data.blocks))
        if decided.more:
            watcher.step("", decided.more)
    if deadline is NEVER and decided.separator is not None and how.algorithm == "auto":
        deadline = Deadline.after(max(AS_LONG_AGAIN, clock.now() - begun))
    share = LINE_SHARE if has_trial else 1.0
    outcome = learn_line(data.blocks, how, decided.separator, watcher, deadline, share)
    if decided.fewest > outcome.lower_bound:
        outcome = replace(outcome, lower_bound=decided.fewest, proof=decided.answer.proof)
    for step in outcome.steps:
        watcher.step("learnt", step)
    result = Result(data, how, decided, outcome)
    watcher.step("found", result.found())
    for what, sentence in result._warned():
        watcher.step(what, sentence)
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
    wishes: Wishes,
    testing: Testing,
    deadline: Deadline,
    watcher: Watcher,
) -> Result:
    """The result with the accuracy on rows not learnt from; Ctrl-C leaves it out."""
    how, separable = replace(result.how, bounded=False), result.decided.separator is not None
    if how.algorithm == "auto" and separable:
        how = replace(how, algorithm="pla")

    def learner(examples: Examples, share: Deadline) -> tuple[Hypothesis, bool]:
        outcome = learn_line(examples, how, None, watcher, share)
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.algorithm == "PLA" and outcome.mistakes and separable:
            # As for all rows: where the budget of PLA ends first, the proof's line is taken.
            answer = separability_of(examples, widest=False, deadline=share)
            if answer and answer.weights is not None:
                return Hypothesis.of(np.asarray(answer.weights)), False
            return outcome.hypothesis, answer.reason == TIME_OVER
        return outcome.hypothesis, outcome.cut_short

    tester = Tester(result.data, wishes, learner, result.how.rng, deadline)
    try:
        trial = tester.run(testing, result.hypothesis, result.outcome.run.rows)
    except KeyboardInterrupt:
        watcher.note("interrupted: the model is kept, its accuracy was not measured.")
        return replace(result, untested="interrupted")
    if isinstance(trial, str | Message):
        if trial != NOT_ASKED_FOR:
            watcher.step("tested", Message("not: ", trial))
        return replace(result, untested=trial)
    for what, text in trial.told(result.data.plan.answers):
        watcher.step(what, text)
    for sentence in () if trial.unseen is None else trial.unseen.sentences():
        watcher.note(sentence)
    result = replace(result, trial=trial)
    if "test" in (warnings := result._warnings()):
        watcher.step("warning", warnings["test"])
    return result


def quick_verdict(data: Data, deadline: Deadline) -> Verdict:
    """Ask in a hurry: rows that contradict one another settle it, and time may end it.

    Where a line is right everywhere, it is part of the answer.
    """
    two = isinstance(data.blocks, Examples) and not isinstance(data.blocks, JointExamples)
    answer = contradicted(data.examples) if two else None
    if answer is not None:
        return Verdict(replace(answer, row_names=data.row_names()))
    decided = verdict_of(data, widest=False, deadline=deadline)
    if not decided.answer or decided.answer.weights is None:
        return decided
    line = Hypothesis.of(np.asarray(decided.answer.weights))
    spoilt = mistakes_of(data.blocks, line)  # by rounding
    return decided if spoilt else replace(decided, separator=line)


def verdict_of(data: Data, *, widest: bool = True, deadline: Deadline = NEVER) -> Verdict:
    """Ask whether a line can answer every row, in the values of the data."""
    answer = separability_of(data.blocks, widest=widest, deadline=deadline)
    support = answer.support if answer.support.ndim == 1 else answer.support[:, 0]
    blocking = (n for part in answer.blocking for n in part.rows)
    return Verdict(replace(answer, row_names=data.row_names([*support.tolist(), *blocking])))


def refuse_passes(how: How, testing: Testing, report: bool = False) -> None:
    """Refuse what cannot be done in passes over a file."""
    needs_all = how.order != "cycle" or how.algorithm in ("fewest", "average")
    if needs_all or testing.folds or testing.said or report:
        raise UsageError(NOT_IN_PASSES)


def refuse_labels(data: Data, how: How) -> None:
    """Refuse what is for two labels where there are more."""
    answers = data.plan.answers
    if not answers.many:
        return
    there = f"{column_called(answers.column) if answers.column else 'y'} has {len(answers.names):,}"
    if how.algorithm == "fewest":
        raise UsageError(
            *(Parameter("algorithm", "fewest"), f" is for two labels, and {there}. Give "),
            with_label("positive", answers.spellings[-1]),
            ", for example, to learn it against the rest, or ",
            *(Parameter("algorithm", "pocket"), "."),
        )
