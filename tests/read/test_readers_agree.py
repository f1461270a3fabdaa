"""Every reader gives the same result: in memory or in passes, from text or from Parquet.

Small hostile tables are read in every way. The plan of the columns, every number and label, the
rows kept, the verdict and the fingerprint that ties a proof to its data must agree, and so must
the error message if a table is refused.
"""

import functools
import json
import re
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from case_counts import count_cases
from facts import refuses
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import rosenblatt as rb
from rosenblatt.errors import UserError
from rosenblatt.evidence.separability import separability_of
from rosenblatt.read import Layout, Source
from rosenblatt.read.columnar import convert_file
from rosenblatt.read.data import FileTable, plan_file, read_data, read_in_passes
from rosenblatt.read.plan import ColumnOptions, Moments, make_plan

many_tables = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

# Each is a cell that some reader somewhere takes for something else.
CELLS = (
    *("", "NA", "nan", "?", "1", " 1", "+1", "-1", "0", "0.0", "-0.0", "1e3", "2.5", "1.", "0x1F"),
    *("inf", "1e400", "true", "false", "True", "x", "y", "x ", "a b c", "a b d", "é", "1,5"),
    *("2020-01-01", "12:30", "2020-01-01T10:00:00Z", 'q"q', "p,p", "l\nl", "free prize now"),
    *("123456789", "9007199254740993", "-12345678901234567890", "null"),
)
NAMES = ("a", "b b", 'c"c', "d,d", "é", "e;", "G", "1", "label", "entries", "column 3", "y=", "nan")


def with_errors(way):
    """Return the type and the message of the error instead of raising it."""

    @functools.wraps(way)
    def call(*arguments):
        try:
            return way(*arguments)
        except UserError as refused:
            return type(refused).__name__, str(refused)

    return call


def dense(X):
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


@with_errors
def in_memory(path, options, layout=Layout()):
    found = read_data(Source.find(str(path)), layout, options)
    examples = found.examples
    return found.plan, dense(examples.X).tobytes(), examples.y.tolist(), found.rows.tolist()


@with_errors
def in_passes(path, options, layout=Layout()):
    return _all_of(read_in_passes(Source.find(str(path)), layout, options))


@with_errors
def in_passes_over_parquet(path, options, layout=Layout()):
    table = read_in_passes(Source.find(str(path)), layout, options).table
    return _all_of(plan_file(convert_file(table), options))


def _all_of(batches):
    parts, rows, start = list(batches.table.examples(batches.plan)), [], 0
    X = np.vstack([dense(examples.X) for examples in parts])
    y = np.concatenate([examples.y for examples in parts])
    for batch, taken in batches.row_batches():
        rows += (start + taken).tolist()
        start += batch.num_rows
    return batches.plan, X.tobytes(), y.tolist(), rows


def quoted(cells):
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\n"


@st.composite
def texts(draw):
    """Lines of a CSV file whose last cells may be of a new kind, and column options."""
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 3))
    numbers = st.integers(-3, 3).map(str)
    columns = []
    for _ in range(d):
        some = draw(st.lists(st.sampled_from(CELLS) | numbers, min_size=1, max_size=3))
        column = draw(st.lists(st.sampled_from(some), min_size=n, max_size=n))
        column[-1] = draw(st.sampled_from([*CELLS, column[-1]]))
        columns.append(column)
    answers = draw(st.lists(st.sampled_from(["0", "1"] * 9 + ["", "2"]), min_size=n, max_size=n))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=d, max_size=d, unique=True))
    kind = draw(st.sampled_from(["ignore", "numbers", "categories", "texts", "missing"]))
    options = {} if kind == "missing" else {kind: ("1",)}
    missing = draw(st.sampled_from(["error", "drop", "mean"]))
    lines = [quoted([*names, "answer"]), *map(quoted, zip(*columns, answers, strict=True))]
    return "".join(lines), ColumnOptions(target="answer", missing=missing, **options)


@many_tables
@given(texts())
def test_any_text_is_the_same_table_in_memory_and_in_passes(
    tmp_path, small_blocks, text_and_options
):
    text, options = text_and_options
    path = tmp_path / "d.csv"
    path.write_bytes(text.encode())
    whole = in_memory(path, options)
    assert in_passes(path, options) == whole
    assert in_passes_over_parquet(path, options) == whole
    count_cases("hostile texts read in memory, in passes and converted")


