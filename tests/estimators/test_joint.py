"""PLA with more than two labels has the updates, the halting and the bound of the theory."""

import itertools
import pickle
import warnings
from fractions import Fraction

import lecture
import numpy as np
import pytest
import strategies as make
from facts import refuses, warns
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rosenblatt as rb
from rosenblatt import algorithms
from rosenblatt.examples import Examples

quietly = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SEED = 3
zeros = st.sampled_from(["mistake", "negative", "positive"])


@st.composite
def labelled(draw, least=3):
    """Generate rows of integers with three to five labels, each at least once."""
    K, d = draw(st.integers(least, 5)), draw(st.integers(1, 3))
    n = draw(st.integers(K, 12))
    numbers = st.lists(st.integers(-4, 4), min_size=n * d, max_size=n * d)
    X = np.array(draw(numbers), dtype=float).reshape(n, d)
    more = st.lists(st.integers(0, K - 1), min_size=n - K, max_size=n - K)
    y = np.array(draw(st.permutations([*range(K), *draw(more)])))
    return X, y


def separated(rng, n, d, K, margin):
    """Generate rows that some W classifies correctly with at least a margin."""
    W = rng.normal(size=(K, d + 1))
    X = rng.normal(size=(8 * n, d))
    s = np.sort(lecture.tall(X) @ W.T, axis=1)
    X = X[s[:, -1] - s[:, -2] >= margin][:n]
    return X, (lecture.tall(X) @ W.T).argmax(axis=1), W


def same_run(clf, run):
    """Return whether a classifier has the weights of the oracle at every t."""
    assert clf.trace_.examples.tolist() == run.rows
    assert clf.trace_.rivals.tolist() == run.rivals
    assert clf.n_updates_ == len(run.rows)
    for t, W in enumerate(run.weights):
        assert clf.trace_.weights(t).tolist() == W.tolist()
    assert clf.weights_.tolist() == run.weights[-1].tolist()


# The rule, against the slow one.


@quietly
@given(
    labelled(),
    st.sampled_from(["cycle", "random-cycle", "shuffle"]),
    zeros,
    make.powers_of_two,
    st.integers(0, 20) | st.none(),
)
def test_epochs_make_the_updates_of_the_rule(examples, order, zero, eta, most):
    X, y = examples
    clf = rb.Perceptron(order, 6, most, eta, zero=zero, random_state=SEED, average=True).fit(X, y)
    visits = itertools.chain(*itertools.islice(lecture.cycles_of(order, len(y), SEED), 6))
    run = lecture.joint(lecture.tall(X), y, visits, zero=zero, eta=eta, most=most)
    same_run(clf, run)
    left = [
        n
        for n in range(len(y))
        if lecture.beaten_by(run.weights[-1], [1, *X[n]], y[n], zero) is not None
    ]
    assert clf.n_mistakes_ == len(left)
    assert clf.separated_ == (not left)


@quietly
@given(labelled(), zeros, st.integers(1, 40))
def test_starting_over_makes_the_updates_of_the_rule(examples, zero, most):
    X, y = examples
    clf = rb.Perceptron("first", max_updates=most, zero=zero, average=True).fit(X, y)
    run = lecture.joint(lecture.tall(X), y, "first", zero=zero, most=most)
    same_run(clf, run)
    mean = np.mean(run.after, axis=0)
    assert np.allclose(np.column_stack((clf.intercept_, clf.coef_)), mean, atol=1e-12)


@quietly
@given(labelled(), zeros)
def test_random_order_updates_on_mistakes_against_the_best_competing_class(examples, zero):
    X, y = examples
    clf = rb.Perceptron("random", max_iter=5, zero=zero, random_state=SEED).fit(X, y)
    made = zip(clf.trace_.examples, clf.trace_.rivals, strict=True)
    for t, (n, r) in enumerate(made):
        assert lecture.beaten_by(clf.trace_.weights(t), [1, *X[n]], y[n], zero) == r


