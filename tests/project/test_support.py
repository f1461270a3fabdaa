"""Every cell of docs/support.md holds: a yes runs, a no is refused."""

import contextlib
import io
import re

import numpy as np
import pandas as pd
import pytest
from pages import ROOT

import rosenblatt as rb
from rosenblatt.cli import run

pytest.importorskip("distributed")
pytest.importorskip("river")
pytest.importorskip("skl2onnx")

import dask.array as da
import dask.dataframe as dd
from dask.distributed import Client

import rosenblatt.dask
from rosenblatt.river import Perceptron as RiverPerceptron

pytestmark = [
    pytest.mark.slow_without_jit,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.EfficiencyWarning"),
]
PLACES = ("In memory", "File in passes", "Stream", "Dask", "River", "ONNX", "Model file")

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
X += 0.2 * np.sign(X)
y = np.where(X[:, 0] > 0, "yes", "no")
three = np.where(X[:, 0] < 0, "a", np.where(X[:, 1] > 0, "b", "c"))
weights = 1.0 + np.arange(60) % 3
numbers = pd.DataFrame(X, columns=["a", "b", "c"])
words = pd.DataFrame({"a": X[:, 0], "words": np.where(y == "yes", "good sun", "bad rain")})
FILES = {
    "two.csv": numbers.assign(y=y),
    "three.csv": numbers.assign(y=three),
    "words.csv": words.assign(y=y),
}


