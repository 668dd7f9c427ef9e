"""The multi-task SVM, also of regression, on its dense kernel matrix, by a general optimiser."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def multitask_kernel(X, tasks, K, bias):
    """k((x, s), (z, t)) = K[s, t] (<x, z> + bias^2)."""
    return K[np.ix_(tasks, tasks)] * (X @ X.T + bias**2)


def loss(name, u, epsilon):
    """Loss of a margin, or of a residual f - z in regression."""
    if name == "logistic":
        return np.logaddexp(0, -u)
    short = abs(u) - epsilon if name.endswith("insensitive") else 1 - u
    missing = np.maximum(short, 0)
    return missing**2 if name.startswith("squared") else missing


def primal(X, z, tasks, K, C, name, W, b, bias, epsilon=0.0):
    """Value of the primal at weights W (d x T) and constant-feature weights b (T)."""
    stacked = np.vstack([W, b])
    regulariser = 0.5 * np.einsum("ft,ts,fs->", stacked, np.linalg.pinv(K), stacked)
    f = (X @ W)[np.arange(len(z)), tasks] + bias * b[tasks]
    u = f - z if name.endswith("insensitive") else z * f
    return regulariser + (C * loss(name, u, epsilon)).sum()


def solve_dual(X, z, tasks, K, C, name="hinge", bias=1.0, epsilon=0.0):
    """Maximise the dual by L-BFGS-B; returns alpha (beta in regression) and the dual value.

    W = sum_i beta_i phi(x_i): beta = y alpha in classification, and beta = a - b, a and b >= 0, in
    regression.
    """
    n, is_regression = len(z), name.endswith("insensitive")
    H, C = multitask_kernel(X, tasks, K, bias), np.broadcast_to(C, n).astype(float)
    D = 0.5 / C if name.startswith("squared") else np.zeros(n)
    signs = np.hstack([np.eye(n), -np.eye(n)]) if is_regression else np.diag(z)
    cost = np.append(epsilon - z, epsilon + z) if is_regression else -np.ones(n)

    def negative(parts):
        beta = signs @ parts
        gradient = H @ beta + D * beta
        value = 0.5 * beta @ gradient
        if name == "logistic":
            share = np.clip(parts / C, 1e-12, 1 - 1e-12)
            value += (C * (share * np.log(share) + (1 - share) * np.log1p(-share))).sum()
            return value, signs.T @ gradient + np.log(share) - np.log1p(-share)
        return value + cost @ parts, signs.T @ gradient + cost

    upper = np.full(cost.size, np.inf) if D.any() else np.resize(C, cost.size)
    start = C / 2 if name == "logistic" else np.zeros(cost.size)
    result = minimize(
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, top) for top in upper],
        options={"maxiter": 50000, "maxfun": 500000, "ftol": 1e-16, "gtol": 1e-10},
    )
    return signs @ result.x if is_regression else result.x, -result.fun
