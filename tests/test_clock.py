"""Time limits go by a clock of work: compiling stops it, and what is cheap does not look at it."""

import itertools
import threading
import time

import numpy as np
import pytest
from scipy import sparse

import rosenblatt as rb
from rosenblatt import algorithms, clock
from rosenblatt.blocks import InOrder
from rosenblatt.clock import NEVER, Deadline, OutOfTimeError
from rosenblatt.engine import Kernel
from rosenblatt.evidence.separability import find_contradictions, separability_of
from rosenblatt.examples import Examples

OVER = Deadline(-np.inf)


@pytest.fixture
def hand(monkeypatch):
    """A clock that goes on only when a test moves it."""
    at = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: at[0])

    def wait(seconds):
        at[0] += seconds

    return wait


@pytest.fixture
def ticking(monkeypatch):
    """A clock that goes on by a millisecond with each look at it, and only then."""
    looks = itertools.count()
    monkeypatch.setattr("time.monotonic", lambda: next(looks) / 1000)


def test_a_deadline_counts_only_work(hand):
    deadline = Deadline.after(10.0)
    hand(4.0)
    begun = clock.now()
    with clock.pause_clock():
        hand(60.0)
        with clock.pause_clock():  # as a second thread would
            hand(30.0)
        assert deadline.left == pytest.approx(6.0)
    assert deadline.left == pytest.approx(6.0)
    hand(7.0)
    assert clock.now() - begun == pytest.approx(7.0)
    assert deadline.over
    assert deadline.left == 0
    with pytest.raises(OutOfTimeError):
        deadline.check()


def test_shares_are_fractions_of_the_remaining_time(hand):
    deadline = Deadline.after(8.0)
    half = deadline.share(0.5)
    hand(2.0)
    assert (half.left, deadline.left) == pytest.approx((2.0, 6.0))
    assert NEVER.share(0.5) is NEVER
    assert not NEVER.over


def test_an_uninterruptible_step_starts_only_if_it_fits(hand):
    deadline = Deadline.after(10.0).share(0.3, late=0.8)
    deadline.check_step(7.9)
    with pytest.raises(OutOfTimeError):
        deadline.check_step(8.1)
    hand(3.5)
    with pytest.raises(OutOfTimeError):
        deadline.check_step(0.1)
    NEVER.share(0.3, late=0.8).check_step(1e9)


def test_the_clock_is_paused_while_any_thread_holds_it():
    begun = clock.now()
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with clock.pause_clock():
            inside.set()
            leave.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait()
    with clock.pause_clock():
        pass
    first = clock.now()
    time.sleep(0.01)
    assert clock.now() == first >= begun
    leave.set()
    holder.join()


@pytest.mark.slow_without_jit
def test_compiling_is_not_counted():
    kernel, begun = Kernel(lambda a, b: a + b), (time.monotonic(), clock.now())
    assert kernel(1, 2) == 3
    seconds, counted = time.monotonic() - begun[0], clock.now() - begun[1]
    assert 0 <= counted < seconds
    first = clock._paused.seconds
    assert kernel(2, 3) == 5
    assert clock._paused.seconds == first


def inseparable(n=1500, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return Examples.from_arrays(X, np.sign(X[:, 0] + rng.normal(size=n)))


def test_without_time_the_verdict_is_undecided_and_gives_the_reason():
    examples = inseparable()
    s = separability_of(examples, deadline=OVER)
    assert s.verdict == "undecided"
    assert s.explain().startswith("Undecided: the time limit ended the search for a proof.")
    separable = Examples.from_arrays(examples.X, np.sign(examples.X[:, 0]))
    for rows, verdict in ((separable, "undecided"), (examples, "not separable")):
        # A sample of the rows is small: it shows the one and cannot show the other.
        in_passes = separability_of(InOrder(lambda: [rows]), deadline=OVER)  # noqa: B023
        assert in_passes.verdict == verdict


def test_a_small_data_set_is_decided_whatever_the_time_limit():
    for examples in (inseparable(50), Examples.from_arrays([[0.0], [1.0]], [0, 1])):
        calm, late = separability_of(examples), separability_of(examples, deadline=OVER)
        assert late.verdict == calm.verdict != "undecided"
        assert late.proof == calm.proof
        blocks = InOrder(lambda: [examples])  # noqa: B023
        assert separability_of(blocks, deadline=OVER).verdict == calm.verdict


def test_a_system_that_takes_too_long_is_not_started(ticking):
    """Solving in fractions cannot be interrupted: how long it takes is estimated before."""
    examples = inseparable(400, 60)
    assert separability_of(examples, deadline=Deadline.after(60.0)).verdict == "inseparable"
    late = separability_of(examples, deadline=Deadline.after(0.2))
    assert late.verdict == "undecided"
    assert "time limit" in late.explain()


def test_learn_reports_that_the_time_limit_ended_the_proof(ticking):
    examples = inseparable(400, 60)
    result = rb.learn(examples.X, examples.y, time_limit=0.3)
    assert result.verdict == "undecided"
    assert "verdict" in result.cut_short


def test_the_first_pass_ends_at_the_time_limit():
    looked_at = []

    def blocks():
        for seed in range(20):
            looked_at.append(seed)
            yield inseparable(seed=seed)

    late = separability_of(InOrder(blocks), deadline=OVER)
    assert late.verdict == "undecided"
    assert "time limit" in late.explain()
    assert len(looked_at) == 2


def test_without_time_large_data_are_not_tested():
    examples = inseparable(60_000, 20)
    result = rb.learn(examples.X, examples.y, time_limit=1e-9)
    assert result.accuracy is None
    assert "test" in result.cut_short
    assert "time limit" in result.not_tested


def test_without_time_large_data_are_not_trained_on():
    """They are neither scaled nor searched: the most frequent label is predicted."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60_000, 20)), np.arange(60_000) % 3 > 0
    for labels in (y, np.where(X[:, 0] > 1, 2, y)):
        result = rb.learn(X, labels, time_limit=1e-9)
        assert result.cut_short == ["verdict", "learning", "test"]
        assert result.outcome.run.updates == 0
        assert result.mistakes == len(y) - np.bincount(labels).max()


def test_a_pocket_that_starts_in_time_scores_its_first_updates():
    examples = inseparable(60_000, 20)
    late = algorithms.pocket(examples, budget=algorithms.Budget(2**62, 100, 0.0))
    assert (late.reason, late.updates) == ("time_limit", 0)
    begun = algorithms.pocket(examples, budget=algorithms.Budget(2**62, 100, 1e-2))
    assert begun.updates > 0


def test_a_quick_attempt_on_sparse_rows_ends_in_time():
    rng = np.random.default_rng(0)
    noise = sparse.random_array((60_000, 2000), density=0.01, format="csr", rng=rng)
    y = rng.integers(0, 2, size=60_000)
    narrow = 0.03 * (y[:, None] - 0.5)  # separates, but takes PLA several cycles
    examples = Examples.from_arrays(sparse.hstack((narrow, noise), format="csr"), y)
    assert separability_of(examples, widest=False).verdict == "separable"
    assert separability_of(examples, widest=False, deadline=OVER).verdict == "undecided"


def test_small_data_ignore_the_deadline_only_if_their_integers_are_short(ticking):
    """Exact work on few numbers is free, but not where their exponents are far apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10)) * 10.0 ** rng.integers(-90, 90, size=(200, 10))
    far_apart = Examples.from_arrays(X, rng.integers(0, 2, size=200))
    assert separability_of(far_apart, deadline=OVER).verdict == "undecided"
    assert rb.fewest_mistakes(X, far_apart.y, time_limit=1e-9).stop_reason == "time_limit"


