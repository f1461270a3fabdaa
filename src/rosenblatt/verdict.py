"""Verdict: what is proved of the rows of a file, in the words of a person who has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.clock import NEVER, Deadline
from rosenblatt.evidence.separability import (
    TIME_OVER,
    Separability,
    contradicted,
    separability_of,
)
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.words import cannot_be_right, counted, rows_named, verdict_sentence


@dataclass(frozen=True, eq=False)
class Verdict:
    """The answer to: can a line answer every row?"""

    answer: Separability
    rows: Any  # the row of the file, from 0, of each example: an array, or indexed like one
    separator: Hypothesis | None = None  # a line without mistakes, where there is one

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
        return 1 if self.answer.proof is None else len(self.answer.proof.parts)

    @property
    def sentence(self) -> str:
        """The verdict and its reason."""
        told = verdict_sentence(self.name, reason=self.answer.reason)
        if not self.answer.blocking or self.name == "undecided":
            return told
        part = self.answer.blocking[0]
        return f"{told}; {cannot_be_right(self._numbers(part.rows), part.rest)}"

    def explained(self) -> Iterator[str]:
        """More about it, a line each: margin and bound, or nothing beyond the sentence."""
        a = self.answer
        if not a or a.margin is None:
            return
        width = "widest margin" if a.gap is not None and a.gap <= 1e-9 else "margin"
        yield f"the {width} is rho = {a.margin:.6g}, the longest row has R = {a.radius:.6g}"
        if a.bound is not None and a.bound < float("inf"):
            yield f"PLA needs at most R²/rho² = {counted(f'{a.bound:,.0f}', 'correction')}"
        if len(a.support):
            yield f"on the margin: {rows_named(self._numbers(a.support))}"
        if a.scaled is not None and a.scaled.bound and a.bound and a.scaled.bound < a.bound / 10:
            yield (
                "with each column divided by its largest value this line's bound would be "
                f"{a.scaled.bound:,.0f}"
            )

    def blocking(self) -> list[tuple[int, float]]:
        """Examples that cannot all be right and their shares of the sum that is zero."""
        if not self.answer.blocking:
            return []
        part = self.answer.blocking[0]
        # Integers of any size: divided as such, so that no float overflows.
        total = sum(part.multipliers) + part.rest
        pairs = zip(part.rows, part.multipliers, strict=True)
        shares = [(n, float(Fraction(m, total))) for n, m in pairs]
        return sorted(shares, key=lambda pair: -pair[1])

    def to_json(self) -> dict[str, Any]:
        """The verdict as JSON."""
        a = self.answer
        return {
            "verdict": self.name,
            "margin": a.margin,
            "radius": a.radius,
            "bound": a.bound if a.bound is not None and np.isfinite(a.bound) else None,
            "on_margin": (self.rows[a.support] + 1).tolist(),
        }

    def _numbers(self, examples: Any) -> list[int]:
        """Rows as a person counts them."""
        return [row + 1 for row in sorted(self.rows[list(examples)].tolist())]


def verdict_of(
    examples: Examples, rows: Any, *, widest: bool = True, deadline: Deadline = NEVER
) -> Verdict:
    """Ask whether a line can answer every row, in the values of the file."""
    answer = separability_of(examples, widest=widest, deadline=deadline)
    line = line_of(answer, examples.x0)
    wrong = line is not None and len(line.mistakes(examples)) > 0
    return Verdict(answer, rows, None if wrong else line)


def quick_verdict(examples: Examples, rows: Any, deadline: Deadline) -> Verdict:
    """Ask in a hurry: rows that contradict one another settle it, and time may end it."""
    answer = contradicted(examples)
    if answer is None:
        return verdict_of(examples, rows, widest=False, deadline=deadline)
    return Verdict(answer, rows)


def line_of(answer: Separability, x0: float) -> Hypothesis | None:
    """The line that separates, where there is one; rounding may have spoilt it."""
    if not answer or answer.weights is None:
        return None
    w = np.asarray(answer.weights)
    return Hypothesis(w if x0 else np.concatenate(([0.0], w)), x0)
