"""Tables of many columns, as genes have them: read whole, in time that grows as their width."""

import cProfile
import pstats
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.errors import BadCellError, DataError
from rosenblatt.read import Layout, Source
from rosenblatt.read.columns import DECIMALS, Number, Parsed
from rosenblatt.read.csv import Dialect, parse
from rosenblatt.read.data import read_batches, read_data, read_schema, read_whole
from rosenblatt.read.encoding import Encoding, Plan, TargetColumn, interleave_columns
from rosenblatt.read.plan import ColumnOptions, ColumnStatistics, options_to_verify, resolve_columns
from rosenblatt.read.source import check_names

pytestmark = pytest.mark.slow_without_jit  # nothing here is a kernel
WIDTH, ROWS = 5000, 12


class Counted(str):
    """A name that counts how often it is compared."""

    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_duplicate_names_are_found_in_linear_time():
    names = [Counted(f"gene {i}") for i in range(20_000)]
    Counted.compared = 0
    check_names("d.csv", names)
    with refuses(DataError, '"gene 777"'):
        check_names("d.csv", [*names, Counted("gene 777")])
    assert Counted.compared < 20_000


def test_named_columns_are_found_in_linear_time():
    names = [Counted(f"gene {i}") for i in range(2_000)]
    counted = [Counted(name) for name in names]
    plan = Plan(
        Encoding(tuple(Number(name) for name in counted)), TargetColumn(counted[0], ("no", "yes"))
    )
    dialect = Dialect(",", None, True, tuple(names))
    Counted.compared = 0
    wishes = options_to_verify(plan, names, Source("d.csv", "d.csv"))
    resolve_columns(names, replace(wishes, ignore=tuple(counted)))
    parse(dialect, b",".join([b"1"] * len(names)), counted, pa.string())
    assert Counted.compared < 20 * len(names)


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A header of more than a megabyte over lines of some kilobytes."""
    rng = np.random.default_rng(1)
    names = [f"gene {i} {'of a long name ' * 15}".strip() for i in range(WIDTH)]
    X = rng.integers(-99, 100, size=(ROWS, WIDTH)) / 8
    y = np.where(X[:, 3] > X[:, 4], "case", "control")
    lines = [",".join([*map(str, x), a]) for x, a in zip(X.tolist(), y.tolist(), strict=True)]
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    path.write_text("\n".join([",".join([*names, "group"]), *lines]) + "\n")
    assert len(path.read_text().splitlines()[0]) > 1 << 20
    return Source.find(str(path)), X, y


def test_a_header_longer_than_a_megabyte_is_read_to_its_end(wide):
    source, X, y = wide
    data = read_data(source, Layout(), ColumnOptions(target="group"))
    assert np.array_equal(data.examples.X, X)
    assert data.examples.labels[(data.examples.y > 0).astype(int)].tolist() == y.tolist()
    assert len(data.plan.encoding.features) == WIDTH


def test_rows_of_a_wide_table_come_in_large_batches(wide):
    source, X, _ = wide
    batches = list(read_batches(source, Layout()))
    assert len(batches) == 1
    assert sum(batch.num_rows for batch in batches) == len(X)


def test_a_duplicate_name_among_many_is_named(wide, tmp_path):
    source = wide[0]
    header, rest = Path(source.path).read_text().split("\n", 1)
    path = tmp_path / "twice.csv"
    path.write_text(header.replace("group", header.split(",")[77]) + "\n" + rest)
    with refuses(DataError, "gene 77"):
        read_whole(Source.find(str(path)))


def calls_of(name, work):
    """How often a function is called by some work."""
    profile = cProfile.Profile()
    profile.runcall(work)
    stats = pstats.Stats(profile).stats
    return sum(count for (_, _, function), (count, *_) in stats.items() if name in function)


@pytest.mark.parametrize("cell", ["7", "0.5", "red", "?", "c3"])
def test_column_types_are_found_without_converting_each_column_separately(cell, tmp_path):
    line = ",".join([cell] * 500)
    (tmp_path / "d.csv").write_text(f"{line}\n" * 3)
    source, layout = Source.find(str(tmp_path / "d.csv")), Layout(header=False)
    assert calls_of("read_csv", lambda: read_schema(source, layout)) < 50
    assert read_schema(source, layout) == read_whole(source, layout).schema


def test_columns_of_large_numbers_are_read_as_text_together(tmp_path):
    (tmp_path / "d.csv").write_text(f"{','.join(['1.5e17'] * 300)}\n" * 3)
    source, layout = Source.find(str(tmp_path / "d.csv")), Layout(header=False)
    known = replace(layout, types={f"column {i}": pa.float64() for i in range(1, 301)})
    assert calls_of("open_csv", lambda: read_whole(source, layout)) <= 1
    assert calls_of("open_csv", lambda: list(read_batches(source, known))) <= 2
    assert set(read_whole(source, layout).schema.types) == {pa.float64()}


def test_few_rows_of_many_columns_need_little_more_memory_than_their_values():
    columns = [np.arange(8.0)] * 10_000
    interleave_columns(columns)  # compiled
    tracemalloc.start()
    X = interleave_columns(columns)[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(X, np.tile(np.arange(8.0)[:, np.newaxis], 10_000))
    assert peak < 4 * X.nbytes


@given(st.text(alphabet="0123456789.,eE+-$%€ '\u00a0USDEURx", max_size=8))
def test_every_notation_of_a_number_starts_like_a_number(text):
    texts = pa.array([text.strip()])
    is_number = any(Parsed(texts, decimal).fits[0] for decimal in DECIMALS)
    stats = ColumnStatistics(pa.string(), 1, False, False, "")
    stats.add(texts, "a")
    assert stats.number_like == is_number


@pytest.mark.parametrize("read", [read_whole, lambda *given: list(read_batches(*given))])
def test_the_first_bad_cell_of_a_row_is_named_whatever_the_order_of_known_types(tmp_path, read):
    path = tmp_path / "two.csv"
    path.write_text("a,b,c\n1,2,3\nx,y,4\n")
    types = {name: pa.float64() for name in ("z", "c", "b", "a")}
    with pytest.raises(BadCellError) as bad:
        read(Source.find(str(path)), Layout(types=types))
    assert (bad.value.column, bad.value.row) == ("a", 1)
