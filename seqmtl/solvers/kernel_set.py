"""Several task kernels, and the weights that are best for them.

theta, q_m and a_m as in :mod:`seqmtl.solvers.mkl`; Widmer et al. (2015), eq. 22.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class KernelSet:
    """The kernels to be weighed.

    Attributes
    ----------
    matrices : ndarray of float64, shape (M, T, T)
        Task kernels K_m.
    views : ndarray of int, shape (M,)
        The view of the features that each belongs to, ``0..G-1``.
    norm : float
        p of the ball that theta lies in, 1 to infinity.
    """

    matrices: NDArray[np.float64]
    views: NDArray[np.int64]
    norm: float

    def start(self) -> NDArray[np.float64]:
        """Return theta = M^(-1/p), shape (M,)."""
        return np.full(len(self.views), len(self.views) ** (-1.0 / self.norm))

    def couple(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return K_g of every view, shape (G, T, T)."""
        K = np.zeros((int(self.views.max()) + 1, *self.matrices.shape[1:]))
        np.add.at(K, self.views, theta[:, None, None] * self.matrices)
        return K

    def energies(self, grams: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return q_m, shape (M,), from V_g'V_g of every view, shape (G, T, T)."""
        q = np.einsum("mst,mst->m", self.matrices, grams[self.views])
        return np.maximum(q, 0.0)

    def dual_norm(self, q: NDArray[np.float64]) -> float:
        """Return ||q||_{p*}."""
        largest = float(q.max())
        if largest == 0.0 or self.norm == 1.0:
            return largest
        power = 1.0 if np.isinf(self.norm) else self.norm / (self.norm - 1.0)
        return largest * float(((q / largest) ** power).sum() ** (1.0 / power))

    def step(self, theta: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the minimiser of sum_m a_m / theta_m on the ball (2015, eq. 22)."""
        if np.isinf(self.norm):
            return np.ones_like(theta)
        a = theta**2 * q
        if not a.max() > 0.0:
            return theta
        a = a / a.max()
        p = self.norm
        return np.asarray(a ** (1.0 / (p + 1.0)) / (a ** (p / (p + 1.0))).sum() ** (1.0 / p))
