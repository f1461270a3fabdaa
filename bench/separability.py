"""Deciding separability, compared with SciPy's HiGHS: is there a w with Z w ≥ 1?

Our times include the checks of the data, the decision, the maximum margin, the proof and its check.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

import rosenblatt as rb
from bench.line import Line
from bench.measure import (
    Times,
    at_most,
    faster,
    figure,
    in_new_process,
    interleaved,
    published_data,
    rounds,
)

PATIENCE = 60.0  # time limit of HiGHS in seconds


def planted(n: int, d: int, flipped: int, seed: int = 0) -> tuple[Any, Any]:
    """Return rows with margin 0.02 from a random plane, and flip some labels."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d + 1)
    w /= np.linalg.norm(w)
    X = rng.normal(size=(n, d))
    y = np.where(X @ w[1:] + w[0] > 0, 1, -1)
    X += np.outer(0.02 * y, w[1:] / np.linalg.norm(w[1:]) ** 2)
    y[rng.choice(n, flipped, replace=False)] *= -1
    return X, y


def highs(X: Any, y: Any) -> int:
    """Return the status of HiGHS: 0 if separable, 2 if not, another number if undecided."""
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
    """Return our verdict after checking its proof."""
    s = rb.separability(X, y, **how)
    s.proof.check(X, y)
    return s


def beside_highs(id: str, X: Any, y: Any, **how: Any) -> Line:
    """Check that HiGHS has the same verdict, then compare times; fewer rounds if it is slow."""
    begin = time.perf_counter()
    said = {0: "separable", 2: "inseparable"}.get(highs(X, y))
    slow = time.perf_counter() - begin
    ours = proved(X, y, **how)
    assert said in (ours.verdict, None), f"ours says {ours.verdict}, HiGHS {said}"
    works = {"peer": lambda: highs(X, y), "ours": lambda: proved(X, y, **how)}
    if slow < 20:
        times = rounds(works, 7 if slow < 2 else 3)
    else:  # HiGHS is timed only once, so the spread is that of our times
        times = rounds({"ours": works["ours"]}, 3) | {"peer": Times((slow,) * 3)}
    theirs = (
        f"HiGHS {said}"
        if said
        else f"HiGHS did not finish in {slow:.0f} s, which count as its time"
    )
    note = f"ours {ours.verdict}, {theirs}; {times['ours'].median:.3f} s"
    return faster(id, times["peer"], times["ours"], note)


def beside(quick: bool) -> Iterator[Line]:
    for d in (20, 100):
        for flipped, kind in ((0, "separable"), (3, "flipped")):
            X, y = planted(2_000 if quick else 20_000, d, flipped)
            yield beside_highs(f"separability.20000x{d}-{kind}", X, y)


def many_rows(quick: bool) -> Iterator[Line]:
    """Compare the time on many rows with the reported number of passes, and measure memory."""
    n, w = 100_000 if quick else 1_000_000, np.ones(30)
    for flipped, kind in ((0, "separable"), (3, "flipped")):
        id = f"separability.1000000x30-{kind}"
        X, y = planted(n, 30, flipped)
        s = rb.separability(X, y)
        assert s.verdict == ("inseparable" if flipped else "separable"), s.verdict
        works = {"ours": lambda X=X, y=y: rb.separability(X, y), "pass": lambda X=X: X @ w}
        interleaved(works, 1)
        times = rounds(works, 7, pause=0.2)
        note = f"{s.passes} passes, {times['ours'].median:.2f} s"
        yield at_most(f"{id}-time", times["ours"], times["pass"].scaled(s.passes), note)
        share = in_new_process(MEMORY.format(n=n, flipped=flipped))
        yield figure(f"{id}-memory", share, note="the data and the most that the call adds to it")


# Writing to clear_refs resets the peak memory, so that it shows what the call adds to the data.
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
    """Return the word counts and labels of the SMS messages."""
    from sklearn.feature_extraction.text import CountVectorizer

    path = published_data() / "SMSSpamCollection"
    pairs = [line.split("\t", 1) for line in path.read_text(encoding="utf-8").splitlines()]
    X = CountVectorizer().fit_transform([text for _, text in pairs]).astype(np.float64)
    return X, np.array([1 if label == "spam" else -1 for label, _ in pairs])


def words(quick: bool) -> Iterator[Line]:
    X, y = messages()
    yield beside_highs("separability.sms", X, y, widest=False)


def like_spam(n: int) -> tuple[Any, Any]:
    """Return rows that resemble UCI's spambase: word frequencies and lengths of capital runs.

    As in spambase, columns are uneven: some have entries up to 1, others up to many thousands.
    """
    rng = np.random.default_rng(0)
    y = rng.random(n) < 0.394
    longest = np.maximum(np.round(np.exp(rng.normal(2.3, 1.2, n) + 0.8 * y)), 1)
    total = np.maximum(longest, np.round(longest * np.exp(np.abs(rng.normal(1, 1, n)))))
    mean = np.round(np.exp(np.abs(rng.normal(0.5, 0.8, n)) + 0.4 * y), 3)
    signs = np.exp(rng.normal(-2.3, 1, (n, 6))) * (rng.random((n, 6)) < rng.uniform(0.05, 0.5, 6))
    often = rng.uniform(0.01, 0.2, 48) * np.where(rng.random(48) < y[:, None], 1.6, 0.5)
    words = rng.geometric(0.5, (n, 48)) * (rng.random((n, 48)) < often)
    words = 100 * words / np.maximum(20, total * rng.uniform(1, 6, n))[:, None]
    return np.column_stack((np.round(words, 2), np.round(signs, 3), mean, longest, total)), y


def uneven(quick: bool) -> Iterator[Line]:
    X, y = like_spam(1_000 if quick else 4_601)
    s = proved(X, y)
    assert s.verdict == "inseparable", s.verdict
    times = interleaved({"ours": lambda: proved(X, y)}, 5)["ours"]
    reach = f"columns reach from {X.max(0).min():.3g} to {X.max():,.0f}"
    note = f"{s.verdict}, {s.passes} passes; {reach}"
    yield figure("separability.uneven-4601x57", times.median, times.seconds, note, ours=times)


WORKS = {
    beside: ("separability.20000",),
    many_rows: ("separability.1000000",),
    words: ("separability.sms",),
    uneven: ("separability.uneven",),
}