def command(*arguments):
    """Run the program; an error is raised with its sentence."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(list(arguments))
    if code >= 64:
        raise ValueError(err.getvalue())


def in_passes(file="two.csv", *options):
    command("learn", file, "--target", "y", "--stream", "--no-convert", "-o", "m.json", *options)


def stream(file="two.csv", *options):
    command("stream", file, "--target", "y", "-o", "rows.csv", *options)


def streamed(labels=y, **options):
    model = rb.OnlinePerceptron(**options)
    model.learn_many(X, labels)
    return model


def on_dask(estimator, labels=y, **options):
    options = {"sample_weight": None, **options}
    estimator.fit(da.from_array(X, chunks=(20, 3)), da.from_array(labels, chunks=20), **options)


def in_river(row, seen=("no", "yes"), **options):
    model = RiverPerceptron(**options)
    for label in seen:
        model.learn_one(row, label)
    model.predict_one(row)


def lazy(frame=numbers):
    return dd.from_pandas(frame.assign(y=y), npartitions=3)


def parted():
    return da.from_array(X, chunks=(20, 3)), da.from_array(y, chunks=20)


def proof():
    return rb.separability(X, y).proof


def verify():
    command("separable", "two.csv", "--target", "y", "--proof", "proof.json")
    command("verify", "proof.json", "two.csv")


def saved(model):
    rb.save(model, "model.json")
    loaded = rb.load("model.json")
    assert loaded.predict(X).tolist() == model.predict(X).tolist()


def saved_stream():
    model = streamed()
    model.save("model.json")
    assert (rb.OnlinePerceptron.load("model.json").predict_many(X) == model.predict_many(X)).all()


def saved_words():
    rb.learn(words, y).save("model.json")
    assert rb.load("model.json").predict(words).tolist() == y.tolist()


MODELS = {
    "PLA": lambda: rb.Perceptron().fit(X, y),
    "Pocket": lambda: rb.PocketPerceptron(50, random_state=0).fit(X, y),
    "Averaged weights": lambda: rb.Perceptron(average=True).fit(X, y),
    "Fewest mistakes": lambda: rb.FewestMistakes(time_limit=0.1).fit(X, y),
    "More than two labels": lambda: rb.Perceptron().fit(X, three),
}
CELLS = {
    "PLA": {
        "In memory": lambda: rb.Perceptron().fit(X, y),
        "File in passes": lambda: in_passes("two.csv", "--algorithm", "pla"),
        "Dask": lambda: on_dask(rosenblatt.dask.Perceptron()),
    },
    "Pocket": {
        "In memory": lambda: rb.PocketPerceptron(50).fit(X, y),
        "File in passes": lambda: in_passes("two.csv", "--algorithm", "pocket"),
        "Stream": lambda: streamed(pocket=True, predict_with="pocket"),
        "Dask": lambda: on_dask(rosenblatt.dask.PocketPerceptron(50)),
        "River": lambda: in_river({"a": 1.0}, pocket=True, predict_with="pocket"),
    },
    "Averaged weights": {
        "In memory": lambda: rb.Perceptron(average=True).fit(X, y),
        "File in passes": lambda: in_passes("two.csv", "--algorithm", "average"),
        "Stream": lambda: streamed(average=True, predict_with="average"),
        "River": lambda: in_river({"a": 1.0}, average=True, predict_with="average"),
    },
    "Fewest mistakes": {
        "In memory": lambda: rb.fewest_mistakes(X, y, time_limit=0.1),
        "File in passes": lambda: in_passes("two.csv", "--algorithm", "fewest"),
        "Dask": lambda: rb.fewest_mistakes(lazy(), "y"),
    },
    "Online perceptron": {
        "In memory": lambda: rb.Perceptron().partial_fit(X, y, classes=["no", "yes"]),
        "Stream": stream,
        "River": lambda: in_river({"a": 1.0}),
        "ONNX": lambda: rb.to_onnx(streamed()),
        "Model file": saved_stream,
    },
    "More than two labels": {
        "In memory": lambda: rb.learn(X, three),
        "File in passes": lambda: in_passes("three.csv"),
        "Stream": lambda: stream("three.csv", "--labels", "a,b,c"),
        "Dask": lambda: on_dask(rosenblatt.dask.Perceptron(), three),
        "River": lambda: in_river({"a": 1.0}, "abc", labels=("a", "b", "c")),
    },
    "Sample weights": {
        "In memory": lambda: rb.Perceptron().fit(X, y, sample_weight=weights),
        "Dask": lambda: on_dask(rosenblatt.dask.Perceptron(), sample_weight=weights),
    },
    "Text columns": {
        "In memory": lambda: rb.learn(words, y),
        "File in passes": lambda: in_passes("words.csv"),
        "Stream": lambda: stream("words.csv"),
        "Dask": lambda: rosenblatt.dask.Perceptron().fit(lazy(words), "y"),
        "River": lambda: in_river({"words": "good sun"}),
        "ONNX": lambda: rb.to_onnx(rb.learn(words, y).model),
        "Model file": saved_words,
    },
    "Separability, with a proof": {
        "In memory": lambda: rb.separability(X, y),
        "File in passes": lambda: in_passes("two.csv", "--proof", "proof.json"),
        "Dask": lambda: rosenblatt.dask.separability(*parted()),
    },
    "Check of a proof": {
        "In memory": lambda: proof().check(X, y),
        "File in passes": verify,
        "Dask": lambda: rosenblatt.dask.check_proof(proof(), *parted()),
    },
    "Separation (infinite estimates), with a proof": {
        "In memory": lambda: rb.separation(X, y),
        "Dask": lambda: rb.separation(lazy(), "y"),
    },
}
for name, make in MODELS.items():
    CELLS[name]["ONNX"] = lambda make=make: rb.to_onnx(make())
    CELLS[name]["Model file"] = lambda make=make: saved(make())


def table():
    """The table of the page: (row, place) -> yes, no or –."""
    lines = re.findall(r"^\| (.*) \|$", (ROOT / "docs" / "support.md").read_text("utf-8"), re.M)
    head, _, *rows = ([cell.strip() for cell in line.split("|")] for line in lines)
    assert tuple(head[1:]) == PLACES
    return {
        (row[0], place): cell for row in rows for place, cell in zip(PLACES, row[1:], strict=True)
    }


@pytest.fixture(scope="module")
def client():
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as one:
        yield one


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, frame in FILES.items():
        frame.to_csv(name, index=False)


def test_every_cell_of_the_table_has_a_test():
    assert set(table().values()) == {"yes", "no", "–"}
    tried = {(row, place) for row, places in CELLS.items() for place in places}
    assert tried == {cell for cell, says in table().items() if says != "–"}


@pytest.mark.parametrize(("row", "place"), [c for c, says in table().items() if says == "yes"])
def test_supported_combinations_run(files, client, row, place, free_memory):
    if place == "File in passes":
        free_memory(1000)
    CELLS[row][place]()


@pytest.mark.parametrize(("row", "place"), [c for c, says in table().items() if says == "no"])
def test_unsupported_combinations_are_refused_in_one_sentence(files, client, row, place):
    with pytest.raises((ValueError, TypeError)) as refused:
        CELLS[row][place]()
    assert len(str(refused.value).split()) > 4
