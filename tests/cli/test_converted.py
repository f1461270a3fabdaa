"""The Parquet copy of a text: used while it matches the text, never written over other files."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from facts import refuses

from rosenblatt.errors import WriteError
from rosenblatt.read import Layout, Source
from rosenblatt.read.columnar import convert_file
from rosenblatt.read.data import FileTable

ASK = ("learn", "d.csv", "--target", "y", "--stream", "-o", "m.json")
ROWS = "a,b,y\n" + "1,2,no\n3,4,yes\n0,1,no\n5,5,yes\n" * 9


@pytest.fixture
def text(tmp_path):
    """A text file of long ago, which a line answers."""
    return rewritten(tmp_path / "d.csv", ROWS)


@pytest.fixture
def beside(text):
    """Where it is converted to."""
    return text.with_name("d.csv.rosenblatt.parquet")


def rewritten(path, rows):
    path.write_text(rows)
    os.utime(path, ns=(10**18, 10**18))
    return path


def test_a_change_of_equal_length_and_time_is_detected(run_command, text):
    assert "verdict   separable" in run_command(*ASK)[1]
    rewritten(text, ROWS.replace("5,5,yes", "1,2,yes"))
    _, out, err = run_command(*ASK)
    assert "is unchanged" not in err
    assert "verdict   quasi-separable" in out


def test_an_unchanged_text_with_a_new_time_is_not_converted_again(run_command, text, beside):
    run_command(*ASK)
    written = beside.stat().st_mtime_ns
    os.utime(text)
    assert "is unchanged" in run_command(*ASK)[2]
    assert beside.stat().st_mtime_ns == written


def test_text_that_changes_during_conversion_is_not_kept(text, beside):
    class Changing(FileTable):
        def each(self, work):
            yield from super().each(work)
            rewritten(text, ROWS.replace("5,5,yes", "1,2,yes"))

    with refuses(WriteError, "d.csv"):
        convert_file(Changing.of(Source.find(str(text)), Layout()))
    assert os.listdir(text.parent) == ["d.csv"]


@pytest.mark.parametrize("what", ["text", "nothing", "Parquet"])
def test_a_foreign_file_is_not_replaced(run_command, beside, what):
    if what == "Parquet":
        pq.write_table(pa.table({"mine": [1, 2, 3]}), beside)
    else:
        beside.write_text("precious" if what == "text" else "")
    before = beside.read_bytes()
    code, out, err = run_command(*ASK)
    assert (code, "verdict   separable" in out) == (0, True)
    assert "that rosenblatt did not write" in err
    assert beside.read_bytes() == before
