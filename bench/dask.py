"""Dask: overhead of a round over the kernels' time, and a pass compared with dask-ml."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from bench.line import Line
from bench.measure import faster, figure, interleaved, peer

PARTITIONS, WORKERS = 8, 2


@contextmanager
def cluster(workers: int = WORKERS) -> Iterator[Any]:
    distributed = peer("dask.distributed", "dask[distributed]")
    with (
        distributed.LocalCluster(workers, threads_per_worker=1, dashboard_address=":0") as there,
        distributed.Client(there) as client,
    ):
        yield client


def examples(client: Any, n: int, d: int = 30, partitions: int = PARTITIONS) -> tuple[Any, Any]:
    """Return float32 rows in the workers' memory, with one label in ten chosen at random."""
    da = peer("dask.array", "dask[array]")
    rng = da.random.default_rng(0)
    rows = -(-n // partitions)
    X = rng.standard_normal((n, d), chunks=(rows, d)).astype(np.float32)
    w = np.random.default_rng(1).standard_normal(d).astype(np.float32)
    right = rng.random(n, chunks=rows) >= 0.1
    y = ((X @ w > 0) == right).astype(np.int8)
    X, y = client.persist([X, y])
    peer("dask.distributed", "dask[distributed]").wait([X, y], timeout=300)
    return X, y


def a_round(quick: bool) -> Iterator[Line]:
    """Time the same epochs from the same w on Dask and in two threads of one process."""
    from rosenblatt.dask.partitions import run_epoch

    n = 100_000 if quick else 2_000_000
    with cluster() as client:
        rounds = Rounds(client, n)
        partitions = rounds.at_home()
        with ThreadPoolExecutor(WORKERS) as pool:

            def kernel() -> list[Any]:
                return list(pool.map(run_epoch, partitions, *rounds.tasks()))

            here, there = kernel(), rounds.once()
            assert all(a.updates == b.updates for a, b in zip(here, there, strict=True))
            times = interleaved({"round": rounds.once, "kernel": kernel}, 5 if quick else 15)
    pairs = zip(times["round"].seconds, times["kernel"].seconds, strict=True)
    over = tuple(1000 * (a - b) for a, b in pairs)
    note = (
        f"the same updates in every partition; a round {1000 * times['round'].median:.0f} ms, "
        f"the kernel in two threads {1000 * times['kernel'].median:.0f} ms"
    )
    yield figure("dask.round-2000000x30", float(np.median(over)), over, note, **times)


class Rounds:
    """Second round of a run, which can be repeated from the same state."""

    def __init__(self, client: Any, n: int, d: int = 30, partitions: int = PARTITIONS) -> None:
        from rosenblatt.algorithms.pla import Budget, Rule
        from rosenblatt.dask import partitions as module

        self.module = module
        self.X, self.y = examples(client, n, d, partitions)
        self.partitions = module.Partitions(client, 300.0)
        self.partitions.load(self.X, self.y, 1.0)
        self.plan = module.MixingPlan(Rule(), Budget())
        begin = module.State(np.zeros(d + 1))
        self.state, _ = module.run_round(self.partitions, self.plan, begin)

    def tasks(self) -> tuple[list[Any], ...]:
        return self.module.plan_epochs(self.plan, self.state, len(self.partitions.names))

    def once(self) -> list[Any]:
        return self.module.run_round(self.partitions, self.plan, self.state)[1]

    def at_home(self) -> list[Any]:
        """Return copies of the partitions in this process."""
        return self.partitions.client.gather(self.partitions.examples)


def beside_incremental(quick: bool) -> Iterator[Line]:
    """Time one pass over data in the workers' memory, compared with dask-ml's Incremental.

    Our pass trains on all partitions at once; Incremental trains on one after another.
    """
    from sklearn.linear_model import Perceptron as Peer

    from rosenblatt.dask import Perceptron

    wrappers = peer("dask_ml.wrappers", "dask-ml")
    n = 100_000 if quick else 2_000_000
    with cluster() as client, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rounds = Rounds(client, n)
        X, y = rounds.X, rounds.y
        mine = Perceptron(max_iter=1, client=client)
        seeds = iter(range(1000))

        def incremental() -> Any:
            # A new seed each time, which changes nothing without shuffling: for an identical task
            # Dask would return the result that it already has.
            peers = Peer(random_state=next(seeds))
            return wrappers.Incremental(peers, shuffle_blocks=False).fit(X, y, classes=[0, 1])

        works = {"ours": lambda: mine.fit(X, y), "peer": incremental, "round": rounds.once}
        times = interleaved(works, 3 if quick else 7)
        mine.fit(X, y)
        right = 1 - mine.n_mistakes_ / n
        other = float((incremental().predict(X) == y).mean().compute())
    assert right > other - 0.05, f"right on {right:.3f} of the rows, the peer on {other:.3f}"
    note = (
        "all of fit(max_iter=1), with checks and a last count of mistakes, against all of its fit: "
        f"{times['ours'].median:.2f} s against {times['peer'].median:.2f} s; a round alone "
        f"{times['round'].median:.2f} s; right on {right:.3f} of the rows, the peer on {other:.3f}"
    )
    yield faster("dask.incremental", times["peer"], times["ours"], note)


WORKS = {
    a_round: ("dask.round",),
    beside_incremental: ("dask.incremental",),
}