def test_results_proved_before_the_time_limit_are_reported(ticking):
    """Rows that block one another are found; whether they span all others is not."""
    examples = inseparable()
    for blocks in (examples, InOrder(lambda: [examples])):
        limits = (Deadline.after(looks / 1000) for looks in range(1, 200))
        answers = [separability_of(blocks, deadline=limit) for limit in limits]
        verdicts = list(dict.fromkeys(s.verdict for s in answers))
        assert verdicts[-2:] == ["not separable", "inseparable"]
        assert set(verdicts[:-2]) <= {"undecided"}
        s = next(s for s in answers if s.verdict == "not separable")
        assert s.conflicts
        assert "not checked for quasi-separability" in repr(s)
        if blocks is examples:
            assert s.proof.claim == "at least 1 mistake"
            assert s.proof.check_examples(examples)


def test_contradictory_rows_are_a_proof_without_time():
    X, y = inseparable().X, inseparable().y
    twice = Examples.from_arrays(np.vstack([X, X[[3, 3, 9]]]), [*y, -y[3], -y[3], -y[9]])
    s = find_contradictions(twice)
    assert s.verdict == "not separable"
    assert {part.rows for part in s.conflicts} == {(3, len(X)), (9, len(X) + 2)}
    assert s.proof.claim == "at least 2 mistakes"
    assert s.proof.check_examples(twice)
    assert find_contradictions(inseparable()) is None


def test_small_data_are_trained_on_whatever_the_time_limit(hurried):
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    clf = rb.PocketPerceptron(1000, time_limit=1e-9, random_state=0).fit(X, y)
    assert (clf.n_mistakes_, clf.n_updates_, clf.stop_reason_) == (1, 1000, "max_updates")
    run = algorithms.pla(
        Examples.from_arrays([[2.0], [-1.0]], [1, 0]), budget=algorithms.Budget(seconds=0)
    )
    assert run.reason == "no mistakes"


def test_pla_ends_at_the_time_limit(monkeypatch):
    monkeypatch.setattr("rosenblatt.clock.CHEAP", 0)
    run = algorithms.pla(inseparable(), budget=algorithms.Budget(2**62, seconds=0.0))
    assert (run.reason, len(run.trace)) == ("time_limit", 0)
    assert run.mistakes == 1500


@pytest.mark.parametrize(
    ("mistakes", "bound", "message"),
    [
        (12, 0, "12 mistakes so far, 50 steps per second, 3 s left"),
        (150, 4, "150 mistakes so far, 50 steps per second, 3 s left"),
        (12, 7, "12 mistakes so far, no line makes fewer than 7, 50 steps per second, 3 s left"),
        (
            0.5,
            0.25,
            "0.5 mistakes so far, no line makes fewer than 0.25, 50 steps per second, 3 s left",
        ),
        (12, 12, "12 mistakes, no line makes fewer, 50 steps per second, 3 s left"),
    ],
)
def test_progress_shows_the_best_result_and_the_bound_so_far(
    hand, capsys, mistakes, bound, message
):
    with clock.MistakeProgress(1, 5.0, "steps") as teller:
        hand(2.0)
        teller.report(mistakes, 100, bound)
    assert capsys.readouterr().err == f"rosenblatt: {message}\n"
