import json
import queue
import random
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_counts import count_cases, n_cases
from installed import PROGRAM

import rosenblatt as rb
from rosenblatt.cli import run
from rosenblatt.files import CheckpointFolder

HERE = Path(__file__).parent


@pytest.fixture
def program(capfd):
    """Runs `rosenblatt stream`: with input, as a person does; else in this process."""

    def call(*arguments, data=None):
        if data is not None:
            command = [PROGRAM, "stream", *map(str, arguments)]
            done = subprocess.run(command, input=data, capture_output=True, check=False)
            code, out, err = done.returncode, done.stdout.decode(), done.stderr.decode()
        else:
            capfd.readouterr()
            code = run(["stream", *map(str, arguments)])
            out, err = capfd.readouterr()
        assert "Traceback" not in err
        return SimpleNamespace(returncode=code, stdout=out, stderr=err)

    return call


def examples(n=400, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 3)
    return X, np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0, "yes", "no")


def write_csv(path, X, y, bad=()):
    lines = [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), y, strict=True)]
    for at, text in bad:
        lines.insert(at, text)
    path.write_text(
        "\n".join([",".join([f"f{j}" for j in range(X.shape[1])] + ["label"]), *lines, ""])
    )
    return path


def write_jsonl(path, X, y, bad=()):
    rows = [{f"f{j}": v for j, v in enumerate(row)} for row in X.tolist()]
    lines = [
        json.dumps({**row, "label": label or None})
        for row, label in zip(rows, y.tolist(), strict=True)
    ]
    for at, text in bad:
        lines.insert(at, text)
    path.write_text("\n".join([*lines, ""]))
    return path


def expected(X, y, **parameters):
    """What one example at a time says, and the model after it."""
    model, predictions = rb.OnlinePerceptron(**parameters), []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        x = {f"f{j}": v for j, v in enumerate(row)}
        predictions.append(model.predict_one(x) or "")
        if label:
            model.learn_one(x, label)
    return model, predictions


