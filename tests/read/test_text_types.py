"""Types of columns of text: as PyArrow infers them, and the same whole as batch by batch."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv

from rosenblatt.errors import BadCellError
from rosenblatt.read.columns import (
    MISSING,
    TYPES,
    convert_column,
    convert_to_fitting_types,
    find_types,
)

CELLS = {
    "numbers": ["0", "1", "-7", "12", "0.5", "-1e5", " 3", "4 ", "inf", "-0", "1.", ".5", "007"],
    "flags": ["0", "1", "true", "false", "True", "FALSE"],
    "words": ["red", "blue green", "é", "1st", "-", "10:x", "1-2", "+1", "t", "nanny"],
    "dates": ["2024-05-01", "1999-12-31", "2024-13-01", "0001-01-01", " 2024-05-01"],
    "times": ["10:20", "10:20:30", "24:00:00", "10:20:30.5"],
    "moments": ["2024-05-01 10:20", "2024-05-01T10:20:30", "9999-12-31 23:59:59"],
    "fractions of seconds": ["2024-05-01 10:20:30.123", "2024-05-01T10:20:30.123456789"],
    "zones": ["2024-05-01T10:20:30Z", "2024-05-01 10:20:30.5+02:00"],
    "missing": ["", "NA", "?", "nan", "null"],
    "decimal commas": ["1,5", "-0,25", "1.5"],
}
COLUMNS = st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=2).flatmap(
    lambda kinds: st.lists(
        st.sampled_from([cell for kind in (*kinds, "missing") for cell in CELLS[kind]]),
        min_size=1,
        max_size=8,
    )
)


def convert_to_first_type(cells, decimal):
    return next(convert_to_fitting_types(cells, TYPES, decimal))[1]


def inferred(cells, decimal):
    """Return the column as PyArrow infers it from a CSV file."""
    lines = "".join(f'"{cell}",x\n' for cell in cells)
    table = arrow_csv.read_csv(
        pa.BufferReader(lines.encode()),
        arrow_csv.ReadOptions(column_names=["c", "d"]),
        convert_options=arrow_csv.ConvertOptions(null_values=MISSING, decimal_point=decimal),
    )
    return table.column("c")


@given(COLUMNS, st.sampled_from(".,"))
def test_ordinary_columns_have_the_types_pyarrow_infers(cells, decimal):
    if any(cell != cell.strip() for cell in cells):  # PyArrow trims for some types only
        cells = [cell.strip() for cell in cells]
    found = convert_to_first_type(pa.array([cell.encode() for cell in cells]), decimal)
    assert found.equals(inferred(cells, decimal).combine_chunks())


@given(COLUMNS, st.sampled_from(".,"), st.integers(1, 3))
def test_types_are_the_same_in_one_piece_and_in_batches(cells, decimal, rows):
    cells = pa.array([cell.encode() for cell in cells])
    starts = range(0, len(cells), rows)
    batches = [pa.record_batch({"c": cells.slice(start, rows)}) for start in starts]
    whole = convert_to_first_type(cells, decimal)
    assert find_types(batches, ["c"], decimal) == {"c": whole.type}
    assert whole.type in TYPES
    assert convert_column(cells, whole.type, decimal, "c").equals(whole)


def test_invalid_utf_8_is_found_in_any_batch():
    batches = [pa.record_batch({"c": pa.array([cell])}) for cell in (b"1", b"\xff", b"2")]
    assert find_types(batches, ["c"]) == {"c": pa.binary()}


def test_integers_that_doubles_would_round_are_text():
    cells = pa.array([b"0.5", b"9007199254740993"])
    assert convert_to_first_type(cells, ".").to_pylist() == ["0.5", "9007199254740993"]
    assert convert_to_first_type(cells.slice(1), ".").to_pylist() == [9007199254740993]


def test_a_column_may_start_with_many_missing_cells():
    cells = [b"NA"] * 500
    assert convert_to_first_type(pa.array(cells), ".").type == pa.null()
    assert convert_to_first_type(pa.array([*cells, b"1"]), ".").to_pylist() == [None] * 500 + [1]


@given(st.integers(0, 40), st.sampled_from([pa.int64(), pa.float64(), pa.bool_(), pa.date32()]))
def test_the_first_cell_of_the_wrong_type_is_named(row, kind):
    fine = b"2024-05-01" if kind == pa.date32() else b"1"
    cells = [fine, b"NA"] * 21
    cells[row:] = [b" many ", *cells[row + 1 : 41], b"more"]
    with pytest.raises(BadCellError) as caught:
        convert_column(pa.array(cells), kind, ".", "c")
    assert (caught.value.row, caught.value.column, caught.value.text) == (row, "c", "many")
