"""Batches encoded side by side, columns transposed: the same rows come out."""

import gzip
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from facts import refuses

from rosenblatt.errors import DataError
from rosenblatt.read import Layout, Source, columnar, encoding
from rosenblatt.read.data import read_in_passes
from rosenblatt.read.plan import ColumnOptions
from rosenblatt.read.source import map_in_threads, read_in_background


def parquet(path, n=1000, group=128, bad=None):
    rng = np.random.default_rng(0)
    columns = {name: rng.standard_normal(n) for name in "abc"}
    if bad is not None:
        columns["b"][bad] = np.nan
    y = np.where(columns["a"] + columns["b"] > 0, 1, -1)
    pq.write_table(pa.table({**columns, "label": y}), path, row_group_size=group)
    return np.column_stack([columns[name] for name in "abc"]), y


def batches_of(path):
    return read_in_passes(Source.find(str(path)), Layout(), ColumnOptions(target="label"))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(columnar, "ROWS", 128)


def test_batches_encoded_in_parallel_keep_the_order_of_the_file(tmp_path):
    X, y = parquet(tmp_path / "d.parquet")
    blocks = list(batches_of(tmp_path / "d.parquet").blocks.batches())
    assert [block.n for block in blocks] == [128] * 7 + [104]
    assert np.array_equal(np.concatenate([block.X for block in blocks]), X)
    assert np.array_equal(np.concatenate([block.y for block in blocks]), y)


def test_a_large_row_group_is_read_in_batches(tmp_path):
    X, _ = parquet(tmp_path / "d.parquet", group=1000)
    blocks = list(batches_of(tmp_path / "d.parquet").blocks.batches())
    assert len(blocks) == 8
    assert np.array_equal(np.concatenate([block.X for block in blocks]), X)


def test_a_bad_cell_of_a_later_batch_is_named_with_its_row(tmp_path):
    parquet(tmp_path / "d.parquet", bad=700)
    batches = batches_of(tmp_path / "d.parquet")
    with refuses(DataError, row=701, column="b"):
        list(batches.blocks.batches())


def test_an_error_of_reading_comes_after_the_results_before_it():
    def items():
        yield from range(3)
        raise DataError("the file is damaged")

    made = map_in_threads(lambda item: item, items())
    assert [next(made) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(DataError):
        next(made)


def test_parallel_work_ends_when_its_results_are_no_longer_needed():
    begun, going_on = [], threading.Event()

    def work(item):
        begun.append(item)
        if item:
            going_on.wait(60)
        return item

    made = map_in_threads(work, range(100))
    assert next(made) == 0
    going_on.set()
    made.close()
    assert len(begun) < 100


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d"), [(3, 2), (30_011, 7), (1500, 300)])
def test_interleaved_columns_are_rows(n, d, dtype):
    columns = list(np.random.default_rng(0).standard_normal((d, n)).astype(dtype))
    X, squares = encoding.interleave_columns(columns, dtype)
    assert X.dtype == dtype
    assert np.array_equal(X, np.array(columns).T)
    assert squares == pytest.approx(float((X.astype(np.float64) ** 2).sum()), rel=1e-3)


def test_the_sum_of_squares_reveals_nan_infinity_and_extreme_values():
    for value in (np.nan, np.inf):
        columns = [np.zeros(70_000), np.zeros(70_000)]
        columns[1][60_000] = value
        assert not np.isfinite(encoding.interleave_columns(columns)[1])
    huge = [np.full(70_000, 1e25, dtype=np.float32)]
    assert encoding.interleave_columns(huge, np.float32)[1] == pytest.approx(7e54)


def test_a_compressed_file_gives_the_same_rows(tmp_path):
    X, _ = parquet(tmp_path / "d.parquet")
    packed = tmp_path / "d.parquet.gz"
    packed.write_bytes(gzip.compress((tmp_path / "d.parquet").read_bytes()))
    blocks = batches_of(packed).blocks.batches()
    assert np.array_equal(np.concatenate([block.X for block in blocks]), X)


def test_the_reading_thread_can_end_reading_ahead():
    taken, ended = threading.Event(), threading.Event()

    def items():
        yield 1
        taken.wait(60)
        made.close()  # as when this thread happens to be the one that collects garbage
        ended.set()
        yield 2

    made = read_in_background(items())
    assert next(made) == 1
    taken.set()
    assert ended.wait(60)
