"""Notations of numbers: decimal commas are detected, other marks are named and read."""

import json

import pyarrow as pa
import pyarrow.parquet
import pytest
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.model import load
from rosenblatt.read import Layout, Source
from rosenblatt.read.columns import FormattedNumber, Number, Parsed
from rosenblatt.read.data import read_data, read_in_passes
from rosenblatt.read.plan import ColumnOptions

N = 80


def lines(separator, *cells, header="a,b,y"):
    rows = [separator.join(str(cell(i)) for cell in cells) for i in range(N)]
    head = [header.replace(",", separator)] if header else []
    return "\n".join([*head, *rows]) + "\n"


def comma(i):
    return f"{(i * 37 % N) / 4 - 3:.2f}".replace(".", ",")


def answer_of(i):
    return "no" if (i * 37 % N) < N / 2 else "yes"


@pytest.fixture
def put(tmp_path):
    def write(text, name="d.csv"):
        (tmp_path / name).write_text(text)
        return Source.find(str(tmp_path / name))

    return write


def read(source, layout=Layout(), **wishes):
    """The same file in memory and in passes, which must be taken alike."""
    wishes = ColumnOptions(**wishes)
    data = read_data(source, layout, wishes)
    passed = read_in_passes(source, layout, wishes)
    assert passed.plan == data.plan
    X = [x for examples in passed.blocks.batches() for x in examples.X.tolist()]
    assert data.examples.X.tolist() == X
    return data


def columns(data):
    return {column.name: column for column in data.plan.encoding.columns}


@pytest.mark.parametrize("separator", [";", "\t", "|", "  "])
@pytest.mark.parametrize("header", ["a,b,y", ""])
def test_decimal_commas_are_detected(put, separator, header):
    data = read(put(lines(separator, comma, lambda i: f"{i},25", answer_of, header=header)))
    assert all(type(c) is FormattedNumber and c.decimal == "," for c in columns(data).values())
    assert data.examples.X[:3].tolist() == [[-3.0, 0.25], [6.25, 1.25], [15.5, 2.25]]
    assert data.plan.notes == ()


def test_one_column_determines_the_decimal_mark_of_a_file(put):
    thousandths = put(lines(";", lambda i: f"{i + 1},125", comma, answer_of))
    data = read(thousandths)
    assert data.examples.X[0].tolist() == [1.125, -3.0]
    assert columns(data)["a"].decimal == ","


def test_ambiguous_thousands_are_not_guessed(put):
    data = read(put(lines(";", lambda i: f"{i % 9 + 1},125", lambda i: i, answer_of)))
    assert columns(data)["a"].kind == "category"
    (note,) = data.plan.notes
    looks = 'column "a" looks like numbers ("1,125") but is read as categories; number="a" reads'
    assert str(note).startswith(looks)


@pytest.mark.parametrize(("decimal", "first"), [(",", 1.125), (None, 1125.0), (".", 1125.0)])
def test_with_the_number_option_a_comma_means_thousands_unless_decimal_is_given(
    put, decimal, first
):
    source = put(lines(";", lambda i: f"{i + 1},125", lambda i: i, answer_of))
    data = read(source, Layout(decimal=decimal), numbers=("a",), decimal=decimal)
    assert data.examples.X[0].tolist() == [first, 0.0]


def test_an_explicit_decimal_point_is_used(put):
    source = put(lines(";", comma, lambda i: i, answer_of))
    data = read(source, Layout(decimal="."), decimal=".")
    assert "a" not in columns(data)
    assert "looks like numbers" in str(data.plan.notes[0])


def test_points_in_other_columns_are_harmless_and_a_bad_cell_is_named(put):
    source = put(lines(";", comma, lambda i: i / 4, answer_of))
    assert type(columns(read(source))["b"]) is Number
    bad = put(lines(";", lambda i: "1.5" if i == 4 else comma(i), lambda i: i, answer_of), "e.csv")
    with refuses(ValueError, '"1.5"', row=5, column="a"):
        read(bad)


MARKED = {
    "thousands": (lambda i: f'"{1000 + i:,}"', 1000.0),
    "percent": (lambda i: f"{i / 4}%", 0.0),
    "dollars": (lambda i: f"${i}.50", 0.5),
    "dollars below zero": (lambda i: f"-${i + 1}.50", -1.5),
    "euros": (lambda i: f'"{i},50 €"', 0.5),
    "thousands and decimals": (lambda i: f'"{12345 + i:,}.25"', 12345.25),
    "German": (lambda i: f'"1.{100 + i},5 €"', 1100.5),
    "Swiss": (lambda i: f"CHF {1}'{100 + i}.50", 1100.5),
}


