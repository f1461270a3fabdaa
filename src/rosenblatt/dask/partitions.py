"""Examples in partitions on the workers of a cluster, and training over them in rounds.

Dask schedules the work, places partitions and recomputes lost ones. Each partition is a future that
knows how it was computed, so a killed worker costs time but does not change the result: random
numbers come from (seed, round, partition), and the average of a round is summed in the order of the
partitions.
"""

from __future__ import annotations

import functools
import math
import operator
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Any, NamedTuple, Self, TypeVar

import dask
import dask.array as da
import numpy as np
from dask.distributed import KilledWorker, default_client, wait
from numpy.typing import NDArray
from sklearn.exceptions import EfficiencyWarning

import rosenblatt.checks as checks
import rosenblatt.engine as engine
from rosenblatt.algorithms.pla import CYCLES, WALKS, Budget, Reason, Rule, Walk, retry_scaled
from rosenblatt.algorithms.pocket import Judge
from rosenblatt.blocks import Blocks, Work
from rosenblatt.errors import (
    DataError,
    RowError,
    UsageError,
    UserError,
    error_line,
    make_open_error,
    quote,
)
from rosenblatt.examples import Examples
from rosenblatt.files import read_checksummed, write_checksummed
from rosenblatt.tables import as_column, column_names, refuse_masked, to_floats
from rosenblatt.text import join_words, plural

T = TypeVar("T")
Floats = NDArray[np.float64]

KIND = "dask checkpoint"  # identifies these checkpoint files
SHORT_EPOCH = 0.05  # seconds: in shorter epochs, Dask costs more than the work
ROUNDS = 32  # minimum number of rounds over which the pocket spreads its updates


class ClusterError(UserError, RuntimeError):
    """Error about a cluster that has lost its scheduler or its workers."""

    exit_code = 69


class Summary(NamedTuple):
    """Name, columns, shape and label counts of a partition that a worker has loaded."""

    name: str
    columns: tuple[str, ...] | None
    shape: tuple[int, int] = (0, 0)
    labels: NDArray[Any] = np.empty(0)
    counts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # rows with weight 0 do not count


