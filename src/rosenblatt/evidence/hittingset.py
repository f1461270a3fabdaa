"""The fewest mistakes as the cheapest hitting set of conflicts, by branch and cut.

A set of rows hits a conflict if they share a row. The mistakes of a line hit every conflict, and
rows that hit every conflict leave rows that some line classifies correctly. So the fewest mistakes
are the cheapest hitting set, and a few hundred conflicts decide it. A linear program over the known
conflicts (the master problem) bounds the cost from below; at its solution the finder looks for
conflicts that are not hit, or for a better line. Where there are none, the search branches on a
row: it is a mistake, or it is not. The node with the lowest bound comes next, so that the bound
grows for as long as there is time.

The floats of master problem and finder are never trusted. The dual values of a node are rounded
down to fractions and added in integers, and the multipliers of its conflicts are made exact; a
conflict that fails is left out, and the master problem is solved again.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.fewest import Gap
from rosenblatt.clock import NEVER, Deadline, OutOfTimeError, now
from rosenblatt.evidence.certificate import Conflict
from rosenblatt.evidence.conflicts import Finder, Set
from rosenblatt.evidence.decision import find_conflict_or_weights, make_conflict, multiples
from rosenblatt.evidence.integers import group_equal_rows
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import separability_of
from rosenblatt.evidence.signedrows import SignedRows, solve_multipliers
from rosenblatt.evidence.tree import Tree, Weighting
from rosenblatt.examples import Costs, Examples

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

MOST_ENTRIES = 2**15  # with more, disjoint conflicts prove more in the same time
MOST_FEATURES = 150  # with more, exact multipliers take too long
TINY = 1e-9
SHARE_BITS = 20  # binary digits of the shares in a weighting
ROUNDS, ROOT_ROUNDS = 20, 200  # maximum rounds of cuts at a node, and at the root
# Cuts end if the last rounds gain less than this share of the mean cost of a row.
STALLED_GAIN = 0.01
LAST, ROOT_LAST = 3, 20  # number of these last rounds at a node, and at the root
NEAR = 1e-6
REPORT_SECONDS = 0.5  # between two reports from the root
MOST_CONFLICTS = 2  # per row, plus 100: with more, the master problem drops those it does not need
MOST_TRIALS = 1000  # integral hitting sets tried at one node before the search gives up


class DistinctRows:
    """Rows of nonzero sample weight, one for each group of equal rows.

    `groups` are the rows that are equal in every number and in the label, `rows` the first of each
    group, `costs` the total cost of a mistake on all rows of a group, and `signed` the distinct
    rows times their labels, from which exact multipliers are computed.
    """

    def __init__(self, examples: Examples) -> None:
        kept = examples.kept.astype(np.intp)
        groups: dict[int, list[int]] = {}
        for n, k in zip(kept.tolist(), group_equal_rows(examples, kept)[1].tolist(), strict=True):
            groups.setdefault(k, []).append(n)
        costs = Costs.of(examples)
        self.examples = examples
        self.groups: tuple[Set, ...] = tuple(map(tuple, groups.values()))
        self.rows: Rows = np.array([group[0] for group in self.groups], dtype=np.intp)
        self.costs = [costs.total(group) for group in groups.values()]
        self.signed = SignedRows.of(examples.some(self.rows))

    def make_conflict(self, rows: Set) -> Conflict | None:
        """Create a conflict from `rows` with exact multipliers, or return None if none exist."""
        found = solve_multipliers(self.signed, rows)
        if found is None:
            return None
        conflict = make_conflict(self.signed, found)
        return replace(conflict, rows=tuple(self.rows[list(conflict.rows)].tolist()))

    def find_opposites(self) -> Iterator[Set]:
        """Yield all conflicts of one or two rows: rows of zeros, and pairs of opposite rows."""
        some = self.signed.examples
        Z = some.augmented_rows() * some.y[:, None] + 0.0
        places = {z.tobytes(): k for k, z in enumerate(Z)}
        for k, z in enumerate(Z):
            other = places.get((0.0 - z).tobytes())
            if other is not None and other >= k:
                yield (k,) if other == k else (k, other)


@dataclass(eq=False)
class Node:
    """Node of the search tree: rows fixed as mistakes or as correct, and a lower bound."""

    wrong: tuple[int, ...] = ()
    right: tuple[int, ...] = ()
    bound: int = 0
    value: float = 0.0  # float value of the master problem, which breaks ties between bounds
    weighting: int = 0  # number of the conflict weights that prove the bound
    row: int = -1  # the row that the node branches on, if it has children
    children: tuple[Node, ...] = ()

    def __lt__(self, other: Node) -> bool:
        return (self.bound, self.value) < (other.bound, other.value)


class Master:
    """Linear program for the cheapest fractional hitting set of the known conflicts."""

    def __init__(self, costs: Floats) -> None:
        import highspy

        self.highspy, self.n, self.costs = highspy, len(costs), costs
        self.highs = highs = highspy.Highs()  # type: ignore[no-untyped-call]
        options: dict[str, str | int] = {"output_flag": False, "presolve": "off", "threads": 1}
        options["solver"] = "simplex"
        for option, value in options.items():
            highs.setOptionValue(option, value)
        self.all = np.arange(self.n, dtype=np.int32)
        highs.addVars(self.n, np.zeros(self.n), np.full(self.n, highspy.kHighsInf))
        highs.changeColsCost(self.n, self.all, costs)
        self.refused: set[Set] = set()  # sets of rows that are conflicts only in floats
        self.sets: dict[Set, None] = {}  # conflicts that are constraints, in their order
        self.x, self.value = np.zeros(self.n), 0.0
        self.u: dict[Set, float] = {}  # dual value of each constraint

    def add(self, sets: Sequence[Set]) -> bool:
        """Add conflicts as constraints, and return whether any is new."""
        new = (rows for rows in dict.fromkeys(sets) if rows not in self.refused)
        sets = [rows for rows in new if rows not in self.sets]
        if not sets:
            return False
        sizes = np.array([len(rows) for rows in sets], dtype=np.int32)
        starts = np.cumsum(sizes, dtype=np.int32) - sizes
        rows = np.fromiter(chain(*sets), np.int32)
        ones, infinite = np.ones(len(sets)), np.full(len(sets), self.highspy.kHighsInf)
        self.highs.addRows(len(sets), ones, infinite, len(rows), starts, rows, np.ones(len(rows)))
        self.sets.update(dict.fromkeys(sets))
        return True

    def drop(self, places: Sequence[int]) -> None:
        """Remove the constraints at the given positions."""
        self.highs.deleteRows(len(places), np.array(places, dtype=np.int32))
        gone = set(places)
        self.sets = {rows: None for j, rows in enumerate(self.sets) if j not in gone}

    def refuse(self, rows: Set) -> None:
        """Remove a set of rows that is no conflict, and never use it again."""
        self.refused.add(rows)
        self.drop([j for j, other in enumerate(self.sets) if other == rows])

    def fix(self, node: Node) -> None:
        """Fix variables of the linear program: 1 for a node's mistakes, 0 for its correct rows."""
        low, high = np.zeros(self.n), np.full(self.n, self.highspy.kHighsInf)
        low[list(node.wrong)] = high[list(node.wrong)] = 1.0
        high[list(node.right)] = 0.0
        self.highs.changeColsBounds(self.n, self.all, low, high)

    def solve(self, deadline: Deadline) -> bool:
        """Solve the linear program, and return whether it has a solution.

        Raises OutOfTimeError once the deadline is over.
        """
        deadline.check()
        if math.isfinite(deadline.left):
            until = self.highs.getRunTime() + max(deadline.left, 0.01)
            self.highs.setOptionValue("time_limit", until)
        self.highs.run()
        status, ended = self.highspy.HighsModelStatus, self.highs.getModelStatus()
        if ended == status.kInfeasible:
            return False
        if ended != status.kOptimal:
            raise OutOfTimeError
        solution = self.highs.getSolution()
        self.x = np.clip(np.array(solution.col_value), 0.0, 1.0)
        self.u = dict(zip(self.sets, solution.row_dual, strict=True))
        self.value = float(self.highs.getInfo().objective_function_value)
        return True