JSON = (1, 2, 0, -1.5, -0.0, None, "x", "1", "nan", "", True, "a b c", [1], {}, 2**53 + 1, 1e300)


@many_tables
@given(st.data())
def test_any_json_lines_are_the_same_table_in_memory_and_in_passes(tmp_path, small_blocks, data):
    cells = st.lists(st.sampled_from(JSON), min_size=1, max_size=2)
    pools = {name: data.draw(cells) for name in ("a", 'b"')}
    rows = []
    for _ in range(data.draw(st.integers(2, 10))):
        row = {n: data.draw(st.sampled_from(pool)) for n, pool in pools.items() if rows}
        rows.append({**row, "answer": data.draw(st.sampled_from((0, 1, 1, 0, 0.0)))})
    rows[-1]["a"] = data.draw(st.sampled_from(JSON))
    path, missing = tmp_path / "d.jsonl", data.draw(st.sampled_from(("error", "drop", "mean")))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ColumnOptions(target="answer", missing=missing)
    whole = in_memory(path, options)
    assert in_passes(path, options) == whole
    assert in_passes_over_parquet(path, options) == whole
    count_cases("hostile JSON lines read in memory, in passes and converted")


ENTRIES = ("1:2", "0:1", "3:0.5 4:-0.0", "", "1:1 1:1", "2:x", "2:1e400", "9:9007199254740993")


@many_tables
@given(
    st.lists(
        st.tuples(st.sampled_from(("1", "-1", "+1", "1.0", "yes")), st.sampled_from(ENTRIES)),
        min_size=2,
        max_size=10,
    )
)
def test_any_libsvm_lines_are_the_same_table_in_memory_and_in_passes(tmp_path, small_blocks, lines):
    path = tmp_path / "d.libsvm"
    path.write_text("".join(" ".join(line) + "\n" for line in (("-1", "1:1"), *lines)))
    whole = in_memory(path, ColumnOptions())
    assert in_passes(path, ColumnOptions()) == whole
    converted_ = in_passes_over_parquet(path, ColumnOptions())
    # Entries are parsed as they are converted: a bad one is met before bad answers are.
    assert converted_ == whole or {converted_[0], whole[0]} == {"DataError"}
    count_cases("hostile LIBSVM lines read in memory, in passes and converted")


# What a CSV file can say. It cannot say of which type a column is: text that is "1" or "true"
# or a date in every cell is a number, a flag or a date there, and so is not drawn as text; what
# is missing and the empty text are one. JSON lines take a date for a date as well.
NUMBERS = (0.0, -0.0, 1.0, 2.0, -3.0, 0.1, -2.25, 1e-3, 1e6, 0.30000000000000004, None)
WORDS = ("x", "y", "Rome", "a b", "Ünder", 'q"q', "p,p", "l\nl", "nan", "NA", "", None, "1", "-0")
SENTENCES = ("free prize now", "call me, now", "é ü prize", "the of", "one two three", "nan", None)
PAIRS = ((0, 1), (-1, 1), (0.5, 1.5), ("no", "yes"), ("1a", " b"), (False, True), (0, 7))


def texts_of(some, n):
    """Cells of text of which one at least can be nothing else."""
    return st.tuples(
        st.lists(st.sampled_from(some), min_size=n - 1, max_size=n - 1), st.sampled_from(some[:4])
    ).map(lambda drawn: ([*drawn[0], drawn[1]], pa.string()))


def column_of(n):
    """The cells of a column and its Arrow type, what is rare in it often last."""
    cells = functools.partial(st.lists, min_size=n, max_size=n)
    return st.one_of(
        cells(st.sampled_from((*range(-3, 4), None))).map(lambda c: (c, pa.int64())),
        cells(st.sampled_from(NUMBERS)).map(lambda c: (c, pa.float64())),
        cells(st.sampled_from(NUMBERS[:-1])).map(lambda c: (c, pa.float64())),
        cells(st.sampled_from((True, False, None))).map(lambda c: (c, pa.bool_())),
        st.sampled_from((pa.null(), pa.string(), pa.float64())).map(lambda t: ([None] * n, t)),
        texts_of(WORDS, n),
        texts_of(SENTENCES, n),
    )


