"""Kernel weights of several tasks by block descent.

    min over theta in a set   objective of (g_1(theta), .., g_T(theta))

repeats two steps:

    train the SVM of every task, which gives g_t and its derivatives in theta
    lambda, theta <- the optimal weights of the tasks and kernels for the functions of these SVMs

by :mod:`seqmtl.kernel_mkl.svm` and a rule of :mod:`seqmtl.kernel_mkl.rules`. Algorithm 2 of Li et
al. (2014) is in the order SVMs, theta, lambda; the order here is ours, with lambda before theta.
With the trade-off p <= 1, lambda is the derivative of the objective in g; with p > 1, lambda and
theta are the saddle point of eq. 9 for these functions.

Where the optimum has weights of 0, plain steps shrink them by almost the same factor each time.
Therefore steps are extrapolated in the logarithm of the weights, doubling their length, up to 32
times, as long as the objective decreases. Otherwise the plain step is taken, which never increases
it.

Source: Li, Georgiopoulos, Anagnostopoulos (2014), Section 4 and Algorithm 2, and eq. 9; Widmer et
al. (2015), Section 3.1, for one task. The extrapolation is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.kernel_mkl.rules import WeightRule
from seqmtl.kernel_mkl.svm import KernelSVM, SVMSolution

Array = NDArray[np.float64]

# Plain choices, but for the two of the SVMs: a larger share would limit the gap.
_SVM_SHARE = 0.1  # tolerance on the optimality conditions of each SVM, relative to the overall one
_MIN_SVM_TOL = 1e-9
_MAX_UNSOLVED = 10  # iterations with unsolved SVMs after which to stop: too ill-conditioned kernels
_MAX_REACH = 32.0  # largest extrapolation factor of a step
_MAX_FALL = 4.6  # largest decrease of a weight in one extrapolated step, in its logarithm
_MIN_DECREASE = 0.01  # decrease of the objective, in tolerances, that ends it if the gap is unknown


class KernelSolution(NamedTuple):
    """Kernel weights of several tasks, and the SVMs trained with them.

    Attributes
    ----------
    state : ndarray of float64
        State from which :func:`descend` can resume.
    theta : ndarray of float64, shape (T, M)
        Kernel weights of every task.
    svms : list of SVMSolution
        One per task.
    objective, gap : float
        Objective and relative gap; NaN if the gap is unknown.
    converged : bool
        Whether the tolerance was reached.
    history : list of dict
        Objective and gap of every iteration.
    """

    state: Array
    theta: Array
    svms: list[SVMSolution]
    objective: float
    gap: float
    converged: bool = False
    history: Sequence[dict[str, float]] = ()

    @property
    def g(self) -> Array:
        """Objectives of the tasks, shape (T,)."""
        return np.array([svm.primal for svm in self.svms])


def descend(
    svms: Sequence[KernelSVM],
    rule: WeightRule,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    state: Array | None = None,
) -> KernelSolution:
    """Alternate until the gap, or the decrease of the objective, is small.

    Parameters
    ----------
    svms : sequence of KernelSVM
        The SVM of every task, all with the same number of kernels.
    rule : WeightRule
        Rule by which tasks and kernels are weighted.
    tol : float
        Relative gap at which training stops.
    max_iter : int
        Maximum number of iterations.
    state : ndarray, optional
        Initial state; weights that are 0 stay 0.
    """

    def evaluate(state: Array) -> tuple[KernelSolution, Array]:
        """Train the SVMs of a state; return them, and the state that a plain step leads to."""
        theta = rule.theta(state)
        theta = np.tile(theta, (len(svms) // len(theta), 1))  # a single row applies to all tasks
        svm_tol = max(_SVM_SHARE * tol, _MIN_SVM_TOL)
        trained = [svm.solve(row, svm_tol) for svm, row in zip(svms, theta, strict=True)]
        g = np.array([svm.primal for svm in trained])
        energies = np.array([svm.q for svm in trained])
        plain, lam = rule.step(state, g, energies)
        gap = rule.gap(lam, g, np.array([svm.alpha.sum() for svm in trained]), energies)
        return KernelSolution(state, theta, trained, rule.objective(g), gap), plain

    start = rule.start(len(svms), svms[0].n_kernels)
    now, plain = evaluate(start if state is None else state)
    history: list[dict[str, float]] = []
    reach, change, n_unsolved = 1.0, np.inf, 0
    while True:
        history.append({"objective": now.objective, "gap": now.gap})
        n_unsolved = n_unsolved + 1 if max(svm.gap for svm in now.svms) > tol else 0
        converged = _has_converged(history, change, tol)
        if converged or n_unsolved >= _MAX_UNSOLVED or len(history) >= max_iter:
            return now._replace(converged=converged, history=history)
        # longer than the plain step, or the plain one if the objective rises
        before = now
        now, next_plain = evaluate(rule.rescale(_extend(before.state, plain, reach)))
        if now.objective > before.objective and reach > 1.0:
            reach = 1.0
            now, next_plain = evaluate(plain)
        plain = next_plain
        change = float(np.abs(now.state - before.state).max() / now.state.max())
        reach = min(2.0 * reach, _MAX_REACH)


def _has_converged(history: list[dict[str, float]], change: float, tol: float) -> bool:
    """Return whether the gap is small or, if it is unknown, the last step.

    Then the decrease of the objective and the relative `change` of the weights must be small. The
    decrease alone is not enough: if all weights are tiny, they move while it is.
    """
    objective, gap = history[-1]["objective"], history[-1]["gap"]
    if not np.isnan(gap):
        return gap <= tol
    if change > tol:
        return False
    return history[-2]["objective"] - objective <= _MIN_DECREASE * tol * objective


def _extend(old: Array, new: Array, reach: float) -> Array:
    """Return old (new / old)^reach with limited decrease; 0 stays 0."""
    if reach == 1.0:
        return new
    ratio = np.divide(new, old, out=np.ones_like(new), where=old > 0.0)
    change = reach * np.log(np.maximum(ratio, 1e-300))
    return old * np.exp(np.maximum(change - change.max(), -_MAX_FALL))
