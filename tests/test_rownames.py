"""Rows are named one way in Python: by positions from 0, with the labels of a frame's own index."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from facts import refuses
from sklearn.datasets import load_iris

import rosenblatt as rb

IRIS = load_iris()
# A row with a missing number, then XOR.
FRAME = pd.DataFrame(
    {"a": [None, 0.0, 0.0, 1.0, 1.0], "b": [5.0, 0.0, 1.0, 0.0, 1.0], "y": list("nnyyn")}
)
LABELED = FRAME.set_axis(["r00", "a17", "b02", "c03", "d04"])
XOR, CALM = LABELED.iloc[1:], 1e6
NUMBERED = re.compile(r"rows? (\d+)(?: \((.+?)\))?")


def test_rows_of_a_file_count_from_0_as_in_a_frame(tmp_path):
    FRAME.to_csv(tmp_path / "xor.csv", index=False)
    found = [
        rb.learn(given, target="y", missing="drop", time_limit=CALM)
        for given in (FRAME, tmp_path / "xor.csv")
    ]
    for result in found:
        assert "rows 1, 2, 3 and 4 all correctly" in str(result)
        assert result.separability.conflicts[0].rows == (1, 2, 3, 4)
        assert "row 4" in result.separability.explain()


def test_rows_on_the_margin_are_rows_of_the_callers_data(tmp_path):
    frame = pd.DataFrame({"x": [None, 0.0, 1.0, 3.0, 4.0], "y": list("nnnyy")})
    frame.to_csv(tmp_path / "line.csv", index=False)
    for given in (frame, tmp_path / "line.csv"):
        result = rb.learn(given, target="y", missing="drop", time_limit=CALM)
        kept = result.separability.support
        assert 0 not in kept.tolist()
        assert result.to_json()["verdict"]["on_margin"] == sorted(kept.tolist())


def test_a_custom_index_is_shown_with_the_positions():
    X, y = XOR[["a", "b"]], XOR["y"]
    named = 'rows 0 ("a17"), 1 ("b02"), 2 ("c03") and 3 ("d04")'
    s = rb.separability(X, y)
    assert s.conflicts[0].rows == (0, 1, 2, 3)
    for text in (repr(s), s.explain(), str(rb.learn(X, y)), str(rb.learn(XOR, "y"))):
        assert named in text
    for result in (rb.fewest_mistakes(X, y), rb.FewestMistakes().fit(X, y).result_):
        (wrong,) = result.wrong.tolist()
        assert f"row {wrong} (&quot;{X.index[wrong]}&quot;)" in result._repr_html_()
    separated = pd.DataFrame({"x": [1.0, 2.0, 3.0, 3.0, 4.0]}, index=list("vwxyz"))
    s = rb.separation(separated, [0, 0, 0, 1, 1])
    assert s.rows.tolist() == [0, 1, 4]
    assert '0 ("v"), 1 ("w") and 4 ("z")' in str(s)


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (range(4), "rows 0, 1, 2 and 3 "),
        ([0, 1, 2, 3], "rows 0, 1, 2 and 3 "),
        ([9, 8, 7, 6], "rows 0 (9), 1 (8), 2 (7) and 3 (6) "),
        (range(1, 5), "rows 0 (1), 1 (2), 2 (3) and 3 (4) "),
        (
            pd.MultiIndex.from_product([["k", "l"], [1, 2]]),
            'rows 0 ("k", 1), 1 ("k", 2), 2 ("l", 1) and 3 ("l", 2) ',
        ),
    ],
    ids=["default", "as positions", "shuffled", "from 1", "levels"],
)
def test_only_a_custom_index_is_shown(index, text):
    frame = FRAME.iloc[1:].set_axis(index)
    assert text in repr(rb.separability(frame[["a", "b"]], frame["y"]))


def bad(**cells):
    frame = LABELED.iloc[1:].copy()
    for column, value in cells.items():
        frame[column] = frame[column].astype(object)
        frame.iloc[2, frame.columns.get_loc(column)] = value
    return frame[["a", "b"]], frame["y"]


WEIGHTS = [1.0, 1.0, -1.0, 1.0]
REFUSED = {
    "NaN": lambda: rb.separability(*bad(a=np.nan)),
    "text": lambda: rb.Perceptron().fit(*bad(a="no number")),
    "infinity": lambda: rb.fewest_mistakes(*bad(a=np.inf)),
    "rounded": lambda: rb.Perceptron().fit(*bad(a=2**53 + 1)),
    "no answer": lambda: rb.Perceptron().fit(*bad(y=None)),
    "a frame of learn": lambda: rb.learn(*bad(a=np.nan)),
    "a weight": lambda: rb.Perceptron().fit(*bad(), sample_weight=WEIGHTS),
    "a weight of a search": lambda: rb.fewest_mistakes(*bad(), sample_weight=WEIGHTS),
    "a weight of a regression": lambda: rb.separation(*bad(), sample_weight=WEIGHTS),
    "a count": lambda: rb.separation(bad()[0], [1, 1, -1, 1], family="poisson"),
    "a block": lambda: rb.OnlinePerceptron().learn_many(*bad(a=np.nan)),
    "a block's answer": lambda: rb.OnlinePerceptron().learn_many(*bad(y=None)),
    "predicting": lambda: rb.learn(XOR, "y").model.predict(bad(a=np.nan)[0]),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_an_error_names_the_position_and_the_label(call):
    with refuses(ValueError, row=2) as refused:
        call()
    assert NUMBERED.search(str(refused.value)).groups() == ("2", '"c03"')


def test_rows_of_weight_0_are_counted_too():
    with refuses(ValueError, "y", -1, row=3):
        rb.separation(
            [[1.0], [2.0], [3.0], [4.0]],
            [1, 0, 2, -1],
            family="poisson",
            sample_weight=[0, 1, 1, 1],
        )


def test_an_error_about_a_file_names_the_row_of_the_file(tmp_path):
    FRAME.iloc[::-1].to_csv(tmp_path / "xor.csv", index=False)
    with refuses(ValueError, "xor.csv", row=5, column="a"):
        rb.learn(tmp_path / "xor.csv", target="y")
    (tmp_path / "xor.jsonl").write_text('{"a": 1, "y": 0}\n{"a": \n')
    with refuses(ValueError, "xor.jsonl", row=2):
        rb.learn(tmp_path / "xor.jsonl", target="y")


def test_a_conflict_of_three_labels_names_rows_of_the_data():
    X, y = IRIS.data, IRIS.target
    s = rb.separability(X, y)
    rows = s.conflicts[0].rows
    assert list(rows) == sorted(set(rows))
    assert max(rows) < len(X)
    assert not rb.separability(X[list(rows)], y[list(rows)])
    assert len(s.conflicts[0].multipliers) == len(rows)
    assert s.proof.rows == rows
    for text in (repr(s), repr(s.proof), s.sentence):
        assert [int(n) for n in re.findall(r"\d+", text.split("rows ")[-1])] == list(rows)
    again = rb.Proof.from_json(s.proof.to_json())
    assert again == s.proof
    assert again.check(X, y)


def test_each_row_of_a_conflict_has_its_competing_classes():
    s = rb.separability([[0.0], [1.0], [2.0], [9.0]], ["a", "b", "a", "c"])
    (conflict,) = s.conflicts
    assert conflict.rows == (0, 1, 2)
    assert [(n, r) for n, r, _ in conflict.pairs] == [(0, 1), (1, 0), (2, 1)]
    sums = {n: sum(m for k, _, m in conflict.pairs if k == n) for n in conflict.rows}
    assert tuple(sums.values()) == conflict.multipliers


def test_a_failed_proof_check_names_rows_of_the_data():
    X, y = pd.DataFrame({"x": [0.0, 1.0, 5.0]}, index=list("abc")), [0, 0, 1]
    proof = rb.separability(X, y).proof
    with refuses(rb.ProofError, '("c")', row=2):
        replace(proof, weights=(-1, 0)).check(X, y)
    X, y = [[0.0, 1.0], [5.0, 1.0], [1.0, 9.0]], ["a", "b", "c"]
    proof = rb.separability(X, y).proof
    assert proof.claim == "separable"
    with refuses(rb.ProofError, "b", row=0):
        replace(proof, weights=(0,) * len(proof.weights)).check(X, y)


def test_a_verdict_is_worded_the_same_everywhere():
    X, y = XOR[["a", "b"]], XOR["y"]
    s, result = rb.separability(X, y), rb.learn(X, y)
    sentence = s.sentence
    assert sentence in repr(s)
    assert result.facts()[0] == ("verdict", sentence)
    assert sentence[1:] in s.explain()
    page = rb.report(rb.PocketPerceptron(random_state=0).fit(X, y), X, y).html
    for html in (s._repr_html_(), result._repr_html_(), page):
        assert sentence[1:] in html.replace("&quot;", '"').replace("&#34;", '"')
