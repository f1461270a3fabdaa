"""Separable or not: the decision, the widest margin, and the proof."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import algorithms
from rosenblatt.card import card
from rosenblatt.clock import NEVER, Deadline, OutOfTimeError
from rosenblatt.evidence.decide import ANY, Decision, decide, first_part
from rosenblatt.evidence.explain import explanation, summary
from rosenblatt.evidence.floats import separating_floats
from rosenblatt.evidence.guarantee import Guarantee
from rosenblatt.evidence.integers import (
    MOST_PAIRS,
    Codes,
    as_integers,
    contradictions,
    contradictions_of,
    dimension_of,
    merged,
    paired,
    row_codes,
    smallest_exponent,
)
from rosenblatt.evidence.margin import scaled_guarantee, unit_length
from rosenblatt.evidence.nearest import GAP, Point
from rosenblatt.evidence.proof import Part, Proof, ProofError, claim_of_mistakes, fingerprint
from rosenblatt.evidence.signed import Look, Scale, Signed, look_at
from rosenblatt.evidence.telling import Telling
from rosenblatt.evidence.widest import Separator, as_found, widest_from
from rosenblatt.examples import Examples
from rosenblatt.words import counted

QUICK_CYCLES = 100  # what PLA is given for a quick try
MANY_FEATURES = 1000
TIME_OVER = "the time limit ended the search for a proof"
FEW_NUMBERS = 2**13  # so few are decided about whatever the time


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
    upper : float, optional
        No w has a wider margin than this, which the multipliers of the support show.
    radius : float
        R, the length of the longest tall example.
    support : array
        The rows on the margin.
    blocking : tuple of Part
        Sets of rows that cannot all be right, fewest rows first.
    passes : int
        How often all the data were gone through.
    proof : Proof, optional
        What `proof.check(X, y)` confirms; None where undecided, or in passes cut short.
    reason : str
        Why it is undecided, or not known in full.
    scaled : Guarantee, optional
        What R and rho of the same line would be if each column were divided by its largest entry.
    """

    verdict: str
    radius: float
    weights: NDArray[np.float64] | None = None
    margin: float | None = None
    upper: float | None = None
    support: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    blocking: tuple[Part, ...] = ()
    passes: int = 0
    proof: Proof | None = None
    reason: str = ""
    scaled: Guarantee | None = None

    def __bool__(self) -> bool:
        return self.verdict == "separable"

    @property
    def bound(self) -> float | None:
        """R²/rho², the most corrections PLA can need; None where it may never end.

        Infinity where R or rho is past what floats can say.
        """
        if not self or self.margin is None:
            return None
        return Guarantee(self.radius, self.margin).bound or math.inf

    @property
    def gap(self) -> float | None:
        """How much wider, relative to `upper`, another w could be; None where none separates."""
        if self.margin is None or self.upper is None:
            return None
        return max(0.0, 1.0 - self.margin / self.upper) if self.upper > 0 else 1.0

    def explain(self) -> str:
        """What was found and why, in plain sentences."""
        return explanation(self)

    def __repr__(self) -> str:
        return f"<Separability: {summary(self)}>"

    def _repr_html_(self) -> str:
        first, *rest = self.explain().split("\n")
        facts = [("", line) for line in rest]
        if self.proof is not None:
            facts.append(("", "Proved in exact arithmetic: proof.check(X, y) checks it again."))
        return card(first, facts)


def separability(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    widest: bool = True,
) -> Separability:
    """Decide whether a straight line can answer every example, and prove it.

    Parameters
    ----------
    X : array, CSR matrix or frame of shape (n, d)
        The features; every float is taken as the exact fraction that it is.
    y : sequence of n answers
        One or two kinds of answer.
    fit_intercept : bool, default=True
        Whether w has a w0 with x0 = `intercept_scaling`.
    intercept_scaling : float, default=1.0
        The constant feature x0.
    widest : bool, default=True
        Whether to go on to the widest margin once some w separates.

    Returns
    -------
    Separability
        The verdict, the weights, margin and bound where there are any, and the proof.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> s = rb.separability([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> s.verdict, s.support.tolist(), s.proof.check([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    ('separable', [1, 2], True)
    >>> round(s.bound, 1)
    85.0
    >>> rb.separability([[0.0], [1.0], [2.0]], [0, 1, 0])
    <Separability: inseparable; rows 0, 1 and 2 cannot all be right>
    """
    x0 = float(intercept_scaling) if fit_intercept else 0.0
    return separability_of(Examples.from_arrays(X, y, x0=x0, one_class=True), widest=widest)


