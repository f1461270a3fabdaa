"""The checker of proofs, which believes nothing but whole numbers.

z_n = y_n·(x0, x_n) are the signed examples. Two kinds of evidence carry every verdict:

* weights w, with the sign of every product w·z_n;
* multipliers λ > 0 on some rows with Σ λ z = 0: then no w has w·z > 0 on all of these rows,
  for λ·(w·z) would sum to something positive, and it sums to zero.

Rows of the second kind block one another: they cost every w a mistake. Disjoint such sets add up;
sets that overlap are weighed at the leaves of a tree (`tree.py`). What a walk through all cells
showed has no evidence but another walk, and is refused unless one is asked for.

Floating-point numbers are exact fractions, so everything here is a question about integers.
Rows are gone through in blocks, wherever these are; arrays in memory are one block.
This file imports nothing of the solver, but for a walk that is asked for.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.blocks import Blocks, Work, take
from rosenblatt.costs import Costs, power_of
from rosenblatt.errors import quoted
from rosenblatt.evidence.integers import (
    Total,
    added,
    combined,
    dimension_of,
    integer_rows,
    merged,
    product_signs,
    rank_at_least,
    row_codes,
    same_numbers,
    sum_of_rows,
    unit_of,
)
from rosenblatt.evidence.parts import VERDICTS, Part, ProofError, Vector, claimed, no_such_row
from rosenblatt.examples import Examples, Pick, Picked
from rosenblatt.words import counted

if TYPE_CHECKING:
    from rosenblatt.evidence.proof import Proof

WALK = "cells"


def check_kinds(proof: Proof) -> None:
    """x0 is a finite float, and all other numbers are Python's whole numbers, which none rounds."""
    if not isinstance(proof.x0, float) or not math.isfinite(proof.x0):
        raise ProofError(f"x0 is a finite float, not {quoted(proof.x0)}.")
    if type(proof.labels) is not int or proof.labels in (1, 2) or proof.labels < 0:
        raise ProofError(f"labels are three or more, not {quoted(proof.labels)}.")
    whole = [("weights", proof.weights), *(("rows", group) for group in proof.alike)]
    whole += [] if proof.tree is None else proof.tree.numbers()
    for part in proof.parts:
        whole += [("rows", part.rows), ("multipliers", part.multipliers), ("rest", (part.rest,))]
    for name, numbers in whole:
        if not set(map(type, numbers)) <= {int}:
            wrong = next(v for v in numbers if type(v) is not int)
            raise ProofError(f"{name} are whole numbers; {quoted(wrong)} is none.")


def check_x0(proof: Proof, x0: float) -> None:
    """The proof is about the constant feature that the data have."""
    if proof.x0 != x0:
        raise ProofError(f"the proof takes x0 = {proof.x0!r}, the data x0 = {x0!r}.")


def _check_shape(proof: Proof) -> None:
    """The evidence is of the kind that its claim needs."""
    if proof.claim not in VERDICTS:
        _check_shape_of_mistakes(proof)
        return
    needs_weights, parts = proof.claim != "inseparable", int(proof.claim != "separable")
    if needs_weights and not proof.weights:
        raise ProofError(f"a proof of {proof.claim!r} needs weights, and this one has none.")
    if proof.weights and not needs_weights:
        raise has_weights(proof)
    if len(proof.parts) != parts:
        raise ProofError(f"a proof of {proof.claim!r} has {counted(parts, 'set')} of multipliers.")
    if proof.tree is not None or proof.alike or proof.prices or proof.walk:
        raise ProofError(f"a proof of {proof.claim!r} has no tree, nothing alike and no walk.")


def _check_shape_of_mistakes(proof: Proof) -> None:
    if proof.weights:
        raise has_weights(proof)
    if claimed(proof.claim, bool(proof.prices)) is None or bool(proof.parts) == bool(proof.walk):
        raise cannot_prove(proof)
    if proof.walk and (proof.walk != WALK or proof.tree is not None or proof.alike):
        raise ProofError(f"{quoted(proof.walk)} is not a walk without anything else.")
    if any(part.rest for part in proof.parts) and (proof.tree or proof.alike or proof.prices):
        raise ProofError("only one set alone, of rows that cost 1 each, has a rest.")


def has_weights(proof: Proof) -> ProofError:
    """What is wrong with weights beside a claim that sets of multipliers prove alone."""
    return ProofError(f"a proof of {quoted(proof.claim)} has no weights, and this one has some.")


