"""Kernel weights of several tasks by block descent.

    min over theta in a set   objective of (g_1(theta), .., g_T(theta))

One SVM per task is trained, which gives g_t and its derivatives (:mod:`seqmtl.kernel_mkl.svm`);
then a rule weights the kernels in closed form (:mod:`seqmtl.kernel_mkl.rules`), and so on in turn.

As weights tend to 0 the steps become small and all alike. Therefore steps are extrapolated in the
logarithm of the weights, doubling their length as long as the objective decreases. Otherwise the
plain step is taken, which never increases it.

Source: Li, Georgiopoulos, Anagnostopoulos (2014), Section 3.2 (p = 1) and Algorithm 2 (p < 1);
Widmer et al. (2015), Section 3.1, for one task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.kernel_mkl.rules import WeightRule
from seqmtl.kernel_mkl.svm import KernelSVM, SVMSolution

Array = NDArray[np.float64]

_SVM_SHARE = 0.1  # tolerance on the optimality conditions of each SVM, relative to the overall one
_MIN_SVM_TOL = 1e-9
_STALLED = 10  # iterations with unsolved SVMs after which to give up: kernels too ill-conditioned
_FARTHEST = 32.0  # largest extrapolation factor of a step
_DEEPEST = 4.6  # largest decrease of a weight in one extrapolated step, in its logarithm
_SETTLED = 0.01  # decrease of the objective, in tolerances, that ends it if the gap is unknown


class Iteration(NamedTuple):
    """The objective after an iteration, and the relative gap (NaN if unknown)."""

    objective: float
    gap: float


class TrainedSVMs(NamedTuple):
    """The SVMs trained with given kernel weights.

    Attributes
    ----------
    theta : ndarray of float64, shape (T, M)
        Kernel weights of every task.
    results : list of SVMSolution
        One per task.
    """

    theta: Array
    results: list[SVMSolution]

    @property
    def g(self) -> Array:
        """Objectives of the tasks, shape (T,)."""
        return np.array([result.primal for result in self.results])

    @property
    def q(self) -> Array:
        """q_tm, shape (T, M)."""
        return np.array([result.q for result in self.results])

    @property
    def totals(self) -> Array:
        """Dual objectives without their quadratic terms, shape (T,); sum_i alpha_i of an SVC."""
        return np.array(
            [r.dual + 0.5 * (row @ r.q) for r, row in zip(self.results, self.theta, strict=True)]
        )


def train_svms(theta: Array, svms: Sequence[KernelSVM], tol: float) -> TrainedSVMs:
    """Train the SVM of every task; a single row of theta applies to all."""
    theta = np.tile(theta, (len(svms) // len(theta), 1))
    svm_tol = max(_SVM_SHARE * tol, _MIN_SVM_TOL)
    return TrainedSVMs(
        theta, [svm.solve(row, svm_tol) for svm, row in zip(svms, theta, strict=True)]
    )


class KernelSolution(NamedTuple):
    """Kernel weights of several tasks, and their SVMs.

    Attributes
    ----------
    trained : TrainedSVMs
        Kernel weights of every task, and the SVMs trained with them.
    state : ndarray of float64
        State from which the solver can resume.
    converged : bool
        Whether the tolerance was reached.
    history : list of Iteration
        One per iteration.
    """

    trained: TrainedSVMs
    state: Array
    converged: bool
    history: list[Iteration]

    @property
    def objective(self) -> float:
        """Objective."""
        return self.history[-1].objective

    @property
    def gap(self) -> float:
        """Relative gap; NaN if unknown."""
        return self.history[-1].gap


class ConvergenceMonitor:
    """The iterations of a solver so far, and whether it should stop.

    Attributes
    ----------
    history : list of Iteration
        One per iteration.
    converged : bool
        Whether the tolerance was reached.
    """

    def __init__(self, tol: float, max_iter: int) -> None:
        self.history: list[Iteration] = []
        self.converged = False
        self._tol, self._max_iter, self._n_unsolved = tol, max_iter, 0

    def should_stop(
        self, iteration: Iteration, trained: TrainedSVMs, change: float = np.inf
    ) -> bool:
        """Record an iteration; return whether it converged, is the last one, or SVMs stay unsolved.

        Without a gap, the decrease of the objective and the relative `change` of the weights must
        be small. The decrease alone is not enough: if all weights are tiny, they move while it is.
        """
        self.history.append(iteration)
        if not np.isnan(iteration.gap):
            self.converged = iteration.gap <= self._tol
        elif change <= self._tol:
            decrease = self.history[-2].objective - iteration.objective
            self.converged = decrease <= _SETTLED * self._tol * iteration.objective
        is_solved = max(result.gap for result in trained.results) <= self._tol
        self._n_unsolved = 0 if is_solved else self._n_unsolved + 1
        is_lost = self._n_unsolved >= _STALLED
        return self.converged or is_lost or len(self.history) >= self._max_iter


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
        Rule by which kernels are weighted.
    tol : float
        Relative gap at which training stops.
    max_iter : int
        Maximum number of iterations.
    state : ndarray, optional
        Initial state; weights that are 0 stay 0.
    """

    def evaluate(state: Array) -> tuple[TrainedSVMs, Iteration]:
        trained = train_svms(rule.theta(state), svms, tol)
        g = trained.g
        return trained, Iteration(rule.objective(g), rule.gap(g, trained.totals, trained.q))

    if state is None:
        state = rule.start(len(svms), svms[0].n_kernels)
    trained, now = evaluate(state)
    monitor, reach, change = ConvergenceMonitor(tol, max_iter), 1.0, np.inf
    while not monitor.should_stop(now, trained, change):
        old, before = state, now
        plain = rule.step(old, trained.g, trained.q)
        state = rule.rescale(_extend(old, plain, reach))
        trained, now = evaluate(state)
        if now.objective > before.objective and reach > 1.0:
            state, reach = plain, 1.0
            trained, now = evaluate(state)
        change = float(np.abs(state - old).max() / state.max())
        reach = min(2.0 * reach, _FARTHEST)
    return KernelSolution(trained, state, monitor.converged, monitor.history)


def _extend(old: Array, new: Array, reach: float) -> Array:
    """Return old (new / old)^reach with limited decrease; 0 stays 0."""
    if reach == 1.0:
        return new
    ratio = np.divide(new, old, out=np.ones_like(new), where=old > 0.0)
    change = reach * np.log(np.maximum(ratio, 1e-300))
    return old * np.exp(np.maximum(change - change.max(), -_DEEPEST))
