"""Story: a run with all that the player draws of it; the contract between Python and the page.

`Story.to_json` is what `mountPlayer(element, story)` of ``page/static/player.js`` takes, on the
page, in a report and in a notebook alike. Everything is computed here; the player only draws.

====================  ============================================================================
key                   what it holds
====================  ============================================================================
format                "rosenblatt story 1"
algorithm             "pla", "pocket", "ratchet" or "online"; `order` is its order of visits
eta, zero, start      the length of a correction, the meaning of sign(0) as 0, -1 or 1, and w(0)
points, answers       where each example is drawn, [x1, x2], and its answer, -1 or 1
names, labels         what the two axes are called, and what -1 and 1 are called in the data
features              null, or with other than two features their names; the points are then a
                      projection, and `lines` holds where each w(t) cuts its plane
corrections           T, the number of corrections
rows                  packed u4 [T]: the example corrected at each t
ends                  packed u4: how many corrections had been made when each cycle ended
weights               packed f8 [(T + 1)·k]: the tall w(t), w0 first; null where they are too many
lines                 packed f8 [(T + 1)·3]: c, a, b of each line c + a·x1 + b·x2 = 0; null where
                      they are the weights
table                 packed f8 [n·d]: all features of the examples, to ring mistakes by; null
                      where the points are they, or where they are too many
mistakes              packed u4: the mistakes of w(t) on all examples, for t = 0, k, 2k, …
every                 that k: 1, or more where counting all would take longer than drawing
pocket                null, or [t, mistakes] each time that w(t) went into the pocket
reason, told          why the run ended, in one word and in one sentence
verdict               null, or what `separability` found: see `verdict_json`
squeeze               null, or the two inequalities of the proof along the trace: see
                      `squeeze_json`
numbers, total        absent, or where some examples are left out (see `excerpt.py`): packed u4,
                      what each is called in the data, counted from 0; how many there are
====================  ============================================================================

A packed array is ``{"f8": text}`` or ``{"u4": text}``: little-endian numbers in base64, so that
every double arrives with all its bits.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import engine
from rosenblatt.algorithms.judge import Judge
from rosenblatt.algorithms.pocket import PocketRun
from rosenblatt.algorithms.run import Run
from rosenblatt.evidence.guarantee import squeeze
from rosenblatt.evidence.separability import Separability
from rosenblatt.examples import Examples
from rosenblatt.show.projection import Projection
from rosenblatt.show.proofs import COUNTS, FLOATS, packed, squeeze_json, verdict_json
from rosenblatt.trace import Trace
from rosenblatt.words import counted

FORMAT = "rosenblatt story 1"
MOST_NUMBERS = 2**21  # of one array; more are left out, and the player does without them
MOST_PAIRS = 2**25  # of a w(t) and an example; above, the player counts what it shows itself


@dataclass(frozen=True, eq=False)
class Story:
    """What happened in a run and what is proved of its examples, to be drawn.

    Parameters
    ----------
    examples : Examples
        The rows that were learnt from.
    run : Run
        What a learner made of them.
    verdict : Separability, optional
        What is proved of them; without it neither bound nor squeeze is drawn.
    algorithm : str
        "pla", "pocket", "ratchet" or "online".
    order : str
        The order of visits.

    Examples
    --------
    >>> from rosenblatt import algorithms
    >>> from rosenblatt.evidence.separability import separability_of
    >>> examples = Examples.from_arrays([[1.0, 1.0], [-1.0, 0.0]], [1, -1])
    >>> story = Story(examples, algorithms.pla(examples), separability_of(examples)).to_json()
    >>> story["points"], story["answers"], story["corrections"], story["verdict"]["name"]
    ([[1.0, 1.0], [-1.0, 0.0]], [1, -1], 2, 'separable')
    """

    examples: Examples
    run: Run
    verdict: Separability | None = None
    algorithm: str = "pla"
    order: str = "cycle"

    @functools.cached_property
    def weights(self) -> NDArray[np.float64]:
        """w(0) … w(T), each with its w0 slot: the numbers of `trace_.weights(t)`."""
        return weights_along(self.run.trace)

    @functools.cached_property
    def plane(self) -> Projection | None:
        """The plane the examples are drawn in; None where they have two features."""
        if self.examples.d == 2 and not self.examples.is_sparse:
            return None
        return Projection.of(self.examples.X, self.run.hypothesis.w[1:])

    def to_json(self) -> dict[str, Any]:
        """The story as the player takes it."""
        examples, trace, plane = self.examples, self.run.trace, self.plane
        origin = trace.known_origin()
        names = examples.names or tuple(f"x{i + 1}" for i in range(examples.d))
        few = self.weights.size <= MOST_NUMBERS
        table = examples.X if plane is not None and examples.numbers.size <= MOST_NUMBERS else None
        return {
            "format": FORMAT,
            "algorithm": self.algorithm,
            "order": self.order,
            "eta": origin.eta,
            "zero": self.run.hypothesis.zero,
            "start": examples.tall(origin.start).tolist(),
            "intercept": examples.x0,
            "points": self._points().tolist(),
            "answers": examples.y.tolist(),
            "names": list(names) if plane is None else ["along w", "first remaining direction"],
            "labels": [str(label) for label in examples.labels.tolist()],
            "features": None if plane is None else list(names[:50]),
            "corrections": len(trace),
            "rows": packed(trace.examples, COUNTS),
            "ends": packed(trace.ends, COUNTS),
            "weights": packed(self._tall(), FLOATS) if few else None,
            "lines": None if self._drawn else packed(self._lines(), FLOATS),
            "table": None if table is None or not few else packed(_dense(table), FLOATS),
            "mistakes": packed(self._mistakes(), COUNTS),
            "every": self._every,
            "pocket": self._pocket(),
            "reason": self.run.reason,
            "told": told(self.run, examples.n, self.algorithm),
            "verdict": None if self.verdict is None else self._verdict(),
            "squeeze": self._squeeze(),
        }

    @property
    def _drawn(self) -> bool:
        """Whether the weights are the lines: two features and x0 = 1."""
        return self.plane is None and self.examples.x0 == 1.0

    def _points(self) -> NDArray[np.float64]:
        X = self.examples.X
        return np.asarray(X, dtype=np.float64) if self.plane is None else self.plane.points(X)

    def _lines(self) -> NDArray[np.float64]:
        return self._as_lines(self.weights)

    def _as_lines(self, W: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.plane is not None:
            return self.plane.lines(W, self.examples.x0)
        return np.asarray(W * np.array([self.examples.x0, 1.0, 1.0]))

    def _tall(self) -> NDArray[np.float64]:
        return self.weights if self.examples.x0 else self.weights[:, 1:]

    @property
    def _every(self) -> int:
        """One, or with two features and very many pairs of w(t) and example, some more."""
        pairs = len(self.weights) * self.examples.n
        return 1 if self.plane is not None else max(1, pairs // MOST_PAIRS)

    def _mistakes(self) -> NDArray[np.float64]:
        plain = replace(self.examples, weights=None)
        return Judge(plain, self.run.hypothesis.zero).counts(self.weights[:: self._every])

    def _pocket(self) -> list[list[float]] | None:
        if not isinstance(self.run, PocketRun):
            return None
        return [[t, float(mistakes)] for t, mistakes in self.run.pocket.history]

    def _verdict(self) -> dict[str, Any]:
        assert self.verdict is not None
        line = None
        if self.verdict.weights is not None:
            w = np.asarray(self.verdict.weights, dtype=np.float64)
            w = w if self.examples.x0 else np.concatenate(([0.0], w))
            line = self._as_lines(w[None, :])[0].tolist()
        return {**verdict_json(self.verdict, self._points(), self.examples.y), "line": line}

    def _squeeze(self) -> dict[str, Any] | None:
        v, trace = self.verdict, self.run.trace
        if not v or v.weights is None or v.margin is None:
            return None
        return squeeze_json(squeeze(trace, v.weights), v, trace)


def weights_along(trace: Trace) -> NDArray[np.float64]:
    """w(0) … w(T) as rows with their w0 slot, the same numbers as `trace.weights(t)`.

    Parameters
    ----------
    trace : Trace
        With the examples it was made on.
    """
    origin = trace.known_origin()
    unit = origin.examples.unit
    W = np.empty((len(trace) + 1, origin.examples.d + 1))
    W[0] = origin.start / unit
    engine.keep(origin.examples.rows(origin.eta), trace.examples, W[0].copy(), W[1:])
    return W * unit


_ENDED = {
    "no mistakes": "a whole look at the examples found no mistake",
    "max_iter": "the cycles that were allowed are used up",
    "max_updates": "the corrections that were allowed are used up",
    "time_limit": "the time that was allowed is used up",
    "interrupted": "it was interrupted",
    "end of stream": "every example has come once",
}


def told(run: Run, n: int, algorithm: str) -> str:
    """Why a run ended and what it leaves, in one sentence."""
    corrections = counted(len(run.trace), "correction")
    left = f"{len(run.mistakes):,} of {n:,}"
    if algorithm == "online":
        return f"Ended after {corrections}: {_ENDED[run.reason]}; {left} were mistaken as they came"
    whose = "the pocket has" if isinstance(run, PocketRun) else "there are"
    rest = "" if run.separated else f"; {whose} mistakes on {left} examples"
    return f"Ended after {corrections}: {_ENDED[run.reason]}{rest}"


def _dense(X: Any) -> NDArray[np.float64]:
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
