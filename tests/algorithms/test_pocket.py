"""The pocket algorithm does what the lecture says and keeps the best weights."""

import contextlib
import importlib
import itertools
import math

import lecture
import lecture_pocket
import numpy as np
import pytest
import scipy.sparse as sp
import strategies as its
from ctrl_c import ctrl_c_after
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt.algorithms import pocket as learn_pocket
from rosenblatt.algorithms.pla import Rule
from rosenblatt.algorithms.pocket import Judge
from rosenblatt.examples import Examples

judging = importlib.import_module("rosenblatt.algorithms.pocket")

SIGNS = {"mistake": 0, "negative": -1, "positive": 1}


@given(its.labelled(max_rows=8), its.orders, its.zeros, its.seeds)
def test_the_pocket_matches_the_lectures_for_the_same_mistakes(xy, order, zero, seed):
    X, y = xy
    clf = rb.PocketPerceptron(30, order, zero=zero, random_state=seed).fit(X, y)
    run = lecture.chosen(lecture.tall(X), y, clf.trace_.examples, zero=zero)
    best, history = lecture_pocket.pocket(lecture.tall(X), y, run.weights, zero)
    assert clf.history_ == history
    assert clf.weights_ == pytest.approx(best, abs=0)
    assert clf.last_weights_ == pytest.approx(run.weights[-1], abs=0)
    assert clf.n_mistakes_ == history[-1][1]
    assert clf.separated_ == (history[-1][1] == 0)


@given(its.labelled(max_rows=8), its.seeds, st.data())
def test_weights_count_as_repeated_rows_do(xy, seed, data):
    X, y = xy
    s = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(X), max_size=len(X))))
    clf = rb.PocketPerceptron(30, random_state=seed).fit(X, y, sample_weight=s)
    weights = [clf.trace_.weights(t) for t in range(clf.n_updates_ + 1)]
    best, history = lecture_pocket.pocket(
        lecture.tall(np.repeat(X, s, axis=0)), np.repeat(y, s), weights
    )
    assert clf.history_ == history
    assert clf.weights_ == pytest.approx(best, abs=0)


@given(its.labelled(), its.seeds, its.zeros, st.booleans())
def test_a_block_is_judged_as_each_vector_alone(xy, seed, zero, weighted):
    X, y = xy
    rng = np.random.default_rng(seed)
    # Small whole numbers: many ties, and many scores that are exactly 0.
    W = rng.integers(-2, 3, size=(12, X.shape[1] + 1)).astype(float)
    examples = Examples.from_arrays(X, y)
    if weighted:
        examples = examples.weighted(rng.choice([0.1, 0.2, 0.3], size=len(X)))
    one = Judge(examples, SIGNS[zero])
    best, found = one.alone(np.zeros(X.shape[1] + 1)), []
    expected_best = best
    for b, w in enumerate(W):
        if one.alone(w) < expected_best:
            expected_best = one.alone(w)
            found.append((b, expected_best))
    for threads, few in itertools.product((1, 2), (0, judging.FEW_ROWS)):
        many = Judge(examples, SIGNS[zero], threads)
        with pytest.MonkeyPatch.context() as patch:  # hardest rows first, or in file order
            patch.setattr(judging, "FEW_ROWS", few)
            patch.setattr(judging, "FEW_CANDIDATES", few)
            assert many.improvements(W, best) == found


@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
def test_blocks_and_chunks_do_not_change_the_result(kind, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4)).astype("float32" if kind == "float32" else "float64")
    y = np.sign(X[:, 0] + 0.3 * rng.normal(size=300))
    X = sp.csr_array(X) if kind == "sparse" else X
    for chunk in (1, 100, judging.SCORES_AT_ONCE):
        monkeypatch.setattr(judging, "SCORES_AT_ONCE", chunk)
        monkeypatch.setattr(judging, "FEW_PAIRS", 2)
        clf = rb.PocketPerceptron(60, "shuffle", random_state=1, n_jobs=2).fit(X, y)
        judge = Judge(Examples.from_arrays(X, y))
        counts = [judge.alone(clf.trace_.weights(t)) for t in range(61)]
        firsts = [(t, c) for t, c in enumerate(counts) if c < min(counts[:t], default=math.inf)]
        assert clf.history_ == firsts


