"""A tree that proves how few mistakes are possible, from rows that block one another.

A blocking set costs every w a mistake on one of its rows. A node of the tree asks of one row
whether it is a mistake. At a leaf, the rows asked on the way are given up or right, all others
open, and weights u on the sets that nothing given up hits bound what the open rows cost: if no
open row is in sets of more u in all than it costs, then Σ u is at most what any choice of a row
from each set costs. Costs are whole numbers, so Σ u may be rounded up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from rosenblatt.errors import RowError, quoted
from rosenblatt.words import counted

FITS = 2**62  # sums and products below it are exact in 64 bits
OPEN, GONE, KEPT = 0, 1, 2

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class Weighting:
    """Weights on blocking sets: u is shares[i] / over on the set sets[i]."""

    over: int
    sets: Numbers  # by their places in the proof
    shares: Numbers

    def fault(self, sets: int) -> str:
        """Why it is none on so many sets, or nothing."""
        if self.over <= 0:
            return "its shares are not over a positive whole number"
        if len(self.sets) != len(self.shares) or min(self.shares, default=1) <= 0:
            return "it has not one positive share for each of its sets"
        strange = [j for j in self.sets if not 0 <= j < sets]
        return f"the proof has no set {quoted(strange[0])}" if strange else ""


@dataclass(frozen=True)
class Tree:
    """Questions about rows, and weights on blocking sets that answer each case.

    Nodes are in preorder: n ≥ 0 asks whether row n is a mistake, and is followed by the subtree
    where it is, then by the one where it is right; -1 - j is a leaf that uses weightings[j].

    Examples
    --------
    Three rows, of which any two block one another: two of them are mistakes.

    >>> sets, costs = [(0, 1), (0, 2), (1, 2)], {0: 1, 1: 1, 2: 1}
    >>> Tree((-1,), (Weighting(2, (0, 1, 2), (1, 1, 1)),)).fault(sets, costs, 2)
    >>> print(Tree((-1,), (Weighting(1, (0, 1), (1, 1)),)).fault(sets, costs, 2))
    node 0, a leaf: the sets of row 0 weigh 2 in all, and it costs 1
    """

    nodes: Numbers
    weightings: tuple[Weighting, ...]

    @property
    def branches(self) -> int:
        """How many rows are asked about, each as often as it is."""
        return sum(node >= 0 for node in self.nodes)

    def content(self) -> dict[str, Any]:
        """What a file says of it."""
        weightings = [
            {"over": w.over, "sets": list(w.sets), "shares": list(w.shares)}
            for w in self.weightings
        ]
        return {"nodes": list(self.nodes), "weightings": weightings}

    @classmethod
    def of_content(cls, content: dict[str, Any]) -> Tree:
        """The tree that a file says."""
        weightings = (
            Weighting(w["over"], tuple(w["sets"]), tuple(w["shares"]))
            for w in content["weightings"]
        )
        return cls(tuple(content["nodes"]), tuple(weightings))

    def numbers(self) -> Iterator[tuple[str, Numbers]]:
        """All its numbers, with what they are called."""
        yield "nodes", self.nodes
        for w in self.weightings:
            yield from (("over", (w.over,)), ("sets", w.sets), ("shares", w.shares))

    def fault(
        self, sets: Sequence[Numbers], costs: Mapping[int, int], need: int
    ) -> RowError | None:
        """Return why it does not prove that mistakes cost `need`, or None if it does.

        Rows that may be named are those that have costs; no set has a row twice.
        """
        for j, weighting in enumerate(self.weightings):
            if fault := weighting.fault(len(sets)):
                return RowError(f"weighting {j:,}: {fault}")
        way, asked = _Way(sets, costs), list[int]()
        for at, node in enumerate(self.nodes):
            if node >= 0:
                if wrong := way.give_up(node):
                    return wrong.after_words(f"node {at:,}: ")
                asked.append(node)
                continue
            if -1 - node >= len(self.weightings):
                none = f"the tree has no weighting {quoted(-1 - node)}"
                return RowError(f"node {at:,}, a leaf: {none}")
            if wrong := way.end(self.weightings[-1 - node], need):
                return wrong.after_words(f"node {at:,}, a leaf: ")
            while asked and way.turn(asked[-1]):
                asked.pop()
            if not asked:
                more = len(self.nodes) - at - 1
                return RowError(f"{counted(more, 'node')} after its end") if more else None
        return RowError("it ends where a subtree is missing")


class _Way:
    """The way from the root to a node: which rows are given up or right, and the sets not hit."""

    def __init__(self, sets: Sequence[Numbers], costs: Mapping[int, int]) -> None:
        self.places = {n: i for i, n in enumerate(costs)}
        self.names, self.costs = list(costs), list(costs.values())
        self.dearest = max([1, *self.costs])
        self.each = np.array(self.costs, np.int64 if self.dearest < FITS else object)
        self.state = np.zeros(len(self.costs), dtype=np.int8)
        self.spent = 0  # what the rows given up cost
        self.sizes = np.array([len(rows) for rows in sets], dtype=np.intp)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.rows = np.array([self.places[n] for n in chain(*sets)], dtype=np.intp)
        self.hits = np.zeros(len(sets), dtype=np.intp)  # rows given up in each set
        owners = np.repeat(np.arange(len(sets)), self.sizes)[np.argsort(self.rows, kind="stable")]
        ends = np.cumsum(np.bincount(self.rows, minlength=len(self.costs)))
        self.sets_of = np.split(owners, ends[:-1])

    def give_up(self, n: int) -> RowError | None:
        """Take row n for a mistake; return why that cannot be asked."""
        place = self.places.get(n)
        if place is None:
            return RowError(f"row {quoted(n)} of the proof, counted from 0, cannot be asked about")
        if self.state[place] != OPEN:
            return RowError("", n, " was asked about before")
        self._change(place, GONE, 1)
        return None

    def turn(self, n: int) -> bool:
        """Take row n, which was a mistake, for right; or, where that was done, have it open again.

        Says whether it is done with.
        """
        place = self.places[n]
        done = self.state[place] == KEPT
        if done:
            self.state[place] = OPEN
        else:
            self._change(place, KEPT, -1)
        return bool(done)

    def _change(self, place: int, state: int, step: int) -> None:
        self.state[place] = state
        self.spent += step * self.costs[place]
        self.hits[self.sets_of[place]] += step

    def end(self, weighting: Weighting, need: int) -> RowError | None:
        """Return why these weights do not prove here that mistakes cost `need`, or None."""
        total, heavy = self._weigh(weighting)
        over = weighting.over
        if heavy is not None:
            place, load = heavy
            told = f" weigh {_told(load, over)} in all, and it costs {quoted(self.costs[place])}"
            return RowError("the sets of ", self.names[place], told)
        if self.spent - (-total // over) >= need:
            return None
        told = f"{quoted(self.spent)} and the sets {_told(total, over)}"
        return RowError(f"the rows given up cost {told}, together less than {quoted(need)}")

    def _weigh(self, weighting: Weighting) -> tuple[int, tuple[int, int] | None]:
        """The sum of all shares on sets not hit, and an open row that has too much, if any."""
        fits = max(self.dearest * weighting.over, sum(weighting.shares)) < FITS
        kind = np.int64 if fits else object  # Python's whole numbers have no end
        sets, shares = np.array(weighting.sets, dtype=np.intp), np.array(weighting.shares, kind)
        alive = self.hits[sets] == 0
        sets, shares = sets[alive], shares[alive]
        sizes = self.sizes[sets]
        ends = np.cumsum(sizes)
        entries = np.repeat(self.starts[sets] - (ends - sizes), sizes)
        loads = np.zeros(len(self.costs), kind)
        np.add.at(loads, self.rows[entries + np.arange(len(entries))], np.repeat(shares, sizes))
        most = self.each.astype(kind, copy=False) * weighting.over
        heavy = (loads > most) & (self.state == OPEN)
        place = int(heavy.argmax())
        return int(shares.sum()), (place, int(loads[place])) if heavy[place] else None


def _told(number: int, over: int) -> str:
    return quoted(number // over) if number % over == 0 else f"{quoted(number)}/{quoted(over)}"
