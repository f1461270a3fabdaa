"""Result: all that came out of learning, as sentences, as JSON and as a model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from rosenblatt.blocks import InOrder
from rosenblatt.cli.strategy import How, Outcome
from rosenblatt.cli.trial import Trial
from rosenblatt.cli.verdict import Verdict
from rosenblatt.model import Model
from rosenblatt.read.data import Data
from rosenblatt.read.encoding import spelled
from rosenblatt.read.source import numbered
from rosenblatt.show.findings import Findings
from rosenblatt.show.story import Story
from rosenblatt.show.strength import Strength, strengths
from rosenblatt.words import beside_accuracy, counted


@dataclass(frozen=True, eq=False)
class Result:
    """All that came out."""

    data: Data
    how: How
    verdict: Verdict
    outcome: Outcome
    trial: Trial | None = None

    @property
    def model(self) -> Model:
        """What is written as model.json."""
        made = self.data.plan
        return Model(
            made.encoding,
            self.outcome.hypothesis,
            made.answers,
            self._learnt(),
            self._width(),
        )

    def _width(self) -> int | None:
        names = self.data.table.column_names
        return len(names) if names == numbered(len(names)) else None

    def _learnt(self) -> dict[str, Any]:
        o = self.outcome
        return {
            "algorithm": o.algorithm,
            "order": self.how.order,
            "scaled for learning": self.how.scale,
            "seed": self.how.seed,
            "examples": self.data.examples.n,
            "verdict": self.verdict.name,
            "corrections": o.corrections,
            "bound on corrections": o.bound,
            "mistakes": o.mistakes,
            "no line makes fewer mistakes than": o.lower_bound,
            "interrupted": o.interrupted,
            "accuracy": None if self.trial is None else self.trial.to_json(),
        }

    @property
    def cut_short(self) -> list[str]:
        """What the time limit ended."""
        trial = self.trial is not None and self.trial.cut_short > 0
        stages = {
            "verdict": self.verdict.cut_short,
            "learning": self.outcome.cut_short,
            "test": trial,
        }
        return [stage for stage, ended in stages.items() if ended]

    def strengths(self) -> list[Strength]:
        """The features, strongest first."""
        return strengths(self.outcome.hypothesis, InOrder(lambda: [self.data.examples]))

    def mistakes(self) -> str:
        """What was found, in words."""
        outcome, n = self.outcome, self.data.examples.n
        if outcome.mistakes == 0:
            return f"a line that answers all {counted(n, 'row')}"
        told = f"a line with {counted(outcome.mistakes, 'mistake')} on {counted(n, 'row')}"
        if outcome.lower_bound >= outcome.mistakes:
            return f"{told}; no line makes fewer"
        if outcome.lower_bound:
            told += f"; no line makes fewer than {outcome.lower_bound:,}"
        return told

    def facts(self) -> list[tuple[str, str]]:
        """What a report tells, in order."""
        facts = [("verdict", self.verdict.sentence)]
        facts += [("learnt", step) for step in self.outcome.steps]
        facts.append(("found", self.mistakes()))
        if self.trial is not None:
            facts.append(("tested", self.trial.sentence()))
            facts.append(("worth", beside_accuracy(self.trial.total, self._labels())[0]))
        return facts

    def _labels(self) -> list[str]:
        answers = self.data.plan.answers
        return [spelled(answers.negative), spelled(answers.positive)]

    def findings(self) -> Findings:
        """What the report tells."""
        data, answers = self.data, self.data.plan.answers
        return Findings(
            f"Answering {answers.column or 'rows'}: {' or '.join(self._labels())}",
            self.facts(),
            data.examples,
            self.outcome.hypothesis,
            self.verdict.answer,
            self._story(),
            data.rows,
            None if self.trial is None else self.trial.total,
        )

    def _story(self) -> Story | None:
        """The run; where no line is right everywhere, with the verdict on the file's values.

        Multipliers that sum to zero do so on scaled columns too; a line does not stay the same.
        """
        story, answer = self.outcome.story, self.verdict.answer
        if story is None or story.verdict is not None or answer or answer.proof is None:
            return story
        return replace(story, verdict=replace(answer, weights=None))

    def to_json(self) -> dict[str, Any]:
        """The result as JSON."""
        o, v, answers = self.outcome, self.verdict, self.data.plan.answers
        return {
            "data": self.data.name,
            "rows": self.data.examples.n,
            "features": self.data.examples.d,
            "target": answers.column,
            "target_guessed": self.data.plan.guessed,
            "negative": answers.negative,
            "positive": answers.positive,
            "verdict": v.to_json(),
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
