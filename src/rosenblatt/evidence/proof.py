"""A proof as data, and the checker that believes nothing else.

z_n = y_n·(x0, x_n) are the signed examples. Two kinds of evidence carry every claim:

* weights w, with the sign of every product w·z_n;
* multipliers λ > 0 on some rows with Σ λ z = 0: then no w has w·z > 0 on all of these rows,
  for λ·(w·z) would sum to something positive, and it sums to zero.

Floating-point numbers are exact fractions, so everything here is a question about integers.
Floats are used only to settle rows whose rounding error is provably too small to matter.
This file imports nothing of the solver.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import strictjson
from rosenblatt.card import card
from rosenblatt.errors import quoted, readable
from rosenblatt.evidence.fingerprint import fingerprint
from rosenblatt.evidence.integers import (
    blocks,
    column_sums,
    dimension_of,
    exact_products,
    integer_rows,
    merged,
    primes_enough,
    rank_at_least,
    unit_of,
    zero_products,
)
from rosenblatt.examples import Examples
from rosenblatt.words import counted

FORMAT = "rosenblatt proof 1"
MANY = 64  # rows of a block that are settled faster modulo primes than one by one
VERDICTS = ("separable", "quasi-separable", "inseparable")

Vector = tuple[int, ...]
Total = tuple[list[int], int]


class ProofError(ValueError):
    """A proof does not hold for the data; the message names the row or sum that fails."""

    row: int | None = None  # where a product fails

    def __str__(self) -> str:
        return readable(super().__str__())


@dataclass(frozen=True)
class Part:
    """Rows that no w can all answer rightly: positive multipliers with Σ λ z = 0.

    Parameters
    ----------
    rows : tuple of int
        The rows that are listed, numbered from 0.
    multipliers : tuple of int
        One for each of them.
    rest : int
        The multiplier of every row that is not listed; 0 leaves these rows out.
    """

    rows: Vector
    multipliers: Vector
    rest: int = 0


@dataclass(frozen=True)
class Proof:
    """What is claimed of a data set, and the integers that prove it.

    Parameters
    ----------
    claim : str
        "separable", "quasi-separable", "inseparable", or "at least k mistakes".
    data : str
        The fingerprint of the data, as `fingerprint` computes it.
    x0 : float
        The constant feature, 0.0 for none.
    weights : tuple of int
        A positive multiple of the tall w (w0 first where there is an x0), or empty.
    parts : tuple of Part
        Disjoint sets of rows, each with its multipliers.

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
    rosenblatt.evidence.proof.ProofError: this is a proof about other data: ...
    """

    claim: str
    data: str
    x0: float = 1.0
    weights: Vector = ()
    parts: tuple[Part, ...] = ()

    def _repr_html_(self) -> str:
        facts = [("claim", self.claim), ("about the data", f"{self.data[:16]}…")]
        if self.weights:
            facts.append(("weights", f"{counted(len(self.weights), 'whole number')}, w0 first"))
        rows = sum(len(part.rows) for part in self.parts)
        if self.parts:
            facts.append(
                ("multipliers", f"on {counted(rows, 'row')} in {counted(len(self.parts), 'set')}")
            )
        facts.append(("to check it", "proof.check(X, y)"))
        return card("Proof", facts)

    def check(self, X: Any, y: Any) -> bool:
        """Check the proof against the data in exact arithmetic.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            The features the proof is about.
        y : sequence of n answers
            The answers it is about.

        Returns
        -------
        bool
            True; a proof that does not hold raises ProofError.
        """
        check_kinds(self)
        return self.check_examples(Examples.from_arrays(X, y, x0=self.x0, one_class=True))

    def check_examples(self, examples: Examples) -> bool:
        """Check the proof against examples in exact arithmetic."""
        check_x0(self, examples.x0)
        examples = merged(examples)
        if fingerprint(examples) != self.data:
            raise ProofError(
                "this is a proof about other data: a number, an answer or the order of the rows "
                "is not what it was."
            )
        return self.check_evidence(examples)

    def check_evidence(self, examples: Examples) -> bool:
        """Check the evidence alone, whatever data the proof was made for."""
        check_x0(self, examples.x0)
        total = sum_of_rows(examples) if any(part.rest for part in self.parts) else None
        check_parts(self, Listed(examples, examples.n, total=total))
        if self.weights:
            positive = check_products(self.weights, examples, strict=self.strict)
            check_positive(positive)
        return True

    @property
    def strict(self) -> bool:
        """Whether every w·z must be positive, and not merely none negative."""
        return self.claim == "separable"

    def to_json(self) -> str:
        """The proof as JSON text; integers are hexadecimal, so nothing is rounded."""
        return strictjson.sealed(_content(self))

    @classmethod
    def from_json(cls, text: str) -> Proof:
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
                str(content["claim"]),
                str(content["data"]),
                float.fromhex(content["x0"]),
                integers_of(content["weights"]),
                tuple(_part(part) for part in content["parts"]),
            )
        except strictjson.NotJsonError as wrong:
            raise ProofError(f"this text {wrong}.") from None
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            why = quoted(error)
            raise ProofError(f"this is not the JSON of a proof: {why}.") from None
        check_kinds(proof)
        if content != _content(proof) or seal != strictjson.seal_of(content):
            raise ProofError("the text of this proof was changed: its seal does not fit.")
        return proof


def claim_of_mistakes(count: int) -> str:
    """What so many disjoint sets of rows prove: each costs every w at least one mistake."""
    return f"at least {count} mistake{'s' if count > 1 else ''}"


def _content(proof: Proof) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "claim": proof.claim,
        "data": proof.data,
        "x0": proof.x0.hex(),
        "weights": [hex(v) for v in proof.weights],
        "parts": [
            {
                "rows": list(part.rows),
                "multipliers": [hex(v) for v in part.multipliers],
                "rest": hex(part.rest),
            }
            for part in proof.parts
        ],
    }


def _part(content: dict[str, Any]) -> Part:
    rows, multipliers = tuple(content["rows"]), integers_of(content["multipliers"])
    return Part(rows, multipliers, int(content["rest"], 16))


def integers_of(texts: Sequence[str]) -> Vector:
    """Integers from their hexadecimal texts."""
    return tuple(int(text, 16) for text in texts)


def check_x0(proof: Proof, x0: float) -> None:
    """The proof is made of numbers, and takes the x0 of the data."""
    check_kinds(proof)
    if proof.x0 != x0:
        raise ProofError(f"the proof takes x0 = {proof.x0!r}, the data x0 = {x0!r}.")


def check_kinds(proof: Proof) -> None:
    """x0 is a finite float, and all other numbers are Python's whole numbers, which none rounds."""
    if not isinstance(proof.x0, float) or not math.isfinite(proof.x0):
        raise ProofError(f"x0 is a finite float, not {quoted(proof.x0)}.")
    whole = [("weights", proof.weights)]
    for part in proof.parts:
        whole += [("rows", part.rows), ("multipliers", part.multipliers), ("rest", (part.rest,))]
    for name, numbers in whole:
        if not set(map(type, numbers)) <= {int}:
            wrong = next(v for v in numbers if type(v) is not int)
            raise ProofError(f"{name} are whole numbers; {quoted(wrong)} is none.")


