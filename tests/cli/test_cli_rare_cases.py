"""Rare cases of the command line: too many, too few, or not what was meant."""

import json
import shlex

import numpy as np
import pytest
from facts import refuses

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


def test_labels_without_an_order_are_refused_in_one_sentence():
    with refuses(ValueError, "1.5", "'x'"):
        rb.OnlinePerceptron(labels=[1.5, 2, "x"])


def test_a_positive_label_that_does_not_occur_is_refused():
    X, y = [[0.0], [1.0], [2.0], [3.0]], list("abca")
    with refuses(ValueError, "positive", "z"):
        rb.learn(X, y, positive="z")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["learn", "--decimal", ";"], "--decimal"),
        (["stream", "--labels", "1,a"], "make them both text or both numbers."),
        (["stream", "--labels", "1.5,2,a"], "make them both text or both numbers."),
        (["watch", "--ignore", "b", "--ignore", "c"], "3 labels, but 1 feature"),
    ],
)
def test_incompatible_options_are_refused(run_command, flowers, given, sentence):
    command, *options = given
    code, _, err = run_command(command, flowers, "--target", "kind", *options)
    assert code in (64, 65)
    assert sentence in err


def test_rows_and_a_json_object_cannot_both_go_to_stdout(run_command, flowers):
    run_command("learn", flowers)
    code, _, err = run_command("predict", "model.json", flowers, "--json", "--to", "csv")
    assert (code, "-o FILE" in err) == (64, True)
    code, _, err = run_command("predict", "model.json", flowers, "-o", "answers.txt")
    assert (code, "--to csv" in err) == (64, True)


def test_top_limits_the_features_and_labels_shown(run_command, flowers):
    _, out, _ = run_command("learn", flowers, "--top", 3)
    assert "… and 2 features more" in out
    _, out, _ = run_command("learn", flowers, "--top", 2)
    assert "… and 1 label more in the model." in out


