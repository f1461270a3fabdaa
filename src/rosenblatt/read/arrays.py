"""NumPy arrays as Arrow arrays, without the detour over pandas that `pyarrow.array` takes.

Where pandas is installed, `pyarrow.array(ndarray)` imports it to see whether the array is a
pandas object: half a second that a command has better use for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def doubles(numbers: NDArray[np.float64], there: NDArray[np.bool_] | None = None) -> Any:
    """Doubles, null where `there` is false.

    Examples
    --------
    >>> doubles(np.array([1.0, 2.0]), np.array([True, False])).to_pylist()
    [1.0, None]
    """
    return _wrapped(pa.float64(), np.ascontiguousarray(numbers, dtype=np.float64), there)


def whole(numbers: NDArray[Any], there: NDArray[np.bool_] | None = None) -> Any:
    """Whole numbers, null where `there` is false."""
    return _wrapped(pa.int64(), np.ascontiguousarray(numbers, dtype=np.int64), there)


def flags(values: NDArray[np.bool_]) -> Any:
    """Booleans."""
    bits = np.packbits(values, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])


def _wrapped(kind: Any, numbers: NDArray[Any], there: NDArray[np.bool_] | None) -> Any:
    valid = None
    if there is not None and not there.all():
        valid = pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(kind, len(numbers), [valid, pa.py_buffer(numbers)])
