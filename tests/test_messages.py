"""Messages of Python, word for word: tests/golden/messages.txt holds the texts.

Other tests assert the type of an error and the facts that it names.
"""

import pickle
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from sklearn.svm import SVC

import rosenblatt as rb
from rosenblatt import algorithms
from rosenblatt.blocks import InOrder
from rosenblatt.examples import Examples
from rosenblatt.files import keep_apart, read_checksummed, write_checksummed

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


def pickled():
    return pickle.loads(pickle.dumps(rb.Perceptron().fit(X, [0, 0, 1, 1])))


def with_link(family, link):
    """Return a model of a regression with one row of each label."""
    family = type(family, (), {"link": type(link, (), {})()})()
    return SimpleNamespace(exog=np.eye(2), endog=np.array([0, 1]), family=family)


def in_blocks(*blocks, rule=None):
    rows = [Examples.from_arrays(X, [1], labels=[0, 1]) for X in blocks]
    return algorithms.pla(InOrder(lambda: rows), *([rule] if rule else []))


def drawn(clf, n_labels, n_features=2, display="BoundaryDisplay"):
    rng = np.random.default_rng(0)
    y = np.arange(4 * n_labels) % n_labels
    X = 9 * np.eye(n_labels, n_features)[y] + rng.random((len(y), n_features))
    return getattr(rb, display).from_estimator(clf.fit(X, y), X, y)


def odd_name():
    online = rb.OnlinePerceptron()
    online.learn_one({(1, 2): 1.0}, 1)
    online.save("m.json")


