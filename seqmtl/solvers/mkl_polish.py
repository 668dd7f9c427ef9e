"""Optimise dual variables and kernel weights together on the kernel matrices of a few examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.solvers.kernel_set import KernelSet
from seqmtl.solvers.polish import FREE_ENTRIES, OMEGA
from seqmtl.solvers.problem import Problem, dual_terms, loss_values

_MAX_ROUNDS = 400
_MOST = 16  # factor on the number of passes once theta has settled
_PASSES = 2  # minimum number of passes between two theta steps
_VISITS = 4096  # minimum number of visits between two theta steps
_ROWS = 64  # rows converted to double precision at a time
_FLOOR = 1e-15  # gap, relative to the losses, that is lost in rounding


class KernelMatrices:
    """Inner products of some examples in every view, and the Hessian of their dual.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        The examples.
    """

    def __init__(self, problem: Problem, rows: NDArray[np.int64], grams: list[Any]) -> None:
        self.rows = rows
        self.tasks = problem.tasks[rows]
        self.y = problem.y[rows]
        self._grams = grams
        self._hessian = np.empty_like(grams[0])

    @classmethod
    def of(cls, problem: Problem, rows: NDArray[np.int64], dtype: Any) -> KernelMatrices | None:
        """Compute the kernel matrices, or return None if the features cannot do so quickly."""
        from seqmtl.solvers._dcd_kernels import couple

        ones, nowhere = np.ones(rows.size), np.zeros(rows.size, dtype=np.int16)
        grams = []
        for view in problem.rows.views:
            G = view.rows.gram(rows, dtype)
            if G is None:
                return None
            couple(G, ones, nowhere, np.ones((1, 1)), problem.bias_scale**2)
            grams.append(G)
        return cls(problem, rows, grams)

    def hessian(self, K: NDArray[np.float64]) -> NDArray[Any]:
        """Return y_i y_j sum_g K_g[t_i, t_j] k_g(x_i, x_j); valid until the next call."""
        from seqmtl.solvers._dcd_kernels import couple_into

        for g, G in enumerate(self._grams):
            couple_into(G, self.y, self.tasks, K[g], g > 0, self._hessian)
        return self._hessian

    def virtual_scores(self, amount: NDArray[np.float64], T: int) -> NDArray[np.float64]:
        """Return <phi_g(x_i), v_gt>, shape (G, m, T), for amount = alpha y."""
        m = self.rows.size
        A, U = np.zeros((m, T)), np.empty((len(self._grams), m, T))
        A[np.arange(m), self.tasks] = amount
        for G, scores in zip(self._grams, U, strict=True):
            for first in range(0, m, _ROWS):  # cancellation: add in double precision
                part = slice(first, first + _ROWS)
                scores[part] = G[part].astype(np.float64, copy=False) @ A
        return U


def polish_kernels(
    problem: Problem,
    kernels: KernelSet,
    matrices: KernelMatrices,
    alpha: NDArray[np.float64],
    theta: NDArray[np.float64],
    tol: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Alternate passes over the dual variables with theta steps (2015, eq. 22).

    Parameters
    ----------
    problem : Problem
        The whole problem.
    kernels : KernelSet
        Kernels to be weighted.
    matrices : KernelMatrices
        Kernel matrices of m examples; alpha_i = 0 for all others.
    alpha : ndarray of float64, shape (n,)
        Initial dual variables.
    theta : ndarray of float64, shape (M,)
        Initial kernel weights.
    tol : float
        Absolute duality gap of the m examples at which to stop, with theta dualised.
    rng : numpy.random.Generator
        Random generator of the visiting order.

    Returns
    -------
    alpha : ndarray of float64, shape (m,)
        New dual variables of the m examples.
    theta : ndarray of float64, shape (M,)
        New kernel weights.
    n_read : int
        Number of matrix entries read.
    """
    from seqmtl.solvers._dcd_kernels import descend_gram

    rows = matrices.rows
    C, alpha, y, T = problem.C[rows], alpha[rows], matrices.y, problem.kernels.shape[-1]
    targets = problem.targets[rows] if problem.targets.size else 0.0
    number, epsilon, m, n_read = problem.loss_number, problem.epsilon, rows.size, 0
    omega = 1.0 if problem.loss == "logistic" else OMEGA
    K = kernels.couple(theta).K
    U = matrices.virtual_scores(alpha * y, T)
    n_passes = fewest = max(_PASSES, _VISITS // m)
    for _ in range(_MAX_ROUNDS):
        H = matrices.hessian(K)
        residuals = margins_of(U, K, matrices) - targets
        order = rng.permuted(np.tile(np.arange(m), (n_passes, 1)), axis=1)
        n_changes = descend_gram(H, order.ravel(), alpha, residuals, C, number, epsilon, omega)
        U = matrices.virtual_scores(alpha * y, T)
        n_read += m * (n_changes // 10 + 3 * len(K) * m)
        q = kernels.energies(virtual_grams(U, alpha * y, matrices.tasks))
        margins = margins_of(U, K, matrices)
        losses = C * loss_values(problem.loss, margins - targets, epsilon)
        terms = dual_terms(problem.loss, alpha, C, epsilon) + alpha * targets
        of_theta = 0.5 * (kernels.dual_norm(q) - float(theta @ q))
        of_alpha = float((losses - terms).sum()) + float(theta @ q)
        gap, floor = of_alpha + of_theta, _FLOOR * float(losses.sum())
        if gap <= max(tol, floor) and (n_read > FREE_ENTRIES or gap <= floor):
            break
        is_behind = of_alpha > of_theta  # alpha is behind, so a theta step would be premature
        n_passes = min(2 * n_passes, _MOST * fewest) if is_behind else max(n_passes // 2, fewest)
        theta = kernels.step(theta, q)
        K = kernels.couple(theta).K
    return alpha, theta, n_read


def margins_of(
    U: NDArray[np.float64], K: NDArray[np.float64], matrices: KernelMatrices
) -> NDArray[np.float64]:
    """Return y_i sum_g sum_s K_g[t_i, s] U_g[i, s], shape (m,)."""
    f = np.zeros(matrices.rows.size)
    for scores, coupling in zip(U, K, strict=True):
        f += np.einsum("is,is->i", scores, coupling[matrices.tasks])
    return matrices.y * f


def virtual_grams(
    U: NDArray[np.float64], amount: NDArray[np.float64], tasks: NDArray[Any]
) -> NDArray[np.float64]:
    """Return V_g'V_g with the constant feature, shape (G, T, T)."""
    S = np.zeros((U.shape[0], U.shape[2], U.shape[2]))
    for t in range(U.shape[2]):
        own = tasks == t
        S[:, t] = np.einsum("i,gis->gs", amount[own], U[:, own])
    return S
