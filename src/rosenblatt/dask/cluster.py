"""A cluster and the shards that its workers hold: loading, asking, placing, and what to say.

Shards are futures of loads, so Dask computes them again when their worker is lost. Nothing
here waits without a limit.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from dask import delayed
from dask.distributed import KilledWorker, default_client, wait
from numpy.typing import NDArray

import rosenblatt.checks as checks
from rosenblatt.blocks import Work
from rosenblatt.dask.sources import Load, loads_of
from rosenblatt.dask.tasks import MANY_LABELS, AsExamples, Seen, ShardTask, as_it_is, look_at
from rosenblatt.errors import UserError
from rosenblatt.examples import Examples, one_or_two_labels, signs
from rosenblatt.words import listed

T = TypeVar("T")
Group = tuple[str, list[int]]  # a worker, or "" for any, and some of its shards

WIDE = 2**17  # bytes of w from which it is sent to the workers once, not with every task
DONE = ("finished", "error")  # what becomes of a task that is not cancelled
FORGOTTEN = 5.0  # seconds that the client may take to let go of a task


class ClusterError(UserError, RuntimeError):
    """The cluster cannot go on: its scheduler or all workers are lost, or a shard kills them."""

    exit_code = 69


class _TaskError(Exception):
    """What a task raised, as against what the cluster did."""

    def __init__(self, name: str, error: BaseException) -> None:
        self.name, self.error = name, error

    def named(self) -> BaseException:
        """The error, with the shard's name where it is a sentence about data."""
        plain = type(self.error) is ValueError and not str(self.error).startswith(self.name)
        return ValueError(f"{self.name}: {self.error}") if plain else self.error


@dataclass(frozen=True, eq=False)
class Given:
    """What a person gave: a collection, its answers and weights."""

    X: Any
    y: Any
    sample_weight: Any = None
    class_weight: Any = None


