"""A fitted pipeline that ends in one of our estimators is as good as the estimator."""

import csv
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from case_counts import n_cases
from facts import refuses
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier
from test_model_file import predicted_by_node

import rosenblatt as rb
from rosenblatt.cli import run as rosenblatt
from rosenblatt.model import Model
from rosenblatt.pipelines import FoldingError

mpl.use("Agg")
SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    MinMaxScaler((-2, 5)),
    MaxAbsScaler(),
    RobustScaler(),
    RobustScaler(with_centering=False, with_scaling=False),
    "passthrough",
]
ESTIMATORS = [
    rb.Perceptron(max_updates=200, random_state=0),
    rb.Perceptron(fit_intercept=False, zero="positive", max_updates=200),
    rb.PocketPerceptron(max_updates=100, random_state=0),
    rb.FewestMistakes(time_limit=0.2, random_state=0),
]


def cloud(seed=0, n=40):
    """Two classes in a frame, on scales far apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 1000.0, 0.01] + [5.0, -300.0, 0.0]
    y = np.where(X[:, 0] + X[:, 1] / 500 > 4.0, "yes", "no")
    return pd.DataFrame(X, columns=["age", "debt", "rate"]), y


def fitted(*steps, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some do not separate in time
        return make_pipeline(*steps).fit(X, y)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_pipeline_with_a_scaler_is_saved_and_predicts_as_before(tmp_path, estimator):
    X, y = cloud()
    for scaler in SCALERS:
        pipe = fitted(scaler, Pipeline([("within", MinMaxScaler())]), estimator, X=X, y=y)
        rb.save(pipe, tmp_path / "model.json")
        model = rb.load(tmp_path / "model.json")
        assert model.feature_names_ == ("age", "debt", "rate")
        assert model.predict(X).tolist() == pipe.predict(X).tolist()
        expected = pipe.decision_function(X)
        assert model.decision_function(X) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@settings(max_examples=n_cases(50), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(SCALERS), st.sampled_from(SCALERS))
def test_two_scalers_fold_into_one_weight_vector(seed, first, second):
    X, y = cloud(seed, 12)
    if len(set(y)) < 2:
        return
    pipe = fitted(first, second, rb.Perceptron(max_updates=50), X=X.to_numpy(), y=y)
    model = Model.of(pipe)
    assert model.predict(X.to_numpy()).tolist() == pipe.predict(X.to_numpy()).tolist()
    assert model.feature_names_ == ("x1", "x2", "x3")


def test_weights_that_rounding_would_move_across_a_row_are_refused():
    rng = np.random.default_rng(0)
    near = rng.integers(0, 4, 60)
    X = np.column_stack([1e17 + 16.0 * near, rng.uniform(0, 4, 60)])
    pipe = fitted(StandardScaler(), rb.Perceptron(), X=X, y=near + X[:, 1] > 4)
    with refuses(FoldingError, 60, "joblib.dump"):
        Model.of(pipe)


@pytest.mark.parametrize(
    ("step", "named"),
    [
        (PolynomialFeatures(), "PolynomialFeatures"),
        (MinMaxScaler(clip=True), "MinMaxScaler"),
        (make_column_transformer((PowerTransformer(), ["age"])), "PowerTransformer"),
        (SimpleImputer(add_indicator=True), "SimpleImputer"),
        (
            make_column_transformer((SimpleImputer(), ["age"]), remainder="passthrough"),
            '"debt"',
        ),
        (
            make_column_transformer((OneHotEncoder(), ["age"]), ("passthrough", ["age"])),
            '"age"',
        ),
        (OneHotEncoder(min_frequency=3, handle_unknown="ignore"), "OneHotEncoder"),
        (make_pipeline(StandardScaler(), OneHotEncoder()), "OneHotEncoder"),
    ],
    ids=["polynomial", "clip", "columns", "indicator", "imputed", "twice", "rare", "scaled"],
)
def test_a_nonlinear_step_is_refused_with_a_remedy(tmp_path, step, named):
    X, y = cloud()
    pipe = fitted(step, rb.Perceptron(max_updates=50), X=X, y=y)
    with refuses(FoldingError, named, "joblib.dump"):
        rb.save(pipe, tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()


def test_categories_with_blanks_around_them_are_refused_for_that_reason(tmp_path):
    X = pd.DataFrame({"job": [" baker", " clerk", "cook"] * 4})
    pipe = fitted(OneHotEncoder(), rb.Perceptron(), X=X, y=["no", "yes", "no"] * 4)
    with refuses(FoldingError, "joblib.dump"):
        rb.save(pipe, tmp_path / "model.json")


def applicants(seed, n=120):
    """Rows of several kinds with missing values, and two and three labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "id": np.arange(n),
            "age": rng.normal(40, 10, n).round(1),
            "debt": rng.integers(0, 9000, n),
            "job": rng.choice(["baker", "clerk", "student"], n),
            "owner": rng.choice([True, False], n),
            "level": rng.integers(1, 4, n),
        }
    )
    merit = X["age"] / 10 - X["debt"] / 1000 + 2 * (X["job"] == "clerk") + X["level"]
    three = np.select([merit > 4, merit > 1], ["high", "middle"], "low")
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    X.loc[rng.random(n) < 0.1, "job"] = np.nan
    X.loc[rng.random(n) < 0.1, "level"] = np.nan  # a category like any other
    return X, {2: np.where(three == "high", "yes", "no"), 3: three}


