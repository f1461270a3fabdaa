"""Check whether a logistic regression is separated before you believe its coefficients.

Run it as `python examples/logistic.py [FILE.csv TARGET]`; without a file it checks scikit-learn's
breast cancer data, with all thirty features and then with the first ten.
"""

import sys

import numpy as np
import pyarrow.csv
from sklearn.datasets import load_breast_cancer

import rosenblatt as rb

MEANS = {
    "separable": "complete separation: the likelihood has no maximum, coefficients run away",
    "quasi-separable": "quasi-complete separation: some coefficients run away",
    "inseparable": "no separation: the likelihood has a finite maximum",
    "undecided": "not decided",
}


def ask(name, X, y):
    found = rb.separability(X, y)
    print(f"{name}: {found.verdict}")
    print(f"  {MEANS[found.verdict]}")
    if found.proof is not None:
        print(f"  the proof holds in exact arithmetic: {found.proof.check(X, y)}")
    if found.conflicts:
        rows = found.conflicts[0].rows
        print(f"  {len(rows)} rows that cannot all be right: {', '.join(map(str, rows))}")


def main(file=None, target=None):
    if file is None:
        X, y = load_breast_cancer(return_X_y=True)
        ask("breast cancer, thirty features", X, y)
        ask("breast cancer, the first ten", X[:, :10], y)
        return
    table = pyarrow.csv.read_csv(file)
    y = table[target].to_numpy()
    names = [name for name in table.column_names if name != target]
    ask(file, np.column_stack([table[name].to_numpy() for name in names]), y)


if __name__ == "__main__":
    main(*sys.argv[1:3])
