"""Machine Learning Foundations, homework 1, questions 15 to 20.

The course takes w(0) = 0, x0 = 1 and sign(0) = -1.
"""

import numpy as np
from line import Line

import rosenblatt as rb

SEPARABLE = "hw1_15_train.dat"
NOISY, FRESH = "hw1_18_train.dat", "hw1_18_test.dat"
PUBLISHED_WEIGHTS = (-3.0, 3.0841436, -1.583081, 2.391305, 4.5287635)


def examples(chosen, file):
    """Return features and labels of one of the course's files."""
    table = np.loadtxt(chosen.data / file)
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(int)


def pla(**parameters):
    return rb.Perceptron(zero="negative", **parameters)


def random_cycles(chosen, eta):
    """Return the updates of many runs, each in its own random order."""
    X, y = examples(chosen, SEPARABLE)
    seeds = range(chosen.seed, chosen.seed + chosen.runs)
    runs = [pla(order="random-cycle", random_state=s, eta0=eta).fit(X, y) for s in seeds]
    return [run.n_updates_ for run in runs]


def question_15(chosen):
    X, y = examples(chosen, SEPARABLE)
    clf = pla().fit(X, y)
    yield Line.exact("naive cycle: updates", 45, clf.n_updates_)
    same = np.allclose(clf.weights_, PUBLISHED_WEIGHTS, rtol=1e-6)
    said = [" ".join(f"{v:.4g}" for v in w) for w in (PUBLISHED_WEIGHTS, clf.weights_)]
    yield Line("naive cycle: w", *said, agrees=same)
    over = pla(order="first").fit(X, y)
    yield Line.exact("starting over after each update", 60, over.n_updates_)
    ones = pla().fit(X, y, coef_init=np.ones(4), intercept_init=1)
    yield Line.exact("from w(0) = all ones", 21, ones.n_updates_)


def question_16(chosen):
    yield Line.mean("random cycle: mean updates", 40.1, 0.26, random_cycles(chosen, 1.0))


def question_17(chosen):
    half = random_cycles(chosen, 0.5)
    yield Line.mean("the same with eta = 1/2", 40.1, 0.26, half)
    same = half == random_cycles(chosen, 1.0)
    yield Line("eta changes any run", "no", "no" if same else "yes", same)


def errors_on_fresh(chosen, updates, last=False):
    """Return the test error of the pocket, or of w(T), in each of many runs."""
    X, y = examples(chosen, NOISY)
    fresh, labels = examples(chosen, FRESH)
    errors = np.empty(chosen.runs)
    for run in range(chosen.runs):
        clf = rb.PocketPerceptron(
            max_updates=updates, zero="negative", random_state=chosen.seed + run
        ).fit(X, y)
        w = clf.last_weights_ if last else clf.weights_
        errors[run] = np.mean(np.where(fresh @ w[1:] + w[0] > 0, 1, -1) != labels)
    return errors


def question_18(chosen):
    errors = errors_on_fresh(chosen, 50)
    yield Line.mean("pocket of 50 updates: test error", 0.133, 0.002, errors)


def question_19(chosen):
    errors = errors_on_fresh(chosen, 50, last=True)
    yield Line.mean("w(50) instead of the pocket: test error", 0.356, 0.012, errors)


def question_20(chosen):
    errors = errors_on_fresh(chosen, 100)
    yield Line.mean("pocket of 100 updates: test error", 0.116, 0.0015, errors)


QUESTIONS = {
    15: question_15,
    16: question_16,
    17: question_17,
    18: question_18,
    19: question_19,
    20: question_20,
}
