"""Train perceptrons and decide separability on data spread over a Dask cluster.

Training is iterative parameter mixing (McDonald, Hall and Mann 2010): in each round, every
partition runs one epoch from the current w, and the driver averages the results. The run halts when
a whole round has no mistake; separable data need only a bounded number of rounds.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields, replace
from os import PathLike, fspath
from typing import Any, Self

try:
    import dask
    import dask.array as da
    import dask.distributed
except ImportError as error:  # pragma: no cover (tested in a separate process)
    raise ImportError(
        "rosenblatt.dask needs Dask; install it with: pip install 'rosenblatt[dask]'"
    ) from error

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

import rosenblatt.algorithms as algorithms
import rosenblatt.checks as checks
import rosenblatt.estimators as estimators
from rosenblatt.clock import StatusLine
from rosenblatt.dask.partitions import (
    Checkpoint,
    ClusterError,
    MixingPlan,
    Partitions,
    Round,
    State,
    check_columns,
    frame_partitions,
    is_frame,
    mix,
    read_frame,
    split_column,
)
from rosenblatt.estimators import PocketParameters
from rosenblatt.estimators.perceptron import LinearClassifier, PlaParameters
from rosenblatt.evidence.certificate import refuse_other_data
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import separability_of
from rosenblatt.evidence.verdicts import Separability
from rosenblatt.examples import Examples
from rosenblatt.hypothesis import ZEROS, Hypothesis
from rosenblatt.text import describe_unconverged, plural

__all__ = [
    "ClusterError",
    "Perceptron",
    "PocketPerceptron",
    "Round",
    "check_proof",
    "separability",
]

MIXINGS = ("uniform", "mistakes")


@dataclass(eq=False, repr=False)
class OnCluster(LinearClassifier):
    """Base class of the estimators that are trained on a Dask cluster."""

    client: Any = None
    mixing: str = "uniform"
    checkpoint: str | PathLike[str] | None = None
    checkpoint_every: int = 10
    timeout: float = 600.0

    _multiclass = True

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
    ) -> Self:
        """Train on Dask collections until no row is misclassified or a limit is reached.

        Parameters
        ----------
        X : Dask array, Dask dataframe, or path (or paths) of Parquet files
            Training rows. Paths are read by `dask.dataframe.read_parquet`.
        y : Dask array or series, sequence, or str
            Two or more labels; for dataframes and Parquet also the name of their column.
        sample_weight : Dask array or series, sequence, or str, optional
            An update on a row of weight s adds eta0·s·y·x to w, and a mistake on it counts s
            for the pocket. Rows with weight 0 are ignored.
        coef_init, intercept_init : arrays, optional
            Initial weights instead of 0.

        Returns
        -------
        self
        """
        return self._run(X, y, sample_weight, (coef_init, intercept_init))

    def resume(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Resume an interrupted fit from its checkpoint.

        The result is the same, bit for bit, as without the interruption.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            The same data in the same partitions.
        """
        if self.checkpoint is None:
            raise ValueError("checkpoint is None; give the path of the checkpoint to resume from.")
        return self._run(X, y, sample_weight, None)

    def to_local(self) -> Any:
        """Return an estimator that needs no Dask, with the same parameters and weights."""
        local_class = getattr(estimators, type(self).__name__)
        cluster_only = {field.name for field in fields(OnCluster)}
        params = self.get_params(deep=False).items()
        local = local_class(**{k: v for k, v in params if k not in cluster_only})
        for name, value in vars(self).items():
            if name.endswith("_") or name == "_zero":
                setattr(local, name, value)
        return local

    def decision_function(self, X: Any) -> Any:
        """Return the score w·x of each row, positive for the second of `classes_`.

        With more than two classes, each has its own score: an array of shape (n, K).

        Parameters
        ----------
        X : Dask array, Dask dataframe, path of Parquet files, array or frame
            Rows to score. Dask collections and paths give a Dask array.
        """
        return self._apply("decision_function", X, np.dtype(np.float64))

    def predict(self, X: Any) -> Any:
        """Predict the label of each row.

        Parameters
        ----------
        X : Dask array, Dask dataframe, path of Parquet files, array or frame
            Rows to classify. Dask collections and paths give a Dask array.
        """
        return self._apply("predict", X, getattr(self, "classes_", np.empty(0)).dtype)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on rows and their labels.

        Parameters
        ----------
        X, y, sample_weight : Dask collections or arrays
            Rows, their labels and weights.
        """
        predicted = self.predict(X)
        if not isinstance(predicted, da.Array):
            return float(super().score(X, y, sample_weight))
        rows = predicted.chunks[0]
        columns = (split_column(y, "y", rows), split_column(sample_weight, "sample_weight", rows))
        count = dask.delayed(_count_correct, pure=False)
        parts = zip(predicted.to_delayed(), *columns, strict=True)
        correct, total = np.array(dask.compute(*(count(*part) for part in parts))).sum(axis=0)
        return float(correct / total)

    def _apply(self, method: str, X: Any, dtype: np.dtype[Any]) -> Any:
        """Call a method of the local estimator, lazily if X is a Dask collection."""
        local = self.to_local()
        check_is_fitted(local)
        scores = method == "decision_function" and len(local.classes_) > 2
        rest = (len(local.classes_),) if scores else ()  # shape of the result for one row
        meta = np.empty((0, *rest), dtype=dtype)
        if isinstance(X, da.Array):
            X = X.rechunk({1: -1})
            chunks = {"chunks": (X.chunks[0], *((k,) for k in rest))}
            axis = {} if rest else {"drop_axis": 1}
            return X.map_blocks(_apply_block, local, method, meta=meta, **chunks, **axis)
        frame = read_frame(X)
        if not is_frame(frame):
            return getattr(local, method)(X)
        if frame is not X and hasattr(local, "feature_names_in_"):  # files may have more columns
            check_columns(frame, local.feature_names_in_)
            frame = frame[list(local.feature_names_in_)]
        work, shared = dask.delayed(_apply_block, pure=False), dask.delayed(local)
        arrays = [
            da.from_delayed(work(part, shared, method), shape=(np.nan, *rest), meta=meta)
            for part in frame_partitions(frame)
        ]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)

    def _run(self, X: Any, y: Any, weights: Any, start: tuple[Any, Any] | None) -> Self:
        """Train from initial weights or, if `start` is None, from the checkpoint."""
        plan = self._make_plan()
        timeout = checks.positive_number("timeout", self.timeout)
        partitions = Partitions(self.client, timeout).load(
            X, y, self._x0(), sample_weight=weights, class_weight=self.class_weight
        )
        template = partitions.template
        checks.whole_number("checkpoint_every", self.checkpoint_every, least=1)
        checkpoint, zeros = None, template.shaped(np.zeros(template.size))
        if self.checkpoint is not None:
            data = {
                "labels": [repr(label) for label in template.labels.tolist()],
                "columns": template.d,
                "x0": template.x0,
                "rows": partitions.rows,
            }
            path, every = fspath(self.checkpoint), int(self.checkpoint_every)
            checkpoint = Checkpoint(path, every, data, zeros.shape)
        if start is None:
            assert checkpoint is not None
            seed, state = checkpoint.read(plan)
            plan = replace(plan, seed=seed)
        else:
            w = self._start(template, *start)
            state = State(zeros if w is None else template.shaped(w))
            if checkpoint is not None:
                checkpoint.write(plan, state)
        with StatusLine(self.verbose) as line:

            def watch(state: State) -> None:
                last = state.history[-1]
                halted = last.mistakes == 0 and last.updates == 0
                if checkpoint is not None and state.rounds % checkpoint.every == 0 and not halted:
                    checkpoint.write(plan, state)
                mistakes = plural(last.mistakes, "mistake")
                line.update(lambda: f"round {state.rounds}: {mistakes}, {last.seconds:.2f} s")

            try:
                state, reason = mix(partitions, plan, state, watch)
            except ClusterError as error:
                advice = "Pass checkpoint=path next time, to be able to resume."
                if checkpoint is not None:
                    advice = (
                        "Start a cluster and call resume(X, y): "
                        f"{checkpoint.path} holds the run so far."
                    )
                raise ClusterError(f"{error} {advice}") from error.__cause__
        self._remember(template, state, reason, plan.pocket)
        if not plan.pocket and reason in ("max_iter", "max_updates"):
            made = f"{plural(state.updates, 'update')} in {plural(state.rounds, 'round')}"
            rows, function = sum(partitions.rows), "rosenblatt.dask.separability"
            message = describe_unconverged(reason, made, self.n_mistakes_, rows, function)
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        if reason == "interrupted":
            raise KeyboardInterrupt
        return self

    def _make_plan(self) -> MixingPlan:
        rule = self._rule()
        checks.one_of("mixing", self.mixing, MIXINGS)
        seed = 0 if rule.rng is None else int(rule.rng.integers(2**62))
        # Workers create their own random generators from the seed.
        rule = algorithms.Rule(rule.order, rule.zero, rule.eta)
        return MixingPlan(rule, self._budget(), self.mixing, seed)

    def _remember(self, template: Examples, state: State, reason: str, pocket: bool) -> None:
        """Set the fitted attributes from the final state of training."""
        assert state.last is not None
        assert state.pocket is not None
        candidate = state.pocket if pocket else state.last
        if pocket:
            self.last_weights_ = Hypothesis.of(state.last.w, template.x0).augmented
        self.n_features_in_ = template.d
        if template.names is not None:
            self.feature_names_in_ = np.array(template.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.classes_ = template.labels
        self.n_mistakes_ = candidate.mistakes
        self.separated_ = candidate.mistakes == 0
        self.n_iter_ = max(state.rounds, 1)
        self.n_updates_ = state.updates
        self.history_: list[Round] = list(state.history)
        self.stop_reason_ = reason
        self._set_weights(Hypothesis.of(candidate.w, template.x0, ZEROS[self.zero]))

    def __sklearn_clone__(self) -> Any:
        params = self.get_params(deep=False)
        client = params.pop("client")  # a connection is shared, never copied
        return type(self)(client=client, **{k: clone(v, safe=False) for k, v in params.items()})

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}


@dataclass(eq=False, repr=False)
class Perceptron(OnCluster, PlaParameters):
    """Perceptron on a Dask cluster, trained by averaging the partitions' weights.

    In each round, every partition runs one epoch and the weights are averaged. The run halts when a
    whole round has no mistake; separable data need only a bounded number of rounds. With one
    partition and an order without randomness, it is the run of `rosenblatt.Perceptron`, bit for
    bit. The first parameters are those of `rosenblatt.Perceptron`; random orders draw from (seed,
    round, partition). As there, and unlike in `rosenblatt.learn`, columns are not scaled: if their
    sizes differ greatly, divide each by its standard deviation first.

    Parameters
    ----------
    order, max_iter, max_updates, eta0, fit_intercept, intercept_scaling : as in Perceptron
        `max_iter` counts rounds; `max_updates` the updates of all partitions together.
    zero, class_weight, warm_start, random_state, verbose : as in Perceptron
        With `verbose`, progress is printed about once per second.
    n_jobs : int, optional
        Used only by `to_local()`: on a cluster, the workers' threads do the work.
    client : dask.distributed.Client, optional
        Connection to the cluster; Dask's default client if None.
    mixing : {"uniform", "mistakes"}, default="uniform"
        Whether to weight partitions equally in the average or by their updates.
    checkpoint : path, optional
        File to save the state of the run to, for `resume`.
    checkpoint_every : int, default=10
        Number of rounds between two checkpoints.
    timeout : float, default=600.0
        Maximum number of seconds for one pass over all partitions.

    Attributes
    ----------
    coef_, intercept_, classes_, weights_, n_updates_, separated_, n_mistakes_ : as in Perceptron
    n_iter_ : int
        Number of rounds.
    history_ : list of Round
        Mistakes, updates and seconds of every round.
    stop_reason_ : {"no mistakes", "max_iter", "max_updates", "interrupted"}
        Why the run stopped.

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