def seen_one_label():
    online = rb.OnlinePerceptron()
    online.learn_one({"a": 1.0}, "yes")
    online.save("stream.json")
    return rb.load("stream.json")


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
    "features of another number": lambda: FITTED.predict(np.eye(2)),
    "a vector in place of a row": lambda: rb.OnlinePerceptron().learn_one(3.0, 1),
    "an integer beyond float64": lambda: rb.OnlinePerceptron().learn_one({"a": 10**400}, 1),
    "a value that is missing": lambda: rb.OnlinePerceptron().learn_one({"a": np.nan}, 1),
    "no label at all": lambda: rb.OnlinePerceptron().learn_one({"a": 1.0}, None),
    "labels without an order": lambda: rb.OnlinePerceptron(labels=[1.5, 2, "x"]),
    "one label in a stream": lambda: rb.OnlinePerceptron(labels=("a",)),
    "a margin of 0": lambda: rb.OnlinePerceptron().bound(0),
    "a name of no JSON type": odd_name,
    "a block of one dimension": lambda: rb.OnlinePerceptron().learn_many([1.0, 2.0], [0, 1]),
    "a block with two columns of one name": lambda: rb.OnlinePerceptron().learn_many(
        pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), [1]
    ),
    "an average that is not a boolean": lambda: rb.Perceptron(average=3).fit(X, XOR),
    "a lazy frame": lambda: rb.Perceptron().fit(pl.DataFrame(X).lazy(), XOR),
    "a lazy frame with its target": lambda: rb.separability(FRAME.pipe(pl.DataFrame).lazy(), "age"),
    "a negative class weight": lambda: rb.Perceptron(class_weight={0: -1.0}).fit(X, XOR),
    "a class weight of another label": lambda: rb.Perceptron(class_weight={7: 1.0}).fit(X, XOR),
    "an unknown class weight": lambda: rb.Perceptron(class_weight="odd").fit(X, XOR),
    "an intercept that is NaN": lambda: rb.Perceptron().fit(X, XOR, intercept_init=np.nan),
    "coefficients of another shape": lambda: rb.Perceptron().fit(X, [0, 1, 2, 0], coef_init=[1, 2]),
    "other classes": lambda: FITTED.partial_fit(X, XOR, classes=[0, 7]),
    "an unknown positive label": lambda: rb.learn(X, XOR, positive="z"),
    "fewest mistakes of three labels": lambda: rb.fewest_mistakes(
        FRAME.fillna(3).assign(y=["a", "b", "c", "a"]), "y"
    ),
    "a trace without its rows": lambda: rb.squeeze(pickled().trace_, [0.0, 1.0]),
    "squares that overflow": lambda: rb.squeeze(
        rb.Perceptron().fit([[3e300], [-4e300]], [1, -1]).trace_, [0.0, 1.0]
    ),
    "weights of another shape": lambda: rb.guarantee(X, [0, 1, 2, 0], [1.0, 2.0]),
    "an x0 that is infinite": lambda: rb.separability(X, XOR, intercept_scaling=np.inf),
    "a proof with another x0": lambda: replace(
        rb.separability(X, [0, 1, 2, 2]).proof, x0=0.0
    ).check(X, [0, 1, 2, 2]),
    "a proof about fewer labels": lambda: PROOF.check(X, [0, 1, 2, 0]),
    "entries that add up to infinity": lambda: rb.separability(
        sparse.csr_array(([9e307, 9e307, 9e307], [0, 0, 0], [0, 3, 3]), (2, 1)), [0, 1]
    ),
    "no rows in blocks": lambda: in_blocks(),
    "blocks of different widths": lambda: in_blocks([[1.0]], [[1.0, 2.0]]),
    "an order that needs all rows": lambda: in_blocks([[1.0]], rule=algorithms.Rule("shuffle")),
    "a trace of blocks": lambda: in_blocks([[1.0]]).trace,
    "text for a family of numbers": lambda: rb.separation(X, list("abab"), family="poisson"),
    "an unknown family": lambda: rb.separation(X, XOR, family="gamma"),
    "a count that is NaN": lambda: rb.separation(X, [0, 1, 2, np.nan], family="poisson"),
    "targets of another shape": lambda: rb.separation(X, np.ones((4, 3))),
    "no row with a weight": lambda: rb.separation(X, XOR, sample_weight=[0] * 4),
    "times in one column": lambda: rb.separation(X, XOR, family="cox"),
    "an event that is no event": lambda: rb.separation(X, [[1, 2]] * 4, family="cox"),
    "times that are all censored": lambda: rb.separation(X, [[1, 0]] * 4, family="cox"),
    "one level": lambda: rb.separation(X, ["a"] * 4, family="ordinal"),
    "no groups": lambda: rb.separation(X, XOR, family="conditional"),
    "groups without variation": lambda: rb.separation(
        X, XOR, family="conditional", groups=list("abcd")
    ),
    "groups of another length": lambda: rb.separation(X, XOR, family="conditional", groups=["a"]),
    "groups for another family": lambda: rb.separation(X, XOR, groups=list("aabb")),
    "numbers and text in a column": lambda: rb.separation(
        pd.DataFrame({"t": ["a", 1, "b", 2]}), XOR
    ),
    "one regressor as a series": lambda: rb.separation(pd.Series([1.0, 2.0]), [0, 1]),
    "an object without data": lambda: rb.separation(object()),
    "a link without a separation": lambda: rb.separation(with_link("Gaussian", "Log")),
    "a risk without estimates": lambda: (
        rb.separation(
            [[1.0], [2], [3], [4], [5], [6]], [0, 0, 1, 0, 1, 1], family="log-binomial"
        ).estimates
    ),
    "a comparison in a formula": lambda: rb.separation("y ~ (debt > 1)", FRAME.assign(y=XOR)),
    "a logarithm of 0": lambda: rb.separation(
        "y ~ log(x)", pd.DataFrame({"x": [0.0, 1], "y": [0, 1]})
    ),
    "a formula elsewhere": lambda: rb.learn("y ~ debt", FRAME.assign(y=XOR)),
    "six labels in a picture": lambda: drawn(rb.PocketPerceptron(5, random_state=0), 6),
    "five features in a picture": lambda: drawn(rb.Perceptron(), 4, 5),
    "another estimator in a picture": lambda: drawn(SVC(kernel="linear"), 3),
    "a pocket without a history": lambda: drawn(rb.Perceptron(), 2, 2, "PocketDisplay"),
    "a guarantee without separability": lambda: rb.GuaranteeDisplay.from_estimator(
        rb.PocketPerceptron(5, random_state=0).fit(np.c_[X, X], XOR), np.c_[X, X], XOR
    ),
    "rows that were not trained on": lambda: rb.GuaranteeDisplay.from_estimator(FITTED, X + 9, XOR),
    "a moment after the run": lambda: rb.TraceDisplay.from_estimator(
        FITTED, X, [0, 0, 1, 1], t=[10**6]
    ),
    "an animation of another format": lambda: rb.TraceDisplay.from_estimator(
        FITTED, X, [0, 0, 1, 1]
    ).animate("run.png"),
    "weights too large for a graph": lambda: rb.to_onnx(
        rb.Perceptron().fit([[2.0**1000], [-(2.0**1000)]], [1, 0])
    ),
    "a graph of text": lambda: rb.to_onnx("model.json"),
    "a graph of another type": lambda: rb.to_onnx(FITTED, dtype="int8"),
    "a graph of a stream": lambda: rb.to_onnx(rb.OnlinePerceptron()),
    "a stream that has seen one label": seen_one_label,
    "a checkpoint in place of a model": lambda: rb.load("checkpoint.json"),
    "a proof in place of a model": lambda: rb.load("proof.json"),
    "a model in place of a checkpoint": lambda: read_checksummed("model.json", "stream checkpoint"),
    "links in a circle": lambda: rb.save(FITTED, "circle"),
    "an output that is the data": lambda: keep_apart(
        {"the data": "model.json"}, {"-o": "model.json"}
    ),
    "two outputs to one file": lambda: keep_apart({}, {"-o": "new", "--rejects": "./new"}),
    "a file as a folder": lambda: keep_apart({}, {"-o": "model.json/new"}),
    "a budget that ends": lambda: rb.Perceptron(max_iter=3).fit(X, XOR),
}


def test_messages_match_the_golden_file(golden, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    rb.save(FITTED, "model.json")
    (tmp_path / "proof.json").write_text(PROOF.to_json())
    write_checksummed("checkpoint.json", "stream checkpoint", {})
    (tmp_path / "circle").symlink_to("circle")
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for name, call in MESSAGES.items():
            with pytest.raises((ValueError, TypeError, OSError, Warning)) as raised:
                call()
            lines.append(f"{name}: {raised.typename}: {raised.value}")
    golden("messages.txt", "\n".join([*lines, ""]))
