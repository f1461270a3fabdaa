"""The proof of a separation, and its checker: a direction and multipliers, all whole numbers.

γ has γ·z > 0 on some rows and exactly 0 on the others. On each of the others there is a positive
multiplier (of any sign where a row is pinned), and Σ λ z = 0. So no direction that is nowhere
negative is positive on any of those: their λ·(γ'·z) would sum to something positive, and it sums
to zero. Which rows are separated is thereby proved, row by row. Nothing of the solver is imported.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import strictjson
from rosenblatt.card import card
from rosenblatt.design import design_of
from rosenblatt.errors import quoted
from rosenblatt.evidence.families import Question, question
from rosenblatt.evidence.fingerprint import fingerprint
from rosenblatt.evidence.integers import (
    exact_products,
    integer_rows,
    merged,
    unit_of,
)
from rosenblatt.evidence.proof import Part, ProofError, Vector, integers_of
from rosenblatt.evidence.statsmodels import model_of
from rosenblatt.examples import Examples

FORMAT = "rosenblatt separation 1"
KINDS = ("none", "quasi-complete", "complete")
EXACT = 2.0**53


@dataclass(frozen=True)
class SeparationProof:
    """What is claimed of a regression, and the whole numbers that prove it.

    Parameters
    ----------
    kind : {"none", "quasi-complete", "complete"}
        Whether no row is separated, some or all.
    family : str
        Of the regression.
    fit_intercept : bool
        Whether it has a column of ones.
    data : str
        The fingerprint of its signed rows.
    direction : tuple of int
        γ, a number for each coefficient.
    part : Part
        The multipliers; `rest` is that of each row that overlaps and is neither listed nor pinned.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[1.0], [2.0], [3.0], [3.0], [4.0]], [0, 0, 0, 1, 1]
    >>> proof = rb.separation(X, y).proof
    >>> proof.kind, proof.direction, proof.check(X, y)
    ('quasi-complete', (-3, 1), True)
    """

    kind: str
    family: str
    fit_intercept: bool
    data: str
    direction: Vector
    part: Part

    def check(self, X: Any, y: Any = None, sample_weight: Any = None) -> bool:
        """Check the proof against the data in exact arithmetic; raise ProofError if it fails.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d), or a statsmodels model or result
            The regressors.
        y : sequence of n answers
            The answers, as the family has them; a model brings its own.
        sample_weight : sequence of n numbers, optional
            As they were given when the proof was made.
        """
        design = None
        if y is None:
            design, y, _, sample_weight = model_of(X, self.family, sample_weight)
        design = design or design_of(X, self.fit_intercept)
        return self.check_question(question(design, y, self.family, sample_weight))

    def check_question(self, asked: Question) -> bool:
        """Check the proof against the signed rows of a regression."""
        if data_of(asked) != self.data:
            raise ProofError(
                "this is a proof about other data: a number, an answer or the order of the rows "
                "is not what it was."
            )
        self.check_evidence(asked)
        return True

    def check_evidence(self, asked: Question) -> NDArray[np.bool_]:
        """Check the evidence alone; which of the signed rows are separated."""
        examples, pinned = merged(asked.constraints.examples), asked.constraints.pinned
        separated = _positive(self.direction, examples)
        if (separated & pinned).any():
            row = int(asked.owners[np.flatnonzero(separated & pinned)[0]])
            raise ProofError(f"row {row}: the direction is not zero where the row pins it.")
        _check_multipliers(self.part, separated, pinned)
        _check_sum(self.part, examples, np.flatnonzero(~separated & ~pinned))
        kind = kind_of(separated, pinned)
        if self.kind != kind:
            raise ProofError(f"the evidence shows {kind!r}, not {quoted(self.kind)}.")
        return separated

    def to_json(self) -> str:
        """The proof as JSON text; integers are hexadecimal, so nothing is rounded."""
        return strictjson.sealed(_content(self))

    @classmethod
    def from_json(cls, text: str) -> SeparationProof:
        """Read a proof that `to_json` wrote; raise ProofError if it was changed since.

        Parameters
        ----------
        text : str
            The JSON text.
        """
        try:
            content = strictjson.parse(text)
            seal = content.pop("seal")
            proof = cls(
                str(content["kind"]),
                str(content["family"]),
                content["fit_intercept"] is True,
                str(content["data"]),
                integers_of(content["direction"]),
                Part(
                    tuple(content["rows"]),
                    integers_of(content["multipliers"]),
                    int(content["rest"], 16),
                ),
            )
        except strictjson.NotJsonError as wrong:
            raise ProofError(f"this text {wrong}.") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = quoted(error)
            raise ProofError(f"this is not the JSON of a proof of separation: {why}.") from None
        if content != _content(proof) or seal != strictjson.seal_of(content):
            raise ProofError("the text of this proof was changed: its seal does not fit.")
        return proof

    def _repr_html_(self) -> str:
        facts = [
            ("claim", f"{self.kind} separation, family {self.family}"),
            ("about the data", f"{self.data[:16]}…"),
            ("to check it", "proof.check(X, y)"),
        ]
        return card("Proof of separation", facts)


def _content(proof: SeparationProof) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "kind": proof.kind,
        "family": proof.family,
        "fit_intercept": proof.fit_intercept,
        "data": proof.data,
        "direction": [hex(v) for v in proof.direction],
        "rows": list(proof.part.rows),
        "multipliers": [hex(v) for v in proof.part.multipliers],
        "rest": hex(proof.part.rest),
    }


def data_of(asked: Question) -> str:
    """A digest of the signed rows, whose they are and which are pinned."""
    digest = hashlib.sha256(fingerprint(merged(asked.constraints.examples)).encode())
    digest.update(asked.owners.astype("<i8").tobytes())
    digest.update(asked.constraints.pinned.tobytes())
    return digest.hexdigest()


def kind_of(separated: NDArray[np.bool_], pinned: NDArray[np.bool_]) -> str:
    """What it is called when these rows are separated."""
    if not separated.any():
        return "none"
    return "quasi-complete" if pinned.any() or not separated.all() else "complete"


def _positive(direction: Vector, examples: Examples) -> NDArray[np.bool_]:
    """Where γ·z is positive; it must be zero everywhere else."""
    if len(direction) != examples.d or any(type(v) is not int for v in direction):
        raise ProofError(f"the direction is not {examples.d} whole numbers.")
    used = [j for j, v in enumerate(direction) if v]
    if not used:
        return np.zeros(examples.n, dtype=bool)
    examples = replace(examples, X=examples.X[:, used])
    direction = tuple(direction[j] for j in used)
    products = _exact_floats(direction, examples)
    if products is None:
        products = np.array(_signs(direction, examples, range(examples.n)))
    negative = np.flatnonzero(products < 0)
    if len(negative):
        raise ProofError(f"signed row {negative[0]}: the direction is negative there.")
    return np.asarray(products > 0)


def _signs(direction: Vector, examples: Examples, rows: range) -> list[int]:
    return [(p > 0) - (p < 0) for p in exact_products(direction, examples, rows)]


def _exact_floats(direction: Vector, examples: Examples) -> NDArray[np.float64] | None:
    """γ·z in floats, where whole numbers are so small that no sum of them is ever rounded."""
    numbers = examples.numbers
    if numbers.size == 0:
        return np.zeros(examples.n)
    most = max(map(abs, direction), default=0)
    if not (most < EXACT and _whole(examples)):
        return None
    if not most * examples.largest * (examples.longest + 1) < EXACT:
        return None
    gamma = np.array(direction, dtype=np.float64)
    return np.asarray(examples.X @ gamma) * examples.y


def _check_multipliers(part: Part, separated: NDArray[np.bool_], pinned: NDArray[np.bool_]) -> None:
    """Each row that overlaps has one multiplier, positive unless the row is pinned."""
    for n in part.rows:
        if type(n) is not int or not 0 <= n < len(separated):
            raise ProofError(f"row {quoted(n)}: the data have no such row.")
    if len(part.rows) != len(part.multipliers) or len(set(part.rows)) < len(part.rows):
        raise ProofError("there is not one multiplier for each row listed.")
    if type(part.rest) is not int or part.rest < 0:
        raise ProofError("the multiplier of the rest is not a whole number from 0 up.")
    for n, m in zip(part.rows, part.multipliers, strict=True):
        if type(m) is not int or (m <= 0 and not pinned[n]):
            raise ProofError(f"signed row {n}: its multiplier is not a positive whole number.")
        if separated[n]:
            raise ProofError(f"signed row {n} is separated and has a multiplier.")
    covered = separated | pinned
    covered[list(part.rows)] = True
    if part.rest == 0 and not covered.all():
        raise ProofError(f"signed row {int(covered.argmin())} overlaps and has no multiplier.")


def _check_sum(part: Part, examples: Examples, overlapping: NDArray[np.intp]) -> None:
    """Σ λ z = 0, column by column, in whole numbers."""
    multipliers = dict.fromkeys(overlapping.tolist(), part.rest)
    multipliers |= dict(zip(part.rows, part.multipliers, strict=True))
    for j, v in enumerate(_exact_sums(multipliers, examples)):
        if v:
            raise ProofError(f"the sum of multipliers times rows is not zero in coefficient {j}.")


def _exact_sums(multipliers: dict[int, int], examples: Examples) -> Iterable[float]:
    """Σ λ z of each column, or a positive multiple of it."""
    rows = np.array(list(multipliers), dtype=np.intp)
    most = sum(map(abs, multipliers.values()))
    if most < EXACT and _whole(examples) and most * examples.largest < EXACT:
        flow = np.zeros(examples.n)
        flow[rows] = list(multipliers.values())
        return np.asarray(examples.X.T @ (flow * examples.y)).ravel().tolist()
    unit, total = unit_of(examples), [0] * examples.d
    for start in range(0, len(rows), 1024):
        some = rows[start : start + 1024].tolist()
        for n, z in zip(some, integer_rows(examples, some, unit), strict=True):
            m = multipliers[n]
            total = [t + m * a if a else t for t, a in zip(total, z, strict=True)]
    return total


def _whole(examples: Examples) -> bool:
    """Whether all numbers are whole."""
    numbers = examples.numbers
    return not (numbers != np.rint(numbers)).any()
