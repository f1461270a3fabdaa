"""Two crossed fixed effects: separation as a question about paths in a graph.

Each row of such a design has at most one dummy of each of two factors. With u the coefficients of
the first factor and minus those of the second, its product with γ is a difference u_i - u_j, and
u_i - u_j ≥ 0 is an arrow from i to j. An arrow that lies on a cycle overlaps: around the cycle the
differences sum to zero. Any other leads from one strongly connected component to a later one, and
numbering the components separates it. So tens of thousands of dummies take one walk of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from rosenblatt.evidence.cone import DOWN, EITHER, FINITE, UNKNOWN, UP, Blame, Partition
from rosenblatt.evidence.families import Constraints, Mask, Question
from rosenblatt.evidence.parts import Part

Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Crossed:
    """The rows as arrows between nodes: the columns, the intercept's node, and the ground."""

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
