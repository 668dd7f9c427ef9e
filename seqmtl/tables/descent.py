"""Block descent: one SVM per task, then the kernel weights in closed form.

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

from seqmtl.tables.rules import WeightRule
from seqmtl.tables.svm import Machine, SVMSolution

Array = NDArray[np.float64]

_SVM_SHARE = 0.1  # tolerance on the optimality conditions of each SVM, relative to the overall one
_SVM_LEAST = 1e-9
_STALLED = 10  # iterations with unsolved SVMs after which to give up: kernels too ill-conditioned
_FARTHEST = 32.0  # largest extrapolation factor of a step
_DEEPEST = 4.6  # largest decrease of a weight in one extrapolated step, in its logarithm
_SETTLED = 0.01  # decrease of the objective, in tolerances, that ends it if the gap is unknown


class Step(NamedTuple):
    """One iteration: the objective, and the relative gap (NaN if unknown)."""

    objective: float
    gap: float


class Look(NamedTuple):
    """The SVMs trained with given kernel weights.

    Attributes
    ----------
    theta : ndarray of float64, shape (T, M)
        Kernel weights of every task.
    svms : list of SVMSolution
        One per task.
    """

    theta: Array
    svms: list[SVMSolution]

    @classmethod
    def at(cls, theta: Array, machines: Sequence[Machine], tol: float) -> Look:
        """Train the SVM of every task; a single row of theta applies to all."""
        theta = np.tile(theta, (len(machines) // len(theta), 1))
        least = max(_SVM_SHARE * tol, _SVM_LEAST)
        svms = [svm.solve(row, least) for svm, row in zip(machines, theta, strict=True)]
        return cls(theta, svms)

    @property
    def g(self) -> Array:
        """Objectives of the tasks, shape (T,)."""
        return np.array([svm.primal for svm in self.svms])

    @property
    def q(self) -> Array:
        """q_tm, shape (T, M)."""
        return np.array([svm.q for svm in self.svms])

    @property
    def totals(self) -> Array:
        """Sum of the dual variables of every task, shape (T,)."""
        return np.array([svm.alpha.sum() for svm in self.svms])


class KernelSolution(NamedTuple):
    """Kernel weights of several tasks, and their SVMs.

    Attributes
    ----------
    look : Look
        Kernel weights of every task, and the SVMs trained with them.
    state : ndarray of float64
        State from which the solver can resume.
    converged : bool
        Whether the tolerance was reached.
    history : list of Step
        One per iteration.
    """

    look: Look
    state: Array
    converged: bool
    history: list[Step]

    @property
    def objective(self) -> float:
        """Objective."""
        return self.history[-1].objective

    @property
    def gap(self) -> float:
        """Relative gap; NaN if unknown."""
        return self.history[-1].gap


class Watch:
    """The iterations of a solver so far, and whether it should stop.

    Attributes
    ----------
    history : list of Step
        One per iteration.
    converged : bool
        Whether the tolerance was reached.
    """

    def __init__(self, tol: float, max_iter: int) -> None:
        self.history: list[Step] = []
        self.converged = False
        self._tol, self._max_iter, self._n_unsolved = tol, max_iter, 0

    def is_over(self, step: Step, look: Look, moved: float = np.inf) -> bool:
        """Record an iteration; tell whether it is good enough, the last one, or in vain.

        Without a gap, the decrease of the objective and the distance `moved` by the weights must be
        small. The decrease alone is not enough: if all weights are tiny, they move while it is.
        """
        self.history.append(step)
        if not np.isnan(step.gap):
            self.converged = step.gap <= self._tol
        elif moved <= self._tol:
            decrease = self.history[-2].objective - step.objective
            self.converged = decrease <= _SETTLED * self._tol * step.objective
        is_solved = max(svm.gap for svm in look.svms) <= self._tol
        self._n_unsolved = 0 if is_solved else self._n_unsolved + 1
        is_lost = self._n_unsolved >= _STALLED
        return self.converged or is_lost or len(self.history) >= self._max_iter


def descend(
    machines: Sequence[Machine],
    rule: WeightRule,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    state: Array | None = None,
) -> KernelSolution:
    """Alternate until the gap, or the decrease of the objective, is small.

    Parameters
    ----------
    machines : sequence of Machine
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

    def look_at(state: Array) -> tuple[Look, Step]:
        look = Look.at(rule.theta(state), machines, tol)
        g = look.g
        return look, Step(rule.objective(g), rule.gap(g, look.totals, look.q))

    if state is None:
        state = rule.start(len(machines), machines[0].n_kernels)
    look, step = look_at(state)
    watch, reach, moved = Watch(tol, max_iter), 1.0, np.inf
    while not watch.is_over(step, look, moved):
        old, before = state, step
        plain = rule.step(old, look.g, look.q)
        state = rule.rescale(_extend(old, plain, reach))
        look, step = look_at(state)
        if step.objective > before.objective and reach > 1.0:
            state, reach = plain, 1.0
            look, step = look_at(state)
        moved = float(np.abs(state - old).max() / state.max())
        reach = min(2.0 * reach, _FARTHEST)
    return KernelSolution(look, state, watch.converged, watch.history)


def _extend(old: Array, new: Array, reach: float) -> Array:
    """Return old (new / old)^reach with limited decrease; 0 stays 0."""
    if reach == 1.0:
        return new
    ratio = np.divide(new, old, out=np.ones_like(new), where=old > 0.0)
    change = reach * np.log(np.maximum(ratio, 1e-300))
    return old * np.exp(np.maximum(change - change.max(), -_DEEPEST))
