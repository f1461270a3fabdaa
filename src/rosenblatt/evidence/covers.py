"""The fewest mistakes as a covering problem: cuts, branches, and every leaf exact.

The mistakes of a line hit every blocking set, and what hits them all leaves rows that some line
answers. So the fewest mistakes are the cheapest cover of the blocking sets, of which a few
hundred matter. A linear program over those that are known (the master) bounds the cover from
below; at its solution the finder looks for sets that are not covered, or a better line. Where
there are none, a row is asked about: is it a mistake, or right? The node whose bound is lowest is
taken next, so that the bound grows as long as there is time.

The floats of master and finder are never believed. The weights of a node are rounded down to
fractions and weighed in whole numbers, and the multipliers of its sets made exact; what fails is
left out, and solved again.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.fewest import Gap
from rosenblatt.clock import NEVER, Deadline, OutOfTimeError, now
from rosenblatt.costs import Costs
from rosenblatt.evidence.blocking import Finder, Found, Set
from rosenblatt.evidence.decide import multiples, part_of, part_or_weights
from rosenblatt.evidence.integers import merged
from rosenblatt.evidence.lowerbound import MOST_FEATURES
from rosenblatt.evidence.parts import Part
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import separability_of
from rosenblatt.evidence.signed import Scale, Signed, look_at, zero_sum
from rosenblatt.evidence.tree import Tree, Weighting
from rosenblatt.examples import Examples

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

MOST_ENTRIES = 2**15  # beyond them disjoint sets say more in the same time
TINY = 1e-9
OVER = 20  # binary digits of the shares in a weighting
ROUNDS, FIRST_ROUNDS = 20, 200  # of cuts at a node, and at the first
LITTLE = 0.01  # of a row: a gain of the last rounds so small ends them
LAST, FIRST_LAST = 3, 20  # rounds that are the last ones
NEAR = 1e-6
NEARLY = 1 + 1e-6
OFTEN = 0.5  # seconds after which it is told again what is proved
SPARE = 2  # times as many sets as rows are asked for; the others wait in the pool
LESSONS = 1000  # that whole covers give at one node, before it is given up
AT_ONCE = 64  # sets that a cover misses, asked for together
MISSED = 0.02  # of a row: less than that of a set, and it counts as covered


@dataclass(frozen=True, eq=False)
class Kinds:
    """The different rows of examples that count: the first of each kind, and what it costs."""

    examples: Examples
    rows: Rows  # the first of each kind
    groups: tuple[Set, ...]  # all rows of each
    prices: list[int]

    @classmethod
    def of(cls, examples: Examples) -> Kinds:
        """Put together rows that are alike in every number and in the answer."""
        kept = examples.kept.astype(np.intp)
        table = np.column_stack((examples.y[kept], examples.tall_rows(kept))) + 0.0  # no -0.0
        _, first, where = np.unique(table, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        groups: list[list[int]] = [[] for _ in order]
        for n, k in zip(kept.tolist(), place[where.ravel()].tolist(), strict=True):
            groups[k].append(n)
        costs = Costs.of(examples)
        prices = [costs.total(group) for group in groups]
        rows = np.array([group[0] for group in groups], dtype=np.intp)
        return cls(examples, rows, tuple(map(tuple, groups)), prices)

    @cached_property
    def signed(self) -> Signed:
        """The rows as exact multipliers take them."""
        some = self.examples.some(self.rows)
        return Signed(some, Scale.plain(look_at(some)))

    def part(self, rows: Set) -> Part | None:
        """These rows with exact multipliers, if they block one another."""
        found = zero_sum(self.signed, rows)
        if found is None:
            return None
        part = part_of(self.signed, found)
        return replace(part, rows=tuple(self.rows[list(part.rows)].tolist()))

    def opposites(self) -> Iterator[Set]:
        """Rows of zeros, and pairs of rows that are opposite: the smallest blocking sets."""
        some = self.signed.examples
        Z = some.tall_rows() * some.y[:, None] + 0.0
        places = {z.tobytes(): k for k, z in enumerate(Z)}
        for k, z in enumerate(Z):
            other = places.get((0.0 - z).tobytes())
            if other is not None and other >= k:
                yield (k,) if other == k else (k, other)


@dataclass(eq=False)
class Node:
    """Rows that are mistakes and rows that are right here, and what weights on sets prove."""

    gone: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()
    bound: int = 0
    value: float = 0.0  # what the master says, in floats: the lowest is taken next
    weighting: int = 0
    row: int = -1  # asked about; then there are two nodes below
    below: tuple[Node, ...] = field(default=())

    def __lt__(self, other: Node) -> bool:
        return (self.bound, self.value) < (other.bound, other.value)


class Pool:
    """All sets that are known, as a table of rows, to see at once which a cover misses."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.sets: list[Set] = []
        self.places: dict[Set, int] = {}
        self.table = np.empty((0, 1), dtype=np.intp)

    def add(self, sets: Sequence[Set]) -> None:
        """Keep sets that are new."""
        new = [rows for rows in dict.fromkeys(sets) if rows not in self.places]
        for rows in new:
            self.places[rows] = len(self.sets)
            self.sets.append(rows)
        width = max([self.table.shape[1], *map(len, new)])
        if len(self.sets) > len(self.table) or width > self.table.shape[1]:
            larger = np.full((2 * len(self.sets), width), self.rows)  # a row that costs nothing
            larger[: len(self.table), : self.table.shape[1]] = self.table
            self.table = larger
        for rows in new:
            self.table[self.places[rows], : len(rows)] = rows

    def forget(self, rows: Set) -> None:
        """Take a set that is none for covered, whatever x is."""
        self.table[self.places[rows], 0] = self.rows + 1

    def missed(self, x: Floats) -> list[Set]:
        """Sets of which x takes clearly less than a row, those it takes least of first."""
        covered = np.append(x, (0.0, 1.0))[self.table[: len(self.sets)]].sum(axis=1)
        order = np.argsort(covered, kind="stable")[:AT_ONCE]
        return [self.sets[j] for j in order[covered[order] < 1.0 - MISSED]]


