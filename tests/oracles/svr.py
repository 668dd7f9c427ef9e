"""Multi-task regression on its dense kernel matrix, solved by a general-purpose optimiser."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from tests.oracles.svm import multitask_kernel


def primal(X, z, tasks, K, C, loss, epsilon, W, b, bias):
    """Value of the primal at weights W (d x T) and constant-feature weights b (T)."""
    stacked = np.vstack([W, b])
    regulariser = 0.5 * np.einsum("ft,ts,fs->", stacked, np.linalg.pinv(K), stacked)
    f = (X @ W)[np.arange(len(z)), tasks] + bias * b[tasks]
    beyond = np.maximum(0, np.abs(f - z) - epsilon)
    return regulariser + (C * (beyond**2 if loss.startswith("squared") else beyond)).sum()


def solve_dual(X, z, tasks, K, C, loss, epsilon, bias=1.0):
    """Maximise the dual by L-BFGS-B over beta = a - b, a and b >= 0; returns beta and the value."""
    n = len(z)
    H = multitask_kernel(X, tasks, K, bias)
    C = np.broadcast_to(C, n).astype(float)
    D = 0.5 / C if loss.startswith("squared") else np.zeros(n)

    def negative(parts):
        beta = parts[:n] - parts[n:]
        gradient = H @ beta + D * beta - z
        value = 0.5 * beta @ H @ beta + 0.5 * beta @ (D * beta) - z @ beta + epsilon * parts.sum()
        return value, np.concatenate([gradient + epsilon, epsilon - gradient])

    upper = [None] * n if loss.startswith("squared") else list(C)
    result = minimize(
        negative, np.zeros(2 * n), jac=True, method="L-BFGS-B",
        bounds=[(0.0, top) for top in upper] * 2,
        options={"maxiter": 50000, "maxfun": 500000, "ftol": 1e-16, "gtol": 1e-10},
    )  # fmt: skip
    return result.x[:n] - result.x[n:], -result.fun
