"""Streams of more than two labels at the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from facts import refuses

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
def test_every_line_is_predicted_as_the_online_perceptron_does(run_command, tmp_path, kind, ask):
    X, y = rows()
    write(tmp_path / f"d.{kind}", X, y, kind)
    code, _, _ = run_command(
        *("stream", f"d.{kind}", "--target", "y", "--labels", "sport,art,law"),
        *("--predict-with", ask, "--window", 20, "--save", "model.json", "-o", "predictions.txt"),
    )
    assert code == 0
    model = rb.OnlinePerceptron(labels=LABELS, predict_with=ask, window=20)
    predictions = model.predict_then_learn(pd.DataFrame(X, columns=["a", "b"]), y).tolist()
    assert (tmp_path / "predictions.txt").read_text().splitlines() == predictions
    saved = rb.OnlinePerceptron.load(tmp_path / "model.json")
    assert saved.labels == tuple(LABELS)
    assert (saved.n_mistakes, saved.weights) == (model.n_mistakes, model.weights)


@pytest.mark.parametrize("ask", ["last", "average"])
def test_a_stream_continues_from_its_checkpoint(run_command, tmp_path, ask):
    X, y = rows()
    given = ("--target", "y", "--labels", "art,law,sport", "--predict-with", ask, "--quiet")
    write(tmp_path / "whole.csv", X, y)
    run_command("stream", "whole.csv", *given, "-o", "whole.txt", "--save", "whole.json")
    write(tmp_path / "d.csv", X[:50], y[:50])
    kept = (*given, "-o", "predictions.txt", "--checkpoint", "state")
    assert run_command("stream", "d.csv", *kept)[0] == 0
    write(tmp_path / "d.csv", X, y)
    assert run_command("stream", "d.csv", *kept, "--resume", "--save", "model.json")[0] == 0
    assert (tmp_path / "predictions.txt").read_text() == (tmp_path / "whole.txt").read_text()
    assert (tmp_path / "model.json").read_text() == (tmp_path / "whole.json").read_text()
    other = [one.replace("sport", "music") for one in kept]
    code, _, err = run_command("stream", "d.csv", *other, "--resume")
    assert (code, "was made with --labels art,law,sport" in err) == (64, True)


def test_an_undeclared_third_label_is_rejected_with_a_remedy(run_command, tmp_path):
    write(tmp_path / "d.csv", *rows())
    code, _, err = run_command("stream", "d.csv", "--target", "y", "-o", "predictions.txt")
    assert code == 0
    assert "is not one of the labels" in err
    assert "list all of them with --labels" in err
    code, _, err = run_command(
        "stream", "d.csv", "--target", "y", "--labels", "art,law,news", "-o", "s"
    )
    assert "'sport' is not one of the labels 'art', 'law' and 'news'" in err
    assert "names all of them" not in err


def test_quoted_numbers_are_text_labels(run_command, tmp_path):
    X, y = rows(labels=[1, 2, 10])
    write(tmp_path / "d.csv", X, y)
    output = json.loads(
        run_command("stream", "d.csv", "--target", "y", "--labels", "1,2,10", "--json")[1]
    )
    assert (output["labels"], output["trained on"]) == ([1, 2, 10], len(y))
    write(tmp_path / "d.jsonl", X, [str(label) for label in y], "jsonl")
    quoted = '"1","2","10"'
    told_all = run_command("stream", "d.jsonl", "--target", "y", "--labels", quoted, "--json")
    assert json.loads(told_all[1])["labels"] == ["1", "10", "2"]


@pytest.mark.parametrize("labels", ["", "art", "art,art"])
def test_too_few_labels_are_refused(run_command, tmp_path, labels):
    write(tmp_path / "d.csv", *rows())
    code, _, err = run_command("stream", "d.csv", "--target", "y", "--labels", labels)
    assert (code, f"--labels {labels} " in err) == (64, True)


@pytest.mark.parametrize("text", ['"abc,d', 'a,"', 'a,"b'])
def test_an_unclosed_quote_is_reported(text):
    with refuses(UsageError, text):
        parse_labels(text)
