"""How much organisms of a paired model borrow from their relatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def borrowed(trust: NDArray[np.float64], relatedness: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weight of each organism (columns) in the mean of the others for one (rows).

    Parameters
    ----------
    trust : ndarray of float64, shape (T,)
        From 0, where nothing is known of an organism, to 1.
    relatedness : ndarray of float64, shape (T, T)
        Task kernel; negative entries count as 0. One unlike all others borrows from all alike.
    """
    weights = np.maximum(relatedness, 0.0) * trust
    np.fill_diagonal(weights, 0.0)
    weights[~(weights > 0).any(axis=1)] = trust
    return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))
