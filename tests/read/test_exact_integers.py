"""Long integers, above 2^53, are used exactly or refused by name, in every kind of input."""

import json
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt.cli import run
from rosenblatt.read import Layout, Source
from rosenblatt.read.data import read_in_passes
from rosenblatt.read.plan import ColumnOptions
from rosenblatt.tables import first_changed, is_changed, is_changed_text

LONG = 2**53 + 1
HALF = {"b": [0.5, 1.0]}
TABLES = {
    "int64": np.array([[1], [LONG]]),
    "uint64": np.array([[1], [2**64 - 1]], dtype=np.uint64),
    "least": np.array([[1], [-(2**63) + 1]]),
    "big-endian": np.array([[1], [LONG]], dtype=">i8"),
    "int list": [[1, 2], [LONG, 3]],
    "mixed list": [[1, 0.5], [LONG, 3]],
    "mixed tuples": ((1, 0.5), (LONG, 2)),
    "signs that have no common type": [[2**63, -1], [2**63 + 1, 5]],
    "more than 64 bits": [[1], [10**30 + 1]],
    "more than a double": [[1], [10**400]],
    "objects": np.array([[1], [LONG]], dtype=object),
    "decimals": [[Decimal("0.1")], [Decimal(LONG)]],
    "fractions": [[Fraction(1, 3)], [Fraction(LONG)]],
    "pandas": pd.DataFrame({"a": [1, LONG]}),
    "pandas with floats": pd.DataFrame({"a": [1, LONG], **HALF}),
    "pandas nullable": pd.DataFrame({"a": pd.array([1, LONG], dtype="Int64"), **HALF}),
    "pandas of Arrow": pd.DataFrame({"a": pd.array([1, LONG], dtype="int64[pyarrow]"), **HALF}),
    "polars": pl.DataFrame({"a": [1, LONG]}),
    "polars with floats": pl.DataFrame({"a": [1, LONG], **HALF}),
    "Arrow": pa.table({"a": [1, LONG]}),
    "Arrow with floats": pa.table({"a": [1, LONG], **HALF}),
    "Arrow with gaps": pa.table({"a": [None, LONG]}),
    "Arrow decimals": pa.table({"a": [Decimal(1), Decimal(LONG)]}),
    "Arrow batch": pa.record_batch({"a": [1, LONG], **HALF}),
    "CSR": scipy.sparse.csr_array(np.array([[0, 1], [LONG, 0]])),
}
if np.finfo(np.longdouble).nmant > 52:
    TABLES["long double"] = np.array([[1], [LONG]]).astype(np.longdouble)


@pytest.mark.parametrize("form", TABLES)
def test_a_table_with_a_long_integer_is_refused_by_row_and_column(form):
    X = TABLES[form]
    column = "a" if hasattr(X, "columns") or hasattr(X, "column_names") else 0
    for ask in (
        lambda: rb.separability(X, [0, 1]),
        lambda: rb.Perceptron().fit(X, [0, 1]),
        lambda: rb.Perceptron().fit([[0.0] * X_width(X), [1.0] * X_width(X)], [0, 1]).predict(X),
        lambda: rb.OnlinePerceptron().learn_many(X, [0, 1]),
    ):
        with refuses(ValueError, "X", row=1, column=column) as refused:
            ask()
        assert re.search(r": -?\d{16,}", str(refused.value))


def X_width(X):
    return X.shape[1] if hasattr(X, "shape") else len(X[0])


def test_long_integers_that_doubles_represent_and_decimals_are_accepted():
    numbers = [2**53, -(2**62), 2**100, 10**22, 1e300, Decimal("0.1"), Fraction(1, 3)]
    X = [[0] * len(numbers), numbers]
    s = rb.separability(X, [0, 1])
    assert s.proof.check(X, [0, 1])
    assert rb.separability(np.array([[0], [2**62]]), [0, 1]).proof.check([[0], [2**62]], [0, 1])


def test_subtracting_an_offset_makes_nanosecond_times_valid():
    times = np.array([1_700_000_000_000_000_001, 1_700_000_000_000_000_003]).reshape(-1, 1)
    with refuses(ValueError, row=0, column=0):
        rb.separability(times, [0, 1])
    assert rb.separability(times - times.min(), [0, 1]).verdict == "separable"


@given(st.lists(st.integers(-(2**64), 2**64), min_size=1, max_size=8))
def test_an_integer_is_inexact_where_python_finds_it_so(values):
    expected = [i for i, v in enumerate(values) if int(float(v)) != v]
    objects = np.array(values, dtype=object)
    found = first_changed(objects, objects.astype(np.float64))
    assert found == (expected[0] if expected else None)
    for kind in (np.int64, np.uint64):
        fits = [v for v in values if np.iinfo(kind).min <= v <= np.iinfo(kind).max]
        array = np.array(fits, dtype=kind)
        wrong = [i for i, v in enumerate(fits) if int(float(v)) != v]
        assert first_changed(array, array.astype(np.float64)) == (wrong[0] if wrong else None)
    for value in values:
        assert is_changed_text(str(value)) == (int(float(value)) != value)
        assert is_changed(value, float(value)) == (int(float(value)) != value)


def test_single_examples_are_checked_too():
    model = rb.OnlinePerceptron()
    for x in ({"a": LONG}, {"a": np.int64(LONG), "b": 0.5}, [LONG, 0.5], np.array([LONG])):
        for ask in (model.predict_one, lambda x: model.learn_one(x, True)):
            with refuses(ValueError, LONG):
                ask(x)
    assert model.n_seen == 0
    model.learn_one({"a": 2**60, "b": 1e20}, True)


