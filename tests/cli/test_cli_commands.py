import csv
import json
import sys
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import rosenblatt as rb


@pytest.fixture
def model(run_json, credit_files):
    run_json("learn", credit_files / "credit.csv", "--test-size", 0)
    return "model.json"


def test_predictions_and_scores_equal_pythons_to_the_last_bit(
    run_command, model, credit_files, tmp_path
):
    table = pa.csv.read_csv(credit_files / "credit.csv")
    loaded = rb.load(tmp_path / model)
    expected = loaded.decision_function(table)
    X = np.column_stack([table[name].to_numpy() for name in table.column_names[:4]])
    assert np.array_equal(loaded.decision_function(X), expected)
    readers = {
        "csv": lambda path: pa.csv.read_csv(path),
        "parquet": pa.parquet.read_table,
        "jsonl": lambda path: pa.Table.from_pylist(
            [json.loads(line) for line in path.read_text().splitlines()]
        ),
    }
    for source in ("credit.csv", "credit.parquet", "credit.jsonl", "credit.feather"):
        for suffix, reader in readers.items():
            code, _, err = run_command(
                "predict", model, credit_files / source, "-o", f"out.{suffix}"
            )
            assert code == 0, err
            got = reader(tmp_path / f"out.{suffix}")
            assert got.column_names == [*table.column_names, "prediction", "score"]
            assert np.array_equal(got["score"].to_numpy(), expected)
            assert got["prediction"].to_pylist() == loaded.predict(table).tolist()


def test_batches_do_not_change_predictions(
    run_command, model, tmp_path, credit_files, monkeypatch, request
):
    run_command("predict", model, credit_files / "credit.csv", "-o", "whole.csv")
    monkeypatch.setattr("rosenblatt.show.predictions.BATCH_ROWS", 7)
    request.getfixturevalue("small_blocks")
    run_command("predict", model, credit_files / "credit.csv", "-o", "parts.csv")
    assert (tmp_path / "whole.csv").read_text() == (tmp_path / "parts.csv").read_text()


def test_lines_whose_types_become_known_later_are_predicted(run_command, tmp_path, small_blocks):
    (tmp_path / "d.csv").write_text("x,y\n" + "".join(f"{i},{i > 4}\n" for i in range(10)))
    run_command("learn", "d.csv", "-o", "m.json")
    rows = [{"x": i, "k": i} for i in range(40)] + [{"x": 1.5, "k": 2.5, "new": "n"}]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for output in ("out.jsonl", "out.csv", "out.parquet"):
        code, _, err = run_command("predict", "m.json", "d.jsonl", "-o", output)
        assert code == 0, err
    answers = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["prediction"] for row in answers] == [i > 4 for i in range(40)] + [False]
    assert (answers[-1]["k"], answers[-1]["new"], answers[0]["new"]) == (2.5, "n", None)


def test_explanations_name_the_largest_contributions(run_command, model, credit_files):
    code, out, _ = run_command("predict", model, credit_files / "credit.csv", "--explain")
    assert code == 0
    header, first = out.splitlines()[:2]
    assert header.endswith("prediction,score,reasons")
    reasons = first.split(",")[-1].split("; ")
    assert len(reasons) == 3
    sizes = [abs(float(reason.split("(")[1].rstrip(')"'))) for reason in reasons]
    assert sizes == sorted(sizes, reverse=True)


def test_predict_prints_one_json_object(run_json, model, credit_files):
    got = run_json("predict", model, credit_files / "credit.csv")
    assert got["rows_read"] == len(got["rows"]) == 300
    assert sum(got["predictions"].values()) == 300
    assert set(got["rows"][0]) >= {"prediction", "score"}


def test_a_column_called_prediction_is_kept(run_command, run_json, tmp_path):
    (tmp_path / "d.csv").write_text("x,prediction\n" + "".join(f"{i},{i > 4}\n" for i in range(10)))
    run_json("learn", "d.csv")
    _, out, _ = run_command("predict", "model.json", "d.csv")
    assert out.splitlines()[0] == "x,prediction,prediction_,score"


