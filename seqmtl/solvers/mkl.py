"""p-norm multi-task multiple kernel learning by coordinate descent.

    primal   min over theta >= 0, ||theta||_p <= 1, W of
                 1/2 sum_m ||W_m||^2_{Q_m} / theta_m + sum_i C_i loss(y_i f_{t_i}(x_i))
    dual     max over alpha of
                 sum_i -C_i loss*(-alpha_i / C_i) - 1/2 ||(q_1 .. q_M)||_{p*},   p* = p / (p - 1)

=========  ==============================================================================
theta_m    weight of kernel m, a task kernel K_m of one view g(m) of the features
V_g        virtual weights of view g, shape (dim_g, T)
q_m        sum_{s,t} K_m[s,t] <v_gs, v_gt>, g = g(m): one entry of V_g'V_g times K_m
K_g        sum of theta_m K_m over the kernels m of view g; W_g = V_g K_g
a_m        theta_m^2 q_m = ||W_m||^2_{Q_m}
=========  ==============================================================================

All kernels of a view share its V, so memory does not grow with M. A theta step minimises the primal
over theta in closed form (eq. 22) and recomputes the weights from alpha. The solver stops by the
relative gap between the two objectives above, where theta is dualised too.

Source: Widmer, Kloft, Sreedharan, Raetsch (2015), Problem 1, Algorithm 2, eq. 22.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from seqmtl.solvers.dcd import CoordinateDescent, Progress
from seqmtl.solvers.kernel_set import KernelSet
from seqmtl.solvers.mkl_polish import KernelMatrices, polish_kernels
from seqmtl.solvers.problem import Problem

_ZERO = 1e-12  # eigenvalues of a task kernel below this, relative to the largest, count as 0
_THIN = 1e-6  # smaller nonzero eigenvalues make the inverse inaccurate
_MOST_GROWTH = 4.0  # largest growth of rounding errors when task kernels change
_CHUNK = 1 << 14  # rows of weights per chunk when task kernels change


def change_of_coupling(
    old: NDArray[np.float64], new: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return A = pinv(old) new, so that V old A = V new if range(new) is within range(old).

    Returns None if rounding errors would be visible.
    """
    values, U = np.linalg.eigh(old)
    kept = values > _ZERO * values[-1]
    if values[kept].min(initial=np.inf) < _THIN * values[-1]:
        return None
    A = (U[:, kept] / values[kept]) @ (U[:, kept].T @ new)
    return A if np.linalg.norm(A, 2) <= _MOST_GROWTH else None


