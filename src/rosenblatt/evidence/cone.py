"""Directions in which a likelihood never falls: the rows they separate, the estimates they move.

Rows z ask for γ·z ≥ 0, pinned rows for γ·z = 0. A row is *separated* if some such γ has γ·z > 0
there, and *overlaps* otherwise. One γ is positive on every separated row and zero on the others,
and one set of multipliers, positive on every overlapping row and of any sign on pinned ones, has
Σ λ z = 0: a strictly complementary pair, and each side proves the other's rows. An estimate is
infinite if some γ of this cone moves its coefficient. `partition` and `blame` find all that for any
rows in exact arithmetic; `Crossed` does for two crossed fixed effects, by walks in a graph.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from rosenblatt.evidence.decide import (
    divide,
    joined,
    part_of,
    quotient_by,
    reduced,
    with_the_rest,
)
from rosenblatt.evidence.families import Constraints, Mask, Question
from rosenblatt.evidence.integers import sum_of_rows
from rosenblatt.evidence.nearest import Watch
from rosenblatt.evidence.parts import Part, Vector
from rosenblatt.evidence.signed import (
    Alternative,
    Quotient,
    Scale,
    Signed,
    independent_columns,
    look_at,
)
from rosenblatt.examples import Examples

Ints = NDArray[np.intp]

SPARE = 8  # rows looked at beyond those that are needed to span a space
ALONE = 100  # columns of which each is tried alone
FEW = 24  # more columns to drop than so many are no advice
MANY = 400  # of so many columns those to drop are not looked for: it would take minutes

NO_PART = Part((), ())

# Why an estimate is what it is, in words.
FINITE, UP, DOWN = "finite", "grows without bound", "falls without bound"
EITHER, UNKNOWN = "infinite, of either sign", "not identified by any row"
UNSIGNED = "infinite, its sign not known"  # where the run ended before it was
INFINITE = (UP, DOWN, EITHER, UNSIGNED)
ESTIMATES = {FINITE: 0.0, UP: math.inf, DOWN: -math.inf} | dict.fromkeys(
    (EITHER, UNKNOWN, UNSIGNED), math.nan
)
SHORT = {
    FINITE: "finite",
    UP: "+inf",
    DOWN: "-inf",
    EITHER: "±inf",
    UNKNOWN: "—",
    UNSIGNED: "infinite",
}


@dataclass(frozen=True, eq=False)
class Partition:
    """Which rows are separated, γ and multipliers that show it, and the span of the others."""

    separated: Mask  # one for each row
    direction: Vector = ()  # γ: positive on separated rows, zero on the others
    part: Part = NO_PART  # its rest is of rows that overlap, neither listed nor pinned
    spanning: tuple[int, ...] = ()  # independent rows that span the overlapping ones
    reason: str = ""  # why it is undecided


@dataclass(frozen=True)
class Blame:
    """Why each estimate is what it is, and columns without which none is infinite."""

    why: tuple[str, ...]  # for each coefficient
    drop: tuple[str, ...] = ()  # none where it would take many, or is not known
    reason: str = ""  # why something is not known


def partition(constraints: Constraints, watch: Watch = lambda point, passes: None) -> Partition:
    """Find out which rows are separated, exactly.

    Examples
    --------
    >>> from rosenblatt.examples import Examples
    >>> rows = Examples.from_arrays([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1, 1, 1],
    ...                             x0=0.0, one_class=True)
    >>> found = partition(Constraints(rows, np.zeros(3, dtype=bool)))
    >>> found.separated.tolist(), found.direction, found.part.rows
    ([False, False, True], (0, 1), (0, 1))
    """
    signed, carried = _without_pinned(constraints)
    left, free = reduced(signed, carried, watch), len(carried[0].rows)
    separated = np.zeros(signed.examples.n, dtype=bool)
    if left.weights is None:
        return Partition(separated, reason=left.reason)
    if left.weights:
        assert left.signed.alive is not None
        separated = left.signed.alive
    found = joined(left.signed, carried, free)
    listed = separated | constraints.pinned
    listed[found.rows] = True
    if listed.all():
        part = part_of(left.signed, found)
    else:
        rest = sum_of_rows(signed.examples, without=listed)
        part = with_the_rest(left.signed, found, rest, free)
    columns = independent_columns(left.signed.exact_whole(found.rows).transpose())
    spanning = tuple(found.rows[i] for i in columns)
    return Partition(separated, left.weights or (0,) * signed.examples.d, part, spanning)


def _direction(constraints: Constraints, watch: Watch, row: int | None = None) -> Vector | None:
    """A direction that is positive wherever one can be, zeros if nowhere; None if undecided.

    With a row, zeros also as soon as it is known that none is positive there.
    """
    signed, carried = _without_pinned(constraints)
    weights = reduced(signed, carried, watch, row=row).weights
    return weights if weights is None or weights else (0,) * signed.examples.d


def _without_pinned(constraints: Constraints) -> tuple[Signed, list[Alternative]]:
    """The rows with the span of those pinned divided away, and what spans these."""
    examples = constraints.examples
    signed = Signed(examples, Scale.even(examples, look_at(examples)))
    free, signed = _span(signed, np.flatnonzero(constraints.pinned))
    return signed, [Alternative(rows=free, multipliers=[flint.fmpq(0)] * len(free))]


def _span(signed: Signed, among: NDArray[np.intp]) -> tuple[list[int], Signed]:
    """Independent rows that span some rows, and all rows with that span divided away."""
    spanning: list[int] = []
    signed = divide(signed, [])
    while signed.alive is not None and len(left := among[signed.alive[among]]):
        few = left[:: max(1, len(left) // (signed.dimension + SPARE))].tolist()
        keep = independent_columns(signed.exact(few).transpose())
        spanning += [few[i] for i in keep]
        signed = divide(signed, [Alternative(rows=spanning)])
    return spanning, signed


def _spanning_rows(examples: Examples, among: Any) -> list[int]:
    """Independent rows that span some of the examples."""
    signed = Signed(examples, Scale.even(examples, look_at(examples)))
    return _span(signed, np.asarray(among, dtype=np.intp))[0]


def blame(asked: Question, found: Partition, watch: Watch) -> Blame:
    """Find out which way the estimates run; what is known by then if interrupted."""
    constraints, reason = asked.constraints, ""
    why, alone = _known(constraints.examples, found)
    drop: Sequence[str] = ()
    cone = Cone(constraints, found, [found.direction], watch)
    try:
        for j in np.flatnonzero(np.array(why) == UNSIGNED).tolist():
            why[j] = cone.sign(j, alone=alone)
        if found.separated.any():
            drop = _droppable(cone, asked, why)
    except KeyboardInterrupt:
        reason = "interrupted before all was known about the coefficients"
    return Blame(tuple(why), tuple(drop), reason)


def _known(examples: Examples, found: Partition) -> tuple[list[str], bool]:
    """What the ranks tell of each coefficient, and whether there is one direction alone."""
    over = _null_space(examples, found.spanning)
    rows = np.flatnonzero(found.separated)
    spanning = [*found.spanning, *_spanning_rows(examples, rows)] if len(rows) else found.spanning
    every = _null_space(examples, _spanning_rows(examples, spanning))
    known = zip(_determined(over, examples.d), _determined(every, examples.d), strict=True)
    why = [FINITE if finite else UNSIGNED if is_known else UNKNOWN for finite, is_known in known]
    return why, len(over.others) - len(every.others) == 1


def _null_space(examples: Examples, spanning: Sequence[int]) -> Quotient:
    """The γ that are zero on some rows: what is at the pivots follows from the others."""
    return quotient_by(Signed(examples, Scale(np.ones(examples.d))), spanning)


def _determined(quotient: Quotient, dimension: int) -> Mask:
    """Which coordinates are zero for every γ of a null space."""
    result = np.zeros(dimension, dtype=bool)
    table: list[list[Any]] = quotient.fill.tolist()
    if quotient.fill.ncols() == 0:
        table = [[] for _ in quotient.pivots]
    for j, row in zip(quotient.pivots.tolist(), table, strict=True):
        result[j] = all(v == 0 for v in row)
    return result


@dataclass(frozen=True, eq=False)
class Cone:
    """The directions, asked which signs the coefficients have along them."""

    constraints: Constraints
    found: Partition
    directions: list[Vector]  # that are known to be in it
    watch: Watch

    def sign(self, j: int, *, alone: bool) -> str:
        """Whether coefficient j is positive, negative or either along the cone's directions."""
        signs = {(v[j] > 0) - (v[j] < 0) for v in self.directions} - {0}
        for side in (1, -1):
            if side not in signs and not alone:
                possible = self.possible(j, side)
                if possible is None:
                    return UNSIGNED
                signs |= {side} if possible else set()
        return EITHER if len(signs) == 2 else UP if signs == {1} else DOWN

    def possible(self, j: int, side: int) -> bool | None:
        """Whether some direction of the cone has this sign at j; None where undecided."""
        small = self._small([j], side)
        small.pinned[-1] = False
        found = _direction(small, self.watch, row=len(small.pinned) - 1)
        if found is None:
            return None
        self.directions.append(found)
        return side * found[j] > 0

    def without(self, columns: Sequence[int]) -> Vector | None:
        """A direction that is left once columns are dropped, zeros if none; None if undecided."""
        return _direction(self._small(columns), self.watch)

    def finite_without(self, columns: Sequence[int]) -> bool:
        """Whether nothing is separated once these columns are dropped."""
        left = self.without(columns)
        return left is not None and not any(left)

    def _small(self, columns: Sequence[int], side: int = 1) -> Constraints:
        """The separated rows, rows that span the others, and a row for each of some columns.

        All but the separated rows are pinned. What stands in a row of a column alone is as large
        as the numbers of the column, so that it stands out in no way.
        """
        examples = self.constraints.examples
        rows = np.flatnonzero(self.found.separated)
        index = np.concatenate((rows, np.array(self.found.spanning, dtype=np.intp)))
        X = examples.tall_rows(index)
        extra = np.zeros((len(columns), examples.d))
        for row, j in enumerate(columns):
            extra[row, j] = side * (float(np.abs(X[:, j]).max(initial=0.0)) or 1.0)
        y = np.concatenate((examples.y[index], np.ones(len(columns), dtype=np.int8)))
        pinned = np.arange(len(y)) >= len(rows)
        return Constraints(replace(examples, X=np.vstack((X, extra)), y=y), pinned)


