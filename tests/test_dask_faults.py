"""Killed workers change no bit, a killed scheduler ends the run with one sentence."""

import os
import random
import signal

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask
import dask.array as da
from clusters import Subprocesses, kill_workers, local_cluster, when_asked
from dask.distributed import Client
from strategies import with_margin

from rosenblatt.dask import ClusterError, Perceptron
from rosenblatt.dask import cluster as clusters

pytestmark = [
    pytest.mark.slow_without_jit,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.EfficiencyWarning"),
]
LIMIT = 60.0  # seconds that any wait may take
BACK = 60.0  # seconds that killed workers may take to be back


@pytest.fixture(scope="module")
def client():
    with local_cluster() as client:
        yield client


@pytest.fixture(scope="module")
def data():
    X, y = with_margin(np.random.default_rng(3), 400, 4, 0.04)
    return da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100)


@pytest.fixture(scope="module")
def undisturbed(client, data):
    return Perceptron(client=client).fit(*data)


def same(clf, other):
    assert clf.weights_.tobytes() == other.weights_.tobytes()
    assert (clf.n_iter_, clf.n_updates_) == (other.n_iter_, other.n_updates_)
    return True


@pytest.mark.parametrize("workers", [1] * 10 + [2])
def test_killed_workers_change_no_bit(client, data, undisturbed, monkeypatch, workers):
    client.wait_for_workers(2, timeout=BACK)
    number = random.randint(1, undisturbed.n_iter_)
    when_asked(monkeypatch, number, lambda: kill_workers(client, workers))
    assert same(Perceptron(client=client, timeout=LIMIT).fit(*data), undisturbed)


def test_wide_weights_are_sent_again_when_their_worker_is_lost(
    client, data, undisturbed, monkeypatch
):
    monkeypatch.setattr(clusters, "WIDE", 0)
    client.wait_for_workers(2, timeout=BACK)
    when_asked(monkeypatch, undisturbed.n_iter_ // 2, lambda: kill_workers(client, 2))
    assert same(Perceptron(client=client, timeout=LIMIT).fit(*data), undisturbed)


def test_shards_go_to_the_worker_that_came_back(client, data, undisturbed, monkeypatch):
    client.wait_for_workers(2, timeout=BACK)
    asked = when_asked(monkeypatch, 3, lambda: kill_workers(client, 1))
    plain = clusters.Cluster.place

    def place(self):
        if len(asked) == undisturbed.n_iter_ // 2:
            client.wait_for_workers(2, timeout=BACK)
        return plain(self)

    monkeypatch.setattr(clusters.Cluster, "place", place)
    assert same(Perceptron(client=client, timeout=LIMIT).fit(*data), undisturbed)
    homes = asked[-1]
    assert sorted(homes.count(worker) for worker in client.nthreads()) == [2, 2]


def deadly(block):
    os.kill(os.getpid(), signal.SIGKILL)
    return block


def test_a_shard_that_kills_its_workers_is_named(client, data):
    X, y = data
    X = da.concatenate(
        [X[:100], X[100:200].map_blocks(deadly, dtype=X.dtype, meta=X._meta), X[200:]]
    )
    with pytest.raises(ClusterError, match=r"^shard 1 \(rows 100 to 199\) kills every worker"):
        Perceptron(client=client, timeout=LIMIT).fit(X, y)


def test_a_killed_scheduler_ends_the_run_and_resume_gives_the_same_bits(
    client, data, undisturbed, monkeypatch, tmp_path
):
    file = tmp_path / "rounds.json"
    clf = Perceptron(checkpoint=file, checkpoint_every=3, timeout=LIMIT)
    soon = dask.config.set({"distributed.comm.timeouts.connect": "3s"})
    with soon, Subprocesses(tmp_path) as cluster:
        lost = Client(scheduler_file=cluster.file, set_as_default=False, timeout=LIMIT)
        lost.wait_for_workers(1, timeout=LIMIT)
        when_asked(monkeypatch, undisturbed.n_iter_ // 2, cluster.scheduler.kill)
        with pytest.raises(ClusterError) as stop:
            clf.set_params(client=lost).fit(*data)
        lost.close(timeout=1)
    monkeypatch.undo()
    said = str(stop.value)
    assert "the connection to the Dask scheduler at tcp://127.0.0.1:" in said
    assert f"call resume(X, y): {file} holds the run so far." in said
    client.wait_for_workers(1, timeout=BACK)
    assert same(clf.set_params(client=client).resume(*data), undisturbed)
