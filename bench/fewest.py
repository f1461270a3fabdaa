"""Fewest training mistakes, 10 s each, with the protocol of the published results."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import rosenblatt as rb
from bench.line import Line
from bench.measure import figure, published_data
from rosenblatt.evidence.optimum import FewestMistakesResult


def breast(folder):
    lines = (folder / "breast-cancer-wisconsin.data").read_text().split()
    table = np.array([line.split(",") for line in lines if "?" not in line], dtype=float)
    return table[:, :-1], table[:, -1]


def heart(folder):
    lines = (folder / "heart_scale").read_text().splitlines()
    X, y = np.zeros((len(lines), 13)), np.zeros(len(lines))
    for n, line in enumerate(lines):
        y[n], *cells = line.split()
        for cell in cells:
            j, v = cell.split(":")
            X[n, int(j) - 1] = float(v)
    return X, y


def pima(folder):
    table = np.loadtxt(folder / "pima-indians-diabetes.csv", delimiter=",")
    return table[:, :-1], table[:, -1]


READERS = {"breast": breast, "heart": heart, "pima": pima}


def published(quick: bool) -> Iterator[Line]:
    folder = published_data()
    for name, read in READERS.items():
        X, y = read(folder)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        result = rb.fewest_mistakes(X, y, time_limit=2 if quick else 10, random_state=0)
        assert result.proof.check(X, y)
        # Said by the weights themselves, not by the search.
        tall = np.column_stack([np.ones(len(X)), X])
        wrong = np.count_nonzero((tall @ result.weights > 0) != (y == y.max()))
        assert wrong <= result.mistakes, f"{wrong} counted, {result.mistakes} claimed"
        yield figure(f"fewest.{name}", result.mistakes, note=f"{result} Proof checked.")


def proved(X: np.ndarray, y: np.ndarray) -> tuple[float, FewestMistakesResult]:
    """The seconds until it is known that no line makes fewer mistakes, compiling left out."""
    rb.fewest_mistakes(X[:100], y[:100], time_limit=1, random_state=0)
    begin = time.perf_counter()
    result = rb.fewest_mistakes(X, y, time_limit=60, random_state=0)
    return time.perf_counter() - begin, result


def plane(quick: bool) -> Iterator[Line]:
    n = 300 if quick else 2000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    seconds, result = proved(X, np.sign(X[:, 0] + rng.normal(size=n)))
    # Optimal by trying every line; the lower bound with its proof is another thing.
    above = 0 if result.optimal else result.mistakes - result.lower_bound
    yield figure("fewest.plane-2000", above, note=str(result))
    yield figure("fewest.plane-2000-time", seconds, note=str(result))


def cells(quick: bool) -> Iterator[Line]:
    """Whole numbers like those of Haberman's survivors: age, year of operation, nodes."""
    n = 100 if quick else 300
    rng = np.random.default_rng(0)
    age, year = rng.integers(30, 84, n), rng.integers(58, 70, n)
    nodes = np.floor(rng.exponential(4, n))
    y = rng.random(n) < 0.15 + 0.5 * (nodes > 5)
    seconds, result = proved(np.column_stack([age, year, nodes]), y)
    assert result.optimal, str(result)
    yield figure("fewest.cells-300x3", seconds, note=str(result))


def large(quick: bool) -> Iterator[Line]:
    n = 50_000 if quick else 1_000_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 30))
    y = np.sign(X @ rng.normal(size=30) + 2 * rng.normal(size=n))
    pocket = rb.PocketPerceptron(400, time_limit=2, random_state=0).fit(X, y).n_mistakes_
    result = rb.fewest_mistakes(X, y, time_limit=2 if quick else 10, random_state=0)
    note = f"{result.mistakes:,} mistakes, the pocket's {pocket:,}"
    yield figure("fewest.1000000x30", result.mistakes / pocket, note=note)


WORKS = {
    plane: ("fewest.plane",),
    cells: ("fewest.cells",),
    large: ("fewest.1000000x30",),
    published: tuple(f"fewest.{name}" for name in READERS),
}