def cannot_prove(proof: Proof) -> ProofError:
    """What is wrong with evidence that does not suit its claim."""
    return ProofError(f"{quoted(proof.claim)} is not a claim that {proof.size} can prove.")


@dataclass(frozen=True, eq=False)
class Answered:
    """The answers of all rows, a bit each, and the shape of the data: how a fingerprint begins."""

    n: int
    d: int
    x0: float
    bits: tuple[tuple[int, NDArray[np.uint8]], ...]  # rows of each block, their answers packed

    @classmethod
    def joined(cls, parts: Sequence[Answered]) -> Answered:
        """The blocks' own, put together."""
        if not parts:
            raise ValueError("there are no rows.")
        n, bits = sum(part.n for part in parts), tuple(b for part in parts for b in part.bits)
        return cls(n, parts[0].d, parts[0].x0, bits)

    def digest(self) -> Any:
        """The fingerprint begun: what comes before the codes of the rows."""
        x0 = self.x0 + 0.0  # -0.0 is 0.0 here, too
        digest = hashlib.sha256(f"{self.n} {self.d} {x0.hex()}".encode())
        for count, packed in self.bits:
            y = np.unpackbits(packed, count=count).astype(np.int8)
            digest.update((y * np.int8(2) - np.int8(1)).data)
        return digest


def fingerprint(examples: Examples) -> str:
    """A digest of the numbers and answers, the same for dense, CSR, float32 and float64."""
    digest = answers_of(examples, 0).digest()
    digest.update(row_codes(examples))
    return str(digest.hexdigest())


def answers_of(block: Examples, first: int) -> Answered:
    """The answers of one block."""
    return Answered(block.n, block.d, block.x0, ((block.n, np.packbits(block.y > 0)),))


class Prices:
    """Sample weights, added block by block: their digest, and the unit they are in."""

    def __init__(self) -> None:
        self.power: int | None = None
        self.sum = hashlib.sha256()

    def add(self, weights: NDArray[np.float64] | None) -> Prices:
        """Add those of the next rows."""
        if weights is not None:
            self.sum.update((weights + 0.0).data)
            power = power_of(weights)
            self.power = power if self.power is None else min(power, self.power)
        return self

    @property
    def digest(self) -> str:
        """That of all; empty where there are none."""
        return "" if self.power is None else self.sum.hexdigest()


