"""Rivals in Li 2014 that weight kernels: partly shared weights, and a mixed norm of functions.

==================  ==========================================  ================================
rule                feasible                                    objective
==================  ==========================================  ================================
:class:`Partial`    theta_t = zeta + gamma_t, ||zeta||_1 <= mu,  sum_t g_t
                    ||gamma_t||_1 <= 1 - mu
:class:`MixedNorm`  sum_m (sum_t theta_tm^s)^(r/s) <= 1,        sum_t g_t
                    r = p / (2 - p), p = kernel_norm;
                    s = q / (2 - q), q = task_norm
==================  ==========================================  ================================

See :mod:`seqmtl.kernel_mkl.rules`. Sources: Tang, Chen, Ye (2009); Rakotomamonjy, Flamary, Gasso,
Canu (2011).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_number
from seqmtl.core.norms import conjugate, norm_of
from seqmtl.core.problem import relative_gap
from seqmtl.kernel_mkl.descent import KernelSolution, descend
from seqmtl.kernel_mkl.problem import KernelProblem
from seqmtl.kernel_mkl.rules import WeightRule, best_on_balls, to_norm
from seqmtl.kernel_mkl.svm import KernelSVM
from seqmtl.kernel_mkl.task_mkl import TaskMKLClassifier

Array = NDArray[np.float64]

_ROUGH_TOL = 1e-2  # relative gap of the convex problem that starts the non-convex one; plain choice


@dataclass(frozen=True)
class Partial(WeightRule):
    """A shared kernel and one kernel per task (Tang, Chen, Ye 2009).

    The state holds zeta in the first row and gamma_t in the others.

    Attributes
    ----------
    share : float
        mu, from 0 (nothing shared) to 1 (one kernel for all).
    """

    share: float

    def __post_init__(self) -> None:
        check_number("share", self.share, min_val=0.0, max_val=1.0)

    def _sums(self, n_rows: int) -> Array:
        """Return mu for the first row and 1 - mu for the others, shape (n_rows, 1)."""
        sums = np.full((n_rows, 1), 1.0 - self.share)
        sums[0] = self.share
        return sums

    def start(self, n_tasks: int, n_kernels: int) -> Array:
        """Return mu / M in the first row and (1 - mu) / M in the others, shape (1 + T, M)."""
        return np.tile(self._sums(1 + n_tasks) / n_kernels, n_kernels)

    def theta(self, state: Array) -> Array:
        """Return zeta + gamma_t."""
        return state[0] + state[1:]

    def step(self, state: Array, g: Array, energies: Array) -> tuple[Array, Array]:
        """Weight both parts in closed form; each has its share of the functions."""
        both = np.vstack([energies.sum(axis=0), energies])
        return best_on_balls(state, both, 1.0, self._sums(len(state))), np.ones_like(g)

    def rescale(self, state: Array) -> Array:
        """Scale the shared weights to sum to mu, and those of every task to 1 - mu."""
        return self._sums(len(state)) * to_norm(state, 1.0)

    def gap(self, lam: Array, g: Array, alpha_sums: Array, energies: Array) -> float:
        """Return the relative duality gap."""
        shared = self.share * float(energies.sum(axis=0).max())
        separate = (1.0 - self.share) * float(energies.max(axis=1).sum())
        return relative_gap(float(g.sum()), float(alpha_sums.sum()) - 0.5 * (shared + separate))


@dataclass(frozen=True)
class MixedNorm(WeightRule):
    """Few kernels, similar for all tasks: squared mixed norm of the functions.

    Minimises 1/2 (sum_m A_m^p)^(2/p) + the losses, where A_m is the norm over tasks of the
    ||w_tm|| and p is `kernel_norm` (the l_p-l_q norm of Rakotomamonjy, Flamary, Gasso, Canu 2011).
    Not convex for p < 1.

    Attributes
    ----------
    kernel_norm : float
        Exponent of the norm over kernels, above 0, up to 1; smaller values select fewer kernels.
    task_norm : float
        Exponent of the norm over tasks, from 1 to 2; 2 gives all tasks the same weights.
    """

    kernel_norm: float
    task_norm: float

    def __post_init__(self) -> None:
        check_number("p", self.kernel_norm, max_val=1.0)
        check_number("q", self.task_norm, min_val=1.0, max_val=2.0)

    def start(self, n_tasks: int, n_kernels: int) -> Array:
        """Return equal weights of mixed norm 1, shape (T, M)."""
        return self._weights(np.ones((n_tasks, n_kernels)))

    def step(self, state: Array, g: Array, energies: Array) -> tuple[Array, Array]:
        """Weight the kernels in closed form, from ||w_tm|| = theta_tm sqrt(q_tm)."""
        norms = state * np.sqrt(energies)
        return self._weights(norms) if norms.max() > 0.0 else state, np.ones_like(g)

    def rescale(self, state: Array) -> Array:
        """Return weights of mixed norm 1."""
        r, s = self.kernel_norm / (2.0 - self.kernel_norm), np.inf
        if self.task_norm < 2.0:
            s = self.task_norm / (2.0 - self.task_norm)
        largest = state / state.max()
        return np.asarray(largest / norm_of(_norms_of_columns(largest, s), r))

    def gap(self, lam: Array, g: Array, alpha_sums: Array, energies: Array) -> float:
        """Return the relative duality gap if the norm over kernels is convex, else NaN."""
        if self.kernel_norm < 1.0:
            return float("nan")
        largest = float(_norms_of_columns(np.sqrt(energies), conjugate(self.task_norm)).max())
        return relative_gap(float(g.sum()), float(alpha_sums.sum()) - 0.5 * largest**2)

    def _weights(self, norms: Array) -> Array:
        """Return the theta_tm = D_m E_tm that minimise sum_tm ||w_tm||^2 / theta_tm, from norms.

        Li et al. (2014), eq. 18 and 19, or Aflalo et al. (2011), Lemma 2: for a_m >= 0,

            min over ||x||_r <= 1 of sum_m a_m / x_m = (sum_m a_m^(r/(r+1)))^((r+1)/r)
            at x_m = a_m^(1/(r+1)) / (sum_m a_m^(r/(r+1)))^(1/r)

        With a = ||w_tm||^2 over the tasks and r = q / (2 - q), and then with a = A_m^2 over the
        kernels and r = p / (2 - p), where p and q are the norms over kernels and tasks,

            E_tm = (||w_tm|| / A_m)^(2 - q)
            D_m = A_m^(2 - p) / (sum_m A_m^p)^((2 - p) / p)
        """
        norms = norms / norms.max()
        p, A = self.kernel_norm, _norms_of_columns(norms, self.task_norm)
        D = A ** (2.0 - p) / (A**p).sum() ** ((2.0 - p) / p)
        within = np.divide(norms, A, out=np.zeros_like(norms), where=A > 0.0)
        if self.task_norm == 2.0:
            return np.tile(D, (len(norms), 1))
        return D * within ** (2.0 - self.task_norm)


def _norms_of_columns(values: Array, norm: float) -> Array:
    return np.array([norm_of(column, norm) for column in values.T])


@dataclass(eq=False, repr=False)
class PartiallySharedMKLClassifier(TaskMKLClassifier):
    """Multi-task multiple kernel learning with a shared kernel and one kernel per task.

    Task t has the kernel sum_m (zeta_m + gamma_tm) k_m, ||zeta||_1 <= mu, ||gamma_t||_1 <= 1 - mu.
    The sum of the SVM objectives of the tasks is minimised (Tang, Chen, Ye 2009). Without tasks
    there may be more than two classes; see :class:`seqmtl.ParetoMKLClassifier`.

    Parameters
    ----------
    kernels : list, default=("linear", "poly", "rbf")
        Base kernels, as in :class:`seqmtl.IndividualMKLClassifier`.
    share : float, default=0.5
        mu, from 0 (nothing shared) to 1 (one kernel for all).
    C : float, default=1.0
        Cost of errors.
    tol : float, default=1e-4
        Relative duality gap at which training stops.
    max_iter : int, default=1000
        Maximum number of iterations.

    Attributes
    ----------
    theta_ : ndarray, shape (n_tasks, n_kernels)
        Kernel weights zeta + gamma_t.
    common_ : ndarray, shape (n_kernels,)
        zeta.
    objectives_ : ndarray, shape (n_tasks,)
        g_t.
    objective_, gap_, n_iter_, history_, classes_, tasks_, kernels_, intercept_, model_
        See :class:`seqmtl.ParetoMKLClassifier`; the objective is the sum of g_t.
    """

    share: float = 0.5
    C: float = 1.0
    tol: float = 1e-4
    max_iter: int = 1000

    def _rule(self) -> Partial:
        return Partial(self.share)

    def _set_fitted_attributes(self, problem: KernelProblem, solution: KernelSolution) -> None:
        super()._set_fitted_attributes(problem, solution)
        self.common_ = solution.state[0].copy()


@dataclass(eq=False, repr=False)
class SparseMKLClassifier(TaskMKLClassifier):
    """Multi-task multiple kernel learning with a mixed norm: few kernels, the same for all tasks.

    Minimises 1/2 (sum_m (sum_t ||w_tm||^q)^(p/q))^(2/p) + C times the sum of the hinge losses,
    with the l_p-l_q norm of Rakotomamonjy, Flamary, Gasso, Canu (2011) squared, as is usual in
    multiple kernel learning. p = 1, q = 2 is :class:`seqmtl.ParetoMKLClassifier` with
    p = norm = 1. The problem is not convex for p < 1; then the better of two local minima is
    taken, reached from equal weights and from the solution of p = 1. Without tasks there may be
    more than two classes; see :class:`seqmtl.ParetoMKLClassifier`.

    Parameters
    ----------
    kernels : list, default=("linear", "poly", "rbf")
        Base kernels, as in :class:`seqmtl.IndividualMKLClassifier`.
    p : float, default=1.0
        Norm over kernels, in (0, 1]; smaller values select fewer kernels.
    q : float, default=2.0
        Norm over tasks, from 1 to 2; 2 gives all tasks the same kernel weights.
    C : float, default=1.0
        Cost of errors.
    tol : float, default=1e-4
        Relative duality gap at which training stops; for p < 1 a hundred times the relative
        decrease of the objective per iteration.
    max_iter : int, default=1000
        Maximum number of iterations.

    Attributes
    ----------
    theta_ : ndarray, shape (n_tasks, n_kernels)
        Kernel weights; the squared norm is the sum of ||w_tm||^2 / theta_tm.
    objectives_ : ndarray, shape (n_tasks,)
        g_t.
    objective_, gap_, n_iter_, history_, classes_, tasks_, kernels_, intercept_, model_
        See :class:`seqmtl.ParetoMKLClassifier`; the objective is the sum of g_t. The gap is NaN
        for p < 1.
    """

    p: float = 1.0
    q: float = 2.0
    C: float = 1.0
    tol: float = 1e-4
    max_iter: int = 1000

    def _rule(self) -> MixedNorm:
        return MixedNorm(self.p, self.q)

    def _solve(
        self, svms: list[KernelSVM], rule: WeightRule, state: Array | None = None
    ) -> KernelSolution:
        if self.p == 1.0:
            return super()._solve(svms, rule, state)
        from_equal = descend(svms, rule, tol=self.tol, max_iter=self.max_iter)
        convex = descend(svms, MixedNorm(1.0, self.q), tol=_ROUGH_TOL, max_iter=self.max_iter)
        start = rule.rescale(convex.state)
        from_convex = descend(svms, rule, tol=self.tol, max_iter=self.max_iter, state=start)
        return min(from_equal, from_convex, key=lambda solution: solution.objective)