def _check_shape(proof: Proof) -> None:
    """The evidence is of the kind that its claim needs."""
    if proof.claim in VERDICTS:
        needs_weights, parts = proof.claim != "inseparable", int(proof.claim != "separable")
    else:
        needs_weights, parts = False, len(proof.parts)
        if parts == 0 or proof.claim != claim_of_mistakes(parts):
            sets = counted(parts, "blocking set")
            raise ProofError(f"{quoted(proof.claim)} is not a claim that {sets} can prove.")
    if bool(proof.weights) != needs_weights:
        raise ProofError(f"a proof of {proof.claim!r} has weights: {needs_weights}.")
    if len(proof.parts) != parts:
        raise ProofError(f"a proof of {proof.claim!r} has {counted(parts, 'set')} of multipliers.")


def check_products(
    weights: Sequence[int], examples: Examples, *, strict: bool, first: int = 0
) -> bool:
    """No w·z_n is negative, and if strict none is zero; returns whether any is positive.

    Floats settle most rows, integers the rest. `first` is the number of the first row.
    """
    w = _as_floats(weights, dimension_of(examples))
    positive = False
    for start, X, y in blocks(examples):
        settled = _surely_positive(X, y, w, examples.x0)
        positive |= bool(settled.any())
        doubtful = _not_zero(weights, examples, start + np.flatnonzero(~settled), strict)
        for n, product in zip(doubtful, exact_products(weights, examples, doubtful), strict=True):
            if product < 0 or (strict and product == 0):
                sign = "zero" if product == 0 else "negative"
                wrong = ProofError(f"row {first + n}: w·z is {sign}, not positive.")
                wrong.row = first + n
                raise wrong
            positive |= product > 0
    return positive


