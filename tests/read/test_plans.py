import numpy as np
import pyarrow as pa
import pytest
from facts import refuses
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.errors import BadCellError, DataError, Parameter, UsageError
from rosenblatt.read import Layout, Source
from rosenblatt.read.columns import Category, Entries, Flag, Number, Words
from rosenblatt.read.data import read_data, read_with_plan
from rosenblatt.read.encoding import Encoding, TargetColumn
from rosenblatt.read.plan import ColumnOptions, make_plan


@pytest.fixture
def data(tmp_path):
    """Writes a CSV file and reads it as examples."""

    def call(text, layout=Layout(), name="d.csv", **wishes):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return read_data(Source.find(str(tmp_path / name)), layout, ColumnOptions(**wishes))

    return call


ROWS = "age,city,member,note,y\n" + "".join(
    f"{20 + i},{'Rome' if i % 2 else 'Oslo'},{str(i > 5).lower()},word{i} is here,{i % 3 > 0}\n"
    for i in range(12)
)


def test_column_types_are_detected(data):
    found = data(ROWS, target="y")
    kinds = {c.name: c.kind for c in found.plan.encoding.columns}
    assert kinds == {"age": "number", "city": "category", "member": "flag", "note": "words"}
    names = found.examples.names
    assert names[:4] == ("age", "city=Oslo", "city=Rome", "member")
    assert "word3" in names
    assert "is" not in names
    assert found.examples.X[1, :4].tolist() == [21.0, 0.0, 1.0, 0.0]


def test_column_types_can_be_given(data):
    found = data(ROWS, target="y", categories=("age",), texts=("city",), ignore=("note", "3"))
    kinds = {c.name: c.kind for c in found.plan.encoding.columns}
    assert kinds == {"age": "category", "city": "words"}
    assert "age=20" in found.examples.names
    with pytest.raises(UsageError) as refused:
        data(ROWS, target="y", numbers=("age",), categories=("1",))
    assert {"number", "category"} <= set(refused.value.message.parameters)


def test_columns_are_named_or_counted_from_one(data):
    assert data(ROWS, target="5").plan.target.column == "y"
    assert data(ROWS, target="-1").plan.target.column == "y"
    with refuses(UsageError, 5):
        data(ROWS, target="6")
    with refuses(UsageError, advice=['target="0"']):
        data(ROWS, target="0")
    with refuses(UsageError, "age, city, member, note", advice=['target="z"']):
        data(ROWS, target="z")


def test_the_only_column_with_two_values_is_the_target(data):
    found = data("a,b,y\n1,x,0\n2,y,1\n3,z,0\n")
    assert found.plan.target.column == "y"
    assert found.plan.guessed
    with refuses(DataError, '"y"', '"city"', '"member"'):
        data(ROWS)
    with refuses(DataError, advice=["target"]):
        data("a,b\n1,2\n2,3\n3,4\n")
    with refuses(DataError, '"a;b;y"', advice=["separator"]):
        data("a;b;y\n1;2;no\n2;3;yes\n3;4;no\n", Layout(separator=","))


@pytest.mark.parametrize(
    ("names", "cells", "order"),
    [
        # A usual name comes before the last column, whatever its case.
        ("a,Class,c", "{two},{three},{two}", ["Class", "c", "a"]),
        ("a,b,c", "{two},{two},{three}", ["c", "a", "b"]),
        # A last column that is measured holds no labels; the first one may.
        ("a,b,c,d", "{three},{two},{two},{measured}", ["a", "b", "c"]),
        ("a,b,c,d", "{measured},{two},{two},{measured}", ["b", "c"]),
        ("y,b,c,d", "{measured},{two},{two},{three}", ["d", "b", "c"]),
    ],
)
def test_the_likeliest_of_several_targets_is_suggested(data, names, cells, order):
    rows = [cells.format(two=i % 2, three=i % 3, measured=i / 7) for i in range(30)]
    with pytest.raises(DataError) as caught:
        data("\n".join([names, *rows, ""]))
    message = str(caught.value)
    assert f'target="{order[0]}"' in message
    places = [message.find(f'column "{name}"') for name in order]
    assert places[0] > -1
    assert places == sorted(places)
    assert message.count('column "') == len(order)


