"""Clusters on this machine for tests, and ways to hurt them."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time

import dask
from dask.distributed import Client, LocalCluster
from distributed.utils import get_mp_context

# Workers fork from a process that has imported everything: they are back at once.
QUICK = {
    "distributed.worker.multiprocessing-method": "forkserver",
    "distributed.scheduler.allowed-failures": 10,
    "distributed.comm.timeouts.connect": "10s",
    # 15 s after a worker was lost LocalCluster looks whether it is back, and closes its nanny
    # for good if it is not: also when it was back long ago and has just been killed once more.
    "distributed.deploy.lost-worker-timeout": "1 hour",
    "distributed.nanny.pre-spawn-environ.OMP_NUM_THREADS": 1,
}


@contextlib.contextmanager
def local_cluster(workers=2):
    """A client of a LocalCluster of processes."""
    with dask.config.set(QUICK):
        get_mp_context().set_forkserver_preload(
            ["distributed", "numba", "rosenblatt.dask.partitions"]
        )
        with (
            LocalCluster(workers, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            yield client


@contextlib.contextmanager
def after(seconds, action):
    """Do something once, this long after the block began, if it is still running."""
    timer = threading.Timer(seconds, action)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def kill_workers(client, count=1):
    """Kill -9 some of the workers of a LocalCluster."""
    pids = [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid]
    for pid in random.sample(pids, min(count, len(pids))):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Subprocesses:
    """A scheduler and a worker in processes of their own."""

    def __init__(self, folder):
        self.file = str(folder / "scheduler.json")
        scheduler = ("scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard")
        self.scheduler = self._start(*scheduler, "--scheduler-file", self.file)
        self.until(lambda: os.path.exists(self.file))
        worker = (
            "worker",
            "--host",
            "127.0.0.1",
            "--no-nanny",
            "--nthreads",
            "1",
            "--no-dashboard",
        )
        self.worker = self._start(*worker, "--scheduler-file", self.file)

    def _start(self, *command):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, "-m", "dask", *command], **quiet)

    def until(self, there, seconds=180):
        end = time.monotonic() + seconds
        while not there():
            assert time.monotonic() < end, f"not there after {seconds} s"
            time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (self.worker, self.scheduler):
            process.kill()
            process.wait(timeout=30)
