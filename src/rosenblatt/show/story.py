"""Story: a run with all that the player draws of it; the contract between Python and the page.

`Story.to_json` is what `mountPlayer(element, story)` of ``page/static/player.js`` takes, on the
page, in a report and in a notebook alike. Everything is computed here, or for the page itself by
``page/static/learn.js``; the player only draws.

====================  ============================================================================
key                   what it holds
====================  ============================================================================
format                "rosenblatt story 1"
algorithm             "pla", "pocket", "ratchet" or "online"; `order` is its order of visits
eta, zero, start      the length of a correction, the meaning of sign(0) as 0, -1 or 1, and w(0)
points, answers       where each example is drawn, [x1, x2], and its answer, -1 or 1; of more than
                      two labels its place among them
names, labels         what the two axes are called, and what -1 and 1, or the places, are called in
                      the data; an axis without a name has no meaning: examples of one feature are
                      spread on it
features              null, or with other than two features their names; the points are then a
                      projection, and `lines` holds where each w(t) cuts its plane
corrections           T, the number of corrections
rows                  packed u4 [T]: the example corrected at each t
rivals                null, or of more than two labels packed u4 [T]: the label it was against
ends                  packed u4: how many corrections had been made when each cycle ended
weights               packed f8 [(T + 1)·k]: the tall w(t), w0 first, of more than two labels one
                      after the other; null where they are too many
lines                 packed f8 [(T + 1)·3]: c, a, b of each line c + a·x1 + b·x2 = 0, or of each
                      label's score; null where they are the weights
table                 packed f8 [n·d]: all features of the examples, to ring mistakes by; null
                      where the points are they, or where they are too many
mistakes              packed u4: the mistakes of w(t) on all examples, for t = 0, k, 2k, …
every                 that k: 1, or more where counting all would take longer than drawing
pocket                null, or [t, mistakes] each time that w(t) went into the pocket
reason, told          why the run ended, in one word and in one sentence
verdict               null, or what `separability` found: see `verdict_json`
squeeze               null, or the two inequalities of the proof along the trace: see
                      `_squeeze_json`
numbers, total        absent, or where some examples are left out (see `excerpt`): packed u4,
                      what each is called in the data, counted from 0; how many there are
first, called         absent, or what the first row is called (1 where absent); absent, or what
                      each example is called, where a frame has an index of its own
====================  ============================================================================

A packed array is ``{"f8": text}`` or ``{"u4": text}``: little-endian numbers in base64, so that
every double arrives with all its bits.
"""

from __future__ import annotations

import base64
import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.algorithms import PocketRun, Run
from rosenblatt.algorithms.judge import Judge
from rosenblatt.algorithms.pocket import Pocket
from rosenblatt.evidence.guarantee import Squeeze, held_by_floats, squeeze
from rosenblatt.evidence.parts import Part
from rosenblatt.evidence.verdicts import Conflict, Separability
from rosenblatt.examples import Examples
from rosenblatt.replay import run_keep
from rosenblatt.rownames import FROM_ZERO, RowNames
from rosenblatt.show.scene import View, sample, view_of
from rosenblatt.trace import Trace
from rosenblatt.words import counted, finite

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

FORMAT = "rosenblatt story 1"
FLOATS, COUNTS = "<f8", "<u4"
MOST_NUMBERS = 2**21  # of one array; more are left out, and the player does without them
MOST_PAIRED = 50  # examples against rivals that are named
MOST_PAIRS = 2**25  # of a w(t) and an example; above, the player counts what it shows itself
ENDED = {
    "no mistakes": "a whole look at the examples found no mistake",
    "max_iter": "the cycles that were allowed are used up",
    "max_updates": "the corrections that were allowed are used up",
    "time_limit": "the time that was allowed is used up",
    "interrupted": "it was interrupted",
    "end of stream": "every example has come once",
}


