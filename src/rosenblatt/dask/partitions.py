"""Examples in the partitions of Dask collections, held by the workers of a cluster.

Dask schedules the work, places partitions and recomputes lost ones. Each partition is a future that
knows how it was computed, so a killed worker costs time but does not change the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from os import PathLike, fspath
from typing import Any, NamedTuple, TypeVar

import dask
import dask.array as da
import numpy as np
from dask.distributed import KilledWorker, default_client, wait
from numpy.typing import NDArray

import rosenblatt.checks as checks
import rosenblatt.engine as engine
from rosenblatt.blocks import Blocks, Work
from rosenblatt.errors import DataError, RowError, UserError, error_line, make_open_error
from rosenblatt.examples import Examples
from rosenblatt.tables import as_column, column_names, refuse_masked, to_floats
from rosenblatt.text import join_words, plural

T = TypeVar("T")


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
    ) -> Examples:
        """Load the partitions on the workers; return one placeholder row with their metadata.

        The row is all zeros and has the labels, columns and x0 of the partitions.
        """
        parts = self.client.compute(list_partitions(X, y, sample_weight))
        found: list[Summary] = self._gather(self.client.map(_get_summary, parts, pure=False))
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
        labels, counts = _merge_labels(summaries, one_class)
        self.multiclass = len(labels) > 2
        weights = None
        if class_weight is not None:
            weights = checks.class_weights(class_weight, labels.tolist(), np.array(counts))
        self.names = [part.name for part in summaries]
        self.rows = [part.shape[0] for part in summaries]
        arguments = [[value] * len(filled) for value in (labels, x0, weights)]
        parts = [parts[i] for i in filled]
        self.examples = self.client.map(convert_partition, parts, *arguments, pure=False)
        one_row, code = np.zeros((1, widths[0])), np.ones(1, dtype=np.int8)
        return Examples(one_row, code, labels, summaries[0].columns, x0)

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
            "files, or use an estimator that needs no Dask, such as rosenblatt.Perceptron."
        )
    columns = [
        [given] * len(parts) if isinstance(given, str) else split_column(given, what, rows)
        for what, given in (("y", y), ("sample_weight", weights))
    ]
    for what, column in zip(("y", "sample_weight"), columns, strict=True):
        if len(column) != len(parts):
            raise ValueError(
                f"X has {plural(len(parts), 'partition')} but {what} has {len(column)}; "
                "give both the same partitions."
            )
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
    if list(part.columns) == columns:
        return part
    for name in columns:
        if name not in part.columns:
            raise ValueError(
                f"partition {number} has no column {name!r}, which X.columns contains; give all "
                "partitions the same columns."
            )
    for name in set(part.columns) - set(columns):
        raise ValueError(
            f"partition {number} has a column {name!r}, which X.columns does not contain; give all "
            "partitions the same columns."
        )
    return part[columns]


def split_column(values: Any, what: str, rows: Sequence[float]) -> list[Any]:
    """Split labels or weights into partitions that match those of X.

    `rows` are the sizes of the partitions, NaN where unknown.
    """
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
                f"X has {plural(int(sum(rows)), 'row')} but {what} has {values.shape[0]}; "
                "inconsistent numbers of samples: give one value for each row."
            )
        values = values.rechunk((tuple(rows),))
    return list(values.to_delayed())


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


def _get_summary(part: tuple[Summary, Any, Any, Any]) -> Summary:
    return part[0]


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


def _merge_labels(parts: list[Summary], one_class: bool) -> tuple[NDArray[Any], list[int]]:
    """Return the labels of all partitions and the number of rows with each label."""
    count: Counter[Any] = Counter()
    for part in parts:
        count.update(dict(zip(part.labels.tolist(), part.counts.tolist(), strict=True)))
    same_type = len({type(label) for label in count}) == 1
    found = np.array(list(count), dtype=None if same_type else object)
    _, labels = checks.encode_labels(found, checks.one_class_labels(found) if one_class else None)
    labels = labels.astype(parts[0].labels.dtype) if labels.dtype.kind != "U" else labels
    return labels, [count[label] for label in labels.tolist()]
