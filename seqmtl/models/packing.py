"""A multi-task model as a description and arrays, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl.features.definitions import features_from_dict
from seqmtl.models.site import Site
from seqmtl.similarity import TaskKernel

if TYPE_CHECKING:
    from seqmtl.models.model import MultiTaskModel

_SPARSE_BELOW = 0.5
_ROWS_AT_A_TIME = 1 << 14


def pack(model: MultiTaskModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the description, of JSON values, and the arrays that the header does not hold."""
    used = _used_rows(model.W)
    arrays: dict[str, NDArray[Any]] = {}
    if used.size < _SPARSE_BELOW * model.W.shape[0]:
        arrays["rows"] = used.astype(np.int32)
        arrays["W"] = model.W[used]
    else:
        arrays["W"] = model.W
    several = model.kernel.n_kernels > 1
    arrays["K"] = np.array(model.kernel.matrices if several else model.kernel.matrix)
    description = {
        "features": model.features.to_dict(model.length),
        "n_features": int(model.W.shape[0]),
        "length": model.length,
        "kernel": {
            "names": list(model.kernel.names),
            "source": model.kernel.source,
            "labels": list(model.kernel.labels),
        },
        "site": vars(model.site),
    }
    return description, arrays


def _used_rows(W: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rows that are not all zeros, of W that np.any would be slow on: narrow rows."""
    is_used = np.zeros(W.shape[0], dtype=bool)
    for first in range(0, W.shape[0], _ROWS_AT_A_TIME):
        part = slice(first, first + _ROWS_AT_A_TIME)
        for column in W[part].T:
            is_used[part] |= column != 0
    return np.flatnonzero(is_used)


def unpack(description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the fields of the model that only models of weights have.

    Raises
    ------
    AttributeError, IndexError, KeyError, TypeError, ValueError
        If it does not describe a consistent model.
    """
    tasks, length = tuple(description["tasks"]), int(description["length"])
    features = features_from_dict(description["features"])
    T, n_features = len(tasks), int(description["n_features"])
    W = arrays["W"]
    if n_features != features.n_features(length) or W.ndim != 2 or W.shape[1] != T:
        raise ValueError("weights do not match the features")
    if W.dtype.kind != "f":
        raise ValueError("weights must be floating-point numbers")
    if "rows" in arrays:
        W = _spread(arrays["rows"], W, n_features)
    if W.shape[0] != n_features:
        raise ValueError("weights do not match the features")
    kernel = TaskKernel(
        description["kernel"]["names"],
        arrays["K"],
        description["kernel"]["source"],
        labels=description["kernel"]["labels"],
        not_psd="refuse",
    )
    if kernel.names[:T] != tasks:
        raise ValueError("the task kernel does not match the tasks")
    return {
        "features": features,
        "length": length,
        "kernel": kernel,
        "W": W,
        "site": Site(**description["site"]),
    }


def _spread(rows: NDArray[Any], W: NDArray[Any], n_features: int) -> NDArray[Any]:
    """Put the stored rows of weights at their places among rows of zeros."""
    if rows.shape != W.shape[:1] or (np.diff(rows, prepend=-1) <= 0).any():
        raise ValueError("weights must have one place each, in rising order")
    require_memory(
        n_features * W.shape[1] * W.dtype.itemsize,
        f"weights of {n_features:,} features for {W.shape[1]} tasks",
        "use a machine with more memory",
    )
    spread = np.zeros((n_features, W.shape[1]), dtype=W.dtype)
    spread[rows] = W
    return spread
