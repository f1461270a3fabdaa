"""Results are the same for any number of threads, which never exceeds the allowed number."""

import os
import select
import threading
import warnings

import numpy as np
import pytest
from facts import refuses
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb
from rosenblatt import engine


@pytest.fixture
def small_parts(monkeypatch):
    """Few rows, too, are worth a thread, and there are two cores."""
    monkeypatch.setattr(engine, "WORTH_A_THREAD", 10)
    monkeypatch.setattr(engine, "cores", lambda: 2)


def test_results_are_the_same_for_any_number_of_threads(monkeypatch):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(3000, 5)), rng.normal(size=6)
    y = np.where(X @ w[1:] + 0.3 * rng.normal(size=3000) > 0, 1, -1)
    monkeypatch.setattr(engine, "WORTH_A_THREAD", 1000)
    fitted = []
    for jobs in (None, 1, 2, 5):
        clf = rb.Perceptron(max_iter=3, n_jobs=jobs)
        with pytest.warns(ConvergenceWarning):
            clf.fit(X, y)
        pocket = rb.PocketPerceptron(60, restarts=3, random_state=0, n_jobs=jobs).fit(X, y)
        fitted.append(
            [
                clf.n_mistakes_,
                clf.weights_.tolist(),
                clf.decision_function(X).tolist(),
                pocket.history_,
                pocket.weights_.tolist(),
                pocket.trace_.examples.tolist(),
            ]
        )
    assert all(one == fitted[0] for one in fitted)


def test_no_more_threads_run_than_allowed(small_parts, monkeypatch):
    monkeypatch.setattr(engine, "cores", lambda: 4)
    for most in (1, 3, 4):
        parts, threads = [], set()

        def work(part, parts=parts, threads=threads):
            parts.append(part)
            threads.add(threading.get_ident())

        with engine.at_most(most):
            engine.in_threads(work, 100, 1000)
        assert 1 <= len(threads) <= most
        assert rows_of(parts) == list(range(100))


def rows_of(parts):
    return sorted(row for part in parts for row in range(100)[part])


def test_busy_threads_are_not_waited_for(request):
    free, parts = threading.Event(), []
    busy = [engine._thread_pool().submit(free.wait, 300) for _ in range(engine.cores())]
    request.getfixturevalue("small_parts")
    try:
        engine.in_threads(parts.append, 100, 1000)
        assert not any(one.done() for one in busy)
        assert rows_of(parts) == list(range(100))
    finally:
        free.set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_threads_of_its_own(small_parts):
    engine.in_threads([].append, 100, 1000)  # the parent's threads, which a child does not have
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
        child = os.fork()
    if child == 0:
        parts = []
        engine.in_threads(parts.append, 100, 1000)
        os.write(writing, bytes([len(rows_of(parts))]))
        os._exit(0)
    os.close(writing)
    assert select.select([reading], [], [], 300)[0], "the child waits for threads it does not have"
    assert os.read(reading, 1) == bytes([100])
    os.waitpid(child, 0)


def test_an_error_in_one_part_is_raised_after_all_have_ended(small_parts):
    def work(part):
        if part.start:
            raise RuntimeError("the second part")

    with refuses(RuntimeError, "the second part"):
        engine.in_threads(work, 100, 1000)