def test_the_suggested_target_is_accepted(data):
    rows = "".join(f"{i % 2},{i % 2},{i / 7},{'abc'[i % 3]}\n" for i in range(30))
    with refuses(DataError, advice=['target="4"']) as caught:
        data(rows)
    (suggested,) = (p.value for p in caught.value.message.parts if isinstance(p, Parameter))
    assert data(rows, target=suggested).plan.target.names == ("a", "b", "c")


def test_features_of_several_text_columns_have_distinct_names(data):
    rows = [f"{i},great day number{i},bad or great{i % 4},{i % 2}" for i in range(8)]
    text = "\n".join(["id,title,text,y", *rows, ""])
    names = data(text, target="y", texts=("title", "text"), ignore=("id",)).examples.names
    assert {"title: great", "text: bad", "text: great3"} <= set(names)
    assert len(set(names)) == len(names)
    alone = data(text, target="y", texts=("title",), ignore=("id", "text")).examples.names
    assert "great" in alone


def test_a_word_that_is_also_a_column_is_named_with_its_column():
    note = Words("note", ("age", "free"))
    assert Encoding((Number("salary"), note)).features == ("salary", "age", "free")
    names = Encoding((Number("age"), note)).features
    assert names == ("age", "note: age", "note: free")
    both = Encoding((Category("color", ("red",)), Number("color=red"))).features
    assert len(set(both)) == 2


def test_the_larger_label_is_positive_by_default(data):
    text = "x,y\n1,2\n2,4\n3,2\n"
    assert data(text, target="y").plan.target == TargetColumn("y", (2, 4))
    assert data(text, target="y", positive="2").plan.target == TargetColumn("y", (4, 2))
    assert data(text, target="y", positive="2.0").examples.y.tolist() == [1, -1, 1]
    with refuses(UsageError, advice=['positive="7"']):
        data(text, target="y", positive="7")


def test_a_target_without_two_values_is_refused(data):
    with refuses(DataError, "(1)"):
        data("x,y\n0,1\n1,1\n2,1\n", target="y")


SALARIES = "name,salary,y\n" + "".join(
    f"p{i},{'n/a' if i == 16 else 1000 + i},{int(i > 9)}\n" for i in range(20)
)


def test_a_bad_cell_is_named_with_three_remedies(data, tmp_path):
    path = f"{tmp_path}/credit.csv"
    with refuses(DataError, path, '"n/a"', row=17, column="salary") as refused:
        data(SALARIES, name="credit.csv")
    assert refused.value.message.parameters == ["missing", "missing", "category"]


@pytest.mark.parametrize("cell", ["", "?", "NaN", "unknown", "12 000", "inf", "1e999"])
def test_cells_that_are_not_numbers_are_refused(data, cell):
    text = SALARIES.replace("n/a", cell)
    advice = "ignore" if cell in ("inf", "1e999") else "missing"
    with refuses(DataError, row=17, column="salary", advice=[advice]) as refused:
        data(text, ignore=("name",))
    assert cell in str(refused.value)


def test_a_missing_number_in_json_lines_is_a_missing_value(data):
    with refuses(DataError, row=2, column="a", advice=["missing"]):
        data('{"a": 1, "y": 0}\n{"a": null, "y": 1}\n', name="d.jsonl", target="y")


def test_missing_numbers_are_dropped_or_imputed_with_the_mean(data):
    dropped = data(SALARIES, missing="drop", ignore=("name",))
    assert dropped.examples.n == 19
    assert 16 not in dropped.rows
    filled = data(SALARIES, missing="mean", ignore=("name",))
    there = [1000 + i for i in range(20) if i != 16]
    assert filled.examples.X[16, 0] == np.mean(there)


