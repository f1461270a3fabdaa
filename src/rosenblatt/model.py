"""Models and their files, and the files of proofs.

Both are readable JSON, which is validated when it is read; no code in it is executed.
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
from rosenblatt.evidence.certificate import ProofError, SavedProof
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separationproof import SeparationProof
from rosenblatt.examples import as_table
from rosenblatt.files import write_text
from rosenblatt.hypothesis import ZEROS, Hypothesis
from rosenblatt.pipelines import final, fold, is_ours
from rosenblatt.read.columns import (
    DECIMALS,
    KINDS,
    Category,
    Column,
    Entries,
    Number,
    Written,
    normalize_types,
    to_arrow,
)
from rosenblatt.read.encoding import POLICIES, Encoding, TargetColumn
from rosenblatt.read.plan import Plan
from rosenblatt.read.regression import RegressionPlan
from rosenblatt.rownames import RowNames
from rosenblatt.tables import column_names
from rosenblatt.text import join_words, quote_column, render_card

FORMAT = 1
PROOF_FORMAT, SEPARATION_FORMAT = 3, 2
MARK = b'{\n "rosenblatt": "model",'  # how a model file begins


@dataclass(frozen=True, eq=False)
class Model:
    """A trained classifier with the encoding of its columns.

    Parameters
    ----------
    encoding : Encoding
        The columns of the model, and how they are converted to numbers.
    hypothesis : Hypothesis
        The weights of these numbers, and the threshold.
    answers : TargetColumn
        The target column and its labels, the negative one first.
    learnt : mapping
        How the model was trained, as JSON: algorithm, number of updates, mistakes, …
    width : int, optional
        Number of columns of the training file, if it had no header.

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
    answers: TargetColumn
    learnt: Mapping[str, Any] = field(default_factory=dict)
    width: int | None = None

    @classmethod
    def of(cls, estimator: Any) -> Model:
        """Create a model from a fitted estimator, or from a pipeline that ends in one.

        Parameters
        ----------
        estimator : Perceptron, PocketPerceptron, FewestMistakes, or a Pipeline
            Fitted estimator, whose column names are kept. Imputers, scalers and one-hot encoders of
            a pipeline, also in a ColumnTransformer, become columns and weights of the model; a
            pipeline with other steps raises ValueError.
        """
        last = final(estimator)
        if not is_ours(estimator):
            raise TypeError(_unsupported(last))
        if not hasattr(last, "weights_"):
            raise ValueError(f"this {type(last).__name__} is not fitted yet; call fit first.")
        encoding, hypothesis = fold(estimator)
        estimator = last
        labels = [label.item() if hasattr(label, "item") else label for label in last.classes_]
        answers = TargetColumn("", tuple(labels))
        how: dict[str, Any] = {"algorithm": type(estimator).__name__}
        for key, attribute in (("corrections", "n_updates_"), ("mistakes", "n_mistakes_")):
            if hasattr(estimator, attribute):
                how[key] = int(getattr(estimator, attribute))
        if estimator._mean is not None:
            how["average"] = True
            del how["mistakes"]  # those of the last w, not of the average
        return cls(encoding, hypothesis, answers, how)

    def _repr_html_(self) -> str:
        labels = join_words([str(label) for label in self.classes_.tolist()], joint="or")
        facts = [("features", join_words(list(self.feature_names_)))]
        for key, v in self.learnt.items():
            if type(v) in (int, str):
                facts.append((key, f"{v:,}" if isinstance(v, int) else v))
        return render_card(f"Model that predicts {labels}", facts)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels; of two, the negative one first."""
        return self.answers.labels

    @property
    def feature_names_(self) -> tuple[str, ...]:
        """The names of the features, which are those of the weights without w0."""
        return self.encoding.features

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Augmented weights, w0 first; one row per label if there are more than two."""
        return self.hypothesis.w

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score each row: positive for the second of `classes_`, or a score for each of them.

        Parameters
        ----------
        X : frame with the model's columns, or array of shape (n, d)
            A frame is encoded like the training data; an array has one column per feature.
        """
        return self.hypothesis.scores(self.numbers(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row.

        Parameters
        ----------
        X : frame with the model's columns, or array of shape (n, d)
            As in `decision_function`.
        """
        return self.hypothesis.predict(self.numbers(X), self.classes_)

    def numbers(self, X: Any) -> Any:
        """Encode rows as the matrix that the weights multiply."""
        if column_names(X) is not None:
            return self._encoded(X)
        table = as_table(X)
        if table.shape[1] != len(self.feature_names_):
            raise ValueError(
                f"X has {table.shape[1]} features, but this model has "
                f"{len(self.feature_names_)}; give as many, or a frame with the model's columns."
            )
        return table

    def _encoded(self, frame: Any) -> Any:
        table = normalize_types(to_arrow(frame))
        try:
            found = self.encoding.encode(table, "X")
        except BadCellError as bad:
            where = f"X, {RowNames.of(frame).join([bad.row])}, {quote_column(bad.column)}"
            raise DataError(f"{where}: {bad.what}.") from None
        if len(found.rows) < table.num_rows:
            missing = np.setdiff1d(np.arange(table.num_rows), found.rows)[:1].tolist()
            where = f"X, {RowNames.of(frame).join(missing)}"
            raise DataError(f"{where}: a number is missing; drop the row first.")
        return found.X

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file, atomically.

        Parameters
        ----------
        path : path
            File to write, or to replace.
        """
        write_text(path, to_json(self))


def _unsupported(estimator: Any) -> str:
    """Explain why an object cannot be saved as a model, and what to do instead."""
    problem = f"{type(estimator).__name__} is not an estimator of rosenblatt"
    if hasattr(estimator, "best_estimator_"):
        return f"{problem}; give its best_estimator_."
    if callable(getattr(estimator, "save", None)):
        return f"{problem}'s model files; call its own save(path)."
    return (
        f"{problem}; give a Perceptron, PocketPerceptron or FewestMistakes, or a pipeline that "
        "ends in one."
    )


def save(model: Any, path: str | Path) -> None:
    """Write a model or a fitted estimator to a readable JSON file.

    Parameters
    ----------
    model : Model or fitted estimator
        A model, an estimator of this package, or a scikit-learn pipeline of imputers, scalers and
        one-hot encoders that ends in one.
    path : path
        File to write, or to replace.

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
    """Read a model file, which is validated; no code in it is executed.

    Parameters
    ----------
    path : path
        File written by `save` or by `rosenblatt learn`.

    Returns
    -------
    Model
        The model, with `predict` and `decision_function` as in scikit-learn.
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
    """Return the text of a model file.

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
    """Return each column with its weights, keyed by the values they belong to."""
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
    """Reads the columns and the target of a model or a proof."""

    def answers(self, value: Any, encoding: Encoding) -> TargetColumn:
        """Read the target column, which must not be a feature, and the labels."""
        value = self.object(value, '"answers"')
        column = self.text(value.get("column"), '"answers.column"')
        if column and column in [one.name for one in encoding.columns]:
            self.wrong(quote_column(column), "has the answers and is among the features")
        if "labels" in value:
            return TargetColumn(column, self._labels(value["labels"]))
        negative, positive = (
            self._label(value.get(key), f'"answers.{key}"') for key in ("negative", "positive")
        )
        others = value.get("others", False)
        if not isinstance(others, bool):
            self.wrong('"answers.others"', "is not true or false")
        alike = others or isinstance(negative, str) == isinstance(positive, str)
        if negative == positive or not alike:
            self.wrong('"answers"', "are not two different labels of one kind")
        return TargetColumn(column, (negative, positive), others)

    def _labels(self, values: Any) -> tuple[Any, ...]:
        """Read three or more different labels of one type."""
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
        """Read a number, or a list of numbers with one per label."""
        if isinstance(value, list):
            return [self.number(one, where) for one in value]
        return self.number(value, where)

    def encoding(self, value: dict[str, Any], weights: list[Any] | None = None) -> Encoding:
        """Read the encoding of the columns, and append their weights to a list if given."""
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
        """Read the columns of a regression: numbers and categories."""
        columns = self.encoding(value).columns
        for column in columns:
            if not isinstance(column, Number | Category):
                self.wrong(quote_column(column.name), "is neither numbers nor categories")
        names, listed = [column.name for column in columns], value.get("target")
        weights, groups, formula = (
            None if value.get(key) is None else self.text(value[key], f'"{key}"')
            for key in ("weights", "groups", "formula")
        )
        if not isinstance(listed, list) or (len(listed) != (formula is None) and len(listed) != 2):
            self.wrong('"target"', "is not a list of one column or two")
        target = tuple(self.text(one, '"target"') for one in listed)
        if not formula and ({*target, weights, groups} & set(names) or weights in target):
            self.wrong('"columns"', "have the target, the weights or the groups among them")
        rows = self.whole(value.get("rows"), '"rows"', 1)
        return RegressionPlan(target, columns, weights, rows, groups, formula)

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