@dataclass(frozen=True, eq=False)
class Shares:
    """Weights on conflicts that prove a lower bound, as integers over a common denominator."""

    over: int
    each: dict[Set, int]

    def bound(self, wrong: Set, costs: Sequence[int]) -> int:
        """Return a lower bound on the cost of mistakes if they include the rows `wrong`."""
        hit = set(wrong)
        total = sum(share for rows, share in self.each.items() if hit.isdisjoint(rows))
        return sum(costs[i] for i in wrong) - (-total // self.over)


class HittingSetSearch:
    """Resumable search for the cheapest hitting set, by branch and cut."""

    def __init__(self, gap: Gap) -> None:
        self.gap, self.deadline = gap, NEVER
        self.distinct = DistinctRows(gap.examples.merged())
        self.costs = self.distinct.costs
        self.unit = max(self.costs)
        self.over = 1 << max(0, SHARE_BITS + 1 - self.unit.bit_length())
        self.master = Master(np.array([cost / self.unit for cost in self.costs]))
        self.stalled = STALLED_GAIN * float(self.master.costs.mean())
        self.finder = Finder(self.distinct.examples, self.distinct.rows, gap.rng.spawn(1)[0])
        self.conflicts: dict[Set, Conflict | None] = {}  # exact; None if floats were wrong
        self.weightings = [Shares(1, {})]
        self.open = [Node()]
        self.root = self.node = self.open[0]
        self.fewest = math.inf  # cost of a hitting set: some exact w separates all other rows
        self.master.add(list(self.distinct.find_opposites()))

    @property
    def best(self) -> int:
        """Lowest cost of mistakes found so far."""
        return int(min(self.gap.cost, self.fewest))

    @property
    def bound(self) -> int:
        """Lower bound on the cost of mistakes, as the tree proves it so far."""
        return min([self.best, self.node.bound, *(node.bound for node in self.open)])

    def run(self, most: float = math.inf) -> None:
        """Solve up to `most` nodes of the tree, until the lowest cost found is proved optimal.

        The node with the lowest bound comes first. Ctrl-C may come between any two lines: a node
        stays open until its children are.
        """
        while self.bound < self.best and not self.gap.interrupted and most > 0:
            most -= 1
            self.node = node = self.open[0]
            self.deadline.check()
            self._solve_node(node)
            heapq.heappop(self.open)
            for child in node.children or (node,):
                heapq.heappush(self.open, child)
            self.node = self.open[0]
            self.gap.raise_bound(self.bound, self.proof)
            self.gap.report(1)

    def _solve_node(self, node: Node) -> None:
        """Raise a node's lower bound: add conflicts, and if that is too little, branch on a row."""
        self.master.fix(node)
        if self._add_cuts(node):
            return
        for _ in range(MOST_TRIALS):
            if not self._solve_master(node) or self._prove(node):
                return
            row = self._choose_row(node)
            if row is not None:
                self._branch(node, row)
                return
        raise OutOfTimeError  # floats cannot tell different costs apart

    def _add_cuts(self, node: Node) -> bool:
        """Add conflicts that the linear program's solution misses, while the lower bound rises.

        Return whether the node is solved.
        """
        rounds, last = (ROOT_ROUNDS, ROOT_LAST) if node is self.root else (ROUNDS, LAST)
        values: list[float] = []
        reported = now()
        for _ in range(rounds):
            if not self._solve_master(node):
                return True
            values.append(self.master.value)
            if values[-1] >= (self.best - 1) / self.unit - NEAR and self._prove(node):
                return True
            if node is self.root and now() > reported + REPORT_SECONDS:
                self._prove(node)
                self.gap.raise_bound(self.bound, self.proof)
                self.gap.report(1)
                reported = now()
            if len(values) > last and values[-1] - values[-1 - last] < self.stalled:
                break
            if not self._add_violated(self.master.x):
                break
            if len(self.master.sets) > MOST_CONFLICTS * self.master.n + 100:
                hit = np.array(self.master.highs.getSolution().row_value)
                self.master.drop(np.flatnonzero(hit > 1.0 + NEAR).tolist())
        return False

    def _solve_master(self, node: Node) -> bool:
        """Solve the linear program of a node, and return whether it has a solution."""
        while not self.master.solve(self.deadline):
            right = set(node.right)
            rows = next((rows for rows in self.master.sets if right.issuperset(rows)), None)
            if rows is None:
                raise OutOfTimeError  # HiGHS is wrong: give up
            if self._is_conflict(rows):
                self._keep(node, Shares(1, {rows: self.best}))
                return False
        return True

    def _add_violated(self, x: Floats) -> bool:
        """Search for conflicts that x, a fractional hitting set, misses; add them as constraints.

        Weights that are found on the way are offered to the search. Return whether any conflict is
        new.
        """
        sets, w = self.finder.search(x)
        if w is not None:
            self.gap.offer(w)
        return self.master.add(sets)

    def _is_conflict(self, rows: Set) -> bool:
        """Check exactly whether rows are a conflict; if not, remove them as a constraint."""
        if rows not in self.conflicts:
            exact = self.conflicts[rows] = self.distinct.make_conflict(rows)
            if exact is None:  # together with rows that x does not use they may still be a conflict
                free = np.flatnonzero(self.master.x < TINY)
                self._decide(self.distinct.rows[np.union1d(rows, free)])
        if self.conflicts[rows] is None:
            self.master.refuse(rows)
        return self.conflicts[rows] is not None

    def _decide(self, numbers: Rows) -> Any:
        """Find weights that classify the given rows correctly, or else add one of their conflicts.

        Return the weights or the conflict, or None if neither was found.
        """
        found = find_conflict_or_weights(self.distinct.examples, numbers, self.deadline)
        if isinstance(found, Conflict):
            rows = tuple(np.searchsorted(self.distinct.rows, found.rows).tolist())
            self.conflicts[rows] = found
            self.master.add([rows])
        return found

    def _prove(self, node: Node) -> bool:
        """Prove a node's lower bound exactly; return whether it reaches the lowest cost found."""
        while True:
            shares = self._round_shares(node)
            exact = [self._is_conflict(rows) for rows in shares.each]
            if all(exact):
                break
            if not self._solve_master(node):
                return True
        near = self.master.value * (1 + NEAR) >= self.best / self.unit
        if near and shares.bound(node.wrong, self.costs) < self.best:
            solved = self._solve_shares(node)
            if solved is not None and all(map(self._is_conflict, solved.each)):
                shares = solved
        self._keep(node, shares)
        return node.bound >= self.best

    def _keep(self, node: Node, shares: Shares) -> None:
        """Raise a node's lower bound to the one that weights of conflicts prove; keep these."""
        bound = shares.bound(node.wrong, self.costs)
        if bound >= node.bound:
            self.weightings.append(shares)
            node.weighting = len(self.weightings) - 1  # set before the bound that it proves
            node.bound, node.value = bound, self.master.value

    def _weighted_conflicts(self, node: Node) -> list[tuple[Set, float]]:
        """Return the conflicts of positive dual value that the node's mistakes do not hit."""
        wrong, weights = set(node.wrong), self.master.u.items()
        return [(rows, u) for rows, u in weights if u > TINY and wrong.isdisjoint(rows)]

    def _round_shares(self, node: Node) -> Shares:
        """Round dual values down to weights on conflicts that prove a lower bound exactly.

        The conflicts of each row that is not fixed weigh at most its cost.
        """
        right, each = set(node.right), dict[Set, int]()
        scale, load = self.unit * self.over, [0] * len(self.costs)
        for rows, u in self._weighted_conflicts(node):
            left = (self.costs[i] * self.over - load[i] for i in rows if i not in right)
            share = min(int(Fraction(u) * scale), min(left, default=scale))
            if share > 0:
                each[rows] = share
                for i in rows:
                    load[i] += share
        return Shares(self.over, each)

    def _solve_shares(self, node: Node) -> Shares | None:
        """Compute the dual values in exact fractions; return None if they prove no lower bound.

        The conflicts of each row that is positive in x weigh exactly its cost.
        """
        used, wrong, right = self._weighted_conflicts(node), set(node.wrong), set(node.right)
        tight = [i for i in np.flatnonzero(self.master.x > TINY).tolist() if i not in wrong]
        table = [[int(i in rows) for rows, _ in used] + [self.costs[i]] for i in tight]
        if not table or not used:
            return None
        reduced, rank = flint.fmpq_mat(flint.fmpz_mat(table)).rref()
        lines = reduced.tolist()[:rank]
        pivots = [next(j for j, v in enumerate(line) if v != 0) for line in lines]
        if pivots[-1] == len(used):
            return None
        values = [flint.fmpq(int(Fraction(v) * self.unit)) for _, v in used]
        for line, j in zip(lines, pivots, strict=True):
            rest = (line[k] * values[k] for k in range(len(used)) if k != j and line[k] != 0)
            values[j] = line[-1] - sum(rest, flint.fmpq(0))
        over = math.lcm(*(int(v.q) for v in values))
        each, load = dict[Set, int](), dict[int, int]()
        for (rows, _), v in zip(used, values, strict=True):
            each[rows] = int(v.p) * (over // int(v.q))
            for i in rows:
                load[i] = load.get(i, 0) + each[rows]
        charged = (share > self.costs[i] * over for i, share in load.items() if i not in right)
        if min(each.values()) < 0 or any(charged):
            return None
        return Shares(over, {rows: share for rows, share in each.items() if share})

    def _choose_row(self, node: Node) -> int | None:
        """Choose a row to branch on, or try an integral solution as a hitting set and return None.

        A solution is tried if all its values are 0 or 1 and it costs less than the best.
        """
        x, fixed = self.master.x, {*node.wrong, *node.right}
        candidates = [i for i in range(len(x)) if NEAR < x[i] < 1 - NEAR and i not in fixed]
        if candidates:
            return min(candidates, key=lambda i: abs(float(x[i]) - 0.5))
        hitting = [i for i in range(len(x)) if x[i] > 0.5]
        cost = sum(self.costs[i] for i in hitting)
        if cost < self.best:
            self._try_hitting_set(hitting, cost)
            return None
        left = [i for i in hitting if i not in fixed]
        left = left or [i for i in range(len(x)) if i not in fixed]
        if not left:
            raise OutOfTimeError  # floats cannot tell the costs apart
        return left[0]

    def _try_hitting_set(self, hitting: list[int], cost: int) -> None:
        """Find weights with mistakes only in a hitting set, or a conflict that the set misses."""
        x = np.zeros(len(self.costs))
        x[hitting] = 1.0
        if self._add_violated(x) or self.best <= cost:
            return
        right = np.delete(np.arange(len(x)), hitting)
        found = self._decide(self.distinct.rows[right])
        if isinstance(found, Conflict):
            return
        if found is not None:
            self.gap.offer(found)
        if self.best > cost:
            rows = np.concatenate([self.distinct.groups[k] for k in right])
            if offer_separator(self.gap, rows, cost) is not True:
                raise OutOfTimeError  # undecided
            self.fewest = min(self.fewest, cost)

    def _branch(self, node: Node, row: int) -> None:
        """Split a node in two: the row is a mistake in one child, and correct in the other."""
        shares, children = self.weightings[node.weighting], []
        for wrong, right in (((*node.wrong, row), node.right), (node.wrong, (*node.right, row))):
            bound = max(shares.bound(wrong, self.costs), node.bound)
            children.append(Node(wrong, right, bound, node.value, node.weighting))
        node.row = row
        node.children = tuple(children)  # one assignment, so that Ctrl-C leaves both or none

    def proof(self) -> Proof | None:
        """Create a proof of the lower bound found so far, or return None if that is 0."""
        nodes, weightings, places = list[int](), dict[int, int](), dict[Set, int]()
        stack = [self.root]
        while stack:
            node = stack.pop()
            if node.children:
                nodes.append(int(self.distinct.rows[node.row]))
                stack += reversed(node.children)
            else:
                nodes.append(-1 - weightings.setdefault(node.weighting, len(weightings)))
        written = []
        for w in weightings:
            each = sorted(self.weightings[w].each.items())
            sets = tuple(places.setdefault(rows, len(places)) for rows, _ in each)
            written.append(Weighting(self.weightings[w].over, sets, tuple(u for _, u in each)))
        conflicts = tuple(one for rows in places if (one := self.conflicts[rows]) is not None)
        if not self.bound or not conflicts:
            return None
        named = {n for one in conflicts for n in one.rows} | {n for n in nodes if n >= 0}
        return Proof.of_mistakes(
            self.gap.examples,
            self.bound,
            conflicts,
            tree=Tree(tuple(nodes), tuple(written)),
            duplicates=tuple(g for g in self.distinct.groups if len(g) > 1 and g[0] in named),
        )


def offer_separator(gap: Gap, rows: NDArray[Any], cost: int) -> Conflict | bool:
    """Offer the search weights that classify all `rows` correctly, or return a conflict.

    The result is True if some exact w separates the rows, and False if that is undecided. `cost`
    is that of all other rows. Rounding decides which floats separate as well: several multiples of
    several lines are tried.
    """
    examples = gap.examples
    for widest in (False, True):
        found = separability_of(examples.some(rows), widest=widest)
        gap.interrupted = gap.interrupted or found.reason.startswith("interrupted")
        if not found or found.proof is None:
            if not found.conflicts:
                return False
            conflict = found.conflicts[0]
            return Conflict(tuple(rows[list(conflict.rows)].tolist()), conflict.multipliers)
        for w in multiples(found.proof.weights):
            if gap.cost > cost:
                gap.offer(examples.add_slot(w))
        if gap.cost <= cost:
            break
    return True


def suits_hitting_sets(examples: Examples) -> bool:
    """Return whether rows and features are few enough for a search by hitting sets."""
    entries = len(examples.kept) * (examples.d + 1)
    return examples.d <= MOST_FEATURES and 0 < entries <= MOST_ENTRIES


def narrow_by_hitting_sets(gap: Gap, deadline: Deadline, most: float = math.inf) -> None:
    """Find better weights and lower bounds by a search for the cheapest hitting set.

    It ends at the deadline or after `most` nodes. The next call with the same gap continues it.
    """
    search: HittingSetSearch | None = gap.kept.get("hitting sets")
    if search is None:
        search = gap.kept["hitting sets"] = HittingSetSearch(gap)
    search.deadline = deadline
    try:
        search.run(most)
    except OutOfTimeError:
        pass
    finally:
        gap.raise_bound(search.bound, search.proof, exhausted=search.bound >= search.best)
