"""Dask collections: their partitions as rows, and predictions for each partition."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kernsemble.exceptions import ArgumentError


def is_collection(X: object) -> bool:
    """Return whether rows are a Dask DataFrame or array."""
    return _is_frame(X) or _is_array(X)


def _is_frame(X: object) -> bool:
    return hasattr(X, "map_partitions") and hasattr(X, "npartitions")


def _is_array(X: object) -> bool:
    return hasattr(X, "map_blocks") and hasattr(X, "numblocks") and not _is_frame(X)


def partitions(X: Any, y: Any, sample_weight: Any) -> list[tuple[Any, Any, Any]]:
    """Return the partitions of rows, targets and weights, as delayed objects."""
    for name, each in (("X", X), ("y", y), ("sample_weight", sample_weight)):
        if not is_collection(each) and not (each is None and name == "sample_weight"):
            raise TypeError(
                f"{name} is {type(each).__name__}: pass Dask DataFrames, Series or arrays, or use "
                "the estimator of kernsemble.svm for rows in memory"
            )
    if _is_array(X) and X.ndim != 2:
        raise ArgumentError("X.ndim", X.ndim, "pass rows and columns")
    parts = _delayed(X)
    others = [
        _delayed(_aligned(each, X)) if each is not None else None for each in (y, sample_weight)
    ]
    for name, each in zip(("y", "sample_weight"), others, strict=True):
        if each is not None and len(each) != len(parts):
            raise ValueError(
                f"{name} has {len(each)} partitions and X {len(parts)}: repartition them alike"
            )
    targets, weights = others
    assert targets is not None
    return list(zip(parts, targets, weights or [None] * len(parts), strict=True))


def _aligned(y: Any, X: Any) -> Any:
    """Return an array in the chunks of X, where the sizes of these are known."""
    if not (_is_array(y) and _is_array(X)) or np.isnan(sum(X.chunks[0]) + sum(y.chunks[0])):
        return y
    if sum(y.chunks[0]) != sum(X.chunks[0]):
        raise ValueError(
            f"X has {sum(X.chunks[0])} rows and y or sample_weight {sum(y.chunks[0])}: pass one "
            "for each row"
        )
    return y.rechunk((X.chunks[0],))


def _delayed(X: Any) -> list[Any]:
    """Return the partitions; unoptimised, as files are joined differently for X and for y."""
    if _is_array(X) and X.ndim == 2:
        X = X.rechunk({1: -1})
    return list(np.ravel(X.to_delayed(optimize_graph=False)))


def mapped(method: Callable[[Any], Any], X: Any, n_columns: int | None, dtype: Any) -> Any:
    """Return what a method of a local estimator returns for every partition, as a Dask array."""
    columns = () if n_columns is None else (n_columns,)
    predict = _Predict(method, columns, dtype)
    if _is_array(X):
        if n_columns is None:
            return X.rechunk({1: -1}).map_blocks(predict, dtype=dtype, drop_axis=1)
        return X.rechunk({1: -1}).map_blocks(predict, dtype=dtype, chunks=(X.chunks[0], columns))
    from dask import array
    from dask.delayed import delayed

    da: Any = array

    shape, one = (np.nan, *columns), delayed(predict, pure=True, traverse=False)
    parts = [da.from_delayed(one(part), shape, dtype=dtype) for part in _delayed(X)]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


class _Predict:
    """A method applied to a partition, which may have no rows."""

    def __init__(self, method: Callable[[Any], Any], columns: tuple[int, ...], dtype: Any) -> None:
        self.method, self.columns, self.dtype = method, columns, dtype

    def __call__(self, X: Any) -> Any:
        return self.method(X) if len(X) > 0 else np.empty((0, *self.columns), dtype=self.dtype)
