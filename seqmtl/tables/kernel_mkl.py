"""Multi-task MKL on kernel matrices: learn weights of base kernels times task kernels."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.models.examples import Examples
from seqmtl.models.kernels import resolve_kernels, used_kernels
from seqmtl.tables.classifier import MKLClassifier, Prepared
from seqmtl.tables.descent import KernelSolution, descend
from seqmtl.tables.rules import Shared
from seqmtl.tables.svm import Machine

Array = NDArray[np.float64]

_FEW = 500  # examples up to which training to rounding takes a tenth of a second
_ROUNDING = 1e-12  # relative gap below which there is nothing to gain


@dataclass(eq=False, repr=False)
class KernelMKLClassifier(MKLClassifier):
    """Multi-task support vector machine with learnt kernels, for arbitrary base kernels.

    Solves the problem of :class:`~seqmtl.MultiTaskMKLClassifier` (Widmer, Kloft, Sreedharan,
    Raetsch 2015, Problem 1, Section 3.1) on kernel matrices, to a certified duality gap. The
    kernel is sum_m theta_m K_m[s,t] k_m(x,z) with ||theta||_p <= 1, where m runs over all pairs
    of a base kernel and a task kernel. With ``Linear()`` both solve the same problem.

    Parameters
    ----------
    kernels : list, default=("linear", "poly", "rbf")
        Base kernels: names of :func:`~seqmtl.kernels.make_kernel`, kernels of
        :mod:`seqmtl.kernels`, or callables ``k(X, Z)`` that return (n, m).
    task_kernels : TaskKernel or list, optional
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
        The fitted model; ``model_.save(path)`` saves it.
    n_features_in_ : int
        Numbers, or bases, per example; not set for texts.
    """

    kernels: Any = ("linear", "poly", "rbf")
    task_kernels: Any = None
    norm: float = 2.0
    C: float = 1.0
    class_weight: Any = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 1000

    def _rule(self) -> Shared:
        return Shared(self.norm)

    def _solve(self, machines: list[Machine], state: Array | None = None) -> KernelSolution:
        is_small = machines[0].y.size <= _FEW
        tol = min(self.tol, _ROUNDING) if is_small else self.tol
        solution = descend(machines, self._rule(), tol=tol, max_iter=self.max_iter, state=state)
        return solution._replace(converged=solution.gap <= self.tol)

    def _prepare(self, examples: Examples) -> Prepared:
        self.task_kernel_ = resolve_kernels(self.task_kernels, examples.names)
        T = len(examples.names)
        used = used_kernels(self.task_kernel_, T)
        return self._machines(
            self._signs(examples),
            self.kernels,
            [range(T)],
            self.task_kernel_.matrices[used, :T, :T],
            constant=float(self.fit_intercept),
            has_intercept=False,
        )

    def _keep(self, prepared: Prepared, solution: KernelSolution) -> None:
        super()._keep(prepared, solution)
        (self.theta_,), self.dual_gap_ = solution.look.theta, solution.gap
        used = used_kernels(self.task_kernel_, len(self.tasks_))
        labels = [self.task_kernel_.labels[m] for m in used]
        pairs = itertools.product(map(str, self.kernels_), labels)
        self.kernel_weights_ = [
            {"kernel": kernel, "label": label, "weight": float(theta)}
            for (kernel, label), theta in zip(pairs, self.theta_, strict=True)
        ]
        norm = "inf" if np.isinf(self.norm) else float(self.norm)
        self.model_.training |= {"mkl": self.kernel_weights_, "norm": norm}
