"""Minimax multi-task learning as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_choice, check_number
from seqmtl._memory import require_memory
from seqmtl.calibration.leave_one_out import left_out_scores
from seqmtl.calibration.sigmoid import calibrate_tasks
from seqmtl.core.dcd import Solution
from seqmtl.estimators._base import MultiTaskClassifier
from seqmtl.features.numeric import Numeric
from seqmtl.kernel_mkl.minimax import KernelRegularizer, TraceRegularizer, solve
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.site import Site
from seqmtl.relations import TaskKernel
from seqmtl.sequences import Windows
from seqmtl.sequences.examples import Examples
from seqmtl.training.settings import Settings, check_norm, class_factors
from seqmtl.training.solver import check_classes, summarise

REGULARIZERS = ("trace", "mean")
_RIDGE = 1e-12  # added to the diagonal of a learnt kernel, for tasks with zero weights
_ROUNDING = 1e-9  # relative distance at which dual variables count as at their bounds


@dataclass(eq=False, repr=False)
class MinimaxClassifier(MultiTaskClassifier):
    """Linear support vector machine for several tasks that minimises the loss of the worst task.

    Solves min over W of R(W) + C ||(L_1, .., L_T)||_p, where L_t is the mean hinge loss of task
    t, to a certified duality gap (Mehta, Lee, Gray 2012). The norm is the largest loss for
    p = infinity and the sum of the losses for p = 1. With one task this is the linear SVM.

    Parameters
    ----------
    regularizer : {"trace", "mean"}, default="trace"
        Regularizer that couples the tasks. "trace": R(W) = 1/2 ||W||_tr^2; the weights share a
        low-dimensional subspace (Argyriou, Evgeniou, Pontil 2008). "mean": w_t = w_0 + v_t and
        R(W) = 1/2 ||w_0||^2 / share + 1/2 sum_t ||v_t||^2 / (1 - share); the weights are close to
        a common vector (Evgeniou, Pontil 2004).
    C : float, default=100.0
        Cost of the mean losses: an example of task t costs C / n_t.
    share : float, default=0.5
        Share that tasks have in common, in (0, 1]; 1 is one vector for all. Only for "mean".
    norm : float, default=inf
        p of the norm over task losses, from 1 to infinity.
    class_weight : dict or "balanced", optional
        Factors on the losses by class.
    fit_intercept : bool, default=True
        Append a constant feature, regularised like any other.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_epochs : int, default=10000
        Maximum number of steps over all variables; a warning is given if it is reached.

    Attributes
    ----------
    losses_ : ndarray, shape (n_tasks,)
        L_t, weighted by example and class.
    task_weights_ : ndarray, shape (n_tasks,)
        Weight tau_t of each task at the optimum: sum_t tau_t L_t is the norm of the losses, and
        ||tau||_q = 1 with 1/p + 1/q = 1.
    objective_ : float
        R(W) + C ||(L_1, .., L_T)||_p.
    task_kernel_ : TaskKernel
        The K for which R(W) = 1/2 tr(W K^-1 W'); learnt for "trace", as (W'W)^(1/2) over its trace.
    dual_coef_ : ndarray, shape (n,)
        Dual variables alpha, bounded by C tau_t times the share of the example in L_t.
    n_iter_ : int
        Number of steps.
    classes_, tasks_, coef_, intercept_, dual_gap_, history_, model_, n_features_in_
        As in :class:`MultiTaskSVC`.

    Notes
    -----
    The problem with (lambda_0 / 2) ||w_0||^2 + (lambda_1 / (2 T)) sum_t ||v_t||^2 and cost 1 is
    "mean" with C = 1 / lambda_0 + T / lambda_1 and share = 1 / (lambda_0 C); with (lambda / 2)
    ||W||_tr^2 it is "trace" with C = 1 / lambda. Training takes fewer steps if features have
    similar scales.

    Examples
    --------
    >>> from seqmtl import MinimaxClassifier
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [0.2, 0.9], [0.8, 0.1]], [0, 1, 0, 1]
    >>> worst = MinimaxClassifier(C=10.0).fit(X, y, tasks=["a", "a", "b", "b"])
    >>> worst.predict([[0.9, 0.2]], tasks=["b"])
    array([1])
    """

    regularizer: str = "trace"
    C: float = 100.0
    share: float = 0.5
    norm: float = np.inf
    class_weight: Any = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_epochs: int = 10_000

    loss = "hinge"
    dtype = "float64"
    random_state = 0

    def _train(self, examples: Examples, settings: Settings) -> tuple[MultiTaskModel, Solution]:
        X, y, ids, names = examples.data, examples.y, examples.ids, examples.names
        if isinstance(X, Windows):
            raise TypeError(
                "X must be a matrix of numbers, got Windows; pass the matrix that "
                "Spectrum(k=...).transform(windows) returns"
            )
        settings.check()
        check_choice("regularizer", self.regularizer, REGULARIZERS)
        check_norm(self.norm)
        remedy = "the smaller, the less tasks have in common"
        check_number("share", self.share, max_val=1, remedy=remedy)
        check_classes(y, ids, names)
        kernel = TaskKernel.easy(names, float(self.share))
        is_trace = self.regularizer == "trace"
        cost = _costs(examples, settings.class_weight)
        solution, tau = solve(
            _dense(X, len(names), settings.fit_intercept),
            y,
            ids,
            cost,
            TraceRegularizer() if is_trace else KernelRegularizer(kernel.matrix),
            C=float(self.C),
            norm=float(self.norm),
            tol=self.tol,
            max_epochs=self.max_epochs,
        )
        if is_trace:
            kernel = _trace_kernel(solution.W, names)
        W, bias = solution.W[: X.shape[1]], solution.W[X.shape[1] :].sum(axis=0)
        solution = replace(solution, W=W, bias=bias)  # the last row, if there is a constant feature
        violations = np.maximum(0.0, 1.0 - solution.margins)
        self.losses_, self.task_weights_ = np.bincount(ids, cost * violations), tau
        self.objective_ = solution.primal
        features = Numeric()
        upper = self.C * cost * tau[ids] * (1.0 - _ROUNDING)
        left_out, _ = left_out_scores(
            features.bind(X), examples, kernel.matrices, solution, upper, settings.bias_scale
        )
        model = MultiTaskModel(
            features,
            X.shape[1],
            names,
            kernel,
            solution.W,
            solution.bias,
            calibrate_tasks(left_out, y, ids, len(names), examples.weight),
            Site(0, 0, ""),
            summarise(examples, settings, solution) | {"minimax": self._summary(names)},
        )
        return model, solution

    def _summary(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the settings, losses and weights of the tasks, as JSON values."""
        return {
            "regularizer": self.regularizer,
            "share": float(self.share) if self.regularizer == "mean" else None,
            "norm": "inf" if np.isinf(self.norm) else float(self.norm),
            "losses": dict(zip(names, self.losses_.tolist(), strict=True)),
            "task_weights": dict(zip(names, self.task_weights_.tolist(), strict=True)),
        }


