"""Files larger than memory: the same corrections, verdicts and proofs, pass after pass."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import rosenblatt as rb
from rosenblatt import algorithms
from rosenblatt.blocks import InOrder
from rosenblatt.evidence.separability import separability_of
from rosenblatt.read import (
    Layout,
    Source,
    columnar,
    csv,
    data,
    lines,
    source,
)
from rosenblatt.read.columnar import convert_file
from rosenblatt.read.data import Data, read_data, read_in_passes
from rosenblatt.read.plan import ColumnOptions
from rosenblatt.scaling import Scaling

FORMS = ["csv", "jsonl", "libsvm", "parquet", "feather", "npy", "fortran.npy", "float32.npy"]
N, D = 700, 4


@pytest.fixture
def small_batches(monkeypatch):
    """Batches of a few rows, so that a small file has many of them."""
    for module in (csv, lines):
        monkeypatch.setattr(module, "BLOCK", 4096)
    monkeypatch.setattr(columnar, "ROWS", 90)
    monkeypatch.setattr(columnar, "batch_bytes", lambda: 4096)


def examples(seed=0, wrong=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * [1.0, 30.0, 0.1, 1.0] + [0.0, 100.0, 0.0, 2.0]
    score = (X - [0.0, 100.0, 0.0, 2.0]) @ [1.0, 0.1, -20.0, 0.5]
    X, score = X[np.abs(score) > 0.2], score[np.abs(score) > 0.2]
    y = np.where(score > 0, 1, -1)
    y[rng.choice(len(y), wrong, replace=False)] *= -1
    return X, y


def write(path, X, y):
    form = path.suffix
    table = pa.table({**{f"f{j}": X[:, j] for j in range(X.shape[1])}, "label": y})
    if form == ".csv":
        pa.csv.write_csv(table, path)
    elif form == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif form == ".libsvm":
        lines = (
            f"{a:+d} " + " ".join(f"{j}:{v!r}" for j, v in enumerate(x, 1))
            for x, a in zip(X.tolist(), y.tolist(), strict=True)
        )
        path.write_text("\n".join(lines) + "\n")
    elif form == ".parquet":
        pq.write_table(table, path, row_group_size=200)
    elif form == ".feather":
        pa.feather.write_feather(table, path, chunksize=150)
    else:
        array = np.column_stack([X, y])
        array = array.astype(np.float32) if "float32" in path.name else array
        np.save(path, np.asfortranarray(array) if "fortran" in path.name else array)
    return str(path)


def opened(path, **wishes):
    return read_in_passes(Source.find(path), Layout(), ColumnOptions(**wishes))


def in_memory(path, **wishes):
    return read_data(Source.find(path), Layout(), ColumnOptions(**wishes)).examples


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_every_format_gives_the_updates_of_the_run_in_memory(tmp_path, small_batches, form, stored):
    wishes = {} if form in ("libsvm", "npy") or "npy" in form else {"target": "label"}
    path = write(tmp_path / f"d.{form}", *examples(wrong=5))
    found, whole = opened(path, **wishes), in_memory(path, **wishes)
    if stored and form not in ("csv", "jsonl", "libsvm"):
        return  # only text is converted
    found = Data.in_passes(convert_file(found.table), found.plan) if stored else found
    blocks = found.blocks
    assert sum(1 for _ in blocks.batches()) > 3
    budget = algorithms.Budget(20)
    run, corrected = algorithms.pla(whole, budget=budget), []
    done = algorithms.pla(
        blocks, budget=budget, watch=lambda now: corrected.extend(now.updated.tolist())
    )
    assert corrected == run.trace.examples.tolist()
    assert done.hypothesis.w.tolist() == run.hypothesis.w.tolist()
    assert (done.mistakes, done.rows) == (run.mistakes, whole.n)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_pocket_and_scaling_match_those_in_memory(tmp_path, small_batches, form):
    path = write(tmp_path / f"d.{form}", *examples(wrong=40))
    blocks, whole = opened(path, target="label").blocks, in_memory(path, target="label")
    scaling = Scaling.of(blocks)
    assert scaling.center.tolist() == Scaling.of(whole).center.tolist()
    assert scaling.width.tolist() == Scaling.of(whole).width.tolist()
    budget = algorithms.Budget(2**62, 300)
    rule = algorithms.Rule("cycle")
    run = algorithms.pocket(scaling.apply(whole), rule, budget)
    done = algorithms.pocket(InOrder(lambda: map(scaling.apply, blocks.batches())), rule, budget)
    assert done.pocket.history == run.pocket.history
    assert done.hypothesis.w.tolist() == run.hypothesis.w.tolist()


@pytest.mark.parametrize("form", ["csv", "libsvm", "parquet", "feather", "npy"])
@pytest.mark.parametrize("wrong", [0, 3])
def test_a_verdict_in_passes_matches_that_in_memory_and_its_proof_holds(
    tmp_path, small_batches, form, wrong
):
    path = write(tmp_path / f"d.{form}", *examples(wrong=wrong))
    wishes = {} if form in ("libsvm", "npy") else {"target": "label"}
    blocks, whole = opened(path, **wishes).blocks, in_memory(path, **wishes)
    ours, theirs = separability_of(blocks), separability_of(whole)
    assert ours.verdict == theirs.verdict == ("inseparable" if wrong else "separable")
    assert ours.proof.check_examples(whole)
    assert theirs.proof.check_examples(blocks)
    if not wrong:
        assert ours.margin == pytest.approx(theirs.margin, rel=1e-8)


def test_learn_chooses_passes_automatically_and_reports_it(run_command, tmp_path, no_memory):
    path = write(tmp_path / "d.parquet", *examples())
    code, out, err = run_command("learn", "d.parquet", "--target", "label")
    assert code == 0, err
    assert "d.parquet needs about" in err
    assert "more than half of the 0.0 MB that is free: learning in passes over the file" in err
    steps = [line.split()[0] for line in out.splitlines() if line and line[0] != " "]
    assert steps[:6] == ["read", "verdict", "trained", "found", "tested", "wrote"]
    assert "a line that classifies all" in out
    assert "change in score per standard deviation" in out
    code, out, _ = run_command("predict", "model.json", path)
    assert code == 0
    assert not list(tmp_path.glob("*.rosenblatt.parquet"))


def test_a_file_that_fits_is_read_into_memory_silently(run_command, tmp_path, free_memory):
    write(tmp_path / "d.parquet", *examples())
    needed = data.memory_needed(Source.find("d.parquet"), Layout())
    free_memory(2 * needed)
    assert "passes" not in run_command("separable", "d.parquet", "--target", "label")[2]
    free_memory(2 * needed - 1)
    assert "deciding in passes" in run_command("separable", "d.parquet", "--target", "label")[2]


def test_an_inseparable_file_gets_the_pocket(run_json, run_command, tmp_path, no_memory):
    X, y = examples(wrong=20)
    path = write(tmp_path / "d.csv", X, y)
    got = run_json("learn", path, "--target", "label", "--test", path)
    assert (got["verdict"]["verdict"], got["algorithm"]) == ("inseparable", "pocket")
    line = rb.load("model.json")
    assert got["mistakes"] == np.count_nonzero(line.predict(X) != y)
    assert got["accuracy"]["right"] == len(y) - got["mistakes"]
    assert got["rows"] == len(y)


def test_separable_and_verify_in_passes(run_json, run_command, tmp_path, no_memory, free_memory):
    X, y = examples(wrong=2)
    path = write(tmp_path / "d.csv", X, y)
    got = run_json("separable", path, "--target", "label", "--proof", "p.json", code=1)
    assert (got["verdict"], got["rows"]) == ("inseparable", len(y))
    for one in got["conflict"]:
        row = one["row"] - 1
        assert [one["values"][f"f{j}"] for j in range(D)] == X[row].tolist()
    assert run_command("verify", "p.json", path)[0] == 0
    free_memory(10**12)
    assert run_command("verify", "p.json", path)[0] == 0
    assert run_json("separable", path, "--target", "label", code=1)["verdict"] == "inseparable"


LATE = [
    *(
        f"{'ab'[i % 2]},{i % 7},{'' if i % 5 == 0 else i / 8},buy {i % 4} now,{i % 3}\n"
        for i in range(99)
    ),
    "late,3,2.5,a word never met,1\n",
]


@pytest.mark.parametrize(
    "more", [("--missing", "mean"), ("--missing", "drop"), ("--text", "note", "--ignore", "salary")]
)
def test_proofs_from_memory_and_passes_are_interchangeable(
    run_command, tmp_path, free_memory, small_blocks, more
):
    rows = [row for row in LATE if not row.endswith(",2\n")]
    (tmp_path / "d.csv").write_text("".join(["city,x,salary,note,answer\n", *rows]))
    ask = ("separable", "d.csv", "--target", "answer", *more, "--proof")
    run_command(*ask, "whole.json")
    free_memory(1000)
    run_command(*ask, "parts.json")
    whole, parts = (json.loads((tmp_path / f"{n}.json").read_text()) for n in ("whole", "parts"))
    assert whole["columns"] == parts["columns"]
    assert whole["target"] == parts["target"]
    assert whole["proof"]["data"] == parts["proof"]["data"]
    assert whole["columns"][0]["values"] == ["a", "b", "late"]
    assert run_command("verify", "whole.json", "d.csv")[0] == 0
    free_memory(10**12)
    assert run_command("verify", "parts.json", "d.csv")[0] == 0


def test_dropped_rows_do_not_renumber_the_others(run_json, tmp_path, no_memory):
    (tmp_path / "d.csv").write_text("x,y\n,1\n0,0\n,0\n1,1\nn/a,1\n2,0\n")
    got = run_json("separable", "d.csv", "--target", "y", "--missing", "drop", code=1)
    assert sorted(one["row"] for one in got["conflict"]) == [2, 4, 6]
    assert got["rows"] == 3


def test_text_is_converted_once_and_again_after_a_change(run_command, tmp_path, no_memory):
    path = tmp_path / "d.csv"
    write(path, *examples())
    kept = tmp_path / "d.csv.rosenblatt.parquet"
    ask = ("separable", "d.csv", "--target", "label")
    code, out, err = run_command(*ask)
    assert code == 0
    assert "d.csv was converted to d.csv.rosenblatt.parquet; every pass reads that file" in err
    written = kept.stat().st_mtime_ns
    code, again, err = run_command(*ask)
    assert (code, again) == (0, out)
    assert "d.csv is unchanged since its conversion" in err
    assert kept.stat().st_mtime_ns == written
    write(path, *examples(seed=1, wrong=3))
    code, _, err = run_command(*ask)
    assert code == 1
    assert "was converted" in err
    assert not list(tmp_path.glob(".d.csv*"))  # nothing half written is left


def test_conversion_can_be_disabled_or_fail(run_command, tmp_path, no_memory):
    write(tmp_path / "d.csv", *examples())
    code, out, err = run_command("separable", "d.csv", "--target", "label", "--no-convert")
    assert (code, "convert" in err) == (0, False)
    assert not (tmp_path / "d.csv.rosenblatt.parquet").exists()
    (tmp_path / "d.csv.rosenblatt.parquet").mkdir()  # so that it cannot be written
    code, also, err = run_command("separable", "d.csv", "--target", "label")
    assert (code, also) == (0, out)
    assert "cannot write d.csv.rosenblatt.parquet" in err
    assert "in every pass" in err


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "npy"])
def test_labels_may_be_sorted(run_json, tmp_path, no_memory, small_batches, form):
    X, y = examples()
    order = np.argsort(y)
    path = write(tmp_path / f"d.{form}", X[order], y[order])
    target = () if form == "npy" else ("--target", "label")
    assert run_json("separable", path, *target)["rows"] == len(y)


def test_options_that_passes_do_not_support_are_refused(run_command, tmp_path, no_memory):
    write(tmp_path / "d.csv", *examples())
    for more in (["--algorithm", "fewest"], ["--report"], ["--order", "random"], ["--cv", 3]):
        code, _, err = run_command("learn", "d.csv", "--target", "label", *more)
        assert code == 64
        assert "in file order" in err
    (tmp_path / "d.csv").write_text("x,y\n1,1\n2,0\nthree,1\n")
    code, _, err = run_command("learn", "d.csv", "--target", "y", "--number", "x")
    assert code == 65
    assert 'd.csv, row 3, column "x": "three" is not a number' in err
    assert not (tmp_path / "d.csv.rosenblatt.parquet").exists()


def test_free_memory_follows_the_tightest_limit(monkeypatch, tmp_path):
    assert 0 < source.free_memory() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    (tmp_path / "here").mkdir()
    for name, text in (("memory.max", "5000"), ("memory.current", "4500")):
        (tmp_path / "here" / name).write_text(text + "\n")
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "here" / "memory.stat").write_text("inactive_file 100\n")
    (tmp_path / "groups").write_text("0::/here\n")
    monkeypatch.setattr(source, "CGROUP", tmp_path)
    monkeypatch.setattr(source, "OWN_CGROUPS", tmp_path / "groups")
    assert source.free_memory() == 600


LIMITED = """
import resource, sys
from rosenblatt.cli import run

