"""The Perceptron estimator, and the base class of all estimators."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

import rosenblatt.algorithms as algorithms
import rosenblatt.checks as checks
import rosenblatt.engine as engine
from rosenblatt.algorithms.pla import CYCLES, Progress
from rosenblatt.clock import StatusLine
from rosenblatt.errors import with_index_labels
from rosenblatt.examples import Examples, as_table
from rosenblatt.hypothesis import ZEROS, Hypothesis
from rosenblatt.text import describe_unconverged, plural


class LinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of the estimators, with prediction and checks of parameters."""

    fit_intercept: bool
    intercept_scaling: float
    zero: str
    order: str
    max_iter: int
    max_updates: int | None
    eta0: float
    class_weight: dict[Any, float] | str | None
    warm_start: bool
    random_state: Any
    verbose: int
    n_jobs: int | None
    classes_: NDArray[Any]
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    weights_: NDArray[np.float64]
    n_features_in_: int
    n_updates_: int
    n_iter_: int
    _zero: int
    _mean: algorithms.Mean | None = None  # the mean of w in coef_ if `average`, else None
    _multiclass: ClassVar[bool] = False  # whether more than two labels are allowed
    average = False

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the score w·x of each row, positive for the second class.

        With more than two classes, each has its own score: an array of shape (n, K).

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            Rows to score.
        """
        table = self._table(X)
        with engine.at_most(checks.threads(self.n_jobs)):
            return self._hypothesis().scores(table)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            Rows to predict.
        """
        table = self._table(X)
        with engine.at_most(checks.threads(self.n_jobs)):
            return self._hypothesis().predict(table, self.classes_)

    def _table(self, X: Any) -> Any:
        """Return X as a table, checked against the fitted features."""
        check_is_fitted(self)
        table = as_table(X)
        self._check_columns(X, table.shape[1], reset=False)
        return table

    def _check_columns(self, X: Any, d: int, *, reset: bool) -> None:
        """Record the number and the names of the features, or check those of X.

        Arrays have no names, and looking for names takes as long as a small fit.
        """
        plain = isinstance(X, np.ndarray) and not hasattr(self, "feature_names_in_")
        if plain and (reset or d == self.n_features_in_):
            self.n_features_in_ = d
        else:
            validate_data(self, X, reset=reset, skip_check_array=True)

    def _x0(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _hypothesis(self) -> Hypothesis:
        """Return the fitted weights; parameters that were set after `fit` do not change them."""
        return Hypothesis.with_intercept(self.coef_, self.intercept_, self._zero)

    def _set_weights(self, hypothesis: Hypothesis, mean: algorithms.Mean | None = None) -> None:
        """Set `weights_`, `coef_` and `intercept_`, the last two from averaged weights if given."""
        self._zero, self._mean = hypothesis.zero, mean
        self.weights_ = hypothesis.augmented
        w = np.atleast_2d(hypothesis.w if mean is None else mean.hypothesis.w)
        self.coef_ = w[:, 1:].copy()
        with np.errstate(over="ignore"):  # with an x0 of 1e200 the intercept may overflow float64
            self.intercept_ = w[:, 0] * hypothesis.x0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._multiclass
        tags.input_tags.sparse = True
        return tags

    def _rule(self) -> algorithms.Rule:
        checks.one_of("order", self.order, algorithms.ORDERS)
        checks.one_of("zero", self.zero, tuple(ZEROS))
        eta = checks.positive_number("eta0", self.eta0)
        checks.positive_number("intercept_scaling", self.intercept_scaling)
        checks.flag("fit_intercept", self.fit_intercept)
        chance = None if self.order in algorithms.FIXED else checks.generator(self.random_state)
        checks.flag("average", self.average)
        return algorithms.Rule(self.order, ZEROS[self.zero], eta, chance, bool(self.average))

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
        """Convert X and y to examples, with sample weights and class weights.

        `labels` are the known labels if X and y are a block of a stream, else None.
        """
        given = checks.column_or_1d(y)
        examples = Examples.from_arrays(X, given, x0=self._x0(), labels=labels, looked_at=looked_at)
        examples = examples if self._multiclass else examples.with_two_labels()
        if sample_weight is None and self.class_weight is None:
            return examples
        each, known = None, examples.labels.tolist()
        if self.class_weight is not None:
            counts = np.bincount(examples.places, minlength=len(known)) if labels is None else None
            each = checks.class_weights(self.class_weight, known, counts)
        with with_index_labels(X):
            return examples.weighted(sample_weight, each, stream=labels is not None)

    def _last_weights(self, examples: Examples) -> NDArray[np.float64]:
        """Return the last w of the previous fit as a start for these examples."""
        last, x0 = self._hypothesis().w, 1.0
        if self._mean is not None:
            x0 = self._mean.hypothesis.x0
            last = np.insert(self.weights_, 0, 0.0, axis=-1) if x0 == 0 else self.weights_.copy()
        d = last.shape[-1] - 1
        if d != examples.d or not np.array_equal(self.classes_, examples.labels):
            raise ValueError(
                f"the last fit had {plural(d, 'feature')} and classes "
                f"{self.classes_.tolist()}, but now the number of features is {examples.d} and the "
                f"classes are {examples.labels.tolist()}; set warm_start=False to start from 0."
            )
        last[..., 0] *= x0
        last[..., 0] = last[..., 0] / examples.x0 if examples.x0 else 0.0
        return examples.flat(last)

    def _start(self, examples: Examples, coef: Any, intercept: Any) -> NDArray[np.float64] | None:
        """Return the initial weights w(0), or None for zeros.

        Given weights come before those of a warm start. They are in the layout of the kernels.
        """
        start = None
        if self.warm_start and hasattr(self, "coef_"):
            start = self._last_weights(examples)
        if coef is None and intercept is None:
            return start
        w = examples.shaped(np.zeros(examples.size) if start is None else start)
        if coef is not None:
            w[..., 1:] = checks.finite("coef_init", coef, w[..., 1:].shape)
        if intercept is not None:
            given = checks.finite("intercept_init", intercept, w[..., 0].shape)
            w[..., 0] = given / examples.x0 if examples.x0 else 0.0
        return examples.flat(w)


@dataclass(eq=False, repr=False)
class PlaParameters(LinearClassifier):
    """Base class with the parameters of PLA."""

    order: str = "cycle"
    max_iter: int = 1000
    max_updates: int | None = None
    eta0: float = 1.0
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    zero: str = "mistake"
    class_weight: dict[Any, float] | str | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0
    n_jobs: int | None = None


@dataclass(eq=False, repr=False)
class Perceptron(PlaParameters):
    """Perceptron learning algorithm (PLA) that records every update and why it stopped.

    It halts when an epoch has no mistake, and never because progress looks slow. If the budget
    ends first, it warns with the number of mistakes left.

    With more than two classes each has its own w, and they are trained together. A mistake is a
    row whose own class does not have the highest score; the update adds eta0·x to the w of its
    class and subtracts it from the w of the best competing class. The convergence theorem holds
    as for two classes.

    Parameters
    ----------
    order : {"cycle", "random-cycle", "shuffle", "first", "random"}, default="cycle"
        Order of visits: file order; one random order; a new random order each epoch; from the
        first example again after each update; a random mistake each time.
    max_iter : int, default=1000
        Maximum number of epochs. With order="first" every update begins an epoch.
    max_updates : int, optional
        Maximum number of updates.
    eta0 : float, default=1.0
        Learning rate: w ← w + eta0·y·x.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    intercept_scaling : float, default=1.0
        Value x0 of the constant feature whose weight is w0.
    zero : {"mistake", "negative", "positive"}, default="mistake"
        Meaning of sign(0): always a mistake, -1 or +1. With more than two classes, equal scores
        are a mistake, or belong to the earlier or the later class.
    class_weight : dict or "balanced", optional
        Class weights; they multiply `sample_weight`.
    warm_start : bool, default=False
        Whether to start from the last w of the last fit.
    random_state : int, RandomState or Generator, optional
        Seed or generator for the random orders.
    verbose : int, default=0
        If 1, print a line to stderr about once per second. A terminal always shows progress.
    n_jobs : int, optional
        Number of threads for counting mistakes and for scores; None for one per core. Results do
        not depend on it.
    average : bool, default=False
        Whether to predict with the mean of w over all visits to examples, which on noisy data is
        usually better than the last w.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (K, d) with K > 2 classes
        Feature weights, without w0; with `average`, their mean.
    intercept_ : array of shape (1,), or (K,)
        Intercept w0·x0.
    classes_ : array of shape (K,)
        Class labels in sort order; of two, the first is -1.
    n_iter_ : int
        Number of epochs begun.
    weights_ : array of shape (d + 1,), or (K, d + 1)
        Augmented weights after the last update, w0 first; without intercept, of shape (d,).
    n_updates_ : int
        Number of updates. After `partial_fit`, of all calls together.
    separated_ : bool
        Whether `weights_` classify all examples correctly, confirmed in exact arithmetic. After
        `partial_fit`, whether its pass made no mistake.
    n_mistakes_ : int
        Mistakes of `weights_` on the examples. After `partial_fit`, the mistakes made during its
        pass.
    trace_ : Trace
        Every update; `trace_.weights(t)` is w(t).

    Examples
    --------
    >>> import rosenblatt as rb
    >>> clf = rb.Perceptron().fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"])
    >>> clf.separated_, clf.n_updates_
    (True, 18)
    >>> clf.predict([[1, 1], [0, 0]]).tolist()
    ['yes', 'no']
    >>> clf.fit([[2, 0], [0, 2], [-2, -2]], ["east", "north", "south"]).coef_
    array([[ 4.,  0.],
           [-2.,  2.],
           [-2., -2.]])
    """

    average: bool = False

    _multiclass = True

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
    ) -> Self:
        """Run PLA until an epoch has no mistake or a limit is reached.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            Training rows. A C-contiguous float array or a CSR matrix is not copied.
        y : sequence of length n
            Two or more different labels; of two, the larger in sort order is +1.
        sample_weight : sequence of length n, optional
            A weight s scales the update to eta0·s·y·x; weight 0 leaves the row out.
        coef_init, intercept_init : arrays, optional
            Initial weights instead of 0.
        """
        rule, budget = self._rule(), self._budget()
        with engine.at_most(checks.threads(self.n_jobs)):
            examples = self._examples(X, y, sample_weight, looked_at=rule.order not in CYCLES)
            start = self._start(examples, coef_init, intercept_init)
            try:
                with StatusLine(self.verbose) as status:

                    def watch(so_far: Progress) -> None:
                        status.update(
                            lambda: f"epoch {so_far.epochs}, {plural(so_far.updates, 'update')}"
                        )

                    run = algorithms.pla(examples, rule, budget, start, watch)
            except algorithms.Interrupted as stop:
                self._remember(X, examples, stop.run)
                raise
            self._remember(X, examples, run)
        if not run.separated:
            made = f"{plural(run.updates, 'update')} in {plural(run.epochs, 'epoch')}"
            count = len(examples.kept)
            advice = describe_unconverged(
                run.reason, made, run.mistakes or 0, count, "rosenblatt.separability"
            )
            warnings.warn(advice, ConvergenceWarning, stacklevel=2)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Pass over a block of a stream once, updating w on each mistake.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            Next rows.
        y : sequence of length n
            Their labels.
        classes : sequence, optional
            All labels; required in the first call, checked in later calls.
        sample_weight : sequence of length n, optional
            As in `fit`.
        """
        rule = self._rule()
        fitted = hasattr(self, "classes_")
        if fitted:
            labels = self.classes_
            if classes is not None and not np.array_equal(np.unique(classes), labels):
                raise ValueError(
                    f"`classes={classes!r}` is not the same as on last call to partial_fit, "
                    f"was: {labels!r}"
                )
        elif classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        else:
            labels = np.unique(classes)
            if len(labels) < 2:
                raise ValueError(f"classes is {classes!r}; give two or more labels.")
        examples = self._examples(X, y, sample_weight, labels)
        if fitted:
            self._check_columns(X, examples.d, reset=False)
        start = self._last_weights(examples) if fitted else None
        try:
            run = algorithms.online(examples, rule, start)
        except algorithms.Interrupted as stop:
            self._remember(X, examples, stop.run, streaming=True)
            raise
        self._remember(X, examples, run, streaming=True)
        return self

    def _remember(
        self, X: Any, examples: Examples, run: algorithms.Run, streaming: bool = False
    ) -> None:
        goes_on = streaming and hasattr(self, "classes_")
        updates, cycles = (self.n_updates_, self.n_iter_) if goes_on else (0, 0)
        self._check_columns(X, examples.d, reset=not goes_on)
        self.classes_ = examples.labels
        self.n_iter_ = cycles + max(run.epochs, 1)
        self.n_updates_ = updates + run.updates
        self.n_mistakes_ = run.mistakes
        self.separated_ = run.separated
        self.trace_ = run.trace
        before = self._mean if goes_on else None
        self._set_weights(run.hypothesis, run.mean and run.mean.after(before))
