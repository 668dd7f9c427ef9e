"""Multi-task MKL on kernel matrices: learn weights of base kernels times task kernels."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np

from seqmtl._checks import check_integer, check_number
from seqmtl.estimators._base import Examples
from seqmtl.estimators._kernel_base import (
    KernelClassifier,
    held_out_scores,
    kernel_matrix,
    require_matrices,
    resolve_all,
)
from seqmtl.models.calibration import calibrate_tasks
from seqmtl.models.kernel_model import KernelModel
from seqmtl.models.kernels import kernel_set, resolve_kernels, used_kernels
from seqmtl.models.training import check_classes
from seqmtl.solvers.kernel_mkl import solve_on_matrices


class KernelMKLClassifier(KernelClassifier):
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
        Maximum number of SVMs, one per update of the kernel weights.

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
        Number of SVMs trained.
    model_ : KernelModel
        The fitted model; ``model_.save(path)`` saves it.
    n_features_in_ : int
        Numbers, or bases, per example; not set for texts.
    """

    _limits: ClassVar[str] = "max_iter or tol"
    _reported: ClassVar[dict[str, str]] = {
        "objective": "objective_",
        "gap": "dual_gap_",
        "n_iter": "n_iter_",
    }

    def __init__(
        self,
        kernels: Any = ("linear", "poly", "rbf"),
        task_kernels: Any = None,
        norm: float = 2.0,
        C: float = 1.0,
        class_weight: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 1000,
    ) -> None:
        self.kernels = kernels
        self.task_kernels = task_kernels
        self.norm = norm
        self.C = C
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("norm", self.norm, least=1.0, is_finite=False)
        check_integer("max_iter", self.max_iter, 1)

    def _fit_classes(self, examples: Examples) -> None:
        X, y, ids, names, weight = self._signs(examples)
        check_classes(y, ids, names)
        kernels = resolve_all(self.kernels, examples)
        task_kernel = resolve_kernels(self.task_kernels, names)
        weighed = kernel_set(task_kernel, len(names), len(kernels), self.norm)
        require_matrices(len(kernels), y.size)
        constant = 1.0 if self.fit_intercept else 0.0
        grams = [np.ascontiguousarray(kernel_matrix(kernel, X) + constant) for kernel in kernels]
        cost = self._costs(y, weight, self._class_weight())
        found = solve_on_matrices(
            grams, y, ids, weighed, cost, tol=self.tol, max_iter=self.max_iter,
        )  # fmt: skip
        self.theta_, self.dual_coef_ = found.theta, found.alpha
        self.objective_, self.dual_gap_, self.n_iter_ = found.primal, found.gap, found.n_iter
        self.task_kernel_ = task_kernel
        labels = [task_kernel.labels[m] for m in used_kernels(task_kernel, len(names))]
        self.kernel_weights_ = [
            {"kernel": str(kernel), "label": label, "weight": float(theta)}
            for (kernel, label), theta in zip(
                itertools.product(kernels, labels), found.theta, strict=True
            )
        ]
        A, amount = weighed.couple(found.theta).K, found.alpha * y
        sums = np.bincount(ids, amount, minlength=len(names))
        kept = np.flatnonzero(amount)
        s, t = np.ix_(ids, ids)
        H = sum(A_m[s, t] * gram for A_m, gram in zip(A, grams, strict=True))
        held_out = held_out_scores(H, y, ids, cost, H @ amount, self.tol, has_intercept=False)
        model = KernelModel(
            kernels, X[kept], np.arange(kept.size), amount[kept], ids[kept], A,
            constant * (A.sum(axis=0) @ sums),
            calibrate_tasks(held_out, y, ids, len(names), weight), names, self._labels(),
            {"mkl": self.kernel_weights_, "norm": _number(self.norm), "C": float(self.C)},
        )  # fmt: skip
        self._finish(model, found.converged, found.gap)


def _number(norm: float) -> float | str:
    """Return a value that JSON can hold."""
    return "inf" if np.isinf(norm) else float(norm)
