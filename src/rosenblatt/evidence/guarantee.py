"""The convergence theorem: its bound R²/rho² and the two inequalities of its proof."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.evidence.integers import round_up_length
from rosenblatt.evidence.signedrows import (
    Floats,
    least_margin,
    lengths_and_columns,
    scale_near_one,
    scaled_radius,
    summarize,
    to_integers,
)
from rosenblatt.examples import Examples, KeslerRows
from rosenblatt.text import describe_update_bound, plural, render_card
from rosenblatt.trace import Trace, run_along

WORTH_SAYING = 10.0  # scaling is advised if it divides the bound by at least this


@dataclass(frozen=True)
class Guarantee:
    """Upper bound R²/rho² on the number of updates of PLA from w(0) = 0.

    Parameters
    ----------
    radius : float
        R, the length of the longest augmented example.
    margin : float
        rho, the margin of w_f: not positive if w_f misclassifies an example.
    scaled : Guarantee, optional
        The guarantee of the same line if each column were divided by its largest entry.

    Examples
    --------
    >>> Guarantee(radius=2.0, margin=0.5).bound
    16.0
    >>> print(Guarantee(radius=2.0, margin=-0.5))
    no guarantee: these weights misclassify an example
    """

    radius: float
    margin: float
    scaled: Guarantee | None = None

    @property
    def bound(self) -> float | None:
        """Maximum number of updates, R²/rho²; None if the weights misclassify an example."""
        if not self.margin > 0:
            return None
        ratio = float(self.radius) / float(self.margin)
        return ratio * ratio if ratio < 1e154 else math.inf

    def __str__(self) -> str:
        if self.margin == 0:
            return "no guarantee: the margin is 0 or underflows float64"
        if self.bound is None:
            return "no guarantee: these weights misclassify an example"
        plain = (
            f"{describe_update_bound(self.bound)} (R = {self.radius:.6g}, rho = {self.margin:.6g})"
        )
        return plain if self.advice is None else f"{plain}; {self.advice}"

    def _repr_html_(self) -> str:
        facts = [("R, the longest example", f"{self.radius:.6g}")]
        facts.append(("ρ, the margin", f"{self.margin:.6g}"))
        if self.bound is not None:
            facts.append(("R²/ρ²", f"{self.bound:,.6g}"))
        if self.advice is not None:
            facts.append(("advice", self.advice))
        held = self.bound is not None and math.isfinite(self.bound)
        promise = f"PLA from w = 0 needs {describe_update_bound(self.bound)}" if self.bound else ""
        return render_card(promise if held else str(self).split(" (")[0].capitalize(), facts)

    @property
    def advice(self) -> str | None:
        """Advice to scale the columns, or None if that would not lower the update bound much."""
        before, after = self.bound, None if self.scaled is None else self.scaled.bound
        if before is None or after is None or before < WORTH_SAYING * after:
            return None
        return (
            f"rho/R is tiny ({self.margin / self.radius:.2g}): the features have very different "
            "scales, and dividing each column by its largest entry would lower the bound "
            f"from {before:,.0f} to {after:,.0f}"
        )


@dataclass(frozen=True, eq=False)
class Squeeze:
    """Two inequalities of the convergence proof, evaluated after every update of a run.

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
        """For each t, whether w_f·w(t) is at least its lower bound in the convergence proof.

        w_f are the separating weights of the proof.
        """
        bound = _rounding_bound(self.inner_least, self.inner)
        return np.asarray(self.inner >= self.inner_least - bound)

    @property
    def squared_holds(self) -> NDArray[np.bool_]:
        """For each t, whether ‖w(t)‖² is at most its upper bound in the convergence proof."""
        bound = _rounding_bound(self.squared_most, self.squared)
        return np.asarray(self.squared <= self.squared_most + bound)

    @property
    def holds(self) -> bool:
        """Whether both inequalities of the convergence proof hold after every update."""
        return bool(self.inner_holds.all() and self.squared_holds.all())

    def _repr_html_(self) -> str:
        last = len(self.squared) - 1
        above = "≥" if self.inner_holds[-1] else "<"
        below = "≤" if self.squared_holds[-1] else ">"
        return render_card(
            f"The squeeze of {plural(last, 'update')}",
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
    """Compute the upper bound R²/rho² on the updates of PLA, given weights that separate.

    Parameters
    ----------
    X, y : arrays, sparse matrix or frame, and labels
        The examples.
    weights : array
        Any augmented weights w_f, w0 first (no w0 without intercept); with more than two labels
        one row per label. R is then the length of the longest row of Kesler's construction, x in
        the place of its label and -x in that of a competing class.
    fit_intercept : bool, default=True
        Whether the weights have an intercept w0.
    intercept_scaling : float, default=1.0
        The constant feature x0 used in training.
    sample_weight : sequence, optional
        Weights of the rows in training; the theorem then holds for rows scaled by them.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> rb.guarantee([[3.0], [-4.0]], [1, -1], [0.0, 1.0]).bound
    1.8888888888888888
    """
    x0 = float(intercept_scaling) if fit_intercept else 0.0
    examples = Examples.from_arrays(X, y, x0=x0, one_class=True).merged()
    if sample_weight is not None:
        examples = examples.weighted(sample_weight, stream=True)
    w = add_bias_slot(examples, weights)
    if examples.multiclass:
        return guarantee_of(examples, w)
    look = summarize(examples)
    promise = guarantee_of(examples, w)
    radius = scaled_radius(look, examples, weights=examples.weights)
    margin = look.scaled_margin(promise.margin, scale_near_one(examples.to_augmented(w)))
    return replace(promise, scaled=Guarantee(radius, margin))


def guarantee_of(examples: Examples, w: Floats) -> Guarantee:
    """Compute the radius R of examples, and the margin of augmented weights on them.

    Sample weights scale the examples. The margin is exact, from the rows nearest to the hyperplane.
    """
    if examples.multiclass:
        flat = np.append(0.0, w if examples.x0 else w[:, 1:])
        each = list(KeslerRows(examples).each(lambda rows, _: guarantee_of(rows, flat)))
        return Guarantee(max(g.radius for g in each), min(g.margin for g in each))
    examples, lengths = examples.merged(), compute_lengths(examples)
    if examples.weights is not None:
        with np.errstate(over="ignore"):
            lengths = (lengths * examples.weights)[examples.weights > 0]
    w, unit = scale_near_one(w), examples.unit
    s = examples.signed_scores(examples.to_augmented(w) / unit)
    size = max(examples.largest, abs(examples.x0)) / unit * float(np.abs(w).sum())
    off = 4 * (examples.longest + 3) * 2.0**-53 * size + 2.0**-900  # bound on rounding errors
    if examples.weights is not None:
        s, off = s * examples.weights, off * float(examples.weights.max())
        s[examples.weights == 0] = np.inf
    near = np.flatnonzero(s <= s.min() + 2 * off)
    whole = to_integers(examples.to_augmented(w))
    margin = least_margin(examples, whole, near, examples.weights)
    return Guarantee(float(lengths.max()), margin)


def squeeze(trace: Trace, weights: Any) -> Squeeze:
    """Evaluate both inequalities of the convergence proof after every update.

    Parameters
    ----------
    trace : Trace
        The updates of a run, with the examples it was made on.
    weights : array
        Augmented weights w_f that separate the examples, w0 first (no w0 without intercept).

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
    w = rescale_to_floats(add_bias_slot(examples, weights))
    promise = guarantee_of(examples, w)
    reach = origin.eta * promise.radius
    if not math.isfinite(len(t) * reach * reach):
        raise ValueError(
            f"an example has length {promise.radius:.3g}, so that ‖w(t)‖² overflows float64; "
            "scale the columns first."
        )
    inner, squared = np.zeros(len(t)), np.zeros(len(t))
    start, w = origin.start / examples.unit, examples.flat(w)
    made = examples.encode_updates(trace.examples, trace.rivals)
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


def rescale_to_floats(w: Floats) -> Floats:
    """Scale weights by a power of two if products of them could overflow."""
    return w if abs(math.frexp(float(np.abs(w).max()))[1]) < 300 else scale_near_one(w)


def add_bias_slot(examples: Examples, weights: Any) -> Floats:
    """Check the user's augmented weights, and insert w0 = 0 if there is no intercept."""
    w: Floats = np.asarray(weights, dtype=np.float64)
    shape = examples.to_augmented(np.zeros(examples.size)).shape
    if w.size != math.prod(shape) or not np.isfinite(w).all() or not w.any():
        wanted = " × ".join(map(str, shape))
        raise ValueError(
            f"weights must be {wanted} finite numbers, not all 0 (w0 first); got {weights!r}."
        )
    return examples.add_slot(w.reshape(shape))


def compute_lengths(examples: Examples) -> Floats:
    """Compute the Euclidean length of each augmented example without overflow of squares."""
    unit = examples.unit
    squares, _ = lengths_and_columns(examples.merged(), np.full(examples.d, 1 / unit))
    lengths = np.sqrt(squares + (examples.x0 / unit) ** 2)
    return lengths if unit == 1 else np.array([round_up_length(v, unit) for v in lengths.tolist()])


def _rounding_bound(bound: Floats, value: Floats) -> Floats:
    return np.asarray(1e-15 * (10 + np.arange(len(bound))) * (np.abs(bound) + np.abs(value)))
