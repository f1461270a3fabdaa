"""Columns of types that other programs store: what can be read is, what cannot is called so."""

import datetime
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from facts import refuses

import rosenblatt as rb
from rosenblatt.errors import DataError
from rosenblatt.read import Layout, Source
from rosenblatt.read.columns import Category, Number
from rosenblatt.read.data import data_from_table, read_data, read_in_passes
from rosenblatt.read.plan import ColumnOptions

N = 12
NUMBERS = pa.array(range(N))
COLOURS = pa.array(["red", "green", "blue"] * 4)
ANSWERS = ["no", "yes", "yes"] * 4
STORED = {
    "views of text": pa.array(COLOURS.to_pylist(), pa.string_view()),
    "long text": COLOURS.cast(pa.large_string()),
    "bytes that are text": COLOURS.cast(pa.binary()),
    "views of bytes": pa.array([c.encode() for c in COLOURS.to_pylist()], pa.binary_view()),
    "a dictionary": COLOURS.dictionary_encode(),
    "a dictionary of views": pa.DictionaryArray.from_arrays(
        [0, 1, 2] * 4, pa.array(["red", "green", "blue"], pa.string_view())
    ),
    "a dictionary of bytes": COLOURS.cast(pa.binary()).dictionary_encode(),
    "runs": pc.run_end_encode(COLOURS),
}

try:
    STORED["views of text"].cast(pa.string())
    VIEWS = True
except pa.ArrowNotImplementedError:
    VIEWS = False
reads_views = pytest.mark.skipif(not VIEWS, reason="this PyArrow cannot turn views into text")


@pytest.fixture(params=["read at once", "in passes"])
def read(request, tmp_path, small_blocks):
    """Writes columns to a file and reads them with their answers."""

    def call(columns, suffix="arrow", **wishes):
        path, table = tmp_path / f"d.{suffix}", pa.table(columns)
        if suffix == "parquet":
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as file:
                file.write_table(table)
        source, held = Source.find(str(path)), request.param == "read at once"
        data = (read_data if held else read_in_passes)(source, Layout(), ColumnOptions(**wishes))
        assert sum(len(rows) for _, rows in data.row_batches()) == N
        return data.plan

    return call


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param(cells, id=name, marks=reads_views if "views" in name else ())
        for name, cells in STORED.items()
    ],
)
def test_every_storage_type_of_text_is_text(read, cells):
    made = read({"x": cells, "a": NUMBERS, "y": ANSWERS}, target="y")
    assert made.encoding.columns[0] == Category("x", ("blue", "green", "red"))
    made = read({"x": cells, "a": NUMBERS}, target="x")
    assert made.target.names == ("blue", "green", "red")


def test_every_storage_type_of_numbers_is_numeric(read):
    runs = pc.run_end_encode(NUMBERS)
    made = read({"x": runs, "y": ANSWERS}, target="y")
    assert isinstance(made.encoding.columns[0], Number)


@reads_views
def test_a_file_and_a_frame_of_polars_are_read(tmp_path):
    frame = pl.DataFrame({"x": COLOURS.to_pylist(), "a": range(N), "y": ANSWERS})
    frame = frame.with_columns(pl.col("x").cast(pl.Categorical).alias("c"))
    frame.write_ipc(tmp_path / "d.arrow")
    wishes = ColumnOptions(target="y")
    file = read_data(Source.find(str(tmp_path / "d.arrow")), Layout(), wishes)
    given = data_from_table(frame.to_arrow(), wishes, "X")
    assert file.plan.encoding == given.plan.encoding
    assert file.examples.names == ("x=blue", "x=green", "x=red", "a", "c=blue", "c=green", "c=red")


def test_invalid_text_is_named_with_its_row_and_useful_advice(read):
    cells = pa.array([b"abc", b"ab\xff", None, *[b"abd"] * 9])
    columns = {"x": cells, "a": NUMBERS, "y": ANSWERS}
    for suffix in ("arrow", "parquet"):
        with refuses(DataError, '"ab�"', row=2, column="x", advice=['ignore="x"']):
            read(columns, suffix, target="y")
        assert read(columns, suffix, target="y", ignore=("x",)).encoding.features == ("a",)


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
def test_dates_are_categories_on_request(read, suffix):
    days = [datetime.date(2024, 5, 1 + i % 3) for i in range(N)]
    columns = {"d": days, "a": NUMBERS, "y": ANSWERS}
    with refuses(DataError, column="d", advice=['ignore="d"', 'category="d"']):
        read(columns, suffix, target="y")
    made = read(columns, suffix, target="y", categories=("d",))
    assert made.encoding.columns[0].values == ("2024-05-01", "2024-05-02", "2024-05-03")
    made = read(columns, suffix, target="d", categories=("d", "y"))
    assert made.target.names == ("2024-05-01", "2024-05-02", "2024-05-03")


def test_durations_are_refused_without_useless_advice(read):
    lengths = [datetime.timedelta(i) for i in range(N)]
    with refuses(DataError, advice=['ignore="x"']) as refused:
        read({"x": lengths, "a": NUMBERS, "y": ANSWERS}, target="y")
    assert refused.value.message.parameters == ["ignore"]


def test_decimals_are_labels_that_stay_distinct(read):
    small = pa.array([Decimal(i % 2) for i in range(N)], pa.decimal128(38, 0))
    assert read({"a": NUMBERS, "y": small}, target="y").target.names == (0.0, 1.0)
    late = [Decimal(0)] * 8 + [Decimal(2**53 + 1)] * 4  # in another batch
    large = pa.array(late, pa.decimal128(38, 0))
    assert read({"a": NUMBERS, "y": large}, target="y").target.names == ("0", str(2**53 + 1))


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
@pytest.mark.parametrize(("cell", "what"), [(None, "missing"), ("many", '"many"')])
def test_a_missing_number_is_reported_as_missing_and_a_word_is_quoted(read, suffix, cell, what):
    numbers = pa.array([*map(str, range(N - 1)), cell])
    with refuses(DataError, what, row=N, column="a", advice=['missing="drop"']):
        read({"a": numbers, "y": ANSWERS}, suffix, target="y", numbers=("a",))


def test_a_table_without_columns_has_no_rows(read):
    with pytest.raises(DataError):
        read({}, "parquet")


def test_the_first_bad_row_of_several_columns_is_named(read):
    bad = {f"c{i}": [*[b"a"] * (9 - i), b"\xff", *[b"a"] * (2 + i)] for i in range(3)}
    with refuses(DataError, row=8, column="c2"):
        read({**bad, "y": ANSWERS}, target="y")


def test_decimals_that_round_to_one_double_stay_two_labels(read, tmp_path):
    tenth = Decimal("0.1")
    cells = [tenth + Decimal("1e-20")] * 4 + [tenth] * 8
    y = pa.array(cells, pa.decimal128(38, 20))
    made = read({"a": NUMBERS, "y": y}, target="y")
    assert made.target.names == ("0.10000000000000000000", "0.10000000000000000001")
    assert made.target.encode(y).tolist() == [1] * 4 + [-1] * 8
    result = rb.learn(pa.table({"a": NUMBERS, "y": y}), "y", test_size=0)
    result.save(tmp_path / "m.json")
    loaded = rb.load(tmp_path / "m.json")
    assert list(map(Decimal, loaded.predict(pa.table({"a": NUMBERS})).tolist())) == cells