def _not_zero(
    weights: Sequence[int], examples: Examples, rows: NDArray[np.intp], strict: bool
) -> list[int]:
    """Rows whose w·z is not surely zero, where zeros are fine and there may be many."""
    if strict or len(rows) < MANY:
        return [int(n) for n in rows]
    zero = zero_products(weights, examples, rows, primes_enough(weights, examples, rows))
    return [int(n) for n in rows[~zero]]


def check_positive(positive: bool) -> None:
    """Weights that are zero on every row prove nothing."""
    if not positive:
        raise ProofError("no row has w·z > 0: the weights prove nothing.")


def _as_floats(weights: Sequence[int], dimension: int) -> NDArray[np.float64]:
    """Integers of any size as floats up to 1, each rounded once."""
    if len(weights) != dimension:
        raise ProofError(f"{counted(len(weights), 'weight')} given; the data need {dimension}.")
    scale = 1 << max(map(abs, weights)).bit_length()
    return np.array([v / scale for v in weights])


def _surely_positive(
    X: Any, y: NDArray[np.int8], w: NDArray[np.float64], x0: float
) -> NDArray[np.bool_]:
    """Rows whose w·z is positive whatever rounding did.

    D products of weights that were rounded once, summed in any order, are off by at most
    (D + 2)·u·Σ|w||x|, which (D + 2)·u·‖w‖·‖block‖ bounds; four times that covers the rounding
    of the bound. 2^-900 is far above what products, and 2^-1022 what weights, lose below the
    smallest float. Where a number overflows the comparison is false, and integers decide.
    """
    share = 4 * (len(w) + 2) * 2.0**-53
    numbers = X if isinstance(X, np.ndarray) else X.data
    with np.errstate(all="ignore"):
        s = y * _scores(X, w, x0)
        square = float(np.einsum("i,i->", numbers.ravel(), numbers.ravel()))
        length = math.sqrt(np.einsum("i,i->", w, w)) * math.sqrt(square + x0 * x0)
        settled: NDArray[np.bool_] = s > share * length + 2.0**-900
        near = np.flatnonzero(~settled & (s > 0))
        if len(near):
            sizes = _scores(abs(X[near]), np.abs(w) + 2.0**-1022, abs(x0))
            settled[near] = s[near] > share * sizes + 2.0**-900
    return settled


def _scores(X: Any, w: NDArray[np.float64], x0: float) -> NDArray[np.float64]:
    features = w[1:] if x0 else w
    # einsum, unlike @, starts no threads: blocks are too small for them.
    s = np.einsum("ij,j->i", X, features) if isinstance(X, np.ndarray) else X @ features
    return np.asarray(s + w[0] * x0 if x0 else s)


