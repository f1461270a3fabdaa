"""Estimators with the interface of scikit-learn, for data in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import rosenblatt.algorithms as algorithms
import rosenblatt.checks as checks
import rosenblatt.engine as engine
from rosenblatt.algorithms.fewest import Search
from rosenblatt.algorithms.pocket import FOREVER, Pocket, PocketPlan
from rosenblatt.clock import MistakeProgress
from rosenblatt.errors import RowNames, quote, with_index_labels
from rosenblatt.estimators.perceptron import LinearClassifier, Perceptron
from rosenblatt.evidence.optimum import FewestMistakesResult, fewest_of
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.read.inputs import explain_parameters, read_examples
from rosenblatt.text import join_words

__all__ = ["FewestMistakes", "Perceptron", "PocketPerceptron", "fewest_mistakes"]


@dataclass(eq=False, repr=False)
class PocketParameters(LinearClassifier):
    """Base class with the parameters of the pocket algorithm."""

    max_updates: int = 1000
    order: str = "random"
    ratchet: bool = False
    restarts: int = 1
    time_limit: float | None = None
    eta0: float = 1.0
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    zero: str = "mistake"
    class_weight: dict[Any, float] | str | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0
    n_jobs: int | None = None

    def _budget(self) -> algorithms.Budget:
        most: Any = self.max_updates
        checks.whole_number("max_updates", most, least=0)
        if self.time_limit is not None:
            checks.positive_number("time_limit", self.time_limit)
        return algorithms.Budget(FOREVER, int(most), self.time_limit)


@dataclass(eq=False, repr=False)
class PocketPerceptron(PocketParameters):
    """Perceptron that keeps the best weights, for data that may not be separable.

    The updates are those of PLA. Every w(t) is evaluated on all examples, as in the lecture, and
    goes into the pocket if it makes strictly fewer mistakes. The run ends with the budget, or as
    soon as there is no mistake. With more than two classes each has a w, as in `Perceptron`.

    Parameters
    ----------
    max_updates : int, default=1000
        Maximum number of updates per restart.
    order : {"cycle", "random-cycle", "shuffle", "first", "random"}, default="random"
        Order in which examples are visited; see `Perceptron`.
    ratchet : bool, default=False
        Whether to use Gallant's ratchet: w is evaluated only when it has classified more
        examples in a row correctly than the pocket had.
    restarts : int, default=1
        Number of runs from different seeds, of which the one with the fewest mistakes is kept.
        Orders that are not random ("cycle", "first") run once.
    time_limit : float, optional
        Maximum number of seconds; then the best result so far is kept. Compilation, once per
        environment, is not counted.
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
        Whether to start from the pocket of the last fit.
    random_state : int, RandomState or Generator, optional
        Seed or generator for the random orders.
    verbose : int, default=0
        If 1, print a line to stderr about once per second. A terminal always shows progress.
    n_jobs : int, optional
        Number of threads; None for one per core. Results do not depend on it.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (K, d) with K > 2 classes
        Feature weights, without w0.
    intercept_ : array of shape (1,), or (K,)
        Intercept w0·x0.
    classes_ : array of shape (K,)
        Class labels in sort order; of two, the first is -1.
    n_iter_ : int
        Number of epochs begun.
    weights_ : array of shape (d + 1,), or (K, d + 1)
        The pocket: augmented weights, w0 first; without intercept, of shape (d,).
    last_weights_ : array of shape (d + 1,), or (K, d + 1)
        w(T), the weights after the last update.
    n_updates_ : int
        Number of updates T.
    separated_ : bool
        Whether the pocket makes no mistake, confirmed in exact arithmetic.
    n_mistakes_ : int or float
        Mistakes of the pocket; with sample weights, the total weight of misclassified rows.
    history_ : list of (t, mistakes)
        Each t at which the pocket was replaced, with its mistakes, beginning with w(0).
    stop_reason_ : {"no mistakes", "max_updates", "time_limit", "interrupted"}
        Why the run stopped.
    trace_ : Trace
        Every update; `trace_.weights(t)` is w(t).

    Examples
    --------
    >>> import rosenblatt as rb
    >>> clf = rb.PocketPerceptron(random_state=0)
    >>> clf.fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]).n_mistakes_
    1
    >>> clf.history_[0], clf.separated_, clf.stop_reason_
    ((0, 4), False, 'max_updates')
    """

    _multiclass = True

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
    ) -> Self:
        """Run the pocket algorithm until a limit is reached or no mistake is left.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            Training rows. A C-contiguous float array or a CSR matrix is not copied.
        y : sequence of length n
            Two or more different labels; of two, the larger in sort order is +1.
        sample_weight : sequence of length n, optional
            A weight s scales the update to eta0·s·y·x, and a mistake counts s; weight 0 leaves
            the row out.
        coef_init, intercept_init : arrays, optional
            Initial weights instead of 0.
        """
        rule, budget = self._rule(), self._budget()
        checks.whole_number("restarts", self.restarts, least=1)
        threads = checks.threads(self.n_jobs)
        examples = self._examples(X, y, sample_weight)
        start = self._start(examples, coef_init, intercept_init)
        corrections: dict[int, int] = {}
        mistakes: dict[int, float] = {}

        def watch(number: int, so_far: algorithms.Progress, pocket: Pocket) -> None:
            corrections[number], mistakes[number] = so_far.updates, pocket.mistakes
            progress.report(min(list(mistakes.values())), sum(list(corrections.values())))

        with MistakeProgress(self.verbose, self.time_limit) as progress, engine.at_most(threads):
            plan = PocketPlan(bool(self.ratchet), int(self.restarts), threads, watch)
            run = algorithms.pocket(examples, rule, budget, start, plan)
        self._check_columns(X, examples.d, reset=True)
        self.classes_ = examples.labels
        self.n_iter_ = max(run.epochs, 1)
        self.n_updates_ = run.updates
        self.n_mistakes_ = run.pocket.mistakes
        self.separated_ = run.separated
        self.history_ = list(run.pocket.history)
        self.last_weights_ = run.last.w if run.last.x0 else run.last.w[..., 1:]
        self.stop_reason_ = run.reason
        self.trace_ = run.trace
        self._set_weights(run.hypothesis)
        if run.reason == "interrupted":
            raise algorithms.Interrupted(run)
        return self


def fewest_mistakes(
    X: Any,
    y: Any = None,
    *,
    time_limit: float = 5.0,
    random_state: Any = None,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    n_jobs: int | None = None,
    target: str | None = None,
) -> FewestMistakesResult:
    """Search for the linear classifier with the fewest mistakes; prove a lower bound.

    With few features (two and up to 50,000 rows, three and 5,000, four and 2,000, five and 500)
    the result is usually the optimum; with two features and up to 200 rows, whatever the time
    limit. Otherwise the search uses the time it is given, and stops early when nothing better is
    possible. On Ctrl-C the best result so far is returned.

    A mistake is a row with y·(w·x) ≤ 0 in exact arithmetic, or a row that `predict` misclassifies
    because floating point rounds its score to the other side, which can happen if products nearly
    cancel or are near the largest or smallest float. So `mistakes` is the exact number for
    `weights`, or larger if rounding misleads `predict`, but never smaller. `lower_bound` is
    about exact scores alone. Sample weights are added and compared exactly, as fractions.

    Parameters
    ----------
    X : array, sparse matrix, frame of shape (n, d), or path
        Training rows. A C-contiguous float array or a CSR matrix is not copied. Text in a frame or
        a file becomes categories or words, as `learn` reads it.
    y : sequence of n labels, or str
        Two different labels; the larger in sort order is +1. For a frame also the name of the
        column with the labels.
    time_limit : float, default=5.0
        Maximum number of seconds. Compilation, once per environment, is not counted; tiny jobs
        finish whatever the limit.
    random_state : int, RandomState or Generator, optional
        Seed or generator. The same int gives the same result if the search ends before the time
        limit and `n_jobs=1`; several threads may find another of several equally good results.
    sample_weight : sequence of length n, optional
        Cost of a mistake on each row; weight 0 leaves the row out.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    n_jobs : int, optional
        Number of threads; None for one per core.
    target : str, optional
        The column with the labels, of a frame or a file.

    Returns
    -------
    FewestMistakesResult
        Weights, mistakes, lower bound, whether they are optimal, and a proof of the bound.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> result = rb.fewest_mistakes([[1], [2], [3], [4]], ["no", "yes", "no", "yes"])
    >>> print(result)
    1 mistake; no line makes fewer (proof: 1 conflict)
    >>> result.mistakes, result.lower_bound, result.optimal
    (1, 1, True)
    """
    seconds = checks.positive_number("time_limit", time_limit)
    x0 = 1.0 if fit_intercept else 0.0
    with explain_parameters(fewest_mistakes):
        examples, row_names = read_examples(
            *(X, y, target),
            lambda X, y: Examples.from_arrays(X, checks.column_or_1d(y), x0=x0).with_two_labels(),
            x0,
        )
    if examples.multiclass:
        names = join_words([quote(label) for label in examples.labels.tolist()], most=6)
        raise ValueError(
            f"fewest_mistakes needs two labels, but the target has {names}; give a target with "
            "two labels, such as one label against the rest."
        )
    if sample_weight is not None:
        with with_index_labels(row_names):
            examples = examples.weighted(sample_weight)
    with MistakeProgress(0, seconds, "steps") as progress:
        rng, threads = checks.generator(random_state), checks.threads(n_jobs)
        result = fewest_of(examples, Search(seconds, threads, rng, progress.report))
    return replace(result, row_names=row_names)


@dataclass(eq=False, repr=False)
class FewestMistakes(LinearClassifier):
    """Linear classifier with the fewest mistakes that a search finds within a time limit.

    This is the search of `fewest_mistakes` as an estimator.

    Parameters
    ----------
    time_limit : float, default=5.0
        Maximum number of seconds of a fit; see `fewest_mistakes`.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    intercept_scaling : float, default=1.0
        Value x0 of the constant feature whose weight is w0.
    class_weight : dict or "balanced", optional
        Cost of mistakes on each class; it multiplies `sample_weight`.
    random_state : int, RandomState or Generator, optional
        Seed or generator. The same int gives the same result if the search ends before the time
        limit and `n_jobs=1`; several threads may find another of several equally good results.
    verbose : int, default=0
        If 1, print a line to stderr about once per second. A terminal always shows progress.
    n_jobs : int, optional
        Number of threads; None for one per core.

    Attributes
    ----------
    coef_ : array of shape (1, d)
        Feature weights, without w0.
    intercept_ : array of shape (1,)
        Intercept w0·x0.
    classes_ : array of shape (2,)
        The two labels; the first is -1.
    weights_ : array of shape (d + 1,)
        Augmented weights, w0 first; without intercept, of shape (d,).
    n_mistakes_ : int or float
        Mistakes on the training rows, counted as `fewest_mistakes` does; with sample weights,
        the total weight of misclassified rows.
    lower_bound_ : int or float
        No linear classifier makes fewer mistakes.
    optimal_ : bool
        Whether `n_mistakes_` equals `lower_bound_`.
    separated_ : bool
        Whether there are no mistakes.
    proof_ : Proof or None
        Proof of the lower bound.
    result_ : FewestMistakesResult
        The complete result; printing it gives a sentence.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> clf = rb.FewestMistakes().fit([[1], [2], [3], [4]], ["no", "yes", "no", "yes"])
    >>> clf.n_mistakes_, clf.optimal_
    (1, True)
    """

    zero = "mistake"

    time_limit: float = 5.0
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    class_weight: dict[Any, float] | str | None = None
    random_state: Any = None
    verbose: int = 0
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Search until the time limit, or until no classifier can make fewer mistakes.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            Training rows. A C-contiguous float array or a CSR matrix is not copied.
        y : sequence of length n
            Two different labels; the larger in sort order is +1.
        sample_weight : sequence of length n, optional
            Cost of a mistake on each row; weight 0 leaves the row out.
        """
        seconds = checks.positive_number("time_limit", self.time_limit)
        checks.positive_number("intercept_scaling", self.intercept_scaling)
        rng, threads = checks.generator(self.random_state), checks.threads(self.n_jobs)
        examples = self._examples(X, y, sample_weight)
        with MistakeProgress(self.verbose, seconds, "steps") as progress:
            result = fewest_of(examples, Search(seconds, threads, rng, progress.report))
        result = replace(result, row_names=RowNames.of(X))
        self._check_columns(X, examples.d, reset=True)
        self.classes_ = examples.labels
        self.n_mistakes_ = result.mistakes
        self.lower_bound_ = result.lower_bound
        self.optimal_ = result.optimal
        self.separated_ = len(result.wrong) == 0
        self.proof_ = result.proof
        self.result_ = result
        self._set_weights(Hypothesis(examples.add_slot(result.weights), examples.x0))
        if result.stop_reason == "interrupted":
            raise KeyboardInterrupt(f"interrupted; {result}")
        return self
