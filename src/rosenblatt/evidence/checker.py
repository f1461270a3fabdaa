"""The checker of proofs, in exact integer arithmetic only.

z_n = y_n·(x0, x_n) are the signed rows. Two kinds of evidence support every verdict:

* weights w, with the sign of every product w·z_n;
* conflicts: multipliers λ > 0 on some rows with Σ λ z = 0. No w has w·z > 0 on all of these rows,
  because λ·(w·z) would then have a positive sum, and the sum is zero.

Every w makes a mistake in each conflict. Disjoint conflicts add up; conflicts that overlap are
weighted at the leaves of a tree (`tree.py`). A claim shown by an enumeration of all cells has no
evidence but another enumeration, and is refused unless one is requested.

Floating-point numbers are exact fractions, so every check here is one of integers. Rows come in
blocks, wherever these are; arrays in memory are one block. This file imports nothing of the
solvers, except for an enumeration that is requested.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.blocks import Blocks, Work, merge_rows, pick_rows
from rosenblatt.engine import cores
from rosenblatt.errors import quote
from rosenblatt.evidence.certificate import (
    OTHER_DATA,
    VERDICTS,
    Conflict,
    ProofError,
    claim_mistakes,
    no_such_row,
    parse_claim,
)
from rosenblatt.evidence.integers import (
    Total,
    add_totals,
    integer_rows,
    product_signs,
    rank_at_least,
    row_codes,
    same_numbers,
    sum_multiples,
    sum_of_rows,
    unit_of,
)
from rosenblatt.examples import Costs, Examples, KeslerRows, power_of
from rosenblatt.text import plural

if TYPE_CHECKING:
    from rosenblatt.evidence.proof import Proof

CELLS = "cells"


def check_proof(proof: Proof, examples: Blocks, again: bool = False) -> bool:
    """Return True if a proof holds for blocks of rows, otherwise raise ProofError.

    With `again`, an enumeration of all cells is repeated.
    """
    if not proof.labels and not examples.multiclass:
        evidence = Evidence.of(proof, examples, anew=True)
        if evidence.data != proof.data:
            raise ProofError(OTHER_DATA)
        return evidence.check(examples if again else None)
    # Each pair of an example and a competing class is one row. An example can be in several
    # conflicts, against different classes, so the number of conflicts is no number of mistakes.
    if proof.claim not in (*VERDICTS, claim_mistakes(1)):
        raise cannot_prove(proof)
    first = examples.first()
    if first.k != proof.labels:
        labels = plural(proof.labels or 2, "label")
        raise ProofError(f"this is a proof about {labels}, but y has {len(first.labels)}.")
    proof.check_types(first.x0)
    rows = KeslerRows(examples, reduced=proof.claim != "separable")
    try:
        return check_proof(replace(proof, x0=0.0, labels=0), rows)
    except ProofError as wrong:
        pairs = list(rows.pairs(wrong.rows).values()) if wrong.rows else []
        against = "".join(f" against {first.labels[r]}" for _, r in pairs if len(pairs) == 1)
        owners = [n for n, _ in pairs]
        raise ProofError(wrong.before, owners, f"{against}{wrong.after}") from None


def _check_shape(proof: Proof) -> None:
    """Check that a proof has exactly the kinds of evidence that its claim needs."""
    about_mistakes = proof.claim not in VERDICTS
    if proof.weights and (about_mistakes or proof.claim == "inseparable"):
        raise ProofError(f"a proof of {quote(proof.claim)} has no weights, but this one has some.")
    others = proof.tree is not None or proof.duplicates
    if not about_mistakes:
        count = int(proof.claim != "separable")
        if proof.claim != "inseparable" and not proof.weights:
            raise ProofError(f"a proof of {proof.claim!r} needs weights, but this one has none.")
        if len(proof.conflicts) != count:
            raise ProofError(
                f"a proof of {proof.claim!r} has {plural(count, 'conflict')}, but this one has "
                f"{len(proof.conflicts)}."
            )
        if others or proof.sample_weight_digest or proof.enumeration:
            raise ProofError(
                f"a proof of {proof.claim!r} must not contain a tree, duplicates, sample weights "
                "or an enumeration."
            )
        return
    claimed = parse_claim(proof.claim, bool(proof.sample_weight_digest))
    if claimed is None or bool(proof.conflicts) == bool(proof.enumeration):
        raise cannot_prove(proof)
    if proof.enumeration and proof.enumeration != CELLS:
        raise ProofError(f"the enumeration must be {CELLS!r}, not {quote(proof.enumeration)}.")
    if proof.enumeration and others:
        raise ProofError(
            "a proof by enumeration must not contain a tree or groups of equal rows; this one does."
        )
    if any(one.rest for one in proof.conflicts) and (others or proof.sample_weight_digest):
        raise ProofError(
            "a conflict with `rest` (one multiplier for all rows that are not listed) is not "
            "allowed in a proof with a tree, duplicates or sample weights."
        )


def cannot_prove(proof: Proof) -> ProofError:
    """Create the error for a proof whose evidence cannot prove its claim."""
    return ProofError(f"{quote(proof.claim)} is not a claim that {proof.size} can prove.")


class PackedLabels(NamedTuple):
    """Shape of a block of rows, and the label of each row as one bit."""

    n: int
    d: int
    x0: float
    bits: NDArray[np.uint8]


def pack_labels(block: Examples, first: int) -> PackedLabels:
    """Return the shape of a block of rows, and its labels as bits."""
    return PackedLabels(block.n, block.d, block.x0, np.packbits(block.y > 0))


def fingerprint(examples: Examples) -> str:
    """Return a digest of the examples, the same for every float type and sparse format."""
    digest = digest_labels([pack_labels(examples, 0)])
    digest.update(row_codes(examples))
    return str(digest.hexdigest())


def digest_labels(labels: Sequence[PackedLabels]) -> Any:
    """Begin a fingerprint with shape and labels; the hash codes of all rows are added to it."""
    n, d, x0 = sum(block.n for block in labels), labels[0].d, labels[0].x0
    digest = hashlib.sha256(f"{n} {d} {(x0 + 0.0).hex()}".encode())  # -0.0 is 0.0 here, too
    for block in labels:
        y = np.unpackbits(block.bits, count=block.n).astype(np.int8)
        digest.update((y * np.int8(2) - np.int8(1)).data)
    return digest


@dataclass(frozen=True, eq=False)
class Evidence:
    """Facts about the data that a proof is checked with: sums, signs, digests."""

    proof: Proof
    n: int
    data: str  # the fingerprint of the rows
    sample_weight_digest: str  # empty unless the proof is about sample weights
    power: int  # exponent of the largest power of two that divides all sample weights
    listed: Examples  # the rows that the proof names
    rest: Total  # the sum of all other rows, where they have a multiplier; its unit suits all rows
    positive: bool  # whether any row has w·z > 0
    wrong: ProofError | None  # error about the first product with the wrong sign
    also: list[tuple[Any, ...]]  # results of additional work in the same pass, block by block

    @classmethod
    def of(
        cls,
        proof: Proof,
        blocks: Blocks,
        labels: Sequence[PackedLabels] = (),
        also: tuple[Work[Any], ...] = (),
        anew: bool = False,
    ) -> Evidence:
        """Collect what a check of the proof needs to know about the data, in one pass.

        Another pass comes first if `labels` are missing. The functions `also` are called on each
        block, and their results kept. With `anew`, cached hash codes of rows are not used.
        """
        labels = labels or list(blocks.each(pack_labels))
        if not labels:
            raise ValueError("there are no rows; give at least one.")
        proof.check_types(labels[0].x0)
        n = sum(block.n for block in labels)
        named = {m for one in proof.conflicts for m in one.rows}
        named.update(m for group in proof.duplicates for m in group)
        named.update(() if proof.tree is None else proof.tree.nodes)  # negative nodes are leaves
        numbers = sorted(m for m in named if 0 <= m < n)
        work = functools.partial(_collect, proof, np.array(numbers, np.intp), also, anew)
        digest, weight_digest, powers, found = digest_labels(labels), hashlib.sha256(), [], []
        for codes, weights, *others in blocks.each(work):
            digest.update(codes)
            if weights is not None:
                weight_digest.update((weights + 0.0).data)
                powers.append(power_of(weights))
            found.append(others)
        positive, wrong, parts, sums, more = (list(one) for one in zip(*found, strict=True))
        listed, rest = merge_rows(parts), [total for total in sums if total is not None]
        return cls(
            proof,
            n,
            digest.hexdigest(),
            weight_digest.hexdigest() if powers else "",
            min(powers, default=0),
            listed,
            add_totals(rest) if rest else ([0] * listed.dimension, unit_of(listed)),
            any(positive),
            next((error for error in wrong if error is not None), None),
            more,
        )

    def check(self, again: Blocks | None = None) -> bool:
        """Return True if the evidence proves the claim, otherwise raise ProofError.

        A claim that an enumeration of all cells showed is confirmed by another enumeration, of the
        rows `again`; without these, it is refused.
        """
        proof, x0 = self.proof, bool(self.proof.x0)
        _check_shape(proof)
        if proof.sample_weight_digest and not self.sample_weight_digest:
            raise ProofError(
                "this proof is about sample weights; pass the sample weights used to create it."
            )
        if proof.sample_weight_digest != self.sample_weight_digest:
            raise ProofError(
                "the sample weights are not those of the proof; pass the sample weights used "
                "to create it."
            )
        _check_rows(proof, self.n)
        if proof.enumeration:
            self._enumerate(again)
        for one in proof.conflicts:
            check_sum(
                *(one, self.listed, self.rest),
                lambda j: "x0" if x0 and j == 0 else f"column {j - x0}",
            )
        if proof.claim == "inseparable":
            self._check_span(proof.conflicts[0])
        if proof.conflicts and proof.claim not in VERDICTS:
            self._check_mistakes()
        if self.wrong is not None:
            raise self.wrong
        if proof.weights and not self.positive:
            raise ProofError(
                "no row has a positive signed score w·z, so the weights prove nothing."
            )
        return True

    def _enumerate(self, again: Blocks | None) -> None:
        """Confirm a claim that only an enumeration of all cells shows, by enumerating again.

        `again` has the rows to enumerate; if the caller passes None, raise ProofError.
        """
        from rosenblatt.algorithms.cells import few_cells, none_cheaper

        if again is None:
            raise ProofError(
                "this proof records an enumeration of all cells, which only another enumeration "
                "can confirm. Pass again=True."
            )
        examples = again.take(range(self.n)).merged()
        if not self.proof.sample_weight_digest:
            examples = replace(examples, weights=None)
        if not few_cells(examples):
            raise ProofError("the data are too large for an enumeration of all cells.")
        if len(examples.kept) == 0 or not none_cheaper(examples, self._need, threads=cores()):
            raise ProofError(
                f"{quote(self.proof.claim)}: the enumeration found weights whose mistakes cost "
                "less."
            )

    @property
    def _need(self) -> int:
        """Claimed number of mistakes, or their claimed total sample weight as an integer.

        The integer counts multiples of the largest power of two that divides all sample weights.
        A fraction is rounded up.
        """
        cost = parse_claim(self.proof.claim, bool(self.proof.sample_weight_digest)) or Fraction(0)
        return math.ceil(cost / Fraction(2) ** self.power)

    def _check_mistakes(self) -> None:
        """Check that conflicts and tree prove the claimed number or weight of mistakes."""
        proof, listed = self.proof, self.listed
        weighted = listed if proof.sample_weight_digest else replace(listed, weights=None)
        each = Costs.of(weighted, self.power).each.tolist()
        costs = dict(zip(listed.row_numbers.tolist(), each, strict=True))
        if proof.duplicates:
            firsts = [[group[0]] * len(group) for group in proof.duplicates]
            rows, models = (
                np.searchsorted(listed.row_numbers, np.concatenate(groups))
                for groups in (proof.duplicates, firsts)
            )
            same = same_numbers(listed, rows, models) & (listed.y[rows] == listed.y[models])
            if not same.all():
                at = int(same.argmin())
                pair = listed.row_numbers[[models[at], rows[at]]].tolist()
                raise ProofError("the proof lists ", pair, " as equal, but they are not.")
        for first, *others in proof.duplicates:  # the first row stands for all of its group
            costs[first] += sum(map(costs.pop, others))
        if proof.tree is None:
            if sum(min(costs[n] for n in one.rows) for one in proof.conflicts) != self._need:
                raise cannot_prove(proof)
        elif wrong := proof.tree.fault([one.rows for one in proof.conflicts], costs, self._need):
            raise ProofError(
                f"the proof's search tree is wrong: {wrong.before}", wrong.rows, f"{wrong.after}."
            )

    def _check_span(self, conflict: Conflict) -> None:
        """Check that the rows of a conflict span all other rows, as "inseparable" requires.

        A w without negative signed scores has w·z = 0 on all rows of the conflict. If these are all
        rows, or if their rank is the dimension, it has w·z = 0 on all rows. A rank modulo a prime
        is never too large.
        """
        if conflict.rest or len(conflict.rows) == self.n:
            return
        dimension = self.listed.dimension
        rank = rank_at_least(integer_rows(self.listed, range(self.listed.n)))
        if rank < dimension:
            raise ProofError(
                f"the rows of the conflict have rank {rank}, not {dimension}, so some w may have "
                "w·z = 0 on all of them and w·z > 0 on another row."
            )


def _collect(
    proof: Proof,
    named: NDArray[np.intp],
    also: tuple[Work[Any], ...],
    anew: bool,
    block: Examples,
    first: int,
) -> tuple[Any, ...]:
    """Collect what a check of the proof needs to know about one block of rows."""
    block = block.merged()
    positive, wrong = False, None
    if proof.weights:
        try:
            strict = proof.claim == "separable"
            positive = check_products(proof.weights, block, first, strict=strict)
        except ProofError as error:
            wrong = error
    listed = pick_rows(named, block, first)
    others = any(one.rest for one in proof.conflicts)
    rest = sum_of_rows(block, first, without=named) if others else None
    weights = block.weights if proof.sample_weight_digest else None
    more = tuple(work(block, first) for work in also)
    codes = row_codes(replace(block) if anew else block)
    return codes, weights, positive, wrong, listed, rest, more


def check_products(
    weights: Sequence[int], examples: Examples, first: int = 0, *, strict: bool
) -> bool:
    """Check that all y·(w·x) are ≥ 0, or > 0 if strict; return whether any is positive.

    `first` is the number of the first row.
    """
    if len(weights) != examples.dimension:
        need = examples.dimension
        raise ProofError(f"the proof has {plural(len(weights), 'weight')}; the data need {need}.")
    positive = False
    for start, signs in product_signs(weights, examples):
        wrong = np.flatnonzero(signs <= 0 if strict else signs < 0)
        if len(wrong):
            sign = "negative" if signs[wrong[0]] < 0 else "zero"
            n = first + start + int(wrong[0])
            raise ProofError("", n, f": the signed score w·z is {sign}, not positive.")
        positive |= bool((signs > 0).any())
    return positive


def _check_rows(proof: Proof, n_rows: int) -> None:
    """Check that a proof names only rows that exist, and repeats rows only where allowed.

    Groups of equal rows are disjoint, each with two or more rows in order; conflicts name only the
    first of each. A conflict lists each row once, with a positive multiplier. Without a tree, no
    two conflicts may share a row.
    """
    seen: set[int] = set()
    for group in proof.duplicates:
        if len(group) < 2 or list(group) != sorted(set(group)):
            raise ProofError(
                "a group of equal rows must list two or more rows, each once, in ascending order."
            )
        if group[0] < 0 or group[-1] >= n_rows:
            raise no_such_row(group[0] if group[0] < 0 else group[-1])
        if twice := seen.intersection(group):
            raise ProofError("the proof lists ", min(twice), " in two groups of equal rows.")
        seen.update(group)
    others = {n for group in proof.duplicates for n in group[1:]}
    seen = set()
    for one in proof.conflicts:
        seen = seen if proof.tree is None else set()
        for n in one.rows:
            if not 0 <= n < n_rows:
                raise no_such_row(n)
            if n in seen:
                raise ProofError("the conflicts list ", n, " twice where only once is allowed.")
            if n in others:
                raise ProofError(
                    "a conflict must name the first row of a group of equal rows, not ", n, "."
                )
            seen.add(n)
        if len(one.rows) != len(one.multipliers) or not one.rows:
            raise ProofError("a conflict must have rows, and one multiplier per row.")
        for n, m in zip(one.rows, one.multipliers, strict=True):
            if m <= 0:
                raise ProofError("", n, ": its multiplier is not a positive integer.")
        if one.rest < 0 or (one.rest and len(proof.conflicts) > 1):
            raise ProofError(
                "the multiplier for all unlisted rows must be 0, or positive if the proof has only "
                "one conflict."
            )


def check_sum(
    conflict: Conflict, listed: Examples, rest: Total, column_name: Callable[[int], str]
) -> None:
    """Check that signed rows of a conflict, times multipliers, sum to zero in every column."""
    others, unit = rest
    places = np.searchsorted(listed.row_numbers, conflict.rows)
    sums = sum_multiples(conflict.multipliers, listed, places, unit)
    for j, (s, other) in enumerate(zip(sums, others, strict=True)):
        if s + conflict.rest * other:
            raise ProofError(f"the sum of multipliers times rows is not zero in {column_name(j)}.")
