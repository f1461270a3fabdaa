"""Estimators for data on a Dask cluster, with the parameters of the plain ones."""

from __future__ import annotations

import warnings
from os import PathLike
from typing import Any, Self

from sklearn.exceptions import ConvergenceWarning

from rosenblatt import algorithms, checks
from rosenblatt.algorithms.pocket import FOREVER
from rosenblatt.dask.gathering import Given, Sheet
from rosenblatt.dask.mixer import Mixer
from rosenblatt.dask.mixing import Mixed, Plan
from rosenblatt.words import counted


class Perceptron(Mixer):
    """The perceptron on a Dask cluster: every shard runs a cycle, their weights are averaged.

    It halts when a whole round has no mistake, which happens after a bounded number of rounds
    where the examples are separable. With one shard, and an order that draws nothing, it is the
    run of `rosenblatt.Perceptron`, bit for bit. The first parameters are those of
    `rosenblatt.Perceptron`; a cycle is a round, and random orders draw from (seed, round, shard).

    Parameters
    ----------
    order, max_iter, max_updates, eta0, fit_intercept, intercept_scaling : as in Perceptron
        `max_iter` counts rounds; `max_updates` the corrections of all shards together.
    zero, class_weight, warm_start, random_state, verbose : as in Perceptron
        With `verbose` a line is printed every second or so.
    n_jobs : int, optional
        Changes nothing here but in `to_local()`: the workers' threads do the work.
    client : dask.distributed.Client, optional
        The connection to the cluster; the default client if not given.
    mixing : {"uniform", "mistakes"}, default="uniform"
        How shards weigh in the average: all the same, or by the mistakes each corrected.
    checkpoint : path, optional
        A file that keeps the state every few rounds, for `resume`.
    checkpoint_every : int, default=10
        After how many rounds it is written again.
    timeout : float, default=600.0
        The most seconds without any shard finishing.

    Attributes
    ----------
    coef_, intercept_, classes_, weights_, n_updates_, separated_, n_mistakes_ : as in Perceptron
    n_iter_ : int
        Rounds.
    history_ : list of Round
        Mistakes, corrections and seconds of every round.
    stop_reason_ : {"no mistakes", "max_iter", "max_updates", "interrupted"}
        Why it stopped.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from rosenblatt.dask import Perceptron
    >>> client = Client(processes=False, dashboard_address=":0")  # doctest: +SKIP
    >>> X = da.from_array([[2.0], [1.0], [-1.0], [-2.0]], chunks=(2, 1))
    >>> clf = Perceptron(client=client).fit(X, X[:, 0] > 0)  # doctest: +SKIP
    >>> clf.separated_, clf.to_local()  # doctest: +SKIP
    (True, Perceptron())
    """

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
        client: Any = None,
        mixing: str = "uniform",
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int = 10,
        timeout: float = 600.0,
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
        self.client = client
        self.mixing = mixing
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.timeout = timeout

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
    ) -> Self:
        """Go round after round until a whole one has no mistake or the budget ends.

        Parameters
        ----------
        X : Dask array, Dask dataframe, or path (or paths) of Parquet files
            The examples; each block, partition or file is a shard.
        y : Dask array or series, sequence, or str
            Two kinds of answer; for dataframes and Parquet also the name of their column.
        sample_weight : Dask array or series, sequence, or str, optional
            A weight s scales the correction to eta0·s·y·x; weight 0 leaves the row out.
        coef_init, intercept_init : arrays, optional
            Where to start instead of 0.
        """
        given = Given(X, y, sample_weight, self.class_weight)
        return self._learn(given, (coef_init, intercept_init))

    def _remember(self, sheet: Sheet, mixed: Mixed) -> None:
        self._keep(sheet, mixed, mixed.end.w)
        self.n_mistakes_ = mixed.end.mistakes
        self.separated_ = mixed.end.mistakes == 0
        if mixed.reason in ("max_iter", "max_updates"):
            warnings.warn(_advice(sheet, mixed), ConvergenceWarning, stacklevel=4)


