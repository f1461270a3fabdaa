"""Examples in the partitions of Dask collections, held by the workers of a cluster.

Dask schedules the work, places partitions and computes lost ones again: each partition is a future
with its lineage, so that a killed worker costs time and changes nothing in the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, TypeVar

import dask
import dask.array as da
import numpy as np
from dask.distributed import KilledWorker, default_client, wait
from numpy.typing import NDArray

import rosenblatt.checks as checks
import rosenblatt.engine as engine
from rosenblatt.blocks import Work
from rosenblatt.errors import DataError, RowError, UserError, cannot_open, one_line
from rosenblatt.examples import Examples, one_or_two_labels, signs
from rosenblatt.tables import as_column, column_names, floats, refuse_masked
from rosenblatt.words import counted, listed

T = TypeVar("T")
MANY_LABELS = 4  # enough of them to show that there are more than two


class ClusterError(UserError, RuntimeError):
    """The cluster cannot go on: its scheduler or all workers are lost, or a task kills them."""

    exit_code = 69


@dataclass(frozen=True, eq=False)
class Collection:
    """A Dask collection or Parquet path, with its labels and weights or their columns."""

    X: Any
    y: Any
    sample_weight: Any = None
    class_weight: Any = None


@dataclass(frozen=True, eq=False)
class Partition:
    """One partition as a worker loaded it; an empty one has X = None."""

    name: str
    X: Any
    y: Any
    weights: Any
    columns: tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class Summary:
    """Size and labels of one partition; `counts` are rows with a weight above 0."""

    name: str
    rows: int
    width: int
    columns: tuple[str, ...] | None
    labels: NDArray[Any]
    counts: NDArray[np.int64]


class Partitions:
    """Blocks of examples that live on the workers of a cluster.

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
        self.examples: list[Any] = []  # one future per partition
        self.names: list[str] = []
        self.rows: list[int] = []

    def load(self, data: Collection, x0: float, *, one_class: bool = False) -> Examples:
        """Load the partitions on the workers and return one row of zeros with their labels."""
        raw = self.client.compute(list_partitions(data.X, data.y, data.sample_weight))
        summaries: list[Summary] = self._gather(self.client.map(summarize, raw, pure=False))
        filled = [i for i, part in enumerate(summaries) if part.counts.sum() > 0]
        if not filled:
            raise ValueError("there are no rows to learn from.")
        summaries = [summaries[i] for i in filled]
        widths = sorted({part.width for part in summaries})
        if len(widths) > 1:
            raise ValueError(
                f"partitions of X have {widths[0]} and {widths[-1]} columns; give all the same."
            )
        labels, counts = _merge_labels(summaries, one_class)
        weights = None
        if data.class_weight is not None:
            weights = checks.class_weights(data.class_weight, labels.tolist(), np.array(counts))
        self.names = [part.name for part in summaries]
        self.rows = [part.rows for part in summaries]
        each = [[value] * len(filled) for value in (labels, x0, weights)]
        raw = [raw[i] for i in filled]
        self.examples = self.client.map(convert_partition, raw, *each, pure=False)
        X, y = np.zeros((1, widths[0])), np.ones(1, dtype=np.int8)
        return Examples(X, y, labels, summaries[0].columns, x0)

    def each(self, work: Work[T]) -> Iterator[T]:
        """Yield work(partition, number of its first row) for all partitions, in order."""
        firsts = np.cumsum((0, *self.rows))[:-1].tolist()
        yield from self.map(_apply_work, firsts, [work] * len(firsts))

    def map(self, function: Callable[..., T], *arguments: Sequence[Any]) -> list[T]:
        """Return function(examples, *arguments) of every partition, computed by the workers."""
        each = (self.names, [function] * len(self.names), *arguments)
        return self._gather(self.client.map(_run_task, self.examples, *each, pure=False))

    def _gather(self, futures: list[Any]) -> list[Any]:
        try:
            with self.client.as_current():  # `wait` uses the current client
                wait(futures, timeout=self.timeout)
            return list(self.client.gather(futures))
        except TimeoutError:
            if not self.client.nthreads():
                raise ClusterError(
                    f"no worker was there for {self.timeout:g} s; start one."
                ) from None
            raise ClusterError(
                f"the workers did not finish within {self.timeout:g} s; look at their logs or "
                "increase timeout."
            ) from None
        except KeyError as error:  # Dask's Parquet reader, for a file that lacks a column
            raise ValueError(f"a partition of X lacks a column of the first: {error}") from None
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
        raise error.after_words(f"{name}: ") from None


