"""Dual coordinate descent on a kernel matrix: cross-validation, and problems of few examples.

    minimise over alpha    1/2 sum_{i,j} alpha_i H_ij alpha_j + sum_i C_i loss*(-alpha_i / C_i)
    where                  H_ij = y_i y_j sum_g K_g[t_i, t_j] k_g(x_i, x_j)

This is the problem of :mod:`seqmtl.core.problem`, whose margins are H alpha. A step reads one row
of H instead of the features of an example, and margins of examples that are not trained on come for
free.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import stop_if_over
from seqmtl.core.dcd import WarmStart
from seqmtl.core.losses import Loss
from seqmtl.core.mkl import KernelSet
from seqmtl.core.problem import Problem

Array = NDArray[np.float64]

#: Examples up to which :func:`solve_small` is used, as H (2 MiB) stays in cache. It ends at
#: rounding, so that an example of weight 2 is the same as two examples. Learnt kernel weights take
#: 0.6 of the time on features (500 examples), or a ninth (200, p = 1); a fixed K 0.8 to 1.3.
MAX_SMALL = 512
# Plain choices. So many entries of H are read in some milliseconds, and therefore even within the
# tolerance, so that the result is the same up to rounding.
_FREE_ENTRIES = 10_000_000
_ROUNDING = 1e-15  # gap, relative to the losses, at which it ends at once
_MAX_ROUNDS = 400
_ROUND_VISITS = 4096  # between two theta steps, at least two epochs; up to 16 times as many

_EPOCHS, _MAX_CHECKS = 4, 50  # of :func:`solve`: epochs between two checks of the gap, and checks


def hessian(grams: list[NDArray[Any]], y: Array, tasks: NDArray[Any], K: Array) -> NDArray[Any]:
    """Return H, shape (n, n), of the kernel matrices and the task kernels of all views."""
    from seqmtl.core.dcd_loops import add_hessian

    H = np.empty_like(grams[0])
    for g, (G, K_g) in enumerate(zip(grams, K, strict=True)):
        add_hessian(G, y, tasks, np.ascontiguousarray(K_g), g > 0, H)
    return H


def solve(  # noqa: PLR0913
    H: NDArray[Any],
    rows: NDArray[np.int64],
    alpha: Array,
    margins: Array,
    C: Array,
    loss: Loss,
    *,
    given: Array | None = None,
    tol: float = 1e-2,
    seed: int = 0,
) -> None:
    """Train on some examples, updating alpha, and the margins of all examples.

    Parameters
    ----------
    H : ndarray, shape (n, n)
        Hessian, see :func:`hessian`.
    rows : ndarray of int64, shape (m,)
        The examples to train on; alpha is 0 for all others.
    alpha, margins : ndarray of float64, shape (n,)
        Where to begin; margins are `given` + H alpha.
    C : ndarray of float64, shape (n,)
        Costs.
    loss : Loss
        The loss.
    given : ndarray of float64, shape (n,), optional
        Part of the margins that does not depend on alpha. Default: 0.
    tol : float
        Relative duality gap at which to stop.
    seed : int
        Seed of the visiting order.
    """
    from seqmtl.core.dcd_loops import gram_epochs

    stop_if_over()
    rng, of_rows = np.random.default_rng(seed), C[rows]
    # the duality gap of the examples in rows alone: margins of others are predictions
    g = np.zeros(rows.size) if given is None else given[rows]
    for _ in range(_MAX_CHECKS):
        order = rng.permuted(np.tile(rows, (_EPOCHS, 1)), axis=1).ravel()
        gram_epochs(H, order, alpha, margins, C, loss.as_numba_args)
        a, m = alpha[rows], margins[rows]
        half_q = 0.5 * float((a * (m - g)).sum())
        primal = half_q + float((of_rows * loss.values(m)).sum())
        dual = float((loss.dual(a, of_rows) - a * g).sum()) - half_q
        if primal - dual <= tol * primal:
            return


def solve_small(
    problem: Problem, kernels: KernelSet | None = None, *, tol: float = 1e-3, seed: int = 0
) -> WarmStart | None:
    """Solve for few examples on their kernel matrices, if possible to rounding.

    If kernel weights are learnt, epochs alternate with theta steps; there are more epochs between
    two of them while alpha has the larger part of the gap.

    Parameters
    ----------
    problem : Problem
        Problem of up to :data:`MAX_SMALL` examples.
    kernels : KernelSet, optional
        Kernels to be weighted, which replace the task kernel of the problem.
    tol : float
        Relative duality gap that is enough for as many examples as take longer.
    seed : int
        Seed of the visiting order.

    Returns
    -------
    WarmStart or None
        alpha and theta, where the solvers on features may begin and certify the gap. None if the
        features have no fast kernel matrix.
    """
    from seqmtl.core.dcd_loops import gram_epochs

    p, n = problem, problem.y.size
    grams = _kernel_matrices(p)
    if grams is None:
        return None
    theta = np.zeros(0) if kernels is None else kernels.start()
    kernel = p.kernel if kernels is None else kernels.combine(theta)
    T, rng, alpha = kernel.K.shape[-1], np.random.default_rng(seed), np.zeros(n)
    n_epochs = min_epochs = max(2, _ROUND_VISITS // n)
    n_entries, loss = 0, p.loss
    for _ in range(_MAX_ROUNDS):
        H = hessian(grams, p.y, p.tasks, kernel.K)
        residuals = np.array(p.residuals(H @ alpha))
        order = rng.permuted(np.tile(np.arange(n), (n_epochs, 1)), axis=1).ravel()
        gram_epochs(H, order, alpha, residuals, p.C, loss.as_numba_args)
        n_entries += n * n * n_epochs
        losses = p.C * loss.values(residuals)  # the gap as a sum over examples is exact to rounding
        gap = alpha_gap = float((losses - loss.dual(alpha, p.C) + alpha * residuals).sum())
        if kernels is not None:
            dual_coef = np.zeros((n, T))  # alpha_i y_i in the column of the task
            dual_coef[np.arange(n), p.tasks] = alpha * p.y
            q = kernels.energies(kernel.project_gram(dual_coef.T @ np.array(grams) @ dual_coef))
            gap += 0.5 * (kernels.dual_norm(q) - float(theta @ q))
        total = float(losses.sum())
        if gap <= _ROUNDING * total or (gap <= 0.1 * tol * total and n_entries > _FREE_ENTRIES):
            break
        if kernels is not None:
            # balance the two parts of the gap
            is_behind = alpha_gap > 0.5 * gap
            n_epochs = (
                min(2 * n_epochs, 16 * min_epochs) if is_behind else max(n_epochs // 2, min_epochs)
            )
            theta = kernels.step(theta, q)
            kernel = kernels.combine(theta)
    return WarmStart(alpha, theta)


def _kernel_matrices(problem: Problem) -> list[NDArray[np.float64]] | None:
    """Return the kernel matrix of every view, with the constant feature; None if one is slow."""
    grams, rows = [], np.arange(problem.y.size)
    for view in problem.rows.views:
        lower = view.rows.gram(rows, np.float64)
        if lower is None:
            return None
        lower = np.tril(lower)
        grams.append(lower + np.tril(lower, -1).T + problem.bias_scale**2)
    return grams
