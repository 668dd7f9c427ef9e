"""Multi-task MKL with kernel weights per task: individual, partly shared, or jointly sparse."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from seqmtl._checks import check_integer, check_number
from seqmtl.estimators._base import Examples
from seqmtl.estimators._kernel_base import (
    KernelClassifier,
    check_power,
    held_out_scores,
    kernel_matrix,
    require_matrices,
    resolve_all,
)
from seqmtl.kernels import BaseKernel
from seqmtl.models.calibration import fit_sigmoid
from seqmtl.models.kernel_model import KernelModel
from seqmtl.models.one_vs_one import split_pairs
from seqmtl.models.training import check_classes
from seqmtl.solvers.alternation import KernelSolution, descend
from seqmtl.solvers.kernel_weights import MixedNorm, Partial, Separate, WeightRule
from seqmtl.solvers.svm import TaskProblem

_ROUGH = 1e-2  # relative gap of the convex problem that the non-convex one starts from


class TaskMKLClassifier(KernelClassifier):
    """Base class: T SVMs, each with its own intercept, on weighted kernels."""

    _limits: ClassVar[str] = "max_iter or tol"
    _reported: ClassVar[dict[str, str]] = {
        "objective": "objective_",
        "gap": "gap_",
        "n_iter": "n_iter_",
    }

    kernels: Any

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("max_iter", self.max_iter, 1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    def _check_classes(self) -> None:
        if self.classes_.size < 2:
            super()._check_classes()

    def _rule(self) -> WeightRule:
        """Return the rule by which kernels are weighted."""
        raise NotImplementedError

    def _solve(
        self, problems: list[TaskProblem], state: NDArray[np.float64] | None = None
    ) -> KernelSolution:
        return descend(problems, self._rule(), tol=self.tol, max_iter=self.max_iter, state=state)

    def _fit_classes(self, examples: Examples) -> None:
        prepared = Prepared(*self._pair_classes(examples), self.kernels, self.C)
        self._keep(prepared, self._solve(prepared.problems))

    def _pair_classes(self, examples: Examples) -> tuple[Examples, NDArray[np.int64]]:
        """Return examples with signs, by pairs if there are several classes; and their rows."""
        if self.classes_.size == 2:
            return self._signs(examples), np.arange(examples.y.size)
        if len(examples.names) > 1:
            raise ValueError(
                f"y must have two classes where there are tasks, got {self.classes_.size}; "
                "without tasks the classes are learnt one against one"
            )
        names, rows, signs, ids = split_pairs(examples.y, self.classes_)
        weight = None if examples.weight is None else examples.weight[rows]
        return Examples(examples.X[rows], signs, ids, names, weight), rows

    def _keep(self, prepared: Prepared, found: KernelSolution) -> None:
        """Set the fitted attributes."""
        examples = prepared.examples
        self.theta_ = found.theta
        self.objectives_, self.objective_ = found.g, found.objective
        self.gap_, self.n_iter_ = found.gap, len(found.history)
        self.history_ = [step._asdict() for step in found.history]
        self.dual_coef_ = np.concatenate([svm.alpha for svm in found.svms])
        rows = np.concatenate(prepared.rows)
        kept = np.flatnonzero(self.dual_coef_)
        amount, rows = (self.dual_coef_ * examples.y[rows])[kept], rows[kept]
        _, first, example_ids = np.unique(
            prepared.sources[rows], return_index=True, return_inverse=True
        )
        T = len(examples.names)
        sigmoids = []
        parts = zip(found.theta, prepared.problems, found.svms, prepared.weights, strict=True)
        for theta, task, svm, weight in parts:
            H = np.tensordot(theta, task.kernels, 1)
            scores = H @ (svm.alpha * task.y) + svm.bias
            one_task = np.zeros(task.y.size, dtype=np.int64)
            held_out = held_out_scores(H, task.y, one_task, task.C, scores, self.tol)
            sigmoids.append(fit_sigmoid(held_out, task.y, weight))
        coupling = np.zeros((len(prepared.kernels), T, T))
        coupling[:, np.arange(T), np.arange(T)] = found.theta.T
        model = KernelModel(
            prepared.kernels, examples.X[rows[first]], example_ids, amount, examples.ids[rows],
            coupling, np.array([svm.bias for svm in found.svms]), np.array(sigmoids),
            examples.names, self._labels(),
            {"C": float(self.C), "objectives": found.g.tolist(), "theta": found.theta.tolist()},
        )  # fmt: skip
        self._finish(model, found.converged, found.gap)


class Prepared:
    """Examples and kernel matrices of every task, prepared for one or several fits.

    Attributes
    ----------
    examples : Examples
        Examples with labels -1 and +1.
    sources : ndarray of int64
        Index of each example in the training data, where it may belong to several tasks.
    kernels : tuple of BaseKernel
        Kernels with their parameters.
    rows : list of ndarray of int64
        Indices of the examples of every task.
    weights : list of ndarray, or None
        Weights of the examples of every task.
    problems : list of TaskProblem
        Training problem of every task.
    """

    def __init__(
        self, examples: Examples, sources: NDArray[np.int64], kernels: Any, C: float
    ) -> None:
        check_classes(examples.y, examples.ids, examples.names)
        self.examples, self.sources = examples, sources
        self.kernels: tuple[BaseKernel, ...] = resolve_all(kernels, examples)
        cost = np.full(examples.y.size, float(C))
        if examples.weight is not None:
            cost *= examples.weight
        self.rows = [np.flatnonzero(examples.ids == t) for t in range(len(examples.names))]
        weight = examples.weight
        self.weights = [None if weight is None else weight[own] for own in self.rows]
        require_matrices(len(self.kernels), *(own.size for own in self.rows))
        self.problems = [
            TaskProblem(
                np.array([kernel_matrix(k, examples.X[own]) for k in self.kernels]),
                examples.y[own],
                cost[own],
            )
            for own in self.rows
        ]


class IndividualMKLClassifier(TaskMKLClassifier):
    """Multiple kernel learning for every task alone, the baseline of multi-task learning.

    Task t has the kernel sum_m theta_tm k_m, ||theta_t||_q <= 1, and minimises the objective of
    its own SVM (Kloft, Brefeld, Sonnenburg, Zien 2011). Without tasks there may be more than two
    classes; see :class:`~seqmtl.ParetoMKLClassifier`.

    Parameters
    ----------
    kernels : list, default=("linear", "poly", "rbf")
        Base kernels: names of :func:`~seqmtl.kernels.make_kernel`, kernels of
        :mod:`seqmtl.kernels`, or callables ``k(X, Z)`` that return (n, m).
    norm : float, default=1.1
        q of the norm on the kernel weights, from 1 (sparse) to infinity (uniform).
    C : float, default=1.0
        Cost of errors.
    tol : float, default=1e-4
        Relative duality gap of every task at which training stops.
    max_iter : int, default=1000
        Maximum number of iterations.

    Attributes
    ----------
    theta_ : ndarray, shape (n_tasks, n_kernels)
        Kernel weights.
    objectives_ : ndarray, shape (n_tasks,)
        g_t.
    objective_, gap_, n_iter_, history_, classes_, tasks_, kernels_, intercept_, model_
        See :class:`~seqmtl.ParetoMKLClassifier`; the objective is the sum of g_t.
    """

    def __init__(
        self,
        kernels: Any = ("linear", "poly", "rbf"),
        norm: float = 1.1,
        C: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> None:
        self.kernels = kernels
        self.norm = norm
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("norm", self.norm, least=1.0, is_finite=False)

    def _rule(self) -> Separate:
        return Separate(float(self.norm))


class PartiallySharedMKLClassifier(TaskMKLClassifier):
    """Multi-task multiple kernel learning with a shared kernel and one kernel per task.

    Task t has the kernel sum_m (zeta_m + gamma_tm) k_m, ||zeta||_1 <= mu, ||gamma_t||_1 <= 1 - mu.
    The sum of the SVM objectives of the tasks is minimised (Tang, Chen, Ye 2009). Without tasks
    there may be more than two classes; see :class:`~seqmtl.ParetoMKLClassifier`.

    Parameters
    ----------
    kernels : list, default=("linear", "poly", "rbf")
        Base kernels, as in :class:`IndividualMKLClassifier`.
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
        See :class:`~seqmtl.ParetoMKLClassifier`; the objective is the sum of g_t.
    """

    def __init__(
        self,
        kernels: Any = ("linear", "poly", "rbf"),
        share: float = 0.5,
        C: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> None:
        self.kernels = kernels
        self.share = share
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("share", self.share, least=0.0, most=1.0)

    def _rule(self) -> Partial:
        return Partial(float(self.share))

    def _keep(self, prepared: Any, found: Any) -> None:
        super()._keep(prepared, found)
        self.common_ = found.state[0].copy()


class SparseMKLClassifier(TaskMKLClassifier):
    """Multi-task multiple kernel learning with a mixed norm: few kernels, the same for all tasks.

    Minimises 1/2 (sum_m (sum_t ||w_tm||^q)^(p/q))^(2/p) + C times the sum of the hinge losses,
    with the l_p-l_q norm of Rakotomamonjy, Flamary, Gasso, Canu (2011) squared, as is usual in
    multiple kernel learning. p = 1, q = 2 is :class:`~seqmtl.ParetoMKLClassifier` with
    p = norm = 1. The problem is not convex for p < 1; then the better of two local minima is
    taken, found from equal weights and from the solution of p = 1. Without tasks there may be
    more than two classes; see :class:`~seqmtl.ParetoMKLClassifier`.

    Parameters
    ----------
    kernels : list, default=("linear", "poly", "rbf")
        Base kernels, as in :class:`IndividualMKLClassifier`.
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
        See :class:`~seqmtl.ParetoMKLClassifier`; the objective is the sum of g_t. The gap is NaN
        for p < 1.
    """

    def __init__(
        self,
        kernels: Any = ("linear", "poly", "rbf"),
        p: float = 1.0,
        q: float = 2.0,
        C: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> None:
        self.kernels = kernels
        self.p = p
        self.q = q
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("p", self.p, most=1.0)
        check_number("q", self.q, least=1.0, most=2.0)

    def _solve(
        self, problems: list[TaskProblem], state: NDArray[np.float64] | None = None
    ) -> KernelSolution:
        check_power(self.p, len(problems[0].kernels), "kernels", power=2.0)
        if self.p == 1.0 or state is not None:
            return super()._solve(problems, state)
        convex = MixedNorm(1.0, float(self.q))
        rough = descend(problems, convex, tol=_ROUGH, max_iter=self.max_iter)
        starts = (None, self._rule().rescale(rough.state))
        solve = super()._solve
        return min((solve(problems, start) for start in starts), key=lambda found: found.objective)

    def _rule(self) -> MixedNorm:
        return MixedNorm(float(self.p), float(self.q))
