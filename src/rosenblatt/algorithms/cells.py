"""The fewest mistakes for few features, by enumerating cells: sets of all w with equal mistakes.

A cell cheaper than the best known one has a two-dimensional face, on the hyperplanes of some rows,
the pivots (see `faces`). Pivots are fixed one after another, and the other rows are projected onto
the orthogonal complement. Rows that are wrong on a face are wrong in its cell, too. So, first, cut
the remaining w into simplices and drop those in which the rows that are wrong throughout cost as
much as the best: the hyperplanes of further pivots meet a simplex that is not dropped. Second, when
two dimensions are left, turn w around and count the mistakes from crossing to crossing. Third,
examine what may still be cheaper in exact integer arithmetic.

The first two steps use floats and drop only what certainly costs too much: a sign or an order that
rounding could decide is taken to be whichever costs less.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.faces import Directions, Vector, dot, round_to_floats, to_unit_length
from rosenblatt.algorithms.pocket import Judge
from rosenblatt.algorithms.simplices import (
    FOUND,
    KNOWN,
    ROUNDED,
    new_crossings,
    new_levels,
    run_mark,
    run_turn,
)
from rosenblatt.examples import FITS, Costs, Examples

Floats = NDArray[np.float64]

# Number of rows that take about a minute on two cores, by the number of dimensions of w.
MOST_ROWS = {4: 5_000, 5: 2_000, 6: 500, 7: 200}
MOST_IN_THE_PLANE = 50_000
# Lower bounds to prove first, as shares of the best known cost.
SHARES = (0.5, 0.7, 0.8, 0.87, 0.92, 0.96)
FEW_FACES = 64  # at most this many faces are all examined exactly
FEW_CROSSINGS = 2**22  # at most this many in up to four dimensions: no simplices are cut
SHORT = 2.0**-8  # shorter projected rows are projected again, exactly
LEAST_SPREAD = 2.0**-12  # ratio of spreads in two directions below which they are not equalized
GRAIN = 2.0**10
PART = 4  # times that each first simplex is halved, to give the threads parts
AT_ONCE = 16  # pivots in one task of a thread
MOMENT = 0.05  # seconds between two checks of the time


def few_cells(examples: Examples) -> bool:
    """Return whether enumerating all cells should take less than a minute."""
    dimension = examples.dimension
    most = MOST_IN_THE_PLANE if dimension <= 3 else MOST_ROWS.get(dimension, 0)
    return len(examples.kept) <= most


def cells_optimum(
    examples: Examples,
    start: Floats,
    stopped: Callable[[], bool] = lambda: False,
    threads: int = 1,
    found: Callable[[Floats], object] = lambda w: None,
) -> Enumeration | None:
    """Find the weights with the fewest mistakes by enumerating all cells.

    Cells no better than `start`, augmented weights, are skipped. `found` is called with better
    weights on the way. The result is None if stopped before the end. The time grows quickly with
    the number of features: see `few_cells`.

    Examples
    --------
    >>> xor = Examples.from_arrays([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    >>> cells_optimum(xor, np.zeros(3)).mistakes
    1
    """
    search = Enumeration(examples, start, found)
    return search if search.go(stopped, threads) else None


def none_cheaper(
    examples: Examples,
    cost: int,
    stopped: Callable[[], bool] = lambda: False,
    threads: int = 1,
) -> bool | None:
    """Return whether the mistakes of every w cost at least `cost`, by enumeration.

    The lower the cost, the fewer cells there are to enumerate. None if stopped before the end.

    Examples
    --------
    >>> xor = Examples.from_arrays([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    >>> none_cheaper(xor, 1), none_cheaper(xor, 2)
    (True, False)
    """
    search = Enumeration(examples, np.zeros(examples.d + 1), lambda w: None)
    search.cost = min(search.cost, cost)
    ended = search.go(lambda: search.cost < cost or stopped(), threads)
    if search.cost < cost:
        return False
    return True if ended else None


def cells_bounds(
    examples: Examples, cost: int, stopped: Callable[[], bool], threads: int = 1
) -> Iterator[int]:
    """Yield increasing lower bounds on the cost of mistakes, proved by enumeration.

    `cost` is the cost of some w. Each bound takes about as long as all before it together, or
    longer.
    """
    for share in SHARES:
        bound = int(Fraction(share) * cost)
        if not none_cheaper(examples, bound, stopped, threads):
            return
        yield bound


@dataclass(frozen=True, eq=False)
class Flat:
    """Subspace of the weights orthogonal to the pivots, with all rows projected onto it.

    Coordinates have an error of at most `error`, in some orthonormal basis near `basis`. Only
    directions matter: a row too short for a reliable one is projected exactly, and set to 0 if it
    vanishes here.
    """

    pivots: tuple[int, ...]
    basis: Floats  # (dimensions of w, dimensions left)
    rows: Floats  # (dimensions left, rows)
    error: float

    def fix(self, n: int, exact: list[Vector]) -> Flat:
        """Fix the score of row n at 0: return the part of the subspace orthogonal to this row.

        The row becomes the last pivot.
        """
        length = math.sqrt(float((self.rows[:, n] ** 2).sum()))
        # Orthonormal columns that are orthogonal to the row, from Householder's reflection.
        v = self.rows[:, n] / length
        k = int(np.abs(v).argmax())
        v[k] += math.copysign(1.0, v[k])
        H = np.eye(len(v)) - np.outer(v, v * (2 / float((v * v).sum())))
        Q = np.delete(H, k, axis=1)
        rows, basis = _multiply(Q.T, self.rows), self.basis @ Q
        rows[:, n] = 0.0
        pivots = (*self.pivots, n)
        short = (rows**2).sum(axis=0) < SHORT**2
        for k in np.flatnonzero(short & rows.any(axis=0)).tolist():
            rest = _project_out(exact[k], [exact[p] for p in pivots])
            rows[:, k] = to_unit_length(rest) @ basis if any(rest) else 0.0
        # An error in the pivot rotates the subspace, and rows of length 1 with it.
        return Flat(pivots, basis, rows, self.error * (1 + 1.1 / length) + ROUNDED)


def _multiply(A: Floats, B: Floats) -> Floats:
    """Multiply a small matrix A by B without starting threads."""
    return np.asarray((A[:, :, None] * B).sum(axis=1))


def _project_out(z: Vector, pivots: list[Vector]) -> Vector:
    """Project z onto the space orthogonal to all pivots, in integers, up to a positive factor."""
    orthogonal: list[Vector] = []
    for row in (*pivots, z):
        rest = row
        for p in orthogonal:
            square, product = dot(p, p), dot(p, rest)
            rest = tuple(square * v - product * q for v, q in zip(rest, p, strict=True))
        orthogonal.append(rest)
    return orthogonal[-1]


def equalize(rows: list[Vector]) -> list[Vector]:
    """Transform rows linearly to make the distribution of their directions more uniform.

    Simplices with edges of equal length then meet about equally many hyperplanes.
    Rows z become A z for an integer matrix A, and w is multiplied by the inverse of A.
    """
    if not rows:
        return rows
    Z = np.array([to_unit_length(z) for z in rows])
    squares, axes = np.linalg.eigh(_multiply(Z.T, Z) / len(Z))
    lengths = np.sqrt(squares.clip(LEAST_SPREAD * squares[-1]))
    A = _multiply(axes * (lengths[0] / lengths), axes.T)
    whole = np.rint(A * GRAIN).astype(np.int64).tolist()
    return [tuple(dot(row, z) for row in whole) for z in rows]


class Enumeration:
    """Exact search for the weights whose mistakes cost least, cell by cell.

    Threads share the best weights so far. `w`, augmented weights, make more mistakes than `cost`
    only if the best cell is too small for floats; `exact`, which is not rounded, never does. It is
    empty if `start` was as good.
    """

    def __init__(
        self, examples: Examples, start: Floats, found: Callable[[Floats], object]
    ) -> None:
        self.found, self.directions = found, Directions(examples)
        self.judge, self.true_costs = Judge(examples), Costs.of(examples)
        self.w, self.attained = start, self.true_costs.total(self.judge.wrong(start))
        self.cost, self.exact = self.attained, list[Fraction]()  # the cost in the unit of `Costs`
        self.lock = threading.Lock()
        self.arrangement = self.directions.arrangement
        costs = self.arrangement.costs
        total = int(costs.sum()) if len(costs) else 0
        self.unit = 1 + total // FITS  # very large costs are rounded down to multiples of this unit
        self.costs = np.array([c // self.unit for c in costs.tolist()], dtype=np.int64)
        self.rows = equalize(self.arrangement.rows)
        self.halt = np.zeros(1, dtype=np.bool_)  # kernels check this flag, too
        few = self.arrangement.n_faces * len(self.rows) <= FEW_CROSSINGS
        # With few crossings, turning w is as fast, and the loop that cuts is not compiled.
        self.cut = not (few and self.arrangement.dimension <= 4)

    @property
    def mistakes(self) -> float:
        """Number of mistakes of the best weights so far, or total sample weight of these rows."""
        return self.true_costs.number(self.cost)

    @property
    def below(self) -> int:
        """Lowest cost of mistakes found so far, minus the cost that no w can avoid."""
        return self.cost - self.directions.always

    @property
    def limit(self) -> int:
        """Cost that better weights must stay below, in multiples of `unit`, rounded up."""
        return -(-self.below // self.unit)

    def go(self, stopped: Callable[[], bool], threads: int) -> bool:
        """Enumerate the cells, and return whether the enumeration reached its end."""
        self.stopped, self.threads = stopped, threads
        dimension = self.arrangement.dimension
        if dimension <= 2 or self.arrangement.n_faces <= FEW_FACES:
            for each in self.arrangement.pivots():
                self._examine(each)
            return True
        Z = np.array([to_unit_length(z) for z in self.rows]).T.copy()
        flat = Flat((), np.eye(len(Z)), Z, ROUNDED)
        pivots = self._next_pivots(flat)
        if dimension == 3:
            some = [pivots[k : k + AT_ONCE] for k in range(0, len(pivots), AT_ONCE)]
            self._each(some, lambda few: self._turn(flat, few))
        else:
            self._each(pivots, lambda n: self._fix(flat, n))
        return not self.halt[0]

    def _examine(self, pivots: tuple[int, ...]) -> None:
        """Search near the plane where all pivots score 0, and keep weights with cheaper mistakes.

        All cells that touch the plane are searched. Weights are kept if their mistakes cost less
        than those of the best weights so far; costs are exact.
        """
        found = self.arrangement.cheapest(pivots, self.below)
        if found is None:
            return
        cost, w = found
        with self.lock:
            if cost < self.below:
                self.cost, self.exact = cost + self.directions.always, self.directions.weights(w)
                inside = round_to_floats(self.exact)
                count = self.true_costs.total(self.judge.wrong(inside))
                if count < self.attained:
                    self.attained, self.w = count, inside
                    self.found(inside)

    def _each(self, tasks: Iterable[Any], work: Callable[[Any], object]) -> None:
        """Run `work` on each task in threads, until stopped or interrupted."""
        waiting = iter(list(tasks))

        def do_tasks() -> None:
            for task in waiting:
                if self.halt[0]:
                    return
                work(task)

        with ThreadPoolExecutor(self.threads) as pool:
            try:
                left = {pool.submit(do_tasks) for _ in range(self.threads)}
                while left:
                    self.halt[0] |= self.stopped()
                    done, left = wait(left, MOMENT)
                    for one in done:
                        one.result()
            except BaseException:
                self.halt[0] = True
                raise

    def _fix(self, flat: Flat, n: int) -> None:
        """Make row n the next pivot, and enumerate the cells for all choices of later pivots."""
        flat = flat.fix(n, self.rows)
        pivots = self._next_pivots(flat)
        if len(flat.rows) == 3:
            self._turn(flat, pivots)
            return
        for k in pivots:
            if self.halt[0]:
                return
            self._fix(flat, k)

    def _next_pivots(self, flat: Flat) -> list[int]:
        """Return the rows worth trying as the next pivot (a row whose score is fixed at 0).

        They come after the last pivot, and their hyperplanes may touch a cell that costs less than
        the best so far.
        """
        marks = np.where(flat.rows.any(axis=0), 0, KNOWN).astype(np.int8)
        marks[: flat.pivots[-1] + 1 if flat.pivots else 0] = KNOWN

        def mark(parts: tuple[int, int, int]) -> None:
            bound, workspace = (self.limit, flat.error), new_levels(*flat.rows.shape)
            run_mark(flat.rows, self.costs, marks, bound, parts, self.halt, workspace)

        simplices = 2 ** len(flat.rows)
        if self.cut and flat.pivots:
            mark((0, simplices, 0))
        elif self.cut:  # all threads mark rows together
            self._each(range(simplices << PART), lambda part: mark((part, part + 1, PART)))
        pivots: list[int] = np.flatnonzero(marks == (FOUND if self.cut else 0)).tolist()
        return pivots

    def _turn(self, flat: Flat, pivots: list[int]) -> None:
        """Try each row of `pivots` as the last pivot, unless it cannot lead to a lower cost.

        Rows with the smallest lower bounds on the cost of their cells are tried first.
        """
        rows = np.array(pivots, dtype=np.intp)
        bounds = np.zeros(len(rows), dtype=np.int64)
        crossings = new_crossings(flat.rows.shape[1])
        run_turn(flat.rows, self.costs, rows, bounds, self.limit, flat.error, crossings)
        for k in np.argsort(bounds, kind="stable").tolist():
            if bounds[k] >= self.limit or self.halt[0]:
                break
            self._examine((*flat.pivots, pivots[k]))