@given(its.labelled(max_rows=8), its.zeros)
def test_the_ratchet_is_gallants(xy, zero):
    X, y = xy
    clf = rb.PocketPerceptron(20, "cycle", ratchet=True, zero=zero).fit(X, y)
    run = lecture.cyclic(lecture.tall(X), y, zero=zero, max_cycles=1000)
    visits = list(range(len(X))) * 1000
    _, history = lecture_pocket.gallant(lecture.tall(X), y, visits[: 25 * len(X)], zero)
    assert clf.trace_.examples.tolist() == run.rows[: clf.n_updates_]
    expected = [(t, c) for t, c in history if t <= clf.n_updates_]
    # When the updates run out, the last w may not have been visited long enough to be judged.
    assert clf.history_ in (expected, [(t, c) for t, c in expected if t < 20])


@pytest.mark.parametrize("order", its.ORDERS)
def test_the_ratchet_works_with_every_order_and_halts(order):
    X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    clf = rb.PocketPerceptron(500, order, ratchet=True, random_state=0).fit(X, [0, 0, 0, 1])
    assert clf.separated_
    assert clf.stop_reason_ == "no mistakes"
    xor = rb.PocketPerceptron(500, order, ratchet=True, random_state=0).fit(X, [0, 1, 1, 0])
    assert xor.n_updates_ == 500
    judge = Judge(Examples.from_arrays(X, [0, 1, 1, 0]))
    assert xor.n_mistakes_ == len(judge.wrong(xor.weights_))


@given(its.separable(), its.orders, st.booleans())
def test_separable_examples_end_with_no_mistakes(planted, order, ratchet):
    clf = rb.PocketPerceptron(
        100_000, order, ratchet, fit_intercept=planted.x0 is not None, random_state=0
    ).fit(planted.X, planted.y)
    assert clf.separated_
    assert clf.n_mistakes_ == 0
    assert clf.stop_reason_ == "no mistakes"
    assert (clf.predict(planted.X) == planted.y).all()


@given(its.labelled(), its.seeds)
def test_restarts_do_not_depend_on_threads_and_keep_the_first_best(xy, seed):
    fits = [
        rb.PocketPerceptron(15, restarts=4, random_state=seed, n_jobs=jobs).fit(*xy)
        for jobs in (1, 2, 3)
    ]
    for clf in fits[1:]:
        assert clf.history_ == fits[0].history_
        assert clf.trace_.examples.tolist() == fits[0].trace_.examples.tolist()
    alone = rb.PocketPerceptron(15, random_state=np.random.default_rng(seed).spawn(1)[0]).fit(*xy)
    assert fits[0].n_mistakes_ <= alone.n_mistakes_