class MultipleKernelDescent(CoordinateDescent):
    """Algorithm 2 of Widmer et al. (2015) as an outer loop around coordinate descent.

    While all examples with alpha_i != 0 fit into a kernel matrix, theta and alpha are updated
    together on it. Beyond that size, a theta step follows a look at the whole problem, at most one
    per epoch, if the primal objective has decreased since the last one or more of the gap is due
    to theta than to alpha.

    Parameters
    ----------
    problem : Problem
        Problem to solve; its K is replaced.
    kernels : KernelSet
        Kernels to be weighted.
    **options
        See :class:`~seqmtl.solvers.dcd.CoordinateDescent`.
    """

    def __init__(self, problem: Problem, kernels: KernelSet, **options: Any) -> None:
        theta = kernels.start()
        super().__init__(replace(problem, coupling=kernels.couple(theta)), **options)
        self.kernels = kernels
        if not self.state.theta.size:
            self.state.theta = kernels.start()
        self._set_theta(self.state.theta)
        self._patience = max(self._patience, 1.0)
        self._polish_rows = int(
            self._polish_rows / np.sqrt(2.0)
        )  # a matrix per view in addition to the Hessian
        self._fallen_to = np.inf  # primal objective at the last theta step
        self._is_behind = False  # whether theta is farther from its optimum than alpha
        self._now: tuple[float, NDArray[np.float64]] = (np.inf, np.zeros(len(kernels.views)))
        self._joint: KernelMatrices | None = None

    def _free(self) -> None:
        super()._free()
        self._joint = None

    def _anew(self) -> Self:
        self._free()
        return type(self)(self.problem, self.kernels, **self._options, state=self.state)

    def _set_theta(self, theta: NDArray[np.float64]) -> None:
        self.state.theta = theta
        self.problem = replace(self.problem, coupling=self.kernels.couple(theta))
        self._weights.groups = self.problem.coupling
        self._H = self.problem.curvature()
        self._polished = None  # computed with the old kernels

    def _assess(
        self, margins: NDArray[np.float64], started: float
    ) -> tuple[NDArray[np.float64], Progress]:
        """Replace the dual objective by that of the problem with theta dualised."""
        margins, now = super()._assess(margins, started)
        q = self.kernels.energies(self._virtual_grams())
        self._now = now.primal, q
        half_q = 0.5 * float((self.state.alpha * margins).sum())
        dual = now.dual + half_q - 0.5 * self.kernels.dual_norm(q)
        self._is_behind = now.dual - dual >= now.primal - now.dual
        gap = (now.primal - dual) / max(abs(now.primal), 1e-300)
        return margins, replace(now, dual=dual, gap=gap)

    def _virtual_grams(self) -> NDArray[np.float64]:
        """Return V_g'V_g of every view with its constant feature, shape (G, T, T)."""
        p, T = self.problem, self.bias.size
        amount = self.state.alpha * p.y
        support = np.flatnonzero(amount)
        sums = np.bincount(self._tasks[support], amount[support], minlength=T)
        constant = p.bias_scale**2 * np.outer(sums, sums)
        return np.array(
            [
                view.rows.virtual_gram(support, amount, self._tasks, T) + constant
                for view in p.rows.views
            ]
        )

    def _adapt(self) -> None:
        """Take a theta step, unless theta is updated together with alpha."""
        primal, q = self._now
        if self._covers_support() or not (primal < self._fallen_to or self._is_behind):
            return
        self._fallen_to = primal
        theta = self.kernels.step(self.state.theta, q)
        if np.array_equal(theta, self.state.theta):
            return
        before = self.problem.kernels
        self._set_theta(theta)
        self._change_coupling(before)
        self._is_fresh = False

    def _change_coupling(self, before: NDArray[np.float64]) -> None:
        """Convert W_g = V_g K_g from the previous kernels to the current ones, in place.

        The range of K_g never grows, since theta_m = 0 stays 0.
        """
        changes = [
            change_of_coupling(old, new) if self._weights.groups.is_single else None
            for old, new in zip(before, self.problem.kernels, strict=True)
        ]
        if any(change is None for change in changes):
            self._sum_weights()
            return
        T = self.bias.size
        for W, change in zip(self._weights.of_views(), changes, strict=True):
            A = np.zeros((W.shape[1], W.shape[1]), dtype=W.dtype)
            A[:T, :T] = change
            for first in range(0, len(W), _CHUNK):
                W[first : first + _CHUNK] = W[first : first + _CHUNK] @ A
        amount = self.state.alpha * self.problem.y
        sums = np.bincount(self._tasks, amount, minlength=T)
        self.bias[:] = self.problem.bias_scale * (self.problem.kernels.sum(axis=0) @ sums)
        self._has_drifted = True

    def _covers_support(self) -> bool:
        """Tell whether the next move has every alpha_i != 0 in its kernel matrix."""
        rest = np.ones(self.state.alpha.size, dtype=np.bool_)
        rest[self.state.active] = False
        return self.state.active.size <= self._polish_rows and not self.state.alpha[rest].any()

    def _choose_active(self, margins: NDArray[np.float64]) -> NDArray[np.int64]:
        """Add all examples with alpha_i != 0 if few enough remain to update theta too."""
        active = super()._choose_active(margins)
        wide = np.union1d(active, np.flatnonzero(self.state.alpha))
        return wide if wide.size <= self._polish_rows else active

    def _polish(self, margins: NDArray[np.float64], now: Progress) -> bool:
        if not self._covers_support():
            return super()._polish(margins, now)
        p, state, active = self.problem, self.state, self.state.active
        if self._joint is None or not np.isin(active, self._joint.rows).all():
            self._joint = None  # free the matrices first
            self._joint = KernelMatrices.of(p, active, self._weights.flat.dtype)
            if self._joint is None:
                return False
        tol = self.tol * 0.2 * max(1.0, 0.01 * now.gap / self.tol) * abs(now.primal)
        alpha, theta, entries = polish_kernels(
            p, self.kernels, self._joint, state.alpha, state.theta, tol, state.rng
        )
        state.alpha[self._joint.rows] = alpha
        state.work += entries / p.rows.row_size / p.y.size
        self._set_theta(theta)
        self._sum_weights()
        return True
