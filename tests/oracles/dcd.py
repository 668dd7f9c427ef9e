"""Algorithm 1 of Widmer et al. (2012) as printed, on dense numbers and in plain Python."""

import numpy as np
from scipy.optimize import minimize_scalar


def step(loss, alpha, residual, H, C):
    """Minimise H/2 (a - alpha)^2 + residual (a - alpha) + C loss*(-a / C) over a."""
    if loss == "hinge":
        return min(max(alpha + (1.0 - residual) / H, 0.0), C)
    if loss == "squared_hinge":
        return max(alpha + (1.0 - residual - alpha / (2.0 * C)) / (H + 1.0 / (2.0 * C)), 0.0)
    assert loss == "logistic"

    def value(share):
        a = C * share
        entropy = share * np.log(share) + (1.0 - share) * np.log1p(-share)
        return 0.5 * H * (a - alpha) ** 2 + residual * (a - alpha) + C * entropy

    limits = {"bounds": (1e-15, 1 - 1e-15), "options": {"xatol": 1e-13, "maxiter": 1000}}
    return C * minimize_scalar(value, method="bounded", **limits).x


def epoch(order, X, y, tasks, K, C, loss, alpha, W):
    """Visit the examples in this order; return alpha and W."""
    alpha, W = alpha.copy(), W.copy()
    for i in order:
        x, t = X[i], tasks[i]
        new = step(loss, alpha[i], y[i] * (W[:, t] @ x), K[t, t] * (x @ x), C[i])
        W += np.outer(x, K[t]) * (new - alpha[i]) * y[i]
        alpha[i] = new
    return alpha, W