path, small, limit, out = sys.argv[1:]
assert run(["learn", "--stream", small, "--target", "label", "--no-scale", "-o", out]) == 0
data = [line for line in open("/proc/self/status") if line.startswith("VmData")]
most = 1024 * int(data[0].split()[1]) + int(limit)
resource.setrlimit(resource.RLIMIT_DATA, (most, most))
sys.exit(run(["learn", path, "--target", "label", "--no-scale", "-o", out, "--max-iter", "3"]))
"""


@pytest.mark.slow_without_jit
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the data of a process")
def test_a_file_of_eight_times_the_memory_is_trained_on(tmp_path):
    rng, w, rows = np.random.default_rng(0), np.ones(12), 1 << 17
    path, names = tmp_path / "big.parquet", [f"f{j}" for j in range(12)]
    schema = pa.schema([*((name, pa.float64()) for name in names), ("label", pa.int8())])
    with pq.ParquetWriter(path, schema, compression=None, use_dictionary=False) as writer:
        X = rng.normal(size=(rows, 12))
        y = np.where(X @ w > 0, 1, -1).astype(np.int8)
        X += 0.1 * np.outer(y, w)
        for _ in range(31):
            X *= 1.0001  # other rows, quickly
            writer.write_table(pa.table([*X.T.copy(), y], schema=schema))
    small = tmp_path / "small.parquet"
    pq.write_table(pq.ParquetFile(path).read_row_group(0).slice(0, 8000), small)
    limit = path.stat().st_size // 8
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, path, small, str(limit), tmp_path / "m.json"],
        capture_output=True,
        text=True,
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "jemalloc"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "learning in passes over the file" in done.stderr
    assert f"a line that classifies all {31 * rows:,} rows" in done.stdout


def test_an_absent_column_is_refused_before_the_rows_are_read(
    run_command, tmp_path, no_memory, small_blocks
):
    ragged = "1,1\n2,0\n" * 100 + "3\n"  # an error too, were it read
    (tmp_path / "d.csv").write_text("x,y\n" + ragged)
    assert run_command("separable", "d.csv", "--target", "y")[0] == 65
    for option in ("--target", "--ignore", "--number", "--category", "--text"):
        code, _, err = run_command("separable", "d.csv", option, "z")
        assert code == 64
        assert f'{option} z: there is no column "z"; the columns are x and y' in err
