"""The weights and counts of an online perceptron, as dicts or as arrays.

Single examples are fastest with a dict by feature name for each weight vector; blocks of rows need
arrays. They are converted when calls with examples and with blocks alternate. Products are added in
the order of the row's entries, or in a way whose sign is proved to be that of this sum, so both
forms give the same bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.rowformats as rowformats
from rosenblatt.online import rule
from rosenblatt.online.rule import (
    AT,
    AVERAGED,
    CANDIDATE,
    HELD,
    LONGEST,
    MISTAKES,
    POCKET,
    POCKETED,
    RECENT,
    RUN,
    SEEN,
)
from rosenblatt.rowformats import LONGEST_SQUARED

Vector = dict[Hashable, float]
Names = range | tuple[Hashable, ...]
Rows = rowformats.Dense | rowformats.Sparse | rowformats.Joint

# The name of the constant feature x0, which no feature of the data can have.
X0: tuple[()] = ()
NOTHING: Vector = {}
NO_LABEL, NO_SCORES = (rowformats.NONE,), np.empty(0)
PREDICTORS = {"last": rule.LAST, "average": rule.AVERAGE, "pocket": rule.BEST}


class NotNumbersError(ValueError):
    """Error about a row whose values are not finite Python numbers."""


class DictRow:
    """One example as a dict, in the form that the update rule needs."""

    __slots__ = ("copy", "length", "s", "step", "x", "x0")

    x: Mapping[Hashable, Any]
    copy: Mapping[Hashable, Any] | None  # of x when it was scored; shows whether x has changed
    length: float  # ‖x‖ without x0
    s: float  # the score by w, or a number of the same sign
    step: tuple[float]

    def __init__(self, x0: float) -> None:
        self.x0 = x0
        self.x, self.copy = NOTHING, None

    def score(self, w: Vector) -> float:
        """Compute the score w·x, where features without a weight count as 0."""
        s = w[X0] * self.x0
        try:
            try:
                for name, value in self.x.items():
                    s += w[name] * value
            except KeyError:
                s, get = w[X0] * self.x0, w.get
                for name, value in self.x.items():
                    s += get(name, 0.0) * value
        except (TypeError, OverflowError):
            raise NotNumbersError from None
        # Numbers of other types could be rounded differently from Python floats.
        if type(s) is not float or not -math.inf < s < math.inf:
            raise NotNumbersError
        return s

    def add(self, w: Vector, a: float) -> None:
        """Add the row, multiplied by a, to the weights w."""
        w[X0] += a * self.x0
        get = w.get
        for name, value in self.x.items():
            w[name] = get(name, 0.0) + a * value


class TupleWeights:
    """Weights as a tuple, for fast scores of dicts with the same keys in the same order.

    w·x is (‖w‖² + ‖x‖² - ‖w - x‖²) / 2, and Python computes distances of tuples without a loop.
    """

    __slots__ = ("constant", "names", "near", "share", "squares", "w", "weights")

    def __init__(self, w: Vector, x0: float) -> None:
        self.w = w
        (_, *self.names), (w0, *weights) = w, w.values()
        self.weights = tuple(weights)
        length = math.hypot(*weights)
        self.constant, self.squares = w0 * x0, length * length
        # Rounding errors, here and in the sum in order together, are less than n + 26 times 2^-53
        # of ‖w‖² + ‖x‖² + |w0·x0|: lengths are correct to one ulp. The share is larger than that.
        self.share = rule.ORDER_SHARE * (len(w) + 3)
        self.near = self.share * abs(self.constant) + rule.ORDER_LEAST


class StreamMemory:
    """Weights, counts and recent mistakes of an online perceptron."""

    def __init__(
        self, window: int, average: bool = False, pocket: bool = False, labels: int = 2
    ) -> None:
        self.kept = AVERAGED * average + POCKETED * pocket
        # In the order of `rule.Memory`; with more than two labels, one for each label.
        vectors = ("w", *("pocket", "candidate", "runner") * pocket, *("u",) * average)
        self.labels = labels
        if labels > 2:
            vectors = tuple(f"{name} {k}" for name in vectors for k in range(labels))
        self.vectors = vectors
        self.V: list[Vector] = [{X0: 0.0} for _ in self.vectors]
        self.array: NDArray[np.float64] | None = None  # one vector per row; None: dicts
        self.names: list[Hashable] = []
        self.layout: Names | None = None
        self.window = bytearray(window)
        self.counts = [0] * 9
        self.counts[LONGEST] = -1
        self.squared_radius = 0.0
        self.surely_shorter = 0.0  # shorter examples do not change the radius
        self.tuple_weights = TupleWeights({X0: 0.0}, 0.0)

    def by_name(self) -> list[Vector]:
        """Return the weight vectors as mutable dicts, keyed by feature name."""
        if self.array is not None:
            self.V = [dict(zip(self.names, v, strict=True)) for v in self.array.tolist()]
            self.array, self.layout = None, None
        return self.V

    def grouped(self) -> list[Any]:
        """Return each weight vector as a dict or, with more than two labels, a dict per label."""
        V, K = self.by_name(), self.labels
        return V if K == 2 else [V[i : i + K] for i in range(0, len(V), K)]

    def predicting_weights(self, predict_with: str) -> list[Vector]:
        """Return a list of the weights used to predict: one dict, or K for K > 2 labels."""
        V, seen = self.by_name(), self.counts[SEEN]
        K = 1 if self.labels == 2 else self.labels
        if predict_with == "average" and seen:
            pairs = zip(V[:K], V[-K:], strict=True)
            return [{name: v - u.get(name, 0.0) / seen for name, v in w.items()} for w, u in pairs]
        return V[K : 2 * K] if predict_with == "pocket" and self.counts[HELD] else V[:K]

    def score_sign(self, row: DictRow, values: tuple[Any, ...]) -> float:
        """Compute the score of a row or, if that is faster, a number with the same sign."""
        w, known = self.V[0], self.tuple_weights
        if len(w) == len(values) + 1:
            if known.w is not w:
                known = self.tuple_weights = TupleWeights(w, row.x0)
            if [*row.x] == known.names and type(sum(values, 0.0)) is float:
                squares = known.squares + row.length * row.length
                apart = math.dist(values, known.weights)
                s = known.constant + (squares - apart * apart) / 2
                if abs(s) > known.share * squares + known.near:
                    return s
        return row.score(w)

    def predicting_score(self, row: DictRow, predict_with: str) -> float:
        """Compute the score of a row with the weights used to predict."""
        s: float = rule.predicting_score(  # type: ignore[no-untyped-call]
            row, 0, PREDICTORS[predict_with], self.V, self.counts, row.s
        )
        return s

    def best_label(self, row: DictRow, zero: int, predict_with: str) -> int:
        """Predict one of more than two labels for a row, and return its index."""
        D = rowformats.Joint(row, NO_LABEL, self.labels, NO_SCORES)  # type: ignore[arg-type]
        found: tuple[int, float] = rule.best_label(  # type: ignore[no-untyped-call]
            D, 0, zero, PREDICTORS[predict_with], self.grouped(), self.counts, rowformats.NONE
        )
        return found[0]

    def learn_row(self, row: DictRow, zero: int, place: int | None = None) -> None:
        """Learn from one row.

        `place` is the index of its label if there are more than two. An invalid row raises
        NotNumbersError and changes nothing.
        """
        if not row.length < self.surely_shorter:
            constant = row.x0 * row.x0
            q = constant
            for value in row.x.values():
                q += value * value
            if type(q) is not float or not q < LONGEST_SQUARED:
                raise NotNumbersError
            self.squared_radius = max(self.squared_radius, q)
            rest = max(self.squared_radius - constant, 0.0)
            self.surely_shorter = rule.SURELY_SHORTER * math.sqrt(rest)
        D: Any = row
        if place is None:
            V: list[Any] = self.V
            wrong = rowformats.sign(row.s, zero) * row.step[0] <= 0  # type: ignore[no-untyped-call]
            mistake = 0 if wrong else rowformats.NONE
        else:
            D = rowformats.Joint(row, (place,), self.labels, NO_SCORES)  # type: ignore[arg-type]
            V = self.grouped()
            mistake = rule.joint_mistake(D, 0, zero, V, self.counts)  # type: ignore[no-untyped-call]
        if mistake >= 0:
            self.tuple_weights.w = NOTHING  # w is about to change
        rule.learn(  # type: ignore[no-untyped-call]
            D, 0, zero, mistake, V, self.kept, self.counts, self.window
        )

    def learn_block(self, rows: Rows, layout: Names, zero: int, predict_with: str) -> NDArray[Any]:
        """Predict each row of a block, then learn it if it has a label.

        The weights change once, after all rows. An invalid row raises NotNumbersError and changes
        nothing.
        """
        copy, predictions = self._to_arrays(rows, layout)
        joint = isinstance(rows, rowformats.Joint)
        learn = rule.run_online_joint if joint else rule.run_online
        if learn(rows, zero, PREDICTORS[predict_with], copy, predictions) < len(predictions):
            raise NotNumbersError
        vectors = copy.vectors
        if isinstance(rows, rowformats.Joint):
            if isinstance(rows.rows, rowformats.Sparse):
                vectors = vectors.reshape(len(vectors), -1, rows.K).transpose(0, 2, 1)
            vectors = vectors.reshape(-1, len(self.names))
        self.array, self.counts = vectors, copy.counts.tolist()
        self.window = bytearray(copy.window)
        self.squared_radius = float(copy.squared_radius[0])
        self.surely_shorter = 0.0
        return predictions

    def predict_block(
        self, rows: Rows, layout: Names, zero: int, predict_with: str
    ) -> NDArray[Any]:
        """Predict the sign of each row of a block or, with K > 2 labels, its label's index."""
        copy, predictions = self._to_arrays(rows, layout)
        predict = rule.run_predict_joint if isinstance(rows, rowformats.Joint) else rule.run_predict
        predict(rows, zero, PREDICTORS[predict_with], copy, predictions)
        return predictions

    def _to_arrays(self, rows: Rows, layout: Names) -> tuple[rule.Memory, NDArray[Any]]:
        """Return copies of weights and counts as arrays, and an array to fill with predictions.

        The columns of the weights are x0, the features of the block, and all other features.
        """
        if self.array is None or self.layout != layout:
            columns = dict.fromkeys((X0, *layout))
            for vector in self.by_name():
                columns.update(dict.fromkeys(vector))
            self.names, self.layout = list(columns), layout
            self.array = np.array([[v.get(name, 0.0) for name in self.names] for v in self.V])
        vectors = self.array.copy()
        if isinstance(rows, rowformats.Joint):
            vectors = vectors.reshape(-1, rows.K, len(self.names))
            if isinstance(rows.rows, rowformats.Sparse):
                vectors = vectors.transpose(0, 2, 1)
            vectors = vectors.reshape(len(vectors), -1)
            predictions = np.empty(len(rows.label), dtype=np.int32)
        else:
            predictions = np.empty(len(rows.step), dtype=np.int8)
        window = np.frombuffer(self.window, dtype=np.uint8).copy()
        counts = np.array(self.counts, dtype=np.int64)
        radius = np.array([self.squared_radius])
        return rule.Memory(vectors, self.kept, window, counts, radius), predictions

    def flip_signs(self) -> None:
        """Negate all weights, because a new label made the positive label the negative one."""
        for vector in self.by_name():
            for name, value in vector.items():
                vector[name] = 0.0 - value  # never -0.0
        self.tuple_weights.w = NOTHING

    def forget_mistakes(self) -> None:
        """Reset weights and counts of mistakes to 0, as if none had been made so far."""
        self.V = [{X0: 0.0} for _ in self.by_name()]
        seen, length = self.counts[SEEN], len(self.window)
        for place in (MISTAKES, RECENT, CANDIDATE, POCKET):
            self.counts[place] = 0
        if self.kept & POCKETED:
            self.counts[RUN], self.counts[LONGEST] = seen % length, -1
            self.counts[HELD] = int(seen >= length)
        self.window[:] = bytes(length)

    def refuse_unnamed(self) -> None:
        """Raise ValueError if the model has named features, because an array has no names."""
        known = self.names if self.array is not None else self.V[0]
        if any(isinstance(name, str) for name in itertools.islice(known, 2)):
            raise ValueError(
                "this model was trained with named features, and an array has no names; "
                "give a dict, a frame or an Arrow batch."
            )

    def state(self) -> dict[str, Any]:
        """Return weights and counts as a dict of numbers, text and lists.

        It is the same whether rows were learned one by one or in blocks of any length.
        """
        nonzero = {name for vector in self.by_name() for name, v in vector.items() if v != 0}
        names = sorted(nonzero - {X0}, key=lambda name: (type(name).__name__, name))
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

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned, or raise ValueError if it is inconsistent."""
        names, counts, squared = state["features"], state["count"], state["squared_radius"]
        plain = all(isinstance(name, str) or type(name) is int for name in names)
        _require(
            plain and len(set(names)) == len(names),
            "its feature names are not unique text or integers",
        )
        _require(
            set(state["vectors"]) == set(self.vectors), "its vectors do not match its parameters"
        )
        columns = (X0, *names)
        for i, name in enumerate(self.vectors):
            numbers = state["vectors"][name]
            _require(
                len(numbers) == len(columns) and all(_is_number(v) for v in numbers),
                f"its vector {name!r} does not have one finite number per feature",
            )
            self.V[i] = dict(zip(columns, map(float, numbers), strict=True))
        window = bytes.fromhex(state["window"])
        _require(
            len(window) == len(self.window) and set(window) <= {0, 1},
            "its record of recent mistakes does not have `window` entries, each 0 or 1",
        )
        _require(
            all(type(number) is int for number in counts)
            and len(counts) == AT
            and min(counts) >= -1
            and 0 <= counts[MISTAKES] <= counts[SEEN]
            and counts[RECENT] == sum(window) <= counts[MISTAKES],
            "its counts contradict each other",
        )
        _require(_is_number(squared) and squared >= 0, "its radius is not a finite number")
        self.counts = [*counts, counts[SEEN] % len(window)]
        self.window[:], self.squared_radius = window, squared


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)
