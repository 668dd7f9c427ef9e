"""Block descent: one support vector machine per task, then the kernel weights in closed form.

Where weights go to 0 the steps are small and all alike. So a step is taken longer, in the
logarithm of the weights and twice as long each time, as long as the objective falls; where it does
not, the plain step is taken, which never raises it.

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

#: Violation of the conditions of each support vector machine, in units of the tolerance.
SVM_SHARE = 0.1
_SVM_LEAST = 1e-9
_STALLED = 10  # iterations whose machines are not solved: kernels too ill-conditioned to go on
_FARTHEST = 32.0  # times the length of a step in the logarithm of the weights
_DEEPEST = 4.6  # the fall of a weight in one long step, in its logarithm
_SETTLED = 0.01  # of the tolerance: a fall of the objective below it, where no gap is known


class Step(NamedTuple):
    """One iteration: the objective, and the relative gap (NaN where none is known)."""

    objective: float
    gap: float


class KernelSolution(NamedTuple):
    """Kernel weights of several tasks, and their support vector machines.

    Attributes
    ----------
    theta : ndarray of float64, shape (T, M)
        Kernel weights of every task.
    state : ndarray of float64
        What the solver can start from again.
    svms : list of SVMSolution
        One per task.
    objective : float
        Objective reached.
    gap : float
        Relative gap reached; NaN where none is known.
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
    """Solve the support vector machine of every task; one row of theta stands for all."""
    rows = np.broadcast_to(theta, (len(tasks), theta.shape[1]))
    least = max(SVM_SHARE * tol, _SVM_LEAST)
    return [task.solve(row, least) for task, row in zip(tasks, rows, strict=True)]


class Patience:
    """Counts iterations in a row that leave a support vector machine unsolved."""

    def __init__(self, tol: float) -> None:
        self._tol = tol
        self._unsolved = 0

    def is_lost(self, svms: list[SVMSolution]) -> bool:
        """Whether there have been so many that other weights will not help."""
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
    """Alternate until the gap, or the fall of the objective, is small.

    Parameters
    ----------
    tasks : list of TaskProblem
        The tasks, all with the same kernels.
    rule : WeightRule
        How kernels are weighed.
    tol : float
        Relative gap to stop at.
    max_iter : int
        Iterations at most.
    state : ndarray, optional
        Where to start; weights that are 0 stay 0.
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
    """What the support vector machines say about some weights."""

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
    """Return old (new / old)^reach, up to a factor; 0 stays 0, and nothing falls at once."""
    if reach == 1.0:
        return new
    ratio = np.divide(new, old, out=np.ones_like(new), where=old > 0.0)
    change = reach * np.log(np.maximum(ratio, 1e-300))
    return old * np.exp(np.maximum(change - change.max(), -_DEEPEST))


def _has_converged(history: list[Step], moved: float, tol: float) -> bool:
    """Whether the gap is small; where none is known, the fall of the objective and the step.

    The objective alone will not do: where all weights are tiny it hardly falls, and they move.
    """
    now = history[-1]
    if not np.isnan(now.gap):
        return now.gap <= tol
    if moved > tol:
        return False
    return history[-2].objective - now.objective <= _SETTLED * tol * now.objective
