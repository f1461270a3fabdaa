"""Memory: what an online perceptron remembers of a stream, by feature name or in columns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import kernels
from rosenblatt.kernels import HELD, LONGEST, MISTAKES, POCKET, RECENT, RIVAL, RUN, SEEN

Vector = dict[Hashable, float]
Names = range | tuple[Hashable, ...]

# The constant feature x0 is kept beside the others under a name that no data has.
X0: tuple[()] = ()
VECTORS = ("w", "u", "pocket", "rival", "runner")
ASK = {"last": 0, "average": 1, "pocket": 2}
NOTHING = np.empty(0)


class Memory:
    """The vectors, counts and last window of a stream, in one of two shapes.

    One example at a time is fastest with a dict for each vector; blocks need arrays. The
    memory changes shape when the calls do; the numbers stay the same to the last bit.

    Parameters
    ----------
    kept : iterable of str
        Which vectors are kept; always "w".
    window : int
        How many examples the last window has.
    """

    def __init__(self, kept: Iterable[str], window: int) -> None:
        self.kept = tuple(kept)
        self.vectors: dict[str, Vector] = {name: {X0: 0.0} for name in self.kept}
        self.arrays: dict[str, NDArray[np.float64]] | None = None
        self.names: list[Hashable] = []
        self.layout: Names | None = None
        self.window = bytearray(window)
        self.count = [0] * 8
        self.count[LONGEST] = -1
        self.squared_radius = 0.0
        self.surely_shorter = 0.0  # features shorter than this leave the radius as it is

    @property
    def holds_pocket(self) -> bool:
        """Whether a first window has ended."""
        return bool(self.count[HELD])

    def by_name(self) -> dict[str, Vector]:
        """The vectors as dicts, ready to be changed."""
        if self.arrays is not None:
            for name, array in self.arrays.items():
                self.vectors[name] = dict(zip(self.names, array.tolist(), strict=True))
            self.arrays, self.layout = None, None
        return self.vectors

    def in_columns(self, layout: Names) -> dict[str, NDArray[np.float64]]:
        """The vectors as arrays whose first entries are x0 and then the columns of a block."""
        if self.arrays is not None and self.layout == layout:
            return self.arrays
        columns = dict.fromkeys((X0, *layout))
        vectors = self.by_name()
        for vector in vectors.values():
            columns.update(dict.fromkeys(vector))
        self.names = list(columns)
        self.arrays = {
            name: np.array([vector.get(column, 0.0) for column in self.names])
            for name, vector in vectors.items()
        }
        self.layout = layout
        return self.arrays

    def for_kernel(self, layout: Names, ask: str) -> kernels.Memory:
        """A copy of everything as the kernels take it; `take` keeps what they made of it."""
        arrays = self.in_columns(layout)
        w, u, pocket, rival, runner = [
            arrays[name].copy() if name in arrays else NOTHING for name in VECTORS
        ]
        window = np.frombuffer(self.window, dtype=np.uint8).copy()
        counts = np.array(self.count, dtype=np.int64)
        radius = np.array([self.squared_radius])
        return kernels.Memory(w, u, pocket, rival, runner, window, counts, radius, ASK[ask])

    def take(self, packed: kernels.Memory) -> None:
        """Keep what a kernel learnt."""
        self.arrays = {name: getattr(packed, name) for name in self.kept}
        self.window = bytearray(packed.window)
        self.count = packed.counts.tolist()
        self.squared_radius = float(packed.squared_radius[0])
        self.surely_shorter = 0.0

    def turn(self) -> None:
        """Exchange +1 and -1: every weight changes its sign."""
        for vector in self.by_name().values():
            for name, value in vector.items():
                vector[name] = 0.0 - value  # never -0.0

    def forget_mistakes(self) -> None:
        """Go back to w = 0 as if every example so far had been answered rightly."""
        self.by_name()
        for name in self.kept:
            self.vectors[name] = {X0: 0.0}
        seen, length = self.count[SEEN], len(self.window)
        for place in (MISTAKES, RECENT, RIVAL, POCKET):
            self.count[place] = 0
        if "pocket" in self.kept:
            self.count[RUN], self.count[LONGEST] = seen % length, -1
            self.count[HELD] = int(seen >= length)
        self.window[:] = bytes(length)

    def has_names(self) -> bool:
        """Whether the features are named otherwise than by their place."""
        known = self.names if self.arrays is not None else self.vectors["w"]
        return any(isinstance(name, str) for name in itertools.islice(known, 2))

    def known(self) -> list[Hashable]:
        """The features with a weight that is not 0 in some vector, in a fixed order."""
        vectors = self.by_name()
        names = {name for vector in vectors.values() for name, v in vector.items() if v != 0}
        return sorted(names - {X0}, key=lambda name: (type(name).__name__, name))

    def state(self) -> dict[str, Any]:
        """All of it as plain values, the same however the stream was cut into calls."""
        names = self.known()
        vectors = {
            name: [vector.get(column, 0.0) + 0.0 for column in (X0, *names)]
            for name, vector in self.by_name().items()
        }
        return {
            "features": names,
            "vectors": vectors,
            "count": list(self.count),
            "squared_radius": self.squared_radius,
            "window": bytes(self.window).hex(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], kept: tuple[str, ...], window: int) -> Memory:
        """The memory of a state; refuses one that cannot be."""
        memory = cls(kept, window)
        columns = (X0, *_names(state["features"]))
        _must(set(state["vectors"]) == set(kept), "it keeps other vectors than it says")
        for name in kept:
            numbers = state["vectors"][name]
            _must(
                len(numbers) == len(columns) and all(_is_number(v) for v in numbers),
                f"the vector {name} is not one finite number for each feature",
            )
            memory.vectors[name] = dict(zip(columns, map(float, numbers), strict=True))
        memory.window[:] = _ring(state["window"], window)
        memory.count = _counts(state["count"], memory.window)
        memory.squared_radius = state["squared_radius"]
        _must(
            _is_number(memory.squared_radius) and memory.squared_radius >= 0,
            "the radius is not a number",
        )
        return memory


def _names(names: list[Hashable]) -> list[Hashable]:
    plain = all(isinstance(name, str) or type(name) is int for name in names)
    _must(plain and len(set(names)) == len(names), "features are not different names")
    return names


def _ring(text: str, window: int) -> bytes:
    ring = bytes.fromhex(text)
    _must(len(ring) == window and set(ring) <= {0, 1}, "the last window is not one bit an example")
    return ring


def _counts(count: list[int], ring: bytearray) -> list[int]:
    whole = all(type(number) is int for number in count)
    _must(
        whole
        and len(count) == 8
        and min(count) >= -1
        and 0 <= count[MISTAKES] <= count[SEEN]
        and count[RECENT] == sum(ring) <= count[MISTAKES],
        "the counts contradict each other",
    )
    return list(count)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