def test_a_missing_label_is_refused(data):
    text = "x,y\n" + "".join(f"{i},{['no', 'yes', ''][i % 3]}\n" for i in range(9))
    with refuses(DataError, row=3, column="y", advice=['missing="drop"']):
        data(text, target="y")
    assert data(text, target="y", missing="drop").examples.n == 6


def test_a_missing_category_is_a_category(data):
    found = data("c,y\na,0\n,1\nb,0\na,1\n,0\n", target="y")
    assert found.examples.names == ("c=(missing)", "c=a", "c=b")


def test_dates_are_refused_with_advice(data):
    text = "d,x,y\n2024-01-01,1,0\n2024-01-02,2,1\n2024-01-03,3,0\n"
    with refuses(DataError, column="d", advice=['ignore="d"', 'category="d"']):
        data(text)
    assert data(text, ignore=("d",)).examples.d == 1
    assert data(text, categories=("d",)).examples.d == 4


def test_wrong_encoding_names_the_row(tmp_path):
    (tmp_path / "d.csv").write_bytes("c,y\nabc,0\nabd,1\né,0\n".encode("latin-1"))
    with refuses(DataError, '"�"', row=3, column="c", advice=["encoding"]):
        read_data(Source.find(str(tmp_path / "d.csv")), Layout(), ColumnOptions(target="y"))


def test_text_instead_of_a_declared_number_is_refused(data):
    with refuses(DataError, '"x"', row=2, column="a"):
        data("a,y\n1,0\nx,1\nz,0\n", target="y", numbers=("a",))


def test_an_empty_column_is_left_out_and_reported(data):
    found = data("a,e,y\n1,,0\n2,,1\n3,,0\n", target="y")
    assert found.examples.names == ("a",)
    assert 'column "e" left out' in found.plan.notes[0]


def test_a_table_without_features_is_refused(data):
    with pytest.raises(DataError):
        data("y\n0\n1\n0\n", target="y")


def test_a_plan_applies_to_another_file(data, tmp_path):
    found = data(ROWS, target="y")
    (tmp_path / "new.csv").write_text("y,note,member,city,age\nTrue,word1 word1 new,true,Lima,33\n")
    other = read_with_plan(Source.find(str(tmp_path / "new.csv")), Layout(), found.plan)
    row = dict(zip(other.examples.names, other.examples.X[0], strict=True))
    assert row["age"] == 33
    assert row["member"] == 1
    assert row["city=Rome"] == row["city=Oslo"] == 0
    assert row["word1"] == 2
    assert other.examples.y.tolist() == [1]
    (tmp_path / "bad.csv").write_text("age,y\n1,True\n")
    with refuses(DataError, '"city"'):
        read_with_plan(Source.find(str(tmp_path / "bad.csv")), Layout(), found.plan)


def test_an_unknown_label_in_another_file_is_refused(data, tmp_path):
    found = data("x,y\n1,no\n2,yes\n3,no\n")
    (tmp_path / "t.csv").write_text("x,y\n1,no\n2,maybe\n")
    with refuses(DataError, '"maybe"', '"no"', '"yes"', row=2, column="y"):
        read_with_plan(Source.find(str(tmp_path / "t.csv")), Layout(), found.plan)


