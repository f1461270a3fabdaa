"""The sieve: weights that cannot win are dropped after a look at some rows, not at all.

A vector cannot enter the pocket once it is sure to make as many mistakes as the pocket, so most
vectors need not be judged on every row. What makes the look short and cheap:

*Cosines.* Rows are taken as y·x/‖x‖ and vectors as w/‖w‖, in single precision. Their product is
the cosine of an angle, off by no more than `slack` in whatever order it is summed: each of d + 1
sums and five other roundings changes it by 2^-24 of a sum of sizes that is at most 1. Below
-slack the row is surely a mistake, above slack surely none. The few in between are noted, and
settled in doubles for the vectors that come through.

*Flights.* Vectors a few corrections apart make much the same mistakes. A flight of them sees the
rows that their mean gets most wrong first, and ends when all but a few of its vectors are dropped.

*Scouts.* What counts is the fewest mistakes of any vector before. Those that look best on a sample
of the rows are judged first, so that all others meet a bar that is nearly as low as it will be.

Nothing is dropped but by sure mistakes, and what is left is counted on every row: the answers are
those of judging each vector alone.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt import engine, kernels
from rosenblatt.engine import in_threads
from rosenblatt.examples import Examples, kernel_rows
from rosenblatt.hypothesis import SMALLEST, UNIT_ROUNDOFF
from rosenblatt.learn.sifting import (
    PLAIN,
    Flight,
    run_hardest_first,
    run_lengths,
    run_sift,
    run_survey,
)

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Rows = NDArray[np.unsignedinteger[Any]]
Places = NDArray[np.intp]
Survivor = tuple[int, int | None]

FLIGHT = 256  # vectors
KEPT_ENTRIES = 2**23  # of rows in single precision: about as much as a cache holds
FEW = 16  # a flight ends when one in so many is left
MANY_ROWS = 2**14  # fewer are judged faster by plain products
SAMPLE = 512  # rows
NEARLY = 1.02
NOTES = 2**16
SINGLE_ROUNDOFF = 2.0**-24


@dataclass(frozen=True, eq=False)
class Crowd:
    """The vectors to judge, their directions, and how many mistakes are too many for each."""

    W: Floats
    units: Singles
    bars: Floats


class Field(NamedTuple):
    """All rows: as directions by their steps, in the order of the file, and what they cost."""

    rows: kernels.Dense | kernels.Sparse
    order: Rows
    costs: NDArray[Any]


class Sieve:
    """Drops the vectors that make no fewer mistakes than one before them.

    Examples
    --------
    >>> examples = Examples.from_arrays([[1.0], [2.0], [3.0]], [0, 1, 1])
    >>> Sieve(examples).survivors(np.array([[0.5, 0.0], [-1.5, 1.0]]), best=1)
    [(1, 0)]
    """

    def __init__(self, examples: Examples, threads: int = 1) -> None:
        self.examples, self.threads = examples, threads
        self.field: Field | None = None

    def survivors(self, W: Floats, best: float) -> list[Survivor]:
        """The vectors that may beat `best`, with their mistakes where those are certain."""
        crowd = Crowd(W, _units(W), np.full(len(W), best, dtype=np.float64))
        if self.field is None:
            self.field = _field(self.examples)
        with engine.one_blas_thread():
            scouts = self._scouts(self.field, crowd)
            found = self._counted(self.field, crowd, scouts)
            for b, count in found:
                if count is not None:
                    np.minimum(crowd.bars[b + 1 :], count, out=crowd.bars[b + 1 :])
            others = np.delete(np.arange(len(W)), scouts)
            left = self._sifted(self.field, crowd, others)
            return sorted(found + self._counted(self.field, crowd, left))

    def _scouts(self, field: Field, crowd: Crowd) -> Places:
        """The vectors that do better than all before them on a sample of the rows, or nearly."""
        sample = field.order[:: 1 + self.examples.n // SAMPLE].copy()

        def look(some: Places) -> NDArray[Any]:
            flight = _flight(field, crowd.units[some], np.full(len(some), np.inf))
            run_sift(field.rows, sample, field.costs, flight, 0)
            return flight.wrong

        wrong = np.concatenate(self._fly(look, self._flights(np.arange(len(crowd.W)))))
        fewest = np.minimum.accumulate(np.concatenate([[np.inf], wrong[:-1]]))
        return np.flatnonzero(wrong < NEARLY * fewest)

    def _sifted(self, field: Field, crowd: Crowd, which: Places) -> Places:
        """Those of some vectors that are left when their flights end."""
        flights = self._flights(which)
        if not flights:
            return which
        cosines = _cosines(field, np.array([crowd.units[some].mean(axis=0) for some in flights]))

        def sift(some: Places, cosines: Singles) -> Places:
            order = np.empty_like(field.order)
            run_hardest_first(cosines, order)
            flight = _flight(field, crowd.units[some], crowd.bars[some])
            left = run_sift(field.rows, order, field.costs, flight, len(some) // FEW)
            return np.asarray(some[left])

        return np.concatenate(self._fly(sift, flights, cosines))

    def _counted(self, field: Field, crowd: Crowd, which: Places) -> list[Survivor]:
        """Those of some vectors that stay below their bars on every row."""

        def count(some: Places) -> list[Survivor]:
            flight = _flight(field, crowd.units[some], crowd.bars[some], NOTES)
            left = run_sift(field.rows, field.order, field.costs, flight, 0)
            certain = self._settled(crowd.W[some], flight)
            return [(int(some[b]), int(flight.wrong[b]) if certain[b] else None) for b in left]

        return [one for found in self._fly(count, self._flights(which)) for one in found]

    def _settled(self, W: Floats, flight: Flight) -> NDArray[np.bool_]:
        """Settle doubts in doubles; say for each vector whether its count is certain."""
        examples, noted = self.examples, flight.notes[0, 0]
        n, b = flight.notes[1 : noted + 1].T
        v = np.einsum("ij,ij->i", examples.X[n], W[b, 1:]) + W[b, 0] * examples.x0
        slack = double_slack(examples, W[b])
        np.add.at(flight.wrong, b[examples.y[n] * v < -slack], 1)
        certain = np.full(len(W), examples.weights is None and noted < NOTES)
        certain[b[~(np.abs(v) > slack)]] = False
        return certain

    def _flights(self, which: Places) -> list[Places]:
        """Some vectors, neighbours together, in a flight or more for each thread."""
        count = max(min(self.threads, len(which)), -(-len(which) // FLIGHT))
        return np.array_split(which, count) if count else []

    def _fly(self, work: Callable[..., Any], *flights: Any) -> list[Any]:
        """The work on each flight, at once in threads."""
        if min(self.threads, len(flights[0])) <= 1:
            return list(map(work, *flights))
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(work, *flights))


def _flight(field: Field, units: Singles, bars: Floats, notes: int = 1) -> Flight:
    wrong = np.zeros(len(units), dtype=field.costs.dtype)
    slack = np.float32(1.1 * (units.shape[1] + 6) * SINGLE_ROUNDOFF)
    return Flight(units, bars, wrong, np.zeros((notes, 2), dtype=np.int64), slack)


def _cosines(field: Field, means: Singles) -> Singles:
    """How each row stands to the mean of each flight."""
    cosines = np.empty((len(means), len(field.order)), dtype=np.float32)

    def fill(part: slice) -> None:
        run_survey(field.rows, field.order[part], means, cosines[:, part])

    in_threads(fill, len(field.order), len(field.order) * means.size)
    return cosines


def _field(examples: Examples) -> Field:
    """The rows in single precision, or as they are where that would take much memory."""
    n, few = examples.n, examples.X.size <= KEPT_ENTRIES
    order, step = np.arange(n, dtype=examples.row_type), np.empty(n, dtype=np.float32)
    given = kernel_rows(examples.X, examples.x0, step)
    X = np.empty(examples.X.shape, dtype=np.float32) if few else examples.X

    def fill(part: slice) -> None:
        run_lengths(given, examples.y, order[part], step)
        if few:
            with np.errstate(all="ignore"):  # rows too long for single precision are never sure
                X[part] = examples.X[part]

    in_threads(fill, n, examples.X.size)
    costs = np.ones(n, dtype=np.int32) if examples.weights is None else examples.weights
    return Field(kernel_rows(X, examples.x0, step), order, costs)


def worth_sifting(examples: Examples) -> bool:
    """Whether these are many dense rows, of a size that single precision can do with."""
    if examples.is_sparse or examples.n < MANY_ROWS or examples.d == 0:
        return False
    typical = examples.squares / examples.n + examples.x0 * examples.x0
    return PLAIN[0] < typical < PLAIN[1]


def double_slack(examples: Examples, W: Floats) -> Floats:
    """How far from 0 a score must be for all ways of summing it in doubles to agree on its sign."""
    share = 4 * (examples.longest + 1) * UNIT_ROUNDOFF
    with np.errstate(over="ignore", invalid="ignore"):
        slack: Floats = share * examples.length * np.sqrt((W * W).sum(axis=1)) + SMALLEST
    return slack


def _units(W: Floats) -> Singles:
    """Each vector divided by its length; not a number where that is 0."""
    with np.errstate(all="ignore"):
        W = W / np.abs(W).max(axis=1, keepdims=True)
        units: Singles = (W / np.sqrt((W * W).sum(axis=1, keepdims=True))).astype(np.float32)
    return units
