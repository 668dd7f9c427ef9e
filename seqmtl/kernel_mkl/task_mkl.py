"""Multi-task MKL with an SVM per task; with individual kernel weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from seqmtl.estimators._examples import with_signs
from seqmtl.kernel_mkl.classifier import KernelClassifier, example_costs
from seqmtl.kernel_mkl.descent import KernelSolution
from seqmtl.kernel_mkl.one_vs_one import split_pairs
from seqmtl.kernel_mkl.problem import KernelProblem
from seqmtl.kernel_mkl.rules import Separate
from seqmtl.sequences.examples import Examples

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class TaskMKLClassifier(KernelClassifier):
    """Base class: T SVMs with an intercept each, on kernels weighted by the rule of a subclass."""

    kernels: Any = ("linear", "poly", "rbf")

    class_weight = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    def _problem(self, examples: Examples) -> KernelProblem:
        """Compute kernel matrices by task, or by pair of classes if there are several."""
        if self.classes_.size == 2:
            examples, sources = with_signs(examples, self.classes_), None
        elif len(examples.names) == 1:
            names, sources, signs, ids = split_pairs(examples.y, self.classes_)
            weight = examples.weight[sources]
            examples = Examples(examples.data[sources], signs, ids, names, weight)
        else:
            raise ValueError(
                f"y must have two classes where there are tasks, got {self.classes_.size}; "
                "without tasks the classes are learnt one against one"
            )
        T = len(examples.names)
        cost, groups = example_costs(self, examples), [[t] for t in range(T)]
        return KernelProblem.of(
            examples, cost, self.kernels, groups, np.ones((1, T, T)), sources=sources
        )

    def _set_fitted_attributes(self, problem: KernelProblem, solution: KernelSolution) -> None:
        super()._set_fitted_attributes(problem, solution)
        self.theta_, self.objectives_ = solution.theta, solution.g
        self.objective_, self.n_iter_ = solution.objective, len(solution.history)
        self.gap_ = solution.gap
        self.history_ = list(solution.history)


@dataclass(eq=False, repr=False)
class IndividualMKLClassifier(TaskMKLClassifier):
    """Multiple kernel learning for every task alone, the baseline of multi-task learning.

    Task t has the kernel sum_m theta_tm k_m, ||theta_t||_norm <= 1, and minimises the objective of
    one SVM (Kloft, Brefeld, Sonnenburg, Zien 2011). Without tasks there may be more than two
    classes; see :class:`~seqmtl.ParetoMKLClassifier`.

    Parameters
    ----------
    kernels : list, default=("linear", "poly", "rbf")
        Base kernels: names of :func:`~seqmtl.kernels.make_kernel`, or kernels of
        :mod:`seqmtl.kernels`.
    norm : float, default=1.1
        Exponent of the norm on the kernel weights, from 1 (sparse) to infinity (uniform).
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

    norm: float = 1.1
    C: float = 1.0
    tol: float = 1e-4
    max_iter: int = 1000

    def _rule(self) -> Separate:
        return Separate(self.norm)