@dataclass(frozen=True, eq=False)
class Listed:
    """What the multipliers are checked against: the rows they name, and the sum of all rows.

    Parameters
    ----------
    examples : Examples
        Some rows of the data, or all.
    n : int
        How many rows the data have.
    places : mapping, optional
        Where the row of a number is among the examples; in its own place if not given.
    total : (list of int, int), optional
        The sum of every column of Z over all rows, and its unit; needed where `rest` is not 0.
    """

    examples: Examples
    n: int
    places: Mapping[int, int] | None = None
    total: Total | None = None

    def rows(self, numbers: Sequence[int], unit: int | None = None) -> list[list[int]]:
        """Rows z_n as integers in one unit."""
        places = numbers if self.places is None else [self.places[n] for n in numbers]
        return integer_rows(self.examples, places, unit)


def sum_of_rows(examples: Examples) -> Total:
    """The sum of every column of Z, and the unit it is in."""
    unit = unit_of(examples)
    return column_sums(examples, unit), unit


def check_parts(proof: Proof, listed: Listed) -> None:
    """The evidence is of the kind that the claim needs, and its multipliers hold."""
    _check_shape(proof)
    check_numbers(proof.parts, listed.n)
    for part in proof.parts:
        _check_sum(part, listed)
    if proof.claim == "inseparable":
        _check_span(proof.parts[0], listed)


def check_numbers(parts: Sequence[Part], n_rows: int) -> None:
    """Each part has rows that are there, in one part once, each with a positive integer."""
    seen: set[int] = set()
    for part in parts:
        for n in part.rows:
            if not 0 <= n < n_rows:
                raise ProofError(f"row {quoted(n)}: the data have no such row.")
            if n in seen:
                raise ProofError(f"row {n} is used twice.")
            seen.add(n)
        if len(part.rows) != len(part.multipliers) or not part.rows:
            raise ProofError("a set of multipliers has one for each of its rows, and has rows.")
        for n, m in zip(part.rows, part.multipliers, strict=True):
            if m <= 0:
                raise ProofError(f"row {n}: its multiplier is not a positive integer.")
        if part.rest < 0 or (part.rest and len(parts) > 1):
            raise ProofError("the multiplier of the rest is not a positive integer, or 0.")


def _check_sum(part: Part, listed: Listed) -> None:
    """Σ λ z = 0, column by column, in integers."""
    if part.rest:
        assert listed.total is not None
        every, unit = listed.total
        excess = [m - part.rest for m in part.multipliers]
        sums = [
            s + part.rest * e
            for s, e in zip(_sums(listed.rows(part.rows, unit), excess), every, strict=True)
        ]
    else:
        sums = _sums(listed.rows(part.rows), part.multipliers)
    for j, s in enumerate(sums):
        if s != 0:
            x0 = bool(listed.examples.x0)
            name = "x0" if x0 and j == 0 else f"column {j - x0}"
            raise ProofError(f"the sum of multipliers times rows is not zero in {name}.")


def _sums(table: list[list[int]], multipliers: Sequence[int]) -> list[int]:
    return [
        sum(m * a for m, a in zip(multipliers, column, strict=True) if a)
        for column in zip(*table, strict=True)
    ]


def _check_span(part: Part, listed: Listed) -> None:
    """No w has w·z ≥ 0 everywhere and > 0 somewhere.

    Such a w has w·z = 0 on all rows of the part. If these are all rows, or if their rank is
    the dimension, nothing is left for it. A rank modulo a prime is never too large.
    """
    if part.rest or len(part.rows) == listed.n:
        return
    dimension = dimension_of(listed.examples)
    rank = rank_at_least(listed.rows(part.rows))
    if rank < dimension:
        raise ProofError(
            f"the rows with multipliers have rank {rank}, not {dimension}: some w may be zero "
            "on them and positive on others."
        )
