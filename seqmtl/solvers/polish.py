"""Solve for a few thousand examples on their kernel matrices, also for the kernel weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.solvers.kernel_set import KernelSet
from seqmtl.solvers.problem import Problem

Array = NDArray[np.float64]

_MAX_ROUNDS = 60
_PASSES = 4  # minimum number of passes per round
_VISITS = 8192  # minimum number of visits per round
FREE_ENTRIES = 10_000_000  # read in a few milliseconds: small problems are solved to rounding
_OMEGA = 1.4  # over-relaxation; measured: a quarter fewer passes
_JOINT_ROUNDS = 400
_MOST = 16  # factor on the number of passes once theta has settled
_JOINT_PASSES = 2  # minimum number of passes between two theta steps
_JOINT_VISITS = 4096  # minimum number of visits between two theta steps
_ROWS = 64  # rows converted to double precision at a time
_FLOOR = 1e-15  # gap, relative to the losses, that is lost in rounding


def descend_passes(
    H: NDArray[Any],
    problem: Problem,
    rows: NDArray[np.int64],
    alpha: Array,
    residuals: Array,
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
    start: Array,
    margins: Array,
    G: NDArray[Any],
    tol: float,
    rng: np.random.Generator,
) -> tuple[Array, int]:
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


class JointProblem:
    """The dual of some examples and kernel weights; alpha_i = 0 for all others.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        The examples.
    """

    def __init__(
        self, problem: Problem, kernels: KernelSet, rows: NDArray[np.int64], grams: list[Any]
    ) -> None:
        self.rows = rows
        self._problem, self._kernels, self._grams = problem, kernels, grams
        self._tasks, self._y = problem.tasks[rows], problem.y[rows]
        self._hessian = np.empty_like(grams[0])

    @classmethod
    def of(
        cls, problem: Problem, kernels: KernelSet, rows: NDArray[np.int64], dtype: Any
    ) -> JointProblem | None:
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
        return cls(problem, kernels, rows, grams)

    def solve(
        self,
        alpha: Array,
        theta: Array,
        tol: float,
        rng: np.random.Generator,
        share: float = 0.0,
    ) -> tuple[Array, Array, int]:
        """Alternate passes over the dual variables with theta steps (2015, eq. 22).

        Parameters
        ----------
        alpha : ndarray of float64, shape (n,)
            Initial dual variables of all examples.
        theta : ndarray of float64, shape (M,)
            Initial kernel weights.
        tol : float
            Absolute duality gap of the m examples at which to stop, with theta dualised.
        rng : numpy.random.Generator
            Random generator of the visiting order.
        share : float, default=0
            Relative duality gap at which to stop at once, small problems too.

        Returns
        -------
        alpha : ndarray of float64, shape (m,)
            New dual variables of the m examples.
        theta : ndarray of float64, shape (M,)
            New kernel weights.
        n_read : int
            Number of matrix entries read.
        """
        alpha, m, n_read = alpha[self.rows], self.rows.size, 0
        n_passes = fewest = max(_JOINT_PASSES, _JOINT_VISITS // m)
        coupling = self._kernels.couple(theta)
        K = coupling.K
        U = self._virtual_scores(alpha * self._y, K.shape[-1])
        for _ in range(_JOINT_ROUNDS):
            residuals = self._residuals(U, K)
            H = self._coupled(K)
            n = descend_passes(H, self._problem, self.rows, alpha, residuals, n_passes, rng)
            U = self._virtual_scores(alpha * self._y, K.shape[-1])
            n_read += m * (n // 10 + 3 * len(K) * m)
            grams = self._virtual_grams(U, alpha * self._y)
            q = self._kernels.energies(coupling.fold(grams))
            of_alpha, floor = self._gap(alpha, self._residuals(U, K))
            of_theta = 0.5 * (self._kernels.dual_norm(q) - float(theta @ q))
            gap = of_alpha + of_theta
            if gap <= max(tol, floor) and (n_read > FREE_ENTRIES or gap <= floor):
                break
            if gap <= share * (floor / _FLOOR + 0.5 * float(theta @ q)):
                break
            if of_alpha > of_theta:  # alpha is behind, so a theta step would be premature
                n_passes = min(2 * n_passes, _MOST * fewest)
            else:
                n_passes = max(n_passes // 2, fewest)
            theta = self._kernels.step(theta, q)
            K = self._kernels.couple(theta).K
        return alpha, theta, n_read

    def _gap(self, alpha: Array, residuals: Array) -> tuple[float, float]:
        """Return the duality gap at fixed theta, and what of it is lost in rounding."""
        C, loss = self._problem.C[self.rows], self._problem.loss
        losses = C * loss.values(residuals)
        gap = float((losses - loss.dual(alpha, C) + alpha * residuals).sum())
        return gap, _FLOOR * float(losses.sum())

    def _coupled(self, K: Array) -> NDArray[Any]:
        """Return y_i y_j sum_g K_g[t_i, t_j] k_g(x_i, x_j); valid until the next call."""
        from seqmtl.solvers._dcd_kernels import couple_into

        for g, G in enumerate(self._grams):
            couple_into(G, self._y, self._tasks, K[g], g > 0, self._hessian)
        return self._hessian

    def _virtual_scores(self, amount: Array, T: int) -> Array:
        """Return <phi_g(x_i), v_gt>, shape (G, m, T), for amount = alpha y."""
        m = self.rows.size
        A, U = np.zeros((m, T)), np.empty((len(self._grams), m, T))
        A[np.arange(m), self._tasks] = amount
        for G, scores in zip(self._grams, U, strict=True):
            for first in range(0, m, _ROWS):  # cancellation: add in double precision
                part = slice(first, first + _ROWS)
                scores[part] = G[part].astype(np.float64, copy=False) @ A
        return U

    def _residuals(self, U: Array, K: Array) -> Array:
        """Return y_i sum_g sum_s K_g[t_i, s] U_g[i, s] - z_i, shape (m,)."""
        f = np.zeros(self.rows.size)
        for scores, coupling in zip(U, K, strict=True):
            f += np.einsum("is,is->i", scores, coupling[self._tasks])
        return np.asarray(self._problem.residuals(self._y * f, self.rows))

    def _virtual_grams(self, U: Array, amount: Array) -> Array:
        """Return V_g'V_g with the constant feature, shape (G, T, T)."""
        S = np.zeros((U.shape[0], U.shape[2], U.shape[2]))
        for t in range(U.shape[2]):
            own = self._tasks == t
            S[:, t] = np.einsum("i,gis->gs", amount[own], U[:, own])
        return S
