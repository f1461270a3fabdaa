import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb
from rosenblatt.errors import DataError, OpenError, WriteError
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.model import Model
from rosenblatt.read.columns import Category, Entries, Flag, Number, Words
from rosenblatt.read.encoding import Encoding, TargetColumn

finite = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(st.characters(codec="utf-8"), max_size=6)


def model_of(columns, weights, labels=("no", "yes")):
    return Model(
        Encoding(tuple(columns)),
        Hypothesis(np.array(weights)),
        TargetColumn("y", tuple(labels)),
        {"a": 1},
    )


MIXED = model_of(
    [
        Number("age", 40.0, 10.0),
        Flag("member", 0.5, 0.5),
        Category("city", ("", "Oslo", "Rome")),
        Words("note", ("free", "txt")),
        Entries("entries", 1, 2),
    ],
    [0.1, 0.25, 1.0, -3.5, 2.0, 1e-300, 1 / 3, 7.0, -0.0, 5.0],
)


@given(
    st.lists(
        st.tuples(names.filter(lambda name: name != "y"), finite),  # which has the answers
        min_size=1,
        max_size=8,
        unique_by=lambda pair: pair[0],
    ),
    finite,
)
def test_weights_are_restored_to_the_last_bit(tmp_path_factory, pairs, threshold):
    path = tmp_path_factory.mktemp("m") / "model.json"
    weights = [threshold, *(weight for _, weight in pairs)]
    rb.save(model_of([Number(name) for name, _ in pairs], weights), path)
    again = rb.load(path)
    assert again.weights_.tobytes() == np.array(weights).tobytes()
    assert again.feature_names_ == tuple(name for name, _ in pairs)


def test_every_kind_of_column_is_restored(tmp_path):
    rb.save(MIXED, tmp_path / "m.json")
    again = rb.load(tmp_path / "m.json")
    assert again.encoding == MIXED.encoding
    assert again.target == MIXED.target
    assert again.training == MIXED.training
    assert np.array_equal(again.weights_, MIXED.weights_)


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (-1, 1), (False, True), (0.5, 1.5)])
def test_labels_keep_their_type(tmp_path, labels):
    rb.save(model_of([Number("x")], [0.0, 1.0], labels), tmp_path / "m.json")
    model = rb.load(tmp_path / "m.json")
    assert model.predict([[1.0], [-1.0]]).tolist() == [labels[1], labels[0]]
    assert model.classes_.tolist() == list(labels)


@pytest.mark.parametrize("zero", ["mistake", "negative", "positive"])
@pytest.mark.parametrize("intercept", [True, False])
def test_an_estimator_and_its_file_predict_alike(tmp_path, zero, intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) + 1
    y = np.where(X.sum(axis=1) > 5, "b", "a")
    clf = rb.Perceptron(
        zero=zero, fit_intercept=intercept, intercept_scaling=0.3, max_iter=5, max_updates=50
    )
    with pytest.warns(ConvergenceWarning):
        clf.fit(X, y)
    rb.save(clf, tmp_path / "m.json")
    model = rb.load(tmp_path / "m.json")
    grid = np.vstack([X, np.zeros((1, 5))])
    assert np.array_equal(model.decision_function(grid), clf.decision_function(grid))
    assert model.predict(grid).tolist() == clf.predict(grid).tolist()


def test_frames_are_encoded_by_their_columns():
    frame = {
        "city": ["Rome", "Oslo", None, "Lima"],
        "age": [50, 30, 20, 10],
        "note": ["free txt free", "", "nothing", None],
        "member": [True, False, True, False],
        "entries": ["1:1", "2:1", "", ""],
        "more": [1, 2, 3, 4],
    }
    w = dict(zip(("x0", *MIXED.feature_names_), MIXED.weights_, strict=True))
    expected = [
        w["x0"] + 50 * w["age"] + w["member"] + w["city=Rome"] + 2 * w["free"] + w["txt"] + w["1"],
        w["x0"] + 30 * w["age"] + w["city=Oslo"] + w["2"],
        w["x0"] + 20 * w["age"] + w["member"] + w["city=(missing)"],
        w["x0"] + 10 * w["age"],
    ]
    for X in (pa.table(frame), pd.DataFrame(frame), pl.DataFrame(frame)):
        assert MIXED.decision_function(X) == pytest.approx(expected)


def test_frames_with_wrong_columns_get_one_sentence():
    with refuses(DataError, '"member"'):
        MIXED.predict(pd.DataFrame({"age": [1]}))
    numbers = model_of([Number("x")], [0.0, 1.0])
    with refuses(DataError, "X", row=1, column="x"):
        numbers.predict(pd.DataFrame({"x": [1.0, None]}))
    with refuses(ValueError, 3, 1):
        numbers.predict([[1.0, 2.0, 3.0]])
    with refuses(ValueError, "Perceptron", "fit"):
        rb.save(rb.Perceptron(), "never.json")


