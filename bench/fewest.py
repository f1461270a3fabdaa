"""Fewest training mistakes found in 10 s, with the protocol of the published results."""

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


def votes(folder):
    rows = [line.split(",") for line in (folder / "house-votes-84.data").read_text().split()]
    said = {"y": 1.0, "n": -1.0, "?": 0.0}
    return np.array([[said[v] for v in row[1:]] for row in rows]), np.array([r[0] for r in rows])


def homework(folder):
    table = np.loadtxt(folder / "hw1_18_train.dat")
    return table[:, :-1], table[:, -1]


def brooks(name):
    """Read a set of Brooks: rows and columns, then the label and numbers of every row."""

    def read(folder):
        n, d, *rest = (folder / "brooks" / name).read_text().split()
        table = np.array(rest[: int(n) * (int(d) + 1)], dtype=float).reshape(int(n), -1)
        return table[:, 1:], table[:, 0]

    return read


A_SETS = [f"n{n}d{d}ATj0" for n in (60, 100) for d in (2, 5, 10)] + ["n200d2ATj0", "n500d2ATj0"]
B_SETS = [f"n60d{d}BTj0" for d in (2, 5, 10)] + ["n100d2BTj0", "n100d5BTj0"]
B_SETS += ["n200d2BTj0", "n500d2BTj0"]
FOLDS = ["breast5f1i1.train", "heart5f1i1.train"]
ALONE = {
    "fewest.hw1-18": (homework, 60),
    "fewest.proved-breast": (breast, 60),
    "fewest.proved-votes": (votes, 60),
    "fewest.proved-heart5f": (brooks("heart5f1i1.train"), 60),
    "fewest.n200d5a": (brooks("n200d5ATj0"), 150),
    "fewest.n100d10b": (brooks("n100d10BTj0"), 600),
    "fewest.n200d5b": (brooks("n200d5BTj0"), 600),
}
BOUNDED = {
    "fewest.bound-bupa": "bupa5f1i1.train",
    "fewest.bound-pima": "pima5f1i1.train",
    "fewest.bound-n200d10a": "n200d10ATj0",
    "fewest.bound-n500d5a": "n500d5ATj0",
    "fewest.bound-n500d10a": "n500d10ATj0",
}
shares = []  # time to check each proof, as a share of the time to find it


def published(quick: bool) -> Iterator[Line]:
    folder = published_data()
    for name, read in READERS.items():
        X, y = read(folder)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        result = rb.fewest_mistakes(X, y, time_limit=2 if quick else 10, random_state=0)
        assert result.proof.check(X, y)
        # Count the mistakes of the weights independently of the search.
        tall = np.column_stack([np.ones(len(X)), X])
        wrong = np.count_nonzero((tall @ result.weights > 0) != (y == y.max()))
        assert wrong <= result.mistakes, f"{wrong} counted, {result.mistakes} claimed"
        yield figure(f"fewest.{name}", result.mistakes, note=f"{result} Proof checked.")


def proved(X: np.ndarray, y: np.ndarray, limit: float = 60) -> tuple[float, FewestMistakesResult]:
    """Return the seconds until the optimum was proved, without compilation, and the result.

    The proof is checked; the time for it is stored in `shares`.
    """
    rb.fewest_mistakes(X[:600], y[:600], time_limit=1, random_state=0)
    begin = time.perf_counter()
    result = rb.fewest_mistakes(X, y, time_limit=limit, random_state=0)
    found = time.perf_counter()
    assert result.proof.check(X, y, again=bool(result.proof.enumeration))
    if not result.proof.enumeration and found - begin >= 1:
        shares.append((time.perf_counter() - found) / (found - begin))
    return found - begin, result


def standardised(X: np.ndarray) -> np.ndarray:
    width = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(width > 0, width, 1)


def alone(quick: bool) -> Iterator[Line]:
    for name, (read, limit) in ALONE.items():
        X, y = read(published_data())
        # Votes stay integers: subtracting rounded means would move rows that touch the line.
        X = X if read is votes else standardised(X)
        seconds, result = proved(X, y, 5 if quick else limit)
        yield figure(name, seconds, note=str(result))  # the whole time limit if not proved


def families(quick: bool) -> Iterator[Line]:
    times, count = [], 0
    for name in [*A_SETS, *B_SETS, *FOLDS][: 5 if quick else None]:
        X, y = brooks(name)(published_data())
        seconds, result = proved(standardised(X), y)
        times.append((seconds, name, str(result)))
        count += result.optimal
    slowest = max(times)
    yield figure("fewest.brooks", count, note=f"of {len(times)}; every proof checked")
    yield figure("fewest.brooks-slowest", slowest[0], note=f"{slowest[1]}: {slowest[2]}")


def bounded(quick: bool) -> Iterator[Line]:
    for name, file in BOUNDED.items():
        X, y = brooks(file)(published_data())
        _, result = proved(standardised(X), y, 3 if quick else 60)
        yield figure(name, result.lower_bound, note=str(result))
    if shares:
        yield figure("fewest.checking", max(shares), note=f"of {len(shares)} proofs")


def plane(quick: bool) -> Iterator[Line]:
    n = 300 if quick else 2000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    seconds, result = proved(X, np.sign(X[:, 0] + rng.normal(size=n)))
    # Trying every line proves the optimum; otherwise report the gap to the lower bound.
    above = 0 if result.optimal else result.mistakes - result.lower_bound
    yield figure("fewest.plane-2000", above, note=str(result))
    yield figure("fewest.plane-2000-time", seconds, note=str(result))


def cells(quick: bool) -> Iterator[Line]:
    """Time the proof for integers like Haberman's data: age, year of operation, nodes."""
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
    alone: tuple(ALONE),
    families: ("fewest.brooks",),
    bounded: (*BOUNDED, "fewest.checking"),
    large: ("fewest.1000000x30",),
    published: tuple(f"fewest.{name}" for name in READERS),
}
