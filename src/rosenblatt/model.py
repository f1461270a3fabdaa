"""Models that predict, and the files of models and proofs.

The files are readable JSON, which is validated when it is read; no code in it is executed.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import rosenblatt.files as files
from rosenblatt import __version__
from rosenblatt.errors import BadCellError, DataError, RowNames
from rosenblatt.evidence.certificate import ProofError, SavedProof
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separationproof import SeparationProof
from rosenblatt.examples import as_table
from rosenblatt.hypothesis import ZEROS, Hypothesis
from rosenblatt.pipelines import final, fold, is_ours
from rosenblatt.read.columns import (
    DECIMALS,
    KINDS,
    Category,
    Column,
    Entries,
    FormattedNumber,
    Number,
    Words,
    normalize_types,
    to_arrow,
)
from rosenblatt.read.encoding import POLICIES, Encoding, Plan, TargetColumn, spell_label
from rosenblatt.read.regression import RegressionPlan
from rosenblatt.tables import column_names
from rosenblatt.text import join_words, plural, quote_column, render_card

# How text becomes words; a word counts only if it has a weight.
WORDS = {"lower case": True, "word": r"[\p{L}\p{N}_]{2,}"}
MARK = b'{\n "rosenblatt": "model",'  # how a model file begins


@dataclass(frozen=True, eq=False)
class Model:
    """Trained classifier that predicts from the columns of a table.

    Parameters
    ----------
    encoding : Encoding
        The columns of the model, and how they are converted to numbers.
    hypothesis : Hypothesis
        The weights of these numbers, and the threshold.
    target : TargetColumn
        The target column and its labels, the negative one first.
    training : mapping
        How the model was trained, as JSON: algorithm, number of updates, mistakes, …
    width : int, optional
        Number of columns of the training file, if it had no header.
    stream : mapping, optional
        The state of the `OnlinePerceptron` that made the model, with which it continues.

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
    target: TargetColumn
    training: Mapping[str, Any] = field(default_factory=dict)
    width: int | None = None
    stream: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, estimator: Any) -> Model:
        """Create a model from a fitted estimator, or a pipeline that ends in one.

        Parameters
        ----------
        estimator : Perceptron, PocketPerceptron, FewestMistakes, OnlinePerceptron, or a Pipeline
            Fitted estimator, whose column names are kept. Imputers, scalers and one-hot encoders of
            a pipeline, also in a ColumnTransformer, become columns and weights of the model; a
            pipeline with other steps raises ValueError.
        """
        if isinstance(estimator, Model):
            return estimator
        online = getattr(estimator, "online", estimator)  # the model behind River's interface
        if hasattr(online, "to_model"):
            model: Model = online.to_model()
            return model
        last = final(estimator)
        if not is_ours(estimator):
            advice = (
                "a Perceptron, PocketPerceptron or FewestMistakes, or a pipeline that ends in one"
            )
            if hasattr(last, "best_estimator_"):
                advice = "its best_estimator_"
            raise TypeError(
                f"{type(last).__name__} is not an estimator of rosenblatt; give {advice}."
            )
        if not hasattr(last, "weights_"):
            raise ValueError(f"this {type(last).__name__} is not fitted yet; call fit first.")
        encoding, hypothesis = fold(estimator)
        labels = [label.item() if hasattr(label, "item") else label for label in last.classes_]
        target = TargetColumn("", tuple(labels))
        how: dict[str, Any] = {"algorithm": type(last).__name__}
        for key, attribute in (("updates", "n_updates_"), ("mistakes", "n_mistakes_")):
            if hasattr(last, attribute):
                how[key] = int(getattr(last, attribute))
        if last._mean is not None:
            how["average"] = True
            del how["mistakes"]  # counted for the last w, not for the average
        return cls(encoding, hypothesis, target, how)

    def _repr_html_(self) -> str:
        labels = join_words([str(label) for label in self.classes_.tolist()], joint="or")
        facts = [("features", join_words(list(self.feature_names_)))]
        for key, v in self.training.items():
            if type(v) in (int, str):
                facts.append((key, f"{v:,}" if isinstance(v, int) else v))
        return render_card(f"Model that predicts {labels}", facts)

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels; if there are two, the negative one is first."""
        return self.target.labels

    @property
    def feature_names_(self) -> tuple[str, ...]:
        """Names of the features, in the order of the weights after w0."""
        return self.encoding.features

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Augmented weights, w0 first; one row per label if more than two."""
        return self.hypothesis.w

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the score of each row, which decides the predicted label.

        With two labels, a positive score predicts the second one. With more, each row has one score
        per label, and the highest decides.

        Parameters
        ----------
        X : frame with the model's columns, list of dicts, or array of shape (n, d)
            Frames and dicts are encoded like the training data; an array has one column per
            feature.
        """
        return self.hypothesis.scores(self.numbers(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row.

        Parameters
        ----------
        X : frame with the model's columns, list of dicts, or array of shape (n, d)
            As in `decision_function`.
        """
        return self.hypothesis.predict(self.numbers(X), self.classes_)

    def numbers(self, X: Any) -> Any:
        """Encode rows as numbers, one column per feature."""
        if isinstance(X, list) and X and isinstance(X[0], Mapping):
            X = rows_to_table(X, [column.name for column in self.encoding.columns])
        if column_names(X) is not None:
            frame = normalize_types(to_arrow(X))
            try:
                numbers, rows = self.encoding.encode(frame, "X")
            except BadCellError as bad:
                where = f"X, {RowNames.of(X).join([bad.row])}, {quote_column(bad.column)}"
                raise DataError(f"{where}: {bad.what}.") from None
            if len(rows) < frame.num_rows:
                missing = np.setdiff1d(np.arange(frame.num_rows), rows)[:1].tolist()
                where = f"X, {RowNames.of(X).join(missing)}"
                raise DataError(f"{where}: a number is missing; drop the row first.")
            return numbers
        table = as_table(X)
        first = next(iter(self.encoding.columns), None)
        if self.encoding.missing == "zero" and isinstance(first, Entries):
            return first.select(table)
        if table.shape[1] != len(self.feature_names_):
            raise ValueError(
                f"X has {plural(table.shape[1], 'feature')}, but this model has "
                f"{len(self.feature_names_)}; give as many, or a frame with the model's columns."
            )
        return table

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file, completely or not at all.

        Parameters
        ----------
        path : path
            File to write, or to replace.
        """
        files.write_text(path, to_json(self))


def rows_to_table(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> Any:
    """Convert dicts to an Arrow table; absent keys become missing values."""
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pa.array(values, from_pandas=True)
        except pa.ArrowException:  # values of several types
            texts = [None if value is None else spell_label(value) for value in values]
            columns[name] = pa.array(texts, pa.string())
    return pa.table(columns)


def save(model: Any, path: str | Path) -> None:
    """Write a model or a fitted estimator to a readable JSON file.

    Parameters
    ----------
    model : Model or fitted estimator
        A model, an estimator of this package or an `OnlinePerceptron`, or a scikit-learn pipeline
        of imputers, scalers and one-hot encoders that ends in one.
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
    Model.of(model).save(path)


