import itertools
import json
import math
import pickle
import tracemalloc
from fractions import Fraction

import lecture_online as lecture
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import strategies
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt.online.memory import X0, DictRow, StreamMemory

ZEROS = st.sampled_from(["mistake", "negative", "positive"])
KEPT = {"average": True, "pocket": True, "window": 5}

rows = st.dictionaries(st.sampled_from("abcd"), st.integers(-4, 4), max_size=4)
streams = st.lists(st.tuples(rows, st.booleans()), min_size=1, max_size=40)


def bits(model):
    """The whole state as text: two states are equal bit for bit if their texts are."""
    return json.dumps(model.state(), sort_keys=True)


def trained(stream, **parameters):
    model = rb.OnlinePerceptron(**parameters)
    for x, y in stream:
        model.learn_one(x, y)
    return model


def tall(weights, intercept):
    return {name: Fraction(v) for name, v in [*weights.items(), ("x0", intercept)] if v}


def nonzero(w):
    return {name: v for name, v in w.items() if v}


def as_lecture(stream):
    return [({**x, "x0": 1}, 1 if y else -1) for x, y in stream]


# The lecture's algorithm


@given(streams, ZEROS)
def test_the_updates_are_those_of_the_lecture(stream, zero):
    model = trained(stream, zero=zero, labels=(False, True))
    weights, mistakes = lecture.walk(as_lecture(stream), zero)
    assert (model.n_seen, model.n_mistakes) == (len(stream), len(mistakes))
    assert tall(model.weights, model.intercept) == nonzero(weights[-1])
    assert model.radius**2 == pytest.approx(
        max(sum(v * v for v in x.values()) + 1 for x, _ in stream)
    )


@given(streams, ZEROS)
def test_the_average_is_the_mean_of_the_weights_after_each_example(stream, zero):
    model = trained(stream, zero=zero, labels=(False, True), predict_with="average")
    expected = lecture.average(as_lecture(stream), zero)
    found = {**model.weights, "x0": model.intercept}
    for name, value in expected.items():
        assert found.get(name, 0.0) == pytest.approx(float(value), abs=1e-9)


@given(streams, ZEROS)
def test_the_pocket_is_the_best_on_the_last_window(stream, zero):
    model = trained(stream, zero=zero, labels=(False, True), window=5, predict_with="pocket")
    expected = lecture.pocket(as_lecture(stream), 5, zero)
    if expected is not None:
        assert tall(model.weights, model.intercept) == nonzero(expected)


@given(streams)
def test_the_error_rate_is_that_of_the_last_window(stream):
    model = trained(stream, window=7, labels=(False, True))
    _, mistakes = lecture.walk(as_lecture(stream))
    last = range(max(0, len(stream) - 7), len(stream))
    assert model.mistake_rate == sum(i in mistakes for i in last) / len(last)


# One example or one block at a time: the same bits


def cut_at_random(rng, n):
    cuts = np.unique(rng.integers(0, n, size=6))
    return list(itertools.pairwise([0, *cuts[cuts > 0].tolist(), n]))


def one_by_one(model, X, y, named):
    for row, label in zip(X, y, strict=True):
        model.learn_one(dict(zip(named, row.tolist(), strict=True)), label)


def as_arrays(model, X, y, named):
    for row, label in zip(X, y, strict=True):
        model.learn_one(row, label)


def block(form):
    return lambda model, X, y, named: model.learn_many(form(X, named), y)


FORMS = {
    "dict": one_by_one,
    "frame": block(lambda X, named: pd.DataFrame(X, columns=named)),
    "polars": block(lambda X, named: pl.DataFrame(X, schema=named, orient="row")),
    "arrow": block(lambda X, named: pa.RecordBatch.from_arrays(list(map(pa.array, X.T)), named)),
    "table": block(lambda X, named: pa.table(list(map(pa.array, X.T)), named)),
}
PLACES = {
    "dict": one_by_one,
    "1-d": as_arrays,
    "array": block(lambda X, named: X),
    "Fortran": block(lambda X, named: np.asfortranarray(X)),
    "CSR": block(lambda X, named: sp.csr_matrix(X)),
    "CSC": block(lambda X, named: sp.csc_array(X)),
    "COO": block(lambda X, named: sp.coo_array(X)),
}


