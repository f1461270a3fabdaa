"""Proofs: what is proved of examples, as the player draws it."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.evidence.guarantee import Squeeze, held_by_floats
from rosenblatt.evidence.proof import Part
from rosenblatt.evidence.separability import Separability
from rosenblatt.trace import Trace

FLOATS, COUNTS = "<f8", "<u4"


def packed(numbers: NDArray[Any], kind: str) -> dict[str, str]:
    """Numbers as text that keeps every bit.

    Examples
    --------
    >>> packed(np.array([1.0]), FLOATS)
    {'f8': 'AAAAAAAA8D8='}
    """
    raw = np.ascontiguousarray(numbers, dtype=kind).tobytes()
    return {kind[1:]: base64.b64encode(raw).decode("ascii")}


def verdict_json(
    verdict: Separability, points: NDArray[np.float64], answers: NDArray[Any]
) -> dict[str, Any]:
    """What is proved, and what to draw of the proof.

    `line` is added by the story: c, a, b of the widest (or quasi-separating) line. `margin` is
    the distance in the tall space, so the band is where c + a·x1 + b·x2 is from -margin to margin.
    """
    bound = verdict.bound
    return {
        "name": verdict.verdict,
        "told": verdict.explain().splitlines(),
        "margin": verdict.margin,
        "radius": verdict.radius,
        "bound": bound if bound is not None and np.isfinite(bound) else None,
        "support": verdict.support.tolist(),
        "blocking": [blocking_json(part, points, answers) for part in verdict.blocking[:3]],
        "proof": None if verdict.proof is None else verdict.proof.to_json(),
    }


def blocking_json(part: Part, points: NDArray[np.float64], answers: NDArray[Any]) -> dict[str, Any]:
    """Rows that cannot all be right, the shares of each side, and the point of both hulls.

    Σ λ y (1, x) = 0 says that the yes rows weighted by λ and the no rows weighted by λ have one
    common middle. Shares sum to 1 on each side.
    """
    rows, multipliers = _whole(part, len(answers))
    yes = sum(m for n, m in zip(rows, multipliers, strict=True) if answers[n] > 0)
    no = sum(multipliers) - yes
    shares = [
        float(Fraction(m, (yes if answers[n] > 0 else no) or 1))
        for n, m in zip(rows, multipliers, strict=True)
    ]
    common = None
    if yes and no:
        weighted = [s * points[n] for n, s in zip(rows, shares, strict=True) if answers[n] > 0]
        common = np.sum(weighted, axis=0).tolist()
    # Integers of any size: as text, for JavaScript's numbers end at 2^53.
    return {
        "rows": list(rows),
        "multipliers": [str(m) for m in multipliers],
        "shares": shares,
        "common": common,
    }


def _whole(part: Part, n: int) -> tuple[Sequence[int], Sequence[int]]:
    """The rows and multipliers of a part, with those that it does not list."""
    if not part.rest:
        return part.rows, part.multipliers
    known = dict(zip(part.rows, part.multipliers, strict=True))
    return range(n), [known.get(row, part.rest) for row in range(n)]


def squeeze_json(squeezed: Squeeze, verdict: Separability, trace: Trace) -> dict[str, Any]:
    """‖w(t)‖² between its two bounds, and the cosine of the angle to the widest w.

    At t the bounds are max(0, first + t·least)² and squared0 + t·most; `bound` is the last t at
    which they leave room, R²/rho² from w(0) = 0.
    """
    origin = trace.known_origin()
    assert verdict.margin is not None
    weights = held_by_floats(np.asarray(verdict.weights, dtype=np.float64))
    size = math.hypot(*weights.tolist())
    first, squared0 = float(squeezed.inner[0]) / size, float(squeezed.squared[0])
    least, most = origin.eta * verdict.margin, (origin.eta * verdict.radius) ** 2
    # (first + t·least)² = squared0 + t·most, its larger root.
    with np.errstate(all="ignore"):  # a margin like 1e-160 has a bound past all floats
        half = np.float64(most - 2 * first * least) / 2
        root = half + np.sqrt(max(0.0, half * half + least * least * (squared0 - first * first)))
        bound = float(root / least**2) if least**2 > 0 else float("inf")
    return {
        "squared": packed(squeezed.squared, FLOATS),
        "cosine": packed(np.nan_to_num(squeezed.cosine, nan=0.0), FLOATS),
        "first": first,
        "squared0": squared0,
        "least": least,
        "most": most,
        "bound": bound if np.isfinite(bound) else None,
        "holds": squeezed.holds,
    }
