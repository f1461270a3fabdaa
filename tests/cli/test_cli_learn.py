import json
import math
import re
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest

import rosenblatt as rb
from rosenblatt.experiments import credit

GOLDEN = Path(__file__).parents[1] / "golden"
FORMATS = [
    "credit.csv",
    "credit.tsv",
    "credit.parquet",
    "credit.feather",
    "credit.arrow",
    "credit.jsonl",
    "credit.csv.gz",
    "credit.csv.zst",
    "credit.jsonl.gz",
    "credit.jsonl.zst",
    "credit.parquet.gz",
    "credit.parquet.zst",
]


def same(value, golden, where="$"):
    """Equal, floats to nine digits: processors differ in how they sum."""
    if isinstance(golden, float) and not isinstance(value, bool):
        assert math.isclose(value, golden, rel_tol=1e-9), where
    elif isinstance(golden, dict):
        assert value.keys() == golden.keys(), where
        for key in golden:
            same(value[key], golden[key], f"{where}.{key}")
    elif isinstance(golden, list):
        assert len(value) == len(golden), where
        for i, one in enumerate(golden):
            same(value[i], one, f"{where}[{i}]")
    else:
        assert value == golden, where


def test_the_built_in_examples_match_the_golden_files(run_json, tmp_path):
    got = run_json("learn")
    same(got, json.loads((GOLDEN / "learn.json").read_text()))
    same(
        json.loads((tmp_path / "model.json").read_text()),
        json.loads((GOLDEN / "model.json").read_text()),
    )


@pytest.mark.slow_without_jit
def test_every_format_gives_the_same_model_file(run_json, credit_files, tmp_path):
    models = set()
    for name in FORMATS:
        got = run_json("learn", credit_files / name, "-o", f"{name}.json", "--test-size", 0)
        assert got["verdict"]["verdict"] == "separable"
        models.add((tmp_path / f"{name}.json").read_text())
    assert len(models) == 1


def test_updates_stay_below_the_bound_and_every_row_is_classified_correctly(run_json, tmp_path):
    got = run_json("learn", "--test-size", 0)
    assert got["mistakes"] == 0
    assert 0 < got["updates"] <= got["bound"]
    table = credit()
    model = rb.load(tmp_path / "model.json")
    assert model.predict(table.drop_columns("approved")).tolist() == table[4].to_pylist()


def test_without_scaling_pla_makes_the_lectures_number_of_updates(run_json, data):
    got = run_json("learn", data / "hw1_15_train.dat", "--no-scale", "--test-size", 0)
    assert got["updates"] == 45
    weights = {one["feature"]: one["weight"] for one in got["weights"]}
    expected = {"column 1": 3.0841436, "column 2": -1.583081, "column 3": 2.391305}
    for name, weight in expected.items():
        assert weights[name] == pytest.approx(weight, abs=1e-6)
    assert got["threshold"] == 3.0


@pytest.mark.slow_without_jit
def test_noise_makes_the_built_in_examples_inseparable(run_json):
    got = run_json("learn", "--noise", 0.1, "--time-limit", 0.5)
    assert got["verdict"]["verdict"] == "inseparable"
    assert 0 < got["lower_bound"] <= got["mistakes"] < 150
    assert 0.7 < got["accuracy"]["accuracy"] < 1


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("algorithm", ["pla", "pocket", "fewest"])
def test_the_algorithm_can_be_chosen(run_json, algorithm):
    got = run_json(
        "learn", "--algorithm", algorithm, "--noise", 0.05, "--time-limit", 0.3, "--test-size", 0
    )
    assert got["mistakes"] > 0


@pytest.mark.slow_without_jit
def test_folds_and_a_test_file(run_json, credit_files):
    folds = run_json("learn", credit_files / "credit.csv", "--cv", 4)["accuracy"]
    assert folds["measured on"] == "folds"
    assert len(folds["folds"]) == 4
    assert folds["rows"] == 300
    other = run_json("learn", credit_files / "credit.csv", "--test", credit_files / "credit.jsonl")
    assert other["accuracy"] == {
        **other["accuracy"],
        "measured on": "file",
        "right": 300,
        "rows": 300,
    }


def test_held_out_rows_do_not_influence_the_tested_model(run_json, run_command, tmp_path):
    # A word that only held-out rows have cannot have a weight: it would be a leak.
    from rosenblatt.cli.shared import Reading
    from rosenblatt.read import Layout, Source
    from rosenblatt.read.data import read_data, split
    from rosenblatt.read.plan import ColumnOptions

    lines = [f"{'spam' if i % 2 else 'ham'}\tword{i} common {i % 2}" for i in range(40)]
    (tmp_path / "t").write_text("\n".join(lines) + "\n")
    reading = Reading(Layout(), ColumnOptions(texts=("2",)))
    data = read_data(Source.find(str(tmp_path / "t")), reading.layout, reading.columns)
    train, test = split(data, reading.columns, np.arange(30), np.arange(30, 40))
    assert "word35" in data.examples.names
    assert "word35" not in train.names
    assert train.names == test.names


