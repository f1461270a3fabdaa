"""Model: a hypothesis with the encoding of the columns it answers; its file, and that of a proof.

Both are JSON for people, checked throughout when they are read; nothing in them is run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.strictjson as strictjson
from rosenblatt import __version__
from rosenblatt.errors import BadCellError, DataError
from rosenblatt.evidence.parts import ProofError, SealedProof
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separationproof import SeparationProof
from rosenblatt.examples import as_table
from rosenblatt.files import write_text
from rosenblatt.hypothesis import ZEROS, Hypothesis
from rosenblatt.pipelines import final, is_ours, line_before, names_before
from rosenblatt.read.columns import (
    DECIMALS,
    KINDS,
    Category,
    Column,
    Entries,
    Number,
    Written,
    arrow_table,
    usual,
)
from rosenblatt.read.encoding import POLICIES, Answers, Encoding
from rosenblatt.read.plan import Plan
from rosenblatt.read.regression import RegressionPlan
from rosenblatt.rownames import RowNames
from rosenblatt.tables import column_names, places_named
from rosenblatt.words import card, column_called, listed

FORMAT = 1
PROOF_FORMAT, SEPARATION_FORMAT = 2, 1
MARK = b'{\n "rosenblatt": "model",'  # how a model file begins


@dataclass(frozen=True, eq=False)
class Model:
    """What was learnt, ready to answer rows.

    Parameters
    ----------
    encoding : Encoding
        The columns it needs and the numbers they become.
    hypothesis : Hypothesis
        The weights of those numbers, and the threshold.
    answers : Answers
        What no and yes are called, or all labels.
    learnt : mapping
        How it was learnt, as plain JSON: algorithm, corrections, mistakes, …
    width : int, optional
        How many columns the file had, where it had no names for them.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> clf = rb.Perceptron().fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"])
    >>> model = Model.of(clf)
    >>> model.predict([[1, 1], [0, 0]]).tolist()
    ['yes', 'no']
    """

    encoding: Encoding
    hypothesis: Hypothesis
    answers: Answers
    learnt: Mapping[str, Any] = field(default_factory=dict)
    width: int | None = None

    @classmethod
    def of(cls, estimator: Any) -> Model:
        """The model of a fitted estimator of this package, or of a pipeline that ends in one.

        Parameters
        ----------
        estimator : Perceptron, PocketPerceptron, FewestMistakes, or a Pipeline
            Fitted; its feature names are kept where it has any. Steps of a pipeline that scale
            columns are folded into the weights; others are refused.
        """
        last = final(estimator)
        if not is_ours(estimator):
            raise TypeError(_unsupported(last))
        if not hasattr(last, "weights_"):
            raise ValueError(f"this {type(last).__name__} is not fitted yet; call fit first.")
        hypothesis = line_before(estimator)
        names = names_before(estimator)
        if names is None:
            names = places_named(hypothesis.w.shape[-1] - 1)
        estimator = last
        encoding = Encoding(tuple(Number(str(name)) for name in names))
        labels = [label.item() if hasattr(label, "item") else label for label in last.classes_]
        answers = Answers("", tuple(labels))
        how: dict[str, Any] = {"algorithm": type(estimator).__name__}
        for key, attribute in (("corrections", "n_updates_"), ("mistakes", "n_mistakes_")):
            if hasattr(estimator, attribute):
                how[key] = int(getattr(estimator, attribute))
        if estimator._mean is not None:
            how["average"] = True
            del how["mistakes"]  # which are those of the last w
        return cls(encoding, hypothesis, answers, how)

    def _repr_html_(self) -> str:
        labels = listed([str(label) for label in self.classes_.tolist()], joint="or")
        told = [(key, v) for key, v in self.learnt.items() if type(v) in (int, str)]
        facts = [("looks at", listed(list(self.feature_names_)))]
        facts += [(key, f"{v:,}" if isinstance(v, int) else v) for key, v in told]
        return card(f"Model that answers {labels}", facts)

    @property
    def classes_(self) -> NDArray[Any]:
        """No and yes, in this order, or all labels."""
        return self.answers.labels

    @property
    def feature_names_(self) -> tuple[str, ...]:
        """The names of the weights, without w0."""
        return self.encoding.features

    @property
    def weights_(self) -> NDArray[np.float64]:
        """The tall weights, w0 first; of more than two labels, a row for each."""
        return self.hypothesis.w

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score each row: positive for the second of `classes_`, or a score for each of them.

        Parameters
        ----------
        X : frame with the model's columns, or array of shape (n, d)
            A frame is encoded as the file was; an array has a number for each weight.
        """
        return self.hypothesis.scores(self.numbers(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Answer each row with one of `classes_`.

        Parameters
        ----------
        X : frame with the model's columns, or array of shape (n, d)
            As in `decision_function`.
        """
        return self.hypothesis.named(self.numbers(X), self.classes_)

    def numbers(self, X: Any) -> Any:
        """The rows as the table of numbers that the weights multiply."""
        if column_names(X) is not None:
            return self._encoded(X)
        table = as_table(X)
        if table.shape[1] != len(self.feature_names_):
            raise ValueError(
                f"X has {table.shape[1]} features, but this model has "
                f"{len(self.feature_names_)}; give a frame with its columns, or its numbers."
            )
        return table

    def _encoded(self, frame: Any) -> Any:
        table = usual(arrow_table(frame))
        try:
            found = self.encoding.encode(table, "X")
        except BadCellError as bad:
            where = f"X, {RowNames.of(frame).listed([bad.row])}, {column_called(bad.column)}"
            raise DataError(f"{where}: {bad.what}.") from None
        if len(found.rows) < table.num_rows:
            missing = np.setdiff1d(np.arange(table.num_rows), found.rows)[:1].tolist()
            where = f"X, {RowNames.of(frame).listed(missing)}"
            raise DataError(f"{where}: a number is missing; drop the row first.")
        return found.X

    def save(self, path: str | Path) -> None:
        """Write the model as JSON, whole or not at all.

        Parameters
        ----------
        path : path
            Where to; what is there is replaced once the new file is complete.
        """
        write_text(path, to_json(self))


def _unsupported(estimator: Any) -> str:
    """Why something cannot be kept, and what to do instead."""
    told = f"{type(estimator).__name__} is not an estimator of rosenblatt"
    if hasattr(estimator, "best_estimator_"):
        return f"{told}; give its best_estimator_."
    if callable(getattr(estimator, "save", None)):
        return f"{told}'s model files; call its own save(path)."
    return (
        f"{told}; a Perceptron, PocketPerceptron or FewestMistakes, or a pipeline that ends in "
        "one, can be kept in a model file."
    )


def save(model: Any, path: str | Path) -> None:
    """Write a model or a fitted estimator as a JSON file that a person can read.

    Parameters
    ----------
    model : Model or fitted estimator
        An estimator of this package is taken with its weights, names and labels; so is a
        scikit-learn pipeline that scales columns and ends in one.
    path : path
        Where to.

    Examples
    --------
    >>> import rosenblatt as rb, tempfile, os
    >>> clf = rb.Perceptron().fit([[1.0], [-1.0]], ["yes", "no"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rb.save(clf, os.path.join(folder, "model.json"))
    ...     rb.load(os.path.join(folder, "model.json")).predict([[3.0], [-2.0]]).tolist()
    ['yes', 'no']
    """
    (model if isinstance(model, Model) else Model.of(model)).save(path)


def load(path: str | Path) -> Model:
    """Read a model file; it is checked throughout, and nothing in it is run.

    Parameters
    ----------
    path : path
        A file that `save` or `rosenblatt learn` wrote.

    Returns
    -------
    Model
        With scikit-learn's `predict` and `decision_function`.
    """
    parts = ColumnParts(str(path), "model")
    value = parts.of_format(strictjson.read(str(path)), FORMAT)
    weights: list[Any] = []
    encoding = parts.encoding(value, weights)
    width = value.get("columns in file")
    answers = parts.answers(value.get("answers"), encoding)
    count = len(answers.names) if answers.many else None
    threshold = parts.weight(value.get("threshold"), '"threshold"')
    for weight in (threshold, *weights):
        if (len(weight) if isinstance(weight, list) else None) != count:
            parts.wrong('"columns"', "have not a weight for each label")
    w = np.array([threshold, *weights], dtype=np.float64).T
    w[..., 0] *= -1.0
    zero = ZEROS[parts.one_of(value.get("zero"), ZEROS, '"zero"')]
    return Model(
        encoding,
        Hypothesis.of(np.ascontiguousarray(w), 1.0, zero),
        answers,
        parts.object(value.get("learnt"), '"learnt"'),
        None if width is None else parts.whole(width, '"columns in file"', 1),
    )


def to_json(model: Model) -> str:
    """A model as the text of its file.

    The score of a row is the sum of weight × number, less the threshold; above 0 the answer
    is `answers.positive`. With more than two labels each weight is a list, one for each of
    `answers.labels`, and the answer is the label with the highest score. Numbers are written so
    that they read back to the last bit.
    """
    h = model.hypothesis
    value = {
        "rosenblatt": "model",
        "format": FORMAT,
        "made by": f"rosenblatt {__version__}",
        "answers": model.answers.to_json(),
        "threshold": (-h.w[..., 0] * h.x0).tolist(),
        "zero": next(name for name, sign in ZEROS.items() if sign == h.zero),
        "missing": model.encoding.missing,
        "columns in file": model.width,
        "columns": _columns_to_json(model.encoding, h.w[..., 1:].T.tolist()),
        "learnt": dict(model.learnt),
    }
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _columns_to_json(encoding: Encoding, weights: list[Any]) -> list[dict[str, Any]]:
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


class ColumnParts(strictjson.Parts):
    """Reads the columns and the answers that a model or a proof is about."""

    def answers(self, value: Any, encoding: Encoding) -> Answers:
        """The column of answers, which is no feature, and the labels."""
        value = self.object(value, '"answers"')
        column = self.text(value.get("column"), '"answers.column"')
        if column and column in [one.name for one in encoding.columns]:
            self.wrong(column_called(column), "has the answers and is among the features")
        if "labels" in value:
            return Answers(column, self._labels(value["labels"]))
        negative, positive = (
            self._label(value.get(key), f'"answers.{key}"') for key in ("negative", "positive")
        )
        others = value.get("others", False)
        if not isinstance(others, bool):
            self.wrong('"answers.others"', "is not true or false")
        alike = others or isinstance(negative, str) == isinstance(positive, str)
        if negative == positive or not alike:
            self.wrong('"answers"', "are not two different labels of one kind")
        return Answers(column, (negative, positive), others)

    def _labels(self, values: Any) -> tuple[Any, ...]:
        """More than two different labels of one kind."""
        if not isinstance(values, list) or len(values) < 3:
            self.wrong('"answers.labels"', "is not a list of three labels or more")
        labels = tuple(self._label(value, '"answers.labels"') for value in values)
        if len(set(labels)) < len(labels) or len({isinstance(one, str) for one in labels}) > 1:
            self.wrong('"answers.labels"', "are not different labels of one kind")
        return labels

    def _label(self, value: Any, where: str) -> Any:
        if isinstance(value, str | bool):
            return value
        self.number(value, where)
        if isinstance(value, int) and abs(value) >= 2**63:
            self.wrong(where, "is too large")
        return value

    def weight(self, value: Any, where: str) -> Any:
        """A number, or a list of numbers, one for each label."""
        if isinstance(value, list):
            return [self.number(one, where) for one in value]
        return self.number(value, where)

    def encoding(self, value: dict[str, Any], weights: list[Any] | None = None) -> Encoding:
        """What becomes of the columns; where there is a list for them, with their weights."""
        listed = value.get("columns")
        if not isinstance(listed, list) or not listed:
            self.wrong('"columns"', "is not a list of columns")
        missing = self.one_of(value.get("missing"), POLICIES, '"missing"')
        columns = [
            self._column(self.object(one, f"column {i}"), f"column {i}", weights)
            for i, one in enumerate(listed, 1)
        ]
        if len({column.name for column in columns}) < len(columns):
            self.wrong('"columns"', "have a name twice")
        return Encoding(tuple(columns), missing)

    def regression(self, value: dict[str, Any]) -> RegressionPlan:
        """The columns of a regression: numbers and categories, none of which is anything else."""
        columns = self.encoding(value).columns
        for column in columns:
            if not isinstance(column, Number | Category):
                self.wrong(column_called(column.name), "is neither numbers nor categories")
        target, weights = self.text(value.get("target"), '"target"'), value.get("weights")
        names = [column.name for column in columns]
        if weights is not None:
            weights = self.text(weights, '"weights"')
        if target in names or weights in (target, *names):
            self.wrong('"columns"', "have the answers or the weights among them")
        return RegressionPlan(target, columns, weights, self.whole(value.get("rows"), '"rows"', 1))

    def _column(self, value: dict[str, Any], where: str, weights: list[Any] | None) -> Column:
        kind = KINDS[self.one_of(value.get("kind"), KINDS, f"the kind of {where}")]
        name = self.text(value.get("name"), f"the name of {where}")
        where = f'column "{name}"'
        if issubclass(kind, Number):
            if weights is not None:
                weights.append(self.weight(value.get("weight"), f"the weight of {where}"))
            return self._number(kind, value, name)
        if weights is None:
            names = None if issubclass(kind, Entries) else self._values(value.get("values"), where)
        else:
            given = self.object(value.get("weights"), f"the weights of {where}")
            names = tuple(given)
            weights += [
                self.weight(w, f'the weight of "{key}" in {where}') for key, w in given.items()
            ]
        if issubclass(kind, Entries):
            first = self.whole(value.get("first"), f"the first index of {where}", 0, 1)
            most = strictjson.MOST if names is None else len(names)
            entries = Entries(
                name, first, self.whole(value.get("size"), f"the size of {where}", 0, most)
            )
            if names not in (None, entries.features):
                self.wrong(f"the weights of {where}", "are not those of its indices in order")
            return entries
        if not names:
            self.wrong(f"the weights of {where}", "are empty")
        return kind(name, names)

    def _number(self, kind: type[Number], value: dict[str, Any], name: str) -> Number:
        where = f'column "{name}"'
        mean, spread = (
            self.number(value.get(key), f"the {key} of {where}") for key in ("mean", "spread")
        )
        if not issubclass(kind, Written):
            return kind(name, mean, spread)
        decimal = self.one_of(value.get("decimal"), DECIMALS, f"the decimal of {where}")
        mark = self.text(value.get("mark"), f"the mark of {where}")
        return kind(name, mean, spread, decimal, mark)

    def _values(self, values: Any, where: str) -> tuple[str, ...]:
        if not isinstance(values, list) or not values or {type(v) for v in values} != {str}:
            self.wrong(f"the values of {where}", "are not a list of texts")
        if len(set(values)) < len(values):
            self.wrong(f"the values of {where}", "have one twice")
        return tuple(values)


def proof_to_json(plan: Plan | RegressionPlan, proof: SealedProof) -> str:
    """A proof with the plan of the columns it is about, so that it can be checked on a file.

    One seal is over all of it.
    """
    value: dict[str, Any]
    value = {"rosenblatt": "proof", "format": PROOF_FORMAT, "made by": f"rosenblatt {__version__}"}
    if isinstance(plan, Plan):
        value["answers"] = plan.answers.to_json()
        value["missing"] = plan.encoding.missing
        value["columns"] = [column.to_json() for column in plan.encoding.columns]
        value["proof"] = json.loads(proof.to_json())
    else:
        value |= {"rosenblatt": "separation", "format": SEPARATION_FORMAT}
        value["content"] = {
            "target": plan.target,
            "columns": [column.to_json() for column in plan.columns],
            "missing": "drop",
            "weights": plan.weights,
            "rows": plan.rows,
            "proof": json.loads(proof.to_json()),
        }
    indent = None if getattr(proof, "tree", None) else 1  # of a tree nobody reads the lines
    return strictjson.sealed(value, ensure_ascii=False, indent=indent) + "\n"


def plan_and_proof(path: str) -> tuple[Plan | RegressionPlan | None, Proof | SeparationProof]:
    """The plan and the proof of a file; no plan where `Proof.to_json` alone was written."""
    value = strictjson.read(path)
    if not isinstance(value, dict):
        raise DataError(f"{path} is not a proof of rosenblatt.")
    kind, content = value.get("rosenblatt"), value
    plan: Plan | RegressionPlan | None = None
    if kind not in ("proof", "separation") and (what := strictjson.file_called(value)):
        raise DataError(f"{path} is {what}.")
    if "rosenblatt" in value:
        if kind == "proof" and value.get("format") == 1:
            raise DataError(
                f"{path} is of an older format, in which the columns were not under the seal. "
                "Make it again with rosenblatt separable, or rosenblatt.separability in Python."
            )
        parts = ColumnParts(path, "separation" if kind == "separation" else "proof")
        parts.of_format(value, SEPARATION_FORMAT if kind == "separation" else PROOF_FORMAT)
        parts.kind = "proof"
        if value.get("seal") != strictjson.seal_of(value):
            raise DataError(f"{path} is not a proof: it was changed, its seal does not fit.")
        if kind == "separation":
            value = parts.object(value.get("content"), '"content"')
            plan = parts.regression(value)
        else:
            encoding = parts.encoding(value)
            plan = Plan(encoding, parts.answers(value.get("answers"), encoding))
        content = parts.object(value.get("proof"), '"proof"')
    try:
        reader = SeparationProof if kind == "separation" else Proof
        return plan, reader.of_content(content)
    except ProofError as wrong:
        raise DataError(f"{path} is not a proof: {str(wrong).rstrip('.')}.") from None
