"""Infinite estimates: our decision with a proof, compared with linear programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

import rosenblatt as rb
from bench.line import Line
from bench.measure import Times, faster, figure, in_new_process, peer, rounds

ORACLE = Path(__file__).parents[1] / "tests" / "evidence"
TOLERANCE = 1e-4  # of detectseparation and firthmodels

CROSSED = """
import json, resource, time
import numpy as np, scipy.sparse as sparse
import rosenblatt as rb
rng = np.random.default_rng(0)
n, levels = {n}, {levels}
columns = rng.integers(0, levels, (n, 2)) + np.array([0, levels])
X = sparse.csr_array((np.ones(2 * n), columns.ravel(), np.arange(0, 2 * n + 1, 2)),
                     shape=(n, 2 * levels))
y = np.where(rng.random(n) < 0.7, 0, rng.integers(1, 9, n))
begin = time.perf_counter()
s = rb.separation(X, y, family="poisson")
s.proof.check(X, y)
seconds = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps([seconds, peak, s.kind, len(s.rows)]))
"""


GRAVITY = """
import json, resource, time
import rosenblatt as rb
from bench.separation import gravity
X, y, _ = gravity({countries}, {years})
rb.separation(*gravity(12, 6)[:2], family="poisson", fit_intercept=False)
begin = time.perf_counter()
s = rb.separation(X, y, family="poisson", fit_intercept=False)
s.proof.check(X, y)
seconds = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps([seconds, peak, len(s.rows), *X.shape]))
"""

PYFIXEST = """
import json, time, warnings
import pyfixest
from bench.separation import gravity
warnings.simplefilter("ignore")
formula = "y ~ x1 + x2 | exporter_year + importer_year + pair"
how = {{"separation_check": ["fe", "ir"]}}
pyfixest.fepois(formula, gravity(12, 6)[2], **how)
frame = gravity({countries}, {years})[2]
begin = time.perf_counter()
fit = pyfixest.fepois(formula, frame, **how)
print(json.dumps([time.perf_counter() - begin, len(frame) - int(fit._N)]))
"""


def gravity(countries: int, years: int) -> tuple[Any, Any, Any]:
    """Return flows between countries as CSR design and Poisson counts, and as a frame."""
    import pandas as pd

    rng = np.random.default_rng(0)
    i, j, t = (a.ravel() for a in np.indices((countries, countries, years)))
    i, j, t = (a[i != j] for a in (i, j, t))
    n, size = len(i), countries * years
    pair = np.unique(i * countries + j, return_inverse=True)[1]
    x = rng.normal(size=(n, 2))
    score = x @ [0.3, -0.2] + 1.5 * rng.normal(size=pair.max() + 1)[pair] - 0.5
    score += 0.5 * rng.normal(size=size)[i * years + t] + 0.5 * rng.normal(size=size)[j * years + t]
    effects = {"exporter_year": i * years + t, "importer_year": j * years + t, "pair": pair}
    columns = np.column_stack(list(effects.values())) + np.array([0, size, 2 * size])
    ends = np.arange(0, 3 * n + 1, 3)
    dummies = sparse.csr_array((np.ones(3 * n), columns.ravel(), ends))
    X = sparse.hstack([sparse.csr_array(x), dummies], format="csr")
    y = rng.poisson(np.exp(score))
    return X, y, pd.DataFrame({"y": y, "x1": x[:, 0], "x2": x[:, 1], **effects})


def one_program(X: Any, y: Any, family: str) -> int:
    """Count the rows that HiGHS separates, by max Σ t with t ≤ Z γ and 0 ≤ t ≤ 1."""
    sign = np.where(y > 0, 1.0, -1.0)
    pinned = (y > 0) if family == "poisson" else np.zeros(len(y), dtype=bool)
    Z = (sparse.diags_array(sign) @ X).tocsr()
    free, (n, d) = Z[~pinned], (int((~pinned).sum()), X.shape[1])
    zeros = sparse.csr_array((int(pinned.sum()), n))
    found = linprog(
        np.repeat([0.0, -1.0], [d, n]),
        A_ub=sparse.hstack([-free, sparse.eye_array(n)], format="csr"),
        b_ub=np.zeros(n),
        A_eq=sparse.hstack([Z[pinned], zeros], format="csr") if pinned.any() else None,
        b_eq=np.zeros(int(pinned.sum())) if pinned.any() else None,
        bounds=np.repeat([[-np.inf, np.inf], [0.0, 1.0]], [d, n], axis=0),
        method="highs",
    )
    return int((found.x[d:] > 0.5).sum())


def quasi(n: int, d: int) -> tuple[Any, Any]:
    """Return overlapping rows with a dummy column that is 1 only if the label is 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=d) + 3 * rng.normal(size=n) > 0).astype(int)
    X[:, -1] = (rng.random(n) < 0.1) & (y == 1)
    return X, y


