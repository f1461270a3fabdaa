"""Dask's face: learning and deciding on data spread over the workers of a cluster.

Learning is iterative parameter mixing (McDonald, Hall and Mann 2010): each shard of the data
runs one cycle from the current w, and the driver averages. It halts when a whole round has no
mistake, which happens for separable data after a bounded number of rounds.
"""

try:
    import dask.array
    import dask.distributed  # noqa: F401
except ImportError as error:  # pragma: no cover (tested in a process of its own)
    raise ImportError(
        "rosenblatt.dask needs Dask; install it with: pip install 'rosenblatt[dask]'"
    ) from error

from rosenblatt.dask.cluster import ClusterError
from rosenblatt.dask.estimators import Perceptron, PocketPerceptron, check_proof, separability
from rosenblatt.dask.mixing import Round

__all__ = [
    "ClusterError",
    "Perceptron",
    "PocketPerceptron",
    "Round",
    "check_proof",
    "separability",
]
