"""Estimators, verdicts and their proofs for data on a Dask cluster, as the plain ones are."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike, fspath
from typing import Any, Self

import dask
import dask.array as da
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import rosenblatt.algorithms as algorithms
import rosenblatt.checks as checks
import rosenblatt.estimators as estimators
from rosenblatt.clock import StatusLine
from rosenblatt.dask.cluster import Cluster, ClusterError, Given
from rosenblatt.dask.mixing import Checkpoint, Judged, Mixed, Mixing, Pace, Round, State, mix
from rosenblatt.dask.sources import (
    Piece,
    are_paths,
    column_of,
    is_frame,
    partitions_of,
    pieces_of,
    with_one_set_of_columns,
)
from rosenblatt.dask.tasks import Learnt
from rosenblatt.estimators.inseparable import PocketParameters
from rosenblatt.estimators.perceptron import LinearClassifier, PlaParameters
from rosenblatt.evidence.checker import check_kinds
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import separability_of
from rosenblatt.evidence.verdicts import Separability
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import ZEROS, Hypothesis
from rosenblatt.words import counted, out_of_budget

MIXINGS = ("uniform", "mistakes")


@dataclass(eq=False, repr=False)
class OnCluster(LinearClassifier):
    """What both estimators share: loading, mixing, keeping; answers as Dask arrays."""

    client: Any = None
    mixing: str = "uniform"
    checkpoint: str | PathLike[str] | None = None
    checkpoint_every: int = 10
    timeout: float = 600.0

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
            A weight s scales the correction to eta0·s·y·x, and makes a mistake count s for the
            pocket; weight 0 leaves the row out.
        coef_init, intercept_init : arrays, optional
            Where to start instead of 0.
        """
        given = Given(X, y, sample_weight, self.class_weight)
        return self._learn(given, (coef_init, intercept_init))

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
        own = {field.name for field in fields(OnCluster)}  # which the plain ones do not have
        mine = {k: v for k, v in self.get_params(deep=False).items() if k not in own}
        local = plain(**mine)
        for name, value in vars(self).items():
            if name.endswith("_") or name == "_zero":
                setattr(local, name, value)
        return local

    def decision_function(self, X: Any) -> Any:
        """Score each row: w·x, positive for the second of `classes_`.

        Parameters
        ----------
        X : Dask array, Dask dataframe, path of Parquet files, array or frame
            The rows to score. What comes from Dask or a path gives a Dask array.
        """
        return self._answers("decision_function", X, np.dtype(np.float64))

    def predict(self, X: Any) -> Any:
        """Answer each row with one of `classes_`.

        Parameters
        ----------
        X : Dask array, Dask dataframe, path of Parquet files, array or frame
            The rows to answer. What comes from Dask or a path gives a Dask array.
        """
        return self._answers("predict", X, getattr(self, "classes_", np.empty(0)).dtype)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows answered rightly.

        Parameters
        ----------
        X, y, sample_weight : Dask collections or arrays
            The rows, their answers and weights.
        """
        answers = self.predict(X)
        if not isinstance(answers, da.Array):
            return float(super().score(X, y, sample_weight))
        rows = answers.chunks[0]
        truths, sizes = (column_of(y, "y", rows), column_of(sample_weight, "sample_weight", rows))
        count = dask.delayed(_right, pure=False)
        sizes = [None] * len(rows) if sizes is None else sizes
        parts = zip(answers.to_delayed(), truths or [], sizes, strict=True)
        sums = np.array(dask.compute(*(count(*part) for part in parts)))
        right, all_of_them = sums.sum(axis=0)
        return float(right / all_of_them)

    def _answers(self, method: str, X: Any, dtype: np.dtype[Any]) -> Any:
        local = self.to_local()
        if isinstance(X, da.Array):
            whole = X.rechunk({1: -1}) if X.numblocks[1] != 1 else X
            meta = np.empty(0, dtype=dtype)
            return whole.map_blocks(_part, local, method, dtype=dtype, drop_axis=1, meta=meta)
        if is_frame(X):
            return _together([(np.nan, part) for part in partitions_of(X)[1]], local, method, dtype)
        if are_paths(X):
            pieces = pieces_of(X)
            columns = getattr(local, "feature_names_in_", None)
            columns = with_one_set_of_columns(pieces) if columns is None else columns
            read = dask.delayed(Piece.read, pure=False)
            parts = [(piece.rows, read(piece, tuple(columns))) for piece in pieces]
            return _together(parts, local, method, dtype)
        return getattr(local, method)(X)

    def _learn(self, given: Given, start: tuple[Any, Any] | None) -> Self:
        """Fit from a start, or where none is given go on from the checkpoint."""
        plan = self._plan()
        cluster = Cluster(self.client, checks.positive_number("timeout", self.timeout))
        like = cluster.gather(given, self._x0())
        saved = self._checkpoint(like, cluster.rows)
        if start is None:
            assert saved is not None
            seed, state = saved.read(plan)
            plan = replace(plan, seed=seed)
        else:
            w = self._start(like, *start)
            state = State(np.zeros(like.d + 1) if w is None else w)
            if saved is not None:
                saved.write(plan, state)
        mixed = self._mixed(cluster, plan, state, saved)
        self._remember(like, mixed, sum(cluster.rows))
        if mixed.reason == "interrupted":
            raise KeyboardInterrupt
        return self

    def _mixed(
        self, cluster: Cluster, plan: Mixing, state: State, saved: Checkpoint | None
    ) -> Mixed:
        with StatusLine(self.verbose) as line:
            pace = Pace(len(cluster.shards))

            def watch(state: State, learnt: Sequence[Learnt]) -> None:
                if saved is not None:
                    saved.after_round(plan, state)
                pace.take(learnt)
                last = state.history[-1]
                line.say(
                    lambda: (
                        f"round {state.rounds}: {counted(last.mistakes, 'mistake')}, "
                        f"{last.seconds:.2f} s"
                    )
                )

            try:
                return mix(cluster, plan, state, watch)
            except ClusterError as error:
                way_on = "Give checkpoint=path next time, to resume from there."
                if saved is not None:
                    way_on = (
                        f"Start a cluster and call resume(X, y): {saved.path} holds the run so far."
                    )
                raise ClusterError(f"{error} {way_on}") from error.__cause__

    def _checkpoint(self, like: Examples, rows: list[int]) -> Checkpoint | None:
        checks.whole_number("checkpoint_every", self.checkpoint_every, least=1)
        if self.checkpoint is None:
            return None
        data = {
            "labels": [repr(label) for label in like.labels.tolist()],
            "columns": like.d,
            "x0": like.x0,
            "rows": rows,
        }
        return Checkpoint(fspath(self.checkpoint), int(self.checkpoint_every), data)

    def _plan(self) -> Mixing:
        rule = self._rule()
        checks.one_of("mixing", self.mixing, MIXINGS)
        seed = 0 if rule.rng is None else int(rule.rng.integers(2**62))
        bare = algorithms.Rule(rule.order, rule.zero, rule.eta)
        return Mixing(bare, self._budget(), self.mixing == "mistakes", seed)

    def _keep(self, like: Examples, mixed: Mixed, found: Judged) -> None:
        self.n_features_in_ = like.d
        if like.names is not None:
            self.feature_names_in_ = np.array(like.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.classes_ = like.labels
        self.n_mistakes_ = found.mistakes
        self.separated_ = found.mistakes == 0
        self.n_iter_ = max(mixed.state.rounds, 1)
        self.n_updates_ = mixed.state.corrections
        self.history_: list[Round] = list(mixed.state.history)
        self.stop_reason_ = mixed.reason
        self._take(Hypothesis(found.w, like.x0, ZEROS[self.zero]))

    def _remember(self, like: Examples, mixed: Mixed, rows: int) -> None:
        raise NotImplementedError

    def __sklearn_clone__(self) -> Any:
        mine = self.get_params(deep=False)
        client = mine.pop("client")  # a connection is shared, never copied
        return type(self)(client=client, **{k: clone(v, safe=False) for k, v in mine.items()})

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}


@dataclass(eq=False, repr=False)
class Perceptron(OnCluster, PlaParameters):
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

    def _remember(self, like: Examples, mixed: Mixed, rows: int) -> None:
        self._keep(like, mixed, mixed.end)
        if mixed.reason in ("max_iter", "max_updates"):
            rounds = counted(mixed.state.rounds, "round")
            made = f"{counted(mixed.state.corrections, 'correction')} in {rounds}"
            ask = "rosenblatt.dask.separability"
            told = out_of_budget(mixed.reason, made, mixed.end.mistakes, rows, ask)
            warnings.warn(told, ConvergenceWarning, stacklevel=4)


@dataclass(eq=False, repr=False)
class PocketPerceptron(OnCluster, PocketParameters):
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

    def _plan(self) -> Mixing:
        if self.restarts != 1:
            raise ValueError(
                f"restarts is {self.restarts!r}; on Dask give 1, and fit again with another "
                "random_state."
            )
        return replace(super()._plan(), pocket=True)

    def _remember(self, like: Examples, mixed: Mixed, rows: int) -> None:
        self._keep(like, mixed, mixed.state.pocket or mixed.end)
        self.last_weights_ = like.tall(mixed.end.w)


def _together(parts: list[Any], local: Any, method: str, dtype: np.dtype[Any]) -> Any:
    work, shared = dask.delayed(_part, pure=False), dask.delayed(local)
    arrays = [
        da.from_delayed(work(part, shared, method), shape=(rows,), dtype=dtype)
        for rows, part in parts
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _part(part: Any, local: Any, method: str) -> Any:
    if part.shape[0] == 0:
        return np.empty(0, dtype=local.classes_.dtype if method == "predict" else np.float64)
    return getattr(local, method)(part)


def _right(answers: Any, truth: Any, weights: Any) -> tuple[float, float]:
    """What the right answers weigh, and all of them."""
    right = np.asarray(answers) == np.asarray(truth)
    sizes = np.ones(len(right)) if weights is None else np.asarray(weights, dtype=np.float64)
    return float(sizes[right].sum()), float(sizes.sum())


def separability(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    widest: bool = True,
    client: Any = None,
    timeout: float = 600.0,
) -> Separability:
    """Decide whether a straight line can answer every example, and prove it, on a cluster.

    The verdict is that of `rosenblatt.separability` on all rows at once; rows are numbered in
    the order of the parts. Only the rows that matter travel to the driver.

    Parameters
    ----------
    X : Dask array, Dask dataframe, or path (or paths) of Parquet files
        The features; every float is taken as the exact fraction that it is.
    y : Dask array or series, sequence, or str
        One or two kinds of answer; for dataframes and Parquet also the name of their column.
    fit_intercept : bool, default=True
        Whether w has a w0 with x0 = `intercept_scaling`.
    intercept_scaling : float, default=1.0
        The constant feature x0.
    widest : bool, default=True
        Whether to go on to the widest margin once some w separates.
    client : dask.distributed.Client, optional
        The connection to the cluster; the default client if not given.
    timeout : float, default=600.0
        The most seconds without any shard finishing.

    Returns
    -------
    Separability
        The verdict, the weights, margin and bound where there are any, and the proof.
    """
    x0 = float(intercept_scaling) if fit_intercept else 0.0
    return separability_of(_gathered(X, y, x0, client, timeout), widest=widest)


def check_proof(
    proof: Proof, X: Any, y: Any, *, client: Any = None, timeout: float = 600.0
) -> bool:
    """Check a proof against data on a cluster, in exact arithmetic, where the shards are.

    Parameters
    ----------
    proof : Proof
        What is claimed; whoever made it.
    X, y : as in `separability`
        The data it is about.
    client, timeout : as in `separability`
        The cluster, and the longest wait.

    Returns
    -------
    bool
        True; a proof that does not hold raises ProofError.
    """
    check_kinds(proof)  # before anything is asked of the cluster
    return proof.check_examples(_gathered(X, y, proof.x0, client, timeout))


def _gathered(X: Any, y: Any, x0: float, client: Any, timeout: float) -> Cluster:
    cluster = Cluster(client, timeout)
    cluster.gather(Given(X, y), x0, one_class=True)
    return cluster
