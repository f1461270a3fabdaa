"""Streams: examples and blocks compared with River and scikit-learn, files with Vowpal Wabbit.

Vowpal Wabbit can be the command in $VW, the program vw on the path, or a Python module.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from sklearn.linear_model import Perceptron as SklearnPerceptron

import rosenblatt as rb
from bench.line import Line, MissingError
from bench.measure import Times, faster, figure, interleaved, peer, rounds

D = 30
LONGER = 4
NAMES = [f"f{j}" for j in range(D)]
PROGRAM = str(Path(sys.executable).parent / "rosenblatt")


def stream(n: int, d: int = D) -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    X = np.round(rng.standard_normal((n, d)), 6)
    return X, X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n) > 0


def as_dicts(X: Any) -> list[dict[str, float]]:
    return [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]


def river_perceptron() -> Any:
    return peer("river.linear_model", "river").Perceptron()


def one_at_a_time(quick: bool) -> Iterator[Line]:
    X, y = stream(2_000 if quick else 10_000)
    rows, answers = as_dicts(X), y.tolist()

    def go(model: Any) -> list[Any]:
        said = []
        for x, label in zip(rows, answers, strict=True):
            said.append(model.predict_one(x))
            model.learn_one(x, label)
        return said

    # The same algorithm: from w = 0, River's hinge with threshold 0 updates on the same mistakes.
    works = {"ours": lambda: go(rb.OnlinePerceptron()), "river": lambda: go(river_perceptron())}
    differ = np.count_nonzero(
        [a != b for a, b in zip(works["ours"](), works["river"](), strict=True)]
    )
    assert differ < len(rows) / 100, f"River predicts {differ} of {len(rows)} otherwise"
    times = interleaved(works)
    note = f"{len(rows) - differ:,} of {len(rows):,} predictions the same"
    yield faster("online.one-river", times["river"], times["ours"], note)


def blocks(quick: bool) -> Iterator[Line]:
    """Compare times per row; the peers are slow and therefore get fewer rows."""
    X, y = stream(20_000 if quick else 200_000)
    few, fewer = len(X) // 20, len(X) // 80
    rows, answers = as_dicts(X[:few]), y.tolist()

    def ours() -> Any:
        model = rb.OnlinePerceptron()
        for at in range(0, len(X), 1000):
            model.learn_many(X[at : at + 1000], y[at : at + 1000])

    def river() -> Any:
        model = river_perceptron()
        for x, label in zip(rows, answers, strict=False):
            model.learn_one(x, label)
        return model

    def sklearn() -> Any:
        model = SklearnPerceptron()
        for at in range(fewer):
            model.partial_fit(X[at : at + 1], y[at : at + 1], classes=[False, True])
        return model

    same_as_river(river().weights, train(X[:few], y[:few]))
    assert np.array_equal(sklearn().coef_[0], train(X[:fewer], y[:fewer]))
    times = interleaved({"ours": ours, "river": river, "sklearn": sklearn}, 5)
    mine = times["ours"].scaled(1 / len(X))
    note = f"cosine to River's weights above 0.99; {1e-6 / mine.median:.1f} million rows per second"
    yield faster("online.block-river", times["river"].scaled(1 / few), mine, note)
    note = "the same weights, compared bit for bit"
    yield faster("online.block-sklearn", times["sklearn"].scaled(1 / fewer), mine, note)


def train(X: Any, y: Any) -> Any:
    """Return our weights after checking that single examples and blocks give the same."""
    block, single = rb.OnlinePerceptron(), rb.OnlinePerceptron()
    block.learn_many(X, y)
    for x, label in zip(X, y.tolist(), strict=True):
        single.learn_one(x, label)
    assert single.state() == block.state()
    return np.array([block.weights[j] for j in range(D)])


def same_as_river(weights: dict[str, float], mine: Any) -> None:
    theirs = np.array([weights[name] for name in NAMES])
    cosine = mine @ theirs / np.linalg.norm(mine) / np.linalg.norm(theirs)
    assert cosine > 0.99, "River has other weights"


def vw() -> list[str] | None:
    """Return the command of Vowpal Wabbit, or None if it is not installed."""
    if os.environ.get("VW"):
        return shlex.split(os.environ["VW"])
    if found := shutil.which("vw"):
        return [found]
    if importlib.util.find_spec("vowpalwabbit"):
        return [sys.executable, "-m", "vowpalwabbit"]
    return None


def write_files(folder: Path, n: int, text: bool = True) -> None:
    """Write the same rows as Parquet and, with `text`, as CSV and as Vowpal Wabbit's format."""
    X, y = stream(n)
    columns = dict(zip(NAMES, X.T, strict=True))
    table = pa.table({**columns, "label": y.astype(np.int8)})
    pa.parquet.write_table(table, folder / f"{n}.parquet")
    if not text:
        return
    pa.csv.write_csv(table, folder / f"{n}.csv")
    words = [pa.array(np.where(y, "1 |", "-1 |"))]
    words += [
        pc.binary_join_element_wise(name, pc.cast(pa.array(column), pa.string()), ":")
        for name, column in columns.items()
    ]
    lines = pc.binary_join_element_wise(*words, " ")
    options = pa.csv.WriteOptions(include_header=False, quoting_style="none")
    pa.csv.write_csv(pa.table({"line": lines}), folder / f"{n}.vw", options)


