"""The problem that the solvers solve, and the value of both its sides.

    primal   min over W   1/2 sum_{s,t} Q[s,t] <w_s, w_t> + sum_i C_i loss(y_i f_{t_i}(x_i))
    dual     max over a   sum_i -C_i loss*(-a_i / C_i) - 1/2 sum_{s,t} K[s,t] <v_s, v_t>

=========  ==============================================================================
K          task kernel, T x T, symmetric positive semi-definite; Q its (pseudo-)inverse
alpha      dual variables; hinge: 0 <= alpha_i <= C_i; squared hinge: alpha_i >= 0
V          virtual weights, v_t = sum of alpha_i y_i phi(x_i) over the examples of task t
W          weights, W = V K (representer theorem)
m_i        margin, y_i f_{t_i}(x_i)
H_i        curvature of the dual in alpha_i, K[t_i, t_i] ||phi(x_i)||^2
C_i        cost of example i: C * class weight * sample weight
=========  ==============================================================================

With W = V K the regulariser is q / 2, q = sum_i alpha_i m_i, on both sides, so the duality gap
needs one scoring pass and no second copy of the weights. Weak duality makes the gap a
certificate at every point; the solvers stop when gap / primal <= tol.

Source: Widmer, Kloft, Goernitz, Raetsch (2012), eq. 8, 10 and 12, with the scalar 1/2 of eq. 8;
Hsieh et al. (2008); Yu, Huang, Lin (2011) for the logistic loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.blocks import Rows

#: Names of the losses and their number in the kernels.
LOSSES = {"hinge": 0, "squared_hinge": 1, "logistic": 2}


@dataclass(frozen=True)
class Problem:
    """One multi-task classification problem.

    Attributes
    ----------
    rows : Rows
        The examples, n of them.
    y : ndarray of float64, shape (n,)
        Labels, -1 or +1.
    tasks : ndarray of int, shape (n,)
        Task of each example, ``0..T-1``.
    K : ndarray of float64, shape (T, T)
        Task kernel.
    C : ndarray of float64, shape (n,)
        Cost of each example, positive.
    loss : {"hinge", "squared_hinge", "logistic"}
        Loss.
    bias_scale : float
        Value of the constant feature that makes the intercept; 0 for none.
    """

    rows: Rows
    y: NDArray[np.float64]
    tasks: NDArray[Any]
    K: NDArray[np.float64]
    C: NDArray[np.float64]
    loss: str = "hinge"
    bias_scale: float = 1.0

    def curvature(self) -> NDArray[np.float64]:
        """Return H, shape (n,); rows without any feature get a tiny positive value."""
        norms = self.rows.squared_norms() + self.bias_scale**2
        return np.maximum(np.diagonal(self.K)[self.tasks] * norms, 1e-12)

    def objectives(
        self, alpha: NDArray[np.float64], margins: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Return the primal and the dual objective at W = V(alpha) K, given all margins."""
        half_q = 0.5 * float((alpha * margins).sum())  # @ wakes BLAS threads, and waits for them
        primal = half_q + float((self.C * loss_values(self.loss, margins)).sum())
        return primal, float(dual_terms(self.loss, alpha, self.C).sum()) - half_q

    def gradient(
        self, alpha: NDArray[np.float64], margins: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Gradient of the negative dual in every alpha, shape (n,)."""
        if self.loss == "hinge":
            return margins - 1.0
        if self.loss == "squared_hinge":
            return margins - 1.0 + alpha / (2.0 * self.C)
        inside = np.clip(alpha / self.C, 1e-300, 1.0 - 1e-16)
        return margins + np.log(inside) - np.log1p(-inside)


def loss_values(name: str, margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the loss of every margin."""
    if name == "logistic":
        return np.logaddexp(0.0, -margins)
    below = np.maximum(0.0, 1.0 - margins)
    return below if name == "hinge" else below**2


def dual_terms(
    name: str, alpha: NDArray[np.float64], C: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return -C_i loss*(-alpha_i / C_i) for every example."""
    if name == "hinge":
        return alpha
    if name == "squared_hinge":
        return alpha - alpha**2 / (4.0 * C)
    share = np.clip(alpha / C, 0.0, 1.0)
    entropy = np.zeros_like(share)
    for part in (share, 1.0 - share):
        positive = part > 0
        entropy[positive] -= part[positive] * np.log(part[positive])
    return C * entropy