@pytest.mark.parametrize("zero", ["mistake", "negative", "positive"])
@pytest.mark.parametrize(("forms", "names"), [(FORMS, list("pqrstu")), (PLACES, list(range(6)))])
def test_the_state_does_not_depend_on_block_boundaries(forms, names, zero):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 6)) * 10.0 ** rng.integers(-3, 4, size=(60, 6))
    X[rng.random(X.shape) < 0.3] = 0
    y = np.where(X @ rng.normal(size=6) + rng.normal(size=60) > 0, "yes", "no")
    whole = rb.OnlinePerceptron(zero=zero, **KEPT)
    one_by_one(whole, X, y, names)
    for _ in range(6):
        model = rb.OnlinePerceptron(zero=zero, **KEPT)
        for begin, end in cut_at_random(rng, len(X)):
            form = forms[rng.choice(list(forms))]
            form(model, X[begin:end], y[begin:end], names)
        assert bits(model) == bits(whole)


@pytest.mark.parametrize("size", [1.0, 1e-80, 1e40])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_scores_that_are_only_rounding_have_the_same_sign_in_blocks(form, size):
    """Rows at right angles to the weights they meet: only the order of the sum decides."""
    rng = np.random.default_rng(8)
    single, blocks = (rb.OnlinePerceptron(fit_intercept=False) for _ in range(2))
    X, y = np.empty((300, 40)), rng.random(300) < 0.5
    for n in range(300):
        x = rng.normal(size=40)
        w = np.array([single.weights.get(i, 0.0) for i in range(40)]) / size
        X[n] = size * (x - w @ x / max(w @ w, 1.0) * w)
        single.learn_one(dict(enumerate(X[n].tolist())), y[n])
    blocks.learn_many(form(X), y)
    assert bits(single) == bits(blocks)


@pytest.mark.parametrize("ratio", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_scores_by_norms_have_the_sign_of_the_sum_in_order(d, ratio):
    """Scores from nothing but rounding to plain ones; those by lengths are of the plain."""
    rng = np.random.default_rng(d)
    plain = 0
    for _ in range(400):
        w, x = ratio * rng.normal(size=d), rng.normal(size=d)
        w0 = -(w @ x) + 10.0 ** rng.integers(-20, 3) * ratio * rng.normal()
        memory, row = StreamMemory(5), DictRow(1.0)
        memory.V[0].update({X0: float(w0), **dict(enumerate(w.tolist()))})
        row.x = dict(enumerate(x.tolist()))
        row.length = math.hypot(*x)
        side, score = memory.score_sign(row, tuple(x.tolist())), row.score(memory.V[0])
        assert np.sign(side) == np.sign(score)
        plain += side != score
    assert plain > 0


@pytest.mark.parametrize("value", [1.5, 3, True, Fraction(1, 2), np.float64(1.5), np.int8(3)])
def test_weights_stay_python_floats_whatever_the_number_type_of_a_dict(value):
    model = trained([({"a": 5.0, "b": 1.0}, True), ({"a": -2.0, "b": 1.0}, False)] * 3)
    for answer in (True, False) * 3:
        x = {"a": value, "b": 2}
        predicted = model.predict_one(x)
        assert predicted == model.predict_one({"a": float(value), "b": 2.0})
        model.learn_one(x, answer)
    assert {type(v) for v in model.weights.values()} == {float}


@given(st.lists(st.tuples(st.sets(st.sampled_from("abcdef"), min_size=1), strategies.seeds)))
def test_features_may_appear_and_disappear_between_blocks(parts):
    by_row, by_block = rb.OnlinePerceptron(**KEPT), rb.OnlinePerceptron(**KEPT)
    for names, seed in parts:
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.normal(size=(7, len(names))), columns=sorted(names))
        y = rng.random(7) < 0.5
        for x, label in zip(frame.to_dict("records"), y, strict=True):
            by_row.learn_one(x, label)
        by_block.learn_many(frame, y)
    assert bits(by_row) == bits(by_block)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_the_number_type_of_a_row_does_not_matter(dtype):
    rng = np.random.default_rng(5)
    X = (100 * rng.normal(size=(50, 4))).astype(dtype)
    y = rng.random(50) < 0.5
    models = [rb.OnlinePerceptron(**KEPT) for _ in range(3)]
    models[0].learn_many(X, y)
    for row, label in zip(X, y, strict=True):
        models[1].learn_one(row, label)
        models[2].learn_one(dict(enumerate(row)), label)  # NumPy's own scalars
    assert len({bits(model) for model in models}) == 1