@quietly
@given(labelled(), st.data())
def test_weights_starts_and_intercepts_work_as_with_two_labels(examples, data):
    X, y = examples
    s = data.draw(make.whole(0, 3, len(y)))
    assume(len(set(y[s > 0])) > 1)
    x0, K = data.draw(st.sampled_from([None, 0.5, 4.0])), int(max(y)) + 1
    coef = data.draw(make.whole(-3, 3, K * X.shape[1])).reshape(K, -1)
    clf = rb.Perceptron(max_iter=5, fit_intercept=x0 is not None, intercept_scaling=x0 or 1.0)
    clf.fit(X, y, sample_weight=s, coef_init=coef)
    W = coef if x0 is None else np.column_stack((np.zeros(K), coef))
    visits = list(range(len(y))) * 5
    same_run(clf, lecture.joint(lecture.tall(X, x0), y, visits, s=s, W=W))
    W = clf.weights_ if x0 is None else clf.weights_ * ([x0] + [1.0] * X.shape[1])
    assert np.column_stack((clf.intercept_, clf.coef_))[:, x0 is None :].tolist() == W.tolist()


@quietly
@given(labelled(), zeros)
def test_the_mean_is_over_the_weights_after_each_visit(examples, zero):
    X, y = examples
    clf = rb.Perceptron(max_iter=4, zero=zero, average=True).fit(X, y)
    visits = list(range(len(y))) * clf.n_iter_
    after = lecture.joint(lecture.tall(X), y, visits, zero=zero).after
    # A run that halts ends its cycle: those visits change nothing.
    after += [after[-1]] * (len(visits) - len(after))
    mean = np.column_stack((clf.intercept_, clf.coef_))
    assert np.allclose(mean, np.mean(after, axis=0), rtol=1e-12, atol=1e-12)


@quietly
@given(labelled(), make.orders, zeros)
def test_dense_sparse_and_single_precision_give_the_same_run(examples, order, zero):
    X, y = examples
    clf = rb.Perceptron(order, 5, zero=zero, random_state=SEED).fit(X, y)
    for other in (X.astype(np.float32), csr_array(X), csr_array(X.astype(np.float32))):
        twin = rb.Perceptron(order, 5, zero=zero, random_state=SEED).fit(other, y)
        assert twin.trace_.examples.tolist() == clf.trace_.examples.tolist()
        assert twin.trace_.rivals.tolist() == clf.trace_.rivals.tolist()
        assert twin.weights_.tolist() == clf.weights_.tolist()
        assert twin.trace_.weights(1).tolist() == clf.trace_.weights(1).tolist()
        assert twin.predict(other).tolist() == clf.predict(X).tolist()
        assert twin.decision_function(X).tolist() == clf.decision_function(other).tolist()


# What the lecture promises.


@given(st.integers(0, 10**6), st.integers(3, 6), make.orders)
def test_after_halting_a_recount_finds_no_mistakes_within_the_bound(seed, K, order):
    X, y, W = separated(np.random.default_rng(seed), 40, 3, K, 0.2)
    assume(len(set(y)) == K)
    clf = rb.Perceptron(order, 10**6, random_state=SEED).fit(X, y)
    assert clf.separated_
    tall = lecture.tall(X)
    assert all(lecture.beaten_by(clf.weights_, x, k) is None for x, k in zip(tall, y, strict=True))
    assert clf.predict(X).tolist() == y.tolist()
    s = tall @ W.T
    right = s[np.arange(len(y)), y]
    s[np.arange(len(y)), y] = -np.inf
    margin = (right - s.max(axis=1)).min() / np.linalg.norm(W)
    assert clf.n_updates_ <= 2 * (tall**2).sum(axis=1).max() / margin**2


@quietly
@given(st.integers(0, 10**6), make.orders)
def test_the_order_of_the_labels_does_not_change_the_run(seed, order):
    rng = np.random.default_rng(seed)
    X, y, W = rng.normal(size=(30, 2)), rng.integers(0, 4, 30), rng.normal(size=(4, 2))
    assume(len(set(y)) == 4)
    turn = rng.permutation(4)
    rule = {"order": order, "max_iter": 5, "random_state": SEED}
    clf = rb.Perceptron(**rule).fit(X, y, coef_init=W)  # from where no scores are equal
    other = rb.Perceptron(**rule).fit(X, turn[y], coef_init=W[np.argsort(turn)])
    assert other.trace_.examples.tolist() == clf.trace_.examples.tolist()
    assert other.trace_.rivals.tolist() == turn[clf.trace_.rivals].tolist()
    assert other.weights_.tolist() == clf.weights_[np.argsort(turn)].tolist()