def signed(X: Any, y: Any) -> Any:
    return np.where(y[:, None] > 0, 1.0, -1.0) * np.column_stack([np.ones(len(X)), X])


def program(Z: Any, objective: Any) -> Any:
    """Return the γ with Z γ ≥ 0 and |γ| ≤ 1 that maximizes an objective, found by HiGHS."""
    zeros = np.zeros(len(Z))
    return linprog(-objective, A_ub=-Z, b_ub=zeros, bounds=(-1, 1), method="highs").x


def once_a_coefficient(X: Any, y: Any) -> list[float]:
    """Return the maximum of each coefficient over the γ of `program`."""
    Z = signed(X, y)
    return [float(program(Z, unit)[j]) for j, unit in enumerate(np.eye(Z.shape[1]))]


def proved(X: Any, y: Any) -> rb.Separation:
    s = rb.separation(X, y)
    s.proof.check(X, y)
    return s


def large(quick: bool) -> Iterator[Line]:
    X, y = quasi(1_000 if quick else 10_000, 50)
    ours = proved(X, y)
    assert ours.coefficients["x50"] == np.inf
    assert sum(value != 0 for value in ours.coefficients.values()) == 1
    works = {"peer": lambda: once_a_coefficient(X, y), "ours": lambda: proved(X, y)}
    assert [v > TOLERANCE for v in works["peer"]()] == [False] * 50 + [True]
    times = rounds(works, 3)
    note = f"x50 infinite, {len(ours.rows):,} rows separated; {times['ours'].median:.2f} s"
    yield faster("separation.10000x50-quasi", times["peer"], times["ours"], note)
    detect = peer("firthmodels", "firthmodels").detect_separation
    assert detect(X, y).separation
    times = rounds({"peer": lambda: detect(X, y), "ours": lambda: proved(X, y)}, 3)
    yield faster("separation.firthmodels-10000x50", times["peer"], times["ours"], "without a proof")


def panels(quick: bool) -> Iterator[Line]:
    """Time gravity panels with three effects, including proof and check, and HiGHS."""
    for countries, years, size in ((12, 6, "792x278"), (30, 10, "8700x1472")):
        X, counts, _ = gravity(*((6, 3) if quick else (countries, years)))
        for family in ("poisson", "binomial"):
            y = counts if family == "poisson" else (counts > 0).astype(int)

            def ours(X: Any = X, y: Any = y, family: str = family) -> rb.Separation:
                s = rb.separation(X, y, family=family, fit_intercept=False)
                s.proof.check(X, y)
                return s

            def highs(X: Any = X, y: Any = y, family: str = family) -> int:
                return one_program(X, y, family)

            rows = len(ours().rows)
            assert rows == highs()
            times = rounds({"peer": highs, "ours": ours}, 3)
            note = f"{rows:,} rows separated; HiGHS takes {times['peer'].median:.2f} s"
            yield figure(
                f"separation.gravity-{size}-{family}",
                times["ours"].median,
                times["ours"].seconds,
                note,
                **times,
            )