@dataclass(frozen=True, eq=False)
class Story:
    """What happened in a run and what is proved of its examples, to be drawn.

    Examples
    --------
    >>> from rosenblatt import algorithms
    >>> from rosenblatt.evidence.separability import separability_of
    >>> examples = Examples.from_arrays([[1.0, 1.0], [-1.0, 0.0]], [1, -1])
    >>> story = Story(examples, algorithms.pla(examples), separability_of(examples)).to_json()
    >>> story["points"], story["answers"], story["corrections"], story["verdict"]["name"]
    ([[1.0, 1.0], [-1.0, 0.0]], [1, -1], 2, 'separable')
    """

    examples: Examples  # that were learnt from
    run: Run
    verdict: Separability | None = None  # without it neither bound nor squeeze is drawn
    algorithm: str = "pla"  # or "pocket", "ratchet", "online"
    order: str = "cycle"
    whole: Examples | None = None  # all examples, where only some are drawn
    numbers: Rows | None = None  # what the examples are called in the data, counted from 0
    ending: str = ""  # in place of the sentence about the end

    @functools.cached_property
    def weights(self) -> Floats:
        """w(0) … w(T), each with its w0 slot: the numbers of `trace_.weights(t)`."""
        return weights_along(self.run.trace)

    @functools.cached_property
    def view(self) -> View:
        """The plane the examples are drawn in: that of two features, or one through the last w."""
        return view_of(self.examples, self.run.hypothesis)

    @property
    def projected(self) -> bool:
        """Whether the plane is not that of two features."""
        return self.examples.d != 2

    def to_json(self) -> dict[str, Any]:
        """The story as the player takes it."""
        examples, trace, run = self.examples, self.run.trace, self.run
        origin, x0 = trace.known_origin(), examples.x0
        few = self.weights.size <= MOST_NUMBERS
        blocks = np.concatenate([np.atleast_2d(examples.shaped(w)) for w in self.weights])
        lines = self.view.lines(blocks, x0) if self.projected or x0 != 1.0 else None
        has_table = few and self.projected and examples.numbers.size <= MOST_NUMBERS
        whole = examples if self.whole is None else self.whole
        pairs = 0 if self.projected or self.whole is not None else len(self.weights) * examples.n
        every = max(1, pairs // MOST_PAIRS)
        judge = Judge(replace(whole, weights=None), run.hypothesis.zero)
        points = self.view.points(examples.X, np.arange(examples.n))
        pocket = run.pocket.history if isinstance(run, PocketRun) else None
        json = {
            "format": FORMAT,
            "algorithm": self.algorithm,
            "order": self.order,
            "eta": origin.eta,
            "zero": run.hypothesis.zero,
            "start": examples.tall(origin.start).ravel().tolist(),
            "intercept": x0,
            "points": points.tolist(),
            "answers": examples.y.tolist(),
            "names": list(self.view.names),
            "labels": examples.label_names,
            "features": list(examples.feature_names[:50]) if self.projected else None,
            "corrections": len(trace),
            "rows": packed(trace.examples, COUNTS),
            "rivals": None if trace.rivals is None else packed(trace.rivals, COUNTS),
            "ends": packed(trace.ends, COUNTS),
            "weights": packed(blocks[:, 0 if x0 else 1 :], FLOATS) if few else None,
            "lines": None if lines is None else packed(lines, FLOATS),
            "table": packed(_dense(examples.X), FLOATS) if has_table else None,
            "mistakes": packed(judge.counts(self.weights[::every]), COUNTS),
            "every": every,
            "pocket": pocket and [[t, float(mistakes)] for t, mistakes in pocket],
            "reason": run.reason,
            "told": self.ending or _told(run, whole.n, self.algorithm),
            "verdict": None if self.verdict is None else self._verdict_json(points),
            "squeeze": self._squeeze_json(),
        }
        if self.numbers is not None:
            json |= {"total": whole.n, "numbers": packed(self.numbers, COUNTS)}
        return json

    def _verdict_json(self, points: Floats) -> dict[str, Any]:
        """What is proved, and what to draw of the proof; of more than two labels, the rows.

        `line` is c, a, b of the widest (or quasi-separating) line. `margin` is the distance in
        the tall space, so the band is where c + a·x1 + b·x2 is from -margin to margin.
        """
        assert self.verdict is not None
        proved, line = verdict_json(self.verdict, self.examples), None
        if self.verdict.rivals is not None:
            return {**proved, "line": None}
        if self.verdict.weights is not None:
            w = self.examples.slotted(np.asarray(self.verdict.weights, dtype=np.float64))
            line = self.view.lines(w[None, :], self.examples.x0)[0].tolist()
        for part in proved["blocking"]:
            part["common"] = _common(part, points, self.examples.y)
        return {**proved, "line": line}

    def _squeeze_json(self) -> dict[str, Any] | None:
        """‖w(t)‖² between its two bounds, and the cosine of the angle to the widest w.

        At t the bounds are max(0, first + t·least)² and squared0 + t·most; `bound` is the last t
        at which they leave room, R²/rho² from w(0) = 0.
        """
        v, trace = self.verdict, self.run.trace
        if not v or v.weights is None or v.margin is None:
            return None
        followed: Squeeze = squeeze(trace, v.weights)
        size = math.hypot(*held_by_floats(np.ravel(v.weights)).tolist())
        eta = trace.known_origin().eta
        first, squared0 = float(followed.inner[0]) / size, float(followed.squared[0])
        least, most = eta * v.margin, (eta * v.radius) ** 2
        # (first + t·least)² = squared0 + t·most, its larger root.
        with np.errstate(all="ignore"):  # a margin like 1e-160 has a bound past all floats
            half = np.float64(most - 2 * first * least) / 2
            square = half * half + least * least * (squared0 - first * first)
            root = half + np.sqrt(max(0.0, square))
            bound = float(root / least**2) if least**2 > 0 else float("inf")
        return {
            "squared": packed(followed.squared, FLOATS),
            "cosine": packed(np.nan_to_num(followed.cosine, nan=0.0), FLOATS),
            "first": first,
            "squared0": squared0,
            "least": least,
            "most": most,
            "bound": finite(bound),
            "holds": followed.holds,
        }


def packed(numbers: NDArray[Any], kind: str) -> dict[str, str]:
    """Numbers as text that keeps every bit.

    Examples
    --------
    >>> packed(np.array([1.0]), FLOATS)
    {'f8': 'AAAAAAAA8D8='}
    """
    raw = np.ascontiguousarray(numbers, dtype=kind).tobytes()
    return {kind[1:]: base64.b64encode(raw).decode("ascii")}


def weights_along(trace: Trace) -> Floats:
    """w(0) … w(T) as rows as kernels have them, the same numbers as `trace.weights(t)`."""
    origin = trace.known_origin()
    examples, unit = origin.examples, origin.examples.unit
    W = np.empty((len(trace) + 1, examples.size))
    W[0] = origin.start / unit
    made = examples.corrections(trace.examples, trace.rivals)
    run_keep(examples.rows(origin.eta), made, W[0].copy(), W[1:])
    return W * unit


def _told(run: Run, n: int, algorithm: str) -> str:
    """Why a run ended and what it leaves, in one sentence."""
    ended = f"Ended after {counted(len(run.trace), 'correction')}: {ENDED[run.reason]}"
    left = f"{run.mistakes or 0:,} of {n:,}"
    if algorithm == "online":
        return f"{ended}; {left} were mistaken as they came"
    whose = "the pocket has" if isinstance(run, PocketRun) else "there are"
    return ended + ("" if run.separated else f"; {whose} mistakes on {left} examples")


def verdict_json(verdict: Separability, examples: Examples) -> dict[str, Any]:
    """What is proved of examples, wherever they are drawn."""
    v = verdict
    shown = _pairs_json(v) if v.rivals else {"support": v.support.tolist(), "pairs": None}
    return {
        "name": v.verdict,
        "told": v.explain().splitlines(),
        "margin": v.margin,
        "radius": v.radius,
        "bound": finite(v.bound),
        "blocking": [] if v.rivals else [_blocking_json(p, examples.y) for p in v.blocking[:3]],
        "proof": None if v.proof is None else v.proof.to_json(),
        "weights": None if v.weights is None else np.ravel(v.weights).tolist(),
        **shown,
    }


def _pairs_json(verdict: Separability) -> dict[str, Any]:
    """Of more than two labels: examples against rivals, on the margin or blocking with shares."""
    part = next((part for part in verdict.blocking if not part.rest), None)
    if verdict.rivals is None or verdict or part is None:
        pairs, shares = verdict.support.reshape(-1, 2).tolist(), []
    else:
        total = sum(part.multipliers)
        assert isinstance(part, Conflict)
        pairs = [[n, r] for n, r, _ in part.pairs[:MOST_PAIRED]]
        shares = [m / total for *_, m in part.pairs[:MOST_PAIRED]]
    return {"support": [], "pairs": pairs[:MOST_PAIRED], "shares": shares}


def _blocking_json(part: Part, answers: NDArray[Any]) -> dict[str, Any]:
    """Rows that cannot all be right, and the shares of each side, which sum to 1."""
    known = dict(zip(part.rows, part.multipliers, strict=True))
    if part.rest:  # those that it does not list
        known = {row: known.get(row, part.rest) for row in range(len(answers))}
    yes = sum(m for n, m in known.items() if answers[n] > 0)
    no = sum(known.values()) - yes
    shares = [m / ((yes if answers[n] > 0 else no) or 1) for n, m in known.items()]
    return {"rows": list(known), "shares": shares}


def _common(part: dict[str, Any], points: Floats, answers: NDArray[Any]) -> Any:
    """The point of both hulls; none where all rows have one answer.

    Σ λ y (1, x) = 0 says that the yes rows weighted by λ and the no rows weighted by λ have one
    common middle.
    """
    rows, shares = np.array(part["rows"], dtype=np.intp), np.array(part["shares"])
    yes = answers[rows] > 0
    return (shares[yes] @ points[rows[yes]]).tolist() if yes.any() and not yes.all() else None


def _dense(X: Any) -> Floats:
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


@dataclass(frozen=True)
class Capacity:
    """How much a file of its own should carry."""

    examples: int = 2000  # that are drawn
    corrections: int = 5000  # that can be played
    numbers: int = 2**18  # of the weights and of the features
    work: float = 2.0**32  # multiplications for counting the mistakes at every t


def excerpt(
    story: Story, most: Capacity = Capacity(), names: RowNames = FROM_ZERO
) -> tuple[dict[str, Any], list[str]]:
    """Return the story as the player takes it, cut to size, and a sentence for each cut.

    Mistakes are always counted on all examples, and examples keep their names.

    Examples
    --------
    >>> from rosenblatt import algorithms
    >>> X, y = np.linspace(-1, 1, 80).reshape(40, 2), np.arange(40) > 19
    >>> examples = Examples.from_arrays(X, y)
    >>> json, cuts = excerpt(Story(examples, algorithms.pla(examples)), Capacity(examples=10))
    >>> len(json["points"]), json["total"], cuts
    (10, 40, ['10 of 40 examples are drawn, all that are corrected among them.'])
    """
    examples, trace, cuts = story.examples, story.run.trace, []
    made, kept = len(trace), _corrections(story, most)
    if kept < made:
        cuts.append(f"The first {kept:,} of {made:,} corrections can be played.")
        ended = f"The run went on for {counted(made - kept, 'more correction')}, not kept here"
        ends = trace.ends[trace.ends <= kept]
        rivals = None if trace.rivals is None else trace.rivals[:kept]
        trace = replace(trace, examples=trace.examples[:kept], ends=ends, rivals=rivals)
        story = replace(story, ending=ended)
    rows = _drawn(story, trace, most)
    if len(rows) < examples.n:
        drawn = f"{len(rows):,} of {examples.n:,} examples are drawn"
        cuts.append(f"{drawn}, all that are corrected among them.")
    numbers = names.positions
    named = rows if numbers is None else numbers[rows]
    verdict = story.verdict and replace(story.verdict, row_names=names)
    short = replace(
        story,
        examples=examples.some(rows),
        run=_cut(story.run, trace, rows),
        verdict=None if verdict is None else _renumbered(verdict, rows, examples.n),
        whole=examples,
        numbers=None if numbers is None and len(rows) == examples.n else named,
    )
    json = {**short.to_json(), "first": names.first}
    if names.index is not None:
        json["called"] = [names.called(n) for n in rows.tolist()]
    if json["verdict"] is not None and json["verdict"]["pairs"] is not None:
        places = {int(row): k for k, row in enumerate(rows)}
        json["verdict"]["pairs"] = [[places[n], r] for n, r in json["verdict"]["pairs"]]
    return json, cuts


def _corrections(story: Story, most: Capacity) -> int:
    """How many corrections there is room for, in bytes and in the time to judge them."""
    examples, rows = story.examples, story.run.trace.examples
    by_size = most.numbers // examples.size
    by_work = int(most.work / (examples.n * examples.entries_per_row))
    by_rows = len(rows)
    if examples.n > most.examples:  # those corrected take half of the picture at the most
        _, first = np.unique(rows, return_index=True)
        if len(first) > most.examples // 2:
            by_rows = int(np.sort(first)[most.examples // 2])
    return min(len(rows), most.corrections, by_size, by_work, by_rows)


def _drawn(story: Story, trace: Trace, most: Capacity) -> Rows:
    """The examples that are drawn: those corrected, those of the proof, and a sample."""
    examples, v = story.examples, story.verdict
    wide = examples.d if story.projected else 1
    count = max(10, min(most.examples, most.numbers // max(1, wide)))
    if examples.n <= count:
        return np.arange(examples.n)
    must = set(trace.examples.tolist())
    if v is not None and v.rivals is not None:
        must.update(n for n, _ in _pairs_json(v)["pairs"])
    elif v is not None:
        must.update(v.support[:50].tolist())
        must.update(n for part in v.blocking[:3] if not part.rest for n in part.rows[:50])
    return sample(examples.n, max(count, len(must)), tuple(must))


def _cut(run: Run, trace: Trace, rows: Rows) -> Run:
    """The run with its trace cut short and its examples numbered anew."""
    origin = trace.known_origin()
    few = replace(origin, examples=origin.examples.some(rows))
    again = np.searchsorted(rows, trace.examples).astype(trace.examples.dtype)
    trace = replace(trace, examples=again, origin=few)
    if isinstance(run, PocketRun):
        history = tuple(entry for entry in run.pocket.history if entry[0] <= len(trace))
        return replace(run, record=trace, pocket=Pocket(run.pocket.w, history))
    return replace(run, record=trace)


def _renumbered(verdict: Separability, rows: Rows, n: int) -> Separability:
    """The verdict with the numbers of the examples that are drawn."""
    if len(rows) == n or verdict.rivals is not None:
        return verdict
    place = {int(row): k for k, row in enumerate(rows)}
    parts = [
        Part(tuple(place[row] for row in part.rows), part.multipliers)
        for part in verdict.blocking
        if not part.rest and all(row in place for row in part.rows)
    ]
    support = np.array([place[int(r)] for r in verdict.support if int(r) in place], dtype=np.intp)
    at = verdict.row_names.positions
    names = replace(verdict.row_names, positions=rows if at is None else at[rows])
    return replace(verdict, support=support, blocking=tuple(parts), row_names=names)
