"""Traces: the rows that caused the updates of a run, to recompute its weights at any time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine import ROW, Kernel
from rosenblatt.examples import Examples
from rosenblatt.rowformats import add, step
from rosenblatt.text import plural, render_bars, render_card


@dataclass(frozen=True, eq=False)
class Origin:
    """Examples, first weights w(0) and learning rate of a run, from which it can be replayed."""

    examples: Examples
    start: NDArray[np.float64]
    eta: float


@dataclass(frozen=True, eq=False)
class Trace:
    """Updates of a run of the perceptron learning algorithm (PLA).

    Parameters
    ----------
    examples : unsigned integer array of shape (T,)
        Row of each update: n(0), n(1), …
    ends : int64 array
        Number of updates made by the end of each epoch.
    origin : Origin, optional
        Data to replay the weights from. This is X itself, not a copy, so changing X in place
        changes w(t). It is not pickled: a saved model does not contain its examples.
    rivals : integer array of shape (T,), optional
        With more than two labels, the index in `classes_` of the competing class of each
        update, from whose weights the row was subtracted.

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
        return f"Trace({plural(len(self), 'update')} in {plural(len(self.ends), 'complete epoch')})"

    def _repr_html_(self) -> str:
        rows, counts = np.unique(self.examples, return_counts=True)
        most = np.argsort(-counts, kind="stable")[:3]
        facts = [("updates", f"{len(self):,}"), ("complete epochs", f"{len(self.ends):,}")]
        if len(rows):
            facts.append(("caused by", plural(len(rows), "different row")))
            named = ", ".join(f"row {rows[k]} ({plural(int(counts[k]), 'time')})" for k in most)
            facts.append(("most often", named))
        per_epoch = np.diff(self.ends, prepend=0).tolist()
        return render_card(
            "Trace",
            facts,
            render_bars(per_epoch, "updates per epoch") if len(per_epoch) > 3 else "",
        )

    @property
    def cycles(self) -> NDArray[np.intp]:
        """Epoch of each update, counted from 0."""
        return np.searchsorted(self.ends, np.arange(len(self)), side="right")

    def weights(self, t: int) -> NDArray[np.float64]:
        """Return the augmented w(t), the weights after the first t updates.

        Parameters
        ----------
        t : int
            Number of updates, from 0 to all of them.

        Returns
        -------
        array
            The weights, bias first if there is an intercept. With more than two labels, one row
            per label.

        Raises
        ------
        ValueError
            If t is out of range, or the trace was loaded without its examples.
        """
        if not 0 <= t <= len(self):
            raise ValueError(f"t is {t}; this trace has weights for t from 0 to {len(self)}.")
        return self.known_origin().examples.to_augmented(next(self.walk([t])))

    def walk(self, at: Iterable[int]) -> Iterator[NDArray[np.float64]]:
        """Yield the weights after t updates for each t in `at`, which must be ascending.

        The weights are new arrays, in the layout of the kernels.
        """
        origin = self.known_origin()
        unit = origin.examples.unit
        updates = origin.examples.encode_updates(self.examples, self.rivals)
        rows, w, done = origin.examples.rows(origin.eta), origin.start / unit, 0
        for t in at:
            run_replay(rows, updates[done:t], w)
            done = t
            yield w * unit

    def known_origin(self) -> Origin:
        """Return examples, w(0) and learning rate; raise ValueError if the trace lacks them."""
        if self.origin is None:
            raise ValueError("this trace was loaded without its examples; fit again to replay it.")
        return self.origin

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "origin": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> Trace:
        return self


# Kernels, compiled by Numba.


def replay(D, trace, w):
    """Repeat the updates of a trace on the weights w."""
    for n in trace:
        add(D, n, w, step(D, n))


def keep(D, trace, w, W):
    """Repeat the updates of a trace on w, storing w(t + 1) in W[t]."""
    for t in range(len(trace)):
        add(D, trace[t], w, step(D, trace[t]))
        for i in range(len(w)):
            W[t, i] = w[i]


def lag(D, rows, missed, u):
    """Add to u each update times the number of visits before it, to compute the mean of w.

    With V visits in all, w - u/V is the mean of w over them.
    """
    for i in range(len(rows)):
        add(D, rows[i], u, step(D, rows[i]) * missed[i])


def along(D, trace, w, w_f, inner, squared):
    """Repeat the updates of a trace; store ‖w(t)‖² and w_f·w(t), where w_f is a fixed vector.

    The arrays `squared` and `inner` of these values have an entry for each t = 0 … T.
    """
    for t in range(len(trace) + 1):
        for i in range(len(w)):
            inner[t] += w_f[i] * w[i]
            squared[t] += w[i] * w[i]
        if t < len(trace):
            add(D, trace[t], w, step(D, trace[t]))


def _work(D: Any, trace: Any, w: Any, *others: Any) -> int:
    return len(trace) * (len(w) + ROW)


run_replay = Kernel(replay, work=_work)
run_keep = Kernel(keep, work=_work)
run_lag = Kernel(lag)
run_along = Kernel(along)
