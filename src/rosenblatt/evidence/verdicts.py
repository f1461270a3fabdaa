"""What was decided about examples, as a value and in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
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
from rosenblatt.rownames import FROM_ZERO, RowNames
from rosenblatt.words import card, counted, finite, listed, verdict_sentence, whole

MOST_ROWS = 6  # rows named in a sentence
MOST_SETS = 3  # blocking sets told
TIME_OVER = "the time limit ended the search for a proof"
NO_ROWS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Conflict(Part):
    """Rows of more than two labels that no weights classify all correctly.

    `rows` are rows of the data, each once and in order; `multipliers` are what each has against
    all competing classes together.
    """

    pairs: tuple[tuple[int, int, int], ...] = ()  # row, place of the competing class, multiplier

    @classmethod
    def of(cls, part: Part, rivals: AgainstRivals) -> Conflict:
        """Take a part of rows against rivals, as a proof has it, as rows of the data."""
        found = zip(map(rivals.pair, part.rows), part.multipliers, strict=True)
        pairs = tuple((n, r, m) for (n, r), m in found)
        others = rivals.examples.k - 1
        sums: dict[int, int] = {}
        for n, _, m in pairs:
            sums[n] = sums.get(n, others * part.rest) + m - part.rest
        rows = tuple(sorted(sums))
        return cls(rows, tuple(sums[n] for n in rows), others * part.rest, pairs)


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
        Sets of rows that cannot all be right, fewest rows first. Their `rows` are rows of the
        data, counted from 0; with more than two labels each stands there once, and `pairs` has
        the competing classes.
    passes : int
        How often all the data were gone through.
    proof : Proof, optional
        What `proof.check(X, y)` confirms; None where undecided, or in passes cut short.
    reason : str
        Why it is undecided, or not known in full.
    scaled : Guarantee, optional
        What R and rho of the same line would be if each column were divided by its largest entry.
    rivals : AgainstRivals, optional
        Where there are more than two labels: the examples as rows against rivals, by which the
        proof numbers them.
    row_names : RowNames
        What the rows are called in sentences.
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
    row_names: RowNames = FROM_ZERO

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

    @property
    def sentence(self) -> str:
        """The verdict and what shows it, as one sentence."""
        return next(verdict_lines(self))

    def explain(self) -> str:
        """Say what was found and why, in plain sentences, one on each line."""
        lines = [f"{line[0].upper()}{line[1:]}." for line in verdict_lines(self)]
        if self.verdict == "quasi-separable":
            family = ', family="multinomial"' if self.rivals else ""
            lines.insert(
                1,
                "Some estimates of a logistic regression are infinite: "
                f"rb.separation(X, y{family}) says which.",
            )
        return "\n".join(lines)

    def shares(self, part: Part) -> list[tuple[int, str | None, float]]:
        """Return the rows of a conflict, largest share first, and the shares of the sum that is 0.

        With more than two labels a row stands there once for each competing class, which is
        named; with two labels that is None.
        """
        total = sum(part.multipliers) + part.rest
        terms: list[tuple[int, str | None, int]]
        if isinstance(part, Conflict):
            terms = [(n, self._label(r), m) for n, r, m in part.pairs]
        else:
            terms = [(n, None, m) for n, m in zip(part.rows, part.multipliers, strict=True)]
        return [(n, rival, m / total) for n, rival, m in sorted(terms, key=lambda term: -term[2])]

    def on_margin(self) -> list[tuple[int, str | None]]:
        """Return the rows on the margin; with more than two labels, and to which class."""
        if self.rivals is None:
            return [(n, None) for n in sorted(self.support.tolist())]
        return [(n, self._label(r)) for n, r in self.support.tolist()]

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as JSON, with rows numbered as the interface does."""
        number = self.row_names.number
        return {
            "verdict": self.verdict,
            "margin": self.margin,
            "widest": None if self.margin is None else self.widest,
            "radius": self.radius,
            "bound": finite(self.bound),
            "on_margin": [
                number(n) if rival is None else {"row": number(n), "against": rival}
                for n, rival in self.on_margin()
            ],
        }

    def of_data(self) -> Separability:
        """Return it with the rows of the data in place of those that were kept of them."""
        at = self.row_names.positions
        if at is None:
            return self
        support = self.support.copy()
        numbers = support if support.ndim == 1 else support[:, 0]
        numbers[:] = [at[n] for n in numbers]
        parts = list[Part]()
        for part in self.blocking:
            rows = tuple(int(at[n]) for n in part.rows)
            if isinstance(part, Conflict):
                pairs = tuple((int(at[n]), r, m) for n, r, m in part.pairs)
                parts.append(replace(part, rows=rows, pairs=pairs))
            else:
                parts.append(replace(part, rows=rows))
        names = replace(self.row_names, positions=None)
        return replace(self, support=support, blocking=tuple(parts), row_names=names)

    def _label(self, place: int) -> str:
        assert self.rivals is not None
        return spelled(self.rivals.examples.labels[place].item())

    def __repr__(self) -> str:
        lines = islice(verdict_lines(self), 3 if self else 1)
        return f"<Separability: {'; '.join(lines)}>"

    def _repr_html_(self) -> str:
        first, *rest = self.explain().split("\n")
        facts = [("", line) for line in rest]
        if self.proof is not None:
            facts.append(("", "proof.check(X, y) checks it again."))
        return card(first, facts)


