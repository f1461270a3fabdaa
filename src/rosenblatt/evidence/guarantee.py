"""The guarantee: R, rho, R²/rho², and the two inequalities of its proof along a trace."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.blocks import AgainstRivals
from rosenblatt.evidence.integers import merged, not_below
from rosenblatt.evidence.signed import (
    Floats,
    bound_of,
    least_margin,
    lengths_and_columns,
    look_at,
    near_one,
    scaled_radius,
    whole_of,
)
from rosenblatt.examples import Examples, JointExamples
from rosenblatt.replay import run_along
from rosenblatt.trace import Trace
from rosenblatt.words import card, corrections, counted

WORTH_SAYING = 10.0  # scaling is worth a word when it divides the bound by so much


@dataclass(frozen=True)
class Guarantee:
    """How many corrections PLA can need from w(0) = 0: at most R²/rho².

    Parameters
    ----------
    radius : float
        R, the length of the longest tall example.
    margin : float
        rho, the distance of the nearest tall example from w_f; not positive where w_f is wrong.
    scaled : Guarantee, optional
        The same line's guarantee if each column were divided by its largest entry.

    Examples
    --------
    >>> Guarantee(radius=2.0, margin=0.5).bound
    16.0
    >>> print(Guarantee(radius=2.0, margin=-0.5))
    no guarantee: these weights do not answer every example rightly
    """

    radius: float
    margin: float
    scaled: Guarantee | None = None

    @property
    def bound(self) -> float | None:
        """R²/rho², or None where the weights prove nothing."""
        return bound_of(self.radius, self.margin)

    def __str__(self) -> str:
        if self.margin == 0:
            return "no guarantee: the margin is 0, or too small for floats"
        if self.bound is None:
            return "no guarantee: these weights do not answer every example rightly"
        plain = f"{corrections(self.bound)} (R = {self.radius:.6g}, rho = {self.margin:.6g})"
        return plain if self.advice is None else f"{plain}; {self.advice}"

    def _repr_html_(self) -> str:
        facts = [("R, the longest example", f"{self.radius:.6g}")]
        facts.append(("ρ, the margin", f"{self.margin:.6g}"))
        if self.bound is not None:
            facts.append(("R²/ρ²", f"{self.bound:,.6g}"))
        if self.advice is not None:
            facts.append(("advice", self.advice))
        held = self.bound is not None and math.isfinite(self.bound)
        promise = f"PLA from w = 0 needs {corrections(self.bound)}" if self.bound else ""
        return card(promise if held else str(self).split(" (")[0].capitalize(), facts)

    @property
    def advice(self) -> str | None:
        """What scaling the columns would do to the bound, where it is worth a word."""
        before, after = self.bound, None if self.scaled is None else self.scaled.bound
        if before is None or after is None or before < WORTH_SAYING * after:
            return None
        return (
            f"rho/R is tiny ({self.margin / self.radius:.2g}): the features come on very different "
            "scales, and dividing each column by its largest entry would lower the bound "
            f"from {before:,.0f} to {after:,.0f}"
        )


@dataclass(frozen=True, eq=False)
class Squeeze:
    """The two inequalities of the convergence proof at every t of a trace.

    Parameters
    ----------
    inner : array of shape (T + 1,)
        w_f·w(t).
    squared : array of shape (T + 1,)
        ‖w(t)‖².
    cosine : array of shape (T + 1,)
        The cosine of the angle between w_f and w(t); NaN where w(t) = 0.
    inner_least : array of shape (T + 1,)
        w_f·w(0) + t·eta·rho·‖w_f‖, which w_f·w(t) never falls below.
    squared_most : array of shape (T + 1,)
        ‖w(0)‖² + t·eta²·R², which ‖w(t)‖² never exceeds.
    """

    inner: Floats
    squared: Floats
    cosine: Floats
    inner_least: Floats
    squared_most: Floats

    @property
    def inner_holds(self) -> NDArray[np.bool_]:
        """At which t the inner product has grown as fast as the proof says."""
        slack = _rounding(self.inner_least, self.inner)
        return np.asarray(self.inner >= self.inner_least - slack)

    @property
    def squared_holds(self) -> NDArray[np.bool_]:
        """At which t the length has grown no faster than the proof says."""
        slack = _rounding(self.squared_most, self.squared)
        return np.asarray(self.squared <= self.squared_most + slack)

    @property
    def holds(self) -> bool:
        """Whether both inequalities hold at every t."""
        return bool(self.inner_holds.all() and self.squared_holds.all())

    def _repr_html_(self) -> str:
        last = len(self.squared) - 1
        above = "≥" if self.inner_holds[-1] else "<"
        below = "≤" if self.squared_holds[-1] else ">"
        return card(
            f"The squeeze of {counted(last, 'correction')}",
            [
                ("both inequalities", "hold at every t" if self.holds else "do not hold"),
                ("w_f·w(T)", f"{self.inner[-1]:.6g} {above} {self.inner_least[-1]:.6g}"),
                ("‖w(T)‖²", f"{self.squared[-1]:.6g} {below} {self.squared_most[-1]:.6g}"),
                ("cosine of w(T) and w_f", f"{self.cosine[-1]:.6g}"),
            ],
        )


def guarantee(
    X: Any,
    y: Any,
    weights: Any,
    *,
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    sample_weight: Any = None,
) -> Guarantee:
    """What the convergence theorem promises, given weights that answer every example rightly.

    Parameters
    ----------
    X, y : arrays, sparse matrix or frame, and answers
        The examples.
    weights : array
        Any tall w_f, w0 first (no w0 without intercept); of more than two labels a row for each.
        R is then the length of the longest row against a rival, x in the place of its label and
        -x in that of the rival.
    fit_intercept : bool, default=True
        Whether the examples have an x0.
    intercept_scaling : float, default=1.0
        x0, as it was while learning.
    sample_weight : sequence, optional
        Weights of the rows while learning; the theorem then holds for the rows scaled by them.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> rb.guarantee([[3.0], [-4.0]], [1, -1], [0.0, 1.0]).bound
    1.8888888888888888
    """
    x0 = float(intercept_scaling) if fit_intercept else 0.0
    examples = merged(JointExamples.from_arrays(X, y, x0=x0, one_class=True))
    if sample_weight is not None:
        examples = examples.weighted(sample_weight, stream=True)
    w = with_slot(examples, weights)
    if isinstance(examples, JointExamples):
        return guarantee_of(examples, w)
    look = look_at(examples)
    promise = guarantee_of(examples, w)
    radius = scaled_radius(look, examples, weights=examples.weights)
    margin = look.scaled_margin(promise.margin, near_one(examples.tall(w)))
    return replace(promise, scaled=Guarantee(radius, margin))


def guarantee_of(examples: Examples, w: Floats) -> Guarantee:
    """R of the examples and rho of a w with its w0 slot; weights scale the examples."""
    if isinstance(examples, JointExamples):
        flat = np.append(0.0, w if examples.x0 else w[:, 1:])
        each = list(AgainstRivals(examples).each(lambda rows, _: guarantee_of(rows, flat)))
        return Guarantee(max(g.radius for g in each), min(g.margin for g in each))
    examples, lengths = merged(examples), lengths_of(examples)
    if examples.weights is not None:
        with np.errstate(over="ignore"):
            lengths = (lengths * examples.weights)[examples.weights > 0]
    return Guarantee(float(lengths.max()), _margin(examples, near_one(w)))


def _margin(examples: Examples, w: Floats) -> float:
    """rho of a w near 1: floats say which rows may be nearest to it, integers how near they are."""
    unit, x0 = examples.unit, examples.x0
    s = examples.signed_scores(examples.tall(w) / unit)
    size = max(examples.largest, abs(x0)) / unit * float(np.abs(w).sum())
    off = 4 * (examples.longest + 3) * 2.0**-53 * size + 2.0**-900
    if examples.weights is not None:
        s, off = s * examples.weights, off * float(examples.weights.max())
        s[examples.weights == 0] = np.inf
    near = np.flatnonzero(s <= s.min() + 2 * off)
    return least_margin(examples, whole_of(examples.tall(w)), near, examples.weights)


def squeeze(trace: Trace, weights: Any) -> Squeeze:
    """Follow both inequalities of the proof along a trace.

    Parameters
    ----------
    trace : Trace
        A run of corrections, with the examples it was made on.
    weights : array
        Any tall w_f that answers every example rightly, w0 first (no w0 without intercept).

    Examples
    --------
    >>> import rosenblatt as rb
    >>> clf = rb.Perceptron().fit([[3.0], [-4.0]], [1, -1])
    >>> squeezed = rb.squeeze(clf.trace_, [0.0, 1.0])
    >>> squeezed.holds, squeezed.inner.tolist(), squeezed.inner_least.tolist()
    (True, [0.0, 3.0], [0.0, 3.0])
    """
    origin = trace.known_origin()
    examples, t = origin.examples, np.arange(len(trace) + 1)
    w = held_by_floats(with_slot(examples, weights))
    promise = guarantee_of(examples, w)
    reach = origin.eta * promise.radius
    if not math.isfinite(len(t) * reach * reach):
        raise ValueError(
            f"an example is {promise.radius:.3g} long, and ‖w(t)‖² is past all numbers; "
            "scale the columns first."
        )
    inner, squared = np.zeros(len(t)), np.zeros(len(t))
    start, w = origin.start / examples.unit, examples.flat(w)
    made = examples.corrections(trace.examples, trace.rivals)
    run_along(examples.rows(origin.eta), made, start.copy(), w, inner, squared)
    inner, squared = inner * examples.unit, squared * examples.unit * examples.unit
    size = math.hypot(*w.tolist())
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = inner / (size * np.sqrt(squared))
    return Squeeze(
        inner,
        squared,
        cosine,
        inner[0] + t * origin.eta * promise.margin * size,
        squared[0] + t * reach * reach,
    )


def held_by_floats(w: Floats) -> Floats:
    """Weights of a size whose products floats can hold: the same direction, by a power of two."""
    return w if abs(math.frexp(float(np.abs(w).max()))[1]) < 300 else near_one(w)


def with_slot(examples: Examples, weights: Any) -> Floats:
    """Tall weights as a person gives them, with the w0 slot that the rooms use."""
    w: Floats = np.asarray(weights, dtype=np.float64)
    shape = examples.tall(np.zeros(examples.size)).shape
    if w.size != math.prod(shape) or not np.isfinite(w).all() or not w.any():
        wanted = " × ".join(map(str, shape))
        raise ValueError(
            f"weights must be {wanted} finite numbers, not all 0 (w0 first); got {weights!r}."
        )
    return examples.slotted(w.reshape(shape))


def lengths_of(examples: Examples) -> Floats:
    """‖x‖ of every tall example, x0 included, in a unit near the largest where it is extreme."""
    unit = examples.unit
    squares, _ = lengths_and_columns(merged(examples), np.full(examples.d, 1 / unit))
    lengths = np.sqrt(squares + (examples.x0 / unit) ** 2)
    return lengths if unit == 1 else np.array([not_below(v, unit) for v in lengths.tolist()])


def _rounding(bound: Floats, value: Floats) -> Floats:
    """What sums of t terms in double precision may be off by."""
    return np.asarray(1e-15 * (10 + np.arange(len(bound))) * (np.abs(bound) + np.abs(value)))