def _droppable(cone: Cone, asked: Question, why: Sequence[str]) -> list[str]:
    """Few columns to drop so that nothing is separated: one if one will do."""
    places = asked.columns
    infinite = [name for name, js in places.items() if any(why[j] in INFINITE for j in js)]
    unknown = [name for name, js in places.items() if any(why[j] == UNKNOWN for j in js)]
    # Those that are infinite are to blame before those that no row identifies; the last first,
    # for before them stand the intercept and what a person put in first.
    order = list(dict.fromkeys([*reversed(infinite), *reversed(unknown)]))
    if len(order) > MANY:
        return []
    if len(order) <= ALONE:
        for name in order:
            if cone.finite_without(places[name]):
                return [name]
    chosen: list[str] = []
    left: Vector | None = cone.found.direction
    while left is not None and any(left):
        if len(chosen) == FEW:
            return []
        chosen.append(next(n for n in order if any(left[j] for j in places[n])))
        left = cone.without([j for name in chosen for j in places[name]])
    if left is None:
        return []
    chosen.sort(key=list(places).index)
    for name in list(chosen):
        fewer = [k for k in chosen if k != name]
        if fewer and cone.finite_without([j for k in fewer for j in places[k]]):
            chosen = fewer
    return chosen


@dataclass(frozen=True, eq=False)
class Crossed:
    """Two crossed fixed effects: separation as a question about paths in a graph.

    Each row of such a design has at most one dummy of each of two factors. With u the coefficients
    of the first factor and minus those of the second, its product with γ is a difference u_i - u_j,
    and u_i - u_j ≥ 0 is an arrow from i to j. An arrow that lies on a cycle overlaps: around the
    cycle the differences sum to zero. Any other leads from one strongly connected component to a
    later one, and numbering the components separates it. So tens of thousands of dummies take one
    walk of the graph. Its nodes are the columns, the intercept's node, and the ground.
    """

    constraints: Constraints
    tails: Ints  # the node that each row's arrow leaves
    heads: Ints  # and the one it leads to
    second: Mask  # which columns are of the second factor
    intercept: int  # the column that is all ones, or -1

    @classmethod
    def of(cls, constraints: Constraints) -> Crossed | None:
        """The rows as arrows, if they are of two factors at most, and perhaps an intercept."""
        X = sparse.coo_array(constraints.examples.X)
        X.sum_duplicates()
        X.eliminate_zeros()
        if (X.data != 1).any():
            return None
        n, d = X.shape
        full = np.flatnonzero(np.bincount(X.col, minlength=d) == n)
        intercept = int(full[0]) if len(full) else -1
        rows, columns = X.row[X.col != intercept], X.col[X.col != intercept].astype(np.intp)
        counts = np.bincount(rows, minlength=n)
        if counts.max(initial=0) > 2:
            return None
        ends = np.full((n, 2), -1, dtype=np.intp)
        order = np.argsort(rows, kind="stable")
        rows, columns = rows[order], columns[order]
        ends[rows, np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]] = columns
        second = _sides(ends[counts == 2], d)
        if second is None:
            return None
        reference, ground = (d + 1 if intercept < 0 else d), d + 1
        there = ends >= 0
        late = second[ends] & there
        tails = np.where(there & ~late, ends, -1).max(axis=1)
        heads = np.where(late, ends, -1).max(axis=1)
        tails, heads = np.where(tails < 0, reference, tails), np.where(heads < 0, ground, heads)
        back = constraints.examples.y < 0
        tails, heads = np.where(back, heads, tails), np.where(back, tails, heads)
        return cls(constraints, tails, heads, second, intercept)

    def graph(self, rows: Mask | None = None, both: bool = False) -> Any:
        """The arrows of some rows as a matrix; pinned rows, or all, lead both ways."""
        rows = np.ones(len(self.tails), dtype=bool) if rows is None else rows
        turned = rows if both else rows & self.constraints.pinned
        tails = np.concatenate((self.tails[rows], self.heads[turned]))
        heads = np.concatenate((self.heads[rows], self.tails[turned]))
        ones = np.ones(len(tails), dtype=np.int64)  # equal arrows add up
        nodes = self.constraints.examples.d + 2
        return sparse.csr_array((ones, (tails, heads)), shape=(nodes, nodes))

    def partition(self) -> Partition:
        """Which rows are separated, with γ and multipliers."""
        _, component = csgraph.connected_components(self.graph(), connection="strong")
        separated = component[self.tails] != component[self.heads]
        direction = self._direction(component, separated)
        return Partition(separated, direction, self._multipliers(component, ~separated))

    def _direction(self, component: Ints, separated: Mask) -> tuple[int, ...]:
        """Number the components so that every arrow between two leads downwards."""
        d = self.constraints.examples.d
        if not separated.any():
            return (0,) * d
        u = _heights(component, self.tails[separated], self.heads[separated])[component]
        u = u - u[d + 1]
        constant = u[d] if self.intercept >= 0 else 0
        gamma = np.where(self.second, -u[:d], u[:d] - constant)
        if self.intercept >= 0:
            gamma[self.intercept] = constant
        return tuple(int(v) for v in gamma)

    def _multipliers(self, component: Ints, overlapping: Mask) -> Part:
        """One round trip from a root through each arrow: out by one tree, home by another."""
        pinned = self.constraints.pinned
        inner = self.graph(overlapping)
        where = _arrows(self, overlapping)
        ones = overlapping & ~pinned
        leaving = np.bincount(self.tails[ones], minlength=len(component))
        coming = np.bincount(self.heads[ones], minlength=len(component))
        total: dict[int, int] = {}
        for graph, visits, outward in ((inner, leaving, True), (inner.T.tocsr(), coming, False)):
            for child, parent, flow in _flows(graph, component, visits):
                pair = (parent, child) if outward else (child, parent)
                row, sign = where[pair]
                total[row] = total.get(row, 0) + sign * flow
        listed = {row: m + int(ones[row]) for row, m in total.items() if m}
        rows = sorted(listed)
        return Part(tuple(rows), tuple(listed[row] for row in rows), int(ones.any()))

    def why(self, found: Partition) -> list[str]:
        """Why each coefficient is what it is: a difference of two nodes, by who reaches whom."""
        d, separated = self.constraints.examples.d, found.separated
        _, whole = csgraph.connected_components(self.graph(both=True), directed=False)
        overlap = self.graph(~separated, both=True)
        _, same = csgraph.connected_components(overlap, directed=False)
        reference = d + 1 if self.intercept < 0 else d
        # Nobody stands on a node that no row touches: what it is compared with is unknown.
        graph = self.graph() + overlap
        before, after = (
            {k: set(csgraph.breadth_first_order(g, k)[0].tolist()) for k in (d, d + 1)}
            for g in (graph.T.tocsr(), graph)
        )
        reasons = []
        for j in range(d):
            i, k, sign = (j, d + 1, -1) if self.second[j] else (j, reference, 1)
            if j == self.intercept:
                i, k, sign = d, d + 1, 1
            if whole[i] != whole[k]:
                reasons.append(UNKNOWN)
            elif same[i] == same[k]:
                reasons.append(FINITE)
            else:
                side = sign if i in before[k] else -sign if i in after[k] else 0
                reasons.append({1: UP, -1: DOWN, 0: EITHER}[side])
        return reasons

    def drop(self, found: Partition) -> list[int]:
        """Columns to drop: without its column, a node is one with the reference or the ground.

        Those of the component with the most rows are made one with both, and then whatever else
        a separated row touches.
        """
        d, separated = self.constraints.examples.d, found.separated
        if not separated.any():
            return []
        _, component = csgraph.connected_components(self.graph(), connection="strong")
        inner = ~separated & (self.tails != self.heads)
        touched = np.unique((self.tails[separated], self.heads[separated]))
        touched = touched[touched < d]
        if not inner.any():
            return sorted({*touched.tolist(), *([self.intercept] if self.intercept >= 0 else [])})
        base = int(np.bincount(component[self.tails[inner]]).argmax())
        members = np.flatnonzero(component[:d] == base)
        dropped = touched[component[touched] != base].tolist()
        if self.intercept < 0 and component[d + 1] != base:
            dropped.append(int(members[-1]))
        elif self.intercept >= 0:
            for node, side in ((d, ~self.second), (d + 1, self.second)):
                if component[node] != base:
                    dropped.append(int(members[side[members]][-1]))
        return sorted(dropped)

    def blame(self, asked: Question, found: Partition) -> Blame:
        """Why each coefficient is what it is, and what to drop."""
        columns = list(asked.columns)
        return Blame(tuple(self.why(found)), tuple(columns[j] for j in self.drop(found)))


