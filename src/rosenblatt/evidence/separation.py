"""Separation: which estimates of a regression are infinite, because of which rows, proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.card import card
from rosenblatt.design import INTERCEPT, as_design, design_of
from rosenblatt.errors import listed
from rosenblatt.evidence.cone import (
    Constraints,
    Partition,
    determined,
    null_space,
    partition,
    spanning_rows,
)
from rosenblatt.evidence.crossed import Crossed
from rosenblatt.evidence.families import Name, Question, question
from rosenblatt.evidence.nearest import Watch
from rosenblatt.evidence.proof import ProofError, Vector
from rosenblatt.evidence.reasons import DOWN, EITHER, ESTIMATES, FINITE, UNKNOWN, UP
from rosenblatt.evidence.separationproof import EXACT, SeparationProof, data_of, kind_of
from rosenblatt.evidence.telling import Telling
from rosenblatt.examples import Examples
from rosenblatt.words import counted, shown

MANY_COLUMNS = 400  # from so many on crossed effects are looked for first


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
    drop : tuple
        Columns without which every estimate that is identified is finite.
    proof : SeparationProof, optional
        What `proof.check(X, y)` confirms; None where undecided.
    reason : str
        Why it is undecided.
    """

    kind: str
    family: str
    names: tuple[Name, ...]
    n_rows: int
    reasons: Mapping[Name, str] = field(default_factory=dict)
    rows: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    direction: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    drop: tuple[Name, ...] = ()
    proof: SeparationProof | None = None
    reason: str = ""

    def __bool__(self) -> bool:
        return self.kind in ("quasi-complete", "complete")

    @property
    def coefficients(self) -> dict[Name, float]:
        """0.0 for a finite estimate, inf or -inf, nan for either sign or not identified."""
        return {name: ESTIMATES[self.reasons[name]] for name in self.names if self.reasons}

    @property
    def n_overlapping(self) -> int:
        """How many rows the finite estimates are based on."""
        return self.n_rows - len(self.rows)

    def __str__(self) -> str:
        return told(self)

    def __repr__(self) -> str:
        return f"<Separation: {summary(self)}>"

    def _repr_html_(self) -> str:
        rows = [(spelled(name), why) for name, why in self.reasons.items()]
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
    design = None
    if y is None:
        from rosenblatt.evidence.statsmodels import model_of

        design, y, family, sample_weight = model_of(X, family, sample_weight)
        fit_intercept = False
    family = family or "binomial"
    asked = question(design or design_of(X, fit_intercept), y, family, sample_weight)
    with Telling() as telling:
        try:
            return separation_of(asked, family, fit_intercept, telling.tell)
        except KeyboardInterrupt:
            reason = f"interrupted after {counted(telling.passes, 'pass', 'passes')} over the data"
            return _undecided(asked, family, reason)


def separation_of(asked: Question, family: str, fit_intercept: bool, watch: Watch) -> Separation:
    """Decide about the signed rows of a regression."""
    crossed = Crossed.of(asked.constraints) if len(asked.names) >= MANY_COLUMNS else None
    found = partition(asked.constraints, watch) if crossed is None else crossed.partition()
    if found.reason:
        return _undecided(asked, family, found.reason)
    pinned = asked.constraints.pinned
    kind = kind_of(found.separated, pinned)
    data = data_of(asked)
    proof = SeparationProof(kind, family, fit_intercept, data, found.direction, found.part)
    try:
        proof.check_evidence(asked)
    except ProofError as error:
        return _undecided(asked, family, f"the proof did not hold: {error}")
    if crossed is None:
        why, drop = _coefficients(asked.constraints, found, watch)
    else:
        why = crossed.why(found)
        drop = [j for j, reason in enumerate(why) if reason in (UP, DOWN, EITHER)]
    return Separation(
        kind,
        family,
        asked.names,
        len(np.unique(asked.owners)),
        dict(zip(asked.names, why, strict=True)),
        np.unique(asked.owners[found.separated]),
        as_numbers(found.direction),
        tuple(asked.names[j] for j in drop),
        proof,
    )


def infinite_columns(examples: Examples) -> list[str]:
    """The features whose estimates a logistic regression of examples would have infinite."""
    names = examples.names or tuple(f"x{j}" for j in range(1, examples.d + 1))
    table = as_design(examples.X, names, bool(examples.x0))
    s = separation_of(question(table, examples.y, "binomial"), "binomial", True, _silent)
    infinite = [str(n) for n, why in s.reasons.items() if why in (UP, DOWN, EITHER)]
    return [name for name in infinite if name != INTERCEPT]


def _silent(point: Any, passes: int) -> None:
    """Nobody is told."""


def _undecided(asked: Question, family: str, reason: str) -> Separation:
    n = len(np.unique(asked.owners))
    return Separation("undecided", family, asked.names, n, reason=reason)


def as_numbers(direction: Vector) -> NDArray[Any]:
    """Whole numbers as floats, if every one of them is a float."""
    if all(abs(v) < EXACT for v in direction):
        return np.array(direction, dtype=np.float64)
    return np.array(direction, dtype=object)


