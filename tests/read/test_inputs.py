"""One way in: rows and labels mean the same however they are given."""

import contextlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from facts import refuses

import rosenblatt as rb
from rosenblatt.errors import UserError

FRAMES = (pd.DataFrame, pl.from_pandas, pa.Table.from_pandas)


def points(labels=("no", "yes"), n=40, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n).round(2), "b": rng.integers(0, 9, n) / 2})
    yes = frame.a + frame.b / 4 + rng.normal(size=n) > 0.5
    frame["y"] = np.where(yes, labels[1], labels[0])
    return frame


def results(*arguments, **how):
    """What each of the three functions finds."""
    s = rb.separability(*arguments, **how)
    f = rb.fewest_mistakes(*arguments, random_state=0, n_jobs=1, **how)
    r = rb.learn(*arguments, **how)
    assert s.proof.check(*arguments, **how)
    assert f.proof is None or f.proof.check(*arguments, again=True, **how)
    conflicts = [part.rows for part in s.conflicts]
    return s.verdict, conflicts, f.mistakes, f.weights.tolist(), r.verdict, r.mistakes


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (2, 10), (False, True)])
def test_arrays_frames_and_files_give_the_same_result(labels, tmp_path):
    frame = points(labels)
    expected = results(frame[["a", "b"]].to_numpy(), frame.y.to_numpy())
    for make in FRAMES:
        assert results(make(frame), "y") == expected
        assert results(make(frame), target="y") == expected
        assert results(make(frame[["a", "b"]]), frame.y.to_numpy()) == expected
    path = tmp_path / "points.csv"
    frame.to_csv(path, index=False)
    assert results(path, target="y") == expected
    assert results(str(path), "y") == expected


def test_text_becomes_categories_as_learn_reads_it(tmp_path):
    frame = points().assign(town=np.resize(["Bonn", "Kiel", "Ulm"], 40))
    dummies = pd.get_dummies(frame.town).astype(float)
    X = np.hstack([frame[["a", "b"]].to_numpy(), dummies.to_numpy()])
    verdict = rb.separability(X, frame.y).verdict
    fewest = rb.fewest_mistakes(X, frame.y, random_state=0).mistakes
    for make in FRAMES:
        for given in ((make(frame), "y"), (make(frame.drop(columns="y")), frame.y.to_numpy())):
            assert rb.separability(*given).verdict == verdict
            assert rb.fewest_mistakes(*given, random_state=0).mistakes == fewest


def test_rows_are_named_by_the_index():
    frame = points()
    frame.index = [f"p{i}" for i in range(40)]
    s = rb.separability(frame, "y")
    assert all(f'"p{n}"' in str(s) for n in s.conflicts[0].rows)


@pytest.mark.parametrize("function", [rb.learn, rb.separability, rb.fewest_mistakes, rb.separation])
@pytest.mark.parametrize(
    ("arguments", "how"),
    [
        ((points(), "y"), {"target": "a"}),
        ((points(), points().y), {"target": "y"}),
        ((points(), "nothere"), {}),
        ((points(),), {"target": "nothere"}),
        (([[1.0], [2.0]],), {"target": "y"}),
        (([[1.0], [2.0]], "y"), {}),
        (("nofile.csv",), {"target": "y"}),
        (("nofile.csv", [0, 1]), {}),
    ],
)
def test_inconsistent_input_gets_one_sentence(function, arguments, how):
    with pytest.raises(UserError) as refused:
        function(*arguments, **how)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("function", [rb.separability, rb.fewest_mistakes, rb.separation])
def test_a_refused_missing_value_suggests_only_existing_options(function, tmp_path):
    frame = points().assign(a=np.where(np.arange(40) == 7, np.nan, 1.0))
    frame.to_csv(tmp_path / "gap.csv", index=False)
    with refuses(ValueError, row=7, column="a"):
        function(frame, "y")
    with refuses(ValueError, "gap.csv", "data frame", row=8, column="a"):
        function(tmp_path / "gap.csv", "y")


def test_fewest_mistakes_needs_two_labels():
    frame = points().assign(y=np.resize(["a", "b", "c"], 40))
    with refuses(ValueError, "'a'", "'b'", "'c'"):
        rb.fewest_mistakes(frame, "y")


@pytest.mark.parametrize("function", [rb.learn, rb.separability, rb.fewest_mistakes, rb.separation])
def test_lazy_frames_are_refused(function):
    frame = points()
    lazy = [pl.from_pandas(frame).lazy()]
    with contextlib.suppress(ImportError):
        import dask.dataframe as dd

        lazy.append(dd.from_pandas(frame, npartitions=2))
    for one in lazy:
        with refuses(UserError):
            function(one, "y")
