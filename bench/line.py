"""What the bench says: a promise with its target, and the line that says how it was kept."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

WAYS = {"≥": operator.ge, "≤": operator.le, "<": operator.lt}


@dataclass(frozen=True)
class Target:
    """A number, and on which side of it the figure must lie."""

    way: str
    number: float

    def met(self, figure: float) -> bool:
        return bool(WAYS[self.way](figure, self.number))

    def __str__(self) -> str:
        return f"{self.way} {self.number:g}"


@dataclass(frozen=True)
class Promise:
    """Work that an issue asks to be measured; the id is for documents to refer to and stays."""

    id: str
    issue: int
    work: str
    target: Target | None = None  # None: asked for, with no figure to reach
    unit: str = "×"

    @property
    def part(self) -> str:
        return self.id.partition(".")[0]


@dataclass(frozen=True)
class Line:
    """A promise, and the figure measured with its spread; no figure: the note says why."""

    promise: Promise
    figure: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    seconds: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # of every repeat

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
        told = asdict(self)
        return {**told.pop("promise"), **told, "verdict": self.verdict}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Line:
        target = told["target"] and Target(**told["target"])
        promise = Promise(told["id"], told["issue"], told["work"], target, told["unit"])
        rest = {key: told[key] for key in ("figure", "low", "high", "note")}
        seconds = {name: tuple(values) for name, values in told["seconds"].items()}
        return cls(promise, **rest, seconds=seconds)


@dataclass(frozen=True)
class Table:
    """Figures that only say something beside each other: cells[row][column] under headings."""

    id: str
    title: str
    columns: tuple[str, ...]  # the first is the heading of the rows' names
    rows: tuple[tuple[str | float | None, ...], ...]
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Table:
        rows = tuple(tuple(row) for row in told["rows"])
        return cls(**{**told, "columns": tuple(told["columns"]), "rows": rows})


class MissingError(Exception):
    """A peer, or data, that is not here: the table says so in place of a figure."""