# Every format, every source


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "libsvm", "parquet", "stdin"])
def test_each_line_is_predicted_then_trained_on(program, tmp_path, form):
    X, y = examples()
    path, arguments = tmp_path / f"data.{form}", []
    if form in ("csv", "tsv", "stdin"):
        write_csv(path, X, y)
        if form == "tsv":
            path.write_text(path.read_text().replace(",", "\t"))
    elif form == "jsonl":
        write_jsonl(path, X, y)
    elif form == "parquet":
        columns = {f"f{j}": X[:, j] for j in range(X.shape[1])}
        pq.write_table(pa.table({**columns, "label": y}), path, row_group_size=150)
    else:
        lines = [
            f"{v} " + " ".join(f"{j + 1}:{x}" for j, x in enumerate(row))
            for row, v in zip(X, y, strict=True)
        ]
        path.write_text("\n".join(lines))
    model, predictions = expected(X, y, predict_with="average")
    source = {"data": path.read_bytes()} if form == "stdin" else {}
    place = "-" if form == "stdin" else path
    done = program(
        place, "--predict-with", "average", "--save", tmp_path / "m", *arguments, **source
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n") == [*predictions, ""]
    again = rb.OnlinePerceptron.load(tmp_path / "m")
    if form != "libsvm":  # whose features are named 1, 2, …
        assert again.state() == model.state()
    assert again.n_mistakes == model.n_mistakes
    assert re.search(
        rf"400 rows predicted, 400 trained on, {model.n_mistakes} mistakes .* rows per second",
        done.stderr,
    )


def test_lines_without_a_label_are_only_predicted(program, tmp_path):
    X, y = examples(60)
    y = np.where(np.arange(60) % 4 == 3, "", y)
    model, predictions = expected(X, y)
    for path in (write_csv(tmp_path / "d.csv", X, y), tmp_path / "d.jsonl"):
        if path.suffix == ".jsonl":
            write_jsonl(path, X, y)
            path.write_text(path.read_text().replace(', "label": null', ""))
        target = [] if path.suffix == ".csv" else ["--target", "label"]
        done = program(path, *target, "--save", tmp_path / "m")
        assert done.stdout.split("\n") == [*predictions, ""]
        assert rb.OnlinePerceptron.load(tmp_path / "m").state() == model.state()


def test_features_may_appear_and_disappear(program, tmp_path):
    lines = [
        {"y": 1, "a": 1},
        {"y": 0, "b": 2.5},
        {"y": 1, "c": 1, "a": 0.5},
        {"a": 1, "y": 0, "b": None},
    ]
    done = program(data="\n".join(map(json.dumps, lines)).encode())
    model = rb.OnlinePerceptron()
    predictions = []
    for line in lines:
        x = {name: v for name, v in line.items() if name != "y" and v is not None}
        predictions.append(model.predict_one(x))
        model.learn_one(x, line["y"])
    assert done.stdout.split("\n") == ["" if v is None else str(v) for v in predictions] + [""]


def test_json_prints_one_object_and_nothing_else(program, tmp_path):
    X, y = examples(50)
    path = write_csv(tmp_path / "d.csv", X, y)
    done = program(path, "--json", "--margin", "0.1", "-o", tmp_path / "out")
    model, predictions = expected(X, y)
    result = json.loads(done.stdout)
    assert result["mistakes"] == model.n_mistakes
    assert result["bound"] == model.bound(0.1)
    assert (result["predicted"], result["trained on"], result["bad lines"]) == (50, 50, 0)
    assert result["labels"] == ["no", "yes"]
    assert (tmp_path / "out").read_text().split("\n") == [*predictions, ""]
    assert done.stderr == ""


def test_a_growing_file_is_followed(tmp_path):
    X, y = examples(30)
    path = write_csv(tmp_path / "d.csv", X[:10], y[:10])
    whole = write_csv(tmp_path / "whole.csv", X, y).read_text()
    command = [PROGRAM, "stream", path, "--follow", "-o", tmp_path / "out", "--quiet"]
    process = subprocess.Popen([*map(str, command), "--save", str(tmp_path / "m")])
    try:
        wait_for(lambda: lines_in(tmp_path / "out") == 10)
        rest = whole[len(path.read_text()) :]
        for part in (rest[:37], rest[37:]):  # the first ends within a line
            with open(path, "a") as file:
                file.write(part)
        wait_for(lambda: lines_in(tmp_path / "out") == 30)
        with open(path, "a") as file:
            file.write("3,4,")  # the end of which does not come
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 128 + signal.SIGTERM
    finally:
        process.kill()
    model, predictions = expected(X, y)
    assert (tmp_path / "out").read_text().split("\n") == [*predictions, ""]
    assert rb.OnlinePerceptron.load(tmp_path / "m").state() == model.state()


def lines_in(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for(reached):
    for _ in range(12_000):
        if reached():
            return
        time.sleep(0.025)
    raise AssertionError("it never came")


# Bad lines

BAD = {
    "csv": [
        (5, "1,2,abc,yes"),
        (9, "1,2,yes"),
        (9, "1,2,3,4,yes"),
        (20, "1,nan,3,yes"),
        (33, "1,,3,no"),
        (40, "1,inf,3,no"),
        (41, "1,1e150,3,no"),
        (50, "1,2,3,maybe"),
    ],
    "jsonl": [
        (5, '{"f0": "abc", "label": "yes"}'),
        (9, "{"),
        (9, "[1, 2]"),
        (20, '{"f0": NaN, "label": "yes"}'),
        (33, '{"f0": 1e999, "label": "no"}'),
        (40, '{"f0": {"a": 1}, "label": "no"}'),
        (41, '{"f0": 1e150, "label": "no"}'),
        (50, '{"f0": 1, "label": "maybe"}'),
        (51, '{"f0": 1, "label": [1]}'),
    ],
}
WRITERS = {"csv": write_csv, "jsonl": write_jsonl}


@pytest.mark.parametrize("form", BAD)
def test_bad_lines_are_counted_reported_and_written_to_rejects(program, tmp_path, form):
    X, y = examples(100)
    path = WRITERS[form](tmp_path / f"d.{form}", X, y, BAD[form])
    done = program(path, "--rejects", tmp_path / "bad", "--save", tmp_path / "m")
    model, predictions = expected(X, y)
    assert done.returncode == 0
    assert done.stdout.split("\n") == [*predictions, ""]
    assert rb.OnlinePerceptron.load(tmp_path / "m").state() == model.state()
    rejected = (tmp_path / "bad").read_text().splitlines()
    assert sorted(rejected) == sorted(text for _, text in BAD[form])
    every_line = path.read_text().split("\n")
    numbers = [int(n) for n in re.findall(r", line (\d+): .* skipped\.", done.stderr)]
    assert [every_line[n - 1] for n in numbers] == rejected
    assert f"{len(BAD[form])} bad lines" in done.stderr


@pytest.mark.parametrize("form", BAD)
def test_strict_stops_at_a_bad_line_and_keeps_earlier_results(program, tmp_path, form):
    X, y = examples(100)
    for at, text in (BAD[form][0], BAD[form][-1]):
        path = WRITERS[form](tmp_path / f"d.{form}", X, y, [(at, text)])
        folder = tmp_path / f"kept{at}"
        done = program(path, "--strict", "-o", tmp_path / "out", "--checkpoint", folder)
        assert done.returncode == 65
        assert f", line {at + 1 + (form == 'csv')}: " in done.stderr
        model, predictions = expected(X[:at], y[:at])
        assert (tmp_path / "out").read_text().split("\n") == [*predictions, ""]
        kept = json.loads((folder / "checkpoint.json").read_text())["content"]
        assert kept["model"] == model.state()


def test_a_stream_of_only_bad_lines_exits_with_0(program, tmp_path):
    done = program(data=b'{"label": 1}\nnot json\n\n\x00\n')
    assert done.returncode == 0
    assert "2 bad lines" in done.stderr


def test_lines_may_end_with_a_carriage_return(program, tmp_path):
    X, y = examples(40)
    path = write_csv(tmp_path / "d.csv", X, y)
    expected = program(path, "--json", "--checkpoint", tmp_path / "kept", "-o", tmp_path / "out")
    (tmp_path / "old.csv").write_bytes(path.read_bytes().replace(b"\n", b"\r"))
    for data in (tmp_path / "old.csv", "-"):
        given = (tmp_path / "old.csv").read_bytes() if data == "-" else None
        done = program(data, "--json", "-o", tmp_path / "old", data=given)
        output, same = json.loads(done.stdout), json.loads(expected.stdout)
        assert {**output, "rows per second": 0} == {**same, "rows per second": 0}
        assert (tmp_path / "old").read_bytes() == (tmp_path / "out").read_bytes()


def test_a_duplicate_index_makes_a_bad_line(program, tmp_path):
    (tmp_path / "d.libsvm").write_text("1 1:2 2:1\n-1 3:1 1:2 3:4\n1 1:1_0\n-1 2:5\n")
    done = program(tmp_path / "d.libsvm", "-o", tmp_path / "out")
    assert 'line 2: "3:4" is not the only entry of its row with this index' in done.stderr
    assert 'line 3: "1:1_0" is not ' in done.stderr


# Errors get one sentence


def test_each_error_has_its_exit_code(program, tmp_path):
    X, y = examples(10)
    path = write_csv(tmp_path / "d.csv", X, y)
    (tmp_path / "sub").mkdir()
    np.save(tmp_path / "d.npy", X)
    for arguments, code, sentence in [
        ([tmp_path / "none.csv"], 66, "no such file"),
        ([tmp_path / "sub"], 66, "directory"),
        ([path, "--resume"], 64, "--checkpoint"),
        ([path, "--every", "3"], 64, "--checkpoint"),
        (["-", "--follow"], 64, "--follow"),
        (
            [path, "--target", "size"],
            64,
            '--target size: there is no column "size"; the columns are',
        ),
        (
            [path, "--ignore", "size"],
            64,
            '--ignore size: there is no column "size"; the columns are',
        ),
        ([path, "--margin", "0"], 64, "--margin"),
        ([path, "--eta", "nan"], 64, "'--eta': nan is not a finite number"),
        ([path, "--window", "0"], 64, "window"),
        ([path, "-o", tmp_path / "no" / "out"], 74, "cannot write"),
        ([path, "-o", "/dev/full"], 74, "cannot write /dev/full: No space left"),
        ([tmp_path / "d.npy"], 64, "JSON lines, CSV, LIBSVM or Parquet"),
        ([path, "--checkpoint", path], 66, "cannot be opened"),
    ]:
        done = program(*arguments)
        assert (done.returncode, sentence in done.stderr) == (code, True), (arguments, done.stderr)
        assert len(done.stderr.strip().split("\n")) == 1


def test_a_foreign_checkpoint_is_refused(program, tmp_path):
    X, y = examples(50)
    path, folder = write_csv(tmp_path / "d.csv", X, y), tmp_path / "kept"
    kept = ["--checkpoint", folder, "-o", tmp_path / "out"]
    assert program(path, *kept, "--every", 20).returncode == 0
    written = (tmp_path / "out").read_bytes()
    whole = (folder / "checkpoint.json").read_text()
    other = write_csv(tmp_path / "other.csv", *examples(50, seed=1))
    for arguments, code, sentence in [
        ([path], 64, "--resume"),
        ([path, "--resume", "--window", 7], 64, "with --window 1000"),
        ([other, "--resume"], 65, "not the stream"),
        ([write_csv(tmp_path / "short.csv", X[:3], y[:3]), "--resume"], 65, "ends before"),
    ]:
        done = program(*arguments, *kept)
        assert (done.returncode, sentence in done.stderr) == (code, True), done.stderr
    for text, sentence in [
        (whole[: len(whole) // 2], "damaged"),
        (whole.replace('"format": 2', '"format": 9'), "format 9"),
        (whole.replace('"bad": 0', '"bad": 1'), "was changed"),
    ]:
        (folder / "checkpoint.json").write_text(text)
        done = program(path, *kept, "--resume")
        assert (done.returncode, sentence in done.stderr) == (65, True), done.stderr
    assert (tmp_path / "out").read_bytes() == written
    (folder / "checkpoint.json").write_text(whole)
    (tmp_path / "out").write_bytes(written[:10])
    done = program(path, *kept, "--resume")
    assert (done.returncode, "out has 10 bytes" in done.stderr) == (65, True)


def test_a_folder_in_use_is_refused(program, tmp_path):
    X, y = examples(10)
    path, folder = write_csv(tmp_path / "d.csv", X, y), tmp_path / "kept"
    with CheckpointFolder(folder):
        done = program(path, "--checkpoint", folder)
    assert (done.returncode, "in use by another process" in done.stderr) == (66, True)


def test_output_appended_by_the_shell_is_truncated_too(tmp_path):
    X, y = examples(100)
    path, out = write_csv(tmp_path / "d.csv", X, y), tmp_path / "out"
    out.write_text("before\n")
    command = f"{PROGRAM} stream {path} --checkpoint {tmp_path / 'kept'} >> {out}"
    subprocess.run(command, shell=True, check=True, stderr=subprocess.DEVNULL)
    whole = out.read_bytes()
    with open(out, "a") as file:
        file.write("predictions after the last checkpoint\n")
    with open(path, "a") as file:
        file.write("1,2,3,yes\n")
    subprocess.run(f"{command} --resume", shell=True, check=True, stderr=subprocess.DEVNULL)
    assert out.read_bytes().startswith(whole)
    assert out.read_text().count("\n") == 1 + 101


# Kill it at any moment

EVERY = 40
KILLS = n_cases(40)


class Nursery:
    """A process that runs the program in forks of itself and kills them on request."""

    def __init__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([sys.executable, HERE / "crash_child.py"], **pipes)

    def run(self, arguments, **wish):
        """The exit code, or minus the signal that ended it."""
        wish["arguments"] = ["stream", *map(str, arguments)]
        print(json.dumps(wish), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def nurseries():
    several = queue.Queue()
    every = [Nursery() for _ in range(3)]
    for nursery in every:
        several.put(nursery)
    yield several
    for nursery in every:
        nursery.process.stdin.close()
        nursery.process.stdout.close()
        nursery.process.wait()


@pytest.fixture(scope="module")
def references(tmp_path_factory, nurseries):
    """The uninterrupted runs, and how long they take."""
    folder = tmp_path_factory.mktemp("whole")
    nursery = nurseries.get()
    result = []
    for form in ("csv", "jsonl"):
        X, y = examples(400, seed=7)
        y = np.where(np.arange(400) % 50 == 9, "", y)
        path = WRITERS[form](folder / f"d.{form}", X, y, BAD[form])
        files = Files(path, folder / form)
        begun = time.monotonic()
        assert nursery.run(files.arguments) == 0
        result.append((path, files.what_is_left(), time.monotonic() - begun))
    nurseries.put(nursery)
    return result


class Files:
    """A folder with all that a stream reads and writes, and the arguments that say so."""

    def __init__(self, path, folder):
        folder.mkdir()
        self.folder = folder
        kept = ["--checkpoint", folder / "kept", "--every", EVERY, "--quiet"]
        files = ["-o", folder / "out", "--rejects", folder / "bad", "--target", "label"]
        self.arguments = [path, *kept, *files, "--window", 50, "--predict-with", "pocket"]

    def what_is_left(self):
        kept = (self.folder / "kept" / "checkpoint.json").read_bytes()
        return kept, (self.folder / "out").read_bytes(), (self.folder / "bad").read_bytes()


def death(number, seconds):
    """Of ten, four die at a system call, one of a full disk, one by SIGTERM, four by time."""
    rng = random.Random(number)
    for _ in range(rng.choice([1, 1, 1, 2])):
        if number % 10 < 4:
            yield {"at_call": rng.randint(1, 60)}
        elif number % 10 == 4:
            yield {"full_at": rng.randint(1, 10)}
        else:
            which = signal.SIGTERM if number % 10 == 5 else signal.SIGKILL
            yield {"after": rng.uniform(0, 0.8 * seconds), "signal": which}


def interrupted(nurseries, references, folder, number):
    """Kill a run once, twice or thrice, then let it end; is everything as if nothing happened?"""
    path, whole, seconds = references[number // 10 % 2]
    files = Files(path, folder / str(number))
    nursery = nurseries.get()
    codes = []
    for wish in death(number, seconds):
        codes.append(nursery.run([*files.arguments, "--resume"], **wish))
    codes.append(nursery.run([*files.arguments, "--resume"]))
    nurseries.put(nursery)
    return codes, files.what_is_left() == whole


@pytest.mark.slow_without_jit
def test_killing_at_any_moment_loses_and_repeats_nothing(tmp_path, nurseries, references):
    with ThreadPoolExecutor(3) as several:
        each = several.map(lambda n: interrupted(nurseries, references, tmp_path, n), range(KILLS))
        codes, same = zip(*each, strict=True)
    assert {end[-1] for end in codes} == {0}
    assert sum(same) == KILLS
    died = [code for end in codes for code in end[:-1]]
    count_cases("streams killed, out of space or interrupted, then resumed", len(died))
    first = [end[0] for end in codes]  # those that time ends may have been done before
    assert {code for n, code in enumerate(first) if n % 10 < 4} == {-signal.SIGKILL}
    assert set(first[4::10]) == {74}  # a full disk
    assert {code for code in died if code > 0} <= {74, 128 + signal.SIGTERM}


# Several passes


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_training_in_passes_makes_the_updates_of_order_cycle(tmp_path, capfd, form):
    X, _ = examples(3000, d=4)
    score = X @ [1, 2, -1, 0.5] + 0.3
    X, y = X[abs(score) > 0.1], np.where(score > 0, "yes", "no")[abs(score) > 0.1]
    path = tmp_path / f"d.{form}"
    if form == "parquet":
        columns = {f"f{j}": X[:, j] for j in range(4)}
        pq.write_table(pa.table({**columns, "label": y}), path, row_group_size=700)
    else:
        WRITERS[form](path, X, y)
    arguments = ["--no-scale", "-o", str(tmp_path / "m.json"), "--json"]
    assert run(["learn", "--stream", str(path), *arguments]) == 0
    clf = rb.Perceptron().fit(X, y)
    result = json.loads(capfd.readouterr().out)
    assert result["updates"] == clf.n_updates_
    assert (result["epochs"], result["mistakes"]) == (clf.n_iter_, 0)
    model = rb.load(tmp_path / "m.json")
    assert model.hypothesis.w.tolist() == clf.weights_.tolist()


def test_training_in_passes_refuses_unsupported_options(tmp_path, capfd):
    X, y = examples(20)
    path = write_csv(tmp_path / "d.csv", X, y)
    for arguments, code in [
        ([], 64),
        ([path, "--cv", 3], 64),
        ([path, "--order", "random"], 64),
        ([tmp_path / "none.csv"], 66),
    ]:
        assert run(["learn", "--stream", *map(str, arguments)]) == code
    path.write_text(path.read_text() + "1,2,x,yes\n")
    assert run(["learn", "--stream", str(path), "-o", str(tmp_path / "m.json")]) == 65
    assert not (tmp_path / "m.json").exists()
