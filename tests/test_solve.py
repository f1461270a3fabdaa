"""The function rb.learn gives the results and files of `rosenblatt learn`, without a terminal."""

import json
import math
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from facts import refuses
from scipy import sparse

import rosenblatt as rb
from rosenblatt.cli import run
from rosenblatt.clock import Deadline, Reporter
from rosenblatt.errors import DataError, UsageError
from rosenblatt.examples import Examples
from rosenblatt.experiments import credit
from rosenblatt.strategy import TrainingOptions, train_model

XOR = [[0, 0], [0, 1], [1, 0], [1, 1]]
CALM = 1e6  # seconds: enough on any machine for the same result


@pytest.fixture
def program(capfd, tmp_path, monkeypatch):
    """Run a command and return its JSON output and its lines of text."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capfd.readouterr()
        given = ["learn", *map(str, arguments), "--time-limit", str(CALM)]
        assert run([*given, "--json"]) == 0
        output = json.loads(capfd.readouterr().out)
        assert run([*given, "--top", "0"]) == 0
        return output, capfd.readouterr().out.splitlines()

    return call


def agree(result, output, lines):
    """A result is what the command line printed, to the last digit."""
    assert result.verdict == output["verdict"]["verdict"]
    assert result.mistakes == output["mistakes"]
    assert result.lower_bound == output["lower_bound"]
    assert result.optimal == output["optimal"]
    weights = {one["feature"]: one["weight"] for one in output["weights"]}
    named = zip(result.model.feature_names_, result.model.weights_[1:], strict=True)
    assert dict(named) == weights
    if output["accuracy"] is None:
        assert result.accuracy is None
    else:
        assert result.accuracy.share == output["accuracy"]["accuracy"]
        assert list(result.accuracy.interval) == output["accuracy"]["interval"]
        assert result.accuracy.baseline == output["accuracy"]["baseline"]
        assert result.accuracy.balanced == output["accuracy"]["balanced"]
    ours = str(result).splitlines()[1:]  # what was read has another name
    theirs = [line for line in lines[1:] if not line.startswith("wrote")]
    assert ours == [NAMED.sub(counted_from_0, line) for line in theirs]


NAMED = re.compile(r"(?<=classifies rows ).*(?= (?:all|both) correctly)")


def counted_from_0(named):
    """Rows as Python counts them, from 0, where the command line counts from 1."""
    return re.sub(r"\d+(?! more)\b", lambda row: str(int(row[0]) - 1), named[0])


def test_the_built_in_examples_give_the_results_of_the_command_line(program):
    agree(rb.learn(credit(), "approved", time_limit=CALM), *program())


def test_a_file_gives_the_results_of_the_command_line(program, tmp_path):
    pa.csv.write_csv(credit(n=200), tmp_path / "credit.csv")
    output = program("credit.csv", "--target", "approved", "--cv", 4)
    for path in ("credit.csv", tmp_path / "credit.csv"):
        agree(rb.learn(path, target="approved", cv=4, time_limit=CALM), *output)


@pytest.mark.slow_without_jit
def test_xor_costs_one_mistake_in_every_input_form(program, tmp_path):
    y = ["no", "yes", "yes", "no"]
    rows = "".join(f"{a},{b},{c}\n" for (a, b), c in zip(XOR, y, strict=True))
    (tmp_path / "xor.csv").write_text("x1,x2,y\n" + rows)
    output, lines = program("xor.csv", "--target", "y")
    assert any("rows 1, 2, 3 and 4 all" in line for line in lines)
    frame = pd.DataFrame(XOR, columns=["x1", "x2"])
    for X in (XOR, np.array(XOR, float), frame):
        agree(rb.learn(X, y, time_limit=CALM), output, lines)
    # Sparse columns are not centred, so that another line comes out.
    result = rb.learn(sparse.csr_matrix(np.array(XOR, float)), y, time_limit=CALM)
    assert (result.verdict, result.mistakes, result.lower_bound) == ("inseparable", 1, 1)
    assert result.found().endswith("no line makes fewer (proof: 1 conflict)")
    assert (result.proof.claim, result.proof.check(XOR, y)) == ("at least 1 mistake", True)
    result.report(tmp_path / "report.html")
    assert "no line makes fewer (proof: 1 conflict)" in (tmp_path / "report.html").read_text()


@pytest.mark.slow_without_jit
def test_without_a_search_the_verdicts_proof_gives_a_lower_bound():
    for X, y in ((XOR, [0, 1, 1, 0]), ([[0.0], [1.0], [1.0], [2.0]], [0, 1, 0, 1])):
        result = rb.learn(X, y, algorithm="pla", time_limit=0.1, test_size=0)
        assert result.proof == result.separability.proof
        assert result.optimal == (result.mistakes == 1)
        assert result.lower_bound == 1
        near = result.mistakes <= 2  # a bound further off is not worth a sentence
        assert ("(proof: 1 conflict)" in result.found()) == near
    result = rb.learn([[0.0], [1.0]], [0, 1])
    assert (result.optimal, result.proof.claim, result.lower_bound) == (True, "separable", 0)
    assert "no line" not in result.found()


@pytest.mark.slow_without_jit
def test_pima_gives_the_results_of_the_command_line(program, data):
    path = data / "pima-indians-diabetes.csv"
    if not path.exists():
        pytest.skip("the Pima data are not there")
    ask = ("--algorithm", "pocket", "--target", "-1")
    agree(rb.learn(path, target="-1", algorithm="pocket", time_limit=CALM), *program(path, *ask))


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_frame_may_hold_text_and_name_its_target(kind):
    table = pa.table(
        {
            "colour": ["red", "blue", "red", "green"] * 6,
            "size": [1.0, 2.0, 3.0, 4.0] * 6,
            "good": ["yes", "no", "yes", "no"] * 6,
        }
    )
    frame = {"pandas": table.to_pandas(), "polars": pl.from_arrow(table), "arrow": table}[kind]
    result = rb.learn(frame, "good")
    assert result.model.feature_names_ == rb.learn(table, target="good").model.feature_names_
    assert result.model.predict(frame).tolist() == table["good"].to_pylist()
    assert rb.learn(frame, "good", ignore=["colour"], test_size=0).model.feature_names_ == ("size",)


def test_separate_labels_are_not_a_feature_of_the_frame():
    frame = pd.DataFrame({"x": range(20), "y": np.arange(20) % 3})
    y = pd.Series(np.arange(20) > 9, name="x")
    model = rb.learn(frame, y).model
    assert model.feature_names_ == ("x", "y")
    assert model.predict(frame).tolist() == y.tolist()


@pytest.mark.parametrize(
    "labels", [("no", "yes"), (0, 1), (-1, 1), (False, True), (0.5, 2.0), ("10", "9")]
)
def test_labels_of_any_type_keep_their_type(labels):
    X = np.arange(20.0)[:, None]
    y = np.array(labels)[(X[:, 0] > 9).astype(int)]
    assert rb.learn(X, y).model.predict(X).tolist() == y.tolist()
    turned = rb.learn(X, y, positive=labels[0])
    assert turned.model.predict(X).tolist() == y.tolist()
    assert turned.model.classes_.tolist() == list(labels)[::-1]


def test_one_of_three_labels_is_trained_against_the_rest():
    frame = pd.DataFrame({"x": range(30), "kind": np.repeat(["a", "b", "c"], 10)})
    assert rb.learn(frame, "kind").labels == ["a", "b", "c"]
    result = rb.learn(frame, "kind", positive="c")
    assert (result.verdict, result.labels) == ("separable", ["not c", "c"])


def test_missing_numbers_are_refused_dropped_or_imputed():
    frame = pd.DataFrame({"x": [*range(19), math.nan], "y": np.arange(20) > 9})
    with refuses(DataError, row=19, column="x", advice=['missing="drop"']):
        rb.learn(frame, "y")
    assert rb.learn(frame, "y", missing="drop").outcome.run.rows == 19
    assert rb.learn(frame, "y", missing="mean").outcome.run.rows == 20
    assert "1 row left out because of missing values" in str(rb.learn(frame, "y", missing="drop"))


def test_the_proof_is_about_the_original_values():
    X, y = np.array(XOR, float) * [1, 1e6], [0, 0, 0, 1]
    result = rb.learn(X, y)
    assert result.separability.proof.check(X, y)
    assert rb.learn(X, [0, 1, 1, 0]).separability.proof.check(X, [0, 1, 1, 0])


def test_a_test_file_is_predicted_by_the_final_model(tmp_path):
    pa.csv.write_csv(credit(n=100, seed=1), tmp_path / "other.csv")
    result = rb.learn(credit(n=100), "approved", test=tmp_path / "other.csv")
    right = result.model.predict(credit(n=100, seed=1)) == np.array(credit(n=100, seed=1)[4])
    assert result.accuracy.correct == np.count_nonzero(right)
    assert result.evaluation.kind == "file"


def test_the_result_explains_the_consequence_for_a_regression():
    result = rb.learn([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1])
    assert result.verdict == "quasi-separable"
    assert " infinite: " in str(result)


def test_separability_is_decided_once_per_run(monkeypatch):
    import rosenblatt.evidence.separability as evidence

    decided, decide = [], evidence.decide

    def counted(*given):
        decided.append(not given[-1])  # is no line known yet?
        return decide(*given)

    monkeypatch.setattr(evidence, "decide", counted)
    result = rb.learn(credit(n=100), "approved")
    assert result.verdict == "separable"
    assert decided.count(True) == 1


@pytest.mark.slow_without_jit
def test_a_time_limit_keeps_the_best_so_far_and_reports_what_it_ended(hurried):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = X[:, 0] + rng.normal(size=1500) > 0
    result = rb.learn(X, y, time_limit=1)
    assert result.cut_short == ["verdict", "learning", "test"]
    assert result.mistakes < 750
    assert "stopped by the time limit" in str(result)


@pytest.mark.parametrize("algorithm", ["pla", "pocket", "average", "fewest"])
def test_ctrl_c_while_a_line_of_progress_is_removed_loses_nothing(algorithm):
    class Interrupted(Reporter):
        @contextmanager
        def mistake_progress(self, seconds, unit="updates"):
            yield lambda mistakes, steps, bound=0: None
            raise KeyboardInterrupt

        progress = mistake_progress

    X = np.random.default_rng(0).normal(size=(60, 2))
    options = TrainingOptions(algorithm, time_limit=5.0, epochs=20)
    examples = Examples.from_arrays(X, np.arange(60) % 2)
    outcome = train_model(examples, options, None, Interrupted(), Deadline.after(5.0))
    assert outcome.reason == "interrupted"
    assert outcome.mistakes == len(outcome.hypothesis.mistakes(examples)) < 60


def test_nothing_is_printed_or_written(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rb.learn(credit(n=60), "approved")
    rb.learn(XOR, [0, 1, 1, 0])
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_a_saved_model_predicts_the_same(tmp_path):
    table = credit(n=60)
    result = rb.learn(table, "approved")
    result.save(tmp_path / "model.json")
    loaded = rb.load(tmp_path / "model.json")
    assert loaded.predict(table).tolist() == result.model.predict(table).tolist()
    assert loaded.training == json.loads(json.dumps(result.model.training))


@pytest.mark.parametrize("y", [[0, 0, 0, 1], [0, 1, 1, 0]])
def test_a_report_is_written(tmp_path, y):
    rb.learn(XOR, y).report(tmp_path / "report.html")
    page = Path(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "separable: " in page
    assert 'id="player-story"' in page


def test_a_notebook_shows_the_verdict_and_the_line():
    result = rb.learn(XOR, [0, 0, 0, 1])
    shown = result._repr_html_()
    assert "separable: a line " in shown
    assert "a line that classifies all 4 rows correctly" in shown
    assert repr(result) == "<Result: separable; a line that classifies all 4 rows correctly>"


def test_a_file_larger_than_memory_is_read_in_passes(tmp_path, free_memory):
    pa.csv.write_csv(credit(n=300), tmp_path / "credit.csv")
    whole = rb.learn(tmp_path / "credit.csv", target="approved", test_size=0)
    free_memory(1000)
    passed = rb.learn(tmp_path / "credit.csv", target="approved")
    assert not passed.in_memory
    assert passed.verdict == whole.verdict
    assert passed.model.weights_.tolist() == whole.model.weights_.tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["credit.csv"]
    for given in ({"cv": 3}, {"algorithm": "fewest"}, {"order": "random"}):
        with refuses(UsageError, advice=["cv", "test"]):
            rb.learn(tmp_path / "credit.csv", target="approved", **given)
    with refuses(UsageError):
        passed.report(tmp_path / "report.html")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"algorithm": "magic"}, "algorithm"),
        ({"order": "magic"}, "order"),
        ({"positive": "maybe"}, "maybe"),
        ({"missing": "magic"}, "missing"),
        ({"time_limit": -1}, "time_limit"),
        ({"test_size": 1.0}, "test_size"),
        ({"cv": 1}, "cv"),
        ({"cv": 2}, "cv"),
        ({"random_state": "now"}, "random_state"),
    ],
)
def test_unknown_options_are_refused_in_one_sentence(given, named):
    with refuses(ValueError, named):
        rb.learn(XOR, [0, 0, 0, 1], **given)


@pytest.mark.parametrize("kind", [np.array, pd.DataFrame, pl.DataFrame])
def test_rows_without_one_label_each_are_refused_in_one_sentence(kind):
    with refuses(ValueError, "X", 4, 3):
        rb.learn(kind(np.array(XOR)), [0, 1, 0])


def test_too_many_folds_are_refused_in_one_sentence():
    with refuses(ValueError, 100, 3, advice=["cv"]):
        rb.learn(np.arange(12.0)[:, None], [0] * 9 + [1] * 3, cv=100)
    with refuses(ValueError, advice=["test_size", "test", "cv"]):
        rb.learn(XOR, [0, 0, 0, 1], cv=2, test_size=0.5)


def test_a_file_names_its_own_target(tmp_path):
    (tmp_path / "d.csv").write_text("x,y\n1,0\n2,1\n")
    with refuses(ValueError, advice=["target"]):
        rb.learn(tmp_path / "d.csv", [0, 1])
    with refuses(OSError, "none.csv"):
        rb.learn(tmp_path / "none.csv")


@pytest.mark.parametrize("labels", [[b"a", b"b", b"c"], np.arange("2001", "2004", dtype="M8[Y]")])
def test_labels_may_be_bytes_or_dates(labels):
    X, y = np.arange(30.0).reshape(-1, 1), np.repeat(np.array(labels), 10)
    assert rb.learn(X, y).mistakes == 0


def test_a_skipped_held_out_test_is_explained_unless_it_was_not_requested():
    X, y = [[0], [1], [2], [3]], [0, 0, 1, 1]
    text = str(rb.learn(X, y))
    assert text.endswith("tested    skipped: 4 rows are too few for a held-out test (at least 10)")
    assert "tested" not in str(rb.learn(X, y, test_size=0))
