"""The proof of a separation, and its checker: a direction and multipliers, all whole numbers.

γ has γ·z > 0 on some rows and exactly 0 on the others. On each of the others there is a positive
multiplier (of any sign where a row is pinned), and Σ λ z = 0. So no direction that is nowhere
negative is positive on any of those: their λ·(γ'·z) would sum to something positive, and it sums
to zero. Which rows are separated is thereby proved, row by row. Nothing of the solver is imported.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.errors import quoted, with_index_labels
from rosenblatt.evidence.checker import check_sum, fingerprint
from rosenblatt.evidence.families import Question, question
from rosenblatt.evidence.integers import merged, product_signs, sum_of_rows
from rosenblatt.evidence.parts import (
    OTHER_DATA,
    Part,
    ProofError,
    SealedProof,
    Vector,
    hexadecimal,
    integers_of,
    no_such_row,
    refuse_other_data,
)
from rosenblatt.examples import Examples, Picked
from rosenblatt.words import card

FORMAT = "rosenblatt separation 1"
KINDS = ("none", "quasi-complete", "complete")


@dataclass(frozen=True)
class SeparationProof(SealedProof):
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

    CALLED = "a proof of separation"

    kind: str
    family: str
    fit_intercept: bool
    data: str
    direction: Vector
    part: Part

    def check(self, X: Any, y: Any = None, sample_weight: Any = None) -> bool:
        """Check the proof against the data in exact arithmetic.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d), or a statsmodels model or result
            The regressors.
        y : sequence of n answers
            The answers, as the family has them; a model brings its own.
        sample_weight : sequence of n numbers, optional
            As they were given when the proof was made.

        Returns
        -------
        bool
            True.

        Raises
        ------
        ProofError
            If the proof does not hold for these data: its evidence fails, or they are not the
            data it is about. Those may have another number of rows or columns, other numbers,
            answers or weights, or may be data that the family does not take.
        TypeError
            If there is no y and X is no model.
        """
        with refuse_other_data():
            asked = question(X, y, self.family, self.fit_intercept, sample_weight)
        if data_of(asked) != self.data:
            raise ProofError(OTHER_DATA)
        with with_index_labels(X):
            self.check_evidence(asked)
        return True

    def check_evidence(self, asked: Question) -> NDArray[np.bool_]:
        """Check the evidence alone; which of the signed rows are separated."""
        examples, pinned = merged(asked.constraints.examples), asked.constraints.pinned
        try:
            separated = _separated(self.direction, examples)
            if (separated & pinned).any():
                n = int((separated & pinned).argmax())
                raise ProofError("", n, ": the direction is not zero where the row pins it.")
            _check_multipliers(self.part, separated, pinned)
        except ProofError as wrong:  # about a signed row
            raise wrong.moved(asked.owners) from None
        listed = np.zeros(examples.n, dtype=bool)
        listed[list(self.part.rows)] = True
        rest = sum_of_rows(examples, without=separated | pinned | listed)
        every = Picked(np.arange(examples.n), examples)
        check_sum(self.part, every, rest, lambda j: f"coefficient {j}")
        kind = kind_of(separated, pinned)
        if self.kind != kind:
            raise ProofError(f"the evidence shows {kind!r}, not {quoted(self.kind)}.")
        return separated

    @property
    def claim(self) -> str:
        """What is claimed, in words."""
        return f"{self.kind} separation, family {self.family}"

    def _content(self) -> dict[str, Any]:
        """What its file says."""
        return {
            "format": FORMAT,
            "kind": self.kind,
            "family": self.family,
            "fit_intercept": self.fit_intercept,
            "data": self.data,
            "direction": hexadecimal(self.direction),
            **self.part.content(),
        }

    @classmethod
    def _built(cls, content: dict[str, Any]) -> SeparationProof:
        """The proof that a file says."""
        return cls(
            str(content["kind"]),
            str(content["family"]),
            content["fit_intercept"] is True,
            str(content["data"]),
            integers_of(content["direction"]),
            Part.of_content(content),
        )

    def _repr_html_(self) -> str:
        facts = [
            ("claim", self.claim),
            ("about the data", f"{self.data[:16]}…"),
            ("to check it", "proof.check(X, y)"),
        ]
        return card("Proof of separation", facts)


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


def _separated(direction: Vector, examples: Examples) -> NDArray[np.bool_]:
    """Where γ·z is positive; it must be zero everywhere else."""
    if len(direction) != examples.d or any(type(v) is not int for v in direction):
        raise ProofError(f"the direction is not {examples.d} whole numbers.")
    signs = np.concatenate([some for _, some in product_signs(direction, examples)])
    negative = np.flatnonzero(signs < 0)
    if len(negative):
        raise ProofError("", int(negative[0]), ": the direction is negative there.")
    return np.asarray(signs > 0)


def _check_multipliers(part: Part, separated: NDArray[np.bool_], pinned: NDArray[np.bool_]) -> None:
    """Each row that overlaps has one multiplier, positive unless the row is pinned."""
    for n in part.rows:
        if type(n) is not int or not 0 <= n < len(separated):
            raise no_such_row(n)
    if len(part.rows) != len(part.multipliers) or len(set(part.rows)) < len(part.rows):
        raise ProofError("there is not one multiplier for each row listed.")
    if type(part.rest) is not int or part.rest < 0:
        raise ProofError("the multiplier of the rest is not a whole number from 0 up.")
    for n, m in zip(part.rows, part.multipliers, strict=True):
        if type(m) is not int or (m <= 0 and not pinned[n]):
            raise ProofError("", n, ": its multiplier is not a positive whole number.")
        if separated[n]:
            raise ProofError("", n, " is separated and has a multiplier.")
    covered = separated | pinned
    covered[list(part.rows)] = True
    if part.rest == 0 and not covered.all():
        raise ProofError("", int(covered.argmin()), " overlaps and has no multiplier.")
