"""An SVM whose kernel matrix does not fit into memory: only that of its support vectors is stored.

    repeat
        train the SVM on a working set, on its kernel matrices
        score all examples, with kernel values that are computed in blocks and not stored
        stop if none outside violates its margin by more than tol
        working set <- the support vectors, and the examples that violate their margin furthest

As alpha is 0 outside, the solution is that of all examples. The memory is that of the square of the
number of support vectors.

The loop is not that of :mod:`seqmtl.core.dcd`, whose working set saves time only, as every example
is in memory, and whose intercept is regularised: libsvm trains the chunks. It ends by violations,
which say who joins; the gap of the solution is that of all examples.

Source: chunking, Osuna, Freund, Girosi (1997).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl.kernel_mkl.svm import (
    Array,
    KernelSVM,
    Scorer,
    SVMSolution,
    number_copies,
    weighted_task_kernels,
)
from seqmtl.kernels import BaseKernel

logger = logging.getLogger(__name__)

# Plain choices: matrices of so many examples take 32 MB a kernel, and so do the kernel values.
_MIN_CHUNK = 2000  # examples of the first working set, and the fewest that may join it
_BLOCK = 1 << 22  # kernel values at a time
_MAX_ROUNDS = 100


def require_matrices(n_kernels: int, *sizes: int) -> None:
    """Check that kernel matrices of the given sizes fit into memory.

    Raises
    ------
    MemoryLimitError
        If they do not.
    """
    entries = float(n_kernels) * sum(n * n for n in sizes) + 2.0 * max(sizes) ** 2
    what = f"{n_kernels} x {len(sizes)} kernel matrices of up to {max(sizes):,} examples"
    require_memory(8.0 * entries, what, "train on fewer examples")


@dataclass(frozen=True, eq=False)
class ChunkedKernelSVM:
    """An SVM to be trained as :class:`~seqmtl.kernel_mkl.svm.KernelSVM` is, from its examples.

    Attributes
    ----------
    kernels : sequence of BaseKernel
        Base kernels, G of them.
    X : ndarray or Windows, shape (n, ...)
        Examples.
    y, C, tasks, task_kernels, has_intercept
        See :class:`~seqmtl.kernel_mkl.svm.KernelSVM`.
    constant : float
        Added to the base kernels.
    """

    kernels: Sequence[BaseKernel]
    X: Any
    y: Array
    C: Array
    tasks: NDArray[Any]
    task_kernels: Array
    has_intercept: bool = True
    constant: float = 0.0

    @property
    def n_kernels(self) -> int:
        """M = G K."""
        return len(self.kernels) * len(self.task_kernels)

    def solve(self, theta: Array, tol: float) -> SVMSolution:
        """Train with the kernel sum_m theta_m k_m; theta has shape (M,)."""
        n, work = self.y.size, self._first
        for _ in range(_MAX_ROUNDS):
            svm = self._matrices_of(work).solve(theta, tol)
            alpha = np.zeros(n)
            alpha[work] = svm.alpha
            f = self._scores(theta, self, np.arange(n), alpha)
            violations = 1.0 - self.y * (f + svm.bias)
            violations[work] = 0.0  # solved to the tolerance already
            violators = np.flatnonzero(violations > tol)
            if not violators.size:
                break
            support = work[svm.alpha > 0.0]
            # at most as many as there are support vectors, so that the matrices at most double
            order = np.argsort(-violations[violators])
            worst = violators[order[: max(support.size, _MIN_CHUNK)]]
            work = np.union1d(support, worst)
            logger.info("%d support vectors, %d margins violated", support.size, violators.size)
        return SVMSolution.of(
            alpha, f, self.y, self.C, theta, svm.q, has_intercept=self.has_intercept
        )

    def cross_validation_scorer(self, theta: Array, tol: float) -> tuple[NDArray[np.int64], Scorer]:
        """Return the groups of copies, and a function (train, test) -> scores of test."""

        def score(train: NDArray[np.int64], test: NDArray[np.int64]) -> Array:
            part = self._part(train)
            svm = part.solve(theta, tol)
            return self._scores(theta, part, test, svm.alpha) + svm.bias

        def times(v: Array) -> Array:
            step = max(_BLOCK // v.size, 1)
            blocks = [self.X[first : first + step] for first in range(0, v.size, step)]
            parts = [sum(kernel(rows, self.X) for kernel in self.kernels) @ v for rows in blocks]
            return np.concatenate(parts)

        norms = np.sum([kernel.diagonal(self.X) for kernel in self.kernels], axis=0)
        return number_copies(times, norms), score

    def _part(self, rows: NDArray[np.int64]) -> ChunkedKernelSVM:
        """Return the SVM on some examples."""
        y, C, tasks = self.y[rows], self.C[rows], self.tasks[rows]
        return replace(self, X=self.X[rows], y=y, C=C, tasks=tasks)

    def _matrices_of(self, rows: NDArray[np.int64]) -> KernelSVM:
        """Return the SVM on some examples, with their kernel matrices."""
        require_matrices(len(self.kernels), rows.size)
        grams = np.array([kernel(self.X[rows]) for kernel in self.kernels]) + self.constant
        y, C, tasks = self.y[rows], self.C[rows], self.tasks[rows]
        return KernelSVM(grams, y, C, tasks, self.task_kernels, self.has_intercept)

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        """Return a sample of both classes, of every task."""
        order = np.random.default_rng(0).permutation(self.y.size)
        groups = [
            order[(self.tasks[order] == t) & (self.y[order] == sign)]
            for t in np.unique(self.tasks)
            for sign in (-1.0, 1.0)
        ]
        share = min(1.0, _MIN_CHUNK / self.y.size)
        return np.sort(np.concatenate([rows[: int(np.ceil(share * rows.size))] for rows in groups]))

    def _scores(
        self, theta: Array, trained: ChunkedKernelSVM, rows: NDArray[np.int64], alpha: Array
    ) -> Array:
        """Return f of some examples, without intercept, by the alpha of a trained SVM."""
        support, f = np.flatnonzero(alpha), np.zeros(rows.size)
        Z, dual_coef = trained.X[support], (alpha * trained.y)[support]
        weighted = weighted_task_kernels(theta, self.task_kernels)[:, :, trained.tasks[support]]
        step = max(1, _BLOCK // max(1, support.size))
        for first in range(0, rows.size, step):
            part = rows[first : first + step]
            for A, kernel in zip(weighted, self.kernels, strict=True):
                values = kernel(self.X[part], Z) + self.constant
                f[first : first + step] += (A[self.tasks[part]] * values) @ dual_coef
        return f
