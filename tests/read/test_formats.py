import functools
import io
import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.errors import DataError, OpenError, UsageError
from rosenblatt.read import csv
from rosenblatt.read.data import read_batches, read_data, read_in_passes, read_whole
from rosenblatt.read.plan import ColumnOptions
from rosenblatt.read.source import Layout, Source, format_of, whole_lines


@pytest.fixture
def read(tmp_path):
    """Writes bytes to a file and reads it."""

    def call(content, name="data", layout=Layout()):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_whole(Source.find(str(path)), layout)

    return call


DIALECTS = {
    "commas": "a,b,y\n1,2.5,no\n3,4.5,yes\n",
    "semicolons": "a;b;y\n1;2.5;no\n3;4.5;yes\n",
    "tabs": "a\tb\ty\n1\t2.5\tno\n3\t4.5\tyes\n",
    "bars": "a|b|y\n1|2.5|no\n3|4.5|yes\n",
    "blanks": "a b   y\n1 2.5  no\n 3\t4.5 yes \n",
    "line ends of Windows": "a,b,y\r\n1,2.5,no\r\n3,4.5,yes\r\n",
    "no end of the last line": "a,b,y\n1,2.5,no\n3,4.5,yes",
    "byte order mark": "\ufeffa,b,y\n1,2.5,no\n3,4.5,yes\n",
    "quotes": '"a","b","y"\n"1","2.5","no"\n"3","4.5","yes"\n',
    "quotes between tabs": '"a"\t"b"\t"y"\n"1"\t"2.5"\t"no"\n"3"\t"4.5"\t"yes"\n',
    "empty lines": "a,b,y\n\n1,2.5,no\n\n3,4.5,yes\n\n",
    "empty lines above the names": "\n\r\na,b,y\n1,2.5,no\n3,4.5,yes\n",
}


@pytest.mark.parametrize("name", DIALECTS)
def test_dialects_are_detected(read, name):
    table = read(DIALECTS[name])
    assert table.to_pydict() == {"a": [1, 3], "b": [2.5, 4.5], "y": ["no", "yes"]}


def test_utf_16_and_utf_32_are_recognized_and_latin_1_can_be_given(read):
    text = "name,y\nJosé,1\nZoë,0\n"
    for encoding in ("utf-16", "utf-32"):
        assert read(text.encode(encoding)).column("name").to_pylist() == ["José", "Zoë"]
    latin = read(text.encode("latin-1"), layout=Layout(encoding="latin-1"))
    assert latin.column("name").to_pylist() == ["José", "Zoë"]


def test_a_decimal_comma_can_be_given(read):
    table = read("a;y\n1,5;0\n2,5;1\n", layout=Layout(decimal=","))
    assert table.column("a").to_pylist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1,2\n3,4\n", ["column 1", "column 2"]),
        ("a,b\n1,2\n", ["a", "b"]),
        ("yes,no\nno,no\nyes,yes\n", ["column 1", "column 2"]),
        ("city,answer\nRome,yes\nParis,no\n", ["city", "answer"]),
        ("a,?\n1,2\n", ["column 1", "column 2"]),
        ("a,\n1,2\n", ["a", "column 2"]),
    ],
)
def test_a_header_is_recognized(read, text, names):
    assert read(text).column_names == names


def test_a_header_can_be_declared(read):
    assert read("1,2\n3,4\n", layout=Layout(header=True)).column_names == ["1", "2"]
    assert read("a,b\n1,2\n", layout=Layout(header=False)).num_rows == 2


def test_text_with_commas_is_not_split_at_blanks(read):
    assert read("New York City,1\nSan Luis Obispo,2\n").num_columns == 2


def test_quotation_marks_in_tab_separated_text_are_text(read):
    table = read('ham\t"hello\nspam\tsay "yes"\nham\tbye"\n')
    assert table.column(1).to_pylist() == ['"hello', 'say "yes"', 'bye"']


def test_quoted_cells_may_contain_line_ends_and_separators(read):
    table = read('t,y\n"one, two\nthree",0\nfour,1\n')
    assert table.column("t").to_pylist() == ["one, two\nthree", "four"]


def test_libsvm_is_read(read):
    table = read("+1 1:0.5 3:2 # a note\n-1 2:1e-3\n\n+1\n")
    assert table.column("label").to_pylist() == [1, -1, 1]
    assert table.column("entries").to_pylist() == ["1:0.5 3:2", "2:1e-3", ""]


def test_a_long_number_in_later_lines_is_quoted_as_written(read, small_blocks):
    for first in (7, None):
        numbers = [*[first] * 9, 2**64 + 1, 1.5]
        table = read("".join(json.dumps({"a": a, "y": 0}) + "\n" for a in numbers), "d.jsonl")
        texts = [None if a is None else str(a) for a in numbers]
        assert table.column("a").to_pylist() == texts


