"""One time limit for all of `learn`: stages cut short are reported, cheap results always known."""

import json
from pathlib import Path

import numpy as np
import pytest

from rosenblatt import clock
from rosenblatt import solve as product
from rosenblatt.accuracy import Accuracy, Evaluation
from rosenblatt.clock import Deadline


def write(path, X, y):
    rows = "".join(f"{','.join(map(repr, x))},{a}\n" for x, a in zip(X.tolist(), y, strict=True))
    header = ",".join(f"x{j}" for j in range(X.shape[1]))
    path.write_text(f"{header},answer\n{rows}")
    return path


def noisy(n=1500, d=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, "yes", "no")


@pytest.fixture
def stages(monkeypatch):
    """A clock that each stage of learning moves on by two seconds; what was left when it began."""
    at, left = [0.0], {"verdict": [], "line": []}
    monkeypatch.setattr("time.monotonic", lambda: at[0])

    def timed(name, stage):
        def called(*arguments):
            share = arguments[-1] if isinstance(arguments[-1], float) else 1.0
            deadline = next(one for one in arguments if isinstance(one, Deadline)).share(share)
            left[name].append(round(deadline.left, 9))
            result = stage(*arguments)
            at[0] += 2.0
            return result

        return called

    monkeypatch.setattr(product, "_decide_quickly", timed("verdict", product._decide_quickly))
    monkeypatch.setattr(product, "train_model", timed("line", product.train_model))
    return left


def test_the_stages_share_one_limit(run_json, tmp_path, stages):
    file = write(tmp_path / "d.csv", *noisy(40, 2))
    run_json("learn", file, "--time-limit", 20)
    assert stages == {"verdict": [6.0], "line": [9.0, 16.0]}


def test_folds_share_the_remaining_time_and_a_test_file_needs_none(run_json, tmp_path, stages):
    file = write(tmp_path / "d.csv", *noisy(40, 2))
    run_json("learn", file, "--time-limit", 20, "--cv", 4)
    assert stages["line"] == [9.0, 16 / 4, round(14 / 3, 9), 12 / 2, 10.0]
    stages["line"].clear()
    run_json("learn", file, "--time-limit", 20, "--test", file)
    assert stages["line"] == [18.0]


@pytest.mark.slow_without_jit
def test_stages_cut_short_are_reported(run_command, tmp_path, hurried):
    file = write(tmp_path / "d.csv", *noisy())
    code, out, err = run_command("learn", file, "--time-limit", 1, "--cv", 3)
    assert code == 0, err
    assert "undecided: the time limit ended the search for a proof" in out
    assert "stopped by the time limit" in out
    assert "; the time limit ended training in each" in out


@pytest.mark.slow_without_jit
def test_json_names_the_stages_that_were_cut_short(run_json, tmp_path, hurried):
    file = write(tmp_path / "d.csv", *noisy())
    got = run_json("learn", file, "--time-limit", 1)
    assert got["cut_short"] == ["verdict", "learning", "test"]
    assert got["verdict"]["verdict"] == "undecided"
    assert run_json("learn", "--time-limit", 1e6, "--test-size", 0)["cut_short"] == []


@pytest.mark.slow_without_jit
def test_pla_cut_short_is_reported(run_command, tmp_path, hurried):
    file = write(tmp_path / "d.csv", *noisy())
    _, out, _ = run_command(
        "learn", file, "--time-limit", 1, "--algorithm", "pla", "--test-size", 0
    )
    assert "epochs, stopped by the time limit" in out


def test_without_time_contradictory_rows_decide_the_verdict(run_json, tmp_path, hurried):
    X, y = noisy()
    y = np.append(y, ["no" if a == "yes" else "yes" for a in y[:3]])
    file = write(tmp_path / "d.csv", np.vstack([X, X[:3]]), y)
    got = run_json("learn", file, "--time-limit", 1, "--test-size", 0, "--report")
    assert got["verdict"]["verdict"] == "not separable"
    page = Path("report.html").read_text(encoding="utf-8")
    assert "not separable: no line classifies " in page
    assert "not checked for quasi-separability" in page
    assert got["lower_bound"] >= 3
    assert got["cut_short"] == ["learning"]


@pytest.mark.parametrize("rows", ["0,0,n 0,1,y 1,0,y 1,1,n", "1,0,n 2,0,y 3,0,n 4,0,y 9,9,y"])
def test_a_small_file_is_decided_however_slow_the_machine(run_json, tmp_path, rows):
    (tmp_path / "d.csv").write_text("a,b,answer\n" + "\n".join(rows.split()) + "\n")
    calm = run_json("learn", "d.csv", "--target", "answer", "--test-size", 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.monotonic", iter(range(10**9)).__next__)
        hurried = run_json(
            "learn", "d.csv", "--target", "answer", "--test-size", 0, "--time-limit", 1e-9
        )
    assert hurried == calm
    assert (calm["mistakes"], calm["lower_bound"], calm["cut_short"]) == (1, 1, [])


def test_in_passes_the_limit_covers_the_verdict_too(run_json, run_command, tmp_path, hurried):
    X, _ = noisy()
    file = write(tmp_path / "d.csv", X, np.where(X[:, 0] > 0, "yes", "no"))
    got = run_json("learn", file, "--stream", "--no-convert", "--time-limit", 1)
    assert got["verdict"]["verdict"] == "undecided"
    assert "verdict" in got["cut_short"]
    _, out, _ = run_command("learn", file, "--stream", "--no-convert", "--time-limit", 1)
    assert "undecided: the time limit ended the search for a proof" in out


def test_compilation_is_reported_and_not_counted(run_command, tmp_path, monkeypatch):
    file = write(tmp_path / "d.csv", *noisy(40, 2))
    at, decide = [0.0], product._decide_quickly
    monkeypatch.setattr("time.monotonic", lambda: at[0])

    def compile_and_decide(*arguments):
        with clock.pause_clock():
            at[0] += 7.5
        return decide(*arguments)

    monkeypatch.setattr(product, "_decide_quickly", compile_and_decide)
    for limit, notes in ((1e-9, 1), (1e6, 0)):
        _, _, err = run_command(
            "learn", file, "--time-limit", limit, "--test-size", 0, with_notes=True
        )
        assert len(err.splitlines()) == notes
        assert err.count("took 7.5 s") == notes


def test_an_evaluation_reports_how_many_fits_were_cut_short():
    one = Accuracy.of_predictions(np.array([1, -1, 1]), np.array([1, -1, -1]), 2)
    folds = Evaluation("folds", (one, one, one), 6, cut_short=2)
    assert folds.sentence().endswith("; the time limit ended training in 2 of them")
    alone = Evaluation("held out", (one,), 6, cut_short=1)
    assert "trained on the other 6 until the time limit" in alone.sentence()
    assert json.dumps(alone.to_json())
