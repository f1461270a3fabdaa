"""What every estimator here shares: weights under scikit-learn's names, scores and answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rosenblatt import algorithms, checks, engine
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import ZEROS, Hypothesis
from rosenblatt.tables import as_table
from rosenblatt.words import counted


class LinearAnswers(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What every estimator here can do once it has weights: score and answer rows."""

    fit_intercept: bool
    intercept_scaling: float
    zero: str
    classes_: NDArray[Any]
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    weights_: NDArray[np.float64]
    n_features_in_: int
    _zero: int

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score each row: w·x, positive for the second of `classes_`.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            The rows to score.
        """
        table = self._table(X)
        with engine.at_most(self._threads):
            return self._hypothesis().scores(table)

    def predict(self, X: Any) -> NDArray[Any]:
        """Answer each row with one of `classes_`.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            The rows to answer.
        """
        table = self._table(X)
        with engine.at_most(self._threads):
            yes = self._hypothesis().answers(table) > 0
        return self.classes_[yes.astype(np.intp)]

    @property
    def _threads(self) -> int:
        return checks.threads(getattr(self, "n_jobs", None))

    def _table(self, X: Any) -> Any:
        """X checked against what was fitted."""
        check_is_fitted(self)
        table = as_table(X)
        self._check_columns(X, table.shape[1], reset=False)
        return table

    def _check_columns(self, X: Any, d: int, *, reset: bool) -> None:
        """Keep or compare the number and names of features, as scikit-learn does.

        Arrays have no names to look for; looking costs as much as a small fit.
        """
        plain = isinstance(X, np.ndarray) and not hasattr(self, "feature_names_in_")
        if plain and (reset or d == self.n_features_in_):
            self.n_features_in_ = d
        else:
            validate_data(self, X, reset=reset, skip_check_array=True)

    def _x0(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _hypothesis(self) -> Hypothesis:
        """What was fitted, whatever parameters were set since: coef_ and intercept_."""
        w = np.concatenate((np.ravel(self.intercept_), np.ravel(self.coef_)))
        return Hypothesis(w, 1.0, self._zero)

    def _take(self, hypothesis: Hypothesis) -> None:
        """Set the weights under scikit-learn's names and the lecture's."""
        w = hypothesis.w
        self._zero = hypothesis.zero
        self.weights_ = w if hypothesis.x0 else w[1:]
        self.coef_ = w[1:].reshape(1, -1).copy()
        with np.errstate(over="ignore"):  # an x0 of 1e200 may have an intercept past all floats
            self.intercept_ = w[:1] * hypothesis.x0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


class Corrector(LinearAnswers):
    """The parameters that every estimator which learns by corrections shares."""

    order: str
    max_iter: int
    max_updates: int | None
    eta0: float
    class_weight: dict[Any, float] | str | None
    warm_start: bool
    random_state: Any
    verbose: int

    def _rule(self) -> algorithms.Rule:
        checks.one_of("order", self.order, algorithms.ORDERS)
        checks.one_of("zero", self.zero, tuple(ZEROS))
        eta = checks.positive_number("eta0", self.eta0)
        checks.positive_number("intercept_scaling", self.intercept_scaling)
        checks.flag("fit_intercept", self.fit_intercept)
        chance = None if self.order in algorithms.FIXED else checks.generator(self.random_state)
        return algorithms.Rule(self.order, ZEROS[self.zero], eta, chance)

    def _budget(self) -> algorithms.Budget:
        checks.whole_number("max_iter", self.max_iter, least=1)
        if self.max_updates is not None:
            checks.whole_number("max_updates", self.max_updates, least=0)
        return algorithms.Budget(int(self.max_iter), self.max_updates)

    def _examples(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        labels: NDArray[Any] | None = None,
        looked_at: bool = True,
    ) -> Examples:
        """The examples with their weights; where the labels are known, a block of a stream."""
        answers = checks.column_or_1d(y)
        examples = Examples.from_arrays(
            X, answers, x0=self._x0(), labels=labels, looked_at=looked_at
        )
        if sample_weight is None and self.class_weight is None:
            return examples
        weights = checks.row_weights(1.0 if sample_weight is None else sample_weight, examples.n)
        if self.class_weight is not None:
            each = checks.class_weights(
                self.class_weight, examples.labels.tolist(), examples.y, stream=labels is not None
            )
            weights = weights * np.where(examples.y > 0, each[1], each[0])
        return examples.weighted(weights, stream=labels is not None)

    def _last_weights(self, examples: Examples) -> NDArray[np.float64]:
        """The weights of the last fit, with the w0 slot that these examples need."""
        last = self._hypothesis().w
        if len(last) != examples.d + 1 or not np.array_equal(self.classes_, examples.labels):
            raise ValueError(
                f"the last fit had {counted(len(last) - 1, 'feature')} and classes "
                f"{self.classes_.tolist()}, these examples have {examples.d} and "
                f"{examples.labels.tolist()}; set warm_start=False to start afresh."
            )
        w0 = last[:1] / examples.x0 if examples.x0 else np.zeros(1)
        return np.concatenate((w0, last[1:]))

    def _start(self, examples: Examples, coef: Any, intercept: Any) -> NDArray[np.float64] | None:
        """w(0) with its w0 slot: as given, or the last fit's on a warm start, or None for 0."""
        start = None
        if self.warm_start and hasattr(self, "coef_"):
            start = self._last_weights(examples)
        if coef is None and intercept is None:
            return start
        start = np.zeros(examples.d + 1) if start is None else start
        if coef is not None:
            start[1:] = checks.finite("coef_init", coef, examples.d)
        if intercept is not None:
            given = checks.finite("intercept_init", intercept, 1)[0]
            start[0] = given / examples.x0 if examples.x0 else 0.0
        return start