@dataclass(frozen=True, eq=False)
class Evidence:
    """What all rows say to a proof, found out in one pass over their blocks."""

    proof: Proof
    n: int
    data: str  # the fingerprint of the rows
    prices: Prices  # their weights, where the proof has any
    listed: Picked  # the rows that it names
    rest: Total  # the sum of the others, where they have one too; its unit suits all
    positive: bool  # whether any w·z is
    wrong: ProofError | None  # about the first product that is not as it must be
    also: list[tuple[Any, ...]]  # what other works gave in the same pass, block by block

    @classmethod
    def of(
        cls,
        proof: Proof,
        blocks: Blocks,
        answered: Answered | None = None,
        also: tuple[Work[Any], ...] = (),
        anew: bool = False,
    ) -> Evidence:
        """Go through the rows; their answers, if they are not known yet, take another pass.

        Codes of rows that were made before are believed, unless they are to be made anew.
        """
        check_kinds(proof)
        answered = answered or Answered.joined(list(blocks.each(answers_of)))
        check_x0(proof, answered.x0)
        numbers = sorted(n for n in _named(proof) if 0 <= n < answered.n)
        work = _Look(proof, np.array(numbers, dtype=np.intp), also, anew)
        digest, prices, found = answered.digest(), Prices(), []
        for codes, weights, *others in blocks.each(work):
            digest.update(codes)
            prices.add(weights)
            found.append(others)
        positive, wrong, listed, rest, more = (list(one) for one in zip(*found, strict=True))
        return cls(
            proof,
            answered.n,
            digest.hexdigest(),
            prices,
            listed[0].joined(listed[1:]),
            added(rest),
            any(positive),
            next((error for error in wrong if error is not None), None),
            more,
        )

    def check(self) -> bool:
        """Whether it proves the claim: True, or ProofError."""
        proof = self.proof
        self._check_form()
        if proof.walk:
            raise ProofError(
                "a walk through all cells showed this: only another walk confirms it. Give "
                "again=True."
            )
        for part in proof.parts:
            check_sum(part, self.listed, self.rest, self._called)
        if proof.claim == "inseparable":
            self._check_span(proof.parts[0])
        if proof.claim not in VERDICTS:
            self._check_mistakes()
        if self.wrong is not None:
            raise self.wrong
        if proof.weights and not self.positive:
            raise ProofError("no row has w·z > 0: the weights prove nothing.")
        return True

    def check_walk(self, blocks: Blocks) -> bool:
        """Whether another walk through all cells confirms the claim: True, or ProofError."""
        from rosenblatt.algorithms.cells import none_by_walking

        self._check_form()
        examples = take(blocks, range(self.n)).examples
        if not self.proof.prices:
            examples = replace(examples, weights=None)
        none = none_by_walking(merged(examples), self._need)
        if none is None:
            raise ProofError("the data have too many rows or columns to walk through all cells.")
        if not none:
            raise ProofError(f"{quoted(self.proof.claim)}: the walk found a line that makes fewer.")
        return True

    def _check_form(self) -> None:
        """The evidence is about these weights, and of the kind that its claim needs."""
        proof = self.proof
        _check_shape(proof)
        if proof.prices and not self.prices.digest:
            raise ProofError("this is a proof about sample weights: give those it was made with.")
        if proof.prices and self.prices.digest != proof.prices:
            raise ProofError("this is a proof about other sample weights.")
        _check_alike(proof.alike, self.n)
        _check_numbers(proof, self.n)

    @property
    def _need(self) -> int:
        """What mistakes are to cost, in whole numbers of the unit."""
        cost = claimed(self.proof.claim, bool(self.proof.prices)) or Fraction(0)
        return math.ceil(cost / Fraction(2) ** (self.prices.power or 0))

    def _check_mistakes(self) -> None:
        """The sets prove what mistakes cost: on their own, or by the tree."""
        proof, need, costs = self.proof, self._need, self._costs()
        if proof.tree is None:
            sure = sum(min(costs[n] for n in part.rows) for part in proof.parts)
            if sure != need:
                raise cannot_prove(proof)
        elif wrong := proof.tree.fault([part.rows for part in proof.parts], costs, need):
            raise ProofError(
                f"the tree does not hold: {wrong.before}", wrong.rows, f"{wrong.after}."
            )

    def _costs(self) -> dict[int, int]:
        """What each row costs that can be named: where some are alike, the first of them."""
        numbers, examples = self.listed.numbers.tolist(), self.listed.examples
        if not self.proof.prices:
            examples = replace(examples, weights=None)
        each = Costs.of(examples, self.prices.power).each.tolist()
        costs = dict(zip(numbers, each, strict=True))
        _check_equal(self.proof.alike, self.listed)
        for first, *others in self.proof.alike:
            costs[first] += sum(map(costs.pop, others))
        return costs

    def _called(self, j: int) -> str:
        x0 = bool(self.proof.x0)
        return "x0" if x0 and j == 0 else f"column {j - x0}"

    def _check_span(self, part: Part) -> None:
        """No w has w·z ≥ 0 everywhere and > 0 somewhere.

        Such a w has w·z = 0 on all rows of the part. If these are all rows, or if their rank is
        the dimension, nothing is left for it. A rank modulo a prime is never too large.
        """
        if part.rest or len(part.rows) == self.n:
            return
        examples = self.listed.examples
        dimension = dimension_of(examples)
        rank = rank_at_least(integer_rows(examples, range(examples.n)))
        if rank < dimension:
            raise ProofError(
                f"the rows with multipliers have rank {rank}, not {dimension}: some w may be zero "
                "on them and positive on others."
            )


@dataclass(frozen=True, eq=False)
class _Look:
    """The work of `Evidence.of` on a block."""

    proof: Proof
    numbers: NDArray[np.intp]  # of the rows that it names
    also: tuple[Work[Any], ...]
    anew: bool  # whether to believe no codes of rows

    def __call__(self, block: Examples, first: int) -> tuple[Any, ...]:
        block, proof = merged(block), self.proof
        positive, wrong = False, None
        if proof.weights:
            try:
                strict = proof.claim == "separable"
                positive = check_products(proof.weights, block, strict=strict, first=first)
            except ProofError as error:
                wrong = error
        listed = Pick(self.numbers)(block, first)
        if any(part.rest for part in proof.parts):
            rest = sum_of_rows(block, without=listed.numbers - first)
        else:
            rest = [0] * dimension_of(block), unit_of(listed.examples)
        codes = row_codes(replace(block) if self.anew else block)
        weights = block.weights if proof.prices else None
        also = tuple(work(block, first) for work in self.also)
        return codes, weights, positive, wrong, listed, rest, also


