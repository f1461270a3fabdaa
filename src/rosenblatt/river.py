"""The online perceptron with River's interface, for its pipelines and evaluations."""

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
    """Online perceptron with River's interface.

    It predicts as `rosenblatt.OnlinePerceptron` does. A perceptron has no probabilities, so
    `predict_proba_one` and `predict_proba_many` raise NotImplementedError. Unlike River's own
    perceptron, `learn_many` learns row by row and gives the same state as `learn_one`.

    Parameters
    ----------
    eta0
        Learning rate.
    fit_intercept
        Whether to fit an intercept.
    intercept_scaling
        Value x0 of the constant feature whose weight is w0.
    zero
        Class of a score of 0: "mistake" (always wrong), "negative" or "positive".
    window
        Number of most recent examples that the mistake rate and the pocket use.
    average
        Whether to keep the average of the weights.
    pocket
        Whether to keep the weights that made the fewest mistakes on the last window.
    predict_with
        Weights that predict: "last", "average" or "pocket".
    labels
        All labels, required only if there are more than two; each then has its own w.

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
        vars(self).update(given)  # River reads parameters from attributes
        self.online = OnlinePerceptron(**given)

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        self.online.learn_one(x, y)

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:
        return self.online.predict_one(x)

    def learn_many(self, X: Any, y: Any) -> None:
        self.online.learn_many(X, y)

    def predict_many(self, X: Any) -> Any:
        """Predict the label of each row, as a pandas or polars Series.

        Parameters
        ----------
        X
            A frame of features.
        """
        labels = self.online.predict_many(X) if len(X) else np.empty(0, dtype=object)
        if type(X).__module__.startswith("polars"):
            import polars

            return polars.Series(labels.tolist())
        import pandas

        return pandas.Series(labels, index=getattr(X, "index", None))

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:
        """Raise NotImplementedError: a perceptron has no probabilities."""
        raise NotImplementedError(NO_PROBABILITIES)

    def predict_proba_many(self, X: Any) -> Any:
        """Raise NotImplementedError: a perceptron has no probabilities."""
        raise NotImplementedError(NO_PROBABILITIES)
