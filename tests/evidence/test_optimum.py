"""The fewest mistakes by all engines: every claim is true and proved at any time."""

import inspect
import itertools
import sys
from fractions import Fraction

import corruption
import numpy as np
import pytest
from brute_force import fewest_by_rays
from case_counts import count_cases, n_cases
from trees import Grown

import rosenblatt as rb
from rosenblatt.algorithms import cells, fewest
from rosenblatt.algorithms.fewest import Gap, Search
from rosenblatt.clock import NEVER
from rosenblatt.evidence import hittingset, optimum
from rosenblatt.evidence.certificate import parse_claim
from rosenblatt.examples import Examples


class Idle:
    """A search for hitting sets that finds none."""

    bound, best = 0, 1

    def run(self, most):
        return

    def proof(self):
        return None


def enumerate_alone(gap):
    """Enumerate all cells; the search for conflicts that follows finds none."""
    gap.kept["hitting sets"] = Idle()
    optimum.enumerate_cells(gap)


ALONE = {
    "enumeration": enumerate_alone,
    "tree": lambda gap: hittingset.narrow_by_hitting_sets(gap, NEVER),
    "disjoint sets": optimum.bound_by_disjoint,
    "search": optimum.descend,
}


def tiny(seed, most=9):
    """Draw a few rows of one to three columns, with ties and contradictions."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, most + 1)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.7:
        X = rng.integers(-2, 3, size=(n, d)) / rng.choice([1, 1, 10])
    X, y = X[rng.integers(0, n, n)], rng.integers(0, 2, n)
    y[:2] = 0, 1
    s = rng.choice([0.0, 0.1, 0.25, 1.0, 1.0, 3.0], size=n) if rng.random() < 0.5 else None
    if s is not None:
        s[:2] += 0.5
    return X, y, s, bool(rng.random() < 0.7)


def brute_force(X, y, s, intercept):
    """Compute the cost of the fewest mistakes in fractions."""
    tall = [[Fraction(1)] * intercept + [Fraction(v) for v in x] for x in X.tolist()]
    rows = [tuple((2 * int(a) - 1) * v for v in x) for x, a in zip(tall, y, strict=True)]
    costs = [Fraction(1)] * len(X) if s is None else [Fraction(v) for v in s.tolist()]
    counted = [n for n, cost in enumerate(costs) if cost]
    return fewest_by_rays([rows[n] for n in counted], [costs[n] for n in counted])


def is_true(result, about, least):
    """Check that all that a result claims is true and proved."""
    X, y, s, _ = about
    made = sum(Fraction(1) if s is None else Fraction(s[n]) for n in result.wrong.tolist())
    assert least <= made
    assert result.mistakes == float(made)
    if result.optimal:
        assert (made, result.lower_bound) == (least, result.mistakes)
    else:
        assert result.lower_bound <= least
    assert (result.proof is None) == (result.lower_bound == 0)
    if result.proof is not None:
        assert result.proof.check(X, y, s, again=True)
        bound = parse_claim(result.proof.claim, s is not None)
        assert bound <= least
        assert bound == least or not result.optimal
        assert float(bound) == pytest.approx(result.lower_bound, rel=1e-15)


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("part", range(4))
def test_the_optimum_of_tiny_sets_matches_brute_force(part):
    for seed in range(part, n_cases(100), 4):
        about = X, y, s, intercept = tiny(seed)
        given = {"sample_weight": s, "fit_intercept": intercept, "random_state": seed}
        result = rb.fewest_mistakes(X, y, time_limit=60.0, n_jobs=1 + seed % 2, **given)
        is_true(result, about, brute_force(*about))
        assert result.optimal, seed
        count_cases("optimum, bound and proof of tiny sets, beside brute force")


def by_one_engine(kind, about):
    """Return the result of one engine alone."""
    X, y, s, intercept = about
    examples = Examples.from_arrays(X, y, x0=float(intercept))
    examples = examples if s is None else examples.weighted(s)
    search = Search(0.05 if kind == "search" else 60.0, rng=np.random.default_rng(0))
    return optimum.fewest_of(examples, search, (ALONE[kind],))


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("kind", ALONE)
def test_the_result_of_each_engine_alone_is_true(kind):
    for seed in range(n_cases(20)):
        about = tiny(1000 + seed)
        result = by_one_engine(kind, about)
        is_true(result, about, brute_force(*about))
        assert result.optimal or kind not in ("enumeration", "tree")
        count_cases("engines of fewest mistakes alone, beside brute force")


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("kind", ["enumeration", "tree", "disjoint sets"])
def test_no_corrupted_proof_of_an_engine_is_accepted_unless_it_is_true(kind):
    rng = np.random.default_rng(7)
    refused = 0
    for seed in range(n_cases(60)):
        about = X, y, s, _ = tiny(2000 + seed)
        proof = by_one_engine(kind, about).proof
        if proof is None:
            continue
        found = Grown(X, y, s, proof, brute_force(*about))
        assert found.check(proof, again=True)
        for changed in corruption.corrupted(rng, proof, 8):
            if corruption.holds(found, changed):
                assert parse_claim(changed.claim, s is not None) <= found.fewest
            else:
                refused += 1
    assert refused >= 200
    count_cases("corrupted proofs of engines, none accepted that claims too much", refused)


TRACED = {inspect.getfile(module) for module in (hittingset, optimum, cells, fewest)}


class CtrlC:
    """Ctrl-C after a number of lines of some files, or of some functions in them."""

    def __init__(self, lines, functions=()):
        self.left, self.functions = lines, functions

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.call)
        return self

    def __exit__(self, *error):
        sys.settrace(self.before)

    def call(self, frame, event, arg):
        name = frame.f_code.co_name
        inside = frame.f_code.co_filename in TRACED and name != "fewest_of"
        return self.line if inside and (name in self.functions or not self.functions) else None

    def line(self, frame, event, arg):
        self.left -= event == "line"
        if self.left == 0:
            raise KeyboardInterrupt
        return self.line


def noisy(d, seed=0, n=24):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n, d)).astype(float)
    return X, (X[:, 0] + 2 * rng.normal(size=n) > 2.5).astype(int), None, True


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("d", [2, 3, 7])
def test_the_bound_holds_whenever_the_time_ends(d, monkeypatch):
    about = X, y, _, _ = noisy(d, seed=1)
    least = rb.fewest_mistakes(X, y, time_limit=60.0, random_state=0).lower_bound
    untimed = optimum.enumerate_few_points, optimum.hit_few_conflicts
    timed = [engine for engine in optimum.ENGINES if engine not in untimed]
    examples, bounds = Examples.from_arrays(X, y), set()
    for ticks in np.geomspace(1, 4000, n_cases(15)):
        with monkeypatch.context() as patch:
            patch.setattr("time.monotonic", itertools.count(0.0, 1.0).__next__)
            search = Search(ticks, rng=np.random.default_rng(0))
            result = optimum.fewest_of(examples, search, timed)
        is_true(result, about, least)
        bounds.add(result.lower_bound)
        count_cases("searches for fewest mistakes ended at any moment, by the clock")
    assert max(bounds) == least


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("d", [2, 3, 7])
def test_ctrl_c_at_any_line_keeps_the_best_so_far_and_a_valid_bound(d):
    about = X, y, _, _ = noisy(d)
    given = {"time_limit": 60.0, "random_state": 0, "n_jobs": 1}
    calm = rb.fewest_mistakes(X, y, **given)
    assert calm.optimal
    ended = 0
    for lines in itertools.chain(
        range(40, 400, 30), np.geomspace(400, 20000, n_cases(15)).astype(int)
    ):
        with CtrlC(lines) as pressed:
            result = rb.fewest_mistakes(X, y, **given)
        is_true(result, about, calm.mistakes)
        if pressed.left > 0:
            assert result.optimal
        ended += result.stop_reason == "interrupted"
        count_cases("searches for fewest mistakes ended at any line, by Ctrl-C")
    assert ended > 5


@pytest.mark.slow_without_jit
def test_ctrl_c_loses_no_branch_of_a_tree():
    rng = np.random.default_rng(2)
    about = rng.normal(size=(22, 5)), rng.integers(0, 2, 22), None, True
    calm = by_one_engine("tree", about)
    assert calm.proof.tree.branches > 0
    for lines in itertools.count(1):
        with CtrlC(lines, ("run", "_branch", "_keep")) as pressed:
            result = by_one_engine("tree", about)
        is_true(result, about, calm.lower_bound)
        count_cases("searches for fewest mistakes ended at any line, by Ctrl-C")
        if pressed.left > 0:
            break
    assert lines > 20


@pytest.mark.slow_without_jit
def test_an_enumeration_reports_its_progress():
    X, y, _, _ = noisy(3)
    reports = []

    def watch(mistakes, steps, bound):
        reports.append((mistakes, bound))

    gap = Gap(Examples.from_arrays(X, y), Search(60.0, watch=watch))
    enumerate_alone(gap)
    assert gap.closed
    assert all(mistakes >= gap.mistakes and bound <= gap.bound for mistakes, bound in reports)
    assert reports


@pytest.mark.slow_without_jit
def test_a_card_shows_how_to_check_the_proof():
    seen = set()
    for kind, weights in itertools.product(("enumeration", "tree"), (None, [1.0, 2.0, 1.0])):
        X, y, s = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0]), weights
        result = by_one_engine(kind, (X, y, s, True))
        assert result.proof.how in result._repr_html_()
        checked = {"X": X, "y": y, "sample_weight": s, "proof": result.proof}
        assert eval(result.proof.how, checked)
        seen.add(result.proof.how)
    assert len(seen) == 4
