"""The search for the fewest mistakes behind scikit-learn's interface, and as a function."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from rosenblatt import checks
from rosenblatt.algorithms.fewest import Search
from rosenblatt.clock import Teller
from rosenblatt.estimators.base import Corrector
from rosenblatt.evidence.optimum import FewestMistakesResult, fewest_of
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import Hypothesis


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

    In the plane (two features, up to 2,000 rows) the answer is the optimum itself, of up to 200
    rows whatever the time. Elsewhere the search uses the time it is given and stops early when
    nothing better is possible. A mistake is y·(w·x) ≤ 0, counted exactly; sample weights are
    added and compared as the fractions they are. On Ctrl-C the best so far is returned.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n, d)
        The examples. A C-contiguous float array or a CSR matrix is not copied.
    y : sequence of length n
        Two kinds of answer; the larger in sort order is +1.
    time_limit : float, default=5.0
        The most seconds of searching. Compiling, once on a machine, is not counted, and what
        takes no time to know is known in any case.
    random_state : int, RandomState or Generator, optional
        The same number gives the same answer where the search ends before its time does.
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
    1 mistake; no line makes fewer
    >>> result.mistakes, result.lower_bound, result.optimal
    (1, 1, True)
    """
    seconds = checks.positive_number("time_limit", time_limit)
    examples = Examples.from_arrays(X, checks.column_or_1d(y), x0=1.0 if fit_intercept else 0.0)
    if sample_weight is not None:
        examples = examples.weighted(sample_weight)
    with Teller(0, seconds, "steps") as teller:
        rng, threads = checks.generator(random_state), checks.threads(n_jobs)
        return fewest_of(examples, Search(seconds, threads, rng, teller.tell))


class FewestMistakes(Corrector):
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
        The same number gives the same answer where the search ends before its time does.
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
        Mistakes on the examples; with weights, the weight of the rows answered wrongly.
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

    def __init__(
        self,
        time_limit: float = 5.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.time_limit = time_limit
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

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
        self._remember(X, examples, result)
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
        w = result.weights
        slot = w if self.fit_intercept else np.concatenate(([0.0], w))
        self._take(Hypothesis(slot, examples.x0))
