"""Weights of the relatives of each organism of a paired model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def relative_weights(
    trust: NDArray[np.float64], relatedness: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of each organism (columns) in the mean of the others for one (rows).

    Parameters
    ----------
    trust : ndarray of float64, shape (T,)
        From 0, for an organism without data, to 1.
    relatedness : ndarray of float64, shape (T, T)
        Task kernel; negative entries count as 0. For one unlike all others, all count the same.
    """
    weights = np.maximum(relatedness, 0.0) * trust
    np.fill_diagonal(weights, 0.0)
    weights[~(weights > 0).any(axis=1)] = trust
    return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))
