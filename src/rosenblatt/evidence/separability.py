"""Separability of rows in memory, in files or on workers, with widest margin and proof.

A working set of rows is decided in memory, exactly. A pass over all rows then looks for rows on
which the decision fails; they join the working set, until there are none. Where all rows are in
memory, the working set is all of them. A line that classifies all rows correctly is proved by its
products; a conflict is proved by its own rows, whatever the other rows are.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import flint
import numpy as np

import rosenblatt.algorithms as algorithms
from rosenblatt.blocks import Blocks, T, Work, merge_rows
from rosenblatt.clock import NEVER, Deadline, OutOfTimeError
from rosenblatt.evidence.certificate import VERDICTS, Conflict, ProofError, Vector, claim_mistakes
from rosenblatt.evidence.checker import Evidence, PackedLabels, check_products, pack_labels
from rosenblatt.evidence.decision import (
    ON_THE_MARGIN,
    Decision,
    Measured,
    add_remaining_rows,
    decide,
    measure,
    to_unit_length,
)
from rosenblatt.evidence.integers import (
    add_totals,
    contradictions,
    exact_products,
    integer_rows,
    is_quick,
    rank_at_least,
    sum_of_rows,
)
from rosenblatt.evidence.minnorm import Point, SolverProgress, find_lowest_by_part
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.signedrows import (
    FEW_NUMBERS,
    GAP,
    Alternative,
    DataSummary,
    Floats,
    SignedRows,
    scaled_radius,
    summarize,
    to_integers,
)
from rosenblatt.evidence.verdicts import TIME_OVER, Guarantee, MulticlassConflict, Separability
from rosenblatt.examples import Examples, KeslerRows
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.read.inputs import explain_parameters, read_examples
from rosenblatt.scaling import Scaling
from rosenblatt.text import plural

PATIENCE = 16  # consecutive passes without progress, after which rounding must be the cause
FIRST_EPOCHS = 8  # epochs of PLA at first, then twice as many each time
LESS = 0.9  # PLA is given up unless updates per epoch fall to this share of those before
MOST_EPOCHS = 1000
MOST_WORKING = 4096  # rows of a working set, or more if there are many features
SAMPLE = 64  # rows of each block in the first working set
MOST_NEAR = 256  # rows on the margin that a block reports
MOST_OFF = 64  # rows outside a span that a block reports
MOST_PAIRS = 2**15  # of equal rows with different labels in a proof; more take long to check
MANY_ROWS = 2**18  # among more, searching for equal rows takes longer than deciding
FEW_PAIRS = 8  # pairs of equal rows with different labels that are reported


def separability(
    X: Any,
    y: Any = None,
    *,
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    widest: bool = True,
    target: str | None = None,
) -> Separability:
    """Decide whether a linear classifier can classify every example correctly, and prove it.

    Parameters
    ----------
    X : array, CSR matrix, frame of shape (n, d), or path
        The features. Every float counts as the exact fraction that it is. Text in a frame or a
        file becomes categories or words, as `learn` reads it.
    y : sequence of n labels, or str
        One, two or more different labels. With more than two, the question is whether one weight
        vector per label gives every example its highest score for its own label, and `weights`
        has one row per label. For a frame also the name of the column with the labels.
    fit_intercept : bool, default=True
        Whether to fit an intercept w0, with x0 = `intercept_scaling`.
    intercept_scaling : float, default=1.0
        The constant feature x0.
    widest : bool, default=True
        Whether to find the widest margin. If False, the first separating w is returned, and
        `widest` of the result says whether its margin happens to be the widest.
    target : str, optional
        The column with the labels, of a frame or a file.

    Returns
    -------
    Separability
        The verdict, the weights, margin and bound if there are any, and the proof.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> s = rb.separability([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> s.verdict, s.support.tolist(), s.proof.check([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    ('separable', [1, 2], True)
    >>> round(s.bound, 1)
    85.0
    >>> rb.separability([[0.0], [1.0], [2.0]], [0, 1, 0])
    <Separability: not separable: no line classifies rows 0, 1 and 2 all correctly (proved in exact
    arithmetic)>
    >>> s = rb.separability([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "c"])
    >>> s.verdict, s.conflicts[0].rows
    ('quasi-separable', (0, 1, 2))
    """
    x0 = float(intercept_scaling) if fit_intercept else 0.0
    with explain_parameters(separability):
        examples, row_names = read_examples(
            *(X, y, target),
            lambda X, y: Examples.from_arrays(X, y, x0=x0, one_class=True),
            x0,
        )
    return replace(separability_of(examples, widest=widest), row_names=row_names)


def _decide_multiclass(
    blocks: Blocks, widest: bool, deadline: Deadline, known: Vector
) -> Separability:
    """Decide whether rows of more than two labels are separable.

    There is nothing to decide if PLA soon halts, or if separating weights are known. Otherwise the
    weights of the first label are fixed at 0, so that no direction is left in which all scores are
    0, and a verdict is found fast. The widest margin is that of the weights of all labels.
    """
    rows, epochs = KeslerRows(blocks, reduced=True), 0
    try:
        if not known and blocks.in_memory:
            known, epochs = try_pla(blocks.first(), deadline)
    except algorithms.Interrupted as stop:
        passes = plural(stop.run.epochs, "pass", "passes")
        found = Separability("undecided", 0.0, reason=f"interrupted after {passes} over the data")
        return _express_by_labels(found, rows, blocks)
    if not known:
        found = _decide_two(rows, False, deadline)
        if found and found.proof is not None:
            weights = found.proof.weights
            known = (0,) * (len(weights) // (blocks.first().k - 1)) + weights
    if known:
        rows = KeslerRows(blocks)
        found = _decide_two(rows, widest, deadline, known)
    return _express_by_labels(replace(found, passes=found.passes + epochs), rows, blocks)


def _express_by_labels(found: Separability, rows: KeslerRows, blocks: Blocks) -> Separability:
    """Convert a result about (example, competing class) pairs to one about examples."""
    first, listed = blocks.first(), (m for one in found.conflicts for m in one.rows)
    known, radius = rows.pairs([*found.support.tolist(), *listed]), found.radius
    weights, proof = found.weights, found.proof
    if weights is not None:
        size = weights.size // (first.k - rows.reduced)
        weights = np.append(np.zeros(size * rows.reduced), weights).reshape(first.k, size)
    support = np.array([known[m] for m in found.support.tolist()], dtype=np.intp).reshape(-1, 2)
    upper, others = found.upper, first.k - 1
    if rows.reduced:  # fixing the first label's weights at 0 makes margins narrower
        radius = math.sqrt(2.0) * max(look.radius for look in blocks.each(summarize))
        upper = None
    if proof is not None and proof.claim not in VERDICTS:  # conflicts may share an example
        proof = replace(proof, claim=claim_mistakes(1), conflicts=proof.conflicts[:1])
    return replace(
        found,
        weights=weights,
        radius=radius,
        upper=upper,
        support=support,
        conflicts=tuple(MulticlassConflict.of(one, known, others) for one in found.conflicts),
        proof=None if proof is None else replace(proof, x0=first.x0, labels=first.k),
        scaled=None,
        labels=tuple(first.labels.tolist()),
    )


def try_pla(examples: Examples, deadline: Deadline) -> tuple[Vector, int]:
    """Run PLA for as long as its number of updates per epoch keeps falling.

    Return integer weights of all labels, empty unless PLA halts, and the number of epochs. Where
    nothing separates, PLA soon makes as many updates as before. Columns are scaled. Sample weights
    are ignored, so that rows of weight 0 count.
    """
    start, before, made, more = None, math.inf, 0, FIRST_EPOCHS
    examples, deadline = replace(examples, weights=None), deadline.share(0.5)
    scaling = Scaling.of(examples)
    scaled = scaling.apply(examples)
    while made < MOST_EPOCHS and not deadline.over:
        try:
            budget = algorithms.Budget(more, seconds=deadline.left)
            run = algorithms.pla(scaled, budget=budget, start=start)
        except algorithms.WeightsOverflowError:
            break
        except algorithms.Interrupted as stop:
            whole = replace(stop.run, epochs=made + stop.run.epochs)
            raise algorithms.Interrupted(whole) from None
        made, start = made + run.epochs, examples.flat(run.hypothesis.w)
        if run.separated:
            found = scaling.fold(run.hypothesis)
            wrong = len(found.mistakes(examples))
            return () if wrong else to_integers(found.augmented.ravel()), made
        if run.updates > LESS * before * run.epochs:
            break
        before, more = run.updates / run.epochs, 2 * more
    return (), made


def separability_of(
    blocks: Blocks,
    *,
    widest: bool = True,
    deadline: Deadline = NEVER,
    known: Hypothesis | None = None,
) -> Separability:
    """Decide whether blocks of rows are separable, ignoring sample weights.

    The verdict is the same whether or not the rows are in memory. Where they are not, the support
    and the conflicts may be incomplete. The deadline is ignored in the first block and where rows
    are few. If weights are known to separate, only the margin is computed.
    """
    weights = () if known is None else to_integers(known.augmented.ravel())
    decide_rows = _decide_multiclass if blocks.multiclass else _decide_two
    return decide_rows(blocks, widest, deadline, weights)


def _decide_two(
    blocks: Blocks, widest: bool, deadline: Deadline, known: Vector = ()
) -> Separability:
    """Decide whether rows of two labels are separable."""
    with SolverProgress() as progress:
        try:
            search = _Search(blocks, widest, progress, deadline, known)
        except OutOfTimeError:
            return Separability("undecided", 0.0, reason=TIME_OVER)
        try:
            while (result := search.step()) is None:
                pass
            return result
        except KeyboardInterrupt:
            passes = plural(progress.passes, "pass", "passes")
            return search.undecided(f"interrupted after {passes} over the data", progress.point)
        except OutOfTimeError:
            return search.out_of_time()
        except ProofError as wrong:
            return search.undecided(f"the proof did not hold: {wrong}", None)


def find_contradictions(examples: Examples, most: int = MOST_PAIRS) -> Separability | None:
    """Return the verdict "not separable" if equal rows have different labels, else None.

    One pass finds the pairs. Small data are left to `separability_of`, which finds out more.
    """
    examples = examples.merged()
    if examples.n * examples.dimension <= FEW_NUMBERS:
        return None
    pairs = (
        (min(pair), max(pair))
        for yes, no in contradictions(examples)
        for pair in zip(yes.tolist(), no.tolist(), strict=False)
    )
    conflicts = tuple(Conflict(pair, (1, 1)) for pair in sorted(islice(pairs, most)))
    if not conflicts:
        return None
    return _Search(examples, False, SolverProgress()).not_separable(conflicts)


class _Search(Blocks):
    """Search for a verdict on all rows by deciding a growing subset, the working set."""

    n = 0  # number of rows

    def __init__(
        self,
        blocks: Blocks,
        widest: bool,
        progress: SolverProgress,
        deadline: Deadline = NEVER,
        known: Vector = (),
    ) -> None:
        """Collect the labels, the largest entry per column and a sample of rows in one pass.

        Raises OutOfTimeError at the deadline, but not in the first block.
        """
        self.whole = blocks.in_memory  # whether all rows are in the working set
        self.blocks = blocks if blocks.loaded is None else blocks.loaded.merged()
        self.widest, self.progress, self.known = widest, progress, known
        self.deadline, self.waits = NEVER, 0
        self.nearest = math.inf  # the lowest upper bound on margins so far
        self.conflicts: tuple[Conflict, ...] = ()
        self.labels: list[PackedLabels] = []
        looks, samples = list[DataSummary](), list[Examples]()
        for look, labels, sample in self.each(sample_block):
            if looks:
                deadline.check()
            looks.append(look)
            self.labels.append(labels)
            samples.append(sample)
            if sum(some.n for some in samples) > MOST_WORKING:
                samples = [_thin(samples)]
        if not looks:
            raise ValueError("there are no rows; give at least one.")
        progress.whole = self.whole
        progress.passes = 2 if self.whole else 1  # X in memory was checked for NaN before
        self.n = sum(labels.n for labels in self.labels)
        self.working = self.blocks.first() if self.whole else _thin(samples)
        columns = np.max([look.columns for look in looks], axis=0)
        radius = max(look.radius for look in looks)
        self.look = replace(looks[0], radius=radius, columns=columns)
        self.dimension = len(columns)
        # A power of two that no row is longer than: in this unit, no score overflows or vanishes.
        exponent = math.frexp(min(radius, sys.float_info.max))[1]
        self.unit = math.ldexp(1.0, max(-1000, min(exponent, 1023)))
        rows, few = self.working, self.n * self.dimension <= FEW_NUMBERS
        if not (few and is_quick(replace(rows, weights=None), FEW_NUMBERS)):
            self.deadline = deadline

    def each(self, work: Work[T]) -> Iterator[T]:
        """Yield the result of calling `work` on each block of rows.

        Raises OutOfTimeError at the deadline, except for rows in memory.
        """
        for result in self.blocks.each(work):
            if not self.whole:
                self.deadline.check()
            yield result

    def step(self) -> Separability | None:
        """Decide separability of the working set; return the result if it holds for all rows.

        Return None if other rows contradict it; these rows have joined the working set.
        """
        rows = self.working
        look = self.look if self.whole else summarize(rows)
        quick = is_quick(replace(rows, weights=None), FEW_NUMBERS)
        plain = SignedRows.of(
            *(rows, look),
            deadline=NEVER if quick else self.deadline,
            progress=self.progress,
        )
        self.scale = float(plain.columns[0])
        self.progress.point = None
        decision = decide(plain, look, self.widest, self.known)
        if decision.verdict == "undecided":
            return self.undecided(decision.reason, decision.point)
        if decision.first is not None:
            self.conflicts = (self._renumber(decision.first),)
        if decision.verdict == "not separable":
            return self.out_of_time()
        held = decision if self.whole else self._extend(decision)
        return None if held is None else self._make_result(held)

    def undecided(self, reason: str, point: Point | None) -> Separability:
        """Return the result "undecided", with known bounds on the margin.

        An upper bound on the margin of some rows is one for all rows.
        """
        result = Separability(
            "undecided", self.look.radius, passes=self.progress.passes, reason=reason
        )
        if point is None or not point.plain:
            return result
        if self.whole and point.lower > 0:
            result = replace(result, weights=point.w, margin=point.lower / self.scale)
        upper = point.upper / self.scale
        return replace(result, upper=upper) if math.isfinite(upper) else result

    def out_of_time(self) -> Separability:
        """Return the result "not separable" if conflicts are known, otherwise "undecided"."""
        if not self.conflicts:
            return self.undecided(TIME_OVER, self.progress.point)
        return replace(self.not_separable(self.conflicts), reason=TIME_OVER)

    def not_separable(self, conflicts: tuple[Conflict, ...]) -> Separability:
        """Return the result "not separable", with disjoint conflicts as proof."""
        claim = claim_mistakes(len(conflicts))
        proof = self._prove(claim, conflicts)[0] if self.whole else None
        return Separability(
            "not separable",
            self.look.radius,
            conflicts=conflicts,
            passes=self.progress.passes,
            proof=proof,
        )

    def _extend(self, decision: Decision) -> Decision | None:
        """Check whether a decision about the working set holds for all rows; if so, return it.

        Return None if rows contradict it; these join the working set.
        """
        if decision.measured is not None:
            return self._extend_separator(decision, decision.measured)
        if not decision.weights:
            return self._extend_span(decision)
        # No row of the working set is on the wrong side: check the other rows.
        sifted = self._find_lowest(decision.weights)
        low = sifted.low.some(sifted.scores < -rounding_bound(self.dimension))
        return None if self._join(low) else decision

    def _extend_separator(self, decision: Decision, found: Measured) -> Decision | None:
        """Check that weights classify all rows correctly, and compute their margin.

        Return None if some rows are misclassified or nearer than the margin; these join the working
        set.
        """
        sifted = self._find_lowest(decision.weights)
        enough = found.upper * (1 - GAP) if self.widest else 0.0
        self.waits = 0 if found.upper < self.nearest * (1 - 1e-12) else self.waits + 1
        self.nearest = min(self.nearest, found.upper)
        tolerance = GAP / 8 if self.widest else 0.0
        lower = sifted.low.some(sifted.scores < found.margin / self.unit * (1 - tolerance))
        good = sifted.least >= enough / self.unit and sifted.least > rounding_bound(self.dimension)
        if not good and self.waits < PATIENCE and self._join(lower, found.support):
            return None
        if ON_THE_MARGIN * sifted.least > 2 * rounding_bound(self.dimension):
            rows = merge_rows([self.working, sifted.near])
            margin, on = measure_block(decision.weights, rows.n, rows, 0)
            support = rows.row_numbers[on.row_numbers]
        else:  # rounding errors hide which rows are nearest
            self.progress.passes += 1
            measure_all = functools.partial(measure_block, decision.weights, MOST_NEAR)
            parts = list(self.each(measure_all))
            margin = min(least for least, _ in parts)
            near = [rows for least, rows in parts if least <= margin + ON_THE_MARGIN * abs(margin)]
            on = merge_rows(near)
            support = on.row_numbers
            narrower = self.widest and margin < found.margin * (1 - tolerance)
            if narrower and self.waits < PATIENCE and self._join(on, found.support):
                return None
        return replace(decision, measured=replace(found, margin=margin, support=support))

    def _extend_span(self, decision: Decision) -> Decision | None:
        """Extend the verdict "inseparable" from the working set to all rows.

        A conflict that spans the whole space is kept as it is. Otherwise rows outside its span join
        the working set, and the result is None. If there are none, all rows that the conflict does
        not list get the multiplier 1.
        """
        part, rows = decision.conflict, self.working
        assert part is not None
        if part.rest or rank_at_least(integer_rows(rows, part.rows)) < self.dimension:
            if part.rest:
                each = dict(zip(part.rows, part.multipliers, strict=True))
                multipliers = tuple(each.get(n, part.rest) for n in range(rows.n))
                part = Conflict(tuple(range(rows.n)), multipliers)
            table, nullity = flint.fmpz_mat(integer_rows(rows, part.rows)).nullspace()
            chance = np.random.default_rng(0).integers(1, 2**10, size=nullity).tolist()
            orthogonal = tuple(
                int(sum(c * int(row[j]) for j, c in enumerate(chance))) for row in table.tolist()
            )
            off = functools.partial(find_off_span, orthogonal, self.unit)
            if self._join(self._sift(off).low):
                return None
            if len(part.rows) < self.n:
                self.progress.passes += 1
                listed = self.working.row_numbers[list(part.rows)]
                rest = add_totals(list(self.each(functools.partial(sum_of_rows, without=listed))))
                found = Alternative(
                    rows=list(part.rows), multipliers=list(map(flint.fmpq, part.multipliers))
                )
                part = add_remaining_rows(SignedRows.of(rows), found, rest)
        return replace(decision, conflict=part)

    def _make_result(self, decision: Decision) -> Separability | None:
        """Return the result with its proof, or None if the proof fails on any row."""
        found, weights = decision.measured, decision.weights
        evidence = () if decision.conflict is None else (self._renumber(decision.conflict),)
        floats = None if found is None else found.floats
        proof, radius = self._prove(decision.verdict, evidence, weights, floats)
        if proof is None:
            return None
        result = Separability(
            decision.verdict, self.look.radius, floats, passes=self.progress.passes, proof=proof
        )
        if found is not None:
            scaled = self.look.scaled_margin(found.margin, to_unit_length(weights))
            return replace(
                result,
                margin=found.margin,
                upper=found.upper,
                support=found.support,
                scaled=Guarantee(radius, scaled),
            )
        equal = contradictions(self.working) if self.working.n <= MANY_ROWS else ()
        pairs = (sorted((int(yes[0]), int(no[0]))) for yes, no in equal)
        few = [Conflict((i, j), (1, 1)) for i, j in sorted(pairs)[:FEW_PAIRS]]
        conflicts = [*self.conflicts, *map(self._renumber, few)]
        distinct = {one.rows: one for one in conflicts}
        return replace(
            result,
            weights=to_unit_length(weights) if weights else None,
            conflicts=tuple(sorted(distinct.values(), key=lambda one: len(one.rows))),
        )

    def _prove(
        self,
        claim: str,
        conflicts: tuple[Conflict, ...],
        weights: Vector = (),
        floats: Floats | None = None,
    ) -> tuple[Proof | None, float]:
        """Create a proof about all rows, and check it in one pass.

        Return it and, for a separable verdict, the radius of the scaled rows. The proof is None if
        it fails on a row, which then joins the working set.
        """
        proof = Proof(claim, "", self.labels[0].x0, weights, conflicts)
        separable = claim == "separable"
        self.progress.passes += 1 + bool(weights) + separable if self.whole else 1
        also: list[Work[Any]] = [functools.partial(scaled_radius, self.look)] if separable else []
        if floats is not None and not self.whole:
            also.append(functools.partial(check_products, to_integers(floats), strict=True))
        try:
            evidence = Evidence.of(proof, self, self.labels, tuple(also))
            evidence.check()
        except ProofError as wrong:
            if not wrong.rows or self.whole or np.isin(wrong.rows, self.working.row_numbers).any():
                raise
            self.working = merge_rows([self.working, self.take(wrong.rows)])
            self.progress.passes += 1
            return None, math.inf
        radius = max(radius for radius, *_ in evidence.also) if separable else 0.0
        return replace(proof, data=evidence.data), radius

    def _renumber(self, conflict: Conflict) -> Conflict:
        """Convert the rows of a conflict from positions in the working set to row numbers."""
        return replace(conflict, rows=tuple(self.working.row_numbers[list(conflict.rows)].tolist()))

    def _find_lowest(self, weights: Vector) -> Sifted:
        share = max(16, min(self.dimension, 400)) / self.n
        return self._sift(functools.partial(find_lowest, to_unit_length(weights), self.unit, share))

    def _sift(self, work: Work[Sifted]) -> Sifted:
        """Run `work` on every block, and combine the rows that it finds."""
        self.progress.passes += 1
        parts = list(self.each(work))
        least = min(part.least for part in parts)
        near = [part.near for part in parts if part.least <= least + ON_THE_MARGIN * abs(least)]
        return Sifted(
            merge_rows([part.low for part in parts]),
            np.concatenate([part.scores for part in parts]),
            merge_rows(near),
            least,
        )

    def _join(self, rows: Examples, keep: Any = ()) -> bool:
        """Add rows to the working set; return whether any of them is new.

        If the set becomes too large, every other old row leaves, except for those to keep.
        """
        new = rows.some(~np.isin(rows.row_numbers, self.working.row_numbers))
        if new.n == 0:
            return False
        most = max(MOST_WORKING, 24 * min(self.dimension, 400))
        if len(keep) and self.working.n + new.n > most:
            stay = np.arange(self.working.n) % 2 == 0
            stay[np.asarray(keep, dtype=np.intp)] = True
            self.working = self.working.some(stay)
        self.working = merge_rows([self.working, new])
        return True


def _thin(samples: Sequence[Examples]) -> Examples:
    every = merge_rows(samples)
    step = -(-every.n // (MOST_WORKING // 4))
    return every.some(np.arange(0, every.n, step))


# Work on one block, wherever it is; a cluster sends these functions to its workers.


def sample_block(block: Examples, first: int) -> tuple[DataSummary, PackedLabels, Examples]:
    """Return a summary of a block of rows, its labels, and a sample of the rows."""
    block = block.merged()
    few = block.some(np.arange(0, block.n, -(-block.n // SAMPLE)), first)
    return summarize(block), pack_labels(block, first), few


@dataclass(frozen=True, eq=False)
class Sifted:
    """Rows of one block or of all blocks that may join the working set, with their scores."""

    low: Examples  # rows that may join the working set
    scores: Floats  # scores of these rows
    near: Examples  # rows on the margin or nearly so
    least: float  # the least score of all rows


def rounding_bound(dimension: int) -> float:
    """Return a bound on the rounding error of w·x if w and x have a norm of at most 1."""
    return 4 * (dimension + 3) * 2.0**-53 + 2.0**-900


def find_lowest(w: Floats, unit: float, share: float, block: Examples, first: int) -> Sifted:
    """Find the row of lowest score in each part of a block, and the rows near the margin."""
    block = block.merged()
    s = block.signed_scores(w / unit)
    low = find_lowest_by_part(s, max(1, math.ceil(share * block.n)))
    least = float(s.min())
    near = np.flatnonzero(s <= least + ON_THE_MARGIN * abs(least) + 2 * rounding_bound(len(w)))
    near = np.sort(near[np.argsort(s[near], kind="stable")[:MOST_NEAR]])
    return Sifted(block.some(low, first), s[low], block.some(near, first), least)


def measure_block(
    weights: Vector, most: int, block: Examples, first: int
) -> tuple[float, Examples]:
    """Compute the exact margin of weights on a block, and find up to `most` support vectors."""
    block = block.merged()
    found = measure(SignedRows.of(block), weights, None)
    return found.margin, block.some(found.support[:most], first)


def find_off_span(weights: Vector, unit: float, block: Examples, first: int) -> Sifted:
    """Find rows of a block that are no linear combinations of the rows of a conflict.

    The weights are orthogonal to that span, so rows with another score than 0 are outside. Scores
    are computed exactly only if floats find no such row.
    """
    block = block.merged()
    s = np.abs(block.signed_scores(to_unit_length(weights) / unit))
    off = np.flatnonzero(s > rounding_bound(len(weights)))
    off = np.sort(off[np.argsort(-s[off], kind="stable")[:MOST_OFF]])
    if len(off) == 0:
        products = exact_products(weights, block, range(block.n))
        off = np.array([n for n, product in enumerate(products) if product][:MOST_OFF], int)
    none = block.some(off[:0], first)
    return Sifted(block.some(off, first), s[off], none, float(s.min()))