def test_a_duplicate_libsvm_index_is_refused_as_in_a_stream(tmp_path):
    path = tmp_path / "d.libsvm"
    for line, entry in (("1 2:1 1:5 2:4", "2:4"), ("1 3:1 3:1", "3:1")):
        path.write_text(f"-1 2:1 1:1\n-1 1:1\n{line}\n1 1:3 1:3\n")
        for read in (read_data, read_in_passes):
            with refuses(DataError, f'"{entry}"', row=3, column="entries"):
                read(Source.find(str(path)), Layout(), ColumnOptions())


def test_a_libsvm_line_may_lack_its_label_as_in_a_stream(read):
    table = read("1 qid:2 1:0.5\n? 2:1\n3:1 4:2\nqid:7 5:1\n", "d.libsvm")
    assert table.column("label").to_pylist() == [1, None, None, None]
    assert table.column("entries").to_pylist() == ["1:0.5", "2:1", "3:1 4:2", "5:1"]


def test_libsvm_lines_may_end_with_cr_and_a_lone_plus_is_not_a_label(read):
    table = read("1 1:2\r\r-1 2:3\r\n+ 1:3\n+1 1:4\r", "d.libsvm")
    assert table.column("label").to_pylist() == [1, -1, None, 1]
    assert table.column("entries").to_pylist() == ["1:2", "2:3", "1:3", "1:4"]
    with refuses(DataError, "UTF-8", row=2):
        read(b"1 1:2\r1 2:3 # \xe9\r", "d.libsvm")


def test_json_lines_may_lack_fields(read):
    table = read('{"a": 1, "y": "no"}\n\n{"y": "yes", "b": 2.5}\n')
    assert table.column("a").to_pylist() == [1, None]
    assert table.column("b").to_pylist() == [None, 2.5]


def test_magic_bytes_win_over_the_name(tmp_path):
    pa.parquet.write_table(pa.table({"a": [1]}), tmp_path / "wrong.csv")
    assert format_of(Source.find(str(tmp_path / "wrong.csv"))) == "Parquet"


tables = st.lists(
    st.tuples(
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(-(2**53), 2**53),
        st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=8),
    ),
    min_size=1,
    max_size=30,
)


@given(tables)
def test_csv_parquet_and_json_lines_read_the_same(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("same")
    table = pa.table(
        {
            "f": [row[0] for row in rows],
            "i": [row[1] for row in rows],
            "t": ["x" + row[2].strip() for row in rows],
        }
    )
    pa.csv.write_csv(table, folder / "t.csv")
    pa.parquet.write_table(table, folder / "t.parquet")
    (folder / "t.jsonl").write_text("".join(json.dumps(r) + "\n" for r in table.to_pylist()))
    for name in ("t.csv", "t.parquet", "t.jsonl"):
        layout = Layout(header=True, separator=",")
        got = read_whole(Source.find(str(folder / name)), layout).to_pydict()
        assert [float(f) for f in got["f"]] == table["f"].to_pylist()
        assert got["t"] == table["t"].to_pylist()
        assert got["i"] == table["i"].to_pylist()


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "libsvm", "dat"])
def test_the_batches_of_a_stream_are_the_whole_table(tmp_path, suffix, small_blocks):
    table = pa.table({"label": list(range(50)), "entries": [f"1:{i}" for i in range(50)]})
    path = tmp_path / f"d.{suffix}"
    if suffix == "parquet":
        pa.parquet.write_table(table, path)
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif suffix in ("libsvm", "dat"):
        separator = " " if suffix == "libsvm" else "   "
        rows = table.to_pylist()
        path.write_text("".join(f"{r['label']}{separator}{r['entries']}\n" for r in rows))
    else:
        pa.csv.write_csv(table, path)
    layout = Layout(separator=" ", header=False) if suffix == "dat" else Layout()
    if suffix == "dat":
        layout = Layout(format="csv", separator=" ", header=False)
    source = Source.find(str(path))
    batches = list(read_batches(source, layout))
    assert len(batches) > 3
    got = pa.Table.from_batches(batches)
    assert [int(v) for v in got.column(0).to_pylist()] == list(range(50))
    assert got.column(1).to_pylist() == table["entries"].to_pylist()


