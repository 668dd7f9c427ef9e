"""Block descent: one SVM per task, then the kernel weights in closed form.

As weights tend to 0 the steps become small and all alike. Therefore steps are extrapolated in the
logarithm of the weights, doubling their length as long as the objective decreases. Otherwise the
plain step is taken, which never increases it.

Source: Li, Georgiopoulos, Anagnostopoulos (2014), Section 3.2 (p = 1) and Algorithm 2 (p < 1);
Widmer et al. (2015), Section 3.1, for one task.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.solvers.kernel_weights import WeightRule
from seqmtl.solvers.svm import SVMSolution, TaskProblem

#: Tolerance on the optimality conditions of each SVM, relative to the overall tolerance.
SVM_SHARE = 0.1
_SVM_LEAST = 1e-9
_STALLED = 10  # iterations with unsolved SVMs after which to give up: kernels too ill-conditioned
_FARTHEST = 32.0  # largest extrapolation factor of a step
_DEEPEST = 4.6  # largest decrease of a weight in one extrapolated step, in its logarithm
_SETTLED = 0.01  # decrease of the objective, in tolerances, that ends it if the gap is unknown


class Step(NamedTuple):
    """One iteration: the objective, and the relative gap (NaN if unknown)."""

    objective: float
    gap: float


class KernelSolution(NamedTuple):
    """Kernel weights of several tasks, and their SVMs.

    Attributes
    ----------
    theta : ndarray of float64, shape (T, M)
        Kernel weights of every task.
    state : ndarray of float64
        State from which the solver can resume.
    svms : list of SVMSolution
        One per task.
    objective : float
        Objective.
    gap : float
        Relative gap; NaN if unknown.
    converged : bool
        Whether the tolerance was reached.
    history : list of Step
        One per iteration.
    """

    theta: NDArray[np.float64]
    state: NDArray[np.float64]
    svms: list[SVMSolution]
    objective: float
    gap: float
    converged: bool
    history: list[Step]

    @property
    def g(self) -> NDArray[np.float64]:
        """Objectives of the tasks, shape (T,)."""
        return np.array([svm.primal for svm in self.svms])


def train_tasks(
    tasks: list[TaskProblem], theta: NDArray[np.float64], tol: float
) -> list[SVMSolution]:
    """Train the SVM of every task; a single row of theta applies to all."""
    rows = np.broadcast_to(theta, (len(tasks), theta.shape[1]))
    least = max(SVM_SHARE * tol, _SVM_LEAST)
    return [task.solve(row, least) for task, row in zip(tasks, rows, strict=True)]


class Patience:
    """Counts consecutive iterations with an unsolved SVM."""

    def __init__(self, tol: float) -> None:
        self._tol = tol
        self._unsolved = 0

    def is_lost(self, svms: list[SVMSolution]) -> bool:
        """Tell whether there were so many that other weights will not help."""
        is_solved = max(svm.gap for svm in svms) <= self._tol
        self._unsolved = 0 if is_solved else self._unsolved + 1
        return self._unsolved >= _STALLED


def descend(
    tasks: list[TaskProblem],
    rule: WeightRule,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    state: NDArray[np.float64] | None = None,
    on_iteration: Callable[[Step], None] | None = None,
) -> KernelSolution:
    """Alternate until the gap, or the decrease of the objective, is small.

    Parameters
    ----------
    tasks : list of TaskProblem
        The tasks, all with the same kernels.
    rule : WeightRule
        Rule by which kernels are weighted.
    tol : float
        Relative gap at which training stops.
    max_iter : int
        Maximum number of iterations.
    state : ndarray, optional
        Initial state; weights that are 0 stay 0.
    on_iteration : callable, optional
        Called after every iteration.
    """
    if state is None:
        state = rule.start(len(tasks), len(tasks[0].kernels))
    now = _look(tasks, rule, state, tol)
    history, patience = [now.step], Patience(tol)
    reach, moved = 1.0, np.inf
    while True:
        if on_iteration is not None:
            on_iteration(history[-1])
        converged = _has_converged(history, moved, tol)
        if converged or len(history) >= max_iter or patience.is_lost(now.svms):
            break
        plain = rule.step(now.state, now.g, now.q)
        ahead = _look(tasks, rule, rule.rescale(_extend(now.state, plain, reach)), tol)
        if ahead.step.objective > now.step.objective and reach > 1.0:
            ahead, reach = _look(tasks, rule, plain, tol), 1.0
        moved = float(np.abs(ahead.state - now.state).max() / ahead.state.max())
        now, reach = ahead, min(2.0 * reach, _FARTHEST)
        history.append(now.step)
    theta = np.broadcast_to(rule.theta(now.state), (len(tasks), now.q.shape[1])).copy()
    return KernelSolution(theta, now.state, now.svms, *history[-1], converged, history)


class _Look(NamedTuple):
    """The SVMs trained with given kernel weights, and the resulting objective."""

    state: NDArray[np.float64]
    svms: list[SVMSolution]
    g: NDArray[np.float64]
    q: NDArray[np.float64]
    step: Step


def _look(
    tasks: list[TaskProblem], rule: WeightRule, state: NDArray[np.float64], tol: float
) -> _Look:
    svms = train_tasks(tasks, rule.theta(state), tol)
    g = np.array([svm.primal for svm in svms])
    q = np.array([svm.q for svm in svms])
    totals = np.array([svm.total for svm in svms])
    return _Look(state, svms, g, q, Step(rule.objective(g), rule.gap(g, totals, q)))


def _extend(
    old: NDArray[np.float64], new: NDArray[np.float64], reach: float
) -> NDArray[np.float64]:
    """Return old (new / old)^reach with limited decrease; 0 stays 0."""
    if reach == 1.0:
        return new
    ratio = np.divide(new, old, out=np.ones_like(new), where=old > 0.0)
    change = reach * np.log(np.maximum(ratio, 1e-300))
    return old * np.exp(np.maximum(change - change.max(), -_DEEPEST))


def _has_converged(history: list[Step], moved: float, tol: float) -> bool:
    """Tell whether the gap is small or, if it is unknown, the decrease and the step are.

    The decrease alone is not enough: if all weights are tiny, they move while it is small.
    """
    now = history[-1]
    if not np.isnan(now.gap):
        return now.gap <= tol
    if moved > tol:
        return False
    return history[-2].objective - now.objective <= _SETTLED * tol * now.objective
