"""Multi-task multiple kernel learning: Algorithm 2 of Widmer et al. (2015).

    primal   min over theta >= 0, ||theta||_p <= 1, W of
                 1/2 sum_m ||W_m||^2_{Q_m} / theta_m + sum_i C_i loss(y_i f_{t_i}(x_i))
    dual     max over alpha of
                 sum_i -C_i loss*(-alpha_i / C_i) - 1/2 ||(q_1 .. q_M)||_{p*},   p* = p / (p - 1)

=========  ==============================================================================
view       a part of the features, with a K of its own; there are G of them
theta_m    weight of kernel m, a task kernel K_m = Q_m^-1 of one view g(m)
V_g        virtual weights of view g, shape (dim_g, T)
q_m        sum_{s,t} K_m[s,t] <v_s, v_t> = tr(K_m V'V), V of the view g(m). Where K_m sums
           over the nodes of trees, V'V of each of its groups of columns is enough
K_g        sum of theta_m K_m over the kernels m of view g; W_g = V_g K_g
a_m        theta_m^2 q_m = ||W_m||^2_{Q_m}
=========  ==============================================================================

All kernels of a view share its V, so memory does not grow with M. The algorithm alternates

    epochs of coordinate descent on alpha            at fixed theta, see :mod:`seqmtl.core.dcd`
    theta <- minimiser of sum_m a_m / theta_m        on the ball, in closed form (eq. 22)

======================  =================================================================
Algorithm 2             here
======================  =================================================================
lines 2 and 3           alpha = 0, W = 0; theta = M^(-1/p), line 2 of Algorithm 1
lines 4 and 5           K_m is given; the first check has the primal at W = 0
lines 7 to 11           :meth:`.Descent.run_epochs`: eq. 24 with theta once, as w_m holds
                        it (erratum), and eq. 25 summed over m, as W = V sum_m theta_m K_m
lines 12 and 13         a theta step follows a check where theta has more than 1 % of the
                        whole gap, and not every epoch, since it needs V'V
line 14, eq. 22         :meth:`KernelSet.step`
line 15, eq. 26         W = V K of the new theta, :meth:`.TaskWeights.apply_kernel`
line 6                  stops by the gap between the two objectives above, and not by the
                        change of the primal
======================  =================================================================

The gap is that of alpha, the primal less the dual objective at fixed theta, plus that of theta,

    1/2 (||q||_{p*} - theta'q),

which is at least 0 as theta'q <= ||theta||_p ||q||_{p*}.

Up to 512 examples begin where :func:`seqmtl.core.gram.solve_small` ends, the same alternation on a
kernel matrix. The loop here certifies it, and goes on if the gap is above the tolerance.

Source: Widmer, Kloft, Sreedharan, Raetsch (2015), Problem 1, Algorithm 2, eq. 22 to 26; errata in
``docs/papers.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.core.dcd import Descent, OnEpoch, Solution, WarmStart
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.kernel_stack import KernelStack
from seqmtl.core.norms import dual_norm, minimise_on_ball
from seqmtl.core.problem import Problem

_THETA_SHARE = 0.01  # of the gap, below which a theta step would not help; a plain choice
#: Gap that may be due to rounding, in units of it: steps raise the dual objective at fixed theta
#: only, so a dual that does not rise is not enough; a plain choice.
_ROUNDING = 16.0


@dataclass(frozen=True, eq=False)
class KernelSet:
    """The kernels to be weighted.

    Attributes
    ----------
    kernels : KernelStack
        Task kernels K_m, M of them.
    views : ndarray of int, shape (M,)
        View of the features for each kernel, from 0 to G - 1.
    norm : float
        p of the p-norm on theta, 1 to infinity.
    """

    kernels: KernelStack
    views: NDArray[np.int64]
    norm: float

    def start(self) -> NDArray[np.float64]:
        """Return theta = M^(-1/p), shape (M,)."""
        return np.full(len(self.views), len(self.views) ** (-1.0 / self.norm))

    def _of_views(self, kernels: KernelStack, theta: NDArray[np.float64]) -> KernelStack:
        """Return sum_m theta_m K_m over the kernels of every view."""
        A = np.zeros((int(self.views.max()) + 1, theta.size))
        A[self.views, np.arange(theta.size)] = theta
        return kernels.mix(A)

    @cached_property
    def _groups(self) -> GroupedKernel | None:
        """The nodes of all kernels in groups, if these are faster than K."""
        if self.kernels.nodes is None:
            return None
        groups = GroupedKernel.of(self._of_views(self.kernels, self.start()))
        return groups if groups.paths else None

    @cached_property
    def _matrices(self) -> KernelStack:
        return KernelStack(self.kernels.matrices())

    def combine(self, theta: NDArray[np.float64]) -> GroupedKernel:
        """Return K_g of every view, in groups that are the same for every theta."""
        if self._groups is not None:
            return self._groups.weighted(self._of_views(self.kernels, theta).values)
        return GroupedKernel.of(self._of_views(self._matrices, theta))

    def energies(self, grams: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return q_m, shape (M,), from V'V by group of columns, each (G, w, w) for G views."""
        if self._groups is None:
            q = np.einsum("mst,mst->m", self._matrices.values, grams[0][self.views])
            return np.maximum(q, 0.0)
        lengths = self.kernels.values
        of_nodes = np.zeros((len(grams[0]), lengths.shape[1]))
        for (nodes, P), gram in zip(self._groups.paths, grams, strict=True):
            of_nodes[:, nodes] += np.einsum("cj,gcd,dj->gj", P, gram, P, optimize=True)
        return np.maximum(np.einsum("mj,mj->m", lengths, of_nodes[self.views]), 0.0)

    def theta_gap(self, theta: NDArray[np.float64], q: NDArray[np.float64]) -> float:
        """Return the part of the duality gap that is due to theta, at least 0."""
        return 0.5 * (dual_norm(q, self.norm) - float(theta @ q))

    def step(self, theta: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the minimiser of sum_m a_m / theta_m on the ball (2015, eq. 22)."""
        best = minimise_on_ball(theta**2 * q, self.norm)
        return theta if best is None else best


def solve(
    problem: Problem,
    kernels: KernelSet,
    *,
    tol: float = 1e-3,
    max_epochs: float = 1000,
    dtype: Any = np.float32,
    seed: int = 0,
    start: WarmStart | None = None,
    on_epoch: OnEpoch | None = None,
) -> Solution:
    """Train with a weighted sum of task kernels, and learn the weights (Algorithm 2).

    Parameters
    ----------
    problem : Problem
        Problem to solve; its task kernel is replaced.
    kernels : KernelSet
        The kernels to be weighted.
    tol, max_epochs, dtype, seed, on_epoch
        See :func:`seqmtl.core.dcd.solve`; the gap is that of alpha and theta.
    start : WarmStart, optional
        Where to begin. Default: alpha = 0 and theta = M^(-1/p).

    Returns
    -------
    Solution
        With theta.
    """
    theta = start.theta if start is not None and start.theta.size else kernels.start()
    problem = replace(problem, kernel=kernels.combine(theta))
    descent = Descent(problem, dtype=dtype, seed=seed, start=start)
    descent.theta = theta
    rounding = _ROUNDING * np.finfo(dtype).eps
    while True:
        primal, dual = descent.objectives()
        q = kernels.energies(descent.switch_to_V())
        theta_gap = kernels.theta_gap(theta, q)
        now = descent.record(primal, dual - theta_gap)
        if descent.reason_to_stop(tol, max_epochs, rounding) or descent.is_precise:
            descent.recompute_W()
            primal, dual = descent.objectives()  # without rounding errors of the steps
            now = descent.record(primal, dual - theta_gap)
        stopped_by = descent.reason_to_stop(tol, max_epochs, rounding)
        if stopped_by:
            return descent.solution(stopped_by)
        descent.shrink()
        if theta_gap > _THETA_SHARE * (now.primal - now.dual):
            theta = descent.theta = kernels.step(theta, q)
            descent.set_kernel(kernels.combine(theta))
        descent.recompute_W()
        descent.run_epochs(max_epochs, on_epoch)