def _sides(pairs: Ints, d: int) -> Mask | None:
    """Which columns are of a second factor, so that no row has two of one; None if there is none.

    In the graph of two copies of each column, rows go from one copy to the other: there are two
    factors if no path leads from a column to its own copy.
    """
    a, b = pairs.T
    graph = sparse.coo_array(
        (np.ones(2 * len(a)), (np.concatenate((a, a + d)), np.concatenate((b + d, b)))),
        shape=(2 * d, 2 * d),
    )
    _, component = csgraph.connected_components(graph.tocsr(), directed=False)
    if (component[:d] == component[d:]).any():
        return None
    return np.asarray(component[:d] > component[d:])


def _heights(component: Ints, tails: Ints, heads: Ints) -> Ints:
    """A number for each component, higher at the tail of every arrow than at its head."""
    order: TopologicalSorter[int] = TopologicalSorter()
    arrows = np.unique((component[tails], component[heads]), axis=1)
    for tail, head in arrows.T.tolist():
        order.add(head, tail)
    height = np.zeros(int(component.max()) + 1, dtype=np.intp)
    height[list(order.static_order())[::-1]] = np.arange(1, len(np.unique(arrows)) + 1)
    return height


def _arrows(crossed: Crossed, rows: Mask) -> dict[tuple[int, int], tuple[int, int]]:
    """A row for each arrow, and -1 where it is pinned and goes the other way."""
    index = np.flatnonzero(rows)
    tails, heads = crossed.tails[index].tolist(), crossed.heads[index].tolist()
    found = {
        (b, a): (n, -1)
        for n, a, b in zip(index.tolist(), tails, heads, strict=True)
        if crossed.constraints.pinned[n]
    }
    found.update(((a, b), (n, 1)) for n, a, b in zip(index.tolist(), tails, heads, strict=True))
    return found


def _flows(graph: Any, component: Ints, visits: Ints) -> list[tuple[int, int, int]]:
    """How often each edge of the trees from a root of each component is walked, for all visits."""
    result = []
    for root in np.unique(component, return_index=True)[1].tolist():
        if graph.indptr[root] == graph.indptr[root + 1]:
            continue
        order, parents = csgraph.breadth_first_order(graph, root)
        flow = visits.copy()
        for child in order[:0:-1].tolist():
            parent = int(parents[child])
            if flow[child]:
                result.append((child, parent, int(flow[child])))
            flow[parent] += flow[child]
    return result