@dataclass(eq=False, repr=False)
class PocketPerceptron(OnCluster, PocketParameters):
    """Pocket algorithm on a Dask cluster, which keeps the best of the averaged weights.

    Every round counts the mistakes of the w that it began with, on all partitions. The same tasks
    train and count, so counting costs little. The first parameters are those of
    `rosenblatt.PocketPerceptron`. As there, and unlike in `rosenblatt.learn`, columns are not
    scaled: if their sizes differ greatly, divide each by its standard deviation first.

    Parameters
    ----------
    max_updates : int, default=1000
        Maximum number of updates of all partitions together, spread over at least 32 rounds.
        A partition makes thousands in one epoch: choose a large number.
    order, time_limit, eta0, fit_intercept, intercept_scaling : as in PocketPerceptron
        `time_limit` counts the seconds of rounds, not of loading.
    zero, class_weight, warm_start, random_state, verbose : as in PocketPerceptron
        With `verbose`, progress is printed about once per second.
    ratchet : bool, default=False
        Has no effect on a cluster, where the mistakes of every averaged w are counted anyway.
    restarts : int, default=1
        Only 1 is supported: fit again with another random_state instead.
    n_jobs : int, optional
        Has no effect: the workers' threads do the work.
    client, mixing, checkpoint, checkpoint_every, timeout : as in rosenblatt.dask.Perceptron
        The cluster, the average, the file for `resume`, and the maximum seconds per pass.

    Attributes
    ----------
    coef_, intercept_, classes_, weights_, last_weights_, n_updates_ : as in PocketPerceptron
    separated_, n_mistakes_, stop_reason_ : as in PocketPerceptron
    n_iter_ : int
        Number of rounds.
    history_ : list of Round
        Mistakes, updates and seconds of every round.
    """

    def _make_plan(self) -> MixingPlan:
        if self.restarts != 1:
            raise ValueError(
                f"restarts is {self.restarts!r}; on Dask give 1, and fit again with another "
                "random_state."
            )
        return replace(super()._make_plan(), pocket=True)


