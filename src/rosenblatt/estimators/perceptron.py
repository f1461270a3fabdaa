"""Perceptron, and what every estimator here shares, behind scikit-learn's interface."""

from __future__ import annotations

import warnings
from collections.abc import Callable
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
from rosenblatt.examples import Examples, JointExamples, as_table
from rosenblatt.hypothesis import ZEROS, Hypothesis
from rosenblatt.words import counted, out_of_budget


class LinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What every estimator here shares: checks before a fit; scores and answers after it."""

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
    classes_: NDArray[Any]
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    weights_: NDArray[np.float64]
    n_features_in_: int
    n_updates_: int
    n_iter_: int
    _zero: int
    _mean: algorithms.Mean | None = None  # what coef_ is, where it is not the last w
    _kind: ClassVar[type[Examples]] = Examples  # of two labels
    average = False

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score each row: w·x, positive for the second of `classes_`.

        With more than two classes, each has a score of its own: an array of shape (n, K).

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
            return self._hypothesis().named(table, self.classes_)

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
        return Hypothesis.with_intercept(self.coef_, self.intercept_, self._zero)

    def _take(self, hypothesis: Hypothesis, mean: algorithms.Mean | None = None) -> None:
        """Set the weights under scikit-learn's names and the lecture's."""
        self._zero, self._mean = hypothesis.zero, mean
        self.weights_ = hypothesis.tall
        w = np.atleast_2d(hypothesis.w if mean is None else mean.hypothesis.w)
        self.coef_ = w[:, 1:].copy()
        with np.errstate(over="ignore"):  # an x0 of 1e200 may have an intercept past all floats
            self.intercept_ = w[:, 0] * hypothesis.x0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._kind is JointExamples
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
        """The examples with their weights; where the labels are known, a block of a stream."""
        answers = checks.column_or_1d(y)
        examples = self._kind.from_arrays(
            X, answers, x0=self._x0(), labels=labels, looked_at=looked_at
        )
        if sample_weight is None and self.class_weight is None:
            return examples
        each, known = None, examples.labels.tolist()
        if self.class_weight is not None:
            counts = np.bincount(examples.places, minlength=len(known)) if labels is None else None
            each = checks.class_weights(self.class_weight, known, counts)
        with with_index_labels(X):
            return examples.weighted(sample_weight, each, stream=labels is not None)

    def _last_weights(self, examples: Examples) -> NDArray[np.float64]:
        """The last w of the last fit, as these examples have it."""
        last, x0 = self._hypothesis().w, 1.0
        if self._mean is not None:
            x0 = self._mean.hypothesis.x0
            last = np.insert(self.weights_, 0, 0.0, axis=-1) if x0 == 0 else self.weights_.copy()
        d = last.shape[-1] - 1
        if d != examples.d or not np.array_equal(self.classes_, examples.labels):
            raise ValueError(
                f"the last fit had {counted(d, 'feature')} and classes "
                f"{self.classes_.tolist()}, these examples have {examples.d} and "
                f"{examples.labels.tolist()}; set warm_start=False to start afresh."
            )
        last[..., 0] *= x0
        last[..., 0] = last[..., 0] / examples.x0 if examples.x0 else 0.0
        return examples.flat(last)

    def _start(self, examples: Examples, coef: Any, intercept: Any) -> NDArray[np.float64] | None:
        """w(0) as kernels have it: as given, or the last fit's on a warm start, or None for 0."""
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
    """The parameters of PLA, in memory or on a cluster."""

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
    """The perceptron learning algorithm, which says why it stopped and what it corrected.

    It halts when a full cycle of examples had no mistake, and never because progress looks
    slow. If the budget ends first, it warns with the number of mistakes left.

    With more than two classes there is a w for each, learnt together: a mistake is a score of the
    right class that is not above every other's, and corrects two of them, w + eta0·x for the
    right class and w - eta0·x for its best rival. The theorem holds for them as for two.

    Parameters
    ----------
    order : {"cycle", "random-cycle", "shuffle", "first", "random"}, default="cycle"
        In file order; in one random order; in a new random order each cycle; from the first
        example again after each correction; a random mistake each time.
    max_iter : int, default=1000
        The most cycles. With order="first" every correction begins a cycle.
    max_updates : int, optional
        The most corrections.
    eta0 : float, default=1.0
        The length of a correction: w ← w + eta0·y·x.
    fit_intercept : bool, default=True
        Whether there is a w0.
    intercept_scaling : float, default=1.0
        x0, the constant feature that w0 multiplies.
    zero : {"mistake", "negative", "positive"}, default="mistake"
        What sign(0) means: always a mistake, -1 or +1. Of more than two classes, whose are equal
        scores: always a mistake, the earlier class's or the later one's.
    class_weight : dict or "balanced", optional
        Weights of the classes; they multiply `sample_weight`.
    warm_start : bool, default=False
        Whether `fit` starts from the last w of the last fit.
    random_state : int, RandomState or Generator, optional
        For the random orders.
    verbose : int, default=0
        1 prints a line to stderr every second or so. A terminal shows progress anyhow.
    n_jobs : int, optional
        Threads that count mistakes and scores; None for one a core. Answers do not depend on it.
    average : bool, default=False
        Whether to answer with the mean of w over all visits to examples, which on noisy data is
        usually better than the last w.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (K, d) with K > 2 classes
        The weights of the features, without w0; with `average`, their mean.
    intercept_ : array of shape (1,), or (K,)
        w0·x0, what is added to every score.
    classes_ : array of shape (K,)
        The labels in order; of two, that of -1 first.
    n_iter_ : int
        Cycles begun.
    weights_ : array of shape (d + 1,), or (K, d + 1)
        Tall w after the last correction, w0 first; without intercept, of shape (d,).
    n_updates_ : int
        Corrections made. After `partial_fit`, of all calls together.
    separated_ : bool
        Whether a whole look at the examples found no mistake of `weights_`, confirmed in exact
        arithmetic. After `partial_fit`, whether its pass made none.
    n_mistakes_ : int
        Mistakes of `weights_` left on the examples. After `partial_fit`, those its pass made as
        it went.
    trace_ : Trace
        Every correction; `trace_.weights(t)` is w(t).

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

    _kind = JointExamples

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
    ) -> Self:
        """Correct mistakes until a full cycle has none or the budget ends.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            The examples. A C-contiguous float array or a CSR matrix is not copied.
        y : sequence of length n
            Answers of two kinds or more; of two, the larger in sort order is +1.
        sample_weight : sequence of length n, optional
            A weight s scales the correction to eta0·s·y·x; weight 0 leaves the row out.
        coef_init, intercept_init : arrays, optional
            Where to start instead of 0.
        """
        rule, budget = self._rule(), self._budget()
        with engine.at_most(checks.threads(self.n_jobs)):
            examples = self._examples(X, y, sample_weight, looked_at=rule.order not in CYCLES)
            start = self._start(examples, coef_init, intercept_init)
            try:
                with StatusLine(self.verbose) as status:
                    watch = _watch(status)
                    run = algorithms.pla(examples, rule, budget, start, watch)
            except algorithms.Interrupted as stop:
                self._remember(X, examples, stop.run)
                raise
            self._remember(X, examples, run)
        if not run.separated:
            warnings.warn(_advice(run, examples), ConvergenceWarning, stacklevel=2)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Pass over a block of a stream once, correcting mistakes as they are met.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            The next examples.
        y : sequence of length n
            Their answers.
        classes : sequence, optional
            All labels; needed in the first call, checked in later ones.
        sample_weight : sequence of length n, optional
            As in `fit`.
        """
        rule = self._rule()
        fitted = hasattr(self, "classes_")
        labels = self._known_labels(classes)
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

    def _known_labels(self, classes: Any) -> NDArray[Any]:
        if hasattr(self, "classes_"):
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError(
                    f"`classes={classes!r}` is not the same as on last call to partial_fit, "
                    f"was: {self.classes_!r}"
                )
            return self.classes_
        if classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        labels = np.unique(classes)
        if len(labels) < 2:
            raise ValueError(f"classes is {classes!r}; give two labels or more.")
        return labels

    def _remember(
        self, X: Any, examples: Examples, run: algorithms.Run, streaming: bool = False
    ) -> None:
        goes_on = streaming and hasattr(self, "classes_")
        updates, cycles = (self.n_updates_, self.n_iter_) if goes_on else (0, 0)
        self._check_columns(X, examples.d, reset=not goes_on)
        self.classes_ = examples.labels
        self.n_iter_ = cycles + max(run.cycles, 1)
        self.n_updates_ = updates + run.corrections
        self.n_mistakes_ = run.mistakes
        self.separated_ = run.separated
        self.trace_ = run.trace
        before = self._mean if goes_on else None
        self._take(run.hypothesis, run.mean and run.mean.after(before))


def _watch(status: StatusLine) -> Callable[[Progress], None]:
    def told(so_far: Progress) -> str:
        return f"cycle {so_far.cycles}, {counted(so_far.corrections, 'correction')}"

    return lambda so_far: status.say(lambda: told(so_far))


def _advice(run: algorithms.Run, examples: Examples) -> str:
    made = f"{counted(run.corrections, 'correction')} in {counted(run.cycles, 'cycle')}"
    count = len(examples.in_order)
    return out_of_budget(run.reason, made, run.mistakes or 0, count, "rosenblatt.separability")
