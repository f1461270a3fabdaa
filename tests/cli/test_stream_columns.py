"""Columns of a stream that are not numeric, and warnings about unreadable lines."""

import csv
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rosenblatt as rb
from rosenblatt.read.lines import MAX_DEPTH, is_too_deep

NOTES = ["Call me when you are free, free!", "the meeting is moved to Monday", "ok"]


def people(n=80):
    chance = random.Random(3)
    rows = [
        {
            "age": round(chance.random(), 3),
            "color": chance.choice(["red", "deep blue", "NA"]),
            "ok": chance.random() < 0.5,
            "note": chance.choice(NOTES),
        }
        for _ in range(n)
    ]
    rows[0] |= {"color": "red", "note": NOTES[0]}
    return [{**row, "label": "yes" if row["color"] == "red" else "no"} for row in rows]


def write(path, rows):
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with open(path, "w", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(rows[0])
            for row in rows:
                lines.writerow([json.dumps(v) if v in (True, False) else v for v in row.values()])
    return path


def expected(rows):
    """What the online perceptron learns from the features as the manual names them."""
    words = [
        {"call": 1.0, "free": 2.0},
        {"meeting": 1.0, "moved": 1.0, "monday": 1.0},
        {"ok": 1.0},
    ]
    model = rb.OnlinePerceptron()
    for row in rows:
        x = {"age": row["age"], f"color={row['color']}": 1.0, "ok": float(row["ok"])}
        note = words[NOTES.index(row["note"])]
        x |= {f"note={word}": count for word, count in note.items()}
        model.predict_one(x)
        model.learn_one(x, row["label"])
    return model


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_categories_and_text_are_trained_on_alike_from_every_format(run_command, tmp_path, form):
    rows = people()
    path = write(tmp_path / f"d.{form}", rows)
    code, out, err = run_command("stream", path, "--save", "m")
    assert code == 0, err
    assert 'column "color" as a category; column "note" as words' in err
    assert out.count("\n") == len(rows)
    assert rb.OnlinePerceptron.load("m").state() == expected(rows).state()
    assert {"color=red", "note=free"} & set(rb.OnlinePerceptron.load("m").weights)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_column_types_are_kept_when_resuming(run_command, tmp_path, form):
    rows = people()
    rows[20]["color"] = "12"  # which would be a number, had it come first
    path = tmp_path / f"d.{form}"
    arguments = ["stream", path, "--checkpoint", "kept", "--every", 16, "-o", "out", "--quiet"]
    if form == "parquet":  # of which only a whole file can be read
        write(path, rows)
        assert run_command(*arguments)[0] == 0
    else:
        for end in (16, 80):
            write(path, rows[:end])
            assert run_command(*arguments, "--resume")[0] == 0
    kept = json.loads((tmp_path / "kept" / "checkpoint.json").read_text())["content"]["model"]
    assert kept == expected(rows).state()


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_options_set_the_type_of_a_column(run_command, tmp_path, form):
    rows = [{"zip": 10 + i % 3, "note": "one two three four", "label": i % 2} for i in range(9)]
    path = write(tmp_path / f"d.{form}", rows)
    code, _, err = run_command(
        "stream", path, "--category", "zip", "--category", "note", "--save", "m"
    )
    assert (code, "taken by" in err) == (0, False), err
    names = set(rb.OnlinePerceptron.load("m").state()["features"])
    assert names <= {"zip=10", "zip=11", "zip=12", "note=one two three four"}
    assert names & {"zip=10", "zip=11", "zip=12"}
    code, _, err = run_command("stream", path, "--category", "zip", "--text", "zip")
    assert (code, 'both name column "zip"' in err) == (64, True)


def test_a_missing_category_adds_nothing_and_a_new_one_is_added(run_command, tmp_path):
    lines = ["cabin,age,label", *[f",{i},{i % 2}" for i in range(5)], "C85,3,1"]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    code, out, err = run_command("stream", "d.csv", "--save", "m")
    assert (code, out.count("\n"), 'column "cabin" as a category' in err) == (0, 6, True)
    assert set(rb.OnlinePerceptron.load("m").state()["features"]) <= {"age", "cabin=C85"}


def test_an_empty_column_is_left_out(run_command, tmp_path):
    (tmp_path / "d.csv").write_text("a,empty,label\n" + "1,,0\n2,,1\n" * 5)
    code, out, err = run_command("stream", "d.csv")
    assert (code, out.count("\n")) == (0, 10)
    assert 'column "empty" left out' in err
    code, _, err = run_command("stream", "d.csv", "--checkpoint", "kept")  # it may yet come
    assert (code, 'column "empty": the value is missing' in err) == (65, True)


def test_an_unterminated_last_line_determines_column_types(run_command, tmp_path):
    (tmp_path / "d.csv").write_text("color,label\nred,0")
    assert run_command("stream", "d.csv", "--category", "label")[:2] == (0, "\n")


def test_columns_of_dates_are_refused_at_the_start(run_command, tmp_path):
    import datetime

    days = [datetime.date(2020, 1, 1 + i % 2) for i in range(6)]
    rows = [{"day": day, "a": 1.5, "label": i % 2} for i, day in enumerate(days)]
    write(tmp_path / "d.parquet", rows)
    code, out, err = run_command("stream", "d.parquet", "-o", "out")
    assert (code, out, err.count("\n")) == (65, "", 1)
    assert 'column "day": dates or times, which are neither numbers nor words.' in err
    assert "Give --ignore day, or --category day." in err
    assert run_command("stream", "d.parquet", "--ignore", "day", "-o", "out")[0] == 0
    assert (
        run_command("stream", "d.parquet", "--category", "day", "-o", "out", "--save", "m")[0] == 0
    )
    assert "day=2020-01-01" in rb.OnlinePerceptron.load("m").state()["features"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_every_name_of_utf_8_is_accepted(run_command, tmp_path, form):
    path = write(tmp_path / f"d.{form}", [{"a": i, "label": i % 2} for i in range(4)])
    assert run_command("stream", path, "--encoding", "UTF8", "-o", "out")[0] == 0
    path.write_text(path.read_text(), encoding="utf-16")
    code, _, err = run_command("stream", path, "-o", "out")
    assert (code, "must be UTF-8 text; convert it with iconv" in err) == (64, True)


def test_numbers_written_as_text_are_numbers(run_command, tmp_path):
    rows = [{"a": str(i / 4), "label": i % 2} for i in range(8)]
    models = []
    for form in ("jsonl", "parquet", "csv"):
        path = write(tmp_path / f"d.{form}", rows)
        assert run_command("stream", path, "--save", "m", "--quiet")[0] == 0
        models.append(rb.OnlinePerceptron.load("m").state())
    assert models[0] == models[1] == models[2]
    assert models[0]["features"] == ["a"]


# Complaints


def test_a_hundred_equal_warnings_are_one_with_a_count(run_command, tmp_path):
    (tmp_path / "d.csv").write_text("a,label\n1,0\n" + "abc,1\n" * 100 + "2,1\n")
    code, _, err = run_command("stream", "d.csv", "--quiet")
    assert code == 0
    assert err == (
        'rosenblatt: d.csv, line 3: column "a": "abc" is not a number '
        "(and 99 more lines like it); skipped.\n"
    )


def test_repeated_warnings_are_counted_at_the_end(run_command, tmp_path):
    (tmp_path / "d.csv").write_text("a,label\n" + "1,0\nabc,1\n" * 10)
    code, _, err = run_command("stream", "d.csv", "--quiet", "--checkpoint", "kept", "--every", "4")
    assert code == 0
    first, *others, last = err.splitlines()
    assert 'line 3: column "a": "abc" is not a number; skipped.' in first
    assert "9 later lines like line 3" in last
    assert not others


def test_a_warning_about_a_long_value_is_short(run_command, tmp_path):
    lines = [{"a": 1, "label": 0}, {"a": "x" * 9000, "label": 0}, {"a": 2, "label": [0] * 9000}]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, _, err = run_command("stream", "d.jsonl", "--quiet")
    assert (code, err.count("\n")) == (0, 2)
    assert max(map(len, err.splitlines())) < 300


def test_counts_of_one_are_singular(run_command, tmp_path):
    (tmp_path / "d.csv").write_text("a,label\n1,0\nabc,1\nabc,1\n")
    code, _, err = run_command("stream", "d.csv")
    assert (code, "(and 1 more line like it)" in err, "1 mistake (" in err) == (0, True, True)
    (tmp_path / "d.csv").write_text("a,label\n1,0\nabc,1\n")
    assert ", 1 bad line, " in run_command("stream", "d.csv")[2]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("d.csv", "a,label\n" + "abc,1,2\n" * 3),
        ("d.jsonl", "{\n" * 3),
        ("d.libsvm", "1 a:b\n" * 3),
        ("d.csv", "a,label\n"),
        ("d.csv", ""),
    ],
)
def test_an_unreadable_stream_exits_with_65(run_command, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    target = [] if name == "d.libsvm" else ["--target", "label"]
    code, _, err = run_command("stream", name, *target, "--save", "m", "--quiet")
    assert (code, "Traceback" in err) == (65, False)
    assert not (tmp_path / "m").exists()


# Nested deep


@pytest.mark.parametrize("deep", ['{"a": 1, "b": %s, "label": 1}', '{"a": 1, "label": %s}', "%s"])
@pytest.mark.parametrize("pair", ["[]", '{"a":|}'])
@pytest.mark.parametrize("first", [True, False])
def test_deeply_nested_lines_are_bad_lines(run_command, tmp_path, deep, pair, first):
    down, up = (pair[0], pair[1]) if pair == "[]" else pair.split("|")
    bad = deep % (down * 20_000 + ("" if pair == "[]" else "1") + up * 20_000)
    good = ['{"a": 1, "label": 0}', '{"a": 2, "label": 1}']
    lines = [bad, *good] if first else [*good, bad]
    (tmp_path / "d.jsonl").write_text("\n".join(lines) + "\n")
    code, out, err = run_command("stream", "d.jsonl", "--target", "label", "--quiet")
    assert (code, out.count("\n")) == (0, 2)
    assert f"line {1 if first else 3}: it is nested more than {MAX_DEPTH} deep" in err
    code, _, err = run_command("learn", "d.jsonl", "--target", "label", "-o", "m.json")
    assert (code, err.count("\n"), "nested more than" in err) == (65, 1, True)


@pytest.mark.parametrize("between", ["", "\n", "\n\n"])
def test_a_value_over_many_lines_is_refused_too(run_command, tmp_path, between):
    deep = between.join(["[" * 50] * 400)
    text = '{"a": 1, "label": 0}\n{"label": 1, "b": ' + deep + deep.replace("[", "]") + "}\n"
    (tmp_path / "d.jsonl").write_text(text)
    code, _, err = run_command("learn", "d.jsonl", "--target", "label", "-o", "m.json")
    assert (code, err.count("\n"), "row 2" in err) == (65, 1, True)


def test_brackets_in_text_and_side_by_side_are_not_nesting():
    assert not is_too_deep(json.dumps({"a": "[" * 500, 'b"': "{" * 500}).encode())
    assert not is_too_deep(json.dumps([[]] * 500).encode())
    assert not is_too_deep(json.dumps({"a": '\\"[[' * 100}).encode())
    assert not is_too_deep(json.dumps(["[", "x"] * 100).encode())
    assert is_too_deep(b'{"a": ' * 65)
    assert is_too_deep(b'["\\"", ' + b"[" * MAX_DEPTH)
