"""Verdicts on separability and guarantees of convergence: the numbers, in words, with the proof."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.errors import FROM_ZERO, RowNames
from rosenblatt.evidence.certificate import Conflict
from rosenblatt.evidence.integers import round_up_length
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.signedrows import (
    GAP,
    Floats,
    least_margin,
    lengths_and_columns,
    relative_gap,
    scale_near_one,
    scaled_radius,
    summarize,
    to_integers,
)
from rosenblatt.examples import Examples, KeslerRows
from rosenblatt.read.encoding import spell_label
from rosenblatt.text import (
    PROVED,
    describe_claim,
    describe_update_bound,
    finite_or_none,
    floor_bound,
    join_words,
    plural,
    render_card,
)
from rosenblatt.trace import Trace, run_along

MOST_ROWS = 6  # rows named in a sentence
MOST_CONFLICTS = 3  # conflicts described in full
TIME_OVER = "the time limit ended the search for a proof"
NO_ROWS = np.empty(0, dtype=np.intp)
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
    examples, unit = examples.merged(), examples.unit
    squares, _ = lengths_and_columns(examples, np.full(examples.d, 1 / unit))
    lengths = np.sqrt(squares + (examples.x0 / unit) ** 2)
    if unit != 1:
        lengths = np.array([round_up_length(v, unit) for v in lengths.tolist()])
    if examples.weights is not None:
        with np.errstate(over="ignore"):
            lengths = (lengths * examples.weights)[examples.weights > 0]
    w = scale_near_one(w)
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


def _rounding_bound(bound: Floats, value: Floats) -> Floats:
    return np.asarray(1e-15 * (10 + np.arange(len(bound))) * (np.abs(bound) + np.abs(value)))


@dataclass(frozen=True)
class MulticlassConflict(Conflict):
    """Conflict for more than two labels: rows that no weights classify all correctly.

    `rows` are rows of the data, each once and in order; each of the `multipliers` is the sum over
    all competing classes.
    """

    pairs: tuple[tuple[int, int, int], ...] = ()  # row, competing class, multiplier

    @classmethod
    def of(
        cls, conflict: Conflict, pairs_of: dict[int, tuple[int, int]], others: int
    ) -> MulticlassConflict:
        """Convert a conflict of (example, competing class) pairs to one of examples.

        `pairs_of` has the example and the competing class of each row; `others` is the number of
        competing classes of an example.
        """
        found = zip(conflict.rows, conflict.multipliers, strict=True)
        pairs = tuple((*pairs_of[row], m) for row, m in found)
        sums: dict[int, int] = {}
        for n, _, m in pairs:
            sums[n] = sums.get(n, others * conflict.rest) + m - conflict.rest
        rows = tuple(sorted(sums))
        return cls(rows, tuple(sums[n] for n in rows), others * conflict.rest, pairs)


@dataclass(frozen=True, eq=False)
class Separability:
    """Verdict on whether some w classifies every example correctly, with its proof.

    Parameters
    ----------
    verdict : str
        "separable", "quasi-separable", "inseparable" or "undecided"; `bool` is True if separable.
        "not separable" where the time limit ended the search for which of the two it is.
    weights : array, optional
        Augmented weights, w0 first (no w0 without intercept), rounded from `proof.weights`. If
        separable, these floats separate in exact arithmetic, and have unit length or nearly so;
        None where no such floats were found, and only `proof.weights` separate. If
        quasi-separable, they have unit length and are rounded.
    margin : float, optional
        rho, the margin of the exact `proof.weights`, rounded down; None where nothing separates.
        If `widest`, no margin is wider.
    upper : float, optional
        Upper bound on the margin of any w, shown by the multipliers of the support.
    radius : float
        R, the length of the longest augmented example.
    support : array
        Rows on the margin. With more than two labels, pairs of a row and a competing class (its
        position among the sorted labels).
    conflicts : tuple of Conflict
        Rows that no line classifies all correctly, fewest rows first, counted from 0. With more
        than two labels each row is listed once, and `pairs` has the competing classes.
    passes : int
        Number of passes over the data.
    proof : Proof, optional
        The proof that `proof.check(X, y)` confirms; None where undecided, or where the time limit
        ended passes over data that are not in memory.
    reason : str
        Why the verdict is undecided, or incomplete.
    scaled : Guarantee, optional
        R and rho of the same line if each column were divided by its largest entry.
    labels : tuple
        With more than two labels: the labels, in sort order.
    row_names : RowNames
        How sentences name the rows.
    """

    verdict: str
    radius: float
    weights: NDArray[np.float64] | None = None
    margin: float | None = None
    upper: float | None = None
    support: NDArray[np.intp] = field(default_factory=NO_ROWS.copy)
    conflicts: tuple[Conflict, ...] = ()
    passes: int = 0
    proof: Proof | None = None
    reason: str = ""
    scaled: Guarantee | None = None
    labels: tuple[Any, ...] = ()
    row_names: RowNames = FROM_ZERO

    def __bool__(self) -> bool:
        return self.verdict == "separable"

    @property
    def bound(self) -> float | None:
        """Maximum number of updates of PLA, R²/rho²; None if PLA may never halt.

        Infinity where the ratio overflows float64.
        """
        if not self or self.margin is None:
            return None
        return Guarantee(self.radius, self.margin).bound or math.inf

    @property
    def gap(self) -> float | None:
        """Relative gap between the margin and its upper bound, or None if either is unknown."""
        if self.margin is None or self.upper is None:
            return None
        return relative_gap(self.margin, self.upper)

    @property
    def widest(self) -> bool:
        """Whether the margin is proved to be the widest, up to a relative tolerance of 1e-9.

        Where this is not proved, as in `rosenblatt.learn`, which needs only a verdict, the widest
        margin is at least `margin`, and R²/rho² of the widest line is at most `bound`.
        """
        return self.gap is not None and self.gap <= GAP

    @property
    def lower_bound(self) -> int:
        """Lower bound on the mistakes of any linear classifier, shown by the conflicts."""
        if self.proof is None or self.labels:  # conflicts may share an example
            return min(1, len(self.conflicts))
        return len(self.proof.conflicts)

    @property
    def sentence(self) -> str:
        """Verdict and its evidence as one sentence."""
        return next(describe_verdict(self))

    def explain(self) -> str:
        """Return the verdict and the numbers behind it, one sentence per line."""
        lines = [f"{line[0].upper()}{line[1:]}." for line in describe_verdict(self)]
        if self.verdict == "quasi-separable":
            family = ', family="multinomial"' if self.labels else ""
            lines.insert(
                1,
                "Some estimates of a logistic regression are infinite: "
                f"rb.separation(X, y{family}) says which.",
            )
        return "\n".join(lines)

    def shares(self, conflict: Conflict) -> list[tuple[int, str | None, float]]:
        """Return the rows of a conflict, each with its share of the sum of all multipliers.

        The largest share comes first. With more than two labels, a row is listed once per competing
        class, which is named; with two labels the name is None.
        """
        total = sum(conflict.multipliers) + conflict.rest
        terms: list[tuple[int, str | None, int]]
        if isinstance(conflict, MulticlassConflict):
            terms = [(n, self._label(r), m) for n, r, m in conflict.pairs]
        else:
            pairs = zip(conflict.rows, conflict.multipliers, strict=True)
            terms = [(n, None, m) for n, m in pairs]
        return [(n, other, m / total) for n, other, m in sorted(terms, key=lambda term: -term[2])]

    def on_margin(self) -> list[tuple[int, str | None]]:
        """Return the rows on the margin; with K > 2 labels, each with its competing class."""
        if not self.labels:
            return [(n, None) for n in sorted(self.support.tolist())]
        return [(n, self._label(r)) for n, r in self.support.tolist()]

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as a dict for JSON.

        Rows count from 1 on the command line, from 0 in Python.
        """
        number = self.row_names.number
        return {
            "verdict": self.verdict,
            "margin": self.margin,
            "widest": None if self.margin is None else self.widest,
            "radius": self.radius,
            "bound": finite_or_none(self.bound),
            "on_margin": [
                number(n) if other is None else {"row": number(n), "against": other}
                for n, other in self.on_margin()
            ],
        }

    def with_data_rows(self) -> Separability:
        """Return the verdict with rows numbered as in the data before any rows were dropped."""
        at = self.row_names.positions
        if at is None:
            return self
        support = self.support.copy()
        numbers = support if support.ndim == 1 else support[:, 0]
        numbers[:] = [at[n] for n in numbers]
        conflicts = list[Conflict]()
        for one in self.conflicts:
            moved = replace(one, rows=tuple(int(at[n]) for n in one.rows))
            if isinstance(moved, MulticlassConflict):
                pairs = tuple((int(at[n]), r, m) for n, r, m in moved.pairs)
                moved = replace(moved, pairs=pairs)
            conflicts.append(moved)
        names = replace(self.row_names, positions=None)
        return replace(self, support=support, conflicts=tuple(conflicts), row_names=names)

    def _label(self, place: int) -> str:
        return spell_label(self.labels[place])

    def __repr__(self) -> str:
        lines = islice(describe_verdict(self), 3 if self else 1)
        return f"<Separability: {'; '.join(lines)}>"

    def _repr_html_(self) -> str:
        first, *rest = self.explain().split("\n")
        facts = [("", line) for line in rest]
        if self.proof is not None:
            facts.append(("", "proof.check(X, y) checks it again."))
        return render_card(first, facts)