class Partitions(Blocks):
    """Blocks of examples held by the workers of a cluster.

    Parameters
    ----------
    client : dask.distributed.Client, optional
        Connection to the cluster; Dask's default client if None.
    timeout : float
        Maximum number of seconds for one pass over all partitions.
    """

    def __init__(self, client: Any, timeout: float) -> None:
        try:
            self.client = default_client() if client is None else client
        except ValueError:
            raise ClusterError(
                "there is no Dask client; create one with dask.distributed.Client() or pass "
                "client=."
            ) from None
        self.timeout = timeout
        self.template: Examples  # one row of zeros with the labels, columns and x0 of all rows
        self.examples: list[Any] = []  # one future per partition
        self.names: list[str] = []
        self.rows: list[int] = []

    def load(
        self,
        X: Any,
        y: Any,
        x0: float,
        *,
        sample_weight: Any = None,
        class_weight: Any = None,
        one_class: bool = False,
    ) -> Self:
        """Load the partitions on the workers."""
        parts = self.client.compute(list_partitions(X, y, sample_weight))
        found: list[Summary] = self._gather(
            self.client.map(operator.itemgetter(0), parts, pure=False)
        )
        filled = [i for i, part in enumerate(found) if part.counts.sum() > 0]
        if not filled:
            raise ValueError("there are no rows to learn from; give at least one.")
        summaries = [found[i] for i in filled]
        widths = sorted({part.shape[1] for part in summaries})
        if len(widths) > 1:
            raise ValueError(
                f"partitions of X have {widths[0]} and {widths[-1]} columns; give all of them the "
                "same columns."
            )
        count: Counter[Any] = Counter()
        for part in summaries:
            count.update(dict(zip(part.labels.tolist(), part.counts.tolist(), strict=True)))
        same_type = len({type(label) for label in count}) == 1
        met = np.array(list(count), dtype=None if same_type else object)
        _, labels = checks.encode_labels(met, checks.one_class_labels(met) if one_class else None)
        if labels.dtype.kind != "U":
            labels = labels.astype(summaries[0].labels.dtype)
        self.multiclass = len(labels) > 2
        weights = None
        if class_weight is not None:
            counts = np.array([count[label] for label in labels.tolist()])
            weights = checks.class_weights(class_weight, labels.tolist(), counts)
        self.names = [part.name for part in summaries]
        self.rows = [part.shape[0] for part in summaries]
        arguments = [[value] * len(filled) for value in (labels, x0, weights)]
        parts = [parts[i] for i in filled]
        self.examples = self.client.map(convert_partition, parts, *arguments, pure=False)
        one_row, code = np.zeros((1, widths[0])), np.ones(1, dtype=np.int8)
        self.template = Examples(one_row, code, labels, summaries[0].columns, x0)
        return self

    def each(self, work: Work[T]) -> Iterator[T]:
        """Call `work` on each partition and the index of its first row; yield the results."""
        firsts = np.cumsum((0, *self.rows))[:-1].tolist()
        yield from self.map(_apply_work, firsts, [work] * len(firsts))

    def map(self, function: Callable[..., T], *arguments: Sequence[Any]) -> list[T]:
        """Compute function(examples, *arguments) for every partition on the workers."""
        columns = (self.names, [function] * len(self.names), *arguments)
        return self._gather(self.client.map(_run_task, self.examples, *columns, pure=False))

    def _gather(self, futures: list[Any]) -> list[Any]:
        try:
            with self.client.as_current():  # `wait` uses the current client
                wait(futures, timeout=self.timeout)
            return list(self.client.gather(futures))
        except TimeoutError:
            if not self.client.nthreads():
                raise ClusterError(
                    f"no worker was available for {self.timeout:g} s; start one."
                ) from None
            raise ClusterError(
                f"the workers did not finish within {self.timeout:g} s; look at their logs or "
                "increase timeout."
            ) from None
        except KeyError as error:  # from Dask's Parquet reader, if a file lacks a column
            raise ValueError(
                f"a partition of X lacks a column that the first one has: {error}"
            ) from None
        except KilledWorker as error:
            raise ClusterError(
                "several workers were killed while they computed the same partition, which may "
                "need more memory than a worker has; use smaller partitions."
            ) from error
        except (CancelledError, OSError, RuntimeError) as error:
            if self.client.status == "running" and not isinstance(error, CancelledError):
                raise
            address = getattr(self.client.scheduler, "address", "an unknown address")
            raise ClusterError(
                f"the connection to the Dask scheduler at {address} was lost."
            ) from error


def _run_task(examples: Examples, name: str, function: Callable[..., T], *arguments: Any) -> T:
    try:
        with engine.at_most(1):  # Dask runs one task per thread
            return function(examples, *arguments)
    except RowError as error:
        raise error.prefix(f"{name}: ") from None


def _apply_work(examples: Examples, first: int, work: Work[T]) -> T:
    return work(examples.look(), first)


def list_partitions(X: Any, y: Any, weights: Any = None) -> list[Any]:
    """Return the partitions of the data as Delayed objects, loaded by `load_partition`."""
    X = read_frame(X)
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"X has {plural(X.ndim, 'dimension')}; give a 2-dimensional array.")
        X = X.rechunk({1: -1})
        parts, rows = X.to_delayed()[:, 0].tolist(), X.chunks[0]
    elif is_frame(X):
        check_columns(X, [name for name in (y, weights) if isinstance(name, str)])
        parts, rows = frame_partitions(X), (np.nan,) * X.npartitions
    else:
        raise ValueError(
            f"X is a {type(X).__name__}; give a Dask array, a Dask dataframe or a path of Parquet "
            "files, or use an estimator that needs no Dask, such as rosenblatt.Perceptron."
        )
    columns = [
        [given] * len(parts) if isinstance(given, str) else split_column(given, what, rows)
        for what, given in (("y", y), ("sample_weight", weights))
    ]
    names, ends = [f"partition {i}" for i in range(len(parts))], np.cumsum([0, *rows])
    if np.isfinite(ends).all():
        names = [f"{name} (rows {ends[i]} to {ends[i + 1] - 1})" for i, name in enumerate(names)]
    load = dask.delayed(load_partition, pure=False)
    return [load(*part) for part in zip(names, parts, *columns, strict=True)]


