"""`rosenblatt learn` on a file larger than memory: verdict, PLA or pocket, pass after pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from rosenblatt import clock, engine
from rosenblatt.algorithms import Budget, Rule
from rosenblatt.algorithms.judge import Judge
from rosenblatt.algorithms.passes import Passed, passes
from rosenblatt.algorithms.pocketpasses import pocket_passes
from rosenblatt.algorithms.scaling import Scaling, Strength, strengths
from rosenblatt.cli.console import Voice
from rosenblatt.cli.passing import AboutFile, verdict_in_passes
from rosenblatt.clock import NEVER, Deadline
from rosenblatt.evidence.accuracy import Accuracy
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.model import Model
from rosenblatt.read import Source
from rosenblatt.read.data import Data, read_as
from rosenblatt.read.encoding import Unseen
from rosenblatt.read.source import numbered
from rosenblatt.solve import ENDED, POCKET_CORRECTIONS, How
from rosenblatt.trial import Trial
from rosenblatt.verdict import Verdict
from rosenblatt.words import counted

VERDICT_SHARE = 0.4  # of the time, where a person gave a limit
AS_LONG_AGAIN = 5.0  # seconds that PLA gets at least where the answer is known already


@dataclass(frozen=True, eq=False)
class Found:
    """What was learnt, in the values of the file.

    Parameters
    ----------
    batches : Data
        What it was learnt from.
    how : How
        What was asked for.
    verdict : Verdict
        Whether a line answers every row.
    passed : Passed
        The run, with the weights for the values of the file.
    algorithm : str
        What found the line.
    steps : tuple of str
        What happened, a line each.
    trial : Trial, optional
        How well it answered another file.
    """

    batches: Data
    how: How
    verdict: Verdict
    passed: Passed
    algorithm: str
    steps: tuple[str, ...]
    trial: Trial | None = None

    @property
    def model(self) -> Model:
        """What is written as model.json."""
        made, names = self.batches.plan, self.batches.table.schema.names
        width = len(names) if names == numbered(len(names)) else None
        return Model(made.encoding, self.passed.hypothesis, made.answers, self.learnt(), width)

    def learnt(self) -> dict[str, Any]:
        """How it was learnt, as a model tells it."""
        done = self.passed
        return {
            "algorithm": self.algorithm,
            "order": "cycle",
            "scaled for learning": self.how.scale,
            "in passes": True,
            "examples": done.rows,
            "verdict": self.verdict.name,
            "corrections": done.corrections,
            "cycles": done.cycles,
            "mistakes": done.mistakes,
            "stopped": done.reason,
            "accuracy": None if self.trial is None else self.trial.to_json(),
        }

    def sentence(self) -> str:
        """What was found, in words."""
        done = self.passed
        if done.mistakes == 0:
            return f"a line that answers all {counted(done.rows, 'row')}"
        if done.mistakes is None:
            return "interrupted: kept the weights so far"
        return f"a line with {counted(done.mistakes, 'mistake')} on {counted(done.rows, 'row')}"

    def strengths(self) -> list[Strength]:
        """The features, strongest first."""
        return strengths(self.passed.hypothesis, self.batches.blocks)

    @property
    def cut_short(self) -> list[str]:
        """What the time limit ended."""
        stages = {"verdict": self.verdict.cut_short, "learning": self.passed.reason == "time_limit"}
        return [stage for stage, ended in stages.items() if ended]

    def to_json(self) -> dict[str, Any]:
        """The result as JSON."""
        answers, done = self.batches.plan.answers, self.passed
        return {
            "data": self.batches.name,
            "rows": done.rows,
            "features": len(self.batches.plan.encoding.features),
            "target": answers.column,
            "target_guessed": self.batches.plan.guessed,
            "negative": answers.negative,
            "positive": answers.positive,
            **self.learnt(),
            "verdict": self.verdict.to_json(),
            "interrupted": done.reason == "interrupted",
            "cut_short": self.cut_short,
            "threshold": done.hypothesis.threshold,
            "weights": [asdict(strength) for strength in self.strengths()],
        }


def learn_in_passes(voice: Voice, batches: Data, how: How, budget: Budget) -> Found:
    """Learn from a file a batch at a time, in file order, telling it step by step.

    Parameters
    ----------
    voice : Voice
        What tells a person about it.
    batches : Data
        The file.
    how : How
        The algorithm and whether to scale.
    budget : Budget
        The most cycles, and seconds where a person gave them: for the verdict too.
    """
    with AboutFile(batches.table.source):
        begun, deadline = clock.now(), Deadline.after(budget.seconds)
        with voice.patience("looking for a line that is right everywhere"):
            share = deadline.share(VERDICT_SHARE)
            verdict = verdict_in_passes(batches, widest=False, deadline=share)
        voice.step("verdict", verdict.sentence)
        task = _Task(batches, how, verdict, (budget.cycles, deadline), clock.now() - begun)
        algorithm = how.algorithm
        if algorithm == "auto":
            algorithm = "pocket" if verdict.separator is None else "pla"
        with voice.patience(f"learning from {batches.name}"):
            found = task.by_pla() if algorithm == "pla" else task.by_pocket()
    for step in found.steps:
        voice.step("learnt", step)
    voice.step("found", found.sentence())
    return found


@dataclass(frozen=True, eq=False)
class _Task:
    batches: Data
    how: How
    verdict: Verdict
    limits: tuple[int, Deadline]  # the most cycles, and when to be content
    seconds: float  # that the verdict took

    def _budget(self, corrections: int | None, least: float | None = None) -> Budget:
        """The cycles, and what is left of the time; of no limit, so many seconds."""
        cycles, deadline = self.limits
        return Budget(cycles, corrections, least if deadline is NEVER else deadline.left)

    def by_pla(self) -> Found:
        """PLA in file order; the proof's line where PLA does not get there in time."""
        separator, scaling = self.verdict.separator, self._scaling()
        least = max(AS_LONG_AGAIN, self.seconds) if self.how.algorithm == "auto" else None
        done = passes(lambda: self._scaled(scaling), Rule(), self._budget(None, least))
        told = f"PLA, {counted(done.corrections, 'correction')} in {_cycles(done)}"
        done = self._in_file_values(done, scaling)
        if done.mistakes and separator is not None:
            left = counted(done.mistakes, "mistake")
            left = f"PLA had {left} left; took the proof's line instead"
            done = replace(done, hypothesis=separator, mistakes=0)
            return self._found(done, "widest margin", told, left)
        return self._found(done, "PLA", told)

    def by_pocket(self) -> Found:
        """The pocket in file order, or one answer for all rows where that is better."""
        scaling = self._scaling()
        budget = self._budget(POCKET_CORRECTIONS)
        done: Passed = pocket_passes(lambda: self._scaled(scaling), Rule(), budget)
        line = scaling.fold(done.hypothesis)
        lines = [line.w, *(np.eye(1, len(line.w))[0] * sign for sign in (-1.0, 1.0))]
        counts = Judge(self.batches.blocks, threads=engine.cores()).counts(np.stack(lines))
        best = int(counts.argmin())
        hypothesis = replace(line, w=lines[best])
        done = replace(done, hypothesis=hypothesis, mistakes=int(counts[best]))
        told = (
            f"the pocket kept {counted(int(counts[best]), 'mistake')} after "
            f"{counted(done.corrections, 'correction')} in {_cycles(done)}"
        )
        return self._found(done, "pocket", told)

    def _found(self, done: Passed, algorithm: str, *steps: str) -> Found:
        if not np.isfinite(done.hypothesis.w).all():
            raise ValueError("the weights are larger than any float; scale the columns first")
        return Found(self.batches, self.how, self.verdict, done, algorithm, steps)

    def _scaling(self) -> Scaling | _Plain:
        return Scaling.over(self.batches.blocks) if self.how.scale else _Plain()

    def _scaled(self, scaling: Scaling | _Plain) -> Iterator[Examples]:
        return self.batches.blocks.each(lambda block, _: scaling.apply(block))

    def _in_file_values(self, done: Passed, scaling: Scaling | _Plain) -> Passed:
        """The run with weights for the values of the file, and their mistakes counted there."""
        if isinstance(scaling, _Plain):
            return done
        hypothesis = scaling.fold(done.hypothesis)
        mistakes = None if done.mistakes is None else self._count(hypothesis)
        return replace(done, hypothesis=hypothesis, mistakes=mistakes)

    def _count(self, hypothesis: Hypothesis) -> int:
        return int(Judge(self.batches.blocks, hypothesis.zero).alone(hypothesis.w))


class _Plain:
    """No scaling."""

    def apply(self, examples: Examples) -> Examples:
        return examples

    def fold(self, hypothesis: Hypothesis) -> Hypothesis:
        return hypothesis


def tried_in_passes(found: Found, file: str) -> Trial:
    """The accuracy on the rows of another file, whatever its size."""
    batches = found.batches
    layout = replace(batches.table.layout, types={})
    other = read_as(Source.find(file), layout, batches.plan, held=False)
    line = found.passed.hypothesis
    each = tuple(
        Accuracy.of(line, examples) for examples in other.blocks.each(lambda block, _: block)
    )
    unseen = Unseen(other.plan.encoding)
    for batch in other.table.batches() if unseen.columns else ():
        unseen.take(batch)
    return Trial("file", each, found.passed.rows, unseen)


def _cycles(done: Passed) -> str:
    told = f"{counted(done.cycles, 'pass', 'passes')} over {counted(done.rows, 'row')}"
    return told + (ENDED if done.reason == "time_limit" else "")
