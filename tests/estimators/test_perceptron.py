"""Parameters of Perceptron, and its behavior as an estimator of scikit-learn."""

import copy
import pickle

import lecture
import numpy as np
import pytest
import strategies as make
from facts import refuses
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rosenblatt as rb

quietly = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

AND = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 0, 0, 1])


def updated_rows(clf):
    return clf.trace_.examples.tolist()


@pytest.fixture
def blobs():
    return make.with_margin(np.random.default_rng(5), 80, 3, 0.1)


# Labels and predictions.


@pytest.mark.parametrize(
    "labels", [(-1, 1), (0, 1), (2, 4), (False, True), ("no", "yes"), (1.5, 2.5), ("B", "a")]
)
def test_the_larger_label_is_plus_one(labels):
    X, y = AND
    clf = rb.Perceptron().fit(X, np.array(labels)[y])
    assert clf.classes_.tolist() == list(labels)
    assert clf.predict(X).tolist() == np.array(labels)[y].tolist()
    assert updated_rows(clf) == updated_rows(rb.Perceptron().fit(X, y))
    assert ((clf.decision_function(X) > 0) == (y == 1)).all()


@pytest.mark.parametrize(
    ("zero", "predicted"), [("mistake", "no"), ("negative", "no"), ("positive", "yes")]
)
def test_a_score_of_zero_is_resolved_by_the_zero_rule(zero, predicted):
    X, y = [[2.0], [-2.0]], ["yes", "no"]
    clf = rb.Perceptron(zero=zero, fit_intercept=False).fit(X, y)
    assert clf.decision_function([[0.0]]).tolist() == [0.0]
    assert clf.predict([[0.0]]).tolist() == [predicted]


@given(make.separable(), st.sampled_from([0.5, 1.0, 4.0]))
def test_scores_follow_from_coef_and_intercept_and_from_augmented_weights(examples, x0):
    X, y, _, intercept = examples
    clf = rb.Perceptron(
        fit_intercept=intercept is not None, intercept_scaling=x0, max_iter=10**6
    ).fit(X, y)
    tall = lecture.tall(X, None if intercept is None else x0)
    assert clf.coef_.shape == (1, X.shape[1])
    assert clf.intercept_.shape == (1,)
    assert clf.weights_.shape == (tall.shape[1],)
    scores = clf.decision_function(X).tolist()
    assert scores == (tall @ clf.weights_).tolist()
    assert scores == (X @ clf.coef_[0] + clf.intercept_[0]).tolist()


def test_without_intercept_there_is_no_w0():
    clf = rb.Perceptron(fit_intercept=False).fit([[1.0, 2.0], [-1.0, 1.0]], [1, 0])
    assert clf.weights_.shape == (2,)
    assert clf.intercept_.tolist() == [0.0]
    assert clf.trace_.weights(0).shape == (2,)


@given(make.separable(fit_intercept=True), st.sampled_from([0.25, 1.0, 8.0]), make.orders)
def test_the_intercept_is_a_constant_column(examples, x0, order):
    X, y, _, _ = examples
    rule = {"order": order, "max_iter": 10**6, "random_state": 0}
    clf = rb.Perceptron(intercept_scaling=x0, **rule).fit(X, y)
    other = rb.Perceptron(fit_intercept=False, **rule).fit(lecture.tall(X, x0), y)
    assert updated_rows(clf) == updated_rows(other)
    assert clf.weights_.tolist() == other.weights_.tolist()
    assert clf.intercept_[0] == clf.weights_[0] * x0


# Weights of rows and classes.


@quietly
@given(make.labelled(), make.orders, st.data())
def test_weight_zero_excludes_the_row(examples, order, data):
    X, y = examples
    keep = data.draw(st.lists(st.booleans(), min_size=len(y), max_size=len(y)).map(np.array))
    assume(len(set(y[keep])) == 2)
    clf = rb.Perceptron(order=order, random_state=0, max_iter=20)
    alone = clf.fit(X[keep], y[keep])
    rows, w, left = np.flatnonzero(keep)[updated_rows(alone)], alone.weights_, alone.n_mistakes_
    clf.fit(X, y, sample_weight=keep.astype(float))
    assert updated_rows(clf) == rows.tolist()
    assert clf.weights_.tolist() == w.tolist()
    assert clf.n_mistakes_ == left


@quietly
@given(make.labelled(), make.powers_of_two)
def test_equal_weights_are_a_change_of_eta(examples, s):
    X, y = examples
    weighted = rb.Perceptron(max_iter=20).fit(X, y, sample_weight=np.full(len(y), s))
    longer = rb.Perceptron(max_iter=20, eta0=s).fit(X, y)
    assert updated_rows(weighted) == updated_rows(longer)
    assert weighted.weights_.tolist() == longer.weights_.tolist()