def read_frame(X: Any) -> Any:
    """Open Parquet files as a Dask dataframe; return X itself if it is not a path."""
    paths = X if isinstance(X, list | tuple) and X else [X]
    if not all(isinstance(path, str | PathLike) for path in paths):
        return X
    import dask.dataframe as dd

    names = [fspath(path) for path in paths]
    try:
        return dd.read_parquet(names if paths is X else names[0])
    except OSError as error:
        raise make_open_error(join_words(names), error) from None
    except ValueError as error:  # from PyArrow, for example
        raise DataError(
            f"{join_words(names)} cannot be read as Parquet: {error_line(error)}"
        ) from None


def is_frame(X: Any) -> bool:
    """Return whether X is a Dask dataframe."""
    return dask.is_dask_collection(X) and hasattr(X, "columns") and hasattr(X, "npartitions")


def check_columns(X: Any, names: Iterable[str]) -> None:
    """Raise ValueError if a Dask dataframe lacks a column in `names`."""
    for name in names:
        if name not in X.columns:
            columns = join_words([str(column) for column in X.columns])
            raise ValueError(f"there is no column {name!r}; the columns are {columns}.")


def frame_partitions(X: Any) -> list[Any]:
    """Return the partitions of a Dask dataframe, each with columns in the dataframe's order."""
    columns = list(X.columns)
    repeated = [name for name, count in Counter(columns).items() if count > 1]
    if repeated:
        raise ValueError(f"X has more than one column {repeated[0]!r}; give each its own name.")
    select = dask.delayed(_select_columns, pure=False)
    return [select(part, i, columns) for i, part in enumerate(X.to_delayed())]


def _select_columns(part: Any, number: int, columns: list[Any]) -> Any:
    """Put the columns of a partition in the given order; raise ValueError if names differ."""
    missing = [name for name in columns if name not in part.columns]
    has, contains = ("no", "contains") if missing else ("a", "does not contain")
    for name in missing or set(part.columns) - set(columns):
        raise ValueError(
            f"partition {number} has {has} column {name!r}, which X.columns {contains}; give all "
            "partitions the same columns."
        )
    return part if list(part.columns) == columns else part[columns]


def split_column(values: Any, what: str, rows: Sequence[float]) -> list[Any]:
    """Split labels or weights into partitions that match those of X.

    `rows` are the sizes of the partitions, NaN where unknown.
    """
    if values is None and what == "sample_weight":
        return [None] * len(rows)
    if not dask.is_dask_collection(values):
        refuse_masked(values, what)
        if not np.isfinite(rows).all() or np.ndim(values) == 0:
            raise ValueError(
                f"{what} is a {type(values).__name__}; give a Dask array or series with the "
                "partitions of X."
            )
        values = da.from_array(np.asarray(values), chunks=-1)
    if isinstance(values, da.Array):
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ValueError(f"{what} should be a 1d array, got an array of shape {values.shape}.")
        if np.isfinite(rows).all() and np.isfinite(values.chunks[0]).all():
            if sum(rows) != values.shape[0]:
                raise ValueError(
                    f"X has {plural(int(sum(rows)), 'row')} but {what} has {values.shape[0]}; "
                    "inconsistent numbers of samples: give one value for each row."
                )
            values = values.rechunk((tuple(rows),))
    parts = list(values.to_delayed())
    if len(parts) != len(rows):
        raise ValueError(
            f"X has {plural(len(rows), 'partition')} but {what} has {len(parts)}; "
            "give both the same partitions."
        )
    return parts