@pytest.mark.parametrize("name", MARKED)
def test_columns_with_unit_marks_are_named_with_the_option_that_reads_them(put, name):
    cell, first = MARKED[name]
    source = put(lines(",", cell, lambda i: i, answer_of))
    data = read(source)
    assert "a" not in columns(data)
    looks, left_out = map(str, data.plan.notes)
    assert looks.startswith('column "a" looks like numbers ("')
    assert 'but is read as ids; number="a" reads' in looks
    assert left_out.startswith('column "a" left out: different in every row')
    read_so = read(source, numbers=("a",))
    assert read_so.examples.X[0].tolist() == [first, 0.0]
    assert read_so.plan.notes == ()


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_model_reads_unit_marks_in_every_format(run_command, tmp_path, suffix):
    rows = [{"a": f"{i / 4}%", "y": "no" if i < 20 else "yes"} for i in range(40)]
    table = pa.Table.from_pylist(rows)
    if suffix == "csv":
        pa.csv.write_csv(table, tmp_path / "d.csv")
    elif suffix == "jsonl":
        (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pa.parquet.write_table(table, tmp_path / "d.parquet")
    code, _, err = run_command("learn", f"d.{suffix}", "--number", "a", "--target", "y")
    assert code == 0, err
    column = load(tmp_path / "model.json").encoding.columns[0]
    assert (column.decimal, column.mark, column.mean) == (".", "%", 4.875)
    (tmp_path / "new.jsonl").write_text('{"a": "9.75%"}\n{"a": "0.5%"}\n')
    code, out, err = run_command("predict", "model.json", "new.jsonl", "--json")
    assert code == 0, err
    assert [row["prediction"] for row in json.loads(out)["rows"]] == ["yes", "no"]
    (tmp_path / "new.csv").write_text("a\n9.75%\n0.5\n")
    code, _, err = run_command("predict", "model.json", "new.csv")
    assert code == 65
    assert 'row 2, column "a": "0.5" is not a number with %' in err
    code, out, _ = run_command("predict", "model.json", "new.csv", "--missing", "empty", "--json")
    assert [row["prediction"] for row in json.loads(out)["rows"]] == ["yes", None]


def test_learning_predicting_and_verifying_agree_on_decimal_commas(run_command, tmp_path):
    (tmp_path / "d.csv").write_text(lines(";", comma, lambda i: i, answer_of))
    assert run_command("separable", "d.csv", "--target", "y", "--proof", "p.json")[0] == 0
    assert run_command("verify", "p.json", "d.csv")[0] == 0
    assert run_command("learn", "d.csv", "--target", "y", "--cv", 3)[0] == 0
    code, out, err = run_command("predict", "model.json", "d.csv", "--json")
    assert code == 0, err
    assert json.loads(out)["predictions"] == {"no": 40, "yes": 40}
    (tmp_path / "new.csv").write_text("a;b\n2,5;3,5\n-1,5;1\n")  # b had only integers in training
    code, out, err = run_command("predict", "model.json", "new.csv", "--json")
    assert code == 0, err


@pytest.mark.parametrize("policy", ["drop", "mean"])
def test_with_an_explicit_decimal_bad_cells_can_be_dropped_too(run_command, tmp_path, policy):
    text = lines(";", lambda i: "oops" if i == 7 else comma(i), lambda i: i, answer_of)
    (tmp_path / "d.csv").write_text(text)
    for decimal in ([], ["--decimal", ","]):
        code, _, err = run_command("learn", "d.csv", "--target", "y", "--missing", policy, *decimal)
        assert code == 0, err
        assert run_command("predict", "model.json", "d.csv", *decimal, "--missing", "mean")[0] == 0
        code, _, err = run_command("learn", "d.csv", "--target", "y", *decimal)
        assert code == 65
        assert 'row 8, column "a": "oops" is not a number with a decimal comma.' in err


def test_text_that_is_unique_in_every_row_is_an_id_and_left_out(put, run_command):
    source = put(lines(",", lambda i: f"ID-{i:05}", lambda i: i % 7, answer_of))
    data = read(source)
    assert list(columns(data)) == ["b"]
    (note,) = data.plan.notes
    left_out = 'column "a" left out: different in every row, as names and ids are; category="a" '
    assert str(note).startswith(left_out)
    assert len(columns(read(source, categories=("a",)))["a"].values) == N


def test_an_id_alone_is_refused_as_no_feature(put):
    source = put(lines(",", lambda i: f"x{i}", answer_of, header="a,y"))
    with refuses(ValueError, '"a"'):
        read(source)


def test_a_repeated_value_makes_an_id_text_and_missing_ones_do_not(put):
    again = put(lines(",", lambda i: f"x{i % 79}", lambda i: i, answer_of))
    assert "a" in columns(read(again))
    holes = put(lines(",", lambda i: "NA" if i % 3 else f"x{i}", lambda i: i, answer_of), "e.csv")
    assert "a" not in columns(read(holes))


def test_free_text_stays_text_and_numbers_stay_numbers(put):
    source = put(lines(",", lambda i: f"call {i} me now", lambda i: i, answer_of))
    data = read(source)
    assert columns(data)["a"].kind == "words"
    assert columns(data)["b"].kind == "number"


@given(
    st.decimals(-(10**9), 10**9, places=3),
    st.sampled_from([",", ".", "'", "\u202f", ""]),
    st.sampled_from([".", ","]),
    st.sampled_from(["", "%", "$", "€", "USD"]),
)
def test_every_notation_is_read_as_its_number(number, group, decimal, mark):
    if group == decimal:
        group = ""
    text = f"{abs(number):,.3f}".replace(",", "_").replace(".", decimal).replace("_", group)
    sign = "-" if number < 0 else ""
    for written in (f"{sign}{mark}{text}", f"{sign}{text} {mark}".strip()):
        read_back = Parsed(pa.array([written]), decimal).plain(mark).to_pylist()[0]
        assert float(read_back) == float(number)


@given(st.text(max_size=12))
def test_other_text_is_never_read_as_a_number(text):
    for decimal in (".", ","):
        found = Parsed(pa.array([text.strip()]), decimal).plain("").to_pylist()[0]
        if found is not None:
            float(found)