@quietly
@given(make.labelled(), st.sampled_from([1.0, 2.0]), st.sampled_from([0.5, 3.0]))
def test_class_weight_is_a_sample_weight_of_the_class(examples, yes, no):
    X, y = examples
    labels = np.where(y > 0, "yes", "no")
    s = np.where(y > 0, yes, no)
    by_class = rb.Perceptron(max_iter=20, class_weight={"yes": yes, "no": no}).fit(X, labels)
    by_row = rb.Perceptron(max_iter=20).fit(X, labels, sample_weight=s)
    assert updated_rows(by_class) == updated_rows(by_row)
    assert by_class.weights_.tolist() == by_row.weights_.tolist()


@quietly
@given(make.labelled(), st.data())
def test_class_weight_multiplies_sample_weight(examples, data):
    X, y = examples
    s = data.draw(make.whole(1, 4, len(y)))
    both = rb.Perceptron(max_iter=20, class_weight={1: 2.0, -1: 3.0}).fit(X, y, sample_weight=s)
    product = rb.Perceptron(max_iter=20).fit(X, y, sample_weight=s * np.where(y > 0, 2, 3))
    assert both.weights_.tolist() == product.weights_.tolist()


def test_balanced_gives_both_classes_the_same_sum_of_weights():
    X, y = AND
    s = np.where(y == 1, 4 / (2 * 1), 4 / (2 * 3))
    balanced = rb.Perceptron(class_weight="balanced").fit(X, y)
    by_row = rb.Perceptron().fit(X, y, sample_weight=s)
    assert updated_rows(balanced) == updated_rows(by_row)
    np.testing.assert_allclose(balanced.weights_, by_row.weights_)
    assert updated_rows(balanced) != updated_rows(rb.Perceptron().fit(X, y))


# Where to start, and going on.


def test_a_perfect_start_needs_no_update():
    X, y = AND
    clf = rb.Perceptron().fit(X, y, coef_init=[[2.0, 2.0]], intercept_init=[-3.0])
    assert clf.n_updates_ == 0
    assert clf.n_iter_ == 1
    assert clf.separated_
    assert clf.weights_.tolist() == [-3, 2, 2]


def test_intercept_init_is_on_the_scale_of_intercept():
    X, y = AND
    clf = rb.Perceptron(intercept_scaling=2.0).fit(X, y, coef_init=[2, 2], intercept_init=-3)
    assert clf.n_updates_ == 0
    assert clf.intercept_.tolist() == [-3]
    assert clf.weights_.tolist() == [-1.5, 2, 2]


def test_coef_init_is_not_written_to():
    X, y = AND
    coef = np.zeros(2)
    rb.Perceptron().fit(X, y, coef_init=coef)
    assert coef.tolist() == [0, 0]


def test_a_warm_start_continues_from_the_last_weights():
    X, y = AND
    clf = rb.Perceptron(warm_start=True).fit(X, y)
    w = clf.weights_.copy()
    clf.fit(X, y)
    assert clf.n_updates_ == 0
    assert clf.trace_.weights(0).tolist() == w.tolist()


def test_a_cold_start_ignores_the_last_weights():
    X, y = AND
    clf = rb.Perceptron().fit(X, y)
    assert updated_rows(clf.fit(X, y)) == updated_rows(rb.Perceptron().fit(X, y))


@quietly
@given(make.separable(), st.integers(1, 4))
def test_warm_starts_at_epoch_ends_make_the_updates_of_one_fit(examples, max_iter):
    X, y, _, x0 = examples
    whole = rb.Perceptron(fit_intercept=x0 is not None, max_iter=10**6).fit(X, y)
    parts = rb.Perceptron(fit_intercept=x0 is not None, max_iter=max_iter, warm_start=True)
    rows = updated_rows(parts.fit(X, y))
    while parts.n_updates_:
        rows += updated_rows(parts.fit(X, y))
    assert rows == updated_rows(whole)
    assert parts.weights_.tolist() == whole.weights_.tolist()


# Streams.


@quietly
@given(make.labelled(), st.integers(1, 4), make.zeros)
def test_a_stream_of_blocks_is_one_epoch_of_fit(examples, size, zero):
    X, y = examples
    stream = rb.Perceptron(zero=zero)
    for start in range(0, len(y), size):
        block = slice(start, start + size)
        stream.partial_fit(X[block], y[block], classes=[-1, 1])
    run = lecture.cyclic(lecture.tall(X), y, zero=zero, max_cycles=1)
    cycle = rb.Perceptron(max_iter=1, zero=zero).fit(X, y)
    assert stream.n_updates_ == cycle.n_updates_ == len(run.rows)
    assert stream.weights_.tolist() == cycle.weights_.tolist() == run.weights[-1].tolist()


def test_the_first_block_needs_classes():
    with refuses(ValueError, "classes"):
        rb.Perceptron().partial_fit([[1.0]], [1])


