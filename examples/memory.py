"""Train on a Parquet file batch by batch, in memory that does not grow with the file.

Run it as `python examples/memory.py [ROWS]`. It writes the file, trains on it in passes, and
compares with training on all rows in memory: the weights are the same.
"""

import resource
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import rosenblatt as rb
from rosenblatt.cli import run

BLOCK = 50_000
TARGET = np.array([1.0, -1.0, 2.0, 0.5, 0.0, 0.0, 0.0, 0.0])
NAMES = [f"x{i}" for i in range(1, len(TARGET) + 1)]


def write_examples(file, rows):
    """Write rows on both sides of a hyperplane, at a distance of at least 0.2."""
    rng = np.random.default_rng(0)
    schema = pa.schema([*((name, pa.float64()) for name in NAMES), ("answer", pa.string())])
    with pa.parquet.ParquetWriter(file, schema) as out:
        for begin in range(0, rows, BLOCK):
            X = rng.normal(size=(min(BLOCK, rows - begin), len(TARGET)))
            s = X @ TARGET
            X += np.outer(0.2 * np.sign(s), TARGET / np.linalg.norm(TARGET))
            columns = [*X.T, np.where(s > 0, "yes", "no")]
            out.write_table(pa.table(columns, schema=schema))


def main(rows=1_000_000):
    with tempfile.TemporaryDirectory() as folder:
        file, model = str(Path(folder) / "big.parquet"), str(Path(folder) / "model.json")
        write_examples(file, rows)
        asked = ["--target", "answer", "--stream", "--no-scale", "--top", "0", "-o", model]
        if run(["learn", file, *asked]):
            sys.exit(1)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"largest memory so far: {peak} MB, libraries included")

        table = pa.parquet.read_table(file)
        X = np.column_stack([table[name].to_numpy() for name in NAMES])
        clf = rb.Perceptron().fit(X, table["answer"].to_numpy())
        print(f"all in memory: {clf.n_updates_} updates in {clf.n_iter_} epochs")
        same = np.allclose(clf.weights_, rb.load(model).weights_)
        print(f"the same weights: {same}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
