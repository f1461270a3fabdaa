"""Measure times in interleaved repeats, and report medians with their spread."""

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
    """Seconds of each repeat of a piece of work."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    def scaled(self, factor: float) -> Times:
        return Times(tuple(second * factor for second in self.seconds))


def interleaved(works: dict[str, Callable[[], Any]], repeats: int = 7) -> dict[str, Times]:
    """Time each piece of work once per round, after a first call of each that is not timed.

    Because the pieces are interleaved, a busy moment of the machine affects all of them.
    """
    for work in works.values():
        work()
    return rounds(works, repeats)


def rounds(
    works: dict[str, Callable[[], Any]], repeats: int, pause: float = 0.0
) -> dict[str, Times]:
    """Time each piece of work once per round, without a warm-up, after an optional pause.

    Threads of BLAS keep spinning for a while after a product. A pause lets them stop, so that one
    piece of work does not slow the next. A core that has slept is slow at first, which would mainly
    slow short work, so the pause is spent in a busy loop.
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
    """Return the line of a promise with its figure, spread over `values`, note and times."""
    low, high = (min(values), max(values)) if len(values) > 1 else (None, None)
    kept = {name: times.seconds for name, times in seconds.items()}
    return Line(PROMISES[id], float(value), low, high, note, kept)


def faster(id: str, peer: Times, ours: Times, note: str = "") -> Line:
    """Return a line: how many times faster we are than a peer, by medians and in each round."""
    return figure(id, peer.median / ours.median, _by_round(peer, ours), note, ours=ours, peer=peer)


def at_most(id: str, ours: Times, peer: Times, note: str = "") -> Line:
    """Return a line: our time divided by a peer's, by medians and in each round."""
    return figure(id, ours.median / peer.median, _by_round(ours, peer), note, ours=ours, peer=peer)


def _by_round(above: Times, below: Times) -> tuple[float, ...]:
    return tuple(a / b for a, b in zip(above.seconds, below.seconds, strict=True))


def in_new_process(code: str) -> Any:
    """Run code in a new process and return the JSON value that it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)


def peer(module: str, package: str) -> Any:
    """Import a peer's module; raise MissingError if its package is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as trouble:
        raise MissingError(f"{package} is not installed ({trouble})") from None


def published_data() -> Path:
    """Return the folder of the published data sets; raise MissingError if it is not set."""
    folder = os.environ.get("ROSENBLATT_DATA")
    if not folder:
        raise MissingError("ROSENBLATT_DATA is not set to the folder of the published data sets")
    return Path(folder)
