"""Deciding separability, beside SciPy's HiGHS asked for the same: is there a w with Z w ≥ 1?

Our times include Examples' checks, the decision, the widest margin, the proof and its check.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

import rosenblatt as rb
from bench.measure import Times, at_most, faster, in_new_process, interleaved, row

PATIENCE = 60.0  # seconds that HiGHS is given; beyond them its time counts as this much


def planted(n: int, d: int, flipped: int, seed: int = 0) -> tuple[Any, Any]:
    """Rows with margin 0.02 from a random plane, and some answers turned round."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d + 1)
    w /= np.linalg.norm(w)
    X = rng.normal(size=(n, d))
    y = np.where(X @ w[1:] + w[0] > 0, 1, -1)
    X += np.outer(0.02 * y, w[1:] / np.linalg.norm(w[1:]) ** 2)
    y[rng.choice(n, flipped, replace=False)] *= -1
    return X, y


def highs(X: Any, y: Any) -> int:
    """HiGHS' answer: 0 separable, 2 not, anything else no answer."""
    ones = np.ones((X.shape[0], 1))
    if sparse.issparse(X):
        Z = sparse.diags_array(y.astype(float)) @ sparse.hstack((ones, X), format="csr")
    else:
        Z = y[:, None] * np.hstack((ones, X))
    answer = linprog(
        np.zeros(Z.shape[1]),
        A_ub=-Z,
        b_ub=-np.ones(Z.shape[0]),
        bounds=(None, None),
        method="highs",
        options={"time_limit": PATIENCE},
    )
    return int(answer.status)


def proved(X: Any, y: Any, **how: Any) -> rb.Separability:
    """Our answer, its proof checked."""
    s = rb.separability(X, y, **how)
    s.proof.check(X, y)
    return s


def beside_highs(work: str, X: Any, y: Any, least: float, **how: Any) -> dict[str, Any]:
    """Ours beside HiGHS, interleaved; few rounds where HiGHS is slow."""
    begin = time.perf_counter()
    status = highs(X, y)
    slow = time.perf_counter() - begin
    ours = proved(X, y, **how)
    rounds = 7 if slow < 2 else 3
    if slow < 20:
        times = interleaved(
            {"peer": lambda: highs(X, y), "ours": lambda: proved(X, y, **how)}, rounds
        )
    else:
        times = interleaved({"ours": lambda: proved(X, y, **how)}, 3)
        times["peer"] = Times((slow,) * 3)
    said = {0: "separable", 2: "inseparable"}.get(status, f"no answer in {slow:.0f} s")
    result = faster(f"{work}: {ours.verdict} (HiGHS: {said})", times["peer"], times["ours"], least)
    result["seconds"] = {name: round(value.median, 4) for name, value in times.items()}
    return result


def many_rows(n: int, flipped: int) -> list[dict[str, Any]]:
    """Time against the passes reported, and memory, on many rows."""
    X, y = planted(n, 30, flipped)
    w = np.ones(30)
    s = rb.separability(X, y)
    times = interleaved({"ours": lambda: rb.separability(X, y), "pass": lambda: X @ w}, 5)
    passes = Times(tuple(t * s.passes for t in times["pass"].seconds))
    work = f"{n:,} × 30, {s.verdict}"
    time_row = at_most(f"{work}, {s.passes} passes of X @ w", times["ours"], passes, 1.5)
    time_row["seconds"] = {name: round(value.median, 4) for name, value in times.items()}
    figure = in_new_process(MEMORY.format(n=n, flipped=flipped))
    return [time_row, row(f"{work}, memory", "≤ 1.3 × data", figure, figure <= 1.3)]


# Linux can forget a process's peak and count anew: what the call adds to the data.
MEMORY = """
import rosenblatt as rb
from bench.separability import planted

def kilobytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))

rb.separability(*planted(2000, 30, {flipped}))
X, y = planted({n}, 30, {flipped})
now = kilobytes("VmRSS")
with open("/proc/self/clear_refs", "w") as refs:
    refs.write("5")
rb.separability(X, y)
print(1 + (kilobytes("VmHWM") - now) * 1024 / X.nbytes)
"""


def messages() -> tuple[Any, Any]:
    """Word counts of the SMS messages."""
    from sklearn.feature_extraction.text import CountVectorizer

    path = Path(os.environ["ROSENBLATT_DATA"]) / "SMSSpamCollection"
    pairs = [line.split("\t", 1) for line in path.read_text(encoding="utf-8").splitlines()]
    X = CountVectorizer().fit_transform([text for _, text in pairs]).astype(np.float64)
    return X, np.array([1 if label == "spam" else -1 for label, _ in pairs])


def run(quick: bool) -> list[dict[str, Any]]:
    """Every line of the table; `quick` takes a tenth of the rows."""
    n = 2000 if quick else 20000
    results = []
    for d, least in ((20, 15), (100, 10)):
        for flipped in (0, 3):
            results.append(beside_highs(f"{n:,} × {d}", *planted(n, d, flipped), least))
    for flipped in (0, 3):
        results += many_rows(n * 50, flipped)
    if "ROSENBLATT_DATA" in os.environ:
        X, y = messages()
        work = f"SMS word counts {X.shape[0]:,} × {X.shape[1]:,}, any separator"
        results.append(beside_highs(work, X, y, 2, widest=False))
    return results
