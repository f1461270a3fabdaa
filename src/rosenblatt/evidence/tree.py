"""Proof trees: lower bounds on the cost of the mistakes of any w, shown by conflicts.

Every w makes a mistake on some row of each conflict. A node of the tree branches on whether one
row is a mistake. At a leaf, the rows on the path are mistakes or right, and all others are open.
Weights u on the conflicts that no mistake on the path hits bound the cost of mistakes on open
rows: if the conflicts of no open row have more weight in all than the row costs, then any choice
of a row from each conflict costs at least Σ u. Costs are integers, so Σ u may be rounded up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from rosenblatt.errors import RowError, quote
from rosenblatt.text import plural

FITS = 2**62  # sums and products below this are exact in 64 bits
OPEN, WRONG, RIGHT = 0, 1, 2

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class Weighting:
    """Weights of some conflicts: number sets[i] of the proof has the weight shares[i] / over."""

    over: int
    sets: Numbers  # positions of the conflicts in the proof
    shares: Numbers

    def fault(self, sets: int) -> str:
        """Return why the weights do not suit a proof with `sets` conflicts; '' if they do."""
        if self.over <= 0:
            return "its denominator is not a positive integer"
        if len(self.sets) != len(self.shares) or min(self.shares, default=1) <= 0:
            return "it needs one positive share for each of its conflicts"
        unknown = [j for j in self.sets if not 0 <= j < sets]
        return f"the proof has no conflict {quote(unknown[0])}" if unknown else ""


@dataclass(frozen=True)
class Tree:
    """Proof tree: branches on whether a row is a mistake; each leaf has weights of conflicts.

    Nodes are in preorder: n ≥ 0 branches on row n, and is followed by the subtree where the row is
    a mistake, then by the one where it is right; -1 - j is a leaf that uses weightings[j].

    Examples
    --------
    Three rows, of which any two are a conflict: two of them are mistakes.

    >>> sets, costs = [(0, 1), (0, 2), (1, 2)], {0: 1, 1: 1, 2: 1}
    >>> Tree((-1,), (Weighting(2, (0, 1, 2), (1, 1, 1)),)).fault(sets, costs, 2)
    >>> print(Tree((-1,), (Weighting(1, (0, 1), (1, 1)),)).fault(sets, costs, 2))
    node 0, a leaf: the conflicts of row 0 weigh 2 in all, but it costs 1
    """

    nodes: Numbers
    weightings: tuple[Weighting, ...]

    @property
    def branches(self) -> int:
        """Number of nodes that branch on a row."""
        return sum(node >= 0 for node in self.nodes)

    def to_dict(self) -> dict[str, Any]:
        """Return the proof tree as a dict for JSON."""
        weightings = [
            {"over": w.over, "sets": list(w.sets), "shares": list(w.shares)}
            for w in self.weightings
        ]
        return {"nodes": list(self.nodes), "weightings": weightings}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Tree:
        """Create a proof tree from a dict made by `to_dict`."""
        weightings = (
            Weighting(w["over"], tuple(w["sets"]), tuple(w["shares"]))
            for w in content["weightings"]
        )
        return cls(tuple(content["nodes"]), tuple(weightings))

    def numbers(self) -> Iterator[tuple[str, Numbers]]:
        """Yield the name and the integers of each field of the tree, for a check of types."""
        yield "nodes", self.nodes
        for w in self.weightings:
            yield from (("over", (w.over,)), ("sets", w.sets), ("shares", w.shares))

    def fault(
        self, sets: Sequence[Numbers], costs: Mapping[int, int], need: int
    ) -> RowError | None:
        """Return why the tree does not prove that mistakes cost at least `need`; None if it does.

        Only rows that have costs may be named; no conflict has a row twice.
        """
        for j, weighting in enumerate(self.weightings):
            if fault := weighting.fault(len(sets)):
                return RowError(f"weighting {j:,}: {fault}")
        path, rows = _Path(sets, costs), list[int]()
        for at, node in enumerate(self.nodes):
            if node >= 0:
                if wrong := path.descend(node):
                    return wrong.prefix(f"node {at:,}: ")
                rows.append(node)
                continue
            if -1 - node >= len(self.weightings):
                uses = f"node {at:,} is a leaf that uses weighting {quote(-1 - node)}"
                return RowError(f"{uses}, but the tree has no such weighting")
            if wrong := path.check_leaf(self.weightings[-1 - node], need):
                return wrong.prefix(f"node {at:,}, a leaf: ")
            while rows and path.turn(rows[-1]):
                rows.pop()
            if not rows:
                more = len(self.nodes) - at - 1
                return RowError(f"{plural(more, 'node')} after its end") if more else None
        return RowError("a subtree is missing at its end")


class _Path:
    """Path from the root of a proof tree to a node, with what it assumes about each row."""

    def __init__(self, sets: Sequence[Numbers], costs: Mapping[int, int]) -> None:
        self.places = {n: i for i, n in enumerate(costs)}
        self.names, self.costs = list(costs), list(costs.values())
        self.dearest = max([1, *self.costs])
        self.each = np.array(self.costs, np.int64 if self.dearest < FITS else object)
        self.state = np.zeros(len(self.costs), dtype=np.int8)
        self.spent = 0  # total cost of the rows that are wrong
        self.sizes = np.array([len(rows) for rows in sets], dtype=np.intp)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.rows = np.array([self.places[n] for n in chain(*sets)], dtype=np.intp)
        self.hits = np.zeros(len(sets), dtype=np.intp)  # number of wrong rows in each conflict
        owners = np.repeat(np.arange(len(sets)), self.sizes)[np.argsort(self.rows, kind="stable")]
        ends = np.cumsum(np.bincount(self.rows, minlength=len(self.costs)))
        self.sets_of = np.split(owners, ends[:-1])

    def descend(self, n: int) -> RowError | None:
        """Assume that row n is a mistake; return why the tree cannot branch on it, or None."""
        place = self.places.get(n)
        if place is None:
            return RowError(f"row {quote(n)}, counted from 0, has no cost in the proof")
        if self.state[place] != OPEN:
            return RowError("", n, " was branched on before")
        self._change(place, WRONG, 1)
        return None

    def turn(self, n: int) -> bool:
        """Assume that row n is correct if it was assumed a mistake; else drop the assumption.

        Called after each of the two subtrees of a branch on row n. Returns whether both are done.
        """
        place = self.places[n]
        done = self.state[place] == RIGHT
        if done:
            self.state[place] = OPEN
        else:
            self._change(place, RIGHT, -1)
        return bool(done)

    def _change(self, place: int, state: int, step: int) -> None:
        self.state[place] = state
        self.spent += step * self.costs[place]
        self.hits[self.sets_of[place]] += step

    def check_leaf(self, weighting: Weighting, need: int) -> RowError | None:
        """Return why a leaf does not prove that mistakes cost at least `need`; None if it does.

        `weighting` has the weights of conflicts at the leaf.
        """
        over = weighting.over
        fits = max(self.dearest * over, sum(weighting.shares)) < FITS
        kind = np.int64 if fits else object  # Python integers never overflow
        sets, shares = np.array(weighting.sets, dtype=np.intp), np.array(weighting.shares, kind)
        alive = self.hits[sets] == 0
        sets, shares = sets[alive], shares[alive]
        sizes = self.sizes[sets]
        ends = np.cumsum(sizes)
        entries = np.repeat(self.starts[sets] - (ends - sizes), sizes)
        loads = np.zeros(len(self.costs), kind)
        np.add.at(loads, self.rows[entries + np.arange(len(entries))], np.repeat(shares, sizes))
        heavy = (loads > self.each.astype(kind, copy=False) * over) & (self.state == OPEN)
        if heavy.any():
            place = int(heavy.argmax())
            cost = quote(self.costs[place])
            after = f" weigh {_quote_fraction(int(loads[place]), over)} in all, but it costs {cost}"
            return RowError("the conflicts of ", self.names[place], after)
        total = int(shares.sum())
        if self.spent - (-total // over) >= need:
            return None
        found = f"{quote(self.spent)} and the conflicts add {_quote_fraction(total, over)}"
        return RowError(f"the mistakes cost {found}, together less than {quote(need)}")


def _quote_fraction(number: int, over: int) -> str:
    return quote(number // over) if number % over == 0 else f"{quote(number)}/{quote(over)}"
