"""The model file: JSON for people, checked throughout when it is read; nothing in it is run."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from rosenblatt import __version__, strictjson
from rosenblatt.errors import DataError, shortened
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.read.columns import KINDS, Column, Entries, Number
from rosenblatt.read.encoding import POLICIES, Answers, Encoding
from rosenblatt.read.guess import Plan

if TYPE_CHECKING:
    from rosenblatt.model import Model

FORMAT = 1
ZEROS = {"mistake": 0, "negative": -1, "positive": 1}
MARK = b'{\n "rosenblatt": "model",'  # how a model file begins


def to_json(model: Model) -> str:
    """A model as the text of its file.

    The score of a row is the sum of weight × number, less the threshold; above 0 the answer
    is `answers.positive`. Numbers are written so that they read back to the last bit.
    """
    h = model.hypothesis
    zero = next(name for name, sign in ZEROS.items() if sign == h.zero)
    value = {
        "rosenblatt": "model",
        "format": FORMAT,
        "made by": f"rosenblatt {__version__}",
        "answers": answers_to_json(model.answers),
        "threshold": h.threshold,
        "zero": zero,
        "missing": model.encoding.missing,
        "columns in file": model.width,
        "columns": columns_to_json(model.encoding, h.w[1:].tolist()),
        "learnt": dict(model.learnt),
    }
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def answers_to_json(answers: Answers) -> dict[str, Any]:
    """The column of answers and what no and yes are called; "others" where no is all the rest."""
    value = {
        "column": answers.column,
        "negative": answers.negative,
        "positive": answers.positive,
    }
    return {**value, "others": True} if answers.others else value


def columns_to_json(encoding: Encoding, weights: list[float]) -> list[dict[str, Any]]:
    """Each column with its weights beside the values they belong to."""
    result, at = [], 0
    for column in encoding.columns:
        value = column.to_json()
        mine = weights[at : at + len(column.features)]
        at += len(mine)
        if isinstance(column, Number):
            value["weight"] = mine[0]
        else:
            names = value.pop("values", column.features)
            value["weights"] = dict(zip(names, mine, strict=True))
        result.append(value)
    return result


def from_file(path: str) -> dict[str, Any]:
    """The parts of a model, by the names that Model takes."""
    check = Checked(path, "model")
    return check.model(check.kind_and_format(strictjson.read(path)))


class Checked:
    """Reads the parts of a file one by one and says in a sentence which does not fit."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind

    def wrong(self, where: str, what: str) -> NoReturn:
        """Refuse the file."""
        where = shortened(where, most=120)
        raise DataError(f"{self.name} is not a {self.kind} that fits: {where} {what}.")

    def kind_and_format(self, value: Any) -> dict[str, Any]:
        """An object of the kind and the format that are read here."""
        if not isinstance(value, dict) or value.get("rosenblatt") != self.kind:
            raise DataError(f"{self.name} is not a {self.kind} of rosenblatt.")
        if value.get("format") != FORMAT:
            raise DataError(
                f"{self.name} has format {shortened(repr(value.get('format')))}; "
                f"this version of rosenblatt reads format {FORMAT}."
            )
        return value

    def number(self, value: Any, where: str) -> float:
        """A finite number."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.wrong(where, "is not a number")
        try:
            result = float(value)
        except OverflowError:
            result = math.inf
        if not math.isfinite(result):
            self.wrong(where, "is not a finite number")
        return result

    def text(self, value: Any, where: str) -> str:
        """A text."""
        if not isinstance(value, str):
            self.wrong(where, "is not a text")
        return value

    def one_of(self, value: Any, choices: Any, where: str) -> str:
        """One of some words."""
        if not isinstance(value, str) or value not in choices:
            self.wrong(where, f"is not one of {', '.join(choices)}")
        return value

    def whole(self, value: Any, where: str, least: int, most: int = 10**9) -> int:
        """A whole number in a range."""
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.wrong(where, f"is not a whole number from {least} to {most}")
        return value

    def object(self, value: Any, where: str) -> dict[str, Any]:
        """An object."""
        if not isinstance(value, dict):
            self.wrong(where, "is not an object")
        return value

    def model(self, value: dict[str, Any]) -> dict[str, Any]:
        """The parts of a model."""
        encoding, weights = self.columns(value)
        threshold = self.number(value.get("threshold"), '"threshold"')
        zero = ZEROS[self.one_of(value.get("zero"), ZEROS, '"zero"')]
        width = value.get("columns in file")
        if width is not None:
            width = self.whole(width, '"columns in file"', 1)
        return {
            "encoding": encoding,
            "hypothesis": Hypothesis(np.array([-threshold, *weights]), 1.0, zero),
            "answers": self.answers(value.get("answers")),
            "learnt": self.object(value.get("learnt"), '"learnt"'),
            "width": width,
        }

    def answers(self, value: Any) -> Answers:
        """The column of answers and the two labels."""
        value = self.object(value, '"answers"')
        column = self.text(value.get("column"), '"answers.column"')
        labels = [
            self._label(value.get(key), f'"answers.{key}"') for key in ("negative", "positive")
        ]
        others = value.get("others", False)
        if not isinstance(others, bool):
            self.wrong('"answers.others"', "is not true or false")
        alike = others or isinstance(labels[0], str) == isinstance(labels[1], str)
        if labels[0] == labels[1] or not alike:
            self.wrong('"answers"', "are not two different labels of one kind")
        return Answers(column, labels[0], labels[1], others)

    def _label(self, value: Any, where: str) -> Any:
        if isinstance(value, str | bool):
            return value
        self.number(value, where)
        if isinstance(value, int) and abs(value) >= 2**63:
            self.wrong(where, "is too large")
        return value

    def columns(self, value: dict[str, Any]) -> tuple[Encoding, list[float]]:
        """The encoding, and the weights in its order."""
        listed = value.get("columns")
        if not isinstance(listed, list) or not listed:
            self.wrong('"columns"', "is not a list of columns")
        missing = self.one_of(value.get("missing"), POLICIES, '"missing"')
        columns: list[Column] = []
        weights: list[float] = []
        for i, one in enumerate(listed, 1):
            column, mine = self._column(self.object(one, f"column {i}"), f"column {i}")
            columns.append(column)
            weights += mine
        names = [column.name for column in columns]
        if len(set(names)) < len(names):
            self.wrong('"columns"', "have a name twice")
        return Encoding(tuple(columns), missing), weights

    def _column(self, value: dict[str, Any], where: str) -> tuple[Column, list[float]]:
        kind = KINDS[self.one_of(value.get("kind"), KINDS, f"the kind of {where}")]
        name = self.text(value.get("name"), f"the name of {where}")
        where = f'column "{name}"'
        if issubclass(kind, Number):
            mean, spread, weight = (
                self.number(value.get(key), f"the {key} of {where}")
                for key in ("mean", "spread", "weight")
            )
            return kind(name, mean, spread), [weight]
        given = self.object(value.get("weights"), f"the weights of {where}")
        weights = [self.number(w, f'the weight of "{key}" in {where}') for key, w in given.items()]
        if issubclass(kind, Entries):
            first = self.whole(value.get("first"), f"the first index of {where}", 0, 1)
            size = self.whole(value.get("size"), f"the size of {where}", 0, len(weights))
            column = Entries(name, first, size)
            if tuple(given) != column.features:
                self.wrong(f"the weights of {where}", "are not those of its indices in order")
            return column, weights
        if not weights:
            self.wrong(f"the weights of {where}", "are empty")
        return kind(name, tuple(given)), weights


def proof_to_json(plan: Plan, proof: dict[str, Any]) -> str:
    """A proof with the plan of the columns it is about, so that it can be checked on a file."""
    value = {
        "rosenblatt": "proof",
        "format": FORMAT,
        "made by": f"rosenblatt {__version__}",
        "answers": answers_to_json(plan.answers),
        "missing": plan.encoding.missing,
        "columns": columns_to_json(plan.encoding, [0.0] * len(plan.encoding.features)),
        "proof": proof,
    }
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def plan_and_proof(path: str) -> tuple[Plan | None, dict[str, Any]]:
    """The plan and the proof of a file; no plan where `Proof.to_json` alone was written."""
    check = Checked(path, "proof")
    value = strictjson.read(path)
    if not isinstance(value, dict):
        raise DataError(f"{path} is not a proof of rosenblatt.")
    if "rosenblatt" not in value:
        return None, value
    check.kind_and_format(value)
    encoding, _ = check.columns(value)
    answers = check.answers(value.get("answers"))
    return Plan(encoding, answers), check.object(value.get("proof"), '"proof"')