@dataclass(frozen=True)
class Hostile:
    """A table with names, and its column options."""

    table: pa.Table
    options: ColumnOptions

    def write(self, folder):
        """The same rows in each format, and with numbers as positions in a dictionary."""
        pq.write_table(self.table, folder / "d.parquet", row_group_size=5)
        coded = [c.dictionary_encode() if pa.types.is_integer(c.type) else c for c in self.table]
        coded = pa.Table.from_arrays(coded, self.table.column_names)
        pq.write_table(coded, folder / "coded.parquet", row_group_size=2)
        rows = self.table.to_pylist()
        (folder / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        lines = [self.table.column_names, *(map(written, row.values()) for row in rows)]
        (folder / "d.csv").write_bytes("".join(map(quoted, lines)).encode())
        return [folder / name for name in ("d.parquet", "coded.parquet", "d.jsonl", "d.csv")]


def written(cell):
    """A cell as a CSV file has it."""
    if isinstance(cell, bool):
        return str(cell).lower()
    return "" if cell is None else str(cell)


@st.composite
def hostile_tables(draw):
    n, d = draw(st.integers(3, 14)), draw(st.integers(1, 4))
    columns = [draw(column_of(n)) for _ in range(d)]
    labels = draw(st.sampled_from(PAIRS))
    others = draw(st.sampled_from(((), (), (), (None,), (labels[1],), ("2",))))
    others = [other for other in others if other != "2" or isinstance(labels[0], str)]
    answers = [
        labels[0],
        labels[1],
        *draw(st.lists(st.sampled_from(labels), min_size=n - 2, max_size=n - 2)),
    ]
    answers[-1:] = others or answers[-1:]
    at = draw(st.integers(0, d))
    columns.insert(at, (answers, pa.array(answers).type))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=d, max_size=d, unique=True))
    names.insert(at, "answer")
    table = pa.table({n: pa.array(*column) for n, column in zip(names, columns, strict=True)})
    target = draw(st.sampled_from(["answer", "answer", "answer", None]))
    missing = draw(st.sampled_from(["error", "drop", "mean"]))
    kind = draw(st.sampled_from(["ignore", "texts", "missing", "missing"]))
    roles = {} if kind == "missing" else {kind: (names[at - 1],)}
    if kind == "texts" and not pa.types.is_string(table.schema.field(names[at - 1]).type):
        roles = {}  # of numbers as text, CSV has the spelling and Parquet has none
    return Hostile(table, ColumnOptions(target=target, missing=missing, **roles))


def without_spelling(result):
    """What every format says alike: not the file's name, nor how it spells a bad cell."""
    if isinstance(result[0], str):
        sentence = re.sub(r"\b(d|coded)\.(csv|parquet|jsonl)", "FILE", result[1])
        return result[0], re.sub(r"(row \d+, column [^:]*: ).*", r"\1", sentence)
    return result


@many_tables
@given(hostile_tables())
def test_every_format_and_reader_gives_the_same_table(tmp_path, small_blocks, hostile):
    comma = Layout(separator=",", header=True)
    tables = []
    for path in hostile.write(tmp_path):
        layout = comma if path.suffix == ".csv" else Layout()
        whole = in_memory(path, hostile.options, layout)
        assert in_passes(path, hostile.options, layout) == whole
        if path.suffix in (".csv", ".jsonl"):
            assert in_passes_over_parquet(path, hostile.options, layout) == whole
        tables.append(without_spelling(whole))
    assert tables == [tables[0]] * len(tables)
    count_cases("hostile tables read in every format and way")


@many_tables
@given(hostile_tables(), st.sampled_from([1, 2, 3]))
def test_every_reader_gives_the_same_verdict_and_interchangeable_proofs(
    tmp_path, small_blocks, hostile, which
):
    path = hostile.write(tmp_path)[which]
    options = replace(hostile.options, missing="drop")
    layout = Layout(separator=",", header=True) if path.suffix == ".csv" else Layout()
    try:
        whole = read_data(Source.find(str(path)), layout, options).examples
    except UserError:
        return
    blocks = read_in_passes(Source.find(str(path)), layout, options).blocks
    ours, theirs = separability_of(whole), separability_of(blocks)
    assert ours.verdict == theirs.verdict
    assert ours.proof.data == theirs.proof.data
    for proof in (ours.proof, theirs.proof):
        assert proof.check_examples(whole)
        assert proof.check_examples(blocks)
    sparse = rb.separability(csr_array(dense(whole.X)), whole.y)
    assert (sparse.verdict, sparse.proof.data) == (ours.verdict, ours.proof.data)
    assert sparse.proof.check_examples(whole)
    assert sparse.proof.check_examples(blocks)
    for proof in (ours.proof, theirs.proof, sparse.proof):
        assert proof.check(csr_array(dense(whole.X)), whole.y)
    count_cases(f"hostile tables decided in every way: {ours.verdict}")