def describe_verdict(s: Separability) -> Iterator[str]:
    """Describe the verdict in one sentence, then each further result in a line.

    All interfaces take their words from here. Lines begin in lower case and have no period.
    """
    many = bool(s.labels)
    conflict = _describe_conflict(s.conflicts[0], s.row_names, many) if s.conflicts else ""
    if s.verdict == "undecided":
        yield f"undecided: {s.reason}"
        if s.margin is not None:
            yield f"floats suggest a margin of {s.margin:.6g}, not proved"
        if s.upper is not None:
            yield f"no margin is wider than {s.upper:.6g}"
        return
    claim = describe_claim(s.verdict, many=many)
    if s:
        yield f"separable: {claim} ({PROVED})"
        yield from _describe_margin(s)
        return
    if s.verdict == "quasi-separable":
        yield f"quasi-separable: {claim}{conflict and f'; {conflict}'} ({PROVED})"
    else:
        open_question = s.verdict == "not separable"
        how = f"{PROVED}{'; not checked for quasi-separability' if open_question else ''}"
        yield f"not separable: {conflict or claim} ({how})"
        yield "PLA would never halt"
    for k, one in enumerate(s.conflicts[:MOST_CONFLICTS]):
        if len(one.rows) == 1:  # a row of zeros, which the first sentence has described
            continue
        times = "" if many else ", each times its label"
        shares = s.shares(one)
        terms = [""] * len(shares)  # only the first few are filled in
        for i, (n, other, share) in enumerate(shares[: MOST_ROWS + 1]):
            terms[i] = f"{share:.2g} of row {_name_row(n, other, s.row_names)}"
        first = f"{_describe_conflict(one, s.row_names, many)}: " if k else ""
        yield f"{first}{join_words(terms, most=MOST_ROWS)}{times}, sum to zero"


