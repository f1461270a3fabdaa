"""What is said in cases that are seldom met: too many, too few, or not what was meant."""

import json

import numpy as np
import pytest

import rosenblatt as rb


@pytest.fixture
def flowers(tmp_path, monkeypatch):
    """Three labels by three features, as a file."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).round(3)
    labels = np.array(["aster", "iris", "rose"])[X.argmax(axis=1)]
    rows = [",".join([*map(str, x), label]) for x, label in zip(X, labels, strict=True)]
    (tmp_path / "flowers.csv").write_text("\n".join(["a,b,c,kind", *rows, ""]))
    return "flowers.csv"


def test_labels_without_an_order_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r"1\.5 and 'x' are of different kinds and have no order"):
        rb.OnlinePerceptron(labels=[1.5, 2, "x"])


def test_a_positive_answer_that_is_none_of_the_labels_is_refused():
    X, y = [[0.0], [1.0], [2.0], [3.0]], list("abca")
    with pytest.raises(ValueError, match="positive is z; the answers are a, b and c"):
        rb.learn(X, y, positive="z")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["learn", "--decimal", ";"], "--decimal: give . or ,"),
        (["stream", "--labels", "1,a"], "make them both text or both numbers."),
        (["stream", "--labels", "1.5,2,a"], "make them both text or both numbers."),
        (["watch", "--ignore", "b", "--ignore", "c"], "by two features"),
    ],
)
def test_options_that_do_not_fit_are_refused(told, flowers, given, sentence):
    verb, *options = given
    code, _, err = told(verb, flowers, "--target", "kind", *options)
    assert code in (64, 65)
    assert sentence in err


def test_rows_and_one_object_do_not_both_go_to_standard_output(told, flowers):
    told("learn", flowers)
    code, _, err = told("predict", "model.json", flowers, "--json", "--to", "csv")
    assert (code, "--json prints one object" in err) == (64, True)
    code, _, err = told("predict", "model.json", flowers, "-o", "answers.txt")
    assert (code, "the name does not tell the format" in err) == (64, True)


def test_of_many_features_and_labels_the_strongest_are_shown(told, flowers):
    _, out, _ = told("learn", flowers, "--top", 3)
    assert "… and 2 features more of each label in the model." in out
    _, out, _ = told("learn", flowers, "--top", 2)
    assert "… and 1 label more in the model." in out


def test_of_many_coefficients_the_first_are_shown(told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [[*x, int(n % 2)] for n, x in enumerate(rng.normal(size=(120, 45)).round(2))]
    head = ",".join([*(f"x{i}" for i in range(45)), "y"])
    (tmp_path / "wide.csv").write_text("\n".join([head, *(",".join(map(str, r)) for r in rows)]))
    _, out, _ = told("separation", "wide.csv", "--target", "y")
    assert "… and 6 coefficients more, all in --json." in out
    _, out, _ = told("separation", "wide.csv", "--target", "y", "--json")
    assert len(json.loads(out)["coefficients"]) == 46


def test_complaints_of_very_many_kinds_are_counted(told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f'{{"x": 1, "y": "{n}"}}' for n in range(150)]
    (tmp_path / "many.jsonl").write_text("\n".join([*lines, ""]))
    code, _, err = told("stream", "many.jsonl", "--target", "y", "-o", "said.txt")
    assert code == 0
    assert "48 more bad lines of other kinds." in err


def test_a_proof_is_checked_on_its_own_columns_whatever_is_asked_for(told, flowers):
    told("separable", flowers, "--proof", "proof.json")
    code, out, err = told("verify", "proof.json", flowers, "--ignore", "a")
    assert code == 0
    assert "the columns are taken as the proof says, whatever the options say." in err
    assert "verified" in out


def test_of_very_many_rows_the_page_carries_some(told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(6000, 2)).round(3)
    rows = [f"{a},{b},{'yes' if a > b else 'no'}" for a, b in X]
    (tmp_path / "long.csv").write_text("\n".join(["a,b,kind", *rows, ""]))
    _, _, err = told("watch", "long.csv", "--no-browser", "--save", "page.html")
    assert "the page carries 5,000 of 6,000 rows, drawn at random." in err
    (tmp_path / "large.csv").write_text("a,b,kind\n1e150,1,yes\n1,2,no\n")
    code, _, err = told("watch", "large.csv", "--target", "kind")
    assert (code, "numbers past 1e100, which cannot be drawn" in err) == (65, True)