def load(path: str | Path) -> Model:
    """Read and validate a model file, without executing any code from it.

    Parameters
    ----------
    path : path
        File written by `save`, `rosenblatt learn` or `rosenblatt stream`.

    Returns
    -------
    Model
        The model, with `predict` and `decision_function` as in scikit-learn.
    """
    model = read_model(path)
    if len(model.target.names) < 2:
        raise DataError(
            f"{path} cannot predict yet, because its stream has had fewer than two labels. "
            "Continue the stream until it has two."
        )
    return model


def read_model(path: str | Path) -> Model:
    """Read a model file, even of a stream with too few labels to predict."""
    parts = ColumnParts(str(path), "model")
    value = parts.of_format(files.read_json(path))
    stream = value.get("stream")
    if stream is not None:
        parts.object(stream, '"stream"')
        parts.check_checksum(value)
    weights: list[Any] = []
    encoding = parts.encoding(value, weights)
    width = value.get("columns in file")
    target = parts.target(value.get("target"), encoding, 2 if stream is None else 0)
    count = len(target.names) if target.many else None
    threshold = parts.weight(value.get("threshold"), '"threshold"')
    for weight in (threshold, *weights):
        if (len(weight) if isinstance(weight, list) else None) != count:
            parts.wrong('"columns"', "do not have one weight for each label")
    w = np.array([threshold, *weights], dtype=np.float64).T
    w[..., 0] *= -1.0
    zero = ZEROS[parts.one_of(value.get("zero"), ZEROS, '"zero"')]
    return Model(
        encoding,
        Hypothesis.of(np.ascontiguousarray(w), 1.0, zero),
        target,
        parts.object(value.get("training"), '"training"'),
        None if width is None else parts.whole(width, '"columns in file"', 1),
        stream,
    )


