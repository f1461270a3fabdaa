"""Train perceptrons and decide separability on data spread over a Dask cluster.

Training is iterative parameter mixing (McDonald, Hall and Mann 2010): in each round, every
partition runs one epoch from the current w, and the driver averages the results. The run halts when
a whole round has no mistake; separable data need only a bounded number of rounds.
"""

try:
    import dask.array
    import dask.distributed  # noqa: F401
except ImportError as error:  # pragma: no cover (tested in a separate process)
    raise ImportError(
        "rosenblatt.dask needs Dask; install it with: pip install 'rosenblatt[dask]'"
    ) from error

from rosenblatt.dask.estimators import Perceptron, PocketPerceptron, check_proof, separability
from rosenblatt.dask.mixing import Round
from rosenblatt.dask.partitions import ClusterError

__all__ = [
    "ClusterError",
    "Perceptron",
    "PocketPerceptron",
    "Round",
    "check_proof",
    "separability",
]
