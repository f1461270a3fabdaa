"""Verdict: what the proof says of the examples, in the words of a person with a file."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.evidence.separability import Separability, separability_of
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis

SENTENCES = {
    "separable": "separable: a line answers every row, proved in exact arithmetic",
    "quasi-separable": "quasi-separable: a line is wrong nowhere, but some rows lie on it",
    "inseparable": "inseparable: no line answers every row, proved in exact arithmetic",
    "undecided": "undecided",
}


@dataclass(frozen=True, eq=False)
class Verdict:
    """The answer to: can a line answer every row?"""

    answer: Separability
    examples: Examples

    @property
    def name(self) -> str:
        """One of the four verdicts."""
        return str(self.answer.verdict)

    @property
    def separator(self) -> Hypothesis | None:
        """A line without mistakes, where there is one."""
        if not self.answer or self.answer.weights is None:
            return None
        hypothesis = Hypothesis(np.asarray(self.answer.weights), self.examples.x0)
        return None if len(hypothesis.mistakes(self.examples)) else hypothesis

    @property
    def sentence(self) -> str:
        """The verdict and its reason."""
        return SENTENCES[self.name]

    def blocking(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Rows that cannot all be right, and their shares of the sum that is zero."""
        if not self.answer.blocking:
            return np.empty(0, dtype=np.intp), np.empty(0)
        part = self.answer.blocking[0]
        total = sum(part.multipliers)
        # Integers of any size: divided as such, so that no float overflows.
        shares = [float(Fraction(m, total)) for m in part.multipliers]
        return np.array(part.rows, dtype=np.intp), np.array(shares)

    def to_json(self) -> dict[str, Any]:
        """The verdict as JSON."""
        a = self.answer
        return {"verdict": self.name, "margin": a.margin, "radius": a.radius, "bound": a.bound}


def verdict_of(examples: Examples, *, widest: bool = True) -> Verdict:
    """Ask whether a line can answer every row.

    Parameters
    ----------
    examples : Examples
        In the values of the file.
    widest : bool
        Whether to go on to the line with the widest margin.
    """
    return Verdict(separability_of(examples, widest=widest), examples)
