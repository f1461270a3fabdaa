"""Proofs of separation and their checker: a direction and multipliers, all of them integers.

The direction γ has γ·z > 0 on the separated rows z, and γ·z = 0 on the other rows. Each of these
has a positive multiplier λ (of any sign if the row is pinned), and Σ λ z = 0. So no direction γ'
with γ'·z ≥ 0 on every row can be positive on one of them: the sum of λ·(γ'·z) would be positive,
but it is zero. Thus the proof decides for each row whether it is separated. The checker imports
nothing from the solver.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rosenblatt.errors import quote, with_index_labels
from rosenblatt.evidence.certificate import (
    OTHER_DATA,
    Conflict,
    ProofError,
    SavedProof,
    Vector,
    from_hex,
    no_such_row,
    refuse_other_data,
    to_hex,
)
from rosenblatt.evidence.checker import check_sum, fingerprint
from rosenblatt.evidence.families import SignedRegression
from rosenblatt.evidence.integers import product_signs, sum_of_rows
from rosenblatt.evidence.modular import Pivots, integer_products, proved_rank
from rosenblatt.evidence.regressioninput import find_regression
from rosenblatt.examples import Examples
from rosenblatt.read.inputs import Target
from rosenblatt.text import render_card


@dataclass(frozen=True)
class NullSpace:
    """Integer basis of all vectors γ with γ·z = 0 on every pinned row z, with its own proof.

    The pivots prove the rank of the pinned rows, and so how many vectors such a basis has.
    """

    pivots: tuple[Vector, ...]  # rows, columns, more rows; the rows are counted among pinned ones
    columns: tuple[Vector, ...]  # columns in which each vector is not zero
    values: tuple[Vector, ...]  # values of each vector in these columns

    @classmethod
    def of(cls, pivots: Pivots, basis: Any) -> NullSpace:
        """Create a null space from pivots and a matrix whose columns are the basis vectors."""
        vectors = basis.tocsc()
        spans = [slice(a, b) for a, b in pairwise(vectors.indptr.tolist())]
        values = vectors.data.astype(np.int64)
        return cls(
            tuple(tuple(some.tolist()) for some in pivots),
            tuple(tuple(vectors.indices[span].tolist()) for span in spans),
            tuple(tuple(values[span].tolist()) for span in spans),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the basis and its pivots as a dict for JSON."""
        parts = {"pivots": self.pivots, "columns": self.columns, "values": self.values}
        return {name: [list(some) for some in part] for name, part in parts.items()}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> NullSpace:
        """Create a null space from the dict that `to_dict` returns."""
        names = ("pivots", "columns", "values")
        return cls(*(tuple(tuple(map(index, some)) for some in content[name]) for name in names))

    def products(self, X: Any, pinned: NDArray[np.bool_]) -> Any:
        """Check the number and the independence of the basis vectors; return X times the basis.

        Raises ProofError if the check fails. Whether pinned rows are orthogonal to the vectors is
        not checked here: the caller reads it from the product.
        """
        lengths = [len(some) for some in self.columns]
        if lengths != [len(some) for some in self.values] or X.shape[1] <= len(lengths) - 1:
            raise ProofError(
                "each vector of the null space must have as many values as columns, "
                "and there must not be more vectors than the data have columns."
            )
        try:
            columns = np.array([j for some in self.columns for j in some], dtype=np.int64)
            values = np.array([v for some in self.values for v in some], dtype=np.int64)
            pivots = Pivots(*(np.array(some, dtype=np.int64) for some in self.pivots))
        except (OverflowError, ValueError, TypeError):
            raise ProofError(
                "the null space in the proof must consist of integers of at most 64 bits."
            ) from None
        rows = int(pinned.sum())
        if (
            _outside(columns, X.shape[1])
            or _outside(pivots.columns, X.shape[1])
            or _outside(pivots.rows, rows)
            or _outside(pivots.extra, rows)
            or len(pivots.rows) != len(pivots.columns)
        ):
            raise ProofError(
                "the null space in the proof refers to a row or column that the data do not have."
            )
        owners = np.repeat(np.arange(len(lengths)), lengths)  # index of the vector of each value
        basis = sparse.coo_array(
            (values.astype(np.float64), (columns, owners)), shape=(X.shape[1], len(lengths))
        ).tocsr()
        alone = basis[np.flatnonzero(np.diff(basis.indptr) == 1)]
        if (values == 0).any() or len(np.unique(alone.indices)) < len(lengths):
            raise ProofError(
                "the vectors of the null space are not shown to be linearly independent."
            )
        rank = proved_rank(X[np.flatnonzero(pinned)], pivots)
        if rank + len(lengths) != X.shape[1]:
            raise ProofError(
                f"the pivots prove rank {rank} for the pinned rows; this rank and the number of "
                "null vectors must add up to the number of columns."
            )
        products = integer_products(X, basis)
        if products is None:
            raise ProofError(
                "the null space cannot be checked: float64 may round its products with the rows."
            )
        return products