def unseen(X):
    """The same rows with more gaps, and with categories that no row had."""
    X = X.copy()
    X["debt"] = X["debt"].astype(float)
    X.loc[::5, "age"], X.loc[::7, "debt"] = np.nan, np.nan
    X.loc[::3, "job"], X.loc[::11, "level"] = "pilot", 9
    return X


def of_columns(scaler=None, drop=None):
    """Named columns: imputed and scaled numbers, and encoded categories."""
    return ColumnTransformer(
        [
            ("levels", OneHotEncoder(handle_unknown="ignore", drop=drop), ["level", "owner"]),
            (
                "numbers",
                make_pipeline(SimpleImputer(strategy="median"), scaler or StandardScaler()),
                ["debt", "age"],
            ),
            (
                "jobs",
                make_pipeline(
                    SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
                ),
                ["job"],
            ),
        ]
    )


COLUMNS = {
    "standard": of_columns(),
    "min-max, weighted": of_columns(MinMaxScaler()).set_params(transformer_weights={"jobs": 3}),
    "first category dropped": of_columns("passthrough", drop="first"),
    "scaled before it is imputed": make_column_transformer(
        (make_pipeline(RobustScaler(), SimpleImputer()), ["age", "debt"]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["job"]),
    ),
}


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("prepare", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("estimator", ESTIMATORS[:3], ids=["pla", "no intercept", "pocket"])
def test_named_columns_are_saved_and_predicted_as_before(tmp_path, estimator, prepare, count):
    X, labels = applicants(count)
    pipe = fitted(prepare, estimator, X=X, y=labels[count])
    rb.save(pipe, tmp_path / "model.json")
    model = rb.load(tmp_path / "model.json")
    for rows in (X, unseen(X)):
        assert model.predict(rows).tolist() == pipe.predict(rows).tolist()
        scores = pipe.decision_function(rows)
        assert model.decision_function(rows) == pytest.approx(scores, rel=1e-9, abs=1e-9)
    assert "id" not in [column.name for column in model.encoding.columns]


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("count", [2, 3])
def test_a_file_is_predicted_by_the_command_and_in_node_as_by_the_pipeline(
    tmp_path, monkeypatch, count
):
    monkeypatch.chdir(tmp_path)
    X, labels = applicants(7)
    pipe = fitted(of_columns(), rb.Perceptron(average=True, max_iter=20), X=X, y=labels[count])
    rb.save(pipe, "model.json")
    unseen(X).to_csv("new.csv", index=False)
    assert rosenblatt(["predict", "model.json", "new.csv", "-o", "out.csv"]) == 0
    found, expected = pd.read_csv("out.csv")["prediction"], pipe.predict(pd.read_csv("new.csv"))
    assert found.tolist() == expected.tolist()
    with open("new.csv", newline="") as file:
        assert predicted_by_node("model.json", list(csv.DictReader(file)), tmp_path) == [*expected]


def test_columns_of_an_array_are_saved_by_position(tmp_path):
    X, y = cloud()
    prepare = make_column_transformer((StandardScaler(), [2, 0]))  # the second column is dropped
    pipe = fitted(prepare, rb.PocketPerceptron(max_updates=50), X=X.to_numpy(), y=y)
    rb.save(pipe, tmp_path / "model.json")
    model = rb.load(tmp_path / "model.json")
    assert model.feature_names_ == ("x1", "x2", "x3")
    assert model.predict(X.to_numpy()).tolist() == pipe.predict(X.to_numpy()).tolist()


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("prepare", COLUMNS.values(), ids=COLUMNS)
def test_onnx_predicts_named_columns_as_the_pipeline(prepare, dtype, count):
    onnxruntime = pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    X, labels = applicants(10 + count)
    pipe = fitted(prepare, rb.Perceptron(average=True, max_iter=20), X=X, y=labels[count])
    new = unseen(X)
    for name in ("age", "debt"):  # single precision holds these numbers after rounding them once
        new[name] = new[name].astype(dtype).astype(np.float64)
    graph = rb.to_onnx(pipe, dtype=dtype)
    run = onnxruntime.InferenceSession(graph.SerializeToString())
    given = {
        "age": new["age"].to_numpy(dtype),
        "debt": new["debt"].to_numpy(dtype),
        "job": new["job"].fillna("").to_numpy(dtype=object),
        "level": new["level"].astype(str).fillna("").replace("nan", "").to_numpy(dtype=object),
        "owner": new["owner"].astype(str).str.lower().to_numpy(dtype=object),
    }
    label, scores = run.run(None, {one.name: given[one.name] for one in run.get_inputs()})
    assert label.tolist() == pipe.predict(new).tolist()
    np.testing.assert_allclose(scores, pipe.decision_function(new), rtol=1e-9, atol=1e-9)


def test_onnx_names_a_step_with_unknown_column_types():
    pytest.importorskip("onnx", reason="the extra `onnx` is not installed")
    X, y = cloud()
    prepare = make_column_transformer((PowerTransformer(), ["age"]))
    with refuses(ValueError, "PowerTransformer", "skl2onnx.to_onnx"):
        rb.to_onnx(fitted(prepare, rb.Perceptron(max_updates=50), X=X, y=y))
    texts = fitted(CountVectorizer(), rb.Perceptron(), X=["free prize", "lunch now"], y=[1, 0])
    with refuses(ValueError, "CountVectorizer", "skl2onnx.to_onnx"):
        rb.to_onnx(texts)


def shown(pipe, X, y):
    """All that can be shown of a pipeline."""
    yield rb.report(pipe, X, y).html
    yield str(rb.BoundaryDisplay.from_estimator(pipe, X, y).ax_.get_title(loc="left"))
    last = pipe[-1]
    if hasattr(last, "trace_"):
        rb.TraceDisplay.from_estimator(pipe, X, y)
        rb.GuaranteeDisplay.from_estimator(pipe, X, y)
        yield str(len(last.trace_))
    if hasattr(last, "history_"):
        rb.PocketDisplay.from_estimator(pipe, X, y)


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_reports_and_plots_use_the_input_of_the_last_step(estimator):
    import matplotlib.pyplot as plt

    X, y = cloud()
    jobs = np.where(X["age"] > 5, "baker", "clerk")
    X = X.assign(job=jobs)
    prepare = make_column_transformer(
        (StandardScaler(), ["age", "debt"]), (OneHotEncoder(sparse_output=False), ["job"])
    )
    pipe = fitted(prepare, estimator, X=X, y=y)
    page, title, *_ = shown(pipe, X, y)
    plt.close("all")
    for name in ("standardscaler__age", "onehotencoder__job_baker"):
        assert name in page
    assert "40 examples" in title


def test_the_report_of_text_names_words_and_has_a_player():
    pytest.importorskip("anywidget")
    texts = ["free prize now", "lunch at noon", "claim your free prize", "see you at lunch"]
    kinds = ["spam", "ham", "spam", "ham"]
    pipe = fitted(CountVectorizer(), rb.Perceptron(), X=texts, y=kinds)
    assert "lunch" in rb.report(pipe, texts, kinds).html
    player = rb.widget(texts, kinds, clf=pipe)
    assert player.story["updates"] == pipe[-1].n_updates_


def test_features_without_names_are_counted_from_one():
    from rosenblatt.show.story import examples_of

    X, y = cloud()
    pipe = fitted(PolynomialFeatures(2), rb.PocketPerceptron(max_updates=5), X=X.to_numpy(), y=y)
    assert examples_of(pipe, X.to_numpy(), y).names[:4] == ("1", "x1", "x2", "x3")


def doors(clf, X, y, path):
    yield lambda: rb.save(clf, path)
    yield lambda: rb.report(clf, X, y)
    yield lambda: rb.BoundaryDisplay.from_estimator(clf, X, y)
    yield lambda: rb.TraceDisplay.from_estimator(clf, X, y)
    yield lambda: rb.GuaranteeDisplay.from_estimator(clf, X, y)
    yield lambda: rb.PocketDisplay.from_estimator(clf, X, y)
    yield lambda: rb.OptimumDisplay.from_estimator(clf)
    yield lambda: rb.widget(X, y, clf=clf)


def test_an_unfitted_pipeline_is_named_as_such(tmp_path):
    pytest.importorskip("anywidget")
    X, y = cloud()
    for clf in (rb.PocketPerceptron(), make_pipeline(StandardScaler(), rb.PocketPerceptron())):
        for door in doors(clf, X, y, tmp_path / "model.json"):
            with refuses(ValueError, "PocketPerceptron", "fit"):
                door()
    with refuses(ValueError, "LogisticRegression", "fit"):
        rb.report(LogisticRegression(), X, y)


def test_an_unsupported_pipeline_is_not_called_unfitted(tmp_path):
    pytest.importorskip("anywidget")
    X, y = cloud()
    tree = DecisionTreeClassifier()
    for clf in (tree, tree.fit(X, y), fitted(StandardScaler(), tree, X=X, y=y)):
        for door in doors(clf, X, y, tmp_path / "model.json"):
            with refuses(TypeError, "DecisionTreeClassifier"):
                door()
    for foreign in (LogisticRegression(), LogisticRegression().fit([[0.0], [1.0]], [0, 1])):
        with refuses(TypeError, "LogisticRegression"):
            rb.save(foreign, tmp_path / "model.json")
    search = GridSearchCV(rb.Perceptron(max_updates=50), {"eta0": [1.0]}, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    with refuses(TypeError, "best_estimator_"):
        rb.save(search, tmp_path / "model.json")
