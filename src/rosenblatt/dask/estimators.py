"""Estimators for data on a Dask cluster, with the parameters of the plain ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rosenblatt import estimators, learn
from rosenblatt.dask.crew import ClusterError, Crew
from rosenblatt.dask.gathering import Given, Sheet, gather
from rosenblatt.dask.lazily import Lazily
from rosenblatt.dask.mixing import Mixed, Plan, Round, State, mix
from rosenblatt.dask.saved import Checkpoint
from rosenblatt.dask.tasks import Learnt
from rosenblatt.dask.telling import Pace, Teller
from rosenblatt.estimators import checks
from rosenblatt.estimators.base import ZEROS, Corrector
from rosenblatt.hypothesis import Hypothesis
from rosenblatt.learn.pocket import FOREVER

MIXINGS = ("uniform", "mistakes")
# What the plain estimators do not have.
OWN = ("client", "mixing", "checkpoint", "checkpoint_every", "timeout")


class Mixer(Lazily, Corrector):
    """What both estimators share: loading, mixing, telling, keeping."""

    client: Any
    mixing: str
    checkpoint: str | PathLike[str] | None
    checkpoint_every: int
    timeout: float
    history_: list[Round]

    def resume(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on from the checkpoint of a run that was lost; the same final bits come out.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            The same data in the same parts.
        """
        if self.checkpoint is None:
            raise ValueError("there is no checkpoint to resume from: checkpoint is None.")
        return self._learn(Given(X, y, sample_weight, self.class_weight), None)

    def to_local(self) -> Any:
        """The plain estimator with the same parameters, and what was fitted if anything was."""
        plain = getattr(estimators, type(self).__name__)
        mine = {k: v for k, v in self.get_params(deep=False).items() if k not in OWN}
        local = plain(**mine)
        for name, value in vars(self).items():
            if name.endswith("_") or name == "_zero":
                setattr(local, name, value)
        return local

    def _learn(self, given: Given, start: tuple[Any, Any] | None) -> Self:
        """Fit from a start, or where none is given go on from the checkpoint."""
        plan = self._plan()
        crew = Crew(self.client, checks.positive_number("timeout", self.timeout))
        sheet = gather(crew, given, self._x0())
        saved = self._checkpoint(sheet)
        if start is None:
            assert saved is not None
            seed, state = saved.read(plan)
            plan = Plan(plan.rule, plan.budget, plan.by_mistakes, seed, plan.pocket)
        else:
            w = self._start(sheet.stand_in(), *start)
            state = State(np.zeros(sheet.columns + 1) if w is None else w)
            if saved is not None:
                saved.write(plan, state)
        mixed = self._mixed(crew, plan, state, saved)
        self._remember(sheet, mixed)
        if mixed.reason == "interrupted":
            raise KeyboardInterrupt
        return self

    def _mixed(self, crew: Crew, plan: Plan, state: State, saved: Checkpoint | None) -> Mixed:
        with Teller(self.verbose) as teller:
            pace = Pace(len(crew.shards))

            def watch(state: State, learnt: Sequence[Learnt]) -> None:
                if saved is not None:
                    saved.after_round(plan, state)
                pace.take(learnt)
                teller.tell(state)

            try:
                return mix(crew, plan, state, watch)
            except ClusterError as error:
                raise ClusterError(f"{error}{_way_on(saved)}") from error.__cause__

    def _checkpoint(self, sheet: Sheet) -> Checkpoint | None:
        checks.whole_number("checkpoint_every", self.checkpoint_every, least=1)
        if self.checkpoint is None:
            return None
        data = {
            "labels": [repr(label) for label in sheet.labels.tolist()],
            "columns": sheet.columns,
            "x0": sheet.x0,
            "rows": list(sheet.rows),
        }
        return Checkpoint(fspath(self.checkpoint), int(self.checkpoint_every), data)

    def _plan(self) -> Plan:
        rule = self._rule()
        checks.one_of("mixing", self.mixing, MIXINGS)
        seed = 0 if rule.rng is None else int(rule.rng.integers(2**62))
        bare = learn.Rule(rule.order, rule.zero, rule.eta)
        return Plan(bare, self._budget(), self.mixing == "mistakes", seed)

    def _keep(self, sheet: Sheet, mixed: Mixed, w: NDArray[np.float64]) -> None:
        self.n_features_in_ = sheet.columns
        if sheet.names is not None:
            self.feature_names_in_ = np.array(sheet.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.classes_ = sheet.labels
        self.n_iter_ = max(mixed.state.rounds, 1)
        self.n_updates_ = mixed.state.corrections
        self.history_ = list(mixed.state.history)
        self.stop_reason_ = mixed.reason
        self._take(Hypothesis(w, sheet.x0, ZEROS[self.zero]))

    def _remember(self, sheet: Sheet, mixed: Mixed) -> None:
        raise NotImplementedError

    def __sklearn_clone__(self) -> Any:
        mine = self.get_params(deep=False)
        client = mine.pop("client")  # a connection is shared, never copied
        return type(self)(client=client, **{k: clone(v, safe=False) for k, v in mine.items()})

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}


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

    def _budget(self) -> learn.Budget:
        most: Any = self.max_updates
        checks.whole_number("max_updates", most, least=0)
        if self.time_limit is not None:
            checks.positive_number("time_limit", self.time_limit)
        return learn.Budget(FOREVER, int(most), self.time_limit)

    def _remember(self, sheet: Sheet, mixed: Mixed) -> None:
        best = mixed.state.pocket or mixed.end
        self._keep(sheet, mixed, best.w)
        self.n_mistakes_ = best.mistakes
        self.separated_ = best.mistakes == 0
        self.last_weights_ = sheet.stand_in().tall(mixed.end.w)


def _way_on(saved: Checkpoint | None) -> str:
    if saved is None:
        return " Give checkpoint=path next time, to resume from there."
    return f" Start a cluster and call resume(X, y): {saved.path} holds the run so far."


def _advice(sheet: Sheet, mixed: Mixed) -> str:
    state = mixed.state
    return (
        f"Perceptron stopped at {mixed.reason} after {state.corrections} corrections in "
        f"{state.rounds} rounds with {mixed.end.mistakes:g} mistakes left on {sum(sheet.rows)} "
        "examples. Ask rosenblatt.dask.separability(X, y) whether any line can answer them all; "
        "if none can, use PocketPerceptron; if one can, raise the budget or scale the features."
    )
