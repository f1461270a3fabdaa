"""Formats of X and y: which are accepted, which are not copied, and what errors name."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from facts import refuses
from scipy import sparse
from sklearn.exceptions import NotFittedError

import rosenblatt as rb
from rosenblatt.examples import Examples

rng = np.random.default_rng(11)
TABLE = rng.integers(-9, 10, size=(30, 3)).astype(float) * (rng.random((30, 3)) < 0.7)
ANSWERS = np.where(TABLE @ [2, -1, 3] > 1, 1, -1)
NAMES = ["age", "debt", "salary"]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def sparse_as(kind, index_dtype, dtype=np.float64):
    def make(X):
        S = getattr(sparse, kind)(X.astype(dtype))
        for part in ("indices", "indptr", "row", "col"):
            if hasattr(S, part):
                setattr(S, part, getattr(S, part).astype(index_dtype))
        if kind.startswith("coo"):
            S.coords = tuple(c.astype(index_dtype) for c in S.coords)
        return S

    return make


def with_duplicates(X):
    """Return a CSR matrix that stores each entry as two halves, unsorted."""
    S = sparse.coo_array(X)
    halves = np.concatenate([S.data / 2, S.data / 2])
    row, col = np.tile(S.row, 2), np.tile(S.col, 2)
    order = np.lexsort((-np.arange(len(row)), row))
    indptr = np.searchsorted(row[order], np.arange(len(X) + 1))
    return sparse.csr_array((halves[order], col[order], indptr), shape=X.shape)


FORMATS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "big-endian": lambda X: X.astype(">f8"),
    "int64": lambda X: X.astype(np.int64),
    "int8": lambda X: X.astype(np.int8),
    "object": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "Fortran order": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "columns of a wider array": lambda X: np.hstack([X, X])[:, :3],
    "read-only": read_only,
    "read-only float32": lambda X: read_only(X.astype(np.float32)),
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas of mixed types": lambda X: pd.DataFrame(X, columns=NAMES).astype(
        {"age": "int32", "debt": "float32"}
    ),
    "pandas nullable": lambda X: pd.DataFrame(X, columns=NAMES).astype("Int64"),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "polars integers": lambda X: pl.DataFrame(X.astype(int), schema=NAMES),
    "CSR with duplicates": with_duplicates,
    "CSR of integers": lambda X: sparse.csr_array(X.astype(np.int64)),
    "CSR float32": sparse_as("csr_matrix", np.int32, np.float32),
} | {
    f"{kind} {np.dtype(index).name}": sparse_as(kind, index)
    for kind in ("csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array", "coo_matrix")
    for index in (np.int32, np.int64)
}


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_gives_the_same_updates_and_predictions(form):
    expected = rb.Perceptron().fit(TABLE, ANSWERS)
    X = FORMATS[form](TABLE)
    clf = rb.Perceptron().fit(X, ANSWERS)
    assert clf.trace_.examples.tolist() == expected.trace_.examples.tolist()
    assert clf.weights_.tolist() == expected.weights_.tolist()
    assert clf.predict(X).tolist() == ANSWERS.tolist()
    assert clf.partial_fit(X, ANSWERS).n_updates_ == expected.n_updates_


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_test_data_have_the_named_index_type(index):
    for kind in ("csr_array", "csc_matrix"):
        assert sparse_as(kind, index)(TABLE).indices.dtype == index
    assert sparse_as("coo_array", index)(TABLE).coords[0].dtype == index


@pytest.mark.parametrize(
    "answers",
    [
        lambda y: y.tolist(),
        lambda y: y.astype(float),
        lambda y: y.astype(np.int8),
        lambda y: read_only(y),
        lambda y: np.repeat(y, 2)[::2],
        lambda y: pd.Series(y),
        lambda y: pl.Series(y),
        lambda y: pd.Series(np.where(y > 0, "yes", "no")),
        lambda y: pd.Series(np.where(y > 0, "yes", "no"), dtype="category"),
        lambda y: pl.Series(np.where(y > 0, "yes", "no")),
        lambda y: np.where(y > 0, "yes", "no").astype(object),
        lambda y: y > 0,
    ],
)
def test_every_kind_of_label_gives_the_same_updates(answers):
    expected = rb.Perceptron().fit(TABLE, ANSWERS)
    clf = rb.Perceptron().fit(TABLE, answers(ANSWERS))
    assert clf.trace_.examples.tolist() == expected.trace_.examples.tolist()
    assert (clf.predict(TABLE) == clf.classes_[1]).tolist() == (ANSWERS > 0).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_contiguous_float_array_is_not_copied(dtype):
    X = TABLE.astype(dtype)
    clf = rb.Perceptron().fit(X, ANSWERS)
    assert np.shares_memory(clf.trace_.origin.examples.X, X)


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_csr_matrix_is_not_copied(kind, index, dtype):
    X = sparse_as(kind, index, dtype)(TABLE)
    taken = rb.Perceptron().fit(X, ANSWERS).trace_.origin.examples.X
    assert np.shares_memory(taken.data, X.data)
    assert np.shares_memory(taken.indices, X.indices)
    assert np.shares_memory(taken.indptr, X.indptr)


@pytest.mark.parametrize("form", ["float64", "float32", "CSR with duplicates", "Fortran order"])
def test_the_callers_data_are_never_modified(form):
    X, y, s = FORMATS[form](TABLE.copy()), ANSWERS.copy(), np.full(len(TABLE), 2.0)
    before = X.toarray() if sparse.issparse(X) else X.copy()
    rb.Perceptron().fit(X, y, sample_weight=s)
    assert np.array_equal(X.toarray() if sparse.issparse(X) else X, before)
    assert np.array_equal(y, ANSWERS)
    assert (s == 2).all()


def test_feature_names_come_from_the_frame():
    clf = rb.Perceptron().fit(pd.DataFrame(TABLE, columns=NAMES), ANSWERS)
    assert clf.feature_names_in_.tolist() == NAMES
    assert clf.n_features_in_ == 3


# What is refused.


def spoilt(value, row=17, column=2, dtype=float):
    X = TABLE.astype(dtype)
    X[row, column] = value
    return X


def frame(value):
    X = pd.DataFrame(TABLE, columns=NAMES).astype(object)
    X.loc[17, "salary"] = value
    return X


def polars_text():
    return pl.DataFrame(TABLE, schema=NAMES).with_columns(
        pl.Series("salary", [str(v) for v in TABLE[:16, 2]] + ["n/a"] * 14)
    )


PLACE = r"row 17\b.*column 2\b"
NAMED_PLACE = r'row 17\b.*column "?salary'
BAD_X = {
    "NaN": (spoilt(np.nan), PLACE + ".*NaN"),
    "NaN in float32": (spoilt(np.nan, dtype=np.float32), PLACE + ".*NaN"),
    "infinity": (spoilt(np.inf), PLACE + ".*inf"),
    "minus infinity": (spoilt(-np.inf), PLACE + ".*inf"),
    "NaN in Fortran order": (np.asfortranarray(spoilt(np.nan)), PLACE + ".*NaN"),
    "NaN in CSR": (sparse.csr_array(spoilt(np.nan)), PLACE + ".*NaN"),
    "infinity in CSC": (sparse.csc_array(spoilt(np.inf)), PLACE + ".*inf"),
    "NaN in COO": (sparse.coo_matrix(spoilt(np.nan)), PLACE + ".*NaN"),
    "NaN in pandas": (pd.DataFrame(spoilt(np.nan), columns=NAMES), NAMED_PLACE + ".*NaN"),
    "null in polars": (pl.DataFrame(spoilt(np.nan), schema=NAMES).fill_nan(None), NAMED_PLACE),
    "missing in nullable pandas": (
        pd.DataFrame(TABLE, columns=NAMES)
        .astype("Int64")
        .mask(pd.DataFrame(spoilt(np.nan), columns=NAMES).isna()),
        NAMED_PLACE,
    ),
    "text among objects": (spoilt("n/a", dtype=object), PLACE + ".*n/a"),
    "None among objects": (spoilt(None, dtype=object), PLACE),
    "text in a list": (spoilt("n/a", dtype=object).tolist(), PLACE + ".*n/a"),
    "text in an array of text": (np.array(spoilt("n/a", dtype=object).tolist()), PLACE + ".*n/a"),
    "text in pandas": (frame("n/a"), NAMED_PLACE + ".*n/a"),
    "text in polars": (polars_text(), r'row 16\b.*column "?salary.*n/a'),
    "complex numbers": (TABLE + 1j, "[Cc]omplex"),
    "no rows": (np.empty((0, 3)), "0 sample"),
    "no columns": (np.empty((30, 0)), "0 feature"),
    "one dimension": (TABLE[:, 0], "2D"),
    "three dimensions": (TABLE[None], "2D"),
    "one number": (3.0, "2D"),
    "ragged rows": ([[1.0, 2.0], [3.0]], "X"),
    "too few rows": (TABLE[:29], "29.*30"),
}


def refusal(fit):
    """Return the error message of `fit`, checked to be one readable line."""
    with pytest.raises((ValueError, TypeError)) as caught:
        fit()
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith((".", '"', "'", "]", ")"))
    assert 20 < len(message) < 300
    return message


def assert_refused(message, clf, X, y, **arguments):
    """Check that fit raises a matching error and leaves new and fitted estimators unchanged."""
    before = dict(vars(clf))
    sentence = refusal(lambda: clf.fit(X, y, **arguments))
    assert re.search(message, sentence), sentence
    assert vars(clf) == before
    fitted = rb.Perceptron().fit(TABLE, ANSWERS).set_params(**clf.get_params())
    before = dict(vars(fitted))
    refusal(lambda: fitted.fit(X, y, **arguments))
    assert vars(fitted).keys() == before.keys()
    assert all(vars(fitted)[name] is before[name] for name in before)
    return sentence


@pytest.mark.parametrize("name", BAD_X)
def test_an_invalid_x_is_refused_with_row_and_column(name):
    X, message = BAD_X[name]
    assert_refused(message, rb.Perceptron(), X, ANSWERS)


@pytest.mark.parametrize("name", ["NaN", "NaN in CSR", "text in pandas", "no rows", "one number"])
def test_partial_fit_and_predict_refuse_an_invalid_x_too(name):
    X, _ = BAD_X[name]
    clf = rb.Perceptron()
    refusal(lambda: clf.partial_fit(X, ANSWERS, classes=[-1, 1]))
    assert not hasattr(clf, "weights_")
    assert not hasattr(clf, "classes_")
    refusal(lambda: rb.Perceptron().fit(TABLE, ANSWERS).predict(X))


def answers(*changes):
    y = ANSWERS.astype(object)
    for row, value in changes:
        y[row] = value
    return y


BAD_Y = {
    "one class": (np.ones(30), "one class"),
    "continuous": (np.linspace(0, 1, 30), "continuous"),
    "too long": (np.append(ANSWERS, 1), "30.*31"),
    "empty": ([], "y|answer"),
    "NaN": (answers((17, np.nan)).astype(float), r"NaN.*row 17|row 17.*NaN"),
    "None": (answers((17, None)), r"row 17"),
    "infinity": (answers((17, np.inf)).astype(float), r"inf.*row 17|row 17.*inf"),
    "mixed kinds": (answers((17, "yes")), "str"),
    "two columns": (np.column_stack([ANSWERS, ANSWERS]), "1d"),
    "missing": (None, "y"),
}


@pytest.mark.parametrize("y", [np.arange(30) % 3, np.array(["a", "b", "c"] * 10)])
def test_three_classes_are_refused_where_two_are_needed(y):
    assert "3 classes" in refusal(lambda: rb.FewestMistakes().fit(TABLE, y))


@pytest.mark.parametrize("name", BAD_Y)
def test_an_invalid_y_is_refused(name):
    y, message = BAD_Y[name]
    assert_refused(message, rb.Perceptron(), TABLE, y)


@pytest.mark.parametrize(
    "parameters",
    [
        {"order": "Cycle"},
        {"order": None},
        {"order": 3},
        {"zero": "plus"},
        {"zero": 0},
        {"eta0": 0},
        {"eta0": -1.0},
        {"eta0": np.nan},
        {"eta0": np.inf},
        {"eta0": "fast"},
        {"eta0": None},
        {"max_iter": 0},
        {"max_iter": 2.5},
        {"max_iter": None},
        {"max_updates": -1},
        {"max_updates": 1.5},
        {"intercept_scaling": 0},
        {"intercept_scaling": np.nan},
        {"random_state": "lucky", "order": "random"},
        {"class_weight": "heavy"},
    ],
    ids=str,
)
def test_invalid_parameters_are_refused_by_name(parameters):
    name = next(iter(parameters))
    sentence = assert_refused(name, rb.Perceptron(**parameters), TABLE, ANSWERS)
    if name in ("order", "zero"):
        assert "'cycle'" in sentence or "'mistake'" in sentence  # the choices are listed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"coef_init": [0.0, np.nan, 0.0]}, r"coef_init.*\b1\b.*nan"),
        ({"coef_init": [0.0, 0.0, np.inf]}, r"coef_init.*\b2\b.*inf"),
        ({"coef_init": [0.0, 0.0]}, "coef_init.*2.*3"),
        ({"coef_init": ["a", "b", "c"]}, "coef_init"),
        ({"intercept_init": np.nan}, "intercept_init.*nan"),
        ({"intercept_init": [1.0, 2.0]}, "intercept_init"),
        ({"sample_weight": np.ones(29)}, "sample_weight.*29"),
        ({"sample_weight": np.where(np.arange(30) == 17, -1.0, 1.0)}, "sample_weight.*row 17"),
        ({"sample_weight": np.where(np.arange(30) == 17, np.nan, 1)}, "sample_weight.*row 17"),
        ({"sample_weight": np.zeros(30)}, "sample_weight"),
        ({"sample_weight": (ANSWERS > 0).astype(float)}, "sample_weight.*class"),
        ({"sample_weight": ["a"] * 30}, "sample_weight"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_invalid_arguments_of_fit_are_refused_by_name(arguments, message):
    assert_refused(message, rb.Perceptron(), TABLE, ANSWERS, **arguments)


@pytest.mark.parametrize("order", ["cycle", "random-cycle", "shuffle", "first", "random"])
@pytest.mark.parametrize("zero", ["mistake", "negative", "positive"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused_whichever_check_finds_them(order, zero, value):
    """Check all orders: some check X before training, others during it; weight 0 skips the row."""
    X = np.vstack((TABLE, np.tile(TABLE, (99, 1))))
    X[1234, 1] = value
    y, few = np.tile(ANSWERS, 100), np.arange(3000) != 1234
    model = rb.Perceptron(order=order, zero=zero, max_iter=20, random_state=0)
    place = r"row 1234, column 1: (NaN|infinity)"
    assert_refused(place, model, X, y)
    assert_refused(place, model, sparse.csr_array(X), y, sample_weight=few)
    assert_refused(place, model, X, y, coef_init=[2.0, -1.0, 3.0], intercept_init=-1.0)


def test_a_few_huge_numbers_are_rescaled_for_training():
    X, y = np.tile(TABLE, (99, 1)), np.tile(ANSWERS, 99)
    X[1234] *= 2.0**1000
    clf = rb.Perceptron(max_iter=200_000).fit(X, y)
    assert clf.separated_
    assert np.array_equal(clf.predict(X), y)


def test_checking_all_numbers_returns_new_examples():
    X = np.ones((10_000, 2))
    X[5_001] = 1e300
    examples = Examples.from_arrays(X, np.arange(10_000) % 2, looked_at=False)
    looked_at = examples.look()
    assert (examples.unit, looked_at.unit > 1) == (1.0, True)
    assert looked_at.look() is looked_at


@pytest.mark.parametrize("form", ["float64", "CSR"])
def test_weights_that_would_overflow_are_refused(form):
    X = np.array([[1.5e308, 1.0], [-1.5e308, 2.0]])
    X = sparse.csr_array(X) if form == "CSR" else X
    assert_refused("overflow|too large", rb.Perceptron(eta0=100.0), X, [1, -1])


@pytest.mark.parametrize(
    "X",
    [
        [[1.5e308, 0.0], [-1.5e308, 0.0]],
        [[1.5e308, 1.0], [1.5e308, -1.0]],
        [[8e307, 8e307], [8e307, -8e307]],
    ],
    ids=str,
)
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_numbers_near_the_largest_float_are_trained_on_if_weights_can_hold_them(X, form):
    clf = rb.Perceptron(fit_intercept=False).fit(form(X), [1, -1])
    assert clf.separated_
    assert np.isfinite(clf.weights_).all()


def test_an_unfitted_estimator_raises_not_fitted_error():
    with refuses(NotFittedError, "Perceptron", "fit"):
        rb.Perceptron().predict(TABLE)


def test_predicting_with_other_columns_is_refused():
    clf = rb.Perceptron().fit(TABLE, ANSWERS)
    with refuses(ValueError, 2, 3):
        clf.predict(TABLE[:, :2])