class PocketPerceptron(Mixer):
    """The pocket on a Dask cluster: the best of the averaged weights is kept.

    Every round counts the mistakes of the w it began with, on all shards, in the same tasks
    that learn; so each w(round) is judged, and the pocket comes nearly free. The first
    parameters are those of `rosenblatt.PocketPerceptron`.

    Parameters
    ----------
    max_updates : int, default=1000
        The most corrections, of all shards together; spread over at least 32 rounds, so that w
        is judged on the way. Give many: a shard makes thousands in one cycle.
    order, time_limit, eta0, fit_intercept, intercept_scaling : as in PocketPerceptron
        `time_limit` counts the seconds of rounds, not of loading.
    zero, class_weight, warm_start, random_state, verbose : as in PocketPerceptron
        With `verbose` a line is printed every second or so.
    ratchet : bool, default=False
        Changes nothing here: to judge w costs nothing more.
    restarts : int, default=1
        Only 1: give another random_state instead.
    n_jobs : int, optional
        Changes nothing here: the workers' threads do the work.
    client, mixing, checkpoint, checkpoint_every, timeout : as in rosenblatt.dask.Perceptron
        The cluster, the average, the file for `resume`, the longest wait.

    Attributes
    ----------
    coef_, intercept_, classes_, weights_, last_weights_, n_updates_ : as in PocketPerceptron
    separated_, n_mistakes_, stop_reason_ : as in PocketPerceptron
    n_iter_ : int
        Rounds.
    history_ : list of Round
        Mistakes, corrections and seconds of every round.
    """

    def __init__(
        self,
        max_updates: int = 1000,
        order: str = "random",
        ratchet: bool = False,
        restarts: int = 1,
        time_limit: float | None = None,
        eta0: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        zero: str = "mistake",
        class_weight: dict[Any, float] | str | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        client: Any = None,
        mixing: str = "uniform",
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int = 10,
        timeout: float = 600.0,
    ) -> None:
        self.max_updates = max_updates
        self.order = order
        self.ratchet = ratchet
        self.restarts = restarts
        self.time_limit = time_limit
        self.eta0 = eta0
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.zero = zero
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.client = client
        self.mixing = mixing
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.timeout = timeout

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
    ) -> Self:
        """Go round after round until the budget ends, keeping the best weights met.

        Parameters
        ----------
        X : Dask array, Dask dataframe, or path (or paths) of Parquet files
            The examples; each block, partition or file is a shard.
        y : Dask array or series, sequence, or str
            Two kinds of answer; for dataframes and Parquet also the name of their column.
        sample_weight : Dask array or series, sequence, or str, optional
            A weight s scales the correction to eta0·s·y·x and makes a mistake count s; weight 0
            leaves the row out.
        coef_init, intercept_init : arrays, optional
            Where to start instead of 0.
        """
        given = Given(X, y, sample_weight, self.class_weight)
        return self._learn(given, (coef_init, intercept_init))

    def _plan(self) -> Plan:
        if self.restarts != 1:
            raise ValueError(
                f"restarts is {self.restarts!r}; on Dask give 1, and fit again with another "
                "random_state."
            )
        plan = super()._plan()
        return Plan(plan.rule, plan.budget, plan.by_mistakes, plan.seed, pocket=True)

    def _budget(self) -> algorithms.Budget:
        most: Any = self.max_updates
        checks.whole_number("max_updates", most, least=0)
        if self.time_limit is not None:
            checks.positive_number("time_limit", self.time_limit)
        return algorithms.Budget(FOREVER, int(most), self.time_limit)

    def _remember(self, sheet: Sheet, mixed: Mixed) -> None:
        best = mixed.state.pocket or mixed.end
        self._keep(sheet, mixed, best.w)
        self.n_mistakes_ = best.mistakes
        self.separated_ = best.mistakes == 0
        self.last_weights_ = sheet.stand_in().tall(mixed.end.w)


def _advice(sheet: Sheet, mixed: Mixed) -> str:
    state = mixed.state
    return (
        f"Perceptron stopped at {mixed.reason} after {counted(state.corrections, 'correction')} in "
        f"{counted(state.rounds, 'round')} with {counted(mixed.end.mistakes, 'mistake')} left on "
        f"{counted(sum(sheet.rows), 'example')}. "
        "Ask rosenblatt.dask.separability(X, y) whether any line can answer them all; if none can, "
        "use PocketPerceptron; if one can, raise the budget or scale the features."
    )
