"""More than two labels at the command line: trained together, tested, explained, verified."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from facts import refuses
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb

IRIS = load_iris()
KINDS = ["setosa", "versicolor", "virginica"]
CALM = ("--time-limit", "1e6")  # seconds, so that no machine is too slow for the same answer
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


def put(folder, name, text):
    (folder / name).write_text(text)
    return name


def table(columns):
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n"


@pytest.fixture
def iris(tmp_path):
    """The flowers, with the kind as text."""
    columns = dict(zip(NAMES, IRIS.data.T, strict=True))
    return put(tmp_path, "iris.csv", table({**columns, "kind": IRIS.target_names[IRIS.target]}))


def three(folder, labels=("a", "b", "c"), rows=30, **more):
    """Rows on a line, a third of each label, and nothing between them."""
    x = np.arange(rows)
    y = [labels[3 * i // rows] for i in range(rows)]
    return put(folder, "three.csv", table({"x": x, "square": x * x, "y": y, **more}))


@pytest.mark.slow_without_jit
def test_three_species_are_trained_tested_and_explained(run_command, iris):
    code, out, _ = run_command("learn", iris, "--report", "--proof", "proof.json")
    assert code == 0
    assert 'target column "kind" (setosa, versicolor or virginica), the only column with' in out
    assert "verdict   quasi-separable: " in out
    assert "rows 69, 78, 84, 120, 128 and 134 all correctly" in " ".join(out.split())
    assert "baseline 33.3 % (always predicting setosa); balanced" in out
    lines = [line.split() for line in out.splitlines()]
    at = lines.index(["predicted", *KINDS])
    confusion = [[int(count) for count in line[1:]] for line in lines[at + 1 : at + 4]]
    assert [line[0] for line in lines[at + 1 : at + 4]] == KINDS
    assert np.sum(confusion, axis=1).tolist() == [10, 10, 10]
    assert [line[0] for line in lines if line and line[0] in KINDS][3:] == KINDS  # explained


@pytest.mark.slow_without_jit
def test_json_agrees_with_the_model_and_the_proof(run_command, iris, tmp_path):
    code, out, _ = run_command("learn", iris, "--json", "--proof", "proof.json", *CALM)
    found, model = json.loads(out), rb.load(tmp_path / "model.json")
    y = IRIS.target_names[IRIS.target]
    assert (code, found["labels"], "positive" in found) == (0, KINDS, False)
    assert found["mistakes"] == np.count_nonzero(model.predict(IRIS.data) != y)
    assert (found["lower_bound"], found["algorithm"]) == (1, "pocket")
    assert len(found["weights"]) == 3 * 4
    assert {one["label"] for one in found["weights"]} == set(KINDS)
    assert len(found["threshold"]) == 3
    sums = dict.fromkeys(NAMES, Fraction())
    for one in found["weights"]:  # as they differ from the mean label's
        sums[one["feature"]] += Fraction(one["weight"])
    assert max(abs(total) for total in sums.values()) < 1e-9
    code, out, _ = run_command("verify", "proof.json", iris)
    assert (code, "holds for all 150 rows" in out) == (0, True)
    assert "no competing class scores higher" in out
    other = iris.replace("iris", "other")
    (tmp_path / other).write_text((tmp_path / iris).read_text().replace("5.1,3.5", "5.1,3.6"))
    assert run_command("verify", "proof.json", other)[0] == 1
    (tmp_path / other).write_text((tmp_path / iris).read_text().replace("setosa", "rose"))
    assert (
        "has the labels rose, versicolor and virginica, not"
        in run_command("verify", "proof.json", other)[1]
    )


@pytest.mark.slow_without_jit
def test_the_python_function_gives_the_same_result(run_command, iris, tmp_path):
    found = json.loads(run_command("learn", iris, "--json", *CALM)[1])
    result = rb.learn(tmp_path / iris, time_limit=1e6)
    assert result.verdict == found["verdict"]["verdict"]
    assert result.accuracy.to_json()["confusion"] == found["accuracy"]["confusion"]
    assert (result.mistakes, result.labels) == (found["mistakes"], KINDS)
    arrays = rb.learn(IRIS.data, IRIS.target_names[IRIS.target], time_limit=1e6)
    assert np.array_equal(arrays.model.weights_, result.model.weights_)
    named = "rows 68, 77, 83, 119, 127 and 133 all correctly"  # in Python from 0
    assert all(named in str(one) for one in (arrays, result))
    assert "always predicting setosa" in arrays._repr_html_()


def test_separable_labels_are_separated_and_bounded(run_command, tmp_path):
    code, out, _ = run_command("learn", three(tmp_path), "--target", "y", "--proof", "p.json")
    assert code == 0
    assert "verdict   separable: " in out
    assert " (Novikoff bound: " in out
    assert "found     weights that classify all 30 rows correctly" in out
    assert run_command("verify", "p.json", "three.csv")[0] == 0
    code, out, _ = run_command("separable", "three.csv", "--target", "y")
    assert (code, "on the margin: rows " in out, " against " in out) == (0, True, True)
    found = json.loads(run_command("separable", "three.csv", "--target", "y", "--json")[1])
    assert set(found["on_margin"][0]) == {"row", "against"}


def test_a_conflict_is_reported_with_its_competing_classes(run_command, tmp_path):
    data = put(tmp_path, "d.csv", "x,y\n0,a\n1,b\n2,a\n1,c\n5,c\n")
    code, out, _ = run_command("separable", data, "--target", "y")
    assert code == 1
    assert "not separable: no weights classify rows 1, 2, 3, 4 and 5 all correctly" in out
    blocking = json.loads(run_command("separable", data, "--target", "y", "--json")[1])["conflict"]
    assert sum(one["share"] for one in blocking) == pytest.approx(1)
    assert all(one["line"] == one["row"] + 1 for one in blocking)
    assert all(one["against"] != one["values"]["y"] for one in blocking)


@pytest.mark.parametrize("labels", [("a", "b", "c"), (1, 2, 3), (3, 10, 200), ("x y", "é", "<b>")])
def test_labels_of_any_type_keep_their_type(run_command, tmp_path, labels):
    data = three(tmp_path, labels)
    assert run_command("learn", data, "--target", "y", "--report")[0] == 0
    model = rb.load(tmp_path / "model.json")
    assert model.classes_.tolist() == sorted(labels)
    run_command("predict", "model.json", data, "-o", "out.parquet", "--scores", "--explain")
    answers = pa.parquet.read_table(tmp_path / "out.parquet")
    assert list(map(str, answers["prediction"].to_pylist())) == answers["y"].to_pylist()
    each = np.array([answers[f"score of {label}"].to_numpy() for label in model.classes_]).T
    ahead = np.sort(each, axis=1)
    assert np.allclose(answers["score"].to_numpy(), ahead[:, -1] - ahead[:, -2], atol=1e-9)
    assert all(reason.startswith("over ") for reason in answers["reasons"].to_pylist())
    page = (tmp_path / "report.html").read_text()
    assert "<b>" not in page.split("</head>")[1]


def test_predict_counts_every_label_and_unknown_ones(run_command, tmp_path):
    data = three(tmp_path)
    run_command("learn", data, "--target", "y")
    new = put(tmp_path, "new.csv", "x,square,y\n0,0,a\n15,225,b\n29,841,b\n1,1,?\n2,4,\n")
    code, out, err = run_command("predict", "model.json", new, "-o", "out.csv")
    assert (code, "5 rows, 3 a, 1 b and 1 c" in out) == (0, True)
    assert '1 row with none of the labels in column "y"' in err
    assert "accuracy 66.7 % on 3 rows with " in out
    assert "balanced accuracy 75.0 % (1 label not tested)" in out
    found = json.loads(run_command("predict", "model.json", new, "--json")[1])
    assert found["accuracy"]["confusion"] == [[1, 0, 0], [0, 1, 1], [0, 0, 0]]
    assert found["predictions"] == {"a": 3, "b": 1, "c": 1}
    hole = put(tmp_path, "hole.csv", "x,square\n0,\n15,225\n")
    run_command("predict", "model.json", hole, "--missing", "empty", "-o", "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == "0,,,"


def test_one_against_the_rest_needs_an_option(run_command, iris):
    code, out, _ = run_command("learn", iris, "--positive", "setosa")
    assert code == 0
    assert "(not setosa or setosa), the only column with a few text values" in out
    assert "verdict   separable: a line " in out
    assert rb.learn(IRIS.data, IRIS.target, positive=0).labels == ["not 0", "0"]


@pytest.mark.parametrize("labels", [2, 3])
def test_averaged_weights_are_an_option(run_command, tmp_path, labels):
    data = three(tmp_path, ("a", "b", "c")[:labels] + ("a",) * (3 - labels))
    code, out, _ = run_command("learn", data, "--target", "y", "--algorithm", "average")
    assert (code, "the average of its weights has " in out) == (0, True)
    model = rb.load(tmp_path / "model.json")
    assert model.training["algorithm"] == "average"
    x = np.arange(30.0)
    y = np.repeat(["a", "b", "c" if labels == 3 else "a"], 10)
    result = rb.learn(np.column_stack((x, x * x)), y, algorithm="average")
    assert np.array_equal(result.model.weights_, model.weights_)
    # The mean is that of the estimator, on columns brought to one scale.
    scale = rb.learn(np.column_stack((x, x * x)), y, algorithm="average", scale=False)
    clf = rb.Perceptron(max_iter=100, average=True)
    with pytest.warns(ConvergenceWarning):
        clf.fit(np.column_stack((x, x * x)), y)
    assert np.allclose(scale.model.weights_[..., 1:], np.squeeze(clf.coef_), rtol=1e-12)


def test_the_search_refuses_more_than_two_labels(run_command, iris):
    code, _, err = run_command("learn", iris, "--algorithm", "fewest")
    assert code == 64
    assert (
        '--algorithm fewest is for two labels, and column "kind" has 3. Give --positive virginica, '
        "for example, to learn it against the rest, or --algorithm pocket." in err
    )
    with refuses(rb.errors.UsageError, 3, advice=['algorithm="fewest"']):
        rb.learn(IRIS.data, IRIS.target, algorithm="fewest")


def test_measurements_as_labels_are_refused(run_command, tmp_path):
    x = np.arange(200)
    data = put(tmp_path, "d.csv", table({"x": x, "price": 3 * x + 7, "share": x / 8, "id": x}))
    code, _, err = run_command("learn", data, "--target", "price")
    assert code == 65
    assert (
        "200 different labels (7, 10, 13, 16 and 196 more) in 200 rows, which look like "
        "measurements, not labels. Give --target for another column, --positive 604, for "
        "example, to learn it against the rest, or --category price to learn all 200 labels." in err
    )
    assert "like measurements, not labels" in run_command("learn", data, "--target", "share")[2]
    infinite = put(tmp_path, "i.svm", "0 1:1\n1 1:2\n1e999 1:3\n")
    assert "like measurements, not labels" in run_command("learn", infinite)[2]
    with refuses(rb.errors.DataError, 200):
        rb.learn(x[:, None], x)
    names = put(tmp_path, "n.csv", table({"x": x, "name": [f"p{i}" for i in x]}))
    assert "like names, not labels" in run_command("learn", names, "--target", "name")[2]
    few = put(tmp_path, "f.csv", table({"x": x, "grade": (x // 50) / 2}))
    assert run_command("learn", few, "--target", "grade")[0] == 65
    assert (
        run_command("learn", few, "--target", "grade", "--category", "grade", "--test-size", "0")[0]
        == 0
    )
    assert rb.load(tmp_path / "model.json").classes_.tolist() == ["0.0", "0.5", "1.0", "1.5"]


def test_a_label_that_occurs_once_is_trained_and_not_tested(run_command, tmp_path):
    data = three(tmp_path)
    (tmp_path / data).write_text((tmp_path / data).read_text() + "100,1,rare\n")
    code, out, _ = run_command("learn", data, "--target", "y")
    assert code == 0
    assert "rare" in rb.load(tmp_path / "model.json").classes_.tolist()
    assert "(1 label not tested)" in out
    assert run_command("learn", data, "--target", "y", "--cv", "3")[0] == 0
    code, _, err = run_command("learn", data, "--target", "y", "--cv", "11")
    assert (code, "rows of the second most frequent label, which has 10;" in err) == (64, True)


def test_a_missing_label_is_refused_or_left_out(run_command, tmp_path):
    text = (tmp_path / three(tmp_path)).read_text().replace("4,16,a", "4,16,")
    data = put(tmp_path, "d.csv", text)
    code, _, err = run_command("learn", data, "--target", "y")
    assert (code, 'row 5, column "y": the value is missing. Give --missing drop.' in err) == (
        65,
        True,
    )
    code, out, err = run_command("learn", data, "--target", "y", "--missing", "drop")
    assert (code, "29 rows" in out, "1 row left out" in err) == (0, True, True)


def test_the_only_column_of_few_words_is_the_target(run_command, tmp_path):
    x = list(range(12))
    kind = ["red", "green", "blue"] * 4
    data = put(tmp_path, "d.csv", table({"x": x, "kind": kind, "id": [f"p{i}" for i in x]}))
    assert 'target column "kind"' in run_command("learn", data)[1]
    both = put(tmp_path, "b.csv", table({"x": x, "kind": kind, "other": kind[::-1]}))
    code, _, err = run_command("learn", both)
    assert code == 65
    assert 'column "other" or column "kind"' in err
    assert 'target column "kind"' in run_command("learn", both, "--category", "other")[1]
    numbers = put(tmp_path, "n.csv", table({"x": x, "z": [i % 3 for i in x]}))
    assert "no column has exactly two values" in run_command("learn", numbers)[2]


@pytest.mark.parametrize("kind", ["jsonl", "libsvm", "parquet", "npy"])
def test_other_formats_support_more_labels_too(run_command, tmp_path, kind):
    x, y = np.arange(30.0), np.repeat([1, 2, 3], 10)
    if kind == "jsonl":
        rows = (json.dumps({"x": a, "z": a * a, "y": int(b)}) for a, b in zip(x, y, strict=True))
        data = put(tmp_path, "d.jsonl", "\n".join(rows))
    elif kind == "libsvm":
        rows = (f"{b} 1:{a} 2:{a * a}" for a, b in zip(x, y, strict=True))
        data = put(tmp_path, "d.svm", "\n".join(rows))
    elif kind == "parquet":
        pa.parquet.write_table(pa.table({"x": x, "z": x * x, "y": y}), tmp_path / "d.parquet")
        data = "d.parquet"
    else:
        np.save(tmp_path / "d.npy", np.column_stack((x, x * x, y)))
        data = "d.npy"
    target = () if kind in ("libsvm", "npy") else ("--target", "y")
    code, out, _ = run_command("learn", data, *target)
    assert (code, "weights that classify all 30 rows correctly" in out) == (0, True)


@pytest.mark.slow_without_jit
def test_very_many_labels_fit_in_one_sentence(run_command, tmp_path):
    angle = np.arange(160) * 2 * np.pi / 160
    labels = [f"n{i // 8:02}" for i in range(160)]
    data = put(tmp_path, "d.csv", table({"x": np.cos(angle), "y": np.sin(angle), "label": labels}))
    code, out, _ = run_command("learn", data, "--target", "label", "--report", "--top", "5")
    assert code == 0
    assert "predicted  n00" not in out
    assert "most frequent confusions: " in out
    assert "… and 15 labels more in the model." in out


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("way", [["--no-convert"], ["--convert"]])
def test_a_file_larger_than_memory_is_trained_on_in_passes(run_command, iris, tmp_path, way):
    for data, target in ((iris, "kind"), (three(tmp_path), "y")):
        given = (data, "--target", target, "--test", data, *CALM)
        code, out, _ = run_command("learn", *given, "--stream", *way, "--proof", "p.json", "--json")
        assert code == 0
        passed, held = json.loads(out), json.loads(run_command("learn", *given, "--json")[1])
        assert passed["verdict"]["verdict"] == held["verdict"]["verdict"]
        assert (passed["labels"], passed["in passes"]) == (held["labels"], True)
        assert passed["accuracy"]["right"] == passed["rows"] - passed["mistakes"]
        assert run_command("verify", "p.json", data)[0] == 0
    assert run_command("learn", iris, "--stream", "--algorithm", "average")[0] == 64
    out = run_command("learn", iris, "--stream", *way)[1]
    assert "rows 69, 78, 84, 120, 128 and 134 all correctly" in " ".join(out.split())