class Cluster:
    """Shards in the memory of workers, and questions put to all of them at once: blocks elsewhere.

    A client that is not given is Dask's default one; `limit` is the most seconds without any
    shard finishing.
    """

    def __init__(self, client: Any, limit: float) -> None:
        self.client = client if client is not None else _default()
        self.address = str(getattr(self.client.scheduler, "address", "")) or "an unknown address"
        self.limit = limit
        self.names: list[str] = []
        self.shards: list[Any] = []
        self.homes: list[str] = []  # the worker of each shard, as far as is known
        self.rows: list[int] = []  # how many each has
        self.workers: dict[str, int] = {}  # those last heard of, and the threads of each
        self._last: list[Any] = []  # the tasks of the last question
        # Shards are taken so where they are, when they are first asked: it saves a task for each.
        self.reading: AsExamples | None = None

    def gather(self, given: Given, x0: float, *, one_class: bool = False) -> Examples:
        """Let the workers load the data, look at every part, and take it as examples.

        Gives one row of zeros with their columns and labels, for what only asks about those.
        """
        seen = self._looked_at(loads_of(given.X, given.y, given.sample_weight))
        some = [i for i, part in enumerate(seen) if part.counts.sum() > 0]
        if not some:
            raise ValueError("there are no rows to learn from.")
        self.names, self.shards = (
            [values[i] for i in some] for values in (self.names, self.shards)
        )
        parts = [seen[i] for i in some]
        self.homes = [part.worker for part in parts]
        columns = sorted({part.columns for part in parts})
        if len(columns) > 1:
            raise ValueError(
                f"parts of X have {columns[0]} and {columns[-1]} columns; give them one."
            )
        labels, counts = _labels(parts, one_class)
        each, weights = given.class_weight, None
        if each is not None:
            weights = checks.class_weights(each, labels.tolist(), np.array(counts))
        self.reading = AsExamples(labels, x0, weights)
        self.rows = [part.rows for part in parts]
        X, y = np.zeros((1, columns[0])), np.ones(1, dtype=np.int8)
        return Examples(X, y, labels, parts[0].names, x0)

    def _looked_at(self, loads: Sequence[Load]) -> list[Seen]:
        """Let the workers load the parts, which are the shards, and look at them.

        Both are asked for at once, so that no worker waits; a look again where some shards had to
        be loaded again.
        """
        self.names = [part.name for part in loads]
        look = delayed(look_at, pure=False)
        looks = [look(part.load, MANY_LABELS, None) for part in loads]
        with self._told():
            both = self.client.compute([*(part.load for part in loads), *looks])
            self.shards, early = both[: len(loads)], both[len(loads) :]
            self._wait(both, self.names * 2)
            self._finish(self.shards, lambda i: self.client.compute(loads[i].load), self.names)
            self._last = early
            if all(future.status == "finished" for future in early):
                with suppress(CancelledError):
                    return list(self.client.gather(early))
            self.homes = self._where()
        return self.ask(look_at, [MANY_LABELS] * len(loads), None)

    def each(self, work: Work[T]) -> Iterator[T]:
        """One pass: work(shard, number of its first row), all at once, in the order of the rows."""
        firsts = np.cumsum((0, *self.rows))[:-1].tolist()
        yield from self.ask(_work, firsts, work)
        self.place()

    def ask(self, function: Callable[..., Any], each: Sequence[Any], w: Any) -> list[Any]:
        """function(shard, each[shard], w) of every shard, in their order.

        A small w travels with each task; a wide one is sent once, and sent again where a lost
        worker took it along.
        """
        end = time.monotonic() + self.limit
        with self._told():
            while True:
                try:
                    return self._answers(function, each, self._sent(w))
                except CancelledError:
                    self._must_be_there()
                    self.workers = {}
                    if time.monotonic() > end:
                        raise ClusterError(
                            f"workers were lost again and again for {self.limit:g} s; "
                            "see their logs."
                        ) from None

    def _sent(self, w: Any) -> Any:
        if getattr(w, "nbytes", 0) < WIDE:
            return w
        try:
            return self.client.scatter(w, hash=False)
        except (OSError, TimeoutError):  # the worker it went to was lost, or there is none now
            raise CancelledError from None

    def _put(
        self, function: Callable[..., Any], each: Sequence[Any], w: Any, groups: Sequence[Group]
    ) -> list[Any]:
        """Put a question to groups of shards, each as one task.

        A client that has just sent a message waits some milliseconds with the next: so all tasks go
        in one, and the tasks before are let go of only then.
        """
        client = self.client

        def submit(home: str, part: Sequence[int]) -> Any:
            names, own, shards = (
                [values[i] for i in part] for values in (self.names, each, self.shards)
            )
            task = ShardTask(function, self.reading, names, own)
            # Not as a keyword: Dask makes a task called "w" of a large one, for all calls alike.
            return client.submit(ShardTask.run, task, shards, w, pure=False, **_at(home))

        async def submit_all() -> list[Any]:
            return [submit(*group) for group in groups]

        self._last = client.sync(submit_all)
        return list(self._last)

    def _answers(self, function: Callable[..., Any], each: Sequence[Any], w: Any) -> list[Any]:
        """Ask the shards of a worker together: a task costs more than the work of some shards."""
        groups = self._groups()
        futures = self._put(function, each, w, groups)
        self._wait(futures, [listed([self.names[i] for i in part], most=3) for _, part in groups])
        fine = [k for k, future in enumerate(futures) if future.status != "error"]
        found = self.client.gather([futures[k] for k in fine])
        answers: dict[int, Any] = {}
        for k, some in zip(fine, found, strict=True):
            answers.update(zip(groups[k][1], some, strict=True))
        # One of a group is to blame; each alone, it shows which.
        alone: list[Group] = [("", [i]) for i in range(len(self.shards)) if i not in answers]
        if alone:
            futures = self._put(function, each, w, alone)
            names = [self.names[i] for _, (i,) in alone]
            self._finish(futures, lambda k: self._put(function, each, w, [alone[k]])[0], names)
            for (_, (i,)), (answer,) in zip(alone, self.client.gather(futures), strict=True):
                answers[i] = answer
        return [answers[i] for i in range(len(self.shards))]

    def _groups(self) -> list[Group]:
        """The shards of each worker, in as many groups as it has threads."""
        self.workers = self.workers or self.threads()
        groups = []
        for home in sorted(set(self.homes)):
            part = [i for i, at in enumerate(self.homes) if at == home]
            count = min(len(part), self.workers.get(home, len(part)))
            groups += [(home, part[k::count]) for k in range(count)]
        return groups

    def _finish(
        self, futures: list[Any], again: Callable[[int], Any], names: Sequence[str]
    ) -> None:
        """Wait until all are done; where workers died over some, try these again, each alone.

        Dask blames every task that was on a worker when it died; only a shard that kills its
        worker when it is alone is guilty.
        """
        self._wait(futures, names)
        for i in range(len(futures)):
            if _killed(futures[i]):
                self._forget(futures[i])
                futures[i] = again(i)
                self._wait([futures[i]], [names[i]])
            if _killed(futures[i]):
                raise ClusterError(
                    f"{names[i]} kills every worker that works on it, also when it is alone "
                    "there; it may need more memory than a worker has: give it in smaller parts, "
                    "or look into it."
                )
        for name, future in zip(names, futures, strict=True):
            if future.status == "error":
                raise _TaskError(name, future.exception())

    def _forget(self, future: Any) -> None:
        """Let go of a task that was blamed, and have what it is made from tried again too."""
        with suppress(KeyError):  # Dask trips over parts that no future stands for
            future.retry()
        future.release()
        # Another thread does that: until it has, the same task would come back as it failed.
        end = time.monotonic() + FORGOTTEN
        while future.key in self.client.futures and time.monotonic() < end:
            time.sleep(0.001)

    def _wait(self, futures: Sequence[Any], names: Sequence[str]) -> None:
        left = [future for future in futures if future.status not in DONE]
        while left:
            try:
                with self.client.as_current():  # `wait` asks whichever client that is
                    wait(left, timeout=self.limit)
                return
            except TimeoutError:
                before, left = len(left), [f for f in left if f.status == "pending"]
                if len(left) == before:
                    late = {future.key for future in left}
                    each = zip(names, futures, strict=True)
                    raise self._standstill([n for n, f in each if f.key in late]) from None

    def _standstill(self, names: list[str]) -> ClusterError:
        if not self.threads():
            return ClusterError(f"no worker was there for {self.limit:g} s; start some.")
        return ClusterError(
            f"no shard was done within {self.limit:g} s; still missing: {listed(names, most=3)}. "
            "Look at the workers, or give a longer timeout."
        )

    def threads(self) -> dict[str, int]:
        """How many threads each worker has that is there now."""
        return dict(self.client.nthreads())

    def seen_at(self, workers: Sequence[str]) -> None:
        """Take note of where the shards were found in the last round."""
        self.homes = [now or before for now, before in zip(workers, self.homes, strict=True)]

    def place(self) -> int:
        """Move shards to workers that have too few, as after a lost one came back; how many."""
        with self._told():
            self.workers = self.threads()
            if not set(self.homes) <= set(self.workers):
                self.homes = self._where()
            moves = moves_of(self.homes, self.workers)
            for i, home in moves:
                shard = self.shards[i]
                self.shards[i] = self.client.submit(as_it_is, shard, pure=False, **_at(home))
                self.homes[i] = home
            self._wait([self.shards[i] for i, _ in moves], [self.names[i] for i, _ in moves])
        return len(moves)

    def _where(self) -> list[str]:
        at = self.client.who_has(self.shards)
        return [min(at.get(shard.key) or [""]) for shard in self.shards]

    def _must_be_there(self) -> None:
        """Raise where the scheduler is gone and the shards with it; else tasks can be retried."""
        if self.client.status != "running" or any(s.status == "cancelled" for s in self.shards):
            raise self._lost()

    def _lost(self) -> ClusterError:
        return ClusterError(f"the connection to the Dask scheduler at {self.address} was lost.")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what Dask raises when a cluster is lost into one sentence."""
        try:
            yield
        except ClusterError:
            raise
        except _TaskError as wrong:
            raise wrong.named() from None
        except (CancelledError, OSError) as error:
            raise self._lost() from error
        except RuntimeError as error:
            if self.client.status == "running":
                raise
            raise self._lost() from error


def _at(home: str) -> dict[str, Any]:
    """Run where the shards are; if that worker is lost, any other may do it."""
    return {"workers": [home], "allow_other_workers": True} if home else {}


def _killed(future: Any) -> bool:
    return future.status == "error" and isinstance(future.exception(), KilledWorker)


def _default() -> Any:
    try:
        return default_client()
    except ValueError:
        raise ClusterError(
            "there is no Dask client; give client=Client(...) or make one first with "
            "dask.distributed.Client()."
        ) from None


def moves_of(homes: Sequence[str], threads: Mapping[str, int]) -> list[tuple[int, str]]:
    """The fewest moves of a shard to a worker after which none has more than its threads' share.

    Examples
    --------
    >>> moves_of(["a", "a", "a", "a"], {"a": 1, "b": 1})
    [(2, 'b'), (3, 'b')]
    >>> moves_of(["a", "a", "b"], {"a": 1, "b": 1})
    []
    """
    total = sum(threads.values())
    count = Counter(homes)
    moves: list[tuple[int, str]] = []
    if total == 0:
        return moves
    share = {worker: len(homes) * n / total for worker, n in threads.items()}
    for shard in range(len(homes) - 1, -1, -1):
        home = homes[shard]
        to = max(sorted(share), key=lambda worker: share[worker] - count[worker])
        if count[home] > math.ceil(share.get(home, 0.0)) and count[to] < share[to]:
            moves.append((shard, to))
            count[home] -= 1
            count[to] += 1
    return moves[::-1]


def _work(shard: Examples, first: int, work: Work[Any]) -> Any:
    shard.look()
    return work(shard, first)


def _labels(parts: list[Seen], one_class: bool) -> tuple[NDArray[Any], list[int]]:
    """The two labels of all parts and how many rows have each."""
    count: Counter[Any] = Counter()
    for part in parts:
        count.update(dict(zip(part.labels.tolist(), part.counts.tolist(), strict=True)))
    alike = len({type(label) for label in count}) == 1
    met = np.array(list(count), dtype=None if alike else object)
    if len(met) > 2:
        shown = ", ".join(repr(label) for label in np.unique(met)[:4].tolist())
        raise ValueError(
            "Only binary classification is supported. y has more than two classes "
            f"({shown}, …); give two kinds of answer."
        )
    _, labels = signs(met, one_or_two_labels(met) if one_class else None)
    labels = labels.astype(parts[0].labels.dtype) if labels.dtype.kind != "U" else labels
    return labels, [count[label] for label in labels.tolist()]
