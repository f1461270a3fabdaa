"""How times are taken: interleaved repeats, medians, and the spread beside them."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.line import Line, MissingError
from bench.promises import PROMISES


@dataclass(frozen=True)
class Times:
    """Seconds of each repeat of one piece of work."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    def scaled(self, factor: float) -> Times:
        return Times(tuple(second * factor for second in self.seconds))


def interleaved(works: dict[str, Callable[[], Any]], repeats: int = 7) -> dict[str, Times]:
    """Time each piece of work once a round, so that a busy moment hits all alike."""
    for work in works.values():
        work()
    return rounds(works, repeats)


def rounds(
    works: dict[str, Callable[[], Any]], repeats: int, pause: float = 0.0
) -> dict[str, Times]:
    """The same, for work that needs no warming up or cannot afford it.

    Threads of BLAS go on spinning for a while after a product: a pause lets them come to rest,
    so that the work of one side is not timed beside the other's. A core that has slept is slow at
    first, which would count for the shorter work alone: in a pause it is kept awake.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            begin = time.perf_counter()
            while time.perf_counter() - begin < pause:
                pass
            begin = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - begin)
    return {name: Times(tuple(values)) for name, values in seconds.items()}


def figure(
    id: str, value: float, values: tuple[float, ...] = (), note: str = "", **seconds: Times
) -> Line:
    """The line of a promise: its figure, the values it is the median of, and how it was got."""
    low, high = (min(values), max(values)) if len(values) > 1 else (None, None)
    kept = {name: times.seconds for name, times in seconds.items()}
    return Line(PROMISES[id], float(value), low, high, note, kept)


def faster(id: str, peer: Times, ours: Times, note: str = "") -> Line:
    """How many times faster we are than a peer: of the medians, and round by round."""
    return figure(id, peer.median / ours.median, _by_round(peer, ours), note, ours=ours, peer=peer)


def at_most(id: str, ours: Times, peer: Times, note: str = "") -> Line:
    """How many times a peer's time we take: of the medians, and round by round."""
    return figure(id, ours.median / peer.median, _by_round(ours, peer), note, ours=ours, peer=peer)


def _by_round(above: Times, below: Times) -> tuple[float, ...]:
    return tuple(a / b for a, b in zip(above.seconds, below.seconds, strict=True))


def in_new_process(code: str) -> Any:
    """Run code that prints one JSON value, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)


def peer(module: str, package: str) -> Any:
    """A peer's module, or a word that its package is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as trouble:
        raise MissingError(f"{package} is not installed ({trouble})") from None


def published_data() -> Path:
    """The folder of the published data sets."""
    folder = os.environ.get("ROSENBLATT_DATA")
    if not folder:
        raise MissingError("ROSENBLATT_DATA is not set to the folder of the published data sets")
    return Path(folder)
