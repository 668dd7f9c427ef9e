"""Multi-task multiple kernel learning on kernel matrices, for kernels without features.

The problem of :mod:`seqmtl.solvers.mkl` with the hinge loss, given <phi_g(x), phi_g(z)> instead of
phi_g. SVM training alternates with the closed-form step of the kernel weights (Widmer et al. 2015,
Section 3.1 and eq. 22). The intercept is a feature.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.solvers.kernel_set import KernelSet
from seqmtl.solvers.mkl_polish import KernelMatrices, margins_of, virtual_grams
from seqmtl.solvers.problem import Problem
from seqmtl.solvers.svm import solve_dual

_SVM_SHARE = 0.1  # tolerance of the SVM, relative to the remaining gap
_SVM_LEAST = 1e-9
_FREE_ENTRIES = 3_000_000  # kernel matrix entries up to which problems are solved to rounding
_ROUNDING = 1e-12  # relative gap below which there is nothing to gain
_STALLED = 10  # iterations without a smaller gap, after which the kernels are too ill-conditioned


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
        Number of SVMs trained.
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
) -> KernelMKLSolution:
    """Solve to a certified duality gap.

    Parameters
    ----------
    grams : list of ndarray, shape (n, n)
        Kernel matrices of the G views; adding 1 to them gives every view an intercept.
    y : ndarray of float64, shape (n,)
        Labels, -1 or +1.
    tasks : ndarray of int, shape (n,)
        Task of each example.
    kernels : KernelSet
        Task kernels of the views.
    C : ndarray of float64, shape (n,)
        Cost of each example.
    tol : float
        Relative duality gap at which training stops.
    max_iter : int
        Maximum number of SVMs.
    """
    theta = kernels.start()
    problem = Problem(None, y, tasks, kernels.couple(theta), C)  # type: ignore[arg-type]
    matrices = KernelMatrices(problem, np.arange(y.size), grams)
    gap, n_read, gaps = 1.0, 0, []
    for n_iter in range(1, max_iter + 1):
        K = kernels.couple(theta).K
        H = y[:, None] * matrices.hessian(K) * y  # the kernel matrix itself
        alpha = solve_dual(
            H, y, C, max(_SVM_SHARE * min(tol, gap), _SVM_LEAST), has_intercept=False
        )
        U = matrices.virtual_scores(alpha * y, K.shape[-1])
        q = kernels.energies(virtual_grams(U, alpha * y, tasks))
        primal, dual = problem.objectives(alpha, margins_of(U, K, matrices))
        is_solved = primal - dual <= tol * abs(primal)
        dual += 0.5 * (float(theta @ q) - kernels.dual_norm(q))
        gap = (primal - dual) / max(abs(primal), 1e-300)
        n_read += H.size
        gaps.append(gap)
        is_free = n_read <= _FREE_ENTRIES and min(gaps[-_STALLED:]) == min(gaps)
        if gap <= tol and (gap <= _ROUNDING or not is_free):
            break
        if not is_solved:  # other weights would not help either
            break
        if n_iter < max_iter:
            theta = kernels.step(theta, q)
    return KernelMKLSolution(alpha, theta, primal, gap, n_iter, gap <= tol)
