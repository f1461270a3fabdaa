"""Separable or not, in passes over blocks: data larger than memory, or on many machines.

A working set of rows is decided about in memory, exactly. One pass over all rows then looks
for those that the answer is wrong about; they join the working set, until there are none. A
line that is right about all rows is proved by its products; rows that cannot all be right
are proved by themselves, whatever the other rows are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import flint
import numpy as np

from rosenblatt.blocks import Blocks, Picked, T, Together, Work, take
from rosenblatt.clock import NEVER, Deadline, OutOfTimeError, StatusLine
from rosenblatt.evidence.decide import with_the_rest
from rosenblatt.evidence.exact import Found
from rosenblatt.evidence.floats import whole_of
from rosenblatt.evidence.integers import (
    Total,
    added,
    dimension_of,
    integer_rows,
    merged,
    rank_at_least,
    sum_of_rows,
)
from rosenblatt.evidence.margin import measured, scaled_guarantee_of, unit_length
from rosenblatt.evidence.nearest import GAP
from rosenblatt.evidence.proof import (
    Answered,
    Evidence,
    Part,
    Proof,
    ProofError,
    answers_of,
    check_products,
    nothing,
)
from rosenblatt.evidence.separability import TIME_OVER, Separability, in_time, separability_of
from rosenblatt.evidence.sifting import Lowest, Off, Sample, Sifted, slack_of
from rosenblatt.evidence.signed import Look, Scale, ScaledRadius, Signed, look_at
from rosenblatt.examples import Examples
from rosenblatt.words import counted

PATIENCE = 16  # passes in a row that bring nothing, before rounding is to blame
ROOM = 4096  # rows of a working set, or more where there are many features


@dataclass(frozen=True, eq=False)
class InTime:
    """Blocks that are gone through until the time is over."""

    blocks: Blocks
    deadline: Deadline

    def each(self, work: Work[T]) -> Iterator[T]:
        """One pass, or the part of it that there is time for and then OutOfTimeError."""
        for result in self.blocks.each(work):
            self.deadline.check()
            yield result


def separability_of_blocks(
    blocks: Blocks, *, widest: bool = True, deadline: Deadline = NEVER
) -> Separability:
    """Decide about the rows of blocks, with a proof that `check_examples` confirms.

    The verdict is that of `separability_of` on all rows at once. The rows said to be on the
    margin, or to block, are some of those.

    Parameters
    ----------
    blocks : Blocks
        The rows and their answers.
    widest : bool, default=True
        Whether to go on to the widest margin once some w separates.
    deadline : Deadline
        When to leave it undecided, after the first pass; few rows are decided about in any case.
    """
    with StatusLine() as line:
        search = _Search(blocks, widest, line)
        try:
            search.begin(deadline)
            while (done := search.step()) is None:
                pass
            return done
        except KeyboardInterrupt:
            if search.look is None:
                raise
            return search.undecided(f"interrupted after {search.passes} passes over the data")
        except OutOfTimeError:
            return search.out_of_time()


def look_over(block: Examples, first: int) -> Look:
    """What one look at a block tells."""
    return look_at(merged(block))


class _Search:
    """The working set, and what is known of all rows."""

    def __init__(self, blocks: Blocks, widest: bool, line: StatusLine) -> None:
        self.blocks, self.widest, self.line = blocks, widest, line
        self.look: Look | None = None
        self.passes = self.waits = 0
        self.nearest = np.inf
        self.blocking: tuple[Part, ...] = ()

    def begin(self, deadline: Deadline) -> None:
        """The first pass: the answers, the largest entries, some rows to begin with."""
        looks, answers, samples = [], [], []
        for look, answered, sample in self.blocks.each(Together((look_over, answers_of, Sample()))):
            looks.append(look)
            answers.append(answered)
            samples.append(sample)
            if sum(len(some.numbers) for some in samples) > ROOM:
                samples = [_thinned(samples)]
        self.answered = Answered.joined(answers)
        columns = np.max([look.columns for look in looks], axis=0)
        self.look = Look(max(look.radius for look in looks), columns, False)
        self.working = _thinned(samples)
        self.dimension = dimension_of(self.working.examples)
        self.room = max(ROOM, 24 * min(self.dimension, 400))
        self.passes = 1
        self.deadline = in_time(self.answered.n * self.dimension, deadline)
        self.blocks = InTime(self.blocks, self.deadline)

    def step(self) -> Separability | None:
        """Decide about the working set and see what all rows say to it."""
        self.line.say(
            lambda: (
                f"{counted(self.passes, 'pass', 'passes')}; "
                f"{counted(len(self.working.numbers), 'row')} in the working set"
            )
        )
        rows = self.working.examples
        answer = separability_of(rows, widest=self.widest, deadline=self.deadline)
        if answer.proof is None:
            return self.undecided(answer.reason)
        self.blocking = tuple(map(self._numbered, answer.blocking))
        if answer.verdict == "not separable":
            return self.out_of_time()
        if answer.verdict == "separable":
            return self._all_right(answer)
        if answer.verdict == "quasi-separable":
            return self._none_wrong(answer)
        return self._all_spanned(answer)

    def undecided(self, reason: str) -> Separability:
        """What is left to say when nothing was proved."""
        assert self.look is not None
        return Separability("undecided", self.look.radius, passes=self.passes, reason=reason)

    def out_of_time(self) -> Separability:
        """Rows that cannot all be right are proved by themselves; else nothing is known."""
        assert self.look is not None
        if not self.blocking:
            return self.undecided(TIME_OVER)
        return replace(self.undecided(TIME_OVER), verdict="not separable", blocking=self.blocking)

    def _all_right(self, answer: Separability) -> Separability | None:
        """A line that separates the working set: does it separate all rows, as widely?"""
        assert answer.margin is not None
        assert answer.upper is not None
        sifted = self._sift(self._lowest(answer))
        enough = answer.upper * (1 - GAP) if self.widest else 0.0
        self.waits = 0 if answer.upper < self.nearest * (1 - 1e-12) else self.waits + 1
        self.nearest = min(self.nearest, answer.upper)
        tolerance = GAP / 8 if self.widest else 0.0
        lower = sifted.low.some(sifted.scores < answer.margin / self._unit * (1 - tolerance))
        good = sifted.least >= enough / self._unit and sifted.least > slack_of(self.dimension)
        if not good and self.waits < PATIENCE and self._join(lower, answer.support):
            return None
        assert answer.proof is not None
        floats = () if answer.weights is None else whole_of(answer.weights)
        proof = self._proved("separable", answer.proof.weights, floats=floats)
        return None if proof is None else self._separable(proof, answer, sifted.near)

    def _separable(self, proof: Proof, answer: Separability, near: Picked) -> Separability:
        """The verdict, and the margin measured on the rows that are nearest to the line."""
        assert self.look is not None
        rows = self.working.joined([near])
        plain = Signed(rows.examples, Scale.plain(look_at(rows.examples)))
        result = measured(plain, proof.weights, None)
        return Separability(
            "separable",
            self.look.radius,
            answer.weights,
            result.margin,
            answer.upper,
            support=rows.numbers[result.support],
            passes=self.passes,
            proof=proof,
            scaled=scaled_guarantee_of(
                self.look, result, bool(self.answered.x0), self.scaled_radius
            ),
        )

    def _none_wrong(self, answer: Separability) -> Separability | None:
        """A line that is wrong about no row of the working set: is it about others?"""
        assert answer.proof is not None
        sifted = self._sift(self._lowest(answer))
        wrong = sifted.low.some(sifted.scores < -slack_of(self.dimension))
        if self._join(wrong):
            return None
        proof = self._proved("quasi-separable", answer.proof.weights, answer.proof.parts)
        return None if proof is None else self._blocked(proof, answer)

    def _all_spanned(self, answer: Separability) -> Separability | None:
        """Rows that cannot all be right: is every other row in their span?"""
        assert answer.proof is not None
        part = answer.proof.parts[0]
        rows = integer_rows(self.working.examples, part.rows)
        if part.rest or rank_at_least(rows) < self.dimension:
            part = _every(part, len(self.working.numbers))
            sifted = self._sift(Off(_orthogonal(self.working.examples, part.rows), self._unit))
            if self._join(sifted.low):
                return None
            part = self._with_the_rest(part)
        proof = self._proved("inseparable", (), (part,))
        return None if proof is None else self._blocked(proof, answer)

    def _with_the_rest(self, part: Part) -> Part:
        """All rows are in the span: give those that are not listed the multiplier 1."""
        if len(part.rows) == self.answered.n:
            return part
        examples = self.working.examples
        signed = Signed(examples, Scale.plain(look_at(examples)))
        found = Found(rows=list(part.rows), multipliers=[flint.fmpq(m) for m in part.multipliers])
        self.passes += 1
        return with_the_rest(signed, found, added(list(self.blocks.each(total_of))))

    def _blocked(self, proof: Proof, answer: Separability) -> Separability:
        assert self.look is not None
        return Separability(
            proof.claim,
            self.look.radius,
            unit_length(proof.weights) if proof.weights else None,
            blocking=self.blocking,
            passes=self.passes,
            proof=proof,
        )

    def _proved(
        self,
        claim: str,
        weights: tuple[int, ...],
        parts: Sequence[Part] = (),
        floats: tuple[int, ...] = (),
    ) -> Proof | None:
        """The proof about all rows, checked; None where a row that it fails on has joined.

        `floats` are the weights as a person is given them, which must separate all rows, too.
        """
        numbered = tuple(self._numbered(part) for part in parts)
        proof = Proof(claim, "", self.answered.x0, weights, numbered)
        self.passes += 1
        assert self.look is not None
        try:
            rounded = Products(floats) if floats else nothing
            also = Together((ScaledRadius(self.look), rounded))
            evidence = Evidence.of(proof, self.blocks, self.answered, also)
            evidence.check()
        except ProofError as wrong:
            row = wrong.row
            if row is None or row in self.working.numbers:
                raise
            self.working = self.working.joined([take(self.blocks, [row])])
            self.passes += 1
            return None
        self.scaled_radius = max(radius for radius, _ in evidence.also)
        return replace(proof, data=evidence.data)

    def _numbered(self, part: Part) -> Part:
        return Part(
            tuple(self.working.numbers[list(part.rows)].tolist()), part.multipliers, part.rest
        )

    @property
    def _unit(self) -> float:
        """A power of two that no row is longer than: scores in it neither overflow nor vanish."""
        assert self.look is not None
        radius = min(self.look.radius, sys.float_info.max)
        return float(np.ldexp(1.0, max(-1000, min(int(np.frexp(radius)[1]), 1023))))

    @property
    def share(self) -> float:
        """How many rows of a block to look at more closely, as a share of them."""
        return max(16, min(self.dimension, 400)) / self.answered.n

    def _lowest(self, answer: Separability) -> Lowest:
        assert answer.proof is not None
        return Lowest(unit_length(answer.proof.weights), self._unit, self.share)

    def _sift(self, work: Lowest | Off) -> Sifted:
        self.passes += 1
        return Sifted.joined(list(self.blocks.each(work)))

    def _join(self, rows: Picked, keep: Any = ()) -> bool:
        """Take rows into the working set; False if all are there already."""
        new = rows.some(~np.isin(rows.numbers, self.working.numbers))
        if len(new.numbers) == 0:
            return False
        if len(keep) and len(self.working.numbers) + len(new.numbers) > self.room:
            self._make_room(keep)
        self.working = self.working.joined([new])
        return True

    def _make_room(self, keep: Any) -> None:
        """Leave out the older half of the rows, never those on the margin."""
        stay = np.zeros(len(self.working.numbers), dtype=bool)
        stay[np.arange(0, len(stay), 2)] = True
        stay[np.asarray(keep, dtype=np.intp)] = True
        self.working = self.working.some(stay)


@dataclass(frozen=True)
class Products:
    """The work of checking that weights are right about every row of a block."""

    weights: tuple[int, ...]

    def __call__(self, block: Examples, first: int) -> bool:
        """True, or ProofError."""
        return check_products(self.weights, merged(block), strict=True, first=first)


def total_of(block: Examples, first: int) -> Total:
    """The sum of a block's rows."""
    return sum_of_rows(merged(block))


def _thinned(samples: Sequence[Picked]) -> Picked:
    every = samples[0].joined(samples[1:])
    step = -(-len(every.numbers) // (ROOM // 4))
    return every.some(np.arange(0, len(every.numbers), step))


def _every(part: Part, count: int) -> Part:
    """The part with all rows of the working set listed, where the rest has a multiplier."""
    if not part.rest:
        return part
    listed = dict(zip(part.rows, part.multipliers, strict=True))
    return Part(tuple(range(count)), tuple(listed.get(n, part.rest) for n in range(count)))


def _orthogonal(examples: Examples, rows: Sequence[int]) -> tuple[int, ...]:
    """A direction drawn at random among those orthogonal to some rows, in integers."""
    table, nullity = flint.fmpz_mat(integer_rows(examples, rows)).nullspace()
    chance = np.random.default_rng(0).integers(1, 2**10, size=nullity).tolist()
    return tuple(int(sum(c * int(row[j]) for j, c in enumerate(chance))) for row in table.tolist())
