"""Training has budgets without a clock, and models worse than a constant are flagged."""

import json

import numpy as np
import pytest
from facts import refuses
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb
from rosenblatt.cli import run

MINUTES = 120.0  # a time limit that no run here reaches


def noisy(n=300, d=2, seed=3, shares=(0.25, 0.3, 0.45)):
    """Return data whose labels do not depend on the features."""
    rng = np.random.default_rng(seed)
    labels = np.array(["a", "b", "c"])[: len(shares)]
    return rng.normal(size=(n, d)), rng.choice(labels, n, p=shares)


def flipped(name):
    """Return a data set of scikit-learn with a fifth of its labels replaced."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    rng, k = np.random.default_rng(0), len(np.unique(y))
    flip = rng.random(len(y)) < 0.2
    return X, np.where(flip, (y + rng.integers(1, k, len(y))) % k, y)


def csv_of(path, X, y):
    rows = [",".join([*map(repr, x), label]) for x, label in zip(X.tolist(), y, strict=True)]
    names = [f"x{j}" for j in range(X.shape[1])]
    path.write_text("\n".join([",".join([*names, "answer"]), *rows]) + "\n")
    return str(path)


@pytest.fixture
def command(capfd, tmp_path, monkeypatch):
    """Run the command `learn`; return its JSON output and its text output."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capfd.readouterr()
        given = ["learn", *map(str, arguments)]
        assert run([*given, "--json"]) == 0
        output = json.loads(capfd.readouterr().out)
        assert run([*given, "--top", "0"]) == 0
        return output, capfd.readouterr().out.splitlines()

    return call


@pytest.mark.parametrize("shares", [(0.4, 0.6), (0.25, 0.3, 0.45)], ids=["two", "three"])
@pytest.mark.parametrize("order", ["cycle", "random", "first"])
def test_pla_runs_as_the_estimator_does_without_a_clock(shares, order):
    X, y = noisy(n=60, shares=shares)
    how = {"algorithm": "pla", "order": order, "scale": False, "time_limit": MINUTES}
    found = rb.learn(X, y, test_size=0, random_state=5, **how)
    with pytest.warns(ConvergenceWarning):
        same = rb.Perceptron(order=order, random_state=5).fit(X, y)
    assert found.cut_short == []
    assert found.outcome.run.epochs == 1000
    assert np.array_equal(found.model.weights_, same.weights_)


def test_an_exhausted_budget_is_reported():
    found = rb.learn(*noisy(), algorithm="pla", test_size=0, time_limit=MINUTES)
    assert any("1,000" in step and "maximum" in step for step in found.outcome.steps)


@pytest.mark.parametrize("algorithm", ["pla", "average", "pocket"])
def test_epochs_are_limited_in_memory_as_in_passes(command, tmp_path, algorithm):
    X, y = noisy(n=200)
    file = csv_of(tmp_path / "noisy.csv", X, y)
    given = {"algorithm": algorithm, "test_size": 0, "time_limit": MINUTES}
    assert rb.learn(X, y, max_iter=3, **given).outcome.run.epochs == 3
    options = [file, "--algorithm", algorithm, "--max-iter", "3", "--time-limit", MINUTES]
    output = command(*options, "--test-size", "0")[0]
    assert output["updates"] == rb.learn(X, y, max_iter=3, **given).outcome.run.updates
    if algorithm != "average":
        output = command(*options, "--stream")[0]
        assert output["epochs"] == 3


def test_an_invalid_number_of_epochs_is_refused():
    with refuses(ValueError, "max_iter", 0):
        rb.learn(*noisy(n=20), max_iter=0)


def test_after_too_few_epochs_the_held_out_fit_comes_from_the_proof_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, -2.0, 0.5] > 0.1
    found = rb.learn(X, y, max_iter=1, time_limit=MINUTES)
    assert found.verdict == "separable"
    assert found.mistakes == 0
    assert found.outcome.algorithm == "widest margin"
    assert found.accuracy.share > 0.95


