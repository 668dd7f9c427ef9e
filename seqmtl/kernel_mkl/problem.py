"""The problem of a kernel classifier: its SVMs on kernel matrices, and the model of a solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl.calibration.sigmoid import calibrate_tasks
from seqmtl.kernel_mkl.descent import KernelSolution
from seqmtl.kernel_mkl.kernel_model import KernelModel
from seqmtl.kernel_mkl.svm import KernelSVM, weighted_task_kernels
from seqmtl.kernels import BaseKernel, check_psd, make_kernel
from seqmtl.sequences.examples import Examples
from seqmtl.training.cross_validation import draw_folds
from seqmtl.training.solver import check_classes

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """Examples and the SVMs to be trained on them, for one or several fits.

    Attributes
    ----------
    examples : Examples
        Examples with labels -1 and +1.
    sources : ndarray of int64, shape (n,)
        Index of each example in the training data, where it may belong to several tasks.
    kernels : tuple of BaseKernel
        Base kernels with their parameters.
    groups : list of ndarray of int64
        Tasks of each SVM, in rising order.
    svms : list of KernelSVM
        One SVM for each group of tasks.
    constant : float
        What was added to the base kernels, as a constant feature.
    """

    examples: Examples
    sources: NDArray[np.int64]
    kernels: tuple[BaseKernel, ...]
    groups: list[NDArray[np.int64]]
    svms: list[KernelSVM]
    constant: float

    @classmethod
    def of(
        cls,
        examples: Examples,
        cost: Array,
        kernels: Any,
        groups: Sequence[Any],
        task_kernels: Array,
        *,
        sources: NDArray[np.int64] | None = None,
        constant: float | None = None,
    ) -> KernelProblem:
        """Compute the kernel matrices.

        Parameters
        ----------
        examples : Examples
            Examples with labels -1 and +1.
        cost : ndarray of float64, shape (n,)
            Cost C_i of every example.
        kernels : list
            Base kernels, as users specify them.
        groups : sequence of array_like of int
            The tasks of each SVM, in rising order.
        task_kernels : ndarray of float64, shape (K, T, T)
            Task kernels, by each of which every base kernel is multiplied.
        sources : ndarray of int64, shape (n,), optional
            See :class:`KernelProblem`.
        constant : float, optional
            What to add to the base kernels: a constant feature, regularised like any other.
            Default: the SVMs have unregularised intercepts.

        Raises
        ------
        ValueError
            If a task lacks a class, or a kernel is unknown or not positive semi-definite.
        MemoryLimitError
            If the matrices do not fit into memory.
        """
        X, y, ids = examples.data, examples.y, examples.ids
        check_classes(examples)
        resolved = resolve_all(kernels, examples)
        groups = [np.array(group) for group in groups]
        rows_of = [np.flatnonzero(np.isin(ids, group)) for group in groups]
        _require_matrices(len(resolved), [rows.size for rows in rows_of])
        svms = []
        for group, rows in zip(groups, rows_of, strict=True):
            grams = np.array([kernel_matrix(kernel, X[rows]) for kernel in resolved])
            svms.append(
                KernelSVM(
                    grams + constant if constant else grams,
                    y[rows],
                    cost[rows],
                    np.searchsorted(group, ids[rows]),
                    task_kernels[:, group][:, :, group],
                    has_intercept=constant is None,
                )
            )
        sources = np.arange(y.size) if sources is None else sources
        return cls(examples, sources, resolved, groups, svms, constant or 0.0)

    def model(
        self, solution: KernelSolution, classes: tuple[Any, ...], tol: float
    ) -> tuple[KernelModel, Array]:
        """Return the calibrated model of a solution, and alpha of all examples."""
        examples, n_tasks = self.examples, len(self.examples.names)
        alpha, test_scores = np.zeros((2, examples.y.size))
        bias, coupling = np.zeros(n_tasks), np.zeros((len(self.kernels), n_tasks, n_tasks))
        for svm, group, row, result in zip(
            self.svms, self.groups, solution.theta, solution.svms, strict=True
        ):
            rows = np.flatnonzero(np.isin(examples.ids, group))
            alpha[rows], bias[group] = result.alpha, result.bias
            coupling[:, group[:, None], group] = weighted_task_kernels(row, svm.task_kernels)
            test_scores[rows] = cross_validated_scores(svm, row, result.f, tol)
        dual_coef = alpha * examples.y
        # a constant in the kernels is an intercept, constant * sum_i A[t, t_i] alpha_i y_i
        sums = np.bincount(examples.ids, dual_coef, minlength=n_tasks)
        support = np.flatnonzero(dual_coef)
        # examples that are in several tasks are stored once
        _, first, example_ids = np.unique(
            self.sources[support], return_index=True, return_inverse=True
        )
        model = KernelModel(
            kernels=self.kernels,
            examples=examples.data[support[first]],
            example_ids=example_ids,
            dual_coef=dual_coef[support],
            task_ids=examples.ids[support],
            coupling=coupling,
            bias=bias + self.constant * (coupling.sum(axis=0) @ sums),
            calibration=calibrate_tasks(
                test_scores, examples.y, examples.ids, n_tasks, examples.weight
            ),
            tasks=examples.names,
            classes=classes,
        )
        return model, alpha


def resolve_all(kernels: Any, examples: Examples) -> tuple[BaseKernel, ...]:
    """Convert kernels given by the user to kernels with all parameters set.

    Raises
    ------
    ValueError
        If there is none, or one is unknown.
    """
    if isinstance(kernels, (str, BaseKernel)) or not hasattr(kernels, "__iter__"):
        kernels = [kernels]
    bases = tuple(make_kernel(spec) for spec in kernels)
    if not bases:
        raise ValueError("kernels must hold at least one kernel, got none")
    return tuple(kernel.resolve(examples.data, examples.weight) for kernel in bases)


def _require_matrices(n_kernels: int, sizes: list[int]) -> None:
    """Check that kernel matrices of the given sizes fit into memory."""
    entries = float(n_kernels) * sum(n * n for n in sizes) + 2.0 * max(sizes) ** 2
    what = f"{n_kernels} x {len(sizes)} kernel matrices of up to {max(sizes):,} examples"
    require_memory(8.0 * entries, what, "train on fewer examples")


def kernel_matrix(kernel: BaseKernel, X: Any) -> Array:
    """Return the kernel matrix of examples, shape (n, n).

    Raises
    ------
    ValueError
        If it is not finite, symmetric and positive semi-definite.
    """
    G = kernel(X)
    if not kernel.is_psd:
        check_psd(G, str(kernel))
    return G


def cross_validated_scores(svm: KernelSVM, theta: Array, scores: Array, tol: float) -> Array:
    """Return cross-validated scores of the examples of an SVM.

    Folds are stratified by task and class, and copies of an example share a fold, whatever their
    tasks and labels. An example that is the only one of its class in its task has its training
    score.

    Parameters
    ----------
    svm : KernelSVM
        The SVM, with n examples.
    theta : ndarray of float64, shape (M,)
        Kernel weights.
    scores : ndarray of float64, shape (n,)
        Training scores.
    tol : float
        Tolerance on violations of the optimality conditions.
    """
    copy_of, score = svm.cross_validation_scorer(theta, tol)
    folds = draw_folds(svm.y, svm.tasks, copy_of, np.random.default_rng(0))
    test_scores = scores.copy()
    for fold in range(int(folds.max()) + 1):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        test_scores[test] = score(train, test)
    return test_scores
