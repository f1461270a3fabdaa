"""Separable or not, on a Dask cluster: passes over shards, the small problem on the driver.

Products and minima are computed where the shards are; only the rows that matter travel. The
proof is checked shard by shard, by the checker that every proof goes through.
"""

from __future__ import annotations

from typing import Any

from rosenblatt.dask.cluster import Cluster, Given
from rosenblatt.evidence.checker import check_kinds
from rosenblatt.evidence.proof import Proof
from rosenblatt.evidence.separability import separability_of
from rosenblatt.evidence.verdicts import Separability


def separability(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    widest: bool = True,
    client: Any = None,
    timeout: float = 600.0,
) -> Separability:
    """Decide whether a straight line can answer every example, and prove it, on a cluster.

    The verdict is that of `rosenblatt.separability` on all rows at once; rows are numbered in
    the order of the parts.

    Parameters
    ----------
    X : Dask array, Dask dataframe, or path (or paths) of Parquet files
        The features; every float is taken as the exact fraction that it is.
    y : Dask array or series, sequence, or str
        One or two kinds of answer; for dataframes and Parquet also the name of their column.
    fit_intercept : bool, default=True
        Whether w has a w0 with x0 = `intercept_scaling`.
    intercept_scaling : float, default=1.0
        The constant feature x0.
    widest : bool, default=True
        Whether to go on to the widest margin once some w separates.
    client : dask.distributed.Client, optional
        The connection to the cluster; the default client if not given.
    timeout : float, default=600.0
        The most seconds without any shard finishing.

    Returns
    -------
    Separability
        The verdict, the weights, margin and bound where there are any, and the proof.
    """
    x0 = float(intercept_scaling) if fit_intercept else 0.0
    return separability_of(_gathered(X, y, x0, client, timeout), widest=widest)


def check_proof(
    proof: Proof, X: Any, y: Any, *, client: Any = None, timeout: float = 600.0
) -> bool:
    """Check a proof against data on a cluster, in exact arithmetic, where the shards are.

    Parameters
    ----------
    proof : Proof
        What is claimed; whoever made it.
    X, y : as in `separability`
        The data it is about.
    client, timeout : as in `separability`
        The cluster, and the longest wait.

    Returns
    -------
    bool
        True; a proof that does not hold raises ProofError.
    """
    check_kinds(proof)  # before anything is asked of the cluster
    return proof.check_examples(_gathered(X, y, proof.x0, client, timeout))


def _gathered(X: Any, y: Any, x0: float, client: Any, timeout: float) -> Cluster:
    cluster = Cluster(client, timeout)
    cluster.gather(Given(X, y), x0, one_class=True)
    return cluster
