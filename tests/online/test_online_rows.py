"""One row and a block of one row: both are accepted or both refused, and both alike."""

import math
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from facts import refuses
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rosenblatt as rb

CELLS = [
    *(0, 1, -3, 0.5, -0.0, 1e-320, 1e99, True, False, 2**53, Decimal("1.5"), Fraction(1, 3)),
    *(np.bool_(True), np.int8(3), np.uint64(7), np.float16(0.1), np.float32(0.1), np.float64(2)),
    # What no model can take:
    *(math.nan, math.inf, -math.inf, None, pd.NA, pd.NaT, np.float32("nan"), 1e100, -1e308, 9e99),
    *(10**400, 2**53 + 1, Decimal(2**53 + 1), "1", "x", b"1", np.str_("1"), 1j),
    *([1], {}, date(2020, 1, 1), time(1), timedelta(1)),
    *(np.datetime64("2020-01-01", "ns"), np.timedelta64(1, "ns"), pd.Timestamp("2020-01-01")),
]
NAMES = ("a", "b", "c")


def trained(names, labels, predict_with):
    """A model that knows three features."""
    model = rb.OnlinePerceptron(labels=labels, predict_with=predict_with)
    rng = np.random.default_rng(0)
    for n in range(8):
        x = dict(zip(names, rng.integers(-3, 4, 3).tolist(), strict=True))
        model.learn_one(x, n % (2 if labels is None else len(labels)))
    return model


def cells_in_array(values):
    """An array of objects, with nothing unpacked."""
    X = np.empty((1, len(values)), dtype=object)
    for j, value in enumerate(values):
        X[0, j] = value
    return X


def outcome(model, work):
    """What came of it and the state afterwards, or None where the row was refused."""
    before = model.state()
    try:
        result = work(model)
    except ValueError:
        assert model.state() == before, "a row that is refused changes nothing"
        return None
    return result, model.state()


def compare(row, block, model):
    """Predicting and learning agree on a row and on the block of it."""
    one = outcome(model(), lambda m: m.predict_one(row()))
    many = outcome(model(), lambda m: m.predict_many(block()).tolist()[0])
    assert one == many
    learnt_one = outcome(model(), lambda m: m.learn_one(row(), 1))
    learnt_many = outcome(model(), lambda m: m.learn_many(block(), [1]))
    both = outcome(model(), lambda m: m.predict_then_learn(block(), [1]).tolist()[0])
    assert learnt_one == learnt_many
    accepted = {one is None, learnt_one is None, both is None}
    assert len(accepted) == 1, "learning and predicting must accept the same rows"
    return one is not None


@settings(max_examples=300, deadline=None)
# Half floats overflow in products, which are then computed again in doubles.
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@given(
    values=st.lists(st.sampled_from(CELLS) | st.floats() | st.integers(), min_size=1, max_size=4),
    labels=st.sampled_from([None, (0, 1, 2)]),
    predict_with=st.sampled_from(["last", "average", "pocket"]),
)
@example(values=[9e99, 9e99], labels=None, predict_with="last")
@example(values=[1e100], labels=None, predict_with="last")
@example(values=[Decimal("1.5")], labels=None, predict_with="last")
@example(values=[Decimal("NaN")], labels=None, predict_with="last")
@example(values=[np.timedelta64(1, "ns"), 1.0], labels=None, predict_with="last")
def test_arrays_and_dicts_get_the_same_predictions(values, labels, predict_with):
    def by_place():
        return trained(range(3), labels, predict_with)

    accepted = {
        compare(lambda: list(values), lambda: cells_in_array(values), by_place),
        compare(lambda: cells_in_array(values)[0], lambda: cells_in_array(values), by_place),
        compare(lambda: dict(enumerate(values)), lambda: cells_in_array(values), by_place),
    }
    assert len(accepted) == 1


FRAMES = {
    "pandas": lambda cell: pd.DataFrame({"b": [cell], "a": [2.0]}),
    "pandas-objects": lambda cell: pd.DataFrame({"b": [cell], "a": [2.0]}, dtype=object),
    "polars": lambda cell: pl.DataFrame({"b": [cell], "a": [2.0]}),
    "arrow": lambda cell: pa.table({"b": [cell], "a": [2.0]}),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{type(cell).__name__}-{str(cell)[:12]}")
def test_frames_and_dicts_get_the_same_predictions(make, cell):
    try:
        frame = make(cell)
    except Exception:
        pytest.skip("no such frame can be made")
    if isinstance(frame, pl.DataFrame) and frame.dtypes[0] == pl.Object:
        pytest.skip("polars gives no cells of objects")
    compare(lambda: {"b": cell, "a": 2.0}, lambda: make(cell), lambda: trained(NAMES, None, "last"))


@pytest.mark.parametrize("values", [(1.0,), (1.0, 2.0, 3.0, 4.0)], ids=["fewer", "more"])
def test_missing_and_new_features_count_as_zero(values):
    X = np.array([values])
    assert compare(lambda: X[0], lambda: X, lambda: trained(range(3), None, "last"))
    names = ("z", *NAMES)[: len(values)]
    row, frame = dict(zip(names, values, strict=True)), pd.DataFrame([values], columns=names)
    assert compare(lambda: row, lambda: frame, lambda: trained(NAMES, None, "last"))


def test_models_of_named_features_refuse_arrays():
    assert not compare(
        lambda: np.ones(3), lambda: np.ones((1, 3)), lambda: trained(NAMES, None, "last")
    )


@pytest.mark.parametrize(
    "moments",
    [[date(2020, 1, 1), date(2021, 1, 1)], [timedelta(1), timedelta(2)], [time(1), time(2)]],
    ids=["date", "duration", "time"],
)
@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"]
)
def test_no_estimator_accepts_dates_as_numbers(frame, moments):
    X = frame({"when": moments, "size": [1.0, 2.0]})
    with refuses(ValueError, '"when"'):
        rb.Perceptron().fit(X, [0, 1])