@quietly
@pytest.mark.parametrize("labels", [("a", "b", "c"), (False, 1, 2), (-1.0, 0.0, 7.0), (10, 20, 30)])
def test_labels_of_any_type_are_sorted(labels):
    X, y = np.array([[0.0, 1], [2, 0], [-1, -1], [0, 2]]), np.array([0, 1, 2, 0])
    clf = rb.Perceptron().fit(X, np.array(labels)[y])
    assert clf.classes_.tolist() == list(np.array(labels))
    assert clf.predict(X).tolist() == np.array(labels)[y].tolist()
    assert clf.trace_.examples.tolist() == rb.Perceptron().fit(X, y).trace_.examples.tolist()


@given(make.labelled(), make.orders, zeros)
def test_with_two_labels_the_joint_rule_is_the_binary_run(examples, order, zero):
    X, y = examples
    sign_of_zero = {"mistake": 0, "negative": -1, "positive": 1}[zero]
    budget, runs = algorithms.Budget(6), []
    start = np.zeros((3, X.shape[1] + 1))
    start[2, 0] = -1e9  # no row has the third label, whose score is too low to compete
    third = Examples(X, (y > 0).astype(np.int32), np.array([-1, 1, 2]))
    for some, begin in ((Examples(X, y, np.array([-1, 1])), None), (third, third.flat(start))):
        rule = algorithms.Rule(order, sign_of_zero, rng=np.random.default_rng(SEED), average=True)
        runs.append(algorithms.pla(some, rule, budget, begin))
    two, joint = runs
    assert joint.trace.examples.tolist() == two.trace.examples.tolist()
    assert joint.trace.ends.tolist() == two.trace.ends.tolist()
    assert joint.trace.rivals.tolist() == (y[two.trace.examples] < 0).astype(int).tolist()
    assert joint.hypothesis.w[:2].tolist() == [
        (0.0 - two.hypothesis.w).tolist(),
        two.hypothesis.w.tolist(),
    ]
    assert np.allclose(joint.mean.hypothesis.w[1], two.mean.hypothesis.w, atol=1e-12)
    assert (joint.mistakes, joint.epochs) == (two.mistakes, two.epochs)


# The pocket.


def cost(W, X, y, zero, s):
    wrong = [n for n, x in enumerate(X) if lecture.beaten_by(W, x, y[n], zero) is not None]
    return sum(s[wrong])


@quietly
@given(labelled(), make.orders, zeros, st.booleans(), st.data())
def test_every_w_is_scored_on_all_rows(examples, order, zero, alike, data):
    X, y = examples
    tall, s = lecture.tall(X), data.draw(make.whole(1, 3, len(y)))
    clf = rb.PocketPerceptron(30, order, zero=zero, random_state=SEED)
    clf.fit(X, y, sample_weight=None if alike else s)
    s = np.ones(len(y)) if alike else s
    history, best = [], np.inf
    for t in range(clf.n_updates_ + 1):
        now = cost(clf.trace_.weights(t), tall, y, zero, s)
        if now < best:
            history, best = [*history, (t, now)], now
    assert clf.history_ == history
    assert clf.weights_.tolist() == clf.trace_.weights(history[-1][0]).tolist()
    assert clf.last_weights_.tolist() == clf.trace_.weights(clf.n_updates_).tolist()
    assert clf.n_mistakes_ == best


@quietly
@given(labelled(), make.orders, st.booleans())
def test_the_ratchet_keeps_only_what_is_better(examples, order, sparse):
    X, y = examples
    clf = rb.PocketPerceptron(60, order, ratchet=True, restarts=2, random_state=SEED)
    clf.fit(csr_array(X) if sparse else X, y)
    costs = [c for _, c in clf.history_]
    assert costs == sorted(set(costs), reverse=True)
    for t, now in clf.history_:
        assert now == cost(clf.trace_.weights(t), lecture.tall(X), y, "mistake", np.ones(len(y)))
    assert clf.n_mistakes_ == costs[-1]


def test_many_candidates_on_many_rows_are_counted_as_one_by_one():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 3)), rng.integers(0, 4, 5000)
    clf = rb.PocketPerceptron(100, random_state=SEED).fit(X, y)
    for t, now in clf.history_:
        s = X @ clf.trace_.weights(t)[:, 1:].T + clf.trace_.weights(t)[:, 0]
        assert now == (s.argmax(axis=1) != y).sum() or t == 0
    assert clf.n_mistakes_ == (clf.predict(X) != y).sum() < 5000 * 3 // 4


# Exactness: as with two labels, where rounding could decide it does not.


