"""Norms of non-negative numbers, and the kernel weights that they bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MIN_WEIGHT = 1e-3  # of a warm start, relative to the largest; a plain choice


def conjugate(p: float) -> float:
    """Return p* = p / (p - 1), for p from 1 to infinity."""
    if p == 1.0:
        return float("inf")
    return 1.0 if np.isinf(p) else p / (p - 1.0)


def norm_of(v: NDArray[np.float64], p: float) -> float:
    """Return (sum_m v_m^p)^(1/p) of non-negative numbers for any p > 0; not a norm for p < 1."""
    largest = float(v.max())
    if largest == 0.0 or np.isinf(p):
        return largest
    return largest * float(((v / largest) ** p).sum() ** (1.0 / p))


def dual_norm(q: NDArray[np.float64], p: float) -> float:
    """Return ||q||_{p*} of non-negative numbers."""
    return norm_of(q, conjugate(p))


def minimise_on_ball(a: NDArray[np.float64], p: float) -> NDArray[np.float64] | None:
    """Return the theta >= 0, ||theta||_p <= 1 that minimises sum_m a_m / theta_m (2015, eq. 22).

    Returns None if all a_m are 0 and p is finite, so that every theta is optimal.
    """
    if np.isinf(p):
        return np.ones_like(a)
    if not a.max() > 0.0:
        return None
    a = a / a.max()
    return np.asarray(a ** (1.0 / (p + 1.0)) / (a ** (p / (p + 1.0))).sum() ** (1.0 / p))


def positive_weights(theta: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """Return theta >= 0, ||theta||_p = 1 for a warm start, none of them 0, as it would stay 0."""
    theta = np.maximum(theta, _MIN_WEIGHT * theta.max())
    return np.asarray(theta / norm_of(theta, p))