def test_words_are_counted_in_lower_case():
    words = Words("t", ("free", "prize", "über"))
    cells = pa.array(["Free! FREE prize", None, "Über-cool", ""])
    assert words.encode(cells).toarray().tolist() == [[2, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_the_vocabulary_counts_a_word_once_per_cell():
    def words(**options):
        table = pa.table({"t": ["spam spam spam", "eggs and ham", "eggs"], "y": [0, 1, 1]})
        options = ColumnOptions(target="y", texts=("t",), **options)
        return make_plan(table, options, "table").encoding.columns[0].values

    assert words(min_count=2) == ("eggs",)
    assert words(min_count=1) == ("eggs", "ham", "spam")
    assert "and" in words(stop_words=frozenset())


def test_entries_unknown_to_the_model_are_ignored():
    entries = Entries("entries", 1, 3)
    got = entries.encode(pa.array(["1:2 3:4", "", "7:1"])).toarray().tolist()
    assert got == [[2, 0, 4], [0, 0, 0], [0, 0, 0]]
    with pytest.raises(BadCellError):
        entries.encode(pa.array(["1:x"]))


@given(st.lists(st.sampled_from(["a", "b", " b", "", None, "c"]), min_size=1, max_size=20))
def test_a_category_has_at_most_one_1(cells):
    encoded = Category("c", ("", "a", "b")).encode(pa.array(cells, pa.string()))
    for row, cell in zip(encoded, cells, strict=True):
        assert row.sum() == (0 if cell == "c" else 1)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_as_text_read_back_to_the_last_bit(numbers):
    text = pa.array([repr(number) for number in numbers])
    assert Number("x").encode(text)[:, 0].tolist() == numbers


def test_text_and_booleans_give_the_same_flags():
    assert Flag("f").encode(pa.array([True, False]))[:, 0].tolist() == [1, 0]
    assert Flag("f").encode(pa.array(["TRUE", "0"]))[:, 0].tolist() == [1, 0]


def test_only_wide_text_is_sparse():
    def is_sparse(*columns):
        table = pa.table({column.name: ["1"] for column in columns})
        return not isinstance(Encoding(columns).encode(table, "table")[0], np.ndarray)

    assert not is_sparse(Words("t", ("a", "b")))
    assert is_sparse(Words("t", tuple(f"w{i}" for i in range(300))))
    assert not is_sparse(*(Number(f"x{i}") for i in range(300)))


def test_arrow_dictionaries_are_planned_as_categories():
    table = pa.table({"c": ["u", "v", "u"], "y": [True, False, True]})
    coded = table.set_column(0, "c", table["c"].dictionary_encode())
    made, plain = (make_plan(t, ColumnOptions(target="y"), "t") for t in (coded, table))
    assert made == plain


@pytest.mark.parametrize(
    ("labels", "texts"),
    [
        ((False, True), ["False", "TRUE", " true", "0", "1"]),
        ((0, 1), ["00", "1", "+1.0", "0", " 1"]),
        ((0.5, 1.5), ["0.50", "15e-1", "1.5", ".5", "1.500"]),
        (("no", "yes"), ["no", "yes", " yes", "no", "yes"]),
    ],
)
def test_labels_read_as_text_match_labels_read_in_their_type(labels, texts):
    answers = TargetColumn("y", labels)
    assert answers.encode(pa.array(texts)).tolist() == [-1, 1, 1, -1, 1]
    for other in ("2", "", "nan", "Yes"):
        if other:
            with pytest.raises(BadCellError):
                answers.encode(pa.array([*texts, other]))
        else:
            assert answers.encode(pa.array([*texts, other]))[-1] == 0


def test_labels_above_2_53_are_not_confused():
    answers = TargetColumn("y", (2**53, 2**53 + 1))
    assert answers.encode(pa.array([str(2**53), str(2**53 + 1)])).tolist() == [-1, 1]


BIG = "9007199254740993.0"


@pytest.mark.parametrize(
    ("a", "b", "row", "column"),
    [
        (["", BIG], ["1", "2"], 0, "a"),
        (["", BIG], [BIG, BIG], 0, "a"),
        (["1", BIG], ["2", ""], 1, "a"),
        (["1", "2", ""], ["1e999", "", BIG], 0, "b"),
        (["1", "2", ""], ["1", BIG, "1e999"], 1, "b"),
    ],
)
def test_the_first_bad_cell_is_named_whatever_the_batch_size(a, b, row, column):
    encoding = Encoding((Number("a"), Number("b")))
    for table in (pa.table({"a": a, "b": b}), pa.table({"a": a[: row + 1], "b": b[: row + 1]})):
        with pytest.raises(BadCellError) as caught:
            encoding.encode(table, "t")
        assert (caught.value.row, caught.value.column) == (row, column)