def to_json(model: Model) -> str:
    """Return a model as JSON text, with one line per column.

    The score of a row is the sum of weight × number, minus the threshold; above 0 the second label
    is predicted. With more than two labels each weight is a list with one per label, and the label
    with the highest score is predicted. Numbers are written so that they read back to the last bit.
    """
    h, encoding = model.hypothesis, model.encoding
    columns, weights = [], iter(h.w[..., 1:].T.tolist())  # one weight per feature, in order
    for column in encoding.columns:
        if isinstance(column, Number):
            columns.append({**column.to_json(), "weight": next(weights)})
        else:
            names = column.values if isinstance(column, Category | Words) else column.features
            by_name = {name: next(weights) for name in names}
            columns.append({"kind": column.kind, "name": column.name, "weights": by_name})
    value = {
        "rosenblatt": "model",
        "format": files.KINDS["model"].format,
        "made by": f"rosenblatt {__version__}",
        "target": model.target.to_json(),
        "threshold": (-h.w[..., 0] * h.x0).tolist(),
        "zero": next(name for name, sign in ZEROS.items() if sign == h.zero),
        "missing": encoding.missing,
        "columns in file": model.width,
        "columns": columns,
        "training": dict(model.training),
    }
    if any(isinstance(column, Words) for column in encoding.columns):
        value["words"] = {**WORDS, "stop words": list(encoding.stop_words)}
    if model.stream is not None:
        value["stream"] = dict(model.stream)
        value["checksum"] = files.compute_checksum(value)
    dump = functools.partial(json.dumps, ensure_ascii=False, allow_nan=False)
    lines = {key: dump(part) for key, part in value.items()}
    lines["columns"] = "[\n  " + ",\n  ".join(map(dump, columns)) + "\n ]"
    return "{\n" + ",\n".join(f' "{key}": {text}' for key, text in lines.items()) + "\n}\n"