class Master:
    """The cheapest cover of some sets, in fractions of rows: HiGHS, warm."""

    def __init__(self, prices: Floats) -> None:
        import highspy

        self.highspy, self.n = highspy, len(prices)
        self.highs = highs = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in (
            ("output_flag", False),
            ("presolve", "off"),
            ("threads", 1),
            ("solver", "simplex"),
        ):
            highs.setOptionValue(option, value)
        self.prices = prices
        self.all = np.arange(self.n, dtype=np.int32)
        highs.addVars(self.n, np.zeros(self.n), np.full(self.n, highspy.kHighsInf))
        highs.changeColsCost(self.n, self.all, prices)
        self.pool = Pool(self.n)
        self.false: set[Set] = set()  # those that floats took for blocking
        self.sets: list[Set] = []
        self.inside: set[Set] = set()
        self.x, self.u, self.value = np.zeros(self.n), np.zeros(0), 0.0

    def add(self, sets: Sequence[Set]) -> bool:
        """Ask that these be covered, too; False if none of them is new."""
        sets = [rows for rows in sets if rows not in self.inside and rows not in self.false]
        if not sets:
            return False
        self.pool.add(sets)
        sizes = np.array([len(rows) for rows in sets])
        rows = np.concatenate([np.array(rows, dtype=np.int32) for rows in sets])
        starts = (np.cumsum(sizes) - sizes).astype(np.int32)
        count, infinite = len(sets), self.highspy.kHighsInf
        ones = np.ones(count)
        self.highs.addRows(
            count, ones, infinite * ones, len(rows), starts, rows, np.ones(len(rows))
        )
        self.sets += sets
        self.inside.update(sets)
        return True

    def drop(self, sets: Sequence[Set]) -> None:
        """Ask no longer for some sets."""
        self.inside.difference_update(sets)
        gone = [j for j, rows in enumerate(self.sets) if rows not in self.inside]
        self.highs.deleteRows(len(gone), np.array(gone, dtype=np.int32))
        self.sets = [rows for rows in self.sets if rows in self.inside]

    def refuse(self, rows: Set) -> None:
        """Never ask for a set again that is none."""
        self.false.add(rows)
        self.pool.forget(rows)
        self.drop([rows])

    def fix(self, node: Node) -> None:
        """Take the rows of a node for mistakes and for right."""
        low, high = np.zeros(self.n), np.full(self.n, self.highspy.kHighsInf)
        low[list(node.gone)] = high[list(node.gone)] = 1.0
        high[list(node.kept)] = 0.0
        self.highs.changeColsBounds(self.n, self.all, low, high)

    def solve(self, deadline: Deadline) -> bool:
        """Solve it; False where no cover is left. OutOfTimeError once the deadline is over."""
        while True:
            if not self._solve(deadline):
                return False
            if not self.add(self.pool.missed(self.x)):
                return True

    def _solve(self, deadline: Deadline) -> bool:
        deadline.check()
        status = self.highspy.HighsModelStatus
        if math.isfinite(deadline.left):
            until = self.highs.getRunTime() + max(deadline.left, 0.01)
            self.highs.setOptionValue("time_limit", until)
        self.highs.run()
        ended = self.highs.getModelStatus()
        if ended == status.kInfeasible:
            return False
        if ended != status.kOptimal:
            raise OutOfTimeError
        solution = self.highs.getSolution()
        self.x = np.clip(np.array(solution.col_value), 0.0, 1.0)
        self.u = np.array(solution.row_dual)
        self.value = float(self.highs.getInfo().objective_function_value)
        return True

    def forget_the_slack(self) -> None:
        """Ask no longer for sets that are covered more than once, if there are many."""
        if len(self.sets) > SPARE * self.n + 100:
            covered = np.array(self.highs.getSolution().row_value)
            self.drop([self.sets[j] for j in np.flatnonzero(covered > 1.0 + NEAR)])


