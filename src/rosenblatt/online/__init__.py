"""The online perceptron, which predicts each example and then learns its label."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.checks as checks
import rosenblatt.rowformats as rowformats
from rosenblatt.errors import DataError, RowError, quote, with_index_labels
from rosenblatt.hypothesis import ZEROS, Hypothesis
from rosenblatt.online.memory import NOTHING, PREDICTORS, X0, DictRow, NotNumbersError, StreamMemory
from rosenblatt.online.rows import Block, BlockLabels, Labels, plain_row
from rosenblatt.online.rule import MISTAKES, RECENT, SEEN
from rosenblatt.rowformats import joint_rows
from rosenblatt.tables import LARGE, column_names
from rosenblatt.text import plural, shorten

if TYPE_CHECKING:
    from rosenblatt.model import Model
    from rosenblatt.online.raw import RawColumns

# The parameters that a state records; it records the labels separately.
PARAMETERS = (
    *("eta0", "fit_intercept", "intercept_scaling", "zero"),
    *("window", "average", "pocket", "predict_with"),
)
# Together with the longest row allowed, these limits keep every sum over a stream finite.
ETA = (1e-50, 1e50)


class OnlinePerceptron:
    """Perceptron for streams, which predicts each example and then learns its label.

    If the examples have length at most R and some linear classifier separates them with margin
    gamma, it makes at most R²/gamma² mistakes, however long the stream is and whatever its
    order. Its state is the same to the last bit whether it gets single examples or blocks.

    Parameters
    ----------
    eta0 : float, default=1.0
        Learning rate: w ← w + eta0·y·x.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    intercept_scaling : float, default=1.0
        Value x0 of the constant feature whose weight is w0.
    zero : {"mistake", "negative", "positive"}, default="mistake"
        Class of a score of 0: always a mistake, the negative or the positive class.
    window : int, default=1000
        Number of most recent examples that `mistake_rate` and the pocket use.
    average : bool, default=False
        Whether to keep the average of the weights after each example.
    pocket : bool, default=False
        Whether to keep the weights that made the fewest mistakes on the last window. In each
        window the w with the longest run of correct predictions becomes the candidate. On the
        next window candidate and pocket count their mistakes, each before learning the example,
        and the candidate replaces the pocket if it made fewer.
    predict_with : {"last", "average", "pocket"}, default="last"
        Weights that predict; choosing them here also keeps them. Until the end of the first
        window there is no pocket, and the last weights predict.
    labels : sequence, optional
        Both labels if they are known in advance; otherwise they are collected from the stream.
        The larger in sort order is +1. More than two labels must be given; each has its own w,
        and they are trained together as in `Perceptron`.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> model = rb.OnlinePerceptron()
    >>> for x, y in [({"free": 2}, "spam"), ({"hello": 1}, "ham"), ({"free": 1}, "spam")]:
    ...     print(model.predict_one(x))
    ...     model.learn_one(x, y)
    None
    spam
    spam
    >>> model.n_seen, model.n_mistakes, model.weights
    (3, 2, {'free': 2.0, 'hello': -1.0})
    """

    def __init__(
        self,
        *,
        eta0: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        zero: str = "mistake",
        window: int = 1000,
        average: bool = False,
        pocket: bool = False,
        predict_with: str = "last",
        labels: Any = None,
    ) -> None:
        self.eta0 = _between("eta0", eta0, *ETA)
        self.fit_intercept = bool(fit_intercept)
        self.intercept_scaling = _between("intercept_scaling", intercept_scaling, *ETA)
        self.zero = checks.one_of("zero", zero, ZEROS)
        self.window = checks.whole_number("window", window, least=1)
        self.predict_with = checks.one_of("predict_with", predict_with, PREDICTORS)
        self.average = bool(average) or predict_with == "average"
        self.pocket = bool(pocket) or predict_with == "pocket"
        self._x0 = self.intercept_scaling if self.fit_intercept else 0.0
        known = Labels.of(labels)
        self._many = len(known.met) > 2
        self._averaged = predict_with == "average"  # needs the score itself, not only its sign
        self._memory = StreamMemory(self.window, self.average, self.pocket, max(2, len(known.met)))
        self._set_labels(known)
        self._row = DictRow(self._x0)  # the current example
        self._raw: RawColumns | None = None  # if rows have to be encoded

    def __repr__(self) -> str:
        return (
            f"OnlinePerceptron({plural(self.n_seen, 'example')} seen, "
            f"{plural(self.n_mistakes, 'mistake')})"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_row": DictRow(self._x0)}

    @property
    def n_seen(self) -> int:
        """Number of examples learned from."""
        return self._memory.counts[SEEN]

    @property
    def n_mistakes(self) -> int:
        """Number of examples misclassified before they were learned; each caused an update."""
        return self._memory.counts[MISTAKES]

    @property
    def mistake_rate(self) -> float:
        """Fraction of mistakes among the last `window` examples; NaN before the first."""
        recent = min(self.n_seen, self.window)
        return self._memory.counts[RECENT] / recent if recent else math.nan

    @property
    def radius(self) -> float:
        """Norm R of the longest example so far, including the constant feature x0."""
        return math.sqrt(self._memory.squared_radius)

    @property
    def labels(self) -> tuple[Any, ...]:
        """Known labels in sort order; if there are two, the first is the negative one."""
        return self._labels.met

    @property
    def weights(self) -> dict[Any, Any]:
        """Nonzero weights used to predict, as a dict by feature.

        With more than two labels, one such dict for each label.
        """
        found = [
            {name: v for name, v in w.items() if v != 0 and name != X0}
            for w in self._memory.predicting_weights(self.predict_with)
        ]
        return dict(zip(self.labels, found, strict=True)) if self._many else found[0]

    @property
    def intercept(self) -> Any:
        """Intercept used to predict; with more than two labels, a dict by label."""
        found = [w[X0] * self._x0 for w in self._memory.predicting_weights(self.predict_with)]
        return dict(zip(self.labels, found, strict=True)) if self._many else found[0]

    def bound(self, margin: float) -> float:
        """Return the Novikoff bound on the number of mistakes for a margin.

        It holds for streams whose examples are no longer than `radius`.

        Parameters
        ----------
        margin : float
            gamma: the minimum distance of an example from a separating hyperplane, x0 included.
            With more than two labels, the margin of the pairs of an example and a competing
            label, whose vectors are longer by a factor of √2.

        Examples
        --------
        >>> model = OnlinePerceptron()
        >>> model.learn_one({"a": 3.0}, True)
        >>> model.bound(0.5)
        40.0
        """
        margin = checks.positive_number("margin", margin)
        return (1 + self._many) * self._memory.squared_radius / margin / margin

    def predict_one(self, x: Any) -> Any:
        """Predict the label of one example, or None before any label is known.

        Parameters
        ----------
        x : dict or 1-d array
            Named features, or an array whose features are named 0, 1, … by position.
        """
        row = self._score(x)
        if self._many:
            return self.labels[self._memory.best_label(row, self._zero, self.predict_with)]
        last = self.predict_with == "last"
        s = row.s if last else self._memory.predicting_score(row, self.predict_with)
        if s > 0 or (s == 0 and self.zero == "positive"):
            return self._yes
        return self._no

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn from one labeled example.

        Parameters
        ----------
        x : dict or 1-d array
            Named features, or an array whose features are named 0, 1, … by position.
        y : label
            The label of x.
        """
        row = self._row
        # The score of a prediction just made is not computed again.
        if x is not row.x or x != row.copy:
            self._score(x)
        row.copy = None
        try:
            row.step = self._steps[y]
        except (KeyError, TypeError):
            self._add_label(self._labels.learn(y))
            row = self._score(x)
            row.copy, row.step = None, self._steps[y]
        self._memory.learn_row(row, self._zero, self._places[y] if self._many else None)
        row.x = NOTHING  # keep no reference to the caller's data

    def predict_many(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row of a block.

        Parameters
        ----------
        X : array, sparse matrix, frame or Arrow batch of shape (n, d)
            Rows; columns without names are named 0, 1, … by position.
        """
        if self._raw is not None and column_names(X) is not None:
            return np.array([self.predict_one(row) for row in _rows_of(X)])
        block = Block.of(X, self._memory)
        with with_index_labels(X):
            block.check()
        rows: Any = block.rows(self._x0, np.zeros(block.n))
        if self._many:
            rows = joint_rows(rows, np.full(block.n, rowformats.NONE, np.int32), len(self.labels))
        self._row.copy = None  # weights are stored by column from here on: the row is scored again
        predictions = self._memory.predict_block(
            rows, block.layout, ZEROS[self.zero], self.predict_with
        )
        return self._labels.from_predictions(predictions)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a block in order.

        If any row is invalid, ValueError is raised and none is learned.

        Parameters
        ----------
        X : array, sparse matrix, frame or Arrow batch of shape (n, d)
            Rows; columns without names are named 0, 1, … by position.
        y : sequence of length n
            Their labels.
        """
        if self._learn_raw(X, y, every=True) is None:
            self._learn_block(X, y, every=True)

    def predict_then_learn(self, X: Any, y: Any) -> NDArray[Any]:
        """Predict each row of a block, then learn it if it has a label.

        Parameters
        ----------
        X : array, sparse matrix, frame or Arrow batch of shape (n, d)
            Rows.
        y : sequence of length n
            Their labels; None or NaN where a label is missing.

        Returns
        -------
        array of n labels
            None for rows before any label was known.
        """
        if (predictions := self._learn_raw(X, y, every=False)) is not None:
            return np.array(predictions)
        known = self._labels
        parts = []
        for labels, signs in self._learn_block(X, y, every=False):
            part = labels.from_predictions(signs)
            if labels != known:  # the first row was predicted before its label was known
                part = part.astype(object)
                part[0] = known.met[0] if known.met else None
            known = labels
            parts.append(part)
        return parts[0] if len(parts) == 1 else np.concatenate([p.astype(object) for p in parts])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a JSON file.

        `OnlinePerceptron.load`, `rb.load` and `rosenblatt predict` read it.

        Parameters
        ----------
        path : path
            File to write; an existing file is replaced only when the new one is complete.
        """
        self.to_model().save(fspath(path))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> OnlinePerceptron:
        """Read a model file and return an online perceptron.

        No code in the file is executed. A model that `save` wrote is restored to the last bit. A
        model that `rosenblatt stream` wrote accepts rows like those of its data, with categories
        and text, and ignores other columns. So does a model that `rosenblatt learn` wrote, whose
        weights are the first w.

        Parameters
        ----------
        path : path
            File to read.
        """
        from rosenblatt.model import read_model
        from rosenblatt.online.raw import RawColumns
        from rosenblatt.read.columns import Entries

        found = read_model(fspath(path))
        if found.stream is None:
            model = cls._from_weights(found)
        else:
            model = cls.from_state(found.stream, str(path))
        raw = RawColumns(found.encoding, found.target.column, found.width)
        by_index = any(isinstance(column, Entries) for column in raw.columns.values())
        if (found.stream is None or raw.target) and not by_index:  # rows need encoding
            model._raw = raw
        return model

    @classmethod
    def _from_weights(cls, found: Model) -> OnlinePerceptron:
        """Create an online perceptron that starts with the weights of a model."""
        from rosenblatt.online.raw import features_of

        w, names = found.weights_ * 1.0, features_of(found.encoding)
        w[..., 0] *= found.hypothesis.x0
        if len(set(names)) < len(names):
            raise DataError("two columns of this model have features with the same name.")
        zero = next(name for name, sign in ZEROS.items() if sign == found.hypothesis.zero)
        labels = found.target.spellings if found.target.others else list(found.target.names)
        if labels != sorted(labels):  # one label against the rest
            w, zero = -w, "negative" if zero == "positive" else "positive"
        model = cls(zero=zero, labels=labels)
        for vector, weights in zip(model._memory.V, np.atleast_2d(w).tolist(), strict=False):
            vector.update(zip((X0, *names), weights, strict=True))
        return model

    def to_model(self, raw: RawColumns | None = None) -> Model:
        """Return a `Model` that can be saved, with the weights used to predict.

        It holds also the state from which learning can continue.

        Parameters
        ----------
        raw : RawColumns, optional
            The columns of the rows that were encoded as features.
        """
        from rosenblatt.model import Model
        from rosenblatt.online.raw import RawColumns
        from rosenblatt.read.encoding import Encoding, TargetColumn

        state = self.state()
        for what, names, types in (
            ("feature", state["features"], (str, int)),
            ("label", state["labels"], (str, int, float, bool)),
        ):
            for name in names:
                if type(name) not in types:
                    raise ValueError(
                        f"the {what} {quote(name)} cannot be saved: in a file, feature names must "
                        "be text or integers, and labels text or numbers."
                    )
        raw = raw or self._raw or RawColumns(Encoding((), "zero"))
        vectors = self._memory.predicting_weights(self.predict_with)
        used = dict.fromkeys(name for w in vectors for name, v in w.items() if v != 0)
        used.pop(X0, None)
        encoding, features = raw.of_features(used)
        w = np.array(
            [[w[X0] * self._x0, *(w.get(name, 0.0) + 0.0 for name in features)] for w in vectors]
        )
        training = {
            "algorithm": "online perceptron",
            "predict with": self.predict_with,
            "examples": self.n_seen,
            "mistakes": self.n_mistakes,
        }
        return Model(
            encoding,
            Hypothesis.of(w if self._many else w[0], 1.0, ZEROS[self.zero]),
            TargetColumn(raw.target, self.labels),
            training,
            raw.width,
            state,
        )

    def state(self) -> dict[str, Any]:
        """Return parameters, weights and counts as plain values that JSON can hold."""
        return {
            "parameters": {name: getattr(self, name) for name in PARAMETERS},
            "labels": list(self._labels.met),
            **self._memory.state(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], source: str = "the state") -> OnlinePerceptron:
        """Create an online perceptron from what `state` returned, after checking it."""
        try:
            # This is checked before memory is allocated.
            if len(state["window"]) != 2 * state["parameters"]["window"]:
                raise ValueError("its record of recent mistakes does not have `window` entries")
            known = state["labels"] if len(state["labels"]) > 2 else None
            model = cls(**state["parameters"], labels=known)
            model._memory.restore(state)
            labels = Labels.of(known)
            for label in state["labels"]:
                labels = labels.learn(label)
            if list(labels.met) != state["labels"] or (not labels.met and model.n_seen):
                raise ValueError("its labels are not unique and sorted")
            model._set_labels(labels)
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            why = quote(error)
            raise ValueError(f"{source} is not an online perceptron: {why}.") from None
        except ValueError as error:
            why = shorten(str(error), most=200)
            raise ValueError(f"{source} is not an online perceptron: {why}") from None
        return model

    def _score(self, x: Any) -> DictRow:
        """Convert an example to a row of Python numbers and compute its score."""
        memory, row = self._memory, self._row
        row.copy = None
        if memory.array is not None:
            memory.by_name()
        if self._raw is not None and (isinstance(x, Mapping) or type(x).__name__ == "Series"):
            x = self._raw.encode(dict(x.items()), memory.V[0])
        if type(x) is dict:
            try:
                values = tuple(x.values())
                row.length = math.hypot(*values)
                if row.length < LARGE:  # smaller integers are exact as floats
                    row.x = x
                    row.s = (
                        row.score(memory.V[0]) if self._averaged else memory.score_sign(row, values)
                    )
                    row.copy = x.copy()
                    return row
            except (TypeError, OverflowError, NotNumbersError):
                pass
        row.x = plain_row(x, memory)
        row.length, row.s = math.hypot(*row.x.values()), row.score(memory.V[0])
        return row

    def _set_labels(self, labels: Labels) -> None:
        """Set the known labels and their signs; a single known label has the sign +1."""
        self._labels = labels
        self._no: Any = labels.met[0] if labels.met else None
        self._yes: Any = labels.met[-1] if labels.met else None
        signs = [1 if self._many else labels.sign(label) or 0 for label in labels.met]
        self._steps = {y: (self.eta0 * sign,) for y, sign in zip(labels.met, signs, strict=True)}
        self._places = dict(zip(labels.met, range(len(labels.met)), strict=True))
        self._zero = ZEROS[self.zero] if labels.both else 0

    def _add_label(self, labels: Labels) -> None:
        """Add a label; if it is the second, correct the weights for the sign of the first label.

        If a score of 0 predicts the first label, its examples caused no mistakes, and the weights
        are reset to 0. Else, if it is now the negative label, the weights are negated.
        """
        if labels.both and self._labels.met:
            first = labels.sign(self._labels.met[0])
            if first == ZEROS[self.zero]:
                self._memory.forget_mistakes()
            elif first == -1:
                self._memory.flip_signs()
        self._set_labels(labels)

    def _learn_raw(self, X: Any, y: Any, every: bool) -> list[Any] | None:
        """Predict and learn rows with text or categories; return None if X needs no encoding."""
        if self._raw is None or column_names(X) is None:
            return None
        rows = _rows_of(X)
        given = BlockLabels.of(y, len(rows), every)
        given.plan(self._labels)  # before the first row is learned
        for n, row in enumerate(rows):
            try:
                plain_row(self._raw.encode(row, ()))
            except ValueError as error:
                raise RowError("X, ", n, f": {str(error).removeprefix('x, ')}") from None
        predictions = []
        for n, row in enumerate(rows):
            predictions.append(self.predict_one(row))
            if given.missing is None or not given.missing[n]:
                self.learn_one(row, given.values[n])
        return predictions

    def _learn_block(self, X: Any, y: Any, every: bool) -> list[tuple[Labels, NDArray[Any]]]:
        """Predict and learn a block, split where a new label appears.

        Returns the known labels and the predictions of each part.
        """
        block = Block.of(X, self._memory)
        with with_index_labels(X):
            given = BlockLabels.of(y, block.n, every)
            plan = given.plan(self._labels)
            if len(plan) > 1:
                block.check()  # before the first part is learned
            self._row.copy = None
            parts = []
            for begin, end, labels in plan:
                if labels is not self._labels:
                    block.check()
                    self._add_label(labels)
                if self._many:
                    places = given.places(labels, begin, end)
                    steps = np.full(len(places), self.eta0)
                    rows: Any = block.rows(self._x0, steps, begin)
                    rows = joint_rows(rows, places, len(labels.met))
                else:
                    steps = given.steps(labels, self.eta0, begin, end)
                    rows = block.rows(self._x0, steps, begin)
                try:
                    signs = self._memory.learn_block(
                        rows, block.layout, self._zero, self.predict_with
                    )
                except NotNumbersError:
                    block.check()
                    raise
                parts.append((labels, signs))
            return parts


def _rows_of(frame: Any) -> list[dict[str, Any]]:
    from rosenblatt.read.columns import to_arrow

    rows: list[dict[str, Any]] = to_arrow(frame).to_pylist()
    return rows


def _between(name: str, value: Any, least: float, most: float) -> float:
    if not isinstance(value, numbers.Real) or not least <= float(value) <= most:
        raise ValueError(f"{name} is {value!r}; give a number between {least:g} and {most:g}.")
    return float(value)