@given(streams, ZEROS, st.sampled_from(["last", "average", "pocket"]))
def test_predict_then_learn_on_a_block_matches_one_row_at_a_time(stream, zero, with_what):
    one = rb.OnlinePerceptron(zero=zero, predict_with=with_what, window=5)
    predicted = []
    for x, y in stream:
        predicted.append(one.predict_one(x))
        one.learn_one(x, y)
    block = rb.OnlinePerceptron(zero=zero, predict_with=with_what, window=5)
    frame = pd.DataFrame([x for x, _ in stream], columns=list("abcd")).fillna(0.0)
    assert block.predict_then_learn(frame, [y for _, y in stream]).tolist() == predicted
    assert bits(block) == bits(one)
    assert block.predict_many(frame).tolist() == [
        one.predict_one(x) for x in frame.to_dict("records")
    ]


def test_rows_without_a_label_are_predicted_and_not_trained_on():
    X = np.array([[1.0], [-1.0], [2.0], [-2.0]])
    model, other = rb.OnlinePerceptron(), rb.OnlinePerceptron()
    predicted = model.predict_then_learn(X, [None, "b", "a", None])
    other.learn_many(X[1:3], ["b", "a"])
    assert bits(model) == bits(other)
    assert predicted.tolist() == [None, None, "b", other.predict_one(X[3])]


def test_predicting_a_block_between_prediction_and_learning_of_a_row_changes_nothing():
    with_block, without = rb.OnlinePerceptron(), rb.OnlinePerceptron()
    for value, label in ((1.0, True), (-2.0, False), (3.0, False)):
        x = {0: value, 1: 1.0}
        for model in (with_block, without):
            model.predict_one(x)
            if model is with_block:
                model.predict_many(np.array([[1.0, 2.0]]))
            model.learn_one(x, label)
    assert without.n_mistakes > 1
    assert bits(with_block) == bits(without)


def test_a_dict_that_changed_after_its_prediction_is_scored_again():
    model = rb.OnlinePerceptron(labels=(0, 1))
    model.learn_one({"a": 1.0}, 1)
    x = {"a": 1.0}
    model.predict_one(x)
    x["a"] = -3.0
    model.learn_one(x, 1)
    assert model.n_mistakes == 2


# Labels


@given(streams.filter(lambda s: len({y for _, y in s}) == 2), ZEROS)
def test_labels_found_in_the_stream_give_the_state_of_labels_given(stream, zero):
    assert bits(trained(stream, zero=zero, **KEPT)) == bits(
        trained(stream, zero=zero, labels=(False, True), **KEPT)
    )


@pytest.mark.parametrize("labels", [(0, 1), (-1.0, 1.0), ("ham", "spam"), (False, True), (2, 4)])
def test_labels_may_be_of_any_type(labels):
    model = rb.OnlinePerceptron()
    model.learn_many([[1.0], [-1.0], [2.0]], [labels[1], labels[0], labels[1]])
    assert model.labels == labels
    assert [model.predict_one([v]) for v in (3.0, -3.0)] == [labels[1], labels[0]]


def test_before_any_label_is_known_the_prediction_is_none():
    model = rb.OnlinePerceptron()
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_many([[1.0]]).tolist() == [None]
    model.learn_one({"a": 1.0}, "x")
    assert model.predict_one({"a": -1.0}) == "x"


# The theorem


@given(strategies.separable(), st.integers(1, 4), strategies.seeds)
def test_mistakes_never_exceed_the_bound(planted, times, seed):
    rng = np.random.default_rng(seed)
    model = rb.OnlinePerceptron(fit_intercept=planted.x0 is not None)
    for _ in range(times):
        order = rng.permutation(len(planted.X))
        model.learn_many(planted.X[order], planted.y[order])
    promise = rb.guarantee(planted.X, planted.y, planted.w_f, fit_intercept=planted.x0 is not None)
    assert model.radius == pytest.approx(promise.radius)
    assert model.n_mistakes <= model.bound(promise.margin) * (1 + 1e-12)


@pytest.mark.parametrize("d", [1, 2, 5, 64])
def test_unit_vectors_reach_the_bound(d):
    """w* = (1, …, 1)/√d has margin 1/√d on e_1 … e_d: R²/γ² = d, and d mistakes are made."""
    model = rb.OnlinePerceptron(fit_intercept=False, labels=(-1, 1))
    for _ in range(3):
        model.learn_many(np.eye(d), np.ones(d))
    assert model.n_mistakes == d
    assert model.bound(1 / math.sqrt(d)) == pytest.approx(d)


