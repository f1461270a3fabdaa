"""An ONNX graph predicts what its model predicts."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.read.columns import Entries, Number
from rosenblatt.read.encoding import Encoding, TargetColumn

onnx = pytest.importorskip("onnx", reason="the extra `onnx` is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

GRID = np.array([(a, b) for a in range(-3, 4) for b in range(-3, 4)], dtype=np.float64)
KINDS = {
    "text": ["a", "b", "ü"],
    "objects": np.array(["a", "b", "ü"], dtype=object),
    "whole": [-1, 7, 2**60],
    "small": np.array([1, 2, 3], dtype=np.uint8),
    "yes or no": [False, True],
    "numbers": [0.5, 1.5],
}


def session(graph):
    onnx.checker.check_model(graph, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    providers = ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(graph.SerializeToString(), options, providers)


def run(graph, X, **others):
    """Labels and scores of rows, or of columns by their names."""
    return session(graph).run(None, others or {"X": X})


def line(w, zero=0):
    """A model of tall weights, or of some for each label."""
    w = np.array(w, dtype=np.float64)
    names = tuple(Number(f"x{i}") for i in range(1, w.shape[-1]))
    answers = TargetColumn("", ("no", "yes"))
    if w.ndim == 2:
        answers = TargetColumn("", tuple(f"label {k}" for k in range(len(w))))
    return rb.Model(Encoding(names), Hypothesis.of(w, 1.0, zero), answers)


def fitted(clf, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clf.fit(X, y)


def blobs(labels, n=60, seed=0):
    rng = np.random.default_rng(seed)
    places = rng.integers(0, len(labels), n)
    middles = rng.normal(size=(len(labels), 4)) * 2
    return middles[places] + rng.normal(size=(n, 4)), np.asarray(labels)[places]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [2, 3])
def test_labels_keep_their_type(kind, count):
    X, y = blobs(KINDS[kind][:count])
    clf = fitted(rb.Perceptron(max_iter=5), X, y)
    labels, scores = run(rb.to_onnx(clf), X)
    assert labels.tolist() == clf.predict(X).tolist()
    assert scores.shape == clf.decision_function(X).shape
    np.testing.assert_allclose(scores, clf.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "clf",
    [
        rb.Perceptron(max_iter=5, intercept_scaling=8.0, zero="positive"),
        rb.Perceptron(max_iter=5, fit_intercept=False, average=True),
        rb.PocketPerceptron(max_updates=20, random_state=0),
        rb.FewestMistakes(time_limit=0.2, random_state=0),
    ],
    ids=lambda clf: type(clf).__name__,
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_estimator_predicts_the_same_in_either_precision(clf, dtype):
    X, y = blobs(["no", "yes"], seed=3)
    X = X.astype(dtype)
    clf = fitted(clf, X, y)
    labels, _ = run(rb.to_onnx(clf, dtype=dtype), X)
    assert labels.tolist() == clf.predict(X).tolist()


def test_single_precision_is_widened_and_the_weights_are_not_rounded():
    w = [-1.0, 1.0 + 2.0**-40]  # as float32 a tie at x = 1
    x = np.ones((1, 1), dtype=np.float32)
    model = line(w)
    assert run(rb.to_onnx(model, dtype="float32"), x)[0].tolist() == ["yes"]
    assert model.predict(x).tolist() == ["yes"]


whole = st.integers(-2, 2)


@given(st.lists(whole, min_size=3, max_size=3), st.sampled_from([-1, 0, 1]))
def test_the_sign_of_zero_is_kept(w, zero):
    model = line(w, zero)
    assert run(rb.to_onnx(model), GRID)[0].tolist() == model.predict(GRID).tolist()


@given(
    st.lists(st.lists(whole, min_size=3, max_size=3), min_size=3, max_size=9),
    st.sampled_from([-1, 0, 1]),
)
def test_ties_between_labels_are_kept(w, zero):
    model = line(w, zero)
    labels, scores = run(rb.to_onnx(model), GRID)
    assert labels.tolist() == model.predict(GRID).tolist()
    assert scores.tolist() == model.decision_function(GRID).tolist()


@pytest.mark.parametrize("size", [2.0**1000, 2.0**-1000, np.inf, np.nan])
def test_weights_that_overflow_in_a_graph_are_refused(size):
    with refuses(ValueError):
        rb.to_onnx(line([0.0, size, 0.0]))


def test_columns_of_every_kind_are_prepared_as_in_the_file(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "age": [45, 31, 52, np.nan, 27, 34] * 5,
            "city": ["Bonn", "Ulm", "Bonn", "", "Köln", "Ulm"] * 5,
            "owns": [True, True, False, True, False, False] * 5,
            "label": [1.5, 2.0, 1.0, 3.0, 0.5, 1.0] * 5,
            "approved": ["yes", "yes", "no", "yes", "no", "no"] * 5,
        }
    )
    frame.to_csv(tmp_path / "credit.csv", index=False)
    result = rb.learn(tmp_path / "credit.csv", target="approved", missing="mean")
    assert {column.kind for column in result.model.encoding.columns} >= {"number", "category"}
    result.save(tmp_path / "model.json")
    new = frame.drop(columns="approved").head(6)
    new.loc[1, "city"] = "nowhere"
    given = {
        "age": new["age"].to_numpy(),
        "city": new["city"].to_numpy(dtype=object),
        "owns": new["owns"].to_numpy(dtype=np.float64),
        "label": new["label"].to_numpy(),
    }
    for model in (result, rb.load(tmp_path / "model.json")):
        graph = rb.to_onnx(model)
        assert [output.name for output in graph.graph.output] == ["label_", "scores"]
        labels, scores = run(graph, None, **given)
        ours = getattr(model, "model", model)
        assert labels.tolist() == ours.predict(new).tolist()
        np.testing.assert_allclose(scores, ours.decision_function(new), rtol=1e-9)
        assert json.loads(graph.metadata_props[0].value) == list(ours.feature_names_)


def test_models_of_learn_with_three_labels_predict_the_same():
    pd = pytest.importorskip("pandas")
    X, y = blobs(["a", "b", "c"], seed=2)
    frame = pd.DataFrame(X, columns=list("pqrs")).assign(kind=y)
    result = rb.learn(frame, "kind", test_size=0)
    labels, scores = run(rb.to_onnx(result), X)
    assert labels.tolist() == result.model.predict(frame).tolist()
    np.testing.assert_allclose(scores, result.model.decision_function(frame), rtol=1e-9, atol=1e-9)


def test_missing_numbers_are_imputed_in_arrays_too():
    columns = (Number("a", mean=2.0), Number("b", mean=-3.0))
    hypothesis = Hypothesis(np.array([0.0, 1.0, 1.0]))
    model = rb.Model(Encoding(columns, "mean"), hypothesis, TargetColumn("", ("no", "yes")))
    X = np.array([[np.nan, 1.0], [2.5, np.nan], [4.0, np.nan]])
    labels, scores = run(rb.to_onnx(model), X)
    assert labels.tolist() == ["yes", "no", "yes"]
    assert scores.tolist() == [3.0, -0.5, 1.0]


def test_words_and_entries_are_passed_as_numbers(tmp_path):
    texts = ["cheap cheap pills", "dear friend", "pills now", "dear all"] * 3
    lines = [f"{text},{'ham' if 'dear' in text else 'spam'}" for text in texts]
    (tmp_path / "mail.csv").write_text("\n".join(["text,kind", *lines]))
    model = rb.learn(tmp_path / "mail.csv", target="kind", text="text").model
    counts = np.array([[text.split().count(w) for w in model.feature_names_] for text in texts])
    labels, _ = run(rb.to_onnx(model), None, text=counts.astype(np.float64))
    assert labels.tolist() == model.predict(counts).tolist() == [s.split(",")[1] for s in lines]
    entries = Encoding((Entries("entries", 1, 2), Number("more")))
    model = rb.Model(
        entries, line([1.0, 1.0, -2.0, 4.0]).hypothesis, TargetColumn("", ("no", "yes"))
    )
    given = {"entries": GRID[:3], "more": np.array([0.0, 1.0, 2.0])}
    X = np.column_stack([*given.values()])
    assert run(rb.to_onnx(model), None, **given)[1].tolist() == model.decision_function(X).tolist()


@pytest.mark.parametrize("ask", ["last", "average", "pocket"])
@pytest.mark.parametrize("labels", [["no", "yes"], ["a", "b", "c"]])
def test_a_stream_predicts_the_same_by_position_and_by_name(ask, labels):
    rng = np.random.default_rng(5)
    X = rng.integers(-3, 4, size=(40, 3)).astype(np.float64)
    y = np.array(labels)[rng.integers(0, len(labels), 40)]
    for zero in ("mistake", "positive"):
        model = rb.OnlinePerceptron(
            predict_with=ask, window=7, labels=labels, zero=zero, intercept_scaling=2.0
        )
        model.learn_many(X, y)
        again = np.vstack([X, GRID[:, [0, 1, 0]]])
        if ask == "average":  # its weights are rounded: a tie may go either way
            again = again + np.pi / 8
        found, _ = run(rb.to_onnx(model), again)
        assert found.tolist() == model.predict_many(again).tolist()
    named = rb.OnlinePerceptron(predict_with=ask, window=7, labels=labels)
    rows = [dict(zip("cab", x, strict=True)) for x in X.tolist()]
    for x, label in zip(rows, y.tolist(), strict=True):
        named.learn_one(x, label)
    graph = rb.to_onnx(named, dtype="float32")
    assert json.loads(graph.metadata_props[0].value) == ["a", "b", "c"]
    found, _ = run(graph, X[:, [1, 2, 0]].astype(np.float32))
    assert found.tolist() == [named.predict_one(x) for x in rows]


@pytest.mark.parametrize("labels", [["no", "yes"], [3, 5, 8], [False, True]])
def test_pipelines_are_converted_with_their_scalers(labels):
    skl2onnx = pytest.importorskip("skl2onnx", reason="the extra `onnx` is not installed")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    X, y = blobs(labels, seed=7)
    clf = fitted(make_pipeline(StandardScaler(), rb.Perceptron(max_iter=5)), X, y)
    rb.register_onnx_converters()
    for graph in (skl2onnx.to_onnx(clf, X), rb.to_onnx(clf)):
        found, scores = run(graph, X)
        assert found.tolist() == clf.predict(X).tolist()
        np.testing.assert_allclose(scores, clf.decision_function(X), rtol=1e-9, atol=1e-9)
    steps = (StandardScaler(), MinMaxScaler(clip=True), rb.PocketPerceptron(max_updates=9))
    clf = fitted(make_pipeline(*steps), X, y)
    assert run(rb.to_onnx(clf), X)[0].tolist() == clf.predict(X).tolist()


def test_without_skl2onnx_the_extra_is_named(monkeypatch):
    clf = rb.Perceptron().fit([[1.0], [-1.0]], [1, 0])
    monkeypatch.setitem(sys.modules, "onnx", None)
    with refuses(ImportError, "rosenblatt[onnx]"):
        rb.to_onnx(clf)
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with refuses(ImportError, "skl2onnx", "rosenblatt[onnx]"):
        rb.register_onnx_converters()


def test_accessing_the_name_does_not_import_onnx():
    code = "import sys, rosenblatt as rb; rb.to_onnx; assert not {'onnx'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unsupported_model_gets_one_sentence():
    with refuses(ValueError, "Perceptron", "fit"):
        rb.to_onnx(rb.Perceptron())
    with refuses(TypeError, "str"):
        rb.to_onnx("model.json")
    with refuses(ValueError, "dtype", "int8"):
        rb.to_onnx(line([1.0, 2.0]), dtype="int8")
    with refuses(ValueError, "OnlinePerceptron"):
        rb.to_onnx(rb.OnlinePerceptron())
    days = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")
    clf = rb.Perceptron().fit([[1.0], [-1.0]], days)
    with refuses(TypeError, "date(2026, 1, 1)"):
        rb.to_onnx(clf)


@pytest.mark.parametrize("strange", [-1, 10**12])
def test_a_stream_whose_features_are_not_positions_is_exported_by_name(strange):
    model = rb.OnlinePerceptron()
    rows = [{strange: 1.0, 2: 0.5}, {strange: -1.0, 2: 0.25}]
    for x, y in zip(rows, (True, False), strict=True):
        model.learn_one(x, y)
    X = np.array([[x[name] for name in model.state()["features"]] for x in rows])
    label = run(rb.to_onnx(model), X)[0]
    assert label.tolist() == [model.predict_one(x) for x in rows]