def test_missing_numbers_are_refused_or_imputed_when_predicting(run_command, run_json, tmp_path):
    rows = "".join(f"{i},{i % 3},{'yes' if i > 9 else 'no'}\n" for i in range(20))
    (tmp_path / "d.csv").write_text("a,b,y\n" + rows)
    (tmp_path / "new.csv").write_text("a,b\n15,1\n,2\n1,n/a\n")
    run_json("learn", "d.csv", "--target", "y")
    code, _, err = run_command("predict", "model.json", "new.csv")
    assert code == 65
    assert err == (
        'rosenblatt: new.csv, row 2, column "a": the value is missing. '
        "Give --missing empty, or --missing mean.\n"
    )
    code, out, err = run_command("predict", "model.json", "new.csv", "--missing", "empty")
    assert code == 0
    assert [line.split(",")[2] for line in out.splitlines()[1:]] == ["yes", "", ""]
    assert "2 rows without a prediction" in err
    code, out, _ = run_command("predict", "model.json", "new.csv", "--missing", "mean")
    assert "" not in out.splitlines()[2].split(",")[2:]


def test_a_file_without_header_may_lack_the_labels(run_command, run_json, tmp_path):
    rows = [("yes" if i > 9 else "no", i, i % 3) for i in range(20)]
    (tmp_path / "d.csv").write_text("".join(f"{y},{a},{b}\n" for y, a, b in rows))
    (tmp_path / "new.csv").write_text("".join(f"{a},{b}\n" for _, a, b in rows))
    run_json("learn", "d.csv", "--target", 1)
    _, out, _ = run_command("predict", "model.json", "new.csv")
    assert [line.split(",")[2] for line in out.splitlines()[1:]] == [y for y, _, _ in rows]


def test_the_exit_code_of_separable_is_the_verdict(run_json, credit_files, tmp_path):
    got = run_json("separable", credit_files / "credit.parquet", "--proof", "proof.json")
    assert got["verdict"] == "separable"
    assert got["margin"] > 0
    assert got["bound"] == pytest.approx((got["radius"] / got["margin"]) ** 2)
    held = run_json("verify", "proof.json", credit_files / "credit.csv")
    assert held == {**held, "holds": True, "claim": "separable"}


def test_a_margin_is_marked_as_the_maximum_or_not(run_json, run_command, credit_files):
    path = credit_files / "credit.csv"
    separable, learnt = (
        run_json("separable", path),
        run_json("learn", path, "--test-size", 0)["verdict"],
    )
    assert (separable["widest"], learnt["widest"]) == (True, False)
    assert 0 < learnt["margin"] < separable["margin"]
    assert separable["bound"] < learnt["bound"]
    assert "the widest margin is rho" in " ".join(run_command("separable", path)[1].split())
    result = rb.learn(path, test_size=0)
    assert result.separability.margin == pytest.approx(learnt["margin"])
    assert not result.separability.widest
    assert "The widest margin is at least rho" in result.separability.explain()


def test_the_four_rows_of_xor_are_a_conflict(run_json, run_command, tmp_path):
    (tmp_path / "xor.csv").write_text("a,b,y\n0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n")
    got = run_json("separable", "xor.csv", "--target", "y", "--proof", "p.json", code=1)
    assert got["verdict"] == "inseparable"
    assert sorted(one["row"] for one in got["conflict"]) == [1, 2, 3, 4]
    assert sorted(one["line"] for one in got["conflict"]) == [2, 3, 4, 5]
    assert [one["share"] for one in got["conflict"]] == [0.25] * 4
    assert got["conflict"][0]["values"].keys() == {"a", "b", "y"}
    code, out, _ = run_command("separable", "xor.csv", "--target", "y")
    assert code == 1
    assert "rows 1, 2, 3 and 4 all correctly" in out
    run_json("verify", "p.json", "xor.csv")
    changed = (tmp_path / "xor.csv").read_text().replace("1,1,no", "1,2,no")
    (tmp_path / "other.csv").write_text(changed)
    refuted = run_json("verify", "p.json", "other.csv", code=1)
    assert refuted["holds"] is False
    assert refuted["reason"]


def test_a_proof_from_python_can_be_verified_too(run_json, tmp_path):
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    (tmp_path / "p.json").write_text(rb.separability(X, y).proof.to_json())
    (tmp_path / "d.csv").write_text("x,y\n0,0\n1,1\n2,0\n")
    assert run_json("verify", "p.json", "d.csv", "--target", "y")["holds"] is True


def test_a_changed_proof_is_refused(run_command, run_json, tmp_path):
    (tmp_path / "xor.csv").write_text("a,b,y\n0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n")
    run_json("separable", "xor.csv", "--target", "y", "--proof", "p.json", code=1)
    value = json.loads((tmp_path / "p.json").read_text())
    value["proof"]["claim"] = "separable"
    (tmp_path / "p.json").write_text(json.dumps(value))
    code, _, err = run_command("verify", "p.json", "xor.csv")
    assert code == 65
    assert err.startswith("rosenblatt: p.json was changed after it was written")


