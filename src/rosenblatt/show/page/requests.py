"""Requests: what the page asks for, checked once, here; and the run that answers it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt import algorithms
from rosenblatt.algorithms.pla import Run
from rosenblatt.algorithms.pocket import PocketPlan
from rosenblatt.clock import Deadline, OutOfTimeError
from rosenblatt.evidence.separability import separability_of
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import ZEROS
from rosenblatt.read.data import Data
from rosenblatt.show.page.presets import PRESETS, Plane
from rosenblatt.show.story import Story
from rosenblatt.words import counted

ALGORITHMS = ("pla", "pocket", "ratchet", "online")
LARGEST = 1e9  # of a coordinate or a weight; the picture could not show more
MOST_ENTRIES = 2**21  # of a table that is drawn
CYCLES = 10**9  # never what ends a run here; with order="first" every correction is a cycle
ONE_KIND = "Learning needs both ○ and ×; add one of the other kind"


@dataclass(frozen=True)
class Limits:
    """The most that a request may bring, make and take."""

    body: int = 2_000_000  # bytes
    points: int = 5_000
    corrections: int = 100_000
    seconds: float = 10.0  # for reading a request, and again for working on it
    waiting: int = 16  # requests that are worked on or wait for it at one time
    head: float = 5.0  # seconds for the lines before the body of a request
    strangers: int = 64  # connections that have not shown the token


class RequestError(Exception):
    """What was asked cannot be done: one sentence, and an HTTP status."""

    def __init__(self, sentence: str, status: int = 422) -> None:
        super().__init__(sentence)
        self.status = status


def too_long(seconds: float) -> RequestError:
    """The sentence for work that was given up."""
    return RequestError(
        f"this takes longer than {seconds:g} seconds and was given up; "
        "ask for fewer points or corrections.",
        503,
    )


@dataclass(frozen=True, eq=False)
class OwnData:
    """The rows of a person's file, as many as the page shows: by two columns, or projected."""

    name: str
    examples: Examples  # dense
    rows: int  # that the file has

    @classmethod
    def of(cls, data: Data, limits: Limits = Limits()) -> OwnData:
        """All rows of a file, or some drawn at random where they are many."""
        examples, rows = data.examples, data.examples.n
        if rows > limits.points:
            drawn = np.random.default_rng(0).choice(rows, limits.points, replace=False)
            kept = np.sort(drawn)
            examples = replace(examples, X=examples.X[kept], y=examples.y[kept])
        if examples.n * examples.d > MOST_ENTRIES:
            raise RequestError(
                f"{data.name} has {counted(examples.d, 'feature')} in "
                f"{counted(examples.n, 'row')}, which is more than the page can draw; "
                "leave out columns with --ignore."
            )
        X = examples.X if isinstance(examples.X, np.ndarray) else examples.X.toarray()
        X = np.ascontiguousarray(X, dtype=np.float64)
        if not (np.abs(X) <= 1e100).all():
            raise RequestError(f"{data.name} has numbers past 1e100, which cannot be drawn.")
        return cls(PurePath(data.name).name, replace(examples, X=X), rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the features."""
        return self.examples.names or tuple(f"x{i + 1}" for i in range(self.examples.d))

    def plane(self, x: str, y: str) -> Plane:
        """The rows by two of their features."""
        chosen = [self.columns.index(x), self.columns.index(y)]
        no, yes = (str(label) for label in self.examples.labels.tolist())
        return Plane(self.examples.X[:, chosen], self.examples.y, (x, y), (no, yes))

    def to_json(self) -> dict[str, Any]:
        """What the page needs to know of the file."""
        shown = {"rows": self.rows, "shown": self.examples.n}
        return {"name": self.name, "columns": list(self.columns), **shown}


@dataclass(frozen=True, eq=False)
class RunRequest:
    """A run that is asked for."""

    examples: Examples
    algorithm: str  # of ALGORITHMS
    order: str  # of algorithms.ORDERS
    zero: str  # of ZEROS
    eta: float
    start: NDArray[np.float64]  # w(0)
    seed: int
    corrections: int  # the most that are made

    @classmethod
    def parse(cls, given: dict[str, Any], limits: Limits, own: OwnData | None) -> RunRequest:
        """A run, from the object that the page sends."""
        whole = given.get("source") == "file"
        examples = _file(own).examples if whole else _examples(given, limits)
        return cls(
            examples,
            _one_of(given, "algorithm", ALGORITHMS),
            _one_of(given, "order", algorithms.ORDERS),
            _one_of(given, "zero", tuple(ZEROS)),
            _number(given, "eta", 1e-6, 1e6),
            _start(given, examples.d + 1),
            _whole(given, "seed", 0, 2**31 - 1),
            _whole(given, "corrections", 1, limits.corrections),
        )

    def answer(self, seconds: float) -> dict[str, Any]:
        """The story of the run, and the Python lines that make it; given up after some seconds."""
        deadline = Deadline.after(seconds)
        both = len(np.unique(self.examples.y)) == 2
        try:
            run = self._run(deadline) if both else algorithms.pla(self.examples, budget=NOTHING)
            deadline.check()
            verdict = separability_of(self.examples, deadline=deadline)
            deadline.check()
            story = Story(self.examples, run, verdict, self.algorithm, self.order).to_json()
        except OutOfTimeError:
            raise too_long(seconds) from None
        except (ValueError, OverflowError) as trouble:
            raise RequestError(f"these numbers cannot be learnt from: {trouble}") from None
        if not both:
            return {"story": {**story, "told": ONE_KIND}, "python": None}
        return {"story": story, "python": self.python()}

    def _run(self, deadline: Deadline) -> Run:
        def watch(*heard: Any) -> None:
            deadline.check()

        chance = None if self.order in algorithms.FIXED else np.random.default_rng(self.seed)
        rule = algorithms.Rule(self.order, ZEROS[self.zero], self.eta, chance)
        if self.algorithm == "online":
            return algorithms.online(self.examples, rule, self.start)
        budget = algorithms.Budget(CYCLES, self.corrections)
        if self.algorithm == "pla":
            return algorithms.pla(self.examples, rule, budget, self.start, watch)
        plan = PocketPlan(ratchet=self.algorithm == "ratchet", watch=watch)
        return algorithms.pocket(self.examples, rule, budget, self.start, plan)

    def python(self) -> str:
        """A program that makes the same run and asks for the same verdict, number by number."""
        imports = ["import rosenblatt as rb"]
        usual = [f"eta0={self.eta!r}"] if self.eta != 1.0 else []
        usual += [f"zero={self.zero!r}"] if self.zero != "mistake" else []
        w = self.start.tolist()
        if self.algorithm != "online":
            learnt = self._fit(usual)
        elif not any(w):
            learnt = [
                f"clf = rb.Perceptron({', '.join(usual)})",
                "clf.partial_fit(X, y, classes=[-1, 1])",
                "trace = clf.trace_",
            ]
        else:
            imports = ["import numpy as np", "", *imports, "from rosenblatt import algorithms"]
            imports.append("from rosenblatt.examples import Examples")
            learnt = [
                f"rule = algorithms.Rule(zero={ZEROS[self.zero]}, eta={self.eta!r})",
                f"start = np.array({w!r})",
                "trace = algorithms.online(Examples.from_arrays(X, y), rule, start).trace",
            ]
        rows = [f"    {row!r}," for row in self.examples.X.tolist()]
        answers = ", ".join(str(y) for y in self.examples.y.tolist())
        no, yes = (str(label) for label in self.examples.labels.tolist())
        said = [] if (no, yes) == ("-1", "1") else [f"# 1 is {yes!r}, -1 is {no!r}"]
        lines = ['"""What the page showed, done again."""', "", *imports, ""]
        lines += ["X = [", *rows, "]", *said, f"y = [{answers}]", "", *learnt]
        lines += ["for t in range(len(trace) + 1):", "    print(t, trace.weights(t))", ""]
        lines += ["verdict = rb.separability(X, y)", "print(verdict.explain())", ""]
        return "\n".join(lines)

    def _fit(self, usual: list[str]) -> list[str]:
        """PLA or the pocket; parameters that are as usual are left out."""
        parameters, kind = [f"order={self.order!r}"], "PocketPerceptron"
        if self.algorithm == "pla":
            kind = "Perceptron"
            parameters.append(f"max_iter={CYCLES:_}")
        elif self.algorithm == "ratchet":
            parameters.append("ratchet=True")
        parameters += [f"max_updates={self.corrections}", *usual]
        if self.order not in algorithms.FIXED:
            parameters.append(f"random_state={self.seed}")
        w = self.start.tolist()
        start = f", coef_init={w[1:]!r}, intercept_init={w[0]!r}" if any(w) else ""
        clf = f"clf = rb.{kind}({', '.join(parameters)})"
        return [clf, f"clf.fit(X, y{start})", "trace = clf.trace_"]


NOTHING = algorithms.Budget(1, 0)  # no correction


def parse(body: bytes) -> dict[str, Any]:
    """A request's body, which must be one JSON object."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise RequestError("the request is not JSON.", 400) from None
    if not isinstance(found, dict):
        raise RequestError("the request is not a JSON object.", 400)
    return found


def parse_preset(given: dict[str, Any]) -> tuple[str, int]:
    """A preset's name and seed."""
    return _one_of(given, "name", tuple(PRESETS)), _whole(given, "seed", 0, 2**31 - 1)


def parse_columns(given: dict[str, Any], own: OwnData | None) -> Plane:
    """Two columns of the file."""
    data = _file(own)
    return data.plane(*(_one_of(given, key, data.columns) for key in ("x", "y")))


def _file(own: OwnData | None) -> OwnData:
    if own is None:
        raise RequestError("there is no file; start with `rosenblatt watch FILE` to show one.")
    return own


def _examples(given: dict[str, Any], limits: Limits) -> Examples:
    points, answers = given.get("points"), given.get("answers")
    if not isinstance(points, list) or not isinstance(answers, list) or not points:
        raise RequestError("points and answers must be lists with at least one entry.")
    if len(points) > limits.points:
        raise RequestError(
            f"{len(points):,} points are more than this page takes; "
            f"give at most {limits.points:,}.",
            413,
        )
    if len(points) != len(answers):
        raise RequestError(
            f"{counted(len(points), 'point')} but {counted(len(answers), 'answer')} given."
        )
    for n, (point, answer) in enumerate(zip(points, answers, strict=True), start=1):
        if not isinstance(point, list) or len(point) != 2 or not all(map(_drawable, point)):
            raise RequestError(f"point {n} is not a pair of numbers between -1e9 and 1e9.")
        if isinstance(answer, bool) or answer not in (-1, 1):
            raise RequestError(f"answer {n} is not -1 or 1.")
    X = np.array(points, dtype=np.float64)
    return Examples.from_arrays(X, np.array(answers), labels=np.array([-1, 1]))


def _start(given: dict[str, Any], size: int) -> NDArray[np.float64]:
    start = given.get("start", [])
    if not isinstance(start, list) or not all(map(_drawable, start)):
        raise RequestError("the start must be a list of numbers between -1e9 and 1e9.")
    if not any(start):
        return np.zeros(size)
    if len(start) != size:
        raise RequestError(
            f"the start has {counted(len(start), 'weight')}; these examples need {size}."
        )
    return np.array(start, dtype=np.float64)


def _drawable(value: Any) -> bool:
    """Whether it is a number that fits the picture."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -LARGEST <= value <= LARGEST and math.isfinite(value)


def _one_of(given: dict[str, Any], key: str, choices: tuple[str, ...]) -> str:
    value = given.get(key)
    if not isinstance(value, str) or value not in choices:
        raise RequestError(f"{key} is not one of {', '.join(choices[:8])}.")
    return value


def _number(given: dict[str, Any], key: str, least: float, most: float) -> float:
    value: Any = given.get(key)
    if not _drawable(value) or not least <= float(value) <= most:
        raise RequestError(f"{key} is not a number from {least:g} to {most:g}.")
    return float(value)


def _whole(given: dict[str, Any], key: str, least: int, most: int) -> int:
    value = given.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise RequestError(f"{key} is not a whole number from {least:,} to {most:,}.")
    return value
