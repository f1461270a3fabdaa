"""Killed workers change no bit; a killed scheduler ends the run and it can be resumed."""

import os
import random
import signal

import numpy as np
import pytest
from facts import warns
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("distributed")

import dask
import dask.array as da
from clusters import Subprocesses, after, kill_workers, local_cluster
from dask.distributed import Client
from strategies import with_margin

from rosenblatt.dask import ClusterError, Perceptron
from rosenblatt.dask.partitions import KIND
from rosenblatt.files import read_checksummed

pytestmark = [
    pytest.mark.slow_without_jit,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.EfficiencyWarning"),
]
LIMIT = 180.0  # seconds that any wait may take
BACK = 180.0  # seconds that killed workers may take to be back


@pytest.fixture(scope="module")
def client():
    with local_cluster() as client:
        yield client


def in_partitions(X, y):
    return da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100)


@pytest.fixture(scope="module")
def data():
    return in_partitions(*with_margin(np.random.default_rng(3), 400, 4, 0.04))


@pytest.fixture(scope="module")
def undisturbed(client, data):
    return Perceptron(client=client).fit(*data)


def some_time_in(clf):
    return random.random() * sum(step.seconds for step in clf.history_)


def same(clf, other):
    assert clf.weights_.tobytes() == other.weights_.tobytes()
    assert (clf.n_iter_, clf.n_updates_) == (other.n_iter_, other.n_updates_)
    return True


@pytest.mark.parametrize("workers", [1] * 8 + [2])
def test_killed_workers_change_no_bit(client, data, undisturbed, workers):
    client.wait_for_workers(2, timeout=BACK)
    with after(some_time_in(undisturbed), lambda: kill_workers(client, workers)):
        clf = Perceptron(client=client, timeout=LIMIT).fit(*data)
    assert same(clf, undisturbed)


def test_killed_workers_change_no_bit_of_three_labels(client):
    X, y = with_margin(np.random.default_rng(6), 400, 4, 0.04)
    data = in_partitions(X, np.where(X[:, 0] > 0.5, 2, y))
    options = {"client": client, "max_iter": 40, "timeout": LIMIT}
    with warns(ConvergenceWarning, "max_iter"):
        undisturbed = Perceptron(**options).fit(*data)
    client.wait_for_workers(2, timeout=BACK)
    with (
        after(some_time_in(undisturbed), lambda: kill_workers(client)),
        warns(ConvergenceWarning, "max_iter"),
    ):
        clf = Perceptron(**options).fit(*data)
    assert clf.coef_.shape == (3, 4)
    assert same(clf, undisturbed)


def deadly(block):
    os.kill(os.getpid(), signal.SIGKILL)
    return block


def allow_failures(most, dask_scheduler):
    """Set how many workers a task may lose, and return how many it could before."""
    before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, most
    return before


def test_a_partition_that_kills_its_workers_ends_the_run(client):
    X, y = in_partitions(*with_margin(np.random.default_rng(4), 400, 4, 0.04))
    X = X.map_blocks(deadly, dtype=X.dtype, meta=X._meta)
    before = client.run_on_scheduler(allow_failures, 2)
    with pytest.raises(ClusterError):
        Perceptron(client=client, timeout=LIMIT).fit(X, y)
    client.run_on_scheduler(allow_failures, before)


def test_a_run_without_workers_ends_after_its_timeout(data, tmp_path):
    with Subprocesses(tmp_path) as cluster:
        cluster.worker.kill()
        with (
            Client(scheduler_file=cluster.file, set_as_default=False, timeout=LIMIT) as client,
            pytest.raises(ClusterError),
        ):
            Perceptron(client=client, timeout=0.5).fit(*data)


def test_a_killed_scheduler_ends_the_run_and_resume_gives_the_same_bits(client, tmp_path):
    file = tmp_path / "rounds.json"
    clf = Perceptron(checkpoint=file, checkpoint_every=3, timeout=LIMIT, max_iter=10**6)
    X, y = with_margin(np.random.default_rng(5), 400, 4, 0.04)
    y[7] *= -1  # not separable: only the kill ends the run
    parts = in_partitions(X, y)
    soon = dask.config.set({"distributed.comm.timeouts.connect": "3s"})
    with soon, Subprocesses(tmp_path) as cluster:
        lost = Client(scheduler_file=cluster.file, set_as_default=False, timeout=LIMIT)
        lost.wait_for_workers(1, timeout=LIMIT)

        def kill_after_some_rounds():
            cluster.until(lambda: file.exists() and read_checksummed(file, KIND)["state"]["rounds"])
            cluster.scheduler.kill()

        with after(0.0, kill_after_some_rounds), pytest.raises(ClusterError) as stop:
            clf.set_params(client=lost).fit(*parts)
        lost.close(timeout=1)
    assert str(file) in str(stop.value)
    client.wait_for_workers(1, timeout=BACK)
    rounds = 40
    with warns(ConvergenceWarning, "max_iter"):
        whole = Perceptron(client=client, max_iter=rounds).fit(*parts)
    begun = Perceptron(client=client, max_iter=5, checkpoint=file, checkpoint_every=1)
    with warns(ConvergenceWarning, "max_iter"):
        begun.fit(*parts)
    with warns(ConvergenceWarning, "max_iter"):
        assert same(begun.set_params(max_iter=rounds).resume(*parts), whole)
