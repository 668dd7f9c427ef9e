"""One SVM for all tasks, on base kernels times task kernels that are given or weighted."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.core.kernel_formulas import components
from seqmtl.estimators._examples import with_signs
from seqmtl.kernel_mkl.classifier import KernelClassifier, example_costs
from seqmtl.kernel_mkl.descent import KernelSolution, descend
from seqmtl.kernel_mkl.problem import KernelProblem
from seqmtl.kernel_mkl.rules import Shared, WeightRule
from seqmtl.kernel_mkl.svm import KernelSVM, violation
from seqmtl.kernels import RBF, BaseKernel, Linear, Polynomial
from seqmtl.sequences.examples import Examples
from seqmtl.training.task_kernels import resolve_kernel, resolve_kernels, used_kernels

Array = NDArray[np.float64]

# Larger violations and gaps, in tolerances, mean that the solver stopped early; a plain choice.
_MAX_VIOLATION = 10.0


@dataclass(eq=False, repr=False)
class MultiTaskKernelSVC(KernelClassifier):
    """Support vector machine for several related tasks, with an arbitrary base kernel.

    The kernel of an example x of task s and an example z of task t is K[s,t] k(x,z) (Evgeniou,
    Micchelli, Pontil 2005; Sheldon 2008, eq. 2). K = I gives one SVM per task, K = 11' the
    union; kernels of graphs and trees lie between the two, see
    :meth:`~seqmtl.TaskKernel.graphical`. K may be singular, as it is never inverted. The solver
    is libsvm, through scikit-learn. Tasks that K connects, directly or indirectly, share one
    unregularised intercept, so K = I gives exactly the SVMs of the single tasks.

    Parameters
    ----------
    kernel : str or BaseKernel, default="rbf"
        "linear", "poly" or "rbf" with the parameters below; a name of
        :func:`~seqmtl.kernels.make_kernel` ("spectrum:4"); or a kernel of :mod:`seqmtl.kernels`,
        such as ``Precomputed(matrix)``.
    gamma : float or "scale", default="scale"
        Parameter of "rbf" and "poly"; "scale" is 1 / (d * variance of X).
    degree : int, default=3
        Parameter of "poly".
    coef0 : float, default=0.0
        Parameter of "poly".
    task_kernel : TaskKernel, {"individual", "union", "easy"}, str, path-like or array, optional
        Task kernel K; the name of a shipped tree; the file of a tree or a table. An array is in the
        order of the sorted task names, a data frame labelled with them. Default:
        K = (11' + 3 I) / 4, that is ``TaskKernel.easy(names, 0.25)``; "easy" has the share 0.5.
    C : float, default=1.0
        Cost of errors.
    class_weight : dict or "balanced", optional
        Factors on C by class.
    tol : float, default=1e-3
        Tolerance on violations of the optimality conditions, in units of the margin.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
        Class labels.
    tasks_ : tuple of str
        Tasks, sorted by name.
    task_kernel_ : TaskKernel
        Task kernel.
    kernels_ : tuple of BaseKernel
        The kernel, with its parameters.
    dual_coef_ : ndarray, shape (n,)
        Dual variables alpha of the examples with positive weight.
    dual_gap_ : float
        Duality gap relative to the sum of alpha; large for large C, even at a small violation.
    support_ : ndarray of int
        Indices of the support vectors among them.
    intercept_ : ndarray, shape (n_tasks,)
        Intercepts.
    model_ : KernelModel
        Support vectors and kernels.
    n_features_in_ : int
        Numbers, or bases, per example; not set for texts.

    Examples
    --------
    >>> from seqmtl import MultiTaskKernelSVC
    >>> X, y = [[0.0], [1.0], [2.0], [0.1], [0.9], [2.2]], [0, 1, 0, 0, 1, 0]
    >>> model = MultiTaskKernelSVC(gamma=2.0, C=10).fit(X, y, tasks=list("aaabbb"))
    >>> model.predict([[1.1], [1.9]], tasks="b")
    array([1, 0])
    """

    kernel: Any = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    task_kernel: Any = None
    C: float = 1.0
    class_weight: Any = None
    tol: float = 1e-3

    def _base_kernel(self) -> Any:
        """Return the base kernel with the parameters of this estimator."""
        named: dict[Any, BaseKernel] = {
            "linear": Linear(),
            "poly": Polynomial(self.degree, self.gamma, self.coef0),
            "rbf": RBF(self.gamma),
        }
        return named.get(self.kernel, self.kernel) if isinstance(self.kernel, str) else self.kernel

    def _problem(self, examples: Examples) -> KernelProblem:
        examples = with_signs(examples, self.classes_)
        self.task_kernel_ = resolve_kernel(self.task_kernel, examples.names)
        T = len(examples.names)
        K = self.task_kernel_.matrix[:T, :T]
        cost = example_costs(self, examples)
        return KernelProblem.of(examples, cost, self._base_kernel(), connected_tasks(K), K[None])

    def _rule(self) -> WeightRule:
        return Shared(np.inf)  # all kernels have the weight 1

    def _solve(
        self, svms: list[KernelSVM], rule: WeightRule, state: Array | None = None
    ) -> KernelSolution:
        results = [svm.solve(np.ones(1), self.tol) for svm in svms]
        total = sum(result.primal for result in results)
        gap = (total - sum(r.dual for r in results)) / sum(r.alpha.sum() for r in results)
        worst = max(
            violation(result.f, svm.y, svm.C, result.alpha)
            for svm, result in zip(svms, results, strict=True)
        )
        theta = np.ones((len(svms), 1))
        converged = bool(min(worst, gap) <= _MAX_VIOLATION * self.tol)
        return KernelSolution(theta, theta, results, total, float(gap), converged)

    def _set_fitted_attributes(self, problem: KernelProblem, solution: KernelSolution) -> None:
        super()._set_fitted_attributes(problem, solution)
        self.dual_gap_, self.support_ = solution.gap, np.flatnonzero(self.dual_coef_)


def connected_tasks(K: Array) -> list[NDArray[np.int64]]:
    """Return the groups of tasks that K connects, directly or indirectly."""
    group = components(K)
    return [np.flatnonzero(group == number) for number in range(group.max() + 1)]


_MAX_SMALL = 500  # examples up to which training to rounding takes a tenth of a second
_ROUNDING = 1e-12  # relative gap that such training aims at


@dataclass(eq=False, repr=False)
class KernelMKLClassifier(KernelClassifier):
    """Multi-task support vector machine with learnt kernels, for arbitrary base kernels.

    Solves the problem of :class:`~seqmtl.MultiTaskMKLClassifier` (Widmer, Kloft, Sreedharan,
    Raetsch 2015, Problem 1, Section 3.1) on kernel matrices, to a certified duality gap. The
    kernel is sum_m theta_m K_m[s,t] k_m(x,z) with ||theta||_p <= 1, where m runs over all pairs
    of a base kernel and a task kernel. With ``Linear()`` both solve the same problem.

    Parameters
    ----------
    kernels : list, default=("linear", "poly", "rbf")
        Base kernels: names of :func:`~seqmtl.kernels.make_kernel`, or kernels of
        :mod:`seqmtl.kernels`.
    task_kernel : TaskKernel or list, optional
        Similarities to choose from, each with one or more matrices, or "individual", "union",
        "easy". Default: 11' and I.
    norm : float, default=2.0
        p of the p-norm on the kernel weights, from 1 (sparse) to infinity (uniform).
    C : float, default=1.0
        Cost of errors.
    class_weight : dict or "balanced", optional
        Factors on C by class.
    fit_intercept : bool, default=True
        Add 1 to every base kernel: a constant feature, regularised and coupled like any other.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_iter : int, default=1000
        Maximum number of updates of the kernel weights.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
        Class labels.
    tasks_ : tuple of str
        Tasks, sorted by name.
    theta_ : ndarray, shape (n_kernels * n_task_kernels,)
        Kernel weights; the task kernels of a base kernel are adjacent.
    kernel_weights_ : list of dict
        Base kernel, label of the task kernel, and weight.
    kernels_ : tuple of BaseKernel
        Base kernels with their parameters.
    task_kernel_ : TaskKernel
        All task kernels.
    dual_coef_ : ndarray, shape (n,)
        Dual variables alpha of the examples with positive weight.
    objective_ : float
        Primal objective.
    dual_gap_ : float
        Relative duality gap.
    n_iter_ : int
        Number of updates of the kernel weights.
    model_ : KernelModel
        Support vectors and kernels.
    n_features_in_ : int
        Numbers, or bases, per example; not set for texts.
    """

    kernels: Any = ("linear", "poly", "rbf")
    task_kernel: Any = None
    norm: float = 2.0
    C: float = 1.0
    class_weight: Any = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 1000

    def _rule(self) -> WeightRule:
        return Shared(self.norm)

    def _solve(
        self, svms: list[KernelSVM], rule: WeightRule, state: Array | None = None
    ) -> KernelSolution:
        is_small = svms[0].y.size <= _MAX_SMALL
        tol = min(self.tol, _ROUNDING) if is_small else self.tol
        solution = descend(svms, rule, tol=tol, max_iter=self.max_iter, state=state)
        return solution._replace(converged=solution.gap <= self.tol)

    def _problem(self, examples: Examples) -> KernelProblem:
        T = len(examples.names)
        self.task_kernel_ = resolve_kernels(self.task_kernel, examples.names, self.norm)
        used = used_kernels(self.task_kernel_, T)
        examples = with_signs(examples, self.classes_)
        return KernelProblem.of(
            examples,
            example_costs(self, examples),
            self.kernels,
            [range(T)],
            self.task_kernel_.stack.pick(used).take(slice(T)).matrices(),
            constant=float(self.fit_intercept),
        )

    def _set_fitted_attributes(self, problem: KernelProblem, solution: KernelSolution) -> None:
        super()._set_fitted_attributes(problem, solution)
        (self.theta_,), self.dual_gap_ = solution.theta, solution.gap
        self.objective_, self.n_iter_ = solution.objective, len(solution.history)
        used = used_kernels(self.task_kernel_, len(self.tasks_))
        labels = [self.task_kernel_.labels[m] for m in used]
        pairs = itertools.product(map(str, self.kernels_), labels)
        self.kernel_weights_ = [
            {"kernel": kernel, "label": label, "weight": float(theta)}
            for (kernel, label), theta in zip(pairs, self.theta_, strict=True)
        ]
