"""The training problem, and its primal and dual objectives.

    primal   min over W   1/2 sum_{s,t} Q[s,t] <w_s, w_t> + sum_i C_i loss(y_i f_{t_i}(x_i))
    dual     max over a   sum_i -C_i loss*(-a_i / C_i) - 1/2 sum_{s,t} K[s,t] <v_s, v_t>

=========  ==============================================================================
K          task kernel, T x T, symmetric positive semi-definite; Q its (pseudo-)inverse
alpha      dual variables; hinge: 0 <= alpha_i <= C_i; squared hinge: alpha_i >= 0
V          virtual weights, v_t = sum of alpha_i y_i phi(x_i) over the examples of task t
W          weights, W = V K (representer theorem)
m_i        margin, y_i f_{t_i}(x_i)
z_i        target in regression, where y_i = 1, m_i = f_{t_i}(x_i) and alpha_i = beta_i of either
           sign; epsilon-insensitive: -C_i <= beta_i <= C_i; squared: unbounded
H_i        curvature of the dual in alpha_i, K[t_i, t_i] ||phi(x_i)||^2
C_i        cost of example i: C * class weight * sample weight
=========  ==============================================================================

For W = V K the regulariser is q / 2, q = sum_i alpha_i m_i, in both objectives, so the duality gap
needs one scoring pass and no second copy of the weights. By weak duality the gap is a certificate
at every point; the solvers stop when gap / primal <= tol.

The losses are in :mod:`seqmtl.core.losses`; the targets add the terms alpha_i z_i to the dual.
Novelty detection uses the hinge with all y_i = 1 and no intercept.

Source: Widmer, Kloft, Goernitz, Raetsch (2012), eq. 8, 10 and 12, with the scalar 1/2 of eq. 8.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.losses import LOSSES, Loss, find_loss
from seqmtl.core.rows import Rows


@dataclass(frozen=True)
class Problem:
    """A multi-task problem of classification or, by its loss, of regression.

    Attributes
    ----------
    rows : Rows
        The examples, n of them.
    y : ndarray of float64, shape (n,)
        Labels, -1 or +1; all +1 in regression.
    tasks : ndarray of int, shape (n,)
        Task of each example, from 0 to T - 1.
    kernel : GroupedKernel, or ndarray of float64, shape (T, T) or (G, T, T)
        Task kernel, or one for each of the G views of the rows.
    C : ndarray of float64, shape (n,)
        Cost of each example, positive.
    loss : Loss, or str
        The loss, or its name.
    bias_scale : float
        Value of the constant feature for the intercept; 0 for none.
    targets : ndarray of float64, shape (n,), or (0,)
        z_i. The loss is that of m_i - z_i: regression targets, or, in classification,
        z_i = -y_i g_i for scores f(x_i) + g_i with a given part g. Empty for no such part.
    constant : float
        Added to both objectives, so that the gap is relative to those of a larger problem.
    """

    rows: Rows
    y: NDArray[np.float64]
    tasks: NDArray[Any]
    kernel: GroupedKernel
    C: NDArray[np.float64]
    loss: Loss = LOSSES["hinge"]
    bias_scale: float = 1.0
    targets: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    constant: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, GroupedKernel):
            object.__setattr__(self, "kernel", GroupedKernel.of(np.asarray(self.kernel)))
        if not isinstance(self.loss, Loss):
            object.__setattr__(self, "loss", find_loss(self.loss))

    def residuals(self, margins: NDArray[np.float64], rows: Any = slice(None)) -> Any:
        """Return the argument of the loss: m_i - z_i."""
        return margins - self.targets[rows] if self.targets.size else margins

    @property
    def K(self) -> NDArray[np.float64]:  # noqa: N802
        """The task kernel of every view, shape (G, T, T)."""
        return self.kernel.K

    def hessian_diagonal(self) -> NDArray[np.float64]:
        """Compute H, shape (n,); rows without features get a tiny positive value."""
        return np.maximum(kernel_diagonal(self.rows, self.tasks, self.K, self.bias_scale), 1e-12)

    def objectives(
        self, alpha: NDArray[np.float64], margins: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Return the primal and the dual objective at W = V(alpha) K, given all margins."""
        half_q = 0.5 * float((alpha * margins).sum())  # @ would wake BLAS threads and wait for them
        losses = self.C * self.loss.values(self.residuals(margins))
        dual = float(self.loss.dual(alpha, self.C).sum()) - half_q
        if self.targets.size:
            dual += float((alpha * self.targets).sum())
        return half_q + float(losses.sum()) + self.constant, dual + self.constant


def kernel_diagonal(
    rows: Rows, tasks: NDArray[Any], kernels: NDArray[np.float64], bias_scale: float
) -> NDArray[np.float64]:
    """Return the kernel of every example with itself, shape (n,), for a kernel of each view."""
    H = np.zeros(tasks.size)
    for view, K in zip(rows.views, kernels, strict=True):
        H += np.diagonal(K)[tasks] * (view.rows.squared_norms() + bias_scale**2)
    return H
