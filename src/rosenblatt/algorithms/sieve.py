"""The sieve: weights that cannot win are dropped after a look at some rows, not at all.

A vector cannot enter the pocket once it is sure to make as many mistakes as the pocket, so most
vectors need not be judged on every row. What makes the look short and cheap:

*Whole numbers.* Rows are taken as y·x/‖x‖ and vectors as w/‖w‖, stretched to a length of up to
46,000 and rounded. Their product is found exactly, 64 rows in a few instructions. Rounding moves a
direction of m numbers by at most √m/2, so the product is off from that of the directions by no more
than `slack`. Below -slack the row is surely a mistake, above slack surely none. The few in between
are settled in doubles for the vectors that come through; where those cannot tell either, the vector
is judged alone.

*Hardest first.* Vectors of one walk make much the same mistakes. They see the rows that their mean
gets most wrong first.

*Scouts.* What counts is the fewest mistakes of any vector before. Those that look best on a sample
of the rows are judged first, so that all others meet a bar that is nearly as low as it will be.

Nothing is dropped but by sure mistakes, and what is left is counted on every row: the answers are
those of judging each vector alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.sifting import (
    MOST,
    PLAIN,
    SCALE,
    Field,
    Flight,
    run_hardest_first,
    run_settle,
    run_sift,
    run_stand,
    run_survey,
)
from rosenblatt.engine import in_threads
from rosenblatt.examples import Examples, kernel_rows
from rosenblatt.hypothesis import SMALLEST, UNIT_ROUNDOFF
from rosenblatt.instructions import LANES

Floats = NDArray[np.float64]
Pairs = NDArray[np.int32]
Rows = NDArray[np.unsignedinteger[Any]]
Places = NDArray[np.intp]

FLIGHT = 256  # vectors
MANY_ROWS = 2**14  # fewer are judged faster by plain products
MOST_FEATURES = 2**11  # with more, rounding leaves too many rows in doubt
SAMPLE = 512  # rows
NEARLY = 1.02
LASTS = 2048  # vectors for which rows stay in one order


class Survivor(NamedTuple):
    """A vector that may win: which it is, what mistakes it surely makes, whether these are all."""

    b: int
    wrong: float
    complete: bool


@dataclass(frozen=True, eq=False)
class Crowd:
    """The vectors to judge: their directions, scores that tell nothing, how much is too much."""

    W: Floats
    units: Pairs
    near: Floats
    bars: Floats


class Lineup(NamedTuple):
    """Some rows in the order of the file, the order they stand in, and the place of each row."""

    rows: Rows
    order: Rows
    places: Rows


class Sieve:
    """Drops the vectors that make no fewer mistakes than one before them.

    Examples
    --------
    >>> examples = Examples.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 1])
    >>> Sieve(examples).survivors(np.array([[0.5, 0.0], [-1.5, 1.0]]), best=1)
    [Survivor(b=1, wrong=0, complete=True)]
    """

    def __init__(self, examples: Examples, threads: int = 1) -> None:
        self.examples, self.threads = examples, threads
        self.rows = kernel_rows(examples.X, examples.x0, examples.y)
        self.lined_up: tuple[Field, Field] | None = None
        self.seen = 0

    def survivors(self, W: Floats, best: float) -> list[Survivor]:
        """The vectors that may make fewer mistakes than `best`."""
        if len(W) == 0:
            return []
        bars = np.full(len(W), best, dtype=np.float64)
        crowd = Crowd(W, _units(W), double_slack(self.examples, W), bars)
        if self.seen >= LASTS:
            self.lined_up, self.seen = None, 0  # not two of them at a time
        if self.lined_up is None:
            self.lined_up = self._line_up(crowd)
        self.seen += len(W)
        sample, field = self.lined_up
        scouts = self._scouts(sample, crowd)
        found = self._counted(field, crowd, scouts, sifted=False)
        for one in found:
            if one.complete:
                later = crowd.bars[one.b + 1 :]
                np.minimum(later, one.wrong * slip(self.examples), out=later)
        others = np.delete(np.arange(len(W)), scouts)
        return sorted(found + self._counted(field, crowd, others, sifted=True))

    def _line_up(self, crowd: Crowd) -> tuple[Field, Field]:
        """A sample of the rows, and all of them in the order that suits these vectors."""
        n, kind = self.examples.n, self.examples.row_type
        rows, order, places = np.arange(n, dtype=kind), np.empty(n, kind), np.empty(n, kind)
        stretch, cosines = np.empty(n), np.empty(n, dtype=np.float32)
        mean = crowd.units.view(np.int16).mean(axis=0)

        def survey(part: slice) -> None:
            run_survey(self.rows, mean, rows[part], stretch, cosines)

        in_threads(survey, n, self.examples.X.size)
        some = rows[:: 1 + n // SAMPLE].copy()
        places[some] = np.arange(len(some))
        sample = self._standing(Lineup(some, some, places), stretch)
        run_hardest_first(cosines, order, places)
        return sample, self._standing(Lineup(rows, order, places), stretch)

    def _standing(self, lineup: Lineup, stretch: Floats) -> Field:
        """Some rows, 64 side by side."""
        blocks = _room((-(-len(lineup.rows) // LANES), self.examples.d // 2 + 1, LANES))

        def fill(part: slice) -> None:
            run_stand(self.rows, stretch, lineup.rows[part], lineup.places, blocks)

        in_threads(fill, len(lineup.rows), len(lineup.rows) * self.examples.d)
        weights = self.examples.weights
        costs = np.empty(0, dtype=np.int64) if weights is None else weights[lineup.order]
        return Field(blocks, costs, lineup.order)

    def _scouts(self, sample: Field, crowd: Crowd) -> Places:
        """The vectors that do better than all before them on a sample of the rows, or nearly."""
        wrong = np.empty(len(crowd.W))

        def look(some: Places) -> None:
            flight = self._flight(sample, crowd, some, np.full(len(some), np.inf))
            run_sift(sample, flight)
            wrong[some] = flight.wrong

        self._fly(look, np.arange(len(crowd.W)), len(sample.rows))
        fewest = np.minimum.accumulate(np.concatenate([[np.inf], wrong[:-1]]))
        return np.flatnonzero(wrong < NEARLY * fewest)

    def _counted(self, field: Field, crowd: Crowd, which: Places, sifted: bool) -> list[Survivor]:
        """Those of some vectors that stay below their bars on every row, sifted first if asked."""
        found: list[Survivor] = []

        def count(some: Places) -> None:
            flight = self._flight(field, crowd, some, crowd.bars[some])
            sure = np.full(len(some), not sifted)
            if sifted:
                sure[run_sift(field, flight)] = True
            left = np.flatnonzero(sure)
            run_settle(self.rows, field, flight, sure, sifted)
            found.extend(
                Survivor(int(some[b]), flight.wrong[b].item(), bool(sure[b]))
                for b in left
                if flight.wrong[b] < flight.bars[b]
            )

        self._fly(count, which, len(field.rows))
        return found

    def _flight(self, field: Field, crowd: Crowd, some: Places, bars: Floats) -> Flight:
        """Some vectors before their first row."""
        off = np.sqrt(2 * crowd.units.shape[1]) / 2
        # A thousandth more: directions are themselves found in doubles.
        slack = np.int32(1.001 * (2 * SCALE * off + off * off) + 1)
        wrong = np.zeros(len(some), dtype=field.costs.dtype)
        own = crowd.W[some], crowd.units[some], crowd.near[some]
        return Flight(*own, slack, bars, wrong, slip(self.examples))

    def _fly(self, work: Callable[[Places], None], which: Places, rows: int) -> None:
        """The work on some vectors in flights; a thread that is done takes the next."""
        count = max(min(self.threads, len(which)), -(-len(which) // FLIGHT))
        flights = iter(np.array_split(which, count) if count else [])

        def take(_: slice) -> None:
            for some in flights:
                work(some)

        in_threads(take, min(self.threads, count), len(which) * rows * self.examples.d)


def worth_sifting(examples: Examples) -> bool:
    """Whether these are many dense rows, not too wide, of a length that can be told."""
    if examples.is_sparse or examples.n < MANY_ROWS or not 0 < examples.d <= MOST_FEATURES:
        return False
    typical = examples.squares / examples.n + examples.x0 * examples.x0
    return PLAIN[0] < typical < PLAIN[1]


def slip(examples: Examples) -> float:
    """By what factor one sum must exceed another for that not to be rounding; counts are exact."""
    return 1.0 if examples.weights is None else 1 + 4 * examples.n * UNIT_ROUNDOFF


def double_slack(examples: Examples, W: Floats) -> Floats:
    """How far from 0 a score must be for all ways of summing it in doubles to agree on its sign."""
    share = 4 * (examples.longest + 1) * UNIT_ROUNDOFF
    largest = np.abs(W).max(axis=1, initial=0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # Squares of tiny or huge numbers would vanish or overflow.
        lengths = largest * np.sqrt(((W / largest[:, None]) ** 2).sum(axis=1))
        slack: Floats = share * examples.length * np.where(largest > 0, lengths, 0.0) + SMALLEST
    return slack


def _units(W: Floats) -> Pairs:
    """Each vector as a direction, in whole numbers; zeros where its length is extreme."""
    units = np.zeros((len(W), W.shape[1] + W.shape[1] % 2), dtype=np.int16)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", W, W)
        plain = (squares > PLAIN[0]) & (squares < PLAIN[1])
    if not plain.all():
        W = np.where(plain[:, None], W, 0.0)
    stretch = SCALE / np.sqrt(np.where(plain, squares, 1.0))
    np.minimum(stretch, MOST / np.maximum(np.abs(W).max(axis=1), SMALLEST), out=stretch)
    units[:, : W.shape[1]] = np.rint(W * stretch[:, None])
    return units.view(np.int32)


def _room(shape: tuple[int, ...]) -> Pairs:
    """Room for rows that stand; it begins where a processor reads fastest."""
    size = int(np.prod(shape))
    space = np.empty(size + LANES, dtype=np.int32)
    first = -(space.ctypes.data // space.itemsize) % LANES
    room = space[first : first + size].reshape(shape)
    room[-1] = 0  # where not all 64 are rows
    return room
