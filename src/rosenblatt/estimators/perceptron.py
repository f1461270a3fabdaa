"""The perceptron learning algorithm behind scikit-learn's interface."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rosenblatt import algorithms, checks, engine
from rosenblatt.algorithms.pla import CYCLES, Progress
from rosenblatt.estimators.base import Corrector
from rosenblatt.examples import Examples
from rosenblatt.words import counted, out_of_budget


class Perceptron(Corrector):
    """The perceptron learning algorithm, which says why it stopped and what it corrected.

    It halts when a full cycle of examples had no mistake, and never because progress looks
    slow. If the budget ends first, it warns with the number of mistakes left.

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
        What sign(0) means: always a mistake, -1 or +1.
    class_weight : dict or "balanced", optional
        Weights of the classes; they multiply `sample_weight`.
    warm_start : bool, default=False
        Whether `fit` starts from the weights of the last fit.
    random_state : int, RandomState or Generator, optional
        For the random orders.
    verbose : int, default=0
        1 prints a line to stderr every second or so.
    n_jobs : int, optional
        Threads that count mistakes and scores; None for one a core. Answers do not depend on it.

    Attributes
    ----------
    coef_ : array of shape (1, d)
        The weights of the features, without w0.
    intercept_ : array of shape (1,)
        w0·x0, what is added to every score.
    classes_ : array of shape (2,)
        The two labels, that of -1 first.
    n_iter_ : int
        Cycles begun.
    weights_ : array of shape (d + 1,)
        Tall w, w0 first; without intercept, of shape (d,).
    n_updates_ : int
        Corrections made. After `partial_fit`, of all calls together.
    separated_ : bool
        Whether a whole look at the examples found no mistake, confirmed in exact arithmetic.
        After `partial_fit`, whether its pass made none.
    n_mistakes_ : int
        Mistakes left on the examples. After `partial_fit`, those its pass made as it went.
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
    """

    n_updates_: int
    n_iter_: int

    def __init__(
        self,
        order: str = "cycle",
        max_iter: int = 1000,
        max_updates: int | None = None,
        eta0: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        zero: str = "mistake",
        class_weight: dict[Any, float] | str | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.order = order
        self.max_iter = max_iter
        self.max_updates = max_updates
        self.eta0 = eta0
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.zero = zero
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

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
            Two kinds of answer; the larger in sort order is +1.
        sample_weight : sequence of length n, optional
            A weight s scales the correction to eta0·s·y·x; weight 0 leaves the row out.
        coef_init, intercept_init : arrays, optional
            Where to start instead of 0.
        """
        rule, budget = self._rule(), self._budget()
        with engine.at_most(checks.threads(self.n_jobs)):
            return self._fit(X, y, sample_weight, (rule, budget), (coef_init, intercept_init))

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        way: tuple[algorithms.Rule, algorithms.Budget],
        begin: tuple[Any, Any],
    ) -> Self:
        rule, budget = way
        examples = self._examples(X, y, sample_weight, looked_at=rule.order not in CYCLES)
        start = self._start(examples, *begin)
        try:
            run = algorithms.pla(examples, rule, budget, start, _teller(self.verbose))
        except algorithms.Interrupted as stop:
            self._remember(X, examples, stop.run)
            raise
        self._remember(X, examples, run)
        if not run.separated:
            warnings.warn(_advice(run, examples), ConvergenceWarning, stacklevel=3)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Pass over a block of a stream once, correcting mistakes as they are met.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            The next examples.
        y : sequence of length n
            Their answers.
        classes : sequence of length 2, optional
            Both labels; needed in the first call, checked in later ones.
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
        if len(labels) != 2:
            raise ValueError(
                "Only binary classification is supported. "
                f"classes has {len(labels)} different labels; give two."
            )
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
        self._take(run.hypothesis)


def _advice(run: algorithms.Run, examples: Examples) -> str:
    made = f"{counted(run.corrections, 'correction')} in {counted(run.cycles, 'cycle')}"
    count = len(examples.in_order)
    return out_of_budget(run.reason, made, run.mistakes or 0, count, "rosenblatt.separability")


def _teller(verbose: int) -> Any:
    """A watcher that prints a line at most once a second, or none."""
    if not verbose:
        return None
    last = time.monotonic()

    def tell(so_far: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= 1.0:
            last = time.monotonic()
            print(
                f"rosenblatt: cycle {so_far.cycles}, {counted(so_far.corrections, 'correction')}",
                file=sys.stderr,
            )

    return tell
