"""Streams of more than two labels at the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import rosenblatt as rb
from rosenblatt.cli.stream import parse_labels
from rosenblatt.errors import UsageError

LABELS = ["art", "law", "sport"]


def rows(n=120, labels=LABELS):
    """Three clouds of points that overlap a little, in no order."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    X = np.array([[3.0, 0.0], [0.0, 3.0], [-3.0, -3.0]])[y] + rng.normal(size=(n, 2)).round(2)
    return X.round(2), [labels[place] for place in y]


def write(path, X, y, kind="csv"):
    if kind == "csv":
        lines = ["a,b,y", *(f"{a},{b},{label}" for (a, b), label in zip(X, y, strict=True))]
    else:
        pairs = zip(X.tolist(), y, strict=True)
        lines = [json.dumps({"a": a, "b": b, "y": label}) for (a, b), label in pairs]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("ask", ["last", "average", "pocket"])
def test_every_line_is_predicted_as_the_online_perceptron_does(told, tmp_path, kind, ask):
    X, y = rows()
    write(tmp_path / f"d.{kind}", X, y, kind)
    code, _, _ = told(
        *("stream", f"d.{kind}", "--target", "y", "--labels", "sport,art,law"),
        *("--predict-with", ask, "--window", 20, "--save", "model.json", "-o", "said.txt"),
    )
    assert code == 0
    model = rb.OnlinePerceptron(labels=LABELS, predict_with=ask, window=20)
    said = model.predict_then_learn(pd.DataFrame(X, columns=["a", "b"]), y).tolist()
    assert (tmp_path / "said.txt").read_text().splitlines() == said
    saved = rb.OnlinePerceptron.load(tmp_path / "model.json")
    assert saved.labels == tuple(LABELS)
    assert (saved.n_mistakes, saved.weights) == (model.n_mistakes, model.weights)


@pytest.mark.parametrize("ask", ["last", "average"])
def test_a_stream_goes_on_from_its_checkpoint(told, tmp_path, ask):
    X, y = rows()
    given = ("--target", "y", "--labels", "art,law,sport", "--predict-with", ask, "--quiet")
    write(tmp_path / "whole.csv", X, y)
    told("stream", "whole.csv", *given, "-o", "whole.txt", "--save", "whole.json")
    write(tmp_path / "d.csv", X[:50], y[:50])
    kept = (*given, "-o", "said.txt", "--checkpoint", "state")
    assert told("stream", "d.csv", *kept)[0] == 0
    write(tmp_path / "d.csv", X, y)
    assert told("stream", "d.csv", *kept, "--resume", "--save", "model.json")[0] == 0
    assert (tmp_path / "said.txt").read_text() == (tmp_path / "whole.txt").read_text()
    assert (tmp_path / "model.json").read_text() == (tmp_path / "whole.json").read_text()
    other = [one.replace("sport", "music") for one in kept]
    code, _, err = told("stream", "d.csv", *other, "--resume")
    assert (code, "was made with --labels art,law,sport" in err) == (64, True)


def test_a_third_label_that_nobody_named_is_set_aside_and_what_to_do_is_said(told, tmp_path):
    write(tmp_path / "d.csv", *rows())
    code, _, err = told("stream", "d.csv", "--target", "y", "-o", "said.txt")
    assert code == 0
    assert "is not one of the labels" in err
    assert "list all of them with --labels" in err
    code, _, err = told("stream", "d.csv", "--target", "y", "--labels", "art,law,news", "-o", "s")
    assert "'sport' is not one of the labels 'art', 'law' and 'news'" in err
    assert "names all of them" not in err


def test_numbers_are_labels_and_in_quotes_they_are_text(told, tmp_path):
    X, y = rows(labels=[1, 2, 10])
    write(tmp_path / "d.csv", X, y)
    said = json.loads(told("stream", "d.csv", "--target", "y", "--labels", "1,2,10", "--json")[1])
    assert (said["labels"], said["trained on"]) == ([1, 2, 10], len(y))
    write(tmp_path / "d.jsonl", X, [str(label) for label in y], "jsonl")
    quoted = '"1","2","10"'
    told_all = told("stream", "d.jsonl", "--target", "y", "--labels", quoted, "--json")
    assert json.loads(told_all[1])["labels"] == ["1", "10", "2"]


@pytest.mark.parametrize("labels", ["", "art", "art,art"])
def test_too_few_labels_are_refused(told, tmp_path, labels):
    write(tmp_path / "d.csv", *rows())
    code, _, err = told("stream", "d.csv", "--target", "y", "--labels", labels)
    assert (code, f"--labels {labels} " in err) == (64, True)


@pytest.mark.parametrize("text", ['"abc,d', 'a,"', 'a,"b'])
def test_a_quote_that_is_not_closed_is_told(text):
    with pytest.raises(UsageError, match="not closed"):
        parse_labels(text)
