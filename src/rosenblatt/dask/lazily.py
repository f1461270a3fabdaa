"""Answers for Dask collections, as Dask arrays that are computed when asked for."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np

from rosenblatt.dask.parquet import Piece, are_paths, pieces_of, with_one_set_of_columns
from rosenblatt.dask.sources import column_of, is_frame, partitions_of
from rosenblatt.estimators.base import LinearAnswers


class Lazily(LinearAnswers):
    """Scores and answers: plain arrays for plain tables, Dask arrays for Dask collections."""

    def decision_function(self, X: Any) -> Any:
        """Score each row: w·x, positive for the second of `classes_`.

        Parameters
        ----------
        X : Dask array, Dask dataframe, path of Parquet files, array or frame
            The rows to score. What comes from Dask or a path gives a Dask array.
        """
        return self._answers("decision_function", X, np.dtype(np.float64))

    def predict(self, X: Any) -> Any:
        """Answer each row with one of `classes_`.

        Parameters
        ----------
        X : Dask array, Dask dataframe, path of Parquet files, array or frame
            The rows to answer. What comes from Dask or a path gives a Dask array.
        """
        return self._answers("predict", X, getattr(self, "classes_", np.empty(0)).dtype)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows answered rightly.

        Parameters
        ----------
        X, y, sample_weight : Dask collections or arrays
            The rows, their answers and weights.
        """
        answers = self.predict(X)
        if not isinstance(answers, da.Array):
            return float(super().score(X, y, sample_weight))
        rows = answers.chunks[0]
        truths, sizes = (column_of(y, "y", rows), column_of(sample_weight, "sample_weight", rows))
        count = dask.delayed(_right, pure=False)
        sizes = [None] * len(rows) if sizes is None else sizes
        parts = zip(answers.to_delayed(), truths or [], sizes, strict=True)
        sums = np.array(dask.compute(*(count(*part) for part in parts)))
        right, all_of_them = sums.sum(axis=0)
        return float(right / all_of_them)

    def _answers(self, method: str, X: Any, dtype: np.dtype[Any]) -> Any:
        local = self.to_local()
        if isinstance(X, da.Array):
            whole = X.rechunk({1: -1}) if X.numblocks[1] != 1 else X
            meta = np.empty(0, dtype=dtype)
            return whole.map_blocks(_part, local, method, dtype=dtype, drop_axis=1, meta=meta)
        if is_frame(X):
            return _joined([(np.nan, part) for part in partitions_of(X)[1]], local, method, dtype)
        if are_paths(X):
            pieces = pieces_of(X)
            columns = getattr(local, "feature_names_in_", None)
            columns = with_one_set_of_columns(pieces) if columns is None else columns
            read = dask.delayed(Piece.read, pure=False)
            parts = [(piece.rows, read(piece, tuple(columns))) for piece in pieces]
            return _joined(parts, local, method, dtype)
        return getattr(local, method)(X)

    def to_local(self) -> Any:
        """The plain estimator."""
        raise NotImplementedError


def _joined(parts: list[Any], local: Any, method: str, dtype: np.dtype[Any]) -> Any:
    work, shared = dask.delayed(_part, pure=False), dask.delayed(local)
    arrays = [
        da.from_delayed(work(part, shared, method), shape=(rows,), dtype=dtype)
        for rows, part in parts
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _part(part: Any, local: Any, method: str) -> Any:
    if part.shape[0] == 0:
        return np.empty(0, dtype=local.classes_.dtype if method == "predict" else np.float64)
    return getattr(local, method)(part)


def _right(answers: Any, truth: Any, weights: Any) -> tuple[float, float]:
    """What the right answers weigh, and all of them."""
    right = np.asarray(answers) == np.asarray(truth)
    sizes = np.ones(len(right)) if weights is None else np.asarray(weights, dtype=np.float64)
    return float(sizes[right].sum()), float(sizes.sum())