def noisy(n=400, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sign(X[:, 0] + rng.normal(size=n))


@pytest.mark.parametrize("ratchet", [False, True])
@pytest.mark.parametrize("restarts", [1, 3])
def test_the_time_limit_ends_a_run_with_its_best(ratchet, restarts):
    X, y = noisy()
    clf = rb.PocketPerceptron(
        10**9, ratchet=ratchet, restarts=restarts, time_limit=0.2, random_state=0
    ).fit(X, y)
    assert clf.stop_reason_ == "time_limit"
    assert clf.n_mistakes_ == (clf.predict(X) != y).sum() < 200


def test_without_a_budget_the_initial_weights_are_kept():
    X, y = noisy()
    clf = rb.PocketPerceptron(0).fit(X, y, coef_init=[1.0, 0.0, 0.0])
    assert clf.stop_reason_ == "max_updates"
    assert clf.history_ == [(0, (np.sign(X[:, 0]) != y).sum())]
    again = rb.PocketPerceptron(50, warm_start=True, random_state=0).fit(X, y)
    first = again.n_mistakes_
    assert again.fit(X, y).history_[0] == (0, first)


@pytest.mark.parametrize(("restarts", "order"), [(1, "random"), (1, "cycle"), (2, "random")])
def test_ctrl_c_keeps_the_best_so_far(restarts, order, monkeypatch):
    X, y = noisy()
    clf = rb.PocketPerceptron(10**9, order, restarts=restarts, time_limit=60, random_state=0)
    # Compile first: before there is a pocket Ctrl-C is an ordinary KeyboardInterrupt.
    rb.PocketPerceptron(200, order, restarts=restarts, random_state=0).fit(X, y)
    real, judged = Judge.alone, []

    def interrupted(self, w):
        if judged and min(judged) < 300:
            raise KeyboardInterrupt
        judged.append(real(self, w))
        return judged[-1]

    pressed = contextlib.nullcontext()
    if restarts == 1:
        monkeypatch.setattr(Judge, "alone", interrupted)
    else:
        pressed = ctrl_c_after(0.5)
    with pytest.raises(KeyboardInterrupt), pressed:
        clf.fit(X, y)
    assert clf.stop_reason_ == "interrupted"
    assert clf.n_mistakes_ == (clf.predict(X) != y).sum() < 300
    assert clf.history_[-1][0] <= clf.n_updates_ == len(clf.trace_)
    assert clf.last_weights_.tolist() == clf.trace_.weights(clf.n_updates_).tolist()
    assert clf.trace_.ends.max(initial=0) <= clf.n_updates_


def test_progress_is_printed_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr("time.monotonic", itertools.count(0.0, 0.6).__next__)
    rb.PocketPerceptron(200, verbose=1, time_limit=1000, random_state=0).fit(*noisy())
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all("mistakes so far" in line and "s left" in line for line in lines)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_updates", -1),
        ("max_updates", None),
        ("restarts", 0),
        ("time_limit", 0),
        ("n_jobs", 0),
        ("order", "sideways"),
    ],
)
def test_wrong_parameters_are_refused_in_one_sentence(name, value):
    with refuses(ValueError, name, repr(value)):
        rb.PocketPerceptron(**{name: value}).fit(*noisy(20))


def test_class_weights_change_what_a_mistake_costs():
    X, y = noisy()
    costly = rb.PocketPerceptron(400, class_weight={-1.0: 1, 1.0: 20}, random_state=0).fit(X, y)
    missed = (costly.predict(X) != y) & (y > 0)
    false = (costly.predict(X) != y) & (y < 0)
    assert costly.n_mistakes_ == 20 * missed.sum() + false.sum()


def test_the_learner_can_be_used_without_scikit_learn():
    examples = Examples.from_arrays(*noisy())
    run = learn_pocket(examples, Rule("random", rng=np.random.default_rng(0)))
    assert run.reason == "max_updates"
    assert run.mistakes == run.pocket.mistakes


def course(data, name):
    table = np.loadtxt(data / name)
    return np.ascontiguousarray(table[:, :4]), table[:, 4]


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(
    ("updates", "weights", "published", "error"),
    [
        (50, "weights_", 0.133, 0.002),
        (50, "last_weights_", 0.356, 0.012),
        (100, "weights_", 0.116, 0.0015),
    ],
    ids=["question 18", "question 19", "question 20"],
)
def test_homework_questions_give_their_published_results(data, updates, weights, published, error):
    X, y = course(data, "hw1_18_train.dat")
    test_X, test_y = course(data, "hw1_18_test.dat")
    errors = []
    for seed in range(2000):
        clf = rb.PocketPerceptron(updates, zero="negative", random_state=seed).fit(X, y)
        w = getattr(clf, weights)
        errors.append(np.mean(np.where(w[0] + test_X @ w[1:] > 0, 1, -1) != test_y))
    ours = np.std(errors) / math.sqrt(len(errors))
    assert abs(np.mean(errors) - published) <= 3 * math.hypot(error, ours)


@pytest.mark.parametrize("order", ["random", "cycle", "shuffle", "first", "random-cycle"])
def test_the_ratchet_ends_if_floats_miss_the_last_mistake(order):
    X = np.array([[0, 1.0], [0, 1], [17, 17], [1e-160, 0], [-1, 0], [0, 1e-160]])
    y = [1, 1, 1, -1, 1, 1]
    clf = rb.PocketPerceptron(max_updates=30, order=order, ratchet=True, random_state=0).fit(X, y)
    assert clf.n_updates_ <= 30
    assert clf.n_mistakes_ >= 0