def _costs(examples: Examples, class_weight: Any) -> NDArray[np.float64]:
    """Return the weight of every example in the loss of its task, shape (n,)."""
    cost = examples.weight * class_factors(examples.y, class_weight)
    return np.asarray(cost / np.bincount(examples.ids, examples.weight)[examples.ids])


def _dense(X: Any, n_tasks: int, with_constant: bool) -> NDArray[np.float64]:
    n, d = X.shape
    require_memory(
        24.0 * n * (d + 1) + 16.0 * n_tasks * min(n, d + 1) ** 2,
        f"the dense matrices of {n:,} examples of {d:,} features in {n_tasks} tasks",
        "take fewer features",
    )
    X = X if isinstance(X, np.ndarray) else X.toarray()
    return np.column_stack([X, np.ones(n)]) if with_constant else X


def _trace_kernel(W: NDArray[np.float64], names: tuple[str, ...]) -> TaskKernel:
    """Return the K of trace 1 that minimises tr(W K^-1 W'): (W'W)^(1/2) over its trace."""
    _, values, right = np.linalg.svd(W, full_matrices=False)
    K = (right.T * (values / max(float(values.sum()), 1e-300))) @ right
    return TaskKernel(names, K + _RIDGE * np.eye(len(names)), "learnt by the trace norm")
