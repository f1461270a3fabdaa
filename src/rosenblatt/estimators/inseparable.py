"""For examples that no line may answer: the pocket, and the search for the fewest mistakes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import rosenblatt.algorithms as algorithms
import rosenblatt.checks as checks
import rosenblatt.engine as engine
from rosenblatt.algorithms.fewest import Search
from rosenblatt.algorithms.pocket import FOREVER, Pocket, PocketPlan, PocketRun
from rosenblatt.clock import Teller
from rosenblatt.errors import with_index_labels
from rosenblatt.estimators.perceptron import LinearClassifier
from rosenblatt.evidence.optimum import FewestMistakesResult, fewest_of
from rosenblatt.examples import Examples, JointExamples
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.rownames import RowNames


@dataclass(eq=False, repr=False)
class PocketParameters(LinearClassifier):
    """The parameters of the pocket, in memory or on a cluster."""

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
    """The perceptron for examples that no line may answer: the best weights stay in a pocket.

    Corrections are PLA's. Every w(t) is judged on all examples, as in the lecture, and goes into
    the pocket if it makes strictly fewer mistakes. The run ends when the budget does, or at once
    when nothing is wrong. With more than two classes there is a w for each, as in `Perceptron`.

    Parameters
    ----------
    max_updates : int, default=1000
        The most corrections, of each restart.
    order : {"cycle", "random-cycle", "shuffle", "first", "random"}, default="random"
        How the next mistake is found; see `Perceptron`.
    ratchet : bool, default=False
        Gallant's pocket with ratchet: w is judged only when it has been right for longer in a
        row than the pocket had been when it was taken.
    restarts : int, default=1
        Runs from different seeds; the one with the fewest mistakes is kept. Orders that draw
        nothing ("cycle", "first") run once.
    time_limit : float, optional
        The most seconds; the best so far is kept when they end. Compiling, once per environment,
        is not counted, and few rows take no time.
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
        Whether `fit` starts from the pocket of the last fit.
    random_state : int, RandomState or Generator, optional
        For the random orders.
    verbose : int, default=0
        1 prints a line to stderr every second or so. A terminal shows progress anyhow.
    n_jobs : int, optional
        Threads; None for one a core. Answers do not depend on it.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (K, d) with K > 2 classes
        The weights of the features, without w0.
    intercept_ : array of shape (1,), or (K,)
        w0·x0, what is added to every score.
    classes_ : array of shape (K,)
        The labels in order; of two, that of -1 first.
    n_iter_ : int
        Cycles begun.
    weights_ : array of shape (d + 1,), or (K, d + 1)
        The pocket: tall w, w0 first; without intercept, of shape (d,).
    last_weights_ : array of shape (d + 1,), or (K, d + 1)
        w(T), after the last correction.
    n_updates_ : int
        T, the corrections made.
    separated_ : bool
        Whether the pocket makes no mistake, confirmed in exact arithmetic.
    n_mistakes_ : int or float
        Mistakes of the pocket; with weights, the weight of the rows it answers wrongly.
    history_ : list of (t, mistakes)
        When the pocket was replaced and what it then cost, beginning with w(0).
    stop_reason_ : {"no mistakes", "max_updates", "time_limit", "interrupted"}
        Why it stopped.
    trace_ : Trace
        Every correction; `trace_.weights(t)` is w(t).

    Examples
    --------
    >>> import rosenblatt as rb
    >>> clf = rb.PocketPerceptron(random_state=0)
    >>> clf.fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]).n_mistakes_
    1
    >>> clf.history_[0], clf.separated_, clf.stop_reason_
    ((0, 4), False, 'max_updates')
    """

    _kind = JointExamples

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
    ) -> Self:
        """Correct mistakes until the budget ends, keeping the best weights met.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            The examples. A C-contiguous float array or a CSR matrix is not copied.
        y : sequence of length n
            Answers of two kinds or more; of two, the larger in sort order is +1.
        sample_weight : sequence of length n, optional
            A weight s scales the correction to eta0·s·y·x and makes a mistake count s; weight 0
            leaves the row out.
        coef_init, intercept_init : arrays, optional
            Where to start instead of 0.
        """
        rule, budget = self._rule(), self._budget()
        checks.whole_number("restarts", self.restarts, least=1)
        threads = checks.threads(self.n_jobs)
        examples = self._examples(X, y, sample_weight)
        start = self._start(examples, coef_init, intercept_init)
        corrections: dict[int, int] = {}
        mistakes: dict[int, float] = {}

        def watch(number: int, so_far: algorithms.Progress, pocket: Pocket) -> None:
            corrections[number], mistakes[number] = so_far.corrections, pocket.mistakes
            teller.tell(min(list(mistakes.values())), sum(list(corrections.values())))

        with Teller(self.verbose, self.time_limit) as teller, engine.at_most(threads):
            plan = PocketPlan(bool(self.ratchet), int(self.restarts), threads, watch)
            run = algorithms.pocket(examples, rule, budget, start, plan)
        self._remember(X, examples, run)
        if run.reason == "interrupted":
            raise algorithms.Interrupted(run)
        return self

    def _remember(self, X: Any, examples: Examples, run: PocketRun) -> None:
        self._check_columns(X, examples.d, reset=True)
        self.classes_ = examples.labels
        self.n_iter_ = max(run.cycles, 1)
        self.n_updates_ = run.corrections
        self.n_mistakes_ = run.pocket.mistakes
        self.separated_ = run.separated
        self.history_ = list(run.pocket.history)
        self.last_weights_ = run.last.w if run.last.x0 else run.last.w[..., 1:]
        self.stop_reason_ = run.reason
        self.trace_ = run.trace
        self._take(run.hypothesis)


def fewest_mistakes(
    X: Any,
    y: Any,
    *,
    time_limit: float = 5.0,
    random_state: Any = None,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    n_jobs: int | None = None,
) -> FewestMistakesResult:
    """Search for the line with the fewest mistakes, and bound how few any line can make.

    Of few features (two and up to 50,000 rows, three and 5,000, four and 2,000, five and 500) the
    answer mostly is the optimum itself, in the plane of up to 200 rows whatever the time.
    Elsewhere the search uses the time it is given and stops early when nothing better is
    possible. On Ctrl-C the best so far is returned.

    A mistake is a row with y·(w·x) ≤ 0 in exact arithmetic, or one that `predict` answers wrongly
    because floats round its score to the other side, as can happen where products nearly cancel
    or lie near the largest or smallest float. So `mistakes` is the exact number for `weights`
    unless rounding misleads `predict`, and then it is larger, never smaller. `lower_bound` is
    about exact scores alone. Sample weights are added and compared as the fractions they are.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n, d)
        The examples. A C-contiguous float array or a CSR matrix is not copied.
    y : sequence of length n
        Two kinds of answer; the larger in sort order is +1.
    time_limit : float, default=5.0
        The most seconds of searching. Compiling, once per environment, is not counted, and what
        takes no time to know is known in any case.
    random_state : int, RandomState or Generator, optional
        The same number gives the same answer where the search ends before its time does; of
        several lines that are as good, threads may bring another one first: `n_jobs=1` does not.
    sample_weight : sequence of length n, optional
        What a mistake on each row costs; weight 0 leaves the row out.
    fit_intercept : bool, default=True
        Whether w has a w0, with x0 = 1.
    n_jobs : int, optional
        Threads; None for one a core.

    Returns
    -------
    FewestMistakesResult
        Weights, mistakes, lower bound, whether that is the optimum, and a proof of the bound.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> result = rb.fewest_mistakes([[1], [2], [3], [4]], ["no", "yes", "no", "yes"])
    >>> print(result)
    1 mistake; no line makes fewer (proved: 1 blocking set)
    >>> result.mistakes, result.lower_bound, result.optimal
    (1, 1, True)
    """
    seconds = checks.positive_number("time_limit", time_limit)
    examples = Examples.from_arrays(X, checks.column_or_1d(y), x0=1.0 if fit_intercept else 0.0)
    if sample_weight is not None:
        with with_index_labels(X):
            examples = examples.weighted(sample_weight)
    with Teller(0, seconds, "steps") as teller:
        rng, threads = checks.generator(random_state), checks.threads(n_jobs)
        result = fewest_of(examples, Search(seconds, threads, rng, teller.tell))
    return replace(result, row_names=RowNames.of(X))


@dataclass(eq=False, repr=False)
class FewestMistakes(LinearClassifier):
    """The line with the fewest mistakes that a search finds in the time it is given.

    See `fewest_mistakes`; this is the same search as an estimator.

    Parameters
    ----------
    time_limit : float, default=5.0
        The most seconds of a fit; see `fewest_mistakes`.
    fit_intercept : bool, default=True
        Whether there is a w0.
    intercept_scaling : float, default=1.0
        x0, the constant feature that w0 multiplies.
    class_weight : dict or "balanced", optional
        What mistakes on the classes cost; they multiply `sample_weight`.
    random_state : int, RandomState or Generator, optional
        The same number gives the same answer where the search ends before its time does; of
        several lines that are as good, threads may bring another one first: `n_jobs=1` does not.
    verbose : int, default=0
        1 prints a line to stderr every second or so. A terminal shows progress anyhow.
    n_jobs : int, optional
        Threads; None for one a core.

    Attributes
    ----------
    coef_ : array of shape (1, d)
        The weights of the features, without w0.
    intercept_ : array of shape (1,)
        w0·x0, what is added to every score.
    classes_ : array of shape (2,)
        The two labels, that of -1 first.
    weights_ : array of shape (d + 1,)
        Tall w, w0 first; without intercept, of shape (d,).
    n_mistakes_ : int or float
        Mistakes on the examples, counted as `fewest_mistakes` does; with weights, the weight of
        the rows answered wrongly.
    lower_bound_ : int or float
        No line makes fewer.
    optimal_ : bool
        Whether the two are the same.
    separated_ : bool
        Whether there are no mistakes.
    proof_ : Proof or None
        Of the lower bound.
    result_ : FewestMistakesResult
        All of it, with a sentence to print.

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
        """Search until the time is over or nothing better is possible.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            The examples. A C-contiguous float array or a CSR matrix is not copied.
        y : sequence of length n
            Two kinds of answer; the larger in sort order is +1.
        sample_weight : sequence of length n, optional
            What a mistake on each row costs; weight 0 leaves the row out.
        """
        seconds = checks.positive_number("time_limit", self.time_limit)
        checks.positive_number("intercept_scaling", self.intercept_scaling)
        rng, threads = checks.generator(self.random_state), checks.threads(self.n_jobs)
        examples = self._examples(X, y, sample_weight)
        with Teller(self.verbose, seconds, "steps") as teller:
            result = fewest_of(examples, Search(seconds, threads, rng, teller.tell))
        self._remember(X, examples, replace(result, row_names=RowNames.of(X)))
        if result.stop_reason == "interrupted":
            raise KeyboardInterrupt(f"interrupted; {result}")
        return self

    def _remember(self, X: Any, examples: Examples, result: FewestMistakesResult) -> None:
        self._check_columns(X, examples.d, reset=True)
        self.classes_ = examples.labels
        self.n_mistakes_ = result.mistakes
        self.lower_bound_ = result.lower_bound
        self.optimal_ = result.optimal
        self.separated_ = len(result.wrong) == 0
        self.proof_ = result.proof
        self.result_ = result
        self._take(Hypothesis(examples.slotted(result.weights), examples.x0))
