"""Separation: which estimates of a regression are infinite, because of which rows, proved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.evidence.cone import (
    ESTIMATES,
    FINITE,
    INFINITE,
    SHORT,
    UNKNOWN,
    Crossed,
    blame,
    partition,
)
from rosenblatt.evidence.families import (
    INTERCEPT,
    Name,
    Question,
    as_design,
    question,
    question_of,
)
from rosenblatt.evidence.integers import EXACT
from rosenblatt.evidence.nearest import Telling, Watch
from rosenblatt.evidence.parts import ProofError, Vector
from rosenblatt.evidence.separationproof import SeparationProof, data_of, kind_of
from rosenblatt.examples import Examples
from rosenblatt.rownames import FROM_ZERO, RowNames
from rosenblatt.words import card, counted, listed, shown

MANY_COLUMNS = 400  # from so many on crossed effects are looked for first
SHOWN = 60  # coefficients in a table; of more, those that are not finite come first


@dataclass(frozen=True, eq=False)
class Separation:
    """Which estimates are infinite and which rows are to blame.

    Parameters
    ----------
    kind : str
        "none", "quasi-complete", "complete" or "undecided"; bool() asks if any is infinite.
    family : str
        Of the regression.
    names : tuple
        Of the coefficients, the intercept first as "(intercept)"; for a multinomial, pairs
        (label, column), the first label being the reference.
    reasons : mapping
        For each name why its estimate is what it is.
    rows : array of int
        The rows, from 0, that are separated: their fitted mean lies on the boundary.
    direction : array
        γ of the names: positive on `rows` as the family signs them, exactly 0 on the others.
        Whole numbers, as floats where these hold them.
    n_rows : int
        How many rows the regression has; rows of weight 0 are none.
    n_overlapping : int
        How many rows the finite estimates are based on. In a multinomial a row may be separated
        from one rival and overlap with another: it is one of `rows`, and counted here too.
    drop : tuple of str
        Columns without which every estimate that is identified is finite; none where there is no
        separation, or it would take very many.
    proof : SeparationProof, optional
        What `proof.check(X, y)` confirms; None where undecided.
    reason : str
        Why it is undecided, or not all is known.
    row_names : RowNames
        What the rows are called in sentences.
    """

    kind: str
    family: str
    names: tuple[Name, ...]
    n_rows: int
    reasons: Mapping[Name, str] = field(default_factory=dict)
    rows: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    direction: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    n_overlapping: int = 0
    drop: tuple[str, ...] = ()
    proof: SeparationProof | None = None
    reason: str = ""
    row_names: RowNames = FROM_ZERO

    def __bool__(self) -> bool:
        return self.kind in ("quasi-complete", "complete")

    @property
    def coefficients(self) -> dict[Name, float]:
        """0.0 for a finite estimate, inf or -inf, nan for either sign or not identified."""
        return {name: ESTIMATES[self.reasons[name]] for name in self.names if self.reasons}

    def __str__(self) -> str:
        return told(self)

    def __repr__(self) -> str:
        return f"<Separation: {summary(self)}>"

    def _repr_html_(self) -> str:
        rows = [(spelled(name), self.reasons[name]) for name in listing(self)]
        rows += [("", line) for line in _unlisted(self)]
        return card(summary(self), rows + [("", line) for line in advice(self)])


def separation(
    X: Any,
    y: Any = None,
    *,
    family: str | None = None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
) -> Separation:
    """Decide which maximum likelihood estimates are infinite, row by row, and prove it.

    Parameters
    ----------
    X : array, CSR matrix or frame of shape (n, d), or a statsmodels model or result
        The regressors; text and categories of a frame become dummies with a reference level. A
        model brings its own regressors, answers, names and family.
    y : sequence of n answers
        Two labels or shares from 0 to 1 (binomial), counts (Poisson), labels (multinomial).
    family : {"binomial", "poisson", "multinomial"}, default="binomial"
        Poisson stands for every count model with a log link.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    sample_weight : sequence of n numbers, optional
        Only whether they are 0 matters: such rows are not part of the regression.

    Returns
    -------
    Separation
        Rows, coefficients, what to do, and the proof.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> s = rb.separation([[1.0], [2.0], [3.0], [3.0], [4.0]], [0, 0, 0, 1, 1])
    >>> s.kind, s.rows.tolist(), s.coefficients
    ('quasi-complete', [0, 1, 4], {'(intercept)': -inf, 'x1': inf})
    """
    asked = question(X, y, family, fit_intercept, sample_weight)
    with Telling() as telling:
        try:
            return replace(separation_of(asked, telling.tell), row_names=RowNames.of(X))
        except KeyboardInterrupt:
            reason = f"interrupted after {counted(telling.passes, 'pass', 'passes')} over the data"
            return _undecided(asked, reason)


def separation_of(asked: Question, watch: Watch) -> Separation:
    """Decide about the signed rows of a regression."""
    crossed = Crossed.of(asked.constraints) if len(asked.names) >= MANY_COLUMNS else None
    found = partition(asked.constraints, watch) if crossed is None else crossed.partition()
    if found.reason:
        return _undecided(asked, found.reason)
    pinned = asked.constraints.pinned
    kind = kind_of(found.separated, pinned)
    proof = SeparationProof(
        kind, asked.family, asked.fit_intercept, data_of(asked), found.direction, found.part
    )
    try:
        proof.check_evidence(asked)
    except ProofError as error:
        return _undecided(asked, f"the proof did not hold: {error}")
    blamed = blame(asked, found, watch) if crossed is None else crossed.blame(asked, found)
    owners, separated = asked.owners, found.separated
    return Separation(
        kind,
        asked.family,
        asked.names,
        len(np.unique(owners)),
        dict(zip(asked.names, blamed.why, strict=True)),
        np.unique(owners[separated]),
        as_numbers(found.direction),
        len(np.unique(owners[~separated])),
        blamed.drop,
        proof,
        blamed.reason,
    )


def infinite_columns(examples: Examples) -> list[str]:
    """The features whose estimates a logistic regression of examples would have infinite."""
    names = examples.names or tuple(f"x{j}" for j in range(1, examples.d + 1))
    table = as_design(examples.X, names, bool(examples.x0))
    s = separation_of(question_of(table, examples.y, "binomial", True), lambda *_: None)
    if s.reason.startswith("interrupted"):
        raise KeyboardInterrupt
    infinite = [str(n) for n, why in s.reasons.items() if why in INFINITE]
    return [name for name in infinite if name != INTERCEPT]


def _undecided(asked: Question, reason: str) -> Separation:
    n = len(np.unique(asked.owners))
    return Separation("undecided", asked.family, asked.names, n, reason=reason)


def as_numbers(direction: Vector) -> NDArray[Any]:
    """Whole numbers as floats, if every one of them is a float."""
    if all(abs(v) < EXACT for v in direction):
        return np.array(direction, dtype=np.float64)
    return np.array(direction, dtype=object)


def spelled(name: Name) -> str:
    """A coefficient as a table names it."""
    return shown(name if isinstance(name, str) else f"{name[0]}: {name[1]}")


def summary(s: Separation) -> str:
    """One line."""
    if s.kind == "undecided":
        return f"undecided: {s.reason}"
    if not s:
        rows = counted(s.n_rows, "row")
        return f"no separation: every estimate that is identified is finite ({rows})"
    infinite = [spelled(n) for n, why in s.reasons.items() if why in INFINITE]
    if not infinite:
        return f"{s.kind} separation: sums of coefficients that no row identifies are infinite"
    if len(infinite) == 1:
        return f"{s.kind} separation: the estimate of {infinite[0]} is infinite"
    return f"{s.kind} separation: the estimates of {listed(infinite)} are infinite"


def advice(s: Separation) -> list[str]:
    """What to do, a sentence a line."""
    if not s:
        return []
    lines = [_basis(s)]
    if s.drop:
        left = "every estimate left"
        left += " that is identified" if UNKNOWN in s.reasons.values() else ""
        lines.append(f"Without {listed([shown(n) for n in s.drop])} {left} is finite.")
    # A row that also overlaps is needed by others, so leaving it out may separate these.
    if 0 < s.n_overlapping == s.n_rows - len(s.rows):
        rows = counted(len(s.rows), "separated row")
        lines.append(f"Without the {rows} every estimate that is still identified is finite.")
    return lines + ([f"{s.reason[0].upper()}{s.reason[1:]}."] if s.reason else [])


def _basis(s: Separation) -> str:
    """Which rows the finite estimates come from."""
    finite = sum(1 for why in s.reasons.values() if why == FINITE)
    if not finite:
        return "No estimate is finite."
    told = (
        f"{counted(finite, 'estimate is', 'estimates are')} finite and based on the "
        f"{counted(s.n_overlapping, 'row that overlaps', 'rows that overlap')}"
    )
    without = s.n_rows - s.n_overlapping
    return told + (f", the same without the {counted(without, 'other row')}." if without else ".")


def told(s: Separation) -> str:
    """The whole of it: a table of the coefficients, then what to do."""
    if s.kind == "undecided":
        return summary(s)
    names = listing(s)
    wide = max(11, *(len(spelled(name)) for name in names))
    lines = [summary(s) + ".", "", f"{'coefficient':<{wide}}  estimate  why"]
    for name in names:
        why = s.reasons[name]
        lines.append(f"{spelled(name):<{wide}}  {SHORT[why]:<8}  {why}")
    lines += _unlisted(s)
    if s:
        rows = s.row_names.listed(s.rows.tolist(), 12).split(" ", 1)[1]
        lines += ["", f"{which_rows(s)}: {rows}."]
    return "\n".join(lines + advice(s))


def listing(s: Separation) -> list[Name]:
    """The coefficients that a table has room for."""
    if len(s.reasons) <= SHOWN:
        return list(s.reasons)
    return sorted(s.reasons, key=lambda name: s.reasons[name] == FINITE)[:SHOWN]


def _unlisted(s: Separation) -> list[str]:
    left = len(s.reasons) - SHOWN
    return [f"… and {counted(left, 'coefficient')} more, all in .reasons"] if left > 0 else []


def which_rows(s: Separation) -> str:
    """How a list of the separated rows begins."""
    return "Separated row" if len(s.rows) == 1 else "Separated rows"
