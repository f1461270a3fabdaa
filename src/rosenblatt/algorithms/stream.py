"""The online perceptron on a stream: predict each example as it comes, then learn its answer.

The same algorithm twice, for one dict at a time in plain Python and for blocks in a kernel.
Both add products in the order of the row's entries, so both give the same bits.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import hypot, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import engine, kernels
from rosenblatt.algorithms.memory import X0, Memory, Names, Vector
from rosenblatt.kernels import (
    HELD,
    LONGEST,
    LONGEST_SQUARED,
    MISTAKES,
    POCKET,
    RECENT,
    RIVAL,
    RUN,
    SEEN,
    SURELY_SHORTER,
)

Row = Mapping[Hashable, Any]


class NotNumbersError(ValueError):
    """A row holds something that is no finite number, or numbers that are not Python's own."""


def score(w: Vector, x: Row, x0: float) -> float:
    """w·x, in the order of x; features without a weight count 0."""
    s = w[X0] * x0
    try:
        for name, value in x.items():
            s += w[name] * value
    except KeyError:
        s = _score_known(w, x, x0)
    except (TypeError, OverflowError):
        raise NotNumbersError from None
    # Numbers of other types could round otherwise than Python's floats do.
    if type(s) is not float or not -inf < s < inf:
        raise NotNumbersError
    return s


def _score_known(w: Vector, x: Row, x0: float) -> float:
    s = w[X0] * x0
    get = w.get
    try:
        for name, value in x.items():
            s += get(name, 0.0) * value
    except (TypeError, OverflowError):
        raise NotNumbersError from None
    return s


def asked(memory: Memory, x: Row, x0: float, ask: str, s: float) -> float:
    """The score that predicts x, where s is that of w."""
    count = memory.count
    if ask == "average" and count[SEEN] > 0:
        return s - score(memory.vectors["u"], x, x0) / count[SEEN]
    if ask == "pocket" and count[HELD]:
        return score(memory.vectors["pocket"], x, x0)
    return s


def sign(s: float, zero: int) -> int:
    """+1, -1, or at exactly 0 what the course says."""
    return 1 if s > 0 else -1 if s < 0 else zero


def learn_row(memory: Memory, x: Row, x0: float, step: tuple[float, int], s: float) -> None:
    """Count an example whose score by w is s, and correct w if it was a mistake.

    Parameters
    ----------
    memory : Memory
        Shaped by name.
    x : mapping
        The features as Python numbers.
    x0 : float
        The constant feature.
    step : (float, int)
        eta·y, and the meaning of sign(0).
    s : float
        `score` of x by w.
    """
    try:
        length = hypot(*x.values())
    except (TypeError, OverflowError):
        raise NotNumbersError from None
    if not length < memory.surely_shorter:
        _measure(memory, x, x0)
    a, zero = step
    count, window, vectors = memory.count, memory.window, memory.vectors
    seen = count[SEEN]
    wrong = (1 if s > 0 else -1 if s < 0 else zero) * a <= 0
    at = seen % len(window)
    count[RECENT] += wrong - window[at]
    window[at] = wrong
    if "pocket" in vectors:
        _watch(memory, x, x0, step, wrong)
    if wrong:
        if "u" in vectors:
            _add(vectors["u"], x, x0, a * seen)
        _add(vectors["w"], x, x0, a)
        count[MISTAKES] += 1
    count[SEEN] = seen + 1
    if "pocket" in vectors and (seen + 1) % len(window) == 0:
        _end_window(memory)


def _measure(memory: Memory, x: Row, x0: float) -> None:
    """Let the radius grow; refuse what cannot be learnt from before anything has changed."""
    q = x0 * x0
    for value in x.values():
        q += value * value
    if type(q) is not float or not q < LONGEST_SQUARED:
        raise NotNumbersError
    memory.squared_radius = max(memory.squared_radius, q)
    rest = max(memory.squared_radius - x0 * x0, 0.0)
    memory.surely_shorter = SURELY_SHORTER * sqrt(rest)


def _add(w: Vector, x: Row, x0: float, a: float) -> None:
    w[X0] += a * x0
    get = w.get
    for name, value in x.items():
        w[name] = get(name, 0.0) + a * value


def _watch(memory: Memory, x: Row, x0: float, step: tuple[float, int], wrong: bool) -> None:
    count, vectors = memory.count, memory.vectors
    a, zero = step
    count[POCKET] += sign(score(vectors["pocket"], x, x0), zero) * a <= 0
    count[RIVAL] += sign(score(vectors["rival"], x, x0), zero) * a <= 0
    if not wrong:
        count[RUN] += 1
        return
    if count[RUN] > count[LONGEST]:
        vectors["runner"] = vectors["w"].copy()
        count[LONGEST] = count[RUN]
    count[RUN] = 0


def _end_window(memory: Memory) -> None:
    count, vectors = memory.count, memory.vectors
    if count[RUN] > count[LONGEST]:
        vectors["runner"] = vectors["w"].copy()
    if not count[HELD]:
        vectors["pocket"] = vectors["runner"].copy()
    elif count[RIVAL] < count[POCKET]:
        vectors["pocket"] = vectors["rival"]
    vectors["rival"] = vectors["runner"].copy()
    count[HELD] = 1
    count[RUN] = count[RIVAL] = count[POCKET] = 0
    count[LONGEST] = -1


def learn_block(
    memory: Memory, rows: kernels.Dense | kernels.Sparse, layout: Names, zero: int, ask: str
) -> NDArray[np.int8]:
    """Predict each row of a block, then learn it where its step is not 0; the predictions.

    The memory changes at once, when all rows are learnt; a bad row raises and changes nothing.
    """
    answers = np.empty(len(rows.step), dtype=np.int8)
    packed = memory.for_kernel(layout, ask)
    if engine.online(rows, zero, packed, answers) < len(answers):
        raise NotNumbersError
    memory.take(packed)
    return answers


def predict_block(
    memory: Memory, rows: kernels.Dense | kernels.Sparse, layout: Names, zero: int, ask: str
) -> NDArray[np.int8]:
    """What the chosen weights say of each row."""
    answers = np.empty(rows_of(rows), dtype=np.int8)
    engine.predict(rows, zero, memory.for_kernel(layout, ask), answers)
    return answers


def rows_of(rows: kernels.Dense | kernels.Sparse) -> int:
    """The number of rows of a block."""
    return len(rows.X) if isinstance(rows, kernels.Dense) else len(rows.indptr) - 1