def test_standard_input_can_be_read_twice(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(b"a,y\n1,0\n2,1\n")

    monkeypatch.setattr("sys.stdin", Stdin)
    source = Source.find("-")
    assert read_whole(source).num_rows == read_whole(source).num_rows == 2
    assert source.name == "standard input"


def test_files_that_cannot_be_opened_are_errors(tmp_path):
    with refuses(OpenError, "no.csv"):
        Source.find(str(tmp_path / "no.csv"))
    with refuses(OpenError, tmp_path):
        Source.find(str(tmp_path))
    with pytest.raises(OpenError):
        Source.find("a\0b")


BROKEN = {  # with the row, the values and the parameters that the message names
    "empty": (b"", None, [], []),
    "only blanks": (b"\n  \n\n", None, [], []),
    "only a header": (b"a,b,y\n", None, [], []),
    "ragged": (b"a,b,y\n1,2,0\n1,2\n3,4,1\n", 2, [2, 3], ["separator"]),
    "ragged, under an empty line": (b"\na,b\n1,2\n3\n", 2, [1, 2], ["separator"]),
    "ragged, and no UTF-8": (b"a,b\n1,2\n\xff\n3,4\n", 2, [1, 2], ["separator", "encoding"]),
    "ragged, and UTF-8": ("a,b\n1,2\né\n3,4\n".encode(), 2, [1, 2], ["separator"]),
    "a name twice": (b"a,a\n1,2\n", None, ['"a"'], []),
    "LIBSVM in another encoding": (b"1 1:2\n# a\n1 2:3 # \xe9\n", 2, ["UTF-8"], []),
    "half a gzip": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03K\xd4", None, [], []),
    "half a zstd": (b"\x28\xb5\x2f\xfd\x24\x10", None, [], []),
    "half a Parquet file": (b"PAR1\x15\x04\x15", None, ["Parquet"], []),
    "half an Arrow file": (b"ARROW1\x00\x00\xff\xff", None, ["Arrow"], []),
    "not JSON": (b'{"a": 1}\n{"a": \n', 2, ["JSON"], []),
    "JSON without a comma": (b'{"a": 1}\n{"a": 1 "b": 2}\n', 2, ["JSON"], []),
    "only empty objects": (b"{}\n{}\n", None, [], []),
    "a field of two kinds": (b'{"a": 1}\n{"a": "x"}\n', 2, ['"a"'], []),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused_with_the_place_and_the_parameters(read, name):
    content, row, named, parameters = BROKEN[name]
    with refuses(DataError, "data", *named, row=row) as refused:
        read(content)
    assert refused.value.message.parameters == parameters


def test_messages_about_broken_files_match_the_golden_file(read, tmp_path, golden):
    lines = []
    for name, (content, *_) in BROKEN.items():
        with pytest.raises(DataError) as refused:
            read(content)
        message = str(refused.value).replace(f"{tmp_path}/", "")
        # After the colon, PyArrow's own words follow.
        lines.append(f"{name}: {message.split(': ')[0] if name.startswith('half') else message}")
    golden("broken-files.txt", "\n".join([*lines, ""]))


def test_a_header_alone_has_no_rows_in_passes_too(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,y\n")
    with refuses(DataError, "d.csv"):
        read_in_passes(Source.find(str(tmp_path / "d.csv")), Layout(), ColumnOptions())


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "libsvm"])
def test_text_without_rows_is_empty(read, suffix):
    for content in ("", "\n\n", *(["# a note\n"] if suffix == "libsvm" else [])):
        with refuses(DataError, f"d.{suffix}"):
            read(content, f"d.{suffix}")


def test_an_unknown_format_or_encoding_is_refused(read):
    with refuses(UsageError, advice=['format="xlsx"']):
        read("a", layout=Layout(format="xlsx"))
    with refuses(UsageError, advice=['encoding="klingon"']):
        read("a,b\n1,2\n", layout=Layout(encoding="klingon"))


def test_a_truncated_parquet_file_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"a": list(range(10000))}), path)
    content = path.read_bytes()
    for end in (5, len(content) // 2, len(content) - 3):
        path.write_bytes(content[:end])
        with refuses(DataError, "Parquet"):
            read_whole(Source.find(str(path)))


quoted_cells = st.lists(
    st.lists(
        st.sampled_from(["a", "", 'b"c', '"d', "e,f", "g\nh", '"\n"', "i\r\nj", 'k"']),
        min_size=2,
        max_size=2,
    ),
    min_size=1,
    max_size=9,
)


@given(quoted_cells, st.booleans(), st.integers(1, 40))
def test_rows_are_split_outside_quoted_cells(rows, bare, size):
    def write(cell):
        doubled = cell.replace('"', '""')
        plain = bare and not {*",\n\r"} & {*cell} and cell[:1] != '"'
        return cell if plain else f'"{doubled}"'

    text = "".join(",".join(map(write, row)) + "\n" for row in rows).encode()
    dialect = csv.Dialect(",", '"', False, ("a", "b"))
    blocks = (text[i : i + size] for i in range(0, len(text), size))
    found = []
    for part in whole_lines(blocks, functools.partial(csv.find_last_row, dialect)):
        found += csv.parse(dialect, part, ("a", "b"), pa.string(), newlines=True).to_pylist()
    assert found == [{"a": a, "b": b} for a, b in rows]


def test_a_last_row_of_empty_cells_is_a_row(read):
    assert read("a\tb\n1\t2\n\t").column("a").to_pylist() == [1, None]


def test_rows_may_end_with_a_carriage_return(read):
    table = read('a,b\r1,"x\ry"\r2,z\r')
    assert table.to_pydict() == {"a": [1, 2], "b": ["x\ry", "z"]}


def test_quoted_newlines_are_found_in_every_encoding(read):
    layout = Layout(encoding="utf-16")
    table = read('a,b\n1,"é\né"\n2,z\n'.encode("utf-16"), layout=layout)
    assert table.column("b").to_pylist() == ["é\né", "z"]
    with refuses(DataError, row=2):
        read("a,b\n1,é\n2\n".encode("latin-1"), layout=Layout(encoding="latin-1"))
