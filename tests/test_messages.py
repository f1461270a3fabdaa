"""Messages of Python, word for word: tests/golden/messages.txt holds the texts.

Other tests assert the type of an error and the facts that it names.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import rosenblatt as rb

X, XOR = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 1, 0]
FRAME = pd.DataFrame({"age": [1.0, 2.0, np.nan, 4.0], "debt": [4.0, 3.0, 2.0, 1.0]})
FITTED = rb.Perceptron().fit(X, [0, 0, 1, 1])
PROOF = rb.separability(X, XOR).proof
FILES = {
    "credit.csv": "name,salary,y\n"
    + "".join(f"p{i},{i if i - 16 else 'n/a'},{i // 9}\n" for i in range(18)),
    "dates.csv": "d,x,y\n2024-01-01,1,0\n2024-01-02,2,1\n2024-01-03,3,0\n",
    "several.csv": "a,b,x\n0,1,0.5\n1,0,1.5\n0,1,2.5\n",
    "none.csv": "a,b\n1,2\n2,3\n3,4\n",
    "missing.csv": "x,y\n1,no\n2,yes\n3,\n",
    "latin.csv": b"c,y\nabc,0\nabd,1\n\xe9,0\n",
    "old.json": '{"program": "rosenblatt", "kind": "online perceptron", "version": 1}',
}


def wrong_index():
    rows = sparse.csr_array(np.eye(4))
    rows.indices[2] = 9
    return rows


def fitted(*steps):
    frame = FRAME.assign(age=[1.0, 2.0, 3.0, 4.0])
    return make_pipeline(*steps, rb.Perceptron()).fit(frame, [0, 0, 1, 1])


def no_estimates():
    return rb.separation([[0.0], [1.0], [1.0]], [0, 3, 2], family="poisson").firth()


MESSAGES = {
    "an unknown parameter": lambda: rb.Perceptron("sideways").fit(X, XOR),
    "an unknown label": lambda: rb.OnlinePerceptron(labels=("a", "b")).learn_one([1.0], "e"),
    "a block with an unknown label": lambda: FITTED.partial_fit(X, [0, 1, 7, 1]),
    "one label": lambda: rb.Perceptron().fit(X, [1, 1, 1, 1]),
    "fewer labels than rows": lambda: rb.learn(X, [0, 1, 0]),
    "NaN in X": lambda: rb.Perceptron().fit(FRAME, XOR),
    "NaN in y": lambda: rb.Perceptron().fit(X, [0, 1, np.nan, 1]),
    "masked rows": lambda: rb.Perceptron().fit(np.ma.masked_greater(X, 2), XOR),
    "a sparse index outside": lambda: rb.Perceptron().fit(wrong_index(), XOR),
    "a long integer": lambda: rb.separability([[2**53 + 1], [0]], [0, 1]),
    "a number too large": lambda: rb.OnlinePerceptron().learn_one([1e150], 1),
    "a feature that is no number": lambda: rb.OnlinePerceptron().learn_one({"a": "high"}, 1),
    "a list of dicts": lambda: rb.OnlinePerceptron().learn_many([{"a": 1.0}], [1]),
    "no classes": lambda: rb.Perceptron().partial_fit(X, XOR),
    "balanced weights of a block": lambda: rb.Perceptron(class_weight="balanced").partial_fit(
        X, XOR, classes=[0, 1]
    ),
    "a time limit of 0": lambda: rb.fewest_mistakes(X, XOR, time_limit=0),
    "three labels": lambda: rb.fewest_mistakes(X, [0, 1, 2, 0]),
    "the search for three labels": lambda: rb.learn(X, [0, 1, 2, 0], algorithm="fewest"),
    "labels that look measured": lambda: rb.learn(np.arange(200.0)[:, None], np.arange(200.0)),
    "too many folds": lambda: rb.learn(X, XOR, cv=100),
    "two ways to test": lambda: rb.learn(X, XOR, cv=2, test_size=0.5),
    "a moment outside the run": lambda: FITTED.trace_.weights(10**6),
    "weights of another length": lambda: rb.guarantee(X, XOR, [1.0, 2.0, 3.0]),
    "a proof about other data": lambda: PROOF.check(X + 1, XOR),
    "a family for other labels": lambda: rb.separation(X, [0, 1, 2, 2]),
    "a family for counts": lambda: rb.separation(X, [0, 1, 2, -1], family="poisson"),
    "no variation": lambda: rb.separation(X, [1, 1, 1, 1], family="multinomial"),
    "two columns of one name": lambda: rb.separation(
        pd.DataFrame({"(intercept)": [1.0, 2.0]}), [0, 1]
    ),
    "an unknown column in a formula": lambda: rb.separation("y ~ lable", FRAME.assign(y=XOR)),
    "a family without Firth estimates": no_estimates,
    "a model that is not fitted": lambda: rb.save(rb.Perceptron(), "never.json"),
    "a model of another library": lambda: rb.save(LogisticRegression(), "never.json"),
    "a step that clips": lambda: rb.save(fitted(MinMaxScaler(clip=True)), "never.json"),
    "a column that is not imputed": lambda: rb.save(
        fitted(make_column_transformer((SimpleImputer(), ["age"]), remainder="passthrough")),
        "never.json",
    ),
    "a column used twice": lambda: rb.save(
        fitted(make_column_transformer((OneHotEncoder(), ["age"]), ("passthrough", ["age"]))),
        "never.json",
    ),
    "other columns": lambda: rb.learn(FRAME.fillna(3), XOR).model.predict(FRAME[["age"]]),
    "a folder that is not there": lambda: rb.save(FITTED, "no/model.json"),
    "a file that is not there": lambda: rb.load("nothing.json"),
    "a folder in place of a file": lambda: rb.load("."),
    "a file of an earlier version": lambda: rb.load("old.json"),
    "a table in place of a model": lambda: rb.load("credit.csv"),
    "a cell that is not a number": lambda: rb.learn("credit.csv"),
    "dates": lambda: rb.learn("dates.csv"),
    "several targets": lambda: rb.learn("several.csv"),
    "no target": lambda: rb.learn("none.csv"),
    "a column that is not there": lambda: rb.learn("credit.csv", target="z"),
    "a label that is not there": lambda: rb.learn("credit.csv", target="y", positive="7"),
    "a missing label": lambda: rb.learn("missing.csv", target="y"),
    "text that is not UTF-8": lambda: rb.learn("latin.csv", target="y"),
    "a budget that ends": lambda: rb.Perceptron(max_iter=3).fit(X, XOR),
}


def test_messages_match_the_golden_file(golden, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for name, call in MESSAGES.items():
            with pytest.raises((ValueError, TypeError, OSError, Warning)) as raised:
                call()
            lines.append(f"{name}: {raised.typename}: {raised.value}")
    golden("messages.txt", "\n".join([*lines, ""]))
