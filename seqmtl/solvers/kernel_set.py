"""Weighted sets of task kernels, and their optimal weights.

theta, q_m and a_m are as in :mod:`seqmtl.solvers.mkl`; Widmer et al. (2015), eq. 22.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from seqmtl.solvers.groups import FEWEST, Groups
from seqmtl.solvers.norms import dual_norm, minimise_on_ball


@dataclass(frozen=True)
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
    nodes : ndarray of float64, shape (T, J), optional
        N with K_m = sum of N_j N_j' over the nodes j of kernel m, in every view.
    owners : ndarray of int64, shape (J,), optional
        Kernel of every node, among the M / G kernels of a view.
    """

    matrices: NDArray[np.float64]
    views: NDArray[np.int64]
    norm: float
    nodes: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    owners: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def start(self) -> NDArray[np.float64]:
        """Return theta = M^(-1/p), shape (M,)."""
        return np.full(len(self.views), len(self.views) ** (-1.0 / self.norm))

    def couple(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return K_g of every view, shape (G, T, T)."""
        if self._has_many:
            return np.array([(self.nodes * own) @ self.nodes.T for own in self._lengths(theta)])
        K = np.zeros((int(self.views.max()) + 1, *self.matrices.shape[1:]))
        np.add.at(K, self.views, theta[:, None, None] * self.matrices)
        return K

    def group(self, theta: NDArray[np.float64]) -> Groups:
        """Return the K_g of every view in groups, which are the same for every theta > 0."""
        K = self.couple(theta)
        return (
            Groups.of(K, self.nodes, self._lengths(theta)) if self._has_many else Groups.single(K)
        )

    @property
    def _has_many(self) -> bool:
        """Whether sums over nodes are faster than those over matrices."""
        return len(self.nodes) > FEWEST

    def _lengths(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return theta of every node in every view, shape (G, J)."""
        return theta.reshape(int(self.views.max()) + 1, -1)[:, self.owners]

    def energies(self, grams: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return q_m, shape (M,), from V_g'V_g of every view, shape (G, T, T)."""
        if self._has_many:
            of_nodes = [np.einsum("tj,tj->j", self.nodes, gram @ self.nodes) for gram in grams]
            q = np.concatenate([np.bincount(self.owners, own) for own in of_nodes])
        else:
            q = np.einsum("mst,mst->m", self.matrices, grams[self.views])
        return np.maximum(q, 0.0)

    def dual_norm(self, q: NDArray[np.float64]) -> float:
        """Return ||q||_{p*}."""
        return dual_norm(q, self.norm)

    def step(self, theta: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the minimiser of sum_m a_m / theta_m on the ball (2015, eq. 22)."""
        best = minimise_on_ball(theta**2 * q, self.norm)
        return theta if best is None else best
