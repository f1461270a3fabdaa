"""The checker of proofs, in passes over blocks: the same checks, block by block.

Products are checked in each block, rows with multipliers are gathered, and the fingerprint is
put together in the order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.blocks import Blocks, Pick, Picked, Together, Work
from rosenblatt.evidence.fingerprint import begun, row_codes
from rosenblatt.evidence.integers import merged
from rosenblatt.evidence.proof import (
    Listed,
    Proof,
    ProofError,
    Total,
    check_kinds,
    check_numbers,
    check_parts,
    check_positive,
    check_products,
    check_x0,
    sum_of_rows,
)
from rosenblatt.examples import Examples


@dataclass(frozen=True, eq=False)
class Answered:
    """The answers of all rows, a bit each, and the shape of the data.

    Parameters
    ----------
    n, d : int
        Rows and columns.
    x0 : float
        The constant feature.
    bits : tuple of (int, array)
        The number of rows of each block, and its answers packed.
    """

    n: int
    d: int
    x0: float
    bits: tuple[tuple[int, NDArray[np.uint8]], ...]

    @classmethod
    def of(cls, blocks: Blocks) -> Answered:
        """Go through the blocks for their answers."""
        parts = list(blocks.each(answers_of))
        return cls.joined(parts)

    @classmethod
    def joined(cls, parts: Sequence[Answered]) -> Answered:
        """The blocks' own, put together."""
        if not parts:
            raise ValueError("there are no rows.")
        n, bits = sum(part.n for part in parts), tuple(b for part in parts for b in part.bits)
        return cls(n, parts[0].d, parts[0].x0, bits)

    def digest(self) -> Any:
        """The fingerprint begun: what comes before the codes of the rows."""
        digest = begun(self.n, self.d, self.x0)
        for count, packed in self.bits:
            y = np.unpackbits(packed, count=count).astype(np.int8)
            digest.update((y * np.int8(2) - np.int8(1)).tobytes())
        return digest


def answers_of(block: Examples, first: int) -> Answered:
    """The answers of one block."""
    return Answered(block.n, block.d, block.x0, ((block.n, np.packbits(block.y > 0)),))


def codes_of(block: Examples, first: int) -> NDArray[np.uint64]:
    """The codes of a block's rows, of which the fingerprint is made."""
    return row_codes(merged(block))


def total_of(block: Examples, first: int) -> Total:
    """The sum of a block's rows."""
    return sum_of_rows(merged(block))


@dataclass(frozen=True)
class Products:
    """The work of checking the products of weights with a block's rows."""

    weights: tuple[int, ...]
    strict: bool

    def __call__(self, block: Examples, first: int) -> bool:
        """Whether any is positive; raises ProofError where one is not as it must be."""
        return check_products(self.weights, merged(block), strict=self.strict, first=first)


def nothing(block: Examples, first: int) -> None:
    """No work."""


def check_blocks(proof: Proof, blocks: Blocks) -> bool:
    """Check a proof against the rows of blocks, in two passes and in exact arithmetic.

    Parameters
    ----------
    proof : Proof
        What is claimed.
    blocks : Blocks
        The data.

    Returns
    -------
    bool
        True; a proof that does not hold raises ProofError.
    """
    check_kinds(proof)
    answered = Answered.of(blocks)
    fingerprint, _ = evidence_in(proof, blocks, answered)
    if fingerprint != proof.data:
        raise ProofError(
            "this is a proof about other data: a number, an answer or the order of the rows "
            "is not what it was."
        )
    return True


def evidence_in(
    proof: Proof, blocks: Blocks, answered: Answered, also: Work[Any] = nothing
) -> tuple[str, list[Any]]:
    """Check the evidence of a proof in one pass.

    Returns the fingerprint of the data, and what another work gave in the same pass.
    """
    check_x0(proof, answered.x0)
    check_numbers(proof.parts, answered.n)
    rows = np.array(sorted(n for part in proof.parts for n in part.rows), dtype=np.intp)
    rest = any(part.rest for part in proof.parts)
    products = Products(proof.weights, proof.strict) if proof.weights else nothing
    digest, positive = answered.digest(), False
    gathered: list[Picked] = []
    totals: list[Total] = []
    more: list[Any] = []
    work = Together((codes_of, products, Pick(rows), total_of if rest else nothing, also))
    for codes, some, here, total, other in blocks.each(work):
        digest.update(codes.tobytes())
        positive |= bool(some)
        gathered.append(here)
        totals.append(total)
        more.append(other)
    found = gathered[0].joined(gathered[1:])
    places = {int(n): i for i, n in enumerate(found.numbers)}
    total = added(totals) if rest else None
    check_parts(proof, Listed(merged(found.examples), answered.n, places, total))
    if proof.weights:
        check_positive(positive)
    return digest.hexdigest(), more


def added(totals: Sequence[Total]) -> Total:
    """Sums in units of their own, added up in the smallest unit."""
    unit = min(total[1] for total in totals)
    columns = zip(*([v << (u - unit) for v in sums] for sums, u in totals), strict=True)
    return [sum(column) for column in columns], unit