def load_partition(name: str, part: Any, y: Any, weights: Any) -> tuple[Summary, Any, Any, Any]:
    """Load and check a partition on a worker; return its summary, rows, labels and weights."""
    if isinstance(y, str):
        part, y = part.drop(columns=[y]), part[y]
    if isinstance(weights, str):
        part, weights = part.drop(columns=[weights]), part[weights]
    columns = column_names(part)
    if part.shape[0] == 0:
        return Summary(name, columns), None, None, None
    try:
        refuse_masked(y, "y")
        X = to_floats(part)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: {error}") from None
    if len(y) != X.shape[0]:
        rows, labeled = plural(X.shape[0], "row"), plural(len(y), "label")
        raise ValueError(f"{name}: X has {rows} but y has {labeled}; give one label for each row.")
    counted = as_column(y)
    if weights is not None:
        counted = counted[checks.row_weights(weights, len(y)) > 0]
    try:
        labels, counts = np.unique(counted, return_counts=True)
    except TypeError:
        checks.sort_labels(counted)  # raises an error that explains mixed types
        raise
    if len(labels) > 2 and checks.is_continuous(counted, labels):
        raise ValueError(f"{name}: {checks.make_too_many_error(counted, labels)}")
    return Summary(name, columns, X.shape, labels, counts), X, y, weights


def convert_partition(
    part: tuple[Summary, Any, Any, Any],
    labels: NDArray[Any],
    x0: float,
    class_weights: NDArray[np.float64] | None,
) -> Examples:
    """Convert a loaded partition to examples, given the labels of all partitions.

    NaN and infinity are not checked here, because the first epoch finds them without another pass.
    """
    summary, X, y, weights = part
    try:
        examples = Examples.from_arrays(X, as_column(y), x0=x0, labels=labels, looked_at=False)
        if weights is None and class_weights is None:
            return examples
        return examples.weighted(weights, class_weights, stream=True)
    except ValueError as error:
        raise ValueError(f"{summary.name}: {error}") from None


class Round(NamedTuple):
    """One round of training: mistakes counted at its start, updates made, and seconds."""

    mistakes: float
    updates: int
    seconds: float


class Candidate(NamedTuple):
    """Weights w and the number of mistakes that w makes on all partitions."""

    w: Floats
    mistakes: float


@dataclass(frozen=True, eq=False)
class State:
    """State of training between two rounds, from which it can be continued."""

    w: Floats
    rounds: int = 0
    updates: int = 0
    history: tuple[Round, ...] = ()
    last: Candidate | None = None  # the w that the last round began with
    pocket: Candidate | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class MixingPlan:
    """Settings of training: update rule, limits, and how weights are averaged."""

    rule: Rule
    budget: Budget
    mixing: str = "uniform"  # or "mistakes": weight partitions by their updates, not equally
    seed: int = 0
    pocket: bool = False  # spread updates over many rounds, so that more w are compared

    def written(self) -> dict[str, Any]:
        """Return what a checkpoint records of the plan, and what a run must share to resume."""
        rule = self.rule
        return {"order": rule.order, "zero": rule.zero, "eta": rule.eta, "mixing": self.mixing}


class Epoch(NamedTuple):
    """Result of one epoch on one partition."""

    w: Floats | None  # after the epoch; None if there was no update
    updates: int
    mistakes: float  # of the w before the epoch
    seconds: float


