"""Separable or not: the decision about rows wherever they are, the widest margin, and the proof.

A working set of rows is decided about in memory, exactly. A pass over all rows then looks for
those that the answer is wrong about; they join the working set, until there are none. Where all
rows are in memory all of them are in it from the start, and there is nothing to look for. A line
that is right about all rows is proved by its products; rows that cannot all be right are proved
by themselves, whatever the other rows are.
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
from numpy.typing import NDArray

import rosenblatt.algorithms as algorithms
from rosenblatt.blocks import (
    AgainstRivals,
    Blocks,
    BlocksAgainstRivals,
    T,
    Work,
    against_rivals,
    first_of,
    take,
)
from rosenblatt.clock import NEVER, Deadline, OutOfTimeError
from rosenblatt.evidence.checker import Answered, Evidence, answers_of, check_products
from rosenblatt.evidence.decide import (
    ON_THE_MARGIN,
    Decision,
    Measured,
    decide,
    measured,
    unit_length,
    with_the_rest,
)
from rosenblatt.evidence.guarantee import Guarantee
from rosenblatt.evidence.integers import (
    MOST_PAIRS,
    Total,
    added,
    contradictions,
    contradictions_of,
    dimension_of,
    exact_products,
    integer_rows,
    merged,
    paired,
    rank_at_least,
    row_codes,
    soon_done,
    sum_of_rows,
)
from rosenblatt.evidence.nearest import Point, Telling, worst_of_parts
from rosenblatt.evidence.parts import VERDICTS, Part, ProofError, Vector, claim_of_mistakes
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.signed import (
    GAP,
    Alternative,
    Floats,
    Look,
    Scale,
    Signed,
    look_at,
    scaled_radius,
    whole_of,
)
from rosenblatt.evidence.verdicts import TIME_OVER, Conflict, Separability
from rosenblatt.examples import Examples, JointExamples, Picked, of_labels, picked
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.rownames import RowNames
from rosenblatt.scaling import Scaling
from rosenblatt.words import counted

FEW_NUMBERS = 2**13  # so few are decided about whatever the time
PATIENCE = 16  # passes in a row that bring nothing, before rounding is to blame
FIRST_CYCLES = 8  # of PLA, then twice as many each time
LESS = 0.9  # times the corrections of a cycle before, or it is given up
SOON = 1000  # cycles
MOST_WORKING = 4096  # rows of a working set, or more where there are many features
SAMPLE = 64  # rows of a block to begin with
MOST_NEAR = 256  # rows on the margin that a block tells
MOST_OFF = 64  # rows off a span that a block tells


def separability(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    widest: bool = True,
) -> Separability:
    """Decide whether a straight line can answer every example, and prove it.

    Parameters
    ----------
    X : array, CSR matrix or frame of shape (n, d)
        The features; every float is taken as the exact fraction that it is.
    y : sequence of n answers
        One, two or more kinds of answer. Of more than two, it is decided whether there is a w for
        each label with every right score the highest, and `weights` has a row for each.
    fit_intercept : bool, default=True
        Whether w has a w0 with x0 = `intercept_scaling`.
    intercept_scaling : float, default=1.0
        The constant feature x0.
    widest : bool, default=True
        Whether to go on to the widest margin once some w separates; without it, `widest` of the
        answer says whether its margin happens to be that.

    Returns
    -------
    Separability
        The verdict, the weights, margin and bound where there are any, and the proof.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> s = rb.separability([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> s.verdict, s.support.tolist(), s.proof.check([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    ('separable', [1, 2], True)
    >>> round(s.bound, 1)
    85.0
    >>> rb.separability([[0.0], [1.0], [2.0]], [0, 1, 0])
    <Separability: inseparable: no line answers every row, proved in exact arithmetic; rows 0, 1
    and 2 cannot all be right>
    >>> s = rb.separability([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "c"])
    >>> s.verdict, s.blocking[0].rows
    ('quasi-separable', (0, 1, 2))
    """
    x0 = float(intercept_scaling) if fit_intercept else 0.0
    examples = JointExamples.from_arrays(X, y, x0=x0, one_class=True)
    return replace(separability_of(examples, widest=widest), row_names=RowNames.of(X))


def separability_of_labels(
    blocks: Blocks, *, widest: bool, deadline: Deadline, known: Vector
) -> Separability:
    """Decide about more than two labels, by rows against rivals.

    Where the rule itself soon halts there is nothing to decide, nor where weights of label after
    label are known to separate. Else, without the first label's weights, which may be 0, there is
    nothing that no row tells apart, and a verdict is soon found. The widest margin is that of the
    weights of all labels.
    """
    rows, cycles = against_rivals(blocks, reduced=True), 0
    try:
        if not known and isinstance(blocks, JointExamples):
            known, cycles = soon_halted(blocks, deadline)
    except algorithms.Interrupted as stop:
        passes = counted(stop.run.cycles, "pass", "passes")
        found = Separability("undecided", 0.0, reason=f"interrupted after {passes} over the data")
        return _of_labels(found, rows, blocks)
    if not known:
        found = _decided(rows, False, deadline)
        if found and found.proof is not None:
            weights = found.proof.weights
            known = (0,) * (len(weights) // (len(first_of(blocks).labels) - 1)) + weights
    if known:
        rows = against_rivals(blocks)
        found = _decided(rows, widest, deadline, known)
    return _of_labels(replace(found, passes=found.passes + cycles), rows, blocks)


def _of_labels(
    found: Separability, rows: AgainstRivals | BlocksAgainstRivals, blocks: Blocks
) -> Separability:
    """What was found about rows against rivals, told of the labels."""
    blocking = (m for part in found.blocking for m in part.rows)
    known, radius = rows.named([*found.support.tolist(), *blocking]), found.radius
    weights, proof, examples = found.weights, found.proof, known.examples
    if weights is not None:
        size = weights.size // (examples.k - rows.reduced)
        weights = np.append(np.zeros(size * rows.reduced), weights).reshape(examples.k, size)
    pairs = np.array([known.pair(m) for m in found.support], dtype=np.intp).reshape(-1, 2)
    upper = found.upper
    if rows.reduced:  # where the first label's weights are 0, margins are narrower
        radius = math.sqrt(2.0) * max(look.radius for look in blocks.each(look_over))
        upper = None
    if proof is not None and proof.claim not in VERDICTS:  # sets may have an example in common
        proof = replace(proof, claim=claim_of_mistakes(1), parts=proof.parts[:1])
    return replace(
        found,
        weights=weights,
        radius=radius,
        upper=upper,
        support=pairs,
        blocking=tuple(Conflict.of(part, known) for part in found.blocking),
        proof=None if proof is None else replace(proof, x0=examples.x0, labels=examples.k),
        scaled=None,
        rivals=known,
    )


def soon_halted(examples: JointExamples, deadline: Deadline) -> tuple[Vector, int]:
    """The weights of all labels that PLA soon halts with on scaled columns, in whole numbers.

    It goes on for as long as it corrects less and less: where nothing separates, it soon corrects
    as much as before. Rows of weight 0, which PLA would leave out, are corrected by like all
    others. The number is that of its cycles.
    """
    start, before, made, more = None, math.inf, 0, FIRST_CYCLES
    examples, deadline = replace(examples, weights=None), deadline.share(0.5)
    scaling = Scaling.of(examples)
    scaled = scaling.apply(examples)
    while made < SOON and not deadline.over:
        try:
            budget = algorithms.Budget(more, seconds=deadline.left)
            run = algorithms.pla(scaled, budget=budget, start=start)
        except algorithms.WeightsOverflowError:
            break
        except algorithms.Interrupted as stop:
            whole = replace(stop.run, cycles=made + stop.run.cycles)
            raise algorithms.Interrupted(whole) from None
        made, start = made + run.cycles, examples.flat(run.hypothesis.w)
        if run.separated:
            found = scaling.fold(run.hypothesis)
            return (() if len(found.mistakes(examples)) else whole_of(found.tall.ravel())), made
        if run.corrections > LESS * before * run.cycles:
            break
        before, more = run.corrections / run.cycles, 2 * more
    return (), made


def separability_of(
    blocks: Blocks,
    *,
    widest: bool = True,
    deadline: Deadline = NEVER,
    known: Hypothesis | None = None,
) -> Separability:
    """Decide about the rows of blocks, in memory or elsewhere; their weights play no part.

    The verdict is the same wherever the rows are. Where they are not in memory, the rows said to
    be on the margin, or to block, are some of those. Time is not looked at in the first block, nor
    where rows are few. Where some are known to separate, the margin alone is asked.
    """
    weights: Vector = ()
    if known is not None:
        weights = whole_of(known.tall.ravel())
    if of_labels(blocks):
        return separability_of_labels(blocks, widest=widest, deadline=deadline, known=weights)
    return _decided(blocks, widest, deadline, weights)


def _decided(blocks: Blocks, widest: bool, deadline: Deadline, known: Vector = ()) -> Separability:
    """Decide about rows of two labels; tall weights that separate may be known."""
    with Telling() as telling:
        search = _Search(blocks, widest, telling, known)
        try:
            search.begin(deadline)
        except OutOfTimeError:
            return search.undecided(TIME_OVER, None)
        try:
            while (answer := search.step()) is None:
                pass
            return answer
        except KeyboardInterrupt:
            passes = counted(search.passes, "pass", "passes")
            return search.undecided(f"interrupted after {passes} over the data", telling.point)
        except OutOfTimeError:
            return search.out_of_time()
        except ProofError as wrong:
            return search.undecided(f"the proof did not hold: {wrong}", None)


def contradicted(examples: Examples) -> Separability | None:
    """Not separable, for some rows are alike and have different answers; None if none are.

    That takes one pass. What is small is left to `separability_of`, which says more.
    """
    examples = merged(examples)
    if examples.n * dimension_of(examples) <= FEW_NUMBERS:
        return None
    groups = contradictions(examples, row_codes(examples))
    pairs = (pair for yes, no in groups for pair in paired(yes, no, MOST_PAIRS))
    parts = tuple(Part(pair, (1, 1)) for pair in sorted(islice(pairs, MOST_PAIRS)))
    if not parts:
        return None
    search = _Search(examples, False, Telling())
    search.begin(NEVER)
    return search.blocked(parts)


class _Search:
    """The working set, what is known of all rows, and their blocks, gone through in time."""

    def __init__(self, blocks: Blocks, widest: bool, telling: Telling, known: Vector = ()) -> None:
        self.whole = merged(blocks) if isinstance(blocks, Examples) else None  # all are in it
        self.blocks: Blocks = blocks if self.whole is None else self.whole
        self.widest, self.telling, self.known = widest, telling, known
        self.deadline = NEVER
        self.look = Look(0.0, np.empty(0), False)
        self.passes = self.waits = 0
        self.nearest = math.inf  # the least upper bound on margins so far
        self.blocking: tuple[Part, ...] = ()

    def begin(self, deadline: Deadline) -> None:
        """The first pass: the answers, the largest entries, some rows to begin with."""
        if self.whole is not None:
            self.passes = 2  # X was checked for numbers that are none before
            self.look, self.answered = look_at(self.whole), answers_of(self.whole, 0)
        else:
            self.passes = 1
            looks: list[Look] = []
            answers, samples = [], []
            for look, answered, sample in self.each(first_look):
                if looks:  # one block is looked at whatever the time
                    deadline.check()
                looks.append(look)
                answers.append(answered)
                samples.append(sample)
                if sum(len(some.numbers) for some in samples) > MOST_WORKING:
                    samples = [_thinned(samples)]
            self.answered, self.working = Answered.joined(answers), _thinned(samples)
            columns = np.max([look.columns for look in looks], axis=0)
            self.look = Look(max(look.radius for look in looks), columns, looks[0].x0)
        self.dimension = len(self.look.columns)
        # A power of two that no row is longer than: scores in it neither overflow nor vanish.
        radius = min(self.look.radius, sys.float_info.max)
        self.unit = math.ldexp(1.0, max(-1000, min(math.frexp(radius)[1], 1023)))
        few = self.answered.n * self.dimension <= FEW_NUMBERS
        rows = self.working.examples if self.whole is None else self.whole
        self.deadline = self._in_time(rows, deadline) if few else deadline

    def _in_time(self, rows: Examples, deadline: Deadline) -> Deadline:
        """When to give up deciding about some rows: never, where they are few."""
        rows = replace(rows, weights=None)
        return NEVER if soon_done(rows, FEW_NUMBERS) else deadline

    def each(self, work: Work[T]) -> Iterator[T]:
        """One pass; over blocks elsewhere, the part that there is time for and OutOfTimeError."""
        for result in self.blocks.each(work):
            if self.whole is None:
                self.deadline.check()
            yield result

    def step(self) -> Separability | None:
        """Decide about the working set; None where rows joined it that the answer fails on."""
        rows = self.working.examples if self.whole is None else self.whole
        look = look_at(rows) if self.whole is None else self.look
        deadline = self._in_time(rows, self.deadline)
        plain = Signed(rows, Scale.plain(look), passes=self.passes, deadline=deadline)
        self.scale = float(plain.scale.columns[0])
        self.telling.point = None
        decision = decide(plain, look, self.widest, self._tell, self.known)
        if self.whole is not None:
            self.passes = max(self.passes, plain.passes)
        if decision.verdict == "undecided":
            return self.undecided(decision.reason, decision.point)
        if decision.blocking is not None:
            self.blocking = (self._numbered(decision.blocking),)
        if decision.verdict == "not separable":
            return self.out_of_time()
        held = decision if self.whole is not None else self._of_all(decision)
        return None if held is None else self._answer(held, rows)

    def _tell(self, point: Point, passes: int) -> None:
        if self.whole is not None:
            self.passes = passes
        self.telling.tell(point, self.passes)

    def undecided(self, reason: str, point: Point | None) -> Separability:
        """What is left to say when nothing was proved; what bounds some rows bounds all."""
        said = Separability("undecided", self.look.radius, passes=self.passes, reason=reason)
        if point is None or not point.plain:
            return said
        if self.whole is not None and point.lower > 0:
            said = replace(said, weights=point.w, margin=point.lower / self.scale)
        upper = point.upper / self.scale
        return replace(said, upper=upper) if math.isfinite(upper) else said

    def out_of_time(self) -> Separability:
        """Rows that cannot all be right are known all the same; else nothing is."""
        if not self.blocking:
            return self.undecided(TIME_OVER, self.telling.point)
        return replace(self.blocked(self.blocking), reason=TIME_OVER)

    def blocked(self, parts: tuple[Part, ...]) -> Separability:
        """Not separable, for each of some disjoint sets of rows costs every w a mistake."""
        claim = claim_of_mistakes(len(parts))
        proof = None if self.whole is None else self._proof(claim, parts)[0]
        return Separability(
            "not separable", self.look.radius, blocking=parts, passes=self.passes, proof=proof
        )

    def _of_all(self, decision: Decision) -> Decision | None:
        """The decision about the working set as one about all rows; None where others joined."""
        if decision.measured is not None:
            return self._all_right(decision, decision.measured)
        return self._none_wrong(decision) if decision.weights else self._all_spanned(decision)

    def _all_right(self, decision: Decision, found: Measured) -> Decision | None:
        """A line that separates the working set: does it separate all rows, as widely?"""
        sifted = self._lowest(found.weights)
        enough = found.upper * (1 - GAP) if self.widest else 0.0
        self.waits = 0 if found.upper < self.nearest * (1 - 1e-12) else self.waits + 1
        self.nearest = min(self.nearest, found.upper)
        tolerance = GAP / 8 if self.widest else 0.0
        lower = sifted.low.some(sifted.scores < found.margin / self.unit * (1 - tolerance))
        good = sifted.least >= enough / self.unit and sifted.least > slack_of(self.dimension)
        if not good and self.waits < PATIENCE and self._join(lower, found.support):
            return None
        if ON_THE_MARGIN * sifted.least > 2 * slack_of(self.dimension):
            rows = self.working.joined([sifted.near])
            margin, on = on_the_margin(found.weights, len(rows.numbers), rows.examples, 0)
            support = rows.numbers[on.numbers]
        else:  # rounding hides which rows are the nearest
            margin, on = self._nearest(found.weights)
            support = on.numbers
            narrower = self.widest and margin < found.margin * (1 - tolerance)
            if narrower and self.waits < PATIENCE and self._join(on, found.support):
                return None
        return replace(decision, measured=replace(found, margin=margin, support=support))

    def _nearest(self, weights: Vector) -> tuple[float, Picked]:
        """The margin of weights on all rows, exactly, and rows on it, some of each block."""
        self.passes += 1
        parts = list(self.each(functools.partial(on_the_margin, weights, MOST_NEAR)))
        margin = min(least for least, _ in parts)
        on = [rows for least, rows in parts if least <= margin + ON_THE_MARGIN * abs(margin)]
        return margin, on[0].joined(on[1:])

    def _none_wrong(self, decision: Decision) -> Decision | None:
        """A line that is wrong about no row of the working set: is it about others?"""
        sifted = self._lowest(decision.weights)
        if self._join(sifted.low.some(sifted.scores < -slack_of(self.dimension))):
            return None
        assert decision.part is not None
        return replace(decision, part=self._numbered(decision.part))

    def _all_spanned(self, decision: Decision) -> Decision | None:
        """Rows that cannot all be right: is every other row in their span?

        Rows that are not listed then get the multiplier 1.
        """
        part, rows = decision.part, self.working.examples
        assert part is not None
        if part.rest or rank_at_least(integer_rows(rows, part.rows)) < self.dimension:
            if part.rest:
                each = dict(zip(part.rows, part.multipliers, strict=True))
                multipliers = tuple(each.get(n, part.rest) for n in range(rows.n))
                part = Part(tuple(range(rows.n)), multipliers)
            off = functools.partial(off_the_span, _orthogonal(rows, part.rows), self.unit)
            if self._join(self._sift(off).low):
                return None
            if len(part.rows) < self.answered.n:
                self.passes += 1
                listed = self.working.numbers[list(part.rows)]
                rest = added(list(self.each(functools.partial(sum_of_others, listed))))
                found = Alternative(
                    rows=list(part.rows), multipliers=list(map(flint.fmpq, part.multipliers))
                )
                part = with_the_rest(Signed(rows, Scale.plain(look_at(rows))), found, rest)
        return replace(decision, part=self._numbered(part))

    def _answer(self, decision: Decision, rows: Examples) -> Separability | None:
        """The answer about all rows with its proof; None where a row that it fails on joined."""
        parts = () if decision.part is None else (decision.part,)
        proof, radius = self._proof(decision.verdict, parts, decision.weights, decision.floats)
        if proof is None:
            return None
        about: dict[str, Any] = {"passes": self.passes, "proof": proof}
        found = decision.measured
        if found is not None:
            return Separability(
                decision.verdict,
                self.look.radius,
                decision.floats,
                found.margin,
                found.upper,
                found.support,
                scaled=Guarantee(radius, self.look.scaled_margin(found.margin, found.floats)),
                **about,
            )
        pairs = [self._numbered(Part(pair, (1, 1))) for pair in contradictions_of(rows)]
        sets = {part.rows: part for part in (*self.blocking, *pairs)}  # each told once
        return Separability(
            decision.verdict,
            self.look.radius,
            unit_length(decision.weights) if decision.weights else None,
            blocking=tuple(sorted(sets.values(), key=lambda part: len(part.rows))),
            **about,
        )

    def _proof(
        self,
        claim: str,
        parts: tuple[Part, ...],
        weights: Vector = (),
        floats: Floats | None = None,
    ) -> tuple[Proof | None, float]:
        """A proof about all rows, checked, and the radius of scaled rows where it is of use.

        None where a row that it fails on has joined the working set.
        """
        proof, separable = Proof(claim, "", self.answered.x0, weights, parts), claim == "separable"
        self.passes += 1 if self.whole is None else 1 + bool(weights) + separable
        also: list[Work[Any]] = [functools.partial(scaled_radius, self.look)] if separable else []
        if floats is not None and self.whole is None:
            also.append(functools.partial(right, whole_of(floats)))
        try:
            evidence = Evidence.of(proof, self, self.answered, tuple(also))
            evidence.check()
        except ProofError as wrong:
            if not wrong.rows or self.whole or set(wrong.rows) & set(self.working.numbers.tolist()):
                raise
            self.working = self.working.joined([take(self, wrong.rows)])
            self.passes += 1
            return None, math.inf
        radius = max(radius for radius, *_ in evidence.also) if separable else 0.0
        return replace(proof, data=evidence.data), radius

    def _numbered(self, part: Part) -> Part:
        """A part of the working set with the numbers that its rows have among all."""
        if self.whole is not None:
            return part
        return replace(part, rows=tuple(self.working.numbers[list(part.rows)].tolist()))

    def _lowest(self, weights: Vector) -> Sifted:
        share = max(16, min(self.dimension, 400)) / self.answered.n
        return self._sift(functools.partial(lowest, unit_length(weights), self.unit, share))

    def _sift(self, work: Work[Sifted]) -> Sifted:
        """What all blocks find."""
        self.passes += 1
        parts = list(self.each(work))
        least = min(part.least for part in parts)
        near = [part.near for part in parts if part.least <= least + ON_THE_MARGIN * abs(least)]
        return Sifted(
            parts[0].low.joined([part.low for part in parts[1:]]),
            np.concatenate([part.scores for part in parts]),
            near[0].joined(near[1:]),
            least,
        )

    def _join(self, rows: Picked, keep: Any = ()) -> bool:
        """Take rows into the working set; False if all are there already.

        Where they are too many every other one goes, but for those to be kept.
        """
        new = rows.some(~np.isin(rows.numbers, self.working.numbers))
        if len(new.numbers) == 0:
            return False
        most = max(MOST_WORKING, 24 * min(self.dimension, 400))
        if len(keep) and len(self.working.numbers) + len(new.numbers) > most:
            stay = np.arange(len(self.working.numbers)) % 2 == 0
            stay[np.asarray(keep, dtype=np.intp)] = True
            self.working = self.working.some(stay)
        self.working = self.working.joined([new])
        return True


def _thinned(samples: Sequence[Picked]) -> Picked:
    every = samples[0].joined(samples[1:])
    step = -(-len(every.numbers) // (MOST_WORKING // 4))
    return every.some(np.arange(0, len(every.numbers), step))


def _orthogonal(examples: Examples, rows: Sequence[int]) -> Vector:
    """A direction drawn at random among those orthogonal to some rows, in integers."""
    table, nullity = flint.fmpz_mat(integer_rows(examples, rows)).nullspace()
    chance = np.random.default_rng(0).integers(1, 2**10, size=nullity).tolist()
    return tuple(int(sum(c * int(row[j]) for j, c in enumerate(chance))) for row in table.tolist())


# What is asked of blocks, wherever they are: work that travels.


def look_over(block: Examples, first: int) -> Look:
    """What one look at a block tells."""
    return look_at(merged(block))


def first_look(block: Examples, first: int) -> tuple[Look, Answered, Picked]:
    """What the first pass takes from a block: a look, the answers, and a few rows, evenly."""
    few = np.arange(0, block.n, -(-block.n // SAMPLE))
    return look_over(block, first), answers_of(block, first), picked(merged(block), first, few)


def sum_of_others(listed: NDArray[np.intp], block: Examples, first: int) -> Total:
    """The sum of a block's rows that are not listed."""
    here = listed[(listed >= first) & (listed < first + block.n)]
    return sum_of_rows(merged(block), without=here - first)


def right(weights: Vector, block: Examples, first: int) -> bool:
    """Whether weights are right about every row of a block: True, or ProofError."""
    return check_products(weights, merged(block), strict=True, first=first)


@dataclass(frozen=True, eq=False)
class Sifted:
    """The rows that a pass found."""

    low: Picked  # rows that may join the working set
    scores: Floats  # theirs
    near: Picked  # rows on the margin, or nearly
    least: float  # the least score of all


def slack_of(dimension: int) -> float:
    """How far off the score of a row up to length 1 can be, by weights of length up to 1."""
    return 4 * (dimension + 3) * 2.0**-53 + 2.0**-900


def lowest(w: Floats, unit: float, share: float, block: Examples, first: int) -> Sifted:
    """A share of the rows of a block with the least w·z / unit, and those next to the least."""
    block = merged(block)
    s = block.signed_scores(w / unit)
    low = worst_of_parts(s, max(1, math.ceil(share * block.n)))
    least = float(s.min())
    near = np.flatnonzero(s <= least + ON_THE_MARGIN * abs(least) + 2 * slack_of(len(w)))
    near = np.sort(near[np.argsort(s[near], kind="stable")[:MOST_NEAR]])
    return Sifted(picked(block, first, low), s[low], picked(block, first, near), least)


def on_the_margin(weights: Vector, most: int, block: Examples, first: int) -> tuple[float, Picked]:
    """The margin of weights on the rows of a block, exactly, and at most so many rows on it."""
    block = merged(block)
    found = measured(Signed(block, Scale.plain(look_at(block))), weights, None)
    return found.margin, picked(block, first, found.support[:most])


def off_the_span(weights: Vector, unit: float, block: Examples, first: int) -> Sifted:
    """A few rows of a block with w·z ≠ 0, exactly: not in the span that w is orthogonal to.

    Rows are looked at exactly only where none is plainly off.
    """
    block = merged(block)
    s = np.abs(block.signed_scores(unit_length(weights) / unit))
    off = np.flatnonzero(s > slack_of(len(weights)))
    off = np.sort(off[np.argsort(-s[off], kind="stable")[:MOST_OFF]])
    if len(off) == 0:
        products = exact_products(weights, block, range(block.n))
        off = np.array([n for n, product in enumerate(products) if product][:MOST_OFF], int)
    none = picked(block, first, off[:0])
    return Sifted(picked(block, first, off), s[off], none, float(s.min()))
