"""How times are taken: interleaved repeats, medians, and the spread beside them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Times:
    """Seconds of each repeat of one piece of work."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))


def interleaved(works: dict[str, Callable[[], Any]], repeats: int = 7) -> dict[str, Times]:
    """Time each piece of work once a round, so that a busy moment hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(repeats):
        for name, work in works.items():
            begin = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - begin)
    return {name: Times(tuple(values)) for name, values in seconds.items()}


def ratio(slow: Times, fast: Times) -> tuple[float, str]:
    """How many times slower one is than the other: of the medians, and round by round."""
    rounds = np.array(slow.seconds) / np.array(fast.seconds)
    return slow.median / fast.median, f"{rounds.min():.2f} to {rounds.max():.2f}"


def row(
    work: str, target: str, figure: float | str, good: bool, spread: str = ""
) -> dict[str, Any]:
    """One line of the table of results; a figure in words is shown as it is."""
    return {
        "work": work,
        "target": target,
        "figure": figure if isinstance(figure, str) else round(figure, 3),
        "spread": spread,
        "pass": bool(good),
    }


def faster(work: str, peer: Times, ours: Times, least: float) -> dict[str, Any]:
    """A line that says how many times faster we are than a peer."""
    figure, spread = ratio(peer, ours)
    return row(work, f"≥ {least:g} × faster", figure, figure >= least, spread)


def at_most(work: str, ours: Times, peer: Times, most: float) -> dict[str, Any]:
    """A line that says how many times a peer's time we take."""
    figure, spread = ratio(ours, peer)
    return row(work, f"≤ {most:g} ×", figure, figure <= most, spread)


def in_new_process(code: str) -> Any:
    """Run code that prints one JSON value, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
