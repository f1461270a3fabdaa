"""Slow, obvious proofs of the fewest mistakes: all minimal conflicts, and random true trees.

A set of rows blocks if some positive multipliers sum it to zero, and the smallest such sets have
one choice of them. All are tried. What a set of rows that hits them all costs is then the
question, and every set of rows is tried.
"""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np
from rays import independent_columns, orthogonal

from rosenblatt.evidence.certificate import Conflict
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.tree import Tree, Weighting
from rosenblatt.examples import Examples


class Grown(NamedTuple):
    """A few rows, a true proof about them, and the exact least cost of mistakes."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    proof: Proof
    fewest: Fraction

    def check(self, proof, **how):
        return proof.check(self.X, self.y, self.weights, **how)


def signed(X, y, x0):
    """Return the signed rows z as integers."""
    tall = np.column_stack((np.full(len(X), x0), X)) if x0 else np.asarray(X)
    return [[int(v) for v in row] for row in tall * np.asarray(y)[:, None]]


def blocking(Z):
    """Find all minimal conflicts, with their multipliers."""
    found = []
    for size in range(1, len(Z[0]) + 2):
        for rows in combinations(range(len(Z)), size):
            some = [Z[n] for n in rows]
            columns = independent_columns(some)
            if len(columns) == size - 1:
                multipliers = orthogonal([[z[j] for z in some] for j in columns], size)
                if min(multipliers) > 0 or max(multipliers) < 0:
                    found.append(Conflict(rows, tuple(map(abs, multipliers))))
    return found


def fewest(parts, costs):
    """Return the least cost of rows that hit every conflict."""
    rows = list(costs)
    chosen = (some for k in range(len(rows) + 1) for some in combinations(rows, k))
    return min(
        sum(costs[n] for n in some)
        for some in chosen
        if all(set(some) & set(part.rows) for part in parts)
    )


def merged_rows(X, y, costs):
    """Group equal rows, and return the cost of each group."""
    groups = {}
    for n, key in enumerate(zip(map(tuple, X.tolist()), y.tolist(), strict=True)):
        groups.setdefault(key, []).append(n)
    alike = tuple(tuple(group) for group in groups.values() if len(group) > 1)
    return alike, {group[0]: sum(costs[n] for n in group) for group in groups.values()}


class Gardener:
    """Builder of random trees that prove the cost of a hitting set."""

    def __init__(self, rng, sets, costs, need):
        self.rng, self.sets, self.costs, self.need = rng, sets, costs, need
        self.nodes, self.weightings = [], []

    def grow(self, gone=frozenset(), kept=frozenset()):
        spent = sum(self.costs[n] for n in gone)
        alive = [j for j, rows in enumerate(self.sets) if not gone & set(rows)]
        choices = sorted({n for j in alive for n in self.sets[j]} - kept)
        for _ in range(int(self.rng.integers(0, 3)) if choices else 99):
            found = self.packed(alive, kept)
            total = Fraction(sum(found.shares), found.over)
            if spent + -(-total // 1) >= self.need:
                if found not in self.weightings:
                    self.weightings.append(found)
                self.nodes.append(-1 - self.weightings.index(found))
                return
        n = int(self.rng.choice(choices))
        self.nodes.append(n)
        self.grow(gone | {n}, kept)
        self.grow(gone, kept | {n})

    def packed(self, alive, kept):
        """Draw weights on conflicts that no open row is too cheap for."""
        over = int(self.rng.choice([1, 1, 2, 3, 6]))
        left = {n: cost * over for n, cost in self.costs.items()}
        shares = {}
        for j in self.rng.permutation(alive).astype(int).tolist():
            rows = set(self.sets[j]) - kept
            most = min((left[n] for n in rows), default=over * self.need)
            share = most if self.rng.random() < 0.7 else int(self.rng.integers(0, most + 1))
            if share:
                shares[j] = share
                for n in rows:
                    left[n] -= share
        return Weighting(over, tuple(shares), tuple(shares.values()))


def holds(tree, sets, costs, need):
    """Return whether a tree proves a cost: an obvious checker in fractions."""
    for w in tree.weightings:
        if w.over <= 0 or len(w.sets) != len(w.shares) or not all(s > 0 for s in w.shares):
            return False
        if not all(0 <= j < len(sets) for j in w.sets):
            return False
    left = list(tree.nodes)
    return _holds(left, tree, (sets, costs, need), set(), set()) and not left


def _holds(left, tree, problem, gone, kept):
    sets, costs, need = problem
    if not left:
        return False
    node = left.pop(0)
    if node >= 0:
        if node not in costs or node in gone | kept:
            return False
        first = _holds(left, tree, problem, gone | {node}, kept)
        return first and _holds(left, tree, problem, gone, kept | {node})
    if -1 - node >= len(tree.weightings):
        return False
    w = tree.weightings[-1 - node]
    pairs = zip(w.sets, w.shares, strict=True)
    u = [(set(sets[j]), Fraction(s, w.over)) for j, s in pairs if not gone & set(sets[j])]
    heavy = [n for n in costs if sum(s for rows, s in u if n in rows) > costs[n]]
    total = sum(costs[n] for n in gone) + math.ceil(sum(s for _, s in u))
    return set(heavy) <= kept and total >= need


def grown(seed, kind="tree", weighted=False):
    """Draw a few rows that are not separable, with a true proof; sometimes None."""
    rng = np.random.default_rng(seed)
    n, d, x0 = int(rng.integers(4, 9)), int(rng.integers(1, 3)), float(rng.choice([0.0, 1.0, 1.0]))
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    s = rng.choice([0.0, 0.25, 0.5, 1.0, 1.5, 3.0], size=n) if weighted else None
    examples = replace(Examples.from_arrays(X, y, x0=x0), weights=s)
    prices = [1] * n if s is None else [Fraction(v) for v in s.tolist()]
    unit = min((Fraction(1, p.denominator) if p else 9 for p in prices), default=1)
    costs = {i: int(p / unit) for i, p in enumerate(prices)}
    every = blocking(signed(X, y, x0))
    if not every or not (cost := fewest(every, costs)):
        return None
    proof = MADE[kind](rng, examples, (X, y, costs, every), cost)
    return Grown(X, y, s, proof, cost * unit)


def of_a_tree(rng, examples, found, cost):
    X, y, costs, every = found
    need = cost if rng.random() < 0.8 else int(rng.integers(1, cost + 1))
    alike, merged = merged_rows(X, y, costs) if rng.random() < 0.7 else ((), costs)
    parts = [part for part in every if set(part.rows) <= set(merged)]
    gardener = Gardener(rng, [part.rows for part in parts], merged, need)
    gardener.grow()
    tree = Tree(tuple(gardener.nodes), tuple(gardener.weightings))
    return Proof.of_mistakes(examples, need, tuple(parts), tree=tree, duplicates=alike)


def of_disjoint_sets(rng, examples, found, cost):
    *_, costs, every = found
    taken, parts = set(), []
    for j in rng.permutation(len(every)).tolist():
        if not taken & set(every[j].rows) and min(costs[n] for n in every[j].rows):
            taken |= set(every[j].rows)
            parts.append(every[j])
    if not parts:  # every set has a row that costs nothing
        return of_a_walk(rng, examples, found, cost)
    sure = sum(min(costs[n] for n in part.rows) for part in parts)
    return Proof.of_mistakes(examples, sure, tuple(parts))


def of_a_walk(rng, examples, found, cost):
    return Proof.of_mistakes(examples, cost, enumeration="cells")


MADE = {"tree": of_a_tree, "disjoint sets": of_disjoint_sets, "walk": of_a_walk}