def separability_of(
    examples: Examples,
    *,
    widest: bool = True,
    deadline: Deadline = NEVER,
    known: NDArray[np.float64] | None = None,
) -> Separability:
    """Decide about examples; their weights play no part.

    Parameters
    ----------
    examples : Examples
        The rows and their answers, of one or two classes.
    widest : bool, default=True
        Whether to go on to the widest margin once some w separates.
    deadline : Deadline
        When to leave it undecided; what is small is decided in any case.
    known : array, optional
        A w with its slot that is known to separate: nothing is left to decide but the margin.
    """
    examples = merged(examples)
    look = look_at(examples)
    with Telling() as telling:
        try:
            numbers = examples.n * dimension_of(examples)
            asked = (widest, in_time(numbers, deadline))
            return _decided(examples, look, asked, telling, known)
        except KeyboardInterrupt:
            reason = f"interrupted after {counted(telling.passes, 'pass', 'passes')} over the data"
        except OutOfTimeError:
            reason = TIME_OVER
        return _undecided(look, reason, telling.point)


def contradicted(examples: Examples) -> Separability | None:
    """Not separable, for some rows are alike and have different answers; None if none are.

    That takes one pass. What is small is left to `separability_of`, which says more.

    Parameters
    ----------
    examples : Examples
        The rows and their answers, of one or two classes.
    """
    examples = merged(examples)
    if examples.n * dimension_of(examples) <= FEW_NUMBERS:
        return None
    codes = row_codes(examples)
    groups = contradictions(examples, codes)
    pairs = (pair for yes, no in groups for pair in paired(yes, no, MOST_PAIRS))
    parts = tuple(Part(pair, (1, 1)) for pair in sorted(islice(pairs, MOST_PAIRS)))
    return _blocked(examples, look_at(examples), parts, codes) if parts else None


def _blocked(examples: Examples, look: Look, parts: tuple[Part, ...], codes: Codes) -> Separability:
    """Not separable, for each of some disjoint sets of rows costs every w a mistake."""
    claim = claim_of_mistakes(len(parts))
    proof = Proof(claim, fingerprint(examples, codes), examples.x0, parts=parts)
    proof.check_evidence(examples)
    return Separability("not separable", look.radius, blocking=parts, passes=3, proof=proof)


def in_time(numbers: int, deadline: Deadline) -> Deadline:
    """When to give up deciding about so many numbers: never, where there are few."""
    return NEVER if numbers <= FEW_NUMBERS else deadline


def blocking_part(examples: Examples, rows: Any = None, deadline: Deadline = NEVER) -> Part | None:
    """Rows that no w can all answer rightly, with exact multipliers; None if some w can.

    Parameters
    ----------
    examples : Examples
        The rows and their answers.
    rows : array of int, optional
        The rows to choose among, all if not given. The part numbers them as `examples` does.
    deadline : Deadline
        When to raise OutOfTimeError instead.

    Examples
    --------
    >>> examples = Examples.from_arrays([[0.0], [1.0], [2.0], [9.0]], [0, 1, 0, 1])
    >>> blocking_part(examples)
    Part(rows=(0, 1, 2), multipliers=(1, 2, 1), rest=0)
    >>> blocking_part(examples, [0, 1, 3])
    """
    examples = merged(examples)
    index = np.arange(examples.n) if rows is None else np.asarray(rows, dtype=np.intp)
    if rows is not None:
        examples = replace(examples, X=examples.X[index], y=examples.y[index], weights=None)
    look = look_at(examples)
    scale = Scale.even(examples, look) if look.far_apart else Scale.plain(look)
    part = first_part(Signed(examples, scale, deadline=deadline))
    if part is None:
        return None
    order = sorted(zip(index[list(part.rows)].tolist(), part.multipliers, strict=True))
    return Part(tuple(n for n, _ in order), tuple(m for _, m in order))