def mutations():
    """Ways to spoil the model file, each with a word of the sentence that refuses it."""
    big = 10**400
    yield lambda m: m.pop("columns"), "columns"
    yield lambda m: m.update(columns=[]), "columns"
    yield lambda m: m.update(columns={}), "columns"
    yield lambda m: m.update(columns=[1]), "column 1"
    yield lambda m: m.update(threshold="1"), "threshold"
    yield lambda m: m.update(threshold=True), "threshold"
    yield lambda m: m.update(threshold=big), "finite"
    yield lambda m: m.update(threshold=None), "threshold"
    yield lambda m: m.update(zero="up"), "zero"
    yield lambda m: m.update(missing=["error"]), "missing"
    yield lambda m: m.update({"columns in file": -1}), "columns in file"
    yield lambda m: m.update({"columns in file": 1.5}), "columns in file"
    yield lambda m: m.update(format=1), "format"
    yield lambda m: m.update(format=None), "format"
    yield lambda m: m.update(rosenblatt="proof"), "is a proof"
    yield lambda m: m.update(training=[]), "training"
    yield lambda m: m.update(target=1), "target"
    yield lambda m: m["target"].update(labels=["yes", "yes"]), "different"
    yield lambda m: m["target"].update(labels=[1, "yes"]), "same type"
    yield lambda m: m["target"].update(labels=["yes"]), "target.labels"
    yield lambda m: m["target"].update(labels=[None, "yes"]), "target.labels"
    yield lambda m: m["target"].update(others=1), "target.others"
    yield lambda m: m["target"].update(column=3), "target.column"
    yield lambda m: m["columns"][0].update(kind="python"), "kind"
    yield lambda m: m["columns"][0].update(kind=["number"]), "kind"
    yield lambda m: m["columns"][0].update(name=None), "name"
    yield lambda m: m["columns"][0].update(weight="0"), "weight"
    yield lambda m: m["columns"][0].pop("mean"), "mean"
    yield lambda m: m["columns"][1].update(name="age"), "the same name"
    yield lambda m: m["columns"][2].update(weights=[1.0]), "weights"
    yield lambda m: m["columns"][3]["weights"].update(free=None), "free"
    yield lambda m: m["columns"][4]["weights"].update({"0": 1.0}), "indices"
    yield lambda m: m["columns"][4]["weights"].update({"03": 1.0}), "indices"
    yield lambda m: m["columns"][4]["weights"].update({"nine": 1.0}), "indices"
    yield lambda m: m.update(words={"stop words": "the"}), "stop words"
    yield lambda m: m.update(stream={}), "checksum"
    yield lambda m: m.update(stream=3), "stream"


@pytest.mark.parametrize("number", range(len(list(mutations()))))
def test_inconsistent_models_are_refused_in_one_sentence(tmp_path, number):
    path = tmp_path / "m.json"
    rb.save(MIXED, path)
    value = json.loads(path.read_text())
    spoil, word = list(mutations())[number]
    spoil(value)
    path.write_text(json.dumps(value))
    with pytest.raises(DataError) as trouble:
        rb.load(path)
    sentence = str(trouble.value)
    assert word in sentence
    assert "m.json" in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "NaN",
        '{"rosenblatt": "model", "format": 2, "threshold": NaN}',
        '{"a": 1, "a": 2}',
        "[" * 100_000,
        '"\ud800"'.encode("utf-8", "surrogatepass"),
        b"\xff\xfe\x00",
        "1" * 5000,
    ],
)
def test_files_without_a_json_object_are_refused(tmp_path, text):
    path = tmp_path / "m.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError):
        rb.load(path)


def test_unreadable_and_unwritable_files_are_errors(tmp_path):
    with refuses(OpenError, "none.json"):
        rb.load(tmp_path / "none.json")
    with refuses(OpenError, tmp_path):
        rb.load(tmp_path)
    with refuses(WriteError, "no/m.json"):
        rb.save(MIXED, tmp_path / "no" / "m.json")
    with refuses(WriteError, tmp_path):
        rb.save(MIXED, tmp_path)


def test_a_failed_write_leaves_the_old_file_intact(tmp_path, monkeypatch):
    import os

    path = tmp_path / "m.json"
    path.write_text("old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with refuses(WriteError, "m.json", "No space left on device"):
        rb.save(MIXED, path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


def test_a_new_file_has_the_default_permissions(tmp_path):
    (tmp_path / "plain").write_text("")
    rb.save(MIXED, tmp_path / "m.json")
    usual = (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "m.json").stat().st_mode == usual
    (tmp_path / "m.json").chmod(0o600)
    rb.save(MIXED, tmp_path / "m.json")
    assert (tmp_path / "m.json").stat().st_mode & 0o777 == 0o600
