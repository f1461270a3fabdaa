"""Results of benchmarks: promises with targets, and lines with the measured figures."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

WAYS = {"≥": operator.ge, "≤": operator.le, "<": operator.lt}


@dataclass(frozen=True)
class Target:
    """Target of a promise: a number, and whether the figure must be above or below it."""

    way: str
    number: float

    def met(self, figure: float) -> bool:
        return bool(WAYS[self.way](figure, self.number))

    def __str__(self) -> str:
        return f"{self.way} {self.number:g}"


@dataclass(frozen=True)
class Promise:
    """Work that an issue asks to measure; the id never changes, so documents can refer to it."""

    id: str
    issue: int
    work: str
    target: Target | None = None  # None if the issue sets no target
    unit: str = "×"

    @property
    def part(self) -> str:
        return self.id.partition(".")[0]


@dataclass(frozen=True)
class Line:
    """Measured figure of a promise, with its spread; if it is None, the note says why."""

    promise: Promise
    figure: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    seconds: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # each repeat

    @property
    def id(self) -> str:
        return self.promise.id

    @property
    def verdict(self) -> str:
        if self.figure is None:
            return "not measured"
        if self.promise.target is None:
            return ""
        return "pass" if self.promise.target.met(self.figure) else "short"

    def to_json(self) -> dict[str, Any]:
        value = asdict(self)
        return {**value.pop("promise"), **value, "verdict": self.verdict}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Line:
        target = value["target"] and Target(**value["target"])
        promise = Promise(value["id"], value["issue"], value["work"], target, value["unit"])
        rest = {key: value[key] for key in ("figure", "low", "high", "note")}
        seconds = {name: tuple(values) for name, values in value["seconds"].items()}
        return cls(promise, **rest, seconds=seconds)


@dataclass(frozen=True)
class Table:
    """Table of figures that belong together."""

    id: str
    title: str
    columns: tuple[str, ...]  # headings; the first one is that of the names of the rows
    rows: tuple[tuple[str | float | None, ...], ...]
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Table:
        rows = tuple(tuple(row) for row in value["rows"])
        return cls(**{**value, "columns": tuple(value["columns"]), "rows": rows})


class MissingError(Exception):
    """Missing peer or data, which the table reports in place of a figure."""
