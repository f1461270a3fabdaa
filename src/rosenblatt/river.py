"""River's face: the online perceptron for River's pipelines and evaluations."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from rosenblatt.online import OnlinePerceptron

try:
    from river import base
except ImportError as error:  # pragma: no cover (tested in a process of its own)
    raise ImportError(
        "rosenblatt.river needs River; install it with: pip install 'rosenblatt[river]'"
    ) from error


NO_PROBABILITIES = (
    "a perceptron has no probabilities. Use predict_one or predict_many, and a metric of labels "
    "such as metrics.Accuracy; for probabilities use river.linear_model.LogisticRegression."
)


class Perceptron(base.MiniBatchClassifier):  # type: ignore[misc]
    """The online perceptron, with River's interface.

    It gives the predictions of `rosenblatt.OnlinePerceptron`. A perceptron has no probabilities,
    so `predict_proba_one` and `predict_proba_many` refuse. Unlike River's own, `learn_many` learns
    row after row and gives the same state as `learn_one`.

    Parameters
    ----------
    eta0
        The length of a correction.
    fit_intercept
        Whether there is a w0.
    intercept_scaling
        x0, the constant feature that w0 multiplies.
    zero
        What sign(0) means: "mistake", "negative" or "positive".
    window
        How many of the last examples the mistake rate and the pocket look at.
    average
        Whether the average of the weights is kept.
    pocket
        Whether the weights that did best on the last window are kept.
    predict_with
        The weights that predict: "last", "average" or "pocket".
    labels
        All labels, where there are more than two; they are learnt together, with a w for each.
        Two need not be given.

    Attributes
    ----------
    online
        The `OnlinePerceptron` that does the work.

    Examples
    --------
    >>> from river import preprocessing
    >>> from rosenblatt.river import Perceptron
    >>> model = preprocessing.StandardScaler() | Perceptron(predict_with="average")
    >>> for x, y in [({"a": 1.0}, True), ({"a": 3.0}, False), ({"a": 0.5}, True)] * 2:
    ...     model.learn_one(x, y)
    >>> model.predict_one({"a": 0.0}), model.predict_one({"a": 4.0})
    (True, False)
    """

    def __init__(
        self,
        eta0: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        zero: str = "mistake",
        window: int = 1000,
        average: bool = False,
        pocket: bool = False,
        predict_with: str = "last",
        labels: tuple[Any, ...] | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name != "self"}
        vars(self).update(given)  # as River expects of parameters
        self.online = OnlinePerceptron(**given)

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        """Learn the answer of one example.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            A label.
        """
        self.online.learn_one(x, y)

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:
        """Answer one example, or None before any label is known.

        Parameters
        ----------
        x
            A dictionary of features.
        """
        return self.online.predict_one(x)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a frame in their order.

        Parameters
        ----------
        X
            A frame of features.
        y
            Their labels.
        """
        self.online.learn_many(X, y)

    def predict_many(self, X: Any) -> Any:
        """Answer each row of a frame, as a series of the frame's own kind.

        Parameters
        ----------
        X
            A frame of features.
        """
        return _series(self.online.predict_many(X) if len(X) else np.empty(0, dtype=object), X)

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:
        """Refuse, because a perceptron has no probabilities.

        Parameters
        ----------
        x
            A dictionary of features.
        """
        raise NotImplementedError(NO_PROBABILITIES)

    def predict_proba_many(self, X: Any) -> Any:
        """Refuse, because a perceptron has no probabilities.

        Parameters
        ----------
        X
            A frame of features.
        """
        raise NotImplementedError(NO_PROBABILITIES)


def _series(answers: Any, X: Any) -> Any:
    if type(X).__module__.startswith("polars"):
        import polars

        return polars.Series(answers.tolist())
    import pandas

    return pandas.Series(answers, index=getattr(X, "index", None))
