"""Threads by default, and as many as a person allows: the answers are the same."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb
from rosenblatt import engine


def test_answers_are_the_same_for_any_number_of_threads(monkeypatch):
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


def test_no_more_threads_than_were_allowed(monkeypatch):
    monkeypatch.setattr(engine, "WORTH_A_THREAD", 10)
    monkeypatch.setattr(engine, "cores", lambda: 4)
    parts = []
    for most in (1, 3, 4):
        with engine.at_most(most):
            engine.in_threads(parts.append, 100, 1000)
        assert len(parts) == most
        parts.clear()
    engine.in_threads(parts.append, 100, 1000)
    assert len(parts) == 4