@dataclass(frozen=True, eq=False)
class Shares:
    """Weights on sets, as whole numbers over one number."""

    over: int
    each: dict[Set, int]

    def bound(self, gone: Set, prices: Sequence[int]) -> int:
        """What mistakes cost at least, where these rows are among them."""
        hit = set(gone)
        total = sum(share for rows, share in self.each.items() if hit.isdisjoint(rows))
        return sum(prices[i] for i in gone) - (-total // self.over)


class Cover:
    """The search for the cheapest cover: the tree so far, its open nodes, the sets."""

    def __init__(self, gap: Gap, deadline: Deadline = NEVER) -> None:
        self.gap, self.deadline = gap, deadline
        self.kinds = Kinds.of(merged(gap.examples))
        self.prices = self.kinds.prices
        self.unit = max(self.prices)
        self.over = 1 << max(0, OVER + 1 - self.unit.bit_length())
        self.master = Master(np.array([price / self.unit for price in self.prices]))
        self.little = LITTLE * float(self.master.prices.mean())
        self.finder = Finder(self.kinds.examples, self.kinds.rows, gap.rng.spawn(1)[0])
        self.parts: dict[Set, Part | None] = {}  # exact, or None where floats were wrong
        self.weightings = [Shares(1, {})]
        self.open = [Node()]
        self.root = self.taken = self.open[0]  # where it began, and the node at hand
        self.fewest = math.inf  # what a cover costs that leaves rows which some exact w answers
        self.master.add(list(self.kinds.opposites()))

    @property
    def best(self) -> int:
        """What is known to be possible."""
        return int(min(self.gap.cost, self.fewest))

    @property
    def bound(self) -> int:
        """What the tree proves so far."""
        return min([self.best, self.taken.bound, *(node.bound for node in self.open)])

    @property
    def done(self) -> bool:
        """Whether nothing is left to ask."""
        return self.bound >= self.best

    def run(self, most: float = math.inf) -> None:
        """Take the open node with the lowest bound, again and again, at most so many.

        Ctrl-C may come between any two steps: a node is at hand until those below it are open.
        """
        while not self.done and not self.gap.interrupted and most > 0:
            most -= 1
            self.taken = node = self.open[0]
            self.deadline.check()
            self.settle(node)
            heapq.heappop(self.open)
            for child in node.below or (node,):
                heapq.heappush(self.open, child)
            self.taken = self.open[0]
            self.tell()

    def tell(self) -> None:
        """Tell what is proved so far."""
        self.gap.know(self.bound, self.proof)
        self.gap.tell(1)

    def settle(self, node: Node) -> None:
        """Bound a node as well as cuts can, and ask about a row where that is not enough."""
        self.master.fix(node)
        if self._cut_off(node):
            return
        for _ in range(LESSONS):
            if not self._solve(node) or self._weighed(node):
                return
            row = self._question(node)
            if row is not None:
                self._ask(node, row)
                return
        raise OutOfTimeError  # floats see no difference where there is one

    def _cut_off(self, node: Node) -> bool:
        """Add sets that the master does not cover while its value grows; whether that will do."""
        rounds, last = (FIRST_ROUNDS, FIRST_LAST) if node is self.root else (ROUNDS, LAST)
        values: list[float] = []
        told = now()
        for _ in range(rounds):
            if not self._solve(node):
                return True
            values.append(self.master.value)
            if values[-1] >= (self.best - 1) / self.unit - NEAR and self._weighed(node):
                return True
            if node is self.root and now() > told + OFTEN:
                self._weighed(node)
                self.tell()
                told = now()
            if len(values) > last and values[-1] - values[-1 - last] < self.little:
                break
            if not self._cut(self.master.x):
                break
            self.master.forget_the_slack()
        return False

    def _solve(self, node: Node) -> bool:
        """Solve the master; False where a set is all right here, which settles the node."""
        while not self.master.solve(self.deadline):
            kept = set(node.kept)
            rows = next((rows for rows in self.master.sets if kept.issuperset(rows)), None)
            if rows is None:
                raise OutOfTimeError  # HiGHS is wrong: nothing more is to be had from it
            if self._exact(rows):
                self._take(node, Shares(1, {rows: self.best}))
                return False
        return True

    def _cut(self, x: Floats) -> bool:
        """Look for sets that x does not cover, and for a line; False if there are no new sets."""
        found = self.finder.search(x) if self.finder.able else Found()
        if found.w is not None:
            self.gap.offer(found.w)
        return self.master.add(found.sets)

    def _exact(self, rows: Set) -> bool:
        """Make the multipliers of a set exact; where floats were wrong it goes."""
        if rows not in self.parts:
            part = self.parts[rows] = self.kinds.part(rows)
            if part is None:  # by a hair: rows that the master takes nothing of may be missing
                free = np.flatnonzero(self.master.x < TINY)
                self._learn(self.kinds.rows[np.union1d(rows, free)])
        if self.parts[rows] is None:
            self.master.refuse(rows)
        return self.parts[rows] is not None

    def _learn(self, numbers: Rows) -> Any:
        """Ask exactly whether some line answers rows, given by their numbers; learn why not."""
        answer = part_or_weights(self.kinds.examples, numbers, self.deadline)
        if isinstance(answer, Part):
            rows = tuple(np.searchsorted(self.kinds.rows, answer.rows).tolist())
            self.parts[rows] = answer
            self.master.add([rows])
        return answer

    def _weighed(self, node: Node) -> bool:
        """Weigh the sets in whole numbers, as the master does; whether that settles the node."""
        while True:
            shares = self._shares(node)
            false = [rows for rows in shares.each if not self._exact(rows)]
            if not false:
                break
            if not self._solve(node):
                return True
        near = self.master.value * NEARLY >= self.best / self.unit
        if near and shares.bound(node.gone, self.prices) < self.best:
            exactly = self._shares_exactly(node)
            if exactly is not None and all(map(self._exact, exactly.each)):
                shares = exactly
        self._take(node, shares)
        return node.bound >= self.best

    def _take(self, node: Node, shares: Shares) -> None:
        bound = shares.bound(node.gone, self.prices)
        if bound >= node.bound:
            self.weightings.append(shares)
            node.weighting = len(self.weightings) - 1  # before the bound, which it shows
            node.bound, node.value = bound, self.master.value

    def _shares(self, node: Node) -> Shares:
        """The weights of the master, rounded down until no open row has more than it costs."""
        gone, kept = set(node.gone), set(node.kept)
        scale, each = self.unit * self.over, dict[Set, int]()
        load = [0] * len(self.prices)
        active = np.flatnonzero(self.master.u > TINY)
        for rows, u in zip(
            [self.master.sets[j] for j in active], self.master.u[active], strict=True
        ):
            if gone.isdisjoint(rows):
                room = min(
                    (self.prices[i] * self.over - load[i] for i in rows if i not in kept),
                    default=scale,
                )
                share = min(int(Fraction(u) * scale), room)
                if share > 0:
                    each[rows] = share
                    for i in rows:
                        load[i] += share
        return Shares(self.over, each)

    def _shares_exactly(self, node: Node) -> Shares | None:
        """The weights of the master as fractions that solve its equations; None if they do not.

        A row that the master takes has exactly what it costs.
        """
        gone, kept = set(node.gone), set(node.kept)
        u = self.master.u
        sets = [
            (rows, u[j])
            for j, rows in enumerate(self.master.sets)
            if u[j] > TINY and gone.isdisjoint(rows)
        ]
        taken = [i for i in np.flatnonzero(self.master.x > TINY).tolist() if i not in gone]
        table = [[int(i in rows) for rows, _ in sets] + [self.prices[i]] for i in taken]
        if not table or not sets:
            return None
        reduced, rank = flint.fmpq_mat(flint.fmpz_mat(table)).rref()
        lines = reduced.tolist()[:rank]
        pivots = [next(j for j, v in enumerate(line) if v != 0) for line in lines]
        if pivots[-1] == len(sets):
            return None
        values = [flint.fmpq(int(Fraction(v) * self.unit)) for _, v in sets]
        for line, j in zip(lines, pivots, strict=True):
            rest = (line[k] * values[k] for k in range(len(sets)) if k != j and line[k] != 0)
            values[j] = line[-1] - sum(rest, flint.fmpq(0))
        return self._checked([rows for rows, _ in sets], values, kept)

    def _checked(self, sets: list[Set], values: list[Any], kept: set[int]) -> Shares | None:
        over = math.lcm(*(int(v.q) for v in values))
        whole = [int(v.p) * (over // int(v.q)) for v in values]
        load = dict[int, int]()
        for rows, share in zip(sets, whole, strict=True):
            for i in rows:
                load[i] = load.get(i, 0) + share
        if min(whole) < 0 or any(
            share > self.prices[i] * over for i, share in load.items() if i not in kept
        ):
            return None
        return Shares(over, {rows: share for rows, share in zip(sets, whole, strict=True) if share})

    def _question(self, node: Node) -> int | None:
        """The row to ask about; None where something was learned instead."""
        x, asked = self.master.x, {*node.gone, *node.kept}
        candidates = [i for i in range(len(x)) if NEAR < x[i] < 1 - NEAR and i not in asked]
        if candidates:
            return min(candidates, key=lambda i: abs(float(x[i]) - 0.5))
        cover = [i for i in range(len(x)) if x[i] > 0.5]
        cost = sum(self.prices[i] for i in cover)
        if cost < self.best:
            self._judge(cover, cost)
            return None
        left = [i for i in cover if i not in asked] or [i for i in range(len(x)) if i not in asked]
        if not left:
            raise OutOfTimeError  # floats that cannot tell costs apart: nothing more to be had
        return left[0]

    def _judge(self, cover: list[int], cost: int) -> None:
        """Find out about a cover that costs less than the best: a line, or a set it misses."""
        x = np.zeros(len(self.prices))
        x[cover] = 1.0
        if self._cut(x) or self.best <= cost:
            return
        right = np.delete(np.arange(len(x)), cover)
        answer = self._learn(self.kinds.rows[right])
        if isinstance(answer, Part):
            return
        if answer is not None:
            self.gap.offer(answer)
        if self.best > cost:
            rows = np.concatenate([self.kinds.groups[k] for k in right])
            if offer_right(self.gap, rows, cost) is not True:
                raise OutOfTimeError  # undecided: nothing more is to be had
            self.fewest = min(self.fewest, cost)

    def _ask(self, node: Node, row: int) -> None:
        """Ask whether a row is a mistake: two nodes, which begin with the weights of this one."""
        shares, below = self.weightings[node.weighting], []
        for gone, kept in (((*node.gone, row), node.kept), (node.gone, (*node.kept, row))):
            bound = max(shares.bound(gone, self.prices), node.bound)
            below.append(Node(gone, kept, bound, node.value, node.weighting))
        node.row = row
        node.below = tuple(below)  # both at once, or none

    def proof(self) -> Proof | None:
        """What the tree proves so far, as a proof that can be checked."""
        nodes, weightings, parts = list[int](), dict[int, int](), dict[Set, int]()
        todo = [self.root]
        while todo:
            node = todo.pop()
            if node.below:
                nodes.append(int(self.kinds.rows[node.row]))
                todo += reversed(node.below)
            else:
                nodes.append(-1 - weightings.setdefault(node.weighting, len(weightings)))
        written = []
        for w in weightings:
            shares = self.weightings[w]
            sets, each = zip(*sorted(shares.each.items()), strict=True) if shares.each else ((), ())
            places = tuple(parts.setdefault(rows, len(parts)) for rows in sets)
            written.append(Weighting(shares.over, places, each))
        tree = Tree(tuple(nodes), tuple(written))
        evidence = tuple(part for rows in parts if (part := self.parts[rows]) is not None)
        named = {n for part in evidence for n in part.rows} | {n for n in nodes if n >= 0}
        alike = tuple(g for g in self.kinds.groups if len(g) > 1 and g[0] in named)
        if not self.bound or not evidence:
            return None
        return Proof.of_mistakes(self.gap.examples, self.bound, evidence, tree=tree, alike=alike)


def offer_right(gap: Gap, rows: NDArray[Any], cost: int) -> Part | bool:
    """Offer floats that answer some rows rightly, at this cost; whether some exact w does so.

    Where none does: rows that block one another. Which floats also score rightly when they are
    added up is a matter of rounding: several multiples of several lines are tried.
    """
    examples = gap.examples
    for widest in (False, True):
        answer = separability_of(examples.some(rows), widest=widest)
        gap.interrupted = gap.interrupted or answer.reason.startswith("interrupted")
        if not answer or answer.proof is None:
            blocking = answer.blocking[:1]
            places = [rows[list(part.rows)].tolist() for part in blocking]
            return Part(tuple(places[0]), blocking[0].multipliers) if blocking else False
        for w in multiples(answer.proof.weights):
            if gap.cost > cost:
                gap.offer(examples.slotted(w))
        if gap.cost <= cost:
            break
    return True


def coverable(examples: Examples) -> bool:
    """Whether the rows are few enough for covers to be worth their time."""
    entries = len(examples.kept) * (examples.d + 1)
    return examples.d <= MOST_FEATURES and 0 < entries <= MOST_ENTRIES


def cover(gap: Gap, deadline: Deadline, most: float = math.inf) -> None:
    """Narrow the gap by covers of blocking sets, until the deadline or so many nodes.

    The next time it goes on where it stood.
    """
    search: Cover | None = gap.kept.get("cover")
    if search is None:
        search = gap.kept["cover"] = Cover(gap)
    search.deadline = deadline
    try:
        search.run(most)
    except OutOfTimeError:
        pass
    finally:
        gap.know(search.bound, search.proof, exhausted=search.done)
