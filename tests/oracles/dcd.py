"""Algorithm 1 of Widmer et al. (2012), with eq. 17 corrected, on dense numbers in Python."""

import numpy as np
from scipy.optimize import bisect

from tests.oracles.losses import LOSSES


def step(loss, alpha, residual, H, C):
    """Minimise H/2 (a - alpha)^2 + residual (a - alpha) + C loss*(-a / C) over a.

    The minimum is where the slope is zero, or else at a bound (eq. 17 and 18 of the hinge).
    """
    loss = LOSSES[loss]

    def slope(a):
        with np.errstate(divide="ignore"):
            return H * (a - alpha) + residual + loss.slope(np.float64(a / C), 0.0)

    top = min(C * loss.bound, 1e6)
    if slope(0.0) >= 0.0 or slope(top) <= 0.0:
        return 0.0 if slope(0.0) >= 0.0 else top
    return bisect(slope, 0.0, top, xtol=1e-15, rtol=1e-15)


def epoch(order, X, y, tasks, K, C, loss, alpha, W):
    """Visit the examples in this order; return alpha and W."""
    alpha, W = alpha.copy(), W.copy()
    for i in order:
        x, t = X[i], tasks[i]
        new = step(loss, alpha[i], y[i] * (W[:, t] @ x), K[t, t] * (x @ x), C[i])
        W += np.outer(x, K[t]) * (new - alpha[i]) * y[i]
        alpha[i] = new
    return alpha, W
