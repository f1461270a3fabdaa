"""Files larger than memory: a pass compared with PyArrow's reading, and a memory limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.line import Line
from bench.measure import at_most, figure, interleaved, rounds

D, ROWS = 30, 1 << 17  # features, and rows of a row group
NAMES = [f"f{j}" for j in range(D)]


@contextmanager
def parquet(n: int) -> Iterator[Path]:
    """Write a Parquet file of separable float32 rows, with PyArrow's defaults."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal(D, dtype=np.float32)
    w /= np.linalg.norm(w)
    schema = pa.schema([*((name, pa.float32()) for name in NAMES), ("label", pa.int8())])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.parquet"
        with pq.ParquetWriter(path, schema) as writer:
            for at in range(0, n, ROWS):
                X = rng.standard_normal((min(ROWS, n - at), D), dtype=np.float32)
                y = np.where(X @ w > 0, 1, -1).astype(np.int8)
                X += np.outer(0.05 * y, w).astype(np.float32)
                writer.write_table(pa.table([*np.ascontiguousarray(X.T), y], schema=schema))
        yield path


def one_pass(quick: bool) -> Iterator[Line]:
    """Time an epoch of PLA in file order from w(0) = 0, and PyArrow only reading the same file.

    PyArrow reads in three ways: by default, without buffering ahead, and a few pages at a time. The
    fastest of them counts. PyArrow chooses the number of threads.
    """
    from rosenblatt.algorithms import Budget, Rule
    from rosenblatt.algorithms.pla import Walk
    from rosenblatt.read import Layout, Source
    from rosenblatt.read.data import read_in_passes
    from rosenblatt.read.plan import ColumnOptions

    n = 2_000_000 if quick else 32_000_000
    with parquet(n) as path:
        data = read_in_passes(Source.find(str(path)), Layout(), ColumnOptions(target="label"))

        def ours() -> Any:
            walk = Walk(data.blocks, Rule(), Budget(1))
            walk.run_epochs()
            return walk

        def reading(**options: Any) -> int:
            with pq.ParquetFile(path, **options) as file:
                return sum(batch.num_rows for batch in file.iter_batches())

        assert reading() == ours().n == n
        works = {
            "ours": ours,
            "not ahead": lambda: reading(pre_buffer=False),
            "a few pages": lambda: reading(pre_buffer=False, buffer_size=1 << 16),
        }
        # Reading by default is so slow that it is timed only once.
        theirs = rounds({"by default": reading}, 1)
        times = interleaved(works, 7)
    theirs.update((name, taken) for name, taken in times.items() if name != "ours")
    fastest = min(theirs, key=lambda name: theirs[name].median)
    default = times["ours"].median / theirs["by default"].median
    note = f"the fastest way PyArrow reads, {fastest}; {default:.2f} × what it takes by default"
    yield at_most("big.pass-32000000x30", times["ours"], theirs[fastest], note)


LIMITED = """
import json, resource, sys, time
from rosenblatt.cli import run

path, limit, out = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_DATA, (int(limit), int(limit)))
begin = time.perf_counter()
code = run(["learn", path, "--target", "label", "--no-scale", "-o", out, "--top", "0", "--json"])
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps([1024 * int(status["VmHWM"].split()[0]), time.perf_counter() - begin]))
sys.exit(code)
"""


def limited(quick: bool) -> Iterator[Line]:
    """Run `rosenblatt learn` with memory for data limited to an eighth of the file.

    The libraries alone need a third of a gigabyte, so `--quick` uses a larger share of the file.
    """
    n = 2_000_000 if quick else 33_500_000
    with parquet(n) as path:
        size = path.stat().st_size
        limit = 700_000_000 if quick else size // 8
        arguments = [str(path), str(limit), str(path.with_name("model.json"))]
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                # Arrow's default pool reserves a gigabyte, which would count towards the limit.
                "ARROW_DEFAULT_MEMORY_POOL": "jemalloc",
                # An empty cache, so that the memory for compiling counts too.
                "NUMBA_CACHE_DIR": str(path.parent),
            },
        )
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr}")
    *_, result, measured = done.stdout.splitlines()
    held, seconds = json.loads(measured)
    assert json.loads(result)["mistakes"] == 0
    assert "in passes over the file" in done.stderr
    note = f"{size / 1e9:.1f} GB, {limit / 1e6:.0f} MB allowed, {held / 1e6:.0f} MB held at most"
    yield figure("big.limit-4gb", held / limit, note=f"{note}, {seconds:.0f} s")


WORKS = {one_pass: ("big.pass-",), limited: ("big.limit-",)}
