"""What an online perceptron remembers of a stream, by feature name or in columns.

One example at a time is fastest with a dict for each vector; blocks need arrays. The memory
changes shape when the calls do. The rule is written once, in `stream`: it is compiled for blocks,
and is plain Python for one dict at a time. Products are added in the order of the row's entries,
or by a way whose sign is surely that of this sum, so both give the same bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.algorithms.stream as stream
import rosenblatt.kernels as kernels
from rosenblatt.algorithms.stream import (
    AT,
    AVERAGED,
    HELD,
    LONGEST,
    MISTAKES,
    POCKET,
    POCKETED,
    RECENT,
    RIVAL,
    RUN,
    SEEN,
)
from rosenblatt.scoring import LONGEST_SQUARED

Vector = dict[Hashable, float]
Names = range | tuple[Hashable, ...]
Rows = kernels.Dense | kernels.Sparse | kernels.Joint

# The constant feature x0 is kept beside the others under a name that no data has.
X0: tuple[()] = ()
NOTHING: Vector = {}
NO_LABEL, NO_ROOM = (kernels.NONE,), np.empty(0)
ASK = {"last": stream.LAST, "average": stream.AVERAGE, "pocket": stream.BEST}


class NotNumbersError(ValueError):
    """A row holds something that is no finite number, or numbers that are not Python's own."""


class DictRow:
    """One example as a dict: rows that score and add themselves, as kernels ask them to."""

    __slots__ = ("copy", "length", "s", "step", "x", "x0")

    x: Mapping[Hashable, Any]
    copy: Mapping[Hashable, Any] | None  # what x was when it was last scored, to learn it as it was
    length: float  # ‖x‖, x0 left out
    s: float  # its score by w, or a number of the same sign
    step: tuple[float]

    def __init__(self, x0: float) -> None:
        self.x0 = x0
        self.x, self.copy = NOTHING, None

    def score(self, w: Vector) -> float:
        """w·x, in the order of x; features without a weight count 0."""
        s = w[X0] * self.x0
        try:
            for name, value in self.x.items():
                s += w[name] * value
        except KeyError:
            s = self._score_known(w)
        except (TypeError, OverflowError):
            raise NotNumbersError from None
        # Numbers of other types could round otherwise than Python's floats do.
        if type(s) is not float or not -math.inf < s < math.inf:
            raise NotNumbersError
        return s

    def _score_known(self, w: Vector) -> float:
        s, get = w[X0] * self.x0, w.get
        try:
            for name, value in self.x.items():
                s += get(name, 0.0) * value
        except (TypeError, OverflowError):
            raise NotNumbersError from None
        return s

    def add(self, w: Vector, a: float) -> None:
        """w ← w + a·x."""
        w[X0] += a * self.x0
        get = w.get
        for name, value in self.x.items():
            w[name] = get(name, 0.0) + a * value


class SideBySide:
    """w as tuples, beside dicts that name its features in its own order.

    w·x is (‖w‖² + ‖x‖² - ‖w - x‖²) / 2, and Python's lengths of tuples cost less than a loop.
    """

    __slots__ = ("constant", "names", "near", "share", "squares", "w", "weights")

    def __init__(self, w: Vector, x0: float) -> None:
        self.w = w
        (_, *self.names), (w0, *weights) = w, w.values()
        self.weights = tuple(weights)
        length = math.hypot(*weights)
        self.constant, self.squares = w0 * x0, length * length
        # Rounding, here and in the sum in order together, is less than n + 26 times 2^-53 of
        # ‖w‖² + ‖x‖² + |w0·x0|: lengths are right to an ulp. The share is more than that.
        self.share = stream.ORDER_SHARE * (len(w) + 3)
        self.near = self.share * abs(self.constant) + stream.ORDER_LEAST


