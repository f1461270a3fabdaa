import subprocess
import sys

import numpy as np
import pytest
from facts import refuses

import rosenblatt as rb

pytest.importorskip("river")

from river import checks, compose, datasets, evaluate, metrics, preprocessing

from rosenblatt.river import Perceptron

KINDS = {
    "plain": Perceptron(),
    "average": Perceptron(predict_with="average", zero="positive"),
    "pocket": Perceptron(average=True, predict_with="pocket", window=20, fit_intercept=False),
}


@pytest.mark.parametrize(
    ("model", "check"),
    [
        pytest.param(model, check, id=f"{name}-{i}-{check.__name__}")
        for name, model in KINDS.items()
        for i, check in enumerate(checks.yield_checks(model))
    ],
)
def test_the_model_passes_rivers_checks(model, check):
    assert not model._unit_test_skips()
    check(model.clone())


@pytest.mark.parametrize("name", KINDS)
def test_predictions_are_those_of_the_online_perceptron(name):
    model = KINDS[name].clone()
    online = rb.OnlinePerceptron(**model._get_params())
    for x, y in datasets.Phishing().take(300):
        assert model.predict_one(x) == online.predict_one(x)
        model.learn_one(x, y)
        online.learn_one(x, y)
    assert model.online.state() == online.state()


def test_more_than_two_labels_are_trained_together():
    labels = tuple(sorted({y for _, y in datasets.ImageSegments()}))
    how = {"labels": labels, "predict_with": "average"}
    scaled = preprocessing.StandardScaler() | Perceptron(**how)
    metric = evaluate.progressive_val_score(datasets.ImageSegments(), scaled, metrics.Accuracy())
    assert metric.get() > 0.75
    model, online = Perceptron(**how), rb.OnlinePerceptron(**how)
    for x, y in datasets.ImageSegments().take(100):
        assert model.predict_one(x) == online.predict_one(x)
        model.learn_one(x, y)
        online.learn_one(x, y)
    assert model.clone().labels == labels


def test_the_model_works_in_pipelines_and_evaluations():
    pipeline = compose.Pipeline(preprocessing.StandardScaler(), Perceptron(predict_with="average"))
    metric = evaluate.progressive_val_score(datasets.Phishing(), pipeline, metrics.Accuracy())
    assert metric.get() > 0.85


def test_blocks_of_frames_are_trained_on_row_by_row():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"), index=range(7, 47))
    y = pd.Series(rng.random(40) < 0.5)
    one, many, polars = Perceptron(), Perceptron(), Perceptron()
    for x, label in zip(frame.to_dict("records"), y, strict=True):
        one.learn_one(x, label)
    many.learn_many(frame, y)
    polars.learn_many(pl.DataFrame(frame.to_dict("list")), pl.Series(y.to_list()))
    assert one.online.state() == many.online.state() == polars.online.state()
    assert many.predict_many(frame).index.tolist() == frame.index.tolist()
    assert polars.predict_many(pl.DataFrame(frame.to_dict("list"))).to_list() == [
        one.predict_one(x) for x in frame.to_dict("records")
    ]
    assert len(many.predict_many(frame[:0])) == 0


def test_without_river_the_extra_to_install_is_named():
    code = "import sys; sys.modules['river'] = None; import rosenblatt.river"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'rosenblatt[river]'" in done.stderr


@pytest.mark.parametrize("labels", [None, ("a", "b", "c")], ids=["two", "three"])
def test_probabilities_are_refused_with_a_remedy(labels):
    model = preprocessing.StandardScaler() | Perceptron(labels=labels)
    model.learn_one({"a": 1.0}, "a")
    with refuses(NotImplementedError, "predict_one", "LogisticRegression"):
        model.predict_proba_one({"a": 1.0})
    with refuses(NotImplementedError, "predict_many", "LogisticRegression"):
        Perceptron(labels=labels).predict_proba_many([[1.0]])
    with refuses(NotImplementedError, "Accuracy"):
        evaluate.progressive_val_score(datasets.Phishing().take(5), Perceptron(), metrics.ROCAUC())


def test_a_model_of_river_is_saved_as_any_other(tmp_path):
    model = Perceptron(predict_with="average")
    rows = [(x, y) for x, y in datasets.Phishing().take(300)]
    for x, y in rows:
        model.learn_one(x, y)
    rb.save(model, tmp_path / "m.json")
    expected = [model.predict_one(x) for x, _ in rows]
    assert rb.load(tmp_path / "m.json").predict([x for x, _ in rows]).tolist() == expected
    again = rb.OnlinePerceptron.load(tmp_path / "m.json")
    assert [again.predict_one(x) for x, _ in rows] == expected
