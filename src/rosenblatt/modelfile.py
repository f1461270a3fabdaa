"""The model file: JSON for people, checked throughout when it is read; nothing in it is run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from rosenblatt import __version__, strictjson
from rosenblatt.errors import DataError, column_called, shortened
from rosenblatt.evidence.proof import Proof, ProofError, digest_of
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.read.columns import KINDS, Category, Column, Entries, Number, Written
from rosenblatt.read.encoding import POLICIES, Answers, Encoding
from rosenblatt.read.guess import Plan
from rosenblatt.read.written import DECIMALS

if TYPE_CHECKING:
    from rosenblatt.model import Model

FORMAT = 1
PROOF_FORMAT = 2
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

    def kind_and_format(self, value: Any, expected: int = FORMAT) -> dict[str, Any]:
        """An object of the kind and the format that are read here."""
        if not isinstance(value, dict) or value.get("rosenblatt") != self.kind:
            raise DataError(f"{self.name} is not a {self.kind} of rosenblatt.")
        if value.get("format") != expected:
            raise DataError(
                f"{self.name} has format {shortened(repr(value.get('format')))}; "
                f"this version of rosenblatt reads format {expected}."
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
            "answers": self.answers(value.get("answers"), encoding),
            "learnt": self.object(value.get("learnt"), '"learnt"'),
            "width": width,
        }

    def answers(self, value: Any, encoding: Encoding) -> Answers:
        """The column of answers, which is no feature, and the two labels."""
        value = self.object(value, '"answers"')
        column = self.text(value.get("column"), '"answers.column"')
        if column and column in [one.name for one in encoding.columns]:
            self.wrong(column_called(column), "has the answers and is among the features")
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
        weights: list[float] = []

        def take(one: dict[str, Any], where: str) -> Column:
            column, mine = self._column(one, where)
            weights.extend(mine)
            return column

        return self.encoding(value, take), weights

    def encoding(
        self, value: dict[str, Any], take: Callable[[dict[str, Any], str], Column]
    ) -> Encoding:
        """What becomes of the columns, each of which is taken by a function."""
        listed = value.get("columns")
        if not isinstance(listed, list) or not listed:
            self.wrong('"columns"', "is not a list of columns")
        missing = self.one_of(value.get("missing"), POLICIES, '"missing"')
        columns = [
            take(self.object(one, f"column {i}"), f"column {i}") for i, one in enumerate(listed, 1)
        ]
        if len({column.name for column in columns}) < len(columns):
            self.wrong('"columns"', "have a name twice")
        return Encoding(tuple(columns), missing)

    def _number(self, kind: type[Number], value: dict[str, Any], name: str) -> Number:
        where = f'column "{name}"'
        mean, spread = (
            self.number(value.get(key), f"the {key} of {where}") for key in ("mean", "spread")
        )
        if not issubclass(kind, Written):
            return kind(name, mean, spread)
        decimal = self.one_of(value.get("decimal"), DECIMALS, f"the decimal of {where}")
        return kind(
            name, mean, spread, decimal, self.text(value.get("mark"), f"the mark of {where}")
        )

    def _column(self, value: dict[str, Any], where: str) -> tuple[Column, list[float]]:
        kind = KINDS[self.one_of(value.get("kind"), KINDS, f"the kind of {where}")]
        name = self.text(value.get("name"), f"the name of {where}")
        where = f'column "{name}"'
        if issubclass(kind, Number):
            weight = self.number(value.get("weight"), f"the weight of {where}")
            return self._number(kind, value, name), [weight]
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


class CheckedProof(Checked):
    """Reads the parts of a file with a proof and the plan of the columns it is about."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "proof")

    def plan(self, value: dict[str, Any]) -> Plan:
        """What the columns are said to be."""
        encoding = self.encoding(value, self._planned)
        return Plan(encoding, self.answers(value.get("answers"), encoding))

    def regressors(self, value: dict[str, Any]) -> tuple[Column, ...]:
        """The columns of a regression: numbers and categories."""
        columns = self.encoding(value, self._planned).columns
        for column in columns:
            if not isinstance(column, Number | Category):
                self.wrong(column_called(column.name), "is neither numbers nor categories")
        return columns

    def _planned(self, value: dict[str, Any], where: str) -> Column:
        kind = KINDS[self.one_of(value.get("kind"), KINDS, f"the kind of {where}")]
        name = self.text(value.get("name"), f"the name of {where}")
        where = f'column "{name}"'
        if issubclass(kind, Number):
            return self._number(kind, value, name)
        if issubclass(kind, Entries):
            first = self.whole(value.get("first"), f"the first index of {where}", 0, 1)
            return Entries(name, first, self.whole(value.get("size"), f"the size of {where}", 0))
        values = value.get("values")
        if not isinstance(values, list) or not values or {type(v) for v in values} != {str}:
            self.wrong(f"the values of {where}", "are not a list of texts")
        if len(set(values)) < len(values):
            self.wrong(f"the values of {where}", "have one twice")
        return kind(name, tuple(values))


def proof_to_json(plan: Plan, proof: Proof) -> str:
    """A proof with the plan of the columns it is about, so that it can be checked on a file.

    One seal is over all of it.
    """
    value = {
        "rosenblatt": "proof",
        "format": PROOF_FORMAT,
        "made by": f"rosenblatt {__version__}",
        "answers": answers_to_json(plan.answers),
        "missing": plan.encoding.missing,
        "columns": [column.to_json() for column in plan.encoding.columns],
        "proof": json.loads(proof.to_json()),
    }
    value["seal"] = seal_of(value)
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def seal_of(value: dict[str, Any]) -> str:
    """The digest of what a file says, but for its seal, however it is written."""
    content = {key: part for key, part in value.items() if key != "seal"}
    return digest_of(content)


def plan_and_proof(path: str) -> tuple[Plan | None, Proof]:
    """The plan and the proof of a file; no plan where `Proof.to_json` alone was written."""
    value = strictjson.read(path)
    if not isinstance(value, dict):
        raise DataError(f"{path} is not a proof of rosenblatt.")
    plan, content = None, value
    if "rosenblatt" in value:
        check = CheckedProof(path)
        if value["rosenblatt"] == "proof" and value.get("format") == FORMAT:
            raise DataError(
                f"{path} is of an older format, in which the columns were not under the seal. "
                "Make it anew with rosenblatt separable DATA --proof FILE."
            )
        check.kind_and_format(value, PROOF_FORMAT)
        if value.get("seal") != seal_of(value):
            raise DataError(f"{path} is not a proof: it was changed, its seal does not fit.")
        plan, content = check.plan(value), check.object(value.get("proof"), '"proof"')
    try:
        return plan, Proof.from_json(json.dumps(content))
    except ProofError as wrong:
        raise DataError(f"{path} is not a proof: {str(wrong).rstrip('.')}.") from None