def mix(
    partitions: Partitions, plan: MixingPlan, state: State, watch: Callable[[State], None]
) -> tuple[State, Reason]:
    """Train in rounds until w has no mistakes or a limit of `plan` is reached.

    `watch` is called with the state after each round. Returns the final state, whose `last` is the
    final w, and why the run stopped.
    """
    fastest = np.inf  # seconds; the first epoch is slow because it loads compiled kernels
    budget = plan.budget
    while True:
        reason: Reason | None = None
        if state.rounds >= budget.epochs:
            reason = "max_iter"
        elif budget.updates is not None and state.updates >= budget.updates:
            reason = "max_updates"
        elif budget.seconds is not None and state.seconds >= budget.seconds:
            reason = "time_limit"
        try:
            after, epochs = run_round(partitions, plan, state, count_only=reason is not None)
        except KeyboardInterrupt:
            if state.last is None:
                raise
            return state, "interrupted"
        made = after.history[-1]
        if reason is not None:
            ended = replace(state, last=after.last, pocket=after.pocket)
            return ended, reason if made.mistakes else "no mistakes"
        state = after
        watch(state)
        if made.mistakes == 0 and made.updates == 0:
            return state, "no mistakes"
        fastest = min(fastest, max(epoch.seconds for epoch in epochs))
        if state.rounds == 2 and fastest < SHORT_EPOCH:
            warnings.warn(
                f"an epoch of a partition takes {1000 * fastest:.1f} ms, less than "
                f"{1000 * SHORT_EPOCH:.0f} ms: Dask costs more than the work. Use fewer and larger "
                "partitions, or an estimator that needs no Dask, such as rosenblatt.Perceptron.",
                EfficiencyWarning,
                stacklevel=5,
            )


def run_round(
    partitions: Partitions, plan: MixingPlan, state: State, count_only: bool = False
) -> tuple[State, list[Epoch]]:
    """Run one epoch on every partition and average the weights, or only count mistakes."""
    begin = time.perf_counter()
    tasks = plan_epochs(plan, state, len(partitions.names), count_only)
    epochs = partitions.map(run_epoch, *tasks)
    seconds = time.perf_counter() - begin
    mistakes = math.fsum(epoch.mistakes for epoch in epochs)
    mistakes = int(mistakes) if mistakes.is_integer() else mistakes
    updates = sum(epoch.updates for epoch in epochs)
    now = Candidate(state.w, mistakes)
    pocket = now if state.pocket is None or mistakes < state.pocket.mistakes else state.pocket
    after = State(
        w=average_weights(state.w, epochs, plan.mixing),
        rounds=state.rounds + 1,
        updates=state.updates + updates,
        history=(*state.history, Round(mistakes, updates, seconds)),
        last=now,
        pocket=pocket,
        seconds=state.seconds + seconds,
    )
    return after, epochs


