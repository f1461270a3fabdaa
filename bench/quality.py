"""Quality of results: separated sets, published results, and errors on unseen rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Perceptron as Peer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import rosenblatt as rb
from bench import fewest
from bench.line import Line, Table
from bench.measure import figure, published_data

WIDE, NARROW = 0.1, 1e-6


# Separable sets separated -------------------------------------------------------------------


def planted(margin: float, seed: int, tight: int = 0) -> tuple[Any, Any]:
    """Return 300 rows of 10 features, labeled by a plane, with at least a margin around it."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(10)
    w /= np.linalg.norm(w)
    X = rng.standard_normal((300, 10))
    heights = X @ w
    away = np.maximum(np.abs(heights), margin)
    away[:tight] = margin
    y = np.where(heights > 0, 1, -1)
    return X + np.outer(y * away - heights, w), y


def exactly(margin: float, seed: int) -> tuple[Any, Any]:
    """Return rows that no plane separates by more than the margin; sixty rows lie at it.

    Projected onto the plane, the hulls of these rows on its two sides meet, so no other plane is
    farther from them.
    """
    return planted(margin, seed, tight=60)


WAYS: dict[str, Callable[[], Any]] = {
    "rb.Perceptron()": rb.Perceptron,
    "scikit-learn Perceptron()": Peer,
    "scikit-learn Perceptron(tol=None)": lambda: Peer(tol=None),
    "scikit-learn LinearSVC()": LinearSVC,
}


def count(make: Callable[..., Any], margins: Any) -> dict[str, Any]:
    """Return which sets each estimator separates, that is, predicts without a mistake."""
    done = {name: np.zeros(len(margins), dtype=bool) for name in ("rb.separability", *WAYS)}
    for k, margin in enumerate(margins):
        X, y = make(margin, seed=k)
        verdict = rb.separability(X, y)
        done["rb.separability"][k] = bool(verdict) and verdict.proof.check(X, y)
        for name, way in WAYS.items():
            done[name][k] = np.all(way().fit(X, y).predict(X) == y)
    return done


def by_decade(done: dict[str, Any], margins: Any) -> tuple[tuple[str | float, ...], ...]:
    decades = np.minimum(np.floor(-np.log10(margins) + 1e-9).astype(int), 5)
    kept = {f"1e-{k} to 1e-{k + 1}": decades == k for k in range(1, 6)}
    kept["all"] = np.ones(len(margins), dtype=bool)
    return tuple(
        (name, *(float(np.sum(x[which])) for x in ({"sets": which} | done).values()))
        for name, which in kept.items()
    )


def separated(quick: bool) -> Iterator[Line | Table]:
    """Count the sets that each estimator separates, with exact margins and with minimum ones."""
    margins = np.geomspace(WIDE, NARROW, 20 if quick else 200)
    note = "N = 300, d = 10; rb.Perceptron() stops after 1,000 epochs and says so"
    for make, id, title in (
        (exactly, "exact", "Separable sets separated: no plane leaves more room than the margin"),
        (planted, "planted", "Separable sets separated: some plane leaves the margin or more"),
    ):
        done = count(make, margins)
        yield figure(f"quality.{id}-ours", done["rb.Perceptron()"].sum(), note=note)
        theirs = done["scikit-learn Perceptron()"].sum()
        yield figure(f"quality.{id}-sklearn", theirs, note="it stops when progress looks slow")
        proved = done["rb.separability"].sum()
        yield figure(f"quality.{id}-proved", proved, note="each proof checked, in integers")
        columns = ("margin", "sets", *done)
        yield Table(f"quality.{id}", title, columns, by_decade(done, margins), note + ".")


# Mistakes on published data -----------------------------------------------------------------


def german(folder: Any) -> tuple[Any, Any]:
    table = np.loadtxt(folder / "german.csv", delimiter=",", dtype=str)
    X, y = table[:, :-1], table[:, -1].astype(float)
    words = [j for j in range(X.shape[1]) if not X[0, j].lstrip("-").isdigit()]
    hot = OneHotEncoder(sparse_output=False).fit_transform(X[:, words])
    return np.hstack([np.delete(X, words, axis=1).astype(float), hot]), y


PUBLISHED = {"breast": "18 / 19 / 10", "heart": "39 / 39 / 25", "pima": "166 / 166 / 156"}
READERS = {**fewest.READERS, "german": german, "votes": fewest.votes, "hw1_18": fewest.homework}


def mistakes(quick: bool) -> Iterator[Table]:
    """Count training mistakes on published data with standardized columns."""
    folder, rows = published_data(), []
    seconds = 1 if quick else 5
    for name, read in READERS.items():
        X, y = read(folder)
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
        found = rb.fewest_mistakes(X, y, time_limit=seconds, random_state=0)
        pocket = rb.PocketPerceptron(5000, random_state=0).fit(X, y)
        others = [LinearSVC(max_iter=10_000), LogisticRegression(max_iter=1000)]
        wrong = [int(np.sum(clf.fit(X, y).predict(X) != y)) for clf in others]
        size = f"{X.shape[0]} × {X.shape[1]}"
        ours = (found.mistakes, found.lower_bound, pocket.n_mistakes_)
        rows.append((name, size, PUBLISHED.get(name, "—"), *ours, *wrong))
    columns = (
        "data", "size", "published: SVM / logistic / best 0-1", "rb.fewest_mistakes",
        "proved lower bound", "rb.PocketPerceptron", "LinearSVC", "LogisticRegression",
    )  # fmt: skip
    note = (
        f"Training mistakes, standardized columns; {seconds} s for the search, 5,000 updates "
        "for the pocket. Published: ICML 2013. German credit one-hot; votes y, n, ? as 1, −1, 0."
    )
    yield Table("quality.mistakes", "Mistakes on published data", columns, tuple(rows), note)


