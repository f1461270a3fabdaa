"""The command line: the whole of `learn` against an import, and memory while predicting."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.line import Line
from bench.measure import at_most, figure, interleaved

PROGRAM = str(Path(sys.executable).parent / "rosenblatt")
COLUMNS = 30


def learn(quick: bool) -> Iterator[Line]:
    """Both in fresh processes with warm caches."""
    with tempfile.TemporaryDirectory() as folder:
        works = {
            "ours": lambda: _process(folder, PROGRAM, "learn"),
            "import": lambda: _process(folder, sys.executable, "-c", "import sklearn.linear_model"),
        }
        times = interleaved(works, 3 if quick else 9)
    yield at_most("cli.learn", times["ours"], times["import"], f"{times['ours'].median:.2f} s")


def usage(quick: bool) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        works = {
            "ours": lambda: _process(folder, PROGRAM, "--help"),
            "numpy": lambda: _process(folder, sys.executable, "-c", "import numpy"),
        }
        times = interleaved(works, 3 if quick else 9)
    yield at_most("cli.help", times["ours"], times["numpy"], f"{times['ours'].median:.2f} s")


def predict(quick: bool) -> Iterator[Line]:
    """The most memory that the process ever held, as the system counts it."""
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


def _process(folder: str, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def _peak(folder: str, *arguments: str) -> float:
    code = (
        "import sys\n"
        "from rosenblatt.cli import main\n"
        f"sys.argv = {['rosenblatt', *arguments]!r}\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        # Not getrusage: its peak begins with what the parent held when it forked.
        "line = next(x for x in open('/proc/self/status') if x.startswith('VmHWM'))\n"
        "print(int(line.split()[1]) / 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, check=True, capture_output=True, text=True
    )
    return float(done.stdout.splitlines()[-1])


WORKS = {learn: ("cli.learn",), usage: ("cli.help",), predict: ("cli.predict",)}