def _apply_work(examples: Examples, first: int, work: Work[T]) -> T:
    return work(examples.look(), first)


def list_partitions(X: Any, y: Any, weights: Any = None) -> list[Any]:
    """Return a Delayed `Partition` for each block of an array or partition of a frame."""
    X = read_frame(X)
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"X has {counted(X.ndim, 'dimension')}; give a 2-dimensional array.")
        X = X.rechunk({1: -1})
        rows = X.chunks[0]
        ends = np.cumsum([0, *rows])
        parts = X.to_delayed()[:, 0].tolist()
        names = [f"partition {i}" for i in range(len(rows))]
        if np.isfinite(ends).all():
            names = [
                f"{name} (rows {ends[i]} to {ends[i + 1] - 1})" for i, name in enumerate(names)
            ]
    elif is_frame(X):
        check_columns(X, [name for name in (y, weights) if isinstance(name, str)])
        parts, rows = frame_partitions(X), (np.nan,) * X.npartitions
        names = [f"partition {i}" for i in range(len(parts))]
    else:
        raise ValueError(
            f"X is a {type(X).__name__}; give a Dask array, a Dask dataframe or a path of Parquet "
            "files, or use the estimator of rosenblatt that is not in rosenblatt.dask."
        )
    columns = [
        [given] * len(parts) if isinstance(given, str) else split_column(given, what, rows)
        for what, given in (("y", y), ("sample_weight", weights))
    ]
    for what, column in zip(("y", "sample_weight"), columns, strict=True):
        if len(column) != len(parts):
            raise ValueError(
                f"X has {counted(len(parts), 'partition')} but {what} has {len(column)}; "
                "give both the same partitions."
            )
    load = dask.delayed(load_partition, pure=False)
    return [load(*part) for part in zip(names, parts, *columns, strict=True)]


def read_frame(X: Any) -> Any:
    """Return paths of Parquet files as a Dask dataframe and anything else as it is."""
    paths = X if isinstance(X, list | tuple) and X else [X]
    if not all(isinstance(path, str | PathLike) for path in paths):
        return X
    import dask.dataframe as dd

    names = [fspath(path) for path in paths]
    try:
        return dd.read_parquet(names if paths is X else names[0])
    except OSError as error:
        raise cannot_open(listed(names), error) from None
    except ValueError as error:  # PyArrow's, among others
        raise DataError(f"{listed(names)} cannot be read as Parquet: {one_line(error)}") from None


def is_frame(X: Any) -> bool:
    """Return whether X is a Dask dataframe."""
    return dask.is_dask_collection(X) and hasattr(X, "columns") and hasattr(X, "npartitions")


def check_columns(X: Any, names: Iterable[str]) -> None:
    """Raise ValueError if a Dask dataframe lacks one of these columns."""
    for name in names:
        if name not in X.columns:
            there = listed([str(column) for column in X.columns])
            raise ValueError(f"there is no column {name!r}; the columns are {there}.")


def frame_partitions(X: Any) -> list[Any]:
    """Return the partitions of a Dask dataframe as Delayed frames with the same columns."""
    columns = list(X.columns)
    twice = [name for name, count in Counter(columns).items() if count > 1]
    if twice:
        raise ValueError(f"X has more than one column {twice[0]!r}; give each its own name.")
    select = dask.delayed(_select_columns, pure=False)
    return [select(part, i, columns) for i, part in enumerate(X.to_delayed())]


def _select_columns(part: Any, number: int, columns: list[Any]) -> Any:
    """Return a partition with its columns in this order, whatever order it has them in."""
    if list(part.columns) == columns:
        return part
    for name in columns:
        if name not in part.columns:
            raise ValueError(f"partition {number} has no column {name!r}, which X has.")
    for name in set(part.columns) - set(columns):
        raise ValueError(f"partition {number} has a column {name!r}, which X does not have.")
    return part[columns]


