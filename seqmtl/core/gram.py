"""Dual coordinate descent on a kernel matrix: cross-validation, and problems of few examples.

    minimise over alpha    1/2 sum_{i,j} alpha_i H_ij alpha_j + sum_i alpha_i g_i
                           + sum_i C_i loss*(-alpha_i / C_i)
    where                  H_ij = y_i y_j sum_v K_v[t_i, t_j] k_v(x_i, x_j) over the views v

This is the problem of :mod:`seqmtl.core.problem`; H is its kernel matrix with signs, and g the
residuals that are given, minus z there. A step reads one row of H instead of the features of an
example, and residuals of examples that are not trained on come for free. With the residuals
r = g + H alpha, the duality gap is a sum over the examples,

    gap = sum_i [C_i loss(r_i) + alpha_i r_i + C_i loss*(-alpha_i / C_i)],    each [..] >= 0,

which is exact to rounding, also where both objectives are large.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import stop_if_over
from seqmtl.core.dcd import WarmStart
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.losses import Loss
from seqmtl.core.mkl import KernelSet
from seqmtl.core.problem import Problem

Array = NDArray[np.float64]

#: Examples up to which :func:`solve_small` is used, as H (2 MiB) stays in cache. It mostly ends at
#: rounding, so that an example of weight 2 is the same as two examples. Learnt kernel weights take
#: 0.8 of the time on features (500 examples), or a sixth (200, p = 1); a fixed K 0.8 to 1.1.
MAX_SMALL = 512
# Plain choices.
_EPOCHS_PER_CHECK = 4  # epochs between two checks of the gap
_MAX_EPOCHS = 200
_ROUNDING = 1e-15  # relative gap that is due to rounding
_FEW_ENTRIES = 10_000_000  # of H that are read in some milliseconds
_MANY_EPOCHS, _STEP_EPOCHS = 4000, 400  # in all, which takes up to a second; at fixed theta
_MAX_THETA_STEPS = 400


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
    residuals: Array,
    C: Array,
    loss: Loss,
    *,
    given: Array | None = None,
    tol: float = 1e-2,
    max_epochs: int = _MAX_EPOCHS,
    seed: int = 0,
) -> float:
    """Train on some examples, updating alpha, and the residuals of all examples.

    Parameters
    ----------
    H : ndarray, shape (n, n)
        Hessian, see :func:`hessian`.
    rows : ndarray of int64, shape (m,)
        The examples to train on; alpha is 0 for all others.
    alpha, residuals : ndarray of float64, shape (n,)
        Where to begin; residuals are `given` + H alpha.
    C : ndarray of float64, shape (n,)
        Costs.
    loss : Loss
        The loss.
    given : ndarray of float64, shape (n,), optional
        Part of the residuals that does not depend on alpha. Default: 0.
    tol : float
        Relative duality gap at which to stop.
    max_epochs : int
        Maximum number of epochs.
    seed : int
        Seed of the visiting order.

    Returns
    -------
    float
        The relative gap of the examples in `rows`; residuals of others are predictions.
    """
    from seqmtl.core.dcd_loops import gram_epochs

    rng, of_rows, gap = np.random.default_rng(seed), C[rows], np.inf
    g = np.zeros(rows.size) if given is None else given[rows]
    for _ in range(0, max_epochs, _EPOCHS_PER_CHECK):
        stop_if_over()
        order = rng.permuted(np.tile(rows, (_EPOCHS_PER_CHECK, 1)), axis=1).ravel()
        gram_epochs(H, order, alpha, residuals, C, loss.as_numba_args)
        a, r = alpha[rows], residuals[rows]
        losses = of_rows * loss.values(r)
        primal = float((losses + 0.5 * a * (r - g)).sum())
        gap = float((losses + a * r - loss.dual(a, of_rows)).sum()) / max(primal, 1e-300)
        if gap <= tol:
            break
    return gap


def solve_small(
    problem: Problem, kernels: KernelSet | None = None, *, tol: float = 1e-3, seed: int = 0
) -> WarmStart | None:
    """Solve for few examples on their kernel matrices, to rounding if that is fast.

    If kernel weights are learnt, this alternates as Algorithm 2 does, see :mod:`seqmtl.core.mkl`:
    alpha is solved for to half the gap of theta.

    Parameters
    ----------
    problem : Problem
        Problem of up to :data:`MAX_SMALL` examples.
    kernels : KernelSet, optional
        Kernels to be weighted, which replace the task kernel of the problem.
    tol : float
        Relative duality gap that is enough, by a factor of 10, where rounding takes longer.
    seed : int
        Seed of the visiting order.

    Returns
    -------
    WarmStart or None
        alpha and theta, from which the solvers on features certify the gap, and go on if there were
        too few epochs. None if the features have no fast kernel matrix.
    """
    p, n = problem, problem.y.size
    grams = _kernel_matrices(p)
    if grams is None:
        return None
    rows, alpha = np.arange(n), np.zeros(n)
    given = np.array(p.residuals(np.zeros(n)))  # minus the targets
    few_epochs = _FEW_ENTRIES // n**2

    def solve_for_alpha(kernel: GroupedKernel, alpha_tol: float, max_epochs: int) -> float:
        H = hessian(grams, p.y, p.tasks, kernel.K)
        options: Any = {"given": given, "tol": alpha_tol, "max_epochs": max_epochs, "seed": seed}
        return solve(H, rows, alpha, given + H @ alpha, p.C, p.loss, **options)

    if kernels is None:
        if solve_for_alpha(p.kernel, _ROUNDING, min(few_epochs, _MANY_EPOCHS)) > 0.1 * tol:
            solve_for_alpha(p.kernel, max(0.1 * tol, _ROUNDING), _MANY_EPOCHS)
        return WarmStart(alpha)
    theta, theta_gap = kernels.start(), 1.0
    for _ in range(_MAX_THETA_STEPS):
        kernel = kernels.combine(theta)
        alpha_tol = max(0.5 * theta_gap, _ROUNDING)
        gap = solve_for_alpha(kernel, alpha_tol, min(few_epochs, _STEP_EPOCHS))
        dual_coef = np.zeros((n, kernel.K.shape[-1]))  # alpha_i y_i in the column of the task
        dual_coef[rows, p.tasks] = alpha * p.y
        q = kernels.energies(kernel.project_gram(dual_coef.T @ np.array(grams) @ dual_coef))
        energy = float(theta @ q)
        theta_gap = kernels.theta_gap(theta, q) / energy if energy > 0.0 else 0.0
        if max(gap, theta_gap) <= _ROUNDING:
            break
        theta = kernels.step(theta, q)
    return WarmStart(alpha, theta)


def _kernel_matrices(problem: Problem) -> list[NDArray[np.float64]] | None:
    """Return the kernel matrix of every view, with the constant feature; None if one is slow."""
    grams, rows = [], np.arange(problem.y.size)
    for view in problem.rows.views:
        G = view.rows.gram(rows, np.float64)
        if G is None:
            return None
        grams.append(G + problem.bias_scale**2)
    return grams
