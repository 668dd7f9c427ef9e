"""Pareto-optimal kernel weights in regression.

    g_t(theta) = min over w, b   1/2 sum_m ||w_m||^2 / theta_m
                                 + sum_i C_i max(0, abs(f(x_i) + b - y_i) - epsilon)

Its derivative is -q_m / 2 as for classes, so that rules and solvers are the same. Regression is
future work of Li, Georgiopoulos, Anagnostopoulos (2014).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from seqmtl._checks import check_integer, check_number
from seqmtl.models.examples import Examples
from seqmtl.sequences.task_array import split_tasks
from seqmtl.tables.classifier import KernelEstimator, kernel_matrix, resolve_all
from seqmtl.tables.descent import descend, find_saddle
from seqmtl.tables.kernel_model import KernelModel
from seqmtl.tables.rules import Shared, trade_off
from seqmtl.tables.svm import _AT_BOUND, Machine, SVMSolution, best_intercept, solve_free
from seqmtl.tables.task_mkl import _check_power
from seqmtl.tables.working_set import require_matrices

Array = NDArray[np.float64]

_MOST_STEPS = 1_000_000


@dataclass(frozen=True, eq=False)
class RegressionMachine(Machine):
    """Support vector regression with an intercept, of a single task; `y` are the targets.

    The alpha of its solutions are the dual variables beta, from -C_i to C_i.
    """

    epsilon: float = 0.1

    def solve(self, theta: Array, tol: float) -> SVMSolution:
        """Train by libsvm, and refine the result by a Newton step if that narrows the gap."""
        from sklearn import config_context
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import SVR

        H, largest = self.matrix(theta), float(self.C.max())
        means = H.mean(axis=0)
        svr = SVR(kernel="precomputed", C=largest, epsilon=self.epsilon, max_iter=_MOST_STEPS)
        svr.set_params(tol=tol * float(np.ptp(self.y)), cache_size=1000.0)
        with warnings.catch_warnings(), config_context(assume_finite=True):
            warnings.simplefilter("ignore", ConvergenceWarning)
            svr.fit(H - means - means[:, None] + means.mean(), self.y, self.C / largest)
        beta = np.zeros(self.y.size)
        beta[svr.support_] = svr.dual_coef_[0]
        beta = np.clip(beta, -self.C, self.C)
        found, size = self._solution(theta, H, beta), np.abs(beta)
        free = np.flatnonzero((size > _AT_BOUND * self.C) & (size < (1.0 - _AT_BOUND) * self.C))
        rest = self.y - self.epsilon * np.sign(beta) - H @ beta
        if not free.size or (change := solve_free(H, free, rest, -float(beta.sum()))) is None:
            return found
        sharp = beta.copy()
        sharp[free] += change
        if (sharp * beta < 0.0).any() or (np.abs(sharp) > self.C).any():
            return found
        return min(found, self._solution(theta, H, sharp), key=lambda solution: solution.gap)

    def _solution(self, theta: Array, H: Array, beta: Array) -> SVMSolution:
        f, C, signs = H @ beta, self.C, np.repeat([1.0, -1.0], beta.size)
        margins = np.append(1.0 + f - self.y + self.epsilon, -1.0 + f - self.y - self.epsilon)
        bias = best_intercept(margins, signs, np.append(C, C))
        losses = C * np.maximum(0.0, np.abs(self.y - f - bias) - self.epsilon)
        q = np.maximum(np.einsum("i,mij,j->m", beta, self.grams, beta), 0.0)
        half_q = 0.5 * float(theta @ q)
        dual = float(self.y @ beta) - self.epsilon * float(np.abs(beta).sum()) - half_q
        return SVMSolution(beta, f + bias, bias, half_q + float(losses.sum()), dual, q)


@dataclass(eq=False, repr=False)
class ParetoMKLRegressor(RegressorMixin, KernelEstimator):
    """Li 2014, future work: support vector regression along the Pareto front of the tasks.

    All tasks share one kernel sum_m theta_m k_m, ||theta||_q <= 1. With g_t the objective of the
    epsilon-insensitive regression of task t, with an intercept of its own, minimises
    (sum_t g_t^p)^(1/p); p and the solvers are those of :class:`~seqmtl.ParetoMKLClassifier`.

    Parameters
    ----------
    kernels, p, norm, C, tol, max_iter
        See :class:`~seqmtl.ParetoMKLClassifier`.
    epsilon : float, default=0.1
        Error without cost, in units of y.

    Attributes
    ----------
    dual_coef_ : ndarray, shape (n,)
        Dual variables beta, positive where the prediction is too low.
    tasks_, theta_, objectives_, weights_, objective_, gap_, n_iter_, history_, kernels_, model_
        See :class:`~seqmtl.ParetoMKLClassifier`.
    intercept_ : ndarray, shape (n_tasks,)
        Intercepts, unregularised.

    Examples
    --------
    >>> from seqmtl import ParetoMKLRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [0.0], [1.0], [2.0]], [1, 3, 5, 0, 2, 4]
    >>> model = ParetoMKLRegressor(["linear", "rbf:2"], C=100).fit(X, y, tasks=list("aaabbb"))
    >>> model.predict([[1.0], [1.0]], tasks=["a", "b"]).round(1)
    array([3., 2.])
    """

    kernels: Any = ("linear", "poly", "rbf")
    p: float = 0.5
    norm: float = 1.1
    C: float = 1.0
    tol: float = 1e-4
    max_iter: int = 1000
    epsilon: float = 0.1

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("max_iter", self.max_iter, 1)
        check_number("epsilon", self.epsilon, least=0.0)
        Shared(self.norm, self.p)

    def _machine(self, task: str, grams: Array, y: Array, C: Array) -> Machine:
        """Return the SVM of a task."""
        if np.ptp(y) <= 2.0 * self.epsilon:
            raise ValueError(
                f"y of task {task!r} ({y.size} samples, n_samples={y.size}) must span more than "
                f"2 epsilon = {2.0 * self.epsilon:g}, got {np.ptp(y):g}; choose a smaller epsilon"
            )
        one = np.zeros(y.size, dtype=np.int64)
        return RegressionMachine(grams, y, C, one, np.ones((1, 1, 1)), epsilon=self.epsilon)

    def _fit(self, examples: Examples) -> None:
        """Train, and set the fitted attributes."""
        ids, T = examples.ids, len(examples.names)
        _check_power(self.p, T, "tasks")
        kernels = resolve_all(self.kernels, examples)
        require_matrices(len(kernels), *np.bincount(ids).tolist())
        rows = [np.flatnonzero(ids == t) for t in range(T)]
        C = self.C * examples.weight * np.ones(ids.size)
        machines = []
        for name, own in zip(examples.names, rows, strict=True):
            grams = np.array([kernel_matrix(kernel, examples.data[own]) for kernel in kernels])
            machines.append(self._machine(name, grams, examples.y[own], C[own]))
        solve = descend if self.p <= 1.0 else find_saddle
        rule = Shared(self.norm, self.p)
        solution = solve(machines, rule, tol=self.tol, max_iter=self.max_iter)
        self._warn(solution, stacklevel=3)
        look = solution.look
        self.tasks_, self.kernels_, self.theta_ = examples.names, kernels, look.theta[0].copy()
        self.objectives_, self.weights_ = look.g, trade_off(look.g, self.p)
        self.objective_, self.gap_ = solution.objective, solution.gap
        self.n_iter_ = len(solution.history)
        self.history_ = [step._asdict() for step in solution.history]
        self.dual_coef_ = np.zeros(ids.size)
        for own, svm in zip(rows, look.svms, strict=True):
            self.dual_coef_[own] = svm.alpha
        kept = np.flatnonzero(self.dual_coef_)
        self.model_ = KernelModel(
            kernels=kernels,
            examples=examples.data[kept],
            example_ids=np.arange(kept.size),
            amounts=self.dual_coef_[kept],
            task_ids=ids[kept],
            coupling=self.theta_[:, None, None] * np.eye(T),
            bias=np.array([svm.bias for svm in look.svms]),
            calibration=np.zeros((T, 0)),
            tasks=examples.names,
            classes=(),
            training={"C": float(self.C), "p": str(self.p), "norm": str(self.norm)},
            kind="regression",
        )
        self.intercept_ = self.model_.bias.copy()

    def fit(
        self, X: Any, y: ArrayLike, tasks: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the model; parameters as in :meth:`seqmtl.MultiTaskSVR.fit`.

        Raises
        ------
        ValueError
            If the targets of a task span no more than 2 epsilon, or lengths differ.
        """
        X, tasks = split_tasks(X, tasks)
        X, y = self._check_X_y(X, y, numeric=True)
        examples = self._gather(X, y.astype(np.float64), tasks, sample_weight)
        self._fit(examples)
        return self

    def predict(self, X: Any, tasks: Any = None) -> Array:
        """Predict target values, shape (n,); parameters as in `MultiTaskSVR.predict`."""
        check_is_fitted(self)
        X, tasks = split_tasks(X, tasks)
        return self.model_.decision_function(self._check_X(X, reset=False), tasks)

    def score(
        self, X: Any, y: ArrayLike, tasks: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return R^2, the share of variance explained; the parameters are those of :meth:`fit`."""
        return float(r2_score(y, self.predict(X, tasks), sample_weight=sample_weight))