@example([5e-324, 0.0], [])
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40),
    st.lists(st.integers(0, 40), max_size=5),
)
def test_mean_and_deviation_do_not_depend_on_batch_boundaries(numbers, ends):
    whole, parted = Moments(), Moments()
    whole.add(np.array(numbers))
    for part in np.split(np.array(numbers), sorted(ends)):
        parted.add(part)
    assert whole.mean_and_spread() == parted.mean_and_spread()
    mean, spread = whole.mean_and_spread()
    assert min(numbers) <= mean <= max(numbers)
    unit = max(map(abs, numbers)) or 1.0
    grain = 5e-324 / unit  # between two of the smallest floats there is none
    assert mean / unit == pytest.approx(np.mean(np.array(numbers) / unit), abs=1e-12 + grain)
    if min(numbers) == max(numbers):
        assert spread == 1.0


def test_a_column_of_missing_value_words_is_empty():
    table = pa.table({"a": ["NA", "", None], "x": [1, 2, 3], "y": [0, 1, 1]})
    made = make_plan(table, ColumnOptions(target="y"), "t")
    assert [column.name for column in made.encoding.columns] == ["x"]
    (note,) = made.notes
    assert 'column "a" left out' in note


def test_column_types_consider_the_last_row_of_a_file_too(tmp_path, small_blocks):
    lines = [f"{'ab'[i % 2]},{i},{i % 3 > 0}\n" for i in range(30)]
    path = tmp_path / "d.csv"
    path.write_text("".join(["city,x,answer\n", *lines, "late,thirty,True\n"]))
    batches = read_in_passes(Source.find(str(path)), Layout(), ColumnOptions(target="answer"))
    assert isinstance(batches.table, FileTable)
    assert sum(1 for _ in batches.table.batches()) > 3
    assert batches.plan.encoding.columns[0].values == ("a", "b", "late")


@pytest.mark.parametrize(
    ("kept", "labels"), [("ab", "a or b"), ("abc", "a, b or c"), ("bcd", "b, c or d")]
)
def test_a_label_whose_rows_are_all_dropped_is_not_a_label(kept, labels, small_blocks, tmp_path):
    rows = [
        (k / 10, "" if label not in kept else k % 3, label) for k, label in enumerate(8 * "abcd")
    ]
    text = "x,z,kind\n" + "".join(f"{x},{z},{label}\n" for x, z, label in rows)
    (tmp_path / "d.csv").write_text(text)
    source, options = Source.find(str(tmp_path / "d.csv")), ColumnOptions("kind", missing="drop")
    frame = pa.table(
        {
            "x": [x for x, *_ in rows],
            "z": [None if z == "" else z for _, z, _ in rows],
            "kind": [label for *_, label in rows],
        }
    )
    ways = read_data(source, Layout(), options), read_in_passes(source, Layout(), options)
    for data in (*ways, rb.learn(frame, "kind", missing="drop", test_size=0).data):
        assert data.plan.target.spellings == list(kept)
        assert f'target column "kind" ({labels})' in str(data)
        gone = [label for label in "abcd" if label not in kept]
        assert f"no row of {' and '.join(gone)} is left" in data.notes[-1]
        assert separability_of(data.blocks).proof.check_examples(data.blocks)


def test_a_single_label_left_after_dropping_rows_is_refused(tmp_path):
    text = "x,z,kind\n" + "".join(f"{k},{k if k < 5 else ''},{'ab'[k > 4]}\n" for k in range(10))
    (tmp_path / "d.csv").write_text(text)
    source, options = Source.find(str(tmp_path / "d.csv")), ColumnOptions("kind", missing="drop")
    for read in (read_data, read_in_passes):
        with refuses(UserError, "(a)"):
            read(source, Layout(), options)
    with refuses(UserError, advice=['missing="mean"']):
        rb.learn(tmp_path / "d.csv", target="kind", missing="drop")