def _outside(numbers: NDArray[np.int64], end: int) -> bool:
    return bool(((numbers < 0) | (numbers >= end)).any())


@dataclass(frozen=True)
class SeparationProof(SavedProof):
    """Claim about the separation of a regression, with integers that prove it.

    Parameters
    ----------
    kind : {"none", "quasi-complete", "complete"}
        Whether no row, some rows or all rows are separated.
    family : str
        Family of the regression.
    fit_intercept : bool
        Whether the regression has a column of ones.
    data : str
        Fingerprint of the signed rows.
    direction : tuple of int
        Direction γ, one number per coefficient.
    part : Conflict
        Multipliers of the rows; `rest` is the multiplier of each row that overlaps and is neither
        listed nor pinned.
    space : NullSpace, optional
        Basis of the directions that are zero on all pinned rows. If it is given, the sum of
        multipliers times rows need only be zero along these directions, and rows that are zero
        along all of them need no multiplier.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[1.0], [2.0], [3.0], [3.0], [4.0]], [0, 0, 0, 1, 1]
    >>> proof = rb.separation(X, y).proof
    >>> proof.kind, proof.direction, proof.check(X, y)
    ('quasi-complete', (-3, 1), True)
    """

    CALLED = "a proof of separation"
    FORMAT = "rosenblatt separation 2"

    kind: str
    family: str
    fit_intercept: bool
    data: str
    direction: Vector
    part: Conflict
    space: NullSpace | None = None

    def check(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        target: Target = None,
    ) -> bool:
        """Check the proof against the data in exact arithmetic.

        Parameters
        ----------
        X, y, sample_weight, groups, target
            The regression, in the form that `separation` was called with.

        Returns
        -------
        bool
            True.

        Raises
        ------
        ProofError
            If the evidence of the proof fails, or if the proof is about other data: another
            number of rows or columns, other numbers, labels or weights, or another family.
        TypeError
            If y is missing and X is not a model.
        """
        with refuse_other_data():
            regression = find_regression(
                X, y, self.family, self.fit_intercept, sample_weight, groups, target
            )
        if fingerprint_of(regression) != self.data:
            raise ProofError(OTHER_DATA)
        with with_index_labels(regression.row_names):
            self.check_evidence(regression)
        return True

    def check_evidence(self, regression: SignedRegression) -> NDArray[np.bool_]:
        """Check direction and multipliers against the data; return the separated rows as a mask."""
        examples, pinned = regression.examples.merged(), regression.pinned
        try:
            separated = find_separated(self.direction, examples)
            if (separated & pinned).any():
                n = int((separated & pinned).argmax())
                raise ProofError("", n, ": the row is pinned, but the direction is not zero on it.")
            if self.space is None:
                _check_multipliers(self.part, separated, pinned)
            else:
                products = self.space.products(sparse.csr_array(examples.X), pinned)
                zero = np.diff(products.indptr) == 0
                if not zero[pinned].all():
                    n = int((pinned & ~zero).argmax())
                    raise ProofError("", n, " is pinned, but not orthogonal to the null space.")
                _check_multipliers(self.part, separated, pinned | zero)
                _check_sum_along(self.part, products, examples.y)
        except ProofError as wrong:  # it names a signed row
            raise wrong.map_rows(regression.owners) from None
        if self.space is None:
            listed = np.zeros(examples.n, dtype=bool)
            listed[list(self.part.rows)] = True
            listed |= separated | pinned
            rest = sum_of_rows(examples, without=np.flatnonzero(listed))
            check_sum(self.part, examples, rest, lambda j: f"coefficient {j}")
        kind = kind_of(regression, separated)
        if self.kind != kind:
            raise ProofError(
                f"the evidence shows separation of kind {kind!r}, not {quote(self.kind)}."
            )
        return separated

    @property
    def claim(self) -> str:
        return f"{self.kind} separation, family {self.family}"

    def _to_dict(self) -> dict[str, Any]:
        return {
            "format": self.FORMAT,
            "kind": self.kind,
            "family": self.family,
            "fit_intercept": self.fit_intercept,
            "data": self.data,
            "direction": to_hex(self.direction),
            **self.part.to_dict(),
            **({} if self.space is None else {"null_space": self.space.to_dict()}),
        }

    @classmethod
    def _from_dict(cls, content: dict[str, Any]) -> SeparationProof:
        return cls(
            str(content["kind"]),
            str(content["family"]),
            content["fit_intercept"] is True,
            str(content["data"]),
            from_hex(content["direction"]),
            Conflict.from_dict(content),
            NullSpace.from_dict(content["null_space"]) if "null_space" in content else None,
        )

    def _repr_html_(self) -> str:
        facts = [
            ("claim", self.claim),
            ("about the data", f"{self.data[:16]}…"),
            ("to check it", "proof.check(X, y)"),
        ]
        return render_card("Proof of separation", facts)


