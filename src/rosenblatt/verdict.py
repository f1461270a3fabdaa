"""Verdict: what is proved of the rows of a file, in the words of a person who has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.clock import NEVER, Deadline
from rosenblatt.errors import listed
from rosenblatt.evidence.separability import (
    TIME_OVER,
    Separability,
    contradicted,
    separability_of,
)
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.words import counted

PROVED = ", proved in exact arithmetic"
SENTENCES = {
    "separable": f"separable: a line answers every row{PROVED}",
    "quasi-separable": "quasi-separable: a line is wrong nowhere, but some rows lie on it" + PROVED,
    "inseparable": f"inseparable: no line answers every row{PROVED}",
    "not separable": f"not separable: no line answers every row{PROVED}",
}


def claim_words(claim: str) -> str:
    """What a proof claims, in words.

    Examples
    --------
    >>> claim_words("inseparable"), claim_words("at least 2 mistakes")
    ('no line answers every row', 'every line makes at least 2 mistakes')
    """
    if claim not in SENTENCES:
        return f"every line makes {claim}"
    return SENTENCES[claim].removesuffix(PROVED).partition(": ")[2]


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
        if self.name == "undecided":
            return f"undecided: {self.answer.reason}"
        told = SENTENCES[self.name]
        return f"{told}; {self._cannot()}" if self.answer.blocking else told

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
            yield f"on the margin: {self._named(a.support)}"
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

    def _cannot(self) -> str:
        part = self.answer.blocking[0]
        if part.rest:
            return "all rows together cannot be right"
        if len(part.rows) == 1:
            return f"{self._named(part.rows)} is all zeros, and never right"
        return f"{self._named(part.rows)} cannot all be right"

    def _named(self, examples: Any) -> str:
        rows = [str(row + 1) for row in sorted(self.rows[list(examples)].tolist())]
        return f"row {rows[0]}" if len(rows) == 1 else f"rows {listed(rows)}"


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