def test_labels_may_be_long_integers():
    X = [[0.0], [1.0], [2.0]]
    for y in ([LONG, LONG, LONG - 1], np.array([2**64 - 1, 2**64 - 1, 2**64 - 2], np.uint64)):
        assert rb.Perceptron().fit(X, y).classes_.tolist() == sorted(set(map(int, y)))
    y = [LONG, -0.5, LONG - 1]
    assert rb.Perceptron(max_iter=10**6).fit(X, y).classes_.tolist() == sorted(y)


def rows_of(first, count=6):
    """A long id, a number and an answer, a row each."""
    return [(first + i, i % 5 + 0.5, "no" if i % 2 else "yes") for i in range(count)]


def write(path, rows):
    """Rows as a file of the kind that its name says."""
    kind = path.name.split(".")[-1]
    ids, xs, ys = (list(column) for column in zip(*rows, strict=True))
    if kind == "csv":
        path.write_text("id,x,y\n" + "".join(f"{i},{x},{y}\n" for i, x, y in rows))
    elif kind == "jsonl":
        lines = (json.dumps({"id": i, "x": x, "y": y}) + "\n" for i, x, y in rows)
        path.write_text("".join(lines))
    elif kind == "svm":
        path.write_text("".join(f"{y} 1:{i} 2:{x}\n" for i, x, y in rows))
    elif kind == "npy":
        table = np.array([[i, int(2 * x), y == "yes"] for i, x, y in rows], dtype=np.uint64)
        np.save(path, table if "unsigned" in path.name else table.astype(np.int64))
    else:
        types = {"unsigned": pa.uint64(), "decimal": pa.decimal128(20)}
        kind = types.get(path.name.split(".")[0], pa.int64())
        values = [Decimal(i) for i in ids] if pa.types.is_decimal(kind) else ids
        pq.write_table(pa.table({"id": pa.array(values, kind), "x": xs, "y": ys}), path)
    return path


FILES = [
    ("whole.csv", LONG),
    ("past 64 bits.csv", 2**63 + 1),
    ("lines.jsonl", LONG),
    ("past 64 bits.jsonl", 2**63 + 1),
    ("entries.svm", LONG),
    ("signed.npy", LONG),
    ("unsigned.npy", 2**63 + 1),
    ("signed.parquet", LONG),
    ("unsigned.parquet", 2**63 + 1),
    ("decimal.parquet", LONG),
]


@pytest.mark.parametrize(("name", "first"), FILES)
def test_every_format_names_the_row_and_the_remedy(name, first, tmp_path, capfd):
    path = write(tmp_path / name, rows_of(first))
    column = {"svm": "entries", "npy": "1"}.get(name.split(".")[-1], "id")
    target = ["--target", "1"] if name.endswith("svm") else ["--target", "-1"]
    for missing in ("drop", "mean", "error"):
        assert run(["separable", str(path), *target, "--missing", missing]) == 65
    line = capfd.readouterr().err.splitlines()[-1]
    assert f"row 1, column {column}" in line or f'row 1, column "{column}"' in line
    assert f"{first}" in line
    assert "a double holds exactly. Give --ignore" in line
    if not name.endswith("svm"):
        for option in ("--ignore", "--category"):
            assert run(["separable", str(path), *target, option, column]) in (0, 1)


@pytest.mark.parametrize(("name", "first"), FILES)
def test_reading_in_passes_finds_long_integers_too(name, first, tmp_path):
    path = write(tmp_path / name, [*rows_of(0, 40), *rows_of(first, 2)])
    target = "1" if name.endswith("svm") else "-1"
    with refuses(ValueError, first, row=41):
        list(
            read_in_passes(
                Source.find(str(path)), Layout(), ColumnOptions(target=target)
            ).row_batches()
        )


def test_long_integers_among_decimals_are_found_in_text(tmp_path, capfd):
    path = tmp_path / "d.csv"
    path.write_text(f"a,y\n0.5,0\n{LONG},1\n2.5,0\n")
    assert run(["separable", str(path), "--target", "y"]) == 65
    assert f'row 2, column "a": "{LONG}" is not' in capfd.readouterr().err
    path.write_text("a,y\n0.5,0\n9007199254740994,1\n1e300,0\n")
    assert run(["separable", str(path), "--target", "y"]) in (0, 1)


def test_extreme_numbers_are_read_exactly(tmp_path, capfd):
    path = tmp_path / "d.jsonl"
    path.write_text(f'{{"a": 0.5, "y": 0}}\n{{"a": {2**63 + 1}, "y": 1}}\n')
    assert run(["separable", str(path), "--target", "y"]) == 65
    assert f'row 2, column "a": "{2**63 + 1}" is not' in capfd.readouterr().err
    path.write_text(f'{{"a": 0.5, "y": 0}}\n{{"a": {"9" * 5000}, "y": 1}}\n')
    assert run(["separable", str(path), "--target", "y"]) == 65
    assert 'row 2, column "a": "inf" is not' in capfd.readouterr().err


@pytest.mark.parametrize("name", ["s.csv", "s.jsonl", "s.svm", "s.parquet"])
def test_a_stream_rejects_a_line_with_a_long_integer(name, tmp_path, capfd):
    rows = [*rows_of(1, 4), *rows_of(LONG, 1), *rows_of(2, 4)]
    rows = [(i, x, {"yes": 1, "no": 0}[y]) for i, x, y in rows]
    path = write(tmp_path / name, rows)
    target = [] if name.endswith("svm") else ["--target", "y"]
    arguments = ["stream", str(path), *target, "--json", "--rejects", str(tmp_path / "bad")]
    assert run(arguments) == 0
    out = capfd.readouterr()
    output = json.loads(out.out)
    assert (output["predicted"], output["bad lines"]) == (8, 1)
    assert str(LONG) in out.err
    assert "a number that a double holds exactly" in out.err
    assert str(LONG) in (tmp_path / "bad").read_text()
