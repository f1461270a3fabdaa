"""Benchmarks of the command line: time until the first result, and memory of `predict`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.line import Line
from bench.measure import Times, at_most, figure, interleaved, rounds

PROGRAM = str(Path(sys.executable).parent / "rosenblatt")
COLUMNS = 30


def learn(quick: bool) -> Iterator[Line]:
    """Time `learn` in new processes with compiled kernels in the cache."""
    with tempfile.TemporaryDirectory() as folder:
        works = {
            "ours": lambda: _process(folder, PROGRAM, "learn"),
            "import": lambda: _process(folder, sys.executable, "-c", "import sklearn.linear_model"),
        }
        times = interleaved(works, 3 if quick else 9)
    yield at_most("cli.learn", times["ours"], times["import"], f"{times['ours'].median:.2f} s")


def cold(quick: bool) -> Iterator[Line]:
    """Time `learn` in new processes with an empty cache of kernels each time."""
    with tempfile.TemporaryDirectory() as folder:
        _write_separable(Path(folder) / "larger.csv", 1_000 if quick else 20_000)
        for id, data, repeats in (("learn-cold", (), 5), ("learn-cold-larger", ("larger.csv",), 2)):
            work = lambda data=data: _without_kernels(folder, PROGRAM, "learn", *data)  # noqa: E731
            times = rounds({"ours": work}, 1 if quick else repeats)["ours"]
            yield figure(f"cli.{id}", times.median, times.seconds, ours=times)


def first_result(quick: bool) -> Iterator[Line]:
    """Time `stream` from its start to its first prediction, for two rows and an open input."""
    rows = [(0.5, 1.5, "yes"), (-2.0, 0.25, "no")]
    texts = {
        "csv": "x,z,y\n" + "".join(f"{x},{z},{y}\n" for x, z, y in rows),
        "jsonl": "".join(f'{{"x": {x}, "z": {z}, "y": "{y}"}}\n' for x, z, y in rows),
    }
    repeats = range(1 if quick else 9)
    with tempfile.TemporaryDirectory() as folder:
        seconds = {kind: [] for kind in texts}
        for _ in repeats:
            for kind, text in texts.items():
                seconds[kind].append(_first_result(folder, kind, text))
    times = {kind: Times(tuple(values)) for kind, values in seconds.items()}
    slower = max(times.values(), key=lambda times: times.median)
    note = ", ".join(f"{kind} {times[kind].median:.2f} s" for kind in texts)
    yield figure("cli.stream-first", slower.median, slower.seconds, note, **times)


def usage(quick: bool) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        works = {
            "ours": lambda: _process(folder, PROGRAM, "--help"),
            "numpy": lambda: _process(folder, sys.executable, "-c", "import numpy"),
        }
        times = interleaved(works, 3 if quick else 9)
    yield at_most("cli.help", times["ours"], times["numpy"], f"{times['ours'].median:.2f} s")


def predict(quick: bool) -> Iterator[Line]:
    """Measure the peak memory of `predict`, as the operating system counts it."""
    with tempfile.TemporaryDirectory() as folder:
        _write_parquet(Path(folder) / "big.parquet", 100_000 if quick else 2_000_000)
        _process(folder, PROGRAM, "learn", "small.csv", "--test-size", "0")
        for kind in ("parquet", "csv"):
            megabytes = _peak(folder, "predict", "model.json", "big.parquet", "-o", f"out.{kind}")
            yield figure(f"cli.predict-{kind}", megabytes, note="the system's own count (VmHWM)")


def _write_parquet(path: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(COLUMNS)]
    X = rng.normal(size=(rows, COLUMNS))
    # One row group of a million rows, as PyArrow writes by default: the hardest to stream.
    pq.write_table(pa.table(dict(zip(names, X.T, strict=True))), path)
    lines = [",".join([*names, "y"])]
    lines += [",".join([*map(str, x), "ny"[int(x.sum() > 0)]]) for x in X[:500]]
    (path.parent / "small.csv").write_text("\n".join(lines) + "\n")


def _write_separable(path: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(rows, 10)).round(4), rng.normal(size=10)
    X = X[np.abs(X @ w - 0.3) > 0.05]
    lines = [",".join([*(f"x{i}" for i in range(10)), "y"])]
    lines += [",".join([*map(str, x), "ny"[int(x @ w > 0.3)]]) for x in X]
    path.write_text("\n".join(lines) + "\n")


def _process(folder: str, *command: str, **environment: str) -> None:
    subprocess.run(
        command, cwd=folder, check=True, capture_output=True, env=_as_installed() | environment
    )


def _as_installed() -> dict[str, str]:
    """Return an environment in which Python caches bytecode, as for installed packages."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def _without_kernels(folder: str, *command: str) -> None:
    with tempfile.TemporaryDirectory() as empty:
        _process(folder, *command, NUMBA_CACHE_DIR=empty)


def _first_result(folder: str, kind: str, text: str) -> float:
    command = [PROGRAM, "stream", "--format", kind, "--target", "y", "--quiet"]
    begin = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, env=_as_installed(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(text.encode())
        process.stdin.flush()
        process.stdout.readline()
        seconds = time.perf_counter() - begin
        process.stdin.close()
    assert process.returncode == 0
    return seconds


def _peak(folder: str, *arguments: str) -> float:
    code = (
        "import sys\n"
        "from rosenblatt.cli import main\n"
        f"sys.argv = {['rosenblatt', *arguments]!r}\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        # The peak of getrusage would include the memory of the parent when it forked.
        "line = next(x for x in open('/proc/self/status') if x.startswith('VmHWM'))\n"
        "print(int(line.split()[1]) / 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, check=True, capture_output=True, text=True
    )
    return float(done.stdout.splitlines()[-1])


WORKS = {
    learn: ("cli.learn",),
    cold: ("cli.learn-cold",),
    first_result: ("cli.stream-first",),
    usage: ("cli.help",),
    predict: ("cli.predict",),
}
