"""Proofs: a claim about a data set, and integers by which `checker.py` checks the claim."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

from rosenblatt.blocks import Blocks
from rosenblatt.errors import FROM_ZERO, quote, with_index_labels
from rosenblatt.evidence.certificate import (
    Conflict,
    ProofError,
    SavedProof,
    Vector,
    claim_mistakes,
    claim_weight,
    from_hex,
    refuse_other_data,
    to_hex,
)
from rosenblatt.evidence.checker import check_proof, fingerprint
from rosenblatt.evidence.tree import Tree
from rosenblatt.examples import Costs, Examples
from rosenblatt.read.inputs import read_examples
from rosenblatt.text import describe_proof_size, render_card


@dataclass(frozen=True, repr=False)
class Proof(SavedProof):
    """Proof of a claim about a data set, in integers that anyone can check.

    Parameters
    ----------
    claim : str
        "separable", "quasi-separable", "inseparable", "at least k mistakes", or, with sample
        weights, "mistakes that weigh at least" a number or a fraction.
    data : str
        The fingerprint of the data, as `fingerprint` computes it.
    x0 : float
        The constant feature, 0.0 for none.
    weights : tuple of int
        A positive multiple of the augmented weights (w0 first where there is an x0), or empty.
    conflicts : tuple of Conflict
        Rows that no line classifies all correctly, with their multipliers; disjoint where there
        is no tree. With more than two labels they number pairs of an example and a competing
        class; `rows` are those of the data.
    tree : Tree or None
        Weights on the conflicts and branches on rows, for a claim about mistakes.
    duplicates : tuple of tuple of int
        Groups of rows that are equal in every number and in the label: conflicts and tree name
        the first of each, which then costs as much as all of them.
    sample_weight_digest : str
        The digest of the sample weights; empty where each row costs 1.
    enumeration : str
        "cells" where an enumeration of all cells showed the claim, without other evidence.
    labels : int
        The number of labels, or 0 for two. With more, rows are pairs of an example and a
        competing class, and the weight vectors of all labels are joined to one. Only a proof of
        "separable" has weights for the first label; elsewhere they are 0.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    >>> proof = rb.separability(X, y).proof
    >>> proof.claim, proof.check(X, y)
    ('inseparable', True)
    >>> rb.Proof.from_json(proof.to_json()) == proof
    True
    >>> proof.check([[0.0], [1.0], [3.0]], y)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    rosenblatt.evidence.certificate.ProofError: this is a proof about other data: ...
    """

    claim: str
    data: str
    x0: float = 1.0
    weights: Vector = ()
    conflicts: tuple[Conflict, ...] = ()
    tree: Tree | None = None
    duplicates: tuple[Vector, ...] = ()
    sample_weight_digest: str = ""
    enumeration: str = ""
    labels: int = 0

    @classmethod
    def of_mistakes(
        cls, examples: Examples, cost: int, conflicts: tuple[Conflict, ...] = (), **more: Any
    ) -> Proof:
        """Create a proof that the mistakes of every w cost at least `cost`.

        The fields `tree`, `duplicates` and `enumeration` are passed by name.
        """
        if examples.weights is None:
            claim, digest = claim_mistakes(cost), ""
        else:
            claim = claim_weight(Costs.of(examples).plain(cost))
            digest = hashlib.sha256((examples.weights + 0.0).data).hexdigest()
        data = fingerprint(examples.merged())
        return cls(claim, data, examples.x0, (), conflicts, sample_weight_digest=digest, **more)

    @property
    def size(self) -> str:
        """Amount of evidence as text, such as "1 conflict" or "weights of 3 integers"."""
        branches = 0 if self.tree is None else self.tree.branches
        return describe_proof_size(len(self.weights), len(self.conflicts), branches)

    @property
    def how(self) -> str:
        """Python expression that checks the proof, such as "proof.check(X, y)"."""
        given = "X, y, sample_weight" if self.sample_weight_digest else "X, y"
        return f"proof.check({given}{', again=True' if self.enumeration else ''})"

    def check(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: str | None = None,
        again: bool = False,
    ) -> bool:
        """Check the proof against the data in exact arithmetic.

        Parameters
        ----------
        X, y, target
            The rows and labels the proof is about, given as they were to `separability` or
            `fewest_mistakes`.
        sample_weight : sequence of n numbers, optional
            The weights, where the claim is about the weight of mistakes.
        again : bool
            Whether to repeat the enumeration of all cells, where one showed the claim: nothing
            else confirms it.

        Returns
        -------
        bool
            True.

        Raises
        ------
        ProofError
            If the proof does not hold for these data: its evidence fails, or they are not the
            data it is about. Those may have another number of rows or columns, other numbers,
            labels or weights, or may be data that no proof is about: y of another length than X,
            NaN or infinity, labels of different kinds.
        """

        def from_arrays(X: Any, y: Any) -> Examples:
            if self.labels:
                return Examples.from_arrays(X, y, x0=self.x0)
            return Examples.from_arrays(X, y, x0=self.x0, one_class=True).with_two_labels()

        self.check_types()
        if sample_weight is not None and not self.sample_weight_digest:
            raise ProofError("this proof is not about sample weights: check it without them.")
        with with_index_labels(X):
            with refuse_other_data():
                examples = read_examples(X, y, target, from_arrays, self.x0)[0]
                if sample_weight is not None:
                    examples = examples.weighted(sample_weight, stream=True)
            return self.check_examples(examples, again=again)

    def check_examples(self, examples: Blocks, *, again: bool = False) -> bool:
        """Check the proof against blocks of rows in exact arithmetic, in two passes."""
        return check_proof(self, examples, again)

    def check_types(self, x0: float | None = None) -> None:
        """Check that all numbers are Python integers, except x0, a finite float.

        With an argument, check that x0 is that of the data, too.
        """
        if not isinstance(self.x0, float) or not math.isfinite(self.x0):
            raise ProofError(f"x0 must be a finite float, not {quote(self.x0)}.")
        if type(self.labels) is not int or self.labels in (1, 2) or self.labels < 0:
            raise ProofError(
                "the number of labels in the proof must be 0 (which means two) or at least 3, not "
                f"{quote(self.labels)}."
            )
        integers = [("weights", self.weights), *(("rows", group) for group in self.duplicates)]
        integers += [] if self.tree is None else self.tree.numbers()
        for one in self.conflicts:
            integers += [("rows", one.rows), ("multipliers", one.multipliers)]
            integers.append(("rest", (one.rest,)))
        for name, numbers in integers:
            if not set(map(type, numbers)) <= {int}:
                wrong = next(v for v in numbers if type(v) is not int)
                raise ProofError(f"{name} must be integers, and {quote(wrong)} is not one.")
        if x0 is not None and self.x0 != x0:
            raise ProofError(f"the proof has x0 = {self.x0!r}, the data have x0 = {x0!r}.")

    def _to_dict(self) -> dict[str, Any]:
        more: dict[str, Any] = {
            "tree": self.tree and self.tree.to_dict(),
            "duplicates": list(map(list, self.duplicates)),
            "sample_weight_digest": self.sample_weight_digest,
            "enumeration": self.enumeration,
            "labels": self.labels,
        }
        more = {key: value for key, value in more.items() if value}
        return {
            "format": self.FORMAT,
            "claim": self.claim,
            "data": self.data,
            "x0": self.x0.hex(),
            "weights": to_hex(self.weights),
            "conflicts": [one.to_dict() for one in self.conflicts],
            **more,
        }

    @classmethod
    def _from_dict(cls, content: dict[str, Any]) -> Proof:
        proof = cls(
            str(content["claim"]),
            str(content["data"]),
            float.fromhex(content["x0"]),
            from_hex(content["weights"]),
            tuple(map(Conflict.from_dict, content["conflicts"])),
            Tree.from_dict(content["tree"]) if "tree" in content else None,
            tuple(map(tuple, content.get("duplicates", ()))),
            str(content.get("sample_weight_digest", "")),
            str(content.get("enumeration", "")),
            content.get("labels", 0),
        )
        proof.check_types()
        return proof

    @property
    def rows(self) -> Vector:
        """The rows of the data that are in conflicts, counted from 0, each once."""
        others = self.labels - 1 if self.labels else 1
        return tuple(sorted({n // others for one in self.conflicts for n in one.rows}))

    def __repr__(self) -> str:
        named = f" on {FROM_ZERO.join(self.rows)}" if self.rows else ""
        return f"<Proof: {self.claim}; {self.size}{named}>"

    def _repr_html_(self) -> str:
        facts = [("claim", self.claim), ("about the data", f"{self.data[:16]}…")]
        facts.append(("evidence", self.size))
        facts.append(("to check it", self.how))
        return render_card("Proof", facts)