def _apply_block(part: Any, local: Any, method: str) -> Any:
    if part.shape[0] == 0:
        part = np.zeros((0, local.n_features_in_))
    return getattr(local, method)(part)


def _count_correct(predicted: Any, y: Any, weights: Any) -> tuple[float, float]:
    """Return the total sample weight of the correctly classified rows, and of all rows."""
    correct = np.asarray(predicted) == np.asarray(y)
    sizes = np.ones(len(correct)) if weights is None else np.asarray(weights, dtype=np.float64)
    return float(sizes[correct].sum()), float(sizes.sum())


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
    """Decide whether examples on a cluster are linearly separable, with a proof.

    The verdict is that of `rosenblatt.separability` on all rows at once; rows are numbered in
    the order of the partitions. Only the rows that the solver needs are sent to the driver.

    Parameters
    ----------
    X : Dask array, Dask dataframe, or path (or paths) of Parquet files
        Features; each float counts as its exact value.
    y : Dask array or series, sequence, or str
        Labels, one or more; for dataframes and Parquet also the name of their column.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    intercept_scaling : float, default=1.0
        Constant feature x0 that the intercept's weight multiplies.
    widest : bool, default=True
        Whether to maximize the margin once some w separates.
    client : dask.distributed.Client, optional
        Connection to the cluster; Dask's default client if None.
    timeout : float, default=600.0
        Maximum number of seconds for one pass over all partitions.

    Returns
    -------
    Separability
        Verdict, weights, margin and bound where they exist, and the proof.
    """
    x0 = float(intercept_scaling) if fit_intercept else 0.0
    partitions = Partitions(client, timeout).load(X, y, x0, one_class=True)
    return separability_of(partitions, widest=widest)


def check_proof(
    proof: Proof, X: Any, y: Any, *, client: Any = None, timeout: float = 600.0
) -> bool:
    """Check a proof against data on a cluster, in exact arithmetic, on the workers.

    Parameters
    ----------
    proof : Proof
        Proof to check, from any source.
    X, y : as in `separability`
        The data that the proof is about.
    client, timeout : as in `separability`
        Connection to the cluster, and maximum seconds per pass.

    Returns
    -------
    bool
        True; a proof that does not hold raises ProofError.
    """
    proof.check_types()  # before the cluster loads any data
    with refuse_other_data():
        partitions = Partitions(client, timeout).load(X, y, proof.x0, one_class=True)
    return proof.check_examples(partitions)
