"""Growth of cost: N and d are doubled four times each, and the exponent of time is fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import rosenblatt as rb
from bench.line import Line, Table
from bench.measure import Times, figure, rounds
from bench.separability import planted

DOUBLINGS = 4
ROUNDS = 5


def noisy(n: int, d: int) -> tuple[Any, Any]:
    """Return labels by a random plane, one in twenty flipped, so that every epoch has updates."""
    rng = np.random.default_rng(d)
    X = rng.standard_normal((n, d))
    return X, np.sign(X @ rng.standard_normal(d)) * np.where(rng.random(n) < 0.05, -1, 1)


def pla(X: Any, y: Any) -> Any:
    return rb.Perceptron(max_iter=5).fit(X, y)


def pocket(X: Any, y: Any) -> Any:
    return rb.PocketPerceptron(500, random_state=0, n_jobs=1).fit(X, y)


def separability(X: Any, y: Any) -> Any:
    return rb.separability(X, y).proof.check(X, y)


def stream(X: Any, y: Any) -> Any:
    model = rb.OnlinePerceptron()
    for at in range(0, len(X), 1000):
        model.learn_many(X[at : at + 1000], y[at : at + 1000])
    return model


# Work that is timed -> first size N × d when N is doubled, and when d is doubled.
SIZES: dict[Callable[..., Any], tuple[tuple[int, int], tuple[int, int]]] = {
    pla: ((50_000, 30), (20_000, 16)),
    pocket: ((20_000, 30), (10_000, 16)),
    separability: ((20_000, 20), (10_000, 10)),
    stream: ((50_000, 30), (20_000, 16)),
}


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Return the slope of log time over log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def grown(work: Callable[..., Any], start: tuple[int, int], axis: int) -> dict[int, Times]:
    """Return the times at each size, measured in rounds over all sizes."""
    data = {}
    for doubling in range(DOUBLINGS + 1):
        shape = list(start)
        shape[axis] <<= doubling
        make = partial(planted, flipped=0) if work is separability else noisy
        data[shape[axis]] = make(*shape)
    works = {str(size): lambda D=D: work(*D) for size, D in data.items()}
    works[next(iter(works))]()
    with threadpool_limits(1):
        times = rounds(works, ROUNDS)
    return {int(size): kept for size, kept in times.items()}


def growth(quick: bool) -> Iterator[Line | Table]:
    rows = []
    for work, starts in SIZES.items():
        for axis, (along, letter) in enumerate((("rows", "N"), ("columns", "d"))):
            n, d = starts[axis]
            times = grown(work, (n // 10 if quick else n, d), axis)
            sizes = list(times)
            slopes = tuple(
                exponent(sizes, [times[size].seconds[r] for size in sizes]) for r in range(ROUNDS)
            )
            fitted = exponent(sizes, [times[size].median for size in sizes])
            kept = {f"{letter}={size}": each for size, each in times.items()}
            note = f"from {n:,} × {d}, one thread"
            yield figure(f"growth.{work.__name__}-{along}", fitted, slopes, note, **kept)
            seconds = [times[size].median * 1000 for size in sizes]
            rows.append(
                (work.__name__, f"{letter} = {sizes[0]:,} to {sizes[-1]:,}", *seconds, fitted)
            )
    steps = tuple(f"× {2**doubling}" for doubling in range(DOUBLINGS + 1))
    columns = ("work", "size", *steps, "exponent")
    note = "Milliseconds, medians; the exponent is the slope of log time over log size."
    yield Table("growth.times", "How cost grows", columns, tuple(rows), note)


WORKS = {growth: ("growth.",)}