def work(folder: Path, name: str) -> Any:
    """Return a function that runs a program on a file and writes its predictions to another."""
    out = str(folder / f"{name}.out")
    if name.endswith(".vw"):
        options = ["--loss_function", "hinge", "--binary", "--quiet", "-d", folder / name]
        command = [*(vw() or []), *map(str, options), "-p", out]
    else:
        command = [PROGRAM, "stream", str(folder / name), "-o", out, "--quiet"]
    return lambda: subprocess.run(command, check=True, capture_output=True)


def right(folder: Path, name: str, n: int) -> float:
    """Return the share of rows predicted correctly before training on them."""
    said = np.loadtxt(folder / f"{name}.out", skiprows=1)
    return float(np.mean((said > 0) == stream(n)[1][1:]))


def files(quick: bool) -> Iterator[Line]:
    """Compare the rows per second of whole programs, without the time that they need to start.

    The time for a short file is subtracted from that for a long one. Reading Parquet takes less
    time than starting a program, so its long file is longer.
    """
    if vw() is None:
        raise MissingError("vowpalwabbit is not installed")
    n = 200_000 if quick else 1_500_000
    few, kinds = n // 5, ("csv", "parquet", "vw")
    longest = {"csv": n, "parquet": LONGER * n, "vw": n}
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept)
        for size in (few, n):
            write_files(folder, size)
        write_files(folder, LONGER * n, text=False)
        names = [f"{size}.{kind}" for kind in kinds for size in (few, longest[kind])]
        works = {name: work(folder, name) for name in names}
        work(folder, f"{n}.parquet")()
        times = rounds(works, 5)
        outputs = [(folder / f"{n}.{kind}.out").read_bytes() for kind in ("csv", "parquet")]
        assert outputs[0] == outputs[1]
        shares = [right(folder, f"{n}.{kind}", n) for kind in ("csv", "vw")]
    assert shares[0] > shares[1] - 0.06, f"right on {shares[0]:.3f}, VW on {shares[1]:.3f}"
    each = {
        kind: a_row(times[f"{rows}.{kind}"], times[f"{few}.{kind}"], rows - few)
        for kind, rows in longest.items()
    }
    rates = {kind: f"{1e-3 / t.median:,.0f}" for kind, t in each.items()}
    for kind in ("csv", "parquet"):
        note = (
            f"{rates[kind]} thousand rows per second, VW {rates['vw']}; VW's steps are another "
            f"algorithm's: {shares[0]:.3f} of the rows predicted rightly, VW {shares[1]:.3f}"
        )
        yield faster(f"online.{kind}-vw", each["vw"], each[kind], note)


def a_row(long: Times, short: Times, rows: int) -> Times:
    return Times(tuple((seconds - short.median) / rows for seconds in long.seconds))


def json_lines(quick: bool) -> Iterator[Line]:
    """Compare the rows per second of JSON lines with River, which gets them from Python's json."""
    n, few = (40_000, 8_000) if quick else (600_000, 100_000)
    X, y = stream(n, 8)
    lines = [
        json.dumps({**dict(zip(NAMES, row, strict=False)), "label": label}) + "\n"
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    asked = lines[: few // 4]

    def river() -> list[Any]:
        model, said = river_perceptron(), []
        for line in asked:
            x = json.loads(line)
            label = x.pop("label")
            said.append(model.predict_one(x))
            model.learn_one(x, label)
        return said

    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept)
        for size in (few, n):
            (folder / f"{size}.jsonl").write_text("".join(lines[:size]))
        works = {f"{size}.jsonl": work(folder, f"{size}.jsonl") for size in (few, n)}
        times = interleaved({**works, "river": river}, 5)
        said = (folder / f"{few}.jsonl.out").read_text().splitlines()
    theirs = [str(answer).lower() for answer in river()]
    same = np.count_nonzero([a == b for a, b in zip(said[1:], theirs[1:], strict=False)])
    assert same > 0.99 * len(asked), f"River predicts {len(asked) - same} otherwise"
    ours = a_row(times[f"{n}.jsonl"], times[f"{few}.jsonl"], n - few)
    note = f"{n:,} rows less {few:,}; {same:,} of {len(asked) - 1:,} predictions as River's"
    rates = tuple(1 / seconds for seconds in ours.seconds)
    yield figure("online.jsonl-rate", 1 / ours.median, rates, note, ours=ours)
    yield faster("online.jsonl-river", times["river"].scaled(1 / len(asked)), ours, note)


def memory(quick: bool) -> Iterator[Line]:
    """Measure how much the memory of a process grows while rows reach it through a pipe.

    The first rows are left out, because they are predicted before kernels are loaded. Memory varies
    with the blocks in work, so medians of many measurements are compared.
    """
    n, begun, few = 300_000 if quick else 10_000_000, 100_000, 100_000 if quick else 500_000
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
        looks, done = [], 0
        while done < n - 1:  # the output has a digit and a newline per row, except for the first
            looks.append((done, resident(process.pid)))
            time.sleep(0.005)
            done = out.stat().st_size // 2 if out.exists() else 0
        feeder.join()
        first = statistics.median(size for at, size in looks if begun <= at <= begun + few)
        last = statistics.median(size for at, size in looks if at >= n - few)
        process.stdin.close()
        assert process.wait() == 0
    note = f"from {first:.0f} to {last:.0f} MB, five columns of CSV through a pipe, checkpoints on"
    yield figure("online.memory-10000000", last - first, note=note)


def resident(pid: int) -> float:
    """Return the memory of a process in megabytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


WORKS = {
    one_at_a_time: ("online.one",),
    blocks: ("online.block",),
    files: ("online.csv", "online.parquet"),
    json_lines: ("online.jsonl",),
    memory: ("online.memory",),
}
