"""What a Separability says in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rosenblatt.errors import listed
from rosenblatt.evidence.guarantee import corrections
from rosenblatt.evidence.proof import Part

if TYPE_CHECKING:
    from rosenblatt.evidence.separability import Separability

MOST_ROWS = 8  # rows named in a sentence
MOST_SETS = 3  # blocking sets told


def summary(s: Separability) -> str:
    """One line."""
    if s.verdict == "separable" and s.margin is not None and s.bound is not None:
        return (
            f"separable; margin {s.margin:.4g}, R {s.radius:.4g}, PLA needs {corrections(s.bound)}"
        )
    if s.verdict == "undecided":
        return f"undecided; {s.reason}"
    return f"{s.verdict}; {_cannot(s.blocking[0])}"


def explanation(s: Separability) -> str:
    """A few sentences, one on each line."""
    return "\n".join(_TOLD[s.verdict](s))


def _separable(s: Separability) -> Iterable[str]:
    yield "Separable: some w answers every example rightly."
    if s.margin is None:
        return
    width = "The widest margin is" if s.gap is not None and s.gap <= 1e-9 else "A margin is"
    yield f"{width} rho = {s.margin:.6g}; the longest example has R = {s.radius:.6g}."
    if s.gap is not None and s.gap > 1e-9:
        yield f"No margin is wider than {s.upper:.6g} (relative gap {s.gap:.2g})."
    if s.bound is None or math.isinf(s.bound):
        yield "R²/rho², the most corrections that PLA can need, is past all floats."
    else:
        yield f"PLA from w = 0 needs at most R²/rho² = {s.bound:,.1f} corrections."
    if s.weights is None:
        yield "No floats were found that separate exactly; the whole numbers of proof.weights do."
    yield f"On the margin: {rows_named(s.support)}."
    if s.scaled is not None and s.scaled.bound is not None and s.bound is not None:
        yield (
            f"Dividing each column by its largest entry would {_change(s.bound, s.scaled.bound)}."
        )


def _change(before: float, after: float) -> str:
    if abs(after - before) < 0.01 * before:
        return "leave the bound of this line much as it is"
    change = "lower" if after < before else "raise"
    return f"{change} the bound of this line to {after:,.1f}"


def _quasi(s: Separability) -> Iterable[str]:
    yield "Quasi-separable: no w answers every example rightly,"
    yield "but some w is wrong about none: it is right about some and exactly zero on the others."
    yield "Some estimates of a logistic regression are infinite: rb.separation(X, y) says which."
    yield from map(_blocking, s.blocking[:MOST_SETS])


def _inseparable(s: Separability) -> Iterable[str]:
    yield "Inseparable: no w answers every example rightly, and PLA would never end."
    yield from map(_blocking, s.blocking[:MOST_SETS])


def _not_separable(s: Separability) -> Iterable[str]:
    yield "Not separable: no w answers every example rightly, and PLA would never end."
    yield "Whether some w is wrong about none was not looked for."
    yield from map(_blocking, s.blocking[:MOST_SETS])


def _undecided(s: Separability) -> Iterable[str]:
    yield f"Undecided: {s.reason}."
    if s.margin is not None:
        yield f"Floats suggest a margin of {s.margin:.6g}, not proved."
    if s.upper is not None:
        yield f"No margin is wider than {s.upper:.6g}."


_TOLD = {
    "separable": _separable,
    "quasi-separable": _quasi,
    "inseparable": _inseparable,
    "not separable": _not_separable,
    "undecided": _undecided,
}


def _cannot(part: Part) -> str:
    if part.rest:
        return "all rows together cannot be right"
    if len(part.rows) == 1:
        return f"row {part.rows[0]} is all zeros, and never right"
    return f"{rows_named(part.rows)} cannot all be right"


def _blocking(part: Part) -> str:
    """What the multipliers of some rows say, in shares that sum to 1."""
    total = sum(part.multipliers) + part.rest
    pairs = sorted(zip(part.rows, part.multipliers, strict=True), key=lambda pair: -pair[1])
    shares = [f"{m / total:.2g} of row {n}" for n, m in pairs]
    sentence = _cannot(part)
    if len(part.rows) > 1:
        sentence += f": {listed(shares, most=MOST_ROWS)}, each times its answer, sum to nothing"
    return sentence[0].upper() + sentence[1:] + "."


def rows_named(rows: Sequence[int] | NDArray[np.intp]) -> str:
    """Rows as a sentence names them.

    Examples
    --------
    >>> rows_named([17, 203, 411])
    'rows 17, 203 and 411'
    """
    names = listed([str(n) for n in rows], most=MOST_ROWS)
    return f"row {names}" if len(rows) == 1 else f"rows {names}"
