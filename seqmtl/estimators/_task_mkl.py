"""What the classifiers share whose tasks weigh kernels, each with a machine of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from seqmtl._checks import check_integer
from seqmtl.estimators._base import Examples
from seqmtl.estimators._kernel_base import (
    KernelClassifier,
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
from seqmtl.solvers.kernel_weights import WeightRule
from seqmtl.solvers.svm import TaskProblem


class TaskMKLClassifier(KernelClassifier):
    """Base: T support vector machines, each with its intercept, over weighted kernels."""

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
        """Return how kernels are weighed."""
        raise NotImplementedError

    def _solve(
        self, problems: list[TaskProblem], state: NDArray[np.float64] | None = None
    ) -> KernelSolution:
        return descend(problems, self._rule(), tol=self.tol, max_iter=self.max_iter, state=state)

    def _fit_classes(self, examples: Examples) -> None:
        prepared = Prepared(*self._pair_classes(examples), self.kernels, self.C)
        self._keep(prepared, self._solve(prepared.problems))

    def _pair_classes(self, examples: Examples) -> tuple[Examples, NDArray[np.int64]]:
        """Return examples with signs, of pairs where there are more classes; and their rows."""
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
        """Set what a fitted classifier has."""
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
    """Examples and kernel matrices of every task, for one or several fits.

    Attributes
    ----------
    examples : Examples
        Examples with signs -1 and +1.
    sources : ndarray of int64
        Number of each of them in the training data, where it may be in several tasks.
    kernels : tuple of BaseKernel
        Kernels with their parameters known.
    rows : list of ndarray of int64
        Examples of every task.
    weights : list of ndarray, or None
        Weights of the examples of every task.
    problems : list of TaskProblem
        What is to be solved for every task.
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
