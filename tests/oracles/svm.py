"""The multi-task SVM on its dense kernel matrix, solved by a general-purpose optimiser."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def multitask_kernel(X, tasks, K, bias):
    """k((x, s), (z, t)) = K[s, t] (<x, z> + bias^2)."""
    return K[np.ix_(tasks, tasks)] * (X @ X.T + bias**2)


def primal(X, y, tasks, K, C, loss, W, b, bias):
    """Value of the primal at weights W (d x T) and constant-feature weights b (T)."""
    Q = np.linalg.pinv(K)
    stacked = np.vstack([W, b])
    regulariser = 0.5 * np.einsum("ft,ts,fs->", stacked, Q, stacked)
    margins = y * ((X @ W)[np.arange(len(y)), tasks] + bias * b[tasks])
    losses = {
        "hinge": np.maximum(0, 1 - margins),
        "squared_hinge": np.maximum(0, 1 - margins) ** 2,
        "logistic": np.log1p(np.exp(-margins)),
    }[loss]
    return regulariser + (C * losses).sum()


def solve_dual(X, y, tasks, K, C, loss="hinge", bias=1.0):
    """Maximise the dual by L-BFGS-B; returns alpha and the dual value."""
    n = len(y)
    H = np.outer(y, y) * multitask_kernel(X, tasks, K, bias)
    C = np.broadcast_to(C, n).astype(float)

    def negative(alpha):
        value = 0.5 * alpha @ H @ alpha
        gradient = H @ alpha
        if loss == "logistic":
            share = np.clip(alpha / C, 1e-12, 1 - 1e-12)
            value += (C * (share * np.log(share) + (1 - share) * np.log1p(-share))).sum()
            return value, gradient + np.log(share) - np.log1p(-share)
        value -= alpha.sum()
        gradient = gradient - 1
        if loss == "squared_hinge":
            value += (alpha**2 / (4 * C)).sum()
            gradient = gradient + alpha / (2 * C)
        return value, gradient

    upper = [None] * n if loss == "squared_hinge" else list(C)
    start = C / 2 if loss == "logistic" else np.zeros(n)
    result = minimize(
        negative, start, jac=True, method="L-BFGS-B",
        bounds=list(zip([0.0] * n, upper, strict=True)),
        options={"maxiter": 20000, "maxfun": 200000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    return result.x, -result.fun