def test_the_weights_apply_to_the_values_in_the_file(run_json, tmp_path, credit_files):
    run_json("learn", credit_files / "credit.csv", "--test-size", 0)
    value = json.loads((tmp_path / "model.json").read_text())
    table = pyarrow.csv.read_csv(credit_files / "credit.csv")
    columns = {c["name"]: c["weight"] for c in value["columns"]}
    score = sum(w * table[name].to_numpy() for name, w in columns.items()) - value["threshold"]
    assert np.array_equal(score > 0, np.array(table["approved"].to_pylist()) == "yes")


def test_learn_prints_its_results_as_text(run_command, credit_files):
    code, out, err = run_command("learn", credit_files / "credit.csv", "--report", "--top", 2)
    assert code == 0
    assert err == ""
    steps = [line.split()[0] for line in out.splitlines() if line and line[0] != " "]
    assert steps[:7] == ["read", "verdict", "trained", "found", "tested", "wrote", "wrote"]
    assert "the only column with two values" in out
    assert "current debt" in out
    assert "█" in out
    assert "Predicts yes if the sum of weight × value is above" in out
    page = Path("report.html").read_text(encoding="utf-8")
    for heading in ("Training", "Decision", "Bounds on", "Margins", "Weights", "Mistakes"):
        assert f"<h2>{heading}" in page
    assert "Columns are shown scaled" in page
    # The name of a namespace is no address: nothing is fetched from it.
    assert set(re.findall(r"https?:[^\s\"'`<]*", page)) <= {"http://www.w3.org/2000/svg"}


def test_two_features_are_drawn_and_played_as_they_are(run_command, tmp_path):
    rows = [f"{x},{y},{'yes' if x + y > 5 else 'no'}" for x in range(6) for y in range(5)]
    (tmp_path / "plane.csv").write_text("x,y,answer\n" + "\n".join(rows) + "\n")
    code, _, err = run_command("learn", "plane.csv", "--no-scale", "--report", "-o", "here.json")
    assert code == 0, err
    page = Path("report.html").read_text(encoding="utf-8")
    story = json.loads(re.search(r'id="player-story">(.*?)</script>', page).group(1))
    assert story["points"] == [[x, y] for x in range(6) for y in range(5)]
    assert story["names"] == ["x", "y"]
    assert story["verdict"]["name"] == "separable"
    assert "projection" not in page.split("<script")[0]


@pytest.mark.slow_without_jit
def test_a_report_on_noise_shows_a_conflict(run_command, tmp_path):
    rows = ["0,0,no", "0,1,yes", "", "1,0,yes", "1,1,no", "3,3,no", "4,4,no", "5,5,no"]
    (tmp_path / "xor.csv").write_text("x,y,answer\n" + "\n".join(rows) + "\n")
    code, _, err = run_command(
        "learn", "xor.csv", "--time-limit", 0.3, "--report", "--test-size", 0
    )
    assert code == 0, err
    page = Path("report.html").read_text(encoding="utf-8")
    story = json.loads(re.search(r'id="player-story">(.*?)</script>', page).group(1))
    assert (story["algorithm"], story["verdict"]["name"]) == ("pocket", "inseparable")
    assert story["verdict"]["conflicts"]
    assert "farthest" not in page
    assert '<th scope="col">predicted' in page


def test_positive_swaps_the_labels(run_json, credit_files):
    plain = run_json("learn", credit_files / "credit.csv", "--test-size", 0)
    turned = run_json("learn", credit_files / "credit.csv", "--positive", "no", "--test-size", 0)
    assert (plain["positive"], turned["positive"]) == ("yes", "no")
    first = {one["feature"]: one["weight"] for one in plain["weights"]}
    for one in turned["weights"]:
        assert np.sign(one["weight"]) == -np.sign(first[one["feature"]])


def test_the_data_are_never_overwritten(run_command, tmp_path):
    text = "x,y\n" + "".join(f"{i},{int(i > 4)}\n" for i in range(10))
    (tmp_path / "d.csv").write_text(text)
    code, _, err = run_command("learn", "d.csv", "-o", "./d.csv")
    assert code == 64
    assert "is the data" in err
    assert (tmp_path / "d.csv").read_text() == text


@pytest.mark.parametrize("size", ["1e307", "1e-307", "1e160", "1e-160"])
def test_values_at_the_limits_of_floats_are_trained_on_or_refused(run_command, tmp_path, size):
    rows = "".join(f"{i}{size[1:]},{i % 3},{int(i > 4)}\n" for i in range(1, 10))
    (tmp_path / "d.csv").write_text("x,z,y\n" + rows)
    code, out, err = run_command("learn", "d.csv", "--target", "y", "--json")
    assert code in (0, 65), err
    if code == 0:
        assert json.loads(out)["mistakes"] == 0
    else:
        assert "d.csv" in err


@pytest.mark.parametrize("way", [[], ["--stream", "--no-convert"]])
def test_the_first_entry_of_a_file_may_have_the_largest_index(run_command, tmp_path, way):
    (tmp_path / "q.svm").write_text("1 5:1\n-1 1:2\n")
    code, _, err = run_command("learn", "q.svm", *way, "-o", "q.json")
    assert code == 0, err
    (column,) = json.loads((tmp_path / "q.json").read_text())["columns"]
    assert column["weights"].keys() == set("12345")
    code, _, err = run_command("separable", "q.svm", "--proof", "p.json")
    assert code == 0, err
