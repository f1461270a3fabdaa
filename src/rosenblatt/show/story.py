"""Convert training runs to JSON for the animation, and read runs from fitted estimators.

The JSON of a run is a story. `mountPlayer(element, story)` of ``static/player.js`` draws it in a
report and in a notebook. On the page, ``static/train.js`` computes the same JSON.

====================  ============================================================================
key                   value
====================  ============================================================================
format                "rosenblatt story 1"
algorithm, order      "pla", "pocket", "ratchet" or, on the page only, "online"; order of visits
eta, zero, start      learning rate; the value of sign(0), where 0 is always a mistake; w(0)
intercept             x0 of every example, 1 by default; 0 without an intercept
points, targets       position [x1, x2] and label of each example: -1 or 1, or with more than two
                      labels the index of its label
names, labels         names of the two axes; names of the labels -1 and 1, or of all labels. An axis
                      without a name has no meaning: examples with one feature are spread along it
features              null for two features, else their names; the points are then projected onto a
                      plane, and `lines` are the intersections of each w(t) with that plane
updates               T, the number of updates
rows                  packed u4 [T]: the example of each update
rivals                null, or with more than two labels packed u4 [T]: the competing class
ends                  packed u4: the number of updates made by the end of each epoch
weights               packed f8 [(T + 1)·k]: the augmented w(t), bias first, with more than two
                      labels one label after the other; null if there are too many
lines                 packed f8 [(T + 1)·3]: c, a, b of each line c + a·x1 + b·x2 = 0, or of the
                      score of each label; null if these are the same numbers as the weights
table                 packed f8 [n·d]: all features of the examples, to find the misclassified ones;
                      null if the points are the features, or if there are too many
mistakes              packed u4: number of mistakes of w(t) on all examples, for t = 0, k, 2k, …
every                 the k of `mistakes`: 1, or more if counting at every t would take longer
                      than drawing
pocket                null, or [t, mistakes] for each w(t) that was kept as the best so far
reason, summary       reason for the end of the run, as a keyword and as a sentence
verdict               null, or the result of `separability`: see `verdict_json`
squeeze               null, or the two inequalities of the convergence proof at every t: see
                      `_squeeze_json`
numbers, total        present only if rows of the data are left out (see `excerpt`): packed u4, the
                      position of each example in the data, from 0; the number of all examples
first, row_names      number of the first row (1 if absent); name of each example, present only if
                      a frame has an index
====================  ============================================================================

A packed array is ``{"f8": text}`` or ``{"u4": text}``: little-endian numbers in base64, so that
every double arrives with all its bits.
"""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms import PocketRun, Run
from rosenblatt.algorithms.pla import Reason
from rosenblatt.algorithms.pocket import Judge, Pocket
from rosenblatt.errors import FROM_ZERO, RowNames
from rosenblatt.evidence.separability import separability_of
from rosenblatt.evidence.verdicts import (
    MulticlassConflict,
    Separability,
    add_bias_slot,
    rescale_to_floats,
    squeeze,
)
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.pipelines import final, is_ours, transform_before_last
from rosenblatt.show.scene import View, sample, view_of
from rosenblatt.tables import to_dense
from rosenblatt.text import finite_or_none, plural
from rosenblatt.trace import Trace, run_keep

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

FORMAT = "rosenblatt story 1"
FLOATS, COUNTS = "<f8", "<u4"
CLOSE = 1e-9  # tolerance for rows that a pipeline transforms a second time
MOST_NUMBERS = 2**21  # in one array; a larger array is left out
MOST_PAIRED = 50  # pairs of an example and a competing class that are listed
MOST_PAIRS = 2**25  # pairs of a w(t) and an example; beyond, mistakes are not counted at every t
ENDED = {
    "no mistakes": "a full epoch made no mistake",
    "max_iter": "the maximum number of epochs was reached",
    "max_updates": "the maximum number of updates was reached",
    "time_limit": "the time limit was reached",
    "interrupted": "it was interrupted",
    "end of stream": "every example was visited once",
}


