"""A verdict by Dask is the local verdict, and its proof is checked by the same checker."""

from dataclasses import replace

import numpy as np
import pytest

import rosenblatt as rb

pytest.importorskip("distributed")

import dask.array as da
import pyarrow as pa
import pyarrow.parquet as pq
from clusters import after, kill_workers, local_cluster
from strategies import with_margin

from rosenblatt.dask import check_proof, separability

pytestmark = pytest.mark.slow_without_jit


@pytest.fixture(scope="module")
def client():
    with local_cluster() as client:
        yield client


def separable():
    return with_margin(np.random.default_rng(0), 900, 3, 0.05)


def inseparable():
    X, y = separable()
    y[[3, 500, 870]] *= -1
    return X, y


def quasi_separable():
    """Rows of both answers on the line itself, the others on their sides."""
    X = np.vstack([[[x, 1.0] for x in range(30)], [[x, -1.0] for x in range(30)]])
    on_the_line = [[3.0, 0.0], [3.0, 0.0], [9.0, 0.0], [9.0, 0.0]]
    return np.vstack([X, on_the_line]), np.array([1] * 30 + [-1] * 30 + [1, -1, -1, 1])


def one_answer():
    return separable()[0], np.zeros(900, dtype=int)


def three_labels():
    X, y = separable()
    return X, np.where(X[:, 0] > 0.3, 2, y)


def three_labels_that_overlap():
    X, y = three_labels()
    y[[3, 500, 870]] = [2, 1, -1]
    return X, y


@pytest.mark.parametrize(
    "make",
    [
        separable,
        inseparable,
        quasi_separable,
        one_answer,
        three_labels,
        three_labels_that_overlap,
    ],
)
def test_the_verdict_is_the_local_one_and_its_proof_holds(client, make):
    X, y = make()
    whole = rb.separability(X, y)
    parted = da.from_array(X, chunks=(-(-len(X) // 5), X.shape[1]))
    s = separability(parted, y, client=client)
    assert s.verdict == whole.verdict
    assert s.radius == whole.radius
    assert s.proof.check(X, y)
    for proof in (s.proof, whole.proof):
        assert check_proof(proof, parted, y, client=client)
    if whole:
        assert s.margin == pytest.approx(whole.margin, rel=1e-8)


def test_a_false_proof_is_refused_with_the_row_of_all_the_data(client):
    X, y = separable()
    parted = da.from_array(X, chunks=(300, 3))
    proof = rb.separability(X, y).proof
    weights = (proof.weights[0] + 10 * max(map(abs, proof.weights)), *proof.weights[1:])
    with pytest.raises(rb.ProofError) as here:
        replace(proof, weights=weights).check(X, y)
    with pytest.raises(rb.ProofError) as there:
        check_proof(replace(proof, weights=weights), parted, y, client=client)
    assert str(there.value) == str(here.value)
    y[-1] *= -1
    with pytest.raises(rb.ProofError):
        check_proof(proof, parted, y, client=client)


def test_parquet_files_and_a_killed_worker_give_the_same_verdict(client, tmp_path):
    X, y = inseparable()
    for i in range(3):
        rows = slice(300 * i, 300 * (i + 1))
        table = pa.table({"a": X[rows, 0], "b": X[rows, 1], "c": X[rows, 2], "y": y[rows]})
        pq.write_table(table, tmp_path / f"{i}.parquet")
    calm = separability(tmp_path, "y", client=client)
    with after(0.1, lambda: kill_workers(client, 1)):
        hurt = separability(tmp_path, "y", client=client, timeout=180.0)
    assert calm.verdict == hurt.verdict == "inseparable"
    assert hurt.proof == calm.proof
    assert hurt.proof.check(X, y)


def test_a_proof_about_other_labels_raises_proof_error(client):
    X, y = separable()
    proof = rb.separability(X, y).proof
    parted = da.from_array(X, chunks=(300, 3))
    with pytest.raises(rb.ProofError):
        check_proof(proof, parted, np.arange(len(y)) % 3, client=client)
