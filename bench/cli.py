"""The command line: the whole of `learn` against an import, and memory while predicting."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import at_most, interleaved, row

PROGRAM = str(Path(sys.executable).parent / "rosenblatt")
COLUMNS = 30
MEMORY = 500  # MB


def run(quick: bool) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        return [
            learn_against_import(place, repeats=5 if quick else 15),
            help_against_python(place, repeats=5 if quick else 15),
            *predict_in_memory(place, 200_000 if quick else 2_000_000),
        ]


def learn_against_import(place: Path, repeats: int) -> dict[str, Any]:
    """Both in fresh processes with warm caches."""
    works = {
        "learn": lambda: _process(place, PROGRAM, "learn"),
        "import": lambda: _process(place, sys.executable, "-c", "import sklearn.linear_model"),
    }
    times = interleaved(works, repeats)
    work = "rosenblatt learn, built-in credit, against python -c 'import sklearn.linear_model'"
    return at_most(work, times["learn"], times["import"], 1.0)


def help_against_python(place: Path, repeats: int) -> dict[str, Any]:
    works = {
        "help": lambda: _process(place, PROGRAM, "--help"),
        "numpy": lambda: _process(place, sys.executable, "-c", "import numpy"),
    }
    times = interleaved(works, repeats)
    return at_most(
        "rosenblatt --help against python -c 'import numpy'", times["help"], times["numpy"], 1.0
    )


def predict_in_memory(place: Path, rows: int) -> list[dict[str, Any]]:
    """The most memory that the process ever held, as the system counts it."""
    _write_parquet(place / "big.parquet", rows)
    _process(place, PROGRAM, "learn", "small.csv", "--test-size", "0")
    result = []
    for output in ("answers.parquet", "answers.csv"):
        megabytes = _peak(place, "predict", "model.json", "big.parquet", "-o", output)
        work = f"predict {rows:,} × {COLUMNS} Parquet to {output}, peak memory in MB"
        result.append(row(work, f"< {MEMORY}", megabytes, megabytes < MEMORY))
    return result


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


def _process(place: Path, *command: str) -> None:
    subprocess.run(command, cwd=place, check=True, capture_output=True)


def _peak(place: Path, *arguments: str) -> float:
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
        [sys.executable, "-c", code], cwd=place, check=True, capture_output=True, text=True
    )
    return float(done.stdout.splitlines()[-1])
