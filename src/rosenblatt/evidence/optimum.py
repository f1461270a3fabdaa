"""The fewest mistakes of any linear classifier: the best weights found, and a proved lower bound.

An engine is a function that narrows the gap between the best weights and the lower bound. Each
engine checks itself whether it suits the examples, and stops at the deadline of the gap, or ignores
it where its work takes no time. To add one, append it to `ENGINES`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.cells import cells_bounds, cells_optimum, few_cells
from rosenblatt.algorithms.faces import clear_denominators
from rosenblatt.algorithms.fewest import Gap, Search, descend, sprint, try_starts
from rosenblatt.clock import NEVER, Deadline, OutOfTimeError, now
from rosenblatt.errors import FROM_ZERO, RowNames
from rosenblatt.evidence.certificate import Conflict
from rosenblatt.evidence.checker import CELLS
from rosenblatt.evidence.decision import find_conflict_or_weights
from rosenblatt.evidence.hittingset import (
    MOST_FEATURES,
    narrow_by_hitting_sets,
    offer_separator,
    suits_hitting_sets,
)
from rosenblatt.evidence.integers import (
    contradictions,
    exact_products,
    is_quick,
)
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import separability_of
from rosenblatt.evidence.signedrows import FEW_NUMBERS
from rosenblatt.examples import Costs, Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.text import describe_lower_bound, is_close, plural, render_card

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Shares of the time that is left when an engine begins.
DISJOINT_SHARE = 0.3  # for disjoint conflicts
CELLS_SHARE = 0.5  # for the enumeration of all cells, and for descent beside hitting sets
HITTING_SHARE = 0.3  # for a first search by hitting sets, if other engines have to wait
TINY, FREE_NODES = 2**9, 2**6  # size of small data; nodes for them whatever the time limit
FREE_ENTRIES = 2**13  # numbers that are searched for conflicts whatever the time limit
LONG_ENUMERATION = 4  # from this number of features on, lower bounds come before the enumeration
SHORT_ENUMERATION = 500  # maximum rows, with fewer features, to enumerate at once
FEW_POINTS = 200  # maximum points in the plane for which the time limit does not count
NEAREST = 4096  # correctly classified rows that are searched for conflicts with a mistake
NOW = Deadline(-math.inf)


@dataclass(frozen=True, eq=False)
class FewestMistakesResult:
    """Weights with few mistakes, and a lower bound on the mistakes of any weights.

    Parameters
    ----------
    weights : array
        Augmented weights, w0 first; without intercept there is no w0.
    mistakes : int or float
        Number of rows that `weights` misclassify, by their exact scores or by the rounded scores
        that predictions use; with sample weights, the total weight of those rows.
    lower_bound : int or float
        No weights make fewer mistakes than this.
    optimal : bool
        Whether `mistakes` equals the lower bound, shown in exact arithmetic.
    proof : Proof or None
        Conflicts and a tree over them; None where there is nothing to prove.
        `proof.check(X, y)` confirms it, with sample weights `proof.check(X, y, sample_weight)`.
        Where only an enumeration of all cells showed the optimum, the proof says so, and
        `proof.check(X, y, again=True)` repeats the enumeration.
    wrong : array of int
        The misclassified rows, counted from 0.
    stop_reason : str
        "no mistakes", "optimal", "time_limit" or "interrupted"; "floats" where some line makes
        fewer mistakes, but no float64 weights were found that do.
    history : tuple of (seconds, mistakes, lower bound)
        How the gap between the two narrowed; the last entry is the end. Compilation is not
        counted. `OptimumDisplay` draws it.
    row_names : RowNames
        How sentences name the rows.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> result = rb.fewest_mistakes([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> print(result)
    1 mistake; no line makes fewer (proof: 1 conflict)
    >>> result.proof.check([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    True
    """

    weights: Floats
    mistakes: float
    lower_bound: float
    optimal: bool
    proof: Proof | None
    wrong: NDArray[np.intp]
    stop_reason: str
    history: tuple[tuple[float, float, float], ...] = ()
    row_names: RowNames = FROM_ZERO

    def __str__(self) -> str:
        if self.mistakes == 0:
            return "no mistakes: a line classifies every example correctly"
        made, least = (
            f"{int(cost):,}" if cost == int(cost) else repr(cost)
            for cost in (self.mistakes, self.lower_bound)
        )
        made, size = plural(made, "mistake"), "" if self.proof is None else self.proof.size
        if self.optimal:
            return f"{made}; {describe_lower_bound(proved=size)}"
        if self.stop_reason == "floats":
            return f"{made}; some line makes {least}, but no float64 weights were found that do"
        if self.lower_bound == 0:
            return f"{made}; whether a line can make none is not known"
        if not is_close(self.lower_bound, self.mistakes):
            return f"{made}; whether a line can make fewer is not known"
        return f"{made}; {describe_lower_bound(least, size)}"

    def _repr_html_(self) -> str:
        first, wrong = str(self), self.wrong.tolist()
        facts = [("misclassified", self.row_names.join(wrong))] if wrong else []
        if self.proof is not None:
            facts.append(("to check it", self.proof.how))
        return render_card(first[0].upper() + first[1:], facts)


def fewest_of(
    examples: Examples, search: Search, engines: Sequence[Callable[[Gap], None]] | None = None
) -> FewestMistakesResult:
    """Search for weights with few mistakes, and prove a lower bound on mistakes.

    Some small jobs ignore the time limit: few points in the plane, few rows with few nodes, and
    equal rows with different labels.
    """
    gap = Gap(examples, search)
    for engine in ENGINES if engines is None else engines:
        try:
            if gap.hopeful:
                engine(gap)
        except KeyboardInterrupt:
            gap.interrupted = True
    try:
        return _make_result(gap)
    except KeyboardInterrupt:
        gap.interrupted = True
        return _make_result(gap)


def decide_few_rows(gap: Gap) -> None:
    """Decide whether few rows are separable; if they are not, raise the lower bound."""
    examples = gap.examples
    if not is_quick(examples, FEW_NUMBERS):
        return
    found = offer_separator(gap, examples.kept, 0)
    if found is True:
        gap.raise_bound(0, lambda: None, exhausted=True)  # there is nothing to prove
    if isinstance(found, Conflict):
        cheapest = int(gap.costs.each[list(found.rows)].min())
        gap.raise_bound(cheapest, lambda: Proof.of_mistakes(examples, cheapest, (found,)))


def enumerate_few_points(gap: Gap) -> None:
    """Find the fewest mistakes on few points in the plane by enumerating all lines."""
    examples = gap.examples
    in_plane = examples.dimension <= 3 and len(examples.kept) <= FEW_POINTS
    if in_plane and is_quick(examples, FEW_NUMBERS):
        _enumerate(gap, NEVER)


def hit_few_conflicts(gap: Gap) -> None:
    """Improve weights and lower bound by hitting sets if rows are very few.

    The time limit is ignored. The lower bound is that on the mistakes of any weights.
    """
    if is_quick(gap.examples, TINY):
        narrow_by_hitting_sets(gap, NEVER, FREE_NODES)


def enumerate_cells(gap: Gap) -> None:
    """Find the fewest mistakes, with few features, by enumerating all cells of weights.

    A cell is the set of all w that make the same mistakes.
    """
    if not (few_cells(gap.examples) and gap.goes_on):
        return
    long = gap.examples.d >= LONG_ENUMERATION
    if long or len(gap.examples.kept) > SHORT_ENUMERATION:
        sprint(gap)
    if long and suits_hitting_sets(gap.examples):
        narrow_by_hitting_sets(gap, gap.deadline.share(HITTING_SHARE))
    if gap.goes_on:
        _enumerate(gap, gap.deadline.share(CELLS_SHARE))


def hit_conflicts(gap: Gap) -> None:
    """Improve weights and lower bound by hitting sets and random descent if rows are few.

    Both run in parallel, or by turns if there is a single thread. The lower bound is that on the
    mistakes of any weights.
    """
    if not suits_hitting_sets(gap.examples) or not gap.goes_on:
        return
    others = gap.search.threads - 1
    if others == 0:
        sprint(gap)
        narrow_by_hitting_sets(gap, gap.deadline.share(HITTING_SHARE))
        descend(gap, until=gap.deadline.share(CELLS_SHARE))
        narrow_by_hitting_sets(gap, gap.deadline)
        return

    def search() -> None:
        sprint(gap, others)
        descend(gap, others)

    with ThreadPoolExecutor(1) as pool:
        searching = pool.submit(search)
        try:
            narrow_by_hitting_sets(gap, gap.deadline)
            searching.result()
        except BaseException:
            gap.interrupted = True
            raise


def bound_many_rows(gap: Gap) -> None:
    """Raise the lower bound on the mistakes by disjoint conflicts if rows are many."""
    if not suits_hitting_sets(gap.examples) and gap.goes_on:
        bound_by_disjoint(gap, gap.deadline.share(DISJOINT_SHARE))


def _enumerate(gap: Gap, deadline: Deadline) -> None:
    """Enumerate all cells of the weight space, then search for conflicts to prove the result.

    With many features, the cells of low cost are enumerated before: all of them may take too
    long. The search for conflicts takes as long as the enumeration took, or until the deadline.
    """
    examples, begun, threads = gap.examples, now(), gap.search.threads

    def over() -> bool:
        gap.report(0)
        return deadline.over

    if examples.d >= LONG_ENUMERATION:
        for bound in cells_bounds(examples, gap.cost, over, threads):
            if bound > gap.bound:
                gap.raise_bound(
                    bound, partial(Proof.of_mistakes, examples, bound, enumeration=CELLS)
                )
        begun = now()
    try:
        # Threads may find any of several best lines first. One thread makes the result repeatable.
        threads = 1 if deadline is NEVER else threads
        optimum = cells_optimum(examples, gap.w, over, threads, gap.offer)
    except KeyboardInterrupt:
        gap.interrupted = True
        return
    if optimum is None:
        return
    gap.done = True
    gap.offer(optimum.w)
    if optimum.cost < gap.cost:  # rounding made the best line cost more: try other multiples
        weights = clear_denominators(optimum.exact if examples.x0 else optimum.exact[1:])
        rows = examples.kept.astype(np.intp)
        products = exact_products(weights, examples.merged(), rows.tolist())
        offer_separator(gap, rows[[product > 0 for product in products]], optimum.cost)
    cost = min(optimum.cost, gap.cost)
    gap.raise_bound(
        cost, lambda: Proof.of_mistakes(examples, cost, enumeration=CELLS), exhausted=True
    )
    if gap.cost == cost and cost > 0:
        as_long = deadline if deadline is NEVER else Deadline.after(now() - begun)
        narrow_by_hitting_sets(gap, as_long, FREE_NODES)


DisjointConflict = tuple[Conflict, int, tuple[tuple[int, ...], ...]]  # with cost and duplicates


def bound_by_disjoint(gap: Gap, deadline: Deadline = NOW) -> None:
    """Raise the lower bound on the mistakes by conflicts that share no row.

    Every w makes a mistake in each of them. Whatever the deadline, equal rows with different labels
    are counted, and few rows are searched for some conflicts.
    """
    examples, found = gap.examples, list[DisjointConflict]()
    try:
        for one in _find_disjoint(examples.merged(), gap.w, deadline):
            found.append(one)  # one step, because Ctrl-C may come between any two lines
    except OutOfTimeError:
        pass
    finally:
        bound = sum(cost for _, cost, _ in found)
        conflicts = tuple(conflict for conflict, _, _ in found)
        groups = tuple(group for _, _, groups in found for group in groups)
        proof = partial(Proof.of_mistakes, examples, bound, conflicts, duplicates=groups)
        if bound > gap.bound:
            gap.raise_bound(bound, proof, exhausted=bound >= gap.cost)


ENGINES = (
    try_starts,
    decide_few_rows,
    enumerate_few_points,
    hit_few_conflicts,
    bound_by_disjoint,
    enumerate_cells,
    hit_conflicts,
    sprint,
    bound_many_rows,
    descend,
)


def _find_disjoint(examples: Examples, w: Floats, deadline: Deadline) -> Iterator[DisjointConflict]:
    """Yield conflicts that share no row, if possible each with only one mistake of w.

    Each comes with its cost and its groups of duplicates.
    """
    costs = Costs.of(examples)
    each, total = costs.each, 0
    free = each > 0  # rows that are in no conflict yet
    for sides in contradictions(examples, np.flatnonzero(free)):
        # Every line misclassifies all equal rows of one label. The cost of the cheaper label is
        # certain. It uses as few rows of either label as it needs, the most costly first.
        cost, groups = min(costs.total(side) for side in sides), []
        total += cost
        for side in sides:
            side = side[np.argsort(-each[side], kind="stable")]
            used = np.sort(side[np.cumsum(each[side]) - each[side] < cost])
            free[used] = False
            groups.append(tuple(used.tolist()))
        conflict = Conflict(tuple(sorted(group[0] for group in groups)), (1, 1))
        yield conflict, cost, tuple(group for group in groups if len(group) > 1)
    wrong = Hypothesis(w, examples.x0).mistakes(examples)
    if examples.d > MOST_FEATURES or total >= costs.total(wrong):
        return
    untimed = 0  # number of searches that ignore the deadline
    if is_quick(examples, FREE_ENTRIES):
        untimed = FREE_ENTRIES // (examples.n * examples.dimension)

    def search(rows: Rows) -> DisjointConflict | None:
        nonlocal untimed
        untimed -= 1
        until = NEVER if untimed >= 0 else deadline
        until.check()
        found = find_conflict_or_weights(examples, rows, until) if len(rows) else None
        if not isinstance(found, Conflict):
            return None
        used = list(found.rows)
        free[used] = False
        return found, int(each[used].min()), ()

    s = examples.signed_scores(examples.to_augmented(w))
    worst = wrong[np.argsort(s[wrong])]
    s = np.abs(s)
    s[wrong] = s[each == 0] = np.inf  # leaves correct rows, of which the nearest are taken
    count = min(NEAREST, int(np.isfinite(s).sum()))
    near = np.sort(np.argpartition(s, max(count - 1, 0))[:count])
    for m in worst[free[worst]].tolist():
        if free[m]:
            rows = near[free[near]]
            if (one := search(np.append(rows[rows != m], m))) is not None:
                yield one
    left: Rows = np.union1d(near, wrong).astype(np.intp)
    while (one := search(left[free[left]])) is not None:
        yield one


def _widen_margin(gap: Gap) -> None:
    """Replace the best weights by the weights of widest margin that make the same mistakes.

    The margin of a row is in proportion to its sample weight.
    """
    examples = gap.examples
    rows = np.setdiff1d(examples.kept, gap.judge.wrong(gap.w)).astype(np.intp)
    X = examples.augmented_rows(rows)
    if examples.weights is not None:
        weights = examples.weights[rows]
        with np.errstate(over="ignore"):
            X = X / weights[:, None] * float(weights.max(initial=0))
    if len(rows) == 0 or not np.isfinite(X).all():
        return
    found = separability_of(Examples(X, examples.y[rows], examples.labels, None, 0.0))
    if found.weights is not None:
        w = examples.add_slot(found.weights)
        if np.isfinite(w).all() and gap.cost_of(w) <= gap.cost:
            gap.w = w


def _make_result(gap: Gap) -> FewestMistakesResult:
    examples, optimal = gap.examples, gap.closed
    if optimal and not gap.interrupted and is_quick(examples, FEW_NUMBERS):
        _widen_margin(gap)
    reason = "interrupted" if gap.interrupted else "time_limit"
    if gap.cost == 0:
        reason = "no mistakes"
    elif not gap.interrupted and (optimal or gap.exhausted):
        reason = "optimal" if optimal else "floats"
    bound = gap.mistakes if optimal else gap.costs.number_below(gap.bound)
    proof = gap.proof() if gap.bound > 0 else None
    return FewestMistakesResult(
        examples.to_augmented(gap.w),
        gap.mistakes,
        bound,
        optimal,
        proof,
        gap.judge.wrong(gap.w),
        reason,
        (*gap.history, (now() - gap.begun, gap.mistakes, bound)),
    )
