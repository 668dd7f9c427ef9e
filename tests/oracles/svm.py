"""The multi-task SVM, also of regression, on its dense kernel matrix, by a general optimiser."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from tests.oracles.losses import LOSSES


def multitask_kernel(X, tasks, K, bias):
    """k((x, s), (z, t)) = K[s, t] (<x, z> + bias^2)."""
    return K[np.ix_(tasks, tasks)] * (X @ X.T + bias**2)


def primal(X, z, tasks, K, C, name, W, b, bias, epsilon=0.0):
    """Value of the primal at weights W (d x T) and constant-feature weights b (T)."""
    stacked = np.vstack([W, b])
    regulariser = 0.5 * np.einsum("ft,ts,fs->", stacked, np.linalg.pinv(K), stacked)
    f = (X @ W)[np.arange(len(z)), tasks] + bias * b[tasks]
    loss = LOSSES[name]
    u = f - z if loss.is_regression else z * f
    return regulariser + (C * loss.value(u, epsilon)).sum()


def solve_dual(X, z, tasks, K, C, name="hinge", bias=1.0, epsilon=0.0):
    """Maximise the dual by L-BFGS-B; returns alpha (beta in regression) and the dual value.

    W = sum_i beta_i phi(x_i): beta = y alpha in classification, and beta = a - b, a and b >= 0, in
    regression.
    """
    n, loss = len(z), LOSSES[name]
    H, C = multitask_kernel(X, tasks, K, bias), np.broadcast_to(C, n).astype(float)
    signs = np.hstack([np.eye(n), -np.eye(n)]) if loss.is_regression else np.diag(z)
    costs = np.resize(C, signs.shape[1])
    linear = np.append(-z, z) if loss.is_regression else np.zeros(n)

    def negative(parts):
        beta, share = signs @ parts, parts / costs
        value = 0.5 * beta @ H @ beta + linear @ parts + costs @ loss.conjugate(share, epsilon)
        inside = np.clip(share, 1e-12, loss.bound - 1e-12)  # of the logistic loss
        return value, signs.T @ (H @ beta) + linear + loss.slope(inside, epsilon)

    result = minimize(
        negative,
        costs / 2,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, top) for top in loss.bound * costs],
        options={"maxiter": 50000, "maxfun": 500000, "ftol": 1e-16, "gtol": 1e-10},
    )
    return signs @ result.x if loss.is_regression else result.x, -result.fun