@st.composite
def close_scores(draw):
    """Generate weights and rows, some extreme, with scores that are nearly or exactly equal."""
    power = draw(st.sampled_from([-300, -30, 0, 30, 300]))
    numbers = st.sampled_from([0.1, 0.2, 0.3, 0.7, 1 / 3, 1e16, -1.0, 1.0, 3.0, 0.0])
    K, d, n = 3, 2, 6
    W = np.array(draw(st.lists(numbers, min_size=K * (d + 1), max_size=K * (d + 1))))
    X = np.array(draw(st.lists(numbers, min_size=n * d, max_size=n * d)))
    return np.ldexp(W.reshape(K, d + 1), -power // 2), np.ldexp(X.reshape(n, d), power)


@given(close_scores(), zeros, st.integers(0, 10**6))
def test_no_mistake_of_exact_arithmetic_is_overlooked(close, zero, seed):
    W, X = close
    y = np.random.default_rng(seed).integers(0, 3, len(X))
    y[:3] = 0, 1, 2
    examples = Examples.from_arrays(X, y)
    h = algorithms.pla(examples, budget=algorithms.Budget(1, 0), start=W.ravel()).hypothesis
    h = type(h)(W, 1.0, {"mistake": 0, "negative": -1, "positive": 1}[zero])
    exact = np.array([[Fraction(float(v)) for v in row] for row in W])
    rows = [[Fraction(1), *(Fraction(float(v)) for v in x)] for x in X]
    wrong = {
        n
        for n in range(len(X))
        if lecture.beaten_by(exact, np.array(rows[n]), y[n], zero) is not None
    }
    found = set(h.mistakes(examples).tolist())
    assert wrong <= found
    computed = h.predict_codes(examples.X)
    assert all(n in wrong or computed[n] != y[n] or zero == "mistake" for n in found)


@pytest.mark.parametrize("scale", [2.0**900, 2.0**-900, 1e200, 1e-200])
@pytest.mark.parametrize("kind", [np.array, csr_array])
def test_huge_and_tiny_numbers_make_the_same_updates(scale, kind):
    X, y, _ = separated(np.random.default_rng(0), 30, 2, 3, 0.3)
    plain = rb.Perceptron(fit_intercept=False, max_iter=50, average=True)
    clf = rb.Perceptron(fit_intercept=False, max_iter=50, average=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain.fit(X, y)
        clf.fit(kind(X * scale), y)
    assert clf.trace_.examples.tolist() == plain.trace_.examples.tolist()
    assert clf.trace_.rivals.tolist() == plain.trace_.rivals.tolist()
    assert clf.trace_.weights(clf.n_updates_).tolist() == clf.weights_.tolist()
    assert clf.predict(kind(X * scale)).tolist() == plain.predict(X).tolist()


@pytest.mark.parametrize("order", ["cycle", "random"])
def test_nan_and_infinity_are_refused_with_row_and_column(order):
    X, y, _ = separated(np.random.default_rng(0), 30, 2, 3, 0.3)
    X[17, 1] = np.nan
    with refuses(ValueError, row=17, column=1):
        rb.Perceptron(order).fit(X, y)


# scikit-learn's habits.


@quietly
def test_scores_and_predictions_have_scikit_learns_shapes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    clf = rb.Perceptron(max_iter=20).fit(X, names[y])
    assert (clf.coef_.shape, clf.intercept_.shape, clf.weights_.shape) == ((3, 4), (3,), (3, 5))
    s = clf.decision_function(X)
    assert np.allclose(s, X @ clf.coef_.T + clf.intercept_)
    assert clf.predict(X).tolist() == names[s.argmax(axis=1)].tolist()
    assert clf.n_mistakes_ == (clf.predict(X) != names[y]).sum()
    assert len(clf.trace_.cycles) == clf.n_updates_ == len(clf.trace_.rivals)
    twin = pickle.loads(pickle.dumps(clf))
    assert twin.predict(X).tolist() == clf.predict(X).tolist()
    assert twin.trace_.rivals.tolist() == clf.trace_.rivals.tolist()


@pytest.mark.parametrize(("zero", "predicted"), [("mistake", 0), ("negative", 0), ("positive", 2)])
def test_equal_scores_are_resolved_by_the_zero_rule(zero, predicted):
    X, y = [[1.0], [-1.0], [5.0]], [0, 1, 2]
    clf = rb.Perceptron(zero=zero, max_updates=0)
    with warns(UserWarning, "max_updates"):
        clf.fit(X, y)
    assert clf.predict(X).tolist() == [predicted] * 3


@quietly
@given(labelled(), st.integers(1, 4))
def test_a_stream_in_parts_is_one_pass(examples, size):
    X, y = examples
    clf = rb.Perceptron(average=True)
    rows, rivals = [], []
    for k in range(0, len(y), size):
        clf.partial_fit(X[k : k + size], y[k : k + size], classes=range(max(y) + 1))
        rows += (clf.trace_.examples + k).tolist()
        rivals += clf.trace_.rivals.tolist()
    run = lecture.joint(lecture.tall(X), y, range(len(y)))
    assert (rows, rivals, clf.n_updates_) == (run.rows, run.rivals, len(run.rows))
    after = run.after + [run.after[-1]] * (len(y) - len(run.after))
    mean = np.column_stack((clf.intercept_, clf.coef_))
    assert np.allclose(mean, np.mean(after, axis=0), rtol=1e-12, atol=1e-12)


@quietly
@given(labelled(), st.integers(1, 3))
def test_warm_starts_at_epoch_ends_make_the_updates_of_one_fit(examples, max_iter):
    X, y = examples
    whole = rb.Perceptron(max_iter=3 * max_iter).fit(X, y)
    parts = rb.Perceptron(max_iter=max_iter, warm_start=True)
    rows = [n for _ in range(3) for n in parts.fit(X, y).trace_.examples.tolist()]
    assert rows == whole.trace_.examples.tolist()
    assert parts.weights_.tolist() == whole.weights_.tolist()


@quietly
@given(labelled())
def test_class_weight_is_a_sample_weight_of_the_class(examples):
    X, y = examples
    by_class = rb.Perceptron(max_iter=5, class_weight={0: 2.0, 2: 0.5}).fit(X, y)
    s = np.where(y == 0, 2.0, np.where(y == 2, 0.5, 1.0))
    by_row = rb.Perceptron(max_iter=5).fit(X, y, sample_weight=s)
    assert by_class.weights_.tolist() == by_row.weights_.tolist()
    each = len(y) / (len(set(y)) * np.bincount(y))
    balanced = rb.Perceptron(max_iter=5, class_weight="balanced").fit(X, y)
    by_row = rb.Perceptron(max_iter=5).fit(X, y, sample_weight=each[y])
    assert balanced.weights_.tolist() == by_row.weights_.tolist()


@quietly
def test_a_saved_model_predicts_the_same(tmp_path):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    for average in (False, True):
        clf = rb.Perceptron(max_iter=5, average=average).fit(X, names[y])
        pipeline = make_pipeline(StandardScaler(), rb.Perceptron(max_iter=5)).fit(X, names[y])
        for fitted in (clf, pipeline):
            rb.save(fitted, tmp_path / "model.json")
            model = rb.load(tmp_path / "model.json")
            assert model.classes_.tolist() == names.tolist()
            assert model.predict(X).tolist() == fitted.predict(X).tolist()
            assert np.allclose(model.decision_function(X), fitted.decision_function(X))


def test_a_model_file_with_a_weight_missing_is_refused(tmp_path):
    path = tmp_path / "model.json"
    rb.save(rb.Perceptron().fit([[0.0], [5.0], [-5.0]], ["a", "b", "c"], coef_init=None), path)
    text = path.read_text()
    path.write_text(text.replace('"labels": ["a",', '"labels": ["z", "a",'))
    with refuses(ValueError, "model.json"):
        rb.load(path)


@pytest.mark.parametrize(
    ("call", "facts"),
    [
        (lambda clf, X, y: clf.fit(X, y, coef_init=[1, 2]), ("coef_init", 2, "3 × 1")),
        (lambda clf, X, y: clf.partial_fit(X, [0, 1, 3], classes=[0, 1, 2]), ("y", "row 2", 3)),
        (lambda clf, X, y: clf.partial_fit(X, y, classes=[1]), ("classes",)),
        (lambda clf, X, y: clf.fit(X, [0.5, 1.5, 2.25]), ("continuous",)),
        (lambda clf, X, y: rb.FewestMistakes().fit(X, y), ("y", 3)),
    ],
)
def test_invalid_input_gets_one_sentence(call, facts):
    with refuses(ValueError, *facts):
        call(rb.Perceptron(), [[0.0], [5.0], [-5.0]], [0, 1, 2])
