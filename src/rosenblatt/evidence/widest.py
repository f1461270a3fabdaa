"""From some weights that separate to the widest: floats first, fractions where they fall short."""

from __future__ import annotations

from dataclasses import dataclass

from rosenblatt.evidence.decide import BITS, cut_to, separator, tall_integers
from rosenblatt.evidence.exact import ExactWalk
from rosenblatt.evidence.margin import Hull, Measured, measured
from rosenblatt.evidence.nearest import GAP, Point, Watch, nearest_point
from rosenblatt.evidence.proof import Vector
from rosenblatt.evidence.signed import Signed

SMALL = 2**19  # entries of data that exact passes may go through
FEW = 32  # members of a corral that fractions can carry


@dataclass(frozen=True, eq=False)
class Separator:
    """Integer weights that separate, and what they measure."""

    weights: Vector
    measured: Measured


def as_found(plain: Signed, weights: Vector, point: Point | None) -> Separator:
    """Weights as they were found, measured against where the solver stood."""
    hull = None if point is None else Hull.of(point)
    return Separator(weights, measured(plain, weights, hull))


def widest_from(plain: Signed, best: Separator, point: Point | None, watch: Watch) -> Separator:
    """The widest separator that can be had.

    Parameters
    ----------
    plain : Signed
        The rows in one unit, where lengths mean what they say.
    best : Separator
        Weights that separate.
    point : Point, optional
        Where the solver stood if it was asked about these very rows for the widest margin.
    watch : callable
        Told of progress.
    """
    if best.measured.gap > GAP and point is None:
        point = nearest_point(plain, GAP, watch)
        found = separator(plain, point)
        nearer = best.weights if found is None else tall_integers(plain, found.weights)
        best = max(best, as_found(plain, nearer, point), key=_narrowness)
    if best.measured.gap > GAP and point is not None and _can_walk(plain, point):
        best = max(best, _exactly(plain, point) or best, key=_narrowness)
    return best


def _narrowness(separator: Separator) -> tuple[float, float]:
    return separator.measured.margin, -separator.measured.upper


def _can_walk(plain: Signed, point: Point) -> bool:
    return 0 < len(point.rows) <= FEW and plain.examples.n * plain.dimension <= SMALL


def _exactly(plain: Signed, point: Point) -> Separator | None:
    """Walk to the widest in fractions, and cut its weights to digits enough for the gap."""
    found = ExactWalk(plain, point.rows.tolist(), point.multipliers).run(widest=True)
    if found is None or not found.weights:
        return None
    hull = Hull(found.rows, found.multipliers)
    for bits in BITS:
        weights = tall_integers(plain, cut_to(found.weights, bits))
        result = measured(plain, weights, hull)
        if result.margin > 0 and result.gap <= GAP:
            return Separator(weights, result)
    weights = tall_integers(plain, found.weights)
    return Separator(weights, measured(plain, weights, hull))