def _describe_margin(s: Separability) -> Iterator[str]:
    if s.margin is None:
        return
    width = f"rho = {s.margin:.6g}, the longest row has R = {s.radius:.6g}"
    yield f"the widest margin is {'' if s.widest else 'at least '}{width}"
    before, after = s.bound, None if s.scaled is None else s.scaled.bound
    if before is None or math.isinf(before):
        yield "the Novikoff bound R²/rho² overflows float64"
    else:
        yield f"PLA from w = 0 makes at most R²/rho² = {plural(floor_bound(before), 'update')}"
    if not s.widest and s.upper is not None and math.isfinite(s.upper):
        yield f"no margin is wider than {s.upper:.6g} (relative gap {s.gap:.2g})"
    if s.weights is None:
        yield "no float64 weights separate exactly; the integers of proof.weights do"
    if len(s.support):
        rows = [_name_row(n, other, s.row_names) for n, other in s.on_margin()]
        row = "row" if len(rows) == 1 else "rows"
        yield f"on the margin: {row} {join_words(rows, most=MOST_ROWS)}"
    if before is not None and after is not None and math.isfinite(after):
        way = "lower" if after < before else "raise"
        change = f"{way} the bound of this line to {floor_bound(after):,}"
        if abs(after - before) < 0.01 * before:
            change = "leave the bound of this line much as it is"
        yield f"dividing each column by its largest entry would {change}"


def _name_row(n: int, other: str | None, names: RowNames) -> str:
    return names.name(n) if other is None else f"{names.name(n)} against {other}"


def _describe_conflict(conflict: Conflict, names: RowNames, many: bool) -> str:
    none = "no weights classify" if many else "no line classifies"
    if conflict.rest:
        return f"{none} all rows correctly"
    if len(conflict.rows) == 1:
        return f"{none} {names.join(conflict.rows)} correctly, because all its values are 0"
    both = "both" if len(conflict.rows) == 2 else "all"
    return f"{none} {names.join(sorted(conflict.rows), MOST_ROWS)} {both} correctly"
