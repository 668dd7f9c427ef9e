"""Weights in a model file: all rows, the nonzero rows, or compressed columns of many tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl.models import grouped
from seqmtl.solvers.weights import TaskWeights

_SPARSE_BELOW = 0.5  # store nonzero rows only if their share is below this
_ROWS_AT_A_TIME = 1 << 14


def pack_weights(W: NDArray[Any] | TaskWeights) -> dict[str, NDArray[Any]]:
    """Return weights as arrays of a model file."""
    if isinstance(W, TaskWeights):
        return grouped.pack_weights(W)
    used = _used_rows(W)
    if used.size < _SPARSE_BELOW * W.shape[0]:
        return {"rows": used.astype(np.int32), "W": W[used]}
    return {"W": W}


def unpack_weights(
    arrays: Mapping[str, NDArray[Any]], views: list[slice], dtype: str
) -> NDArray[Any] | TaskWeights:
    """Return the weights of a model file."""
    if "columns" in arrays:
        return grouped.unpack_weights(arrays, views, dtype)
    if "rows" in arrays:
        return _spread(arrays["rows"], arrays["W"], views[-1].stop)
    return arrays["W"]


def _used_rows(W: NDArray[Any]) -> NDArray[np.int64]:
    """Return the nonzero rows of W; np.any is slow on rows this narrow."""
    is_used = np.zeros(W.shape[0], dtype=bool)
    for first in range(0, W.shape[0], _ROWS_AT_A_TIME):
        part = slice(first, first + _ROWS_AT_A_TIME)
        for column in W[part].T:
            is_used[part] |= column != 0
    return np.flatnonzero(is_used)


def _spread(rows: NDArray[Any], W: NDArray[Any], n_features: int) -> NDArray[Any]:
    """Scatter the stored rows of weights into a matrix of zeros."""
    if (np.diff(rows, prepend=-1) <= 0).any() or (rows.size and rows[-1] >= n_features):
        raise ValueError(f"array rows must hold rising numbers below {n_features}")
    require_memory(
        n_features * W.shape[1] * W.dtype.itemsize,
        f"weights of {n_features:,} features for {W.shape[1]} tasks",
        "use a machine with more memory",
    )
    spread = np.zeros((n_features, W.shape[1]), dtype=W.dtype)
    spread[rows] = W
    return spread
