"""Frames: a run in pictures, each with the example corrected, the line before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rosenblatt.hypothesis import Hypothesis
from rosenblatt.show.scene import Floats, Line, Scene, scene_of, view_of
from rosenblatt.trace import Trace
from rosenblatt.words import counted


@dataclass(frozen=True, eq=False)
class Replay:
    """A run to be seen again.

    Parameters
    ----------
    trace : Trace
        Every correction, with the examples it was made on.
    zero : {0, -1, +1}
        What sign(0) meant.
    pocketed : tuple of int
        The t at which a pocket was replaced, ascending; empty without a pocket.
    """

    trace: Trace
    zero: int = 0
    pocketed: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.trace)

    def chosen(self, at: Sequence[int]) -> list[int]:
        """The t asked for, in order, once they are all in the run."""
        last = len(self)
        for t in at:
            if not 0 <= t <= last:
                raise ValueError(f"t is {t}; this trace has pictures for t from 0 to {last}.")
        return sorted({int(t) for t in at})

    def frames(self, at: Sequence[int]) -> Iterator[Frame]:
        """A frame for each t, in order."""
        at = self.chosen(at)
        kept = {t: max((p for p in self.pocketed if p <= t), default=None) for t in at}
        wanted = {*at, *(t - 1 for t in at if t), *(p for p in kept.values() if p is not None)}
        weights: dict[int, Floats] = {}
        for t, w in zip(sorted(wanted), self.trace.walk(sorted(wanted)), strict=True):
            weights[t] = w
            if t in kept:
                held = kept[t]
                yield self._frame(t, w, weights.get(t - 1), None if held is None else weights[held])
                # Others are not looked at again, and with many features they are large.
                weights = {t: w} if held is None else {t: w, held: weights[held]}

    def _frame(self, t: int, w: Floats, last: Floats | None, held: Floats | None) -> Frame:
        examples = self.trace.known_origin().examples
        row = int(self.trace.examples[t - 1]) if t else None
        h = Hypothesis(w, examples.x0, self.zero)
        beside = None if row is None else examples.tall_row(row)[1:]
        view = view_of(examples, h, beside)
        scene = scene_of(examples, h, view, () if row is None else (row,))

        def line(v: Floats | None) -> Line | None:
            return None if v is None else view.line(Hypothesis(v, examples.x0))

        # Beside the plane of w(t-1) and w(t) the pocket would not be seen where it is.
        flat = examples.d <= 2
        return Frame(t, scene, line(last), row, line(held) if flat else None)


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture of a run.

    Parameters
    ----------
    t : int
        After how many corrections.
    scene : Scene
        The examples and the line of w(t).
    before : Line, optional
        The line of w(t - 1).
    row : int, optional
        The example whose correction led from w(t - 1) to w(t).
    pocket : Line, optional
        The best line so far, where one is kept.
    """

    t: int
    scene: Scene
    before: Line | None
    row: int | None
    pocket: Line | None = None

    @property
    def title(self) -> str:
        """What happened, in a few words."""
        count = self.scene.facts.mistakes
        left = f"{counted(count, 'mistake')} left"
        return (
            f"t = {self.t}\n{left}"
            if self.row is None
            else f"t = {self.t}, row {self.row} corrected\n{left}"
        )


def spread(last: int, most: int) -> list[int]:
    """At most so many t from 1 to T, closer together where lines still turn a lot.

    Examples
    --------
    >>> spread(3, 6), spread(1000, 6), spread(0, 6)
    ([0, 1, 2, 3], [1, 4, 16, 63, 251, 1000], [0])
    >>> spread(7, 6)
    [1, 2, 3, 4, 5, 7]
    """
    if last < most:
        return list(range(last + 1))
    steps = np.unique(np.rint(np.geomspace(1, last, most)).astype(int)).tolist()
    spare = [t for t in range(1, last) if t not in steps]
    return sorted([*steps, *spare[: most - len(steps)]])
