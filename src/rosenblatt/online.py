"""The online perceptron: predict each example as it comes, then learn its answer."""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Mapping
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt.checks as checks
import rosenblatt.files as files
import rosenblatt.kernels as kernels
from rosenblatt.algorithms.memory import ASK, NOTHING, X0, DictRow, NotNumbersError, StreamMemory
from rosenblatt.algorithms.stream import MISTAKES, RECENT, SEEN
from rosenblatt.errors import quoted, with_index_labels
from rosenblatt.examples import joint_rows
from rosenblatt.hypothesis import ZEROS
from rosenblatt.rows import Block, BlockAnswers, Labels, plain_row
from rosenblatt.tables import LARGE
from rosenblatt.words import counted, shortened

KIND = "online perceptron"
# What a state has of them; its labels stand beside.
PARAMETERS = (
    *("eta0", "fit_intercept", "intercept_scaling", "zero"),
    *("window", "average", "pocket", "predict_with"),
)
# Together with the longest row allowed, these keep every sum of a stream finite.
ETA = (1e-50, 1e50)


class OnlinePerceptron:
    """The perceptron for a stream: it predicts an example, then learns the answer.

    On a stream whose examples have length at most R and a line answers them all with margin
    gamma, it makes at most R²/gamma² mistakes, however long the stream is and whatever its
    order. Whether it is given one example or one block at a time, its state is the same to
    the last bit.

    Parameters
    ----------
    eta0 : float, default=1.0
        The length of a correction: w ← w + eta0·y·x.
    fit_intercept : bool, default=True
        Whether there is a w0.
    intercept_scaling : float, default=1.0
        x0, the constant feature that w0 multiplies.
    zero : {"mistake", "negative", "positive"}, default="mistake"
        What sign(0) means: always a mistake, -1 or +1.
    window : int, default=1000
        How many of the last examples `mistake_rate` and the pocket look at.
    average : bool, default=False
        Whether the average of the weights after each example is kept.
    pocket : bool, default=False
        Whether the weights that did best on the last window are kept. In each window the w
        with the longest run of right answers becomes the rival; on the next window, which
        neither has learnt from when it is judged, rival and pocket count their mistakes, and
        the rival takes the pocket's place if it made fewer.
    predict_with : {"last", "average", "pocket"}, default="last"
        The weights that predict. They are kept if they are asked for here. Until the first
        window has ended there is no pocket, and the last weights predict.
    labels : sequence, optional
        Both labels where they are known; otherwise they are learnt as they come. The larger
        in sort order is +1. More than two have a w each, learnt together as by `Perceptron`, and
        have to be known.

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
        self.predict_with = checks.one_of("predict_with", predict_with, ASK)
        self.average = bool(average) or predict_with == "average"
        self.pocket = bool(pocket) or predict_with == "pocket"
        self._x0 = self.intercept_scaling if self.fit_intercept else 0.0
        known = Labels.of(labels)
        self._many = len(known.met) > 2
        self._averaged = predict_with == "average"  # which takes the score itself, not its sign
        self._memory = StreamMemory(self.window, self.average, self.pocket, max(2, len(known.met)))
        self._take_labels(known)
        self._row = DictRow(self._x0)  # the one that is predicted or learnt now

    def __repr__(self) -> str:
        return (
            f"OnlinePerceptron({counted(self.n_seen, 'example')} seen, "
            f"{counted(self.n_mistakes, 'mistake')})"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_row": DictRow(self._x0)}

    @property
    def n_seen(self) -> int:
        """The number of examples learnt from."""
        return self._memory.counts[SEEN]

    @property
    def n_mistakes(self) -> int:
        """The mistakes of the last weights as they went, which is the number of corrections."""
        return self._memory.counts[MISTAKES]

    @property
    def mistake_rate(self) -> float:
        """The share of mistakes among the last `window` examples; NaN before the first."""
        recent = min(self.n_seen, self.window)
        return self._memory.counts[RECENT] / recent if recent else math.nan

    @property
    def radius(self) -> float:
        """R so far: the length of the longest example, x0 included."""
        return math.sqrt(self._memory.squared_radius)

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels met so far, -1 first once both are known."""
        return self._labels.met

    @property
    def weights(self) -> dict[Any, Any]:
        """The weights that predict, by feature; those of 0 left out.

        Of more than two labels, such a dict for each label.
        """
        each = self._predicting()
        return each if self._many else each[None]

    @property
    def intercept(self) -> Any:
        """What the weights that predict add to every score; of more labels, to that of each."""
        places = range(len(self.labels) if self._many else 1)
        each = [self._memory.predicting(self.predict_with, k)[X0] * self._x0 for k in places]
        return dict(zip(self.labels, each, strict=True)) if self._many else each[0]

    def _predicting(self) -> dict[Any, dict[Hashable, float]]:
        """The weights that predict, for each label of more than two."""
        found = {}
        for place, label in enumerate(self.labels if self._many else (None,)):
            weights = self._memory.predicting(self.predict_with, place)
            found[label] = {name: v for name, v in weights.items() if v != 0 and name != X0}
        return found

    def bound(self, margin: float) -> float:
        """How many mistakes the theorem allows on examples no longer than R so far.

        Parameters
        ----------
        margin : float
            gamma: how far from the line each example is that it answers, x0 included; of more
            than two labels, of the rows against rivals, which are longer by the root of 2.

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
        """Answer one example with a label, or None before any label is known.

        Parameters
        ----------
        x : dict or 1-d array
            Named features, or features named 0, 1, … by their place.
        """
        row = self._take(x)
        if self._many:
            return self.labels[self._memory.highest(row, self._zero, self.predict_with)]
        s = row.s if self.predict_with == "last" else self._memory.asked(row, self.predict_with)
        if s > 0 or (s == 0 and self.zero == "positive"):
            return self._yes
        return self._no

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn the answer of one example.

        Parameters
        ----------
        x : dict or 1-d array
            Named features, or features named 0, 1, … by their place.
        y : label
            Its answer.
        """
        row = self._row
        # The score that was predicted with a moment ago is not made again.
        if x is not row.x or x != row.copy:
            self._take(x)
        row.copy = None
        try:
            row.step = self._steps[y]
        except (KeyError, TypeError):
            self._meet(self._labels.learn(y))
            row = self._take(row.x)
            row.copy, row.step = None, self._steps[y]
        self._memory.learn_row(row, self._zero, self._places[y] if self._many else None)
        row.x = NOTHING  # what is given is not kept

    def predict_many(self, X: Any) -> NDArray[Any]:
        """Answer each row of a block.

        Parameters
        ----------
        X : array, sparse matrix, frame or Arrow batch of shape (n, d)
            The rows; columns without names are named 0, 1, … by their place.
        """
        block = Block.of(X, self._memory)
        with with_index_labels(X):
            block.check()
        rows: Any = block.rows(self._x0, np.zeros(block.n))
        if self._many:
            rows = joint_rows(rows, np.full(block.n, kernels.NONE, np.int32), len(self.labels))
        answers = self._memory.predict_block(
            rows, block.layout, ZEROS[self.zero], self.predict_with
        )
        return self._labels.named(answers)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a block in their order; all of it, or none if any row is bad.

        Parameters
        ----------
        X : array, sparse matrix, frame or Arrow batch of shape (n, d)
            The rows; columns without names are named 0, 1, … by their place.
        y : sequence of length n
            Their answers.
        """
        self._learn_block(X, y, every=True)

    def predict_then_learn(self, X: Any, y: Any) -> NDArray[Any]:
        """Predict each row of a block before it is learnt; rows without an answer are not learnt.

        Parameters
        ----------
        X : array, sparse matrix, frame or Arrow batch of shape (n, d)
            The rows.
        y : sequence of length n
            Their answers, None or NaN where there is none.

        Returns
        -------
        array of n labels
            None for rows before any label was known.
        """
        known = self._labels
        parts = []
        for labels, signs in self._learn_block(X, y, every=False):
            part = labels.named(signs)
            if labels != known:  # the row that brought a label was predicted without it
                part = part.astype(object)
                part[0] = known.met[0] if known.met else None
            known = labels
            parts.append(part)
        return parts[0] if len(parts) == 1 else np.concatenate([p.astype(object) for p in parts])

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a JSON file, all of it or nothing.

        Parameters
        ----------
        path : path
            The file; an old one is replaced only by a whole new one.
        """
        state = self.state()
        for name in (*state["features"], *state["labels"]):
            if type(name) not in (str, int, float, bool):
                raise ValueError(
                    f"{quoted(name)} cannot be saved: features and labels must be named by text or "
                    "numbers to be kept in a file."
                )
        files.write_sealed(path, KIND, state)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> OnlinePerceptron:
        """Read what `save` wrote: the same model to the last bit. Runs no code from the file.

        Parameters
        ----------
        path : path
            The file.
        """
        return cls.from_state(files.read_sealed(path, KIND), str(path))

    def state(self) -> dict[str, Any]:
        """Everything as plain values, the same however the stream was cut into calls."""
        return {
            "parameters": {name: getattr(self, name) for name in PARAMETERS},
            "labels": list(self._labels.met),
            **self._memory.state(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], source: str = "the state") -> OnlinePerceptron:
        """The model of a state; refuses with one sentence what does not fit together."""
        try:
            if len(state["window"]) != 2 * state["parameters"]["window"]:  # before it is made
                raise ValueError("the last window is not one bit an example")
            known = state["labels"] if len(state["labels"]) > 2 else None
            model = cls(**state["parameters"], labels=known)
            model._memory.take_state(state)
            labels = Labels.of(known)
            for label in state["labels"]:
                labels = labels.learn(label)
            if list(labels.met) != state["labels"] or (not labels.met and model.n_seen):
                raise ValueError("its labels are not different ones in order")
            model._take_labels(labels)
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            why = quoted(error)
            raise ValueError(f"{source} is not an online perceptron: {why}.") from None
        except ValueError as error:
            why = shortened(str(error), most=200)
            raise ValueError(f"{source} is not an online perceptron: {why}") from None
        return model

    def _take(self, x: Any) -> DictRow:
        """x as a dict of Python's numbers, and its score by w."""
        memory, row = self._memory, self._row
        row.copy = None
        if memory.array is not None:
            memory.by_name()
        if type(x) is dict:
            try:
                values = tuple(x.values())
                row.length = math.hypot(*values)
                if row.length < LARGE:  # no number may be a rounded whole number
                    row.x = x
                    row.s = row.score(memory.V[0]) if self._averaged else memory.side(row, values)
                    row.copy = x.copy()
                    return row
            except (TypeError, OverflowError, NotNumbersError):
                pass
        row.x = plain_row(x, memory)
        row.length, row.s = math.hypot(*row.x.values()), row.score(memory.V[0])
        return row

    def _take_labels(self, labels: Labels) -> None:
        """Know these labels from now on; one alone counts as +1 and as what sign(0) is not."""
        self._labels = labels
        self._no: Any = labels.met[0] if labels.met else None
        self._yes: Any = labels.met[-1] if labels.met else None
        signs = [1 if self._many else labels.sign(label) or 0 for label in labels.met]
        self._steps = {y: (self.eta0 * sign,) for y, sign in zip(labels.met, signs, strict=True)}
        self._places = dict(zip(labels.met, range(len(labels.met)), strict=True))
        self._zero = ZEROS[self.zero] if labels.both else 0

    def _meet(self, labels: Labels) -> None:
        """Take a new label; the second shows what the first one was."""
        if labels.both and self._labels.met:
            first = labels.sign(self._labels.met[0])
            if first == ZEROS[self.zero]:
                self._memory.forget_mistakes()
            elif first == -1:
                self._memory.turn()
        self._take_labels(labels)

    def _learn_block(self, X: Any, y: Any, every: bool) -> list[tuple[Labels, NDArray[Any]]]:
        """Predict and learn a block in parts: the labels and the predictions of each."""
        block = Block.of(X, self._memory)
        with with_index_labels(X):
            answers = BlockAnswers.of(y, block.n, every)
            plan = answers.plan(self._labels)
            if len(plan) > 1:
                block.check()  # before the first part is learnt
            self._row.copy = None
            return [self._learn_part(block, answers, *part) for part in plan]

    def _learn_part(
        self, block: Block, answers: BlockAnswers, begin: int, end: int, labels: Labels
    ) -> tuple[Labels, NDArray[Any]]:
        if labels is not self._labels:
            block.check()
            self._meet(labels)
        if self._many:
            places = answers.places(labels, begin, end)
            lengths = np.full(len(places), self.eta0)
            rows: Any = joint_rows(block.rows(self._x0, lengths, begin), places, len(labels.met))
        else:
            rows = block.rows(self._x0, answers.steps(labels, self.eta0, begin, end), begin)
        try:
            signs = self._memory.learn_block(rows, block.layout, self._zero, self.predict_with)
        except NotNumbersError:
            block.check()
            raise
        return labels, signs


def _between(name: str, value: Any, least: float, most: float) -> float:
    if not isinstance(value, numbers.Real) or not least <= float(value) <= most:
        raise ValueError(f"{name} is {value!r}; give a number between {least:g} and {most:g}.")
    return float(value)
