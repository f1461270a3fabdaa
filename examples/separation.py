"""Find out which estimates of a regression are infinite, and which rows cause it.

Run it as `python examples/separation.py [FILE.csv TARGET [FAMILY]]`; without a file it simulates a
small trial in which nobody on the new drug died.
"""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv

import rosenblatt as rb


def trial(n=60, seed=0):
    """Return a trial of patients on an old or a new drug; nobody on the new drug died."""
    rng = np.random.default_rng(seed)
    age, drug = rng.integers(40, 90, n), rng.choice(["old", "new"], n)
    died = (rng.random(n) < (age - 30) / 80) & (drug == "old")
    columns = {
        "age": age.astype(float),
        "drug": pa.array(drug),
        "weeks": rng.integers(1, 9, n) * 1.0,
    }
    return pa.table(columns), died


def main(file=None, target=None, family="binomial"):
    if file is None:
        X, y = trial()
    else:
        table = pyarrow.csv.read_csv(file)
        X, y = table.drop_columns([target]), table[target].to_numpy()
    found = rb.separation(X, y, family=family)
    print(found)
    if found.proof is not None:
        print("The proof holds in exact arithmetic:", found.proof.check(X, y))


if __name__ == "__main__":
    main(*sys.argv[1:4])