def check_products(
    weights: Sequence[int], examples: Examples, *, strict: bool, first: int = 0
) -> bool:
    """No w·z_n is negative, and if strict none is zero; returns whether any is positive.

    `first` is the number of the first row.
    """
    if len(weights) != dimension_of(examples):
        need = dimension_of(examples)
        raise ProofError(f"{counted(len(weights), 'weight')} given; the data need {need}.")
    positive = False
    for start, signs in product_signs(weights, examples):
        wrong = np.flatnonzero(signs <= 0 if strict else signs < 0)
        if len(wrong):
            sign = "negative" if signs[wrong[0]] < 0 else "zero"
            n = first + start + int(wrong[0])
            raise ProofError("", n, f": w·z is {sign}, not positive.")
        positive |= bool((signs > 0).any())
    return positive


def _named(proof: Proof) -> set[int]:
    """The numbers of all rows that a proof names."""
    named = {n for part in proof.parts for n in part.rows}
    named.update(n for group in proof.alike for n in group)
    return named if proof.tree is None else named.union(n for n in proof.tree.nodes if n >= 0)


def _check_numbers(proof: Proof, n_rows: int) -> None:
    """Each part has rows that are there, in one part once, each with a positive integer.

    With a tree they may be in several parts.
    """
    others = {n for group in proof.alike for n in group[1:]}
    seen: set[int] = set()
    for part in proof.parts:
        seen = seen if proof.tree is None else set()
        for n in part.rows:
            if not 0 <= n < n_rows:
                raise no_such_row(n)
            if n in seen:
                raise ProofError("", n, " is used twice.")
            if n in others:
                raise ProofError("", n, " is alike to one before it, which stands for it.")
            seen.add(n)
        if len(part.rows) != len(part.multipliers) or not part.rows:
            raise ProofError("a set of multipliers has one for each of its rows, and has rows.")
        for n, m in zip(part.rows, part.multipliers, strict=True):
            if m <= 0:
                raise ProofError("", n, ": its multiplier is not a positive integer.")
        if part.rest < 0 or (part.rest and len(proof.parts) > 1):
            raise ProofError("the multiplier of the rest is not a positive integer, or 0.")


def _check_alike(groups: Sequence[Vector], n_rows: int) -> None:
    """Groups have two rows or more, in order, and no row is in two."""
    seen: set[int] = set()
    for group in groups:
        if len(group) < 2 or list(group) != sorted(set(group)):
            raise ProofError("rows that are alike are two or more, each once and in order.")
        if group[0] < 0 or group[-1] >= n_rows:
            raise no_such_row(group[0] if group[0] < 0 else group[-1])
        if twice := seen.intersection(group):
            raise ProofError("", min(twice), " is in two groups of rows that are alike.")
        seen.update(group)


def _check_equal(groups: Sequence[Vector], listed: Picked) -> None:
    """The rows of a group are equal in every number and in the answer."""
    if not groups:
        return
    examples, sizes = listed.examples, [len(group) for group in groups]
    rows = np.searchsorted(listed.numbers, np.concatenate(groups))
    models = np.searchsorted(listed.numbers, np.repeat([group[0] for group in groups], sizes))
    same = same_numbers(examples, rows, models) & (examples.y[rows] == examples.y[models])
    if not same.all():
        at = int(same.argmin())
        first, other = listed.numbers[models[at]], listed.numbers[rows[at]]
        raise ProofError("", (int(first), int(other)), " are not alike.")


def check_sum(part: Part, listed: Picked, rest: Total, called: Callable[[int], str]) -> None:
    """Σ λ z = 0, column by column, in integers: over the rows listed, and the rest at once."""
    others, unit = rest
    places = np.searchsorted(listed.numbers, part.rows)
    sums = combined(part.multipliers, listed.examples, places, unit)
    for j, (s, other) in enumerate(zip(sums, others, strict=True)):
        if s + part.rest * other:
            raise ProofError(f"the sum of multipliers times rows is not zero in {called(j)}.")