def _coefficients(
    constraints: Constraints, found: Partition, watch: Watch
) -> tuple[list[str], list[int]]:
    """Why each estimate is what it is, and columns to drop."""
    examples = constraints.examples
    over = null_space(examples, found.spanning)
    finite = determined(over, examples.d)
    rows = np.flatnonzero(found.separated)
    spanning = [*found.spanning, *spanning_rows(examples, rows)] if len(rows) else found.spanning
    every = null_space(examples, _independent(examples, spanning))
    known = determined(every, examples.d)
    why = [FINITE if f else UNKNOWN for f in finite]
    infinite = np.flatnonzero(known & ~finite).tolist()
    free = len(over.others) - len(every.others)
    ask = Asking(constraints, found, [found.direction], watch)
    for j in infinite:
        why[j] = ask.sign(j, alone=free == 1)
    return why, _droppable(ask, infinite, over.others.tolist()) if infinite else []


def _independent(examples: Examples, rows: Sequence[int]) -> list[int]:
    return spanning_rows(examples, np.array(rows, dtype=np.intp))


@dataclass(frozen=True, eq=False)
class Asking:
    """Asks whether some direction of the cone has a coefficient of some sign."""

    constraints: Constraints
    found: Partition
    directions: list[Vector]  # that are known to be in the cone
    watch: Watch

    def sign(self, j: int, *, alone: bool) -> str:
        """Whether coefficient j is positive, negative or either along the cone's directions."""
        signs = {(v[j] > 0) - (v[j] < 0) for v in self.directions} - {0}
        for side in (1, -1):
            if side not in signs and not alone and self.possible(j, side):
                signs.add(side)
        return EITHER if len(signs) == 2 else UP if signs == {1} else DOWN

    def possible(self, j: int, side: int) -> bool:
        """Whether some direction of the cone has this sign at j."""
        found = partition(self._with(j, side), self.watch)
        if found.reason:
            raise ArithmeticError(found.reason)
        self.directions.append(found.direction)
        return bool(found.separated[-1])

    def finite_without(self, columns: Sequence[int]) -> bool:
        """Whether nothing is separated once these columns are dropped."""
        small = self._small(extra=len(columns))
        for row, j in enumerate(columns, len(small.pinned) - len(columns)):
            small.examples.X[row, j] = _size(small.examples.X[:, j])
            small.pinned[row] = True
        return not partition(small, self.watch).separated.any()

    def _with(self, j: int, side: int) -> Constraints:
        small = self._small(extra=1)
        small.examples.X[-1, j] = side * _size(small.examples.X[:, j])
        return small

    def _small(self, extra: int) -> Constraints:
        """The separated rows, rows that span the others, pinned, and some rows of zeros."""
        examples = self.constraints.examples
        rows = np.flatnonzero(self.found.separated)
        span = np.array(self.found.spanning, dtype=np.intp)
        index = np.concatenate((rows, span)).astype(np.intp)
        X = examples.X[index]
        X = X.toarray() if examples.is_sparse else X
        X = np.vstack((X.astype(np.float64), np.zeros((extra, examples.d))))
        y = np.concatenate((examples.y[index], np.ones(extra, dtype=np.int8)))
        pinned = np.zeros(len(y), dtype=bool)
        pinned[len(rows) : len(index)] = True
        return Constraints(replace(examples, X=X, y=y), pinned)


def _size(column: NDArray[np.float64]) -> float:
    """A number as large as those of a column, so that a row of its own stands out in no way."""
    return float(np.abs(column).max()) or 1.0


def _droppable(ask: Asking, infinite: list[int], free: list[int]) -> list[int]:
    """Few columns to drop so that nothing is separated: one if one will do."""
    for j in reversed(infinite):
        if ask.finite_without([j]):
            return [j]
    chosen = list(infinite)
    for j in infinite:
        fewer = [k for k in chosen if k != j]
        if ask.finite_without(fewer):
            chosen = fewer
    return chosen


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
    infinite = [spelled(n) for n, why in s.reasons.items() if why in (UP, DOWN, EITHER)]
    if len(infinite) == 1:
        return f"{s.kind} separation: the estimate of {infinite[0]} is infinite"
    return f"{s.kind} separation: the estimates of {listed(infinite)} are infinite"


def advice(s: Separation) -> list[str]:
    """What to do, a sentence a line."""
    if not s:
        return []
    finite = sum(1 for why in s.reasons.values() if why == FINITE)
    apart = counted(len(s.rows), "separated row")
    basis = "No estimate is finite."
    if finite:
        basis = (
            f"{counted(finite, 'estimate is', 'estimates are')} finite and based on the "
            f"{counted(s.n_overlapping, 'row')} that overlap, the same without the {apart}."
        )
    return [basis, f"Without {listed([spelled(n) for n in s.drop])} every estimate left is finite."]


def told(s: Separation) -> str:
    """The whole of it: a table of the coefficients, then what to do."""
    if s.kind == "undecided":
        return summary(s)
    sign = {FINITE: "finite", UP: "+inf", DOWN: "-inf", EITHER: "±inf", UNKNOWN: "—"}
    wide = max(len(spelled(name)) for name in s.names)
    lines = [summary(s) + ".", "", f"{'coefficient':<{max(wide, 11)}}  estimate  why"]
    for name, why in s.reasons.items():
        lines.append(f"{spelled(name):<{max(wide, 11)}}  {sign[why]:<8}  {why}")
    if s:
        lines += ["", f"Separated rows: {listed([str(n) for n in s.rows.tolist()], most=12)}."]
    return "\n".join(lines + advice(s))
