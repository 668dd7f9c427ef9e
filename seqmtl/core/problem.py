"""The training problem, and its primal and dual objectives.

    primal   min over W   1/2 sum_{s,t} Q[s,t] <w_s, w_t> + sum_i C_i loss(m_i - z_i)
    dual     max over a   sum_i [a_i z_i - C_i loss*(-a_i / C_i)] - 1/2 sum_{s,t} K[s,t] <v_s, v_t>

=========  ==============================================================================
x_i        features of example i; last among them the constant feature, of value b
           (`bias_scale`), if there are intercepts
t_i        its task, from 0 to T - 1; in the papers t(i) and tau(i)
C_i        its cost: C * class weight * sample weight
K          task kernel, T x T, symmetric positive semi-definite; Q its (pseudo-)inverse. In
           2012, K is M and Q is I + L, L the Laplacian of the graph; in 2015, K is Q^-1
alpha      dual variables, a_i for short; hinge: 0 <= alpha_i <= C_i; squared hinge:
           alpha_i >= 0
V          virtual weights, v_t = sum of alpha_i y_i x_i over the examples of task t
W          weights, W = V K (representer theorem; 2012, eq. 16)
f_t(x)     score, <w_t, x>
m_i        margin, y_i f_{t_i}(x_i)
z_i        target. In classification 0, or -y_i g_i if a part g_i of the score is given. In
           regression y_i = 1, m_i is the prediction, and alpha_i has either sign, with
           |alpha_i| <= C_i if the loss is not squared
view       a part of the features with a K of its own, of the same tasks; mostly there is one
H_i        curvature of the dual in alpha_i, K[t_i, t_i] ||x_i||^2
=========  ==============================================================================

For W = V K the regulariser is q / 2, q = sum_i alpha_i m_i, in both objectives, so the duality gap
needs one scoring pass and no second copy of the weights. By weak duality the gap is a certificate
at every point; the solvers stop when gap / primal <= tol.

The losses are in :mod:`seqmtl.core.losses`.

Source: Widmer, Kloft, Goernitz, Raetsch (2012), eq. 8, 10 and 12, with the scalar 1/2 of eq. 8.
Where this differs from the print, ``docs/papers.md`` has the erratum, and the test that shows it.
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
        z_i; empty if all are 0.
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

    def residuals(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the argument of the loss: m_i - z_i."""
        return margins - self.targets if self.targets.size else margins

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


def relative_gap(primal: float, dual: float) -> float:
    """Return the duality gap relative to the primal objective; rounding may take it below 0."""
    return (primal - dual) / max(abs(primal), 1e-300)


def kernel_diagonal(
    rows: Rows, tasks: NDArray[Any], kernels: NDArray[np.float64], bias_scale: float
) -> NDArray[np.float64]:
    """Return the kernel of every example with itself, shape (n,), for a kernel of each view."""
    H = np.zeros(tasks.size)
    for view, K in zip(rows.views, kernels, strict=True):
        H += np.diagonal(K)[tasks] * (view.rows.squared_norms() + bias_scale**2)
    return H