class ColumnParts(files.Parts):
    """Reader of the columns and the target in a model or proof file."""

    def target(self, value: Any, encoding: Encoding, least: int = 2) -> TargetColumn:
        """Read and check the target column and its labels."""
        value = self.object(value, '"target"')
        column = self.text(value.get("column"), '"target.column"')
        if column and column in [one.name for one in encoding.columns]:
            self.wrong(quote_column(column), "is both the target and a feature")
        listed, others = value.get("labels"), value.get("others", False)
        if not isinstance(listed, list) or len(listed) < least:
            self.wrong('"target.labels"', "is not a list of two labels or more")
        for label in listed:
            if not isinstance(label, str | bool):
                self.number(label, '"target.labels"')
                if isinstance(label, int) and abs(label) >= 2**63:
                    self.wrong('"target.labels"', "is too large")
        labels = tuple(listed)
        if not isinstance(others, bool) or (others and len(labels) > 2):
            self.wrong('"target.others"', "is not true or false, or there are more than two labels")
        alike = others or len({isinstance(label, str) for label in labels}) < 2
        if len(set(labels)) < len(labels) or not alike:
            self.wrong('"target.labels"', "are not different labels of the same type")
        return TargetColumn(column, labels, others)

    def weight(self, value: Any, where: str) -> Any:
        """Read and check a weight, or a list with one per label."""
        if isinstance(value, list):
            return [self.number(one, where) for one in value]
        return self.number(value, where)

    def encoding(self, value: dict[str, Any], weights: list[Any] | None = None) -> Encoding:
        """Return the checked encoding of the columns; append their weights to a list, if given."""
        listed = value.get("columns")
        if not isinstance(listed, list) or not (listed or "stream" in value):
            self.wrong('"columns"', "is not a list of columns")
        missing = self.one_of(value.get("missing"), (*POLICIES, "zero"), '"missing"')
        columns = [
            self._column(self.object(one, f"column {i}"), f"column {i}", weights)
            for i, one in enumerate(listed, 1)
        ]
        if len({column.name for column in columns}) < len(columns):
            self.wrong('"columns"', "have two columns of the same name")
        words: list[Any] = self.object(value.get("words", {}), '"words"').get("stop words", [])
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            self.wrong('"words"', "have stop words that are not a list of texts")
        return Encoding(tuple(columns), missing, tuple(words))

    def regression(self, value: dict[str, Any]) -> RegressionPlan:
        """Read and check the columns of a regression."""
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
            self.wrong('"columns"', "include the target, the weights or the groups")
        rows = self.whole(value.get("rows"), '"rows"', 1)
        return RegressionPlan(target, columns, weights, rows, groups, formula)

    def _column(self, value: dict[str, Any], where: str, weights: list[Any] | None) -> Column:
        kind = KINDS[self.one_of(value.get("kind"), KINDS, f"the kind of {where}")]
        name = self.text(value.get("name"), f"the name of {where}")
        where = f'column "{name}"'
        if issubclass(kind, Number):
            if weights is not None:
                weights.append(self.weight(value.get("weight"), f"the weight of {where}"))
            mean, spread = (
                self.number(value.get(key), f"the {key} of {where}") for key in ("mean", "spread")
            )
            if not issubclass(kind, FormattedNumber):
                return kind(name, mean, spread)
            decimal = self.one_of(value.get("decimal"), DECIMALS, f"the decimal of {where}")
            return kind(
                name, mean, spread, decimal, self.text(value.get("mark"), f"the mark of {where}")
            )
        if weights is not None:
            given = self.object(value.get("weights"), f"the weights of {where}")
            names = tuple(given)
            weights += [
                self.weight(w, f'the weight of "{key}" in {where}') for key, w in given.items()
            ]
        elif issubclass(kind, Entries):
            first = self.whole(value.get("first"), f"the first index of {where}", 0, 1)
            return Entries(name, first, self.whole(value.get("size"), f"the size of {where}", 0))
        else:
            listed, what = value.get("values"), f"the values of {where}"
            if not isinstance(listed, list) or {type(one) for one in listed} != {str}:
                self.wrong(what, "are not a list of texts")
            if len(set(listed)) < len(listed):
                self.wrong(what, "are not all different")
            names = tuple(listed)
        if not issubclass(kind, Entries):
            return kind(name, names)
        indices = [int(text) if text.removeprefix("-").isdecimal() else 0 for text in names]
        if tuple(map(str, indices)) != names or indices != sorted(set(indices)):
            self.wrong(f"the weights of {where}", "are not those of indices in order")
        return Entries.of(name, indices)


def proof_to_json(plan: Plan | RegressionPlan, proof: SavedProof) -> str:
    """Return a proof and the column types of the data as JSON text.

    One checksum covers the proof and the column types.
    """
    kind = "proof" if isinstance(plan, Plan) else "separation"
    value: dict[str, Any]
    value = {"rosenblatt": kind, "format": files.KINDS[kind].format}
    value["made by"] = f"rosenblatt {__version__}"
    if isinstance(plan, Plan):
        value["target"] = plan.target.to_json()
        value["missing"] = plan.encoding.missing
        value["columns"] = [column.to_json() for column in plan.encoding.columns]
        value["proof"] = json.loads(proof.to_json())
    else:
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
    return files.dump_with_checksum(value, ensure_ascii=False, indent=indent) + "\n"


def read_proof(path: str) -> tuple[Plan | RegressionPlan | None, Proof | SeparationProof]:
    """Read a proof file: the columns of the data, if recorded, and the proof."""
    value = files.read_json(path)
    if not isinstance(value, dict):
        raise DataError(f"{path} is not a proof file of rosenblatt.")
    kind, content = files.kind_of_file(value), value
    plan: Plan | RegressionPlan | None = None
    if kind or "rosenblatt" in value:
        parts = ColumnParts(path, "separation" if kind == "separation" else "proof")
        parts.of_format(value)
        parts.kind = "proof"
        parts.check_checksum(value)
        if kind == "separation":
            value = parts.object(value.get("content"), '"content"')
            plan = parts.regression(value)
        else:
            encoding = parts.encoding(value)
            plan = Plan(encoding, parts.target(value.get("target"), encoding))
        content = parts.object(value.get("proof"), '"proof"')
    try:
        reader = SeparationProof if kind == "separation" else Proof
        return plan, reader.from_dict(content)
    except ProofError as wrong:
        raise DataError(f"{path} is not a proof: {str(wrong).rstrip('.')}.") from None
