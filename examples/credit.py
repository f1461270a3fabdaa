"""Train a credit approval model on a CSV file, and predict the label of a new applicant.

Run it as `python examples/credit.py [FILE.csv]`. Without a file it writes the built-in examples
of credit approval, with one label in twenty flipped, and trains on them.
"""

import sys
import tempfile
from pathlib import Path

import pyarrow.csv

import rosenblatt as rb
from rosenblatt.cli import run
from rosenblatt.experiments import credit


def main(file=None):
    with tempfile.TemporaryDirectory() as folder:
        if file is None:
            file = str(Path(folder) / "credit.csv")
            pyarrow.csv.write_csv(credit(n=300, noise=0.05), file)
        model_file = str(Path(folder) / "model.json")
        if run(["learn", file, "--time-limit", "1", "-o", model_file]):
            sys.exit(1)
        model = rb.load(model_file)

        rows = pyarrow.csv.read_csv(file).slice(0, 5)
        print("\nThe first five rows, answered by the model:")
        for score, answer in zip(model.decision_function(rows), model.predict(rows), strict=True):
            print(f"  {answer} (score {score:+.3g})")


if __name__ == "__main__":
    main(*sys.argv[1:2])