def course(quick: bool) -> Iterator[Table]:
    """Compare published answers to the homework of two courses with ours."""
    folder, runs = published_data(), 100 if quick else 2000
    table = np.loadtxt(folder / "hw1_15_train.dat")
    X, y = np.ascontiguousarray(table[:, :-1]), table[:, -1]
    noisy = [np.loadtxt(folder / f"hw1_18_{kind}.dat") for kind in ("train", "test")]

    def updates(order: str, seed: int = 0, **start: Any) -> int:
        clf = rb.Perceptron(order, zero="negative", random_state=seed)
        return int(clf.fit(X, y, **start).n_updates_)

    def error(T: int, last: bool) -> float:
        return float(np.mean([test_error(*noisy, T, last, seed) for seed in range(runs)]))

    ones = {"coef_init": np.ones(4), "intercept_init": 1}
    ten, hundred = (rb.experiment(n, runs, random_state=1) for n in (10, 100))
    rows: tuple[tuple[str, str, float], ...] = (
        ("15: naive cycle, updates", "45", updates("cycle")),
        ("15: starting over, updates", "60", updates("first")),
        ("15: from all ones, updates", "21", updates("cycle", **ones)),
        ("16: random cycle, mean updates", "40.1 (0.26)",
         float(np.mean([updates("random-cycle", seed) for seed in range(runs)]))),
        ("18: pocket of 50, mean test error", "0.133 (0.002)", error(50, False)),
        ("19: w(50), mean test error", "0.356 (0.012)", error(50, True)),
        ("20: pocket of 100, mean test error", "0.116 (0.0015)", error(100, False)),
        ("Learning From Data 7: N = 10, median updates", "5", float(np.median(ten.updates))),
        ("Learning From Data 8: N = 10, P[f≠g]", "0.109", float(np.mean(ten.disagreement))),
        ("Learning From Data 9: N = 100, median updates", "60",
         float(np.median(hundred.updates))),
        ("Learning From Data 10: N = 100, P[f≠g]", "0.0134", float(np.mean(hundred.disagreement))),
    )  # fmt: skip
    note = f"Means over {runs:,} runs; the published standard error in brackets."
    columns = ("question", "published", "here")
    yield Table("quality.course", "Published homework results", columns, rows, note)


def test_error(train: Any, test: Any, T: int, last: bool, seed: int) -> float:
    clf = rb.PocketPerceptron(T, zero="negative", random_state=seed)
    clf.fit(np.ascontiguousarray(train[:, :-1]), train[:, -1])
    w = clf.last_weights_ if last else clf.weights_
    said = np.where(w[0] + test[:, :-1] @ w[1:] > 0, 1, -1)
    return float(np.mean(said != test[:, -1]))


# Errors on unseen rows ----------------------------------------------------------------------


class Averaged(ClassifierMixin, BaseEstimator):
    """Online perceptron with averaged weights, after five passes in random order."""

    def fit(self, X: Any, y: Any) -> Averaged:
        self.classes_ = np.unique(y)
        self.model_ = rb.OnlinePerceptron(predict_with="average")
        rng = np.random.default_rng(0)
        for _ in range(5):
            order = rng.permutation(len(X))
            self.model_.learn_many(X[order], y[order])
        return self

    def predict(self, X: Any) -> Any:
        return np.array(self.model_.predict_many(X))


def bundled() -> Iterator[tuple[str, Any, Any]]:
    """Return scikit-learn's bundled classification data, as one class against the rest."""
    for name in ("breast_cancer", "iris", "wine", "digits"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        # The rows are sorted by class, which is unsuitable for algorithms that visit rows in order.
        order = np.random.default_rng(0).permutation(len(X))
        X, y = X[order], y[order]
        for label in np.unique(y)[1 if name == "breast_cancer" else 0 :]:
            yield f"{name}: {label} against the rest", X, (y == label).astype(int)


def unseen(quick: bool) -> Iterator[Table]:
    seconds, folds = (0.2, 3) if quick else (1.0, 5)
    ways = {
        "rb.Perceptron": rb.Perceptron(random_state=0),
        "rb.PocketPerceptron": rb.PocketPerceptron(random_state=0),
        "averaged online": Averaged(),
        "rb.FewestMistakes": rb.FewestMistakes(time_limit=seconds, random_state=0),
        "Perceptron": Peer(random_state=0),
        "LinearSVC": LinearSVC(random_state=0, max_iter=10_000),
        "LogisticRegression": LogisticRegression(max_iter=1000),
    }
    split = StratifiedKFold(folds, shuffle=True, random_state=0)
    rows = []
    for name, X, y in bundled():
        if quick and name.startswith("digits"):
            continue
        models = [make_pipeline(StandardScaler(), way) for way in ways.values()]
        errors = [100 * (1 - cross_val_score(model, X, y, cv=split).mean()) for model in models]
        rows.append((name, f"{X.shape[0]} × {X.shape[1]}", *map(float, errors)))
    rows.append(("mean", "", *(float(x) for x in np.mean([row[2:] for row in rows], axis=0))))
    note = (
        f"Errors in per cent on rows held out, {folds}-fold cross-validation, the same folds and "
        f"standardized columns for all, default parameters; FewestMistakes has {seconds:g} s a "
        "fit. The last three are scikit-learn's."
    )
    columns = ("data", "size", *ways)
    yield Table("quality.test-error", "Errors on unseen rows", columns, tuple(rows), note)


WORKS = {
    separated: ("quality.exact", "quality.planted"),
    mistakes: ("quality.mistakes",),
    course: ("quality.course",),
    unseen: ("quality.test-error",),
}