def verdict_lines(s: Separability) -> Iterator[str]:
    """Word a verdict: one sentence with what shows it, then a line for each fact behind it.

    Every interface takes its words from here. Lines begin in lower case and have no period.
    """
    many, names = s.rivals is not None, s.row_names
    told = verdict_sentence(s.verdict, reason=s.reason, many=many)
    if s.verdict == "undecided":
        yield told
        if s.margin is not None:
            yield f"floats suggest a margin of {s.margin:.6g}, not proved"
        if s.upper is not None:
            yield f"no margin is wider than {s.upper:.6g}"
    elif s:
        yield told
        yield from _of_the_margin(s)
    else:
        yield f"{told}; {_conflict(s.blocking[0], names)}" if s.blocking else told
        if s.verdict != "quasi-separable":
            yield "PLA would never end"
        if s.verdict == "not separable":
            yield "whether some w is wrong about none was not looked for"
        for k, part in enumerate(s.blocking[:MOST_SETS]):
            if len(part.rows) == 1:  # all zeros, which the sentence says
                continue
            times = "" if many else ", each times its answer"
            shares = [
                f"{share:.2g} of row {_called(n, rival, names)}"
                for n, rival, share in s.shares(part)[: MOST_ROWS + 1]
            ]
            more = [""] * (len(s.shares(part)) - len(shares))
            first = f"{_conflict(part, names)}: " if k else ""
            yield f"{first}{listed(shares + more, most=MOST_ROWS)}{times}, sum to zero"


def _of_the_margin(s: Separability) -> Iterator[str]:
    if s.margin is None:
        return
    width = f"rho = {s.margin:.6g}, the longest row has R = {s.radius:.6g}"
    yield f"the widest margin is {'' if s.widest else 'at least '}{width}"
    before, after = s.bound, None if s.scaled is None else s.scaled.bound
    if before is None or math.isinf(before):
        yield "R²/rho², the most corrections that PLA can need, is past all floats"
    else:
        yield f"PLA from w = 0 needs at most R²/rho² = {counted(whole(before), 'correction')}"
    if not s.widest and s.upper is not None and math.isfinite(s.upper):
        yield f"no margin is wider than {s.upper:.6g} (relative gap {s.gap:.2g})"
    if s.weights is None:
        yield "no floats were found that separate exactly; the whole numbers of proof.weights do"
    if len(s.support):
        rows = [_called(n, rival, s.row_names) for n, rival in s.on_margin()]
        yield f"on the margin: row{'' if len(rows) == 1 else 's'} {listed(rows, most=MOST_ROWS)}"
    if before is not None and after is not None and math.isfinite(after):
        way = "lower" if after < before else "raise"
        change = f"{way} the bound of this line to {whole(after):,}"
        if abs(after - before) < 0.01 * before:
            change = "leave the bound of this line much as it is"
        yield f"dividing each column by its largest entry would {change}"


def _called(n: int, rival: str | None, names: RowNames) -> str:
    return names.called(n) if rival is None else f"{names.called(n)} against {rival}"


def _conflict(part: Part, names: RowNames) -> str:
    """Say which rows no line classifies all correctly."""
    if part.rest:
        return "all rows together cannot be right"
    if len(part.rows) == 1:
        return f"{names.listed(part.rows)} is all zeros, and never right"
    return f"{names.listed(sorted(part.rows), MOST_ROWS)} cannot all be right"


@dataclass(frozen=True, eq=False)
class Verdict:
    """What was decided about the rows of a table, and what it is good for in learning."""

    answer: Separability  # which names rows as the interface does
    separator: Hypothesis | None = None  # a line without mistakes, where one is known
    more: str = ""  # what it means for a regression

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