def million(quick: bool) -> Iterator[Line]:
    """Time a gravity panel of a million rows, and pyfixest's fit with its check."""
    size = {"countries": 12, "years": 6} if quick else {"countries": 300, "years": 12}
    peer("pyfixest", "pyfixest")
    theirs, removed = in_new_process(PYFIXEST.format(**size))
    seconds, peak, rows, n, d = in_new_process(GRAVITY.format(**size))
    note = (
        f"{n:,} × {d:,}, {rows:,} rows separated; pyfixest's fit and check take {theirs:.1f} s "
        f"and remove {removed:,} rows"
    )
    took = {"ours": Times((seconds,)), "peer": Times((theirs,))}
    yield figure("separation.gravity-million", seconds, note=note, **took)
    yield figure("separation.gravity-memory", peak)


def crossed(quick: bool) -> Iterator[Line]:
    size = {"n": 5_000, "levels": 500} if quick else {"n": 100_000, "levels": 10_000}
    seconds, peak, kind, rows = in_new_process(CROSSED.format(**size))
    note = f"{kind}, {rows:,} rows separated; compiling included"
    yield figure("separation.crossed-100000x20000", seconds, note=note, ours=Times((seconds,)))
    yield figure("separation.crossed-memory", peak)


def zoo(count: int) -> Iterator[tuple[Any, Any, list[float]]]:
    """Yield small sets of full rank with their true estimates, found from all extreme rays."""
    sys.path.insert(0, str(ORACLE))
    from rays import rank, separation

    rng = np.random.default_rng(0)
    while count:
        X = rng.integers(-2, 3, (int(rng.integers(4, 9)), 2)).astype(float)
        y = rng.integers(0, 2, len(X))
        powers = 2.0 ** rng.integers(-20, 21, 2)  # exact, about 1e-6 to 1e6
        if rng.random() < 0.3:  # an overlap that is tiny compared with the numbers
            X, y = np.array([[1.0, 0], [2, 0], [3, 1], [3, 0], [4, 1], [2, 1]]) * 2**27, y[:6]
            X[3, 0] -= 1
            y = np.resize([0, 0, 0, 1, 1, 0], len(X))
        Z = signed(X, y)
        if len(set(y.tolist())) < 2 or rank([[int(a) for a in z] for z in Z]) < 3:
            continue
        yield X * powers, y, separation(Z, [False] * len(Z))[1]
        count -= 1


def labels(values: Any, tolerance: float = 0.0) -> list[int]:
    return [int(v > tolerance) - int(v < -tolerance) for v in values]


def wrong(quick: bool) -> Iterator[Line]:
    sets = list(zoo(60 if quick else 300))
    # The truth is nan if a coefficient can have either sign: any sign is then correct.
    truth = [[None if np.isnan(v) else int(np.sign(v)) for v in found] for _, _, found in sets]

    def count(asked: Any) -> int:
        answers = (asked(X, y) for X, y, _ in sets)
        return sum(_differs(a, b) for a, b in zip(answers, truth, strict=True))

    def ours(X: Any, y: Any) -> list[int]:
        return [0 if np.isnan(v) else int(np.sign(v)) for v in proved(X, y).coefficients.values()]

    def highs(X: Any, y: Any) -> list[int]:
        Z = signed(X, y)
        return labels(program(Z, Z.sum(axis=0)), TOLERANCE)

    note = f"{sum(any(t) for t in truth)} of {len(sets)} sets have an infinite estimate"
    yield figure("separation.zoo-ours", count(ours), note=note)
    yield figure("separation.zoo-highs", count(highs), note=note)
    detect = peer("firthmodels", "firthmodels").detect_separation

    def firth(X: Any, y: Any) -> list[int]:
        try:
            found = [int(v) for v in detect(X, y).directions]
        except np.linalg.LinAlgError:  # firthmodels takes a design of full rank for deficient
            return []
        return found[-1:] + found[:-1]  # firthmodels has the intercept last

    yield figure("separation.zoo-firthmodels", count(firth), note=note)


def _differs(said: list[int], true: list[int | None]) -> bool:
    return not said or any(t is not None and s != t for s, t in zip(said, true, strict=True))


WORKS = {
    large: ("separation.10000x50-quasi", "separation.firthmodels"),
    panels: ("separation.gravity-792x278", "separation.gravity-8700x1472"),
    million: ("separation.gravity-million", "separation.gravity-memory"),
    crossed: ("separation.crossed",),
    wrong: ("separation.zoo",),
}