@pytest.mark.slow_without_jit
def test_noise_accepts_every_value_of_the_library(run_json):
    assert run_json("experiment", "-n", 5, "--runs", 1, "--noise", 0.9)["noise"] == 0.9


def test_experiment_repeats_exercise_1_4(run_json, run_command):
    got = run_json("experiment", "-n", 20, "--runs", 100, "--seed", 1)
    assert got["halted"] == 100
    assert len(got["updates"]) == 100
    assert 5 < got["summary"]["median"] < 25
    assert got == run_json("experiment", "-n", 20, "--runs", 100, "--seed", 1)
    code, out, _ = run_command("experiment", "-n", 20, "--runs", 100, "--seed", 1)
    assert code == 0
    assert "█" in out


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("name", ["h.png", "h.svg"])
def test_the_experiment_is_drawn(run_command, tmp_path, name):
    pytest.importorskip("matplotlib")
    code, _, err = run_command("experiment", "-n", 10, "--runs", 20, "--plot", name)
    assert code == 0, err
    assert (tmp_path / name).stat().st_size > 1000


def test_a_format_that_cannot_be_drawn_is_refused_before_the_work(run_command, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("rosenblatt.cli.experiment.run_experiment", None)
    code, out, err = run_command("experiment", "--plot", "h.xyz")
    assert (code, out) == (64, "")
    assert all(fact in err for fact in (".xyz", ".png", ".svg", ".pdf"))


def test_without_matplotlib_the_extra_is_named(run_command, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, err = run_command("experiment", "--plot", "h.png")
    assert code == 64
    assert "rosenblatt[plot]" in err


UNREADABLE = {
    "bytes that are no text": pa.array([b"\xff"] * 10),
    "lengths of time": pa.array([(1, 2, 3)] * 10, pa.month_day_nano_interval()),
}


@pytest.mark.parametrize("cells", UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_labels_are_not_tested(run_command, run_json, tmp_path, cells):
    (tmp_path / "d.csv").write_text("a,y\n" + "".join(f"{i},{i > 4}\n" for i in range(10)))
    run_json("learn", "d.csv")
    table = pa.table({"a": range(10), "y": cells})
    with pa.ipc.new_file(tmp_path / "new.arrow", table.schema) as file:
        file.write_table(table)
    code, _, err = run_command("predict", "model.json", "new.arrow", "-o", "out.jsonl")
    assert (code, "with an answer in the file" in err) == (0, False)
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    answers = [json.loads(line)["prediction"] for line in lines]
    assert answers == [i > 4 for i in range(10)]


CELLS = {
    "date": (date(2020, 2, 29), "2020-02-29", "2020-02-29"),
    "decimal": (Decimal("1.50"), "1.50", "1.50"),
    "no number": (float("nan"), None, "nan"),
    "infinity": (float("inf"), None, "inf"),
    "list": ([1, 2], [1, 2], "[1, 2]"),
    "bytes": (b"\xe9t\xe9 ok", "\ufffdt\ufffd ok", "\ufffdt\ufffd ok"),
}


@pytest.mark.parametrize(("cell", "as_json", "as_csv"), CELLS.values(), ids=CELLS)
def test_an_ignored_column_may_contain_anything(run_json, tmp_path, cell, as_json, as_csv):
    answers = ["no", "yes", "no", "yes"]
    table = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "b": [cell] * 4, "y": answers})
    pa.parquet.write_table(table, tmp_path / "d.parquet")
    arguments = ("d.parquet", "--target", "y", "--ignore", "b")
    for blocking in run_json("separable", *arguments, code=1)["conflict"]:
        assert blocking["values"]["b"] == as_json
    run_json("learn", *arguments)
    rows = run_json("predict", "model.json", "d.parquet")["rows"]
    assert [row["b"] for row in rows] == [as_json] * 4
    run_json("predict", "model.json", "d.parquet", "-o", "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line, parse_constant=pytest.fail) for line in lines] == rows
    run_json("predict", "model.json", "d.parquet", "-o", "out.csv")
    with open(tmp_path / "out.csv", newline="") as file:
        assert [row["b"] for row in csv.DictReader(file)] == [as_csv] * 4


def test_norms_that_overflow_are_null_in_json(run_json, tmp_path):
    (tmp_path / "d.csv").write_text("a,b,y\n1.7e308,1.7e308,no\n1.7e308,-1.7e308,yes\n1,1,yes\n")
    assert run_json("separable", "d.csv", "--target", "y")["radius"] is None
    assert run_json("learn", "d.csv", "--target", "y")["verdict"]["radius"] is None