def _decided(
    examples: Examples,
    look: Look,
    asked: tuple[bool, Deadline],
    telling: Telling,
    known: NDArray[np.float64] | None,
) -> Separability:
    widest, deadline = asked
    # Two passes so far: X was checked for numbers that are none, and looked at.
    plain = signed = Signed(examples, Scale.plain(look), passes=2, deadline=deadline)
    if look.far_apart:
        signed = Signed(examples, Scale.even(examples, look), passes=3, deadline=deadline)
    quick = _quick_try(signed) if known is None else _by(examples, known)
    decision = quick or decide(signed, GAP if widest and signed is plain else ANY, telling.tell)
    plain.passes = max(signed.passes, telling.passes)
    if decision.verdict != "separable":
        return _not_separable(plain, look, decision)
    point = decision.point if signed is plain else None
    found = as_found(replace(plain, deadline=NEVER), decision.weights, point)
    if widest:
        # From here on it is proved: an impatient person still gets the separator and its gap.
        with contextlib.suppress(KeyboardInterrupt, OutOfTimeError):
            found = widest_from(plain, found, point, telling.tell)
    return _separable(plain, look, found)


def _quick_try(signed: Signed) -> Decision | None:
    """A short run of PLA, where features are many and a separator is likely."""
    examples = signed.examples
    if not (examples.is_sparse or examples.d >= MANY_FEATURES):
        return None
    try:
        run = algorithms.pla(examples, budget=algorithms.Budget(cycles=QUICK_CYCLES))
    except algorithms.WeightsOverflowError:
        return None
    signed.passes += run.cycles + 1
    if not run.separated:
        return None
    return _by(examples, run.hypothesis.w)


def _by(examples: Examples, weights: NDArray[np.float64]) -> Decision:
    """The decision that weights are which separate."""
    w = examples.tall(weights)
    return Decision("separable", tuple(as_integers(w, smallest_exponent(w))))


def _separable(plain: Signed, look: Look, found: Separator) -> Separability:
    examples, result = plain.examples, found.measured
    proof = Proof("separable", fingerprint(examples), examples.x0, found.weights)
    proof.check_evidence(examples)
    scaled = scaled_guarantee(examples, look, result)
    patient = replace(plain, deadline=NEVER)
    return Separability(
        "separable",
        look.radius,
        result.weights if result.sure else separating_floats(patient, found.weights),
        result.margin,
        result.upper,
        support=result.support,
        passes=plain.passes + 3,  # fingerprint, check, the radius of scaled columns
        proof=proof,
        scaled=scaled,
    )


def _not_separable(plain: Signed, look: Look, decision: Decision) -> Separability:
    if decision.part is None or decision.blocking is None:
        return _undecided(look, decision.reason, decision.point)
    examples, weights = plain.examples, decision.weights
    codes = row_codes(examples)
    if decision.verdict == "not separable":
        return replace(_blocked(examples, look, (decision.part,), codes), reason=TIME_OVER)
    data = fingerprint(examples, codes)
    proof = Proof(decision.verdict, data, examples.x0, weights, (decision.part,))
    try:
        proof.check_evidence(examples)
    except ProofError as error:
        return _undecided(look, f"the proof did not hold: {error}", None)
    pairs = [Part(pair, (1, 1)) for pair in contradictions_of(examples, codes)]
    sets = {part.rows: part for part in (decision.blocking, *pairs)}  # each told once
    return Separability(
        decision.verdict,
        look.radius,
        unit_length(weights) if weights else None,
        blocking=tuple(sorted(sets.values(), key=lambda part: len(part.rows))),
        passes=plain.passes + 1 + bool(weights),  # fingerprint, check of the products
        proof=proof,
    )


def _undecided(look: Look, reason: str, point: Point | None) -> Separability:
    unit = float(Scale.plain(look).columns[0])
    if point is None or not point.plain:
        return Separability("undecided", look.radius, reason=reason)
    return Separability(
        "undecided",
        look.radius,
        point.w if point.lower > 0 else None,
        point.lower / unit if point.lower > 0 else None,
        point.upper / unit,
        reason=reason,
    )