def split_column(values: Any, what: str, rows: Sequence[float]) -> list[Any]:
    """Return labels or weights in as many parts as X; rows of unknown number are NaN."""
    if values is None and what == "sample_weight":
        return [None] * len(rows)
    if dask.is_dask_collection(values) and not isinstance(values, da.Array):
        return list(values.to_delayed())
    if not isinstance(values, da.Array):
        refuse_masked(values, what)
        if not np.isfinite(rows).all() or np.ndim(values) == 0:
            raise ValueError(
                f"{what} is a {type(values).__name__}; give a Dask array or series with the "
                "partitions of X."
            )
        values = da.from_array(np.asarray(values), chunks=-1)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{what} should be a 1d array, got an array of shape {values.shape}.")
    if np.isfinite(rows).all() and np.isfinite(values.chunks[0]).all():
        if sum(rows) != values.shape[0]:
            raise ValueError(
                f"X has {counted(int(sum(rows)), 'row')} but {what} has {values.shape[0]}; "
                "inconsistent numbers of samples: give one for each row."
            )
        values = values.rechunk((tuple(rows),))
    return list(values.to_delayed())


def load_partition(name: str, part: Any, y: Any, weights: Any) -> Partition:
    """Check a partition on the worker that loads it; errors name the partition."""
    if isinstance(y, str):
        part, y = part.drop(columns=[y]), part[y]
    if isinstance(weights, str):
        part, weights = part.drop(columns=[weights]), part[weights]
    columns = column_names(part)
    if part.shape[0] == 0:
        return Partition(name, None, None, None, columns)
    try:
        refuse_masked(y, "y")
        checked = Partition(name, floats(part), y, weights, columns)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: {error}") from None
    if len(y) != checked.X.shape[0]:
        rows = counted(checked.X.shape[0], "row")
        raise ValueError(f"{name}: X has {rows} there but y has {len(y)}.")
    return checked


def summarize(part: Partition) -> Summary:
    """Count the rows and the labels of a partition."""
    if part.X is None:
        return Summary(part.name, 0, 0, part.columns, np.empty(0), np.zeros(0, dtype=np.int64))
    rows, width = part.X.shape
    y = as_column(part.y)
    if part.weights is not None:
        y = y[checks.row_weights(part.weights, rows) > 0]
    try:
        labels, counts = np.unique(y, return_counts=True)
    except TypeError:
        signs(y, None)  # explains that labels of several types cannot be sorted
        raise
    labels, counts = labels[:MANY_LABELS], counts[:MANY_LABELS]
    return Summary(part.name, rows, width, part.columns, labels, counts)


def convert_partition(
    part: Partition, labels: NDArray[Any], x0: float, weights: NDArray[np.float64] | None
) -> Examples:
    """Return a partition as examples, with the labels of all partitions and class weights.

    NaN and infinity are not searched for here: an epoch meets them by itself.
    """
    try:
        y = as_column(part.y)
        examples = Examples.from_arrays(part.X, y, x0=x0, labels=labels, looked_at=False)
        if part.weights is None and weights is None:
            return examples
        return examples.weighted(part.weights, weights, stream=True)
    except ValueError as error:
        raise ValueError(f"{part.name}: {error}") from None


def _merge_labels(parts: list[Summary], one_class: bool) -> tuple[NDArray[Any], list[int]]:
    """Return the two labels of all partitions and the number of rows with each."""
    count: Counter[Any] = Counter()
    for part in parts:
        count.update(dict(zip(part.labels.tolist(), part.counts.tolist(), strict=True)))
    alike = len({type(label) for label in count}) == 1
    found = np.array(list(count), dtype=None if alike else object)
    if len(found) > 2:
        shown = ", ".join(repr(label) for label in np.unique(found)[:4].tolist())
        raise ValueError(
            "Only binary classification is supported. y has more than two classes "
            f"({shown}, …); give two labels."
        )
    _, labels = signs(found, one_or_two_labels(found) if one_class else None)
    labels = labels.astype(parts[0].labels.dtype) if labels.dtype.kind != "U" else labels
    return labels, [count[label] for label in labels.tolist()]
