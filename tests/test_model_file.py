"""One model file: written by learn, stream and save, read by predict, Python and plain readers.

Each test starts from a raw file, trains in one process and predicts in others.
"""

import csv
import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from facts import refuses
from sklearn.datasets import load_iris

import rosenblatt as rb
from rosenblatt.cli import run
from rosenblatt.errors import RowError

PAGE = Path(__file__).parents[1] / "docs" / "api" / "model-file.md"
NOTES = [
    "Call me when you are free, free!",
    "The meeting is moved to Monday, I am told",
    "İstanbul and ΣΑΣ: naïve café_1 4ever",
    "Free money at the station of Łódź",
]


def command(*arguments):
    given = [sys.executable, "-m", "rosenblatt", *map(str, arguments)]
    done = subprocess.run(given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def here(*arguments):
    """The same in this process, which is quicker."""
    assert run([*map(str, arguments)]) == 0


def python_reader():
    """The reader that the manual prints."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    found = {}
    exec(next(block for block in blocks if "def predict" in block), found)
    return found["predict"]


def predicted_by_node(model, rows, folder):
    """The labels by the reader in JavaScript that the manual prints."""
    if shutil.which("node") is None:
        pytest.skip("Node is not installed")
    block = re.search(r"```js[^\n]*\n(.*?)```", PAGE.read_text(), re.S)
    (folder / "reader.mjs").write_text(block[1])
    (folder / "rows.json").write_text(json.dumps(rows))
    (folder / "run.mjs").write_text(
        'import { readFileSync } from "node:fs";\n'
        'import { predict } from "./reader.mjs";\n'
        "const [model, rows] = process.argv.slice(2).map((f) => JSON.parse(readFileSync(f)));\n"
        "console.log(JSON.stringify(rows.map((row) => predict(model, row))));\n"
    )
    given = ["node", folder / "run.mjs", model, folder / "rows.json"]
    return json.loads(subprocess.run(given, capture_output=True, check=True, text=True).stdout)


def write(path, rows):
    """Write rows as JSON lines or CSV; return them as a reader of that format sees them."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return rows
    names = list(dict.fromkeys(name for row in rows for name in row))
    with open(path, "w", newline="") as file:
        lines = csv.DictWriter(file, names, lineterminator="\n")
        lines.writeheader()
        lines.writerows(
            {n: json.dumps(v) if isinstance(v, bool) else v for n, v in row.items()} for row in rows
        )
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def numbers(chance, gaps):
    row = {"a": chance.randrange(-8, 9) / 4, "b": chance.randrange(9) / 2}
    row["ok"] = chance.random() < 0.5
    if gaps and chance.random() < 0.2:
        row[chance.choice(["a", "b"])] = None
    return row, row["ok"] + (row["a"] or 0) + (row["b"] or 0) > 2.3


def categories(chance, gaps):
    row = {"color": chance.choice(["red", "deep blue", " teal", "NA", "=x"])}
    row["size"] = chance.choice("SML")
    if gaps and chance.random() < 0.2:
        row[chance.choice(["color", "size"])] = None
    return row, row["color"] in ("red", "=x") or row["size"] == "M"


def text(chance, gaps):
    row = {"note": " ".join(chance.choice(NOTES).split()[chance.randrange(3) :])}
    row["hour"] = chance.randrange(24)
    if gaps and chance.random() < 0.2:
        row["note"] = None
    return row, "free" in (row["note"] or "") or row["hour"] > 18


def mixed(chance, gaps):
    rows = [kind(chance, gaps) for kind in (numbers, categories, text)]
    return {**rows[0][0], **rows[1][0], **rows[2][0]}, sum(right for _, right in rows) >= 2


MAKERS = {"numbers": numbers, "categories": categories, "text": text, "mixed": mixed}


def table(kind, gaps, labels, n=260):
    chance, rows = random.Random(f"{kind} {gaps} {labels}"), []
    for _ in range(n):
        row, positive = MAKERS[kind](chance, gaps and len(rows) > 3)
        third = labels == 3 and positive and len(str(row)) % 2 == 0
        place = 2 if third else positive if chance.random() < 0.95 else 1 - positive
        rows.append({**row, "id": f"row {len(rows)}", "kind": ["no", "yes", "maybe"][place]})
    first = {"color": "red", "note": NOTES[0]}  # whose kinds are clear
    rows[0] |= {name: cell for name, cell in first.items() if name in rows[0]}
    return rows


def predictions(path):
    return [json.loads(line)["prediction"] for line in path.read_text().splitlines()]


def labels_everywhere(model, data, rows, folder, command=here):
    """The labels of raw rows by every reader of a model file, which must agree."""
    command("predict", model, data, "-o", folder / "p.jsonl")
    by_command = predictions(folder / "p.jsonl")
    there = [n for n, label in enumerate(by_command) if label is not None]
    assert len(there) > 100
    rows, by_command = [rows[n] for n in there], [by_command[n] for n in there]
    parsed, predict = json.loads(model.read_text()), python_reader()
    online = rb.OnlinePerceptron.load(model)
    found = {
        "rb.load, dicts": rb.load(model).predict(rows).tolist(),
        "rb.load, frame": rb.load(model).predict(pd.DataFrame(rows)).tolist(),
        "OnlinePerceptron, dicts": [online.predict_one(row) for row in rows],
        "OnlinePerceptron, frame": online.predict_many(pd.DataFrame(rows)).tolist(),
        "plain Python": [predict(parsed, row) for row in rows],
        "Node": predicted_by_node(model, rows, folder),
    }
    assert {name: found[name] == by_command for name in found} == dict.fromkeys(found, True)
    return by_command


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("form", ["jsonl", "csv"])
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("trained", ["learn", "stream"])
def test_every_reader_gives_the_same_labels(tmp_path, trained, gaps, form, kind, labels):
    data, model = tmp_path / f"d.{form}", tmp_path / "m.json"
    rows = write(data, table(kind, gaps, labels))
    train(here, trained, data, model, gaps, labels)
    found = labels_everywhere(model, data, rows, tmp_path)
    assert len(set(found)) > 1


def train(command, trained, data, model, gaps, labels):
    given = ["--target", "kind", "--ignore", "id"]
    if trained == "learn":
        missing = ["--missing", "mean"] if gaps else []
        command("learn", data, *given, *missing, "-o", model, "--time-limit", 0.2, "--max-iter", 20)
    else:
        names = ["--labels", "no,yes,maybe"] if labels == 3 else []
        command("stream", data, *given, *names, "--save", model, "-o", data.with_suffix(".out"))


@pytest.mark.parametrize("trained", ["learn", "stream"])
def test_separate_processes_agree_too(tmp_path, trained):
    data, model = tmp_path / "d.jsonl", tmp_path / "m.json"
    rows = write(data, table("mixed", True, 3))
    train(command, trained, data, model, True, 3)
    assert len(set(labels_everywhere(model, data, rows, tmp_path, command))) > 1


@pytest.mark.parametrize("predict_with", ["last", "average", "pocket"])
def test_predictions_use_the_weights_in_the_file(tmp_path, predict_with):
    data, model = tmp_path / "d.jsonl", tmp_path / "m.json"
    rows = write(data, table("mixed", True, 3))
    how = ["--predict-with", predict_with, "--window", 40, "--labels", "no,yes,maybe"]
    given = ["--target", "kind", "--ignore", "id", "--save", model, "-o", tmp_path / "out"]
    here("stream", data, *given, *how)
    labels_everywhere(model, data, rows, tmp_path)
    assert json.loads(model.read_text())["training"]["predict with"] == predict_with


def test_a_stream_of_libsvm_lines_stores_only_indices_that_occur(tmp_path):
    chance, lines = random.Random(1), []
    for _ in range(200):
        x = sorted(chance.sample([3, 7, 500, 10**6, 999_999_999], 3))
        entries = [f"{i}:{chance.randrange(1, 9)}" for i in x]
        lines.append(" ".join(["1" if 7 in x else "-1", *entries]))
    data, model = tmp_path / "d.libsvm", tmp_path / "m.json"
    data.write_text("\n".join(lines) + "\n")
    here("stream", data, "--save", model, "-o", tmp_path / "out")
    here("predict", model, data, "-o", tmp_path / "p.jsonl")
    by_command = predictions(tmp_path / "p.jsonl")
    online = rb.OnlinePerceptron.load(model)
    rows = [
        {int(i): float(v) for i, v in (e.split(":") for e in line.split()[1:])} for line in lines
    ]
    assert [online.predict_one(row) for row in rows] == by_command
    assert set(by_command) == {-1, 1}


def test_a_model_of_arrays_accepts_arrays(tmp_path):
    X, y = load_iris(return_X_y=True)
    online = rb.OnlinePerceptron(labels=[0, 1, 2], predict_with="average")
    for _ in range(3):
        online.learn_many(X, y)
    rb.save(online, tmp_path / "m.json")
    again = rb.load(tmp_path / "m.json")
    assert again.predict(X).tolist() == online.predict_many(X).tolist()
    wider = np.column_stack([X, np.ones(len(X))])  # of a feature that no row had
    assert again.predict(wider).tolist() == online.predict_many(wider).tolist()


def test_a_model_of_arrays_says_which_files_it_can_predict(tmp_path, capsys):
    online = rb.OnlinePerceptron()
    online.learn_many(np.eye(2), ["no", "yes"])
    online.save(tmp_path / "m.json")
    (tmp_path / "d.csv").write_text("a,b\n1,0\n0,1\n")
    assert run(["predict", str(tmp_path / "m.json"), str(tmp_path / "d.csv")]) == 65
    assert "d.csv has no LIBSVM entries" in capsys.readouterr().err


def test_a_stream_continues_from_its_file_with_raw_rows(tmp_path):
    rows = table("mixed", True, 2)
    data = tmp_path / "d.jsonl"
    write(data, rows[:130])
    given = ["--target", "kind", "--ignore", "id", "-o", tmp_path / "out", "--save"]
    here("stream", data, *given, tmp_path / "half.json")
    online = rb.OnlinePerceptron.load(tmp_path / "half.json")
    for row in rows[130:]:
        online.learn_one(row, row["kind"])  # id and kind are no columns of the model
    write(data, rows)
    here("stream", data, *given, tmp_path / "whole.json")
    assert online.state() == rb.OnlinePerceptron.load(tmp_path / "whole.json").state()
    online.save(tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text())
    assert again == json.loads((tmp_path / "whole.json").read_text())


def test_frames_train_like_their_rows_and_never_partially(tmp_path):
    rows = table("mixed", True, 2)
    given = ["--target", "kind", "--ignore", "id", "-o", tmp_path / "out", "--save"]
    write(tmp_path / "d.jsonl", rows[:100])
    here("stream", tmp_path / "d.jsonl", *given, tmp_path / "m.json")
    one, many, both = (rb.OnlinePerceptron.load(tmp_path / "m.json") for _ in range(3))
    y = [row["kind"] for row in rows]
    predicted = []
    for row, label in zip(rows, y, strict=True):
        predicted.append(one.predict_one(row))
        one.learn_one(row, label)
    frame = pd.DataFrame(rows)
    many.learn_many(frame, y)
    assert both.predict_then_learn(frame, y).tolist() == predicted
    assert one.state() == many.state() == both.state()
    bad = pd.DataFrame([{**row, "a": "3" if row["a"] else None} for row in rows])
    bad.loc[200, "a"] = "abc"
    with refuses(RowError, "X", row=200):
        many.learn_many(bad, y)
    with refuses(RowError, "y", row=7):
        many.learn_many(frame, [*y[:7], "other", *y[8:]])
    assert one.state() == many.state()


def test_a_stream_continues_from_the_weights_of_learn(tmp_path):
    data, model = tmp_path / "d.csv", tmp_path / "m.json"
    rows = write(data, table("mixed", True, 2))
    how = ["--target", "kind", "--ignore", "id", "--missing", "mean", "--positive", "no"]
    here("learn", data, *how, "-o", model, "--time-limit", 0.5)
    online = rb.OnlinePerceptron.load(model)
    expected = rb.load(model).predict(rows).tolist()
    assert [online.predict_one(row) for row in rows] == expected
    assert (online.n_seen, online.n_mistakes) == (0, 0)
    for row in rows:
        online.learn_one(row, row["kind"])
    assert online.n_seen == len(rows)
    assert online.n_mistakes > 0
    online.save(model)
    assert rb.load(model).predict(rows).tolist() == [online.predict_one(row) for row in rows]


def test_predict_uses_the_model_of_a_continuing_stream(tmp_path):
    """Every write replaces the file at once: whoever reads it meanwhile gets a whole model."""
    rows = table("mixed", False, 2)
    model = tmp_path / "m.json"
    write(tmp_path / "some.jsonl", rows[:20])
    given = ["--target", "kind", "--ignore", "id", "--every", "5", "--save", model, "-o", "out"]
    running = subprocess.Popen(
        [sys.executable, "-m", "rosenblatt", "stream", "-", *map(str, given)],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    seen = set()
    for begin in range(0, 250, 10):
        lines = "".join(json.dumps(row) + "\n" for row in rows[begin : begin + 10])
        running.stdin.write(lines.encode())
        running.stdin.flush()
        if begin % 50 == 0:
            while not model.exists():
                assert running.poll() is None
            seen.add(rb.load(model).training["examples"])
            here("predict", model, tmp_path / "some.jsonl", "-o", tmp_path / "p.csv")
    running.stdin.close()
    assert running.wait(300) == 0
    assert rb.load(model).training["examples"] == 250
    assert len(seen | {250}) > 1


def test_a_stream_that_has_seen_one_label_cannot_predict_yet(tmp_path):
    online = rb.OnlinePerceptron()
    online.learn_one({"a": 1.0}, "yes")
    online.save(tmp_path / "m.json")
    assert rb.OnlinePerceptron.load(tmp_path / "m.json").labels == ("yes",)
    with refuses(ValueError, "m.json"):
        rb.load(tmp_path / "m.json")


def test_every_reader_refuses_a_missing_number_if_the_model_does(tmp_path):
    data, model = tmp_path / "d.csv", tmp_path / "m.json"
    write(data, table("numbers", False, 2))
    here("learn", data, "--target", "kind", "--ignore", "id", "-o", model)
    online, row = rb.OnlinePerceptron.load(model), {"a": None, "b": 1.0, "ok": True}
    for read in (rb.load(model).predict, lambda rows: online.predict_one(rows[0])):
        with refuses(ValueError, column="a"):
            read([row])
    with pytest.raises(KeyError):
        python_reader()(json.loads(model.read_text()), row)
    with pytest.raises(subprocess.CalledProcessError):
        predicted_by_node(model, [row], tmp_path)


def test_every_reader_reads_the_same_texts_as_numbers(tmp_path):
    """What is no number is replaced by the mean; blanks and digits of other scripts make none."""
    data, model, new = tmp_path / "d.csv", tmp_path / "m.json", tmp_path / "new.csv"
    write(data, table("numbers", True, 2))
    given = ["--target", "kind", "--ignore", "id", "--number", "a", "--missing", "mean"]
    here("learn", data, *given, "-o", model, "--max-iter", 20)
    cells = [" 40\t", "+40", "40.", ".4e2", "-4E1", "1_000", "12%", "1,5", "0x10", "", "n/a", "inf"]
    cells += ["TRUE", "\uff11\uff12", "\u0664\u0660", "\u00a040", "40\u2003", "\u221240"]
    rows = [{"a": cell, "b": b / 2, "ok": b % 2 == 0} for cell in cells for b in range(9)]
    found = labels_everywhere(model, new, write(new, rows), tmp_path)
    assert len(set(found)) > 1


def test_words_are_split_alike_in_every_script():
    """By Arrow in frames and by Python in streams, for the first plane of Unicode."""
    import pyarrow as pa

    from rosenblatt.read.columns import split_words

    letters = [chr(code) for code in range(0x10000) if not 0xD800 <= code < 0xE000]
    words, offsets = split_words(pa.array([f"a{letter}b {letter}" for letter in letters]))
    words = words.to_pylist()
    for n, letter in enumerate(letters):
        split = [word for word in words[offsets[n] : offsets[n + 1]] if word]
        assert split == re.findall(r"\w+", f"a{letter}b {letter}".lower()), hex(ord(letter))
