"""Floats that separate when they are multiplied exactly, from whole numbers that do.

Rounding a separator can cost it a row that hangs by less than a bit. Another multiple of the same
weights is rounded another way, so that some multiple of them nearly always will do.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rosenblatt.evidence.exact import rounding
from rosenblatt.evidence.integers import as_integers, exact_products, smallest_exponent
from rosenblatt.evidence.margin import unit_length
from rosenblatt.evidence.proof import Vector
from rosenblatt.evidence.signed import Floats, Signed

MULTIPLES = 64


def separating_floats(plain: Signed, weights: Vector) -> Floats | None:
    """A multiple of some weights, rounded to floats that separate; None where none was found.

    Parameters
    ----------
    plain : Signed
        The rows, in one unit.
    weights : tuple of int
        Weights that separate them.
    """
    critical: list[int] = []
    for w in multiples(weights):
        if critical and min(_products(plain, w, critical)) <= 0:
            continue
        fallen = _fallen(plain, w)
        if not fallen:
            return w
        critical += fallen
    return None


def multiples(weights: Vector) -> Iterator[Floats]:
    """Multiples of some weights as floats, each rounded another way.

    Of length 1 first; then near it, as they are where 53 digits suffice; then far above.
    """
    yield unit_length(weights)
    largest = max(map(abs, weights)).bit_length()
    for power in (0, 1000):  # entries that vanish beside the largest may be floats far above it
        for k in range(MULTIPLES):
            share = 2 * MULTIPLES - k
            whole = 1 << (largest + (2 * MULTIPLES).bit_length() - 1)
            yield np.array([(v * share << power) / whole for v in weights])


def _fallen(plain: Signed, w: Floats) -> list[int]:
    """Rows on which w is not positive, exactly; a few of them."""
    near_one = np.ldexp(w, -int(np.frexp(np.abs(w).max())[1]))
    s, slack = plain.scores_whole(near_one), rounding(plain, near_one)
    near = np.flatnonzero(s <= slack)
    near = near[np.argsort(s[near], kind="stable")].tolist()
    fallen: list[int] = []
    for n, product in zip(near, _products(plain, w, near), strict=True):
        if product <= 0:
            fallen.append(n)
        if len(fallen) == 8:
            break
    return fallen


def _products(plain: Signed, w: Floats, rows: list[int]) -> Iterator[int]:
    return exact_products(whole_of(w), plain.examples, rows)


def whole_of(w: Floats) -> Vector:
    """Floats as whole numbers, times a power of two."""
    return tuple(as_integers(w, smallest_exponent(w)))
