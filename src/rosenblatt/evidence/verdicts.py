"""What was decided about examples, as a value and in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.blocks import AgainstRivals
from rosenblatt.evidence.guarantee import Guarantee
from rosenblatt.evidence.parts import Part
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.signed import GAP, bound_of, gap_of
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.read.encoding import spelled
from rosenblatt.words import (
    cannot_be_right,
    card,
    corrections,
    counted,
    finite,
    listed,
    rows_named,
    verdict_sentence,
    whole,
)

MOST_ROWS = 8  # rows named in a sentence
MOST_SETS = 3  # blocking sets told
TIME_OVER = "the time limit ended the search for a proof"
NO_ROWS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Separability:
    """Whether some w answers every example rightly, with the numbers and the proof.

    Parameters
    ----------
    verdict : str
        "separable", "quasi-separable", "inseparable" or "undecided"; bool() asks if separable.
        In a hurry, "not separable": which of the two in the middle was not looked for.
    weights : array, optional
        The tall w, w0 first (no w0 without intercept), rounded from `proof.weights`. Where the
        verdict is separable it separates when it is multiplied exactly: of unit length, or as near
        to it as floats that separate were found; None where none were, and `proof.weights` alone
        separate. Where the verdict is quasi-separable, of unit length and rounded.
    margin : float, optional
        rho, the margin of the exact `proof.weights`, rounded down; None where nothing separates.
        The widest margin is this one where `widest` says so, else it is this or more.
    upper : float, optional
        No w has a wider margin than this, which the multipliers of the support show.
    radius : float
        R, the length of the longest tall example.
    support : array
        The rows on the margin; of more than two labels pairs, a row and the place in the order
        of labels of the rival that it is on the margin to.
    blocking : tuple of Part
        Sets of rows that cannot all be right, fewest rows first; of more than two labels the rows
        are those of `rivals`.
    passes : int
        How often all the data were gone through.
    proof : Proof, optional
        What `proof.check(X, y)` confirms; None where undecided, or in passes cut short.
    reason : str
        Why it is undecided, or not known in full.
    scaled : Guarantee, optional
        What R and rho of the same line would be if each column were divided by its largest entry.
    rivals : AgainstRivals, optional
        Where there are more than two labels: the examples as rows against rivals.
    """

    verdict: str
    radius: float
    weights: NDArray[np.float64] | None = None
    margin: float | None = None
    upper: float | None = None
    support: NDArray[np.intp] = field(default_factory=NO_ROWS.copy)
    blocking: tuple[Part, ...] = ()
    passes: int = 0
    proof: Proof | None = None
    reason: str = ""
    scaled: Guarantee | None = None
    rivals: AgainstRivals | None = None

    def __bool__(self) -> bool:
        return self.verdict == "separable"

    @property
    def bound(self) -> float | None:
        """R²/rho², the most corrections PLA can need; None where it may never end.

        Infinity where R or rho is past what floats can say.
        """
        if not self or self.margin is None:
            return None
        return bound_of(self.radius, self.margin) or math.inf

    @property
    def gap(self) -> float | None:
        """How much wider, relative to `upper`, another w could be; None where none separates."""
        if self.margin is None or self.upper is None:
            return None
        return gap_of(self.margin, self.upper)

    @property
    def widest(self) -> bool:
        """Whether it is proved that no w has a wider margin, but for a relative 1e-9.

        Where it is not, as in `rosenblatt.learn`, which asks for no more than a verdict, the
        widest margin is at least `margin`, and R²/rho² of the widest line at most `bound`.
        """
        return self.gap is not None and self.gap <= GAP

    def explain(self) -> str:
        """What was found and why, in plain sentences, one on each line."""
        told = {"separable": self._of_the_margin, "undecided": self._of_the_bounds}
        more = told.get(self.verdict, self._of_the_blocking)()
        family = ', family="multinomial"' if self.rivals else ""
        first = (line.format(more=family) for line in _FIRST[self.verdict])
        return "\n".join((*first, *more))

    def _of_the_margin(self) -> Iterator[str]:
        if self.margin is None:
            return
        width = f"rho = {self.margin:.6g}; the longest example has R = {self.radius:.6g}"
        yield f"The widest margin is {'' if self.widest else 'at least '}{width}."
        if not self.widest and self.upper is not None and math.isfinite(self.upper):
            yield f"No margin is wider than {self.upper:.6g} (relative gap {self.gap:.2g})."
        before, after = self.bound, None if self.scaled is None else self.scaled.bound
        if before is None or math.isinf(before):
            yield "R²/rho², the most corrections that PLA can need, is past all floats."
        else:
            yield f"PLA from w = 0 needs at most R²/rho² = {counted(whole(before), 'correction')}."
        if self.weights is None:
            yield (
                "No floats were found that separate exactly; the whole numbers of proof.weights do."
            )
        yield f"On the margin: {rows_named(self._names_of_support(), MOST_ROWS)}."
        if before is not None and after is not None and math.isfinite(after):
            way = "lower" if after < before else "raise"
            change = f"{way} the bound of this line to {whole(after):,}"
            if abs(after - before) < 0.01 * before:
                change = "leave the bound of this line much as it is"
            yield f"Dividing each column by its largest entry would {change}."

    def _of_the_bounds(self) -> Iterator[str]:
        yield f"Undecided: {self.reason}."
        if self.margin is not None:
            yield f"Floats suggest a margin of {self.margin:.6g}, not proved."
        if self.upper is not None:
            yield f"No margin is wider than {self.upper:.6g}."

    def _of_the_blocking(self) -> Iterator[str]:
        """What the multipliers of some rows say, in shares that sum to 1."""
        for part in self.blocking[:MOST_SETS]:
            total = sum(part.multipliers) + part.rest
            pairs = sorted(zip(part.rows, part.multipliers, strict=True), key=lambda pair: -pair[1])
            shares = [f"{m / total:.2g} of row {self._called(n)}" for n, m in pairs]
            sentence = self._blocked_by(part)
            if len(part.rows) > 1:
                times = "" if self.rivals else ", each times its answer"
                sentence += f": {listed(shares, most=MOST_ROWS)}{times}, sum to nothing"
            yield sentence[0].upper() + sentence[1:] + "."

    def _called(self, n: int) -> str:
        return str(n) if self.rivals is None else self.rivals.called(n)

    def _names_of_support(self) -> list[str]:
        if self.rivals is None:
            return list(map(str, self.support))
        labels = self.rivals.examples.labels
        return [f"{n} against {labels[r]}" for n, r in self.support]

    def _blocked_by(self, part: Part) -> str:
        named = list(map(self._called, part.rows[: MOST_ROWS + 1])) if self.rivals else part.rows
        more = part.rows[len(named) :]
        return cannot_be_right([*named, *more], part.rest, MOST_ROWS)

    def __repr__(self) -> str:
        why = self.reason if self.verdict == "undecided" else ""
        if self.bound is not None:
            needs = corrections(self.bound)
            least = "" if self.widest else "at least "
            why = f"margin {least}{self.margin:.4g}, R {self.radius:.4g}, PLA needs {needs}"
        if not why:
            why = self._blocked_by(self.blocking[0])
        return f"<Separability: {self.verdict}; {why}>"

    def _repr_html_(self) -> str:
        first, *rest = self.explain().split("\n")
        facts = [("", line) for line in rest]
        if self.proof is not None:
            facts.append(("", "Proved in exact arithmetic: proof.check(X, y) checks it again."))
        return card(first, facts)


_FIRST: dict[str, tuple[str, ...]] = {
    "separable": ("Separable: some w answers every example rightly.",),
    "quasi-separable": (
        "Quasi-separable: no w answers every example rightly,",
        "but some w is wrong about none: it is right about some and exactly zero on the others.",
        "Some estimates of a logistic regression are infinite: "
        "rb.separation(X, y{more}) says which.",
    ),
    "inseparable": ("Inseparable: no w answers every example rightly, and PLA would never end.",),
    "not separable": (
        "Not separable: no w answers every example rightly, and PLA would never end.",
        "Whether some w is wrong about none was not looked for.",
    ),
    "undecided": (),
}


@dataclass(frozen=True, eq=False)
class Verdict:
    """The same about the rows of a file: can a line answer every one?"""

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
        blocking = self._called(map(self.pair, sorted(part.rows)))
        return f"{told}; {cannot_be_right(blocking, part.rest)}"

    def explained(self) -> Iterator[str]:
        """More about it, a line each: margin and bound, or nothing beyond the sentence."""
        a = self.answer
        if not a or a.margin is None:
            return
        width = f"rho = {a.margin:.6g}, the longest row has R = {a.radius:.6g}"
        yield f"the widest margin is {'' if a.widest else 'at least '}{width}"
        if (bound := finite(a.bound)) is not None:
            yield f"PLA needs at most R²/rho² = {counted(whole(bound), 'correction')}"
        if len(a.support):
            yield f"on the margin: {rows_named(self._called(self._on_margin()))}"
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
        total = sum(part.multipliers) + part.rest
        pairs = sorted(zip(part.rows, part.multipliers, strict=True), key=lambda pair: -pair[1])
        return [(n, m / total) for n, m in pairs]

    def pair(self, row: int) -> tuple[int, str | None]:
        """An example, and where it stands against one of more than two labels, that label."""
        if self.answer.rivals is None:
            return row, None
        n, r = self.answer.rivals.pair(row)
        return n, self._label(r)

    def _on_margin(self) -> list[tuple[int, str | None]]:
        """The same of what is on the margin."""
        support = self.answer.support.tolist()
        if self.answer.rivals is None:
            return [(n, None) for n in sorted(support)]
        return [(n, self._label(r)) for n, r in support]

    def to_json(self) -> dict[str, Any]:
        """The verdict as JSON."""
        a = self.answer
        return {
            "verdict": self.name,
            "margin": a.margin,
            "widest": None if a.margin is None else a.widest,
            "radius": a.radius,
            "bound": finite(a.bound),
            "on_margin": [
                self._number(n) if rival is None else {"row": self._number(n), "against": rival}
                for n, rival in self._on_margin()
            ],
        }

    def _called(self, pairs: Iterable[tuple[int, str | None]]) -> list[Any]:
        """Rows as a person counts them, of more than two labels against which of them."""
        return [
            self._number(n) if rival is None else f"{self._number(n)} against {rival}"
            for n, rival in pairs
        ]

    def _number(self, n: int) -> int:
        return int(self.rows[n]) + self.first

    def _label(self, place: int) -> str:
        assert self.answer.rivals is not None
        return spelled(self.answer.rivals.examples.labels[place].item())
