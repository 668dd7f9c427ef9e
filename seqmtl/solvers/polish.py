"""Solve the dual problem of a few thousand examples on their kernel matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.solvers.problem import Problem

_MAX_ROUNDS = 60
_PASSES = 4  # minimum number of passes per round
_VISITS = 8192  # minimum number of visits per round
FREE_ENTRIES = 10_000_000  # read in a few milliseconds: small problems are solved to rounding
_OMEGA = 1.4  # over-relaxation; measured: a quarter fewer passes


def descend_passes(
    H: NDArray[Any],
    problem: Problem,
    rows: NDArray[np.int64],
    alpha: NDArray[np.float64],
    residuals: NDArray[np.float64],
    n_passes: int,
    rng: np.random.Generator,
) -> int:
    """Visit some examples on their Hessian, in random order; return how many alphas changed.

    Steps are over-relaxed: the rows share one large common direction, which makes plain coordinate
    descent slow in all others.
    """
    from seqmtl.solvers._dcd_kernels import descend_gram

    loss = problem.loss
    order = rng.permuted(np.tile(np.arange(rows.size), (n_passes, 1)), axis=1).ravel()
    omega = 1.0 if loss.is_logistic else _OMEGA
    return int(descend_gram(H, order, alpha, residuals, problem.C[rows], loss.for_loops, omega))


def hessian(problem: Problem, active: NDArray[np.int64], dtype: Any) -> NDArray[Any] | None:
    """Return y_i y_j sum_g K_g[t_i, t_j] (k_g(x_i, x_j) + bias^2) of the active examples, (m, m).

    Returns None if the features cannot compare two rows quickly.
    """
    from seqmtl.solvers._dcd_kernels import couple

    y, tasks = problem.y[active], problem.tasks[active]
    H: NDArray[Any] | None = None
    for view, K in zip(problem.rows.views, problem.kernels, strict=True):
        G: NDArray[Any] | None = view.rows.gram(active, dtype)
        if G is None:
            return None
        couple(G, y, tasks, K, problem.bias_scale**2)
        H = G if H is None else np.add(H, G, out=H)
    return H


def polish(
    problem: Problem,
    active: NDArray[np.int64],
    start: NDArray[np.float64],
    margins: NDArray[np.float64],
    G: NDArray[Any],
    tol: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], int]:
    """Descend on the dual variables of the active examples with all others fixed.

    For W = V K the duality gap is a sum over examples. Descent stops when the part of the active
    ones is at most `tol`.

    Parameters
    ----------
    problem : Problem
        The whole problem.
    active : ndarray of int64, shape (m,)
        The examples.
    start, margins : ndarray of float64, shape (m,)
        Their dual variables and margins.
    G : ndarray, shape (m, m)
        Hessian of their dual, see :func:`hessian`.
    tol : float
        Absolute duality gap at which to stop.
    rng : numpy.random.Generator
        Random generator of the visiting order.

    Returns
    -------
    alpha : ndarray of float64, shape (m,)
        New dual variables.
    n_changes : int
        Number of rows of G read.
    """
    C, alpha = problem.C[active], start.copy()
    residuals = np.array(problem.residuals(margins, active))
    m, n_changes = alpha.size, 0
    n_passes = max(_PASSES, _VISITS // m)
    for _ in range(_MAX_ROUNDS):
        n_changes += descend_passes(G, problem, active, alpha, residuals, n_passes, rng)
        losses = C * problem.loss.values(residuals)
        gap = float((losses + alpha * residuals - problem.loss.dual(alpha, C)).sum())
        if gap <= tol and (n_changes * m > FREE_ENTRIES or gap <= 1e-15 * losses.sum()):
            break
    return alpha, n_changes