def fingerprint_of(regression: SignedRegression) -> str:
    """Compute the fingerprint of a regression, which a proof stores to identify its data."""
    digest = hashlib.sha256(fingerprint(regression.examples.merged()).encode())
    digest.update(regression.owners.astype("<i8").tobytes())
    if regression.partners is not None:
        digest.update(regression.partners.astype("<i8").tobytes())
    digest.update(regression.pinned.tobytes())
    return digest.hexdigest()


def kind_of(regression: SignedRegression, separated: NDArray[np.bool_]) -> str:
    """Return the kind of a separation: "none", "quasi-complete" or "complete"."""
    if not separated.any():
        return "none"
    return "complete" if separated[regression.owners >= 0].all() else "quasi-complete"


def find_separated(direction: Vector, examples: Examples) -> NDArray[np.bool_]:
    """Return a mask of the signed rows z with γ·z > 0, given a direction γ.

    Raises ProofError if the direction is negative on a row.
    """
    if len(direction) != examples.d or any(type(v) is not int for v in direction):
        raise ProofError(f"the direction must consist of {examples.d} integers.")
    signs = np.concatenate([some for _, some in product_signs(direction, examples)])
    negative = np.flatnonzero(signs < 0)
    if len(negative):
        raise ProofError("", int(negative[0]), ": the direction is negative on this row.")
    return np.asarray(signs > 0)


def _check_multipliers(
    part: Conflict, separated: NDArray[np.bool_], pinned: NDArray[np.bool_]
) -> None:
    """Check that every overlapping row has a positive multiplier, unless it is pinned.

    A pinned row may have any multiplier or none, and a separated row has none.
    """
    for n in part.rows:
        if type(n) is not int or not 0 <= n < len(separated):
            raise no_such_row(n)
    if len(part.rows) != len(part.multipliers) or len(set(part.rows)) < len(part.rows):
        raise ProofError("the proof must list a row at most once, with one multiplier per row.")
    if type(part.rest) is not int or part.rest < 0:
        raise ProofError(
            "the multiplier for rows that the proof does not list must be an integer >= 0."
        )
    for n, m in zip(part.rows, part.multipliers, strict=True):
        if type(m) is not int or (m <= 0 and not pinned[n]):
            raise ProofError("", n, ": its multiplier is not a positive integer.")
        if separated[n]:
            raise ProofError("", n, " is separated, but the proof has a multiplier for it.")
    decided = separated | pinned
    decided[list(part.rows)] = True
    if part.rest == 0 and not decided.all():
        n = int(decided.argmin())
        raise ProofError("", n, " is not separated, but the proof has no multiplier for it.")


def _check_sum_along(part: Conflict, products: Any, y: NDArray[np.int8]) -> None:
    """Check that Σ multiplier × row is orthogonal to each vector of the proof's null space.

    `products` has the product of each row with each of these vectors.
    """
    if part.rest:
        raise ProofError(
            "in a proof with a null space, the multiplier for rows that it does not list must be 0."
        )
    sums: dict[int, int] = {}
    for n, m in zip(part.rows, part.multipliers, strict=True):
        for k in range(products.indptr[n], products.indptr[n + 1]):
            v = int(products.indices[k])
            sums[v] = sums.get(v, 0) + m * int(y[n]) * int(products.data[k])
    for v, total in sums.items():
        if total:
            raise ProofError(
                f"the sum of multipliers times rows is not orthogonal to null vector {v}."
            )