@pytest.mark.parametrize("algorithm", ["pla", "average"])
def test_a_model_worse_than_the_most_frequent_label_is_flagged(algorithm, tmp_path):
    X, y = noisy()
    found = rb.learn(X, y, algorithm=algorithm, time_limit=MINUTES)
    constant = int((y != "c").sum())
    assert found.mistakes > constant
    assert found.worse_than_baseline[0] == "learning"
    second = str(found).splitlines()[1]
    assert second.startswith("warning")
    assert all(part in second for part in ("always predicting c", f"{constant:,}"))
    assert found.to_json()["baseline_mistakes"] == constant
    assert "always predicting c" in found._repr_html_()
    found.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.index("always predicting c") < page.index("<h2>")


@pytest.mark.parametrize("passes", [[], ["--stream"]], ids=["memory", "passes"])
def test_the_command_line_flags_models_worse_than_the_baseline(command, tmp_path, passes):
    file = csv_of(tmp_path / "noisy.csv", *noisy())
    options = [file, "--algorithm", "pla", "--time-limit", MINUTES, *passes]
    output, lines = command(*options)
    assert output["mistakes"] > output["baseline_mistakes"]
    assert "learning" in output["worse_than_baseline"]
    names = [line.split()[0] for line in lines]
    assert names[names.index("found") + 1] == "warning"


@pytest.mark.parametrize("seed", range(6))
def test_training_rows_and_test_rows_are_flagged_separately(seed):
    X, y = noisy(n=60, seed=seed)
    for algorithm in ("auto", "pla", "average", "pocket"):
        found = rb.learn(X, y, algorithm=algorithm, time_limit=MINUTES)
        constant = len(y) - max(np.unique(y, return_counts=True)[1])
        assert ("learning" in found.worse_than_baseline) == (found.mistakes > constant)
        worse = found.accuracy.share < found.accuracy.baseline
        assert ("test" in found.worse_than_baseline) == worse
        assert str(found).count("\nwarning ") == len(found.worse_than_baseline)


@pytest.mark.parametrize("shares", [(0.02, 0.98), (0.01, 0.01, 0.98)], ids=["two", "three"])
@pytest.mark.parametrize("passes", [[], ["--stream"]], ids=["memory", "passes"])
def test_auto_is_never_worse_than_the_most_frequent_label(command, tmp_path, shares, passes):
    X, y = noisy(n=400, shares=shares, seed=1)
    y[:3] = ["a", "b", "c"][: len(shares)] * (3 // len(shares)) + ["b"] * (3 % len(shares))
    X[5:] = np.round(X[5:])  # equal rows of different labels
    output, _ = command(csv_of(tmp_path / "rare.csv", X, y), "--time-limit", MINUTES, *passes)
    assert output["mistakes"] <= output["baseline_mistakes"]
    assert "learning" not in output["worse_than_baseline"]


@pytest.mark.parametrize(
    "name", ["iris", "wine", pytest.param("digits", marks=pytest.mark.slow_without_jit)]
)
def test_with_more_than_two_labels_auto_is_the_better_of_pocket_and_average(name):
    X, y = flipped(name)
    if name == "digits":  # fewer rows and columns, so that no step reaches the time limit
        X, y = X[:200, 18:30], y[:200]
    mistakes = {
        algorithm: rb.learn(X, y, algorithm=algorithm, test_size=0, time_limit=MINUTES).mistakes
        for algorithm in ("auto", "pocket", "average")
    }
    assert mistakes["auto"] == min(mistakes["pocket"], mistakes["average"])
    assert (mistakes["average"] < mistakes["pocket"]) == (name == "digits")


def test_a_model_that_is_better_than_the_baseline_is_not_flagged():
    found = rb.learn(*datasets.load_iris(return_X_y=True), time_limit=MINUTES)
    assert found.worse_than_baseline == []
    assert "warning" not in str(found)
