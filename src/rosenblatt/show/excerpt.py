"""Excerpt: as much of a run as a file of its own should carry, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms.judge import Judge
from rosenblatt.algorithms.pocket import Pocket, PocketRun
from rosenblatt.algorithms.run import Run
from rosenblatt.evidence.proof import Part
from rosenblatt.evidence.separability import Separability
from rosenblatt.examples import Examples
from rosenblatt.show.proofs import COUNTS, packed
from rosenblatt.show.scene import sample
from rosenblatt.show.story import Story, told, weights_along
from rosenblatt.trace import Trace
from rosenblatt.words import counted

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Room:
    """How much there is room for.

    Parameters
    ----------
    examples : int
        That are drawn.
    corrections : int
        That can be played.
    numbers : int
        Of the weights and of the features.
    work : float
        Multiplications for counting the mistakes at every t.
    """

    examples: int = 2000
    corrections: int = 5000
    numbers: int = 2**18
    work: float = 2.0**32


def excerpt(
    story: Story, room: Room = Room(), numbers: Rows | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The story as the player takes it, cut to size, and a sentence for each cut.

    Mistakes are always counted on all examples, and examples keep their numbers.

    Parameters
    ----------
    story : Story
        The whole run.
    room : Room
        How much there is room for.
    numbers : int array of shape (n,), optional
        What the examples are called in the data, counted from 0; their own order if not given.

    Examples
    --------
    >>> from rosenblatt import algorithms
    >>> X, y = np.linspace(-1, 1, 80).reshape(40, 2), np.arange(40) > 19
    >>> examples = Examples.from_arrays(X, y)
    >>> json, cuts = excerpt(Story(examples, algorithms.pla(examples)), Room(examples=10))
    >>> len(json["points"]), json["total"], cuts
    (10, 40, ['10 of 40 examples are drawn, all that are corrected among them.'])
    """
    examples, run = story.examples, story.run
    kept = _corrections(story, room)
    trace = _first(run.trace, kept)
    rows = _rows(story, trace, room)
    short = replace(
        story,
        examples=_some(examples, rows),
        run=_cut(run, trace, rows),
        verdict=None if story.verdict is None else _renumbered(story.verdict, rows, examples.n),
    )
    json = short.to_json()
    # Counted on all examples, drawn or not.
    judge = Judge(replace(examples, weights=None), run.hypothesis.zero)
    json["mistakes"] = packed(judge.counts(weights_along(trace)), COUNTS)
    json["every"] = 1
    json["told"] = (
        told(run, examples.n, story.algorithm) if kept == len(run.trace) else _stops(run, kept)
    )
    if len(rows) < examples.n or numbers is not None:
        json["total"] = examples.n
        json["numbers"] = packed(rows if numbers is None else numbers[rows], COUNTS)
    return json, list(_cuts((kept, len(run.trace)), (len(rows), examples.n)))


def _cuts(corrections: tuple[int, int], examples: tuple[int, int]) -> Iterator[str]:
    if corrections[0] < corrections[1]:
        yield f"The first {corrections[0]:,} of {corrections[1]:,} corrections can be played."
    if examples[0] < examples[1]:
        drawn = f"{examples[0]:,} of {examples[1]:,} examples are drawn"
        yield f"{drawn}, all that are corrected among them."


def _stops(run: Run, kept: int) -> str:
    return f"The run went on for {counted(len(run.trace) - kept, 'more correction')}, not kept here"


def _corrections(story: Story, room: Room) -> int:
    """How many corrections there is room for, in bytes and in the time to judge them."""
    examples = story.examples
    by_size = room.numbers // (examples.d + 1)
    by_work = int(room.work / (examples.n * examples.entries_per_row))
    rows = story.run.trace.examples
    by_rows = len(rows) if examples.n <= room.examples else _distinct(rows, room.examples)
    return min(len(rows), room.corrections, by_size, by_work, by_rows)


def _distinct(rows: NDArray[Any], most: int) -> int:
    """How many corrections can be played before more than half of the room is taken by them."""
    _, first = np.unique(rows, return_index=True)
    return len(rows) if len(first) <= most // 2 else int(np.sort(first)[most // 2])


def _first(trace: Trace, kept: int) -> Trace:
    ends = trace.ends[trace.ends <= kept] if kept < len(trace) else trace.ends
    return replace(trace, examples=trace.examples[:kept], ends=ends)


def _rows(story: Story, trace: Trace, room: Room) -> Rows:
    """The examples that are drawn: those corrected, those of the proof, and a sample."""
    examples, v = story.examples, story.verdict
    wide = max(1, examples.d if examples.d != 2 else 1)
    most = max(10, min(room.examples, room.numbers // wide))
    if examples.n <= most:
        return np.arange(examples.n)
    must = set(trace.examples.tolist())
    if v is not None:
        must.update(v.support[:50].tolist())
        must.update(n for part in v.blocking[:3] if not part.rest for n in part.rows[:50])
    return sample(examples.n, max(most, len(must)), tuple(must))


def _some(examples: Examples, rows: Rows) -> Examples:
    if len(rows) == examples.n:
        return examples
    weights = None if examples.weights is None else examples.weights[rows]
    return replace(examples, X=examples.X[rows], y=examples.y[rows], weights=weights)


def _cut(run: Run, trace: Trace, rows: Rows) -> Run:
    """The run with its trace cut short and its examples numbered anew."""
    origin = trace.known_origin()
    few = replace(origin, examples=_some(origin.examples, rows))
    again = np.searchsorted(rows, trace.examples).astype(trace.examples.dtype)
    trace = replace(trace, examples=again, origin=few)
    if isinstance(run, PocketRun):
        history = tuple(entry for entry in run.pocket.history if entry[0] <= len(trace))
        return replace(run, trace=trace, pocket=Pocket(run.pocket.w, history))
    return replace(run, trace=trace)


def _renumbered(verdict: Separability, rows: Rows, n: int) -> Separability:
    """The verdict with the numbers of the examples that are drawn."""
    if len(rows) == n:
        return verdict
    place = {int(row): k for k, row in enumerate(rows)}
    parts = [
        Part(tuple(place[row] for row in part.rows), part.multipliers)
        for part in verdict.blocking
        if not part.rest and all(row in place for row in part.rows)
    ]
    support = np.array([place[int(r)] for r in verdict.support if int(r) in place], dtype=np.intp)
    return replace(verdict, support=support, blocking=tuple(parts))
