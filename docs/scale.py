"""Measures what a round on Dask costs, compares with the model, and writes scale.md's numbers.

`python docs/scale.py` takes a few minutes on a quiet machine; `--quick` tries it at small size and
prints without writing.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster, wait

from rosenblatt.algorithms.pla import Budget, Rule
from rosenblatt.dask import mixing
from rosenblatt.dask.cluster import WIDE, Cluster, Given
from rosenblatt.dask.tasks import Learnt, one_cycle
from rosenblatt.examples import Examples

PAGE = Path(__file__).with_name("scale.md")
PLAN = mixing.Mixing(Rule(), Budget())
ROUND_TRIPS = 7


@dataclass(frozen=True)
class Constants:
    """What the model needs to know of a machine and its network.

    Parameters
    ----------
    kernel : float
        Bytes of X that one thread goes through in a second, in one pass, all cores at work.
    alone : float
        The same where one shard has the machine to itself.
    fixed : float
        Seconds that a round costs however small it is.
    task : float
        Seconds that each further shard adds.
    moved : float
        Bytes of weights that reach workers or come back, a second.
    average : float
        Bytes of weights that the driver averages, a second.
    """

    kernel: float
    alone: float
    fixed: float
    task: float
    moved: float
    average: float


@dataclass(frozen=True)
class Job:
    """Data and the cluster they are on."""

    rows: float
    columns: int
    shards: int
    threads: int
    itemsize: int = 4

    @property
    def read(self) -> float:
        """Bytes a round reads: each row to count mistakes, and again to learn."""
        return 2.0 * self.rows * self.columns * self.itemsize

    @property
    def weights(self) -> float:
        """Bytes of one w."""
        return 8.0 * (self.columns + 1)

    def parts(self, c: Constants) -> dict[str, float]:
        """Seconds of a round: reading, the engine, moving weights, averaging them."""
        waves = math.ceil(self.shards / self.threads)
        rate = c.alone if min(self.shards, self.threads) == 1 else c.kernel
        sent = 1 if self.weights >= WIDE else self.shards
        return {
            "kernel": waves * self.read / self.shards / rate,
            "engine": c.fixed + c.task * self.shards,
            "moved": (sent + self.shards) * self.weights / c.moved,
            "average": self.shards * self.weights / c.average,
        }

    def seconds(self, c: Constants) -> float:
        """Seconds of a round."""
        return sum(self.parts(c).values())


@contextmanager
def cluster(workers: int) -> Iterator[Client]:
    with (
        LocalCluster(workers, threads_per_worker=1, dashboard_address=":0") as there,
        Client(there) as client,
    ):
        yield client


def shards_on(client: Client, job: Job) -> Cluster:
    """Random rows in the workers' memory, a tenth of the answers by chance."""
    rng, rows = da.random.default_rng(0), -(-int(job.rows) // job.shards)
    X = rng.standard_normal((int(job.rows), job.columns), chunks=(rows, -1)).astype(np.float32)
    w = np.random.default_rng(1).standard_normal(job.columns).astype(np.float32)
    y = ((X @ w > 0) == (rng.random(int(job.rows), chunks=rows) >= 0.1)).astype(np.int8)
    X, y = client.persist([X, y])
    wait([X, y], timeout=300)
    cluster = Cluster(client, 120.0)
    cluster.gather(Given(X, y), 1.0)
    cluster.place()
    return cluster


def seconds_of(work: Callable[[], Any], repeats: int = ROUND_TRIPS) -> float:
    """The median of some repeats, after one to warm up."""
    work()
    taken = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return float(np.median(taken))


def round_of(cluster: Cluster, columns: int) -> Callable[[], Any]:
    """The second round of a run, from the same state each time."""
    state, _ = mixing.one_round(cluster, PLAN, mixing.State(np.zeros(columns + 1)))

    def work() -> None:
        _, learnt = mixing.one_round(cluster, PLAN, state)
        cluster.seen_at([part.worker for part in learnt])
        cluster.place()

    return work


def kernel_rate(rows: int, columns: int, threads: int) -> float:
    """Bytes of X a second and thread, without Dask, in a pass of counting or learning."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    w = rng.standard_normal(columns)
    y = (X @ w > 0) == (rng.random(rows) >= 0.1)
    shard = Examples.from_arrays(X, y)
    state = mixing.State(one_cycle(shard, turn(), np.zeros(columns + 1)).w)
    with ThreadPoolExecutor(threads) as pool:

        def work() -> None:
            list(pool.map(lambda _: one_cycle(shard, turn(), state.w), range(threads)))

        return 2 * X.nbytes / seconds_of(work)


def turn() -> Any:
    return mixing.shares_of(PLAN, mixing.State(np.zeros(1)), 1)[0]


def average_rate() -> float:
    ws = [Learnt(np.random.default_rng(i).random(10**6), 1, 1, 0, 0.0, "") for i in range(8)]
    w = np.zeros(10**6)
    return 8 * w.nbytes / seconds_of(lambda: mixing.average(w, ws, False))


def measured(quick: bool) -> Constants:
    """The constants of this machine."""
    client: Client
    kernel, alone = (kernel_rate(20_000 if quick else 250_000, 30, n) for n in (2, 1))
    engine = {}
    with cluster(2) as client:
        for shards in (2, 4, 8) if quick else (1, 2, 4, 8, 16, 32, 64):
            held = shards_on(client, Job(20 * shards, 30, shards, 2))
            engine[shards] = seconds_of(round_of(held, 30))
        task, fixed = np.polyfit(list(engine), list(engine.values()), 1)
        wide = Job(32, 20_000 if quick else 100_000, 8, 2)
        took = seconds_of(round_of(shards_on(client, wide), wide.columns))
    left = max(took - fixed - 8 * task, 1e-3)
    moved = 2 * wide.shards * wide.weights / left
    costs = float(max(fixed, 0)), float(max(task, 0))
    return Constants(kernel, alone, *costs, moved, average_rate())


def compared(c: Constants, quick: bool) -> list[tuple[Job, int, float]]:
    """Rounds with 1 to 8 shards on 1 and 2 workers: what they took."""
    rows = 100_000 if quick else 2_000_000
    found = []
    for workers in (1, 2):
        with cluster(workers) as client:
            for shards in (1, 2, 4, 8):
                job = Job(rows, 30, shards, workers)
                held = shards_on(client, job)
                found.append((job, workers, seconds_of(round_of(held, 30))))
    return found


def table(head: str, rows: list[str]) -> str:
    columns = head.count("|") - 1
    return "\n".join([head, "|" + " --- |" * columns, *rows])


def constants_table(c: Constants, load: float) -> str:
    return table(
        "| constant | here |",
        [
            f"| what else ran on the machine (load before measuring) | {load:.1f} |",
            f"| a pass of the kernel over X, a thread | {c.kernel / 1e9:.2f} GB/s |",
            f"| the same, one shard at a time | {c.alone / 1e9:.2f} GB/s |",
            f"| a round, however small | {1000 * c.fixed:.0f} ms |",
            f"| each shard of it | {1000 * c.task:.2f} ms |",
            f"| weights moved between driver and workers | {c.moved / 1e6:.0f} MB/s |",
            f"| weights averaged by the driver | {c.average / 1e9:.2f} GB/s |",
        ],
    )


def comparison(c: Constants, found: list[tuple[Job, int, float]]) -> str:
    rows = [
        f"| {workers} | {job.shards} | {1000 * job.seconds(c):.0f} ms | {1000 * took:.0f} ms | "
        f"{took / job.seconds(c):.2f} |"
        for job, workers, took in found
    ]
    return table("| workers | shards | model | measured | measured / model |", rows)


def prediction(c: Constants) -> str:
    rows = []
    for shards in (100, 800, 1600, 15_600):
        job = Job(1e9, 1000, shards, 800)
        parts = job.parts(c)
        rows.append(
            f"| {shards:,} | {4000 / shards:.2g} GB | {parts['kernel']:.1f} s | "
            f"{parts['engine']:.1f} s | {parts['moved']:.2f} s | {parts['average']:.3f} s | "
            f"{job.seconds(c):.1f} s |"
        )
    head = "| shards | each | kernel | engine | weights moved | average | a round |"
    return table(head, rows)


def write(name: str, text: str, page: str) -> str:
    mark = re.compile(rf"(<!-- scale:{name} -->\n).*?(<!-- /scale -->)", re.DOTALL)
    assert mark.search(page), f"scale.md has no place for {name}"
    return mark.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", page)


def main(quick: bool) -> None:
    load = os.getloadavg()[0]
    constants = measured(quick)
    found = compared(constants, quick)
    texts = {
        "constants": constants_table(constants, load),
        "comparison": comparison(constants, found),
        "prediction": prediction(constants),
    }
    print("\n\n".join(texts.values()))
    print(json.dumps(constants.__dict__))
    if not quick:
        page = PAGE.read_text(encoding="utf-8")
        for name, text in texts.items():
            page = write(name, text, page)
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main("--quick" in sys.argv)