@given(st.integers(2, 6), strategies.seeds)
def test_an_adversary_who_sees_w_cannot_exceed_the_bound(d, seed):
    """Of many examples that w* answers with margin, it always shows the one w is most wrong on."""
    rng = np.random.default_rng(seed)
    target = rng.normal(size=d)
    target /= np.linalg.norm(target)
    X = rng.normal(size=(300, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X = X[np.abs(X @ target) > 0.2]
    y = np.sign(X @ target)
    model = rb.OnlinePerceptron(fit_intercept=False, labels=(-1, 1))
    for _ in range(60):
        w = np.array([model.weights.get(i, 0.0) for i in range(d)])
        worst = int(np.argmin(y * (X @ w)))
        model.learn_one(X[worst], y[worst])
    assert model.n_mistakes <= model.bound(0.2)
    assert model.n_mistakes <= 25


def test_the_bound_needs_a_margin():
    model = rb.OnlinePerceptron()
    for margin in (0, -1, math.nan, math.inf, "a", None):
        with refuses(ValueError, "margin"):
            model.bound(margin)


# Noise and drift


def noisy(rng, n, target, flipped):
    X = rng.normal(size=(n, len(target)))
    return X, (X @ target > 0) ^ (rng.random(n) < flipped)


@pytest.mark.slow_without_jit
def test_average_and_pocket_predict_better_on_noise():
    rng = np.random.default_rng(0)
    target = rng.normal(size=10)
    X, y = noisy(rng, 50_000, target, 0.15)
    model = rb.OnlinePerceptron(average=True, pocket=True, window=500)
    wrong = {}
    fresh, right = noisy(rng, 20_000, target, 0.0)
    for begin in range(0, len(X), 5000):
        model.learn_many(X[begin : begin + 5000], y[begin : begin + 5000])
        for model.predict_with in ("last", "average", "pocket"):
            errors = (model.predict_many(fresh) != right).mean()
            wrong.setdefault(model.predict_with, []).append(errors)
    mean = {name: np.mean(values) for name, values in wrong.items()}
    assert mean["average"] < 0.3 * mean["last"]
    assert mean["pocket"] < 0.8 * mean["last"]


@pytest.mark.slow_without_jit
def test_the_windowed_pocket_recovers_after_drift():
    rng = np.random.default_rng(1)
    target = rng.normal(size=5)
    model = rb.OnlinePerceptron(average=True, pocket=True, window=500, predict_with="pocket")
    model.learn_many(*noisy(rng, 20_000, target, 0.05))
    fresh, right = noisy(rng, 5000, -target, 0.0)
    assert (model.predict_many(fresh) != right).mean() > 0.8
    model.learn_many(*noisy(rng, 2000, -target, 0.05))  # four windows of 20,000 turned around
    assert (model.predict_many(fresh) != right).mean() < 0.15
    model.predict_with = "average"
    assert (model.predict_many(fresh) != right).mean() > 0.5


# Memory


@pytest.mark.slow_without_jit
def test_a_long_stream_takes_no_more_memory_than_a_short_one():
    rng = np.random.default_rng(2)
    model = rb.OnlinePerceptron(average=True, pocket=True)
    X, y = noisy(rng, 5000, np.ones(10), 0.1)
    rows = [dict(enumerate(row)) for row in X[:200].tolist()]

    def some():
        model.learn_many(X, y)
        for x, label in zip(rows, y, strict=False):
            model.predict_one(x)
            model.learn_one(x, bool(label))

    some()
    tracemalloc.start()
    some()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(40):
        some()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 100_000


# Saving


@given(streams)
def test_a_saved_model_is_identical_and_continues_identically(tmp_path_factory, stream):
    path = tmp_path_factory.mktemp("saved") / "model.json"
    model = trained([({k: v / 3 for k, v in x.items()}, y) for x, y in stream], **KEPT)
    model.save(path)
    again = rb.OnlinePerceptron.load(path)
    assert bits(again) == bits(model)
    for x, y in stream:
        model.learn_one(x, y)
        again.learn_one(x, y)
    assert bits(again) == bits(model)


def test_a_model_can_be_pickled():
    model = trained([({"a": 1.0}, 1), ({"a": -2.0}, 0)])
    model.predict_one({"a": 1.0})
    assert bits(pickle.loads(pickle.dumps(model))) == bits(model)


def test_only_feature_names_of_json_types_can_be_saved(tmp_path):
    model = trained([({(1, 2): 1.0}, 1)])
    with refuses(ValueError, "(1, 2)"):
        model.save(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


# Bad input: one clear sentence, the state untouched

GOOD = [({"a": 1.0, "b": 2.0}, "yes"), ({"a": -1.0}, "no")]
BAD_ROWS = [
    ({"a": math.nan}, ("'a'", "NaN")),
    ({"b": math.inf}, ("'b'",)),
    ({"c": -math.inf}, ("'c'",)),
    ({"a": "high"}, ("'a'", "'high'")),
    ({"new": None}, ("'new'", None)),
    ({"a": 1j}, ("'a'", "1j")),
    ({"a": 10**400}, ("'a'",)),
    ({"a": 2**53 + 1, "b": 1.0}, ("'a'", 2**53 + 1)),
    ({"a": [1], "b": 1.0}, ("'a'", "[1]")),
    ({"a": np.array(1.0), "b": 1.0}, ("'a'", "array(1.)")),
    ([[1.0]], (2,)),
    (3.0, (0,)),
    ([1.0, 2.0], ("array",)),
]


@pytest.mark.parametrize(("x", "facts"), BAD_ROWS)
def test_a_bad_row_changes_nothing(x, facts):
    model = trained(GOOD, **KEPT)
    before = bits(model)
    with refuses(ValueError, *facts):
        model.learn_one(x, "yes")
    with refuses(ValueError, *facts):
        model.predict_one(x)
    assert bits(model) == before


@pytest.mark.parametrize("known", [True, False])
def test_rows_whose_squares_could_overflow_are_refused(known):
    model = trained(GOOD if known else [], **KEPT)
    before = bits(model)
    for x in ({"a": 1e150}, {"a": 9e99, "b": 9e99}, {"a": np.float64(1e150)}):
        with refuses(ValueError):
            model.learn_one(x, "yes")
    assert bits(model) == before


@pytest.mark.parametrize("y", ["maybe", None, math.nan, []])
def test_a_bad_label_changes_nothing(y):
    model = trained(GOOD, **KEPT)
    before = bits(model)
    with refuses(ValueError, repr(y)):
        model.learn_one({"a": 1.0}, y)
    assert bits(model) == before


def test_labels_of_two_types_have_no_order():
    model = trained([({"a": 1.0}, 1)])
    before = bits(model)
    with refuses(ValueError, 1, "'one'"):
        model.learn_one({"a": 1.0}, "one")
    assert bits(model) == before


BAD_BLOCKS = [
    ([[1.0], [math.nan]], ["yes", "no"], ("row 1", "column 0")),
    ([[1.0], [math.inf]], ["yes", "no"], ("row 1", "column 0")),
    ([[1.0], [1e120]], ["yes", "no"], ("row 1",)),
    ([[1.0], [2.0]], ["yes", "maybe"], ("y", "row 1", "'maybe'")),
    ([[1.0], [2.0]], ["yes", None], ("y", "row 1")),
    ([[1.0], [2.0]], ["yes"], (2, 1)),
    ([1.0, 2.0], ["yes", "no"], ("2D",)),
    (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), ["yes"], ("X",)),
]


@pytest.mark.parametrize(("X", "y", "facts"), BAD_BLOCKS)
@pytest.mark.parametrize("known", [True, False])
def test_a_bad_block_changes_nothing(X, y, facts, known):
    model = rb.OnlinePerceptron(**KEPT)
    if known:
        model.learn_many([[3.0], [-1.0]], ["yes", "no"])
    before = bits(model)
    if known or "maybe" not in y:
        with refuses(ValueError, *facts):
            model.learn_many(X, y)
    assert bits(model) == before


BAD_PARAMETERS = [
    ({"eta0": 0}, "eta0"),
    ({"eta0": math.nan}, "eta0"),
    ({"zero": "?"}, "zero"),
    ({"window": 0}, "window"),
    ({"window": 2.5}, "window"),
    ({"predict_with": "best"}, "predict_with"),
    ({"labels": ("a",)}, "labels"),
    ({"labels": (1, 1)}, "labels"),
    ({"labels": 3}, "labels"),
]


@pytest.mark.parametrize(("given_", "name"), BAD_PARAMETERS)
def test_a_wrong_parameter_is_named(given_, name):
    with refuses(ValueError, name):
        rb.OnlinePerceptron(**given_)


def test_a_list_of_dicts_is_identified_in_the_message():
    rows, model = [{"a": 1.0}, {"a": -1.0}], rb.OnlinePerceptron()
    for ask in (lambda X: model.learn_many(X, [1, 0]), model.predict_many):
        with refuses(ValueError, "X", "pyarrow.Table.from_pylist(X)"):
            ask(rows)
    model.learn_many(pa.Table.from_pylist(rows), [1, 0])
    assert (model.n_seen, model.predict_one(rows[0])) == (2, 1)
