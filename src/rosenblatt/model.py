"""Model: a hypothesis with the encoding of the columns it answers; saved as readable JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rosenblatt import modelfile
from rosenblatt.errors import BadCellError, DataError, column_called
from rosenblatt.files import write_text
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.pipelines import final, is_ours, line_before, names_before
from rosenblatt.read.columns import Number
from rosenblatt.read.encoding import Answers, Encoding
from rosenblatt.tables import as_table, column_names


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
        What no and yes are called.
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
            names = [f"x{i}" for i in range(1, len(hypothesis.w))]
        estimator = last
        encoding = Encoding(tuple(Number(str(name)) for name in names))
        negative, positive = (
            label.item() if hasattr(label, "item") else label for label in estimator.classes_
        )
        how: dict[str, Any] = {"algorithm": type(estimator).__name__}
        for key, attribute in (("corrections", "n_updates_"), ("mistakes", "n_mistakes_")):
            if hasattr(estimator, attribute):
                how[key] = int(getattr(estimator, attribute))
        return cls(encoding, hypothesis, Answers("", negative, positive), how)

    @property
    def classes_(self) -> NDArray[Any]:
        """No and yes, in this order."""
        return self.answers.labels

    @property
    def feature_names_(self) -> tuple[str, ...]:
        """The names of the weights, without w0."""
        return self.encoding.features

    @property
    def weights_(self) -> NDArray[np.float64]:
        """The tall weights, w0 first."""
        return self.hypothesis.w

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score each row: positive for the second of `classes_`.

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
        return self.classes_[(self.hypothesis.answers(self.numbers(X)) > 0).astype(np.intp)]

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
        # Early versions of polars have their own way to Arrow and not yet the common one.
        table = frame.to_arrow() if hasattr(frame, "to_arrow") else pa.table(frame)
        try:
            found = self.encoding.encode(table, "X")
        except BadCellError as bad:
            where = f"X, row {bad.row}, {column_called(bad.column)}"
            raise DataError(f"{where}: {bad.text or 'nothing'} is not {bad.promised}.") from None
        if len(found.rows) < table.num_rows:
            missing = np.setdiff1d(np.arange(table.num_rows), found.rows)[0]
            raise DataError(f"X, row {missing}: a number is missing; drop the row first.")
        return found.X

    def save(self, path: str | Path) -> None:
        """Write the model as JSON, whole or not at all.

        Parameters
        ----------
        path : path
            Where to; what is there is replaced once the new file is complete.
        """
        write_text(path, modelfile.to_json(self))


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
    return Model(**modelfile.from_file(str(path)))