def test_a_block_may_contain_one_class():
    clf = rb.Perceptron().partial_fit([[1.0], [2.0]], ["b", "b"], classes=["a", "b"])
    assert clf.classes_.tolist() == ["a", "b"]
    assert clf.partial_fit([[-1.0]], ["a"]).n_updates_ == 2


def test_a_block_with_a_new_label_is_refused_and_changes_nothing():
    clf = rb.Perceptron().partial_fit([[1.0], [-2.0]], [1, 0], classes=[0, 1])
    w = clf.weights_.copy()
    with refuses(ValueError, 7, row=1):
        clf.partial_fit([[9.0], [1.0]], [1, 7])
    assert clf.weights_.tolist() == w.tolist()
    with refuses(ValueError, "classes"):
        clf.partial_fit([[9.0]], [1], classes=[0, 7])
    assert clf.classes_.tolist() == [0, 1]
    assert clf.n_updates_ == 1


def test_partial_fit_continues_after_fit():
    X, y = AND
    clf = rb.Perceptron().fit(X, y)
    w, updates = clf.weights_.copy(), clf.n_updates_
    clf.partial_fit(X, y)
    assert clf.weights_.tolist() == w.tolist()
    assert clf.n_updates_ == updates


def test_fit_after_partial_fit_starts_over():
    X, y = AND
    clf = rb.Perceptron().partial_fit(X, y, classes=[0, 1])
    assert updated_rows(clf.fit(X, y)) == updated_rows(rb.Perceptron().fit(X, y))


# Randomness.


@pytest.mark.parametrize("order", ["random-cycle", "shuffle", "random"])
@pytest.mark.parametrize("seeded", [lambda s: s, np.random.RandomState, np.random.default_rng])
def test_the_same_seed_gives_the_same_run(blobs, order, seeded):
    first, again, other = (
        updated_rows(rb.Perceptron(order=order, random_state=seeded(s)).fit(*blobs))
        for s in (3, 3, 4)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("order", ["cycle", "first"])
def test_fixed_orders_ignore_the_seed(blobs, order):
    runs = [updated_rows(rb.Perceptron(order=order, random_state=s).fit(*blobs)) for s in (1, 2)]
    assert runs[0] == runs[1]


# scikit-learn's habits.


@pytest.mark.parametrize("copied", [lambda c: pickle.loads(pickle.dumps(c)), copy.deepcopy])
def test_a_copy_predicts_the_same(blobs, copied):
    X, y = blobs
    clf = rb.Perceptron(order="shuffle", random_state=0).fit(X, y)
    twin = copied(clf)
    assert twin.weights_.tolist() == clf.weights_.tolist()
    assert twin.predict(X).tolist() == clf.predict(X).tolist()
    assert updated_rows(twin) == updated_rows(clf)
    assert twin.trace_.cycles.tolist() == clf.trace_.cycles.tolist()


def test_a_pickled_model_does_not_contain_its_examples():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    clf = rb.Perceptron().fit(X, X[:, 0] > 0, coef_init=[1.0, 0.0])
    assert len(pickle.dumps(clf)) < X.nbytes / 20


def test_a_clone_is_unfitted_with_the_same_parameters(blobs):
    clf = rb.Perceptron(order="first", eta0=0.5, zero="positive").fit(*blobs)
    twin = clone(clf)
    assert twin.get_params() == clf.get_params()
    assert not hasattr(twin, "weights_")


def test_parameters_and_defaults_are_those_of_the_design():
    assert rb.Perceptron().get_params() == {
        "order": "cycle",
        "max_iter": 1000,
        "max_updates": None,
        "eta0": 1.0,
        "fit_intercept": True,
        "intercept_scaling": 1.0,
        "zero": "mistake",
        "class_weight": None,
        "warm_start": False,
        "random_state": None,
        "verbose": 0,
        "n_jobs": None,
        "average": False,
    }


@quietly
def test_the_estimator_cross_validates_in_a_pipeline(blobs):
    X, y = blobs
    scores = cross_val_score(make_pipeline(StandardScaler(), rb.Perceptron()), X, y, cv=4)
    assert scores.min() > 0.75


@quietly
def test_a_grid_search_works_in_a_pipeline(blobs):
    X, y = blobs
    search = GridSearchCV(
        make_pipeline(StandardScaler(), rb.Perceptron(random_state=0)),
        {"perceptron__order": list(make.ORDERS), "perceptron__max_iter": [1, 100]},
        cv=3,
    ).fit(X, y)
    assert search.best_params_["perceptron__order"] in make.ORDERS
    assert search.score(X, y) > 0.9


def test_verbose_writes_nothing_to_stdout(capsys):
    rb.Perceptron(verbose=1).fit(*AND)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("classes", ["ab", "abd"])
def test_an_unknown_label_is_quoted_in_the_message(classes):
    with refuses(ValueError, "y", "'c'", *map(repr, classes), row=1):
        rb.Perceptron().partial_fit([[1.0], [2.0]], ["a", "c"], classes=list(classes))