def test_only_the_first_of_many_coefficients_are_shown(run_command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [[*x, int(n % 2)] for n, x in enumerate(rng.normal(size=(120, 45)).round(2))]
    head = ",".join([*(f"x{i}" for i in range(45)), "y"])
    (tmp_path / "wide.csv").write_text("\n".join([head, *(",".join(map(str, r)) for r in rows)]))
    _, out, _ = run_command("separation", "wide.csv", "--target", "y")
    assert "… and 6 coefficients more, all in --json." in out
    _, out, _ = run_command("separation", "wide.csv", "--target", "y", "--json")
    assert len(json.loads(out)["coefficients"]) == 46


def test_very_many_kinds_of_bad_lines_are_only_counted(run_command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f'{{"x": 1, "y": "{n}"}}' for n in range(150)]
    (tmp_path / "many.jsonl").write_text("\n".join([*lines, ""]))
    code, _, err = run_command("stream", "many.jsonl", "--target", "y", "-o", "predictions.txt")
    assert code == 0
    assert "48 more bad lines" in err


def test_verify_uses_the_columns_of_the_proof_whatever_the_options(run_command, flowers):
    run_command("separable", flowers, "--proof", "proof.json")
    code, out, err = run_command("verify", "proof.json", flowers, "--ignore", "a")
    assert code == 0
    assert "options for columns are ignored" in err
    assert "verified" in out


def test_the_page_contains_a_sample_of_very_many_rows(run_command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(6000, 2)).round(3)
    rows = [f"{a},{b},{'yes' if a > b else 'no'}" for a, b in X]
    (tmp_path / "long.csv").write_text("\n".join(["a,b,kind", *rows, ""]))
    _, _, err = run_command("watch", "long.csv", "--no-browser", "--save", "page.html")
    assert "the page contains 5,000 of 6,000 rows, chosen at random." in err
    (tmp_path / "large.csv").write_text("a,b,kind\n1e150,1,yes\n1,2,no\n")
    code, _, err = run_command("watch", "large.csv", "--target", "kind")
    assert (code, "1e100" in err) == (65, True)


TWO_TEXTS = "title,text,y\n" + "".join(
    f"{'great' if i % 2 else 'poor'} thing{i} now,{'poor' if i % 3 else 'great'} day{i},{i % 2}\n"
    for i in range(12)
)


def test_words_of_two_columns_have_distinct_names_everywhere(run_command, run_json, tmp_path):
    (tmp_path / "d.csv").write_text(TWO_TEXTS)
    texts = ("--text", "title", "--text", "text", "--target", "y", "--test-size", "0")
    names = [one["feature"] for one in run_json("learn", "d.csv", *texts, "--report")["weights"]]
    assert {"title: great", "text: great", "title: poor", "text: poor"} <= set(names)
    assert len(set(names)) == len(names)
    page = (tmp_path / "report.html").read_text()
    assert "title: great" in page
    model = rb.load("model.json")
    assert set(model.feature_names_) == set(names)
    file = json.loads((tmp_path / "model.json").read_text())  # a word is a key of its column there
    assert all("great" in column["weights"] for column in file["columns"])
    out = run_command("predict", "model.json", "d.csv", "--explain")[1]
    assert "title: great (" in out


LONG = "x" * 1400
LABELS = ["learn", "--target", "y"]


@pytest.mark.parametrize(
    ("name", "content", "given"),
    [
        ("latin.csv", f"a,y\n{LONG}\xe9,no\n2,yes\n".encode("latin-1"), ["learn"]),
        ("number.csv", f"a,y\n1,no\n{LONG},yes\n3,no\n".encode(), ["learn", "--number", "a"]),
        ("label.csv", f"a,y\n1,{LONG}\n2,{LONG}\n".encode(), LABELS),
        ("name.csv", f"{LONG},y\n1,no\n,yes\n3,no\n".encode(), LABELS),
        (
            "labels.csv",
            b"a,y\n" + b"".join(b"%d,%d%b\n" % (i, i, LONG.encode()) for i in range(9)),
            LABELS,
        ),
        ("row.csv", f"a,y\n1,no\n2,yes,{LONG}\n".encode(), ["learn"]),
        ("row.jsonl", b'{"a": 1, "y": 0}\n{"a": ' + LONG.encode() + b"}\n", ["learn"]),
        ("entry.svm", f"1 1:2\n0 1:{LONG}\n".encode(), ["learn"]),
        ("stream.csv", f"a,y\n1,no\n{LONG},yes\n3,no\n".encode(), ["stream"]),
        ("stream.jsonl", f'{{"a": 1, "y": 0}}\n{{"a": "{LONG}", "y": 1}}\n'.encode(), ["stream"]),
        ("stream.svm", f"1 1:2\n0 1:{LONG}\n".encode(), ["stream"]),
        ("count.csv", f"a,y\n1,2\n2,{LONG}\n3,4\n".encode(), ["separation", "--target", "y"]),
    ],
)
def test_a_message_quotes_the_beginning_of_a_long_cell(run_command, tmp_path, name, content, given):
    (tmp_path / name).write_bytes(content)
    command, *options = given
    _, _, err = run_command(command, name, *options)
    assert err
    assert "x" * 61 not in err
    assert max(map(len, err.splitlines())) < 600


@pytest.mark.parametrize(
    ("name", "cells", "written"),
    [
        ("plain.csv", "a,y\n1,no\n1e400,yes\n3,no\n", "1e400"),
        ("comma.csv", "a;y\n1,5;no\n-1,5e400;yes\n3,5;no\n", "-1,5e400"),
        ("groups.csv", "a;y\n1,5;no\n9.007.199.254.740.993;yes\n3,5;no\n", "9.007.199.254.740.993"),
    ],
)
@pytest.mark.parametrize("command", ["learn", "separable", "separation"])
def test_an_unrepresentable_number_is_quoted_as_written(
    run_command, tmp_path, command, name, cells, written
):
    (tmp_path / name).write_text(cells)
    code, _, err = run_command(command, name, "--target", "y")
    assert code == 65
    assert f'{name}, row 2, column "a": "{written}" is not' in err


def test_a_suggested_command_works_as_printed(run_command, flowers, tmp_path):
    (tmp_path / "a b's.csv").write_text((tmp_path / flowers).read_text())
    _, out, _ = run_command("separable", "a b's.csv", "--target", "kind", "--proof", "p $1.json")
    program, *command = shlex.split(out.split("check it with ")[1].splitlines()[0])
    assert (program, run_command(*command)[0]) == ("rosenblatt", 0)
    out = run_command("learn", "a b's.csv", "-o", "the model.json", "--test-size", "0")[1]
    _, command, model, _ = shlex.split(out.split("new rows with ")[1].splitlines()[0])
    assert run_command(command, model, "a b's.csv")[0] == 0


@pytest.mark.parametrize("name", ["years in job", "it's", "Dr.", "a,b", "$HOME", "column of marks"])
def test_columns_are_named_as_the_options_accept_them(run_command, tmp_path, name):
    rows = "".join(f'"{i if i != 2 else "?"}","{i % 2}"\n' for i in range(12))
    (tmp_path / "d.csv").write_text(f'"{name}","y"\n{rows}')
    code, _, err = run_command("learn", "d.csv", "--target", "y")
    assert (code, f'column "{name}"' in err) == (65, True)
    advice = err[err.index("--category ") :].strip().removesuffix(".")
    assert run_command("learn", "d.csv", "--target", "y", *shlex.split(advice))[0] == 0
    with refuses(ValueError, advice=[f'category="{name}"']):
        rb.learn("d.csv", target="y")


def test_a_weak_lower_bound_is_only_in_json(run_command, tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        f"{a:.3f},{b:.3f},{y}"
        for a, b, y in zip(*rng.normal(size=(2, 400)), rng.integers(2, size=400), strict=True)
    ]
    (tmp_path / "noise.csv").write_text("\n".join(["a,b,y", *rows, ""]))
    given = ("learn", "noise.csv", "--target", "y", "--algorithm", "pocket", "--test-size", "0")
    out = run_command(*given)[1]
    found = json.loads(run_command(*given, "--json")[1])
    assert 0 < found["lower_bound"] < found["mistakes"] / 2
    assert f"{found['mistakes']} mistakes on 400 rows\n" in out
