"""Multi-task MKL by brute force: both objectives from their definitions, the dual by cvxpy.

A view is a dense matrix of features, the constant feature included; kernel m is a task kernel K_m
of one view.
"""

from __future__ import annotations

import inspect
import warnings

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize_scalar

from tests.oracles.losses import LOSSES

# CVXPY 1.8 can replace a power by a rational one that is near it; before, it took the exact one
# for the powers of these tests
_EXACT = {"approx": False} if "approx" in inspect.signature(cp.pnorm).parameters else {}


def conjugate_term(name, alpha, C, epsilon):
    """Return -C loss*(-alpha / C) as the least of C loss(u) + alpha u over u."""

    def value(u):
        return C * LOSSES[name].value(u, epsilon) + alpha * u

    return minimize_scalar(value, bounds=(-40, 40), method="bounded", options={"xatol": 1e-11}).fun


def primal(views, y, tasks, matrices, which, C, name, theta, W, z=None, epsilon=0.0):
    """Value of 2015 Problem 1 at theta and W_m, one (d_g, T) matrix per kernel."""
    f, regulariser = np.zeros(len(y)), 0.0
    for K, g, share, w in zip(matrices, which, theta, W, strict=True):
        for i, t in enumerate(tasks):
            f[i] += views[g][i] @ w[:, t]
        if share > 0:
            regulariser += np.trace(w @ np.linalg.pinv(K, rcond=1e-10) @ w.T) / share
        else:
            assert not w.any()
    u = y * f if z is None else f - z
    return 0.5 * regulariser + float((C * LOSSES[name].value(u, epsilon)).sum())


def dual(views, y, tasks, matrices, which, C, name, norm, alpha, z=None, epsilon=0.0):
    """Value of the dual, theta eliminated, at alpha."""
    terms = sum(conjugate_term(name, a, c, epsilon) for a, c in zip(alpha, C, strict=True))
    grams = [X @ X.T for X in views]
    q = [alpha @ H @ alpha for H in hessians(grams, y, tasks, matrices, which)]
    power = {1.0: np.inf, np.inf: 1.0}.get(norm) or norm / (norm - 1)
    return terms - 0.5 * np.linalg.norm(q, power) + (0.0 if z is None else alpha @ z)


def hessians(grams, y, tasks, matrices, which):
    """Return y_i y_j K_m[t_i, t_j] k_g(x_i, x_j) of every kernel."""
    signs, pairs = np.outer(y, y), np.ix_(tasks, tasks)
    return [signs * K[pairs] * grams[g] for K, g in zip(matrices, which, strict=True)]


def solve_dual(grams, y, tasks, matrices, which, C, name, norm, z=None, epsilon=0.0):
    """Maximise the dual with a general convex solver; returns its value."""
    a, loss = cp.Variable(len(y)), LOSSES[name]
    roots = [_root(H) for H in hessians(grams, y, tasks, matrices, which)]
    q = cp.hstack([cp.sum_squares(root.T @ a) for root in roots])
    if norm == 1:
        size = cp.max(q)
    else:
        size = cp.sum(q) if np.isinf(norm) else cp.pnorm(q, norm / (norm - 1), **_EXACT)
    terms = -C @ loss.conjugate(cp.multiply(a, 1 / C), epsilon) + (0 if z is None else a @ z)
    bounds = [] if np.isinf(loss.bound) else [a <= C * loss.bound]
    bounds += [a >= 0] if not loss.is_regression else [-a <= C * loss.bound] if bounds else []
    problem = cp.Problem(cp.Maximize(terms - 0.5 * size), bounds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "may be inaccurate": the callers judge
        problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


def _root(H):
    """Return R with R R' = H, without the directions that H lacks."""
    values, vectors = np.linalg.eigh(H)
    kept = values > 1e-12 * max(values[-1], 1e-300)
    return vectors[:, kept] * np.sqrt(values[kept])