@dataclass(frozen=True, eq=False)
class Story:
    """A training run and the verdict on its examples, prepared for drawing.

    Examples
    --------
    >>> from rosenblatt import algorithms
    >>> from rosenblatt.evidence.separability import separability_of
    >>> examples = Examples.from_arrays([[1.0, 1.0], [-1.0, 0.0]], [1, -1])
    >>> story = Story(examples, algorithms.pla(examples), separability_of(examples)).to_json()
    >>> story["points"], story["targets"], story["updates"], story["verdict"]["name"]
    ([[1.0, 1.0], [-1.0, 0.0]], [1, -1], 2, 'separable')
    """

    examples: Examples  # the training examples
    run: Run
    verdict: Separability | None = None  # if None, neither bound nor squeeze is drawn
    algorithm: str = "pla"  # or "pocket", "ratchet"
    order: str = "cycle"
    whole: Examples | None = None  # all examples, if only some are drawn
    rows: Rows | None = None  # positions of the examples in `whole`
    ending: str = ""  # replaces the sentence on the end of the run

    @property
    def projected(self) -> bool:
        """Whether a projection is drawn, because the number of features is not two."""
        return self.examples.d != 2

    def to_json(self) -> dict[str, Any]:
        """Return the training run as JSON for the animation."""
        examples, trace, run = self.examples, self.run.trace, self.run
        origin, x0, view = trace.known_origin(), examples.x0, view_of(examples, run.hypothesis)
        weights = weights_along(trace)
        few = weights.size <= MOST_NUMBERS
        blocks = np.concatenate([np.atleast_2d(examples.shaped(w)) for w in weights])
        lines = view.lines(blocks, x0) if self.projected or x0 != 1.0 else None
        has_table = few and self.projected and examples.numbers.size <= MOST_NUMBERS
        whole = examples if self.whole is None else self.whole
        pairs = 0 if self.projected or self.whole is not None else len(weights) * examples.n
        every = max(1, pairs // MOST_PAIRS)
        judge = Judge(replace(whole, weights=None), run.hypothesis.zero)
        points = view.points(examples.X, np.arange(examples.n))
        pocket = run.pocket.history if isinstance(run, PocketRun) else None
        ended = f"Ended after {plural(len(trace), 'update')}: {ENDED[run.reason]}"
        if not run.separated:
            whose = "w misclassifies" if pocket is None else "the pocket misclassifies"
            ended += f"; {whose} {run.mistakes or 0:,} of {whole.n:,} examples"
        return {
            "format": FORMAT,
            "algorithm": self.algorithm,
            "order": self.order,
            "eta": origin.eta,
            "zero": run.hypothesis.zero,
            "start": examples.to_augmented(origin.start).ravel().tolist(),
            "intercept": x0,
            "points": points.tolist(),
            "targets": examples.y.tolist(),
            "names": list(view.names),
            "labels": examples.label_names,
            "features": list(examples.feature_names[:50]) if self.projected else None,
            "updates": len(trace),
            "rows": packed(trace.examples, COUNTS),
            "rivals": None if trace.rivals is None else packed(trace.rivals, COUNTS),
            "ends": packed(trace.ends, COUNTS),
            "weights": packed(blocks[:, 0 if x0 else 1 :], FLOATS) if few else None,
            "lines": None if lines is None else packed(lines, FLOATS),
            "table": packed(to_dense(examples.X), FLOATS) if has_table else None,
            "mistakes": packed(judge.counts(weights[::every]), COUNTS),
            "every": every,
            "pocket": pocket and [[t, float(mistakes)] for t, mistakes in pocket],
            "reason": run.reason,
            "summary": self.ending or ended,
            "verdict": None if self.verdict is None else self._verdict_json(view, points),
            "squeeze": self._squeeze_json(),
        }

    def _verdict_json(self, view: View, points: Floats) -> dict[str, Any]:
        """Return the verdict as JSON, with its line, or points in the convex hulls of both labels.

        `line` is c, a, b of the line of maximum margin, or of the quasi-separating line; None with
        more than two labels. `margin` is a distance in the augmented space, so the band is where
        c + a·x1 + b·x2 is from -margin to margin.
        """
        assert self.verdict is not None
        whole = self.examples if self.whole is None else self.whole
        proved, line = verdict_json(self.verdict, whole), None
        if self.rows is not None:  # row numbers become positions among the rows that are drawn
            at = {row: k for k, row in enumerate(self.rows.tolist())}
            proved["support"] = [at[n] for n in proved["support"] if n in at]
            drawn = [part for part in proved["conflicts"] if at.keys() >= set(part["rows"])]
            proved["conflicts"] = [
                {**part, "rows": [at[n] for n in part["rows"]]} for part in drawn
            ]
            proved["pairs"] = proved["pairs"] and [[at[n], r] for n, r in proved["pairs"]]
        if self.verdict.labels:
            return {**proved, "line": None}
        if self.verdict.weights is not None:
            w = self.examples.add_slot(np.asarray(self.verdict.weights, dtype=np.float64))
            line = view.lines(w[None, :], self.examples.x0)[0].tolist()
        for part in proved["conflicts"]:
            # Because Σ λ y (1, x) = 0, the rows of both labels have the same mean when weighted by
            # λ: a point in the convex hulls of both. There is none if one label is absent.
            rows, shares = np.array(part["rows"], dtype=np.intp), np.array(part["shares"])
            yes = self.examples.y[rows] > 0
            both = yes.any() and not yes.all()
            part["common"] = (shares[yes] @ points[rows[yes]]).tolist() if both else None
        return {**proved, "line": line}

    def _squeeze_json(self) -> dict[str, Any] | None:
        """Return the quantities of Novikoff's convergence proof at each t, as JSON.

        They are ‖w(t)‖², its lower and upper bound, and the cosine of the angle between w(t) and
        the maximum-margin w. The bounds are max(0, first + t·least)² and squared0 + t·most. `bound`
        is the t at which they meet: R²/rho² if w(0) = 0.
        """
        v, trace = self.verdict, self.run.trace
        if not v or v.weights is None or v.margin is None:
            return None
        followed = squeeze(trace, v.weights)
        size = math.hypot(*rescale_to_floats(np.ravel(v.weights)).tolist())
        eta = trace.known_origin().eta
        first, squared0 = float(followed.inner[0]) / size, float(followed.squared[0])
        least, most = eta * v.margin, (eta * v.radius) ** 2
        # The bound is the larger root t of (first + t·least)² = squared0 + t·most.
        with np.errstate(all="ignore"):  # with a margin like 1e-160 the bound overflows
            half = np.float64(most - 2 * first * least) / 2
            square = half * half + least * least * (squared0 - first * first)
            root = half + np.sqrt(max(0.0, square))
            bound = float(root / least**2) if least**2 > 0 else float("inf")
        return {
            "squared": packed(followed.squared, FLOATS),
            "cosine": packed(np.nan_to_num(followed.cosine, nan=0.0), FLOATS),
            "first": first,
            "squared0": squared0,
            "least": least,
            "most": most,
            "bound": finite_or_none(bound),
            "holds": followed.holds,
        }


def packed(numbers: NDArray[Any], kind: str) -> dict[str, str]:
    """Encode numbers as base64 text, which keeps every bit.

    Examples
    --------
    >>> packed(np.array([1.0]), FLOATS)
    {'f8': 'AAAAAAAA8D8='}
    """
    raw = np.ascontiguousarray(numbers, dtype=kind).tobytes()
    return {kind[1:]: base64.b64encode(raw).decode("ascii")}


def weights_along(trace: Trace) -> Floats:
    """Return the weights after each update of a run, w(0) … w(T), one row per t.

    Each row has an entry for w0, even without an intercept.
    """
    origin = trace.known_origin()
    examples, unit = origin.examples, origin.examples.unit
    W = np.empty((len(trace) + 1, examples.size))
    W[0] = origin.start / unit
    updates = examples.encode_updates(trace.examples, trace.rivals)
    run_keep(examples.rows(origin.eta), updates, W[0].copy(), W[1:])
    return W * unit


def verdict_json(verdict: Separability, examples: Examples) -> dict[str, Any]:
    """Return a verdict on separability as JSON, without coordinates for drawing.

    The multipliers of a conflict become shares, which sum to 1 for each label.
    """
    v, conflicts = verdict, []
    for part in () if v.labels else v.conflicts[:3]:
        known = dict(zip(part.rows, part.multipliers, strict=True))
        if part.rest:  # the multiplier of all rows that are not listed
            known = {row: known.get(row, part.rest) for row in range(examples.n)}
        yes = sum(m for n, m in known.items() if examples.y[n] > 0)
        no = sum(known.values()) - yes
        shares = [m / ((yes if examples.y[n] > 0 else no) or 1) for n, m in known.items()]
        conflicts.append({"rows": list(known), "shares": shares})
    shown = _pairs_json(v) if v.labels else {"support": v.support.tolist(), "pairs": None}
    return {
        "name": v.verdict,
        "explanation": v.explain().splitlines(),
        "margin": v.margin,
        "radius": v.radius,
        "bound": finite_or_none(v.bound),
        "conflicts": conflicts,
        "proof": None if v.proof is None else v.proof.to_json(),
        "weights": None if v.weights is None else np.ravel(v.weights).tolist(),
        **shown,
    }


def _pairs_json(verdict: Separability) -> dict[str, Any]:
    """Return the pairs (example, competing class) that prove a verdict on three or more labels.

    These are the pairs on the margin, or those of a conflict with their shares.
    """
    part = next((part for part in verdict.conflicts if not part.rest), None)
    if not verdict.labels or verdict or part is None:
        pairs, shares = verdict.support.reshape(-1, 2).tolist(), []
    else:
        total = sum(part.multipliers)
        assert isinstance(part, MulticlassConflict)
        pairs = [[n, r] for n, r, _ in part.pairs[:MOST_PAIRED]]
        shares = [m / total for *_, m in part.pairs[:MOST_PAIRED]]
    return {"support": [], "pairs": pairs[:MOST_PAIRED], "shares": shares}


@dataclass(frozen=True)
class Capacity:
    """Limits on the number of examples and updates in one HTML file."""

    examples: int = 2000  # examples that are drawn
    updates: int = 5000  # updates that can be played
    numbers: int = 2**18  # numbers in the weights and in the features
    work: float = 2.0**32  # multiplications for counting the mistakes at every t


def excerpt(
    story: Story, most: Capacity = Capacity(), names: RowNames = FROM_ZERO
) -> tuple[dict[str, Any], list[str]]:
    """Shorten a training run for an HTML file; return its JSON and notes on what is cut.

    Mistakes are always counted on all examples, and examples keep their names.

    Examples
    --------
    >>> from rosenblatt import algorithms
    >>> X, y = np.linspace(-1, 1, 80).reshape(40, 2), np.arange(40) > 19
    >>> examples = Examples.from_arrays(X, y)
    >>> json, cuts = excerpt(Story(examples, algorithms.pla(examples)), Capacity(examples=10))
    >>> len(json["points"]), json["total"], cuts
    (10, 40, ['10 of 40 examples are drawn, including all that caused an update.'])
    """
    examples, trace, cuts = story.examples, story.run.trace, []
    total, kept = len(trace), _count_updates(story, most)
    if kept < total:
        cuts.append(f"The first {kept:,} of {total:,} updates can be played.")
        ended = (
            f"Training continued for {plural(total - kept, 'more update')}, which are not included"
        )
        ends = trace.ends[trace.ends <= kept]
        rivals = None if trace.rivals is None else trace.rivals[:kept]
        trace = replace(trace, examples=trace.examples[:kept], ends=ends, rivals=rivals)
        story = replace(story, ending=ended)
    rows = _choose_rows(story, trace, most)
    if len(rows) < examples.n:
        drawn = f"{len(rows):,} of {examples.n:,} examples are drawn"
        cuts.append(f"{drawn}, including all that caused an update.")
    # The run and its trace get row numbers that are positions in `rows`.
    origin, run = trace.known_origin(), story.run
    again = np.searchsorted(rows, trace.examples).astype(trace.examples.dtype)
    origin = replace(origin, examples=origin.examples.some(rows))
    run = replace(run, record=replace(trace, examples=again, origin=origin))
    if isinstance(run, PocketRun):
        history = tuple(entry for entry in run.pocket.history if entry[0] <= len(trace))
        run = replace(run, pocket=Pocket(run.pocket.w, history))
    verdict = None if story.verdict is None else replace(story.verdict, row_names=names)
    short = replace(story, examples=examples.some(rows), run=run, verdict=verdict)
    json = replace(short, whole=examples, rows=rows).to_json()
    if names.positions is not None or len(rows) < examples.n:
        numbers = rows if names.positions is None else names.positions[rows]
        json |= {"total": examples.n, "numbers": packed(numbers, COUNTS)}
    json["first"] = names.first
    if names.index is not None:
        json["row_names"] = [names.name(n) for n in rows.tolist()]
    return json, cuts


def _count_updates(story: Story, most: Capacity) -> int:
    """Return how many of the first updates fit within the limits."""
    examples, rows = story.examples, story.run.trace.examples
    by_size = most.numbers // examples.size
    by_work = int(most.work / (examples.n * examples.entries_per_row))
    by_rows = len(rows)
    if examples.n > most.examples:  # at most half of the examples drawn are those of updates
        _, first = np.unique(rows, return_index=True)
        if len(first) > most.examples // 2:
            by_rows = int(np.sort(first)[most.examples // 2])
    return min(len(rows), most.updates, by_size, by_work, by_rows)


def _choose_rows(story: Story, trace: Trace, most: Capacity) -> Rows:
    """Choose the rows to draw: those of updates, those of the proof, and a random sample."""
    examples, v = story.examples, story.verdict
    wide = examples.d if story.projected else 1
    count = max(10, min(most.examples, most.numbers // max(1, wide)))
    if examples.n <= count:
        return np.arange(examples.n)
    must = set(trace.examples.tolist())
    if v is not None and v.labels:
        must.update(n for n, _ in _pairs_json(v)["pairs"])
    elif v is not None:
        must.update(v.support[:50].tolist())
        must.update(n for part in v.conflicts[:3] if not part.rest for n in part.rows[:50])
    return sample(examples.n, max(count, len(must)), tuple(must))


def hypothesis_of(clf: Any) -> Hypothesis:
    """Return the weights of a fitted linear classifier, or of a pipeline that ends in one."""
    clf = final(clf)
    if not hasattr(clf, "coef_"):
        name = type(clf).__name__
        bases = [kind.__name__ for kind in type(clf).__mro__]
        if is_ours(clf) or "LinearClassifierMixin" in bases:
            raise ValueError(f"this {name} is not fitted yet; call fit first.")
        raise TypeError(
            f"{name} is not a linear classifier; give a rosenblatt estimator, another classifier "
            "with coef_, or a pipeline that ends in one."
        )
    coef = np.atleast_2d(np.asarray(clf.coef_, dtype=np.float64))
    labels = len(getattr(clf, "classes_", ()))
    if len(coef) > 1 and (len(coef) != labels or hasattr(clf, "decision_function_shape")):
        raise ValueError(
            f"{type(clf).__name__} has {len(coef)} weight vectors for {plural(labels, 'label')}; "
            "give a classifier with one weight vector, or with one per label."
        )
    intercept = np.ravel(np.asarray(getattr(clf, "intercept_", 0.0), dtype=np.float64))
    each = np.broadcast_to(intercept, len(coef))
    return Hypothesis.with_intercept(coef, each, getattr(clf, "_zero", -1))


def examples_of(clf: Any, X: Any, y: Any) -> Examples:
    """Convert X and y to Examples, with the labels and feature names of an estimator.

    For a pipeline, X is first transformed by all steps but the last.
    """
    h = hypothesis_of(clf)
    X, names = transform_before_last(clf, X)
    clf = final(clf)
    examples = Examples.from_arrays(X, y, labels=clf.classes_)
    d = h.w.shape[-1] - 1
    if examples.d != d:
        raise ValueError(
            f"X has {plural(examples.d, 'feature')}, but this {type(clf).__name__} was fitted on "
            f"{d}; give rows with the same columns."
        )
    if names is None:
        names = getattr(clf, "feature_names_in_", None)
    return examples if names is None else replace(examples, names=tuple(map(str, names)))


def trace_of(clf: Any, X: Any, y: Any) -> Trace:
    """Return the recorded updates of an estimator, if X and y are its training data."""
    given = examples_of(clf, X, y)
    exactly = final(clf) is clf
    clf = final(clf)
    trace = getattr(clf, "trace_", None)
    if not isinstance(trace, Trace):
        raise ValueError(
            f"{type(clf).__name__} records no updates; fit a Perceptron or a PocketPerceptron."
        )
    origin = trace.known_origin()
    same_labels = np.array_equal(origin.examples.y, given.y)
    if not (same_labels and origin.examples.has_rows_of(given, 0.0 if exactly else CLOSE)):
        raise ValueError(
            "these X and y are not the training data of this estimator; give those of its last fit."
        )
    if given.names == origin.examples.names:
        return trace
    return replace(
        trace, origin=replace(origin, examples=replace(origin.examples, names=given.names))
    )


def story_of(clf: Any, X: Any, y: Any, verdict: Separability | None = None) -> Story:
    """Return what plots need: the training run of an estimator and the verdict on its data."""
    trace, clf = trace_of(clf, X, y), final(clf)
    examples = trace.known_origin().examples
    if verdict is None or examples.x0 != 1.0:
        verdict = separability_of(examples)

    def line(weights: Any) -> Hypothesis:
        w = np.asarray(weights, dtype=np.float64)
        w = add_bias_slot(examples, w) if w.any() else examples.shaped(np.zeros(examples.size))
        return Hypothesis.of(w, examples.x0, clf._zero)

    h = line(clf.weights_)
    counts = len(trace), clf.n_iter_, examples.n, len(h.mistakes(examples))
    if not hasattr(clf, "history_"):
        reason: Reason = "max_iter" if clf.n_iter_ >= clf.max_iter else "end of stream"
        if clf.separated_:
            reason = "no mistakes"
        elif clf.max_updates is not None and len(clf.trace_) >= clf.max_updates:
            reason = "max_updates"
        run = Run(h, trace, *counts, reason)
        return Story(examples, run, verdict, "pla", clf.order)
    last, pocket = line(clf.last_weights_), Pocket(h.w, tuple(clf.history_))
    run = PocketRun(h, trace, *counts, clf.stop_reason_, last, pocket)
    return Story(examples, run, verdict, "ratchet" if clf.ratchet else "pocket", clf.order)