def proof_to_json(plan: Plan | RegressionPlan, proof: SavedProof) -> str:
    """Return the text of a proof file, with the column types needed to check it on a file.

    One checksum covers both.
    """
    value: dict[str, Any]
    value = {"rosenblatt": "proof", "format": PROOF_FORMAT, "made by": f"rosenblatt {__version__}"}
    if isinstance(plan, Plan):
        value["answers"] = plan.target.to_json()
        value["missing"] = plan.encoding.missing
        value["columns"] = [column.to_json() for column in plan.encoding.columns]
        value["proof"] = json.loads(proof.to_json())
    else:
        value |= {"rosenblatt": "separation", "format": SEPARATION_FORMAT}
        value["content"] = {
            "target": list(plan.target),
            "columns": [column.to_json() for column in plan.columns],
            "missing": "drop",
            "weights": plan.weights,
            "groups": plan.groups,
            "formula": plan.formula,
            "rows": plan.rows,
            "proof": json.loads(proof.to_json()),
        }
    indent = None if getattr(proof, "tree", None) else 1  # trees are too long to be read
    return strictjson.dump_with_checksum(value, ensure_ascii=False, indent=indent) + "\n"


def plan_and_proof(path: str) -> tuple[Plan | RegressionPlan | None, Proof | SeparationProof]:
    """Read a proof file; the plan is None for the text of `Proof.to_json` alone."""
    value = strictjson.read(path)
    if not isinstance(value, dict):
        raise DataError(f"{path} is not a proof of rosenblatt.")
    kind, content = value.get("rosenblatt"), value
    plan: Plan | RegressionPlan | None = None
    if kind not in ("proof", "separation") and (what := strictjson.describe_file(value)):
        raise DataError(f"{path} is {what}.")
    if "rosenblatt" in value:
        if kind == "proof" and value.get("format") in (1, 2):
            raise DataError(
                f"{path} has an older format. "
                "Create it again with rosenblatt separable, or rosenblatt.separability in Python."
            )
        parts = ColumnParts(path, "separation" if kind == "separation" else "proof")
        parts.of_format(value, SEPARATION_FORMAT if kind == "separation" else PROOF_FORMAT)
        parts.kind = "proof"
        if value.get("checksum") != strictjson.compute_checksum(value):
            raise DataError(
                f"{path} is not a proof: its checksum does not match, so it was changed."
            )
        if kind == "separation":
            value = parts.object(value.get("content"), '"content"')
            plan = parts.regression(value)
        else:
            encoding = parts.encoding(value)
            plan = Plan(encoding, parts.answers(value.get("answers"), encoding))
        content = parts.object(value.get("proof"), '"proof"')
    try:
        reader = SeparationProof if kind == "separation" else Proof
        return plan, reader.from_dict(content)
    except ProofError as wrong:
        raise DataError(f"{path} is not a proof: {str(wrong).rstrip('.')}.") from None
