"""A proof as data: what is claimed of a data set, and the integers that `checker.py` checks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rosenblatt.blocks import Blocks, against_rivals, first_of
from rosenblatt.costs import Costs
from rosenblatt.errors import quoted, with_index_labels
from rosenblatt.evidence.checker import (
    Evidence,
    Prices,
    cannot_prove,
    check_kinds,
    check_x0,
    fingerprint,
)
from rosenblatt.evidence.integers import merged
from rosenblatt.evidence.parts import (
    OTHER_DATA,
    VERDICTS,
    Part,
    ProofError,
    SealedProof,
    Vector,
    claim_of_mistakes,
    claim_of_weight,
    hexadecimal,
    integers_of,
    refuse_other_data,
)
from rosenblatt.evidence.tree import Tree
from rosenblatt.examples import Examples, JointExamples, of_labels
from rosenblatt.rownames import FROM_ZERO
from rosenblatt.words import card, counted, proof_size

FORMATS = ("rosenblatt proof 1", "rosenblatt proof 2")  # the second may have what the first lacks


@dataclass(frozen=True, repr=False)
class Proof(SealedProof):
    """What is claimed of a data set, and the integers that prove it.

    Parameters
    ----------
    claim : str
        "separable", "quasi-separable", "inseparable", "at least k mistakes", or, of rows with
        sample weights, "mistakes that weigh at least" a number or a fraction.
    data : str
        The fingerprint of the data, as `fingerprint` computes it.
    x0 : float
        The constant feature, 0.0 for none.
    weights : tuple of int
        A positive multiple of the tall w (w0 first where there is an x0), or empty.
    parts : tuple of Part
        Sets of rows, each with its multipliers; disjoint where there is no tree. With more than
        two labels they number rows against rivals; `rows` are those of the data.
    tree : Tree or None
        Which of these sets cost what in which case, for a claim about mistakes.
    alike : tuple of tuple of int
        Groups of rows that are equal in every number and in the answer: parts and tree name the
        first of each, which then costs as much as all of them.
    prices : str
        The digest of the sample weights, or empty: then each row costs 1.
    walk : str
        "cells" where a walk through all cells showed the claim; then there is nothing else.
    labels : int
        How many there are, or 0 of two: then rows are examples against rivals, as in
        `AgainstRivals`, and the weights are those of label after label. A proof that is not of
        "separable" has none for the first label: they are 0.

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
    rosenblatt.evidence.parts.ProofError: this is a proof about other data: ...
    """

    claim: str
    data: str
    x0: float = 1.0
    weights: Vector = ()
    parts: tuple[Part, ...] = ()
    tree: Tree | None = None
    alike: tuple[Vector, ...] = ()
    prices: str = ""
    walk: str = ""
    labels: int = 0

    @classmethod
    def of_mistakes(
        cls, examples: Examples, cost: int, parts: tuple[Part, ...] = (), **more: Any
    ) -> Proof:
        """The claim that mistakes on examples cost so much, in the unit of their `Costs`.

        What else it rests on, `tree`, `alike` or `walk`, is given by its name.
        """
        if examples.weights is None:
            claim, prices = claim_of_mistakes(cost), ""
        else:
            claim = claim_of_weight(Costs.of(examples).plain(cost))
            prices = Prices().add(examples.weights).digest
        data = fingerprint(merged(examples))
        return cls(claim, data, examples.x0, parts=parts, prices=prices, **more)

    @property
    def size(self) -> str:
        """How much evidence it holds, in words."""
        branches = 0 if self.tree is None else self.tree.branches
        return proof_size(len(self.weights), len(self.parts), branches)

    @property
    def how(self) -> str:
        """How to check it, in Python."""
        given = "X, y, sample_weight" if self.prices else "X, y"
        return f"proof.check({given}{', again=True' if self.walk else ''})"

    def check(self, X: Any, y: Any, sample_weight: Any = None, *, again: bool = False) -> bool:
        """Check the proof against the data in exact arithmetic.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            The features the proof is about.
        y : sequence of n answers
            The answers it is about.
        sample_weight : sequence of n numbers, optional
            The weights it is about, where its claim is what mistakes weigh.
        again : bool
            Where a walk through all cells showed the claim, walk through them again: nothing
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
        check_kinds(self)
        if sample_weight is not None and not self.prices:
            raise ProofError("this is no proof about sample weights: check it without them.")
        with with_index_labels(X):
            with refuse_other_data():
                if self.labels:
                    examples = JointExamples.from_arrays(X, y, x0=self.x0)
                else:
                    examples = Examples.from_arrays(X, y, x0=self.x0, one_class=True)
                if sample_weight is not None:
                    examples = examples.weighted(sample_weight, stream=True)
            return self.check_examples(examples, again=again)

    def _check_labels(self, examples: Blocks) -> bool:
        """Check a proof about more than two labels.

        One example can be in several sets there, against other rivals: they add up to no claim.
        """
        if self.claim not in (*VERDICTS, claim_of_mistakes(1)):
            raise cannot_prove(self)
        first = first_of(examples)
        if len(first.labels) != self.labels:
            labels = counted(self.labels or 2, "label")
            raise ProofError(f"this is a proof about {labels}; y has others.")
        check_x0(self, first.x0)
        rows = against_rivals(examples, reduced=self.claim != "separable")
        try:
            return replace(self, x0=0.0, labels=0).check_examples(rows)
        except ProofError as wrong:
            pairs = [rows.named(wrong.rows).pair(m) for m in wrong.rows]
            against = "".join(f" against {first.labels[r]}" for _, r in pairs if len(pairs) == 1)
            owners = [n for n, _ in pairs]
            raise ProofError(wrong.before, owners, f"{against}{wrong.after}") from None

    def check_examples(self, examples: Blocks, *, again: bool = False) -> bool:
        """Check the proof against the rows of blocks in exact arithmetic, in two passes."""
        if self.labels or of_labels(examples):
            return self._check_labels(examples)
        evidence = Evidence.of(self, examples, anew=True)
        if evidence.data != self.data:
            raise ProofError(OTHER_DATA)
        if self.walk and again:
            return evidence.check_walk(examples)
        return evidence.check()

    def _content(self) -> dict[str, Any]:
        """What its file says."""
        more: dict[str, Any] = {
            "tree": self.tree and self.tree.content(),
            "alike": [list(group) for group in self.alike],
            "prices": self.prices,
            "walk": self.walk,
            "labels": self.labels,
        }
        more = {key: value for key, value in more.items() if value}
        return {
            "format": FORMATS[bool(more)],
            "claim": self.claim,
            "data": self.data,
            "x0": self.x0.hex(),
            "weights": hexadecimal(self.weights),
            "parts": [part.content() for part in self.parts],
            **more,
        }

    @classmethod
    def _built(cls, content: dict[str, Any]) -> Proof:
        """The proof that a file says."""
        if content["format"] not in FORMATS:
            raise ProofError(
                f"its format is {quoted(content['format'])}; this version of rosenblatt reads "
                f"{' and '.join(FORMATS)}."
            )
        proof = cls(
            str(content["claim"]),
            str(content["data"]),
            float.fromhex(content["x0"]),
            integers_of(content["weights"]),
            tuple(map(Part.of_content, content["parts"])),
            Tree.of_content(content["tree"]) if "tree" in content else None,
            tuple(map(tuple, content.get("alike", ()))),
            str(content.get("prices", "")),
            str(content.get("walk", "")),
            content.get("labels", 0),
        )
        check_kinds(proof)
        return proof

    @property
    def rows(self) -> Vector:
        """The rows of the data that its multipliers are on, counted from 0, each once."""
        others = self.labels - 1 if self.labels else 1
        return tuple(sorted({n // others for part in self.parts for n in part.rows}))

    def __repr__(self) -> str:
        named = f" on {FROM_ZERO.listed(self.rows)}" if self.rows else ""
        return f"<Proof: {self.claim}; {self.size}{named}>"

    def _repr_html_(self) -> str:
        facts = [("claim", self.claim), ("about the data", f"{self.data[:16]}…")]
        facts.append(("evidence", self.size))
        facts.append(("to check it", self.how))
        return card("Proof", facts)