class StreamMemory:
    """The vectors, counts and last window of a stream, in one of two shapes."""

    def __init__(
        self, window: int, average: bool = False, pocket: bool = False, labels: int = 2
    ) -> None:
        self.kept = AVERAGED * average + POCKETED * pocket
        # As `stream.Memory` has them; of more than two labels, one for each of those.
        vectors = ("w", *("pocket", "rival", "runner") * pocket, *("u",) * average)
        self.labels = labels
        if labels > 2:
            vectors = tuple(f"{name} {k}" for name in vectors for k in range(labels))
        self.vectors = vectors
        self.V: list[Vector] = [{X0: 0.0} for _ in self.vectors]
        self.array: NDArray[np.float64] | None = None  # or in columns, a vector a row
        self.names: list[Hashable] = []
        self.layout: Names | None = None
        self.window = bytearray(window)
        self.counts = [0] * 9
        self.counts[LONGEST] = -1
        self.squared_radius = 0.0
        self.surely_shorter = 0.0  # features shorter than this leave the radius as it is
        self.beside = SideBySide({X0: 0.0}, 0.0)

    def by_name(self) -> list[Vector]:
        """The vectors as dicts, ready to be changed."""
        if self.array is not None:
            self.V = [dict(zip(self.names, v, strict=True)) for v in self.array.tolist()]
            self.array, self.layout = None, None
        return self.V

    def grouped(self) -> list[Any]:
        """The vectors as kernels take them: of more than two labels, those of all labels in one."""
        V, K = self.by_name(), self.labels
        return V if K == 2 else [V[i : i + K] for i in range(0, len(V), K)]

    def predicting(self, ask: str, place: int = 0) -> Vector:
        """The weights that predict, or those of one of more than two labels."""
        V, seen = self.grouped(), self.counts[SEEN]
        if self.labels > 2:
            V = [vectors[place] for vectors in V]
        if ask == "average" and seen:
            return {name: v - V[-1].get(name, 0.0) / seen for name, v in V[0].items()}
        best: Vector = V[1] if ask == "pocket" and self.counts[HELD] else V[0]
        return best

    def side(self, row: DictRow, values: tuple[Any, ...]) -> float:
        """The score of one dict by w, or a number of the same sign; the values are those of x."""
        w, known = self.V[0], self.beside
        if len(w) == len(values) + 1:
            if known.w is not w:
                known = self.beside = SideBySide(w, row.x0)
            if [*row.x] == known.names and type(sum(values, 0.0)) is float:
                squares = known.squares + row.length * row.length
                apart = math.dist(values, known.weights)
                s = known.constant + (squares - apart * apart) / 2
                if abs(s) > known.share * squares + known.near:
                    return s
        return row.score(w)

    def asked(self, row: DictRow, ask: str) -> float:
        """The score of one dict by the weights that predict."""
        s: float = stream.asked(  # type: ignore[no-untyped-call]
            row, 0, ASK[ask], self.V, self.counts, row.s
        )
        return s

    def highest(self, row: DictRow, zero: int, ask: str) -> int:
        """The place of the label, of more than two, that one dict is given."""
        D = kernels.Joint(row, NO_LABEL, self.labels, NO_ROOM)  # type: ignore[arg-type]
        found: tuple[int, float] = stream.highest(  # type: ignore[no-untyped-call]
            D, 0, zero, ASK[ask], self.grouped(), self.counts, kernels.NONE
        )
        return found[0]

    def learn_row(self, row: DictRow, zero: int, place: int | None = None) -> None:
        """Learn one dict; its place is that of its label among more than two.

        What cannot be learnt changes nothing.
        """
        if not row.length < self.surely_shorter:
            self._measure(row)
        D: Any = row
        if place is None:
            V: list[Any] = self.V
            wrong = kernels.sign(row.s, zero) * row.step[0] <= 0  # type: ignore[no-untyped-call]
            mistake = 0 if wrong else kernels.NONE
        else:
            D = kernels.Joint(row, (place,), self.labels, NO_ROOM)  # type: ignore[arg-type]
            V = self.grouped()
            mistake = stream.beaten(D, 0, zero, V, self.counts)  # type: ignore[no-untyped-call]
        if mistake >= 0:
            self.beside.w = NOTHING  # w will be another
        stream.learn(  # type: ignore[no-untyped-call]
            D, 0, zero, mistake, V, self.kept, self.counts, self.window
        )

    def _measure(self, row: DictRow) -> None:
        """Let the radius grow."""
        constant = row.x0 * row.x0
        q = constant
        for value in row.x.values():
            q += value * value
        if type(q) is not float or not q < LONGEST_SQUARED:
            raise NotNumbersError
        self.squared_radius = max(self.squared_radius, q)
        rest = max(self.squared_radius - constant, 0.0)
        self.surely_shorter = stream.SURELY_SHORTER * math.sqrt(rest)

    def learn_block(self, rows: Rows, layout: Names, zero: int, ask: str) -> NDArray[Any]:
        """Predict each row of a block, then learn it where its step is not 0; the predictions.

        The memory changes at once, when all rows are learnt; a bad row raises and changes nothing.
        """
        answers, copy = _answers(rows), self._in_columns(layout, rows)
        learn = stream.run_online_joint if isinstance(rows, kernels.Joint) else stream.run_online
        if learn(rows, zero, ASK[ask], copy, answers) < len(answers):
            raise NotNumbersError
        self.array, self.counts = self._by_vector(copy.vectors, rows), copy.counts.tolist()
        self.window = bytearray(copy.window)
        self.squared_radius = float(copy.squared_radius[0])
        self.surely_shorter = 0.0
        return answers

    def predict_block(self, rows: Rows, layout: Names, zero: int, ask: str) -> NDArray[Any]:
        """What the chosen weights say of each row."""
        answers = _answers(rows)
        predict = (
            stream.run_predict_joint if isinstance(rows, kernels.Joint) else stream.run_predict
        )
        predict(rows, zero, ASK[ask], self._in_columns(layout, rows), answers)
        return answers

    def _in_columns(self, layout: Names, rows: Rows) -> stream.Memory:
        """A copy of everything in arrays: x0 first, then the columns of a block, then others."""
        if self.array is None or self.layout != layout:
            columns = dict.fromkeys((X0, *layout))
            for vector in self.by_name():
                columns.update(dict.fromkeys(vector))
            self.names, self.layout = list(columns), layout
            self.array = np.array([[v.get(name, 0.0) for name in self.names] for v in self.V])
        vectors = self.array.copy()
        if isinstance(rows, kernels.Joint):
            vectors = vectors.reshape(-1, rows.K, len(self.names))
            if isinstance(rows.rows, kernels.Sparse):
                vectors = vectors.transpose(0, 2, 1)
            vectors = vectors.reshape(len(vectors), -1)
        return stream.Memory(
            vectors,
            self.kept,
            np.frombuffer(self.window, dtype=np.uint8).copy(),
            np.array(self.counts, dtype=np.int64),
            np.array([self.squared_radius]),
        )

    def _by_vector(self, vectors: NDArray[np.float64], rows: Rows) -> NDArray[np.float64]:
        """The way back from what kernels took."""
        if not isinstance(rows, kernels.Joint):
            return vectors
        if isinstance(rows.rows, kernels.Sparse):
            vectors = vectors.reshape(len(vectors), -1, rows.K).transpose(0, 2, 1)
        return vectors.reshape(-1, len(self.names))

    def turn(self) -> None:
        """Exchange +1 and -1: every weight changes its sign."""
        for vector in self.by_name():
            for name, value in vector.items():
                vector[name] = 0.0 - value  # never -0.0
        self.beside.w = NOTHING

    def forget_mistakes(self) -> None:
        """Go back to w = 0 as if every example so far had been answered rightly."""
        self.V = [{X0: 0.0} for _ in self.by_name()]
        seen, length = self.counts[SEEN], len(self.window)
        for place in (MISTAKES, RECENT, RIVAL, POCKET):
            self.counts[place] = 0
        if self.kept & POCKETED:
            self.counts[RUN], self.counts[LONGEST] = seen % length, -1
            self.counts[HELD] = int(seen >= length)
        self.window[:] = bytes(length)

    def has_names(self) -> bool:
        """Whether the features are named otherwise than by their place."""
        known = self.names if self.array is not None else self.V[0]
        return any(isinstance(name, str) for name in itertools.islice(known, 2))

    def known(self) -> list[Hashable]:
        """The features with a weight that is not 0 in some vector, in a fixed order."""
        names = {name for vector in self.by_name() for name, v in vector.items() if v != 0}
        return sorted(names - {X0}, key=lambda name: (type(name).__name__, name))

    def state(self) -> dict[str, Any]:
        """All of it as plain values, the same however the stream was cut into calls."""
        names = self.known()
        vectors = {
            name: [vector.get(column, 0.0) + 0.0 for column in (X0, *names)]
            for name, vector in zip(self.vectors, self.by_name(), strict=True)
        }
        return {
            "features": names,
            "vectors": vectors,
            "count": self.counts[:AT],
            "squared_radius": self.squared_radius,
            "window": bytes(self.window).hex(),
        }

    def take_state(self, state: Mapping[str, Any]) -> None:
        """Remember what a state says; refuses one that cannot be."""
        names, counts, squared = state["features"], state["count"], state["squared_radius"]
        plain = all(isinstance(name, str) or type(name) is int for name in names)
        _must(plain and len(set(names)) == len(names), "features are not different names")
        _must(set(state["vectors"]) == set(self.vectors), "it keeps other vectors than it says")
        columns = (X0, *names)
        for i, name in enumerate(self.vectors):
            numbers = state["vectors"][name]
            _must(
                len(numbers) == len(columns) and all(_is_number(v) for v in numbers),
                f"the vector {name} is not one finite number for each feature",
            )
            self.V[i] = dict(zip(columns, map(float, numbers), strict=True))
        window = bytes.fromhex(state["window"])
        _must(
            len(window) == len(self.window) and set(window) <= {0, 1},
            "the last window is not one bit an example",
        )
        _must(
            all(type(number) is int for number in counts)
            and len(counts) == AT
            and min(counts) >= -1
            and 0 <= counts[MISTAKES] <= counts[SEEN]
            and counts[RECENT] == sum(window) <= counts[MISTAKES],
            "the counts contradict each other",
        )
        _must(_is_number(squared) and squared >= 0, "the radius is not a number")
        self.counts = [*counts, counts[SEEN] % len(window)]
        self.window[:], self.squared_radius = window, squared


def _answers(rows: Rows) -> NDArray[Any]:
    """Room for an answer a row: a sign, or of more than two labels a place."""
    if isinstance(rows, kernels.Joint):
        return np.empty(len(rows.label), dtype=np.int32)
    return np.empty(len(rows.step), dtype=np.int8)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
