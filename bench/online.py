"""Streams: one example and one block at a time against River and scikit-learn, files against VW.

Vowpal Wabbit is looked for as the command in $VW, as vw on the path, or as a Python module.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from river.linear_model import Perceptron as RiverPerceptron
from sklearn.linear_model import Perceptron as SklearnPerceptron

import rosenblatt as rb
from bench.measure import Times, faster, interleaved, row

D = 30
NAMES = [f"f{j}" for j in range(D)]
PROGRAM = str(Path(sys.executable).parent / "rosenblatt")


def stream(n: int, d: int = D) -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    X = np.round(rng.standard_normal((n, d)), 6)
    return X, X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n) > 0


def one_at_a_time(n: int) -> dict[str, Any]:
    X, y = stream(n)
    rows = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
    answers = y.tolist()

    def go(model: Any) -> list[Any]:
        said = []
        for x, label in zip(rows, answers, strict=True):
            said.append(model.predict_one(x))
            model.learn_one(x, label)
        return said

    # The same algorithm: from w = 0 River's hinge with threshold 0 corrects the same mistakes.
    ours, peer = go(rb.OnlinePerceptron()), go(RiverPerceptron())
    assert np.mean([a != b for a, b in zip(ours, peer, strict=True)]) < 0.01
    times = interleaved(
        {"ours": lambda: go(rb.OnlinePerceptron()), "river": lambda: go(RiverPerceptron())}
    )
    name = "predict_one + learn_one, dict of 30, against River"
    return faster(name, times["river"], times["ours"], 2)


def blocks(n: int) -> list[dict[str, Any]]:
    X, y = stream(n)
    few = n // 20  # the peers are slow: they get fewer rows, and times are per row
    rows = [dict(zip(NAMES, row, strict=True)) for row in X[:few].tolist()]
    answers = y.tolist()

    def ours() -> Any:
        model = rb.OnlinePerceptron()
        for at in range(0, n, 1000):
            model.learn_many(X[at : at + 1000], y[at : at + 1000])
        return model

    def river() -> Any:
        model = RiverPerceptron()
        for x, label in zip(rows, answers, strict=False):
            model.learn_one(x, label)
        return model

    def sklearn() -> Any:
        model = SklearnPerceptron()
        for at in range(few // 4):
            model.partial_fit(X[at : at + 1], y[at : at + 1], classes=[False, True])
        return model

    single = rb.OnlinePerceptron()
    for x, label in zip(X[:few].tolist(), answers, strict=False):
        single.learn_one(x, label)
    block = rb.OnlinePerceptron()
    block.learn_many(X[:few], y[:few])
    assert single.state() == block.state()
    theirs = river().weights
    mine = np.array([block.weights[j] for j in range(D)])
    cosine = mine @ [theirs[name] for name in NAMES]
    cosine /= np.linalg.norm(mine) * np.linalg.norm(list(theirs.values()))
    assert cosine > 0.99, "River has learnt something else"
    times = interleaved({"ours": ours, "river": river, "sklearn": sklearn}, 5)
    each = {"ours": n, "river": few, "sklearn": few // 4}
    times = {k: Times(tuple(s / each[k] for s in t.seconds)) for k, t in times.items()}
    return [
        faster(
            "learn_many, 1,000-row blocks of 30, against River's learn_one",
            times["river"],
            times["ours"],
            100,
        ),
        faster(
            "… against scikit-learn's partial_fit, a row at a time",
            times["sklearn"],
            times["ours"],
            20,
        ),
    ]


def vw() -> list[str] | None:
    """The command of Vowpal Wabbit, if there is one."""
    if os.environ.get("VW"):
        return shlex.split(os.environ["VW"])
    if found := shutil.which("vw"):
        return [found]
    if importlib.util.find_spec("vowpalwabbit"):
        return [sys.executable, "-m", "vowpalwabbit"]
    return None


def write_files(folder: Path, n: int) -> None:
    X, y = stream(n)
    columns = dict(zip(NAMES, X.T, strict=True))
    table = pa.table({**columns, "label": y.astype(np.int8)})
    pa.csv.write_csv(table, folder / f"{n}.csv")
    pa.parquet.write_table(table, folder / f"{n}.parquet", row_group_size=1 << 17)
    words = [pa.array(np.where(y, "1 |", "-1 |"))]
    words += [
        pc.binary_join_element_wise(name, pc.cast(pa.array(column), pa.string()), ":")
        for name, column in columns.items()
    ]
    lines = pc.binary_join_element_wise(*words, " ")
    options = pa.csv.WriteOptions(include_header=False, quoting_style="none")
    pa.csv.write_csv(pa.table({"line": lines}), folder / f"{n}.vw", options)


def work(folder: Path, name: str) -> Any:
    """A run of a program over a file, its predictions going to another."""
    out = str(folder / f"{name}.out")
    if name.endswith(".vw"):
        options = ["--loss_function", "hinge", "--binary", "--quiet", "-d", folder / name]
        command = [*(vw() or []), *map(str, options), "-p", out]
    else:
        command = [PROGRAM, "stream", str(folder / name), "-o", out, "--quiet"]
    return lambda: subprocess.run(command, check=True, capture_output=True)


def right(folder: Path, name: str, n: int) -> float:
    """The share of rows predicted rightly before they were learnt."""
    said = np.loadtxt(folder / f"{name}.out", skiprows=1)
    return float(np.mean((said > 0) == stream(n)[1][1:]))


def files(n: int) -> list[dict[str, Any]]:
    """Rows a second of whole programs, once they have started: of a long file less a short one."""
    if vw() is None:
        return [row("files against Vowpal Wabbit, which is not installed", "", 0, False)]
    few, kinds = n // 5, ("csv", "parquet", "vw")
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept)
        for size in (few, n):
            write_files(folder, size)
        works = {
            f"{size}.{kind}": work(folder, f"{size}.{kind}") for size in (few, n) for kind in kinds
        }
        times = interleaved(works, 3)
        outputs = [(folder / f"{n}.{kind}.out").read_bytes() for kind in ("csv", "parquet")]
        assert outputs[0] == outputs[1]
        assert right(folder, f"{n}.csv", n) > right(folder, f"{n}.vw", n) - 0.06
    each = {
        kind: Times(
            tuple(
                (long - short) / (n - few)
                for long, short in zip(
                    times[f"{n}.{kind}"].seconds, times[f"{few}.{kind}"].seconds, strict=True
                )
            )
        )
        for kind in kinds
    }
    rates = {kind: f"{1e-3 / t.median:,.0f}" for kind, t in each.items()}
    said = f"({rates['csv']} and {rates['parquet']}, VW {rates['vw']} thousand rows/s)"
    return [
        faster(
            f"rosenblatt stream, CSV of 30 columns, against VW {said}", each["vw"], each["csv"], 2
        ),
        faster("… Parquet", each["vw"], each["parquet"], 15),
    ]


def memory(n: int) -> dict[str, Any]:
    """How much a process grows between its first row and its last, fed through a pipe."""
    X, y = stream(100_000, 5)
    columns = {name: X[:, j] for j, name in enumerate(NAMES[:5])}
    sink = pa.BufferOutputStream()
    options = pa.csv.WriteOptions(include_header=False)
    pa.csv.write_csv(pa.table({**columns, "label": y.astype(np.int8)}), sink, options)
    lines = sink.getvalue().to_pybytes()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = [
            PROGRAM,
            "stream",
            "-",
            "--no-header",
            "-o",
            out,
            "--quiet",
            "--checkpoint",
            Path(folder) / "kept",
        ]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdin is not None

        def feed() -> None:
            for _ in range(n // 100_000):
                process.stdin.write(lines)
            process.stdin.flush()

        feeder = threading.Thread(target=feed)
        feeder.start()
        while not (out.exists() and out.stat().st_size):
            time.sleep(0.005)
        first = resident(process.pid)
        feeder.join()
        while out.stat().st_size < 2 * n - 1:  # a digit and a newline a row, none for the first
            time.sleep(0.05)
        last = resident(process.pid)
        process.stdin.close()
        assert process.wait() == 0
    name = f"memory between the first and the last of {n:,} rows"
    return row(name, "< 20 MB more", last - first, last - first < 20)


def resident(pid: int) -> float:
    """The memory of a process in megabytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def run(quick: bool) -> list[dict[str, Any]]:
    return [
        one_at_a_time(2_000 if quick else 10_000),
        *blocks(20_000 if quick else 200_000),
        *files(250_000 if quick else 1_500_000),
        memory(300_000 if quick else 10_000_000),
    ]