def plan_epochs(
    plan: MixingPlan, state: State, count: int, count_only: bool = False
) -> tuple[list[Any], ...]:
    """Return the arguments of `run_epoch`, each as a list with one value per partition.

    The updates of all partitions together never exceed the updates left in the budget. If fewer
    updates are left than partitions, the partitions take turns, because perhaps only some of them
    have mistakes.

    Examples
    --------
    >>> plan = MixingPlan(Rule(), Budget(updates=10))
    >>> plan_epochs(plan, State(np.zeros(2), updates=3), 4)[-1]
    [2, 2, 2, 1]
    >>> plan_epochs(plan, State(np.zeros(2), rounds=6, updates=9), 4)[-1]
    [0, 0, 1, 0]
    """
    max_updates = plan.budget.updates
    shares: list[int | None] = [0 if count_only else None] * count
    if max_updates is not None and not count_only:
        left = max_updates - state.updates
        if plan.pocket:
            left = min(left, max(count, -(-max_updates // ROUNDS)))
        shares = [left // count + ((i - state.rounds) % count < left % count) for i in range(count)]
    seeds = [(plan.seed, state.rounds, i) for i in range(count)]
    rounds_left = plan.budget.epochs - state.rounds
    return [plan.rule] * count, [state.w] * count, seeds, [rounds_left] * count, shares


def run_epoch(
    examples: Examples,
    rule: Rule,
    w: Floats,
    seed: tuple[int, int, int],
    rounds_left: int,
    max_updates: int | None,
) -> Epoch:
    """Count the mistakes of w on a partition, then run one epoch that starts from w.

    `seed` is (seed, round, partition), so that a retry draws the same numbers. `rounds_left`
    includes this round. With `max_updates` of 0, mistakes are only counted.
    """
    begin, order = time.perf_counter(), rule.order
    if order not in CYCLES:
        examples = examples.look()
    if order == "first":
        max_updates = 1 if max_updates is None else min(1, max_updates)
    w = examples.flat(w)
    mistakes = Judge(examples, rule.zero).alone(w)

    def run(examples: Examples) -> Walk:
        first, number, partition = seed
        rng = np.random.default_rng((first, 0 if order == "random-cycle" else number, partition))
        walk = Walk(examples, replace(rule, rng=rng), Budget(1, max_updates), w)
        if order not in CYCLES:
            WALKS[order](walk)
        elif walk.goes_on:
            walk.run_epochs(None if order == "cycle" else walk.permute_rows())
        missed = mistakes > 0 and walk.so_far.updates == 0
        if missed and max_updates != 0 and rounds_left > 1:
            # Rounding hid every mistake: update on one that exact arithmetic finds.
            walk.budget = Budget(rounds_left, max_updates)
            walk.confirm()
        return walk

    walk = retry_scaled(examples, run)
    updates = walk.so_far.updates
    after = examples.shaped(walk.so_far.w * walk.unit) if updates else None
    return Epoch(after, updates, mistakes, time.perf_counter() - begin)


def average_weights(w: Floats, epochs: Sequence[Epoch], mixing: str) -> Floats:
    """Average the weights of the partitions, equally or in proportion to their updates.

    Examples
    --------
    >>> epochs = [Epoch(np.array([3.0]), 2, 2, 0.0), Epoch(None, 0, 0, 0.0)]
    >>> average_weights(np.array([1.0]), epochs, "uniform")
    array([2.])
    >>> average_weights(np.array([1.0]), epochs, "mistakes")
    array([3.])
    """
    total = sum(epoch.updates for epoch in epochs)
    if total == 0:
        return w
    weights = [w if epoch.w is None else epoch.w for epoch in epochs]
    if mixing == "uniform":
        return functools.reduce(np.add, weights) / len(weights)
    terms = (v * (epoch.updates / total) for v, epoch in zip(weights, epochs, strict=True))
    return functools.reduce(np.add, terms)


@dataclass(frozen=True)
class Checkpoint:
    """File with the state of training, rewritten every few rounds."""

    path: str | PathLike[str]
    every: int  # number of rounds between two writes
    data: dict[str, Any]  # labels, columns and rows, which must match to resume
    shape: tuple[int, ...]  # of the weights

    def write(self, plan: MixingPlan, state: State) -> None:
        """Write the state to the file, replacing the previous state."""
        candidates = {
            name: None if kept is None else {"w": kept.w.tolist(), "mistakes": kept.mistakes}
            for name, kept in (("last", state.last), ("pocket", state.pocket))
        }
        history = [list(entry) for entry in state.history]
        values = {**vars(state), **candidates, "w": state.w.tolist(), "history": history}
        content = {
            "data": self.data,
            "rule": plan.written(),
            "seed": plan.seed,
            "state": values,
        }
        write_checksummed(self.path, KIND, content)

    def read(self, plan: MixingPlan) -> tuple[int, State]:
        """Read the saved seed and state, after checking that the data have not changed."""
        content = read_checksummed(self.path, KIND)
        try:
            for name, now in (("data", self.data), ("rule", plan.written())):
                for what, value in now.items():
                    before = content[name].get(what)
                    if before != value:
                        raise UsageError(
                            f"{self.path} is from a run with {what} {quote(before)}, but this run "
                            f"has {quote(value)}; resume with the first value, or call fit."
                        )
            values = content["state"]
            last, pocket = (
                kept and Candidate(np.array(kept["w"], dtype=np.float64), kept["mistakes"])
                for kept in (values["last"], values["pocket"])
            )
            history = tuple(Round(*entry) for entry in values["history"])
            w, seconds = np.array(values["w"], dtype=np.float64), float(values["seconds"])
            rounds, updates = int(values["rounds"]), int(values["updates"])
            state = State(w, rounds, updates, history, last, pocket, seconds)
            if w.shape != self.shape or not np.isfinite(w).all():
                raise ValueError("w has a wrong shape, or contains NaN or infinity")
            return int(content["seed"]), state
        except UsageError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DataError(f"{self.path} is not a complete checkpoint: {quote(error)}.") from None
