"""Weighted sets of task kernels: p-norm multi-task multiple kernel learning.

    primal   min over theta >= 0, ||theta||_p <= 1, W of
                 1/2 sum_m ||W_m||^2_{Q_m} / theta_m + sum_i C_i loss(y_i f_{t_i}(x_i))
    dual     max over alpha of
                 sum_i -C_i loss*(-alpha_i / C_i) - 1/2 ||(q_1 .. q_M)||_{p*},   p* = p / (p - 1)

=========  ==============================================================================
theta_m    weight of kernel m, a task kernel K_m of one view g(m) of the features
V_g        virtual weights of view g, shape (dim_g, T)
q_m        sum_{s,t} K_m[s,t] <v_gs, v_gt>, g = g(m): one entry of V_g'V_g times K_m. Where K_m
           sums over the nodes of trees, V'V of each group of :mod:`seqmtl.coupling` is enough
K_g        sum of theta_m K_m over the kernels m of view g; W_g = V_g K_g
a_m        theta_m^2 q_m = ||W_m||^2_{Q_m}
=========  ==============================================================================

All kernels of a view share its V, so memory does not grow with M. A theta step minimises the primal
over theta in closed form (eq. 22). The solver stops by the relative gap between the two objectives
above, where theta is dualised too.

Source: Widmer, Kloft, Sreedharan, Raetsch (2015), Problem 1, Algorithm 2, eq. 22.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seqmtl.coupling import FEWEST, Coupling, Nodes
from seqmtl.solvers.norms import dual_norm, minimise_on_ball


@dataclass(frozen=True, eq=False)
class KernelSet:
    """The kernels to be weighted.

    Attributes
    ----------
    matrices : ndarray of float64, shape (M, T, T)
        Task kernels K_m.
    views : ndarray of int, shape (M,)
        View of the features for each kernel, from 0 to G - 1.
    norm : float
        p of the p-norm on theta, 1 to infinity.
    nodes : Nodes, optional
        K_m as sums over nodes; the same M / G kernels in every view.
    """

    matrices: NDArray[np.float64]
    views: NDArray[np.int64]
    norm: float
    nodes: Nodes | None = None

    def start(self) -> NDArray[np.float64]:
        """Return theta = M^(-1/p), shape (M,)."""
        return np.full(len(self.views), len(self.views) ** (-1.0 / self.norm))

    @cached_property
    def _groups(self) -> Coupling | None:
        """The nodes of all kernels in groups, if these are worth it."""
        if self.nodes is None or len(self.nodes.values) <= FEWEST:
            return None
        lengths = self._lengths(self.start())
        N = self.nodes.values
        groups = Coupling.of(np.array([(N * own) @ N.T for own in lengths]), self.nodes, lengths)
        return groups if groups.paths else None

    def _lengths(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the lengths of the nodes of the weighted kernels of every view, shape (G, J)."""
        assert self.nodes is not None
        G = int(self.views.max()) + 1
        return np.asarray(theta.reshape(G, -1)[:, self.nodes.owners] * self.nodes.lengths)

    def couple(self, theta: NDArray[np.float64]) -> Coupling:
        """Return K_g of every view, in groups that are the same for every theta."""
        if self._groups is not None:
            return self._groups.weighted(self._lengths(theta))
        K = np.zeros((int(self.views.max()) + 1, *self.matrices.shape[1:]))
        np.add.at(K, self.views, theta[:, None, None] * self.matrices)
        return Coupling.of(K)

    def energies(self, grams: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return q_m, shape (M,), from V_g'V_g of every group, each of shape (G, w, w)."""
        if self._groups is None:
            q = np.einsum("mst,mst->m", self.matrices, grams[0][self.views])
            return np.maximum(q, 0.0)
        assert self.nodes is not None
        of_nodes = np.zeros((len(grams[0]), self.nodes.lengths.size))
        for (own, P), gram in zip(self._groups.paths, grams, strict=True):
            of_nodes[:, own] += np.einsum("cj,gcd,dj->gj", P, gram, P, optimize=True)
        of_nodes *= self.nodes.lengths
        n_kernels = self.views.size // len(of_nodes)
        q = [np.bincount(self.nodes.owners, own, minlength=n_kernels) for own in of_nodes]
        return np.maximum(np.concatenate(q), 0.0)

    def dual_norm(self, q: NDArray[np.float64]) -> float:
        """Return ||q||_{p*}."""
        return dual_norm(q, self.norm)

    def step(self, theta: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the minimiser of sum_m a_m / theta_m on the ball (2015, eq. 22)."""
        best = minimise_on_ball(theta**2 * q, self.norm)
        return theta if best is None else best
