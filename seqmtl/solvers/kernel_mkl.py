"""Multi-task multiple kernel learning on kernel matrices, for kernels without features.

The problem of :mod:`seqmtl.solvers.mkl`, where <phi_g(x), phi_g(z)> is given instead of phi_g:
coordinate descent on the dual variables in turn with the closed-form step of the kernel weights
(Widmer et al. 2015, Section 3.1 and eq. 22).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.solvers.kernel_set import KernelSet
from seqmtl.solvers.mkl_polish import KernelMatrices, objectives, polish_kernels
from seqmtl.solvers.problem import Problem


class KernelMKLSolution(NamedTuple):
    """Dual variables and kernel weights.

    Attributes
    ----------
    alpha : ndarray of float64, shape (n,)
        Dual variables.
    theta : ndarray of float64, shape (M,)
        Kernel weights.
    primal : float
        Primal objective.
    gap : float
        Relative duality gap.
    n_iter : int
        Rounds of coordinate descent, each of many theta steps.
    converged : bool
        Whether the tolerance was reached.
    """

    alpha: NDArray[np.float64]
    theta: NDArray[np.float64]
    primal: float
    gap: float
    n_iter: int
    converged: bool


def solve_on_matrices(
    grams: list[NDArray[np.float64]],
    y: NDArray[np.float64],
    tasks: NDArray[Any],
    kernels: KernelSet,
    C: NDArray[np.float64],
    *,
    tol: float,
    max_iter: int,
    seed: int,
) -> KernelMKLSolution:
    """Solve to a certified duality gap.

    Parameters
    ----------
    grams : list of ndarray, shape (n, n)
        Kernel matrices of the G views; 1 added to their values gives every view an intercept.
    y : ndarray of float64, shape (n,)
        Labels, -1 or +1.
    tasks : ndarray of int, shape (n,)
        Task of each example.
    kernels : KernelSet
        Task kernels of the views.
    C : ndarray of float64, shape (n,)
        Cost of each example.
    tol : float
        Relative duality gap to stop at.
    max_iter : int
        Rounds at most.
    seed : int
        Of the visiting order.
    """
    theta, alpha = kernels.start(), np.zeros(y.size)
    problem = Problem(None, y, tasks, kernels.couple(theta), C)  # type: ignore[arg-type]
    matrices = KernelMatrices(problem, np.arange(y.size), grams)
    rng = np.random.default_rng(seed)
    primal, n_iter, gap = float(C.sum()), 0, 1.0
    while gap > tol and n_iter < max_iter:
        alpha, theta, _ = polish_kernels(
            problem, kernels, matrices, alpha, theta, tol * primal, rng
        )
        primal, dual = objectives(problem, kernels, matrices, alpha, theta)
        gap, n_iter = (primal - dual) / max(abs(primal), 1e-300), n_iter + 1
    return KernelMKLSolution(alpha, theta, primal, gap, n_iter, gap <= tol)
