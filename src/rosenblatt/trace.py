"""Trace: which example was corrected when; every w(t) is rebuilt from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.examples import Examples
from rosenblatt.replay import run_replay
from rosenblatt.words import bars, card, counted


@dataclass(frozen=True, eq=False)
class Origin:
    """What a replay starts from: the examples, w(0) and the length of a correction."""

    examples: Examples
    start: NDArray[np.float64]
    eta: float


@dataclass(frozen=True, eq=False)
class Trace:
    """A run of PLA as the corrections it made.

    Parameters
    ----------
    examples : unsigned integer array of shape (T,)
        n(0), n(1), …: the row corrected at each t.
    ends : int64 array
        How many corrections had been made when each cycle ended.
    origin : Origin, optional
        The data to rebuild weights from: X itself, not a copy, so change X in place and w(t)
        changes with it. It is not pickled: a saved model does not carry its examples.
    rivals : integer array of shape (T,), optional
        With more than two labels, the place in `classes_` of the label whose weights each
        correction was taken from; with two it is the other one.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> clf = rb.Perceptron().fit([[1.0, 1.0], [-1.0, -1.0]], [1, -1])
    >>> clf.trace_.examples.tolist(), clf.trace_.cycles.tolist()
    ([0], [0])
    >>> clf.trace_.weights(0), clf.trace_.weights(1)
    (array([0., 0., 0.]), array([1., 1., 1.]))
    """

    examples: NDArray[np.unsignedinteger[Any]]
    ends: NDArray[np.int64]
    origin: Origin | None = None
    rivals: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.examples)

    def __repr__(self) -> str:
        return (
            f"Trace({counted(len(self), 'correction')} in {counted(len(self.ends), 'whole cycle')})"
        )

    def _repr_html_(self) -> str:
        rows, often = np.unique(self.examples, return_counts=True)
        most = np.argsort(-often, kind="stable")[:3]
        facts = [("corrections", f"{len(self):,}"), ("whole cycles", f"{len(self.ends):,}")]
        if len(rows):
            facts.append(("examples corrected", counted(len(rows), "different row")))
            named = ", ".join(f"row {rows[k]} ({counted(int(often[k]), 'time')})" for k in most)
            facts.append(("most often", named))
        each = np.diff(self.ends, prepend=0).tolist()
        return card(
            "Trace", facts, bars(each, "corrections in each cycle") if len(each) > 3 else ""
        )

    @property
    def cycles(self) -> NDArray[np.intp]:
        """The cycle, counted from 0, that each correction fell in."""
        return np.searchsorted(self.ends, np.arange(len(self)), side="right")

    def weights(self, t: int) -> NDArray[np.float64]:
        """The tall w(t), after the first t corrections.

        Parameters
        ----------
        t : int
            From 0, the start, to the number of corrections.
        """
        if not 0 <= t <= len(self):
            raise ValueError(f"t is {t}; this trace has weights for t from 0 to {len(self)}.")
        return self.known_origin().examples.tall(next(self.walk([t])))

    def walk(self, at: Iterable[int]) -> Iterator[NDArray[np.float64]]:
        """w(t) at some ascending t, each a new array as kernels have it."""
        origin = self.known_origin()
        unit, made = origin.examples.unit, origin.examples.corrections(self.examples, self.rivals)
        rows, w, done = origin.examples.rows(origin.eta), origin.start / unit, 0
        for t in at:
            run_replay(rows, made[done:t], w)
            done = t
            yield w * unit

    def known_origin(self) -> Origin:
        """The data this trace was made on, or a sentence saying that it is gone."""
        if self.origin is None:
            raise ValueError(
                "this trace was loaded without the examples it was made on; fit again to replay it."
            )
        return self.origin

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "origin": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> Trace:
        return self
